"""The quality of predictions: metrics, precision, recall and F1 of every class, and confusions between classes.

`Quality` is for one label per example, `LabelQuality` for several. A `Tally` counts predictions as they come.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.base import Classifier, has_learned, learner_of
from perceptrons.engine.wording import count, short
from perceptrons.inspection.metrics import (
    LABEL_METRICS,
    METRICS,
    MOST_SCORES,
    TOP,
    KeptScores,
    LabelCounts,
    Ranking,
    all_metrics,
    shown,
)
from perceptrons.inspection.reliability import Reliability

HISTOGRAM_BINS = 10
MAX_UNKNOWN_LABELS = 1000  # more are no classes, but the wrong column
MAX_SCORES_AT_ONCE = 2**24
LABEL_SET_METRICS = ("f1_micro", "f1_macro", "hamming_loss", "accuracy")
PRECISIONS_AT_K = tuple(f"precision_at_{k}" for k in TOP)
WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9]\d{0,17})(\.0*)?", re.ASCII)  # not 007, whose zeros count


@dataclass
class Quality:
    """The quality of predictions of one label per example.

    labels: the classes of the model, then labels that it does not know; known: the number of the former. confusion:
    true class by predicted class. ranking, reliability: of the scores and probabilities of examples whose labels the
    model knows, if they were measured. too_many: there were too many scores to store them.
    """

    labels: list[Any]
    known: int
    confusion: np.ndarray
    ranking: Ranking | None = None
    too_many: bool = False
    reliability: Reliability | None = None

    @property
    def total(self) -> int:
        return int(self.confusion.sum())

    @property
    def right(self) -> int:
        return int(self.confusion.trace())

    @property
    def accuracy(self) -> float:
        return self.right / self.total

    def metrics(self) -> dict[str, float | None]:
        """Return every metric of the table by name; None if it is not defined."""
        return all_metrics(self.confusion, self.known, self.ranking, self.reliability)

    @property
    def commonest(self) -> tuple[Any, float]:
        """Return the most frequent label, and its share: the accuracy of always predicting it."""
        counts = self.confusion.sum(axis=1)
        return self.labels[int(counts.argmax())], float(counts.max() / self.total)

    @property
    def unknown(self) -> list[Any]:
        """Return the labels that the model does not know."""
        return self.labels[self.known :]

    @property
    def n_unknown(self) -> int:
        """Return the number of examples with such labels, which count as mistakes."""
        return int(self.confusion[self.known :].sum())

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        curve, names = None, ("probability", "share", "examples")
        if self.reliability is not None:
            curve = [dict(zip(names, point, strict=True)) for point in self.reliability.curve()]
        return {
            "examples": self.total, "right": self.right, **self.metrics(), "reliability": curve,
            "commonest_class_share": self.commonest[1], "by_class": self.by_class(), "labels": self.labels,
            "unknown_labels": self.unknown, "confusion": self.confusion.tolist(),
        }  # fmt: skip

    def by_class(self) -> list[dict[str, Any]]:
        """Return a row per class with precision, recall and F1, which are None for 0/0."""
        counts = (self.confusion.diagonal(), self.confusion.sum(axis=1), self.confusion.sum(axis=0))
        return [
            {"class": label, "count": n_true, **_precision_recall_f1(n_right, n_true, n_predicted)}
            for label, n_right, n_true, n_predicted in zip(
                self.labels, *(part.tolist() for part in counts), strict=True
            )
        ]

    def confusions(self) -> list[tuple[Any, Any, int]]:
        """Return (true, predicted, count) of the mistakes, the most frequent first."""
        mistakes = np.where(np.eye(len(self.labels), dtype=bool), 0, self.confusion)
        order = np.argsort(-mistakes, axis=None, kind="stable")[: np.count_nonzero(mistakes)]
        places = zip(*(part.tolist() for part in np.unravel_index(order, mistakes.shape)), strict=True)
        return [(self.labels[i], self.labels[j], int(mistakes[i, j])) for i, j in places]


def _precision_recall_f1(n_right: int, n_true: int, n_predicted: int) -> dict[str, float | None]:
    return {
        "precision": n_right / n_predicted if n_predicted else None,
        "recall": n_right / n_true if n_true else None,
        "f1": 2 * n_right / (n_true + n_predicted) if n_true + n_predicted else None,
    }


class Tally:
    """Counts true and predicted labels as they come. Labels that the model does not know are mistakes."""

    def __init__(self, classes: np.ndarray):
        self.labels = classes.tolist()
        self.known = len(self.labels)
        self._whole = classes.dtype.kind in "iu"
        self._places = {key: k for k, label in enumerate(self.labels) for key in (str(label), label)}
        self._rows: list[Any] = []
        self._scores: KeptScores | None = None
        self._reliability: Reliability | None = None

    def add(
        self, labels: np.ndarray, codes: np.ndarray, predicted: np.ndarray, scores: Any = None,
        probabilities: Any = None,
    ) -> None:  # fmt: skip
        """Add examples. codes: the number of each true label among `labels`. predicted: the numbers of the classes.

        scores: of `decision_function`, for the ranking. probabilities: of `predict_proba`.
        """
        table = np.bincount(codes * self.known + predicted, minlength=len(labels) * self.known)
        places = np.full(len(labels), -1)
        for k, (label, row) in enumerate(zip(labels.tolist(), table.reshape(-1, self.known), strict=True)):
            if row.any():
                place = places[k] = self.place(label)
                self._rows += [np.zeros(self.known, np.int64) for _ in range(len(self._rows), place + 1)]
                self._rows[place] += row
        if scores is not None:
            self._scores = self._scores or KeptScores()
            known = (places < self.known)[codes]
            self._scores.add(places[codes][known].astype(np.int32), np.asarray(scores, np.float64)[known])
        if probabilities is not None:
            self._reliability = self._reliability or Reliability()
            known = (places < self.known)[codes]
            self._reliability.add(places[codes][known], probabilities[known])
        self._check_unknown()

    def _check_unknown(self) -> None:
        if len(self.labels) > self.known + MAX_UNKNOWN_LABELS:
            some = ", ".join(short(str(label)) for label in self.labels[-3:])
            raise ValueError(
                f"There are more than {MAX_UNKNOWN_LABELS:,} labels that the model does not know, such as {some}: "
                "name the right column with --label-column."
            )

    def place(self, label: Any) -> int:
        """Return the number of a label; a new one gets the next number.

        Labels are compared as they are, then as they are written: files may not say whether 1 is a number.
        """
        if self._whole and isinstance(label, str) and WHOLE_NUMBER.fullmatch(label):
            label = int(label.partition(".")[0])  # +1 is 1
        place = self._places.get(label, self._places.get(str(label)))
        if place is None:
            place = self._places[label] = len(self.labels)
            self.labels.append(label)
        return place

    def quality(self) -> Quality:
        """Return the quality of the examples so far."""
        confusion = np.zeros((len(self.labels), len(self.labels)), np.int64)
        for place, row in enumerate(self._rows):
            confusion[place, : self.known] = row
        kept = self._scores
        ranking = None if kept is None or kept.too_many else kept.ranking()
        too_many = kept is not None and kept.too_many
        return Quality(self.labels, self.known, confusion, ranking, too_many, self._reliability)


def several_labels(model: Any) -> bool:
    """Return whether a model predicts any number of labels per example; False for models of other libraries."""
    return isinstance(model, Classifier) and has_learned(model) and learner_of(model).form != "single"


def is_calibrated(model: Any) -> bool:
    """Return whether the scores of a fitted model can become probabilities."""
    return isinstance(model, Classifier) and learner_of(model).calibration is not None


@contextmanager
def columns_matched() -> Iterator[None]:
    """Predict without the warnings of scikit-learn about column names: the caller has matched the columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X (does not have valid|has) feature names")
        yield


def winners(model: Any, scores: np.ndarray) -> np.ndarray:
    """Return the number of the predicted class for each row of scores; for several labels, a flag for each."""
    return learner_of(model).winners(scores, getattr(model, "zero_score", "mistake"))


def answered(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for examples, with their scores."""
    with columns_matched():
        scores = model.decision_function(X)
    return winners(model, scores), scores


def probabilities(model: Any, scores: np.ndarray) -> np.ndarray | None:
    """Return the probabilities for scores of `decision_function`; None if the model is not calibrated."""
    calibration = learner_of(model).calibration
    return None if calibration is None else calibration.of(scores)


def measure(classes: np.ndarray, y: Any, predicted: np.ndarray, scores: Any = None, probable: Any = None) -> Quality:
    """Compare true labels with the numbers of the predicted classes.

    scores: of `decision_function`, for the ranking. probable: of `predict_proba`, if the model is calibrated.
    """
    tally = Tally(classes)
    tally.add(*np.unique(y, return_inverse=True), predicted, scores, probable)
    return tally.quality()


def measure_blocks(model: Any, blocks: Iterable[Any]) -> Quality | None:
    """Compare the predictions of a model with the labels of blocks; None if there are no examples."""
    tally = Tally(model.classes_)
    for block in blocks:
        predicted, scores = answered(model, block.X)
        tally.add(block.classes, block.codes, predicted, scores, probabilities(model, scores))
    quality = tally.quality()
    return quality if quality.total else None


def beside(quality: Quality) -> str:
    """Return the counts behind an accuracy, and the accuracy of always predicting the most frequent label."""
    label, share = quality.commonest
    baseline = f"always predicting {short(str(label), 16)} would give {100 * share:.1f}%"
    return f"{quality.right:,} of {quality.total:,}; {baseline}"


def is_no_better_than_majority(qualities: Sequence[Quality]) -> bool:
    """Return whether always predicting the most frequent label is as accurate, and not every prediction is right."""
    right, total = (sum(getattr(quality, name) for quality in qualities) for name in ("right", "total"))
    commonest = sum(int(quality.confusion.sum(axis=1).max()) for quality in qualities)
    return right <= commonest and right < total


def metrics_in_words(quality: Quality, *names: str) -> str:
    """Return metrics as text: "balanced accuracy 93.1%, macro F1 92.8%". Undefined ones are left out.

    F1 is that of the second of two classes, otherwise the mean over the classes.
    """
    values, parts = quality.metrics(), []
    for name in names:
        name = "f1_macro" if name == "f1" and quality.known != 2 else name
        value = values[name]
        if value is not None:
            of = f" of {short(str(quality.labels[1]), 16)}" if METRICS[name].binary else ""
            parts.append(f"{METRICS[name].title}{of} {shown(name, value)}")
    return ", ".join(parts)


def unranked(quality: Quality) -> str:
    """Return why there is no ROC AUC although there are scores; "" if there is one."""
    if not quality.too_many:
        return ""
    limit = count(MOST_SCORES, "score")
    return f"ROC AUC and average precision are not computed: at most {limit} are stored while data are read."


def histogram(shares: np.ndarray) -> np.ndarray:
    """Return the number of shares in each tenth of 0 to 1."""
    bins = np.minimum((shares * HISTOGRAM_BINS + 1e-9).astype(np.intp), HISTOGRAM_BINS - 1)
    return np.bincount(bins, minlength=HISTOGRAM_BINS)


# ---- several labels per example


@dataclass
class LabelQuality:
    """The quality of predictions of several labels per example.

    labels: those of the model, then labels that it does not know; known: the number of the former.
    """

    labels: list[Any]
    known: int
    counts: LabelCounts

    too_many = False

    @property
    def total(self) -> int:
        return self.counts.n

    @property
    def right(self) -> int:
        """Return the number of examples whose label set is predicted exactly."""
        return self.counts.exact

    @property
    def accuracy(self) -> float:
        return self.right / self.total

    @property
    def unknown(self) -> list[Any]:
        return self.labels[self.known :]

    @property
    def n_unknown(self) -> int:
        """Return how often examples have labels that the model does not know."""
        return int(self.counts.true[self.known :].sum())

    @property
    def n_labels(self) -> int:
        """Return the number of labels of all examples together."""
        return int(self.counts.true.sum())

    def metrics(self) -> dict[str, float | None]:
        """Return every metric of both tables by name; None if it is not defined for several labels."""
        return dict.fromkeys(METRICS) | {
            name: metric.of(self.counts) for name, metric in LABEL_METRICS.items() if metric.of
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {
            "examples": self.total, "right": self.right, **self.metrics(), "by_class": self.by_class(),
            "labels": self.labels, "unknown_labels": self.unknown,
        }  # fmt: skip

    def by_class(self) -> list[dict[str, Any]]:
        """Return a row per label with precision, recall and F1, which are None for 0/0."""
        counts = zip(self.labels, *(part.tolist() for part in self.counts[:3]), strict=True)
        return [
            {"class": label, "count": n_true, "predicted": n_predicted,
             **_precision_recall_f1(n_right, n_true, n_predicted)}
            for label, n_right, n_true, n_predicted in counts
        ]  # fmt: skip


class LabelTally(Tally):
    """Counts true and predicted label sets as they come. Labels that the model does not know count as missed."""

    def __init__(self, classes: np.ndarray):
        super().__init__(classes)
        self._hit, self._predicted = np.zeros((2, self.known), np.int64)
        self._true = np.zeros(self.known, np.int64)
        self._n = self._exact = 0
        self._top = dict.fromkeys(TOP, 0)

    def add_sets(self, labels: np.ndarray, y: sp.csr_matrix, flags: np.ndarray, scores: np.ndarray) -> None:
        """Add examples. labels: of the columns of y, an indicator matrix. flags, scores: of the labels of the model."""
        places = np.array([self.place(label) for label in labels.tolist()], np.intp)
        self._check_unknown()
        self._true = np.pad(self._true, (0, len(self.labels) - len(self._true)))
        np.add.at(self._true, places[y.indices], 1)
        inside = places[y.indices] < self.known
        rows = np.repeat(np.arange(y.shape[0]), np.diff(y.indptr))
        truth = np.zeros((y.shape[0], self.known), bool)
        truth[rows[inside], places[y.indices[inside]]] = True
        flags = flags.astype(bool)
        has_unknown = np.bincount(rows[~inside], minlength=y.shape[0]) > 0
        self._hit += (truth & flags).sum(axis=0)
        self._predicted += flags.sum(axis=0)
        self._exact += int(((truth == flags).all(axis=1) & ~has_unknown).sum())
        best = np.argsort(-scores, axis=1, kind="stable")[:, : max(TOP)]
        hits = np.take_along_axis(truth, best, axis=1)
        for k in TOP:
            self._top[k] += int(hits[:, :k].sum())
        self._n += y.shape[0]

    def label_quality(self) -> LabelQuality:
        """Return the quality of the examples so far."""
        n = len(self.labels)
        hit, true, predicted = (np.pad(part, (0, n - len(part))) for part in (self._hit, self._true, self._predicted))
        counts = LabelCounts(hit, true, predicted, self._n, self._exact, dict(self._top), self.known)
        return LabelQuality(self.labels, self.known, counts)


def measure_sets(
    model: Any, X: Any, y: sp.csr_matrix, labels: np.ndarray, tally: LabelTally | None = None
) -> LabelQuality:
    """Compare the predictions of a model with label sets, in chunks, since there may be many labels."""
    tally = LabelTally(model.classes_) if tally is None else tally
    size = max(1, MAX_SCORES_AT_ONCE // max(1, len(model.classes_)))
    for begin in range(0, y.shape[0], size):
        part = slice(begin, begin + size)
        tally.add_sets(labels, y[part], *answered(model, X if size >= y.shape[0] else X[part]))
    return tally.label_quality()


def measure_set_blocks(model: Any, blocks: Any) -> LabelQuality | None:
    """Do the same for blocks of examples; None if there are none."""
    tally = LabelTally(model.classes_)
    for block in blocks:
        measure_sets(model, block.X, block.y, block.classes, tally)
    quality = tally.label_quality()
    return quality if quality.total else None


def sets_in_words(quality: LabelQuality, *names: str) -> str:
    """Return metrics as text: "micro F1 65.1%, macro F1 64.2%". Undefined ones are left out."""
    values = quality.metrics()
    parts = [(LABEL_METRICS[name].title, name, values[name]) for name in names]
    return ", ".join(f"{title} {shown(name, value)}" for title, name, value in parts if value is not None)
