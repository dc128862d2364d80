"""Kernels: K(x, z) for two blocks of examples at once, on any device."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from perceptrons.engine.training.inputs import read_only
from perceptrons.kernel.arrays import HOST, Array, Place, dtype_name, library, place_of, to_host

KernelName = Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"]
NAMES = get_args(KernelName)
WITH_GAMMA = ("poly", "rbf", "sigmoid", "laplacian")
WITH_NORMS = ("rbf", "cosine")
MAX_DISTANCE_ERROR = 1e-4  # gamma times the error of squared distances in float32; larger ones need float64
CHUNK_BYTES = 2**24  # kernel values computed at once on the host: few calls of BLAS, near the size of the cache
DEVICE_CHUNK_BYTES = 2**26
MAX_TEMPORARY_VALUES = 2**22  # beside kernel values: squares of coordinates, or their differences


@dataclass
class Points:
    """Examples with their squared norms if the kernel needs them.

    For a precomputed kernel: the whole matrix, and the rows and columns of it that the examples are.
    """

    rows: Array  # array (n, d) or CSR
    place: Place = HOST
    norms: Array = None  # float64 (n,)
    needs_float64: bool = False  # so far from the origin that distances in float32 are too inexact
    index: np.ndarray | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[0]) if self.index is None else len(self.index)

    def take(self, rows: np.ndarray) -> "Points":
        """Return a copy of some examples."""
        if self.index is not None:
            return Points(self.rows, self.place, index=self.index[rows])
        norms = None if self.norms is None else self.place.take(self.norms, rows)
        return Points(self.place.take(self.rows, rows), self.place, norms, self.needs_float64)

    def slice(self, start: int, stop: int) -> "Points":
        """Return a range of examples, not copied where they are dense."""
        stop = min(stop, len(self))
        if self.index is not None:
            return Points(self.rows, self.place, index=self.index[start:stop])
        norms = None if self.norms is None else self.norms[start:stop]
        rows = self.rows[start:stop] if self.place.is_host else self.rows[start:stop, :]
        return Points(rows, self.place, norms, self.needs_float64)


def ignore_overflow() -> np.errstate:
    """Do not warn about values that are not finite: the caller checks the result, and raises `overflow_error`."""
    return np.errstate(over="ignore", invalid="ignore")


class Kernel:
    """One kernel with its parameters."""

    def __init__(self, name: str | Callable[[Any, Any], Any], gamma: float, degree: int, coef0: float):
        self.name, self.gamma, self.degree, self.coef0 = name, gamma, degree, coef0

    def points(self, rows: Array) -> Points:
        """Return rows with their norms if this kernel needs them."""
        place = place_of(rows)
        if self.name == "precomputed":
            return Points(rows, place, index=np.arange(rows.shape[0]))
        if self.name not in WITH_NORMS:
            return Points(rows, place)
        norms = squared_norms(rows, place)
        largest = float(place.xp.max(norms)) if norms.shape[0] else 0.0
        needs_float64 = (
            dtype_name(rows) == "float32" and self.name == "rbf" and self.gamma * largest * 1e-7 > MAX_DISTANCE_ERROR
        )
        return Points(rows, place, norms, needs_float64)

    def __call__(self, A: Points, B: Points) -> Array:
        """Return K(a, b) for all a in A and b in B, (len(A), len(B)), in the dtype and on the device of A."""
        if self.name == "precomputed":
            return _precomputed_values(A, B)
        if not isinstance(self.name, str):
            return self._callable_values(A, B)
        with ignore_overflow():
            return self._named_values(A, B)

    def _named_values(self, A: Points, B: Points) -> Array:
        """Return the values of a kernel with a name, computed in place as far as possible."""
        if self.name == "laplacian":
            return self._laplacian(A, B)
        K = _dot(A, B, wide=A.needs_float64 or B.needs_float64)
        xp = A.place.xp
        if self.name == "rbf":
            K *= -2.0
            K += xp.asarray(A.norms, dtype=K.dtype)[:, None]
            K += xp.asarray(B.norms, dtype=K.dtype)[None, :]
            K *= -self.gamma
            K = _apply(xp.exp, _at_most_zero(K, xp), xp)
            return K if dtype_name(K) == dtype_name(A.rows) else xp.asarray(K, dtype=A.rows.dtype)
        if self.name == "cosine":
            K /= xp.asarray(_or_one(xp.sqrt(A.norms), xp), dtype=K.dtype)[:, None]
            K /= xp.asarray(_or_one(xp.sqrt(B.norms), xp), dtype=K.dtype)[None, :]
        elif self.name in ("poly", "sigmoid"):
            if self.gamma != 1.0:
                K *= self.gamma
            K += self.coef0
            K = power(K, self.degree) if self.name == "poly" else _apply(xp.tanh, K, xp)
        return K

    def self_values(self, A: Points) -> np.ndarray:
        """Return K(x, x) if it is cheap, else 1. This scale makes scores of different examples comparable."""
        if self.name == "precomputed":
            return np.abs(np.diagonal(to_host(A.rows))).astype(np.float64)
        if self.name not in ("linear", "poly"):
            return np.ones(len(A))
        squares = to_host(squared_norms(A.rows, A.place))
        with np.errstate(over="ignore"):
            return squares if self.name == "linear" else np.abs(self.gamma * squares + self.coef0) ** self.degree

    def overflow_error(self, dtype: str) -> ValueError:
        """Return the error for values that are not finite."""
        name = self.name if isinstance(self.name, str) else getattr(self.name, "__name__", "the kernel")
        return ValueError(
            f"Values of the kernel {name!r} are too large for {dtype}, or not numbers: scale the features, for "
            "instance with scikit-learn's StandardScaler, or lower gamma, coef0 or degree"
            + (", or give X as float64." if dtype == "float32" else ".")
        )

    def _laplacian(self, A: Points, B: Points) -> Array:
        if A.place.is_host:
            from sklearn.metrics.pairwise import manhattan_distances  # slow to import

            K = manhattan_distances(_with_int32_indices(A.rows), _with_int32_indices(B.rows))
            K *= -self.gamma
            return np.exp(K, out=K).astype(A.rows.dtype, copy=False)
        xp, size = A.place.xp, max(1, MAX_TEMPORARY_VALUES // max(1, len(B) * int(A.rows.shape[1])))
        parts = [
            xp.sum(xp.abs(A.slice(i, i + size).rows[:, None, :] - B.rows[None, :, :]), axis=2)
            for i in range(0, len(A), size)
        ]
        return xp.exp(-self.gamma * xp.concat(parts, axis=0))

    def _callable_values(self, A: Points, B: Points) -> Array:
        """Return the values of the user's function, checked."""
        K = self.name(_read_only(A.rows), _read_only(B.rows))  # type: ignore[operator]
        name = getattr(self.name, "__name__", "the kernel")
        if isinstance(K, np.ma.MaskedArray):
            raise ValueError(f"{name} returned a masked array: fill it first.")
        if sp.issparse(K):
            K = K.toarray()
        elif hasattr(K, "detach"):
            K = K.detach()
        elif not library(K):
            K = np.asarray(K)
        shape = getattr(K, "shape", None)
        if shape is None or tuple(shape) != (len(A), len(B)):
            raise ValueError(
                f"{name} was given blocks of {len(A)} and {len(B)} examples and returned "
                f"{type(K).__name__ if shape is None else f'shape {tuple(shape)}'}: a kernel returns an array of "
                f"shape ({len(A)}, {len(B)}), one value per pair."
            )
        if not any(kind in dtype_name(K) for kind in ("float", "int", "bool")):
            raise ValueError(f"{name} returned values of type {dtype_name(K)}: a kernel's values must be real numbers.")
        K = A.place.put(to_host(K), np.float64) if place_of(K) != A.place else K
        if dtype_name(K) != dtype_name(A.rows):
            K = A.place.xp.asarray(K, dtype=A.rows.dtype)
        if not A.place.xp.all(A.place.xp.isfinite(K)):
            i, j = (int(at[0]) for at in np.nonzero(~np.isfinite(to_host(K))))
            raise ValueError(
                f"{name} returned {float(K[i, j])} for example {i} of a block of {len(A)} and example {j} of one of "
                f"{len(B)}: a kernel's values must be finite numbers."
            )
        return K


def chunks(points: Points, width: int, max_bytes: int = 0) -> Iterator[tuple[int, Points]]:
    """Yield the points in pieces with the start of each, so that kernel values with `width` others fit in max_bytes."""
    max_bytes = max_bytes or (CHUNK_BYTES if points.place.is_host else DEVICE_CHUNK_BYTES)
    size = max(64, max_bytes // (8 * max(1, width)))
    for start in range(0, len(points), size):
        yield start, points.slice(start, start + size)


def squared_norms(rows: Array, place: Place) -> Array:
    """Return squared norms of rows in float64, computed some rows at a time."""
    xp, n, d = place.xp, int(rows.shape[0]), int(rows.shape[1])
    norms, size = place.zeros((n,), "float64"), max(1, MAX_TEMPORARY_VALUES // max(1, 0 if sp.issparse(rows) else d))
    for start in range(0, n, size):
        part = Points(rows, place).slice(start, start + size).rows
        stop = start + int(part.shape[0])
        wide = part.astype(np.float64) if place.is_host else xp.asarray(part, dtype=xp.float64)
        norms[start:stop] = row_norms(wide, squared=True) if place.is_host else xp.sum(wide * wide, axis=1)
    return norms


def power(K: Array, degree: int) -> Array:
    """Return K ** degree by squaring in place: faster than pow, and the same bits on every device."""
    if degree == 1:
        return K
    odd = K * 1.0 if degree % 2 else None
    K *= K
    K = power(K, degree // 2)
    if odd is not None:
        K *= odd
    return K


def scale_gamma(gamma: float | str, X: Array) -> float:
    """Return gamma as a number; "scale" and "auto" are those of scikit-learn's SVC."""
    if not isinstance(gamma, str):
        return float(gamma)
    n_features = int(X.shape[1])
    if gamma == "auto":
        return 1.0 / max(1, n_features)
    mean, spread = _moments(X, int(X.shape[0]) * n_features)
    if not math.isfinite(spread):  # X is not checked under scikit-learn's assume_finite
        raise ValueError(
            "X contains NaN, infinity or numbers that are too large: remove or replace them, or scale the features."
        )
    return 1.0 / (n_features * spread) if spread > 1e-12 * mean * mean else 1.0  # up to rounding, all may be the same


def _moments(X: Array, n: int) -> tuple[float, float]:
    """Return mean and variance of all n numbers in float64, computed some rows at a time."""
    if sp.issparse(X):
        values = X.data.astype(np.float64)
        mean = float(values.sum()) / max(1, n)
        return mean, (float(((values - mean) ** 2).sum()) + (n - len(values)) * mean * mean) / max(1, n)
    place = place_of(X)
    xp, size = place.xp, max(1, MAX_TEMPORARY_VALUES // max(1, int(X.shape[1])))
    parts = [Points(X, place).slice(start, start + size).rows for start in range(0, int(X.shape[0]), size)]
    mean = sum(float(xp.sum(part, dtype=xp.float64)) for part in parts) / max(1, n)
    squares = (xp.sum((xp.asarray(part, dtype=xp.float64) - mean) ** 2) for part in parts)
    return mean, sum(float(total) for total in squares) / max(1, n)


def _dot(A: Points, B: Points, wide: bool) -> Array:
    if sp.issparse(A.rows) or sp.issparse(B.rows):
        a, b = (A.rows.astype(np.float64), B.rows.astype(np.float64)) if wide else (A.rows, B.rows)
        return safe_sparse_dot(a, b.T, dense_output=True)
    if not wide:
        return A.rows @ B.rows.T
    xp = A.place.xp
    return xp.asarray(A.rows, dtype=xp.float64) @ xp.asarray(B.rows, dtype=xp.float64).T


def _precomputed_values(A: Points, B: Points) -> Array:
    """Return cells of a precomputed matrix; ranges are sliced first, without a copy."""
    assert A.index is not None
    assert B.index is not None
    matrix = A.rows
    columns, rows = _as_slice(B.index), _as_slice(A.index)
    if columns is not None:
        matrix = matrix[:, columns]
    matrix = A.place.take(matrix, A.index) if rows is None else matrix[rows, :]
    return A.place.take(matrix, B.index, axis=1) if columns is None else matrix


def _as_slice(index: np.ndarray) -> slice | None:
    """Return the index as a slice, if it is one."""
    if len(index) and index[-1] - index[0] == len(index) - 1 and bool((np.diff(index) == 1).all()):
        return slice(int(index[0]), int(index[-1]) + 1)
    return None


def _read_only(rows: Array) -> Array:
    """Return rows that a user's function cannot change, since they may be the data, or the model."""
    return read_only(rows) if isinstance(rows, np.ndarray) else rows


def _with_int32_indices(rows: Array) -> Array:
    """Return a CSR matrix with 32-bit indices, which is all that scikit-learn's Manhattan distance takes."""
    if not sp.issparse(rows) or rows.indices.dtype == rows.indptr.dtype == np.int32:
        return rows
    parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
    return sp.csr_matrix(parts, shape=rows.shape, copy=False)


def _apply(function: Callable[..., Array], K: Array, xp: Any) -> Array:
    """Return function(K), computed in place where the library can."""
    return function(K, out=K) if xp is np else function(K)


def _at_most_zero(K: Array, xp: Any) -> Array:
    return np.minimum(K, 0.0, out=K) if xp is np else xp.clip(K, max=0.0)


def _or_one(norms: Array, xp: Any) -> Array:
    return xp.where(norms > 0, norms, xp.ones_like(norms))
