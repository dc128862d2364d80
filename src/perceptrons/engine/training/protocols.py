"""The protocols of learners: what any fitted model can be asked, also from outside the engine.

An estimator keeps everything that training changes in its learner; `learner_of` in `base.py` returns it. The linear
learner is in `learner.py`. Kernel models, taggers and structured models have theirs in their own packages.
"""

from typing import Any, Protocol

import numpy as np

from perceptrons.engine.training.calibration import Calibration
from perceptrons.engine.training.epochs import Outcome


class Learner(Protocol):
    """Everything that training changes, and all that is needed to keep training. A model file holds exactly this."""

    seed: int
    """The seed of `rng`."""
    rng: np.random.Generator
    """The generator of the orders in which examples are visited."""
    epochs: int
    """The number of full passes that `fit` has made since the start."""
    mistakes: int
    """The number of mistakes, each counted before its example was learned from."""

    @property
    def updates(self) -> int:
        """Return the number of updates."""

    @property
    def t(self) -> float:
        """Return the number of examples seen, by weight, counting every epoch."""

    def trained(self, outcome: Outcome) -> None:
        """Add the counts of a finished loop over epochs."""

    def snapshot(self) -> Any:
        """Return a copy of the weights and whatever else training changes, for `restore`."""

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot."""


class ClassLearner(Learner, Protocol):
    """A learner with classes and numbered features: of linear and kernel models, and of taggers."""

    classes: np.ndarray
    """The labels in their order, which is that of rows of weights and columns of scores."""

    @property
    def dtype(self) -> np.dtype | str:
        """Return the type of the numbers that it learns from, float32 or float64."""

    @property
    def n_features(self) -> int:
        """Return the number of features."""

    def meet_classes(self, classes: np.ndarray) -> None:
        """Make room for new classes; `classes` also holds the known ones, sorted."""


class RowLearner(ClassLearner, Protocol):
    """A learner of labelled rows: of linear and kernel models."""

    scheme: str
    """How several classes are learned: "joint", "ovr" or "ovo"; "labels" for several labels per example."""
    form: str
    """The form of the labels: "single", "array", "sparse" or "sets" (`labels.py`)."""
    threshold: float | None
    """For two classes, the score from which on the second is predicted; None is 0."""
    calibration: Calibration | None
    """The calibration that turns scores into probabilities."""

    def code(self, label: Any) -> int | None:
        """Return the number of a class, or None if it is not known."""

    def meet_features(self, n_features: int) -> None:
        """Make room for this many features."""

    def winners(self, scores: np.ndarray, zero_score: str) -> np.ndarray:
        """Return the number of the predicted class for each row of scores; for several labels, a flag for each."""
