"""Plots ROC curves and precision-recall curves."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from perceptrons.engine.wording import count
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.inspection.metrics import Cuts, average_precision, cuts_by_class, roc_auc
from perceptrons.plots import style
from perceptrons.plots.model_facts import fitted_classes, scores_of
from perceptrons.theory.examples import codes_among

MAX_CURVES = 10  # more lines cannot be distinguished
CELLS_PER_AXIS = 400  # one point of a curve per cell is enough


class Curve(NamedTuple):
    """The thresholds of one class against the rest, and the model's own predictions of the class."""

    name: str
    number: int
    cuts: Cuts
    predictions: tuple[int, int] | None  # true positives, false positives


class CurvesDisplay(style.Display):
    """A plot of ROC and precision-recall curves: of the second of two classes, or of every class against the rest.

    Use it to see the effect of other thresholds, and how well the scores rank the examples. For single numbers, ROC AUC
    and average precision, use `perceptrons evaluate`.

    Attributes
    ----------
    curves : list of Curve
        The curves of the classes that occur, at most the 10 most frequent.
    roc_auc, average_precision : list of float or None
        The area under each curve.
    n_examples : int
    figure_, ax_ : matplotlib Figure and Axes, after `plot`

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.plots import CurvesDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "high", "low", "high"]
    >>> display = CurvesDisplay.from_estimator(Perceptron().fit(X, y), X, y).plot()
    >>> display.roc_auc
    [0.75]
    """

    def __init__(self, curves: list[Curve], n_examples: int):
        self.curves, self.n_examples = curves, n_examples

    @property
    def roc_auc(self) -> list[float | None]:
        return [roc_auc(curve.cuts) for curve in self.curves]

    @property
    def average_precision(self) -> list[float | None]:
        return [average_precision(curve.cuts) for curve in self.curves]

    @classmethod
    @columns_matched()
    def from_estimator(cls, estimator: Any, X: Any, y: Any) -> "CurvesDisplay":
        """Compute the curves from the scores of a fitted classifier, or from its probabilities.

        Parameters
        ----------
        estimator : fitted classifier
        X, y : as in `fit`
        """
        classes = fitted_classes(estimator)
        scores = scores_of(estimator, X)
        if scores is None:
            raise ValueError(f"{type(estimator).__name__} has no scores, only predictions: there is no curve to draw.")
        codes = codes_among(y, len(scores), classes)
        return cls.from_scores(codes, scores, classes, codes_among(estimator.predict(X), len(scores), classes))

    @classmethod
    def from_scores(
        cls, codes: np.ndarray, scores: np.ndarray, classes: Sequence[Any] | np.ndarray, answers: Any = None
    ) -> "CurvesDisplay":
        """Compute the curves from given scores.

        Parameters
        ----------
        codes : array of shape (n_examples,)
            The number of each example's class.
        scores : array of shape (n_examples,) or (n_examples, n_classes)
        classes : sequence of labels
        answers : array of shape (n_examples,), optional
            The numbers of the predicted classes, marked on each curve if they follow from a threshold.
        """
        names = [str(label) for label in np.asarray(classes, object).tolist()]
        most_frequent = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")[:MAX_CURVES].tolist()
        curves = []
        for k, cuts in cuts_by_class(codes, np.asarray(scores, np.float64)):
            if cuts.n_positive and cuts.n_negative and (k in most_frequent or scores.ndim == 1):
                predictions = None
                if answers is not None:
                    is_predicted, is_true = np.asarray(answers) == k, codes == k
                    predictions = int((is_predicted & is_true).sum()), int((is_predicted & ~is_true).sum())
                curves.append(Curve(names[k], k, cuts, predictions))
        if not curves:
            raise ValueError("All examples belong to one class: there is no curve to draw.")
        return cls(curves, len(codes))

    def plot(self, ax: Axes | None = None, *, kind: str = "roc") -> "CurvesDisplay":
        """Draw one kind of curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default, a new figure is created.
        kind : {"roc", "precision_recall"}, default="roc"
        """
        if kind not in ("roc", "precision_recall"):
            raise ValueError(f"kind={kind!r}: give 'roc' or 'precision_recall'.")
        is_roc = kind == "roc"
        with self._single_axes(ax, (5.0, 3.6)) as ax:
            areas = self.roc_auc if is_roc else self.average_precision
            for i, (curve, area) in enumerate(zip(self.curves, areas, strict=True)):
                ax.plot(
                    *curve_points(curve.cuts, kind), drawstyle="default" if is_roc else "steps-pre", lw=1.6,
                    color=style.class_color(i), ls=style.LINE_STYLES[i % len(style.LINE_STYLES)],
                    label=f"{style.shorten(curve.name, 16)}: {area:.3f}",
                )  # fmt: skip
            if len(self.curves) == 1:
                self._mark_predictions(ax, self.curves[0], is_roc)
            if is_roc or len(self.curves) == 1:
                positive = self.curves[0].cuts.n_positive / self.n_examples
                chance = [0, 1] if is_roc else [positive, positive]
                ax.plot([0, 1], chance, color=style.PALE_INK, ls=":", lw=1.2, label="chance")
            ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04), ylabel="true positive rate" if is_roc else "precision")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            style.set_xlabel(ax, "false positive rate" if is_roc else "recall")
            style.add_legend(ax)
            title = "ROC curve, area under it" if is_roc else "Precision-recall curve, average precision"
            style.set_title(ax, f"{title}\n{count(self.n_examples, 'example')}")
        return self

    @staticmethod
    def _mark_predictions(ax: Axes, curve: Curve, is_roc: bool) -> None:
        """Mark the point of the model's own threshold; there is no precision if it never predicts the class."""
        if curve.predictions is None or not (is_roc or any(curve.predictions)):
            return
        n_true, n_false = curve.predictions
        recall = n_true / curve.cuts.n_positive
        point = (n_false / curve.cuts.n_negative, recall) if is_roc else (recall, n_true / (n_true + n_false))
        ax.plot(*point, "o", ms=8, mfc="none", mec=style.INK, mew=1.5, label="predictions")


def curve_points(cuts: Cuts, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a curve, thinned to what can be seen."""
    recall = cuts.hits / cuts.n_positive
    if kind == "roc":
        x, y = np.append(0.0, cuts.alarms / cuts.n_negative), np.append(0.0, recall)
    else:
        precision = cuts.hits / (cuts.hits + cuts.alarms)
        x, y = np.append(0.0, recall), np.append(precision[0], precision)
    cells = np.round(CELLS_PER_AXIS * x) * (CELLS_PER_AXIS + 1) + np.round(CELLS_PER_AXIS * y)
    keep = np.append(cells[1:] != cells[:-1], True)
    keep[0] = True
    return x[keep], y[keep]
