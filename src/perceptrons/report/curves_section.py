"""The section of metrics, ROC and precision-recall curves, and calibration."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from perceptrons.engine.html import visible
from perceptrons.inspection.metrics import METRICS, average_precision, cuts_by_class, format_metric, roc_auc
from perceptrons.inspection.summary import describe_calibration
from perceptrons.plots import CurvesDisplay, calibration_of
from perceptrons.report.page import Picture, Section, Table, user_text
from perceptrons.report.subject import Subject

METRIC_NAMES = (
    "balanced_accuracy", "f1", "f1_macro", "matthews", "roc_auc", "average_precision", "log_loss", "brier_score",
    "calibration_error",
)  # fmt: skip
MAX_ROWS = 1000


def curves_section(subject: Subject) -> Section:
    is_known = subject.is_known
    codes, scores = subject.codes[is_known], subject.scores[is_known]
    metrics = subject.quality.metrics()
    rows = []
    for name in METRIC_NAMES:
        value, measure = metrics[name], METRICS[name]
        if value is not None and not (name == "f1_macro" and subject.n_known == 2):
            label = user_text(subject.labels[1], 24) if measure.binary else None
            rows.append((measure.title[0].upper() + measure.title[1:], label, format_metric(name, value)))
    values: dict[str, Any] = {
        "metrics": rows, "has_curves": len(np.unique(codes)) > 1, "areas": None, "calibration": None,
    }  # fmt: skip
    if values["has_curves"]:
        classes = [visible(str(label)) for label in subject.classes]
        display = CurvesDisplay.from_scores(codes, scores, classes, subject.predicted[is_known])
        name, roc, precision = (
            f"{len(display.curves)} classes, each against the rest",
            *["areas in the table below"] * 2,
        )
        if subject.n_known == 2:
            name = f"class {classes[1]}"
            roc, precision = f"area {display.roc_auc[0]:.3f}", f"average precision {display.average_precision[0]:.3f}"
        else:
            values["areas"] = _areas(subject, codes, scores)
        values["roc"] = Picture(display, f"ROC curve of {name}: {roc}.", options={"kind": "roc"})
        values["precision_recall"] = Picture(
            display, f"Precision-recall curve of {name}: {precision}.", options={"kind": "precision_recall"}
        )
        probabilities, reliability = subject.probabilities, subject.quality.reliability
        if probabilities is not None and reliability is not None:
            error, name = f"{reliability.calibration_error:.3f}", name if subject.n_known == 2 else "every class"
            curves = SimpleNamespace(plot=lambda: calibration_of(codes, probabilities[is_known], classes)[0])
            picture = Picture(curves, f"Reliability curve of {name}: calibration error {error}.")
            values["calibration"] = {"method": describe_calibration(subject.model), "error": error, "picture": picture}
    return Section("curves", "Metrics and curves", values)


def _areas(subject: Subject, codes: np.ndarray, scores: np.ndarray) -> Table:
    rows: list[tuple[Any, ...]] = []
    for k, cuts in cuts_by_class(codes, scores):
        if cuts.n_positive and cuts.n_negative and len(rows) < MAX_ROWS:
            areas = (f"{area:.3f}" for area in (roc_auc(cuts), average_precision(cuts)))
            rows.append((user_text(subject.labels[k]), *areas, f"{cuts.n_positive:,}"))
    return Table(
        ("class", "ROC AUC", "average precision", "examples"), rows, "areas under the curves", numbers=(1, 2, 3)
    )
