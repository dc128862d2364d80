"""Plots the training history: mistakes by epoch, the mistake bound, loss and held-out accuracy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.wording import count
from perceptrons.plots import layout, style
from perceptrons.plots.model_facts import nameless, split_pipeline
from perceptrons.theory import Bound, check_bound

REASONS = {
    "converged": "an epoch without updates",
    "stuck": "scores of exactly 0 count as right",
    "tol": "the averaged weights stopped changing",
    "early_stopping": "held-out accuracy no longer improves",
    "max_iter": "max_iter epochs reached",
    "max_seconds": "max_seconds reached",
    "interrupted": "interrupted",
    "failed": "an error",
}
FEW = 40  # epochs that are drawn one by one
FAR = 5.0  # if the bound is this many times as high, everything else would look flat: use a log scale


class HistoryDisplay:
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
        self.stop_reason, self.bound = stop_reason, _checked(bound)
        for name in ("mistakes", "updates", "loss", "accuracy"):
            part = getattr(self, name)
            if part is not None and part.shape != self.epochs.shape:
                raise ValueError(
                    f"{name} has the shape {part.shape}, but epochs has {self.epochs.shape}: give one value per epoch."
                )
        if not len(self.epochs):
            raise ValueError("There are no epochs to draw.")

    @classmethod
    @nameless()
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, bound: Any = None, max_seconds: float | None = 10.0
    ) -> "HistoryDisplay":
        """Read the history of a fitted model.

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

        Returns
        -------
        HistoryDisplay
        """
        before, model = split_pipeline(estimator)
        check_is_fitted(model)
        rows = getattr(model, "history_", None)
        if not rows:
            why = "was trained by partial_fit, which has no epochs" if rows is not None else "has no history_"
            raise ValueError(f"This {type(model).__name__} {why}: use a Perceptron after fit.")
        if X is not None and y is None:
            raise ValueError("X without y: give both to compute the bound, or neither.")
        if X is not None and bound is None:
            compared = check_bound(model, X if before is None else before.transform(X), y, max_seconds=max_seconds)
            bound = compared.at_most if compared.bound.separable and compared.bound.deviation == 0 else None
        accuracy = [row.get("validation_accuracy") for row in rows]
        measured = any(value is not None for value in accuracy)
        return cls(
            [row["epoch"] for row in rows],
            [row["mistakes"] for row in rows],
            updates=[row.get("updates", row["mistakes"]) for row in rows],
            loss=[row["loss"] for row in rows] if all(row.get("loss") is not None for row in rows) else None,
            accuracy=[np.nan if value is None else value for value in accuracy] if measured else None,
            stop_reason=model.stop_reason_,
            bound=bound,
        )

    def plot(self, ax: Any = None) -> "HistoryDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes, which are divided into panels; by default, a new figure is created.

        Returns
        -------
        self
        """
        drawn = [self._mistakes, self._so_far]
        drawn += [self._loss] if self.loss is not None and np.isfinite(self.loss).any() else []
        drawn += [self._accuracy] if self.accuracy is not None else []
        with style.context(ax):
            size = (6.4, 1.1 + 1.4 * len(drawn))
            self.figure_, grid = style.panels(ax, len(drawn), 1, size, sharex=True)
            self.axes_ = grid[:, 0]
            self.ax_ = self.axes_[0]
            for panel, draw in zip(self.axes_, drawn, strict=True):
                draw(panel)
            bottom = self.axes_[-1]
            bottom.set_xlabel("epoch")
            wide = layout.width_of(bottom) > 4 * self.figure_.dpi
            bottom.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8 if wide else 4, min_n_ticks=1))
            first, last = self.epochs[0], self.epochs[-1]
            room = 0.6 if last - first < FEW else 0.02 * (last - first)
            bottom.set_xlim(first - room, last + room)
            self.figure_.align_ylabels(list(self.axes_))
            layout.title(self.ax_, self._title())
        return self

    def _title(self) -> str:
        title = f"{count(len(self.epochs), 'epoch')}, {count(int(self.mistakes.sum()), 'mistake')}"
        if self.stop_reason:
            title += f"\nstopped: {REASONS.get(self.stop_reason, self.stop_reason)}"
        return title

    def _mistakes(self, ax: Any) -> None:
        if len(self.epochs) <= FEW:
            width = 0.7 * min(1.0, len(self.epochs) / 6)
            ax.bar(self.epochs, self.mistakes, width=width, color=style.COLOURS[0], label="mistakes")
        else:
            ax.fill_between(self.epochs, self.mistakes, step="mid", color=style.COLOURS[0], alpha=0.35, lw=0)
            ax.plot(self.epochs, self.mistakes, drawstyle="steps-mid", color=style.COLOURS[0], lw=1, label="mistakes")
        if (self.updates != self.mistakes).any():
            self._line(ax, self.updates, 1, "s", "updates")
            layout.legend_beside(ax, *ax.get_legend_handles_labels())
        _counts(ax, [*self.mistakes.tolist(), *self.updates.tolist()])
        ax.set_ylabel("mistakes" if (self.updates == self.mistakes).all() else "mistakes,\nupdates")

    def _so_far(self, ax: Any) -> None:
        # a bound is about updates, so that they are drawn where they are not the same
        what = "mistakes" if (self.updates == self.mistakes).all() else "updates"
        total = np.cumsum(getattr(self, what))
        self._line(ax, total, 0, "o", f"{what} so far")
        if self.bound is not None:
            ax.axhline(self.bound, color=style.WRONG, ls="--", lw=1.4, label=f"bound: {style.number(self.bound)}")
            if self.bound > FAR * max(1, total[-1]):
                ax.set_yscale("log")
                ax.set_ylim(max(0.7, 0.7 * float(total[0])), 3.0 * self.bound)
                if self.bound < 1e6:
                    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            else:
                ax.set_ylim(0, 1.12 * max(self.bound, float(total[-1])))
            layout.legend_beside(ax, *ax.get_legend_handles_labels())
        else:
            _counts(ax, total.tolist(), from_zero=True)
        if ax.get_yscale() == "linear":
            _whole(ax)
        ax.set_ylabel(f"{what}\nso far")

    def _loss(self, ax: Any) -> None:
        assert self.loss is not None
        self._line(ax, self.loss, 2, "^", "loss")
        positive = self.loss[self.loss > 0]
        if len(positive) > 1 and positive.max() > 1000 * positive.min():
            ax.set_yscale("symlog", linthresh=float(positive.min()))
        else:
            ax.set_ylim(0, 1.1 * float(np.nanmax(self.loss)) or 1.0)
        ax.set_ylabel("loss")

    def _accuracy(self, ax: Any) -> None:
        assert self.accuracy is not None
        self._line(ax, self.accuracy, 3, "D", "held-out accuracy")
        best = int(np.nanargmax(self.accuracy))
        where = {"ls": "", "marker": "o", "mfc": "none", "mec": style.INK, "ms": 10}
        at = f"best: {self.accuracy[best]:.1%}\n(epoch {self.epochs[best]:,})"
        ax.plot([self.epochs[best]], [self.accuracy[best]], label=at, **where)
        handles, labels = ax.get_legend_handles_labels()
        layout.legend_beside(ax, handles[1:], labels[1:])
        low, high = np.nanmin(self.accuracy), np.nanmax(self.accuracy)
        room = max(0.15 * (high - low), 0.01)
        ax.set_ylim(low - room, high + room)
        ax.yaxis.set_major_locator(MaxNLocator(nbins=4))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g}%" if 0 <= value <= 1 else ""))
        ax.set_ylabel("held-out\naccuracy")

    def _line(self, ax: Any, values: np.ndarray, k: int, marker: str, label: str) -> None:
        few = len(self.epochs) <= FEW
        ax.plot(
            self.epochs, values, color=style.colour(k), lw=1.4, marker=marker if few else "", ms=4.5, label=label
        )  # fmt: skip


def _counts(ax: Any, values: Sequence[float], *, from_zero: bool = False) -> None:
    """A scale for counts: from 0, of whole numbers; with logarithms above 1 if they differ very much."""
    top = max(values)
    low = min((value for value in values if value > 0), default=1)
    if not from_zero and top > 200 * low:
        ax.set_yscale("symlog", linthresh=1.0, linscale=0.5)
        ax.set_ylim(0, 2.0 * top)
        return
    ax.set_ylim(0, 1.12 * top if top else 1)
    _whole(ax)


def _whole(ax: Any) -> None:
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4, min_n_ticks=1))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(value):,}"))


def _checked(bound: Any) -> int | None:
    bound = bound.updates if isinstance(bound, Bound) else getattr(bound, "at_most", bound)
    if bound is None:
        return None
    if isinstance(bound, bool) or not isinstance(bound, int | float | np.number) or not 0 <= bound < np.inf:
        raise ValueError(f"bound={bound!r}: give a Bound of perceptrons.theory, or a number of updates.")
    return int(bound)
