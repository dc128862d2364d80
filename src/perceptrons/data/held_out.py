"""Test sets: held out of a table, or of a stream by a hash of every record; and what makes one a poor test set."""

from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.data.labels import target_of
from perceptrons.data.splitting import SplitMethod, is_too_small, parts_of
from perceptrons.data.table import Block, Table
from perceptrons.engine.streaming.blocks import TrainingBlock, held_out_rows
from perceptrons.engine.streaming.cache import ArrayFile, Cache
from perceptrons.engine.training.labels import Target, read_target
from perceptrons.engine.training.matrices import widened
from perceptrons.engine.wording import count, in_percent, short

if TYPE_CHECKING:
    from perceptrons.data.reader import Reader

HELD_OUT_SHARE = 0.2  # of the examples, by default
MAX_MISSED_SHARE = 0.02
MIN_TESTED = 10  # examples of a class


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
        several = blocks[0].sets is not None  # examples are then split whatever their labels are
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
        if any(block.sets is not None for block in blocks):
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
            X = widened(block.X, n_features)
            codes, sets = block.target.codes, None
            if block.target.indicator is not None:
                codes = np.arange(len(codes), dtype=np.int32)
                sets = sp.csr_matrix(block.target.indicator, dtype=np.int64)
            yield Block(X, codes, block.target.classes, block.weight, self.files[0], None, sets=sets)


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
