"""A model as one JSON object: its weights by feature name, and all that is needed to predict with them.

The shape is described in docs/howto/export.md. Its "version" grows when a reader of an older one would be misled.
"""

import json
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.calibration import Calibration
from perceptrons.export.parts import (
    ColumnInputs,
    Dual,
    Inputs,
    Subject,
    TaggerSubject,
    TextInputs,
    VersionsOfWeights,
    Weights,
)
from perceptrons.features import Columns
from perceptrons.inspection.names import ColumnNames

FORMAT, VERSION = "perceptrons weights", 2


def as_json(subject: Subject | TaggerSubject) -> str:
    """The text of the file: one feature per line, so that people can read and compare it."""
    found = _tagger(subject) if isinstance(subject, TaggerSubject) else _model(subject)
    lines = [f" {json.dumps(key)}: {_value(value)}" for key, value in found.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: Any) -> str:
    """Lists of objects and of lists with one item per line."""
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return "[\n" + ",\n".join(f"  {json.dumps(one, allow_nan=False)}" for one in value) + "\n ]"
    return json.dumps(value, allow_nan=False)


def _model(subject: Subject) -> dict[str, Any]:
    answer, scores = subject.answer, subject.scores
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": scores.kind,
        "classes": answer.classes.tolist(),
        "several_labels": answer.several,
        "scheme": "binary" if answer.binary else answer.scheme,
        "combine": answer.combine,
        "zero_score": "positive" if answer.positive_at_zero else "negative",
        "threshold": answer.threshold,
        "calibration": _calibration(answer.calibration),
        "n_columns": subject.inputs.n_columns,
        "inputs": _inputs(subject.inputs),
        "rows": _rows(subject),
        **_scores(scores, subject.inputs),
    }


def _calibration(calibration: Calibration | None) -> dict[str, Any] | None:
    """How scores become probabilities. The slopes of a temperature come with offsets of 0."""
    if calibration is None:
        return None
    arrays = calibration.arrays
    if calibration.method != "isotonic":
        slope = arrays["slope"]
        offset = arrays.get("offset", np.zeros(len(slope)))
        return {"method": calibration.method, "slope": _list(slope), "offset": _list(offset)}
    ends = np.cumsum(arrays["corners"])[:-1]
    curves = zip(np.split(arrays["scores"], ends), np.split(arrays["shares"], ends), strict=True)
    return {"method": "isotonic", "curves": [np.column_stack(curve).tolist() for curve in curves]}


def _rows(subject: Subject) -> list[Any]:
    """What each row of weights is for: a class, or two of which it is positive for the second."""
    answer, classes = subject.answer, subject.answer.classes.tolist()
    if answer.binary:
        return [classes]
    if answer.duels:
        return [[classes[a], classes[b]] for a in range(len(classes)) for b in range(a + 1, len(classes))]
    return classes


def _inputs(inputs: Inputs) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": inputs.kind}
    if isinstance(inputs, ColumnInputs):
        scaled = inputs.shift is not None and inputs.scale is not None
        return found | ({"shift": _list(inputs.shift), "scale": _list(inputs.scale)} if scaled else {})
    found["hashing"] = _hashing(inputs.columns)
    if isinstance(inputs, TextInputs):
        return found | {"text": _text(inputs.text)}
    made = inputs.preparation
    return found | {
        "numbers": inputs.numbers,
        "categories": inputs.categories,
        "texts": inputs.texts,
        "text": None if inputs.text is None else _text(inputs.text) | {"prefixes": inputs.prefixes},
        "missing_numbers": list(made.words.numbers),
        "fills": made.fills.tolist(),
        "centres": made.centres.tolist(),
        "scales": made.scales.tolist(),
        "indicators": inputs.indicators,
        "products": [list(factors) for factors in inputs.products],
        "product_centres": made.product_centres.tolist(),
        "product_scales": made.product_scales.tolist(),
        "number_features": inputs.number_names,
        "category_features": [
            {"number": one.number, "categories": [place for place in (one.first, one.second) if place >= 0],
             "name": list(one.prefixes)} for one in inputs.values
        ],
    }  # fmt: skip


def _hashing(columns: Columns) -> dict[str, Any] | None:
    if columns.bits is None:
        return None
    return {"hash": "MurmurHash3_x86_32", "bits": columns.bits, "signed": columns.signed, "seed": columns.seed}


def _text(text: Any) -> dict[str, Any]:
    return {
        "words": None if text.words is None else list(text.words),
        "chars": None if text.chars is None else list(text.chars),
        "lowercase": bool(text.lowercase),
        "values": text.values,
        "norm": text.norm,
    }


def _scores(scores: Any, inputs: Inputs) -> dict[str, Any]:
    if isinstance(scores, Weights):
        return {"intercept": _list(scores.b), "weights": _weights(scores.w, inputs)}
    if isinstance(scores, Dual):
        return _dual(scores)
    assert isinstance(scores, VersionsOfWeights)
    updates = zip(scores.which, scores.y, scores.y_hat, scores.step, strict=True)
    return {
        "intercept": _list(scores.b),
        "weights": _weights(scores.w, inputs),
        "one": scores.one,
        "survived": _list(scores.counts),
        "updates": [[int(m), int(y), int(y_hat), float(step)] for m, y, y_hat, step in updates],
        "support": _vectors(scores.support),
    }


def _dual(scores: Dual) -> dict[str, Any]:
    return {
        "kernel": {"name": scores.kernel, "gamma": scores.gamma, "degree": scores.degree, "coef0": scores.coef0},
        "index": None if scores.index is None else scores.index.tolist(),
        "support": None if scores.support is None else _vectors(scores.support),
        "coefficients": np.asarray(scores.coef, np.float64).T.tolist(),
    }


def _vectors(rows: Any) -> list[Any]:
    """Support vectors, each as pairs of a column and a value that is not 0."""
    rows = sp.csr_matrix(rows).astype(np.float64)
    rows.sort_indices()
    parts = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return [list(map(list, zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True))) for a, b in parts]


def _weights(w: np.ndarray, inputs: Inputs) -> list[Any]:
    """Columns that have a weight, each with its name, or the names of all features that are hashed to it."""
    used = np.flatnonzero((w != 0).any(axis=0))
    tall = w[:, used].T.astype(np.float64).tolist()
    named = _names(inputs, used)
    return [
        {"column": column, **name, "weights": row} for column, name, row in zip(used.tolist(), named, tall, strict=True)
    ]


def _names(inputs: Inputs, used: np.ndarray) -> list[dict[str, Any]]:
    columns = inputs.columns
    if columns is None:
        names = inputs.names if isinstance(inputs, ColumnInputs) else None
        return [{"feature": f"x{column}" if names is None else names[column]} for column in used.tolist()]
    if columns.bits is None:
        raw = columns.state()[1]
        ends, arena = raw["ends"], raw["arena"].tobytes()
        return [{"feature": arena[ends[j] : ends[j + 1]].decode("utf-8", "replace")} for j in used.tolist()]
    found = ColumnNames(columns).numbers(used)
    signs = columns.signs.astype(int)
    return [
        {"features": columns.names(found.get(j, [])), "signs": signs[found.get(j, [])].tolist()} for j in used.tolist()
    ]


def _tagger(subject: TaggerSubject) -> dict[str, Any]:
    used = np.flatnonzero((subject.w != 0).any(axis=1))
    names = subject.names
    forbidden = np.isneginf(subject.arcs)
    arcs = [[None if no else value for value, no in zip(*row, strict=True)] for row in
            zip(subject.arcs.tolist(), forbidden.tolist(), strict=True)]  # fmt: skip
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "tagger",
        "classes": subject.classes.tolist(),
        "combine": subject.combine,
        "n_columns": len(subject.w),
        "arcs": arcs,
        "weights": [
            {"column": j, "feature": f"x{j}" if names is None else names[j], "weights": subject.w[j].tolist()}
            for j in used.tolist()
        ],
    }


def _list(array: Any) -> list[float]:
    return np.asarray(array, np.float64).tolist()
