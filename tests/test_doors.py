"""Every door, the same answer: the command, a stream like the model's, the model itself and a model in another process.

A table of formats, ways of reading and kinds of models; and the same for random ones, by hypothesis.
"""

import json
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss

import perceptrons
from perceptrons.cli import main
from perceptrons.data import stream
from perceptrons.data.splitting import ByHash, HoldOut
from perceptrons.engine.training.matrices import widened
from perceptrons.report.reproduce_section import as_command
from tests.reference.folder import in_reading_order
from tests.support.doors import LABELS, accuracies, check_doors, records, rows_of, scores_by_command, trained, write
from tests.support.tiers import slow

WAYS_OF_TEXT = {
    "words": [],
    "pairs": ["--words", "1-2"],
    "characters": ["--words", "none", "--chars", "1-3"],
    "both, hashed to few": ["--words", "2", "--chars", "2-4", "--hash-bits", "8"],
    "remembered": ["--chars", "3", "--hash-bits", "0"],
}
KINDS = {
    "last": ["--combine", "last"],
    "vote": ["--combine", "vote"],
    "recent": ["--combine", "recent", "--window", "50"],
    "pocket": ["--combine", "pocket"],
    "one-vs-rest": ["--multiclass", "ovr"],
    "one-vs-one": ["--multiclass", "ovo"],
    "passive-aggressive": ["--step", "pa1", "--C", "0.5"],
    "AROW": ["--step", "arow"],
    "margin": ["--margin", "0.5"],
    "weight decay": ["--penalty", "l2", "--alpha", "0.01"],
    "l1": ["--penalty", "l1", "--alpha", "0.01"],
    "batches": ["--batch-size", "7"],
    "without a bias": ["--no-intercept"],
    "in order": ["--no-shuffle"],
    "learning rate": ["--eta0", "0.25"],
    "class weights": ["--classes", "ham,odd,spam", "--class-weight", '{"ham": 3}'],
    "costs": ["--classes", "ham,odd,spam", "--cost", '{"ham": {"spam": 2}}'],
    "start and ties": ["--init", "ones", "--zero-score", "positive"],
    "classes in order": ["--classes", "spam,ham,odd"],
    "seed and time": ["--seed", "7", "--max-seconds", "1000"],
}
OTHERS = """
import json, sys, numpy, perceptrons
from perceptrons.data import stream
from perceptrons.report.reproduce_section import as_command
answers = {}
for model, data, how in json.load(sys.stdin):
    m = perceptrons.load(model)
    X = [block.X for block in stream(data, like=m, need_labels=False)] if how == "stream" else [numpy.load(data)["X"]]
    answers[model] = [numpy.concatenate([part(x) for x in X]).tolist() for part in (m.predict, m.decision_function)]
json.dump(answers, sys.stdout)
"""


@pytest.fixture(scope="module")
def asked_elsewhere():
    """Models and data that another process is asked about in the end: (model, data, how), with our answers."""
    asked = []
    yield asked
    if not asked:
        return
    program = [sys.executable, "-c", OTHERS]
    given_in = json.dumps([[str(saved), str(data), how] for saved, data, how, _ in asked])
    answers = json.loads(
        subprocess.run(program, input=given_in, capture_output=True, text=True, check=True, timeout=300).stdout
    )
    for saved, _, _, (labels, scores) in asked:
        assert answers[str(saved)][0] == labels
        np.testing.assert_array_equal(answers[str(saved)][1], scores)


def check_trained(capsys, tmp_path, asked_elsewhere, data, options, reading, raw):
    """Train by the command, then try all doors."""
    model, saved, told = trained(capsys, tmp_path, data, *options)
    accuracy, answers = check_doors(capsys, model, saved, data, reading, raw)
    assert set(told) - {None} == {accuracy}
    asked_elsewhere.append((saved, data, "stream", answers))


# ---- all formats and ways of reading

TABLES = {
    "all of it": ([], {}),
    "hashed": (["--hash-bits", "6"], {"hash_bits": 6}),
    "numbers only": (
        ["--ignore", "shop", "--ignore", "code", "--ignore", "title", "--ignore", "body"],
        {"ignore": ["shop", "code", "title", "body"]},
    ),
    "numbers as categories": (["--categories", "age"], {"categories": ["age"]}),
    "a text": (["--text-column", "body"], {"text_column": ["body"]}),
    "two texts, pairs of words": (
        ["--text-column", "title", "--text-column", "body", "--words", "1-2", "--ignore", "age"],
        {"text_column": ["title", "body"], "text": {"words": (1, 2)}, "ignore": ["age"]},
    ),
    "two texts, characters, remembered": (
        ["--text-column", "title,body", "--words", "none", "--chars", "2-3", "--hash-bits", "0"],
        {"text_column": "title,body", "text": {"words": None, "chars": (2, 3)}, "hash_bits": 0},
    ),
    "another label": (["--label-column", "shop"], {"label_column": "shop"}),
    "labels that look like numbers": (
        ["--label-column", "code", "--text-labels"],
        {"label_column": "code", "text_labels": True},
    ),
}


@pytest.mark.parametrize("way", TABLES)
@pytest.mark.parametrize("form", ["csv", "parquet", *slow("tsv", "jsonl", "arrow", "whitespace", "arff", "xlsx")])
def test_tables_are_answered_alike_through_every_door(capsys, tmp_path, asked_elsewhere, form, way):
    options, reading = TABLES[way]
    rows = records()
    data = write(tmp_path / f"t.{form}", rows, form)
    is_feature = "code" not in (reading.get("label_column"), *reading.get("ignore", []))
    if form == "whitespace":
        options, reading = [*options, "--format", form], {**reading, "format": form}
    if (
        form in ("csv", "tsv", "jsonl", "whitespace") and is_feature
    ):  # where only the user can tell that 007 is a category
        options = [*options, "--categories", "code"]
        reading = {**reading, "categories": ["code", *reading.get("categories", [])]}
    if form == "xlsx":  # in which 25.0 is 25
        rows = [{**row, "age": int(row["age"])} for row in rows]
    frame = pd.DataFrame(rows)
    raw = [frame, frame.iloc[:, ::-1], pa.Table.from_pylist(rows), rows]
    reading = {"prepare": True, **reading}
    check_trained(capsys, tmp_path, asked_elsewhere, data, ["--epochs", "2", *options], reading, raw)


@pytest.mark.parametrize("way", WAYS_OF_TEXT)
@pytest.mark.parametrize("form", ["tab", "fasttext"])
def test_texts_are_answered_alike_through_every_door(capsys, tmp_path, asked_elsewhere, form, way):
    rows, options = records(), WAYS_OF_TEXT[way]
    data = write(tmp_path / "t.txt", rows, form)
    raw = [
        [row["body"] for row in rows],
        np.array([row["body"] for row in rows]),
        pd.Series([row["body"] for row in rows]),
    ]
    reading = {"format": "text", **reading_of(options)}
    check_trained(
        capsys, tmp_path, asked_elsewhere, data, ["--format", "text", "--epochs", "2", *options], reading, raw
    )


@pytest.mark.parametrize("way", WAYS_OF_TEXT)
def test_folders_are_answered_alike_through_every_door(capsys, tmp_path, asked_elsewhere, way):
    rows, options = records(), WAYS_OF_TEXT[way]
    data = write(tmp_path / "texts", rows, "folder")
    in_order = in_reading_order({label: [row["body"] for row in rows if row["label"] == label] for label in LABELS})
    raw = [[text for _, text in in_order]]
    check_trained(capsys, tmp_path, asked_elsewhere, data, ["--epochs", "2", *options], reading_of(options), raw)


def reading_of(options):
    """The same for `stream`."""
    found, text = {}, {}
    for name, value in zip(options[::2], options[1::2], strict=True):
        if name == "--hash-bits":
            found["hash_bits"] = int(value)
        elif name in ("--quadratic", "--cubic"):
            found.setdefault(name[2:], []).append(value)
        else:
            sizes = [int(size) for size in value.split("-")] if value != "none" else []
            text[name[2:]] = (sizes[0], sizes[-1]) if sizes else None
    return found | ({"text": text} if text else {})


INTERACTIONS = ["--quadratic", "nw", "--quadratic", "nn", "--cubic", "n::"]


@pytest.mark.parametrize(
    "options", [[], ["--hash-bits", "5"], ["--hash-bits", "0"], INTERACTIONS, ["--hash-bits", "0", *INTERACTIONS]],
    ids=" ".join,
)  # fmt: skip
def test_vw_files_are_answered_alike_through_every_door(capsys, tmp_path, asked_elsewhere, options):
    data = write(tmp_path / "t.vw", records(), "vw")
    check_trained(capsys, tmp_path, asked_elsewhere, data, ["--epochs", "2", *options], reading_of(options), [])


@pytest.mark.parametrize("options", [[], ["--zero-based"], ["--hash-bits", "5"]], ids=" ".join)
def test_svmlight_files_are_answered_alike_through_every_door(capsys, tmp_path, asked_elsewhere, options):
    data = write(tmp_path / "t.svm", records(), "svmlight")
    reading = {"zero_based": True} if options == ["--zero-based"] else reading_of(options)
    check_trained(capsys, tmp_path, asked_elsewhere, data, ["--epochs", "2", *options], reading, [])


# ---- all kinds of models


@pytest.mark.parametrize("form", ["csv", *slow("tab", "svmlight")])
@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_models_answer_alike_through_every_door(capsys, tmp_path, asked_elsewhere, kind, form):
    rows = records(45)
    data = write(tmp_path / f"t.{'svm' if form == 'svmlight' else form}", rows, form)
    reading, raw, options = {}, [], []
    if form == "tab":
        options = ["--format", "text", "--chars", "2-3"]
        reading, raw = {"format": "text", "text": {"chars": (2, 3)}}, [[row["body"] for row in rows]]
    elif form == "csv":
        options = ["--text-column", "title", "--ignore", "body", "--categories", "code"]
        reading = {"text_column": "title", "ignore": ["body"], "categories": ["code"], "prepare": True}
        raw = [pd.DataFrame(rows), rows]
    options = ["--epochs", "2", *options, *KINDS[kind]]
    check_trained(capsys, tmp_path, asked_elsewhere, data, options, reading, raw)


# ---- models of two classes that answer by a threshold


@pytest.mark.parametrize("threshold", ["f1", "youden", 'cost:{"spam": {"ham": 9}}', "-0.75"])
@pytest.mark.parametrize(
    "way", [[], ["--in-memory", "0"], *slow(["--kernel", "rbf"], ["--combine", "vote"])], ids=" ".join
)
def test_a_threshold_is_answered_by_through_every_door(capsys, tmp_path, asked_elsewhere, way, threshold):
    rows = [row for row in records(150) if row["label"] != "odd"]
    data = write(tmp_path / "t.csv", rows, "csv")
    only = ["--ignore", "shop", "--ignore", "code", "--ignore", "title", "--ignore", "body"]
    model, saved, told = trained(capsys, tmp_path, data, "--threshold", threshold, "--max-iter", "3", *only, *way)
    assert model.threshold_ is not None
    assert threshold != "-0.75" or model.threshold_ == -0.75
    X = perceptrons.data.read(data, like=model).X
    scores = model.decision_function(X)
    by_threshold = np.where(scores >= model.threshold_, "spam", "ham")
    assert model.predict(X).tolist() == by_threshold.tolist()
    reading = {"prepare": True, "ignore": ["shop", "code", "title", "body"]}
    accuracy, answers = check_doors(capsys, model, saved, data, reading, [pd.DataFrame(rows), rows])
    assert answers[0] == by_threshold.tolist()
    assert [model.predict_one(row) for row in rows] == answers[0]
    assert told[1] == accuracy
    asked_elsewhere.append((saved, data, "stream", answers))
    assert main(["report", str(saved), str(data), "-o", str(tmp_path / "page.html"), "--max-seconds", "1"]) == 0
    assert f"{round(accuracy * len(rows))} of {len(rows)} right" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("threshold", ["matthews", 'cost:{"spam": {"ham": 9}}', "2.5"])
def test_a_threshold_is_chosen_on_a_fifth_of_the_examples_whole_and_in_a_stream(capsys, tmp_path, threshold):
    rows = [row for row in records(150) if row["label"] != "odd"]
    data = write(tmp_path / "t.csv", rows, "csv")
    options = ["--text-column", "body", "--threshold", threshold, "--epochs", "2"]
    whole, said, streamed, also_said = whole_and_streamed(capsys, tmp_path, data, *options)
    if threshold == "2.5":
        check_alike(whole, said, streamed, also_said)
        assert whole.threshold_ == streamed.threshold_ == said["threshold"] == also_said["threshold"] == 2.5
        assert said["threshold_by"] is also_said["threshold_by"] is None
        return
    assert said["threshold_by"]["n"] == round(len(rows) / 5), "stratified where all are read first"
    for model, found in ((whole, said), (streamed, also_said)):
        assert found["threshold"] == model.threshold_
        assert found["examples"] + found["threshold_by"]["n"] == len(rows)


# ---- probabilities


def probabilities_by_command(capsys, saved, data):
    """What `predict --probabilities` prints, as JSON and as a table."""
    capsys.readouterr()
    assert main(["predict", str(saved), str(data), "--probabilities", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main(["predict", str(saved), str(data), "--probabilities", "--scores"]) == 0
    head, *lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == [row["label"] for row in rows]
    first = head.index(f"probability of {next(iter(rows[0]['probabilities']))}")
    shares = np.array([[*row["probabilities"].values()] for row in rows])
    np.testing.assert_allclose(np.array([line[first:] for line in lines], float), shares, rtol=1e-5)
    assert head[1:first] == [f"score of {name}" for name in ([*rows[0]["probabilities"]][-(first - 1) :])]
    return shares


@pytest.mark.parametrize("method", ["sigmoid", "temperature", "isotonic"])
@pytest.mark.parametrize(
    "way",
    [[], ["--in-memory", "0"], *slow(["--kernel", "rbf"], ["--combine", "vote"], ["--step", "arow"])],
    ids=" ".join,
)
@pytest.mark.parametrize("labels", [2, 3])
def test_probabilities_are_the_same_through_every_door(capsys, tmp_path, method, way, labels):
    rows = [row for row in records(200) if labels == 3 or row["label"] != "odd"]
    data = write(tmp_path / "t.csv", rows, "csv")
    only = ["--ignore", "shop", "--ignore", "code", "--ignore", "title", "--ignore", "body"]
    options = ["--probabilities", method, "--max-iter", "3", *only, *way]
    model, saved, _ = trained(capsys, tmp_path, data, *options)
    assert model.probability == method
    shares = model.predict_proba(perceptrons.data.read(data, like=model).X)
    assert shares.shape == (len(rows), labels)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(probabilities_by_command(capsys, saved, data), shares)
    np.testing.assert_array_equal(model.predict_proba(rows), shares)
    np.testing.assert_array_equal(model.predict_proba(pd.DataFrame(rows)), shares)
    assert main(["evaluate", str(saved), str(data), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    y = [row["label"] for row in rows]
    assert told["log_loss"] == pytest.approx(log_loss(y, shares, labels=model.classes_))
    assert sum(one["examples"] for one in told["reliability"]) == len(rows)
    assert main(["evaluate", str(saved), str(data)]) == 0
    assert f"calibration error {told['calibration_error']:.3f}" in capsys.readouterr().out
    assert main(["inspect", str(saved)]) == 0
    assert f"by {method}, calibrated on" in capsys.readouterr().out
    assert main(["report", str(saved), str(data), "-o", str(tmp_path / "page.html"), "--max-seconds", "1"]) == 0
    assert f"calibration error {told['calibration_error']:.3f}" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("method", ["sigmoid", "temperature", "isotonic"])
def test_a_fifth_of_the_examples_calibrate_whole_and_in_a_stream(capsys, tmp_path, method):
    data = write(tmp_path / "t.csv", records(150), "csv")
    options = ["--text-column", "body", "--probabilities", method, "--epochs", "2"]
    whole, said, streamed, also_said = whole_and_streamed(capsys, tmp_path, data, *options)
    assert said["calibration"]["examples"] == 30, "stratified where all are read first"
    for model, found in ((whole, said), (streamed, also_said)):
        assert found["examples"] + found["calibration"]["examples"] == 150
        assert found["calibration"]["method"] == model.probability == method
        X, y = (getattr(perceptrons.data.read(data, like=model), name) for name in ("X", "y"))
        assert found["test_log_loss"] == pytest.approx(log_loss(y, model.predict_proba(X), labels=model.classes_))


def test_a_model_that_is_not_calibrated_says_how_to_get_probabilities(capsys, tmp_path):
    data = write(tmp_path / "t.csv", records(60), "csv")
    _, saved, _ = trained(capsys, tmp_path, data, "--epochs", "1")
    assert main(["predict", str(saved), str(data), "--probabilities"]) == 2
    assert "Train it with --probabilities sigmoid" in capsys.readouterr().err
    assert main(["train", str(data), "--probabilities", "sigmoid", "--folds", "3"]) == 2
    assert main(["train", str(data), "--probabilities", "sigmoid", "--workers", "1"]) == 2
    assert "perceptrons.selection.calibrate" in capsys.readouterr().err


def test_training_more_calibrates_again_on_new_examples_held_out(capsys, tmp_path):
    rows = records(200)
    data, more = write(tmp_path / "a.csv", rows[:100], "csv"), write(tmp_path / "b.csv", rows[100:], "csv")
    options = ["--text-column", "body", "--epochs", "2"]
    first, saved, _ = trained(capsys, tmp_path, data, *options, "--probabilities", "temperature")
    for way in ([], ["--in-memory", "0"]):
        assert main(["train", str(more), "--from", str(saved), *way, "-o", str(tmp_path / "n"), "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        again = perceptrons.load(tmp_path / "n")
        assert again.probability == said["calibration"]["method"] == "temperature"
        assert said["calibration"]["learned_since"] == 0
        assert 0 < said["calibration"]["examples"] < 50
        assert again.t_ > first.t_


def test_tuning_calibrates_on_the_validation_set(capsys, tmp_path):
    data = write(tmp_path / "t.csv", records(200), "csv")
    words = ["tune", str(data), "--text-column", "body", "--probabilities", "sigmoid", "--max-iter", "3"]
    words += ["--grid", '{"step": ["constant"]}', "--ledger", str(tmp_path / "looks"), "-o", str(tmp_path / "m")]
    assert main(words) == 0
    assert "Probabilities by sigmoid, calibrated on 40 held-out examples" in capsys.readouterr().out
    model = perceptrons.load(tmp_path / "m")
    assert model.predict_proba(perceptrons.data.read(data, like=model).X).shape == (200, 3)


def test_the_command_that_a_report_gives_makes_the_same_probabilities(capsys, tmp_path):
    data = write(tmp_path / "t.txt", records(80), "tab")
    options = ["--format", "text", "--epochs", "2", "--probabilities", "isotonic"]
    model, saved, _ = trained(capsys, tmp_path, data, *options)
    line, missing = as_command(model)
    assert missing == set()
    words = [{"DATA": str(data), "MODEL": str(tmp_path / "again")}.get(word, word) for word in shlex.split(line)]
    assert main([*words[1:], "--test", str(data), "--quiet"]) == 0
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


# ---- data that are read whole


WHOLE = [
    "", "--kernel rbf", "--kernel poly --combine vote", "--early-stopping", "--class-weight balanced",
    "--multiclass ovo", "--combine pocket", "--tol 0 --max-iter 5", "--step arow", "--many-classes",
]  # fmt: skip


@pytest.mark.parametrize("options", [line.split() for line in WHOLE], ids=" ".join)
@pytest.mark.parametrize("form", ["csv", *slow("tsv", "svmlight")])
def test_data_read_whole_are_answered_alike(capsys, tmp_path, form, options):
    rows = [{name: row[name] for name in ("size", "age", "label")} for row in records()]
    data = write(tmp_path / f"t.{'svm' if form == 'svmlight' else form}", rows, form)
    model, saved, told = trained(capsys, tmp_path, data, *options)
    X = np.array([[row["size"], row["age"]] for row in rows])
    if form == "svmlight":
        X = sp.csr_matrix(np.insert(X, 1, 0.0, axis=1))
    else:
        X = pd.DataFrame(X, columns=["size", "age"])
        without = [{name: row[name] for name in ("size", "age")} for row in rows]
        assert model.predict(without).tolist() == model.predict(X).tolist()
        assert [model.predict_one(row) for row in without] == model.predict(X).tolist()
    said, scores = scores_by_command(capsys, saved, data)
    assert said == model.predict(X).tolist()
    np.testing.assert_array_equal(scores, model.decision_function(X))
    accuracy = float(np.mean(model.predict(X) == [row["label"] for row in rows]))
    evaluated, example = accuracies(capsys, saved, data)
    assert (set(told) - {None}, evaluated) == ({accuracy}, accuracy)
    assert example["prediction"] == said[0]


def test_what_is_kept_of_a_run_does_not_change_its_answers(capsys, tmp_path, asked_elsewhere):
    rows = records(60)
    data = write(tmp_path / "t.csv", rows, "csv")
    how = ["--text-column", "title", "--text-column", "body", "--chars", "2-3", "--categories", "code", "--epochs", "2"]
    _, plain, told = trained(capsys, tmp_path, data, *how)
    for kept in (
        ["--cache", tmp_path / "cache"],
        ["--checkpoint", tmp_path / "point"],
        ["--checkpoint", tmp_path / "point", "--resume"],
    ):
        _, saved, again = trained(capsys, tmp_path, data, *how, *map(str, kept))
        assert again == told
        assert saved.read_bytes() == plain.read_bytes()
    assert not (tmp_path / "cache").exists()  # it is for data that are learned while they are read
    how += ["--in-memory", "0"]
    _, plain, told = trained(capsys, tmp_path, data, *how)
    for kept in (
        ["--cache", tmp_path / "cache"],
        ["--cache", tmp_path / "cache"],
        ["--checkpoint", tmp_path / "block"],
    ):
        _, saved, again = trained(capsys, tmp_path, data, *how, *map(str, kept))
        assert again == told
        assert saved.read_bytes() == plain.read_bytes()


def test_recipes_answer_alike_whatever_the_n_grams(capsys, tmp_path, asked_elsewhere):
    rows = records(90)
    data, test = (write(tmp_path / name, part, "tab") for name, part in (("a.txt", rows[:60]), ("b.txt", rows[60:])))
    saved = tmp_path / "tuned.model"
    how = ["--format", "text", "--words", "none", "--chars", "1-3", "--max-iter", "3"]
    how += ["--ledger", str(tmp_path / "looks")]
    assert main(["tune", str(data), "--test", str(test), *how, "-o", str(saved), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    model = perceptrons.load(saved)
    _, answers = check_doors(
        capsys, model, saved, test, {"format": "text", "like": model}, [[row["body"] for row in rows[60:]]]
    )
    assert told["test_score"] == accuracies(capsys, saved, test)[0]
    asked_elsewhere.append((saved, test, "stream", answers))


def test_a_report_counts_as_evaluate_does(capsys, tmp_path):
    rows = records(90)
    data = write(tmp_path / "t.csv", rows, "csv")
    how = ["--text-column", "title", "--text-column", "body", "--words", "none", "--chars", "1-2"]
    how += ["--ignore", "age", "--ignore", "code", "--epochs", "4"]
    _, saved, (_, accuracy) = trained(capsys, tmp_path, data, *how)
    assert 0.4 < accuracy < 1
    assert main(["report", str(saved), str(data), "-o", str(tmp_path / "page.html"), "--max-seconds", "1"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert f"{round(accuracy * 90)} of 90" in page
    assert f"{accuracy:.1%}" in page


# ---- whole or while it is read


def whole_and_streamed(capsys, folder, data, *options):
    """Train by the command on all data at once and as a stream: both models, and what is said of each.

    Both are tested on the file: a stream holds out other examples than data that are read whole.
    """
    found, options = [], [*options, "--test", str(data)]
    for name, way in (("whole", []), ("stream", ["--in-memory", "0"])):
        assert main(["train", str(data), *options, *way, "-o", str(folder / name), "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["how"] == name
        found += [perceptrons.load(folder / name), said]
    return found


def check_alike(whole, said, streamed, also_said):
    """The weights are the same, and so is how good they are."""
    kept = "recent" if whole.combine == "recent" else "average"
    # A stream ends passes at 1, 2, 4, ... examples to measure its progress. An L1 penalty is then the same to rounding:
    # what several examples take from a weight is summed before it is subtracted.
    tolerance = 1e-6 if whole.penalty == "l1" else 0
    for name in (f"coef_{kept}_", "coef_last_", f"intercept_{kept}_", "intercept_last_"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(whole, name), rtol=tolerance, atol=tolerance)
    assert streamed.source_ == whole.source_
    assert set(said) == set(also_said)
    for name in ("examples", "test_examples", "test_accuracy", "mistakes", "epochs", "stop_reason", "weights"):
        assert said[name] == also_said[name], name


@pytest.mark.parametrize("options", [["--epochs", "2"], [], ["--seed", "3"]], ids=" ".join)
@pytest.mark.parametrize(
    "form",
    ["csv", "tab", "folder", *slow("tsv", "jsonl", "parquet", "arrow", "svmlight", "vw", "whitespace", "arff", "xlsx")],
)
def test_a_block_that_is_learned_as_it_is_read_gives_the_weights_of_the_whole(capsys, tmp_path, form, options):
    data = write(tmp_path / f"t.{'svm' if form == 'svmlight' else form}", records(), form)
    of_texts = ["--text-column", "body"]
    reading = {
        "tab": ["--format", "text"], "svmlight": [], "vw": [], "folder": [],
        "whitespace": ["--format", "whitespace", *of_texts],
    }.get(form, of_texts)  # fmt: skip
    whole, said, streamed, also_said = whole_and_streamed(capsys, tmp_path, data, *reading, *options)
    assert said["examples"] == said["test_examples"] == 60
    check_alike(whole, said, streamed, also_said)


@pytest.mark.parametrize("kind", ["AROW", *slow(*(kind for kind in KINDS if kind != "AROW"))])
def test_all_kinds_of_models_learn_alike_from_the_whole_and_from_a_block(capsys, tmp_path, kind):
    data = write(tmp_path / "t.csv", records(45), "csv")
    check_alike(*whole_and_streamed(capsys, tmp_path, data, "--text-column", "body", *KINDS[kind]))


@pytest.mark.parametrize("form", ["csv", "tab"])
def test_the_examples_to_test_on_are_the_same_in_many_blocks_though_features_come_later(
    capsys, tmp_path, form, monkeypatch
):
    rows = records(90)
    for k, row in enumerate(rows):
        row["body"] += f" new{k // 3}"  # so that the first blocks know fewer features than the last
    data = write(tmp_path / f"t.{form}", rows, form)
    monkeypatch.setattr("perceptrons.data.source.PIECE", 500)
    reading = ["--format", "text"] if form == "tab" else ["--text-column", "body"]
    words = ["train", str(data), *reading, "--hash-bits", "0", "--epochs", "2", "--in-memory", "0"]
    assert main([*words, "-o", str(tmp_path / "m"), "--json"]) == 0
    streamed, said = perceptrons.load(tmp_path / "m"), json.loads(capsys.readouterr().out)
    reader, by = stream(data, like=streamed), ByHash(0.2, 0)
    by.tell(reader)
    X, y = rows_of(reader)
    aside = np.concatenate([by.held_out(block) for block in reader])
    assert aside.sum() == said["test_examples"] > 0
    assert said["test_accuracy"] == streamed.score(X[aside], y[aside])


# ---- all commands on one table

NOTES = ["free, now", 'she said ""no""', "", "see you\nat noon", "free prize", "no hurry"]
MIXED = ["--label-column", "kind", "--text-column", "note", "--ignore", "id", "--categories", "zip"]


@pytest.fixture
def mixed(tmp_path):
    """A table with an id, numbers, categories of words and digits, empty cells, quotes and a text; and its labels."""
    rng, lines, labels = np.random.default_rng(3), ["id,size,colour,zip,note,kind"], []
    for k in range(90):
        labels.append(("no", "yes")[int(rng.random() < 0.5)])
        colour = ["red", '"light, blue"', ""][int(rng.integers(3))]
        size, note = rng.normal() + 2 * (labels[-1] == "yes"), NOTES[int(rng.integers(6))]
        lines.append(f'x{k},{size:.3f},{colour},0{rng.integers(3)}1,"{note}",{labels[-1]}')
    (tmp_path / "mixed.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "mixed.csv", labels


@pytest.mark.parametrize("bits", ["0", "8"])
@pytest.mark.parametrize(
    "how",
    [[], ["--epochs", "3"], ["--kernel", "rbf"], ["--in-memory", "0"], ["--in-memory", "0", "--epochs", "3"]],
    ids=" ".join,
)
def test_all_commands_take_the_same_options_of_reading_and_agree_on_the_columns(capsys, tmp_path, mixed, how, bits):
    data, labels = mixed
    saved, page, reading = tmp_path / "m", tmp_path / "page.html", [*MIXED, "--hash-bits", bits]

    def told(command, *words):
        capsys.readouterr()
        assert main([command, *map(str, words), "--json"]) == 0
        return capsys.readouterr().out

    trained = json.loads(told("train", data, *reading, *how, "-o", saved))
    model = perceptrons.load(saved)
    X, y = rows_of(stream(data, like=model))
    reader = stream(data, label_column="kind", text_column=["note"], ignore=["id"], categories=["zip"],
                    hash_bits=int(bits), prepare=True)  # fmt: skip
    # the command measures what it learns from
    if "--in-memory" in how:
        ByHash(0.2, 0).tell(reader)
    else:
        HoldOut(None, 0).apply_to(reader)
    table = reader.read()
    assert y.tolist() == labels == table.y.tolist()
    assert trained["n_features"] == X.shape[1] == table.X.shape[1]
    assert (X != table.X).nnz == 0
    names = model.columns_.names()
    if bits == "0":
        assert {"size=", "colour=red", "colour=light, blue", "colour=", "zip=001", "zip=021", "free"} <= {*names}
    assert not any("x1" in name for name in names), "the id is no feature"
    said = model.predict(X).tolist()
    for again in ([], reading):  # the model knows how it read; saying it again changes nothing
        answers = [json.loads(line)["label"] for line in told("predict", saved, data, *again).splitlines()]
        assert answers == said
        found = json.loads(told("evaluate", saved, data, *again))
        assert (found["examples"], found["right"]) == (90, int(np.sum(np.array(said) == labels)))
        inside = json.loads(told("inspect", saved, "--data", data, "--example", 1, *again))
        assert inside["n_features"] == X.shape[1]
        assert inside["feature_names"] == (names if bits == "0" else None)
        assert inside["on_data"]["example"]["prediction"] == said[0]
        assert main(["report", str(saved), str(data), *again, "-o", str(page), "--max-seconds", "1", "--quiet"]) == 0
        assert f"{found['right']} of 90" in page.read_text()
    assert main(["predict", str(saved), str(data), "--categories", "size"]) == 2
    assert capsys.readouterr().err.startswith("--categories names 'size', which is not a category column of the model")


MEASURED = ("fills", "centres", "scales", "term_weights")


def unmeasured(source):
    """How files are read, without the numbers that were measured on the examples learned from."""
    kept = {name: value for name, value in source["preparation"].items() if name not in MEASURED}
    return {**source, "preparation": kept}


@pytest.mark.parametrize("bits", ["0", "8"])
def test_commands_without_a_model_read_the_same_columns(capsys, tmp_path, mixed, bits):
    data, _ = mixed
    reading, ledger = [*MIXED, "--hash-bits", bits], ["--ledger", str(tmp_path / "looks")]
    assert main(["train", str(data), *reading, "-o", str(tmp_path / "m"), "--quiet"]) == 0
    model = perceptrons.load(tmp_path / "m")
    assert main(["diagnose", str(data), *reading, "--max-seconds", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["examples"], found["features"]) == (90, model.n_features_in_)
    for kernel in ([], ["--kernel", "rbf"]):
        how = [*reading, *kernel, "--max-iter", "3", *ledger, "--force", "-o", str(tmp_path / "tuned"), "--quiet"]
        assert main(["tune", str(data), *how]) == 0
        tuned = perceptrons.load(tmp_path / "tuned")
        assert unmeasured(tuned.source_) == unmeasured(model.source_)  # the parts that are learned from differ
        assert tuned.columns_.names() == model.columns_.names()
    capsys.readouterr()
    assert main(["compare", str(data), *reading, *ledger, "--force", "--learner", "average", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_features"] == model.n_features_in_


# ---- and any mixture of them

ANY_TABLE = st.fixed_dictionaries(
    {},
    optional={
        "--text-column": st.sampled_from(["title", "body", "title,body"]),
        "--hash-bits": st.sampled_from(["0", "4", "10"]),
        "--words": st.sampled_from(["none", "1", "1-2", "2"]),
        "--chars": st.sampled_from(["1", "1-3", "3"]),
        "--categories": st.just("age"),
        "--ignore": st.sampled_from(["shop", "code"]),
    },
)


@pytest.mark.slow
@given(
    ANY_TABLE,
    st.sampled_from(["csv", "jsonl", "parquet"]),
    st.sampled_from(sorted(KINDS)),
    st.integers(1, 3),
    st.integers(6, 40),
)
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_mixture_answers_alike(capsys, tmp_path_factory, way, form, kind, epochs, n):
    if "--text-column" not in way or (way.get("--words") == "none" and "--chars" not in way):
        way = {name: value for name, value in way.items() if name not in ("--words", "--chars")}
    rows = records(n, seed=n)
    folder = tmp_path_factory.mktemp("any")
    data = write(folder / f"t.{form}", rows, form)
    options = [part for pair in way.items() for part in pair]
    model, saved, told = trained(capsys, folder, data, "--epochs", str(epochs), *options, *KINDS[kind])
    text = {} if "--text-column" not in way else reading_of(
        [part for name in ("--words", "--chars") if name in way for part in (name, way[name])])  # fmt: skip
    reading = {
        "text_column": way.get("--text-column"), "hash_bits": int(way["--hash-bits"]) if "--hash-bits" in way else None,
        "categories": way.get("--categories"), "ignore": way.get("--ignore"), "prepare": True, **text,
    }  # fmt: skip
    accuracy, _ = check_doors(capsys, model, saved, data, reading, [rows, pd.DataFrame(rows)] if form != "csv" else [])
    assert set(told) - {None} == {accuracy}


# ---- one example at a time


@pytest.mark.parametrize("form", ["csv", "jsonl", "tab"])
@pytest.mark.parametrize("bits", [0, 8])
def test_single_records_are_answered_explained_and_learned_as_blocks_are(tmp_path, form, bits):
    rows = records(60)
    for row in rows[40:]:
        row["body"] += " unheard"
    data, later = (
        write(tmp_path / f"{name}.{form}", part, form) for name, part in (("a", rows[:40]), ("b", rows[40:]))
    )
    how = {"format": "text"} if form == "tab" else {"text_column": "body", "ignore": ["title"]}
    if form == "csv":
        how["categories"] = ["code"]
    model = perceptrons.Perceptron(shuffle=False).fit_stream(stream(data, hash_bits=bits, **how), epochs=2)
    raw = [row["body"] if form == "tab" else row for row in rows]
    labels = [row["label"] for row in rows]
    assert [model.predict_one(x) for x in raw] == model.predict(raw).tolist()
    assert [model.explain(x).prediction for x in raw[:5]] == model.predict(raw[:5]).tolist()
    perceptrons.save(model, tmp_path / "m")
    blocks, ones = perceptrons.load(tmp_path / "m"), perceptrons.load(tmp_path / "m")
    reader = stream(later, **how | {"hash_bits": bits, "columns": blocks.columns_, "text": model.source_.get("text")})
    for block in reader:
        blocks.partial_fit(widened(block.X, blocks.n_features_in_)[:, : blocks.n_features_in_], block.y)
    for x, y in zip(raw[40:], labels[40:], strict=True):
        ones.learn_one(x, y)
    whole = perceptrons.load(tmp_path / "m").partial_fit(raw[40:], labels[40:])
    assert whole.t_ == ones.t_ == 100
    np.testing.assert_array_equal(whole.coef_, ones.coef_)
    np.testing.assert_array_equal(whole.intercept_, ones.intercept_)
    if bits:
        np.testing.assert_array_equal(blocks.coef_, ones.coef_)
    else:
        assert "unheard" in ones.columns_.names()
        assert ones.n_features_in_ > model.n_features_in_
    perceptrons.save(ones, tmp_path / "n")
    assert [perceptrons.load(tmp_path / "n").predict_one(x) for x in raw] == [ones.predict_one(x) for x in raw]
    assert model.predict(raw).tolist() == perceptrons.load(tmp_path / "m").predict(raw).tolist()


def test_a_model_that_is_fitted_to_something_else_forgets_its_files(tmp_path):
    data = write(tmp_path / "t.txt", records(30), "tab")
    model = perceptrons.Perceptron().fit_stream(stream(data, format="text"))
    model.fit(np.eye(4), [0, 1, 0, 1])
    assert not hasattr(model, "source_")
    assert not hasattr(model, "columns_")
    with pytest.raises(ValueError, match=r"could not convert|Expected 2D|dtype"):
        model.predict(["free money"])


@pytest.mark.slow
@pytest.mark.parametrize("way", [[], ["--in-memory", "0"]], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "options",
    [
        "--format text --words none --chars 1-3",
        "--format text --words 1-2 --hash-bits 0 --step arow --C 2",
        "--format text --hash-bits 9 --combine last --seed 3 --no-shuffle",
        "--format text --chars 2 --text-labels --margin 0.5 --multiclass ovr",
    ],
)
def test_the_command_that_a_report_gives_trains_the_same_model(capsys, tmp_path, options, way):
    data = write(tmp_path / "t.txt", records(60), "tab")
    model, saved, _ = trained(capsys, tmp_path, data, "--epochs", "2", *options.split(), *way)
    line, missing = as_command(model)
    assert missing == set()
    words = [{"DATA": str(data), "MODEL": str(tmp_path / "again")}.get(word, word) for word in shlex.split(line)]
    assert main([*words[1:], "--test", str(data), "--quiet"]) == 0  # nothing is held out, as before
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()
