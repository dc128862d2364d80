"""The search for the largest margin in floating point: the nearest point of a convex hull.

"Class y leads rival r at x" is z·theta > 0 for the point z = f(x, y) - f(x, r). All of these hold for some theta just
if the hull of the points does not hold the origin; its distance from the origin is the largest margin. The points are
never all written down: `Pairs` makes those asked for. Every round of `search` scores all examples once, adds those that
lead least to the working set, and finds the nearest point of its hull (`passes/nearest.py`). The distance only falls:
it bounds the best margin from above, while the lowest lead under the weights it gives bounds it from below. `descend`
does the same by coordinate descent, for separable data of too many dimensions, such as texts. Nothing here is proof
yet; `separability.py` sees to that.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.passes.corral import Corral, corral_for, enter
from perceptrons.engine.passes.descent import binary_descent, multiclass_descent
from perceptrons.engine.passes.nearest import nearest_point
from perceptrons.engine.passes.order import shuffled
from perceptrons.engine.training.inputs import as_rows
from perceptrons.theory.examples import Examples
from perceptrons.theory.geometry import norms, products

LARGE = 2.0**500  # weights from here on might overflow
JITTER = 1e-13  # of a Gram matrix's trace, so that points that depend on each other do not end its factoring
SMALLEST, LARGEST = 256, 2000  # points in a working set: below, rounds are wasted; above, its hull costs more than they
THIN = 1e-5  # a distance in units of the data below which rounding turns the direction of p
CYCLES = 200  # at a time at most, and fewer where they take
WORK = 2e8  # additions and multiplications, a fraction of a second, so that the clock is looked at in between
# With many classes, some pairs get weight only after others were added. So PATIENCE rounds, and one more per class,
# may gain nothing but rounding: the distance shrinks by less than the share NOISE.
PATIENCE = 3
NOISE = 1e-12
BETWEEN = 10  # passes between two looks at how far it has come
PASSES = 2000
BALANCING = 200


class Demands(NamedTuple):
    """Some of the pairs: a row of X, and the class that must not win there."""

    rows: np.ndarray  # intp (m,)
    rivals: np.ndarray  # int32 (m,)

    def take(self, which: np.ndarray) -> "Demands":
        return Demands(self.rows[which], self.rivals[which])


class Pairs:
    """The points of a data set, in units that suit floating point: x becomes (x - centre) / unit.

    Two classes have one weight row and z = y x; more have a row each. With an intercept, the bias belongs to no
    distance: it is an equation on the weights of points instead. Norms are divided by sqrt(2) for several classes, so
    that two classes have the same margin either way.
    """

    def __init__(self, examples: Examples, fit_intercept: bool, even: bool) -> None:
        """even: a unit for every feature, which keeps separability but not distances; else one for all."""
        self.X, self.codes, self.n_classes = examples.X, examples.codes, len(examples.classes)
        self.binary = self.n_classes == 2
        self.fit_intercept = fit_intercept
        self.d = self.X.shape[1]
        self.sparse = sp.issparse(self.X)
        centred = fit_intercept and not self.sparse
        self.centre = self.X.mean(axis=0, dtype=np.float64) if centred else np.zeros(self.d)
        top = _spread(self.X, self.centre)
        if not even:
            top = np.full(self.d, top.max(initial=0.0))
        self.unit = np.exp2(np.ceil(np.log2(np.where(top > 0, top, 1.0))))  # a power of two: dividing is exact
        self.even = even
        self.width = self.d if self.binary else self.d * self.n_classes
        self.signs = np.where(self.codes == 1, 1.0, -1.0)  # of two classes
        self.by_class = [np.flatnonzero(self.codes == k) for k in range(self.n_classes)]

    def raw(self, theta: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights for x from weights for (x - centre) / unit; a factor keeps them finite where units are tiny."""
        factor = min(1.0, float(self.unit.min()) * LARGE)
        theta = theta * (factor / self.unit)
        return theta, b * factor - theta @ self.centre

    def leads(self, theta: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much each example's class leads its best rival under raw weights, and that rival."""
        s = products(self.X, theta) + b
        if self.binary:
            return self.signs * s[:, 0], 1 - self.codes
        every = np.arange(len(s))
        own = s[every, self.codes]
        s[every, self.codes] = -np.inf
        rivals = s.argmax(axis=1)
        return own - s[every, rivals], rivals.astype(np.int32)

    def norm(self, theta: np.ndarray) -> float:
        """What a lead is divided by to be a distance."""
        top = float(np.abs(theta).max())
        length = top * float(np.linalg.norm(theta / top)) if top > 0 else 0.0
        return length if self.binary else np.sqrt(2.0) * length

    def points(self, demands: Demands) -> tuple[np.ndarray, np.ndarray]:
        """The points z with the equations on their weights behind: V = (z, E) and e, for sum of a E = e."""
        rows, rivals = demands
        m = len(rows)
        codes = self.codes[rows]
        if self.width <= max(m, 1024):
            x = self._moved(rows)
            if self.binary:
                z = x * self.signs[rows, None]
            else:
                z = np.zeros((m, self.n_classes, self.d))
                z[np.arange(m), codes] = x
                z[np.arange(m), rivals] = -x
                z = z.reshape(m, -1) / np.sqrt(2.0)
        else:
            z = self._by_gram(rows, codes, rivals)
        E = np.ones((m, 1))
        if self.fit_intercept:
            E = np.hstack([E, self._bias_part(codes, rivals)])
        size = np.sqrt((z * z).sum() / m) or 1.0
        e = np.zeros(E.shape[1])
        e[0] = size
        return np.hstack([z, size * E]), e

    def combination(self, demands: Demands, a: np.ndarray) -> np.ndarray:
        """theta = sum of a z, in units; a row for two classes, else one row per class."""
        rows, rivals = demands
        codes = self.codes[rows]
        if self.binary:
            coefficients = (a * self.signs[rows])[None, :]
        else:
            coefficients = np.zeros((self.n_classes, len(rows)))
            np.add.at(coefficients, (codes, np.arange(len(rows))), a)
            np.add.at(coefficients, (rivals, np.arange(len(rows))), -a)
        if self.sparse:
            return np.asarray((self.X[rows].T @ coefficients.T).T) / self.unit
        return coefficients @ self._moved(rows)

    def bias(self, multipliers: np.ndarray, size: float) -> np.ndarray:
        """b from the multipliers of the equations."""
        if not self.fit_intercept:
            return np.zeros(1 if self.binary else self.n_classes)
        return -size * multipliers[1:] * (1.0 if self.binary else 2.0)  # z is divided by sqrt(2), and so is its theta

    def _bias_part(self, codes: np.ndarray, rivals: np.ndarray) -> np.ndarray:
        if self.binary:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        part = np.zeros((len(codes), self.n_classes))
        part[np.arange(len(codes)), codes] = 1.0
        part[np.arange(len(codes)), rivals] = -1.0
        return part

    def _moved(self, rows: np.ndarray) -> np.ndarray:
        x = self.X[rows]
        x = x.toarray() if self.sparse else x
        return (x.astype(np.float64) - self.centre) / self.unit

    def _by_gram(self, rows: np.ndarray, codes: np.ndarray, rivals: np.ndarray) -> np.ndarray:
        """Points of as many dimensions as there are, with the scalar products of those that would be too wide."""
        x = self.X[rows].multiply(1.0 / self.unit).tocsr() if self.sparse else self._moved(rows)
        G = x @ x.T
        G = G.toarray() if sp.issparse(G) else G
        if self.binary:
            G *= np.outer(self.signs[rows], self.signs[rows])
        else:
            shared = (codes[:, None] == codes).astype(np.float64) + (rivals[:, None] == rivals)
            shared -= (codes[:, None] == rivals).astype(np.float64) + (rivals[:, None] == codes)
            G *= shared / 2
        G[np.diag_indices_from(G)] += max(JITTER * np.trace(G), np.finfo(float).tiny)
        return np.linalg.cholesky(G)


def _spread(X: Any, centre: np.ndarray) -> np.ndarray:
    """The largest distance of any value of a feature from its centre."""
    if sp.issparse(X):
        return np.asarray(abs(X).max(axis=0).toarray(), np.float64).ravel()
    return np.maximum(X.max(axis=0) - centre, centre - X.min(axis=0))


class Round(NamedTuple):
    """What a round of the search has come to."""

    theta: np.ndarray  # weights for the raw data
    b: np.ndarray
    lead: np.ndarray  # (n,): of every example under them,
    rivals: np.ndarray  # and over whom
    reached: float  # the margin of theta, b in units of the search; not positive if it does not separate
    distance: float  # |p|, an upper bound on reached: 0 means that the hull holds the origin
    support: Demands
    weights: np.ndarray  # of the support, sum 1: p is their combination


def search(
    pairs: Pairs, theta: np.ndarray, b: np.ndarray, gap: float, tick: Callable[[float], None]
) -> Iterator[Round]:
    """Rounds from raw weights theta, b on, until reached and distance are within gap, or nothing is left to add.

    tick: told about work before it is done; may raise to end the search."""
    size = min(LARGEST, max(SMALLEST, 4 * (pairs.width + 2)))
    lead, rivals = pairs.leads(theta, b)
    support, a = _first(pairs, lead), np.array([0.5, 0.5])
    known = np.empty(0, np.int64)
    idle, least = 0, np.inf
    while idle < PATIENCE + (pairs.n_classes if not pairs.binary else 0):
        working, fresh = _working_set(pairs, lead, rivals, support, known, size)
        if not fresh:
            return
        known = _keys(pairs, working)
        tick(0.0)
        V, e = pairs.points(working)
        corral = corral_for(len(V), V.shape[1], len(e))
        for place in np.searchsorted(known, _keys(pairs, support)):
            tick(0.0)
            enter(V, place, len(e), corral)
        m = corral.size[0]
        corral.a[:m] = a[:m] if m == len(a) else 1.0 / m
        multipliers = _nearest(V, e, corral, gap / 4, tick)
        carrying = np.flatnonzero(corral.a[: corral.size[0]] > 0)
        support, a = working.take(corral.members[carrying]), corral.a[carrying] / corral.a[carrying].sum()
        step = round_of(pairs, pairs.combination(support, a), pairs.bias(multipliers, e[0]), support, a)
        if step.distance < THIN and step.reached < (1 - gap) * step.distance and V.shape[1] == pairs.width + len(e):
            upright = round_of(pairs, *_upright(pairs, V[corral.members[carrying]], len(e)), support, a)
            step = max(step, upright, key=lambda step: step.reached)
        lead, rivals = step.lead, step.rivals
        idle = 0 if step.distance < least * (1 - NOISE) else idle + 1
        least = min(least, step.distance)
        yield step
        if step.distance - step.reached <= gap * step.distance:
            return


def _nearest(V: np.ndarray, e: np.ndarray, corral: Corral, tol: float, tick: Callable[[float], None]) -> np.ndarray:
    """Find the nearest point from the corral on, some cycles at a time. Returns the multipliers."""
    patient = 1  # times as many cycles as there is time for: those before brought nothing
    while True:
        each = V.size + 4.0 * V.shape[1] * corral.size[0]
        at_most = min(CYCLES, max(1, patient * int(WORK / each)))
        before = corral.members[: corral.size[0]].tolist()
        tick(at_most * each)
        multipliers, cycles = nearest_point(V, e, corral, tol, at_most)
        if cycles < at_most:
            return multipliers
        # points that were tried in vain are tried again by the next call: it has to get beyond them
        patient = 1 if corral.members[: corral.size[0]].tolist() != before else 4 * patient


def round_of(pairs: Pairs, theta: np.ndarray, b: np.ndarray, support: Demands, weights: np.ndarray) -> Round:
    """What weights theta, b, in units, reach, and what the combination of the support proves that none exceed."""
    raw, b = pairs.raw(theta, b)
    lead, rivals = pairs.leads(raw, b)
    if pairs.binary and pairs.fit_intercept:
        b, lead = _halfway(pairs, b, lead)
    reached = float(lead.min()) / (pairs.norm(theta) or 1.0)
    distance = pairs.norm(pairs.combination(support, weights)) / (1.0 if pairs.binary else 2.0)
    return Round(raw, b, lead, rivals, reached, distance, support, weights)


def _upright(pairs: Pairs, V: np.ndarray, n_demands: int) -> tuple[np.ndarray, np.ndarray]:
    """The shortest theta, and b, that give all points of the support the same lead.

    In theory that is the direction of p. But p is a difference of long vectors, and where it is short, rounding turns
    it; these equations have no such trouble.
    """
    z, size, E = V[:, :-n_demands], V[0, -n_demands], V[:, V.shape[1] - n_demands + 1 :]
    ones = np.ones(len(z))
    basis = np.linalg.qr(E)[0] if E.shape[1] else np.zeros((len(z), 0))
    w = np.linalg.lstsq(z - basis @ (basis.T @ z), ones - basis @ (basis.T @ ones), rcond=None)[0]
    b = np.linalg.lstsq(E, ones - z @ w, rcond=None)[0] * size if E.shape[1] else np.zeros(1)
    if pairs.binary:
        return w[None], b
    return w.reshape(pairs.n_classes, -1) / np.sqrt(2.0), b if E.shape[1] else np.zeros(pairs.n_classes)


def _first(pairs: Pairs, lead: np.ndarray) -> Demands:
    """Two pairs that cancel in the bias: the worst example of a class and one of its rival's, each against the other.

    Without an intercept any pairs would do."""
    worst = int(np.argmin(lead))
    y = int(pairs.codes[worst])
    others = np.flatnonzero(pairs.codes != y)
    other = int(others[np.argmin(lead[others])])
    return Demands(np.array([worst, other]), np.array([pairs.codes[other], y], np.int32))


def _working_set(
    pairs: Pairs, lead: np.ndarray, rivals: np.ndarray, support: Demands, known: np.ndarray, size: int
) -> tuple[Demands, bool]:
    """The support, of every class the examples that lead least, and if there is room all that were known, or all there
    are; sorted by key. And whether any is new."""
    n, K = len(pairs.codes), pairs.n_classes
    if n * (K - 1) <= LARGEST:
        keys = np.flatnonzero(np.arange(n * K) % K != np.repeat(pairs.codes, K))
        return Demands(*_places(pairs, keys)), len(known) == 0
    share = -(-size // pairs.n_classes)
    chosen = []
    for members in pairs.by_class:
        if len(members) > share:
            members = members[np.argpartition(lead[members], share)[:share]]
        chosen.append(members)
    rows = np.concatenate(chosen)
    keys = np.union1d(_keys(pairs, Demands(rows, rivals[rows])), _keys(pairs, support))
    if len(known) + len(keys) <= LARGEST:
        keys = np.union1d(keys, known)
    return Demands(*_places(pairs, keys)), len(np.setdiff1d(keys, known)) > 0


def _keys(pairs: Pairs, demands: Demands) -> np.ndarray:
    return demands.rows.astype(np.int64) * pairs.n_classes + demands.rivals


def _places(pairs: Pairs, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, rivals = np.divmod(keys, pairs.n_classes)
    return rows, rivals.astype(np.int32)


def _halfway(pairs: Pairs, b: np.ndarray, lead: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bias that leaves both classes the same lowest lead, and the leads with it."""
    low, high = (float(lead[members].min()) for members in pairs.by_class)
    shift = (low - high) / 2
    return b + shift, lead + shift * pairs.signs


def descend(pairs: Pairs, gap: float, tick: Callable[[float], None]) -> Iterator[Round]:
    """Rounds of passes, until reached and distance are within gap. tick: told about work, may raise."""
    n, d = pairs.X.shape
    K = 1 if pairs.binary else pairs.n_classes
    unit = float(pairs.unit[0])
    rows = as_rows(pairs.X)
    theta = np.zeros((K, d), order="F" if pairs.sparse else "C")
    b = np.zeros(K)
    alpha = np.zeros(n if pairs.binary else (n, K))
    one = float(norms(pairs.X).max()) if pairs.fit_intercept else 0.0
    rng = np.random.default_rng(0)
    for passes in range(1, PASSES + 1):
        tick(4.0 * K * (pairs.X.nnz if pairs.sparse else pairs.X.size))
        order = shuffled(n, rng)
        if pairs.binary:
            binary_descent(rows, pairs.signs, order, theta[0], b, one, alpha)
        else:
            multiclass_descent(rows, pairs.codes, order, theta, b, one, alpha)
        if passes % BETWEEN == 0:
            at = np.argwhere(alpha > 0)
            demands = Demands(at[:, 0], (1 - pairs.codes[at[:, 0]] if pairs.binary else at[:, 1]).astype(np.int32))
            weights = alpha[alpha > 0]
            if pairs.fit_intercept:
                weights = _evened(pairs, demands, weights)
            step = round_of(pairs, theta * unit, b + theta @ pairs.centre, demands, weights / weights.sum())
            yield step
            if step.distance - step.reached <= gap * step.distance:
                return


def _evened(pairs: Pairs, demands: Demands, weights: np.ndarray) -> np.ndarray:
    """The weights times a factor of their class over one of the rival's, so that the bias parts cancel (Osborne)."""
    own = pairs.codes[demands.rows]
    factor = np.ones(pairs.n_classes)
    for _ in range(BALANCING):
        scaled = weights * factor[own] / factor[demands.rivals]
        given = np.bincount(own, scaled, pairs.n_classes)
        taken = np.bincount(demands.rivals, scaled, pairs.n_classes)
        used = (given > 0) & (taken > 0)
        factor[used] *= (taken[used] / given[used]) ** 0.25  # the root, were the rival not moved as well
    return weights * factor[own] / factor[demands.rivals]
