"""Words and cells of tables as inputs of ONNX graphs, and examples as the inputs of a session.

Words are cut outside of the graph, because ONNX has no operator for words in Unicode. It counts their n-grams.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.rows import Dense
from perceptrons.engine.scan.words import SPACE, folded
from perceptrons.export.onnx_writer import Graph, Nodes
from perceptrons.export.parts import (
    COLUMNS_INSTEAD,
    CategoryFeatures,
    ExportError,
    ModelParts,
    TableInputs,
    TaggerParts,
    TextInputs,
    active_steps,
    table_cells,
)
from perceptrons.features.text import HashedText, read_texts
from perceptrons.sequence.estimator import tokens_to_label

Feeds = dict[str, np.ndarray]

# ---- texts


def check_words(text: HashedText, names: Any) -> None:
    """Raise ExportError for texts whose features ONNX cannot compute. names: the names of columns, None if hashed."""
    if names is None:
        raise ExportError(f"The texts are hashed, but ONNX has no operator that hashes words. {COLUMNS_INSTEAD}")
    if text.chars is not None:
        raise ExportError(f"ONNX has no operator that cuts words into n-grams of characters. {COLUMNS_INSTEAD}")


def word_rows(nodes: Nodes, words: str, text: HashedText, names: list[str]) -> str:
    """Return the rows (n_texts, n_columns) of words (n_texts, places), which have "" after the last.

    TfIdfVectorizer counts the n-grams; counts become values, and values are rounded to float32, as in the library.
    """
    sizes = np.array([name.count(" ") + 1 for name in names])
    order = np.argsort(sizes, kind="stable").tolist()
    n_words = [int(n * (sizes == n).sum()) for n in range(1, max(sizes) + 1)]
    counts = nodes.add(
        "TfIdfVectorizer", words, min_gram_length=1, max_gram_length=len(n_words), max_skip_count=0, mode="TF",
        ngram_counts=np.cumsum([0, *n_words[:-1]]).tolist(), ngram_indexes=order,
        pool_strings=[word for column in order for word in names[column].split(" ")],
    )  # fmt: skip
    counts = nodes.add("Cast", counts, to=nodes.DOUBLE)
    occurs = nodes.add("Greater", counts, nodes.double(0.0))
    if text.values == "binary":
        X = nodes.add("Cast", occurs, to=nodes.DOUBLE)
    elif text.values == "count":
        X = counts
    else:
        logs = nodes.add("Log", nodes.add("Where", occurs, counts, nodes.double(1.0)))
        X = nodes.add("Where", occurs, nodes.add("Add", logs, nodes.double(1.0)), nodes.double(0.0))
    if text.norm == "l2":
        X = nodes.add("Div", X, nodes.norm(X))
    return nodes.add("Cast", nodes.add("Cast", X, to=nodes.FLOAT), to=nodes.DOUBLE)


def word_input(texts: Any, lowercase: bool) -> np.ndarray:
    """Cut texts into words as `HashedText` does. Returns (n_texts, places), with "" after the last word of a text."""
    source, letters = read_texts(texts), folded(lowercase)
    rows: list[list[str]] = []
    for k in range(len(source.cuts) - 1):
        piece = source.piece(k)
        content = piece.content.tobytes()
        for begin, end in zip(piece.begin.tolist(), piece.end.tolist(), strict=True):
            text = content[begin:end].decode("utf-8", "replace").replace("\ufffd", " ")
            points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
            known = np.where(points < len(letters), points, ord(" "))
            rows.append(letters[known].astype(np.uint32).tobytes().decode("utf-32-le").split(chr(SPACE)))
    rows = [[word for word in row if word] for row in rows]
    words = np.full((len(rows), max([1, *map(len, rows)]) if rows else 1), "", object)
    for k, row in enumerate(rows):
        words[k, : len(row)] = row
    return words


# ---- tables


def table_scores(graph: Graph, parts: ModelParts) -> str:
    """Return the scores (n_rows, n_outputs) of the cells of a table. Categories look their weights up."""
    inputs, model = parts.inputs, parts.model
    assert isinstance(inputs, TableInputs)
    if inputs.texts or inputs.is_hashed:
        what = "texts" if inputs.texts else "hashed columns"
        raise ExportError(f"The table has {what}, but ONNX has no operator that hashes names. {COLUMNS_INSTEAD}")
    if parts.kind != "linear":
        raise ExportError(f"A table before a kernel or voted model cannot be exported to ONNX. {COLUMNS_INSTEAD}")
    numbers = _prepared_numbers(graph, inputs) if inputs.numbers else ""
    codes = [_category_codes(graph, inputs, k) for k in range(len(inputs.categories))]
    coef = model.coef_
    w = np.concatenate([coef, np.zeros((len(coef), 1), coef.dtype)], axis=1)  # column -1 has weight 0
    total = graph.double(model.intercept_)
    if inputs.number_columns:
        weights = graph.matrix(np.ascontiguousarray(w[:, inputs.number_columns].T))
        total = graph.add("Add", graph.add("MatMul", numbers, weights), total)
    for features in inputs.category_features:
        if features.columns:
            total = graph.add("Add", _looked_up_weights(graph, features, codes, numbers, w), total)
    return total


def _prepared_numbers(graph: Graph, inputs: TableInputs) -> str:
    """Return the numbers of rows: filled and scaled, with indicators, powers and products."""
    preparation = inputs.preparation
    X = graph.concat([graph.number_input(name, [None, 1]) for name in inputs.numbers], 1)
    for number in preparation.words.numbers:
        X = graph.add("Where", graph.add("Equal", X, graph.double(number)), graph.double(np.nan), X)
    is_missing = graph.add("IsNaN", X)
    centres, scales = preparation.centres, preparation.scales
    X = graph.add("Div", graph.add("Sub", X, graph.double(centres)), graph.double(scales))
    X = graph.add("Where", is_missing, graph.double((preparation.fills - centres) / scales), X)
    parts = [X]
    if inputs.indicators:
        indicators = graph.add("Cast", is_missing, to=graph.DOUBLE)
        parts.append(graph.add("Gather", indicators, graph.int64(inputs.indicators), axis=1))
    for k, factors in enumerate(inputs.products):
        product = graph.column(X, factors[0])
        for factor in factors[1:]:
            product = graph.add("Mul", product, graph.column(X, factor))
        if len(preparation.product_scales):
            product = graph.add("Sub", product, graph.double(preparation.product_centres[k : k + 1]))
            product = graph.add("Div", product, graph.double(preparation.product_scales[k : k + 1]))
        parts.append(product)
    return graph.concat(parts, 1)


def _category_codes(graph: Graph, inputs: TableInputs, category: int) -> tuple[str, dict[str, int]]:
    """Return the codes (n_rows, 1) of a category and the code of every value. 0 is a value without weights."""
    cell = graph.input(inputs.categories[category], "string", [None, 1])
    values = dict.fromkeys(
        value
        for features in inputs.category_features
        for values in features.columns
        for place, value in zip((features.first, features.second), values, strict=False)
        if place == category
    )
    if not values:
        return "", {}
    codes = {value: code for code, value in enumerate(values, 1)}
    encoding = {"keys_strings": list(codes), "values_int64s": list(codes.values()), "default_int64": 0}
    return graph.add("LabelEncoder", cell, domain="ai.onnx.ml", **encoding), codes


def _looked_up_weights(
    graph: Graph, features: CategoryFeatures, codes: list[tuple[str, dict[str, int]]], numbers: str, w: np.ndarray
) -> str:
    """Return the weights (n_rows, n_outputs) of the feature that a row has, times the number it is a product with."""
    code, first_codes = codes[features.first]
    width, second_codes = 1, dict[str, int]()
    if features.second >= 0:
        second, second_codes = codes[features.second]
        width = len(second_codes) + 1
        code = graph.add("Add", graph.add("Mul", code, graph.int64(width)), second)
    table = np.zeros(((len(first_codes) + 1) * width, len(w)), w.dtype)
    for values, column in features.columns.items():
        table[first_codes[values[0]] * width + (second_codes[values[1]] if second_codes else 0)] = w[:, column]
    weights = graph.add("Gather", graph.matrix(table), graph.add("Reshape", code, graph.int64([-1])), axis=0)
    return weights if features.number < 0 else graph.add("Mul", weights, graph.column(numbers, features.number))


# ---- inputs of a session


def feeds_of(model: Any, parts: ModelParts | TaggerParts, X: Any, is_sparse: bool, dtype: str) -> Feeds:
    """Return the inputs of a session by name. X: what `predict` of the model takes."""
    if isinstance(parts, TaggerParts):
        tokens = tokens_to_label(model, X)[0].rows
        if isinstance(tokens, Dense):
            return sparse_feeds(tokens.values, dtype)
        shape = len(tokens.starts) - 1, len(parts.w)
        return sparse_feeds(sp.csr_matrix((tokens.values, tokens.columns, tokens.starts), shape=shape), dtype)
    inputs = parts.inputs
    if isinstance(inputs, TextInputs):
        check_words(inputs.text, None if inputs.columns.bits is not None else inputs.columns)
        return {"words": word_input(X, bool(inputs.text.lowercase))}
    if isinstance(inputs, TableInputs):
        numbers, categories = table_cells(inputs, X)
        feeds = {name: numbers[:, [k]].astype(dtype) for k, name in enumerate(inputs.numbers)}
        cells = zip(inputs.categories, categories, strict=True)
        return feeds | {name: np.array(column, object)[:, None] for name, column in cells}
    last = model
    if hasattr(model, "steps"):
        last = model.steps[-1][1]
        for _, step in active_steps(model)[:-1]:
            X = step.transform(X)
    columns = getattr(last, "columns_", None)
    if columns is not None and not (sp.issparse(X) or isinstance(X, np.ndarray)):
        X = columns.as_frozen().rows(X, last.source_)
    if is_sparse:
        return sparse_feeds(X, dtype)
    return {"X": np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype)}


def sparse_feeds(X: Any, dtype: str) -> Feeds:
    """Return rows as the numbers and values of their columns, both (n_rows, places). Unused places have the value 0."""
    X = sp.csr_matrix(X)
    lengths = np.diff(X.indptr)
    places = np.arange(len(X.data)) - np.repeat(X.indptr[:-1], lengths)
    rows = np.repeat(np.arange(X.shape[0]), lengths)
    shape = X.shape[0], max(1, int(lengths.max(initial=0)))
    columns, values = np.zeros(shape, np.int64), np.zeros(shape, dtype)
    columns[rows, places], values[rows, places] = X.indices, X.data
    return {"columns": columns, "values": values}
