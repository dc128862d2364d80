"""What the workers are to read, and how. The files of another machine's cluster need not be on this one."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from perceptrons.cli.errors import BadInputError
from perceptrons.cli.options import DataFormat
from perceptrons.cli.stream.reading import reader_of, refusing_stream
from perceptrons.cli.stream.training import Order

NOTHING = Path(os.devnull)


class ByWorkers(NamedTuple):
    """Files as far as this machine knows them, by their whole names, and how to read them, as `stream` takes it."""

    files: list[Path]
    how: dict[str, Any]


def by_workers(order: Order) -> ByWorkers:
    """What was asked for. Local workers see what this process sees, so that errors come before they are started."""
    data, format = order.data, order.format
    if order.asked.dask is not None:
        data, format = [NOTHING], _format(order)
    reader = reader_of(data, format, order.label_column, order.asked)
    files = _found(order.data) if order.asked.dask is not None else reader.files
    how = {name: value for name, value in reader.asked.items() if value is not None}
    if order.asked.many_classes:
        how["many_classes"] = True
    return ByWorkers([Path(os.path.abspath(path)) for path in files], how)


def _format(order: Order) -> DataFormat:
    from perceptrons.data import stream_format

    if order.format is None:
        with refusing_stream():
            return DataFormat(stream_format(tuple(order.data)))
    if order.format.value == "npz":
        raise BadInputError(f"--format {order.format.value}: files that are read whole are not for workers.")
    return order.format


def _found(data: list[Path]) -> list[Path]:
    """The files that names and patterns stand for; a pattern without any here may have some there."""
    from perceptrons.data.source import find_files

    files = []
    for path in data:
        found = [path]
        with suppress(ValueError):
            found = find_files((path,))
        files += found
    return files
