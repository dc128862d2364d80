"""Running means and variances of features, in which the past may fade, and the features scaled by them.

Sums are computed as written, so that rows, dicts and blocks of any size give the same bits.
"""

import numpy as np

from perceptrons.engine.compiling import exact

CONSTANT = 1e-14  # a deviation that is so small a part of the mean is rounding: the feature is constant

TOTAL, MEAN, VARIANCE, ROWS = range(4)  # columns of moments, float64 (features, 4):
# the sum of the weights of the values, mean and variance, and the rows counted; in the rows since then it was 0


@exact
def after_zeros(keep, zeros, total, mean, variance):
    """Total, mean and variance of a feature after this many more zeros."""
    if zeros == 0.0:
        return total, mean, variance
    fade = 1.0 if keep == 1.0 else keep**zeros
    before, added = total * fade, zeros if keep == 1.0 else (1.0 - fade) / (1.0 - keep)
    part = before / (before + added)
    return before + added, part * mean, part * (variance + (1.0 - part) * mean * mean)


@exact
def after(keep, x, total, mean, variance):
    """Total, mean and variance of a feature, with one value more (Welford 1962; with weights, West 1979)."""
    total = keep * total + 1.0
    part, away = 1.0 / total, x - mean
    return total, mean + part * away, (1.0 - part) * (variance + part * away * away)


@exact
def factor(mean, variance):
    """What to multiply a centered feature by; 1 if it is constant."""
    deviation = np.sqrt(variance)
    return 1.0 / deviation if deviation > CONSTANT * abs(mean) else 1.0


@exact
def count(keep, x, row, of):
    """Count the value of a feature in row number `row`, counted from 0.  of: its moments, which are changed."""
    total, mean, variance = after_zeros(keep, row - of[ROWS], of[TOTAL], of[MEAN], of[VARIANCE])
    of[TOTAL], of[MEAN], of[VARIANCE] = after(keep, x, total, mean, variance)
    of[ROWS] = row + 1.0


@exact
def count_dense(values, keep, seen, moments):
    """Count the rows of a matrix in their order, after the `seen` rows before them.  Changes moments."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            count(keep, np.float64(values[i, j]), seen + i, moments[j])


@exact
def count_sparse(values, columns, starts, keep, seen, moments):
    """The same for a sparse matrix, at the cost of its entries: zeros are counted when something else comes."""
    for i in range(len(starts) - 1):
        for p in range(starts[i], starts[i + 1]):
            count(keep, np.float64(values[p]), seen + i, moments[columns[p]])


@exact
def count_named(values, columns, keep, moments):
    """Count the features that one example has; of the others it says nothing.  Changes moments.

    Returns False, and changes nothing, if a value is NaN or infinite.
    """
    for x in values:
        if not np.isfinite(x):
            return False
    for p in range(len(values)):
        count(keep, values[p], moments[columns[p], ROWS], moments[columns[p]])
    return True


@exact
def scale_named(values, columns, moments):
    """Scale the features that one example has; one that was never counted (column -1) becomes 0.  Changes values."""
    for p in range(len(values)):
        of = moments[max(columns[p], 0)]
        known = columns[p] >= 0 and of[TOTAL] > 0.0
        values[p] = (values[p] - of[MEAN]) * factor(of[MEAN], of[VARIANCE]) if known else 0.0


@exact
def up_to(keep, seen, moments):
    """Mean, variance and factor of every feature, with the zeros of all rows seen counted."""
    found = np.empty((3, len(moments)))
    for j in range(len(moments)):
        of = moments[j]
        _, mean, variance = after_zeros(keep, seen - of[ROWS], of[TOTAL], of[MEAN], of[VARIANCE])
        found[0, j], found[1, j], found[2, j] = mean, variance, factor(mean, variance)
    return found
