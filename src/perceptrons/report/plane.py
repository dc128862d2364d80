"""The boundary over two features, where there are two, or two were chosen."""

from typing import Any

import numpy as np

from perceptrons.plots import BoundaryDisplay
from perceptrons.plots.once import drawn
from perceptrons.report.page import WIDTH, Section, figure, section
from perceptrons.report.subject import Subject, quietly
from perceptrons.training.html import visible

NARROW = 60  # letters of all labels together, up to which the picture is drawn narrow


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
    with quietly():
        # names cut here, since a display would write control characters into its picture
        display = BoundaryDisplay.from_estimator(subject.model, X, y, features=chosen)
    display.names = (visible(subject.names.of(shown[0])), visible(subject.names.of(shown[1])))
    display.classes = np.array([visible(str(label)) for label in subject.classes], object)
    wrong = int((display.predicted != display.codes).sum())
    alt = (
        f"The regions of the classes over {display.names[0]} and {display.names[1]}, with the examples in them; "
        f"{wrong:,} of {len(display.codes):,} are mistakes, crossed."
    )
    caption = "Each region is what the model answers there; lines between them are its boundary."
    if X.shape[1] > 2:
        caption += (
            f" The other {X.shape[1] - 2:,} features are held at their means, so that points may lie in other regions."
        )
    if subject.left_out():
        caption += f" {subject.left_out()}"
    legend = subject.known * max(len(label) for label in display.classes)
    width = WIDTH if legend <= NARROW else None  # or the legend would leave no room for the plane
    return section("boundary", "The boundary", figure(drawn(display, width=width), alt, caption))


def _column(feature: Any, names: list[str] | None, width: int) -> int:
    if names is not None and str(feature) in names:
        return names.index(str(feature))
    if str(feature).isdecimal() and int(feature) < width:
        return int(feature)
    raise ValueError(f"features: there is no feature {feature!r}: give two by name, or by number from 0.")
