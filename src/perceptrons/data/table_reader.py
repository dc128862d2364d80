"""Read tables from files or memory: numbers by name, categories one-hot, texts as words.

The first block decides the `Plan`: what the columns are, where they stand, and how they are prepared. Each format is a
`TableFormat` in its own file, which gives the cells of a piece; `TableReader` checks them and makes rows of them.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.labels import COMMA, USUAL_LABELS, Label, as_set, split_labels
from perceptrons.data.options import BY_DELIMITER, TABLES, ReadOptions
from perceptrons.data.reader import Reader, check_bits
from perceptrons.data.source import STDIN, Inputs, OpenStream, Piece
from perceptrons.data.table import BadRecord, Block, DataFileError, DataPath, ParsedPiece, Skipped, Table
from perceptrons.engine.streaming.threads import in_order
from perceptrons.engine.wording import count
from perceptrons.features import Columns, HashedText
from perceptrons.features.cells import NEVER, CodedColumn, Contents, RecordSchema, Roles, record_keys
from perceptrons.features.column_options import ColumnOptions, ModelColumns
from perceptrons.features.column_options import listed as as_list
from perceptrons.features.columns import TermWeights
from perceptrons.features.inference import (
    ColumnFacts,
    ColumnKinds,
    infer_facts,
    measure_preparation,
    preparation_without_data,
    select_columns,
)
from perceptrons.features.preparation import Preparation
from perceptrons.features.rows import RowBuilder, TablePlan, TableRows, unnamed_keys
from perceptrons.features.values import Recipe, did_you_mean, is_label, listed, no_label, shown

TABLE_FORMATS = {
    "csv": "csv.CsvTable", "tsv": "csv.CsvTable", "whitespace": "csv.WhitespaceTable", "arff": "arff.ArffTable",
    "jsonl": "arrow.JsonTable", "parquet": "arrow.ArrowTable", "arrow": "arrow.ArrowTable", "xlsx": "xlsx.XlsxTable",
    "frame": "records.FrameTable", "records": "records.RecordTable",
}  # fmt: skip
BY_ARROW = ("jsonl", "parquet", "arrow")  # formats that pyarrow reads
WITH_LISTS = (*BY_ARROW, "frame", "records")  # formats whose cells can be lists
NAME_CHARS = (1, 4)  # sizes of the character n-grams of names
KIND_ROWS = 5000  # the first rows, by which the kinds of columns are inferred: as many of a file as of a frame
MAX_COLUMNS = 2**17
LARGEST_NARROW = 1e30
LABEL_CELLS = {"1": 1, "1.0": 1, "true": 1, "yes": 1, "0": 0, "0.0": 0, "false": 0, "no": 0}  # of several label columns


class Plan(NamedTuple):
    """What the columns of a file are, and how they are prepared; threads parse a piece by it alone.

    Records have no columns: their schema says what their keys are.
    """

    roles: Roles | None  # None until the first row has been seen
    names: list[str]  # of all columns of the file, in order; empty for records
    labels: Sequence[str] = ()  # the label columns that are there, if there are several; they are the last categories
    schema: RecordSchema | None = None  # of cells that are values of Python
    form: Any = None  # the format's own
    builder: RowBuilder | None = None  # of rows; None until the preparation has been measured

    @property
    def sparse(self) -> bool:
        """Do records lack most of the features that others have?"""
        return self.schema is not None and self.schema.sparse

    @property
    def read(self) -> Roles:
        """The roles by which columns are read: several label columns are read like categories."""
        assert self.roles is not None
        return self.roles.with_label_columns(self.labels)

    @property
    def label(self) -> str | None:
        """The column of labels, if the file has one."""
        label = None if self.roles is None else self.roles.label
        return None if self.names and label not in self.names else label

    def used(self) -> list[str]:
        """Return the columns that are looked at, in their order."""
        used = {*self.read.features, self.label}
        return [name for name in self.names if name in used]

    def column_number(self, name: str | None) -> int:
        """Return the number of a column, from 1; 1 for keys of records."""
        return self.names.index(name) + 1 if name in self.names else 1

    def with_roles(self, roles: Roles, ignore: Sequence[str] = ()) -> "Plan":
        """Return the plan for these roles, whose columns are in the file; ignore: keys of records to leave out."""
        plan = self._replace(roles=roles)
        if self.schema is None:
            return plan
        schema = self.schema._replace(roles=plan.read)
        return plan._replace(schema=schema if self.names else schema._replace(ignore=frozenset(ignore)))


class Origin(NamedTuple):
    """A file, for messages."""

    path: DataPath
    line: int | None = None
    header: bool = True

    def error(self, message: str) -> DataFileError:
        return DataFileError(self.path, message, self.line)


# ---- what the columns are


def check_width(origin: Origin, n_columns: int) -> None:
    """Raise DataFileError for more columns than a table may have."""
    if n_columns > MAX_COLUMNS:
        message = f"{n_columns:,} columns here, but a table may have {MAX_COLUMNS:,}"
        raise origin.error(f"{message}: write sparse rows as svmlight, others as npz, or correct the separators")


def check_names(origin: Origin, names: list[str]) -> None:
    """Raise DataFileError if two columns have one name."""
    for name, times in Counter(names).items():
        if times > 1:
            raise origin.error(f"two columns have the name {shown(name)}: rename one")


def assign_roles(
    origin: Origin, names: list[str], options: ColumnOptions, is_number: Callable[[int], bool], labels: list[str]
) -> Roles:
    """Decide what columns of these names are.

    is_number: whether the column at a place holds numbers. labels: columns that may be the label if none is named, the
    likeliest last.
    """
    texts = text_columns(names, options)
    if options.model is not None:
        return _roles_for_array_model(origin, names, options, options.model)
    if options.numbers is not None:
        label, several = _labels(origin, names, options, labels, {*options.numbers, *options.categories, *texts})
        roles = Roles(
            label, list(options.numbers), list(options.categories), texts, list(options.optional or ()), several
        )
        return _add_columns(origin, names, roles, options, is_number) if options.grow else roles
    for name in (*texts, *options.categories, *options.ignore):
        if name not in names:
            raise origin.error(f"no column is called {shown(name)}: there are {listed(names)}")
    label, several = _labels(origin, names, options, labels, {*options.categories, *options.ignore, *texts})
    for used in [*several, label]:
        if used in texts:
            raise origin.error(f"column {shown(str(used))} cannot be both label and text: choose another for one")
    return _add_columns(origin, names, Roles(label, [], [], texts, [], several), options, is_number)


def _add_columns(
    origin: Origin, names: list[str], roles: Roles, options: ColumnOptions, is_number: Callable[[int], bool]
) -> Roles:
    """Return these roles, with the columns that have none yet as numbers or categories."""
    known = {roles.label, *roles.labels, *roles.numbers, *roles.categories, *roles.texts, *options.ignore}
    requested = {*options.categories} - known
    new = [place for place, name in enumerate(names) if name not in known]
    flags = [names[place] not in requested and is_number(place) for place in new]
    numbers, categories = (
        [names[place] for place, flag in zip(new, flags, strict=True) if flag == kind] for kind in (True, False)
    )
    roles = roles._replace(
        numbers=[*roles.numbers, *numbers],
        categories=[*roles.categories, *categories],
        optional=[*roles.optional, *(numbers + categories if roles.optional else [])],
    )
    category_names = set(roles.categories)
    for name in (*roles.numbers, *roles.categories):  # no two columns may make features of one name
        for place, letter in enumerate(name):
            if letter == "=" and name[:place] in category_names:
                pair = f"{shown(name[:place])} and {shown(name)}"
                raise origin.error(f"columns {pair} could produce features of the same name: rename one")
    return roles


def _roles_for_array_model(origin: Origin, names: list[str], options: ColumnOptions, model: ModelColumns) -> Roles:
    """Return the columns for a model that learned from arrays: by name where there are names, otherwise by position."""
    n = model.n_features
    label, several = (None, []) if options.label_column is None else _labels(origin, names, options, [], set())
    if model.names is not None and (origin.header or {*model.names} <= {*names}):
        model_names, features = {*model.names}, model.names
        missing = [name for name in model.names if name not in {*names}]
        if missing:
            message = f"the header lacks {listed(missing)}, which the model was trained on: add the missing columns"
            raise origin.error(message)
        candidates = [name for name in names if name not in model_names]
        if label is None and not several and candidates and (candidates[-1] == names[-1] or len(candidates) == 1):
            label = candidates[-1]
    else:
        if label is None and not several and len(names) == n + 1:
            label = names[-1]
        features = [name for name in names if name != label and name not in several]
        if len(features) != n:
            message = f"{count(len(names), 'column')} here, but the model has {count(n, 'feature')}"
            raise origin.error(f"{message}: give one column per feature, optionally followed by the label")
    if label is None and not several and options.need_labels:
        raise origin.error("there is no label column: add it, or name it with label_column (--label-column)")
    return Roles(label, list(features), [], [], [], several)


def locate_columns(origin: Origin, names: list[str], roles: Roles, options: ColumnOptions, form: Any = None) -> Plan:
    """Return where the columns of these roles are in a file."""
    there, features = {*names}, [*roles.numbers, *roles.categories, *roles.texts]
    used = {*features}
    has_label = roles.label in there
    missing = [name for name in features if name not in there]
    lacking = [name for name in roles.labels if name not in there]
    if options.need_labels:
        missing += lacking
        if not has_label and not missing and roles.label is not None:
            message = f"no column is called {shown(roles.label)}: there are {listed(names)}"
            raise origin.error(f"{message}: name the column of the labels with label_column (--label-column)")
        if not has_label and not roles.labels:
            missing += ["the label" if roles.label is None else roles.label]
    if missing and not origin.header:
        message = f"there is no header, so {listed(missing)} cannot be found: add one, or give the columns of training"
        raise origin.error(message)
    if missing:
        hint = did_you_mean(missing[0], [name for name in names if name not in used])
        source = "the first file has" if options.numbers is None else "the model was trained on"
        raise origin.error(f"there is no column {listed(missing)}, which {source}{hint}: add the missing columns")
    if not features:
        raise origin.error("there is only one column: give a label and at least one feature, separated by commas")
    return Plan(roles, names, [] if lacking else roles.labels, form=form)


def text_columns(names: list[str], options: ColumnOptions) -> list[str]:
    """Return the columns of text, each once: names, or several names separated by commas."""
    requested = [options.text_column] if isinstance(options.text_column, str) else options.text_column or []
    parts = [[name] if name in names else [part.strip() for part in name.split(",")] for name in requested]
    return list(dict.fromkeys(name for part in parts for name in part))


def likely_labels(names: list[str]) -> list[str]:
    """Return the names of columns, those last that labels usually have."""
    usual = [name for name in reversed(USUAL_LABELS) if name in names]
    return [name for name in names if name not in USUAL_LABELS] + usual


def _labels(
    origin: Origin, names: list[str], options: ColumnOptions, labels: list[str], used: set[str]
) -> tuple[str | None, list[str]]:
    """Return the label column, or several: one of both is empty."""
    if not options.labelled:
        return None, []
    if options.label_column is None:
        free = [name for name in labels if name not in used]
        return free[-1] if free and (options.numbers is None or options.need_labels) else None, []
    if isinstance(options.label_column, str):
        return _label(origin, names, options, options.label_column), []
    several = [_label(origin, names, options, column) for column in options.label_column]
    for place, name in enumerate(several):
        if name in several[:place]:
            raise origin.error(f"label_column (--label-column) names {shown(name)} twice: name each column once")
    return None, several


def _label(origin: Origin, names: list[str], options: ColumnOptions, label: str) -> str:
    """Return the name of the column that the caller names as label, or by its number."""
    if label in names:
        return label
    if label.isascii() and label.isdecimal() and 1 <= int(label) <= len(names):
        return names[int(label) - 1]
    if not options.need_labels or options.numbers is not None:
        return label
    if not origin.header:
        message = f"there is no header, so no column is called {shown(label)}: give its number, from 1 to {len(names)}"
    else:
        message = f"no column is called {shown(label)}: there are {listed(names)}"
    raise origin.error(message)


# ---- cells


class Faults:
    """What is wrong with the rows of a piece: of each row the first cell that is."""

    def __init__(self, plan: Plan | None = None) -> None:
        self.rows: dict[int, tuple[int, str]] = {}
        self._plan = plan

    def add(self, row: int, column: int, message: str) -> None:
        if row not in self.rows or column < self.rows[row][0]:
            self.rows[row] = column, message

    def add_cell(self, row: int, name: str, message: str) -> None:
        """Add what is wrong with the cell of a column."""
        column = 1 if self._plan is None else self._plan.column_number(name)
        self.add(row, column, f"column {shown(name)}: {message}")


class Cells(NamedTuple):
    """The cells of a piece that count, by their roles."""

    n_lines: int
    lines: np.ndarray  # int64 (rows,): where each begins, from 0
    contents: Contents
    labels: CodedColumn | None
    faults: Faults
    bad: list[BadRecord]  # records that are not even rows


def empty_cells(n_lines: int, bad: list[BadRecord]) -> Cells:
    """Return those of a piece without a row."""
    return Cells(n_lines, np.empty(0, np.int64), Contents(np.empty((0, 0)), {}, [], []), None, Faults(), bad)


def with_label_sets(cells: Cells, plan: Plan, need_labels: bool) -> Cells:
    """Join label columns, which are among the categories, to one label set per row."""
    if not plan.labels:
        return cells
    categories, n = dict(cells.contents.categories), len(cells.lines)
    is_set, is_known = np.zeros((n, len(plan.labels)), bool), np.ones(n, bool)
    for place, name in enumerate(plan.labels):
        codes, distinct = categories.pop(name)
        values = np.array([*(LABEL_CELLS.get(text.strip().lower(), -1) for text in distinct), -1])[codes]
        is_set[:, place] = values == 1
        is_known &= values >= 0
        for row in np.flatnonzero(values < 0).tolist() if need_labels else ():
            cell = shown(distinct[codes[row]] if codes[row] >= 0 else "")
            cells.faults.add(
                row,
                plan.column_number(name),
                f"label column {shown(name)}: {cell} is neither 1 nor 0: correct the cell",
            )
    cells = cells._replace(contents=cells.contents._replace(categories=categories))
    if not need_labels and not is_known.all():
        return cells
    distinct_sets, codes = np.unique(is_set, axis=0, return_inverse=True)
    sets = [tuple(plan.labels[place] for place in np.flatnonzero(flags).tolist()) for flags in distinct_sets]
    return cells._replace(labels=CodedColumn(codes.ravel().astype(np.int32), sets))


def check_cells(
    cells: Cells, plan: Plan, preparation: Preparation, *, is_dense: bool, is_float32: bool, need_labels: bool,
    several: bool, separator: str | None,
) -> ParsedPiece:  # fmt: skip
    """Return the rows without faults, as far as they do not depend on other pieces, and the faults of the others.

    several: may an example have several labels, or none? separator: what stands between several labels in one text.
    """
    column, faults, labels = plan.column_number(plan.label), cells.faults, cells.labels
    if labels is not None:
        labels = _strip_labels(labels, several, separator)
        missing = [code for code, text in enumerate(labels.distinct) if isinstance(text, str) and not is_label(text)]
        unlabelled = np.flatnonzero(np.isin(labels.codes, missing)).tolist()
        for row in unlabelled:
            if need_labels and row not in faults.rows:
                message = f"{no_label(str(labels.distinct[labels.codes[row]]))}: add one, or remove the record"
                faults.add(row, column, message)
        if unlabelled and not need_labels:
            labels = None
    for part in cells.contents.lists if is_dense else ():
        for row, code in zip(part.rows.tolist(), part.codes.tolist(), strict=True):
            message = "appears here for the first time: list it in numbers or categories, or in ignore (--ignore)"
            faults.add(row, 1, f"key {shown(part.names[code])} {message}")
    if is_float32:
        _find_large(cells, plan)
    contents, invalid = preparation.derive(cells.contents)
    for row, name, message in invalid:
        faults.add(row, plan.column_number(name), f"column {shown(name)}: {message}")
    keep = np.ones(len(cells.lines), bool)
    keep[list(faults.rows)] = False
    if labels is not None:  # of the distinct ones only those that are left
        codes = labels.codes[keep]
        is_used = np.bincount(codes, minlength=len(labels.distinct)) > 0
        used = [labels.distinct[code] for code in np.flatnonzero(is_used).tolist()]
        labels = CodedColumn((np.cumsum(is_used) - 1).astype(np.int32)[codes], used)
    bad = [BadRecord(int(cells.lines[row]), message, place) for row, (place, message) in faults.rows.items()]
    return ParsedPiece(
        cells.n_lines, cells.lines[keep], labels, contents.part(keep), None, [*cells.bad, *bad], label_column=column
    )


def _find_large(cells: Cells, plan: Plan) -> None:
    """Find numbers that float32 cannot hold, or not together with others."""
    message = f"is too large (at most {LARGEST_NARROW:.0e} for hashed features and words): scale the values"
    numbers = cells.contents.numbers
    for row, place in np.argwhere(np.abs(numbers) > LARGEST_NARROW).tolist():
        cells.faults.add(
            row, plan.column_number(plan.read.numbers[place]), f"{shown(str(numbers[row, place]))} {message}"
        )
    for part in cells.contents.lists:
        for at in np.flatnonzero(np.abs(part.amounts) > LARGEST_NARROW).tolist():
            cells.faults.add(int(part.rows[at]), 1, f"{shown(str(part.amounts[at]))} {message}")


def _strip_labels(labels: CodedColumn, several: bool, separator: str | None) -> CodedColumn:
    """Return the labels without spaces around them, each distinct one once."""
    number_of: dict[Label, int] = {() if several else "": 0}
    numbers = []
    for label in labels.distinct:
        if isinstance(label, tuple):
            label = tuple(part.strip() for part in label)
        elif several and separator is not None:
            label = split_labels(label, separator)
        else:
            label = as_set(label.strip()) if several else label.strip()
        numbers.append(number_of.setdefault(label, len(number_of)))
    return CodedColumn(np.array([*numbers, 0], np.int32)[labels.codes], list(number_of))  # code -1 is the last


class TableFormat(ABC):
    """A format of tables. One instance serves all files of a reader, once."""

    names: list[str] | None = None  # of the columns of the first file, where a file may be without names
    unnamed = False  # has the first file no names?
    encoding: str | None = None  # of the text in files; None: UTF-8
    decimal: str | None = None  # "." or ",", where numbers are text; None: as the first rows have it

    def __init__(self, format: str) -> None:
        self.format = format
        self.notices: dict[str, str] = {}  # messages about columns, by their names
        self.missing = NEVER  # what stands for a missing number

    @abstractmethod
    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        """Cut a file into pieces of whole records, of bounded size."""

    @abstractmethod
    def find_columns(self, piece: Piece, options: ColumnOptions, roles: Roles | None) -> Plan | None:
        """Return the plan of the file that begins with this piece. roles: those of the first file, once known.

        If the piece does not tell, the next one is asked: the plan is then without roles, or None if no name is known.
        """

    def nothing(self, path: DataPath) -> tuple[str, int]:
        """Return what is wrong where there is no example, and the line."""
        return "there are no examples in it: write one record per example", 1

    @abstractmethod
    def cells(self, piece: Piece, plan: Plan | None) -> Cells:
        """Read a piece; runs in several threads at once."""


class ColumnFormat(TableFormat):
    """A format whose pieces hold whole columns, with names and types."""

    @abstractmethod
    def column_names(self, piece: Piece) -> list[str]: ...

    @abstractmethod
    def is_number(self, piece: Piece, name: str) -> bool: ...

    def find_columns(self, piece: Piece, options: ColumnOptions, roles: Roles | None) -> Plan:
        names, origin = self.column_names(piece), Origin(piece.path)
        if roles is None:
            roles = assign_roles(
                origin, names, options, lambda place: self.is_number(piece, names[place]), likely_labels(names)
            )
        return locate_columns(origin, names, roles, options)


def table_format(format: str) -> TableFormat:
    """Return the format's own part of the reader."""
    if format not in TABLE_FORMATS:
        raise ValueError(f"format={format!r}: choose one of {', '.join(TABLES)}.")
    try:
        if format in BY_ARROW:
            import pyarrow  # noqa: F401
    except ImportError as error:
        message = f"Files of format {format!r} need the package pyarrow: pip install 'perceptrons[files]'."
        raise ModuleNotFoundError(message) from error
    module, name = TABLE_FORMATS[format].split(".")
    instance: TableFormat = getattr(import_module(f"perceptrons.data.{module}"), name)(format)
    return instance


class UnpreparedRows:
    """The cells of a block in place of its matrix, until the preparation is measured."""

    def __init__(self, contents: Contents):
        self.contents = contents
        self.shape = (len(contents.numbers), 0)

    @property
    def nbytes(self) -> int:
        return self.contents.nbytes

    def __getitem__(self, rows: np.ndarray) -> "UnpreparedRows":
        keep = np.zeros(self.shape[0], bool)
        keep[rows] = True
        return UnpreparedRows(self.contents.part(keep))


class TableReader(Reader):
    r"""Reads tables, in which columns have names and an example is a row, or an object of JSON on a line.

    The first block decides what a column is: a number is a feature with the name of its column; strings, truth values
    and categories are features "column=value" of value 1, one for each value, an empty one too. In CSV a column is of
    numbers if more than half of its cells that are not empty are, in JSON if more than half of its values are; a cell
    that does not fit is a bad record there and later. Dates, lists and bytes are refused.

    X is an array if all features are numbers and none is hashed (float32 if all columns are), otherwise a CSR matrix:
    of float32 with texts or hashing, else of float64 without the zeros, numbers in the first columns.

    Notes
    -----
    A file may have its columns in any order and more of them; those that are missing are an error. Spaces around a cell
    of CSV do not count. The column of "file:line:column" is the number of the cell, in JSON of the character; lines of
    Parquet and Arrow are rows.

    JSON: keys are columns, "a.b" for b within a; lists of strings are categories of which a record may have several. A
    key that is null or missing is a missing number, or an empty category, unless it is one of the `optional` ones. A
    key that the first block has not is taken by what each value is, unless X is an array: then it is a bad record. Keys
    that a model does not know are left out and named in `notices`.
    """

    def __init__(self, paths: Inputs, options: ReadOptions, table: ColumnOptions) -> None:
        if isinstance(table.label_column, list):
            options = _with_several_columns(options)
        super().__init__(paths, options)
        self._form, columns = table_format(self.format), options.columns
        for path in self.files if self.format == "parquet" else ():
            if path == STDIN or isinstance(path, OpenStream):
                raise DataFileError(path, "Parquet cannot be read from a stream: give the file, or an Arrow stream")
        self._given_columns, self._given_bits = columns, options.hash_bits
        self._bits = _bits(options.hash_bits, table.text, columns)
        keys = None
        if columns is not None and columns.frozen and self.format == "jsonl":
            feature_names = [*(table.numbers or ()), *table.categories, *as_list(table.text_column)]
            keys = unnamed_keys(columns, feature_names, words=table.text is not None)
        fixed = columns is not None and columns.frozen and columns.bits is None and not keys
        if table.grow and table.preparation is not None:
            table = table.for_new_columns(table.preparation)
        self._given_options = replace(
            table, need_labels=self.need_labels, several=bool(self._labels.multilabel), other_keys=keys,
            closed=table.model is not None or fixed,
        )  # fmt: skip
        self._begin()

    def _begin(self) -> None:
        self._options = self._given_options
        self._form = table_format(self.format)
        self._form.decimal, self._form.encoding = self._options.decimal, self.encoding
        self._form.missing = self._options.missing_values
        self._roles: Roles | None = None
        self._settled = False  # is it known how columns are prepared, but for what is measured?
        # the dates and flags, which are known before the rest is measured
        self._derived = self._options.preparation or Preparation(missing_values=self._options.missing_values)
        self._preparation: Preparation | None = None
        self._builder: RowBuilder | None = None
        self.left_out: list[ColumnFacts] = []
        self.decided: ColumnKinds | None = None
        self._read_text_by(self._options.text, self._bits)
        self._read_as_text = ""  # notice of columns that are read as texts though nobody asked for it

    def _read_text_by(self, text: HashedText | None, bits: int) -> None:
        """Set how texts become features, and begin with no columns unless they are given."""
        self._text, self.hash_bits = text, bits
        hashing = () if text is None else (text.signed, text.seed)
        self._take(self._given_columns or Columns(bits or None, *hashing))

    def _take(self, columns: Columns) -> None:
        self.columns, self.n_features = columns, columns.n_columns

    def _recipe(self) -> Recipe:
        options, roles = self._options, self._roles
        text = None if self._text is None else self._text.get_params() | {"bits": self.hash_bits or None}
        recipe: Recipe = {
            "label_column": options.label_column, "text_column": options.text_column, "categories": options.categories,
            "numbers": options.numbers, "ignore": options.ignore, "optional": options.optional,
            "prefix": options.prefix, "text": text, "hash_bits": self.hash_bits, **self._preparation_recipe(),
        }  # fmt: skip
        if roles is not None:
            recipe |= {
                "label_column": list(roles.labels) or roles.label, "text_column": roles.texts or None,
                "categories": roles.categories, "numbers": roles.numbers, "optional": roles.optional,
            }  # fmt: skip
        if self.format in BY_DELIMITER:
            recipe |= {"names": self._form.names or options.names, "header": options.header}
            recipe |= {} if self._form.decimal is None else {"decimal": self._form.decimal}
        return recipe

    def _preparation_recipe(self) -> Recipe:
        """Return how a recipe describes the preparation: as it was asked for, or, once it is known, as it is."""
        options, usual = self._options, ColumnOptions()
        keep = {"keep": options.keep} if options.keep else {}
        if self._preparation is not None:
            return keep if self._preparation.is_trivial else keep | {"preparation": self._preparation.as_dict()}
        names = ("scale", "on_missing", "missing", "interactions", "powers")
        settings = {name: getattr(options, name) for name in names if getattr(options, name) != getattr(usual, name)}
        return settings | keep | ({"prepare": True} if options.infers_kinds else {})

    @property
    def notices(self) -> list[str]:
        messages = [*self._form.notices.values(), *(str(column.notice()) for column in self.left_out)]
        if self._read_as_text:
            messages.append(self._read_as_text)
        if self._preparation is not None and self._options.preparation is None and self._preparation.indicators:
            messages.append(f"missing numbers in {listed([*self._preparation.indicators])} are filled with the mean")
        return messages

    def _feature_names(self) -> list[str] | None:
        return None if self._form.unnamed else super()._feature_names()

    def _joined(self, blocks: list[Block]) -> Table:
        table = super()._joined(blocks)
        return replace(table, label_name=None) if self._form.unnamed else table

    def _nothing(self) -> DataFileError:
        if self.skipped:
            return super()._nothing()
        return DataFileError(self.files[0], *self._form.nothing(self.files[0]))

    # ---- pieces to cells

    def _pieces(self) -> Iterator[Piece]:
        for path in self.files:
            self._begin_file(path)
            plan: Plan | None = None
            for piece in self._form.pieces(path, self.options.prompt):
                if plan is None or plan.roles is None:
                    plan = self._form.find_columns(piece, self._options, self._roles)
                    self._roles = self._roles if plan is None else plan.roles
                has_rows = piece.size or not self._options.infers_kinds  # Arrow's first piece has no rows
                if not self._settled and plan is not None and plan.roles is not None and has_rows:
                    plan = self._settle(piece, plan, plan.roles)
                yield piece._replace(details=plan and plan._replace(builder=self._builder))

    def _settle(self, piece: Piece, plan: Plan, roles: Roles) -> Plan:
        """Infer the kinds of the columns by the first rows, and how they are prepared, unless it has to be measured."""
        self._settled = True
        if plan.sparse:  # a missing number is 0 there, and scaling would make something else of it
            self._options = self._options.without_preparation()
            self._form.missing = self._options.missing_values
        elif self._options.infers_kinds:
            roles = self._infer_kinds(piece, plan, roles)
            if self.unprepared:
                return plan
            self._roles, plan = roles, plan.with_roles(roles, self._options.ignore)
        preparation = self._options.preparation
        if preparation is None or not {*roles.numbers, *self._derived.derived_numbers()} <= {*preparation.names}:
            preparation = preparation_without_data(roles, self._derived, self._options)
        if preparation is not None:
            self._prepare(preparation)
        return plan

    def _infer_kinds(self, piece: Piece, plan: Plan, all_roles: Roles) -> Roles:
        """Infer from the first rows which columns are dates, flags, texts or identifiers; return the roles of those
        that are not left out.
        """
        options = self._options
        cells = self._cells(piece, plan)
        keep = np.ones(len(cells.lines), bool)
        keep[list(cells.faults.rows)] = False
        keep &= np.cumsum(keep) <= KIND_ROWS
        facts = infer_facts(cells.contents.part(keep), all_roles, options.missing_values)
        for name in options.keep:
            if name not in {*all_roles.numbers, *all_roles.categories, *all_roles.texts}:
                raise DataFileError(piece.path, f"keep (--keep) names {name!r}, which is not a feature column")
        fixed = {*options.keep, *options.categories, *(options.numbers or ())}
        roles, derived, self.left_out = select_columns(all_roles, facts, fixed, options.missing_values)
        texts = [name for name in roles.texts if name not in all_roles.texts]
        are_names = any(column.kind == "identifier" for column in facts if column.name in texts)
        facts = [column._replace(kind="text") if column.name in texts else column for column in facts]
        self.decided = ColumnKinds(all_roles, roles, derived, facts, plan.names)
        if not self.unprepared:
            if texts:
                self._begin_texts(texts, are_names)
            self._derived = self._derived.plus_derived(derived)
            self._options = options.ignoring([column.name for column in self.left_out])
        return roles

    def _begin_texts(self, names: list[str], are_names: bool) -> None:
        """Read columns as texts that nobody called so. are_names: they hold names rather than sentences."""
        text = HashedText(chars=NAME_CHARS if are_names else None)
        self._read_text_by(text, _bits(self._given_bits, text, None))
        low, high = NAME_CHARS
        command_options = "".join(f" --text-column {name}" for name in names) + f" --chars {low}-{high}" * are_names
        by = f"words and sequences of {low} to {high} characters" if are_names else "words"
        self._read_as_text = (
            f"there are no other features, so {listed(names)}, with different values in nearly all rows, is read as "
            f"text, by {by} (as{command_options}): to learn each value as a category, give keep (--keep)"
        )

    def _cells(self, piece: Piece, plan: Plan | None) -> Cells:
        cells = self._form.cells(piece, plan)
        return cells if plan is None else with_label_sets(cells, plan, self.need_labels)

    def _parse(self, piece: Piece) -> ParsedPiece:
        plan = piece.details
        assert plan is None or isinstance(plan, Plan)
        cells = self._cells(piece, plan)
        if plan is None or plan.roles is None:
            return ParsedPiece(cells.n_lines, cells.lines, None, None, None, cells.bad)
        assert self.columns is not None
        parsed = check_cells(
            cells, plan, self._derived if plan.builder is None else plan.builder.preparation,
            is_dense=plan.builder is not None and plan.builder.is_dense,
            is_float32=self.columns.bits is not None or self._text is not None, need_labels=self.need_labels,
            several=bool(self._labels.multilabel),
            separator=self._labels.separator or (None if self.format in WITH_LISTS else COMMA),
        )  # fmt: skip
        if self.keyed:
            parsed = parsed._replace(keys=record_keys(parsed.rows))
        return parsed if plan.builder is None else parsed._replace(rows=plan.builder.features(parsed.rows))

    # ---- cells to rows

    def _prepare(self, preparation: Preparation) -> None:
        """Set how cells become features, and whether rows are arrays."""
        assert self.columns is not None
        assert self._roles is not None
        if preparation.hash_bits and self._given_bits is None and not self.hash_bits and self._given_columns is None:
            self._hash(preparation.hash_bits)
        self._preparation = preparation
        plan = TablePlan(self._roles, preparation, self._text, self._options.prefix)
        self._builder = RowBuilder(plan, self.columns)

    def _hash(self, bits: int) -> None:
        self.hash_bits = bits
        self._take(Columns(bits))

    def _assembled(self, rows: TableRows) -> Any:
        """Return the matrix of these rows."""
        assert self.columns is not None
        assert self._builder is not None
        X = self._builder.matrix(rows)
        self.n_features = self.columns.n_columns
        return X

    def _matrix(self, parsed: ParsedPiece) -> Any:
        assert self.columns is not None
        if parsed.rows is None or not len(parsed.lines):
            return np.empty((0, self.columns.n_columns))
        if isinstance(parsed.rows, Contents):
            return UnpreparedRows(parsed.rows)
        assert self._builder is not None
        return self._assembled(self._builder.locate(parsed.rows))

    # ---- blocks whose cells wait until the preparation is measured

    def _block(
        self, piece: Piece, parsed: ParsedPiece, line: int
    ) -> tuple[Block | None, list[Skipped], DataFileError | None]:
        block, skipped, error = super()._block(piece, parsed, line)
        if block is not None and not self._labels.is_deferred:
            block = self._prepared([block])[0]
        return block, skipped, error

    def _finished(self, blocks: list[Block]) -> list[Block]:
        return self._prepared(super()._finished(blocks))

    def _prepared(self, blocks: list[Block]) -> list[Block]:
        """Return the blocks with their matrices, measuring the preparation on them unless it is known."""
        waiting = [block for block in blocks if isinstance(block.X, UnpreparedRows)]
        if not waiting or self.unprepared:
            return blocks
        learned = self._measure(waiting) if self._preparation is None else []
        builder = self._builder
        assert builder is not None
        contents = [block.X.contents for block in waiting]
        tasks = zip(contents, self._memory_for(contents, len(blocks), builder), strict=True)
        results = in_order(tasks, lambda task: builder.features(*task))
        located: Iterable[TableRows] = (builder.locate(rows) for _, rows in results)
        if builder.preparation.weigh_terms:
            located = [*located]  # weights are measured when all words have been seen
            self._measure_term_weights(located, learned, builder.preparation)
        matrices = (self._assembled(rows) for rows in located)
        return [block._replace(X=next(matrices)) if isinstance(block.X, UnpreparedRows) else block for block in blocks]

    def _memory_for(self, waiting: list[Contents], n_blocks: int, builder: RowBuilder) -> list[np.ndarray | None]:
        """Return parts of one array for the rows of each block, so that joining arrays of numbers copies nothing."""
        is_whole = len(waiting) == n_blocks and all(part.numbers.dtype == np.float64 for part in waiting)
        if not builder.is_dense or not is_whole:
            return [None] * len(waiting)
        ends = np.cumsum([0, *(part.n for part in waiting)])
        memory = np.empty((ends[-1], len(builder.preparation.number_names)))
        return [memory[begin:end] for begin, end in pairwise(ends.tolist())]

    def _measure(self, waiting: list[Block]) -> list[np.ndarray]:
        """Measure the preparation on the rows that are learned from. Return which rows of each block these are."""
        assert self._roles is not None
        learned = [np.ones(block.X.contents.n, bool) for block in waiting]
        if self.learn_from is not None:
            learned = self.learn_from(waiting)
        parts = [block.X.contents.part(keep) for block, keep in zip(waiting, learned, strict=True)]
        try:
            self._prepare(measure_preparation(parts, self._roles, self._derived, self._options))
        except ValueError as error:
            raise DataFileError(waiting[0].path, str(error).removesuffix(".")) from error
        return learned

    def _measure_term_weights(
        self, located: Iterable[TableRows], learned: list[np.ndarray], preparation: Preparation
    ) -> None:
        """Measure the weights of words. learned: which rows of each block are learned from."""
        assert self.columns is not None
        assert self._roles is not None
        texts = (
            (rows.words, rows.word_columns, is_counted)
            for rows, is_counted in zip(located, learned, strict=True)
            if rows.words is not None and rows.word_columns is not None
        )
        n_others = preparation.n_beside_texts(self._roles.categories)
        weights = TermWeights.measure(texts, self.columns.n_columns, n_others)
        self._prepare(replace(preparation, term_weights=weights, weigh_terms=False))


def _with_several_columns(options: ReadOptions) -> ReadOptions:
    """Return the options of a reader whose tables have several label columns. Raise ValueError if they contradict."""
    if options.label_separator is not None:
        raise ValueError(
            "label_separator is for several labels in one column, but label_column names several columns: leave one of "
            "them out."
        )
    if options.multilabel is False:
        reason = "the model was trained on one label per example" if options.for_model else "multilabel=False"
        raise ValueError(f"label_column names several columns, but {reason}: name one column.")
    return replace(options, multilabel=True)


def _bits(hash_bits: int | None, text: HashedText | None, columns: Columns | None) -> int:
    """Return the bits of the columns' numbers, 0 if nothing is hashed."""
    if columns is None:
        return hash_bits if hash_bits is not None else (0 if text is None else text.bits or 0)
    check_bits(hash_bits, columns)
    return columns.bits or 0
