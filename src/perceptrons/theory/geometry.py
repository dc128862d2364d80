"""Computes where examples lie relative to a linear model: distances, nearest boundary points, margins, the radius."""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.training.inputs import as_numbers
from perceptrons.inspection.evaluation import several_labels
from perceptrons.theory.examples import check_features, check_rows, codes_among

BLOCK_NUMBERS = 1 << 16  # converted at a time, to stay in the cache
MIN_SQUARABLE, MAX_SQUARABLE = 1e-140, 1e140  # the squares of numbers between these neither overflow nor underflow


class Hyperplanes(NamedTuple):
    """The weights that predict, in float64, with a row for every class. Of two classes, the row of the first is 0."""

    theta: np.ndarray  # (K, d)
    b: np.ndarray  # (K,)
    classes: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        return safe_sparse_dot(X, self.theta.T, dense_output=True) + self.b

    def nearest(self, s: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for every row of scores the smallest lead / |theta_own - theta_r| over rivals r, and that rival.

        codes: of the class y that leads."""
        every = np.arange(len(s))
        lead, between = s[every, codes][:, None] - s, _distances(self.theta)[codes]
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.where((between == 0) & (lead == 0), 0.0, lead / between)
        distance[every, codes] = np.inf
        rival = distance.argmin(axis=1)
        return distance[every, rival], rival


class Margins(NamedTuple):
    """The result of `margins`: two arrays of shape (n,), positive where the model is right."""

    functional: np.ndarray
    geometric: np.ndarray


def signed_distance(model: Any, X: Any, y: Any = None) -> np.ndarray:
    """Return the distance of each example from the decision boundary, with a sign for its side.

    Two classes: (w·x + b) / |w|, positive on the side of `classes_[1]`; with y: y (w·x + b) / |w|, positive on the
    example's own side. Several classes: the distance to the nearest boundary of the region of the class predicted; with
    y: the smallest over the rivals r of lead / |theta_y - theta_r|, so negative where another class wins.

    Use it to see, in units of the features, how safe a prediction is, or which examples lie near the decision boundary.
    Distances are not probabilities, and cannot be compared between models with differently scaled features.

    Parameters
    ----------
    model : fitted Perceptron, or any linear classifier with `coef_`, `intercept_` and `classes_`
    X : array, sparse matrix or frame of shape (n_examples, n_features)
    y : array of shape (n_examples,), optional

    Returns
    -------
    array of shape (n_examples,)
        Infinite between classes with equal weights, which have no decision boundary.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.theory import signed_distance
    >>> model = Perceptron(margin=0, intercept_scaling=1, max_iter=1, shuffle=False)
    >>> model = model.fit([[3.0, 4.0], [-3.0, -4.0]], ["far", "near"])
    >>> model.set_params(combine="last").coef_, model.intercept_
    (array([[-3., -4.]]), array([-1.]))
    >>> signed_distance(model, [[3.0, 4.0], [0.0, 1.0]])
    array([-5.2, -1. ])
    >>> signed_distance(model, [[3.0, 4.0], [0.0, 1.0]], ["far", "near"])
    array([ 5.2, -1. ])
    """
    planes, X = hyperplanes(model), check_features(model, X)
    s = planes.scores(X)
    if y is not None:
        codes = codes_among(y, X.shape[0], planes.classes)
    else:  # with two classes, the side of the second is positive
        codes = s.argmax(axis=1) if len(planes.classes) > 2 else np.ones(len(s), np.intp)
    return planes.nearest(s, codes)[0]


def project(model: Any, X: Any) -> np.ndarray:
    """Return the point of the decision boundary that is nearest to each example.

    Two classes: x - (w·x + b) w / |w|^2. Several: the nearest point at which the class predicted ties with another.

    Use it to show what would have to change for another prediction, or to draw the margin. Do not use it on wide sparse
    data, because the points are dense, or if features cannot change freely (counts, categories).

    Parameters
    ----------
    model, X : as in `signed_distance`

    Returns
    -------
    array of shape (n_examples, n_features)

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.theory import project
    >>> model = Perceptron(margin=0, intercept_scaling=1, max_iter=1, shuffle=False, combine="last")
    >>> model = model.fit([[3.0, 4.0], [-3.0, -4.0]], [0, 1])
    >>> point = project(model, [[3.0, 4.0]])
    >>> point.round(2), abs(model.decision_function(point)).max() < 1e-12
    (array([[-0.12, -0.16]]), np.True_)
    """
    planes, X = hyperplanes(model), check_features(model, X)
    s, between = planes.scores(X), _distances(planes.theta)
    equal = np.argwhere((between == 0) & ~np.eye(len(between), dtype=bool))
    if len(equal):
        first, second = planes.classes[equal[0]].tolist()
        raise ValueError(
            f"The classes {first!r} and {second!r} have equal weights: there is no decision boundary between them."
        )
    codes = s.argmax(axis=1)
    distance, rival = planes.nearest(s, codes)
    normal = (planes.theta[codes] - planes.theta[rival]) / between[codes, rival][:, None]
    return (X.toarray() if sp.issparse(X) else X) - distance[:, None] * normal


def vector_projection(a: Any, b: Any) -> np.ndarray:
    """Return the projection of the vector a onto the vector b: (a·b / |b|^2) b, the part of a in the direction of b.

    The rest, a minus this, is orthogonal to b.

    Use it for the geometry of two vectors, as in a lecture. Do not use it to find the nearest point of a decision
    boundary, which has a bias: that is `project`.

    Parameters
    ----------
    a : array of shape (n_features,) or (n_vectors, n_features)
    b : array of shape (n_features,), not all zeros

    Returns
    -------
    array of the shape of a

    Examples
    --------
    >>> from perceptrons.theory import vector_projection
    >>> vector_projection([2.0, 3.0], [4.0, 0.0])
    array([2., 0.])
    """
    a, b = as_numbers(a, "a"), as_numbers(b, "b")
    if b.ndim != 1 or a.ndim not in (1, 2) or a.shape[-1] != len(b):
        raise ValueError(f"a has the shape {a.shape} and b {b.shape}: give vectors of one length, b as a single one.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a or b contains NaN or infinity.")
    if not b.any():
        raise ValueError("b is the zero vector, which has no direction.")
    direction = b / norm(b)
    return np.multiply.outer(a @ direction, direction)


def margins(model: Any, X: Any, y: Any) -> Margins:
    """Return the functional and the geometric margin of every example, positive where the model is right.

    The functional margin is y (w·x + b). For several classes it is the score of the true class minus the best other
    score. The geometric margin is the functional one divided by |w|, and for several classes by sqrt(2) |theta|. The
    mean row is subtracted from theta first, which changes no difference of scores. With this factor two classes
    have the same margin, whether they are written as one row or as two, and the mistake bound is (R / gamma)^2 for any
    number of classes. The norms do not include the bias.

    The smallest of them is the smallest margin of this model on these data. The largest margin of the data is the best
    smallest margin of all hyperplanes (`perceptrons.theory.max_margin`).

    Use it to compare models of any scale on one data set. To compare data sets, divide by their `radius`.

    Parameters
    ----------
    model, X, y : as in `signed_distance`

    Returns
    -------
    Margins
        `functional` and `geometric`, arrays of shape (n_examples,).

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.theory import margins
    >>> X, y = [[3.0, 4.0], [-3.0, -4.0], [0.0, 0.0]], ["far", "near", "near"]
    >>> model = Perceptron(margin=0, intercept_scaling=1, max_iter=1, shuffle=False, combine="last").fit(X, y)
    >>> margins(model, X, y)
    Margins(functional=array([25., 25.,  0.]), geometric=array([5., 5., 0.]))
    """
    planes, X = hyperplanes(model), check_features(model, X)
    functional = true_lead(planes.scores(X), codes_among(y, X.shape[0], planes.classes))
    centred = planes.theta - planes.theta.mean(axis=0)
    return Margins(functional, functional / (math.sqrt(2) * norm(centred)))


def true_lead(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the score of the true class minus that of its best rival; scores of two classes may be one number each."""
    return leads(scores, codes)[0]


def leads(scores: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the score of the true class minus that of its best rival, as `true_lead` does, and the rival."""
    if scores.ndim == 1 or scores.shape[1] == 1:
        s = scores.ravel()
        return np.where(codes == 1, s, -s), 1 - codes
    every, rival_scores = np.arange(len(scores)), scores.copy()
    rival_scores[every, codes] = -np.inf
    rivals = rival_scores.argmax(axis=1)
    return scores[every, codes] - scores[every, rivals], rivals


def radius(X: Any, fit_intercept: bool = False) -> float:
    """Return R, the norm of the longest example; with an intercept, that of (x, 1), which the perceptron learns from.

    Use it as the scale of the data, together with margins. It is not a measure of spread: one outlier decides it.

    Examples
    --------
    >>> from perceptrons.theory import radius
    >>> radius([[3.0, 4.0], [1.0, 0.0]])
    5.0
    """
    return float(math.hypot(norms(check_rows(X)).max(), 1.0 if fit_intercept else 0.0))


def norms(X: Any) -> np.ndarray:
    """Return |x| of the rows of a checked matrix, in float64."""
    scale = square_scale(X)
    if sp.issparse(X):
        squares = sp.csr_matrix(((X.data / scale).astype(np.float64) ** 2, X.indices, X.indptr), shape=X.shape)
        return scale * np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    X = X if scale == 1 else X / scale
    return scale * np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def products(X: Any, theta: np.ndarray) -> np.ndarray:
    """Return X thetaᵀ in float64 for a vector theta or rows of it, without a float64 copy of all of X."""
    if sp.issparse(X) or X.dtype == np.float64:
        return np.asarray(X @ theta.T)
    s = np.empty((X.shape[0], *theta.shape[:-1]))
    step = max(1, BLOCK_NUMBERS // max(1, X.shape[1]))
    for first in range(0, len(s), step):
        s[first : first + step] = X[first : first + step].astype(np.float64) @ theta.T
    return s


def square_scale(X: Any) -> float:
    """Return a divisor of a matrix with which its largest squares neither overflow nor underflow; usually 1."""
    values = X.data if sp.issparse(X) else X
    top = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    return 1.0 if top == 0 or MIN_SQUARABLE < top < MAX_SQUARABLE else top


def hyperplanes(model: Any) -> Hyperplanes:
    """Return the weights of a fitted linear classifier; ValueError if they are not hyperplanes."""
    name = type(model).__name__
    if getattr(model, "combine", None) == "vote":
        raise ValueError(
            "Voting (combine='vote') has many weight vectors, no single hyperplane: use 'average' or 'last'."
        )
    if hasattr(model, "fit"):
        check_is_fitted(model)
    missing = [part for part in ("coef_", "intercept_", "classes_") if not hasattr(model, part)]
    if missing:
        raise ValueError(f"{name} has no {' and no '.join(missing)}: give a fitted linear classifier.")
    if several_labels(model) or isinstance(model.classes_, list):
        raise ValueError(f"This {name} was trained on several labels per example: each label has its own hyperplane.")
    classes, K = model.classes_, len(model.classes_)
    pairs = getattr(model, "multiclass", None) == "ovo" or hasattr(model, "support_vectors_")
    if pairs and K > 2:
        raise ValueError(
            f"This {name} has one hyperplane per pair of classes (one-vs-one): use a model with one per class."
        )
    if K < 2:
        raise ValueError(
            f"This {name} knows only the class {classes.tolist()[0]!r}: there is no decision boundary yet."
        )
    w = model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_)
    w = np.atleast_2d(w).astype(np.float64)
    b = np.broadcast_to(np.asarray(model.intercept_, np.float64).ravel(), len(w))
    if len(w) != K and (len(w), K) != (1, 2):
        raise ValueError(
            f"coef_ of this {name} has {len(w)} rows for {K} classes: give a classifier with one row per class."
        )
    if not (np.isfinite(w).all() and np.isfinite(b).all()):
        raise ValueError(f"The weights of this {name} contain NaN or infinity.")
    if (w == (w[0] if len(w) > 1 else 0.0)).all():
        raise ValueError(
            f"The weights of this {name} are all zero{' or equal' * (len(w) > 1)}: there is no hyperplane."
        )
    threshold = getattr(model, "threshold_", None)  # the boundary is where predictions change
    b = b if threshold is None else b - threshold
    if len(w) == 1:
        w, b = np.vstack([np.zeros_like(w), w]), np.append(0.0, b)
    return Hyperplanes(w, b, classes)


def _distances(theta: np.ndarray) -> np.ndarray:
    """Return |theta_y - theta_r| for all pairs; equal weights give exactly 0."""
    top = np.abs(theta).max()
    scaled = theta / top
    return top * np.stack([np.linalg.norm(scaled - row, axis=1) for row in scaled])


def norm(w: np.ndarray) -> float:
    """Return the norm of all numbers of an array; their squares neither overflow nor underflow."""
    top = float(np.abs(w).max())
    return top * float(np.linalg.norm(w / top)) if top > 0 else 0.0
