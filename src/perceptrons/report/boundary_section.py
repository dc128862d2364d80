"""The boundary over two features; whether a hyperplane separates the classes, with proof; mistake bound and margins."""

import time
from typing import Any

import numpy as np

from perceptrons.engine.html import Html, visible
from perceptrons.engine.wording import count, percent
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.plots import BoundaryDisplay, MarginsDisplay
from perceptrons.plots.style import render
from perceptrons.report.data_section import equal_in
from perceptrons.report.model_section import learned_from_these
from perceptrons.report.page import (
    WIDTH,
    Section,
    details,
    element,
    figure,
    paragraph,
    seconds,
    section,
    short,
    soft,
    table,
    user,
)
from perceptrons.report.subject import Subject
from perceptrons.theory import check_bound, separability
from perceptrons.theory.certificate import Certificate, format_fraction

SHORT = 60  # letters of all labels together, up to which the picture is drawn narrow
PROOF = 0.5  # of the time given is for the proof, the rest for the mistake bound
SPENT = 0.85  # of its time: who took longer was stopped
WITNESSES = 10  # examples of a proof that are shown


def boundary(subject: Subject, features: Any) -> Section | None:
    """The section; None where there are more features than two and none were chosen."""
    if features is None and (subject.X.shape[1] != 2 or subject.precomputed):
        return None
    X, y = subject.known_part()
    names = subject.names.called(np.arange(X.shape[1]))[0] if X.shape[1] <= 100_000 else None
    chosen = None if features is None else tuple(_column(feature, names, X.shape[1]) for feature in features)
    if chosen is not None and len(set(chosen)) != 2:
        raise ValueError(f"features={tuple(features)!r}: give two different features, by name or by number from 0.")
    shown = chosen or (0, 1)
    with columns_matched():
        # names cut here, since a display would write control characters into its picture
        display = BoundaryDisplay.from_estimator(subject.model, X, y, features=chosen)
    display.names = _called(subject, shown[0]), _called(subject, shown[1])
    display.classes = np.array([visible(str(label)) for label in subject.classes], object)
    wrong = int((display.predicted != display.codes).sum())
    alt = (
        f"The regions of the classes over {display.names[0]} and {display.names[1]}, with the examples; {wrong:,} of "
        f"{len(display.codes):,} are mistakes, marked with a cross."
    )
    caption = "Each region has the colour of the predicted class; the lines between regions are the decision boundary."
    if X.shape[1] > 2:
        elsewhere = int(np.sum(display.on_slice != display.codes))
        caption += (
            f" The other {X.shape[1] - 2:,} features are held at their means. This is a slice: "
            f"{count(elsewhere, 'example lies', 'examples lie')} in the region of "
            "another class."
        )
    if subject.left_out():
        caption += f" {subject.left_out()}"
    legend = subject.known * max(len(label) for label in display.classes)
    width = WIDTH if legend <= SHORT else None  # or the legend would leave no room for the plane
    return section("boundary", "Decision boundary", figure(render(display, max_width=width), alt, caption))


def _called(subject: Subject, column: int) -> str:
    """What an axis is called."""
    name = subject.names.of(column)
    return visible(name) + " (scaled)" * (name in subject.units)


def _column(feature: Any, names: list[str] | None, width: int) -> int:
    if names is not None and str(feature) in names:
        return names.index(str(feature))
    if str(feature).isdecimal() and int(feature) < width:
        return int(feature)
    raise ValueError(f"features: there is no feature {feature!r}: give two by name, or by number from 0.")


def separability_and_margins(subject: Subject) -> Section:
    """The section."""
    parts: list[Any] = [paragraph(subject.left_out())] if subject.left_out() else []
    X, y = subject.known_part()
    if not subject.precomputed and len(np.unique(y)) > 1:
        proof, in_time = _separable(subject, X, y)
        parts += [*proof, element("h3", "Mistake bound"), *_bound(subject, X, y, in_time)]
    parts += [element("h3", "Margins"), *_margins(subject, X, y)]
    return section("separability", "Separability and margins", *parts)


def _separable(subject: Subject, X: Any, y: np.ndarray) -> tuple[list[Html], bool]:
    """What the certificate says, and whether it was there in time."""
    begin, limit = time.monotonic(), PROOF * subject.max_seconds
    found = separability(X, y, max_seconds=limit, fit_intercept=getattr(subject.model, "fit_intercept", True))
    in_time = time.monotonic() - begin < SPENT * limit
    title = {True: "These examples are linearly separable", False: "These examples are not linearly separable"}
    head = element("h3", title.get(found.separable, "Whether these examples are linearly separable is not known"))  # type: ignore[arg-type]
    parts = [head, paragraph(_why(subject, found, in_time))]
    if found.witness is not None and len(set(found.witness.rows)) > 2:
        rows = np.flatnonzero(subject.is_known)
        lines = [
            (subject.place(int(rows[row])), user(label), user(rival), format_fraction(weight))
            for row, label, rival, weight in sorted(zip(*found.witness, strict=True), key=lambda one: one[0])[
                :WITNESSES
            ]
        ]
        n = len(found.witness.rows)
        proof = table(("example", "class", "against", "weight"), lines, "the proof", numbers=(3,))
        parts.append(
            details(f"The proof: {n} examples that cancel out" + f", {WITNESSES} shown" * (n > WITNESSES), proof)
        )
    other = ": a kernel can separate what no hyperplane separates." if subject.is_kernel else "."
    about = "This is about the examples on this page, not about the model, and about linear boundaries"
    parts.append(soft(about + other))
    return parts, in_time


def _why(subject: Subject, found: Certificate, in_time: bool) -> str:
    """The certificate in words. Digits that depend on how fast the machine is are left out."""
    known = np.flatnonzero(subject.is_known)
    if found.separable is None:
        return f"No proof was found in {seconds(subject.max_seconds)}, neither for nor against it."
    if found.separable and not in_time:
        return f"{found.describe_separator()}; there was no time to find the margin."

    def places(rows: list[int]) -> str:
        return subject.places(known[rows])

    where = equal_in(subject)
    same = "are the same point" if where is None else f"are equal in {where}"
    why = found.explain_with_names(places, places, f"{same}, with different labels")
    if found.separable:
        return f"{why} A perceptron that keeps training gets all of these right."
    overlap = len(set(found.witness.rows)) > 2  # type: ignore[union-attr]
    return why + " So no perceptron gets all of these right, though it may get most." * overlap


def _whole(number: int) -> str:
    """A bound in full if short, else by its size."""
    return f"{number:,}" if number < 10**15 else f"2^{number.bit_length():,}"


def _bound(subject: Subject, X: Any, y: np.ndarray, in_time: bool) -> list[Html]:
    """The mistake bound, where the theorem covers how the model was trained, and if these are its training examples."""
    model = subject.model
    if subject.is_kernel:
        return [soft("The mistake bound of this library is for linear models.")]
    about = "The bound is about the training examples of a model, and"
    made = f"During training it made {count(model.n_updates_, 'update')}."
    if not learned_from_these(subject):
        others = "these are others, judging by their number: give the training data to see the bound."
        return [soft(f"{about} {others} {made}")]
    if not subject.is_known.all():
        return [soft(f"{about} some labels here are not known to the model. {made}")]
    begin, limit = time.monotonic(), (1 - PROOF) * subject.max_seconds
    try:
        with columns_matched():
            found = check_bound(model, X, y, max_seconds=limit) if in_time else None
    except ValueError as error:
        return [soft(f"There is no bound for this model: {error}")]
    # what was found when the time was up depends on the machine, and would differ from page to page
    if found is None or time.monotonic() - begin >= SPENT * limit:
        return [soft(f"The bound was not found in {seconds(subject.max_seconds)}.")]
    return [
        paragraph(
            f"If these are its training examples, the model can have made at most {_whole(found.at_most)} "
            f"updates; it made {found.updates:,} ({percent(found.ratio)})" + ("." if found.holds else
            ": more than the theory allows, so these are not its training examples."),
        ),
        soft(found.bound.explain()),
    ]  # fmt: skip


class Margins(MarginsDisplay):
    """The margins of some rows, called by their numbers among all."""

    def __init__(self, found: MarginsDisplay, rows: np.ndarray):
        super().__init__(found.margins, geometric=found.geometric)
        self.rows = rows

    @property
    def smallest(self) -> int:
        return int(self.rows[self.margins.argmin()])


def _margins(subject: Subject, X: Any, y: np.ndarray) -> list[Html]:
    try:
        with columns_matched():
            found = MarginsDisplay.from_estimator(subject.model, X, y)
    except ValueError as error:  # all weights are 0
        return [soft(str(error))]
    display = Margins(found, np.flatnonzero(subject.is_known))
    kind = "distance to the decision boundary" if display.geometric else "lead of the true class's score"
    margins = display.margins
    close = int(((margins > 0) & (margins < 0.1 * np.median(np.abs(margins)))).sum())
    smallest = subject.place(display.smallest)
    alt = (
        f"Histogram of the margins ({kind}): {count(int((margins <= 0).sum()), 'example')} of {len(margins):,} "
        f"wrong, median {short(float(np.median(margins)))}."
    )
    caption = (
        f"The margin of an example is its {kind}; it is negative if the prediction is wrong. The smallest margin is "
        f"that of {smallest} (the plot numbers examples from 0). "
        f"{count(close, 'correct prediction has a small margin', 'correct predictions have small margins')}, below a "
        "tenth of the median."
    )
    return [figure(render(display, max_width=WIDTH), alt, caption)]
