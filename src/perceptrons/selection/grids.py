"""Settings worth trying when nothing is known: relative to the scale of the data, so that they fit any."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.training.choices import check_choices

MARGINS = (1.0, 10.0)  # beside 0, times eta0 times the mean |x|^2: what one update adds to the score of its example
CAREFUL = {"pa1": (0.1, 1.0), "arow": (0.1, 1.0, 10.0)}  # C, over the mean |x|^2
REACHES = (0.3, 1.0, 3.0)  # gamma, times that of "scale"
DEGREES = (2, 3, 4)
SMALLEST, LARGEST = 1e-12, 1e12  # that perceptrons take as C


def usual_grid(estimator: Any, X: Any) -> list[dict[str, list[Any]]]:
    """Settings for `recipe` that cover what usually matters, by the scale of the data.

    When to use it: for a first search. When not: you know your data; the values of a first search can be refined.

    Parameters
    ----------
    estimator : Perceptron or KernelPerceptron
        Any other gets no settings: its epochs alone are tuned.
    X : array or sparse matrix
        What it learns from.

    Returns
    -------
    list of dict

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.selection import usual_grid
    >>> for settings in usual_grid(Perceptron(), [[2.0, 0.0], [0.0, 2.0]]):
    ...     print(settings)
    {'step': ['constant'], 'margin': [0.0, 4.0, 40.0]}
    {'step': ['pa1'], 'C': [0.025, 0.25]}
    {'step': ['arow'], 'C': [0.025, 0.25, 2.5]}
    """
    if isinstance(estimator, KernelPerceptron):
        return [_of_kernel(estimator.kernel, X)]
    if not isinstance(estimator, Perceptron):
        return [{}]
    square = mean_square(X)
    margins = [0.0, *within(factor * float(estimator.eta0) * square for factor in MARGINS)]
    steps: list[dict[str, list[Any]]] = [{"step": ["constant"], "margin": margins}]
    steps += [{"step": [step], "C": within(C / square for C in values)} for step, values in CAREFUL.items()]
    return [settings for settings in steps if _possible(estimator, settings["step"][0])]


def _of_kernel(kernel: Any, X: Any) -> dict[str, list[Any]]:
    if kernel == "poly":
        return {"degree": list(DEGREES)}
    if kernel in ("rbf", "laplacian"):
        scale = 1.0 / (np.shape(X)[1] * _spread(X))
        return {"gamma": within(reach * scale for reach in REACHES)}
    return {}


def _possible(estimator: Perceptron, step: str) -> bool:
    """Does the step go with the other parameters?"""
    try:
        check_choices(clone(estimator).set_params(step=step))
    except ValueError:
        return False
    return True


def mean_square(X: Any) -> float:
    """The mean |x|^2; 1 if all are 0."""
    if sp.issparse(X):
        return float(np.square(X.data, dtype=np.float64).sum() / max(1, X.shape[0])) or 1.0
    X = np.asarray(X)
    return float(np.einsum("ij,ij->", X, X, dtype=np.float64) / max(1, len(X))) or 1.0


def _spread(X: Any) -> float:
    """The variance of all values, as gamma="scale" takes it; 1 if there is none."""
    if sp.issparse(X):
        mean = X.mean()
        return float(X.multiply(X).mean() - mean**2) or 1.0
    return float(np.asarray(X).var()) or 1.0


def _rounded(value: float) -> float:
    """Three digits are enough, and easier to read."""
    return float(f"{value:.3g}")


def within(values: Iterable[float]) -> list[float]:
    """Values that all learners take, each once: those of data on odd scales may not be."""
    return list(dict.fromkeys(_rounded(min(max(value, SMALLEST), LARGEST)) for value in values))
