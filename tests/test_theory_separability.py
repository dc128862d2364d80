"""Separable or not, with proof: answers against an exact rational LP, certificates against an independent checker.

`decided` asks the library and holds its certificate against the reference; nearly every test goes through it.
"""

import ast
import copy
import csv
import dataclasses
import io
import json
import math
import re
import subprocess
import sys
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
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from perceptrons.theory import Certificate, Combination, max_margin, separability
from tests.conftest import ROOT, as_csr
from tests.reference import theory as reference
from tests.test_bad_input import BAD_DATA

STEADY = settings(deadline=None, derandomize=True, max_examples=100)
XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])


def as_lists(X, y):
    """Rows and labels in plain Python, as the reference wants them; every float is kept as it is."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    return X.astype(float).tolist(), np.asarray(y).tolist()


def codes_of(labels):
    classes = sorted(set(labels))
    return [classes.index(label) for label in labels]


def truth(X, y, fit_intercept=True):
    """What the exact LP says."""
    rows, labels = as_lists(X, y)
    return reference.separable(rows, codes_of(labels), len(set(labels)), fit_intercept)


def assert_proves(certificate, X, y):
    """The certificate holds by its own check and by the reference's, and survives its way through a file."""
    text = certificate.to_json()
    content = json.loads(text)
    assert reference.why_not(content, *as_lists(X, y)) == ""
    assert content["digest"] == reference.digest(content) == certificate.digest
    assert certificate.verify(X, y) is True
    again = Certificate.from_json(text)
    assert again.to_json() == text
    assert again.verify(X, y) is True


def decided(X, y, **options):
    """The certificate of the data, which must be decided and proven."""
    certificate = separability(X, y, **options)
    assert certificate.separable is not None, certificate.reason
    assert_proves(certificate, X, y)
    return certificate


def rejected(content, X, y):
    """Whether a certificate of this content is refused when it is read or does not verify."""
    try:
        certificate = Certificate.from_json(json.dumps(content))
    except ValueError:
        return True
    return certificate.verify(X, y) is False


@st.composite
def data_sets(draw, classes=(2, 2), n=(2, 12), d=(1, 4), largest=3):
    """Whole numbers with labels; every class is there. Of what is counted the smallest and largest number is given."""
    k, n, d = (draw(st.integers(*limits)) for limits in (classes, n, d))
    n, values = max(k, n), st.integers(-largest, largest).map(float)
    X = draw(arrays(np.float64, (n, d), elements=values, fill=st.nothing()))
    y = draw(arrays(np.int64, n, elements=st.integers(0, k - 1), fill=st.nothing()))
    y[:k] = np.arange(k)
    return X, y


# ---- the reference itself


def assert_decision_is_proven(rows, codes, n_classes, fit_intercept):
    """The exact LP's answer is not trusted either: its theta or its weights are put in."""
    vectors = [z for _, _, z in reference.differences(rows, codes, n_classes, fit_intercept)]
    answer, proof = reference.decide(vectors)
    if answer:
        assert all(sum(map(Fraction.__mul__, proof, z)) > 0 for z in vectors)
    else:
        assert min(proof) >= 0
        assert sum(proof) == 1
        assert not any(sum(map(Fraction.__mul__, proof, column)) for column in zip(*vectors, strict=True))
        assert sum(weight > 0 for weight in proof) <= len(vectors[0]) + 1
    assert reference.separable(rows, codes, n_classes, fit_intercept) is answer
    return answer


@given(data_sets(classes=(2, 4), n=(2, 9), d=(1, 3)), st.booleans())
@settings(STEADY, max_examples=150)
def test_the_exact_lp_proves_its_answers(data, fit_intercept):
    rows, codes = as_lists(*data)
    assert_decision_is_proven(rows, codes, max(codes) + 1, fit_intercept)


def test_the_exact_lp_gives_both_answers():
    square, labels = as_lists(*XOR)
    assert assert_decision_is_proven(square, labels, 2, True) is False
    assert assert_decision_is_proven(square, [0, 1, 1, 1], 2, True) is True
    assert assert_decision_is_proven(square, [0, 1, 1, 1], 2, False) is False
    assert assert_decision_is_proven([[0.0], [1.0], [2.0]], [0, 1, 2], 3, True) is True
    assert assert_decision_is_proven([[0.0], [1.0], [2.0]], [0, 1, 2], 3, False) is False
    assert assert_decision_is_proven([[0.0], [1.0], [0.5], [2.0]], [0, 1, 2, 0], 3, True) is False


HAND_MADE = {
    "format": "perceptrons-certificate-1",
    "separable": True,
    "classes": ["a", "b"],
    "n_samples": 2,
    "n_features": 1,
    "fit_intercept": True,
    "number_type": "float64",
    "coef": [3.0],
    "intercept": -3.0,
    "margin": [1.0, 1.0],
    "support": {"rows": [0, 1], "labels": ["a", "b"], "rivals": ["b", "a"], "weights": ["5", "0x5"]},
    "witness": None,
}
LINE = [[0.0], [2.0]], ["a", "b"]
THREE = {
    **HAND_MADE,
    "classes": [0, 1, 2],
    "n_samples": 3,
    "n_features": 2,
    "coef": [[2.0, 0.0], [-1.0, 1.0], ["-1/1", "-1/1"]],
    "intercept": [0.0, 0.0, 0.0],
    "margin": [0.5, 1.0],
    "support": {"rows": [0, 1], "labels": [0, 1], "rivals": [1, 0], "weights": ["1", "1"]},
}
TRIANGLE = [[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]], [0, 1, 2]


def test_the_reference_accepts_certificates_made_by_hand():
    assert reference.why_not(HAND_MADE, *LINE) == ""
    # leads 3, 2, 2; theta has squared norm 8, so margin 2/sqrt(16); support: (2, -1)/2 in row 0, the opposite in row 1
    assert reference.why_not({**THREE, "margin": [0.5, math.sqrt(1.25)]}, *TRIANGLE) == ""  # it is rounded up
    assert "bound" in reference.why_not({**THREE, "margin": [0.5, math.nextafter(math.sqrt(1.25), 0)]}, *TRIANGLE)
    witness = {"rows": [0, 1, 2, 3], "labels": [0, 1, 1, 0], "rivals": [1, 0, 0, 1], "weights": ["1"] * 4}
    nothing = dict.fromkeys(["coef", "intercept", "margin", "support"])
    shape = {"separable": False, "classes": [0, 1], "n_samples": 4, "n_features": 2}
    assert reference.why_not({**HAND_MADE, **nothing, **shape, "witness": witness}, *as_lists(*XOR)) == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": "perceptrons-certificate-2"}, "format"),
        ({"separable": None}, "decides nothing"),
        ({"separable": False}, "hyperplane"),
        ({"classes": ["a", "c"]}, "classes"),
        ({"classes": ["b", "a"]}, "classes"),
        ({"n_samples": 3}, "shape"),
        ({"n_features": 2}, "shape"),
        ({"fit_intercept": False}, "bias"),
        ({"fit_intercept": 1}, "neither"),
        ({"number_type": "float16"}, "number type"),
        ({"coef": [-3.0]}, "side"),
        ({"coef": [3.0, 0.0]}, "shape"),
        ({"coef": ["3/0"]}, "shape"),
        ({"intercept": 0.0}, "side"),
        ({"intercept": -6.0}, "side"),
        ({"intercept": -2.0}, "not reached"),
        ({"margin": [1.0000000000000002, 1.1]}, "not reached"),
        ({"margin": [0.5, 0.9999999999999999]}, "bound"),
        ({"margin": [0.5, -2.0]}, "bound"),
        ({"margin": [0.5, math.nan]}, "no numbers"),
        ({"margin": None}, "no certificate"),
        ({"witness": HAND_MADE["support"]}, "witness"),
        ({"support": None}, "no certificate"),
        ({"support": {**HAND_MADE["support"], "rows": [0, 0]}}, "label"),
        ({"support": {**HAND_MADE["support"], "rows": [0, -1]}}, "no row"),
        ({"support": {**HAND_MADE["support"], "rows": [0, 2]}}, "no row"),
        ({"support": {**HAND_MADE["support"], "rows": [0, True]}}, "no row"),
        ({"support": {**HAND_MADE["support"], "rows": [0]}}, "lengths"),
        ({"support": {**HAND_MADE["support"], "rivals": ["a", "a"]}}, "rival"),
        ({"support": {**HAND_MADE["support"], "rivals": ["c", "a"]}}, "rival"),
        ({"support": {**HAND_MADE["support"], "weights": ["5", "6"]}}, "balance"),
        ({"support": {**HAND_MADE["support"], "weights": ["5", "0"]}}, "positive"),
        ({"support": {**HAND_MADE["support"], "weights": ["5", "-5"]}}, "positive"),
        ({"support": {**HAND_MADE["support"], "weights": [5, 5]}}, "positive"),
        (
            {"support": {"rows": [0, 0, 1], "labels": list("aab"), "rivals": list("bba"), "weights": list("112")}},
            "twice",
        ),
    ],
)
def test_the_reference_rejects_what_is_false(change, reason):
    assert reason in reference.why_not({**HAND_MADE, **change}, *LINE)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"coef": [[2.0, 0.0], [-1.0, 1.0]]}, "shape"),
        ({"coef": [[-2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]]}, "side"),
        ({"intercept": [0.0, 0.0]}, "shape"),
        ({"intercept": [0.0, 0.0, 3.0]}, "side"),
        ({"margin": [0.5000000000000001, 1.2]}, "not reached"),
        ({"margin": [0.5, 1.118]}, "bound"),
        ({"support": {**THREE["support"], "rivals": [2, 0]}}, "balance"),
        ({"n_features": 2.0}, "shape"),
    ],
)
def test_the_reference_rejects_what_is_false_of_several_classes(change, reason):
    assert reason in reference.why_not({**THREE, "margin": [0.5, 1.2], **change}, *TRIANGLE)


def test_margins_of_two_classes_are_the_same_with_one_row_or_two():
    rng = np.random.default_rng(3)
    X, w, b = rng.standard_normal((9, 3)), rng.standard_normal(3), 0.3
    codes = (X @ w + b > 0).astype(int)
    codes[0] = 1 - codes[0]
    for labels in (codes.tolist(), (X @ w + b > 0).astype(int).tolist()):
        one = reference.squared_margin(w.tolist(), b, X.tolist(), labels)
        two = reference.squared_margin([(-w).tolist(), w.tolist()], [-b, b], X.tolist(), labels)
        assert one == two
        plain = np.min(np.where(np.array(labels) == 1, 1, -1) * (X @ w + b)) / np.linalg.norm(w)
        np.testing.assert_allclose(float(abs(one)) ** 0.5 * (1 if one > 0 else -1), plain)


def test_the_largest_margin_by_trial_is_half_the_distance_of_two_points():
    assert reference.largest_margin([[0.0, 0.0], [3.0, 4.0]], [0, 1], 2, True) == pytest.approx(2.5)
    assert reference.largest_margin([[0.0, 1.0], [3.0, 0.0]], [0, 1], 2, False) == pytest.approx(3 / math.sqrt(10))
    # weights -1, 0, 1 and biases 1, 2, -3 lead by 1 everywhere they must: 1/sqrt(2 * 2)
    assert reference.largest_margin([[0.0], [2.0], [4.0]], [0, 1, 2], 3, True) == pytest.approx(0.5)


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


def iris(labels=lambda y: y):
    X, y = load_iris(return_X_y=True)
    return X, labels(y)


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


# ---- altered certificates


def other_values(value):
    """JSON values that are not this one, in or out of its kind; of lists and dicts every part is altered by itself."""
    if value is None:
        yield from (0, "1", [1.0])
    elif isinstance(value, bool):
        yield from (not value, None)
    elif isinstance(value, int):
        yield from (value + 1, value - 1, -value - 1, str(value))
    elif isinstance(value, float):
        near = {math.nextafter(value, math.inf), math.nextafter(value, -math.inf)}
        yield from sorted({*near, -value - 1, 2 * value + 1} - {value})
        yield from (None, str(value))
    elif isinstance(value, str):
        yield from sorted({value + "0", "", "-" + value, value[:-1] + ("1" if value[-1:] != "1" else "2")} - {value})
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield value[:place] + value[place + 1 :]
            yield [*value[: place + 1], part, *value[place + 1 :]]
            for other in other_values(part):
                yield [*value[:place], other, *value[place + 1 :]]
        if value[::-1] != value:
            yield value[::-1]
        yield None
    else:
        for key, part in value.items():
            yield {name: kept for name, kept in value.items() if name != key}
            for other in other_values(part):
                yield {**value, key: other}
        yield None


def redone(content):
    """The same claims under a digest that fits them."""
    return {**content, "digest": reference.digest(content)}


THREE_BLOBS = make_blobs([8, 8, 8], centers=[[0, 0], [9, 1], [3, 8]], random_state=0)
ALTERED = {
    "xor": (*XOR, {}),
    "a line, strings": ([[0.0], [2.0], [3.5]], ["a", "b", "b"], {}),
    "booleans": ([[0.0, 1.0], [2.0, -1.0], [3.5, 0.0]], [True, False, False], {}),
    "setosa": (iris()[0][::7], np.where(iris()[1][::7] == 0, "setosa", "other"), {}),
    "no intercept": ([[1.0, 2.0], [-1.0, -3.0], [0.5, -1.0]], [-1, 1, 1], {"fit_intercept": False}),
    "a zero row": ([[1.0, 2.0], [0.0, 0.0], [-1.0, 0.5]], [1, 1, 0], {"fit_intercept": False}),
    "three blobs": (*THREE_BLOBS, {}),
    "three classes, inseparable": ([[0.0], [1.0], [0.5], [2.0]], ["x", "y", "z", "x"], {}),
    "three irises": (iris()[0][::3], iris()[1][::3], {}),
    "float32": (np.float32([[0.1, 0.2], [0.3, 0.7], [0.9, 0.9]]), [0, 0, 1], {}),
    "last bits": (np.array([[2.0**53], [2.0**53 - 1], [2.0**53 - 2]]), [1, 0, 0], {}),
}


@pytest.mark.parametrize("case", ALTERED)
def test_a_certificate_with_anything_altered_is_rejected(case):
    X, y, options = ALTERED[case]
    content = json.loads(decided(X, y, **options).to_json())
    assert not rejected(content, X, y)
    altered = list(other_values(content))
    assert len(altered) > 50
    for other in altered:
        assert rejected(other, X, y), other


@pytest.mark.parametrize("case", ALTERED)
def test_a_false_claim_is_rejected_under_a_digest_that_fits(case):
    X, y, options = ALTERED[case]
    content = json.loads(decided(X, y, **options).to_json())
    assert not rejected(redone(content), X, y)
    false = 0
    for key in content:
        for value in other_values(content[key]):
            other = redone({**content, key: value})
            if reference.why_not(other, *as_lists(X, y)):
                false += 1
                assert rejected(other, X, y), (key, value)
        missing = {name: value for name, value in content.items() if name != key}
        assert rejected(redone(missing) if key != "digest" else missing, X, y), key
    assert false > 30


@given(data_sets(classes=(2, 4)), st.booleans(), st.data())
@settings(STEADY, max_examples=300)
def test_one_alteration_of_any_certificate_is_rejected(data, fit_intercept, draw):
    content = json.loads(decided(*data, fit_intercept=fit_intercept).to_json())
    key = draw.draw(st.sampled_from(sorted(content)))
    other = {**content, key: draw.draw(st.sampled_from(list(other_values(content[key]))))}
    assert rejected(other, *data)
    if reference.why_not(other, *as_lists(*data)):
        assert rejected(redone(other), *data)


@pytest.mark.parametrize("case", ALTERED)
def test_a_field_replaced_in_the_object_is_noticed(case):
    X, y, options = ALTERED[case]
    certificate = decided(X, y, **options)
    changes = {
        "separable": [not certificate.separable, None],
        "classes": [certificate.classes[::-1], (*certificate.classes, "new")],
        "n_samples": [certificate.n_samples + 1],
        "n_features": [certificate.n_features + 1],
        "fit_intercept": [not certificate.fit_intercept],
        "number_type": ["float32" if certificate.number_type == "float64" else "float64"],
        "digest": ["0" * 64, certificate.digest[::-1]],
    }
    if certificate.separable:
        coef = np.array(certificate.coef)
        coef.flat[0] = coef.flat[0] * 2 + 1
        changes["coef"] = [coef, -np.array(certificate.coef), None]
        changes["intercept"] = [certificate.intercept + 1]
        reached, at_most = certificate.margin
        closer = type(certificate.margin)(reached, math.nextafter(at_most, 0))
        changes["margin"] = [type(certificate.margin)(math.nextafter(reached, math.inf), at_most), closer, None]
    name = "support" if certificate.separable else "witness"
    rows, labels, rivals, weights = getattr(certificate, name)
    changes[name] = [
        Combination((*rows[:-1], rows[-1] + 1), labels, rivals, weights),
        Combination(rows, rivals, labels, weights),
        Combination(rows, labels, labels, weights),
        Combination(rows, labels, rivals, (weights[0] / 2, *weights[1:])),
        Combination(rows[1:], labels[1:], rivals[1:], weights[1:]),
        None,
    ]
    for field, values in changes.items():
        for value in values:
            try:
                other = dataclasses.replace(certificate, **{field: value})
            except ValueError:
                continue
            assert other.verify(X, y) is False, (field, value)
    assert certificate.verify(X, y) is True


def test_a_certificate_cannot_be_written_to():
    certificate = decided(*THREE_BLOBS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.separable = False
    for array in (certificate.coef, certificate.intercept):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "17", '"a"', "not JSON", '{"format": "perceptrons-certificate-1"}']
)
def test_what_is_no_certificate_is_refused(text):
    with pytest.raises(ValueError):
        Certificate.from_json(text)


def test_a_certificate_of_another_format_is_refused():
    content = json.loads(decided(*XOR).to_json())
    with pytest.raises(ValueError):
        Certificate.from_json(json.dumps(redone({**content, "format": "perceptrons-certificate-9"})))


@given(data_sets(n=(2, 8), d=(1, 3)), st.booleans())
@settings(STEADY, max_examples=60)
def test_certificates_made_by_the_reference_hold_too(data, fit_intercept):
    """Everything in a certificate is public: whoever has a proof can write one."""
    X, y = data
    rows, labels = as_lists(X, y)
    vectors = [z for _, _, z in reference.differences(rows, labels, 2, fit_intercept)]
    answer, proof = reference.decide(vectors)
    content = json.loads(decided(X, y, fit_intercept=fit_intercept).to_json())
    if answer:
        quotients = [f"{value.numerator}/{value.denominator}" for value in [*proof, Fraction(0)]]
        content["coef"], content["intercept"] = quotients[: X.shape[1]], quotients[X.shape[1]]
        weights = content["coef"], content["intercept"]
        content["margin"][0] = 0.999 * math.sqrt(reference.squared_margin(*weights, rows, labels))
    else:
        used = [i for i, weight in enumerate(proof) if weight]
        common = math.lcm(*(proof[i].denominator for i in used))
        content["witness"] = {
            "rows": used,
            "labels": [labels[i] for i in used],
            "rivals": [1 - labels[i] for i in used],
            "weights": [str(int(proof[i] * common)) for i in used],
        }
    assert reference.why_not(content, rows, labels) == ""
    assert not rejected(redone(content), X, y)


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


SINGLE_LABELS = [name for name in BAD_DATA if "label sets" not in name and name != "two classes at once"]


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


# ---- words


def test_explanations_name_what_they_are_about():
    assert {"0", "1", "2", "3"} <= set(re.findall(r"\d+", decided(*XOR).explain()))
    words = decided([[0.0], [2.0]], ["low", "high"]).explain()
    assert "separable" in words
    assert "margin" in words


# ---- the stand-alone checker

CHECKER = ROOT / "tools" / "check_certificate.py"


def check(*arguments):
    """Run the checker without site-packages: exit status and what it says."""
    command = [sys.executable, "-I", "-S", str(CHECKER), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def write_csv(path, X, y, header=None, label_first=False):
    text = io.StringIO()
    writer = csv.writer(text)
    if header:
        writer.writerow(header)
    for row, label in zip(*as_lists(X, y), strict=True):
        cells = [repr(value) for value in row]
        writer.writerow([label, *cells] if label_first else [*cells, label])
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


CHECKED = {name: ALTERED[name] for name in ALTERED if name != "booleans"}


@pytest.mark.parametrize("case", CHECKED)
def test_the_checker_finds_that_certificates_hold(case, tmp_path):
    X, y, options = CHECKED[case]
    path = tmp_path / "certificate.json"
    path.write_text(decided(X, y, **options).to_json(), encoding="utf-8")
    code, said = check(path, write_csv(tmp_path / "data.csv", X, y))
    assert (code, said[:6]) == (0, "holds:"), said


@pytest.mark.parametrize("case", ["xor", "setosa", "three blobs", "no intercept"])
def test_the_checker_finds_false_claims(case, tmp_path):
    X, y, options = CHECKED[case]
    content = json.loads(decided(X, y, **options).to_json())
    data = write_csv(tmp_path / "data.csv", X, y)
    path = tmp_path / "altered.json"

    def assert_not_held(other):
        path.write_text(json.dumps(other), encoding="utf-8")
        code, said = check(path, data)
        assert code in (1, 2), said
        assert "holds:" not in said
        assert "Traceback" not in said
        return code, said

    code, said = assert_not_held({**content, "digest": "0" * 64})
    assert code == 1
    assert said.startswith("does not hold:")
    combination = "support" if content["separable"] else "witness"
    parts = content[combination]
    false = [
        {**content, "format": "perceptrons-certificate-2"},
        {**content, "separable": not content["separable"]},
        {**content, "n_samples": len(X) + 1},
        {**content, "n_features": content["n_features"] + 1},
        {**content, "classes": [*content["classes"], "another"]},
        {**content, combination: {**parts, "rows": [*parts["rows"][:-1], (parts["rows"][-1] + 1) % len(X)]}},
        {**content, combination: {**parts, "rows": [*parts["rows"][:-1], -1]}},
        {**content, combination: {**parts, "weights": [*parts["weights"][:-1], "-1"]}},
        {**content, combination: {**parts, "weights": [*parts["weights"][:-1], parts["weights"][-1] + "1"]}},
        {**content, combination: {**parts, "labels": parts["rivals"], "rivals": parts["labels"]}},
        {**content, combination: {**parts, "rivals": parts["labels"]}},
        {**content, combination: {key: value[1:] for key, value in parts.items()}},
        {**content, combination: {key: [] for key in parts}},
        {**content, combination: None},
    ]
    if content["separable"]:
        reached, at_most = content["margin"]
        false += [
            {**content, "margin": [at_most * 1.01, at_most * 1.02]},
            {**content, "margin": [reached, reached * 0.99]},
            {**content, "margin": [reached, -at_most]},
            {**content, "margin": None},
            {**content, "classes": content["classes"][::-1]},
            {**content, "fit_intercept": not content["fit_intercept"]},
            {**content, "intercept": 1e9 if len(content["classes"]) == 2 else [1e9, 0.0, 0.0]},
            {**content, "intercept": np.add(content["intercept"], 1e-9).tolist()},
            {**content, "coef": (-np.array(content["coef"])).tolist()},
        ]
    for other in false:
        assert_not_held(other)
    false = [redone(other) for other in false if reference.why_not(other, *as_lists(X, y))]
    assert len(false) > 10
    for other in false:
        assert_not_held(other)


def test_the_checker_finds_that_the_data_are_others(tmp_path):
    X, y, _ = CHECKED["setosa"]
    path = tmp_path / "certificate.json"
    path.write_text(decided(X, y).to_json(), encoding="utf-8")
    flipped = np.where(np.arange(len(y)) == 4, "other", y)
    for other, labels in (
        (X[:-1], y[:-1]),
        (X[:, :3], y),
        (X, flipped),
        (-X, y),
        (X, np.where(y == "setosa", "s", "o")),
    ):
        code, said = check(path, write_csv(tmp_path / "data.csv", other, labels))
        assert (code, said[:14]) == (1, "does not hold:"), said


@pytest.mark.parametrize("label", ["kind", "1"])
def test_the_checker_finds_the_label_column_by_name_or_number(label, tmp_path):
    X, y, _ = CHECKED["setosa"]
    path = tmp_path / "certificate.json"
    path.write_text(decided(X, y).to_json(), encoding="utf-8")
    data = write_csv(tmp_path / "data.csv", X, y, header=["kind", "a", "b", "c", "d"], label_first=True)
    assert check(path, data, "--label-column", label)[0] == 0
    assert check(path, data, "--label-column", "flower")[0] == 2
    assert check(path, data)[0] in (1, 2)


def test_the_checker_reads_a_header(tmp_path):
    X, y, _ = CHECKED["three blobs"]
    path = tmp_path / "certificate.json"
    path.write_text(decided(X, y).to_json(), encoding="utf-8")
    assert check(path, write_csv(tmp_path / "data.csv", X, y, header=["a", "b", "c"]))[0] == 0


def test_the_checker_rounds_to_float32_where_the_certificate_says_so(tmp_path):
    X, y = np.float32([[0.1], [0.2], [0.3]]), [0, 1, 1]
    path, data = tmp_path / "certificate.json", tmp_path / "data.csv"
    path.write_text(decided(X, y).to_json(), encoding="utf-8")
    data.write_text("0.1,0\n0.2,1\n0.3,1\n", encoding="utf-8")  # in float64 these are other numbers
    assert check(path, data)[0] == 0
    same = decided(np.float32([[0.1], [np.float32(0.1)], [0.3]]), y)
    path.write_text(same.to_json(), encoding="utf-8")
    data.write_text("0.1,0\n0.10000000149011612,1\n0.3,1\n", encoding="utf-8")
    assert check(path, data)[0] == 0
    path.write_text(json.dumps(redone({**json.loads(same.to_json()), "number_type": "float64"})), encoding="utf-8")
    assert check(path, data)[0] == 1


def test_the_checker_says_what_it_cannot_read(tmp_path):
    path, data = tmp_path / "certificate.json", write_csv(tmp_path / "data.csv", *XOR)
    path.write_text("no JSON", encoding="utf-8")
    assert check(path, data)[0] == 2
    path.write_text(decided(*XOR).to_json(), encoding="utf-8")
    assert check(path, tmp_path / "missing.csv")[0] == 2
    assert check(tmp_path / "missing.json", data)[0] == 2
    assert check(path)[0] == 2
    assert check()[0] == 2
    data.write_text("0,0,0\n0,one,1\n1,0,1\n1,1,0\n", encoding="utf-8")
    assert check(path, data)[0] in (1, 2)
    assert "Traceback" not in check(path, data)[1]
    assert check(path, write_csv(data, *XOR))[0] == 0


def test_the_checker_is_short_and_needs_nothing_but_the_standard_library():
    text = CHECKER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "perceptrons").partition(".")[0])
    assert imported
    assert imported <= set(sys.stdlib_module_names)
    assert not {"eval", "exec", "__import__"} & {
        node.func.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
