"""Exact arithmetic: checks of what certificates claim, and the weights and the simplex method that prove it.

Every float is a whole number times a power of two, so all of this is done in Python's integers and fractions.

Checks. The lead of an example over a rival class is its score for the true class minus its score for the rival.
Floating point decides a claim only where it can: a computed lead lies within a known error of the true one. Whatever is
closer to the limit than that error is computed again in fractions.

Proofs. `cancellation_equations` writes the statement "these pairs cancel" in whole numbers. `null_weights` lifts its
solution modulo a prime to the rational one (Dixon 1982), which is fast up to some hundred equations. `Simplex` decides
everything, slowly; it is for cases that floating point cannot decide.
"""

import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.passes.modular import PRIME, eliminate, invert
from perceptrons.theory.examples import Examples
from perceptrons.theory.geometry import norms, products, square_scale
from perceptrons.theory.largest_margin import PairList, class_parts, pair_points

MAX_LEADS = 1 << 22  # held at a time
ROUNDING = 2.0**-53
SMALLEST_PRODUCT = 5e-324  # what a product may lose by underflow
SMALLEST_SQUARABLE = 1e-150  # squares of smaller numbers may be lost beside others
SAFETY_FACTOR = 1 - 1e-12  # claims are reduced by this factor, so that floats suffice to check them again
LIMB_BITS = 26  # a remainder times a limb, summed over MAX_COLUMNS columns, fits in 64 bits
MAX_COLUMNS = 2047
WEIGHT_BITS = 60  # of the whole numbers that stand for rounded weights


def integers(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Return whole numbers (Python's, in an object array) and the largest exponent with x = mantissas * 2^exponent."""
    fractions, exponents = np.frexp(x.astype(np.float64))
    mantissas = (fractions * 2.0**53).astype(np.int64)
    lowest_bit = np.where(mantissas == 0, 1, mantissas & -mantissas)
    zeros = np.log2(lowest_bit.astype(np.float64)).astype(np.int64)  # at the end of the whole number
    exponents = exponents.astype(np.int64) - 53 + zeros
    exponent = int(exponents[mantissas != 0].min()) if mantissas.any() else 0
    shift = np.where(mantissas == 0, 0, exponents - exponent)
    return np.left_shift((mantissas >> zeros).astype(object), shift.astype(object)), exponent


# ---- checks of claims


class ExactWeights:
    """Weights of a linear classifier (floats or Fractions) for exact claims: one row, or for more classes one each.

    Here two classes have a row each, too: that of the first is 0. All leads and lengths are the same as with one row.
    """

    def __init__(self, coef: np.ndarray, intercept: Any) -> None:
        coef, intercept = np.atleast_2d(_float64_or_exact(coef)), np.atleast_1d(_float64_or_exact(intercept))
        if len(coef) == 1:
            coef, intercept = np.vstack([0 * coef, coef]), np.append(0 * intercept, intercept)
        self.coef, self.intercept = coef, intercept
        largest = Fraction(np.abs(np.append(coef, intercept)).max())
        # leads do not depend on the scale of the weights; at this one squares neither overflow nor underflow
        exponent = largest.numerator.bit_length() - largest.denominator.bit_length() + 1
        self.factor = Fraction(2) ** -exponent if largest else Fraction(1)
        self.theta, self.b = self._scaled_floats(coef), self._scaled_floats(intercept)
        centred = self.theta - self.theta.mean(axis=0)
        slack = 4 * (centred.size + 8) * ROUNDING
        self.sizes = np.sqrt((self.theta**2).sum(axis=1)) * (1 + slack)
        # an upper bound of the length by which a lead is divided to be a distance
        self.length = math.sqrt((centred**2).sum()) * (1 + slack) + 8 * ROUNDING * math.sqrt((self.sizes**2).sum())
        self.length *= math.sqrt(2) * (1 + slack)

    def _scaled_floats(self, numbers: np.ndarray) -> np.ndarray:
        if numbers.dtype != object:
            return np.ldexp(numbers, self.factor.numerator.bit_length() - self.factor.denominator.bit_length())
        return np.array([float(value * self.factor) for value in numbers.ravel()]).reshape(numbers.shape)

    @cached_property
    def square(self) -> Fraction:
        """The exact square of the length: 2 |theta - mean|^2, which is |w|^2 for two classes."""
        coef = self.coef[:, (self.coef != 0).any(axis=0)]  # of very many columns most may have no weight
        numbers, exponent = (coef, 0) if coef.dtype == object else integers(coef)
        difference = Fraction((numbers**2).sum()) - Fraction((numbers.sum(axis=0) ** 2).sum()) / len(numbers)
        return 2 * difference * Fraction(4) ** exponent

    def lead(self, X: Any, i: int, y: int, rival: int) -> Fraction:
        """Return the exact lead of class y over a rival at row i of X."""
        stored = slice(X.indptr[i], X.indptr[i + 1]) if sp.issparse(X) else None
        columns, x = (np.arange(X.shape[1]), X[i]) if stored is None else (X.indices[stored], X.data[stored])
        columns, x = columns[x != 0], x[x != 0]
        triples = zip(x.tolist(), self.coef[y, columns].tolist(), self.coef[rival, columns].tolist(), strict=True)
        terms = (Fraction(value) * (Fraction(u) - Fraction(v)) for value, u, v in triples)
        return sum(terms, Fraction(self.intercept[y]) - Fraction(self.intercept[rival]))


class Checker:
    """A data set that weights are checked on."""

    def __init__(self, X: Any, codes: np.ndarray) -> None:
        self.X, self.codes = X, codes

    @cached_property
    def norms(self) -> np.ndarray:
        """Upper bounds of |x|, also where squares underflow."""
        underflow = SMALLEST_SQUARABLE * square_scale(self.X) * math.sqrt(self.X.shape[1])
        return norms(self.X) * (1 + 1e-10) + underflow

    def leads_at_least(self, weights: ExactWeights, margin: Fraction) -> bool:
        """Return whether every lead is positive and, as a distance, at least the margin."""
        if margin > sys.float_info.max:  # farther than any example can be
            return False
        limit = float(margin) * weights.length * (1 + 5 * ROUNDING)
        return all(
            lead > 0 and lead * lead >= margin**2 * weights.square for *_, lead in self._exact_leads(weights, limit)
        )

    def safe_margin(self, weights: ExactWeights) -> float | None:
        """Return a float just below the smallest distance of an example; None if some lead is not positive."""
        if not weights.length:
            return None
        ends = [((lead - error).min(), (lead + error).min()) for _, lead, error in self._float_leads(weights)]
        lowest, limit = (float(min(column)) for column in zip(*ends, strict=True))
        if lowest > 0:
            return lowest / weights.length * SAFETY_FACTOR
        if not limit >= 0:
            return None
        exact = min(lead for *_, lead in self._exact_leads(weights, limit))
        return root_down(exact * exact / weights.square) * SAFETY_FACTOR if exact > 0 else None

    def violated(self, weights: ExactWeights, at_most: int) -> list[tuple[int, int]]:
        """Return at most this many pairs (row, rival) without a positive lead: the worst, as far as floats can tell."""
        violated = [(rough, i, rival) for rough, i, rival, lead in self._exact_leads(weights, 0.0) if lead <= 0]
        return [(i, rival) for _, i, rival in sorted(violated)[:at_most]]

    def _exact_leads(self, weights: ExactWeights, limit: float) -> Iterator[tuple[float, int, int, Fraction]]:
        """Yield the lead in floats, example, rival and exact lead wherever the lead may be at most the limit."""
        for first, rough, error in self._float_leads(weights):
            for place, rival in np.argwhere(rough - error <= limit).tolist():
                i = first + place
                yield float(rough[place, rival]), i, rival, weights.lead(self.X, i, self.codes[i], rival)

    def _float_leads(self, weights: ExactWeights) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield blocks of examples: the first one, their leads (examples, classes), and the largest errors of these.

        The lead of the true class over itself is infinite.
        """
        d, K = self.X.shape[1], len(weights.theta)
        step = max(1, MAX_LEADS // K)
        for first in range(0, len(self.codes), step):
            y = self.codes[first : first + step]
            s = np.zeros((len(y), K)) + weights.b
            used = slice(1 if K == 2 else 0, K)  # of two classes the scores of the first are 0
            s[:, used] += products(self.X[first : first + step], weights.theta[used])
            size = self.norms[first : first + step, None]
            relative = ROUNDING * (size * (weights.sizes + SMALLEST_SQUARABLE) + abs(weights.b)) * 1.01
            error = (d + 8) * (relative + SMALLEST_PRODUCT)
            every = np.arange(len(y))
            lead, error = s[every, y][:, None] - s, error[every, y][:, None] + error
            lead[every, y], error[every, y] = np.inf, 0.0
            yield first, lead, error


class ExactSum(NamedTuple):
    """The exact sum of a (f(x, y) - f(x, r)) over pairs: whole numbers times 2^exponent, and the bias part."""

    values: np.ndarray  # (classes, columns), without columns in which all examples are 0
    exponent: int
    bias: np.ndarray  # (classes,) of whole numbers

    def is_zero(self, fit_intercept: bool) -> bool:
        return not self.values.any() and not (fit_intercept and self.bias.any())

    def squared_bound(self, total_weight: int) -> Fraction:
        """Return the square of the distance that no separator's margin exceeds, for weights of this sum."""
        return int((self.values**2).sum()) * Fraction(4) ** self.exponent / (2 * total_weight * total_weight)


def exact_sum(X: Any, rows: list[int], y: list[int], r: list[int], weights: list[int], n_classes: int) -> ExactSum:
    """Return the exact sum of pairs (row, class y, rival r) with whole-number weights."""
    x = sp.csr_matrix(X[rows])
    values, exponent = integers(x.data)
    columns, column = np.unique(x.indices, return_inverse=True)
    place = np.repeat(np.arange(len(rows)), np.diff(x.indptr))  # of the pair of each value
    a = np.array(weights, object)
    total, bias = np.zeros(n_classes * len(columns), object), np.zeros(n_classes, object)
    for classes, signed in ((np.array(y), a), (np.array(r), -a)):
        np.add.at(bias, classes, signed)
        np.add.at(total, classes[place] * len(columns) + column, signed[place] * values)  # fast in one dimension only
    return ExactSum(total.reshape(n_classes, -1), exponent, bias)


def root_up(square: Fraction) -> float:
    """Return a float whose square is not below, close to the least one."""
    root = root_down(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def root_down(square: Fraction) -> float:
    """Return a float whose square is not above, close to the largest one."""
    shift = 2 * max(0, 120 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2)
    root = float(Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2)))
    while Fraction(root) ** 2 > square:
        root = math.nextafter(root, 0.0)
    return root


def _float64_or_exact(numbers: Any) -> np.ndarray:
    numbers = np.asarray(numbers)
    return numbers if numbers.dtype == object else numbers.astype(np.float64)


# ---- proofs: weights that make pairs cancel, or weights that separate them


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
    x, exponent = integers(x)
    points = pair_points(x, class_parts(codes[pairs.rows], pairs.rivals, K))
    return CancellationEquations(points, exponent, columns, (1 if K == 2 else K, width))


def rounded(theta: np.ndarray, b: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return exact weights rounded to this many bits, relative to the largest; with 53 bits, floats."""
    top = max(abs(value) for value in (*theta.ravel(), *b))
    if bits == 53:
        return (theta / top).astype(np.float64), (b / top).astype(np.float64)
    round_to_bits = np.vectorize(lambda value: Fraction(round(value / top * (1 << bits)), 1 << bits), otypes=[object])
    return round_to_bits(theta), round_to_bits(b)


def balanced(classes: list[int], rivals: list[int], a: np.ndarray, fit_intercept: bool) -> list[int] | None:
    """Return whole numbers in the proportion of a, up to rounding, whose bias part is exactly 0.

    None if that needs negative numbers. The excess of each class is passed along a forest of the heaviest pairs, from
    the leaves to the roots.
    """
    weights = [round(float(weight) * (1 << WEIGHT_BITS)) for weight in a]
    if not fit_intercept:
        return weights
    excess: dict[int, int] = {}
    for y, r, weight in zip(classes, rivals, weights, strict=True):
        excess[y] = excess.get(y, 0) + weight
        excess[r] = excess.get(r, 0) - weight
    tree_of = {k: k for k in excess}
    forest = []
    for place in sorted(range(len(weights)), key=lambda place: -weights[place]):
        y, r = tree_of[classes[place]], tree_of[rivals[place]]
        if y != r:
            forest.append(place)
            tree_of = {k: y if tree == r else tree for k, tree in tree_of.items()}
    while forest:
        ends = [k for place in forest for k in (classes[place], rivals[place])]
        leaf = next(k for k in ends if ends.count(k) == 1)
        place = next(place for place in forest if leaf in (classes[place], rivals[place]))
        change = -excess[leaf] if classes[place] == leaf else excess[leaf]
        weights[place] += change
        excess[classes[place]] += change
        excess[rivals[place]] -= change
        forest.remove(place)
    return weights if min(weights) >= 0 else None
