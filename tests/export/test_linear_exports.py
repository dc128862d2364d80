"""Linear models and kernels in ONNX give the labels and scores of the library."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_multilabel_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from perceptrons import KernelPerceptron, Perceptron
from perceptrons.export import as_bytes
from tests.export.programs import far, onnx_answers, same_onnx
from tests.support.tiers import slow

SETS = {"digits": load_digits, "iris": load_iris, "cancer": load_breast_cancer}


def data(name):
    X, y = SETS[name](return_X_y=True)
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
    return X, names[y]


@pytest.mark.parametrize("combine", ["average", "last", "recent"])
@pytest.mark.parametrize("multiclass", ["joint", "ovr", "ovo"])
@pytest.mark.parametrize("name", ["iris", *slow("digits", "cancer")])
def test_all_schemes_and_ways_to_combine_give_the_same_labels_on_every_row(name, multiclass, combine):
    X, y = data(name)
    model = Perceptron(multiclass=multiclass, combine=combine, max_iter=5).fit(X, y)
    same_onnx(model, X)


@pytest.mark.parametrize("zero_score", ["mistake", "positive"])
def test_scores_of_exactly_zero_and_ties_go_to_the_same_class(zero_score):
    X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0], [1.0, -2.0]])
    model = Perceptron(combine="last", fit_intercept=False, margin=0, zero_score=zero_score, max_iter=3, shuffle=False)
    model.fit(X, ["no", "yes", "no", "yes"])
    tied = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, -1.0], [2.0, 2.0]])
    assert (model.decision_function(tied) == 0).any()
    same_onnx(model, tied)
    three = Perceptron(combine="last", fit_intercept=False).fit(np.eye(3), ["a", "b", "c"])
    same_onnx(three, np.zeros((2, 3)))


CALIBRATED = {
    "two classes": (lambda **how: Perceptron(**how), data("cancer")),
    "joint": (lambda **how: Perceptron(**how), data("digits")),
    "ovr": (lambda **how: Perceptron(multiclass="ovr", **how), data("iris")),
    "ovo": (lambda **how: Perceptron(multiclass="ovo", **how), data("iris")),
    "several labels": (lambda **how: Perceptron(**how), make_multilabel_classification(300, random_state=0)),
    "votes": (lambda **how: Perceptron(combine="vote", **how), data("cancer")),
    "kernel": (lambda **how: KernelPerceptron(**how), data("iris")),
    "scaled": (lambda **how: make_pipeline(StandardScaler(), Perceptron(**how)), data("cancer")),
}


@pytest.mark.parametrize("method", ["sigmoid", "temperature", "isotonic"])
@pytest.mark.parametrize("kind", CALIBRATED)
def test_calibrated_models_give_the_same_probabilities(kind, method):
    make, (X, y) = CALIBRATED[kind]
    model = make(probability=method, max_iter=3, random_state=0).fit(X, y)
    assert hasattr(model, "predict_proba")
    beyond = np.concatenate([X, 100 * X, -100 * X])  # scores beyond those that were calibrated, too
    same_onnx(model, beyond, within=1e-10)


def test_scores_of_other_weights_than_were_calibrated_have_no_probabilities():
    X, y = data("cancer")
    model = Perceptron(probability="sigmoid", max_iter=3).fit(X, y).set_params(combine="last")
    same_onnx(model, X)
    assert json.loads(as_bytes(model, ".json"))["calibration"] is None


def test_a_threshold_of_two_classes_is_kept():
    X, y = data("cancer")
    model = Perceptron().fit(X, y)
    model.threshold_ = float(np.quantile(model.decision_function(X), 0.8))
    same_onnx(model, X)


def test_the_pocket_and_weights_of_float32_give_the_same_labels():
    X, y = data("digits")
    same_onnx(Perceptron(combine="pocket", max_iter=3).fit(X, y), X)
    single = Perceptron(max_iter=3).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32
    same_onnx(single, X)


@pytest.mark.parametrize("name", ["iris", "cancer", *slow("digits")])
def test_votes_of_all_versions_are_counted_alike(name):
    X, y = data(name)
    same_onnx(Perceptron(combine="vote", max_iter=2).fit(X, y), X[::3])


@pytest.mark.parametrize("zero_score", ["mistake", "positive"])
def test_several_labels_are_flags_in_onnx(zero_score):
    X, Y = make_multilabel_classification(300, n_classes=4, random_state=0)
    model = Perceptron(max_iter=5, zero_score=zero_score).fit(X, Y)
    same_onnx(model, X)
    sets = Perceptron(max_iter=5).fit(X, [{f"l{k}" for k in np.flatnonzero(row)} for row in Y])
    flags = onnx_answers(sets, X)[0]
    assert [{f"l{k}" for k in np.flatnonzero(row)} for row in flags] == [set(one) for one in sets.predict(X)]


@pytest.mark.parametrize("kernel", ["rbf", "poly", *slow("linear", "sigmoid", "laplacian", "cosine")])
@pytest.mark.parametrize("name", ["iris", *slow("cancer")])
def test_kernels_give_the_same_labels(kernel, name):
    X, y = data(name)
    model = KernelPerceptron(kernel=kernel, max_iter=3).fit(X, y)
    same_onnx(model, X, within=1e-10)
    same_onnx(KernelPerceptron(kernel=kernel, max_iter=3).fit(sp.csr_matrix(X), y), X, within=1e-10)


def test_a_precomputed_kernel_takes_the_kernel_values_of_the_training_rows():
    X, y = data("iris")
    K = X @ X.T
    model = KernelPerceptron(kernel="precomputed", max_iter=3).fit(K, y)
    same_onnx(model, K)


def test_wide_rows_enter_by_the_columns_that_are_not_zero():
    rng = np.random.default_rng(0)
    X = sp.random(200, 20_000, 0.001, format="csr", random_state=rng)
    y = rng.integers(0, 3, 200)
    model = Perceptron(max_iter=3).fit(X, y)
    labels, scores = onnx_answers(model, X)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert far(scores, model.decision_function(X)) < 1e-12
    assert len(as_bytes(model, ".onnx")) < 8 * 3 * 20_000  # columns without a weight are not in the file


def test_dense_and_sparse_rows_are_offered_for_the_same_model():
    X, y = data("digits")
    model = Perceptron(max_iter=2).fit(X, y)
    same_onnx(model, X, rows="sparse")
    same_onnx(model, X, rows="dense")
    with pytest.raises(ValueError, match="choose 'auto', 'dense' or 'sparse'"):
        onnx_answers(model, X, rows="long")


@pytest.mark.parametrize("labels", [[False, True], [1.0, 2.0, 3.0], [-3, 7], ['ä"\\', "??/ */", "%s%n"]])
def test_classes_keep_their_kind(labels):
    X, codes = load_iris(return_X_y=True)
    X, codes = X[codes < len(labels)], codes[codes < len(labels)]
    model = Perceptron(max_iter=3).fit(X, np.array(labels)[codes])
    found = onnx_answers(model, X)[0]
    assert found.tolist() == model.predict(X).tolist()
