"""The command line, run in this process through `main`, and as a process of its own where pipes and signals matter."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from sklearn.utils import shuffle
from typer.testing import CliRunner

import perceptrons
from perceptrons import Perceptron
from perceptrons.cli import app, main
from perceptrons.cli.options import Combine, Multiclass, Step
from perceptrons.engine.training.parameters import DOMAINS, Words
from perceptrons.features import TableFeatures
from tests.support.processes import started

PROGRAM = [sys.executable, "-c", "import sys; from perceptrons.cli import main; sys.exit(main())"]
NAMES = ["length", "width", "height"]
KINDS = ["cat", "dog", "emu"]


def as_csv(X, y, names=NAMES):
    rows = [",".join([*(repr(float(value)) for value in x), *([] if y is None else [str(label)])]) for x, label in
            zip(X, [None] * len(X) if y is None else y, strict=True)]  # fmt: skip
    header = [] if names is None else [",".join([*names, *([] if y is None else ["kind"])])]
    return "\n".join([*header, *rows]) + "\n"


@pytest.fixture(scope="module")
def animals():
    """Examples of three kinds that a line does not quite part."""
    rng = np.random.default_rng(3)
    y = np.repeat(KINDS, 40)
    return rng.standard_normal((120, 3)) + 1.5 * np.eye(3)[np.repeat(np.arange(3), 40)], y


@pytest.fixture(scope="module")
def folder(tmp_path_factory, animals):
    """animals.csv, a model trained on all of it, and other files."""
    folder = tmp_path_factory.mktemp("files")
    X, y = animals
    (folder / "animals.csv").write_text(as_csv(X, y))
    (folder / "bare.csv").write_text(as_csv(X, y, names=None))
    (folder / "two.svm").write_text("".join(f"{(-1) ** k} 1:{k} 3:{(-1) ** k}\n" for k in range(20)))
    (folder / "xor.csv").write_text("0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n")
    (folder / "sides.csv").write_text("1,yes\n-1,no\n2,yes\n-2,no\n")
    (folder / "broken.csv").write_text("a,b,kind\n1,2,x\n1,oops,y\n2,3,x\n")
    (folder / "one.csv").write_text("a,kind\n1,x\n2,x\n")
    (folder / "prices.csv").write_text("a,price\n" + "".join(f"{k},{k}.5\n" for k in range(60)))
    (folder / "junk.model").write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00 no model at all")
    assert (
        main(
            ["train", str(folder / "animals.csv"), "--test-share", "0", "-o", str(folder / "animals.model"), "--quiet"]
        )
        == 0
    )
    assert (
        main(["train", str(folder / "two.svm"), "--test-share", "0", "-o", str(folder / "two.model"), "--quiet"]) == 0
    )
    return folder


def prepared(X):
    """The rows that the command learns from."""
    return TableFeatures().fit_transform(X)


def answers(folder, animals):
    """What the weights of the model say, computed by hand."""
    model = perceptrons.load(folder / "animals.model")
    return model.classes_[np.argmax(prepared(animals[0]) @ model.coef_.T + model.intercept_, axis=1)]


def of_lines(out):
    """The JSON objects of the lines."""
    return [json.loads(line) for line in out.splitlines()]


# ---- train


def test_train_alone_learns_digits_and_says_everything_a_newcomer_wants_to_know(run):
    code, out, err = run("train")
    assert (code, err) == (0, "")
    assert "10 classes" in out
    learned, tested = re.search(r"\n([\d,]+) for training; (\d+) held out for testing \(20\.0%, strat", out).groups()
    assert int(learned.replace(",", "")) + int(tested) == 1797
    assert 300 < int(tested) < 420
    assert re.search(r"\n +1 +\d+ +█+", out)
    assert float(re.search(r"Test accuracy ([\d.]+)%", out)[1]) > 93
    assert re.search(r"Stopped after \d+ epochs", out)
    assert re.search(r"\n3 +row \d, column \d", out)
    assert "▓▓" in out
    assert "perceptrons train -o digits.model" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_train_gives_the_weights_that_python_gives(run, folder, animals, tmp_path):
    X, y = animals
    model = perceptrons.load(folder / "animals.model")
    expected = Perceptron().fit(prepared(X), y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)
    assert run("train", folder / "animals.csv", "--test-share", 0, "--scale", "none", "-o", tmp_path / "m")[0] == 0
    np.testing.assert_array_equal(perceptrons.load(tmp_path / "m").coef_, Perceptron().fit(X, y).coef_)
    assert model.columns_.names() == NAMES
    assert model.classes_.tolist() == KINDS


def test_options_reach_the_model(run, folder, tmp_path):
    path = tmp_path / "m.model"
    code, out, err = run(
        "train", folder / "animals.csv", "-o", path, "--combine", "last", "--max-iter", 7, "--tol", 0, "--eta0", 0.5,
        "--early-stopping", "--max-seconds", 9, "--seed", 3, "--class-weight", "balanced", "--no-shuffle",
        "--no-intercept", "--verbose", "--quiet",
    )  # fmt: skip
    assert (code, out, err) == (0, "", "")
    expected = {
        "combine": "last", "max_iter": 7, "tol": None, "eta0": 0.5, "early_stopping": True, "max_seconds": 9.0,
        "random_state": 3, "class_weight": "balanced", "shuffle": False, "fit_intercept": False, "verbose": 0,
    }  # fmt: skip
    found = perceptrons.load(path).get_params()
    assert {name: found[name] for name in expected} == expected


RULES = [
    (["--step", "pa1", "--C", "0.1", "--margin", "2"], {"step": "pa1", "C": 0.1, "margin": 2.0}),
    (
        ["--margin", "0.5", "--penalty", "l2", "--alpha", "0.01", "--batch-size", "8"],
        {"margin": 0.5, "penalty": "l2", "alpha": 0.01, "batch_size": 8},
    ),
    (["--batch-size", "all", "--max-iter", "30"], {"batch_size": "all", "max_iter": 30}),
    (["--multiclass", "ovr", "--step", "arow", "--C", "2"], {"multiclass": "ovr", "step": "arow", "C": 2.0}),
    (["--multiclass", "ovo", "--step", "pa2"], {"multiclass": "ovo", "step": "pa2"}),
    (["--cost", '{"cat": {"dog": 3, "emu": 0.5}}'], {"cost": {"cat": {"dog": 3.0, "emu": 0.5}}}),
    (["--combine", "recent", "--window", "50"], {"combine": "recent", "window": 50.0}),
    (["--class-weight", '{"emu": 0.5}', "--combine", "last"], {"class_weight": {"emu": 0.5}, "combine": "last"}),
]


@pytest.mark.parametrize(("options", "parameters"), RULES, ids=lambda part: " ".join(part))
def test_options_of_the_rule_give_the_weights_that_python_gives(run, folder, animals, tmp_path, options, parameters):
    code, out, err = run(
        "train", folder / "animals.csv", "--test-share", 0, "-o", tmp_path / "m", "--quiet", *options
    )  # fmt: skip
    assert (code, out, err) == (0, "", "")
    X, y = animals
    model, expected = perceptrons.load(tmp_path / "m"), Perceptron(**parameters).fit(prepared(X), y)
    assert model.get_params() == expected.get_params()
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_words_that_options_know_are_those_of_the_library():
    for name, words in {"combine": Combine, "step": Step, "multiclass": Multiclass}.items():
        assert DOMAINS[name] == (Words(get_args(words)),)


def test_values_by_class_come_from_files_too_and_their_keys_become_numbers_where_classes_are(run, folder, tmp_path):
    (tmp_path / "cost.json").write_text('\ufeff{"-1": {"1": 2}}', encoding="utf-8")
    (tmp_path / "weight.json").write_text('{"1": 0.5}')
    code, _, err = run(
        "train", folder / "two.svm", "--cost", tmp_path / "cost.json", "--class-weight", tmp_path / "weight.json",
        "-o", tmp_path / "m", "--quiet",
    )  # fmt: skip
    assert (code, err) == (0, "")
    found = perceptrons.load(tmp_path / "m").get_params()
    assert (found["cost"], found["class_weight"]) == ({-1: {1: 2.0}}, {1: 0.5})
    assert "cost={-1: {1: 2.0}}" in run("inspect", tmp_path / "m")[1]
    found = json.loads(run("train", "--cost", '{"3": {"8": 2}}', "--max-iter", 2, "--json")[1])
    assert found["parameters"]["cost"] == {"3": {"8": 2.0}}


def test_the_report_shows_settings_and_updates_where_they_are_not_as_usual(run, folder):
    out = run("train", folder / "animals.csv", "--step", "pa1", "--C", 0.5, "--early-stopping")[1]
    assert "Settings: C=0.5, early_stopping=True, step='pa1'" in out
    assert max(map(len, out.split("What to try next")[0].splitlines())) <= 80
    assert re.search(r"epoch +mistakes +updates +held-out accuracy\n +1 +\d+ +\S+ +\d+ +[\d.]+%", out)
    history = json.loads(run("train", folder / "animals.csv", "--step", "pa1", "--json")[1])["history"]
    assert any(row["updates"] > row["mistakes"] for row in history)
    out = run("train", folder / "animals.csv")[1]
    assert "Settings" not in out
    assert "updates" in out
    assert "updates" not in run("train", folder / "animals.csv", "--margin", 0)[1]  # they are the mistakes


def test_suggested_commands_keep_the_rule(run, folder):
    cost = '{"cat": {"dog": 2}}'
    out = run("train", folder / "animals.csv", "--step", "pa2", "--C", 0.5, "--cost", cost, "--max-iter", 2)[1]
    again = f"perceptrons train {folder}/animals.csv --step pa2 --C 0.5 --cost '{cost}'"
    assert f"{again} --max-iter 2 -o animals.model" in out
    assert f"{again} --max-iter 4" in out


def test_options_that_are_not_given_leave_the_defaults(folder):
    assert perceptrons.load(folder / "animals.model").get_params() == Perceptron().get_params()


def test_train_json_is_one_object_and_nothing_else(run, folder):
    code, out, err = run("train", folder / "animals.csv", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["classes"] == KINDS
    assert (found["how"], found["examples"] + found["test_examples"]) == ("whole", 120)
    assert 12 <= found["test_examples"] <= 36
    assert found["epochs"] == len(found["mistakes"]) == len(found["history"])
    assert 0.5 < found["test_accuracy"] <= 1
    assert found["stop_reason"] in ("converged", "tol")
    assert {weight["feature"] for weight in found["weights"][0]["weights"]} == set(NAMES)


def test_verbose_progress_goes_to_stderr(run, folder):
    code, out, err = run("train", folder / "animals.csv", "--json", "--verbose", "--max-iter", 3)
    assert code == 0
    assert json.loads(out)["epochs"] == 3
    assert "mistakes" in err


def test_same_seed_same_run_and_another_seed_another_split(run, folder):
    def mistakes(seed):
        return json.loads(run("train", folder / "animals.csv", "--json", "--seed", seed)[1])["mistakes"]

    assert mistakes(1) == mistakes(1)
    assert mistakes(1) != mistakes(2)


def test_labels_of_the_test_file_that_the_training_set_does_not_have_are_named(run, folder, tmp_path):
    lines = (folder / "animals.csv").read_text().splitlines()
    path = tmp_path / "dots.csv"
    path.write_text("\n".join([lines[0], *(f"{line}." for line in lines[1:])]) + "\n")
    out = " ".join(run("train", folder / "animals.csv", "--test", path)[1].split())
    n = f"{len(lines) - 1:,} test examples have labels that the training set does not have (counted as wrong)"
    assert f"{n}: cat., dog., emu." in out
    assert "overfitting" not in out  # the labels are wrong, not the number of epochs


def test_test_file_is_read_like_the_training_file(run, folder, animals, tmp_path):
    X, y = animals
    path = tmp_path / "shuffled.csv"
    path.write_text(as_csv(X[:, ::-1], y, NAMES[::-1]))
    found = json.loads(run("train", folder / "animals.csv", "--test", path, "--json")[1])
    assert found["test_examples"] == 120
    assert found["test_accuracy"] == found["train_accuracy"]


def test_too_few_examples_to_hold_any_out_are_all_learned_and_it_says_so(run, folder):
    code, out, _ = run("train", folder / "xor.csv", "--max-iter", 3)
    assert code == 0
    assert "All 4 for training: too few to hold out 20% for testing" in out
    assert "Test accuracy" not in out
    assert "Training accuracy" in out


def test_suggested_commands_repeat_what_the_data_need(run, folder):
    out = run("train", folder / "bare.csv", "--label-column", "4", "--max-iter", 2)[1]
    assert f"perceptrons train {folder}/bare.csv --label-column 4 --max-iter 2 -o bare.model" in out
    assert f"perceptrons train {folder}/bare.csv --label-column 4 --max-iter 4" in out


@pytest.mark.parametrize(
    ("options", "reason", "sentence"),
    [
        (["two.svm"], "converged", "An epoch passed without an update:"),
        (["animals.csv", "--tol", "0.5"], "tol", "The averaged weights stopped changing: .* less than 0.5 of"),
        (["animals.csv", "--early-stopping"], "early_stopping", "not improved for 5 epochs, so .* of epoch \\d+"),
        (["animals.csv", "--max-iter", "2", "--tol", "0"], "max_iter", "The maximum of 2 epochs was reached"),
        (["sides.csv", "--margin", "9e9", "--max-iter", "3", "--tol", "0"], "max_iter", "still within the margin"),
        (["xor.csv", "--max-iter", "1000000000", "--tol", "0", "--max-seconds", "0.05"], "max_seconds", "0.05 seconds"),
    ],
)
def test_every_reason_to_stop_is_a_sentence(run, folder, options, reason, sentence):
    data, *rest = options
    found = json.loads(run("train", folder / data, *rest, "--json")[1])
    assert found["stop_reason"] == reason
    assert re.search(sentence, found["why"])
    words = " ".join(run("train", folder / data, *rest)[1].split())
    assert re.search(sentence, words)


def test_many_epochs_are_shown_as_first_some_and_last(run, folder):
    out = run("train", folder / "xor.csv", "--max-iter", 400, "--tol", 0)[1]
    shown = [int(epoch) for epoch in re.findall(r"^ *(\d+) +\d+ +█*", out, re.MULTILINE)]
    assert shown[0] == 1
    assert shown[-1] == 400
    assert 8 <= len(shown) <= 13


def test_features_of_very_different_scale_are_pointed_out(run, tmp_path):
    path = tmp_path / "uneven.csv"
    path.write_text("small,large,kind\n" + "".join(f"{k % 2},{1000 * k},{k % 2}\n" for k in range(1, 21)))
    assert "differ widely in scale" in run("train", path, "--max-iter", 5, "--scale", "none")[1]
    for scale in ("auto", "standard", "max-abs"):
        assert "differ widely in scale" not in run("train", path, "--max-iter", 5, "--scale", scale)[1]


# ---- predict


def test_predict_prints_a_label_a_line(run, folder, animals):
    code, out, err = run("predict", folder / "animals.model", folder / "animals.csv")
    assert (code, err) == (0, "")
    assert out.splitlines() == answers(folder, animals).tolist()


def test_predict_needs_no_labels_and_finds_columns_by_name(run, folder, animals, tmp_path):
    X, _ = animals
    expected = run("predict", folder / "animals.model", folder / "animals.csv")[1]
    for content in (
        as_csv(X, None),
        as_csv(X[:, ::-1], None, NAMES[::-1]),
        as_csv(np.column_stack([np.arange(120), X]), None, ["id", *NAMES]),
        as_csv(X, None, names=None),
    ):
        (tmp_path / "new.csv").write_text(content)
        assert run("predict", folder / "animals.model", tmp_path / "new.csv") == (0, expected, "")


def test_predict_scores_come_below_a_heading(run, folder, animals):
    heading, first, *_ = run("predict", folder / "animals.model", folder / "animals.csv", "--scores")[1].splitlines()
    assert heading.split("\t") == ["label", *(f"score of {kind}" for kind in KINDS)]
    label, *scores = first.split("\t")
    assert label == KINDS[int(np.argmax([float(score) for score in scores]))]
    heading, first, *_ = run("predict", folder / "two.model", folder / "two.svm", "--scores")[1].splitlines()
    assert heading.split("\t") == ["label", "score of 1"]
    assert (first.split("\t")[0] == "1") == (float(first.split("\t")[1]) > 0)


def test_predict_json_and_output_file(run, folder, tmp_path):
    plain = run("predict", folder / "animals.model", folder / "animals.csv")[1]
    found = of_lines(run("predict", folder / "animals.model", folder / "animals.csv", "--json", "--scores")[1])
    assert [one["label"] for one in found] == plain.splitlines()
    assert [list(one["scores"]) for one in found] == [KINDS] * 120
    assert all(max(one["scores"], key=one["scores"].get) == one["label"] for one in found)
    path = tmp_path / "out.txt"
    assert run("predict", folder / "animals.model", folder / "animals.csv", "-o", path) == (0, "", "")
    assert path.read_text() == plain


def test_a_label_with_a_newline_stays_on_its_line(run, tmp_path):
    (tmp_path / "a.csv").write_text('n,kind\n1,"a\nb"\n-1,c\n')
    assert run("train", tmp_path / "a.csv", "-o", tmp_path / "m", "--quiet")[0] == 0
    assert run("predict", tmp_path / "m", tmp_path / "a.csv")[1] == "a\\nb\nc\n"
    found = of_lines(run("predict", tmp_path / "m", tmp_path / "a.csv", "--json")[1])
    assert [one["label"] for one in found] == ["a\nb", "c"]


def test_counting_from_zero_is_remembered_by_the_model(run, tmp_path):
    (tmp_path / "zero.svm").write_text("a 0:1\nb 1:1\nc 2:1\n")
    (tmp_path / "new.svm").write_text("0 1:1\n")
    assert run("train", tmp_path / "zero.svm", "-o", tmp_path / "m", "--quiet", "--test-share", 0)[0] == 0
    assert run("predict", tmp_path / "m", tmp_path / "new.svm")[1] == "b\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_predict_without_data_answers_a_pipe_and_asks_at_a_terminal(run, refused, folder, animals, monkeypatch):
    model = folder / "animals.model"
    command = [*PROGRAM, "predict", model]
    text = as_csv(animals[0], None, names=None)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == run("predict", model, folder / "animals.csv")
    monkeypatch.setattr("sys.stdin", Terminal())
    assert re.search("perceptrons predict: .*DATA", refused("predict", model))


def test_a_model_of_numbered_features_reads_tables_too_by_position(run, folder, tmp_path):
    expected = run("predict", folder / "two.model", folder / "two.svm")[1]
    rows = [[k, 0, (-1) ** k] for k in range(20)]
    for name, content in {"a.csv": as_csv(rows, None), "b.csv": as_csv(rows, [(-1) ** k for k in range(20)])}.items():
        (tmp_path / name).write_text(content)
        assert run("predict", folder / "two.model", tmp_path / name) == (0, expected, "")
    assert json.loads(run("evaluate", folder / "two.model", tmp_path / "b.csv", "--json")[1])["accuracy"] == 1


# ---- evaluate


def test_evaluate_agrees_with_scikit_learn(run, folder, animals):
    y = animals[1]
    said = answers(folder, animals)
    code, out, err = run("evaluate", folder / "animals.model", folder / "animals.csv", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["accuracy"] == pytest.approx((said == y).mean())
    assert found["confusion"] == confusion_matrix(y, said).tolist()
    rows = [[row[name] for row in found["by_class"]] for name in ("precision", "recall", "f1", "count")]
    np.testing.assert_allclose(rows, precision_recall_fscore_support(y, said))


def test_evaluate_shows_accuracy_classes_and_confusions(run, folder, animals):
    y = animals[1]
    said = answers(folder, animals)
    code, out, _ = run("evaluate", folder / "animals.model", folder / "animals.csv")
    assert code == 0
    assert f"Accuracy {100 * (said == y).mean():.1f}% ({(said == y).sum()} of 120;" in out
    assert re.search(r"\ncat +[\d.]+% +[\d.]+% +[\d.]+% +40", out)
    row = confusion_matrix(y, said)[1]
    assert re.search(r"\ndog +" + " +".join(str(n) if n else "·" for n in row), out)


def test_labels_the_model_does_not_know_count_as_mistakes(run, folder, animals, tmp_path):
    X, y = animals
    path = tmp_path / "new.csv"
    path.write_text(as_csv(X, np.where(np.arange(120) < 2, "yak", y)))
    assert (
        "2 examples with labels that the model does not know: yak" in run("evaluate", folder / "animals.model", path)[1]
    )
    found = json.loads(run("evaluate", folder / "animals.model", path, "--json")[1])
    assert found["unknown_labels"] == ["yak"]
    assert found["by_class"][3]["precision"] is None
    assert found["by_class"][3]["recall"] == 0
    assert np.sum(found["confusion"]) == 120


def test_labels_are_read_as_the_model_reads_them(run, tmp_path):
    (tmp_path / "train.csv").write_text("1,1.0\n2,2\n3,x\n")
    (tmp_path / "new.csv").write_text("1,1.0\n2,2\n")
    assert run("train", tmp_path / "train.csv", "-o", tmp_path / "m", "--quiet")[0] == 0
    assert json.loads(run("evaluate", tmp_path / "m", tmp_path / "new.csv", "--json")[1])["unknown_labels"] == []


def test_very_many_classes_are_cut_for_people_but_not_for_machines(run, tmp_path):
    path = tmp_path / "many.npz"
    np.savez(path, X=np.eye(30)[np.arange(90) % 30], y=np.arange(90) % 30 + 1000)
    assert run("train", path, "-o", tmp_path / "m", "--quiet", "--max-iter", 1, "--combine", "last")[0] == 0
    out = run("evaluate", tmp_path / "m", path)[1]
    assert "the 20 of 30 with the lowest F1" in out
    assert "Confusion matrix: true" not in out
    assert len(out.splitlines()) < 45
    assert len(json.loads(run("evaluate", tmp_path / "m", path, "--json")[1])["by_class"]) == 30
    out = run("inspect", tmp_path / "m")[1]
    assert "and 10 classes more" in out


def test_names_with_brackets_are_shown_as_they_are(run, tmp_path):
    (tmp_path / "a.csv").write_text("[bold]n[/],kind\n1,[red]x\n-1,[/]y\n2,[red]x\n-2,[/]y\n")
    code, out, _ = run("train", tmp_path / "a.csv", "-o", tmp_path / "m")
    assert code == 0
    assert "[bold]n[/]" in out
    assert "for [red]x" in out
    assert "[/]y" in run("evaluate", tmp_path / "m", tmp_path / "a.csv")[1]
    assert "[/]y" in run("inspect", tmp_path / "m")[1]


# ---- inspect


def test_inspect_tells_what_is_in_a_model(run, folder):
    code, out, err = run("inspect", folder / "animals.model")
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    assert "Perceptron, combine='average'" in words
    assert "3: cat, dog, emu" in words
    assert "3: length; width; height" in words
    assert re.search(r"[\d,]+ epochs?, [\d,]+ mistakes?, [\d,]+ updates?, [\d,]+ examples? seen", words)
    assert "not probabilities" in words
    assert "averaged weights stopped changing" in words or "without an update" in words


def test_inspect_one_class_lists_its_top_weights_in_order(run, folder):
    model = perceptrons.load(folder / "animals.model")
    out = run("inspect", folder / "animals.model", "--class", "dog", "--top", 2)[1]
    order = np.argsort(-np.abs(model.coef_[1]))[:2]
    assert [line.split()[0] for line in out.splitlines() if line.split()[:1] and line.split()[0] in NAMES] == [
        NAMES[k] for k in order
    ]
    found = json.loads(run("inspect", folder / "animals.model", "--class", "dog", "--top", 2, "--json")[1])
    assert [weight["weight"] for weight in found["weights"][0]["weights"]] == model.coef_[1][order].tolist()
    assert found["weights"][0]["intercept"] == model.intercept_[1]
    assert [entry["class"] for entry in found["weights"]] == ["dog"]


def test_inspect_of_two_classes_mirrors_the_one_row_of_weights(run, folder):
    model = perceptrons.load(folder / "two.model")
    found = json.loads(run("inspect", folder / "two.model", "--json")[1])
    first, second = ({w["column"]: w["weight"] for w in entry["weights"]} for entry in found["weights"])
    assert second == {k: w for k, w in enumerate(model.coef_[0].tolist()) if w}
    assert first == {k: -w for k, w in second.items()}
    assert re.search(r"column 3 +\+", run("inspect", folder / "two.model")[1])


def test_inspect_reads_models_that_vote_and_models_that_learned_in_blocks(run, tmp_path, animals):
    X, y = animals
    perceptrons.save(Perceptron(combine="vote", max_iter=3).fit(X, y), tmp_path / "vote")
    assert "shown instead of the votes" in " ".join(run("inspect", tmp_path / "vote")[1].split())
    perceptrons.save(Perceptron().partial_fit(*shuffle(X, y, random_state=0)), tmp_path / "blocks")
    code, out, _ = run("inspect", tmp_path / "blocks")
    assert code == 0
    assert "blocks" in out
    assert json.loads(run("inspect", tmp_path / "blocks", "--json")[1])["stop_reason"] is None


# ---- models of pairs of classes, and of several labels


@pytest.fixture(scope="module")
def duels(folder):
    """A model one-vs-one, trained by the command."""
    data, path = folder / "animals.csv", folder / "duels.model"
    assert main(["train", str(data), "--multiclass", "ovo", "--test-share", "0", "-o", str(path), "--quiet"]) == 0
    return path


def test_weights_one_vs_one_are_shown_by_pair(run, duels):
    model = perceptrons.load(duels)
    found = json.loads(run("inspect", duels, "--json")[1])["weights"]
    assert [entry["pair"] for entry in found] == [["cat", "dog"], ["cat", "emu"], ["dog", "emu"]]
    for k, entry in enumerate(found):
        assert {w["column"]: w["weight"] for w in entry["weights"]} == dict(enumerate(model.coef_[k].tolist()))
        assert entry["intercept"] == model.intercept_[k]
    out = run("inspect", duels)[1]
    assert "settings  multiclass='ovo'" in out
    assert "in 3 binary problems together" in " ".join(out.split())
    first = {pair: rf"\n{pair} +{NAMES[np.argmax(np.abs(row))]} +[+-]" for pair, row in
             zip(["cat vs dog", "cat vs emu", "dog vs emu"], model.coef_, strict=True)}  # fmt: skip
    assert all(re.search(line, out) for line in first.values())
    out = run("inspect", duels, "--class", "dog")[1]
    assert [bool(re.search(line, out)) for line in first.values()] == [True, False, True]


def test_a_weight_of_a_pair_speaks_for_one_of_the_two(run, duels):
    out = run("inspect", duels, "--class", "cat vs emu")[1]
    assert "Most important features for cat vs emu" in out
    said = {name: (sign, speaks) for name, sign, speaks in re.findall(r"\n(\w+) +([+-])[\d.]+ .* for (\w+)", out)}
    row = dict(zip(NAMES, perceptrons.load(duels).coef_[1], strict=True))
    assert said == {name: ("+", "emu") if weight > 0 else ("-", "cat") for name, weight in row.items()}
    found = json.loads(run("inspect", duels, "--class", "cat vs emu", "--json")[1])
    assert [entry["pair"] for entry in found["weights"]] == [["cat", "emu"]]


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_problems_apart_are_reported_predicted_and_evaluated(run, folder, animals, tmp_path, multiclass):
    X, y = prepared(animals[0]), animals[1]
    expected = Perceptron(multiclass=multiclass).fit(X, y)
    out = run("train", folder / "animals.csv", "--multiclass", multiclass, "--test-share", 0, "-o", tmp_path / "m")[1]
    assert "Mistakes during training in 3 binary problems together" in out
    assert f"Training accuracy {100 * expected.score(X, y):.1f}%" in out
    assert re.search(r"\ncat vs dog +\w+ +[+-]" if multiclass == "ovo" else r"\ncat +\w+ +[+-]", out)
    found = of_lines(run("predict", tmp_path / "m", folder / "animals.csv", "--scores", "--json")[1])
    assert [one["label"] for one in found] == expected.predict(X).tolist()
    np.testing.assert_array_equal([[*one["scores"].values()] for one in found], expected.decision_function(X))
    found = json.loads(run("evaluate", tmp_path / "m", folder / "animals.csv", "--json")[1])
    assert found["confusion"] == confusion_matrix(y, expected.predict(X)).tolist()


def test_digits_one_vs_one_have_no_pictures_but_pairs(run):
    out = run("train", "--multiclass", "ovo", "--max-iter", 2)[1]
    assert re.search(r"\n0 vs 1 +row \d", out)
    assert "and 33 pairs more" in out
    assert "pictures:" not in out
    assert "Weights as pictures:" in run("train", "--multiclass", "ovr", "--max-iter", 2)[1]


def test_two_classes_are_shown_alike_whatever_multiclass_is(run, folder, tmp_path):
    assert run("train", folder / "two.svm", "--multiclass", "ovo", "-o", tmp_path / "m", "--quiet")[0] == 0
    out = run("inspect", tmp_path / "m")[1]
    assert "problems" not in out
    assert re.search(r"column 3 +\+.* for 1\b", out)


def label_forms():
    sets = [{"a", "b"}, {"b"}, set(), {"a"}]
    flags = np.array([[1, 1], [0, 1], [0, 0], [1, 0]])
    return {"sets": sets, "lists": [sorted(labels) for labels in sets], "array": flags, "sparse": sp.csr_matrix(flags)}


@pytest.mark.parametrize("form", label_forms())
def test_models_of_several_labels_predict_and_are_inspected(run, refused, tmp_path, form):
    X = np.array([[2.0, -2.0], [-1.0, -2.0], [-2.0, 1.0], [1.0, 2.0]])
    model = Perceptron(multiclass="ovo").fit(X, label_forms()[form])  # ovo says nothing about several labels
    perceptrons.save(model, tmp_path / "m")
    (tmp_path / "x.csv").write_text(as_csv(X, None, names=None))
    (tmp_path / "xy.csv").write_text(as_csv(X, ["a", "b", "a", "a"], names=None))
    a, b = model.classes_.tolist()
    answers = [[a, b], [b], [], [a]]
    assert run("predict", tmp_path / "m", tmp_path / "x.csv") == (0, f"{a},{b}\n{b}\n\n{a}\n", "")
    found = of_lines(run("predict", tmp_path / "m", tmp_path / "x.csv", "--json", "--scores")[1])
    assert [one["label"] for one in found] == answers
    np.testing.assert_array_equal([[*one["scores"].values()] for one in found], model.decision_function(X))
    heading, first, *_ = run("predict", tmp_path / "m", tmp_path / "x.csv", "--scores")[1].splitlines()
    assert heading.split("\t") == ["label", f"score of {a}", f"score of {b}"]
    assert first.split("\t")[0] == f"{a},{b}"
    out = run("inspect", tmp_path / "m")[1]
    assert "several labels per example" in out
    assert f"2: {a}, {b}" in out
    assert re.search(rf"\n{a} +column 1 +\+", out)
    assert f"against {b}" in run("inspect", tmp_path / "m", "--class", b)[1]
    found = json.loads(run("inspect", tmp_path / "m", "--json")[1])
    assert found["several_labels"] is True
    assert [entry["class"] for entry in found["weights"]] == [a, b]
    if form in ("array", "sparse"):  # whose labels are the numbers of columns
        line = refused("evaluate", tmp_path / "m", tmp_path / "xy.csv")
        assert re.search(r"xy.csv: none of its labels \(a, b\) is a label of the model \(0, 1\)", line)
    else:
        assert "Micro F1" in run("evaluate", tmp_path / "m", tmp_path / "xy.csv")[1]


# ---- what goes wrong


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--step", "best"], "--step': 'best' is not one of 'constant'.*arow"),
        (["--multiclass", "all"], "--multiclass.*joint.*ovo"),
        (["--C", "0"], r"C=0.0\): C must be"),
        (["--C", "big"], "--C"),
        (["--margin", "-1"], "margin must be a number between 0 and"),
        (["--margin", "nan"], "margin"),
        (["--penalty", "l2", "--alpha", "-1"], r"alpha must be a number between 0 and 1e\+12"),
        (["--batch-size", "0"], "batch_size must be a whole number of at least 1 or"),
        (["--batch-size", "ten"], "--batch-size.*ten is neither a whole number nor all"),
        (["--batch-size", "9" * 5000], "--batch-size.*neither"),
        (["--step", "pa", "--eta0", "2"], "step='pa', eta0=2.0.*does not work"),
        (["--step", "pa1", "--margin", "0"], "step='pa1', margin=0.0.*does not work"),
        (["--step", "pa", "--batch-size", "2"], "batch_size=2.*does not work"),
        (["--step", "arow", "--penalty", "l2"], "penalty='l2'.*does not work"),
        (["--step", "arow", "--combine", "vote"], "combine='vote'.*does not work"),
        (["--multiclass", "ovo", "--combine", "pocket"], "combine='pocket'.*does not work"),
        (["--window", "50"], "window=50.0.*does not work: .*use combine='recent'"),
        (["--multiclass", "ovr", "--cost", '{"cat": {"dog": 1}}'], "multiclass='ovr', cost=.*does not work"),
        (
            ["--cost", "FOLDER/none.json"],
            '^--cost FOLDER/none.json: no such file.*: give {"true class": {"predicted class": cost}}, or',
        ),
        (["--cost", "FOLDER"], "^--cost FOLDER: is a directory"),
        (["--cost", "FOLDER/bad.json"], r"^--cost FOLDER/bad.json: line 2, column 8: not JSON \(.*: give "),
        (["--cost", "FOLDER/junk.model"], "^--cost FOLDER/junk.model: "),
        (["--cost", "FOLDER/null.json"], "null.json: not a JSON object: give "),
        (["--cost", "{cat: {dog: 1}}"], r"^--cost {cat: {dog: 1}}: line 1, column 2: not JSON"),
        (["--cost", '{"cat": {}, "cat": {}}'], "'cat' appears twice"),
        (["--cost", '{"a":' * 3000 + "1" + "}" * 3000], "^--cost.*recursion"),
        (["--cost", '{"a":' * 800 + "1" + "}" * 800], "^--cost.*(recursion|not among)"),
        (["--cost", '{"cat": 1}'], r"^--cost: cost\['cat'\] = 1.0: "),
        (["--cost", '{"cat": {"dog": -1}}'], r"^--cost: cost\['cat'\]\['dog'\] = -1.0: costs must be"),
        (["--cost", '{"cat": {"dog": 1' + "0" * 400 + "}}"], r"= inf: costs must be numbers"),
        (["--cost", '{"cat": {"cat": 1}}'], "the right prediction must cost 0"),
        (["--cost", '{"cat": {"yak": 1}}'], r"^--cost: .*'yak'.*not among \['cat', 'dog', 'emu'\]"),
        (["--class-weight", "heavy"], "^--class-weight heavy: no such file.*: give balanced, "),
        (["--class-weight", '{"cat": -1}'], r"^--class-weight: class_weight\['cat'\] = -1.0: "),
        (["--class-weight", '{"yak": 1}'], "^--class-weight: .*'yak'.*not among"),
        (["--class-weight", '{"cat": 0, "dog": 0, "emu": 0}'], "^--class-weight: .*nothing to learn from"),
    ],
    ids=lambda part: " ".join(part)[:40] if isinstance(part, list) else "",
)
def test_a_bad_rule_is_refused_and_nothing_is_written(refused, folder, tmp_path, options, message):
    (folder / "bad.json").write_text('{"cat":\n{"dog" 2}}')
    (folder / "null.json").write_text("null")
    words = [option.replace("FOLDER", str(folder)) for option in options]
    line = refused("train", folder / "animals.csv", "-o", tmp_path / "m", *words)
    assert re.search(message.replace("FOLDER", re.escape(str(folder))), line), line
    assert not list(tmp_path.iterdir())


def test_a_bad_rule_is_refused_before_data_are_read(refused, folder):
    assert "margin" in refused("train", folder / "none.csv", "--margin", "-1")
    assert refused("train", folder / "none.csv", "--cost", "{").startswith("--cost {: line 1, column 2")


def test_a_file_of_costs_is_not_overwritten(refused, folder, tmp_path):
    path = tmp_path / "cost.json"
    path.write_text("{}")
    for option in ("--cost", "--class-weight"):
        assert "would overwrite it" in refused("train", folder / "animals.csv", option, path, "-o", path)
    assert path.read_text() == "{}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "{}/broken.csv"], "^{}/broken.csv:3:2: column 'b': 'oops' is not a number"),
        (["train", "{}/none.csv"], "^{}/none.csv: no such file or directory$"),
        (["train", "{}"], "^{}/animals.csv: it is not in a folder that names its class"),
        (["train", "{}", "--format", "csv"], "^{}: is a directory$"),
        (["train", "{}/one.csv"], "one.csv: .*only one class, 'x'"),
        (["train", "{}/prices.csv"], "60 different labels in column .price. among 60 examples.*--label-column"),
        (["train", "{}/animals.csv", "--label-column", "colour"], "animals.csv:1:1: no column is called 'colour'"),
        (["train", "{}/animals.csv", "--test", "{}/none.csv"], "^{}/none.csv: no such file"),
        (["train", "{}/animals.csv", "--test", "{}/xor.csv"], "xor.csv:1:1: "),
        (["train", "{}/animals.csv", "--test", "{}/bare.csv", "--test-share", "0.1"], "cannot be combined"),
        (["train", "--test", "{}/bare.csv"], "--test needs DATA"),
        (["train", "{}/animals.csv", "-o", "{}/nowhere/m"], "^{}/nowhere/m: cannot be written.*folder {}/nowhere does"),
        (["train", "{}/animals.csv", "-o", "{}"], "^{}: cannot be written.*folder"),
        (["train", "{}/animals.csv", "-o", "{}/animals.csv"], "animals.csv: .*would overwrite it"),
        (["train", "-o", "/dev/null"], "^/dev/null: cannot be written.*not a regular file:"),
        (["train", "--eta0", "0"], "eta0"),
        (["train", "--max-seconds", "-1"], "max_seconds"),
        (["train", "--eta0", "nan"], "eta0"),
        (["train", "--max-iter", "0"], "perceptrons train: .*--max-iter"),
        (["train", "--max-iter", "many"], "--max-iter"),
        (["train", "--test-share", "1"], "--test-share"),
        (["train", "--tol", "-1"], "--tol"),
        (["train", "--seed", "-1"], "--seed"),
        (["train", "--combine", "best"], "--combine.*average"),
        (["train", "--class-weight", "heavy"], "--class-weight"),
        (["train", "--format", "xml"], "--format"),
        (["train", "a.csv", "b.csv"], "^a.csv: no such file or directory$"),
        (["train", "--nonsense"], "--nonsense.*see perceptrons train --help"),
        (["nonsense"], "nonsense"),
        (["--nonsense"], "--nonsense"),
        (["predict", "{}/none.model", "{}/animals.csv"], "^{}/none.model: no such file"),
        (["predict", "{}", "{}/animals.csv"], "^{}: this is a folder, not a model file"),
        (["predict", "{}/animals.csv", "{}/two.model"], "^{}/animals.csv: not a model file.*.*: give .*train -o"),
        (["predict", "{}/junk.model", "{}/animals.csv"], "^{}/junk.model: "),
        (["predict", "{}/animals.csv", "{}/animals.csv"], "^{}/animals.csv: "),
        (["predict", "{}/animals.model", "{}/xor.csv"], "xor.csv:1:1: |xor.csv:1:3: "),
        (["predict", "{}/animals.model", "{}/broken.csv"], "broken.csv:1:1: there is no column 'length'.*model"),
        (["predict", "{}/animals.model", "{}/animals.csv", "-o", "{}/no/where"], "^{}/no/where: cannot be written"),
        (["predict", "{}/animals.model", "{}/animals.csv", "-o", "{}/animals.model"], "would overwrite it"),
        (["evaluate", "{}/two.model", "{}/animals.csv"], "none of its labels \\(cat, dog, emu.*\\(-1, 1"),
        (["evaluate", "{}/animals.model", "{}/animals.csv", "--label-column", "x"], "no column is called 'x'"),
        (["evaluate", "{}/junk.model", "{}/animals.csv"], "junk.model: "),
        (["inspect", "{}/none.model"], "none.model: no such file"),
        (["inspect", "{}/junk.model"], "junk.model: "),
        (["inspect", "{}/animals.model", "--class", "yak"], "--class yak: .*cat, dog, emu"),
        (["inspect", "{}/animals.model", "--top", "0"], "--top"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_ends_with_code_2_and_one_clear_line(refused, folder, arguments, message):
    line = refused(*(argument.replace("{}", str(folder)) for argument in arguments))
    assert re.search(message.replace("{}", re.escape(str(folder))), line), line


def test_svmlight_beyond_the_model_names_line_and_column(run, refused, folder, tmp_path):
    (tmp_path / "new.svm").write_text("1 1:2\n-1 2:1 9:5\n")
    code, out, err = run("predict", folder / "two.model", tmp_path / "new.svm")
    assert (code, out) == (2, "1\n")  # lines before it are answered
    assert err.startswith(f"{tmp_path}/new.svm:2:8: index 9")
    assert refused("evaluate", folder / "two.model", tmp_path / "new.svm") == err.strip()


def test_a_file_that_may_not_be_read_is_named(refused, folder, monkeypatch):
    def forbidden(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.open", forbidden)
    assert refused("train", folder / "animals.csv") == f"{folder}/animals.csv: permission denied"


def test_a_folder_that_may_not_be_written_is_named_before_any_training(refused, folder, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    monkeypatch.setattr(Perceptron, "fit", lambda *_, **__: pytest.fail("it trained first"))
    assert "permission denied" in refused("train", folder / "animals.csv", "-o", folder / "new.model")


def test_an_output_that_fails_in_the_end_is_named(refused, folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("perceptrons.cli.files.save", full)
    assert refused("train", folder / "animals.csv", "-o", folder / "new") == f"{folder}/new: no space left on device"


def test_too_little_memory_is_said(refused, folder, monkeypatch):
    def hungry(*_, **__):
        raise MemoryError

    monkeypatch.setattr(Perceptron, "fit", hungry)
    assert "memory" in refused("train", folder / "animals.csv")


def test_a_bug_is_not_hidden(run, folder, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr(Perceptron, "fit", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        run("train", folder / "animals.csv")


def test_an_interruption_in_this_process_ends_with_130(run, folder, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Perceptron, "fit", interrupted)
    assert run("train", folder / "animals.csv") == (130, "", "Interrupted.\n")


# ---- the program as a whole


def test_help_and_version(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert all(command in out for command in ("train", "predict", "evaluate", "inspect"))
    assert run("--version") == (0, f"perceptrons {perceptrons.__version__}\n", "")
    options = re.findall("^  (--[a-z-]+)", run("train", "--help")[1], re.M)
    in_order = ["--json", "--format", "--test-share", "--batch-size", "--cost", "--kernel", "--tol", "--workers"]
    assert sorted(in_order, key=options.index) == in_order


def test_typers_own_runner_sees_the_same_codes(folder):
    assert CliRunner().invoke(app, ["--version"]).exit_code == 0
    assert CliRunner().invoke(app, ["train", "--nonsense"]).exit_code == 2
    assert CliRunner().invoke(app, ["inspect", str(folder / "none")]).exit_code == 2


def test_as_a_process_it_returns_codes_and_shows_no_traceback(folder):
    done = subprocess.run([*PROGRAM, "train", folder / "broken.csv"], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{folder}/broken.csv:3:2: ")
    assert done.stderr.count("\n") == 1


def test_output_without_a_terminal_is_plain_and_survives_ascii(folder, tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    (tmp_path / "a.csv").write_text("größe,kind\n1,café\n-1,tee\n2,café\n-2,tee\n", encoding="utf-8")
    command = [*PROGRAM, "train", tmp_path / "a.csv"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert re.search(r"\n +1 +\d+ +#+", done.stdout)
    assert "caf\\xe9" in done.stdout


def test_a_pipe_closed_by_its_reader_ends_quietly(folder, tmp_path):
    rows = "0.5,1.25,2\n" * 60_000
    (tmp_path / "long.csv").write_text(rows)
    command = [*PROGRAM, "predict", folder / "animals.model", tmp_path / "long.csv"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() in KINDS
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", [["train", "{}/animals.csv", "-o", "{}/piped.model"], ["--version"]])
def test_output_into_a_closed_pipe_ends_quietly_and_what_was_asked_is_done(folder, command, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    arguments = [word.replace("{}", str(folder)) for word in command]
    done = subprocess.run(
        [*PROGRAM, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, env=environment, timeout=300
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    if "-o" in command:
        assert perceptrons.load(folder / "piped.model").classes_.tolist() == KINDS
        (folder / "piped.model").unlink()


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_to_a_full_disk_is_refused_in_one_line(folder):
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    command = [*PROGRAM, "inspect", folder / "animals.model"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, timeout=300)
    assert (done.returncode, done.stderr) == (2, "The output cannot be written: No space left on device.\n")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_while_learning_ends_with_130_and_a_line(folder):
    options = ["--combine", "last", "--tol", "0", "--max-iter", "1000000000", "--verbose"]
    command = [*PROGRAM, "train", folder / "xor.csv", *options]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while "epoch" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in err


def test_the_library_does_not_import_the_command_line():
    code = (
        "import sys, perceptrons; print([name for name in ('typer', 'rich', 'perceptrons.cli') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300).stdout == "[]\n"


def test_the_command_line_itself_imports_nothing_heavy_before_it_has_work():
    code = """
import importlib.util, sys, types
package = types.ModuleType("perceptrons")
package.__path__ = importlib.util.find_spec("perceptrons").submodule_search_locations
package.__version__ = "0"
sys.modules["perceptrons"] = package
from perceptrons.cli import main
main(["--help"])
print([name for name in ("numpy", "scipy", "sklearn", "numba", "perceptrons.linear") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.slow
def test_a_closed_stdout_is_nobody_reading(tmp_path):
    (tmp_path / "two.csv").write_text("a,b,kind\n1,2,x\n2,1,y\n1,3,x\n3,1,y\n")
    command = (
        f'"{sys.executable}" -c "import sys; from perceptrons.cli import main; sys.exit(main())" train two.csv >&-'
    )
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_number_of_epochs_beyond_all_bounds_is_a_number_of_epochs(run, tmp_path):
    (tmp_path / "two.csv").write_text("a,b,kind\n1,2,x\n2,1,y\n1,3,x\n3,1,y\n")
    assert run("train", tmp_path / "two.csv", "--max-iter", "1" + 40 * "0", "--json")[0] == 0


def test_where_more_epochs_cannot_help_a_proof_and_a_kernel_are_advised(run, tmp_path):
    (tmp_path / "xor.csv").write_text("a,b,label\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n")
    for margin in ("auto", 0):
        out = run("train", tmp_path / "xor.csv", "--test-share", 0, "--margin", margin, "--label-column", "label")[1]
        assert f"perceptrons diagnose {tmp_path}/xor.csv --label-column label\n" in out
        assert re.search(rf"perceptrons train {tmp_path}/xor.csv .*--label-column label --kernel rbf\n", out)
        assert "more epochs\n" not in out.replace("were still changing: train for more epochs", "more epochs")
    out = run("train", tmp_path / "xor.csv", "--test-share", 0, "--max-iter", 3)[1]
    assert "--max-iter 6\n" in out
    assert run("diagnose", tmp_path / "xor.csv", "--label-column", "label")[0] == 0
    assert run("train", tmp_path / "xor.csv", "--test-share", 0, "--label-column", "label", "--kernel", "rbf")[0] == 0


@pytest.mark.parametrize("option", ["--margin", "--intercept-scaling"])
def test_a_margin_and_a_bias_feature_are_numbers_or_auto(run, folder, option, tmp_path):
    assert "is neither a number nor auto" in run("train", folder / "animals.csv", option, "x")[2]
    run("train", folder / "animals.csv", option, 2.5, "-o", tmp_path / "m")
    model = perceptrons.load(tmp_path / "m")
    assert model.get_params()[option[2:].replace("-", "_")] == 2.5
    words = run("inspect", tmp_path / "m")[1]
    assert re.search(rf"margin +{model.margin_:g}", words)
    assert json.loads(run("inspect", tmp_path / "m", "--json")[1])["margin"] == model.margin_
    run("train", folder / "animals.csv", option, "auto", "-o", tmp_path / "auto")
    assert perceptrons.load(tmp_path / "auto").get_params() == Perceptron().get_params()
