"""The one table of metrics: what each is called, what it needs, and how it comes from a confusion matrix.

Commands, reports and `perceptrons.selection` all read it. Metrics of scores are in `ranking.py`, those of
probabilities in `reliability.py`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.wording import in_percent
from perceptrons.inspection.ranking import Ranking
from perceptrons.inspection.reliability import Reliability

ANSWERS, SCORES, PROBABILITIES = "answers", "scores", "probabilities"  # what a metric is measured on


class Measure(NamedTuple):
    """A metric. of: its value for confusion matrices of shape (..., K, K), true classes in rows."""

    title: str
    needs: str
    of: Callable[[np.ndarray], np.ndarray] | None = None
    binary: bool = False  # only for two classes: it is about the second
    is_share: bool = True  # shown in percent


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """0 where it is 0/0."""
    return np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below != 0)


def _counts(confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of every class: how often it was found, how often it is true, how often it was answered."""
    table = np.asarray(confusion, np.float64)
    return np.diagonal(table, axis1=-2, axis2=-1), table.sum(axis=-1), table.sum(axis=-2)


def accuracy(confusion: np.ndarray) -> np.ndarray:
    hit, true, _ = _counts(confusion)
    return _ratio(hit.sum(axis=-1), true.sum(axis=-1))


def balanced_accuracy(confusion: np.ndarray) -> np.ndarray:
    """The mean recall of the classes that occur."""
    hit, true, _ = _counts(confusion)
    return _ratio(_ratio(hit, true).sum(axis=-1), (true > 0).sum(axis=-1).astype(np.float64))


def f1(confusion: np.ndarray) -> np.ndarray:
    """F1 of the second class."""
    hit, true, said = (part[..., 1] for part in _counts(confusion))
    return _ratio(2 * hit, true + said)


def f1_macro(confusion: np.ndarray) -> np.ndarray:
    """The mean F1 of the classes that occur or are answered."""
    hit, true, said = _counts(confusion)
    return _ratio(_ratio(2 * hit, true + said).sum(axis=-1), (true + said > 0).sum(axis=-1).astype(np.float64))


def f1_weighted(confusion: np.ndarray) -> np.ndarray:
    """The mean F1 of the classes, each weighted by its number of examples."""
    hit, true, said = _counts(confusion)
    return _ratio((true * _ratio(2 * hit, true + said)).sum(axis=-1), true.sum(axis=-1))


def matthews(confusion: np.ndarray) -> np.ndarray:
    """Matthews' correlation coefficient, for any number of classes (Gorodkin 2004): 1 is perfect, 0 is chance."""
    hit, true, said = _counts(confusion)
    n = true.sum(axis=-1)
    both = hit.sum(axis=-1) * n - (true * said).sum(axis=-1)
    spread = [n * n - (part * part).sum(axis=-1) for part in (true, said)]
    return _ratio(both, np.sqrt(spread[0]) * np.sqrt(spread[1]))


def youden(confusion: np.ndarray) -> np.ndarray:
    """Youden's J: recall of the second class, plus that of the rest, less 1."""
    hit, true, said = (part[..., 1] for part in _counts(confusion))
    others = np.asarray(confusion, np.float64).sum(axis=(-2, -1)) - true
    return _ratio(hit, true) + _ratio(others - (said - hit), others) - 1


METRICS: dict[str, Measure] = {
    "accuracy": Measure("accuracy", ANSWERS, accuracy),
    "balanced_accuracy": Measure("balanced accuracy", ANSWERS, balanced_accuracy),
    "f1": Measure("F1", ANSWERS, f1, binary=True),
    "f1_macro": Measure("macro F1", ANSWERS, f1_macro),
    "f1_micro": Measure("micro F1", ANSWERS, accuracy),
    "f1_weighted": Measure("weighted F1", ANSWERS, f1_weighted),
    "matthews": Measure("Matthews correlation", ANSWERS, matthews, is_share=False),
    "youden": Measure("Youden's J", ANSWERS, youden, binary=True, is_share=False),
    "roc_auc": Measure("ROC AUC", SCORES, is_share=False),
    "average_precision": Measure("average precision", SCORES, is_share=False),
    "log_loss": Measure("log loss", PROBABILITIES, is_share=False),
    "brier_score": Measure("Brier score", PROBABILITIES, is_share=False),
    "calibration_error": Measure("calibration error", PROBABILITIES, is_share=False),
}
BY_ANSWERS = tuple(name for name, one in METRICS.items() if one.needs == ANSWERS)
BY_SCORES = tuple(name for name, one in METRICS.items() if one.needs == SCORES)


TOP = (1, 3, 5)  # of precision at k


class LabelCounts(NamedTuple):
    """Where examples may have several labels. Of every label: found, true, predicted; then of examples.

    exact: examples whose label set is predicted as it is. top: by k, how many of the k labels with the highest scores
    are true, over all examples. known: labels that the model knows.
    """

    hit: np.ndarray
    true: np.ndarray
    said: np.ndarray
    n: int
    exact: int
    top: dict[int, int]
    known: int


class LabelMeasure(NamedTuple):
    """A metric of label sets. of: its value; None where it is not defined."""

    title: str
    of: Callable[[LabelCounts], float | None]
    is_share: bool = True


def _f1_of_labels(counts: LabelCounts) -> np.ndarray:
    return _ratio(2.0 * counts.hit, (counts.true + counts.said).astype(np.float64))


def micro_f1(counts: LabelCounts) -> float:
    """F1 of all decisions together."""
    both = float(counts.true.sum() + counts.said.sum())
    return 2 * float(counts.hit.sum()) / both if both else 0.0


def macro_f1(counts: LabelCounts) -> float:
    """The mean F1 of the labels that occur or are predicted."""
    there = int((counts.true + counts.said > 0).sum())
    return float(_f1_of_labels(counts).sum()) / there if there else 0.0


def weighted_f1(counts: LabelCounts) -> float:
    """The mean F1 of the labels, each weighted by how often it occurs."""
    total = int(counts.true.sum())
    return float((counts.true * _f1_of_labels(counts)).sum()) / total if total else 0.0


def hamming_loss(counts: LabelCounts) -> float:
    """The share of the decisions, one per example and label, that are wrong."""
    wrong = int(counts.true.sum() + counts.said.sum() - 2 * counts.hit.sum())
    return wrong / (counts.n * len(counts.true)) if counts.n and len(counts.true) else 0.0


def _precision_at(k: int) -> Callable[[LabelCounts], float | None]:
    return lambda counts: counts.top[k] / (k * counts.n) if counts.n and k <= counts.known else None


LABEL_METRICS: dict[str, LabelMeasure] = {
    "accuracy": LabelMeasure("subset accuracy", lambda counts: counts.exact / counts.n if counts.n else 0.0),
    "f1_micro": LabelMeasure("micro F1", micro_f1),
    "f1_macro": LabelMeasure("macro F1", macro_f1),
    "f1_weighted": LabelMeasure("weighted F1", weighted_f1),
    "hamming_loss": LabelMeasure("Hamming loss", hamming_loss, is_share=False),
    **{f"precision_at_{k}": LabelMeasure(f"precision at {k}", _precision_at(k)) for k in TOP},
}


def all_metrics(
    confusion: np.ndarray, n_classes: int, ranking: Ranking | None, reliability: Reliability | None = None
) -> dict[str, float | None]:
    """Every metric of the table; None for those that cannot be told. n_classes: those that the model knows."""
    found: dict[str, float | None] = {}
    for name, one in METRICS.items():
        told: Any = None
        if one.of is not None and (n_classes == 2 or not one.binary):
            told = float(one.of(confusion))
        elif one.needs == SCORES and ranking is not None:
            told = getattr(ranking, name)
        elif one.needs == PROBABILITIES and reliability is not None:
            told = getattr(reliability, name)
        found[name] = told
    return found


def shown(name: str, value: float, digits: int = 1) -> str:
    """A value of a metric for people: shares in percent, others as numbers."""
    measure = METRICS.get(name, LABEL_METRICS.get(name))
    is_share = measure is not None and measure.is_share  # a function of the user's own may be anything
    return in_percent(value, digits) if is_share else f"{value:.{digits + 2}f}"
