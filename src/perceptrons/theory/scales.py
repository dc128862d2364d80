"""Finds features whose scale makes the radius, and with it the mistake bound, large, and gives them one scale.

The perceptron makes at most (R / gamma)^2 updates, with R the norm of the farthest example. A feature with large values
can make up nearly all of R without any information about the classes. X is any array, sparse matrix or frame.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from perceptrons.inspection.weights import are_scaled, dense_coef
from perceptrons.theory.examples import check_features, check_rows
from perceptrons.theory.geometry import norms

UNEVEN = 30.0  # ratio of largest values of features, above which weights cannot be compared
NORM_TOLERANCE = 1e-3  # relative, within which norms are equal, also in float32 and after rounding to print


class Scales(NamedTuple):
    """The result of `scales`. Arrays have one entry per feature."""

    radius: float  # R, the norm of the farthest row
    farthest: int  # that row
    typical: float  # the median of the norms
    shares: np.ndarray  # of R^2, by the values of the farthest row; with an intercept its 1 has the rest
    means: np.ndarray
    deviations: np.ndarray  # standard deviations; exactly 0 where constant
    constant: np.ndarray  # is every value the same?


def scales(X: Any, fit_intercept: bool = True) -> Scales:
    """Measure the features, and their shares of the radius. With an intercept, the examples are (x, 1).

    >>> result = scales([[0.5, 3000.0, 1.0], [0.2, 4000.0, 1.0]])
    >>> result.farthest, result.shares.round(4).tolist(), result.constant.tolist()
    (1, [0.0, 1.0, 0.0], [False, False, True])
    """
    X = check_rows(X)
    if sp.issparse(X):
        squares = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
        means, variances = (part.astype(np.float64) for part in mean_variance_axis(X.astype(np.float64), axis=0))
        constant = np.equal(*min_max_axis(X, axis=0))
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
        means, variances = X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
        constant = X.max(axis=0) == X.min(axis=0)
    lengths = np.sqrt(squares + fit_intercept)
    farthest = int(np.argmax(lengths))
    row = (X[[farthest]].toarray()[0] if sp.issparse(X) else X[farthest]).astype(np.float64)
    radius = float(lengths[farthest])
    shares = (row / radius) ** 2 if radius else np.zeros(len(row))
    deviations = np.where(constant, 0.0, np.sqrt(np.maximum(variances, 0.0)))
    return Scales(radius, farthest, float(np.median(lengths)), shares, means, deviations, constant)


def largest_values(X: Any) -> np.ndarray:
    """Return the largest absolute value of every feature."""
    largest = abs(X).max(axis=0)
    return (largest.toarray().ravel() if sp.issparse(X) else np.asarray(largest)).astype(np.float64)


def uneven(X: Any, factor: float = UNEVEN) -> bool:
    """Return whether the largest values of features differ by more than this factor, so weights cannot be compared.

    Sparse rows of one norm are never uneven: they are texts, and a word has smaller values than another because its
    texts are longer, not because of a unit.

    >>> uneven([[1.7, 70000.0], [1.6, 50000.0]]), uneven([[1.0, 0.0], [0.0, 2.0]])
    (True, False)
    """
    X = check_rows(X)
    largest = largest_values(X)
    largest = largest[largest > 0]
    return bool(len(largest) and largest.max() > factor * largest.min()) and not of_one_length(X)


def of_one_length(X: Any) -> bool:
    """Return whether all nonempty rows of a sparse matrix have the same norm, as those of vectorized texts do.

    False for rows with a single value each, such as one category.
    """
    X = check_rows(X)
    if not sp.issparse(X) or X.nnz <= X.shape[0]:
        return False
    lengths = norms(X)
    lengths = lengths[lengths > 0]
    return bool(len(lengths) and lengths.max() <= (1 + NORM_TOLERANCE) * lengths.min())


def scaler_for(X: Any, model: Any = None) -> str | None:
    """Return the scikit-learn scaler to recommend for these features, or None. All such advice is decided here.

    Dense features with different units: StandardScaler. Sparse ones: MaxAbsScaler, because centring would make them
    dense. There is no advice for texts, recognised by sparse rows of one norm or by the way that the model reads its
    data, and for tables whose numbers the model scales when it reads them.
    """
    source = getattr(model, "source_", None) or {}
    if source.get("text_column") or source.get("format") == "text" or are_scaled(model) or not uneven(X):
        return None
    return "MaxAbsScaler" if sp.issparse(X) else "StandardScaler"


def comparable_weights(model: Any, X: Any) -> np.ndarray:
    """Return the weights of a linear model times the standard deviations of the features, in the shape of `coef_`.

    They can be compared even if features have different units, because they do not depend on these. For a voting model,
    they are those of the averaged weights. This does not replace scaling before training, because the perceptron itself
    learns better from features of one scale.
    """
    return dense_coef(model) * scales(check_features(model, X)).deviations


def even(X: Any, centre: bool = True) -> Any:
    """Return the examples with features of one scale.

    Dense and centred: every column has mean 0 and variance 1, constant ones are 0. Otherwise, and for sparse matrices,
    which centring would make dense: the largest absolute value of every column is 1. With an intercept neither changes
    whether classes can be separated. Without one, centring may: use centre=False then.
    """
    X = check_rows(X)
    if centre and not sp.issparse(X):
        stats = scales(X)
        deviations = np.where(stats.deviations > 0, stats.deviations, 1.0)
        return np.where(stats.constant, 0.0, (X - stats.means) / deviations)
    largest = largest_values(X)
    unit = np.where(largest > 0, largest, 1.0)
    if not sp.issparse(X):
        return X / unit
    return sp.csr_matrix((X.data / unit[X.indices], X.indices, X.indptr), shape=X.shape)
