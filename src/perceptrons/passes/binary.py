"""The binary perceptron: one pass over given examples in a given order. For several classes: `multiclass.py`."""

from perceptrons.passes.state import broke, due, judge, longer, note
from perceptrons.rows import add, compiled, dot, prefetch


@compiled
def wrong(y, s, zero):
    """Is score s a mistake for label y, -1 or +1?  zero: the label that is wrong at s = 0 (2: both, 0: none)."""
    return y * s < 0 or (s == 0 and (zero == 2 or zero == y))


@compiled
def shift(rows, i, step, t, model):
    """w += step x_i,  b += step, and the same t times into the late sums."""
    add(rows, i, step, model.w[0])
    add(rows, i, t * step, model.late_w[0])
    model.b[0] += model.one * step
    model.late_b[0] += t * model.one * step


@compiled
def binary_pass(rows, y, weight, order, model, eta, zero, log, pocket):
    """One pass of the perceptron.   if y (w·x + b) <= 0:  w += eta y x,  b += eta y     (spec 1; Rosenblatt 1958)

    An example of weight m is visited m times on the spot, the last time for the fraction left (weight None: once).
    late collects (examples seen before) * update: the mean of w over all examples is w - late / t (spec 4).

    Changes model (a Linear of one row), pocket. Returns mistakes, loss, and the log of updates (None: not kept).
    """
    w, b, one, t = model.w[0], model.b, model.one, model.t[0]
    mistakes, loss, updates = 0, 0.0, log
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        left = 1.0 if weight is None else weight[i]
        while left > 0:
            s = dot(rows, i, w) + one * b[0]
            if not wrong(y[i], s, zero):
                t += left
                if pocket is not None and due(pocket, left):
                    judge(pocket, model, binary_mistakes(rows, y, weight, pocket.examples, model.w, b, zero))
                break
            share = min(left, 1.0)
            step = w.dtype.type(share * eta * y[i])
            shift(rows, i, step, t, model)
            if pocket is not None:
                broke(pocket)
            if log is not None:
                updates = longer(updates, mistakes)
                note(updates, mistakes, t, i, y[i] > 0, y[i] < 0, abs(step))
            mistakes += 1
            loss += share * abs(s)
            t += share
            left -= share
    model.t[0] = t
    return mistakes, loss, updates


@compiled
def binary_mistakes(rows, y, weight, examples, w, b, zero):
    """How many of the examples (by weight) the fixed weights w, b get wrong."""
    total = 0.0
    for p in range(len(examples)):
        i = examples[p]
        prefetch(rows, examples, p)
        if wrong(y[i], dot(rows, i, w[0]) + b[0], zero):
            total += 1.0 if weight is None else weight[i]
    return total
