"""How good the answers are by class, and which classes are taken for which."""

from typing import Any

import numpy as np

from perceptrons.report.page import Section, details, element, joined, paragraph, scrolling, section, table, user
from perceptrons.report.subject import Subject
from perceptrons.report.words import count, percent
from perceptrons.training.html import Html

MANY = 20  # classes; above this many the worst are shown first
PAIRS = 20  # confusions shown


def accuracy(subject: Subject) -> Section:
    """The section."""
    shown = _matrix(subject) if len(subject.labels) <= MANY else _pairs(subject)
    return section(
        "accuracy", "Accuracy by class",
        paragraph(
            "Precision: how many of the answers of a class are right. Recall: how many examples of the class are "
            "found. F1: the harmonic mean of both.", class_="soft",
        ),
        *_strange(subject), _by_class(subject), element("h3", "Which classes are taken for which"), shown,
    )  # fmt: skip


def _strange(subject: Subject) -> list[Html]:
    """Labels that are no classes are rows, too, so that the numbers add up."""
    if len(subject.labels) == subject.known:
        return []
    return [
        paragraph("Labels that the model does not know are here, too; it never gives such an answer.", class_="soft")
    ]


def _by_class(subject: Subject) -> Html:
    K = len(subject.labels)
    hits, true, said = (
        np.bincount(codes, minlength=K) for codes in (subject.codes[subject.right], subject.codes, subject.predicted)
    )

    def row(k: int) -> tuple[Any, ...]:
        shares = [
            "–" if not below else percent(above / below)
            for above, below in ((hits[k], said[k]), (hits[k], true[k]), (2 * hits[k], true[k] + said[k]))
        ]
        return user(subject.labels[k]), *shares, f"{true[k]:,}"

    header, numbers = ("class", "precision", "recall", "F1", "examples"), (1, 2, 3, 4)
    if len(subject.labels) <= MANY:
        return table(header, map(row, range(len(subject.labels))), "accuracy by class", numbers)
    f1 = 2 * hits / np.maximum(true + said, 1)
    order = sorted(np.flatnonzero(true).tolist(), key=lambda k: (f1[k], -true[k]))
    return joined(
        [
            paragraph(f"The {MANY} classes of {len(subject.labels):,} with the lowest F1:"),
            table(header, map(row, order[:MANY]), "classes with the lowest F1", numbers),
            details("The other classes", table(header, map(row, order[MANY:1000]), "the other classes", numbers)),
        ]
    )


def _matrix(subject: Subject) -> Html:
    """All of it, darker where there is more: right answers blue, mistakes orange."""
    K = len(subject.labels)
    confusion = np.bincount(subject.codes * K + subject.predicted, minlength=K * K).reshape(K, K)
    labels = [user(label, 24) for label in subject.labels]
    upright = K > 3 and max(len(str(label)) for label in subject.labels) > 5  # long names above narrow columns
    share = confusion / np.maximum(1, confusion.sum(axis=1, keepdims=True))
    wrong = np.where(np.eye(len(labels), dtype=bool), 0.0, share)
    head = element("tr", element("th", "true \\ predicted", scope="col"), *(element("th", label, scope="col")
                   for label in labels[: subject.known]))  # fmt: skip
    lines = []
    for i, label in enumerate(labels):
        cells = []
        for j in range(subject.known):
            depth = 0.45 * share[i, j] if i == j else 0.75 * wrong[i, j] / max(1e-9, wrong.max())
            shade = f"background:rgba(var(--{'right' if i == j else 'wrong'}),{depth:.2f})" if confusion[i, j] else None
            cells.append(element("td", f"{confusion[i, j]:,}" if confusion[i, j] else "", style=shade))
        lines.append(element("tr", element("th", label, scope="row"), *cells))
    grid = element("table", element("thead", head), element("tbody", *lines), class_=f"confusion{' upright' * upright}")
    return joined(
        [
            scrolling(grid, "confusion: true classes in rows, predicted ones in columns"),
            paragraph("True classes in rows, predicted ones in columns; the diagonal is right.", class_="soft"),
        ]
    )


def _pairs(subject: Subject) -> Html:
    """The most frequent confusions."""
    K, wrong = len(subject.labels), ~subject.right
    pairs, times = np.unique(subject.codes[wrong] * K + subject.predicted[wrong], return_counts=True)
    rows = [
        (user(subject.labels[pairs[k] // K]), user(subject.labels[pairs[k] % K]), f"{times[k]:,}")
        for k in np.argsort(-times, kind="stable")[:PAIRS].tolist()
    ]
    kinds = count(len(pairs), "confusion")
    said = f"The most frequent of {kinds}:" if len(pairs) > PAIRS else f"All {kinds}:"
    return joined([paragraph(said), table(("true", "taken for", "times"), rows, "confusions", numbers=(2,))])
