"""The structured perceptron (spec 8, with 4 and 6), trying all outputs and keeping every w for averaging.

A problem is given by three functions: outputs(x), all outputs in the order in which ties are broken; f(x, y), the
features as a dense array; loss(y, y_hat).
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Run:
    """What a training run leaves behind.

    Attributes
    ----------
    w : the last weights.
    path : list of w, one after every example.
    average : the mean of `path`.
    mistakes, updates, losses : lists, one entry per epoch.
    """

    w: np.ndarray
    path: list
    average: np.ndarray
    mistakes: list
    updates: list
    losses: list


def best(outputs, value):
    """The first of the outputs with the highest value."""
    values = [value(y) for y in outputs]
    return outputs[values.index(max(values))]


def decode(problem, x, w, y_true=None):
    """argmax_y w·f(x, y), or with a true output argmax_y w·f(x, y) + loss(y_true, y)."""
    outputs, f, loss = problem
    return best(outputs(x), lambda y: f(x, y) @ w + (0 if y_true is None else loss(y_true, y)))


def step_size(step, violation, delta, eta, C):
    """eta; or passive-aggressive, at most C; 0 where no update is made."""
    if step == "constant":
        return eta
    square = delta @ delta
    return min(C, violation / square) if violation > 0 and square > 0 else 0.0


def train(X, Y, orders, problem, size, *, eta=1.0, margin=0.0, step="constant", C=1.0):
    """Train.   y_hat = argmax_y' w·f(x, y') + margin loss(y, y')
                if loss(y, y_hat) > 0:  w += step (f(x, y) - f(x, y_hat))

    Parameters
    ----------
    X, Y : lists of inputs and true outputs.
    orders : iterable of index sequences, one per epoch.
    problem : (outputs, f, loss), see above.
    size : number of weights.
    eta : learning rate of the constant step.
    margin : by how much, times its loss, the truth must lead every other output.
    step : "constant" or "pa1".
    C : the longest step of "pa1".

    Returns
    -------
    Run
    """
    _, f, loss = problem
    w = np.zeros(size)
    path, mistakes, updates, losses = [], [], [], []
    for order in orders:
        epoch_mistakes, epoch_updates, epoch_loss = 0, 0, 0.0
        for i in order:
            x, y = X[i], Y[i]
            epoch_mistakes += loss(y, decode(problem, x, w)) > 0
            y_hat = decode(problem, x, w) if margin == 0 else decode(problem, x, w / margin, y)
            if loss(y, y_hat) > 0:
                delta = f(x, y) - f(x, y_hat)
                violation = margin * loss(y, y_hat) + w @ f(x, y_hat) - w @ f(x, y)
                size_of_step = step_size(step, violation, delta, eta, C)
                if size_of_step > 0:
                    w = w + size_of_step * delta
                    epoch_updates += 1
                epoch_loss += max(0.0, violation)
            path.append(w)
        mistakes.append(epoch_mistakes)
        updates.append(epoch_updates)
        losses.append(epoch_loss)
    return Run(w, path, np.mean(path, axis=0), mistakes, updates, losses)
