"""The sections of accuracy by class with the confusion matrix, of metrics and curves, and of every label."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from perceptrons.engine.html import visible
from perceptrons.engine.wording import percent
from perceptrons.inspection.metrics import (
    LABEL_METRICS,
    METRICS,
    average_precision,
    cuts_by_class,
    format_metric,
    roc_auc,
)
from perceptrons.inspection.summary import describe_calibration
from perceptrons.plots import CurvesDisplay, calibration_of
from perceptrons.report.page import MAX_ROWS, Picture, Section, Table, user_text
from perceptrons.report.subject import Subject

MAX_CLASSES = 20  # of more, the worst are shown first, and instead of a matrix the most frequent confusions
MAX_PAIRS = 20
METRIC_NAMES = (
    "balanced_accuracy", "f1", "f1_macro", "matthews", "roc_auc", "average_precision", "log_loss", "brier_score",
    "calibration_error",
)  # fmt: skip


def accuracy_section(subject: Subject) -> Section:
    quality = subject.quality
    rows, is_long = quality.by_class(), len(quality.labels) > MAX_CLASSES
    values: dict[str, Any] = {"is_long": is_long, "max_classes": MAX_CLASSES}
    if is_long:
        rows = [row for row in rows if row["count"]]
        confusions = quality.confusions()
        cells = [(user_text(true), user_text(predicted), f"{n:,}") for true, predicted, n in confusions[:MAX_PAIRS]]
        values["pairs"] = Table(("true", "predicted as", "times"), cells, "confusions", numbers=(2,))
        values["n_pairs"] = len(confusions)
    else:
        values["matrix"] = _confusion_matrix(subject)
    table = _class_table(rows, "class", "accuracy by class", "The other classes", is_long)
    return Section("accuracy", "Accuracy by class", values | {"classes": table})


def labels_section(subject: Subject) -> Section:
    """Return the section of a model that predicts label sets: every label on its own."""
    quality = subject.label_quality
    assert quality is not None
    metrics, rows = quality.metrics(), quality.by_class()
    cells = [
        (metric.title[0].upper() + metric.title[1:], format_metric(name, float(value)))
        for name, metric in LABEL_METRICS.items()
        if (value := metrics[name]) is not None
    ]
    return Section("labels", "Every label", {
        "metrics": Table(("metric", "value"), cells, "metrics", numbers=(1,)), "max_labels": MAX_CLASSES,
        "table": _class_table(
            rows, "label", "precision and recall of labels", "The other labels", is_long=len(rows) > MAX_CLASSES
        ),
    })  # fmt: skip


def _class_table(rows: list[dict[str, Any]], thing: str, about: str, more: str, is_long: bool) -> Table:
    """Return the precision, the recall and the counts of classes or labels, of very many the worst first."""
    if is_long:
        rows = sorted(rows, key=lambda row: (row["f1"] or 0.0, -row["count"]))[:MAX_ROWS]
    header = (thing, "precision", "recall", "F1", "examples", *(["predicted"] if thing == "label" else []))
    cells = [
        (
            user_text(row["class"]),
            *("–" if row[name] is None else percent(row[name]) for name in ("precision", "recall", "f1")),
            *(f"{row[name]:,}" for name in ("count", "predicted") if name in row),
        )
        for row in rows
    ]
    return Table(header, cells, about, numbers=range(1, len(header)), n_open=MAX_CLASSES, more=more)


def _confusion_matrix(subject: Subject) -> dict[str, Any]:
    """Return the cells with the opacity of their colours: darker where there are more examples of the row's class."""
    confusion = subject.quality.confusion
    fraction = confusion / np.maximum(1, confusion.sum(axis=1, keepdims=True))
    is_diagonal = np.eye(len(confusion), dtype=bool)
    wrong = np.where(is_diagonal, 0.0, fraction)
    opacity = np.where(is_diagonal, 0.45 * fraction, 0.75 * wrong / max(1e-9, wrong.max()))
    # long names stand upright above narrow columns
    is_upright = len(confusion) > 3 and max(len(str(label)) for label in subject.labels) > 5
    return {"counts": confusion.tolist(), "opacity": opacity.tolist(), "is_upright": is_upright}


def curves_section(subject: Subject) -> Section:
    is_known, is_binary = subject.is_known, subject.n_known == 2
    codes, scores = subject.codes[is_known], subject.scores[is_known]
    values: dict[str, Any] = {"metrics": _metrics(subject), "has_curves": len(np.unique(codes)) > 1}
    if not values["has_curves"]:
        return Section("curves", "Metrics and curves", values)
    classes = [visible(str(label)) for label in subject.classes]
    display = CurvesDisplay.from_scores(codes, scores, classes, subject.predicted[is_known])
    name, calibrated = f"{len(display.curves)} classes, each against the rest", "every class"
    roc = precision = "areas in the table below"
    if is_binary:
        name = calibrated = f"class {classes[1]}"
        roc, precision = f"area {display.roc_auc[0]:.3f}", f"average precision {display.average_precision[0]:.3f}"
    else:
        values["areas"] = _areas(subject, codes, scores)
    values["roc"] = Picture(display, f"ROC curve of {name}: {roc}.", options={"kind": "roc"})
    alt = f"Precision-recall curve of {name}: {precision}."
    values["precision_recall"] = Picture(display, alt, options={"kind": "precision_recall"})
    probabilities, reliability = subject.probabilities, subject.quality.reliability
    if probabilities is not None and reliability is not None:
        error = f"{reliability.calibration_error:.3f}"
        curves = SimpleNamespace(plot=lambda: calibration_of(codes, probabilities[is_known], classes)[0])
        picture = Picture(curves, f"Reliability curve of {calibrated}: calibration error {error}.")
        values["calibration"] = {"method": describe_calibration(subject.model), "error": error, "picture": picture}
    return Section("curves", "Metrics and curves", values)


def _metrics(subject: Subject) -> list[tuple[Any, ...]]:
    """Return the title of each metric that is defined, the class that it is about (or None), and its value."""
    rows = []
    for name, value in subject.quality.metrics().items():
        if name in METRIC_NAMES and value is not None and not (name == "f1_macro" and subject.n_known == 2):
            metric = METRICS[name]
            label = user_text(subject.labels[1], 24) if metric.binary else None
            rows.append((metric.title[0].upper() + metric.title[1:], label, format_metric(name, value)))
    return rows


def _areas(subject: Subject, codes: np.ndarray, scores: np.ndarray) -> Table:
    rows: list[tuple[Any, ...]] = []
    for k, cuts in cuts_by_class(codes, scores):
        if cuts.n_positive and cuts.n_negative and len(rows) < MAX_ROWS:
            areas = (f"{area:.3f}" for area in (roc_auc(cuts), average_precision(cuts)))
            rows.append((user_text(subject.labels[k]), *areas, f"{cuts.n_positive:,}"))
    header = ("class", "ROC AUC", "average precision", "examples")
    return Table(header, rows, "areas under the curves", numbers=(1, 2, 3))
