"""The first examples of files, to look at: their features, where they stand, and their texts as they are written."""

import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perceptrons.data.csv import read_rows
from perceptrons.data.labels import joined_label_sets, target_of
from perceptrons.data.source import BOM, decoded_from, opened
from perceptrons.data.table import Block, DataPath, HasPlaces, concatenate_rows, joined
from perceptrons.data.text import LABEL, Folder
from perceptrons.engine.training.labels import Target
from perceptrons.engine.training.matrices import widened
from perceptrons.features.values import Recipe

if TYPE_CHECKING:
    from perceptrons.data.reader import Reader

NO_LINES = ("parquet", "arrow", "xlsx")  # formats whose bytes nobody can read
AS_LINES = ("text", "vw")  # formats whose lines can be read by people as they are


class Sample(NamedTuple):
    """The first examples of a reader. y, lines: None where there are none; of_file: the number of the file of each."""

    X: Any
    y: Any
    lines: np.ndarray | None
    of_file: np.ndarray
    seen: int  # examples that were read
    more: bool  # are there more than these?
    one: Any  # features and line, in a folder the file, of the example asked for by its number; None: there is none

    def texts(self, reader: "Reader") -> "Originals | None":
        """Return the examples as people can read them, if their files hold texts."""
        source = reader.recipe()
        has_texts = source["format"] in AS_LINES or (source.get("text_column") and source["format"] not in NO_LINES)
        return (
            Originals(reader.files, self.of_file, self.lines, source) if has_texts and self.lines is not None else None
        )


def first_examples(reader: "Reader", n_features: int, at_most: int, number: int | None = None) -> Sample | None:
    """Return up to `at_most` examples, and the one with this number (from 1); None if there are no examples."""
    blocks: list[Block] = []
    requested, n_read = None, 0
    for block in reader:
        X = widened(block.X, n_features)
        if n_read < at_most:
            blocks.append(block._replace(X=X))
        if number is not None and n_read < number <= n_read + X.shape[0]:
            place = number - n_read - 1
            line = None if block.lines is None else int(block.lines[place])
            requested = X[[place]], block.path.place(line, 1) if isinstance(block.path, HasPlaces) else line
        n_read += X.shape[0]
        if n_read > at_most and (number is None or requested is not None):
            break
    if not blocks:
        return None
    files = {path: number for number, path in enumerate(reader.files)}
    of_file = np.repeat([files[block.path] for block in blocks], [block.X.shape[0] for block in blocks])
    y, lines = labels_of(blocks), joined([block.lines for block in blocks])
    X = concatenate_rows([block.X for block in blocks], n_features)[:at_most]
    y = y.part(np.arange(min(at_most, len(y.codes)))) if isinstance(y, Target) else None if y is None else y[:at_most]
    lines = None if lines is None else lines[:at_most]
    return Sample(X, y, lines, of_file[:at_most], n_read, n_read > at_most, requested)


def labels_of(blocks: list[Block]) -> Any:
    """Return the labels of blocks; where examples may have several, with their names."""
    if all(block.several for block in blocks):
        return target_of(*joined_label_sets(blocks))
    return joined([block.y for block in blocks])


class Originals:
    """The texts of examples: of text files behind the label, of tables the columns of texts, of others whole lines."""

    def __init__(self, files: list[DataPath], of_row: np.ndarray, lines: np.ndarray, source: Recipe):
        self._files, self._of_row, self._lines, self._source = files, of_row, lines, source

    def __len__(self) -> int:
        return len(self._lines)

    def fetch(self, rows: list[int]) -> list[str | None]:
        """Return the texts of these rows; None for what is not there any more."""
        texts: dict[int, str | None] = dict.fromkeys(rows)
        for number in sorted({int(self._of_row[row]) for row in rows}):
            mine = {int(self._lines[row]): row for row in rows if self._of_row[row] == number}
            path = self._files[number]
            if isinstance(path, Folder):
                texts |= {row: path.text(line) for line, row in mine.items()}
                continue
            for line, text in self._read(path, sorted(mine)):
                texts[mine[line]] = text
        return [texts[row] for row in rows]

    def _read(self, path: DataPath, line_numbers: list[int]) -> Iterator[tuple[int, str | None]]:
        """Yield the texts of the records that begin on these lines, in one reading of the file."""
        format, columns = str(self._source.get("format")), self._columns()
        encoding = decoded_from(self._source.get("encoding"))
        if format in ("csv", "tsv") and columns:
            yield from self._read_cells(path, line_numbers, columns, encoding)
            return
        with opened(path, encoding=encoding) as file:
            lines = enumerate(io.BufferedReader(file), 1)
            for target in line_numbers:
                line = next((line for number, line in lines if number == target), None)
                if line is None:
                    return
                yield target, self._line(line, format, columns)

    def _read_cells(
        self, path: DataPath, line_numbers: list[int], columns: list[str], encoding: str | None
    ) -> Iterator[tuple[int, str]]:
        """Yield the cells of columns of text, a line each; all cells of a row that lacks them."""
        names: list[str] | None = None
        for line, cells in read_rows(path, self._source["format"] == "tsv", line_numbers, encoding):
            if names is None:
                header = [cell.strip() for cell in cells]
                names = header if {*columns} <= {*header} else list(self._source.get("names") or [])
            texts = [cell for name, cell in zip(names, cells, strict=False) if name in columns]
            if line in line_numbers:
                yield line, "\n".join(texts or cells)

    def _columns(self) -> list[str]:
        columns = self._source.get("text_column")
        return [] if columns is None else [columns] if isinstance(columns, str) else [str(name) for name in columns]

    def _line(self, line: bytes, format: str, columns: list[str]) -> str | None:
        line = line.removeprefix(BOM)
        if format == "text":
            if self._source.get("form") == "fasttext":
                return _text(LABEL.sub(b"", line)).strip()
            return _text(line.partition(b"\t")[2]).strip("\r\n")
        if format == "jsonl" and columns:
            try:
                record = json.loads(line)
                return "\n".join(str(record[name]) for name in columns if name in record)
            except (ValueError, TypeError, AttributeError):
                return None
        return _text(line).strip()


def _text(content: bytes) -> str:
    return content.removeprefix(BOM).decode("utf-8", "replace")
