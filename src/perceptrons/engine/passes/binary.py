"""The binary perceptron with everything that `perceptron.py` leaves out: sample weights, penalties, all steps."""

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.average import count_visit, decay_scale, multiply_scale_out, rescale_sums
from perceptrons.engine.passes.following import compare_binary
from perceptrons.engine.passes.l1_penalty import log_truncation, truncate_all, truncate_row
from perceptrons.engine.passes.pocket import judge, needs_judging, restart_run
from perceptrons.engine.passes.steps import (
    AROW,
    CONSTANT,
    is_mistake,
    n_visits,
    required_lead,
    step_size,
    triggers_update,
    update_row,
    update_row_by_confidence,
)
from perceptrons.engine.passes.voting import append_update
from perceptrons.engine.rows import dot, prefetch


@compiled
def binary_pass(examples, order, training, rule, cost):
    """One pass of the perceptron.   if y (w·x + b) <= margin:  w += eta y x,  b += eta y     (Rosenblatt 1958)

    An example of weight m is visited m times in a row, the last time for the remaining fraction. Margins and steps:
    `steps.py`. The average and the L2 penalty are lazy: `average.py`. cost: (2, 2), of each answer for each class, or
    (0, 0). training.general: without it, the pass is twice as fast.

    Changes training, whose model has one row of weights. Returns mistakes, updates, the loss, and the log of updates.
    The loss is infinite if the pass ended early, because the step on an example would overflow.
    """
    rows, y, weight = examples.rows, examples.y, examples.weight
    model, l1, pocket, log = training.model, training.l1, training.pocket, training.log
    record, general = training.record, training.general
    w, b, state = model.w[0], model.b, model.state[0]
    scale = state.scale
    margins = required_lead(rule, cost, 0, 1), required_lead(rule, cost, 1, 0)  # for y = -1 and +1
    mistakes, updates, total = 0, 0, 0.0
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        remaining, is_first_visit = n_visits(weight, i), True
        while remaining > 0:
            fraction = min(remaining, 1.0)
            if general is not None:
                scale = state.scale
            if l1 is not None:
                truncate_row(rows, i, model, l1)
            s = scale * dot(rows, i, w) + np.float64(b[0])
            if record is not None and is_first_visit:
                compare_binary(record, rows, i, y[i], s, rule.zero, model, l1)
                is_first_visit = False
            margin = margins[1] if y[i] > 0 else margins[0]
            loss = margin - y[i] * s
            triggered = triggers_update(rule, margin, y[i], s)
            step = rule.eta if triggered else 0.0
            if triggered:
                if general is not None and rule.kind != CONSTANT:
                    step = step_size(general, rule, rows, i, loss, state, model, 0, -1)
                if step == np.inf:  # would overflow: neither this example nor a later one is learned
                    end_pass(model, state, l1)
                    return mistakes, updates, np.inf, log
                mistakes += is_mistake(y[i], s, rule.zero)
                total += fraction * loss
            elif rule.keep == 1.0 and rule.l1 == 0.0:
                fraction = remaining  # nothing changes, so all remaining visits are the same
            if general is not None and rule.keep < 1.0 and decay_scale(rule, state, fraction):
                truncate_all(model, l1)
                multiply_scale_out(general, rule, state, fraction, model, -1)
            if step > 0.0:
                if log is not None:
                    logged_step = w.dtype.type(fraction * step)
                    log = append_update(log, updates, state.n_seen, i, y[i] > 0, y[i] < 0, logged_step)
                if general is not None and rule.kind == AROW:
                    update_row_by_confidence(general, rows, i, 0, fraction * step * y[i], loss, state, model)
                else:
                    update_row(rows, i, 0, fraction * step * y[i], state, model)
                updates += 1
                restart_run(pocket)
            elif pocket is not None and not triggered and needs_judging(pocket, fraction):
                truncate_all(model, l1)
                judge_binary(pocket, examples, model, rule)
            if l1 is not None:
                log_truncation(rule, state, fraction, model, l1)
            if count_visit(rule, state, fraction):
                truncate_all(model, l1)
                rescale_sums(state, model, -1)
            remaining -= fraction
    end_pass(model, state, l1)
    return mistakes, updates, total, log


@inner
def end_pass(model, state, l1):
    """Leave nothing pending, and count the examples seen.  Changes model, l1."""
    truncate_all(model, l1)
    model.t[0] = state.n_seen


@inner
def judge_binary(pocket, examples, model, rule):
    """Pocket the current weights if they are the best so far.  Changes pocket."""
    if pocket is not None:
        judge(
            pocket,
            model,
            binary_mistakes(examples, pocket.judged_on, model.w, model.b, model.state[0].scale, rule.zero),
        )


@compiled
def binary_mistakes(examples, order, w, b, scale, zero):
    """Return how many of the examples in the order, by weight, the weights scale * w and b get wrong."""
    rows, y = examples.rows, examples.y
    total, scale = 0.0, w.dtype.type(scale)
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        if is_mistake(y[i], scale * dot(rows, i, w[0]) + b[0], zero):
            total += n_visits(examples.weight, i)
    return total
