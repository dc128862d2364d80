"""Parquet, Arrow and JSON Lines, read by pyarrow. JSON records that differ are read by Python's parser.

Files are checked, so that broken ones do no harm. The first batch of each has no rows. When it has been given, `used`
is asked which columns to read.
"""

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.json
import pyarrow.parquet

from perceptrons.data.records import FULL, NOT_FEATURES, Key, Record, RecordFormat
from perceptrons.data.source import PIECE, STDIN, Piece, identity, opened, pieces
from perceptrons.data.table import BadRecord, DataFileError, DataPath, describe_decoding_error
from perceptrons.data.table_reader import Cells, ColumnFormat, Faults, Origin, Plan, check_names
from perceptrons.features.cells import CodedColumn, Contents, ListColumn, RecordSchema, Roles, TextColumn
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.values import LARGEST, Twice, is_label, shown, what_is_wrong

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
        self._used[piece.path] = plan.used()
        return plan

    def cells(self, piece: Piece, plan: Plan | None) -> Cells:
        assert plan is not None
        batch: pa.RecordBatch = piece.content
        columns, faults = {name: batch.column(name) for name in plan.used()}, Faults(plan)
        contents, labels = column_cells(columns, plan)
        for k, name in enumerate(plan.read.numbers):
            for row, message in wrong_numbers(contents.numbers[:, k], columns[name], bool(self.missing.texts)):
                faults.add_cell(row, name, message)
        return Cells(piece.size, np.arange(piece.size), contents, labels, faults, [])


def column_cells(
    columns: Mapping[str, pa.Array], plan: Plan, absent: bool = False
) -> tuple[Contents, CodedColumn | None]:
    """Return columns by their roles, and the labels if there are any. absent: null is no value, not an empty one."""
    roles, n = plan.read, len(next(iter(columns.values())))
    is_narrow = bool(roles.numbers) and all(pa.types.is_float32(columns[name].type) for name in roles.numbers)
    numbers = np.empty((n, len(roles.numbers)), np.float32 if is_narrow else np.float64)
    for k, name in enumerate(roles.numbers):
        numbers[:, k] = values_of(columns[name])
    lists = [listed_features(columns[name], name) for name in roles.categories if is_list(columns[name].type)]
    categories = {name: coded(columns[name], absent) for name in roles.categories if not is_list(columns[name].type)}
    texts = [strings(columns[name]) for name in roles.texts]
    labels = None
    if plan.label is not None:
        column = columns[plan.label]
        labels = (coded_lists if is_label_list(column.type) else coded)(column, absent)
    return Contents(numbers, categories, lists, texts), labels


def _schema(piece: Piece) -> pa.Schema:
    return piece.content.schema  # type: ignore[attr-defined]


def _check_types(origin: Origin, schema: pa.Schema, plan: Plan, options: ColumnOptions) -> None:
    """Raise DataFileError for columns whose types cannot be what they are to be."""
    roles = plan.read
    for name in plan.used():
        kind = schema.field(name).type
        if pa.types.is_null(kind) and options.missing_values.texts and name != plan.label:
            continue  # all values are missing
        single, is_time = is_category(kind) and not is_list(kind), pa.types.is_temporal(kind)
        if name in roles.numbers:
            fits = is_number(kind)
            requirement = "numbers are required: correct it, or list it in categories (--categories)"
        elif name in roles.texts:
            fits, requirement = is_string(kind) or single, "text is required: correct it, or leave it out"
        elif name == plan.label or name in plan.labels:
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


# ---- JSON Lines

NULL_BEHIND = re.compile(rb"\}\s*null")  # an example that is null, at which pyarrow 26 crashes
TYPES = {
    "string": pa.string(), "bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "list": pa.list_(pa.string()),
}  # fmt: skip
NEWLINE, RETURN, BRACE, CLOSING_BRACE = b"\n\r{}"
DEPTH = 16  # of objects within objects that pyarrow is given


class ArrowSchema(NamedTuple):
    """What pyarrow is told of the records."""

    schema: pa.Schema
    paths: dict[str, tuple[str, ...]]
    dotted: list[bytes]  # keys within keys, as they would look if they were keys themselves


class JsonTable(RecordFormat):
    """JSON Lines."""

    def records(self, piece: Piece) -> list[Record]:
        lines = piece.content[: piece.size].tobytes().split(b"\n")
        return [_record(number, line) for number, line in enumerate(lines) if line.strip()]

    def n_lines(self, piece: Piece) -> int:
        return int(np.count_nonzero(piece.content[: piece.size] == NEWLINE))

    def pieces(self, path: DataPath, prompt: bool) -> Iterator[Piece]:
        return pieces(path, prompt, encoding=self.encoding)

    def form(self, keys: dict[str, Key], n: int, schema: RecordSchema) -> ArrowSchema | None:
        return _shape(keys, n, schema)

    def cells(self, piece: Piece, plan: Plan | None) -> Cells:
        if plan is not None and plan.schema is not None and plan.form is not None:
            cells = _read_fast(piece, plan, plan.schema, plan.form)
            if cells is not None:
                return cells
        return super().cells(piece, plan)


def _shape(keys: dict[str, Key], n: int, schema: RecordSchema) -> ArrowSchema | None:
    """Return what pyarrow can be told, if it can read such records."""
    roles, numbers = schema.roles, set(schema.roles.numbers)
    used = dict.fromkeys(
        [*roles.numbers, *roles.categories, *roles.texts, *([] if roles.label is None else [roles.label])]
    )
    unnamed = {} if schema.closed else {name: None for name in keys if name not in used}
    if schema.sparse or sum(key.kinds.total() for key in keys.values()) < FULL * n * len(used | unnamed):
        return None
    tree: dict[str, Any] = {}
    paths = {}
    for name in (*used, *unnamed):
        key = keys.get(name, Key({(name,)}, Counter()))
        as_numbers = name in numbers or (name in unnamed and {*key.kinds} <= {"int", "float", "null"})
        kind = pa.float64() if as_numbers else _type(key.kinds)
        if name in unnamed and name not in schema.ignore:  # always null, up to now
            kind = pa.null()
        if key.kinds["list"] and name in roles.texts:
            return None
        if kind is None or len(key.paths) > 1 or (name not in keys and "." in name):
            return None
        (paths[name],) = key.paths
        if len(paths[name]) > DEPTH:
            return None
        branch = tree
        for part in paths[name][:-1]:
            branch = branch.setdefault(part, {})
            if not isinstance(branch, dict):
                return None
        if paths[name][-1] in branch:
            return None
        branch[paths[name][-1]] = kind
    dotted = [json.dumps(name, ensure_ascii=False).encode() for name, path in paths.items() if len(path) > 1]
    return ArrowSchema(pa.schema(list(_struct(tree))), paths, dotted)


def _type(kinds: Counter[str]) -> pa.DataType | None:
    """Return the type of Arrow that holds all values, if there is one."""
    kind_of_text = {"written": "string", "no value": "string"}
    kinds_present = {kind_of_text.get(kind, kind) for kind in kinds if kinds[kind] and kind != "null"} or {"string"}
    if kinds_present == {"int", "float"}:
        return None  # 1 and 1.0 would be the same category
    return TYPES.get(kinds_present.pop()) if len(kinds_present) == 1 else None


def _struct(tree: dict[str, Any]) -> pa.StructType:
    return pa.struct([(name, _struct(kind) if isinstance(kind, dict) else kind) for name, kind in tree.items()])


def _read_fast(piece: Piece, plan: Plan, schema: RecordSchema, shape: ArrowSchema) -> Cells | None:
    """Return what pyarrow reads; None if only Python's parser can tell what is there, or what is wrong with it."""
    text = piece.content[: piece.size]
    lines = _lines(text)
    if lines is None:
        return None
    content = text.tobytes()
    nulls = b"null" in content
    if (nulls and NULL_BEHIND.search(content)) or any(name in content for name in shape.dotted):
        return None
    try:
        content.decode()
        columns = _columns(content, shape, "ignore" if schema.closed else "error")
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if any(len(column) != len(lines) for column in columns.values()):
        return None
    return _cells(columns, plan, schema, lines, int(np.count_nonzero(text == NEWLINE)), nulls)


def _lines(text: np.ndarray) -> np.ndarray | None:
    """Return the numbers of the lines that are not empty; None if not all are of the form {...}, or there is none.

    Between } and { on the next line there can be no comma, so that such lines are whole values: if pyarrow finds as
    many values as there are lines, each line is one.
    """
    ends = np.flatnonzero(text == NEWLINE)
    begins = np.concatenate([[0], ends[:-1] + 1])
    ends -= (text[ends - 1] == RETURN) & (ends > begins)
    lines = np.flatnonzero(ends > begins)
    are_objects = (text[begins[lines]] == BRACE).all() and (text[ends[lines] - 1] == CLOSING_BRACE).all()
    return lines if are_objects and len(lines) else None


def _columns(content: bytes, shape: ArrowSchema, unexpected: str) -> dict[str, pa.Array]:
    table = pyarrow.json.read_json(
        pa.BufferReader(content),
        pyarrow.json.ReadOptions(use_threads=False, block_size=len(content) + 1),
        pyarrow.json.ParseOptions(explicit_schema=shape.schema, unexpected_field_behavior=unexpected),
    )
    columns = {}
    for name, (first, *inner_keys) in shape.paths.items():
        column = one_chunk(table.column(first))
        columns[name] = pc.struct_field(column, inner_keys) if inner_keys else column
    return columns


def _cells(
    columns: dict[str, pa.Array], plan: Plan, schema: RecordSchema, lines: np.ndarray, n_lines: int, has_nulls: bool
) -> Cells | None:
    """Return the columns by their roles; None if a value is not allowed. has_nulls: may what is not there be null?"""
    roles, may_lack = schema.roles, bool(schema.missing.texts)
    features = [*([] if may_lack else roles.numbers), *roles.categories]
    required = set(roles.required())
    if any(columns[name].null_count for name in features if has_nulls or name in required):
        return None
    with_lists = [*(roles.categories if has_nulls else ()), *([] if roles.label is None else [roles.label])]
    if any(pc.list_flatten(columns[name]).null_count for name in with_lists if is_list(columns[name].type)):
        return None
    if not may_lack:
        columns |= {name: columns[name].fill_null(0.0) for name in roles.numbers}
    contents, labels = column_cells(columns, plan, absent=True)
    numbers = contents.numbers[~np.isnan(contents.numbers)] if may_lack else contents.numbers
    if not (np.abs(numbers) <= LARGEST).all():
        return None
    if labels is not None and schema.need_labels:
        texts = [text.strip() for text in labels.distinct if isinstance(text, str)]
        is_absent = labels.codes.min() < 0 and not schema.several
        if is_absent or not all(is_label(text) or (schema.several and not text) for text in texts):
            return None
    return Cells(n_lines, lines, contents, labels, Faults(), [])


def _record(number: int, line: bytes) -> Record:
    text, column = "", 1
    try:
        text = line.decode()
        value = DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
        if isinstance(value, dict):
            return Record(number, text, value)
        message = (
            f'{shown(text.strip())} is not an object: write one per example, such as {{"label": 1, "height": 1.5}}'
        )
    except UnicodeDecodeError as error:
        message, column = describe_decoding_error(error), error.start + 1
    except UnicodeEncodeError:
        message = "half of a surrogate pair, such as \\ud800, is not text: correct it, or remove the record"
        column = max(text.lower().find("\\ud"), 0) + 1
    except json.JSONDecodeError as error:
        message, column = f"this is not JSON ({error.msg}): correct or remove the line", error.colno
    except (RecursionError, ValueError):  # ValueError: a whole number of more than 4,300 digits
        message = "the JSON is nested too deeply, or has a number that is too long: correct or remove the line"
    return Record(number, text, {}, BadRecord(number, message, column))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) == len(pairs):
        return record
    twice = Twice(record)
    twice.keys_twice = frozenset(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
    return twice


DECODER = json.JSONDecoder(object_pairs_hook=_object)
