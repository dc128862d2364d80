"""Reads classes, feature names and scores from estimators and data."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from perceptrons.inspection.evaluation import several_labels
from perceptrons.theory.examples import check_rows


def fitted_classes(estimator: Any) -> np.ndarray:
    """Return the classes of a fitted classifier; raise an error without two classes and one label per example."""
    name = type(estimator).__name__
    if not hasattr(estimator, "predict"):
        raise TypeError(f"{name} has no predict: give a fitted classifier.")
    check_is_fitted(estimator)
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise ValueError(f"{name} has no classes_: give a fitted classifier.")
    if isinstance(classes, list) or several_labels(estimator):
        raise ValueError(
            f"This {name} was trained on several labels per example: use a model with one label per example."
        )
    require_two_classes(estimator)
    return np.asarray(classes)


def require_two_classes(model: Any) -> None:
    if len(model.classes_) < 2:
        label = np.asarray(model.classes_).tolist()[0]
        raise ValueError(f"This {type(model).__name__} knows only the class {label!r}: there is nothing to draw yet.")


def feature_names(estimator: Any, X: Any = None) -> list[str] | None:
    """Return the names of the columns of X, or those that the estimator was fitted with; None if neither has any."""
    names = X.columns if hasattr(X, "columns") else getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def check_nonempty_rows(X: Any) -> Any:
    """Check X as `fit` does and return an array or a CSR matrix; raise an error if it has no rows."""
    require_rows(X)
    return check_rows(X)


def require_rows(X: Any) -> int:
    """Return the number of rows of X; raise an error if there are none."""
    n_rows = int(X.shape[0]) if hasattr(X, "shape") and len(X.shape) else len(X)
    if n_rows == 0:
        raise ValueError("X has no rows: there is nothing to draw.")
    return n_rows


def split_pipeline(estimator: Any) -> tuple[Any, Any]:
    """Return the steps of a pipeline before its classifier (None if there are none), and the classifier."""
    if not isinstance(estimator, Pipeline):
        return None, estimator
    has_transformers = any(step not in (None, "passthrough") for _, step in estimator.steps[:-1])
    return (estimator[:-1] if has_transformers else None), estimator.steps[-1][1]


def scores_of(estimator: Any, X: Any) -> np.ndarray | None:
    """Return scores, (n,) for two classes, else (n, K); or probabilities, or None if there are neither.

    Scores of two classes count from the model's threshold, so that the boundary is at 0.
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
    """Return by how much each class leads its best rival, (n, K); for scores s of two classes, -s and s."""
    if scores.ndim == 1:
        return np.stack([-scores, scores], axis=1)
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T[:, :, None]
    return scores - np.where(scores == best, second, best)


def to_dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X)
