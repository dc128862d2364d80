"""What a model answers, checked: outputs, losses and sparse features. What is wrong is said of the example by name."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.training.structure import sound_csr


class Features(NamedTuple):
    """Values by indices; an index that stands twice counts twice."""

    indices: np.ndarray
    values: np.ndarray


class Asking:
    """Asks a model about one example after another; `at` names the present one. Nothing of it changes meanwhile, so
    Ctrl-C comes through at once, as it would have when this was made: a decoder may take long, or never end."""

    def __init__(self, model: Any):
        self.model, self.at = model, "x"
        self._outside: Any = None
        if threading.current_thread() is threading.main_thread():
            self._outside = signal.getsignal(signal.SIGINT)

    def size(self) -> int:
        size = self.model.size
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 0:
            raise ValueError(f"model.size must be the number of weights, a whole number, not {size!r}.")
        return int(size)

    def decode(self, x: Any, w: np.ndarray, **cost: Any) -> Any:
        """The best output; w may only be read."""
        w.flags.writeable = False
        with self._one_call("decode"):
            y_hat = self.model.decode(x, w, **cost)
        if y_hat is None:
            raise ValueError(f"{self.at}: model.decode returned None instead of an output.")
        return y_hat

    def loss(self, y: Any, y_hat: Any) -> float:
        with self._one_call("loss"):
            loss = self.model.loss(y, y_hat)
        value = float(loss) if isinstance(loss, Real | np.bool_) else np.nan
        if not 0 <= value < np.inf:
            raise ValueError(f"{self.at}: model.loss returned {loss!r}, but a loss is a finite number of at least 0.")
        return value

    def features(self, x: Any, y: Any) -> Features:
        with self._one_call("features"):
            features = self.model.features(x, y)
        try:
            return read_features(features, self.size())
        except ValueError as error:
            raise ValueError(f"{self.at}: model.features: {error}") from error

    @contextmanager
    def _one_call(self, method: str) -> Iterator[None]:
        held = signal.signal(signal.SIGINT, self._outside) if callable(self._outside) else None
        try:
            yield
        except Exception as error:
            error.add_note(f"This happened in model.{method}, asked about {self.at}.")
            raise
        finally:
            if held is not None:
                signal.signal(signal.SIGINT, held)


def read_features(features: Any, size: int) -> Features:
    """Indices below size and finite values, from a dict, a pair of sequences or a sparse row."""
    if isinstance(features, Mapping):
        indices, values = np.array(list(features)), np.array(list(features.values()))
    elif sp.issparse(features):
        features = sound_csr(features, "the sparse row", row=True).tocoo()
        if features.ndim == 2 and features.shape[0] != 1:
            raise ValueError(f"one sparse row was expected, not a matrix of {features.shape[0]} rows.")
        indices, values = features.coords[-1], features.data
    elif isinstance(features, tuple | list) and len(features) == 2:
        indices, values = (np.asarray(part) for part in features)
    else:
        raise ValueError(
            f"a dict {{index: value}}, a pair (indices, values) or a sparse row was expected, not {_shown(features)}."
        )
    if indices.ndim != 1 or indices.shape != values.shape:
        raise ValueError(
            f"as many indices as values were expected, in one dimension each, not {indices.shape} and {values.shape}."
        )
    if not len(indices):
        return Features(np.zeros(0, np.intp), np.zeros(0))
    if indices.dtype.kind not in "iu":
        raise ValueError(f"an index is a whole number, not {indices.dtype}: {_shown(indices.tolist())}.")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"a value is a number, not {values.dtype}: {_shown(values.tolist())}.")
    outside = (indices < 0) | (indices >= size)
    if outside.any():
        raise ValueError(f"the index {indices[outside][0]} is outside 0 to size - 1 = {size - 1}.")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        where = np.flatnonzero(~np.isfinite(values))[0]
        raise ValueError(f"the value of index {indices[where]} is {values[where]}, not a finite number.")
    return Features(indices.astype(np.intp), values)


def difference(f: Features, g: Features) -> Features:
    """f - g, every index once, zeros left out."""
    indices, place = np.unique(np.concatenate([f.indices, g.indices]), return_inverse=True)
    n, split = len(indices), len(f.indices)
    values = np.bincount(place[:split], f.values, n) - np.bincount(place[split:], g.values, n)
    kept = np.flatnonzero(values)
    return Features(indices[kept], values[kept])


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
