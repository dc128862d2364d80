"""What a picture of a boundary marks: the closest right example, and the examples that support the model."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.kernel.arrays import to_host
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


def support_of(estimator: Any, X: Any) -> np.ndarray | None:
    """Which rows of X are equal to examples that support the model: those a kernel model keeps, or that made updates.

    None where the model has none, or none that rows could be compared with. Where they were in the training data
    (`support_`) does not help: X may be other data, or in another order.
    """
    learner: Any = getattr(estimator, "_learner", None)
    votes = getattr(learner, "votes", None)
    if isinstance(votes, Votes) and getattr(estimator, "combine", None) == "vote":
        kept = votes.matrix(learner.n_features)
    else:
        kept = to_host(getattr(estimator, "support_vectors_", None))
    if kept is None or len(getattr(kept, "shape", ())) != 2:
        return None
    try:
        rows = rows_of(X)
    except (ValueError, TypeError):
        return None
    if rows.shape[1] != kept.shape[1]:
        return None
    if sp.issparse(rows) != sp.issparse(kept):
        rows, kept = sp.csr_matrix(rows), sp.csr_matrix(kept)
    known = set(_fingerprints(kept))
    return np.array([row in known for row in _fingerprints(rows.astype(kept.dtype))], bool)


def _fingerprints(X: Any) -> list[bytes]:
    """Rows as bytes that are equal where the rows are."""
    if not sp.issparse(X):
        return [row.tobytes() for row in np.ascontiguousarray(X) + 0.0]
    X = sp.csr_matrix(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    ends = X.indptr.tolist()
    columns = X.indices.astype(np.int64)
    return [columns[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(ends)]
