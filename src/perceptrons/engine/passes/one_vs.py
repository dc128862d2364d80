"""Many binary perceptrons in one pass over the data: one-vs-rest, one-vs-one, several labels per example."""

import numpy as np

from perceptrons.engine.compiling import compiled, inner
from perceptrons.engine.passes.average import LinearModel, count_visit, decay_scale, multiply_scale_out, rescale_sums
from perceptrons.engine.passes.binary import binary_pass, end_pass
from perceptrons.engine.passes.following import compare_all_problems, compare_problems
from perceptrons.engine.passes.l1_penalty import log_truncation, truncate_all, truncate_row
from perceptrons.engine.passes.steps import (
    AROW,
    CONSTANT,
    Examples,
    Training,
    is_mistake,
    n_visits,
    step_size,
    triggers_update,
    update_row,
    update_row_by_confidence,
)
from perceptrons.engine.rows import packed, prefetch, scores

BLOCK_NUMBERS = 2**22  # of a block that is copied class by class; measured, see docs/decisions/engine.md


@compiled
def shared_clock_pass(examples, order, training, rule, cost):
    """One pass of `binary_pass` for all rows: every example is in every problem, so they share one clock.

    Changes training. Returns mistakes, updates and loss, summed over the problems, and the log of updates (None).
    """
    rows, y, weight, sign = examples.rows, examples.y, examples.weight, examples.problems.sign
    model, l1, record, general = training.model, training.l1, training.record, training.general
    theta, b, state = model.w, model.b, model.state[0]
    s, mean = np.empty(len(b), theta.dtype), np.empty(len(b))
    mistakes, updates, total = 0, 0, 0.0
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        remaining, is_first_visit = n_visits(weight, i), True
        while remaining > 0:
            fraction, scale, is_unchanged = min(remaining, 1.0), theta.dtype.type(state.scale), True
            if l1 is not None:
                truncate_row(rows, i, model, l1)
            scores(rows, i, theta, s)
            for k in range(len(s)):
                s[k] = scale * s[k] + b[k]
            if record is not None and is_first_visit:
                compare_all_problems(record, rows, i, sign[y[i]], s, mean, rule.zero, model, l1)
                is_first_visit = False
            if general is not None and rule.keep < 1.0 and decay_scale(rule, state, fraction):
                truncate_all(model, l1)
                multiply_scale_out(general, rule, state, fraction, model, -1)
            for k in range(len(s)):
                if triggers_update(rule, rule.margin, sign[y[i], k], s[k]):
                    is_unchanged = False
                    loss = rule.margin - sign[y[i], k] * s[k]
                    step = rule.eta
                    if general is not None and rule.kind != CONSTANT:
                        step = step_size(general, rule, rows, i, loss, state, model, k, -1)
                    if step == np.inf:
                        truncate_all(model, l1)
                        return mistakes, updates, np.inf, training.log
                    mistakes += is_mistake(sign[y[i], k], s[k], rule.zero)
                    total += fraction * loss
                    if step > 0.0:
                        updates += 1
                        step = fraction * step * sign[y[i], k]
                        if general is not None and rule.kind == AROW:
                            update_row_by_confidence(general, rows, i, k, step, loss, state, model)
                        else:
                            update_row(rows, i, k, step, state, model)
            if is_unchanged and rule.keep == 1.0 and rule.l1 == 0.0:
                fraction = remaining  # nothing changes, so all remaining visits are the same
            if l1 is not None:
                log_truncation(rule, state, fraction, model, l1)
            if count_visit(rule, state, fraction):
                truncate_all(model, l1)
                rescale_sums(state, model, -1)
            remaining -= fraction
    end_pass(model, state, l1)
    return mistakes, updates, total, training.log


@compiled
def labels_pass(examples, order, training, rule, cost):
    """`binary_pass` label by label, for several labels per example whose weights depend on the label.

    Arguments and what is returned as in `shared_clock_pass`.
    """
    y, weight, signs = examples.y, examples.weight, examples.problems.sign
    mistakes, updates, total = 0, 0, 0.0
    sign, own = np.empty(len(y), np.int8), np.empty(len(y))
    for k in range(len(training.model.b)):
        for i in order:
            sign[i] = signs[y[i], k]
            own[i] = examples.by_label[k, int(sign[i] > 0)] * n_visits(weight, i)
        counts = problem_pass(Examples(examples.rows, sign, own, None, None), order, training, rule, cost, k)
        mistakes, updates, total = mistakes + counts[0], updates + counts[1], total + counts[2]
    for i in order:
        training.model.t[0] += n_visits(weight, i)
    return mistakes, updates, total, training.log


@compiled
def one_vs_one_pass(examples, order, training, rule, cost):
    """`binary_pass` for every pair of classes, a < b, on their examples alone: a is -1, b is +1.

    A block of the data is copied class by class, and while it is in the cache, the pairs take turns at it. Arguments
    and what is returned as in `shared_clock_pass`.
    """
    rows, y, weight, n_classes = examples.rows, examples.y, examples.weight, len(examples.problems.sign)
    mistakes, updates, total = 0, 0, 0.0
    size = max(1024, BLOCK_NUMBERS // max(1, rows.values.size // max(1, len(y))))
    for begin in range(0, len(order), size):
        block = order[begin : begin + size]
        grouped, starts = group_by_class(y, block, n_classes)
        sign, pair_order, k = np.ones(len(block), np.int8), np.empty(len(block), order.dtype), 0
        part = Examples(packed(rows, block[grouped]), sign, selected(weight, block[grouped]), None, None)
        for a in range(n_classes):
            sign[starts[a] : starts[a + 1]] = -1
            for b in range(a + 1, n_classes):
                n = merge_classes(grouped, starts[a], starts[a + 1], starts[b], starts[b + 1], pair_order)
                if n == 0:
                    k += 1
                    continue
                counts = problem_pass(part, pair_order[:n], training, rule, cost, k)
                mistakes, updates, total = mistakes + counts[0], updates + counts[1], total + counts[2]
                k += 1
        for i in block:
            training.model.t[0] += n_visits(weight, i)
    return mistakes, updates, total, training.log


@compiled
def following_labels_pass(examples, order, training, rule, cost):
    """`labels_pass` one example after the other, each compared before it is learned from (`following.py`)."""
    mistakes, updates, total = 0, 0, 0.0
    for p in range(len(order)):
        compare_example(examples.problems, examples, order[p], training, rule)
        counts = labels_pass(examples, order[p : p + 1], training, rule, cost)
        mistakes, updates, total = mistakes + counts[0], updates + counts[1], total + counts[2]
        if total == np.inf:  # would overflow: nothing that comes after it is learned
            break
    return mistakes, updates, total, training.log


@compiled
def following_one_vs_one_pass(examples, order, training, rule, cost):
    """`one_vs_one_pass` in the same way."""
    mistakes, updates, total = 0, 0, 0.0
    for p in range(len(order)):
        compare_example(examples.problems, examples, order[p], training, rule)
        counts = one_vs_one_pass(examples, order[p : p + 1], training, rule, cost)
        mistakes, updates, total = mistakes + counts[0], updates + counts[1], total + counts[2]
        if total == np.inf:
            break
    return mistakes, updates, total, training.log


@inner
def compare_example(problems, examples, i, training, rule):
    """Compare the predictions of an example, unless its weight is 0.  Changes training."""
    if n_visits(examples.weight, i) > 0.0:
        signs = problems.sign[examples.y[i]]
        compare_problems(training.record, examples.rows, i, signs, rule.zero, training.model)


@inner
def problem_pass(examples, order, training, rule, cost, k):
    """`binary_pass` for problem k, which has row k of the weights and clock k. It has no costs."""
    model, t = training.model, np.zeros(1)
    if examples.rows.values.size // max(1, len(examples.y)) * len(order) * 16 > model.w.shape[1]:
        for j in range(0, model.w.shape[1], 16):  # the weights into the cache in order: faster than as they are needed
            t[0] += model.w[k, j]
    row = slice(k, k + 1)
    problem = LinearModel(
        model.w[row], model.b[row], model.lazy_sum_w[row], model.lazy_sum_b[row], model.state[row], t,
        model.sigma_w[row], model.sigma_b[row], model.bias_sqnorm, model.paid_w[row],
    )  # fmt: skip
    return binary_pass(examples, order, Training(problem, training.l1, None, None, None, training.general), rule, cost)


@inner
def selected(weight, at):
    """The weights of these examples."""
    return None if weight is None else weight[at]


@inner
def group_by_class(y, block, n_classes):
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
def merge_classes(grouped, a, end_a, b, end_b, merged):
    """Write two classes of a block in the order of the block, as places in the copy. Returns how many they are."""
    n = 0
    while a < end_a or b < end_b:
        if b == end_b or (a < end_a and grouped[a] < grouped[b]):
            merged[n] = a
            a += 1
        else:
            merged[n] = b
            b += 1
        n += 1
    return n
