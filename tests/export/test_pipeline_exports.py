"""Pipelines and estimators of scikit-learn around ours in ONNX, converted by skl2onnx."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import perceptrons.onnx
from perceptrons import KernelPerceptron, Perceptron
from perceptrons.export import ExportError, as_bytes, facts_of
from perceptrons.features import HashedText
from tests.export.programs import far, onnx_answers, same_onnx
from tests.export.test_text_exports import LABELS, ODD, TEXTS

IRIS = load_iris(as_frame=True)
X, Y = IRIS.data.to_numpy(), IRIS.target_names[IRIS.target]
TWO, SIDES = load_breast_cancer(return_X_y=True)


def model(**how):
    return Perceptron(max_iter=5, **how)


NUMBERS = {
    "polynomial": make_pipeline(StandardScaler(), PolynomialFeatures(2), model()),
    "pca": make_pipeline(StandardScaler(), PCA(3), model()),
    "pca, kernel": make_pipeline(RobustScaler(), PCA(2), KernelPerceptron(max_iter=3)),
    "svd": make_pipeline(TruncatedSVD(2, random_state=0), model(multiclass="ovo")),
    "robust": make_pipeline(RobustScaler(), "passthrough", model(multiclass="ovr")),
    "imputer": make_pipeline(SimpleImputer(), VarianceThreshold(), StandardScaler(), model()),
    "selection": make_pipeline(SelectKBest(k=2), StandardScaler(), model(combine="vote")),
    "bins": make_pipeline(KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), model()),
    "union": make_pipeline(FeatureUnion([("pca", PCA(2)), ("scaled", StandardScaler())]), model()),
    "nested": make_pipeline(make_pipeline(StandardScaler(), PolynomialFeatures(2)), model()),
    "normalizer": make_pipeline(Normalizer(), model()),
    "calibrated inside": make_pipeline(StandardScaler(), PolynomialFeatures(2), model(probability="sigmoid")),
    "isotonic inside": make_pipeline(PolynomialFeatures(2), StandardScaler(), model(probability="isotonic")),
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_pipelines_of_numbers_give_the_same_labels_scores_and_probabilities(kind, classes):
    features, labels = (X, Y) if classes == 3 else (TWO[:, :6], SIDES)
    fitted = NUMBERS[kind].fit(features, labels)
    # some operators of ONNX compute in float32
    same_onnx(fitted, features, within=1e-5 if kind in ("normalizer", "bins") else 1e-9)
    assert facts_of(fitted)["classes"] == np.unique(labels).tolist()


@pytest.mark.parametrize("kind", ["polynomial", "pca", "calibrated inside"])
def test_pipelines_take_rows_of_float32(kind):
    fitted, rows = NUMBERS[kind].fit(X, Y), X.astype(np.float32)
    graph = perceptrons.onnx.convert(fitted, dtype="float32")
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    labels, scores = session.run(None, {"X": rows})[:2]
    assert labels.tolist() == fitted.predict(rows).tolist()
    assert far(scores, fitted.decision_function(rows)) < 1e-4
    assert perceptrons.onnx.inputs_of(fitted, X, dtype="float32")["X"].dtype == np.float32


def test_a_step_that_skl2onnx_converts_in_single_precision_only_takes_rows_of_float32():
    fitted = make_pipeline(PowerTransformer(), model()).fit(X, Y)
    with pytest.raises(ExportError, match=r"PowerTransformer, .* with dtype='float32' only"):
        perceptrons.onnx.convert(fitted)
    labels, scores = onnx_answers(fitted, X, dtype="float32")
    assert labels.tolist() == fitted.predict(X).tolist()
    assert far(scores, fitted.decision_function(X)) < 1e-4


def test_models_take_rows_of_float32():
    fitted = model(probability="sigmoid").fit(X, Y)
    rows = X.astype(np.float32)
    graph = perceptrons.onnx.convert(fitted, dtype="float32")
    labels, scores, _ = onnxruntime.InferenceSession(graph.SerializeToString()).run(None, {"X": rows})
    assert labels.tolist() == fitted.predict(rows).tolist()
    assert far(scores, fitted.decision_function(rows.astype(np.float64))) < 1e-12
    with pytest.raises(ValueError, match="choose one of float64, float32"):
        perceptrons.onnx.convert(fitted, dtype="int8")


AROUND = {
    "calibrated": CalibratedClassifierCV(model(), cv=3, method="sigmoid"),
    "calibrated pipeline": CalibratedClassifierCV(make_pipeline(StandardScaler(), PCA(3), model()), cv=3),
    "scaled, calibrated": make_pipeline(StandardScaler(), CalibratedClassifierCV(model(), cv=3)),
    "one-vs-rest": OneVsRestClassifier(model()),
    "hard votes": VotingClassifier(
        [("a", model()), ("b", model(random_state=1)), ("c", model(random_state=2))], flatten_transform=False
    ),
    "soft votes": VotingClassifier(
        [("a", model(probability="sigmoid")), ("b", model(probability="temperature"))],
        voting="soft",
        flatten_transform=False,
    ),
    "bagging": BaggingClassifier(model(probability="sigmoid"), 5, random_state=0),
    "search": GridSearchCV(make_pipeline(StandardScaler(), PCA(), model()), {"pca__n_components": [1, 3]}),
}


@pytest.mark.parametrize("kind", AROUND)
@pytest.mark.parametrize("classes", [2, 3])
def test_estimators_around_ours_give_the_same_labels_and_probabilities(kind, classes):
    features, labels = (X, Y) if classes == 3 else (TWO[:, :6], np.array(["no", "yes"])[SIDES])
    fitted = AROUND[kind].fit(features, labels)
    found, numbers = onnx_answers(fitted, features)
    assert found.tolist() == fitted.predict(features).tolist()
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_allclose(numbers, fitted.predict_proba(features), atol=1e-6)


def test_an_isotonic_calibration_that_skl2onnx_only_approximates_is_refused():
    fitted = CalibratedClassifierCV(model(), cv=3, method="isotonic").fit(X, Y)
    with pytest.raises(ExportError, match=r"does not interpolate .* Perceptron\(probability='isotonic'\)"):
        as_bytes(fitted, ".onnx")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 200
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n).round(1),
            "job": rng.choice(["nurse", "smith", "Ärztin"], n),
            "wage": rng.normal(3000, 800, n),
            "home": rng.choice(["town", "land"], n),
            "note": [" ".join(rng.choice(["Good", "late", "Überall", "a", "ill"], 4)) for _ in range(n)],
        }
    )
    return table, np.where((table["age"] > 40) ^ (table["job"] == "nurse"), "in", "out")


COLUMNS = {
    "numbers and categories": [(StandardScaler(), ["age", "wage"]), (OneHotEncoder(), ["job", "home"])],
    "by number": [(StandardScaler(), [0, 2]), (OneHotEncoder(), [1, 3])],
    "imputed": [(make_pipeline(SimpleImputer(), RobustScaler()), ["wage", "age"]), (OneHotEncoder(), ["job"])],
    "texts": [(TfidfVectorizer(ngram_range=(1, 2)), "note"), (StandardScaler(), ["age"])],
    "numbers only": [(StandardScaler(), ["age", "wage"])],
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_a_frame_are_inputs_by_name(kind, people):
    table, y = people
    fitted = make_pipeline(make_column_transformer(*COLUMNS[kind]), model()).fit(table, y)
    labels, scores = onnx_answers(fitted, table)
    assert labels.tolist() == fitted.predict(table).tolist()
    assert far(scores, fitted.decision_function(table)) < 1e-5
    assert set(perceptrons.onnx.inputs_of(fitted, table)) <= set(table.columns)


def test_columns_of_an_array_are_selected_by_number():
    by_number = ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", PCA(1), slice(1, 4))])
    same_onnx(make_pipeline(by_number, model()).fit(X, Y), X, within=1e-9)


@pytest.mark.parametrize(
    "steps",
    [
        [TfidfVectorizer(ngram_range=(1, 2))],
        [CountVectorizer(lowercase=False)],
        [TfidfVectorizer(token_pattern=r"[a-z]+")],
        [CountVectorizer(), TfidfTransformer()],
        [TfidfVectorizer(), TruncatedSVD(3, random_state=0)],
    ],
)
def test_texts_are_cut_into_the_words_of_scikit_learn(steps):
    fitted = make_pipeline(*steps, model()).fit(TEXTS, LABELS)
    texts = [*TEXTS, *ODD, "see a cat NAÏVE ΑΣ"]
    labels, scores = onnx_answers(fitted, texts)
    assert labels.tolist() == fitted.predict(texts).tolist()
    assert far(scores, fitted.decision_function(texts)) < 1e-5


def test_steps_may_follow_our_texts():
    fitted = make_pipeline(HashedText(bits=None, words=(1, 2)), TfidfTransformer(), model()).fit(TEXTS, LABELS)
    labels, scores = onnx_answers(fitted, TEXTS + ODD)
    assert labels.tolist() == fitted.predict(TEXTS + ODD).tolist()
    assert far(scores, fitted.decision_function(TEXTS + ODD)) < 1e-5


def test_what_skl2onnx_cannot_convert_is_named():
    fitted = make_pipeline(FunctionTransformer(np.abs), model()).fit(X, Y)
    with pytest.raises(ExportError, match=r"FunctionTransformer .* inputs='columns'"):
        as_bytes(fitted, ".onnx")
    with pytest.raises(ExportError, match=r"n-grams of characters"):
        as_bytes(make_pipeline(TfidfVectorizer(analyzer="char"), model()).fit(TEXTS, LABELS), ".onnx")
    with pytest.raises(ExportError, match="adds indicators"):
        as_bytes(make_pipeline(SimpleImputer(add_indicator=True), model()).fit([[1], [np.nan]], [0, 1]), ".onnx")


def test_missing_strings_are_filled():
    table = pd.DataFrame(
        {"n": [1.0, np.nan, 3.0, 4.0] * 5, "job": ["a", None, "b", "b"] * 5, "x": ["", "?", "c", ""] * 5}
    )
    y = ["yes", "no", "no", "yes"] * 5
    fills = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    other = make_pipeline(SimpleImputer(strategy="constant", missing_values="?", fill_value="c"), OneHotEncoder())
    columns = make_column_transformer((SimpleImputer(), ["n"]), (fills, ["job"]), (other, ["x"]))
    fitted = make_pipeline(columns, model()).fit(table, y)
    labels, scores = onnx_answers(fitted, table)
    assert labels.tolist() == fitted.predict(table).tolist()
    assert far(scores, fitted.decision_function(table)) < 1e-6


def test_functions_of_skl2onnx_know_our_estimators():
    import skl2onnx

    fitted = make_pipeline(StandardScaler(), PCA(3), model()).fit(TWO[:, :6], SIDES)
    graph = skl2onnx.to_onnx(fitted, TWO[:1, :6], options={"zipmap": False})
    labels, scores = onnxruntime.InferenceSession(graph.SerializeToString()).run(None, {"X": TWO[:, :6]})
    assert labels.tolist() == fitted.predict(TWO[:, :6]).tolist()
    assert far(scores[:, 1], fitted.decision_function(TWO[:, :6])) < 1e-9
