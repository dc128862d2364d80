"""The plane of two features in which a classifier is evaluated; other features are held constant."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import csc_median_axis_0

from perceptrons.plots.model_facts import require_rows, to_dense
from perceptrons.theory.examples import check_rows

BLOCK_VALUES = 2**22
MAX_GRID_VALUES = 2**28  # with very many features the grid becomes coarser
GRID_MARGIN = 0.08  # of the range of the data, on both sides


class Plane:
    """A grid of points in the plane of two features, and the examples as points of it; other features are constant.

    names: of all columns of X, if they are known. held: "mean" or "median", at which the other features are.
    """

    def __init__(self, X: Any, features: Any, names: list[str] | None, held: str, resolution: int):
        if held not in ("mean", "median"):
            raise ValueError(f"held={held!r}: give 'mean' or 'median'.")
        if isinstance(resolution, bool) or not isinstance(resolution, int | np.integer) or not 2 <= resolution <= 2000:
            raise ValueError(f"resolution={resolution!r}: give a whole number of 2 to 2000.")
        self.features, names = _choose_features(X, features, names)
        require_rows(X)
        self._constants: Any  # a row with the constant values; of a frame, values by column
        self._frame_type = type(X) if hasattr(X, "columns") else None
        if self._frame_type is None:
            rows = check_rows(X)
            self._constants = _middle(rows, held).astype(rows.dtype)
            self.points = to_dense(rows[:, list(self.features)]).astype(np.float64)
        else:
            self._constants = {name: _middle_of_column(np.asarray(X[name]), held) for name in X.columns}
            self._pair = [list(X.columns)[i] for i in self.features]
            for name in self._pair:
                if np.asarray(X[name]).dtype.kind not in "biuf":
                    raise ValueError(
                        f"The feature {name!r} does not contain numbers and cannot be an axis: choose another."
                    )
            self.points = np.stack([np.asarray(X[name], np.float64) for name in self._pair], axis=1)
        if not np.isfinite(self.points).all():
            raise ValueError("The two features contain NaN or infinity: impute or drop these examples first.")
        n_side = int(np.clip(resolution, 2, max(20, (MAX_GRID_VALUES / len(names)) ** 0.5)))
        self.x, self.y = (grid_axis(values, n_side) for values in self.points.T)
        self.names = names[self.features[0]], names[self.features[1]]
        self.n_held = len(names) - 2
        self.note = f"{self.n_held:,} other feature{'s' * (self.n_held > 1)} held at the {held}" if self.n_held else ""

    def grid_rows(self) -> Iterator[Any]:
        """Yield the points of the grid with all features, in blocks of the same type as X."""
        return self._blocks(np.stack([part.ravel() for part in np.meshgrid(self.x, self.y)], axis=1))

    def projected_examples(self) -> Iterator[Any]:
        """Yield the examples with the other features held constant, in blocks of the same type as X."""
        return self._blocks(self.points)

    def _blocks(self, points: np.ndarray) -> Iterator[Any]:
        size = max(1, BLOCK_VALUES // (self.n_held + 2))
        for start in range(0, len(points), size):
            block = points[start : start + size]
            if self._frame_type is None:
                rows = np.repeat(self._constants[None, :], len(block), axis=0)
                rows[:, self.features] = block
                yield rows
            else:
                columns = {name: np.repeat(np.array([value]), len(block)) for name, value in self._constants.items()}
                yield self._frame_type(columns | dict(zip(self._pair, block.T, strict=True)))


def _choose_features(X: Any, features: Any, names: list[str] | None) -> tuple[tuple[int, int], list[str]]:
    """Return the columns of the two features, and the names of all features."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X has the shape {tuple(shape)}: give examples as rows and two or more features as columns.")
    d = int(shape[1])
    names = names if names is not None and len(names) == d else [f"x{i}" for i in range(d)]
    if d < 2:
        raise ValueError("X has one feature, but a plane needs two: use MarginsDisplay instead.")
    if features is None:
        if d > 2:
            raise ValueError(f"X has {d} features: choose two to draw, such as features=({names[0]!r}, {names[1]!r}).")
        return (0, 1), names
    if isinstance(features, str) or not hasattr(features, "__len__") or len(features) != 2:
        raise ValueError(f"features={features!r}: give two features, by number or by name.")
    i, j = (_column(feature, names) for feature in features)
    if i == j:
        raise ValueError(f"features={features!r} names the same feature twice.")
    return (i, j), names


def _column(feature: Any, names: list[str]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"There is no feature {feature!r} among {names[:10]}.")
        return names.index(feature)
    if isinstance(feature, bool | np.bool_) or not isinstance(feature, int | np.integer):
        raise ValueError(f"{feature!r} is not a feature: give a number or a name.")
    if not 0 <= feature < len(names):
        raise ValueError(f"There is no feature {feature}: features are numbered from 0 to {len(names) - 1}.")
    return int(feature)


def _middle(rows: Any, held: str) -> np.ndarray:
    """Return the mean or the median of every column of an array or a CSR matrix."""
    if held == "mean":
        return np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
    return csc_median_axis_0(rows.tocsc()) if sp.issparse(rows) else np.median(rows, axis=0)


def _middle_of_column(values: np.ndarray, held: str) -> Any:
    """Return the mean or the median of numbers, or the most frequent of other values."""
    if values.dtype.kind in "biuf":
        return np.nanmean(values) if held == "mean" else np.nanmedian(values)
    categories, counts = np.unique(values.astype(object), return_counts=True)
    return categories[counts.argmax()]


def grid_axis(values: np.ndarray, n_points: int) -> np.ndarray:
    """Return evenly spaced points from a little below the smallest value to a little above the largest."""
    low, high = float(values.min()), float(values.max())
    room = (high - low) * GRID_MARGIN if high > low else max(1.0, abs(low)) * 0.5
    return np.linspace(low - room, high + room, n_points)
