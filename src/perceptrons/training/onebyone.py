"""One example after another: what `learn_one` and `predict_one` prepare once, so that each then takes microseconds.

Only the usual is here: single labels, weights that are averaged or the last, a known class, features that are known.
`learn` and `predict` give up (False, None) on all else, and the estimator goes its general way, which also says what is
wrong with an example; what it learns or answers is the same to the bit. Everything here is good as long as it `fits`.
"""

import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from perceptrons.passes.one import MISTAKE, OVERFLOWED, REFUSED, UPDATE, binary_one, multiclass_one
from perceptrons.training.choices import OF_ONE_EXAMPLE
from perceptrons.training.inputs import known_part, largest
from perceptrons.training.learning import MANY_CLASSES, Counts, check_overflow
from perceptrons.training.method import Method

LABELS = frozenset((str, int, bool, np.str_, np.bool_, np.int64, np.int32))  # types of labels that need no other look
ROWS = frozenset((list, tuple, np.ndarray))
NO_COLUMNS = np.empty(0, np.int32)
FIRST = np.zeros(1, np.int64)  # the order of one example


@lru_cache(maxsize=1024)
def _packing(kind: str, n: int) -> Any:
    """Writes n numbers into an array. struct takes all that is a number, and no string."""
    return struct.Struct(f"{n}{kind}").pack_into


class Ready:
    """What both share: a fitted estimator as it was when an example went the general way."""

    def __init__(self, estimator: Any) -> None:
        learner = estimator._learner
        self.choices, self.cost = OF_ONE_EXAMPLE(estimator), estimator.cost
        self.columns, self.classes = estimator.__dict__.get("_columns"), learner.classes
        self._place = {}.__getitem__ if self.columns is None else self.columns.__getitem__
        self._dtype, self._kind = learner.dtype, "f" if learner.dtype == np.float32 else "d"
        self._limit = largest(learner.dtype, estimator._growth())

    def fits(self, estimator: Any, learner: Any) -> bool:
        """Is all that this was made of still so: parameters, classes, names of columns?

        The weights are looked up for every example, so that they may grow, be arranged or be restored.
        """
        return bool(
            OF_ONE_EXAMPLE(estimator) == self.choices
            and estimator.cost is self.cost
            and learner.classes is self.classes
            and estimator.__dict__.get("_columns") is self.columns
        )

    def __reduce__(self) -> Any:
        return type(None), ()  # a copy of the model, or one in another process, gets ready by itself

    def row(self, x: Any, n_features: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Values and columns of a dict of known features, or a Dense row and no columns; None: read it as any other."""
        if type(x) is dict:
            n = len(x)
            values, columns = np.empty(n, self._dtype), np.empty(n + 2, np.int32)
            try:
                _packing(self._kind, n)(values, 0, *x.values())
                _packing("i", n)(columns, 0, *map(self._place, x))
            except (KeyError, struct.error, OverflowError):  # a new feature, a string or something else, a huge number
                return None
            return values, columns
        if type(x) not in ROWS:
            return None
        try:
            values = np.array(x, self._dtype, ndmin=2)
        except (TypeError, ValueError, OverflowError):
            return None
        return (values, NO_COLUMNS) if values.shape == (1, n_features) else None


class ReadyToLearn(Ready):
    """Learns from an example what `Learner.learn_block` would."""

    def __init__(self, estimator: Any, method: Method) -> None:
        super().__init__(estimator)
        learner, weights = estimator._learner, estimator._learner.weights
        self.able = (
            learner.form == "single"
            and not learner.has_problems
            and learner.votes is None
            and not weights.has_pocket
        )
        binary, last = weights.n_rows == 1, len(self.classes) - 1
        codes = enumerate(self.classes.tolist())
        self._labels = {
            label: np.array([(1 if code == last else -1) if binary else code], np.int8 if binary else np.int32)
            for code, label in codes
        }
        self._pass = binary_one if binary else multiclass_one
        self._dense = weights.n_rows < MANY_CLASSES  # beyond, dense rows are learned by blocks
        self._method, self._general = method, None if method.step == "constant" and method.shrink == 0 else True
        self._settings = np.array([*method.rule(self._dtype), weights.one, self._limit])
        self._no_sigma = np.empty((weights.n_rows, 0), self._dtype), np.empty(0, self._dtype)

    def learn(self, estimator: Any, learner: Any, x: Any, y: Any) -> bool:
        """Learn from one example; False: nothing was done."""
        if not self.able or estimator.class_weight is not None or type(y) not in LABELS:
            return False
        label, weights = self._labels.get(y), learner.weights
        if label is None:
            return False
        found = self.row(x, weights.n_features)
        if found is None:
            if not isinstance(x, Mapping):
                return False
            rows, new = estimator._one_row(x)
            if new:
                return False
            rows = estimator._once(rows)
            found = rows.values, np.append(rows.columns, rows.starts)
        values, columns = found
        sparse = values.ndim == 1
        if weights.order != ("F" if sparse else "C") or not (sparse or self._dense):
            return False
        a = weights.arrays
        sigma = (a["sigma_w"], a["sigma_b"]) if "sigma_w" in a else self._no_sigma
        learner.changed()
        done = self._pass(
            values, columns, label, FIRST, self._settings, self._general, self._method.cost,
            a["w"], a["b"], a["late_w"], a["late_b"], a["clock"], a["t"], *sigma,
        )  # fmt: skip
        if done == REFUSED:
            return False
        if done:
            check_overflow(Counts(0, 0, 0.0, done == OVERFLOWED), self._method, self._dtype)
            learner.mistakes += done & MISTAKE
            learner.updates += done // UPDATE
        return True


class ReadyToPredict(Ready):
    """Answers what `Learner.score_one` and `Learner.winners` would."""

    def __init__(self, estimator: Any) -> None:
        super().__init__(estimator)
        learner = estimator._learner
        self.able = (
            learner.form == "single"
            and estimator.combine in ("average", "last")
            and len(self.classes) > 1
            and not (learner.scheme == "ovo" and len(self.classes) > 2)
        )
        self._answers = self.classes.tolist()
        self._average, self._positive = estimator.combine == "average", estimator.zero_score == "positive"

    def predict(self, estimator: Any, learner: Any, x: Any) -> Any:
        """The class of one example; None: ask in the general way."""
        if not self.able:
            return None
        found = self.row(x, learner.n_features)
        if found is None:
            s = learner.row_scores(known_part(*estimator._one_row(x)), self._average)
        else:
            values, columns = found
            if values.ndim == 2:
                values, columns = values[0], np.arange(values.shape[1], dtype=np.int32)
            s = learner.weights.scores(values, columns, self._average, self._limit)
        if s is None:
            return None
        if len(s) > 1:
            return self._answers[s.argmax()]
        score = s.item()
        return self._answers[score >= 0 if self._positive else score > 0]
