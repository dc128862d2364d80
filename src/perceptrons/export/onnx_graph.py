"""A model as an ONNX graph, in double precision: operators of ai.onnx, and LabelEncoder of ai.onnx.ml for categories.

Outputs: `label`, the class of every row (with several labels a 0/1 column per label), and `scores`, those of
`decision_function`. If the model is calibrated, also `probabilities`, those of `predict_proba`.
"""

import json
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.export.onnx_table import table_scores
from perceptrons.export.onnx_text import word_rows
from perceptrons.export.onnx_writer import Graph
from perceptrons.export.parts import (
    COLUMNS_INSTEAD,
    Answer,
    ColumnInputs,
    Dual,
    ExportError,
    Subject,
    TableInputs,
    TaggerSubject,
    TextInputs,
    VersionsOfWeights,
    Weights,
)

DENSE = 4096  # columns: wider rows enter by the columns that are not 0


def graph_of(subject: Subject | TaggerSubject, rows: str = "auto") -> Any:
    """The ONNX model. rows: of columns, "dense" or "sparse" (by number and value), "auto" by their number."""
    graph = Graph()
    if isinstance(subject, TaggerSubject):
        _tagger(graph, subject)
    else:
        scores = _row_scores(graph, subject, rows)
        _answer(graph, subject, scores)
    return graph.model(_metadata(subject))


def is_sparse(subject: Subject, rows: str) -> bool:
    """Do rows enter as the numbers and values of the columns that are not 0?"""
    if rows not in ("auto", "dense", "sparse"):
        raise ValueError(f"rows={rows!r}: choose 'auto', 'dense' or 'sparse'.")
    if not isinstance(subject.inputs, ColumnInputs) or rows == "dense":
        return False
    can = isinstance(subject.scores, Weights) and subject.inputs.shift is None
    if rows == "sparse" and not can:
        raise ExportError("rows='sparse' is for linear models without a scaler: use rows='dense'.")
    return rows == "sparse" or (can and subject.inputs.n_columns > DENSE)


def _metadata(subject: Subject | TaggerSubject) -> dict[str, str]:
    classes = subject.classes if isinstance(subject, TaggerSubject) else subject.answer.classes
    found = {"classes": json.dumps(classes.tolist())}
    if isinstance(subject, Subject) and isinstance(subject.inputs, ColumnInputs) and subject.inputs.names:
        found["columns"] = json.dumps(subject.inputs.names)
    return found


# ---- scores of the rows of weights


def _row_scores(graph: Graph, subject: Subject, rows: str) -> str:
    """(examples, rows of weights), or of votes what `decision_function` gives."""
    inputs, scores = subject.inputs, subject.scores
    if isinstance(inputs, TableInputs):
        if inputs.texts or inputs.hashed:
            what = "texts" if inputs.texts else "hashed columns"
            raise ExportError(f"The table has {what}, but ONNX has no operator that hashes names. {COLUMNS_INSTEAD}")
        return table_scores(graph, inputs, scores)
    if is_sparse(subject, rows):
        assert isinstance(scores, Weights)
        return _sparse_scores(graph, scores)
    if isinstance(inputs, TextInputs):
        X = word_rows(graph, inputs)
    else:
        X = graph.input("X", "double", [None, inputs.n_columns])
        if inputs.shift is not None and inputs.scale is not None:
            X = graph.add("Mul", graph.add("Sub", X, graph.double(inputs.shift)), graph.double(inputs.scale))
    if isinstance(scores, Weights):
        return graph.linear(X, scores.w, scores.b)
    return _dual_scores(graph, X, scores) if isinstance(scores, Dual) else _votes(graph, X, scores, _above(subject))


def _sparse_scores(graph: Graph, scores: Weights) -> str:
    """Of rows given as columns and values. Places of a row that are left over have the value 0."""
    columns = graph.input("columns", "int64", [None, None])
    values = graph.input("values", "double", [None, None])
    return graph.add("Add", graph.gathered(columns, values, scores.w.T), graph.double(scores.b))


def _dual_scores(graph: Graph, X: str, scores: Dual) -> str:
    coef = graph.matrix(np.asarray(scores.coef).T)
    if scores.kernel == "precomputed":
        assert scores.index is not None
        return graph.add("MatMul", graph.add("Gather", X, graph.int64(scores.index), axis=1), coef)
    support = scores.support.toarray() if sp.issparse(scores.support) else np.asarray(scores.support)
    support = support.astype(np.float64)
    if scores.kernel == "laplacian":
        apart = graph.add("Sub", graph.unsqueezed(X, 1), graph.double(support[None]))
        distance = graph.reduced("ReduceSum", graph.add("Abs", apart), -1, keep=False)
        K = graph.add("Exp", graph.add("Mul", distance, graph.number(-scores.gamma)))
        return graph.add("MatMul", K, coef)
    gamma = scores.gamma if scores.kernel in ("poly", "sigmoid") else 1.0
    K = graph.add("MatMul", X, graph.matrix(gamma * support.T))  # behind it, onnxruntime would multiply in float32
    squares = np.einsum("ij,ij->i", support, support)
    if scores.kernel == "rbf":
        own = graph.reduced("ReduceSum", graph.add("Mul", X, X), -1)
        K = graph.add("Add", graph.add("Add", graph.add("Mul", K, graph.number(-2.0)), own), graph.double(squares))
        K = graph.add("Exp", graph.add("Min", graph.add("Mul", K, graph.number(-scores.gamma)), graph.number(0.0)))
    elif scores.kernel == "cosine":
        own = graph.add("Sqrt", graph.reduced("ReduceSum", graph.add("Mul", X, X), -1))
        own = graph.add("Where", graph.add("Greater", own, graph.number(0.0)), own, graph.number(1.0))
        norms = np.sqrt(squares)
        K = graph.add("Div", graph.add("Div", K, own), graph.double(np.where(norms > 0, norms, 1.0)))
    elif scores.kernel in ("poly", "sigmoid"):
        K = graph.add("Add", K, graph.number(scores.coef0))
        K = graph.power(K, scores.degree) if scores.kernel == "poly" else graph.add("Tanh", K)
    return graph.add("MatMul", K, coef)


def _votes(graph: Graph, X: str, scores: VersionsOfWeights, above: str) -> str:
    """Scores by all versions of the weights at once: a running sum over the updates."""
    support = scores.support.toarray() if sp.issparse(scores.support) else np.asarray(scores.support)
    start = graph.linear(X, scores.w, scores.b)
    binary = len(scores.b) == 1
    if len(scores.which):
        products = graph.add("MatMul", X, graph.matrix(support.astype(np.float64).T))
        G = graph.add("Gather", graph.add("Add", products, graph.number(scores.one)), graph.int64(scores.which), axis=1)
    if binary:
        versions = start
        if len(scores.which):
            added = graph.add("Mul", G, graph.double(scores.signed))
            versions = graph.add("CumSum", graph.joined([start, added], 1), graph.int64(np.array(1)))
        # which side each version takes, and how long it survived
        sides = graph.add("Where", graph.add(above, versions, graph.number(0.0)), graph.number(1.0), graph.number(-1.0))
        weighed = graph.add("Mul", sides, graph.double(scores.counts))
        votes = graph.reduced("ReduceSum", weighed, 1)  # behind a MatMul, onnxruntime would divide in float32
        return graph.add("Div", votes, graph.number(max(scores.t, np.finfo(float).tiny)))
    versions = graph.unsqueezed(start, 1)  # (rows, versions, classes)
    if len(scores.which):
        moves = np.zeros((len(scores.which), len(scores.b)))
        moves[np.arange(len(moves)), scores.y] += scores.step
        moves[np.arange(len(moves)), scores.y_hat] -= scores.step
        added = graph.add("Mul", graph.unsqueezed(G, 2), graph.double(moves[None]))
        versions = graph.add("CumSum", graph.joined([versions, added], 1), graph.int64(np.array(1)))
    best = graph.add("ArgMax", versions, axis=2, keepdims=1)
    won = graph.add("Equal", best, graph.int64(np.arange(len(scores.b))[None, None]))
    shares = graph.add("Mul", graph.add("Cast", won, to=graph.DOUBLE), graph.double(scores.counts[None, :, None]))
    votes = graph.reduced("ReduceSum", shares, 1, keep=False)
    return graph.add("Div", votes, graph.number(max(scores.t, np.finfo(float).tiny)))


# ---- from scores to labels


def _above(subject: Subject) -> str:
    """What a score must be, compared with 0, for the positive class to win."""
    return "GreaterOrEqual" if subject.answer.positive_at_zero else "Greater"


def _answer(graph: Graph, subject: Subject, scores: str) -> None:
    answer = subject.answer
    above = _above(subject)
    k = len(answer.classes)
    if answer.several:
        flags = graph.add("Cast", graph.add(above, scores, graph.number(0.0)), to=graph.INT64)
        graph.output("label", flags, "int64", [None, k])
        graph.output("scores", scores, "double", [None, k])
        _probabilities(graph, answer, scores)
        return
    if answer.binary:
        scores = graph.add("Reshape", scores, graph.int64(np.array([-1])))
        if answer.threshold is not None:
            won = graph.add("GreaterOrEqual", scores, graph.number(answer.threshold))
        else:
            won = graph.add(above, scores, graph.number(0.0))
        winner = graph.add("Cast", won, to=graph.INT64)
    else:
        scores = _of_duels(graph, scores, k, above) if answer.duels else scores
        winner = graph.add("ArgMax", scores, axis=1, keepdims=0)
    label = graph.add("Gather", *graph.classes(answer.classes), winner, axis=0)
    graph.output("label", label, graph.class_type(answer.classes), [None])
    graph.output("scores", scores, "double", [None] if answer.binary else [None, k])
    _probabilities(graph, answer, scores)


def _probabilities(graph: Graph, answer: Answer, scores: str) -> None:
    """Add the output `probabilities`, if the model is calibrated: the same formulas as `Calibration.of`."""
    calibration = answer.calibration
    if calibration is None:
        return
    method, arrays, columns = calibration.method, calibration.arrays, calibration.columns
    s = graph.add("Reshape", scores, graph.int64([-1, columns]))
    one = graph.number(1.0)
    if method == "isotonic":
        ends = np.cumsum(arrays["corners"])[:-1]
        curves = zip(np.split(arrays["scores"], ends), np.split(arrays["shares"], ends), strict=True)
        p = graph.joined([_rising(graph, s, k, *curve) for k, curve in enumerate(curves)], 1)
    else:
        s = graph.add("Mul", s, graph.double(arrays["slope"]))
        if method == "temperature" and columns > 1 and not answer.several:
            p = graph.add("Softmax", s, axis=1)
        else:
            p = _sigmoid(graph, graph.add("Add", s, graph.double(arrays["offset"])) if "offset" in arrays else s)
    if not answer.several and columns == 1:
        p = graph.joined([graph.add("Sub", one, p), p], 1)
    elif not answer.several and method != "temperature":
        total = graph.reduced("ReduceSum", p, 1)
        is_positive = graph.add("Greater", total, graph.number(0.0))
        shares = graph.add("Div", p, graph.add("Where", is_positive, total, one))
        p = graph.add("Where", is_positive, shares, graph.number(1 / columns))
    graph.output("probabilities", p, "double", [None, len(answer.classes)])


def _sigmoid(graph: Graph, z: str) -> str:
    """1 / (1 + exp(-z)). onnxruntime's own operator gives 0 below about -37, where the shares of a sum still differ."""
    apart = graph.add("Exp", graph.add("Neg", graph.add("Abs", z)))
    return graph.add("Div", graph.add("Exp", graph.add("Min", z, graph.number(0.0))),
                     graph.add("Add", apart, graph.number(1.0)))  # fmt: skip


def _rising(graph: Graph, scores: str, column: int, x: np.ndarray, p: np.ndarray) -> str:
    """(rows, 1): the height of a curve at a column of the scores. It is straight between its corners, level outside.

    The height is that of the first corner and, of the rise of every piece, the part that lies left of the score.
    """
    rises = np.flatnonzero(np.diff(p))
    s = graph.add("Gather", scores, graph.int64([column]), axis=1)
    if not len(rises):
        return graph.add("Add", graph.add("Mul", s, graph.number(0.0)), graph.number(float(p[0])))
    left, right = x[rises][None], x[rises + 1][None]
    inside = graph.add("Min", graph.add("Max", s, graph.double(left)), graph.double(right))
    part = graph.add("Div", graph.add("Sub", inside, graph.double(left)), graph.double(right - left))
    risen = graph.reduced("ReduceSum", graph.add("Mul", part, graph.double(np.diff(p)[rises][None])), 1)
    return graph.add("Add", risen, graph.number(float(p[0])))


def _of_duels(graph: Graph, scores: str, k: int, above: str) -> str:
    """One-vs-one: duels won, and as a tie-break the sum of the scores, as `training/schemes.py` has it."""
    first, second = np.triu_indices(k, 1)
    sides = np.zeros((len(first), k))
    sides[np.arange(len(first)), second] = 1.0
    sides[np.arange(len(first)), first] = -1.0
    matrix = graph.matrix(sides)
    signs = graph.add("Where", graph.add(above, scores, graph.number(0.0)), graph.number(1.0), graph.number(-1.0))
    won = graph.add("Add", graph.add("MatMul", signs, matrix), graph.number(k - 1.0))
    won = graph.add("Div", won, graph.number(2.0))
    sums = graph.add("MatMul", scores, matrix)
    size = graph.add("Mul", graph.add("Add", graph.add("Abs", sums), graph.number(1.0)), graph.number(3.0))
    return graph.add("Add", won, graph.add("Div", sums, size))


def _tagger(graph: Graph, subject: TaggerSubject) -> None:
    """Scores of every token and label, and the arcs as a second output: Viterbi is outside."""
    columns = graph.input("columns", "int64", [None, None])
    values = graph.input("values", "double", [None, None])
    k = len(subject.classes)
    graph.output("scores", graph.gathered(columns, values, subject.w), "double", [None, k])
    graph.output("arcs", graph.double(subject.arcs), "double", [k + 1, k + 1])
