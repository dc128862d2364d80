"""The figures that settings are chosen and tested by: functions of true and predicted labels, by name."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, matthews_corrcoef

from perceptrons.selection.splitting import len_of

METRICS: dict[str, Callable[[Any, Any], float]] = {
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "f1_macro": partial(f1_score, average="macro", zero_division=0),
    "f1_micro": partial(f1_score, average="micro", zero_division=0),
    "f1_weighted": partial(f1_score, average="weighted", zero_division=0),
    "matthews": matthews_corrcoef,
}


class Metric:
    """A figure, the larger the better. Sequences of labels are counted label by label."""

    def __init__(self, metric: str | Callable[[Any, Any], float]):
        if not callable(metric) and metric not in METRICS:
            raise ValueError(
                f"metric={metric!r}: give one of {', '.join(map(repr, METRICS))}, or a function of true and predicted "
                "labels."
            )
        self.name = getattr(metric, "__name__", "a function") if callable(metric) else metric
        self._function = metric if callable(metric) else METRICS[metric]
        self.own = callable(metric)

    def __call__(self, y: Any, predicted: Any) -> float:
        right = self.right(y, predicted)  # after every epoch scikit-learn's checks would cost more than the counting
        if right is not None:
            return float(right.mean())
        if not self.own and is_sequences(y):
            y, predicted = list(chain(*y)), list(chain(*predicted))
        return float(self._function(y, predicted))

    def right(self, y: Any, predicted: Any) -> np.ndarray | None:
        """Which examples, or labels of sequences, are right; None if the figure is no share of them."""
        if self.name != "accuracy" or self.own:
            return None
        if is_sequences(y):
            y, predicted = list(chain(*y)), list(chain(*predicted))
        elif is_sets(y):
            return np.array([set(one) == set(other) for one, other in zip(y, predicted, strict=True)])
        y, predicted = (np.asarray(labels.toarray() if sp.issparse(labels) else labels) for labels in (y, predicted))
        same = y == predicted
        return same.all(axis=1) if same.ndim == 2 else same


def is_sequences(y: Any) -> bool:
    """Is the output of an example a sequence of labels?"""
    return isinstance(y, list | tuple) and len_of(y) > 0 and all(isinstance(one, list | tuple) for one in y)


def is_sets(y: Any) -> bool:
    """Has an example a set of labels?"""
    return isinstance(y, list | tuple) and len_of(y) > 0 and all(isinstance(one, set | frozenset) for one in y)
