"""The fast path of `learn_one` and `predict_one`, which prepares once what all examples share.

It takes the usual examples: one label of a known class, known features, averaged or last weights. The others take the
general path, which reads everything and raises the errors. Both call the same compiled pass and learn the same bits.
"""

from functools import cache
from math import hypot
from typing import Any

import numpy as np

from perceptrons.engine.passes.one_example import MISTAKE, OVERFLOWED, UPDATE, binary_one, multiclass_one
from perceptrons.engine.training.epochs import Counts
from perceptrons.engine.training.inputs import NOT_REAL, ROW_TYPES, Growth, known_numbers, largest
from perceptrons.engine.training.learner import LinearLearner
from perceptrons.engine.training.one_pass import MANY_CLASSES, check_overflow
from perceptrons.engine.training.parameters import OF_ONE_EXAMPLE
from perceptrons.engine.training.rule import Method

LABEL_TYPES = frozenset((str, int, bool, np.str_, np.bool_, np.int64, np.int32))  # these equal what the classes hold
NOT_PLAIN = NOT_REAL | ROW_TYPES  # types of values in a list that need a closer look
NO_COLUMNS = np.empty(0, np.int32)
FIRST = np.zeros(1, np.int64)  # the order of one example


@cache
def row_bounds(n: int) -> np.ndarray:
    """Return where a single sparse row of n entries starts and ends."""
    return np.array([0, n], np.int32)


class FastPath:
    """A linear model prepared for single examples, by the estimator's parameters and the names of its features.

    Weights are looked up for every example, because they may grow or move in memory. `method` is None if the path only
    predicts. Nothing is shared between calls, because several threads may predict at once.
    """

    def __init__(
        self, estimator: Any, learner: LinearLearner, columns: dict[str, int] | None, growth: Growth,
        method: Method | None = None,
    ):  # fmt: skip
        self.params, self.cost, self.columns = OF_ONE_EXAMPLE(estimator), estimator.cost, columns
        self.learner, self.classes, self.epoch, self.spread = learner, learner.classes, learner.epoch, learner.spread
        self.dtype, weights, is_single = learner.dtype, learner.weights, learner.form == "single"
        self.limit = largest(self.dtype, growth)
        self.predicts = (
            is_single
            and estimator.combine in ("average", "recent", "last")
            and len(self.classes) > 1
            and not (learner.scheme == "ovo" and len(self.classes) > 2)
        )
        self._answers, self._combine = self.classes.tolist(), estimator.combine
        self._is_positive_at_zero, self.method = estimator.zero_score == "positive", method
        self.labels: dict[Any, np.ndarray] = {}  # what the pass takes for each class; empty if this path cannot learn
        has_extras = learner.has_problems or learner.votes is not None or weights.has_pocket
        # The general path finds the spread. An L1 penalty also needs the weights of other features.
        if method is not None and is_single and not has_extras and learner.spread > 0 and not method.l1:
            codes = learner.pass_labels(np.arange(len(self.classes), dtype=np.int32))
            self.labels = {label: codes[k : k + 1].copy() for k, label in enumerate(self._answers)}
            self._rule, self._general = np.array(method.rule(self.dtype)), None if method.is_plain else True
            self._pass: Any = binary_one if weights.n_rows == 1 else multiclass_one
            self._no_sigma = np.empty((weights.n_rows, 0), self.dtype), np.empty(0, self.dtype)

    def fits(self, estimator: Any, learner: LinearLearner, columns: dict[str, int] | None) -> bool:
        """Return whether parameters, classes and feature names are those that this was prepared for."""
        return (
            learner is self.learner
            and learner.classes is self.classes
            and learner.epoch == self.epoch
            and learner.spread == self.spread
            and columns is self.columns
            and estimator.cost is self.cost
            and OF_ONE_EXAMPLE(estimator) == self.params
        )

    def read(self, x: Any, learning: bool = False) -> tuple[np.ndarray, np.ndarray] | None:
        """Return values and columns of a dict, or a matrix of one dense row and NO_COLUMNS.

        None: the general path must read it. The numbers may still be NaN or too large, but those of a dict to learn
        from are checked, and without zeros.
        """
        if type(x) is dict and self.columns is not None:
            row = known_numbers(x, self.columns, self.dtype)
            if row is None and 0 in x.values():  # a feature that has always been 0 has no column
                x = {name: value for name, value in x.items() if value or type(value) not in (float, int)}
                row = known_numbers(x, self.columns, self.dtype)
            if row is None or not learning:
                return row
            if not hypot(*x.values()) <= self.limit:  # the length of the row: NaN if one of the values is
                return None
            if all(x.values()):
                return row
            nonzero = np.fromiter(map(bool, x.values()), bool, len(x))
            return row[0][nonzero], row[1][nonzero]
        is_plain = x.dtype.kind in "biuf" if type(x) is np.ndarray else type(x) in ROW_TYPES
        if not is_plain or (type(x) is not np.ndarray and not NOT_PLAIN.isdisjoint(map(type, x))):
            return None
        try:
            values = np.array(x, self.dtype, ndmin=2)
        except (TypeError, ValueError, OverflowError):
            return None
        return (values, NO_COLUMNS) if values.shape == (1, self.learner.weights.n_features) else None

    def learn(self, values: np.ndarray, columns: np.ndarray, label: np.ndarray) -> bool:
        """Learn from one example what `LinearLearner.learn_block` would. Return False if nothing was done."""
        learner, weights = self.learner, self.learner.weights
        if values.ndim == 1:
            if weights.order != "F":
                return False
        elif weights.order != "C" or weights.n_rows >= MANY_CLASSES or not np.abs(values).max(initial=0) <= self.limit:
            return False  # beyond MANY_CLASSES, dense rows are learned by blocks
        a, method = weights.arrays, self.method
        assert method is not None
        sigma = (a["sigma_w"], a["sigma_b"]) if "sigma_w" in a else self._no_sigma
        learner.changed()
        result = self._pass(
            values, columns, row_bounds(len(columns)), label, FIRST, self._rule, self._general, method.cost,
            a["w"], a["b"], a["lazy_sum_w"], a["lazy_sum_b"], a["state"], a["t"], *sigma, weights.one,
            learner.begin_to_follow(method),
        )  # fmt: skip
        if result == OVERFLOWED:
            check_overflow(Counts(overflowed=True), method, self.dtype)
        if result:
            learner.mistakes += int(result & MISTAKE)  # plain numbers also where nothing is compiled
            learner.updates += int(result // UPDATE)
        return True

    def predict(self, values: np.ndarray, columns: np.ndarray) -> Any:
        """Return the class that `score_one` and `winners` give; None if a value is NaN or too large."""
        learner = self.learner
        if values.ndim == 2:
            values, columns = values[0], np.arange(values.shape[1], dtype=np.int32)
        s = learner.weights.scores(values, columns, learner.deciding(self._combine) != "last", self.limit)
        score = s.item(0)
        if score != score:
            return None
        if len(s) > 1:
            return self._answers[s.argmax()]
        if learner.threshold is not None:
            return self._answers[score >= learner.threshold]
        return self._answers[score >= 0 if self._is_positive_at_zero else score > 0]
