"""Pipelines and other estimators of scikit-learn in ONNX, by skl2onnx, for which our estimators are registered here."""

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import PolynomialFeatures

from perceptrons.export.onnx_graph import (
    OPSETS,
    Feeds,
    Nodes,
    Value,
    check_words,
    class_type,
    required_package,
    rule_outputs,
    scores_of_rows,
    word_input,
    word_rows,
)
from perceptrons.export.parts import (
    COLUMNS_INSTEAD,
    NO_VALUE,
    ExportError,
    ModelParts,
    TaggerParts,
    TextInputs,
    active_steps,
    columns_of_text,
    parts_of,
)
from perceptrons.features import HashedText, TableFeatures
from perceptrons.features.values import is_missing
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.sequence import SequencePerceptron

OURS = (Perceptron, KernelPerceptron, SequencePerceptron)
# skl2onnx cuts words of ASCII only. This is \w\w+ for onnxruntime's regular expressions, in which \w is ASCII.
SKLEARN_WORDS, UNICODE_WORDS = r"(?u)\b\w\w+\b", r"[\p{L}\p{N}_][\p{L}\p{N}_]+"

Scope: TypeAlias = Any  # this and the next two are of skl2onnx, which has no types
Operator: TypeAlias = Any
Container: TypeAlias = Any


def is_own_graph(model: Any) -> bool:
    """Return whether our own graph shows all of a model: an estimator, maybe after `HashedText` or `TableFeatures`."""
    if not isinstance(model, Pipeline):
        return isinstance(model, OURS) or not isinstance(model, BaseEstimator)
    *before, last = [step for _, step in active_steps(model)]
    starts_with_ours = bool(before) and isinstance(before[0], HashedText | TableFeatures)
    return isinstance(last, OURS) and len(before) == starts_with_ours


def selected_model(model: Any) -> Any:
    """Return the best model of a search, such as GridSearchCV, and another model as it is."""
    return selected_model(model.best_estimator_) if hasattr(model, "best_estimator_") else model


def own_parts(model: Any, inputs: str) -> ModelParts | TaggerParts | None:
    """Return the parts of a model for our own graph; None if skl2onnx converts it."""
    return parts_of(model, inputs) if inputs == "columns" or is_own_graph(model) else None


# ---- whole pipelines


@dataclass(frozen=True)
class GraphInput:
    """An input of the graph of a pipeline."""

    name: str
    kind: str  # "numbers", "strings" (as they are), "texts" (in lower case) or "words"
    column: int | None = None  # of the table; None if the input is the whole X
    n_columns: int = 1


def pipeline_graph(model: Any, dtype: str) -> Any:
    """Convert an estimator by skl2onnx. Raise ExportError if a part of it cannot be converted exactly."""
    skl2onnx, inputs = required_package("skl2onnx"), pipeline_inputs(model)
    if isinstance(model, Pipeline):
        model = Pipeline(active_steps(model))
    _check_is_exact(model)
    register()
    types = skl2onnx.common.data_types
    number_type = types.DoubleTensorType if dtype == "float64" else types.FloatTensorType
    initial_types = []
    for graph_input in inputs:
        shape = [None, None if graph_input.kind == "words" else graph_input.n_columns]
        input_type = number_type if graph_input.kind == "numbers" else types.StringTensorType
        initial_types.append((graph_input.name, input_type(shape)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # skl2onnx warns of old names inside scikit-learn
            graph = skl2onnx.convert_sklearn(
                model, "perceptrons", initial_types, target_opset=OPSETS, options=_options(model),
                custom_parsers=dict.fromkeys((Perceptron, KernelPerceptron), _declare_all_outputs),
                custom_conversion_functions={PolynomialFeatures: _convert_polynomial, SimpleImputer: _convert_imputer},
                custom_shape_calculators=dict.fromkeys((PolynomialFeatures, SimpleImputer), _set_step_type),
            )  # fmt: skip
        required_package("onnx").checker.check_model(graph, full_check=True)
    except ExportError:
        raise
    except Exception as error:  # its converters raise errors of all kinds for what they do not support
        steps = ", ".join(type(part).__name__ for part in _estimators(model) if not isinstance(part, OURS))
        reason = " ".join(str(error).split())[:300]
        raise ExportError(
            f"skl2onnx cannot convert this model of {steps} with inputs of {dtype} ({reason}). It converts some steps "
            f"with dtype='float32' only. {COLUMNS_INSTEAD}"
        ) from error
    metadata = {"classes": json.dumps(np.asarray(model.classes_).tolist())} if hasattr(model, "classes_") else {}
    required_package("onnx").helper.set_model_props(graph, metadata)
    return graph


def pipeline_feeds(model: Any, X: Any, dtype: str) -> Feeds:
    """Return the inputs of the graph of `pipeline_graph` by name."""
    feeds = {}
    for graph_input in pipeline_inputs(model):
        if graph_input.kind == "words":
            feeds[graph_input.name] = word_input(X, bool(_first_step(model).lowercase))
            continue
        values = X
        if graph_input.column is not None:
            values = X.iloc[:, graph_input.column] if hasattr(X, "iloc") else X[:, graph_input.column]
        if graph_input.kind == "numbers":
            array = np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype)
        else:
            cells = [NO_VALUE if is_missing(cell) else str(cell) for cell in values]
            array = np.array([cell.lower() for cell in cells] if graph_input.kind == "texts" else cells, object)
        feeds[graph_input.name] = np.ascontiguousarray(array.reshape(len(array), -1))
    return feeds


def pipeline_inputs(model: Any) -> list[GraphInput]:
    """Return the inputs of a pipeline: X, or one per column if a ColumnTransformer selects columns."""
    first = _first_step(model)
    if isinstance(first, HashedText):
        return [GraphInput("words", "words")]
    if isinstance(first, CountVectorizer):
        return [GraphInput("texts", "texts" if first.lowercase else "strings")]
    n_columns = getattr(first, "n_features_in_", None)
    if n_columns is None:
        raise ExportError(f"A {type(model).__name__} that is not fitted, or takes no columns, cannot be exported.")
    names = [str(name) for name in getattr(first, "feature_names_in_", [f"x{j}" for j in range(n_columns)])]
    kinds = _column_kinds(first, names)
    selections = []  # the columns that the transformers of a ColumnTransformer take, as it stores them
    if isinstance(first, ColumnTransformer):
        steps = [(step, columns) for _, step, columns in first.transformers_]
        selections = [columns for step, columns in steps if not (isinstance(step, str) and step == "drop")]
    selects_by_name = any(isinstance(name, str) for columns in selections for name in np.ravel(columns).tolist())
    if not kinds and not selects_by_name:
        return [GraphInput("X", "numbers", None, n_columns)]
    used = {j for columns in selections for j in _selected(columns, names)} if selections else set(range(n_columns))
    if not selects_by_name:  # places count, so that unused columns need an input, too; they may hold anything
        kinds |= dict.fromkeys(set(range(n_columns)) - used, "strings")
        used = set(range(n_columns))
    return [GraphInput(names[j], kinds.get(j, "numbers"), j) for j in sorted(used)]


def _first_step(model: Any) -> Any:
    """Return the part of a fitted estimator that takes X."""
    if isinstance(model, Pipeline):
        return _first_step(active_steps(model)[0][1])
    if hasattr(model, "best_estimator_"):
        return _first_step(selected_model(model))
    if isinstance(model, CalibratedClassifierCV):
        return _first_step(model.calibrated_classifiers_[0].estimator)
    return model


def _column_kinds(step: Any, names: list[str]) -> dict[int, str]:
    """Return the columns that are not numbers, with the kind of their input."""
    step = _first_step(step)
    if isinstance(step, ColumnTransformer):
        kinds: dict[int, str] = {}
        for _, transformer, selection in step.transformers_:
            columns = _selected(selection, names)
            if isinstance(transformer, BaseEstimator):
                inner = _column_kinds(transformer, [names[j] for j in columns])
                kinds |= {columns[j]: kind for j, kind in inner.items()}
        return kinds
    if isinstance(step, FeatureUnion):
        return {j: kind for _, part in step.transformer_list for j, kind in _column_kinds(part, names).items()}
    if isinstance(step, CountVectorizer):
        return {0: "texts" if step.lowercase else "strings"}
    if hasattr(step, "categories_"):
        return {j: "strings" for j, values in enumerate(step.categories_) if values.dtype.kind in "OUST"}
    if getattr(getattr(step, "statistics_", None), "dtype", np.dtype(float)).kind == "O":
        return dict.fromkeys(range(len(names)), "strings")
    return {}


def _selected(selection: Any, names: list[str]) -> list[int]:
    """Return the numbers of the columns that a ColumnTransformer selects."""
    if isinstance(selection, str):
        return [names.index(selection)]
    if isinstance(selection, list | np.ndarray) and len(selection) and isinstance(selection[0], str):
        return [names.index(name) for name in selection]
    return np.atleast_1d(np.arange(len(names))[selection]).tolist()


def _estimators(value: Any) -> Iterator[Any]:
    """Yield all estimators in a fitted estimator, itself first."""
    if isinstance(value, BaseEstimator):
        yield value
        for attribute in vars(value).values():
            yield from _estimators(attribute)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _estimators(item)
    elif isinstance(value, dict):
        yield from _estimators(list(value.values()))


def _check_is_exact(model: Any) -> None:
    """Raise ExportError for what skl2onnx converts, but only approximately."""
    for part in _estimators(model):
        if isinstance(part, CountVectorizer) and part.analyzer != "word":
            raise ExportError(f"ONNX has no operator that cuts texts into n-grams of characters. {COLUMNS_INSTEAD}")
        if isinstance(part, CalibratedClassifierCV) and part.method == "isotonic":
            raise ExportError(
                "skl2onnx does not interpolate the curves of CalibratedClassifierCV(method='isotonic'): calibrate with "
                "Perceptron(probability='isotonic'), or with another method."
            )


def _options(model: Any) -> dict[Any, dict[str, Any]]:
    """Return the options for skl2onnx: matrices of probabilities, and words as scikit-learn cuts them."""
    options: dict[Any, dict[str, Any]] = {}
    if hasattr(model, "classes_") and not isinstance(_last_step(model), OURS):
        options[id(_last_step(model))] = {"zipmap": False}
    for part in _estimators(model):
        if isinstance(part, CountVectorizer):
            words = UNICODE_WORDS if part.token_pattern == SKLEARN_WORDS else part.token_pattern
            options[id(part)] = {"tokenexp": words, "locale": "C"}
    return options


def _last_step(model: Any) -> Any:
    return _last_step(active_steps(model)[-1][1]) if isinstance(model, Pipeline) else model


# ---- steps of scikit-learn whose graphs by skl2onnx are not valid in double precision


def _set_step_type(operator: Operator) -> None:
    types = required_package("skl2onnx").common.data_types
    number_type = type(types.guess_tensor_type(operator.inputs[0].type))
    cell_type = types.StringTensorType if _takes_strings(operator) else number_type
    operator.outputs[0].type = cell_type([None, len(operator.raw_operator.get_feature_names_out())])


def _convert_polynomial(scope: Scope, operator: Operator, container: Container) -> None:
    """Multiply columns: a column per factor of the products with most factors, filled up with 1."""
    nodes, powers = ContainerNodes(scope, container), operator.raw_operator.powers_
    X = nodes.input_matrix(operator)
    n_columns = powers.shape[1]
    X = nodes.concat([X, X.column(0) * 0.0 + 1.0], 1)
    factors = np.full((len(powers), max(1, int(powers.sum(axis=1).max()))), n_columns)
    for row, power in zip(factors, powers, strict=True):
        row[: power.sum()] = np.repeat(np.arange(n_columns), power)
    product = X.take(factors[:, 0])
    for column in factors.T[1:]:
        product = product * X.take(column)
    nodes.finish(operator, product)


def _convert_imputer(scope: Scope, operator: Operator, container: Container) -> None:
    """Fill missing numbers, or missing strings, which are NO_VALUE."""
    step, nodes = operator.raw_operator, ContainerNodes(scope, container)
    if step.add_indicator or any(value is None or value != value for value in step.statistics_.tolist()):
        raise ExportError(f"{step} adds indicators or drops columns, which cannot be exported: use other options.")
    missing = step.missing_values
    if _takes_strings(operator):
        cells = nodes.concat([Value(nodes, variable.full_name) for variable in operator.inputs], 1)
        code = nodes.code_of(cells, {missing if isinstance(missing, str) else NO_VALUE: 1})
        fills = nodes.constant(np.array(step.statistics_, object))
        nodes.finish(operator, code.equals(nodes.int64(1)).where(fills, cells))
    else:
        X = nodes.input_matrix(operator)
        is_missing = X.do("IsNaN") if missing != missing else X.equals(missing)
        nodes.finish(operator, is_missing.where(step.statistics_, X))


def _takes_strings(operator: Operator) -> bool:
    return isinstance(operator.inputs[0].type, required_package("skl2onnx").common.data_types.StringTensorType)


class ContainerNodes(Nodes):
    """Nodes for a graph that skl2onnx converts."""

    def __init__(self, scope: Scope, container: Container) -> None:
        super().__init__()
        self._scope, self._container = scope, container

    def _name(self, name: str) -> str:
        return str(self._scope.get_unique_variable_name(f"perceptrons/{name}"))

    def input_matrix(self, operator: Operator) -> Value:
        """Return the inputs of an operator as one matrix of doubles."""
        return self.concat([Value(self, variable.full_name).to_double() for variable in operator.inputs], 1)

    def finish(self, operator: Operator, *values: Value) -> None:
        """Give the outputs of an operator their values, in their types, and hand all nodes over to skl2onnx."""
        types = required_package("skl2onnx").common.data_types
        for output, value in zip(operator.outputs, values, strict=False):
            if not isinstance(output.type, types.StringTensorType):
                value = value.do("Cast", to=types.guess_proto_type(output.type))
            self.assign(value, output.full_name)
        for tensor in self.constants:
            content = list(tensor.string_data) or tensor  # skl2onnx copies the numbers of a tensor, but no strings
            self._container.add_initializer(tensor.name, tensor.data_type, list(tensor.dims), content)
        for node in self.nodes:
            attributes = {one.name: self._helper.get_attribute_value(one) for one in node.attribute}
            self._container.add_node(
                node.op_type, list(node.input), list(node.output), op_domain=node.domain,
                op_version=OPSETS[node.domain], name=self._scope.get_unique_operator_name(node.op_type), **attributes,
            )  # fmt: skip


# ---- our estimators in graphs of skl2onnx


def register() -> None:
    """Register our estimators with skl2onnx, so that its own functions convert pipelines with them.

    As in other classifiers, the second output is `probabilities`, or the scores of a model without them.
    """
    skl2onnx = required_package("skl2onnx")
    options = {"raw_scores": [True, False], "zipmap": [True, False, "columns"], "output_class_labels": [False, True]}
    for estimator in (Perceptron, KernelPerceptron):
        skl2onnx.update_registered_converter(
            estimator, _alias(estimator), _set_classifier_types, _convert_classifier, options=options
        )
    skl2onnx.update_registered_converter(HashedText, _alias(HashedText), _set_text_type, _convert_text)


def _alias(estimator: type) -> str:
    return f"Perceptrons{estimator.__name__}"


def _declare_all_outputs(scope: Scope, model: Any, inputs: Any, custom_parsers: Any = None) -> list[Any]:
    """Declare the outputs label and scores, and probabilities if the model is calibrated."""
    guess_type = required_package("skl2onnx").common.data_types.guess_tensor_type
    operator = scope.declare_local_operator(_alias(type(model)), model)
    operator.inputs = inputs
    is_calibrated = _classifier_parts(model).calibration is not None
    for name in ("label", "scores", "probabilities")[: 2 + is_calibrated]:
        operator.outputs.append(scope.declare_local_variable(name, guess_type(inputs[0].type)))
    return list(operator.outputs)


def _classifier_parts(model: Any) -> ModelParts:
    parts = parts_of(model, "columns")
    assert isinstance(parts, ModelParts)
    return parts


def _has_scores_by_row(operator: Operator, parts: ModelParts) -> bool:
    """Return whether the scores of two classes are one number per row, as in `decision_function`."""
    return parts.is_binary and str(operator.outputs[1].raw_name) == "scores"


def _set_classifier_types(operator: Operator) -> None:
    types = required_package("skl2onnx").common.data_types
    parts = _classifier_parts(operator.raw_operator)
    shape = [None, len(parts.classes)]
    is_multilabel = parts.is_multilabel
    label_type = {
        "string": types.StringTensorType, "bool": types.BooleanTensorType, "double": types.DoubleTensorType,
        "int64": types.Int64TensorType,
    }["int64" if is_multilabel else class_type(parts.classes)]  # fmt: skip
    number_type = type(types.guess_tensor_type(operator.inputs[0].type))
    operator.outputs[0].type = label_type(shape if is_multilabel else [None])
    for output in operator.outputs[1:]:
        output.type = number_type(shape)
    if _has_scores_by_row(operator, parts):
        operator.outputs[1].type = number_type([None])


def _convert_classifier(scope: Scope, operator: Operator, container: Container) -> None:
    parts, nodes = _classifier_parts(operator.raw_operator), ContainerNodes(scope, container)
    outputs = rule_outputs(parts, scores_of_rows(nodes.input_matrix(operator), parts))
    scores, probabilities = outputs.scores, outputs.probabilities
    if parts.is_binary and not _has_scores_by_row(operator, parts):  # one column per class
        column = scores.reshape(-1, 1)
        scores = nodes.concat([-column, column], 1)
    numbers = [scores] if probabilities is None else [scores, probabilities]
    needs_scores = container.get_options(operator.raw_operator, {"raw_scores": False}, fail=False)["raw_scores"]
    if len(operator.outputs) == 2 and not needs_scores:
        numbers = numbers[-1:]
    nodes.finish(operator, outputs.label, *numbers)


def _set_text_type(operator: Operator) -> None:
    types = required_package("skl2onnx").common.data_types
    operator.outputs[0].type = types.FloatTensorType([None, columns_of_text(operator.raw_operator).n_columns])


def _convert_text(scope: Scope, operator: Operator, container: Container) -> None:
    text, nodes = operator.raw_operator, ContainerNodes(scope, container)
    words = TextInputs(text, columns_of_text(text))
    check_words(words)
    nodes.finish(operator, word_rows(Value(nodes, operator.inputs[0].full_name), words))
