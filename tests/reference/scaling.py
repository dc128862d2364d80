"""Running mean and variance of a feature, from all values so far and their weights, every time anew."""

import numpy as np


def moments(values, window=None):
    """The weighted mean and variance; a value counts 1 - 1/window times as much as the next, or all count alike."""
    values = np.asarray(values, np.float64)
    keep = 1.0 if window is None else 1.0 - 1.0 / window
    weights = keep ** np.arange(len(values) - 1, -1, -1)
    mean = weights @ values / weights.sum()
    return mean, weights @ (values - mean) ** 2 / weights.sum()


def scaled(X, window=None):
    """Every row scaled by the rows up to it and itself; a feature that is constant so far becomes 0."""
    X = np.asarray(X, np.float64)
    Z = np.zeros_like(X)
    for i in range(len(X)):
        for j in range(X.shape[1]):
            mean, variance = moments(X[: i + 1, j], window)
            Z[i, j] = 0.0 if (X[: i + 1, j] == X[0, j]).all() else (X[i, j] - mean) / np.sqrt(variance)
    return Z
