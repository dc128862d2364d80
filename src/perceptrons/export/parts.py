"""The parts of a fitted model that every export writes: its inputs, its weights, and how scores become labels.

`parts_of` takes a model or pipeline apart once; ONNX and JSON are two ways to write the same parts. In tables, dates
enter as the numbers and categories that are made of them, yes and no as 1 and 0: no format but Python's reads dates.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.calibration import Calibration
from perceptrons.features import Columns, HashedText
from perceptrons.features.preparation import Preparation
from perceptrons.features.rows import TablePlan, hashed_text, read_cells
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.sequence import SequencePerceptron

INPUTS = ("raw", "columns")
KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed")
NO_VALUE = "\ufdd0"  # stands for a category that a row lacks; Unicode reserves it, so that no cell contains it
COLUMNS_INSTEAD = (
    "Export the part after it with inputs='columns' (--inputs columns), which takes rows that were prepared elsewhere."
)


class ExportError(ValueError):
    """This model, or a part of it, cannot be written in this format. The message says which part, and what to do."""


@dataclass(frozen=True)
class ColumnInputs:
    """Rows of numbers, one per column. `shift` is subtracted from them, and `scale` multiplies the difference."""

    n_columns: int
    names: list[str] | None = None  # of the columns, if each has one
    columns: Columns | None = None  # names of hashed or remembered columns
    shift: np.ndarray | None = None
    scale: np.ndarray | None = None
    kind: str = "columns"


@dataclass(frozen=True)
class TextInputs:
    """Texts, which `text` cuts into words and n-grams."""

    text: HashedText
    columns: Columns
    kind: str = "text"

    @property
    def n_columns(self) -> int:
        return self.columns.n_columns


@dataclass(frozen=True)
class CategoryFeatures:
    """Features that are 1, or equal to a number of the row, if its categories have certain values."""

    number: int  # its index among the numbers, or -1
    first: int  # the index of the category
    second: int  # of another category that must have its value too, or -1
    columns: dict[tuple[str, ...], int]  # by the values of the categories
    prefixes: tuple[str, ...]  # of its name: "height*color=", or "color=" and "*shape="


class TableInputs:
    """The cells of a table, which was read as the recipe `source` says."""

    kind = "table"

    def __init__(self, source: Any, columns: Columns, n_columns: int) -> None:
        self.plan, self.columns, self.n_columns = TablePlan.from_recipe(source, columns), columns, n_columns
        self.preparation = preparation = self.plan.preparation
        if preparation.term_weights is not None:
            raise ExportError(
                f"The words of the table's texts are weighted by idf, which no export format supports. "
                f"{COLUMNS_INSTEAD}"
            )
        self.is_hashed = columns.bits is not None
        self.texts, self.text, self.prefixes = self.plan.roles.texts, self.plan.text, self.plan.prefixes
        self.numbers = list(preparation.names)
        self.categories = [*preparation.plain_categories(self.plan.roles.categories), *preparation.derived_categories()]
        self.indicators = [self.numbers.index(name) for name in preparation.indicators]
        self.products = preparation.product_factors
        named = [] if self.is_hashed else columns.names(np.arange(n_columns))
        column_of = {name: j for j, name in enumerate(named)}
        # -1 for a number without a column; empty if columns are hashed
        self.number_columns = [column_of.get(name, -1) for name in preparation.number_names]
        self.category_features = _category_features(preparation, self.numbers, self.categories, column_of)


Inputs = ColumnInputs | TextInputs | TableInputs


class ModelParts:
    """A classifier: its inputs, and the model, a Perceptron or a KernelPerceptron, that gives rows their scores.

    Attributes
    ----------
    kind : how scores are computed: "linear", by a "kernel", or by "votes" of all weights of training
    scheme : "joint", "ovr", "ovo", or "labels" for several labels per example
    is_one_vs_one : whether every pair of classes has a row of weights
    calibration : how scores become probabilities; None if the calibration was for the scores of other weights
    """

    def __init__(self, inputs: Inputs, model: Any) -> None:
        learner = learner_of(model)
        self.inputs, self.model, self.classes, self.scheme = inputs, model, learner.classes, learner.scheme
        votes = model.combine == "vote"
        self.kind = "kernel" if isinstance(model, KernelPerceptron) else "votes" if votes else "linear"
        self.is_multilabel = self.scheme == "labels"
        self.is_binary = len(self.classes) == 2 and not self.is_multilabel
        self.is_one_vs_one = len(self.classes) > 2 and self.scheme == "ovo"
        self.is_positive_at_zero = getattr(model, "zero_score", "mistake") == "positive"
        calibration: Calibration | None = learner.calibration
        is_current = calibration is not None and calibration.combine == model.combine
        self.calibration = calibration if is_current else None


class VoteUpdates:
    """All weights of the training of a voting model, stored as the updates that lead from each version to the next."""

    def __init__(self, model: Perceptron) -> None:
        learner = learner_of(model)
        learner.check_holds("vote")
        weights, votes = learner.weights, learner.votes
        assert votes is not None
        self.w, self.b = weights.start()  # before the first update
        self.one = float(weights.one)  # the square of the constant feature, part of the product of any two examples
        self.support = votes.matrix(self.w.shape[1])  # array or CSR (n_support, n_columns)
        # of every update, its support vector, the true class and the predicted one, and how far it went
        self.support_index, self.y, self.y_hat = (votes.log[:, column].astype(np.int64) for column in (1, 2, 3))
        self.step = votes.log[:, 4]
        self.t = weights.t
        self.counts = votes.counts(self.t)  # (n_updates + 1,): how long every version survived


def calibration_curves(arrays: dict[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the scores and the shares at the corners of each curve of an isotonic calibration."""
    ends = np.cumsum(arrays["corners"])[:-1]
    return list(zip(np.split(arrays["scores"], ends), np.split(arrays["shares"], ends), strict=True))


class TaggerParts:
    """The parts of a tagger: scores of labels by the features of a token, and of arcs between labels."""

    def __init__(self, tagger: SequencePerceptron) -> None:
        learner = learner_of(tagger)
        names, barrier = learner.features.names(), learner.limits(tagger, stream=True).barrier
        self.w = np.ascontiguousarray(tagger.coef_.T)  # (n_features, n_labels)
        # (n_labels + 1, n_labels + 1): from and to, the last for both ends; -inf is forbidden
        self.arcs = np.asarray(learner.predicting(tagger.combine)[1] + barrier, np.float64)
        self.names = None if names is None else [str(name) for name in names]
        self.classes, self.combine = learner.classes.copy(), tagger.combine


def parts_of(model: Any, inputs: str = "raw") -> ModelParts | TaggerParts:
    """Take a fitted model or pipeline apart. Raise ExportError for a model that cannot be exported.

    inputs: "raw" as the model takes them, or "columns" after their preparation.
    """
    if inputs not in INPUTS:
        raise ValueError(f"inputs={inputs!r}: choose one of {', '.join(INPUTS)}.")
    if hasattr(model, "steps"):
        return _pipeline_parts(model, inputs)
    if isinstance(model, SequencePerceptron):
        return TaggerParts(model)
    if not isinstance(model, Perceptron | KernelPerceptron):
        raise ExportError(
            f"A {type(model).__name__} cannot be exported: give a Perceptron, a KernelPerceptron, a SequencePerceptron "
            "or a pipeline that ends with one of the first two."
        )
    parts = ModelParts(_model_inputs(model, inputs), model)
    if isinstance(model, KernelPerceptron):
        _check_kernel(model)
    if len(parts.classes) < 2 and not parts.is_multilabel:
        raise ExportError(f"The model knows only one class, {parts.classes.tolist()}: train it on two or more.")
    return parts


def _check_kernel(model: KernelPerceptron) -> None:
    kernel = learner_of(model).kernel.name
    if kernel not in KERNELS:
        name = getattr(kernel, "__name__", "a function")
        raise ExportError(f"The kernel is {name}, your own function, which cannot be exported: use one of {KERNELS}.")
    if model.combine == "vote":
        raise ExportError(
            "A KernelPerceptron with combine='vote' cannot be exported: set combine='average' or 'last' and export it."
        )


def _model_inputs(model: Any, inputs: str) -> Inputs:
    n, columns = model.n_features_in_, getattr(model, "columns_", None)
    if columns is None:
        names = [str(name) for name in model.feature_names_in_] if hasattr(model, "feature_names_in_") else None
        return ColumnInputs(n, names)
    source = model.source_
    if inputs == "raw" and source.get("format") == "text":
        return TextInputs(hashed_text(source, columns), columns)
    if inputs == "raw" and "numbers" in source:
        return TableInputs(source, columns, n)
    return ColumnInputs(n, columns.names(np.arange(n)) if columns.bits is None else None, columns)


def columns_of_text(text: HashedText) -> Columns:
    """Return the columns of a transformer, which has none of its own if it hashes words without fitting."""
    return text.columns_ if hasattr(text, "columns_") else text.new_columns()


def active_steps(pipeline: Any) -> list[tuple[str, Any]]:
    """Return the names and steps of a pipeline, without those that do nothing."""
    return [(name, step) for name, step in pipeline.steps if step is not None and step != "passthrough"]


def _pipeline_parts(pipeline: Any, inputs: str) -> ModelParts:
    """Take a pipeline apart: at most one text or table transformer or several scalers, and a model."""
    steps = active_steps(pipeline)
    last = parts_of(steps[-1][1], "columns")
    if isinstance(last, TaggerParts):
        raise ExportError("A pipeline that ends with a tagger cannot be exported: export the tagger.")
    if inputs == "columns":
        return last
    n_columns, first = last.inputs.n_columns, steps[0][1]
    first_inputs: TextInputs | TableInputs | None = None
    scalings = []
    for name, step in steps[:-1]:
        kind = type(step).__name__
        if kind == "HashedText" and step is first:
            first_inputs = TextInputs(step, columns_of_text(step))
        elif kind == "TableFeatures" and step is first:
            first_inputs = TableInputs(step.source_, step.columns_, n_columns)
        elif kind in SCALERS and type(step).__module__.startswith("sklearn.") and not getattr(step, "clip", False):
            scalings.append(SCALERS[kind](step))
        else:
            raise ExportError(f"Step {name!r} is a {kind}, which cannot be exported. {COLUMNS_INSTEAD}")
    shift, scale = np.zeros(n_columns), np.ones(n_columns)
    for step_shift, step_scale in scalings:
        shift, scale = shift + step_shift / scale, scale * step_scale
    is_scaled = bool((shift != 0).any() or (scale != 1).any())
    if first_inputs is not None and is_scaled:
        raise ExportError(f"A scaler after {type(first).__name__} cannot be exported. {COLUMNS_INSTEAD}")
    if first_inputs is not None:
        return ModelParts(first_inputs, last.model)
    names = last.inputs.names if isinstance(last.inputs, ColumnInputs) else None
    if hasattr(first, "feature_names_in_"):
        names = [str(name) for name in first.feature_names_in_]
    scaling = (shift, scale) if is_scaled else (None, None)
    return ModelParts(ColumnInputs(n_columns, names, None, *scaling), last.model)


def _standard_scaling(step: Any) -> tuple[Any, Any]:
    return (step.mean_ if step.with_mean else 0.0), 1 / step.scale_ if step.with_std else 1.0


SCALERS: dict[str, Any] = {  # what is subtracted, and what multiplies the difference
    "StandardScaler": _standard_scaling,
    "MaxAbsScaler": lambda step: (0.0, 1 / step.scale_),
    "MinMaxScaler": lambda step: (-step.min_ / step.scale_, step.scale_),
}


# ---- tables


def _category_features(
    preparation: Preparation, numbers: list[str], categories: list[str], column_of: dict[str, int]
) -> list[CategoryFeatures]:
    """Return the features of categories and of products with them, found by the names of columns."""
    number_index = {name: k for k, name in enumerate(numbers)}
    index = {name: k for k, name in enumerate(categories)}
    features = [
        CategoryFeatures(-1, k, -1, _by_value(f"{name}=", column_of), (f"{name}=",)) for name, k in index.items()
    ]
    for first, second in preparation.pairs:
        if first in index and second in index:
            prefixes = f"{first}=", f"*{second}="
            columns = _by_two_values(*prefixes, column_of)
            features.append(CategoryFeatures(-1, index[first], index[second], columns, prefixes))
        elif first in number_index and second in index:
            prefix = f"{first}*{second}="
            columns = _by_value(prefix, column_of)
            features.append(CategoryFeatures(number_index[first], index[second], -1, columns, (prefix,)))
    return features


def _by_value(prefix: str, column_of: dict[str, int]) -> dict[tuple[str, ...], int]:
    return {(name.removeprefix(prefix),): j for name, j in column_of.items() if name.startswith(prefix)}


def _by_two_values(first: str, second: str, column_of: dict[str, int]) -> dict[tuple[str, ...], int]:
    """Return columns by two values. A name can be split in several ways if a value contains the second prefix."""
    columns: dict[tuple[str, ...], int] = {}
    for name, j in column_of.items():
        if name.startswith(first):
            values, at = name.removeprefix(first), -1
            while (at := values.find(second, at + 1)) >= 0:
                columns[values[:at], values[at + len(second) :]] = j
    return columns


def table_cells(inputs: TableInputs, X: Any) -> tuple[np.ndarray, list[list[str]]]:
    """Return the numbers (n_rows, n_numbers) and, by column, the categories of a frame or of records."""
    contents = read_cells(X, inputs.plan)
    cells = []
    for name in inputs.categories:
        codes, values = contents.categories[name]
        cells.append([values[code] if code >= 0 else NO_VALUE for code in codes.tolist()])
    return contents.numbers, cells
