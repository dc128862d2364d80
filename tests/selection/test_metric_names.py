"""The metrics that selection accepts by name are those of the one table of metrics."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, matthews_corrcoef

from perceptrons.inspection.metrics import METRICS
from perceptrons.selection.statistics import NAMES, Metric


def test_the_names_are_those_of_the_table():
    assert set(NAMES) == set(METRICS) - {"log_loss", "brier_score", "calibration_error"} | {"neg_log_loss"}


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("accuracy", accuracy_score),
        ("balanced_accuracy", balanced_accuracy_score),
        ("f1_macro", lambda y, predicted: f1_score(y, predicted, average="macro")),
        ("f1_micro", lambda y, predicted: f1_score(y, predicted, average="micro")),
        ("f1_weighted", lambda y, predicted: f1_score(y, predicted, average="weighted")),
        ("matthews", matthews_corrcoef),
    ],
)
def test_a_metric_by_name_is_that_of_scikit_learn(name, function, k):
    rng = np.random.default_rng(k)
    y = np.append(np.arange(k), rng.integers(0, k, 200))
    predicted = np.where(rng.random(len(y)) < 0.4, rng.integers(0, k, len(y)), y)
    assert Metric(name)(y, predicted) == pytest.approx(function(y, predicted), abs=1e-12)
