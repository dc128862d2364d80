"""The binary perceptron: one pass over given examples in a given order. For several classes: `multiclass.py`."""

import numpy as np

from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.passes.average import SCALE, SEEN, count_visit, decay_scale, multiply_scale_out, rescale_sums
from perceptrons.engine.passes.following import compare, fade_record, forget_if_outdated, mean_score
from perceptrons.engine.passes.log import append_update
from perceptrons.engine.passes.penalty import log_truncation, truncate_all, truncate_row
from perceptrons.engine.passes.pocket import judge, needs_judging, restart_run
from perceptrons.engine.passes.steps import (
    AROW,
    CONSTANT,
    required_lead,
    step_size,
    update_row,
    update_row_by_confidence,
)
from perceptrons.engine.rows import dot, prefetch


@inlined
def is_mistake(y, s, zero):
    """Return whether score s is a mistake for label y, -1 or +1.

    zero: the label that is wrong at s = 0 (2: both, 0: none).
    """
    return y * s < 0 or (s == 0 and (zero == 2 or zero == y))


@inlined
def binary_loss(rule, margin, y, s):
    """Return whether the score s triggers an update, and the loss, margin - y s."""
    loss = margin - y * s
    if rule.kind == CONSTANT:
        return is_mistake(y, s, rule.zero) or (margin > 0.0 and loss >= 0.0), loss
    return loss > 0.0, loss


@compiled
def binary_pass(rows, y, weight, order, model, rule, general, cost, log, pocket, pending, record):
    """One pass of the perceptron.   if y (w·x + b) <= margin:  w += eta y x,  b += eta y     (Rosenblatt 1958)

    An example of weight m is visited m times in a row, the last time for the remaining fraction. weight: None stands
    for weights of 1. Margins and steps: `steps.py`. The average and the L2 penalty are lazy: `average.py`.

    general: None compiles only the path of constant steps without an L2 penalty, which is twice as fast. pending: None
    compiles no L1 penalty. record: predictions of new examples after a fit (`following.py`); None compares nothing.

    Changes model (a Linear of one row), pocket, pending, record. Returns mistakes, updates, loss, and the log of
    updates (None: none).
    """
    w, b, clock = model.w[0], model.b, model.clock[0]
    scale = clock[SCALE]
    margin = required_lead(rule, cost, 0, 1), required_lead(rule, cost, 1, 0)  # for y = -1 and +1
    mistakes, updates, total, out = 0, 0, 0.0, log
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        remaining, is_first_visit = 1.0 if weight is None else weight[i], True
        while remaining > 0:
            fraction = min(remaining, 1.0)
            if general is not None:
                scale = clock[SCALE]
            if pending is not None:
                truncate_row(rows, i, model, pending)
            s = scale * dot(rows, i, w) + np.float64(b[0])
            if record is not None and is_first_visit:
                mean = mean_score(model, 0, clock, s, dot(rows, i, model.late_w[0]))
                fade_record(record)
                compare(record, is_mistake(y[i], mean, rule.zero), is_mistake(y[i], s, rule.zero))
                forget_if_outdated(record, model, pending)
                is_first_visit = False
            triggered, loss = binary_loss(rule, margin[1] if y[i] > 0 else margin[0], y[i], s)
            step = rule.eta if triggered else 0.0
            if triggered:
                if general is not None and rule.kind != CONSTANT:
                    step = step_size(rule, rows, i, loss, clock, model, 0, -1)
                if step == np.inf:  # would overflow: neither this example nor a later one is learned
                    truncate_all(model, pending)
                    model.t[0] = clock[SEEN]
                    return mistakes, updates, np.inf, out
                mistakes += is_mistake(y[i], s, rule.zero)
                total += fraction * loss
            elif rule.keep == 1.0 and rule.l1 == 0.0:
                fraction = remaining  # nothing changes, so all remaining visits are the same
            if general is not None and rule.keep < 1.0 and decay_scale(rule, clock, fraction):
                truncate_all(model, pending)
                multiply_scale_out(rule, clock, fraction, model, -1)
            if step > 0.0:
                if log is not None:
                    logged_step = w.dtype.type(fraction * step)
                    out = append_update(out, updates, clock[SEEN], i, y[i] > 0, y[i] < 0, logged_step)
                if general is not None and rule.kind == AROW:
                    update_row_by_confidence(rows, i, 0, fraction * step * y[i], loss, clock, model)
                else:
                    update_row(rows, i, 0, fraction * step * y[i], clock, model)
                updates += 1
                if pocket is not None:
                    restart_run(pocket)
            elif pocket is not None and not triggered and needs_judging(pocket, fraction):
                truncate_all(model, pending)
                n_wrong = binary_mistakes(rows, y, weight, pocket.examples, model.w, b, clock[SCALE], rule.zero)
                judge(pocket, model, n_wrong)
            if pending is not None:
                log_truncation(rule, clock, fraction, model, pending)
            if count_visit(rule, clock, fraction):
                truncate_all(model, pending)
                rescale_sums(clock, model, -1)
            remaining -= fraction
    truncate_all(model, pending)
    model.t[0] = clock[SEEN]
    return mistakes, updates, total, out


@compiled
def binary_mistakes(rows, y, weight, examples, w, b, scale, zero):
    """Return how many of the examples, by weight, the weights scale * w and b get wrong."""
    total, scale = 0.0, w.dtype.type(scale)
    for p in range(len(examples)):
        i = examples[p]
        prefetch(rows, examples, p)
        if is_mistake(y[i], scale * dot(rows, i, w[0]) + b[0], zero):
            total += 1.0 if weight is None else weight[i]
    return total
