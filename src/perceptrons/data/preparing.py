"""Readers whose rows can be made only when all of them, or the first block, are known: scales are measured first.

A block whose cells wait has an `Unprepared` in place of its matrix.
"""

from abc import abstractmethod
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from perceptrons.data.reader import PieceReader
from perceptrons.data.source import Piece
from perceptrons.data.table import Block, DataFileError, Parsed, Skipped
from perceptrons.engine.streaming.threads import in_order
from perceptrons.features.collector import Roles
from perceptrons.features.derived import Derived
from perceptrons.features.preparation import Preparation, Wish, measured
from perceptrons.features.table_rows import Contents, Homed, Rows
from perceptrons.features.term_weights import Occurrences, TermWeights


class Unprepared:
    """The rows of a block before anything is known of the others: its cells."""

    def __init__(self, contents: Contents):
        self.contents = contents
        self.shape = (len(contents.numbers), 0)

    @property
    def nbytes(self) -> int:
        return self.contents.nbytes

    def __getitem__(self, rows: np.ndarray) -> "Unprepared":
        keep = np.zeros(self.shape[0], bool)
        keep[rows] = True
        return Unprepared(self.contents.part(keep))


HomedBlock = tuple[Block, Rows | Homed | None]


class PreparingReader(PieceReader):
    """A reader of cells, which become rows by a `Preparation`."""

    _roles: Roles | None
    _derived: Derived
    _wish: Wish
    _known: Preparation | None
    _preparation: Preparation | None
    _dense: bool

    @abstractmethod
    def _prepare(self, preparation: Preparation) -> None:
        """Now it is known how cells become features."""

    @abstractmethod
    def _rows(self, contents: Contents, preparation: Preparation, room: np.ndarray | None = None) -> Rows:
        """What a thread makes of cells."""

    @abstractmethod
    def _homed(self, rows: Rows) -> Rows | Homed:
        """The same rows, with the columns that their features have; as they are if they are arrays."""

    @abstractmethod
    def _assembled(self, rows: Rows | Homed) -> Any:
        """The matrix of these rows."""

    def _block(
        self, piece: Piece, parsed: Parsed, line: int
    ) -> tuple[Block | None, list[Skipped], DataFileError | None]:
        block, skipped, error = super()._block(piece, parsed, line)
        if block is not None and not self._labels.wait:
            block = self._prepared(block)
        return block, skipped, error

    def _finished(self, block: Block) -> Block:
        return self._prepared(super()._finished(block))

    def _finished_all(self, blocks: list[Block]) -> list[Block]:
        blocks = super()._finished_all(blocks)
        learned = self._measure(blocks)
        rooms = self._rooms_for(blocks)
        made = in_order(zip(blocks, rooms, strict=True), lambda one: self._rows_of(*one))
        homed: Iterable[HomedBlock] = ((block, rows and self._homed(rows)) for (block, _), rows in made)
        if self._preparation is not None and self._preparation.weigh_terms:
            homed = self._weighed([*homed], learned)  # when all words have been seen
        return [block if rows is None else block._replace(X=self._assembled(rows)) for block, rows in homed]

    def _rooms_for(self, blocks: list[Block]) -> list[np.ndarray | None]:
        """Parts of one array for the rows of each block, so that nothing has to be copied where all are numbers."""
        waiting = [block.X.contents.numbers for block in blocks if isinstance(block.X, Unprepared)]
        if not self._dense or len(waiting) < len(blocks) or any(part.dtype != np.float64 for part in waiting):
            return [None] * len(blocks)
        assert self._preparation is not None
        ends = np.cumsum([0, *map(len, waiting)])
        whole = np.empty((ends[-1], len(self._preparation.number_names)))
        return [whole[begin:end] for begin, end in pairwise(ends.tolist())]

    def _prepared(self, block: Block) -> Block:
        if not isinstance(block.X, Unprepared) or self.unprepared:
            return block
        learned = self._measure([block])
        rows = self._rows_of(block)
        assert rows is not None
        [(block, homed)] = self._weighed([(block, self._homed(rows))], learned)
        assert homed is not None
        return block._replace(X=self._assembled(homed))

    def _rows_of(self, block: Block, room: np.ndarray | None = None) -> Rows | None:
        """The rows of a block whose cells have waited; runs in several threads at once."""
        if not isinstance(block.X, Unprepared):
            return None
        assert self._preparation is not None
        return self._rows(block.X.contents, self._preparation, room)

    def _weighed(self, found: list[HomedBlock], learned: list[np.ndarray]) -> list[HomedBlock]:
        """Measure how words are weighed, unless it is known. learned: of every block, which rows are learned from."""
        assert self._preparation is not None
        if self._preparation.weigh_terms:
            assert self.columns is not None
            assert self._roles is not None
            rows = [homed for _, homed in found if isinstance(homed, Homed)]
            occurrences = (
                Occurrences(homed.words.starts, homed.of_words.columns[homed.words.numbers], counted)
                for homed, counted in zip(rows, learned, strict=True)
                if homed.words is not None and homed.of_words is not None
            )
            others = self._preparation.n_beside_texts(self._roles.categories)
            weights = TermWeights.measured(occurrences, self.columns.n_columns, others)
            self._prepare(self._preparation.weighed(weights))
        return found

    def _measure(self, blocks: list[Block]) -> list[np.ndarray]:
        """Measure on what is learned from how numbers are scaled and filled, unless it is known.

        Returns for every block that waited which of its rows these are.
        """
        waiting = [block for block in blocks if isinstance(block.X, Unprepared)]
        if self._preparation is not None or not waiting:
            return []
        assert self._roles is not None
        rows = [np.ones(len(block.X.contents.numbers), bool) for block in waiting]
        if self.learn_from is not None:
            rows = self.learn_from(waiting)
        parts = [block.X.contents.part(keep) for block, keep in zip(waiting, rows, strict=True)]
        try:
            self._prepare(measured(parts, self._roles, self._derived, self._wish, self._known))
        except ValueError as error:
            raise DataFileError(waiting[0].path, str(error).removesuffix(".")) from error
        return rows
