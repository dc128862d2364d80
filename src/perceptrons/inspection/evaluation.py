"""How good predictions are: the metrics, precision, recall and F1 of every class, and which classes are confused."""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from perceptrons.engine.training.base import Classifier, has_learned, learner_of
from perceptrons.engine.wording import count, short
from perceptrons.inspection.metrics import METRICS, all_metrics, shown
from perceptrons.inspection.ranking import MOST_SCORES, KeptScores, Ranking
from perceptrons.inspection.reliability import Reliability

BINS = 10  # of the histogram of shares
MOST_UNKNOWN = 1000  # labels; above this many they are no classes
WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})(\.0*)?", re.ASCII)  # "007" stays text, or its zeros would be lost


@dataclass
class Quality:
    """labels: the model's classes, then labels that it does not know. confusion: true class by predicted class.

    ranking: of the scores of examples whose labels the model knows; None: not measured. too_many: scores were to keep.
    reliability: of their probabilities, if the model is calibrated.
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
        """Every metric of the table by name; None for those that cannot be told."""
        return all_metrics(self.confusion, self.known, self.ranking, self.reliability)

    @property
    def commonest(self) -> tuple[Any, float]:
        """The label that occurs most, and its share: the accuracy of always answering it."""
        counts = self.confusion.sum(axis=1)
        return self.labels[int(counts.argmax())], float(counts.max() / self.total)

    @property
    def unknown(self) -> list[Any]:
        """Labels that the model does not know."""
        return self.labels[self.known :]

    @property
    def n_unknown(self) -> int:
        """How many examples have such labels: they count as mistakes."""
        return int(self.confusion[self.known :].sum())

    def by_class(self) -> list[dict[str, Any]]:
        """Precision, recall and F1 are None where they are 0/0."""
        rows = []
        for k, label in enumerate(self.labels):
            hit, true, said = (int(part) for part in (
                self.confusion[k, k], self.confusion[k].sum(), self.confusion[:, k].sum()))  # fmt: skip
            rows.append({
                "class": label, "count": true,
                "precision": hit / said if said else None,
                "recall": hit / true if true else None,
                "f1": 2 * hit / (true + said) if true + said else None,
            })  # fmt: skip
        return rows

    def confusions(self) -> list[tuple[Any, Any, int]]:
        """(true, predicted, how often), the most frequent first, right answers left out."""
        k = len(self.labels)
        pairs = [
            (self.labels[i], self.labels[j], int(self.confusion[i, j])) for i in range(k) for j in range(k) if i != j
        ]
        return sorted((pair for pair in pairs if pair[2]), key=lambda pair: -pair[2])


class Tally:
    """True labels against answers, counted as they come. Labels that the model does not know are mistakes."""

    def __init__(self, classes: np.ndarray):
        self.labels = classes.tolist()
        self.known = len(self.labels)
        self._whole = classes.dtype.kind in "iu"
        self._places = {key: k for k, label in enumerate(self.labels) for key in (str(label), label)}
        self._rows: list[Any] = []
        self._scores: KeptScores | None = None
        self._reliability: Reliability | None = None

    def add(
        self, labels: np.ndarray, codes: np.ndarray, answers: np.ndarray, scores: Any = None, probabilities: Any = None
    ) -> None:
        """codes: the number of each example's label among the labels. answers: the number of the class answered.

        scores: those of `decision_function`, to be ranked. probabilities: those of `predict_proba`.
        """
        table = np.bincount(codes * self.known + answers, minlength=len(labels) * self.known)
        places = np.full(len(labels), -1)
        for k, (label, row) in enumerate(zip(labels.tolist(), table.reshape(-1, self.known), strict=True)):
            if row.any():
                place = places[k] = self._place(label)
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
        if len(self.labels) > self.known + MOST_UNKNOWN:
            some = ", ".join(short(str(label)) for label in self.labels[-3:])
            raise ValueError(
                f"There are more than {MOST_UNKNOWN:,} labels that the model does not know, such as {some}: "
                "name the right column with --label-column."
            )

    def _place(self, label: Any) -> int:
        """The number of a label; one that came never before gets the next."""
        if self._whole and isinstance(label, str) and WHOLE.fullmatch(label):
            label = int(label.partition(".")[0])  # +1 is 1
        place = self._places.get(label, self._places.get(str(label)))
        if place is None:
            place = self._places[label] = len(self.labels)
            self.labels.append(label)
        return place

    def quality(self) -> Quality:
        """What was counted so far."""
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
    """Predict without scikit-learn's warnings that X has no names, or has some: the caller has matched the columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X (does not have valid|has) feature names")
        yield


def winners(model: Any, scores: np.ndarray) -> np.ndarray:
    """For every example the number of the class that the model predicts; for several labels a flag for each."""
    return learner_of(model).winners(scores, getattr(model, "zero_score", "mistake"))


def answered(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same for examples that are not scored yet, and their scores."""
    with columns_matched():
        scores = model.decision_function(X)
    return winners(model, scores), scores


def probabilities(model: Any, scores: np.ndarray) -> np.ndarray | None:
    """The probabilities of all classes by the scores of `decision_function`; None if the model is not calibrated."""
    calibration = learner_of(model).calibration
    return None if calibration is None else calibration.of(scores)


def measure(classes: np.ndarray, y: Any, predicted: np.ndarray, scores: Any = None, probable: Any = None) -> Quality:
    """Compare labels with the numbers of the predicted classes. scores: those of `decision_function`, to be ranked.

    probable: the probabilities of `predict_proba`, if there are any.
    """
    tally = Tally(classes)
    tally.add(*np.unique(y, return_inverse=True), predicted, scores, probable)
    return tally.quality()


def measure_blocks(model: Any, blocks: Iterable[Any]) -> Quality | None:
    """Compare a model's answers with the labels of blocks of examples; None if there is none."""
    tally = Tally(model.classes_)
    for block in blocks:
        answers, scores = answered(model, block.X)
        tally.add(block.classes, block.codes, answers, scores, probabilities(model, scores))
    quality = tally.quality()
    return quality if quality.total else None


def beside(quality: Quality) -> str:
    """What an accuracy has to be seen beside: how many, and what the laziest answer would get."""
    label, share = quality.commonest
    lazy = f"always predicting {short(str(label), 16)} would give {100 * share:.1f}%"
    return f"{quality.right:,} of {quality.total:,}; {lazy}"


def is_no_better_than_majority(qualities: Sequence[Quality]) -> bool:
    """Would always predicting the commonest label be at least as accurate? Not where every prediction is right."""
    right, total = (sum(getattr(quality, name) for quality in qualities) for name in ("right", "total"))
    commonest = sum(int(quality.confusion.sum(axis=1).max()) for quality in qualities)
    return right <= commonest and right < total


def metrics_in_words(quality: Quality, *names: str) -> str:
    """Metrics of the table on one line: "balanced accuracy 93.1%, macro F1 92.8%"; those that cannot be told left out.

    F1 is that of the second of two classes, otherwise the mean over the classes.
    """
    told, parts = quality.metrics(), []
    for name in names:
        name = "f1_macro" if name == "f1" and quality.known != 2 else name
        value = told[name]
        if value is not None:
            of = f" of {short(str(quality.labels[1]), 16)}" if METRICS[name].binary else ""
            parts.append(f"{METRICS[name].title}{of} {shown(name, value)}")
    return ", ".join(parts)


def unranked(quality: Quality) -> str:
    """Why there is no ROC AUC although there are scores; "" if there is one."""
    if not quality.too_many:
        return ""
    kept = count(MOST_SCORES, "score")
    return f"ROC AUC and average precision are not computed: at most {kept} are stored while data are read."


def histogram(shares: np.ndarray) -> np.ndarray:
    """How many shares there are in each tenth of 0 to 1."""
    return np.bincount(np.minimum((shares * BINS + 1e-9).astype(np.intp), BINS - 1), minlength=BINS)
