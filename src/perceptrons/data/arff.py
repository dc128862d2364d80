"""ARFF, the format of Weka and OpenML: its header says what the columns are, and its rows are read as CSV.

A row becomes a line of CSV on the same line of the file, so that places in messages stay right.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from perceptrons.data import source
from perceptrons.data.csv import CsvTable, Dialect, csv_pieces, piece_of, quoted_cell
from perceptrons.data.source import Piece, pieces
from perceptrons.data.table import DataFileError, DataPath, describe_decoding_error
from perceptrons.data.table_reader import MAX_COLUMNS, Origin, Plan, assign_roles, likely_labels, locate_columns
from perceptrons.features.cells import Roles
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.values import shown

NUMBERS, STRINGS = ("numeric", "real", "integer"), ("string", "date")
WORD = rb"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
CELL = re.compile(rb"[ \t]*(?:(" + WORD + rb")|([^,]*?))[ \t]*(,|\Z)", re.DOTALL)
TABBED = re.compile(rb"[ ]*(?:(" + WORD + rb")|([^\t]*?))[ ]*(\t|\Z)", re.DOTALL)
PAIR = re.compile(rb"[ \t]*([0-9]+)[ \t]+(?:(" + WORD + rb")|([^,]*?))[ \t]*(,|\Z)", re.DOTALL)
DECLARED = re.compile(rb"@(\w+)(?:[ \t]+(?:(" + WORD + rb")|([^ \t{]+))[ \t]*(.*))?", re.DOTALL)
ESCAPE = re.compile(rb"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
COMMENT = re.compile(rb"(" + WORD + rb")|(?:^|(?<=[ \t]))%.*", re.DOTALL)
N_LABELS = re.compile(r":.*-[cC]\s+(-?\d+)", re.DOTALL)  # as MEKA writes it in the name of the relation
MAX_XML_BYTES = 2**24
ODD = b"'\"\\%{?\t"  # bytes that CSV does not have, or not so


class Attribute(NamedTuple):
    """A column: its name, whether it holds numbers, and the cell that a sparse row means by leaving it out."""

    name: str
    number: bool
    usual: bytes
    is_flag: bool = False  # are its values 0 and 1?


class ArffTable(CsvTable):
    """ARFF. Numeric attributes are numbers; nominal ones, strings and dates are categories."""

    def __init__(self, format: str = "arff") -> None:
        super().__init__(format)
        self._headers: dict[DataPath, _Header] = {}

    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        self._headers[path] = header = _Header(path)
        for piece, _ in csv_pieces(path, self._rows(path, header, prompt), ","):
            yield piece

    def _rows(self, path: DataPath, header: "_Header", prompt: bool) -> Iterator[Piece]:
        """Yield the rows as CSV, below as many blank lines as the header has."""
        for piece in pieces(path, prompt, encoding=self.encoding):
            text, first = piece.content[: piece.size].tobytes(), False
            if not header.ended:
                text, first = header.take(text), header.ended
            if header.ended:
                if first:
                    names = [attribute.name for attribute in header.attributes]
                    self._forms[path] = Dialect(",", False, names, header.line + 1)
                text = b"\n" * (header.line * first) + text
                for content in _as_csv(text, header.attributes):
                    yield piece_of(piece._replace(first=first), np.frombuffer(content, np.uint8))
                    first = False
        if not header.ended:
            raise header.error("there is no @data: ARFF has @attribute lines, @data, and the rows below it")

    def nothing(self, path: DataPath) -> tuple[str, int]:
        return "there are no rows below @data: write one row per example", self._headers[path].line + 1

    def find_columns(self, piece: Piece, options: ColumnOptions, roles: Roles | None) -> Plan:
        header, form = self._headers[piece.path], self._forms[piece.path]
        origin = Origin(piece.path, form.line - 1)
        if roles is None:
            if options.label_column is None and options.numbers is None and options.labelled:
                options = replace(options, label_column=header.label_columns(options.several))
            numbers = [attribute.number for attribute in header.attributes]
            roles = assign_roles(origin, form.names, options, numbers.__getitem__, likely_labels(form.names))
        return locate_columns(origin, form.names, roles, options, form)


class _Header:
    """The lines up to @data, while they are read."""

    def __init__(self, path: DataPath):
        self._path, self.line, self.ended = path, 0, False
        self.attributes: list[Attribute] = []
        self._names: set[str] = set()
        self.n_labels: int | None = None  # of the first columns, or, if negative, of the last

    def take(self, text: bytes) -> bytes:
        """Read whole lines; what is behind @data is given back."""
        begin = 0
        while begin < len(text) and not self.ended:
            end = text.index(b"\n", begin) + 1
            self.line += 1
            line = COMMENT.sub(rb"\1", text[begin:end].strip()).strip()
            begin = end
            if line:
                try:
                    self._declare(line)
                except UnicodeDecodeError as error:
                    raise self.error(describe_decoding_error(error)) from error
        return text[begin:]

    def label_columns(self, several: bool) -> str | list[str] | None:
        """Return the columns that the header calls labels. several: is an example to have several labels?"""
        names = [attribute.name for attribute in self.attributes]
        if self.n_labels is None:
            if several and len(names) > 1 and self.attributes[-1].is_flag:
                message = "the header does not say which columns are labels, and the last one holds only 0 and 1"
                hint = "name all label columns with --labels FILE.xml, or with --label-column once for each"
                raise DataFileError(self._path, f"{message}: {hint}")
            return None
        if not 0 < abs(self.n_labels) < len(names):
            message = f"@relation says -C {self.n_labels}, but there are {len(names)} attributes"
            raise DataFileError(self._path, f"{message}: correct the number of labels, or give --label-column")
        labels = names[: self.n_labels] if self.n_labels > 0 else names[self.n_labels :]
        return labels[0] if len(labels) == 1 else labels

    def error(self, message: str) -> DataFileError:
        return DataFileError(self._path, message, max(self.line, 1))

    def _declare(self, line: bytes) -> None:
        match = DECLARED.fullmatch(line)
        keyword = "" if match is None else match[1].decode().lower()
        if match is None or keyword not in ("relation", "attribute", "data"):
            message = f"{shown(line.decode())} is not @relation, @attribute or @data"
            raise self.error(f"{message}: correct or remove the line")
        if keyword == "data":
            if not self.attributes:
                raise self.error("there is no @attribute before @data: declare the columns")
            self.ended = True
        elif keyword == "relation":
            number = N_LABELS.search(line.decode())
            self.n_labels = None if number is None else int(number[1])
        else:
            self._add(_text(match[2] or match[3] or b"").decode().strip(), (match[4] or b"").strip())

    def _add(self, name: str, kind: bytes) -> None:
        word = kind.split(None, 1)[0].decode().lower() if kind else ""
        if not name or not word:
            raise self.error("an attribute needs a name and a type: @attribute height numeric")
        if name in self._names:
            raise self.error(f"two attributes have the name {shown(name)}: rename one")
        self._names.add(name)
        if len(self._names) > MAX_COLUMNS:
            raise self.error(f"a table may have {MAX_COLUMNS:,} attributes: write sparse rows as svmlight")
        if kind.startswith(b"{"):
            values = [_text(quoted or plain) for quoted, plain, _ in CELL.findall(kind[1:].rpartition(b"}")[0])]
            self.attributes.append(Attribute(name, False, quoted_cell(values[0]), {*values} - {b""} == {b"0", b"1"}))
        elif word in NUMBERS or word in STRINGS:
            self.attributes.append(Attribute(name, word in NUMBERS, b"0" if word in NUMBERS else b""))
        else:
            message = f"attribute {shown(name)} has the type {shown(word)}, which is not supported"
            raise self.error(f"{message}: choose numeric, string, date or {{a, b, ...}}")


def label_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the labels in an XML file of MULAN, with those below other labels."""
    path = Path(path)
    with path.open("rb") as file:
        content = file.read(MAX_XML_BYTES + 1)
    message = 'MULAN writes one element <label name="..."> for each label column'
    if len(content) > MAX_XML_BYTES or b"<!ENTITY" in content:
        raise DataFileError(path, f"this is not a list of labels: {message}")
    try:
        elements = list(ElementTree.fromstring(content).iter())
    except ElementTree.ParseError as error:
        raise DataFileError(path, f"this is not XML ({error}): {message}") from error
    labels = [element for element in elements if element.tag.rpartition("}")[2] == "label"]
    names = [name for element in labels if (name := element.get("name"))]
    if not names:
        raise DataFileError(path, f"there are no labels in it: {message}")
    return names


def _text(word: bytes) -> bytes:
    """Return what a word stands for, with or without quotes around it. An end of line becomes a space."""
    if word[:1] not in (b"'", b'"'):
        return word
    return ESCAPE.sub(_letter, word[1:-1])


def _letter(match: re.Match[bytes]) -> bytes:
    if len(match[1]) == 5:
        return chr(int(match[1][1:], 16)).encode("utf-8", "surrogatepass")
    return b" " if match[1] in (b"n", b"r", b"t", b"\n") else match[1]


def _as_csv(text: bytes, attributes: list[Attribute]) -> Iterator[bytes]:
    """Yield rows as CSV, one line per line, in pieces of bounded size: a short sparse row may become a long one."""
    if not any(byte in text for byte in ODD):
        if text:
            yield text
        return
    rows, size = list[bytes](), 0
    for line in text.removesuffix(b"\n").split(b"\n"):
        rows.append((_row(line, attributes) if any(byte in line for byte in ODD) else line) + b"\n")
        size += len(rows[-1])
        if size > source.PIECE:
            yield b"".join(rows)
            rows, size = [], 0
    if rows:
        yield b"".join(rows)


def _row(line: bytes, attributes: list[Attribute]) -> bytes:
    line = line.strip()
    if b"%" in line:
        line = COMMENT.sub(rb"\1", line).strip()
    if line.startswith(b"{") and line.endswith(b"}"):
        return _sparse_row(line, attributes)
    separated = TABBED if b"\t" in line and b"," not in line else CELL
    cells, place = [], 0
    while line:
        match = separated.match(line, place)
        assert match is not None  # as what has no quotes may be anything
        quoted, plain, separator = match.groups()
        cells.append(_cell(quoted, plain))
        place = match.end()
        if not separator:
            break
    return b",".join(cells)


def _cell(quoted: bytes | None, plain: bytes | None) -> bytes:
    """Return a cell as CSV has it; nothing where the value is missing. Quotes that are not closed stay wrong there."""
    if quoted is not None:
        return quoted_cell(_text(quoted))
    assert plain is not None
    if plain[:1] in (b"'", b'"'):
        return quoted_cell(plain) + b"?"
    return b"" if plain == b"?" else plain


def _sparse_row(line: bytes, attributes: list[Attribute]) -> bytes:
    """Return a row of places, counted from 0, and values. One that makes no sense becomes a row of one cell."""
    cells, inside = [attribute.usual for attribute in attributes], line[1:-1].strip()
    place, last = 0, -1
    while place < len(inside):
        match = PAIR.match(inside, place)
        if match is None or not last < int(match[1]) < len(cells):
            return quoted_cell(line)
        last = int(match[1])
        cells[last] = _cell(match[2], match[3])
        place = match.end()
    return b",".join(cells)
