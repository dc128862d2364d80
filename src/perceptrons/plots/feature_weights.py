"""Plots the weights of a linear model: as bars by feature name, or as images if features are pixels."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from perceptrons.plots import layout, style
from perceptrons.plots.model_facts import split_pipeline

CHANNELS = "RdBu_r"  # white at 0; red and blue are distinguished by all but the very few who see no colour at all


class WeightsDisplay:
    """A plot of the most important weights of every class by feature name, or of all weights as one image per class.

    Use it to see the most important features of a linear model. If features have very different scales, standardise
    them first: otherwise a weight says as much about the scale as about the feature.

    Parameters
    ----------
    coef : array of shape (n_rows, n_features)
        One row for two classes, else one row per class, as `coef_`.
    classes : array of shape (n_classes,)
    names : sequence of str, optional
        The names of the features; anything that supports names[column].
    note : str, default=""
        The text of the title.

    Attributes
    ----------
    ax_, axes_, figure_ : the first axes, all of them, and the figure of the last `plot`

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.plots import WeightsDisplay
    >>> X, y = [[3.0, 4.0], [-3.0, -4.0]], ["far", "near"]
    >>> model = Perceptron(max_iter=1, shuffle=False, combine="last").fit(X, y)
    >>> display = WeightsDisplay.from_estimator(model, names=["height", "width"]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['height', 'width']
    """

    def __init__(self, coef: Any, classes: Any, *, names: Any = None, note: str = ""):
        coef = coef.toarray() if sp.issparse(coef) else np.asarray(coef)
        self.coef, self.classes = np.atleast_2d(coef).astype(np.float64), np.asarray(classes)
        self.names, self.note = names, note
        rows, K = len(self.coef), len(self.classes)
        if K < 2 or (rows != K and (rows, K) != (1, 2)):
            raise ValueError(f"coef has {rows} rows for {K} classes: give one row for two classes, else one per class.")
        if names is not None and hasattr(names, "__len__") and len(names) != self.coef.shape[1]:
            raise ValueError(
                f"There are {len(names)} names for {self.coef.shape[1]} features: give one name per feature."
            )
        if not np.isfinite(self.coef).all():
            raise ValueError("The weights contain NaN or infinity.")

    @classmethod
    def from_estimator(cls, estimator: Any, *, names: Any = None) -> "WeightsDisplay":
        """Read the weights of a fitted linear model.

        Parameters
        ----------
        estimator : fitted Perceptron, or any linear classifier with `coef_`, or a pipeline that ends in one
            For voting, the averaged weights are shown.
        names : sequence of str, optional
            The names of the features; by default those of the model or of the pipeline before it.

        Returns
        -------
        WeightsDisplay
        """
        before, model = split_pipeline(estimator)
        check_is_fitted(model)
        kind, voting = type(model).__name__, getattr(model, "combine", None) == "vote"
        coef = getattr(model, "coef_average_" if voting else "coef_", None)
        if coef is None:
            raise ValueError(f"{kind} has no feature weights: use a linear model, or BoundaryDisplay for this one.")
        classes = model.classes_
        form = getattr(getattr(model, "_learner", None), "form", "single")
        if getattr(model, "multiclass", None) == "ovo" and len(classes) > 2:
            raise ValueError(f"This {kind} has weights per pair of classes (one-vs-one): use multiclass='joint'.")
        if len(classes) < 2:
            raise ValueError(
                f"This {kind} knows only the class {np.asarray(classes).tolist()[0]!r}: there is nothing to draw yet."
            )
        if form != "single" and len(coef) == 1:
            raise ValueError("This model has only one label: there are no two classes to compare.")
        return cls(
            coef,
            classes,
            names=_names(before, model) if names is None else names,
            note="averaged weights (the model votes)" if voting else "",
        )

    def plot(
        self, ax: Any = None, *, top: int = 10, image_shape: tuple[int, ...] | None = None
    ) -> "WeightsDisplay":  # fmt: skip
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes, which are divided if there are several panels; by default, a new figure is created.
        top : int, default=10
            The number of bars per class: the weights farthest from 0.
        image_shape : tuple of int, optional
            The rows and columns of the images, if the features are pixels; images are drawn instead of bars.

        Returns
        -------
        self
        """
        if image_shape is None and (isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1):
            raise ValueError(f"top={top!r}: give a whole number of at least 1.")
        with style.context(ax):
            if image_shape is None:
                self._bars(ax, int(top))
            else:
                self._images(ax, image_shape)
            if self.note and ax is None:
                self.figure_.suptitle(self.note, fontsize=10)
            elif self.note:  # the title of the figure belongs to others
                where = "center" if self.ax_.get_title(loc="center") else "left"
                own = self.ax_.get_title(loc=where)
                self.ax_.set_title("\n".join(filter(None, [self.note, own])), loc=where, fontsize=9.5)
        return self

    def heaviest(self, row: int, top: int) -> np.ndarray:
        """The columns of the weights of a row farthest from 0, from the largest weight to the smallest; none is 0."""
        w = self.coef[row]
        order = np.argsort(-np.abs(w), kind="stable")[:top]
        order = order[w[order] != 0]
        return order[np.argsort(-w[order], kind="stable")]

    def _name(self, column: int) -> str:
        return f"x{column}" if self.names is None else str(self.names[column])

    def _bars(self, ax: Any, top: int) -> None:
        rows, labels = len(self.coef), [style.shorten(label, 22) for label in self.classes.tolist()]
        tallest = max(len(self.heaviest(row, top)) for row in range(rows))
        if rows == 1:
            self.figure_, self.ax_ = style.figure_and_axes(ax, (6.4, 1.3 + 0.26 * max(tallest, 3)))
            self.axes_ = np.array([self.ax_])
            letters = layout.letters_across(self.ax_, 9.0)
            self._panel(self.ax_, 0, top, int(np.clip(0.4 * letters, 8, 30)))
            first, second = (
                style.shorten(label, int(np.clip(0.14 * letters, 5, 22))) for label in self.classes.tolist()
            )
            between = "    weight    " if letters > 60 else "    "
            self.ax_.set_xlabel(f"←  {first}{between}{second}  →")
            return
        columns = min(rows, 3 if rows <= 9 else 4)
        lines = -(-rows // columns)
        size = (2.9 * columns, lines * (0.75 + 0.2 * max(tallest, 3)))
        self._grid(ax, lines, columns, size)
        reach = 1.05 * (np.abs(self.coef).max() or 1.0)
        for row, panel in enumerate(self.axes_):
            self._panel(panel, row, top, int(np.clip(0.45 * layout.letters_across(panel, 7.5), 6, 16)))
            panel.set_title(labels[row], fontsize=9.5)
            panel.tick_params(labelsize=7.5)
            panel.set_xlim(-reach, reach)
            if row < rows - columns:
                panel.tick_params(labelbottom=False)
            else:
                panel.set_xlabel("weight", fontsize=8.5)

    def _grid(self, ax: Any, lines: int, columns: int, size: tuple[float, float]) -> list[Any]:
        """A panel for every row of the weights; those of the grid that are left are blank. Returns all."""
        self.figure_, grid = style.panels(ax, lines, columns, size)
        panels = list(grid.ravel())
        self.axes_, self.ax_ = grid.ravel()[: len(self.coef)], panels[0]
        for panel in panels[len(self.coef) :]:
            panel.set_axis_off()
        return panels

    def _panel(self, ax: Any, row: int, top: int, width: int) -> None:
        chosen = self.heaviest(row, top)
        w, places = self.coef[row, chosen], np.arange(len(chosen))
        looks = [(w > 0, style.COLOURS[1 if len(self.coef) == 1 else 0], ""), (w < 0, style.COLOURS[0], style.HATCH)]
        if len(self.coef) > 1:
            looks[1] = (w < 0, style.COLOURS[1], style.HATCH)
        for part, colour, hatch in looks:
            ax.barh(places[part], w[part], height=0.72, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
        ax.axvline(0, color=style.INK, lw=0.8)
        ax.set_yticks(places, [style.shorten(self._name(int(column)), width) for column in chosen])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_ylim(max(len(chosen), 1) - 0.4, -0.6)
        ax.locator_params(axis="x", nbins=5 if len(self.coef) == 1 else 3)
        if not len(chosen):
            ax.text(0.5, 0.5, "all weights are 0", ha="center", va="center", transform=ax.transAxes, color=style.PALE)

    def _images(self, ax: Any, image_shape: tuple[int, ...]) -> None:
        shape = tuple(int(side) for side in image_shape)
        if len(shape) != 2 or shape[0] * shape[1] != self.coef.shape[1]:
            raise ValueError(
                f"image_shape={image_shape!r} does not have as many pixels as there are features, {self.coef.shape[1]}."
            )
        rows = len(self.coef)
        columns = min(rows, 5)
        lines = -(-rows // columns)
        tall = min(2.0, max(0.6, shape[0] / shape[1]))
        size = (max(3.4, 1.45 * columns + 0.9), max(2.4, lines * (1.4 * tall + 0.3)))
        panels = self._grid(ax, lines, columns, size)
        reach = float(np.abs(self.coef).max()) or 1.0
        for row, panel in enumerate(self.axes_):
            image = panel.imshow(
                self.coef[row].reshape(shape), cmap=CHANNELS, vmin=-reach, vmax=reach, interpolation="nearest"
            )
            label = self.classes.tolist()[row if rows > 1 else 1]
            panel.set_title(style.shorten(label, 14), fontsize=9.5, loc="center")
            panel.set_xticks([])
            panel.set_yticks([])
            for side in panel.spines.values():
                side.set_visible(True)
                side.set_linewidth(0.6)
        first, second = (style.shorten(label, 14) for label in self.classes.tolist()[:2])
        if rows == 1:
            self.ax_.set_title(f"red: {second}, blue: {first}", fontsize=9.5, loc="center")
        bar = self.figure_.colorbar(image, ax=panels, shrink=0.85, aspect=25, label="weight")
        bar.outline.set_visible(False)
        self.colorbar_ = bar


def _names(before: Any, model: Any) -> Any:
    """The names that a pipeline or a model knows its features by, or None."""
    if before is not None:
        try:
            return list(before.get_feature_names_out())
        except (AttributeError, ValueError):
            return None
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)
