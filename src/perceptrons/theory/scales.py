"""Finds the features whose scale makes the radius, and with it the mistake bound, large."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from perceptrons.inspection.units import are_scaled
from perceptrons.inspection.weights import dense_coef
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
    """Find the features that make the radius large.

    The perceptron makes at most (R/gamma)^2 updates, R the norm of the farthest example. A feature with large values
    can make up nearly all of R without any information about the classes.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    fit_intercept : bool, default=True
        Whether the examples are (x, 1).

    Returns
    -------
    Scales

    Examples
    --------
    >>> from perceptrons.theory.scales import scales
    >>> result = scales([[0.5, 3000.0, 1.0], [0.2, 4000.0, 1.0]])
    >>> result.farthest, result.shares.round(4).tolist(), result.constant.tolist()
    (1, [0.0, 1.0, 0.0], [False, False, True])
    """
    X = check_rows(X)
    sparse = sp.issparse(X)
    if sparse:
        squares = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
        means, variances = (part.astype(np.float64) for part in mean_variance_axis(X.astype(np.float64), axis=0))
        constant = np.equal(*min_max_axis(X, axis=0))
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
        means, variances = X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
        constant = X.max(axis=0) == X.min(axis=0)
    lengths = np.sqrt(squares + fit_intercept)
    farthest = int(np.argmax(lengths))
    row = (X[[farthest]].toarray()[0] if sparse else X[farthest]).astype(np.float64)
    radius = float(lengths[farthest])
    return Scales(
        radius=radius,
        farthest=farthest,
        typical=float(np.median(lengths)),
        shares=(row / radius) ** 2 if radius else np.zeros(len(row)),
        means=means,
        deviations=np.where(constant, 0.0, np.sqrt(np.maximum(variances, 0.0))),
        constant=constant,
    )


def largest_values(X: Any) -> np.ndarray:
    """Return the largest absolute value of every feature."""
    largest = abs(X).max(axis=0)
    return (largest.toarray().ravel() if sp.issparse(X) else np.asarray(largest)).astype(np.float64)


def uneven(X: Any, factor: float = UNEVEN) -> bool:
    """Return whether the largest values of features differ by more than this factor.

    Weights of such features cannot be compared. Use it before you compare weights. Sparse rows of one norm are never
    uneven: they are texts, and a word has smaller values than another because its texts are longer, not because of a
    unit.

    Examples
    --------
    >>> from perceptrons.theory.scales import uneven
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

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from perceptrons.theory.scales import scaler_for
    >>> people = [[1.7, 70000.0], [1.6, 50000.0]]
    >>> scaler_for(people), scaler_for(sp.csr_matrix(people)), scaler_for([[1.0, 0.0], [0.0, 2.0]])
    ('StandardScaler', 'MaxAbsScaler', None)
    """
    source = getattr(model, "source_", None) or {}
    if source.get("text_column") or source.get("format") == "text" or are_scaled(model) or not uneven(X):
        return None
    return "MaxAbsScaler" if sp.issparse(X) else "StandardScaler"


def comparable_weights(model: Any, X: Any) -> np.ndarray:
    """Return the weights of a linear model times the standard deviations of the features.

    They can be compared even if features have different units, because they do not depend on these. For a voting model,
    they are those of the averaged weights.

    Use it to see which features matter most if `uneven(X)`. It does not replace scaling before training, because the
    perceptron itself learns better from features of one scale.

    Parameters
    ----------
    model : fitted linear model, of this library or of scikit-learn
    X : array-like, sparse matrix or frame of shape (n_samples, n_features)

    Returns
    -------
    array of the shape of `coef_`

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.theory.scales import comparable_weights
    >>> X, y = [[1.7, 70000.0], [1.6, 50000.0], [1.9, 60000.0], [1.5, 80000.0]], [1, 0, 1, 0]
    >>> model = Perceptron(max_iter=5).fit(X, y)
    >>> comparable_weights(model, X).shape
    (1, 2)
    """
    return dense_coef(model) * scales(check_features(model, X)).deviations


def even(X: Any, centre: bool = True) -> Any:
    """Return the examples with features of one scale.

    Dense and centred: every column has mean 0 and variance 1, constant ones are 0. Otherwise, and for sparse matrices,
    which centring would make dense: the largest absolute value of every column is 1. With an intercept neither changes
    whether classes can be separated. Without one, centring may: use centre=False then.

    Examples
    --------
    >>> from perceptrons.theory.scales import even
    >>> even([[1.0, 3000.0], [3.0, 3000.0]]).tolist(), even([[1.0], [4.0]], centre=False).tolist()
    ([[-1.0, 0.0], [1.0, 0.0]], [[0.25], [1.0]])
    """
    X = check_rows(X)
    if centre and not sp.issparse(X):
        measured = scales(X)
        deviations = np.where(measured.deviations > 0, measured.deviations, 1.0)
        return np.where(measured.constant, 0.0, (X - measured.means) / deviations)
    largest = largest_values(X)
    unit = np.where(largest > 0, largest, 1.0)
    if not sp.issparse(X):
        return X / unit
    return sp.csr_matrix((X.data / unit[X.indices], X.indices, X.indptr), shape=X.shape)
