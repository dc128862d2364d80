"""Tables of records or in memory: what the keys of records are, dicts, and frames of pandas, polars and pyarrow."""

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.labels import USUAL_LABELS
from perceptrons.data.source import InMemory, Piece
from perceptrons.data.table import BadRecord, DataPath
from perceptrons.data.table_reader import (
    Cells,
    ColumnFormat,
    Faults,
    Origin,
    Plan,
    TableFormat,
    assign_roles,
    check_names,
    empty_cells,
    text_columns,
)
from perceptrons.features.cells import NEVER, Collector, RecordSchema, Roles
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.values import (
    are_mostly_numbers,
    as_iso,
    did_you_mean,
    kind_in_table,
    leaves,
    listed,
    plain_value,
    shown,
)

FULL = 0.25  # of the cells of a table of all keys: with fewer, columns would be mostly empty
ROWS = 2**16  # of a piece
MAX_HINTS = 10  # at what an unknown key may have meant: each is compared with all that lack
NOT_FEATURES = "features must be numbers or strings: convert the column, or leave it out with ignore (--ignore)"


class Record(NamedTuple):
    """A line, and what is wrong with it, or its object."""

    line: int
    text: str
    value: dict[str, object]  # empty if the record is bad
    bad: BadRecord | None = None


class Key(NamedTuple):
    """What the first block says of a key."""

    paths: set[tuple[str, ...]]
    kinds: Counter[str]


class RecordFormat(TableFormat):
    """Records whose keys are columns. What is known of keys is the schema of the plan."""

    @abstractmethod
    def records(self, piece: Piece) -> list[Record]:
        """Return the records of a piece."""

    @abstractmethod
    def n_lines(self, piece: Piece) -> int:
        """Return the number of lines of a piece."""

    def find_columns(self, piece: Piece, options: ColumnOptions, roles: Roles | None) -> Plan | None:
        records = [record for record in self.records(piece) if record.bad is None]
        if not records:
            return None
        keys: dict[str, Key] = {}
        for record in records:
            for path, value, _ in leaves(record.value):
                key = keys.setdefault(".".join(path), Key(set(), Counter()))
                key.paths.add(path)
                key.kinds[kind_in_table(value, options.missing_values)] += 1
        if roles is None:
            roles = _settle(Origin(piece.path, records[0].line + 1), keys, len(records), options)
        sparse = options.preparation is None and _is_sparse(keys, len(records), roles) and not roles.only_numbers
        if options.other_keys is not None and not sparse:
            self._report_unknown(keys, roles, options)
        several = roles.labels if options.need_labels or {*roles.labels} <= keys.keys() else []
        schema = RecordSchema(
            roles.with_label_columns(several), frozenset(options.ignore), options.closed,
            options.need_labels and not roles.labels, sparse,
            missing=NEVER if sparse else options.missing_values, several=options.several,
        )  # fmt: skip
        form = self.form(keys, len(records), schema)
        return Plan(roles, [], several, schema, form)

    def form(self, keys: dict[str, Key], n: int, schema: RecordSchema) -> Any:
        """Return what else a format knows of n records, for `cells`."""
        return None

    def _report_unknown(self, keys: dict[str, Key], roles: Roles, options: ColumnOptions) -> None:
        """Keys that a model does not know are left out, but not in silence: one may be misspelt."""
        assert options.other_keys is not None
        known_names = {*roles.numbers, *roles.categories, *roles.texts, *options.ignore, roles.label, *roles.labels}
        lacking = [name for name in known_names if name and name not in keys]
        unknown = [name for name in keys if name not in known_names and name not in options.other_keys]
        for number, name in enumerate(unknown):
            hint = did_you_mean(name, lacking) if number < MAX_HINTS else ""
            self.notices.setdefault(name, f"key {shown(name)} is unknown to the model and is left out{hint}")

    def cells(self, piece: Piece, plan: Plan | None) -> Cells:
        records, n_lines = self.records(piece), self.n_lines(piece)
        bad = [record.bad for record in records if record.bad is not None]
        valid = [record for record in records if record.bad is None]
        if plan is None:
            return empty_cells(n_lines, bad)
        assert plan.schema is not None
        collector, faults = Collector(len(valid), plan.schema), Faults()
        for row, record in enumerate(valid):
            misfit = collector.take(row, record.value)
            if misfit is not None:
                key = json.dumps(misfit.path[-1], ensure_ascii=False) if misfit.path else record.text
                faults.add(row, record.text.find(key) + 1 or 1, misfit.message)
        lines = np.fromiter((record.line for record in valid), np.int64)
        return Cells(n_lines, lines, collector.contents(), collector.labels(), faults, bad)


def _settle(origin: Origin, keys: dict[str, Key], n: int, options: ColumnOptions) -> Roles:
    """Decide what keys are by the first n records."""
    names_with_values = [name for name, key in keys.items() if key.kinds.total() > key.kinds["null"]]
    requested = [*options.categories, *options.ignore]
    if options.numbers is not None:
        label = [options.label_column] if isinstance(options.label_column, str) else options.label_column or []
        requested += [*options.numbers, *text_columns(names_with_values, options), *label]
    if options.model is not None:
        requested += options.model.names or []
    names = list(dict.fromkeys([*names_with_values, *requested]))

    if options.model is not None and options.model.names is None:
        raise origin.error(
            "the model knows its features by position, but the keys of records have no position: give a table"
        )
    labels = [name for name in reversed(USUAL_LABELS) if name in names_with_values]
    if options.label_column is None and options.need_labels and not labels and options.model is None:
        usual = f"{', '.join(USUAL_LABELS[:-1])} or {USUAL_LABELS[-1]}"
        message = f"no key is called {usual}: name the key of the labels with label_column (--label-column)"
        raise origin.error(f"{message}; there are {listed(names_with_values, 10)}")
    roles = assign_roles(origin, names, options, lambda place: are_mostly_numbers(keys[names[place]].kinds), labels)
    if options.optional is None or options.numbers is None:
        always = {name for name in names_with_values if keys[name].kinds.total() == n}
        every = _is_sparse(keys, n, roles)
        features = [*roles.numbers, *roles.categories]
        roles = roles._replace(optional=[name for name in features if every or name not in always])
    return roles


def _is_sparse(keys: dict[str, Key], n: int, roles: Roles) -> bool:
    """Return whether records lack most of the features that others have."""
    features = [*roles.numbers, *roles.categories]
    return sum(keys[name].kinds.total() for name in features if name in keys) < FULL * n * len(features)


class RecordTable(RecordFormat):
    """A list of dicts."""

    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        assert isinstance(path, InMemory)
        for begin in range(0, len(path.examples), ROWS):
            rows: Any = path.examples[begin : begin + ROWS]
            yield Piece(path, rows, len(rows), begin == 0)

    def records(self, piece: Piece) -> list[Record]:
        return [
            Record(row, "", {str(key): plain_value(value) for key, value in record.items()})
            for row, record in enumerate(piece.content)
        ]

    def n_lines(self, piece: Piece) -> int:
        return piece.size


def _batches(frame: Any) -> Iterator[Any]:
    """Yield a frame as it is, and a LazyFrame of polars in batches if its version can."""
    if not (hasattr(frame, "collect_schema") and hasattr(frame, "collect")):
        yield frame
    elif not hasattr(frame, "collect_batches"):
        yield frame.collect()
    else:
        batch = None
        for batch in frame.collect_batches(chunk_size=ROWS, maintain_order=True):
            yield batch
        if batch is None:
            yield frame.head(0).collect()


class FrameTable(ColumnFormat):
    """A frame of pandas or polars, or a table of pyarrow. A LazyFrame of polars is computed in batches."""

    def __init__(self, format: str) -> None:
        super().__init__(format)
        self._categories = set[str]()
        self._dates = dict[str, np.dtype]()  # the types of columns of dates, which become strings

    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        assert isinstance(path, InMemory)
        first = True
        for frame in _batches(path.examples):
            for piece in self._frame_pieces(path, frame):
                if first or piece.size:
                    yield piece._replace(first=first)
                    first = False

    def _frame_pieces(self, path: DataPath, frame: Any) -> Iterator[Piece]:
        names = list(getattr(frame, "column_names", frame.columns))
        check_names(Origin(path), [*map(str, names)])
        self._categories = {str(name) for name in names if str(getattr(frame[name], "dtype", "")) == "category"}
        columns = {str(name): np.asarray(frame[name]) for name in names}
        self._dates = {name: values.dtype for name, values in columns.items() if values.dtype.kind == "M"}
        columns = {name: as_iso(values) for name, values in columns.items()}
        for begin in range(0, max(frame.shape[0], 1), ROWS):
            part: Any = {name: values[begin : begin + ROWS] for name, values in columns.items()}
            yield Piece(path, part, min(ROWS, frame.shape[0] - begin), begin == 0)

    def _columns(self, piece: Piece) -> dict[str, np.ndarray]:
        columns: Any = piece.content
        return columns

    def column_names(self, piece: Piece) -> list[str]:
        return list(self._columns(piece))

    def is_number(self, piece: Piece, name: str) -> bool:
        """Return whether a column holds numbers; in a column of objects, whether more than half of the values are."""
        values = self._columns(piece)[name]
        if name in self._categories or values.dtype.kind != "O":
            return name not in self._categories and values.dtype.kind in "iuf"
        return are_mostly_numbers(Counter(kind_in_table(plain_value(value), self.missing) for value in values.tolist()))

    def find_columns(self, piece: Piece, options: ColumnOptions, roles: Roles | None) -> Plan:
        plan, columns = super().find_columns(piece, options, roles), self._columns(piece)
        for name in plan.used():
            kind = self._dates.get(name, columns[name].dtype)
            is_date = kind.kind == "M" and (options.infers_kinds or name in options.categories)
            if kind.kind in "mMcV" and not is_date and name not in (plan.label, *plan.read.texts):
                raise Origin(piece.path).error(f"column {shown(name)} holds {kind}, but {NOT_FEATURES}")
        assert plan.roles is not None
        schema = RecordSchema(
            plan.read, frozenset(), closed=True, sparse=False, missing=self.missing,
            need_labels=options.need_labels and plan.roles.label is not None, several=options.several,
        )  # fmt: skip
        return plan._replace(schema=schema)

    def cells(self, piece: Piece, plan: Plan | None) -> Cells:
        assert plan is not None
        assert plan.schema is not None
        columns, n, faults = self._columns(piece), piece.size, Faults(plan)
        collector = Collector(n, plan.schema)
        for name in plan.used():
            for row, message in collector.put_column(name, columns[name]):
                faults.add_cell(row, name, message)
        kinds = {columns[name].dtype for name in plan.read.numbers}
        contents = collector.contents(narrow=kinds == {np.dtype(np.float32)})
        labels = None if plan.label is None else collector.labels()
        return Cells(n, np.arange(n), contents, labels, faults, [])
