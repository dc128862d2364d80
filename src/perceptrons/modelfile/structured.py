"""Files of `StructuredPerceptron`: the weights that are not 0, and the counters. The output model is left out."""

from typing import Any

import numpy as np

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.memory import check_claim
from perceptrons.modelfile.contents import (
    Content,
    array_in,
    ascending_in,
    header_of,
    parameters_in,
    refuse_infinite,
    require,
    resume,
    size_of,
    timeless,
)
from perceptrons.structured.estimator import StructuredPerceptron, check_choices
from perceptrons.structured.learner import LARGEST, OutputLearner

ESTIMATOR = StructuredPerceptron
WEIGHT_BYTES = 24  # with the average
MAX_WEIGHTS = 2**48  # more than any memory holds


def check_can_resume(model: StructuredPerceptron) -> None:
    """Raise ValueError for invalid parameters, whose file could not be read."""
    learner_of(model)
    check_choices(model)


def contents(model: StructuredPerceptron) -> Content:
    """Return the header and the arrays of a fitted model."""
    learner = learner_of(model)
    used = np.flatnonzero((learner.w != 0) | (learner.late != 0))
    arrays = {"where": used.astype(np.int64), "w": learner.w[used], "late": learner.late[used]}
    counts = {"size": learner.size, "t": learner.t, "updates": learner.updates}
    refuse_infinite({"w": arrays["w"], "late": arrays["late"]})
    header = timeless(header_of(model, model=None)) | counts
    return Content(header, arrays)


def read(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> StructuredPerceptron:
    """Return the model, or raise one of the errors that `load` expects for an invalid file."""
    parameters = parameters_in(header)
    require(parameters["model"] is None, "no model")
    model = StructuredPerceptron(**parameters)
    check_choices(model)
    size, t, updates = (header[name] for name in ("size", "t", "updates"))
    require(
        all(type(count) is int and count >= 0 for count in (size, t, updates)), "whole numbers that are not negative"
    )
    require(max(updates, int(header["mistakes"])) <= t, "no more mistakes and updates than examples")
    require(size <= MAX_WEIGHTS, "no more weights than a memory holds")
    used = ascending_in(arrays, "where", size)
    w, late = (array_in(arrays, name, used.shape, np.float64) for name in ("w", "late"))
    require(updates > 0 or not len(used), "updates, because there are weights")
    check_claim(WEIGHT_BYTES * size, size_of(arrays), f"A model of {size:,} weights")
    learner = _learner(size, int(header["seed"]))
    learner.t, learner.updates = t, updates
    learner.w[used], learner.late[used] = w, late
    require(bool((np.abs(w) <= LARGEST).all()), "weights whose squares are finite")
    resume(model, learner, header)
    return model


def _learner(size: int, seed: int) -> OutputLearner:
    try:
        return OutputLearner(size, seed)
    except MemoryError as error:
        raise ValueError(f"there is no memory for {size} weights") from error
