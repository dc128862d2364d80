"""The quality of predictions: metrics, precision, recall and F1 of every class, and confusions between classes.

`Quality` is for one label per example, `LabelQuality` for several. Both count predictions as they come.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.base import Classifier, has_learned, learner_of
from perceptrons.engine.wording import count, short
from perceptrons.inspection.metrics import (
    ANSWERS,
    LABEL_METRICS,
    METRICS,
    MOST_SCORES,
    PRECISION_RANKS,
    SCORES,
    Facts,
    Measure,
    Ranking,
    Reliability,
    ScoreBuffer,
    counts_of,
    format_metric,
)

HISTOGRAM_BINS = 10
MAX_UNKNOWN_LABELS = 1000  # more are no classes, but the wrong column
MAX_SCORES_AT_ONCE = 2**24
LABEL_SET_METRICS = ("f1_micro", "f1_macro", "hamming_loss", "accuracy")
PRECISIONS_AT_K = tuple(f"precision_at_{k}" for k in PRECISION_RANKS)
WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9]\d{0,17})(\.0*)?", re.ASCII)  # not 007, whose zeros count


class LabelNumbers:
    """Numbers the labels of data: first those of the model, then labels that it does not know, as they come.

    Labels are compared as they are, then as they are written: files may not say whether 1 is a number.
    """

    def __init__(self, classes: np.ndarray):
        self.labels: list[object] = classes.tolist()
        self.n_known = len(self.labels)
        self._is_whole = classes.dtype.kind in "iu"
        self._numbers = {key: k for k, label in enumerate(self.labels) for key in (str(label), label)}

    def numbers(self, labels: np.ndarray) -> np.ndarray:
        """Return the number of each label; a new one gets the next number."""
        return np.array([self._number(label) for label in labels.tolist()], np.intp)

    def _number(self, label: object) -> int:
        if self._is_whole and isinstance(label, str) and WHOLE_NUMBER.fullmatch(label):
            label = int(label.partition(".")[0])  # +1 is 1
        number = self._numbers.get(label, self._numbers.get(str(label)))
        if number is None:
            number = self._numbers[label] = len(self.labels)
            self.labels.append(label)
        return number

    @property
    def unknown(self) -> list[object]:
        """Return the labels that the model does not know."""
        return self.labels[self.n_known :]

    def check_unknown(self) -> None:
        """Raise ValueError if there are too many labels that the model does not know."""
        if len(self.labels) > self.n_known + MAX_UNKNOWN_LABELS:
            some = ", ".join(short(str(label)) for label in self.labels[-3:])
            raise ValueError(
                f"There are more than {MAX_UNKNOWN_LABELS:,} labels that the model does not know, such as {some}: "
                "name the right column with --label-column."
            )


class Quality(LabelNumbers):
    """The quality of predictions of one label per example. Labels that the model does not know are mistakes.

    confusion: true class by predicted class. reliability: of the probabilities of examples whose labels the model
    knows; None if there are none.
    """

    def __init__(self, classes: np.ndarray):
        super().__init__(classes)
        self.confusion = np.zeros((self.n_known, self.n_known), np.int64)
        self.reliability: Reliability | None = None
        self._scores: ScoreBuffer | None = None
        self._ranking: Ranking | None = None

    def add(
        self, labels: np.ndarray, codes: np.ndarray, predicted: np.ndarray, scores: Any = None,
        probabilities: Any = None,
    ) -> None:  # fmt: skip
        """Add examples. codes: the number of each true label among `labels`. predicted: the numbers of the classes.

        scores: of `decision_function`, for the ranking. probabilities: of `predict_proba`.
        """
        is_used = np.bincount(codes, minlength=len(labels)) > 0
        numbers = np.full(len(labels), -1, np.intp)
        numbers[is_used] = self.numbers(labels[is_used])
        self.check_unknown()
        if n_new := len(self.labels) - len(self.confusion):
            self.confusion = np.pad(self.confusion, (0, n_new))
        true = numbers[codes]
        is_known = true < self.n_known
        np.add.at(self.confusion, (true, predicted), 1)
        if scores is not None:
            self._scores, self._ranking = self._scores or ScoreBuffer(), None
            self._scores.add(true[is_known].astype(np.int32), np.asarray(scores, np.float64)[is_known])
        if probabilities is not None:
            self.reliability = self.reliability or Reliability()
            self.reliability.add(true[is_known], probabilities[is_known])

    @property
    def total(self) -> int:
        return int(self.confusion.sum())

    @property
    def right(self) -> int:
        return int(self.confusion.trace())

    @property
    def accuracy(self) -> float:
        return self.right / self.total

    @property
    def too_many(self) -> bool:
        """Whether there were too many scores to store them."""
        return self._scores is not None and self._scores.too_many

    @property
    def ranking(self) -> Ranking | None:
        """Return the areas below the curves of the scores; None if there are no scores, or too many."""
        if self._ranking is None and self._scores is not None:
            self._ranking = self._scores.ranking()
        return self._ranking

    def metrics(self) -> dict[str, float | None]:
        """Return every metric of the table by name; None if it is not defined."""
        counts = counts_of(self.confusion)
        values: dict[str, float | None] = {}
        for name, measure in METRICS.items():
            if measure.needs == ANSWERS:
                is_defined = self.n_known == 2 or not measure.binary
                values[name] = float(measure.of(counts)) if measure.of is not None and is_defined else None
            else:
                values[name] = getattr(self.ranking if measure.needs == SCORES else self.reliability, name, None)
        return values

    @property
    def commonest(self) -> tuple[object, float]:
        """Return the most frequent label, and its share: the accuracy of always predicting it."""
        counts = self.confusion.sum(axis=1)
        return self.labels[int(counts.argmax())], float(counts.max() / self.total)

    @property
    def n_unknown(self) -> int:
        """Return the number of examples with labels that the model does not know, which count as mistakes."""
        return int(self.confusion[self.n_known :].sum())

    def to_dict(self) -> Facts:
        """Return everything, for JSON."""
        curve, names = None, ("probability", "share", "examples")
        if self.reliability is not None:
            curve = [dict(zip(names, point, strict=True)) for point in self.reliability.curve()]
        return {
            "examples": self.total, "right": self.right, **self.metrics(), "reliability": curve,
            "commonest_class_share": self.commonest[1], "by_class": self.by_class(), "labels": self.labels,
            "unknown_labels": self.unknown, "confusion": self.confusion.tolist(),
        }  # fmt: skip

    def by_class(self) -> list[Facts]:
        """Return a row per class with precision, recall and F1, which are None for 0/0."""
        counts = (self.confusion.diagonal(), self.confusion.sum(axis=1), self.confusion.sum(axis=0))
        return [
            {"class": label, "count": n_true, **_precision_recall_f1(n_right, n_true, n_predicted)}
            for label, n_right, n_true, n_predicted in zip(
                self.labels, *(part.tolist() for part in counts), strict=True
            )
        ]

    def confusions(self) -> list[tuple[object, object, int]]:
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


class LabelQuality(LabelNumbers):
    """The quality of predictions of several labels per example. Labels that the model does not know count as missed.

    hit, true, predicted: how often each label is predicted correctly, is true, and is predicted. total: the number of
    examples. right: examples whose label set is predicted exactly. n_hits_at: for each k, how many of the k labels with
    the highest scores are true, over all examples.
    """

    too_many = False

    def __init__(self, classes: np.ndarray):
        super().__init__(classes)
        self.hit, self.true, self.predicted = np.zeros((3, self.n_known), np.int64)
        self.total = self.right = 0
        self.n_hits_at = dict.fromkeys(PRECISION_RANKS, 0)

    def add(self, labels: np.ndarray, y: sp.csr_matrix, flags: np.ndarray, scores: np.ndarray) -> None:
        """Add examples. labels: of the columns of y, an indicator matrix. flags, scores: of the labels of the model."""
        n, numbers = y.shape[0], self.numbers(labels)[y.indices]
        self.check_unknown()
        n_new = len(self.labels) - len(self.true)
        self.hit, self.true, self.predicted = (
            np.pad(part, (0, n_new)) for part in (self.hit, self.true, self.predicted)
        )
        np.add.at(self.true, numbers, 1)
        is_known, rows = numbers < self.n_known, np.repeat(np.arange(n), np.diff(y.indptr))
        truth, flags = np.zeros((n, self.n_known), bool), flags.astype(bool)
        truth[rows[is_known], numbers[is_known]] = True
        has_unknown = np.bincount(rows[~is_known], minlength=n) > 0
        self.hit[: self.n_known] += (truth & flags).sum(axis=0)
        self.predicted[: self.n_known] += flags.sum(axis=0)
        self.right += int(((truth == flags).all(axis=1) & ~has_unknown).sum())
        best = np.argsort(-scores, axis=1, kind="stable")[:, : max(PRECISION_RANKS)]
        hits = np.take_along_axis(truth, best, axis=1)
        for k in PRECISION_RANKS:
            self.n_hits_at[k] += int(hits[:, :k].sum())
        self.total += n

    @property
    def accuracy(self) -> float:
        return self.right / self.total if self.total else 0.0

    @property
    def n_unknown(self) -> int:
        """Return how often examples have labels that the model does not know."""
        return int(self.true[self.n_known :].sum())

    @property
    def n_labels(self) -> int:
        """Return the number of labels of all examples together."""
        return int(self.true.sum())

    def metrics(self) -> dict[str, float | None]:
        """Return every metric of both tables by name; None if it is not defined for several labels."""
        values = {name: metric.of(self) for name, metric in LABEL_METRICS.items() if metric.of is not None}
        return dict.fromkeys(METRICS) | {
            name: None if value is None else float(value) for name, value in values.items()
        }

    def to_dict(self) -> Facts:
        """Return everything, for JSON."""
        return {
            "examples": self.total, "right": self.right, **self.metrics(), "by_class": self.by_class(),
            "labels": self.labels, "unknown_labels": self.unknown,
        }  # fmt: skip

    def by_class(self) -> list[Facts]:
        """Return a row per label with precision, recall and F1, which are None for 0/0."""
        counts = zip(self.labels, *(part.tolist() for part in (self.hit, self.true, self.predicted)), strict=True)
        return [
            {"class": label, "count": n_true, "predicted": n_predicted,
             **_precision_recall_f1(n_right, n_true, n_predicted)}
            for label, n_right, n_true, n_predicted in counts
        ]  # fmt: skip


# ---- predictions of a model


def several_labels(model: object) -> bool:
    """Return whether a model predicts any number of labels per example; False for models of other libraries."""
    return isinstance(model, Classifier) and has_learned(model) and learner_of(model).form != "single"


def is_calibrated(model: object) -> bool:
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


def predicted_with_scores(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the predicted classes of examples, as `winners` does, and their scores."""
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
    quality = Quality(classes)
    quality.add(*np.unique(y, return_inverse=True), predicted, scores, probable)
    return quality


def measure_sets(
    model: Any, X: Any, y: sp.csr_matrix, labels: np.ndarray, quality: LabelQuality | None = None
) -> LabelQuality:
    """Compare the predictions of a model with label sets, in chunks, since there may be many labels."""
    quality = LabelQuality(model.classes_) if quality is None else quality
    size = max(1, MAX_SCORES_AT_ONCE // max(1, len(model.classes_)))
    for begin in range(0, y.shape[0], size):
        part = slice(begin, begin + size)
        quality.add(labels, y[part], *predicted_with_scores(model, X if size >= y.shape[0] else X[part]))
    return quality


def measure_blocks(model: Any, blocks: Iterable[Any]) -> Quality | LabelQuality | None:
    """Compare the predictions of a model with the labels of blocks; None if there are no examples."""
    quality = LabelQuality(model.classes_) if several_labels(model) else Quality(model.classes_)
    for block in blocks:
        if isinstance(quality, LabelQuality):
            measure_sets(model, block.X, block.y, block.classes, quality)
        else:
            predicted, scores = predicted_with_scores(model, block.X)
            quality.add(block.classes, block.codes, predicted, scores, probabilities(model, scores))
    return quality if quality.total else None


# ---- as text


def describe_accuracy(quality: Quality) -> str:
    """Return the counts behind an accuracy, and the accuracy of always predicting the most frequent label."""
    label, share = quality.commonest
    baseline = f"always predicting {short(str(label), 16)} would give {100 * share:.1f}%"
    return f"{quality.right:,} of {quality.total:,}; {baseline}"


def is_no_better_than_majority(qualities: Sequence[Quality]) -> bool:
    """Return whether always predicting the most frequent label is as accurate, and not every prediction is right."""
    right, total = (sum(getattr(quality, name) for quality in qualities) for name in ("right", "total"))
    commonest = sum(int(quality.confusion.sum(axis=1).max()) for quality in qualities)
    return right <= commonest and right < total


def describe_metrics(quality: Quality | LabelQuality, *names: str) -> str:
    """Return metrics as text: "balanced accuracy 93.1%, macro F1 92.8%". Undefined ones are left out.

    F1 is that of the second of two classes, otherwise the mean over the classes.
    """
    values, parts = quality.metrics(), []
    table: dict[str, Measure] = LABEL_METRICS if isinstance(quality, LabelQuality) else METRICS
    for name in names:
        name = "f1_macro" if name == "f1" and quality.n_known != 2 else name
        value = values[name]
        if value is not None:
            of = f" of {short(str(quality.labels[1]), 16)}" if table[name].binary else ""
            parts.append(f"{table[name].title}{of} {format_metric(name, value)}")
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
