"""The data section of the report: classes, scales, constant features, and contradicting labels."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.html import Html
from perceptrons.engine.wording import count, percent
from perceptrons.inspection.units import step_of, unit_in_words
from perceptrons.report.page import (
    Section,
    bar,
    details,
    element,
    facts,
    joined,
    listed,
    paragraph,
    section,
    short,
    table,
    user,
    warning,
)
from perceptrons.report.subject import Subject, in_bits
from perceptrons.theory.duplicates import contradictions
from perceptrons.theory.scales import largest_values, scaler_for, scales

CLASSES, GROUPS, NAMED, SCALED = 20, 5, 5, 30  # shown at most


def data_summary(subject: Subject) -> Section:
    """The section."""
    X, rows = subject.X, [("Examples", f"{subject.n:,}"), ("Features", _features(subject))]
    if subject.image_shape is not None:
        high, wide = subject.image_shape
        rows.append(("Interpreted as", f"images of {high} × {wide} pixels"))
    rows.append(("Labels" if subject.several else "Classes", _occurring(subject)))
    rows.append(("Missing values", _missing(subject)))
    parts = [facts(rows), element("h3", f"Examples by {'label' if subject.several else 'class'}"), _classes(subject)]
    if not subject.precomputed:
        parts += [element("h3", "Scales"), *_scales(subject)]
        parts += [] if subject.several else _contradictions(subject, contradictions(X, subject.codes))
    return section("data", "Data", *parts)


def _occurring(subject: Subject) -> str:
    occur = f"{int((subject.counts()[: subject.known] > 0).sum()):,} of the model's {subject.known:,} occur"
    strange = len(subject.labels) - subject.known
    return occur + (f", and {count(strange, 'label')} that it does not know" if strange else "")


def _features(subject: Subject) -> str:
    X = subject.X
    if not sp.issparse(X):
        return f"{X.shape[1]:,}"
    used = int((np.bincount(X.indices, minlength=X.shape[1]) > 0).sum())
    return f"{X.shape[1]:,}, sparse: {used:,} of them occur, {X.nnz / subject.n:,.1f} per example on average"


def _missing(subject: Subject) -> str:
    given, lost = subject.given, 0
    if subject.before is None and (getattr(subject.model, "source_", None) or {}).get("preparation", {}).get("fill"):
        return _filled(subject)
    if hasattr(given, "isna"):
        lost = int(np.asarray(given.isna()).sum())
    elif isinstance(given, np.ndarray) and given.dtype.kind == "f":
        lost = int(np.isnan(given).sum())
    return f"{lost:,}, filled in by the pipeline" if lost else "none"


def _filled(subject: Subject) -> str:
    """Numbers that the reader of tables filled, as far as features say so."""
    columns, kept = subject.model.columns_, subject.model.source_["preparation"]
    if columns.bits is not None:
        return "numbers are filled with the mean of their column in the training set"
    lacking = {f"{name}=missing" for name in kept["indicators"]}
    places = [place for place, name in enumerate(columns.names()) if name in lacking]
    filled = int((subject.X[:, places] != 0).sum()) if places else 0
    if not filled:
        return "none in the columns with missing numbers in training"
    return f"{count(filled, 'number')}, filled with the mean of the column in training"


def _classes(subject: Subject) -> Html:
    counts = subject.counts()
    order = np.argsort(-counts, kind="stable")
    rows = [
        (user(subject.labels[k]), f"{counts[k]:,}", percent(counts[k] / subject.n), bar(counts[k] / counts.max()))
        for k in order.tolist()
    ]
    header = ("class", "examples", "share", "")
    first = table(header, rows[:CLASSES], "examples by class", numbers=(1, 2))
    if len(rows) <= CLASSES:
        return first
    rest = table(header, rows[CLASSES:1000], "examples by class, rarer classes", numbers=(1, 2))
    return joined([first, details(f"{len(rows) - CLASSES:,} more classes", rest)])


def _scales(subject: Subject) -> list[Html]:
    X = subject.X
    found, largest = scales(X), largest_values(X)
    there = np.flatnonzero(largest)
    parts = []
    if not len(there):
        return [warning("every feature of every example is 0.")]
    ends = there[[largest[there].argmax(), largest[there].argmin()]].tolist()
    (most, least), sizes = ([user(subject.names.of(column)) for column in ends], largest[ends])
    said = [most, f" reaches {short(sizes[0])}, ", least, f" {short(sizes[1])}"]
    # pixels, and words of texts, have one unit, however large or frequent they get
    scaler = scaler_for(X, subject.model) if subject.image_shape is None and subject.examples is None else None
    step = step_of(subject.model)
    if step is not None:
        parts += _in_units(subject, step)
    elif scaler is not None:
        parts.append(
            warning(
                "the features differ widely in scale: ", *said,
                ". " + ("The kernel is dominated by" if subject.is_kernel else "Weights cannot be compared, and "
                "training is dominated by")
                + " the largest ones: scale them before training, for instance with scikit-learn's "
                f"{scaler}.",
            )
        )  # fmt: skip
    else:
        one = "The pixels reach" if subject.image_shape is not None else "The features have similar scales: they reach"
        parts.append(paragraph(f"{one} {short(sizes[1])} to {short(sizes[0])}."))
    parts.append(
        paragraph(
            f"The farthest example, {subject.place(found.farthest)}, has the norm {short(found.radius)} (including "
            f"the constant 1 of the bias); the median is {short(found.typical)}."
        )
    )
    constant = np.flatnonzero(found.constant & ((largest > 0) | (not sp.issparse(X))))
    if len(constant):
        names = listed(subject.names.called(constant[:NAMED])[0])
        what = count(len(constant), "feature is constant and adds", "features are constant and add")
        parts.append(paragraph(f"{what} nothing: ", names, ", …" if len(constant) > NAMED else "."))
    return parts


def _in_units(subject: Subject, step: str) -> list[Html]:
    """The numbers as the data have them: the model gets them scaled."""
    columns, rows = subject.model.columns_, []
    for number, name in enumerate(columns.names()):
        if name not in subject.units:
            continue
        unit, place = subject.units[name], int(columns.columns[number])
        values = subject.X[:, [place]].toarray() if sp.issparse(subject.X) else subject.X[:, place]
        ends = sorted(float(columns.signs[number]) * float(end) for end in (values.min(), values.max()))
        sizes = (f"{size:.6g}".replace("-", "\N{MINUS SIGN}") for size in unit)
        rows.append((user(name), *sizes, *(subject.value(name, end) for end in ends)))
    header = ("number", "centre", "scale", "lowest here", "highest here")
    its_unit = unit_in_words(step)
    said = f"The model gets numbers scaled as in training: (value − centre) / scale. One unit is {its_unit}."
    parts = [paragraph(said), table(header, rows[:SCALED], "numbers and their scales", numbers=(1, 2, 3, 4))]
    if len(rows) > SCALED:
        parts.append(paragraph(f"and {count(len(rows) - SCALED, 'number')} more"))
    return parts


def _contradictions(subject: Subject, groups: list[Any]) -> list[Html]:
    """Identical examples with different labels, some of them by place."""
    if not groups:
        return [
            element("h3", "Identical examples with different labels"),
            paragraph("None: no two examples have the same features and different labels."),
        ]
    where, columns = equal_in(subject), subject.hashed
    title, which, possible = "Identical examples with different labels", "can be right on all of these", "possible"
    if where is not None:
        title, which = (
            f"Equal in {where}, with different labels",
            "that uses these features can be right on all of them",
        )
        possible = "possible with them"
    lost = sum(len(group) - int(np.bincount(subject.codes[group]).max()) for group in groups)
    total = sum(map(len, groups))
    lines = []
    for group in groups[:GROUPS]:
        pieces: list[Any] = []
        for row in group[:6].tolist():
            pieces += [subject.place(row), " (", user(subject.labels[subject.codes[row]], 24), "), "]
        pieces[-1] = ")" if len(group) <= 6 else f") and {len(group) - 6:,} more"
        lines.append(element("li", *pieces))
    said = (
        f"{total:,} in {count(len(groups), 'group')}: no classifier {which}, so {percent(1 - lost / subject.n)} is "
        f"the best accuracy {possible}."
    )
    if columns is not None:
        said += (
            f" But the examples themselves may differ: features are hashed to {in_bits(columns)}, and may share one. "
            "More bits may distinguish them."
        )
    return [element("h3", title), paragraph(said), element("ul", *lines)]


def equal_in(subject: Subject) -> str | None:
    """What is equal in rows that are the same for the model; None if it gets the examples as they were given."""
    if subject.hashed is not None:
        return "the hashed features"
    return None if subject.before is None and subject.examples is None else "the features that the model gets"
