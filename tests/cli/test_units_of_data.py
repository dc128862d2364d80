"""Models whose numbers were scaled are read in the units of the data: weights, values and biases, and nothing else."""

import json
from math import sqrt

import numpy as np
import pandas as pd
import pytest

import perceptrons
from perceptrons.engine.training.feature_names import units_of
from tests.cli.test_look import people

OPTIONS = {
    "standard": [],
    "max-abs": ["--scale", "max-abs"],
    "as they are": ["--scale", "none"],
    "hashed": ["--hash-bits", "14"],
    "beside words": ["--text-column", "review"],
    "three classes": ["--label-column", "third"],
    "one-vs-one": ["--label-column", "third", "--multiclass", "ovo"],
    "votes": ["--combine", "vote", "--epochs", "3"],
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model that learned from a raw table, by the name of its options; and that table."""
    folder, made = tmp_path_factory.mktemp("units"), {}
    frame = people(300)
    frame["third"] = np.random.default_rng(5).choice(["a", "b", "c"], 300)
    frame["third"] = np.where(frame["age"] > 45, "a", frame["third"])
    frame = frame[["third", *[name for name in frame if name != "third"]]]
    frame.to_csv(folder / "people.csv", index=False)

    def train(case):
        if case not in made:
            model = folder / f"{len(made)}.model"
            options = [str(folder / "people.csv"), "-o", str(model), "--quiet", "--ignore", "id", *OPTIONS[case]]
            options += ["--ignore", "third" if "third" not in options else "bought"]
            assert perceptrons.cli.main(["train", *options]) == 0
            made[case] = model
        return made[case], perceptrons.load(made[case]), frame

    import perceptrons.cli

    return train


def raw_features(frame, model):
    """The features of every row by name, as pandas has them: nothing is scaled."""
    joined = pd.to_datetime(frame["joined"])
    kept = model.source_["preparation"]
    words = "=" if kept["beside_words"] else ""
    mean = dict(zip(kept["names"], kept["fills"], strict=True))["age"]
    found = {
        f"age{words}": frame["age"].fillna(mean), f"income{words}": frame["income"],
        f"smoker{words}": (frame["smoker"] == "yes").astype(float),
        f"joined.year{words}": joined.dt.year,
        f"joined.days{words}": (joined - pd.Timestamp("1970-01-01")).dt.days,
        "age=missing": frame["age"].isna().astype(float),
    }  # fmt: skip
    columns = {"city": frame["city"].fillna(""), "plan": frame["plan"], "joined.month": joined.dt.strftime("%b"),
               "joined.weekday": joined.dt.strftime("%a")}  # fmt: skip
    for name in {"bought", "third"} - {model.source_["label_column"], *model.source_["ignore"]}:
        columns[name] = frame[name]
    for name, values in columns.items():
        for value in values.unique():
            found[f"{name}={value}"] = (values == value).astype(float)
    return pd.DataFrame(found)


@pytest.mark.parametrize("case", [case for case in OPTIONS if case not in ("beside words", "votes")])
def test_raw_weights_times_raw_values_and_the_raw_bias_are_the_score(trained, run, case):
    path, model, frame = trained(case)
    code, out, _ = run("inspect", path, "--json", "--top", "100000")
    assert code == 0
    X, rows = raw_features(frame, model), json.loads(out)["weights"]
    told = []
    for row in rows:
        weights = {one["feature"]: one.get("raw_weight", one["weight"]) for one in row["weights"]}
        assert weights.keys() <= set(X)
        told.append(X[list(weights)].to_numpy() @ list(weights.values()) + row["raw_intercept"])
    if len(model.classes_) == 2:
        expected = [-model.decision_function(frame), model.decision_function(frame)]
    else:
        inside = model.columns_.rows(frame, model.source_)
        expected = (inside @ model.coef_.T + model.intercept_).T
    for found, scores in zip(told, expected, strict=True):
        np.testing.assert_allclose(found, scores, rtol=1e-12, atol=1e-4 if case == "hashed" else 1e-7)


def test_weights_and_bias_are_those_computed_by_hand(run, tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,z,kind\n1,100,no\n3,300,no\n5,900,yes\n7,700,yes\n")
    assert run("train", path, "--test-share", "0", "-o", tmp_path / "a.model", "--quiet")[0] == 0
    model = perceptrons.load(tmp_path / "a.model")
    assert units_of(model) == {"x": (4, pytest.approx(sqrt(5))), "z": (500, pytest.approx(sqrt(100_000)))}
    (w, v), b = model.coef_[0], model.intercept_[0]
    told = json.loads(run("inspect", tmp_path / "a.model", "--json")[1])["weights"][1]
    by_name = {one["feature"]: one for one in told["weights"]}
    assert by_name["x"]["raw_weight"] == pytest.approx(w / sqrt(5))
    assert by_name["z"]["raw_weight"] == pytest.approx(v / sqrt(100_000))
    assert told["intercept"] == b
    assert told["raw_intercept"] == pytest.approx(b - 4 * w / sqrt(5) - 500 * v / sqrt(100_000))
    score = told["raw_intercept"] + 7 * by_name["x"]["raw_weight"] + 700 * by_name["z"]["raw_weight"]
    assert score == pytest.approx(model.decision_function([{"x": 7, "z": 700}])[0])
    why = model.explain({"x": 7, "z": 700})
    assert why.raw_values.tolist() == pytest.approx([7, 700])
    assert why.values.tolist() == pytest.approx([3 / sqrt(5), 200 / sqrt(100_000)])
    assert why.scores[0] == pytest.approx(score)


@pytest.mark.parametrize("case", OPTIONS)
def test_explained_values_are_those_of_the_record(trained, case):
    _, model, frame = trained(case)
    X = raw_features(frame, model)
    for row in range(5):
        why = model.explain(frame.iloc[row].to_dict())
        raw = dict(zip(why.features, why.raw_values.tolist(), strict=True))
        units = units_of(model)
        for name, value in raw.items():
            assert np.isnan(value) == (name not in units)
            if name in units:
                assert value == pytest.approx(X[name][row], rel=1e-4, abs=1e-6)  # words and hashed features are float32
        assert sum(~np.isnan(list(raw.values()))) >= (1 if case == "as they are" else 4)
        np.testing.assert_array_equal(why.contributions, why.weights * why.values)
        told = json.loads(json.dumps(why.to_dict(), allow_nan=False))["raw_values"]
        assert [np.nan if value is None else value for value in told] == pytest.approx(why.raw_values, nan_ok=True)
        for part in why.top():
            assert (part.raw_value is None) == (part.feature not in units)


def test_people_read_values_in_their_units_and_weights_that_can_be_compared(trained, run, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    path, model, frame = trained("standard")
    row = int(frame["age"].first_valid_index())
    data = tmp_path / "people.csv"
    frame.to_csv(data, index=False)
    _, out, _ = run("inspect", path, "--data", data, "--example", row + 1)
    lines = [line for line in out.splitlines() if line.startswith("age ")]
    weight, scale = model.coef_[0, 0], units_of(model)["age"].scale
    assert lines[0].split()[1] == f"{weight:+.3g}"
    assert f"{weight / scale:+.3g}" in lines[0].split()
    assert lines[-1].split()[1] == f"{frame['age'][row]:g}"
    assert "Weights of numbers are per standard deviation" in out
    assert "Values are in the units of the data" in out
    assert "differ widely in scale" not in out
    assert max(len(line) for line in out.splitlines() if "units" not in line) <= 80


def test_models_without_scaled_numbers_look_as_before(run, tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,z,kind\n1,100,no\n3,300,no\n5,900,yes\n7,700,yes\n")
    assert run("train", path, "--test-share", "0", "--scale", "none", "-o", tmp_path / "a.model", "--quiet")[0] == 0
    _, out, _ = run("inspect", tmp_path / "a.model")
    assert "per unit" not in out
    assert "deviation" not in out
    told = json.loads(run("inspect", tmp_path / "a.model", "--json")[1])["weights"]
    assert "raw_intercept" not in told[0]
    assert all(one.keys() == {"feature", "column", "weight"} for row in told for one in row["weights"])
    why = perceptrons.load(tmp_path / "a.model").explain({"x": 7, "z": 700})
    assert np.isnan(why.raw_values).all()
    assert "units" not in str(why)
    array = perceptrons.Perceptron().fit([[1.0, 2.0], [3.0, 1.0]], [0, 1])
    assert np.isnan(array.explain([3.0, 1.0]).raw_values).all()
    kernel = perceptrons.KernelPerceptron().fit([[1.0, 2.0], [3.0, 1.0]], [0, 1])
    assert kernel.explain([3.0, 1.0]).to_dict()["raw_values"] == [None] * len(kernel.explain([3.0, 1.0]).values)


def test_no_advice_to_scale_what_is_scaled(run, tmp_path):
    """An indicator of 1 and an outlier of 60 deviations are no reason to scale again."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=4000), "flag": rng.choice(["yes", "no"], 4000)})
    frame.loc[17, "x"] = 1e6
    frame["kind"] = np.where(frame["x"] > 0, "up", "down")
    frame.to_csv(tmp_path / "points.csv", index=False)
    _, out, _ = run("train", tmp_path / "points.csv", "-o", tmp_path / "a.model")
    assert "in scale" not in out
    assert "in scale" not in run("inspect", tmp_path / "a.model", "--data", tmp_path / "points.csv")[1]
    _, out, _ = run("train", tmp_path / "points.csv", "--scale", "none")
    assert "differ widely in scale" in out
