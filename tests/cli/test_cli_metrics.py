"""Metrics, thresholds and folds by the commands; and JSON that has the same keys whatever was asked."""

import json
import re

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import label_binarize

import perceptrons
from perceptrons import KernelPerceptron, Perceptron
from perceptrons.cli import main
from perceptrons.cli.options import METRICS as OF_OPTIONS
from perceptrons.cli.options import THRESHOLDS
from perceptrons.data import read
from perceptrons.data.splitting import folds_of
from perceptrons.inspection import metrics
from perceptrons.inspection.metrics import BY_ANSWERS, METRICS
from perceptrons.selection import recipe
from tests.support.doors import without_tested

NEW = ("balanced_accuracy", "f1", "f1_macro", "matthews", "roc_auc", "average_precision", "log_loss")


def write(path, X, y):
    lines = [",".join([*(f"{value:.4f}" for value in row), str(label)]) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join([",".join([*(f"x{k}" for k in range(X.shape[1])), "kind"]), *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two classes of which one is rare, and three; and a model of each."""
    folder, rng = tmp_path_factory.mktemp("metrics"), np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.2, "spam", "ham")
    write(folder / "two.csv", rng.normal(size=(400, 4)) + 0.9 * (y == "spam")[:, None], y)
    y = rng.choice(["a", "b", "c"], 200, p=[0.5, 0.3, 0.2])
    write(folder / "three.csv", rng.normal(size=(200, 3)) + np.eye(3)[np.searchsorted(["a", "b", "c"], y)], y)
    for name in ("two", "three"):
        assert main(["train", str(folder / f"{name}.csv"), "-o", str(folder / name), "--quiet"]) == 0
    return folder


def test_the_options_name_the_metrics_of_the_table():
    assert THRESHOLDS == BY_ANSWERS
    assert (*BY_ANSWERS, "roc_auc", "average_precision") == OF_OPTIONS


# ---- evaluate and train


def test_evaluate_has_the_metrics_of_scikit_learn(run, folder):
    for name in ("two", "three"):
        model = perceptrons.load(folder / name)
        table = read(folder / f"{name}.csv", like=model)
        found = json.loads(run("evaluate", folder / name, folder / f"{name}.csv", "--json")[1])
        scores, predicted = model.decision_function(table.X), model.predict(table.X)
        flags = table.y == "spam" if name == "two" else label_binarize(table.y, classes=model.classes_)
        expected = {
            "roc_auc": sk.roc_auc_score(flags, scores),
            "average_precision": sk.average_precision_score(flags, scores),
            "balanced_accuracy": sk.balanced_accuracy_score(table.y, predicted),
            "matthews": sk.matthews_corrcoef(table.y, predicted),
            "f1_macro": sk.f1_score(table.y, predicted, average="macro"),
        }
        for metric, value in expected.items():
            assert found[metric] == pytest.approx(value, abs=1e-12), metric
        assert found["log_loss"] is None
        assert (found["f1"] is None) == (name == "three")
        out = run("evaluate", folder / name, folder / f"{name}.csv")[1]
        assert f"ROC AUC {expected['roc_auc']:.3f}, average precision {expected['average_precision']:.3f}" in out
        assert ("(one-vs-rest, the mean of the classes)" in out) == (name == "three")
        assert (
            f"Balanced accuracy {expected['balanced_accuracy']:.1%}, {'F1 of spam' if name == 'two' else 'macro'}"
            in out
        )


def test_train_says_in_one_line_how_good_it_is_on_the_test_set(run, folder):
    out = run("train", folder / "two.csv")[1]
    assert re.search(r"\nTest ROC AUC 0\.\d{3}, average precision 0\.\d{3}, balanced accuracy \d\d\.\d%\n", out)
    saved = folder / "again"
    found = json.loads(run("train", folder / "two.csv", "--test", folder / "two.csv", "-o", saved, "--json")[1])
    evaluated = json.loads(run("evaluate", saved, folder / "two.csv", "--json")[1])
    assert {name: found[f"test_{name}"] for name in METRICS} == {name: evaluated[name] for name in METRICS}


def test_areas_of_more_scores_than_are_kept_are_not_measured_and_that_is_said(run, folder, monkeypatch):
    monkeypatch.setattr(metrics, "MOST_SCORES", 100)
    found = json.loads(run("evaluate", folder / "two", folder / "two.csv", "--json")[1])
    assert found["roc_auc"] is found["average_precision"] is None
    assert found["matthews"] > 0
    out = " ".join(run("evaluate", folder / "two", folder / "two.csv")[1].split())
    assert "ROC AUC and average precision are not computed: at most 10,000,000 scores are stored" in out
    assert "are not computed" in " ".join(run("train", folder / "two.csv", "--test", folder / "two.csv")[1].split())


# ---- thresholds


def test_train_chooses_a_threshold_on_training_examples_held_out(run, folder, tmp_path):
    out = " ".join(run("train", folder / "two.csv", "--threshold", "f1", "-o", tmp_path / "m")[1].split())
    said = re.search(
        r"Threshold (-?[\d.]+): spam for scores at or above it\. Chosen by f1 on (\d+) held-out examples: "
        r"([\d.]+)% \(([\d.]+)% without it\)", out,
    )  # fmt: skip
    model = perceptrons.load(tmp_path / "m")
    assert float(said[1]) == pytest.approx(model.threshold_, rel=1e-3)
    assert 30 < int(said[2]) < 100
    assert float(said[3]) >= float(said[4])
    plain = run("train", folder / "two.csv", "--json")[1]
    learned = json.loads(run("train", folder / "two.csv", "--threshold", "f1", "--json")[1])
    assert learned["examples"] + learned["threshold_by"]["n"] == json.loads(plain)["examples"]
    assert learned["test_examples"] == json.loads(plain)["test_examples"]
    assert "threshold " in run("inspect", tmp_path / "m")[1]
    assert json.loads(run("inspect", tmp_path / "m", "--json")[1])["threshold"] == model.threshold_


def test_a_cost_may_stand_in_a_file_and_a_higher_one_finds_more(run, folder, tmp_path):
    found = []
    for cost in (1, 20):
        (tmp_path / "cost.json").write_text(json.dumps({"spam": {"ham": cost}, "ham": {"spam": 1}}))
        for how in (f"cost:{tmp_path / 'cost.json'}", f"cost:{(tmp_path / 'cost.json').read_text()}"):
            assert run("train", folder / "two.csv", "--threshold", how, "-o", tmp_path / "m", "--quiet") == (0, "", "")
            found.append(perceptrons.load(tmp_path / "m").threshold_)
    assert found[0] == found[1] > found[2] == found[3]


def test_a_threshold_survives_a_checkpoint_and_a_resumed_run(run, folder, tmp_path):
    for way in ([], ["--in-memory", "0"]):
        how = ["train", folder / "two.csv", "--threshold", "f1", "--epochs", 2, "--quiet", *way]
        assert run(*how, "-o", tmp_path / "plain")[0] == 0
        point = tmp_path / f"point{len(way)}"
        assert run(*how, "--checkpoint", point, "-o", tmp_path / "first")[0] == 0
        assert run(*how, "--checkpoint", point, "--resume", "-o", tmp_path / "second")[0] == 0
        models = [perceptrons.load(tmp_path / name) for name in ("plain", "first", "second")]
        assert len({(model.threshold_, *model.coef_[0]) for model in models}) == 1
        assert models[0].threshold_ is not None


def test_what_does_not_go_with_a_threshold_is_refused_in_one_line(refused, run, folder, tmp_path):
    two, three = folder / "two.csv", folder / "three.csv"
    assert "is not a number, cost:JSON or one of accuracy, " in run("train", two, "--threshold", "roc_auc")[2]
    assert "is not a number" in run("train", two, "--threshold", "nan")[2]
    assert "models with two classes, but this one has 3" in refused("train", three, "--threshold", "f1")
    assert "models with two classes, but this one has 3" in refused("train", three, "--threshold", "0.5")
    assert "not JSON" in refused("train", two, "--threshold", "cost:{")
    assert "no such file" in refused("train", two, "--threshold", f"cost:{tmp_path / 'none.json'}")
    assert "names the class 'eggs'" in refused("train", two, "--threshold", 'cost:{"eggs": {"ham": 1}}')
    assert "--folds: give a number" in refused("train", two, "--threshold", "f1", "--folds", 3)
    assert "combined with --workers: give a number" in refused("train", two, "--threshold", "f1", "--workers", 1)
    (tmp_path / "few.csv").write_text("1,a\n2,b\n")
    assert "too few training examples" in refused("train", tmp_path / "few.csv", "--threshold", "f1")


def test_tune_chooses_the_threshold_on_the_validation_set(run, refused, folder, tmp_path):
    how = ["tune", folder / "two.csv", "--max-iter", 3, "--metric", "f1", "--ledger", tmp_path / "looks"]
    found = json.loads(run(*how, "--threshold", "f1", "-o", tmp_path / "m", "--json")[1])
    model = perceptrons.load(tmp_path / "m")
    assert found["threshold"] == model.threshold_
    assert found["threshold_by"]["n"] == found["sizes"]["dev"]
    assert not found["retrained"]
    assert model.recipe_["threshold"] == model.threshold_
    out = " ".join(run(*how, "--threshold", "f1")[1].split())
    assert "Threshold " in out
    assert "Trained with it on the training examples." in out
    costs = run(*how, "--threshold", 'cost:{"spam": {"ham": 9}}', "--json", "--force")[1]
    assert json.loads(costs)["threshold_by"]["metric"] == "cost"
    assert "--folds: give a number" in refused(*how, "--threshold", "f1", "--folds", 3)


# ---- folds


def test_train_prints_mean_and_deviation_over_folds_then_learns_from_all(run, folder, tmp_path):
    table = read(folder / "two.csv", prepare=True)
    how = ["train", folder / "two.csv", "--folds", 4, "--metric", "roc_auc", "--seed", 5]
    found = json.loads(run(*how, "-o", tmp_path / "m", "--json")[1])
    assert len(found["folds"]) == 4
    assert sum(one["examples"] for one in found["folds"]) == found["examples"] == 400
    assert found["test_examples"] == 0
    expected = []
    for learned, held in StratifiedKFold(4, shuffle=True, random_state=5).split(table.X, table.y):
        model = Perceptron(random_state=5).fit(table.X[learned], table.y[learned])
        scores = model.decision_function(table.X[held])
        expected.append((model.score(table.X[held], table.y[held]), sk.roc_auc_score(table.y[held] == "spam", scores)))
    told = [(one["accuracy"], one["roc_auc"]) for one in found["folds"]]
    np.testing.assert_allclose(told, expected, atol=1e-12)
    np.testing.assert_array_equal(
        perceptrons.load(tmp_path / "m").coef_, Perceptron(random_state=5).fit(table.X, table.y).coef_
    )
    (accuracy, area), (by, also_by) = np.mean(expected, axis=0), np.std(expected, axis=0, ddof=1)
    line = f"accuracy {accuracy:.1%} ± {by:.1%}, ROC AUC {area:.3f} ± {also_by:.3f}"
    out = run(*how)[1]
    assert f"4 folds, mean ± standard deviation: {line}" in " ".join(out.split())
    assert run(*how)[1].split("Stopped")[0] == out.split("Stopped")[0]
    moved = json.loads(run(*how, "--threshold", "-1e9", "--json")[1])
    assert {one["balanced_accuracy"] for one in moved["folds"]} == {0.5}


def test_folds_of_the_examples_that_come_with_the_package(run):
    found = json.loads(run("train", "--folds", 2, "--max-iter", 2, "--json")[1])
    assert [one["examples"] for one in found["folds"]] == [899, 898]
    assert found["examples"] == 1797


def test_what_does_not_go_with_folds_is_refused_in_one_line(refused, run, folder):
    two = folder / "two.csv"
    assert "--folds needs all data in memory" in refused("train", two, "--folds", 3, "--in-memory", 0)
    assert "--folds needs all data in memory" in refused("train", two, "--folds", 3, "--in-memory", "1kB")
    assert "--folds cannot be combined with --workers" in refused("train", two, "--folds", 3, "--workers", 1)
    assert "--folds cannot be combined with --dask" in refused("train", two, "--folds", 3, "--dask", "tcp://x:1")
    assert "--folds and --test-share cannot be combined:" in refused("train", two, "--folds", 3, "--test-share", 0.1)
    assert "--metric roc_auc is for folds" in refused("train", two, "--metric", "roc_auc")
    assert "no class has that many examples:" in refused("train", two, "--folds", 390)
    assert run("train", two, "--folds", 1)[0] == 2
    for option in (["--dev", two], ["--dev-share", 0.1], ["--time-order"], ["--no-retrain"]):
        assert f"--folds and {option[0]} cannot be combined" in refused("tune", two, "--folds", 3, *option)


def test_tune_chooses_settings_by_their_mean_over_folds(run, folder, tmp_path):
    how = ["tune", folder / "two.csv", "--folds", 3, "--metric", "average_precision", "--grid",
           '{"C": [0.01, 1], "step": ["pa1"], "max_iter": [2]}', "--ledger", tmp_path / "looks"]  # fmt: skip
    found = json.loads(run(*how, "-o", tmp_path / "m", "--json")[1])
    table = without_tested(folder / "two.csv")
    again = recipe(Perceptron(random_state=0), table.X, table.y, {"C": [0.01, 1], "step": ["pa1"], "max_iter": [2]},
                   folds=3, metric="average_precision", force=True)  # fmt: skip
    X, y = again.parts.train.taken()
    assert len(y) == found["sizes"]["train"] == 400 - found["sizes"]["test"]
    for setting in found["settings"]:
        expected = []
        for learned, held in folds_of(y, 3, seed=0):
            model = Perceptron(**setting["params"], max_iter=2, tol=None).fit(X[learned], y[learned])
            expected.append(sk.average_precision_score(y[held] == "spam", model.decision_function(X[held])))
        np.testing.assert_allclose(setting["folds"], expected, atol=1e-12)
        assert setting["score"] == pytest.approx(np.mean(expected))
    assert found["best"]["score"] == max(one["score"] for one in found["settings"])
    assert found["folds"] == found["best"]["folds"]
    expected = Perceptron(**found["best"]["params"], max_iter=2, tol=None).fit(X, y)
    np.testing.assert_array_equal(perceptrons.load(tmp_path / "m").coef_, expected.coef_)
    out = " ".join(run(*how)[1].split())
    assert "in 3 folds for cross-validation" in out
    assert "by mean average_precision over 3 folds" in out


def test_folds_of_groups_keep_them_whole(run, tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(120) % 2
    rows = [
        f"{value:.3f},{int(k // 6)},{label}"
        for k, (value, label) in enumerate(zip(rng.normal(size=120) + y, y, strict=True))
    ]
    (tmp_path / "g.csv").write_text("\n".join(["x,patient,sick", *rows]) + "\n")
    how = ["tune", tmp_path / "g.csv", "--folds", 4, "--group-column", "patient", "--max-iter", 2]
    found = json.loads(run(*how, "--ledger", tmp_path / "looks", "--json")[1])
    assert len(found["folds"]) == 4
    groups = np.arange(120) // 6
    for learned, held in folds_of(y, 4, groups, seed=0):
        assert not set(groups[learned]) & set(groups[held])
    assert sorted(np.concatenate([held for _, held in folds_of(y, 4, groups)])) == list(range(120))


def test_folds_are_the_same_for_the_same_seed_and_have_every_class_alike():
    y = np.repeat([0, 1, 2], [60, 30, 4])
    first, again, other = (folds_of(y, 5, seed=seed) for seed in (1, 1, 2))
    assert all(
        np.array_equal(a, b) for one, two in zip(first, again, strict=True) for a, b in zip(one, two, strict=True)
    )
    assert any(not np.array_equal(one[1], two[1]) for one, two in zip(first, other, strict=True))
    assert {tuple(np.bincount(y[held])[:2]) for _, held in first} == {(12, 6)}


def test_folds_find_the_epochs_by_the_mean_curve():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 5))
    y = (X[:, 0] + 0.8 * rng.normal(size=150) > 0).astype(int)
    found = recipe(Perceptron(max_iter=6, tol=None, margin=0), X, y, folds=3, test=0)
    curves = []
    for learned, held in folds_of(y, 3):
        after = [Perceptron(max_iter=n, tol=None, margin=0).fit(X[learned], y[learned]) for n in range(1, 7)]
        curves.append([model.score(X[held], y[held]) for model in after])
    mean = np.mean(curves, axis=0)
    np.testing.assert_allclose(found.best.curve, mean)
    assert found.best.epochs == 1 + int(np.argmax(mean))
    assert found.best.folds == pytest.approx([curve[np.argmax(mean)] for curve in curves])
    assert found.model.n_iter_ == found.best.epochs
    assert found.model.t_ == 150 * found.best.epochs
    assert "By the mean over 3 folds" in found.explain()


# ---- shapes of JSON


@pytest.fixture(scope="module")
def keys(folder):
    return {}


MODES = {
    "whole": [],
    "no test": ["--test-share", "0"],
    "folds": ["--folds", "2"],
    "threshold": ["--threshold", "f1"],
    "stream": ["--in-memory", "0"],
    "checkpoint": ["--checkpoint", "CHECKPOINT"],
    "one-vs-one": ["--multiclass", "ovo"],
    "vote": ["--combine", "vote"],
    "kernel": ["--kernel", "rbf"],
    "cluster": ["--workers", "1", "--shards", "1"],
}


@pytest.mark.parametrize("mode", MODES)
def test_json_of_train_has_the_same_keys_in_every_mode(run, folder, tmp_path, keys, mode):
    options = [option.replace("CHECKPOINT", str(tmp_path / "point")) for option in MODES[mode]]
    out = run("train", folder / "two.csv", "--max-iter", 2, *options, "--json")[1]
    found = json.loads(out)
    assert isinstance(found["seconds"], float)
    assert [name for name in found if name.startswith("test_")] == [
        "test_examples", "test_skipped", *(f"test_{name}" for name in METRICS)
    ]  # fmt: skip
    assert keys.setdefault("train", sorted(found)) == sorted(found)


KINDS = {
    "two": (Perceptron(), ["p", "q"]),
    "three": (Perceptron(), ["p", "q", "r"]),
    "one-vs-one": (Perceptron(multiclass="ovo"), ["p", "q", "r"]),
    "vote": (Perceptron(combine="vote"), ["p", "q"]),
    "kernel": (KernelPerceptron(), ["p", "q", "r"]),
    "several labels": (Perceptron(), [["p"], ["p", "q"], []]),
}


@pytest.mark.parametrize("form", ["csv", "svm", "jsonl"])
@pytest.mark.parametrize("kind", KINDS)
def test_json_of_predict_has_one_shape(run, tmp_path, kind, form):
    model, labels = KINDS[kind]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), [labels[k % len(labels)] for k in range(30)]
    perceptrons.save(model.fit(X, y), tmp_path / "m")
    lines = {
        "csv": ["1,2", "3,oops", "-1,0.5"],
        "svm": ["0 1:1 2:2", "0 1:oops", "0 1:-1 2:0.5"],
        "jsonl": ['{"0": 1, "1": 2}', '{"0": ', '{"0": -1, "1": 0.5}'],
    }[form]
    (tmp_path / f"x.{form}").write_text("\n".join(lines) + "\n")
    if form == "jsonl":
        import pandas as pd

        perceptrons.save(model.fit(pd.DataFrame(X, columns=["0", "1"]), y), tmp_path / "m")
    asked = ["predict", tmp_path / "m", tmp_path / f"x.{form}", "--on-error", "skip", "--json"]
    bare, scored = ([json.loads(line) for line in run(*asked, *more)[1].splitlines()] for more in ([], ["--scores"]))
    for found in (bare, scored):
        assert [list(one) for one in found] == [["label", "scores", "probabilities", "line", "file", "error"]] * 3
        assert [one["error"] is None for one in found] == [True, False, True]
        assert [one["line"] for one in found] == [1, 2, 3]
        assert found[1]["label"] is None
    assert [one["scores"] for one in bare] == [None] * 3
    assert [{**one, "scores": None} for one in scored] == bare
    named = model.classes_.tolist() if kind not in ("two", "vote") else model.classes_.tolist()[1:]
    assert [one["scores"] and list(one["scores"]) for one in scored] == [named, None, named]
    assert all(isinstance(one["label"], list) == (kind == "several labels") for one in (bare[0], bare[2]))
