"""The perceptron for several classes: one example at a time or, for many classes, exactly the same by blocks."""

import numpy as np

from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.passes.average import MASS, SCALE, SEEN, TOTAL, fade, renew, settle, tick
from perceptrons.engine.passes.following import compare, fade_record, forget, is_outdated, mean_score
from perceptrons.engine.passes.log import LOG_COLUMNS, longer, note
from perceptrons.engine.passes.penalty import demand_payment, truncate_all, truncate_row
from perceptrons.engine.passes.pocket import broke, due, judge
from perceptrons.engine.passes.steps import AROW, CONSTANT, answer_to, confident_shift, demand, exchange
from perceptrons.engine.rows import prefetch, scores

BLOCK = 128  # examples a matrix product; measured, see docs/decisions.md


@inlined
def leader(s):
    """The class of the highest score; ties go to the first."""
    best = 0
    for k in range(1, len(s)):
        if s[k] > s[best]:
            best = k
    return best


@inlined
def rival(rule, cost, s, y):
    """The class of the highest score plus what the true class y has to lead it by: cost-augmented."""
    if rule.margin == 0.0 and len(cost) == 0:
        return leader(s)
    best, highest = 0, -np.inf
    for k in range(len(s)):
        score = s[k] if k == y else s[k] + demand(rule, cost, y, k)
        if score > highest:
            best, highest = k, score
    return best


@inlined
def joint_loss(rule, cost, s, y):
    """Whether the example triggers an update, its rival class, and the loss: the rival's lead over the true class."""
    y_hat = rival(rule, cost, s, y)
    if y_hat == y:
        return False, y_hat, 0.0
    loss = demand(rule, cost, y, y_hat) + s[y_hat] - s[y]
    return rule.kind == CONSTANT or loss > 0.0, y_hat, loss


@compiled
def multiclass_pass(rows, y, weight, order, model, rule, general, cost, log, pocket, pending, record):
    """One pass of the joint multiclass perceptron (also with margin and cost).

        y_hat = argmax_k theta_k·x + b_k + cost(y, k);    if y_hat != y:  theta_y += eta x,  theta_y_hat -= eta x

    Weights, rule, averaging, record and what is returned as in `binary_pass`. Changes model, pocket, pending, record.
    """
    theta, b, clock = model.w, model.b, model.clock[0]
    s, mean = np.empty(len(b), theta.dtype), np.empty(len(b))
    mistakes, updates, total, out = 0, 0, 0.0, log
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        left, is_first_visit = 1.0 if weight is None else weight[i], True
        while left > 0:
            share = min(left, 1.0)
            if pending is not None:
                truncate_row(rows, i, model, pending)
            scores(rows, i, theta, s)
            if clock[SCALE] != 1.0:
                s *= theta.dtype.type(clock[SCALE])
            s += b
            if record is not None and is_first_visit:
                scores(rows, i, model.late_w, mean)
                for k in range(len(s)):
                    mean[k] = mean_score(model, k, clock, np.float64(s[k]), mean[k])
                fade_record(record)
                compare(record, leader(mean) != y[i], leader(s) != y[i])
                if is_outdated(record, model):
                    if pending is not None:
                        truncate_all(model, pending)
                    forget(model)
                is_first_visit = False
            asks, y_hat, loss = joint_loss(rule, cost, s, y[i])
            step = rule.eta if asks else 0.0
            if asks:
                if general is not None and rule.kind != CONSTANT:
                    step = answer_to(rule, rows, i, loss, clock, model, y[i], y_hat)
                if step == np.inf:
                    if pending is not None:
                        truncate_all(model, pending)
                    model.t[0] = clock[SEEN]
                    return mistakes, updates, np.inf, out
                mistakes += leader(s) != y[i]
                total += share * loss
            elif rule.keep == 1.0 and rule.l1 == 0.0:
                share = left  # nothing changes, so all visits left are the same
            if general is not None and rule.keep < 1.0 and fade(rule, clock, share):
                if pending is not None:
                    truncate_all(model, pending)
                settle(rule, clock, share, model, -1)
            if step > 0.0:
                if log is not None:
                    out = note(out, updates, clock[SEEN], i, y[i], y_hat, theta.dtype.type(share * step))
                if general is not None and rule.kind == AROW:
                    confident_shift(rows, i, y[i], share * step, loss, clock, model)
                    confident_shift(rows, i, y_hat, -share * step, loss, clock, model)
                else:
                    exchange(rows, i, y[i], y_hat, share * step, clock, model)
                updates += 1
                if pocket is not None:
                    broke(pocket)
            elif pocket is not None and not asks and due(pocket, share):
                if pending is not None:
                    truncate_all(model, pending)
                judge(pocket, model, multiclass_mistakes(rows, y, weight, pocket.examples, theta, b, clock[SCALE]))
            if pending is not None:
                demand_payment(rule, clock, share, model, pending)
            if tick(rule, clock, share):
                if pending is not None:
                    truncate_all(model, pending)
                renew(clock, model, -1)
            left -= share
    if pending is not None:
        truncate_all(model, pending)
    model.t[0] = clock[SEEN]
    return mistakes, updates, total, out


def block_pass(rows, y, weight, order, model, rule, cost, log):
    """`multiclass_pass` for constant steps without a penalty, by matrix products: the same mistakes, the same updates.

        S = X thetaᵀ + b,  G = X Xᵀ + 1    for a block X of Dense examples, then the block is walked in order

    and theta gets the block's updates at its end. Python only calls BLAS here; it compiles slowly inside numba.
    """
    mistakes, updates, total = 0, 0, 0.0
    for start in range(0, len(order), BLOCK):
        visit = order[start : start + BLOCK]
        x = rows.values[visit]
        S = x @ model.w.T
        S += model.b
        G = x @ x.T
        G += G.dtype.type(model.one)
        wrong, made, loss, log = walk(rows, y, weight, visit, model, rule, cost, log, updates, S, G)
        mistakes += wrong
        updates += made
        total += loss
    return mistakes, updates, total, log


@compiled
def walk(rows, y, weight, visit, model, rule, cost, log, kept, S, G):
    """Visit one block in order: an update by example a corrects the scores of the examples from a on.

        S[c, y] += eta G[a, c],   S[c, y_hat] -= eta G[a, c]

    Changes model, S. Returns mistakes, updates, loss, and the log, of which the first `kept` rows are taken.
    """
    number, clock = model.w.dtype.type, model.clock[0]
    mistakes, made, total, out, todo = 0, 0, 0.0, log, np.empty((64, LOG_COLUMNS))
    for a in range(len(visit)):
        i = visit[a]
        left = 1.0 if weight is None else weight[i]
        while left > 0:
            asks, y_hat, loss = joint_loss(rule, cost, S[a], y[i])
            share = min(left, 1.0)
            if asks:
                mistakes += leader(S[a]) != y[i]
                total += share * loss
                step = number(share * rule.eta)
                for c in range(a, len(visit)):
                    S[c, y[i]] += step * G[a, c]
                    S[c, y_hat] -= step * G[a, c]
                todo = note(todo, made, clock[SEEN], i, y[i], y_hat, step)
                made += 1
            else:
                share = left
            tick(rule, clock, share)
            left -= share
    ended = clock.copy()
    for u in range(made):
        clock[MASS] = clock[TOTAL] = todo[u, 0]  # without a penalty, the mass is the number of examples
        exchange(rows, int(todo[u, 1]), int(todo[u, 2]), int(todo[u, 3]), todo[u, 4], clock, model)
        if log is not None:
            out = longer(out, kept + u)
            out[kept + u] = todo[u]
    clock[:] = ended
    model.t[0] = clock[SEEN]
    return mistakes, made, total, out


@compiled
def multiclass_mistakes(rows, y, weight, examples, theta, b, scale):
    """How many of the examples (by weight) the fixed weights scale * theta, b get wrong."""
    total, scale = 0.0, theta.dtype.type(scale)
    s = np.empty(len(b), theta.dtype)
    for p in range(len(examples)):
        i = examples[p]
        prefetch(rows, examples, p)
        scores(rows, i, theta, s)
        s *= scale
        s += b
        if leader(s) != y[i]:
            total += 1.0 if weight is None else weight[i]
    return total
