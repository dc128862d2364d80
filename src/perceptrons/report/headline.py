"""The top of the page: what the model is, how good it is, and how it was found."""

from typing import Any

from perceptrons.report.page import element, joined, paragraph, user, warning
from perceptrons.report.subject import Subject
from perceptrons.report.words import count, percent
from perceptrons.selection import wilson
from perceptrons.training.html import Html

COMBINED = {
    "average": "averaged weights", "last": "the last weights", "vote": "votes of all weights that ever were",
    "pocket": "the weights with the fewest mistakes",
}  # fmt: skip


def headline(subject: Subject, title: str) -> Html:
    """The heading, a sentence, the figures and what must be known about them."""
    n, right, counts = subject.n, int(subject.right.sum()), subject.counts()
    low, high, level, _ = wilson(right, n)
    commonest = int(counts.argmax())
    cards = [
        _card("Accuracy", percent(right / n), f"{right:,} of {n:,} right"),
        _card(f"{level:.0%} interval", f"{percent(low)} to {percent(high)}", "Wilson's, for examples like these"),
        _card(
            "Baseline", percent(counts[commonest] / n), "always answering ", user(subject.labels[commonest], 24),
            ", the commonest " + ("class" if commonest < subject.known else "label, which the model does not know"),
        ),
    ]  # fmt: skip
    return joined(
        [
            element("h1", title),
            paragraph(in_words(subject)),
            element("div", *cards, class_="cards"),
            *_notes(subject, counts),
            *_recipe(subject.model, getattr(subject.model, "recipe_", None)),
        ]
    )


def in_words(subject: Subject) -> str:
    """What the model is and what it was asked."""
    model = subject.model
    words = COMBINED.get(model.combine, model.combine)
    if subject.is_kernel:
        words = f"{model.kernel if isinstance(model.kernel, str) else 'own'} kernel, "
        words += count(model.n_support_, "support example")
    steps = "" if subject.before is None else f", behind {count(len(subject.before.steps), 'step')} of a pipeline"
    width = model.n_features_in_
    return (
        f"{type(model).__name__} ({words}{steps}) of {count(subject.known, 'class', 'classes')} and "
        f"{count(width, 'feature')}, asked for {count(subject.n, 'example')}."
    )


def _card(name: str, figure: str, *below: Any) -> Html:
    return element("div", name, element("b", figure), element("span", *below, class_="soft"), class_="card")


def _notes(subject: Subject, counts: Any) -> list[Html]:
    notes = []
    if subject.origin.more:
        notes.append(
            warning(
                f"the data hold more examples; everything here is about the first {subject.n:,} only. If they are "
                "sorted, these are not like the rest."
            )
        )
    strange = int(counts[subject.known :].sum())
    if strange:
        one = strange == 1
        named = joined(
            piece for label in subject.labels[subject.known :][:5] for piece in (user(label, 24), ", ")
        )  # fmt: skip
        notes.append(
            warning(
                count(strange, "example"), f" with {'a label' if one else 'labels'} that the model does not know (",
                Html(named.removesuffix(", ")), ", …" * (len(subject.labels) - subject.known > 5),
                ") counts as a mistake." if one else ") count as mistakes.",
            )
        )  # fmt: skip
    if learned_from_these(subject):
        notes.append(
            warning(
                "there are just as many examples here as the model learned from in an epoch. If they are the same, "
                "these figures are too good: use examples that it has not seen."
            )
        )
    elif split_these(subject):
        sizes = subject.model.recipe_["sizes"]
        notes.append(
            warning(
                "the recipe that found this model split just as many examples. If they are these, it has learned "
                f"from, or was chosen by, {sum(sizes.values()) - sizes.get('test', 0):,} of them, and only its own "
                "test figure is that of examples never seen."
            )
        )
    else:
        notes.append(
            paragraph(
                "The page cannot know whether the model learned from some of these examples. If so, the figures are "
                "too good.",
                class_="soft",
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


def _recipe(model: Any, told: Any) -> list[Html]:
    """What the test of `perceptrons tune` or `selection.recipe` said, if the model went through it."""
    if not isinstance(told, dict) or told.get("test_score") is None:
        return []
    looks = told.get("looks") or 0
    said = paragraph(
        "Its recipe tested it on ", count((told.get("sizes") or {}).get("test", 0), "example"), " held out: ",
        element("strong", f"{told.get('metric', 'accuracy')} {figure_of(told)}"), ".",
    )  # fmt: skip
    minds = []
    if looks > 1:
        minds.append(
            f"the test examples of the recipe were looked at {looks} times, so that its test figure is no longer that "
            "of examples never seen."
        )
    twice = in_both(told)
    if twice:
        minds.append(
            f"{twice:,} of the test examples {'was' if twice == 1 else 'were'} also among those learned from or chosen "
            "by, so that the test figure of the recipe may be too good."
        )
    if learned_on(model, told):
        minds.append("the model has learned on since, so that the test figure of its recipe is of a model before.")
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
