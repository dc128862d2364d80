"""The plane of two features in which a classifier is evaluated; other features are held constant."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.plots.model_facts import as_dense, rows_of

AT_ONCE = 2**22  # numbers of a block
MOST = 2**28  # numbers of all blocks: with very many features the grid becomes coarser
EDGE = 0.08  # of the range, around the data


class Plane(NamedTuple):
    """Where to ask, and the examples as points in the plane."""

    x: np.ndarray
    y: np.ndarray
    points: np.ndarray  # (n, 2)
    features: tuple[int, int]
    names: tuple[str, str]
    others: int  # features that are held
    held: Any  # their row: an array, or a dict of values by column of a frame
    frame: Any  # the class of the frame, None for arrays
    note: str

    @property
    def n(self) -> int:
        return len(self.points)

    def blocks(self) -> Iterator[Any]:
        """All points of the grid row by row, as X is given: blocks of an array or of a frame."""
        grid = np.stack([part.ravel() for part in np.meshgrid(self.x, self.y)], axis=1)
        size = max(1, AT_ONCE // (self.others + 2))
        for begin in range(0, len(grid), size):
            yield self._rows(grid[begin : begin + size])

    def examples(self) -> Iterator[Any]:
        """The examples where they are drawn: with the other features held. In blocks, as X is given."""
        size = max(1, AT_ONCE // (self.others + 2))
        for begin in range(0, self.n, size):
            yield self._rows(self.points[begin : begin + size])

    def _rows(self, points: np.ndarray) -> Any:
        """Points of the plane with all features."""
        if self.frame is None:
            rows = np.repeat(self.held[None, :], len(points), axis=0)
            rows[:, self.features] = points
            return rows
        columns = {name: np.repeat(np.array([value]), len(points)) for name, value in self.held.items()}
        for name, values in zip((list(columns)[i] for i in self.features), points.T, strict=True):
            columns[name] = values
        return self.frame(columns)


def choose_features(X: Any, features: Any, names: list[str] | None) -> tuple[tuple[int, int], list[str]]:
    """The places of the two features to draw, and the names of all."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X has the shape {tuple(shape)}: give examples as rows and two or more features as columns.")
    d = int(shape[1])
    every = names if names is not None and len(names) == d else [f"x{i}" for i in range(d)]
    if d < 2:
        raise ValueError("X has one feature, but a plane needs two: use MarginsDisplay instead.")
    if features is None:
        if d > 2:
            raise ValueError(f"X has {d} features: choose two to draw, such as features=({every[0]!r}, {every[1]!r}).")
        return (0, 1), every
    if isinstance(features, str) or not hasattr(features, "__len__") or len(features) != 2:
        raise ValueError(f"features={features!r}: give two features, by number or by name.")
    i, j = (_place(feature, every) for feature in features)
    if i == j:
        raise ValueError(f"features={features!r} names the same feature twice.")
    return (i, j), every


def _place(feature: Any, names: list[str]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"There is no feature {feature!r} among {names[:10]}.")
        return names.index(feature)
    if isinstance(feature, bool | np.bool_) or not isinstance(feature, int | np.integer):
        raise ValueError(f"{feature!r} is not a feature: give a number or a name.")
    if not 0 <= feature < len(names):
        raise ValueError(f"There is no feature {feature}: features are numbered from 0 to {len(names) - 1}.")
    return int(feature)


def plane_of(X: Any, chosen: tuple[tuple[int, int], list[str]], held: str, resolution: int) -> Plane:
    """The plane through the middle of the data."""
    if held not in ("mean", "median"):
        raise ValueError(f"held={held!r}: give 'mean' or 'median'.")
    if isinstance(resolution, bool) or not isinstance(resolution, int | np.integer) or not 2 <= resolution <= 2000:
        raise ValueError(f"resolution={resolution!r}: give a whole number of 2 to 2000.")
    features, names = chosen
    frame: Any = None
    middle: Any
    if hasattr(X, "columns"):
        frame, middle, points = _of_frame(X, features, held)
    else:
        middle, points = _of_array(X, features, held)
    if not np.isfinite(points).all():
        raise ValueError("The two features contain NaN or infinity: impute or drop these examples first.")
    others = len(names) - 2
    side = int(np.clip(resolution, 2, max(20, (MOST / len(names)) ** 0.5)))
    note = f"{others:,} other feature{'s' * (others > 1)} held at the {held}" if others else ""
    x, y = (around(points[:, i], side) for i in (0, 1))
    return Plane(x, y, points, features, (names[features[0]], names[features[1]]), others, middle, frame, note)


def _of_array(X: Any, features: tuple[int, int], held: str) -> tuple[np.ndarray, np.ndarray]:
    rows = rows_of(X)
    points = as_dense(rows[:, list(features)]).astype(np.float64)
    if rows.shape[1] == 2:
        return np.zeros(2, rows.dtype), points
    if held == "mean":
        middle = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
    elif sp.issparse(rows):
        columns = rows.tocsc()
        middle = np.array([np.median(columns[:, j].toarray()) for j in range(rows.shape[1])])
    else:
        middle = np.median(rows, axis=0)
    return middle.astype(rows.dtype), points


def _of_frame(X: Any, features: tuple[int, int], held: str) -> tuple[type, dict[Any, Any], np.ndarray]:
    if X.shape[0] == 0:
        raise ValueError("X has no rows: there is nothing to draw.")
    middle: dict[Any, Any] = {}
    columns = list(X.columns)
    for name in columns:
        values = np.asarray(X[name])
        if values.dtype.kind in "biuf":
            middle[name] = np.nanmean(values) if held == "mean" else np.nanmedian(values)
        else:
            found, counts = np.unique(values.astype(object), return_counts=True)
            middle[name] = found[counts.argmax()]
    chosen = [np.asarray(X[columns[i]]) for i in features]
    for i, values in zip(features, chosen, strict=True):
        if values.dtype.kind not in "biuf":
            raise ValueError(
                f"The feature {columns[i]!r} does not contain numbers and cannot be an axis: choose another."
            )
    return type(X), middle, np.stack([values.astype(np.float64) for values in chosen], axis=1)


def around(values: np.ndarray, resolution: int) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    room = (high - low) * EDGE if high > low else max(1.0, abs(low)) * 0.5
    return np.linspace(low - room, high + room, resolution)
