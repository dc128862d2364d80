"""The subject of a report: a model, examples, predictions, and the names of everything."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.feature_names import Units, names_of, units_of
from perceptrons.engine.training.labels import read_target
from perceptrons.engine.wording import count
from perceptrons.inspection.evaluation import (
    LabelNumbers,
    LabelQuality,
    Quality,
    columns_matched,
    probabilities,
    several_labels,
    winners,
)
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.report.image_shape import find_image_shape
from perceptrons.report.page import format_number
from perceptrons.theory.examples import check_features
from perceptrons.theory.geometry import true_lead

Model = Perceptron | KernelPerceptron


class Origin(NamedTuple):
    """Where model and data come from: for the part of the page that says how to make it again.

    command : the command line that made the page, or None
    files : what each file is ("model", "data"), its name, and the SHA-256 of its content, or None
    more : are there more examples in the data than the page is about?
    """

    command: str | None = None
    files: tuple[tuple[str, str, str | None], ...] = ()
    more: bool = False


class SomeTexts(Protocol):
    """Texts of examples that are read only when they are shown."""

    def fetch(self, rows: list[int]) -> list[str | None]: ...


class FeatureNames:
    """The names of features: given ones, those that the model or the step before it knows, or their numbers."""

    def __init__(self, names: Sequence[Any] | None, transformer: Any, model: Any, n_features: int):
        self._names, self._source = names, model
        if names is not None and hasattr(names, "__len__") and len(names) != n_features:
            raise ValueError(
                f"There are {len(names):,} feature_names for {n_features:,} features: give one per feature."
            )
        if names is None and transformer is not None:
            step = transformer.steps[-1][1]
            if hasattr(step, "columns_"):  # its feature_names_in_ are those of the table, not of its features
                self._source = SimpleNamespace(columns_=step.columns_)
            else:
                with suppress(AttributeError, ValueError):
                    self._names = list(transformer.get_feature_names_out())
        self._has_columns = self._names is None and hasattr(self._source, "columns_")
        self.are_known = self._names is not None or self._has_columns or hasattr(self._source, "feature_names_in_")

    def of_columns(self, columns: Any) -> tuple[list[str], np.ndarray]:
        """Return the names of columns, and the sign with which the first name of each counts there."""
        columns = np.asarray(columns, np.int64)
        if self._names is not None:
            return [str(self._names[column]) for column in columns.tolist()], np.ones(len(columns))
        names, signs = names_of(self._source, columns)
        return list(names), signs

    def of(self, column: int) -> str:
        return self.of_columns([column])[0][0]

    def is_number(self, name: str) -> bool:
        """Return whether a name is only the number of a hashed column whose name is not kept."""
        return self._has_columns and name[:1] == "x" and name[1:].isdecimal()


@dataclass
class Subject:
    """A model and its predictions. Rows count from 0; codes are indices into `labels`."""

    estimator: Any  # the model, or the pipeline that ends in it
    transformer: Any  # the steps of the pipeline before the model, or None
    model: Any
    raw: Any  # X as it was given
    X: Any  # as the model gets it: an array or a CSR matrix
    labels: list[Any]  # the model's classes, then labels that it does not know
    n_known: int  # labels that it knows
    codes: np.ndarray
    predicted: np.ndarray
    scores: np.ndarray  # (n,) for two classes, else (n, n_classes)
    names: FeatureNames
    image_shape: tuple[int, int] | None
    examples: Sequence[Any] | SomeTexts | None
    lines: Sequence[int | str] | None
    origin: Origin
    max_seconds: float
    label_quality: LabelQuality | None = None  # of a model that predicts label sets

    @property
    def has_label_sets(self) -> bool:
        return self.label_quality is not None

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def classes(self) -> list[Any]:
        return self.labels[: self.n_known]

    @property
    def is_correct(self) -> np.ndarray:
        return self.codes == self.predicted

    @property
    def is_known(self) -> np.ndarray:
        """Whether the model knows the label of each example."""
        return self.codes < self.n_known

    @property
    def n_unknown(self) -> int:
        return int((~self.is_known).sum())

    @property
    def is_kernel(self) -> bool:
        return isinstance(self.model, KernelPerceptron)

    @property
    def is_precomputed(self) -> bool:
        """Whether the features are values of a kernel."""
        return self.is_kernel and self.model.kernel == "precomputed"

    @property
    def hashed(self) -> int | None:
        """The number of columns to which features were hashed, if they were."""
        return hashed_columns(self.model, self.transformer)

    @property
    def feature_space(self) -> str | None:
        """What equal rows of X are equal in; None if the model gets the examples as they were given."""
        if self.hashed is not None:
            return "the hashed features"
        return None if self.transformer is None and self.examples is None else "the features that the model gets"

    @property
    def omission(self) -> str:
        """A sentence for parts of the page without the examples whose labels are not known; "" if there are none."""
        if not self.n_unknown:
            return ""
        have, are = ("has a label", "is") if self.n_unknown == 1 else ("have labels", "are")
        return f"{self.n_unknown:,} of the {self.n:,} examples {have} that the model does not know and {are} left out."

    @property
    def has_training_size(self) -> bool:
        """Whether there are as many examples as the model learned from in each epoch."""
        n_epochs = len(getattr(self.model, "history_", None) or [])
        return bool(n_epochs) and round(float(self.model.t_)) == n_epochs * self.n

    @property
    def recipe(self) -> dict[str, Any] | None:
        """How `perceptrons tune` or `selection.recipe` found the model, if they did; files may leave any part out."""
        recipe = getattr(self.model, "recipe_", None)
        return recipe if isinstance(recipe, dict) else None

    @property
    def tuning_sizes(self) -> dict[str, int]:
        """The numbers of examples for training ("train"), validation ("dev") and testing ("test") when it was tuned."""
        return (self.recipe or {}).get("sizes") or {}

    @property
    def n_seen_before(self) -> int:
        """The number of test examples that were also in the training or validation set when it was tuned."""
        twice = (self.recipe or {}).get("twice")
        return twice if isinstance(twice, int) and twice > 0 else 0

    @property
    def was_trained_further(self) -> bool:
        """Whether the model learned after its tuning."""
        return (self.recipe or {}).get("examples_seen", self.model.t_) != self.model.t_

    @cached_property
    def quality(self) -> Quality:
        """The predictions, counted and ranked as `perceptrons evaluate` does."""
        quality, labels = Quality(self.model.classes_), np.empty(len(self.labels), object)
        labels[:] = self.labels
        quality.add(labels, self.codes, self.predicted, self.scores, self.probabilities)
        return quality

    @property
    def probabilities(self) -> np.ndarray | None:
        """The probability of every class, if the model is calibrated."""
        return probabilities(self.model, self.scores)

    @property
    def counts(self) -> np.ndarray:
        """The number of examples with each label."""
        if self.label_quality is not None:
            return self.label_quality.true
        return np.bincount(self.codes, minlength=len(self.labels))

    @property
    def leads(self) -> np.ndarray:
        """By how much the score of the true class leads its best rival; NaN where the label is not known."""
        # scores of two classes count from the model's threshold
        scores = self.scores if self.scores.ndim == 2 else self.scores - (self.model.threshold_ or 0.0)
        return np.where(self.is_known, true_lead(scores, np.where(self.is_known, self.codes, 0)), np.nan)

    def place(self, row: int) -> str:
        """Return line 17, a.tsv:17, or example 17, counted from 1."""
        if self.lines is None:
            return f"example {row + 1:,}"
        line = self.lines[row]
        return f"line {int(line):,}" if isinstance(line, int | np.integer) else str(line)

    def places(self, rows: Sequence[int] | np.ndarray, max_places: int = 8) -> str:
        shown = [self.place(int(row)) for row in list(rows)[:max_places]]
        return ", ".join(shown) + (f" and {len(rows) - max_places:,} more" if len(rows) > max_places else "")

    def known_examples(self) -> tuple[Any, np.ndarray]:
        """Return the examples with labels that the model knows, and their labels."""
        y = np.asarray(self.classes, dtype=self.model.classes_.dtype)
        rows = np.flatnonzero(self.is_known)
        return (self.X if len(rows) == self.n else self.X[rows]), y[self.codes[rows]]

    @cached_property
    def units(self) -> Units:
        """The units of the numbers that were scaled, by the names of their features."""
        return units_of(self.model)

    def format_value(self, name: str, value: float) -> str:
        """Return the value of a feature in the unit of the data, if it was scaled."""
        unit = self.units.get(name)
        return format_number(value) if unit is None else unit.shown(value).replace("-", "\N{MINUS SIGN}")

    def texts(self, rows: list[int]) -> list[str | None]:
        """Return the texts of examples, None where there are none."""
        if self.examples is None:
            return [None] * len(rows)
        if hasattr(self.examples, "fetch"):
            return self.examples.fetch(rows)
        return [str(self.examples[row]) for row in rows]


def make_subject(
    estimator: Any, X: Any, y: Any, *, examples: Any, feature_names: Any, image_shape: Any, lines: Any, origin: Origin,
    max_seconds: float,
) -> Subject:  # fmt: skip
    """Predict the examples, or raise an error that says why there is no report on them."""
    transformer, model = None, estimator
    if isinstance(estimator, Pipeline):
        model = estimator.steps[-1][1]
        transformer = estimator[:-1] if len(estimator.steps) > 1 else None
    _check_model(model)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if not n:
        raise ValueError("There are no examples: give at least one.")
    if examples is None and isinstance(X.iloc[0] if hasattr(X, "iloc") else X[0], str):
        examples = X.tolist() if hasattr(X, "tolist") else X
    for name, values in (("examples", examples), ("lines", lines)):
        if values is not None and hasattr(values, "__len__") and len(values) != n:
            raise ValueError(f"There are {len(values):,} {name} for {n:,} rows of X: give one per row.")
    is_precomputed = isinstance(model, KernelPerceptron) and model.kernel == "precomputed"
    with columns_matched():
        features = X if transformer is None else transformer.transform(X)
        if not is_precomputed:
            features = check_features(model, features)
        scores = np.asarray(model.decision_function(features), np.float64)
        predicted = winners(model, scores)
    classes, label_quality = model.classes_.tolist(), None
    if several_labels(model):
        label_quality = _measure_label_sets(model, y, n, predicted, scores)
        labels, codes = label_quality.labels, np.zeros(n, np.intp)
    else:
        labels, codes = _read_labels(y, n, model.classes_)
        if (codes >= len(classes)).all():
            raise ValueError(
                f"None of the labels ({_list(labels[len(classes) :])}) is a class of the model ({_list(classes)})."
            )
    names = FeatureNames(feature_names, transformer, model, features.shape[1])
    shape = None
    if examples is None and not is_precomputed:
        shape = find_image_shape(image_shape, features, names)
    return Subject(
        estimator, transformer, model, X, features, labels, len(classes), codes, predicted, scores, names, shape,
        examples, lines, origin, max_seconds, label_quality,
    )  # fmt: skip


def _check_model(model: Any) -> None:
    kind = type(model).__name__
    if not isinstance(model, Model):
        raise TypeError(
            f"A report needs a Perceptron or a KernelPerceptron, alone or at the end of a pipeline, not a {kind}."
            + " For taggers, use `perceptrons tag evaluate`." * (kind in ("SequencePerceptron", "StructuredPerceptron"))
        )
    check_is_fitted(model)
    if len(model.classes_) < 2 and not several_labels(model):
        label = model.classes_.tolist()[0]
        raise ValueError(f"This {kind} knows only the class {label!r}: there is nothing to report.")


def _list(labels: list[Any]) -> str:
    return ", ".join(map(repr, labels[:3]))


def _measure_label_sets(model: Any, y: Any, n: int, is_predicted: np.ndarray, scores: np.ndarray) -> LabelQuality:
    """Count the predictions of label sets as `perceptrons evaluate` does."""
    target = read_target(y, n, learner_of(model).form)
    if target.indicator is None:
        raise ValueError(
            "y has one label per example, but this model predicts several: give label sets, or an indicator matrix."
        )
    quality = LabelQuality(model.classes_)
    quality.add(target.classes, sp.csr_matrix(target.indicator), is_predicted, scores)
    if quality.n_unknown and quality.n_unknown == quality.n_labels:
        labels, known = _list(quality.unknown), _list(model.classes_.tolist())
        raise ValueError(f"None of the labels ({labels}) is a label of the model ({known}).")
    return quality


def _read_labels(y: Any, n: int, classes: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Return the classes followed by labels that are none, and the number of every example's label among them."""
    target = read_target(y, n)
    if target.several:
        raise ValueError("y has several labels per example, but this model predicts one: give one label per example.")
    numbering = LabelNumbers(classes)
    return numbering.labels, numbering.numbers(target.classes)[target.codes]


def hashed_columns(model: Any, transformer: Any) -> int | None:
    """Return the number of columns of the narrowest hash before the model; None if there is none that is known."""
    widths = []
    for step in [getattr(model, "columns_", None), *_nested_steps(transformer)]:
        bits = getattr(step, "bits", None)
        if isinstance(step, FeatureHasher | HashingVectorizer):
            widths.append(int(step.n_features))
        elif isinstance(bits, int) and 1 <= bits <= 31:
            widths.append(2**bits)
    return min(widths, default=None)


def _nested_steps(step: Any) -> Iterator[Any]:
    """Yield a transformer and all inside it: steps of pipelines, unions and transformers of columns."""
    yield step
    for name in ("steps", "transformer_list", "transformers"):
        for _, inner, *_ in getattr(step, name, None) or ():
            yield from _nested_steps(inner)


def describe_columns(n_columns: int) -> str:
    """Return for example 1,024 columns (10 bits)."""
    bits = n_columns.bit_length() - 1
    return f"{n_columns:,} columns" + (f" ({count(bits, 'bit')})" if n_columns == 2**bits else "")
