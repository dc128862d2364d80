"""Plots the weights of a linear model: as bars by feature name, or as images if features are pixels."""

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from perceptrons.inspection.evaluation import several_labels
from perceptrons.inspection.weights import heaviest
from perceptrons.plots import style
from perceptrons.plots.model_facts import feature_names, require_two_classes, split_pipeline

COLORMAP = "RdBu_r"  # white at 0; red and blue are distinguished by all but the very few who see no colour at all


class WeightsDisplay(style.Display):
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
        n_rows, n_classes = len(self.coef), len(self.classes)
        if n_classes < 2 or (n_rows != n_classes and (n_rows, n_classes) != (1, 2)):
            raise ValueError(
                f"coef has {n_rows} rows for {n_classes} classes: give one row for two classes, else one per class."
            )
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
        """
        transformer, model = split_pipeline(estimator)
        check_is_fitted(model)
        name, is_vote = type(model).__name__, getattr(model, "combine", None) == "vote"
        coef = getattr(model, "coef_average_" if is_vote else "coef_", None)
        if coef is None:
            raise ValueError(f"{name} has no feature weights: use a linear model, or BoundaryDisplay for this one.")
        if getattr(model, "multiclass", None) == "ovo" and len(model.classes_) > 2:
            raise ValueError(f"This {name} has weights per pair of classes (one-vs-one): use multiclass='joint'.")
        require_two_classes(model)
        if several_labels(model) and len(coef) == 1:
            raise ValueError("This model has only one label: there are no two classes to compare.")
        if names is None and transformer is not None:
            with suppress(AttributeError, ValueError):
                names = list(transformer.get_feature_names_out())
        elif names is None:
            names = feature_names(model)
        return cls(coef, model.classes_, names=names, note="averaged weights (the model votes)" if is_vote else "")

    def plot(
        self, ax: Axes | None = None, *, top: int = 10, image_shape: tuple[int, ...] | None = None
    ) -> "WeightsDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes, which are divided if there are several panels; by default, a new figure is created.
        top : int, default=10
            The number of bars per class: the weights farthest from 0.
        image_shape : tuple of int, optional
            The rows and columns of the images, if the features are pixels; images are drawn instead of bars.
        """
        if image_shape is None and (isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1):
            raise ValueError(f"top={top!r}: give a whole number of at least 1.")
        with style.style_context(ax):
            if image_shape is not None:
                self._draw_images(ax, image_shape)
            elif len(self.coef) == 1:
                self._draw_single_panel(ax, int(top))
            else:
                self._draw_bar_panels(ax, int(top))
            if self.note and ax is None:
                self.figure_.suptitle(self.note, fontsize=10)
            elif self.note:  # the title of the figure belongs to others
                location: Any = "center" if self.ax_.get_title(loc="center") else "left"
                title = "\n".join(filter(None, [self.note, self.ax_.get_title(loc=location)]))
                self.ax_.set_title(title, loc=location, fontsize=9.5)
        return self

    def heaviest(self, row: int, top: int) -> np.ndarray:
        """The columns of the weights of a row farthest from 0, from the largest weight to the smallest; none is 0."""
        columns = np.array(heaviest(self.coef[row], top), np.intp)
        return columns[np.argsort(-self.coef[row, columns], kind="stable")]

    def _labels(self, max_length: int) -> list[str]:
        return [style.shorten(label, max_length) for label in self.classes.tolist()]

    def _max_bars(self, top: int) -> int:
        return max(3, *(len(self.heaviest(row, top)) for row in range(len(self.coef))))

    def _draw_single_panel(self, ax: Axes | None, top: int) -> None:
        self.figure_, ax = style.get_axes(ax, (6.4, 1.3 + 0.26 * self._max_bars(top)))
        self.axes_, self.ax_ = np.array([ax]), ax
        n_characters = style.characters_across(ax, 9.0)
        self._draw_bars(ax, 0, top, int(np.clip(0.4 * n_characters, 8, 30)))
        first, second = self._labels(int(np.clip(0.14 * n_characters, 5, 22)))
        ax.set_xlabel(f"←  {first}{'    weight    ' if n_characters > 60 else '    '}{second}  →")

    def _draw_bar_panels(self, ax: Axes | None, top: int) -> None:
        n_rows = len(self.coef)
        n_columns = min(n_rows, 3 if n_rows <= 9 else 4)
        n_lines = -(-n_rows // n_columns)
        self._make_panels(ax, n_lines, n_columns, (2.9 * n_columns, n_lines * (0.75 + 0.2 * self._max_bars(top))))
        largest = 1.05 * (np.abs(self.coef).max() or 1.0)
        for row, (panel, label) in enumerate(zip(self.axes_, self._labels(22), strict=True)):
            self._draw_bars(panel, row, top, int(np.clip(0.45 * style.characters_across(panel, 7.5), 6, 16)))
            panel.set_title(label, fontsize=9.5)
            panel.tick_params(labelsize=7.5)
            panel.set_xlim(-largest, largest)
            if row < n_rows - n_columns:
                panel.tick_params(labelbottom=False)
            else:
                panel.set_xlabel("weight", fontsize=8.5)

    def _make_panels(self, ax: Axes | None, n_lines: int, n_columns: int, size: tuple[float, float]) -> list[Axes]:
        """Make a panel for every row of the weights; return all of the grid, also those that stay blank."""
        self.figure_, grid = style.get_panels(ax, n_lines, n_columns, size)
        panels: list[Axes] = list(grid.ravel())
        self.axes_, self.ax_ = grid.ravel()[: len(self.coef)], panels[0]
        for panel in panels[len(self.coef) :]:
            panel.set_axis_off()
        return panels

    def _draw_bars(self, ax: Axes, row: int, top: int, max_name_length: int) -> None:
        columns = self.heaviest(row, top)
        w, y = self.coef[row, columns], np.arange(len(columns))
        negative, positive = style.COLORS[:2] if len(self.coef) == 1 else style.COLORS[1::-1]
        for bars, color, hatch in ((w > 0, positive, ""), (w < 0, negative, style.HATCH)):
            ax.barh(y[bars], w[bars], height=0.72, color=color, hatch=hatch, edgecolor="white", linewidth=0)
        ax.axvline(0, color=style.INK, lw=0.8)
        names = [f"x{column}" if self.names is None else str(self.names[column]) for column in columns.tolist()]
        ax.set_yticks(y, [style.shorten(name, max_name_length) for name in names])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_ylim(max(len(columns), 1) - 0.4, -0.6)
        ax.locator_params(axis="x", nbins=5 if len(self.coef) == 1 else 3)
        if not len(columns):
            options: dict[str, Any] = {"ha": "center", "va": "center", "color": style.PALE_INK}
            ax.text(0.5, 0.5, "all weights are 0", transform=ax.transAxes, **options)

    def _draw_images(self, ax: Axes | None, image_shape: tuple[int, ...]) -> None:
        shape = tuple(int(side) for side in image_shape)
        if len(shape) != 2 or shape[0] * shape[1] != self.coef.shape[1]:
            raise ValueError(
                f"image_shape={image_shape!r} does not have as many pixels as there are features, {self.coef.shape[1]}."
            )
        n_columns = min(len(self.coef), 5)
        n_lines, aspect = -(-len(self.coef) // n_columns), min(2.0, max(0.6, shape[0] / shape[1]))
        size = max(3.4, 1.45 * n_columns + 0.9), max(2.4, n_lines * (1.4 * aspect + 0.3))
        panels = self._make_panels(ax, n_lines, n_columns, size)
        largest = float(np.abs(self.coef).max()) or 1.0
        labels = self._labels(14)
        for weights, label, panel in zip(self.coef, labels, self.axes_, strict=False):
            image = panel.imshow(weights.reshape(shape), COLORMAP, vmin=-largest, vmax=largest, interpolation="nearest")
            title = label if len(self.coef) > 1 else f"red: {labels[1]}, blue: {labels[0]}"
            panel.set_title(title, fontsize=9.5, loc="center")
            panel.set(xticks=[], yticks=[])
            panel.spines[:].set(visible=True, linewidth=0.6)
        self.colorbar_ = self.figure_.colorbar(image, ax=panels, shrink=0.85, aspect=25, label="weight")
        self.colorbar_.outline.set_visible(False)
