"""The sections of accuracy by class with the confusion matrix, and of every label of a model with label sets."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from perceptrons.engine.wording import percent
from perceptrons.inspection.metrics import LABEL_METRICS, format_metric
from perceptrons.report.page import Section, Table, user_text
from perceptrons.report.subject import Subject

MAX_CLASSES = 20  # of more, the worst are shown first, and instead of a matrix the most frequent confusions
MAX_ROWS = 1000
MAX_PAIRS = 20


def accuracy_section(subject: Subject) -> Section:
    rows = subject.quality.by_class()
    if is_long := len(rows) > MAX_CLASSES:
        rows = _worst_first(row for row in rows if row["count"])
    values: dict[str, Any] = {"is_long": is_long, "max_classes": MAX_CLASSES, "matrix": None, "pairs": None}
    if is_long:
        confusions = subject.quality.confusions()
        cells = [(user_text(true), user_text(predicted), f"{n:,}") for true, predicted, n in confusions[:MAX_PAIRS]]
        values["pairs"] = Table(("true", "predicted as", "times"), cells, "confusions", numbers=(2,))
        values["n_pairs"] = len(confusions)
    else:
        values["matrix"] = _confusion_matrix(subject)
    return Section("accuracy", "Accuracy by class", values | {
        "classes": _table(rows[:MAX_CLASSES], "class", "accuracy by class"),
        "others": _table(rows[MAX_CLASSES:MAX_ROWS], "class", "the other classes"),
    })  # fmt: skip


def labels_section(subject: Subject) -> Section:
    """Return the section of a model that predicts label sets: every label on its own."""
    quality = subject.label_quality
    assert quality is not None
    metrics, rows, about = quality.metrics(), quality.by_class(), "precision and recall of labels"
    cells = [
        (metric.title[0].upper() + metric.title[1:], format_metric(name, float(value)))
        for name, metric in LABEL_METRICS.items()
        if (value := metrics[name]) is not None
    ]
    if len(rows) > MAX_CLASSES:
        rows = _worst_first(rows)
    return Section("labels", "Every label", {
        "metrics": Table(("metric", "value"), cells, "metrics", numbers=(1,)),
        "n_labels": len(rows), "max_labels": MAX_CLASSES, "table": _table(rows[:MAX_CLASSES], "label", about),
        "others": _table(rows[MAX_CLASSES:MAX_ROWS], "label", about),
    })  # fmt: skip


def _worst_first(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["f1"] or 0.0, -row["count"]))


def _table(rows: list[dict[str, Any]], thing: str, about: str) -> Table:
    """Return the precision, the recall and the counts of classes or labels."""
    header = (thing, "precision", "recall", "F1", "examples", *(["predicted"] if thing == "label" else []))
    cells = [
        (
            user_text(row["class"]),
            *("–" if row[name] is None else percent(row[name]) for name in ("precision", "recall", "f1")),
            *(f"{row[name]:,}" for name in ("count", "predicted") if name in row),
        )
        for row in rows
    ]
    return Table(header, cells, about, numbers=range(1, len(header)))


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
