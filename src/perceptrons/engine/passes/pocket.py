"""The pocket algorithm with ratchet: keep the best weights seen so far (Gallant 1990).

Objective: the weights with the fewest mistakes on the training examples. Perceptron weights never settle if the classes
are not linearly separable, and the last ones may be bad. To count the mistakes of all weights would cost a pass over
the examples after every update. So weights are judged only once they have predicted more examples in a row correctly
than those in the pocket did, and replace these if they make fewer mistakes (that is the ratchet).
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined

TALLY = np.dtype(
    (
        np.record,
        [
            ("run", "f8"),  # the correct predictions in a row by the current weights
            ("best_run", "f8"),  # by those in the pocket
            ("best_mistakes", "f8"),  # their mistakes on the training examples; infinite: not counted yet
            ("verdict", "f8"),  # on the current weights: UNJUDGED, WORSE or KEPT
        ],
    )
)
UNJUDGED, WORSE, KEPT = 0.0, 1.0, 2.0


class Pocket(NamedTuple):
    """The best weights so far, and what the ratchet needs to know to replace them."""

    w: np.ndarray
    b: np.ndarray
    tally: np.ndarray  # TALLY (1,)
    judged_on: np.ndarray  # the training examples


@inlined
def restart_run(pocket):
    """The current weights were changed: their run of correct predictions starts again from 0.  Changes pocket."""
    if pocket is not None:
        pocket.tally[0].run, pocket.tally[0].verdict = 0.0, UNJUDGED


@inlined
def end_run(pocket):
    """The current weights were wrong, and change only at the end of the batch.  Changes pocket."""
    if pocket is not None:
        pocket.tally[0].run = 0.0


@inlined
def needs_judging(pocket, fraction):
    """Count `fraction` more correct predictions. Return whether the current weights have to be judged now."""
    if pocket is None:
        return False
    tally = pocket.tally[0]
    tally.run += fraction
    if tally.verdict == KEPT:
        tally.best_run = max(tally.best_run, tally.run)
    return tally.verdict == UNJUDGED and tally.run > tally.best_run


@compiled
def judge(pocket, model, mistakes):
    """Pocket the current weights if they make fewer mistakes on the training examples than the pocketed ones."""
    tally = pocket.tally[0]
    tally.verdict = WORSE
    if mistakes < tally.best_mistakes:
        pocket.w[:] = pocket.w.dtype.type(model.state[0].scale) * model.w
        pocket.b[:] = model.b
        tally.best_run, tally.best_mistakes, tally.verdict = tally.run, mistakes, KEPT
