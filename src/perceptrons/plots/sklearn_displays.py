"""Draws confusion matrices and calibration curves with scikit-learn's displays, readable for many classes."""

import warnings
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

from perceptrons.engine.wording import count
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.plots import style
from perceptrons.plots.model_facts import fitted_classes
from perceptrons.theory.examples import codes_among

MAX_CLASSES_WITH_NUMBERS = 40  # of more, the numbers are too small to read
MAX_CURVES = 20


@columns_matched()
def confusion(estimator: Any, X: Any, y: Any, ax: Axes | None = None, *, normalize: str | None = None) -> Any:
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


def confusion_of(y_true: Any, y_pred: Any, ax: Axes | None = None, *, normalize: str | None = None) -> Any:
    """Draw the confusion matrix of given predictions; parameters as in `confusion`.

    When to use it: predictions come from elsewhere, or took long. When not: the estimator is at hand (`confusion`).
    """
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if not len(true):
        raise ValueError("There are no examples, so there is nothing to draw.")
    dtype = true.dtype if true.dtype == predicted.dtype else object
    labels = np.array(sorted({*true.tolist(), *predicted.tolist()}), dtype)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A single label was found", UserWarning)
        matrix = confusion_matrix(true, predicted, labels=labels, normalize=normalize)
    n_classes = len(labels)
    names = [style.shorten(label, 16 if n_classes <= 12 else 12) for label in labels.tolist()]
    display = ConfusionMatrixDisplay(matrix, display_labels=names)
    with style.style_context(ax):
        side = float(np.clip(0.38 * n_classes + 1.6, 3.2, 12.0))
        _, ax = style.get_axes(ax, (side + 0.6, side))
        display.plot(
            ax=ax, cmap="Blues", colorbar=False, include_values=n_classes <= MAX_CLASSES_WITH_NUMBERS,
            values_format=".0%" if normalize else "d",
        )  # fmt: skip
        _fit_into_cells(display, names)
        ax.set(xlabel="predicted", ylabel="true")
        if normalize is None:
            ax.set_title(f"{np.trace(matrix) / matrix.sum():.1%} of {count(int(matrix.sum()), 'example')} right")
    return display


def _fit_into_cells(display: ConfusionMatrixDisplay, names: list[str]) -> None:
    """Choose sizes that fit the cells, leave out zeros, and draw lines between the cells."""
    ax, n_classes = display.ax_, len(names)
    cell = ax.get_window_extent().width * 72 / ax.figure.dpi / n_classes  # in points
    if display.text_ is not None:
        longest_number = max(len(text.get_text()) for text in display.text_.ravel())
        for place, text in np.ndenumerate(display.text_):
            text.set_fontsize(float(np.clip(0.8 * cell / (0.62 * longest_number), 3.5, 10.0)))
            if display.confusion_matrix[place] == 0:
                text.set_text("")
    step = max(1, int(np.ceil(6.0 / cell)))  # if cells are smaller than letters, only some get a name
    shown_names = [name if k % step == 0 else "" for k, name in enumerate(names)]
    ax.set_xticks(np.arange(n_classes), shown_names)
    ax.set_yticks(np.arange(n_classes), shown_names)
    if max(len(name) for name in names) * n_classes > 40:
        ax.tick_params(axis="x", rotation=90)
    ax.tick_params(labelsize=float(np.clip(0.8 * cell, 5.5, 9.0 if n_classes <= 12 else 7.5)), length=0)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(n_classes + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(n_classes + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="#DDDDDD", lw=0.6)
    ax.tick_params(which="minor", length=0)


@columns_matched()
def calibration(
    estimator: Any, X: Any, y: Any, ax: Axes | None = None, *, n_bins: int = 10, strategy: str = "quantile"
) -> list[CalibrationDisplay]:
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
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(estimator).__name__} has scores, not probabilities (no predict_proba). Calibrate it: "
            "fit it with probability='sigmoid', or use perceptrons.selection.calibrate(model, X, y)."
        )
    probability = np.asarray(estimator.predict_proba(X), np.float64)
    if not len(probability):
        raise ValueError("X has no rows: there is nothing to draw.")
    codes = codes_among(y, len(probability), classes)
    return calibration_of(codes, probability, classes.tolist(), ax, n_bins=n_bins, strategy=strategy)


def calibration_of(
    codes: np.ndarray, probability: np.ndarray, classes: list[Any], ax: Axes | None = None, *, n_bins: int = 10,
    strategy: str = "quantile",
) -> list[CalibrationDisplay]:  # fmt: skip
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
    shown = [1] if len(classes) == 2 else np.flatnonzero(np.bincount(codes, minlength=len(classes))).tolist()
    if len(shown) > MAX_CURVES:  # more lines cannot be distinguished
        shown = sorted(np.argsort(-np.bincount(codes), kind="stable")[:MAX_CURVES].tolist())
    displays = []
    with style.style_context(ax):
        _, ax = style.get_axes(ax, (6.4 if len(shown) <= 12 else 7.6, 4.2))
        ax.set_aspect("equal")
        for k in shown:
            displays.append(
                CalibrationDisplay.from_predictions(
                    codes == k, probability[:, k], n_bins=n_bins, strategy=strategy, name=style.shorten(classes[k]),
                    ax=ax, color=style.class_color(k), marker=style.class_marker(k), ms=5, lw=1.3,
                )
            )  # fmt: skip
        handles, labels = ax.get_legend_handles_labels()
        style.add_legend(ax, list(dict(zip(labels, handles, strict=True)).values()))  # one "perfectly calibrated"
        ax.set(xlabel="predicted probability", ylabel="observed share")
        only_class = f", class {style.shorten(classes[1])}" if len(classes) == 2 else ""
        style.set_title(ax, count(len(codes), "example") + only_class)
    return displays
