"""A chain model and its training set, as the loop over epochs (`training/epochs.py`) trains them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from perceptrons.passes.chain import ChainRule, Limits
from perceptrons.passes.shortlists import Table
from perceptrons.rows import packed
from perceptrons.sequence.learner import ChainLearner
from perceptrons.sequence.tokens import Tokens
from perceptrons.training.epochs import Counts
from perceptrons.training.learning import pieces

PIECE = 2**26  # weights read in a piece of an epoch, about: between two pieces Ctrl-C and the bar have their turn


class ChainFit:
    """held_out: which sequences to score `combine` on, if any."""

    def __init__(
        self,
        learner: ChainLearner,
        tokens: Tokens,
        y: np.ndarray,
        bounds: Limits,
        rule: ChainRule,
        combine: str,
        held_out: np.ndarray | None,
    ):
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
            check_overflow(counts, self.learner)

    def end_epoch(self) -> None:
        """Nothing."""

    def settled(self, row: dict[str, Any]) -> str:
        return "converged" if row["mistakes"] == row["updates"] == 0 else ""

    def norm(self) -> float:
        return self.learner.weights.norm()

    def change(self) -> float:
        weights, average, before = self.learner.weights, self.learner.average(), self.before
        self.before = Table(*(array.copy() for array in weights.table)), average
        return np.inf if before is None else weights.relative_change(average, *before)

    def snapshot(self) -> Any:
        return self.learner.weights.snapshot()

    def restore(self, snapshot: Any) -> None:
        self.learner.weights.restore(snapshot)
        self.learner.changed()

    def accuracy(self) -> float:
        """The share of the held-out tokens that are labelled right."""
        assert self.held_out is not None
        starts = self.tokens.starts
        which = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in self.held_out])
        if not len(which):
            return 1.0
        ends = np.concatenate([[0], np.cumsum(np.diff(starts)[self.held_out])])
        held_out = Tokens(packed(self.tokens.rows, which), ends)
        y_hat, _ = self.learner.label(held_out, self.combine, self.bounds.barrier)
        return float((y_hat == self.y[which]).mean())


def check_overflow(counts: Counts, learner: ChainLearner) -> None:
    if not np.isfinite(counts.loss):
        raise OverflowError(
            f"The weights have become too large for {learner.dtype}: scale the features, or take a smaller eta0 or C."
        )
