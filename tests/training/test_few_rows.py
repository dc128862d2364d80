"""Scores of a few sparse rows after learning: only their features are averaged, and the scores are the same."""

import numpy as np
import pytest
import scipy.sparse as sp

from perceptrons import Perceptron


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("more", [{}, {"combine": "recent"}, {"multiclass": "ovr"}, {"penalty": "l2", "alpha": 0.01}])
def test_a_few_rows_have_the_scores_that_all_averaged_weights_give(dtype, n_classes, more):
    rng = np.random.default_rng(0)
    X = sp.random(300, 20_000, 0.002, "csr", rng=rng, dtype=np.float64).astype(dtype)
    y = rng.integers(0, n_classes, 300)
    model = Perceptron(max_iter=2, tol=None, **more).fit(X, y)
    for begin in range(0, 300, 50):
        model.partial_fit(X[begin : begin + 50], y[begin : begin + 50])
        few = model.decision_function(X[:3])
        assert model._learner._average is None, "all weights were averaged for three rows"
        model._learner.average()
        np.testing.assert_array_equal(few, model.decision_function(X[:3]))


def test_many_rows_average_all_weights_once():
    X = sp.random(300, 2000, 0.01, "csr", rng=np.random.default_rng(0))
    model = Perceptron(max_iter=2, tol=None).fit(X, np.arange(300) % 2)
    model.partial_fit(X[:10], np.arange(10) % 2)
    model.decision_function(X)
    assert model._learner._average is not None
