"""The best labelling of a sequence, by exact Viterbi. `chain.py` learns from it.

    y_hat = argmax_y  sum_t e[t, y_t] + sum_t arcs[y_t-1, y_t]

Given: e, the score of every label for every token, and the weights of arcs, by (from, to). Labels are 0 to K - 1, and K
stands for both ends of a sequence: arcs[K, k] is the weight of beginning with label k, arcs[k, K] that of ending with
it. Changed: a workspace. The search goes from the last token to the first, so that of equal labellings the result is
the first in lexicographic order.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.weight_pool import score_tokens, width_of

MAX_SCORE = 1024.0  # scores beyond are lowered, see search


class Workspace(NamedTuple):
    """Buffers for the longest sequence."""

    e: np.ndarray  # (n, K): score of every label for every token
    e_with_cost: np.ndarray  # (n, K)
    v: np.ndarray  # (n, K): see search
    level: np.ndarray  # (n,)
    v_other: np.ndarray  # (n,): see search_others
    y_hat: np.ndarray  # (n,)
    y_hat_plain: np.ndarray  # (n,): y_hat without costs and margin
    row: np.ndarray  # (width_of(K),): see score_tokens


def new_workspace(longest, K, dtype):
    e, e_with_cost, v = (np.empty((longest, K), dtype) for _ in range(3))
    level, v_other = (np.empty(longest, dtype) for _ in range(2))
    y_hat, y_hat_plain = (np.empty(longest, np.int32) for _ in range(2))
    return Workspace(e, e_with_cost, v, level, v_other, y_hat, y_hat_plain, np.empty(width_of(K), dtype))


def transposed_arcs(arcs, barrier):
    """The weights of arcs by (to, from), as loops read them; minus infinity for forbidden ones."""
    return np.ascontiguousarray((arcs + barrier).T)


@compiled
def label_sequences(rows, starts, table, w, arcs_t, workspace, y_hat):
    """Write the best allowed labelling of every sequence into y_hat. Returns the first sequence without one, or -1."""
    e, v = workspace.e, workspace.v
    for i in range(len(starts) - 1):
        a, n = starts[i], starts[i + 1] - starts[i]
        score_tokens(rows, a, n, table, w, workspace.row, e)
        search(e, arcs_t, n, v, workspace.level)
        if not read_best(v, arcs_t, n, y_hat, 0, workspace.v_other, False, y_hat[a:]):
            return i
    return -1


@compiled
def scores_through(rows, starts, table, w, arcs_t, s):
    """s[token, k] = the score of the best allowed labelling of the sequence that gives the token label k."""
    K = s.shape[1]
    one, row = np.empty((1, K), w.dtype), np.empty(width_of(K), w.dtype)
    e = one[0]
    before, here = np.empty(K), np.empty(K)
    for i in range(len(starts) - 1):
        a, n = starts[i], starts[i + 1] - starts[i]
        for t in range(a, a + n):
            score_tokens(rows, t, 1, table, w, row, one)
            for k in range(K):
                s[t, k] = e[k]
        for t in range(a + n - 1, a - 1, -1):  # the best from here to the end
            for k in range(K):
                best = np.float64(arcs_t[K, k]) if t == a + n - 1 else -np.inf
                if t < a + n - 1:
                    for j in range(K):
                        best = max(best, arcs_t[j, k] + s[t + 1, j])
                s[t, k] += best
        for k in range(K):
            before[k] = arcs_t[k, K]
        for t in range(a, a + n):  # and from the beginning to before it
            score_tokens(rows, t, 1, table, w, row, one)
            for k in range(K):
                here[k] = -np.inf
            for k in range(K):
                s[t, k] += before[k]
                for j in range(K):
                    here[j] = max(here[j], before[k] + e[k] + arcs_t[j, k])
            before, here = here, before


@inner
def add_cost(e, y, a, n, cost, e_with_cost):
    """e_with_cost = e + cost for every label but the true one."""
    for t in range(n):
        for k in range(e.shape[1]):
            e_with_cost[t, k] = e[t, k] + cost
        e_with_cost[t, y[a + t]] = e[t, y[a + t]]


@inner
def search(e, arcs_t, n, v, level):
    """v[t, k] = the best score of the tokens from t on if token t has label k, less a constant for every t.

        v[t, k] = e[t, k] + max_j arcs[k, j] + v[t + 1, j] - level[t]

    The constant keeps numbers small, so that a long sequence is as exact as a short one.
    """
    K = e.shape[1]
    for t in range(n - 1, -1, -1):
        here = v[t]
        if t == n - 1:
            row = arcs_t[K]
            for k in range(K):
                here[k] = row[k]
        else:
            ahead = v[t + 1]
            for k in range(K):
                here[k] = -np.inf
            j = 0
            while j + 4 <= K:  # four labels at a time: here is loaded and stored a quarter as often
                b, c, d, f = arcs_t[j], arcs_t[j + 1], arcs_t[j + 2], arcs_t[j + 3]
                p, q, r, s = ahead[j], ahead[j + 1], ahead[j + 2], ahead[j + 3]
                for k in range(K):
                    here[k] = max(here[k], max(max(b[k] + p, c[k] + q), max(d[k] + r, f[k] + s)))
                j += 4
            while j < K:
                b, p = arcs_t[j], ahead[j]
                for k in range(K):
                    here[k] = max(here[k], b[k] + p)
                j += 1
        for k in range(K):
            here[k] += e[t, k]
        level[t] = 0
        if not abs(here[0]) < MAX_SCORE:
            top = here[0]
            for k in range(1, K):
                top = max(top, here[k])
            if top > -np.inf:
                level[t] = top
                for k in range(K):
                    here[k] -= top


@inner
def search_others(e, arcs_t, n, y, a, v, level, v_other):
    """v_other[t] = v[t, y_t] among those labellings of the tokens from t on that differ from y somewhere."""
    v_other[n - 1] = -np.inf
    for t in range(n - 2, -1, -1):
        k, next_k = y[a + t], y[a + t + 1]
        best = arcs_t[next_k, k] + v_other[t + 1]
        for j in range(e.shape[1]):
            if j != next_k:
                best = max(best, arcs_t[j, k] + v[t + 1, j])
        v_other[t] = e[t, k] + best - level[t]


@inner
def read_best(v, arcs_t, n, y, a, v_other, must_differ, y_hat):
    """Write the best labelling into y_hat; with must_differ the best but y. Returns False if there is none."""
    previous, differs = v.shape[1], not must_differ
    for t in range(n):
        best, highest = 0, -np.inf
        for j in range(v.shape[1]):
            s = arcs_t[j, previous] + (v[t, j] if differs or j != y[a + t] else v_other[t])
            if s > highest:
                best, highest = j, s
        if highest == -np.inf:
            return False
        differs = differs or best != y[a + t]
        y_hat[t] = best
        previous = best
    return True


@inner
def precedes(y_hat, n, y, a):
    """Is y_hat before y in lexicographic order?"""
    for t in range(n):
        if y_hat[t] != y[a + t]:
            return y_hat[t] < y[a + t]
    return False


@inner
def lead(e, arcs_t, y, a, n, y_hat):
    """The score of y_hat less that of y."""
    K, total = e.shape[1], 0.0
    for t in range(n + 1):
        k, k_hat = (y[a + t], y_hat[t]) if t < n else (K, K)
        before, before_hat = (y[a + t - 1], y_hat[t - 1]) if t > 0 else (K, K)
        if t < n and k != k_hat:
            total += np.float64(e[t, k_hat]) - np.float64(e[t, k])
        if k != k_hat or before != before_hat:
            total += np.float64(arcs_t[k_hat, before_hat]) - np.float64(arcs_t[k, before])
    return total
