"""Reads the facts for plots from estimators and data: names of features and classes, codes of labels, scores."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from perceptrons.theory.examples import check_rows


def fitted_classes(estimator: Any) -> np.ndarray:
    """The classes of a fitted classifier of single labels, two or more; ValueError for anything else."""
    if not hasattr(estimator, "predict"):
        raise TypeError(f"{type(estimator).__name__} has no predict: give a fitted classifier.")
    check_is_fitted(estimator)
    classes = getattr(estimator, "classes_", None)
    name = type(estimator).__name__
    if classes is None:
        raise ValueError(f"{name} has no classes_: give a fitted classifier.")
    form = getattr(getattr(estimator, "_learner", None), "form", "single")
    if isinstance(classes, list) or form != "single":
        raise ValueError(
            f"This {name} was trained on several labels per example: use a model with one label per example."
        )
    if len(classes) < 2:
        raise ValueError(
            f"This {name} knows only the class {np.asarray(classes).tolist()[0]!r}: there is nothing to draw yet."
        )
    return np.asarray(classes)


def feature_names(estimator: Any, X: Any = None) -> list[str] | None:
    """The names of the columns of X, or those that the estimator was fitted with; None if neither has any."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


@contextmanager
def nameless() -> Iterator[None]:
    """No warning that a model which learned names of columns is asked about rows without: pictures know which is which.

    Columns of other names, or in another order, are refused as ever.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


def rows_of(X: Any) -> Any:
    """X as numbers, checked as `fit` checks it: an array, or a CSR matrix. There must be a row."""
    n = X.shape[0] if hasattr(X, "shape") and len(X.shape) else len(X)
    if n == 0:
        raise ValueError("X has no rows: there is nothing to draw.")
    return check_rows(X)


def split_pipeline(estimator: Any) -> tuple[Any, Any]:
    """What a pipeline does first (None for an estimator alone, or one alone in a pipeline), and its classifier."""
    if not isinstance(estimator, Pipeline):
        return None, estimator
    before = [step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    return (estimator[:-1] if before else None), estimator.steps[-1][1]


def scores_of(estimator: Any, X: Any) -> np.ndarray | None:
    """Scores, (n,) for two classes or (n, K); probabilities where there are no scores; None where there is neither.

    Scores of two classes count from the threshold that the model answers by, so that the boundary is at 0.
    """
    threshold = getattr(split_pipeline(estimator)[1], "threshold_", None) or 0.0
    for method in ("decision_function", "predict_proba"):
        if hasattr(estimator, method):
            scores = np.asarray(getattr(estimator, method)(X), np.float64)
            if method == "predict_proba" and scores.shape[1] == 2:
                return scores[:, 1] - scores[:, 0]
            scores = scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
            return scores - threshold if scores.ndim == 1 else scores
    return None


def leads(scores: np.ndarray) -> np.ndarray:
    """By how much each class leads its best rival, (n, K); of single scores s of two classes, -s and s."""
    if scores.ndim == 1:
        return np.stack([-scores, scores], axis=1)
    order = np.partition(scores, -2, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    return scores - np.where(scores == best, np.where(second == best, best, second), best)


def as_dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def as_given(points: np.ndarray, X: Any) -> Any:
    """Points of the plane in the form of X: a frame of the same columns if it is one."""
    return type(X)(points, columns=X.columns) if hasattr(X, "iloc") else points
