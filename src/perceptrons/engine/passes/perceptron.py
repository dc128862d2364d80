"""The perceptron of the lecture (Rosenblatt 1958), with the average of its weights (Freund and Schapire 1999).

`fit` runs these passes unless you ask for sample weights, costs, a penalty, voting, a pocket or other steps. With
those, `binary.py` and `multiclass.py` run the same rule. Read on in `steps.py` (margins) and `average.py`.
"""

from perceptrons.engine.compiling import compiled
from perceptrons.engine.passes.average import add_to_lazy_sums, count_example, move_lazy_sums
from perceptrons.engine.passes.steps import best_class, is_mistake, joint_loss, score, triggers_update
from perceptrons.engine.rows import add, move, prefetch, scores


@compiled
def perceptron(examples, order, training, rule, cost):
    """One pass over examples with labels -1 and +1.     if y (w·x + b) <= margin:  w += eta y x,  b += eta y

    Changes training.model, which has one row of weights. Returns mistakes, updates, the loss (the sum of
    margin - y (w·x + b) over the updates), and the log of updates, which is None here.
    """
    rows, y, model = examples.rows, examples.y, training.model
    w, b, state = model.w[0], model.b, model.state[0]
    mistakes, updates, loss = 0, 0, 0.0
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        s = score(rows, i, w, b[0])  # w·x + b
        if triggers_update(rule, rule.margin, y[i], s):  # y s <= margin
            mistakes += is_mistake(y[i], s, rule.zero)  # y s <= 0
            updates += 1
            loss += rule.margin - y[i] * s
            step = w.dtype.type(rule.eta * y[i])
            add(rows, i, step, w)  # w += eta y x
            b[0] += step * model.bias_sqnorm  # b += eta y, for a constant feature 1
            add_to_lazy_sums(rows, i, 0, step, model, state)  # the average
        count_example(state)
    model.t[0] = state.n_seen
    return mistakes, updates, loss, training.log


@compiled
def joint_perceptron(examples, order, training, rule, cost):
    """The same for several classes.     y_hat = argmax_k theta_k·x + b_k

        if y_hat != y:  theta_y += eta x,  theta_y_hat -= eta x

    A margin is added to the score of every class but the true one. cost: an empty matrix, (0, 0).
    """
    rows, y, model = examples.rows, examples.y, training.model
    theta, b, state, s = model.w, model.b, model.state[0], model.b.copy()
    mistakes, updates, loss = 0, 0, 0.0
    for p in range(len(order)):
        i = order[p]
        prefetch(rows, order, p)
        scores(rows, i, theta, s)  # s = theta x
        s += b
        triggered, y_hat, violation = joint_loss(rule, cost, s, y[i])  # y_hat = argmax s, and y_hat != y
        if triggered:
            mistakes += best_class(s) != y[i]
            updates += 1
            loss += violation
            step = theta.dtype.type(rule.eta)
            move(rows, i, step, theta, y[i], y_hat)  # theta_y += eta x,  theta_y_hat -= eta x
            b[y[i]] += step * model.bias_sqnorm
            b[y_hat] -= step * model.bias_sqnorm
            move_lazy_sums(rows, i, y[i], y_hat, step, model, state)  # the average
        count_example(state)
    model.t[0] = state.n_seen
    return mistakes, updates, loss, training.log
