"""Computes the mistake bound: how many updates a perceptron can make (Novikoff 1962).

Every number is rounded to the safe side. Inside, examples are z = (x, 1), or x without intercept, and u has norm 1,
bias included. Several classes: u is (K, D), centred over the classes, and the margin of an example is its smallest lead
over sqrt(2).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize, minimize_scalar

from perceptrons.engine.training.inputs import as_numbers
from perceptrons.linear import Perceptron
from perceptrons.theory.examples import Clock, Examples, augmented, check_examples
from perceptrons.theory.geometry import norms, products
from perceptrons.theory.results import TheoryResult
from perceptrons.theory.separability import separability

MOST_EPOCHS = 10**15
GAP = 1e-4  # of the largest margin, where it is sought
EPS = float(np.finfo(np.float64).eps)
STEPS, WORK = 200, 2e6  # of L-BFGS: steps, and steps times weights; more is not worth its time
ROUNDNESS = 0.1, 0.01  # where rivals tie, beside margins of 1


class Comparator(NamedTuple):
    """u with a margin gamma and the deviation D from it: k <= ((R + sqrt(epochs) D) / gamma)^2."""

    u: np.ndarray
    gamma: float
    D: float


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
        """Is it no smaller than the number of visits? Then margin and deviation mean nothing, and are not shown."""
        return self.epochs is not None and self.updates >= self.epochs * self.n_samples

    def _shown_values(self) -> dict[str, Any]:
        values = super()._shown_values()
        return values | {"margin": None, "deviation": None} if self.is_vain else values

    def __repr__(self) -> str:
        return f"Bound({', '.join(f'{name}={value!r}' for name, value in self._shown_values().items())})"

    def explain(self) -> str:
        """The bound in words."""
        R, gamma, D = self.radius, self.margin, self.deviation
        if self.epochs is None:
            return (
                f"At most {self.updates:,} updates, whatever the order and however many epochs: (R / gamma)^2 with the "
                f"radius R = {R:.4g} and the margin gamma = {gamma:.4g}. Training ends with an epoch without mistakes."
            )
        passes = f"{self.epochs:,} epoch" + "s" * (self.epochs > 1)
        known = {True: "", False: "The data are not linearly separable. ", None: ""}[self.separable]
        if self.is_vain:
            return (
                f"{known}At most {self.epochs * self.n_samples:,} updates in {passes}, one for every visit: no "
                f"margin and deviation give a smaller bound. The radius is R = {R:.4g}."
            )
        return (
            f"{known}At most {self.updates:,} updates in {passes}: ((R + sqrt(epochs) D) / gamma)^2 with the radius "
            f"R = {R:.4g}, the margin gamma = {gamma:.4g} and D = {D:.4g}, the amount by which examples fall short "
            "of that margin."
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
    if not isinstance(epochs, Integral) or isinstance(epochs, bool) or not 1 <= epochs <= MOST_EPOCHS:
        raise ValueError(f"epochs={epochs!r}: give a whole number of at least 1 and at most {MOST_EPOCHS:,}.")
    clock = Clock(max_seconds)
    if margin is not None and (coef is None or not isinstance(margin, Real) or not 0 < margin < math.inf):
        raise ValueError(
            f"margin={margin!r}: " + ("it is computed from coef." if coef is None else "give a positive number.")
        )
    if not isinstance(intercept_scaling, Real) or not 0 < intercept_scaling < math.inf:
        raise ValueError(f"intercept_scaling={intercept_scaling!r}: give a positive number.")
    plain, epochs, constant = check_examples(X, y), int(epochs), float(intercept_scaling) if fit_intercept else 0.0
    examples = augmented(plain, constant)
    R = safe_radius(examples.X)
    separable: bool | None
    if coef is not None:
        u = given_direction(plain, coef, intercept, constant)
        separable, best = of_direction(examples, u, margin, R, epochs)
    else:
        certificate = separability(examples.X, plain.codes, max_seconds, fit_intercept=False, gap=GAP)
        separable = certificate.separable
        if certificate.margin is not None and certificate.margin.reached > 0:
            best = Comparator(unit(certificate.coef), certificate.margin.reached, 0.0)
        else:
            best = best_comparator(examples, R, epochs, clock)
            separable = True if best.D == 0 else separable
    return Bound(
        updates=_updates(R, best, epochs),
        radius=R,
        margin=best.gamma,
        deviation=best.D,
        separable=separable,
        epochs=None if best.D == 0 else epochs,
        n_samples=plain.X.shape[0],
        intercept_scaling=constant or 1.0,
        **_parts(best.u, constant),
    )


def _updates(R: float, best: Comparator, epochs: int) -> int:
    """((R + sqrt(epochs) D) / gamma)^2 of these very numbers, without rounding but of the root, which is rounded up."""
    root = Fraction(math.nextafter(math.sqrt(epochs), math.inf))
    return math.floor(((Fraction(R) + root * Fraction(best.D)) / Fraction(best.gamma)) ** 2)


def _parts(u: np.ndarray, constant: float) -> dict[str, Any]:
    """u as coef and intercept."""
    if not constant:
        return {"coef": u, "intercept": 0.0 if u.ndim == 1 else np.zeros(len(u))}
    return {"coef": u[..., :-1], "intercept": constant * (float(u[-1]) if u.ndim == 1 else u[:, -1])}


def safe_radius(Z: Any) -> float:
    """R, rounded up."""
    return float(norms(Z).max()) * (1 + (Z.shape[1] + 8) * EPS)


def unit(v: np.ndarray) -> np.ndarray:
    """v over its norm, for several classes centred first."""
    v = np.asarray(v, np.float64)
    v = v / np.abs(v).max()
    v = v - v.mean(axis=0) if v.ndim == 2 else v
    return v / np.linalg.norm(v)


def safe_margins(examples: Examples, u: np.ndarray) -> np.ndarray:
    """The margin of every example for a unit u, rounded down.

    A computed y u·z is off by at most D eps |u| |z|, and |u| is 1 to within D eps.
    """
    Z = examples.X
    return _margins(examples, products(Z, u))[0] - 2 * (Z.shape[1] + 8) * EPS * norms(Z)


def deviation(m: np.ndarray, gamma: float) -> float:
    """D with D^2 = sum of max(0, gamma - y u·z)^2, rounded up, from margins rounded down."""
    short = np.maximum(0.0, gamma - m)
    top = float(short.max())
    return top * math.sqrt(float(((short / top) ** 2).sum())) * (1 + (len(m) + 8) * EPS) if top else 0.0


def best_gamma(m: np.ndarray, R: float, epochs: int) -> float:
    """The gamma with the smallest bound for given margins m.

    R t + sqrt(epochs) |max(0, 1 - t m)| is convex in t = 1/gamma. At t = 0 it says that every visit may be an update, n
    of them an epoch; where nothing is better a tiny t says the same.
    """
    everything = math.sqrt(epochs * len(m))
    if R == 0:
        return 1.0

    def value(t: float) -> float:
        return R * t + math.sqrt(epochs) * float(np.linalg.norm(np.maximum(0.0, 1 - t * m)))

    most = everything / R  # R t alone is more from here on
    found = minimize_scalar(value, bounds=(0.0, most), method="bounded", options={"xatol": 1e-9 * most, "maxiter": 200})
    t = float(found.x)
    return 1 / t if t > 0 and value(t) < everything else R * everything * 1e4


def of_direction(
    examples: Examples, u: np.ndarray, margin: float | None, R: float, epochs: int
) -> tuple[bool | None, Comparator]:
    """Does u separate the examples (None: no)? And it with gamma = margin or, unless given, its own or the best."""
    m = safe_margins(examples, u)
    smallest = float(m.min())
    gamma = float(margin) if margin is not None else smallest if smallest > 0 else best_gamma(m, R, epochs)
    return smallest > 0 or None, Comparator(u, gamma, deviation(m, gamma))


def given_direction(examples: Examples, coef: Any, intercept: Any, constant: float) -> np.ndarray:
    """The user's u, of norm 1, bias included."""
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
    return unit(u[0] if K == 2 else u)


def best_comparator(examples: Examples, R: float, epochs: int, clock: Clock) -> Comparator:
    """For data that nothing separates: u and gamma that make R |v| + sqrt(epochs) |hinge(v)|_2 smallest, v = u/gamma.

    Convex, and smooth but at v = 0 and, for several classes, where rivals tie, which is smoothed out, less and less.
    L-BFGS, in coordinates that give all features one scale. Any v gives a bound that holds, so nothing depends on how
    near it comes.
    """
    starts = [
        unit_or_first(v) for v in (_pull(examples, np.ones(examples.X.shape[0]), None), _learned(examples, clock))
    ]
    found = min((_sized(examples, u, R, epochs) for u in starts), key=lambda c: _root(c, R, epochs))
    for T in (0.0,) if len(examples.classes) == 2 else ROUNDNESS:
        if clock.is_over:
            break
        v = _descend(examples, found.u / found.gamma, R, epochs, T, clock)
        found = min(found, _sized(examples, unit_or_first(v), R, epochs), key=lambda c: _root(c, R, epochs))
    return found


def _root(c: Comparator, R: float, epochs: int) -> float:
    """The root of the bound."""
    return (R + math.sqrt(epochs) * c.D) / c.gamma


def _sized(examples: Examples, u: np.ndarray, R: float, epochs: int) -> Comparator:
    """u with the gamma of the smallest bound; where u separates the examples, that may be its margin."""
    m = safe_margins(examples, u)
    sizes = [gamma for gamma in (best_gamma(m, R, epochs), float(m.min())) if gamma > 0]
    return min((Comparator(u, gamma, deviation(m, gamma)) for gamma in sizes), key=lambda c: _root(c, R, epochs))


def _learned(examples: Examples, clock: Clock) -> np.ndarray:
    """A few epochs of the averaged perceptron: where rivals tie, descent needs a start beyond them."""
    model = Perceptron(margin=0, fit_intercept=False, max_iter=10, tol=None, max_seconds=clock.left).fit(
        examples.X, examples.codes
    )
    return np.asarray(model.coef_[0] if len(model.coef_) == 1 else model.coef_, np.float64)


def _descend(examples: Examples, start: np.ndarray, R: float, epochs: int, T: float, clock: Clock) -> np.ndarray:
    """From v = start downhill on R |v| + sqrt(epochs) |hinge(v)|_2; rivals within about T of each other share."""
    Z, root, scale = examples.X, math.sqrt(epochs), _scales(examples.X)

    def value(p: np.ndarray) -> tuple[float, np.ndarray]:
        v = p.reshape(start.shape) * scale
        m, rivals = _margins(examples, np.asarray(Z @ v.T.astype(Z.dtype), np.float64), T)
        h = np.maximum(0.0, 1 - m)
        N, H = float(np.linalg.norm(v)) or 1.0, float(np.linalg.norm(h)) or 1.0
        slope = R / N * v - root * _pull(examples, h / H, rivals)
        return R * N + root * H, (slope * scale).ravel()

    def out_of_time(_: np.ndarray) -> None:
        if clock.is_over:
            raise StopIteration

    steps = int(max(20, min(STEPS, WORK / start.size)))
    options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 10 if steps == STEPS else 4, "ftol": 1e-7, "gtol": 0.0}
    first = (start / scale).ravel()
    last = minimize(value, first, jac=True, method="L-BFGS-B", callback=out_of_time, options=options).x
    return last.reshape(start.shape) * scale


def unit_or_first(v: np.ndarray) -> np.ndarray:
    """v as a unit vector; where v is 0 any will do."""
    flat = v if v.ndim == 1 else v - v.mean(axis=0)
    if flat.any() and np.isfinite(flat).all():
        return unit(v)
    v = np.zeros_like(v, np.float64)
    v.flat[0] = 1.0
    return unit(v)


def _scales(Z: Any) -> np.ndarray:
    """One over the root mean square of each feature; 1 for a feature that is always 0."""
    squares = Z.multiply(Z).sum(axis=0) if sp.issparse(Z) else np.einsum("ij,ij->j", Z, Z, dtype=np.float64)
    mean = np.sqrt(np.asarray(squares, np.float64).ravel() / Z.shape[0])
    return 1 / np.where(mean > 0, mean, 1.0)


def _margins(examples: Examples, s: np.ndarray, T: float = 0.0) -> tuple[np.ndarray, np.ndarray | None]:
    """y s; or the smallest lead over sqrt(2) and the share of each rival in it.  T > 0: softened by T log sum exp."""
    if s.ndim == 1:
        return examples.signs * s, None
    every = np.arange(len(s))
    own = s[every, examples.codes]
    s[every, examples.codes] = -np.inf
    top = s.max(axis=1)
    if T == 0:
        return (own - top) / math.sqrt(2), None
    shares = np.exp((s - top[:, None]) / T)
    total = shares.sum(axis=1)
    return (own - top - T * np.log(total)) / math.sqrt(2), shares / total[:, None]


def _pull(examples: Examples, h: np.ndarray, rivals: np.ndarray | None) -> np.ndarray:
    """The sum of h (f(z, y) - f(z, r)) over the rivals r by their shares, over sqrt(2).  None: rivals share alike.

    Two classes: the sum of h y z.
    """
    Z, K = examples.X, len(examples.classes)
    if K == 2:
        return np.asarray(Z.T @ (examples.signs * h).astype(Z.dtype), np.float64)
    c = -h[:, None] * (rivals if rivals is not None else np.full((1, K), 1 / (K - 1)))
    c[np.arange(Z.shape[0]), examples.codes] = h
    return np.asarray(Z.T @ (c / math.sqrt(2)).astype(Z.dtype), np.float64).T
