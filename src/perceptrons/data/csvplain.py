"""Comma-separated values whose cells are plain, by compiled code: no cell needs pyarrow to be understood or refused."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from perceptrons.data.roles import Layout
from perceptrons.data.source import Piece
from perceptrons.features.local import Workspace, local_names
from perceptrons.features.tablerows import Coded, Strings
from perceptrons.features.values import LARGEST
from perceptrons.scan.csvrows import UNUSED, Found, scan_rows

NEWLINE, RETURN, QUOTE = 10, 13, 34
OPEN_NUMBERS = 1024  # that are left to Python in a piece at most


class Plain(NamedTuple):
    """What a piece of plain cells holds."""

    n_lines: int
    lines: np.ndarray
    numbers: np.ndarray
    categories: list[Coded]
    texts: list[Strings]
    labels: Coded | None


def read_plain(piece: Piece, begin: int, line: int, layout: Layout, workspace: Workspace) -> Plain | None:
    """Read the rows behind a place, which is in that line; None if a cell or a row is not plain."""
    content, width = piece.content[: piece.size], len(layout.names)
    if layout.texts and not _is_text(content):
        return None
    others = [*layout.categories, *([] if layout.label is None else [layout.label]), *layout.texts]
    targets = np.full(width, UNUSED)
    targets[layout.numbers] = np.arange(len(layout.numbers))
    targets[others] = UNUSED - 1 - np.arange(len(others))
    ends = int(np.count_nonzero(content == NEWLINE) + np.count_nonzero(content == RETURN))
    room = min(ends, piece.size // width + 1)  # a row has a byte for every cell at least
    found = Found(
        np.empty((room, len(layout.numbers))),
        np.empty((len(others), room), np.int64),
        np.empty((len(others), room), np.int64),
        np.empty(room, np.int64),
        np.empty((OPEN_NUMBERS, 4), np.int64),
    )
    delimiter = ord(layout.form.delimiter)
    text = piece.content.copy() if QUOTE in content else piece.content  # doubled quotes are made one
    with np.errstate(over="ignore"):  # what drops out of 64 bits does, where nothing is compiled
        n, n_lines, n_open = scan_rows(text, begin, piece.size, line, delimiter, targets, found)
    if n < 0:
        return None
    for row, column, first, last in found.opened[:n_open].tolist():
        found.values[row, column] = value = float(text[first:last].tobytes())
        if not abs(value) <= LARGEST:
            return None
    spans = [(found.begins[k, :n], found.ends[k, :n]) for k in range(len(others))]
    n_coded = len(others) - len(layout.texts)
    try:
        coded = [_coded(text, *span, workspace) for span in spans[:n_coded]]
    except UnicodeDecodeError:
        return None
    labels = None if layout.label is None else coded.pop()
    texts = [Strings(text, *span) for span in spans[n_coded:]]
    return Plain(n_lines, found.lines[:n], found.values[:n], coded, texts, labels)


def _coded(content: np.ndarray, begins: np.ndarray, ends: np.ndarray, workspace: Workspace) -> Coded:
    codes, names = local_names(content, begins, ends, workspace)
    arena, behind = names.arena.tobytes(), names.ends.tolist()
    return Coded(codes, [arena[a:b].decode().strip() for a, b in pairwise(behind)])


def _is_text(content: np.ndarray) -> bool:
    """Is it UTF-8?"""
    try:
        content.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True
