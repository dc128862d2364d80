"""The plan of a table: what its columns are, where they stand in a file, and how their cells are checked.

The first block decides what the columns are. Each format of tables (a `TableFormat`) then gives the cells of a piece.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.labels import Label, as_set, split_labels
from perceptrons.data.source import Piece
from perceptrons.data.table import BadRecord, DataFileError, DataPath, ParsedPiece
from perceptrons.engine.wording import count
from perceptrons.features.cells import NEVER, CodedColumn, Contents, RecordSchema, Roles
from perceptrons.features.column_options import ColumnOptions, ModelColumns
from perceptrons.features.preparation import Preparation
from perceptrons.features.values import did_you_mean, is_label, listed, no_label, shown

USUAL_LABELS = ("label", "y", "target", "class")
MAX_COLUMNS = 2**17
LARGEST_NARROW = 1e30
LABEL_CELLS = {"1": 1, "1.0": 1, "true": 1, "yes": 1, "0": 0, "0.0": 0, "false": 0, "no": 0}  # of several label columns


class Plan(NamedTuple):
    """What the columns of a file are, where they stand, and how they are prepared; threads parse a piece by it alone.

    Places count from 0. Records have no places: their schema says what their keys are.
    """

    roles: Roles | None  # None until the first row has been seen
    names: list[str]
    label: int | None
    numbers: list[int]
    categories: list[int]
    texts: list[int]
    labels: Sequence[str] = ()  # the label columns that are there, if there are several; they are the last categories
    schema: RecordSchema | None = None  # of cells that are values of Python
    form: Any = None  # the format's own
    preparation: Preparation | None = None  # None until it has been measured

    @property
    def sparse(self) -> bool:
        """Do records lack most of the features that others have?"""
        return self.schema is not None and self.schema.sparse

    def used(self) -> list[int]:
        """Return all places that are looked at."""
        return sorted({*self.numbers, *self.categories, *self.texts, *([] if self.label is None else [self.label])})

    def with_roles(self, roles: Roles, ignore: Sequence[str] = ()) -> "Plan":
        """Return the plan for these roles, whose columns are in the file; ignore: keys of records to leave out."""
        place_of = {name: place for place, name in enumerate(self.names)}
        read = roles.with_label_columns(self.labels)
        numbers, categories, texts = (
            [place_of[name] for name in names if self.names] for names in (read.numbers, read.categories, read.texts)
        )
        schema = None if self.schema is None else self.schema._replace(roles=read)
        if schema is not None and not self.names:
            schema = schema._replace(ignore=frozenset(ignore))
        return self._replace(roles=roles, numbers=numbers, categories=categories, texts=texts, schema=schema)


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
    for chosen in [*several, label]:
        if chosen in texts:
            raise origin.error(f"column {shown(str(chosen))} cannot be both label and text: choose another for one")
    return _add_columns(origin, names, Roles(label, [], [], texts, [], several), options, is_number)


def _add_columns(
    origin: Origin, names: list[str], roles: Roles, options: ColumnOptions, is_number: Callable[[int], bool]
) -> Roles:
    """Return these roles, with the columns that have none yet as numbers or categories."""
    known = {roles.label, *roles.labels, *roles.numbers, *roles.categories, *roles.texts, *options.ignore}
    told = {*options.categories} - known
    new = [place for place, name in enumerate(names) if name not in known]
    flags = [names[place] not in told and is_number(place) for place in new]
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
    label = names.index(str(roles.label)) if has_label else None
    return Plan(roles, names, label, [], [], [], [] if lacking else roles.labels, form=form).with_roles(roles)


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

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, str]] = {}

    def add(self, row: int, column: int, message: str) -> None:
        if row not in self.rows or column < self.rows[row][0]:
            self.rows[row] = column, message


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
            column = plan.names.index(name) + 1 if name in plan.names else 1
            cells.faults.add(row, column, f"label column {shown(name)}: {cell} is neither 1 nor 0: correct the cell")
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
    column, faults, labels = (plan.label or 0) + 1, cells.faults, cells.labels
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
        place = plan.names.index(name) if name in plan.names else 0
        faults.add(row, place + 1, f"column {shown(name)}: {message}")
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
        column = plan.numbers[place] + 1 if plan.numbers else 1
        cells.faults.add(row, column, f"{shown(str(numbers[row, place]))} {message}")
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
