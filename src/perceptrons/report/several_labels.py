"""The page of a model whose examples may have several labels: every label on its own, instead of confusions."""

from typing import Any

from perceptrons.engine.html import Html
from perceptrons.engine.wording import count, percent
from perceptrons.inspection.label_quality import LabelQuality
from perceptrons.inspection.metrics import LABEL_METRICS, shown
from perceptrons.report.model_section import notes_about
from perceptrons.report.page import Section, details, element, joined, section, soft, table, user
from perceptrons.report.subject import SeveralSubject

MANY = 20  # labels; above this many those with the lowest F1 are shown first
LEFT_OUT = (
    "An example may have several labels, so every label is evaluated separately. The confusion matrix, curves, "
    "single mistakes, the decision boundary, separability and margins need one label per example and are left out."
)


def headline_of_sets(subject: SeveralSubject, title: str) -> Html:
    """The first lines of the page: the metrics, and what the reader should know about them."""
    quality = subject.sets
    told = quality.metrics()
    cards = [
        _card(LABEL_METRICS[name].title, shown(name, float(told[name] or 0.0)), below)
        for name, below in (
            ("f1_micro", "of all labels together"),
            ("f1_macro", "the mean of the labels"),
            ("hamming_loss", "wrong decisions per example and label"),
            ("accuracy", f"{quality.right:,} of {quality.total:,} label sets right"),
        )
    ]
    labels = f"{count(quality.n_labels, 'label')}, {quality.n_labels / quality.total:.2f} per example"
    model = subject.model
    words = (
        f"{type(model).__name__} of {count(subject.known, 'label')} and {count(model.n_features_in_, 'feature')}, "
        f"evaluated on {count(subject.n, 'example')} with {labels}."
    )
    return joined(
        [
            element("h1", title), element("p", words), element("div", *cards, class_="cards"),
            soft(LEFT_OUT), *notes_about(subject, subject.counts()),
        ]
    )  # fmt: skip


def _card(name: str, figure: str, below: str) -> Html:
    return element(
        "div", name[0].upper() + name[1:], element("b", figure), element("span", below, class_="soft"), class_="card"
    )


def by_label(subject: SeveralSubject) -> Section:
    """The section: metrics of all labels, and every label."""
    quality = subject.sets
    told = quality.metrics()
    rows = [
        (one.title[0].upper() + one.title[1:], shown(name, float(value)))
        for name, one in LABEL_METRICS.items()
        if (value := told[name]) is not None
    ]
    return section(
        "labels", "Every label",
        table(("metric", "value"), rows, "metrics", numbers=(1,)),
        soft(
            "Precision: the share of predictions of a label that are right. Recall: the share of examples with the "
            "label that are found. F1: the harmonic mean of both. Precision at k: the share of the k labels with the "
            "highest scores that are true."
        ),
        _table(quality),
    )  # fmt: skip


def _table(quality: LabelQuality) -> Html:
    rows = quality.by_class()
    header = ("label", "precision", "recall", "F1", "examples", "predicted")
    if len(rows) <= MANY:
        return table(header, [_row(one) for one in rows], "every label", numbers=(1, 2, 3, 4, 5))
    rows.sort(key=lambda one: (one["f1"] or 0.0, -one["count"]))
    first = table(header, [_row(one) for one in rows[:MANY]], "labels with the lowest F1", numbers=(1, 2, 3, 4, 5))
    rest = table(header, [_row(one) for one in rows[MANY:1000]], "the other labels", numbers=(1, 2, 3, 4, 5))
    lowest = soft(f"The {MANY} of {len(rows):,} labels with the lowest F1:")
    return joined([lowest, first, details("The other labels", rest)])


def _row(one: dict[str, Any]) -> tuple[Any, ...]:
    shares = ["–" if one[name] is None else percent(one[name]) for name in ("precision", "recall", "f1")]
    return user(one["class"]), *shares, f"{one['count']:,}", f"{one['predicted']:,}"
