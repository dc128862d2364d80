"""The perceptron for several classes: one example at a time or, for many classes, exactly the same by blocks."""

import numpy as np

from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.passes.average import (
    MASS,
    SCALE,
    SEEN,
    TOTAL,
    count_visit,
    decay_scale,
    multiply_scale_out,
    rescale_sums,
)
from perceptrons.engine.passes.following import compare, fade_record, forget_if_outdated, mean_score
from perceptrons.engine.passes.log import LOG_COLUMNS, append_update, with_room
from perceptrons.engine.passes.penalty import log_truncation, truncate_all, truncate_row
from perceptrons.engine.passes.pocket import judge, needs_judging, restart_run
from perceptrons.engine.passes.steps import (
    AROW,
    CONSTANT,
    required_lead,
    step_size,
    update_row_by_confidence,
    update_two_rows,
)
from perceptrons.engine.rows import prefetch, scores

BLOCK = 128  # examples a matrix product; measured, see docs/decisions.md


@inlined
def best_class(s):
    """Return the class with the highest score. Ties go to the first class."""
    best = 0
    for k in range(1, len(s)):
        if s[k] > s[best]:
            best = k
    return best


@inlined
def strongest_rival(rule, cost, s, y):
    """Return the class with the highest score after the lead that y must have over it is added: cost-augmented."""
    if rule.margin == 0.0 and len(cost) == 0:
        return best_class(s)
    best, highest = 0, -np.inf
    for k in range(len(s)):
        score = s[k] if k == y else s[k] + required_lead(rule, cost, y, k)
        if score > highest:
            best, highest = k, score
    return best


@inlined
def joint_loss(rule, cost, s, y):
    """Return whether the example triggers an update, its strongest rival, and the rival's lead over the true class."""
    y_hat = strongest_rival(rule, cost, s, y)
    if y_hat == y:
        return False, y_hat, 0.0
    loss = required_lead(rule, cost, y, y_hat) + s[y_hat] - s[y]
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
        remaining, is_first_visit = 1.0 if weight is None else weight[i], True
        while remaining > 0:
            fraction = min(remaining, 1.0)
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
                compare(record, best_class(mean) != y[i], best_class(s) != y[i])
                forget_if_outdated(record, model, pending)
                is_first_visit = False
            triggered, y_hat, loss = joint_loss(rule, cost, s, y[i])
            step = rule.eta if triggered else 0.0
            if triggered:
                if general is not None and rule.kind != CONSTANT:
                    step = step_size(rule, rows, i, loss, clock, model, y[i], y_hat)
                if step == np.inf:
                    truncate_all(model, pending)
                    model.t[0] = clock[SEEN]
                    return mistakes, updates, np.inf, out
                mistakes += best_class(s) != y[i]
                total += fraction * loss
            elif rule.keep == 1.0 and rule.l1 == 0.0:
                fraction = remaining  # nothing changes, so all remaining visits are the same
            if general is not None and rule.keep < 1.0 and decay_scale(rule, clock, fraction):
                truncate_all(model, pending)
                multiply_scale_out(rule, clock, fraction, model, -1)
            if step > 0.0:
                if log is not None:
                    out = append_update(out, updates, clock[SEEN], i, y[i], y_hat, theta.dtype.type(fraction * step))
                if general is not None and rule.kind == AROW:
                    update_row_by_confidence(rows, i, y[i], fraction * step, loss, clock, model)
                    update_row_by_confidence(rows, i, y_hat, -fraction * step, loss, clock, model)
                else:
                    update_two_rows(rows, i, y[i], y_hat, fraction * step, clock, model)
                updates += 1
                if pocket is not None:
                    restart_run(pocket)
            elif pocket is not None and not triggered and needs_judging(pocket, fraction):
                truncate_all(model, pending)
                judge(pocket, model, multiclass_mistakes(rows, y, weight, pocket.examples, theta, b, clock[SCALE]))
            if pending is not None:
                log_truncation(rule, clock, fraction, model, pending)
            if count_visit(rule, clock, fraction):
                truncate_all(model, pending)
                rescale_sums(clock, model, -1)
            remaining -= fraction
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
        new_mistakes, new_updates, loss, log = walk(rows, y, weight, visit, model, rule, cost, log, updates, S, G)
        mistakes += new_mistakes
        updates += new_updates
        total += loss
    return mistakes, updates, total, log


@compiled
def walk(rows, y, weight, visit, model, rule, cost, log, n_logged, S, G):
    """Visit one block in order: an update by example a corrects the scores of the examples from a on.

        S[c, y] += eta G[a, c],   S[c, y_hat] -= eta G[a, c]

    Changes model, S. Returns mistakes, updates, loss, and the log, whose first `n_logged` rows are in use.
    """
    number, clock = model.w.dtype.type, model.clock[0]
    mistakes, updates, total, out, pending_updates = 0, 0, 0.0, log, np.empty((64, LOG_COLUMNS))
    for a in range(len(visit)):
        i = visit[a]
        remaining = 1.0 if weight is None else weight[i]
        while remaining > 0:
            triggered, y_hat, loss = joint_loss(rule, cost, S[a], y[i])
            fraction = min(remaining, 1.0)
            if triggered:
                mistakes += best_class(S[a]) != y[i]
                total += fraction * loss
                step = number(fraction * rule.eta)
                for c in range(a, len(visit)):
                    S[c, y[i]] += step * G[a, c]
                    S[c, y_hat] -= step * G[a, c]
                pending_updates = append_update(pending_updates, updates, clock[SEEN], i, y[i], y_hat, step)
                updates += 1
            else:
                fraction = remaining
            count_visit(rule, clock, fraction)
            remaining -= fraction
    final_clock = clock.copy()
    for u in range(updates):
        update = pending_updates[u]  # t, i, y, y_hat, step
        clock[MASS] = clock[TOTAL] = update[0]  # without a penalty, the mass is the number of examples
        update_two_rows(rows, int(update[1]), int(update[2]), int(update[3]), update[4], clock, model)
        if log is not None:
            out = with_room(out, n_logged + u)
            out[n_logged + u] = update
    clock[:] = final_clock
    model.t[0] = clock[SEEN]
    return mistakes, updates, total, out


@compiled
def multiclass_mistakes(rows, y, weight, examples, theta, b, scale):
    """Return how many of the examples, by weight, the weights scale * theta and b get wrong."""
    total, scale = 0.0, theta.dtype.type(scale)
    s = np.empty(len(b), theta.dtype)
    for p in range(len(examples)):
        i = examples[p]
        prefetch(rows, examples, p)
        scores(rows, i, theta, s)
        s *= scale
        s += b
        if best_class(s) != y[i]:
            total += 1.0 if weight is None else weight[i]
    return total
