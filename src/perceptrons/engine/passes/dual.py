"""The kernel perceptron on one block of examples: scores and kernel values are given, the block is walked in order.

An update by example a corrects the scores of the examples behind it by a row of the block's Gram matrix, so the
mistakes are those of the rule one by one. Where kernel values come from: `kernel/sweep.py`.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.passes.voting import append_update


class Gram(NamedTuple):
    """Kernel values of the block, as far as they are known."""

    values: np.ndarray  # values[row[a]]: those of example a with the examples from `base` on
    row: np.ndarray  # (block,): -1 where they are not known
    base: int


class Walked(NamedTuple):
    """How far learning has come."""

    seen: float  # examples, by weight
    kept: int  # updates: the number of rows of the log that are used
    log: np.ndarray


@inlined
def first(s, a):
    """The class of the highest score of example a; ties go to the first."""
    best = 0
    for k in range(1, len(s)):
        if s[k, a] > s[best, a]:
            best = k
    return best


@inner
def correct(s, k, a, step, G, row, base):
    """s[k, a:] += step K(x_a, x_a:), row `row` of G, which begins at example `base`."""
    mine, g = s[k, a:], G[row, a - base :]
    for c in range(len(mine)):
        mine[c] += step * g[c]


@compiled
def doubts(s, y, sign, scale, row, begin):
    """How clearly each example from `begin` on is right whose row of kernel values is not known; others: infinity.

    By its worst problem, or by its lead over the other classes; at most 0: wrong.  scale: what to multiply that by.
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


@compiled
def rest_walk(s, y, sign, weight, gram, begin, eta, before):
    """Walk a block from example `begin` on, every row of scores a binary problem: two classes, or one-vs-rest.

        if y s_a <= 0:  alpha_a += eta y,   s_c += eta y K(x_a, x_c)  for the examples c from a on

    s: scores (problems, block);  sign[class, problem]: what y is;  before: a Walked.
    Changes s. Stops at an update whose kernel values are not known. Returns where it stopped, the loss, and a Walked.
    """
    (G, row, base), (seen, kept, out), loss = gram, before, 0.0
    for a in range(begin, len(y)):
        left = 1.0 if weight is None else weight[a]
        while left > 0:
            share, quiet = min(left, 1.0), True
            for k in range(len(s)):
                side = sign[y[a], k]
                if side * s[k, a] <= 0.0:
                    if row[a] < 0:
                        return a, loss, Walked(seen, kept, out)
                    quiet = False
                    loss -= share * side * s[k, a]
                    out = append_update(out, kept, seen, a, y[a], k, share * eta)
                    kept += 1
                    correct(s, k, a, share * eta * side, G, row[a], base)
            if quiet:
                share = left  # nothing changes, so all visits left are the same
            seen += share
            left -= share
    return len(y), loss, Walked(seen, kept, out)


@compiled
def joint_walk(s, y, weight, gram, begin, eta, before):
    """Walk a block as `rest_walk` does, the classes in competition.

    y_hat = argmax_k s_k;   if y_hat != y:  alpha_y += eta,  alpha_y_hat -= eta,  and the scores likewise
    """
    (G, row, base), (seen, kept, out), loss = gram, before, 0.0
    for a in range(begin, len(y)):
        left = 1.0 if weight is None else weight[a]
        while left > 0:
            share, y_hat = min(left, 1.0), first(s, a)
            if y_hat != y[a]:
                if row[a] < 0:
                    return a, loss, Walked(seen, kept, out)
                loss += share * (s[y_hat, a] - s[y[a], a])
                out = append_update(out, kept, seen, a, y[a], y_hat, share * eta)
                kept += 1
                correct(s, y[a], a, share * eta, G, row[a], base)
                correct(s, y_hat, a, -share * eta, G, row[a], base)
            else:
                share = left
            seen += share
            left -= share
    return len(y), loss, Walked(seen, kept, out)
