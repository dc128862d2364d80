"""One example at a time: the passes of `binary.py` and `multiclass.py` with plain arguments, and the scores of a row.

numba takes longer to unpack named tuples than to learn from an example. So what is called for every example of a stream
takes arrays, puts the tuples together, and calls the pass on an order of one: the rule is not written here again.
"""

import numpy as np

from perceptrons.engine.compiling import compiled, exact, inlined
from perceptrons.engine.passes.average import LinearModel
from perceptrons.engine.passes.binary import binary_pass
from perceptrons.engine.passes.multiclass import multiclass_pass
from perceptrons.engine.passes.steps import Examples, Rule, Training
from perceptrons.engine.rows import Dense, Sparse

MISTAKE, UPDATE, OVERFLOWED = 1, 2, 4  # what `binary_one` and `multiclass_one` return, added up


@inlined
def rule_of(r):
    """The Rule with these numbers."""
    return Rule(
        int(r[0]), r[1], r[2], r[3], int(r[4]), r[5], r[6], r[7], r[8], r[9], r[10], r[11], int(r[12])
    )  # fmt: skip


@inlined
def summary(counts):
    """What a pass over one example returned, in one number."""
    return MISTAKE * counts[0] + UPDATE * counts[1] if counts[2] < np.inf else OVERFLOWED


@compiled
def binary_one(
    values, columns, starts, y, order, r, general, cost, w, b, lazy_sum_w, lazy_sum_b, state, t, sigma_w, sigma_b,
    bias_sqnorm, record,
):  # fmt: skip
    """`binary_pass` over one example: a Dense row (values (1, d)) or a Sparse one.  r: the numbers of the Rule.

    Changes the arrays of the model, and record.
    """
    rows = Dense(values) if values.ndim == 2 else Sparse(values, columns, starts)
    model = LinearModel(
        w, b, lazy_sum_w, lazy_sum_b, state, t, sigma_w, sigma_b, bias_sqnorm, np.empty((0, 0))
    )  # fmt: skip
    training = Training(model, None, None, None, record, general)
    return summary(binary_pass(Examples(rows, y, None, None, None), order, training, rule_of(r), cost))


@compiled
def multiclass_one(
    values, columns, starts, y, order, r, general, cost, w, b, lazy_sum_w, lazy_sum_b, state, t, sigma_w, sigma_b,
    bias_sqnorm, record,
):  # fmt: skip
    """`multiclass_pass` over one example, as `binary_one`."""
    rows = Dense(values) if values.ndim == 2 else Sparse(values, columns, starts)
    model = LinearModel(
        w, b, lazy_sum_w, lazy_sum_b, state, t, sigma_w, sigma_b, bias_sqnorm, np.empty((0, 0))
    )  # fmt: skip
    training = Training(model, None, None, None, record, general)
    return summary(multiclass_pass(Examples(rows, y, None, None, None), order, training, rule_of(r), cost))


@exact
def score_row(values, columns, limit, average, w, b, lazy_sum_w, lazy_sum_b, state, s):
    """The scores of a row, values[p] in columns[p], by the averaged or the last weights.

    The last weights are scale w and b: with endless time the same formula as for the mean, see `average.py`.

    Changes s; s[0] is NaN if a value is beyond the limit.
    """
    number = w.dtype.type
    mass, total = np.float64(number(state[0].scale)), np.inf
    if average and state[0].total > 0:  # nothing seen: the mean is the start
        mass, total = state[0].mass / state[0].total, state[0].total
    for p in range(len(values)):
        if not abs(values[p]) <= limit:
            s[0] = np.nan
            return
    for k in range(len(b)):
        score = number(0)
        for p in range(len(values)):
            score += values[p] * number(mass * w[k, columns[p]] - lazy_sum_w[k, columns[p]] / total)
        s[k] = score + number(b[k] - lazy_sum_b[k] / total)
