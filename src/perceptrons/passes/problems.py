"""Many binary perceptrons in one pass over the data: one-vs-rest, one-vs-one, several labels (spec 3, wrappers)."""

from typing import NamedTuple

import numpy as np

from perceptrons.passes.binary import binary_loss, wrong
from perceptrons.passes.rule import AROW, CONSTANT, answer_to, confident_shift, shift
from perceptrons.passes.state import SCALE, shrink, tick
from perceptrons.rows import compiled, dot, inlined, prefetch, scores, some_scores


class Problems(NamedTuple):
    """Which binary problems an example of class c is in, and as what. For several labels a class is a set of labels."""

    sign: np.ndarray  # int8 (classes, q): +1 or -1
    row: np.ndarray  # int32 (classes, q): the row of weights; (0, 0): the q problems are all rows, in their order
    weight: np.ndarray  # float64 (rows, 2): of the negative and the positive examples of a problem; (0, 2): all 1


@inlined
def problem_scores(rows, i, problems, c, model, s):
    """The scores of example i, of class c, in its problems; without bias and scale."""
    if len(problems.row):
        some_scores(rows, i, model.w, problems.row[c], s)
    else:
        scores(rows, i, model.w, s)


@compiled
def problems_pass(rows, y, problems, weight, order, model, rule):
    """One pass of `binary_pass` for all problems at once: row k of the weights and clock k are those of problem k.

    Changes model. Returns mistakes, updates and loss, summed over the problems.
    """
    s = np.empty(problems.sign.shape[1], model.w.dtype)
    mistakes, updates, total = 0, 0, 0.0
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        heavy = 1.0 if weight is None else weight[i]
        if heavy == 0.0:
            continue
        c = y[i]
        problem_scores(rows, i, problems, c, model, s)
        for q in range(len(s)):
            k = int(problems.row[c, q]) if len(problems.row) else q
            sign, clock, dotted = problems.sign[c, q], model.clock[k], s[q]
            left = heavy * problems.weight[k, int(sign > 0)] if len(problems.weight) else heavy
            while left > 0:
                share = min(left, 1.0)
                score = clock[SCALE] * (dotted + model.one * model.b[k])
                asks, loss = binary_loss(rule, rule.margin, sign, score)
                step = rule.eta if asks else 0.0
                if asks:
                    if rule.kind != CONSTANT:
                        step = answer_to(rule, rows, i, loss, model, k, -1)
                    mistakes += wrong(sign, score, rule.zero)
                    total += share * loss if step < np.inf else np.inf
                elif rule.keep == 1.0:
                    share = left  # nothing changes, so all visits left are the same
                if rule.keep < 1.0:
                    shrink(rule, clock, share, model, k)
                if 0.0 < step < np.inf:
                    if rule.kind == AROW:
                        confident_shift(rows, i, k, share * step * sign, loss, clock, model)
                    else:
                        shift(rows, i, k, share * step * sign, clock, model)
                    updates += 1
                tick(clock, share)
                left -= share
                if left > 0:
                    dotted = dot(rows, i, model.w[k])
        model.t[0] += heavy
    return mistakes, updates, total
