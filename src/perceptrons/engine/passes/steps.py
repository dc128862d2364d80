"""What triggers an update, and how large the update is: margins, costs and step rules. The passes apply them."""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import inlined, inner
from perceptrons.engine.passes.average import MASS, SCALE, TOTAL
from perceptrons.engine.rows import add, add_spread, move, narrow, spread, sqnorm

CONSTANT, PASSIVE, AROW = range(3)


class Rule(NamedTuple):
    """The parameters of learning, as the passes take them. Numbers only: with an array in it, numba would count
    references at every call; so the costs go beside it. For the same reason passes ask for the kind before they call.
    """

    kind: int  # CONSTANT: the perceptron's step;  PASSIVE: passive-aggressive;  AROW
    eta: float  # CONSTANT: the learning rate
    cap: float  # PASSIVE: the largest step, C of PA-I
    slack: float  # PASSIVE: added to the squared norm, 1 / 2C of PA-II;  AROW: r
    zero: int  # binary: the label that is wrong at score 0 (2: both, 0: none)
    margin: float
    keep: float  # what an L2 penalty leaves of the weights at every example: 1 - eta alpha (1 - l1_ratio)
    anchor: float  # the sum of all scales to come, keep / (1 - keep); 0 where keep is nearly 1: see average.py
    floor: float  # the smallest scale
    growth: float  # how much more each example counts in the mean than the one before; 1: all count alike
    bound: float  # the longest step, in units of the scale, that cannot overflow
    l1: float  # what an L1 penalty demands of every weight at every example: eta alpha l1_ratio


@inlined
def required_lead(rule, cost, y, k):
    """By how much the score of the true class y has to lead the score of class k.  cost (0, 0): none but the margin."""
    return rule.margin + cost[y, k] if len(cost) else rule.margin


@inner
def step_size(rule, rows, i, loss, clock, model, y, y_hat):
    """The step on x_i (for AROW on Sigma x_i) that answers a loss; 0 where none can, infinite where it would overflow.

        pa:  min(C, loss / (|x|² + 1 / 2C))       arow:  loss / (x·Sigma x + r)

    (Crammer et al. 2006; Crammer, Kulesza, Dredze 2009.) The bias counts in the norm, and so does each row that moves:
    y_hat < 0: only row y does.
    """
    if rule.kind == PASSIVE:
        norm = (sqnorm(rows, i) + model.one) * (1.0 if y_hat < 0 else 2.0)
    else:
        norm = spread(rows, i, model.sigma_w[y]) + model.one * np.float64(model.sigma_b[y])
        if y_hat >= 0:
            norm += spread(rows, i, model.sigma_w[y_hat]) + model.one * np.float64(model.sigma_b[y_hat])
    if norm == 0.0:
        return 0.0
    step = min(rule.cap, loss / (norm + rule.slack))
    return step if step * max(1.0, np.sqrt(norm)) < rule.bound * rule.keep * clock[SCALE] else np.inf


@inlined
def update_row(rows, i, k, step, clock, model):
    """w_k += step x_i,  b_k += step one, and as much times what was counted into the late sums.  Changes model."""
    bias = model.w.dtype.type(step)
    step = model.w.dtype.type(step / clock[SCALE])
    add(rows, i, step, model.w[k])
    add(rows, i, clock[MASS] * step, model.late_w[k])
    model.b[k] += model.one * bias
    model.late_b[k] += clock[TOTAL] * bias * model.one


@inlined
def update_two_rows(rows, i, y, y_hat, step, clock, model):
    """theta_y += step x_i,  theta_y_hat -= step x_i, and as much into the late sums.  Changes model."""
    bias = model.w.dtype.type(step)
    step = model.w.dtype.type(step / clock[SCALE])
    bias, late_bias = model.one * bias, clock[TOTAL] * bias * model.one
    move(rows, i, step, model.w, y, y_hat)
    move(rows, i, clock[MASS] * step, model.late_w, y, y_hat)
    model.b[y] += bias
    model.b[y_hat] -= bias
    model.late_b[y] += late_bias
    model.late_b[y_hat] -= late_bias


@inner
def update_row_by_confidence(rows, i, k, step, loss, clock, model):
    """w_k += step Sigma_k x_i, then Sigma_k -= beta (Sigma_k x_i)²; AROW's beta is |step| / loss.  Changes model."""
    beta = abs(step) / loss
    step = model.w.dtype.type(step)
    late, sigma, bias = clock[MASS] * step, model.sigma_w[k], model.one * model.sigma_b[k]
    add_spread(rows, i, step, sigma, model.w[k])
    add_spread(rows, i, late, sigma, model.late_w[k])
    model.b[k] += step * bias
    model.late_b[k] += late * bias
    narrow(rows, i, beta, sigma)
    model.sigma_b[k] *= 1.0 - beta * bias
