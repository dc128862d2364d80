"""Where arrays live: NumPy's memory, or the device of PyTorch, CuPy or another library of the array API standard."""

import sys
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

LIBRARIES = ("torch", "cupy", "array_api_strict")  # their arrays can be written to, as the sweeps do


class Place(NamedTuple):
    """A library's functions, by the names of the array API, and one of its devices."""

    xp: Any
    device: Any

    @property
    def is_host(self) -> bool:
        return self.xp is np

    def put(self, array: np.ndarray, dtype: Any = None) -> Any:
        """A copy of an array of numbers, here; NumPy's is not copied. dtype: float32 or float64."""
        kind = array.dtype if dtype is None else np.dtype(dtype)
        if self.is_host:
            return np.asarray(array, kind)
        return self.xp.asarray(np.ascontiguousarray(array, kind), device=self.device)

    def zeros(self, shape: tuple[int, ...], dtype: str) -> Any:
        here = {} if self.is_host else {"device": self.device}
        return self.xp.zeros(shape, dtype=getattr(self.xp, dtype), **here)

    def take(self, array: Any, which: np.ndarray, axis: int = 0) -> Any:
        """Some rows (axis 0) or columns (axis 1), as a copy."""
        if self.is_host:
            return array[which] if axis == 0 else array[:, which]
        if library(array) == "torch":  # take by the standard allows for negative numbers, which costs as much again
            return array.index_select(axis, self.put(which))
        return self.xp.take(array, self.put(which), axis=axis)

    def __reduce__(self) -> Any:
        return _place, (self.xp.__name__, self.device)  # modules cannot be pickled, their names can

    def __str__(self) -> str:
        return "NumPy" if self.is_host else f"{self.xp.__name__.split('.')[-1]} on {self.device}"


HOST = Place(np, "cpu")


def _place(name: str, device: Any) -> Place:
    return Place(import_module(name), device)


def library(X: Any) -> str:
    """The library of an array that is worked on where it is; "" for all that is NumPy's or becomes so."""
    name = type(X).__module__.split(".")[0]
    return name if name in LIBRARIES and hasattr(X, "shape") and not sp.issparse(X) else ""


def place_of(X: Any) -> Place:
    """Where X is."""
    if not library(X):
        return HOST
    try:
        from array_api_compat import array_namespace, device
    except ImportError as error:
        raise ImportError(
            f"X is an array of {library(X)}: to work on it where it is, pip install 'perceptrons[arrays]' "
            "(array-api-compat)."
        ) from error
    return Place(array_namespace(X), device(X))


def to_host(array: Any) -> Any:
    """An array of any library as one of NumPy's; anything else as it is."""
    name = library(array)
    if name == "torch":
        return array.detach().cpu().numpy()
    if name == "cupy":
        return array.get()
    if name == "array_api_strict":
        strict = sys.modules["array_api_strict"]
        return np.asarray(array.to_device(strict.Device("CPU_DEVICE")))
    return array


def dtype_name(array: Any) -> str:
    """'float32' and so on, whatever the library calls it."""
    return str(array.dtype).rsplit(".", 1)[-1]
