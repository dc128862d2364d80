"""Bounds, margins and pictures of models with given weights, a given order of the classes, and automatic units."""

import numpy as np
import pandas as pd
import pytest

from perceptrons import Perceptron
from perceptrons.plots import BoundaryDisplay, PathDisplay
from perceptrons.theory import check_bound, margins, signed_distance, trace
from tests.conftest import gaussian
from tests.support.lecture import rosenblatt

X = np.array([[1.0, 1.0], [2.0, 1.0], [1.5, 0.0], [0.5, 3.0]])


def test_a_model_of_given_weights_has_distances_and_pictures():
    model = Perceptron.from_weights([3.0, 4.0], -5.0, classes=["no", "yes"], feature_names=["a", "b"])
    point = pd.DataFrame([[2.0, 2.0]], columns=["a", "b"])
    assert signed_distance(model, point).tolist() == [1.8]
    assert BoundaryDisplay.from_estimator(model, X[:, :2], ["no", "yes", "yes", "no"]).plot().ax_ is not None


@pytest.mark.parametrize("order", [["yes", "no"], ["no", "yes"]])
def test_theory_and_pictures_know_the_order_of_the_classes(order):
    y = ["yes", "no", "no", "yes"]
    model = rosenblatt(shuffle=False, classes=order, combine="vote", tol=None, init="ones").fit(X, y)
    usual = rosenblatt(shuffle=False, combine="vote", tol=None).fit(X, y)
    assert check_bound(model, X, y).holds
    assert check_bound(usual, X, y).bound.updates == check_bound(model, X, y).bound.updates
    last = rosenblatt(shuffle=False, classes=order, combine="last", tol=None).fit(X, y)
    assert (margins(last, X, y).geometric > 0).all()
    path = PathDisplay.from_estimator(model, X, y)
    assert path.weights[-1] @ path.solution > 0
    assert trace(X, y, model, visits=1)[0].margin > 0


def test_the_bound_of_the_theory_holds_for_the_defaults(rng):
    X, y = gaussian(rng, 60, 3, 2)
    X[:, 0] += np.where(y == 1, 8.0, -8.0)
    for parameters in ({}, {"combine": "last"}, {"intercept_scaling": 3.0, "margin": 1.0, "combine": "last"}):
        found = check_bound(Perceptron(tol=None, **parameters).fit(40 * X, y), 40 * X, y)
        assert found.holds
        assert found.updates > 0
