"""What the theory is given, checked: examples, as `Perceptron.fit` checks them, one label each; and a time limit."""

import math
import time
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from perceptrons.linear import Perceptron
from perceptrons.training.inputs import check_matrix
from perceptrons.training.labels import read_target

SEARCHING = 0.9  # of the time given; the rest is for proving what was found


class Examples(NamedTuple):
    """Checked data; X may be the caller's own memory and must not be changed."""

    X: Any  # C-contiguous float32 or float64 array, or CSR matrix with sorted columns, each once a row
    codes: np.ndarray  # int32 (n,): the number of each example's class
    classes: np.ndarray  # sorted, as in `Perceptron.classes_`

    @property
    def signs(self) -> np.ndarray:
        """For two classes y as -1.0 and +1.0."""
        return np.where(self.codes == 1, 1.0, -1.0)


def check_examples(X: Any, y: Any) -> Examples:
    """X and y, or the errors that `Perceptron.fit` raises, and one for several labels per example."""
    X = check_rows(X)
    target = read_target(y, X.shape[0])
    if target.several:
        raise ValueError(
            "y has several labels per example, but the theory is about one: treat each label as a separate problem "
            "with two classes."
        )
    if len(target.classes) < 2:
        only = target.classes.tolist()[0]
        raise ValueError(f"y has only one class, {only!r}: a classifier needs at least two.")
    return Examples(X, target.codes, target.classes)


def check_rows(X: Any) -> Any:
    """X alone; a fresh estimator stands for the one that would be fitted, so the errors are the same."""
    return canonical(check_matrix(Perceptron(), X, reset=True))


def check_features(model: Any, X: Any) -> Any:
    """X for a fitted model: its number of features, and their names where the model knows them."""
    if isinstance(model, BaseEstimator) and hasattr(model, "n_features_in_"):
        return canonical(check_matrix(model, X, reset=False))
    stand_in = Perceptron()
    stand_in.n_features_in_ = model.coef_.shape[-1]
    return canonical(check_matrix(stand_in, X, reset=False))


def codes_among(y: Any, n: int, classes: np.ndarray) -> np.ndarray:
    """The number of each label among the classes, or a ValueError that names the first that is none of them."""
    target = read_target(y, n)
    if target.several:
        raise ValueError("y has several labels per example, but distances, margins and plots are about one.")
    places = {label: place for place, label in enumerate(classes.tolist())}
    found = np.array([places.get(label, -1) for label in target.classes.tolist()], np.intp)[target.codes]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        label = target.classes.tolist()[target.codes[row]]
        raise ValueError(f"y[{row}] = {label!r} is not one of the model's classes, {classes[:10].tolist()}.")
    return found


def canonical(X: Any) -> Any:
    """A CSR matrix in which no column stands twice in a row; the caller's stays as it is."""
    if not sp.issparse(X):
        return X
    X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


class TimeUp(Exception):  # noqa: N818 (no error: how a search ends)
    """The time given is spent, or enough was done."""


class Clock:
    """Raises TimeUp at the first tick after the time given."""

    def __init__(self, seconds: float | None, searching: float = SEARCHING) -> None:
        """searching: the part of the time that counts."""
        number = isinstance(seconds, Real) and not isinstance(seconds, bool)
        if seconds is not None and not (number and seconds > 0):
            raise ValueError(f"max_seconds={seconds!r}: give a positive number of seconds, or None.")
        seconds = None if seconds is None or seconds == math.inf else float(seconds)
        self.seconds = seconds
        self._end = None if seconds is None else time.perf_counter() + searching * seconds

    def tick(self) -> None:
        if self.is_over:
            raise TimeUp

    @property
    def is_over(self) -> bool:
        return self._end is not None and time.perf_counter() > self._end

    @property
    def left(self) -> float | None:
        return None if self._end is None else max(1e-9, self._end - time.perf_counter())

    def affords(self, seconds: float) -> bool:
        """Is there time for a piece of work that takes about this long and cannot be interrupted?"""
        return self.left is None or seconds <= self.left

    def share(self, part: float) -> float | None:
        """This part of the time left, as max_seconds."""
        return None if self.left is None else part * self.left


def augmented(examples: Examples, constant: float) -> Examples:
    """The same examples with a constant feature behind the others, whose weight times it is the bias; 0: without."""
    X = examples.X
    if not constant:
        return examples
    dtype = X.dtype if X.dtype.type(constant) == constant else np.float64
    column = np.full((X.shape[0], 1), constant, dtype)
    Z = sp.hstack([X, sp.csr_matrix(column)], format="csr") if sp.issparse(X) else np.hstack([X, column])
    return examples._replace(X=Z)
