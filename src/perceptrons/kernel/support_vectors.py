"""The support vectors: each stored once, sparse ones sparse, on the device they came from."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.kernel.arrays import HOST, Place, dtype_name, to_host
from perceptrons.kernel.kernels import Kernel, Points


class GrowableArray:
    """A NumPy array with spare rows at its end, so that appending row by row does not copy it each time."""

    def __init__(self, values: np.ndarray):
        self._buffer, self.n_used = values, len(values)

    @property
    def values(self) -> np.ndarray:
        return self._buffer[: self.n_used]

    def reserve(self, n: int) -> np.ndarray:
        """Return the buffer with its spare rows, at least n rows in all."""
        if n > len(self._buffer):
            buffer = np.zeros((max(n, 2 * self.n_used), *self._buffer.shape[1:]), self._buffer.dtype)
            buffer[: self.n_used] = self.values
            self._buffer = buffer
        return self._buffer

    def append(self, rows: np.ndarray) -> None:
        n = self.n_used + len(rows)
        self.reserve(n)[self.n_used : n] = rows
        self.n_used = n


class Support:
    """Rows that are appended, replaced, and read as `Points` of the kernel on any device."""

    def __init__(self, kernel: Kernel, n_features: int):
        self.kernel, self.n_features, self.place = kernel, n_features, HOST
        self._points: Points | None = None
        self._buffers: tuple[GrowableArray, GrowableArray | None] | None = None  # dense rows on the host, and norms
        self._copy: Points | None = None  # on the device of the last X to predict

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_buffers": None, "_copy": None}  # unpickled, they would not share memory with rows

    def __len__(self) -> int:
        return 0 if self._points is None else len(self._points)

    def append(self, points: Points) -> None:
        if not len(points):
            return
        if points.index is not None:  # of a precomputed kernel, whose matrix belongs to the user
            points = Points(None, points.place, index=points.index)
        if self._points is None:
            self.place = points.place
        points = self._move(points, self.place)
        joined = points if self._points is None else None
        present = self.points()  # as wide as the new ones
        is_dense = self.place.is_host and not sp.issparse(points.rows) and points.index is None
        if not is_dense or (joined is None and sp.issparse(present.rows)):
            self._set(joined or _concatenate([present, points]))
            return
        if self._buffers is None:
            joined = joined or _concatenate([present, points])
            self._buffers = GrowableArray(joined.rows), None if joined.norms is None else GrowableArray(joined.norms)
        else:
            for array, values in zip(self._buffers, (points.rows, points.norms), strict=True):
                if array is not None:
                    array.append(values)
        rows, norms = self._buffers
        needs_float64 = points.needs_float64 or present.needs_float64
        self._points = Points(rows.values, HOST, None if norms is None else norms.values, needs_float64)
        self._copy = None

    def replace(self, slots: np.ndarray, points: Points) -> None:
        """Overwrite the support vectors in these slots; slots from len(self) on are appended."""
        is_new = slots >= len(self)
        old = np.flatnonzero(~is_new)
        if len(old):
            present = self.points()
            if self._buffers is not None and not sp.issparse(points.rows) and points.place.is_host:
                rows, norms = self._buffers
                rows.values[slots[old]] = points.rows[old]
                if norms is not None:
                    norms.values[slots[old]] = points.norms[old]
                present.needs_float64 |= points.needs_float64
                self._copy = None
            else:
                order = np.arange(len(self))
                order[slots[old]] = len(self) + np.arange(len(old))
                self._set(_concatenate([present, self._move(points.take(old), self.place)]).take(order))
        self.append(points.take(np.flatnonzero(is_new)))

    def points(self) -> Points:
        """Return all support vectors, on the device where they are stored."""
        if self._points is None:
            rows = sp.csr_matrix((0, self.n_features))
            return Points(rows, norms=np.zeros(0), index=np.zeros(0, np.intp))
        wide = _widen(self._points, self.n_features)
        if wide is not self._points:
            self._set(wide)
        return wide

    def at(self, place: Place) -> Points:
        """Return all support vectors on another device; a copy there is kept until they change."""
        points = self.points()
        if place == self.place or self._points is None:
            return points
        if self._copy is None or self._copy.place != place:
            self._copy = self._move(points, place)
        return self._copy

    def move_to(self, place: Place) -> None:
        """Store the support vectors on this device from now on."""
        if self._points is not None and place != self.place:
            self._set(self.at(place))
        self.place = place

    def reset(self, points: Points) -> None:
        """Replace all support vectors by these."""
        self._set(points if len(points) else None)

    def _set(self, points: Points | None) -> None:
        self._points, self._buffers, self._copy = points, None, None

    def _move(self, points: Points, place: Place) -> Points:
        if points.place == place:
            return points
        if points.index is not None:
            return Points(None, place, index=points.index)
        rows = to_host(points.rows)
        if not place.is_host:
            rows = place.put(rows.toarray() if sp.issparse(rows) else rows)
        return self.kernel.points(rows)


def _concatenate(parts: list[Points]) -> Points:
    """Join parts; the result is sparse if any part is."""
    place = parts[0].place
    if parts[0].index is not None:
        return Points(None, place, index=np.concatenate([part.index for part in parts]))
    concatenate = np.concatenate if place.is_host else place.xp.concat
    if any(sp.issparse(part.rows) for part in parts):
        rows = sp.vstack([sp.csr_matrix(part.rows) for part in parts], format="csr")
    else:
        rows = concatenate([part.rows for part in parts])
    norms = None if parts[0].norms is None else concatenate([part.norms for part in parts])
    return Points(rows, place, norms, any(part.needs_float64 for part in parts))


def _widen(points: Points, n_features: int) -> Points:
    """Add columns of zeros for features that came later, which only sparse examples meet."""
    rows, place = points.rows, points.place
    if points.index is not None or rows.shape[1] == n_features:
        return points
    if not place.is_host:
        zeros = place.zeros((len(points), n_features - int(rows.shape[1])), dtype_name(rows))
        return Points(place.xp.concat([rows, zeros], axis=1), place, points.norms, points.needs_float64)
    rows = sp.csr_matrix(rows)
    wide = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_features), copy=False)
    return Points(wide, place, points.norms, points.needs_float64)
