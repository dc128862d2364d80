"""Files of `StructuredPerceptron`: the weights that are not 0, and the counters. The output model is left out."""

import numpy as np

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.memory import check_claim
from perceptrons.modelfile.contents import Content, content_of, refuse_infinite, require, restore
from perceptrons.structured.estimator import StructuredPerceptron, check_choices
from perceptrons.structured.learner import LARGEST, OutputLearner

WEIGHT_BYTES = 24  # with the average
MAX_WEIGHTS = 2**48  # more than any memory holds


def contents(model: StructuredPerceptron) -> Content:
    """Return the header and the arrays of a fitted model."""
    learner = learner_of(model)
    check_choices(model)  # other parameters could not be read again
    used = np.flatnonzero((learner.w != 0) | (learner.lazy_sum != 0))
    arrays = {"where": used.astype(np.int64), "w": learner.w[used], "late": learner.lazy_sum[used]}
    counts = {"size": learner.size, "t": learner.t, "updates": learner.updates}
    refuse_infinite({"w": arrays["w"], "late": arrays["late"]})
    return content_of(model, counts, arrays, model=None)


def read(content: Content) -> StructuredPerceptron:
    """Return the model, or raise one of the errors that `load` expects for an invalid file."""
    header, parameters = content.header, content.parameters()
    require(parameters["model"] is None, "no model")
    model = StructuredPerceptron(**parameters)
    check_choices(model)
    size, t, updates = counts = [header[name] for name in ("size", "t", "updates")]
    require(all(type(count) is int and count >= 0 for count in counts), "whole numbers that are not negative")
    require(max(updates, int(header["mistakes"])) <= t, "no more mistakes and updates than examples")
    require(size <= MAX_WEIGHTS, "no more weights than a memory holds")
    used = content.ascending("where", size)
    w, late = (content.array(name, used.shape) for name in ("w", "late"))
    require(updates > 0 or not len(used), "updates, because there are weights")
    check_claim(WEIGHT_BYTES * size, content.n_bytes, f"A model of {size:,} weights")
    try:
        learner = OutputLearner(size, int(header["seed"]))
    except MemoryError as error:
        raise ValueError(f"there is no memory for {size} weights") from error
    learner.t, learner.updates = t, updates
    learner.w[used], learner.lazy_sum[used] = w, late
    require((np.abs(w) <= LARGEST).all(), "weights whose squares are finite")
    restore(model, learner, content)
    return model
