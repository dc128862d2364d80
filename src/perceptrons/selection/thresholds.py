"""Chooses the threshold of a model with two classes: the score at which it starts to predict the second class."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.training.labels import read_target
from perceptrons.engine.training.rule import cost_matrix
from perceptrons.inspection.evaluation import columns_matched, several_labels, winners
from perceptrons.inspection.metrics import BY_ANSWERS, METRICS
from perceptrons.inspection.ranking import MOST_SCORES, cuts_of
from perceptrons.selection.search import last_step
from perceptrons.selection.splitting import len_of

AT_ONCE = 2**18  # cuts judged at a time
COST = "cost"


class Threshold(NamedTuple):
    """A threshold that was chosen.

    Attributes
    ----------
    threshold : float
        The model predicts the second class for scores at or above it.
    metric : str
        What it was chosen by: a name of the table of metrics, or "cost".
    score : float
        The metric with it, on the examples that it was chosen on; of a cost, the mean cost of an example.
    before : float
        The same by the answers that the model gave before.
    n : int
        How many examples these are.
    """

    threshold: float
    metric: str
    score: float
    before: float
    n: int


def choose_threshold(model: Any, X: Any, y: Any, metric: Any = "balanced_accuracy") -> Threshold:
    """Choose the score at which a model with two classes starts to predict the second, and set its `threshold_`.

    All thresholds that make a difference on these examples are tried: those between neighbouring scores. Of equally
    good ones, the one closest to 0 is chosen, the learned decision boundary. Scores do not change. For cross-validated
    thresholds, use scikit-learn's `TunedThresholdClassifierCV`, which accepts these estimators.

    Use it for class imbalance, or if one kind of mistake is worse than the other. Do not use it on training examples,
    whose scores are too good, or on the test set, whose score would then be too good.

    Parameters
    ----------
    model : fitted Perceptron or KernelPerceptron of two classes, or a Pipeline that ends in one
    X, y : the examples to choose with, a validation set
    metric : str or dict, default="balanced_accuracy"
        "accuracy", "balanced_accuracy", "f1" (of `classes_[1]`), "f1_macro", "f1_micro", "f1_weighted", "matthews" or
        "youden"; or the costs of mistakes, {true class: {predicted class: cost}}, whose mean is minimised. Pairs that
        are not given cost 1.

    Returns
    -------
    Threshold

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.selection import choose_threshold
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(2000, weights=[0.95], flip_y=0.05, random_state=0)
    >>> model = Perceptron().fit(X[:1000], y[:1000])
    >>> found = choose_threshold(model, X[1000:], y[1000:], "f1")
    >>> model.threshold_ == found.threshold, found.score >= found.before
    (True, True)
    """
    last = last_step(model)[0]
    check_has_threshold(last)
    target = read_target(y, len_of(X))
    if target.several:
        raise ValueError("y has several labels per example, but a threshold is for two classes.")
    return _choose(last, [judged(model, last, X, target.codes, target.classes)], metric)


def choose_on_blocks(model: Any, blocks: Iterable[Any], metric: Any) -> Threshold:
    """`choose_threshold` by blocks of examples as they are read: by the first 10 million, if there are more."""
    check_has_threshold(model)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for block in blocks:
        pairs.append(judged(model, model, block.X, block.codes, block.classes))
        if sum(len(codes) for codes, _ in pairs) >= MOST_SCORES:
            break
    return _choose(model, pairs, metric)


def check_has_threshold(model: Any) -> None:
    """Refuse an estimator that has none, one that is not fitted, and one that has not two classes."""
    if not hasattr(type(model), "threshold_"):
        raise TypeError(
            f"{type(model).__name__} has no threshold_: give a Perceptron or a KernelPerceptron, or use scikit-learn's "
            "TunedThresholdClassifierCV."
        )
    if len(model.classes_) != 2 or several_labels(model):
        several = ", several per example" * (several_labels(model))
        raise ValueError(
            f"A threshold is for models with two classes, but this one has {len(model.classes_):,}{several}."
        )


def judged(model: Any, last: Any, X: Any, codes: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the classes of examples, and their scores. codes: their numbers among these labels."""
    places = {key: k for k, label in enumerate(last.classes_.tolist()) for key in (str(label), label)}
    known = np.array([places.get(label, places.get(str(label), -1)) for label in labels.tolist()])
    if (known[codes] < 0).any():
        strange = [label for label, place in zip(labels.tolist(), known, strict=True) if place < 0]
        raise ValueError(f"y has labels that the model does not know, such as {strange[:3]}: leave these examples out.")
    with columns_matched():
        return known[codes], np.asarray(model.decision_function(X), np.float64)


def _choose(model: Any, pairs: list[tuple[np.ndarray, np.ndarray]], metric: Any) -> Threshold:
    codes, scores = (np.concatenate(parts) for parts in zip(*pairs, strict=True)) if pairs else (np.zeros(0),) * 2
    found = best_threshold(codes, scores, winners(model, scores), model.classes_, metric)
    model.threshold_ = found.threshold
    return found


def set_threshold(model: Any, threshold: Any, X: Any, y: Any) -> Threshold | None:
    """Give a model the threshold asked for: a number, or one chosen on these examples; how, if it was chosen."""
    if threshold is not None and is_chosen(threshold):
        return choose_threshold(model, X, y, threshold)
    if threshold is not None:
        last_step(model)[0].threshold_ = threshold
    return None


def is_chosen(threshold: Any) -> bool:
    """Is this a metric or a cost to choose a threshold by, and not a number?"""
    return isinstance(threshold, str | Mapping)


def best_threshold(
    codes: np.ndarray, scores: np.ndarray, answers: np.ndarray, classes: np.ndarray, metric: Any
) -> Threshold:
    """The threshold itself. codes: 0 or 1 for every example. answers: those given so far, for comparison."""
    if not len(codes):
        raise ValueError("There are no examples to choose a threshold with: give at least one of each class.")
    if not 0 < np.count_nonzero(codes) < len(codes):
        raise ValueError("All examples to choose a threshold with belong to one class: give examples of both.")
    name, worth, sign = _judge(metric, classes)
    cuts = cuts_of(codes == 1, scores)
    # the first cut answers the second class to nobody
    hits, alarms = np.append(0, cuts.hits), np.append(0, cuts.alarms)
    total = cuts.n_positive, cuts.n_negative
    parts = [slice(start, start + AT_ONCE) for start in range(0, len(hits), AT_ONCE)]
    figures = np.concatenate([worth(_confusions(hits[part], alarms[part], *total)) for part in parts])
    low, high = _gaps(cuts.scores)
    best = np.flatnonzero(figures >= figures.max() - 1e-12 * max(1.0, abs(figures.max())))
    chosen = best[np.argmin(np.abs(low[best] / 2 + high[best] / 2))]
    said = np.array([np.sum((codes == k) & (answers == 1)) for k in (1, 0)])
    before = float(worth(_confusions(said[:1], said[1:], *total))[0])
    return Threshold(
        _within(float(low[chosen]), float(high[chosen])), name, sign * float(figures[chosen]), sign * before, len(codes)
    )


def _judge(metric: Any, classes: np.ndarray) -> tuple[str, Any, float]:
    """The name of a metric, the function of confusion matrices to make large, and the sign to show it by."""
    if isinstance(metric, Mapping):
        cost = cost_matrix(metric, classes, stream=False, unnamed=1.0)
        return COST, lambda table: -(table * cost).sum(axis=(-2, -1)) / table.sum(axis=(-2, -1)), -1.0
    if metric not in BY_ANSWERS:
        raise ValueError(
            f"metric={metric!r}: give one of {', '.join(map(repr, BY_ANSWERS))}, or a dict of costs, "
            "{true class: {predicted class: cost}}."
        )
    return metric, METRICS[metric].of, 1.0


def _confusions(hits: np.ndarray, alarms: np.ndarray, n_positive: int, n_negative: int) -> np.ndarray:
    """A confusion matrix for every cut."""
    rows = np.stack([n_negative - alarms, alarms], axis=-1), np.stack([n_positive - hits, hits], axis=-1)
    return np.stack(rows, axis=-2).astype(np.float64)


def _gaps(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every cut of descending scores: above which score, and up to which, a threshold answers just so."""
    first, last = (1.0, 1.0) if len(scores) == 1 else (scores[0] - scores[1], scores[-2] - scores[-1])
    return np.append(scores, scores[-1] - 2 * last), np.append(scores[0] + 2 * first, scores)


def _within(low: float, high: float) -> float:
    """The number of the fewest digits around the middle of a gap.

    The last digits of scores depend on the order in which they are summed, those of a threshold should not.
    """
    if low < 0 < high:
        return 0.0
    middle, quarter = low / 2 + high / 2, high / 4 - low / 4
    for digits in range(1, 17):
        value = float(f"{middle:.{digits}g}")
        if low + quarter < value < high - quarter:
            return value
    return middle if middle > low else high  # neighbours that no number lies between
