"""The pocket algorithm with ratchet (spec 4; Gallant 1990), for the binary rule and for several classes.

The rules themselves, mistake and update, are those of `binary.py` and `multiclass.py`.
"""

import numpy as np

from . import binary as binary_rule
from . import multiclass as multiclass_rule


def ratchet(current, orders, weights, is_mistake, updated, stop):
    """Keep the weights with the fewest training mistakes, judged only when their run of right answers is the longest.

    Parameters
    ----------
    current : the start (w, b); never changed in place.
    orders : iterable of index sequences, one per epoch.
    weights : array (n,) of example weights.
    is_mistake : function (current, i) -> bool.
    updated : function (current, i, share) -> the new (w, b).
    stop : if True, an epoch without a mistake is the last one.

    Returns
    -------
    (w, b) in the pocket, and its weighted training mistakes
    """

    def training_mistakes(candidate):
        return float(sum(weights[i] for i in range(len(weights)) if is_mistake(candidate, i)))

    pocket, pocket_mistakes, pocket_run = current, training_mistakes(current), 0.0
    run = 0.0
    judged = True  # the current weights, since the last update

    for order in orders:
        epoch_mistakes = 0
        for i in order:
            for share in binary_rule.repetitions(weights[i]):
                if is_mistake(current, i):
                    current = updated(current, i, share)
                    epoch_mistakes += 1
                    run = 0.0
                    judged = False
                    continue
                run += share
                if run > pocket_run and not judged:
                    judged = True
                    found = training_mistakes(current)
                    if found < pocket_mistakes:
                        pocket, pocket_mistakes, pocket_run = current, found, run
                elif run > pocket_run and current is pocket:
                    pocket_run = run
        if not judged:
            judged = True
            found = training_mistakes(current)
            if found < pocket_mistakes:
                pocket, pocket_mistakes, pocket_run = current, found, run
        if stop and epoch_mistakes == 0:
            break

    return pocket, pocket_mistakes


def binary(X, y, orders, *, eta=1.0, zero_score="mistake", w=None, b=0.0, fit_intercept=True, weights=None, stop=False):
    """The pocket of the binary rule; the parameters are those of `binary.train`.

    Returns
    -------
    w, b : the weights in the pocket.
    mistakes_of_pocket : float, the summed weights of the training examples they get wrong, by `zero_score`.
    """
    X = binary_rule.float_array(X)
    y = np.asarray(y)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights)

    def is_mistake(current, i):
        w, b = current
        return binary_rule.is_mistake(w @ X[i] + b, y[i], zero_score)

    def updated(current, i, share):
        w, b = current
        return binary_rule.update(w, b, X[i], y[i], eta * share, fit_intercept)

    (w, b), mistakes = ratchet(binary_rule.start(X, w, b), orders, weights, is_mistake, updated, stop)
    return w, b, mistakes


def multiclass(X, y, orders, n_classes, *, eta=1.0, theta=None, b=None, fit_intercept=True, weights=None, stop=False):
    """The pocket of the rule for several classes; the parameters are those of `multiclass.train`.

    Returns
    -------
    theta, b : the weights in the pocket.
    mistakes_of_pocket : float, the summed weights of the training examples whose argmax is not their class.
    """
    X = binary_rule.float_array(X)
    y = np.asarray(y)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights)

    def predicted(current, i):
        theta, b = current
        return multiclass_rule.best(multiclass_rule.scores(theta, b, X[i]))

    def is_mistake(current, i):
        return predicted(current, i) != y[i]

    def updated(current, i, share):
        theta, b = current
        return multiclass_rule.update(theta, b, X[i], y[i], predicted(current, i), eta * share, fit_intercept)

    (theta, b), mistakes = ratchet(
        multiclass_rule.start(X, n_classes, theta, b), orders, weights, is_mistake, updated, stop
    )
    return theta, b, mistakes
