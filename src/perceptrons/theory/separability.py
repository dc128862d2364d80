"""Is a data set linearly separable, and by how much? Answers come as certificates (`certificate.py`).

The cheapest first: equal rows with different labels; perceptron passes; the nearest point of the hull in floating point
(`hulls.py`), which ends in weights or in a few examples that cancel. Each answer is proved in exact arithmetic before
it is given. Where floating point cannot tell, an exact simplex method on the examples in question does (`exact.py`).
"""

import time
import warnings
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from perceptrons.linear import Perceptron
from perceptrons.theory.certificate import Certificate, Combination, Margin
from perceptrons.theory.claims import Checker, Weights, combined, root_up
from perceptrons.theory.descent import descend
from perceptrons.theory.duplicates import contradictions
from perceptrons.theory.exact import integers, null_weights, simplex
from perceptrons.theory.geometry import norms
from perceptrons.theory.hulls import Round, search
from perceptrons.theory.inputs import Examples, check_examples
from perceptrons.theory.pairs import Demands, Pairs

NOTHING = 1e-9  # a distance of the hull from the origin, relative to the data, at which it may well be 0
EPOCHS, EPOCHS_WIDE = 10, 200  # perceptron passes before the hulls; many where points have many dimensions
WIDE = 4096  # dimensions above which passes are cheap beside hulls
CONFUSED = 3  # pairs of classes that are tried on their own first
EXACT = 400  # equations up to which the exact simplex method has a hope to end
POLISH = 400  # rounds at most to narrow the bracket of the margin
WHOLE = 60  # bits of the whole-number weights that prove the upper bound


class TimeUp(Exception):  # noqa: N818 (no error: how a search ends)
    """The time given is spent."""


class Clock:
    """Raises TimeUp at the first tick after the time given."""

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds > 0:
            raise ValueError(f"max_seconds={seconds!r}: give a positive number of seconds, or None.")
        self.seconds = seconds
        self._end = None if seconds is None else time.perf_counter() + seconds

    def tick(self) -> None:
        if self._end is not None and time.perf_counter() > self._end:
            raise TimeUp

    @property
    def left(self) -> float | None:
        return None if self._end is None else max(1e-9, self._end - time.perf_counter())


def separability(
    X: Any, y: Any, max_seconds: float | None = None, *, fit_intercept: bool = True, gap: float = 0.1
) -> Certificate:
    """Decide whether the classes are linearly separable, with a proof that anyone can check.

    When to use it: to know whether a perceptron will converge and within how many updates; to find the examples that
    stand in the way. When not: to judge how well a linear model will predict; inseparable data often have a very good
    one, and separable ones may be noise in many dimensions.

    Parameters
    ----------
    X, y : as in `Perceptron.fit`; dense or sparse, one label an example
    max_seconds : float, optional
        Give up after this time, with `separable` None.
    fit_intercept : bool, default=True
        False: only hyperplanes through the origin count.
    gap : float, default=0.1
        Narrow the bracket of the margin until it is this wide, relative to its upper end. See `max_margin`.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from perceptrons.theory import separability
    >>> certificate = separability([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    >>> certificate.separable, certificate.coef, certificate.intercept
    (True, array([1.]), -2.0)
    >>> certificate.margin.at_most
    1.0
    >>> print(separability([[0.0], [1.0], [3.0]], ["low", "high", "low"]).explain())
    Not linearly separable (3 examples, 1 features, 2 classes): in rows 0, 1, 2 the convex hulls of the classes meet. \
Weighted as the witness says, these examples cancel exactly, while under any separating hyperplane their sum would be \
positive.
    """
    clock = Clock(max_seconds)
    _check_gap(gap)
    return _Case(check_examples(X, y), bool(fit_intercept), clock).decide(gap)


def max_margin(
    X: Any, y: Any, *, gap: float = 1e-6, fit_intercept: bool = True, max_seconds: float | None = None
) -> Certificate:
    """The hard-margin separator: of all hyperplanes the one furthest from every example.

    When to use it: to know the largest margin, and so the smallest mistake bound, to a stated gap; as the hard-margin
    support vector machine of separable data. When not: data that are not separable have none; their soft-margin
    relative is scikit-learn's LinearSVC.

    Parameters
    ----------
    X, y, fit_intercept, max_seconds : as in `separability`
    gap : float, default=1e-6
        Stop when the margin is within this part of the best possible one.

    Returns
    -------
    Certificate
        Its `margin` is the bracket, its `support` the support vectors. Weights are scaled so that the closest example
        has the score 1 or, for several classes, the lead 1.

    Raises
    ------
    ValueError
        If the data are not separable, or the time was up before that was known.

    Warns
    -----
    ConvergenceWarning
        If rounding or the time given ends the search before the gap is reached.

    Examples
    --------
    >>> from perceptrons.theory import max_margin
    >>> best = max_margin([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 0, 1, 1])
    >>> best.coef.round(6), round(best.margin.reached, 6), best.support.rows
    (array([ 1., -1.]), 0.707107, (0, 1, 2, 3))
    """
    clock = Clock(max_seconds)
    _check_gap(gap)
    certificate = _Case(check_examples(X, y), bool(fit_intercept), clock).decide(gap)
    if not certificate.separable:
        raise ValueError(f"There is no largest margin. {certificate.explain()}")
    low, high = certificate.margin  # type: ignore[misc]
    if high - low > gap * high:
        warnings.warn(
            f"The margin is known to a relative gap of {(high - low) / high:.1e} only, not {gap:g}: "
            f"{'the time was up' if clock.left == 1e-9 else 'rounding hides the rest; scale the features'}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return certificate


def _check_gap(gap: float) -> None:
    if not 0 < gap < 1:
        raise ValueError(f"gap={gap!r}: give a number between 0 and 1, such as 1e-6.")


class Separator(NamedTuple):
    """Weights that are proved to put every example on its side, a row for two classes, else a row a class."""

    theta: np.ndarray  # float64, or Fractions where floats do not do
    b: np.ndarray
    reached: float


class _Case:
    """One data set on its way to a certificate."""

    def __init__(self, examples: Examples, fit_intercept: bool, clock: Clock) -> None:
        self.examples, self.fit_intercept, self.clock = examples, fit_intercept, clock
        self.labels = examples.classes.tolist()
        self.K = len(self.labels)
        self.wide = examples.X.shape[1] * (1 if self.K == 2 else self.K) > WIDE
        self.checker = Checker(examples.X, examples.codes)
        self.separator: Separator | None = None
        self.widest: Round | None = None  # of the rounds that keep distances: the largest margin,
        self.closest: Round | None = None  # and the smallest distance of the hulls
        self.undecided = f"the time given ({clock.seconds} s) was up."

    def decide(self, gap: float) -> Certificate:
        try:
            witness = self._witness(gap)
        except TimeUp:
            witness = None
        if witness is not None:
            return self._certificate(separable=False, witness=witness)
        if self.separator is None:
            return self._certificate(separable=None, reason=self.undecided)
        theta, b, reached = self._best()
        support, at_most = self._bound()
        return self._certificate(
            separable=True,
            coef=_frozen(theta if self.K > 2 else theta[0]),
            intercept=_frozen(b) if self.K > 2 else b.tolist()[0],
            margin=Margin(min(reached, at_most), at_most),
            support=support,
        )

    def _certificate(self, **claims: Any) -> Certificate:
        n, d = self.examples.X.shape
        return Certificate(
            classes=tuple(self.labels), n_samples=n, n_features=d, fit_intercept=self.fit_intercept,
            number_type=self.examples.X.dtype.name, **claims,
        ).sealed()  # fmt: skip

    # ---- the stages: each finds a witness, or weights that become the separator

    def _witness(self, gap: float) -> Combination | None:
        """A witness if the data are not separable; else None, and there is a separator unless it stays undecided."""
        found = self._at_a_glance()
        if found is not None:
            return found
        theta, b = self._passes()
        if self.separator is None and self.K > 2:
            found = self._confused_classes(theta, b)
            if found is not None:
                return found
        step = self._rounds(theta, b, gap, even=False)
        if self.separator is None:
            found = self._cancelling(step.support)
        if self.separator is None and found is None:
            step = self._rounds(step.theta, step.b, gap, even=True)
        if self.separator is None and found is None:
            found = self._cancelling(step.support) or self._exactly(step)
        return found

    def _at_a_glance(self) -> Combination | None:
        """Without an intercept a row of zeros; equal rows with different labels."""
        X, codes, _ = self.examples
        if not self.fit_intercept:
            empty = np.flatnonzero(norms(X) == 0)
            if len(empty):
                row = int(empty[0])
                return self._combination([row], [(int(codes[row]) + 1) % self.K], [1])
        groups = contradictions(X, codes)
        if not groups:
            return None
        rows = groups[0]
        pair = [int(rows[0]), int(rows[np.argmax(codes[rows] != codes[rows[0]])])]
        return self._combination(pair, codes[pair[::-1]].tolist(), [1, 1])

    def _passes(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights after some perceptron passes; if they make no mistake, they are the separator."""
        X, codes, _ = self.examples
        self.clock.tick()
        model = Perceptron(
            combine="last", tol=None, max_iter=EPOCHS_WIDE if self.wide else EPOCHS, fit_intercept=self.fit_intercept,
            max_seconds=self.clock.left,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, codes)
        theta, b = model.coef_.astype(np.float64), model.intercept_.astype(np.float64)
        if model.stop_reason_ == "converged":
            self._prove(theta, b)
        return theta, b

    def _confused_classes(self, theta: np.ndarray, b: np.ndarray) -> Combination | None:
        """The witness of two classes alone, if those that the passes confuse most cannot be told apart."""
        X, codes, classes = self.examples
        lead, rivals = Pairs(self.examples, self.fit_intercept, even=False).leads(theta, b)
        wrong = lead <= 0
        low, high = np.minimum(codes, rivals)[wrong], np.maximum(codes, rivals)[wrong]
        pairs, counts = np.unique(low.astype(np.int64) * self.K + high, return_counts=True)
        for pair in pairs[np.argsort(-counts, kind="stable")][:CONFUSED]:
            two = np.array(divmod(int(pair), self.K))
            rows = np.flatnonzero(np.isin(codes, two))
            case = _Case(
                Examples(X[rows], (codes[rows] == two[1]).astype(np.int32), classes[two]),
                self.fit_intercept,
                self.clock,
            )
            step = case._rounds(theta[two[1:]] - theta[two[:1]], b[two[1:]] - b[two[:1]], 0.5, even=False)
            found = case._cancelling(step.support) if case.separator is None else None
            if found is not None:
                return found._replace(rows=tuple(rows[list(found.rows)].tolist()))
        return None

    def _rounds(self, theta: np.ndarray, b: np.ndarray, gap: float, even: bool) -> Round:
        """Search the hulls until it is clear that they meet, or the margin is known to the gap. The last round."""
        pairs = Pairs(self.examples, self.fit_intercept, even)
        proved_wide = self.separator is not None and self.wide
        rounds = (
            descend(pairs, gap, self.clock.tick) if proved_wide else search(pairs, theta, b, gap, self.clock.tick)
        )
        for count, step in enumerate(rounds):
            if not even and (self.widest is None or step.reached > self.widest.reached):
                self.widest = step
            if not even and (self.closest is None or step.distance < self.closest.distance):
                self.closest = step
            if self.separator is None and step.reached > 0:
                self._prove(step.theta, step.b)
            if step.distance < NOTHING if self.separator is None else even or count > POLISH:
                break
        return step

    def _exactly(self, step: Round) -> Combination | None:
        """Decide in exact arithmetic, on a growing set of pairs: those of the last round first."""
        demands = step.support
        while True:
            points, places, exponents = self._equations(demands)
            if points.shape[1] > EXACT:
                self.undecided = "rounding hides the answer, and the data have too many dimensions to be exact."
                return None
            verdict = simplex(points, self.clock.tick)
            if verdict.weights is not None:
                return self._used(demands, [verdict.weights.get(place, 0) for place in range(len(points))])
            theta, b = self._from_equations(verdict.separator, places, exponents)
            if any(self._prove(*_rounded(theta, b, bits)) for bits in (53, 128, 512)) or self._prove(theta, b):
                return None
            more = self.checker.violated(self._weights(theta, b), at_most=2 * points.shape[1])
            rows, rivals = zip(*more, strict=True)
            demands = Demands(np.append(demands.rows, rows), np.append(demands.rivals, np.array(rivals, np.int32)))

    # ---- proofs

    def _weights(self, theta: np.ndarray, b: np.ndarray) -> Weights:
        return Weights(theta, b) if self.K > 2 else Weights(theta[0], b[0])

    def _prove(self, theta: np.ndarray, b: np.ndarray) -> bool:
        """Keep these weights if they put every example strictly on its side, and further from it than others did."""
        reached = self.checker.safe_margin(self._weights(theta, b))
        if self.separator is None or reached > self.separator.reached:
            self.separator = Separator(theta, b, reached) if reached > 0 else None
        return reached > 0

    def _best(self) -> Separator:
        """The separator of the largest margin, scaled so that the closest example has the score 1 or the lead 1."""
        if self.widest is not None:
            self._prove(self.widest.theta, self.widest.b)
        assert self.separator is not None
        theta, b, reached = self.separator
        if theta.dtype != object:
            pairs = Pairs(self.examples, self.fit_intercept, even=False)
            lowest = float(pairs.leads(theta, b)[0].min())
            scaled = Separator(theta / lowest, b / lowest, 0.0) if lowest > 0 else self.separator
            again = self.checker.safe_margin(self._weights(scaled.theta, scaled.b))
            if again >= reached * (1 - 1e-9):
                return scaled._replace(reached=again)
        return self.separator

    def _bound(self) -> tuple[Combination, float]:
        """Pairs with weights that prove an upper bound of the margin, and the bound."""
        X, codes, _ = self.examples
        demands, whole = None, None
        if self.closest is not None:
            demands = self.closest.support
            own = codes[demands.rows].tolist()
            whole = _balanced(own, demands.rivals.tolist(), self.closest.weights, self.fit_intercept)
        if demands is None or whole is None:  # the simplest: half the distance of two examples
            other = int(np.argmax(codes != codes[0]))
            demands, whole = Demands(np.array([0, other]), codes[[other, 0]]), [1, 1]
        used = [place for place, weight in enumerate(whole) if weight > 0]
        rows, rivals = demands.rows[used].tolist(), demands.rivals[used].tolist()
        weights = [whole[place] for place in used]
        total = combined(X, rows, codes[rows].tolist(), rivals, weights, self.K)
        return self._combination(rows, rivals, weights), root_up(total.bound(sum(weights)))

    def _cancelling(self, demands: Demands) -> Combination | None:
        """Exact weights that make these pairs cancel, if they are unique and not negative."""
        a = null_weights(self._equations(demands)[0].T)
        if a is None or (min(a) < 0 < max(a)):
            return None
        return self._used(demands, [abs(value) for value in a])

    def _used(self, demands: Demands, a: list[int]) -> Combination:
        used = [place for place, value in enumerate(a) if value > 0]
        return self._combination(
            demands.rows[used].tolist(), demands.rivals[used].tolist(), [a[place] for place in used]
        )

    def _combination(self, rows: list[int], rivals: list[int], weights: list[int]) -> Combination:
        order = sorted(range(len(rows)), key=lambda place: (rows[place], rivals[place]))
        total = sum(weights)
        return Combination(
            tuple(rows[place] for place in order),
            tuple(self.labels[self.examples.codes[rows[place]]] for place in order),
            tuple(self.labels[rivals[place]] for place in order),
            tuple(Fraction(weights[place], total) for place in order),
        )

    # ---- the equations "these pairs cancel", in whole numbers

    def _equations(self, demands: Demands) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A row of whole numbers for every pair, in columns that are not all 0; which weight each column is for, and
        the power of two it was divided by."""
        X, codes, _ = self.examples
        x = X[demands.rows]
        used = np.flatnonzero(np.diff(x.tocsc().indptr) if sp.issparse(x) else x.any(axis=0))
        x = x[:, used].toarray() if sp.issparse(x) else x[:, used]
        if self.fit_intercept:
            x = np.hstack([x, np.ones((len(x), 1), x.dtype)])
            used = np.append(used, X.shape[1])
        whole, exponents = integers(x)
        own, every, width = codes[demands.rows], np.arange(len(x)), X.shape[1] + 1
        if self.K == 2:
            return whole * np.where(own == 1, 1, -1).astype(object)[:, None], used, exponents
        points = np.zeros((len(x), self.K, len(used)), object)
        points[every, own], points[every, demands.rivals] = whole, -whole
        places = (np.arange(self.K)[:, None] * width + used).ravel()
        points = points.reshape(len(x), -1)
        kept = np.flatnonzero(points.any(axis=0))
        return points[:, kept], places[kept], np.tile(exponents, self.K)[kept]

    def _from_equations(self, v: Any, places: np.ndarray, exponents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Raw weights, as Fractions, from a vector in the columns of `_equations`."""
        width = self.examples.X.shape[1] + 1
        flat = np.full((1 if self.K == 2 else self.K) * width, Fraction(0), object)
        for value, place, exponent in zip(v, places.tolist(), exponents.tolist(), strict=True):
            flat[place] = Fraction(value) / Fraction(2) ** exponent
        matrix = flat.reshape(-1, width)
        return matrix[:, :-1], matrix[:, -1]


def _frozen(numbers: np.ndarray) -> np.ndarray:
    numbers = numbers.copy()
    numbers.flags.writeable = False
    return numbers


def _rounded(theta: np.ndarray, b: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Exact weights to so many bits, relative to the largest; 53 as floats."""
    top = max(abs(value) for value in (*theta.ravel(), *b))
    if bits == 53:
        return (theta / top).astype(np.float64), (b / top).astype(np.float64)
    to_bits = np.vectorize(lambda value: Fraction(round(value / top * (1 << bits)), 1 << bits), otypes=[object])
    return to_bits(theta), to_bits(b)


def _balanced(own: list[int], rivals: list[int], a: np.ndarray, fit_intercept: bool) -> list[int] | None:
    """Whole numbers in the proportion of a, up to rounding, whose bias part is exactly 0; None if that needs negatives.

    What each class is off by is passed along a forest of the heaviest pairs, from the leaves to the roots.
    """
    whole = [round(float(weight) * (1 << WHOLE)) for weight in a]
    if not fit_intercept:
        return whole
    off: dict[int, int] = {}
    for y, r, weight in zip(own, rivals, whole, strict=True):
        off[y] = off.get(y, 0) + weight
        off[r] = off.get(r, 0) - weight
    tree_of = {k: k for k in off}
    forest = []
    for place in sorted(range(len(whole)), key=lambda place: -whole[place]):
        y, r = tree_of[own[place]], tree_of[rivals[place]]
        if y != r:
            forest.append(place)
            tree_of = {k: y if tree == r else tree for k, tree in tree_of.items()}
    while forest:
        ends = [k for place in forest for k in (own[place], rivals[place])]
        leaf = next(k for k in ends if ends.count(k) == 1)
        place = next(place for place in forest if leaf in (own[place], rivals[place]))
        change = -off[leaf] if own[place] == leaf else off[leaf]
        whole[place] += change
        off[own[place]] += change
        off[rivals[place]] -= change
        forest.remove(place)
    return whole if min(whole) >= 0 else None
