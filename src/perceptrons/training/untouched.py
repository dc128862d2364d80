"""Features that no update has ever reached: nothing was learned about them (spec 12)."""

from typing import Any

import numpy as np

from perceptrons.training.weights import first_weights


def untouched(learner: Any) -> np.ndarray:
    """For every feature of a linear model: are all its weights what they were at the start?

    The average remembers updates that the last weights took back, so both are asked; updates that cancel in both, which
    takes an accident of times and values, cannot be told from none. A weight that the user gave to
    start from (`coef_init`) is not known here, and its feature counts as reached; so does one whose random start was
    drawn after the model had begun, or that shrinking has moved.
    """
    weights = learner.weights
    w, _, late, *_ = weights.linear()
    if learner.votes is not None:
        start = weights.start()[0]
    elif learner.init == "zeros":
        start = np.zeros(1, w.dtype)
    else:
        start, _ = first_weights(w.shape, w.dtype, learner.init, learner.seed, weights.one > 0)
    reached = ((w != start) | (late != 0)).any(axis=0)
    if weights.has_sigma:  # AROW: certainty of a weight never comes back
        reached |= (weights.arrays["sigma_w"][:, : weights.n_features] != 1).any(axis=0)
    return ~reached
