"""One example at a time: the passes of `binary.py` and `multiclass.py` with plain arguments, and the scores of a row.

numba takes longer to unpack named tuples than to learn from an example, so what is called for every example of a stream
takes arrays and puts the tuples together itself. The rule is the pass's own, called on an order of one.
"""

import numpy as np
from numba import njit

from perceptrons.passes.binary import binary_pass
from perceptrons.passes.multiclass import multiclass_pass
from perceptrons.passes.rule import Rule
from perceptrons.passes.state import MASS, SCALE, SEEN, Linear
from perceptrons.rows import Dense, Sparse, compiled, inlined

ONE, LIMIT = 10, 11  # in settings, behind the ten numbers of a Rule
REFUSED, MISTAKE, UPDATE, OVERFLOWED = -1, 1, 2, 4  # what `binary_one` and `multiclass_one` return, added up

in_order = njit(cache=True, nogil=True, error_model="numpy")  # sums as written: the scores that a CSR product gives


@inlined
def row_of(values, columns, limit):
    """The example as rows, and whether all of its values are at most `limit` (NaN is not).

    values (1, d): a Dense row. values (n,): a Sparse one, whose columns stand in columns[:n]; it loses its zeros.
    columns[n:] has room for where it starts and ends.  Changes values, columns.
    """
    if values.ndim == 2:
        sound = True
        for j in range(values.shape[1]):
            sound &= abs(values[0, j]) <= limit
        return Dense(values), sound
    n, kept, sound = len(values), 0, True
    for p in range(n):
        sound &= abs(values[p]) <= limit
        values[kept], columns[kept] = values[p], columns[p]
        kept += values[p] != 0
    columns[n], columns[n + 1] = 0, kept
    return Sparse(values, columns, columns[n:]), sound


@inlined
def rule_of(settings):
    s = settings
    return Rule(int(s[0]), s[1], s[2], s[3], int(s[4]), s[5], s[6], s[7], s[8], s[9])


@compiled
def binary_one(values, columns, y, order, settings, general, cost, w, b, late_w, late_b, clock, t, sigma_w, sigma_b):
    """`binary_pass` over one example; see `row_of`.  Changes the model's arrays, values, columns."""
    rows, sound = row_of(values, columns, settings[LIMIT])
    if not sound:
        return REFUSED
    model = Linear(w, b, late_w, late_b, clock, t, sigma_w, sigma_b, settings[ONE])
    mistakes, updates, loss, _ = binary_pass(
        rows, y, None, order, model, rule_of(settings), general, cost, None, None
    )
    return MISTAKE * mistakes + UPDATE * updates if loss < np.inf else OVERFLOWED


@compiled
def multiclass_one(
    values, columns, y, order, settings, general, cost, w, b, late_w, late_b, clock, t, sigma_w, sigma_b
):
    """`multiclass_pass` over one example; see `row_of`.  Changes the model's arrays, values, columns."""
    rows, sound = row_of(values, columns, settings[LIMIT])
    if not sound:
        return REFUSED
    model = Linear(w, b, late_w, late_b, clock, t, sigma_w, sigma_b, settings[ONE])
    mistakes, updates, loss, _ = multiclass_pass(
        rows, y, None, order, model, rule_of(settings), general, cost, None, None
    )
    return MISTAKE * mistakes + UPDATE * updates if loss < np.inf else OVERFLOWED


@in_order
def score_row(values, columns, average, limit, w, b, late_w, late_b, clock, s):
    """The scores of a row, values[p] in columns[p], by the averaged or the last weights.

    The last weights are scale w: with endless time the same formula as for the mean, see `state.py`.

    Changes s. Returns False if a value is beyond the limit.
    """
    number = w.dtype.type
    mass, seen = np.float64(number(clock[0, SCALE])), np.inf
    if average and clock[0, SEEN] > 0:  # nothing seen: the mean is the start
        mass, seen = clock[0, MASS] / clock[0, SEEN], clock[0, SEEN]
    for p in range(len(values)):
        if not abs(values[p]) <= limit:
            return False
    for k in range(len(b)):
        total = number(0)
        for p in range(len(values)):
            total += values[p] * number(mass * w[k, columns[p]] - late_w[k, columns[p]] / seen)
        s[k] = total + number(mass * b[k] - late_b[k] / seen)
    return True
