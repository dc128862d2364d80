"""Plots the decision boundary of a classifier in the plane of two features."""

from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from scipy.ndimage import distance_transform_edt

from perceptrons.engine.training.votes import Votes
from perceptrons.engine.wording import count
from perceptrons.kernel.arrays import to_host
from perceptrons.plots import layout, style
from perceptrons.plots.model_facts import feature_names, fitted_classes, leads, nameless, rows_of, scores_of
from perceptrons.plots.plane import Plane, choose_features, plane_of
from perceptrons.theory import margins
from perceptrons.theory.duplicates import row_bytes
from perceptrons.theory.examples import codes_among

MOST_POINTS = 5000  # drawn; more would hide each other
ASKED = 37  # one in 37 points of the grid is predicted twice: by its scores and by its class
LABELLED = 400  # points of a region at which its label may stand


class BoundaryDisplay:
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
    @nameless()
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

        Returns
        -------
        BoundaryDisplay
        """
        classes = fitted_classes(estimator)
        if getattr(estimator, "kernel", None) == "precomputed":
            raise ValueError(
                "A model with a precomputed kernel has no features to draw: fit it with a kernel by name or function."
            )
        plane = plane_of(X, choose_features(X, features, feature_names(estimator, X)), held, resolution)
        codes = codes_among(y, plane.n, classes)
        places = {label: place for place, label in enumerate(classes.tolist())}
        predicted = _numbers(estimator.predict(X), places)
        lead = _lead(estimator, plane, classes, places)
        found = (
            smallest_margin(estimator, X, codes, classes, predicted, plane)
            if margin and len(classes) == 2
            else (None, None)
        )
        on_slice = None
        if plane.others:
            on_slice = np.concatenate([_numbers(estimator.predict(rows), places) for rows in plane.examples()])
        return cls(
            plane.x,
            plane.y,
            lead,
            classes,
            plane.points,
            codes,
            predicted,
            support=support_of(estimator, X),
            margin=found[0],
            level=found[1],
            names=plane.names if names is None else (str(names[plane.features[0]]), str(names[plane.features[1]])),
            note=plane.note,
            on_slice=on_slice,
        )

    def plot(
        self, ax: Any = None, *, mistakes: bool = True, support: bool = True, margin: bool = True, legend: bool = True,
        labels: bool = True,
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

        Returns
        -------
        self
        """
        with style.context(ax):
            wide = 6.4 if len(self.classes) <= 12 else 8.4
            self.figure_, self.ax_ = style.figure_and_axes(ax, (wide, 4.4))
            self._regions()
            handles = self._boundary(margin)
            handles = self._points(mistakes, support) + handles
            ax = self.ax_
            layout.label_below(ax, style.shorten(self.names[0], 40))
            ax.set_ylabel(style.shorten(self.names[1], 40))
            ax.set_xlim(self.grid_x[0], self.grid_x[-1])
            ax.set_ylim(self.grid_y[0], self.grid_y[-1])
            ratio = np.ptp(self.grid_x) / np.ptp(self.grid_y)
            if 0.5 <= ratio <= 2 and not self.note:
                ax.set_aspect("equal")  # so that a margin is drawn at right angles to its boundary
            layout.title(ax, self._title())
            if legend:
                layout.legend_beside(ax, handles, [handle.get_label() for handle in handles], 14)
            if labels:
                self._label_regions()
        return self

    def _regions(self) -> None:
        """A pale area a class: the grid's cells below, and smooth edges above them."""
        winner = self.lead.argmax(axis=2)
        present = np.unique(winner).tolist()
        image = np.array([style.tint(k) for k in range(len(self.classes))])[winner]
        half_x, half_y = (np.diff(grid).mean() / 2 for grid in (self.grid_x, self.grid_y))
        box = (self.grid_x[0] - half_x, self.grid_x[-1] + half_x, self.grid_y[0] - half_y, self.grid_y[-1] + half_y)
        self.ax_.imshow(image, extent=box, origin="lower", aspect="auto", interpolation="nearest", zorder=0)
        for k in present if len(present) > 1 else []:
            lead = self.lead[:, :, k]
            if not lead.max() > 0:  # it only wins ties
                continue
            self.ax_.contourf(
                self.grid_x, self.grid_y, lead, levels=[0, lead.max()], colors=[style.tint(k)], zorder=0.5
            )

    def _boundary(self, margin: bool) -> list[Any]:
        handles: list[Any] = []
        for k in range(1 if len(self.classes) == 2 else 0, len(self.classes)):
            lead = self.lead[:, :, k]
            if lead.min() < 0 < lead.max():
                self.ax_.contour(
                    self.grid_x, self.grid_y, lead, levels=[0], colors=[style.INK], linewidths=1.3, zorder=1
                )
        if margin and self.level is None and self.margin is not None:
            handles.append(Line2D([], [], ls="", label=f"smallest margin γ = {style.number(self.margin)}"))
        elif margin and self.level is not None and len(self.classes) == 2:
            lead = self.lead[:, :, 1]
            at = sorted({level for level in (-self.level, self.level) if lead.min() < level < lead.max()})
            if at:
                self.ax_.contour(
                    self.grid_x, self.grid_y, lead, levels=at, colors=[style.INK], linewidths=1.0, linestyles="--",
                    zorder=1,
                )  # fmt: skip
            what = "smallest score" if self.margin is None else f"smallest margin γ = {style.number(self.margin)}"
            handles.append(Line2D([], [], color=style.INK, lw=1.0, ls="--", label=what))
        return handles

    def _points(self, mistakes: bool, support: bool) -> list[Any]:
        wrong = self.predicted != self.codes
        held = np.zeros(len(wrong), bool) if self.support is None else self.support
        shown = self.shown_ = style.thinned(len(self.points), MOST_POINTS, wrong | held)
        ax, points = self.ax_, self.points[shown]
        size, line = (30.0, 1.3) if len(shown) <= 500 else (20.0, 1.2) if len(shown) <= 1500 else (9.0, 0.6)
        labels = [style.shorten(label) for label in self.classes.tolist()]
        handles = style.scatter_classes(ax, points, self.codes[shown], labels, size, absent=len(labels) <= 20)
        if support and held.any():
            ringed = points[held[shown]]
            ring = {"facecolors": "none", "edgecolors": style.INK, "linewidths": 0.8 * line}
            ax.scatter(ringed[:, 0], ringed[:, 1], s=3.0 * size, zorder=3.5, **ring)
            handles.append(Line2D([], [], ls="", marker="o", mfc="none", mec=style.INK, ms=9, label="support vector"))
        if mistakes and wrong.any():
            crossed = points[wrong[shown]]
            ax.scatter(crossed[:, 0], crossed[:, 1], s=1.3 * size, c=style.INK, marker="x", linewidths=line, zorder=4)
            handles.append(Line2D([], [], ls="", marker="x", color=style.INK, ms=6, mew=1.3, label="mistake"))
        return handles

    def _title(self) -> str:
        n, wrong = len(self.points), int((self.predicted != self.codes).sum())
        title = f"{count(n, 'example')}, {count(wrong, 'mistake')}"
        if len(self.shown_) < n:
            title += f" ({len(self.shown_):,} examples drawn)"
        if self.on_slice is None:
            return f"{title}\n{self.note}" if self.note else title
        elsewhere = count(int((self.on_slice != self.codes).sum()), "example lies", "examples lie")
        title += f"\na slice: {self.note}; {elsewhere} in the region of another class"
        present = set(np.unique(self.lead.argmax(axis=2)).tolist())
        missing = [style.shorten(label, 18) for k, label in enumerate(self.classes.tolist()) if k not in present]
        if missing:
            some = ", ".join(missing[:3]) + ", ..." * (len(missing) > 3)
            title += f"; no region of class{'es' * (len(missing) > 1)} {some}"
        return title

    def _label_regions(self) -> None:
        """Each class's name where its region is widest and free of points; small regions choose first."""
        winner = self.lead.argmax(axis=2)
        free = np.ones(winner.shape, bool)
        shown = self.points[self.shown_]
        column, row = np.searchsorted(self.grid_x, shown[:, 0]), np.searchsorted(self.grid_y, shown[:, 1])
        free[np.clip(row, 0, len(free) - 1), np.clip(column, 0, free.shape[1] - 1)] = False
        candidates, names, room, ids = [], [], [], []
        for k in np.unique(winner).tolist():
            own = winner == k
            depth = distance_transform_edt(np.pad(own & free, 1))[1:-1, 1:-1]
            order = np.argsort(-depth, axis=None, kind="stable")[: int(own.sum())]
            order = order[:: max(1, len(order) // LABELLED)]
            row, column = np.unravel_index(order, depth.shape)
            candidates.append(np.stack([self.grid_x[column], self.grid_y[row]], axis=1))
            names.append(style.shorten(self.classes.tolist()[k], 18))
            ids.append(k)
            room.append(depth.max())
        first = np.argsort(room, kind="stable")
        font: dict[str, Any] = {"fontsize": 9, "fontweight": "bold", "zorder": 5}
        font["bbox"] = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.75}

        def share(i: int, points: np.ndarray) -> float:
            column, row = np.searchsorted(self.grid_x, points[:, 0]), np.searchsorted(self.grid_y, points[:, 1])
            row, column = np.clip(row, 0, len(winner) - 1), np.clip(column, 0, winner.shape[1] - 1)
            return float((winner[row, column] == ids[first[i]]).mean())

        layout.place_labels(self.ax_, [names[i] for i in first], [candidates[i] for i in first], share, **font)


def _numbers(labels: Any, places: dict[Any, int]) -> np.ndarray:
    return np.array([places[label] for label in np.asarray(labels).tolist()], np.intp)


def _lead(estimator: Any, plane: Plane, classes: np.ndarray, places: dict[Any, int]) -> np.ndarray:
    """The leads on the plane; +1 and -1 where scores are missing or do not say what is predicted.

    Ties aside, whoever leads must be who is predicted, and one-vs-one classifiers may decide otherwise: some are asked.
    """
    blocks = []
    for rows in plane.blocks():
        scores = scores_of(estimator, rows)
        lead = None
        if scores is not None and (scores.ndim == 1) == (len(classes) == 2) and np.isfinite(scores).all():
            lead = leads(scores)
            some = slice(None, None, ASKED)
            winner = _numbers(estimator.predict(rows[some]), places)
            if (lead[some][np.arange(len(winner)), winner] < 0).any():
                lead = None
        if lead is None:
            return _plain_lead(estimator, plane, classes, places)
        blocks.append(lead)
    return np.concatenate(blocks).reshape(len(plane.y), len(plane.x), len(classes))


def _plain_lead(estimator: Any, plane: Plane, classes: np.ndarray, places: dict[Any, int]) -> np.ndarray:
    winner = np.concatenate([_numbers(estimator.predict(rows), places) for rows in plane.blocks()])
    lead = np.where(np.arange(len(classes)) == winner[:, None], 1.0, -1.0)
    return lead.reshape(len(plane.y), len(plane.x), len(classes))


def smallest_margin(
    estimator: Any, X: Any, codes: np.ndarray, classes: np.ndarray, predicted: np.ndarray, plane: Plane
) -> tuple[float | None, float | None]:
    """The smallest geometric margin, where the model is a line, and the score of its lines, if there is no mistake."""
    is_clean = bool((predicted == codes).all())
    if plane.others:
        return None, None
    try:
        functional, geometric = margins(estimator, rows_of(X), classes[codes])
        closest = int(np.argmin(geometric))
        return float(geometric[closest]), float(functional[closest]) if is_clean else None
    except (ValueError, TypeError, AttributeError):
        scores = scores_of(estimator, X) if hasattr(estimator, "decision_function") else None
        if scores is None or scores.ndim > 1 or getattr(estimator, "combine", None) == "vote" or not is_clean:
            return None, None
        return None, float(np.abs(scores).min())


def support_of(estimator: Any, X: Any) -> np.ndarray | None:
    """Which rows of X are equal to examples that support the model: those a kernel model keeps, or that made updates.

    None where the model has none, or none that rows could be compared with. Where they were in the training data
    (`support_`) does not help: X may be other data, or in another order.
    """
    learner: Any = getattr(estimator, "_learner", None)
    votes = getattr(learner, "votes", None)
    if isinstance(votes, Votes) and getattr(estimator, "combine", None) == "vote":
        kept = votes.matrix(learner.n_features)
    else:
        kept = to_host(getattr(estimator, "support_vectors_", None))
    if kept is None or len(getattr(kept, "shape", ())) != 2:
        return None
    try:
        rows = rows_of(X)
    except (ValueError, TypeError):
        return None
    if rows.shape[1] != kept.shape[1]:
        return None
    known = set(row_bytes(kept))
    return np.array([row in known for row in row_bytes(rows.astype(kept.dtype))], bool)
