"""A test set held out of a stream by a hash of every record, and the two parts of a table."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.data.labels import target_of
from perceptrons.data.table import Block, Table
from perceptrons.engine.streaming.blocks import TrainingBlock, held_out_rows
from perceptrons.engine.streaming.cache import ArrayFile, Cache
from perceptrons.engine.training.labels import Target, read_target
from perceptrons.engine.training.matrices import widened

if TYPE_CHECKING:
    from perceptrons.data.reader import Reader


class Split(NamedTuple):
    """What to learn from, what to test on (None: nothing), and a sentence about both. warnings: about the test set."""

    train: Table
    test: Table | None
    description: str
    warnings: tuple[str, ...] = ()


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
