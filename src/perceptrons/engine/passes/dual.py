"""The kernel perceptron on one block of examples.

    if y_a s_a <= 0:  alpha_a += eta y_a,   s_c += eta y_a K(x_a, x_c)  for the examples c from a on

Given: the scores s (rows, block) before the block, and kernel values of likely mistakes with the examples behind them.
An update by example a corrects the scores of those by one row of the Gram matrix, so the mistakes are those of the
online rule. Changed: s, and the log of updates. A pass stops at an update whose kernel values are missing; the caller
(`kernel/training.py`) computes them and resumes. Source: Freund and Schapire 1999, in dual form.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.passes.voting import append_update


class Gram(NamedTuple):
    """The known kernel values of the block."""

    values: np.ndarray  # values[row[a]]: those of example a with the examples from `base` on
    row: np.ndarray  # (block,): -1 where they are not known
    base: int


class Progress(NamedTuple):
    seen: float  # examples, by weight
    n_updates: int  # the number of rows of the log that are used
    log: np.ndarray


@compiled
def binary_pass(s, y, sign, weight, gram, begin, eta, progress):
    """Visit the examples from `begin` on; every row of scores is a binary problem: two classes, or one-vs-rest.

    sign[class, row]: the target, +1 or -1. Returns where the pass stopped, the loss, and the progress.
    """
    (G, row, base), (seen, n_updates, log), loss = gram, progress, 0.0
    for a in range(begin, len(y)):
        visits_left = 1.0 if weight is None else weight[a]
        while visits_left > 0:
            fraction, is_right = min(visits_left, 1.0), True
            for k in range(len(s)):
                target = sign[y[a], k]
                if target * s[k, a] <= 0.0:
                    if row[a] < 0:
                        return a, loss, Progress(seen, n_updates, log)
                    is_right = False
                    loss -= fraction * target * s[k, a]
                    log = append_update(log, n_updates, seen, a, y[a], k, fraction * eta)
                    n_updates += 1
                    correct(s, k, a, fraction * eta * target, G, row[a], base)
            if is_right:
                fraction = visits_left  # the other visits change nothing either
            seen += fraction
            visits_left -= fraction
    return len(y), loss, Progress(seen, n_updates, log)


@compiled
def joint_pass(s, y, weight, gram, begin, eta, progress):
    """Visit the examples as `binary_pass` does, the classes in competition.

    y_hat = argmax_k s_k;   if y_hat != y:  alpha_y += eta,  alpha_y_hat -= eta,  and the scores likewise
    """
    (G, row, base), (seen, n_updates, log), loss = gram, progress, 0.0
    for a in range(begin, len(y)):
        visits_left = 1.0 if weight is None else weight[a]
        while visits_left > 0:
            fraction, y_hat = min(visits_left, 1.0), first_best(s, a)
            if y_hat != y[a]:
                if row[a] < 0:
                    return a, loss, Progress(seen, n_updates, log)
                loss += fraction * (s[y_hat, a] - s[y[a], a])
                log = append_update(log, n_updates, seen, a, y[a], y_hat, fraction * eta)
                n_updates += 1
                correct(s, y[a], a, fraction * eta, G, row[a], base)
                correct(s, y_hat, a, -fraction * eta, G, row[a], base)
            else:
                fraction = visits_left
            seen += fraction
            visits_left -= fraction
    return len(y), loss, Progress(seen, n_updates, log)


@inlined
def first_best(s, a):
    """The class with the highest score of example a; ties go to the first."""
    best = 0
    for k in range(1, len(s)):
        if s[k, a] > s[best, a]:
            best = k
    return best


@inner
def correct(s, k, a, step, G, row, base):
    """s[k, a:] += step K(x_a, x_a:), row `row` of G, which begins at example `base`."""
    scores, g = s[k, a:], G[row, a - base :]
    for c in range(len(scores)):
        scores[c] += step * g[c]


@compiled
def margins(s, y, sign, scale, row, begin):
    """The margin of every example from `begin` on whose row of kernel values is not known, else infinity.

    It is that of its worst problem, or its lead over the other classes, times scale. At most 0: a mistake.
    """
    margin = np.empty(s.shape[1] - begin)
    for a in range(begin, s.shape[1]):
        least = np.inf
        if row[a] < 0:
            for k in range(len(s)):
                if len(sign) > 0:
                    least = min(least, sign[y[a], k] * s[k, a])
                elif k != y[a]:
                    least = min(least, s[y[a], a] - s[k, a])
            least *= scale[a]
        margin[a - begin] = least
    return margin
