"""The perceptron for several classes: one example at a time or, for many classes, exactly the same by blocks."""

import numpy as np

from perceptrons.passes.state import LOG_COLUMNS, broke, due, judge, longer, note
from perceptrons.rows import compiled, move, prefetch, scores

BLOCK = 128  # examples a matrix product; measured, see docs/decisions.md


@compiled
def leader(s):
    """The class of the highest score; ties go to the first."""
    best = 0
    for k in range(1, len(s)):
        if s[k] > s[best]:
            best = k
    return best


@compiled
def exchange(rows, i, y, y_hat, step, t, model):
    """theta_y += step x_i,  theta_y_hat -= step x_i, and the same t times into the late sums."""
    move(rows, i, step, model.w, y, y_hat)
    move(rows, i, t * step, model.late_w, y, y_hat)
    bias = model.one * step
    model.b[y] += bias
    model.b[y_hat] -= bias
    model.late_b[y] += t * bias
    model.late_b[y_hat] -= t * bias


@compiled
def multiclass_pass(rows, y, weight, order, model, eta, log, pocket):
    """One pass of the joint multiclass perceptron (spec 3).

        y_hat = argmax_k theta_k·x + b_k;    if y_hat != y:  theta_y += eta x,  theta_y_hat -= eta x

    Weights, averaging and what is returned as in `binary_pass`. Changes model, pocket.
    """
    theta, b, t = model.w, model.b, model.t[0]
    s = np.empty(len(b), theta.dtype)
    mistakes, loss, updates = 0, 0.0, log
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        left = 1.0 if weight is None else weight[i]
        while left > 0:
            scores(rows, i, theta, s)
            s += b
            y_hat = leader(s)
            if y_hat == y[i]:
                t += left
                if pocket is not None and due(pocket, left):
                    judge(pocket, model, multiclass_mistakes(rows, y, weight, pocket.examples, theta, b))
                break
            share = min(left, 1.0)
            step = theta.dtype.type(share * eta)
            exchange(rows, i, y[i], y_hat, step, t, model)
            if pocket is not None:
                broke(pocket)
            if log is not None:
                updates = longer(updates, mistakes)
                note(updates, mistakes, t, i, y[i], y_hat, step)
            mistakes += 1
            loss += share * (s[y_hat] - s[y[i]])
            t += share
            left -= share
    model.t[0] = t
    return mistakes, loss, updates


def block_pass(rows, y, weight, order, model, eta, log):
    """`multiclass_pass` for Dense rows at the speed of matrix products: the same mistakes, the same updates.

        S = X thetaᵀ + b,  G = X Xᵀ + 1    for a block X of examples, then the block is walked in order

    and theta gets the block's updates at its end. Python only calls BLAS here; it compiles slowly inside numba.
    """
    mistakes, loss = 0, 0.0
    for start in range(0, len(order), BLOCK):
        visit = order[start : start + BLOCK]
        x = rows.values[visit]
        S = x @ model.w.T
        S += model.b
        G = x @ x.T
        G += G.dtype.type(model.one)
        made, lost, log = walk(rows, y, weight, visit, model, eta, log, mistakes, S, G)
        mistakes += made
        loss += lost
    return mistakes, loss, log


@compiled
def walk(rows, y, weight, visit, model, eta, log, kept, S, G):
    """Visit one block in order: an update by example a corrects the scores of the examples from a on.

        S[c, y] += eta G[a, c],   S[c, y_hat] -= eta G[a, c]

    Changes model, S. Returns mistakes, loss, and the log, of which the first `kept` rows are taken.
    """
    number, t = model.w.dtype.type, model.t[0]
    made, loss, updates, todo = 0, 0.0, log, np.empty((64, LOG_COLUMNS))
    for a in range(len(visit)):
        i = visit[a]
        left = 1.0 if weight is None else weight[i]
        while left > 0:
            y_hat = leader(S[a])
            if y_hat == y[i]:
                t += left
                break
            share = min(left, 1.0)
            step = number(share * eta)
            loss += share * (S[a, y_hat] - S[a, y[i]])
            for c in range(a, len(visit)):
                S[c, y[i]] += step * G[a, c]
                S[c, y_hat] -= step * G[a, c]
            todo = longer(todo, made)
            note(todo, made, t, i, y[i], y_hat, step)
            made += 1
            t += share
            left -= share
    for u in range(made):
        seen, i, step = todo[u, 0], int(todo[u, 1]), number(todo[u, 4])
        exchange(rows, i, int(todo[u, 2]), int(todo[u, 3]), step, seen, model)
        if log is not None:
            updates = longer(updates, kept + u)
            updates[kept + u] = todo[u]
    model.t[0] = t
    return made, loss, updates


@compiled
def multiclass_mistakes(rows, y, weight, examples, theta, b):
    """How many of the examples (by weight) the fixed weights theta, b get wrong."""
    total = 0.0
    s = np.empty(len(b), theta.dtype)
    for p in range(len(examples)):
        i = examples[p]
        prefetch(rows, examples, p)
        scores(rows, i, theta, s)
        s += b
        if leader(s) != y[i]:
            total += 1.0 if weight is None else weight[i]
    return total
