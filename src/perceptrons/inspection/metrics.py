"""The table of all metrics: of predicted classes, of scores (the ranking of examples) and of probabilities.

Commands, reports and `perceptrons.selection` read `METRICS` and, for several labels per example, `LABEL_METRICS`.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.training.memory import MOST_SCORES
from perceptrons.engine.wording import in_percent

ANSWERS, SCORES, PROBABILITIES = "answers", "scores", "probabilities"  # what a metric is measured on
RELIABILITY_BINS = 10  # of equal width

Facts = dict[str, Any]  # plain values, for JSON


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
    else:
        yield from ((k, cuts_of(codes == k, scores[:, k])) for k in range(scores.shape[1]))


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


class Ranking(NamedTuple):
    """The areas below both curves; None for a curve that needs examples of a class that has none."""

    roc_auc: float | None
    average_precision: float | None


def ranking_of(codes: np.ndarray, scores: np.ndarray) -> Ranking:
    """Return both areas; for several classes, the mean over those that occur, one-vs-rest."""
    classes = [cuts for _, cuts in cuts_by_class(codes, scores) if cuts.n_positive]
    areas = ([value for cuts in classes if (value := area(cuts)) is not None] for area in (roc_auc, average_precision))
    return Ranking(*(float(np.mean(values)) if values else None for values in areas))


class ScoreBuffer:
    """The scores and class numbers of examples that come in blocks; none if there are more than MOST_SCORES."""

    def __init__(self) -> None:
        self._blocks: list[tuple[np.ndarray, np.ndarray]] = []
        self._size = 0

    def add(self, codes: np.ndarray, scores: np.ndarray) -> None:
        self._size += scores.size
        if self.too_many:
            self._blocks = []
        else:
            self._blocks.append((codes, scores))

    @property
    def too_many(self) -> bool:
        return self._size > MOST_SCORES

    def ranking(self) -> Ranking | None:
        """Return the areas of all examples; None if there were too many scores."""
        if self.too_many:
            return None
        return ranking_of(*(np.concatenate(parts) for parts in zip(*self._blocks, strict=True)))


class Reliability:
    """Compares probabilities with the true classes as they come, in constant memory.

    The curve is that of the second of two classes; of more classes, that of the most probable one.
    """

    def __init__(self) -> None:
        self.n = 0
        self._loss = self._squares = 0.0
        self.counts, self._sums, self._true = (np.zeros(RELIABILITY_BINS) for _ in range(3))

    def add(self, codes: np.ndarray, probabilities: np.ndarray) -> None:
        """Add examples. codes: the class number of each example. probabilities: (n, n_classes)."""
        n, n_classes = probabilities.shape
        of_truth = probabilities[np.arange(n), codes]
        self.n += n
        self._loss -= float(np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0)).sum())
        errors = probabilities.copy()
        errors[np.arange(n), codes] -= 1
        self._squares += float((errors * errors).sum() / (2 if n_classes == 2 else 1))
        if n_classes == 2:
            probability, is_true = probabilities[:, 1], codes == 1
        else:
            predicted = probabilities.argmax(axis=1)
            probability, is_true = probabilities[np.arange(n), predicted], predicted == codes
        bins = np.minimum((probability * RELIABILITY_BINS).astype(np.intp), RELIABILITY_BINS - 1)
        self.counts += np.bincount(bins, minlength=RELIABILITY_BINS)
        self._sums += np.bincount(bins, probability, minlength=RELIABILITY_BINS)
        self._true += np.bincount(bins, is_true, minlength=RELIABILITY_BINS)

    @property
    def log_loss(self) -> float | None:
        """Return the mean of -log of the probability of the true class, as scikit-learn's `log_loss` does."""
        return self._loss / self.n if self.n else None

    @property
    def brier_score(self) -> float | None:
        """Return the mean squared error, as scikit-learn does: of the second of two classes, or summed over all."""
        return self._squares / self.n if self.n else None

    @property
    def calibration_error(self) -> float | None:
        """Return the expected calibration error: the mean distance of probabilities from the share that was true."""
        return float(np.abs(self._sums - self._true).sum() / self.n) if self.n else None

    def curve(self) -> list[tuple[float, float, int]]:
        """Return for each non-empty bin the mean probability, the share that was true, and the number of examples."""
        return [
            (float(total / n), float(true / n), int(n))
            for total, true, n in zip(self._sums, self._true, self.counts, strict=True)
            if n
        ]


class ClassCounts(NamedTuple):
    """How often each class is predicted correctly, is true, and is predicted: arrays (..., n_classes)."""

    hit: np.ndarray
    true: np.ndarray
    predicted: np.ndarray


def counts_of(confusion: np.ndarray) -> ClassCounts:
    """Return the counts of confusion matrices (..., K, K), which have the true classes in rows."""
    table = np.asarray(confusion, np.float64)
    return ClassCounts(np.diagonal(table, axis1=-2, axis2=-1), table.sum(axis=-1), table.sum(axis=-2))


class Measure(NamedTuple):
    """A metric. of: computes it from `ClassCounts`, of a label set metric from `LabelQuality`, which has them too."""

    title: str
    needs: str
    of: Callable[[Any], Any] | None = None
    binary: bool = False  # defined for two classes only, about the second
    is_share: bool = True  # shown in percent


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the ratio, with 0 for 0/0."""
    out = np.zeros(np.broadcast(numerator, denominator).shape)
    return np.divide(numerator, denominator, out=out, where=denominator != 0)


def _f1_by_class(counts: ClassCounts) -> np.ndarray:
    return _ratio(2.0 * counts.hit, counts.true + counts.predicted)


def accuracy(counts: ClassCounts) -> np.ndarray:
    return _ratio(counts.hit.sum(axis=-1), counts.true.sum(axis=-1))


def balanced_accuracy(counts: ClassCounts) -> np.ndarray:
    """Return the mean recall of the classes that occur."""
    return _ratio(_ratio(counts.hit, counts.true).sum(axis=-1), (counts.true > 0).sum(axis=-1))


def f1(counts: ClassCounts) -> np.ndarray:
    """Return F1 of the second class."""
    return _f1_by_class(counts)[..., 1]


def micro_f1(counts: ClassCounts) -> np.ndarray:
    """Return F1 of all decisions together. With one label per example, it is the accuracy."""
    return _ratio(2 * counts.hit.sum(axis=-1), counts.true.sum(axis=-1) + counts.predicted.sum(axis=-1))


def macro_f1(counts: ClassCounts) -> np.ndarray:
    """Return the mean F1 of the classes or labels that occur or are predicted."""
    return _ratio(_f1_by_class(counts).sum(axis=-1), (counts.true + counts.predicted > 0).sum(axis=-1))


def weighted_f1(counts: ClassCounts) -> np.ndarray:
    """Return the mean F1 of the classes or labels, each weighted by how often it occurs."""
    return _ratio((counts.true * _f1_by_class(counts)).sum(axis=-1), counts.true.sum(axis=-1))


def matthews(counts: ClassCounts) -> np.ndarray:
    """Return Matthews' correlation coefficient for any number of classes (Gorodkin 2004): 1 is perfect, 0 chance."""
    n = counts.true.sum(axis=-1)
    covariance = counts.hit.sum(axis=-1) * n - (counts.true * counts.predicted).sum(axis=-1)
    variances = [n * n - (part * part).sum(axis=-1) for part in (counts.true, counts.predicted)]
    return _ratio(covariance, np.sqrt(variances[0]) * np.sqrt(variances[1]))


def youden(counts: ClassCounts) -> np.ndarray:
    """Return Youden's J: the recall of the second class, plus that of the rest, less 1."""
    hit, true, predicted = (part[..., 1] for part in (counts.hit, counts.true, counts.predicted))
    others = counts.true.sum(axis=-1) - true
    return _ratio(hit, true) + _ratio(others - (predicted - hit), others) - 1


METRICS: dict[str, Measure] = {
    "accuracy": Measure("accuracy", ANSWERS, accuracy),
    "balanced_accuracy": Measure("balanced accuracy", ANSWERS, balanced_accuracy),
    "f1": Measure("F1", ANSWERS, f1, binary=True),
    "f1_macro": Measure("macro F1", ANSWERS, macro_f1),
    "f1_micro": Measure("micro F1", ANSWERS, micro_f1),
    "f1_weighted": Measure("weighted F1", ANSWERS, weighted_f1),
    "matthews": Measure("Matthews correlation", ANSWERS, matthews, is_share=False),
    "youden": Measure("Youden's J", ANSWERS, youden, binary=True, is_share=False),
    "roc_auc": Measure("ROC AUC", SCORES, is_share=False),
    "average_precision": Measure("average precision", SCORES, is_share=False),
    "log_loss": Measure("log loss", PROBABILITIES, is_share=False),
    "brier_score": Measure("Brier score", PROBABILITIES, is_share=False),
    "calibration_error": Measure("calibration error", PROBABILITIES, is_share=False),
}
BY_ANSWERS = tuple(name for name, measure in METRICS.items() if measure.needs == ANSWERS)
PRECISION_RANKS = (1, 3, 5)  # k of precision at k


def hamming_loss(quality: Any) -> float:
    """Return the share of wrong decisions, with one decision per example and label."""
    n_wrong = int(quality.true.sum() + quality.predicted.sum() - 2 * quality.hit.sum())
    return n_wrong / (quality.total * len(quality.true)) if quality.total and len(quality.true) else 0.0


def _precision_at(k: int) -> Callable[[Any], float | None]:
    return lambda quality: (
        quality.n_hits_at[k] / (k * quality.total) if quality.total and k <= quality.n_known else None
    )


LABEL_METRICS: dict[str, Measure] = {
    "accuracy": Measure("subset accuracy", ANSWERS, lambda quality: quality.accuracy),
    "f1_micro": Measure("micro F1", ANSWERS, micro_f1),
    "f1_macro": Measure("macro F1", ANSWERS, macro_f1),
    "f1_weighted": Measure("weighted F1", ANSWERS, weighted_f1),
    "hamming_loss": Measure("Hamming loss", ANSWERS, hamming_loss, is_share=False),
    **{f"precision_at_{k}": Measure(f"precision at {k}", SCORES, _precision_at(k)) for k in PRECISION_RANKS},
}


def format_metric(name: str, value: float, digits: int = 1) -> str:
    """Format the value of a metric: shares in percent, others as numbers."""
    measure = METRICS.get(name, LABEL_METRICS.get(name))
    is_share = measure is not None and measure.is_share  # a function of the user may be anything
    return in_percent(value, digits) if is_share else f"{value:.{digits + 2}f}"
