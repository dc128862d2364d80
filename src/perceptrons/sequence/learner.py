"""A tagger during training: weights, labels, features and counters; and the same with its training set."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.passes.chain import ChainRule, Limits, chain_pass
from perceptrons.engine.passes.shortlists import Table
from perceptrons.engine.passes.steps import CONSTANT, PASSIVE
from perceptrons.engine.passes.viterbi import Desk, best_through, bridges, new_desk, tag
from perceptrons.engine.training.base import has_learned, learner_of
from perceptrons.engine.training.epochs import Counts, Outcome, Trainee, pieces
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import Target
from perceptrons.engine.training.weights import Owning
from perceptrons.sequence.allowed import barriers
from perceptrons.sequence.chain_weights import ChainWeights
from perceptrons.sequence.phrases import PhraseScores, are_phrase_labels, phrase_scores
from perceptrons.sequence.tokens import Tokens, tokens_of

PIECE = 2**26  # weights read in a piece of an epoch, about: between two pieces Ctrl-C and the bar have their turn
AT_ONCE = 2**15  # tokens whose scores by label are in memory at a time
Features = Any  # MatrixFeatures, NamedFeatures or TemplateFeatures


class ChainLearner(Owning):
    """Everything that training changes, and all that is needed to keep training: this is what a model file holds."""

    def __init__(self, features: Features, classes: np.ndarray, dtype: Any, seed: int, arcs: tuple[bool, bool]):
        self.features, self.classes, self.seed = features, classes, seed
        self.arcs = arcs  # have transitions, and starts and stops, weights?
        self.weights = ChainWeights(features.n_features, len(classes), dtype)
        self.rng = np.random.default_rng(seed)  # of the orders
        self.epochs = self.mistakes = self.updates = 0
        self._average: tuple[np.ndarray, np.ndarray] | None = None
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
        """Make room for labels not known yet; `classes` holds the known ones too, sorted."""
        if len(classes) > len(self.classes):
            self.weights.grow_labels(np.searchsorted(classes, self.classes), len(classes))
            self.changed()
        self.classes = classes

    def meet_features(self) -> None:
        """Make room for the features that were numbered meanwhile."""
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

    def limits(self, estimator: Any, stream: bool) -> Limits:
        """Return barriers, and which arcs have weights, by the estimator's parameters."""
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

    def learn(self, tokens: Tokens, y: np.ndarray, order: np.ndarray, bounds: Limits, rule: ChainRule) -> Counts:
        """Make one pass over the sequences of the order."""
        plain = rule.kind == CONSTANT and rule.margin == rule.cost == 0
        bridge = bridges(self.weights.arcs, bounds.barrier)
        desk = self._desk(np.diff(tokens.starts)[order])
        examples, at, counts = (tokens.rows, tokens.starts, y, order), 0, np.zeros(3)
        while at < len(order):
            spare = None if plain else self.weights.spare(is_large=rule.kind == PASSIVE)
            chain = self.weights.chain()
            at = chain_pass(*examples, at, chain, bridge, bounds.taught, rule, desk, spare, counts)
            if at < len(order):
                self.weights.grow_pool()
        self.changed()
        mistakes, updates, loss = counts.tolist()
        return Counts(len(order), int(mistakes), int(updates), loss)

    def label(self, tokens: Tokens, combine: str, barrier: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the best labels of all tokens, and the first sequence that has no allowed labelling, or -1."""
        (w, arcs), y_hat = self.predicting(combine), np.empty(int(tokens.starts[-1]), np.int32)
        weights, desk = (self.weights.table, w), self._desk(np.diff(tokens.starts))
        return y_hat, int(tag(tokens.rows, tokens.starts, *weights, bridges(arcs, barrier), desk, y_hat))

    def best_through(self, tokens: Tokens, combine: str, barrier: np.ndarray) -> np.ndarray:
        """Return for every token and label the score of the best labelling with this label there."""
        (w, arcs), s = self.predicting(combine), np.empty((int(tokens.starts[-1]), len(self.classes)))
        best_through(tokens.rows, tokens.starts, self.weights.table, w, bridges(arcs, barrier), s)
        return s

    def leads(self, tokens: Tokens, y_hat: np.ndarray, combine: str, barrier: np.ndarray) -> np.ndarray:
        """Return by how much the best labelling leads the best one with another label for the token."""
        leads_, starts, first = np.empty(len(y_hat)), tokens.starts, 0
        while first < len(starts) - 1:
            last = max(first + 1, int(np.searchsorted(starts, starts[first] + AT_ONCE, side="right")) - 1)
            s = self.best_through(tokens.sequences(np.arange(first, last)), combine, barrier)
            here, each = slice(int(starts[first]), int(starts[last])), np.arange(len(s))
            best = s[each, y_hat[here]].copy()
            s[each, y_hat[here]] = -np.inf
            leads_[here] = np.maximum(best - s.max(axis=1, initial=-np.inf), 0.0)  # less than 0 by rounding only
            first = last
        return leads_

    def _desk(self, lengths: np.ndarray) -> Desk:
        return new_desk(int(lengths.max(initial=0)), self.weights.n_labels, self.dtype)

    def trained(self, outcome: Outcome) -> None:
        """Add the counts of a finished loop over epochs."""
        self.mistakes += outcome.count("mistakes")
        self.updates += outcome.count("updates")
        self.epochs += len(outcome.history)
        self.changed()

    def changed(self) -> None:
        self._average = None

    def average(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the averaged weights; computed once until something is learned."""
        if self._average is None:
            self._average = self.weights.average()
        return self._average

    def predicting(self, combine: str) -> tuple[np.ndarray, np.ndarray]:
        """The weights of features, as the pool of `ChainWeights`, and of arcs that predict, not to be changed."""
        return self.weights.last() if combine == "last" else self.average()

    def snapshot(self) -> Any:
        return self.weights.snapshot()

    def restore(self, snapshot: Any) -> None:
        self.weights.restore(snapshot)
        self.changed()


def limits(estimator: Any, classes: np.ndarray, dtype: Any, stream: bool) -> Limits:
    taught = np.full((len(classes) + 1, len(classes) + 1), 1.0 if estimator.transitions else 0.0)
    taught[-1] = taught[:, -1] = 1.0 if estimator.start_stop else 0.0
    return Limits(barriers(estimator.allowed, classes, stream).astype(dtype), taught.astype(dtype))


def rule_of(estimator: Any) -> ChainRule:
    """Return the learning rule by the estimator's parameters."""
    e = estimator
    constant = e.step == "constant"
    margin = (0.0 if constant else 1.0) if e.margin is None else float(e.margin)
    cost = 1.0 if e.cost == "hamming" else 0.0
    return ChainRule(CONSTANT if constant else PASSIVE, float(e.eta0), float(e.C), margin, cost)


class Validation(NamedTuple):
    """Sequences to score the model on while it learns. codes: of labels that the model does not know, -1."""

    tokens: Tokens
    codes: np.ndarray
    labels: np.ndarray  # as they are
    by_phrases: bool  # judge by F1 of phrases, else by accuracy

    @classmethod
    def of(cls, tokens: Tokens, y: np.ndarray, selected: np.ndarray, classes: np.ndarray, metric: str) -> "Validation":
        """Return some of the training sequences as a validation set."""
        codes = y[tokens_of(tokens.starts, selected)[0]]
        return cls(tokens.sequences(selected), codes, classes[codes], metric == "phrase_f1")


def check_metric(metric: str, classes: np.ndarray) -> None:
    """Raise ValueError if the labels are not those of phrases and F1 of phrases is asked for."""
    if metric == "phrase_f1" and not are_phrase_labels(classes.tolist()):
        raise ValueError(
            "validation_metric='phrase_f1' needs labels that mark phrases, such as B-NP, I-NP and O: use 'accuracy'."
        )


class ChainFit(Trainee[ChainLearner]):
    """A chain model and its training set, as the loop in `training/epochs.py` trains them.

    held_out: what to score `combine` on, if anything.
    """

    def __init__(
        self, learner: ChainLearner, tokens: Tokens, y: np.ndarray, bounds: Limits, rule: ChainRule, combine: str,
        held_out: Validation | None,
    ):  # fmt: skip
        self.learner, self.tokens, self.y, self.bounds, self.rule = learner, tokens, y, bounds, rule
        self.combine, self.held_out = combine, held_out
        n = max(1, len(tokens.starts) - 1)
        labels = learner.weights.n_labels
        work = (len(tokens.rows.columns) + len(y) * (labels + 1)) * labels
        self.piece = max(1, int(PIECE * n / max(1, work)))
        self.before: tuple[Table, tuple[np.ndarray, np.ndarray]] | None = None  # the average of an epoch ago

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
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
        weights, average, before = self.learner.weights, self.learner.average(), self.before
        self.before = Table(*(array.copy() for array in weights.table)), average
        return np.inf if before is None else weights.relative_change(average, *before)

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


def learned_since(estimator: Any) -> Callable[[], bool]:
    """Return a function that says whether the model, or a new one in its place, has learned since now."""
    learner = learner_of(estimator) if has_learned(estimator) else None
    then = (0.0, 0) if learner is None else (learner.t, learner.n_features)

    def more() -> bool:
        now = learner_of(estimator) if has_learned(estimator) else None
        if now is None:
            return False
        if learner is None or now is not learner:
            return now.t > 0
        return (now.t, now.n_features) != then

    return more
