"""The mistakes section of the report: accuracy by class, the confusion matrix, and the worst mistakes, explained."""

import re
from typing import Any

import numpy as np

from perceptrons.engine.html import Html, escaped
from perceptrons.engine.wording import count, percent
from perceptrons.explanation import Explanation
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.report.images import coloured, dense, grey
from perceptrons.report.page import (
    Section,
    details,
    element,
    joined,
    paragraph,
    scrolling,
    section,
    short,
    signed,
    soft,
    table,
    uri,
    user,
)
from perceptrons.report.subject import Subject

MANY = 20  # classes; above this many the worst are shown first
PAIRS = 20  # confusions shown
SHOWN, PICTURED = 10, 12  # mistakes that are shown: in words, or as pictures
PARTS, MORE = 6, 10  # contributions of a table, and of a list below a text
VALUES = 8  # of an example of a kernel model
WORD = re.compile(r"\w+")
LONGEST = 480  # characters shown
BEFORE = 120  # characters kept before the first mark where the beginning is cut
SLIGHT = 0.2  # of the strongest word: weaker ones are not marked


def accuracy(subject: Subject) -> Section:
    """The section."""
    shown = _matrix(subject) if len(subject.labels) <= MANY else _pairs(subject)
    return section(
        "accuracy", "Accuracy by class",
        soft(
            "Precision: the share of predictions of a class that are right. Recall: the share of examples of the "
            "class that are found. F1: the harmonic mean of both."
        ),
        *_strange(subject), _by_class(subject), element("h3", "Confusion matrix"), shown,
    )  # fmt: skip


def _strange(subject: Subject) -> list[Html]:
    """Labels that are no classes are rows, too, so that the numbers add up."""
    if len(subject.labels) == subject.known:
        return []
    return [soft("Labels that the model does not know are included; it never predicts them.")]


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
            scrolling(grid, "confusion matrix: true classes in rows, predicted classes in columns"),
            soft("True classes in rows, predicted classes in columns; the diagonal is right."),
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
    return joined([paragraph(said), table(("true", "predicted as", "times"), rows, "confusions", numbers=(2,))])


def worst_mistakes(subject: Subject) -> Section:
    """The section."""
    title = "The worst mistakes"
    leads = subject.leads()
    wrong = np.flatnonzero(~subject.right & subject.is_known)
    strange = int((~subject.is_known).sum())
    if not len(wrong) and not strange:
        return section("mistakes", title, paragraph("There are none: every prediction is right."))
    if not len(wrong):
        return section("mistakes", title, paragraph(_how_many(0, 0, strange)))
    at_most = SHOWN if subject.image_shape is None else PICTURED
    rows = wrong[np.argsort(leads[wrong], kind="stable")][:at_most].tolist()
    texts = subject.texts(rows)
    found = [_article(subject, row, text, float(leads[row])) for row, text in zip(rows, texts, strict=True)]
    return section(
        "mistakes", title,
        paragraph(f"{_how_many(len(wrong), len(rows), strange)} Check the labels, too: some may be wrong."),
        _legend(subject, any(text is not None for text in texts)),
        element("div", *found, class_="mistakes" + " pictured" * (subject.image_shape is not None)),
    )  # fmt: skip


def _how_many(wrong: int, shown: int, strange: int) -> str:
    """How many mistakes there are, and which of them are here: where no score is that of the label, none can lead."""
    leading = "in which the wrong class leads by most"
    if not strange and shown < wrong:
        return f"The {shown} of {wrong:,} mistakes {leading}."
    if not strange:
        return "There is 1 mistake." if wrong == 1 else f"All {wrong:,} mistakes, starting with those {leading}."
    total, (have, are) = wrong + strange, ("has a label", "is") if strange == 1 else ("have labels", "are")
    there = f"There {'is' if total == 1 else 'are'} {count(total, 'mistake')}; {'it' if total == 1 else f'{strange:,}'}"
    there += f" {have} that the model does not know, and {are} not shown."
    if wrong < 2:
        return there + " This is the other one." * wrong
    return f"{there} Here are the {shown} of the other {wrong:,} {leading}." if shown < wrong else (
        f"{there} Here are the other {wrong:,}, starting with those {leading}.")  # fmt: skip


def _legend(subject: Subject, has_texts: bool) -> Html:
    if subject.is_kernel:
        return soft("Below each: the support vectors that decided.")
    spoke = [element("span", "for the wrong class", class_="say-for"), " or ",
             element("span", "for the right class", class_="say-against")]  # fmt: skip
    if has_texts:
        return soft("Words are marked that are evidence ", *spoke, " (dotted).")
    if subject.image_shape is not None:
        return soft("On the right of each image: the pixels that are evidence ", *spoke, ".")
    return soft("Below each: the features with the strongest evidence ", *spoke, ".")


def _article(subject: Subject, row: int, text: str | None, lead: float) -> Html:
    true, said = (subject.labels[codes[row]] for codes in (subject.codes, subject.predicted))
    with columns_matched():
        why = subject.model.explain(subject.X[[row]] if not subject.precomputed else subject.X[row])
    parts = [
        element("h3", user(true, 32), " predicted as ", user(said, 32)),
        soft(f"{subject.place(row)}; {_scores(subject, row)}"),
    ]
    weights = why.between(said, true)[0]
    if subject.image_shape is not None:
        parts.append(_images(subject, row, why, weights))
    contributions = weights * why.values
    order = np.argsort(-np.abs(contributions), kind="stable")
    order = order[contributions[order] != 0]
    if subject.is_kernel:
        if text is not None:
            parts.append(marked(text, []))
        elif subject.image_shape is None and not subject.precomputed:
            parts.append(_values(subject, row))
        names = list(why.features)
        parts.append(details("What decided", _table(subject, names, why, contributions, order[:PARTS])))
        return element("article", *parts)
    names, _ = subject.names.called(why.columns)
    if text is not None:
        parts.append(marked(text, [(names[k], float(contributions[k])) for k in order.tolist()]))
        parts.append(details("What decided", _table(subject, names, why, contributions, order[:MORE])))
    elif subject.image_shape is None:
        parts.append(_table(subject, names, why, contributions, order[:PARTS]))
    return element("article", *parts)


def _scores(subject: Subject, row: int) -> str:
    kind = "votes" if subject.model.combine == "vote" else "scores"
    if subject.scores.ndim == 1:
        threshold = subject.model.threshold_
        beside = "which makes it wrong" if threshold is None else f"the threshold is {signed(threshold)}"
        return f"score {signed(subject.scores[row])}, {beside}"
    said, true = (subject.scores[row, codes[row]] for codes in (subject.predicted, subject.codes))
    return f"{kind} {short(said)} against {short(true)}"


def _images(subject: Subject, row: int, why: Explanation, weights: np.ndarray) -> Html:
    """The image, and beside it what its pixels said; a kernel model has nothing to say about pixels."""
    values = dense(subject.X[[row]])[0]
    shape: Any = subject.image_shape
    low, high = float(min(0.0, values.min())), float(values.max())
    true, said = (str(subject.labels[codes[row]]) for codes in (subject.codes, subject.predicted))
    alt = f"image of class {true}, predicted as {said}"
    pictures = [element("img", src=uri(grey(values.reshape(shape), low, high), "image/png"), alt=alt, class_="pixels")]
    if not subject.is_kernel:
        spoke = np.zeros(len(values))
        spoke[why.columns] = weights * why.values
        content = coloured(spoke.reshape(shape), float(np.abs(spoke).max()))
        alt = f"pixels that are evidence for {said} (orange) and for {true} (blue)"
        pictures.append(element("img", src=uri(content, "image/png"), alt=alt, class_="pixels"))
    return element("div", *pictures, class_="pair")


def _table(subject: Subject, names: list[str], why: Explanation, contributions: np.ndarray, order: np.ndarray) -> Html:
    """What contributed most, values in the units of the data."""
    kernel = why.support is not None
    rows = [
        (
            user(names[k], 40),
            short(float(why.values[k])) if kernel else subject.value(names[k], float(why.values[k])),
            element("span", signed(contributions[k]), class_="say-for" if contributions[k] > 0 else "say-against"),
        )
        for k in order.tolist()
    ]  # fmt: skip
    header = ("support vector", "similarity") if kernel else ("feature", "value")
    return table((*header, "contribution"), rows, "what decided", numbers=(1, 2))


def _values(subject: Subject, row: int) -> Html:
    """The largest values of an example."""
    values = dense(subject.X[[row]])[0]
    order = np.argsort(-np.abs(values), kind="stable")[:VALUES]
    names = subject.names.called(order)[0]
    pairs = zip(names, values[order].tolist(), strict=True)
    rows = [(user(name, 40), subject.value(name, value)) for name, value in pairs]
    more = soft(f"and {len(values) - VALUES:,} other features") if len(values) > VALUES else ""
    return joined([table(("feature", "value"), rows, "the example", numbers=(1,)), more])


def marked(text: str, contributions: list[tuple[str, float]]) -> Html:
    """The text, cut if long, with its words marked by the sign of what they contributed."""
    words = list(WORD.finditer(text))
    scores = word_scores([word.group().lower() for word in words], contributions)
    most = max(map(abs, scores), default=0.0)
    strong = [k for k, score in enumerate(scores) if most and abs(score) >= SLIGHT * most]
    begin = 0
    if len(text) > LONGEST and strong and words[strong[0]].end() > LONGEST:
        begin = max(0, words[strong[0]].start() - BEFORE)
    end = len(text) if len(text) - begin <= LONGEST else begin + LONGEST
    parts: list[Any] = ["… "] if begin else []
    at = begin
    for k in strong:
        first, last = words[k].span()
        if first < at or last > end:
            continue
        parts += [text[at:first], element("mark", text[first:last], class_="for" if scores[k] > 0 else "against")]
        at = last
    parts += [text[at:end], " …" * (end < len(text))]
    return element("blockquote", *map(escaped, parts), dir="auto")


def word_scores(words: list[str], contributions: list[tuple[str, float]]) -> list[float]:
    """What each word of a text contributed: alone, or as a part of runs of words, which share theirs evenly."""
    known: dict[tuple[str, ...], float] = {}
    for name, value in contributions:
        for one in name.split(" | "):
            gram = tuple(word.lower() for word in WORD.findall(one.rpartition("=")[2]))
            if gram and "‹" not in one:
                known.setdefault(gram, value)
    scores = [0.0] * len(words)
    for size in sorted({len(gram) for gram in known}):
        for k in range(len(words) - size + 1):
            value = known.get(tuple(words[k : k + size]), 0.0)
            for place in range(k, k + size) if value else ():
                scores[place] += value / size
    return scores
