"""The search in floating point: the nearest point of the hull of all pairs, by way of the few that matter.

Every round scores all examples once, adds those that lead least to the working set, and finds the nearest point of
its hull (`passes/nearest.py`). The distance only falls: it bounds the best margin from above, while the lowest lead
under the weights it gives bounds it from below. Nothing here is proof yet; `separability.py` sees to that.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from perceptrons.passes.nearest import Corral, corral_for, enter, nearest_point
from perceptrons.theory.pairs import Demands, Pairs

SMALLEST, LARGEST = 256, 2000  # points in a working set: below, rounds are wasted; above, its hull costs more than they
THIN = 1e-5  # a distance in units of the data below which rounding turns the direction of p
CYCLES = 200  # at a time at most, and fewer where they take
WORK = 2e8  # additions and multiplications, a fraction of a second, so that the clock is looked at in between
# With many classes, pairs come in that get weight only when others follow: so many rounds, and one more a class, may
# bring nothing but rounding, that is, a distance less than this part smaller.
PATIENCE = 3
NOISE = 1e-12


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
