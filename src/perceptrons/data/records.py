"""Tables of records or in memory: what the keys of records are, dicts, and frames of pandas, polars and pyarrow."""

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.source import InMemory, Piece
from perceptrons.data.table import BadRecord, DataPath
from perceptrons.data.table_format import (
    USUAL_LABELS,
    Cells,
    Faults,
    Layout,
    Origin,
    TableFormat,
    assign_roles,
    empty_cells,
    likely_labels,
    locate_columns,
    text_columns,
)
from perceptrons.features.cells import NEVER, Collector, RecordSchema, Roles
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.values import (
    Missing,
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


class RecordForm(NamedTuple):
    """What is known of the records of a file."""

    schema: RecordSchema
    shape: Any = None  # the format's own


class RecordFormat(TableFormat):
    """Records whose keys are columns. What is known of keys is the form of the layout."""

    @abstractmethod
    def records(self, piece: Piece) -> list[Record]:
        """Return the records of a piece."""

    @abstractmethod
    def n_lines(self, piece: Piece) -> int:
        """Return the number of lines of a piece."""

    def find_columns(
        self, piece: Piece, options: ColumnOptions, roles: Roles | None
    ) -> tuple[Roles | None, Layout | None]:
        records = [record for record in self.records(piece) if record.bad is None]
        if not records:
            return roles, None
        keys = _keys(records, options.missing_values)
        if roles is None:
            roles = _settle(Origin(piece.path, records[0].line + 1), keys, len(records), options)
        sparse = options.preparation is None and _is_sparse(keys, len(records), roles) and not roles.only_numbers
        self._report_unknown(keys, roles, options, sparse)
        missing = NEVER if sparse else options.missing_values
        several = roles.labels if options.need_labels or {*roles.labels} <= keys.keys() else []
        schema = RecordSchema(
            roles.with_label_columns(several),
            frozenset(options.ignore),
            options.closed,
            options.need_labels and not roles.labels,
            sparse,
            missing=missing,
            several=options.several,
        )
        label = None if roles.label is None else 0
        form = self.form(keys, len(records), schema)
        return roles, Layout([], label, [], [], [], form, sparse, several)

    def form(self, keys: dict[str, Key], n: int, schema: RecordSchema) -> Any:
        """Return what is known of n records, for `cells`."""
        return RecordForm(schema)

    def _report_unknown(self, keys: dict[str, Key], roles: Roles, options: ColumnOptions, sparse: bool) -> None:
        """Keys that a model does not know are left out, but not in silence: one may be misspelt."""
        if options.other_keys is None or sparse:
            return
        known_names = {*roles.numbers, *roles.categories, *roles.texts, *options.ignore, roles.label, *roles.labels}
        lacking = [name for name in known_names if name and name not in keys]
        unknown = [name for name in keys if name not in known_names and name not in options.other_keys]
        for number, name in enumerate(unknown):
            hint = did_you_mean(name, lacking) if number < MAX_HINTS else ""
            self.notices.setdefault(name, f"key {shown(name)} is unknown to the model and is left out{hint}")

    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        records = self.records(piece)
        bad = [record.bad for record in records if record.bad is not None]
        valid = [record for record in records if record.bad is None]
        if layout is None:
            return empty_cells(self.n_lines(piece), bad)
        collector, faults = Collector(len(valid), layout.form.schema), Faults()
        for row, record in enumerate(valid):
            misfit = collector.take(row, record.value)
            if misfit is not None:
                key = json.dumps(misfit.path[-1], ensure_ascii=False) if misfit.path else record.text
                faults.add(row, record.text.find(key) + 1 or 1, misfit.message)
        return Cells(
            self.n_lines(piece),
            np.fromiter((record.line for record in valid), np.int64),
            collector.contents(),
            collector.labels(),
            faults,
            bad,
        )


def _keys(records: list[Record], missing: Missing) -> dict[str, Key]:
    keys: dict[str, Key] = {}
    for record in records:
        for path, value, _ in leaves(record.value):
            key = keys.setdefault(".".join(path), Key(set(), Counter()))
            key.paths.add(path)
            key.kinds[kind_in_table(value, missing)] += 1
    return keys


def _settle(origin: Origin, keys: dict[str, Key], n: int, options: ColumnOptions) -> Roles:
    names_with_values = [name for name, key in keys.items() if key.kinds.total() > key.kinds["null"]]
    requested = [*options.categories, *options.ignore]
    if options.numbers is not None:
        label = [options.label_column] if isinstance(options.label_column, str) else options.label_column or []
        requested += [*options.numbers, *text_columns(names_with_values, options), *label]
    if options.model is not None:
        requested += options.model.names or []
    names = list(dict.fromkeys([*names_with_values, *requested]))

    def is_number(places: list[int]) -> list[bool]:
        return [are_mostly_numbers(keys[names[place]].kinds) for place in places]

    if options.model is not None and options.model.names is None:
        raise origin.error(
            "the model knows its features by position, but the keys of records have no position: give a table"
        )
    labels = [name for name in reversed(USUAL_LABELS) if name in names_with_values]
    if options.label_column is None and options.need_labels and not labels and options.model is None:
        usual = f"{', '.join(USUAL_LABELS[:-1])} or {USUAL_LABELS[-1]}"
        message = f"no key is called {usual}: name the key of the labels with label_column (--label-column)"
        raise origin.error(f"{message}; there are {listed(names_with_values, 10)}")
    roles = assign_roles(origin, names, options, is_number, labels)
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


def is_lazy(frame: object) -> bool:
    """Return whether it is a LazyFrame of polars, whose rows are still to be computed."""
    return hasattr(frame, "collect_schema") and hasattr(frame, "collect")


def _batches(frame: Any) -> Iterator[Any]:
    """Yield a frame as it is, and a LazyFrame in batches if its version of polars can."""
    if not is_lazy(frame):
        yield frame
    elif hasattr(frame, "collect_batches"):
        batch = None
        for batch in frame.collect_batches(chunk_size=ROWS, maintain_order=True):
            yield batch
        if batch is None:
            yield frame.head(0).collect()
    else:
        yield frame.collect()


class FrameTable(TableFormat):
    """A frame of pandas or polars, or a table of pyarrow. A LazyFrame of polars is computed in batches."""

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
        for name, times in Counter(map(str, names)).items():
            if times > 1:
                raise Origin(path).error(f"two columns have the name {shown(name)}: rename one")
        self._categories = {str(name) for name in names if str(getattr(frame[name], "dtype", "")) == "category"}
        columns = {str(name): np.asarray(frame[name]) for name in names}
        self._dates = {name: values.dtype for name, values in columns.items() if values.dtype.kind == "M"}
        columns = {name: as_iso(values) for name, values in columns.items()}
        for begin in range(0, max(frame.shape[0], 1), ROWS):
            part: Any = {name: values[begin : begin + ROWS] for name, values in columns.items()}
            yield Piece(path, part, min(ROWS, frame.shape[0] - begin), begin == 0)

    def find_columns(
        self, piece: Piece, options: ColumnOptions, roles: Roles | None
    ) -> tuple[Roles | None, Layout | None]:
        columns: Any = piece.content
        names, origin, self._need_labels = list(columns), Origin(piece.path), options.need_labels
        self._several = options.several
        if roles is None:
            roles = assign_roles(
                origin, names, options, lambda places: [self._is_number(names[place], columns) for place in places],
                likely_labels(names),
            )  # fmt: skip
        layout = locate_columns(origin, names, roles, options)
        for place in layout.used():
            kind = self._dates.get(names[place], columns[names[place]].dtype)
            dated = kind.kind == "M" and (options.infers_kinds or names[place] in options.categories)
            if kind.kind in "mMcV" and not dated and place not in (layout.label, *layout.texts):
                raise origin.error(f"column {shown(names[place])} holds {kind}, but {NOT_FEATURES}")
        return roles, layout

    def _is_number(self, name: str, columns: dict[str, np.ndarray]) -> bool:
        """Return whether a column holds numbers; in a column of objects, whether more than half of the values are."""
        values = columns[name]
        if name in self._categories or values.dtype.kind != "O":
            return name not in self._categories and values.dtype.kind in "iuf"
        return are_mostly_numbers(Counter(kind_in_table(plain_value(value), self.missing) for value in values.tolist()))

    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        assert roles is not None
        assert layout is not None
        columns: Any = piece.content
        n, faults = piece.size, Faults()
        schema = RecordSchema(
            roles, frozenset(), closed=True, need_labels=self._need_labels and roles.label is not None, sparse=False,
            missing=self.missing, several=self._several,
        )  # fmt: skip
        collector = Collector(n, schema)
        for place in layout.used():
            name = layout.names[place]
            for row, message in collector.put_column(name, columns[name]):
                faults.add(row, place + 1, f"column {shown(name)}: {message}")
        kinds = {columns[layout.names[place]].dtype for place in layout.numbers}
        contents = collector.contents(narrow=kinds == {np.dtype(np.float32)})
        labels = None if layout.label is None else collector.labels()
        return Cells(n, np.arange(n), contents, labels, faults, [])
