"""Tables in memory: frames of pandas, polars and pyarrow, and lists of records. Lines are rows, counted from 1."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from perceptrons.data.cells import Cells, Faults, TableFormat
from perceptrons.data.jsonrecords import Record, RecordFormat
from perceptrons.data.roles import Asked, Layout, Origin, likely_labels, locate, settle
from perceptrons.data.source import InMemory, Piece
from perceptrons.features.records import NUMBER, Collector, Known, MisfitError, Roles
from perceptrons.features.values import LARGEST, is_missing, kind_of, shown

ROWS = 2**16  # of a piece
NOT_FEATURES = "features are numbers or strings: turn it into such, or leave it out (ignore)"


class RecordTable(RecordFormat):
    """A list of dicts."""

    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        assert isinstance(path, InMemory)
        for begin in range(0, len(path.examples), ROWS):
            rows: Any = path.examples[begin : begin + ROWS]
            yield Piece(path, rows, len(rows), begin == 0)

    def records(self, piece: Piece) -> list[Record]:
        return [
            Record(row, "", {str(key): _plain(value) for key, value in record.items()})
            for row, record in enumerate(piece.content)
        ]

    def n_lines(self, piece: Piece) -> int:
        return piece.size


class FrameTable(TableFormat):
    """A frame of pandas or polars, or a table of pyarrow."""

    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        assert isinstance(path, InMemory)
        frame = path.examples
        names = list(getattr(frame, "column_names", frame.columns))
        for name, times in Counter(map(str, names)).items():
            if times > 1:
                raise Origin(path).error(f"two columns have the name {shown(name)}: names must differ")
        self._categories = {str(name) for name in names if str(getattr(frame[name], "dtype", "")) == "category"}
        columns = {str(name): np.asarray(frame[name]) for name in names}
        for begin in range(0, max(frame.shape[0], 1), ROWS):
            part: Any = {name: values[begin : begin + ROWS] for name, values in columns.items()}
            yield Piece(path, part, min(ROWS, frame.shape[0] - begin), begin == 0)

    def look(self, piece: Piece, asked: Asked, roles: Roles | None) -> tuple[Roles | None, Layout | None]:
        columns: Any = piece.content
        names, origin, self._need_labels = list(columns), Origin(piece.path), asked.need_labels
        if roles is None:
            roles = settle(
                origin, names, asked, lambda places: [self._is_number(names[place], columns) for place in places],
                likely_labels(names),
            )  # fmt: skip
        layout = locate(origin, names, roles, asked)
        for place in layout.used():
            kind = columns[names[place]].dtype
            if kind.kind in "mMcV" and place not in (layout.label, *layout.texts):
                raise origin.error(f"column {shown(names[place])} holds {kind}, but {NOT_FEATURES}")
        return roles, layout

    def _is_number(self, name: str, columns: dict[str, np.ndarray]) -> bool:
        """Does a column hold numbers? In one of objects, as more than half of the values are."""
        values = columns[name]
        if name in self._categories or values.dtype.kind != "O":
            return name not in self._categories and values.dtype.kind in "iuf"
        kinds = Counter(kind_of(_plain(value)) for value in values.tolist())
        return 2 * (kinds["int"] + kinds["float"]) > kinds.total() - kinds["null"]

    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        assert roles is not None
        assert layout is not None
        columns: Any = piece.content
        n, faults = piece.size, Faults()
        known = Known(roles, frozenset(), closed=True, need_labels=self._need_labels, sparse=False)
        collector = Collector(n, known)
        for place in layout.used():
            _put_column(collector, layout.names[place], columns[layout.names[place]], place + 1, faults)
        numbers = collector.numbers
        if layout.numbers and all(columns[layout.names[place]].dtype == np.float32 for place in layout.numbers):
            numbers = numbers.astype(np.float32)
        labels = None if layout.label is None else collector.labels()
        parts = collector.categories(), collector.further(), collector.texts(), labels
        return Cells(n, np.arange(n), numbers, collector.number_names, *parts, faults, [])


def _put_column(collector: Collector, name: str, values: np.ndarray, column: int, faults: Faults) -> None:
    """Put the values of a column where they belong; those that do not fit are faults."""
    role, place = collector.role_of[name]
    if role == NUMBER and values.dtype.kind in "iuf":
        with np.errstate(invalid="ignore"):
            sound = bool((np.abs(amounts := values.astype(np.float64)) <= LARGEST).all())
        if sound:
            collector.numbers[:, place] = amounts
            return
    for row, value in enumerate(values.tolist()):
        try:
            collector.put(row, name, role, place, _plain(value))
        except MisfitError as error:
            faults.add(row, column, f"column {shown(name)}: {error}")


def _plain(value: Any) -> Any:
    """A value as JSON would have it."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.item() if isinstance(value, np.generic) else value.tolist()
    return None if is_missing(value) else value
