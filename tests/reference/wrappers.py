"""One-vs-rest, one-vs-one and several labels (spec 3): one call of the binary rule per problem, and the predictions.

The binary rule, with margin, penalties, batches and steps, is in `large.py`.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .binary import float_array, sign
from .large import cut, train_binary
from .multiclass import best, scores


@dataclass
class Wrapped:
    """The runs of P binary problems, in their order.

    Attributes
    ----------
    runs : list of `large.Run`.
    w, b, average_w, average_b : the weights of all problems, (P, d) and (P,).
    mistakes, updates, losses : lists, one number per epoch: the sum over the problems.
    """

    runs: list

    w = property(lambda self: np.array([run.w for run in self.runs]))
    b = property(lambda self: np.array([run.b for run in self.runs]))
    average_w = property(lambda self: np.array([run.average_w for run in self.runs]))
    average_b = property(lambda self: np.array([run.average_b for run in self.runs]))
    mistakes = property(lambda self: [sum(epoch) for epoch in zip(*(run.mistakes for run in self.runs), strict=True)])
    updates = property(lambda self: [sum(epoch) for epoch in zip(*(run.updates for run in self.runs), strict=True)])
    losses = property(lambda self: [sum(epoch) for epoch in zip(*(run.losses for run in self.runs), strict=True)])


def start_of(p, w, b):
    """The start of problem p: row p of what is given, zeros otherwise."""
    return {"w": None if w is None else w[p], "b": 0.0 if b is None else b[p]}


def one_vs_rest(X, y, orders, n_classes, *, w=None, b=None, **options):
    """Problem k: class k is +1, all others are -1; with two classes the one problem in which class 1 is +1.

    Parameters
    ----------
    y : array (n,) of class indices 0..K-1.
    orders : list of index sequences, one per epoch, the same for all problems.
    w, b : the starts, (P, d) and (P,); zeros unless given.
    options : of `large.train_binary`; no cost.

    Returns
    -------
    Wrapped
    """
    positive = [1] if n_classes == 2 else range(n_classes)
    y = np.asarray(y)
    runs = [
        train_binary(X, np.where(y == k, 1, -1), orders, **start_of(p, w, b), **options) for p, k in enumerate(positive)
    ]
    return Wrapped(runs)


def one_vs_one(X, y, orders, n_classes, *, weights=None, batch_size=1, w=None, b=None, **options):
    """One problem for each pair of classes (a, b), a < b, on the examples of these two only: b is +1, a is -1.

    Pairs are in lexicographic order. A pass over all examples is cut into batches, and the batch of a problem is what
    such a batch holds of its own visits. Parameters and result are those of `one_vs_rest`.
    """
    y = np.asarray(y)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights)
    epochs = [cut(order, weights, batch_size) for order in orders]
    runs = []
    for p, pair in enumerate(combinations(range(n_classes), 2)):
        own = [[[(i, share) for i, share in batch if y[i] in pair] for batch in epoch] for epoch in epochs]
        own = [[batch for batch in epoch if batch] for epoch in own]
        signs = np.where(y == pair[1], 1, -1)
        runs.append(train_binary(X, signs, None, batches=own, **start_of(p, w, b), **options))
    return Wrapped(runs)


def label_weights(Y, weights, class_weight):
    """The weight of every example in the problem of every label, (n, L).

    Parameters
    ----------
    Y : array (n, L) of 0 and 1.
    weights : array (n,) of the examples.
    class_weight : None; {label: weight of its positive examples}; or "balanced": the positive and the
        negative examples of a label have the same total weight, and those of the rarer kind the weight 1, all counts
        being sums of `weights`.
    """
    found = np.zeros(Y.shape)
    for i, k in np.ndindex(*Y.shape):
        factor = 1.0
        if class_weight == "balanced":
            kinds = [sum(weights[Y[:, k] == flag]) for flag in (0, 1)]
            factor = min(n for n in kinds if n > 0) / kinds[Y[i, k]] if weights[i] > 0 else 0.0
        elif class_weight is not None and Y[i, k]:
            factor = class_weight.get(k, 1.0)
        found[i, k] = weights[i] * factor
    return found


def several_labels(X, Y, orders, *, weights=None, class_weight=None, w=None, b=None, **options):
    """One problem per label: the examples that have it are +1, all others are -1.

    Batches are cut over the visits of the problem, whose weights may differ from those of the others.

    Parameters
    ----------
    Y : array (n, L) of 0 and 1.
    class_weight : as in `label_weights`.
    Everything else : as in `one_vs_rest`.

    Returns
    -------
    Wrapped
    """
    Y = np.asarray(Y)
    weights = label_weights(Y, np.ones(len(Y)) if weights is None else np.asarray(weights), class_weight)
    runs = [
        train_binary(X, 2 * Y[:, k] - 1, orders, weights=weights[:, k], **start_of(k, w, b), **options)
        for k in range(Y.shape[1])
    ]
    return Wrapped(runs)


def problem_scores(w, b, X):
    """The score of every row of X in every problem, (n, P)."""
    return np.array([scores(w, b, x) for x in float_array(X)])


def predict_one_vs_rest(w, b, X, zero_score="mistake"):
    """The class index of every row of X: the highest score, ties to the lowest index; the sign if there is one row."""
    found = problem_scores(w, b, X)
    if found.shape[1] == 1:
        return np.array([1 if sign(s, zero_score) == 1 else 0 for s in found[:, 0]])
    return np.array([best(s) for s in found])


def predict_one_vs_one(w, b, X, n_classes):
    """Every problem (a, b) votes for b if its score is > 0, for a otherwise; confidences break ties.

    The confidence in a class is the sum of the scores that speak for it minus those that speak against it. Squashed by
    c / (3 (|c| + 1)) it stays within 1/3 of 0, so that it can never outweigh a vote.

    Returns
    -------
    decision : array (n, K): votes plus squashed confidence.
    labels : array (n,) of class indices: the highest decision, ties to the lowest index.
    """
    decision = []
    for row in problem_scores(w, b, X):
        votes, confidence = np.zeros(n_classes), np.zeros(n_classes)
        for (first, second), s in zip(combinations(range(n_classes), 2), row, strict=True):
            votes[second if s > 0 else first] += 1
            confidence[second] += s
            confidence[first] -= s
        decision.append(votes + confidence / (3 * (np.abs(confidence) + 1)))
    return np.array(decision), np.array([best(row) for row in decision])


def predict_several_labels(w, b, X, zero_score="mistake"):
    """The indicator matrix (n, L): 1 where the sign of the label's score is +1."""
    return np.array([[1 if sign(s, zero_score) == 1 else 0 for s in row] for row in problem_scores(w, b, X)])
