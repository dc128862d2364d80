"""A model as one JSON object: its weights by feature name, and all that is needed to predict with them.

docs/howto/export.md describes the format. VERSION grows when a reader of an older version would be misled.
"""

import json
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.calibration import Calibration
from perceptrons.engine.training.feature_names import ColumnNames
from perceptrons.export.parts import (
    ColumnInputs,
    Inputs,
    ModelParts,
    TaggerParts,
    TextInputs,
    VoteUpdates,
    calibration_curves,
)
from perceptrons.features import Columns, HashedText
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host

FORMAT, VERSION = "perceptrons weights", 2


def as_json(parts: ModelParts | TaggerParts) -> str:
    """Return the text of the file, with one feature per line so that people can read and compare it."""
    fields = _tagger(parts) if isinstance(parts, TaggerParts) else _classifier(parts)
    lines = [f" {json.dumps(key)}: {_value(value)}" for key, value in fields.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: Any) -> str:
    """Return a value as JSON. Lists of objects or lists have one item per line."""
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return "[\n" + ",\n".join(f"  {json.dumps(item, allow_nan=False)}" for item in value) + "\n ]"
    return json.dumps(value, allow_nan=False)


def _classifier(parts: ModelParts) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": parts.kind,
        "classes": parts.classes.tolist(),
        "several_labels": parts.is_multilabel,
        "scheme": "binary" if parts.is_binary else parts.scheme,
        "combine": parts.model.combine,
        "zero_score": "positive" if parts.is_positive_at_zero else "negative",
        "threshold": parts.model.threshold_,
        "calibration": _calibration(parts.calibration),
        "n_columns": parts.inputs.n_columns,
        "inputs": _inputs(parts.inputs),
        "rows": _rows(parts),
        **_scores(parts),
    }


def _calibration(calibration: Calibration | None) -> dict[str, Any] | None:
    """Return how scores become probabilities. The slopes of a temperature come with offsets of 0."""
    if calibration is None:
        return None
    arrays = calibration.arrays
    if calibration.method != "isotonic":
        slope = arrays["slope"]
        offset = arrays.get("offset", np.zeros(len(slope)))
        return {"method": calibration.method, "slope": _list(slope), "offset": _list(offset)}
    curves = [np.column_stack(curve).tolist() for curve in calibration_curves(arrays)]
    return {"method": "isotonic", "curves": curves}


def _rows(parts: ModelParts) -> list[Any]:
    """Return the class of each row of weights, or two classes of which it is positive for the second."""
    classes = parts.classes.tolist()
    if parts.is_binary:
        return [classes]
    if parts.is_one_vs_one:
        return [[classes[a], classes[b]] for a in range(len(classes)) for b in range(a + 1, len(classes))]
    return classes


def _inputs(inputs: Inputs) -> dict[str, Any]:
    fields: dict[str, Any] = {"kind": inputs.kind}
    if isinstance(inputs, ColumnInputs):
        if inputs.shift is None or inputs.scale is None:
            return fields
        return fields | {"shift": _list(inputs.shift), "scale": _list(inputs.scale)}
    fields["hashing"] = _hashing(inputs.columns)
    if isinstance(inputs, TextInputs):
        return fields | {"text": _text(inputs.text)}
    preparation = inputs.preparation
    return fields | {
        "numbers": inputs.numbers,
        "categories": inputs.categories,
        "texts": inputs.texts,
        "text": None if inputs.text is None else _text(inputs.text) | {"prefixes": inputs.prefixes},
        "missing_numbers": list(preparation.missing_values.numbers),
        "fills": preparation.fills.tolist(),
        "centres": preparation.centres.tolist(),
        "scales": preparation.scales.tolist(),
        "indicators": inputs.indicators,
        "products": [list(factors) for factors in inputs.products],
        "product_centres": preparation.product_centres.tolist(),
        "product_scales": preparation.product_scales.tolist(),
        "number_features": preparation.number_names,
        "category_features": [
            {"number": one.number, "categories": [k for k in (one.first, one.second) if k >= 0],
             "name": list(one.prefixes)} for one in inputs.category_features
        ],
    }  # fmt: skip


def _hashing(columns: Columns) -> dict[str, Any] | None:
    if columns.bits is None:
        return None
    return {"hash": "MurmurHash3_x86_32", "bits": columns.bits, "signed": columns.signed, "seed": columns.seed}


def _text(text: HashedText) -> dict[str, Any]:
    return {
        "words": None if text.words is None else list(text.words),
        "chars": None if text.chars is None else list(text.chars),
        "lowercase": bool(text.lowercase),
        "values": text.values,
        "norm": text.norm,
    }


def _scores(parts: ModelParts) -> dict[str, Any]:
    model = parts.model
    if isinstance(model, KernelPerceptron):
        kernel = learner_of(model).kernel
        is_precomputed = kernel.name == "precomputed"
        options = {"gamma": float(kernel.gamma), "degree": int(kernel.degree), "coef0": float(kernel.coef0)}
        return {
            "kernel": {"name": kernel.name, **options},
            "index": to_host(model.support_).tolist() if is_precomputed else None,
            "support": None if is_precomputed else _vectors(to_host(model.support_vectors_)),
            "coefficients": np.asarray(to_host(model.dual_coef_), np.float64).T.tolist(),
        }
    if parts.kind == "linear":
        return {"intercept": _list(model.intercept_), "weights": _weights(model.coef_, parts.inputs)}
    votes = VoteUpdates(model)
    updates = zip(votes.support_index, votes.y, votes.y_hat, votes.step, strict=True)
    return {
        "intercept": _list(votes.b),
        "weights": _weights(votes.w, parts.inputs),
        "one": votes.one,
        "survived": _list(votes.counts),
        "updates": [[int(m), int(y), int(y_hat), float(step)] for m, y, y_hat, step in updates],
        "support": _vectors(votes.support),
    }


def _vectors(rows: Any) -> list[Any]:
    """Return support vectors, each as pairs of a column and a value that is not 0."""
    rows = sp.csr_matrix(rows).astype(np.float64)
    rows.sort_indices()
    spans = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return [list(map(list, zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True))) for a, b in spans]


def _weights(w: np.ndarray, inputs: Inputs) -> list[Any]:
    """Return the columns that have a weight, each with its name or the names of all features that are hashed to it."""
    used = np.flatnonzero((w != 0).any(axis=0))
    weights = w[:, used].T.astype(np.float64).tolist()
    named = zip(used.tolist(), _names(inputs, used), weights, strict=True)
    return [{"column": column, **name, "weights": row} for column, name, row in named]


def _names(inputs: Inputs, used: np.ndarray) -> list[dict[str, Any]]:
    columns = inputs.columns
    if columns is None:
        names = inputs.names if isinstance(inputs, ColumnInputs) else None
        return [{"feature": f"x{column}" if names is None else names[column]} for column in used.tolist()]
    if columns.bits is None:
        raw = columns.state()[1]
        ends, arena = raw["ends"], raw["arena"].tobytes()
        return [{"feature": arena[ends[j] : ends[j + 1]].decode("utf-8", "replace")} for j in used.tolist()]
    numbers = ColumnNames(columns).numbers(used)
    signs = columns.signs.astype(int)
    return [
        {"features": columns.names(numbers.get(j, [])), "signs": signs[numbers.get(j, [])].tolist()}
        for j in used.tolist()
    ]


def _tagger(parts: TaggerParts) -> dict[str, Any]:
    used = np.flatnonzero((parts.w != 0).any(axis=1))
    names = parts.names
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "tagger",
        "classes": parts.classes.tolist(),
        "combine": parts.combine,
        "n_columns": len(parts.w),
        "arcs": [[None if arc == -np.inf else arc for arc in row] for row in parts.arcs.tolist()],
        "weights": [
            {"column": j, "feature": f"x{j}" if names is None else names[j], "weights": parts.w[j].tolist()}
            for j in used.tolist()
        ],
    }


def _list(array: Any) -> list[float]:
    return np.asarray(array, np.float64).tolist()
