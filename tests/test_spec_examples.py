"""The hand-worked examples of the specification, run through the library."""

import numpy as np
import pytest

from perceptrons import Perceptron
from tests.support.lecture import rosenblatt

WORDS = ["not", "funny", "painful", "ok", "overall", "story", "good", "jokes"]
POS, NEG, NEU = 2, 0, 1  # classes_ is sorted: NEG, NEU, POS


def test_binary_worked_example():
    model = rosenblatt(combine="last", eta0=0.1, shuffle=False, max_iter=1, tol=None)
    X, y = np.array([[1.0, 1.0], [2.0, 1.0], [1.5, -40.0]]), [-1, 1, 1]
    model.fit(X[:2], y[:2], coef_init=[0.2, 0.0], intercept_init=-0.1)
    assert model.mistakes_.tolist() == [2]
    np.testing.assert_allclose(model.coef_, [[0.3, 0.0]], atol=1e-15)
    np.testing.assert_allclose(model.intercept_, [-0.1], atol=1e-15)
    before = model.coef_
    model.partial_fit(X[2:], y[2:])
    np.testing.assert_allclose(model.decision_function(X[2:]), [0.35], atol=1e-15)
    assert np.array_equal(model.coef_, before)
    assert model.n_updates_ == 2


def test_the_rule_of_the_lecture_has_a_name_and_gives_the_worked_example():
    model = Perceptron.rosenblatt(eta0=0.1, shuffle=False, max_iter=1, tol=None)
    assert (model.margin, model.intercept_scaling, model.combine) == (0, 1, "last")
    model.fit([[1.0, 1.0], [2.0, 1.0]], [-1, 1], coef_init=[0.2, 0.0], intercept_init=-0.1)
    np.testing.assert_allclose(model.coef_, [[0.3, 0.0]], atol=1e-15)
    np.testing.assert_allclose(model.intercept_, [-0.1], atol=1e-15)
    assert Perceptron.rosenblatt(margin=2, combine="average").get_params() == (
        Perceptron(margin=2, intercept_scaling=1).get_params()
    )


def test_first_step_of_the_binary_worked_example():
    model = rosenblatt(combine="last", eta0=0.1)
    model.fit([[1.0, 1.0], [9.0, 9.0]], [-1, 1], [[0.2, 0.0]], [-0.1], sample_weight=[1, 0])
    assert model.n_updates_ == 1
    np.testing.assert_allclose(model.coef_, [[0.1, -0.1]], atol=1e-15)
    np.testing.assert_allclose(model.intercept_, [-0.2], atol=1e-15)


def bag(text):
    return [float(word in text.replace(",", "").split()) for word in WORDS]


@pytest.mark.parametrize("online", ["fit", "partial_fit", "learn_one"])
def test_multiclass_worked_example(online):
    X = np.array([bag("not funny at all"), bag("painful, not funny"), bag(""), bag("")])
    y = np.array(["NEG", "NEG", "POS", "NEU"])
    model = rosenblatt(combine="last", shuffle=False, max_iter=1, tol=None)
    start, bias = np.zeros((3, 8)), np.array([0.0, 0.0, 1.0])
    model.fit(X, y, start, bias, sample_weight=[1, online == "fit", 0, 0])
    if online == "partial_fit":
        model.partial_fit(X[1:2], y[1:2])
    elif online == "learn_one":
        model.learn_one(X[1], y[1])
    expected = np.zeros((3, 8))
    expected[POS, :2], expected[NEG, :2] = -1, 1
    assert model.classes_.tolist() == ["NEG", "NEU", "POS"]
    assert np.array_equal(model.coef_, expected)
    assert model.intercept_.tolist() == [1.0, 0.0, 0.0]
    assert model.decision_function(X[1:2])[0, [POS, NEG, NEU]].tolist() == [-2.0, 3.0, 0.0]
    assert model.n_updates_ == 1
