"""Arrays of NumPy, PyTorch, CuPy and other libraries of the array API: their devices, and checks of X on them."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config

from perceptrons.engine.rows import Rows, Sparse
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.inputs import check_matrix

if TYPE_CHECKING:
    from perceptrons.kernel.estimator import KernelPerceptron

Array = Any  # an array of one of these libraries, or a CSR matrix
LIBRARIES = ("torch", "cupy", "array_api_strict")  # their arrays can be written to, as training does
FLOAT32_TYPES = ("float32", "float16", "bfloat16", "bool", "int8", "uint8", "int16", "uint16")  # others: float64
ROWS_PER_CHECK = 1024  # rows of a precomputed matrix that are compared at once


@dataclass(frozen=True)
class Place:
    """An array library, with the names of the array API, and one of its devices."""

    xp: Any
    device: Any

    @property
    def is_host(self) -> bool:
        return self.xp is np

    def put(self, array: np.ndarray, dtype: Any = None) -> Array:
        """Return a NumPy array on this device, without a copy if that is the host. dtype: float32 or float64."""
        dtype = array.dtype if dtype is None else np.dtype(dtype)
        if self.is_host:
            return np.asarray(array, dtype)
        return self.xp.asarray(np.ascontiguousarray(array, dtype), device=self.device)

    def zeros(self, shape: tuple[int, ...], dtype: str) -> Array:
        device = {} if self.is_host else {"device": self.device}
        return self.xp.zeros(shape, dtype=getattr(self.xp, dtype), **device)

    def take(self, array: Array, index: np.ndarray, axis: int = 0) -> Array:
        """Return a copy of some rows (axis 0) or columns (axis 1)."""
        if self.is_host:
            return array[index] if axis == 0 else array[:, index]
        if library(array) == "torch":  # the standard's take supports negative indices, which doubles its time
            return array.index_select(axis, self.put(index))
        return self.xp.take(array, self.put(index), axis=axis)

    def __getstate__(self) -> dict[str, Any]:
        return {"library": self.xp.__name__, "device": self.device}  # modules cannot be pickled, their names can

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["library"].split(".")[0] not in ("numpy", "array_api_compat", *LIBRARIES):  # a file may say anything
            raise ValueError(f"{state['library']!r} is not a library of arrays.")
        vars(self).update(xp=import_module(state["library"]), device=state["device"])

    def __str__(self) -> str:
        return "NumPy" if self.is_host else f"{self.xp.__name__.split('.')[-1]} on {self.device}"


HOST = Place(np, "cpu")


def library(X: Any) -> str:
    """Return the library of an array that stays on its device; "" for what is or becomes a NumPy array."""
    name = type(X).__module__.split(".")[0]
    return name if name in LIBRARIES and hasattr(X, "shape") and not sp.issparse(X) else ""


def place_of(X: Any) -> Place:
    """Return the library and the device of X."""
    if not library(X):
        return HOST
    try:
        from array_api_compat import array_namespace, device
    except ImportError as error:
        raise ImportError(
            f"X is an array of {library(X)}: to compute on its device, pip install 'perceptrons[arrays]' "
            "(array-api-compat)."
        ) from error
    return Place(array_namespace(X), device(X))


def to_host(array: Any) -> Any:
    """Return an array of any library as a NumPy array. Return anything else unchanged."""
    name = library(array)
    if name == "torch":
        return array.detach().cpu().numpy()
    if name == "cupy":
        return array.get()
    if name == "array_api_strict":
        return np.asarray(array.to_device(import_module("array_api_strict").Device("CPU_DEVICE")))
    return array


def check_namespace(estimator: "KernelPerceptron", X: Any, method: str) -> None:
    """Raise ValueError if X is elsewhere than the X of fit and scikit-learn's array_api_dispatch is on."""
    home, place = learner_of(estimator).home, place_of(X)
    if home is not None and get_config()["array_api_dispatch"] and home != place:
        raise ValueError(
            f"Inputs passed to {type(estimator).__name__}.{method}() must use the same namespace and the same device "
            f"as those passed to fit(): that was {home}, but this is {place}. Without array_api_dispatch the model "
            "follows X."
        )


def dtype_name(array: Array) -> str:
    """Return the name of a dtype, such as 'float32', in any library."""
    return str(array.dtype).rsplit(".", 1)[-1]


def read_matrix(estimator: "KernelPerceptron", X: Any, *, reset: bool, dtype: str | None) -> Array:
    """Return X as a matrix of finite float32 or float64 numbers, copied only if needed. dtype: that of the model."""
    if estimator.kernel == "precomputed" and sp.issparse(X):
        raise TypeError("Sparse data were passed as precomputed kernel, which is not supported: use X.toarray().")
    if not library(X):
        X = check_matrix(estimator, X, reset=reset, dtype=None if dtype is None else np.dtype(dtype))
        if sp.issparse(X) and not X.has_canonical_format:  # duplicate entries would spoil norms
            X = X.copy()
            X.sum_duplicates()
        return X
    if "strided" not in str(getattr(X, "layout", "strided")):
        raise TypeError("X is a sparse tensor, which is not supported: give X.to_dense(), or a CSR matrix of SciPy.")
    place, n_features = place_of(X), None if reset else estimator.n_features_in_
    X = X.detach() if hasattr(X, "detach") else X
    is_valid = len(X.shape) == 2 and min(X.shape) > 0 and "complex" not in dtype_name(X)
    is_valid = is_valid and n_features in (None, int(X.shape[1]))
    if is_valid:
        name = dtype or ("float32" if dtype_name(X) in FLOAT32_TYPES else "float64")
        X = X if dtype_name(X) == name else place.xp.astype(X, getattr(place.xp, name))
        is_finite = get_config()["assume_finite"] or np.isfinite(float(place.xp.sum(X)))
        is_valid = is_finite or bool(place.xp.all(place.xp.isfinite(X)))
    if not is_valid:  # the check on the host says what is wrong, and where
        check_matrix(estimator, to_host(X), reset=reset, dtype=None if dtype is None else np.dtype(dtype))
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
        estimator._drop("_columns")
    return X


def check_precomputed(X: Array, n_train: int | None) -> None:
    """Raise ValueError for a kernel matrix of the wrong shape or, to learn from, one that is not symmetric.

    n_train: what the model was trained on, to predict; None to learn.
    """
    rows, columns = (int(size) for size in X.shape)
    if n_train is None and rows != columns:
        raise ValueError(
            "kernel='precomputed' needs the kernel values of all pairs of training examples, a square matrix, but X "
            f"has shape ({rows}, {columns})."
        )
    if n_train is not None and columns != n_train:
        raise ValueError(
            f"X has {columns} features, but KernelPerceptron is expecting {n_train} features as input: "
            "kernel='precomputed' needs one column per training example."
        )
    if n_train is None:
        check_symmetric(X, "The precomputed kernel matrix")


def check_symmetric(G: Array, name: str) -> None:
    """Raise ValueError unless G[i, j] = G[j, i] up to rounding."""
    xp = place_of(G).xp
    largest = max(abs(float(xp.max(G))), abs(float(xp.min(G))))
    tolerance = (1e-4 if dtype_name(G) == "float32" else 1e-8) * largest
    for start in range(0, int(G.shape[0]), ROWS_PER_CHECK):
        stop = min(int(G.shape[0]), start + ROWS_PER_CHECK)
        difference = xp.abs(G[start:stop, :] - G[:, start:stop].T)
        if float(xp.max(difference)) > tolerance:
            i, j = (int(indices[0]) for indices in np.nonzero(to_host(difference) > tolerance))
            i += start
            raise ValueError(
                f"{name} is not symmetric: K[{i}, {j}] = {float(G[i, j]):g}, but K[{j}, {i}] = {float(G[j, i]):g}. A "
                "kernel is a dot product, so it must be symmetric."
            )


def row_matrix(rows: Rows, n_features: int | None) -> Array:
    """Return one example as a matrix of one row."""
    if isinstance(rows, Sparse):
        shape = (1, n_features if n_features is not None else int(rows.columns.max(initial=-1)) + 1)
        return sp.csr_matrix((rows.values, rows.columns, rows.starts), shape=shape)
    return rows.values


def one_row(x: Any) -> np.ndarray:
    """Return one row of kernel values as a matrix."""
    X = np.atleast_2d(np.asarray(x))
    if X.ndim != 2 or X.shape[0] != 1:
        raise ValueError(f"One example has the shape (n_fitted,), not {np.shape(x)}.")
    return X
