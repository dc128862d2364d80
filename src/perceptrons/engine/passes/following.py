"""Learning after a fit: the averaged weights follow new examples, and forget the past if the last weights do better.

A fit leaves an average over all of its examples and epochs, so that new examples would hardly count. Therefore every
new example is first predicted by the averaged and by the last weights (progressive validation), and a record is kept:

    lead      = FADING lead      + mistakes of the average - mistakes of the last weights
    different = FADING different + predictions in which exactly one of the two was wrong

If both were equally good, lead would have a standard deviation of sqrt(different). While lead > sqrt(different), the
last weights predict. If lead > SURE sqrt(different), the difference is no accident: the average is outdated, and all
that it holds counts as MEMORY to 2 MEMORY examples from then on. On unchanged data this does not happen, and the
average stays what it would have been. (Compare Gama et al. 2004, "Learning with drift detection".)

The passes do this if they are given a record. An example counts once, whatever its weight; in binary problems, every
problem that it is in counts.
"""

from perceptrons.engine.compiling import inlined, inner
from perceptrons.engine.passes.average import ANCHOR, MASS, OFFSET, SCALE, TOTAL
from perceptrons.engine.passes.penalty import truncate_all

RECORD = 2
LEAD, DIFFERENT = range(RECORD)
FADING = 1.0 - 1.0 / 500.0  # how much a comparison counts less with every example after it
SURE = 3.0
MEMORY = 250.0  # examples; measured together with FADING and SURE, see docs/decisions/engine.md


@inlined
def fade_record(record):
    """Let all comparisons so far count less, before an example is compared.  Changes record."""
    record[LEAD] *= FADING
    record[DIFFERENT] *= FADING


@inlined
def compare(record, mean_is_wrong, last_is_wrong):
    """Count a prediction.  Changes record."""
    if mean_is_wrong != last_is_wrong:
        record[LEAD] += 1.0 if mean_is_wrong else -1.0
        record[DIFFERENT] += 1.0


@inlined
def mean_score(model, k, clock, s, late):
    """The score by the averaged weights of row k.  s: by the last ones, with the bias; late: by late_w alone."""
    if clock[TOTAL] == 0.0:  # nothing seen: the mean is the start
        return s
    w, b = s - model.b[k], model.b[k]
    return (clock[MASS] / clock[SCALE] * w - late) / clock[TOTAL] + (b - model.late_b[k] / clock[TOTAL])


@inlined
def forget_if_outdated(record, model, pending):
    """Let the average forget if the last weights predict clearly better.  Changes model, pending."""
    if is_outdated(record, model):
        truncate_all(model, pending)
        forget(model)


@inlined
def is_outdated(record, model):
    """Return whether the average predicts clearly worse than the last weights and holds more than it should."""
    if record[LEAD] > 0.0 and record[LEAD] ** 2 > SURE**2 * record[DIFFERENT]:
        for k in range(len(model.clock)):
            if model.clock[k, TOTAL] >= 2.0 * MEMORY:
                return True
    return False


@inner
def forget(model):
    """Let what the average holds count as MEMORY to 2 MEMORY examples.  Changes model.

    Sums are multiplied by powers of two, so the average itself stays the same to the bit.
    """
    for k in range(len(model.clock)):
        clock, part = model.clock[k], 1.0
        while part * clock[TOTAL] >= 2.0 * MEMORY:
            part *= 0.5
        if part < 1.0:
            rows = slice(k, k + 1) if len(model.clock) > 1 else slice(0, len(model.b))
            late_w = model.late_w[rows]
            if late_w.strides[0] < late_w.strides[1]:
                multiply(late_w.T, part)
            else:
                multiply(late_w, part)
            for r in range(rows.start, rows.stop):
                model.late_b[r] *= part
            clock[MASS] *= part
            clock[TOTAL] *= part
            if clock[ANCHOR] > 0.0:
                clock[OFFSET] = clock[MASS] + clock[ANCHOR] * clock[SCALE]


@inner
def multiply(matrix, part):
    for r in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[r, j] *= part
