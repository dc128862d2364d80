"""Margin, cost, penalties, batches and step rules (spec 2, 3, 6), for two classes and for several at once.

Without any of them this is `binary.py` and `multiclass.py`. One-vs-rest and its like are in `wrappers.py`.
"""

from dataclasses import dataclass

import numpy as np

from . import binary, multiclass
from .binary import float_array, is_mistake, mean_over, repetitions
from .multiclass import best, scores

STEPS = ("constant", "pa", "pa1", "pa2", "arow")


@dataclass
class Run:
    """What a training run leaves behind.

    Attributes
    ----------
    w, b : the last weights and bias: (d,) and a number, or (K, d) and (K,); then `theta` is another name of w.
    path : list of (w, b, share), one after every visit.
    average_w, average_b : the mean over `path`, each entry counted by its share; the start if `path` is empty.
    versions : list of (w_k, b_k, c_k), the start first, then one per update, or per batch with one; the weights are
        those right after the update, c_k is the sum of the shares of the visits that they survived.
    mistakes : list of int, one per epoch.
    updates : list of int, one per epoch: the visits that changed the weights, each counted, also in a batch.
    losses : list of float, one per epoch: the sum of share * loss.
    sigma_w, sigma_b : for "arow" the last variances, in the shapes of w and b; None for other steps.
    """

    w: np.ndarray
    b: float | np.ndarray
    path: list
    average_w: np.ndarray
    average_b: float | np.ndarray
    versions: list
    mistakes: list
    updates: list
    losses: list
    sigma_w: np.ndarray | None = None
    sigma_b: float | np.ndarray | None = None

    @property
    def theta(self):
        return self.w

    @property
    def average_theta(self):
        return self.average_w


def cut(order, weights, batch_size):
    """The visits (i, share) of one pass, cut into batches of batch_size; the last may be short; "all" is one batch."""
    visits = [(i, share) for i in order for share in repetitions(weights[i])]
    size = max(1, len(visits)) if batch_size == "all" else batch_size
    return [visits[first : first + size] for first in range(0, len(visits), size)]


def all_batches(n, orders, weights, batch_size, batches, step):
    """The batches of every epoch: those given, or the orders cut; only "constant" takes more than one visit in each."""
    if step not in STEPS:
        raise ValueError(f"step={step!r}")
    weights = np.ones(n) if weights is None else np.asarray(weights)
    epochs = [cut(order, weights, batch_size) for order in orders] if batches is None else batches
    if step != "constant" and any(len(batch) != 1 for epoch in epochs for batch in epoch):
        raise ValueError(f"step={step!r} goes visit by visit")
    return epochs


def step_size(step, loss, norm, eta, C):
    """tau: how much of x is added (Crammer and others 2006 for "pa", "pa1", "pa2")."""
    if step == "constant":
        return float(eta)
    if step == "pa":
        return float(loss / norm)
    if step == "pa1":
        return float(min(C, loss / norm))
    return float(loss / (norm + 1 / (2 * C)))


class Penalty:
    """scikit-learn's regularization, in the order of its SGD: weights are scaled, updated, then truncated.

        w <- (1 - eta alpha (1 - l1_ratio)) w          then the update, then, with u += eta alpha l1_ratio,
        w_j <- max(0, w_j - (u + q_j)) if w_j > 0,  min(0, w_j + (u - q_j)) if w_j < 0;   q_j += what that changed

    (Tsuruoka, Tsujii and Ananiadou 2009.) Visits of a fraction count as their fraction. Biases are left alone.

    Parameters
    ----------
    kind : None, "l2", "l1" or "elasticnet".
    """

    def __init__(self, kind, alpha, l1_ratio, eta, shape):
        l1_ratio = {None: 0.0, "l2": 0.0, "l1": 1.0}.get(kind, l1_ratio)
        strength = 0.0 if kind is None else eta * alpha
        self.decay, self.demand = (1 - l1_ratio) * strength, l1_ratio * strength
        self.u, self.q = 0.0, np.zeros(shape)

    def scaled(self, w, visits):
        return (1 - self.decay) ** visits * w

    def truncated(self, w, visits):
        if self.demand == 0:
            return w
        self.u += visits * self.demand
        new = np.where(
            w > 0, np.maximum(0, w - (self.u + self.q)), np.where(w < 0, np.minimum(0, w + self.u - self.q), 0)
        )
        new = new.astype(w.dtype)
        self.q = self.q + (new.astype(float) - w)
        return new


def walk(w, b, epochs, penalty, visit):
    """Go through all batches: the penalty's scale, the sum of the changes, the penalty's truncation.

    Parameters
    ----------
    w, b : the start; never changed in place.
    epochs : list, per epoch, of batches; a batch is a list of (i, share).
    penalty : Penalty.
    visit : function (w, b, i, share) -> (mistake, loss without the share, change); the change is (dw, db), or None.

    Returns
    -------
    Run
    """
    path, versions = [], [(w, b, 0.0)]
    mistakes, updates, losses = [], [], []

    def count(share):
        path.append((w, b, share))
        w_k, b_k, c_k = versions[-1]
        versions[-1] = (w_k, b_k, c_k + share)

    for epoch in epochs:
        mistakes.append(0)
        updates.append(0)
        losses.append(0.0)
        for batch in epoch:
            changes = []
            for i, share in batch:
                mistake, loss, change = visit(w, b, i, share)
                mistakes[-1] += int(mistake)
                losses[-1] += share * loss
                if change is not None:
                    changes.append(change)
            updates[-1] += len(changes)

            shares = [share for _, share in batch]
            for share in shares[:-1]:
                count(share)
            w = penalty.truncated(penalty.scaled(w, sum(shares)) + sum(dw for dw, _ in changes), sum(shares))
            b = b + sum(db for _, db in changes)
            if changes:
                versions.append((w, b, 0.0))
            count(shares[-1])

    average_w, average_b = mean_over(path) if path else (w, b)
    return Run(w, b, path, average_w, average_b, versions, mistakes, updates, losses)


def train_binary(
    X,
    y,
    orders,
    *,
    eta=1.0,
    margin=0.0,
    cost=None,
    penalty=None,
    alpha=1e-4,
    l1_ratio=0.15,
    batch_size=1,
    step="constant",
    C=1.0,
    zero_score="mistake",
    w=None,
    b=0.0,
    fit_intercept=True,
    weights=None,
    batches=None,
):
    """Train on two classes (spec 6).   if y s <= m:  w += tau y x,  b += tau y,  with m = margin + cost[y, other]

    Parameters
    ----------
    X : array (n, d); float32 stays float32, everything else becomes float64.
    y : array (n,) of -1 and +1.
    orders : iterable of index sequences, one per epoch.
    eta : tau of "constant".
    margin : m of both classes. With m = 0 a violation is what `zero_score` calls a mistake.
    cost : array (2, 2), indexed [true, predicted], 0 being the negative class; or None.
    penalty, alpha, l1_ratio : of `Penalty`, which counts at every visit, right or wrong.
    batch_size : number of visits, or "all".
    step : "constant"; "pa", "pa1", "pa2" (Crammer and others 2006); "arow" (Crammer and others 2009, diagonal).
    C : aggressiveness; r = 1/C for "arow".
    zero_score : "mistake", "correct", "positive" or "negative".
    w, b : the start; zeros unless given.
    fit_intercept : if False, nothing is added to b.
    weights : array (n,), as in `binary.train`.
    batches : per epoch a list of batches, each a list of visits (i, share), as `cut` makes them, instead of `orders`,
        `weights` and `batch_size`.

    Returns
    -------
    Run
    """
    X = float_array(X)
    y = [int(label) for label in y]
    cost = np.zeros((2, 2)) if cost is None else np.asarray(cost)
    epochs = all_batches(len(X), orders, weights, batch_size, batches, step)
    w, b = binary.start(X, w, b)
    sigma_w, sigma_b = np.ones_like(w), X.dtype.type(1)

    def visit(w, b, i, share):
        nonlocal sigma_w, sigma_b
        x = X[i]
        m = float(margin + (cost[1, 0] if y[i] == 1 else cost[0, 1]))
        s = float(w @ x + b)
        loss = max(0.0, m - y[i] * s)
        mistake = is_mistake(s, y[i], zero_score)

        violated = y[i] * s < m
        if step == "constant":
            violated = mistake or (m > 0 and y[i] * s <= m)
        if not violated:
            return mistake, loss, None

        if step == "arow":
            v = float(sigma_w * x @ x) + fit_intercept * float(sigma_b)
            if v == 0:
                return mistake, loss, None
            beta = 1 / (v + 1 / C)
            alpha = loss * beta
            change = share * alpha * y[i] * sigma_w * x, share * alpha * y[i] * fit_intercept * sigma_b
            sigma_w = sigma_w - share * beta * (sigma_w * x) ** 2
            sigma_b = sigma_b - share * beta * fit_intercept * sigma_b**2
            return mistake, loss, change

        norm = float(x @ x) + fit_intercept
        if step != "constant" and norm == 0:
            return mistake, loss, None
        tau = step_size(step, loss, norm, eta, C)
        return mistake, loss, (share * tau * y[i] * x, X.dtype.type(share * tau * y[i] * fit_intercept))

    run = walk(w, b, epochs, Penalty(penalty, alpha, l1_ratio, eta, w.shape), visit)
    if step == "arow":
        run.sigma_w, run.sigma_b = sigma_w, sigma_b
    return run


def train_joint(
    X,
    y,
    orders,
    n_classes,
    *,
    eta=1.0,
    margin=0.0,
    cost=None,
    penalty=None,
    alpha=1e-4,
    l1_ratio=0.15,
    batch_size=1,
    step="constant",
    C=1.0,
    theta=None,
    b=None,
    fit_intercept=True,
    weights=None,
    batches=None,
):
    """Train on several classes at once (spec 6).   if y_hat != y:  theta += tau (f(x, y) - f(x, y_hat))

    y_hat is the argmax over k of s_k, plus margin + cost[y, k] for k != y; ties go to the lowest index. The loss is how
    far it is above s_y.

    Parameters
    ----------
    y : array (n,) of class indices 0..K-1.
    n_classes : K.
    cost : array (K, K), indexed [true, predicted]; or None.
    theta, b : the start, (K, d) and (K,); zeros unless given.
    Everything else : as in `train_binary`; there is no `zero_score`.

    Returns
    -------
    Run
    """
    X = float_array(X)
    y = [int(label) for label in y]
    cost = np.zeros((n_classes, n_classes)) if cost is None else np.asarray(cost)
    epochs = all_batches(len(X), orders, weights, batch_size, batches, step)
    theta, b = multiclass.start(X, n_classes, theta, b)
    sigma_w, sigma_b = np.ones_like(theta), np.ones_like(b)

    def visit(theta, b, i, share):
        x = X[i]
        s = [float(value) for value in scores(theta, b, x)]
        augmented = [s[k] + (float(margin + cost[y[i], k]) if k != y[i] else 0.0) for k in range(n_classes)]
        y_hat = best(augmented)
        loss = augmented[y_hat] - s[y[i]]
        mistake = best(s) != y[i]

        if y_hat == y[i] or (step != "constant" and loss <= 0):
            return mistake, loss, None

        d_theta, d_b = np.zeros_like(theta), np.zeros_like(b)
        if step == "arow":
            v = sum(float(sigma_w[k] * x @ x) + fit_intercept * float(sigma_b[k]) for k in (y[i], y_hat))
            if v == 0:
                return mistake, loss, None
            beta = 1 / (v + 1 / C)
            alpha = loss * beta
            for k, sign in ((y[i], 1), (y_hat, -1)):
                d_theta[k] = sign * share * alpha * sigma_w[k] * x
                d_b[k] = sign * share * alpha * fit_intercept * sigma_b[k]
                sigma_w[k] -= share * beta * (sigma_w[k] * x) ** 2
                sigma_b[k] -= share * beta * fit_intercept * sigma_b[k] ** 2
            return mistake, loss, (d_theta, d_b)

        norm = 2 * (float(x @ x) + fit_intercept)  # two rows move
        if step != "constant" and norm == 0:
            return mistake, loss, None
        tau = step_size(step, loss, norm, eta, C)
        for k, sign in ((y[i], 1), (y_hat, -1)):
            d_theta[k] = sign * share * tau * x
            d_b[k] = sign * share * tau * fit_intercept
        return mistake, loss, (d_theta, d_b)

    run = walk(theta, b, epochs, Penalty(penalty, alpha, l1_ratio, eta, theta.shape), visit)
    if step == "arow":
        run.sigma_w, run.sigma_b = sigma_w, sigma_b
    return run
