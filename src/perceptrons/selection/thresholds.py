"""Chooses the threshold of a model with two classes: the score at which it starts to predict the second class."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.splitting import len_of
from perceptrons.engine.training.labels import read_target
from perceptrons.engine.training.parameters import cost_matrix
from perceptrons.inspection.evaluation import columns_matched, several_labels, winners
from perceptrons.inspection.metrics import BY_ANSWERS, METRICS, MOST_SCORES, counts_of, cuts_of
from perceptrons.selection.search import last_step

CUTS_AT_A_TIME = 2**18
TOLERANCE = 1e-12  # relative, within which two values of a metric are equal
COST = "cost"

Costs = Mapping[Any, Mapping[Any, float]]


class Threshold(NamedTuple):
    """A threshold that was chosen.

    Attributes
    ----------
    threshold : float
        The model predicts the second class for scores at or above it.
    metric : str
        The metric that it was chosen by, or "cost".
    score : float
        The metric with this threshold on the validation examples; for costs, the mean cost per example.
    before : float
        The same for the predictions before the threshold was set.
    n : int
        The number of these examples.
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
    return _choose(last, *codes_and_scores(model, last, X, target.codes, target.classes), metric)


def choose_on_blocks(model: Any, blocks: Iterable[Any], metric: str | Costs) -> Threshold:
    """Choose like `choose_threshold` on blocks of examples as they are read, by at most about 10 million examples."""
    check_has_threshold(model)
    codes, scores, _ = read_blocks(model, blocks)
    return _choose(model, codes, scores, metric)


def read_blocks(model: Any, blocks: Iterable[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the class numbers, the scores and the weights of blocks, by at most about 10 million scores."""
    parts, n_scores = [(np.zeros(0, np.intp), np.zeros(0), np.zeros(0))], 0
    for block in blocks:
        codes, scores = codes_and_scores(model, model, block.X, block.codes, block.classes)
        weight = np.ones(len(codes)) if block.weight is None else np.asarray(block.weight, np.float64)
        parts.append((codes, scores, weight))
        n_scores += scores.size
        if n_scores >= MOST_SCORES:
            break
    codes, scores, weight = (np.concatenate(part) for part in zip(*(parts[1:] or parts), strict=True))
    return codes, scores, weight


def check_has_threshold(model: Any) -> None:
    """Raise an error for an estimator without a threshold, and for one that does not have two classes."""
    if not hasattr(type(model), "threshold_"):
        raise TypeError(
            f"{type(model).__name__} has no threshold_: give a Perceptron or a KernelPerceptron, or use scikit-learn's "
            "TunedThresholdClassifierCV."
        )
    if len(model.classes_) != 2 or several_labels(model):
        several = ", several per example" * several_labels(model)
        raise ValueError(
            f"A threshold is for models with two classes, but this one has {len(model.classes_):,}{several}."
        )


def codes_and_scores(
    model: Any, last: Any, X: Any, codes: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class numbers of examples in the last step of a model, and their scores. codes: numbers of labels."""
    places = {key: k for k, label in enumerate(last.classes_.tolist()) for key in (str(label), label)}
    known = np.array([places.get(label, places.get(str(label), -1)) for label in labels.tolist()])
    if (known[codes] < 0).any():
        unknown = [label for label, place in zip(labels.tolist(), known, strict=True) if place < 0]
        raise ValueError(f"y has labels that the model does not know, such as {unknown[:3]}: leave these examples out.")
    with columns_matched():
        return known[codes], np.asarray(model.decision_function(X), np.float64)


def _choose(model: Any, codes: np.ndarray, scores: np.ndarray, metric: str | Costs) -> Threshold:
    choice = best_threshold(codes, scores, winners(model, scores), model.classes_, metric)
    model.threshold_ = choice.threshold
    return choice


def set_threshold(model: Any, threshold: str | Costs | float | None, X: Any, y: Any) -> Threshold | None:
    """Set a threshold that is a number, or choose it on these examples and return how."""
    if isinstance(threshold, str | Mapping):
        return choose_threshold(model, X, y, threshold)
    if threshold is not None:
        last_step(model)[0].threshold_ = threshold
    return None


def best_threshold(
    codes: np.ndarray, scores: np.ndarray, predicted: np.ndarray, classes: np.ndarray, metric: str | Costs
) -> Threshold:
    """Return the best threshold. codes: 0 or 1 for every example. predicted: by the present threshold."""
    if not len(codes):
        raise ValueError("There are no examples to choose a threshold with: give at least one of each class.")
    if not 0 < np.count_nonzero(codes) < len(codes):
        raise ValueError("All examples to choose a threshold with belong to one class: give examples of both.")
    name, function, sign = _metric_function(metric, classes)
    cuts = cuts_of(codes == 1, scores)
    # the first cut predicts the second class for no example
    hits, alarms = np.append(0, cuts.hits), np.append(0, cuts.alarms)
    totals = cuts.n_positive, cuts.n_negative
    slices = [slice(start, start + CUTS_AT_A_TIME) for start in range(0, len(hits), CUTS_AT_A_TIME)]
    values = np.concatenate([function(_confusion_matrices(hits[part], alarms[part], *totals)) for part in slices])
    low, high = _gaps(cuts.scores)
    best = np.flatnonzero(values >= values.max() - TOLERANCE * max(1.0, abs(values.max())))
    choice = best[np.argmin(np.abs(low[best] / 2 + high[best] / 2))]
    hits_before, alarms_before = (np.array([np.sum((codes == k) & (predicted == 1))]) for k in (1, 0))
    before = float(function(_confusion_matrices(hits_before, alarms_before, *totals))[0])
    threshold = _shortest_between(float(low[choice]), float(high[choice]))
    return Threshold(threshold, name, sign * float(values[choice]), sign * before, len(codes))


def _metric_function(metric: str | Costs, classes: np.ndarray) -> tuple[str, Callable[[np.ndarray], np.ndarray], float]:
    """Return the name of a metric, the function of confusion matrices to maximize, and the sign to show it with."""
    if isinstance(metric, Mapping):
        cost = cost_matrix(metric, classes, stream=False, unnamed=1.0)
        return COST, lambda table: -(table * cost).sum(axis=(-2, -1)) / table.sum(axis=(-2, -1)), -1.0
    if metric not in BY_ANSWERS:
        raise ValueError(
            f"metric={metric!r}: give one of {', '.join(map(repr, BY_ANSWERS))}, or a dict of costs, "
            "{true class: {predicted class: cost}}."
        )
    function = METRICS[metric].of
    assert function is not None
    return metric, lambda table: function(counts_of(table)), 1.0


def _confusion_matrices(hits: np.ndarray, alarms: np.ndarray, n_positive: int, n_negative: int) -> np.ndarray:
    """Return a confusion matrix for every cut."""
    rows = np.stack([n_negative - alarms, alarms], axis=-1), np.stack([n_positive - hits, hits], axis=-1)
    return np.stack(rows, axis=-2).astype(np.float64)


def _gaps(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the gap of thresholds above low, up to high, for every cut of descending scores."""
    first, last = (1.0, 1.0) if len(scores) == 1 else (scores[0] - scores[1], scores[-2] - scores[-1])
    return np.append(scores, scores[-1] - 2 * last), np.append(scores[0] + 2 * first, scores)


def _shortest_between(low: float, high: float) -> float:
    """Return the number with the fewest digits around the middle of a gap.

    The last digits of scores depend on the order in which they are summed; those of a threshold should not.
    """
    if low < 0 < high:
        return 0.0
    middle, quarter = low / 2 + high / 2, high / 4 - low / 4
    for digits in range(1, 17):
        value = float(f"{middle:.{digits}g}")
        if low + quarter < value < high - quarter:
            return value
    return middle if middle > low else high  # no number lies between neighbours
