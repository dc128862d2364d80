"""The weights of a chain while it learns: they grow by labels and features, are averaged, kept and restored."""

from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.passes.chain import Chain, Spare
from perceptrons.engine.passes.shortlists import FEW, Table, room_for, unit_of, width_of
from perceptrons.engine.passes.weight_pool import (
    count_weights,
    list_weights,
    put_weights,
    repack,
    spread_out,
    sqdistance_of,
    sqnorm_of_pool,
)
from perceptrons.engine.training.weights import Owning

AT_ONCE = 2**16  # weights that are averaged at a time
FIRST_POOL = 1024  # weights
FULL_POOL = 2**22  # weights: up to this size, full rows get room for all features at once (untouched memory is free)


class Entries(NamedTuple):
    """Weights one by one, by feature and then by label."""

    features: np.ndarray
    labels: np.ndarray
    w: np.ndarray
    late_w: np.ndarray


class ChainWeights(Owning):
    """For every feature that fired its weights, by label; and the arcs, whose last row and column are the two ends.

    `w`, a pool in which the table says where a feature's weights are (passes/shortlists.py), and `arcs` (labels + 1,
    labels + 1) are the last weights; `late_w`, `late_arcs` and `t`, the sequences seen, give their average
    (passes/average.py says how).
    """

    def __init__(self, n_features: int, n_labels: int, dtype: Any):
        self.n_features = n_features
        self.table, self.w, self.late_w = _pool(n_features, n_labels, FIRST_POOL, dtype)
        self.arcs, self.late_arcs = (
            np.zeros((n_labels + 1, n_labels + 1), dtype),
            np.zeros((n_labels + 1, n_labels + 1)),
        )
        self.t = np.zeros(1)
        self.spare_w: np.ndarray = np.zeros(0)

    @property
    def dtype(self) -> np.dtype:
        return self.w.dtype

    @property
    def n_labels(self) -> int:
        return len(self.arcs) - 1

    def chain(self) -> Chain:
        """Return the arrays that the pass changes."""
        return Chain(self.table, self.w, self.arcs, self.late_w, self.late_arcs, self.t)

    def spare(self, is_large: bool) -> Spare:
        """Return buffers for the pass, as large as the weights, or empty."""
        if is_large and self.spare_w.shape != self.w.shape:
            self.spare_w = np.zeros(self.w.shape)
        return Spare(self.spare_w, np.zeros(self.arcs.shape if is_large else (0, 0)))

    # ---- growing

    def grow_pool(self, entries: int = 0) -> None:
        """Make room for this many weights in all, and for at least half as many again as there are."""
        n_used, width = int(self.table.used[0]), int(width_of(self.n_labels))
        full = min(self.n_features * width, FULL_POOL) if self.n_labels <= FEW else 0  # step by step: 10% slower fits
        size = max(entries, n_used + n_used // 2, n_used + 2 * width, full, FIRST_POOL)
        table, w, late_w = _pool(len(self.table.begin), self.n_labels, size, self.dtype)
        repack(self.table, (self.w, self.late_w), table, (w, late_w), self.n_labels)
        self.table, self.w, self.late_w = table, w, late_w

    def grow_features(self, n_features: int) -> None:
        """Add features without weights; make room for half as many again if they come bit by bit."""
        if n_features > len(self.table.begin):
            height = n_features + (n_features // 2 if self.n_features else 0)
            begin, size = (_taller(array, height) for array in self.table[:2])
            self.table = self.table._replace(begin=begin, size=size)
        self.n_features = max(n_features, self.n_features)

    def grow_labels(self, places: np.ndarray, n_labels: int) -> None:
        """Add labels; the known ones are at these places among all."""
        ends, arcs = np.append(places, n_labels), []
        for old in (self.arcs, self.late_arcs):
            arcs.append(np.zeros((n_labels + 1, n_labels + 1), old.dtype))
            arcs[-1][np.ix_(ends, ends)] = old
        features, labels, w, late_w = self.entries()
        weights = (*runs(features), places[labels].astype(np.int32), w, late_w)
        filled = _filled(weights, len(self.table.begin), n_labels, self.dtype)
        self.table, self.w, self.late_w = filled  # from here on nothing can fail
        self.arcs, self.late_arcs = arcs

    # ---- all weights at once

    def entries(self) -> Entries:
        """Return the weights that are not 0, or were not always."""
        state = (self.table, (self.w, self.late_w), self.n_features, self.n_labels)
        n = int(count_weights(*state))
        entries_ = Entries(np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n, self.dtype), np.empty(n))
        list_weights(*state, *entries_)
        return entries_

    def fill(self, features: np.ndarray, sizes: np.ndarray, *weights: np.ndarray) -> None:
        """Set these weights and make all others 0. sizes: labels per feature; weights: sorted labels, w and late_w."""
        contents = (features, sizes, *weights)
        self.table, self.w, self.late_w = _filled(contents, len(self.table.begin), self.n_labels, self.dtype)

    def fired(self, entries: Entries | None = None) -> np.ndarray:
        """Return for every feature whether an update has ever changed one of its weights."""
        fired = np.zeros(self.n_features, bool)
        fired[(entries or self.entries()).features] = True
        return fired

    def tall(self, w: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
        """Return weights, as `last` and `average` give them, as (features, labels), of all features or of some."""
        which = np.arange(self.n_features) if which is None else which
        tall = np.empty((len(which), self.n_labels), w.dtype)
        spread_out(self.table, w, which, tall)
        return tall

    def last(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the last weights: the pool, and the arcs."""
        return self.w, self.arcs

    def average(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of the weights after every sequence, in the type and layout of the last ones."""
        t, average = max(self.t[0], 1.0), np.zeros_like(self.w)
        used = int(self.table.used[0])
        for start in range(0, used, AT_ONCE):
            part = slice(start, min(start + AT_ONCE, used))
            average[part] = self.w[part] - self.late_w[part] / t
        return average, (self.arcs - self.late_arcs / t).astype(self.dtype)

    def norm(self) -> float:
        """Return the norm of all last weights, to ten digits, so that the order of the features does not show in it."""
        if len(self.table.labels):  # lists: where one has grown, what it left behind does not count
            squares = sqnorm_of_pool(self.table, self.w, self.n_labels)
        else:
            squares = _sqnorm(self.w[: int(self.table.used[0])])
        return float(f"{np.sqrt(squares + _sqnorm(self.arcs)):.10g}")

    def relative_change(
        self, average: tuple[np.ndarray, np.ndarray], table: Table, previous: tuple[np.ndarray, np.ndarray]
    ) -> float:
        """Return |average - previous| / |average|. table: where the weights were before."""
        moved, norm = sqdistance_of(self.table, average[0], table, previous[0], self.n_labels)
        arcs = average[1].astype(np.float64)
        moved, norm = moved + float(((arcs - previous[1]) ** 2).sum()), norm + float((arcs**2).sum())
        return float(np.sqrt(moved / norm)) if norm > 0 else np.inf

    # ---- keeping

    def snapshot(self) -> tuple[Any, ...]:
        table = Table(*(array.copy() for array in self.table))
        arrays = (self.w, self.late_w, self.arcs, self.late_arcs, self.t)
        return self.n_features, table, *(array.copy() for array in arrays)

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        self.n_features, table, *arrays = snapshot
        self.table = Table(*(array.copy() for array in table))
        self.w, self.late_w, self.arcs, self.late_arcs, self.t = (array.copy() for array in arrays)


def _sqnorm(w: np.ndarray) -> float:
    """Return the sum of all squares, in float64."""
    flat = w.reshape(-1)
    parts = (flat[at : at + AT_ONCE].astype(np.float64) for at in range(0, len(flat), AT_ONCE))
    return sum(float(np.square(part, out=part).sum()) for part in parts)


def runs(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of entries, each once, and how many entries each has."""
    firsts = np.flatnonzero(np.diff(features, prepend=-1))
    return features[firsts], np.diff(firsts, append=len(features)).astype(np.int64)


def _filled(
    contents: tuple[np.ndarray, ...], n_features: int, n_labels: int, dtype: Any
) -> tuple[Table, np.ndarray, np.ndarray]:
    """Return a table and pool with exactly these weights; see `fill`."""
    rooms = np.array([room_for(size, n_labels) for size in range(n_labels + 1)])
    pool = _pool(n_features, n_labels, int(width_of(n_labels)) + int(rooms[contents[1]].sum()), dtype)
    put_weights(pool[0], pool[1:], n_labels, *contents)
    return pool


def _pool(n_features: int, n_labels: int, size: int, dtype: Any) -> tuple[Table, np.ndarray, np.ndarray]:
    """Return a table without weights, and an empty pool of at least this size."""
    width = int(width_of(n_labels))
    size = max(1, -(-size // width)) * width
    if size // int(unit_of(n_labels)) > np.iinfo(np.int32).max:
        raise MemoryError(f"{n_labels} labels need too many weights for one model: use min_count or hash_bits.")
    labels = np.zeros(0 if n_labels <= FEW else size, np.int32)
    table = Table(np.zeros(n_features, np.int32), np.zeros(n_features, np.int32), labels, np.full(1, width))
    return table, np.zeros(size, dtype), np.zeros(size)


def _taller(array: np.ndarray, height: int) -> np.ndarray:
    taller = np.zeros(height, array.dtype)
    taller[: len(array)] = array
    return taller
