"""What a format of tables gives, the cells of a piece, and how they become rows: numbers, or named features."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from perceptrons.data.block import Bad, Parsed, Texts
from perceptrons.data.roles import Asked, Layout
from perceptrons.data.source import Piece
from perceptrons.features.local import Local, Workspace
from perceptrons.features.records import Roles
from perceptrons.features.tablerows import Coded, Further, Named, Strings, cut_columns, name_features
from perceptrons.features.values import is_label, no_label, shown
from perceptrons.scan.words import Rule

LARGEST_NARROW = 1e30


class Faults:
    """What is wrong with the rows of a piece: of each row the first cell that is."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, str]] = {}

    def add(self, row: int, column: int, what: str) -> None:
        if row not in self.rows or column < self.rows[row][0]:
            self.rows[row] = column, what


class Cells(NamedTuple):
    """The cells of a piece that count, by their roles."""

    n_lines: int
    lines: np.ndarray  # int64 (rows,): where each begins, from 0
    numbers: np.ndarray  # (rows, numbers)
    number_names: list[str]
    categories: dict[str, Coded]
    further: list[Further]
    texts: list[Strings]  # of each column of texts
    labels: Coded | None
    faults: Faults
    bad: list[Bad]  # records that are not even rows


def no_cells(n_lines: int, bad: list[Bad]) -> Cells:
    """Those of a piece without a row."""
    return Cells(n_lines, np.empty(0, np.int64), np.empty((0, 0)), [], {}, [], [], None, Faults(), bad)


class Rows(NamedTuple):
    """The rows of a piece; `named` is None where all are arrays of numbers, `words` where there is no text."""

    values: np.ndarray
    named: Named | None
    words: Local | None


class Shape(NamedTuple):
    """What rows are wanted."""

    dense: bool  # arrays
    narrow: bool  # of float32, in which features may share columns
    need_labels: bool
    prefixes: list[str]  # of the words of each column of texts; none: the texts of a row are one text


def to_rows(cells: Cells, layout: Layout, shape: Shape, rule: Rule | None, workspace: Workspace) -> Parsed:
    """What a reader makes of the cells; rows with a fault are left out."""
    column = (layout.label or 0) + 1
    if cells.labels is not None:
        cells = cells._replace(labels=_checked(cells.labels, column, cells.faults, shape.need_labels))
    for part in cells.further if shape.dense else ():
        for row, code in zip(part.rows.tolist(), part.codes.tolist(), strict=True):
            what = "comes here for the first time: name it under numbers or categories, or leave it out (ignore)"
            cells.faults.add(row, 1, f"key {shown(part.names[code])} {what}")
    if shape.narrow:
        _find_large(cells, layout)
    bad = list(cells.bad)
    if cells.faults.rows:
        bad += [Bad(int(cells.lines[row]), what, column) for row, (column, what) in cells.faults.rows.items()]
        cells = _without(cells, cells.faults)
    named = None if shape.dense else name_features(*cells[2:6], workspace)
    words = cut_columns(cells.texts, shape.prefixes, rule, workspace) if rule is not None and cells.texts else None
    labels = None if cells.labels is None else _occurring(cells.labels, column)
    return Parsed(cells.n_lines, cells.lines, labels, Rows(cells.numbers, named, words), None, bad)


def _find_large(cells: Cells, layout: Layout) -> None:
    """Numbers that float32 cannot hold, or not together with others."""
    what = f"is too large (at most {LARGEST_NARROW:.0e} where features are hashed or words): scale the values"
    for row, place in np.argwhere(np.abs(cells.numbers) > LARGEST_NARROW).tolist():
        column = layout.numbers[place] + 1 if layout.numbers else 1
        cells.faults.add(row, column, f"{shown(str(cells.numbers[row, place]))} {what}")
    for part in cells.further:
        for at in np.flatnonzero(np.abs(part.amounts) > LARGEST_NARROW).tolist():
            cells.faults.add(int(part.rows[at]), 1, f"{shown(str(part.amounts[at]))} {what}")


def _occurring(labels: Coded, column: int) -> Texts:
    """The labels, of the distinct ones only those that are left."""
    there = np.flatnonzero(np.bincount(labels.codes, minlength=len(labels.distinct)))
    number_of = np.zeros(len(labels.distinct), np.int32)
    number_of[there] = np.arange(len(there))
    return Texts(number_of[labels.codes], [labels.distinct[code] for code in there.tolist()], column)


def _checked(labels: Coded, column: int, faults: Faults, need_labels: bool) -> Coded | None:
    """The labels without spaces around them, each distinct one once.

    Those that are none are faults, or, if labels are not needed, leave all rows without labels.
    """
    number_of = {"": 0}
    codes = np.array([*(number_of.setdefault(text.strip(), len(number_of)) for text in labels.distinct), 0], np.int32)
    codes = codes[labels.codes]  # code -1, for none, is the last
    texts = list(number_of)
    missing = [number for number, text in enumerate(texts) if not is_label(text)]
    for row in np.flatnonzero(np.isin(codes, missing)).tolist():
        if not need_labels:
            return None
        if row in faults.rows:
            continue
        faults.add(row, column, f"{no_label(texts[codes[row]])}: give one, or remove the record")
    return Coded(codes, texts)


def _without(cells: Cells, faults: Faults) -> Cells:
    """The rows that have no fault."""
    keep = np.ones(len(cells.lines), bool)
    keep[list(faults.rows)] = False
    row_of = np.cumsum(keep) - 1
    further = [
        Further(row_of[part.rows[there]], part.codes[there], part.amounts[there], part.names)
        for part in cells.further
        for there in (keep[part.rows],)
    ]
    labels = cells.labels
    return cells._replace(
        lines=cells.lines[keep],
        numbers=cells.numbers[keep],
        categories={name: Coded(codes[keep], distinct) for name, (codes, distinct) in cells.categories.items()},
        further=further,
        texts=[Strings(content, begin[keep], end[keep]) for content, begin, end in cells.texts],
        labels=None if labels is None else Coded(labels.codes[keep], labels.distinct),
    )


class TableFormat(ABC):
    """A format of tables. One instance serves all files of a reader, once."""

    names: list[str] | None = None  # of the columns of the first file, where a file may be without names
    unnamed = False  # has the first file no names?

    def __init__(self) -> None:
        self.notices: dict[str, str] = {}  # what somebody should be told of columns, by their names

    @abstractmethod
    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        """Cut a file into pieces of whole records, of bounded size."""

    @abstractmethod
    def look(self, piece: Piece, asked: Asked, roles: Roles | None) -> tuple[Roles | None, Layout | None]:
        """What the columns are, unless it is settled, and where they are in the file that begins with this piece.

        Where the piece does not tell, the next one is asked: roles are None then, or the layout if no name is known.
        """

    def nothing(self, path: Path) -> tuple[str, int]:
        """What is wrong where there is no example, and the line."""
        return "there is no example in it: give a record for each", 1

    @abstractmethod
    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        """Read a piece; runs in several threads at once."""
