"""Dask training in small: inputs of all kinds, laziness, where data go, and a Python without Dask."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import perceptrons
from perceptrons import FeatureTemplates, Perceptron, SequencePerceptron
from perceptrons.data import DataFileError, stream
from perceptrons.data.source import FilePart
from perceptrons.distributed import ClusterError, decision_function, fit, mixing_bound, predict, score
from perceptrons.features import HashedText
from tests.conftest import gaussian

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


def test_one_shard_of_classes_in_a_given_order_is_the_local_training(client, data):
    X, y = data
    told = {"margin": 0, "intercept_scaling": 1, "shuffle": False, "max_iter": 3, "tol": None}
    model = Perceptron(classes=["right", "left", "middle"], **told)
    fit(model, X, y, client=client, shards=1, epochs=3)
    assert model.classes_.tolist() == ["right", "left", "middle"]
    assert np.array_equal(model.coef_, Perceptron(classes=["right", "left", "middle"], **told).fit(X, y).coef_)
    with pytest.raises(ValueError, match="not in classes"):
        fit(Perceptron(classes=["right", "left"]), X, y, client=client, shards=1)


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
        reader.file_part = FilePart(part, parts)
        found += [value for block in reader for value in block.X.data.tolist()]
        before.append(reader.file_part.lines_before(path))
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
    with pytest.raises(ValueError, match="at most 3 here, one per file"):
        fit(SequencePerceptron(templates=FeatureTemplates()), names, client=client, shards=4)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_tables_of_numbers_are_learned_in_several_shards(ending, client, data, tmp_path):
    X, y = data
    frames = [pd.DataFrame(X[part::2], columns=list("abcd")).assign(label=y[part::2]) for part in range(2)]
    write = {
        "csv": lambda frame, path: frame.to_csv(path, index=False),
        "parquet": lambda frame, path: frame.to_parquet(path),
        "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True, double_precision=15),
    }[ending]
    names = [str(tmp_path / f"{part}.{ending}") for part in range(2)]
    for frame, name in zip(frames, names, strict=True):
        write(frame, name)
    model = fit(Perceptron(), names, client=client, shards=2, epochs=5, label_column="label")
    sizes = tuple(len(frame) for frame in frames)
    rows = np.vstack([frame[list("abcd")].to_numpy() for frame in frames])
    labels = np.concatenate([frame["label"].to_numpy(str) for frame in frames])
    again = fit(
        Perceptron(), da.from_array(rows, (sizes, 4)), da.from_array(labels, (sizes,)), client, shards=2, epochs=5
    )
    assert np.allclose(model.coef_, again.coef_)
    other = pd.DataFrame(X[:50, ::-1], columns=list("dcba")).assign(label=y[:50])  # its columns in another order
    write(other, str(tmp_path / f"2.{ending}"))
    three = fit(Perceptron(), [*names, str(tmp_path / f"2.{ending}")], client=client, shards=3, epochs=5,
                label_column="label")  # fmt: skip
    reader = stream(str(tmp_path / f"2.{ending}"), like=three)
    right = np.concatenate([three.predict(block.X) == block.y for block in reader])
    assert right.mean() > 0.9


def test_a_model_that_goes_on_does_not_take_features_for_others(client, data, tmp_path):
    X, y = data
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    model = fit(Perceptron(warm_start=True, max_iter=2), frame, y, client, shards=2)
    before = model.coef_
    with pytest.raises(ValueError, match="feature names should match"):
        fit(model, frame[["b", "a"]], y, client, shards=2)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert np.array_equal(model.coef_, before)
    (tmp_path / "one.ft").write_text("__label__pos good nice\n__label__neg bad awful\n" * 20)
    (tmp_path / "two.ft").write_text("__label__neg zzz\n__label__pos yyy\n" * 20)
    model = fit(Perceptron(warm_start=True), str(tmp_path / "one.ft"), client=client, shards=1, epochs=2, hash_bits=0)
    with pytest.raises(ValueError, match="like=model"):
        fit(model, str(tmp_path / "two.ft"), client=client, shards=1, epochs=1, hash_bits=0)
    fit(model, str(tmp_path / "one.ft"), client=client, shards=1, epochs=1, hash_bits=0)
    assert model.columns_.n_names == model.n_features_in_ == 4


def test_blocks_too_small_to_hold_examples_out_hold_out_none(client, data):
    X, y = data
    sizes = ((300, 299, 1), 4)
    model = fit(Perceptron(early_stopping=True), da.from_array(X, sizes), da.from_array(y, sizes[:1]), client, shards=3)
    assert model.stop_reason_ == "early_stopping"
    assert model.history_[0]["shards"]["examples"] == [270, 269, 1]
    with pytest.raises(ValueError, match="held out"):
        fit(Perceptron(early_stopping=True), X[:3], ["a", "b", "c"], client, shards=3)


def test_what_counts_for_nothing_is_refused(client, data):
    X, y = data
    for wrong in ({"left": 0, "middle": 0, "right": 0}, {"elsewhere": 2}):
        with pytest.raises(ValueError, match="weight"):
            fit(Perceptron(class_weight=wrong), X, y, client, shards=2)
    chunks = da.from_array(X, (300, 4)), da.from_array(y, 300)
    with pytest.raises(ValueError, match="weights are zero"):
        fit(Perceptron(), *chunks, client, sample_weight=da.zeros(600, chunks=300))


# ---- where data are


def test_no_cache_is_left_behind(data, tmp_path):
    X, y = data
    scratch = tmp_path / "scratch"
    for name, labels in (("two.svm", y[:300] == "left"), ("one.svm", np.ones(300))):
        lines = (f"{int(label)} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(row)) for row, label in
                 zip(X, labels, strict=False))  # fmt: skip
        (tmp_path / name).write_text("\n".join(lines))
    with distributed.Client(
        processes=False, n_workers=1, local_directory=str(scratch), dashboard_address=":0"
    ) as client:
        fit(Perceptron(), str(tmp_path / "two.svm"), client=client, shards=2, epochs=3)
        with pytest.raises(ValueError, match="only one class"):
            fit(Perceptron(), str(tmp_path / "one.svm"), client=client, shards=2)
        assert not list(scratch.rglob("perceptrons-*"))


def test_within_a_task_it_keeps_nobody_waiting(data):
    X, y = data

    def job():
        return fit(Perceptron(max_iter=3, tol=None), X, y, shards=2).n_iter_

    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        assert client.submit(job, pure=False).result(timeout=60) == 3


def test_a_client_that_is_closed_is_said_to_be(data):
    client = distributed.Client(processes=False, n_workers=1, dashboard_address=":0")
    client.close()
    with pytest.raises(ClusterError, match="closed"):
        fit(Perceptron(), *data, client)


def test_several_labels_are_answered_lazily_in_their_form(client, data):
    X, _ = data
    flags = np.stack([X[:, 0] > 0, X[:, 1] > 0], axis=1).astype(int)
    lazy = da.from_array(X, chunks=(250, 4))
    some = lazy[da.from_array(np.arange(600) >= 250, chunks=250)]  # the first chunk is empty
    model = Perceptron(max_iter=3).fit(X, flags)
    assert np.array_equal(predict(model, some).compute(), model.predict(X[250:]))
    assert np.array_equal(decision_function(model, some).compute(), model.decision_function(X[250:]))
    sets = [tuple(label for label, flag in zip("ab", row, strict=True) if flag) for row in flags]
    model = Perceptron(max_iter=3).fit(X, sets)
    assert predict(model, lazy).compute().tolist() == model.predict(X)


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


def test_predictions_on_workers_are_by_the_threshold_of_the_model(client, rng):
    X, y = gaussian(rng, 300, 4, 2)
    model = Perceptron(max_iter=3).fit(X, y)
    model.threshold_ = float(np.median(model.decision_function(X)[y == 1]))
    lazy = da.from_array(X, chunks=(100, 4))
    by_threshold = (model.decision_function(X) >= model.threshold_).astype(int)
    assert predict(model, lazy).compute().tolist() == model.predict(X).tolist() == by_threshold.tolist()
    assert float(score(model, lazy, da.from_array(y, chunks=100))) == np.mean(by_threshold == y)


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


def test_the_bound_is_computed_anew_for_a_model(client, tmp_path):
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
    perceptrons.save(model, tmp_path / "model")
    assert vars(mixing_bound(perceptrons.load(tmp_path / "model"), X, y, client)) == vars(again)
    weight = np.where(np.arange(len(y)) % 2, 0.5, 1.5)
    weight[-1] = 1.0 if len(y) % 2 else weight[-1]
    assert fit(Perceptron(), X, y, client, shards=3, sample_weight=weight).mixing_bound_ is None
    with pytest.raises(TypeError, match="Perceptron"):
        mixing_bound(SequencePerceptron(), X, y, client)
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
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.count("pip install 'perceptrons[dask]'") == 2


def test_nothing_but_the_cluster_imports_dask():
    known = "print(*(name in sys.modules for name in ('dask', 'distributed')))"
    program = f"import sys, perceptrons.cli, perceptrons.distributed; {known}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["False", "False"]


# ---- the units of the data


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("k", [-20, 20])
def test_multiplying_all_features_by_a_power_of_two_changes_nothing_on_two_shards(client, data, sparse, k):
    X, y = sp.csr_matrix(data[0]) if sparse else data[0], data[1]
    before, after = (fit(Perceptron(max_iter=5), rows, y, client, shards=2) for rows in (X, X * 2.0**k))
    assert (before.n_mistakes_, before.n_updates_, before.margin_ * 4.0**k) == (
        after.n_mistakes_,
        after.n_updates_,
        after.margin_,
    )
    assert before.predict(X).tolist() == after.predict(X * 2.0**k).tolist()
    np.testing.assert_array_equal(before.coef_ * 2.0**k, after.coef_)


def test_one_shard_has_the_units_of_a_fit_here(client, data, tmp_path):
    X, y = data
    local = Perceptron(max_iter=3).fit(X, y)
    shard = fit(Perceptron(max_iter=3), X, y, client, shards=1)
    assert (shard.margin_, shard._learner.weights.one) == (local.margin_, local._learner.weights.one)
    path = tmp_path / "data.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(label=y).to_csv(path, index=False)
    read = fit(Perceptron(max_iter=3), str(path), None, client, shards=1)
    streamed = Perceptron(max_iter=3).fit_stream(stream(str(path)), epochs=3)
    assert (read.margin_, read._learner.weights.one) == (streamed.margin_, streamed._learner.weights.one)
