"""The most important features: largest weights by name and class, or as images; support vectors of a kernel model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from markupsafe import Markup

from perceptrons.engine.html import visible
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.wording import NOT_PROBABILITIES
from perceptrons.explanation import rows_of
from perceptrons.inspection.evaluation import columns_matched
from perceptrons.inspection.weights import dense_coef, step_of
from perceptrons.kernel.arrays import to_host
from perceptrons.plots import WeightsDisplay
from perceptrons.plots.model_facts import to_dense
from perceptrons.report.page import (
    Picture,
    Section,
    Table,
    bar,
    format_signed,
    grey_image,
    user_text,
)
from perceptrons.report.subject import Subject
from perceptrons.theory.scales import comparable_weights, uneven

TOP_WEIGHTS, MAX_ROWS = 10, 20
MAX_IMAGES = 30  # classes
TOP_SUPPORT_VECTORS = 8
MAX_WORDS, MAX_VALUES = 14, 6  # of a support vector
MAX_SORTED_WEIGHTS = 500  # of a row, among which those for either class are found


def features_section(subject: Subject) -> Section:
    values: dict[str, Any] = {"weights": None, "support": None, "scores_note": NOT_PROBABILITIES}
    if subject.is_kernel:
        values["support"] = _support_vectors(subject)
    else:
        values["weights"] = _weights(subject)
    return Section("features", "Most important features", values)


def _weights(subject: Subject) -> dict[str, Any]:
    model, image_shape = subject.model, subject.image_shape
    coef, rows = dense_coef(model), rows_of(model.classes_, learner_of(model).scheme)
    step, is_scaled = step_of(model), False
    values: dict[str, Any] = {"never_updated": _never_updated(subject), "image": None, "step": step}
    if image_shape is not None and len(rows[0]) == 1 and subject.n_known <= MAX_IMAGES:
        labels = np.array([visible(str(label)) for label in subject.classes], object)
        title, evidence = "The weights of every class as an image", "for the class, blue pixels against it."
        if subject.n_known == 2:
            title, evidence = "The weights as an image", "for one class, blue pixels for the other, as the title says."
        caption = f"{title}: red pixels are evidence {evidence}"
        options = {"image_shape": image_shape}
        values["image"] = Picture(WeightsDisplay(coef, labels), caption, caption, max_width=None, options=options)
        return values
    if step is None and not sp.issparse(subject.X) and uneven(subject.X):
        is_scaled = True
        with columns_matched():
            coef = comparable_weights(model, subject.X)
    shown: Sequence[int] = range(len(rows))
    if len(rows) > MAX_ROWS and len(rows[0]) == 1:
        shown = np.argsort(-subject.counts[: subject.n_known], kind="stable").tolist()
    title = "weight × deviation" if is_scaled else "weight"
    classes = [part for k in shown[:MAX_ROWS] for part in _class_weights(subject, coef[k], rows[k], title)]
    return values | {"is_scaled": is_scaled, "n_rows": len(rows), "max_rows": MAX_ROWS, "classes": classes}


def _class_weights(subject: Subject, weights: np.ndarray, row: tuple[Any, ...], title: str) -> list[dict[str, Any]]:
    """Return the largest weights of a class; of two classes that share a row, each the weights that are for it."""
    order = np.argsort(-np.abs(weights), kind="stable")[:MAX_SORTED_WEIGHTS]
    names, signs = subject.names.of_columns(order)  # a name may count negatively in its column
    named_weights = [(name, w) for name, w in zip(names, (signs * weights[order]).tolist(), strict=True) if w]
    labels = tuple(subject.classes) if subject.n_known == 2 else row
    if len(labels) == 1:
        table = _weight_table(subject, named_weights, title) if named_weights else None
        return [{"label": labels[0], "side": None, "table": table, "note": "all weights are 0"}]
    parts = []
    for is_for, side in ((True, "for"), (False, "against")):
        side_weights = [(name, w) for name, w in named_weights if (w > 0) == is_for]
        note: Any = "all weights are 0"
        if named_weights:
            is_cut = np.count_nonzero(weights) > MAX_SORTED_WEIGHTS
            none = f"none of the {MAX_SORTED_WEIGHTS} largest weights is" if is_cut else "no feature is"
            note = Markup("{} evidence for {}").format(none, user_text(labels[is_for], 40))
        table = _weight_table(subject, side_weights, title) if side_weights else None
        parts.append({"label": labels[is_for], "side": side, "table": table, "note": note})
    return parts


def _weight_table(subject: Subject, named_weights: list[tuple[str, float]], title: str) -> Table:
    """Return the largest weights with bars, and those of scaled numbers also per unit of the data."""
    largest, units = max(abs(w) for _, w in named_weights), subject.units
    named_weights = named_weights[:TOP_WEIGHTS]
    has_units = any(name in units for name, _ in named_weights)
    rows = []
    for name, w in named_weights:
        per_unit = format_signed(w / units[name].scale) if name in units else ""
        cells = [user_text(name, 48), format_signed(w), *[per_unit] * has_units]
        rows.append([*cells, bar(abs(w) / largest, "for" if w > 0 else "against")])
    header = ["feature", title, *["per unit"] * has_units, ""]
    return Table(header, rows, "weights", numbers=range(1, 2 + has_units), kind="weights")


def _never_updated(subject: Subject) -> dict[str, Any] | None:
    """Return the features of these examples that no update has reached."""
    X, never_updated = subject.X, subject.model.never_updated_
    occurs = np.bincount(X.indices, minlength=X.shape[1]) > 0 if sp.issparse(X) else np.any(X != 0, axis=0)
    columns = np.flatnonzero(occurs[: len(never_updated)])
    new = columns[never_updated[columns]]
    names = [name for name in subject.names.of_columns(new[: 10 * TOP_WEIGHTS])[0] if not subject.names.is_number(name)]
    return {"n_new": len(new), "n_features": len(columns), "names": names[:TOP_WEIGHTS]} if len(new) else None


def _support_vectors(subject: Subject) -> dict[str, Any]:
    """Return the support vectors with the largest coefficients, class by class."""
    model = subject.model
    coef = np.asarray(to_host(model.dual_coef_average_ if model.combine == "vote" else model.dual_coef_), np.float64)
    labels = subject.classes[1:] if len(coef) == 1 else subject.classes
    classes = []
    for row, label in zip(coef[:MAX_ROWS], labels if model.n_support_ else (), strict=False):
        order = np.argsort(-np.abs(row), kind="stable")[:TOP_SUPPORT_VECTORS]
        order = order[row[order] != 0]
        numbers = [f"{i + 1:,}" if i >= 0 else "–" for i in model.support_[order].tolist()]
        coefficients, vectors = map(format_signed, row[order]), [_describe_vector(subject, s) for s in order.tolist()]
        rows = list(zip(numbers, coefficients, vectors, strict=True))
        table = Table(("example", "coefficient", "description"), rows, "support vectors", numbers=(0, 1))
        classes.append({"label": label, "table": table})
    return {"other": subject.classes[0] if len(coef) == 1 else None, "classes": classes}


def _describe_vector(subject: Subject, s: int) -> Any:
    """Return a support vector as an image, or its largest features."""
    if subject.is_precomputed:
        return ""
    vector = to_dense(to_host(subject.model.support_vectors_[[s]]))[0].astype(np.float64)
    if subject.image_shape is not None:
        image = grey_image(vector.reshape(subject.image_shape), float(min(0, vector.min())), float(vector.max()))
        return {"image": image, "alt": f"support vector {s + 1}"}
    columns = np.flatnonzero(vector)
    columns = columns[np.argsort(-np.abs(vector[columns]), kind="stable")]
    if subject.examples is not None:
        words = " · ".join(subject.names.of_columns(columns[:MAX_WORDS])[0])
        return user_text(words + " …" * (len(columns) > MAX_WORDS), 300)
    names = subject.names.of_columns(columns[:MAX_VALUES])[0]
    values = (subject.format_value(name, vector[c]) for name, c in zip(names, columns.tolist(), strict=False))
    text = ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
    return user_text(text + ", …" * (len(columns) > MAX_VALUES), 200)
