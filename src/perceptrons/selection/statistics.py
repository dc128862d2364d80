"""The scores that settings are chosen and tested by, how sure they are, and tests of the difference between two."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import binomtest, norm
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, matthews_corrcoef

from perceptrons.selection.splitting import at, len_of
from perceptrons.sequence.phrases import PhraseCounts, counts_by_sentence
from perceptrons.training.matrices import sound_csr

RESAMPLES = 1000
SWAPS, ENOUGH = 999, 20
SETS = set | frozenset | list | tuple
METRICS: dict[str, Callable[[Any, Any], float]] = {
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "f1_macro": partial(f1_score, average="macro", zero_division=0),
    "f1_micro": partial(f1_score, average="micro", zero_division=0),
    "f1_weighted": partial(f1_score, average="weighted", zero_division=0),
    "matthews": matthews_corrcoef,
}
PHRASE_F1 = "phrase_f1"  # of sequences alone: F1 of phrases, as conlleval counts them


class Interval(NamedTuple):
    """In which a figure lies with this confidence, and how it was found."""

    low: float
    high: float
    level: float
    method: str


def wilson(right: float, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a share: right of n. Unlike the textbook's p ± 1.96 sqrt(p(1-p)/n) it stays within
    [0, 1] and holds its level near 0 and 1.

    When to use it: for accuracies on a test set. When not: for figures that are no shares (use `bootstrap`), or
    examples that depend on each other, such as sentences of one text: then it is too narrow.

    Examples
    --------
    >>> from perceptrons.selection import wilson
    >>> low, high, _, _ = wilson(90, 100)
    >>> print(f"{low:.3f} to {high:.3f}")
    0.826 to 0.945
    """
    if not (n > 0 and 0 <= right <= n):
        raise ValueError(f"wilson({right}, {n}): give how many of how many, n at least 1.")
    if not 0 < level < 1:
        raise ValueError(f"level={level}: give a confidence between 0 and 1.")
    z = float(norm.ppf((1 + level) / 2))
    p = right / n
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)
    return Interval(low if right else 0.0, high if right < n else 1.0, level, "Wilson")


def bootstrap(
    metric: Callable[[Any, Any], float], y: Any, predicted: Any, level: float = 0.95, seed: int = 0
) -> Interval:
    """The interval that a figure has on test sets drawn anew from this one, with replacement.

    When to use it: for figures that are no shares, such as F1. When not: for accuracies (`wilson` is exact enough and
    costs nothing), or fewer than some 30 examples.
    """
    rng, n = np.random.default_rng(seed), len(predicted)
    figures = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, n, n)
        figures.append(metric(at(y, drawn), at(predicted, drawn)))
    low, high = np.quantile(figures, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, f"bootstrap, {RESAMPLES} resamples")


def mcnemar(one: Any, other: Any) -> float:
    """The chance that two equally good classifiers differ by at least so much on these examples (exact, two-sided).

    Only the examples that one of them gets right and the other wrong count. one, other: which examples each gets right.

    When to use it: two classifiers, the same test examples. When not: figures from different test sets; many
    comparisons at once without a correction, as among 20 equal ones one is "significant" at 0.05.

    Examples
    --------
    >>> from perceptrons.selection import mcnemar
    >>> mcnemar([True] * 9 + [False], [False] * 9 + [True])
    0.021484375
    """
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.ndim != 1 or not {one.dtype.kind, other.dtype.kind} <= set("bui"):
        raise ValueError(
            f"mcnemar takes two lists of True and False, one for each example, and these have shapes {one.shape} and "
            f"{other.shape} and types {one.dtype} and {other.dtype}."
        )
    one, other = one.astype(bool), other.astype(bool)
    gained, lost = int((one & ~other).sum()), int((other & ~one).sum())
    return float(binomtest(gained, gained + lost, 0.5).pvalue) if gained + lost else 1.0


def swapping(metric: Callable[[Any, Any], float], y: Any, one: Any, other: Any, seed: int = 0) -> float:
    """The chance that two equally good classifiers differ by at least so much in a figure (two-sided, by swapping).

    If both are equally good, it does not matter whose answer to an example is whose: answers are swapped at random for
    each example, 999 times, and counted is how often the figures then differ by as much as they do. Where that soon is
    often, it ends sooner.

    When to use it: two classifiers, the same test examples, a figure that is no share of right answers, such as F1.
    When not: accuracies (`mcnemar` is exact and costs nothing).

    Examples
    --------
    >>> from sklearn.metrics import balanced_accuracy_score
    >>> from perceptrons.selection import swapping
    >>> y = [0, 1] * 20
    >>> swapping(balanced_accuracy_score, y, y, y), swapping(balanced_accuracy_score, y, y, [0] * 40)
    (1.0, 0.001)
    """
    one, other, rng = np.asarray(one), np.asarray(other), np.random.default_rng(seed)
    found = abs(metric(y, one) - metric(y, other))
    times = 0
    for tried in range(1, 1 + SWAPS):
        swap = rng.random(len(one)) < 0.5
        pair = np.where(swap, other, one), np.where(swap, one, other)
        times += abs(metric(y, pair[0]) - metric(y, pair[1])) >= found - 1e-12
        if times == ENOUGH:  # Besag and Clifford 1991
            return times / tried
    return (1 + times) / (1 + SWAPS)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for being several (Holm 1979): below 0.05, all of them are wrong in 5% of cases at most.

    The smallest is multiplied by their number, the next by one less, and so on; none ends below one that was smaller.

    When to use it: one learner against several others. When not: a single comparison, planned before the data came.

    Examples
    --------
    >>> from perceptrons.selection import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    n, corrected, largest = len(p_values), [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(n), key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (n - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


class Metric:
    """A figure, the larger the better.

    outputs: an example has "labels", one or several; or "sequences" of them, counted label by label; or an output that
    is right as a "whole".
    """

    def __init__(self, metric: str | Callable[[Any, Any], float], outputs: str = "labels"):
        known = {**METRICS, PHRASE_F1: phrase_f1} if outputs == "sequences" else METRICS
        if not callable(metric) and metric not in known:
            raise ValueError(
                f"metric={metric!r}: give one of {', '.join(map(repr, known))}, or a function of true and predicted "
                "labels."
            )
        self.name = getattr(metric, "__name__", "a function") if callable(metric) else metric
        self._function = metric if callable(metric) else known[metric]
        self.own, self.outputs = callable(metric), outputs

    def __call__(self, y: Any, predicted: Any) -> float:
        right = self.right(y, predicted)  # after every epoch scikit-learn's checks would cost more than the counting
        if right is not None:
            return float(right.mean())
        if self.outputs == "sequences" and not (self.own or self.name == PHRASE_F1):
            y, predicted = list(chain(*y)), list(chain(*predicted))
        figure = float(self._function(y, predicted))
        if not math.isfinite(figure):
            raise ValueError(f"metric {self.name} gave {figure} for {len_of(y):,} examples: it must give a number.")
        return figure

    def right(self, y: Any, predicted: Any) -> np.ndarray | None:
        """Which examples, or labels of sequences, are right; None if the figure is no share of them."""
        if self.name != "accuracy" or self.own:
            return None
        if self.outputs == "sequences":
            y, predicted = list(chain(*y)), list(chain(*predicted))
        elif self.outputs == "whole":
            return np.array([bool(one == other) for one, other in zip(y, predicted, strict=True)], bool)
        elif not _is_array(predicted):
            return np.array([set(one) == set(other) for one, other in zip(y, predicted, strict=True)], bool)
        y, predicted = _as_array(y), _as_array(predicted)
        if y.shape != predicted.shape:
            raise ValueError(f"y has shape {y.shape}, but predictions have {predicted.shape}.")
        same = y == predicted
        return same.all(axis=1) if same.ndim == 2 else same


def measured(metric: Metric, y: Any, predicted: Any) -> tuple[float, Interval]:
    """A figure and its interval."""
    right, score = metric.right(y, predicted), metric(y, predicted)
    if right is not None:
        return score, wilson(float(right.sum()), len(right))
    if metric.name == PHRASE_F1 and not metric.own:  # phrases are found once, not for every sample
        counts = counts_by_sentence(y, predicted)
        return score, bootstrap(lambda drawn, _: _f1(drawn), counts, counts)
    return score, bootstrap(metric, y, predicted)


def phrase_f1(y: Any, predicted: Any) -> float:
    """F1 of the phrases in sentences of labels such as B-NP, I-NP and O."""
    return _f1(counts_by_sentence(y, predicted))


def _f1(counts: np.ndarray) -> float:
    """Of how many phrases there are, were found, and are right, by sentence."""
    return PhraseCounts(*counts.sum(axis=0).tolist()).f1


def _as_array(labels: Any) -> np.ndarray:
    return np.asarray(sound_csr(labels, "y").toarray() if sp.issparse(labels) else labels)


def _is_array(predicted: Any) -> bool:
    """Are these labels, or rows of flags, and not sets of labels?"""
    if sp.issparse(predicted) or not hasattr(predicted, "dtype"):
        return sp.issparse(predicted)
    return not (predicted.dtype.kind == "O" and len(predicted) and isinstance(predicted[0], SETS))
