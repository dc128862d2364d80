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
from perceptrons.features.cells import Roles
from perceptrons.features.from_memory import preparation_of, read_cells, roles_of
from perceptrons.features.preparation import Preparation, number_products
from perceptrons.features.rows import text_prefixes
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


@dataclass(frozen=True)
class TableInputs:
    """The cells of a table."""

    source: dict[str, Any]
    columns: Columns
    n_columns: int
    preparation: Preparation
    roles: Roles
    numbers: list[str]
    categories: list[str]
    texts: list[str]
    prefixes: list[str]
    text: HashedText | None
    indicators: list[int]
    products: list[tuple[int, ...]]  # the numbers whose product every further number is
    number_columns: list[int]  # -1 for a number without a column; empty if columns are hashed
    category_features: list[CategoryFeatures]
    kind: str = "table"

    @property
    def is_hashed(self) -> bool:
        return self.columns.bits is not None


Inputs = ColumnInputs | TextInputs | TableInputs


@dataclass(frozen=True)
class ModelParts:
    """A classifier: its inputs, and the model that gives rows of columns their scores."""

    inputs: Inputs
    model: Any  # a Perceptron or a KernelPerceptron

    @property
    def kind(self) -> str:
        """How scores are computed: "linear", by a "kernel", or by "votes" of all weights of training."""
        if isinstance(self.model, KernelPerceptron):
            return "kernel"
        return "votes" if self.model.combine == "vote" else "linear"

    @property
    def classes(self) -> np.ndarray:
        return np.asarray(learner_of(self.model).classes)

    @property
    def scheme(self) -> str:
        """ "joint", "ovr", "ovo", or "labels" for several labels per example."""
        return str(learner_of(self.model).scheme)

    @property
    def is_multilabel(self) -> bool:
        return self.scheme == "labels"

    @property
    def is_binary(self) -> bool:
        return not self.is_multilabel and len(self.classes) == 2

    @property
    def is_one_vs_one(self) -> bool:
        """Whether every pair of classes has a row of weights."""
        return self.scheme == "ovo" and len(self.classes) > 2

    @property
    def is_positive_at_zero(self) -> bool:
        return getattr(self.model, "zero_score", "mistake") == "positive"

    @property
    def calibration(self) -> Calibration | None:
        """How scores become probabilities; None if the calibration was for the scores of other weights."""
        calibration: Calibration | None = learner_of(self.model).calibration
        return calibration if calibration is not None and calibration.combine == self.model.combine else None

    def votes(self) -> "VoteUpdates":
        learner = learner_of(self.model)
        learner.check_holds("vote")
        weights, votes = learner.weights, learner.votes
        (w, b), log = weights.start(), votes.log
        index, y, y_hat = (log[:, column].astype(np.int64) for column in (1, 2, 3))
        support, counts = votes.matrix(w.shape[1]), votes.counts(weights.t)
        return VoteUpdates(w, b, float(weights.one), support, index, y, y_hat, log[:, 4], counts, weights.t)


@dataclass(frozen=True)
class VoteUpdates:
    """All weights of training, stored as the updates that lead from each version to the next."""

    w: np.ndarray  # before the first update
    b: np.ndarray
    one: float  # the square of the constant feature, which the product of any two examples contains
    support: Any  # array or CSR (n_support, n_columns)
    support_index: np.ndarray  # (n_updates,): the support vector of every update
    y: np.ndarray
    y_hat: np.ndarray
    step: np.ndarray
    counts: np.ndarray  # (n_updates + 1,): how long every version survived
    t: float


def calibration_curves(arrays: dict[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the scores and the shares at the corners of each curve of an isotonic calibration."""
    ends = np.cumsum(arrays["corners"])[:-1]
    return list(zip(np.split(arrays["scores"], ends), np.split(arrays["shares"], ends), strict=True))


@dataclass(frozen=True)
class TaggerParts:
    """The parts of a tagger: scores of labels by the features of a token, and of arcs between labels."""

    w: np.ndarray  # (n_features, n_labels)
    arcs: np.ndarray  # (n_labels + 1, n_labels + 1): from and to, the last for both ends; -inf is forbidden
    names: list[str] | None
    classes: np.ndarray
    combine: str


def parts_of(model: Any, inputs: str = "raw") -> ModelParts | TaggerParts:
    """Take a fitted model or pipeline apart. Raise ExportError for a model that cannot be exported.

    inputs: "raw" as the model takes them, or "columns" after their preparation.
    """
    if inputs not in INPUTS:
        raise ValueError(f"inputs={inputs!r}: choose one of {', '.join(INPUTS)}.")
    if hasattr(model, "steps"):
        return _pipeline_parts(model, inputs)
    if isinstance(model, SequencePerceptron):
        return _tagger_parts(model)
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
        options = dict(source.get("text") or {})
        hashing = {"bits": columns.bits, "signed": columns.signed, "seed": columns.seed}
        return TextInputs(HashedText(**options | hashing), columns)
    if inputs == "raw" and "numbers" in source:
        return table_inputs(source, columns, n)
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
    n_columns = last.inputs.n_columns
    first_inputs: TextInputs | TableInputs | None = None
    scalings = []
    for name, step in steps[:-1]:
        kind = type(step).__name__
        if kind == "HashedText" and step is steps[0][1]:
            first_inputs = TextInputs(step, columns_of_text(step))
        elif kind == "TableFeatures" and step is steps[0][1]:
            first_inputs = table_inputs(step.source_, step.columns_, n_columns)
        elif kind in SCALERS and type(step).__module__.startswith("sklearn.") and not getattr(step, "clip", False):
            scalings.append(SCALERS[kind](step))
        else:
            raise ExportError(f"Step {name!r} is a {kind}, which cannot be exported. {COLUMNS_INSTEAD}")
    shift, scale = np.zeros(n_columns), np.ones(n_columns)
    for step_shift, step_scale in scalings:
        shift, scale = shift + step_shift / scale, scale * step_scale
    is_scaled = bool((shift != 0).any() or (scale != 1).any())
    if first_inputs is not None and is_scaled:
        raise ExportError(f"A scaler after {type(steps[0][1]).__name__} cannot be exported. {COLUMNS_INSTEAD}")
    if first_inputs is not None:
        return ModelParts(first_inputs, last.model)
    names = last.inputs.names if isinstance(last.inputs, ColumnInputs) else None
    if hasattr(steps[0][1], "feature_names_in_"):
        names = [str(name) for name in steps[0][1].feature_names_in_]
    scaling = (shift, scale) if is_scaled else (None, None)
    return ModelParts(ColumnInputs(n_columns, names, None, *scaling), last.model)


def _standard_scaling(step: Any) -> tuple[Any, Any]:
    return (step.mean_ if step.with_mean else 0.0), 1 / step.scale_ if step.with_std else 1.0


SCALERS: dict[str, Any] = {  # what is subtracted, and what multiplies the difference
    "StandardScaler": _standard_scaling,
    "MaxAbsScaler": lambda step: (0.0, 1 / step.scale_),
    "MinMaxScaler": lambda step: (-step.min_ / step.scale_, step.scale_),
}


def _tagger_parts(tagger: SequencePerceptron) -> TaggerParts:
    learner = learner_of(tagger)
    barrier = learner.limits(tagger, stream=True).barrier
    names = learner.features.names()
    arcs = np.asarray(learner.predicting(tagger.combine)[1] + barrier, np.float64)
    return TaggerParts(
        np.ascontiguousarray(tagger.coef_.T), arcs, None if names is None else [str(name) for name in names],
        learner.classes.copy(), tagger.combine,
    )  # fmt: skip


# ---- tables


def table_inputs(source: Any, columns: Columns, n: int) -> TableInputs:
    """Return the inputs of a model that was trained on tables which were read as `source` says."""
    roles = roles_of(source)
    preparation = preparation_of(source, roles)
    if preparation.term_weights is not None:
        raise ExportError(
            f"The words of the table's texts are weighted by idf, which no export format supports. {COLUMNS_INSTEAD}"
        )
    derived = preparation.derived
    plain = [name for name in roles.categories if name not in {*derived.dates, *derived.flags}]
    numbers, categories = list(preparation.names), [*plain, *derived.categories()]
    text = None
    if roles.texts:
        hashing = {"bits": columns.bits, "signed": columns.signed, "seed": columns.seed}
        text = HashedText(**dict(source.get("text") or {}) | hashing)
    column_of = {} if columns.bits is not None else {name: j for j, name in enumerate(columns.names(np.arange(n)))}
    return TableInputs(
        dict(source), columns, n, preparation, roles, numbers, categories, roles.texts,
        text_prefixes(roles.texts) if source.get("prefix") else [], text,
        [numbers.index(name) for name in preparation.indicators], _products(preparation, numbers),
        [column_of.get(name, -1) for name in preparation.number_names],
        _category_features(preparation, numbers, categories, column_of),
    )  # fmt: skip


def _products(preparation: Preparation, numbers: list[str]) -> list[tuple[int, ...]]:
    """Return the indices of the factors of every power and product, in the order of `number_products`."""
    index = {name: k for k, name in enumerate(numbers)}
    bases, products = preparation.columns_with_powers(), preparation.products
    powers = [(index[name],) * power for power in range(2, products.powers + 1) for name in bases]
    pairs = [(index[a], index[b]) for a, b in products.pairs if a in index and b in index]
    _, names = number_products(np.empty((0, len(numbers))), numbers, bases, products)
    assert len(names) == len(powers) + len(pairs)
    return powers + pairs


def _category_features(
    preparation: Preparation, numbers: list[str], categories: list[str], column_of: dict[str, int]
) -> list[CategoryFeatures]:
    """Return the features of categories and of products with them, found by the names of columns."""
    number_index = {name: k for k, name in enumerate(numbers)}
    index = {name: k for k, name in enumerate(categories)}
    features = [
        CategoryFeatures(-1, k, -1, _by_value(f"{name}=", column_of), (f"{name}=",)) for name, k in index.items()
    ]
    for first, second in preparation.products.pairs:
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
    contents = read_cells(X, inputs.source, inputs.roles, inputs.preparation)
    cells = []
    for name in inputs.categories:
        codes, values = contents.categories[name]
        cells.append([values[code] if code >= 0 else NO_VALUE for code in codes.tolist()])
    return contents.numbers, cells
