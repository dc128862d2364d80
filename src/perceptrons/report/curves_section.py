"""The section of metrics, ROC and precision-recall curves, and calibration."""

from typing import Any

import numpy as np

from perceptrons.engine.html import visible
from perceptrons.inspection.metrics import METRICS, average_precision, cuts_by_class, roc_auc, shown
from perceptrons.modelfile.summary import calibration_in_words
from perceptrons.plots import CurvesDisplay, calibration_of
from perceptrons.report.page import Picture, Section, Table, user_text
from perceptrons.report.subject import Subject

METRIC_NAMES = (
    "balanced_accuracy", "f1", "f1_macro", "matthews", "roc_auc", "average_precision", "log_loss", "brier_score",
    "calibration_error",
)  # fmt: skip
MAX_ROWS = 1000


def curves_section(subject: Subject) -> Section:
    is_known, threshold = subject.is_known, subject.model.threshold_
    codes, scores = subject.codes[is_known], subject.scores[is_known]
    metrics = subject.quality.metrics()
    rows = []
    for name in METRIC_NAMES:
        value, measure = metrics[name], METRICS[name]
        if value is not None and not (name == "f1_macro" and subject.n_known == 2):
            label = user_text(subject.labels[1], 24) if measure.binary else None
            rows.append((measure.title[0].upper() + measure.title[1:], label, shown(name, value)))
    values: dict[str, Any] = {
        "metrics": rows, "is_vote": subject.model.combine == "vote", "is_binary": subject.n_known == 2,
        "has_curves": len(np.unique(codes)) > 1,
        "threshold": None if threshold is None else f"{threshold:.4g}",
        "omission": subject.omission, "calibration": None,
    }  # fmt: skip
    if values["has_curves"]:
        classes = [visible(str(label)) for label in subject.classes]
        display = CurvesDisplay.from_scores(codes, scores, classes, subject.predicted[is_known])
        values["curves"] = _pictures(display, subject.n_known)
        values["areas"] = _areas(subject, codes, scores) if subject.n_known > 2 else None
        if subject.probabilities is not None:
            reliability = subject.quality.reliability
            assert reliability is not None
            error = f"{reliability.calibration_error:.3f}"
            name = f"class {classes[1]}" if subject.n_known == 2 else "every class"
            picture = Picture(
                _CalibrationCurves(codes, subject.probabilities[is_known], classes),
                f"Reliability curve of {name}: calibration error {error}.",
            )  # fmt: skip
            method = calibration_in_words(subject.model)
            values["calibration"] = {"method": method, "error": error, "picture": picture}
    return Section("curves", "Metrics and curves", values)


def _pictures(display: CurvesDisplay, n_classes: int) -> list[Picture]:
    if n_classes == 2:
        name = f"class {display.curves[0].name}"
        roc, precision = f"area {display.roc_auc[0]:.3f}", f"average precision {display.average_precision[0]:.3f}"
    else:
        name = f"{len(display.curves)} classes, each against the rest"
        roc = precision = "areas in the table below"
    return [
        Picture(display, f"ROC curve of {name}: {roc}.", options={"kind": "roc"}),
        Picture(
            display, f"Precision-recall curve of {name}: {precision}.",
            options={"kind": "precision_recall"},
        ),
    ]  # fmt: skip


class _CalibrationCurves:
    """Calibration curves as a display."""

    def __init__(self, codes: np.ndarray, probabilities: np.ndarray, classes: list[str]):
        self.codes, self.probabilities, self.classes = codes, probabilities, classes

    def plot(self) -> Any:
        return calibration_of(self.codes, self.probabilities, self.classes)[0]


def _areas(subject: Subject, codes: np.ndarray, scores: np.ndarray) -> Table:
    rows: list[tuple[Any, ...]] = []
    for k, cuts in cuts_by_class(codes, scores):
        if cuts.n_positive and cuts.n_negative and len(rows) < MAX_ROWS:
            areas = (f"{area:.3f}" for area in (roc_auc(cuts), average_precision(cuts)))
            rows.append((user_text(subject.labels[k]), *areas, f"{cuts.n_positive:,}"))
    return Table(
        ("class", "ROC AUC", "average precision", "examples"), rows, "areas under the curves", numbers=(1, 2, 3)
    )
