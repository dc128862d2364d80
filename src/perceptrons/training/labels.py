"""Labels of any kind outside, class numbers inside."""

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

LONGEST_LABEL = 1_000  # characters: arrays of strings give every label the room of the longest
SPREAD = 1_000_000  # whole-number labels within such a range are counted by a table instead of sorted


def check_labels(y: Any) -> np.ndarray:
    """y as a one-dimensional array of whole numbers, booleans or strings, or a ValueError saying which row is not."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()  # scikit-learn's conversion makes floats of pandas' nullable whole numbers
    refuse_long(y)
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "T":
        y = y.astype(object)
    if y.dtype.kind == "f":
        finite = np.isfinite(y)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(f"Input y contains NaN or infinity at row {row}: every example needs a class label.")
        whole = y == np.floor(y)
        if not whole.all():
            row = int(np.argmin(whole))
            raise ValueError(
                f"Unknown label type: continuous. y[{row}] = {y[row]!s} is not a class; "
                "give classes as whole numbers, booleans or strings, or use a regressor."
            )
    elif y.dtype.kind == "O":
        return _check_objects(y)
    elif y.dtype.kind not in "biuU":
        raise ValueError(f"Unknown label type: {y.dtype}. Give classes as whole numbers, booleans or strings.")
    return y


def refuse_long(y: Any) -> None:
    """Raise ValueError for a label that is too long, before it widens the array that all others are in."""
    if isinstance(y, np.ndarray) and not (y.dtype.kind in "OT" or y.dtype.itemsize > 4 * LONGEST_LABEL):
        return
    if isinstance(y, list | tuple | np.ndarray):
        for row, label in enumerate(y):
            if isinstance(label, list | tuple) and len(label) == 1:
                label = label[0]
            if isinstance(label, str) and len(label) > LONGEST_LABEL:
                raise ValueError(f"Input y has {too_long(label)} at row {row}: give short names of classes.")


def too_long(label: str) -> str:
    return f"a label of {len(label):,} characters (at most {LONGEST_LABEL:,} are allowed)"


def _check_objects(y: np.ndarray) -> np.ndarray:
    for row, label in enumerate(y):
        if _is_missing(label):
            raise ValueError(f"Input y contains NaN (a missing label, {label!r}) at row {row}.")
    if all(isinstance(label, str) for label in y):
        return y
    if not all(isinstance(label, bool | int | float | np.number | np.bool_) for label in y):
        kinds = sorted({type(label).__name__ for label in y})
        raise ValueError(
            f"Unknown label type: {', '.join(kinds)}. Labels must be all strings or all numbers: convert y first."
        )
    plain = np.array(y.tolist())
    if plain.dtype == object:
        raise ValueError("Labels that do not fit in 64 bits cannot be told apart as numbers: give them as strings.")
    return check_labels(plain)


def _is_missing(label: Any) -> bool:
    """None, NaN, or pandas' NA, of which even the comparison with itself is missing."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def distinct(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes in y, sorted, and for each example the number of its class."""
    whole = y.astype(np.int64) if y.dtype.kind == "f" and np.abs(y).max(initial=0) < 2**53 else y
    if whole.dtype.kind in "biu" and len(whole):
        low, high = int(whole.min()), int(whole.max())
        if high - low < SPREAD and high < 2**62:
            shifted = whole.astype(np.int64) - low
            table = np.bincount(shifted) > 0
            classes = (np.flatnonzero(table) + low).astype(y.dtype)
            return classes, (np.cumsum(table) - 1).astype(np.int32)[shifted]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32)


def merge(known: np.ndarray, new: np.ndarray) -> np.ndarray:
    """All classes of both, sorted. TypeError if numbers and strings are mixed."""
    if not len(new):
        return known
    textual = [array.dtype.kind in "UO" for array in (known, new)]
    if len(known) and len(new) and textual[0] != textual[1]:
        raise TypeError(
            f"Labels of different kinds: the model knows {known[:3].tolist()}, and now came {new[:3].tolist()}. "
            "Use strings or numbers, not both."
        )
    merged = np.unique(np.concatenate([known, new])) if len(known) else np.unique(new)
    if not textual[1] and merged.tolist() != sorted({*known.tolist(), *new.tolist()}):
        raise ValueError(
            f"The labels {known[:3].tolist()} and {new[:3].tolist()} cannot be told apart as {merged.dtype}: "
            "give them in one type, or as strings."
        )
    return merged
