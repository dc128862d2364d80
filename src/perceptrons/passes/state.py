"""What the passes change in place: the weights with their lazy average, the pocket, and the log of updates."""

from typing import NamedTuple

import numpy as np

from perceptrons.rows import compiled


class Linear(NamedTuple):
    """Weights of a linear model; the binary one has a single row. The mean over the examples seen is w - late_w / t."""

    w: np.ndarray  # (classes, features); C order while learning from Dense rows, Fortran order from Sparse
    b: np.ndarray  # (classes,)
    late_w: np.ndarray  # float64 like w: the sum of (examples seen before) * update
    late_b: np.ndarray  # float64
    t: np.ndarray  # float64 (1,): examples seen, by weight
    one: float  # the constant feature whose weight is b: 1.0, or 0.0 for a model without intercept


class Pocket(NamedTuple):
    """The best weights so far, and what the ratchet (Gallant 1990) needs to know to replace them."""

    w: np.ndarray
    b: np.ndarray
    tally: np.ndarray  # float64 (4,): run of right answers now, the pocket's run, its mistakes, judged or not
    examples: np.ndarray  # the training examples that candidates are judged on


RUN, BEST_RUN, BEST_MISTAKES, JUDGED = range(4)
UNJUDGED, WORSE, KEPT = 0.0, 1.0, 2.0

LOG_COLUMNS = 5  # examples seen before, row, true class, the class it was taken for, step (> 0)


@compiled
def move_average(w, late, t, mean):
    """mean = w - late / t, element by element. Returns the squared norms of its change and of itself, for spec 5b."""
    change, norm = 0.0, 0.0
    for j in range(len(mean)):
        now = w[j] - late[j] / t
        change += (now - mean[j]) ** 2
        norm += now * now
        mean[j] = now
    return change, norm


@compiled
def longer(log, used):
    """The log, with room for one more row behind the first `used`."""
    if used < len(log):
        return log
    grown = np.empty((2 * used + 64, LOG_COLUMNS))
    grown[:used] = log
    return grown


@compiled
def note(log, k, t, i, y, y_hat, step):
    """Write update k into the log."""
    log[k, 0], log[k, 1], log[k, 2], log[k, 3], log[k, 4] = t, i, y, y_hat, step


@compiled
def broke(pocket):
    """The current weights were changed: their run of right answers starts anew."""
    pocket.tally[RUN] = 0.0
    pocket.tally[JUDGED] = UNJUDGED


@compiled
def due(pocket, share):
    """Count `share` more right answers; are the current weights to be judged now?"""
    tally = pocket.tally
    tally[RUN] += share
    if tally[JUDGED] == KEPT:
        tally[BEST_RUN] = max(tally[BEST_RUN], tally[RUN])
    return tally[JUDGED] == UNJUDGED and tally[RUN] > tally[BEST_RUN]


@compiled
def judge(pocket, model, mistakes):
    """Pocket the current weights if they make fewer mistakes on the training examples than the pocketed ones."""
    tally = pocket.tally
    tally[JUDGED] = WORSE
    if mistakes < tally[BEST_MISTAKES]:
        pocket.w[:] = model.w
        pocket.b[:] = model.b
        tally[BEST_RUN], tally[BEST_MISTAKES], tally[JUDGED] = tally[RUN], mistakes, KEPT
