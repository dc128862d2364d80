"""Many binary perceptrons in one pass over the data: one-vs-rest, one-vs-one, several labels."""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.average import (
    SCALE,
    SEEN,
    Linear,
    count_visit,
    decay_scale,
    multiply_scale_out,
    rescale_sums,
)
from perceptrons.engine.passes.binary import binary_loss, binary_pass, is_mistake
from perceptrons.engine.passes.following import compare, fade_record, forget_if_outdated, mean_score
from perceptrons.engine.passes.penalty import log_truncation, truncate_all, truncate_row
from perceptrons.engine.passes.steps import AROW, CONSTANT, step_size, update_row, update_row_by_confidence
from perceptrons.engine.rows import dot, packed, prefetch, scores

PACKED = 2**22  # numbers of a block that is copied, class by class; measured, see docs/decisions.md


class Problems(NamedTuple):
    """The binary problems: problem k has row k of the weights. For several labels a class is a set of labels."""

    sign: np.ndarray  # int8 (classes, problems): what examples of a class are in a problem: +1, -1, or 0: not there
    duels: bool  # one-vs-one: most are not there


@compiled
def together_pass(rows, y, problems, weight, order, model, rule, general, pending, record):
    """One pass of `binary_pass` for all rows: every example is in every problem, so they share one clock.

    Changes model, pending, record. Returns mistakes, updates and loss, summed over the problems.
    """
    theta, b, clock, sign = model.w, model.b, model.clock[0], problems.sign
    s, mean = np.empty(len(b), theta.dtype), np.empty(len(b))
    mistakes, updates, total = 0, 0, 0.0
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        remaining, is_first_visit = 1.0 if weight is None else weight[i], True
        while remaining > 0:
            fraction, scale, is_unchanged = min(remaining, 1.0), theta.dtype.type(clock[SCALE]), True
            if pending is not None:
                truncate_row(rows, i, model, pending)
            scores(rows, i, theta, s)
            for k in range(len(s)):
                s[k] = scale * s[k] + b[k]
            if record is not None and is_first_visit:
                scores(rows, i, model.late_w, mean)
                fade_record(record)
                for k in range(len(s)):
                    mean[k] = mean_score(model, k, clock, np.float64(s[k]), mean[k])
                    compare(
                        record,
                        is_mistake(sign[y[i], k], mean[k], rule.zero),
                        is_mistake(sign[y[i], k], s[k], rule.zero),
                    )
                forget_if_outdated(record, model, pending)
                is_first_visit = False
            if general is not None and rule.keep < 1.0 and decay_scale(rule, clock, fraction):
                truncate_all(model, pending)
                multiply_scale_out(rule, clock, fraction, model, -1)
            for k in range(len(s)):
                triggered, loss = binary_loss(rule, rule.margin, sign[y[i], k], s[k])
                if triggered:
                    is_unchanged = False
                    step = rule.eta
                    if general is not None and rule.kind != CONSTANT:
                        step = step_size(rule, rows, i, loss, clock, model, k, -1)
                    if step == np.inf:
                        truncate_all(model, pending)
                        return mistakes, updates, np.inf
                    mistakes += is_mistake(sign[y[i], k], s[k], rule.zero)
                    total += fraction * loss
                    if step > 0.0:
                        updates += 1
                        if general is not None and rule.kind == AROW:
                            update_row_by_confidence(rows, i, k, fraction * step * sign[y[i], k], loss, clock, model)
                        else:
                            update_row(rows, i, k, fraction * step * sign[y[i], k], clock, model)
            if is_unchanged and rule.keep == 1.0 and rule.l1 == 0.0:
                fraction = remaining  # nothing changes, so all remaining visits are the same
            if pending is not None:
                log_truncation(rule, clock, fraction, model, pending)
            if count_visit(rule, clock, fraction):
                truncate_all(model, pending)
                rescale_sums(clock, model, -1)
            remaining -= fraction
    truncate_all(model, pending)
    model.t[0] = clock[SEEN]
    return mistakes, updates, total


@compiled
def labels_pass(rows, y, problems, weight, by_label, order, model, rule, general, pending):
    """`binary_pass` for labels whose examples have weights of their own, (labels, 2) for those without and with it.

    Changes model, pending. Returns mistakes, updates and loss, summed over the problems.
    """
    mistakes, updates, total = 0, 0, 0.0
    sign, own = np.empty(len(y), np.int8), np.empty(len(y))
    for k in range(len(model.b)):
        for i in order:
            sign[i] = problems.sign[y[i], k]
            own[i] = by_label[k, int(sign[i] > 0)] * (1.0 if weight is None else weight[i])
        counts = problem_pass(rows, sign, own, order, model, rule, general, pending, k)
        mistakes, updates, total = mistakes + counts[0], updates + counts[1], total + counts[2]
    for i in order:
        model.t[0] += 1.0 if weight is None else weight[i]
    return mistakes, updates, total


@compiled
def duels_pass(rows, y, n_classes, weight, order, model, rule, general, pending):
    """`binary_pass` for every pair of classes, a < b, on their examples alone: a is -1, b is +1.

    A block of the data is copied class by class, and while it is in the cache, the pairs take turns at it.

    Changes model, pending. Returns mistakes, updates and loss, summed over the problems.
    """
    mistakes, updates, total = 0, 0, 0.0
    size = max(1024, PACKED // max(1, rows.values.size // max(1, len(y))))
    for begin in range(0, len(order), size):
        block = order[begin : begin + size]
        grouped, starts = by_class(y, block, n_classes)
        here = packed(rows, block[grouped])
        own = None if weight is None else weight[block[grouped]]
        sign, mine, k = np.ones(len(block), np.int8), np.empty(len(block), order.dtype), 0
        for a in range(n_classes):
            sign[starts[a] : starts[a + 1]] = -1
            for b in range(a + 1, n_classes):
                n = merged(grouped, starts[a], starts[a + 1], starts[b], starts[b + 1], mine)
                if n == 0:
                    k += 1
                    continue
                counts = problem_pass(here, sign, own, mine[:n], model, rule, general, pending, k)
                mistakes, updates, total = mistakes + counts[0], updates + counts[1], total + counts[2]
                k += 1
        for i in block:
            model.t[0] += 1.0 if weight is None else weight[i]
    return mistakes, updates, total


@compiled
def following_labels(rows, y, problems, weight, by_label, order, model, rule, general, pending, record):
    """`labels_pass` one example after the other, each compared before it is learned from.  Changes record, too."""
    mistakes, updates, total = 0, 0, 0.0
    for p in range(len(order)):
        if weight is None or weight[order[p]] > 0.0:
            compare_problems(rows, y, order[p], problems, model, rule.zero, record)
        counts = labels_pass(rows, y, problems, weight, by_label, order[p : p + 1], model, rule, general, pending)
        mistakes, updates, total = mistakes + counts[0], updates + counts[1], total + counts[2]
        if total == np.inf:  # would overflow: nothing that comes after it is learned
            break
    return mistakes, updates, total


@compiled
def following_duels(rows, y, problems, weight, order, model, rule, general, pending, record):
    """`duels_pass` in the same way."""
    mistakes, updates, total, n_classes = 0, 0, 0.0, len(problems.sign)
    for p in range(len(order)):
        if weight is None or weight[order[p]] > 0.0:
            compare_problems(rows, y, order[p], problems, model, rule.zero, record)
        counts = duels_pass(rows, y, n_classes, weight, order[p : p + 1], model, rule, general, pending)
        mistakes, updates, total = mistakes + counts[0], updates + counts[1], total + counts[2]
        if total == np.inf:
            break
    return mistakes, updates, total


@inner
def compare_problems(rows, y, i, problems, model, zero, record):
    """Compare the predictions of the problems that example i is in (`following.py`).  Changes record, model."""
    fade_record(record)
    for k in range(problems.sign.shape[1]):
        sign = problems.sign[y[i], k]
        if sign != 0:
            clock = model.clock[k if len(model.clock) > 1 else 0]
            s = clock[SCALE] * np.float64(dot(rows, i, model.w[k])) + np.float64(model.b[k])
            mean = mean_score(model, k, clock, s, dot(rows, i, model.late_w[k]))
            compare(record, is_mistake(sign, mean, zero), is_mistake(sign, s, zero))
    forget_if_outdated(record, model, None)


@inner
def problem_pass(rows, sign, weight, order, model, rule, general, pending, k):
    """`binary_pass` for problem k, which has row k of the weights and clock k."""
    t = np.zeros(1)
    if rows.values.size // max(1, len(sign)) * len(order) * 16 > model.w.shape[1]:
        for j in range(0, model.w.shape[1], 16):  # the weights into the cache in order: faster than as they are needed
            t[0] += model.w[k, j]
    row = slice(k, k + 1)
    problem = Linear(
        model.w[row], model.b[row], model.late_w[row], model.late_b[row], model.clock[row], t,
        model.sigma_w[row], model.sigma_b[row], model.one, model.paid_w[row],
    )  # fmt: skip
    mistakes, updates, loss, _ = binary_pass(
        rows, sign, weight, order, problem, rule, general, np.empty((0, 0)), None, None, pending, None
    )
    return mistakes, updates, loss


@inner
def by_class(y, block, n_classes):
    """The places of a block class by class, in their order within each; class c is at starts[c]:starts[c + 1]."""
    starts = np.zeros(n_classes + 1, np.intp)
    for i in block:
        starts[y[i] + 1] += 1
    starts = np.cumsum(starts)
    free, grouped = starts.copy(), np.empty(len(block), np.intp)
    for p in range(len(block)):
        c = y[block[p]]
        grouped[free[c]] = p
        free[c] += 1
    return grouped, starts


@inner
def merged(grouped, a, end_a, b, end_b, mine):
    """Two classes of a block in the order of the block, as places in the copy. Returns how many they are."""
    n = 0
    while a < end_a or b < end_b:
        if b == end_b or (a < end_a and grouped[a] < grouped[b]):
            mine[n] = a
            a += 1
        else:
            mine[n] = b
            b += 1
        n += 1
    return n
