"""The section of a model that predicts label sets: every label on its own."""

from typing import Any

from perceptrons.engine.wording import percent
from perceptrons.inspection.metrics import LABEL_METRICS, shown
from perceptrons.report.page import Section, Table, user_text
from perceptrons.report.subject import Subject

MAX_LABELS = 20  # of more, those with the lowest F1 are shown first
MAX_ROWS = 1000


def labels_section(subject: Subject) -> Section:
    quality = subject.label_quality
    assert quality is not None
    values = quality.metrics()
    metrics = [
        (metric.title[0].upper() + metric.title[1:], shown(name, float(value)))
        for name, metric in LABEL_METRICS.items()
        if (value := values[name]) is not None
    ]
    rows = quality.by_class()
    if len(rows) > MAX_LABELS:
        rows.sort(key=lambda row: (row["f1"] or 0.0, -row["count"]))
    return Section("labels", "Every label", {
        "metrics": Table(("metric", "value"), metrics, "metrics", numbers=(1,)),
        "n_labels": len(rows), "max_labels": MAX_LABELS, "table": _table(rows[:MAX_LABELS]),
        "others": _table(rows[MAX_LABELS:MAX_ROWS]),
    })  # fmt: skip


def _table(rows: list[dict[str, Any]]) -> Table:
    cells = [
        (
            user_text(row["class"]),
            *("–" if row[name] is None else percent(row[name]) for name in ("precision", "recall", "f1")),
            f"{row['count']:,}", f"{row['predicted']:,}",
        )
        for row in rows
    ]  # fmt: skip
    header = ("label", "precision", "recall", "F1", "examples", "predicted")
    return Table(header, cells, "precision and recall of labels", numbers=(1, 2, 3, 4, 5))
