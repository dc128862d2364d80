"""The L1 penalty truncates weights towards 0 at every example, lazily for sparse rows.

    u += eta alpha l1_ratio
    if w_j > 0:  w_j = max(0, w_j - (u + q_j))      if w_j < 0:  w_j = min(0, w_j + (u - q_j))
    q_j += the change of w_j

(Tsuruoka, Tsujii and Ananiadou 2009, "cumulative penalty"; scikit-learn's SGDClassifier.) u is what every weight should
have paid so far, q_j what weight j has paid, with a sign. Biases pay nothing.

A weight that is not 0 after a truncation has paid all that was demanded, so q_j = u or -u. From then on, every example
takes the same from it, until it is 0 and stays there. So the truncations of all examples since a feature was last in a
row are done at once, when it is in a row again: a log of running sums says how much they take, and a binary search in
it finds the example at which a weight became 0.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.passes.average import DEMANDED, MASS, SCALE
from perceptrons.engine.rows import column, n_stored


class Pending(NamedTuple):
    """Truncations that are demanded, but not yet done for every feature. Without an L1 penalty, None stands for it."""

    log: np.ndarray  # float64 (room, 5): a row per truncation, see below
    n: np.ndarray  # int64 (1,): rows in the log
    done: np.ndarray  # int64 (features,): how many of them each feature has behind it


DUE, AT_SCALE, TAKEN, LATE, BEFORE = range(5)
# DUE: u. AT_SCALE: the scale of the weights. TAKEN: the sum so far of what is taken from stored weights (w / scale).
# BEFORE: the mass before the example. LATE: the sum so far of mass times what is taken, for the average.

LEAST_ROOM = 1024  # rows of a log at least. When it is full, all features are truncated


def pending_for(n_features: int) -> Pending:
    """Return an empty log, with room for a part of the number of features: so truncating all of them costs little."""
    room = max(LEAST_ROOM, n_features // 16)
    return Pending(np.empty((room, 5)), np.zeros(1, np.int64), np.zeros(n_features, np.int64))


@inlined
def log_truncation(rule, clock, fraction, model, pending):
    """Log the truncation of one example, after its update and before it is counted.  Changes clock, model, pending."""
    log, n = pending.log, pending.n[0]
    clock[DEMANDED] += fraction * rule.l1
    taken = fraction * rule.l1 / clock[SCALE]
    log[n, DUE], log[n, AT_SCALE], log[n, BEFORE] = clock[DEMANDED], clock[SCALE], clock[MASS]
    log[n, TAKEN] = taken + (log[n - 1, TAKEN] if n > 0 else 0.0)
    log[n, LATE] = taken * clock[MASS] + (log[n - 1, LATE] if n > 0 else 0.0)
    pending.n[0] = n + 1
    if n + 1 == len(log):
        truncate_all(model, pending)


@inlined
def truncate_row(rows, i, model, pending):
    """Do what is pending for the features of x_i.  Changes model, pending."""
    if pending.n[0] > 0:
        for p in range(n_stored(rows, i)):
            truncate_feature(column(rows, i, p), model, pending)


@compiled
def truncate_all(model, pending):
    """Do what is pending for all features, and empty the log. Without an L1 penalty, pending is None."""
    if pending is not None and pending.n[0] > 0:
        for j in range(model.w.shape[1]):
            truncate_feature(j, model, pending)
            pending.done[j] = 0
        pending.n[0] = 0


@inner
def truncate_feature(j, model, pending):
    """Do what is pending for feature j, in all rows of weights.  Changes model, pending."""
    log, first, end = pending.log, pending.done[j], pending.n[0]
    if first == end:
        return
    pending.done[j] = end
    for k in range(model.w.shape[0]):
        w = np.float64(model.w[k, j])
        if w == 0.0:
            continue
        sign, size = np.sign(w), abs(w)
        take = (log[first, DUE] + sign * model.paid_w[k, j]) / log[first, AT_SCALE]
        if take >= size:  # 0 at the first of the truncations
            model.late_w[k, j] -= log[first, BEFORE] * w
            model.paid_w[k, j] -= log[first, AT_SCALE] * w
            model.w[k, j] = 0
            continue
        size -= take
        late, zero_at = take * log[first, BEFORE], end
        if end - first > 1:
            zero_at = first_taking(log, first, end, size)
            last = zero_at - 1  # the last truncation that leaves something
            size -= log[last, TAKEN] - log[first, TAKEN]
            late += log[last, LATE] - log[first, LATE]
        if zero_at == end:
            model.w[k, j] = sign * size
            model.paid_w[k, j] = -sign * log[end - 1, DUE]
        else:
            late += size * log[zero_at, BEFORE]
            model.w[k, j] = 0
            model.paid_w[k, j] = -sign * (log[zero_at - 1, DUE] + size * log[zero_at, AT_SCALE])
        model.late_w[k, j] -= sign * late


@inner
def first_taking(log, first, end, size):
    """Return the first row of the log after `first` up to which at least `size` was taken; `end` if there is none."""
    low, high = first + 1, end
    while low < high:
        middle = (low + high) // 2
        if log[middle, TAKEN] - log[first, TAKEN] >= size:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def truncate_at_once(rule, clock, visits, model, k):
    """Truncate row k (all rows if k < 0) at once, after the update of a batch.  Changes clock, model."""
    clock[DEMANDED] += visits * rule.l1
    needs_judging, scale = clock[DEMANDED], clock[SCALE]
    first, last = (0, len(model.b)) if k < 0 else (k, k + 1)
    for r in range(first, last):
        for j in range(model.w.shape[1]):
            w = np.float64(model.w[r, j])
            if w != 0.0:
                sign = np.sign(w)
                take = (needs_judging + sign * model.paid_w[r, j]) / scale
                if take < abs(w):
                    model.late_w[r, j] -= clock[MASS] * sign * take
                    model.w[r, j] = w - sign * take
                    model.paid_w[r, j] = -sign * needs_judging
                else:
                    model.late_w[r, j] -= clock[MASS] * w
                    model.w[r, j] = 0
                    model.paid_w[r, j] -= scale * w
