"""Files of comma-separated values in pieces of whole records: a quoted cell may go over many lines."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from perceptrons.data.source import Piece, pieces
from perceptrons.data.table import DataFileError
from perceptrons.scan.eight import ROOM
from perceptrons.scan.records import Found, scan_records

LONGEST_RECORD = 2**26  # bytes: quotes that are still open then were opened by mistake
NEWLINE, RETURN, QUOTE = 10, 13, 34
BLANK_LINES = re.compile(rb"(?:[ \t]*[\r\n])*")
OPEN = f"quotes are opened, but not closed within {LONGEST_RECORD:,} bytes or to the end of the file"


class Records(NamedTuple):
    """The records of a piece: where each begins, on which line, and how many cells it has (0: only spaces)."""

    begins: np.ndarray
    lines: np.ndarray
    cells: np.ndarray
    n_lines: int
    whole: int  # bytes up to a last record whose quotes stay open
    whole_lines: int


def records_of(piece: Piece, delimiter: str) -> Records:
    """Find the records of a piece."""
    content = piece.content[: piece.size]
    room = int(np.count_nonzero(content == NEWLINE) + np.count_nonzero(content == RETURN))
    found = Found(*np.empty((3, room), np.int64))
    n, n_lines, whole, whole_lines = scan_records(piece.content, piece.size, ord(delimiter), found)
    return Records(found.begins[:n], found.lines[:n], found.cells[:n], n_lines, whole, whole_lines)


def delimiter_of(piece: Piece, tabs: bool) -> str:
    """What separates cells, by the first line that is not blank: a comma (a tab if `tabs`), or else ; or a tab."""
    text = piece.content[: piece.size].tobytes()
    begin = BLANK_LINES.match(text).end()  # type: ignore[union-attr]
    line = text[begin : text.find(b"\n", begin) + 1].decode("utf-8", "replace")
    usual = "\t" if tabs else ","
    return usual if usual in line else next((other for other in ",;\t" if other in line), usual)


def csv_pieces(path: Path, tabs: bool, prompt: bool = False) -> Iterator[tuple[Piece, str]]:
    """The pieces of a file, joined where a quoted cell goes on, and what separates their cells.

    The first has a record at least, unless the file has none. The cut depends on the bytes alone. Quotes that are never
    closed are in the last piece, and an error behind it: nobody knows how much of what they swallow was meant.
    """
    kept: Piece | None = None
    delimiter, begun, is_open = "", False, False
    for piece in pieces(path, prompt):
        if kept is not None:
            piece = _joined(kept, piece)
        kept, is_open, whole = None, False, piece.size
        delimiter = delimiter if begun else delimiter_of(piece, tabs)
        if not begun or QUOTE in piece.content[: piece.size]:
            records = records_of(piece, delimiter)
            is_open = records.whole < piece.size
            begun = begun or bool(records.cells.any())
            whole = records.whole if begun else 0
        if whole < piece.size:
            kept = Piece(path, piece.content[whole:], piece.size - whole, piece.first and not whole)
        if whole:
            yield piece._replace(size=whole), delimiter
        if kept is not None and kept.size > LONGEST_RECORD:
            break
    if kept is not None:
        yield kept, delimiter
    if is_open:
        raise DataFileError(path, f"{OPEN}: what is behind them cannot be read")


def _joined(kept: Piece, piece: Piece) -> Piece:
    content = np.empty(kept.size + piece.size + ROOM, np.uint8)
    content[: kept.size] = kept.content[: kept.size]
    content[kept.size : kept.size + piece.size] = piece.content[: piece.size]
    return Piece(kept.path, content, kept.size + piece.size, kept.first)
