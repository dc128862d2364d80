"""Comma- or tab-separated values: the pieces of a file, what its first row is, what its columns are, and its cells.

A quoted cell may continue on the next lines. Compiled code reads rows whose cells are plain; any other row is read in
Python, to find out what is wrong with it. Tables whose columns are separated by blanks become tab-separated values.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from perceptrons.data.source import Piece, pieces
from perceptrons.data.table import BadRecord, DataFileError, DataPath, describe_decoding_error
from perceptrons.data.table_reader import (
    Cells,
    Faults,
    Origin,
    Plan,
    TableFormat,
    assign_roles,
    check_width,
    empty_cells,
    locate_columns,
)
from perceptrons.engine.scan.bytes import ROOM
from perceptrons.engine.scan.csv import (
    UNUSED,
    Found,
    RecordPlaces,
    Wanted,
    count_numbers,
    exchange_points,
    scan_records,
    scan_rows,
)
from perceptrons.features.cells import CodedColumn, Contents, Roles, TextColumn
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.columns import local_names
from perceptrons.features.values import LARGEST, NOT_FINITE, NUMBER, Missing, shown, what_is_wrong

LONGEST_RECORD = 2**26  # bytes: quotes that are still open then were opened by mistake
NEWLINE, RETURN, QUOTE = 10, 13, 34
DECIMAL_COMMAS = re.compile(r"(?<=\d),(?=\d)")
BLANK_LINES = re.compile(rb"(?:[ \t]*[\r\n])*")
EXCHANGE = str.maketrans(",.", ".,")
OPEN_NUMBERS = 1024  # that are left to Python at a time
DECIMAL_POINT = "write decimals with a point"  # what other readers say
MAKE_NUMBERS = "convert text to numbers first"  # what other readers say
BEHIND = "there is text after the closing quote of this cell: double the quotes inside a cell, or remove them"
OPEN = f"a quote is opened, but not closed within {LONGEST_RECORD:,} bytes or before the end of the file"


class RecordBounds(NamedTuple):
    """The records of a piece: where each begins, on which line, and how many cells it has (0: only spaces)."""

    begins: np.ndarray
    lines: np.ndarray
    cells: np.ndarray
    n_lines: int
    whole: int  # bytes up to a last record whose quotes stay open
    whole_lines: int

    def after(self, record: int) -> tuple[int, int]:
        """Return where the next record begins, and on which line."""
        if record + 1 == len(self.begins):
            return self.whole, self.whole_lines
        return int(self.begins[record + 1]), int(self.lines[record + 1])


def records_of(piece: Piece, delimiter: str) -> RecordBounds:
    """Find the records of a piece."""
    content = piece.content[: piece.size]
    room = int(np.count_nonzero(content == NEWLINE) + np.count_nonzero(content == RETURN))
    places = RecordPlaces(*np.empty((3, room), np.int64))
    n, n_lines, whole, whole_lines = scan_records(piece.content, piece.size, ord(delimiter), places)
    return RecordBounds(places.begins[:n], places.lines[:n], places.cells[:n], n_lines, whole, whole_lines)


def delimiter_of(piece: Piece, tabs: bool) -> str:
    """Return what separates cells in the first line that is not blank: usually a comma, or a tab if `tabs`."""
    text = piece.content[: piece.size].tobytes()
    begin = BLANK_LINES.match(text).end()  # type: ignore[union-attr]
    line = text[begin : text.find(b"\n", begin) + 1].decode("utf-8", "replace")
    usual = "\t" if tabs else ","
    if ";" in line and usual in line and usual not in DECIMAL_COMMAS.sub("", line):
        return ";"
    return usual if usual in line else next((candidate for candidate in ",;\t" if candidate in line), usual)


def csv_pieces(
    path: DataPath, tabs: bool, prompt: bool = False, encoding: str | None = None
) -> Iterator[tuple[Piece, str]]:
    """Yield the pieces of a file and the delimiter of their cells; pieces are joined where a quoted cell continues.

    The first has a record at least, unless the file has none. The cut depends on the bytes alone. Quotes that are never
    closed are in the last piece, and an error behind it: nobody knows how much of what they swallow was meant.
    """
    pending: Piece | None = None
    delimiter, has_record, is_open = "", False, False
    for piece in pieces(path, prompt, encoding=encoding):
        if pending is not None:
            piece = joined_pieces(pending, piece)
        pending, is_open, complete = None, False, piece.size
        delimiter = delimiter if has_record else delimiter_of(piece, tabs)
        if not has_record or QUOTE in piece.content[: piece.size]:
            records = records_of(piece, delimiter)
            is_open = records.whole < piece.size
            has_record = has_record or bool(records.cells.any())
            complete = records.whole if has_record else 0
        if complete < piece.size:
            pending = Piece(path, piece.content[complete:], piece.size - complete, piece.first and not complete)
        if complete:
            yield piece._replace(size=complete), delimiter
        if pending is not None and pending.size > LONGEST_RECORD:
            break
    if pending is not None:
        yield pending, delimiter
    if is_open:
        raise DataFileError(path, f"{OPEN}: what follows cannot be read")


def joined_pieces(pending: Piece, piece: Piece) -> Piece:
    content = np.concatenate([pending.content[: pending.size], piece.content[: piece.size], np.zeros(ROOM, np.uint8)])
    return Piece(pending.path, content, pending.size + piece.size, pending.first)


def cells_of(piece: Piece, records: RecordBounds, record: int, delimiter: str) -> tuple[list[bytes], int | None]:
    """Return the cells of a record, and which of them has text behind its closing quotes, if one has."""
    content = piece.content[int(records.begins[record]) : records.after(record)[0]].tobytes()
    pattern, cells, bad_cell, place = _cell(delimiter), [], None, 0
    while True:
        cell = pattern.match(content, place)
        assert cell is not None
        cells.append(cell[3] if cell[1] is None else cell[1].replace(b'""', b'"'))
        if cell[2] and cell[2].strip() and bad_cell is None:
            bad_cell = len(cells) - 1
        place = cell.end() + 1
        if content[place - 1 : place] != delimiter.encode():
            return cells, bad_cell


@lru_cache
def _cell(delimiter: str) -> re.Pattern[bytes]:
    blank, plain = " " if delimiter == "\t" else "[ \t]", f"[^{delimiter}\r\n]*+"
    return re.compile(f'{blank}*+"((?:[^"]|"")*+)"({plain})|({plain})'.encode())


def read_rows(
    path: DataPath, tabs: bool, lines: list[int], encoding: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield line, from 1, and cells of the first record of a file and of those that begin on these lines."""
    begin, last = 1, max(lines)
    for piece, delimiter in csv_pieces(path, tabs, encoding=encoding):
        records = records_of(piece, delimiter)
        wanted = np.isin(records.lines + begin, lines)
        if begin == 1 and records.cells.any():
            wanted[np.argmax(records.cells > 0)] = True
        for record in np.flatnonzero(wanted).tolist():
            cells = cells_of(piece, records, record, delimiter)[0]
            yield begin + int(records.lines[record]), [cell.decode("utf-8", "replace") for cell in cells]
        begin += records.n_lines
        if begin > last:
            return


class CsvRows:
    """The rows of a piece while they are read."""

    def __init__(self, piece: Piece, plan: Plan, missing: Missing):
        self.piece, self.plan, self.n, self.faults, self.bad = piece, plan, 0, Faults(), list[BadRecord]()
        self.missing, self.words = missing.texts, missing.scanned()
        content, width = piece.content[: piece.size], len(plan.names)
        self.others = [*plan.categories, *([] if plan.label is None else [plan.label]), *plan.texts]
        self.targets = np.full(width, UNUSED)
        self.targets[plan.numbers] = np.arange(len(plan.numbers))
        self.targets[self.others] = UNUSED - 1 - np.arange(len(self.others))
        ends = int(np.count_nonzero(content == NEWLINE) + np.count_nonzero(content == RETURN))
        room = min(ends, piece.size // width + 1)  # a row has a byte for every cell at least
        self.found = Found(
            np.empty((room, len(plan.numbers))),
            np.empty((len(self.others), room), np.int64),
            np.empty((len(self.others), room), np.int64),
            np.empty(room, np.int64),
            np.empty((OPEN_NUMBERS, 4), np.int64),
        )
        self.has_points = plan.form.decimal == "."
        self.text = piece.content  # changed where doubled quotes are made one, or decimal commas points
        if QUOTE in content or not self.has_points:
            self.text = piece.content.copy()
        if not self.has_points:
            is_number = self.targets >= 0
            exchange_points(self.text, piece.size, ord(plan.form.delimiter), is_number)
        self.more: list[bytes] = []  # cells that are not in the text as they should be
        self.n_more = 0

    def read(self, begin: int, line: int) -> int:
        """Read all rows behind a place, which is in that line. Returns the number of lines."""
        piece, records = self.piece, None
        delimiter, targets = self.plan.form.delimiter, Wanted(self.targets, self.words)
        while begin < piece.size:
            with np.errstate(over="ignore"):  # what drops out of 64 bits does, where nothing is compiled
                self.n, n_open, begin, line = scan_rows(
                    self.text, begin, piece.size, line, ord(delimiter), targets, self.found, self.n
                )
            for row, column, first, last in self.found.opened[:n_open].tolist():
                self._put_number(row, column, self.piece.content[first:last].tobytes())
            if begin >= piece.size:
                break
            records = records or records_of(piece, delimiter)
            record = int(np.searchsorted(records.begins, begin))
            if record == len(records.begins):  # quotes that are never closed
                self.bad.append(BadRecord(records.whole_lines, f"{OPEN}: close it"))
                return records.n_lines
            self._read_record(records, record)
            begin, line = records.after(record)
        return line

    def _read_record(self, records: RecordBounds, record: int) -> None:
        """Read a row that is not plain."""
        names, line, n_cells = self.plan.names, int(records.lines[record]), int(records.cells[record])
        if n_cells != len(names) and not (len(names) == 1 and not n_cells):
            if n_cells:
                self.bad.append(describe_width(line, n_cells, len(names)))
            return
        cells, bad_cell = cells_of(self.piece, records, record, self.plan.form.delimiter)
        if bad_cell is not None:
            self.bad.append(BadRecord(line, BEHIND, bad_cell + 1))
            return
        self.found.lines[self.n] = line
        for column, place in enumerate(self.plan.numbers):
            self._put_number(self.n, column, cells[place])
        for number, place in enumerate(self.others):
            begin = len(self.text) + self.n_more
            self.found.begins[number, self.n], self.found.ends[number, self.n] = begin, begin + len(cells[place])
            self.more.append(cells[place])
            self.n_more += len(cells[place])
        self.n += 1

    def _put_number(self, row: int, column: int, cell: bytes) -> None:
        text = shown_text = cell.decode("utf-8", "replace")
        if not self.has_points:
            text = text.translate(EXCHANGE)
        value = float(text) if NUMBER.fullmatch(text) else np.nan
        self.found.values[row, column] = value
        if not abs(value) <= LARGEST and text.strip().lower() not in self.missing:
            message, place, word = what_is_wrong(text), self.plan.numbers[column], shown_text.strip()
            if DECIMAL_POINT in message:
                message += ", or give decimal=',' (--decimal ,)"
            if MAKE_NUMBERS in message:
                message = f"{shown(word)} is not a number: correct it, or list the column in categories (--categories)"
                message += f", or list the word in missing (--missing {word})" * bool(self.missing)
                first = self.piece.first and self.found.lines[row] + 1 == self.plan.form.line
                message += "; a header contains no numbers" if first and not self.plan.form.header else ""
            if "," in text and not self.has_points:
                message = f"{shown(word)} has a point, but decimals have a comma in this file: correct it"
                message += ", or give decimal='.' (--decimal .) if all decimals have points"
            self.faults.add(row, place + 1, f"column {shown(self.plan.names[place])}: {message}")

    def cells(self, n_lines: int) -> Cells:
        """Return all that was read."""
        text, plan = self.text, self.plan
        if self.more:
            text = np.concatenate([text, np.frombuffer(b"".join(self.more), np.uint8), np.zeros(ROOM, np.uint8)])
        spans = [(begins[: self.n], ends[: self.n]) for begins, ends in zip(*self.found[1:3], strict=True)]
        n_coded = len(self.others) - len(plan.texts)
        coded = [self._coded(text, *spans[k], self.others[k] + 1) for k in range(n_coded)]
        labels = None if plan.label is None else coded.pop()
        texts = [TextColumn(text, *span) for span in spans[n_coded:]]
        try:
            if texts:
                text[: len(text) if self.more else self.piece.size].tobytes().decode()
        except UnicodeDecodeError:
            for column, place in zip(texts, plan.texts, strict=True):
                self._check_text(column, place + 1)
        values, lines = self.found.values[: self.n], self.found.lines[: self.n]
        categories = {plan.names[place]: part for place, part in zip(plan.categories, coded, strict=True)}
        return Cells(n_lines, lines, Contents(values, categories, [], texts), labels, self.faults, self.bad)

    def _coded(self, content: np.ndarray, begins: np.ndarray, ends: np.ndarray, column: int) -> CodedColumn:
        codes, names = local_names(content, begins, ends)
        distinct = list[str]()
        for number, name in enumerate(names.as_bytes()):
            try:
                distinct.append(name.decode().strip())
            except UnicodeDecodeError as error:
                distinct.append("")
                for row in np.flatnonzero(codes == number).tolist():
                    self.faults.add(row, column, describe_decoding_error(error))
        return CodedColumn(codes, distinct)

    def _check_text(self, texts: TextColumn, column: int) -> None:
        for row, (begin, end) in enumerate(zip(texts.begin.tolist(), texts.end.tolist(), strict=True)):
            try:
                texts.content[begin:end].tobytes().decode()
            except UnicodeDecodeError as error:
                self.faults.add(row, column, describe_decoding_error(error))


def describe_width(line: int, cells: int, width: int) -> BadRecord:
    number = f"{cells} cell{'s' if cells > 1 else ''}"
    message = f"{number} here, but {width} in the first row: every row needs the same number"
    message += "; a comma within a cell needs quotes around it; if the file has another format, name it with --format"
    return BadRecord(line, message, min(cells, width) + 1)


SOME = 100  # rows
DECIMAL_COMMA = re.compile(rb"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
WHOLE = re.compile(rb"\s*[+-]?\d+\s*")
WITH_POINT = re.compile(rb"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
WITH_THOUSANDS = re.compile(rb"\s*[+-]?\d{1,3}(\.\d{3})+,\d+\s*")


class Dialect(NamedTuple):
    """How a file of comma-separated values is written: its dialect."""

    delimiter: str
    header: bool
    names: list[str]  # of the columns
    line: int  # of the first record
    decimal: str = "."


class CsvTable(TableFormat):
    """CSV or TSV. A file has a header if no cell of its first row is a number, unless one is told."""

    def __init__(self, format: str) -> None:
        super().__init__(format)
        self._forms: dict[DataPath, Dialect] = {}

    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        for piece, delimiter in csv_pieces(path, self.format == "tsv", prompt, self.encoding):
            if piece.first:
                self._forms[path] = Dialect(delimiter, False, [], 1)
            yield piece

    def nothing(self, path: DataPath) -> tuple[str, int]:
        form = self._forms.get(path)
        if form is None or not form.names:
            return "the file is empty: write one row per example", 1
        return "there is a header, but no rows below it: write one row per example", form.line + 1

    def find_columns(self, piece: Piece, options: ColumnOptions, roles: Roles | None) -> Plan | None:
        records = records_of(piece, self._forms[piece.path].delimiter)
        if piece.first:
            self._forms[piece.path] = self._form(piece, records, options, roles)
        form = self._forms[piece.path]
        if not form.names:
            return None
        origin = Origin(piece.path, form.line, form.header)
        rows = records.cells == len(form.names)
        if piece.first and form.header:
            rows[np.argmax(records.cells > 0)] = False
        form = self._forms[piece.path] = form._replace(decimal=self._decimal_of(piece, records, rows, form))
        if roles is None:
            if options.numbers is None and not rows.any():
                return Plan(None, form.names, None, [], [], [], form=form)
            flags = cache(lambda: _are_numbers(piece, records, rows, form, self.missing))
            roles = assign_roles(origin, form.names, options, lambda place: bool(flags()[place]), form.names)
        if self.names is None:
            self.names, self.unnamed = form.names, not form.header and options.names is None
        return locate_columns(origin, form.names, roles, options, form)

    def _decimal_of(self, piece: Piece, records: RecordBounds, rows: np.ndarray, form: Dialect) -> str:
        """Return what separates decimals: the option, or what the first rows have if cells are separated otherwise."""
        if self.decimal is None and form.delimiter != "," and have_decimal_commas(piece, records, rows, form):
            self.decimal = ","
        return self.decimal or "."

    def _form(self, piece: Piece, records: RecordBounds, options: ColumnOptions, roles: Roles | None) -> Dialect:
        """Return how a file is written, by its first record."""
        form = self._forms[piece.path]
        filled = np.flatnonzero(records.cells)
        if not len(filled):
            return form
        line = int(records.lines[filled[0]]) + 1
        cells, bad_cell = cells_of(piece, records, int(filled[0]), form.delimiter)
        texts = [cell.decode("utf-8", "replace") for cell in cells]
        header = None
        has_commas = (form.delimiter != "," or self.decimal == ",") and any(map(DECIMAL_COMMA.fullmatch, cells))
        if options.header or (options.header is None and not has_commas):
            header = header_of(piece.path, line, texts, bool(options.header))
        if header is not None:
            if bad_cell is not None:
                raise DataFileError(piece.path, BEHIND, line, bad_cell + 1)
            for place, cell in enumerate(cells, 1):
                try:
                    cell.decode()
                except UnicodeDecodeError as error:
                    raise DataFileError(piece.path, describe_decoding_error(error), line, place) from error
        check_width(Origin(piece.path, line), len(cells))
        names = header or self._names_without_header(len(cells), options, roles)
        return Dialect(form.delimiter, header is not None, names, line)

    def _names_without_header(self, width: int, options: ColumnOptions, roles: Roles | None) -> list[str]:
        known_names = options.names or self.names or []
        label = options.label_column if roles is None else roles.label
        labels = label if isinstance(label, list) else [label] if roles is None else [label, *roles.labels]
        for names in (known_names, [name for name in known_names if name not in labels]):
            if len(names) == width:
                return names
        return [str(number + 1) for number in range(width)]

    def cells(self, piece: Piece, plan: Plan | None) -> Cells:
        if plan is None or plan.roles is None:
            return self._no_cells(piece, plan)
        begin = line = 0
        if piece.first and plan.form.header:
            records = records_of(piece, plan.form.delimiter)
            begin, line = records.after(int(np.argmax(records.cells > 0)))
        rows = CsvRows(piece, plan, self.missing)
        return rows.cells(rows.read(begin, line))

    def _no_cells(self, piece: Piece, plan: Plan | None) -> Cells:
        """Return those of a piece before it is known what columns are: there is no row in it."""
        records = records_of(piece, self._forms[piece.path].delimiter)
        bad = []
        if plan is not None:
            bad = [
                describe_width(int(records.lines[record]), int(records.cells[record]), len(plan.names))
                for record in np.flatnonzero(records.cells).tolist()[piece.first and plan.form.header :]
            ]
        if records.whole < piece.size:
            bad.append(BadRecord(records.whole_lines, f"{OPEN}: close it"))
        return empty_cells(records.n_lines, bad)


def _are_numbers(piece: Piece, records: RecordBounds, rows: np.ndarray, form: Dialect, missing: Missing) -> np.ndarray:
    """Return which columns hold numbers: those of whose cells most are numbers. The other cells are errors later."""
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


def _have_commas(piece: Piece, records: RecordBounds, rows: np.ndarray, form: Dialect) -> np.ndarray:
    """Return which columns hold numbers with a comma in the first rows. Those that cannot be read are errors later."""
    some = _first_rows(piece, records, rows, form)
    have_commas = np.array([[bool(DECIMAL_COMMA.fullmatch(cell) or WITH_THOUSANDS.fullmatch(cell)) for cell in cells]
                      for cells in some])  # fmt: skip
    return 2 * have_commas.sum(axis=0) > len(some)


def have_decimal_commas(piece: Piece, records: RecordBounds, rows: np.ndarray, form: Dialect) -> bool:
    """Return whether a column of the first rows has decimal commas, and no column has decimal points."""
    has_commas = False
    for cells in zip(*_first_rows(piece, records, rows, form), strict=True):
        filled = [cell for cell in cells if cell.strip()]
        commas = sum(bool(DECIMAL_COMMA.fullmatch(cell)) for cell in filled)
        n_whole = sum(bool(WHOLE.fullmatch(cell)) for cell in filled)
        if 2 * sum(bool(WITH_POINT.fullmatch(cell)) for cell in filled) > len(filled):
            return False
        has_commas = has_commas or (commas > 0 and 2 * (commas + n_whole) > len(filled))
    return has_commas


def _first_rows(piece: Piece, records: RecordBounds, rows: np.ndarray, form: Dialect) -> list[list[bytes]]:
    return [cells_of(piece, records, record, form.delimiter)[0] for record in np.flatnonzero(rows)[:SOME].tolist()]


def header_of(path: DataPath, line: int, cells: list[str], is_header: bool = False) -> list[str] | None:
    """Return the names of the columns if the first row is a header: if the user says so, or no cell is a number."""
    names = [cell.strip() for cell in cells]
    if not is_header and any(map(_is_number, names)):
        is_numbered = len(names) > 3 and names[:-1] == [str(place) for place in range(len(names) - 1)]
        if is_numbered and not _is_number(names[-1]):
            message = (
                "this looks like a header of column numbers, as pandas writes it: name the columns, or leave the "
                "header out"
            )
            raise DataFileError(path, message, line)
        return None
    names_before: set[str] = set()
    for place, name in enumerate(names):
        if not name or name in names_before:
            message = f"two columns have the name {shown(name)}: rename one"
            if is_header:
                message = "in a header every column needs its own name: correct it"
            elif not name:
                message = "this column has no name: name it, or leave it out"
                message += " (if pandas wrote it as the index: use index=False)"
            raise DataFileError(path, message, line, place + 1)
        names_before.add(name)
    return names


def _is_number(text: str) -> bool:
    return bool(NUMBER.fullmatch(text) or NOT_FINITE.fullmatch(text))


TAB, SPACE = b"\t "
BLANK_SEPARATED_CELL = re.compile(rb'(\r\n|\r|\n)|("(?:[^"\r\n]|"")*")(?=[ \t\r\n])|([^ \t\r\n]+)')


class WhitespaceTable(CsvTable):
    """A table of cells between runs of spaces and tabs. A cell with blanks in it has quotes around it."""

    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        for piece in with_a_record(
            piece_of(piece, _separate_by_tabs(piece)) for piece in pieces(path, prompt, encoding=self.encoding)
        ):
            if piece.first:
                self._forms[path] = Dialect("\t", False, [], 1)
            yield piece


def _separate_by_tabs(piece: Piece) -> np.ndarray:
    """Return the text with one tab for every run of blanks, and none at the ends of a line."""
    content = piece.content[: piece.size]
    if QUOTE in content:
        return np.frombuffer(_separate_quoted_by_tabs(content.tobytes()), np.uint8)
    blank = (content == SPACE) | (content == TAB)
    content, blank = (part[~blank | ~_previous(blank)] for part in (content, blank))
    ends = (content == NEWLINE) | (content == RETURN)
    between = blank & _previous(content == RETURN) & _next(content == NEWLINE)  # without it they were one end of line
    keep = ~blank | between | ~(_previous(ends, first=True) | _next(ends))
    return np.where(between, SPACE, np.where(blank, TAB, content))[keep].astype(np.uint8)


def _previous(flags: np.ndarray, first: bool = False) -> np.ndarray:
    """For every place, what holds of that before it."""
    return np.concatenate([[first], flags[:-1]])


def _next(flags: np.ndarray) -> np.ndarray:
    return np.concatenate([flags[1:], [False]])


def _separate_quoted_by_tabs(content: bytes) -> bytes:
    """Return the same of a text with quotes. Those that are not closed on their line are letters like others."""
    parts, line_end = list[bytes](), b"\n"
    for end, quoted, plain in BLANK_SEPARATED_CELL.findall(content):
        if not end:
            parts += [b"" if line_end else b"\t", quoted or (quoted_cell(plain) if plain.startswith(b'"') else plain)]
        else:
            parts += [b" " * (line_end == b"\r" and end == b"\n"), end]  # without it they were one end of line
        line_end = end
    return b"".join(parts)


# ---- what other formats that become CSV need, too


def quoted_cell(text: bytes) -> bytes:
    """Return a cell as CSV writes it."""
    return b'"' + text.replace(b'"', b'""') + b'"'


def piece_of(piece: Piece, content: np.ndarray) -> Piece:
    """Return the piece with another text, which ends with a newline."""
    return Piece(piece.path, np.concatenate([content, np.zeros(ROOM, np.uint8)]), len(content), piece.first)


def with_a_record(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces; the first ones are joined until they hold a record, by which the file is known."""
    pending, has_record = None, False
    for piece in pieces:
        if pending is not None:
            piece = joined_pieces(pending, piece)
        has_record = has_record or bool(piece.content[: piece.size].tobytes().strip())
        pending = None if has_record else piece
        if has_record:
            yield piece
    if pending is not None:
        yield pending
