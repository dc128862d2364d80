"""The best labelling of a sequence, by exact Viterbi. What learns from it: `chain.py`.

Labels are numbers 0 to K - 1, and K stands for both ends of a sequence: arcs[K, k] is the weight of beginning with
label k, arcs[k, K] that of ending with it. The best labelling is searched from the last token to the first, so that
of equal ones it is the first in the order of the dictionary.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.shortlists import emit, width_of

HIGH = 1024.0  # scores beyond are brought down, see reach


@compiled
def tag(rows, starts, table, w, bridge, desk, y_hat):
    """Write the best allowed labelling of every sequence into y_hat, and return the first that has none, or -1."""
    for i in range(len(starts) - 1):
        a, n = starts[i], starts[i + 1] - starts[i]
        emit(rows, a, n, table, w, desk.row, desk.e)
        reach(desk.e, bridge, n, desk.v, desk.level)
        if not follow(desk.v, bridge, n, y_hat, 0, desk.other, False, y_hat[a:]):
            return i
    return -1


@compiled
def best_through(rows, starts, table, w, bridge, s):
    """s[token, k]: the score of the best allowed labelling of the sequence that gives the token label k."""
    K = s.shape[1]
    one, row = np.empty((1, K), w.dtype), np.empty(width_of(K), w.dtype)
    e = one[0]
    before, ahead = np.empty(K), np.empty(K)
    for i in range(len(starts) - 1):
        a, n = starts[i], starts[i + 1] - starts[i]
        for t in range(a, a + n):
            emit(rows, t, 1, table, w, row, one)
            for k in range(K):
                s[t, k] = e[k]
        for t in range(a + n - 1, a - 1, -1):  # the best from here to the end
            for k in range(K):
                best = np.float64(bridge[K, k]) if t == a + n - 1 else -np.inf
                if t < a + n - 1:
                    for j in range(K):
                        best = max(best, bridge[j, k] + s[t + 1, j])
                s[t, k] += best
        for k in range(K):
            before[k] = bridge[k, K]
        for t in range(a, a + n):  # and from the beginning to before it
            emit(rows, t, 1, table, w, row, one)
            for k in range(K):
                ahead[k] = -np.inf
            for k in range(K):
                s[t, k] += before[k]
                for j in range(K):
                    ahead[j] = max(ahead[j], before[k] + e[k] + bridge[j, k])
            before, ahead = ahead, before


class Desk(NamedTuple):
    """Room for one sequence while it is labelled: no more is ever needed."""

    e: np.ndarray  # (n, K): score of every label by the token's features
    costly: np.ndarray  # (n, K): the same with costs
    v: np.ndarray  # (n, K): see reach
    level: np.ndarray  # (n,)
    other: np.ndarray  # (n,): see reach_others
    y_hat: np.ndarray  # (n,)
    plain: np.ndarray  # (n,): y_hat without costs and margin
    row: np.ndarray  # (width_of(K),): see emit


def new_desk(longest, K, kind):
    e, costly, v = (np.empty((longest, K), kind) for _ in range(3))
    level, other = (np.empty(longest, kind) for _ in range(2))
    y_hat, plain = (np.empty(longest, np.int32) for _ in range(2))
    return Desk(e, costly, v, level, other, y_hat, plain, np.empty(width_of(K), kind))


def bridges(arcs, barrier):
    """The weights of the arcs by (to, from), minus infinity for the forbidden: the loops run along `from`."""
    return np.ascontiguousarray((arcs + barrier).T)


@inner
def add_cost(e, y, a, n, cost, costly):
    for t in range(n):
        for k in range(e.shape[1]):
            costly[t, k] = e[t, k] + cost
        costly[t, y[a + t]] = e[t, y[a + t]]


@inner
def reach(e, bridge, n, v, level):
    """v[t, k]: the best score of the tokens from t on if token t has label k, less a constant for every t.

        v[t, k] = e[t, k] + max_j bridge(k to j) + v[t + 1, j] - level[t]

    The constant keeps numbers small, and a long sequence as exact as a short one.
    """
    K = e.shape[1]
    for t in range(n - 1, -1, -1):
        now = v[t]
        if t == n - 1:
            row = bridge[K]
            for k in range(K):
                now[k] = row[k]
        else:
            ahead = v[t + 1]
            for k in range(K):
                now[k] = -np.inf
            j = 0
            while j + 4 <= K:  # four labels at a time: now is loaded and stored a quarter as often
                b, c, d, f = bridge[j], bridge[j + 1], bridge[j + 2], bridge[j + 3]
                p, q, r, s = ahead[j], ahead[j + 1], ahead[j + 2], ahead[j + 3]
                for k in range(K):
                    now[k] = max(now[k], max(max(b[k] + p, c[k] + q), max(d[k] + r, f[k] + s)))
                j += 4
            while j < K:
                b, p = bridge[j], ahead[j]
                for k in range(K):
                    now[k] = max(now[k], b[k] + p)
                j += 1
        for k in range(K):
            now[k] += e[t, k]
        level[t] = 0
        if not abs(now[0]) < HIGH:
            top = now[0]
            for k in range(1, K):
                top = max(top, now[k])
            if top > -np.inf:
                level[t] = top
                for k in range(K):
                    now[k] -= top


@inner
def reach_others(e, bridge, n, y, a, v, level, other):
    """other[t]: as v[t, y_t], but of labellings of the tokens from t on that are not y all along."""
    other[n - 1] = -np.inf
    for t in range(n - 2, -1, -1):
        here, there = y[a + t], y[a + t + 1]
        best = bridge[there, here] + other[t + 1]
        for j in range(e.shape[1]):
            if j != there:
                best = max(best, bridge[j, here] + v[t + 1, j])
        other[t] = e[t, here] + best - level[t]


@inner
def follow(v, bridge, n, y, a, other, apart, y_hat):
    """Write the best labelling into y_hat; apart: the best of those that are not y. Returns whether there is one."""
    previous, apart_yet = v.shape[1], not apart
    for t in range(n):
        best, highest = 0, -np.inf
        for j in range(v.shape[1]):
            s = bridge[j, previous] + (v[t, j] if apart_yet or j != y[a + t] else other[t])
            if s > highest:
                best, highest = j, s
        if highest == -np.inf:
            return False
        apart_yet = apart_yet or best != y[a + t]
        y_hat[t] = best
        previous = best
    return True


@inner
def precedes(y_hat, n, y, a):
    """Is y_hat before y in the order of the dictionary?"""
    for t in range(n):
        if y_hat[t] != y[a + t]:
            return y_hat[t] < y[a + t]
    return False


@inner
def lead(e, bridge, y, a, n, y_hat):
    """The score of y_hat less that of y."""
    K, total = e.shape[1], 0.0
    for t in range(n + 1):
        here, there = (y[a + t], y_hat[t]) if t < n else (K, K)
        was, had = (y[a + t - 1], y_hat[t - 1]) if t > 0 else (K, K)
        if t < n and here != there:
            total += np.float64(e[t, there]) - np.float64(e[t, here])
        if here != there or was != had:
            total += np.float64(bridge[there, had]) - np.float64(bridge[here, was])
    return total
