"""Metrics to choose and test by, their confidence intervals, and tests of the difference between two classifiers."""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import binomtest, rankdata
from sklearn.metrics import f1_score, log_loss
from sklearn.preprocessing import MultiLabelBinarizer

from perceptrons.data.splitting import at, is_single, len_of
from perceptrons.engine.training.matrices import sound_csr
from perceptrons.inspection.metrics import ANSWERS, METRICS, PROBABILITIES, SCORES, counts_of, ranking_of
from perceptrons.sequence.phrases import PhraseCounts, counts_by_sentence

RESAMPLES = 1000  # of the bootstrap
MAX_SWAPS = 999
MAX_LARGER = 20  # differences as large as the real one, after which the permutation test stops
LABEL_SETS = set | frozenset | list | tuple
NEG_LOG_LOSS = "neg_log_loss"  # scikit-learn's name: the negative of a loss is the better the larger it is
NAMES = (*(name for name, metric in METRICS.items() if metric.needs != PROBABILITIES), NEG_LOG_LOSS)
PHRASE_F1 = "phrase_f1"  # for sequences only: F1 of phrases, as conlleval counts them

MetricFunction = Callable[[Any, Any], float]


class Interval(NamedTuple):
    """A confidence interval of a score, and the method that computed it."""

    low: float
    high: float
    level: float
    method: str


def wilson(right: int, n: int, level: float = 0.95) -> Interval:
    """Return Wilson's confidence interval of a proportion: `right` of `n`, by `scipy.stats.binomtest`.

    Use it for accuracies on a test set. Unlike p ± 1.96 sqrt(p(1-p)/n), it stays within [0, 1] and keeps its level near
    0 and 1. For scores that are not proportions, use `bootstrap`. For examples that depend on each other, such as
    sentences of one text, it is too narrow.

    Examples
    --------
    >>> from perceptrons.selection import wilson
    >>> low, high, _, _ = wilson(90, 100)
    >>> print(f"{low:.3f} to {high:.3f}")
    0.826 to 0.945
    """
    if not (n > 0 and 0 <= right <= n):
        raise ValueError(f"wilson({right}, {n}): give the number of right predictions and n of at least 1.")
    if not 0 < level < 1:
        raise ValueError(f"level={level}: give a confidence between 0 and 1.")
    interval = binomtest(right, n).proportion_ci(level, method="wilson")
    return Interval(float(interval.low), float(interval.high), level, "Wilson")


def bootstrap(metric: MetricFunction, y: Any, predicted: Any, level: float = 0.95, seed: int = 0) -> Interval:
    """Return the bootstrap interval of a score: on test sets drawn from this one with replacement.

    Use it for scores that are not shares, such as F1. For accuracies, use `wilson`, which costs nothing. It needs at
    least about 30 examples.
    """
    rng, n = np.random.default_rng(seed), len(predicted)
    scores = []
    for _ in range(RESAMPLES):
        rows = rng.integers(0, n, n)
        scores.append(metric(at(y, rows), at(predicted, rows)))
    low, high = np.nanquantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, f"bootstrap, {RESAMPLES} resamples")


def mcnemar(one: Any, other: Any) -> float:
    """Return the p-value of McNemar's exact test, two-sided, for two classifiers on the same test examples.

    It counts only the examples that one classifier gets right and the other wrong. one, other: which examples each gets
    right.

    Use it for two classifiers on one test set. Do not use it for scores from different test sets, or for many
    comparisons without a correction: among 20 equal classifiers, one is "significant" at 0.05.

    Examples
    --------
    >>> from perceptrons.selection import mcnemar
    >>> mcnemar([True] * 9 + [False], [False] * 9 + [True])
    0.021484375
    """
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.ndim != 1 or not {one.dtype.kind, other.dtype.kind} <= set("bui"):
        raise ValueError(
            f"mcnemar takes two lists of True and False, one value per example, but these have shapes {one.shape} and "
            f"{other.shape} and types {one.dtype} and {other.dtype}."
        )
    one, other = one.astype(bool), other.astype(bool)
    only_one, only_other = int((one & ~other).sum()), int((other & ~one).sum())
    return float(binomtest(only_one, only_one + only_other, 0.5).pvalue) if only_one + only_other else 1.0


def swapping(metric: MetricFunction, y: Any, one: Any, other: Any, seed: int = 0) -> float:
    """Return the p-value of a two-sided permutation test for the difference of a score between two classifiers.

    If both are equally good, it does not matter which of them made which prediction. So the test swaps their
    predictions for each example at random, 999 times, and counts how often the scores differ by at least as much as
    they really do. It stops early if that happens often from the start.

    Use it for two classifiers, the same test examples, and a score other than accuracy, such as F1. For accuracies, use
    `mcnemar`, which is exact and costs nothing.

    Examples
    --------
    >>> from sklearn.metrics import balanced_accuracy_score
    >>> from perceptrons.selection import swapping
    >>> y = [0, 1] * 20
    >>> swapping(balanced_accuracy_score, y, y, y), swapping(balanced_accuracy_score, y, y, [0] * 40)
    (1.0, 0.001)
    """
    one, other, rng = np.asarray(one), np.asarray(other), np.random.default_rng(seed)
    difference = abs(metric(y, one) - metric(y, other))
    n_larger = 0
    for n_swaps in range(1, 1 + MAX_SWAPS):
        swap = rng.random(len(one)) < 0.5
        swap = swap.reshape(-1, *(1,) * (one.ndim - 1))
        swapped = metric(y, np.where(swap, other, one)) - metric(y, np.where(swap, one, other))
        n_larger += abs(swapped) >= difference - 1e-12
        if n_larger == MAX_LARGER:  # Besag and Clifford 1991
            return n_larger / n_swaps
    return (1 + n_larger) / (1 + MAX_SWAPS)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction for several comparisons (Holm 1979).

    The smallest is multiplied by their number, the next by one less, and so on. None ends below a smaller one.

    Use it to compare one learner with several others, not for a single planned comparison.

    Examples
    --------
    >>> from perceptrons.selection import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * np.asarray(p_values, np.float64)[order]))
    return corrected.tolist()


class Metric:
    """A metric, the larger the better: a name of the table, or the user's function of true and predicted labels.

    outputs: an example has "labels", one or several; or "sequences" of them, counted label by label; or an output that
    is right as a "whole".
    """

    def __init__(self, metric: str | MetricFunction, outputs: str = "labels"):
        names = (*NAMES, PHRASE_F1) if outputs == "sequences" else NAMES
        if not callable(metric) and metric not in names:
            raise ValueError(
                f"metric={metric!r}: give one of {', '.join(map(repr, names))}, or a function of true and predicted "
                "labels."
            )
        self.name = getattr(metric, "__name__", "a function") if callable(metric) else metric
        self._function = metric if callable(metric) else phrase_f1 if metric == PHRASE_F1 else None
        self.own, self.outputs = callable(metric), outputs
        self.needs = ANSWERS if self._function is not None else METRICS[self.name.removeprefix("neg_")].needs
        if self.needs != ANSWERS and outputs != "labels":
            raise ValueError(f"metric={metric!r} is for one label per example: choose one like 'accuracy'.")

    def inputs(self, model: Any, X: Any, y: Any, predicted: Any = None) -> tuple[Any, Any]:
        """Return what the metric compares: labels and predictions, or class numbers and predictions or scores.

        predicted: the predictions, if they are known already.
        """
        binary = not self.own and self.name in METRICS and METRICS[self.name].binary
        if self.needs == ANSWERS and not binary:
            return y, model.predict(X) if predicted is None else predicted
        if not is_single(y):
            raise ValueError(f"metric={self.name!r} is for one label per example, but y has several: choose another.")
        codes = _class_codes(y, model.classes_)
        if binary:
            if len(model.classes_) != 2:
                raise ValueError(
                    f"metric={self.name!r} is for two classes, but there are {len(model.classes_):,}: choose another."
                )
            return codes, _class_codes(model.predict(X) if predicted is None else predicted, model.classes_)
        if self.needs != PROBABILITIES and hasattr(model, "decision_function"):
            return codes, np.asarray(model.decision_function(X), np.float64)
        if not hasattr(model, "predict_proba"):
            raise ValueError(
                f"metric={self.name!r} needs probabilities, but {type(model).__name__} has none: calibrate it with "
                "scikit-learn's CalibratedClassifierCV, or choose another metric."
            )
        probabilities = np.asarray(model.predict_proba(X), np.float64)
        is_ranking = self.needs != PROBABILITIES and probabilities.shape[1] == 2
        return codes, probabilities[:, 1] if is_ranking else probabilities

    def of(self, model: Any, X: Any, y: Any) -> float:
        """Return the metric of a fitted model on examples."""
        return self.checked(*self.inputs(model, X, y))

    def checked(self, y: Any, predicted: Any) -> float:
        """Return the metric of the result of `inputs`; ValueError if these examples do not suffice for it."""
        value = self(y, predicted)
        if not math.isfinite(value):
            raise ValueError(f"metric={self.name!r} needs examples of several classes, but all of these belong to one.")
        return value

    def comparable(self, predicted: Any) -> Any:
        """Return predictions that can be swapped with those of another model: the ranks of scores of any scale."""
        return rankdata(predicted, axis=0) if self.needs == SCORES else predicted

    def __call__(self, y: Any, predicted: Any) -> float:
        """Return the metric of labels and predictions, or of the result of `inputs`."""
        right = self.right(y, predicted)  # scikit-learn's checks would cost more than counting, after every epoch
        if right is not None:
            return float(right.mean())
        if self.needs == PROBABILITIES:
            known = y >= 0
            return -float(log_loss(y[known], predicted[known], labels=np.arange(predicted.shape[1])))
        if self.needs == SCORES:
            area = getattr(ranking_of(y[y >= 0], predicted[y >= 0]), self.name)
            return math.nan if area is None else area
        if self._function is not None:
            value = float(self._function(y, predicted))
        else:
            if self.outputs == "sequences":
                y, predicted = np.array(list(chain(*y))), np.array(list(chain(*predicted)))
            value = self._of_labels(y, predicted)
        if not math.isfinite(value):
            raise ValueError(
                f"metric {self.name} returned {value} for {len_of(y):,} examples: it must return a number."
            )
        return value

    def _of_labels(self, y: Any, predicted: Any) -> float:
        """Return a metric of the table, of one label or several per example."""
        if is_single(y) and _is_array(predicted) and not sp.issparse(predicted) and predicted.ndim == 1:
            n, labels = len_of(y), np.concatenate([np.asarray(y), predicted])
            if METRICS[self.name].binary:  # class numbers, -1 for a label that the model does not know
                codes, K = np.where(labels < 0, 2, labels), 3
            else:
                distinct, codes = np.unique(labels, return_inverse=True)
                K = len(distinct)
            confusion = np.bincount(codes[:n] * K + codes[n:], minlength=K * K).reshape(K, K)
            function = METRICS[self.name].of
            assert function is not None
            return float(function(counts_of(confusion)))
        if not self.name.startswith("f1_"):
            raise ValueError(f"metric={self.name!r} is for one label per example: choose accuracy or an F1.")
        if not _is_array(predicted):  # label sets
            columns = MultiLabelBinarizer(sparse_output=True).fit([*y, *predicted])
            y, predicted = columns.transform(y), columns.transform(predicted)
        return float(f1_score(y, predicted, average=self.name.removeprefix("f1_"), zero_division=0))

    def right(self, y: Any, predicted: Any) -> np.ndarray | None:
        """Return which examples, or labels of sequences, are right; None if the metric is not a share of them."""
        if self.name != "accuracy" or self.own:
            return None
        if self.outputs == "sequences":
            y, predicted = list(chain(*y)), list(chain(*predicted))
        elif self.outputs == "whole":
            return np.array([bool(true == answer) for true, answer in zip(y, predicted, strict=True)], bool)
        elif not _is_array(predicted):
            return np.array([set(true) == set(answer) for true, answer in zip(y, predicted, strict=True)], bool)
        y, predicted = (
            np.asarray(sound_csr(labels, "y").toarray() if sp.issparse(labels) else labels) for labels in (y, predicted)
        )
        if y.shape != predicted.shape:
            raise ValueError(f"y has shape {y.shape}, but predictions have {predicted.shape}.")
        same = y == predicted
        return same.all(axis=1) if same.ndim == 2 else same


def score_with_interval(metric: Metric, y: Any, predicted: Any) -> tuple[float, Interval]:
    """Return a score and its confidence interval."""
    right, score = metric.right(y, predicted), metric.checked(y, predicted)
    if right is not None:
        return score, wilson(int(right.sum()), len(right))
    if metric.name == PHRASE_F1 and not metric.own:  # phrases are found once, not for every sample
        counts = counts_by_sentence(y, predicted)
        return score, bootstrap(lambda sample, _: _f1_of_counts(sample), counts, counts)
    return score, bootstrap(metric, y, predicted)


def phrase_f1(y: Any, predicted: Any) -> float:
    """Return the F1 of the phrases in sentences of labels such as B-NP, I-NP and O."""
    return _f1_of_counts(counts_by_sentence(y, predicted))


def _f1_of_counts(counts: np.ndarray) -> float:
    """counts: the numbers of phrases that exist, were found, and are right, by sentence."""
    return PhraseCounts(*counts.sum(axis=0).tolist()).f1


def _class_codes(labels: Any, classes: np.ndarray) -> np.ndarray:
    """Return the numbers of labels among the classes; -1 for a label that is not a class."""
    places = {label: place for place, label in enumerate(classes.tolist())}
    return np.array([places.get(label, -1) for label in np.asarray(labels).tolist()], np.intp)


def _is_array(predicted: Any) -> bool:
    """Return whether these are labels, or rows of flags, and not sets of labels."""
    if sp.issparse(predicted) or not hasattr(predicted, "dtype"):
        return sp.issparse(predicted)
    return not (predicted.dtype.kind == "O" and len(predicted) and isinstance(predicted[0], LABEL_SETS))
