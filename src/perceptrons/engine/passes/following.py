"""Learning after a fit: the averaged weights follow new examples, and forget the past if the last weights do better.

A fit leaves an average over all of its examples and epochs, so that new examples would hardly count. Therefore every
new example is first predicted by the averaged and by the last weights (progressive validation), and a record is kept:

    lead        = FADING lead        + mistakes of the average - mistakes of the last weights
    n_different = FADING n_different + predictions in which exactly one of the two was wrong

If both were equally good, lead would have a standard deviation of sqrt(n_different). While lead > sqrt(n_different),
the last weights predict. If lead > SURE sqrt(n_different), the difference is no accident: the average is outdated, and
all that it holds counts as MEMORY to 2 MEMORY examples from then on. On unchanged data this does not happen, and the
average stays what it would have been. (Compare Gama et al. 2004, "Learning with drift detection".)

The passes do this if they are given a record. An example counts once, whatever its weight; in binary problems, every
problem that it is in counts.
"""

import numpy as np

from perceptrons.engine.compiling import inlined, inner
from perceptrons.engine.passes.l1_penalty import truncate_all
from perceptrons.engine.passes.steps import best_class, is_mistake
from perceptrons.engine.rows import dot, scores

RECORD = np.dtype((np.record, [("lead", "f8"), ("n_different", "f8")]))  # an array of one element
FADING = 1.0 - 1.0 / 500.0  # how much a comparison counts less with every example after it
SURE = 3.0
MEMORY = 250.0  # examples; measured together with FADING and SURE, see docs/decisions/engine.md


@inner
def compare_binary(record, rows, i, y, s, zero, model, l1):
    """Compare the predictions of an example by averaged and last weights.  Changes record, model, l1.

    s: the score by the last weights.
    """
    if record is None:
        return
    mean = mean_score(model, 0, model.state[0], s, dot(rows, i, model.lazy_sum_w[0]))
    fade_record(record)
    count_prediction(record, is_mistake(y, mean, zero), is_mistake(y, s, zero))
    forget_if_outdated(record, model, l1)


@inner
def compare_classes(record, rows, i, y, s, mean, model, l1):
    """Compare the predictions of an example by the joint rule.  Changes record, model, l1, and mean, which is a buffer.

    s: the scores by the last weights. mean: float64, one per class.
    """
    if record is None:
        return
    scores(rows, i, model.lazy_sum_w, mean)
    for k in range(len(s)):
        mean[k] = mean_score(model, k, model.state[0], np.float64(s[k]), mean[k])
    fade_record(record)
    count_prediction(record, best_class(mean) != y, best_class(s) != y)
    forget_if_outdated(record, model, l1)


@inner
def compare_all_problems(record, rows, i, signs, s, mean, zero, model, l1):
    """Compare the predictions of an example that is in every binary problem, as `compare_classes`.

    signs: +1 or -1 per problem.
    """
    if record is None:
        return
    scores(rows, i, model.lazy_sum_w, mean)
    fade_record(record)
    for k in range(len(s)):
        mean[k] = mean_score(model, k, model.state[0], np.float64(s[k]), mean[k])
        count_prediction(record, is_mistake(signs[k], mean[k], zero), is_mistake(signs[k], s[k], zero))
    forget_if_outdated(record, model, l1)


@inner
def compare_problems(record, rows, i, signs, zero, model):
    """Compare the predictions of the problems that an example is in.  Changes record, model.

    signs: +1, -1 or 0 (not in it) per problem.
    """
    fade_record(record)
    for k in range(len(signs)):
        if signs[k] != 0:
            state = model.state[k if len(model.state) > 1 else 0]
            s = state.scale * np.float64(dot(rows, i, model.w[k])) + np.float64(model.b[k])
            mean = mean_score(model, k, state, s, dot(rows, i, model.lazy_sum_w[k]))
            count_prediction(record, is_mistake(signs[k], mean, zero), is_mistake(signs[k], s, zero))
    forget_if_outdated(record, model, None)


@inlined
def fade_record(record):
    """Let all comparisons so far count less, before an example is compared.  Changes record."""
    record[0].lead *= FADING
    record[0].n_different *= FADING


@inlined
def count_prediction(record, mean_is_wrong, last_is_wrong):
    """Count a prediction.  Changes record."""
    if mean_is_wrong != last_is_wrong:
        record[0].lead += 1.0 if mean_is_wrong else -1.0
        record[0].n_different += 1.0


@inlined
def mean_score(model, k, state, s, lazy_score):
    """The score by the averaged weights of row k.  s: by the last ones, with the bias; lazy_score: by lazy_sum_w."""
    if state.total == 0.0:  # nothing seen: the mean is the start
        return s
    w, b = s - model.b[k], model.b[k]
    return (state.mass / state.scale * w - lazy_score) / state.total + (b - model.lazy_sum_b[k] / state.total)


@inlined
def forget_if_outdated(record, model, l1):
    """Let the average forget if the last weights predict clearly better.  Changes model, l1."""
    if is_outdated(record, model):
        truncate_all(model, l1)
        forget(model)


@inlined
def is_outdated(record, model):
    """Return whether the average predicts clearly worse than the last weights and holds more than it should."""
    if record[0].lead > 0.0 and record[0].lead ** 2 > SURE**2 * record[0].n_different:
        for k in range(len(model.state)):
            if model.state[k].total >= 2.0 * MEMORY:
                return True
    return False


@inner
def forget(model):
    """Let what the average holds count as MEMORY to 2 MEMORY examples.  Changes model.

    Sums are multiplied by powers of two, so the average itself stays the same to the bit.
    """
    for k in range(len(model.state)):
        state, part = model.state[k], 1.0
        while part * state.total >= 2.0 * MEMORY:
            part *= 0.5
        if part < 1.0:
            rows = slice(k, k + 1) if len(model.state) > 1 else slice(0, len(model.b))
            lazy_sum = model.lazy_sum_w[rows]
            if lazy_sum.strides[0] < lazy_sum.strides[1]:
                multiply(lazy_sum.T, part)
            else:
                multiply(lazy_sum, part)
            for r in range(rows.start, rows.stop):
                model.lazy_sum_b[r] *= part
            state.mass *= part
            state.total *= part
            if state.anchor > 0.0:
                state.offset = state.mass + state.anchor * state.scale


@inner
def multiply(matrix, part):
    for r in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[r, j] *= part
