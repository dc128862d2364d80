"""A model as an ONNX graph in double precision, with operators of ai.onnx, and LabelEncoder for categories.

Outputs: `label`, the class of every row (with several labels a 0/1 column per label), and `scores`, those of
`decision_function`. If the model is calibrated, also `probabilities`, those of `predict_proba`.
"""

import json
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.base import learner_of
from perceptrons.export.onnx_inputs import check_words, table_scores, word_rows
from perceptrons.export.onnx_writer import Graph, Nodes, class_type
from perceptrons.export.parts import ColumnInputs, ExportError, ModelParts, TableInputs, TaggerParts, TextInputs
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host

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
        names = None if inputs.columns.bits is not None else inputs.columns.names()
        check_words(inputs.text, names)
        X = word_rows(graph, graph.input("words", "string", [None, None]), inputs.text, inputs.columns.names())
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
