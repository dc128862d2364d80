"""The references of the theory, which the tests of certificates trust, tried out themselves."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import theory as reference
from tests.support.certificates import STEADY, XOR, as_lists, data_sets

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
