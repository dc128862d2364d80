"""The bracket of the margin where points have too many dimensions for `hulls.py`, such as text: coordinate descent.

For separable data only; others have no largest margin to descend to. Rounds mean what they mean there.
"""

from collections.abc import Callable, Iterator

import numpy as np

from perceptrons.passes.descent import binary_descent, multiclass_descent
from perceptrons.passes.orders import shuffled
from perceptrons.theory.geometry import norms
from perceptrons.theory.hulls import Round, round_of
from perceptrons.theory.pairs import Demands, Pairs
from perceptrons.training.inputs import as_rows

BETWEEN = 10  # passes between two looks at how far it has come
PASSES = 2000
BALANCING = 200


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
