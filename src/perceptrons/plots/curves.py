"""Plots ROC curves and precision-recall curves."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import FuncFormatter

from perceptrons.engine.wording import count
from perceptrons.inspection.ranking import Cuts, average_precision, cuts_by_class, roc_auc
from perceptrons.plots import layout, style
from perceptrons.plots.model_facts import fitted_classes, nameless, scores_of
from perceptrons.theory.examples import codes_among

MOST_CURVES = 10  # more lines cannot be distinguished: the most frequent classes are drawn
STEPS = 400  # parts of each axis, within which one point of a curve is enough
KINDS = ("roc", "precision_recall")


class Curve(NamedTuple):
    """The cuts of one class against the rest, and what the answers of the model amount to, (hits, alarms)."""

    name: str
    number: int
    cuts: Cuts
    answered: tuple[int, int] | None


class CurvesDisplay:
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
    @nameless()
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
    def from_scores(cls, codes: np.ndarray, scores: np.ndarray, classes: Any, answers: Any = None) -> "CurvesDisplay":
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
        drawn = set(np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")[:MOST_CURVES].tolist())
        curves = []
        for k, cuts in cuts_by_class(codes, np.asarray(scores, np.float64)):
            if cuts.n_positive and cuts.n_negative and (k in drawn or scores.ndim == 1):
                said = None if answers is None else np.asarray(answers) == k
                point = None if said is None else (int((said & (codes == k)).sum()), int((said & (codes != k)).sum()))
                curves.append(Curve(names[k], k, cuts, point))
        if not curves:
            raise ValueError("All examples belong to one class: there is no curve to draw.")
        return cls(curves, len(codes))

    def plot(self, ax: Any = None, *, kind: str = "roc") -> "CurvesDisplay":
        """Draw one kind of curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default, a new figure is created.
        kind : {"roc", "precision_recall"}, default="roc"

        Returns
        -------
        self
        """
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r}: give 'roc' or 'precision_recall'.")
        with style.context(ax):
            self.figure_, self.ax_ = style.figure_and_axes(ax, (5.0, 3.6))
            areas = self.roc_auc if kind == "roc" else self.average_precision
            for place, (curve, area) in enumerate(zip(self.curves, areas, strict=True)):
                self._draw(curve, kind, place, f"{style.shorten(curve.name, 16)}: {area:.3f}")
            self._chance(kind)
            percent = FuncFormatter(lambda value, _: f"{100 * value:.0f}%")
            for axis in (self.ax_.xaxis, self.ax_.yaxis):
                axis.set_major_formatter(percent)
            self.ax_.set_xlim(-0.02, 1.02)
            self.ax_.set_ylim(-0.02, 1.04)
            names = ("false positive rate", "true positive rate") if kind == "roc" else ("recall", "precision")
            layout.label_below(self.ax_, names[0])
            self.ax_.set_ylabel(names[1])
            layout.legend_beside(self.ax_, *self.ax_.get_legend_handles_labels())
            what = "ROC curve, area under it" if kind == "roc" else "Precision-recall curve, average precision"
            layout.title(self.ax_, f"{what}\n{count(self.n_examples, 'example')}")
        return self

    def _draw(self, curve: Curve, kind: str, place: int, label: str) -> None:
        x, y = points_of(curve.cuts, kind)
        look: dict[str, Any] = {"color": style.colour(place), "ls": style.LINES[place % len(style.LINES)], "lw": 1.6}
        draw_as = "default" if kind == "roc" else "steps-pre"
        self.ax_.plot(x, y, drawstyle=draw_as, label=label, **look)
        if curve.answered is not None and len(self.curves) == 1:
            hits, alarms = curve.answered
            found, false = hits / curve.cuts.n_positive, alarms / curve.cuts.n_negative
            if kind == "roc":
                at = false, found
            elif hits + alarms:
                at = found, hits / (hits + alarms)
            else:
                return
            self.ax_.plot(*at, "o", ms=8, mfc="none", mec=style.INK, mew=1.5, label="predictions")

    def _chance(self, kind: str) -> None:
        look: dict[str, Any] = {"color": style.PALE, "ls": ":", "lw": 1.2, "label": "chance"}
        if kind == "roc":
            self.ax_.plot([0, 1], [0, 1], **look)
        elif len(self.curves) == 1:
            cuts = self.curves[0].cuts
            self.ax_.plot([0, 1], [cuts.n_positive / (cuts.n_positive + cuts.n_negative)] * 2, **look)


def points_of(cuts: Cuts, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The points of a curve, no more of them than can be seen."""
    recall = cuts.hits / cuts.n_positive
    if kind == "roc":
        x, y = np.append(0.0, cuts.alarms / cuts.n_negative), np.append(0.0, recall)
    else:
        precision = cuts.hits / (cuts.hits + cuts.alarms)
        x, y = np.append(0.0, recall), np.append(precision[0], precision)
    cells = np.round(STEPS * x) * (STEPS + 1) + np.round(STEPS * y)
    keep = np.append(cells[1:] != cells[:-1], True)
    keep[0] = True
    return x[keep], y[keep]
