"""Plots the training history: mistakes by epoch, the mistake bound, loss and held-out accuracy."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.wording import STOP_REASONS, count
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.plots import style
from perceptrons.plots.model_facts import split_pipeline
from perceptrons.theory import Bound, check_bound

MAX_MARKED_EPOCHS = 40  # more are drawn as a line without markers
LOG_SCALE_RATIO = 5.0  # of the bound to the updates; beyond it everything else would look flat


class HistoryDisplay(style.Display):
    """A plot of the training history: mistakes, loss and held-out accuracy by epoch, and the mistake bound.

    Use it to see whether training stopped too early, overfitted or could not converge, and how far it stayed below the
    mistake bound. Models that were trained only by `partial_fit` have no epochs.

    Parameters
    ----------
    epochs, mistakes : arrays of shape (n_epochs,)
    updates, loss, accuracy : arrays of shape (n_epochs,), optional
        Updates are drawn if there are more than mistakes; the loss is that of the epoch; accuracy is that on held-out
        examples, NaN if it was not measured.
    stop_reason : str, optional
    bound : Bound or int, optional
        The mistake bound, a line in the panel of all updates so far.

    Attributes
    ----------
    ax_, axes_, figure_ : the first axes, all of them, and the figure of the last `plot`

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.plots import HistoryDisplay
    >>> X, y = [[0.0, 2.0], [0.0, -2.0], [1.0, 2.0]], ["up", "down", "up"]
    >>> display = HistoryDisplay.from_estimator(Perceptron(margin=0, intercept_scaling=1).fit(X, y), X, y).plot()
    >>> display.bound, display.mistakes
    (1, array([1, 0]))
    """

    def __init__(
        self, epochs: Any, mistakes: Any, *, updates: Any = None, loss: Any = None, accuracy: Any = None,
        stop_reason: str | None = None, bound: Any = None,
    ):  # fmt: skip
        self.epochs, self.mistakes = np.asarray(epochs), np.asarray(mistakes)
        self.updates = self.mistakes if updates is None else np.asarray(updates)
        self.loss = None if loss is None else np.asarray(loss, np.float64)
        self.accuracy = None if accuracy is None else np.asarray(accuracy, np.float64)
        self.stop_reason, self.bound = stop_reason, _check_bound(bound)
        for name in ("mistakes", "updates", "loss", "accuracy"):
            values = getattr(self, name)
            if values is not None and values.shape != self.epochs.shape:
                raise ValueError(
                    f"{name} has the shape {values.shape}, but epochs has {self.epochs.shape}: "
                    "give one value per epoch."
                )
        if not len(self.epochs):
            raise ValueError("There are no epochs to draw.")

    @classmethod
    @columns_matched()
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, bound: Any = None, max_seconds: float | None = 10.0
    ) -> "HistoryDisplay":
        """Read the training history of a fitted model.

        Parameters
        ----------
        estimator : fitted Perceptron, KernelPerceptron or other model with `history_`, or a pipeline that ends in one
        X, y : optional
            All training examples of a `Perceptron`, to compute the bound with `theory.check_bound`. Data that are not
            separable have no bound.
        bound : Bound or int, optional
            A bound that is already known.
        max_seconds : float or None, default=10.0
            The time limit for computing the bound.
        """
        transformer, model = split_pipeline(estimator)
        check_is_fitted(model)
        history = getattr(model, "history_", None)
        if not history:
            reason = "was trained by partial_fit, which has no epochs" if history is not None else "has no history_"
            raise ValueError(f"This {type(model).__name__} {reason}: use a Perceptron after fit.")
        if X is not None and y is None:
            raise ValueError("X without y: give both to compute the bound, or neither.")
        if X is not None and bound is None:
            features = X if transformer is None else transformer.transform(X)
            check = check_bound(model, features, y, max_seconds=max_seconds)
            bound = check.at_most if check.bound.separable and check.bound.deviation == 0 else None
        accuracy = [row.get("validation_accuracy") for row in history]
        is_measured = any(value is not None for value in accuracy)
        return cls(
            [row["epoch"] for row in history],
            [row["mistakes"] for row in history],
            updates=[row.get("updates", row["mistakes"]) for row in history],
            loss=[row["loss"] for row in history] if all(row.get("loss") is not None for row in history) else None,
            accuracy=[np.nan if value is None else value for value in accuracy] if is_measured else None,
            stop_reason=model.stop_reason_,
            bound=bound,
        )

    def plot(self, ax: Axes | None = None) -> "HistoryDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes, which are divided into panels; by default, a new figure is created.
        """
        draw_functions = [self._draw_epochs, self._draw_total]
        draw_functions += [self._draw_loss] if self.loss is not None and np.isfinite(self.loss).any() else []
        draw_functions += [self._draw_accuracy] if self.accuracy is not None else []
        n_panels = len(draw_functions)
        with self._panels(ax, n_panels, (6.4, 1.1 + 1.4 * n_panels)) as panels:
            for panel, draw in zip(panels, draw_functions, strict=True):
                draw(panel)
            bottom = panels[-1]
            bottom.set_xlabel("epoch")
            is_wide = style.available_width(bottom) > style.NARROW_PANEL_INCHES * self.figure_.dpi
            bottom.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8 if is_wide else 4, min_n_ticks=1))
            first, last = self.epochs[0], self.epochs[-1]
            room = 0.6 if last - first < MAX_MARKED_EPOCHS else 0.02 * (last - first)
            bottom.set_xlim(first - room, last + room)
            self.figure_.align_ylabels(list(self.axes_))
            title = f"{count(len(self.epochs), 'epoch')}, {count(int(self.mistakes.sum()), 'mistake')}"
            if self.stop_reason:
                title += f"\nstopped: {STOP_REASONS.get(self.stop_reason, self.stop_reason)}"
            style.set_title(self.ax_, title)
        return self

    @property
    def _has_other_updates(self) -> bool:
        return bool((self.updates != self.mistakes).any())

    def _draw_epochs(self, ax: Axes) -> None:
        """Draw mistakes by epoch, and updates where they differ."""
        if len(self.epochs) <= MAX_MARKED_EPOCHS:
            width = 0.7 * min(1.0, len(self.epochs) / 6)
            ax.bar(self.epochs, self.mistakes, width=width, color=style.COLORS[0], label="mistakes")
        else:
            ax.fill_between(self.epochs, self.mistakes, step="mid", color=style.COLORS[0], alpha=0.35, lw=0)
            ax.plot(self.epochs, self.mistakes, drawstyle="steps-mid", color=style.COLORS[0], lw=1, label="mistakes")
        if self._has_other_updates:
            self._draw_line(ax, self.updates, 1, "s", "updates")
            style.add_legend(ax)
        values = np.concatenate([self.mistakes, self.updates])
        if (values > 0).any() and values.max() > 200 * values[values > 0].min():
            ax.set_yscale("symlog", linthresh=1.0, linscale=0.5)
            ax.set_ylim(0, 2.0 * values.max())
        else:
            _use_counts(ax, values.max())
        ax.set_ylabel("mistakes,\nupdates" if self._has_other_updates else "mistakes")

    def _draw_total(self, ax: Axes) -> None:
        """Draw all updates so far and the bound, which is about updates; they are called mistakes where they are."""
        name = "updates" if self._has_other_updates else "mistakes"
        total = np.cumsum(self.updates)
        self._draw_line(ax, total, 0, "o", f"{name} so far")
        if self.bound is None:
            _use_counts(ax, total[-1])
        else:
            label = f"bound: {style.format_number(self.bound)}"
            ax.axhline(self.bound, color=style.MISTAKE_COLOR, ls="--", lw=1.4, label=label)
            if self.bound > LOG_SCALE_RATIO * max(1, total[-1]):
                ax.set_yscale("log")
                ax.set_ylim(max(0.7, 0.7 * float(total[0])), 3.0 * self.bound)
                if self.bound < 1e6:
                    ax.yaxis.set_major_formatter("{x:,.0f}")
            else:
                _use_counts(ax, max(self.bound, total[-1]))
            style.add_legend(ax)
        ax.set_ylabel(f"{name}\nso far")

    def _draw_loss(self, ax: Axes) -> None:
        assert self.loss is not None
        self._draw_line(ax, self.loss, 2, "^", "loss")
        positive = self.loss[self.loss > 0]
        if len(positive) > 1 and positive.max() > 1000 * positive.min():
            ax.set_yscale("symlog", linthresh=float(positive.min()))
        else:
            ax.set_ylim(0, 1.1 * float(np.nanmax(self.loss)) or 1.0)
        ax.set_ylabel("loss")

    def _draw_accuracy(self, ax: Axes) -> None:
        """Draw the accuracy on held-out examples, with a ring around the best epoch."""
        assert self.accuracy is not None
        self._draw_line(ax, self.accuracy, 3, "D", "")
        best = int(np.nanargmax(self.accuracy))
        label = f"best: {self.accuracy[best]:.1%}\n(epoch {self.epochs[best]:,})"
        ax.plot(self.epochs[best], self.accuracy[best], "o", mfc="none", mec=style.INK, ms=10, label=label)
        style.add_legend(ax, ax.lines[1:])
        low, high = np.nanmin(self.accuracy), np.nanmax(self.accuracy)
        room = max(0.15 * (high - low), 0.01)
        ax.set(ylim=(low - room, high + room), ylabel="held-out\naccuracy")
        ax.yaxis.set_major_locator(MaxNLocator(nbins=4))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g}%" if 0 <= value <= 1 else ""))

    def _draw_line(self, ax: Axes, values: np.ndarray, k: int, marker: str, label: str) -> None:
        marker = marker if len(self.epochs) <= MAX_MARKED_EPOCHS else ""
        ax.plot(self.epochs, values, color=style.class_color(k), lw=1.4, marker=marker, ms=4.5, label=label)


def _use_counts(ax: Axes, largest: float) -> None:
    """Scale the vertical axis from 0 to the largest count, with whole numbers."""
    ax.set_ylim(0, 1.12 * float(largest) if largest else 1)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4, min_n_ticks=1))
    ax.yaxis.set_major_formatter("{x:,.0f}")


def _check_bound(bound: Any) -> int | None:
    bound = bound.updates if isinstance(bound, Bound) else getattr(bound, "at_most", bound)
    if bound is None:
        return None
    if isinstance(bound, bool) or not isinstance(bound, int | float | np.number) or not 0 <= bound < np.inf:
        raise ValueError(f"bound={bound!r}: give a Bound of perceptrons.theory, or a number of updates.")
    return int(bound)
