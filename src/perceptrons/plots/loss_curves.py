"""Plots loss functions against the margin y·s."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from perceptrons.losses import ALL, Loss
from perceptrons.plots import style


class LossesDisplay(style.Display):
    """A plot of loss functions against the margin, from far wrong to far right.

    Use it to see why the perceptron ignores correct predictions, and why least squares penalises those that are "too
    correct". Losses have no common scale, so they do not say which model is better.

    Parameters
    ----------
    margins : array of shape (n,)
        Increasing.
    values : dict of arrays of shape (n,) by name

    Attributes
    ----------
    ax_, figure_ : the axes and the figure of the last `plot`

    Examples
    --------
    >>> from perceptrons import losses
    >>> from perceptrons.plots import LossesDisplay
    >>> display = LossesDisplay.from_losses([losses.perceptron, losses.Hinge(margin=2)]).plot()
    >>> list(display.values)
    ['perceptron', 'hinge, margin 2']
    """

    def __init__(self, margins: Any, values: Mapping[str, Any]):
        self.margins = np.asarray(margins, np.float64)
        self.values = {name: np.asarray(value, np.float64) for name, value in values.items()}
        if self.margins.ndim != 1 or len(self.margins) < 2 or not self.values:
            raise ValueError("Give two or more margins, and one loss or more.")
        for name, value in self.values.items():
            if value.shape != self.margins.shape:
                raise ValueError(f"The loss {name!r} has {value.shape} values for {self.margins.shape} margins.")

    @classmethod
    def from_losses(
        cls, losses: Sequence[Loss] | None = None, *, low: float = -2.0, high: float = 3.0
    ) -> "LossesDisplay":
        """Compute losses over a range of margins.

        Parameters
        ----------
        losses : list of Loss, optional
            The losses to draw; by default all of `perceptrons.losses`.
        low, high : float, default=-2.0 and 3.0
            The range of the margin.
        """
        if not (np.isfinite([low, high]).all() and low < high):
            raise ValueError(f"low={low!r} and high={high!r}: give two numbers, the smaller one first.")
        losses = list(ALL.values()) if losses is None else list(losses)
        for loss in losses:
            if not isinstance(loss, Loss):
                raise TypeError(f"{loss!r} is not a loss: give losses of perceptrons.losses, such as losses.hinge.")
        margins = np.linspace(low, high, 501)
        if low < 0 < high:  # the step of the zero-one loss is upright
            margins = np.unique([*margins, 0.0, np.nextafter(0.0, 1.0)])
        return cls(margins, {loss.name: loss.of_margin(margins) for loss in losses})

    def plot(self, ax: Axes | None = None, *, top: float = 4.0) -> "LossesDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default, a new figure is created.
        top : float, default=4.0
            The largest loss that is shown.
        """
        with self._single_axes(ax, (6.4, 3.6)) as ax:
            low, high = self.margins[0], self.margins[-1]
            ax.set(xlim=(low, high), ylim=(-0.04 * top, top), xlabel="margin y·s", ylabel="loss")
            if low < 0 < high:
                ax.axvspan(low, 0, color="#EEEEEE", lw=0, zorder=0)
                ax.axvline(0, color=style.PALE_INK, lw=0.8, zorder=0.5)
                options: dict[str, Any] = {"va": "top", "fontsize": 9, "color": style.PALE_INK}
                for x, side, label in ((-0.02, "right", "mistake"), (0.02, "left", "right")):
                    ax.text(x * (high - low), 0.98, label, ha=side, transform=ax.get_xaxis_transform(), **options)
            for k, (name, value) in enumerate(self.values.items()):
                ax.plot(
                    self.margins, value, lw=2.4 - 0.15 * k, label="zero-one" if name == "zero_one" else name,
                    color=style.class_color(k), ls=style.LINE_STYLES[k % len(style.LINE_STYLES)],
                )  # fmt: skip
            style.add_legend(ax)
        return self
