"""The sections of the boundary over two features, and of separability with proof, the mistake bound and margins."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from perceptrons.engine.html import visible
from perceptrons.engine.wording import count
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.plots import BoundaryDisplay, MarginsDisplay
from perceptrons.report.page import PHONE_WIDTH, Picture, Section, Table, format_number, format_seconds, user_text
from perceptrons.report.subject import Subject
from perceptrons.theory import Comparison, check_bound, separability
from perceptrons.theory.certificate import Certificate, format_fraction

MAX_NARROW_LEGEND = 60  # characters of all labels together, up to which the picture is drawn narrow
PROOF_FRACTION = 0.5  # of the time limit; the rest is for the mistake bound
TIMEOUT_FRACTION = 0.85  # of its time: what took longer was stopped
MAX_WITNESSES = 10
SMALL_MARGIN = 0.1  # of the median
MAX_NAMED_FEATURES = 100_000


def boundary_section(subject: Subject, features: Sequence[Any] | None) -> Section | None:
    """Return the section, or None if there are more features than two and none were chosen."""
    if features is None and (subject.X.shape[1] != 2 or subject.is_precomputed):
        return None
    X, y = subject.known_examples()
    n_features, pair = X.shape[1], None
    if features is not None:
        names = subject.names.of_columns(np.arange(n_features))[0] if n_features <= MAX_NAMED_FEATURES else []
        pair = [_column(feature, names, n_features) for feature in features]
        if len(set(pair)) != 2:
            raise ValueError(f"features={tuple(features)!r}: give two different features, by name or by number from 0.")
    with columns_matched():
        display = BoundaryDisplay.from_estimator(subject.model, X, y, features=pair)
    # a display would write control characters of names into its picture
    name_x, name_y = (_axis_name(subject, column) for column in pair or (0, 1))
    display.names = name_x, name_y
    display.classes = np.array([visible(str(label)) for label in subject.classes], object)
    n_wrong, n = int((display.predicted != display.codes).sum()), len(display.codes)
    regions = f"The regions of the classes over {name_x} and {name_y}, with the examples"
    alt = f"{regions}; {n_wrong:,} of {n:,} are mistakes, marked with a cross."
    caption = "Each region has the colour of the predicted class; the lines between regions are the decision boundary."
    if n_features > 2:
        elsewhere = count(int(np.sum(display.on_slice != display.codes)), "example lies", "examples lie")
        caption += f" The other {n_features - 2:,} features are held at their means."
        caption += f" This is a slice: {elsewhere} in the region of another class."
    if subject.omission:
        caption += f" {subject.omission}"
    legend_length = subject.n_known * max(len(label) for label in display.classes)
    max_width = PHONE_WIDTH if legend_length <= MAX_NARROW_LEGEND else None
    return Section("boundary", "Decision boundary", {"picture": Picture(display, alt, caption, max_width)})


def _axis_name(subject: Subject, column: int) -> str:
    name = subject.names.of(column)
    return visible(name) + " (scaled)" * (name in subject.units)


def _column(feature: Any, names: list[str], n_features: int) -> int:
    if str(feature) in names:
        return names.index(str(feature))
    if str(feature).isdecimal() and int(feature) < n_features:
        return int(feature)
    raise ValueError(f"features: there is no feature {feature!r}: give two by name, or by number from 0.")


def separability_section(subject: Subject) -> Section:
    X, y = subject.known_examples()
    values: dict[str, Any] = {"proof": None}
    if not subject.is_precomputed and len(np.unique(y)) > 1:
        start, limit = time.monotonic(), PROOF_FRACTION * subject.max_seconds
        fit_intercept = getattr(subject.model, "fit_intercept", True)
        certificate = separability(X, y, max_seconds=limit, fit_intercept=fit_intercept)
        in_time = time.monotonic() - start < TIMEOUT_FRACTION * limit
        values["proof"] = {
            "separable": certificate.separable, "explanation": _explain(subject, certificate, in_time),
            "witness": certificate.witness, "table": _witness_table(subject, certificate),
        }  # fmt: skip
        values["bound"] = _mistake_bound(subject, X, y, in_time)
    return Section("separability", "Separability and margins", values | _margins(subject, X, y))


def _explain(subject: Subject, certificate: Certificate, in_time: bool) -> str:
    """Return the certificate in words, without digits that depend on how fast the machine is."""
    if certificate.separable is None:
        return f"No proof was found in {format_seconds(subject.max_seconds)}, neither for nor against it."
    if certificate.separable and not in_time:
        return f"{certificate.describe_separator()}; there was no time to find the margin."
    known_rows = np.flatnonzero(subject.is_known)

    def name_rows(rows: list[int]) -> str:
        return subject.places(known_rows[rows])

    same = "are the same point" if subject.feature_space is None else f"are equal in {subject.feature_space}"
    explanation = certificate.explain_with_names(name_rows, name_rows, f"{same}, with different labels")
    if certificate.separable:
        return f"{explanation} A perceptron that keeps training gets all of these right."
    if certificate.witness is not None and len(set(certificate.witness.rows)) > 2:
        return f"{explanation} So no perceptron gets all of these right, though it may get most."
    return explanation


def _witness_table(subject: Subject, certificate: Certificate) -> Table | None:
    """Return the examples that prove that the classes overlap; None if there is no proof, or it needs no table."""
    witness = certificate.witness
    if witness is None or len(set(witness.rows)) < 3:
        return None
    known_rows = np.flatnonzero(subject.is_known)
    rows = [
        (subject.place(int(known_rows[row])), user_text(label), user_text(rival), format_fraction(weight))
        for row, label, rival, weight in sorted(zip(*witness, strict=True), key=lambda entry: entry[0])[:MAX_WITNESSES]
    ]
    return Table(("example", "class", "against", "weight"), rows, "the proof", numbers=(3,))


def _mistake_bound(subject: Subject, X: Any, y: np.ndarray, in_time: bool) -> Comparison | str:
    """Return the mistake bound if these are the training examples and the theorem applies; else a note with why not."""
    model = subject.model
    if subject.is_kernel:
        return "The mistake bound of this library is for linear models."
    about = "The bound is about the training examples of a model, and"
    updates = f"During training it made {count(model.n_updates_, 'update')}."
    if not subject.has_training_size:
        others = "these are others, judging by their number: give the training data to see the bound."
        return f"{about} {others} {updates}"
    if subject.n_unknown:
        return f"{about} some labels here are not known to the model. {updates}"
    start, limit = time.monotonic(), (1 - PROOF_FRACTION) * subject.max_seconds
    try:
        with columns_matched():
            check = check_bound(model, X, y, max_seconds=limit) if in_time else None
    except ValueError as error:
        return f"There is no bound for this model: {error}"
    # what was found when the time was up depends on the machine, and would differ from page to page
    if check is None or time.monotonic() - start >= TIMEOUT_FRACTION * limit:
        return f"The bound was not found in {format_seconds(subject.max_seconds)}."
    return check


def _margins(subject: Subject, X: Any, y: np.ndarray) -> dict[str, Any]:
    try:
        with columns_matched():
            display = MarginsDisplay.from_estimator(subject.model, X, y)
    except ValueError as error:  # all weights are 0
        return {"no_margins": str(error)}
    display.numbers = np.flatnonzero(subject.is_known)  # examples keep their numbers among all
    kind = "distance to the decision boundary" if display.geometric else "lead of the true class's score"
    margins = display.margins
    wrong = f"{count(int((margins <= 0).sum()), 'example')} of {len(margins):,} wrong"
    alt = f"Histogram of the margins ({kind}): {wrong}, median {format_number(float(np.median(margins)))}."
    n_small = int(((margins > 0) & (margins < SMALL_MARGIN * np.median(np.abs(margins)))).sum())
    small = count(n_small, "correct prediction has a small margin", "correct predictions have small margins")
    caption = (
        f"The margin of an example is its {kind}; it is negative if the prediction is wrong. The smallest margin is "
        f"that of {subject.place(display.smallest)} (the plot numbers examples from 0). {small}, below a tenth of the "
        "median."
    )
    return {"no_margins": None, "margins": Picture(display, alt, caption)}
