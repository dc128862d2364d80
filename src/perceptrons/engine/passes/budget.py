"""The kernel perceptron on a budget: a limited number of support vectors, whose slots are reused.

    s = sum_j alpha_j K(x_j, x);    if y s <= 0:  alpha_x += eta y

Given: a block of examples, their kernel values with each other and with the support vectors, the rule. If an update
needs a new support vector and the budget is full, the policy decides:

- remove_random: a random one leaves (Cavallanti, Cesa-Bianchi, Gentile 2007);
- forget_oldest: all shrink, then the oldest leaves (the self-tuned Forgetron; Dekel, Shalev-Shwartz, Singer 2008);
- project: the example is expressed by the support vectors (Projectron; Orabona, Keshet, Caputo 2009).

Changed: the state and the slots. Returned: updates and loss. Every score is computed from the coefficients of its time,
so that removing, shrinking and projecting need no corrections.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.hashing import mixed

REMOVE_RANDOM, FORGET_OLDEST, PROJECT = range(3)  # policies
SEEN, TAKEN, ENTERED, REMOVED, FORGOTTEN, UPDATES, RADIUS = range(7)  # counters, see BudgetState
NUMBERS = 7
BUDGET_OF_FORGETTING = 15.0 / 32.0  # the largest cost of forgetting, as a fraction of the updates
PROJECTED, INDEFINITE = -1, -2  # results of add_support_vector


class BudgetState(NamedTuple):
    """f = sum over the slots j of coef[j] K(x_j, ·). The mean of coef over the examples seen is coef - lazy_sum / seen.

    lazy_sum is the sum of (examples seen before) * (change of coef).
    """

    coef: np.ndarray  # float64 (slots, rows)
    lazy_sum: np.ndarray  # float64 (slots, rows)
    entry_order: np.ndarray  # int64 (slots,): 0 for the first that ever entered
    row: np.ndarray  # int64 (slots,): in the training set, or -1
    matrix: np.ndarray  # float64 (slots, slots): kernel values (to forget), the Cholesky factor (to project), or empty
    counters: np.ndarray  # float64 (7,): examples seen, by weight; support vectors; entered so far; removed so far;

    # cost of forgetting so far (Q); updates by their fractions, of competing classes twice (M); largest K(x, x) of one


class BudgetRule(NamedTuple):
    size: int  # the largest number of support vectors
    policy: int
    seed: np.uint64
    tolerance: float  # the fraction of K(x, x) that projecting may lose
    eta: float


class Slots(NamedTuple):
    """The slots of the examples of a block."""

    rows: np.ndarray  # (block,): their rows in the training set
    slot_of_row: np.ndarray  # (training set,): the slot of each row, or -1
    new_example: np.ndarray  # (slots,): the example of the block that took the slot, or -1


@compiled
def budget_pass(K, G, y, sign, weight, state, rule, slots):
    """Visit the examples of a block in order.

    K (block, slots): kernel values with the support vectors; G (block, block): with each other; sign: as in
    `dual.binary_pass`, of shape (0, 0) where classes compete. Changes K, state and slots. Returns updates, loss, and
    whether a negative squared distance showed that the kernel is not positive definite.
    """
    counters, n_rows, eta = state.counters, state.coef.shape[1], rule.eta
    s, delta, d = np.empty(n_rows), np.empty(n_rows), np.empty(len(state.coef))
    n_updates, loss = 0, 0.0
    for a in range(len(y)):
        visits_left = 1.0 if weight is None else weight[a]
        while visits_left > 0:
            fraction = min(visits_left, 1.0)
            for k in range(n_rows):
                s[k] = delta[k] = 0.0
            for j in range(np.int64(counters[TAKEN])):
                for k in range(n_rows):
                    s[k] += K[a, j] * state.coef[j, k]
            n_mistakes, size = 0, 0.0
            if len(sign):
                for k in range(n_rows):
                    target = sign[y[a], k]
                    if target * s[k] <= 0.0:
                        delta[k] = fraction * eta * target
                        loss -= fraction * target * s[k]
                        n_mistakes += 1
                size = n_mistakes * fraction
            else:
                y_hat = np.argmax(s)
                if y_hat != y[a]:
                    delta[y[a]], delta[y_hat] = fraction * eta, -fraction * eta
                    loss += fraction * (s[y_hat] - s[y[a]])
                    n_mistakes, size = 1, 2.0 * fraction
            if n_mistakes > 0:
                counters[UPDATES] += size
                counters[RADIUS] = max(counters[RADIUS], G[a, a])
                slot = slots.slot_of_row[slots.rows[a]]
                if slot >= 0:
                    change(state, slot, delta)
                else:
                    slot = add_support_vector(state, rule, slots, a, K[a], G[a, a], delta, d)
                    if slot == INDEFINITE:
                        return n_updates, loss, True
                    if slot != PROJECTED:
                        for c in range(a, len(y)):
                            K[c, slot] = G[a, c]
                n_updates += n_mistakes
            else:
                fraction = visits_left
            counters[SEEN] += fraction
            visits_left -= fraction
    return n_updates, loss, False


@inlined
def change(state, j, delta):
    """coef[j] += delta"""
    t = state.counters[SEEN]
    for k in range(len(delta)):
        state.coef[j, k] += delta[k]
        state.lazy_sum[j, k] += t * delta[k]


@inner
def add_support_vector(state, rule, slots, a, k, k_a, delta, d):
    """Store example a of the block, or project it onto the support vectors. Changes state, slots, delta and d.

    k: kernel values of the example with the support vectors; k_a: K(x_a, x_a). Returns its slot, PROJECTED or
    INDEFINITE.
    """
    counters, row = state.counters, slots.rows[a]
    n = np.int64(counters[TAKEN])
    slot = n
    if rule.policy == PROJECT:
        distance = k_a - solve(state.matrix, n, k, d)  # squared, to the span of the support vectors
        if distance < -np.sqrt(10.0 * rule.tolerance) * abs(k_a):  # rounding errors are large for similar examples
            return INDEFINITE
        if n == rule.size or distance <= rule.tolerance * k_a:
            t = counters[SEEN]
            for j in range(n):
                for r in range(len(delta)):
                    state.coef[j, r] += d[j] * delta[r]
                    state.lazy_sum[j, r] += t * d[j] * delta[r]
            return PROJECTED
        state.matrix[n, n] = np.sqrt(distance)
    elif n == rule.size:
        if rule.policy == REMOVE_RANDOM:
            slot = random_slot(rule.seed, np.int64(counters[REMOVED]), rule.size)
        else:
            slot = forget(state, n, k, delta, rule.eta)
        counters[REMOVED] += 1.0
    if slot == n:
        counters[TAKEN] += 1.0
    elif state.row[slot] >= 0:
        slots.slot_of_row[state.row[slot]] = -1
    for r in range(len(delta)):  # the previous one leaves the average, too
        state.coef[slot, r] = state.lazy_sum[slot, r] = 0.0
    state.row[slot], slots.slot_of_row[row], slots.new_example[slot] = row, slot, a
    state.entry_order[slot] = np.int64(counters[ENTERED])
    counters[ENTERED] += 1.0
    change(state, slot, delta)
    if rule.policy == FORGET_OLDEST:
        for j in range(np.int64(counters[TAKEN])):
            state.matrix[slot, j] = k[j]
            state.matrix[j, slot] = k[j]
        state.matrix[slot, slot] = k_a
    return slot


@inlined
def random_slot(seed, number, n_slots):
    """Random number `number` below n_slots: a hash (SplitMix64), so that it does not depend on the blocks."""
    z = mixed(np.uint64(seed) + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15))
    return np.int64(((z >> np.uint64(32)) * np.uint64(n_slots)) >> np.uint64(32))


@inner
def forget(state, n, k, delta, eta):
    """Shrink all coefficients and delta by phi, so that removing the oldest support vector does not cost too much.

    k: kernel values of the new example, which adds delta. Changes state and delta. Returns the slot of the oldest.
    """
    counters, n_rows, t = state.counters, len(delta), state.counters[SEEN]
    oldest = np.argmin(state.entry_order[:n])
    square, dot = 0.0, 0.0
    for r in range(n_rows):
        score = delta[r] * k[oldest]
        for j in range(n):
            score += state.coef[j, r] * state.matrix[oldest, j]
        square += state.coef[oldest, r] ** 2
        dot += state.coef[oldest, r] * score
    if square * state.matrix[oldest, oldest] > 0.0:  # else nothing is lost
        unit = eta * eta * counters[RADIUS]
        a, b = (square * state.matrix[oldest, oldest] - 2.0 * dot) / unit, 2.0 * np.sqrt(square) / eta
        phi = largest_factor(a, b, counters[FORGOTTEN] - BUDGET_OF_FORGETTING * counters[UPDATES])
        counters[FORGOTTEN] += a * phi * phi + b * phi
        for j in range(n):
            for r in range(n_rows):
                state.lazy_sum[j, r] += t * (phi - 1.0) * state.coef[j, r]
                state.coef[j, r] *= phi
        for r in range(n_rows):
            delta[r] *= phi
    return oldest


@inlined
def largest_factor(a, b, c):
    """The largest phi in (0, 1] with a phi^2 + b phi + c <= 0, where b > 0 > c."""
    if a + b + c <= 0.0:
        return 1.0
    return -2.0 * c / (b + np.sqrt(b * b - 4.0 * a * c))


@inner
def solve(factor, n, k, d):
    """d = K_SS^-1 k  by the Cholesky factor of K_SS. Returns k·d, the part of K(x, x) in the span of S.

    Leaves what may be the new row of the factor in its row n, if there is room.
    """
    inside = 0.0
    for i in range(n):
        s = k[i]
        for j in range(i):
            s -= factor[i, j] * d[j]
        d[i] = s / factor[i, i]
        inside += d[i] * d[i]
    if n < len(factor):
        for j in range(n):
            factor[n, j] = d[j]
    for i in range(n - 1, -1, -1):
        d[i] /= factor[i, i]
        for j in range(i):
            d[j] -= d[i] * factor[i, j]
    return inside
