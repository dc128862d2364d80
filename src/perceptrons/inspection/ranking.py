"""How well scores rank examples: the cuts behind ROC and precision-recall curves, and the areas below these curves."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perceptrons.engine.training.memory import MOST_SCORES


class Cuts(NamedTuple):
    """What answering "positive" at or above a score gives, for every different score, the highest first."""

    scores: np.ndarray
    hits: np.ndarray  # positive examples at or above it
    alarms: np.ndarray  # negative ones

    @property
    def n_positive(self) -> int:
        return int(self.hits[-1]) if len(self.hits) else 0

    @property
    def n_negative(self) -> int:
        return int(self.alarms[-1]) if len(self.alarms) else 0


class Ranking(NamedTuple):
    """The areas below both curves; None where a curve needs examples that are not there."""

    roc_auc: float | None
    average_precision: float | None


def cuts_of(positive: np.ndarray, scores: np.ndarray) -> Cuts:
    """All cuts of scores. positive: a flag for every example; examples of equal scores are never apart."""
    order = np.argsort(-scores, kind="stable")
    sorted_scores = scores[order]
    ends = np.flatnonzero(np.append(sorted_scores[1:] != sorted_scores[:-1], np.ones(min(1, len(order)), bool)))
    hits = np.cumsum(positive[order], dtype=np.int64)[ends]
    return Cuts(sorted_scores[ends], hits, ends + 1 - hits)


def cuts_by_class(codes: np.ndarray, scores: np.ndarray) -> Iterator[tuple[int, Cuts]]:
    """The number of a class and its cuts, one-vs-rest; of two classes those of the second.

    codes: the number of each example's class. scores: (n,) for two classes, positive for the second, else (n, classes).
    """
    if scores.ndim == 1:
        yield 1, cuts_of(codes == 1, scores)
        return
    for k in range(scores.shape[1]):
        yield k, cuts_of(codes == k, scores[:, k])


def roc_auc(cuts: Cuts) -> float | None:
    """The chance that a positive example scores higher than a negative one, ties counted half."""
    if not cuts.n_positive or not cuts.n_negative:
        return None
    hits, alarms = (np.append(0, part).astype(np.float64) for part in (cuts.hits, cuts.alarms))
    return float(np.trapezoid(hits, alarms) / (hits[-1] * alarms[-1]))


def average_precision(cuts: Cuts) -> float | None:
    """The mean of the precisions at all cuts, each weighted by the recall that it adds."""
    if not cuts.n_positive:
        return None
    precision = cuts.hits / (cuts.hits + cuts.alarms)
    return float((precision * np.diff(cuts.hits, prepend=0)).sum() / cuts.n_positive)


def ranking_of(codes: np.ndarray, scores: np.ndarray) -> Ranking:
    """Both areas; of several classes the mean over those that occur, each against the rest."""
    found = [(roc_auc(cuts), average_precision(cuts)) for _, cuts in cuts_by_class(codes, scores) if cuts.n_positive]
    areas = zip(*found, strict=True) if found else ((), ())
    return Ranking(*(_mean([area for area in of_curve if area is not None]) for of_curve in areas))


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


class KeptScores:
    """The scores of examples that come block by block, with the numbers of their classes; at most MOST_SCORES."""

    def __init__(self) -> None:
        self._codes: list[np.ndarray] = []
        self._scores: list[np.ndarray] = []
        self._size = 0

    def add(self, codes: np.ndarray, scores: np.ndarray) -> None:
        self._size += scores.size
        if self._size > MOST_SCORES:
            self._codes, self._scores = [], []
        else:
            self._codes.append(codes)
            self._scores.append(scores)

    @property
    def too_many(self) -> bool:
        return self._size > MOST_SCORES

    def ranking(self) -> Ranking:
        if not self._scores:
            return Ranking(None, None)
        return ranking_of(np.concatenate(self._codes), np.concatenate(self._scores))
