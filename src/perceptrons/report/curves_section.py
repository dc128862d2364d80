"""The ROC and precision-recall curves of the model's scores, with the areas below them as a table."""

from typing import Any

import numpy as np

from perceptrons.engine.html import Html, visible
from perceptrons.inspection.metrics import METRICS, shown
from perceptrons.inspection.ranking import average_precision, cuts_by_class, roc_auc
from perceptrons.modelfile.summary import calibration_in_words
from perceptrons.plots import CurvesDisplay, calibration_of
from perceptrons.plots.style import render
from perceptrons.report.page import WIDTH, Section, details, element, figure, paragraph, section, soft, table, user
from perceptrons.report.subject import Subject

SHOWN = (
    "balanced_accuracy", "f1", "f1_macro", "matthews", "roc_auc", "average_precision", "log_loss", "brier_score",
    "calibration_error",
)  # fmt: skip
LISTED = 1000  # classes of the table


def curves(subject: Subject) -> Section:
    """The section."""
    title = "Metrics and curves"
    parts = [_metrics(subject)]
    keep = subject.is_known
    codes, scores = subject.codes[keep], subject.scores[keep]
    if subject.model.combine == "vote":
        parts.append(soft("The scores of this model are shares of votes."))
    if len(np.unique(codes)) < 2:
        return section("curves", title, *parts, soft("All examples belong to one class, so there are no curves."))
    classes = [visible(str(label)) for label in subject.classes]
    display = CurvesDisplay.from_scores(codes, scores, classes, subject.predicted[keep])
    threshold = subject.model.threshold_
    about = (
        f"The model predicts the second class for scores of {threshold:.4g} or more. " if threshold is not None else ""
    )
    first = display.curves[0]
    of = f"class {first.name}" if subject.known == 2 else f"{len(display.curves)} classes, each against the rest"
    areas = f"area {display.roc_auc[0]:.3f}" if subject.known == 2 else "areas in the table below"
    precision = (
        f"average precision {display.average_precision[0]:.3f}" if subject.known == 2 else "areas in the table below"
    )
    pictures = element(
        "div",
        figure(
            render(display, max_width=WIDTH, kind="roc"), f"ROC curve of {of}: {areas}.",
            "ROC curve: the share of a class that is found (true positive rate), against the share of other examples "
            "that are wrongly predicted as this class (false positive rate), at every threshold.",
        ),
        figure(
            render(display, max_width=WIDTH, kind="precision_recall"), f"Precision-recall curve of {of}: {precision}.",
            "Precision and recall at every threshold. If one class is rare, this curve is more informative than the "
            "ROC curve.",
        ),
        class_="side-by-side",
    )  # fmt: skip
    parts += [paragraph(about, _threshold_words(subject)), pictures]
    if subject.probabilities is not None:
        parts += [_reliability(subject, codes, subject.probabilities[keep])]
    if subject.left_out():
        parts.append(soft(subject.left_out()))
    if subject.known > 2:
        parts.append(_by_class(subject, codes, scores))
    return section("curves", title, *parts)


class _Drawn:
    """The reliability curves, as a display that `drawn` takes."""

    def __init__(self, codes: np.ndarray, probabilities: np.ndarray, classes: list[str]):
        self.of = codes, probabilities, classes

    def plot(self) -> Any:
        return calibration_of(*self.of)[0]


def _reliability(subject: Subject, codes: np.ndarray, probabilities: np.ndarray) -> Html:
    """How often classes are true that are given some probability."""
    found = subject.reliability
    assert found is not None
    classes = [visible(str(label)) for label in subject.classes]
    of = f"class {classes[1]}" if subject.known == 2 else "every class"
    return element(
        "div",
        paragraph(
            f"Probabilities {calibration_in_words(subject.model)}. Their calibration error on these data is "
            f"{found.calibration_error:.3f}."
        ),
        figure(
            render(_Drawn(codes, probabilities, classes), max_width=WIDTH),
            f"Reliability curve of {of}: calibration error {found.calibration_error:.3f}.",
            "Reliability curve: how often a class is the true one, against its predicted probability. On the dotted "
            "line, both are equal.",
        ),
    )


def _threshold_words(subject: Subject) -> str:
    if subject.known == 2:
        return "A circle marks the model's own threshold; every other point is another threshold."
    return "Every class is drawn against the rest, by its own score."


def _metrics(subject: Subject) -> Html:
    """The metrics besides accuracy."""
    told = subject.quality.metrics()
    rows = []
    for name in SHOWN:
        value = told[name]
        if value is None or (name == "f1_macro" and subject.known == 2):
            continue
        of = [" of ", user(subject.labels[1], 24)] if METRICS[name].binary else []
        words = METRICS[name].title
        rows.append((element("span", words[0].upper() + words[1:], *of), shown(name, value)))
    return table(("metric", "value"), rows, "metrics", numbers=(1,))


def _by_class(subject: Subject, codes: np.ndarray, scores: np.ndarray) -> Html:
    rows: list[tuple[Html | str, ...]] = []
    for k, cuts in cuts_by_class(codes, scores):
        if cuts.n_positive and cuts.n_negative and len(rows) < LISTED:
            areas = (roc_auc(cuts), average_precision(cuts))
            rows.append((user(subject.labels[k]), *(f"{area:.3f}" for area in areas), f"{cuts.n_positive:,}"))
    header = ("class", "ROC AUC", "average precision", "examples")
    return details("The areas of all classes", table(header, rows, "areas under the curves", numbers=(1, 2, 3)))
