"""Examples as the inputs of an exported ONNX model: what Python prepares before a session runs."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.rows import Dense
from perceptrons.engine.scan.words import SPACE, folded
from perceptrons.export.onnx_graph import is_sparse
from perceptrons.export.onnx_text import check_words
from perceptrons.export.parts import Subject, TableInputs, TaggerSubject, TextInputs
from perceptrons.export.table_parts import table_cells
from perceptrons.features.text import read_texts

Feeds = dict[str, np.ndarray]


def feeds_of(model: Any, subject: Subject | TaggerSubject, X: Any, rows: str) -> Feeds:
    """The inputs by name. X: what `predict` of the model takes."""
    if isinstance(subject, TaggerSubject):
        tokens = model._tokens(X, None)[0].rows
        matrix = tokens.values if isinstance(tokens, Dense) else None
        if matrix is None:
            matrix = sp.csr_matrix(
                (tokens.values, tokens.columns, tokens.starts), shape=(len(tokens.starts) - 1, len(subject.w))
            )
        return sparse_feed(matrix)
    if isinstance(subject.inputs, TextInputs):
        check_words(subject.inputs)
        return {"words": words_feed(X, bool(subject.inputs.text.lowercase))}
    if isinstance(subject.inputs, TableInputs):
        numbers, categories = table_cells(subject.inputs, X)
        found = {name: numbers[:, [place]].astype(np.float64) for place, name in enumerate(subject.inputs.numbers)}
        cells = zip(subject.inputs.categories, categories, strict=True)
        return found | {name: np.array(column, object)[:, None] for name, column in cells}
    X = prepared(model, X, subject)
    if is_sparse(subject, rows):
        return sparse_feed(X)
    return {"X": np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, np.float64)}


def prepared(model: Any, X: Any, subject: Subject) -> Any:
    """The rows of columns that the exported part takes, of what the model takes."""
    last = model
    if hasattr(model, "steps"):
        last = model.steps[-1][1]
        if subject.inputs.kind == "columns" and getattr(subject.inputs, "shift", None) is None:
            for _, step in model.steps[:-1]:
                X = X if step is None or step == "passthrough" else step.transform(X)
    columns = getattr(last, "columns_", None)
    if columns is not None and not (sp.issparse(X) or isinstance(X, np.ndarray)):
        X = columns.as_frozen().rows(X, last.source_)
    return X if sp.issparse(X) else np.asarray(X)


def sparse_feed(X: Any) -> Feeds:
    """Rows as the numbers and the values of their columns, side by side; what is left over has the value 0."""
    X = sp.csr_matrix(X)
    lengths = np.diff(X.indptr)
    places = np.arange(len(X.data)) - np.repeat(X.indptr[:-1], lengths)
    which = np.repeat(np.arange(X.shape[0]), lengths)
    shape = X.shape[0], max(1, int(lengths.max(initial=0)))
    columns, values = np.zeros(shape, np.int64), np.zeros(shape)
    columns[which, places], values[which, places] = X.indices, X.data
    return {"columns": columns, "values": values}


def words_feed(texts: Any, lowercase: bool) -> np.ndarray:
    """The words of every text, cut and in lower case as `HashedText` does, "" behind the last."""
    source = read_texts(texts)
    table = folded(lowercase)
    rows: list[list[str]] = []
    for k in range(len(source.cuts) - 1):
        piece = source.piece(k)
        content = piece.content.tobytes()
        for begin, end in zip(piece.begin.tolist(), piece.end.tolist(), strict=True):
            text = content[begin:end].decode("utf-8", "replace").replace("\ufffd", " ")
            rows.append(clean(text, table).split(" ") if text else [])
    rows = [[word for word in row if word] for row in rows]
    found = np.full((len(rows), max(1, *map(len, rows)) if rows else 1), "", object)
    for place, row in enumerate(rows):
        found[place, : len(row)] = row
    return found


def clean(text: str, table: np.ndarray) -> str:
    """Characters as they are in words, and spaces for all others."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    known = points < len(table)
    mapped = np.where(known, table[np.where(known, points, 0)], SPACE).astype(np.uint32)
    return mapped.tobytes().decode("utf-32-le")
