"""How the model was trained, and why training stopped."""

from typing import Any

from perceptrons.plots import HistoryDisplay
from perceptrons.plots.once import drawn
from perceptrons.report.headline import figure_of, in_both, learned_on
from perceptrons.report.page import WIDTH, Section, element, facts, figure, paragraph, section
from perceptrons.report.subject import Subject
from perceptrons.report.words import count, short
from perceptrons.training.wording import changed, why_it_stopped
from perceptrons.training.wording import short as on_one_line


def how_trained(subject: Subject) -> Section:
    """The section."""
    model = subject.model
    rows: list[tuple[Any, Any]] = [("Kind", element("code", type(model).__name__))]
    own = [f"{name}={on_one_line(repr(value), 60)}" for name, value in changed(model).items()]
    rows.append(("Settings", element("code", ", ".join(own)) if own else "all at their defaults"))
    history = getattr(model, "history_", None) or []
    if history:
        rows.append(("Epochs", short(len(history))))
    rows.append(("Examples seen", f"{short(float(model.t_))}, counted every time"))
    rows.append(("Updates", f"{model.n_updates_:,}, {model.n_mistakes_:,} of them at mistakes"))
    rows.append(("Why it stopped", why_it_stopped(model)))
    source = getattr(model, "source_", None)
    if isinstance(source, dict):
        rows.append(("Read from", _source(source)))
    parts = [facts(rows)]
    if history:
        first, last = history[0], history[-1]
        alt = (
            f"Mistakes by epoch: {first['mistakes']:,} in the first of {len(history):,} epochs, "
            f"{last['mistakes']:,} in the last."
        )
        if len(history) == 1:
            alt = f"{count(first['mistakes'], 'mistake')} in its only epoch."
        parts.append(figure(drawn(HistoryDisplay.from_estimator(model), width=WIDTH), alt, alt))
    else:
        parts.append(paragraph("It learned in blocks, without epochs: there is no history to draw.", class_="soft"))
    return section("training", "How it was trained", *parts, *_recipe(model, getattr(model, "recipe_", None)))


def _recipe(model: Any, told: Any) -> list[Any]:
    """How the settings were found, if `perceptrons tune` or `selection.recipe` did."""
    if not isinstance(told, dict):
        return []
    sizes, metric = told.get("sizes") or {}, told.get("metric", "accuracy")
    rows: list[tuple[Any, Any]] = []
    if sizes:
        parts = f"{sizes.get('train', 0):,} to learn from, {sizes.get('dev', 0):,} for development, "
        rows.append(("Split", f"{told.get('split')}: {parts}{sizes.get('test', 0):,} to test on"))
    rows.append(("Settings tried", short(told.get("settings_tried") or 1)))
    if told.get("dev_score") is not None:
        rows.append((f"Development {metric}", f"{told['dev_score']:.4f}, that of the best setting: a little too good"))
    if told.get("test_score") is not None:
        rows.append((f"Test {metric}", figure_of(told)))
        rows.append(("Looks at the test", short(told.get("looks") or 0)))
        if in_both(told):
            rows.append(("Test examples met before", f"{in_both(told):,}, among those learned from or chosen by"))
    if learned_on(model, told):
        rows.append(("Learned on since", "yes: the figures above are of a model before"))
    return [element("h3", "How its settings were found"), facts(rows)]


def _source(source: dict[str, Any]) -> str:
    """text files (form tab, words 1-2): how files were read, as far as it is not as usual."""
    text = source.get("text") or {}
    said = [
        f"{name.replace('_', ' ')} {on_one_line(str(value))}"
        for name, value in source.items()
        if value not in (None, False, [], {}) and name not in ("format", "text", "text_labels", "names", "numbers")
    ]
    for name in ("words", "chars"):
        if text.get(name) and list(text[name]) != [1, 1]:
            said.append(f"{name} {'-'.join(str(size) for size in dict.fromkeys(text[name]))}")
    return f"{source.get('format')} files" + (f" ({', '.join(said)})" if said else "")
