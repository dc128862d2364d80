"""The fast path of `learn_one` and `predict_one`, which prepares once what all examples share.

It takes the usual examples: single labels of known classes, known features, averaged or last weights. For all others
`learn` returns False and `predict` None, nothing has happened, and the estimator goes the general way, which also
raises the errors. Both ways call the same compiled pass, so they learn the same to the bit.

What is prepared is kept by the learner, and used as long as it `fits`: a change of parameters, classes or feature names
makes the estimator prepare it again. Copies and pickles of a model do not hold it.
"""

import struct
from collections.abc import Mapping
from math import hypot
from typing import Any

import numpy as np

from perceptrons.engine.passes.one_example import MISTAKE, OVERFLOWED, UPDATE, binary_one, multiclass_one
from perceptrons.engine.rows import Dense
from perceptrons.engine.training.epochs import Counts
from perceptrons.engine.training.inputs import NOT_REAL, entries, known_part, largest
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import Target, check_order
from perceptrons.engine.training.one_pass import MANY_CLASSES, check_overflow
from perceptrons.engine.training.parameters import OF_ONE_EXAMPLE
from perceptrons.engine.training.rule import Method

LABELS = frozenset((str, int, bool, np.str_, np.bool_, np.int64, np.int32))  # types of labels that need no other look
ROWS = frozenset((list, tuple, np.ndarray))
NOT_PLAIN = NOT_REAL | ROWS  # types of values of a list that need a closer look
REAL_KINDS = frozenset("biuf")
COLUMN = np.dtype(np.int32)
NO_COLUMNS = np.empty(0, COLUMN)
FIRST = np.zeros(1, np.int64)  # the order of one example


class Packing(dict[int, Any]):
    """By n, what writes n numbers into an array. struct takes all that is a number, and no string."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, n: int) -> Any:
        self[n] = struct.Struct(f"{n}{self._kind}").pack_into
        return self[n]


class Starts(dict[int, np.ndarray]):
    """By n, where a lone row of n features starts and ends."""

    def __missing__(self, n: int) -> np.ndarray:
        self[n] = np.array([0, n], COLUMN)
        return self[n]


STARTS = Starts()
PACK_COLUMNS, PACK_VALUES = Packing("i"), {np.dtype(np.float32): Packing("f"), np.dtype(np.float64): Packing("d")}


class Ready:
    """What learning and predicting share. Made after an example went the general way: the parameters are checked."""

    def __init__(self, estimator: Any) -> None:
        learner = estimator._learner
        self.choices, self.cost = OF_ONE_EXAMPLE(estimator), estimator.cost
        self.columns, self.classes = getattr(estimator, "_columns", None), learner.classes
        self.epoch, self.spread = learner.epoch, learner.spread
        self._dtype, self._pack_values = learner.dtype, PACK_VALUES[learner.dtype]
        self._limit = largest(learner.dtype, estimator._growth())

    def fits(self, estimator: Any, learner: Any) -> bool:
        """Are parameters, classes and feature names those that this was made of?

        Weights are not asked for: they are looked up for every example, and may grow or move in memory.
        """
        return bool(
            OF_ONE_EXAMPLE(estimator) == self.choices
            and estimator.cost is self.cost
            and learner.classes is self.classes
            and learner.epoch == self.epoch
            and learner.spread == self.spread
            and getattr(estimator, "_columns", None) is self.columns
        )

    def __reduce__(self) -> Any:
        return type(None), ()  # copied or pickled, it is None: the copy prepares its own

    def row(self, x: Any, n_features: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Values and columns of a dict of known features, or a Dense row and NO_COLUMNS. None: `_one_row` must read it.

        The values may still be 0, NaN or too large. Nothing is shared between calls, as threads may predict at once.
        """
        if type(x) is dict and self.columns is not None:
            if not NOT_REAL.isdisjoint(map(type, x.values())):
                return None
            n = len(x)
            values, columns = np.empty(n, self._dtype), np.empty(n, COLUMN)
            try:
                self._pack_values[n](values, 0, *x.values())
                PACK_COLUMNS[n](columns, 0, *map(self.columns.__getitem__, x))
            except (KeyError, struct.error, OverflowError):  # a new feature, a string or something else, a huge number
                return None
            return values, columns
        if type(x) not in ROWS or not (
            x.dtype.kind in REAL_KINDS if type(x) is np.ndarray else NOT_PLAIN.isdisjoint(map(type, x))
        ):
            return None
        try:
            values = np.array(x, self._dtype, ndmin=2)
        except (TypeError, ValueError, OverflowError):
            return None
        return (values, NO_COLUMNS) if values.shape == (1, n_features) else None


class ReadyToLearn(Ready):
    """Learns from an example what `LinearLearner.learn_block` would."""

    def __init__(self, estimator: Any, method: Method) -> None:
        super().__init__(estimator)
        learner, weights = estimator._learner, estimator._learner.weights
        self.able = (
            learner.form == "single" and not learner.has_problems and learner.votes is None and not weights.has_pocket
        )
        self.able = self.able and learner.spread > 0  # which the general way finds out
        self.able = self.able and not method.l1  # it would need the weights of other features, too
        binary = weights.n_rows == 1
        codes = learner.pass_labels(np.arange(len(self.classes), dtype=np.int32)) if self.able else []
        self._labels = {label: codes[k : k + 1].copy() for k, label in enumerate(self.classes.tolist()[: len(codes)])}
        self._pass: Any = binary_one if binary else multiclass_one
        self._dense = weights.n_rows < MANY_CLASSES  # beyond, dense rows are learned by blocks
        self._method, self._general = method, None if method.is_plain else True
        self._rule = np.array(method.rule(self._dtype))
        self._no_sigma = np.empty((weights.n_rows, 0), self._dtype), np.empty(0, self._dtype)

    def _features(self, estimator: Any, x: Any, n_features: int) -> Any:
        """What `row` gives, checked and without zeros, else what `_one_row` makes of a dict; None: new features."""
        found = self.row(x, n_features)
        if found is None and (short := without_zeros(x)) is not None:
            x, found = short, self.row(short, n_features)
        if found is not None:
            values, columns = found
            if columns is NO_COLUMNS:
                sound = np.abs(values).max(initial=0) <= self._limit
            else:
                sound = hypot(*x.values()) <= self._limit  # the length of the row: NaN if one of the values is
                if not all(x.values()):
                    there = np.fromiter(map(bool, x.values()), bool, len(x))
                    values, columns = values[there], columns[there]
            if sound:
                return values, columns
        if isinstance(x, Mapping) and self.columns is not None:
            rows, new = estimator._one_row(x)
            if not new:
                return estimator._once(rows)[:2]
        return None

    def learn(self, estimator: Any, learner: Any, x: Any, y: Any) -> bool:
        """Learn from one example; False: nothing was done."""
        if not self.able or estimator.class_weight is not None or type(y) not in LABELS:
            return False
        label, weights = self._labels.get(y), learner.weights
        if label is None:
            return False
        found = self._features(estimator, x, weights.n_features)
        if found is None:
            return False
        values, columns = found
        sparse = values.ndim == 1
        if weights.order != ("F" if sparse else "C") or not (sparse or self._dense):
            return False
        a = weights.arrays
        sigma = (a["sigma_w"], a["sigma_b"]) if "sigma_w" in a else self._no_sigma
        learner.changed()
        done = self._pass(
            values, columns, STARTS[len(columns)], label, FIRST, self._rule, self._general, self._method.cost,
            a["w"], a["b"], a["late_w"], a["late_b"], a["clock"], a["t"], *sigma, weights.one,
            learner.begin_to_follow(self._method),
        )  # fmt: skip
        if done:
            if done == OVERFLOWED:
                check_overflow(Counts(overflowed=True), self._method, self._dtype)
            learner.mistakes += int(done & MISTAKE)  # plain numbers, though nothing be compiled
            learner.updates += int(done // UPDATE)
        return True


class ReadyToPredict(Ready):
    """Answers what `LinearLearner.score_one` and `LinearLearner.winners` would."""

    def __init__(self, estimator: Any) -> None:
        super().__init__(estimator)
        learner = estimator._learner
        self.able = (
            learner.form == "single"
            and estimator.combine in ("average", "recent", "last")
            and len(self.classes) > 1
            and not (learner.scheme == "ovo" and len(self.classes) > 2)
        )
        self._answers = self.classes.tolist()
        self._combine, self._positive = estimator.combine, estimator.zero_score == "positive"

    def predict(self, estimator: Any, learner: Any, x: Any) -> Any:
        """The class of one example; None: ask in the general way."""
        if not self.able:
            return None
        weights = learner.weights
        found = self.row(x, weights.n_features)
        if found is None and (short := without_zeros(x)) is not None:
            found = self.row(short, weights.n_features)
        if found is None:
            found = entries(known_part(*estimator._one_row(x)))
        elif found[1] is NO_COLUMNS:
            found = entries(Dense(found[0]))
        s = weights.scores(*found, learner.deciding(self._combine) != "last", self._limit)
        score = s.item(0)
        if score != score:
            return None
        if len(s) > 1:
            return self._answers[s.argmax()]
        if learner.threshold is not None:
            return self._answers[score >= learner.threshold]
        return self._answers[score >= 0 if self._positive else score > 0]


def without_zeros(x: Any) -> dict[str, Any] | None:
    """A dict without its zeros: a feature that has always been 0, as one that never varied and was scaled, has no
    column yet. None: it has none."""
    if type(x) is not dict or 0 not in x.values():
        return None
    return {name: value for name, value in x.items() if value or type(value) not in (float, int)}


def learn_any(estimator: Any, x: Any, y: Any) -> None:
    """Learn from one example of any kind, and prepare the short way for the next."""
    estimator._check_again()
    estimator._refuse_balanced()
    estimator._refuse_early_stopping()
    if estimator.batch_size != 1:
        raise ValueError(
            f"learn_one learns from one example, not from batch_size={estimator.batch_size!r}: use partial_fit."
        )
    target = estimator._one_target(y)
    weight, by_label = target.weights(None, estimator.class_weight, stream=True)
    rows = _met(estimator, x, target)
    learner = estimator._learner
    estimator._measure(rows)
    method = estimator._method_for(target.classes).in_epoch(learner.epoch)
    learner.meet_classes(target.classes)
    learner.learn_block(learner.examples(estimator._once(rows), target, weight, by_label), method)
    if learner.ready_to_learn is None or not learner.ready_to_learn.fits(estimator, learner):
        method = estimator._method_for(learner.classes).in_epoch(learner.epoch)
        learner.ready_to_learn = ReadyToLearn(estimator, method)


def _met(estimator: Any, x: Any, target: Target) -> Any:
    """Return the rows of one example, after creating the model or making room for what is new in the example."""
    first = not hasattr(estimator, "_learner")
    rows, new = estimator._one_row(x, learning=True)
    with Uninterrupted(first or bool(new)):
        if first:
            n_features = len(new) if isinstance(x, Mapping) else np.shape(x)[-1]
            estimator._begin(target, rows, n_features, estimator._units(rows))
            estimator.n_features_in_ = estimator._learner.weights.n_features
        estimator._name_features(x, new)
    return rows


def begun_by(estimator: Any, x: Any) -> Any:
    """A model that knows its classes and nothing else, as it would begin to learn from this example."""
    estimator._check_again()
    _met(estimator, x, Target("single", check_order(estimator.classes), np.zeros(0, np.int32)))
    return estimator
