"""A linear model with its training set, as the loop over epochs wants it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from perceptrons.engine.training.epochs import Counts, Trainee
from perceptrons.engine.training.learner import LinearLearner
from perceptrons.engine.training.one_pass import (
    MANY_EXAMPLES,
    PIECE,
    Examples,
    at_rest,
    check_overflow,
    judge_last,
    learn,
    piece_size,
    pieces,
)
from perceptrons.engine.training.rule import Method
from perceptrons.engine.training.weights import SettlingAverage


class LinearTrainee(Trainee):
    """What linear models do alike, whether their examples lie in memory or come block by block."""

    average: SettlingAverage | None

    def change(self) -> float:
        if self.average is None:
            self.average = SettlingAverage(self.learner.weights)
            return np.inf
        return self.average.change()


class LinearFit(LinearTrainee):
    """train, held_out: which examples to learn from (None: all), and which to score `combine` on, if any."""

    def __init__(
        self,
        learner: LinearLearner,
        examples: Examples,
        method: Method,
        combine: str,
        train: np.ndarray | None,
        held_out: np.ndarray | None,
    ):
        self.learner, self.examples, self.method, self.combine = learner, examples, method, combine
        self.now = method  # as it is in this epoch
        self.held_out = held_out
        self.judged_on = np.arange(len(examples.y)) if train is None else train
        self.taken = np.full(len(examples.y) if learner.votes else 0, -1)  # for voting: which support vector a row is
        duels = examples.problems is not None and examples.problems.duels
        learner.weights.arrange(examples.rows, by_row=duels and len(self.judged_on) >= MANY_EXAMPLES)
        self.piece = piece_size(examples, learner.weights, PIECE, method.batch)
        self.average: SettlingAverage | None = None

    def begin_epoch(self, epoch: int) -> None:
        self.now = self.method.in_epoch(epoch)

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        weights, votes, method = self.learner.weights, self.learner.votes, self.now
        for part in pieces(order, self.piece):
            counts = learn(
                weights, self.examples, part, method, judged_on=self.judged_on, votes=votes, taken=self.taken
            )
            yield counts
            check_overflow(counts, method, weights.dtype)

    def end_epoch(self) -> None:
        judge_last(self.learner.weights, self.examples, self.judged_on, self.method.zero_score)

    def settled(self, row: dict[str, Any]) -> str:
        return at_rest(row, self.method, self.contradicted)

    def contradicted(self) -> bool:
        """Do the last weights, by which learning judges, answer a training example wrongly?"""
        return self.learner.wrong(self.examples, self.judged_on, "last", self.method.zero_score) > 0

    def accuracy(self) -> float:
        weight, held_out = self.examples.weight, self.held_out
        assert held_out is not None
        total = float(len(held_out) if weight is None else weight[held_out].sum())
        self.learner.changed()
        return 1.0 - self.learner.wrong(self.examples, held_out, self.combine, self.method.zero_score) / total
