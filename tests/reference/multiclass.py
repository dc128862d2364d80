"""The perceptron for several classes at once (spec 3, joint), keeping every theta for averaging and voting (spec 4).

The binary form is in `binary.py`, the pocket in `pocket.py`.
"""

from dataclasses import dataclass

import numpy as np

from .binary import float_array, mean_over, repetitions


@dataclass
class Run:
    """What a training run leaves behind.

    Attributes
    ----------
    theta, b : the last weights (K, d) and biases (K,).
    path : list of (theta, b, share), one after every example counted; share is 1, or the fraction of a weight.
    average_theta, average_b : the mean over `path`, each entry counted by its share; the start if `path` is empty.
    versions : list of (theta_k, b_k, c_k), the start first, then one per update; c_k is the count of examples survived.
    mistakes : list of int, one per epoch.
    losses : list of float, one per epoch: the sum of share * (score of the predicted - score of the true class).
    updates : int, all updates of all epochs.
    """

    theta: np.ndarray
    b: np.ndarray
    path: list
    average_theta: np.ndarray
    average_b: np.ndarray
    versions: list
    mistakes: list
    losses: list
    updates: int


def start(X, n_classes, theta, b):
    """The start (theta, b) in the type of X; zeros where None."""
    theta = np.zeros((n_classes, X.shape[1]), X.dtype) if theta is None else np.array(theta, X.dtype)
    b = np.zeros(n_classes, X.dtype) if b is None else np.array(b, X.dtype)
    return theta, b


def scores(theta, b, x):
    """The score of every class (K,)."""
    # Row by row: in one matrix product two equal rows may round differently, and a tie is no longer a tie.
    return np.array([theta[k] @ x + b[k] for k in range(len(theta))])


def best(values):
    """The index of the largest value; ties go to the lowest index (spec 3)."""
    return int(np.argmax(values))


def update(theta, b, x, y, y_hat, step, fit_intercept):
    """Add step*x to row y, subtract it from row y_hat, in new arrays, so that earlier versions stay (spec 3)."""
    theta, b = theta.copy(), b.copy()
    theta[y] += step * x
    theta[y_hat] -= step * x
    if fit_intercept:
        b[y] += step
        b[y_hat] -= step
    return theta, b


def train(X, y, orders, n_classes, *, eta=1.0, theta=None, b=None, fit_intercept=True, weights=None, stop=False):
    """Train the multiclass perceptron (spec 3).   if y_hat != y:  theta += eta (f(x, y) - f(x, y_hat))

    Parameters
    ----------
    X : array (n, d); float32 stays float32, everything else becomes float64.
    y : array (n,) of class indices 0..K-1.
    orders : iterable of index sequences, one per epoch.
    n_classes : K.
    eta : learning rate.
    theta, b : the start, (K, d) and (K,); zeros unless given.
    fit_intercept : if False, b keeps its start value.
    weights : array (n,) of non-negative floats, or None for all 1; as in `binary.train`.
    stop : if True, an epoch without a mistake is the last one (spec 5a).

    Returns
    -------
    Run
    """
    X = float_array(X)
    y = np.asarray(y)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights)
    theta, b = start(X, n_classes, theta, b)
    path, mistakes, losses = [], [], []
    versions = [(theta, b, 0.0)]

    for order in orders:
        epoch_mistakes, epoch_loss = 0, 0.0
        for i in order:
            for share in repetitions(weights[i]):
                s = scores(theta, b, X[i])
                y_hat = best(s)
                epoch_loss += share * float(s[y_hat] - s[y[i]])
                if y_hat != y[i]:
                    theta, b = update(theta, b, X[i], y[i], y_hat, eta * share, fit_intercept)
                    versions.append((theta, b, 0.0))
                    epoch_mistakes += 1
                # Freund and Schapire (1999): a new version already counts the example that made it.
                theta_k, b_k, c_k = versions[-1]
                versions[-1] = (theta_k, b_k, c_k + share)
                path.append((theta, b, share))
        mistakes.append(epoch_mistakes)
        losses.append(epoch_loss)
        if stop and epoch_mistakes == 0:
            break

    average_theta, average_b = mean_over(path) if path else (theta, b)
    return Run(theta, b, path, average_theta, average_b, versions, mistakes, losses, sum(mistakes))


def predict(theta, b, X):
    """The class index of every row of X: argmax_y theta·f(x, y), ties to the lowest index (spec 3)."""
    return np.array([best(scores(theta, b, x)) for x in float_array(X)], dtype=int)


def predict_vote(versions, X):
    """Every version votes for its argmax with weight c_k (spec 4).

    Returns
    -------
    votes : array (n, K)
    labels : array (n,) of class indices; ties go to the lowest index, as in every single vote.
    """
    X = float_array(X)
    votes = np.zeros((len(X), len(versions[0][0])))
    for i, x in enumerate(X):
        for theta_k, b_k, c_k in versions:
            votes[i, best(scores(theta_k, b_k, x))] += c_k
    return votes, np.array([best(v) for v in votes], dtype=int)
