"""The largest margin against support vector machines and against trying everything."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from perceptrons.theory import max_margin
from tests.reference import theory as reference
from tests.support.certificates import (
    STEADY,
    THREE_BLOBS,
    XOR,
    as_lists,
    assert_proves,
    data_sets,
    iris,
    truth,
)

# ---- the largest margin


def scaled(X, y):
    return StandardScaler().fit_transform(X), y


def pair(load, first, second):
    X, y = load(return_X_y=True)
    kept = (y == first) | (y == second)
    return X[kept], y[kept]


SEPARABLE = {
    "setosa": lambda: iris(lambda y: y == 0),
    "setosa and versicolor": lambda: pair(load_iris, 0, 1),
    "wines 0 and 1": lambda: scaled(*pair(load_wine, 0, 1)),
    "wines 1 and 2": lambda: scaled(*pair(load_wine, 1, 2)),
    "digits 0 and 1": lambda: pair(load_digits, 0, 1),
    "digits 3 and 8": lambda: pair(load_digits, 3, 8),
    "blobs": lambda: make_blobs(60, centers=[[0, 0, 0], [6, 5, 6]], random_state=1),
}


def assert_polished(certificate, gap):
    reached, at_most = certificate.margin
    assert 0 < reached <= at_most
    assert at_most - reached <= gap * at_most


@pytest.mark.parametrize("name", SEPARABLE)
def test_the_largest_margin_is_that_of_the_hard_margin_svm(name):
    X, y = SEPARABLE[name]()
    certificate = max_margin(X, y)
    assert_proves(certificate, X, y)
    assert_polished(certificate, 1e-6)
    model = SVC(kernel="linear", C=1e10, tol=1e-7).fit(X, y)
    margin = 1 / np.linalg.norm(model.coef_)
    assert certificate.margin.reached == pytest.approx(margin, rel=1e-4)
    assert certificate.margin.at_most == pytest.approx(margin, rel=1e-4)
    direction = certificate.coef / np.linalg.norm(certificate.coef)
    np.testing.assert_allclose(direction, model.coef_[0] / np.linalg.norm(model.coef_), atol=2e-3)


@given(data_sets(classes=(2, 3), n=(2, 5), d=(1, 2)), st.booleans())
@settings(STEADY, max_examples=150)
def test_the_largest_margin_of_small_sets_is_what_trying_everything_finds(data, fit_intercept):
    X, y = data
    if not truth(X, y, fit_intercept):
        with pytest.raises(ValueError):
            max_margin(X, y, fit_intercept=fit_intercept)
        return
    certificate = max_margin(X, y, fit_intercept=fit_intercept)
    assert_proves(certificate, X, y)
    assert_polished(certificate, 1e-6)
    margin = reference.largest_margin(*as_lists(X, y), y.max() + 1, fit_intercept)
    assert certificate.margin.reached <= margin * (1 + 1e-9)
    assert certificate.margin.at_most >= margin * (1 - 1e-9)


@pytest.mark.parametrize("gap", [0.5, 1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("name", ["setosa", "wines 1 and 2"])
def test_the_gap_asked_for_is_kept(name, gap):
    X, y = SEPARABLE[name]()
    certificate = max_margin(X, y, gap=gap)
    assert_proves(certificate, X, y)
    assert_polished(certificate, gap)


def test_the_largest_margin_of_several_classes():
    for X, y in (THREE_BLOBS, scaled(*load_wine(return_X_y=True))):
        certificate = max_margin(X, y, gap=1e-4)
        assert_proves(certificate, X, y)
        assert_polished(certificate, 1e-4)
        assert certificate.coef.shape == (3, X.shape[1])
        assert (np.argmax(X @ certificate.coef.T + certificate.intercept, axis=1) == y).all()


def test_a_gap_that_cannot_be_kept_is_warned_of():
    X, y = SEPARABLE["wines 1 and 2"]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        certificate = max_margin(X, y, gap=1e-17, max_seconds=20)
    assert_proves(certificate, X, y)
    reached, at_most = certificate.margin
    assert reached == at_most or [item.category for item in caught] == [ConvergenceWarning]


def test_the_largest_margin_of_what_is_not_separable_is_an_error_that_names_rows():
    X, y = SEPARABLE["setosa and versicolor"]()
    with pytest.raises(ValueError, match=r"(?s)separable.*\b(37|100)\b"):
        max_margin(np.vstack([X, X[37]]), np.append(y, 1))
    with pytest.raises(ValueError, match="separable"):
        max_margin(*XOR)
