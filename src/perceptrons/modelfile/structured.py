"""A `StructuredPerceptron` as a header and arrays: the weights that are not 0, and the counters. The model is code."""

from typing import Any

import numpy as np

from perceptrons.engine.training.memory import check_claim
from perceptrons.modelfile.contents import (
    array_in,
    ascending_in,
    demand,
    header_of,
    parameters_in,
    refuse_infinite,
    resume,
    size_of,
    timeless,
)
from perceptrons.structured.estimator import StructuredPerceptron, check_choices
from perceptrons.structured.learner import LARGEST, OutputLearner

ESTIMATOR = StructuredPerceptron
WEIGHT = 24  # bytes of a weight, with its average
MOST = 2**48  # weights that a file may speak of: more than any memory holds


def check_goes_on(model: StructuredPerceptron) -> None:
    """Raise ValueError for parameters that make no sense: such a file could not be read."""
    model._fitted()
    check_choices(model)


def contents(model: StructuredPerceptron) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays."""
    learner = model._learner
    where = np.flatnonzero((learner.w != 0) | (learner.late != 0))
    arrays = {"where": where.astype(np.int64), "w": learner.w[where], "late": learner.late[where]}
    counts = {"size": learner.size, "t": learner.t, "updates": learner.updates}
    refuse_infinite({"w": arrays["w"], "late": arrays["late"]})
    header = timeless(header_of(model, model=None)) | counts
    return header, arrays


def read(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> StructuredPerceptron:
    """The estimator again, with no model, or an error of those that `load` expects of an unsound file."""
    parameters = parameters_in(header)
    demand(parameters["model"] is None, "no model")
    model = StructuredPerceptron(**parameters)
    check_choices(model)
    size, t, updates = (header[name] for name in ("size", "t", "updates"))
    demand(
        all(type(count) is int and count >= 0 for count in (size, t, updates)), "whole numbers that are not negative"
    )
    demand(max(updates, int(header["mistakes"])) <= t, "no more mistakes and updates than examples")
    demand(size <= MOST, "no more weights than a memory holds")
    where = ascending_in(arrays, "where", size)
    w, late = (array_in(arrays, name, where.shape, np.float64) for name in ("w", "late"))
    demand(updates > 0 or not len(where), "updates behind the weights")
    check_claim(WEIGHT * size, size_of(arrays), f"A model of {size:,} weights")
    learner = _learner(size, int(header["seed"]))
    learner.t, learner.updates = t, updates
    learner.w[where], learner.late[where] = w, late
    demand(bool((np.abs(w) <= LARGEST).all()), "weights whose squares are finite")
    resume(model, learner, header)
    return model


def _learner(size: int, seed: int) -> OutputLearner:
    try:
        return OutputLearner(size, seed)
    except MemoryError as error:
        raise ValueError(f"there is no memory for {size} weights") from error
