"""The subject of a report: a model, examples, predictions, and the names of everything."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.feature_names import Units, names_of, units_of
from perceptrons.engine.training.labels import read_target
from perceptrons.inspection.evaluation import WHOLE, Quality, columns_matched, probabilities, several_labels, winners
from perceptrons.inspection.label_quality import LabelQuality, LabelTally
from perceptrons.inspection.ranking import ranking_of
from perceptrons.inspection.reliability import Reliability
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.report.images import find_shape
from perceptrons.report.page import short
from perceptrons.theory.examples import check_features
from perceptrons.theory.geometry import true_lead


class Origin(NamedTuple):
    """Where model and data come from: for the part of the page that says how to make it again.

    command : the command line that made the page, or None
    files : what each file is ("model", "data"), its name, and the SHA-256 of its content, or None
    more : are there more examples in the data than the page is about?
    """

    command: str | None = None
    files: tuple[tuple[str, str, str | None], ...] = ()
    more: bool = False


class Names:
    """What features are called: as given, as the model or the step before it knows them, or by their numbers."""

    def __init__(self, given: Any, before: Any, model: Any, width: int):
        self._given, self._knows = given, model
        if given is not None and hasattr(given, "__len__") and len(given) != width:
            raise ValueError(f"There are {len(given):,} feature_names for {width:,} features: give one per feature.")
        if given is None and before is not None:
            last = before.steps[-1][1]
            if hasattr(last, "columns_"):
                self._knows = last
            else:
                try:
                    self._given = list(before.get_feature_names_out())
                except (AttributeError, ValueError):
                    self._given = None
        self.real = self._given is not None or any(
            hasattr(self._knows, name) for name in ("feature_names_in_", "columns_")
        )

    def called(self, columns: Any) -> tuple[list[str], np.ndarray]:
        """The names of these columns, and the sign by which the first name of each counts there."""
        columns = np.asarray(columns, np.int64)
        if self._given is not None:
            return [str(self._given[column]) for column in columns.tolist()], np.ones(len(columns))
        names, signs = names_of(self._knows, columns)
        return list(names), signs

    def is_number(self, name: str) -> bool:
        """Does the name say no more than which column it is? So it is where columns are hashed and it was forgotten."""
        return hasattr(self._knows, "columns_") and self._given is None and name[:1] == "x" and name[1:].isdecimal()

    def of(self, column: int) -> str:
        return self.called([column])[0][0]


@dataclass
class Subject:
    """The model and its answers. Rows count from 0; codes are numbers of `labels`."""

    estimator: Any  # as it was given, perhaps a pipeline
    before: Any  # the steps of the pipeline before the model, or None
    model: Any
    given: Any  # X as it was given
    X: Any  # as the model gets it: an array or a CSR matrix
    labels: list[Any]  # the model's classes, then labels that it does not know
    known: int  # how many it knows
    codes: np.ndarray
    predicted: np.ndarray
    scores: np.ndarray  # (n,) for two classes, else (n, classes)
    names: Names
    image_shape: tuple[int, int] | None
    examples: Any  # texts, by row, or None
    lines: Sequence[Any] | None
    origin: Origin
    max_seconds: float

    several = False  # may an example have several labels?

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def classes(self) -> list[Any]:
        return self.labels[: self.known]

    @property
    def right(self) -> np.ndarray:
        return self.codes == self.predicted

    @property
    def is_kernel(self) -> bool:
        return isinstance(self.model, KernelPerceptron)

    @property
    def is_known(self) -> np.ndarray:
        """Of which examples does the model know the label?"""
        return self.codes < self.known

    @property
    def precomputed(self) -> bool:
        """Are the features kernel values?"""
        return self.is_kernel and self.model.kernel == "precomputed"

    @property
    def hashed(self) -> int | None:
        """To how many columns features were hashed, if they were."""
        return hashed_columns(self.model, self.before)

    def left_out(self) -> str:
        """Said where examples with labels that the model does not know have no place; "" if there are none."""
        strange = int((~self.is_known).sum())
        if not strange:
            return ""
        have, are = ("has a label", "is") if strange == 1 else ("have labels", "are")
        return f"{strange:,} of the {self.n:,} examples {have} that the model does not know and {are} left out."

    @property
    def quality(self) -> Quality:
        """The answers, counted and ranked as `perceptrons evaluate` does."""
        K = len(self.labels)
        confusion = np.bincount(self.codes * K + self.predicted, minlength=K * K).reshape(K, K)
        ranking = ranking_of(self.codes[self.is_known], self.scores[self.is_known])
        return Quality(self.labels, self.known, confusion, ranking, reliability=self.reliability)

    @property
    def reliability(self) -> Reliability | None:
        """How good the probabilities are, if the model is calibrated."""
        if (shares := self.probabilities) is None:
            return None
        found = Reliability()
        found.add(self.codes[self.is_known], shares[self.is_known])
        return found

    @property
    def probabilities(self) -> np.ndarray | None:
        """Of every class, if the model is calibrated."""
        return probabilities(self.model, self.scores)

    def counts(self) -> np.ndarray:
        """How many examples each label has."""
        return np.bincount(self.codes, minlength=len(self.labels))

    def leads(self) -> np.ndarray:
        """By how much the score of the true class leads its best rival; NaN where the label is not known."""
        codes = np.where(self.is_known, self.codes, 0)
        return np.where(self.is_known, true_lead(self.from_threshold, codes), np.nan)

    @property
    def from_threshold(self) -> np.ndarray:
        """The scores; of two classes counted from the threshold that the model answers by."""
        return self.scores if self.scores.ndim == 2 else self.scores - (self.model.threshold_ or 0.0)

    def place(self, row: int) -> str:
        """line 17, a.tsv:17, or example 17, counted from 1."""
        if self.lines is None:
            return f"example {row + 1:,}"
        line = self.lines[row]
        return f"line {int(line):,}" if isinstance(line, int | np.integer) else str(line)

    def places(self, rows: Any, at_most: int = 8) -> str:
        """Several of them in words."""
        shown = [self.place(int(row)) for row in list(rows)[:at_most]]
        return ", ".join(shown) + (f" and {len(rows) - at_most:,} more" if len(rows) > at_most else "")

    def known_part(self) -> tuple[Any, np.ndarray]:
        """The examples with labels that the model knows, and these."""
        y = np.asarray(self.classes, dtype=self.model.classes_.dtype)
        keep = self.is_known
        if keep.all():
            return self.X, y[self.codes]
        return self.X[np.flatnonzero(keep)], y[self.codes[keep]]

    @cached_property
    def units(self) -> Units:
        """The units of the numbers that were scaled, by the names of their features."""
        return units_of(self.model)

    def value(self, name: str, value: float) -> str:
        """The value of a feature in words, as the data have it if it was scaled."""
        unit = self.units.get(name)
        return short(value) if unit is None else unit.shown(value).replace("-", "\N{MINUS SIGN}")

    def texts(self, rows: list[int]) -> list[str | None]:
        """The texts of these examples, None where there are none."""
        if self.examples is None:
            return [None] * len(rows)
        if hasattr(self.examples, "fetch"):
            return self.examples.fetch(rows)
        return [str(self.examples[row]) for row in rows]


@dataclass
class SeveralSubject(Subject):
    """A model of several labels and its answers: the numbers of labels are those of columns, not of examples."""

    labelled: LabelQuality | None = None
    several = True

    @property
    def sets(self) -> LabelQuality:
        assert self.labelled is not None
        return self.labelled

    def counts(self) -> np.ndarray:
        """How many examples have each label."""
        return self.sets.counts.true


def judged(model: Any, y: Any, n: int, flags: np.ndarray, scores: np.ndarray) -> LabelQuality:
    """The answers, counted as `perceptrons evaluate` does."""
    target = read_target(y, n, learner_of(model).form)
    if target.indicator is None:
        raise ValueError(
            "y has one label per example, but this model predicts several: give label sets, or an indicator matrix."
        )
    tally = LabelTally(model.classes_)
    tally.add_sets(target.classes, sp.csr_matrix(target.indicator), flags, scores)
    quality = tally.label_quality()
    if quality.n_unknown and quality.n_unknown == quality.n_labels:
        shown_labels, known = (", ".join(map(repr, part[:3])) for part in (quality.unknown, model.classes_.tolist()))
        raise ValueError(f"None of the labels ({shown_labels}) is a label of the model ({known}).")
    return quality


def subject_of(
    estimator: Any, X: Any, y: Any, *, examples: Any, feature_names: Any, image_shape: Any, lines: Any, origin: Origin,
    max_seconds: float,
) -> Subject:  # fmt: skip
    """Ask the model, or say why it cannot be reported on."""
    before, model = None, estimator
    if isinstance(estimator, Pipeline):
        model = estimator.steps[-1][1]
        before = estimator[:-1] if len(estimator.steps) > 1 else None
    check_model(model)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if not n:
        raise ValueError("There are no examples: give at least one.")
    if examples is None and isinstance(X.iloc[0] if hasattr(X, "iloc") else X[0], str):
        examples = X.tolist() if hasattr(X, "tolist") else X
    for name, given in (("examples", examples), ("lines", lines)):
        if given is not None and hasattr(given, "__len__") and len(given) != n:
            raise ValueError(f"There are {len(given):,} {name} for {n:,} rows of X: give one per row.")
    with columns_matched():
        inside = X if before is None else before.transform(X)
        if not (isinstance(model, KernelPerceptron) and model.kernel == "precomputed"):
            inside = check_features(model, inside)
        scores = np.asarray(model.decision_function(inside), np.float64)
        won = winners(model, scores)
    classes = model.classes_.tolist()
    labelled = judged(model, y, n, won, scores) if several_labels(model) else None
    labels, codes = read_labels(y, n, classes) if labelled is None else (labelled.labels, np.zeros(n, np.intp))
    if (codes >= len(classes)).all():
        shown = ", ".join(map(repr, labels[len(classes) :][:3]))
        raise ValueError(f"None of the labels ({shown}) is a class of the model ({', '.join(map(repr, classes[:3]))}).")
    names = Names(feature_names, before, model, inside.shape[1])
    shape = None
    if not isinstance(model, KernelPerceptron) or model.kernel != "precomputed":
        shape = find_shape(image_shape, inside, names) if examples is None else None
    subject = Subject(
        estimator, before, model, X, inside, labels, len(classes), codes, won, scores, names, shape, examples, lines,
        origin, max_seconds,
    )  # fmt: skip
    return subject if labelled is None else SeveralSubject(**vars(subject), labelled=labelled)


def check_model(model: Any) -> None:
    """Refuse what a page cannot be about."""
    kind = type(model).__name__
    if not isinstance(model, Perceptron | KernelPerceptron):
        raise TypeError(
            f"A report needs a Perceptron or a KernelPerceptron, alone or at the end of a pipeline, not a {kind}."
            + " For taggers, use `perceptrons tag evaluate`." * (kind in ("SequencePerceptron", "StructuredPerceptron"))
        )
    check_is_fitted(model)
    if len(model.classes_) < 2 and not several_labels(model):
        raise ValueError(
            f"This {kind} knows only the class {model.classes_.tolist()[0]!r}: there is nothing to report."
        )


def read_labels(y: Any, n: int, classes: list[Any]) -> tuple[list[Any], np.ndarray]:
    """The classes and behind them labels that are none; and the number of every example's label among them.

    Labels are compared as they are, then as they are written: files may not say whether 1 is a number.
    """
    target = read_target(y, n)
    if target.several:
        raise ValueError("y has several labels per example, but this model predicts one: give one label per example.")
    labels = list(classes)
    places: dict[Any, int] = {}
    for place, label in enumerate(classes):
        places.setdefault(str(label), place)
    for place, label in enumerate(classes):
        places[label] = place
    whole = all(isinstance(label, int) for label in classes)
    found = []
    for label in target.classes.tolist():
        key = label
        if whole and isinstance(label, str) and WHOLE.fullmatch(label):
            key = int(label.partition(".")[0])  # +1 is 1
        place = places.get(key, places.get(str(key), len(labels)))
        labels += [label] * (place == len(labels))
        found.append(place)
    return labels, np.asarray(found, np.intp)[target.codes]


def hashed_columns(model: Any, before: Any) -> int | None:
    """The columns of the narrowest hash on the way to the model; None if there is none that is known."""
    widths = [_width(step) for step in _steps(before)]
    widths.append(_power(getattr(getattr(model, "columns_", None), "bits", None)))
    return min((width for width in widths if width is not None), default=None)


def in_bits(columns: int) -> str:
    """1,024 columns (10 bits)."""
    bits = columns.bit_length() - 1
    return f"{columns:,} columns" + (f" ({bits} bit{'s' * (bits != 1)})" if columns == 2**bits else "")


def _steps(part: Any) -> Iterator[Any]:
    """A transformer and all inside it: of pipelines, unions and transformers of columns."""
    yield part
    for name in ("steps", "transformer_list", "transformers"):
        for _, inside, *_ in getattr(part, name, None) or ():
            yield from _steps(inside)


def _width(step: Any) -> int | None:
    if isinstance(step, FeatureHasher | HashingVectorizer):
        return int(step.n_features)
    return _power(getattr(step, "bits", None))


def _power(bits: Any) -> int | None:
    return 2**bits if isinstance(bits, int) and 1 <= bits <= 31 else None
