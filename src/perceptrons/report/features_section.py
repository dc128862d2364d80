"""What the model goes by: its heaviest weights by name and class, as pictures where features are pixels; and the
support vectors of a kernel model."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.html import Html, visible
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.wording import NOT_PROBABILITIES, count, percent
from perceptrons.explanation import rows_of
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.inspection.units import step_of
from perceptrons.inspection.weights import dense_coef
from perceptrons.kernel.arrays import to_host
from perceptrons.plots import WeightsDisplay
from perceptrons.plots.style import render
from perceptrons.report.images import dense, grey
from perceptrons.report.page import (
    Section,
    bar,
    element,
    figure,
    listed,
    paragraph,
    section,
    signed,
    soft,
    table,
    uri,
    user,
)
from perceptrons.report.subject import Subject
from perceptrons.theory.scales import comparable_weights, uneven

TOP, ROWS, PICTURED, SUPPORT = 10, 20, 30, 8  # shown at most: weights, classes, classes as pictures, support vectors
WORDS, VALUES = 14, 6  # of a support vector
LOOKED_AT = 500  # of the heaviest weights of a row, among which those for either class are found


def important_features(subject: Subject) -> Section:
    """The section."""
    parts = _support(subject) if subject.is_kernel else _weights(subject)
    return section("features", "Most important features", *parts, soft(NOT_PROBABILITIES))


def _weights(subject: Subject) -> list[Html]:
    model = subject.model
    scheme = learner_of(model).scheme
    coef = dense_coef(model)
    titles = rows_of(model.classes_, scheme)
    parts = []
    if model.combine == "vote":
        parts.append(
            paragraph("All weights of the training history vote; the averaged weights are shown here instead.")
        )
    if subject.image_shape is not None and len(titles[0]) == 1 and subject.known <= PICTURED:
        labels = np.array([visible(str(label)) for label in subject.classes], object)
        picture = render(WeightsDisplay(coef, labels), image_shape=subject.image_shape)
        caption = (
            "The weights of every class as an image: red pixels are evidence for the class, blue pixels against it."
        )
        if subject.known == 2:
            caption = (
                "The weights as an image: red pixels are evidence for one class, blue pixels for the other, as the "
                "title says."
            )
        return [*parts, figure(picture, caption, caption), *_never(subject)]
    what = "weight"
    if (step := step_of(model)) is not None:
        parts.append(
            paragraph(
                f"Weights of numbers are per {step}, so they can be compared; “per unit” is the weight of one unit "
                "of the data."
            )
        )
    elif not sp.issparse(subject.X) and uneven(subject.X):
        with columns_matched():
            coef, what = comparable_weights(model, subject.X), "weight × deviation"
        parts.append(
            paragraph(
                "The features have different scales, so weights alone cannot be compared: the table shows each "
                "weight times the standard deviation of its feature here, the effect of a typical change of the "
                "feature."
            )
        )
    shown = list(range(len(titles)))
    if len(titles) > ROWS:
        order = np.argsort(-subject.counts()[: subject.known], kind="stable") if len(titles[0]) == 1 else shown
        shown = [int(k) for k in order[:ROWS]]
        parts.append(paragraph(f"Of {len(titles):,} rows of weights, those of the {ROWS} most frequent classes:"))
    blocks = [block for k in shown for block in _blocks(subject, coef[k], titles[k], what)]
    return [*parts, element("div", *blocks, class_="classes"), *_never(subject)]


def _blocks(subject: Subject, weights: np.ndarray, title: tuple[Any, ...], what: str) -> list[Html]:
    """The heaviest weights of a class; of two classes that share a row, each the weights that speak for it."""
    order = np.argsort(-np.abs(weights), kind="stable")[:LOOKED_AT]
    names, signs = subject.names.called(order)  # a name may count negatively in its column
    found = [(name, weight) for name, weight in zip(names, (signs * weights[order]).tolist(), strict=True) if weight]
    pair = tuple(subject.classes) if subject.known == 2 else title
    if len(pair) == 1:
        return [_weighed(subject, [user(pair[0], 40)], found, what)]
    lacking = "no feature is evidence for "
    if np.count_nonzero(weights) > LOOKED_AT:
        lacking = f"none of the {LOOKED_AT} largest weights is evidence for "
    return [
        _weighed(
            subject,
            [element("span", "for ", user(pair[k], 40), class_=f"say-{('against', 'for')[k]}")],
            [(name, weight) for name, weight in found if (weight > 0) == bool(k)], what,
            [lacking, user(pair[k], 40)] if found else None,
        )
        for k in (1, 0)
    ]  # fmt: skip


def _weighed(
    subject: Subject, head: list[Any], found: list[tuple[str, float]], what: str, lacking: list[Any] | None = None
) -> Html:
    """The first of these weights, the heaviest, with bars; lacking: said if there are none of this sign."""
    most = max((abs(weight) for _, weight in found), default=1.0)
    units, shown = subject.units, found[:TOP]
    raw = any(name in units for name, _ in shown)
    lines = [
        element(
            "tr",
            element("th", user(name, 48), scope="row"),
            element("td", signed(weight), class_="number"),
            *[element("td", signed(weight / units[name].scale) if name in units else "", class_="number")] * raw,
            element("td", bar(abs(weight) / most, "for" if weight > 0 else "against")),
        )
        for name, weight in shown
    ]
    columns = (("feature", None), (what, "number"), *[("per unit", "number")] * raw, ("", None))
    above = element("tr", *(element("th", text, scope="col", class_=kind) for text, kind in columns))
    body = element("table", element("thead", above), element("tbody", *lines), class_="weights")
    none = soft(*(lacking or ["all weights are 0"]))
    return element("div", element("h3", *head), body if lines else none)


def _never(subject: Subject) -> list[Html]:
    """Features of these data that no update has reached."""
    untouched = subject.model.never_updated_
    X = subject.X
    used = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) if sp.issparse(X) else np.any(X != 0, axis=0))
    used = used[used < len(untouched)]
    new = used[untouched[used]]
    if not len(new):
        return []
    names = [name for name in subject.names.called(new[: 10 * TOP])[0] if not subject.names.is_number(name)][:TOP]
    end = (", …" if len(new) > len(names) else ".") if names else ""
    return [
        paragraph(
            f"{len(new):,} of the {len(used):,} features that occur here ({percent(len(new) / len(used))}) were "
            "never updated, so nothing was learned about them" + (": " if names else "."),
            listed(names), end,
        )
    ]  # fmt: skip


def _support(subject: Subject) -> list[Html]:
    """The support vectors with the largest coefficients, class by class."""
    model = subject.model
    coef = np.asarray(to_host(model.dual_coef_average_ if model.combine == "vote" else model.dual_coef_), np.float64)
    rows = model.support_.tolist()
    parts = [
        paragraph(
            f"A kernel model has no feature weights. It stores {count(model.n_support_, 'support vector')} and "
            "compares a new example with each. Those with the largest coefficients count most; they are numbered by "
            "their place in the training set, from 1."
        )
    ]
    if not model.n_support_:
        return parts
    titles = [(subject.classes[1],)] if len(coef) == 1 else [(label,) for label in subject.classes]
    for k in range(min(len(titles), ROWS)):
        order = np.argsort(-np.abs(coef[k]), kind="stable")[:SUPPORT]
        order = order[coef[k, order] != 0]
        against = [" (below 0: for ", user(subject.classes[0], 24), ")"] if len(coef) == 1 else []
        parts.append(element("h3", "For ", user(titles[k][0], 40), *against))
        numbers = [f"{rows[s] + 1:,}" if rows[s] >= 0 else "–" for s in order.tolist()]
        shown = [_seen(subject, s) for s in order.tolist()]
        said = [signed(coef[k, s]) for s in order.tolist()]
        if subject.image_shape is not None:
            each = (
                element("figure", image, element("figcaption", one, element("br"), f"example {number}"))
                for image, one, number in zip(shown, said, numbers, strict=True)
            )
            parts.append(element("div", *each, class_="strip"))
        else:
            lines = zip(numbers, said, shown, strict=True)
            parts.append(table(("example", "coefficient", "description"), lines, "support vectors", numbers=(0, 1)))
    return parts


def _seen(subject: Subject, s: int) -> Any:
    """A support vector as it can be shown: a picture, or its features."""
    if subject.precomputed:
        return ""
    vector = dense(to_host(subject.model.support_vectors_[[s]]))[0]
    if subject.image_shape is not None:
        content = grey(vector.reshape(subject.image_shape), float(min(0, vector.min())), float(vector.max()))
        return element("img", src=uri(content, "image/png"), alt=f"support vector {s + 1}", class_="pixels")
    there = np.flatnonzero(vector)
    there = there[np.argsort(-np.abs(vector[there]), kind="stable")]
    if subject.examples is not None:
        return user(" · ".join(subject.names.called(there[:WORDS])[0]) + " …" * (len(there) > WORDS), 300)
    names = subject.names.called(there[:VALUES])[0]
    said = ", ".join(
        f"{name} = {subject.value(name, vector[c])}" for name, c in zip(names, there.tolist(), strict=False)
    )
    return user(said + ", …" * (len(there) > VALUES), 200)
