"""The weights of a chain while it learns: they grow by labels and features, are averaged, kept and restored."""

from typing import Any

import numpy as np

from perceptrons.passes.chain import Chain, Spare, sqnorm_of
from perceptrons.training.owning import Owning

AT_ONCE = 2**15  # features whose weights are averaged at a time


class ChainWeights(Owning):
    """For every feature a row of weights, one a label; and the arcs, whose last row and column are the two ends.

    `w` (features, labels) and `arcs` (labels + 1, labels + 1) are the last weights; `late_w`, `late_arcs` and `t`, the
    sequences seen, give their average (passes/state.py says how). There are spare rows for new features.
    """

    def __init__(self, n_features: int, n_labels: int, dtype: Any):
        self.n_features = n_features
        self.w, self.late_w = np.zeros((n_features, n_labels), dtype), np.zeros((n_features, n_labels))
        self.arcs, self.late_arcs = (
            np.zeros((n_labels + 1, n_labels + 1), dtype),
            np.zeros((n_labels + 1, n_labels + 1)),
        )
        self.t = np.zeros(1)
        self.spare_w: np.ndarray = np.zeros((0, n_labels))

    @property
    def dtype(self) -> np.dtype:
        return self.w.dtype

    @property
    def n_labels(self) -> int:
        return self.w.shape[1]

    def chain(self) -> Chain:
        """The arrays that the pass changes."""
        d = self.n_features
        return Chain(self.w[:d].T, self.arcs, self.late_w[:d].T, self.late_arcs, self.t)

    def spare(self, large: bool) -> Spare:
        """Room for the pass to reckon in, as large as the weights or none."""
        if large and self.spare_w.shape != self.w.shape:
            self.spare_w = np.zeros(self.w.shape)
        return Spare(self.spare_w[: self.n_features].T, np.zeros(self.arcs.shape if large else (0, 0)))

    def grow_features(self, n_features: int) -> None:
        """Room for more features; a half more than is needed if they come bit by bit."""
        if n_features > len(self.w):
            spare = n_features // 2 if self.n_features else 0
            self.w, self.late_w = (_taller(array, n_features + spare) for array in (self.w, self.late_w))
        self.n_features = max(n_features, self.n_features)

    def grow_labels(self, places: np.ndarray, n_labels: int) -> None:
        """More labels, among which those known so far are at these places."""
        ends, grown = np.append(places, n_labels), {"spare_w": np.zeros((0, n_labels))}
        for name in ("w", "late_w", "arcs", "late_arcs"):
            old = getattr(self, name)
            square = name.endswith("arcs")
            grown[name] = np.zeros((n_labels + 1, n_labels + 1) if square else (len(old), n_labels), old.dtype)
            grown[name][np.ix_(ends, ends) if square else (slice(None), places)] = old
        self.__dict__.update(grown)

    def last(self) -> tuple[np.ndarray, np.ndarray]:
        return self.w[: self.n_features], self.arcs

    def average(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of the weights after every sequence, of the type of the last ones."""
        t, average = max(self.t[0], 1.0), np.empty((self.n_features, self.n_labels), self.dtype)
        for start in range(0, self.n_features, AT_ONCE):
            part = slice(start, min(start + AT_ONCE, self.n_features))
            average[part] = self.w[part] - self.late_w[part] / t
        return average, (self.arcs - self.late_arcs / t).astype(self.dtype)

    def norm(self) -> float:
        """Of the last weights, features and arcs. Ten digits: the order of the features must not show in it."""
        squares = sqnorm_of(self.w[: self.n_features]) + sqnorm_of(self.arcs)
        return float(f"{np.sqrt(squares):.10g}")

    def snapshot(self) -> tuple[np.ndarray, ...]:
        d = self.n_features
        arrays = (self.w[:d], self.late_w[:d], self.arcs, self.late_arcs, self.t)
        return tuple(array.copy() for array in arrays)

    def restore(self, snapshot: tuple[np.ndarray, ...]) -> None:
        self.w, self.late_w, self.arcs, self.late_arcs, self.t = (array.copy() for array in snapshot)
        self.n_features = len(self.w)


def _taller(array: np.ndarray, height: int) -> np.ndarray:
    taller = np.zeros((height, array.shape[1]), array.dtype)
    taller[: len(array)] = array
    return taller
