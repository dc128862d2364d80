"""The estimator's parameters of the learning rule, checked and turned into what the passes take."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from perceptrons.engine.passes.average import smallest_scale
from perceptrons.engine.passes.steps import AROW, CONSTANT, PASSIVE, Rule
from perceptrons.engine.training.inputs import as_numbers

NO_COST = np.empty((0, 0))
LARGEST_DEMAND = 1e100  # of margin and cost: sums of losses must stay finite
FAST = 1e-3  # from such a decay on, the average counts by the scales to come: see passes/average.py

# the label that is wrong at score 0 (2: both, 0: none): while learning, and for the answer that `predict` gives
ZERO_WHEN_LEARNING = {"mistake": 2, "correct": 0, "positive": -1, "negative": 1}
ZERO_WHEN_PREDICTING = {"mistake": 1, "correct": 1, "positive": -1, "negative": 1}


@dataclass(frozen=True, eq=False)
class Method:
    """How to learn from an example: rule, step and batches."""

    zero_score: str = "mistake"
    eta: float = 1.0
    step: str = "constant"
    C: float = 1.0
    margin: float = 0.0
    cost: np.ndarray = field(default_factory=lambda: NO_COST)  # (classes, classes); (0, 0): none
    decay: float = 0.0  # the part of the weights that the L2 penalty takes at every example: eta alpha (1 - l1_ratio)
    l1: float = 0.0  # what the L1 penalty takes of every weight at every example: eta alpha l1_ratio
    window: float = 0.0  # examples that count in the recent average; 0: all do, alike
    batch: int = 1  # visits; 0: all
    follows: bool = False  # does the average follow new examples after a fit? See passes/following.py
    at_first: float = 1.0  # the part of margin and cost that the first epoch demands: see `grown`
    _rules: dict[Any, Any] = field(default_factory=dict)

    def rule(self, dtype: np.dtype) -> Rule:
        """Return the same for the passes, which learn weights of this dtype; made once."""
        if dtype not in self._rules:
            self._rules[dtype] = self._rule(dtype)
        return self._rules[dtype]

    def _rule(self, dtype: np.dtype) -> Rule:
        kind = {"constant": CONSTANT, "arow": AROW}.get(self.step, PASSIVE)
        cap = self.C if self.step == "pa1" else np.inf
        slack = {"pa2": 0.5 / self.C, "arow": 1.0 / self.C}.get(self.step, 0.0)
        zero = ZERO_WHEN_LEARNING[self.zero_score]
        keep, floor, bound = 1.0 - self.decay, smallest_scale(dtype), float(np.sqrt(np.finfo(dtype).max))
        bound = bound / float(np.sqrt(floor)) if self.decay else bound  # as `largest` values are smaller then
        anchor = keep / self.decay if self.decay >= FAST and not self.window and not self.l1 else 0.0
        growth = self.window / (self.window - 1.0) if self.window else 1.0
        return Rule(kind, self.eta, cap, slack, zero, self.margin, keep, anchor, floor, growth, bound, self.l1, 1)

    def in_epoch(self, epoch: int) -> "Method":
        """How to learn in this epoch, counted from 1."""
        part = grown(self.at_first, epoch)
        if part == 1:
            return self
        if epoch not in self._rules:
            self._rules[epoch] = replace(
                self, margin=part * self.margin, cost=part * self.cost, at_first=1.0, _rules={}
            )
        return self._rules[epoch]

    @property
    def penalised(self) -> bool:
        """Does every example change the weights, even if it triggers no update?"""
        return self.decay > 0 or self.l1 > 0

    @property
    def is_plain(self) -> bool:
        """Are updates of constant length all that changes the weights, or that and an L1 penalty?"""
        return self.step == "constant" and self.decay == 0


def grown(at_first: float, epoch: int) -> float:
    """The part of the margin that an epoch demands, counted from 1: twice as much as the one before, up to all."""
    return min(1.0, at_first * 2.0 ** min(epoch - 1, 64))


def cost_matrix(cost: Any, classes: np.ndarray, stream: bool, unnamed: float = 0.0) -> np.ndarray:
    """Return the cost of every answer (second index) for every true class, in the order of the classes; (0, 0) if none.

    In a stream, a dict may name classes that come later. unnamed: the cost of pairs that a dict does not name.
    """
    if cost is None:
        return NO_COST
    labels = classes.tolist()
    if hasattr(cost, "columns"):
        cost = _of_frame(cost)
    if not isinstance(cost, Mapping):
        matrix = _numbers(cost, len(labels))
    else:
        matrix = unnamed * (1.0 - np.eye(len(labels)))
        number = {label: place for place, label in enumerate(labels)}
        for true, row in cost.items():
            if not isinstance(row, Mapping):
                raise ValueError(
                    f"cost[{true!r}] = {row!r}: a dict of costs needs a dict of predicted classes for every true class."
                )
            for predicted, value in row.items():
                for label in (true, predicted):
                    if label not in number and (not stream or isinstance(label, str) != isinstance(labels[0], str)):
                        raise ValueError(f"cost names the class {label!r}, which is not among {labels[:10]}.")
                _check_cost(value, f"cost[{true!r}][{predicted!r}]", true == predicted)
                if true in number and predicted in number:
                    matrix[number[true], number[predicted]] = value
    return matrix if len(labels) > 1 else np.zeros((2, 2))


def _of_frame(frame: Any) -> dict[Any, Any]:
    """Return a pandas frame, whose index and columns are the labels, as a dict of dicts."""
    if not hasattr(frame, "index") or not hasattr(frame, "to_dict"):
        raise ValueError("cost is a frame without row labels: give a pandas frame, a matrix or a dict of dicts.")
    if not (frame.index.is_unique and frame.columns.is_unique):
        raise ValueError("cost names a class twice: its index and its columns must be the classes, each once.")
    return dict(frame.to_dict("index"))


def _numbers(cost: Any, n_classes: int) -> np.ndarray:
    """Return a matrix of costs in the order of the classes, checked."""
    original = np.asarray(cost) if not isinstance(cost, np.ma.MaskedArray) else np.asarray(cost, dtype=object)
    if original.dtype.kind in "bUSOc" and original.shape != ():
        raise ValueError("cost must be an array of numbers, without strings, booleans or masked values.")
    matrix = as_numbers(cost, "cost")
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost has the shape {matrix.shape}, but there are {n_classes} classes: it must be "
            f"{(n_classes, n_classes)}, with one row per true class and one column per predicted class."
        )
    is_valid = (matrix >= 0) & (matrix <= LARGEST_DEMAND)
    np.fill_diagonal(is_valid, np.diagonal(matrix) == 0)
    for true, predicted in np.argwhere(~is_valid).tolist():
        _check_cost(float(matrix[true, predicted]), f"cost[{true}, {predicted}]", true == predicted)
    return np.ascontiguousarray(matrix)


def _check_cost(value: Any, entry: str, same: bool) -> None:
    number = not isinstance(value, bool) and isinstance(value, int | float | np.number)
    if not number or isinstance(value, np.complexfloating) or not 0 <= value <= LARGEST_DEMAND:
        raise ValueError(f"{entry} = {value!r}: costs must be numbers, not negative and at most {LARGEST_DEMAND:g}.")
    if same and value != 0:
        raise ValueError(f"{entry} = {value!r}: the right prediction must cost 0 (the diagonal of the matrix).")
