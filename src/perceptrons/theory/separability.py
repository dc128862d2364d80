"""Is a data set linearly separable, and by how much? Answers are certificates (`certificate.py`) made in `case.py`."""

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from perceptrons.theory.case import WORK, Case, Clock
from perceptrons.theory.certificate import Certificate
from perceptrons.theory.inputs import check_examples


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
        Give up after this time, with `separable` None. The search gets nine tenths of it, the proof of what it found
        the rest; exact arithmetic that would take longer than what is left is not begun.
    fit_intercept : bool, default=True
        False: only hyperplanes through the origin count.
    gap : float, default=0.1
        Narrow the bracket of the margin until it is this wide, relative to its upper end, as far as rounding and some
        seconds of work allow. `max_margin` spends any time on it, and warns if rounding ends it before.

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
    return Case(check_examples(X, y), bool(fit_intercept), clock, polish=WORK).decide(gap)


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
    certificate = Case(check_examples(X, y), bool(fit_intercept), clock).decide(gap)
    if not certificate.separable:
        raise ValueError(f"There is no largest margin. {certificate.explain()}")
    low, high = certificate.margin  # type: ignore[misc]
    if high - low > gap * high:
        warnings.warn(
            f"The margin is known to a relative gap of {(high - low) / high:.1e} only, not {gap:g}: "
            f"{'the time was up' if clock.is_over else 'rounding hides the rest, and scaled features may help'}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return certificate


def _check(gap: Any, fit_intercept: Any) -> None:
    if not isinstance(fit_intercept, bool | np.bool_):
        raise ValueError(f"fit_intercept={fit_intercept!r}: give True or False.")
    if not (isinstance(gap, Real) and 0 < float(gap) < 1):
        raise ValueError(f"gap={gap!r}: give a number between 0 and 1, such as 1e-6.")
