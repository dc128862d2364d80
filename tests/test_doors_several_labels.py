"""Several labels through every door: the command, a stream, Python, shards, a saved model and one example at a time."""

import json

import distributed
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, hamming_loss

import perceptrons
from perceptrons import Perceptron
from perceptrons.cli import main
from perceptrons.data import read, stream
from perceptrons.distributed import fit as fit_on_cluster
from tests.support.doors import same_matrix
from tests.support.label_sets import FORMATS, reading_of, write_sets
from tests.support.tiers import slow

FIRST = ("svmlight", "fasttext", "csv", "jsonl", "columns", "mulan")
NAMES = np.array(["blue", "green", "red", "white"])


def made(n=80, seed=0):
    """Numbers, and labels that depend on them; some examples have none."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 3)
    return X, [tuple(NAMES[row > 0.4].tolist()) for row in X + 0.3 * rng.normal(size=X.shape)]


def options_for(form):
    """How this form is read. Words get few columns: models of the usual 2^20 take hundreds of megabytes."""
    return reading_of(form) | ({"hash_bits": 12} if form in ("fasttext", "tab") else {})


def options_of(form):
    """The same for commands."""
    return [
        part
        for name, value in options_for(form).items()
        for one in (value if isinstance(value, list) else [value])
        for part in (f"--{name.replace('_', '-')}", one)
    ]


def said_by(capsys, *arguments):
    capsys.readouterr()
    assert main([str(one) for one in arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "form",
    [*FIRST, *slow(*sorted(set(FORMATS) - set(FIRST)))],
)
def test_every_door_gives_the_same_answers(capsys, tmp_path, form):
    X, sets = made()
    data, saved, streamed = write_sets(tmp_path, form, X, sets), tmp_path / "m.model", tmp_path / "s.model"
    how = [*options_of(form), "--epochs", 3]
    told = json.loads(said_by(capsys, "train", data, *how, "--test", data, "-o", saved, "--json"))
    also = json.loads(said_by(capsys, "train", data, *how, "--test", data, "-o", streamed, "--json", "--in-memory", 0))
    model, again = perceptrons.load(saved), perceptrons.load(streamed)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert (told["test_f1_micro"], told["test_hamming_loss"]) == (also["test_f1_micro"], also["test_hamming_loss"])
    table = read(data, **{"prepare": True, **options_for(form)})
    by_name = Perceptron(max_iter=3, tol=None).fit(table.X, table.label_sets)
    by_column = Perceptron(max_iter=3, tol=None).fit(table.X, table.y)
    by_stream = Perceptron().fit_stream(stream(data, **{"prepare": True, **options_for(form)}), epochs=3)
    for other in (by_name, by_column, by_stream):
        np.testing.assert_array_equal(other.coef_, model.coef_)
        np.testing.assert_array_equal(other.intercept_, model.intercept_)
    same_matrix(read(data, like=model).X, table.X)
    (block,) = stream(data, like=model)
    answers, scores = model.predict(block.X), model.decision_function(block.X)
    assert answers == [list(one) for one in by_name.predict(table.X)] == by_stream.predict(table.X)
    between = reading_of(form).get("label_separator", ",")
    lines = said_by(capsys, "predict", saved, data).splitlines()
    assert lines == [between.join(one) for one in answers]
    rows = [json.loads(line) for line in said_by(capsys, "predict", saved, data, "--json", "--scores").splitlines()]
    assert [row["label"] for row in rows] == answers
    np.testing.assert_array_equal([list(row["scores"].values()) for row in rows], scores)
    best = [
        json.loads(line)["label"] for line in said_by(capsys, "predict", saved, data, "--json", "--top", 2).splitlines()
    ]
    assert best == [model.classes_[row].tolist() for row in np.argsort(-scores, axis=1, kind="stable")[:, :2]]
    check_evaluation(json.loads(said_by(capsys, "evaluate", saved, data, "--json")), table, by_column, scores)
    assert told["test_f1_micro"] == json.loads(said_by(capsys, "evaluate", saved, data, "--json"))["f1_micro"]
    if form in ("csv", "jsonl", "parquet", "columns", "mulan", "label_keys"):
        records = [dict(zip(["x0", "x1", "x2", "x3"], row.tolist(), strict=True)) for row in X]
        assert model.predict(records) == answers == model.predict(pd.DataFrame(records))
        assert [model.predict_one(one) for one in records] == answers
    example = json.loads(said_by(capsys, "inspect", saved, "--data", data, "--example", 1, "--json"))["on_data"][
        "example"
    ]
    assert example["prediction"] == answers[0]
    page = tmp_path / "page.html"
    said_by(capsys, "report", saved, data, "-o", page)
    assert f"{100 * told['test_f1_micro']:.1f}%" in page.read_text()
    assert "are left out" in page.read_text()


def check_evaluation(told, table, by_column, scores):
    """The metrics are scikit-learn's."""
    truth, found = table.y.toarray(), by_column.predict(table.X).toarray()
    assert told["f1_micro"] == pytest.approx(f1_score(truth, found, average="micro"))
    assert told["f1_macro"] == pytest.approx(f1_score(truth, found, average="macro"))
    assert told["f1_weighted"] == pytest.approx(f1_score(truth, found, average="weighted"))
    assert told["hamming_loss"] == pytest.approx(hamming_loss(truth, found))
    assert told["accuracy"] == pytest.approx((truth == found).all(axis=1).mean())
    order = np.argsort(-scores, axis=1, kind="stable")
    for k in (1, 3):
        hits = np.take_along_axis(truth, order[:, :k], axis=1)
        assert told[f"precision_at_{k}"] == pytest.approx(hits.sum() / (k * len(truth)))
    assert told["precision_at_5"] is None  # there are four labels
    counts = {row["class"]: row["count"] for row in told["by_class"]}
    assert counts == dict(zip(table.classes.tolist(), truth.sum(axis=0).tolist(), strict=True))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32 - 1), st.sampled_from(["svmlight", "csv", "jsonl", "parquet"]), st.integers(2, 40))
def test_any_examples_are_learned_alike_whole_streamed_one_by_one_and_saved(tmp_path_factory, seed, form, n):
    folder = tmp_path_factory.mktemp("sets")
    X, sets = made(n, seed)
    sets[0] = ("blue", "red")
    data = write_sets(folder, form, X, sets)
    table = read(data, **reading_of(form))
    how = {"margin": 1.0, "intercept_scaling": 1.0, "shuffle": False}
    streamed = Perceptron(**how).fit_stream(stream(data, **reading_of(form)), epochs=1)
    whole = Perceptron(**how, max_iter=1, tol=None).fit(table.X, table.target)
    np.testing.assert_array_equal(streamed.coef_, whole.coef_)
    one_by_one = Perceptron(**how).partial_fit(table.X[:1], table.label_sets[:1], classes=table.classes)
    for row, labels in list(zip(X, table.label_sets, strict=True))[1:]:
        one_by_one.learn_one(row, list(labels))
    np.testing.assert_allclose(one_by_one.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    perceptrons.save(streamed, folder / "m")
    again = perceptrons.load(folder / "m")
    assert again.predict(table.X) == streamed.predict(table.X)
    assert read(data, like=again).label_sets == table.label_sets


@pytest.mark.parametrize("form", ["svmlight", "columns", *slow("csv", "fasttext", "jsonl")])
def test_shards_read_label_sets(tmp_path, form):
    X, sets = made(60)
    data = write_sets(tmp_path, form, X, sets)
    local = Perceptron().fit_stream(stream(data, **reading_of(form)), epochs=2)
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        model = Perceptron()
        fit_on_cluster(model, [data], client=client, shards=1, epochs=2, **reading_of(form))
    assert model.classes_.tolist() == NAMES.tolist()
    assert model.source_["multilabel"] is True
    table = read(data, like=model)
    assert table.label_sets == [tuple(sorted(one)) for one in sets]
    assert model.score(table.X, table.label_sets) > 0.3
    assert model.coef_.shape == local.coef_.shape


def test_a_model_keeps_training_on_new_files_with_new_labels(capsys, tmp_path):
    X, sets = made()
    first, more = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    more.mkdir()
    data = write_sets(first, "csv", X[:40], [tuple(set(one) - {"white"}) for one in sets[:40]])
    new = write_sets(more, "csv", X[40:], sets[40:])
    saved, grown = tmp_path / "m.model", tmp_path / "g.model"
    said_by(capsys, "train", data, "--label-separator", ";", "-o", saved)
    said_by(capsys, "train", new, "--from", saved, "-o", grown)
    assert perceptrons.load(saved).classes_.tolist() == ["blue", "green", "red"]
    assert perceptrons.load(grown).classes_.tolist() == NAMES.tolist()
    evaluated = json.loads(said_by(capsys, "evaluate", saved, new, "--json"))
    assert evaluated["unknown_labels"] == ["white"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--threshold", "f1"], "--threshold is for one label per example"),
        (["--threshold", "0.5"], "--threshold is for one label per example"),
        (["--threshold", "f1", "--in-memory", "0"], "several per example"),
        (["--kernel", "rbf"], "--kernel is for one label per example"),
        (["--folds", "3"], "--folds is for one label per example"),
        (["--combine", "vote"], "does not work with several labels"),
    ],
)
def test_what_is_for_one_label_is_refused_clearly(capsys, tmp_path, options, what):
    data = write_sets(tmp_path, "svmlight", *made())
    assert main(["train", str(data), *options]) == 2
    assert what in capsys.readouterr().err


def test_look_and_tune_know_label_sets(capsys, tmp_path):
    X, sets = made(90)
    data = write_sets(tmp_path, "csv", X, sets)
    looked = json.loads(said_by(capsys, "look", data, "--label-separator", ";", "--json"))
    assert {row["class"]: row["examples"] for row in looked["classes"]} == {
        name: sum(name in one for one in sets) for name in NAMES.tolist()
    }
    saved = tmp_path / "m.model"
    how = ["--label-separator", ";", "--max-iter", 2, "--metric", "f1_micro", "--ledger", tmp_path / "looks"]
    said_by(capsys, "tune", data, *how, "-o", saved)
    assert perceptrons.load(saved).classes_.tolist() == NAMES.tolist()
    assert main(["compare", str(data), "--label-separator", ";"]) == 2
    assert "several labels" in capsys.readouterr().err
