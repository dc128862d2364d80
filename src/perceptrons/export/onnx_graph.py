"""Models as ONNX graphs in double precision, with operators of ai.onnx, and LabelEncoder for categories.

A `Value` is a tensor of a graph, and arithmetic with values adds nodes to it, so that scores are computed here by the
same formulas as in the library. `Nodes` collects them, for a whole graph or for one that skl2onnx converts.

Outputs: `label`, the class of every row (with several labels a 0/1 column per label), and `scores`, those of
`decision_function`. If the model is calibrated, also `probabilities`, those of `predict_proba`. Words are cut outside
of the graph, because ONNX has no operator for words in Unicode. It counts their n-grams.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.rows import Dense
from perceptrons.engine.scan.words import SPACE, folded
from perceptrons.engine.training.base import learner_of
from perceptrons.export.parts import (
    COLUMNS_INSTEAD,
    CategoryFeatures,
    ColumnInputs,
    ExportError,
    ModelParts,
    TableInputs,
    TaggerParts,
    TextInputs,
    VoteUpdates,
    active_steps,
    calibration_curves,
    table_cells,
)
from perceptrons.features.hashed import text_pieces
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host
from perceptrons.sequence.estimator import tokens_to_label

Feeds = dict[str, np.ndarray]
OPSET, ML_OPSET, IR = 17, 3, 8
OPSETS = {"": OPSET, "ai.onnx.ml": ML_OPSET}
TENSOR_TYPES = {"double": np.float64, "float": np.float32, "int64": np.int64, "string": object, "bool": np.bool_}
MAX_DENSE_COLUMNS = 4096  # wider rows enter by the columns that are not 0


def required_package(name: str) -> Any:
    """Import `onnx` or `skl2onnx`, or raise an error that says how to install it."""
    try:
        if name == "onnx":
            import onnx

            return onnx
        import skl2onnx
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # a package that it needs itself
        message = f'Exporting to ONNX needs the package {name}: pip install "perceptrons[onnx]".'
        raise ModuleNotFoundError(message, name=name) from error
    return skl2onnx


def class_type(classes: np.ndarray) -> str:
    """Return the tensor type of labels."""
    kind = np.array(classes.tolist()).dtype.kind
    return {"U": "string", "b": "bool", "i": "int64", "u": "int64"}.get(kind, "double")


# ---- the language of graphs


def _binary(operator: str) -> Callable[["Value", Any], "Value"]:
    return lambda value, other: value.nodes.add(operator, value, other)


class Value:
    """A tensor of a graph, by its name. Arithmetic adds nodes; numbers and arrays become constants in double."""

    __array_ufunc__ = None  # of NumPy, so that array * value is a value

    def __init__(self, nodes: "Nodes", name: str) -> None:
        self.nodes, self.name = nodes, name

    __add__ = _binary("Add")
    __sub__ = _binary("Sub")
    __mul__ = _binary("Mul")
    __truediv__ = _binary("Div")
    __matmul__ = _binary("MatMul")
    __gt__ = _binary("Greater")
    __ge__ = _binary("GreaterOrEqual")
    equals = _binary("Equal")

    def __rsub__(self, other: Any) -> "Value":
        return self.nodes.add("Sub", other, self)

    def __neg__(self) -> "Value":
        return self.nodes.add("Neg", self)

    def do(self, operator: str, *inputs: Any, **attributes: Any) -> "Value":
        """Return the result of an operator of ONNX whose first input is this value."""
        return self.nodes.add(operator, self, *inputs, **attributes)

    def to_double(self) -> "Value":
        return self.do("Cast", to=self.nodes.DOUBLE)

    def take(self, places: Any, axis: int = 1) -> "Value":
        """Return what stands at some places of an axis, which is gone if there is one place without brackets."""
        return self.do("Gather", places if isinstance(places, Value) else self.nodes.int64(places), axis=axis)

    def column(self, number: int) -> "Value":
        return self.take([number])

    def reshape(self, *shape: int) -> "Value":
        return self.do("Reshape", self.nodes.int64(shape))

    def unsqueeze(self, axis: int) -> "Value":
        return self.do("Unsqueeze", self.nodes.int64([axis]))

    def sum(self, axis: int, keep: bool = True) -> "Value":
        return self.do("ReduceSum", self.nodes.int64([axis]), keepdims=int(keep))

    def where(self, if_true: Any, if_false: Any) -> "Value":
        """Return one of two values for each element of this condition."""
        return self.do("Where", if_true, if_false)

    def norm(self) -> "Value":
        """Return the lengths of rows, and 1 for rows of zeros."""
        norm = (self * self).sum(-1).do("Sqrt")
        return (norm > 0.0).where(norm, 1.0)

    def linear(self, w: np.ndarray, b: np.ndarray) -> "Value":
        """X w' + b"""
        return self @ self.nodes.matrix(np.ascontiguousarray(w.T)) + b

    def power(self, degree: int) -> "Value":
        """Multiply by squaring, as the library does: the same bits."""
        if degree == 1:
            return self
        square = (self * self).power(degree // 2)
        return square * self if degree % 2 else square


class Nodes:
    """The nodes and constants of a graph."""

    def __init__(self) -> None:
        onnx = required_package("onnx")
        self.INT64, self.DOUBLE, self.FLOAT = onnx.TensorProto.INT64, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT
        self._helper, self._numpy_helper = onnx.helper, onnx.numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: Any, domain: str = "", **attributes: Any) -> Value:
        """Add a node with one output and return its value. Numbers and arrays become constants in double."""
        values = [one if isinstance(one, Value) else self.constant(np.asarray(one, np.float64)) for one in inputs]
        name = self._name(f"{operator}{len(self.nodes)}")
        names = [value.name for value in values]
        self.nodes.append(self._helper.make_node(operator, names, [name], domain=domain, **attributes))
        return Value(self, name)

    def assign(self, value: Value, name: str) -> None:
        """Give a value another name, such as that of an output."""
        self.nodes.append(self._helper.make_node("Identity", [value.name], [name]))

    def _name(self, name: str) -> str:
        return f"perceptrons/{name}"

    def constant(self, array: np.ndarray) -> Value:
        """Add a constant of the type of the array."""
        name = self._name(f"constant{len(self.constants)}")
        array = array.astype(object) if array.dtype.kind == "U" else np.ascontiguousarray(array)
        self.constants.append(self._numpy_helper.from_array(array, name))
        return Value(self, name)

    def int64(self, array: Any) -> Value:
        return self.constant(np.asarray(array, np.int64))

    def matrix(self, array: np.ndarray) -> Value:
        """Add a constant that may be large: float32 stays float32 in the file, and becomes double when it is used."""
        if array.dtype != np.float32:
            return self.constant(np.asarray(array, np.float64))
        return self.constant(array).to_double()

    def labels(self, classes: np.ndarray) -> Value:
        return self.constant(np.array(classes.tolist()).astype(TENSOR_TYPES[class_type(classes)]))

    def concat(self, parts: list[Value], axis: int) -> Value:
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=axis)

    def code_of(self, cells: Value, codes: dict[str, int]) -> Value:
        """Return the codes of strings, 0 for all others."""
        encoding = {"keys_strings": list(codes), "values_int64s": list(codes.values()), "default_int64": 0}
        return cells.do("LabelEncoder", domain="ai.onnx.ml", **encoding)

    def sparse_product(self, columns: Value, values: Value, weights: np.ndarray) -> Value:
        """Multiply sparse rows, given as (rows, places) columns and values, by weights (columns, outputs).

        Columns whose weights are all 0 are not in the file.
        """
        used = np.flatnonzero((weights != 0).any(axis=1))
        if len(used) < len(weights) // 2:
            places = np.zeros(len(weights), np.int32)
            places[used] = np.arange(1, len(used) + 1)
            columns = self.constant(places).take(columns, axis=0)
            weights = np.concatenate([np.zeros((1, weights.shape[1]), weights.dtype), weights[used]])
        return (self.matrix(weights).take(columns, axis=0) * values.unsqueeze(2)).sum(1, keep=False)


class Graph(Nodes):
    """A whole ONNX graph. dtype: "float64" or "float32", the type of inputs that are numbers."""

    def __init__(self, dtype: str = "float64") -> None:
        super().__init__()
        self._number_type = {"float64": "double", "float32": "float"}[dtype]
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, tuple[Value, str, list[int | None]]] = {}

    def input(self, name: str, tensor_type: str, shape: list[int | None]) -> Value:
        """Declare an input. tensor_type: "number" for double, or for float that becomes double."""
        is_number = tensor_type == "number"
        self._inputs[name] = self._declared(name, self._number_type if is_number else tensor_type, shape)
        value = Value(self, name)
        return value.to_double() if is_number and self._number_type == "float" else value

    def sparse_input(self) -> tuple[Value, Value]:
        """Declare rows that enter as the numbers and values of the columns that are not 0."""
        return self.input("columns", "int64", [None, None]), self.input("values", "number", [None, None])

    def output(self, name: str, value: Value, tensor_type: str, shape: list[int | None]) -> None:
        """Declare an output. Its name ends with an underscore if an input has the same name."""
        self._outputs[name] = value, tensor_type, shape

    def _declared(self, name: str, tensor_type: str, shape: list[int | None]) -> Any:
        code = self._helper.np_dtype_to_tensor_dtype(np.dtype(TENSOR_TYPES[tensor_type]))
        sizes = [size if size is not None else f"places{axis}" if axis else "rows" for axis, size in enumerate(shape)]
        return self._helper.make_tensor_value_info(name, code, sizes)

    def model(self, metadata: dict[str, str]) -> Any:
        """Return the whole model, checked."""
        outputs = []
        for name, (value, tensor_type, shape) in self._outputs.items():
            while name in self._inputs:
                name += "_"
            self.assign(value, name)
            outputs.append(self._declared(name, tensor_type, shape))
        graph = self._helper.make_graph(self.nodes, "perceptrons", list(self._inputs.values()), outputs, self.constants)
        opsets = [self._helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        model = self._helper.make_model(graph, opset_imports=opsets, producer_name="perceptrons", ir_version=IR)
        self._helper.set_model_props(model, metadata)
        required_package("onnx").checker.check_model(model)
        return model


# ---- whole graphs


class Outputs(NamedTuple):
    """The values of the outputs of a classifier."""

    label: Value
    scores: Value
    probabilities: Value | None


def graph_of(parts: ModelParts | TaggerParts, rows: str = "auto", dtype: str = "float64") -> Any:
    """Return the ONNX model. rows: "dense", "sparse" (columns and values), or "auto" by the number of columns."""
    graph = Graph(dtype)
    k = len(parts.classes)
    metadata = {"classes": json.dumps(parts.classes.tolist())}
    if isinstance(parts, TaggerParts):
        graph.output("scores", graph.sparse_product(*graph.sparse_input(), parts.w), "double", [None, k])
        graph.output("arcs", graph.constant(parts.arcs), "double", [k + 1, k + 1])
        return graph.model(metadata)
    outputs = rule_outputs(parts, _scores_of_inputs(graph, parts, rows))
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


def _scores_of_inputs(graph: Graph, parts: ModelParts, rows: str) -> Value:
    """Return the scores of the inputs of a whole graph."""
    inputs, model = parts.inputs, parts.model
    if isinstance(inputs, TableInputs):
        return table_scores(graph, parts)
    if is_sparse(parts, rows):
        return graph.sparse_product(*graph.sparse_input(), model.coef_.T) + model.intercept_
    if isinstance(inputs, TextInputs):
        check_words(inputs)
        return scores_of_rows(word_rows(graph.input("words", "string", [None, None]), inputs), parts)
    return scores_of_rows(graph.input("X", "number", [None, inputs.n_columns]), parts)


# ---- scores


def scores_of_rows(X: Value, parts: ModelParts) -> Value:
    """Return the scores (n_examples, n_rows of weights) of rows in double; for votes those of `decision_function`."""
    model = parts.model
    if isinstance(model, KernelPerceptron):
        return _kernel_scores(X, model)
    return X.linear(model.coef_, model.intercept_) if parts.kind == "linear" else _votes(X, parts)


def _kernel_scores(X: Value, model: KernelPerceptron) -> Value:
    kernel, coef = learner_of(model).kernel, X.nodes.matrix(np.asarray(to_host(model.dual_coef_)).T)
    if kernel.name == "precomputed":
        return X.take(to_host(model.support_)) @ coef
    support, gamma = _dense(to_host(model.support_vectors_)), float(kernel.gamma)
    if kernel.name == "laplacian":
        distance = (X.unsqueeze(1) - support[None]).do("Abs").sum(-1, keep=False)
        return (distance * -gamma).do("Exp") @ coef
    factor = gamma if kernel.name in ("poly", "sigmoid") else 1.0
    K = X @ X.nodes.matrix(factor * support.T)  # onnxruntime would multiply K by gamma in float32
    squares = np.einsum("ij,ij->i", support, support)
    if kernel.name == "rbf":
        distance = K * -2.0 + (X * X).sum(-1) + squares
        K = (distance * -gamma).do("Min", 0.0).do("Exp")
    elif kernel.name == "cosine":
        norms = np.sqrt(squares)
        K = K / X.norm() / np.where(norms > 0, norms, 1.0)
    elif kernel.name in ("poly", "sigmoid"):
        K = K + float(kernel.coef0)
        K = K.power(int(kernel.degree)) if kernel.name == "poly" else K.do("Tanh")
    return K @ coef


def _dense(support: Any) -> np.ndarray:
    return np.asarray(support.toarray() if sp.issparse(support) else support, np.float64)


def _votes(X: Value, parts: ModelParts) -> Value:
    """Return the votes of all versions of the weights, whose scores are running sums over the updates."""
    nodes, votes = X.nodes, VoteUpdates(parts.model)
    versions, n_updates, n_rows = X.linear(votes.w, votes.b), len(votes.support_index), len(votes.b)
    duration = max(votes.t, np.finfo(float).tiny)
    steps = np.zeros((n_updates, n_rows))
    if n_rows == 1:
        steps[:, 0] = np.where(votes.y == 1, votes.step, -votes.step)
    else:
        steps[np.arange(n_updates), votes.y] += votes.step
        steps[np.arange(n_updates), votes.y_hat] -= votes.step
    versions = versions.unsqueeze(1)  # (n_examples, n_versions, n_rows)
    if n_updates:  # the products of rows with the example of every update
        products = X @ nodes.matrix(_dense(votes.support).T) + votes.one
        changes = products.take(votes.support_index).unsqueeze(2) * steps[None]
        versions = nodes.concat([versions, changes], 1).do("CumSum", nodes.int64(1))
    if n_rows == 1:
        cast = _signs(versions.do("Squeeze", nodes.int64([2])), parts) * votes.counts
        return cast.sum(1) / duration  # after a MatMul, onnxruntime would divide in float32
    best = versions.do("ArgMax", axis=2, keepdims=1).equals(nodes.int64(np.arange(n_rows)[None, None]))
    return (best.to_double() * votes.counts[None, :, None]).sum(1, keep=False) / duration


# ---- from scores to labels


def _is_positive(scores: Value, parts: ModelParts) -> Value:
    return scores >= 0.0 if parts.is_positive_at_zero else scores > 0.0


def _signs(scores: Value, parts: ModelParts) -> Value:
    return _is_positive(scores, parts).where(1.0, -1.0)


def rule_outputs(parts: ModelParts, scores: Value) -> Outputs:
    """Return the outputs of a classifier by the scores of the rows of weights."""
    nodes = scores.nodes
    if parts.is_multilabel:
        label = _is_positive(scores, parts).do("Cast", to=nodes.INT64)
        return Outputs(label, scores, _probabilities(parts, scores))
    if parts.is_binary:
        scores = scores.reshape(-1)
        threshold = parts.model.threshold_
        is_second = _is_positive(scores, parts) if threshold is None else scores >= threshold
        best = is_second.do("Cast", to=nodes.INT64)
    else:
        scores = _one_vs_one_scores(scores, parts) if parts.is_one_vs_one else scores
        best = scores.do("ArgMax", axis=1, keepdims=0)
    return Outputs(nodes.labels(parts.classes).take(best, axis=0), scores, _probabilities(parts, scores))


def _one_vs_one_scores(scores: Value, parts: ModelParts) -> Value:
    """Return the number of pairs that a class wins, with the sum of its scores as a tie-break."""
    k = len(parts.classes)
    first, second = np.triu_indices(k, 1)
    pairs = np.zeros((len(first), k))
    pairs[np.arange(len(first)), second] = 1.0
    pairs[np.arange(len(first)), first] = -1.0
    matrix = scores.nodes.matrix(pairs)
    wins, sums = _signs(scores, parts) @ matrix + (k - 1.0), scores @ matrix
    return wins / 2.0 + sums / ((sums.do("Abs") + 1.0) * 3.0)


def _probabilities(parts: ModelParts, scores: Value) -> Value | None:
    """Return the probabilities of a calibrated model, by the formulas of `Calibration.of`; None without calibration."""
    calibration = parts.calibration
    if calibration is None:
        return None
    nodes, method, arrays, columns = scores.nodes, calibration.method, calibration.arrays, calibration.columns
    s = scores.reshape(-1, columns)
    if method == "isotonic":
        p = nodes.concat([_interpolated(s.column(k), *curve) for k, curve in enumerate(calibration_curves(arrays))], 1)
    else:
        s = s * arrays["slope"]
        if method == "temperature" and columns > 1 and not parts.is_multilabel:
            p = s.do("Softmax", axis=1)
        else:
            p = _sigmoid(s + arrays["offset"] if "offset" in arrays else s)
    if not parts.is_multilabel and columns == 1:
        return nodes.concat([1.0 - p, p], 1)
    if parts.is_multilabel or method == "temperature":
        return p
    total = p.sum(1)
    return (total > 0.0).where(p / (total > 0.0).where(total, 1.0), 1 / columns)


def _sigmoid(z: Value) -> Value:
    """1 / (1 + exp(-z)). onnxruntime's own operator gives 0 below about -37, which loses small probabilities."""
    return z.do("Min", 0.0).do("Exp") / ((-z.do("Abs")).do("Exp") + 1.0)


def _interpolated(s: Value, x: np.ndarray, p: np.ndarray) -> Value:
    """Return the height of a piecewise linear curve at the scores (n_examples, 1). It is constant outside.

    The height is that of the first corner plus, for every rising piece, the part of the rise left of the score.
    """
    rising = np.flatnonzero(np.diff(p))
    if not len(rising):
        return s * 0.0 + p[0]
    left, right = x[rising][None], x[rising + 1][None]
    part = (s.do("Max", left).do("Min", right) - left) / (right - left)
    return (part * np.diff(p)[rising][None]).sum(1) + p[0]


# ---- texts


def check_words(inputs: TextInputs) -> None:
    """Raise ExportError for texts whose features ONNX cannot compute."""
    if inputs.columns.bits is not None:
        raise ExportError(f"The texts are hashed, but ONNX has no operator that hashes words. {COLUMNS_INSTEAD}")
    if inputs.text.chars is not None:
        raise ExportError(f"ONNX has no operator that cuts words into n-grams of characters. {COLUMNS_INSTEAD}")


def word_rows(words: Value, inputs: TextInputs) -> Value:
    """Return the rows (n_texts, n_columns) of words (n_texts, places), which have "" after the last.

    TfIdfVectorizer counts the n-grams; counts become values, and values are rounded to float32, as in the library.
    """
    text, names = inputs.text, inputs.columns.names()
    sizes = np.array([name.count(" ") + 1 for name in names])
    order = np.argsort(sizes, kind="stable").tolist()
    n_words = [int(n * (sizes == n).sum()) for n in range(1, max(sizes) + 1)]
    X = words.do(
        "TfIdfVectorizer", min_gram_length=1, max_gram_length=len(n_words), max_skip_count=0, mode="TF",
        ngram_counts=np.cumsum([0, *n_words[:-1]]).tolist(), ngram_indexes=order,
        pool_strings=[word for column in order for word in names[column].split(" ")],
    ).to_double()  # fmt: skip
    occurs = X > 0.0
    if text.values == "binary":
        X = occurs.to_double()
    elif text.values != "count":
        X = occurs.where(occurs.where(X, 1.0).do("Log") + 1.0, 0.0)
    if text.norm == "l2":
        X = X / X.norm()
    return X.do("Cast", to=X.nodes.FLOAT).to_double()


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


def table_scores(graph: Graph, parts: ModelParts) -> Value:
    """Return the scores (n_rows, n_outputs) of the cells of a table. Categories look their weights up."""
    inputs, model = parts.inputs, parts.model
    assert isinstance(inputs, TableInputs)
    if inputs.texts or inputs.is_hashed:
        what = "texts" if inputs.texts else "hashed columns"
        raise ExportError(f"The table has {what}, but ONNX has no operator that hashes names. {COLUMNS_INSTEAD}")
    if parts.kind != "linear":
        raise ExportError(f"A table before a kernel or voted model cannot be exported to ONNX. {COLUMNS_INSTEAD}")
    numbers = _prepared_numbers(graph, inputs) if inputs.numbers else None
    codes = [_category_codes(graph, inputs, k) for k in range(len(inputs.categories))]
    coef = model.coef_
    w = np.concatenate([coef, np.zeros((len(coef), 1), coef.dtype)], axis=1)  # column -1 has weight 0
    total = graph.constant(np.asarray(model.intercept_, np.float64))
    if numbers is not None and inputs.number_columns:
        total = numbers @ graph.matrix(np.ascontiguousarray(w[:, inputs.number_columns].T)) + total
    for features in inputs.category_features:
        if features.columns:
            weights = _looked_up_weights(features, codes, w)
            if numbers is not None and features.number >= 0:
                weights = weights * numbers.column(features.number)
            total = total + weights
    return total


def _prepared_numbers(graph: Graph, inputs: TableInputs) -> Value:
    """Return the numbers of rows: filled and scaled, with indicators, powers and products."""
    preparation = inputs.preparation
    X = graph.concat([graph.input(name, "number", [None, 1]) for name in inputs.numbers], 1)
    for number in preparation.missing_values.numbers:
        X = X.equals(number).where(np.nan, X)
    is_missing = X.do("IsNaN")
    centres, scales = preparation.centres, preparation.scales
    X = is_missing.where((preparation.fills - centres) / scales, (X - centres) / scales)
    parts = [X]
    if inputs.indicators:
        parts.append(is_missing.to_double().take(inputs.indicators))
    for k, factors in enumerate(inputs.products):
        product = X.column(factors[0])
        for factor in factors[1:]:
            product = product * X.column(factor)
        if len(preparation.product_scales):
            product = (product - preparation.product_centres[[k]]) / preparation.product_scales[[k]]
        parts.append(product)
    return graph.concat(parts, 1)


class CategoryCodes(NamedTuple):
    """The code of a category in each row, and the code of every value. 0 is a value without weights."""

    code: Value  # (n_rows, 1)
    by_value: dict[str, int]


def _category_codes(graph: Graph, inputs: TableInputs, category: int) -> CategoryCodes:
    cell = graph.input(inputs.categories[category], "string", [None, 1])
    values = dict.fromkeys(
        value
        for features in inputs.category_features
        for values in features.columns
        for place, value in zip((features.first, features.second), values, strict=False)
        if place == category
    )
    codes = {value: code for code, value in enumerate(values, 1)}
    return CategoryCodes(graph.code_of(cell, codes) if codes else cell, codes)


def _looked_up_weights(features: CategoryFeatures, codes: list[CategoryCodes], w: np.ndarray) -> Value:
    """Return the weights (n_rows, n_outputs) of the feature that a row has."""
    code, first_codes = codes[features.first]
    width, second_codes = 1, dict[str, int]()
    if features.second >= 0:
        second, second_codes = codes[features.second]
        width = len(second_codes) + 1
        code = code * code.nodes.int64(width) + second
    table = np.zeros(((len(first_codes) + 1) * width, len(w)), w.dtype)
    for values, column in features.columns.items():
        table[first_codes[values[0]] * width + (second_codes[values[1]] if second_codes else 0)] = w[:, column]
    return code.nodes.matrix(table).take(code.reshape(-1), axis=0)


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
