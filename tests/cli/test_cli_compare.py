"""`perceptrons compare`: learners beside each other on files of any kind, and the demonstrations."""

import json
import sys

import numpy as np
import pytest

from perceptrons.selection import LEARNERS, compare, copied_features, too_correct
from tests.conftest import gaussian
from tests.support.doors import without_tested

FEW = ("--learner", "average", "--learner", "naive-bayes", "--learner", "svm")


@pytest.fixture(autouse=True)
def a_ledger_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def table(rng, tmp_path):
    X, y = gaussian(rng, 150, 3, 2)
    rows = enumerate(zip(X.round(4).tolist(), y, strict=True))
    lines = [",".join([*map(str, row), str(100 * (k // 5)), "yes" if label else "no"]) for k, (row, label) in rows]
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,patient,label\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "messages.ft"
    spam, ham = ["free cash now", "win a free prize"], ["see you at noon", "noon is fine"]
    path.write_text("".join(f"spam\t{one}\nham\t{other}\n" for one, other in 20 * list(zip(spam, ham, strict=True))))
    return path


def test_it_does_what_compare_does(run, table):
    code, out, err = run("compare", table, *FEW, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    read = without_tested(table)
    found = compare(read.X, read.y, learners=["average", "naive_bayes", "svm"], scale=False)
    assert [(row["name"], row["score"], row["p"]) for row in told["rows"]] == [
        (row.name, row.score, row.p) for row in found.rows
    ]
    assert told["scaled"] is True
    assert told["explanation"] == found.explain()


def test_all_learners_are_shown_within_eighty_columns(run, table):
    code, out, err = run("compare", table)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    text = " ".join(out.split())
    for part in (
        "90 training, 30 validation and 30 test examples", "standardised for all learners",
        "Test set, by accuracy", "AROW", "kernel perceptron", "Gaussian naive Bayes", "least squares on ±1",
        "95% interval", "best", "Holm's correction for 12 comparisons", "A curved decision boundary",
    ):  # fmt: skip
        assert part in text, part


@pytest.mark.slow
def test_a_second_look_is_refused_and_a_forced_one_marked_and_tune_shares_the_ledger(run, refused, table):
    assert run("compare", table, *FEW, "--quiet") == (0, "", "")
    message = refused("compare", table, *FEW, "--metric", "f1_macro")
    assert "30 test examples were used before (once" in message
    assert "--force" in message
    assert "used before" in refused("tune", table)
    code, out, _ = run("compare", table, *FEW, "--metric", "f1_macro", "--force")
    assert code == 0
    assert "FORCED: this test set was used 2 times," in " ".join(out.split())


def test_the_ledger_is_where_it_is_asked_to_be(run, refused, table, tmp_path):
    assert run("compare", table, *FEW, "--quiet", "--ledger", tmp_path / "mine.json") == (0, "", "")
    assert (tmp_path / "mine.json").is_file()
    assert not (tmp_path / "state").exists()
    assert "used before" in refused("compare", table, "--ledger", tmp_path / "mine.json")


def test_texts_are_compared_as_the_words_in_them(run, texts):
    code, out, _ = run("compare", texts, *FEW, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["scaled"] is False
    assert {row["score"] for row in told["rows"]} == {1.0}
    assert {row["what"] for row in told["rows"]} >= {"naive Bayes of |x|"}


def test_it_tests_on_a_file_of_its_own(run, rng, tmp_path, table):
    lines = table.read_text().splitlines()
    test = tmp_path / "test.csv"
    test.write_text("\n".join([lines[0], *lines[1:41]]) + "\n")
    code, _, err = run("compare", table, *FEW, "--json", "--test", test)
    assert (code, "not a test" in err) == (2, True)  # these are learned from
    table.write_text("\n".join([lines[0], *lines[41:]]) + "\n")
    code, out, _ = run("compare", table, *FEW, "--json", "--test", test)
    assert (code, json.loads(out)["sizes"]) == (0, {"train": 88, "dev": 22, "test": 40})


def test_groups_stay_whole_and_are_no_feature(run, table):
    code, out, _ = run("compare", table, "--group-column", "patient", *FEW, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["split"].startswith("by whole groups")
    assert told["n_features"] == 3


def test_the_order_of_time_shares_and_metric_are_as_asked(run, table, monkeypatch):
    monkeypatch.setattr("perceptrons.selection.statistics.RESAMPLES", 40)
    options = ("--time-order", "--dev-share", "0.1", "--test-share", "0.3", "--metric", "f1_macro", "--seed", "3")
    code, out, _ = run("compare", table, "--learner", "last", *options, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["split"] == "in the order given, the last ones held out"
    assert (told["sizes"], told["metric"]) == ({"train": 90, "dev": 15, "test": 45}, "f1_macro")


def test_who_is_left_out_is_said(run, table):
    code, out, _ = run("compare", table, "--learner", "margin", "--learner", "ridge", "--max-seconds", "1e-9")
    assert code == 0
    assert "Left out: margin: 1e-09 seconds are not enough" in " ".join(out.split())


def test_progress_is_a_line_a_learner_when_somebody_watches(run, table, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert run("compare", table, *FEW, "--quiet")[2] == ""
    code, _, err = run("compare", table, *FEW, "--force")
    assert code == 0
    assert [line.partition(":")[0] for line in err.splitlines()] == [
        "averaged perceptron", "Gaussian naive Bayes", "linear SVM",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "made"), [("too-correct", too_correct), ("copied-features", copied_features)])
def test_the_demonstrations_are_shown(run, name, made):
    code, out, err = run("compare", "--demo", name)
    assert (code, err) == (0, "")
    assert " ".join(made().explain().split()) in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    code, out, _ = run("compare", "--demo", name, "--json")
    assert json.loads(out) == made().to_dict()
    assert run("compare", "--demo", name, "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give DATA, or --demo"),
        (("{table}", "--demo", "too-correct"), "leave DATA out"),
        (("--demo", "wrong"), "too-correct"),
        (("{table}", "--learner", "averaged"), "--learner averaged: there are last, average"),
        (("{table}", "--learner", ""), "--learner : there are"),
        (("{table}", "--learner", "a\nb"), "--learner a\\nb"),
        (("{table}", "--test-share", "1"), "give a share"),
        (("{table}", "--test-share", "0"), "no test set to compare on:"),
        (("{table}", "--dev-share", "0"), "no validation set:"),
        (("{table}", "--dev-share", "nan"), "give a share"),
        (("{table}", "--dev-share", "0.5", "--test-share", "0.5"), "no training set"),
        (("{table}", "--test", "{table}", "--test-share", "0.2"), "cannot be combined"),
        (("{table}", "--time-order", "--group-column", "patient"), "cannot be combined"),
        (("{table}", "--group-column", "nobody"), "nobody"),
        (("{table}", "--max-seconds", "0"), "above 0"),
        (("{table}", "--max-seconds", "nan"), "above 0"),
        (("{table}", "--metric", "auc"), "--metric"),
        (("{table}", "--ledger", "{table}"), "is not a record"),
        (("{table}", "--ledger", "/no/such/folder/looks.json"), "--ledger"),
        (("{table}", "--test", "nowhere.csv"), "nowhere.csv"),
        (("nowhere.csv",), "nowhere.csv"),
        (("{table}", "--seed", "-1"), "--seed"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(refused, table, options, message):
    before = table.read_bytes()
    assert message in refused("compare", *(option.replace("{table}", str(table)) for option in options))
    assert table.read_bytes() == before


def test_a_file_with_one_class_or_too_few_examples_is_refused(refused, tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("a,label\n1,x\n2,x\n")
    assert "only one class" in refused("compare", one)
    few = tmp_path / "few.csv"
    few.write_text("a,label\n1,x\n2,y\n")
    assert "few.csv" in refused("compare", few)


def test_labels_of_any_kind_are_shown_as_they_are(run, tmp_path, rng):
    X, y = gaussian(rng, 60, 2, 2)
    path = tmp_path / "odd.csv"
    labels = np.array(["[red]", "a\tb"])[y]
    rows = [f"{a:.3f},{b:.3f},{label}" for (a, b), label in zip(X, labels, strict=True)]
    path.write_text("a,b,label\n" + "\n".join(rows) + "\n")
    code, out, _ = run("compare", path, "--learner", "last", "--learner", "naive-bayes")
    assert code == 0
    assert "[red]" in out or "predicted as" not in out
    assert "\t" not in out


def test_the_names_of_learners_are_those_of_the_library(refused, table):
    message = refused("compare", table, "--learner", "nobody")
    assert all(name.replace("_", "-") in message for name in LEARNERS)


@pytest.mark.parametrize("option", ["--test-share", "--dev-share"])
def test_shares_are_refused_in_the_commands_own_words(option, refused, table):
    assert refused("compare", table, option, "2") == f"{option} 2: give a share from 0 to below 1."
