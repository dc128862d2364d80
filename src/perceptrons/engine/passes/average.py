"""The mean of the weights after every example, without ever adding them up, and weights that an L2 penalty shrinks.

Adding all weights to a sum after every example would cost as much as learning from it. Here only an update costs
anything. Stored are

    w, b                      the last weights and biases; with an L2 penalty the weights are scale * w
    lazy_sum_w, lazy_sum_b    the sum over the updates of mass * (change of w) and of total * (change of b),
                              with mass and total as they were before the example of the update
    state                     the numbers below, one record per clock (`STATE`)

and at every moment, with `total` examples seen and `mass` the sum of the scales after each of them,

    mean of w = (mass * w - lazy_sum_w) / total          mean of b = b - lazy_sum_b / total

Why: mass * w counts every change as if it had been there from the first example on; lazy_sum_w takes away what it
counts too much. Biases are not penalised, so they have no scale. Without a penalty scale is 1 and mass is total.

Three operations keep this true. With an update that changes w by u, `add_to_lazy_sums` adds mass * u to lazy_sum_w.
After every example, updated or not, `count_visit` adds 1 to n_seen and total, and scale to mass. A penalty multiplies
scale by `rule.keep` before the update (`decay_scale`); when it gets too small, `multiply_scale_out` makes it 1 again.

Four examples and one weight, which starts at 0, without a penalty:

    example    update    w    lazy_sum_w      total    mean of w
    1          +2        2    0               1        (1 * 2 - 0) / 1  = 2
    2          none      2    0               2        (2 * 2 - 0) / 2  = (2 + 2) / 2
    3          -1        1    2 * -1 = -2     3        (3 * 1 + 2) / 3  = (2 + 2 + 1) / 3
    4          none      1    -2              4        (4 * 1 + 2) / 4  = (2 + 2 + 1 + 1) / 4

The recent average (combine="recent") counts every example `rule.growth` times as much as the one before: `gain` is the
weight of the newest, total the sum of the weights, and mass the sum of the scales times these weights.

Any origin of mass works, as long as lazy_sum_w uses the same one. Counted from 0, mass soon stands still while scale
keeps falling, and mass * w - lazy_sum_w loses digits. Counted from minus the sum of all scales to come, mass is
offset - anchor * scale, and no digit is lost as long as offset is 0. Only visits for a fraction change offset.
"""

import math
from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.rows import add, move

# One clock serves all rows of weights, or each row has its own, where rows are problems that see different examples.
STATE = np.dtype(
    (
        np.record,
        [
            ("n_seen", "f8"),  # examples seen, by weight
            ("mass", "f8"),  # the sum of the scales after every example; counted from -anchor if that is not 0
            ("scale", "f8"),  # the weights are scale * w
            ("l1_due", "f8"),  # what an L1 penalty has demanded of every weight so far: `l1_penalty.py`
            ("anchor", "f8"),  # the sum of all scales to come, when scale was last 1; 0: mass is counted from 0
            ("offset", "f8"),  # mass + anchor * scale
            ("total", "f8"),  # the sum of the weights of the examples in the mean
            ("gain", "f8"),  # the weight of the newest example in the mean
        ],
    )
)  # an array of this type, not a recarray, which numba takes eight times as long to receive
MAX_GAIN = 2.0**128  # beyond it, `rescale_sums` writes the sums in a larger unit
MIN_RELATIVE_SCALE = 1e-3  # of the origin of the mass: a smaller scale costs more than three digits of the mean


class LinearModel(NamedTuple):
    """The arrays of a linear model that passes change in place. The binary model has a single row."""

    w: np.ndarray  # (rows, features); C order while learning from Dense rows, Fortran order from Sparse
    b: np.ndarray  # (rows,)
    lazy_sum_w: np.ndarray  # float64, like w
    lazy_sum_b: np.ndarray  # float64
    state: np.ndarray  # STATE, (1,) or (rows,)
    t: np.ndarray  # float64 (1,): examples seen, by weight
    sigma_w: np.ndarray  # like w: the variances of AROW; (rows, 0) for other steps
    sigma_b: np.ndarray
    bias_sqnorm: float  # the square of the constant feature of the bias; b is its weight times it. 0.0: no bias
    paid_w: np.ndarray  # float64, like w: what the L1 penalty took from each weight; (0, 0) without one


def smallest_scale(dtype):
    """Below it, the scale is multiplied out: the smaller, the rarer that is, but the sooner values overflow."""
    return 1e-15 if dtype == np.float32 else 1e-60


@inlined
def add_to_lazy_sums(rows, i, k, step, model, state):
    """Tell the average that w_k += step x_i, before the example is counted.  Changes model."""
    add(rows, i, state.mass * step, model.lazy_sum_w[k])
    model.lazy_sum_b[k] += state.total * step * model.bias_sqnorm


@inlined
def move_lazy_sums(rows, i, y, y_hat, step, model, state):
    """Tell the average that theta_y += step x_i and theta_y_hat -= step x_i.  Changes model."""
    bias = state.total * step * model.bias_sqnorm
    move(rows, i, state.mass * step, model.lazy_sum_w, y, y_hat)
    model.lazy_sum_b[y] += bias
    model.lazy_sum_b[y_hat] -= bias


@inlined
def count_example(state):
    """Count an example in the plain mean, where all count alike and no penalty shrinks the weights. Changes state."""
    state.n_seen += 1.0
    state.total += 1.0
    state.mass += 1.0


@inlined
def count_visit(rule, state, fraction):
    """Count a fraction of an example in any mean, with the weights as they are after it.  Changes state.

    Visits for several fractions count as much as one visit for their sum. Returns whether `rescale_sums` has to follow.
    """
    state.n_seen += fraction
    if rule.growth > 1.0:
        added = state.gain * rule.growth
        if fraction == 1.0:
            state.gain = added
        else:
            growth = min(np.expm1(fraction * np.log(rule.growth)), MAX_GAIN)  # older examples weigh nothing then
            added = state.gain * growth / (1.0 - 1.0 / rule.growth)
            state.gain *= 1.0 + growth
        state.total += added
        state.mass += added * state.scale
        return state.gain > MAX_GAIN
    state.total += fraction
    if state.anchor == 0.0:
        state.mass += fraction * state.scale
    elif fraction == 1.0 and state.anchor == rule.anchor:
        state.mass = state.offset - state.anchor * state.scale
    else:
        state.mass += fraction * state.scale
        state.offset = state.mass + state.anchor * state.scale
    return False


@inner
def rescale_sums(state, model, k):
    """Divide the sums of row k (of all if k < 0) by the weight of the newest example.  Changes model, state.

    The mean is a ratio of these sums and stays the same. The divisor is a power of two, so that no bit changes.
    """
    factor = math.ldexp(1.0, 2 - math.frexp(state.gain)[1])  # leaves a gain of 2 to 4: 1 stands for plain averages
    first, last = (0, len(model.lazy_sum_b)) if k < 0 else (k, k + 1)
    for r in range(first, last):
        model.lazy_sum_b[r] *= factor
        for j in range(model.lazy_sum_w.shape[1]):
            model.lazy_sum_w[r, j] *= factor
    state.mass *= factor
    state.total *= factor
    state.gain *= factor


@inlined
def decay_scale(rule, state, fraction):
    """Multiply the weights by keep^fraction, by their scale.  Changes state.

    Returns whether `multiply_scale_out` has to follow.
    """
    state.scale *= rule.keep if fraction == 1.0 else rule.keep**fraction
    if state.anchor > 0.0:
        return state.scale < max(rule.floor, MIN_RELATIVE_SCALE * abs(state.offset))
    return state.scale < MIN_RELATIVE_SCALE


@inner
def multiply_scale_out(general, rule, state, fraction, model, k):
    """w *= scale for row k (for all if k < 0), so that scale can be 1 again, before the visit is counted.

    From now on, mass counts from another origin, and the lazy sums change by the difference. If mass is already at the
    new origin, they need no change.  Changes model, state. general: None compiles nothing.
    """
    if general is None:
        return
    has_same_origin = fraction == 1.0 and state.anchor == rule.anchor > 0.0 and state.offset == 0.0
    origin = -rule.anchor / rule.keep
    rows = slice(None) if k < 0 else slice(k, k + 1)
    w, lazy_sum = model.w[rows], model.lazy_sum_w[rows]
    if w.strides[0] < w.strides[1]:
        multiply_matrix_out(w.T, lazy_sum.T, state.scale, state.mass, origin, has_same_origin)
    else:
        multiply_matrix_out(w, lazy_sum, state.scale, state.mass, origin, has_same_origin)
    state.mass, state.scale, state.anchor, state.offset = origin, 1.0, rule.anchor, 0.0


@inner
def multiply_matrix_out(w, lazy_sum, scale, mass, origin, has_same_origin):
    """Multiply w by scale, and let the lazy sums count from another origin.  Changes w, lazy_sum."""
    factor = w.dtype.type(scale)
    for k in range(w.shape[0]):
        if has_same_origin:
            for j in range(w.shape[1]):
                w[k, j] *= factor
        else:
            for j in range(w.shape[1]):
                stored = w[k, j]
                w[k, j] *= factor
                lazy_sum[k, j] += origin * w[k, j] - mass * stored


@compiled
def move_average(w, lazy_sum, mass, total, mean):
    """mean = (mass w - lazy_sum) / total.  Returns the squared norms of its change and of itself."""
    change, norm, factor = 0.0, 0.0, mass / total
    for j in range(len(mean)):
        value = factor * w[j] - lazy_sum[j] / total
        change += (value - mean[j]) ** 2
        norm += value * value
        mean[j] = value
    return change, norm


@compiled
def find_moved(w, lazy_sum, start, moved):
    """Find the features that an update has reached since the weights were `start` and lazy_sum was 0.  Changes moved.

    w, lazy_sum, start: (features, rows). moved: bool (features,).
    """
    for j in range(w.shape[0]):
        moved[j] = False
        for k in range(w.shape[1]):
            if lazy_sum[j, k] != 0.0 or w[j, k] != start[j, k]:
                moved[j] = True
                break
