"""A linear model during training: weights, votes, classes and counters; and the same with its training set."""

from collections.abc import Iterable, Iterator
from functools import cache
from math import hypot
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from perceptrons.engine.passes.one_example import MISTAKE, OVERFLOWED, UPDATE, binary_one, multiclass_one
from perceptrons.engine.passes.steps import Examples
from perceptrons.engine.rows import Rows, Sparse
from perceptrons.engine.training.calibration import Calibration
from perceptrons.engine.training.epochs import Counts, Outcome, Trainee, pieces
from perceptrons.engine.training.inputs import (
    NOT_REAL_TYPES,
    ROW_TYPES,
    Growth,
    as_configured,
    as_numbers,
    as_read_only,
    entries,
    known_numbers,
    largest,
    read_only,
)
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import Target, same_form, winners
from perceptrons.engine.training.memory import Size, check_room
from perceptrons.engine.training.one_pass import (
    MIN_CLASSES_FOR_BLOCKS,
    MIN_EXAMPLES_TO_REORDER,
    PIECE_OPERATIONS,
    at_rest,
    check_overflow,
    judge_last,
    learn,
    mistakes_of,
    piece_size,
)
from perceptrons.engine.training.parameters import (
    OF_ONE_EXAMPLE,
    ZERO_WHEN_PREDICTING,
    LinearParameters,
    Method,
    scaling_of,
)
from perceptrons.engine.training.schemes import (
    class_problems,
    class_scores,
    has_problems,
    label_problems,
    n_rows,
    row_places,
)
from perceptrons.engine.training.units import Units
from perceptrons.engine.training.votes import Votes, take
from perceptrons.engine.training.weights import LATE, SettlingAverage, Weights, first_weights

LABEL_TYPES = frozenset((str, int, bool, np.str_, np.bool_, np.int64, np.int32))  # these equal what the classes hold
TYPES_TO_CHECK = NOT_REAL_TYPES | ROW_TYPES  # types of values in a list that need a closer look
NO_COLUMNS = np.empty(0, np.int32)
ONE_EXAMPLE = np.zeros(1, np.int64)  # the order of one example
LOOKUP_COST = 16  # averaging one weight that is looked up costs about as much as this many in a row
MAX_PAIR_SCORES = 2**23  # scores of pairs of classes held at once while predicting


class ReadOnlyWeights(NamedTuple):
    """Weights that users read: arrays that cannot be written."""

    weights: np.ndarray
    intercept: np.ndarray
    coef: Any  # the weights, or a sparse matrix of them


class LinearLearner:
    """Everything that training changes, and all that is needed to keep training: this is what a model file holds."""

    sparse_coef = False  # are weights shown as a sparse matrix?
    threshold: float | None = None  # of two classes: the score from which on the second is answered, see winners
    calibration: Calibration | None = None

    def __init__(
        self, weights: Weights, votes: Votes | None, classes: np.ndarray, scheme: str, form: str, init: str, seed: int
    ):
        self.weights, self.votes, self.classes = weights, votes, classes
        self.form = form  # of the labels, see labels.py
        self.scheme, self.init, self.seed = scheme, init, seed  # scheme: see schemes.py
        self.rng = np.random.default_rng(seed)  # of the orders
        self.spread = (
            1.0  # of the examples that it began with, see units.py; 0: they were all 0, and it is not known yet
        )
        self.epochs = 0  # full passes made by fit since the start
        self.mistakes = 0  # all mistakes made while learning, before each was learned from
        self.updates = 0
        self._codes: dict[Any, int] | None = None
        self._average: tuple[np.ndarray, np.ndarray] | None = None
        self._n_looked_up = 0  # averaged weights that were computed one by one since something was learned
        self._shown: dict[str, ReadOnlyWeights] = {}

    @classmethod
    def begin(
        cls, estimator: LinearParameters, target: Target, rows: Rows, n_features: int, units: Units, seed: int,
        coef: Any = None, bias: Any = None,
    ) -> "LinearLearner":  # fmt: skip
        """Return a model that has seen no example, by the estimator's parameters, and by coef and bias if given."""
        e, dtype = estimator, rows.values.dtype
        scheme, n_classes = "labels" if target.several else e.multiclass, len(target.classes)
        has_pocket, has_votes, has_sigma = e.combine == "pocket", e.combine == "vote", e.step == "arow"
        shape = (n_rows(scheme, n_classes), n_features)
        weight_size = dtype.itemsize * (1 + has_pocket + has_votes + has_sigma) + LATE
        check_room(Size(scheme, n_classes, n_features, weight_size))
        order: Literal["C", "F"] = "F" if isinstance(rows, Sparse) and scheme != "ovo" else "C"
        w, b = initial_weights(e, shape, dtype, seed, coef, bias, order)
        scaling = scaling_of(e)
        one = (units.constant if scaling is None else scaling) ** 2 if e.fit_intercept else 0.0
        weights = Weights(w, b, one=one, pocket=has_pocket, start=has_votes, sigma=has_sigma)
        if scheme == "ovo" and n_classes > 2:
            weights.separate_states()
        learner = cls(weights, Votes() if has_votes else None, target.classes, scheme, target.form, e.init, seed)
        learner.spread = units.spread
        return learner

    @property
    def dtype(self) -> np.dtype:
        return self.weights.dtype

    @property
    def n_features(self) -> int:
        return self.weights.n_features

    @property
    def t(self) -> float:
        return self.weights.t

    def trained(self, outcome: Outcome) -> None:
        """Add the counts of a finished loop over epochs."""
        self.mistakes += outcome.count("mistakes")
        self.updates += outcome.count("updates")
        self.epochs += len(outcome.history)
        self.changed()

    @property
    def epoch(self) -> int:
        """The epoch that blocks count as: that which the last fit ended with, at least the first."""
        return max(1, self.epochs)

    @property
    def decisions(self) -> int:
        """How many answers there are to an example: one, or one for every binary problem that it is in."""
        return (self.weights.n_rows if self.scheme != "ovo" else len(self.classes) - 1) if self.has_problems else 1

    @property
    def has_problems(self) -> bool:
        """Are the rows of weights binary problems, each on its own?"""
        return has_problems(self.scheme, len(self.classes))

    def code(self, label: Any) -> int | None:
        """Return the number of a class, None if it is not known."""
        if self._codes is None:
            self._codes = {known: number for number, known in enumerate(self.classes.tolist())}
        return self._codes.get(label)

    def examples(self, rows: Rows, target: Target, weight: np.ndarray | None, by_label: np.ndarray | None) -> Examples:
        """Return what the pass takes; for a binary model the labels are -1 and +1 (a lone class is +1)."""
        rows, weight = as_read_only(rows), None if weight is None else read_only(weight)
        if target.indicator is not None:
            codes, problems = label_problems(target.indicator)
            if by_label is not None:
                self.weights.separate_states()
            return Examples(rows, read_only(codes), weight, problems, by_label)
        if self.has_problems:
            codes, problems = target.codes, class_problems(self.scheme, len(self.classes))
            return Examples(rows, read_only(codes), weight, problems)
        return Examples(rows, read_only(self.pass_labels(target.codes)), weight)

    def pass_labels(self, codes: np.ndarray) -> np.ndarray:
        """Return class numbers as the passes take them: -1 and +1 for a binary model."""
        if self.weights.n_rows > 1:
            return codes
        return np.where(codes == len(self.classes) - 1, 1, -1).astype(np.int8)

    def meet_classes(self, classes: np.ndarray) -> None:
        """Make room for classes not known yet; `classes` holds the known ones too, sorted.

        A model of one class is a binary one in which that class is the positive one, until a second appears.
        A binary model becomes rows (-w, w) when a third does, which is the same model.
        """
        if len(classes) != len(self.classes):
            check_room(self._size._replace(n_classes=len(classes)), self._size)
            with Uninterrupted():
                self._add_classes(classes)

    def _add_classes(self, classes: np.ndarray) -> None:
        if len(self.classes) == 1 and self.scheme != "labels":
            second = next(label for label in classes if label != self.classes[0])
            pair = np.sort(np.array([self.classes[0], second], dtype=classes.dtype))
            if pair[1] == second:  # the class so far turns out to be the negative one
                self.weights.negate()
                if self.votes is not None:
                    self.votes.rename_classes(np.array([1, 0]))
            self.classes = pair
        if len(classes) > len(self.classes):
            self.threshold = self.calibration = None
            places = np.searchsorted(classes, self.classes)
            if len(places) == 2 and self.scheme in ("joint", "ovr"):
                self.weights.split()
            rows, number = row_places(self.scheme, places, len(classes)), n_rows(self.scheme, len(classes))
            self.weights.grow_rows(rows, number, self.init, self.seed, anew=self.scheme == "ovo")
            if self.votes is not None:
                self.votes.rename_classes(places)
        self.classes, self._codes = classes, None
        self.changed()

    def meet_features(self, n_features: int) -> None:
        if n_features > self.weights.n_features:
            check_room(self._size._replace(n_features=n_features), self._size)
            self.weights.grow_features(n_features, self.init, self.seed)
            self.changed()

    @property
    def _size(self) -> Size:
        return Size(self.scheme, len(self.classes), self.n_features, self.weights.weight_size)

    def learn_block(self, examples: Examples, method: Method) -> None:
        """Make one pass over new examples in their order; the pocket is judged on them."""
        n = len(examples.y)
        parts = pieces(np.arange(n), piece_size(examples, self.weights, PIECE_OPERATIONS, method.batch))
        # for a single example that Ctrl-C would take from the count only, handling signals costs as much as learning
        with Uninterrupted(n > 1 or self.votes is not None) as hold:
            for _ in self.learning_block(examples, method, parts, are_new=True):
                hold.let()

    def begin_to_follow(self, method: Method) -> np.ndarray | None:
        """Return the record to keep while learning from new examples; None if this model does not follow them.

        Only the average of a model that was fitted has to: one that learned online began with its stream.
        """
        if method.follows and self.epochs and self.votes is None and not self.weights.has_pocket:
            return self.weights.start_record()
        self.weights.drop_record()
        return None

    def learning_block(
        self, examples: Examples, method: Method, parts: Iterable[np.ndarray], are_new: bool = False
    ) -> Iterator[tuple[np.ndarray, Counts]]:
        """Learn from the examples of a block part by part; the pocket is judged on the block.

        are_new: are the examples seen for the first time, after a fit or by a model that learns online?
        """
        record = self.begin_to_follow(method) if are_new else None
        every = np.arange(len(examples.y))
        support_of_row = np.full(len(every) if self.votes else 0, -1)
        self.weights.forget_judgement()
        self.changed()
        for part in parts:
            counts = learn(
                self.weights, examples, part, method, judged_on=every, votes=self.votes,
                support_of_row=support_of_row, record=record,
            )  # fmt: skip
            self.mistakes += counts.mistakes
            self.updates += counts.updates
            yield part, counts
            check_overflow(counts, method, self.weights.dtype)
        judge_last(self.weights, examples, every, method.zero_score)

    def changed(self) -> None:
        """Forget what was computed from the weights, because they change."""
        self._average, self._n_looked_up = None, 0
        if self._shown:
            self._shown = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_shown": {}}  # a copy makes its own: arrays that are unpickled could be written

    def average(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the averaged weights; computed once until something is learned."""
        if self._average is None:
            self._average = self.weights.average()
        return self._average

    def _average_of_used_features(self, X: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return rows and averaged weights that give the scores of X: of its own features alone if that is less work.

        A stream predicts a few rows, learns, predicts: averaging all weights each time would cost the size of the
        model. The products are the same numbers in the same order, so the scores are the same to the bit.
        """
        self._n_looked_up += X.nnz
        if self._n_looked_up * LOOKUP_COST > self.weights.n_features:
            return X, *self.average()
        columns, places = np.unique(X.indices, return_inverse=True)
        rows = sp.csr_matrix((X.data, places.astype(X.indices.dtype), X.indptr), (X.shape[0], len(columns)))
        return rows, *self.weights.average(columns)

    def combine_now(self, combine: str) -> str:
        """Return the weights that predict now: the last ones while they follow new examples better than the average."""
        return "last" if combine == "average" and self.weights.last_leads else combine

    def predicting(self, combine: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights that predict, not to be changed."""
        return self._weights_that(self.combine_now(combine))

    def _weights_that(self, combine: str) -> tuple[np.ndarray, np.ndarray]:
        if combine == "last":
            return self.weights.last()
        if combine == "vote":
            raise AttributeError("Voting predicts with many weight vectors: use coef_average_ or coef_last_ instead.")
        self.check_holds(combine, AttributeError)
        return self.weights.pocketed() if combine == "pocket" else self.average()

    def shown(self, combine: str) -> ReadOnlyWeights:
        """Return weights for users to read; made once until something is learned."""
        if combine not in self._shown:
            w, b = self._weights_that(combine)
            if combine in ("last", "pocket"):  # learning changes them in place
                w, b = w.copy(order="K"), b.copy()
            w, b = read_only(w), read_only(b)
            self._shown[combine] = ReadOnlyWeights(w, b, as_configured(sp.csr_matrix(w)) if self.sparse_coef else w)
        return self._shown[combine]

    def show_sparse(self, sparse: bool) -> None:
        self.sparse_coef, self._shown = sparse, {}

    def set_last(self, coef: Any = None, intercept: Any = None) -> None:
        """Set the last weights or biases; what was averaged so far stays, and from now on these count."""
        shape = (self.weights.n_rows, self.n_features)
        w = None if coef is None else shaped(coef, shape, self.dtype, "coef_")
        b = None if intercept is None else shaped(intercept, shape[:1], self.dtype, "intercept_")
        self.weights.set_last(w, b)
        self.changed()

    def check_holds(self, combine: str, error: type[Exception] = ValueError) -> None:
        """Raise an error if the model was created without what this way of predicting needs."""
        recent = self.weights.recent
        missing = {
            "vote": "votes" if self.votes is None else "",
            "pocket": "" if self.weights.has_pocket else "pocket",
            "average": "average of all weights" if recent else "",
            "recent": "recent average" if recent is False else "",
        }.get(combine)
        if missing:
            raise error(f"The model was not created with combine={combine!r} and holds no {missing}: fit it again.")

    def check_form(self, form: str, n_classes: int) -> None:
        """Raise ValueError if labels have another form than those the model was created with."""
        if form in ("array", "sparse") and self.form in ("array", "sparse") and n_classes != len(self.classes):
            raise ValueError(
                f"y has {n_classes} columns, but the model was created with {len(self.classes)}, one per label. To "
                "add labels later, give label sets."
            )
        if not same_form(self.form, form):
            kinds = {"single": "single labels", "array": "an indicator matrix", "sparse": "an indicator matrix"}
            old, new = (kinds.get(name, "label sets") for name in (self.form, form))
            raise ValueError(f"The model was created with {old}, but y is now {new}: fit it again.")

    def scores(self, X: Any, combine: str, zero_score: str) -> np.ndarray:
        """Return one score per row for two classes, one per class for more; shares of the votes for combine="vote"."""
        self.check_holds(combine)
        combine = self.combine_now(combine)
        if combine == "vote" and self.votes is not None:
            at_zero = zero_score == "positive"
            t = self.weights.t or 1.0  # before the first example the start alone votes
            return self.votes.shares(X, self.weights.start(), self.weights.one, t, at_zero)
        if combine in ("average", "recent") and self._average is None and sp.issparse(X):
            X, w, b = self._average_of_used_features(X)
        else:
            w, b = self.predicting(combine)
        size = max(1, MAX_PAIR_SCORES // len(b)) if self.scheme == "ovo" else max(1, X.shape[0])
        blocks = [X[start : start + size] for start in range(0, X.shape[0], size)] if X.shape[0] > size else [X]
        scores = [self._of_classes(safe_sparse_dot(x, w.T, dense_output=True) + b, zero_score) for x in blocks]
        return scores[0] if len(scores) == 1 else np.concatenate(scores)

    def score_one(self, rows: Rows, combine: str, zero_score: str) -> np.ndarray:
        """Return the `scores` of one row; last and averaged weights at the cost of its non-zeros."""
        if combine not in ("last", "average", "recent"):
            return self.scores(take(rows, np.zeros(1, np.intp), self.weights.n_features), combine, zero_score)
        self.check_holds(combine)
        s = self.weights.scores(*entries(rows), average=self.combine_now(combine) != "last")
        return self._of_classes(s.reshape(1, -1), zero_score)

    def _of_classes(self, s: np.ndarray, zero_score: str) -> np.ndarray:
        """Return scores of the rows of weights as scores of the classes; one score for a binary model."""
        if self.scheme == "ovo" and len(self.classes) > 2:
            return class_scores(s, len(self.classes), zero_score == "positive")
        return s.ravel() if s.shape[1] == 1 and self.scheme != "labels" else s

    def weighted_mistakes(self, examples: Examples, rows: np.ndarray, combine: str, zero_score: str) -> float:
        """Return the total weight of those of these examples that are predicted wrongly."""
        if not self.has_problems and combine != "vote":
            return mistakes_of(self.predicting(combine), examples, rows, ZERO_WHEN_PREDICTING[zero_score])
        X, y = take(examples.rows, rows, self.weights.n_features), examples.y[rows]
        several = self.scheme == "labels"  # learning is judged by the boundary that it moves, not by a threshold
        predicted = winners(self.scores(X, combine, zero_score), len(self.classes), several, zero_score == "positive")
        if self.scheme == "labels" and examples.problems is not None:
            is_wrong = (predicted != (examples.problems.sign[y] > 0)).any(axis=1)
        else:
            is_wrong = predicted != (y > 0 if self.weights.n_rows == 1 else y)
        return float(is_wrong.sum() if examples.weight is None else examples.weight[rows][is_wrong].sum())

    def winners(self, scores: np.ndarray, zero_score: str) -> np.ndarray:
        """Return the number of the winning class for every row of scores; for several labels a flag for each."""
        several = self.scheme == "labels"
        return winners(scores, len(self.classes), several, zero_score == "positive", self.threshold)

    def never_updated(self) -> np.ndarray:
        """Return a flag for every feature: are all its weights what they were at the start?

        The average remembers updates that the last weights took back, so both are compared. Updates that cancel in both
        cannot be found. A weight that the user gave to start from (`coef_init`) counts as updated. So does one that was
        drawn after training had started, or that an L2 penalty has changed.
        """
        w, _, lazy_sum, *_ = self.weights.linear()
        if self.votes is not None:
            start = self.weights.start()[0]
        elif self.init == "zeros":
            start = np.zeros(1, w.dtype)
        else:
            start, _ = first_weights(w.shape, w.dtype, self.init, self.seed, self.weights.one > 0)
        is_updated = ((w != start) | (lazy_sum != 0)).any(axis=0)
        if self.weights.has_sigma:  # AROW: certainty of a weight never comes back
            is_updated |= (self.weights.arrays["sigma_w"][:, : self.n_features] != 1).any(axis=0)
        return ~is_updated

    def snapshot(self) -> tuple[Any, Any]:
        """Return the weights and votes, to go back to."""
        return self.weights.snapshot(), None if self.votes is None else self.votes.snapshot()

    def restore(self, snapshot: tuple[Any, Any]) -> None:
        self.weights.restore(snapshot[0])
        if self.votes is not None:
            self.votes.restore(snapshot[1])
        self.changed()


class LinearTrainee(Trainee[LinearLearner]):
    """A linear model in training, on examples in memory or block by block."""

    average: SettlingAverage | None = None  # from the first call of `change` on

    def norm(self) -> float:
        return self.learner.weights.norm()

    def change(self) -> float:
        if self.average is None:
            self.average = SettlingAverage(self.learner.weights)
            return np.inf
        return self.average.change()


class LinearFit(LinearTrainee):
    """A linear model with its training set in memory.

    train: the examples to learn from; None is all. held_out: the examples to score `combine` on, if any.
    """

    def __init__(
        self, learner: LinearLearner, examples: Examples, method: Method, combine: str, train: np.ndarray | None,
        held_out: np.ndarray | None,
    ):  # fmt: skip
        self.learner, self.examples, self.method, self.combine = learner, examples, method, combine
        self.epoch_method = method  # with the margin of this epoch
        self.held_out = held_out
        self.judged_on = np.arange(len(examples.y)) if train is None else train
        self.support_of_row = np.full(len(examples.y) if learner.votes else 0, -1)  # for voting
        duels = examples.problems is not None and examples.problems.is_one_vs_one
        learner.weights.arrange(examples.rows, by_row=duels and len(self.judged_on) >= MIN_EXAMPLES_TO_REORDER)
        self.piece = piece_size(examples, learner.weights, PIECE_OPERATIONS, method.batch)

    def begin_epoch(self, epoch: int) -> None:
        self.epoch_method = self.method.in_epoch(epoch)

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        weights, votes, method = self.learner.weights, self.learner.votes, self.epoch_method
        for part in pieces(order, self.piece):
            counts = learn(
                weights, self.examples, part, method, judged_on=self.judged_on, votes=votes,
                support_of_row=self.support_of_row,
            )  # fmt: skip
            yield counts
            check_overflow(counts, method, weights.dtype)

    def end_epoch(self) -> None:
        judge_last(self.learner.weights, self.examples, self.judged_on, self.method.zero_score)

    def settled(self, row: dict[str, Any]) -> str:
        return at_rest(row, self.method, self.has_mistakes)

    def has_mistakes(self) -> bool:
        """Return whether the last weights, by which learning judges, predict a training example wrongly."""
        return self.learner.weighted_mistakes(self.examples, self.judged_on, "last", self.method.zero_score) > 0

    def accuracy(self) -> float:
        weight, held_out = self.examples.weight, self.held_out
        assert held_out is not None
        total = float(len(held_out) if weight is None else weight[held_out].sum())
        self.learner.changed()
        zero_score = self.method.zero_score
        return 1.0 - self.learner.weighted_mistakes(self.examples, held_out, self.combine, zero_score) / total


def initial_weights(
    estimator: LinearParameters, shape: tuple[int, int], dtype: Any, seed: int, coef: Any = None, bias: Any = None,
    order: Literal["C", "F"] = "C",
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the weights and biases that training starts from: those given, or by the parameter `init`."""
    w, b = first_weights(shape, dtype, estimator.init, seed, bool(estimator.fit_intercept), order=order)
    if coef is not None:
        w[:] = shaped(coef, shape, dtype, "coef_init")
    if bias is not None:
        b[:] = shaped(bias, shape[:1], dtype, "intercept_init")
    return w, b


def shaped(values: Any, shape: tuple[int, ...], dtype: Any, name: str) -> np.ndarray:
    """Return weights that a user gives, in this shape. Raise ValueError, with `name`, if they do not fit."""
    array = as_numbers(values, name)
    if array.size != np.prod(shape) or array.ndim > len(shape):
        raise ValueError(f"{name} has shape {array.shape}, but the model needs {shape}.")
    if not (np.abs(array) <= largest(dtype, Growth())).all():
        raise ValueError(f"{name} contains NaN, infinity or a number above {largest(dtype, Growth()):.0e}.")
    return array.reshape(shape)


# ---- single examples


@cache
def row_bounds(n: int) -> np.ndarray:
    """Return where a single sparse row of n entries starts and ends."""
    return np.array([0, n], np.int32)


class FastPath:
    """A linear model prepared for single examples, by the estimator's parameters and the names of its features.

    `learn_one` and `predict_one` take it for the usual examples: one label of a known class, known features, averaged
    or last weights. The others take the general path, which reads everything and raises the errors. Both call the same
    compiled pass and learn the same bits.

    Weights are looked up for every example, because they may grow or move in memory. `method` is None if the path only
    predicts. Nothing is shared between calls, because several threads may predict at once.
    """

    def __init__(
        self, estimator: LinearParameters, learner: LinearLearner, columns: dict[str, int] | None, growth: Growth,
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

    def fits(self, estimator: LinearParameters, learner: LinearLearner, columns: dict[str, int] | None) -> bool:
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
        if not is_plain or (type(x) is not np.ndarray and not TYPES_TO_CHECK.isdisjoint(map(type, x))):
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
        elif (
            weights.order != "C"
            or weights.n_rows >= MIN_CLASSES_FOR_BLOCKS
            or not np.abs(values).max(initial=0) <= self.limit
        ):
            return False  # beyond MIN_CLASSES_FOR_BLOCKS, dense rows are learned by blocks
        a, method = weights.arrays, self.method
        assert method is not None
        sigma = (a["sigma_w"], a["sigma_b"]) if "sigma_w" in a else self._no_sigma
        learner.changed()
        result = self._pass(
            values, columns, row_bounds(len(columns)), label, ONE_EXAMPLE, self._rule, self._general, method.cost,
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
        s = learner.weights.scores(values, columns, learner.combine_now(self._combine) != "last", self.limit)
        score = s.item(0)
        if score != score:
            return None
        if len(s) > 1:
            return self._answers[s.argmax()]
        if learner.threshold is not None:
            return self._answers[score >= learner.threshold]
        return self._answers[score >= 0 if self._is_positive_at_zero else score > 0]
