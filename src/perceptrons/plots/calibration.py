"""Are probabilities as often right as they say? Through scikit-learn's own `CalibrationDisplay`."""

from typing import Any

import numpy as np
from sklearn.calibration import CalibrationDisplay

from perceptrons.plots import space, style
from perceptrons.plots.reading import codes_of, fitted_classes, nameless

MOST_CURVES = 20


@nameless()
def calibration(
    estimator: Any, X: Any, y: Any, ax: Any = None, *, n_bins: int = 10, strategy: str = "quantile"
) -> list[Any]:
    """The calibration curves of a classifier with probabilities: of the second of two classes, or of every class.

    When to use it: before probabilities are used as such, on examples that neither model nor calibration learned from.
    When not: with fewer than some hundred examples, where the curves are noise.

    Parameters
    ----------
    estimator : fitted classifier with `predict_proba`
        A perceptron has none: calibrate it with `sklearn.calibration.CalibratedClassifierCV`.
    X, y : as in `fit`
    ax : matplotlib Axes, optional
        A new figure is made unless given.
    n_bins : int, default=10
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins of equally many examples, or of equal width.

    Returns
    -------
    list of sklearn.calibration.CalibrationDisplay
        Drawn on one pair of axes, one a curve.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from perceptrons import Perceptron
    >>> from perceptrons.plots import calibration
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> y = np.where(X[:, 0] + 0.3 * np.sin(40 * X[:, 0]) > 0, "yes", "no")
    >>> model = CalibratedClassifierCV(Perceptron()).fit(X, y)
    >>> [display.estimator_name for display in calibration(model, X, y, n_bins=4)]
    ['yes']
    """
    classes = fitted_classes(estimator)
    try:
        answer = estimator.predict_proba
    except AttributeError as error:
        raise ValueError(
            f"{type(estimator).__name__} has scores, not probabilities (no predict_proba). Calibrate it: "
            "CalibratedClassifierCV(model).fit(X, y) of sklearn.calibration, and draw that."
        ) from error
    probability = np.asarray(answer(X), np.float64)
    if not len(probability):
        raise ValueError("X has no rows: there is nothing to draw.")
    codes = codes_of(y, len(probability), classes)
    drawn = [1] if len(classes) == 2 else np.flatnonzero(np.bincount(codes, minlength=len(classes))).tolist()
    if len(drawn) > MOST_CURVES:  # the most frequent ones; more lines cannot be told apart
        drawn = sorted(np.argsort(-np.bincount(codes), kind="stable")[:MOST_CURVES].tolist())
    displays = []
    with style.context(ax):
        _, ax = style.figure_and_axes(ax, (6.4 if len(drawn) <= 12 else 7.6, 4.2))
        ax.set_aspect("equal")
        for k in drawn:
            look = {"color": style.colour(k), "marker": style.marker(k), "ms": 5, "lw": 1.3}
            name = style.shorten(classes.tolist()[k])
            displays.append(
                CalibrationDisplay.from_predictions(
                    codes == k, probability[:, k], n_bins=n_bins, strategy=strategy, name=name, ax=ax, **look
                )
            )
        handles, labels = ax.get_legend_handles_labels()
        unique = dict(zip(labels, handles, strict=True))
        space.legend_beside(ax, list(unique.values()), list(unique))
        ax.set_xlabel("probability that the model gives")
        ax.set_ylabel("share that was so")
        space.title(ax, style.counted(len(codes), "example") + ("" if len(classes) > 2 else f", class {name}"))
    return displays
