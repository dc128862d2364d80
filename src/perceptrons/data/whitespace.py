"""Tables whose columns are separated by blanks, any number of them: they become tabs, and the rest is as in TSV."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from perceptrons.data.csv import CsvTable, Form
from perceptrons.data.csv_rows import joined_pieces
from perceptrons.data.source import Piece, pieces
from perceptrons.engine.scan.bytes import ROOM

NEWLINE, RETURN, TAB, SPACE, QUOTE = b'\n\r\t "'
CELL = re.compile(rb'(\r\n|\r|\n)|("(?:[^"\r\n]|"")*")(?=[ \t\r\n])|([^ \t\r\n]+)')


class WhitespaceTable(CsvTable):
    """A table of cells between runs of spaces and tabs. A cell with blanks in it has quotes around it."""

    def __init__(self) -> None:
        super().__init__(tabs=True)

    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        for piece in with_a_record(piece_of(piece, _tabbed(piece)) for piece in pieces(path, prompt)):
            if piece.first:
                self._forms[path] = Form("\t", False, [], 1)
            yield piece


def _tabbed(piece: Piece) -> np.ndarray:
    """The text with one tab for every run of blanks, and none at the ends of a line."""
    content = piece.content[: piece.size]
    if QUOTE in content:
        return np.frombuffer(_with_quotes(content.tobytes()), np.uint8)
    blank = (content == SPACE) | (content == TAB)
    content, blank = (part[~blank | ~_before(blank)] for part in (content, blank))
    ends = (content == NEWLINE) | (content == RETURN)
    between = blank & _before(content == RETURN) & _behind(content == NEWLINE)  # without it they were one end of line
    keep = ~blank | between | ~(_before(ends, first=True) | _behind(ends))
    return np.where(between, SPACE, np.where(blank, TAB, content))[keep].astype(np.uint8)


def _before(flags: np.ndarray, first: bool = False) -> np.ndarray:
    """For every place, what holds of that before it."""
    return np.concatenate([[first], flags[:-1]])


def _behind(flags: np.ndarray) -> np.ndarray:
    return np.concatenate([flags[1:], [False]])


def _with_quotes(content: bytes) -> bytes:
    """The same of a text with quotes. Those that are not closed on their line are letters like others."""
    parts, before = list[bytes](), b"\n"
    for end, quoted, plain in CELL.findall(content):
        if not end:
            parts += [b"" if before else b"\t", quoted or _as_cell(plain)]
        else:
            parts += [b" " * (before == b"\r" and end == b"\n"), end]  # without it they were one end of line
        before = end
    return b"".join(parts)


def _as_cell(text: bytes) -> bytes:
    return quoted_cell(text) if text.startswith(b'"') else text


# ---- what other formats that become CSV need, too


def quoted_cell(text: bytes) -> bytes:
    """A cell as CSV writes it."""
    return b'"' + text.replace(b'"', b'""') + b'"'


def piece_of(piece: Piece, content: np.ndarray) -> Piece:
    """The piece with another text, which ends with a newline."""
    return Piece(piece.path, np.concatenate([content, np.zeros(ROOM, np.uint8)]), len(content), piece.first)


def with_a_record(found: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces, the first ones joined until there is more than blank lines: a file is known by its first record."""
    kept, begun = None, False
    for piece in found:
        if kept is not None:
            piece = joined_pieces(kept, piece)
        begun = begun or bool(piece.content[: piece.size].tobytes().strip())
        kept = None if begun else piece
        if begun:
            yield piece
    if kept is not None:
        yield kept
