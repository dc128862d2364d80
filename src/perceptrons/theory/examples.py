"""Checked examples for the theory, with one label each, and a time limit."""

import math
import time
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from perceptrons.engine.training.inputs import check_matrix
from perceptrons.engine.training.labels import Target, read_target
from perceptrons.engine.training.matrices import sound_csr
from perceptrons.linear import Perceptron

SAMPLE_SIZE = 4096  # values
MAX_DECIMAL_PLACES = 22  # larger powers of ten are not exact in float64
SEARCH_SHARE = 0.9  # of the time limit; the rest is for proofs


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
    """Check X and y as `Perceptron.fit` does, and refuse numbers that float64 rounds and several labels per example."""
    _check_exact(X)
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
    """Check X as `Perceptron.fit` does."""
    return canonical(check_matrix(Perceptron(), X, reset=True))


def _check_exact(X: Any) -> None:
    """Raise ValueError for a number that float64 rounds: a proof about the rounded number would be false."""
    for column, values in _columns(X):
        if values.dtype.kind in "iu":
            suspects = np.argwhere((values >= 2**53) | (values <= -(2**53)))
        elif values.dtype.kind == "f":
            with np.errstate(over="ignore", invalid="ignore"):
                suspects = np.argwhere((values.astype(np.float64) != values) & (values == values))
        elif values.dtype.kind in "OUS":
            suspects = np.argwhere(np.ones(values.shape, bool))
        else:
            continue
        for place in suspects.tolist():
            value = values[tuple(place)]
            if not _is_exact(value):
                row, *index = place
                position = f" in row {row}, column {index[0] if index else column}" if column != "sparse" else ""
                raise ValueError(
                    f"Input X has {value}{position}, which float64 does not hold exactly. A proof would be about the "
                    "rounded number. Subtract a constant or change the unit, so that fewer digits are needed; or round "
                    "the numbers yourself with astype(float)."
                )


def _columns(X: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the numbers of X before any conversion, with the name of a frame's column."""
    if sp.issparse(X):
        yield "sparse", sound_csr(X).data  # LIL and DOK have no flat data
    elif hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names = X.column_names if hasattr(X, "column_names") else X.columns
        for position, name in enumerate(names):
            yield name, np.asarray(X.iloc[:, position] if hasattr(X, "iloc") else X[name])
    elif isinstance(X, list | tuple):
        try:
            yield None, np.array(X, dtype=object)  # an array of another type would already be rounded
        except ValueError:  # the rows have different lengths, which the next check explains
            return
    else:
        yield None, np.asarray(X)


def _is_exact(value: Any) -> bool:
    """Return whether a number equals its float64; True for anything that is not a finite number."""
    if isinstance(value, float | bool):
        return True
    if isinstance(value, np.integer):
        value = int(value)  # NumPy compares integers with floats inexactly
    if isinstance(value, str | bytes):
        try:
            value = Decimal(value.decode() if isinstance(value, bytes) else value)
        except (InvalidOperation, UnicodeDecodeError):
            return True
    try:
        rounded = float(value)
    except (TypeError, ValueError, OverflowError):
        return True
    return not math.isfinite(rounded) or bool(value == rounded)


def as_whole_numbers(X: Any) -> tuple[Any, int] | None:
    """Return X times a power of ten, as whole numbers in float64, and that power; None if X needs too many digits.

    X are floats that were read from decimals. Up to 15 digits (float32: 6) every decimal has a float of its own, so the
    decimals are known from the floats.
    """
    values = X.data if sp.issparse(X) else X
    limit = 10.0 ** np.finfo(values.dtype).precision
    places = 0
    for part in (values.ravel()[:SAMPLE_SIZE], values):  # a few values are enough to refuse most data
        while True:
            scaled = np.rint(part.astype(np.float64) * 10.0**places)
            if np.abs(scaled).max(initial=0.0) >= limit:
                return None
            if ((scaled / 10.0**places).astype(values.dtype) == part).all():
                break
            places += 1
            if places > MAX_DECIMAL_PLACES:
                return None
    if sp.issparse(X):
        scaled = sp.csr_matrix((scaled, X.indices, X.indptr), shape=X.shape)
    return scaled, 10**places


def check_features(model: Any, X: Any) -> Any:
    """Check X as `predict` of a fitted model does: the number of features, and their names if the model knows them."""
    if isinstance(model, BaseEstimator) and hasattr(model, "n_features_in_"):
        return canonical(check_matrix(model, X, reset=False))
    stand_in = Perceptron()
    stand_in.n_features_in_ = model.coef_.shape[-1]
    return canonical(check_matrix(stand_in, X, reset=False))


def codes_among(y: Any, n: int, classes: np.ndarray) -> np.ndarray:
    """Return the number of each label among the classes; ValueError for a label that is not one of them."""
    target = read_target(y, n)
    if target.several:
        raise ValueError("y has several labels per example, but distances, margins and plots are about one.")
    codes = known_codes(target, classes)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        label = target.classes.tolist()[target.codes[row]]
        raise ValueError(f"y[{row}] = {label!r} is not one of the model's classes, {classes[:10].tolist()}.")
    return codes


def known_codes(target: Target, classes: np.ndarray) -> np.ndarray:
    """Return the number of each label among the classes; -1 for a label that is not one of them."""
    places = {label: place for place, label in enumerate(classes.tolist())}
    return np.array([places.get(label, -1) for label in target.classes.tolist()], np.intp)[target.codes]


def canonical(X: Any) -> Any:
    """Return a CSR matrix without duplicate entries; dense arrays stay as they are."""
    if not sp.issparse(X):
        return X
    X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


class TimeUp(Exception):  # noqa: N818 (no error: how a search ends)
    """The limit of time or work is reached."""


class Clock:
    """A time limit: `tick` raises TimeUp once it is reached."""

    def __init__(self, seconds: float | None, search_share: float = SEARCH_SHARE) -> None:
        """search_share: the part of the time after which `tick` raises TimeUp."""
        number = isinstance(seconds, Real) and not isinstance(seconds, bool)
        if seconds is not None and not (number and seconds > 0):
            raise ValueError(f"max_seconds={seconds!r}: give a positive number of seconds, or None.")
        seconds = None if seconds is None or seconds == math.inf else float(seconds)
        self.seconds = seconds
        self._end = None if seconds is None else time.perf_counter() + search_share * seconds

    def tick(self) -> None:
        if self.is_over:
            raise TimeUp

    @property
    def is_over(self) -> bool:
        return self._end is not None and time.perf_counter() > self._end

    @property
    def seconds_left(self) -> float | None:
        return None if self._end is None else max(1e-9, self._end - time.perf_counter())

    def affords(self, seconds: float) -> bool:
        """Return whether there is time for work that takes about this long and cannot be interrupted."""
        return self.seconds_left is None or seconds <= self.seconds_left

    def fraction_left(self, fraction: float) -> float | None:
        """Return this fraction of the time left, as max_seconds."""
        return None if self.seconds_left is None else fraction * self.seconds_left


def augmented(examples: Examples, constant: float) -> Examples:
    """Return the examples with a constant feature after the others, whose weight times it is the bias; 0: without."""
    X = examples.X
    if not constant:
        return examples
    dtype = X.dtype if X.dtype.type(constant) == constant else np.float64
    column = np.full((X.shape[0], 1), constant, dtype)
    Z = sp.hstack([X, sp.csr_matrix(column)], format="csr") if sp.issparse(X) else np.hstack([X, column])
    return examples._replace(X=Z)
