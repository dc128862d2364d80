"""The plane of two features in which a classifier is evaluated; other features are held constant."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.plots.model_facts import check_nonempty_rows, require_rows, to_dense

BLOCK_VALUES = 2**22
MAX_GRID_VALUES = 2**28  # with very many features the grid becomes coarser
GRID_MARGIN = 0.08  # of the range of the data, on both sides


class Plane(NamedTuple):
    """A grid of points, and the examples as points in the same plane."""

    x: np.ndarray
    y: np.ndarray
    points: np.ndarray  # (n_examples, 2)
    features: tuple[int, int]
    names: tuple[str, str]
    n_held: int  # features held constant
    template: np.ndarray | dict[Any, Any]  # a row with their values; of a frame, values by column
    frame_type: Any  # None for arrays
    note: str

    def grid_rows(self) -> Iterator[Any]:
        """Yield the points of the grid with all features, in blocks of the same type as X."""
        return self._blocks(np.stack([part.ravel() for part in np.meshgrid(self.x, self.y)], axis=1))

    def projected_examples(self) -> Iterator[Any]:
        """Yield the examples with the other features held constant, in blocks of the same type as X."""
        return self._blocks(self.points)

    def _blocks(self, points: np.ndarray) -> Iterator[Any]:
        size = max(1, BLOCK_VALUES // (self.n_held + 2))
        for start in range(0, len(points), size):
            yield self._add_held_features(points[start : start + size])

    def _add_held_features(self, points: np.ndarray) -> Any:
        if not isinstance(self.template, dict):
            rows = np.repeat(self.template[None, :], len(points), axis=0)
            rows[:, self.features] = points
            return rows
        columns = {name: np.repeat(np.array([value]), len(points)) for name, value in self.template.items()}
        for i, values in zip(self.features, points.T, strict=True):
            columns[list(columns)[i]] = values
        return self.frame_type(columns)


def make_plane(X: Any, features: Any, names: list[str] | None, held: str, resolution: int) -> Plane:
    """Return the plane of two features through the mean or median of the others.

    names: of all columns of X, if they are known.
    """
    if held not in ("mean", "median"):
        raise ValueError(f"held={held!r}: give 'mean' or 'median'.")
    if isinstance(resolution, bool) or not isinstance(resolution, int | np.integer) or not 2 <= resolution <= 2000:
        raise ValueError(f"resolution={resolution!r}: give a whole number of 2 to 2000.")
    pair, names = _choose_features(X, features, names)
    template: np.ndarray | dict[Any, Any]
    if hasattr(X, "columns"):
        template, points = _frame_template(X, pair, held)
    else:
        template, points = _array_template(X, pair, held)
    if not np.isfinite(points).all():
        raise ValueError("The two features contain NaN or infinity: impute or drop these examples first.")
    n_held = len(names) - 2
    n_side = int(np.clip(resolution, 2, max(20, (MAX_GRID_VALUES / len(names)) ** 0.5)))
    note = f"{n_held:,} other feature{'s' * (n_held > 1)} held at the {held}" if n_held else ""
    x, y = (grid_axis(points[:, i], n_side) for i in (0, 1))
    chosen_names = names[pair[0]], names[pair[1]]
    return Plane(x, y, points, pair, chosen_names, n_held, template, type(X), note)


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


def _array_template(X: Any, features: tuple[int, int], held: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a row of the held values, and the examples as points of the plane."""
    rows = check_nonempty_rows(X)
    points = to_dense(rows[:, list(features)]).astype(np.float64)
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


def _frame_template(X: Any, features: tuple[int, int], held: str) -> tuple[dict[Any, Any], np.ndarray]:
    """Return the held value of every column, and the examples as points of the plane."""
    require_rows(X)
    template: dict[Any, Any] = {}
    columns = list(X.columns)
    for name in columns:
        values = np.asarray(X[name])
        if values.dtype.kind in "biuf":
            template[name] = np.nanmean(values) if held == "mean" else np.nanmedian(values)
        else:
            categories, counts = np.unique(values.astype(object), return_counts=True)
            template[name] = categories[counts.argmax()]
    pair = [np.asarray(X[columns[i]]) for i in features]
    for i, values in zip(features, pair, strict=True):
        if values.dtype.kind not in "biuf":
            raise ValueError(
                f"The feature {columns[i]!r} does not contain numbers and cannot be an axis: choose another."
            )
    return template, np.stack([values.astype(np.float64) for values in pair], axis=1)


def grid_axis(values: np.ndarray, n_points: int) -> np.ndarray:
    """Return evenly spaced points from a little below the smallest value to a little above the largest."""
    low, high = float(values.min()), float(values.max())
    room = (high - low) * GRID_MARGIN if high > low else max(1.0, abs(low)) * 0.5
    return np.linspace(low - room, high + room, n_points)
