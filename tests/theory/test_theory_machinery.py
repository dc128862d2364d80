"""The parts that certificates are made with: exact arithmetic, the nearest point of a hull, coordinate descent."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from perceptrons.engine.passes.max_margin import empty_active_set, enter, nearest_point
from perceptrons.engine.passes.modular import PRIME, invert
from perceptrons.theory import max_margin
from perceptrons.theory.exact import (
    Checker,
    ExactWeights,
    Simplex,
    balanced,
    cancellation_equations,
    exact_sum,
    integers,
    null_weights,
    root_down,
    root_up,
    rounded,
)
from perceptrons.theory.examples import check_examples
from perceptrons.theory.largest_margin import HullPoints, PairList, descend

EXACT = settings(max_examples=200, deadline=None, derandomize=True)


def rank(rows):
    """The rank of a matrix of Fractions, by elimination."""
    rows = [[Fraction(value) for value in row] for row in rows]
    done = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in range(done, len(rows)) if rows[row][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        for row in range(done + 1, len(rows)):
            factor = rows[row][column] / rows[done][column]
            rows[row] = [a - factor * b for a, b in zip(rows[row], rows[done], strict=True)]
        done += 1
    return done


@EXACT
@given(st.lists(st.lists(st.floats(-1e100, 1e100), min_size=3, max_size=3), min_size=1, max_size=5))
def test_floats_are_whole_numbers_times_powers_of_two(rows):
    x = np.array(rows)
    whole, exponent = integers(x)
    for i, j in np.ndindex(*x.shape):
        assert whole[i, j] * Fraction(2) ** exponent == Fraction(x[i, j])
    assert exponent == 0 or any(value % 2 for value in whole.ravel())  # no smaller whole numbers would do


@EXACT
@given(st.data())
def test_null_weights_are_found_just_if_they_are_unique(data):
    n, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    numbers = st.integers(-3, 3) if data.draw(st.booleans()) else st.integers(-(10**30), 10**30)
    M = np.array(data.draw(st.lists(st.lists(numbers, min_size=m, max_size=m), min_size=n, max_size=n)), object)
    a = null_weights(M)
    assert (a is not None) == (rank(M.tolist()) == m - 1)
    if a is not None:
        assert any(a)
        assert not (M @ np.array(a, object)).any()


def test_null_weights_of_large_floats_are_exact(rng):
    whole, _ = integers(rng.standard_normal((41, 40)) * np.exp(rng.uniform(-20, 20, 40)))
    a = null_weights(whole.T)
    assert max(abs(value) for value in a).bit_length() > 1000
    assert not (whole.T @ np.array(a, object)).any()


def test_the_inverse_modulo_the_prime(rng):
    A = rng.integers(0, PRIME, (20, 20))
    A[0, 0] = 0  # a pivot that has to be looked for
    product = A.astype(object) @ invert(A.copy()).astype(object) % PRIME
    np.testing.assert_array_equal(product, np.eye(20, dtype=int))


@EXACT
@given(st.data())
def test_the_simplex_method_gives_a_combination_or_a_separator_that_is_right(data):
    n, d = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 4))
    numbers = st.lists(st.integers(-2, 2), min_size=d, max_size=d)
    points = np.array(data.draw(st.lists(numbers, min_size=n, max_size=n)), object)
    simplex = Simplex(d)
    simplex.add(points[: n // 2])
    weights_before, _ = simplex.solve(lambda: None)
    simplex.add(points[n // 2 :])
    weights, separator = simplex.solve(lambda: None)
    assert bool(weights) != bool(separator)
    assert weights or not weights_before  # more points cannot come apart again
    if weights:
        assert min(weights.values()) > 0
        assert len(weights) <= d + 1
        assert not sum(weight * points[point] for point, weight in weights.items()).any()
    else:
        assert (points @ np.array(separator, object) > 0).all()


@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 1), (6, 2), (30, 5), (60, 20), (10, 20)])
@pytest.mark.parametrize("kind", ["apart", "around the origin", "in doubles"])
def test_the_nearest_point_of_a_hull_is_that_of_non_negative_least_squares(n, d, kind, rng):
    z = rng.standard_normal((n, d)) + (3.0 if kind == "apart" else 0.0)
    if kind == "in doubles":
        z = np.repeat(np.round(z[: -(-n // 2)]), 2, axis=0)[:n]
    V = np.hstack([z, np.ones((n, 1))])
    active = empty_active_set(n, d + 1, 1)
    enter(V, 0, 1, active)
    active.a[0] = 1.0
    nearest_point(V, np.ones(1), active, 1e-12, 10_000)
    a = np.bincount(active.members[: active.size[0]], active.a[: active.size[0]], n)
    wanted, _ = nnls(np.vstack([z.T, np.ones(n)]), np.r_[np.zeros(d), 1.0])
    np.testing.assert_allclose(a.sum(), 1.0, rtol=1e-12)
    assert a.min() >= 0
    np.testing.assert_allclose(a @ z, wanted / wanted.sum() @ z, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_coordinate_descent_comes_to_the_largest_margin(classes, fit_intercept, layout, rng):
    X = rng.standard_normal((40, 60))
    y = rng.integers(0, classes, 40)
    best = max_margin(X, y, fit_intercept=fit_intercept).margin
    X = sp.csr_matrix(X) if layout == "csr" else X
    pairs = HullPoints(check_examples(X, y), fit_intercept, scale_features=False)
    *_, last = descend(pairs, 1e-3, lambda work: None)
    unit = float(pairs.unit[0])
    assert last.reached * unit <= best.at_most * (1 + 1e-12)
    assert last.distance * unit >= best.reached * (1 - 1e-12)
    assert last.distance - last.reached <= 1e-3 * last.distance


@EXACT
@given(st.data())
def test_balanced_weights_cancel_in_the_bias_and_stay_in_proportion(data):
    K, m = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 8))
    pairs = st.tuples(st.integers(0, K - 1), st.integers(1, K - 1), st.floats(0.1, 1.0))
    chosen = [(y, (y + r) % K, a) for y, r, a in data.draw(st.lists(pairs, min_size=m, max_size=m))]
    both = [(y, r, a) for y, r, a in chosen] + [(r, y, a) for y, r, a in chosen]  # cancels, but for rounding
    a = np.array([a for _, _, a in both]) * (1 + 1e-13 * np.arange(len(both)))
    whole = balanced([y for y, _, _ in both], [r for _, r, _ in both], a, fit_intercept=True)
    for k in range(K):
        given = sum(weight for (y, _, _), weight in zip(both, whole, strict=True) if y == k)
        taken = sum(weight for (_, r, _), weight in zip(both, whole, strict=True) if r == k)
        assert given == taken
    np.testing.assert_allclose(np.array(whole, float) / 2**60, a, rtol=1e-10)


def test_weights_that_cannot_be_balanced_are_refused():
    assert balanced([1, 1], [0, 0], np.array([0.5, 0.5]), fit_intercept=True) is None
    assert balanced([1, 1], [0, 0], np.array([0.5, 0.5]), fit_intercept=False) == [2**59, 2**59]


@EXACT
@given(st.data())
def test_a_safe_margin_is_never_above_the_exact_one(data):
    d, K = data.draw(st.integers(1, 3)), data.draw(st.integers(2, 3))
    numbers = st.sampled_from([0.0, 1.0, -1.0, 1 + 2**-52, 0.1, 0.3, -0.2, 1e16, -1e16, 1e-170, 2.0**-600, 3e100])
    X = np.array(data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=K, max_size=6)))
    codes = np.arange(len(X), dtype=np.int32) % K
    coef = np.array(data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=K, max_size=K)))
    bias = np.array(data.draw(st.lists(numbers, min_size=K, max_size=K)))
    weights = ExactWeights(coef[0], float(bias[0])) if K == 2 else ExactWeights(coef, bias)
    rows = [[Fraction(0)] * d, list(map(Fraction, coef[0]))] if K == 2 else [list(map(Fraction, row)) for row in coef]
    b = [Fraction(0), Fraction(bias[0])] if K == 2 else [Fraction(value) for value in bias]
    leads = [
        sum((rows[y][j] - rows[r][j]) * Fraction(x[j]) for j in range(d)) + b[y] - b[r]
        for x, y in zip(X, codes.tolist(), strict=True)
        for r in range(K)
        if r != y
    ]
    total = [sum(row[j] for row in rows) for j in range(d)]
    square = 2 * (sum(v * v for row in rows for v in row) - sum(v * v for v in total) / K)
    assert weights.square == square
    checker = Checker(X, codes)
    reached = checker.safe_margin(weights)
    if square == 0:
        assert reached is None
        return
    assert (reached is not None) == (min(leads) > 0)
    if reached is not None:
        assert Fraction(reached) ** 2 * square <= min(leads) ** 2
        assert checker.leads_at_least(weights, reached)
        exact = root_up(min(leads) ** 2 / square)
        assert not checker.leads_at_least(weights, math.nextafter(exact, math.inf))
        assert reached >= exact * (1 - 1e-6)
    else:
        assert not checker.leads_at_least(weights, 0.0)
        worst = checker.violated(weights, at_most=100)
        assert len(worst) == sum(lead <= 0 for lead in leads)


@EXACT
@given(st.fractions(min_value=0, max_value=10**40))
def test_roots_are_rounded_the_right_way(square):
    assert Fraction(root_down(square)) ** 2 <= square <= Fraction(root_up(square)) ** 2
    assert root_up(square) <= root_down(square) * (1 + 1e-15)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_combinations_are_summed_exactly(layout, rng):
    X = np.round(rng.standard_normal((5, 3)), 1)
    matrix = sp.csr_matrix(X) if layout == "csr" else X
    rows, y, r, weights = [0, 3, 3], [0, 1, 1], [1, 0, 2], [3, 10**30, 7]
    total = exact_sum(matrix, rows, y, r, weights, 3)
    for k in range(3):
        for place, j in enumerate(np.flatnonzero(X[rows].any(axis=0))):
            wanted = sum(
                weight * Fraction(X[i, j]) * ((own == k) - (rival == k))
                for i, own, rival, weight in zip(rows, y, r, weights, strict=True)
            )
            assert total.values[k, place] * Fraction(2) ** total.exponent == wanted
    assert total.bias.tolist() == [3 - 10**30, 10**30 - 3 + 7, -7]
    assert not total.is_zero(fit_intercept=True)
    assert exact_sum(matrix, [1, 1], [0, 1], [1, 0], [2, 2], 3).is_zero(fit_intercept=True)


@pytest.mark.parametrize("classes", [2, 3])
def test_equations_and_weights_from_them_have_the_same_products(classes, rng):
    X = np.round(rng.standard_normal((6, 3)), 2)
    X[:, 1] = 0.0
    examples = check_examples(X, np.arange(6) % classes)
    pairs = PairList(np.arange(6), (np.arange(6, dtype=np.int32) + 1) % classes)
    system = cancellation_equations(examples, True, pairs)
    v = rng.integers(-5, 6, system.points.shape[1]).tolist()
    theta, b = system.weights(v)
    own = np.arange(6) % classes
    for i, product in enumerate(system.points @ np.array(v, object)):
        x = [Fraction(value) for value in X[i]]
        s = [sum(t * u for t, u in zip(row, x, strict=True)) + c for row, c in zip(theta, b, strict=True)]
        product *= Fraction(2) ** system.exponent
        assert product == (s[0] * (1 if own[i] else -1) if classes == 2 else s[own[i]] - s[pairs.rivals[i]])
    floats, bias = rounded(theta, b, 53)
    top = max(abs(value) for value in (*theta.ravel(), *b))
    np.testing.assert_allclose(floats, (theta / top).astype(float), rtol=1e-15)
    assert bias.dtype == float
    assert rounded(theta, b, 128)[0].dtype == object
