"""The pocket: the best weights so far, replaced by the ratchet (Gallant 1990)."""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.passes.average import SCALE


class Pocket(NamedTuple):
    """The best weights so far, and what the ratchet (Gallant 1990) needs to know to replace them."""

    w: np.ndarray
    b: np.ndarray
    tally: np.ndarray  # float64 (4,): run of right answers now, the pocket's run, its mistakes, judged or not
    examples: np.ndarray  # the training examples that candidates are judged on


RUN, BEST_RUN, BEST_MISTAKES, JUDGED = range(4)
UNJUDGED, WORSE, KEPT = 0.0, 1.0, 2.0


@inlined
def restart_run(pocket):
    """The current weights were changed: their run of correct answers starts again from 0."""
    pocket.tally[RUN] = 0.0
    pocket.tally[JUDGED] = UNJUDGED


@inlined
def needs_judging(pocket, fraction):
    """Count `fraction` more correct answers. Return whether the current weights have to be judged now."""
    tally = pocket.tally
    tally[RUN] += fraction
    if tally[JUDGED] == KEPT:
        tally[BEST_RUN] = max(tally[BEST_RUN], tally[RUN])
    return tally[JUDGED] == UNJUDGED and tally[RUN] > tally[BEST_RUN]


@compiled
def judge(pocket, model, mistakes):
    """Pocket the current weights if they make fewer mistakes on the training examples than the pocketed ones."""
    tally = pocket.tally
    tally[JUDGED] = WORSE
    if mistakes < tally[BEST_MISTAKES]:
        pocket.w[:] = pocket.w.dtype.type(model.clock[0, SCALE]) * model.w
        pocket.b[:] = model.b
        tally[BEST_RUN], tally[BEST_MISTAKES], tally[JUDGED] = tally[RUN], mistakes, KEPT
