"""Plots the decision boundary of a classifier in the plane of two features."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy.ndimage import distance_transform_edt, maximum_filter, uniform_filter
from sklearn.utils.sparsefuncs import csc_median_axis_0

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.matrices import row_bytes
from perceptrons.engine.wording import count
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.kernel.arrays import to_host
from perceptrons.linear import Perceptron
from perceptrons.plots import style
from perceptrons.plots.model_facts import (
    check_nonempty_rows,
    feature_names,
    fitted_classes,
    leads,
    require_rows,
    scores_of,
    to_dense,
)
from perceptrons.theory import margins
from perceptrons.theory.examples import check_rows, codes_among

MAX_POINTS = 5000  # more would hide each other
CHECK_EVERY = 37  # every 37th point of the grid is also predicted, to check what the scores say
MIN_LABEL_FRACTION = 0.7  # of a label that must lie in its region
BLOCK_VALUES = 2**22  # of rows of the grid that are evaluated at once
MAX_GRID_VALUES = 2**28  # with very many features the grid becomes coarser
GRID_MARGIN = 0.08  # of the range of the data, on both sides


class BoundaryDisplay(style.Display):
    """A plot of the decision boundary of a classifier over two features, with margin, mistakes and support vectors.

    Use it to see what a classifier with two features learned, or how it depends on two of its features. For many
    features, a plane shows little: use `MarginsDisplay` and `WeightsDisplay`.

    Parameters
    ----------
    grid_x, grid_y : arrays of shape (columns,) and (rows,)
        The grid of points at which the classifier was evaluated.
    lead : array of shape (rows, columns, n_classes)
        By how much each class leads its best rival there: positive in its region, 0 on the decision boundary.
    classes : array of shape (n_classes,)
    points : array of shape (n_examples, 2)
    codes, predicted : arrays of shape (n_examples,)
        The numbers of the true and of the predicted classes.
    support : array of bool, optional
        Which examples are support vectors.
    margin : float, optional
        The smallest geometric margin of the examples, negative if one of them is a mistake; None if it is not known.
    level : float, optional
        The score at which the lines of the margin are drawn; None if there are none, as with mistakes.
    names : tuple of two str, default=("x0", "x1")
    note : str, default=""
        Text that is added to the title.
    on_slice : array of shape (n_examples,), optional
        The numbers of the classes in whose regions the examples are drawn, if other features are held constant.

    Attributes
    ----------
    ax_, figure_ : the axes and the figure of the last `plot`

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.plots import BoundaryDisplay
    >>> X, y = [[0.0, 0.0], [1.0, 0.5], [2.0, 2.0], [3.0, 2.5]], ["low", "low", "high", "high"]
    >>> display = BoundaryDisplay.from_estimator(Perceptron().fit(X, y), X, y).plot()
    >>> display.ax_.get_title(loc="left")
    '4 examples, 0 mistakes'
    """

    def __init__(
        self, grid_x: np.ndarray, grid_y: np.ndarray, lead: np.ndarray, classes: np.ndarray, points: np.ndarray,
        codes: np.ndarray, predicted: np.ndarray, *, support: np.ndarray | None = None, margin: float | None = None,
        level: float | None = None, names: tuple[str, str] = ("x0", "x1"), note: str = "",
        on_slice: np.ndarray | None = None,
    ):  # fmt: skip
        self.grid_x, self.grid_y, self.lead, self.classes = grid_x, grid_y, lead, classes
        self.points, self.codes, self.predicted = points, codes, predicted
        self.support, self.margin, self.level, self.names, self.note = support, margin, level, names, note
        self.on_slice = on_slice

    @classmethod
    @columns_matched()
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, features: Any = None, held: str = "mean", resolution: int = 200,
        margin: bool = True, names: Any = None,
    ) -> "BoundaryDisplay":  # fmt: skip
        """Evaluate a fitted classifier on a grid around the data.

        Parameters
        ----------
        estimator : fitted classifier
            `Perceptron`, `KernelPerceptron`, or any classifier or pipeline of scikit-learn.
        X, y : as in `fit`; dense or sparse, arrays or frames
        features : pair of int or str, optional
            The two features to draw, if X has more.
        held : {"mean", "median"}, default="mean"
            The value of the other features; for those that are not numbers, their most frequent value.
        resolution : int, default=200
            The number of grid points along each side.
        margin : bool, default=True
            Whether to compute the margin, for two classes and all features.
        names : list of str, optional
            The names of all features; by default those of the frame or the model.
        """
        classes = fitted_classes(estimator)
        if getattr(estimator, "kernel", None) == "precomputed":
            raise ValueError(
                "A model with a precomputed kernel has no features to draw: fit it with a kernel by name or function."
            )
        plane = Plane(X, features, feature_names(estimator, X), held, resolution)
        codes = codes_among(y, len(plane.points), classes)
        predicted = _predict_codes(estimator, X, classes)
        smallest = level = on_slice = None
        if plane.n_held:
            on_slice = np.concatenate([_predict_codes(estimator, rows, classes) for rows in plane.projected_examples()])
        elif margin and len(classes) == 2:
            smallest, level = smallest_margin(estimator, X, classes[codes], is_clean=bool((predicted == codes).all()))
        return cls(
            plane.x, plane.y, _leads_on_grid(estimator, plane, classes), classes, plane.points, codes, predicted,
            support=find_support(estimator, X), margin=smallest, level=level, note=plane.note, on_slice=on_slice,
            names=plane.names if names is None else (str(names[plane.features[0]]), str(names[plane.features[1]])),
        )  # fmt: skip

    def plot(
        self, ax: Axes | None = None, *, mistakes: bool = True, support: bool = True, margin: bool = True,
        legend: bool = True, labels: bool = True,
    ) -> "BoundaryDisplay":  # fmt: skip
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default, a new figure is created.
        mistakes, support, margin : bool, default=True
            Whether to mark mistakes (crosses), support vectors (rings) and the margin (dashed lines).
        legend, labels : bool, default=True
            Whether to draw a legend beside the axes, and the names of the classes in their regions.
        """
        with self._single_axes(ax, (6.4 if len(self.classes) <= 12 else 8.4, 4.4)) as ax:
            self._draw_regions()
            boundary_handles = self._draw_boundary(margin)
            handles = self._draw_points(mistakes, support) + boundary_handles
            style.set_xlabel(ax, style.shorten(self.names[0], 40))
            ax.set_ylabel(style.shorten(self.names[1], 40))
            ax.set_xlim(self.grid_x[0], self.grid_x[-1])
            ax.set_ylim(self.grid_y[0], self.grid_y[-1])
            ratio = np.ptp(self.grid_x) / np.ptp(self.grid_y)
            if 0.5 <= ratio <= 2 and not self.note:
                ax.set_aspect("equal")  # so that a margin is drawn at right angles to its boundary
            style.set_title(ax, self._title())
            if legend:
                style.add_legend(ax, handles, 14)
            if labels:
                self._label_regions()
        return self

    def _draw_regions(self) -> None:
        """Fill the cells of the grid with the colours of the classes, and draw smooth edges over them."""
        winner = self.lead.argmax(axis=2)
        image = np.array([style.region_color(k) for k in range(len(self.classes))])[winner]
        half_x, half_y = (np.diff(grid).mean() / 2 for grid in (self.grid_x, self.grid_y))
        box = (self.grid_x[0] - half_x, self.grid_x[-1] + half_x, self.grid_y[0] - half_y, self.grid_y[-1] + half_y)
        self.ax_.imshow(image, extent=box, origin="lower", aspect="auto", interpolation="nearest", zorder=0)
        classes = np.unique(winner).tolist()
        for k in classes if len(classes) > 1 else []:
            lead = self.lead[:, :, k]
            if lead.max() > 0:  # or it only wins ties
                color = style.region_color(k)
                self.ax_.contourf(self.grid_x, self.grid_y, lead, levels=[0, lead.max()], colors=[color], zorder=0.5)

    def _draw_boundary(self, margin: bool) -> list[Artist]:
        """Draw the decision boundary and the lines of the margin; return the handles of the legend."""
        is_binary = len(self.classes) == 2
        for k in range(int(is_binary), len(self.classes)):
            self._draw_contours(self.lead[:, :, k], [0.0], linewidths=1.3)
        if not margin or not is_binary or (self.margin is None and self.level is None):
            return []
        label = "smallest score" if self.margin is None else f"smallest margin γ = {style.format_number(self.margin)}"
        if self.level is None:
            return [Line2D([], [], ls="", label=label)]
        self._draw_contours(self.lead[:, :, 1], sorted({-self.level, self.level}), linewidths=1.0, linestyles="--")
        return [Line2D([], [], color=style.INK, lw=1.0, ls="--", label=label)]

    def _draw_contours(self, lead: np.ndarray, levels: list[float], **options: Any) -> None:
        levels = [level for level in levels if lead.min() < level < lead.max()]
        if levels:
            self.ax_.contour(self.grid_x, self.grid_y, lead, levels=levels, colors=[style.INK], zorder=1, **options)

    def _draw_points(self, mistakes: bool, support: bool) -> list[Artist]:
        """Draw the examples, and mark support vectors and mistakes; return the handles of the legend."""
        is_mistake = self.predicted != self.codes
        is_support = np.zeros(len(is_mistake), bool) if self.support is None else self.support
        shown = self.shown_ = style.subsample(len(self.points), MAX_POINTS, is_mistake | is_support)
        points = self.points[shown]
        size, width = (30.0, 1.3) if len(shown) <= 500 else (20.0, 1.2) if len(shown) <= 1500 else (9.0, 0.6)
        labels = [style.shorten(label) for label in self.classes.tolist()]
        handles = style.scatter_classes(
            self.ax_, points, self.codes[shown], labels, size, show_absent=len(labels) <= 20
        )
        ring: dict[str, Any] = {"facecolors": "none", "edgecolors": style.INK, "linewidths": 0.8 * width}
        cross: dict[str, Any] = {"c": style.INK, "marker": "x", "linewidths": width}
        if support and is_support.any():
            x, y = points[is_support[shown]].T
            self.ax_.scatter(x, y, s=3.0 * size, zorder=3.5, **ring)
            handles.append(Line2D([], [], ls="", marker="o", mfc="none", mec=style.INK, ms=9, label="support vector"))
        if mistakes and is_mistake.any():
            x, y = points[is_mistake[shown]].T
            self.ax_.scatter(x, y, s=1.3 * size, zorder=4, **cross)
            handles.append(Line2D([], [], ls="", marker="x", color=style.INK, ms=6, mew=1.3, label="mistake"))
        return handles

    def _title(self) -> str:
        n, n_mistakes = len(self.points), int((self.predicted != self.codes).sum())
        title = f"{count(n, 'example')}, {count(n_mistakes, 'mistake')}"
        if len(self.shown_) < n:
            title += f" ({len(self.shown_):,} examples drawn)"
        if self.on_slice is None:
            return f"{title}\n{self.note}" if self.note else title
        elsewhere = count(int((self.on_slice != self.codes).sum()), "example lies", "examples lie")
        title += f"\na slice: {self.note}; {elsewhere} in the region of another class"
        visible = set(np.unique(self.lead.argmax(axis=2)).tolist())
        missing = [style.shorten(label, 18) for k, label in enumerate(self.classes.tolist()) if k not in visible]
        if missing:
            names = ", ".join(missing[:3]) + ", ..." * (len(missing) > 3)
            title += f"; no region of class{'es' * (len(missing) > 1)} {names}"
        return title

    def _label_regions(self) -> None:
        """Write each class's name where its region is widest and free of points; small regions choose first.

        A name that fits nowhere without covering another is shortened, and at last left out.
        """
        ax, winner = self.ax_, self.lead.argmax(axis=2)
        ax.figure.figure.draw_without_rendering()  # a layout that is still to come would move everything
        frame, points = ax.get_window_extent(), self.points[self.shown_]
        cells = (np.searchsorted(self.grid_y, points[:, 1]), np.searchsorted(self.grid_x, points[:, 0]))
        is_free, is_taken = np.ones(winner.shape, bool), np.zeros(winner.shape, bool)
        is_free[tuple(np.minimum(place, side - 1) for place, side in zip(cells, winner.shape, strict=True))] = False
        depths = {
            k: distance_transform_edt(np.pad((winner == k) & is_free, 1))[1:-1, 1:-1]
            for k in np.unique(winner).tolist()
        }
        paper = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.75}
        options: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "fontweight": "bold", "bbox": paper}
        for k, max_length in product(sorted(depths, key=lambda k: float(depths[k].max())), (18, 11, 7)):
            if k not in depths:  # it is placed
                continue
            name = style.shorten(self.classes.tolist()[k], max_length)
            middle = float(self.grid_x.mean()), float(self.grid_y.mean())
            text = ax.text(*middle, name, color=style.INK, zorder=5, **options)
            box = text.get_window_extent().padded(1.5)
            fractions = box.height / frame.height, box.width / frame.width
            size = [int(np.ceil(part * n)) | 1 for part, n in zip(fractions, winner.shape, strict=True)]  # odd
            # outside the frame counts as far outside the region
            fraction = uniform_filter((winner == k).astype(float), size, mode="constant", cval=-1e3)
            is_blocked = maximum_filter(is_taken, size, mode="constant")
            depth = np.where((fraction >= MIN_LABEL_FRACTION) & ~is_blocked, depths[k], 0)
            place = np.unravel_index(depth.argmax(), depth.shape)
            if depth[place] > 0:
                text.set_position((self.grid_x[place[1]], self.grid_y[place[0]]))
                is_taken[tuple(slice(max(0, i - n // 2), i + n // 2 + 1) for i, n in zip(place, size, strict=True))] = (
                    True
                )
                del depths[k]
            else:
                text.remove()


def _predict_codes(estimator: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    codes = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([codes[label] for label in np.asarray(estimator.predict(X)).tolist()], np.intp)


def _leads_on_grid(estimator: Any, plane: "Plane", classes: np.ndarray) -> np.ndarray:
    """Return the leads at the points of the grid, of shape (rows, columns, n_classes).

    They are +1 and -1 where scores are missing or contradict the predictions, as those of one-vs-one may.
    """
    blocks = []
    for rows in plane.grid_rows():
        lead = _leads(estimator, rows, classes)
        if lead is None:
            codes = np.concatenate([_predict_codes(estimator, rows, classes) for rows in plane.grid_rows()])
            blocks = [np.where(np.arange(len(classes)) == codes[:, None], 1.0, -1.0)]
            break
        blocks.append(lead)
    return np.concatenate(blocks).reshape(len(plane.y), len(plane.x), len(classes))


def _leads(estimator: Any, rows: Any, classes: np.ndarray) -> np.ndarray | None:
    """Return the leads by the scores of an estimator; None if they are missing or contradict its predictions."""
    scores = scores_of(estimator, rows)
    if scores is None or (scores.ndim == 1) != (len(classes) == 2) or not np.isfinite(scores).all():
        return None
    lead, codes = leads(scores), _predict_codes(estimator, rows[::CHECK_EVERY], classes)
    return None if (lead[::CHECK_EVERY][np.arange(len(codes)), codes] < 0).any() else lead


def smallest_margin(estimator: Any, X: Any, y: np.ndarray, is_clean: bool) -> tuple[float | None, float | None]:
    """Return the smallest geometric margin of a linear model, and the score of its lines if there is no mistake."""
    try:
        functional, geometric = margins(estimator, check_nonempty_rows(X), y)
        closest = int(np.argmin(geometric))
        return float(geometric[closest]), float(functional[closest]) if is_clean else None
    except (ValueError, TypeError, AttributeError):
        scores = scores_of(estimator, X) if hasattr(estimator, "decision_function") else None
        if scores is None or scores.ndim > 1 or getattr(estimator, "combine", None) == "vote" or not is_clean:
            return None, None
        return None, float(np.abs(scores).min())


def find_support(estimator: Any, X: Any) -> np.ndarray | None:
    """Return which rows of X equal a support vector, or an example that made an update; None if that is unknown.

    Rows are compared by value: `support_` counts rows of the training data, and X may be other data, or in another
    order.
    """
    learner = learner_of(estimator) if isinstance(estimator, Perceptron) else None
    if learner is not None and learner.votes is not None and estimator.combine == "vote":
        vectors = learner.votes.matrix(learner.n_features)
    else:
        vectors = to_host(getattr(estimator, "support_vectors_", None))
    try:
        rows = check_nonempty_rows(X)
    except (ValueError, TypeError):  # texts, for example
        return None
    if (np.ndim(vectors) != 2 and not sp.issparse(vectors)) or rows.shape[1] != vectors.shape[1]:
        return None
    known = set(row_bytes(vectors))
    return np.array([row in known for row in row_bytes(rows.astype(vectors.dtype))], bool)


# ---- the plane


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
