"""A chain model in the making: weights, labels, features and counters together. `SequencePerceptron` covers it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.passes.chain import ChainRule, Desk, Limits, best_through, bridges, chain_pass, new_desk, tag
from perceptrons.passes.rule import CONSTANT, PASSIVE
from perceptrons.sequence.bigrams import barriers
from perceptrons.sequence.tokens import Tokens
from perceptrons.sequence.weights import ChainWeights
from perceptrons.training.epochs import Counts, Outcome
from perceptrons.training.owning import Owning

Features = Any  # MatrixFeatures, NamedFeatures or TemplateFeatures


class ChainLearner(Owning):
    """Everything that learning changes, and all that is needed to go on with it: this is what a model file holds."""

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

    def limits(self, estimator: Any, stream: bool) -> Limits:
        """Barriers, and which arcs have weights, by the estimator's parameters."""
        allowed = estimator.allowed
        if isinstance(allowed, Mapping):
            allowed = {label: tuple(followers) for label, followers in allowed.items()}  # it may change in place
        asked = (
            allowed,
            bool(estimator.transitions),
            bool(estimator.start_stop),
            stream,
            len(self.classes),
        )
        if self._limits is None or self._limits[0] != asked:
            self._limits = asked, limits(estimator, self.classes, self.dtype, stream)
        return self._limits[1]

    def learn(self, tokens: Tokens, y: np.ndarray, order: np.ndarray, bounds: Limits, rule: ChainRule) -> Counts:
        """One pass over the sequences of the order."""
        plain = rule.kind == CONSTANT and rule.margin == rule.cost == 0
        bridge = bridges(self.weights.arcs, bounds.barrier)
        desk = self._desk(np.diff(tokens.starts)[order])
        examples, at, counts = (tokens.rows, tokens.starts, y, order), 0, np.zeros(3)
        while at < len(order):
            spare = None if plain else self.weights.spare(large=rule.kind == PASSIVE)
            chain = self.weights.chain()
            at = chain_pass(*examples, at, chain, bridge, bounds.taught, rule, desk, spare, counts)
            if at < len(order):
                self.weights.grow_pool()
        self.changed()
        mistakes, updates, loss = counts.tolist()
        return Counts(len(order), int(mistakes), int(updates), loss)

    def label(self, tokens: Tokens, combine: str, barrier: np.ndarray) -> tuple[np.ndarray, int]:
        """The best labels of all tokens, and the first sequence that has no allowed labelling, or -1."""
        (w, arcs), y_hat = self.predicting(combine), np.empty(int(tokens.starts[-1]), np.int32)
        weights, desk = (self.weights.table, w), self._desk(np.diff(tokens.starts))
        return y_hat, int(tag(tokens.rows, tokens.starts, *weights, bridges(arcs, barrier), desk, y_hat))

    def best_through(self, tokens: Tokens, combine: str, barrier: np.ndarray) -> np.ndarray:
        """For every token and label the score of the best labelling that gives the token this label."""
        (w, arcs), s = self.predicting(combine), np.empty((int(tokens.starts[-1]), len(self.classes)))
        best_through(tokens.rows, tokens.starts, self.weights.table, w, bridges(arcs, barrier), s)
        return s

    def _desk(self, lengths: np.ndarray) -> Desk:
        return new_desk(int(lengths.max(initial=0)), self.weights.n_labels, self.dtype)

    def trained(self, outcome: Outcome) -> None:
        """The loop over epochs is over."""
        self.mistakes += outcome.count("mistakes")
        self.updates += outcome.count("updates")
        self.epochs += len(outcome.history)
        self.changed()

    def changed(self) -> None:
        self._average = None

    def average(self) -> tuple[np.ndarray, np.ndarray]:
        """The averaged weights; computed once until something is learned."""
        if self._average is None:
            self._average = self.weights.average()
        return self._average

    def predicting(self, combine: str) -> tuple[np.ndarray, np.ndarray]:
        """The weights of features, as the pool of `ChainWeights`, and of arcs that predict, not to be changed."""
        return self.weights.last() if combine == "last" else self.average()


def limits(estimator: Any, classes: np.ndarray, dtype: Any, stream: bool) -> Limits:
    taught = np.full((len(classes) + 1, len(classes) + 1), 1.0 if estimator.transitions else 0.0)
    taught[-1] = taught[:, -1] = 1.0 if estimator.start_stop else 0.0
    return Limits(barriers(estimator.allowed, classes, stream).astype(dtype), taught.astype(dtype))


def rule_of(estimator: Any) -> ChainRule:
    """How to learn, by the estimator's parameters."""
    e = estimator
    constant = e.step == "constant"
    margin = (0.0 if constant else 1.0) if e.margin is None else float(e.margin)
    cost = 1.0 if e.cost == "hamming" else 0.0
    return ChainRule(CONSTANT if constant else PASSIVE, float(e.eta0), float(e.C), margin, cost)
