"""How many updates a perceptron can make, and whether a fitted one kept to it (spec 9; Novikoff 1962).

The vector u that a bound compares with is found in `comparator.py`. Every number is rounded to the safe side.
"""

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from perceptrons.linear import Perceptron
from perceptrons.theory.comparator import (
    Comparator,
    augmented,
    best_comparator,
    given_direction,
    of_direction,
    safe_radius,
    unit,
)
from perceptrons.theory.inputs import Clock, check_examples, check_features
from perceptrons.theory.separability import separability
from perceptrons.theory.shown import InWords
from perceptrons.theory.starts import covered_start, most_updates

MOST_EPOCHS = 10**15
GAP = 1e-4  # of the largest margin, where it is sought


@dataclass(frozen=True, eq=False)
class Bound(InWords):
    """At most `updates` updates from a zero start, in any order: k <= ((R + sqrt(epochs) D) / gamma)^2.

    Attributes
    ----------
    updates : int
    radius, margin, deviation : float
        R, gamma and D: the longest example, the margin asked of u, and by how much examples fall short of it. D is 0 if
        none does.
    separable : True, False or None
        Are the data separable? None: not known.
    epochs : int or None
        Passes over the data that the bound is for; None: any number.
    coef, intercept : array and float, or for several classes a row and a number each
        u, of norm 1 together.
    n_samples : int
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

    def explain(self) -> str:
        """The bound in words."""
        R, gamma, D = self.radius, self.margin, self.deviation
        if self.epochs is None:
            return (
                f"At most {self.updates:,} updates, whatever the order and however many epochs: (R / gamma)^2 with the "
                f"radius R = {R:.4g} and the margin gamma = {gamma:.4g}. Training ends with an epoch without mistakes."
            )
        passes = f"{self.epochs:,} epoch" + "s" * (self.epochs > 1)
        known = {True: "", False: "The data are not separable. ", None: ""}[self.separable]
        text = (
            f"{known}At most {self.updates:,} updates in {passes}: ((R + sqrt(epochs) D) / gamma)^2 with the radius "
            f"R = {R:.4g}, the margin gamma = {gamma:.4g} and D = {D:.4g}, by which examples fall short of it."
        )
        visits = self.epochs * self.n_samples
        return text if self.updates < visits else f"{text} That says nothing: there are only {visits:,} visits."


@dataclass(frozen=True, eq=False)
class Comparison(InWords):
    """Updates that a model made beside those that the theory allows it.

    Attributes
    ----------
    updates : int
        Made by the model.
    at_most : int
        Allowed: the bound, with the model's start, step and margin counted in.
    bound : Bound
        That of a zero start without margin, on the same data.
    """

    _shown = ("updates", "at_most", "holds")

    updates: int
    at_most: int
    bound: Bound

    @property
    def holds(self) -> bool:
        return self.updates <= self.at_most

    @property
    def ratio(self) -> float:
        """Updates made over updates allowed."""
        return self.updates / self.at_most if self.at_most else math.inf if self.updates else 0.0

    def explain(self) -> str:
        """The comparison in words."""
        kept = (
            "as the theory says"
            if self.holds
            else "more than the theory allows, so these are not the examples learned from"
        )
        return f"{self.updates:,} updates made, at most {self.at_most:,} possible ({self.ratio:.2%}), {kept}. " + (
            self.bound.explain()
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
    max_seconds: float | None = None,
) -> Bound:
    """The number of updates that a perceptron can make on these data, from a zero start and in any order.

    Separable: k <= (R / gamma)^2, whatever the epochs (Novikoff). Not separable: k <= ((R + sqrt(epochs) D) / gamma)^2
    for any unit vector u and gamma, D^2 = sum of max(0, gamma - y u·x)^2 (Freund and Schapire); every epoch meets the
    examples again. With an intercept the examples are (x, 1), and margins are those of the vector (w, b). Several
    classes: the margin of an example is its smallest lead over sqrt(2) |theta|, and D takes the worst rival.

    When to use it: to know before training how long it can take, and which data make it long (one far outlier, one
    narrow gap). When not: to predict how many updates there will be; usually far fewer. Scale features first, since
    the bound depends on their units.

    Parameters
    ----------
    X, y : as in `Perceptron.fit`; dense or sparse, one label an example
    coef, intercept : arrays, optional
        The direction u to compare with, in the shape of `coef_` and `intercept_`. Unless given, the best is sought: the
        largest margin of separable data, else the u and gamma of the smallest bound.
    margin : float, optional
        gamma, for a given coef. Unless given: the margin of coef if it separates the data, else the best.
    epochs : int, default=1
        Passes over the data; they matter where D > 0.
    fit_intercept : bool, default=True
    max_seconds : float, optional
        When it is spent, the best bound so far is returned. It holds too.

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
            f"margin={margin!r}: " + ("it is that of coef." if coef is None else "give a positive number.")
        )
    until = math.inf if clock.left is None else time.perf_counter() + clock.left
    plain, epochs = check_examples(X, y), int(epochs)
    examples = augmented(plain, bool(fit_intercept))
    R = safe_radius(examples.X)
    separable: bool | None
    if coef is not None:
        u = given_direction(plain, coef, intercept, bool(fit_intercept))
        separable, best = of_direction(examples, u, margin, R, epochs)
    else:
        certificate = separability(examples.X, plain.codes, max_seconds, fit_intercept=False, gap=GAP)
        separable = certificate.separable
        if certificate.margin is not None and certificate.margin.reached > 0:
            best = Comparator(unit(certificate.coef), certificate.margin.reached, 0.0)
        else:
            best = best_comparator(examples, R, epochs, until)
            separable = True if best.D == 0 else separable
    return Bound(
        updates=_updates(R, best, epochs),
        radius=R,
        margin=best.gamma,
        deviation=best.D,
        separable=separable,
        epochs=None if best.D == 0 else epochs,
        n_samples=plain.X.shape[0],
        **_parts(best.u, bool(fit_intercept)),
    )


def check_bound(
    model: Perceptron,
    X: Any,
    y: Any,
    *,
    coef_init: Any = None,
    intercept_init: Any = None,
    max_seconds: float | None = None,
) -> Comparison:
    """Compare the updates that a fitted model made with the most that the theory allows it.

    When to use it: to see how far from the worst case a training was; in a lecture, to see the theorem at work. When
    not: for a model that learned from other examples than X, or with sample weights: the theorem is not about them, and
    the model does not remember them, so that they are refused only where its counts give them away.

    Parameters
    ----------
    model : Perceptron
        Fitted on X and y, in one or more epochs, with its parameters as they were then.
    X, y : all the examples that it learned from
    coef_init, intercept_init : arrays, optional
        The start, if `fit` was given one; the model does not keep it.
    max_seconds : float, optional
        For the search of the best bound; see `mistake_bound`.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        For what the theorem does not cover: steps other than constant, shrinking, costs, batches, class weights,
        one-vs-rest and one-vs-one, several labels, an unknown start.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.theory import check_bound
    >>> X, y = [[0.0, 2.0], [0.0, -2.0], [1.0, 2.0]], ["up", "down", "up"]
    >>> comparison = check_bound(Perceptron().fit(X, y), X, y)
    >>> comparison.holds, comparison.updates, comparison.at_most
    (True, 1, 1)
    """
    examples = check_examples(X, y)
    if isinstance(model, Perceptron):
        check_features(model, X)
    start, epochs = covered_start(model, examples, coef_init, intercept_init)
    bound = mistake_bound(
        examples.X, examples.codes, epochs=epochs, fit_intercept=bool(model.fit_intercept), max_seconds=max_seconds
    )
    at_most = most_updates(bound, start, float(model.eta0), float(model.margin or 0.0))
    return Comparison(int(model.n_updates_), at_most, bound)


def _updates(R: float, best: Comparator, epochs: int) -> int:
    """((R + sqrt(epochs) D) / gamma)^2 of these very numbers, without rounding but of the root, which is rounded up."""
    root = Fraction(math.nextafter(math.sqrt(epochs), math.inf))
    return math.floor(((Fraction(R) + root * Fraction(best.D)) / Fraction(best.gamma)) ** 2)


def _parts(u: np.ndarray, fit_intercept: bool) -> dict[str, Any]:
    """u as coef and intercept."""
    if not fit_intercept:
        return {"coef": u, "intercept": 0.0 if u.ndim == 1 else np.zeros(len(u))}
    return {"coef": u[..., :-1], "intercept": float(u[-1]) if u.ndim == 1 else u[:, -1]}
