"""Kernel models among scikit-learn's tools: maps to approximate kernels, searches, cross-validation, pipelines."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from perceptrons import KernelPerceptron
from tests.support.lecture import rosenblatt

GAMMA = 1e-3  # for grey levels from 0 to 16
MAPS = {
    "fourier": RBFSampler(gamma=GAMMA, n_components=1000, random_state=0),
    "nystroem": Nystroem(gamma=GAMMA, n_components=300, random_state=0),
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X.astype(np.float32), y, random_state=0)


@pytest.fixture(scope="module")
def exact(digits):
    """The accuracy of the exact kernel on the test rows."""
    X, X_test, y, y_test = digits
    return KernelPerceptron(gamma=GAMMA, max_iter=10).fit(X, y).score(X_test, y_test)


@pytest.mark.parametrize("kind", MAPS)
def test_an_approximate_kernel_in_front_of_the_perceptron_comes_close_to_the_exact_one(kind, digits, exact):
    X, X_test, y, y_test = digits
    model = make_pipeline(clone(MAPS[kind]), rosenblatt(max_iter=10)).fit(X, y)
    assert model.predict(X_test).shape == y_test.shape
    assert exact > 0.97
    assert abs(model.score(X_test, y_test) - exact) <= 0.015


def test_more_random_features_come_closer_to_the_kernel(digits):
    X = digits[0][:200]
    far = []
    for n in (30, 300, 3000):
        Z = RBFSampler(gamma=GAMMA, n_components=n, random_state=0).fit_transform(X)
        far.append(np.abs(Z @ Z.T - rbf_kernel(X, gamma=GAMMA)).mean())
    assert far[0] > 2 * far[1] > 4 * far[2]


def test_nystroem_with_all_rows_is_the_exact_kernel(digits):
    X, X_test, y, _ = digits
    X, y = X[:150].astype(np.float64), y[:150]
    options = {"max_iter": 3, "tol": None, "random_state": 0}
    exact = KernelPerceptron(gamma=GAMMA, **options).fit(X, y)
    features = Nystroem(gamma=GAMMA, n_components=150, random_state=0).fit(X)
    linear = rosenblatt(fit_intercept=False, **options).fit(features.transform(X), y)
    assert linear.n_mistakes_ == exact.n_mistakes_
    scores = linear.decision_function(features.transform(X_test))
    np.testing.assert_allclose(scores, exact.decision_function(X_test), atol=1e-6)


@pytest.mark.parametrize("kind", MAPS)
def test_a_stream_goes_through_a_map_that_was_fitted_on_its_beginning(kind, digits, exact):
    X, X_test, y, y_test = digits
    features, model = clone(MAPS[kind]).fit(X[:400]), rosenblatt()
    for _ in range(10):
        for begin in range(0, len(y), 100):
            model.partial_fit(features.transform(X[begin : begin + 100]), y[begin : begin + 100], classes=range(10))
    assert abs(model.score(features.transform(X_test), y_test) - exact) <= 0.02


def test_a_clone_has_the_same_parameters_and_learns_the_same(digits):
    X, X_test, y, _ = digits
    model = KernelPerceptron(kernel="poly", degree=2, gamma=0.01, multiclass="ovr", max_iter=3, random_state=5).fit(
        X, y
    )
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")
    assert np.array_equal(copy.fit(X, y).decision_function(X_test), model.decision_function(X_test))


def test_a_grid_search_finds_kernel_and_gamma(digits):
    X, X_test, y, y_test = digits
    X, y = X[:600], y[:600]
    grid = [
        {"kernel": ["rbf"], "gamma": [1e-6, GAMMA, 1.0]},
        {"kernel": ["poly"], "degree": [1, 3], "gamma": ["scale"], "combine": ["average", "vote"]},
    ]
    search = GridSearchCV(KernelPerceptron(max_iter=5), grid, cv=3).fit(X, y)
    tried = search.cv_results_
    worst = [p for p, rank in zip(tried["params"], tried["rank_test_score"], strict=True) if rank >= 6]
    assert {"kernel": "rbf", "gamma": 1.0} in worst  # every example far from every other: nothing is learned
    assert search.best_params_ != {"kernel": "rbf", "gamma": 1e-6}
    assert search.score(X_test, y_test) > 0.95


def test_a_precomputed_kernel_is_cut_both_ways_by_cross_validation(digits):
    X, y = digits[0][:500].astype(np.float64), digits[2][:500]
    options = {"max_iter": 5, "tol": None}
    by_name = cross_val_score(KernelPerceptron(gamma=GAMMA, **options), X, y, cv=3)
    given = cross_val_score(KernelPerceptron(kernel="precomputed", **options), rbf_kernel(X, gamma=GAMMA), y, cv=3)
    np.testing.assert_allclose(given, by_name, atol=0.01)
    assert by_name.min() > 0.9


def test_a_scaler_in_front_of_the_kernel_counts(digits):
    X, X_test, y, y_test = digits
    stretched = np.ones(64, np.float32)
    stretched[::2] = 1000
    plain = KernelPerceptron(max_iter=10).fit(X * stretched, y)
    scaled = make_pipeline(StandardScaler(), KernelPerceptron(max_iter=10)).fit(X * stretched, y)
    assert scaled.score(X_test * stretched, y_test) > max(0.95, plain.score(X_test * stretched, y_test))
    step = scaled.named_steps["kernelperceptron"]
    assert step.n_support_ == len(step.support_vectors_) == step.dual_coef_.shape[1]


def test_a_search_reaches_the_kernel_within_a_pipeline(digits):
    X, y = digits[0][:500], digits[2][:500]
    model = make_pipeline(StandardScaler(), KernelPerceptron(max_iter=5))
    search = GridSearchCV(model, {"kernelperceptron__gamma": ["scale", 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernelperceptron__gamma": "scale"}
