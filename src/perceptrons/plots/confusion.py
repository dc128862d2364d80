"""Which classes are taken for which, through scikit-learn's own display, made readable for many classes."""

import warnings
from typing import Any

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

from perceptrons.plots import style
from perceptrons.plots.reading import fitted_classes, nameless

MOST_NUMBERS = 40  # classes of which the numbers can still be read


@nameless()
def confusion(estimator: Any, X: Any, y: Any, ax: Any = None, *, normalize: str | None = None) -> Any:
    """The confusion matrix of a fitted classifier on these examples, as scikit-learn's `ConfusionMatrixDisplay`.

    When to use it: to see which classes are mistaken for which. When not: for one number; that is `score`.

    Parameters
    ----------
    estimator : fitted classifier
    X, y : as in `fit`
    ax : matplotlib Axes, optional
        A new figure is made unless given.
    normalize : {"true", "pred", "all"}, optional
        Shares of the row, the column or of all, instead of counts.

    Returns
    -------
    sklearn.metrics.ConfusionMatrixDisplay
        Drawn, with `ax_` and `figure_`.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.plots import confusion
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> display = confusion(Perceptron().fit(X, y), X, y)
    >>> display.confusion_matrix.tolist()
    [[2, 0], [1, 1]]
    """
    fitted_classes(estimator)
    return confusion_of(y, estimator.predict(X), ax, normalize=normalize)


def confusion_of(y_true: Any, y_pred: Any, ax: Any = None, *, normalize: str | None = None) -> Any:
    """The confusion matrix of predictions that are there already; parameters as in `confusion`.

    When to use it: predictions come from elsewhere, or took long. When not: the estimator is at hand (`confusion`).
    """
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if not len(true):
        raise ValueError("There are no examples: nothing to draw.")
    labels = np.array(
        sorted({*true.tolist(), *predicted.tolist()}), dtype=true.dtype if true.dtype == predicted.dtype else object
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A single label was found", UserWarning)  # one cell is what there is to see
        table = confusion_matrix(true, predicted, labels=labels, normalize=normalize)
    K = len(labels)
    display = ConfusionMatrixDisplay(
        table, display_labels=[style.shorten(label, 16 if K <= 12 else 12) for label in labels.tolist()]
    )
    with style.context(ax):
        side = float(np.clip(0.38 * K + 1.6, 3.2, 12.0))
        _, ax = style.figure_and_axes(ax, (side + 0.6, side))
        display.plot(
            ax=ax,
            cmap="Blues",
            colorbar=False,
            include_values=K <= MOST_NUMBERS,
            values_format=".2f" if normalize else "d",
        )
        _readable(display, table, K, normalize)
    return display


def _readable(display: Any, table: np.ndarray, K: int, normalize: str | None) -> None:
    """Sizes that fit the cells, no zeros, upright names where there are many."""
    ax = display.ax_
    if display.text_ is not None:
        widest = max(len(text.get_text()) for text in display.text_.ravel())
        box = ax.get_window_extent().width * 72 / ax.figure.dpi / K  # of a cell, in points
        size = float(np.clip(0.8 * box / (0.62 * widest), 3.5, 10.0))
        for (row, column), text in np.ndenumerate(display.text_):
            text.set_fontsize(size)
            if table[row, column] == 0:
                text.set_text("")
            elif normalize:
                text.set_text(f"{100 * table[row, column]:.0f}%")
    labels = [label.get_text() for label in ax.get_xticklabels()]
    longest = max(len(label) for label in labels)
    if longest * K > 40:
        ax.tick_params(axis="x", rotation=90)
    cell = ax.get_window_extent().width * 72 / ax.figure.dpi / K
    ax.tick_params(labelsize=float(np.clip(0.8 * cell, 5.5, 9.0 if K <= 12 else 7.5)), length=0)
    step = max(1, int(np.ceil(6.0 / cell)))  # where cells are smaller than letters, every so many have a name
    names = [label if k % step == 0 else "" for k, label in enumerate(labels)]
    ax.set_xticks(np.arange(K), names)
    ax.set_yticks(np.arange(K), names)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    right = np.trace(table) / table.sum() if normalize is None else None
    if right is not None:
        ax.set_title(f"{right:.1%} of {style.counted(int(table.sum()), 'example')} right")
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xticks(np.arange(K + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(K + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="#DDDDDD", lw=0.6)
    ax.tick_params(which="minor", length=0)
