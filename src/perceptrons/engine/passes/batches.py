"""Mini-batches and the batch perceptron: one update per batch, the sum of the updates that its examples trigger."""

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.average import count_visit, decay_scale, multiply_scale_out, rescale_sums
from perceptrons.engine.passes.binary import judge_binary
from perceptrons.engine.passes.following import compare_classes
from perceptrons.engine.passes.l1_penalty import truncate_at_once
from perceptrons.engine.passes.multiclass import judge_classes
from perceptrons.engine.passes.one_vs import compare_example
from perceptrons.engine.passes.pocket import end_run, needs_judging, restart_run
from perceptrons.engine.passes.steps import (
    Training,
    best_class,
    is_mistake,
    joint_loss,
    n_visits,
    required_lead,
    triggers_update,
    update_row,
    update_two_rows,
)
from perceptrons.engine.passes.voting import LOG_COLUMNS, append_update
from perceptrons.engine.rows import dot, prefetch, scores


@compiled
def batch_pass(examples, order, training, rule, cost):
    """One pass in batches of `rule.batch` visits; the last one may be smaller.

        w <- (1 - eta alpha)^visits w + eta * sum over the visits of the batch that trigger an update of y x

    All of a batch is scored with the weights from before it: its visits count with these in the average, but the last,
    which counts with the new ones. A penalty is taken once for all visits of the batch. examples.problems: of one row
    for two classes; None: the joint rule. Other arguments and what is returned as in `binary_pass`.
    """
    return visit_batches(examples.problems, examples, order, training, rule, cost)


@inner
def visit_batches(problems, examples, order, training, rule, cost):
    """`batch_pass`, compiled for problems or for the joint rule."""
    rows, y = examples.rows, examples.y
    model, pocket, log = training.model, training.pocket, training.log
    s = np.empty(len(model.b) if problems is None else problems.sign.shape[1], model.w.dtype)
    waiting = np.zeros((len(model.state), 2))  # of each clock: visits of the batch, and the last, not yet counted
    triggered, n_triggered, visits = np.empty((64, LOG_COLUMNS)), 0, 0  # (clock, example, y, y_hat, step)
    mistakes, updates, total = 0, 0, 0.0
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        remaining = n_visits(examples.weight, i)
        model.t[0] += remaining
        while remaining > 0:
            fraction, n_before = min(remaining, 1.0), n_triggered
            if problems is None:
                scores(rows, i, model.w, s)
                s *= model.w.dtype.type(model.state[0].scale)
                s += model.b
                count_previous_visit(rule, waiting, model, 0, fraction)
                is_triggered, y_hat, loss = joint_loss(rule, cost, s, y[i])
                if is_triggered:
                    mistakes += best_class(s) != y[i]
                    total += fraction * loss
                    triggered = append_update(triggered, n_triggered, 0, i, y[i], y_hat, fraction * rule.eta)
                    n_triggered += 1
            else:
                if not problems.is_one_vs_one:
                    scores(rows, i, model.w, s)
                for k in range(len(s)):
                    sign = problems.sign[y[i], k]
                    if sign == 0:
                        continue
                    if problems.is_one_vs_one:
                        s[k] = dot(rows, i, model.w[k])
                    own = k if len(model.state) > 1 else 0
                    score = model.state[own].scale * s[k] + np.float64(model.b[k])
                    if own == k:  # one clock for all rows counts once
                        count_previous_visit(rule, waiting, model, own, fraction)
                    margin = required_lead(rule, cost, int(sign > 0), int(sign < 0))
                    if triggers_update(rule, margin, sign, score):
                        mistakes += is_mistake(sign, score, rule.zero)
                        total += fraction * (margin - sign * score)
                        step = fraction * rule.eta * sign
                        triggered = append_update(triggered, n_triggered, own, i, k, -1, step)
                        n_triggered += 1
            if n_triggered > n_before:
                end_run(pocket)
            elif needs_judging(pocket, fraction):
                judge_last(problems, pocket, examples, model, rule)
            visits += 1
            remaining -= fraction
            if visits % rule.batch == 0:
                log = end_batch(problems, rows, triggered[:n_triggered], waiting, model, rule, log, updates)
                if n_triggered:
                    restart_run(pocket)
                updates, n_triggered = updates + n_triggered, 0
    log = end_batch(problems, rows, triggered[:n_triggered], waiting, model, rule, log, updates)
    if n_triggered:
        restart_run(pocket)
    return mistakes, updates + n_triggered, total, log


@compiled
def following_batch_pass(examples, order, training, rule, cost):
    """`batch_pass` batch after batch, each compared before its update (`following.py`)."""
    mistakes, updates, total = 0, 0, 0.0
    model, buffers = (
        training.model,
        (np.empty(len(training.model.b), training.model.w.dtype), np.empty(len(training.model.b))),
    )
    for start in range(0, len(order), rule.batch):
        batch = order[start : start + rule.batch]
        for i in batch:
            compare_any(examples.problems, examples, i, training, rule, buffers)
        alone = Training(model, None, None, None, None, None)
        counts = visit_batches(examples.problems, examples, batch, alone, rule, cost)
        mistakes, updates, total = mistakes + counts[0], updates + counts[1], total + counts[2]
    return mistakes, updates, total, training.log


@inner
def compare_any(problems, examples, i, training, rule, buffers):
    """Compare the predictions of an example, unless its weight is 0.  Changes training, buffers."""
    rows, model = examples.rows, training.model
    if problems is not None:
        compare_example(problems, examples, i, training, rule)
    elif n_visits(examples.weight, i) > 0.0:
        s, mean = buffers
        scores(rows, i, model.w, s)
        for k in range(len(s)):
            s[k] = s.dtype.type(model.state[0].scale) * s[k] + model.b[k]
        compare_classes(training.record, rows, i, examples.y[i], s, mean, model, None)


@inner
def count_previous_visit(rule, waiting, model, k, fraction):
    """Count the visit before this one with the weights as they are; this one may be the batch's last."""
    if waiting[k, 1] > 0.0 and count_visit(rule, model.state[k], waiting[k, 1]):
        rescale_sums(model.state[k], model, -1 if len(model.state) == 1 else k)
    waiting[k, 0] += fraction
    waiting[k, 1] = fraction


@inner
def end_batch(problems, rows, triggered, waiting, model, rule, log, n_logged):
    """Penalise, make the updates, and count the last visit.  Changes model, waiting.  Returns the log."""
    for k in range(len(model.state)):
        if waiting[k, 0] > 0.0 and rule.keep < 1.0 and decay_scale(rule, model.state[k], waiting[k, 0]):
            row = -1 if len(model.state) == 1 else k
            multiply_scale_out(True, rule, model.state[k], waiting[k, 0], model, row)
    for u in range(len(triggered)):
        state, i = model.state[int(triggered[u, 0])], int(triggered[u, 1])
        y, y_hat, step = int(triggered[u, 2]), int(triggered[u, 3]), triggered[u, 4]
        if problems is None:
            update_two_rows(rows, i, y, y_hat, step, state, model)
        else:
            update_row(rows, i, y, step, state, model)
            y, y_hat = int(step > 0), int(step < 0)  # of a binary model, for the log
        log = append_update(log, n_logged + u, state.n_seen, i, y, y_hat, abs(model.w.dtype.type(step)))
    for k in range(len(model.state)):
        if waiting[k, 0] > 0.0:
            row = -1 if len(model.state) == 1 else k
            if rule.l1 > 0.0:
                truncate_at_once(rule, model.state[k], waiting[k, 0], model, row)
            if count_visit(rule, model.state[k], waiting[k, 1]):
                rescale_sums(model.state[k], model, row)
            waiting[k] = 0.0
    return log


@inner
def judge_last(problems, pocket, examples, model, rule):
    """Pocket the current weights if they are the best so far.  Changes pocket."""
    if problems is None:
        judge_classes(pocket, examples, model)
    else:
        judge_binary(pocket, examples, model, rule)
