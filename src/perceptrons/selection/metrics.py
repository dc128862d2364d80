"""The figures that settings are chosen and tested by: functions of true and predicted labels, by name."""

import math
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, matthews_corrcoef

from perceptrons.selection.splitting import len_of
from perceptrons.training.structure import sound_csr

SETS = set | frozenset | list | tuple
METRICS: dict[str, Callable[[Any, Any], float]] = {
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "f1_macro": partial(f1_score, average="macro", zero_division=0),
    "f1_micro": partial(f1_score, average="micro", zero_division=0),
    "f1_weighted": partial(f1_score, average="weighted", zero_division=0),
    "matthews": matthews_corrcoef,
}


class Metric:
    """A figure, the larger the better.

    outputs: an example has "labels", one or several; or "sequences" of them, counted label by label; or an output that
    is right as a "whole".
    """

    def __init__(self, metric: str | Callable[[Any, Any], float], outputs: str = "labels"):
        if not callable(metric) and metric not in METRICS:
            raise ValueError(
                f"metric={metric!r}: give one of {', '.join(map(repr, METRICS))}, or a function of true and predicted "
                "labels."
            )
        self.name = getattr(metric, "__name__", "a function") if callable(metric) else metric
        self._function = metric if callable(metric) else METRICS[metric]
        self.own, self.outputs = callable(metric), outputs

    def __call__(self, y: Any, predicted: Any) -> float:
        right = self.right(y, predicted)  # after every epoch scikit-learn's checks would cost more than the counting
        if right is not None:
            return float(right.mean())
        if self.outputs == "sequences" and not self.own:
            y, predicted = list(chain(*y)), list(chain(*predicted))
        figure = float(self._function(y, predicted))
        if not math.isfinite(figure):
            raise ValueError(f"metric {self.name} gave {figure} for {len_of(y):,} examples: it must give a number.")
        return figure

    def right(self, y: Any, predicted: Any) -> np.ndarray | None:
        """Which examples, or labels of sequences, are right; None if the figure is no share of them."""
        if self.name != "accuracy" or self.own:
            return None
        if self.outputs == "sequences":
            y, predicted = list(chain(*y)), list(chain(*predicted))
        elif self.outputs == "whole":
            return np.array([bool(one == other) for one, other in zip(y, predicted, strict=True)], bool)
        elif not _is_array(predicted):
            return np.array([set(one) == set(other) for one, other in zip(y, predicted, strict=True)], bool)
        y, predicted = _as_array(y), _as_array(predicted)
        if y.shape != predicted.shape:
            raise ValueError(f"y has shape {y.shape}, but predictions have {predicted.shape}.")
        same = y == predicted
        return same.all(axis=1) if same.ndim == 2 else same


def _as_array(labels: Any) -> np.ndarray:
    return np.asarray(sound_csr(labels, "y").toarray() if sp.issparse(labels) else labels)


def _is_array(predicted: Any) -> bool:
    """Are these labels, or rows of flags, and not sets of labels?"""
    if sp.issparse(predicted) or not hasattr(predicted, "dtype"):
        return sp.issparse(predicted)
    return not (predicted.dtype.kind == "O" and len(predicted) and isinstance(predicted[0], SETS))
