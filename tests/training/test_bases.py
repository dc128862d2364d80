"""Estimators are shallow: a reader who wants to know what one does has at most two classes of ours to look into."""

import inspect

import pytest
from sklearn.base import BaseEstimator

import perceptrons
from perceptrons.engine.training.epochs import Trainee

ESTIMATORS = [
    found
    for name in perceptrons.__all__
    if inspect.isclass(found := getattr(perceptrons, name)) and issubclass(found, BaseEstimator)
]


def ours(kind):
    """The classes of this package above a class."""
    return [above.__name__ for above in kind.__mro__[1:] if above.__module__.split(".")[0] == "perceptrons"]


def test_all_estimators_and_transformers_are_looked_at():
    assert {kind.__name__ for kind in ESTIMATORS} == {
        "FeatureTemplates", "HashedFeatures", "HashedText", "KernelPerceptron", "Perceptron", "SequencePerceptron",
        "StructuredPerceptron",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_an_estimator_has_at_most_two_classes_of_ours_above_it(kind):
    assert len(ours(kind)) <= 2, ours(kind)


def every_kind(kind):
    return [kind] + [below for child in kind.__subclasses__() for below in every_kind(child)]


def test_all_that_the_loop_over_epochs_trains_has_one_base():
    names = {kind.__name__ for kind in every_kind(Trainee)}
    assert {"LinearFit", "StreamFit", "KernelFit", "BudgetedFit", "ChainFit", "OutputFit"} <= names
