"""The table of all metrics: of predicted classes, of scores (the ranking of examples) and of probabilities.

Commands, reports and `perceptrons.selection` read `METRICS` and, for several labels per example, `LABEL_METRICS`.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.training.memory import MOST_SCORES
from perceptrons.engine.wording import in_percent
from perceptrons.inspection.reliability import Reliability

ANSWERS, SCORES, PROBABILITIES = "answers", "scores", "probabilities"  # what a metric is measured on


class Cuts(NamedTuple):
    """The counts of predicting "positive" at or above a score, for every different score, the highest first."""

    scores: np.ndarray
    hits: np.ndarray  # positive examples at or above the score
    alarms: np.ndarray  # negative examples at or above the score

    @property
    def n_positive(self) -> int:
        return int(self.hits[-1]) if len(self.hits) else 0

    @property
    def n_negative(self) -> int:
        return int(self.alarms[-1]) if len(self.alarms) else 0


class Ranking(NamedTuple):
    """The areas below both curves; None for a curve that needs examples of a class that has none."""

    roc_auc: float | None
    average_precision: float | None


def cuts_of(positive: np.ndarray, scores: np.ndarray) -> Cuts:
    """Return all cuts of scores. positive: a flag per example. Examples with equal scores stay together."""
    order = np.argsort(-scores, kind="stable")
    sorted_scores = scores[order]
    ends = np.flatnonzero(np.append(sorted_scores[1:] != sorted_scores[:-1], np.ones(min(1, len(order)), bool)))
    hits = np.cumsum(positive[order], dtype=np.int64)[ends]
    return Cuts(sorted_scores[ends], hits, ends + 1 - hits)


def cuts_by_class(codes: np.ndarray, scores: np.ndarray) -> Iterator[tuple[int, Cuts]]:
    """Return the number and the cuts of each class, one-vs-rest; for two classes, only of the second.

    codes: the class number of each example. scores: (n,) for two classes, positive for the second, else (n, n_classes).
    """
    if scores.ndim == 1:
        yield 1, cuts_of(codes == 1, scores)
        return
    for k in range(scores.shape[1]):
        yield k, cuts_of(codes == k, scores[:, k])


def roc_auc(cuts: Cuts) -> float | None:
    """Return the probability that a positive example scores higher than a negative one; a tie counts half."""
    if not cuts.n_positive or not cuts.n_negative:
        return None
    hits, alarms = (np.append(0, part).astype(np.float64) for part in (cuts.hits, cuts.alarms))
    return float(np.trapezoid(hits, alarms) / (hits[-1] * alarms[-1]))


def average_precision(cuts: Cuts) -> float | None:
    """Return the mean of the precision at all cuts, weighted by the recall that each adds."""
    if not cuts.n_positive:
        return None
    precision = cuts.hits / (cuts.hits + cuts.alarms)
    return float((precision * np.diff(cuts.hits, prepend=0)).sum() / cuts.n_positive)


def ranking_of(codes: np.ndarray, scores: np.ndarray) -> Ranking:
    """Return both areas; for several classes, the mean over those that occur, one-vs-rest."""
    by_class = [cuts for _, cuts in cuts_by_class(codes, scores) if cuts.n_positive]
    return Ranking(*(_mean([area(cuts) for cuts in by_class]) for area in (roc_auc, average_precision)))


def _mean(values: list[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


class KeptScores:
    """The scores and class numbers of examples that come in blocks; none if there are more than MOST_SCORES."""

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


class Measure(NamedTuple):
    """A metric. of: computes it from confusion matrices (..., K, K), true classes in rows, or from `LabelCounts`."""

    title: str
    needs: str
    of: Callable[[Any], Any] | None = None
    binary: bool = False  # defined for two classes only, about the second
    is_share: bool = True  # shown in percent


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the ratio, with 0 for 0/0."""
    out = np.zeros(np.broadcast(numerator, denominator).shape)
    return np.divide(numerator, denominator, out=out, where=denominator != 0)


def _counts(confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each class how often it is predicted correctly, how often it is true, and how often predicted."""
    table = np.asarray(confusion, np.float64)
    return np.diagonal(table, axis1=-2, axis2=-1), table.sum(axis=-1), table.sum(axis=-2)


def _macro_f1(hit: np.ndarray, true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the mean F1 of the classes or labels that occur or are predicted."""
    n_classes = (true + predicted > 0).sum(axis=-1).astype(np.float64)
    return _ratio(_ratio(2.0 * hit, true + predicted).sum(axis=-1), n_classes)


def _weighted_f1(hit: np.ndarray, true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the mean F1 of the classes or labels, each weighted by how often it occurs."""
    return _ratio((true * _ratio(2.0 * hit, true + predicted)).sum(axis=-1), true.sum(axis=-1))


def accuracy(confusion: np.ndarray) -> np.ndarray:
    hit, true, _ = _counts(confusion)
    return _ratio(hit.sum(axis=-1), true.sum(axis=-1))


def balanced_accuracy(confusion: np.ndarray) -> np.ndarray:
    """Return the mean recall of the classes that occur."""
    hit, true, _ = _counts(confusion)
    return _ratio(_ratio(hit, true).sum(axis=-1), (true > 0).sum(axis=-1).astype(np.float64))


def f1(confusion: np.ndarray) -> np.ndarray:
    """Return F1 of the second class."""
    hit, true, predicted = (part[..., 1] for part in _counts(confusion))
    return _ratio(2 * hit, true + predicted)


def matthews(confusion: np.ndarray) -> np.ndarray:
    """Return Matthews' correlation coefficient for any number of classes (Gorodkin 2004): 1 is perfect, 0 chance."""
    hit, true, predicted = _counts(confusion)
    n = true.sum(axis=-1)
    both = hit.sum(axis=-1) * n - (true * predicted).sum(axis=-1)
    spread = [n * n - (part * part).sum(axis=-1) for part in (true, predicted)]
    return _ratio(both, np.sqrt(spread[0]) * np.sqrt(spread[1]))


def youden(confusion: np.ndarray) -> np.ndarray:
    """Return Youden's J: the recall of the second class, plus that of the rest, less 1."""
    hit, true, predicted = (part[..., 1] for part in _counts(confusion))
    others = np.asarray(confusion, np.float64).sum(axis=(-2, -1)) - true
    return _ratio(hit, true) + _ratio(others - (predicted - hit), others) - 1


METRICS: dict[str, Measure] = {
    "accuracy": Measure("accuracy", ANSWERS, accuracy),
    "balanced_accuracy": Measure("balanced accuracy", ANSWERS, balanced_accuracy),
    "f1": Measure("F1", ANSWERS, f1, binary=True),
    "f1_macro": Measure("macro F1", ANSWERS, lambda confusion: _macro_f1(*_counts(confusion))),
    "f1_micro": Measure("micro F1", ANSWERS, accuracy),
    "f1_weighted": Measure("weighted F1", ANSWERS, lambda confusion: _weighted_f1(*_counts(confusion))),
    "matthews": Measure("Matthews correlation", ANSWERS, matthews, is_share=False),
    "youden": Measure("Youden's J", ANSWERS, youden, binary=True, is_share=False),
    "roc_auc": Measure("ROC AUC", SCORES, is_share=False),
    "average_precision": Measure("average precision", SCORES, is_share=False),
    "log_loss": Measure("log loss", PROBABILITIES, is_share=False),
    "brier_score": Measure("Brier score", PROBABILITIES, is_share=False),
    "calibration_error": Measure("calibration error", PROBABILITIES, is_share=False),
}
BY_ANSWERS = tuple(name for name, measure in METRICS.items() if measure.needs == ANSWERS)
BY_SCORES = tuple(name for name, measure in METRICS.items() if measure.needs == SCORES)
TOP = (1, 3, 5)  # of precision at k


class LabelCounts(NamedTuple):
    """Counts for several labels per example: per label found, true and predicted ones; then of examples.

    exact: examples whose label set is predicted exactly. top: for each k, how many of the k labels with the highest
    scores are true, over all examples. known: the number of labels of the model.
    """

    hit: np.ndarray
    true: np.ndarray
    predicted: np.ndarray
    n: int
    exact: int
    top: dict[int, int]
    known: int


def micro_f1(counts: LabelCounts) -> float:
    """Return F1 of all decisions together."""
    both = float(counts.true.sum() + counts.predicted.sum())
    return 2 * float(counts.hit.sum()) / both if both else 0.0


def hamming_loss(counts: LabelCounts) -> float:
    """Return the share of wrong decisions, with one decision per example and label."""
    wrong = int(counts.true.sum() + counts.predicted.sum() - 2 * counts.hit.sum())
    return wrong / (counts.n * len(counts.true)) if counts.n and len(counts.true) else 0.0


def _precision_at(k: int) -> Callable[[LabelCounts], float | None]:
    return lambda counts: counts.top[k] / (k * counts.n) if counts.n and k <= counts.known else None


LABEL_METRICS: dict[str, Measure] = {
    "accuracy": Measure("subset accuracy", ANSWERS, lambda counts: counts.exact / counts.n if counts.n else 0.0),
    "f1_micro": Measure("micro F1", ANSWERS, micro_f1),
    "f1_macro": Measure("macro F1", ANSWERS, lambda counts: float(_macro_f1(*counts[:3]))),
    "f1_weighted": Measure("weighted F1", ANSWERS, lambda counts: float(_weighted_f1(*counts[:3]))),
    "hamming_loss": Measure("Hamming loss", ANSWERS, hamming_loss, is_share=False),
    **{f"precision_at_{k}": Measure(f"precision at {k}", SCORES, _precision_at(k)) for k in TOP},
}


def all_metrics(
    confusion: np.ndarray, n_classes: int, ranking: Ranking | None, reliability: Reliability | None = None
) -> dict[str, float | None]:
    """Return every metric of the table by name; None if it is not defined here. n_classes: of the model."""
    values: dict[str, float | None] = dict.fromkeys(METRICS)
    for name, measure in METRICS.items():
        if measure.of is not None and (n_classes == 2 or not measure.binary):
            values[name] = float(measure.of(confusion))
        elif measure.needs == SCORES and ranking is not None:
            values[name] = getattr(ranking, name)
        elif measure.needs == PROBABILITIES and reliability is not None:
            values[name] = getattr(reliability, name)
    return values


def shown(name: str, value: float, digits: int = 1) -> str:
    """Format the value of a metric: shares in percent, others as numbers."""
    measure = METRICS.get(name, LABEL_METRICS.get(name))
    is_share = measure is not None and measure.is_share  # a function of the user may be anything
    return in_percent(value, digits) if is_share else f"{value:.{digits + 2}f}"
