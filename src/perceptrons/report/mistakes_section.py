"""The section of the worst mistakes, with explanations."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from perceptrons.explanation import Contribution, largest
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.plots.model_facts import to_dense
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

MAX_MISTAKES, MAX_IMAGES = 10, 12
TOP_CONTRIBUTIONS, TOP_WORDS = 6, 10
MAX_VALUES = 8  # of an example of a kernel model
WORD = re.compile(r"\w+")
MAX_TEXT_LENGTH = 480
CONTEXT_LENGTH = 120  # characters before the first marked word of a text whose beginning is cut
MIN_MARK_FRACTION = 0.2  # of the strongest word; weaker ones are not marked


def mistakes_section(subject: Subject) -> Section:
    wrong = np.flatnonzero(~subject.is_correct & subject.is_known)
    max_mistakes = MAX_MISTAKES if subject.image_shape is None else MAX_IMAGES
    rows = wrong[np.argsort(subject.leads[wrong], kind="stable")][:max_mistakes].tolist()
    texts = subject.texts(rows)
    return Section("mistakes", "The worst mistakes", {
        "n_wrong": len(wrong), "has_texts": any(text is not None for text in texts),
        "mistakes": [_mistake(subject, row, text) for row, text in zip(rows, texts, strict=True)],
    })  # fmt: skip


def _mistake(subject: Subject, row: int, text: str | None) -> dict[str, Any]:
    """Return one mistake with what decided it."""
    true, predicted = (subject.labels[codes[row]] for codes in (subject.codes, subject.predicted))
    with columns_matched():
        explanation = subject.model.explain(subject.X[row] if subject.is_precomputed else subject.X[[row]])
    names = explanation.features
    if not subject.is_kernel:
        names = tuple(subject.names.of_columns(explanation.columns)[0])
    weights = explanation.between(predicted, true)[0]
    parts = largest(names, explanation.columns, explanation.values, weights, len(names))
    mistake: dict[str, Any] = {
        "true": true, "predicted": predicted, "place": subject.place(row), "scores": _describe_scores(subject, row),
        "is_folded": subject.is_kernel or text is not None, "images": [], "text": None, "example": None, "table": None,
    }  # fmt: skip
    if text is not None:
        mistake["text"] = mark_words(
            text, [] if subject.is_kernel else [(part.feature, part.contribution) for part in parts]
        )
    elif subject.image_shape is not None:
        mistake["images"] = _images(subject, row, true, predicted, [] if subject.is_kernel else parts)
    elif subject.is_kernel and not subject.is_precomputed:
        mistake["example"] = _largest_values(subject, row)
    if subject.is_kernel or text is not None or subject.image_shape is None:
        top = TOP_CONTRIBUTIONS if text is None or subject.is_kernel else TOP_WORDS
        mistake["table"] = _contribution_table(subject, parts[:top])
    return mistake


def _describe_scores(subject: Subject, row: int) -> str:
    if subject.scores.ndim == 1:
        threshold = subject.model.threshold_
        reason = "which makes it wrong" if threshold is None else f"the threshold is {format_signed(threshold)}"
        return f"score {format_signed(subject.scores[row])}, {reason}"
    predicted, true = (subject.scores[row, codes[row]] for codes in (subject.predicted, subject.codes))
    kind = "votes" if subject.model.combine == "vote" else "scores"
    return f"{kind} {format_number(predicted)} against {format_number(true)}"


def _images(
    subject: Subject, row: int, true: Any, predicted: Any, parts: Sequence[Contribution]
) -> list[tuple[str, str]]:
    """Return the image, and the contributions of its pixels if they are known; each with its text alternative."""
    values, shape = to_dense(subject.X[[row]])[0].astype(np.float64), subject.image_shape
    assert shape is not None
    image = grey_image(values.reshape(shape), float(min(0.0, values.min())), float(values.max()))
    images = [(image, f"image of class {true}, predicted as {predicted}")]
    if parts:
        pixels = np.zeros(len(values))
        pixels[[part.column for part in parts]] = [part.contribution for part in parts]
        alt = f"pixels that are evidence for {predicted} (orange) and for {true} (blue)"
        images.append((signed_image(pixels.reshape(shape), float(np.abs(pixels).max())), alt))
    return images


def _contribution_table(subject: Subject, parts: Sequence[Contribution]) -> Table:
    """Return contributions, with values in the units of the data."""
    rows = []
    for name, _, value, _, contribution, _ in parts:
        shown_value = format_number(value) if subject.is_kernel else subject.format_value(name, value)
        rows.append((user_text(name, 40), shown_value, evidence(format_signed(contribution), contribution > 0)))
    header = ("support vector", "similarity") if subject.is_kernel else ("feature", "value")
    return Table((*header, "contribution"), rows, "what decided", numbers=(1, 2))


def _largest_values(subject: Subject, row: int) -> Table:
    """Return the largest values of an example."""
    values = to_dense(subject.X[[row]])[0].astype(np.float64)
    order = np.argsort(-np.abs(values), kind="stable")[:MAX_VALUES]
    pairs = zip(subject.names.of_columns(order)[0], values[order].tolist(), strict=True)
    rows = [(user_text(name, 40), subject.format_value(name, value)) for name, value in pairs]
    return Table(("feature", "value"), rows, "the example", numbers=(1,))


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
