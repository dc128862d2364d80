"""The one table of metrics: what each is called, what it needs, and how it comes from a confusion matrix.

Commands, reports and `perceptrons.selection` all read it. Metrics of scores are in `ranking.py`, those of
probabilities in `reliability.py`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from perceptrons.inspection.ranking import Ranking
from perceptrons.inspection.reliability import Reliability
from perceptrons.inspection.wording import in_percent

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
    is_share = name in METRICS and METRICS[name].is_share  # a function of the user's own may be anything
    return in_percent(value, digits) if is_share else f"{value:.{digits + 2}f}"
