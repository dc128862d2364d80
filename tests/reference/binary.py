"""The binary perceptron as in the lecture (spec 1), keeping every weight vector for averaging and voting (spec 4).

The form for several classes is in `multiclass.py`, the pocket in `pocket.py`.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Run:
    """What a training run leaves behind.

    Attributes
    ----------
    w, b : the last weights and bias.
    path : list of (w, b, share), one after every example counted; share is 1, or the fraction of a weight.
    average_w, average_b : the mean over `path`, each entry counted by its share; the start weights if `path` is empty.
    versions : list of (w_k, b_k, c_k), the start first, then one per update; c_k is the count of examples survived.
    mistakes : list of int, one per epoch.
    losses : list of float, one per epoch: the sum of share * max(0, -y*s), s being the score at the visit.
    updates : int, all updates of all epochs.
    """

    w: np.ndarray
    b: float
    path: list
    average_w: np.ndarray
    average_b: float
    versions: list
    mistakes: list
    losses: list
    updates: int


def float_array(X):
    """X as an array of float32 if it is one already, of float64 otherwise."""
    X = np.asarray(X)
    return X if X.dtype == np.float32 else X.astype(np.float64)


def repetitions(weight):
    """The shares of the visits that an example of this weight gets: 2.5 gives [1, 1, 0.5], 0 gives none."""
    whole = int(weight)
    fraction = float(weight) - whole
    return [1.0] * whole + ([fraction] if fraction > 0 else [])


def mean_over(path):
    """The literal mean of all weights and biases on the path, in float64, each counted by its share (spec 4)."""
    shares = np.array([share for _, _, share in path])
    w = np.average(np.array([w for w, _, _ in path], dtype=np.float64), axis=0, weights=shares)
    b = np.average(np.array([b for _, b, _ in path], dtype=np.float64), axis=0, weights=shares)
    return w, b


def sign(s, zero_score):
    """+1 or -1; at 0 it is +1 for `"positive"` and -1 for every other convention (spec 1)."""
    if s == 0:
        return 1 if zero_score == "positive" else -1
    return 1 if s > 0 else -1


def is_mistake(s, y, zero_score):
    """Whether the score s is a mistake for the label y in {-1, +1}, by one of the four conventions at 0 (spec 1)."""
    if zero_score == "mistake":
        return y * s <= 0
    if zero_score == "correct":
        return y * s < 0
    if zero_score in ("positive", "negative"):
        return sign(s, zero_score) != y
    raise ValueError(f"zero_score={zero_score!r}")


def start(X, w, b):
    """The start (w, b) in the type of X; zeros where w is None."""
    w = np.zeros(X.shape[1], X.dtype) if w is None else np.array(w, X.dtype)
    return w, X.dtype.type(b)


def update(w, b, x, y, step, fit_intercept):
    """w + step*y*x and b + step*y, as new objects, so that earlier versions stay as they were (spec 1)."""
    signed_step = float(step * y)
    return w + signed_step * x, b + signed_step if fit_intercept else b


def train(X, y, orders, *, eta=1.0, zero_score="mistake", w=None, b=0.0, fit_intercept=True, weights=None, stop=False):
    """Train the online perceptron (spec 1).   if mistake:  w += eta y x,  b += eta y

    Parameters
    ----------
    X : array (n, d); float32 stays float32, everything else becomes float64.
    y : array (n,) of -1 and +1.
    orders : iterable of index sequences, one per epoch.
    eta : learning rate.
    zero_score : "mistake", "correct", "positive" or "negative".
    w, b : the start; zeros unless given.
    fit_intercept : if False, b keeps its start value.
    weights : array (n,) of non-negative floats, or None for all 1. An example of weight 2.5 is visited three times
        on the spot, the last time with half a step and half a count; one of weight 0 is skipped.
    stop : if True, an epoch without a mistake is the last one (spec 5a).

    Returns
    -------
    Run
    """
    X = float_array(X)
    y = np.asarray(y)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights)
    w, b = start(X, w, b)
    path, mistakes, losses = [], [], []
    versions = [(w, b, 0.0)]

    for order in orders:
        epoch_mistakes, epoch_loss = 0, 0.0
        for i in order:
            for share in repetitions(weights[i]):
                s = w @ X[i] + b
                epoch_loss += share * max(0.0, float(-y[i] * s))
                if is_mistake(s, y[i], zero_score):
                    w, b = update(w, b, X[i], y[i], eta * share, fit_intercept)
                    versions.append((w, b, 0.0))
                    epoch_mistakes += 1
                # Freund and Schapire (1999): a new version already counts the example that made it.
                w_k, b_k, c_k = versions[-1]
                versions[-1] = (w_k, b_k, c_k + share)
                path.append((w, b, share))
        mistakes.append(epoch_mistakes)
        losses.append(epoch_loss)
        if stop and epoch_mistakes == 0:
            break

    average_w, average_b = mean_over(path) if path else (w, b)
    return Run(w, b, path, average_w, average_b, versions, mistakes, losses, sum(mistakes))


def predict(w, b, X, zero_score):
    """The labels -1/+1 of the rows of X, by the sign of w·x + b (spec 1)."""
    return np.array([sign(w @ x + b, zero_score) for x in float_array(X)], dtype=int)


def predict_vote(versions, X, zero_score):
    """The voted perceptron: sign(sum of c_k sign(w_k·x + b_k)) (spec 4; Freund and Schapire 1999).

    Returns
    -------
    vote_sum : array (n,)
    labels : array (n,) of -1/+1; a sum of 0 goes by `zero_score`, as every single vote does.
    """
    X = float_array(X)
    vote_sum = np.zeros(len(X))
    for i, x in enumerate(X):
        for w_k, b_k, c_k in versions:
            vote_sum[i] += c_k * sign(w_k @ x + b_k, zero_score)
    return vote_sum, np.array([sign(v, zero_score) for v in vote_sum], dtype=int)
