"""The data section: classes, missing values, scales, constant features, and contradicting labels."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.wording import count, percent
from perceptrons.inspection.weights import step_of, unit_with_article
from perceptrons.report.page import MAX_ROWS, Section, Table, bar, user_text
from perceptrons.report.subject import Subject, describe_columns
from perceptrons.theory.duplicates import contradictions
from perceptrons.theory.scales import largest_values, scaler_for, scales

MAX_CLASSES = 20  # more are in a table that opens
MAX_CONSTANT_FEATURES = 5
MAX_SCALED_NUMBERS = 30
MAX_GROUPS, MAX_GROUP_EXAMPLES = 5, 6  # of identical examples


def data_section(subject: Subject) -> Section:
    has_features = not subject.is_precomputed
    return Section("data", "Data", {
        "facts": _facts(subject), "classes": _classes(subject),
        "scales": _scales(subject) if has_features else None,
        "groups": _identical_examples(subject) if has_features and subject.label_quality is None else None,
    })  # fmt: skip


def _facts(subject: Subject) -> list[tuple[str, str]]:
    X, n_known = subject.X, subject.n_known
    features = f"{X.shape[1]:,}"
    if sp.issparse(X):
        n_used = int((np.bincount(X.indices, minlength=X.shape[1]) > 0).sum())
        features += f", sparse: {n_used:,} of them occur, {X.nnz / subject.n:,.1f} per example on average"
    rows = [("Examples", f"{subject.n:,}"), ("Features", features)]
    if subject.image_shape is not None:
        height, width = subject.image_shape
        rows.append(("Interpreted as", f"images of {height} × {width} pixels"))
    labels = f"{int((subject.counts[:n_known] > 0).sum()):,} of the model's {n_known:,} occur"
    if len(subject.labels) > n_known:
        labels += f", and {count(len(subject.labels) - n_known, 'label')} that it does not know"
    rows.append(("Classes" if subject.label_quality is None else "Labels", labels))
    return [*rows, ("Missing values", _missing_values(subject))]


def _missing_values(subject: Subject) -> str:
    preparation = (getattr(subject.model, "source_", None) or {}).get("preparation", {})
    if subject.transformer is None and preparation.get("fill"):
        columns = subject.model.columns_
        if columns.bits is not None:
            return "numbers are filled with the mean of their column in the training set"
        indicators = {f"{name}=missing" for name in preparation["indicators"]}
        places = [place for place, name in enumerate(columns.names()) if name in indicators]
        n_filled = int((subject.X[:, places] != 0).sum()) if places else 0
        if not n_filled:
            return "none in the columns with missing numbers in training"
        return f"{count(n_filled, 'number')}, filled with the mean of the column in training"
    X, n_missing = subject.given, 0
    if hasattr(X, "isna"):
        n_missing = int(np.asarray(X.isna()).sum())
    elif isinstance(X, np.ndarray) and X.dtype.kind == "f":
        n_missing = int(np.isnan(X).sum())
    return f"{n_missing:,}, filled in by the pipeline" if n_missing else "none"


def _classes(subject: Subject) -> Table:
    """Return the classes, the most frequent first."""
    counts = subject.counts
    rows = [
        (user_text(subject.labels[k]), f"{counts[k]:,}", percent(counts[k] / subject.n), bar(counts[k] / counts.max()))
        for k in np.argsort(-counts, kind="stable").tolist()
    ]
    header, more = ("class", "examples", "share", ""), f"{len(rows) - MAX_CLASSES:,} more classes"
    return Table(header, rows[:MAX_ROWS], "examples by class", numbers=(1, 2), n_open=MAX_CLASSES, more=more)


def _scales(subject: Subject) -> dict[str, Any]:
    X, names = subject.X, subject.names
    largest = largest_values(X)
    occurring = np.flatnonzero(largest)
    if not len(occurring):
        return {"all_zero": True}
    scale = scales(X)
    extremes = occurring[[largest[occurring].argmax(), largest[occurring].argmin()]].tolist()
    constant = np.flatnonzero(scale.constant & ((largest > 0) | (not sp.issparse(X))))
    # pixels, and words of texts, have one unit, however large or frequent they get
    has_one_unit = subject.image_shape is not None or subject.examples is not None
    return {
        "all_zero": False, "names": [names.of(column) for column in extremes], "sizes": largest[extremes].tolist(),
        "units": _units(subject), "scaler": None if has_one_unit else scaler_for(X, subject.model),
        "farthest": subject.place(scale.farthest), "norm": scale.radius, "median_norm": scale.typical,
        "n_constant": len(constant), "constant_names": names.of_columns(constant[:MAX_CONSTANT_FEATURES])[0],
    }  # fmt: skip


def _units(subject: Subject) -> dict[str, Any] | None:
    """Return the scaled numbers in the units of the data; None if the model does not get scaled numbers."""
    step = step_of(subject.model)
    if step is None:
        return None
    columns, rows = subject.model.columns_, []
    for place, name in enumerate(columns.names()):
        if name in subject.units:
            unit, column = subject.units[name], int(columns.columns[place])
            values = subject.X[:, [column]].toarray() if sp.issparse(subject.X) else subject.X[:, column]
            ends = sorted(float(columns.signs[place]) * float(end) for end in (values.min(), values.max()))
            sizes = (f"{size:.6g}".replace("-", "\N{MINUS SIGN}") for size in unit)
            rows.append((user_text(name), *sizes, *(subject.format_value(name, end) for end in ends)))
    header = ("number", "centre", "scale", "lowest here", "highest here")
    table = Table(header, rows[:MAX_SCALED_NUMBERS], "numbers and their scales", numbers=(1, 2, 3, 4))
    return {"unit": unit_with_article(step), "table": table, "n_more": max(0, len(rows) - MAX_SCALED_NUMBERS)}


def _identical_examples(subject: Subject) -> dict[str, Any]:
    """Return groups of examples that are equal for the model but have different labels."""
    groups = contradictions(subject.X, subject.codes)
    n_mistakes = sum(len(group) - int(np.bincount(subject.codes[group]).max()) for group in groups)
    return {
        "n_examples": sum(map(len, groups)), "n_groups": len(groups), "best": percent(1 - n_mistakes / subject.n),
        "shown": [group.tolist() for group in groups[:MAX_GROUPS]], "max_examples": MAX_GROUP_EXAMPLES,
        "hashed": None if subject.hashed is None else describe_columns(subject.hashed),
    }  # fmt: skip
