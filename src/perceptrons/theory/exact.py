"""Exact arithmetic: floats as whole numbers, weights that make points cancel, and a simplex method without rounding.

Every float is a whole number times a power of two, so all of this is done in Python integers. `null_weights` lifts a
solution modulo a prime to the rational one (Dixon 1982), which is fast up to some hundred equations. `Simplex` decides
everything, slowly; it is for cases that floating point cannot decide. `cancellation_equations` writes the statement
"these pairs cancel" in whole numbers.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.passes.modular import PRIME, eliminate, invert
from perceptrons.theory.examples import Examples
from perceptrons.theory.largest_margin import PairList, class_parts, pair_points

LIMB_BITS = 26  # a remainder times a limb, summed over MAX_COLUMNS columns, fits in 64 bits
MAX_COLUMNS = 2047
WEIGHT_BITS = 60  # of the whole numbers that stand for rounded weights


def integers(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Return whole numbers (Python's, in an object array) and the largest exponent with x = whole * 2^exponent."""
    mantissa, exponents = np.frexp(x.astype(np.float64))
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest_bit = np.where(whole == 0, 1, whole & -whole)
    zeros = np.log2(lowest_bit.astype(np.float64)).astype(np.int64)  # at the end of the whole number
    exponents = exponents.astype(np.int64) - 53 + zeros
    exponent = int(exponents[whole != 0].min()) if whole.any() else 0
    shift = np.where(whole == 0, 0, exponents - exponent)
    return np.left_shift((whole >> zeros).astype(object), shift.astype(object)), exponent


def null_weights(M: np.ndarray) -> list[int] | None:
    """Return whole numbers a, not all 0, with M a = 0; None unless they are unique up to a factor. M holds integers."""
    n_columns = M.shape[1]
    if n_columns > MAX_COLUMNS:
        return None
    pivots = eliminate((M % PRIME).astype(np.int64))
    free = np.flatnonzero(pivots < 0)
    if len(free) != 1:  # none: only zero. Several: not unique
        return None
    bound = np.flatnonzero(pivots >= 0)
    rows = pivots[bound]
    solution = _solve(M[np.ix_(rows, bound)], -M[rows, free[0]])
    if solution is None:
        return None
    a = np.empty(n_columns, object)
    a[bound], a[free[0]] = solution
    return None if (M @ a).any() else a.tolist()


def _solve(A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, int] | None:
    """Return whole numbers x and t with A x = t b, by lifting digits of base PRIME. A is regular modulo PRIME."""
    n = len(A)
    if n == 0:
        return np.empty(0, object), 1
    inverse = invert((A % PRIME).astype(np.int64))
    limbs = _limbs(A)
    residue = b.copy()
    digits: list[np.ndarray] = []
    squares = [sum(int(value) ** 2 for value in row) for row in (*A.T, b)]
    max_bits = 2 * sum(square.bit_length() / 2 + 1 for square in squares) + 2  # Hadamard's bound, for x and for t
    next_attempt = 4  # digits
    while True:
        digit = inverse @ (residue % PRIME).astype(np.int64) % PRIME
        digits.append(digit)
        product = np.zeros(n, object)
        for place, limb in enumerate(limbs):
            product += (limb @ digit).astype(object) << (LIMB_BITS * place)
        residue = (residue - product) // PRIME
        if len(digits) == next_attempt or not residue.any():
            solution = _rational(_joined_digits(digits), PRIME ** len(digits))
            if solution is not None and not (A @ solution[0] - solution[1] * b).any():
                return solution
            if next_attempt * math.log2(PRIME) > 2 * max_bits:
                return None
            next_attempt = max(next_attempt, len(digits)) * 2


def _limbs(A: np.ndarray) -> list[np.ndarray]:
    """Return int64 matrices with A = sum of limb_k 2^(26 k)."""
    sign = np.where(A < 0, -1, 1).astype(np.int64)
    remainder: Any = np.where(A < 0, -A, A)
    limbs = []
    while remainder.any():
        limbs.append(sign * (remainder & ((1 << LIMB_BITS) - 1)).astype(np.int64))
        remainder = remainder >> LIMB_BITS
    return limbs


def _joined_digits(digits: list[np.ndarray]) -> np.ndarray:
    """Return the numbers with these digits of base PRIME, by joining halves."""
    numbers, base = [digit.astype(object) for digit in digits], PRIME
    while len(numbers) > 1:
        if len(numbers) % 2:
            numbers.append(np.zeros(len(numbers[0]), object))
        numbers = [low + base * high for low, high in zip(numbers[::2], numbers[1::2], strict=True)]
        base = base * base
    return numbers[0]


def _rational(x: np.ndarray, modulus: int) -> tuple[np.ndarray, int] | None:
    """Return small whole numbers v and t with v = t x modulo the modulus; None if there are none below its root."""
    limit = math.isqrt(modulus // 2)
    t = 1
    for value in x.tolist():
        residue = value * t % modulus
        if min(residue, modulus - residue) <= limit // t:
            continue
        r0, r1, s0, s1 = modulus, residue, 0, 1  # Euclid's algorithm, ended halfway
        while r1 > limit // t:
            quotient = r0 // r1
            r0, r1 = r1, r0 - quotient * r1
            s0, s1 = s1, s0 - quotient * s1
        t *= abs(s1)
        if t > limit:
            return None
    v = x * t % modulus
    return np.where(v > modulus // 2, v - modulus, v), t


class Simplex:
    """Decides whether points (rows of whole numbers) cancel under weights a >= 0 that are not all 0.

    Phase one of the simplex method on sum of a_i (z_i, 1) = (0, 1) in fraction-free arithmetic (Edmonds 1967): the
    inverse of the basis is N / det, all whole numbers. Ties are broken lexicographically, so that no basis comes twice.
    Points may be added after an answer; the next search starts from the last basis.
    """

    def __init__(self, dimension: int) -> None:
        size = dimension + 1
        self.columns = np.empty((0, size), object)
        self._float_columns = np.empty((0, size))
        self._N = np.zeros((size, size), object)
        self._N[np.diag_indices(size)] = 1
        self._det = 1
        self._basis = np.full(size, -1)  # points, or -1 for an artificial one

    def add(self, points: np.ndarray) -> None:
        if not len(points):
            return
        columns = np.hstack([points, np.ones((len(points), 1), object)])
        self.columns = np.vstack([self.columns, columns])
        self._float_columns = np.vstack([self._float_columns, _as_floats(columns)])

    def solve(self, tick: Callable[[], None]) -> tuple[dict[int, int], list[int]]:
        """Return positive weights of points that cancel, or else a vector on the same side of all points.

        One of the two is empty. tick is called once per step.
        """
        while True:
            tick()
            N = self._N
            price = N[self._basis < 0].sum(axis=0)
            if price[-1] == 0:  # no artificial point has weight
                carrying = [(int(point), N[row, -1]) for row, point in enumerate(self._basis) if point >= 0]
                return {point: weight for point, weight in carrying if weight}, []
            entering = self._entering(price)
            if entering is None:
                return {}, (-price[:-1]).tolist()
            u = N @ self.columns[entering]
            leaving = _leaving(N, u)
            pivot = N[leaving].copy()
            self._N = (N * u[leaving] - np.multiply.outer(u, pivot)) // self._det
            self._N[leaving] = pivot
            self._det = u[leaving]
            self._basis[leaving] = entering

    def _entering(self, price: np.ndarray) -> int | None:
        """Return a point with a positive price, the best one as far as floats can tell; None if there is none."""
        if not len(self.columns):
            return None
        best = int(np.argmax(self._float_columns @ _as_floats(price[None])[0]))
        if self.columns[best] @ price > 0:
            return best
        positive = self.columns @ price > 0
        return int(np.argmax(positive)) if positive.any() else None


def _leaving(N: np.ndarray, u: np.ndarray) -> int:
    """Return the row whose weight reaches 0 first; ties are broken by the columns of N one after the other."""
    rows = [row for row in range(len(u)) if u[row] > 0]
    for column in (-1, *range(len(u) - 1)):
        ratios = [Fraction(N[row, column], u[row]) for row in rows]
        least = min(ratios)
        rows = [row for row, ratio in zip(rows, ratios, strict=True) if ratio == least]
        if len(rows) == 1:
            break
    return rows[0]


def _as_floats(numbers: np.ndarray) -> np.ndarray:
    """Return rows of whole numbers as floats, each row divided by its largest."""
    rows = numbers.tolist()
    largest = [max(1, *(abs(value) for value in row)) for row in rows]
    return np.array([[float(Fraction(v, top)) for v in row] for row, top in zip(rows, largest, strict=True)])


class CancellationEquations(NamedTuple):
    """Pairs cancel under weights a if a @ points is 0."""

    points: np.ndarray  # (pairs, rows of weights * columns) of whole numbers, each f(x, y) - f(x, r) over 2^exponent
    exponent: int
    columns: np.ndarray  # of the features, the bias last: columns of X without a value are left out
    shape: tuple[int, int]  # of the weights with the bias: one row for two classes, else one row per class

    def weights(self, v: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return theta and b for the data, as Fractions, from a vector in the space of the points."""
        theta = np.full(self.shape, Fraction(0), object)
        theta[:, self.columns] = np.array([Fraction(value) for value in v], object).reshape(self.shape[0], -1)
        return theta[:, :-1], theta[:, -1]


def used_columns(X: Any) -> np.ndarray:
    """Return the columns of X (dense or CSR) that are not all 0."""
    if not sp.issparse(X):
        return np.flatnonzero(X.any(axis=0))
    return np.unique(X.indices[X.data != 0])


def cancellation_equations(
    examples: Examples, fit_intercept: bool, pairs: PairList, columns: np.ndarray | None = None
) -> CancellationEquations:
    """Write "these pairs cancel" in whole numbers.

    columns: those of X that are used by any pair that will be compared; by default, those that these pairs use.
    """
    X, codes, classes = examples
    width, K = X.shape[1] + 1, len(classes)
    x = X[pairs.rows]
    columns = used_columns(x) if columns is None else columns
    x = x[:, columns].toarray() if sp.issparse(x) else x[:, columns]
    if fit_intercept:
        x, columns = np.hstack([x, np.ones((len(x), 1), x.dtype)]), np.append(columns, width - 1)
    whole, exponent = integers(x)
    points = pair_points(whole, class_parts(codes[pairs.rows], pairs.rivals, K))
    return CancellationEquations(points, exponent, columns, (1 if K == 2 else K, width))


def rounded(theta: np.ndarray, b: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return exact weights rounded to this many bits, relative to the largest; with 53 bits, floats."""
    top = max(abs(value) for value in (*theta.ravel(), *b))
    if bits == 53:
        return (theta / top).astype(np.float64), (b / top).astype(np.float64)
    round_to_bits = np.vectorize(lambda value: Fraction(round(value / top * (1 << bits)), 1 << bits), otypes=[object])
    return round_to_bits(theta), round_to_bits(b)


def balanced(own: list[int], rivals: list[int], a: np.ndarray, fit_intercept: bool) -> list[int] | None:
    """Return whole numbers in the proportion of a, up to rounding, whose bias part is exactly 0.

    None if that needs negative numbers. The excess of each class is passed along a forest of the heaviest pairs, from
    the leaves to the roots.
    """
    whole = [round(float(weight) * (1 << WEIGHT_BITS)) for weight in a]
    if not fit_intercept:
        return whole
    excess: dict[int, int] = {}
    for y, r, weight in zip(own, rivals, whole, strict=True):
        excess[y] = excess.get(y, 0) + weight
        excess[r] = excess.get(r, 0) - weight
    tree_of = {k: k for k in excess}
    forest = []
    for place in sorted(range(len(whole)), key=lambda place: -whole[place]):
        y, r = tree_of[own[place]], tree_of[rivals[place]]
        if y != r:
            forest.append(place)
            tree_of = {k: y if tree == r else tree for k, tree in tree_of.items()}
    while forest:
        ends = [k for place in forest for k in (own[place], rivals[place])]
        leaf = next(k for k in ends if ends.count(k) == 1)
        place = next(place for place in forest if leaf in (own[place], rivals[place]))
        change = -excess[leaf] if own[place] == leaf else excess[leaf]
        whole[place] += change
        excess[own[place]] += change
        excess[rivals[place]] -= change
        forest.remove(place)
    return whole if min(whole) >= 0 else None
