"""Scores into probabilities, slowly: sigmoid, temperature and isotonic regression, and how good probabilities are.

Written from the papers (Platt 1999 with the targets of Lin, Lin and Weng 2007; Guo and others 2017; pool adjacent
violators), by searches that need no derivative.
"""

import numpy as np

GOLDEN = (5**0.5 - 1) / 2


def smallest(function, low, high, steps=90):
    """The argument of the smallest value of a function with one valley, by golden sections."""
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    fa, fb = function(a), function(b)
    for _ in range(steps):
        if fa < fb:
            high, b, fb = b, a, fa
            a = high - GOLDEN * (high - low)
            fa = function(a)
        else:
            low, a, fa = a, b, fb
            b = low + GOLDEN * (high - low)
            fb = function(b)
    return (low + high) / 2


def log_loss_of(z, target, weight):
    """Of probabilities 1 / (1 + exp(-z))."""
    return np.sum(weight * (target * np.logaddexp(0, -z) + (1 - target) * np.logaddexp(0, z)))


def sigmoid(scores, positive, weight):
    """Slope and offset."""
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    unit = np.abs(scores).max()

    def best_offset(slope):
        return smallest(lambda offset: log_loss_of(slope * scores / unit + offset, target, weight), -40, 40, 60)

    slope = smallest(lambda a: log_loss_of(a * scores / unit + best_offset(a), target, weight), -60, 60, 60)
    return slope / unit, best_offset(slope)


def softmax(scores):
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def inverse_temperature(scores, codes, weight):
    """The factor by which the softmax of scores has the least log loss; for examples not all of which are right."""

    def loss(logarithm):
        shares = softmax(np.exp(logarithm) * scores)
        return -np.sum(weight * np.log(np.maximum(shares[np.arange(len(codes)), codes], 1e-300)))

    return np.exp(smallest(loss, -15, 10))


def isotonic(scores, positive, weight):
    """The corners of the rising curve of least squares: pool adjacent violators."""
    blocks = []  # [scores, weight, sum]
    for score in np.unique(scores):
        here = scores == score
        blocks.append([[score], weight[here].sum(), (weight * positive)[here].sum()])
        while len(blocks) > 1 and blocks[-2][2] / blocks[-2][1] >= blocks[-1][2] / blocks[-1][1]:
            xs, total, true = blocks.pop()
            blocks[-1] = [blocks[-1][0] + xs, blocks[-1][1] + total, blocks[-1][2] + true]
    xs = [x for block in blocks for x in block[0]]
    ps = [true / total for block, total, true in blocks for _ in block]
    return np.array(xs), np.array(ps)


def calibration_error(codes, probabilities, bins=10):
    """The expected calibration error, bin by bin: of the second of two classes, else of the most probable."""
    if probabilities.shape[1] == 2:
        told, true = probabilities[:, 1], codes == 1
    else:
        told, true = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
    error = 0.0
    for k in range(bins):
        low, high = k / bins, (k + 1) / bins
        here = (told >= low) & ((told < high) | ((k == bins - 1) & (told == 1)))
        if here.any():
            error += here.sum() / len(codes) * abs(told[here].mean() - true[here].mean())
    return error
