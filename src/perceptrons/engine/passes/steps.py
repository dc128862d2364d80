"""Margins and steps: which examples trigger an update, and how far the update goes.

Given are the scores s of an example x with the true class y. A rule minimises, one example at a time,

    two classes:     max(0, m - y s),                                       m = margin + cost[y, other class]
    more classes:    max(0, max over k != y of (m_k + s_k) - s_y),          m_k = margin + cost[y, k]

An example with a loss above 0 triggers an update along x. With constant steps and two classes, so does one with a loss
of exactly 0: with margin 0, a score of 0 is a mistake (`rule.zero` has the other conventions). The step is

    constant    eta                                     Rosenblatt 1958; margins: Krauth and Mezard 1987
    PA          loss / |x|²                             the shortest step that makes the loss 0
    PA-I        min(C, loss / |x|²)                     Crammer and others 2006, "Online passive-aggressive algorithms"
    PA-II       loss / (|x|² + 1 / 2C)
    AROW        loss / (x·Sigma x + r) along Sigma x    Crammer, Kulesza and Dredze 2009, "Adaptive regularization of
                                                        weight vectors"; Sigma is diagonal, r = 1 / C

Where two rows of weights change, |x|² and x·Sigma x count for both. The constant feature of the bias counts in them.
"""

from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.compiling import inlined, inner
from perceptrons.engine.passes.average import LinearModel
from perceptrons.engine.rows import Rows, add, add_spread, dot, move, narrow, spread, sqnorm

CONSTANT, PASSIVE, AROW = range(3)


class Rule(NamedTuple):
    """The parameters of learning, as the passes take them.

    Numbers only: with an array in it, numba would count references at every call. So the costs are beside it.
    """

    kind: int  # CONSTANT, PASSIVE (PA, PA-I and PA-II) or AROW; callers ask before they call `step_size`
    eta: float  # CONSTANT: the learning rate
    cap: float  # PASSIVE: the largest step, C of PA-I
    slack: float  # PASSIVE: added to the squared norm, 1 / 2C of PA-II;  AROW: r
    zero: int  # two classes: the label that is wrong at score 0 (2: both, 0: none)
    margin: float
    keep: float  # what an L2 penalty leaves of the weights at every example: 1 - eta alpha (1 - l1_ratio)
    anchor: float  # the sum of all scales to come, keep / (1 - keep); 0 where keep is nearly 1: see average.py
    floor: float  # the smallest scale
    growth: float  # how much more each example counts in the mean than the one before; 1: all count alike
    bound: float  # the longest step, in units of the scale, that cannot overflow
    l1: float  # what an L1 penalty demands of every weight at every example: eta alpha l1_ratio
    batch: int  # visits per update


class Problems(NamedTuple):
    """Binary problems: problem k has row k of the weights. With several labels, a class is a set of labels."""

    sign: np.ndarray  # int8 (classes, problems): what examples of a class are in a problem: +1, -1, or 0: not in it
    is_one_vs_one: bool  # an example is only in the problems of its own class


class Examples(NamedTuple):
    """A training set, checked: the first argument of every pass."""

    rows: Rows
    y: np.ndarray  # int8 -1 or +1 for a binary model, else int32 class numbers
    weight: np.ndarray | None  # (n,): how often each is visited; None: once
    problems: Problems | None = None  # where classes or labels are binary problems
    by_label: np.ndarray | None = None  # (labels, 2): weights of the examples without and with each label


class Training(NamedTuple):
    """All that a pass changes. The parts that are None are not compiled: what takes one returns at once."""

    model: LinearModel
    l1: Any = None  # PendingTruncations, with an L1 penalty
    pocket: Any = None  # Pocket, for combine="pocket"
    log: np.ndarray | None = None  # the log of updates (`votes.py`), for combine="vote"
    record: np.ndarray | None = None  # of predictions of new examples after a fit (`following.py`)
    general: bool | None = None  # True: steps may be other than constant, and an L2 penalty may shrink the weights


@inlined
def n_visits(weight, i):
    """How often example i is visited in a row: its weight. The last visit is for the fraction that remains."""
    return 1.0 if weight is None else weight[i]


# ---- two classes


@inlined
def score(rows, i, w, b):
    """w·x_i + b, added up in float64."""
    return dot(rows, i, w) + np.float64(b)


@inlined
def is_mistake(y, s, zero):
    """Return whether score s is a mistake for label y, -1 or +1.

    zero: the label that is wrong at s = 0 (2: both, 0: none).
    """
    return y * s < 0 or (s == 0 and (zero == 2 or zero == y))


@inlined
def triggers_update(rule, margin, y, s):
    """Return whether y s <= margin; by steps other than constant, whether y s < margin."""
    loss = margin - y * s
    if rule.kind == CONSTANT:
        return is_mistake(y, s, rule.zero) or (margin > 0.0 and loss >= 0.0)
    return loss > 0.0


# ---- more classes


@inlined
def required_lead(rule, cost, y, k):
    """By how much the score of the true class y has to lead the score of class k.  cost (0, 0): none but the margin."""
    return rule.margin + cost[y, k] if len(cost) else rule.margin


@inlined
def best_class(s):
    """Return the class with the highest score. Ties go to the first class."""
    best = 0
    for k in range(1, len(s)):
        if s[k] > s[best]:
            best = k
    return best


@inlined
def strongest_rival(rule, cost, s, y):
    """Return the class with the highest score after the lead that y must have over it is added: cost-augmented."""
    if rule.margin == 0.0 and len(cost) == 0:
        return best_class(s)
    best, highest = 0, -np.inf
    for k in range(len(s)):
        augmented = s[k] if k == y else s[k] + required_lead(rule, cost, y, k)
        if augmented > highest:
            best, highest = k, augmented
    return best


@inlined
def joint_loss(rule, cost, s, y):
    """Return whether the example triggers an update, its strongest rival, and the loss."""
    y_hat = strongest_rival(rule, cost, s, y)
    if y_hat == y:
        return False, y_hat, 0.0
    loss = required_lead(rule, cost, y, y_hat) + s[y_hat] - s[y]
    return rule.kind == CONSTANT or loss > 0.0, y_hat, loss


# ---- updates


@inner
def step_size(general, rule, rows, i, loss, state, model, y, y_hat):
    """The step on x_i (for AROW on Sigma x_i); 0 where none lowers the loss, infinite where it would overflow.

    y_hat < 0: only row y changes. general: None compiles constant steps alone.
    """
    if general is None:
        return rule.eta
    if rule.kind == PASSIVE:
        norm = (sqnorm(rows, i) + model.bias_sqnorm) * (1.0 if y_hat < 0 else 2.0)
    else:
        norm = spread(rows, i, model.sigma_w[y]) + model.bias_sqnorm * np.float64(model.sigma_b[y])
        if y_hat >= 0:
            norm += spread(rows, i, model.sigma_w[y_hat]) + model.bias_sqnorm * np.float64(model.sigma_b[y_hat])
    if norm == 0.0:
        return 0.0
    step = min(rule.cap, loss / (norm + rule.slack))
    return step if step * max(1.0, np.sqrt(norm)) < rule.bound * rule.keep * state.scale else np.inf


@inlined
def update_row(rows, i, k, step, state, model):
    """w_k += step x_i,  b_k += step, and the average with them.  Changes model."""
    bias = model.w.dtype.type(step)
    step = model.w.dtype.type(step / state.scale)
    add(rows, i, step, model.w[k])
    add(rows, i, state.mass * step, model.lazy_sum_w[k])
    model.b[k] += model.bias_sqnorm * bias
    model.lazy_sum_b[k] += state.total * bias * model.bias_sqnorm


@inlined
def update_two_rows(rows, i, y, y_hat, step, state, model):
    """theta_y += step x_i,  theta_y_hat -= step x_i, and the average with them.  Changes model."""
    bias = model.w.dtype.type(step)
    step = model.w.dtype.type(step / state.scale)
    bias, lazy_bias = model.bias_sqnorm * bias, state.total * bias * model.bias_sqnorm
    move(rows, i, step, model.w, y, y_hat)
    move(rows, i, state.mass * step, model.lazy_sum_w, y, y_hat)
    model.b[y] += bias
    model.b[y_hat] -= bias
    model.lazy_sum_b[y] += lazy_bias
    model.lazy_sum_b[y_hat] -= lazy_bias


@inner
def update_row_by_confidence(general, rows, i, k, step, loss, state, model):
    """AROW: w_k += step Sigma_k x_i, then Sigma_k -= beta (Sigma_k x_i)² with beta = |step| / loss.  Changes model."""
    if general is None:
        return
    beta = abs(step) / loss
    step = model.w.dtype.type(step)
    lazy_step, sigma, bias = state.mass * step, model.sigma_w[k], model.bias_sqnorm * model.sigma_b[k]
    add_spread(rows, i, step, sigma, model.w[k])
    add_spread(rows, i, lazy_step, sigma, model.lazy_sum_w[k])
    model.b[k] += step * bias
    model.lazy_sum_b[k] += lazy_step * bias
    narrow(rows, i, beta, sigma)
    model.sigma_b[k] *= 1.0 - beta * bias
