"""Parquet and Arrow: tables that know the types of their columns. `arrowfiles.py` reads them in batches."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from perceptrons.data.arrowcells import (
    coded,
    find_faults,
    is_category,
    is_list,
    is_number,
    is_text,
    listed_features,
    strings,
    values_of,
)  # fmt: skip
from perceptrons.data.arrowfiles import arrow_batches, parquet_batches
from perceptrons.data.cells import Cells, Faults
from perceptrons.data.roles import Asked, Layout, Origin, likely_labels, locate, settle
from perceptrons.data.source import Piece
from perceptrons.data.tableformat import TableFormat
from perceptrons.features.records import Roles
from perceptrons.features.values import shown


class ArrowTable(TableFormat):
    """Parquet, or Arrow's files (Feather) and streams. Lines are rows.

    The first piece of a file has no rows, only columns; when they have been looked at, only those are read that count.
    """

    def __init__(self, format: str):
        super().__init__()
        self._batches = parquet_batches if format == "parquet" else arrow_batches
        self._used: dict[Path, list[str]] = {}

    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        first = True
        for batch in self._batches(path, lambda: self._used[path]):
            yield Piece(path, batch, batch.num_rows, first)
            first = False

    def look(self, piece: Piece, asked: Asked, roles: Roles | None) -> tuple[Roles | None, Layout | None]:
        schema: Any = piece.content.schema  # type: ignore[attr-defined]
        names, origin = list(schema.names), Origin(piece.path)
        for name in names:
            if names.count(name) > 1:
                raise origin.error(f"two columns have the name {shown(name)}: names must differ")
        if roles is None:
            numbers = [is_number(kind) for kind in schema.types]
            roles = settle(
                origin, names, asked, lambda places: [numbers[place] for place in places], likely_labels(names)
            )
        layout = locate(origin, names, roles, asked)
        _check_types(origin, schema, layout, asked)
        self._used[piece.path] = [names[place] for place in layout.used()]
        return roles, layout

    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        assert roles is not None
        assert layout is not None
        batch: Any = piece.content
        n, faults = piece.size, Faults()
        columns = {place: batch.column(layout.names[place]) for place in layout.used()}
        narrow = all(pa.types.is_float32(columns[place].type) for place in layout.numbers)
        numbers = np.empty((n, len(layout.numbers)), np.float32 if narrow and layout.numbers else np.float64)
        for to, place in enumerate(layout.numbers):
            numbers[:, to] = values_of(columns[place])
            find_faults(numbers[:, to], columns[place], layout.names[place], place + 1, faults)
        categories, further = {}, []
        for place in layout.categories:
            if is_list(columns[place].type):
                further.append(listed_features(columns[place], layout.names[place]))
            else:
                categories[layout.names[place]] = coded(columns[place])
        texts = [strings(columns[place]) for place in layout.texts]
        labels = None if layout.label is None else coded(columns[layout.label])
        return Cells(n, np.arange(n), numbers, roles.number_names, categories, further, texts, labels, faults, [])


def _check_types(origin: Origin, schema: Any, layout: Layout, asked: Asked) -> None:
    """Can the columns be what they are to be?"""
    for place in layout.used():
        name, kind = layout.names[place], schema.types[place]
        single = is_category(kind) and not is_list(kind)
        if place in layout.numbers:
            fits, wanted = is_number(kind), "numbers are wanted: mend it, or name the column under categories"
        elif place in layout.texts:
            fits, wanted = is_text(kind) or single, "text is wanted: mend it, or leave it out"
        elif place == layout.label:
            fits, wanted = (
                single or is_number(kind) or pa.types.is_temporal(kind),
                "a label is wanted: name another column",
            )
        else:
            fits = is_category(kind) or (name in asked.categories and (is_number(kind) or pa.types.is_temporal(kind)))
            wanted = "features are numbers or strings: turn it into such, or leave it out (ignore)"
            if pa.types.is_temporal(kind):
                wanted = f"{wanted}, or name it under categories"
        if not fits:
            raise origin.error(f"column {shown(name)} holds {kind}, but {wanted}")
