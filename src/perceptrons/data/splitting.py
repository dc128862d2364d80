"""Splits data into training, validation and test sets, or folds: stratified by class, by whole groups, or by time."""

import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state, column_or_1d

from perceptrons.data.labels import target_of
from perceptrons.data.table import Block, Table
from perceptrons.engine.streaming.blocks import TrainingBlock, held_out_rows, row_hashes
from perceptrons.engine.streaming.cache import ArrayFile, Cache
from perceptrons.engine.training.epochs import hold_out
from perceptrons.engine.training.labels import Target, read_target
from perceptrons.engine.training.matrices import row_bytes, sound_csr, widened
from perceptrons.engine.wording import count, in_percent, short

if TYPE_CHECKING:
    from perceptrons.data.reader import Reader

SplitMethod = Literal["stratified", "grouped", "time"]
SPLITS = get_args(SplitMethod)
SEED_OFFSETS = {"dev": 0, "test": 1}  # so that the two parts are drawn independently
MIN_TESTED_PER_CLASS = 2  # on average; a smaller test set measures nothing
HELD_OUT_SHARE = 0.2  # of the examples, by default
MAX_MISSED_SHARE = 0.02  # a test set that misses its share by more is worth a warning
MIN_TESTED = 10  # examples of a class; with fewer its score is uncertain

Folds = list[tuple[np.ndarray, np.ndarray]]  # rows to train on, rows to test on


@dataclass(frozen=True)
class Part:
    """Examples: rows of the given data in their order, or separate data (rows is None)."""

    X: Any
    y: Any
    rows: np.ndarray | None = None

    def __len__(self) -> int:
        return len_of(self.X) if self.rows is None else len(self.rows)

    def taken(self) -> tuple[Any, Any]:
        """Return the examples themselves."""
        return (self.X, self.y) if self.rows is None else (at(self.X, self.rows), at(self.y, self.rows))


@dataclass(frozen=True)
class Parts:
    """The training set, the validation set (dev) and the test set or None; `how` says how they were split."""

    train: Part
    dev: Part
    test: Part | None
    how: str

    def learnable(self) -> Part:
        """Return the training and validation sets together, in their order."""
        if self.dev.rows is not None and self.train.rows is not None:
            return Part(self.train.X, self.train.y, np.sort(np.concatenate([self.train.rows, self.dev.rows])))
        (X, y), (X_dev, y_dev) = self.train.taken(), self.dev.taken()
        return Part(_joined(X, X_dev), _joined(y, y_dev))

    def cv(self) -> Folds:
        """Return the split for the `cv` of scikit-learn's searches; the test set is in neither part."""
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
    for name, values in (("groups", groups), ("keys", keys)):
        if values is not None and len_of(values) != n:
            raise ValueError(f"{name} has {len_of(values):,} entries for {n:,} examples: give one per example.")
    shares = {"test": _share(test, "test"), "dev": _share(dev, "dev")}
    if shares["dev"] == 0:
        raise ValueError("dev=0 leaves no validation set: give a share between 0 and 1, or data (X, y).")
    if sum(share for share in shares.values() if share) >= 1:
        raise ValueError(f"dev={dev} and test={test} leave no training set: together they must be below 1.")
    seed = int(random_state if isinstance(random_state, Integral) else check_random_state(random_state).randint(2**31))
    if split == "stratified" and any(shares.values()):
        keys = copy_keys(X) if keys is None else np.asarray(keys)
    remaining, held_out = np.arange(n), {}
    for name, share in shares.items():
        if share:
            remaining, rows = _split_off(remaining, y, groups, keys, split, share * n, name, [seed, SEED_OFFSETS[name]])
            held_out[name] = Part(X, y, rows)
    how = {
        "time": "in the order given, the last ones held out",
        "grouped": f"by whole groups, seed {seed}",
        "stratified": f"stratified by class, seed {seed}" if is_single(y) else f"at random, seed {seed}",
    }
    return Parts(
        Part(X, y, remaining) if held_out else Part(X, y),
        held_out["dev"] if "dev" in held_out else Part(*dev),
        held_out["test"] if "test" in held_out else None if shares["test"] == 0 else Part(*test),
        how[split] if held_out else "as given",
    )


def _share(part: Any, name: str) -> float | None:
    """Return the share to hold out; None if the part is given."""
    if isinstance(part, tuple) and len(part) == 2:
        if len_of(part[0]) != len_of(part[1]) or not len_of(part[0]):
            raise ValueError(f"{name}=(X, y) has {len_of(part[0]):,} examples and {len_of(part[1]):,} labels.")
        return None
    if part is None and name == "test":
        return 0.0
    if isinstance(part, bool) or not isinstance(part, int | float | np.number) or not 0 <= part < 1:
        raise ValueError(f"{name}={part!r}: give a share from 0 to below 1, or a tuple of X and y.")
    return float(part)


def _split_off(
    rows: np.ndarray, y: Any, groups: Any, keys: Any, split: str, n_wanted: float, name: str, seed: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Split rows into those that stay and those held out (about n_wanted), both in order."""
    size = max(1, round(n_wanted))
    if size >= len(rows):
        raise ValueError(f"There are too few examples for a {name} set of {size:,}: only {len(rows):,} are left.")
    if split == "time":
        return rows[:-size], rows[-size:]
    if split == "grouped":
        group_codes = _group_codes(at(groups, rows))
        if group_codes.max() == 0:
            raise ValueError(f"Only one group is left for the {name} set: give more groups.")
        from sklearn.model_selection import GroupShuffleSplit  # here, as its import takes longer than most trainings

        splitter = GroupShuffleSplit(1, test_size=size / len(rows), random_state=np.random.RandomState(list(seed)))
        stay, go = next(splitter.split(rows, groups=group_codes))
        return rows[np.sort(stay)], rows[np.sort(go)]
    codes = codes_of(at(y, rows))
    if np.bincount(codes).max() == 1:
        message = f"Every class has only one example, so none can be held out for the {name} set"
        raise ValueError(f"{message}: check the labels.")
    stay, go = hold_out(codes, None, size / len(rows), *seed, keys=keys[rows])
    return rows[stay], rows[go]


def folds_of(y: Any, k: int, groups: Any = None, seed: int = 0) -> Folds:
    """Return k pairs of rows to train on and rows to test on, both in order; every row is tested on once.

    Every class has about the same share in all folds; groups stay whole.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    n = len_of(y)
    if isinstance(k, bool) or not isinstance(k, int) or not 2 <= k <= n:
        raise ValueError(f"folds={k!r}: give a whole number from 2 to the number of examples, {n:,}.")
    codes = codes_of(y)
    if groups is None:
        if np.bincount(codes).max() < k:
            raise ValueError(f"folds={k}: no class has that many examples: use fewer folds.")
        splitter, group_codes = StratifiedKFold(k, shuffle=True, random_state=seed), None
    else:
        group_codes = _group_codes(groups)
        if group_codes.max() + 1 < k:
            raise ValueError(f"folds={k}: there are only {group_codes.max() + 1:,} groups: use at most as many folds.")
        splitter = StratifiedGroupKFold(k, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # some folds lack it, which does no harm
        return [(np.sort(train), np.sort(test)) for train, test in splitter.split(codes, codes, group_codes)]


def _group_codes(groups: Any) -> np.ndarray:
    return np.unique(np.asarray(groups).astype(str), return_inverse=True)[1]


# ---- examples in any form: arrays, sparse matrices, frames, lists


def at(values: Any, rows: np.ndarray) -> Any:
    """Return rows of an array, a sparse matrix, a frame or a list."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "take") and not hasattr(values, "ndim"):  # of Arrow
        return values.take(rows)
    return values[rows] if hasattr(values, "shape") else [values[row] for row in rows]


def len_of(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def _joined(first: Any, second: Any) -> Any:
    """Return both parts, one below the other, in their own form."""
    if sp.issparse(first):
        return sp.vstack([first, second], format="csr")
    if hasattr(first, "iloc"):
        import pandas

        return pandas.concat([first, second])
    if hasattr(first, "vstack"):  # polars
        return first.vstack(second)
    if isinstance(first, np.ndarray) and np.ndim(second) == first.ndim:
        return np.concatenate([first, np.asarray(second)])
    return [*first, *second]


def codes_of(y: Any) -> np.ndarray:
    """Return the class of each example; all the same if they have several labels or are sequences."""
    if is_single(y):
        return np.unique(np.asarray(y), return_inverse=True)[1]
    return np.zeros(len_of(y), np.intp)


def is_single(y: Any) -> bool:
    """Return whether every example has one plain label."""
    if sp.issparse(y) or getattr(y, "ndim", 1) != 1 or not len_of(y):
        return False
    first = next(iter(y))
    return isinstance(first, str) or not hasattr(first, "__len__")


def is_too_small(y: Any, share: float) -> bool:
    """Return whether this share is too small for a test set of these classes."""
    classes = np.unique(codes_of(y))
    return round(share * len_of(y)) < MIN_TESTED_PER_CLASS * len(classes)


def copy_keys(X: Any) -> np.ndarray:
    """Return a number for every example, the same for equal ones."""
    if _is_matrix(X):
        return row_hashes(X)
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(example, len(numbers)) for example in example_bytes(X)], np.int64)


def _is_matrix(X: Any) -> bool:
    return sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf")


def example_bytes(X: Any) -> Iterator[bytes]:
    """Yield every example as bytes: numbers by column and value, without zeros; everything else by its repr."""
    if hasattr(X, "to_pandas") and not hasattr(X, "to_numpy"):  # pyarrow
        X = X.to_pandas()
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    elif isinstance(X, list | tuple) and _is_table(X):
        X = np.asarray(X)
    if _is_matrix(X):
        yield from row_bytes(X)
    else:
        yield from (repr(as_python(x)).encode("utf-8", "surrogatepass") for x in X)


def as_python(value: Any) -> Any:
    """Return a NumPy value as a Python value, so that equal values have the same repr."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _is_table(X: list[Any] | tuple[Any, ...]) -> bool:
    """Return whether these are rows of numbers of one length."""
    rows = all(isinstance(row, list | tuple | np.ndarray) and len(row) == len(X[0]) for row in X)
    return rows and all(isinstance(value, int | float | np.number) for value in X[0])


def as_given(X: Any, y: Any) -> tuple[Any, Any]:
    """Return examples in a form whose rows can be selected; a column of labels becomes a vector."""
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
    """Return a separate validation or test set in the form of X; a share stays as it is."""
    if not isinstance(part, tuple) or len(part) != 2:
        return part
    X_part, y = as_given(*part)
    if isinstance(X, np.ndarray) and isinstance(X_part, list | tuple):
        X_part = np.asarray(X_part)
    form, form_of_part = (_describe_form(values) for values in (X, X_part))
    if form != form_of_part:
        raise ValueError(f"X is {form}, but that of {name} is {form_of_part}: give both in the same form.")
    width, width_of_part = (
        values.shape[1] if len(getattr(values, "shape", ())) == 2 else None for values in (X, X_part)
    )
    if width != width_of_part:
        raise ValueError(f"{name} has {width_of_part:,} features, but X has {width:,}: give the same features.")
    return X_part, y


def _describe_form(X: Any) -> str:
    if sp.issparse(X):
        return "a sparse matrix"
    return "a frame" if hasattr(X, "columns") else "an array or a list"


def check_labels_meet(parts: Parts) -> None:
    """Raise ValueError if no validation or no test label is in the training set: every prediction would be wrong."""
    known = _label_set(parts.train)
    for name, part in (("validation", parts.dev), ("test", parts.test)):
        labels = None if part is None else _label_set(part)
        if known and labels and not known & labels:
            raise ValueError(
                f"None of the labels of the {name} examples ({_list_labels(labels)}) is among those of the training "
                f"set ({_list_labels(known)}): check that both use the same classes."
            )


def _label_set(part: Part) -> set[Any]:
    y = part.taken()[1]
    return set(np.asarray(y).tolist()) if is_single(y) else set()


def _list_labels(labels: set[Any]) -> str:
    names = sorted(map(repr, labels))
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


# ---- a test set held out of a stream


class Split(NamedTuple):
    """What to learn from, what to test on (None: nothing), and a sentence about both. warnings: about the test set."""

    train: Table
    test: Table | None
    description: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class HoldOut:
    """The way to hold out a test set of examples that are read whole.

    share: None means the usual share, or no test set if that would be too small for the number of classes.
    """

    share: float | None
    seed: int
    time_order: bool = False
    groups: np.ndarray | None = None

    def share_of(self, y: Any) -> float:
        """Return the share to hold out of examples with these labels."""
        if self.share is not None:
            return self.share
        by_class = not self.time_order and self.groups is None
        return 0.0 if by_class and is_too_small(y, HELD_OUT_SHARE) else HELD_OUT_SHARE

    def test_rows(self, X: Any, y: Any, keys: np.ndarray | None) -> np.ndarray:
        """Return which examples are the test set; none if there are too few. keys: see `parts_of`."""
        share = self.share_of(y)
        split: SplitMethod | None = "time" if self.time_order else None
        with suppress(ValueError):  # too few examples; `recipe` and `compare` say why
            parts = parts_of(
                X, y, dev=(y, y), test=share, split=split, groups=self.groups, keys=keys, random_state=self.seed
            )
            if parts.test is not None and parts.test.rows is not None:
                return parts.test.rows
        return np.arange(0)

    def apply_to(self, reader: "Reader") -> None:
        """Let a reader that reads all examples measure features on those outside the test set."""
        reader.keyed, reader.learn_from = True, self._rows_to_learn_from

    def _rows_to_learn_from(self, blocks: list[Block]) -> list[np.ndarray]:
        several = blocks[0].several  # examples are then split whatever their labels are
        y = np.concatenate([np.zeros(block.X.shape[0]) if several else block.y for block in blocks])
        keys = np.concatenate([np.asarray(block.keys) for block in blocks])
        learned = np.ones(len(y), bool)
        learned[self.test_rows(keys, y, keys)] = False
        return np.split(learned, np.cumsum([block.X.shape[0] for block in blocks])[:-1])

    def split(self, table: Table, instead: str) -> Split:
        """Split a table into a training and a test set, with a sentence about both.

        instead: as for `test_set_warnings`.
        """
        n = table.X.shape[0]
        y = np.zeros(n) if table.several else table.y
        rows = self.test_rows(table.X, y, table.keys)
        if self.share == 0:
            return Split(table, None, f"All {n:,} for training, none held out")
        if not len(rows):
            too_few = f"too few to hold out {in_percent(self.share or HELD_OUT_SHARE, 0)} for testing"
            return Split(table, None, f"All {n:,} for training: {too_few}")
        method = f"{'at random' if table.several else 'stratified'}, seed {self.seed}"
        if self.time_order:
            method = "the last ones"
        learned = np.setdiff1d(np.arange(n), rows)
        tested = f"{len(rows):,} held out for testing ({in_percent(len(rows) / n)}, {method})"
        n_tested_of = {} if table.several else count_by_class(y[rows], y)
        share = HELD_OUT_SHARE if self.share is None else self.share
        warnings = test_set_warnings(share, len(rows), n, n_tested_of, instead)
        description = f"{len(learned):,} for training; {tested}"
        return Split(table.part(learned), table.part(rows), description, tuple(warnings))


def has_enough_for_folds(y: Any, n_folds: int) -> bool:
    """Return whether every training part of the folds has two classes."""
    counts = np.sort(np.unique(np.asarray(y), return_counts=True)[1])
    return len(counts) > 1 and counts[-1] >= n_folds and counts[-2] > 1


def count_by_class(y: Any, classes: Any) -> dict[Any, int]:
    """Return how many of these labels each class has."""
    n_of = Counter(np.asarray(y).tolist())
    return {label: n_of[label] for label in np.unique(np.asarray(classes)).tolist()}


def test_set_warnings(share: float, n_tested: int, n: int, n_tested_of: Mapping[Any, int], instead: str) -> list[str]:
    """Return what makes a test set a poor one.

    share: that was to be held out of n examples. n_tested_of: the number of test examples of every class. instead: what
    else to do.
    """
    warnings = []
    if abs(n_tested / n - share) > MAX_MISSED_SHARE:
        warnings.append(f"The test set has {in_percent(n_tested / n)} of the examples instead of {in_percent(share)}.")
    rare_classes = [label for label, tested in n_tested_of.items() if tested < MIN_TESTED]
    if rare_classes:
        least = min(rare_classes, key=n_tested_of.__getitem__)
        classes = f"{count(len(rare_classes), 'class has', 'classes have')} fewer than {MIN_TESTED} test examples"
        example = f"{short(str(least), 20)} has {n_tested_of[least]:,}"
        warnings.append(f"{classes} ({example}), so the test score is uncertain: {instead}.")
    return warnings


class ByHash(NamedTuple):
    """Examples of a stream are held out by a hash of their record: the same ones however often it is read."""

    share: float
    seed: int

    def held_out(self, examples: "Table | Block") -> np.ndarray:
        """Return which examples are for the test."""
        target = _target(examples)
        return held_out_rows(examples.X, target, self.share, self.seed, examples.keys)

    def learned_from(self, blocks: list[Block]) -> list[np.ndarray]:
        """Return which rows of each block are learned from: all if too few would be."""
        retained = [~self.held_out(block) for block in blocks]
        if any(block.several for block in blocks):
            divided = any(keep.any() for keep in retained) and not all(keep.all() for keep in retained)
            return retained if divided else [np.ones(len(keep), bool) for keep in retained]
        labels = [label for block in blocks for label in block.labels()]
        y = np.concatenate([np.asarray(block.y)[keep] for block, keep in zip(blocks, retained, strict=True)])
        too_few = {*labels} - {*y.tolist()} or all(keep.all() for keep in retained)
        return [np.ones(len(keep), bool) for keep in retained] if too_few else retained

    def tell(self, reader: "Reader") -> None:
        """Let a reader measure only what is learned from."""
        reader.keyed, reader.learn_from = True, self.learned_from


class WithoutTest:
    """A reader without the examples of the test set, which go to a temporary file as they come: they may be many."""

    def __init__(self, reader: "Reader", share: float, seed: int, measured: bool = False):
        self._reader, self._by = reader, ByHash(share, seed)
        self._aside: Cache | None = None
        self._test: Generator[Block, None, None] | None = None
        self.n_held_out = self.n_examples = 0
        if not measured:
            self._by.tell(reader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def fingerprint(self) -> list[Any]:
        *files, recipe = self._reader.fingerprint()
        return [*files, [*self._by], recipe]

    def __iter__(self) -> Iterator[Block]:
        self.close()
        self._aside = Cache(ArrayFile.create())
        self.n_held_out = self.n_examples = 0
        for block in self._reader:
            aside = self._by.held_out(block)
            self.n_held_out += int(aside.sum())
            self.n_examples += len(aside)
            if aside.any():
                part = block.part(aside)
                self._aside.append(TrainingBlock(part.X, _target(part), part.weight))
            if not aside.all():
                yield block.part(~aside) if aside.any() else block

    def close(self) -> None:
        """Delete the temporary file, and end the thread that reads it, which the frames of an error may hold."""
        if self._test is not None:
            self._test.close()
        if self._aside is not None:
            self._aside.file.close()

    def test(self, n_features: int) -> Generator[Block, None, None]:
        """Return the examples that were kept aside; read again, if what was learned from came from a cache.

        n_features: of all blocks; the first ones knew fewer.
        """
        if self._aside is None:
            for _ in self:
                pass
        assert self._aside is not None
        self._test = self._test_blocks(self._aside, n_features)
        return self._test

    def _test_blocks(self, aside: Cache, n_features: int) -> Generator[Block, None, None]:
        for block in aside.reading(np.arange(aside.n_blocks)):
            codes, distinct = block.target.codes, block.target.classes.tolist()
            if block.target.indicator is not None:
                codes = np.arange(len(codes), dtype=np.int32)
                sets = [tuple(block.target.classes[row].tolist()) for row in block.target.indicator.astype(bool)]
                distinct = [*sets, tuple(distinct)]
            yield Block(widened(block.X, n_features), codes, distinct, block.weight, self.files[0], None)


@contextmanager
def without_test(reader: "Reader", share: float, seed: int, measured: bool = False) -> Iterator[Any]:
    """Return the reader, without the examples of the test set if there is to be one.

    measured: do these examples count where features are scaled, as those of a validation set do?
    """
    if not share:
        yield reader
        return
    with closing(WithoutTest(reader, share, seed, measured)) as training:
        yield training


def _target(examples: "Table | Block") -> Target:
    if examples.classes is not None and sp.issparse(examples.y):
        return target_of(examples.y, examples.classes)
    return read_target(examples.y, examples.X.shape[0])


class TableStream:
    """A table as a stream of one block, which a checkpoint can be resumed with: the weights are those of `fit`."""

    def __init__(self, table: Table, reader: "Reader", *about: Any):
        self._table, self._reader, self._about = table, reader, about

    def __iter__(self) -> Iterator[Any]:
        yield self._table.X, self._table.target, self._table.weight

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def fingerprint(self) -> list[Any]:
        *files, recipe = self._reader.fingerprint()
        return [*files, ["whole", *self._about], recipe]
