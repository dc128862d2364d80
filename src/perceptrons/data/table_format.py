"""The columns of a table: what they are, label, numbers, categories or texts, and how their cells become rows.

What they are is settled by the first block; each format of tables (a `TableFormat`) then gives the cells of a piece.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.labels import Label, as_set, split_labels
from perceptrons.data.source import Piece
from perceptrons.data.table import BadRecord, CodedLabels, DataFileError, DataPath, ParsedPiece
from perceptrons.engine.wording import count
from perceptrons.features.cells import NEVER, CodedColumn, Contents, Roles
from perceptrons.features.column_options import ColumnOptions, ModelColumns
from perceptrons.features.preparation import Preparation
from perceptrons.features.values import did_you_mean, is_label, listed, no_label, shown

USUAL_LABELS = ("label", "y", "target", "class")
MAX_COLUMNS = 2**17
LARGEST_NARROW = 1e30
LABEL_CELLS = {"1": 1, "1.0": 1, "true": 1, "yes": 1, "0": 0, "0.0": 0, "false": 0, "no": 0}  # of several label columns


class Layout(NamedTuple):
    """Where the columns lie in a file; places count from 0."""

    names: list[str]
    label: int | None
    numbers: list[int]
    categories: list[int]
    texts: list[int]
    form: Any = None  # the format's own
    sparse: bool = False  # do records lack most of the features that others have?
    labels: Sequence[str] = ()  # the label columns that are there, if there are several; they are the last categories

    def used(self) -> list[int]:
        """Return all places that are looked at."""
        return sorted({*self.numbers, *self.categories, *self.texts, *([] if self.label is None else [self.label])})


class Origin(NamedTuple):
    """A file, for messages."""

    path: DataPath
    line: int | None = None
    header: bool = True

    def error(self, message: str, place: int = 0) -> DataFileError:
        return DataFileError(self.path, message, self.line, place + 1)


def check_width(origin: Origin, names: list[str]) -> None:
    """Raise DataFileError for more columns than a table may have."""
    if len(names) > MAX_COLUMNS:
        message = f"{len(names):,} columns here, but a table may have {MAX_COLUMNS:,}"
        raise origin.error(f"{message}: write sparse rows as svmlight, others as npz, or correct the separators")


def assign_roles(
    origin: Origin,
    names: list[str],
    options: ColumnOptions,
    is_number: Callable[[list[int]], list[bool]],
    labels: list[str],
) -> Roles:
    """Decide what columns of these names are.

    is_number: for columns at these places, by what they hold. labels: columns that may be the label if none is named,
    the likeliest last.
    """
    texts = text_columns(names, options)
    if options.model is not None:
        return _roles_for_array_model(origin, names, options, options.model)
    if options.numbers is not None:
        label, several = _labels(origin, names, options, labels, {*options.numbers, *options.categories, *texts})
        roles = Roles(
            label, list(options.numbers), list(options.categories), texts, list(options.optional or ()), several
        )
        return _add_new_columns(origin, names, roles, options, is_number) if options.grow else roles
    _require_columns(origin, names, [*texts, *options.categories, *options.ignore])
    label, several = _labels(origin, names, options, labels, {*options.categories, *options.ignore, *texts})
    for name in [*several, label]:
        if name in texts:
            raise origin.error(f"column {shown(str(name))} cannot be both label and text: choose another for one")
    no_features, categories = {label, *several, *options.ignore, *texts}, set(options.categories)
    features = [place for place, name in enumerate(names) if name not in no_features]
    undecided = [place for place in features if names[place] not in categories]
    numbers = {place for place, number in zip(undecided, is_number(undecided), strict=True) if number}
    roles = Roles(
        label,
        [names[place] for place in features if place in numbers],
        [names[place] for place in features if place not in numbers],
        texts,
        [],
        several,
    )
    _check_names(origin, roles)
    return roles


def _add_new_columns(
    origin: Origin, names: list[str], roles: Roles, options: ColumnOptions, is_number: Callable[[list[int]], list[bool]]
) -> Roles:
    """Return the columns that a model knows, and behind them the others."""
    known_names = {roles.label, *roles.labels, *roles.numbers, *roles.categories, *roles.texts, *options.ignore}
    new = [place for place, name in enumerate(names) if name not in known_names]
    flags = is_number(new)
    numbers = [names[place] for place, number in zip(new, flags, strict=True) if number]
    categories = [names[place] for place, number in zip(new, flags, strict=True) if not number]
    grown = roles._replace(
        numbers=[*roles.numbers, *numbers], categories=[*roles.categories, *categories],
        optional=[*roles.optional, *(numbers + categories if roles.optional else [])],
    )  # fmt: skip
    _check_names(origin, grown)
    return grown


def _roles_for_array_model(origin: Origin, names: list[str], options: ColumnOptions, model: ModelColumns) -> Roles:
    """Return the columns for a model that learned from arrays: by name where there are names, otherwise by position."""
    n = model.n_features
    label, several = (None, []) if options.label_column is None else _labels(origin, names, options, [], set())
    if model.names is not None and (origin.header or set(model.names) <= {*names}):
        model_names, features = set(model.names), model.names
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


def _check_names(origin: Origin, roles: Roles) -> None:
    """No two columns may make features of one name."""
    categories = set(roles.categories)
    for name in (*roles.numbers, *roles.categories):
        for place, letter in enumerate(name):
            if letter == "=" and name[:place] in categories:
                pair = f"{shown(name[:place])} and {shown(name)}"
                raise origin.error(f"columns {pair} could produce features of the same name: rename one")


def locate_columns(origin: Origin, names: list[str], roles: Roles, options: ColumnOptions, form: Any = None) -> Layout:
    """Return where the columns of these roles are in another file."""
    place_of = {name: place for place, name in enumerate(names)}
    label = None if roles.label is None else place_of.get(roles.label)
    used = {*roles.numbers, *roles.categories, *roles.texts}
    missing = [name for name in (*roles.numbers, *roles.categories, *roles.texts) if name not in place_of]
    lacking = [name for name in roles.labels if name not in place_of]
    if options.need_labels:
        missing += lacking
    if label is None and options.need_labels and not missing and roles.label is not None:
        message = f"no column is called {shown(roles.label)}: there are {listed(names)}"
        raise origin.error(f"{message}: name the column of the labels with label_column (--label-column)")
    if label is None and options.need_labels and not roles.labels:
        missing += ["the label" if roles.label is None else roles.label]
    if missing and not origin.header:
        message = f"there is no header, so {listed(missing)} cannot be found: add one, or give the columns of training"
        raise origin.error(message)
    if missing:
        hints = "".join(
            did_you_mean(name, [name_there for name_there in names if name_there not in used]) for name in missing[:1]
        )
        source = "the first file has" if options.numbers is None else "the model was trained on"
        raise origin.error(f"there is no column {listed(missing)}, which {source}{hints}: add the missing columns")
    if not roles.numbers and not roles.categories and not roles.texts:
        raise origin.error("there is only one column: give a label and at least one feature, separated by commas")
    several = [] if lacking else roles.labels
    numbers, categories, texts = (
        [place_of[name] for name in part] for part in (roles.numbers, [*roles.categories, *several], roles.texts)
    )
    return Layout(names, label, numbers, categories, texts, form, labels=several)


def relocate_columns(layout: Layout, roles: Roles, ignore: Sequence[str]) -> Layout:
    """Return where the columns are, now that some are left out."""
    if not layout.names:  # records: keys have no places
        roles_read = roles.with_label_columns(layout.labels)
        schema = layout.form.schema._replace(roles=roles_read, ignore=frozenset(ignore))
        return layout._replace(form=layout.form._replace(schema=schema))
    place_of = {name: place for place, name in enumerate(layout.names)}
    return layout._replace(
        numbers=[place_of[name] for name in roles.numbers],
        categories=[place_of[name] for name in (*roles.categories, *layout.labels)],
        texts=[place_of[name] for name in roles.texts],
    )


def text_columns(names: list[str], options: ColumnOptions) -> list[str]:
    """Return the columns of text, each once: names, or several names separated by commas."""
    requested = [options.text_column] if isinstance(options.text_column, str) else options.text_column or []
    parts = [[name] if name in names else [part.strip() for part in name.split(",")] for name in requested]
    return list(dict.fromkeys(name for part in parts for name in part))


def likely_labels(names: list[str]) -> list[str]:
    """Return the names of columns, those last that labels usually have."""
    return [name for name in names if name not in USUAL_LABELS] + [
        name for name in reversed(USUAL_LABELS) if name in names
    ]


def _require_columns(origin: Origin, names: list[str], required: list[str]) -> None:
    for name in required:
        if name not in names:
            raise origin.error(f"no column is called {shown(name)}: there are {listed(names)}")


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


def with_label_sets(cells: Cells, layout: Layout, need_labels: bool) -> Cells:
    """Join label columns, which are among the categories, to one label set per row."""
    if not layout.labels:
        return cells
    categories, n = dict(cells.contents.categories), len(cells.lines)
    is_set, is_known = np.zeros((n, len(layout.labels)), bool), np.ones(n, bool)
    for place, name in enumerate(layout.labels):
        codes, distinct = categories.pop(name)
        values = np.array([*(LABEL_CELLS.get(text.strip().lower(), -1) for text in distinct), -1])[codes]
        is_set[:, place] = values == 1
        is_known &= values >= 0
        for row in np.flatnonzero(values < 0).tolist() if need_labels else ():
            cell = shown(distinct[codes[row]] if codes[row] >= 0 else "")
            column = layout.names.index(name) + 1 if name in layout.names else 1
            cells.faults.add(row, column, f"label column {shown(name)}: {cell} is neither 1 nor 0: correct the cell")
    cells = cells._replace(contents=cells.contents._replace(categories=categories))
    if not need_labels and not is_known.all():
        return cells
    distinct_sets, codes = np.unique(is_set, axis=0, return_inverse=True)
    sets = [tuple(layout.labels[place] for place in np.flatnonzero(flags).tolist()) for flags in distinct_sets]
    return cells._replace(labels=CodedColumn(codes.ravel().astype(np.int32), sets))


def empty_cells(n_lines: int, bad: list[BadRecord]) -> Cells:
    """Those of a piece without a row."""
    return Cells(n_lines, np.empty(0, np.int64), Contents(np.empty((0, 0)), {}, [], []), None, Faults(), bad)


class LabelRule(NamedTuple):
    """What labels must be."""

    needed: bool  # is an example without a label an error?
    several: bool = False  # may an example have several labels, or none?
    separator: str | None = None  # between several labels in one text


def check_cells(
    cells: Cells, layout: Layout, preparation: Preparation, *, is_dense: bool, is_float32: bool, labels: LabelRule
) -> ParsedPiece:
    """Return the rows without faults, as far as they do not depend on other pieces, and the faults of the others."""
    column = (layout.label or 0) + 1
    if cells.labels is not None:
        cells = cells._replace(labels=_check_labels(cells.labels, column, cells.faults, labels))
    for part in cells.contents.lists if is_dense else ():
        for row, code in zip(part.rows.tolist(), part.codes.tolist(), strict=True):
            message = "appears here for the first time: list it in numbers or categories, or in ignore (--ignore)"
            cells.faults.add(row, 1, f"key {shown(part.names[code])} {message}")
    if is_float32:
        _find_large(cells, layout)
    contents, invalid = preparation.derive(cells.contents)
    for row, name, message in invalid:
        place = layout.names.index(name) if name in layout.names else 0
        cells.faults.add(row, place + 1, f"column {shown(name)}: {message}")
    bad = list(cells.bad)
    cells = cells._replace(contents=contents)
    if cells.faults.rows:
        bad += [
            BadRecord(int(cells.lines[row]), message, column) for row, (column, message) in cells.faults.rows.items()
        ]
        cells = _drop_rows(cells, cells.faults)
    texts = None if cells.labels is None else _drop_unused_labels(cells.labels, column)
    return ParsedPiece(cells.n_lines, cells.lines, texts, cells.contents, None, bad)


def _find_large(cells: Cells, layout: Layout) -> None:
    """Numbers that float32 cannot hold, or not together with others."""
    message = f"is too large (at most {LARGEST_NARROW:.0e} for hashed features and words): scale the values"
    numbers = cells.contents.numbers
    for row, place in np.argwhere(np.abs(numbers) > LARGEST_NARROW).tolist():
        column = layout.numbers[place] + 1 if layout.numbers else 1
        cells.faults.add(row, column, f"{shown(str(numbers[row, place]))} {message}")
    for part in cells.contents.lists:
        for at in np.flatnonzero(np.abs(part.amounts) > LARGEST_NARROW).tolist():
            cells.faults.add(int(part.rows[at]), 1, f"{shown(str(part.amounts[at]))} {message}")


def _drop_unused_labels(labels: CodedColumn, column: int) -> CodedLabels:
    """Return the labels, of the distinct ones only those that are left."""
    there = np.flatnonzero(np.bincount(labels.codes, minlength=len(labels.distinct)))
    number_of = np.zeros(len(labels.distinct), np.int32)
    number_of[there] = np.arange(len(there))
    return CodedLabels(number_of[labels.codes], [labels.distinct[code] for code in there.tolist()], column)


def _check_labels(labels: CodedColumn, column: int, faults: Faults, rule: LabelRule) -> CodedColumn | None:
    """Return the labels without spaces around them, each distinct one once.

    Those that are none are faults, or, if labels are not needed, leave all rows without labels; unless an example may
    have none.
    """
    number_of: dict[Label, int] = {() if rule.several else "": 0}
    each = (number_of.setdefault(_strip_label(label, rule), len(number_of)) for label in labels.distinct)
    codes = np.array([*each, 0], np.int32)[labels.codes]  # code -1, for none, is the last
    texts = list(number_of)
    missing = [number for number, text in enumerate(texts) if isinstance(text, str) and not is_label(text)]
    for row in np.flatnonzero(np.isin(codes, missing)).tolist():
        if not rule.needed:
            return None
        if row in faults.rows:
            continue
        faults.add(row, column, f"{no_label(str(texts[codes[row]]))}: add one, or remove the record")
    return CodedColumn(codes, texts)


def _strip_label(label: Label, rule: LabelRule) -> Label:
    """Return a label, or the labels that a text holds, without spaces around them."""
    if isinstance(label, tuple):
        return tuple(part.strip() for part in label)
    if not rule.several:
        return label.strip()
    return as_set(label.strip()) if rule.separator is None else split_labels(label, rule.separator)


def _drop_rows(cells: Cells, faults: Faults) -> Cells:
    """Return the rows that have no fault."""
    keep = np.ones(len(cells.lines), bool)
    keep[list(faults.rows)] = False
    labels = None if cells.labels is None else CodedColumn(cells.labels.codes[keep], cells.labels.distinct)
    return cells._replace(lines=cells.lines[keep], contents=cells.contents.part(keep), labels=labels)


class TableFormat(ABC):
    """A format of tables. One instance serves all files of a reader, once."""

    names: list[str] | None = None  # of the columns of the first file, where a file may be without names
    unnamed = False  # has the first file no names?
    encoding: str | None = None  # of the text in files; None: UTF-8
    decimal: str | None = None  # "." or ",", where numbers are text; None: as the first rows have it

    def __init__(self) -> None:
        self.notices: dict[str, str] = {}  # what somebody should be told of columns, by their names
        self.missing = NEVER  # what stands for a missing number

    @abstractmethod
    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        """Cut a file into pieces of whole records, of bounded size."""

    @abstractmethod
    def find_columns(
        self, piece: Piece, options: ColumnOptions, roles: Roles | None
    ) -> tuple[Roles | None, Layout | None]:
        """Return what the columns are, unless it is known, and their places in the file that begins with this piece.

        Where the piece does not tell, the next one is asked: roles are None then, or the layout if no name is known.
        """

    def nothing(self, path: DataPath) -> tuple[str, int]:
        """Return what is wrong where there is no example, and the line."""
        return "there are no examples in it: write one record per example", 1

    @abstractmethod
    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        """Read a piece; runs in several threads at once."""
