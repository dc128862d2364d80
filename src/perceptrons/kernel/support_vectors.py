"""The support vectors: each stored once, sparse ones sparse, on whatever device they came from."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.kernel.arrays import HOST, Place, dtype_name, to_host
from perceptrons.kernel.kernels import Kernel, Points


class Growing:
    """A NumPy array that rows are added to at its end, with room to spare: adding one by one costs no copy each."""

    def __init__(self, first: np.ndarray):
        self._room, self.used = first, len(first)

    @property
    def now(self) -> np.ndarray:
        return self._room[: self.used]

    def room(self, n: int) -> np.ndarray:
        """The array with its spare rows, at least n in all."""
        if n > len(self._room):
            room = np.zeros((max(n, 2 * self.used), *self._room.shape[1:]), self._room.dtype)
            room[: self.used] = self.now
            self._room = room
        return self._room

    def append(self, more: np.ndarray) -> None:
        needed = self.used + len(more)
        self.room(needed)[self.used : needed] = more
        self.used = needed


class Support:
    """Rows that are added, replaced, and read as `Points` of the kernel in any place."""

    def __init__(self, kernel: Kernel, n_features: int):
        self.kernel, self.n_features = kernel, n_features
        self._parts: list[Points] = []
        self._growing: tuple[Growing, Growing | None] | None = None  # dense rows in NumPy's memory, and their norms
        self._elsewhere: Points | None = None  # a copy where the last X to predict was
        self.place = HOST

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_growing": None, "_elsewhere": None}  # copies would not know of each other

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    def append(self, points: Points) -> None:
        """Add examples behind those that are there."""
        if not len(points):
            return
        if self._parts:
            self.points()  # as wide as the new ones
        self._elsewhere = None
        if points.index is not None:  # of a precomputed kernel: its matrix belongs to the user
            points = Points(None, points.place, index=points.index)
        if not self._parts:
            self.place = points.place
        elif points.place != self.place:
            points = self._moved(points, self.place)
        if self.place.is_host and not sp.issparse(points.rows) and points.index is None:
            self._append_dense(points)
        else:
            self._growing = None
            self._parts.append(points)

    def _append_dense(self, points: Points) -> None:
        if self._growing is None and self._parts:
            before = self.points()
            if sp.issparse(before.rows):
                self._parts.append(points)
                return
            points = _joined([before, points])
        if self._growing is None:
            self._growing = Growing(points.rows), None if points.norms is None else Growing(points.norms)
        else:
            for growing, more in zip(self._growing, (points.rows, points.norms), strict=True):
                if growing is not None:
                    growing.append(more)
        rows, norms = self._growing
        far = points.far or any(part.far for part in self._parts)
        self._parts = [Points(rows.now, HOST, None if norms is None else norms.now, far)]

    def replace(self, slots: np.ndarray, points: Points) -> None:
        """Put examples in the place of others; slots from len(self) on are new."""
        new = slots >= len(self)
        old = np.flatnonzero(~new)
        if len(old):
            rest = self.points()
            order = np.arange(len(self))
            order[slots[old]] = len(self) + np.arange(len(old))
            if self._growing is not None and not sp.issparse(points.rows) and points.place.is_host:
                rows, norms = self._growing
                rows.now[slots[old]] = points.rows[old]
                if norms is not None:
                    norms.now[slots[old]] = points.norms[old]
                self._parts[0].far |= points.far
            else:
                self._growing = None
                self._parts = [_joined([rest, self._moved(points.take(old), self.place)]).take(order)]
            self._elsewhere = None
        self.append(points.take(np.flatnonzero(new)))

    def points(self) -> Points:
        """All of them, where they are kept."""
        if not self._parts:
            rows = sp.csr_matrix((0, self.n_features))
            return Points(rows, norms=np.zeros(0), index=np.zeros(0, np.intp))
        parts = [_widened(part, self.n_features) for part in self._parts]
        if len(parts) > 1 or parts[0] is not self._parts[0]:
            self._parts, self._growing, self._elsewhere = [_joined(parts)], None, None
        return self._parts[0]

    def at(self, place: Place) -> Points:
        """All of them, where somebody wants to work with them; a copy there is kept until they change."""
        points = self.points()
        if place == self.place or not self._parts:
            return points
        if self._elsewhere is None or self._elsewhere.place != place:
            self._elsewhere = self._moved(self.points(), place)
        return self._elsewhere

    def settle(self, place: Place) -> None:
        """Keep them here from now on."""
        if self._parts and place != self.place:
            self._parts, self._growing, self._elsewhere = [self.at(place)], None, None
        self.place = place

    def reset(self, points: Points) -> None:
        """Hold just these."""
        self._parts = [points] if len(points) else []
        self._growing = self._elsewhere = None

    def _moved(self, points: Points, place: Place) -> Points:
        if points.place == place:
            return points
        if points.index is not None:
            return Points(None, place, index=points.index)
        rows = to_host(points.rows)
        if not place.is_host:
            rows = place.put(rows.toarray() if sp.issparse(rows) else rows)
        return self.kernel.points(rows)


def _joined(parts: list[Points]) -> Points:
    """One block after the other; sparse if any is."""
    place = parts[0].place
    if parts[0].index is not None:
        return Points(None, place, index=np.concatenate([part.index for part in parts]))
    join = np.concatenate if place.is_host else place.xp.concat
    if any(sp.issparse(part.rows) for part in parts):
        rows = sp.vstack([sp.csr_matrix(part.rows) for part in parts], format="csr")
    else:
        rows = join([part.rows for part in parts])
    norms = None if parts[0].norms is None else join([part.norms for part in parts])
    return Points(rows, place, norms, any(part.far for part in parts))


def _widened(points: Points, n_features: int) -> Points:
    """With zero columns for features that came later; only sparse examples meet such."""
    rows, place = points.rows, points.place
    if points.index is not None or rows.shape[1] == n_features:
        return points
    if not place.is_host:
        more = place.zeros((len(points), n_features - int(rows.shape[1])), dtype_name(rows))
        return Points(place.xp.concat([rows, more], axis=1), place, points.norms, points.far)
    rows = sp.csr_matrix(rows)
    wide = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_features), copy=False)
    return Points(wide, points.place, points.norms, points.far)
