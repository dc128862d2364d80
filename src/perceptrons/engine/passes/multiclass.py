"""The perceptron for several classes: one example at a time or, for many classes, exactly the same by blocks."""

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.average import count_visit, decay_scale, multiply_scale_out, rescale_sums
from perceptrons.engine.passes.binary import end_pass
from perceptrons.engine.passes.following import compare_classes
from perceptrons.engine.passes.l1_penalty import log_truncation, truncate_all, truncate_row
from perceptrons.engine.passes.pocket import judge, needs_judging, restart_run
from perceptrons.engine.passes.steps import (
    AROW,
    CONSTANT,
    best_class,
    joint_loss,
    n_visits,
    step_size,
    update_row_by_confidence,
    update_two_rows,
)
from perceptrons.engine.passes.voting import LOG_COLUMNS, append_update
from perceptrons.engine.rows import prefetch, scores

BLOCK_ROWS = 128  # examples per matrix product; measured, see docs/decisions/engine.md


@compiled
def multiclass_pass(examples, order, training, rule, cost):
    """One pass of the joint multiclass perceptron (also with margin and cost).

        y_hat = argmax_k theta_k·x + b_k + cost(y, k);    if y_hat != y:  theta_y += eta x,  theta_y_hat -= eta x

    Arguments and what is returned as in `binary_pass`, with one row of weights per class.
    """
    rows, y, weight = examples.rows, examples.y, examples.weight
    model, l1, pocket, log = training.model, training.l1, training.pocket, training.log
    record, general = training.record, training.general
    theta, b, state = model.w, model.b, model.state[0]
    s, mean = np.empty(len(b), theta.dtype), np.empty(len(b))
    mistakes, updates, total = 0, 0, 0.0
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        remaining, is_first_visit = n_visits(weight, i), True
        while remaining > 0:
            fraction = min(remaining, 1.0)
            if l1 is not None:
                truncate_row(rows, i, model, l1)
            scores(rows, i, theta, s)
            if state.scale != 1.0:
                s *= theta.dtype.type(state.scale)
            s += b
            if record is not None and is_first_visit:
                compare_classes(record, rows, i, y[i], s, mean, model, l1)
                is_first_visit = False
            triggered, y_hat, loss = joint_loss(rule, cost, s, y[i])
            step = rule.eta if triggered else 0.0
            if triggered:
                if general is not None and rule.kind != CONSTANT:
                    step = step_size(general, rule, rows, i, loss, state, model, y[i], y_hat)
                if step == np.inf:
                    end_pass(model, state, l1)
                    return mistakes, updates, np.inf, log
                mistakes += best_class(s) != y[i]
                total += fraction * loss
            elif rule.keep == 1.0 and rule.l1 == 0.0:
                fraction = remaining  # nothing changes, so all remaining visits are the same
            if general is not None and rule.keep < 1.0 and decay_scale(rule, state, fraction):
                truncate_all(model, l1)
                multiply_scale_out(general, rule, state, fraction, model, -1)
            if step > 0.0:
                if log is not None:
                    logged_step = theta.dtype.type(fraction * step)
                    log = append_update(log, updates, state.n_seen, i, y[i], y_hat, logged_step)
                if general is not None and rule.kind == AROW:
                    update_row_by_confidence(general, rows, i, y[i], fraction * step, loss, state, model)
                    update_row_by_confidence(general, rows, i, y_hat, -fraction * step, loss, state, model)
                else:
                    update_two_rows(rows, i, y[i], y_hat, fraction * step, state, model)
                updates += 1
                restart_run(pocket)
            elif pocket is not None and not triggered and needs_judging(pocket, fraction):
                truncate_all(model, l1)
                judge_classes(pocket, examples, model)
            if l1 is not None:
                log_truncation(rule, state, fraction, model, l1)
            if count_visit(rule, state, fraction):
                truncate_all(model, l1)
                rescale_sums(state, model, -1)
            remaining -= fraction
    end_pass(model, state, l1)
    return mistakes, updates, total, log


def block_pass(examples, order, training, rule, cost):
    """`multiclass_pass` for constant steps without a penalty, by matrix products: the same mistakes, the same updates.

        S = X thetaᵀ + b,  G = X Xᵀ + 1    for a block X of Dense examples, then the block is walked in order

    and theta gets the block's updates at its end. Python only calls BLAS here; it compiles slowly inside numba.
    """
    mistakes, updates, total, model, log = 0, 0, 0.0, training.model, training.log
    for start in range(0, len(order), BLOCK_ROWS):
        block = order[start : start + BLOCK_ROWS]
        x = examples.rows.values[block]
        S = x @ model.w.T
        S += model.b
        G = x @ x.T
        G += G.dtype.type(model.bias_sqnorm)
        new_mistakes, new_updates, loss, new_log = walk_block(examples, block, model, rule, cost, S, G)
        mistakes += new_mistakes
        updates += new_updates
        total += loss
        log = None if log is None else np.concatenate([log, new_log])
    return mistakes, updates, total, log


@compiled
def walk_block(examples, block, model, rule, cost, S, G):
    """Visit one block in order: an update by example a corrects the scores of the examples from a on.

        S[c, y] += eta G[a, c],   S[c, y_hat] -= eta G[a, c]

    Changes model, S. Returns mistakes, updates, loss, and the log of the updates.
    """
    rows, y = examples.rows, examples.y
    number, state = model.w.dtype.type, model.state[0]
    mistakes, updates, total, log = 0, 0, 0.0, np.empty((64, LOG_COLUMNS))
    n_seen = state.n_seen
    for a in range(len(block)):
        i = block[a]
        remaining = n_visits(examples.weight, i)
        while remaining > 0:
            triggered, y_hat, loss = joint_loss(rule, cost, S[a], y[i])
            fraction = min(remaining, 1.0)
            if triggered:
                mistakes += best_class(S[a]) != y[i]
                total += fraction * loss
                step = number(fraction * rule.eta)
                for c in range(a, len(block)):
                    S[c, y[i]] += step * G[a, c]
                    S[c, y_hat] -= step * G[a, c]
                log = append_update(log, updates, n_seen, i, y[i], y_hat, step)
                updates += 1
            else:
                fraction = remaining
            n_seen += fraction
            remaining -= fraction
    for u in range(updates):
        update = log[u]  # n_seen, i, y, y_hat, step
        state.n_seen = state.mass = state.total = update[0]  # without a penalty, the mass is the number of examples
        update_two_rows(rows, int(update[1]), int(update[2]), int(update[3]), update[4], state, model)
    state.n_seen = state.mass = state.total = n_seen
    model.t[0] = n_seen
    return mistakes, updates, total, log[:updates]


@inner
def judge_classes(pocket, examples, model):
    """Pocket the current weights if they are the best so far.  Changes pocket."""
    if pocket is not None:
        judge(pocket, model, multiclass_mistakes(examples, pocket.judged_on, model.w, model.b, model.state[0].scale))


@compiled
def multiclass_mistakes(examples, order, theta, b, scale):
    """Return how many of the examples in the order, by weight, the weights scale * theta and b get wrong."""
    rows, y = examples.rows, examples.y
    total, scale = 0.0, theta.dtype.type(scale)
    s = np.empty(len(b), theta.dtype)
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        scores(rows, i, theta, s)
        s *= scale
        s += b
        if best_class(s) != y[i]:
            total += n_visits(examples.weight, i)
    return total
