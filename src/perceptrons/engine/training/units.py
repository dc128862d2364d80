"""The units of the data: what margin="auto" and intercept_scaling="auto" are measured in.

    spread:    the mean of |x - mean of x|², the squared distance of an example from the mean of all
    constant:  the power of two next to the root mean square of the values that are not 0

Where all features are doubled, so is `constant`, and `spread` grows by 4, as scores from a zero start do. So if
the margin is a multiple of `spread`, and the bias is the weight of a feature `constant`, scale does not matter to
training; powers of two change no bit. Sample weights lengthen the steps, and with them all scores, so `spread` is
multiplied by their mean: weights of 1/n train like weights of 1. Since `constant` is a power of two, the bias is as
exact as with the lecture's feature 1.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.rows import Rows, Sparse
from perceptrons.engine.training.inputs import once_each

FIRST_MARGIN = 0.5  # spreads, and twice as much in every epoch: a large margin takes several epochs to be learned
MARGIN = 6.0  # spreads at most. Both were chosen by cross-validation: `python -m benchmarks margins`
SAMPLE = 2**17  # values at most that are looked at: a few milliseconds, and more would tell little more
WIDE = 2**20  # columns from which sums are kept for those alone that are there
BITS = 8  # that are kept: sums over dense, sparse or divided data round differently, and must give one number
ALIKE = 1e-9  # of all squares: a smaller spread is rounding
GOLDEN = (math.sqrt(5) - 1) / 2


class Moments(NamedTuple):
    """Sums over some examples. Those of several parts of the data are added up."""

    n: float = 0.0  # examples
    weight: float = 0.0  # sum of their sample weights
    spread: float = 0.0  # of the squared distances from the mean of the part
    square: float = 0.0  # of all squares
    values: float = 0.0  # how many are not 0

    def plus(self, other: "Moments") -> "Moments":
        return Moments(*(a + b for a, b in zip(self, other, strict=True)))

    def units(self) -> "Units":
        """Examples that are all alike, such as a single one, are measured from 0; zeros alone have no spread."""
        if not math.isfinite(self.square):  # X is not checked under scikit-learn's assume_finite
            raise ValueError(
                "X contains NaN, infinity or numbers that are too large: remove or replace them, or scale the features."
            )
        if not self.square > 0:
            return Units(0.0, 1.0)
        spread = self.spread if self.spread > ALIKE * self.square else self.square
        constant = math.ldexp(1.0, math.frexp(self.square / self.values)[1] // 2)
        return Units(_rounded(self.weight / self.n) * _rounded(spread / self.n), constant)


class Units(NamedTuple):
    spread: float  # times the mean weight; 0 as long as there were only zeros, such as the first of a running scaler
    constant: float


def moments(rows: Rows, weight: Any = None) -> Moments:
    """Return the moments of examples, or of an even sample of them if they hold too many values.

    Examples of weight 0 are left out. The other weights do not change what is measured of X.
    """
    n = len(rows.starts) - 1 if isinstance(rows, Sparse) else len(rows.values)
    weight = np.broadcast_to(np.asarray(1.0 if weight is None else weight, np.float64), n)
    sample = np.flatnonzero(weight)
    max_rows = max(1, SAMPLE * n // max(1, rows.values.size))
    if len(sample) > max_rows:
        place = np.arange(max_rows)
        # one per equal stretch
        sample = sample[((place + place * GOLDEN % 1.0) * (len(sample) / max_rows)).astype(np.intp)]
    if not len(sample):
        return Moments()
    if isinstance(rows, Sparse):
        of_x = _of_sparse(once_each(rows if len(sample) == n else _some(rows, sample)))
    else:
        of_x = _of_dense(rows.values[sample].astype(np.float64, copy=False))
    return Moments(len(sample), float(weight[sample].sum()), *of_x)


def _of_dense(x: np.ndarray) -> tuple[float, float, float]:
    away = x - x.mean(axis=0)
    spread, square = (float(np.einsum("ij,ij->", part, part)) for part in (away, x))
    return spread, square, float(np.count_nonzero(x))


def _some(rows: Sparse, selected: np.ndarray) -> Sparse:
    """Return a copy of some rows."""
    sizes = rows.starts[selected + 1] - rows.starts[selected]
    starts = np.append(0, np.cumsum(sizes))
    at = np.arange(starts[-1]) + np.repeat(rows.starts[selected] - starts[:-1], sizes)
    return Sparse(rows.values[at], rows.columns[at], starts)


def _of_sparse(rows: Any) -> tuple[float, float, float]:
    n, x, columns = len(rows.starts) - 1, rows.values.astype(np.float64), rows.columns
    if columns.max(initial=0) >= WIDE:
        columns = np.unique(columns, return_inverse=True)[1]
    total, square = np.bincount(columns, x), float(x @ x)
    return square - float(total @ total) / n, square, float(np.count_nonzero(x))


def _rounded(x: float) -> float:
    """x with few bits."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(math.ldexp(mantissa, BITS)), exponent - BITS)
