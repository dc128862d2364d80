"""Comma- or tab-separated values: the pieces of a file, what its first row is, what its columns are, and its cells.

A quoted cell may continue on the next lines. Compiled code reads rows whose cells are plain; any other row is read in
Python, to find out what is wrong with it. Tables whose columns are separated by blanks become tab-separated values.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
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
from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.scan.bytes import BAD, CASE, MINUS, NO_POINT, OPEN, PLUS, ROOM, SPACE, TAB, U1, Words, number
from perceptrons.features.cells import CodedColumn, Contents, Roles, TextColumn
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.columns import local_names
from perceptrons.features.values import LARGEST, NOT_FINITE, NUMBER, Missing, shown, what_is_wrong

MAX_RECORD_BYTES = 2**26  # bytes: quotes that are still open then were opened by mistake
NEWLINE, RETURN, QUOTE = 10, 13, 34
DECIMAL_COMMAS = re.compile(r"(?<=\d),(?=\d)")
BLANK_LINES = re.compile(rb"(?:[ \t]*[\r\n])*")
EXCHANGE = str.maketrans(",.", ".,")
MAX_OPEN_NUMBERS = 1024  # that are left to Python at a time
DECIMAL_POINT = "write decimals with a point"  # what other readers say
MAKE_NUMBERS = "convert text to numbers first"  # what other readers say
BEHIND = "there is text after the closing quote of this cell: double the quotes inside a cell, or remove them"
NOT_CLOSED = f"a quote is opened, but not closed within {MAX_RECORD_BYTES:,} bytes or before the end of the file"


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
    path: DataPath, parts: Iterable[Piece], delimiter: str | None = None, *, tabs: bool = False
) -> Iterator[tuple[Piece, str]]:
    """Yield the pieces of a file and the delimiter of their cells; pieces are joined where a quoted cell continues.

    The first has a record at least, unless the file has none. The cut depends on the bytes alone. Quotes that are never
    closed are in the last piece, and an error behind it: nobody knows how much of what they swallow was meant.
    delimiter: None: as the first line shows, where tabs is for files that usually have tabs.
    """
    pending: Piece | None = None
    current, has_record, is_open = delimiter or "", False, False
    for piece in parts:
        if pending is not None:
            piece = joined_pieces(pending, piece)
        pending, is_open, complete = None, False, piece.size
        current = current if has_record or delimiter else delimiter_of(piece, tabs)
        if not has_record or QUOTE in piece.content[: piece.size]:
            records = records_of(piece, current)
            is_open = records.whole < piece.size
            has_record = has_record or bool(records.cells.any())
            complete = records.whole if has_record else 0
        if complete < piece.size:
            pending = Piece(path, piece.content[complete:], piece.size - complete, piece.first and not complete)
        if complete:
            yield piece._replace(size=complete), current
        if pending is not None and pending.size > MAX_RECORD_BYTES:
            break
    if pending is not None:
        yield pending, current
    if is_open:
        raise DataFileError(path, f"{NOT_CLOSED}: what follows cannot be read")


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
    for piece, delimiter in csv_pieces(path, pieces(path, encoding=encoding), tabs=tabs):
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
        self.piece, self.plan, self.n, self.faults, self.bad = piece, plan, 0, Faults(plan), list[BadRecord]()
        self.missing = missing.texts
        content, width = piece.content[: piece.size], len(plan.names)
        roles, place_of = plan.read, {name: place for place, name in enumerate(plan.names)}
        self.others = [*roles.categories, *([] if plan.label is None else [plan.label]), *roles.texts]
        self._number_places = [place_of[name] for name in roles.numbers]
        self._other_places = [place_of[name] for name in self.others]
        targets = np.full(width, UNUSED)
        targets[self._number_places] = np.arange(len(roles.numbers))
        targets[self._other_places] = UNUSED - 1 - np.arange(len(self.others))
        self._targets = CellTargets(targets, missing.scanned(), ord(plan.form.decimal))
        ends = int(np.count_nonzero(content == NEWLINE) + np.count_nonzero(content == RETURN))
        n_rows = min(ends, piece.size // width + 1)  # a row has a byte for every cell at least
        shapes = (len(self.others), n_rows), (len(self.others), n_rows), n_rows, (MAX_OPEN_NUMBERS, 4)
        values = np.empty((n_rows, len(roles.numbers)))
        self.buffers = CellBuffers(values, *(np.empty(shape, np.int64) for shape in shapes))
        self.has_points = plan.form.decimal == "."
        self.text = piece.content.copy() if QUOTE in content else piece.content  # two quotes become one there
        self.more: list[bytes] = []  # cells that are not in the text as they should be
        self.n_more = 0

    def read(self, begin: int, line: int) -> int:
        """Read all rows behind a place, which is in that line. Returns the number of lines."""
        piece, records, delimiter = self.piece, None, self.plan.form.delimiter
        while begin < piece.size:
            with np.errstate(over="ignore"):  # what drops out of 64 bits does, where nothing is compiled
                self.n, n_open, begin, line = scan_rows(
                    self.text, begin, piece.size, line, ord(delimiter), self._targets, self.buffers, self.n
                )
            for row, column, first, last in self.buffers.opened[:n_open].tolist():
                self._put_number(row, column, self.piece.content[first:last].tobytes())
            if begin >= piece.size:
                break
            records = records or records_of(piece, delimiter)
            record = int(np.searchsorted(records.begins, begin))
            if record == len(records.begins):  # quotes that are never closed
                self.bad.append(BadRecord(records.whole_lines, f"{NOT_CLOSED}: close it"))
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
        self.buffers.lines[self.n] = line
        for column, place in enumerate(self._number_places):
            self._put_number(self.n, column, cells[place])
        for k, place in enumerate(self._other_places):
            begin = len(self.text) + self.n_more
            self.buffers.begins[k, self.n], self.buffers.ends[k, self.n] = begin, begin + len(cells[place])
            self.more.append(cells[place])
            self.n_more += len(cells[place])
        self.n += 1

    def _put_number(self, row: int, column: int, cell: bytes) -> None:
        text = shown_text = cell.decode("utf-8", "replace")
        if not self.has_points:
            text = text.translate(EXCHANGE)
        value = float(text) if NUMBER.fullmatch(text) else np.nan
        self.buffers.values[row, column] = value
        if not abs(value) <= LARGEST and text.strip().lower() not in self.missing:
            message, word = what_is_wrong(text), shown_text.strip()
            if DECIMAL_POINT in message:
                message += ", or give decimal=',' (--decimal ,)"
            if MAKE_NUMBERS in message:
                message = f"{shown(word)} is not a number: correct it, or list the column in categories (--categories)"
                message += f", or list the word in missing (--missing {word})" * bool(self.missing)
                first = self.piece.first and self.buffers.lines[row] + 1 == self.plan.form.line
                message += "; a header contains no numbers" if first and not self.plan.form.header else ""
            if "," in text and not self.has_points:
                message = f"{shown(word)} has a point, but decimals have a comma in this file: correct it"
                message += ", or give decimal='.' (--decimal .) if all decimals have points"
            self.faults.add_cell(row, self.plan.read.numbers[column], message)

    def columns(self) -> list[TextColumn]:
        """Return the columns that are no numbers, each as where its cells are in the text."""
        if self.more:
            more = np.frombuffer(b"".join(self.more), np.uint8)
            self.text = np.concatenate([self.text, more, np.zeros(ROOM, np.uint8)])
        spans = zip(self.buffers.begins, self.buffers.ends, strict=True)
        return [TextColumn(self.text, begins[: self.n], ends[: self.n]) for begins, ends in spans]

    def cells(self, n_lines: int) -> Cells:
        """Return all that was read."""
        plan, columns = self.plan, self.columns()
        n_coded = len(self.others) - len(plan.read.texts)
        coded = [self._coded(columns[k], self._other_places[k] + 1) for k in range(n_coded)]
        labels = None if plan.label is None else coded.pop()
        texts = columns[n_coded:]
        try:
            if texts:
                self.text[: None if self.more else self.piece.size].tobytes().decode()
        except UnicodeDecodeError:
            for column, place in zip(texts, self._other_places[n_coded:], strict=True):
                self._check_text(column, place + 1)
        values, lines = self.buffers.values[: self.n], self.buffers.lines[: self.n]
        categories = dict(zip(plan.read.categories, coded, strict=True))
        return Cells(n_lines, lines, Contents(values, categories, [], texts), labels, self.faults, self.bad)

    def _coded(self, cells: TextColumn, column: int) -> CodedColumn:
        codes, names = local_names(*cells)
        distinct = list[str]()
        for code, name in enumerate(names.as_bytes()):
            try:
                distinct.append(name.decode().strip())
            except UnicodeDecodeError as error:
                distinct.append("")
                for row in np.flatnonzero(codes == code).tolist():
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


DECIMAL_ROWS = 100  # the first rows, by which decimal commas are detected
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
    first_row: tuple[int, int] = (0, 0)  # where the rows of the first piece begin, and on which line


class CsvTable(TableFormat):
    """CSV or TSV. A file has a header if no cell of its first row is a number, unless one is told."""

    def __init__(self, format: str) -> None:
        super().__init__(format)
        self._forms: dict[DataPath, Dialect] = {}

    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        parts = pieces(path, prompt, encoding=self.encoding)
        for piece, delimiter in csv_pieces(path, parts, tabs=self.format == "tsv"):
            if piece.first:
                self._forms[path] = Dialect(delimiter, False, [], 1)
            yield piece

    def nothing(self, path: DataPath) -> tuple[str, int]:
        form = self._forms.get(path)
        if form is None or not form.names:
            return "the file is empty: write one row per example", 1
        return "there is a header, but no rows below it: write one row per example", form.line + 1

    def find_columns(self, piece: Piece, options: ColumnOptions, roles: Roles | None) -> Plan | None:
        if piece.first:
            records = records_of(piece, self._forms[piece.path].delimiter)
            self._forms[piece.path] = self._form(piece, records, options, roles)
        form = self._forms[piece.path]
        if not form.names:
            return None
        all_texts = Plan(Roles(None, [], [], form.names, []), form.names, form=form)
        rows = CsvRows(piece, all_texts, self.missing)
        rows.read(*(form.first_row if piece.first else (0, 0)))
        columns = rows.columns()
        if self.decimal is None and form.delimiter != "," and have_decimal_commas(columns):
            self.decimal = ","
        form = self._forms[piece.path] = form._replace(decimal=self.decimal or ".")
        if roles is None:
            if options.numbers is None and not rows.n and all(record.message != BEHIND for record in rows.bad):
                return all_texts._replace(roles=None, form=form)
            origin = Origin(piece.path, form.line, form.header)
            roles = assign_roles(
                origin, form.names, options, lambda place: holds_numbers(columns[place], form, self.missing), form.names
            )
        if self.names is None:
            self.names, self.unnamed = form.names, not form.header and options.names is None
        return locate_columns(Origin(piece.path, form.line, form.header), form.names, roles, options, form)

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
        first_row = (0, 0) if header is None else records.after(int(filled[0]))
        return Dialect(form.delimiter, header is not None, names, line, first_row=first_row)

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
        rows = CsvRows(piece, plan, self.missing)
        return rows.cells(rows.read(*(plan.form.first_row if piece.first else (0, 0))))

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
            bad.append(BadRecord(records.whole_lines, f"{NOT_CLOSED}: close it"))
        return empty_cells(records.n_lines, bad)


def holds_numbers(cells: TextColumn, form: Dialect, missing: Missing) -> bool:
    """Return whether most cells of a column are numbers, or it has no values. The other cells are errors later."""
    for point in {form.decimal, "."} if form.decimal == form.delimiter else {form.decimal}:  # both, to refuse one later
        with np.errstate(over="ignore"):
            n_numbers, n_filled = count_numbers(*cells, ord(point), missing.scanned())
        if 2 * n_numbers > n_filled or not n_filled:
            return True
    some = _first_cells(cells) if form.delimiter != "," else []  # numbers that cannot be read count here, too
    have_commas = [bool(DECIMAL_COMMA.fullmatch(cell) or WITH_THOUSANDS.fullmatch(cell)) for cell in some]
    return 2 * sum(have_commas) > len(some)


def have_decimal_commas(columns: list[TextColumn]) -> bool:
    """Return whether a column has decimal commas in its first rows, and no column has decimal points."""
    has_commas = False
    for column in columns:
        filled = [cell for cell in _first_cells(column) if cell.strip()]
        n_commas, n_whole, n_points = (
            sum(map(bool, map(pattern.fullmatch, filled))) for pattern in (DECIMAL_COMMA, WHOLE, WITH_POINT)
        )
        if 2 * n_points > len(filled):
            return False
        has_commas = has_commas or (n_commas > 0 and 2 * (n_commas + n_whole) > len(filled))
    return has_commas


def _first_cells(column: TextColumn) -> list[bytes]:
    content, begins, ends = column
    spans = zip(begins[:DECIMAL_ROWS].tolist(), ends[:DECIMAL_ROWS].tolist(), strict=True)
    return [content[begin:end].tobytes() for begin, end in spans]


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


class WhitespaceTable(CsvTable):
    """A table of cells between runs of spaces and tabs. A cell with blanks in it has quotes around it."""

    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        parts = pieces(path, prompt, encoding=self.encoding)
        for piece, _ in csv_pieces(path, (piece_of(part, _separate_by_tabs(part)) for part in parts), "\t"):
            if piece.first:
                self._forms[path] = Dialect("\t", False, [], 1)
            yield piece


def _separate_by_tabs(piece: Piece) -> np.ndarray:
    """Return the text with one tab for every run of blanks, and none at the ends of a line."""
    tabbed = np.empty((4 if QUOTE in piece.content[: piece.size] else 1) * piece.size + 1, np.uint8)
    return tabbed[: separate_by_tabs(piece.content, piece.size, tabbed)]


# ---- what other formats that become CSV need, too


def quoted_cell(text: bytes) -> bytes:
    """Return a cell as CSV writes it."""
    return b'"' + text.replace(b'"', b'""') + b'"'


def piece_of(piece: Piece, content: np.ndarray) -> Piece:
    """Return the piece with another text, which ends with a newline."""
    return Piece(piece.path, np.concatenate([content, np.zeros(ROOM, np.uint8)]), len(content), piece.first)


# ---- the compiled scan

NAN, INFINITY = np.frombuffer(b"nan", np.uint8), np.frombuffer(b"infinity", np.uint8)
UNUSED = -1


class CellBuffers(NamedTuple):
    """Arrays for the cells of a piece."""

    values: np.ndarray  # float64 (rows, numbers)
    begins: np.ndarray  # int64 (other columns, rows): where cells begin and end, without their quotes
    ends: np.ndarray
    lines: np.ndarray  # int64 (rows,): where each row begins
    opened: np.ndarray  # int64 (numbers, 4): numbers left to `float`: row, column, and where they are written


@inlined
def is_blank(byte: int) -> bool:
    return byte in (SPACE, TAB)


@inlined
def is_space(byte: int) -> bool:
    return byte in (SPACE, TAB, 11, 12)


class CellTargets(NamedTuple):
    """Where cells go. A number that is one of the words is missing, NaN."""

    targets: np.ndarray  # for each column of the file that of `values`, UNUSED, or UNUSED - 1 - k for other column k
    words: Words
    decimal_point: int  # the byte


@inlined
def is_word(content: np.ndarray, first: np.uint64, last: np.uint64, words: Words) -> bool:
    """Is content[first:last] one of the words, in whatever case?"""
    arena, ends = words
    for k in range(len(ends) - 1):
        begin, size = np.uint64(ends[k]), np.uint64(ends[k + 1] - ends[k])
        if last - first != size:
            continue
        same = True
        for j in range(size):
            byte = content[first + j]
            byte = byte | CASE if 65 <= byte <= 90 else byte
            same = same and byte == arena[begin + j]
        if same:
            return True
    return False


@inlined
def missing_until(content: np.ndarray, first: np.uint64, quoted: bool, delimiter: int, words: Words) -> np.uint64:
    """Where the cell ends whose text begins at first, if that is a word for a missing value; 0 if it is not."""
    p, last = first, first
    while content[p] != NEWLINE and content[p] != RETURN and content[p] != (QUOTE if quoted else delimiter):
        p += U1
        last = last if is_blank(content[p - U1]) else p
    return last if is_word(content, first, last, words) else np.uint64(0)


@inner
def unquote(content: np.ndarray, p: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64, int]:
    """Read the cell whose first quote is at p, and make one quote of every two in it.

    Changes content; returns where the text ends, the place behind the last quote, 0 if there is none, and the newlines.
    """
    p += U1
    last, newlines = p, 0
    while p < end:
        byte = content[p]
        p += U1
        if byte == QUOTE:
            if content[p] != QUOTE:
                return last, p, newlines
            p += U1
        newlines += byte == NEWLINE
        content[last] = byte
        last += U1
    return last, np.uint64(0), newlines


@compiled
def scan_rows(
    content: np.ndarray, begin: int, n_bytes: int, line: int, delimiter: int, cell_targets: CellTargets,
    buffers: CellBuffers, row: int | np.uint64,
) -> tuple[np.int64, int, np.int64, int]:  # fmt: skip
    """Read the rows of content[begin:n_bytes], which ends with a newline and has ROOM bytes behind it.

    line: that of the beginning. row: where the first one is put. Changes the buffers, and content where quotes are
    doubled. Returns the number of rows, of numbers left open, and the byte and the line of the first row that is not
    plain, or the end.
    """
    p, end = np.uint64(begin), np.uint64(n_bytes)
    values, begins, ends, lines, opened = buffers  # once: each access by name would count references
    targets, words, decimal_point = cell_targets
    width, row, n_open = np.uint64(len(targets)), np.uint64(row), 0
    while p < end:
        start, start_line = p, line
        while is_blank(content[p]) and content[p] != delimiter:
            p += U1
        if content[p] == NEWLINE or content[p] == RETURN:  # an empty line
            if width == U1 and p > start:
                return np.int64(row), n_open, np.int64(start), start_line
            p += U1 + np.uint64(content[p] == RETURN and content[p + U1] == NEWLINE and p + U1 < end)
            line += 1
            continue
        if row == np.uint64(len(lines)):
            return np.int64(row), n_open, np.int64(start), start_line
        p, lines[row], was_open, plain = start, line, n_open, True
        for place in range(width):
            target = targets[place]
            first = p
            while is_blank(content[p]) and content[p] != delimiter:
                p += U1
            quoted = content[p] == QUOTE
            if target >= 0:
                p += np.uint64(quoted)
                while quoted and is_blank(content[p]):
                    p += U1
                first = p
                point = decimal_point if quoted or decimal_point != delimiter else NO_POINT
                value, p, status = number(content, p, point)
                if status == BAD:
                    p = missing_until(content, first, quoted, delimiter, words)
                    if p == 0:
                        plain = False
                        break
                    value = np.nan
                elif not abs(value) <= LARGEST or (status == OPEN and n_open == len(opened)):
                    plain = False
                    break
                if status == OPEN:
                    opened[n_open, 0], opened[n_open, 1], opened[n_open, 2], opened[n_open, 3] = row, target, first, p
                    n_open += 1
                values[row, target] = value
                while quoted and is_blank(content[p]):
                    p += U1
                if quoted and content[p] != QUOTE:
                    plain = False
                    break
                p += np.uint64(quoted)
            elif quoted:
                first = p + U1
                last, p, newlines = unquote(content, p, end)
                if p == 0:
                    plain = False
                    break
                line += newlines
                if target < UNUSED:
                    begins[UNUSED - 1 - target, row], ends[UNUSED - 1 - target, row] = first, last
            else:
                while content[p] != delimiter and content[p] != NEWLINE and content[p] != RETURN:
                    p += U1
                if target < UNUSED:
                    begins[UNUSED - 1 - target, row], ends[UNUSED - 1 - target, row] = first, p
            while is_blank(content[p]) and content[p] != delimiter:
                p += U1
            if place + U1 < width:
                if content[p] != delimiter:
                    plain = False
                    break
                p += U1
        if not plain or not (content[p] == NEWLINE or content[p] == RETURN):
            return np.int64(row), was_open, np.int64(start), start_line
        p += U1 + np.uint64(content[p] == RETURN and content[p + U1] == NEWLINE and p + U1 < end)
        line += 1
        row += U1
    return np.int64(row), n_open, np.int64(p), line


@inlined
def is_missing_number(content: np.ndarray, first: np.uint64, last: np.uint64) -> bool:
    """Is this nan, inf or infinity, with or without a sign?"""
    first += np.uint64(first < last and (content[first] == PLUS or content[first] == MINUS))
    size = last - first
    if size != 3 and size != 8:
        return False
    is_nan = size == 3
    is_inf = True
    for k in range(size):
        byte = content[first] | CASE
        is_nan = is_nan and byte == NAN[k % 3]
        is_inf = is_inf and byte == INFINITY[k]
        first += U1
    return is_nan or is_inf


@compiled
def count_numbers(
    content: np.ndarray, begins: np.ndarray, ends: np.ndarray, decimal_point: int, words: Words
) -> tuple[int, int]:
    """Return how many of the cells content[begins[k]:ends[k]] are numbers, and how many are not missing.

    Missing are blank cells and the words. Other words for what is no finite number count as numbers.
    """
    n_numbers, n_filled = 0, 0
    for k in range(len(begins)):
        first, last = np.uint64(begins[k]), np.uint64(ends[k])
        while first < last and is_space(content[first]):
            first += U1
        while first < last and (is_space(content[last - U1]) or content[last - U1] in (NEWLINE, RETURN)):
            last -= U1
        if first < last and not is_word(content, first, last, words):
            _, p, status = number(content, first, decimal_point)
            n_filled += 1
            n_numbers += (status != BAD and p == last) or is_missing_number(content, first, last)
    return n_numbers, n_filled


@compiled
def separate_by_tabs(content: np.ndarray, n_bytes: int, tabbed: np.ndarray) -> np.int64:
    """Write the text with one tab for every run of blanks, and none at the ends of a line. Returns its size.

    A cell in quotes may have blanks. If its quotes are not closed on its line, they are letters. Between a return and a
    newline one blank stays, as they would else be one end of line. Changes tabbed.
    """
    p, end, n = np.uint64(0), np.uint64(n_bytes), np.uint64(0)
    is_first = True
    while p < end:
        byte = content[p]
        if is_blank(byte):
            p += U1
            continue
        if byte in (NEWLINE, RETURN):
            if byte == NEWLINE and n > 0 and tabbed[n - U1] == RETURN and content[p - U1] != RETURN:
                tabbed[n] = SPACE
                n += U1
            tabbed[n] = byte
            n, p, is_first = n + U1, p + U1, True
            continue
        if not is_first:
            tabbed[n] = TAB
            n += U1
        is_first, is_quoted = False, byte == QUOTE
        q, is_closed = p + U1, False
        while is_quoted and not is_closed and content[q] != NEWLINE and content[q] != RETURN:
            follows = content[q + U1]
            if content[q] == QUOTE and follows == QUOTE:
                q += U1
            elif content[q] == QUOTE:
                is_closed = is_blank(follows) or follows in (NEWLINE, RETURN)
                if not is_closed:
                    break
            q += U1
        if is_quoted and not is_closed:
            tabbed[n] = QUOTE
            n += U1
        while p < q if is_closed else not (is_blank(content[p]) or content[p] == NEWLINE or content[p] == RETURN):
            tabbed[n] = content[p]
            n += U1
            if content[p] == QUOTE and is_quoted and not is_closed:
                tabbed[n] = QUOTE
                n += U1
            p += U1
        if is_quoted and not is_closed:
            tabbed[n] = QUOTE
            n += U1
    return np.int64(n)


class RecordPlaces(NamedTuple):
    """Room for every record that a piece of text can hold."""

    begins: np.ndarray  # int64: the byte a record begins at
    lines: np.ndarray  # int64: the line it begins on, from 0
    cells: np.ndarray  # int64: how many it has; 0 for a line of nothing but spaces


@compiled
def scan_records(
    content: np.ndarray, n_bytes: int, delimiter: int, places: RecordPlaces
) -> tuple[np.int64, int, np.int64, int]:
    """Find all records of content[:n_bytes], which ends with a newline; lines that are empty are none.

    Changes places. Returns the number of records and lines, and the byte and the line where a last record begins whose
    quotes stay open, if there is one, else where the text ends. That record does not count, but its lines do.
    """
    p, end = np.uint64(0), np.uint64(n_bytes)
    begins, lines, cells = places  # once: each access by name would count references
    n, line = np.uint64(0), 0
    while p < end:
        begin, begin_line, count, blank = p, line, 0, True
        more = True
        while more:
            count += 1
            while content[p] != delimiter and (content[p] == SPACE or content[p] == TAB):
                p += U1
            if content[p] == QUOTE:
                blank, closed = False, False
                p += U1
                while p < end and not closed:
                    byte = content[p]
                    p += U1
                    line += byte == NEWLINE
                    if byte == QUOTE:
                        closed = p == end or content[p] != QUOTE
                        p += np.uint64(not closed)
                if not closed:
                    return np.int64(n), line, np.int64(begin), begin_line
            byte = content[p]
            while byte != delimiter and byte != NEWLINE and byte != RETURN:
                blank = blank and byte in (SPACE, TAB)
                p += U1
                byte = content[p]
            more = byte == delimiter
            blank = blank and not more
            p += np.uint64(more)
        if p > begin:
            begins[n], lines[n], cells[n] = begin, begin_line, 0 if blank else count
            n += U1
        p += np.uint64(content[p] == RETURN)
        if p < end and content[p] == NEWLINE:
            p += U1
        line += 1
    return np.int64(n), line, np.int64(end), line
