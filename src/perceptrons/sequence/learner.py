"""The state of a tagger (`ChainLearner`, `ChainWeights`), and a tagger with its training set (`ChainFit`)."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perceptrons.engine.passes.chain import Chain, ChainRule, Difference, Sequences, chain_pass
from perceptrons.engine.passes.steps import CONSTANT, PASSIVE
from perceptrons.engine.passes.viterbi import (
    Workspace,
    label_sequences,
    new_workspace,
    scores_through,
    transposed_arcs,
)
from perceptrons.engine.passes.weight_pool import (
    MAX_ROW_LABELS,
    Table,
    list_weights,
    put_weights,
    room_for,
    squared_change,
    squared_norm,
    unit_of,
    weight_matrix,
    width_of,
)
from perceptrons.engine.training.base import has_learned, learner_of
from perceptrons.engine.training.epochs import Counts, Outcome, Trainee, pieces
from perceptrons.engine.training.inputs import Growth
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import Target
from perceptrons.engine.training.weights import Owning
from perceptrons.sequence.allowed import barriers
from perceptrons.sequence.phrases import PhraseScores, are_phrase_labels, phrase_scores
from perceptrons.sequence.templates import TemplateFeatures
from perceptrons.sequence.tokens import (
    Features,
    MatrixFeatures,
    NamedFeatures,
    ReadSequences,
    Tokens,
    is_matrix,
    tokens_of,
)

if TYPE_CHECKING:
    from perceptrons.sequence.estimator import SequencePerceptron

WEIGHTS_PER_PIECE = 2**26  # read in a piece of an epoch, about; Ctrl-C and the progress bar have a turn after each
TOKENS_PER_CHUNK = 2**15  # whose scores by label are in memory at a time
WEIGHTS_PER_CHUNK = 2**16  # that are averaged at a time
MIN_POOL = 1024  # weights
FULL_POOL = 2**22  # weights: up to this size, full rows get room for all features at once (untouched memory is free)

ChainModel = tuple[np.ndarray, np.ndarray]  # weights of features, as a pool, and of arcs


def features_for(estimator: "SequencePerceptron", X: Any) -> Features:
    """Return features without numbers yet, for a new model that is trained on these sequences."""
    if is_matrix(X):
        for name, default in (("templates", None), ("min_count", 1), ("hash_bits", None)):
            if getattr(estimator, name) != default:
                raise ValueError(f"{name}={getattr(estimator, name)!r} is for tokens, but X is a matrix of features.")
        return MatrixFeatures(0)
    if estimator.templates is not None:
        return TemplateFeatures(estimator.templates, int(estimator.min_count), estimator.hash_bits)
    return NamedFeatures(int(estimator.min_count), estimator.hash_bits)


def read_tokens(
    estimator: "SequencePerceptron", features: Features, X: Any, lengths: Any, reset: bool
) -> ReadSequences:
    """Return the tokens of sequences as these features read them, checked. reset: of a new model."""
    dtype = None if reset else learner_of(estimator).dtype
    growth = Growth(eta=float(estimator.eta0))
    if isinstance(features, MatrixFeatures):
        if not is_matrix(X):
            raise ValueError("The model was created with a matrix, but X is now a list of sequences: fit it again.")
        return features.read(X, lengths, dtype, growth, estimator, reset)
    if is_matrix(X):
        raise ValueError("The model was created with lists of tokens, but X is now a matrix: fit it again.")
    if lengths is not None:
        raise ValueError("lengths is for a matrix, but X is a list of sequences: leave it out.")
    assert isinstance(features, NamedFeatures | TemplateFeatures)
    return features.read(X, dtype, growth)


# ---- weights


class Entries(NamedTuple):
    """Weights one by one, by feature and then by label."""

    features: np.ndarray
    labels: np.ndarray
    w: np.ndarray
    lazy_sum_w: np.ndarray


class ChainWeights(Owning):
    """The weights of every feature that fired, by label, and those of arcs, whose last row and column are both ends.

    `w`, a pool with a table (`passes/weight_pool.py`), and `arcs` (labels + 1, labels + 1) are the last weights. Their
    average follows from `lazy_sum_w`, `lazy_sum_arcs` and `t`, the sequences seen (`passes/average.py`).
    """

    def __init__(self, n_features: int, n_labels: int, dtype: Any):
        self.n_features = n_features
        self.table, self.w, self.lazy_sum_w = _new_pool(n_features, n_labels, MIN_POOL, dtype)
        self.arcs = np.zeros((n_labels + 1, n_labels + 1), dtype)
        self.lazy_sum_arcs = np.zeros((n_labels + 1, n_labels + 1))
        self.t = np.zeros(1)
        self._difference_w = np.zeros(0)

    @property
    def dtype(self) -> np.dtype:
        return self.w.dtype

    @property
    def n_labels(self) -> int:
        return len(self.arcs) - 1

    def difference(self, is_large: bool) -> Difference:
        """Return buffers for the pass, as large as the weights, or empty."""
        if is_large and self._difference_w.shape != self.w.shape:
            self._difference_w = np.zeros(self.w.shape)
        return Difference(self._difference_w, np.zeros(self.arcs.shape if is_large else (0, 0)))

    # ---- growing

    def grow_pool(self) -> None:
        """Make room for half as many weights again."""
        n_used, width = int(self.table.used[0]), int(width_of(self.n_labels))
        full = min(self.n_features * width, FULL_POOL) if self.n_labels <= MAX_ROW_LABELS else 0
        size = _pool_size(max(n_used + n_used // 2, n_used + 2 * width, full, MIN_POOL), self.n_labels)
        labels = _longer(self.table.labels, size) if self.n_labels > MAX_ROW_LABELS else self.table.labels
        w, lazy_sum_w = _longer(self.w, size), _longer(self.lazy_sum_w, size)
        self.table, self.w, self.lazy_sum_w = self.table._replace(labels=labels), w, lazy_sum_w  # nothing can fail now

    def grow_features(self, n_features: int) -> None:
        """Add features without weights. If the model has some, also make room for half as many again."""
        if n_features > len(self.table.begin):
            n_rows = n_features + (n_features // 2 if self.n_features else 0)
            begin, size = _longer(self.table.begin, n_rows), _longer(self.table.size, n_rows)
            self.table = self.table._replace(begin=begin, size=size)
        self.n_features = max(n_features, self.n_features)

    def grow_labels(self, codes: np.ndarray, n_labels: int) -> None:
        """Add labels. codes: the numbers of the known ones among all."""
        ends, arcs = np.append(codes, n_labels), []
        for known_arcs in (self.arcs, self.lazy_sum_arcs):
            arcs.append(np.zeros((n_labels + 1, n_labels + 1), known_arcs.dtype))
            arcs[-1][np.ix_(ends, ends)] = known_arcs
        features, labels, w, lazy_sum_w = self.entries()
        contents = (*runs(features), codes[labels].astype(np.int32), w, lazy_sum_w)
        pool = _filled_pool(contents, len(self.table.begin), n_labels, self.dtype)
        self.table, self.w, self.lazy_sum_w = pool  # nothing can fail now
        self.arcs, self.lazy_sum_arcs = arcs

    # ---- all weights at once

    def entries(self) -> Entries:
        """Return the weights that are not 0 now, or were not 0 at some time."""
        return Entries(*list_weights(self.table, self.w, self.lazy_sum_w, self.n_features, self.n_labels))

    def fill(self, features: np.ndarray, sizes: np.ndarray, *weights: np.ndarray) -> None:
        """Set these weights and make all others 0. sizes: of each feature; weights: labels, w and lazy_sum_w."""
        contents = (features, sizes, *weights)
        pool = _filled_pool(contents, len(self.table.begin), self.n_labels, self.dtype)
        self.table, self.w, self.lazy_sum_w = pool

    def updated_features(self, entries: Entries | None = None) -> np.ndarray:
        """Return for every feature whether an update has ever changed one of its weights."""
        is_updated = np.zeros(self.n_features, bool)
        is_updated[(entries or self.entries()).features] = True
        return is_updated

    def matrix(self, w: np.ndarray, features: np.ndarray | None = None) -> np.ndarray:
        """Return weights as (features, labels), of all features or of some. w: a pool."""
        features = np.arange(self.n_features) if features is None else features
        return weight_matrix(self.table, w, features, self.n_labels)

    def last(self) -> ChainModel:
        """Return the last weights."""
        return self.w, self.arcs

    def average(self) -> ChainModel:
        """Return the mean of the weights after every sequence, in the type and layout of the last ones."""
        t, average = max(self.t[0], 1.0), np.zeros_like(self.w)
        n_used = int(self.table.used[0])
        for start in range(0, n_used, WEIGHTS_PER_CHUNK):
            part = slice(start, min(start + WEIGHTS_PER_CHUNK, n_used))
            average[part] = self.w[part] - self.lazy_sum_w[part] / t
        return average, (self.arcs - self.lazy_sum_arcs / t).astype(self.dtype)

    def norm(self) -> float:
        """Return the norm of all last weights, to ten digits, which do not depend on the order of the features."""
        squares = squared_norm(self.table, self.w, self.n_labels) + np.square(self.arcs, dtype=np.float64).sum()
        return float(f"{np.sqrt(squares):.10g}")

    def relative_change(self, average: ChainModel, table: Table, previous: ChainModel) -> float:
        """Return |average - previous| / |average|. table: where the weights were before."""
        change, norm = squared_change(self.table, average[0], table, previous[0], self.n_labels)
        arcs = average[1].astype(np.float64)
        change, norm = change + float(((arcs - previous[1]) ** 2).sum()), norm + float((arcs**2).sum())
        return float(np.sqrt(change / norm)) if norm > 0 else np.inf

    # ---- going back

    def snapshot(self) -> tuple[Any, ...]:
        arrays = (self.w, self.lazy_sum_w, self.arcs, self.lazy_sum_arcs, self.t)
        return self.n_features, copy_table(self.table), *(array.copy() for array in arrays)

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        self.n_features, table, *arrays = snapshot
        self.table = copy_table(table)
        self.w, self.lazy_sum_w, self.arcs, self.lazy_sum_arcs, self.t = (array.copy() for array in arrays)


def runs(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of entries, each once, and how many entries each has."""
    firsts = np.flatnonzero(np.diff(features, prepend=-1))
    return features[firsts], np.diff(firsts, append=len(features)).astype(np.int64)


def copy_table(table: Table) -> Table:
    return Table(*(array.copy() for array in table))


def _filled_pool(
    contents: tuple[np.ndarray, ...], n_features: int, n_labels: int, dtype: Any
) -> tuple[Table, np.ndarray, np.ndarray]:
    """Return a table and pools with exactly these weights; see `ChainWeights.fill`."""
    rooms = np.array([room_for(size, n_labels) for size in range(n_labels + 1)])
    pool = _new_pool(n_features, n_labels, int(width_of(n_labels)) + int(rooms[contents[1]].sum()), dtype)
    put_weights(*pool, n_labels, *contents)
    return pool


def _new_pool(n_features: int, n_labels: int, size: int, dtype: Any) -> tuple[Table, np.ndarray, np.ndarray]:
    """Return a table without weights, and empty pools of at least this size."""
    size = _pool_size(size, n_labels)
    labels = np.zeros(0 if n_labels <= MAX_ROW_LABELS else size, np.int32)
    begin, sizes, used = np.zeros(n_features, np.int32), np.zeros(n_features, np.int32), np.full(1, width_of(n_labels))
    return Table(begin, sizes, labels, used), np.zeros(size, dtype), np.zeros(size)


def _pool_size(size: int, n_labels: int) -> int:
    """Return the size rounded up to full rows."""
    width = int(width_of(n_labels))
    size = max(1, -(-size // width)) * width
    if size // int(unit_of(n_labels)) > np.iinfo(np.int32).max:
        raise MemoryError(f"{n_labels} labels need too many weights for one model: use min_count or hash_bits.")
    return size


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    """Return the array with zeros at its end."""
    longer = np.zeros(size, array.dtype)
    longer[: len(array)] = array
    return longer


# ---- the learner


class Limits(NamedTuple):
    """Constants of the arcs, (labels + 1, labels + 1) from and to; the last row and column are both ends."""

    barrier: np.ndarray  # 0, or minus infinity where one label may not follow another
    has_weight: np.ndarray  # 1, or 0 for arcs that have no weight


def limits(estimator: "SequencePerceptron", classes: np.ndarray, dtype: Any, stream: bool) -> Limits:
    """Return the limits by the estimator's parameters. stream: labels that are not known yet may still come."""
    has_weight = np.full((len(classes) + 1, len(classes) + 1), 1.0 if estimator.transitions else 0.0)
    has_weight[-1] = has_weight[:, -1] = 1.0 if estimator.start_stop else 0.0
    return Limits(barriers(estimator.allowed, classes, stream).astype(dtype), has_weight.astype(dtype))


def rule_of(estimator: "SequencePerceptron") -> ChainRule:
    """Return the learning rule by the estimator's parameters."""
    is_constant = estimator.step == "constant"
    margin = (0.0 if is_constant else 1.0) if estimator.margin is None else float(estimator.margin)
    cost = 1.0 if estimator.cost == "hamming" else 0.0
    return ChainRule(CONSTANT if is_constant else PASSIVE, float(estimator.eta0), float(estimator.C), margin, cost)


class ChainLearner(Owning):
    """Everything that training changes, and all that is needed to keep training: the content of a model file.

    arcs: do transitions, and do starts and stops, have weights?
    """

    def __init__(self, features: Features, classes: np.ndarray, dtype: Any, seed: int, arcs: tuple[bool, bool]):
        self.features, self.classes, self.seed, self.arcs = features, classes, seed, arcs
        self.weights = ChainWeights(features.n_features, len(classes), dtype)
        self.rng = np.random.default_rng(seed)  # for the orders of the sequences
        self.epochs = self.mistakes = self.updates = 0
        self._average: ChainModel | None = None
        self._limits: tuple[Any, Limits] | None = None

    @property
    def dtype(self) -> np.dtype:
        return self.weights.dtype

    @property
    def n_features(self) -> int:
        return self.weights.n_features

    @property
    def t(self) -> float:
        return float(self.weights.t[0])

    def meet_classes(self, classes: np.ndarray) -> None:
        """Make room for new labels; `classes` also holds the known ones, sorted."""
        if len(classes) > len(self.classes):
            self.weights.grow_labels(np.searchsorted(classes, self.classes), len(classes))
            self.changed()
        self.classes = classes

    def meet_features(self) -> None:
        """Make room for features that have got a number meanwhile."""
        if self.features.n_features > self.weights.n_features:
            self.weights.grow_features(self.features.n_features)
            self.changed()

    def meet(self, sequences: Any, classes: np.ndarray, restart_counts: bool) -> Tokens:
        """Add new labels and features, and return the rows to learn from. restart_counts: of rare features."""
        with Uninterrupted():
            self.meet_classes(classes)
            if restart_counts:
                self.features.forget_waiting()
            tokens = self.features.tokens(sequences, self.dtype, learn=True)
            self.meet_features()
        return tokens

    def limits(self, estimator: "SequencePerceptron", stream: bool) -> Limits:
        """Return the limits by the estimator's parameters, computed again only if they change."""
        allowed = estimator.allowed
        if isinstance(allowed, Mapping):
            allowed = {label: tuple(followers) for label, followers in allowed.items()}  # it may change in place
        key = (allowed, bool(estimator.transitions), bool(estimator.start_stop), stream, len(self.classes))
        if self._limits is None or self._limits[0] != key:
            self._limits = key, limits(estimator, self.classes, self.dtype, stream)
        return self._limits[1]

    def codes(self, target: Target) -> np.ndarray:
        """Return the number of each label, -1 for labels that the model does not know."""
        known = {label: number for number, label in enumerate(self.classes.tolist())}
        return np.array([known.get(label, -1) for label in target.classes.tolist()], np.int32)[target.codes]

    # ---- learning

    def learn(self, tokens: Tokens, y: np.ndarray, order: np.ndarray, bounds: Limits, rule: ChainRule) -> Counts:
        """Make one pass over the sequences of the order."""
        weights, counts, i = self.weights, np.zeros(3), 0
        arcs_t, workspace = (
            transposed_arcs(weights.arcs, bounds.barrier),
            self._workspace(np.diff(tokens.starts)[order]),
        )
        is_plain = rule.kind == CONSTANT and rule.margin == rule.cost == 0
        while True:
            chain = Chain(
                weights.table, weights.w, weights.arcs, weights.lazy_sum_w, weights.lazy_sum_arcs, weights.t, arcs_t,
                bounds.has_weight,
            )  # fmt: skip
            difference = None if is_plain else weights.difference(is_large=rule.kind == PASSIVE)
            i = chain_pass(Sequences(*tokens, y), order, i, chain, rule, workspace, difference, counts)
            if i == len(order):
                break
            weights.grow_pool()
        self.changed()
        mistakes, updates, loss = counts.tolist()
        return Counts(len(order), int(mistakes), int(updates), loss)

    def trained(self, outcome: Outcome) -> None:
        """Add the counts of a finished loop over epochs."""
        self.mistakes += outcome.count("mistakes")
        self.updates += outcome.count("updates")
        self.epochs += len(outcome.history)
        self.changed()

    def changed(self) -> None:
        """Forget what was computed from the weights, because they change."""
        self._average = None

    # ---- predicting

    def predicting(self, combine: str) -> ChainModel:
        """Return the weights that predict, not to be changed. The averaged ones are computed once."""
        if combine == "last":
            return self.weights.last()
        return self.average()

    def average(self) -> ChainModel:
        """Return the averaged weights."""
        if self._average is None:
            self._average = self.weights.average()
        return self._average

    def label(self, tokens: Tokens, combine: str, barrier: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the best labels of all tokens, and the first sequence that has no allowed labelling, or -1."""
        (w, arcs), y_hat = self.predicting(combine), np.empty(int(tokens.starts[-1]), np.int32)
        workspace = self._workspace(np.diff(tokens.starts))
        i = label_sequences(*tokens, self.weights.table, w, transposed_arcs(arcs, barrier), workspace, y_hat)
        return y_hat, int(i)

    def scores_through(self, tokens: Tokens, combine: str, barrier: np.ndarray) -> np.ndarray:
        """Return for every token and label the score of the best labelling with this label there."""
        (w, arcs), s = self.predicting(combine), np.empty((int(tokens.starts[-1]), len(self.classes)))
        scores_through(*tokens, self.weights.table, w, transposed_arcs(arcs, barrier), s)
        return s

    def leads(self, tokens: Tokens, y_hat: np.ndarray, combine: str, barrier: np.ndarray) -> np.ndarray:
        """Return for every token by how much the best labelling leads the best one with another label there."""
        leads, starts, first = np.empty(len(y_hat)), tokens.starts, 0
        while first < len(starts) - 1:
            stop = max(first + 1, int(np.searchsorted(starts, starts[first] + TOKENS_PER_CHUNK, side="right")) - 1)
            s = self.scores_through(tokens.sequences(np.arange(first, stop)), combine, barrier)
            chunk, t = slice(int(starts[first]), int(starts[stop])), np.arange(len(s))
            best = s[t, y_hat[chunk]].copy()
            s[t, y_hat[chunk]] = -np.inf
            leads[chunk] = np.maximum(best - s.max(axis=1, initial=-np.inf), 0.0)  # less than 0 by rounding only
            first = stop
        return leads

    def _workspace(self, lengths: np.ndarray) -> Workspace:
        return new_workspace(int(lengths.max(initial=0)), self.weights.n_labels, self.dtype)

    # ---- going back

    def snapshot(self) -> tuple[Any, ...]:
        return self.weights.snapshot()

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        self.weights.restore(snapshot)
        self.changed()


# ---- the training set


class Validation(NamedTuple):
    """Sequences to score the model on while it learns."""

    tokens: Tokens
    codes: np.ndarray  # numbers of the labels, -1 for labels that the model does not know
    labels: np.ndarray
    by_phrases: bool  # score by F1 of phrases, else by accuracy

    @classmethod
    def of(cls, tokens: Tokens, y: np.ndarray, selected: np.ndarray, classes: np.ndarray, metric: str) -> "Validation":
        """Return some of the training sequences as a validation set."""
        codes = y[tokens_of(tokens.starts, selected)[0]]
        return cls(tokens.sequences(selected), codes, classes[codes], metric == "phrase_f1")


def check_metric(metric: str, classes: np.ndarray) -> None:
    """Raise ValueError for F1 of phrases if the labels do not mark phrases."""
    if metric == "phrase_f1" and not are_phrase_labels(classes.tolist()):
        raise ValueError(
            "validation_metric='phrase_f1' needs labels that mark phrases, such as B-NP, I-NP and O: use 'accuracy'."
        )


class ChainFit(Trainee[ChainLearner]):
    """A tagger and its training set, as the loop in `training/epochs.py` trains them. held_out: scored by `combine`."""

    def __init__(
        self, learner: ChainLearner, tokens: Tokens, y: np.ndarray, bounds: Limits, rule: ChainRule, combine: str,
        held_out: Validation | None,
    ):  # fmt: skip
        self.learner, self.tokens, self.y, self.bounds, self.rule = learner, tokens, y, bounds, rule
        self.combine, self.held_out = combine, held_out
        n, n_labels = max(1, len(tokens.starts) - 1), learner.weights.n_labels
        n_reads = (len(tokens.rows.columns) + len(y) * (n_labels + 1)) * n_labels
        self.piece = max(1, int(WEIGHTS_PER_PIECE * n / max(1, n_reads)))
        self.previous: tuple[Table, ChainModel] | None = None  # the average one epoch ago

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        """Learn from the sequences in this order."""
        for part in pieces(order, self.piece):
            counts = self.learner.learn(self.tokens, self.y, part, self.bounds, self.rule)
            yield counts
            if not np.isfinite(counts.loss):
                raise OverflowError(
                    f"The weights have become too large for {self.learner.dtype}: scale the features, or use a "
                    "smaller eta0 or C."
                )

    def settled(self, row: dict[str, Any]) -> str:
        return "converged" if row["mistakes"] == row["updates"] == 0 else ""

    def norm(self) -> float:
        return self.learner.weights.norm()

    def change(self) -> float:
        weights, average, previous = self.learner.weights, self.learner.average(), self.previous
        self.previous = copy_table(weights.table), average
        return np.inf if previous is None else weights.relative_change(average, *previous)

    def accuracy(self) -> float:
        return self.validation_scores()[0]

    def judge(self, row: dict[str, Any]) -> float:
        accuracy, phrases = self.validation_scores()
        row["validation_accuracy"] = accuracy
        if phrases is None:
            return accuracy
        row["validation_phrase_f1"] = phrases.f1
        return phrases.f1

    def validation_scores(self) -> tuple[float, PhraseScores | None]:
        """Return the accuracy on the held-out tokens, and the scores of their phrases if the metric needs them."""
        held_out = self.held_out
        assert held_out is not None
        y_hat = self.learner.label(held_out.tokens, self.combine, self.bounds.barrier)[0]
        accuracy = float((y_hat == held_out.codes).mean()) if len(y_hat) else 1.0
        if not held_out.by_phrases:
            return accuracy, None
        lengths = np.diff(held_out.tokens.starts)
        return accuracy, phrase_scores(held_out.labels, self.learner.classes[y_hat], lengths)


def learned_since(estimator: "SequencePerceptron") -> Callable[[], bool]:
    """Return a function that says whether the model, or a new one in its place, has learned since now."""
    before = learner_of(estimator) if has_learned(estimator) else None
    state = None if before is None else (before.t, before.n_features)

    def has_learned_more() -> bool:
        if not has_learned(estimator):
            return False
        learner = learner_of(estimator)
        return (learner.t, learner.n_features) != state if learner is before else learner.t > 0

    return has_learned_more
