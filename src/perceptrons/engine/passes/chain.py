"""The structured perceptron for sequences, a first-order chain. The search for labels: `viterbi.py`."""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.shortlists import Table, emit, make_room, place_of, shift
from perceptrons.engine.passes.steps import CONSTANT
from perceptrons.engine.passes.viterbi import add_cost, follow, lead, precedes, reach, reach_others


class Chain(NamedTuple):
    """The weights of a chain and their late sums (`average.py` says what these are), as the pass changes them."""

    table: Table  # where the weights of features are (`shortlists.py`)
    w: np.ndarray  # (pool,)
    arcs: np.ndarray  # (K + 1, K + 1), from and to
    late_w: np.ndarray
    late_arcs: np.ndarray
    t: np.ndarray  # (1,): sequences seen


class Spare(NamedTuple):
    """All 0 between two sequences; for passive-aggressive steps as large as the weights, else empty."""

    w: np.ndarray  # (pool,)
    arcs: np.ndarray


class Limits(NamedTuple):
    """What no learning changes, (K + 1, K + 1) as the arcs."""

    barrier: np.ndarray  # 0, or minus infinity where one label may not follow another
    taught: np.ndarray  # 1, or 0 for arcs that have no weight


class ChainRule(NamedTuple):
    kind: int  # CONSTANT or PASSIVE
    eta: float
    cap: float  # PASSIVE: the largest step, C
    margin: float  # by how much the true labelling has to lead every other
    cost: float  # and by how much more for every token that the other has wrong: 1 is the Hamming cost


@compiled
def chain_pass(rows, starts, y, order, begin, model, bridge, taught, rule, desk, spare, counts):
    """One pass of the structured perceptron over sequences (Collins 2002).

        y_hat = argmax_y' w·f(x, y') + D(y');    if y_hat != y:  w += eta (f(x, y) - f(x, y_hat))

    with D(y') = margin + cost * (tokens that y' has wrong) for y' != y. Sequence i has the tokens
    starts[i]:starts[i + 1] of rows and y, which must be an allowed labelling. bridge: see bridges; taught: 0 for arcs
    that have no weight, else 1. spare: None where the rule has neither margin nor cost and its step is constant; numba
    then leaves out what else there is. Changes model, bridge, desk and counts: mistakes, updates, and the sum of the
    losses D(y_hat) + w·f(x, y_hat) - w·f(x, y). Begins at this place of the order, and returns the place before which
    the pool of weights has to grow, or the end.
    """
    number = model.w.dtype.type
    y_hat, plain = desk.y_hat, desk.plain
    for p in range(begin, len(order)):
        a, n = starts[order[p]], starts[order[p] + 1] - starts[order[p]]
        emit(rows, a, n, model.table, model.w, desk.row, desk.e)
        e = desk.e
        if spare is not None and rule.cost > 0.0:
            e = desk.costly
            add_cost(desk.e, y, a, n, number(rule.cost), e)
        reach(e, bridge, n, desk.v, desk.level)
        if spare is not None and rule.margin > 0.0 and n > 0:
            reach_others(e, bridge, n, y, a, desk.v, desk.level, desk.other)
        found = follow(desk.v, bridge, n, y, a, desk.other, rule.margin > 0.0, y_hat)
        if found and differ(y, a, n, y_hat):
            loss = rule.margin + lead(e, bridge, y, a, n, y_hat)
            asks = loss > 0.0
            if rule.kind == CONSTANT:  # at a loss of 0 the first labelling in the order of the dictionary wins
                asks = asks or rule.margin == 0.0 or (loss == 0.0 and precedes(y_hat, n, y, a))
            if asks and not make_room_for(rows, y, a, n, y_hat, model):
                return p
            step = rule.eta
            if spare is not None and asks and rule.kind != CONSTANT:
                norm = sqdistance(rows, y, a, n, y_hat, taught, model.table, spare)
                step = min(rule.cap, loss / norm) if norm > 0.0 else 0.0
            if asks:
                counts[2] += max(loss, 0.0)
                mistaken = True
                if spare is not None and (rule.margin > 0.0 or rule.cost > 0.0):
                    reach(desk.e, bridge, n, desk.v, desk.level)
                    follow(desk.v, bridge, n, y, a, desk.other, False, plain)
                    mistaken = differ(y, a, n, plain)
                counts[0] += mistaken
            if asks and step > 0.0:
                learn_chain(rows, y, a, n, y_hat, number(step), taught, model, bridge)
                counts[1] += 1
        model.t[0] += 1.0
    return len(order)


@inner
def differ(y, a, n, y_hat):
    wrong = 0
    for t in range(n):
        wrong += y_hat[t] != y[a + t]
    return wrong > 0


@inner
def make_room_for(rows, y, a, n, y_hat, model):
    """Give weights to all features and labels that y and y_hat differ in. Returns False where the pool is too small."""
    K = model.arcs.shape[0] - 1
    for t in range(n):
        if y[a + t] != y_hat[t]:
            if not make_room(rows, a + t, model.table, model.w, model.late_w, y[a + t], K):
                return False
            lists = len(model.table.labels) > 0  # else a feature that has one weight has all
            if lists and not make_room(rows, a + t, model.table, model.w, model.late_w, y_hat[t], K):
                return False
    return True


@inner
def learn_chain(rows, y, a, n, y_hat, step, taught, model, bridge):
    """w += step (f(x, y) - f(x, y_hat)), and as much times t into the late sums.  Changes model and bridge."""
    K, late = model.arcs.shape[0] - 1, model.t[0] * step
    for t in range(n + 1):
        here, there = (y[a + t], y_hat[t]) if t < n else (K, K)
        was, had = (y[a + t - 1], y_hat[t - 1]) if t > 0 else (K, K)
        if t < n and here != there:
            shift(rows, a + t, step, model.table, model.w, here, there, K)
            shift(rows, a + t, late, model.table, model.late_w, here, there, K)
        if here != there or was != had:
            for i, j, sign in ((was, here, 1), (had, there, -1)):
                model.arcs[i, j] += sign * step * taught[i, j]
                model.late_arcs[i, j] += sign * late * taught[i, j]
                bridge[j, i] += sign * step * taught[i, j]


@inner
def sqdistance(rows, y, a, n, y_hat, taught, table, spare):
    """|f(x, y) - f(x, y_hat)|²: a feature may stand in several tokens, so it is summed up in the spare room first."""
    K, w, arcs, total = taught.shape[0] - 1, spare.w, spare.arcs, 0.0
    for counting in (False, True):
        for t in range(n + 1):
            here, there = (y[a + t], y_hat[t]) if t < n else (K, K)
            was, had = (y[a + t - 1], y_hat[t - 1]) if t > 0 else (K, K)
            if t < n and here != there:
                if counting:
                    total += take(rows, a + t, table, w, here, K) + take(rows, a + t, table, w, there, K)
                else:
                    shift(rows, a + t, 1.0, table, w, here, there, K)
            if here != there or was != had:
                for i, j, sign in ((was, here, 1), (had, there, -1)):
                    if counting:
                        total += arcs[i, j] ** 2
                        arcs[i, j] = 0.0
                    else:
                        arcs[i, j] += sign * taught[i, j]
    return total


@inner
def take(rows, i, table, w, k, K):
    """The sum of squares of the weights of label k for the features of x_i, which are set to 0."""
    total = 0.0
    for p in range(rows.starts[i], rows.starts[i + 1]):
        at = np.uint64(place_of(table, np.uint64(rows.columns[p]), k, K))
        total += w[at] ** 2
        w[at] = 0.0
    return total
