"""The perceptron of the lecture, averaged. `fit` runs it unless you ask for weights, costs, votes or other steps.

With those, `binary.py` and `multiclass.py` run the same rule.
"""

import numpy as np

from perceptrons.engine.compiling import compiled
from perceptrons.engine.passes.average import SEEN, count_visit, rescale_sums
from perceptrons.engine.passes.binary import binary_loss, is_mistake
from perceptrons.engine.passes.multiclass import best_class, joint_loss
from perceptrons.engine.passes.steps import update_row, update_two_rows
from perceptrons.engine.rows import dot, prefetch, scores


@compiled
def perceptron(rows, y, order, model, rule):
    """One pass over examples with labels -1 and +1.     if y (w·x + b) <= margin:  w += eta y x,  b += eta y

    (Rosenblatt 1958; the average: Freund and Schapire 1999.) Changes model, a Linear of one row. Returns mistakes,
    updates and the loss, the sum of margin - y (w·x + b) over the updates.
    """
    w, b, clock, mistakes, updates, total = model.w[0], model.b, model.clock[0], 0, 0, 0.0
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        s = dot(rows, i, w) + np.float64(b[0])
        triggered, loss = binary_loss(rule, rule.margin, y[i], s)
        if triggered:
            mistakes += is_mistake(y[i], s, rule.zero)
            updates += 1
            total += loss
            update_row(rows, i, 0, rule.eta * y[i], clock, model)
        if count_visit(rule, clock, 1.0):
            rescale_sums(clock, model, -1)
    model.t[0] = clock[SEEN]
    return mistakes, updates, total


@compiled
def joint_perceptron(rows, y, order, model, rule, cost):
    """The same for several classes.     y_hat = argmax_k theta_k·x + b_k

        if y_hat != y:  theta_y += eta x,  theta_y_hat -= eta x

    A margin is added to the score of every class but the true one. cost: an empty matrix, (0, 0).
    """
    clock, s, mistakes, updates, total = model.clock[0], np.empty(len(model.b), model.w.dtype), 0, 0, 0.0
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        scores(rows, i, model.w, s)
        s += model.b
        triggered, y_hat, loss = joint_loss(rule, cost, s, y[i])
        if triggered:
            mistakes += best_class(s) != y[i]
            updates += 1
            total += loss
            update_two_rows(rows, i, y[i], y_hat, rule.eta, clock, model)
        if count_visit(rule, clock, 1.0):
            rescale_sums(clock, model, -1)
    model.t[0] = clock[SEEN]
    return mistakes, updates, total
