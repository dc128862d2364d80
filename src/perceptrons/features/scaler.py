"""`RunningScaler`, which standardises the features of a stream with running means and variances."""

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.passes.scaling import MEAN, VARIANCE, count_dense, count_named, count_sparse, scale_named, up_to
from perceptrons.engine.training.inputs import ROW_TYPES, as_configured, check_matrix, known_numbers, read_only
from perceptrons.engine.training.parameters import NONE, WINDOW, Domain, Number, check_parameters

DOMAINS: dict[str, tuple[Domain, ...]] = {"window": (Number(2, 1e12), NONE)}


class RunningScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardise the features of a stream: subtract the running mean and divide by the running standard deviation.

    Both are kept up to date example by example. With a `window` they forget: an example counts the less the older it
    is, so that the scale follows a stream whose statistics drift. How the stream is cut into blocks does not matter:
    `partial_fit` on blocks of any size and `learn_one` on every row give the same bits.

    Use it for features with different scales in a stream that you read once. For data in memory, use scikit-learn's
    `StandardScaler`.

    Parameters
    ----------
    window : float or None, default=500
        Memory: every example counts 1 - 1 / window times as much as the one after it, as with
        `Perceptron(combine="recent")`. At least 2. None: all examples count alike.

    Attributes
    ----------
    mean_, var_ : arrays of shape (n_features,), or dicts by feature name
        Mean and variance of every feature. Dicts after `learn_one` with dicts.
    n_samples_seen_ : int
        Number of examples counted so far.
    n_features_in_, feature_names_in_ : int, array of str (if X had names)

    Notes
    -----
    - Sparse rows are divided and not centered, which would fill them. Their zeros count in mean and variance.
    - A feature that has been constant so far is centered and not divided.
    - A dict that leaves a feature out says nothing about it: the feature is neither counted nor added. Values that are
      not numbers, such as strings, pass through unchanged.
    - float32 stays float32; mean and variance are float64.
    - A value that was counted before it is scaled is at most the square root of `window` away from 0.

    Examples
    --------
    >>> from perceptrons.features import RunningScaler
    >>> scaler = RunningScaler(window=None)
    >>> for x in ({"height": 150.0, "age": 20}, {"height": 190.0, "age": 40}):
    ...     scaler = scaler.learn_one(x)
    >>> scaler.mean_, scaler.transform_one({"height": 190.0, "age": 20, "city": "Bonn"})
    ({'height': 170.0, 'age': 30.0}, {'height': 1.0, 'age': -1.0, 'city': 'Bonn'})
    """

    _moments: np.ndarray  # see passes/scaling.py
    _places: dict[str, int]
    _checked: tuple[Any, float] | None = None  # the window that was checked last, and what it keeps of the past

    def __init__(self, window: float | None = WINDOW):
        self.window = window

    # ---- matrices

    def fit(self, X: Any, y: Any = None) -> "RunningScaler":
        """Reset the scaler, then learn from the rows of X in their order.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_examples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        for name in ("_moments", "_places", "n_samples_seen_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> "RunningScaler":
        """Learn from the rows of X in their order, in addition to those before.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_examples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        keep, X = self._keep(), self._matrix(X, reset=not hasattr(self, "_moments"))
        if not hasattr(self, "_moments"):
            self._begin(X.shape[1])
        if sp.issparse(X):
            count_sparse(*map(read_only, (X.data, X.indices, X.indptr)), keep, self.n_samples_seen_, self._moments)
        else:
            count_dense(read_only(X), keep, self.n_samples_seen_, self._moments)
        self.n_samples_seen_ += X.shape[0]
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows of X, scaled by the statistics so far.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_examples, n_features)

        Returns
        -------
        array, or CSR matrix for a sparse X
        """
        check_is_fitted(self, "_moments")
        X = self._matrix(X, reset=False)
        mean, _, factors = up_to(self._keep(), self.n_samples_seen_, self._moments)
        if not sp.issparse(X):
            return ((X - mean) * factors).astype(X.dtype, copy=False)
        data = (X.data * factors[X.indices]).astype(X.dtype, copy=False)
        return as_configured(sp.csr_matrix((data, X.indices.copy(), X.indptr.copy()), shape=X.shape))

    # ---- one example

    def learn_one(self, x: Any) -> "RunningScaler":
        """Learn from one example.

        Parameters
        ----------
        x : dict of feature values by name, or a row of numbers

        Returns
        -------
        self
        """
        if type(x) is not dict and not isinstance(x, Mapping):
            row = self._row(x)
            if row is None:
                return self.partial_fit(np.atleast_2d(np.asarray(x)))
            count_dense(row, self._keep(), self.n_samples_seen_, self._moments)
        else:
            self._begin_dicts()
            packed = known_numbers(x, self._places, np.float64)
            if packed is None:
                x = _numbers(x)
                self._add_names(x)
                packed = known_numbers(x, self._places, np.float64)
                assert packed is not None
            if not count_named(*packed, self._keep(), self._moments):
                bad_name = next(name for name, value in x.items() if not math.isfinite(value))
                raise ValueError(f"The feature {bad_name!r} is {x[bad_name]!r}: scaling needs finite numbers.")
        self.n_samples_seen_ += 1
        return self

    def transform_one(self, x: Any) -> Any:
        """Return one example, scaled by the statistics so far.

        Parameters
        ----------
        x : dict of feature values by name, or a row of numbers
            A feature of a dict that was never counted becomes 0.

        Returns
        -------
        dict, or array of shape (n_features,)
        """
        if type(x) is not dict and not isinstance(x, Mapping):
            row = self._row(x)
            if row is None:
                return self.transform(np.atleast_2d(np.asarray(x)))[0]
            mean, _, factors = up_to(self._keep(), self.n_samples_seen_, self._moments)
            return ((row[0] - mean) * factors).astype(row.dtype, copy=False)
        self._begin_dicts()
        packed, numbers = known_numbers(x, self._places, np.float64), x
        if packed is None:
            numbers = _numbers(x)
            values, places = np.array(list(numbers.values())), self._places
            packed = values, np.array([places.get(name, -1) for name in numbers], np.int32)
        scale_named(*packed, self._moments)
        scaled = dict(zip(numbers, packed[0].tolist(), strict=True))
        return scaled if len(scaled) == len(x) else {name: scaled.get(name, value) for name, value in x.items()}

    # ---- results

    mean_ = property(lambda self: self._statistics(0))
    var_ = property(lambda self: self._statistics(1))

    def _statistics(self, place: int) -> Any:
        """Return means (0) or variances (1)."""
        if not hasattr(self, "_moments"):
            raise AttributeError("This RunningScaler is not fitted yet: call fit, partial_fit or learn_one.")
        if hasattr(self, "_places"):
            return dict(zip(self._places, self._moments[:, (MEAN, VARIANCE)[place]].tolist(), strict=False))
        return up_to(self._keep(), self.n_samples_seen_, self._moments)[place]

    # ---- steps of these

    def _keep(self) -> float:
        if self._checked is None or self._checked[0] is not self.window:
            check_parameters(self, DOMAINS)
            self._checked = self.window, 1.0 if self.window is None else 1.0 - 1.0 / float(self.window)
        return self._checked[1]

    def _begin(self, n_features: int) -> None:
        self._moments = np.zeros((n_features, 4))
        self.n_samples_seen_ = 0

    def _begin_dicts(self) -> None:
        if not hasattr(self, "_places"):
            if hasattr(self, "_moments"):
                raise ValueError(
                    "This RunningScaler was fitted on rows of numbers, but x is a dict: use one of the two."
                )
            self._begin(16)
            self._places = {}

    def _matrix(self, X: Any, reset: bool) -> Any:
        if hasattr(self, "_places"):
            raise ValueError(
                "This RunningScaler was fitted on dicts of named features, but X is a matrix: use one of the two."
            )
        X = check_matrix(self, X, reset=reset)
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    def _row(self, x: Any) -> np.ndarray | None:
        """Return a row of finite numbers as a matrix; None: it has to be checked."""
        if type(x) not in ROW_TYPES or not hasattr(self, "_moments") or hasattr(self, "_places"):
            return None
        try:
            row = np.array(x, x.dtype if getattr(x, "dtype", None) == np.float32 else np.float64, ndmin=2)
        except (TypeError, ValueError, OverflowError):
            return None
        is_finite = row.shape == (1, len(self._moments)) and math.isfinite(row.sum())
        return row if is_finite else None

    def _add_names(self, x: Mapping[str, Any]) -> None:
        """Give new features a place."""
        for name in x:
            self._places.setdefault(name, len(self._places))
        room = len(self._moments)
        if len(self._places) > room:
            more = np.zeros((max(len(self._places), 2 * room) - room, 4))
            self._moments = np.vstack([self._moments, more])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _numbers(x: Mapping[str, Any]) -> dict[str, float]:
    """Return the features of a dict that are numbers."""
    return {name: float(value) for name, value in x.items() if isinstance(value, Real | np.bool_)}
