"""Linear separability and the largest margin, decided by a search in stages and proved in exact arithmetic.

Write z = f(x, y) - f(x, r) for an example x of class y and a rival class r; for two classes z = y (x, 1). The data are
separable if some theta has z·theta > 0 for all z. Exactly one of two statements holds (Gordan 1873):

    some theta has z·theta > 0 for all z,       or       sum of a z = 0 for some weights a >= 0, not all 0.

Either can be checked by anyone: theta by scoring every example, and a, the witness, by adding up. The second one says
that the convex hull of the points z contains the origin. If it does not, its distance from the origin is the largest
margin: every theta gives a lower bound, and every point of the hull an upper bound (`largest_margin.py`).

The stages of the search, the cheapest first, each of which can end it:

1. a row of zeros, or equal rows with different labels, are a witness of one or two examples;
2. perceptron passes without a mistake give theta;
3. for several classes, the two classes that are confused most often may already overlap;
4. the nearest point of the hull, in floating point, gives theta or a few examples whose weights cancel exactly;
5. the same with features of one scale, which changes the margin but not the answer;
6. an exact simplex method on a growing set of examples decides what rounding hides.

Each answer is proved in exact arithmetic (`exact.py`) before it becomes a certificate.
"""

import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from perceptrons.linear import Perceptron
from perceptrons.theory.certificate import Certificate, Combination, Margin, sum_of_pairs, times_unit
from perceptrons.theory.duplicates import contradictions
from perceptrons.theory.exact import (
    Checker,
    ExactWeights,
    Simplex,
    balanced,
    cancellation_equations,
    null_weights,
    root_up,
    rounded,
    used_columns,
)
from perceptrons.theory.examples import Clock, Examples, TimeUp, as_whole_numbers, check_examples
from perceptrons.theory.largest_margin import HullPoints, PairList, SearchRound, descend, search

SUSPICIOUS_DISTANCE = 1e-9  # of the hull from the origin, relative to the data, at which it may well be 0
MIN_EPOCHS = 10  # of perceptron passes before the search of the hull
MAX_EPOCHS = 2000  # in many dimensions, where passes are cheap beside the search
MANY_DIMENSIONS = 1000
MAX_DENSE_NUMBERS = 1 << 22  # sparse data up to this size are searched faster as dense ones
MAX_POLISH_WORK = 1e10  # additions and multiplications, some seconds, to narrow the bracket of the margin
MAX_CONFUSED_PAIRS = 3  # pairs of classes that are tried on their own
CONVERSION_SECONDS = 5e-7  # to make a whole number of a value, about
ELIMINATION_SECONDS = 3e-9  # to subtract a multiple of a number from another, modulo a prime
MAX_SIMPLEX_EQUATIONS = 400  # more take the exact simplex method too long


def separability(
    X: Any, y: Any, max_seconds: float | None = None, *, fit_intercept: bool = True, gap: float = 0.1,
    decimals: bool = False,
) -> Certificate:  # fmt: skip
    """Decide whether the classes are linearly separable, with a proof that anyone can check.

    Use it to know whether a perceptron will converge and within how many updates, or to find the examples that prevent
    it. Do not use it to judge how well a linear model will predict: inseparable data often have a very good one, and
    separable ones may be noise in many dimensions.

    Parameters
    ----------
    X, y : as in `Perceptron.fit`; dense or sparse, one label per example
        Numbers that float64 does not hold exactly, such as 2**53 + 1, are refused: the proof would not be about them.
    max_seconds : float, optional
        The time limit, after which `separable` is None. The search gets nine tenths of it, and the proof of its
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
    unit = None
    if decimals:
        scaled = as_whole_numbers(examples.X)
        if scaled is None:
            raise ValueError(
                "decimals=True, but X has numbers that need more than 15 digits (6 in float32), so the decimals that "
                "they were read from are not known. Use decimals=False for a proof about the float64 numbers."
            )
        X, unit = scaled
        examples = examples._replace(X=X)
    return Prover(examples, bool(fit_intercept), clock, MAX_POLISH_WORK, unit).decide(gap)


def max_margin(
    X: Any, y: Any, *, gap: float = 1e-6, fit_intercept: bool = True, max_seconds: float | None = None
) -> Certificate:
    """Return the hard-margin separator: of all hyperplanes the one farthest from every example.

    Use it to know the largest margin, and so the smallest mistake bound, to a stated gap, or as the hard-margin support
    vector machine of separable data. Do not use it for data that are not separable, which have no such hyperplane:
    scikit-learn's LinearSVC has a soft margin.

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
    assert certificate.margin is not None
    low, high = certificate.margin
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
    """Weights that are proved to separate the data, one row for two classes, else one row per class."""

    theta: np.ndarray  # float64, or Fractions if floats do not suffice
    b: np.ndarray
    reached: float


class Prover:
    """Decides one data set and proves the answer."""

    def __init__(
        self, examples: Examples, fit_intercept: bool, clock: Clock, polish_work: float = np.inf,
        unit: int | None = None,
    ) -> None:  # fmt: skip
        """polish_work: the work that may narrow the margin once the answer is known. unit: the data are X / unit."""
        self.unit = unit
        if sp.issparse(examples.X) and math.prod(examples.X.shape) <= MAX_DENSE_NUMBERS:
            examples = examples._replace(X=examples.X.toarray())
        self.examples, self.fit_intercept, self.clock, self.polish_work = examples, fit_intercept, clock, polish_work
        self.labels = examples.classes.tolist()
        self.K = len(self.labels)
        self.checker = Checker(examples.X, examples.codes)
        self.separator: Separator | None = None
        self.widest: SearchRound | None = None  # the round with the largest margin, and
        self.closest: SearchRound | None = None  # with the smallest distance of the hull, both without scaled features
        self.undecided = f"the time limit ({clock.seconds:.3g} s) was reached." if clock.seconds else ""

    def decide(self, gap: float) -> Certificate:
        """Return the certificate, with a bracket of the margin within gap if there is time for it."""
        try:
            witness = self._search(gap)
        except TimeUp:
            witness = None
        if witness is not None:
            certificate = self._certificate(separable=False, witness=witness)
            examples = self.examples
            if self.unit is not None:  # in its own unit, rounded to the nearest float, as when it was read
                examples = examples._replace(X=examples.X / self.unit)
            if not certificate.proves(examples):
                raise ArithmeticError("The witness found does not prove anything. Please report this, with the data.")
            return certificate
        if self.separator is None:
            return self._certificate(separable=None, reason=self.undecided)
        theta, b, reached = self._normalized_separator()
        support, at_most = self._upper_bound()
        if self.unit not in (None, 1):
            b, reached, at_most = self._in_decimals(theta, b, at_most)
        return self._certificate(
            separable=True,
            coef=_read_only(theta if self.K > 2 else theta[0]),
            intercept=_read_only(b) if self.K > 2 else b.tolist()[0],
            margin=Margin(min(reached, at_most), at_most),
            support=support,
        )

    def _certificate(self, **claims: Any) -> Certificate:
        n, d = self.examples.X.shape
        return Certificate(
            classes=tuple(self.labels), n_samples=n, n_features=d, fit_intercept=self.fit_intercept,
            number_type=self.examples.X.dtype.name if self.unit is None else "decimal", **claims,
        ).sealed()  # fmt: skip

    # ---- the stages: each returns a witness, or finds weights that become the separator

    def _search(self, gap: float) -> Combination | None:
        """Return a witness if the data are not separable; else set the separator, unless nothing is decided."""
        witness = self._trivial_witness()
        if witness is not None:
            return witness
        theta, b = self._train_perceptron()
        if self.separator is None and self.K > 2:
            witness = self._witness_of_confused_classes(theta, b)
            if witness is not None:
                return witness
        for scale_features in (False, True):
            step, witness = self._search_hull(theta, b, gap, scale_features)
            if witness is not None or self.separator is not None:
                return witness
            theta, b = step.theta, step.b
        return self._decide_exactly(step)

    def _trivial_witness(self) -> Combination | None:
        """Stage 1: without an intercept a row of zeros; equal rows with different labels."""
        X, codes, _ = self.examples
        if not self.fit_intercept:
            is_nonzero = np.diff(X.indptr) > 0 if sp.issparse(X) else X.any(axis=1)
            if not is_nonzero.all():
                row = int(np.argmin(is_nonzero))
                return self._combination(PairList(np.array([row]), (codes[[row]] + 1) % self.K), [1])
        groups = contradictions(X, codes)
        if not groups:
            return None
        rows = groups[0]
        two = rows[[0, int(np.argmax(codes[rows] != codes[rows[0]]))]]
        return self._combination(PairList(two, codes[two[::-1]]), [1, 1])

    def _train_perceptron(self) -> tuple[np.ndarray, np.ndarray]:
        """Stage 2: return weights after some perceptron passes; without mistakes they are the separator."""
        X, codes, _ = self.examples
        self.clock.tick()
        width = 1 if self.K == 2 else self.K
        epochs = MIN_EPOCHS
        if X.shape[1] * width > MANY_DIMENSIONS:
            work_per_epoch = (X.nnz if sp.issparse(X) else X.size) * width + 1
            epochs = max(MIN_EPOCHS, min(MAX_EPOCHS, int(2 * MAX_POLISH_WORK / work_per_epoch)))
        model = Perceptron.rosenblatt(
            tol=None, max_iter=epochs, fit_intercept=self.fit_intercept, max_seconds=self.clock.seconds_left
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, codes)
        theta, b = model.coef_.astype(np.float64), model.intercept_.astype(np.float64)
        if model.stop_reason_ == "converged":
            self._prove(theta, b)
        return theta, b

    def _witness_of_confused_classes(self, theta: np.ndarray, b: np.ndarray) -> Combination | None:
        """Stage 3: return the witness of two classes alone, if those that are confused most cannot be separated."""
        X, codes, classes = self.examples
        lead, rivals = HullPoints(self.examples, self.fit_intercept, scale_features=False).leads(theta, b)
        mistakes = lead <= 0
        low, high = np.minimum(codes, rivals)[mistakes], np.maximum(codes, rivals)[mistakes]
        pairs, counts = np.unique(low.astype(np.int64) * self.K + high, return_counts=True)
        for pair in pairs[np.argsort(-counts, kind="stable")][:MAX_CONFUSED_PAIRS]:
            first, second = divmod(int(pair), self.K)
            rows = np.flatnonzero((codes == first) | (codes == second))
            examples = Examples(X[rows], (codes[rows] == second).astype(np.int32), classes[[first, second]])
            prover = Prover(examples, self.fit_intercept, self.clock, polish_work=0.0)
            theta_of_two, b_of_two = theta[[second]] - theta[[first]], b[[second]] - b[[first]]
            _, witness = prover._search_hull(theta_of_two, b_of_two, 0.5, scale_features=False)
            if witness is not None:
                return witness._replace(rows=tuple(rows[list(witness.rows)].tolist()))
        return None

    def _search_hull(
        self, theta: np.ndarray, b: np.ndarray, gap: float, scale_features: bool
    ) -> tuple[SearchRound, Combination | None]:
        """Stages 4 and 5: search until a witness or the margin is known to the gap, or there is no more progress.

        Return the last round, and the witness if there is one.
        """
        points = HullPoints(self.examples, self.fit_intercept, scale_features)
        if self.separator is not None and points.sparse and points.width > MANY_DIMENSIONS:
            rounds = descend(points, gap, self._tick)
        else:
            rounds = search(points, theta, b, gap, self._tick)
        suspicious = SUSPICIOUS_DISTANCE
        for step in rounds:
            if not scale_features and (self.widest is None or step.reached > self.widest.reached):
                self.widest = step
            if not scale_features and (self.closest is None or step.distance < self.closest.distance):
                self.closest = step
            if self.separator is None and step.reached > 0:
                self._prove(step.theta, step.b)
            if self.separator is None and step.distance < suspicious:
                witness = self._cancelling(step.support)
                if witness is not None:
                    return step, witness
                suspicious = step.distance / 8
            if self.separator is not None and (scale_features or self.polish_work <= 0):
                break
        return step, self._cancelling(step.support) if self.separator is None else None

    def _decide_exactly(self, step: SearchRound) -> Combination | None:
        """Stage 6: decide a growing set of pairs in exact arithmetic, starting with those of the last round."""
        n_equations = self._n_equations(self.examples.X)
        if n_equations > MAX_SIMPLEX_EQUATIONS:
            self.undecided = "rounding hides the result, and the data have too many dimensions for exact computation."
            return None
        columns = used_columns(self.examples.X)
        pairs = new_pairs = step.support
        simplex, exponents = Simplex(n_equations), np.empty(0, int)
        while True:
            self.clock.tick()
            system = cancellation_equations(self.examples, self.fit_intercept, new_pairs, columns)
            simplex.add(system.points)
            exponents = np.append(exponents, np.full(len(system.points), system.exponent))
            weights, separator = simplex.solve(self.clock.tick)
            if weights:  # of points divided by powers of two: of the points themselves they are divided, too
                shifts = (exponents.max() - exponents).tolist()
                return self._combination(pairs, [weights.get(place, 0) << shift for place, shift in enumerate(shifts)])
            theta, b = system.weights(separator)
            if any(self._prove(*rounded(theta, b, bits)) for bits in (53, 128, 512)) or self._prove(theta, b):
                return None
            violated = self.checker.violated(ExactWeights(theta, b), system.points.shape[1])
            rows, rivals = zip(*violated, strict=True)
            new_pairs = PairList(np.array(rows), np.array(rivals, np.int32))
            pairs = PairList(np.append(pairs.rows, new_pairs.rows), np.append(pairs.rivals, new_pairs.rivals))

    def _tick(self, work: float) -> None:
        """Check the clock before some work; once the answer is known, limit the work too."""
        self.clock.tick()
        if self.separator is not None:
            self.polish_work -= work
            if self.polish_work < 0:
                raise TimeUp

    # ---- proofs that weights separate the data, and how far

    def _prove(self, theta: np.ndarray, b: np.ndarray) -> bool:
        """Return whether these weights separate the data. Keep them if their margin is the largest so far."""
        reached = self.checker.safe_margin(ExactWeights(theta, b))
        if reached is not None and (self.separator is None or reached > self.separator.reached):
            self.separator = Separator(theta, b, reached)
        return reached is not None

    def _normalized_separator(self) -> Separator:
        """Return the best separator, scaled so that the closest example has the score 1 or the lead 1."""
        if self.widest is not None:
            self._prove(self.widest.theta, self.widest.b)
        assert self.separator is not None
        theta, b, reached = self.separator
        if theta.dtype == object:
            return self.separator
        points = HullPoints(self.examples, self.fit_intercept, scale_features=False)
        smallest = float(points.leads(theta, b)[0].min())
        with np.errstate(over="ignore"):
            scaled, bias = (theta / smallest, b / smallest) if smallest > 0 else (theta, b)
        if np.isfinite(scaled).all() and np.isfinite(bias).all():
            scaled_reached = self.checker.safe_margin(ExactWeights(scaled, bias))
            if scaled_reached is not None and scaled_reached >= reached * (1 - 1e-9):
                return Separator(scaled, bias, scaled_reached)
        return self.separator

    def _in_decimals(self, theta: np.ndarray, b: np.ndarray, at_most: float) -> tuple[np.ndarray, float, float]:
        """Return the bias, the margin reached and the upper bound for the decimals, from those for whole numbers.

        The bias is a float if the rounded one still separates the data.
        """
        assert self.unit is not None
        exact = times_unit(b, Fraction(1, self.unit))
        for b in (exact.astype(np.float64), exact):
            reached = self.checker.safe_margin(ExactWeights(theta, times_unit(b, self.unit)))
            if reached is not None:
                break
        assert reached is not None
        high = at_most / self.unit
        while Fraction(high) * self.unit < Fraction(at_most):
            high = math.nextafter(high, math.inf)
        return b, reached / self.unit, high  # safe_margin is reduced by more than this rounds

    # ---- proofs by weights of pairs

    def _upper_bound(self) -> tuple[Combination, float]:
        """Return pairs with weights that prove an upper bound of the margin, and the bound."""
        X, codes, _ = self.examples
        pairs, weights = None, None
        if self.closest is not None:
            pairs = self.closest.support
            weights = balanced(
                codes[pairs.rows].tolist(), pairs.rivals.tolist(), self.closest.weights, self.fit_intercept
            )
        if pairs is None or weights is None:  # the simplest bound: half the distance of two examples
            other = int(np.argmax(codes != codes[0]))
            pairs, weights = PairList(np.array([0, other]), codes[[other, 0]]), [1, 1]
        combination = self._combination(pairs, weights)
        total = sum_of_pairs(combination, X, codes, self.labels)
        assert total is not None
        return combination, root_up(total.squared_bound(sum(combination.integer_weights)))

    def _cancelling(self, pairs: PairList) -> Combination | None:
        """Return exact weights that make these pairs cancel, if they are unique, not negative, and there is time."""
        n_pairs, n_equations = len(pairs.rows), self._n_equations(self.examples.X[pairs.rows])
        if not self.clock.affords(n_equations * n_pairs * (CONVERSION_SECONDS + n_pairs * ELIMINATION_SECONDS)):
            return None
        a = null_weights(cancellation_equations(self.examples, self.fit_intercept, pairs).points.T)
        if a is None or (min(a) < 0 < max(a)):
            return None
        return self._combination(pairs, [abs(value) for value in a])

    def _n_equations(self, X: Any) -> int:
        """Return the number of equations for pairs of these rows to cancel."""
        return (len(used_columns(X)) + self.fit_intercept) * (self.K if self.K > 2 else 1)

    def _combination(self, pairs: PairList, weights: Sequence[int]) -> Combination:
        """Return the pairs with weight in order."""
        rows, rivals = (part.tolist() for part in pairs)
        used = (place for place, weight in enumerate(weights) if weight > 0)
        order, total = sorted(used, key=lambda place: (rows[place], rivals[place])), sum(weights)
        return Combination(
            tuple(rows[place] for place in order),
            tuple(self.labels[self.examples.codes[rows[place]]] for place in order),
            tuple(self.labels[rivals[place]] for place in order),
            tuple(Fraction(weights[place], total) for place in order),
        )


def _read_only(numbers: np.ndarray) -> np.ndarray:
    numbers = numbers.copy()
    numbers.flags.writeable = False
    return numbers
