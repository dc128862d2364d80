"""Exact arithmetic: floats as whole numbers, the weights that make points cancel, and a simplex method that never errs.

Every float is a whole number times a power of two, so all of this is done in Python integers. `null_weights` lifts a
solution modulo a prime to the rational one (Dixon 1982): as fast as floats would be up to some hundred equations.
`Simplex` decides anything, slowly; it is asked where floating point cannot tell. `equations` writes the statement
"these pairs cancel" in whole numbers.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.passes.modular import PRIME, eliminate, invert
from perceptrons.theory.examples import Examples
from perceptrons.theory.hulls import Demands

FAR = np.iinfo(np.int64).max  # an exponent that no number has
BLOCK = 1 << 20  # numbers looked at at a time
LIMB = 26  # bits; a remainder times a limb, summed over 2,047 columns, fits in 64 bits
MOST = 2047
WHOLE = 60  # bits of the whole numbers that stand for rounded weights


def integers(x: np.ndarray, exponents: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers (objects: Python's integers) and for every column an exponent k, with x = whole * 2^k.

    exponents: for every column one that is small enough for these numbers; unless given, the largest such ones."""
    whole, exponent = _parts(x)
    least = _least(whole, exponent) if exponents is None else exponents
    shift = np.where(whole == 0, 0, exponent - least)
    return np.left_shift(whole.astype(object), shift.astype(object)), least


def exponents_of(X: Any) -> np.ndarray:
    """For every column of a matrix, dense or CSR, the exponent that makes whole numbers of it; 0 for a column of 0."""
    if sp.issparse(X):
        X = X.tocsc()
        parts = [_parts(X.data[start:end, None]) for start, end in itertools.pairwise(X.indptr)]
        return np.array([_least(*part)[0] for part in parts], np.int64)
    step = max(1, BLOCK // max(1, X.shape[1]))
    least = np.full(X.shape[1], FAR)
    for first in range(0, X.shape[0], step):
        whole, exponent = _parts(X[first : first + step])
        least = np.minimum(least, np.where(whole == 0, FAR, exponent).min(axis=0))
    return np.where(least == FAR, 0, least)


def _parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Odd whole numbers (or 0) and exponents, with x = whole * 2^exponent."""
    mantissa, exponent = np.frexp(x.astype(np.float64))
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest_bit = np.where(whole == 0, 1, whole & -whole)
    zeros = np.log2(lowest_bit.astype(np.float64)).astype(np.int64)
    return whole >> zeros, exponent.astype(np.int64) - 53 + zeros


def _least(whole: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    least = np.where(whole == 0, FAR, exponent).min(axis=0, initial=FAR)
    return np.where(least == FAR, 0, least)


def null_weights(M: np.ndarray) -> list[int] | None:
    """Whole numbers a, not all 0, with M a = 0, if they are unique but for a factor; else None.  M holds integers."""
    n_columns = M.shape[1]
    if n_columns > MOST:
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
    """x and t, whole numbers with A x = t b, for A that is regular modulo PRIME; by lifting digits of base PRIME."""
    n = len(A)
    if n == 0:
        return np.empty(0, object), 1
    C = invert((A % PRIME).astype(np.int64))
    limbs = _limbs(A)
    residue = b.copy()
    digits: list[np.ndarray] = []
    sizes = [sum(int(value) ** 2 for value in row) for row in (*A.T, b)]
    enough = 2 * sum(size.bit_length() / 2 + 1 for size in sizes) + 2  # bits: Hadamard, for x and for t
    due = 4
    while True:
        digit = C @ (residue % PRIME).astype(np.int64) % PRIME
        digits.append(digit)
        product = np.zeros(n, object)
        for place, limb in enumerate(limbs):
            product += (limb @ digit).astype(object) << (LIMB * place)
        residue = (residue - product) // PRIME
        if len(digits) == due or not residue.any():
            found = _rational(_lifted(digits), PRIME ** len(digits))
            if found is not None and not (A @ found[0] - found[1] * b).any():
                return found
            if due * math.log2(PRIME) > 2 * enough:
                return None
            due = max(due, len(digits)) * 2


def _limbs(A: np.ndarray) -> list[np.ndarray]:
    """int64 matrices with A = sum of limb_k 2^(26 k)."""
    sign = np.where(A < 0, -1, 1).astype(np.int64)
    rest: Any = np.where(A < 0, -A, A)
    limbs = []
    while rest.any():
        limbs.append(sign * (rest & ((1 << LIMB) - 1)).astype(np.int64))
        rest = rest >> LIMB
    return limbs


def _lifted(digits: list[np.ndarray]) -> np.ndarray:
    """The numbers with these digits of base PRIME, halves joined to halves."""
    numbers, base = [digit.astype(object) for digit in digits], PRIME
    while len(numbers) > 1:
        if len(numbers) % 2:
            numbers.append(np.zeros(len(numbers[0]), object))
        numbers = [low + base * high for low, high in zip(numbers[::2], numbers[1::2], strict=True)]
        base = base * base
    return numbers[0]


def _rational(x: np.ndarray, modulus: int) -> tuple[np.ndarray, int] | None:
    """Small whole numbers top and t with top = t x modulo the modulus; None if there are none below its root."""
    limit = math.isqrt(modulus // 2)
    t = 1
    for value in x.tolist():
        rest = value * t % modulus
        if min(rest, modulus - rest) <= limit // t:
            continue
        old, new, before, after = modulus, rest, 0, 1
        while new > limit // t:
            quotient = old // new
            old, new = new, old - quotient * new
            before, after = after, before - quotient * after
        t *= abs(after)
        if t > limit:
            return None
    top = x * t % modulus
    return np.where(top > modulus // 2, top - modulus, top), t


class Verdict(NamedTuple):
    """What the simplex method found: weights of the points that cancel, or else a vector on the same side of all."""

    weights: dict[int, int]  # point: positive whole number; empty if none cancel
    separator: list[int]  # empty if some do


class Simplex:
    """Do some points (rows of whole numbers), with weights a >= 0 that are not all 0, cancel?

    Phase one of the simplex method on  sum of a_i (z_i, 1) = (0, 1)  in fraction-free arithmetic (Edmonds 1967): the
    inverse of the basis is N / det, all whole numbers. Ties are broken lexicographically, so that no basis comes twice.
    Points may be added after an answer; the next one starts from where that came to.
    """

    def __init__(self, dimension: int) -> None:
        size = dimension + 1
        self.columns = np.empty((0, size), object)
        self._rough = np.empty((0, size))
        self._N = np.zeros((size, size), object)
        self._N[np.diag_indices(size)] = 1
        self._det = 1
        self._basis = np.full(size, -1)  # which point, or -1 for an artificial one

    def add(self, points: np.ndarray) -> None:
        if not len(points):
            return
        columns = np.hstack([points, np.ones((len(points), 1), object)])
        self.columns = np.vstack([self.columns, columns])
        self._rough = np.vstack([self._rough, as_floats(columns)])

    def solve(self, tick: Callable[[], None]) -> Verdict:
        """The answer for all points added. tick: called once a step."""
        while True:
            tick()
            N, artificial = self._N, self._basis < 0
            price = N[artificial].sum(axis=0) if artificial.any() else np.zeros(len(N), object)
            if price[-1] == 0:  # artificial points carry nothing
                carrying = [(int(point), N[row, -1]) for row, point in enumerate(self._basis) if point >= 0]
                return Verdict({point: weight for point, weight in carrying if weight}, [])
            coming = _coming(self.columns, self._rough, price)
            if coming is None:
                return Verdict({}, (-price[:-1]).tolist())
            u = N @ self.columns[coming]
            leaving = _leaving(N, u)
            pivot = N[leaving].copy()
            self._N = (N * u[leaving] - np.multiply.outer(u, pivot)) // self._det
            self._N[leaving] = pivot
            self._det = u[leaving]
            self._basis[leaving] = coming


def _coming(columns: np.ndarray, rough: np.ndarray, price: np.ndarray) -> int | None:
    """A point whose price is positive: the best one as far as floats can tell, or else any; None if there is none."""
    if not len(columns):
        return None
    best = int(np.argmax(rough @ as_floats(price[None])[0]))
    if columns[best] @ price > 0:
        return best
    gain = columns @ price > 0
    return int(np.argmax(gain)) if gain.any() else None


def _leaving(N: np.ndarray, u: np.ndarray) -> int:
    """The row whose weight comes to 0 first; ties are broken by the columns of N one after the other."""
    rows = [row for row in range(len(u)) if u[row] > 0]
    for column in (-1, *range(len(u) - 1)):
        ratios = [Fraction(N[row, column], u[row]) for row in rows]
        least = min(ratios)
        rows = [row for row, ratio in zip(rows, ratios, strict=True) if ratio == least]
        if len(rows) == 1:
            break
    return rows[0]


def as_floats(numbers: np.ndarray) -> np.ndarray:
    """Rows of whole numbers as floats, each row divided by its largest."""
    tops = [max(1, *(abs(value) for value in row)) for row in numbers.tolist()]
    return np.array(
        [[float(Fraction(value, top)) for value in row] for row, top in zip(numbers.tolist(), tops, strict=True)]
    )


class Equations(NamedTuple):
    """Pairs cancel under weights a if a @ points is 0."""

    points: np.ndarray  # (pairs, columns) of whole numbers; columns that are all 0 are left out
    places: np.ndarray  # the weight that each column is for: class * (features + 1) + feature, the bias as last feature
    exponents: np.ndarray  # of the powers of two that columns were divided by
    shape: tuple[int, int]  # of the weights with the bias

    def weights(self, v: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """theta and b for raw data, as Fractions, from a vector that has products with the points."""
        flat = np.full(self.shape[0] * self.shape[1], Fraction(0), object)
        for value, place, exponent in zip(v, self.places.tolist(), self.exponents.tolist(), strict=True):
            flat[place] = Fraction(value) / Fraction(2) ** exponent
        matrix = flat.reshape(self.shape)
        return matrix[:, :-1], matrix[:, -1]


class Frame(NamedTuple):
    """The columns of X that are not all 0, and the powers of two that all of them are divided by."""

    used: np.ndarray
    exponents: np.ndarray


def frame_of(X: Any) -> Frame:
    """For equations that others will be added to, from any rows of X."""
    used = used_columns(X)
    return Frame(used, exponents_of(X)[used])


def used_columns(X: Any) -> np.ndarray:
    """The columns of X that are not all 0."""
    if not sp.issparse(X):
        return np.flatnonzero(X.any(axis=0))
    return np.unique(X.indices[X.data != 0])


def equations(examples: Examples, fit_intercept: bool, demands: Demands, frame: Frame | None = None) -> Equations:
    """What it takes that these pairs cancel; a row of weights for two classes, else one row per class.

    frame: of all that will be compared; unless given, columns are left out and divided as suits these pairs.
    """
    X, codes, classes = examples
    width, K = X.shape[1] + 1, len(classes)
    x = X[demands.rows]
    used, given = frame if frame is not None else (used_columns(x), None)
    x = x[:, used].toarray() if sp.issparse(x) else x[:, used]
    if fit_intercept:
        x = np.hstack([x, np.ones((len(x), 1), x.dtype)])
        used, given = np.append(used, width - 1), None if given is None else np.append(given, 0)
    whole, exponents = integers(x, given)
    own, every = codes[demands.rows], np.arange(len(x))
    if K == 2:
        return Equations(whole * np.where(own == 1, 1, -1).astype(object)[:, None], used, exponents, (1, width))
    cube = np.zeros((len(x), K, len(used)), object)
    cube[every, own], cube[every, demands.rivals] = whole, -whole
    points, places = cube.reshape(len(x), -1), (np.arange(K)[:, None] * width + used).ravel()
    kept = np.flatnonzero(points.any(axis=0)) if frame is None else np.arange(points.shape[1])
    return Equations(points[:, kept], places[kept], np.tile(exponents, K)[kept], (K, width))


def rounded(theta: np.ndarray, b: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Exact weights rounded to this many bits, relative to the largest; with 53 bits, floats."""
    top = max(abs(value) for value in (*theta.ravel(), *b))
    if bits == 53:
        return (theta / top).astype(np.float64), (b / top).astype(np.float64)
    to_bits = np.vectorize(lambda value: Fraction(round(value / top * (1 << bits)), 1 << bits), otypes=[object])
    return to_bits(theta), to_bits(b)


def balanced(own: list[int], rivals: list[int], a: np.ndarray, fit_intercept: bool) -> list[int] | None:
    """Whole numbers in the proportion of a, up to rounding, whose bias part is exactly 0; None if that needs negatives.

    What each class is off by is passed along a forest of the heaviest pairs, from the leaves to the roots.
    """
    whole = [round(float(weight) * (1 << WHOLE)) for weight in a]
    if not fit_intercept:
        return whole
    off: dict[int, int] = {}
    for y, r, weight in zip(own, rivals, whole, strict=True):
        off[y] = off.get(y, 0) + weight
        off[r] = off.get(r, 0) - weight
    tree_of = {k: k for k in off}
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
        change = -off[leaf] if own[place] == leaf else off[leaf]
        whole[place] += change
        off[own[place]] += change
        off[rivals[place]] -= change
        forest.remove(place)
    return whole if min(whole) >= 0 else None
