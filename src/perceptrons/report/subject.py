"""The subject of a report: a model, examples, predictions, the names of features, and whether they are pixels."""

import re
from collections.abc import Iterator, Sequence, Sized
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.feature_names import Units, names_of, units_of
from perceptrons.engine.training.labels import read_target
from perceptrons.engine.wording import count
from perceptrons.inspection.evaluation import (
    LabelQuality,
    Quality,
    columns_matched,
    probabilities,
    several_labels,
    winners,
)
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.plots.model_facts import split_pipeline, to_dense
from perceptrons.report.page import format_number
from perceptrons.theory.examples import check_features
from perceptrons.theory.geometry import true_lead

Model = Perceptron | KernelPerceptron
NUMBERED_NAME = re.compile(r"(column |pixel|pix|px|attribute|feature|[a-z])?[ _.]?\d+([x_.-]\d+)?", re.IGNORECASE)
MIN_SIDE, MAX_SIDE = 8, 128
SAMPLE_SIZE = 500
MIN_CORRELATION = 0.3  # of neighbouring pixels; those of a shuffled image have none


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
        if isinstance(names, Sized) and len(names) != n_features:
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


class Subject:
    """A model and its predictions. Rows count from 0.

    Attributes
    ----------
    transformer, model : the steps of a pipeline before the model (None if there are none), and the model
    given, X : X as it was given, and as the model gets it: an array or a CSR matrix
    labels : the model's classes (the first n_known), then labels that it does not know
    codes, predicted : the index of the true label of each example, and that of the predicted class
    scores : of shape (n,) for two classes, else (n, n_classes)
    counts : the number of examples with each label
    quality, probabilities : the predictions, measured, and the probability of every class if the model is calibrated
    is_correct, is_known : of each example, whether the prediction is right, and whether the model knows the label
    label_quality : of a model that predicts label sets, else None; then there are no codes, quality and so on
    hashed : the number of columns to which features were hashed; None if they were not
    feature_space : what equal rows of X are equal in; None if the model gets the examples as they were given
    has_training_size : whether there are as many examples as the model learned from in each epoch
    recipe : how `perceptrons tune` or `selection.recipe` found the model, if they did; files may leave any part out
    tuning_sizes : the numbers of examples for training ("train"), validation ("dev") and testing ("test") then
    n_seen_before : the number of test examples that were also in the training or validation set then
    was_trained_further : whether the model learned after its tuning
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, *, examples: Sequence[Any] | SomeTexts | None, feature_names: Any,
        image_shape: Any, lines: Sequence[int | str] | None, origin: Origin, max_seconds: float,
    ):  # fmt: skip
        """Predict the examples, or raise an error that says why there is no report on them."""
        self.transformer, self.model = split_pipeline(estimator)
        self.origin, self.max_seconds, model = origin, max_seconds, self.model
        _check_model(model)
        n = self.n = X.shape[0] if hasattr(X, "shape") else len(X)
        if not n:
            raise ValueError("There are no examples: give at least one.")
        if examples is None and isinstance(X.iloc[0] if hasattr(X, "iloc") else X[0], str):
            examples = X.tolist() if hasattr(X, "tolist") else X
        for name, values in (("examples", examples), ("lines", lines)):
            if isinstance(values, Sized) and len(values) != n:
                raise ValueError(f"There are {len(values):,} {name} for {n:,} rows of X: give one per row.")
        self.given, self.examples, self.lines = X, examples, lines
        self.is_kernel = isinstance(model, KernelPerceptron)
        self.is_precomputed = self.is_kernel and model.kernel == "precomputed"  # features are values of a kernel
        with columns_matched():
            self.X = X if self.transformer is None else self.transformer.transform(X)
            if not self.is_precomputed:
                self.X = check_features(model, self.X)
            self.scores = np.asarray(model.decision_function(self.X), np.float64)
        self.predicted = winners(model, self.scores)

        self.n_known = len(model.classes_)
        self.label_quality: LabelQuality | None = None
        if several_labels(model):
            self.label_quality = _measure_label_sets(model, y, n, self.predicted, self.scores)
            self.labels, self.codes = self.label_quality.labels, np.zeros(n, np.intp)
            self.counts = self.label_quality.true
        else:
            self.probabilities = probabilities(model, self.scores)
            self.quality, self.codes = _measure(model, y, self.predicted, self.scores, self.probabilities)
            self.labels, self.is_correct = self.quality.labels, self.codes == self.predicted
            self.counts = self.quality.confusion.sum(axis=1)
        self.classes = self.labels[: self.n_known]
        self.is_known = self.codes < self.n_known
        self.n_unknown = int((~self.is_known).sum())

        self.units: Units = units_of(model)  # of the numbers that were scaled, by the names of their features
        self.names = FeatureNames(feature_names, self.transformer, model, self.X.shape[1])
        self.image_shape: tuple[int, int] | None = None
        if examples is None and not self.is_precomputed:
            self.image_shape = find_image_shape(image_shape, self.X, self.names)
        self.hashed = hashed_columns(model, self.transformer)
        self.feature_space: str | None = None
        if self.hashed is not None:
            self.feature_space = "the hashed features"
        elif self.transformer is not None or examples is not None:
            self.feature_space = "the features that the model gets"

        n_epochs = len(getattr(model, "history_", None) or [])
        self.has_training_size = bool(n_epochs) and round(float(model.t_)) == n_epochs * n
        recipe = getattr(model, "recipe_", None)
        self.recipe: dict[str, Any] | None = recipe if isinstance(recipe, dict) else None
        tuning = self.recipe or {}
        self.tuning_sizes: dict[str, int] = tuning.get("sizes") or {}
        n_twice = tuning.get("twice")
        self.n_seen_before = n_twice if isinstance(n_twice, int) and n_twice > 0 else 0
        self.was_trained_further = tuning.get("examples_seen", model.t_) != model.t_

    @property
    def omission(self) -> str:
        """A sentence for parts of the page without the examples whose labels are not known; "" if there are none."""
        if not self.n_unknown:
            return ""
        have, are = ("has a label", "is") if self.n_unknown == 1 else ("have labels", "are")
        return f"{self.n_unknown:,} of the {self.n:,} examples {have} that the model does not know and {are} left out."

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


def _measure(
    model: Model, y: Any, predicted: np.ndarray, scores: np.ndarray, probabilities: np.ndarray | None
) -> tuple[Quality, np.ndarray]:
    """Count the predictions as `perceptrons evaluate` does. Return also the index of each label in `quality.labels`."""
    target = read_target(y, len(predicted))
    if target.several:
        raise ValueError("y has several labels per example, but this model predicts one: give one label per example.")
    quality = Quality(model.classes_)
    quality.add(target.classes, target.codes, predicted, scores, probabilities)
    codes = quality.numbers(target.classes)[target.codes]
    if (codes >= quality.n_known).all():
        unknown, known = _list(quality.unknown), _list(model.classes_.tolist())
        raise ValueError(f"None of the labels ({unknown}) is a class of the model ({known}).")
    return quality, codes


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


# ---- images


def find_image_shape(image_shape: Any, X: Any, names: FeatureNames) -> tuple[int, int] | None:
    """Return rows and columns of the pixels, as given or for "auto" as guessed; None for no images."""
    n_features = X.shape[1]
    if image_shape is None:
        return None
    if isinstance(image_shape, str) and image_shape == "auto":
        return _guess_shape(X, names)
    try:
        rows, columns = (int(side) for side in image_shape)
    except (TypeError, ValueError):
        raise ValueError(f"image_shape={image_shape!r}: give (rows, columns), 'auto' or None.") from None
    if rows < 1 or columns < 1 or rows * columns != n_features:
        raise ValueError(
            f"image_shape={rows}x{columns} has {rows * columns:,} pixels, and there are {n_features:,} features."
        )
    return rows, columns


def _guess_shape(X: Any, names: FeatureNames) -> tuple[int, int] | None:
    """Recognise square images: no negative values, no meaningful names, and similar neighbours."""
    side = round(X.shape[1] ** 0.5)
    if side * side != X.shape[1] or not MIN_SIDE <= side <= MAX_SIDE:
        return None
    if names.are_known and not all(NUMBERED_NAME.fullmatch(name) for name in names.of_columns(range(X.shape[1]))[0]):
        return None
    sample = to_dense(X[np.unique(np.linspace(0, X.shape[0] - 1, SAMPLE_SIZE).astype(int))]).astype(np.float64)
    if sample.min(initial=0) < 0 or not sample.any():
        return None
    images = sample.reshape(-1, side, side)
    neighbours = ((images[:, :, :-1], images[:, :, 1:]), (images[:, :-1], images[:, 1:]))
    return (side, side) if all(_correlation(*pair) > MIN_CORRELATION for pair in neighbours) else None


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the correlation of two arrays; NaN if one of them is constant."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])
