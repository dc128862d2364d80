"""`perceptrons inspect --data`: scales, votes and one example explained; and features never updated."""

import json
import re
import sys

import numpy as np
import pytest

import perceptrons
from perceptrons.cli import main
from perceptrons.theory.scales import comparable_weights
from tests.support.streams import write_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_files(tmp_path_factory.mktemp("inspected"))
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3)) * [1, 2000, 1]
    y = np.array(["no", "yes"])[(X[:, 0] + X[:, 1] / 2000 > 0).astype(int)]
    lines = ["height,income,nothing,<b>,label"]
    lines += [f"{a:.4f},{b:.2f},0,{c:.4f},{label}" for (a, b, c), label in zip(X, y, strict=True)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    for name, options in {
        "people": ["people.csv"],
        "uneven": ["people.csv", "--scale", "none", "--on-missing", "raise"],
        "votes": ["people.csv", "--combine", "vote"],
        "ovo": ["part-0.svm", "--multiclass", "ovo"],
        "kernel": ["people.csv", "--kernel", "rbf"],
        "mail": ["mail.tsv", "--format", "text", "--epochs", "2"],
        "points": ["part-0.svm", "--epochs", "2"],
        "zero": ["part-0.svm", "--epochs", "2", "--zero-based"],
    }.items():
        words = [str(folder / word) if "." in word else word for word in options]
        assert main(["train", *words, "-o", str(folder / f"{name}.model"), "--quiet"]) == 0
    return folder


def on_data(run, folder, model, data, *options):
    code, out, err = run("inspect", folder / model, "--data", folder / data, *options, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)["on_data"]


def test_scales_that_cannot_be_compared_are_named_and_made_comparable(run, folder):
    assert not on_data(run, folder, "people.model", "people.csv")["scales"]["uneven"]  # they were made even
    found = on_data(run, folder, "uneven.model", "people.csv")["scales"]
    assert found["uneven"]
    assert [end["feature"] for end in found["extremes"]] == ["income", "<b>"]
    model, X = perceptrons.load(folder / "uneven.model"), table(folder)
    expected = comparable_weights(model, X)[0]
    for entry in found["weights"]:
        assert entry["weight_times_deviation"] == pytest.approx(expected[entry["column"]])
        assert entry["weight"] == pytest.approx(model.coef_[0, entry["column"]])
    assert found["weights"][0]["column"] == np.abs(expected).argmax()
    code, out, _ = run("inspect", folder / "uneven.model", "--data", folder / "people.csv")
    assert code == 0
    assert re.sub(r"\s+", " ", out).count("their weights cannot be compared: income reaches") == 1
    assert "StandardScaler" in out
    assert max(map(len, out.splitlines())) <= 80


def table(folder):
    import pandas as pd

    return pd.read_csv(folder / "people.csv").drop(columns="label")


def test_features_never_updated_are_counted_and_named(run, folder):
    code, out, _ = run("inspect", folder / "people.model")
    assert code == 0
    assert re.search(r"never updated +1 of 4 features \(25.0%\): nothing", out)
    found = json.loads(run("inspect", folder / "people.model", "--json")[1])
    assert found["never_updated"] == {"count": 1, "of": 4, "features": ["nothing"]}
    assert json.loads(run("inspect", folder / "kernel.model", "--json")[1])["never_updated"] is None
    mail = json.loads(run("inspect", folder / "mail.model", "--json")[1])["never_updated"]
    assert 0 < mail["of"] < 2**18  # of the columns that words are known for


def test_votes_are_counted_by_how_undivided_they_are(run, folder):
    found = on_data(run, folder, "votes.model", "people.csv")
    model, X = perceptrons.load(folder / "votes.model"), table(folder)
    winner = model.vote_shares(X).max(axis=1)
    assert found["votes"]["mean_of_winner"] == pytest.approx(winner.mean())
    counts = found["votes"]["histogram_of_winner"]
    assert sum(counts) == found["examples"] == 60
    assert sum(counts[:5]) == 0
    assert counts[9] == (winner >= 0.9 - 1e-9).sum()
    out = run("inspect", folder / "votes.model", "--data", folder / "people.csv")[1]
    assert "Share of votes for the predicted class:" in out
    assert "90-100%" in out
    assert on_data(run, folder, "people.model", "people.csv")["votes"] is None


@pytest.mark.parametrize("model", ["people", "votes", "kernel"])
def test_an_example_is_explained_by_its_number(run, folder, model):
    fitted, X = perceptrons.load(folder / f"{model}.model"), table(folder)
    found = on_data(run, folder, f"{model}.model", "people.csv", "--example", 7)["example"]
    assert (found["number"], found["line"]) == (7, 8)
    assert found["prediction"] == fitted.predict(X.iloc[[6]])[0]
    why = fitted.explain(X.iloc[6])
    np.testing.assert_allclose(found["contributions"], why.contributions)
    np.testing.assert_allclose(found["scores"], why.scores)
    code, out, _ = run("inspect", folder / f"{model}.model", "--data", folder / "people.csv", "--example", 7)
    assert code == 0
    assert "Example 7 (line 8)\nPredicted: " in out
    assert ("example 1" in out) == (model == "kernel")
    assert ("averaged weights are shown here instead." in out) == (model == "votes")


def test_words_of_a_text_are_explained_by_name(run, folder):
    found = on_data(run, folder, "mail.model", "mail.tsv", "--example", 3)
    text = (folder / "mail.tsv").read_text().splitlines()[2].split("\t")[1].lower()
    shown = {name for names in found["example"]["features"] for name in names.split(" | ")}
    assert set(re.findall(r"\w\w+", text)) <= shown
    sums = np.sum(found["example"]["contributions"], axis=1) + found["example"]["bias"]
    np.testing.assert_allclose(sums, found["example"]["decision"], rtol=1e-4)


@pytest.mark.parametrize(("model", "first"), [("points", "column 1"), ("zero", "column 1"), ("ovo", "column 1")])
def test_columns_without_names_are_called_by_their_numbers(run, folder, model, first):
    example = on_data(run, folder, f"{model}.model", "part-0.svm", "--example", 1)["example"]
    assert example["features"][0] == first
    assert example["columns"][0] == (1 if model == "zero" else 0)
    if model == "ovo":
        assert example["rows"] == [[1, 2], [1, 3], [2, 3]]


def test_examples_beyond_the_sample_are_found_all_the_same(run, folder, monkeypatch):
    monkeypatch.setattr(sys.modules["perceptrons.cli.inspect"], "SAMPLE", 10)
    found = on_data(run, folder, "points.model", "part-0.svm", "--example", 15)
    assert (found["examples"], found["more_examples"], found["example"]["number"]) == (10, True, 15)
    out = run("inspect", folder / "points.model", "--data", folder / "part-0.svm")[1]
    assert "On the first 10 examples of" in re.sub(r"\s+", " ", out)


def test_what_makes_no_sense_is_refused(refused, folder, tmp_path):
    people, data = folder / "people.model", folder / "people.csv"
    assert "--data DATA" in refused("inspect", people, "--example", 3)
    assert "--data DATA" in refused("inspect", people, "--format", "csv")
    assert "has only 60 examples" in refused("inspect", people, "--data", data, "--example", 61)
    assert "nowhere.csv" in refused("inspect", people, "--data", folder / "nowhere.csv")
    assert "was not trained on text columns:" in refused("inspect", people, "--data", data, "--text-column", "height")
    (tmp_path / "other.csv").write_text("a,b,label\n1,2,yes\n")
    assert "height" in refused("inspect", people, "--data", tmp_path / "other.csv")
    (tmp_path / "nan.csv").write_text("height,income,nothing,<b>,label\n1,nan,0,1,yes\n")
    assert "nan.csv:2:2: column 'income'" in refused("inspect", folder / "uneven.model", "--data", tmp_path / "nan.csv")


def test_a_missing_number_is_inspected_as_the_mean(run, folder, tmp_path):
    income = float(table(folder)["income"].mean())
    (tmp_path / "nan.csv").write_text("height,income,nothing,<b>,label\n1,nan,0,1,yes\n")
    (tmp_path / "mean.csv").write_text(f"height,income,nothing,<b>,label\n1,{income!r},0,1,yes\n")
    assert main(["train", str(folder / "people.csv"), "--test-share", "0", "-o", str(tmp_path / "m"), "--quiet"]) == 0
    one, other = (on_data(run, tmp_path, "m", name, "--example", 1)["example"] for name in ("nan.csv", "mean.csv"))
    assert one["decision"] == pytest.approx(other["decision"])
    assert one["prediction"] == other["prediction"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("people", []),
        ("votes", ["--combine", "vote"]),
        ("uneven", ["--scale", "none", "--on-missing", "raise"]),
        ("kernel", ["--kernel", "rbf"]),
    ],
)
def test_a_model_is_calibrated_as_inspect_says(run, folder, tmp_path, name, options):
    """By the option that it names, and by the line of Python, run as it is printed."""
    path = folder / f"{name}.model"
    out = run("inspect", path)[1]
    assert "For probabilities, train with --probabilities sigmoid, or calibrate the model" in out
    (line,) = (line.strip() for line in out.splitlines() if "perceptrons.selection.calibrate" in line)
    X, model = table(folder), perceptrons.load(path)
    y = model.predict(X)
    y[:4] = ["no", "yes", "no", "yes"]
    assert line == "perceptrons.selection.calibrate(perceptrons.load(MODEL), X, y)"
    calibrated = perceptrons.selection.calibrate(perceptrons.load(path), X, y)
    likely = calibrated.predict_proba(X)
    np.testing.assert_allclose(likely.sum(axis=1), 1)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(scores, calibrated.decision_function(X))
    assert (np.diff(likely[np.argsort(scores, kind="stable"), 1]) >= 0).all()
    assert -np.log(likely[np.arange(len(y)), (y == "yes").astype(int)]).mean() < np.log(2)  # better than one half each
    trained = [folder / "people.csv", *options, "--probabilities", "sigmoid", "-o", tmp_path / "sure.model", "--quiet"]
    assert run("train", *trained) == (0, "", "")
    assert hasattr(perceptrons.load(tmp_path / "sure.model"), "predict_proba")
    assert "For probabilities, train" not in run("inspect", tmp_path / "sure.model")[1]
