"""What a certificate claims, checked without a rounding error: leads of examples, and sums of weighted pairs.

Floating point decides a claim only where it can: a computed score lies within a known distance of the true one, and
whatever is closer to the limit than that is done again in whole numbers.
"""

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.theory.exact import integers
from perceptrons.theory.geometry import norms, products, square_scale
from perceptrons.theory.in_words import plainly

BLOCK = 1 << 22  # leads held at a time
ROUNDING = 2.0**-53
TINY = 5e-324  # what a product may lose by underflow
VANISHING = 1e-150  # squares of smaller numbers may be lost beside others
SAFE = 1 - 1e-12  # a claim is this much below what was found, so that floats suffice to check it again


class Weights:
    """Weights of a linear classifier (floats or Fractions) for exact claims: w and b, or one of each per class."""

    def __init__(self, coef: np.ndarray, intercept: Any) -> None:
        self.coef, self.intercept = np.atleast_2d(_wide(coef)), np.atleast_1d(_wide(intercept))
        self.binary = np.ndim(coef) == 1
        top: Any = max((abs(value) for value in (*_extremes(self.coef), *_extremes(self.intercept))), default=0)
        # a factor that no claim depends on brings them to where squares neither overflow nor vanish
        self.factor = (
            Fraction(2) ** -(math.frexp(top)[1] if isinstance(top, float) else _bits(top)) if top else Fraction(1)
        )
        self.theta, self.b = self._floats(self.coef), self._floats(self.intercept)
        centred = self.theta if self.binary else self.theta - self.theta.mean(axis=0)
        slack = 4 * (centred.size + 8) * ROUNDING
        self.sizes = np.sqrt((self.theta**2).sum(axis=1)) * (1 + slack)
        # an upper bound of what turns a lead into a distance
        self.length = math.sqrt((centred**2).sum()) * (1 + slack) + 8 * ROUNDING * math.sqrt((self.sizes**2).sum())
        self.length *= 1.0 if self.binary else math.sqrt(2) * (1 + slack)

    def _floats(self, numbers: np.ndarray) -> np.ndarray:
        if numbers.dtype != object:
            return np.ldexp(numbers, self.factor.numerator.bit_length() - self.factor.denominator.bit_length())
        return np.array([float(value * self.factor) for value in numbers.ravel()]).reshape(numbers.shape)

    @cached_property
    def square(self) -> Fraction:
        """The square of what turns a lead into a distance, exact: |w|^2, or 2 |theta - mean|^2."""
        coef = self.coef[:, (self.coef != 0).any(axis=0)]  # of very many columns most may have no weight
        numbers = np.array([Fraction(value) for value in coef.ravel().tolist()], object).reshape(coef.shape)
        total = Fraction((numbers**2).sum())
        if self.binary:
            return total
        return 2 * (total - Fraction((numbers.sum(axis=0) ** 2).sum()) / len(numbers))

    def lead(self, X: Any, codes: np.ndarray, i: int, rival: int) -> Fraction:
        """The exact lead of example i's class over a rival."""
        columns, values = _row(X, i)
        y = int(codes[i])
        if self.binary:
            return (1 if y else -1) * (self._dot(0, columns, values) + Fraction(self.intercept[0]))
        gap = Fraction(self.intercept[y]) - Fraction(self.intercept[rival])
        return gap + self._dot(y, columns, values) - self._dot(rival, columns, values)

    def _dot(self, k: int, columns: list[int], values: list[float]) -> Fraction:
        weights = self.coef[k, columns].tolist()
        return sum((Fraction(value) * Fraction(w) for value, w in zip(values, weights, strict=True)), Fraction(0))


class Leads(NamedTuple):
    """The leads of some examples, in floats, over each rival class; the own class leads itself by infinity."""

    first: int  # example of the first row
    lead: np.ndarray  # (examples, rivals); a single column for two classes
    error: np.ndarray  # how far off each may be


class Checker:
    """A data set that weights are checked on."""

    def __init__(self, X: Any, codes: np.ndarray) -> None:
        self.X, self.codes = X, codes

    @cached_property
    def norms(self) -> np.ndarray:
        """Upper bounds of |x|, also where squares vanish beside others."""
        lost = VANISHING * square_scale(self.X) * math.sqrt(self.X.shape[1])
        return norms(self.X) * (1 + 1e-10) + lost

    def leads_at_least(self, weights: Weights, margin: Fraction) -> bool:
        """Is every lead positive and, as a distance, at least the margin?"""
        if margin > sys.float_info.max:  # farther than any example can be
            return False
        root = float(margin) * weights.length * (1 + 5 * ROUNDING)
        for part in self._leads(weights):
            if (part.lead < -part.error).any():
                return False
            for i, rival in self._places(part, part.lead - part.error <= root):
                lead = weights.lead(self.X, self.codes, i, rival)
                if lead <= 0 or lead * lead < margin**2 * weights.square:
                    return False
        return True

    def safe_margin(self, weights: Weights) -> float | None:
        """A float that no example's distance is below, close to the least one; None if some lead is not positive."""
        if not weights.length:
            return None
        lowest = min(float((part.lead - part.error).min()) for part in self._leads(weights))
        if lowest > 0:
            return lowest / weights.length * SAFE
        least = min(float((part.lead + part.error).min()) for part in self._leads(weights))
        if not least >= 0:
            return None
        exact = min(
            weights.lead(self.X, self.codes, i, rival)
            for part in self._leads(weights)
            for i, rival in self._places(part, part.lead - part.error <= least)
        )
        return root_down(exact * exact / weights.square) * SAFE if exact > 0 else None

    def violated(self, weights: Weights, at_most: int) -> list[tuple[int, int]]:
        """At most this many pairs (row, rival) whose lead is not positive: the worst, as far as floats can tell."""
        found = []
        for part in self._leads(weights):
            for i, rival in self._places(part, part.lead - part.error <= 0):
                lead = float(part.lead[i - part.first, 0 if weights.binary else rival])
                if weights.lead(self.X, self.codes, i, rival) <= 0:
                    found.append((lead, i, rival))
        return [(i, rival) for _, i, rival in sorted(found)[:at_most]]

    def _leads(self, weights: Weights) -> Iterator[Leads]:
        d, K = self.X.shape[1], len(weights.theta)
        step = max(1, BLOCK // K)
        for first in range(0, len(self.codes), step):
            y = self.codes[first : first + step]
            s = products(self.X[first : first + step], weights.theta) + weights.b
            size = self.norms[first : first + step, None]
            error = (d + 8) * (ROUNDING * (size * (weights.sizes + VANISHING) + abs(weights.b)) * 1.01 + TINY)
            if weights.binary:
                yield Leads(first, np.where(y == 1, 1.0, -1.0)[:, None] * s, error)
                continue
            every = np.arange(len(y))
            lead, error = s[every, y][:, None] - s, error[every, y][:, None] + error
            lead[every, y], error[every, y] = np.inf, 0.0
            yield Leads(first, lead, error)

    def _places(self, part: Leads, where: np.ndarray) -> Iterator[tuple[int, int]]:
        """The examples and rivals of a mask over leads."""
        for place, column in np.argwhere(where).tolist():
            i = part.first + place
            yield i, 1 - int(self.codes[i]) if part.lead.shape[1] == 1 else column


class Total(NamedTuple):
    """The exact sum of weight (f(x, y) - f(x, r)): whole numbers, an exponent of two a column, and the bias part."""

    whole: np.ndarray  # (classes, columns)
    exponents: np.ndarray
    bias: list[int]

    def is_zero(self, fit_intercept: bool) -> bool:
        return not self.whole.any() and not (fit_intercept and any(self.bias))

    def bound(self, weight: int) -> Fraction:
        """The square of the distance that no separator's margin exceeds, if the weights sum to this."""
        squares = (self.whole**2).sum(axis=0)
        total = Fraction(0)
        for exponent in np.unique(self.exponents).tolist():  # few, and sums of whole numbers are quick
            total += int(squares[self.exponents == exponent].sum()) * Fraction(4) ** exponent
        return total / (2 * weight * weight)


def combined(X: Any, rows: list[int], y: list[int], r: list[int], weights: list[int], n_classes: int) -> Total:
    """The exact sum of pairs with whole-number weights."""
    signed = np.zeros((n_classes, len(rows)), object)
    for place, (own, rival, weight) in enumerate(zip(y, r, weights, strict=True)):
        signed[own, place] += weight
        signed[rival, place] -= weight
    bias = signed.sum(axis=1).tolist()
    x = X[rows]
    if not sp.issparse(x):
        whole, exponents = integers(x)
        return Total(signed @ whole, exponents, bias)
    values, exponent = integers(x.data[:, None])
    columns, at = np.unique(x.indices, return_inverse=True)
    which = np.repeat(np.arange(len(rows)), np.diff(x.indptr))
    total = np.zeros((n_classes, len(columns)), object)
    for k in range(n_classes):
        used = np.flatnonzero(signed[k, which])
        np.add.at(total[k], at[used], signed[k, which[used]] * values[used, 0])
    return Total(total, np.full(len(columns), exponent[0]), bias)


def root_up(square: Fraction) -> float:
    """The least float, or nearly, whose square is not below."""
    root = root_down(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def root_down(square: Fraction) -> float:
    """The largest float, or nearly, whose square is not above."""
    shift = 2 * max(0, 120 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2)
    root = float(Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2)))
    while Fraction(root) ** 2 > square:
        root = math.nextafter(root, 0.0)
    return root


def _wide(numbers: Any) -> np.ndarray:
    """float64, or Fractions as they are."""
    numbers = np.asarray(numbers)
    return numbers if numbers.dtype == object else numbers.astype(np.float64)


def _extremes(numbers: np.ndarray) -> list[Any]:
    return [numbers.min(), numbers.max()] if numbers.dtype == object else [float(numbers.min()), float(numbers.max())]


def _bits(number: Fraction) -> int:
    return number.numerator.bit_length() - number.denominator.bit_length()


def _row(X: Any, i: int) -> tuple[list[int], list[float]]:
    """The columns and values of a row that are not 0."""
    if sp.issparse(X):
        part = slice(X.indptr[i], X.indptr[i + 1])
        return X.indices[part].tolist(), X.data[part].tolist()
    columns = np.flatnonzero(X[i])
    return columns.tolist(), X[i, columns].tolist()


class Margin(NamedTuple):
    """A bracket: this separator keeps `reached` from every example, and no other keeps more than `at_most`."""

    reached: float
    at_most: float


class Combination(NamedTuple):
    """Pairs (row, rival class) with positive weights that sum to 1."""

    rows: tuple[int, ...]
    labels: tuple[Any, ...]
    rivals: tuple[Any, ...]
    weights: tuple[Fraction, ...]

    def __repr__(self) -> str:
        parts = (f"{name}={plainly(value)}" for name, value in self._asdict().items())
        return f"Combination({', '.join(parts)})"

    @property
    def whole(self) -> list[int]:
        """Whole numbers in the proportion of the weights."""
        common = math.lcm(*(weight.denominator for weight in self.weights))
        return [weight.numerator * (common // weight.denominator) for weight in self.weights]
