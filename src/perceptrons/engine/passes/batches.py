"""Mini-batches and the batch perceptron: one update a batch, the sum of what its examples ask for."""

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.average import SCALE, SEEN, count_visit, decay_scale, multiply_scale_out, rescale_sums
from perceptrons.engine.passes.binary import binary_loss, binary_mistakes, is_mistake
from perceptrons.engine.passes.following import compare, fade_record, forget_if_outdated, mean_score
from perceptrons.engine.passes.log import LOG_COLUMNS, append_update
from perceptrons.engine.passes.multiclass import best_class, joint_loss, multiclass_mistakes
from perceptrons.engine.passes.one_vs import compare_problems
from perceptrons.engine.passes.penalty import truncate_at_once
from perceptrons.engine.passes.pocket import RUN, judge, needs_judging, restart_run
from perceptrons.engine.passes.steps import required_lead, update_row, update_two_rows
from perceptrons.engine.rows import dot, prefetch, scores


@compiled
def batch_pass(rows, y, problems, weight, order, model, rule, cost, batch, log, pocket):
    """One pass in batches of `batch` visits; the last one may be smaller.

        w <- (1 - eta alpha)^visits w + eta * sum over the visits of the batch that trigger an update of y x

    All of a batch is scored with the weights from before it: its visits count with these in the average, but the last,
    which counts with the new ones. A penalty is taken once for all visits of the batch. problems: of `problems_pass`,
    or of one row for two classes; None: the joint rule.

    Changes model, pocket. Returns mistakes, updates, loss, and the log of updates (None: not kept).
    """
    joint = problems is None
    s = np.empty(len(model.b) if problems is None else problems.sign.shape[1], model.w.dtype)
    waiting = np.zeros((len(model.clock), 2))  # of each clock: visits of the batch, and the last, not yet counted
    todo, asked, visits = np.empty((64, LOG_COLUMNS)), 0, 0
    mistakes, updates, total, out = 0, 0, 0.0, log
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        remaining = 1.0 if weight is None else weight[i]
        model.t[0] += remaining
        while remaining > 0:
            fraction, before = min(remaining, 1.0), asked
            if problems is None:
                scores(rows, i, model.w, s)
                s *= model.w.dtype.type(model.clock[0, SCALE])
                s += model.b
                wait(rule, waiting, model, 0, fraction)
                triggered, y_hat, loss = joint_loss(rule, cost, s, y[i])
                if triggered:
                    mistakes += best_class(s) != y[i]
                    total += fraction * loss
                    todo = append_update(todo, asked, 0, i, y[i], y_hat, fraction * rule.eta)
                    asked += 1
            else:
                if not problems.duels:
                    scores(rows, i, model.w, s)
                for k in range(len(s)):
                    sign = problems.sign[y[i], k]
                    if sign == 0:
                        continue
                    if problems.duels:
                        s[k] = dot(rows, i, model.w[k])
                    own = k if len(model.clock) > 1 else 0
                    score = model.clock[own, SCALE] * s[k] + np.float64(model.b[k])
                    if own == k:  # one clock for all rows counts once
                        wait(rule, waiting, model, own, fraction)
                    margin = required_lead(rule, cost, int(sign > 0), int(sign < 0))
                    triggered, loss = binary_loss(rule, margin, sign, score)
                    if triggered:
                        mistakes += is_mistake(sign, score, rule.zero)
                        total += fraction * loss
                        todo = append_update(todo, asked, own, i, k, -1, fraction * rule.eta * sign)
                        asked += 1
            if pocket is not None:
                if asked > before:
                    pocket.tally[RUN] = 0.0
                elif needs_judging(pocket, fraction):
                    judge(pocket, model, count_mistakes(rows, y, joint, weight, pocket.examples, model, rule.zero))
            visits += 1
            remaining -= fraction
            if visits % batch == 0:
                out = close(rows, joint, todo[:asked], waiting, model, rule, out, updates)
                if pocket is not None and asked:
                    restart_run(pocket)
                updates, asked = updates + asked, 0
    out = close(rows, joint, todo[:asked], waiting, model, rule, out, updates)
    if pocket is not None and asked:
        restart_run(pocket)
    return mistakes, updates + asked, total, out


@compiled
def following_batches(rows, y, problems, weight, order, model, rule, cost, batch, record):
    """`batch_pass` batch after batch, each compared before its update (`following.py`).  Changes record, too."""
    mistakes, updates, total = 0, 0, 0.0
    s, mean = np.empty(len(model.b), model.w.dtype), np.empty(len(model.b))
    for start in range(0, len(order), batch):
        part = order[start : start + batch]
        for i in part:
            if weight is None or weight[i] > 0.0:
                if problems is None:
                    compare_classes(rows, y, i, model, s, mean, record)
                else:
                    compare_problems(rows, y, i, problems, model, rule.zero, record)
        counts = batch_pass(rows, y, problems, weight, part, model, rule, cost, batch, None, None)
        mistakes, updates, total = mistakes + counts[0], updates + counts[1], total + counts[2]
    return mistakes, updates, total


@inner
def compare_classes(rows, y, i, model, s, mean, record):
    """Compare the predictions of example i by the joint rule.  Changes record, model, and s and mean, which are room.

    s, mean: one number a class.
    """
    clock = model.clock[0]
    scores(rows, i, model.w, s)
    scores(rows, i, model.late_w, mean)
    for k in range(len(s)):
        s[k] = s.dtype.type(clock[SCALE]) * s[k] + model.b[k]
        mean[k] = mean_score(model, k, clock, np.float64(s[k]), mean[k])
    fade_record(record)
    compare(record, best_class(mean) != y[i], best_class(s) != y[i])
    forget_if_outdated(record, model, None)


@inner
def wait(rule, waiting, model, k, fraction):
    """Count the visit before this one with the weights as they are; this one may be the batch's last."""
    if waiting[k, 1] > 0.0 and count_visit(rule, model.clock[k], waiting[k, 1]):
        rescale_sums(model.clock[k], model, -1 if len(model.clock) == 1 else k)
    waiting[k, 0] += fraction
    waiting[k, 1] = fraction


@inner
def close(rows, joint, todo, waiting, model, rule, log, kept):
    """End a batch: penalise, add what was asked for, count the last visit. Changes model, waiting. Returns the log."""
    out = log
    for k in range(len(model.clock)):
        if waiting[k, 0] > 0.0 and rule.keep < 1.0 and decay_scale(rule, model.clock[k], waiting[k, 0]):
            multiply_scale_out(rule, model.clock[k], waiting[k, 0], model, -1 if len(model.clock) == 1 else k)
    for u in range(len(todo)):
        clock, i, y, y_hat = model.clock[int(todo[u, 0])], int(todo[u, 1]), int(todo[u, 2]), int(todo[u, 3])
        step = todo[u, 4]
        if joint:
            update_two_rows(rows, i, y, y_hat, step, clock, model)
        else:
            update_row(rows, i, y, step, clock, model)
            y, y_hat = int(step > 0), int(step < 0)  # of a binary model, for the log
        if log is not None:
            out = append_update(out, kept + u, clock[SEEN], i, y, y_hat, abs(model.w.dtype.type(step)))
    for k in range(len(model.clock)):
        if waiting[k, 0] > 0.0:
            if rule.l1 > 0.0:
                truncate_at_once(rule, model.clock[k], waiting[k, 0], model, -1 if len(model.clock) == 1 else k)
            if count_visit(rule, model.clock[k], waiting[k, 1]):
                rescale_sums(model.clock[k], model, -1 if len(model.clock) == 1 else k)
            waiting[k] = 0.0
    return out


@inner
def count_mistakes(rows, y, joint, weight, examples, model, zero):
    if joint:
        return multiclass_mistakes(rows, y, weight, examples, model.w, model.b, model.clock[0, SCALE])
    return binary_mistakes(rows, y, weight, examples, model.w, model.b, model.clock[0, SCALE], zero)
