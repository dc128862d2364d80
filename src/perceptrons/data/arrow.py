"""Parquet and Arrow: tables that know the types of their columns, read in batches of bounded size.

Files are checked, so that broken ones do no harm. The first batch of each has no rows. When it has been given, `used`
is asked which columns to read.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from perceptrons.data.records import NOT_FEATURES
from perceptrons.data.source import PIECE, STDIN, Piece, identity, opened
from perceptrons.data.table import DataFileError, DataPath
from perceptrons.data.table_reader import Cells, ColumnFormat, Faults, Origin, Plan, check_names
from perceptrons.features.cells import CodedColumn, Contents, ListColumn, Roles, TextColumn
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.values import LARGEST, shown, what_is_wrong

ROWS, BYTES = 2**16, 2 * PIECE  # of a batch, at most and about
FILE, OLD_FILE = b"ARROW1\0\0", b"FEA1"  # how files begin
END = b"\xff\xff\xff\xff\0\0\0\0"  # how streams end

Used = Callable[[], list[str]]


class ArrowTable(ColumnFormat):
    """Parquet, or Arrow's files (Feather) and streams. Lines are rows.

    The first piece of a file has no rows, only columns; when they have been looked at, only those are read that count.
    """

    def __init__(self, format: str) -> None:
        super().__init__(format)
        self._batches = parquet_batches if format == "parquet" else arrow_batches
        self._used: dict[DataPath, list[str]] = {}

    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        first = True
        for batch in self._batches(path, lambda: self._used[path]):
            yield Piece(path, batch, batch.num_rows, first)
            first = False

    def column_names(self, piece: Piece) -> list[str]:
        names = list(_schema(piece).names)
        check_names(Origin(piece.path), names)
        return names

    def is_number(self, piece: Piece, name: str) -> bool:
        return is_number(_schema(piece).field(name).type)

    def find_columns(self, piece: Piece, options: ColumnOptions, roles: Roles | None) -> Plan:
        plan = super().find_columns(piece, options, roles)
        _check_types(Origin(piece.path), _schema(piece), plan, options)
        self._used[piece.path] = [plan.names[place] for place in plan.used()]
        return plan

    def cells(self, piece: Piece, plan: Plan | None) -> Cells:
        assert plan is not None
        batch: pa.RecordBatch = piece.content
        n, faults = piece.size, Faults()
        columns = {place: batch.column(plan.names[place]) for place in plan.used()}
        narrow = all(pa.types.is_float32(columns[place].type) for place in plan.numbers)
        numbers = np.empty((n, len(plan.numbers)), np.float32 if narrow and plan.numbers else np.float64)
        for to, place in enumerate(plan.numbers):
            numbers[:, to] = values_of(columns[place])
            for row, message in wrong_numbers(numbers[:, to], columns[place], bool(self.missing.texts)):
                faults.add(row, place + 1, f"column {shown(plan.names[place])}: {message}")
        categories, lists = {}, []
        for place in plan.categories:
            if is_list(columns[place].type):
                lists.append(listed_features(columns[place], plan.names[place]))
            else:
                categories[plan.names[place]] = coded(columns[place])
        texts = [strings(columns[place]) for place in plan.texts]
        labels = None
        if plan.label is not None:
            labels = (coded_lists if is_label_list(columns[plan.label].type) else coded)(columns[plan.label])
        return Cells(n, np.arange(n), Contents(numbers, categories, lists, texts), labels, faults, [])


def _schema(piece: Piece) -> pa.Schema:
    return piece.content.schema  # type: ignore[attr-defined]


def _check_types(origin: Origin, schema: pa.Schema, plan: Plan, options: ColumnOptions) -> None:
    """Raise DataFileError for columns whose types cannot be what they are to be."""
    for place in plan.used():
        name, kind = plan.names[place], schema.types[place]
        if pa.types.is_null(kind) and options.missing_values.texts and place != plan.label:
            continue  # all values are missing
        single, is_time = is_category(kind) and not is_list(kind), pa.types.is_temporal(kind)
        if place in plan.numbers:
            fits = is_number(kind)
            requirement = "numbers are required: correct it, or list it in categories (--categories)"
        elif place in plan.texts:
            fits, requirement = is_string(kind) or single, "text is required: correct it, or leave it out"
        elif place == plan.label or name in plan.labels:
            fits = single or is_number(kind) or is_time or is_label_list(kind)
            requirement = "labels are required: name another column"
        else:
            is_requested = name in options.categories and (is_time or is_number(kind))
            fits = is_category(kind) or is_requested or (is_time and options.infers_kinds)
            requirement = NOT_FEATURES + ", or list it in categories (--categories)" * is_time
        if not fits:
            raise origin.error(f"column {shown(name)} holds {kind}, but {requirement}")


# ---- columns as cells


def one_chunk(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_string(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_category(kind: pa.DataType) -> bool:
    """Strings, truth values, categories of pandas and lists of strings."""
    if pa.types.is_dictionary(kind):
        return is_string(kind.value_type) or is_number(kind.value_type) or pa.types.is_boolean(kind.value_type)
    return is_string(kind) or pa.types.is_boolean(kind) or is_list(kind)


def is_list(kind: pa.DataType) -> bool:
    """Return a list of strings."""
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and is_string(kind.value_type)


def is_label_list(kind: pa.DataType) -> bool:
    """Return a list of strings, whole numbers or truth values, as labels may be."""
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    return is_string(kind.value_type) or pa.types.is_integer(kind.value_type) or pa.types.is_boolean(kind.value_type)


def values_of(array: pa.Array) -> np.ndarray:
    """Return the numbers of a column, float32 if they are, else float64; where there is none, NaN."""
    if pa.types.is_decimal(array.type) or pa.types.is_float16(array.type):
        array = array.cast(pa.float64())
    values = array.to_numpy(zero_copy_only=False)
    return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)


def wrong_numbers(values: np.ndarray, array: pa.Array, may_lack: bool) -> Iterator[tuple[int, str]]:
    """Yield the rows of values that no feature can have, and what is wrong. array: where the values come from."""
    are_bad = ~(np.abs(values) <= min(LARGEST, float(np.finfo(values.dtype).max)))
    are_bad &= ~(np.isnan(values) & may_lack)
    for row in np.flatnonzero(are_bad).tolist():
        yield row, what_is_wrong(str(values[row]) if array[row].is_valid else "")


def as_text(array: pa.Array) -> pa.Array:
    """Return strings of what a column holds; nothing is an empty string."""
    if pa.types.is_float64(array.type):
        array = pa.array([None if value is None else repr(value) for value in array.to_pylist()], pa.string())
    elif not is_string(array.type):
        array = array.cast(pa.string())
    return array.fill_null("") if array.null_count else array


def coded(array: pa.Array, absent: bool = False) -> CodedColumn:
    """Return a column of values that can be written as strings, by its distinct values. absent: null is no value."""
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes, distinct = array.indices, as_text(array.dictionary).to_pylist()
    if codes.null_count:
        codes = codes.cast(pa.int32()).fill_null(-1 if absent else len(distinct))
        distinct += [] if absent else [""]
    return CodedColumn(codes.to_numpy(zero_copy_only=False).astype(np.int32, copy=False), distinct)


def coded_lists(array: pa.Array, absent: bool = False) -> CodedColumn:
    """Return a column of lists by its distinct lists, as tuples of strings; what is null as in `coded`."""
    codes, names = coded(pc.list_flatten(array))
    ends = np.concatenate([[0], np.cumsum(pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False))])
    there, numbers = array.is_valid().to_numpy(zero_copy_only=False), codes.tolist()
    number_of: dict[Any, int] = {}
    codes_of_rows = np.full(len(array), -1, np.int32)
    for row, (begin, end) in enumerate(pairwise(ends.astype(np.int64).tolist())):
        if there[row] or not absent:
            label_set = tuple(numbers[begin:end]) if there[row] else ""
            codes_of_rows[row] = number_of.setdefault(label_set, len(number_of))
    distinct = [numbers if isinstance(numbers, str) else tuple(names[k] for k in numbers) for numbers in number_of]
    return CodedColumn(codes_of_rows, distinct)


def listed_features(array: pa.Array, name: str) -> ListColumn:
    """Return every string in the lists of a column, once for each row."""
    rows = pc.list_parent_indices(array).to_numpy(zero_copy_only=False).astype(np.int64)
    codes, distinct = coded(pc.list_flatten(array))
    rows, codes = np.unique(np.stack([rows, codes]), axis=1)
    return ListColumn(rows, codes.astype(np.int32), np.ones(len(rows)), [f"{name}={text}" for text in distinct])


def strings(column: pa.Array | pa.ChunkedArray) -> TextColumn:
    """Return the texts of a column."""
    text = as_text(column).cast(pa.large_string())
    _, ends, content = text.buffers()
    ends = np.frombuffer(ends, np.int64)[text.offset : text.offset + len(text) + 1]
    content = np.empty(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
    return TextColumn(content, ends[:-1], ends[1:])


# ---- files in batches


def parquet_batches(path: DataPath, used: Used) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a Parquet file."""
    options: dict[str, Any] = {"pre_buffer": False, "buffer_size": PIECE, "page_checksum_verification": True}
    with _clear_errors(path, "Parquet"), _unchanged(path), pyarrow.parquet.ParquetFile(path, **options) as file:
        yield _no_rows(file.schema_arrow)
        columns = used()
        yield from _checked(file.iter_batches(_rows_of(file, columns), columns=columns), columns)


def arrow_batches(path: DataPath, used: Used) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a file of Arrow (Feather) or of a stream, which may be packed and come from a pipe."""
    if isinstance(path, Path) and path != STDIN and _begins(path) == FILE:
        with _clear_errors(path, "Arrow"), _unchanged(path), pa.OSFile(str(path)) as raw:
            file = pyarrow.ipc.open_file(raw)
            yield _no_rows(file.schema)
            yield from _checked((file.get_batch(k) for k in range(file.num_record_batches)), used())
        return
    with opened(path) as packed, _clear_errors(path, "Arrow"):
        source = _Watched(packed)
        if source.begin == OLD_FILE:
            raise DataFileError(path, "this is Feather version 1: write it again as version 2")
        stream = pyarrow.ipc.open_stream(pa.PythonFile(source, "r"))
        yield _no_rows(stream.schema)
        yield from _checked(stream, used())
        if source.last != END:
            raise DataFileError(path, "the stream is truncated: write it again")


class _Watched:
    """A stream as pyarrow reads it, which remembers how it began and ended. A file is one behind its first bytes."""

    closed = False

    def __init__(self, raw: Any):
        self._file = io.BufferedReader(raw, PIECE)
        first_bytes = self._file.read(len(FILE))
        self.begin, self.last, self._kept = first_bytes[:4], b"", b"" if first_bytes == FILE else first_bytes

    def read(self, n: int) -> bytes:
        parts, self._kept = [self._kept[:n]], self._kept[n:]
        missing = n - len(parts[0])
        while missing > 0 and (more := self._file.read(min(missing, PIECE))):  # n is said, and need not be there
            parts.append(more)
            missing -= len(more)
        content = b"".join(parts)
        self.last = (self.last + content[-len(END) :])[-len(END) :]
        return content

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def _begins(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(FILE))


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array([], schema.field(place).type) for place in range(len(schema.names))]  # names must be text
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _rows_of(file: pa.parquet.ParquetFile, columns: list[str]) -> int:
    """Return rows for a batch, by the size of the row groups, as if all columns took the same.

    What single columns take is not asked: `RowGroupMetaData.column` ends the process where what is said of a column
    does not fit it.
    """
    metadata = file.metadata
    size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    used = sum(file.schema.column(k).path.split(".")[0] in columns for k in range(len(file.schema)))
    return max(1, min(ROWS, BYTES * metadata.num_rows // max(1, size * used // max(1, len(file.schema)))))


def _checked(batches: Iterable[pa.RecordBatch], columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield these columns in smaller batches, validated: pyarrow would believe any offsets that a file contains."""
    for batch in batches:
        batch = batch.select(columns)
        batch.validate(full=True)
        rows = max(1, min(ROWS, BYTES * batch.num_rows // max(batch.nbytes, 1)))
        for begin in range(0, batch.num_rows, rows):
            yield batch.slice(begin, rows)


@contextmanager
def _clear_errors(path: DataPath, name: str) -> Iterator[None]:
    """pyarrow's errors as ours."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).partition("\n")[0][:100]
        raise DataFileError(
            path, f"this is not a complete {name} file ({reason}): write it again, or give its format with --format"
        ) from error


@contextmanager
def _unchanged(path: DataPath) -> Iterator[None]:
    identity_before = identity(path)
    yield
    if identity(path) != identity_before:
        raise DataFileError(path, "the file changed while it was read: read it again when it is complete")
