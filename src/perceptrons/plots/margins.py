"""Plots the distribution of margins: which examples are right by a large margin, by a small one, or wrong."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from perceptrons.engine.wording import count
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.plots import style
from perceptrons.plots.model_facts import (
    fitted_classes,
    require_rows,
    scores_of,
    split_pipeline,
)
from perceptrons.theory import margins as theory_margins
from perceptrons.theory.examples import codes_among
from perceptrons.theory.geometry import true_lead

MAX_BINS = 40
MAX_STEPS = 2000  # of the cumulative curve; more cannot be seen


class MarginsDisplay(style.Display):
    """A histogram of the margins of examples, and the share of examples below each; mistakes are left of 0.

    Use it to see how safe correct predictions are and how wrong mistakes are, for any number of features and classes.
    Do not use it to compare models with differently scaled features.

    Parameters
    ----------
    margins : array of shape (n_examples,)
        Positive where the model is right.
    geometric : bool, default=True
        Whether the margins are distances, in units of the features, or differences of scores.

    Attributes
    ----------
    ax_, axes_, figure_ : the first axes, both, and the figure of the last `plot`

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.plots import MarginsDisplay
    >>> X, y = [[3.0, 4.0], [-3.0, -4.0], [0.0, 0.5]], ["far", "near", "near"]
    >>> model = Perceptron(max_iter=1, shuffle=False, combine="last").fit(X, y)
    >>> display = MarginsDisplay.from_estimator(model, X, y).plot()
    >>> display.margins.round(3), display.smallest
    (array([ 4.989,  4.989, -0.38 ]), 2)
    """

    def __init__(self, margins: Any, *, geometric: bool = True):
        self.margins, self.geometric = np.asarray(margins, np.float64), geometric
        if self.margins.ndim != 1 or not len(self.margins):
            raise ValueError(
                f"margins has the shape {self.margins.shape}: give one number per example, and at least one example."
            )
        if not np.isfinite(self.margins).all():
            raise ValueError("The margins contain NaN or infinity.")
        self.numbers = np.arange(len(self.margins))  # of the examples, if these are some of more

    @property
    def smallest(self) -> int:
        """The example with the smallest margin."""
        return int(self.numbers[self.margins.argmin()])

    @classmethod
    @columns_matched()
    def from_estimator(cls, estimator: Any, X: Any, y: Any) -> "MarginsDisplay":
        """Compute the margins of examples.

        Parameters
        ----------
        estimator : fitted classifier
            For a linear model, the geometric margins (`theory.margins`) in its own features. For other models and for
            votes, by how much the score of the true class leads.
        X, y : as in `fit`
        """
        classes = fitted_classes(estimator)
        codes = codes_among(y, require_rows(X), classes)
        transformer, model = split_pipeline(estimator)
        is_linear = hasattr(model, "coef_") and not hasattr(model, "support_vectors_")
        if is_linear and getattr(model, "multiclass", None) != "ovo":
            features = X if transformer is None else transformer.transform(X)
            return cls(theory_margins(model, features, classes[codes]).geometric)
        scores = scores_of(estimator, X)
        if scores is None:
            raise ValueError(f"{type(estimator).__name__} has no scores, only predictions: they have no margin.")
        return cls(true_lead(scores, codes), geometric=False)

    @classmethod
    def from_predictions(cls, y_true: Any, scores: Any, *, classes: Any = None) -> "MarginsDisplay":
        """Compute the margins from given scores: by how much the true class leads its best rival.

        Parameters
        ----------
        y_true : array of shape (n_examples,)
        scores : array of shape (n_examples,) or (n_examples, n_classes)
            As `decision_function` gives them.
        classes : array, optional
            The classes of the scores; by default the sorted labels of y_true.
        """
        scores = np.asarray(scores, np.float64)
        labels = np.unique(np.asarray(y_true)) if classes is None else np.asarray(classes)
        n_classes = 2 if scores.ndim == 1 else scores.shape[-1]
        if scores.ndim not in (1, 2) or n_classes < 2 or len(labels) != n_classes:
            raise ValueError(
                f"scores of the shape {scores.shape} do not match {len(labels)} classes: give (n,) for two classes, "
                "else (n, n_classes); and classes=... if y_true does not contain all of them."
            )
        return cls(true_lead(scores, codes_among(y_true, len(scores), labels)), geometric=False)

    def plot(self, ax: Axes | None = None, *, bins: int | None = None) -> "MarginsDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes, which are divided into two panels; by default, a new figure is created.
        bins : int, optional
            The approximate number of bars; by default, it depends on the number of examples. One bar ends at 0.
        """
        with self._panels(ax, 2, (6.4, 4.2), heights=(3, 2)) as (upper, lower):
            self._draw_histogram(upper, bins)
            self._draw_cumulative_curve(lower)
            unit = "distance to the decision boundary" if self.geometric else "lead of the true class's score"
            style.set_xlabel(lower, f"margin ({unit})")
            n, n_mistakes = len(self.margins), int((self.margins <= 0).sum())
            median = style.format_number(float(np.median(self.margins)))
            wrong = f"{n_mistakes:,} wrong ({n_mistakes / n:.1%})"
            style.set_title(upper, f"{count(n, 'example')}, {wrong}\nmedian margin {median}")
        return self

    def edges(self, bins: int | None = None) -> np.ndarray:
        """The edges of the bars, all of one width; 0 is one of them."""
        low, high = min(0.0, float(self.margins.min())), max(0.0, float(self.margins.max()))
        if bins is None:
            bins = int(np.clip(2 * len(self.margins) ** (1 / 3), 5, MAX_BINS))
        elif isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 1 <= bins <= 1000:
            raise ValueError(f"bins={bins!r}: give a whole number of 1 to 1000.")
        if low == high:  # all are 0
            return np.array([-1.0, 0.0])
        width = (high - low) / bins
        first = np.floor(low / width) - (self.margins == 0).any() * (low == 0)  # a bar for those at 0
        return width * np.arange(first, np.ceil(high / width) + 1)

    def _draw_histogram(self, ax: Axes, bins: int | None) -> None:
        edges = self.edges(bins)
        # a margin of exactly 0 is a mistake, and belongs to the bar that ends there
        bar = np.clip(np.searchsorted(edges, self.margins, side="left") - 1, 0, len(edges) - 2)
        self.counts_ = counts = np.bincount(bar, minlength=len(edges) - 1)
        width = edges[1] - edges[0]
        is_wrong = edges[1:] <= width / 2
        handles: list[Patch | Line2D] = []
        for label, bars, color, hatch in (
            ("right", ~is_wrong, style.CORRECT_COLOR, None),
            ("wrong", is_wrong, style.MISTAKE_COLOR, style.HATCH),
        ):
            if bars.any():
                options: dict[str, Any] = {"color": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0.6}
                ax.bar(edges[:-1][bars], counts[bars], width, align="edge", **options)
                handles.append(Patch(facecolor=color, hatch=hatch, edgecolor="white" if hatch else None, label=label))
        handles.append(self._mark_smallest(ax))
        ax.set(ylabel="examples", ylim=(0, 1.08 * counts.max()))
        style.add_legend(ax, handles)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
        ax.yaxis.set_major_formatter("{x:,.0f}")

    def _draw_cumulative_curve(self, ax: Axes) -> None:
        n = len(self.margins)
        steps = np.unique(np.linspace(0, n - 1, MAX_STEPS).astype(int))
        ax.step(np.sort(self.margins)[steps], (steps + 1) / n, where="post", color=style.INK, lw=1.4)
        self._mark_smallest(ax)
        ax.set(ylim=(0, 1.04), ylabel="share\nbelow")
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))

    def _mark_smallest(self, ax: Axes) -> Line2D:
        """Draw lines at the smallest margin and at 0, and return the handle of the former."""
        smallest = float(self.margins.min())
        label = f"smallest: {style.format_number(smallest)}\n(example {self.smallest:,})"
        line = ax.axvline(smallest, color=style.COLORS[3], ls="--", lw=1.6, label=label)
        ax.axvline(0, color=style.INK, lw=1.0)
        return line
