"""Splits data into training, validation and test sets: stratified by class, by whole groups, or by time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils import _safe_indexing, check_random_state, column_or_1d

from perceptrons.engine.streaming.blocks import row_hashes
from perceptrons.engine.training.epochs import hold_out
from perceptrons.engine.training.matrices import sound_csr
from perceptrons.theory.duplicates import row_bytes

SplitMethod = Literal["stratified", "grouped", "time"]
SPLITS = get_args(SplitMethod)
DEV, TEST = 0, 1  # which part is held out, for the seed
MIN_TESTED_PER_CLASS = 2  # on average; a smaller test set measures nothing


@dataclass(frozen=True)
class Part:
    """Examples: rows of the data given, in their order, or data of their own (rows is None)."""

    X: Any
    y: Any
    rows: np.ndarray | None = None

    def __len__(self) -> int:
        return len_of(self.X) if self.rows is None else len(self.rows)

    def taken(self) -> tuple[Any, Any]:
        """The examples themselves."""
        return (self.X, self.y) if self.rows is None else (at(self.X, self.rows), at(self.y, self.rows))


@dataclass(frozen=True)
class Parts:
    """What to learn from, what to choose settings by, and what to test on (None: nothing); how says it in words."""

    train: Part
    dev: Part
    test: Part | None
    how: str

    def learnable(self) -> Part:
        """The training and validation sets together, in their order."""
        if self.dev.rows is not None and self.train.rows is not None:
            return Part(self.train.X, self.train.y, np.sort(np.concatenate([self.train.rows, self.dev.rows])))
        (X, y), (X_dev, y_dev) = self.train.taken(), self.dev.taken()
        return Part(joined(X, X_dev), joined(y, y_dev))

    def cv(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For the `cv` of scikit-learn's searches: learn from train, score on development, the test part in neither."""
        if self.dev.rows is None or self.train.rows is None:
            raise ValueError("The validation set was given separately, so cv cannot give its rows in X.")
        return [(self.train.rows, self.dev.rows)]


def parts_of(
    X: Any, y: Any, *, dev: Any = 0.2, test: Any = 0.2, split: SplitMethod | None = None, groups: Any = None,
    keys: Any = None, random_state: Any = 0,
) -> Parts:  # fmt: skip
    """Split the data into a training set, a validation set (dev) and a test set.

    Use it to give scikit-learn's searches the split of `recipe`, with `cv`. `recipe` and `compare` split by themselves.

    Parameters
    ----------
    X, y : the examples
    dev, test : float, or tuple of X and y
        The shares, or separate data (X, y). test=0 means no test set.
    split : {"stratified", "grouped", "time"}, default: "grouped" if there are groups, else "stratified"
        About the same share of every class; whole groups; or the last examples as the test set, and those before them
        as the validation set.
    groups : array, optional
        The group of every example, such as a patient or an author, that must not be in two sets.
    keys : array, optional
        A number for every example, the same for copies of one example; by default, rows of X that are equal are copies.
        split="stratified" keeps copies in one set, unless that would distort the shares.
    random_state : int, RandomState or None, default=0

    Returns
    -------
    Parts

    Examples
    --------
    >>> from perceptrons.selection import parts_of
    >>> parts = parts_of([[0], [1], [2], [3], [4]], [0, 1, 0, 1, 0], split="time")
    >>> [part.rows.tolist() for part in (parts.train, parts.dev, parts.test)]
    [[0, 1, 2], [3], [4]]
    """
    if y is None:
        raise ValueError("y is None: the recipe needs one label per example.")
    n = len_of(X)
    if n != len_of(y):
        raise ValueError(f"X has {n:,} examples, but y has {len_of(y):,} labels: give one label per example.")
    split = split or ("stratified" if groups is None else "grouped")
    if split not in SPLITS:
        raise ValueError(f"split={split!r}: give one of {', '.join(map(repr, SPLITS))}.")
    if (split == "grouped") != (groups is not None):
        raise ValueError(f"split={split!r} with groups={'None' if groups is None else '...'}: groups need 'grouped'.")
    if groups is not None and len_of(groups) != n:
        raise ValueError(f"groups has {len_of(groups):,} entries for {n:,} examples: give one per example.")
    if keys is not None and len_of(keys) != n:
        raise ValueError(f"keys has {len_of(keys):,} entries for {n:,} examples: give one per example.")
    shares = {"dev": _share(dev, "dev"), "test": _share(test, "test")}
    if shares["dev"] == 0:
        raise ValueError("dev=0 leaves no validation set: give a share between 0 and 1, or data (X, y).")
    if sum(share for share in shares.values() if share) >= 1:
        raise ValueError(f"dev={dev} and test={test} leave no training set: together they must be below 1.")
    seed = int(random_state if isinstance(random_state, Integral) else check_random_state(random_state).randint(2**31))
    rest, held = np.arange(n), {}
    if split == "stratified" and any(shares.values()):
        keys = copy_keys(X) if keys is None else np.asarray(keys)
    for name, place in (("test", TEST), ("dev", DEV)):
        share = shares[name]
        if share:
            rest, held[name] = _cut(rest, y, groups, keys, split, share * n, name, [seed, place])
    train = Part(X, y, rest) if held else Part(X, y)
    dev = Part(X, y, held["dev"]) if "dev" in held else Part(*dev)
    tested = Part(X, y, held["test"]) if "test" in held else None if shares["test"] == 0 else Part(*test)
    return Parts(train, dev, tested, _in_words(split, y, held, seed))


def at(values: Any, rows: np.ndarray) -> Any:
    """Rows of an array, a sparse matrix, a frame or a list."""
    return _safe_indexing(values, rows)


def len_of(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def joined(first: Any, second: Any) -> Any:
    """Examples one below the other, in the form that they have."""
    if sp.issparse(first):
        return sp.vstack([first, second], format="csr")
    if hasattr(first, "iloc"):
        import pandas

        return pandas.concat([first, second])
    if hasattr(first, "vstack"):  # of polars
        return first.vstack(second)
    if isinstance(first, np.ndarray) and np.ndim(second) == first.ndim:
        return np.concatenate([first, np.asarray(second)])
    return [*first, *second]


def _share(part: Any, name: str) -> float | None:
    """The share to hold out; None if the part is given."""
    if isinstance(part, tuple) and len(part) == 2:
        if len_of(part[0]) != len_of(part[1]) or not len_of(part[0]):
            raise ValueError(f"{name}=(X, y) has {len_of(part[0]):,} examples and {len_of(part[1]):,} labels.")
        return None
    if part is None and name == "test":
        return 0.0
    if isinstance(part, bool) or not isinstance(part, int | float | np.number) or not 0 <= part < 1:
        raise ValueError(f"{name}={part!r}: give a share from 0 to below 1, or a tuple of X and y.")
    return float(part)


def _cut(
    rest: np.ndarray, y: Any, groups: Any, keys: Any, split: str, wanted: float, name: str, seed: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Split the rows that are left into those that stay and those held out (about `wanted`), both in order."""
    size = max(1, round(wanted))
    if size >= len(rest):
        raise ValueError(f"There are too few examples for a {name} set of {size:,}: only {len(rest):,} are left.")
    if split == "time":
        return rest[:-size], rest[-size:]
    if split == "grouped":
        of_each = np.unique(np.asarray(at(groups, rest)).astype(str), return_inverse=True)[1]
        if len(np.unique(of_each)) < 2:
            raise ValueError(f"Only one group is left for the {name} set: give more groups.")
        cut = GroupShuffleSplit(1, test_size=size / len(rest), random_state=np.random.RandomState(list(seed)))
        stay, go = next(cut.split(rest, groups=of_each))
        return rest[np.sort(stay)], rest[np.sort(go)]
    codes = codes_of(at(y, rest))
    if np.bincount(codes).max() == 1:
        raise ValueError(
            f"Every class has only one example, so none can be held out for the {name} set: check the labels."
        )
    stay, go = hold_out(codes, None, size / len(rest), *seed, keys=keys[rest])
    return rest[stay], rest[go]


def codes_of(y: Any) -> np.ndarray:
    """The class of each example; all the same where they have several labels or are sequences."""
    if is_single(y):
        return np.unique(np.asarray(y), return_inverse=True)[1]
    return np.zeros(len_of(y), np.intp)


def is_too_small(y: Any, share: float) -> bool:
    """Would this share be too small for a test set of these classes?"""
    classes = np.unique(codes_of(y))
    return round(share * len_of(y)) < MIN_TESTED_PER_CLASS * len(classes)


def copy_keys(X: Any) -> np.ndarray:
    """A number for every example, the same for equal ones."""
    if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"):
        return row_hashes(X)
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(example, len(numbers)) for example in example_bytes(X)], np.int64)


def example_bytes(X: Any) -> Iterator[bytes]:
    """Every example as bytes: numbers by column and value, zeros left out; everything else as it is written."""
    if hasattr(X, "to_pandas") and not hasattr(X, "to_numpy"):  # a table of Arrow's
        X = X.to_pandas()
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    elif isinstance(X, list | tuple) and _is_table(X):
        X = np.asarray(X)
    if not sp.issparse(X) and (not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf" or X.ndim != 2):
        for x in X:
            yield repr(as_python(x)).encode("utf-8", "surrogatepass")
        return
    yield from row_bytes(X)


def as_python(value: Any) -> Any:
    """A value of NumPy's as one of Python's, so that equal ones are written alike."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _is_table(X: Any) -> bool:
    """Are these rows of as many numbers each?"""
    rows = all(isinstance(row, list | tuple | np.ndarray) and len(row) == len(X[0]) for row in X)
    return rows and all(isinstance(value, int | float | np.number) for value in X[0])


def is_single(y: Any) -> bool:
    """Is there one plain label an example?"""
    if sp.issparse(y) or getattr(y, "ndim", 1) != 1 or not len_of(y):
        return False
    first = next(iter(y))
    return isinstance(first, str) or not hasattr(first, "__len__")


def _in_words(split: str, y: Any, held: dict[str, np.ndarray], seed: int) -> str:
    if not held:
        return "as given"
    if split == "time":
        return "in the order given, the last ones held out"
    if split == "grouped":
        return f"by whole groups, seed {seed}"
    return f"stratified by class, seed {seed}" if is_single(y) else f"at random, seed {seed}"


def as_given(X: Any, y: Any) -> tuple[Any, Any]:
    """Examples in a form that rows can be taken of; a column of labels as the list that it means."""
    if sp.issparse(X) or hasattr(X, "tocsr"):
        X = sound_csr(X if sp.issparse(X) else X.tocsr())
    if hasattr(y, "tocsr"):
        y = sound_csr(y if sp.issparse(y) else y.tocsr(), "y")
    elif hasattr(y, "to_numpy") and len(getattr(y, "shape", ())) == 2:
        y = y.to_numpy()
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    if isinstance(y, np.ndarray) and y.dtype == object and len(y) and isinstance(y[0], list | tuple | set | frozenset):
        y = y.tolist()  # sequences, or sets of labels
    return X, y


def part_as_given(part: Any, X: Any, name: str) -> Any:
    """Development or test examples of their own: like X."""
    if not isinstance(part, tuple) or len(part) != 2:
        return part
    other, y = as_given(*part)
    if isinstance(X, np.ndarray) and isinstance(other, list | tuple):
        other = np.asarray(other)
    kinds = [_kind(values) for values in (X, other)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"X is {kinds[0]}, but that of {name} is {kinds[1]}: give both in the same form.")
    widths = [values.shape[1] if len(getattr(values, "shape", ())) == 2 else None for values in (X, other)]
    if widths[0] != widths[1]:
        raise ValueError(f"{name} has {widths[1]:,} features, but X has {widths[0]:,}: give the same features.")
    return other, y


def check_labels_meet(parts: Parts) -> None:
    """Refuse development and test labels that are nowhere among those learned from: all answers would be wrong."""
    known = _labels(parts.train)
    for name, part in (("validation", parts.dev), ("test", parts.test)):
        labels = None if part is None else _labels(part)
        if known and labels and not known & labels:
            raise ValueError(
                f"None of the labels of the {name} examples ({_some(labels)}) is among those of the training set "
                f"({_some(known)}): check that both use the same classes."
            )


def _labels(part: Part) -> set[Any]:
    y = part.taken()[1]
    return set(np.asarray(y).tolist()) if is_single(y) else set()


def _kind(X: Any) -> str:
    if sp.issparse(X):
        return "a sparse matrix"
    return "a frame" if hasattr(X, "columns") else "an array or a list"


def _some(labels: set[Any]) -> str:
    shown = sorted(map(repr, labels))
    return ", ".join(shown[:3]) + (", ..." if len(shown) > 3 else "")
