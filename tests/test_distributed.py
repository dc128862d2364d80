"""Dask training in small: inputs of all kinds, laziness, where data go, and a Python without Dask."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from perceptrons import FeatureTemplates, Perceptron, SequencePerceptron
from perceptrons.data import DataFileError, stream
from perceptrons.data.source import Share
from perceptrons.distributed import decision_function, fit, mixing_bound, predict, score
from perceptrons.features import HashedText

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 4))
    return X, np.array(["left", "middle", "right"])[(X @ rng.normal(size=(4, 3))).argmax(axis=1)]


def same(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("coef_last_", "coef_average_", "intercept_last_", "intercept_average_")
    )


# ---- inputs


def test_a_frame_gives_the_model_its_names_and_the_weights_of_an_array(client, data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(label=y)
    table = dd.from_pandas(frame, npartitions=3)
    model = fit(Perceptron(), table[["a", "b", "c", "d"]], table["label"], client, shards=3)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    chunks = (tuple(table.map_partitions(len).compute()), (4,))
    again = fit(Perceptron(), da.from_array(X, chunks), da.from_array(y, chunks[:1]), client, shards=3)
    assert same(model, again)
    assert model.predict(frame[["a", "b", "c", "d"]]).tolist() == again.predict(X).tolist()


def test_a_hundred_shards_are_added_up_as_a_tree(client, data):
    X, y = data
    tree = fit(Perceptron(max_iter=5, tol=None), X, y, client, shards=100)
    few = fit(Perceptron(max_iter=5, tol=None), X, y, client, shards=100)
    assert same(tree, few)
    assert len(tree.history_[0]["shards"]["weights"]) == 100
    assert np.isclose(sum(tree.history_[0]["shards"]["weights"]), 1)


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("ending", ["", "\n"])
def test_shares_of_a_file_are_its_lines_each_once(parts, ending, tmp_path):
    path = tmp_path / "lines.svm"
    lines = [f"{i % 2} {i + 1}:{i}.5" for i in range(11)]
    path.write_text("\n".join(lines) + ending)
    found, before = [], []
    for part in range(parts):
        reader = stream(path)
        reader.share = Share(part, parts)
        found += [value for block in reader for value in block.X.data.tolist()]
        before.append(reader.share.lines_before(path))
    assert found == [i + 0.5 for i in range(11)]
    assert before[0] == 0
    assert sorted(before) == before


def test_a_bad_line_of_a_shared_file_is_told_by_its_number_in_the_file(client, tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text("".join(f"{i % 2} 1:{i}\n" for i in range(100)) + "1 1:x\n" + "0 1:2\n" * 20)
    with pytest.raises(DataFileError, match=r"bad\.svm:101"):
        fit(Perceptron(), str(path), client=client, shards=4, epochs=1)
    told = []
    model = fit(Perceptron(), str(path), client=client, shards=4, epochs=2, on_error="skip", watch=told.append)
    assert model.history_[0]["examples"] == 120
    assert told[-1]["skipped"] == 1
    assert "bad.svm:101" in told[-1]["complaints"][0]


def test_names_that_shards_remember_are_one_vocabulary(client, tmp_path):
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(40)]
    texts = [" ".join(rng.choice(words, 6)) for _ in range(400)]
    lines = [f"__label__{'ab'['word3' in text]} {text}" for text in texts]
    for part in range(4):
        (tmp_path / f"{part}.ft").write_text("\n".join(lines[part::4]))
    names = [str(tmp_path / f"{part}.ft") for part in range(4)]
    model = fit(Perceptron(), names, client=client, shards=4, epochs=10, hash_bits=0)
    assert sorted(model.columns_.names()) == sorted(set(" ".join(texts).split()))
    text = HashedText(bits=None)
    X = text.fit_transform(texts)
    by_name = {name: X[:, column] for column, name in enumerate(text.get_feature_names_out())}
    X = sp.hstack([by_name[name] for name in model.columns_.names()]).tocsr()
    rows = [np.arange(400)[part::4] for part in range(4)]
    X, y = sp.vstack([X[which] for which in rows]), np.array(["ab"["word3" in text] for text in texts])
    chunks = da.concatenate(
        [da.from_delayed(_delayed(X[at : at + 100]), (100, X.shape[1]), float) for at in range(0, 400, 100)]
    )
    again = fit(Perceptron(), chunks, da.from_array(y[np.concatenate(rows)], 100), client, shards=4, epochs=10)
    assert np.allclose(model.coef_last_, again.coef_last_)
    assert model.mistakes_.tolist() == again.mistakes_.tolist()


def _delayed(value):
    from dask import delayed

    return delayed(value, traverse=False)


def test_a_tagger_learns_from_files_of_tokens(client, tmp_path):
    rng = np.random.default_rng(0)
    X = [[f"w{k}" for k in rng.integers(0, 30, rng.integers(1, 9))] for _ in range(120)]
    y = [["odd" if int(word[1:]) % 2 else "even" for word in sentence] for sentence in X]
    for part in range(3):
        pairs = zip(X[part::3], y[part::3], strict=True)
        text = "\n".join("".join(f"{word} {label}\n" for word, label in zip(*pair, strict=True)) for pair in pairs)
        (tmp_path / f"{part}.conll").write_text(text)
    names = [str(tmp_path / f"{part}.conll") for part in range(3)]
    tagger = SequencePerceptron(templates=FeatureTemplates())
    assert fit(tagger, names, client=client, shards=3).score(X, y) == 1
    assert tagger.known_words() == {word for sentence in X for word in sentence}
    with pytest.raises(ValueError, match="need templates"):
        fit(SequencePerceptron(), names, client=client)
    with pytest.raises(ValueError, match="only 3 files"):
        fit(SequencePerceptron(templates=FeatureTemplates()), names, client=client, shards=4)


# ---- where data are


def incoming(client):
    """Bytes that workers have had from each other, in the transfers that they remember."""
    return sum(client.run(lambda dask_worker: sum(one["total"] for one in dask_worker.transfer_incoming_log)).values())


def test_parts_stay_where_they_are(client):
    X = np.random.default_rng(0).normal(size=(24_000, 50))
    chunks = da.from_array(X, chunks=(4000, 50)).persist()
    y = da.from_array((X[:, 0] + X[:, 1] ** 2 > 1).astype(int), chunks=4000).persist()
    distributed.wait([chunks, y])
    before = incoming(client)
    fit(Perceptron(), chunks, y, client, shards=6, epochs=20)
    assert incoming(client) - before < X.nbytes  # a chunk may go to an idle worker; weights take 20 * 6 * 0.5 kB


def test_predictions_and_scores_are_lazy_and_those_of_the_model(client, data):
    X, y = data
    model = Perceptron().fit(X, y)
    touched = []

    def counted(block):
        touched.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(250, 4)).map_blocks(counted, meta=np.empty((0, 4)))
    labels = da.from_array(y, chunks=250)
    answers, scores, share = predict(model, lazy), decision_function(model, lazy), score(model, lazy, labels)
    assert touched == []
    assert answers.shape == (600,)
    assert scores.shape == (600, 3)
    assert answers.compute().tolist() == model.predict(X).tolist()
    assert np.array_equal(scores.compute(), model.decision_function(X))
    assert np.isclose(float(share), model.score(X, y))
    weight = np.random.default_rng(0).random(600)
    assert np.isclose(
        score(model, lazy, labels, da.from_array(weight, chunks=250)).compute(), model.score(X, y, sample_weight=weight)
    )
    unknown = lazy[lazy[:, 0] > 0]
    assert predict(model, unknown).compute().tolist() == model.predict(X[X[:, 0] > 0]).tolist()
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    assert predict(model, frame).compute().tolist() == model.predict(X).tolist()


def test_the_bound_is_computed_anew_for_a_model(client):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    u = np.array([1.0, -1.0, 0.5])
    X = X[np.abs(X @ u) > 0.5]
    y = (X @ u > 0).astype(int)
    model = fit(Perceptron(), X, y, client, shards=3)
    again = mixing_bound(model, X, y, client)
    assert model.mixing_bound_.holds
    assert vars(again) == vars(model.mixing_bound_)
    assert f"{again.epochs:,} possible" in again.explain()
    with pytest.raises(ValueError, match=r"does not separate|other classes"):
        mixing_bound(model, X, 1 - y, client)
    with pytest.raises(ValueError, match="converged"):
        mixing_bound(fit(Perceptron(max_iter=1), X, y, client, shards=3), X, y, client)


# ---- without it


def test_without_dask_everything_else_works_and_the_extra_is_named(tmp_path):
    program = """
        import sys
        sys.modules["dask"] = sys.modules["distributed"] = None
        import perceptrons, perceptrons.data, perceptrons.theory, perceptrons.cli
        from perceptrons import distributed
        model = perceptrons.Perceptron().fit([[0.0], [1.0]], [0, 1])
        for call in (lambda: distributed.fit(model, [[0.0], [1.0]], [0, 1]), lambda: distributed.predict(model, None)):
            try:
                call()
            except ImportError as error:
                print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install 'perceptrons[dask]'") == 2


def test_nothing_but_the_cluster_imports_dask():
    known = "print(*(name in sys.modules for name in ('dask', 'distributed')))"
    program = f"import sys, perceptrons.cli, perceptrons.distributed; {known}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
