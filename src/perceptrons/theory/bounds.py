"""The mistake bound: the largest number of updates that a perceptron can make; and a run that converges within it.

Write z for the example (x, 1), or x without an intercept, R for the norm of the longest z, u for any vector of norm 1,
and y u·z for the margin of an example. Every update adds y z to w, so after k updates

    w·u >= k gamma          if all margins are at least gamma > 0, and
    |w|^2 <= k R^2          because updates follow mistakes, y w·z <= 0.

As w·u <= |w|, k <= (R / gamma)^2 (Novikoff 1962). If some margins fall short of gamma, let D^2 be the sum of the
squares of these shortfalls; then k <= ((R + sqrt(epochs) D) / gamma)^2 (Freund and Schapire 1999), for any data.

For several classes, z = f(x, y) - f(x, r), u has a row per class and is centred over the classes, and the margin of an
example is its smallest lead over sqrt(2).

With any start w0, learning rate eta and required margin m, |w|^2 <= |w0|^2 + k (eta^2 R^2 + 2 eta m) and
w·u >= w0·u + eta (k gamma - sqrt(k epochs) D): k is at most the largest for which both can hold (`most_updates`). And
|w - rho u|^2 falls at every update for rho = eta R^2 / gamma (`falling_distance`). Every number is rounded to the safe
side. Weights with their bias are arrays (rows, D) here, one row for two classes, else one row per class.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.rows import add, dot
from perceptrons.engine.training.base import learner_of, seed_of
from perceptrons.engine.training.inputs import as_numbers, as_rows
from perceptrons.engine.training.learner import initial_weights
from perceptrons.engine.training.parameters import check_choices
from perceptrons.engine.training.schemes import n_rows
from perceptrons.engine.wording import count
from perceptrons.linear import Perceptron
from perceptrons.theory.certificate import Certificate
from perceptrons.theory.examples import Clock, Examples, augmented, check_examples
from perceptrons.theory.geometry import leads, norms, products
from perceptrons.theory.results import TheoryResult
from perceptrons.theory.separability import separability

MAX_EPOCHS = 10**15
MAX_RUN_EPOCHS = 2**31 - 1  # of `convergence`
MAX_TRACED_UPDATES = 10**13  # with more, float64 cannot hold the change of the distance at an update
MARGIN_GAP = 1e-4  # relative precision of the largest margin
EPS = float(np.finfo(np.float64).eps)
MAX_ROOT = 1e150  # of a bound: its square is still a float
MAX_DESCENT_STEPS = 200  # of L-BFGS, and
MAX_DESCENT_WORK = 2e6  # steps times weights
TIE_SOFTNESS = (0.1, 0.01)  # of ties between rivals, relative to margins of 1


class Comparator(NamedTuple):
    """A vector u of norm 1 with a margin gamma and the deviation D from it."""

    u: np.ndarray
    gamma: float
    D: float

    def root(self, R: float, epochs: int) -> float:
        """Return the square root of the bound."""
        return (R + math.sqrt(epochs) * self.D) / self.gamma

    def max_updates(self, R: float, epochs: int) -> int:
        """Return the bound without rounding, except that of sqrt(epochs), which is rounded up."""
        root = Fraction(math.nextafter(math.sqrt(epochs), math.inf))
        return math.floor(((Fraction(R) + root * Fraction(self.D)) / Fraction(self.gamma)) ** 2)


@dataclass(frozen=True, eq=False, repr=False)
class Bound(TheoryResult):
    """A mistake bound: at most `updates` updates from zero weights, k <= ((R + sqrt(epochs) D) / gamma)^2.

    Attributes
    ----------
    updates : int
    radius, margin, deviation : float
        R, gamma and D: the norm of the longest example, the margin required of u, and the amount by which examples fall
        short of it. D is 0 if none does.
    separable : True, False or None
        Whether the data are linearly separable. None: not known.
    epochs : int or None
        The number of passes over the data that the bound is for; None: any number.
    coef, intercept : array and float, or for several classes a row and a number each
        u, of norm 1 together (the intercept divided by `intercept_scaling`).
    n_samples : int
    intercept_scaling : float
        The value of the constant feature of the bias.
    """

    _shown = ("updates", "radius", "margin", "deviation", "separable", "epochs")

    updates: int
    radius: float
    margin: float
    deviation: float
    separable: bool | None
    epochs: int | None
    coef: np.ndarray
    intercept: Any
    n_samples: int
    intercept_scaling: float = 1.0

    @property
    def is_vain(self) -> bool:
        """Whether it is no smaller than the number of visits; margin and deviation then mean nothing."""
        return self.epochs is not None and self.updates >= self.epochs * self.n_samples

    def _shown_values(self) -> dict[str, Any]:
        values = super()._shown_values()
        return values | {"margin": None, "deviation": None} if self.is_vain else values

    def __repr__(self) -> str:
        return f"Bound({', '.join(f'{name}={value!r}' for name, value in self._shown_values().items())})"

    def explain(self) -> str:
        """Return the bound in words."""
        R, gamma, D = self.radius, self.margin, self.deviation
        if self.epochs is None:
            return (
                f"At most {self.updates:,} updates, whatever the order and however many epochs: (R / gamma)^2 with the "
                f"radius R = {R:.4g} and the margin gamma = {gamma:.4g}. Training ends with an epoch without mistakes."
            )
        epochs = count(self.epochs, "epoch")
        separable = {True: "", False: "The data are not linearly separable. ", None: ""}[self.separable]
        if self.is_vain:
            return (
                f"{separable}At most {self.epochs * self.n_samples:,} updates in {epochs}, one for every visit: no "
                f"margin and deviation give a smaller bound. The radius is R = {R:.4g}."
            )
        return (
            f"{separable}At most {self.updates:,} updates in {epochs}: ((R + sqrt(epochs) D) / gamma)^2 with the "
            f"radius R = {R:.4g}, the margin gamma = {gamma:.4g} and D = {D:.4g}, the amount by which examples "
            "fall short of that margin."
        )


def mistake_bound(
    X: Any,
    y: Any,
    *,
    coef: Any = None,
    intercept: Any = 0.0,
    margin: float | None = None,
    epochs: int = 1,
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    max_seconds: float | None = None,
) -> Bound:
    """Return the largest number of updates that a perceptron can make on these data, in any order.

    Separable: k <= (R / gamma)^2, whatever the epochs (Novikoff). Not separable: k <= ((R + sqrt(epochs) D) / gamma)^2
    for any unit vector u and gamma, D^2 = sum of max(0, gamma - y u·x)^2 (Freund and Schapire); every epoch meets the
    examples again. With an intercept the examples are (x, 1), and margins are those of the vector (w, b); another
    `intercept_scaling` takes the place of the 1. Several classes: the margin of an example is its smallest lead over
    sqrt(2) |theta|, and D takes the worst rival.

    Use it to know before training how long it can take, and which data make it long (an outlier, a small margin). It
    does not predict the number of updates, which is usually far smaller. Scale features first, because the bound
    depends on their units.

    Parameters
    ----------
    X, y : as in `Perceptron.fit`; dense or sparse, one label per example
    coef, intercept : arrays, optional
        The direction u to compare with, in the shape of `coef_` and `intercept_`. By default, the best one is computed:
        that of the largest margin for separable data, else the u and gamma with the smallest bound.
    margin : float, optional
        gamma, for a given coef. By default, the margin of coef if it separates the data, else the best.
    epochs : int, default=1
        The number of passes over the data, which matters if D > 0.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        The value of the constant feature whose weight is the bias; Rosenblatt's rule uses 1.
    max_seconds : float, optional
        The time limit; the best bound found until then is returned, which is also valid.

    Returns
    -------
    Bound

    Examples
    --------
    >>> from perceptrons.theory import mistake_bound
    >>> bound = mistake_bound([[0.0, 2.0], [0.0, -2.0], [1.0, 2.0]], ["up", "down", "up"], fit_intercept=False)
    >>> bound.updates, round(bound.margin, 3), round(bound.radius, 3)
    (1, 2.0, 2.236)
    >>> xor = mistake_bound([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], epochs=5)
    >>> xor.separable, xor.updates
    (False, 20)
    """
    if not isinstance(epochs, Integral) or isinstance(epochs, bool) or not 1 <= epochs <= MAX_EPOCHS:
        raise ValueError(f"epochs={epochs!r}: give a whole number of at least 1 and at most {MAX_EPOCHS:,}.")
    clock = Clock(max_seconds)
    if margin is not None and (coef is None or not isinstance(margin, Real) or not 0 < margin < math.inf):
        raise ValueError(
            f"margin={margin!r}: " + ("it is computed from coef." if coef is None else "give a positive number.")
        )
    if not isinstance(intercept_scaling, Real) or not 0 < intercept_scaling < math.inf:
        raise ValueError(f"intercept_scaling={intercept_scaling!r}: give a positive number.")
    epochs, constant = int(epochs), float(intercept_scaling) if fit_intercept else 0.0
    examples = check_examples(X, y)
    with_constant = augmented(examples, constant)
    R = safe_radius(with_constant.X)
    separable: bool | None
    if coef is not None:
        u = _given_direction(examples, coef, intercept, constant)
        margins = safe_margins(with_constant, u)
        smallest = float(margins.min())
        separable = smallest > 0 or None
        gamma = float(margin) if margin is not None else smallest if smallest > 0 else _best_gamma(margins, R, epochs)
        best = Comparator(u, gamma, _deviation(margins, gamma))
    else:
        certificate = separability(with_constant.X, examples.codes, max_seconds, fit_intercept=False, gap=MARGIN_GAP)
        separable = certificate.separable
        if certificate.margin is not None and certificate.margin.reached > 0:
            best = Comparator(unit(np.atleast_2d(certificate.coef)), certificate.margin.reached, 0.0)
        else:
            best = _best_comparator(with_constant, R, epochs, clock)
            separable = True if best.D == 0 else separable
    d, several = examples.X.shape[1], len(best.u) > 1
    coef, bias = best.u[:, :d], constant * best.u[:, d:].sum(axis=1)  # 0 without a constant feature
    return Bound(
        updates=best.max_updates(R, epochs),
        radius=R,
        margin=best.gamma,
        deviation=best.D,
        separable=separable,
        epochs=None if best.D == 0 else epochs,
        coef=coef if several else coef[0],
        intercept=bias if several else float(bias[0]),
        n_samples=examples.X.shape[0],
        intercept_scaling=constant or 1.0,
    )


def join_bias(w: np.ndarray, b: np.ndarray, constant: float) -> np.ndarray:
    """Return the rows of weights with that of the constant feature, b / constant, as the last column."""
    return np.hstack([w, b[:, None] / constant]).astype(np.float64)


def _direction(bound: Bound) -> np.ndarray:
    """Return u."""
    return join_bias(np.atleast_2d(bound.coef), np.atleast_1d(bound.intercept), bound.intercept_scaling)


def falling_distance(bound: Bound, eta0: float) -> tuple[np.ndarray, float]:
    """Return w* and the rho for which |w_k - rho w*|^2 falls at every update: eta0 R^2 / gamma."""
    solution = _direction(bound)
    factor = math.sqrt(2) if len(solution) > 1 else 1.0
    return solution, float(eta0) * bound.radius**2 / bound.margin * factor


def most_updates(bound: Bound, start: np.ndarray, eta: float, margin: float) -> int:
    """Return the bound for any start w0 (with its bias), learning rate eta and required margin m.

    Everything is divided by eta, and for several classes, where R, gamma and D are sqrt(2) times as long, by sqrt(2).
    With q = sqrt(k) and any b above it

        gamma q^2 - sqrt(epochs) D q + w0·u <= |(w0, c b)|,    c^2 = R^2 + 2 m / eta

    and the larger root q of the equation is a better b. So every b is a valid bound, and they decrease to the largest
    root.
    """
    several = len(start) > 1
    w = (start - start.mean(axis=0)) / math.sqrt(2) if several else start
    if margin == 0 and not w.any():
        return bound.updates
    w = w / eta
    length = float(np.linalg.norm(w)) * (1 + (w.size + 8) * EPS)
    along = float(np.sum(w * _direction(bound))) - 2 * (w.size + 8) * EPS * length
    c = math.sqrt(bound.radius**2 + (1 if several else 2) * margin / eta)
    gamma, slope = bound.margin, math.sqrt(bound.epochs or 0) * bound.deviation
    b = (slope + c + math.sqrt((slope + c) ** 2 + 8 * gamma * length)) / (2 * gamma)  # with |(w0, c b)| <= |w0| + c b
    for _ in range(1000):
        above = math.hypot(length, c * b) - along
        root = (slope + math.sqrt(slope**2 + 4 * gamma * max(0.0, above))) / (2 * gamma)
        if root >= b * (1 - 1e-13):
            break
        b = root
    if not b < MAX_ROOT:
        raise ValueError(
            "The bound is too large for a float: the scales of the start, the step and the data differ too much."
        )
    return math.floor((b * (1 + 1e-12)) ** 2)


def safe_radius(Z: Any) -> float:
    """Return R, rounded up."""
    return float(norms(Z).max()) * (1 + (Z.shape[1] + 8) * EPS)


def unit(v: np.ndarray) -> np.ndarray:
    """Return rows of weights divided by their norm; for several classes they are centred first."""
    v = np.asarray(v, np.float64)
    v = v / np.abs(v).max()
    v = v - v.mean(axis=0) if len(v) > 1 else v
    return v / np.linalg.norm(v)


def safe_margins(examples: Examples, u: np.ndarray) -> np.ndarray:
    """Return the margin of every example for a unit u, rounded down.

    A computed y u·z is off by at most D eps |u| |z|, and |u| is 1 to within D eps.
    """
    Z = examples.X
    return _margins(examples, products(Z, u))[0] - 2 * (Z.shape[1] + 8) * EPS * norms(Z)


def _deviation(margins: np.ndarray, gamma: float) -> float:
    """Return D, rounded up, from margins rounded down."""
    short = np.maximum(0.0, gamma - margins)
    top = float(short.max())
    return top * math.sqrt(float(((short / top) ** 2).sum())) * (1 + (len(margins) + 8) * EPS) if top else 0.0


def _given_direction(examples: Examples, coef: Any, intercept: Any, constant: float) -> np.ndarray:
    """Return the user's u with norm 1, bias included."""
    K, d = len(examples.classes), examples.X.shape[1]
    shape = (1, d) if K == 2 else (K, d)
    w, b = as_numbers(coef, "coef"), as_numbers(intercept, "intercept")
    if w.size != shape[0] * d or w.shape not in (shape, shape[-w.ndim :]):
        raise ValueError(f"coef has shape {w.shape}, but these data need {shape if K > 2 else (d,)}.")
    if b.size not in (1, shape[0]):
        raise ValueError(f"intercept has shape {b.shape}, but these data need {shape[:1] if K > 2 else 'one number'}.")
    b = np.broadcast_to(b.ravel(), shape[0])
    if not (np.isfinite(w).all() and np.isfinite(b).all()):
        raise ValueError("coef or intercept contains NaN or infinity.")
    if b.any() and not constant:
        raise ValueError("fit_intercept=False means an intercept of 0, but intercept is not 0: leave one of them out.")
    u = np.hstack([w.reshape(shape), b[:, None] / constant]) if constant else w.reshape(shape)
    if (u == (u[0] if K > 2 else 0)).all():
        raise ValueError(f"coef and intercept are all zero{' or equal' * (K > 2)}: they do not define a hyperplane.")
    return unit(u)


def _best_gamma(margins: np.ndarray, R: float, epochs: int) -> float:
    """Return the gamma with the smallest bound for given margins.

    R t + sqrt(epochs) |max(0, 1 - t margins)| is convex in t = 1/gamma. At t = 0 it says that every visit may be an
    update, n per epoch. If nothing is better, a tiny t says the same.
    """
    from scipy.optimize import minimize_scalar  # here and below: it takes long to import

    all_visits = math.sqrt(epochs * len(margins))
    if R == 0:
        return 1.0

    def value(t: float) -> float:
        return R * t + math.sqrt(epochs) * float(np.linalg.norm(np.maximum(0.0, 1 - t * margins)))

    limit = all_visits / R  # above it, R t alone is larger
    options = {"xatol": 1e-9 * limit, "maxiter": 200}
    t = float(minimize_scalar(value, bounds=(0.0, limit), method="bounded", options=options).x)
    return 1 / t if t > 0 and value(t) < all_visits else R * all_visits * 1e4


def _best_comparator(examples: Examples, R: float, epochs: int, clock: Clock) -> Comparator:
    """Return u and gamma for data that nothing separates: v = u/gamma minimizes R |v| + sqrt(epochs) |hinge(v)|_2.

    The function is convex. It is smooth except at v = 0 and, for several classes, where rivals tie; ties are softened,
    less and less. L-BFGS works in coordinates that give all features one scale. Every v gives a valid bound, so
    nothing depends on how near the minimum it comes.
    """

    def comparator(v: np.ndarray) -> Comparator:
        centred = v if len(v) == 1 else v - v.mean(axis=0)
        if not (centred.any() and np.isfinite(centred).all()):  # no direction: any other will do
            v = np.zeros_like(v, np.float64)
            v.flat[0] = 1.0
        u = unit(v)
        margins = safe_margins(examples, u)
        gammas = [gamma for gamma in (_best_gamma(margins, R, epochs), float(margins.min())) if gamma > 0]
        return best_of(Comparator(u, gamma, _deviation(margins, gamma)) for gamma in gammas)

    def best_of(comparators: Iterable[Comparator]) -> Comparator:
        return min(comparators, key=lambda comparator: comparator.root(R, epochs))

    # a few epochs of the averaged perceptron, because a descent from a tie of all rivals makes no progress
    model = Perceptron(margin=0, fit_intercept=False, max_iter=10, tol=None, max_seconds=clock.seconds_left)
    learned = model.fit(examples.X, examples.codes).coef_.astype(np.float64)
    best = best_of([comparator(_gradient(examples, np.ones(examples.X.shape[0]), None)), comparator(learned)])
    for softness in (0.0,) if len(examples.classes) == 2 else TIE_SOFTNESS:
        if clock.is_over:
            break
        v = _descend(examples, best.u / best.gamma, R, epochs, softness, clock)
        best = best_of([best, comparator(v)])
    return best


def _descend(examples: Examples, start: np.ndarray, R: float, epochs: int, softness: float, clock: Clock) -> np.ndarray:
    """Minimize R |v| + sqrt(epochs) |hinge(v)|_2 from v = start."""
    from scipy.optimize import minimize

    Z, root = examples.X, math.sqrt(epochs)
    squares = Z.multiply(Z).sum(axis=0) if sp.issparse(Z) else np.einsum("ij,ij->j", Z, Z, dtype=np.float64)
    rms = np.sqrt(np.asarray(squares, np.float64).ravel() / Z.shape[0])
    scale = 1 / np.where(rms > 0, rms, 1.0)

    def value_and_gradient(p: np.ndarray) -> tuple[float, np.ndarray]:
        v = p.reshape(start.shape) * scale
        margins, shares = _margins(examples, np.asarray(Z @ v.T.astype(Z.dtype), np.float64), softness)
        hinge = np.maximum(0.0, 1 - margins)
        norm, hinge_norm = float(np.linalg.norm(v)) or 1.0, float(np.linalg.norm(hinge)) or 1.0
        gradient = R / norm * v - root * _gradient(examples, hinge / hinge_norm, shares)
        return R * norm + root * hinge_norm, (gradient * scale).ravel()

    def stop_in_time(_: np.ndarray) -> None:
        if clock.is_over:
            raise StopIteration

    steps = int(max(20, min(MAX_DESCENT_STEPS, MAX_DESCENT_WORK / start.size)))
    memory = 10 if steps == MAX_DESCENT_STEPS else 4
    options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": memory, "ftol": 1e-7, "gtol": 0.0}
    first = (start / scale).ravel()
    last = minimize(value_and_gradient, first, jac=True, method="L-BFGS-B", callback=stop_in_time, options=options).x
    return last.reshape(start.shape) * scale


def _margins(examples: Examples, s: np.ndarray, softness: float = 0.0) -> tuple[np.ndarray, np.ndarray | None]:
    """Return y s for two classes, else the smallest lead over sqrt(2), and the share of each rival in it.

    softness > 0 replaces the best rival's score by softness * log sum exp(scores / softness).
    """
    if s.shape[1] == 1 or softness == 0:
        lead = leads(s, examples.codes)[0]
        return (lead if s.shape[1] == 1 else lead / math.sqrt(2)), None
    every = np.arange(len(s))
    true_scores = s[every, examples.codes]
    s[every, examples.codes] = -np.inf
    top = s.max(axis=1)
    shares = np.exp((s - top[:, None]) / softness)
    total = shares.sum(axis=1)
    return (true_scores - top - softness * np.log(total)) / math.sqrt(2), shares / total[:, None]


def _gradient(examples: Examples, h: np.ndarray, shares: np.ndarray | None) -> np.ndarray:
    """Return the sum of h y z; for several classes, of h (f(z, y) - f(z, r)) over sqrt(2), by the shares of rivals.

    None: all rivals have the same share.
    """
    Z, K = examples.X, len(examples.classes)
    if K == 2:
        return np.asarray(Z.T @ (examples.signs * h).astype(Z.dtype), np.float64)[None]
    c = -h[:, None] * (shares if shares is not None else np.full((1, K), 1 / (K - 1)))
    c[np.arange(Z.shape[0]), examples.codes] = h
    return np.asarray(Z.T @ (c / math.sqrt(2)).astype(Z.dtype), np.float64).T


# ---- the run


@dataclass(frozen=True, eq=False)
class Convergence(TheoryResult):
    """The result of `convergence`.

    Attributes
    ----------
    converges : True, False or None
        Whether the data are linearly separable. None: not decided within the time limit.
    at_most : int or None
        The largest possible number of updates from this start and with this learning rate, in any order.
    updates, epochs : int or None
        The updates and epochs of the run, including the last epoch without a mistake; None if it was not run, or did
        not finish in time.
    rho : float or None
        The scale of the solution for which |w_k - rho w*|^2 falls at every update: eta0 R^2 / gamma.
    solution : tuple of coef and intercept, or None
        w*, of norm 1 together: that of the largest margin.
    trace : array of shape (updates + 1,) or None
        |w_k - rho w*|^2 for k = 0, 1, ..., bias included. Not given for margins so small (`at_most` above 10^13) that
        its steps would be lost in rounding.
    certificate : Certificate
        The proof that the data are separable, or that they are not.
    """

    _shown = ("converges", "at_most", "updates", "epochs")

    converges: bool | None
    at_most: int | None
    updates: int | None
    epochs: int | None
    rho: float | None
    solution: tuple[Any, Any] | None
    trace: np.ndarray | None
    certificate: Certificate

    def explain(self) -> str:
        """Return the result in words."""
        if self.converges is None:
            return f"It is not known whether the perceptron converges. {self.certificate.explain()}"
        if not self.converges:
            return f"The perceptron never converges: it makes mistakes in every epoch. {self.certificate.explain()}"
        text = f"The perceptron converges after at most {self.at_most:,} updates from this start, in any order"
        if self.updates is None:
            return f"{text}. The run did not finish within the time limit."
        text += f"; in this order it took {self.updates:,}, in {self.epochs:,} epochs"
        if self.trace is None:
            return f"{text}."
        return f"{text}, and |w - rho w*|^2 fell from {self.trace[0]:.4g} to {self.trace[-1]:.4g}."


def convergence(
    X: Any,
    y: Any,
    *,
    init: Any = "zeros",
    eta0: float = 1.0,
    fit_intercept: bool = True,
    shuffle: bool = False,
    random_state: Any = 0,
    trace: bool = False,
    max_seconds: float | None = None,
) -> Convergence:
    """Decide whether the perceptron converges on these data, bound its updates, and run it until it converges.

    The run uses Rosenblatt's rule, `Perceptron(combine="last", margin=0, intercept_scaling=1)`, until an epoch
    makes no mistake. It converges because |w - rho w*|^2 falls by at least eta0^2 R^2 at every update, for a suitable
    rho and a solution w*. R is the length of the longest example, for several classes that of f(x, y) - f(x, r), which
    is sqrt(2) times as long.

    Use it to see the convergence theorem at work, and how the start, the learning rate and the order matter. To train,
    use `Perceptron.fit`. On data with a very small margin, give `max_seconds`, because the run may be as long as the
    bound.

    Parameters
    ----------
    X, y : as in `Perceptron.fit`; dense or sparse, one label per example
    init : {"zeros", "ones", "random"} or tuple of coef and intercept, default="zeros"
        The start.
    eta0 : float, default=1.0
    fit_intercept : bool, default=True
    shuffle : bool, default=False
        Whether to use a new random order in every epoch, by `random_state`; otherwise the order of X.
    random_state : int, RandomState or None, default=0
    trace : bool, default=False
        Whether to keep the trace. It needs 80 bytes per update, and a copy of the examples that made one.
    max_seconds : float, optional
        The time limit for everything; what is not decided or finished by then is None.

    Returns
    -------
    Convergence

    Examples
    --------
    >>> from perceptrons.theory import convergence
    >>> result = convergence([[0.0, 2.0], [0.0, -2.0], [1.0, 2.0]], [1, 0, 1], init=([0.0, -1.0], 0.0), trace=True)
    >>> result.converges, result.at_most, result.updates, result.epochs
    (True, 2, 1, 2)
    >>> bool((result.trace[1:] < result.trace[:-1]).all())
    True
    """
    clock = Clock(max_seconds)
    examples = check_examples(X, y)
    init_name: Any = init if isinstance(init, str) else "zeros"
    init_weights = (None, None) if isinstance(init, str) else _check_init(init, len(examples.classes))
    model = Perceptron.rosenblatt(
        combine="vote" if trace else "last",
        init=init_name,
        eta0=eta0,
        fit_intercept=fit_intercept,
        shuffle=shuffle,
        random_state=random_state,
        tol=None,
        max_seconds=clock.seconds,
    )
    check_choices(model)
    model.random_state = seed_of(model)
    start = starting_weights(model, examples, examples.X.dtype, model.random_state, 1.0, *init_weights)
    labels = examples.classes[examples.codes]
    certificate = separability(examples.X, labels, max_seconds, fit_intercept=bool(fit_intercept))
    nothing_known = Convergence(certificate.separable, None, None, None, None, None, None, certificate)
    if not certificate.separable:
        return nothing_known
    bound = mistake_bound(examples.X, examples.codes, fit_intercept=bool(fit_intercept), max_seconds=clock.seconds_left)
    if bound.deviation > 0:  # the time was up before the margin was known
        return nothing_known
    at_most = most_updates(bound, start, float(eta0), 0.0)
    solution, rho = falling_distance(bound, eta0)
    model.set_params(max_iter=min(MAX_RUN_EPOCHS, at_most + 1), max_seconds=clock.seconds_left)
    model.fit(examples.X, examples.codes, *init_weights)
    finished = model.converged_
    return Convergence(
        converges=True,
        at_most=at_most,
        updates=int(model.n_updates_) if finished else None,
        epochs=model.n_iter_ if finished else None,
        rho=rho,
        solution=(bound.coef, bound.intercept),
        trace=_trace(model, examples, start - rho * solution) if trace and at_most < MAX_TRACED_UPDATES else None,
        certificate=certificate,
    )


def _trace(model: Perceptron, examples: Examples, v: np.ndarray) -> np.ndarray:
    """Return |v_k|^2 after every update of the log, in float64, from v = w_0 - rho w*, which changes.

    An update v += step a, with a = y x or f(x, y) - f(x, y_hat), adds step (2 a·v + step |a|^2).
    """
    votes, several = learner_of(model).votes, len(v) > 1
    assert votes is not None  # combine="vote"
    matrix = votes.matrix(examples.X.shape[1])
    support = augmented(examples._replace(X=matrix), float(model.fit_intercept)).X.astype(np.float64)
    rows, squares = as_rows(support), norms(support) ** 2
    v = v[..., : support.shape[1]]  # without intercept there is no bias to follow
    distances = [float(np.sum(v * v))]
    for _, i, y, y_hat, step in votes.log:
        x, distance = int(i), distances[-1]
        for part, change in ((v[int(y)], step), (v[int(y_hat)], -step)) if several else ((v[0], step if y else -step),):
            distance += change * (2 * float(dot(rows, x, part)) + change * squares[x])
            add(rows, x, change, part)
        distances.append(distance)
    return np.array(distances)


def _check_init(init: Any, K: int) -> tuple[Any, Any]:
    if not (isinstance(init, tuple | list) and len(init) == 2):
        raise ValueError(f"init={init!r}: give 'zeros', 'ones', 'random', or a tuple of coef and intercept.")
    return init[0], np.full(K, init[1]) if K > 2 and np.ndim(init[1]) == 0 else init[1]


def starting_weights(
    model: Perceptron, examples: Examples, dtype: Any, seed: int, constant: float, coef: Any = None, bias: Any = None
) -> np.ndarray:
    """Return the initial weights of `model.fit` on these examples, made by `join_bias`."""
    if not model.fit_intercept and bias is not None and np.any(bias):
        raise ValueError("fit_intercept=False means an intercept of 0, but the one to start from is not 0: drop one.")
    shape = n_rows("joint", len(examples.classes)), examples.X.shape[1]
    return join_bias(*initial_weights(model, shape, dtype, seed, coef, bias), constant)
