"""The search for the largest margin in floating point: the point of a convex hull that is nearest to the origin.

"Class y leads rival r at x" means z·theta > 0 for the point z = f(x, y) - f(x, r); for two classes z = y x. Some theta
has z·theta > 0 for all points if and only if their convex hull does not contain the origin. Its distance from the
origin is then the largest margin, and the nearest point p is the direction of the best theta. Every point of the hull
bounds the largest margin from above by its length; every theta bounds it from below by its smallest lead.

`search` finds p with a working set, for any data. Every round scores all examples once, adds those with the smallest
leads to the working set, and finds the nearest point of its hull (`engine/passes/max_margin.py`). `descend` finds p by
coordinate descent, for separable data of very many dimensions, such as texts. Neither proves anything: the proofs are
in `separability.py`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.passes.max_margin import (
    ActiveSet,
    binary_descent,
    empty_active_set,
    enter,
    multiclass_descent,
    nearest_point,
)
from perceptrons.engine.passes.order import shuffled
from perceptrons.engine.training.inputs import as_rows
from perceptrons.theory.examples import Examples
from perceptrons.theory.geometry import leads, norm, norms, products

MAX_WEIGHT_FACTOR = 2.0**500  # larger weights might overflow
GRAM_JITTER = 1e-13  # of a Gram matrix's trace, so that dependent points do not end its factorization
MIN_WORKING_SET = 256  # points: smaller sets waste rounds, and
MAX_WORKING_SET = 2000  # the hulls of larger ones cost more than the rounds that they save
THIN_DISTANCE = 1e-5  # in units of the data, below which rounding turns the direction of p
MAX_CYCLES = 200  # of the nearest-point solver per call
MAX_WORK = 2e8  # additions and multiplications per call, a fraction of a second, between two looks at the clock
# With many classes, some pairs get weight only after others were added. So this many rounds, and one more per class,
# may make no progress but rounding: the distance shrinks by less than this part.
MAX_IDLE_ROUNDS = 3
MIN_PROGRESS = 1e-12
PASSES_PER_ROUND = 10  # of `descend`
MAX_PASSES = 2000
BALANCING_STEPS = 200

Tick = Callable[[float], None]  # called with the amount of work before it is done; may raise to end the search


class PairList(NamedTuple):
    """Some pairs of a row of X and a rival class that must not win there."""

    rows: np.ndarray  # intp (m,)
    rivals: np.ndarray  # int32 (m,)

    def take(self, indices: np.ndarray) -> "PairList":
        return PairList(self.rows[indices], self.rivals[indices])


def class_parts(codes: np.ndarray, rivals: np.ndarray, n_classes: int) -> np.ndarray:
    """Return c of every pair, with f(x, y) - f(x, r) = c x as one row of weights per class; y x for two classes.

    c is 1 for the pair's own class and -1 for the rival; for two classes it is the sign y alone.
    """
    if n_classes == 2:
        return np.where(codes == 1, 1, -1)[:, None]
    c, every = np.zeros((len(codes), n_classes), np.int64), np.arange(len(codes))
    c[every, codes], c[every, rivals] = 1, -1
    return c


def pair_points(x: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the points f(x, y) - f(x, r) of pairs, one flat row each, from their rows x and class parts."""
    return (parts[:, :, None] * x[:, None, :]).reshape(len(x), -1)


class HullPoints:
    """The points of a data set, scaled for floating point: x becomes (x - centre) / unit.

    There are too many points to store, so they are computed on request. Two classes have one weight row and z = y x;
    more have a row each, and z is divided by sqrt(2), so that two classes have the same margin either way. With an
    intercept, the bias belongs to no distance: it is an equation on the weights of the points instead.
    """

    def __init__(self, examples: Examples, fit_intercept: bool, scale_features: bool) -> None:
        """scale_features: one unit per feature, which keeps separability but not distances; else one for all."""
        self.X, self.codes, self.n_classes = examples.X, examples.codes, len(examples.classes)
        self.binary = self.n_classes == 2
        self.fit_intercept = fit_intercept
        self.d = self.X.shape[1]
        self.sparse = sp.issparse(self.X)
        centred = fit_intercept and not self.sparse
        self.centre = self.X.mean(axis=0, dtype=np.float64) if centred else np.zeros(self.d)
        if self.sparse:
            largest = np.asarray(abs(self.X).max(axis=0).toarray(), np.float64).ravel()
        else:
            largest = np.maximum(self.X.max(axis=0) - self.centre, self.centre - self.X.min(axis=0))
        if not scale_features:
            largest = np.full(self.d, largest.max(initial=0.0))
        self.unit = np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1.0))))  # powers of two divide exactly
        self.n_rows = 1 if self.binary else self.n_classes  # of weights
        self.root = 1.0 if self.binary else np.sqrt(2.0)
        self.width = self.d * self.n_rows
        self.signs = examples.signs  # for two classes
        self.by_class = [np.flatnonzero(self.codes == k) for k in range(self.n_classes)]

    def unscaled(self, theta: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights for x from weights for (x - centre) / unit, times a factor that keeps them finite."""
        factor = min(1.0, float(self.unit.min()) * MAX_WEIGHT_FACTOR)
        theta = theta * (factor / self.unit)
        return theta, b * factor - theta @ self.centre

    def leads(self, theta: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lead of each example's class over its best rival under unscaled weights, and that rival."""
        s = products(self.X, theta) + b
        lead, rivals = leads(s, self.codes)
        return lead, rivals.astype(np.int32, copy=False)

    def parts(self, pairs: PairList) -> np.ndarray:
        """Return the class parts of points."""
        return class_parts(self.codes[pairs.rows], pairs.rivals, self.n_classes) / self.root

    def equations(self, pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
        """Return V = (z, E), the points and the equations sum of a E = e on their weights, and e."""
        m, parts = len(pairs.rows), self.parts(pairs)
        wide = self.width > max(m, 1024)
        z = self._embedded(pairs.rows, parts) if wide else pair_points(self._scaled(pairs.rows), parts)
        E = np.ones((m, 1))
        if self.fit_intercept:
            E = np.hstack([E, parts * self.root])
        size = np.sqrt((z * z).sum() / m) or 1.0
        e = np.zeros(E.shape[1])
        e[0] = size
        return np.hstack([z, size * E]), e

    def combination(self, pairs: PairList, a: np.ndarray) -> np.ndarray:
        """Return p = sum of a z, scaled; a row for two classes, else one row per class."""
        coefficients = (self.parts(pairs) * a[:, None]).T
        if self.sparse:
            return np.asarray((self.X[pairs.rows].T @ coefficients.T).T) / self.unit
        return coefficients @ self._scaled(pairs.rows)

    def bias(self, multipliers: np.ndarray, size: float) -> np.ndarray:
        """Return b from the multipliers of the equations, for theta = p."""
        if not self.fit_intercept:
            return np.zeros(self.n_rows)
        return -size * multipliers[1:] * self.root

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        x = self.X[rows]
        x = x.toarray() if self.sparse else x
        return (x.astype(np.float64) - self.centre) / self.unit

    def _embedded(self, rows: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Return points with the dot products of the true ones, which would be too wide, and one dimension each."""
        x = self.X[rows].multiply(1.0 / self.unit).tocsr() if self.sparse else self._scaled(rows)
        G = x @ x.T
        G = (G.toarray() if sp.issparse(G) else G) * (parts @ parts.T)
        G[np.diag_indices_from(G)] += max(GRAM_JITTER * np.trace(G), np.finfo(float).tiny)
        return np.linalg.cholesky(G)

    def keys(self, pairs: PairList) -> np.ndarray:
        """Return one number per pair."""
        return pairs.rows.astype(np.int64) * self.n_classes + pairs.rivals

    def pairs_of(self, keys: np.ndarray) -> PairList:
        rows, rivals = np.divmod(keys, self.n_classes)
        return PairList(rows, rivals.astype(np.int32))


class SearchRound(NamedTuple):
    """The result of a round of the search."""

    theta: np.ndarray  # weights for the unscaled data
    b: np.ndarray
    lead: np.ndarray  # (n,): of every example under these weights
    rivals: np.ndarray  # (n,): the class that it leads by this much
    reached: float  # the margin of theta, b, scaled; not positive if it does not separate
    distance: float  # |p|, an upper bound on reached: 0 means that the hull contains the origin
    support: PairList
    weights: np.ndarray  # of the support, sum 1: p is their combination


def search(points: HullPoints, theta: np.ndarray, b: np.ndarray, gap: float, tick: Tick) -> Iterator[SearchRound]:
    """Yield rounds from the unscaled weights theta, b, until reached and distance are within gap or no pair is new."""
    size = min(MAX_WORKING_SET, max(MIN_WORKING_SET, 4 * (points.width + 2)))
    lead, rivals = points.leads(theta, b)
    support, a = _first_support(points, lead), np.array([0.5, 0.5])
    working_keys = np.empty(0, np.int64)
    n_idle, least = 0, np.inf
    while n_idle < MAX_IDLE_ROUNDS + (points.n_classes if not points.binary else 0):
        working, has_new = _working_set(points, lead, rivals, support, working_keys, size)
        if not has_new:
            return
        working_keys = points.keys(working)
        tick(0.0)
        V, e = points.equations(working)
        active = empty_active_set(len(V), V.shape[1], len(e))
        for place in np.searchsorted(working_keys, points.keys(support)):
            tick(0.0)
            enter(V, place, len(e), active)
        m = active.size[0]
        active.a[:m] = a[:m] if m == len(a) else 1.0 / m
        multipliers = _nearest(V, e, active, gap / 4, tick)
        carrying = np.flatnonzero(active.a[: active.size[0]] > 0)
        support, a = working.take(active.members[carrying]), active.a[carrying] / active.a[carrying].sum()
        step = measure_round(points, points.combination(support, a), points.bias(multipliers, e[0]), support, a)
        is_thin = step.distance < THIN_DISTANCE and step.reached < (1 - gap) * step.distance
        if is_thin and V.shape[1] == points.width + len(e):
            weights = _with_equal_leads(points, V[active.members[carrying]], len(e))
            step = max(step, measure_round(points, *weights, support, a), key=lambda step: step.reached)
        lead, rivals = step.lead, step.rivals
        n_idle = 0 if step.distance < least * (1 - MIN_PROGRESS) else n_idle + 1
        least = min(least, step.distance)
        yield step
        if step.distance - step.reached <= gap * step.distance:
            return


def _first_support(points: HullPoints, lead: np.ndarray) -> PairList:
    """Return two pairs whose bias parts cancel: the worst example, and that of another class, each against the other.

    Without an intercept any pairs would do.
    """
    worst = int(np.argmin(lead))
    y = int(points.codes[worst])
    candidates = np.flatnonzero(points.codes != y)
    second = int(candidates[np.argmin(lead[candidates])])
    return PairList(np.array([worst, second]), np.array([points.codes[second], y], np.int32))


def _working_set(
    points: HullPoints, lead: np.ndarray, rivals: np.ndarray, support: PairList, previous_keys: np.ndarray, size: int
) -> tuple[PairList, bool]:
    """Return pairs sorted by key, and whether any is new.

    They are the support, the examples of every class with the smallest leads, and all previous pairs if there is room.
    Of small data they are all pairs.
    """
    n, K = len(points.codes), points.n_classes
    if n * (K - 1) <= MAX_WORKING_SET:
        keys = np.flatnonzero(np.arange(n * K) % K != np.repeat(points.codes, K))
        return points.pairs_of(keys), len(previous_keys) == 0
    n_per_class = -(-size // K)
    selected = []
    for members in points.by_class:
        if len(members) > n_per_class:
            members = members[np.argpartition(lead[members], n_per_class)[:n_per_class]]
        selected.append(members)
    rows = np.concatenate(selected)
    keys = np.union1d(points.keys(PairList(rows, rivals[rows])), points.keys(support))
    if len(previous_keys) + len(keys) <= MAX_WORKING_SET:
        keys = np.union1d(keys, previous_keys)
    return points.pairs_of(keys), len(np.setdiff1d(keys, previous_keys)) > 0


def _nearest(V: np.ndarray, e: np.ndarray, active: ActiveSet, tol: float, tick: Tick) -> np.ndarray:
    """Find the nearest point, starting from the active set, some cycles at a time. Return the multipliers."""
    patience = 1  # grows with every call that changed nothing
    while True:
        work_per_cycle = V.size + 4.0 * V.shape[1] * active.size[0]
        max_cycles = min(MAX_CYCLES, max(1, patience * int(MAX_WORK / work_per_cycle)))
        members = active.members[: active.size[0]].tolist()
        tick(max_cycles * work_per_cycle)
        multipliers, cycles = nearest_point(V, e, active, tol, max_cycles)
        if cycles < max_cycles:
            return multipliers
        # the next call tries the same points again, so it needs enough cycles to get beyond them
        patience = 1 if active.members[: active.size[0]].tolist() != members else 4 * patience


def measure_round(
    points: HullPoints, theta: np.ndarray, b: np.ndarray, support: PairList, weights: np.ndarray
) -> SearchRound:
    """Measure the margin of scaled weights theta, b, and the upper bound of the support."""
    unscaled, b = points.unscaled(theta, b)
    lead, rivals = points.leads(unscaled, b)
    if points.binary and points.fit_intercept:  # the best bias gives both classes the same smallest lead
        low, high = (float(lead[members].min()) for members in points.by_class)
        shift = (low - high) / 2
        b, lead = b + shift, lead + shift * points.signs
    reached = float(lead.min()) / (points.root * norm(theta) or 1.0)
    distance = norm(points.combination(support, weights))
    return SearchRound(unscaled, b, lead, rivals, reached, distance, support, weights)


def _with_equal_leads(points: HullPoints, V: np.ndarray, n_equations: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the shortest theta, and b, that give all points of the support the same lead.

    In theory theta has the direction of p. But p is a difference of long vectors, so rounding turns it if it is short.
    These equations do not have this problem.
    """
    z, size, E = V[:, :-n_equations], V[0, -n_equations], V[:, V.shape[1] - n_equations + 1 :]
    ones = np.ones(len(z))
    basis = np.linalg.qr(E)[0] if E.shape[1] else np.zeros((len(z), 0))
    w = np.linalg.lstsq(z - basis @ (basis.T @ z), ones - basis @ (basis.T @ ones), rcond=None)[0]
    b = np.linalg.lstsq(E, ones - z @ w, rcond=None)[0] * size if E.shape[1] else np.zeros(points.n_rows)
    return w.reshape(points.n_rows, -1) / points.root, b


def descend(points: HullPoints, gap: float, tick: Tick) -> Iterator[SearchRound]:
    """Yield rounds of dual coordinate descent, until reached and distance are within gap."""
    n, d = points.X.shape
    K = points.n_rows
    rows, unit = as_rows(points.X), float(points.unit[0])
    theta, b = np.zeros((K, d), order="F" if points.sparse else "C"), np.zeros(K)
    alpha = np.zeros(n if points.binary else (n, K))
    constant = float(norms(points.X).max()) if points.fit_intercept else 0.0
    rng = np.random.default_rng(0)
    for n_passes in range(1, MAX_PASSES + 1):
        tick(4.0 * K * (points.X.nnz if points.sparse else points.X.size))
        order = shuffled(n, rng)
        if points.binary:
            binary_descent(rows, points.signs, order, theta[0], b, constant, alpha)
        else:
            multiclass_descent(rows, points.codes, order, theta, b, constant, alpha)
        if n_passes % PASSES_PER_ROUND == 0:
            places = np.argwhere(alpha > 0)
            rivals = 1 - points.codes[places[:, 0]] if points.binary else places[:, 1]
            pairs = PairList(places[:, 0], rivals.astype(np.int32))
            weights = alpha[alpha > 0]
            if points.fit_intercept:
                weights = _balance_bias(points, pairs, weights)
            step = measure_round(points, theta * unit, b + theta @ points.centre, pairs, weights / weights.sum())
            yield step
            if step.distance - step.reached <= gap * step.distance:
                return


def _balance_bias(points: HullPoints, pairs: PairList, weights: np.ndarray) -> np.ndarray:
    """Return the weights times a factor per class, over that of the rival, so that the bias parts cancel (Osborne)."""
    codes, K = points.codes[pairs.rows], points.n_classes
    factor = np.ones(K)
    for _ in range(BALANCING_STEPS):
        scaled = weights * factor[codes] / factor[pairs.rivals]
        outgoing, incoming = np.bincount(codes, scaled, K), np.bincount(pairs.rivals, scaled, K)
        used = (outgoing > 0) & (incoming > 0)
        factor[used] *= (incoming[used] / outgoing[used]) ** 0.25  # not the square root: the rival's factor moves, too
    return weights * factor[codes] / factor[pairs.rivals]
