"""Confusion matrices and calibration curves, through the displays of scikit-learn, made readable for many classes."""

import warnings
from typing import Any

import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

from perceptrons.engine.wording import count
from perceptrons.plots import layout, style
from perceptrons.plots.model_facts import fitted_classes, nameless
from perceptrons.theory.examples import codes_among

MOST_NUMBERS = 40  # classes of which the numbers can still be read
MOST_CURVES = 20


@nameless()
def confusion(estimator: Any, X: Any, y: Any, ax: Any = None, *, normalize: str | None = None) -> Any:
    """Draw the confusion matrix of a fitted classifier, as scikit-learn's `ConfusionMatrixDisplay`.

    Use it to see which classes are confused with each other. For a single number, use `score`.

    Parameters
    ----------
    estimator : fitted classifier
    X, y : as in `fit`
    ax : matplotlib Axes, optional
        The axes to draw on; by default, a new figure is created.
    normalize : {"true", "pred", "all"}, optional
        Whether to show shares of the row, the column or all, instead of counts.

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
    [[2, 0], [0, 2]]
    """
    fitted_classes(estimator)
    return confusion_of(y, estimator.predict(X), ax, normalize=normalize)


def confusion_of(y_true: Any, y_pred: Any, ax: Any = None, *, normalize: str | None = None) -> Any:
    """Draw the confusion matrix of given predictions; parameters as in `confusion`.

    When to use it: predictions come from elsewhere, or took long. When not: the estimator is at hand (`confusion`).
    """
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if not len(true):
        raise ValueError("There are no examples, so there is nothing to draw.")
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
    step = max(1, int(np.ceil(6.0 / cell)))  # if cells are smaller than letters, only some get a name
    names = [label if k % step == 0 else "" for k, label in enumerate(labels)]
    ax.set_xticks(np.arange(K), names)
    ax.set_yticks(np.arange(K), names)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    right = np.trace(table) / table.sum() if normalize is None else None
    if right is not None:
        ax.set_title(f"{right:.1%} of {count(int(table.sum()), 'example')} right")
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xticks(np.arange(K + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(K + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="#DDDDDD", lw=0.6)
    ax.tick_params(which="minor", length=0)


@nameless()
def calibration(
    estimator: Any, X: Any, y: Any, ax: Any = None, *, n_bins: int = 10, strategy: str = "quantile"
) -> list[Any]:
    """Draw the calibration curves of a classifier with probabilities: of the second of two classes, or of every class.

    Use it before you rely on probabilities, on examples that were used neither for training nor for calibration. With
    fewer than a few hundred examples, the curves are noise.

    Parameters
    ----------
    estimator : fitted classifier with `predict_proba`
        A perceptron has it if it was calibrated: `Perceptron(probability="sigmoid")`.
    X, y : as in `fit`
    ax : matplotlib Axes, optional
        The axes to draw on; by default, a new figure is created.
    n_bins : int, default=10
    strategy : {"quantile", "uniform"}, default="quantile"
        Whether bins have equally many examples, or equal width.

    Returns
    -------
    list of sklearn.calibration.CalibrationDisplay
        The displays, drawn on the same axes, one per curve.

    Examples
    --------
    >>> import numpy as np
    >>> from perceptrons import Perceptron
    >>> from perceptrons.plots import calibration
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> y = np.where(X[:, 0] + 0.3 * np.sin(40 * X[:, 0]) > 0, "yes", "no")
    >>> model = Perceptron(probability="sigmoid").fit(X, y)
    >>> [display.estimator_name for display in calibration(model, X, y, n_bins=4)]
    ['yes']
    """
    classes = fitted_classes(estimator)
    try:
        answer = estimator.predict_proba
    except AttributeError as error:
        raise ValueError(
            f"{type(estimator).__name__} has scores, not probabilities (no predict_proba). Calibrate it: "
            "fit it with probability='sigmoid', or use perceptrons.selection.calibrate(model, X, y)."
        ) from error
    probability = np.asarray(answer(X), np.float64)
    if not len(probability):
        raise ValueError("X has no rows: there is nothing to draw.")
    codes = codes_among(y, len(probability), classes)
    return calibration_of(codes, probability, classes.tolist(), ax, n_bins=n_bins, strategy=strategy)


def calibration_of(
    codes: np.ndarray, probability: np.ndarray, classes: list[Any], ax: Any = None, *, n_bins: int = 10,
    strategy: str = "quantile",
) -> list[Any]:  # fmt: skip
    """Draw the calibration curves of given probabilities; other parameters as in `calibration`.

    When to use it: probabilities come from elsewhere, or took long. When not: the estimator is at hand (`calibration`).

    Parameters
    ----------
    codes : array of shape (n,)
        The number of each example's class.
    probability : array of shape (n, n_classes)
    classes : list
        Their names.
    ax, n_bins, strategy : as in `calibration`
    """
    drawn = [1] if len(classes) == 2 else np.flatnonzero(np.bincount(codes, minlength=len(classes))).tolist()
    if len(drawn) > MOST_CURVES:  # the most frequent ones; more lines cannot be distinguished
        drawn = sorted(np.argsort(-np.bincount(codes), kind="stable")[:MOST_CURVES].tolist())
    displays = []
    with style.context(ax):
        _, ax = style.figure_and_axes(ax, (6.4 if len(drawn) <= 12 else 7.6, 4.2))
        ax.set_aspect("equal")
        for k in drawn:
            look = {"color": style.colour(k), "marker": style.marker(k), "ms": 5, "lw": 1.3}
            name = style.shorten(classes[k])
            displays.append(
                CalibrationDisplay.from_predictions(
                    codes == k, probability[:, k], n_bins=n_bins, strategy=strategy, name=name, ax=ax, **look
                )
            )
        handles, labels = ax.get_legend_handles_labels()
        unique = dict(zip(labels, handles, strict=True))
        layout.legend_beside(ax, list(unique.values()), list(unique))
        ax.set_xlabel("predicted probability")
        ax.set_ylabel("observed share")
        layout.title(ax, count(len(codes), "example") + ("" if len(classes) > 2 else f", class {name}"))
    return displays
