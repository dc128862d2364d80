"""A kernel model and its training set, as the loop over epochs (`training/epochs.py`) trains them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from perceptrons.kernel.arrays import to_host
from perceptrons.kernel.kernels import Points
from perceptrons.kernel.learner import KernelLearner
from perceptrons.kernel.stream import Stream
from perceptrons.kernel.sweep import Sweep
from perceptrons.training.epochs import Counts


class KernelFit(ABC):
    """What the loop asks of every model. held_out: which examples to score `combine` on, if any."""

    def __init__(self, work: "Sweep | Stream", combine: str, held_out: np.ndarray | None):
        self.work, self.combine, self.held_out = work, combine, held_out
        self.learner: KernelLearner = work.learner

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        return self.work.visit(order)

    def end_epoch(self) -> None:  # noqa: B027 (the last block leaves nothing to be done, in either kind)
        """Nothing."""

    def settled(self, row: dict[str, Any]) -> str:
        return "converged" if row["updates"] == 0 else ""

    def snapshot(self) -> Any:
        return self.learner.snapshot()

    def restore(self, snapshot: Any) -> None:
        self.learner.restore(snapshot)

    def accuracy(self) -> float:
        assert self.held_out is not None
        y, weight = self.work.y[self.held_out], self.work.weight
        scores = self.scores(self.held_out)
        winners = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.intp)
        share = np.ones(len(y)) if weight is None else weight[self.held_out]
        return float(share[winners == y].sum() / share.sum())

    def scores(self, which: np.ndarray) -> np.ndarray:
        """Of some examples, by exactly the function that would predict now."""
        return to_host(self.learner.scores(self.work.points.take(which), self.combine))

    @abstractmethod
    def norm(self) -> float:
        """Of the last function."""

    @abstractmethod
    def change(self) -> float:
        """Of the average since the last call, relative to its norm."""


class SweepFit(KernelFit):
    """Scores of all examples are at hand, and norms follow from them: <f, g> = sum_j a_j g(x_j)."""

    work: Sweep
    before: tuple[np.ndarray, Any] | None = None  # averaged coefficients, and averaged scores of all, an epoch ago

    def scores(self, which: np.ndarray) -> np.ndarray:
        if self.combine == "vote":
            return super().scores(which)
        s, n_rows = to_host(self.work.points.place.take(self.work.s, which)), self.learner.n_rows
        return s[:, :n_rows] if self.combine == "last" else s[:, :n_rows] - s[:, n_rows:] / max(self.learner.t, 1e-300)

    def norm(self) -> float:
        s = to_host(self.work.points.place.take(self.work.s, self.work.at))
        return float(np.sqrt(max(0.0, (self.learner.coef * s[:, : self.learner.n_rows]).sum())))

    def change(self) -> float:
        learner, work, n_rows = self.learner, self.work, self.learner.n_rows
        now, scores = learner.average, work.s[:, :n_rows] - work.s[:, n_rows:] / max(learner.t, 1e-300)
        before, self.before = self.before, (now, scores)
        if before is None:
            return np.inf
        moved = now.copy()
        moved[: len(before[0])] -= before[0]
        at = to_host(work.points.place.take(scores, work.at))
        was = to_host(work.points.place.take(before[1], work.at))
        norm = (now * at).sum()
        return float(np.sqrt(max(0.0, (moved * (at - was)).sum()) / norm)) if norm > 0 else np.inf


class StreamFit(KernelFit):
    """With a budget there are few support examples: norms are computed from their kernel values."""

    work: Stream
    before: tuple[Points, np.ndarray, float] | None = None  # support, averaged coefficients, squared norm an epoch ago

    def norm(self) -> float:
        points = self.learner.support.points()
        return float(np.sqrt(max(0.0, self._inner(points, self.learner.coef, points, self.learner.coef))))

    def change(self) -> float:
        points = self.learner.support.points()
        now, points = self.learner.average, points.take(np.arange(len(points)))
        norm = self._inner(points, now, points, now)
        before, self.before = self.before, (points, now, norm)
        if before is None:
            return np.inf
        moved = norm + before[2] - 2 * self._inner(points, now, before[0], before[1])
        return float(np.sqrt(max(0.0, moved) / norm)) if norm > 0 else np.inf

    def _inner(self, A: Points, a: np.ndarray, B: Points, b: np.ndarray) -> float:
        """<f, g> of two expansions."""
        if not len(a) or not len(b):
            return 0.0
        if A.index is not None:
            A = Points(self.work.points.rows, A.place, index=A.index)
        return float((a * (to_host(self.learner.kernel(A, B)) @ b)).sum())
