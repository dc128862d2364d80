"""The weights after every update, replayed from the log that `Perceptron(combine="vote")` keeps; frames of a film."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from perceptrons.linear import Perceptron
from perceptrons.plots.model_facts import as_dense

MOST = 2**26  # numbers in all versions of the weights: half a gigabyte


class Version(NamedTuple):
    """The weights after k updates (not to be changed, and changed by the next step), and what made the last."""

    k: int
    w: np.ndarray  # (rows, features)
    b: np.ndarray  # (rows,)
    example: int  # the support vector that made the update; -1 at the start
    true: int  # its class
    taken_for: int  # the class predicted, for which it was subtracted
    survived: float  # how many examples these weights survived


class Updates:
    """All versions of the weights of a fitted model, the start first.

    Replayed as the model learned: w += step x in the type of the weights, so that the last version is `coef_last_`,
    exactly where sums are exact (whole numbers), else to rounding.
    """

    def __init__(self, model: Any):
        if not isinstance(model, Perceptron):
            raise TypeError(f"Only a perceptrons.Perceptron keeps its updates, not a {type(model).__name__}.")
        learner = model._fitted()
        if learner.votes is None:
            raise ValueError(
                "This model did not keep its updates: fit it with combine='vote', which keeps all of them, or use "
                "from_data."
            )
        self.classes = learner.classes
        self.start = tuple(part.copy() for part in learner.weights.start())
        self.one, self.t = learner.weights.one, learner.t
        self.log = learner.votes.log
        versions = (len(self.log) + 1) * (learner.n_features + 1) * len(self.start[1])
        if versions > MOST:
            raise ValueError(
                f"{len(self.log):,} updates of {learner.n_features:,} features are too many to replay: use fewer "
                "examples or features, or fewer epochs (max_iter)."
            )
        self.support = as_dense(learner.votes.matrix(learner.n_features))
        self.counts = learner.votes.counts(self.t)

    def __len__(self) -> int:
        """How many updates there were."""
        return len(self.log)

    def __iter__(self) -> Iterator[Version]:
        w, b = (part.copy() for part in self.start)
        several, kind = len(b) > 1, w.dtype.type
        yield Version(0, w, b, -1, -1, -1, float(self.counts[0]))
        for k, (_, i, y, y_hat, step, faded) in enumerate(self.log, 1):
            if faded != 1:
                w *= kind(faded)
                b *= kind(faded)
            x, y, y_hat = self.support[int(i)], int(y), int(y_hat)
            moves = ((y, kind(step)), (y_hat, -kind(step))) if several else ((0, kind(step if y else -step)),)
            for row, by in moves:
                w[row] += by * x
                b[row] += by * kind(self.one)
            yield Version(k, w, b, int(i), y, y_hat, float(self.counts[k]))


def fitted_to(X: Any, y: Any, parameters: dict[str, Any]) -> Perceptron:
    """A model with its whole history, trained by the lecture's rule until it converges or for 1000 epochs, unless told
    otherwise."""
    if parameters.get("combine", "vote") != "vote":
        raise ValueError(f"combine={parameters['combine']!r}: only combine='vote' keeps every update; leave it out.")
    return Perceptron(**{"margin": None, "intercept_scaling": 1, "tol": None, **parameters, "combine": "vote"}).fit(
        X, y
    )


class Frame(NamedTuple):
    """The model after some updates."""

    update: int
    mistakes: int  # made until then
    w: np.ndarray  # (rows, 2)
    b: np.ndarray  # (rows,)
    example: np.ndarray | None  # the example that made the last update, (2,)
    true: int  # its class; -1 at the start
    predicted: int  # and the answer before the update

    def text(self, updates: int, names: list[str]) -> str:
        """What happened, on one line."""
        if self.example is None:
            return f"start, before any of the {updates:,} updates"
        what = (
            f"{names[self.true]} was predicted as {names[self.predicted]}"
            if self.true != self.predicted
            else f"{names[self.true]} was right, but within the margin"
        )
        return f"update {self.update:,} of {updates:,}: {what}"


def frames_of(updates: Updates, positive_at_zero: bool, most: int) -> list[Frame]:
    """The versions to show; mistakes are counted over all of them, by what each example was answered before it."""
    n = len(updates)
    shown = set(np.unique(np.linspace(0, n, most).round().astype(int)).tolist()) if n >= most else set(range(n + 1))
    frames, mistakes, predicted = [], 0, -1
    before: tuple[np.ndarray, np.ndarray] | None = None
    for version in updates:
        example = None
        if before is not None:
            example = updates.support[version.example].astype(np.float64)
            s = before[0] @ updates.support[version.example] + before[1]
            if len(s) == 1:
                predicted = int(s[0] >= 0) if positive_at_zero else int(s[0] > 0)
                wrong = predicted != version.true or s[0] == 0  # an update at 0: it was counted as a mistake
                predicted = 1 - version.true if wrong else predicted
            else:
                predicted = int(s.argmax())
            mistakes += predicted != version.true
        before = (version.w.copy(), version.b.copy())
        if version.k in shown:
            frames.append(Frame(version.k, int(mistakes), *before, example, version.true, predicted))
    return frames
