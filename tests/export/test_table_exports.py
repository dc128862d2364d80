"""Models of tables: cells enter by column, and are filled, scaled and multiplied as in the library."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, PolynomialFeatures, StandardScaler

from perceptrons import KernelPerceptron, Perceptron
from perceptrons.export import ExportError, as_bytes
from perceptrons.features import HashedText, TableFeatures
from tests.export.programs import far, onnx_answers, same_onnx


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 300
    age, wage = rng.normal(40, 12, n).round(1), rng.normal(3000, 800, n).round()
    job = rng.choice(["nurse", "smith", "cook*home=x", "a=b", "Ärztin"], n)
    home = rng.choice(["town", "", "land"], n)
    table = pd.DataFrame({"age": age, "wage": wage, "job": job, "home": home})
    table["member"] = rng.choice(["yes", "no"], n)
    table["since"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    table.loc[::7, "age"] = np.nan
    table.loc[::11, "wage"] = -999
    table["note"] = [" ".join(rng.choice(["good", "late", "Überall", "ill"], 3)) for _ in range(n)]
    y = np.where((age > 40) ^ (job == "nurse"), "in", np.where(home == "land", "out", "maybe"))
    return table, y


KINDS = {
    "plain": {},
    "max-abs": {"scale": "max-abs", "missing": ["-999"]},
    "products": {"interactions": ["age*wage", "age*job", "job*home"], "powers": 3, "missing": ["-999"]},
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_have_the_same_labels_and_scores(kind, people):
    table, y = people
    model = make_pipeline(TableFeatures(ignore=["note"], **KINDS[kind]), Perceptron(max_iter=10)).fit(
        table[:200], y[:200]
    )
    unseen = table.assign(job=table["job"].where(table.index % 5 != 0, "pilot"))
    for X in (table, unseen):
        labels, scores = onnx_answers(model, X)
        assert labels.tolist() == model.predict(X).tolist()
        assert far(scores, model.decision_function(X)) < 1e-12


@pytest.mark.parametrize("how", [{"hash_bits": 12}, {"text_column": ["note", "home"]}, {"text_column": "note"}])
def test_hashed_columns_and_texts_of_tables_enter_onnx_as_columns(how, people):
    table, y = people
    text = HashedText(words=(1, 2), bits=14) if "text_column" in how else None
    asked = {"ignore": [] if text else ["note"], "interactions": ["age*job"], "scale": "max-abs"}
    features = TableFeatures(text=text, **asked, **how)
    model = make_pipeline(features, Perceptron(max_iter=10)).fit(table, y)
    with pytest.raises(ExportError, match=r"no operator that hashes names\. .*inputs='columns'"):
        as_bytes(model, ".onnx")
    labels, _ = onnx_answers(model, table, inputs="columns")
    assert labels.tolist() == model.predict(table).tolist()


def test_texts_of_tables_that_are_weighted_by_idf_are_refused_by_name(people):
    table, y = people
    model = make_pipeline(TableFeatures(text_column="note"), Perceptron(max_iter=2)).fit(table, y)
    for ending in (".json", ".onnx"):
        with pytest.raises(ExportError, match=r"weighted by idf, which no export format supports\. .*--inputs columns"):
            as_bytes(model, ending)
    labels, _ = onnx_answers(model, table, inputs="columns")
    assert labels.tolist() == model.predict(table).tolist()


def test_scalers_of_pipelines_are_part_of_the_export():
    rng = np.random.default_rng(1)
    X = rng.normal(5, 3, (200, 6)) * 10.0 ** np.arange(6)
    y = (X[:, 0] > X[:, 1] / 10).astype(int)
    for steps in (
        [StandardScaler()],
        [MaxAbsScaler(), StandardScaler(with_mean=False)],
        [MinMaxScaler(), StandardScaler()],
    ):
        model = make_pipeline(*steps, Perceptron(max_iter=5)).fit(X, y)
        same_onnx(model, X, within=1e-10)
    curved = make_pipeline(StandardScaler(), KernelPerceptron(max_iter=3)).fit(X, y)
    same_onnx(curved, X, within=1e-10)


@pytest.mark.parametrize("step", [PolynomialFeatures(2), SelectKBest(k=2)])
@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron()])
def test_a_step_that_changes_the_number_of_columns_is_named_by_json(step, model):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), step, model).fit(X, y)
    with pytest.raises(ExportError, match=f"is a {type(step).__name__}, which cannot be exported"):
        as_bytes(pipeline, ".json")
    same_onnx(pipeline, X, within=1e-9)
    rows = pipeline[:-1].transform(X)
    np.testing.assert_array_equal(onnx_answers(pipeline, X, inputs="columns")[0], model.predict(rows))


def test_a_step_that_cannot_be_exported_is_named():
    model = make_pipeline(Normalizer(), Perceptron()).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    with pytest.raises(
        ExportError, match=r"Step 'normalizer' is a Normalizer, which cannot be exported\. Export the part"
    ):
        as_bytes(model, ".json")
    as_bytes(model, ".json", inputs="columns")
    with pytest.raises(ExportError, match="A StandardScaler cannot be exported"):
        as_bytes(StandardScaler(), ".json")
