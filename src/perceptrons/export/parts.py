"""What every export is written from: the inputs of a model, its weights, and the rule that picks the answer.

`subject_of` takes a fitted model or pipeline apart once; ONNX and JSON are two ways to write the same parts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.calibration import Calibration
from perceptrons.export.table_parts import TableInputs, table_inputs
from perceptrons.features import Columns, HashedText
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host
from perceptrons.linear import Perceptron
from perceptrons.sequence import SequencePerceptron

INPUTS = ("raw", "columns")
KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed")
COLUMNS_INSTEAD = (
    "Export the part after it with inputs='columns' (--inputs columns), which takes rows that were prepared elsewhere."
)


class ExportError(ValueError):
    """This model, or a part of it, cannot be written in the wanted format. Says which part, and what to do instead."""


@dataclass(frozen=True)
class ColumnInputs:
    """Rows of numbers, one for every column. They are multiplied by `scale` after `shift` was subtracted."""

    n_columns: int
    names: list[str] | None = None  # of the columns, if each has one
    columns: Columns | None = None  # names of hashed or remembered columns
    shift: np.ndarray | None = None
    scale: np.ndarray | None = None
    kind: str = "columns"


@dataclass(frozen=True)
class TextInputs:
    """Texts, cut into words and n-grams by `text`, whose columns are those of `columns`."""

    text: HashedText
    columns: Columns
    kind: str = "text"

    @property
    def n_columns(self) -> int:
        return self.columns.n_columns


Inputs = ColumnInputs | TextInputs | TableInputs


@dataclass(frozen=True)
class Answer:
    """How scores become labels, and probabilities if the model is calibrated.

    scheme: "joint", "ovr", "ovo", or "labels" for several labels per example.
    """

    classes: np.ndarray
    scheme: str
    combine: str
    positive_at_zero: bool = False
    threshold: float | None = None
    calibration: Calibration | None = None

    @property
    def binary(self) -> bool:
        return self.scheme != "labels" and len(self.classes) == 2

    @property
    def several(self) -> bool:
        return self.scheme == "labels"

    @property
    def duels(self) -> bool:
        """One-vs-one: does every pair of classes have a row?"""
        return self.scheme == "ovo" and len(self.classes) > 2


@dataclass(frozen=True)
class Weights:
    """Linear scores: X w' + b. w: (rows, columns)."""

    w: np.ndarray
    b: np.ndarray
    kind: str = "linear"


@dataclass(frozen=True)
class Dual:
    """Scores by kernel values with support vectors. coef: (rows, support vectors). precomputed: `index` of columns."""

    kernel: str
    gamma: float
    degree: int
    coef0: float
    support: Any  # array or CSR (support vectors, columns); None where the kernel is precomputed
    coef: np.ndarray
    index: np.ndarray | None = None
    kind: str = "kernel"


@dataclass(frozen=True)
class VersionsOfWeights:
    """Votes of all weights that ever were, as the updates that lead from each to the next (`training/votes.py`)."""

    w: np.ndarray  # the start
    b: np.ndarray
    one: float  # the square of the constant feature, which every product of two examples has beside it
    support: Any  # array or CSR
    which: np.ndarray  # of the support vectors, for every update
    y: np.ndarray
    y_hat: np.ndarray
    step: np.ndarray
    counts: np.ndarray  # survival counts: of the start, and of the weights after every update
    t: float
    kind: str = "votes"

    @property
    def signed(self) -> np.ndarray:
        """With two classes, what every update adds in the direction of its example."""
        return np.where(self.y == 1, self.step, -self.step)


Scores = Weights | Dual | VersionsOfWeights


@dataclass(frozen=True)
class Subject:
    """A model in parts."""

    inputs: Inputs
    scores: Scores
    answer: Answer


@dataclass(frozen=True)
class TaggerSubject:
    """A tagger: scores of labels by the features of a token, and of arcs between labels; the best path is Viterbi's.

    arcs: (labels + 1, labels + 1), from and to, the last row and column for both ends; minus infinity is forbidden.
    """

    w: np.ndarray  # (features, labels)
    arcs: np.ndarray
    names: list[str] | None
    classes: np.ndarray
    combine: str


def subject_of(model: Any, inputs: str = "raw") -> Subject | TaggerSubject:
    """Take a fitted model or pipeline apart. inputs: "raw" as the model takes them, or "columns" behind preparation.

    Raises ExportError for a model that cannot be exported.
    """
    if inputs not in INPUTS:
        raise ValueError(f"inputs={inputs!r}: choose one of {', '.join(INPUTS)}.")
    if hasattr(model, "steps"):
        return _of_pipeline(model, inputs)
    if isinstance(model, SequencePerceptron):
        return _of_tagger(model)
    if not isinstance(model, Perceptron | KernelPerceptron):
        raise ExportError(
            f"A {type(model).__name__} cannot be exported: give a Perceptron, a KernelPerceptron, a SequencePerceptron "
            "or a pipeline that ends with one of the first two."
        )
    return Subject(_inputs_of(model, inputs), _scores_of(model), _answer_of(model))


def _inputs_of(model: Any, inputs: str) -> Inputs:
    n, columns = model.n_features_in_, getattr(model, "columns_", None)
    if columns is None:
        names = [str(name) for name in model.feature_names_in_] if hasattr(model, "feature_names_in_") else None
        return ColumnInputs(n, names)
    if inputs == "columns" or not ("numbers" in model.source_ or model.source_.get("format") == "text"):
        return _named(columns, n)
    return _raw(model.source_, columns, n)


def _raw(source: Any, columns: Columns, n: int) -> Inputs:
    if source.get("format") == "text":
        options = dict(source.get("text") or {})
        bits = {"bits": columns.bits, "signed": columns.signed, "seed": columns.seed}
        return TextInputs(HashedText(**options | bits), columns)
    return table_inputs(source, columns, n)


def _named(columns: Columns, n: int) -> ColumnInputs:
    names = columns.names(np.arange(n)) if columns.bits is None else None
    return ColumnInputs(n, names, columns)


def _of_pipeline(pipeline: Any, inputs: str) -> Subject:
    """A pipeline of scalers, a text or table transformer at most, and a model."""
    steps = [(name, step) for name, step in pipeline.steps if step is not None and step != "passthrough"]
    last = subject_of(steps[-1][1], "columns")
    if isinstance(last, TaggerSubject):
        raise ExportError("A pipeline that ends with a tagger cannot be exported: export the tagger.")
    if inputs == "columns":
        return last
    found: Inputs | None = None
    scalers = []
    for name, step in steps[:-1]:
        kind = type(step).__name__
        if kind in ("HashedText", "TableFeatures") and found is None and (name, step) == steps[0]:
            if kind == "HashedText":
                columns = step.columns_ if hasattr(step, "columns_") else step.new_columns()
                found = TextInputs(step, columns)
            else:
                found = table_inputs(step.source_, step.columns_, last.inputs.n_columns)
        elif kind in SCALERS and type(step).__module__.startswith("sklearn.") and not getattr(step, "clip", False):
            scalers.append(SCALERS[kind](step))
        else:
            raise ExportError(f"Step {name!r} is a {kind}, which cannot be exported. {COLUMNS_INSTEAD}")
    shift, scale = np.zeros(last.inputs.n_columns), np.ones(last.inputs.n_columns)
    for by, factor in scalers:
        shift, scale = shift + by / scale, scale * factor
    plain = bool((shift == 0).all() and (scale == 1).all())
    if found is None:
        names = last.inputs.names if isinstance(last.inputs, ColumnInputs) else None
        first = getattr(steps[0][1], "feature_names_in_", None)
        names = names if first is None else [str(one) for one in first]
        return Subject(ColumnInputs(last.inputs.n_columns, names, None, *([None] * 2 if plain else [shift, scale])),
                       last.scores, last.answer)  # fmt: skip
    if not plain:
        raise ExportError(f"A scaler after {type(steps[0][1]).__name__} cannot be exported. {COLUMNS_INSTEAD}")
    return Subject(found, last.scores, last.answer)


def _standard(step: Any) -> tuple[Any, Any]:
    return (step.mean_ if step.with_mean else 0.0), 1 / step.scale_ if step.with_std else 1.0


SCALERS: dict[str, Any] = {  # what is subtracted, and what then is multiplied
    "StandardScaler": _standard,
    "MaxAbsScaler": lambda step: (0.0, 1 / step.scale_),
    "MinMaxScaler": lambda step: (-step.min_ / step.scale_, step.scale_),
}


def _answer_of(model: Any) -> Answer:
    learner = model._learner
    if len(learner.classes) < 2 and learner.form == "single":
        raise ExportError(f"The model knows only one class, {learner.classes.tolist()}: train it on two or more.")
    zero = getattr(model, "zero_score", "mistake") == "positive"
    calibration = learner.calibration
    if calibration is not None and calibration.combine != model.combine:
        calibration = None  # as predict_proba has it: these are probabilities by the scores of other weights
    return Answer(learner.classes.copy(), learner.scheme, model.combine, zero, learner.threshold, calibration)


def _scores_of(model: Any) -> Scores:
    if isinstance(model, KernelPerceptron):
        return _dual(model)
    if model.combine != "vote":
        return Weights(model.coef_, model.intercept_)
    learner = model._learner
    learner.check_holds("vote")
    weights, votes = learner.weights, learner.votes
    log, (w, b) = votes.log, weights.start()
    which, y, y_hat = (log[:, place].astype(np.int64) for place in (1, 2, 3))
    return VersionsOfWeights(
        w.copy(), b.copy(), float(weights.one), votes.matrix(w.shape[1]), which, y, y_hat, log[:, 4].copy(),
        votes.counts(weights.t), weights.t,
    )  # fmt: skip


def _dual(model: KernelPerceptron) -> Dual:
    kernel = model._learner.kernel
    if kernel.name not in KERNELS:
        name = getattr(kernel.name, "__name__", "a function")
        raise ExportError(f"The kernel is {name}, your own function, which cannot be exported: use one of {KERNELS}.")
    if model.combine == "vote":
        raise ExportError(
            "A KernelPerceptron with combine='vote' cannot be exported: set combine='average' or 'last' and export it."
        )
    rest = (kernel.name, float(kernel.gamma), int(kernel.degree), float(kernel.coef0))
    coef = np.asarray(to_host(model.dual_coef_))
    if kernel.name == "precomputed":
        return Dual(*rest, None, coef, np.asarray(to_host(model.support_), np.int64))
    rows = to_host(model.support_vectors_)
    return Dual(*rest, rows if sp.issparse(rows) else np.asarray(rows), coef)


def _of_tagger(tagger: SequencePerceptron) -> TaggerSubject:
    learner = tagger._learner if hasattr(tagger, "_learner") else tagger._fitted()
    barrier = learner.limits(tagger, stream=True).barrier
    features = learner.features
    names = [str(name) for name in features.names()] if features.names() is not None else None
    arcs = np.asarray(learner.predicting(tagger.combine)[1] + barrier, np.float64)
    return TaggerSubject(np.ascontiguousarray(tagger.coef_.T), arcs, names, learner.classes.copy(), tagger.combine)
