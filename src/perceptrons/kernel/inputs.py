"""Checks what users hand to a kernel model: arrays of any library stay where they are."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.kernel.arrays import Place, dtype_name, library, place_of, to_host
from perceptrons.kernel.kernels import check_symmetric
from perceptrons.training.inputs import check_matrix

AT_ONCE = 1024  # rows of a precomputed matrix looked at together


def read_matrix(estimator: Any, X: Any, *, reset: bool, dtype: str | None) -> Any:
    """X as a matrix of finite float32 or float64 numbers, not copied where it is one. dtype: the model's, if any."""
    if estimator.kernel == "precomputed" and sp.issparse(X):
        raise TypeError("Sparse data were passed as precomputed kernel, which is not supported: use X.toarray().")
    if not library(X):
        X = check_matrix(estimator, X, reset=reset, dtype=None if dtype is None else np.dtype(dtype))
        if sp.issparse(X) and not X.has_canonical_format:  # a column that stands twice spoils norms
            X = X.copy()
            X.sum_duplicates()
        return X
    if "strided" not in str(getattr(X, "layout", "strided")):
        raise TypeError("X is a sparse tensor, which is not supported: give X.to_dense(), or a CSR matrix of SciPy.")
    place, name = place_of(X), type(estimator).__name__
    X = X.detach() if hasattr(X, "detach") else X
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(X.shape)}D array instead: X has a row for every example. Reshape your data."
        )
    if X.shape[0] < 1 or X.shape[1] < 1:
        raise ValueError(f"Found array with shape {tuple(X.shape)}: at least one sample and one feature are required.")
    if "complex" in dtype_name(X):
        raise ValueError("Complex data not supported: X must be real numbers.")
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
        estimator.__dict__.pop("_columns", None)
    elif int(X.shape[1]) != estimator.n_features_in_:
        raise ValueError(
            f"X has {int(X.shape[1])} features, but {name} is expecting {estimator.n_features_in_} features as input."
        )
    kind = dtype or _float_type(dtype_name(X))
    X = X if dtype_name(X) == kind else place.xp.astype(X, getattr(place.xp, kind))
    if not (np.isfinite(float(place.xp.sum(X))) or bool(place.xp.all(place.xp.isfinite(X)))):
        row, column = (int(at[0]) for at in np.nonzero(~np.isfinite(to_host(X))))
        what = "NaN" if np.isnan(float(X[row, column])) else "infinity"
        raise ValueError(f"Input X contains {what} at row {row}, column {column}. Remove or fill such values first.")
    return X


def _float_type(name: str) -> str:
    """float32 stays float32, small types become it exactly, all else is float64; as in training/inputs.py."""
    small = ("float32", "float16", "bfloat16", "bool", "int8", "uint8", "int16", "uint16")
    return "float32" if name in small else "float64"


def check_precomputed(X: Any, place: Place, n_train: int | None) -> None:
    """Raise ValueError for a kernel matrix of the wrong shape or, to learn from, one that is not symmetric.

    n_train: what the model was trained on, to predict; None to learn.
    """
    rows, columns = (int(size) for size in X.shape)
    if n_train is None and rows != columns:
        raise ValueError(
            f"kernel='precomputed' needs the kernel values of all training examples with each other, a square matrix, "
            f"and X has shape ({rows}, {columns})."
        )
    if n_train is not None and columns != n_train:
        raise ValueError(
            f"X has {columns} features, but KernelPerceptron is expecting {n_train} features as input: with "
            f"kernel='precomputed' a column for every example it was trained on."
        )
    if n_train is None:
        largest = max(abs(float(place.xp.max(X))), abs(float(place.xp.min(X))))
        for begin in range(0, rows, AT_ONCE):
            end = min(rows, begin + AT_ONCE)
            strip, other = X[begin:end, :], X[:, begin:end].T
            allowed = (1e-4 if dtype_name(X) == "float32" else 1e-8) * largest
            if float(place.xp.max(place.xp.abs(strip - other))) > allowed:
                check_symmetric(np.asarray(to_host(X)), "The precomputed kernel matrix")
