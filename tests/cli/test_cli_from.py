"""`train NEW --from MODEL`: a model keeps training on new data, with its own scales, and learns what is new."""

import json

import numpy as np
import pytest

import perceptrons
from perceptrons.data import stream


def table(path, n, colors, seed, with_income=False):
    rng = np.random.default_rng(seed)
    rows = ["age,color," + "income," * with_income + "label"]
    for _ in range(n):
        age, income = rng.normal(40, 10), rng.normal(5, 1)
        label = "rich" if with_income and income > 6 else "old" if age > 40 else "young"
        rows.append(f"{age:.2f},{rng.choice(colors)}," + f"{income:.3f}," * with_income + label)
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def files(tmp_path):
    may = table(tmp_path / "may.csv", 200, ["red", "blue"], 0)
    return may, table(tmp_path / "june.csv", 200, ["red", "green"], 1, with_income=True), tmp_path


@pytest.mark.parametrize("way", [[], ["--in-memory", "0"]], ids=["whole", "stream"])
def test_a_model_keeps_training_and_learns_new_columns_categories_and_classes(run, files, way):
    may, june, folder = files
    assert run("train", may, "--test-share", 0, "-o", folder / "may.model", "--quiet")[0] == 0
    before = perceptrons.load(folder / "may.model")
    code, out, _ = run("train", june, "--from", folder / "may.model", "--test-share", 0, "-o", folder / "june.model",
                       "--epochs", 2, "--json", *way)  # fmt: skip
    assert code == 0
    assert json.loads(out)["epochs"] == 2
    after = perceptrons.load(folder / "june.model")
    assert after.classes_.tolist() == ["old", "rich", "young"]
    assert after.columns_.names() == [*before.columns_.names(), "income", "color=green"]
    old, new = (model.source_["preparation"] for model in (before, after))
    assert new["names"] == ["age", "income"]
    assert (new["centres"][0], new["scales"][0]) == (old["centres"][0], old["scales"][0])
    assert after.t_ == before.t_ + 400
    assert after.get_params() == before.get_params()
    again = perceptrons.load(folder / "may.model").set_params(warm_start=True)
    again.fit_stream(stream(june, like=again, grow=True), 2)
    np.testing.assert_array_equal(again.coef_, after.coef_)


def test_a_kernel_model_on_a_budget_keeps_training(run, files):
    may, _, folder = files
    assert run("train", may, "--kernel", "rbf", "--budget", 20, "-o", folder / "k.model", "--quiet")[0] == 0
    assert run("train", may, "--from", folder / "k.model", "-o", folder / "more.model", "--quiet")[0] == 0
    before, after = (perceptrons.load(folder / name) for name in ("k.model", "more.model"))
    assert after.t_ > before.t_
    assert len(after.support_) <= 20


def test_settings_of_the_model_cannot_be_changed(run, files):
    may, june, folder = files
    run("train", may, "-o", folder / "may.model", "--quiet")
    code, _, err = run("train", june, "--from", folder / "may.model", "--step", "pa")
    assert code == 2
    assert "--step cannot be combined with --from" in err
    code, _, err = run("train", "--from", folder / "may.model")
    assert code == 2
    assert "--from needs DATA" in err
