"""The weights after every update, replayed from the log that `Perceptron(combine="vote")` keeps."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from perceptrons.linear import Perceptron
from perceptrons.plots.reading import as_dense

MOST = 2**26  # numbers in all versions of the weights: half a gigabyte


class Version(NamedTuple):
    """The weights after k updates (not to be changed, and changed by the next step), and what made the last."""

    k: int
    w: np.ndarray  # (rows, features)
    b: np.ndarray  # (rows,)
    example: int  # the support example that made the update; -1 at the start
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
            raise TypeError(f"Updates are kept by a perceptrons.Perceptron, not by a {type(model).__name__}.")
        learner = model._fitted()
        if learner.votes is None:
            raise ValueError(
                "This model did not keep its updates: fit it with combine='vote', which keeps them all, or let "
                "from_data fit one."
            )
        self.classes = learner.classes
        self.start = tuple(part.copy() for part in learner.weights.start())
        self.one, self.t = learner.weights.one, learner.t
        self.log = learner.votes.log
        versions = (len(self.log) + 1) * (learner.n_features + 1) * len(self.start[1])
        if versions > MOST:
            raise ValueError(
                f"{len(self.log):,} updates of {learner.n_features:,} features are too many to replay: take fewer "
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
    """A model with its whole history, trained until it converges or for 1000 epochs unless told otherwise."""
    if parameters.get("combine", "vote") != "vote":
        raise ValueError(f"combine={parameters['combine']!r}: only combine='vote' keeps every update; leave it out.")
    return Perceptron(**{"tol": None, **parameters, "combine": "vote"}).fit(X, y)
