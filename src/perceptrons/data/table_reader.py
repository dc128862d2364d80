"""Tables, of files or in memory: numbers by name, categories one-hot, texts as words. The formats have own modules."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from perceptrons.data.compression import STDIN
from perceptrons.data.reader import PieceReader
from perceptrons.data.source import OpenStream, Piece
from perceptrons.data.table import Block, DataFileError, Parsed, Table
from perceptrons.data.table_columns import Asked, Layout, ModelColumns, Shape, TableFormat, to_rows
from perceptrons.features import Columns, HashedText
from perceptrons.features.collector import Roles
from perceptrons.features.named_rows import Workspaces
from perceptrons.features.table_rows import (
    are_dense,
    dense_rows,
    further_keys,
    number_names,
    sparse_rows,
    text_prefixes,
)


class TableReader(PieceReader):
    """Reads tables, in which columns have names and an example is a row, or an object of JSON on a line.

    What a column is, the first block decides: a number is a feature with the name of its column; strings, truth values
    and categories are features "column=value" of value 1, one for each value, an empty one too. In CSV a column is of
    numbers if more than half of its cells that are not empty are, in JSON if more than half of its values are; a cell
    that does not fit is a bad record there and later. Dates, lists and bytes are refused.

    X is an array if all features are numbers and none is hashed (float32 if all columns are), otherwise a CSR matrix:
    of float32 with texts or hashing, else of float64 without the zeros, numbers in the first columns.

    Parameters
    ----------
    paths : tuple of paths
    format : {"csv", "tsv", "whitespace", "arff", "jsonl", "parquet", "arrow", "xlsx"}
        "arrow" is the file format (Feather) or the stream.
    label_column : str or int, optional
        Name of the column with the labels, or its number from 1. Otherwise the last one that is not named below; but
        "label", "y", "target" or "class" if there is such a column and the format is not CSV or TSV. JSON must have one
        of these, as its keys have no order.
    text_column : str or list of str, optional
        Columns of text; several names have commas between them. Their words are features by the rules of `text`: of
        one column by themselves, of several as "column=word". Numbers are then called "column=", as "column" is a word.
    categories, ignore : str or list of str, optional
        Columns that are categories whatever they look like; columns to leave out.
    numbers : str or list of str, optional
        Columns of numbers. If given, nothing is left to decide: other columns that are named nowhere are left out.
    optional : list of str, optional
        JSON: numbers and categories that a record may lack; they are then 0. Otherwise those that a record of the first
        block lacks, or all if records have few of them. Any other key that is missing counts as null.
    names : list of str, optional
        CSV: what the columns are called in a file without a header. Otherwise "1", "2", ..., or as in the first file.
    header : bool, optional
        CSV: does the first row hold names? Otherwise it does if none of its cells is a number.
    prefix : bool, default=True
        Keep the words of several columns of text apart, by the name of their column. False reads the texts of a row
        as one text.
    text : HashedText or dict, optional
        How texts become features, or its parameters.
    hash_bits : int, optional
        Features to 2^hash_bits columns; 0 to remember names. Otherwise as `text` says; without texts none is hashed.
    columns : Columns, optional
        Those of a model that is to predict.
    model : ModelColumns, optional
        The features of a model that is to predict and learned from arrays.
    **shared
        As every `Reader` has them.

    Notes
    -----
    A file may have its columns in any order and more of them; those that are missing are an error. Spaces around a cell
    of CSV do not count. The column of "file:line:column" is the number of the cell, in JSON of the character; lines of
    Parquet and Arrow are rows.

    JSON: keys are columns, "a.b" for b within a; lists of strings are categories of which a record may have several. A
    key that is null or missing is a missing number, or an empty category, unless it is one of the `optional` ones. A
    key that the first block has not is taken by what each value is, unless X is an array: then it is a bad record. Keys
    that a model does not know are left out and named in `notices`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from perceptrons.data import stream
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = path.write_text("height,color,kind\\n1.5,red,tall\\n0.5,blue,flat\\n")
    >>> reader = stream(path)
    >>> [(block.X.toarray().tolist(), block.y.tolist()) for block in reader]
    [([[1.5, 1.0, 0.0], [0.5, 0.0, 1.0]], ['tall', 'flat'])]
    >>> reader.columns.names()
    ['height', 'color=red', 'color=blue']
    """

    def __init__(
        self,
        paths: tuple[Any, ...],
        *,
        format: str,
        label_column: str | int | None = None,
        text_column: str | list[str] | None = None,
        categories: str | list[str] | None = None,
        ignore: str | list[str] | None = None,
        numbers: str | list[str] | None = None,
        optional: str | list[str] | None = None,
        names: list[str] | None = None,
        header: bool | None = None,
        prefix: bool = True,
        text: HashedText | dict[str, Any] | None = None,
        hash_bits: int | None = None,
        columns: Columns | None = None,
        model: ModelColumns | None = None,
        **shared: Any,
    ):
        super().__init__(paths, **shared)
        self.format, self._form = format, _table_format(format)
        for path in self.files if format == "parquet" else ():
            if path == STDIN or isinstance(path, OpenStream):
                raise DataFileError(path, "Parquet is not read from a stream: give the file, or Arrow's stream")
        self._prefix, self._text = prefix, _text(text, bool(text_column))
        self._rule = None if self._text is None else self._text.rule()
        self._given, self.hash_bits = columns, _bits(hash_bits, self._text, columns)
        further = None
        if columns is not None and columns.frozen and format == "jsonl":
            named = [*listed(numbers), *listed(categories), *listed(text_column)]
            further = further_keys(columns, named, words=bool(text_column))
        self._wanted = Asked(
            None if label_column is None else str(label_column),
            text_column or None,
            None if numbers is None else listed(numbers),
            listed(categories),
            listed(ignore),
            names,
            header,
            self.need_labels,
            model is not None or (columns is not None and columns.frozen and columns.bits is None and not further),
            None if optional is None else listed(optional),
            further,
            model,
        )
        self._rooms = Workspaces()
        self._begin()

    def _begin(self) -> None:
        self._form = _table_format(self.format)
        self._roles: Roles | None = None
        self._dense, self._number_names = False, number_names([])
        columns = self._given
        if columns is None and self._text is not None:
            columns = Columns(self.hash_bits or None, self._text.signed, self._text.seed)
        self._take(columns or Columns(self.hash_bits or None))

    def _take(self, columns: Columns) -> None:
        self.columns, self.n_features = columns, columns.n_columns

    def recipe(self) -> dict[str, Any]:
        wanted, roles = self._wanted, self._roles
        text = None if self._text is None else self._text.get_params() | {"bits": self.hash_bits or None}
        recipe: dict[str, Any] = {
            "format": self.format,
            "label_column": wanted.label if roles is None else roles.label,
            "text_column": wanted.texts if roles is None else roles.texts or None,
            "categories": wanted.categories if roles is None else roles.categories,
            "numbers": wanted.numbers if roles is None else roles.numbers,
            "ignore": wanted.ignore,
            "optional": wanted.optional if roles is None else roles.optional,
            "prefix": self._prefix,
            "text": text,
            "hash_bits": self.hash_bits,
            "text_labels": self.text_labels,
        } | self._encoded()
        if self.format in ("csv", "tsv", "whitespace"):
            recipe |= {"names": self._form.names or wanted.names, "header": wanted.header}
        return recipe

    @property
    def notices(self) -> list[str]:
        return list(self._form.notices.values())

    def _feature_names(self) -> list[str] | None:
        return None if self._form.unnamed else super()._feature_names()

    def _joined(self, blocks: list[Block]) -> Table:
        table = super()._joined(blocks)
        return replace(table, label_name=None) if self._form.unnamed else table

    def _nothing(self) -> DataFileError:
        if self.skipped:
            return super()._nothing()
        return DataFileError(self.files[0], *self._form.nothing(self.files[0]))

    def known(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        assert self.columns is not None
        facts, arrays = self.columns.state()
        return {"columns": facts, "roles": self._roles and self._roles._asdict(), "names": self._form.names}, arrays

    def _know(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._know(facts, arrays)
        self._roles = None if facts["roles"] is None else Roles(**facts["roles"])
        self._form.names = facts["names"]

    # ---- pieces to blocks

    def _pieces(self) -> Iterator[Piece]:
        for path in self.files:
            self._begin_file(path)
            layout = None
            for piece in self._form.pieces(path, self.prompt):
                if layout is None or self._roles is None:
                    settled = self._roles is not None
                    self._roles, layout = self._form.look(piece, self._wanted, self._roles)
                    if not settled and self._roles is not None:
                        self._settle(self._roles)
                placed = Placed(*piece)
                placed.roles, placed.layout = self._roles, layout
                yield placed

    def _settle(self, roles: Roles) -> None:
        """Now it is known what the columns are: will rows be arrays?"""
        assert self.columns is not None
        names = roles.number_names
        self._dense = are_dense(names, self.columns, roles.only_numbers)
        self._number_names = number_names(names)

    def _parse(self, piece: Piece) -> Parsed:
        assert isinstance(piece, Placed)
        cells = self._form.cells(piece, piece.roles, piece.layout)
        if piece.roles is None or piece.layout is None:
            return Parsed(cells.n_lines, cells.lines, None, None, None, cells.bad)
        assert self.columns is not None
        narrow = self.columns.bits is not None or self._text is not None
        prefixes = text_prefixes(piece.roles.texts) if self._prefix else []
        shape = Shape(self._dense, narrow, self.need_labels, prefixes)
        return to_rows(cells, piece.layout, shape, self._rule, self._rooms.words)

    def _matrix(self, parsed: Parsed) -> Any:
        columns, rows = self.columns, parsed.rows
        assert columns is not None
        if rows is None or not len(parsed.lines):
            return np.empty((0, columns.n_columns))
        if rows.named is None:
            X = dense_rows(rows.values, self._number_names, columns)
        else:
            X = sparse_rows(rows.named, rows.words, columns, self._text)
        self.n_features = columns.n_columns
        return X


class Placed(Piece):
    """A piece, and what was known of the columns when it was cut."""

    roles: Roles | None
    layout: Layout | None


def _table_format(format: str) -> TableFormat:
    """The format's own part of the reader."""
    if format in ("csv", "tsv"):
        from perceptrons.data.csv import CsvTable

        return CsvTable(format == "tsv")
    if format == "whitespace":
        from perceptrons.data.whitespace import WhitespaceTable

        return WhitespaceTable()
    if format == "arff":
        from perceptrons.data.arff import ArffTable

        return ArffTable()
    if format == "xlsx":
        from perceptrons.data.xlsx import XlsxTable

        return XlsxTable()
    if format in ("frame", "records"):
        from perceptrons.data.records import FrameTable, RecordTable

        return FrameTable() if format == "frame" else RecordTable()
    if format not in ("jsonl", "parquet", "arrow"):
        from perceptrons.data import TABLES

        raise ValueError(f"format={format!r}: choose one of {', '.join(TABLES)}.")
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        what = f"Files of format {format!r} need the package pyarrow: pip install 'perceptrons[files]'."
        raise ModuleNotFoundError(what) from error
    if format == "jsonl":
        from perceptrons.data.json import JsonTable

        return JsonTable()
    from perceptrons.data.arrow import ArrowTable

    return ArrowTable(format)


def listed(names: str | list[str] | None) -> list[str]:
    """Names in a list; in a string they have commas between them."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names or [])


def _text(text: HashedText | dict[str, Any] | None, wanted: bool) -> HashedText | None:
    """How texts become features; None where there are none."""
    if not wanted:
        if text is not None:
            raise ValueError("text says how words become features, but there is no text: name its text_column.")
        return None
    text = HashedText(**text) if isinstance(text, dict) else text or HashedText()
    if text.min_count > 1:
        raise ValueError("min_count needs all texts before the first is learned: leave it out for a stream.")
    return text


def _bits(hash_bits: int | None, text: HashedText | None, columns: Columns | None) -> int:
    """Bits of the columns' numbers, 0 if nothing is hashed."""
    if columns is None:
        return hash_bits if hash_bits is not None else (0 if text is None else text.bits or 0)
    if hash_bits is not None and hash_bits != (columns.bits or 0):
        raise ValueError(f"hash_bits={hash_bits}, but the columns are of {columns.bits or 0} bits.")
    return columns.bits or 0
