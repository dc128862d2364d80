"""The weights of a linear model while it learns: they grow by classes and features, are averaged, kept, restored."""

import math
from typing import Any

import numpy as np

from perceptrons.passes.state import BEST_MISTAKES, JUDGED, KEPT, UNJUDGED, Linear, Pocket, move_average
from perceptrons.rows import Rows, Sparse

MATRICES = ("w", "late_w", "pocket_w", "start_w")
VECTORS = ("b", "late_b", "pocket_b", "start_b")


class Weights:
    """Arrays by name, of one row for up to two classes and a row per class for more.

    Always there: `w`, `b` (the last weights), `late_w`, `late_b`, `t` (their average, see passes/state.py). With a
    pocket also `pocket_w`, `pocket_b`, `tally`; for voting `start_w`, `start_b`. Matrices are (rows, columns) with as
    many spare columns as growing by new features wants; `n_features` are in use.
    """

    def __init__(self, w: np.ndarray, b: np.ndarray, *, intercept: bool, pocket: bool = False, start: bool = False):
        self.n_features = w.shape[1]
        self.one = 1.0 if intercept else 0.0
        self._order = ""  # of the matrices in memory, once they were arranged
        self.arrays: dict[str, np.ndarray] = {
            "w": w,
            "b": b,
            "late_w": np.zeros_like(w, dtype=np.float64),
            "late_b": np.zeros(len(b)),
            "t": np.zeros(1),
        }
        if pocket:
            self.arrays |= {"pocket_w": w.copy(order="K"), "pocket_b": b.copy(), "tally": np.array([0, 0, np.inf, 0.0])}
        if start:
            self.arrays |= {"start_w": w.copy(order="K"), "start_b": b.copy()}

    @property
    def dtype(self) -> np.dtype:
        return self.arrays["w"].dtype

    @property
    def n_rows(self) -> int:
        return len(self.arrays["b"])

    @property
    def has_pocket(self) -> bool:
        return "tally" in self.arrays

    @property
    def t(self) -> float:
        """Examples seen, by weight."""
        return float(self.arrays["t"][0])

    def linear(self) -> Linear:
        """The arrays that a pass changes."""
        a, d = self.arrays, self.n_features
        return Linear(a["w"][:, :d], a["b"], a["late_w"][:, :d], a["late_b"], a["t"], self.one)

    def pocket(self, examples: np.ndarray) -> Pocket | None:
        """The pocket, judged on the given examples; None for a model that keeps none."""
        a = self.arrays
        if not self.has_pocket:
            return None
        return Pocket(a["pocket_w"][:, : self.n_features], a["pocket_b"], a["tally"], examples)

    def last(self) -> tuple[np.ndarray, np.ndarray]:
        return self.arrays["w"][:, : self.n_features], self.arrays["b"]

    def pocketed(self) -> tuple[np.ndarray, np.ndarray]:
        return self.arrays["pocket_w"][:, : self.n_features], self.arrays["pocket_b"]

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        return self.arrays["start_w"][:, : self.n_features], self.arrays["start_b"]

    def average(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of the weights after every example seen, in the dtype of the weights."""
        w, b, late_w, late_b, _, _ = self.linear()
        t = max(self.t, np.finfo(float).tiny)  # nothing seen: late is 0, and the mean is the start
        return (w - late_w / t).astype(self.dtype, copy=False), (b - late_b / t).astype(self.dtype, copy=False)

    def arrange(self, rows: Rows) -> None:
        """Bring the matrices into the memory order that the verbs want for these rows."""
        order = "F" if isinstance(rows, Sparse) else "C"
        if order == self._order:
            return
        self._order = order
        for name in self._present(MATRICES):
            matrix = self.arrays[name]
            if order == "C":
                matrix = matrix[:, : self.n_features]
            self.arrays[name] = np.asarray(matrix, order=order)  # type: ignore[call-overload]

    def widen(self, n_features: int, new_columns: np.ndarray) -> None:
        """Add features; new_columns are their first weights. The average takes them as having been so all along."""
        self._order = ""
        old = self.n_features
        room = self.arrays["w"].shape[1]
        if n_features > room:
            room = max(n_features, 2 * room, 16)
        for name in self._present(MATRICES):
            matrix = self.arrays[name]
            if matrix.shape[1] < room or not matrix.flags.f_contiguous:
                grown = np.zeros((self.n_rows, room), matrix.dtype, order="F")
                grown[:, :old] = matrix[:, :old]
                self.arrays[name] = matrix = grown
            matrix[:, old:n_features] = 0 if name == "late_w" else new_columns
        self.n_features = n_features

    def negate(self) -> None:
        """Swap the two classes of a binary model."""
        for name in self._present(MATRICES + VECTORS):
            np.negative(self.arrays[name], out=self.arrays[name])

    def split(self) -> None:
        """From the binary form to one row a class: (-w, w), which go on exactly as w does (spec 3)."""
        self._order = ""
        for name in self._present(MATRICES + VECTORS):
            array = self.arrays[name]
            self.arrays[name] = np.concatenate([-array, array])

    def insert_rows(self, places: np.ndarray, n_rows: int, new_w: np.ndarray, new_b: np.ndarray) -> None:
        """Move row i to places[i] among n_rows rows; the others are new classes, starting from new_w and new_b."""
        self._order = ""
        fresh = np.setdiff1d(np.arange(n_rows), places)
        for name in self._present(MATRICES + VECTORS):
            array = self.arrays[name]
            grown = np.zeros((n_rows, *array.shape[1:]), array.dtype, order="F" if array.ndim == 2 else None)
            grown[places] = array
            if not name.startswith("late"):
                if name in MATRICES:
                    grown[fresh, : self.n_features] = new_w
                else:
                    grown[fresh] = new_b
            self.arrays[name] = grown

    def grow_features(self, n_features: int, init: str, seed: int) -> None:
        """Make room for features behind those known."""
        shape = (self.n_rows, n_features - self.n_features)
        columns, _ = first_weights(shape, self.dtype, init, seed, self.one > 0, behind=(0, self.n_features))
        self.widen(n_features, columns)

    def grow_classes(self, places: np.ndarray, n_classes: int, init: str, seed: int) -> None:
        """From two or more classes to n_classes of three or more; class c becomes class places[c]."""
        if len(places) == 2:
            self.split()
        shape = (n_classes - len(places), self.n_features)
        w, b = first_weights(shape, self.dtype, init, seed, self.one > 0, behind=(len(places), 0))
        self.insert_rows(places, n_classes, w, b)

    def forget_judgement(self) -> None:
        """The pocket will meet other examples: what it scored on the old ones says nothing about them."""
        if self.has_pocket:
            tally = self.arrays["tally"]
            tally[BEST_MISTAKES] = np.inf
            tally[JUDGED] = KEPT if tally[JUDGED] == KEPT else UNJUDGED

    def snapshot(self) -> dict[str, Any]:
        return {name: array.copy(order="K") for name, array in self.arrays.items()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.arrays = {name: array.copy(order="K") for name, array in snapshot.items()}

    def _present(self, names: tuple[str, ...]) -> list[str]:
        return [name for name in names if name in self.arrays]


class SettlingAverage:
    """Follows the averaged weights from epoch to epoch (spec 5b), while they stay where they are in memory."""

    def __init__(self, weights: Weights):
        w, b, late_w, late_b, self._t, _ = weights.linear()
        pairs = zip((w, b), (late_w, late_b), weights.average(), strict=True)
        self._parts = [
            (now.ravel("K"), late.ravel("K"), mean.ravel("K").astype(np.float64)) for now, late, mean in pairs
        ]

    def change(self) -> float:
        """By how much the average changed since the last call, relative to its norm."""
        norms = [move_average(now, late, self._t[0], mean) for now, late, mean in self._parts]
        change, norm = norms[0][0] + norms[1][0], norms[0][1] + norms[1][1]
        return math.sqrt(change / norm) if norm else math.inf


def first_weights(
    shape: tuple[int, int], dtype: Any, init: str, seed: int, intercept: bool, behind: tuple[int, int] = (0, 0)
) -> tuple[np.ndarray, np.ndarray]:
    """The start: zeros, ones, or random numbers (standard normal) by seed, shape and place behind others."""
    w, b = np.zeros(shape, dtype), np.zeros(shape[0], dtype)
    if init == "ones":
        w[:] = 1
        b[:] = 1
    elif init == "random":
        rng = np.random.default_rng([seed, *shape, *behind])
        w[:] = rng.standard_normal(shape)
        b[:] = rng.standard_normal(shape[0])
    if not intercept:
        b[:] = 0
    return w, b
