"""The binary perceptron: one pass over given examples in a given order. For several classes: `multiclass.py`."""

import numpy as np

from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.passes.average import SCALE, SEEN, fade, renew, settle, tick
from perceptrons.engine.passes.following import compare, fade_record, forget, is_outdated, mean_score
from perceptrons.engine.passes.log import note
from perceptrons.engine.passes.penalty import demand_payment, truncate_all, truncate_row
from perceptrons.engine.passes.pocket import broke, due, judge
from perceptrons.engine.passes.steps import AROW, CONSTANT, answer_to, confident_shift, demand, shift
from perceptrons.engine.rows import dot, prefetch


@inlined
def wrong(y, s, zero):
    """Is score s a mistake for label y, -1 or +1?  zero: the label that is wrong at s = 0 (2: both, 0: none)."""
    return y * s < 0 or (s == 0 and (zero == 2 or zero == y))


@inlined
def binary_loss(rule, margin, y, s):
    """Return whether the score s triggers an update, and the loss, margin - y s."""
    loss = margin - y * s
    if rule.kind == CONSTANT:
        return wrong(y, s, rule.zero) or (margin > 0.0 and loss >= 0.0), loss
    return loss > 0.0, loss


@compiled
def binary_pass(rows, y, weight, order, model, rule, general, cost, log, pocket, pending, record):
    """One pass of the perceptron.   if y (w·x + b) <= margin:  w += eta y x,  b += eta y     (Rosenblatt 1958)

    An example of weight m is visited m times on the spot, the last time for the fraction left (weight None: once).
    Margin and step are the rule's: `steps.py`. The L2 penalty and the average are lazy: `average.py`. general: None
    compiles only constant steps without an L2 penalty, which takes half the time. pending: None compiles no L1 penalty.
    record: of predictions of new examples after a fit (`following.py`); None: nothing is compared.

    Changes model (a Linear of one row), pocket, pending, record. Returns mistakes, updates, loss, and the log of
    updates (None: none).
    """
    w, b, clock = model.w[0], model.b, model.clock[0]
    scale = clock[SCALE]
    margin = demand(rule, cost, 0, 1), demand(rule, cost, 1, 0)  # for y = -1 and +1
    mistakes, updates, total, out = 0, 0, 0.0, log
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        left, is_first_visit = 1.0 if weight is None else weight[i], True
        while left > 0:
            share = min(left, 1.0)
            if general is not None:
                scale = clock[SCALE]
            if pending is not None:
                truncate_row(rows, i, model, pending)
            s = scale * dot(rows, i, w) + np.float64(b[0])
            if record is not None and is_first_visit:
                mean = mean_score(model, 0, clock, s, dot(rows, i, model.late_w[0]))
                fade_record(record)
                compare(record, wrong(y[i], mean, rule.zero), wrong(y[i], s, rule.zero))
                if is_outdated(record, model):
                    if pending is not None:
                        truncate_all(model, pending)
                    forget(model)
                is_first_visit = False
            asks, loss = binary_loss(rule, margin[1] if y[i] > 0 else margin[0], y[i], s)
            step = rule.eta if asks else 0.0
            if asks:
                if general is not None and rule.kind != CONSTANT:
                    step = answer_to(rule, rows, i, loss, clock, model, 0, -1)
                if step == np.inf:  # would overflow: the example is not learned, nor what comes after it
                    if pending is not None:
                        truncate_all(model, pending)
                    model.t[0] = clock[SEEN]
                    return mistakes, updates, np.inf, out
                mistakes += wrong(y[i], s, rule.zero)
                total += share * loss
            elif rule.keep == 1.0 and rule.l1 == 0.0:
                share = left  # nothing changes, so all visits left are the same
            if general is not None and rule.keep < 1.0 and fade(rule, clock, share):
                if pending is not None:
                    truncate_all(model, pending)
                settle(rule, clock, share, model, -1)
            if step > 0.0:
                if log is not None:
                    moved = w.dtype.type(share * step)
                    out = note(out, updates, clock[SEEN], i, y[i] > 0, y[i] < 0, moved)
                if general is not None and rule.kind == AROW:
                    confident_shift(rows, i, 0, share * step * y[i], loss, clock, model)
                else:
                    shift(rows, i, 0, share * step * y[i], clock, model)
                updates += 1
                if pocket is not None:
                    broke(pocket)
            elif pocket is not None and not asks and due(pocket, share):
                if pending is not None:
                    truncate_all(model, pending)
                wrong_now = binary_mistakes(rows, y, weight, pocket.examples, model.w, b, clock[SCALE], rule.zero)
                judge(pocket, model, wrong_now)
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


@compiled
def binary_mistakes(rows, y, weight, examples, w, b, scale, zero):
    """How many of the examples (by weight) the fixed weights scale * w, b get wrong."""
    total, scale = 0.0, w.dtype.type(scale)
    for p in range(len(examples)):
        i = examples[p]
        prefetch(rows, examples, p)
        if wrong(y[i], scale * dot(rows, i, w[0]) + b[0], zero):
            total += 1.0 if weight is None else weight[i]
    return total
