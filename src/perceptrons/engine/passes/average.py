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
# MASS may count from any start that late_w knows of. From 0 it soon stands still while the scale keeps falling, and
# mass w - late_w loses digits. Counted from minus all scales to come, it is OFFSET - ANCHOR * SCALE, with no digit lost
# as long as OFFSET is 0, which only visits for a fraction change.

LARGEST_GAIN = 2.0**128  # beyond it, late sums are written in a larger unit: `renew`
LOST = 1e-3  # a scale of so much of what the mass is counted from costs three digits: time to settle


def smallest_scale(dtype):
    """Below it, the scale is multiplied out: the smaller, the rarer that is, but the sooner values overflow."""
    return 1e-15 if dtype == np.float32 else 1e-60


@inlined
def tick(rule, clock, share):
    """Count an example, with the weights as they are after it; is it time to `renew` the sums?  Changes clock.

    Visits for several fractions count as much as one visit for their sum.
    """
    clock[SEEN] += share
    if rule.growth > 1.0:
        counts = clock[GAIN] * rule.growth
        if share == 1.0:
            clock[GAIN] = counts
        else:
            more = min(np.expm1(share * np.log(rule.growth)), LARGEST_GAIN)  # what is so much older is forgotten
            counts = clock[GAIN] * more / (1.0 - 1.0 / rule.growth)
            clock[GAIN] *= 1.0 + more
        clock[TOTAL] += counts
        clock[MASS] += counts * clock[SCALE]
        return clock[GAIN] > LARGEST_GAIN
    clock[TOTAL] += share
    if clock[ANCHOR] == 0.0:
        clock[MASS] += share * clock[SCALE]
    elif share == 1.0 and clock[ANCHOR] == rule.anchor:
        clock[MASS] = clock[OFFSET] - clock[ANCHOR] * clock[SCALE]
    else:
        clock[MASS] += share * clock[SCALE]
        clock[OFFSET] = clock[MASS] + clock[ANCHOR] * clock[SCALE]
    return False


@inner
def renew(clock, model, k):
    """Divide the sums of row k (of all if k < 0) by the weight of the newest example.  Changes model, clock.

    The mean is a ratio of these sums and stays what it is. The divisor is a power of two, so that no bit changes.
    """
    part = math.ldexp(1.0, 2 - math.frexp(clock[GAIN])[1])  # a gain of 2 to 4 remains: 1 stands for plain averages
    first, last = (0, len(model.late_b)) if k < 0 else (k, k + 1)
    for r in range(first, last):
        model.late_b[r] *= part
        for j in range(model.late_w.shape[1]):
            model.late_w[r, j] *= part
    clock[MASS] *= part
    clock[TOTAL] *= part
    clock[GAIN] *= part


@inlined
def fade(rule, clock, share):
    """The weights times keep^share, by their scale; is it time to `settle` them?  Changes clock."""
    left = rule.keep if share == 1.0 else rule.keep**share
    clock[SCALE] *= left
    if clock[ANCHOR] > 0.0:
        return clock[SCALE] < max(rule.floor, LOST * abs(clock[OFFSET]))
    return clock[SCALE] < LOST


@inner
def settle(rule, clock, share, model, k):
    """w *= scale for row k (for all if k < 0), so that scale can be 1 again, before the visit is counted.

    late takes the mean so far, and where mass now counts from. If mass is as far behind as it will be, the two are
    equal, and late needs no change.  Changes model, clock.
    """
    known = share == 1.0 and clock[ANCHOR] == rule.anchor > 0.0 and clock[OFFSET] == 0.0
    fresh = -rule.anchor / rule.keep
    rows = slice(None) if k < 0 else slice(k, k + 1)
    w, late = model.w[rows], model.late_w[rows]
    if w.strides[0] < w.strides[1]:
        multiply_out(w.T, late.T, clock[SCALE], clock[MASS], fresh, known)
    else:
        multiply_out(w, late, clock[SCALE], clock[MASS], fresh, known)
    clock[MASS], clock[SCALE], clock[ANCHOR], clock[OFFSET] = fresh, 1.0, rule.anchor, 0.0


@inner
def multiply_out(w, late, scale, mass, fresh, known):
    factor = w.dtype.type(scale)
    for k in range(w.shape[0]):
        if known:
            for j in range(w.shape[1]):
                w[k, j] *= factor
        else:
            for j in range(w.shape[1]):
                was = w[k, j]
                w[k, j] *= factor
                late[k, j] += fresh * w[k, j] - mass * was


@compiled
def move_average(w, late, mass, total, mean):
    """mean = (mass w - late) / total. Returns the squared norms of its change and of itself."""
    change, norm, part = 0.0, 0.0, mass / total
    for j in range(len(mean)):
        now = part * w[j] - late[j] / total
        change += (now - mean[j]) ** 2
        norm += now * now
        mean[j] = now
    return change, norm


@compiled
def find_moved(w, late, v, found):
    """Which features (rows of w, late and v) an update since v, when late was 0, has reached?  Changes found."""
    for j in range(w.shape[0]):
        found[j] = False
        for k in range(w.shape[1]):
            if late[j, k] != 0.0 or w[j, k] != v[j, k]:
                found[j] = True
                break
