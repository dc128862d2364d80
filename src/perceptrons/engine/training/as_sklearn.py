"""Converts a linear model to a fitted scikit-learn model with the same predictions."""

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Perceptron
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer

ALIKE = ("fit_intercept", "shuffle", "eta0", "random_state", "class_weight", "warm_start")  # mean the same in both


def as_sklearn(model: Any) -> Any:
    """Return one of scikit-learn's models with these weights. Raise ValueError if the scores are not linear."""
    learner, name = model._fitted(), type(model).__name__
    if model.combine == "vote":
        raise ValueError(
            f"{name}(combine='vote') has no counterpart in scikit-learn: every weight vector of the training history "
            "votes, which is not linear. Call set_params(combine='average') first: the averaged weights predict "
            "nearly the same."
        )
    if learner.form == "single" and len(learner.classes) < 2:
        raise ValueError(
            f"The model knows only one class, {learner.classes.tolist()[0]!r}, but scikit-learn's models need two: "
            "train it on another class first."
        )
    w, b = learner.predicting(model.combine)
    at_zero = model.zero_score == "positive"
    if learner.scheme == "labels":
        b = np.nextafter(b, b.dtype.type(np.inf)) if at_zero else b  # above 0 exactly where it was at least 0
        return _several_labels(model, _problems(model, w, b))
    if learner.scheme == "ovo" and len(learner.classes) > 2:
        duels = _problems(model, w, b)
        return _duels(model, [_at_least(model, duel, 0.0) for duel in duels] if at_zero else duels)
    linear = _linear(model, w, b, learner.classes)
    if len(learner.classes) > 2 or (learner.threshold is None and not at_zero):
        return linear
    return _at_least(model, linear, learner.threshold or 0.0)


def _problems(model: Any, w: np.ndarray, b: np.ndarray) -> list[Perceptron]:
    """Return a model of the classes 0 and 1 for every row of weights."""
    return [_linear(model, w[k : k + 1], b[k : k + 1], np.array([0, 1])) for k in range(len(b))]


def _at_least(model: Any, linear: Perceptron, threshold: float) -> FixedThresholdClassifier:
    """Return a model that predicts the second class also where the score is exactly the threshold."""
    frozen = FrozenEstimator(linear)
    exact = np.float64(threshold)  # with a float of Python, float32 scores would be compared in float32
    by_threshold = FixedThresholdClassifier(frozen, threshold=exact, response_method="decision_function")
    by_threshold.estimator_ = frozen
    return _features_of(model, by_threshold)


def _linear(model: Any, w: np.ndarray, b: np.ndarray, classes: np.ndarray) -> Perceptron:
    """Return a model with copies of these weights: scikit-learn's `partial_fit` writes to them."""
    linear = Perceptron(**{name: getattr(model, name) for name in ALIKE})
    linear.coef_, linear.intercept_ = np.array(w, order="C"), np.array(b)
    linear.classes_, linear.n_iter_, linear.t_ = classes.copy(), model.n_iter_, 1.0 + model.t_
    return _features_of(model, linear)


def _features_of(model: Any, target: Any) -> Any:
    target.n_features_in_ = model.n_features_in_
    if hasattr(model, "_columns"):
        target.feature_names_in_ = model.feature_names_in_
    return target


def _several_labels(model: Any, parts: list[Perceptron]) -> OneVsRestClassifier:
    learner = model._learner
    binarizer = LabelBinarizer(sparse_output=True)
    binarizer.y_type_, binarizer.sparse_input_ = "multilabel-indicator", learner.form == "sparse"
    binarizer.classes_ = np.arange(len(parts))
    every = OneVsRestClassifier(Perceptron(**{name: getattr(model, name) for name in ALIKE}))
    every.estimators_, every.label_binarizer_ = parts, binarizer
    return _features_of(model, every)


def _duels(model: Any, parts: list[Perceptron]) -> OneVsOneClassifier:
    every = OneVsOneClassifier(Perceptron(**{name: getattr(model, name) for name in ALIKE}))
    every.estimators_, every.classes_, every.pairwise_indices_ = parts, model.classes_, None
    return _features_of(model, every)
