"""Comma- or tab-separated values: what a file's first row is, what its columns are, and its cells."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from perceptrons.data.csv_rows import (
    BEHIND,
    OPEN,
    Records,
    Rows,
    cells_of,
    csv_pieces,
    records_of,
    wrong_width,
)
from perceptrons.data.source import Piece
from perceptrons.data.table import Bad, DataFileError, no_text
from perceptrons.data.table_columns import (
    Asked,
    Cells,
    Layout,
    Origin,
    TableFormat,
    check_width,
    locate,
    no_cells,
    settle,
)
from perceptrons.engine.scan.csv import count_numbers, exchange_points
from perceptrons.features.collector import Roles
from perceptrons.features.named_rows import Workspaces
from perceptrons.features.values import NOT_FINITE, NUMBER, Missing, shown

SOME = 100  # rows
DECIMAL_COMMA = re.compile(rb"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
WHOLE = re.compile(rb"\s*[+-]?\d+\s*")
WITH_POINT = re.compile(rb"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
WITH_THOUSANDS = re.compile(rb"\s*[+-]?\d{1,3}(\.\d{3})+,\d+\s*")


class Form(NamedTuple):
    """How a file of comma-separated values is written."""

    delimiter: str
    header: bool
    names: list[str]  # of the columns
    line: int  # of the first record
    decimal: str = "."


class CsvTable(TableFormat):
    """CSV or TSV. A file has a header if no cell of its first row is a number, unless one is told."""

    def __init__(self, tabs: bool):
        super().__init__()
        self._tabs = tabs
        self._forms: dict[Path, Form] = {}
        self._rooms = Workspaces()

    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        for piece, delimiter in csv_pieces(path, self._tabs, prompt):
            if piece.first:
                self._forms[path] = Form(delimiter, False, [], 1)
            yield piece

    def nothing(self, path: Path) -> tuple[str, int]:
        form = self._forms.get(path)
        if form is None or not form.names:
            return "the file is empty: write one row per example", 1
        return "there is a header, but no rows below it: write one row per example", form.line + 1

    def look(self, piece: Piece, asked: Asked, roles: Roles | None) -> tuple[Roles | None, Layout | None]:
        records = records_of(piece, self._forms[piece.path].delimiter)
        if piece.first:
            self._forms[piece.path] = self._form(piece, records, asked, roles)
        form = self._forms[piece.path]
        if not form.names:
            return roles, None
        origin = Origin(piece.path, form.line, form.header)
        rows = records.cells == len(form.names)
        if piece.first and form.header:
            rows[np.argmax(records.cells > 0)] = False
        form = self._forms[piece.path] = form._replace(decimal=self._decimal_of(piece, records, rows, form))
        if roles is None:
            if asked.numbers is None and not rows.any():
                return None, Layout(form.names, None, [], [], [], form)
            roles = settle(
                origin, form.names, asked,
                lambda places: _are_numbers(piece, records, rows, form, self.missing)[places].tolist(), form.names,
            )  # fmt: skip
        if self.names is None:
            self.names, self.unnamed = form.names, not form.header and asked.names is None
        return roles, locate(origin, form.names, roles, asked, form)

    def _decimal_of(self, piece: Piece, records: Records, rows: np.ndarray, form: Form) -> str:
        """Return what separates decimals: as asked, or as the first rows have it where cells have other separators."""
        if self.decimal is None and form.delimiter != "," and have_decimal_commas(piece, records, rows, form):
            self.decimal = ","
        return self.decimal or "."

    def _form(self, piece: Piece, records: Records, asked: Asked, roles: Roles | None) -> Form:
        """How a file is written, by its first record."""
        form = self._forms[piece.path]
        filled = np.flatnonzero(records.cells)
        if not len(filled):
            return form
        line = int(records.lines[filled[0]]) + 1
        cells, wrong = cells_of(piece, records, int(filled[0]), form.delimiter)
        texts = [cell.decode("utf-8", "replace") for cell in cells]
        header = None
        has_commas = (form.delimiter != "," or self.decimal == ",") and any(map(DECIMAL_COMMA.fullmatch, cells))
        if asked.header or (asked.header is None and not has_commas):
            header = _told_header(piece.path, line, texts) if asked.header else header_of(piece.path, line, texts)
            if header is not None and wrong is not None:
                raise DataFileError(piece.path, BEHIND, line, wrong + 1)
            for place, cell in enumerate(cells if header is not None else ()):
                try:
                    cell.decode()
                except UnicodeDecodeError as error:
                    raise DataFileError(piece.path, no_text(error), line, place + 1) from error
        check_width(Origin(piece.path, line), [""] * len(cells))
        names = header or self._names_without_header(len(cells), asked, roles)
        return Form(form.delimiter, header is not None, names, line)

    def _names_without_header(self, width: int, asked: Asked, roles: Roles | None) -> list[str]:
        known = asked.names or self.names or []
        label = asked.label if roles is None else roles.label
        labels = label if isinstance(label, list) else [label] if roles is None else [label, *roles.labels]
        for names in (known, [name for name in known if name not in labels]):
            if len(names) == width:
                return names
        return [str(number + 1) for number in range(width)]

    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        if layout is None or roles is None:
            return self._no_cells(piece, layout)
        begin = line = 0
        if piece.first and layout.form.header:
            records = records_of(piece, layout.form.delimiter)
            header = int(np.argmax(records.cells > 0))
            last = header + 1 == len(records.begins)
            begin = records.whole if last else int(records.begins[header + 1])
            line = records.whole_lines if last else int(records.lines[header + 1])
        rows = Rows(piece, layout, self.missing)
        return rows.cells(rows.read(begin, line), roles, self._rooms.words)

    def _no_cells(self, piece: Piece, layout: Layout | None) -> Cells:
        """Of a piece before it is known what columns are: there is no row in it."""
        records = records_of(piece, self._forms[piece.path].delimiter)
        bad = []
        if layout is not None:
            bad = [
                wrong_width(int(records.lines[record]), int(records.cells[record]), len(layout.names))
                for record in np.flatnonzero(records.cells).tolist()[piece.first and layout.form.header :]
            ]
        if records.whole < piece.size:
            bad.append(Bad(records.whole_lines, f"{OPEN}: close it"))
        return no_cells(records.n_lines, bad)


def _are_numbers(piece: Piece, records: Records, rows: np.ndarray, form: Form, missing: Missing) -> np.ndarray:
    """Which columns hold numbers? If most of its cells do, those that do not are better complained of than learned."""
    begins = records.begins[rows]
    counts, filled = np.zeros((2, len(form.names)), np.int64)
    content = piece.content
    if form.decimal == ",":
        content = content.copy()
        exchange_points(content, piece.size, ord(form.delimiter), np.ones(len(form.names), bool))
    with np.errstate(over="ignore"):
        count_numbers(content, begins, ord(form.delimiter), missing.scanned(), counts, filled)
    are = (2 * counts > filled) | (filled == 0)
    return are if form.delimiter == "," else are | _have_commas(piece, records, rows, form)


def _have_commas(piece: Piece, records: Records, rows: np.ndarray, form: Form) -> np.ndarray:
    """Which columns hold numbers with a comma, by the first rows? Those that cannot be read are complained of, too."""
    some = _first_rows(piece, records, rows, form)
    found = np.array([[bool(DECIMAL_COMMA.fullmatch(cell) or WITH_THOUSANDS.fullmatch(cell)) for cell in cells]
                      for cells in some])  # fmt: skip
    return 2 * found.sum(axis=0) > len(some)


def have_decimal_commas(piece: Piece, records: Records, rows: np.ndarray, form: Form) -> bool:
    """Has a column numbers with decimal commas by the first rows, and none has numbers with decimal points?"""
    found = False
    for cells in zip(*_first_rows(piece, records, rows, form), strict=True):
        filled = [cell for cell in cells if cell.strip()]
        commas = sum(bool(DECIMAL_COMMA.fullmatch(cell)) for cell in filled)
        whole = sum(bool(WHOLE.fullmatch(cell)) for cell in filled)
        if 2 * sum(bool(WITH_POINT.fullmatch(cell)) for cell in filled) > len(filled):
            return False
        found = found or (commas > 0 and 2 * (commas + whole) > len(filled))
    return found


def _first_rows(piece: Piece, records: Records, rows: np.ndarray, form: Form) -> list[list[bytes]]:
    return [cells_of(piece, records, record, form.delimiter)[0] for record in np.flatnonzero(rows)[:SOME].tolist()]


def _told_header(path: Path, line: int, cells: list[str]) -> list[str]:
    """The names in the first row, which is a header, though they may be numbers."""
    names = [cell.strip() for cell in cells]
    seen: set[str] = set()
    for place, name in enumerate(names):
        if not name or name in seen:
            raise DataFileError(path, "in a header every column needs its own name: correct it", line, place + 1)
        seen.add(name)
    return names


def header_of(path: Path, line: int, cells: list[str]) -> list[str] | None:
    """The names of the columns if the first row is a header: if none of its cells is a number."""
    names = [cell.strip() for cell in cells]
    if any(map(_is_number, names)):
        counted = len(names) > 3 and names[:-1] == [str(place) for place in range(len(names) - 1)]
        if counted and not _is_number(names[-1]):
            what = (
                "this looks like a header of column numbers, as pandas writes it: name the columns, or leave the "
                "header out"
            )
            raise DataFileError(path, what, line)
        return None
    seen: set[str] = set()
    for place, name in enumerate(names):
        if not name:
            what = (
                "this column has no name: name it, or leave it out (if pandas wrote it as the index: use index=False)"
            )
            raise DataFileError(path, what, line, place + 1)
        if name in seen:
            raise DataFileError(path, f"two columns have the name {shown(name)}: rename one", line, place + 1)
        seen.add(name)
    return names


def _is_number(text: str) -> bool:
    return bool(NUMBER.fullmatch(text) or NOT_FINITE.fullmatch(text))
