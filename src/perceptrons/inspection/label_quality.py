"""How good predictions are where an example may have several labels: counts of every label, and metrics of all."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.inspection.evaluation import Tally, answered
from perceptrons.inspection.metrics import LABEL_METRICS, METRICS, TOP, LabelCounts, shown

CELLS = 2**24  # scores that are looked at at once


@dataclass
class LabelQuality:
    """labels: the model's, then labels that it does not know. counts: of each label, and of examples."""

    labels: list[Any]
    known: int
    counts: LabelCounts

    too_many = False

    @property
    def total(self) -> int:
        return self.counts.n

    @property
    def right(self) -> int:
        """Examples all of whose labels are predicted, and no other."""
        return self.counts.exact

    @property
    def accuracy(self) -> float:
        return self.right / self.total

    @property
    def unknown(self) -> list[Any]:
        return self.labels[self.known :]

    @property
    def n_unknown(self) -> int:
        """How often examples have labels that the model does not know."""
        return int(self.counts.true[self.known :].sum())

    @property
    def n_labels(self) -> int:
        """How many labels all examples have together."""
        return int(self.counts.true.sum())

    def metrics(self) -> dict[str, float | None]:
        """Every metric of both tables by name; None for those that say nothing about several labels."""
        told: dict[str, float | None] = dict.fromkeys(METRICS)
        for name, one in LABEL_METRICS.items():
            told[name] = one.of(self.counts)
        return told

    def by_class(self) -> list[dict[str, Any]]:
        """Precision, recall and F1 of every label, None where they are 0/0."""
        rows = []
        for label, hit, true, said in zip(self.labels, *(part.tolist() for part in self.counts[:3]), strict=True):
            rows.append({
                "class": label, "count": true, "predicted": said,
                "precision": hit / said if said else None,
                "recall": hit / true if true else None,
                "f1": 2 * hit / (true + said) if true + said else None,
            })  # fmt: skip
        return rows


class LabelTally(Tally):
    """True label sets against those predicted, counted as they come. Labels that the model does not know are missed."""

    def __init__(self, classes: np.ndarray):
        super().__init__(classes)
        self._hit, self._said = np.zeros((2, self.known), np.int64)
        self._true = np.zeros(self.known, np.int64)
        self._n = self._exact = 0
        self._top = dict.fromkeys(TOP, 0)

    def add_sets(self, labels: np.ndarray, y: sp.csr_matrix, flags: np.ndarray, scores: np.ndarray) -> None:
        """labels: those of the columns of y, an indicator matrix. flags, scores: of the model's labels."""
        places = np.array([self._place(label) for label in labels.tolist()], np.intp)
        self._check_unknown()
        self._true = np.concatenate([self._true, np.zeros(len(self.labels) - len(self._true), np.int64)])
        np.add.at(self._true, places[y.indices], 1)
        inside = places[y.indices] < self.known
        rows = np.repeat(np.arange(y.shape[0]), np.diff(y.indptr))
        truth = np.zeros((y.shape[0], self.known), bool)
        truth[rows[inside], places[y.indices[inside]]] = True
        flags = flags.astype(bool)
        strange = np.bincount(rows[~inside], minlength=y.shape[0]) > 0
        self._hit += (truth & flags).sum(axis=0)
        self._said += flags.sum(axis=0)
        self._exact += int(((truth == flags).all(axis=1) & ~strange).sum())
        best = np.argsort(-scores, axis=1, kind="stable")[:, : max(TOP)]
        hits = np.take_along_axis(truth, best, axis=1)
        for k in TOP:
            self._top[k] += int(hits[:, :k].sum())
        self._n += y.shape[0]

    def label_quality(self) -> LabelQuality:
        """What was counted so far."""
        more = np.zeros(len(self.labels) - self.known, np.int64)
        true = np.concatenate([self._true, np.zeros(len(self.labels) - len(self._true), np.int64)])
        hit, said = (np.concatenate([part, more]) for part in (self._hit, self._said))
        return LabelQuality(
            self.labels, self.known, LabelCounts(hit, true, said, self._n, self._exact, dict(self._top), self.known)
        )


def measure_sets(model: Any, X: Any, y: sp.csr_matrix, labels: np.ndarray, tally: LabelTally | None = None) -> Any:
    """Compare a model's answers with label sets; some examples at a time, as there may be many labels."""
    tally = LabelTally(model.classes_) if tally is None else tally
    size = max(1, CELLS // max(1, len(model.classes_)))
    for begin in range(0, y.shape[0], size):
        part = slice(begin, begin + size)
        tally.add_sets(labels, y[part], *answered(model, X if size >= y.shape[0] else X[part]))
    return tally.label_quality()


def measure_set_blocks(model: Any, blocks: Any) -> LabelQuality | None:
    """The same for blocks of examples; None if there is none."""
    tally = LabelTally(model.classes_)
    for block in blocks:
        measure_sets(model, block.X, block.y, block.classes, tally)
    quality = tally.label_quality()
    return quality if quality.total else None


def sets_in_words(quality: LabelQuality, *names: str) -> str:
    """Metrics on one line: "micro F1 65.1%, macro F1 64.2%"; those that cannot be told left out."""
    told = quality.metrics()
    parts = [(LABEL_METRICS[name].title, name, told[name]) for name in names]
    return ", ".join(f"{title} {shown(name, value)}" for title, name, value in parts if value is not None)


SHOWN = ("f1_micro", "f1_macro", "hamming_loss", "accuracy")
BEST = tuple(f"precision_at_{k}" for k in TOP)
