"""Excel workbooks (.xlsx), read by the package python-calamine: the first sheet as a table.

A workbook is checked before calamine reads it, because calamine holds every cell between the first and the last one in
memory: two cells in opposite corners of a sheet would need 17 billion.
"""

import datetime
import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

import numpy as np

from perceptrons.data.csv import header_of
from perceptrons.data.records import ROWS, FrameTable
from perceptrons.data.source import WHOLE_SHARE, Piece, read_bytes
from perceptrons.data.table import DataFileError, DataPath
from perceptrons.data.table_reader import Cells, Plan
from perceptrons.engine.training.memory import memory

MAX_ROWS = 2**20  # of a sheet, as in Excel
CELL_BYTES = 32  # of a cell in calamine's memory
EXACT_WHOLE = 1e15  # below it, every whole number has exactly one shortest decimal form
ZIP = b"PK"  # the first bytes of a workbook
OTHER_FORMATS = ("xl/workbook.bin", "content.xml")  # parts of .xlsb and .ods, which calamine would read as well
INVALID_WORKBOOK = (  # what zipfile and ElementTree raise for a damaged file; encrypted ones are RuntimeErrors
    zipfile.BadZipFile, zlib.error, ElementTree.ParseError, KeyError, ValueError, RuntimeError, EOFError,
)  # fmt: skip

# Attribute r of rows and cells: <row r="3">, <c r="B3">. XML allows spaces around = and both quotes.
POSITION = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]*)(\d*)""")
ROW_TAG, CELL_TAG = re.compile(rb"<(?:\w+:)?row\b"), re.compile(rb"<(?:\w+:)?c[\s/>]")
ERROR_CELL = re.compile(  # a cell of type e, which may have a formula before its value
    rb"""(?s)<c\s(?=[^>]*\bt="e")[^>]*\br="([A-Z]+)(\d+)"[^>]*>(?:<f\b.*?(?:/>|</f>))?<v>([^<]*)</v>"""
)

Row = list[Any]


class XlsxTable(FrameTable):
    """The first sheet of a workbook, with a header in its first row. Dates are strings such as 2024-05-17."""

    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        rows = _rows(path)
        line, first = next(rows, (0, []))
        if not line:
            return
        first = first[: max(k + 1 for k, cell in enumerate(first) if cell is not None)]
        names = header_of(path, line, ["" if cell is None else str(cell) for cell in first])
        pending = [(line, first)] if names is None else []
        self.unnamed = names is None
        self.names = names = names or [str(number + 1) for number in range(len(first))]
        is_first = True
        for line, row in rows:
            pending.append((line, row))
            if len(pending) == ROWS:
                yield _piece(path, names, pending, is_first)
                pending, is_first = [], False
        if pending or is_first:
            yield _piece(path, names, pending, is_first)

    def cells(self, piece: Piece, plan: Plan | None) -> Cells:
        columns: Any = piece.content
        cells = super().cells(piece, plan)
        return cells._replace(lines=columns.lines, n_lines=0)  # the row numbers of the sheet


class _Columns(dict[str, np.ndarray]):
    """The columns of some rows, and where these are in the sheet, counted from 0."""

    lines: np.ndarray


def _rows(path: DataPath) -> Iterator[tuple[int, Row]]:
    """Yield the rows that are not empty, with their numbers from 1."""
    try:
        from python_calamine import CalamineError, SheetTypeEnum, load_workbook
    except ImportError as error:
        raise ModuleNotFoundError(
            "Files of format 'xlsx' need the package python-calamine: pip install 'perceptrons[xlsx]'."
        ) from error
    content = read_bytes(path, ZIP)
    with _readable_errors(path, CalamineError):
        _check_archive(path, content)
        with load_workbook(io.BytesIO(content)) as book:
            sheets = [k for k, sheet in enumerate(book.sheets_metadata) if sheet.typ == SheetTypeEnum.WorkSheet]
            sheet = book.get_sheet_by_index(sheets[0]) if sheets else None
            name = book.sheet_names[sheets[0]] if sheets else ""
        errors = _error_cells(content, name) if sheet is not None else {}
    if sheet is None or sheet.start is None:
        return
    margin = [None] * sheet.start[1]  # rows begin at the first column that is used
    for line, cells in enumerate(sheet.iter_rows(), 1):
        row = [*margin, *map(_plain, cells)]
        for column, text in errors.get(line, ()):
            row[column] = text
        if any(cell is not None for cell in row):
            yield line, row


def _check_archive(path: DataPath, content: bytes) -> None:
    """Raise DataFileError for an archive that is not a workbook, or needs too much memory.

    All parts are uncompressed here once. zipfile checks their lengths and checksums, so that a part cannot be longer
    than the archive says.
    """
    limit = int(WHOLE_SHARE * memory())
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        n_bytes = sum(part.file_size for part in archive.infolist())
        if n_bytes > limit:
            message = f"it has {n_bytes:,} bytes when uncompressed, too many for the memory of this machine: split it"
            raise DataFileError(path, message)
        names = {name.lower() for name in archive.namelist()}
        if "xl/workbook.xml" not in names or names.intersection(OTHER_FORMATS):
            raise zipfile.BadZipFile("there is no xl/workbook.xml")
        for part in archive.infolist():
            xml = archive.read(part)
            if b"sheetData" in xml:
                _check_extent(path, xml, limit)


def _check_extent(path: DataPath, xml: bytes, limit: int) -> None:
    """Raise DataFileError if the cells of a sheet are so far apart that the area between them needs too much memory."""
    positions = POSITION.findall(xml)
    last_row = max((int(digits[:20]) for _, digits in positions if digits), default=0)
    if last_row > MAX_ROWS:
        raise DataFileError(path, f"it has more than {MAX_ROWS:,} rows, as no xlsx file has: save it again")
    last_column = max((_column_number(letters) for letters in {letters for letters, _ in positions}), default=0)
    # Rows and cells without a position follow those before them.
    n_cells_by_row = [len(CELL_TAG.findall(row)) for row in ROW_TAG.split(xml)]
    n_positioned = sum(bool(letters) for letters, _ in positions)
    n_rows = last_row + max(0, len(n_cells_by_row) - 1 - (len(positions) - n_positioned))
    n_columns = last_column + (max(n_cells_by_row) if sum(n_cells_by_row) > n_positioned else 0)
    if n_rows * n_columns * CELL_BYTES > limit:
        message = f"its cells are spread over {n_rows:,} rows and {n_columns:,} columns, too many for the memory of "
        raise DataFileError(path, message + "this machine: delete the cells that are far from the table")


def _column_number(letters: bytes) -> int:
    """Return the number of a column, counted from 1: A is 1, AA is 27."""
    number = 0
    for letter in letters.upper()[:8]:
        number = 26 * number + letter - ord("A") + 1
    return number


def _error_cells(content: bytes, sheet_name: str) -> dict[int, list[tuple[int, str]]]:
    """Return the errors of a sheet by line: (column, "#DIV/0!"). calamine gives them as empty cells."""
    cells: dict[int, list[tuple[int, str]]] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        xml = archive.read(_sheet_part(archive, sheet_name))
        if b't="e"' in xml:
            for letters, digits, text in ERROR_CELL.findall(xml):
                cells.setdefault(int(digits), []).append((_column_number(letters) - 1, text.decode()))
    return cells


def _sheet_part(archive: zipfile.ZipFile, sheet_name: str) -> str:
    """Return the name of the part with a sheet. The workbook names a relationship, and that names the part."""
    workbook = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    sheets = {element.get("name"): element for element in workbook.iter() if element.tag.endswith("}sheet")}
    identifiers = [value for key, value in sheets[sheet_name].items() if key.endswith("}id")]
    relationships = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {element.get("Id"): element.get("Target", "") for element in relationships}
    return posixpath.normpath(posixpath.join("/xl", targets["".join(identifiers)])).lstrip("/")


def _plain(cell: Any) -> Any:
    """Return a cell as JSON would have it: None if empty, whole numbers without a fraction, dates in ISO 8601."""
    if isinstance(cell, str):
        return cell or None
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < EXACT_WHOLE else cell
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        cell = cell.date()
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, datetime.timedelta) else cell


def _piece(path: DataPath, names: list[str], rows: list[tuple[int, Row]], is_first: bool) -> Piece:
    table = np.full((len(rows), len(names)), None, object)
    for k, (line, row) in enumerate(rows):
        unnamed = next((k for k in range(len(names), len(row)) if row[k] is not None), None)
        if unnamed is not None:
            message = "this cell's column has no name in the first row: name the column"
            raise DataFileError(path, message, line, unnamed + 1)
        width = min(len(row), len(names))
        table[k, :width] = row[:width]
    columns: Any = _Columns((name, _as_numbers(cells)) for name, cells in zip(names, table.T, strict=True))
    columns.lines = np.array([line - 1 for line, _ in rows], np.int64)
    return Piece(path, columns, len(rows), is_first)


def _as_numbers(cells: np.ndarray) -> np.ndarray:
    """Return a column of only whole numbers, or of only fractions, as numbers: these are read at once, not by cell."""
    kinds = set(map(type, cells.tolist()))
    return cells.astype(np.int64 if kinds == {int} else np.float64) if kinds in ({int}, {float}) else cells


@contextmanager
def _readable_errors(path: DataPath, calamine_error: type[Exception]) -> Iterator[None]:
    """Raise DataFileError for whatever zipfile, the XML parser or calamine find wrong in a file."""
    try:
        yield
    except DataFileError:
        raise
    except (calamine_error, *INVALID_WORKBOOK) as error:
        message = f"this is not a complete xlsx file ({str(error).partition(chr(10))[0][:100]})"
        raise DataFileError(path, f"{message}: save it again, or give its format with --format") from error
