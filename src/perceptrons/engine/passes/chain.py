"""The structured perceptron for sequences, a first-order chain (Collins 2002).

    y_hat = argmax_y' w·f(x, y') + D(y');    if y_hat != y:  w += step (f(x, y) - f(x, y_hat))

Given: sequences, the order to visit them in, the rule. D(y') = margin + cost * (wrong tokens of y') for y' != y: by so
much the true labelling must lead every other one. The step is eta, or passive-aggressive: loss / |f - f_hat|², at most
C. Changed: the chain and the counts. The search is in `viterbi.py`, the layout of weights in `weight_pool.py`.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.steps import CONSTANT
from perceptrons.engine.passes.viterbi import add_cost, lead, precedes, read_best, search, search_others
from perceptrons.engine.passes.weight_pool import Table, add, add_weights, find, score_tokens
from perceptrons.engine.rows import Sparse


class Sequences(NamedTuple):
    """Labelled sequences: sequence i has the tokens starts[i]:starts[i + 1] of rows and y."""

    rows: Sparse
    starts: np.ndarray
    y: np.ndarray


class Chain(NamedTuple):
    """The weights of a chain and the lazy sums of their average (`average.py`), as the pass changes them."""

    table: Table  # says where the weights of features are
    w: np.ndarray  # (pool,)
    arcs: np.ndarray  # (K + 1, K + 1), from and to
    lazy_sum_w: np.ndarray  # (pool,)
    lazy_sum_arcs: np.ndarray  # (K + 1, K + 1)
    t: np.ndarray  # (1,): sequences seen
    arcs_t: np.ndarray  # (K + 1, K + 1), to and from: the arcs and what is forbidden, see transposed_arcs
    has_weight: np.ndarray  # (K + 1, K + 1): 1, or 0 for arcs that have no weight


class ChainRule(NamedTuple):
    kind: int  # CONSTANT or PASSIVE
    eta: float
    cap: float  # PASSIVE: the largest step, C
    margin: float
    cost: float  # per wrong token; 1 is the Hamming cost


class Difference(NamedTuple):
    """Buffers for f(x, y) - f(x, y_hat), all 0 between two sequences; empty for constant steps."""

    w: np.ndarray  # (pool,)
    arcs: np.ndarray


@compiled
def chain_pass(sequences, order, begin, model, rule, workspace, difference, counts):
    """Visit the sequences of the order, from place `begin` on, and learn from each.

    difference: None for a constant step without margin and cost; numba then leaves out everything else. Changes model,
    and counts: mistakes, updates, and the sum of the losses D(y_hat) + w·f(x, y_hat) - w·f(x, y). Returns the place
    before which the pool must grow, or the end.
    """
    (rows, starts, y), arcs_t, number = sequences, model.arcs_t, model.w.dtype.type
    y_hat, y_hat_plain = workspace.y_hat, workspace.y_hat_plain
    v, level, v_other = workspace.v, workspace.level, workspace.v_other
    for p in range(begin, len(order)):
        a, n = starts[order[p]], starts[order[p] + 1] - starts[order[p]]
        score_tokens(rows, a, n, model.table, model.w, workspace.row, workspace.e)
        e = workspace.e
        if difference is not None and rule.cost > 0.0:
            e = workspace.e_with_cost
            add_cost(workspace.e, y, a, n, number(rule.cost), e)
        search(e, arcs_t, n, v, level)
        if difference is not None and rule.margin > 0.0 and n > 0:
            search_others(e, arcs_t, n, y, a, v, level, v_other)
        has_labelling = read_best(v, arcs_t, n, y, a, v_other, rule.margin > 0.0, y_hat)
        if has_labelling and differ(y, a, n, y_hat):
            loss = rule.margin + lead(e, arcs_t, y, a, n, y_hat)
            triggered = loss > 0.0
            if rule.kind == CONSTANT:  # at a loss of 0 the first labelling in lexicographic order wins
                triggered = triggered or rule.margin == 0.0 or (loss == 0.0 and precedes(y_hat, n, y, a))
            if triggered and not make_room(rows, y, a, n, y_hat, model):
                return p
            step = rule.eta
            if difference is not None and triggered and rule.kind != CONSTANT:
                norm = squared_difference(rows, y, a, n, y_hat, model, difference)
                step = min(rule.cap, loss / norm) if norm > 0.0 else 0.0
            if triggered:
                counts[2] += max(loss, 0.0)
                is_mistake = True
                if difference is not None and (rule.margin > 0.0 or rule.cost > 0.0):
                    search(workspace.e, arcs_t, n, v, level)
                    read_best(v, arcs_t, n, y, a, v_other, False, y_hat_plain)
                    is_mistake = differ(y, a, n, y_hat_plain)
                counts[0] += is_mistake
            if triggered and step > 0.0:
                update(rows, y, a, n, y_hat, number(step), model)
                counts[1] += 1
        model.t[0] += 1.0
    return len(order)


@inner
def differ(y, a, n, y_hat):
    n_wrong = 0
    for t in range(n):
        n_wrong += y_hat[t] != y[a + t]
    return n_wrong > 0


@inner
def make_room(rows, y, a, n, y_hat, model):
    """Give weights to all features and labels in which y and y_hat differ. Returns False if the pool is too small."""
    K = model.arcs.shape[0] - 1
    for t in range(n):
        if y[a + t] != y_hat[t]:
            if not add_weights(rows, a + t, model.table, model.w, model.lazy_sum_w, y[a + t], K):
                return False
            has_lists = len(model.table.labels) > 0  # else a feature that has one weight has all
            if has_lists and not add_weights(rows, a + t, model.table, model.w, model.lazy_sum_w, y_hat[t], K):
                return False
    return True


@inner
def update(rows, y, a, n, y_hat, step, model):
    """w += step (f(x, y) - f(x, y_hat)), and t times as much into the lazy sums."""
    K, lazy_step = model.arcs.shape[0] - 1, model.t[0] * step
    for t in range(n + 1):
        k, k_hat = (y[a + t], y_hat[t]) if t < n else (K, K)
        before, before_hat = (y[a + t - 1], y_hat[t - 1]) if t > 0 else (K, K)
        if t < n and k != k_hat:
            add(rows, a + t, step, model.table, model.w, k, k_hat, K)
            add(rows, a + t, lazy_step, model.table, model.lazy_sum_w, k, k_hat, K)
        if k != k_hat or before != before_hat:
            for i, j, sign in ((before, k, 1), (before_hat, k_hat, -1)):
                model.arcs[i, j] += sign * step * model.has_weight[i, j]
                model.lazy_sum_arcs[i, j] += sign * lazy_step * model.has_weight[i, j]
                model.arcs_t[j, i] += sign * step * model.has_weight[i, j]


@inner
def squared_difference(rows, y, a, n, y_hat, model, difference):
    """|f(x, y) - f(x, y_hat)|². A feature may be in several tokens, so it is first summed up in the buffers."""
    K, table, w, arcs, total = model.arcs.shape[0] - 1, model.table, difference.w, difference.arcs, 0.0
    for is_reading in (False, True):
        for t in range(n + 1):
            k, k_hat = (y[a + t], y_hat[t]) if t < n else (K, K)
            before, before_hat = (y[a + t - 1], y_hat[t - 1]) if t > 0 else (K, K)
            if t < n and k != k_hat:
                if is_reading:
                    total += take_squares(rows, a + t, table, w, k, K) + take_squares(rows, a + t, table, w, k_hat, K)
                else:
                    add(rows, a + t, 1.0, table, w, k, k_hat, K)
            if k != k_hat or before != before_hat:
                for i, j, sign in ((before, k, 1), (before_hat, k_hat, -1)):
                    if is_reading:
                        total += arcs[i, j] ** 2
                        arcs[i, j] = 0.0
                    else:
                        arcs[i, j] += sign * model.has_weight[i, j]
    return total


@inner
def take_squares(rows, i, table, w, k, K):
    """The sum of the squares of w for label k and the features of x_i, which are then set to 0."""
    total = 0.0
    for p in range(rows.starts[i], rows.starts[i + 1]):
        q = np.uint64(find(table, np.uint64(rows.columns[p]), k, K))
        total += w[q] ** 2
        w[q] = 0.0
    return total
