"""Exact checks of what certificates claim: leads of examples under given weights, and sums of weighted pairs.

The lead of an example over a rival class is its score for the true class minus its score for the rival. Floating point
decides a claim only where it can: a computed lead lies within a known error of the true one. Whatever is closer to the
limit than that error is computed again in whole numbers.
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

MAX_LEADS = 1 << 22  # held at a time
ROUNDING = 2.0**-53
SMALLEST_PRODUCT = 5e-324  # what a product may lose by underflow
SMALLEST_SQUARABLE = 1e-150  # squares of smaller numbers may be lost beside others
SAFETY_FACTOR = 1 - 1e-12  # claims are reduced by this factor, so that floats suffice to check them again


class ExactWeights:
    """Weights of a linear classifier (floats or Fractions) for exact claims: one row, or for more classes one each.

    Here two classes have a row each, too: that of the first is 0. All leads and lengths are the same as with one row.
    """

    def __init__(self, coef: np.ndarray, intercept: Any) -> None:
        coef, intercept = _float64_or_exact(coef), _float64_or_exact(intercept)
        if coef.ndim == 1:
            coef, intercept = np.stack([0 * coef, coef]), np.stack([0 * intercept, intercept])
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
        numbers = np.array([Fraction(value) for value in coef.ravel().tolist()], object).reshape(coef.shape)
        return 2 * (Fraction((numbers**2).sum()) - Fraction((numbers.sum(axis=0) ** 2).sum()) / len(numbers))

    def lead(self, X: Any, i: int, y: int, rival: int) -> Fraction:
        """Return the exact lead of class y over a rival at row i of X."""
        row = sp.csr_matrix(X[[i]])
        coef = self.coef[np.ix_([y, rival], row.indices)].tolist()
        products = (Fraction(x) * (Fraction(u) - Fraction(v)) for x, u, v in zip(row.data.tolist(), *coef, strict=True))
        return sum(products, Fraction(self.intercept[y]) - Fraction(self.intercept[rival]))


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
        least_square = margin**2 * weights.square
        return all(lead > 0 and lead * lead >= least_square for *_, lead in self._exact_leads(weights, limit))

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
            s = products(self.X[first : first + step], weights.theta) + weights.b
            size = self.norms[first : first + step, None]
            relative = ROUNDING * (size * (weights.sizes + SMALLEST_SQUARABLE) + abs(weights.b)) * 1.01
            error = (d + 8) * (relative + SMALLEST_PRODUCT)
            every = np.arange(len(y))
            lead, error = s[every, y][:, None] - s, error[every, y][:, None] + error
            lead[every, y], error[every, y] = np.inf, 0.0
            yield first, lead, error


class ExactSum(NamedTuple):
    """The exact sum of a (f(x, y) - f(x, r)) over pairs: whole numbers times 2^exponent, and the bias part."""

    whole: np.ndarray  # (classes, columns), without columns in which all examples are 0
    exponent: int
    bias: np.ndarray  # (classes,) of whole numbers

    def is_zero(self, fit_intercept: bool) -> bool:
        return not self.whole.any() and not (fit_intercept and self.bias.any())

    def squared_bound(self, total_weight: int) -> Fraction:
        """Return the square of the distance that no separator's margin exceeds, for weights of this sum."""
        return int((self.whole**2).sum()) * Fraction(4) ** self.exponent / (2 * total_weight * total_weight)


def exact_sum(X: Any, rows: list[int], y: list[int], r: list[int], weights: list[int], n_classes: int) -> ExactSum:
    """Return the exact sum of pairs (row, class y, rival r) with whole-number weights."""
    x = sp.csr_matrix(X[rows])
    values, exponent = integers(x.data)
    columns, column = np.unique(x.indices, return_inverse=True)
    place = np.repeat(np.arange(len(rows)), np.diff(x.indptr))  # of the pair of each value
    a = np.array(weights, object)
    total, bias = np.zeros((n_classes, len(columns)), object), np.zeros(n_classes, object)
    for classes, signed in ((np.array(y), a), (np.array(r), -a)):
        np.add.at(bias, classes, signed)
        np.add.at(total, (classes[place], column), signed[place] * values)
    return ExactSum(total, exponent, bias)


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
