"""Calibrates the scores of a trained model on examples that it has not seen, so that it has probabilities."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from perceptrons.data.splitting import len_of
from perceptrons.engine.training.base import Classifier, learner_of
from perceptrons.engine.training.calibration import CalibrationMethod, calibration_of, check_method
from perceptrons.engine.training.labels import merge, read_target
from perceptrons.inspection.evaluation import columns_matched, several_labels
from perceptrons.selection.search import last_step
from perceptrons.selection.thresholds import codes_and_scores, read_blocks


def calibrate(model: Any, X: Any, y: Any, method: CalibrationMethod = "sigmoid", sample_weight: Any = None) -> Any:
    """Calibrate the scores of a trained model, so that it has `predict_proba`. Weights and predictions do not change.

    `Perceptron(probability=...)` does the same in `fit`, on examples that it holds out itself.

    Use it with a validation set, for a model that was trained on a stream, on a cluster or by `partial_fit`, or that
    was trained further since its calibration. Do not use it on training examples, whose scores are too good. If there
    are too few examples to hold some out, use scikit-learn's `CalibratedClassifierCV`, which cross-validates.

    Parameters
    ----------
    model : fitted Perceptron or KernelPerceptron, or a Pipeline that ends in one
    X, y : the examples to calibrate with, a validation set
    method : {"sigmoid", "temperature", "isotonic"}, default="sigmoid"
        As the parameter `probability` of `Perceptron`.
    sample_weight : array, optional

    Returns
    -------
    model
        The same object, calibrated.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.selection import calibrate
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(2000, flip_y=0.2, random_state=0)
    >>> model = calibrate(Perceptron().fit(X[:1000], y[:1000]), X[1000:], y[1000:])
    >>> model.predict_proba(X[:2]).round(2).tolist()
    [[0.89, 0.11], [0.03, 0.97]]
    """
    last = _calibratable(model, method)
    target = read_target(y, len_of(X), learner_of(last).form)
    if target.several != several_labels(last):
        raise ValueError("y has another form than in training: one label per example, or several.")
    weight, _ = target.weights(sample_weight, None, stream=False)
    if target.several:
        with columns_matched():
            scores = np.asarray(model.decision_function(X), np.float64)
        known = merge(last.classes_, target.classes)
        if len(known) > len(last.classes_):
            unknown = np.setdiff1d(target.classes, last.classes_).tolist()
            raise ValueError(
                f"y has labels that the model does not know, such as {unknown[:3]}: leave these examples out."
            )
        truth = target.among(known).truth
    else:
        truth, scores = codes_and_scores(model, last, X, target.codes, target.classes)
    learner_of(last).calibration = calibration_of(method, scores, truth, weight, last)
    return model


def calibrate_on_blocks(model: Any, blocks: Iterable[Any], method: CalibrationMethod) -> None:
    """Calibrate like `calibrate` on blocks of examples as they are read, by at most about 10 million scores."""
    _calibratable(model, method)
    truth, scores, weights = read_blocks(model, blocks)
    if not len(truth):
        raise ValueError("There are no examples to calibrate with: give some of every class.")
    learner_of(model).calibration = calibration_of(method, scores, truth, weights, model)


def _calibratable(model: Any, method: CalibrationMethod) -> Any:
    """Return the estimator to calibrate; raise an error if it is of another library, or has only one class."""
    check_method(method)
    last = last_step(model)[0]
    if not isinstance(last, Classifier):
        raise TypeError(
            f"{type(last).__name__} cannot be calibrated here: give a Perceptron or a KernelPerceptron, or use "
            "scikit-learn's CalibratedClassifierCV."
        )
    if len(last.classes_) < 2 and not several_labels(last):
        raise ValueError("The model knows only one class: there is nothing to calibrate.")
    return last
