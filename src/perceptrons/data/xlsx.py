"""Excel workbooks (.xlsx), by the package openpyxl: the first sheet as a table, with a header in its first row."""

import datetime
import io
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np

from perceptrons.data.csv import header_of
from perceptrons.data.records import ROWS, FrameTable
from perceptrons.data.source import WHOLE_SHARE, Piece, read_bytes
from perceptrons.data.table import DataFileError
from perceptrons.data.table_columns import Cells, Layout
from perceptrons.engine.training.memory import memory
from perceptrons.features.collector import Roles

MAX_ROWS = 2**20  # of a sheet, as Excel has it
ZIP = b"PK"  # how a workbook begins
BROKEN = (  # what openpyxl raises where a workbook is not as it expects
    zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, TypeError, IndexError, AttributeError, EOFError,
    OSError, RuntimeError, OverflowError,
)  # fmt: skip


class XlsxTable(FrameTable):
    """The first sheet of a workbook. Dates are strings such as 2024-05-17."""

    def __init__(self) -> None:
        super().__init__()
        self._categories = set[str]()
        self._dates = dict[str, np.dtype]()  # they are strings already

    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        with _clear_errors(path):
            rows = _rows(path)
            line, first = next(rows, (0, ()))
        if not line:
            return
        first = first[: max(k + 1 for k, cell in enumerate(first) if cell is not None)]
        names, begun = header_of(path, line, ["" if cell is None else str(cell) for cell in first]), False
        kept = [] if names is not None else [(line, first)]
        names = names or [str(number + 1) for number in range(len(first))]
        self.names, self.unnamed = names, bool(kept)
        while True:
            with _clear_errors(path):
                for line, row in rows:
                    kept.append((line, row))
                    if len(kept) == ROWS:
                        break
            if begun and not kept:
                return
            yield _piece(path, names, kept, first=not begun)
            kept, begun = [], True

    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        columns: Any = piece.content
        cells = super().cells(piece, roles, layout)
        return cells._replace(lines=columns.lines, n_lines=0)  # lines of the sheet, whatever comes before


class _Columns(dict[str, np.ndarray]):
    """The columns of some rows, and where these are in the sheet, counted from 0."""

    lines: np.ndarray


def _rows(path: Path) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows that are not empty, with their numbers from 1."""
    try:
        import openpyxl
    except ImportError as error:
        raise ModuleNotFoundError(
            "Files of format 'xlsx' need the package openpyxl: pip install 'perceptrons[xlsx]'."
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and the like, which are not read
        content = io.BytesIO(_archive(path))
        book = openpyxl.load_workbook(content, read_only=True, data_only=True)
    try:
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what the file says of its size need not be true, and rows would be as wide
        for line, row in enumerate(sheet.iter_rows(values_only=True), 1):
            if line > MAX_ROWS:
                raise DataFileError(path, f"it has more than {MAX_ROWS:,} rows, as no xlsx file has: save it again")
            if any(cell is not None for cell in row):
                yield line, tuple(_plain(cell) for cell in row)
    finally:
        book.close()


def _archive(path: Path) -> bytes:
    """Return the workbook. Raise DataFileError for what is no workbook, or too much when it is uncompressed."""
    content = read_bytes(path, ZIP)
    limit = int(WHOLE_SHARE * memory())
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > limit:
        what = f"it has {size:,} bytes when uncompressed, too many for the memory of this machine"
        raise DataFileError(path, f"{what}: split it")
    return content


def _plain(cell: Any) -> Any:
    """A cell as JSON would have it: dates as ISO 8601 writes them, without a time if it is midnight."""
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        cell = cell.date()
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, datetime.timedelta) else cell


def _piece(path: Path, names: list[str], rows: list[tuple[int, tuple[Any, ...]]], first: bool) -> Piece:
    table = np.full((len(rows), len(names)), None, object)
    for place, (line, row) in enumerate(rows):
        wide = next((k for k in range(len(names), len(row)) if row[k] is not None), None)
        if wide is not None:
            raise DataFileError(
                path, "this cell's column has no name in the first row: name the column", line, wide + 1
            )
        width = min(len(row), len(names))
        table[place, :width] = row[:width]
    columns: Any = _Columns(zip(names, table.T, strict=True))
    columns.lines = np.array([line - 1 for line, _ in rows], np.int64)
    return Piece(path, columns, len(rows), first)


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """openpyxl's errors as ours."""
    try:
        yield
    except (DataFileError, ModuleNotFoundError):
        raise
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        what = f"this is not a complete xlsx file ({str(error).partition(chr(10))[0][:100]})"
        raise DataFileError(path, f"{what}: save it again, or give its format with --format") from error
