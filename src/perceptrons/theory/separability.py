"""Is a data set linearly separable, and by how much? The stages of the search, and the proof of what they find.

The cheapest first: equal rows with different labels; perceptron passes; the nearest point of the hull in floating point
(`hulls.py`), which ends in weights or in a few examples that cancel. Each answer is proved in exact arithmetic before
it is given as a certificate (`certificate.py`). Where floating point cannot tell, an exact simplex method on the
examples in question does (`exact.py`).
"""

import math
import warnings
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from perceptrons.linear import Perceptron
from perceptrons.theory.certificate import Certificate, Combination, Margin, times_unit
from perceptrons.theory.duplicates import contradictions
from perceptrons.theory.exact import Simplex, balanced, equations, frame_of, null_weights, rounded, used_columns
from perceptrons.theory.examples import Clock, Examples, TimeUp, as_whole_numbers, check_examples
from perceptrons.theory.hulls import Demands, Pairs, Round, descend, search
from perceptrons.theory.verification import Checker, ExactWeights, exact_sum, root_up

NOTHING = 1e-9  # a distance of the hull from the origin, relative to the data, at which it may well be 0
EPOCHS = 10  # perceptron passes before the hulls,
MORE_EPOCHS = 2000  # and as far as twice WORK goes where
WIDE = 1000  # dimensions make passes cheap beside hulls
DENSE = 1 << 22  # numbers up to which sparse data are as well searched as dense ones
WORK = 1e10  # additions and multiplications, some seconds, spent at most on what is not asked for at all cost
CONFUSED = 3  # pairs of classes that are tried on their own first
CONVERTING = 5e-7  # seconds to make a whole number of a value, about,
ELIMINATING = 3e-9  # and to subtract a multiple of one from another, modulo a prime
EXACT = 400  # equations up to which the exact simplex method has a hope to end


def separability(
    X: Any, y: Any, max_seconds: float | None = None, *, fit_intercept: bool = True, gap: float = 0.1,
    decimals: bool = False,
) -> Certificate:  # fmt: skip
    """Decide whether the classes are linearly separable, with a proof that anyone can check.

    When to use it: to know whether a perceptron will converge and within how many updates; to find the examples that
    stand in the way. When not: to judge how well a linear model will predict; inseparable data often have a very good
    one, and separable ones may be noise in many dimensions.

    Parameters
    ----------
    X, y : as in `Perceptron.fit`; dense or sparse, one label per example
        Numbers that float64 does not hold exactly, such as 2**53 + 1, are refused: the proof would not be about them.
    max_seconds : float, optional
        Give up after this time, with `separable` None. The search gets nine tenths of it, and the proof of its
        result the rest. Exact arithmetic that would take longer than the time left is not started.
    fit_intercept : bool, default=True
        If False, only hyperplanes through the origin are considered.
    gap : float, default=0.1
        Narrow the bracket of the margin until it is this wide, relative to its upper end, as far as rounding and some
        seconds of work allow. `max_margin` spends any time on it, and warns if rounding ends it before.
    decimals : bool, default=False
        True: X was read from decimals, and the proof is about those: 0.1 is one tenth, not the float64 nearest to it.
        Every number of X must have at most 15 digits, counted from the first digit of the largest number to the last
        decimal place of any. False: the proof is about the float64 numbers.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from perceptrons.theory import separability
    >>> certificate = separability([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> certificate.separable, certificate.coef, certificate.intercept
    (True, array([1.]), -2.0)
    >>> certificate.margin.at_most
    1.0
    >>> print(separability([[0.0], [1.0], [3.0]], [0, 1, 0]).explain())
    Not linearly separable (3 examples, 1 feature, 2 classes): in rows 0, 1, 2 the convex hulls of the classes meet. \
Weighted as the witness says, these examples cancel exactly, while under any separating hyperplane their sum would be \
positive.
    """
    clock = Clock(max_seconds)
    _check(gap, fit_intercept)
    examples = check_examples(X, y)
    if not decimals:
        return Prover(examples, bool(fit_intercept), clock, polish=WORK).decide(gap)
    scaled = as_whole_numbers(examples.X)
    if scaled is None:
        raise ValueError(
            "decimals=True, but X has numbers that need more than 15 digits (6 in float32), so the decimals that they "
            "were read from are not known. Use decimals=False for a proof about the float64 numbers."
        )
    X, unit = scaled
    return Prover(examples._replace(X=X), bool(fit_intercept), clock, polish=WORK, unit=unit).decide(gap)


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
    (array([ 1., -1.]), 0.707107, (1, 2))
    """
    clock = Clock(max_seconds)
    _check(gap, fit_intercept)
    certificate = Prover(check_examples(X, y), bool(fit_intercept), clock).decide(gap)
    if not certificate.separable:
        raise ValueError(f"There is no largest margin. {certificate.explain()}")
    low, high = certificate.margin  # type: ignore[misc]
    if high - low > gap * high:
        warnings.warn(
            f"The margin is known only to a relative gap of {(high - low) / high:.1e}, not {gap:g}: "
            f"{'the time limit was reached' if clock.is_over else 'rounding hides the rest; try scaled features'}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return certificate


def _check(gap: Any, fit_intercept: Any) -> None:
    if not isinstance(fit_intercept, bool | np.bool_):
        raise ValueError(f"fit_intercept={fit_intercept!r}: give True or False.")
    if not (isinstance(gap, Real) and 0 < float(gap) < 1):
        raise ValueError(f"gap={gap!r}: give a number between 0 and 1, such as 1e-6.")


class Separator(NamedTuple):
    """Weights that are proved to put every example on its side, a row for two classes, else one row per class."""

    theta: np.ndarray  # float64, or Fractions where floats do not do
    b: np.ndarray
    reached: float


class Prover:
    """One data set on its way to a certificate."""

    def __init__(
        self, examples: Examples, fit_intercept: bool, clock: Clock, polish: float = np.inf, unit: int | None = None
    ) -> None:
        """polish: the work that may go into a bracket once the answer is known. unit: the data are X / unit."""
        self.unit = unit
        if sp.issparse(examples.X) and math.prod(examples.X.shape) <= DENSE:
            examples = examples._replace(X=examples.X.toarray())  # quicker, and the certificate does not tell
        self.examples, self.fit_intercept, self.clock, self.polish = examples, fit_intercept, clock, polish
        self.labels = examples.classes.tolist()
        self.K = len(self.labels)
        self.checker = Checker(examples.X, examples.codes)
        self.separator: Separator | None = None
        self.widest: Round | None = None  # of the rounds that keep distances: the largest margin,
        self.closest: Round | None = None  # and the smallest distance of the hulls
        self.undecided = f"the time limit ({clock.seconds:.3g} s) was reached." if clock.seconds else ""

    def decide(self, gap: float) -> Certificate:
        try:
            witness = self._witness(gap)
        except TimeUp:
            witness = None
        if witness is not None:
            certificate = self._certificate(separable=False, witness=witness)
            if not certificate.proves(self._data()):
                raise ArithmeticError("The witness found does not prove anything. Please report this, with the data.")
            return certificate
        if self.separator is None:
            return self._certificate(separable=None, reason=self.undecided)
        theta, b, reached = self._best()
        support, at_most = self._bound()
        if self.unit not in (None, 1):
            b, reached, at_most = self._in_decimals(theta, b, at_most)
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
            number_type=self.examples.X.dtype.name if self.unit is None else "decimal", **claims,
        ).sealed()  # fmt: skip

    def _data(self) -> Examples:
        """The examples in their own unit."""
        if self.unit is None:
            return self.examples
        return self.examples._replace(X=self.examples.X / self.unit)  # rounded to the nearest float, as when read

    def _in_decimals(self, theta: np.ndarray, b: np.ndarray, at_most: float) -> tuple[np.ndarray, float, float]:
        """The bias, the margin reached and the upper bound for the decimals, from those for whole numbers.

        The bias is a float if the rounded one still puts every example on its side."""
        unit: int = self.unit  # type: ignore[assignment]
        exact = times_unit(b, Fraction(1, unit))
        b = exact.astype(np.float64)
        reached = self.checker.safe_margin(self._weights(theta, times_unit(b, unit)))
        if reached is None:
            b = exact
            reached = self.checker.safe_margin(self._weights(theta, times_unit(b, unit)))
        assert reached is not None
        high = at_most / unit
        while Fraction(high) * unit < Fraction(at_most):
            high = math.nextafter(high, math.inf)
        return b, reached / unit, high  # safe_margin leaves more room than this rounds

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
        for even in (False, True):
            step, found = self._rounds(theta, b, gap, even)
            if found is not None or self.separator is not None:
                return found
            theta, b = step.theta, step.b
        return self._exactly(step)

    def _at_a_glance(self) -> Combination | None:
        """Without an intercept a row of zeros; equal rows with different labels."""
        X, codes, _ = self.examples
        if not self.fit_intercept:
            filled = np.diff(X.indptr) > 0 if sp.issparse(X) else X.any(axis=1)
            if not filled.all():
                row = int(np.argmin(filled))
                return self._combination(Demands(np.array([row]), (codes[[row]] + 1) % self.K), [1])
        groups = contradictions(X, codes)
        if not groups:
            return None
        rows = groups[0]
        pair = rows[[0, int(np.argmax(codes[rows] != codes[rows[0]]))]]
        return self._combination(Demands(pair, codes[pair[::-1]]), [1, 1])

    def _passes(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights after some perceptron passes; if they make no mistake, they are the separator."""
        X, codes, _ = self.examples
        self.clock.tick()
        width = 1 if self.K == 2 else self.K
        epochs = EPOCHS
        if X.shape[1] * width > WIDE:
            epochs = max(EPOCHS, min(MORE_EPOCHS, int(2 * WORK / ((X.nnz if sp.issparse(X) else X.size) * width + 1))))
        model = Perceptron(
            margin=0, intercept_scaling=1, combine="last", tol=None, max_iter=epochs, fit_intercept=self.fit_intercept,
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
        """The witness of two classes alone, if those that the passes confuse most cannot be separated."""
        X, codes, classes = self.examples
        lead, rivals = Pairs(self.examples, self.fit_intercept, even=False).leads(theta, b)
        wrong = lead <= 0
        low, high = np.minimum(codes, rivals)[wrong], np.maximum(codes, rivals)[wrong]
        pairs, counts = np.unique(low.astype(np.int64) * self.K + high, return_counts=True)
        for pair in pairs[np.argsort(-counts, kind="stable")][:CONFUSED]:
            two = np.array(divmod(int(pair), self.K))
            rows = np.flatnonzero(np.isin(codes, two))
            examples = Examples(X[rows], (codes[rows] == two[1]).astype(np.int32), classes[two])
            two_classes = Prover(examples, self.fit_intercept, self.clock, polish=0.0)
            _, found = two_classes._rounds(theta[two[1:]] - theta[two[:1]], b[two[1:]] - b[two[:1]], 0.5, even=False)
            if found is not None:
                return found._replace(rows=tuple(rows[list(found.rows)].tolist()))
        return None

    def _rounds(self, theta: np.ndarray, b: np.ndarray, gap: float, even: bool) -> tuple[Round, Combination | None]:
        """Search the hulls until they are proved to meet, or the margin is known to the gap, or nothing moves any more.

        Returns the last round and the witness, if there is one."""
        pairs = Pairs(self.examples, self.fit_intercept, even)
        if self.separator is not None and pairs.sparse and pairs.width > WIDE:
            rounds = descend(pairs, gap, self._tick)
        else:
            rounds = search(pairs, theta, b, gap, self._tick)
        suspicious = NOTHING
        for step in rounds:
            if not even and (self.widest is None or step.reached > self.widest.reached):
                self.widest = step
            if not even and (self.closest is None or step.distance < self.closest.distance):
                self.closest = step
            if self.separator is None and step.reached > 0:
                self._prove(step.theta, step.b)
            if self.separator is None and step.distance < suspicious:
                found = self._cancelling(step.support)
                if found is not None:
                    return step, found
                suspicious = step.distance / 8
            if self.separator is not None and (even or self.polish <= 0):
                break
        return step, self._cancelling(step.support) if self.separator is None else None

    def _exactly(self, step: Round) -> Combination | None:
        """Decide in exact arithmetic, on a growing set of pairs: those of the last round first."""
        width = self._columns(self.examples.X)
        if width > EXACT:
            self.undecided = "rounding hides the result, and the data have too many dimensions for exact computation."
            return None
        frame = frame_of(self.examples.X)
        demands = more = step.support
        simplex = Simplex(width)
        while True:
            self.clock.tick()
            system = equations(self.examples, self.fit_intercept, more, frame)
            simplex.add(system.points)
            weights, separator = simplex.solve(self.clock.tick)
            if weights:
                return self._combination(demands, [weights.get(place, 0) for place in range(len(demands.rows))])
            theta, b = system.weights(separator)
            if any(self._prove(*rounded(theta, b, bits)) for bits in (53, 128, 512)) or self._prove(theta, b):
                return None
            rows, rivals = zip(*self.checker.violated(self._weights(theta, b), system.points.shape[1]), strict=True)
            more = Demands(np.array(rows), np.array(rivals, np.int32))
            demands = Demands(np.append(demands.rows, more.rows), np.append(demands.rivals, more.rivals))

    def _tick(self, work: float) -> None:
        """Look at the clock before doing some work; once the answer is known, count the work too."""
        self.clock.tick()
        if self.separator is not None:
            self.polish -= work
            if self.polish < 0:
                raise TimeUp

    # ---- proofs

    def _weights(self, theta: np.ndarray, b: np.ndarray) -> ExactWeights:
        return ExactWeights(theta, b) if self.K > 2 else ExactWeights(theta[0], b[0])

    def _prove(self, theta: np.ndarray, b: np.ndarray) -> bool:
        """Keep these weights if they put every example strictly on its side, and further from it than others did."""
        reached = self.checker.safe_margin(self._weights(theta, b))
        if reached is not None and (self.separator is None or reached > self.separator.reached):
            self.separator = Separator(theta, b, reached)
        return reached is not None

    def _best(self) -> Separator:
        """The separator of the largest margin, scaled so that the closest example has the score 1 or the lead 1."""
        if self.widest is not None:
            self._prove(self.widest.theta, self.widest.b)
        assert self.separator is not None
        theta, b, reached = self.separator
        if theta.dtype != object:
            pairs = Pairs(self.examples, self.fit_intercept, even=False)
            lowest = float(pairs.leads(theta, b)[0].min())
            with np.errstate(over="ignore"):
                scaled, bias = (theta / lowest, b / lowest) if lowest > 0 else (theta, b)
            if np.isfinite(scaled).all() and np.isfinite(bias).all():
                again = self.checker.safe_margin(self._weights(scaled, bias))
                if again is not None and again >= reached * (1 - 1e-9):
                    return Separator(scaled, bias, again)
        return self.separator

    def _bound(self) -> tuple[Combination, float]:
        """Pairs with weights that prove an upper bound of the margin, and the bound."""
        X, codes, _ = self.examples
        demands, whole = None, None
        if self.closest is not None:
            demands = self.closest.support
            own = codes[demands.rows].tolist()
            whole = balanced(own, demands.rivals.tolist(), self.closest.weights, self.fit_intercept)
        if demands is None or whole is None:  # the simplest: half the distance of two examples
            other = int(np.argmax(codes != codes[0]))
            demands, whole = Demands(np.array([0, other]), codes[[other, 0]]), [1, 1]
        used = np.array([weight > 0 for weight in whole])
        rows, rivals = (part.tolist() for part in demands.take(used))
        weights = [weight for weight in whole if weight > 0]
        total = exact_sum(X, rows, codes[rows].tolist(), rivals, weights, self.K)
        return self._combination(demands, whole), root_up(total.squared_bound(sum(weights)))

    def _cancelling(self, demands: Demands) -> Combination | None:
        """Exact weights that make these pairs cancel, if they are unique and not negative, and there is time for it."""
        pairs, columns = len(demands.rows), self._columns(self.examples.X[demands.rows])
        if not self.clock.affords(columns * pairs * (CONVERTING + pairs * ELIMINATING)):
            return None
        a = null_weights(equations(self.examples, self.fit_intercept, demands).points.T)
        if a is None or (min(a) < 0 < max(a)):
            return None
        return self._combination(demands, [abs(value) for value in a])

    def _columns(self, X: Any) -> int:
        """How many equations it takes that pairs of these rows cancel."""
        return (len(used_columns(X)) + self.fit_intercept) * (self.K if self.K > 2 else 1)

    def _combination(self, demands: Demands, weights: list[int]) -> Combination:
        """The pairs that have weight, in order."""
        rows, rivals = (part.tolist() for part in demands)
        used = (place for place, weight in enumerate(weights) if weight > 0)
        order, total = sorted(used, key=lambda place: (rows[place], rivals[place])), sum(weights)
        return Combination(
            tuple(rows[place] for place in order),
            tuple(self.labels[self.examples.codes[rows[place]]] for place in order),
            tuple(self.labels[rivals[place]] for place in order),
            tuple(Fraction(weights[place], total) for place in order),
        )


def _frozen(numbers: np.ndarray) -> np.ndarray:
    numbers = numbers.copy()
    numbers.flags.writeable = False
    return numbers
