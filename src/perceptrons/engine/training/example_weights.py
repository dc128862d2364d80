"""How often each example counts: sample weights times class weights, checked."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.engine.training.inputs import as_numbers

SMALLEST_WEIGHT = 1e-20  # below what boosting makes; much smaller steps would vanish, in float32 first
LARGEST_WEIGHT = 1e6  # a weight is a number of repetitions; above this a single example could take minutes


def check_weights(
    sample_weight: Any, class_weight: Any, classes: np.ndarray, codes: np.ndarray, stream: bool
) -> np.ndarray | None:
    """Return the weight of every example, sample weight times class weight, or None if all are 1.

    In a stream, class weights may name classes that come later, and a block may be of classes that weigh nothing.
    """
    n = len(codes)
    weight = None
    if sample_weight is not None:
        weight = as_numbers(sample_weight, "sample_weight")
        if weight.ndim == 0:
            weight = np.full(n, float(weight))
        if weight.shape != (n,):
            raise ValueError(f"sample_weight.shape == {weight.shape}, but X has {n} rows: it must be ({n},).")
        is_invalid = ~(weight >= 0) | np.isinf(weight)
        if is_invalid.any():
            row = int(np.argmax(is_invalid))
            raise ValueError(f"sample_weight[{row}] = {weight[row]}: weights must be finite and not negative.")
        if not weight.any():
            raise ValueError("All sample weights are zero: there is nothing to learn from.")
    if class_weight is not None:
        by_class = _class_weights(class_weight, classes, codes, weight, stream)
        weight = by_class[codes] if weight is None else weight * by_class[codes]
    if weight is None:
        return None
    if not (stream or weight.any()):
        raise ValueError("Sample and class weights leave nothing to learn from: all are zero.")
    check_range(weight)
    return None if (weight == 1).all() else weight


def check_range(weight: np.ndarray) -> None:
    if ((weight > 0) & (weight < SMALLEST_WEIGHT)).any():
        raise ValueError(f"Weights must be 0 or at least {SMALLEST_WEIGHT:g}: multiply all weights by the same number.")
    if weight.max(initial=0) > LARGEST_WEIGHT:
        raise ValueError(
            f"The largest weight is {weight.max():g}; a weight is the number of times its example is repeated, and "
            f"at most {LARGEST_WEIGHT:g} is allowed. Divide the weights by their mean."
        )


def label_weights(
    class_weight: Any, classes: np.ndarray, indicator: np.ndarray, weight: np.ndarray | None, stream: bool
) -> np.ndarray | None:
    """For several labels: the weight of the examples without and with each label, (labels, 2); None if all are 1."""
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        positive = _class_weights(class_weight, classes, np.empty(0, np.int32), None, stream)
        by_label = np.stack([np.ones(len(classes)), positive], axis=1)
    else:
        total = float(len(indicator) if weight is None else weight.sum())
        having = indicator.sum(axis=0) if weight is None else weight @ indicator
        by_label = balanced_weights(np.stack([total - having, having], axis=1))
    check_range(by_label)
    return by_label


def balanced_weights(counts: np.ndarray) -> np.ndarray:
    """Weights that give all classes the same total, by how many examples each has, along the last axis; 0 for none.

    The rarest class has the weight 1, and the others less. A weight above 1 would repeat an example on the spot, and
    repetitions end as soon as it is right, mostly after one step: such a class would count little more than with 1.
    A weight below 1 shortens the step, by exactly that factor.
    """
    rarest = np.where(counts > 0, counts, np.inf).min(axis=-1, keepdims=True)
    return np.where(counts > 0, rarest / np.where(counts > 0, counts, 1), 0.0)


def _class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray | None, stream: bool
) -> np.ndarray:
    if class_weight == "balanced":
        return balanced_weights(np.bincount(codes, weights=weight, minlength=len(classes)))
    if isinstance(class_weight, Mapping):
        labels = classes.tolist()
        for label, value in class_weight.items():
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not (number and 0 <= value <= sys.float_info.max):
                raise ValueError(f"class_weight[{label!r}] = {value!r}: weights must be finite and not negative.")
            if label not in labels and not stream:
                raise ValueError(f"class_weight names the class {label!r}, which is not among {labels[:10]}.")
        return np.array([float(class_weight.get(label, 1.0)) for label in labels])
    raise ValueError(f"class_weight={class_weight!r}: give a dict {{class: weight}}, 'balanced' or None.")
