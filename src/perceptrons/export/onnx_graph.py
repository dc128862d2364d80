"""A model as an ONNX graph in double precision, with operators of ai.onnx, and LabelEncoder for categories.

Outputs: `label`, the class of every row (with several labels a 0/1 column per label), and `scores`, those of
`decision_function`. If the model is calibrated, also `probabilities`, those of `predict_proba`. Words are cut outside
of the graph, because ONNX has no operator for words in Unicode. It counts their n-grams.
"""

import json
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.rows import Dense
from perceptrons.engine.scan.words import SPACE, folded
from perceptrons.engine.training.base import learner_of
from perceptrons.export.onnx_writer import Graph, Nodes, class_type
from perceptrons.export.parts import (
    COLUMNS_INSTEAD,
    CategoryFeatures,
    ColumnInputs,
    ExportError,
    ModelParts,
    TableInputs,
    TaggerParts,
    TextInputs,
    active_steps,
    table_cells,
)
from perceptrons.features.hashed import text_pieces
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host
from perceptrons.sequence.estimator import tokens_to_label

Feeds = dict[str, np.ndarray]
MAX_DENSE_COLUMNS = 4096  # wider rows enter by the columns that are not 0


class Outputs(NamedTuple):
    """The values of the outputs of a classifier."""

    label: str
    scores: str
    probabilities: str | None


def graph_of(parts: ModelParts | TaggerParts, rows: str = "auto", dtype: str = "float64") -> Any:
    """Return the ONNX model. rows: "dense", "sparse" (columns and values), or "auto" by the number of columns."""
    graph = Graph(dtype)
    k = len(parts.classes)
    metadata = {"classes": json.dumps(parts.classes.tolist())}
    if isinstance(parts, TaggerParts):
        columns, values = graph.input("columns", "int64", [None, None]), graph.number_input("values", [None, None])
        graph.output("scores", graph.sparse_product(columns, values, parts.w), "double", [None, k])
        graph.output("arcs", graph.double(parts.arcs), "double", [k + 1, k + 1])
        return graph.model(metadata)
    outputs = rule_outputs(graph, parts, _raw_scores(graph, parts, rows))
    label_type = "int64" if parts.is_multilabel else class_type(parts.classes)
    graph.output("label", outputs.label, label_type, [None, k] if parts.is_multilabel else [None])
    graph.output("scores", outputs.scores, "double", [None] if parts.is_binary else [None, k])
    if outputs.probabilities is not None:
        graph.output("probabilities", outputs.probabilities, "double", [None, k])
    if isinstance(parts.inputs, ColumnInputs) and parts.inputs.names:
        metadata["columns"] = json.dumps(parts.inputs.names)
    return graph.model(metadata)


def is_sparse(parts: ModelParts | TaggerParts, rows: str) -> bool:
    """Return whether rows enter as the numbers and values of the columns that are not 0."""
    if rows not in ("auto", "dense", "sparse"):
        raise ValueError(f"rows={rows!r}: choose 'auto', 'dense' or 'sparse'.")
    if isinstance(parts, TaggerParts) or not isinstance(parts.inputs, ColumnInputs) or rows == "dense":
        return False
    if rows == "sparse" and parts.kind != "linear":
        raise ExportError("rows='sparse' is for linear models: use rows='dense'.")
    return rows == "sparse" or (parts.kind == "linear" and parts.inputs.n_columns > MAX_DENSE_COLUMNS)


# ---- scores


def _raw_scores(graph: Graph, parts: ModelParts, rows: str) -> str:
    """Return the scores of the inputs of a whole graph."""
    inputs, model = parts.inputs, parts.model
    if isinstance(inputs, TableInputs):
        return table_scores(graph, parts)
    if is_sparse(parts, rows):
        columns, values = graph.input("columns", "int64", [None, None]), graph.number_input("values", [None, None])
        return graph.add("Add", graph.sparse_product(columns, values, model.coef_.T), graph.double(model.intercept_))
    if isinstance(inputs, TextInputs):
        check_words(inputs)
        X = word_rows(graph, graph.input("words", "string", [None, None]), inputs)
    else:
        X = graph.number_input("X", [None, inputs.n_columns])
    return scores_of_rows(graph, X, parts)


def scores_of_rows(nodes: Nodes, X: str, parts: ModelParts) -> str:
    """Return the scores (n_examples, n_rows of weights) of rows in double; for votes those of `decision_function`."""
    model = parts.model
    if isinstance(model, KernelPerceptron):
        return _kernel_scores(nodes, X, model)
    return nodes.linear(X, model.coef_, model.intercept_) if parts.kind == "linear" else _votes(nodes, X, parts)


def _kernel_scores(nodes: Nodes, X: str, model: KernelPerceptron) -> str:
    kernel, coef = learner_of(model).kernel, nodes.matrix(np.asarray(to_host(model.dual_coef_)).T)
    if kernel.name == "precomputed":
        return nodes.add("MatMul", nodes.add("Gather", X, nodes.int64(to_host(model.support_)), axis=1), coef)
    support, gamma = _dense(to_host(model.support_vectors_)), float(kernel.gamma)
    if kernel.name == "laplacian":
        difference = nodes.add("Sub", nodes.unsqueeze(X, 1), nodes.double(support[None]))
        distance = nodes.sum(nodes.add("Abs", difference), -1, keep=False)
        K = nodes.add("Exp", nodes.add("Mul", distance, nodes.double(-gamma)))
        return nodes.add("MatMul", K, coef)
    factor = gamma if kernel.name in ("poly", "sigmoid") else 1.0
    K = nodes.add("MatMul", X, nodes.matrix(factor * support.T))  # onnxruntime would multiply K by gamma in float32
    squares = np.einsum("ij,ij->i", support, support)
    if kernel.name == "rbf":
        row_squares = nodes.sum(nodes.add("Mul", X, X), -1)
        distance = nodes.add("Add", nodes.add("Mul", K, nodes.double(-2.0)), row_squares)
        distance = nodes.add("Add", distance, nodes.double(squares))
        exponent = nodes.add("Mul", distance, nodes.double(-gamma))
        K = nodes.add("Exp", nodes.add("Min", exponent, nodes.double(0.0)))
    elif kernel.name == "cosine":
        norms = np.sqrt(squares)
        K = nodes.add("Div", nodes.add("Div", K, nodes.norm(X)), nodes.double(np.where(norms > 0, norms, 1.0)))
    elif kernel.name in ("poly", "sigmoid"):
        K = nodes.add("Add", K, nodes.double(float(kernel.coef0)))
        K = nodes.power(K, int(kernel.degree)) if kernel.name == "poly" else nodes.add("Tanh", K)
    return nodes.add("MatMul", K, coef)


def _dense(support: Any) -> np.ndarray:
    return np.asarray(support.toarray() if sp.issparse(support) else support, np.float64)


def _votes(nodes: Nodes, X: str, parts: ModelParts) -> str:
    """Return the votes of all versions of the weights, whose scores are running sums over the updates."""
    votes = parts.votes()
    start, n_updates = nodes.linear(X, votes.w, votes.b), len(votes.support_index)
    gram = ""
    if n_updates:  # the products of rows with the example of every update
        products = nodes.add("MatMul", X, nodes.matrix(_dense(votes.support).T))
        products = nodes.add("Add", products, nodes.double(votes.one))
        gram = nodes.add("Gather", products, nodes.int64(votes.support_index), axis=1)
    axis = nodes.int64(1)
    duration = nodes.double(max(votes.t, np.finfo(float).tiny))
    if len(votes.b) == 1:
        versions = start
        if n_updates:
            changes = nodes.add("Mul", gram, nodes.double(np.where(votes.y == 1, votes.step, -votes.step)))
            versions = nodes.add("CumSum", nodes.concat([start, changes], 1), axis)
        signed = nodes.add("Mul", _signs(nodes, versions, parts), nodes.double(votes.counts))
        return nodes.add("Div", nodes.sum(signed, 1), duration)  # after a MatMul, onnxruntime would divide in float32
    versions = nodes.unsqueeze(start, 1)  # (n_examples, n_versions, n_classes)
    if n_updates:
        steps = np.zeros((n_updates, len(votes.b)))
        steps[np.arange(n_updates), votes.y] += votes.step
        steps[np.arange(n_updates), votes.y_hat] -= votes.step
        changes = nodes.add("Mul", nodes.unsqueeze(gram, 2), nodes.double(steps[None]))
        versions = nodes.add("CumSum", nodes.concat([versions, changes], 1), axis)
    best = nodes.add("ArgMax", versions, axis=2, keepdims=1)
    is_best = nodes.add("Equal", best, nodes.int64(np.arange(len(votes.b))[None, None]))
    cast = nodes.add("Mul", nodes.add("Cast", is_best, to=nodes.DOUBLE), nodes.double(votes.counts[None, :, None]))
    return nodes.add("Div", nodes.sum(cast, 1, keep=False), duration)


# ---- from scores to labels


def _is_positive(nodes: Nodes, scores: str, parts: ModelParts) -> str:
    return nodes.add("GreaterOrEqual" if parts.is_positive_at_zero else "Greater", scores, nodes.double(0.0))


def _signs(nodes: Nodes, scores: str, parts: ModelParts) -> str:
    return nodes.add("Where", _is_positive(nodes, scores, parts), nodes.double(1.0), nodes.double(-1.0))


def rule_outputs(nodes: Nodes, parts: ModelParts, scores: str) -> Outputs:
    """Return the outputs of a classifier by the scores of the rows of weights."""
    if parts.is_multilabel:
        label = nodes.add("Cast", _is_positive(nodes, scores, parts), to=nodes.INT64)
        return Outputs(label, scores, _probabilities(nodes, parts, scores))
    if parts.is_binary:
        scores = nodes.add("Reshape", scores, nodes.int64([-1]))
        threshold = parts.model.threshold_
        if threshold is not None:
            is_second = nodes.add("GreaterOrEqual", scores, nodes.double(threshold))
        else:
            is_second = _is_positive(nodes, scores, parts)
        best = nodes.add("Cast", is_second, to=nodes.INT64)
    else:
        scores = _one_vs_one_scores(nodes, scores, parts) if parts.is_one_vs_one else scores
        best = nodes.add("ArgMax", scores, axis=1, keepdims=0)
    label = nodes.add("Gather", nodes.labels(parts.classes), best, axis=0)
    return Outputs(label, scores, _probabilities(nodes, parts, scores))


def _one_vs_one_scores(nodes: Nodes, scores: str, parts: ModelParts) -> str:
    """Return the number of pairs that a class wins, with the sum of its scores as a tie-break."""
    k = len(parts.classes)
    first, second = np.triu_indices(k, 1)
    pairs = np.zeros((len(first), k))
    pairs[np.arange(len(first)), second] = 1.0
    pairs[np.arange(len(first)), first] = -1.0
    matrix = nodes.matrix(pairs)
    wins = nodes.add("Add", nodes.add("MatMul", _signs(nodes, scores, parts), matrix), nodes.double(k - 1.0))
    sums = nodes.add("MatMul", scores, matrix)
    scale = nodes.add("Mul", nodes.add("Add", nodes.add("Abs", sums), nodes.double(1.0)), nodes.double(3.0))
    return nodes.add("Add", nodes.add("Div", wins, nodes.double(2.0)), nodes.add("Div", sums, scale))


def _probabilities(nodes: Nodes, parts: ModelParts, scores: str) -> str | None:
    """Return the probabilities of a calibrated model, by the formulas of `Calibration.of`; None without calibration."""
    calibration = parts.calibration
    if calibration is None:
        return None
    method, arrays, columns = calibration.method, calibration.arrays, calibration.columns
    s = nodes.add("Reshape", scores, nodes.int64([-1, columns]))
    one = nodes.double(1.0)
    if method == "isotonic":
        ends = np.cumsum(arrays["corners"])[:-1]
        curves = zip(np.split(arrays["scores"], ends), np.split(arrays["shares"], ends), strict=True)
        p = nodes.concat([_interpolated(nodes, nodes.column(s, k), *curve) for k, curve in enumerate(curves)], 1)
    else:
        s = nodes.add("Mul", s, nodes.double(arrays["slope"]))
        if method == "temperature" and columns > 1 and not parts.is_multilabel:
            p = nodes.add("Softmax", s, axis=1)
        else:
            p = _sigmoid(nodes, nodes.add("Add", s, nodes.double(arrays["offset"])) if "offset" in arrays else s)
    if not parts.is_multilabel and columns == 1:
        return nodes.concat([nodes.add("Sub", one, p), p], 1)
    if parts.is_multilabel or method == "temperature":
        return p
    total = nodes.sum(p, 1)
    is_positive = nodes.add("Greater", total, nodes.double(0.0))
    normalized = nodes.add("Div", p, nodes.add("Where", is_positive, total, one))
    return nodes.add("Where", is_positive, normalized, nodes.double(1 / columns))


def _sigmoid(nodes: Nodes, z: str) -> str:
    """1 / (1 + exp(-z)). onnxruntime's own operator gives 0 below about -37, which loses small probabilities."""
    small = nodes.add("Exp", nodes.add("Neg", nodes.add("Abs", z)))
    numerator = nodes.add("Exp", nodes.add("Min", z, nodes.double(0.0)))
    return nodes.add("Div", numerator, nodes.add("Add", small, nodes.double(1.0)))


def _interpolated(nodes: Nodes, s: str, x: np.ndarray, p: np.ndarray) -> str:
    """Return the height of a piecewise linear curve at the scores (n_examples, 1). It is constant outside.

    The height is that of the first corner plus, for every rising piece, the part of the rise left of the score.
    """
    rising = np.flatnonzero(np.diff(p))
    if not len(rising):
        return nodes.add("Add", nodes.add("Mul", s, nodes.double(0.0)), nodes.double(p[0]))
    left, right = x[rising][None], x[rising + 1][None]
    inside = nodes.add("Min", nodes.add("Max", s, nodes.double(left)), nodes.double(right))
    part = nodes.add("Div", nodes.add("Sub", inside, nodes.double(left)), nodes.double(right - left))
    rise = nodes.sum(nodes.add("Mul", part, nodes.double(np.diff(p)[rising][None])), 1)
    return nodes.add("Add", rise, nodes.double(p[0]))


# ---- texts


def check_words(inputs: TextInputs) -> None:
    """Raise ExportError for texts whose features ONNX cannot compute."""
    if inputs.columns.bits is not None:
        raise ExportError(f"The texts are hashed, but ONNX has no operator that hashes words. {COLUMNS_INSTEAD}")
    if inputs.text.chars is not None:
        raise ExportError(f"ONNX has no operator that cuts words into n-grams of characters. {COLUMNS_INSTEAD}")


def word_rows(nodes: Nodes, words: str, inputs: TextInputs) -> str:
    """Return the rows (n_texts, n_columns) of words (n_texts, places), which have "" after the last.

    TfIdfVectorizer counts the n-grams; counts become values, and values are rounded to float32, as in the library.
    """
    text, names = inputs.text, inputs.columns.names()
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
    letters = folded(lowercase)
    rows: list[list[str]] = []
    for read in text_pieces(texts):
        for content in read().texts():
            text = content.decode("utf-8", "replace").replace("\ufffd", " ")
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
    for number in preparation.missing_values.numbers:
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
        check_words(inputs)
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
