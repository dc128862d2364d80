"""The kernel perceptron (spec 7), two classes, one-vs-rest and joint, keeping every coefficient matrix (spec 4).

Examples are numbered 0..n-1 and known by their kernel matrix only. A budget keeps at most B of them.
"""

import numpy as np

from .binary import repetitions

# ---- kernel values


def row(kernel, x, Z, gamma=1.0, degree=3, coef0=1.0):
    """K(x, z) for every row z of Z, by the formula; `kernel` may be a function of two vectors."""
    x, Z = np.asarray(x, float), np.asarray(Z, float)
    if callable(kernel):
        return np.array([kernel(x, z) for z in Z])
    if kernel == "linear":
        return Z @ x
    if kernel == "poly":
        return (gamma * (Z @ x) + coef0) ** degree
    if kernel == "rbf":
        return np.exp(-gamma * ((Z - x) ** 2).sum(axis=1))
    if kernel == "sigmoid":
        return np.tanh(gamma * (Z @ x) + coef0)
    if kernel == "laplacian":
        return np.exp(-gamma * np.abs(Z - x).sum(axis=1))
    if kernel == "cosine":
        lengths = np.sqrt((Z**2).sum(axis=1)) * np.sqrt((x**2).sum())
        return np.where(lengths > 0, Z @ x / np.where(lengths > 0, lengths, 1), 0)
    raise ValueError(f"kernel={kernel!r}")


def gram(kernel, A, B, **numbers):
    """K(a, b) for every row a of A and b of B, row by row: (len(A), len(B))."""
    return np.array([row(kernel, a, B, **numbers) for a in A]).reshape(len(A), len(B))


# ---- what an example adds to every row of coefficients, in units of eta


def two_classes(f, y):
    """y is -1 or +1, f one score: y where y f <= 0."""
    return np.where(y * f <= 0, y, 0)


def ovr(f, y):
    """y is 0..K-1: the rule of two classes for every class, +1 for its examples and -1 for all others."""
    return two_classes(f, np.where(np.arange(len(f)) == y, 1, -1))


def joint(f, y):
    """y is 0..K-1: +1 for the true class, -1 for the one with the highest score (ties to the first), if they differ."""
    delta = np.zeros(len(f))
    delta[y] += 1
    delta[np.argmax(f)] -= 1
    return delta


def distance(rule, f, terms):
    """How far the scores f are from deciding otherwise, beside the sizes of their terms; inf if that is exactly 0.

    Rounding moves f by some 1e-16 of `terms` (float32: 1e-7): far above that, any order of summing decides alike.
    """
    gaps = np.abs(f) if rule is not joint else np.abs(np.max(f) - f)
    gaps = gaps[gaps > 0]
    return np.min(gaps) / np.max(terms) if len(gaps) else np.inf


# ---- learning


def largest_phi(a, b, c):
    """The largest phi in (0, 1] with a phi^2 + b phi + c <= 0, c < 0: 1, or where the sign changes; by halving."""
    if a + b + c <= 0:
        return 1.0
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if a * middle**2 + b * middle + c <= 0 else (low, middle)
    return low


class Machine:
    """What has been learned.   f_c(x) = sum_j alpha[c, j] K(x_j, x);  a mistake:  alpha[:, i] += eta share delta

    Attributes
    ----------
    alpha : array (R, n), the last coefficients; a new object with every update.
    held : list of the examples held (the support), in the order in which they entered.
    entered : dict, for every example held the length of `path` when it entered.
    path : list of (alpha, share), one after every visit.
    problems : list of slices of rows that are learned on their own: one, but one a class for `ovr`.
    versions : for every problem a list of [alpha, count], the zero start first, then one per update.
    log : list of (problem, place in its versions, example), one per update; `ovr`: one for every class that updates.
    mistakes : list of int, one per epoch.
    closest : float, the least `distance` at any visit.
    """

    def __init__(self, K, rule, n_rows, *, eta=1.0, budget=None, on_full=None, choose=None, tol=1e-10):
        """K : array (n, n). choose : for "remove_random", a function (held, new example) that says which one goes."""
        self.K, self.rule, self.eta = np.asarray(K, float), rule, eta
        self.budget, self.on_full, self.choose, self.tol = budget, on_full, choose, tol
        self.alpha = np.zeros((n_rows, len(K)))
        self.held, self.entered, self.path, self.log = [], {}, [], []
        self.problems = [slice(c, c + 1) for c in range(n_rows)] if rule is ovr else [slice(None)]
        self.versions = [[[self.alpha[rows], 0.0]] for rows in self.problems]
        self.mistakes, self.closest = [], np.inf
        self.M, self.Q, self.R2 = 0.0, 0.0, 0.0  # of the Forgetron

    def visit(self, i, y, share=1.0):
        """Look at the example, learn from it if it is a mistake, count it."""
        f = self.alpha @ self.K[:, i]
        self.closest = min(self.closest, distance(self.rule, f, np.abs(self.alpha) @ np.abs(self.K[:, i])))
        delta = self.rule(f, y)
        if delta.any():
            self.alpha = self.alpha.copy()
            self.M += np.count_nonzero(delta) * share
            self.learn(i, self.eta * share * delta)
        for p, rows in enumerate(self.problems):
            if delta[rows].any():
                self.versions[p].append([self.alpha[rows], 0.0])
                self.log.append((p, len(self.versions[p]) - 1, i))
                self.mistakes[-1] += 1
            self.versions[p][-1][1] += share
        self.path.append((self.alpha, share))

    def learn(self, i, step):
        """Add the step (one number per row) to the coefficients of example i, within the budget."""
        self.R2 = max(self.R2, self.K[i, i])
        new = i not in self.held
        full = new and self.budget is not None and len(self.held) >= self.budget
        if new and self.on_full == "project" and self.projected(i, step, full):
            return
        if full and self.on_full == "remove_random":
            self.remove(self.choose(list(self.held), i))
        if new:
            self.held.append(i)
            self.entered[i] = len(self.path)
        self.alpha[:, i] += step
        if full and self.on_full == "forget_oldest":
            self.forget(self.held[0])

    def epoch(self, order, y, weights=None):
        """Visit the examples in this order; one of weight 2.5 three times on the spot, the last time by half."""
        self.mistakes.append(0)
        for i in order:
            for share in repetitions(1.0 if weights is None else weights[i]):
                self.visit(i, y[i], share)

    def remove(self, r):
        self.held.remove(r)
        self.alpha[:, r] = 0

    def forget(self, r):
        """Shrink everything so far that losing r costs little, and lose it (Dekel and others 2008, self-tuned)."""
        c = self.alpha[:, r] / self.eta
        size = np.sqrt(c @ c)
        if size > 0 and self.K[r, r] > 0:
            f = self.alpha @ self.K[:, r] / (self.eta * self.R2)
            sigma = size * np.sqrt(self.K[r, r] / self.R2)
            a, b = sigma**2 - 2 * c @ f, 2 * size
            phi = largest_phi(a, b, self.Q - 15 / 32 * self.M)
            self.Q += a * phi**2 + b * phi
            self.alpha *= phi
        self.remove(r)

    def projected(self, i, step, full):
        """Share the step out among those held, if there is no room or no need (Orabona and others 2009): did it?"""
        S = self.held
        d = np.linalg.solve(self.K[np.ix_(S, S)], self.K[S, i])
        left = self.K[i, i] - self.K[i, S] @ d
        if not full and left > self.tol * self.K[i, i]:
            return False
        self.alpha[:, S] += np.outer(step, d)
        return True

    # ---- what can be read

    @property
    def t(self):
        """The shares of all visits."""
        return sum(share for _, share in self.path)

    @property
    def average(self):
        """The mean of the coefficients after every visit, of the examples still held, since they entered: (R, n)."""
        held, entered = np.array(self.held, int), np.array([self.entered[i] for i in self.held])
        total = np.zeros(self.alpha.shape)
        for visit, (alpha, share) in enumerate(self.path):
            still = held[entered <= visit]
            total[:, still] += share * alpha[:, still]
        return total / self.t

    def survival_counts(self):
        """For every update, in their order, the visits that the version made by it survived."""
        return np.array([self.versions[p][k][1] for p, k, _ in self.log])

    def update_support(self):
        """For every update, in their order, the place in `held` of the example that made it."""
        return np.array([self.held.index(i) for _, _, i in self.log], int)

    def scores(self, combine, K):
        """Scores (m, R) by the last, the averaged or the voting functions; K is (m, n), of m examples and the n."""
        if combine == "last":
            return K @ self.alpha.T
        if combine == "average":
            return K @ self.average.T
        ballots = [sum(count * self.ballot(K @ alpha.T) for alpha, count in versions) for versions in self.versions]
        return np.hstack(ballots) / self.t

    def ballot(self, f):
        """How scores (m, rows) vote: +1 or -1, -1 at 0; joint: 1 for the highest (ties first), else 0."""
        if self.rule is joint:
            return (np.arange(f.shape[1]) == np.argmax(f, axis=1)[:, None]).astype(float)
        return np.where(f > 0, 1.0, -1.0)

    def widen(self, M, rule):
        """New classes: every function of the past becomes M @ f, M being (new rows, old rows) of 0, 1 and -1."""
        before, t = self.rule, self.t
        self.rule, self.alpha = rule, M @ self.alpha
        self.path = [(M @ alpha, share) for alpha, share in self.path]
        if rule is not ovr:
            self.versions = [[[M @ alpha, count] for alpha, count in self.versions[0]]]
            return
        self.problems = [slice(c, c + 1) for c in range(len(M))]
        if before is ovr:
            never = [[np.zeros((1, self.alpha.shape[1])), t]]
            self.versions = [self.versions[np.argmax(m)] if m.any() else never for m in M]
        else:
            self.versions = [[[m[None] @ alpha, count] for alpha, count in self.versions[0]] for m in M]


def train(K, y, orders, rule, n_rows, *, weights=None, stop=False, **budget):
    """Learn in epochs.

    Parameters
    ----------
    K : array (n, n), the kernel of every pair of examples.
    y : array (n,) of -1 and +1 for `two_classes` (n_rows=1), else of 0..n_rows-1.
    orders : iterable of index sequences, one per epoch.
    weights : array (n,), or None for all 1.
    stop : if True, an epoch without an update is the last one.
    budget : eta, budget, on_full, choose, tol of the Machine.

    Returns
    -------
    Machine
    """
    machine = Machine(K, rule, n_rows, **budget)
    for order in orders:
        machine.epoch(order, y, weights)
        if stop and machine.mistakes[-1] == 0:
            break
    return machine


def stream(K, labels, blocks, several, **budget):
    """Learn once, in the given order, from blocks of examples; classes may appear with any block (spec 10).

    Parameters
    ----------
    blocks : list of index sequences; the labels of a block are known before its first example is learned.
    several : `ovr` or `joint`, the rule for three classes and more.

    Returns
    -------
    Machine, classes
    """
    machine, classes = Machine(K, two_classes, 1, **budget), []
    machine.mistakes.append(0)
    for block in blocks:
        before, classes = classes, sorted({*classes, *(labels[i] for i in block)})
        if len(classes) == 2 and len(before) == 1 and classes[0] == before[0]:
            machine.widen(-np.eye(1), two_classes)  # the only class was the positive one, now it is the negative one
        elif len(classes) > 2 and len(classes) > len(before):
            M = np.zeros((len(classes), len(machine.alpha)))
            for row, c in enumerate(before):
                M[classes.index(c)] = [-1, 1][row] if len(before) == 2 else np.eye(len(before))[row]
            machine.widen(M, several)
        for i in block:
            c = classes.index(labels[i])
            machine.visit(i, c if len(classes) > 2 else 1 if len(classes) == 1 else 2 * c - 1)
    return machine, classes
