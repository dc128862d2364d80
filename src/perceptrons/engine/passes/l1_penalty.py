"""The L1 penalty truncates weights towards 0 at every example, lazily for sparse rows.

For every example, after its update and before it is counted in the average:

    u += eta alpha l1_ratio
    if w_j > 0:  w_j = max(0, w_j - (u + q_j))      if w_j < 0:  w_j = min(0, w_j + (u - q_j))
    q_j += the change of w_j

(Tsuruoka, Tsujii and Ananiadou 2009, "cumulative penalty"; scikit-learn's SGDClassifier.) u (`state.l1_due`) is what
every weight should have paid so far, q_j (`model.paid_w`) what weight j has paid, with a sign. Biases pay nothing.

A weight that is not 0 after a truncation has paid all that was demanded, so q_j = u or -u. From then on, every example
takes the same from it, until it is 0 and stays there. So the truncations of all examples since a feature was last in a
row are done at once, when it is in a row again: a log of running sums says how much they take, and a binary search in
it finds the example at which a weight became 0.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.rows import column, n_stored

TRUNCATION = np.dtype(
    (
        np.record,
        [
            ("due", "f8"),  # u
            ("scale", "f8"),  # of the weights
            ("taken", "f8"),  # the sum so far of what is taken from stored weights (w / scale)
            ("mass_taken", "f8"),  # the sum so far of mass times what is taken, for the average
            ("mass", "f8"),  # the mass before the example
        ],
    )
)
MIN_LOG_ROWS = 1024  # When the log is full, all features are truncated


class PendingTruncations(NamedTuple):
    """Truncations that are demanded, but not yet done for every feature. Without an L1 penalty, None stands for it."""

    log: np.ndarray  # TRUNCATION (room,): an element per truncation
    n: np.ndarray  # int64 (1,): elements in use
    n_done: np.ndarray  # int64 (features,): how many of them each feature has behind it


def no_truncations(n_features: int) -> PendingTruncations:
    """Return an empty log, with room for a part of the number of features: so truncating all of them costs little."""
    room = max(MIN_LOG_ROWS, n_features // 16)
    return PendingTruncations(np.empty(room, TRUNCATION), np.zeros(1, np.int64), np.zeros(n_features, np.int64))


@inlined
def log_truncation(rule, state, fraction, model, l1):
    """Log the truncation of one example, after its update and before it is counted.  Changes state, model, l1."""
    if l1 is None:
        return
    n = l1.n[0]
    now = l1.log[n]
    state.l1_due += fraction * rule.l1
    taken = fraction * rule.l1 / state.scale
    now.due, now.scale, now.mass = state.l1_due, state.scale, state.mass
    now.taken = taken + (l1.log[n - 1].taken if n > 0 else 0.0)
    now.mass_taken = taken * state.mass + (l1.log[n - 1].mass_taken if n > 0 else 0.0)
    l1.n[0] = n + 1
    if n + 1 == len(l1.log):
        truncate_all(model, l1)


@inlined
def truncate_row(rows, i, model, l1):
    """Do what is pending for the features of x_i.  Changes model, l1."""
    if l1 is None:
        return
    if l1.n[0] > 0:
        for p in range(n_stored(rows, i)):
            truncate_feature(column(rows, i, p), model, l1)


@compiled
def truncate_all(model, l1):
    """Do what is pending for all features, and empty the log.  Changes model, l1."""
    if l1 is None:
        return
    if l1.n[0] > 0:
        for j in range(model.w.shape[1]):
            truncate_feature(j, model, l1)
            l1.n_done[j] = 0
        l1.n[0] = 0


@inner
def truncate_feature(j, model, l1):
    """Do what is pending for feature j, in all rows of weights.  Changes model, l1."""
    log, first, end = l1.log, l1.n_done[j], l1.n[0]
    if first == end:
        return
    l1.n_done[j] = end
    for k in range(model.w.shape[0]):
        w = np.float64(model.w[k, j])
        if w == 0.0:
            continue
        sign, size = np.sign(w), abs(w)
        take = (log[first].due + sign * model.paid_w[k, j]) / log[first].scale
        if take >= size:  # 0 at the first of the truncations
            model.lazy_sum_w[k, j] -= log[first].mass * w
            model.paid_w[k, j] -= log[first].scale * w
            model.w[k, j] = 0
            continue
        size -= take
        lazy_sum, zero_at = take * log[first].mass, end
        if end - first > 1:
            zero_at = first_taking(log, first, end, size)
            last = zero_at - 1  # the last truncation that leaves something
            size -= log[last].taken - log[first].taken
            lazy_sum += log[last].mass_taken - log[first].mass_taken
        if zero_at == end:
            model.w[k, j] = sign * size
            model.paid_w[k, j] = -sign * log[end - 1].due
        else:
            lazy_sum += size * log[zero_at].mass
            model.w[k, j] = 0
            model.paid_w[k, j] = -sign * (log[zero_at - 1].due + size * log[zero_at].scale)
        model.lazy_sum_w[k, j] -= sign * lazy_sum


@inner
def first_taking(log, first, end, size):
    """Return the first truncation after `first` up to which at least `size` was taken; `end` if there is none."""
    low, high = first + 1, end
    while low < high:
        middle = (low + high) // 2
        if log[middle].taken - log[first].taken >= size:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def truncate_at_once(rule, state, visits, model, k):
    """Truncate row k (all rows if k < 0) at once, after the update of a batch.  Changes state, model."""
    state.l1_due += visits * rule.l1
    due, scale = state.l1_due, state.scale
    first, last = (0, len(model.b)) if k < 0 else (k, k + 1)
    for r in range(first, last):
        for j in range(model.w.shape[1]):
            w = np.float64(model.w[r, j])
            if w != 0.0:
                sign = np.sign(w)
                take = (due + sign * model.paid_w[r, j]) / scale
                if take < abs(w):
                    model.lazy_sum_w[r, j] -= state.mass * sign * take
                    model.w[r, j] = w - sign * take
                    model.paid_w[r, j] = -sign * due
                else:
                    model.lazy_sum_w[r, j] -= state.mass * w
                    model.w[r, j] = 0
                    model.paid_w[r, j] -= scale * w
