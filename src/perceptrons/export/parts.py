"""The parts of a fitted model that every export writes: its inputs, its scores, and how scores become labels.

`parts_of` takes a model or pipeline apart once; ONNX and JSON are two ways to write the same parts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.calibration import Calibration
from perceptrons.export.table_inputs import COLUMNS_INSTEAD, ExportError, TableInputs, table_inputs
from perceptrons.features import Columns, HashedText
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host
from perceptrons.linear import Perceptron
from perceptrons.sequence import SequencePerceptron

INPUTS = ("raw", "columns")
KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed")


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


Inputs = ColumnInputs | TextInputs | TableInputs


@dataclass(frozen=True)
class LinearScores:
    """Scores X w' + b."""

    w: np.ndarray  # (n_rows, n_columns)
    b: np.ndarray
    kind: str = "linear"


@dataclass(frozen=True)
class KernelScores:
    """Scores by kernel values with support vectors."""

    kernel: str
    gamma: float
    degree: int
    coef0: float
    support: Any  # array or CSR (n_support, n_columns); None for a precomputed kernel
    coef: np.ndarray  # (n_rows, n_support)
    index: np.ndarray | None = None  # the columns of the support vectors in a precomputed kernel
    kind: str = "kernel"


@dataclass(frozen=True)
class VoteScores:
    """Votes of all weights of training, stored as the updates that lead from each version to the next."""

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
    kind: str = "votes"


Scores = LinearScores | KernelScores | VoteScores


@dataclass(frozen=True)
class DecisionRule:
    """How scores become labels, and probabilities if the model is calibrated."""

    classes: np.ndarray
    scheme: str  # "joint", "ovr", "ovo", or "labels" for several labels per example
    combine: str
    is_positive_at_zero: bool = False
    threshold: float | None = None
    calibration: Calibration | None = None

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


@dataclass(frozen=True)
class ModelParts:
    """The parts of a classifier."""

    inputs: Inputs
    scores: Scores
    rule: DecisionRule

    @property
    def classes(self) -> np.ndarray:
        return self.rule.classes


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
    return ModelParts(_model_inputs(model, inputs), _scores_of(model), _decision_rule(model))


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
            first_inputs = TextInputs(step, step.columns_ if hasattr(step, "columns_") else step.new_columns())
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
        return ModelParts(first_inputs, last.scores, last.rule)
    names = last.inputs.names if isinstance(last.inputs, ColumnInputs) else None
    if hasattr(steps[0][1], "feature_names_in_"):
        names = [str(name) for name in steps[0][1].feature_names_in_]
    scaling = (shift, scale) if is_scaled else (None, None)
    return ModelParts(ColumnInputs(n_columns, names, None, *scaling), last.scores, last.rule)


def _standard_scaling(step: Any) -> tuple[Any, Any]:
    return (step.mean_ if step.with_mean else 0.0), 1 / step.scale_ if step.with_std else 1.0


SCALERS: dict[str, Any] = {  # what is subtracted, and what multiplies the difference
    "StandardScaler": _standard_scaling,
    "MaxAbsScaler": lambda step: (0.0, 1 / step.scale_),
    "MinMaxScaler": lambda step: (-step.min_ / step.scale_, step.scale_),
}


def _decision_rule(model: Any) -> DecisionRule:
    learner = learner_of(model)
    if len(learner.classes) < 2 and learner.form == "single":
        raise ExportError(f"The model knows only one class, {learner.classes.tolist()}: train it on two or more.")
    is_positive_at_zero = getattr(model, "zero_score", "mistake") == "positive"
    calibration = learner.calibration
    if calibration is not None and calibration.combine != model.combine:
        calibration = None  # predict_proba has no probabilities either: those were for the scores of other weights
    return DecisionRule(
        learner.classes.copy(), learner.scheme, model.combine, is_positive_at_zero, learner.threshold, calibration
    )


def _scores_of(model: Any) -> Scores:
    if isinstance(model, KernelPerceptron):
        return _kernel_scores(model)
    if model.combine != "vote":
        return LinearScores(model.coef_, model.intercept_)
    learner = learner_of(model)
    learner.check_holds("vote")
    weights, votes = learner.weights, learner.votes
    log, (w, b) = votes.log, weights.start()
    support_index, y, y_hat = (log[:, column].astype(np.int64) for column in (1, 2, 3))
    return VoteScores(
        w.copy(), b.copy(), float(weights.one), votes.matrix(w.shape[1]), support_index, y, y_hat, log[:, 4].copy(),
        votes.counts(weights.t), weights.t,
    )  # fmt: skip


def _kernel_scores(model: KernelPerceptron) -> KernelScores:
    kernel = learner_of(model).kernel
    if kernel.name not in KERNELS:
        name = getattr(kernel.name, "__name__", "a function")
        raise ExportError(f"The kernel is {name}, your own function, which cannot be exported: use one of {KERNELS}.")
    if model.combine == "vote":
        raise ExportError(
            "A KernelPerceptron with combine='vote' cannot be exported: set combine='average' or 'last' and export it."
        )
    options = (kernel.name, float(kernel.gamma), int(kernel.degree), float(kernel.coef0))
    coef = np.asarray(to_host(model.dual_coef_))
    if kernel.name == "precomputed":
        return KernelScores(*options, None, coef, np.asarray(to_host(model.support_), np.int64))
    support = to_host(model.support_vectors_)
    return KernelScores(*options, support if sp.issparse(support) else np.asarray(support), coef)


def _tagger_parts(tagger: SequencePerceptron) -> TaggerParts:
    learner = learner_of(tagger)
    barrier = learner.limits(tagger, stream=True).barrier
    names = learner.features.names()
    arcs = np.asarray(learner.predicting(tagger.combine)[1] + barrier, np.float64)
    return TaggerParts(
        np.ascontiguousarray(tagger.coef_.T), arcs, None if names is None else [str(name) for name in names],
        learner.classes.copy(), tagger.combine,
    )  # fmt: skip
