"""The sections of accuracy by class with the confusion matrix, and of the worst mistakes with explanations."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from perceptrons.engine.wording import count, percent
from perceptrons.explanation import Explanation
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.report.image_shape import dense_float64
from perceptrons.report.page import (
    Section,
    Table,
    evidence,
    format_number,
    format_signed,
    grey_image,
    signed_image,
    user_text,
)
from perceptrons.report.subject import Subject

MAX_CLASSES = 20  # of more, the worst are shown first, and instead of a matrix the most frequent confusions
MAX_ROWS = 1000
MAX_PAIRS = 20
MAX_MISTAKES, MAX_IMAGES = 10, 12
TOP_CONTRIBUTIONS, TOP_WORDS = 6, 10
MAX_VALUES = 8  # of an example of a kernel model
WORD = re.compile(r"\w+")
MAX_TEXT_LENGTH = 480
CONTEXT_LENGTH = 120  # characters before the first marked word of a text whose beginning is cut
MIN_MARK_FRACTION = 0.2  # of the strongest word; weaker ones are not marked


def accuracy_section(subject: Subject) -> Section:
    rows = subject.quality.by_class()
    if is_long := len(rows) > MAX_CLASSES:
        rows = sorted((row for row in rows if row["count"]), key=lambda row: (row["f1"] or 0.0, -row["count"]))
    cells = [
        (
            user_text(row["class"]), *("–" if row[name] is None else percent(row[name])
            for name in ("precision", "recall", "f1")), f"{row['count']:,}",
        )
        for row in rows
    ]  # fmt: skip
    header, numbers = ("class", "precision", "recall", "F1", "examples"), (1, 2, 3, 4)
    return Section("accuracy", "Accuracy by class", {
        "has_unknown_labels": len(subject.labels) > subject.n_known, "is_long": is_long, "max_classes": MAX_CLASSES,
        "n_labels": f"{len(subject.labels):,}",
        "classes": Table(header, cells[:MAX_CLASSES], "accuracy by class", numbers),
        "others": Table(header, cells[MAX_CLASSES:MAX_ROWS], "the other classes", numbers),
        "matrix": None if is_long else _confusion_matrix(subject), "pairs": _confusions(subject) if is_long else None,
    })  # fmt: skip


def _confusion_matrix(subject: Subject) -> dict[str, Any]:
    """Return the cells with the opacity of their colours: darker where there are more examples of the row's class."""
    confusion, n_known = subject.quality.confusion, subject.n_known
    fraction = confusion / np.maximum(1, confusion.sum(axis=1, keepdims=True))
    is_diagonal = np.eye(len(confusion), dtype=bool)
    wrong = np.where(is_diagonal, 0.0, fraction)
    opacity = np.where(is_diagonal, 0.45 * fraction, 0.75 * wrong / max(1e-9, wrong.max()))
    labels = [user_text(label, 24) for label in subject.labels]
    rows = [
        (label, [
            (f"{n:,}" if n else "", "right" if diagonal else "wrong", f"{alpha:.2f}")
            for n, alpha, diagonal in zip(*(part[i, :n_known].tolist() for part in (confusion, opacity, is_diagonal)),
                                          strict=True)
        ])
        for i, label in enumerate(labels)
    ]  # fmt: skip
    # long names stand upright above narrow columns
    is_upright = len(labels) > 3 and max(len(str(label)) for label in subject.labels) > 5
    return {"columns": labels[:n_known], "rows": rows, "is_upright": is_upright}


def _confusions(subject: Subject) -> dict[str, Any]:
    """Return the most frequent confusions."""
    n_labels, is_wrong = len(subject.labels), ~subject.is_correct
    pairs, times = np.unique(subject.codes[is_wrong] * n_labels + subject.predicted[is_wrong], return_counts=True)
    rows = [
        (*(user_text(subject.labels[code]) for code in divmod(pairs[i], n_labels)), f"{times[i]:,}")
        for i in np.argsort(-times, kind="stable")[:MAX_PAIRS].tolist()
    ]
    table = Table(("true", "predicted as", "times"), rows, "confusions", numbers=(2,))
    return {"n": count(len(pairs), "confusion"), "is_cut": len(pairs) > MAX_PAIRS, "table": table}


def mistakes_section(subject: Subject) -> Section:
    leads = subject.leads
    wrong = np.flatnonzero(~subject.is_correct & subject.is_known)
    max_mistakes = MAX_MISTAKES if subject.image_shape is None else MAX_IMAGES
    rows = wrong[np.argsort(leads[wrong], kind="stable")][:max_mistakes].tolist()
    texts = subject.texts(rows)
    return Section("mistakes", "The worst mistakes", {
        "n_wrong": len(wrong), "n_unknown": subject.n_unknown,
        "n_mistakes": count(len(wrong) + subject.n_unknown, "mistake"),
        "mistakes": [_mistake(subject, row, text) for row, text in zip(rows, texts, strict=True)],
        "is_kernel": subject.is_kernel, "is_image": subject.image_shape is not None,
        "has_texts": any(text is not None for text in texts),
    })  # fmt: skip


def _mistake(subject: Subject, row: int, text: str | None) -> dict[str, Any]:
    """Return one mistake with what decided it."""
    true, predicted = (subject.labels[codes[row]] for codes in (subject.codes, subject.predicted))
    with columns_matched():
        why = subject.model.explain(subject.X[row] if subject.is_precomputed else subject.X[[row]])
    weights = why.between(predicted, true)[0]
    contributions = weights * why.values
    order = np.argsort(-np.abs(contributions), kind="stable")
    order = order[contributions[order] != 0]
    names = list(why.features) if subject.is_kernel else subject.names.of_columns(why.columns)[0]
    is_image, has_text = subject.image_shape is not None, text is not None
    top = TOP_WORDS if has_text and not subject.is_kernel else TOP_CONTRIBUTIONS
    marks = [] if subject.is_kernel else [(names[k], float(contributions[k])) for k in order.tolist()]
    needs_values = subject.is_kernel and not (is_image or has_text or subject.is_precomputed)
    has_table = subject.is_kernel or has_text or not is_image
    return {
        "true": user_text(true, 32), "predicted": user_text(predicted, 32),
        "place": subject.place(row), "scores": _describe_scores(subject, row),
        "images": _images(subject, row, why, contributions) if is_image else [],
        "text": None if text is None else mark_words(text, marks),
        "example": _largest_values(subject, row) if needs_values else None,
        "table": _contribution_table(subject, names, why, contributions, order[:top]) if has_table else None,
        "is_folded": subject.is_kernel or has_text,
    }  # fmt: skip


def _describe_scores(subject: Subject, row: int) -> str:
    if subject.scores.ndim == 1:
        threshold = subject.model.threshold_
        reason = "which makes it wrong" if threshold is None else f"the threshold is {format_signed(threshold)}"
        return f"score {format_signed(subject.scores[row])}, {reason}"
    predicted, true = (subject.scores[row, codes[row]] for codes in (subject.predicted, subject.codes))
    kind = "votes" if subject.model.combine == "vote" else "scores"
    return f"{kind} {format_number(predicted)} against {format_number(true)}"


def _images(subject: Subject, row: int, why: Explanation, contributions: np.ndarray) -> list[tuple[str, str]]:
    """Return the image and the contributions of its pixels, which a kernel model does not have; with their texts."""
    values, shape = dense_float64(subject.X[[row]])[0], subject.image_shape
    assert shape is not None
    true, predicted = (str(subject.labels[codes[row]]) for codes in (subject.codes, subject.predicted))
    image = grey_image(values.reshape(shape), float(min(0.0, values.min())), float(values.max()))
    images = [(image, f"image of class {true}, predicted as {predicted}")]
    if not subject.is_kernel:
        pixels = np.zeros(len(values))
        pixels[why.columns] = contributions
        alt = f"pixels that are evidence for {predicted} (orange) and for {true} (blue)"
        images.append((signed_image(pixels.reshape(shape), float(np.abs(pixels).max())), alt))
    return images


def _contribution_table(
    subject: Subject, names: list[str], why: Explanation, contributions: np.ndarray, order: np.ndarray
) -> Table:
    """Return the largest contributions, with values in the units of the data."""
    rows = []
    for k in order.tolist():
        value, contribution = float(why.values[k]), float(contributions[k])
        text = format_number(value) if subject.is_kernel else subject.format_value(names[k], value)
        rows.append((user_text(names[k], 40), text, evidence(format_signed(contribution), contribution > 0)))
    header = ("support vector", "similarity") if subject.is_kernel else ("feature", "value")
    return Table((*header, "contribution"), rows, "what decided", numbers=(1, 2))


def _largest_values(subject: Subject, row: int) -> dict[str, Any]:
    """Return the largest values of an example."""
    values = dense_float64(subject.X[[row]])[0]
    order = np.argsort(-np.abs(values), kind="stable")[:MAX_VALUES]
    pairs = zip(subject.names.of_columns(order)[0], values[order].tolist(), strict=True)
    rows = [(user_text(name, 40), subject.format_value(name, value)) for name, value in pairs]
    table = Table(("feature", "value"), rows, "the example", numbers=(1,))
    return {"table": table, "n_more": f"{len(values) - MAX_VALUES:,}" if len(values) > MAX_VALUES else ""}


def mark_words(text: str, contributions: Sequence[tuple[str, float]]) -> list[tuple[str, str]]:
    """Return the text, cut if long, in pieces: ("", text), and words marked ("for", word) or ("against", word)."""
    words = list(WORD.finditer(text))
    scores = word_contributions([word.group().lower() for word in words], contributions)
    largest = max(map(abs, scores), default=0.0)
    marked = [k for k, score in enumerate(scores) if largest and abs(score) >= MIN_MARK_FRACTION * largest]
    start = 0
    if len(text) > MAX_TEXT_LENGTH and marked and words[marked[0]].end() > MAX_TEXT_LENGTH:
        start = max(0, words[marked[0]].start() - CONTEXT_LENGTH)
    end = len(text) if len(text) - start <= MAX_TEXT_LENGTH else start + MAX_TEXT_LENGTH
    pieces = [("", "… ")] if start else []
    position = start
    for k in marked:
        first, last = words[k].span()
        if first >= position and last <= end:
            pieces += [("", text[position:first]), ("for" if scores[k] > 0 else "against", text[first:last])]
            position = last
    return [*pieces, ("", text[position:end] + " …" * (end < len(text)))]


def word_contributions(words: list[str], contributions: Sequence[tuple[str, float]]) -> list[float]:
    """Return what each word of a text contributed: alone, or as an equal part of runs of words."""
    known: dict[tuple[str, ...], float] = {}
    for name, value in contributions:
        for feature in name.split(" | "):
            gram = tuple(word.lower() for word in WORD.findall(feature.rpartition("=")[2]))
            if gram and "‹" not in feature:
                known.setdefault(gram, value)
    scores = [0.0] * len(words)
    for size in sorted({len(gram) for gram in known}):
        for k in range(len(words) - size + 1):
            value = known.get(tuple(words[k : k + size]), 0.0)
            for i in range(k, k + size) if value else ():
                scores[i] += value / size
    return scores
