"""Comma-separated values: plain ones by compiled code, all others by pyarrow, as strings, to find what is wrong."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from perceptrons.data.arrowcells import coded, one_chunk, strings, values_of
from perceptrons.data.cells import Cells, Faults, no_cells
from perceptrons.data.csvfile import header_of
from perceptrons.data.csvpieces import OPEN, Records, csv_pieces, records_of
from perceptrons.data.csvplain import Plain, read_plain
from perceptrons.data.packed import BOM
from perceptrons.data.reader import Bad
from perceptrons.data.roles import Asked, Layout, Origin, locate, settle
from perceptrons.data.source import Piece
from perceptrons.data.table import DataFileError
from perceptrons.data.tableformat import TableFormat
from perceptrons.features.local import Workspace
from perceptrons.features.records import Roles
from perceptrons.features.tablerows import Coded, Strings
from perceptrons.features.values import LARGEST, shown, what_is_wrong

SPACES = r"[ \t\n\r\f\v]*"
NUMBER = rf"^{SPACES}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?{SPACES}$"
FILLED = r"[^ \t\n\r\f\v]"
NUMBER_WORD = rf"(?i)^{SPACES}[+-]?(nan|inf|infinity){SPACES}$"
MAKE_NUMBERS = "turn text into numbers first"  # what other readers say


class Form(NamedTuple):
    """How a file of comma-separated values is written."""

    delimiter: str
    header: bool
    names: list[str]  # of the columns
    line: int  # of the first record


class CsvTable(TableFormat):
    """CSV or TSV. A file has a header if no cell of its first row is a number, unless one is told."""

    def __init__(self, tabs: bool):
        super().__init__()
        self._tabs = tabs
        self._forms: dict[Path, Form] = {}
        self._rooms = threading.local()

    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        for piece, delimiter in csv_pieces(path, self._tabs, prompt):
            if piece.first:
                self._forms[path] = Form(delimiter, False, [], 1)
            yield piece

    def look(self, piece: Piece, asked: Asked, roles: Roles | None) -> tuple[Roles | None, Layout | None]:
        records = records_of(piece, self._forms[piece.path].delimiter)
        if piece.first:
            self._forms[piece.path] = self._form(piece, records, asked, roles)
        form = self._forms[piece.path]
        if not form.names:
            return roles, None
        layout = Layout(form.names, None, [], [], [], form)
        origin = Origin(piece.path, form.line, form.header)
        rows = _data_rows(piece, records, layout)
        if roles is None:
            if asked.numbers is None and not rows.any():
                return None, layout

            def are_numbers(places: list[int]) -> list[bool]:
                if self._read_plain(piece, layout._replace(numbers=places)) is not None:
                    return [True] * len(places)
                columns = _columns(piece, records, rows, layout, dict.fromkeys(places, pa.binary()))
                return [_is_number(columns[place]) for place in places]

            roles = settle(origin, form.names, asked, are_numbers, form.names)
        self.names = self.names or form.names
        return roles, locate(origin, form.names, roles, asked, form)

    def _form(self, piece: Piece, records: Records, asked: Asked, roles: Roles | None) -> Form:
        """How a file is written, by its first record."""
        form = self._forms[piece.path]
        filled = np.flatnonzero(records.cells)
        if not len(filled):
            return form
        line = int(records.lines[filled[0]]) + 1
        cells = _cells_of(piece, records, int(filled[0]), form.delimiter)
        texts = [cell.decode("utf-8", "replace") for cell in cells]
        header = None
        if asked.header is not False:
            header = _told_header(piece.path, line, texts) if asked.header else header_of(piece.path, line, texts)
            for place, cell in enumerate(cells if header is not None else ()):
                try:
                    cell.decode()
                except UnicodeDecodeError as error:
                    raise DataFileError(piece.path, _no_text(error), line, place + 1) from error
        names = header or self._names_without_header(len(cells), asked, roles)
        return Form(form.delimiter, header is not None, names, line)

    def _names_without_header(self, width: int, asked: Asked, roles: Roles | None) -> list[str]:
        known = asked.names or self.names or []
        label = asked.label if roles is None else roles.label
        for names in (known, [name for name in known if name != label]):
            if len(names) == width:
                return names
        return [str(number + 1) for number in range(width)]

    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        if roles is not None and layout is not None:
            cells = self._plain_cells(piece, roles, layout)
            if cells is not None:
                return cells
        records = records_of(piece, self._forms[piece.path].delimiter)
        bad = []
        if records.whole < piece.size:
            bad.append(Bad(records.whole_lines, f"{OPEN}: close them"))
        if layout is None:
            return no_cells(records.n_lines, bad)
        rows = _data_rows(piece, records, layout)
        for place in np.flatnonzero(~rows & (records.cells > 0)).tolist()[_is_headed(piece, layout) :]:
            bad.append(_wrong_width(int(records.lines[place]), int(records.cells[place]), len(layout.names)))
        if roles is None:
            return no_cells(records.n_lines, bad)
        numbers, coded_ones, texts, label, faults = _read_texts(piece, records, rows, layout)
        categories = dict(zip(roles.categories, coded_ones, strict=True))
        lines = records.lines[rows]
        return Cells(records.n_lines, lines, numbers, roles.number_names, categories, [], texts, label, faults, bad)

    def _plain_cells(self, piece: Piece, roles: Roles, layout: Layout) -> Cells | None:
        """The cells of a piece in which all are plain."""
        plain = self._read_plain(piece, layout)
        if plain is None:
            return None
        n_lines, lines, numbers, coded_ones, texts, labels = plain
        categories = dict(zip(roles.categories, coded_ones, strict=True))
        return Cells(n_lines, lines, numbers, roles.number_names, categories, [], texts, labels, Faults(), [])

    def _read_plain(self, piece: Piece, layout: Layout) -> Plain | None:
        begin = line = 0
        if _is_headed(piece, layout):
            records = records_of(piece, layout.form.delimiter)
            header = int(np.argmax(records.cells > 0))
            if header + 1 == len(records.begins):
                return None
            begin, line = int(records.begins[header + 1]), int(records.lines[header + 1])
        if not hasattr(self._rooms, "words"):
            self._rooms.words = Workspace()
        return read_plain(piece, begin, line, layout, self._rooms.words)


Read = tuple[np.ndarray, list[Coded], list[Strings], Coded | None, Faults]


def _told_header(path: Path, line: int, cells: list[str]) -> list[str]:
    """The names in the first row, which is a header, though they may be numbers."""
    names = [cell.strip() for cell in cells]
    for place, name in enumerate(names):
        if not name or name in names[:place]:
            raise DataFileError(path, "in a header every column needs a name of its own: mend it", line, place + 1)
    return names


def _is_headed(piece: Piece, layout: Layout) -> bool:
    """Is the first record of the piece a header?"""
    return piece.first and layout.form.header


def _data_rows(piece: Piece, records: Records, layout: Layout) -> np.ndarray:
    """Which records are rows of the table."""
    rows = records.cells == len(layout.names)
    if len(layout.names) == 1:
        rows |= records.cells == 0
    if _is_headed(piece, layout):
        rows[np.argmax(records.cells > 0)] = False
    return rows


def _wrong_width(line: int, cells: int, width: int) -> Bad:
    what = f"{cells} cell{'s' if cells > 1 else ''} here, but {width} in the first row: every row needs the same number"
    return Bad(line, f"{what}; a comma within a cell needs quotes around it", min(cells, width) + 1)


def _read_texts(piece: Piece, records: Records, rows: np.ndarray, layout: Layout) -> Read:
    """Read any piece, and find what is wrong with its cells."""
    faults = Faults()
    columns = _columns(piece, records, rows, layout, dict.fromkeys(layout.used(), pa.binary()))
    numbers = np.empty((int(rows.sum()), len(layout.numbers)))
    for place, column in enumerate(layout.numbers):
        numbers[:, place] = _numbers(columns[column], layout.names[column], column + 1, faults)
    decoded = {
        place: _decoded(columns[place], place + 1, faults) for place in layout.used() if place not in layout.numbers
    }
    categories = [coded(decoded[place], strip=True) for place in layout.categories]
    label = None if layout.label is None else coded(decoded[layout.label])
    return numbers, categories, [strings(decoded[place]) for place in layout.texts], label, faults


def _numbers(cells: Any, name: str, column: int, faults: Faults) -> np.ndarray:
    written = pc.match_substring_regex(cells, NUMBER)
    values = values_of(pc.ascii_trim_whitespace(pc.if_else(written, cells, b"0").cast(pa.string())).cast(pa.float64()))
    wrong = ~written.to_numpy(zero_copy_only=False) | ~(np.abs(values) <= LARGEST)
    for row in np.flatnonzero(wrong).tolist():
        text = cells[row].as_py().decode("utf-8", "replace")
        what = what_is_wrong(text)
        if MAKE_NUMBERS in what:
            what = f"{shown(text.strip())} is not a number: mend it, or name the column under categories (--categories)"
        faults.add(row, column, f"column {shown(name)}: {what}")
    return values


def _decoded(cells: Any, column: int, faults: Faults) -> Any:
    try:
        return cells.cast(pa.string())
    except pa.ArrowInvalid:
        pass
    texts = []
    for row, cell in enumerate(cells.to_pylist()):
        try:
            texts.append(cell.decode())
        except UnicodeDecodeError as error:
            faults.add(row, column, _no_text(error))
            texts.append("")
    return pa.array(texts, pa.string())


def _no_text(error: UnicodeDecodeError) -> str:
    return f"byte 0x{error.object[error.start]:02x} is not UTF-8 text: save the file as UTF-8"


def _is_number(cells: Any) -> bool:
    """Does a column hold numbers? If most of its cells do, those that do not are better complained of than learned."""
    filled = pc.sum(pc.match_substring_regex(cells, FILLED)).as_py() or 0
    written = pc.or_(pc.match_substring_regex(cells, NUMBER), pc.match_substring_regex(cells, NUMBER_WORD))
    return 2 * (pc.sum(written).as_py() or 0) > filled or not filled


def _cells_of(piece: Piece, records: Records, record: int, delimiter: str) -> list[bytes]:
    """The cells of a record."""
    begin, width = int(records.begins[record]), int(records.cells[record])
    end = int(records.begins[record + 1]) if record + 1 < len(records.begins) else records.whole
    columns = _parse(piece.content[begin:end], delimiter, width, dict.fromkeys(range(width), pa.binary()))
    return [columns[place][0].as_py() for place in range(width)]


def _columns(piece: Piece, records: Records, rows: np.ndarray, layout: Layout, kinds: dict[int, Any]) -> dict[int, Any]:
    """The columns at these places, as these types of Arrow."""
    if not rows.any() or not kinds:
        return {place: pa.array([], kind) for place, kind in kinds.items()}
    content = piece.content[: records.whole]
    if not rows.all():
        ends = np.append(records.begins[1:], records.whole)
        wanted = zip(records.begins[rows].tolist(), ends[rows].tolist(), strict=True)
        content = np.concatenate([content[begin:end] for begin, end in wanted])
    columns = _parse(content, layout.form.delimiter, len(layout.names), kinds)
    assert {len(column) for column in columns.values()} == {int(rows.sum())}, "pyarrow finds other records than we do"
    return columns


def _parse(content: np.ndarray, delimiter: str, width: int, kinds: dict[int, Any]) -> dict[int, Any]:
    if content[: len(BOM)].tobytes() == BOM:  # that of the file is gone: pyarrow would take another for one
        content = np.concatenate([np.frombuffer(b"\n", np.uint8), content])
    names = [str(place) for place in range(width)]
    table = pyarrow.csv.read_csv(
        pa.BufferReader(pa.py_buffer(content)),
        pyarrow.csv.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=names),
        pyarrow.csv.ParseOptions(delimiter=delimiter),
        pyarrow.csv.ConvertOptions(
            column_types={str(place): kind for place, kind in kinds.items()},
            include_columns=[str(place) for place in kinds],
            null_values=[],
            strings_can_be_null=False,
        ),
    )
    return {place: one_chunk(table.column(str(place))) for place in kinds}
