"""Separability against an exact linear program that knows nothing of the library, on real, small, thin and odd data."""

import copy
import json
import math
import re
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from perceptrons.theory import Certificate, Combination, max_margin, separability
from tests.conftest import as_csr
from tests.linear.test_bad_input import BAD_DATA
from tests.reference import theory as reference
from tests.support.certificates import (
    SINGLE_LABELS,
    STEADY,
    XOR,
    as_lists,
    assert_proves,
    codes_of,
    data_sets,
    decided,
    iris,
    truth,
)

# ---- worked examples


def test_xor_is_not_separable_and_all_four_points_say_so():
    certificate = decided(*XOR)
    assert certificate.separable is False
    witness = certificate.witness
    assert sorted(zip(*witness, strict=True)) == [
        (i, label, 1 - label, Fraction(1, 4)) for i, label in enumerate([0, 1, 1, 0])
    ]
    assert (certificate.coef, certificate.intercept, certificate.margin, certificate.support) == (None,) * 4
    assert "not linearly separable" in certificate.explain().lower()


def test_two_points_on_a_line_have_the_margin_one():
    certificate = decided([[0.0], [2.0]], ["a", "b"])
    assert certificate.separable is True
    assert certificate.classes == ("a", "b")
    assert certificate.witness is None
    assert (certificate.n_samples, certificate.n_features, certificate.fit_intercept) == (2, 1, True)
    assert certificate.number_type == "float64"
    best = max_margin([[0.0], [2.0]], ["a", "b"])
    assert best.margin.reached <= 1 <= best.margin.at_most
    assert best.margin.reached == pytest.approx(1, rel=1e-6)
    assert -best.intercept / best.coef[0] == pytest.approx(1, rel=1e-6)
    assert sorted(zip(*best.support, strict=True)) == [(0, "a", "b", Fraction(1, 2)), (1, "b", "a", Fraction(1, 2))]


def test_two_equal_rows_with_different_labels_are_the_witness():
    X = [[5.0, 1.0], [1.0, 2.0], [7.0, 7.0], [1.0, 2.0], [9.0, 3.0]]
    certificate = decided(X, ["a", "a", "b", "b", "b"])
    assert sorted(zip(*certificate.witness, strict=True)) == [
        (1, "a", "b", Fraction(1, 2)),
        (3, "b", "a", Fraction(1, 2)),
    ]


def test_all_rows_zero_have_a_witness_of_two_rows():
    certificate = decided(np.zeros((5, 3)), [0, 0, 1, 0, 1])
    assert len(certificate.witness.rows) == 2
    assert set(certificate.witness.labels) == {0, 1}
    assert certificate.witness.weights == (Fraction(1, 2), Fraction(1, 2))


def test_a_zero_row_without_intercept_is_its_own_witness():
    certificate = decided([[1.0, 2.0], [0.0, 0.0], [-1.0, 0.5]], [1, 1, 0], fit_intercept=False)
    assert certificate.witness == Combination((1,), (1,), (0,), (Fraction(1),))
    assert decided([[1.0, 2.0], [0.0, 0.0], [-1.0, -1.5]], [1, 1, 0]).separable is True


def test_three_points_in_a_row_need_the_intercept():
    X, y = [[0.0], [1.0], [2.0]], ["low", "middle", "high"]
    assert decided(X, y).separable is True
    assert decided(X, y, fit_intercept=False).separable is False
    best = max_margin(X, y).margin
    wanted = reference.largest_margin(X, codes_of(y), 3, True)
    assert best.reached <= wanted * (1 + 1e-12)
    assert best.at_most >= wanted * (1 - 1e-12)


# ---- real sets; what is right was found by linprog (HiGHS)


REAL = {
    "setosa against the rest": (lambda: iris(lambda y: y == 0), True),
    "versicolor against the rest": (lambda: iris(lambda y: y == 1), False),
    "virginica against the rest": (lambda: iris(lambda y: y == 2), False),
    "the three irises": (iris, False),
    "breast cancer": (lambda: load_breast_cancer(return_X_y=True), True),
    "breast cancer, ten columns": (lambda: (load_breast_cancer().data[:, :10], load_breast_cancer().target), False),
    "wine": (lambda: load_wine(return_X_y=True), True),
    "ten digits": (lambda: load_digits(return_X_y=True), True),
    "odd and even digits": (lambda: (load_digits().data, load_digits().target % 2), False),
    "the digit 8": (lambda: (load_digits().data, load_digits().target == 8), False),
    "the digit 7": (lambda: (load_digits().data, load_digits().target == 7), True),
}


@pytest.mark.parametrize("name", REAL)
def test_real_sets_are_decided_rightly_and_proven(name):
    make, expected = REAL[name]
    X, y = make()
    certificate = decided(X, y)
    assert certificate.separable is expected
    if expected:
        assert 0 < certificate.margin.reached <= certificate.margin.at_most
        assert np.linalg.norm(X, axis=1).max() >= certificate.margin.at_most
    else:
        d, k = X.shape[1], len(np.unique(y))
        assert len(certificate.witness.rows) <= (d + 2 if k == 2 else (k - 1) * (d + 1) + 1)
        assert sum(certificate.witness.weights) == 1


@pytest.mark.parametrize("name", ["setosa against the rest", "the digit 7", "wine"])
def test_the_bracket_of_a_plain_call_is_within_its_gap(name):
    X, y = REAL[name][0]()
    for options, gap in (({}, 0.1), ({"gap": 0.01}, 0.01)):
        reached, at_most = decided(StandardScaler().fit_transform(X), y, **options).margin
        assert at_most - reached <= gap * at_most


# ---- small sets, thousands of them


@pytest.mark.slow
@given(data_sets(), st.booleans())
@settings(STEADY, max_examples=1500)
def test_two_classes_are_decided_as_the_exact_lp_decides(data, fit_intercept):
    certificate = decided(*data, fit_intercept=fit_intercept)
    assert certificate.separable is truth(*data, fit_intercept)


@given(data_sets(classes=(3, 4)), st.booleans())
@settings(STEADY, max_examples=600)
def test_several_classes_are_decided_as_the_exact_lp_decides(data, fit_intercept):
    certificate = decided(*data, fit_intercept=fit_intercept)
    assert certificate.separable is truth(*data, fit_intercept)


@given(data_sets(largest=2**53), st.booleans())
@settings(STEADY, max_examples=200)
def test_numbers_of_53_bits_are_decided_as_the_exact_lp_decides(data, fit_intercept):
    certificate = decided(*data, fit_intercept=fit_intercept)
    assert certificate.separable is truth(*data, fit_intercept)


@given(st.data(), st.integers(2, 4), st.booleans())
@settings(STEADY, max_examples=200)
def test_labels_that_hang_on_the_last_bit_are_decided_as_the_exact_lp_decides(draw, d, fit_intercept):
    """Points on a hyperplane of small whole numbers, up to one unit in the last place of one coordinate."""
    n = draw.draw(st.integers(d, d + 6))
    X = draw.draw(arrays(np.float64, (n, d), elements=st.integers(-(2**30), 2**30).map(float), fill=st.nothing()))
    w = draw.draw(st.lists(st.integers(-9, 9), min_size=d - 1, max_size=d - 1))
    X[:, -1] = X[:, :-1] @ w
    side = draw.draw(arrays(np.int64, n, elements=st.sampled_from([-1, 1]), fill=st.nothing()))
    side[:2] = -1, 1
    X[:, -1] += side
    y = side.copy()
    y[-1] *= draw.draw(st.sampled_from([1, 1, -1]))
    y[:2] = -1, 1
    X *= 2.0 ** draw.draw(st.integers(-40, 40))
    certificate = decided(X, y, fit_intercept=fit_intercept)
    assert certificate.separable is truth(X, y, fit_intercept)


@given(data_sets(classes=(2, 3), n=(2, 8), d=(1, 3)), st.data())
@settings(STEADY, max_examples=200)
def test_entries_of_any_size_are_decided_as_the_exact_lp_decides(data, draw):
    X, y = data
    X *= 2.0 ** draw.draw(arrays(np.int64, X.shape, elements=st.integers(-70, 70), fill=st.nothing()))
    fit_intercept = draw.draw(st.booleans())
    certificate = decided(X, y, fit_intercept=fit_intercept)
    assert certificate.separable is truth(X, y, fit_intercept)


@given(data_sets(classes=(2, 3)), st.booleans(), st.data())
@settings(STEADY, max_examples=150)
def test_verify_agrees_with_the_reference_on_other_data(data, fit_intercept, draw):
    """The certificate of some data holds for others exactly if what it claims is true of them."""
    X, y = data
    certificate = decided(X, y, fit_intercept=fit_intercept)
    X[draw.draw(st.integers(0, len(X) - 1))] += draw.draw(st.sampled_from([-2, -1, 1, 2, 100]))
    row = draw.draw(st.integers(0, len(y) - 1))
    y[row] = draw.draw(st.sampled_from([y[row], *range(y.max() + 1)]))
    if len(np.unique(y)) > 1:
        claims = reference.why_not(json.loads(certificate.to_json()), *as_lists(X, y)) == ""
        assert certificate.verify(X, y) is claims


# ---- nearly separable


def thin(rng, n, d, margin):
    """Real numbers of radius about 1 on both sides of a slanted hyperplane, `margin` from it."""
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    X = rng.uniform(-1, 1, (n, d)) / math.sqrt(d)
    y = np.arange(n) % 2
    X += np.outer(np.where(y == 1, margin, -margin) - X @ u, u)
    return X, y, u


@pytest.mark.parametrize("margin", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize(("n", "d"), [(40, 2), (300, 5), (300, 20)])
def test_a_thin_margin_is_found(margin, n, d):
    X, y, u = thin(np.random.default_rng(d), n, d, margin)
    known = reference.squared_margin(u.tolist(), 0.0, X.tolist(), y.tolist())
    assert known > 0  # so it is separable, rounding and all
    certificate = decided(X, y)
    assert certificate.separable is True
    assert Fraction(certificate.margin.at_most) ** 2 >= known


@pytest.mark.parametrize("margin", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize(("n", "d"), [(40, 2), (60, 3)])
def test_an_example_a_little_beyond_the_thin_margin_is_found(margin, n, d):
    X, y, u = thin(np.random.default_rng(d), n, d, margin)
    inside = X[y == 0].mean(axis=0)
    X[1] = inside - margin / 4 * u  # of class 1, behind the centre of class 0
    assert truth(X, y) is False
    certificate = decided(X, y)
    assert certificate.separable is False
    assert 1 in certificate.witness.rows


@pytest.mark.parametrize("size", [1e6, 1e12])
@pytest.mark.parametrize("flipped", [False, True])
def test_a_margin_of_one_at_a_radius_of_a_million_millions(size, flipped):
    """Whole numbers, so the margin is exact; sheared, so no column shows it."""
    rng = np.random.default_rng(11)
    y = np.arange(30) % 2
    X = np.column_stack([2 * y - 1, rng.integers(-size, size, (30, 2))]).astype(float)
    if flipped:
        X[0] = [3.0, 5.0, 7.0]  # of class 0, in the middle of class 1
    X = X @ np.array([[1.0, 2.0, -1.0], [3.0, 7.0, -1.0], [-2.0, -3.0, 5.0]])
    assert np.abs(X).max() < 2**53
    assert truth(X, y) is not flipped
    assert decided(X, y).separable is not flipped


@pytest.mark.parametrize("d", [1, 2, 20])
@pytest.mark.parametrize("margin", [0.3, 1e-6, 1e-12])
def test_one_duplicated_point_with_the_other_label_makes_it_inseparable(d, margin):
    X, y, _ = thin(np.random.default_rng(d), 100, d, margin)
    assert decided(X, y).separable is True
    twin = np.vstack([X, X[37]]), np.append(y, 1 - y[37])
    certificate = decided(*twin)
    assert certificate.separable is False
    assert decided(*twin, fit_intercept=False).separable is False


def test_a_duplicated_point_among_several_classes_is_found():
    X, y = load_wine(return_X_y=True)
    certificate = decided(np.vstack([X, X[5]]), np.append(y, 2))
    assert certificate.separable is False


# ---- forms of input


def forms_of(X):
    """The same numbers in other containers."""
    messy = sp.csr_matrix(X)
    messy = sp.csr_matrix(
        (
            np.concatenate([messy.data - 1, np.ones(messy.nnz), np.zeros(len(X))]),
            (
                np.concatenate([*[messy.nonzero()[0]] * 2, np.arange(len(X))]),
                np.concatenate([*[messy.nonzero()[1]] * 2, np.zeros(len(X), int)]),
            ),
        ),
        shape=X.shape,
    )
    return {
        "csr32": as_csr(X, np.int32),
        "csr64": as_csr(X, np.int64),
        "csc": sp.csc_matrix(X),
        "coo": sp.coo_matrix(X),
        "csr array": sp.csr_array(X),
        "columns first": np.asfortranarray(X),
        "list": X.tolist(),
        "pandas": pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
        "polars": pl.DataFrame({f"c{j}": X[:, j] for j in range(X.shape[1])}),
        "entries twice, zeros written out": messy,
    }


WHOLE = np.random.default_rng(5).integers(-4, 5, (24, 3)).astype(float)
SAMPLES = {
    "separable": (WHOLE, (WHOLE @ [2, -1, 1] > 0).astype(int)),
    "inseparable": (WHOLE, np.arange(24) % 2),
    "three classes": (WHOLE, np.argmax(WHOLE @ [[2, -1, 1], [1, 1, 0], [0, 3, -2]], axis=1)),
    "three classes, inseparable": (WHOLE, np.arange(24) % 3),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_form_of_the_same_numbers_gives_the_same_certificate(name):
    X, y = SAMPLES[name]
    certificate = decided(X, y)
    for form, other in forms_of(X).items():
        assert separability(other, y).to_json() == certificate.to_json(), form
        assert certificate.verify(other, y) is True, form


@pytest.mark.parametrize("name", ["setosa against the rest", "the three irises", "wine"])
def test_dense_and_csr_certificates_of_real_numbers_prove_the_same(name):
    X, y = REAL[name][0]()
    dense, sparse = decided(X, y), decided(as_csr(X), y)
    assert_proves(dense, as_csr(X), y)
    assert_proves(sparse, X, y)
    assert dense.separable is sparse.separable
    if dense.separable:
        np.testing.assert_allclose(dense.margin, sparse.margin, rtol=0.11)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_call_gives_the_same_certificate_and_changes_nothing(name, form):
    X, y = SAMPLES[name]
    X, y = form(X.copy()), y.copy()
    before = copy.deepcopy((X, y))
    certificate = separability(X, y)
    assert certificate.to_json() == separability(X, y).to_json()
    assert certificate.verify(X, y) is True
    if certificate.separable:
        assert max_margin(X, y).to_json() == max_margin(X, y).to_json()
    parts = ("data", "indices", "indptr") if sp.issparse(X) else ("real",)
    assert all(np.array_equal(getattr(X, part), getattr(before[0], part)) for part in parts)
    assert np.array_equal(y, before[1])


def test_data_that_must_not_be_written_to_are_fine():
    X, y = (array.copy() for array in SAMPLES["three classes"])
    X.flags.writeable = y.flags.writeable = False
    assert decided(X, y).separable is True


def test_float32_stays_float32():
    X, y = iris(lambda y: y == 0)
    narrow = X.astype(np.float32)
    certificate = decided(narrow, y)
    assert (certificate.number_type, certificate.separable) == ("float32", True)
    assert certificate.coef.dtype == np.float64
    assert decided(as_csr(narrow), y).number_type == "float32"
    assert decided(narrow.astype(np.float64), y).number_type == "float64"
    twin = np.vstack([narrow, narrow[60]]), np.append(y, True)
    assert decided(*twin).separable is False


def test_float32_that_float64_would_separate_is_decided_as_float32():
    X, y = np.array([[1.0], [1.0 + 2.0**-40], [2.0]]), [0, 1, 1]
    assert decided(X, y).separable is True
    assert decided(X.astype(np.float32), y).separable is False


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "a", "b", "a"], ("a", "b")),
        (np.array(["ä", "π", "ä", "π"]), ("ä", "π")),
        (np.array(["x", "y", "x", "y"], dtype=object), ("x", "y")),
        ([True, False, True, False], (False, True)),
        (np.array([3, -7, 3, -7], dtype=np.int8), (-7, 3)),
        (np.array([2.0, 5.0, 2.0, 5.0]), (2.0, 5.0)),
        (pd.Series(["u", "v", "u", "v"]), ("u", "v")),
        ([10, 20, 30, 10], (10, 20, 30)),
        (["", "a", "a", ""], ("", "a")),
    ],
)
@pytest.mark.parametrize("X", [[[1.0], [2.0], [3.0], [4.0]], [[1.0], [2.0], [1.5], [2.5]]])
def test_labels_of_any_kind(X, y, classes):
    certificate = separability(X, y)
    assert certificate.classes == classes
    assert all(type(label) in (str, int, bool, float) for label in certificate.classes)
    assert certificate.separable is truth(X, codes_of(np.asarray(y).tolist()))
    again = Certificate.from_json(certificate.to_json())
    assert again.verify(X, y) is True
    assert again.classes == classes
    combination = certificate.support if certificate.separable else certificate.witness
    assert [type(label) for label in combination.labels] == [type(classes[0])] * len(combination.rows)
    assert list(combination.labels) == [np.asarray(y).tolist()[i] for i in combination.rows]


# ---- awkward data


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", SAMPLES)
def test_constant_columns_zero_columns_and_duplicated_columns_change_no_answer(name, fit_intercept):
    X, y = SAMPLES[name]
    expected = truth(X, y, fit_intercept)
    for other in (np.column_stack([X, X]), np.column_stack([X[:, :1], np.zeros(len(X)), X]), X.repeat(3, axis=1)):
        assert decided(other, y, fit_intercept=fit_intercept).separable is expected
    constant = np.column_stack([np.full(len(X), 7.0), X, np.full(len(X), -0.1)])
    assert decided(constant, y, fit_intercept=fit_intercept).separable is truth(X, y, True)


def test_rows_of_zeros_among_others():
    X = np.vstack([WHOLE, np.zeros((3, 3))])
    y = (X @ [2, -1, 1] > 0).astype(int)
    assert decided(X, y).separable is True
    assert decided(as_csr(X), y).separable is True
    assert decided(X, y, fit_intercept=False).separable is False
    y[-1] = 1
    assert decided(X, y).separable is False


def test_constant_columns_only():
    certificate = decided(np.full((6, 2), 3.25), [0, 1, 0, 1, 1, 1])
    assert certificate.separable is False
    assert len(certificate.witness.rows) == 2


def test_repeated_rows_and_many_columns():
    X, y = SAMPLES["separable"]
    assert decided(np.tile(X, (40, 1)), np.tile(y, 40)).separable is True
    X, y = SAMPLES["inseparable"]
    assert decided(np.tile(X, (40, 1)), np.tile(y, 40)).separable is False
    wide = np.random.default_rng(0).standard_normal((6, 60))
    assert decided(wide, [0, 1, 0, 1, 1, 0]).separable is True
    assert decided(wide, [0, 1, 2, 3, 4, 5]).separable is True
    assert decided(np.vstack([wide, wide[2]]), [0, 1, 2, 3, 4, 5, 5]).separable is False


@pytest.mark.parametrize("exponent", [-900, -498, -160, -40, 40, 160, 332])
@pytest.mark.parametrize("name", SAMPLES)
def test_data_of_any_scale(name, exponent):
    """The numbers times a power of two, from 1e-271 to 1e100: exact, so separable or not as before."""
    X, y = SAMPLES[name]
    expected = truth(X, y)
    certificate = decided(X * 2.0**exponent, y)
    assert certificate.separable is expected
    if expected and exponent > -500:
        before = max_margin(X, y).margin
        now = max_margin(X * 2.0**exponent, y).margin
        assert now.reached * 2.0**-exponent <= before.at_most
        assert now.at_most * 2.0**-exponent >= before.reached


@pytest.mark.parametrize("name", SAMPLES)
def test_columns_of_very_different_scales(name):
    X, y = SAMPLES[name]
    scaled = X * [2.0**-27, 1.0, 2.0**27]  # 1e-8 and 1e8
    assert decided(scaled, y).separable is truth(X, y)
    assert decided(scaled, y, fit_intercept=False).separable is truth(X, y, False)


def test_a_column_far_from_zero_hides_nothing():
    X, y = SAMPLES["separable"]
    assert decided(X + 2.0**40, y).separable is truth(X, y)
    X, y = SAMPLES["inseparable"]
    assert decided(X + 2.0**40, y).separable is False


@pytest.mark.parametrize("case", SINGLE_LABELS)
@pytest.mark.parametrize("ask", [separability, max_margin])
def test_bad_data_are_refused_as_fit_refuses_them(ask, case):
    bad, labels, message = BAD_DATA[case]
    with pytest.raises((ValueError, TypeError), match=message):
        ask(bad, labels)


@pytest.mark.parametrize("labels", [[[0, 1], [1, 0], [1, 1], [0, 0]], [{1}, {2}, {1}, {1, 2}]])
def test_several_labels_an_example_are_refused(labels):
    with pytest.raises((ValueError, TypeError)):
        separability(WHOLE[:4], labels)


def test_verify_says_no_to_other_data_and_refuses_bad_ones():
    X, y = SAMPLES["separable"]
    for certificate in (decided(X, y), decided(X, np.arange(24) % 2)):
        own = y if certificate.separable else np.arange(24) % 2
        assert certificate.verify(X, own) is True
        assert certificate.verify(X[:-1], own[:-1]) is False
        assert certificate.verify(X[:, :-1], own) is False
        assert certificate.verify(np.column_stack([X, X]), own) is False
        assert certificate.verify(X, 1 - own) is False
        assert certificate.verify(X, own + 1) is False
        assert certificate.verify(X, own.astype(str)) is False
        assert certificate.verify(X, np.where(np.arange(24) == 3, 2, own)) is False
        with pytest.raises(ValueError, match="NaN at row 2, column 1"):
            certificate.verify(np.where(np.arange(72).reshape(24, 3) == 7, np.nan, X), own)


# ---- time


@pytest.mark.parametrize("name", ["ten digits", "odd and even digits", "wine"])
def test_without_time_the_answer_is_right_or_open(name):
    make, expected = REAL[name]
    X, y = make()
    certificate = separability(X, y, max_seconds=1e-6)
    assert certificate.separable in (None, expected)
    if certificate.separable is None:
        assert certificate.reason
        assert certificate.explain()
        assert certificate.verify(X, y) is False
        assert Certificate.from_json(certificate.to_json()).separable is None
        assert (certificate.witness, certificate.n_samples) == (None, len(X))
    else:
        assert_proves(certificate, X, y)
    assert separability(X[::20], y[::20], 600.0).separable is not None


def test_the_largest_margin_without_time_is_an_error_a_warning_or_done():
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            certificate = max_margin(X, y, max_seconds=1e-6)
        except ValueError as error:
            assert "time" in str(error)  # noqa: PT017 (one of two ways it may go)
            return
    assert_proves(certificate, X, y)
    reached, at_most = certificate.margin
    assert at_most - reached <= 1e-6 * at_most or any(item.category is ConvergenceWarning for item in caught)


# ---- words


def test_explanations_name_what_they_are_about():
    assert {"0", "1", "2", "3"} <= set(re.findall(r"\d+", decided(*XOR).explain()))
    words = decided([[0.0], [2.0]], ["low", "high"]).explain()
    assert "separable" in words
    assert "margin" in words
