"""The top of the report: the model, its scores, its training, and its tuning."""

from typing import Any

from perceptrons.engine.html import Html
from perceptrons.engine.wording import changed, count, percent, why_it_stopped
from perceptrons.engine.wording import short as on_one_line
from perceptrons.inspection.units import categories_of, prepared_in_words
from perceptrons.plots import HistoryDisplay
from perceptrons.plots.style import render
from perceptrons.report.page import (
    WIDTH,
    Section,
    element,
    facts,
    figure,
    joined,
    listed,
    paragraph,
    section,
    short,
    soft,
    user,
    warning,
)
from perceptrons.report.subject import Subject
from perceptrons.selection import wilson

COMBINED = {
    "average": "averaged weights", "recent": "an average of recent weights", "last": "the last weights",
    "vote": "votes of all weights of the training history", "pocket": "the weights with the fewest mistakes",
}  # fmt: skip

NOT_SAID = (
    "format",
    "multilabel",
    "text",
    "text_labels",
    "names",
    "numbers",
    "preparation",
    "prefix",
)  # of how files were read


def headline(subject: Subject, title: str) -> Html:
    """The heading, a sentence, the scores and notes about them."""
    n, right, counts = subject.n, int(subject.right.sum()), subject.counts()
    low, high, level, _ = wilson(right, n)
    commonest = int(counts.argmax())
    cards = [
        _card("Accuracy", percent(right / n), f"{right:,} of {n:,} right"),
        _card(f"{level:.0%} interval", f"{percent(low)} to {percent(high)}", "Wilson interval, for examples like "
        "these"),
        _card(
            "Baseline", percent(counts[commonest] / n), "always predicting ", user(subject.labels[commonest], 24),
            ", the most frequent " + ("class" if commonest < subject.known else "label, which the model does not know"),
        ),
    ]  # fmt: skip
    return joined(
        [
            element("h1", title),
            paragraph(in_words(subject)),
            element("div", *cards, class_="cards"),
            *notes_about(subject, counts),
            *_tested(subject.model, getattr(subject.model, "recipe_", None)),
        ]
    )


def in_words(subject: Subject) -> str:
    """What the model is and what it was asked."""
    model = subject.model
    words = COMBINED.get(model.combine, model.combine)
    if subject.is_kernel:
        words = f"{model.kernel if isinstance(model.kernel, str) else 'own'} kernel, "
        words += count(model.n_support_, "support vector")
    steps = "" if subject.before is None else f", behind {count(len(subject.before.steps), 'step')} of a pipeline"
    width = model.n_features_in_
    return (
        f"{type(model).__name__} ({words}{steps}) of {count(subject.known, 'class', 'classes')} and "
        f"{count(width, 'feature')}, evaluated on {count(subject.n, 'example')}."
    )


def _card(name: str, figure: str, *below: Any) -> Html:
    return element("div", name, element("b", figure), element("span", *below, class_="soft"), class_="card")


def notes_about(subject: Subject, counts: Any) -> list[Html]:
    """What the reader should know about the numbers of the page."""
    notes = []
    if subject.origin.more:
        notes.append(
            warning(
                f"the data contain more examples; this page is about the first {subject.n:,} only. If the data are "
                "sorted, these are not representative."
            )
        )
    strange = int(counts[subject.known :].sum())
    if strange:
        one = strange == 1
        notes.append(
            warning(
                count(strange, "example"), f" with {'a label' if one else 'labels'} that the model does not know (",
                listed(subject.labels[subject.known :][:5], 24), ", …" * (len(subject.labels) - subject.known > 5),
                ") counts as a mistake." if one else ") count as mistakes.",
            )
        )  # fmt: skip
    if learned_from_these(subject):
        notes.append(
            warning(
                "there are exactly as many examples here as in the training set. If they are the same, these scores "
                "are too good: use examples that the model has not seen."
            )
        )
    elif split_these(subject):
        sizes = subject.model.recipe_["sizes"]
        notes.append(
            warning(
                "this model was tuned on exactly as many examples. If they are the same, "
                f"{sum(sizes.values()) - sizes.get('test', 0):,} of them were used for training or validation, and "
                "only the test score of the tuning is that of unseen examples."
            )
        )
    else:
        notes.append(
            soft(
                "This page cannot know whether the model was trained on some of these examples. If so, the scores "
                "are too good."
            )
        )
    return notes


def learned_from_these(subject: Subject) -> bool:
    """Do the model's counts fit examples that it learned from?"""
    model = subject.model
    epochs = len(model.history_) if getattr(model, "history_", None) else 0
    return bool(epochs) and round(float(model.t_)) == epochs * subject.n


def split_these(subject: Subject) -> bool:
    """Are there as many examples as the recipe split that found the model?"""
    told = getattr(subject.model, "recipe_", None)
    return isinstance(told, dict) and sum((told.get("sizes") or {}).values()) == subject.n


def _tested(model: Any, told: Any) -> list[Html]:
    """What the test of `perceptrons tune` or `selection.recipe` said, if the model went through it."""
    if not isinstance(told, dict) or told.get("test_score") is None:
        return []
    looks = told.get("looks") or 0
    said = paragraph(
        "After tuning, it was tested on ", count((told.get("sizes") or {}).get("test", 0), "held-out example"), ": ",
        element("strong", f"{told.get('metric', 'accuracy')} {figure_of(told)}"), ".",
    )  # fmt: skip
    minds = []
    if looks > 1:
        minds.append(f"the test set of the tuning was used {looks} times, so its test score may be too optimistic.")
    twice = in_both(told)
    if twice:
        minds.append(
            f"{twice:,} of the test examples {'was' if twice == 1 else 'were'} also in the training or validation "
            "set, so the test score of the tuning may be too good."
        )
    if learned_on(model, told):
        minds.append(
            "the model was trained further since, so the test score of the tuning is that of an earlier version."
        )
    return [said, *map(warning, minds)]


def in_both(told: dict[str, Any]) -> int:
    """How many test examples the recipe met among the others; files may say nothing, or anything."""
    twice = told.get("twice")
    return twice if isinstance(twice, int) and twice > 0 else 0


def learned_on(model: Any, told: dict[str, Any]) -> bool:
    """Has the model seen more examples than when its recipe tested it?"""
    return told.get("examples_seen", model.t_) != model.t_


def figure_of(told: dict[str, Any]) -> str:
    """0.9563 (95% interval 0.9125 to 0.9786)"""
    interval = told.get("test_interval")
    within = f" ({interval['level']:.0%} interval {interval['low']:.4f} to {interval['high']:.4f})" if interval else ""
    return f"{told['test_score']:.4f}{within}"


def how_trained(subject: Subject) -> Section:
    """The section."""
    model = subject.model
    rows: list[tuple[Any, Any]] = [("Kind", element("code", type(model).__name__))]
    own = [f"{name}={on_one_line(repr(value), 60)}" for name, value in changed(model).items()]
    rows.append(("Settings", element("code", ", ".join(own)) if own else "all defaults"))
    history = getattr(model, "history_", None) or []
    if history:
        rows.append(("Epochs", short(len(history))))
    rows.append(("Examples seen", f"{short(float(model.t_))}, counting repetitions"))
    rows.append(("Updates", f"{model.n_updates_:,}, {model.n_mistakes_:,} of them after mistakes"))
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
        parts.append(figure(render(HistoryDisplay.from_estimator(model), max_width=WIDTH), alt, alt))
    else:
        parts.append(soft("It was trained on blocks, without epochs: there is no training history to draw."))
    return section("training", "Training", *parts, *_how_found(model, getattr(model, "recipe_", None)))


def _how_found(model: Any, told: Any) -> list[Any]:
    """How the settings were found, if `perceptrons tune` or `selection.recipe` did."""
    if not isinstance(told, dict):
        return []
    sizes, metric = told.get("sizes") or {}, told.get("metric", "accuracy")
    rows: list[tuple[Any, Any]] = []
    if sizes:
        parts = f"{sizes.get('train', 0):,} for training, {sizes.get('dev', 0):,} for validation, "
        rows.append(("Split", f"{told.get('split')}: {parts}{sizes.get('test', 0):,} for testing"))
    rows.append(("Settings tried", short(told.get("settings_tried") or 1)))
    if told.get("dev_score") is not None:
        rows.append(
            (f"Development {metric}", f"{told['dev_score']:.4f}, that of the best setting: slightly too optimistic")
        )
    if told.get("test_score") is not None:
        rows.append((f"Test {metric}", figure_of(told)))
        rows.append(("Uses of the test set", short(told.get("looks") or 0)))
        if in_both(told):
            rows.append(("Test examples seen before", f"{in_both(told):,}, in the training or validation set"))
    if learned_on(model, told):
        rows.append(("Trained further since", "yes: the scores above are those of an earlier version"))
    return [element("h3", "Tuning"), facts(rows)]


def _source(source: dict[str, Any]) -> str:
    """text files (form tab, words 1-2): how files were read, as far as it is not as usual."""
    text = source.get("text") or {}
    said = [
        f"{name.replace('_', ' ')} {on_one_line(str(value))}"
        for name, value in (source | {"categories": categories_of(source)}).items()
        if value not in (None, False, [], {}) and name not in NOT_SAID
    ]
    for name in ("words", "chars"):
        if text.get(name) and list(text[name]) != [1, 1]:
            said.append(f"{name} {'-'.join(str(size) for size in dict.fromkeys(text[name]))}")
    said += prepared_in_words(source)
    return f"{source.get('format')} files" + (f" ({', '.join(said)})" if said else "")
