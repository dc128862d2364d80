"""The weights that the passes change in place, with their lazy average and L2 penalty. The L1 penalty: `penalty.py`."""

import math
from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner


class Linear(NamedTuple):
    """Weights of a linear model, scale * w and b; the binary one has a single row.

    An L2 penalty multiplies all weights by one number, so it only changes scale; without it scale is 1 and mass is
    seen. The mean over the examples seen is (mass w - late_w) / seen, where late_w is the sum of (mass before) *
    (update of w), and mass the sum of the scales after every example. The bias is not penalised: its mean is
    b - late_b / seen, where late_b is the sum of (examples before) * (update of b).

    The recent average counts each example `rule.growth` times as much as the one before. Its mass is the sum of the
    scales times these weights, and the sum of the weights stands in place of seen.
    """

    w: np.ndarray  # (rows, features); C order while learning from Dense rows, Fortran order from Sparse
    b: np.ndarray  # (rows,)
    late_w: np.ndarray  # float64 like w
    late_b: np.ndarray  # float64
    clock: np.ndarray  # float64 (1 or rows, CLOCK): see below. One for all rows, or one each for problems apart
    t: np.ndarray  # float64 (1,): examples seen, by weight
    sigma_w: np.ndarray  # like w: the variances of AROW; (rows, 0) for other steps
    sigma_b: np.ndarray
    one: float  # the square of the constant feature of the bias; b is its weight times it. 0.0: no intercept
    paid_w: np.ndarray  # float64 like w: what the L1 penalty took from each weight; (rows, 0) without one


CLOCK = 8
SEEN, MASS, SCALE, DEMANDED, ANCHOR, OFFSET, TOTAL, GAIN = range(CLOCK)
# TOTAL: the sum of the weights of the examples in the mean. GAIN: the weight of the newest, 1 where all count alike.
# DEMANDED: what the L1 penalty has demanded of every weight so far, eta alpha l1_ratio for each example.
# Any origin of MASS works, as long as late_w uses the same one. Counted from 0, it soon stands still while the scale
# keeps falling, and mass w - late_w loses digits. Counted from minus the sum of all scales to come, it is
# OFFSET - ANCHOR * SCALE, and no digit is lost as long as OFFSET is 0. Only visits for a fraction change OFFSET.

LARGEST_GAIN = 2.0**128  # beyond it, `rescale_sums` writes the late sums in a larger unit
LEAST_SCALE = 1e-3  # of the origin of the mass: a smaller scale costs more than three digits of the mean


def smallest_scale(dtype):
    """Below it, the scale is multiplied out: the smaller, the rarer that is, but the sooner values overflow."""
    return 1e-15 if dtype == np.float32 else 1e-60


@inlined
def count_visit(rule, clock, fraction):
    """Count an example with the weights as they are after it. Return whether `rescale_sums` has to follow.

    Visits for several fractions count as much as one visit for their sum.  Changes clock.
    """
    clock[SEEN] += fraction
    if rule.growth > 1.0:
        counts = clock[GAIN] * rule.growth
        if fraction == 1.0:
            clock[GAIN] = counts
        else:
            growth = min(np.expm1(fraction * np.log(rule.growth)), LARGEST_GAIN)  # older examples weigh nothing then
            counts = clock[GAIN] * growth / (1.0 - 1.0 / rule.growth)
            clock[GAIN] *= 1.0 + growth
        clock[TOTAL] += counts
        clock[MASS] += counts * clock[SCALE]
        return clock[GAIN] > LARGEST_GAIN
    clock[TOTAL] += fraction
    if clock[ANCHOR] == 0.0:
        clock[MASS] += fraction * clock[SCALE]
    elif fraction == 1.0 and clock[ANCHOR] == rule.anchor:
        clock[MASS] = clock[OFFSET] - clock[ANCHOR] * clock[SCALE]
    else:
        clock[MASS] += fraction * clock[SCALE]
        clock[OFFSET] = clock[MASS] + clock[ANCHOR] * clock[SCALE]
    return False


@inner
def rescale_sums(clock, model, k):
    """Divide the sums of row k (of all if k < 0) by the weight of the newest example.  Changes model, clock.

    The mean is a ratio of these sums and stays the same. The divisor is a power of two, so that no bit changes.
    """
    factor = math.ldexp(1.0, 2 - math.frexp(clock[GAIN])[1])  # leaves a gain of 2 to 4: 1 stands for plain averages
    first, last = (0, len(model.late_b)) if k < 0 else (k, k + 1)
    for r in range(first, last):
        model.late_b[r] *= factor
        for j in range(model.late_w.shape[1]):
            model.late_w[r, j] *= factor
    clock[MASS] *= factor
    clock[TOTAL] *= factor
    clock[GAIN] *= factor


@inlined
def decay_scale(rule, clock, fraction):
    """Multiply the weights by keep^fraction, by their scale. Return whether `multiply_scale_out` has to follow.

    Changes clock.
    """
    clock[SCALE] *= rule.keep if fraction == 1.0 else rule.keep**fraction
    if clock[ANCHOR] > 0.0:
        return clock[SCALE] < max(rule.floor, LEAST_SCALE * abs(clock[OFFSET]))
    return clock[SCALE] < LEAST_SCALE


@inner
def multiply_scale_out(rule, clock, fraction, model, k):
    """w *= scale for row k (for all if k < 0), so that scale can be 1 again, before the visit is counted.

    From now on, mass counts from another origin, and the late sums change by the difference. If mass is already at the
    new origin, they need no change.  Changes model, clock.
    """
    has_same_origin = fraction == 1.0 and clock[ANCHOR] == rule.anchor > 0.0 and clock[OFFSET] == 0.0
    origin = -rule.anchor / rule.keep
    rows = slice(None) if k < 0 else slice(k, k + 1)
    w, late = model.w[rows], model.late_w[rows]
    if w.strides[0] < w.strides[1]:
        multiply_matrix_out(w.T, late.T, clock[SCALE], clock[MASS], origin, has_same_origin)
    else:
        multiply_matrix_out(w, late, clock[SCALE], clock[MASS], origin, has_same_origin)
    clock[MASS], clock[SCALE], clock[ANCHOR], clock[OFFSET] = origin, 1.0, rule.anchor, 0.0


@inner
def multiply_matrix_out(w, late, scale, mass, origin, has_same_origin):
    """Multiply the weights of a matrix by scale, and let the late sums count from another origin. Changes w, late."""
    factor = w.dtype.type(scale)
    for k in range(w.shape[0]):
        if has_same_origin:
            for j in range(w.shape[1]):
                w[k, j] *= factor
        else:
            for j in range(w.shape[1]):
                unscaled = w[k, j]
                w[k, j] *= factor
                late[k, j] += origin * w[k, j] - mass * unscaled


@compiled
def move_average(w, late, mass, total, mean):
    """mean = (mass w - late) / total. Returns the squared norms of its change and of itself."""
    change, norm, factor = 0.0, 0.0, mass / total
    for j in range(len(mean)):
        value = factor * w[j] - late[j] / total
        change += (value - mean[j]) ** 2
        norm += value * value
        mean[j] = value
    return change, norm


@compiled
def find_moved(w, late, start, moved):
    """Find the features that an update has reached since the weights were `start` and late was 0.  Changes moved.

    w, late, start: (features, rows). moved: bool (features,).
    """
    for j in range(w.shape[0]):
        moved[j] = False
        for k in range(w.shape[1]):
            if late[j, k] != 0.0 or w[j, k] != start[j, k]:
                moved[j] = True
                break
