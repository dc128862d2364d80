"""The top of the report: the model, its scores, its training, and its tuning."""

from typing import Any

from perceptrons.engine.wording import changed, count, why_it_stopped
from perceptrons.engine.wording import short as shorten
from perceptrons.inspection.metrics import LABEL_METRICS, format_metric
from perceptrons.inspection.summary import categories_of, describe_preparation
from perceptrons.plots import HistoryDisplay
from perceptrons.report.page import Picture, Section
from perceptrons.report.subject import Subject
from perceptrons.selection import wilson

COMBINED = {
    "average": "averaged weights", "recent": "an average of recent weights", "last": "the last weights",
    "vote": "votes of all weights of the training history", "pocket": "the weights with the fewest mistakes",
}  # fmt: skip
UNMENTIONED_SOURCE = (  # of how files were read
    "format", "multilabel", "text", "text_labels", "names", "numbers", "preparation", "prefix",
)  # fmt: skip


def header(subject: Subject) -> Section:
    """Return the scores, the baseline and what a reader must know about them."""
    model, right = subject.model, int(subject.is_correct.sum())
    combined = COMBINED.get(model.combine, model.combine)
    if subject.is_kernel:
        kernel = model.kernel if isinstance(model.kernel, str) else "own"
        combined = f"{kernel} kernel, {count(model.n_support_, 'support vector')}"
    return Section("header", "", {
        "combined": combined, "right": right, "interval": wilson(right, subject.n),
        "most_frequent": int(subject.counts.argmax()),
    })  # fmt: skip


def label_sets_header(subject: Subject) -> Section:
    """Return the same for a model that predicts label sets."""
    quality = subject.label_quality
    assert quality is not None
    metrics = quality.metrics()
    cards = [
        (LABEL_METRICS[name].title, format_metric(name, float(metrics[name] or 0.0)), note)
        for name, note in (
            ("f1_micro", "of all labels together"),
            ("f1_macro", "the mean of the labels"),
            ("hamming_loss", "wrong decisions per example and label"),
            ("accuracy", f"{quality.right:,} of {quality.total:,} label sets right"),
        )
    ]
    return Section("label_sets_header", "", {"cards": cards, "quality": quality})


def training_section(subject: Subject) -> Section:
    model, history = subject.model, getattr(subject.model, "history_", None) or []
    source, picture = getattr(model, "source_", None), None
    if history:
        alt = f"{count(history[0]['mistakes'], 'mistake')} in its only epoch."
        if len(history) > 1:
            first, last = history[0]["mistakes"], history[-1]["mistakes"]
            alt = f"Mistakes by epoch: {first:,} in the first of {len(history):,} epochs, {last:,} in the last."
        picture = Picture(HistoryDisplay.from_estimator(model), alt, alt)
    return Section("training", "Training", {
        "settings": ", ".join(f"{name}={shorten(repr(value), 60)}" for name, value in changed(model).items()),
        "n_epochs": len(history), "why_stopped": why_it_stopped(model), "history": picture,
        "source": _describe_source(source) if isinstance(source, dict) else None,
    })  # fmt: skip


def _describe_source(source: dict[str, Any]) -> str:
    """Return how files were read, as far as it is not as usual: text files (form tab, words 1-2)."""
    options = [
        f"{name.replace('_', ' ')} {shorten(str(value))}"
        for name, value in (source | {"categories": categories_of(source)}).items()
        if value not in (None, False, [], {}) and name not in UNMENTIONED_SOURCE
    ]
    text = source.get("text") or {}
    for name in ("words", "chars"):
        if text.get(name) and list(text[name]) != [1, 1]:
            options.append(f"{name} {'-'.join(str(size) for size in dict.fromkeys(text[name]))}")
    options += describe_preparation(source)
    return f"{source.get('format')} files" + (f" ({', '.join(options)})" if options else "")
