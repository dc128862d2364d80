"""The largest margin by coordinates: passes over the examples that change one dual weight at a time."""

import numpy as np

from perceptrons.engine.compiling import compiled
from perceptrons.engine.rows import add, dot, move, scores, sqnorm


@compiled
def binary_descent(rows, y, order, w, b, one, alpha):
    """One pass of dual coordinate descent.   min |w|^2 / 2,  y (w·x + b) >= 1      (Hsieh et al. 2008, without a C)

    step = (1 - y s) / |x|^2, but never alpha below 0: a passive-aggressive step that can be taken back.
    Changes w (d,), b (1,) and alpha (n,). one: the constant feature whose weight is b / one.
    """
    for i in order:
        s = dot(rows, i, w) + b[0]
        step = max(-alpha[i], (1.0 - y[i] * s) / (sqnorm(rows, i) + one * one))
        if step != 0.0:
            alpha[i] += step
            add(rows, i, step * y[i], w)
            b[0] += step * y[i] * one * one


@compiled
def multiclass_descent(rows, y, order, theta, b, one, alpha):
    """The same for a lead of 1 over every rival.  Changes theta (K, d), b (K,) and alpha (n, K)."""
    s = np.zeros(len(b))
    for i in order:
        scores(rows, i, theta, s)
        for k in range(len(b)):
            s[k] += b[k]
        square = sqnorm(rows, i) + one * one
        for r in range(len(b)):
            if r == y[i]:
                continue
            step = max(-alpha[i, r], (1.0 - s[y[i]] + s[r]) / (2.0 * square))
            if step != 0.0:
                alpha[i, r] += step
                move(rows, i, step, theta, y[i], r)
                b[y[i]] += step * one * one
                b[r] -= step * one * one
                s[y[i]] += step * square
                s[r] -= step * square
