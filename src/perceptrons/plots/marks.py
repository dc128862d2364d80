"""What a picture of a boundary marks: the closest right example, and the examples that support the model."""

from itertools import pairwise
from typing import Any

import numpy as np

from perceptrons.plots.plane import Plane
from perceptrons.plots.reading import rows_of, scores_of
from perceptrons.theory import margins
from perceptrons.training.votes import Votes


def closest_right(
    estimator: Any, X: Any, codes: np.ndarray, classes: np.ndarray, predicted: np.ndarray, plane: Plane
) -> tuple[float | None, float | None]:
    """The geometric margin of the closest right example, where the model is a line, and its score."""
    right = predicted == codes
    if plane.others or not right.any():
        return None, None
    try:
        functional, geometric = margins(estimator, rows_of(X), classes[codes])
        closest = int(np.argmin(np.where(right, geometric, np.inf)))
        return float(geometric[closest]), float(functional[closest])
    except (ValueError, TypeError, AttributeError):
        scores = scores_of(estimator, X) if hasattr(estimator, "decision_function") else None
        if scores is None or scores.ndim > 1 or getattr(estimator, "combine", None) == "vote":
            return None, None
        return None, float(np.abs(scores[right]).min())


def support_of(estimator: Any, X: Any, n: int) -> np.ndarray | None:
    """Which rows of X support the model: those a kernel model keeps, or equal to an example that made an update."""
    learner: Any = getattr(estimator, "_learner", None)
    votes = getattr(learner, "votes", None)
    if isinstance(votes, Votes) and getattr(estimator, "combine", None) == "vote":
        rows, kept = rows_of(X), votes.matrix(learner.n_features)
        known = set(_fingerprints(kept))
        return np.array([row in known for row in _fingerprints(rows.astype(kept.dtype))], bool)
    places = getattr(estimator, "support_", None)
    if places is None or isinstance(places, dict):
        return None
    places = np.asarray(places)
    if places.ndim != 1 or not np.issubdtype(places.dtype, np.integer):
        return None
    mask = np.zeros(n, bool)
    mask[places[(places >= 0) & (places < n)]] = True
    return mask


def _fingerprints(X: Any) -> list[bytes]:
    """Rows as bytes that are equal where the rows are."""
    if not hasattr(X, "indptr"):
        return [row.tobytes() for row in np.ascontiguousarray(X) + 0.0]
    X = X.copy()
    X.eliminate_zeros()
    ends = X.indptr.tolist()
    columns = X.indices.astype(np.int64)
    return [columns[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(ends)]
