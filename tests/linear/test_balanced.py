"""class_weight="balanced": what it does to a rare class, in every way several classes are learned."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from perceptrons import KernelPerceptron, Perceptron


def skewed(rng, counts, d=4):
    """Overlapping clouds of these sizes, and as many test examples of every class."""
    centres = 1.5 * np.eye(len(counts), d)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    y_test = np.arange(900) % len(counts)
    return [centres[y] + rng.standard_normal((len(y), d)), y, centres[y_test] + rng.standard_normal((900, d)), y_test]


def recall(model, X, y, X_test, y_test):
    return balanced_accuracy_score(y_test, model.fit(X, y).predict(X_test))


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        (Perceptron(), [3000, 40]),
        (Perceptron(step="pa1"), [3000, 40]),
        (Perceptron(batch_size=10), [3000, 40]),
        (Perceptron(margin=1.0), [3000, 40]),
        (Perceptron(), [3000, 60, 300]),
        (Perceptron(multiclass="ovo"), [3000, 60, 300]),
        (KernelPerceptron(kernel="linear", max_iter=10), [1500, 40]),
    ],
)
def test_a_rare_class_is_found_about_as_often_as_if_no_class_were_rare(model, counts, rng):
    X, y, X_test, y_test = skewed(rng, counts)
    weighed = recall(model.set_params(class_weight="balanced"), X, y, X_test, y_test)
    alike = skewed(rng, [max(counts)] * len(counts))[:2]
    best = recall(model.set_params(class_weight=None), *alike, X_test, y_test)
    assert weighed > best - 0.05


def test_labels_that_few_examples_have_are_found_as_often_as_if_half_of_them_had(rng):
    X, y, X_test, y_test = skewed(rng, [3000, 40])
    model = Perceptron(class_weight="balanced").fit(X, np.column_stack([y, 1 - y]))
    found = model.predict(X_test)
    alone = recall(Perceptron(class_weight="balanced"), X, y, X_test, y_test)
    assert balanced_accuracy_score(y_test, found[:, 0]) == pytest.approx(alone, abs=0.02)
    assert balanced_accuracy_score(1 - y_test, found[:, 1]) == pytest.approx(alone, abs=0.02)
    assert alone > 0.8


@pytest.mark.parametrize("options", [{}, {"multiclass": "ovr"}, {"multiclass": "ovo"}, {"batch_size": 3}])
def test_the_rarest_class_has_weight_1_and_all_have_the_same_total(options, rng):
    X, y, *_ = skewed(rng, [32, 4, 16])
    sample_weight = np.where(y == 1, 2.0, 1.0)  # 8 of class 1, by weight
    balanced = Perceptron(class_weight="balanced", max_iter=5, **options).fit(X, y, sample_weight=sample_weight)
    named = Perceptron(class_weight={0: 1 / 4, 1: 1, 2: 1 / 2}, max_iter=5, **options)
    assert np.array_equal(balanced.coef_, named.fit(X, y, sample_weight=sample_weight).coef_)
