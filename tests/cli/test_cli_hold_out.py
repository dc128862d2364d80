"""The test set that `train`, `tune` and `compare` hold out: its share, its classes, and what is said about it."""

import json
import re

import numpy as np
import pytest

import perceptrons
from perceptrons.data import stream
from perceptrons.selection import parts_of


@pytest.fixture(autouse=True)
def _ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def write_rows(path, X, y):
    path.write_text("a,b,label\n" + "".join(f"{a},{b},{label}\n" for (a, b), label in zip(X, y, strict=True)))
    return path


@pytest.fixture
def copies(tmp_path, rng):
    """200 examples of two classes; a third of them are copies of one of four."""
    y = np.repeat(["no", "yes"], [140, 60])
    X = np.round(rng.normal(size=(200, 2)) + 2 * (y == "yes")[:, None], 3)
    for first, n in ((0, 30), (30, 10), (140, 20), (160, 6)):
        X[first : first + n] = X[first]
    return write_rows(tmp_path / "copies.csv", X, y)


@pytest.fixture
def many_classes(tmp_path, rng):
    """100 examples of 20 classes, two of which have a single example."""
    y = np.concatenate([np.arange(20), np.arange(18).repeat(5)])[:100]
    X = np.round(np.c_[y, y**2] + 0.1 * rng.normal(size=(100, 2)), 3)
    return write_rows(tmp_path / "many.csv", X, [f"c{k}" for k in y])


def read_with_keys(path):
    reader = stream(path, prepare=True)
    reader.keyed = True
    return reader.read()


@pytest.mark.parametrize("seed", range(3))
def test_train_tests_on_the_share_that_it_says_of_every_class_though_many_examples_are_copies(
    run, copies, tmp_path, seed
):
    how = ["train", copies, "--seed", seed, "-o", tmp_path / "m"]
    out = run(*how)[1]
    assert f"160 for training; 40 held out for testing (20.0%, stratified, seed {seed})" in out
    told = json.loads(run(*how, "--json")[1])
    model, table = perceptrons.load(tmp_path / "m"), read_with_keys(copies)
    test = parts_of(table.X, table.y, keys=table.keys, random_state=seed).test.rows
    assert (np.sum(table.y[test] == "no"), np.sum(table.y[test] == "yes")) == (28, 12)
    answers = [json.loads(line)["label"] for line in run("predict", tmp_path / "m", copies, "--json")[1].splitlines()]
    assert told["test_accuracy"] == np.mean(np.array(answers)[test] == table.y[test])
    assert model.history_[0]["examples"] == 160


def test_train_tune_and_compare_test_on_the_same_examples(run, refused, copies, tmp_path):
    from perceptrons.selection.test_set_ledger import digest_of

    table = read_with_keys(copies)
    test = parts_of(table.X, table.y, keys=table.keys).test.rows
    assert run("tune", copies, "--max-iter", 2, "--ledger", tmp_path / "looks", "--quiet")[0] == 0
    ledger = json.loads((tmp_path / "looks").read_text())["looks"]
    reader = stream(copies, prepare=True)
    learned = ~np.isin(np.arange(200), test)
    reader.learn_from = lambda blocks: np.split(learned, np.cumsum([block.X.shape[0] for block in blocks])[:-1])
    scaled = reader.read().X
    assert [*ledger] == [digest_of(scaled[test], table.y[test])]
    assert "used before" in refused("compare", copies, "--learner", "average", "--ledger", tmp_path / "looks")


def test_copies_are_in_the_same_set_unless_there_are_very_many_of_them(copies):
    table = read_with_keys(copies)
    for seed in range(10):
        test = parts_of(table.X, table.y, keys=table.keys, random_state=seed).test.rows
        n_tested = {key: int(np.sum(table.keys[test] == key)) for key in np.unique(table.keys)}
        n_of = dict(zip(*np.unique(table.keys, return_counts=True), strict=True))
        divided = {int(n_of[key]) for key, n in n_tested.items() if 0 < n < n_of[key]}
        assert divided <= {6, 10, 20, 30}


def test_a_class_with_few_test_examples_is_named_with_what_to_do(run, tmp_path, rng):
    y = np.repeat(["common", "rare"], [100, 10])
    data = write_rows(tmp_path / "rare.csv", np.round(rng.normal(size=(110, 2)), 3), y)
    words = "1 class has fewer than 10 test examples (rare has 2), so the test score is uncertain"
    for command in (["train"], ["tune", "--max-iter", 2], ["compare", "--learner", "average", "--force"]):
        out = " ".join(run(command[0], data, *command[1:])[1].split())
        assert f"{words}: " in out, command
        assert "--folds 5 tests on all examples" in out
        told = json.loads(run(command[0], data, *command[1:], "--json")[1])
        assert told["warnings"][0].startswith(words)
    assert "uncertain" not in run("train", data, "--folds", 3)[1]
    assert "uncertain" not in run("train", data, "--test", data)[1]


def test_the_share_of_a_stream_is_counted_and_a_wrong_one_is_said(run, tmp_path, rng):
    y = np.repeat(["no", "yes"], [300, 100])
    X = np.round(rng.normal(size=(400, 2)), 3)
    X[:200] = X[0]
    data = write_rows(tmp_path / "copies.csv", X, y)
    out = " ".join(run("train", data, "--in-memory", 0, "--epochs", 2)[1].split())
    told = json.loads(run("train", data, "--in-memory", 0, "--epochs", 2, "--json")[1])
    n = told["test_examples"]
    assert f"{400 - n} for training; {n} held out for testing ({100 * n / 400:.1f}%, by hash, seed 0)" in out
    assert abs(n / 400 - 0.2) > 0.02
    assert f"The test set has {100 * n / 400:.1f}% of the examples instead of 20.0%." in out
    assert told["warnings"]


def test_the_last_examples_are_tested_where_the_order_is_that_of_time(run, refused, tmp_path, rng):
    X = np.round(rng.normal(size=(100, 2)), 3)
    y = np.where(X[:, 0] > 0, "yes", "no")
    y[80:] = np.where(X[80:, 0] > 0, "no", "yes")  # the concept changes
    data = write_rows(tmp_path / "dated.csv", X, y)
    out = run("train", data, "--time-order")[1]
    assert "80 for training; 20 held out for testing (20.0%, the last ones)" in out
    assert json.loads(run("train", data, "--time-order", "--json")[1])["test_accuracy"] < 0.3
    assert "cannot be combined" in refused("train", data, "--time-order", "--test", data)
    assert "cannot be combined" in refused("train", data, "--time-order", "--folds", 3)
    assert "cannot be combined" in refused("train", data, "--time-order", "--workers", 1)
    assert "needs all data in memory" in refused("train", data, "--time-order", "--in-memory", 0)


def test_too_few_examples_for_their_classes_are_tested_by_folds_in_train_and_in_tune(run, many_classes):
    words = "too few to hold out 20% for testing"
    out = " ".join(run("train", many_classes)[1].split())
    assert f"All 100 for training: {words}, so 5-fold cross-validation tests the model" in out
    assert "5 folds, mean" in out
    assert "Test accuracy" not in out
    told = json.loads(run("train", many_classes, "--json")[1])
    assert (len(told["folds"]), told["examples"], told["test_examples"]) == (5, 100, 0)
    out = " ".join(run("tune", many_classes, "--max-iter", 2)[1].split())
    assert "100 for training, in 5 folds for cross-validation, no test set" in out
    assert f"{words}, so hyperparameters are chosen by 5-fold cross-validation." in out
    sizes = json.loads(run("tune", many_classes, "--max-iter", 2, "--json")[1])["sizes"]
    assert sizes == {"train": 100, "dev": 0, "test": 0}
    out = run("train", many_classes, "--test-share", 0.3)[1]
    assert "70 for training; 30 held out for testing (30.0%" in out, "what is asked for is done"


# ---- what the screen says of the result


def test_a_model_no_better_than_the_majority_says_so_with_what_to_try(run, tmp_path, rng):
    y = np.repeat(["a", "b"], [60, 100])
    data = write_rows(tmp_path / "noise.csv", np.round(rng.normal(size=(160, 2)), 3) * 0.001 + 1, y)
    constant = write_rows(tmp_path / "constant.csv", np.repeat([[0, 1]], 160, axis=0) + (y == "b")[:, None], y)
    out = " ".join(run("train", data, "--max-iter", 5, "--combine", "last", "-o", tmp_path / "m")[1].split())
    accuracy, lazy = re.search(r"Test accuracy ([\d.]+)%.*? would give ([\d.]+)%", out).groups()
    assert float(accuracy) <= float(lazy), "else this tests nothing"
    assert "no better than always predicting b" in out
    assert f"perceptrons look {data}" in out
    assert "--kernel rbf" in " ".join(run("train", data)[1].split())
    found = " ".join(run("evaluate", tmp_path / "m", data)[1].split())
    assert "no better than always predicting" in found
    assert "no better than" not in run("train", constant)[1]


@pytest.mark.parametrize(
    "command", [["tune", "--max-iter", 2], ["tune", "--max-iter", 2, "--folds", 3, "--test-share", 0], ["compare"]]
)
def test_tune_and_compare_say_where_always_predicting_one_class_is_as_good(run, tmp_path, rng, command):
    y = np.repeat(["a", "b"], [50, 100])
    constant = write_rows(tmp_path / "constant.csv", np.repeat([[0, 1]], 150, axis=0), y)
    clear = write_rows(tmp_path / "clear.csv", np.round(rng.normal(size=(150, 2)), 3) + 9 * (y == "b")[:, None], y)
    more = ["--learner", "average"] if command == ["compare"] else []
    for data, expected in ((constant, 1), (clear, 0)):
        out = " ".join(run(command[0], data, *command[1:], *more)[1].split())
        assert out.count("no better than always predicting b") == expected, out
        told = json.loads(run(command[0], data, *command[1:], *more, "--json")[1])["warnings"]
        assert sum("no better than always predicting b" in line for line in told) == expected


def test_an_epoch_more_is_counted_as_one_though_the_model_may_have_a_thousand(run, copies, tmp_path):
    assert run("train", copies, "-o", tmp_path / "m", "--quiet")[0] == 0
    out = " ".join(run("train", copies, "--from", tmp_path / "m")[1].split())
    assert "Stopped after 1 epoch" in out
    assert "The maximum of 1 epoch was reached" in out
    assert perceptrons.load(tmp_path / "m").max_iter == 1000


def test_a_notice_is_shown_once(run, copies, tmp_path):
    data = tmp_path / "empty.csv"
    header, *rows = copies.read_text().splitlines()
    data.write_text("\n".join([f"none,{header}", *(f",{row}" for row in rows)]) + "\n")
    for more in ([], ["--test", data]):
        code, out, err = run("train", data, *more)
        assert (code, out.lower().count("has no values"), err) == (0, 1, "")


def test_more_epochs_are_not_advised_where_every_training_example_is_right(run, tmp_path, rng):
    X = np.round(rng.normal(size=(100, 2)), 3)
    y = np.where(X[:, 0] > 0, "yes", "no")
    data = write_rows(tmp_path / "apart.csv", X + 5 * (y == "yes")[:, None], y)
    out = run("train", data, "--max-iter", 1)[1]
    assert "Training accuracy 100.0%" in out
    assert "train for more epochs" not in " ".join(out.split())


def test_bars_of_scores_begin_at_zero(run, copies):
    out = run("tune", copies, "--max-iter", 8)[1]
    bars = re.findall(r"\n +\d+ +([\d.]+)% +(█\S*)", out)
    assert len(bars) > 3
    for score, drawn in bars:
        assert abs(len(drawn) - 24 * float(score) / 100) <= 1
