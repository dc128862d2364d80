"""Looks at every visit of a training: the same loop over epochs and the same passes, one example or batch at a time."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from perceptrons.engine.training.epochs import Counts, Trainee
from perceptrons.engine.training.one_pass import pieces


class Enough(Exception):  # noqa: N818 (no error: how a recording ends)
    """As much was recorded as was asked for."""


class Recorder(ABC):
    """Takes the place of `Trainee.visit`: `recorded` in `base.py` lets it make the visits of an estimator."""

    size = 1  # examples that are learned from at once; 0: all of an epoch

    def __init__(self) -> None:
        self.epoch: int | None = None

    def __call__(self, trainee: Trainee, order: np.ndarray) -> Iterator[Counts]:
        """Return the visits of an epoch."""
        learner = trainee.learner
        self.epoch = learner.epochs + 1 if self.epoch is None else self.epoch + 1
        for part in pieces(order, self.size or max(1, len(order))):
            if self.enough():
                raise Enough
            self.before(learner, part)
            each = [] if len(part) == 1 else [alone(trainee, part[k : k + 1]) for k in range(len(part))]
            counts = counted(trainee, part)
            self.after(learner, part, each or [counts])
            yield counts

    @abstractmethod
    def enough(self) -> bool:
        """Return whether enough was recorded."""

    @abstractmethod
    def before(self, learner: Any, part: np.ndarray) -> None:
        """Look at the learner before these examples are visited."""

    @abstractmethod
    def after(self, learner: Any, part: np.ndarray, counts: list[Counts]) -> None:
        """Look at the learner after the visit. counts: what the pass counted for each example."""


def counted(trainee: Trainee, order: np.ndarray) -> Counts:
    """Learn from these examples, and count."""
    counts = Counts()
    for more in trainee.visit(order):
        counts = counts.plus(more)
    return counts


def alone(trainee: Trainee, order: np.ndarray) -> Counts:
    """What would be counted for an example of a batch, whose weights are those before the batch. Changes nothing."""
    probe = copy.copy(trainee)
    changing = {name: value for name, value in vars(trainee).items() if name in ("learner", "support_of_row")}
    vars(probe).update(copy.deepcopy(changing))
    return counted(probe, order)
