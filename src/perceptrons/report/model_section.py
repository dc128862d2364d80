"""The top of the report: the model, its scores, its training, and its tuning."""

from typing import Any

from perceptrons.engine.wording import changed, count, percent, why_it_stopped
from perceptrons.engine.wording import short as shorten
from perceptrons.inspection.metrics import LABEL_METRICS, shown
from perceptrons.inspection.units import categories_of, prepared_in_words
from perceptrons.plots import HistoryDisplay
from perceptrons.report.page import Picture, Section, format_number, user_text, user_texts
from perceptrons.report.subject import Subject
from perceptrons.selection import wilson

COMBINED = {
    "average": "averaged weights", "recent": "an average of recent weights", "last": "the last weights",
    "vote": "votes of all weights of the training history", "pocket": "the weights with the fewest mistakes",
}  # fmt: skip
MAX_UNKNOWN_LABELS = 5
UNMENTIONED_SOURCE = (  # of how files were read
    "format", "multilabel", "text", "text_labels", "names", "numbers", "preparation", "prefix",
)  # fmt: skip


def header(subject: Subject) -> Section:
    """The scores, the baseline and what a reader must know about them."""
    model, n, right = subject.model, subject.n, int(subject.is_correct.sum())
    low, high, level, _ = wilson(right, n)
    most_frequent = int(subject.counts.argmax())
    combined = COMBINED.get(model.combine, model.combine)
    if subject.is_kernel:
        kernel = model.kernel if isinstance(model.kernel, str) else "own"
        combined = f"{kernel} kernel, {count(model.n_support_, 'support vector')}"
    return Section("header", "", {
        "model": type(model).__name__, "combined": combined, "n_classes": count(subject.n_known, "class", "classes"),
        "n_features": count(model.n_features_in_, "feature"), "n_examples": count(n, "example"),
        "n_steps": None if subject.transformer is None else count(len(subject.transformer.steps), "step"),
        "accuracy": percent(right / n), "right": f"{right:,} of {n:,} right",
        "level": f"{level:.0%}", "interval": f"{percent(low)} to {percent(high)}",
        "baseline": percent(subject.counts[most_frequent] / n),
        "most_frequent": user_text(subject.labels[most_frequent], 24),
        "is_class": most_frequent < subject.n_known,
        "notes": _notes(subject), "tuning": _tuning(subject),
    })  # fmt: skip


def label_sets_header(subject: Subject) -> Section:
    """The same for a model that predicts label sets."""
    quality, model = subject.label_quality, subject.model
    assert quality is not None
    metrics = quality.metrics()
    cards = [
        (LABEL_METRICS[name].title, shown(name, float(metrics[name] or 0.0)), note)
        for name, note in (
            ("f1_micro", "of all labels together"),
            ("f1_macro", "the mean of the labels"),
            ("hamming_loss", "wrong decisions per example and label"),
            ("accuracy", f"{quality.right:,} of {quality.total:,} label sets right"),
        )
    ]
    return Section("label_sets_header", "", {
        "model": type(model).__name__, "n_known": count(subject.n_known, "label"),
        "n_features": count(model.n_features_in_, "feature"), "n_examples": count(subject.n, "example"),
        "n_labels": count(quality.n_labels, "label"), "labels_per_example": f"{quality.n_labels / quality.total:.2f}",
        "cards": cards, "notes": _notes(subject),
    })  # fmt: skip


def _notes(subject: Subject) -> dict[str, Any]:
    """What the reader should know about the numbers of the page."""
    n_unknown, unknown = int(subject.counts[subject.n_known :].sum()), subject.labels[subject.n_known :]
    learned_here, sizes = has_training_size(subject), (_recipe(subject.model) or {}).get("sizes") or {}
    return {
        "n_read": f"{subject.n:,}" if subject.origin.more else None,
        "n_unknown": count(n_unknown, "example") if n_unknown else None, "one_unknown": n_unknown == 1,
        "unknown": user_texts(unknown[:MAX_UNKNOWN_LABELS], 24), "more_unknown": len(unknown) > MAX_UNKNOWN_LABELS,
        "has_training_size": learned_here,
        "has_tuning_size": not learned_here and sum(sizes.values()) == subject.n,
        "n_tuned": f"{sum(sizes.values()) - sizes.get('test', 0):,}",
    }  # fmt: skip


def has_training_size(subject: Subject) -> bool:
    """Return whether there are as many examples as the model learned from in each epoch."""
    n_epochs = len(getattr(subject.model, "history_", None) or [])
    return bool(n_epochs) and round(float(subject.model.t_)) == n_epochs * subject.n


def _recipe(model: Any) -> dict[str, Any] | None:
    """Return how `perceptrons tune` or `selection.recipe` found the model, if they did."""
    recipe = getattr(model, "recipe_", None)
    return recipe if isinstance(recipe, dict) else None


def _tuning(subject: Subject) -> dict[str, Any] | None:
    """Return the facts of the tuning; files may leave any of them out."""
    model, recipe = subject.model, _recipe(subject.model)
    if recipe is None:
        return None
    sizes, interval, twice = recipe.get("sizes") or {}, recipe.get("test_interval"), recipe.get("twice")
    test_score = None
    if recipe.get("test_score") is not None:
        test_score = f"{recipe['test_score']:.4f}"
        if interval:
            ends = f"{interval['low']:.4f} to {interval['high']:.4f}"
            test_score += f" ({interval['level']:.0%} interval {ends})"
    return {
        "metric": recipe.get("metric", "accuracy"), "split": recipe.get("split"), "has_sizes": bool(sizes),
        "sizes": {name: f"{sizes.get(name, 0):,}" for name in ("train", "dev", "test")},
        "n_test": count(sizes.get("test", 0), "held-out example"),
        "n_settings": format_number(recipe.get("settings_tried") or 1),
        "dev_score": None if recipe.get("dev_score") is None else f"{recipe['dev_score']:.4f}",
        "test_score": test_score, "n_looks": recipe.get("looks") or 0,
        "n_seen_before": twice if isinstance(twice, int) and twice > 0 else 0,
        "trained_further": recipe.get("examples_seen", model.t_) != model.t_,
    }  # fmt: skip


def training_section(subject: Subject) -> Section:
    model, history = subject.model, getattr(subject.model, "history_", None) or []
    source, picture = getattr(model, "source_", None), None
    if len(history) == 1:
        picture = f"{count(history[0]['mistakes'], 'mistake')} in its only epoch."
    elif history:
        picture = (
            f"Mistakes by epoch: {history[0]['mistakes']:,} in the first of {len(history):,} epochs, "
            f"{history[-1]['mistakes']:,} in the last."
        )
    return Section("training", "Training", {
        "kind": type(model).__name__,
        "settings": ", ".join(f"{name}={shorten(repr(value), 60)}" for name, value in changed(model).items()),
        "n_epochs": len(history), "n_seen": format_number(float(model.t_)), "n_updates": model.n_updates_,
        "n_mistakes": model.n_mistakes_, "why_stopped": why_it_stopped(model),
        "source": _describe_source(source) if isinstance(source, dict) else None,
        "history": Picture(HistoryDisplay.from_estimator(model), picture, picture) if picture else None,
        "tuning": _tuning(subject),
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
    options += prepared_in_words(source)
    return f"{source.get('format')} files" + (f" ({', '.join(options)})" if options else "")
