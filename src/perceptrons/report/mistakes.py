"""The worst mistakes: the examples themselves, and what in them decided."""

from typing import Any

import numpy as np

from perceptrons.report.images import coloured, dense, grey
from perceptrons.report.marked import marked
from perceptrons.report.page import Section, details, element, joined, paragraph, section, table, uri, user
from perceptrons.report.subject import Subject, quietly
from perceptrons.report.words import count, short, signed
from perceptrons.training.explanation import Explanation
from perceptrons.training.html import Html

SHOWN, PICTURED = 10, 12  # mistakes; so many as pictures
PARTS, MORE = 6, 10  # contributions of a table, and of a list below a text
VALUES = 8  # of an example of a kernel model


def worst_mistakes(subject: Subject) -> Section:
    """The section."""
    title = "The worst mistakes"
    leads = subject.leads()
    wrong = np.flatnonzero(~subject.right & subject.is_known)
    strange = int((~subject.is_known).sum())
    if not len(wrong) and not strange:
        return section("mistakes", title, paragraph("There is none: every answer is right."))
    if not len(wrong):
        return section("mistakes", title, paragraph(_how_many(0, 0, strange)))
    at_most = SHOWN if subject.image_shape is None else PICTURED
    rows = wrong[np.argsort(leads[wrong], kind="stable")][:at_most].tolist()
    texts = subject.texts(rows)
    found = [_article(subject, row, text, float(leads[row])) for row, text in zip(rows, texts, strict=True)]
    return section(
        "mistakes", title,
        paragraph(f"{_how_many(len(wrong), len(rows), strange)} Look at the labels, too: some may be wrong."),
        _legend(subject, any(text is not None for text in texts)),
        element("div", *found, class_="mistakes" + " pictured" * (subject.image_shape is not None)),
    )  # fmt: skip


def _how_many(wrong: int, shown: int, strange: int) -> str:
    """How many mistakes there are, and which of them are here: where no score is that of the label, none can lead."""
    leading = "in which the wrong answer leads the right one by most"
    if not strange and shown < wrong:
        return f"Of {count(wrong, 'mistake')} the {shown} {leading}."
    if not strange:
        return "There is 1 mistake." if wrong == 1 else f"All {wrong:,} mistakes, first those {leading}."
    total, (have, are) = wrong + strange, ("has a label", "is") if strange == 1 else ("have labels", "are")
    there = f"There {'is' if total == 1 else 'are'} {count(total, 'mistake')}; {'it' if total == 1 else f'{strange:,}'}"
    there += f" {have} that the model does not know, and {are} not shown."
    if wrong < 2:
        return there + " This is the other one." * wrong
    return f"{there} Of the other {wrong:,} the {shown} {leading}." if shown < wrong else (
        f"{there} Here are the other {wrong:,}, first those {leading}.")  # fmt: skip


def _legend(subject: Subject, has_texts: bool) -> Html:
    if subject.is_kernel:
        return paragraph("Below each: the support examples that decided.", class_="soft")
    spoke = [element("span", "for the wrong answer", class_="say-for"), " or ",
             element("span", "for the right one", class_="say-against")]  # fmt: skip
    if has_texts:
        return paragraph("Words are marked that spoke ", *spoke, " (dotted).", class_="soft")
    if subject.image_shape is not None:
        return paragraph("On the right of each image, the pixels that spoke ", *spoke, ".", class_="soft")
    return paragraph("Below each: the features that spoke most ", *spoke, ".", class_="soft")


def _article(subject: Subject, row: int, text: str | None, lead: float) -> Html:
    true, said = (subject.labels[codes[row]] for codes in (subject.codes, subject.predicted))
    with quietly():
        why = subject.model.explain(subject.X[[row]] if not subject.precomputed else subject.X[row])
    parts = [
        element("h3", user(true, 32), " taken for ", user(said, 32)),
        paragraph(f"{subject.place(row)}; {_scores(subject, row)}", class_="soft"),
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
        parts.append(details("What decided", _table(names, why, contributions, order[:PARTS], "support example")))
        return element("article", *parts)
    names, _ = subject.names.called(why.columns)
    if text is not None:
        parts.append(marked(text, [(names[k], float(contributions[k])) for k in order.tolist()]))
        parts.append(details("What decided", _table(names, why, contributions, order[:MORE], "feature")))
    elif subject.image_shape is None:
        parts.append(_table(names, why, contributions, order[:PARTS], "feature"))
    return element("article", *parts)


def _scores(subject: Subject, row: int) -> str:
    kind = "votes" if subject.model.combine == "vote" else "scores"
    if subject.scores.ndim == 1:
        return f"score {signed(subject.scores[row])}, by which it is wrong"
    said, true = (subject.scores[row, codes[row]] for codes in (subject.predicted, subject.codes))
    return f"{kind} {short(said)} against {short(true)}"


def _images(subject: Subject, row: int, why: Explanation, weights: np.ndarray) -> Html:
    """The image, and beside it what its pixels said; a kernel model has nothing to say about pixels."""
    values = dense(subject.X[[row]])[0]
    shape: Any = subject.image_shape
    low, high = float(min(0.0, values.min())), float(values.max())
    true, said = (str(subject.labels[codes[row]]) for codes in (subject.codes, subject.predicted))
    alt = f"image of class {true}, taken for {said}"
    pictures = [element("img", src=uri(grey(values.reshape(shape), low, high), "image/png"), alt=alt, class_="pixels")]
    if not subject.is_kernel:
        spoke = np.zeros(len(values))
        spoke[why.columns] = weights * why.values
        content = coloured(spoke.reshape(shape), float(np.abs(spoke).max()))
        alt = f"which pixels spoke for {said} (orange), which for {true} (blue)"
        pictures.append(element("img", src=uri(content, "image/png"), alt=alt, class_="pixels"))
    return element("div", *pictures, class_="pair")


def _table(names: list[str], why: Explanation, contributions: np.ndarray, order: np.ndarray, what: str) -> Html:
    rows = [
        (
            user(names[k], 40), short(float(why.values[k])),
            element("span", signed(contributions[k]), class_="say-for" if contributions[k] > 0 else "say-against"),
        )
        for k in order.tolist()
    ]  # fmt: skip
    header = (what, "similarity" if why.support is not None else "value", "contribution")
    return table(header, rows, "what decided", numbers=(1, 2))


def _values(subject: Subject, row: int) -> Html:
    """The largest values of an example."""
    values = dense(subject.X[[row]])[0]
    order = np.argsort(-np.abs(values), kind="stable")[:VALUES]
    names = subject.names.called(order)[0]
    rows = [(user(name, 40), short(float(values[k]))) for name, k in zip(names, order.tolist(), strict=True)]
    more = paragraph(f"and {len(values) - VALUES:,} other features", class_="soft") if len(values) > VALUES else ""
    return joined([table(("feature", "value"), rows, "the example", numbers=(1,)), more])
