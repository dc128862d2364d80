"""Reads JSON Lines, one object per line, with pyarrow, or with Python's parser where records differ."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from perceptrons.data.arrow import coded, coded_lists, is_list, listed_features, one_chunk, strings, values_of
from perceptrons.data.records import FULL, Key, Record, RecordFormat
from perceptrons.data.source import Piece, pieces
from perceptrons.data.table import BadRecord, DataPath, describe_decoding_error
from perceptrons.data.table_reader import Cells, Faults, Plan
from perceptrons.features.cells import Contents, RecordSchema
from perceptrons.features.values import LARGEST, Twice, is_label, shown

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
            cells = _read_fast(piece, plan.schema, plan.form)
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


def _read_fast(piece: Piece, schema: RecordSchema, shape: ArrowSchema) -> Cells | None:
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
    return _cells(columns, schema, lines, int(np.count_nonzero(text == NEWLINE)), nulls)


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
    columns: dict[str, pa.Array], schema: RecordSchema, lines: np.ndarray, n_lines: int, nulls: bool
) -> Cells | None:
    """Return the columns by their roles. nulls: may what is not there be a null?"""
    roles, may_lack = schema.roles, bool(schema.missing.texts)
    features = [*([] if may_lack else roles.numbers), *roles.categories]
    required = set(roles.required())
    if any(columns[name].null_count for name in features if nulls or name in required):
        return None
    numbers = np.zeros((len(lines), len(roles.numbers)))
    for place, name in enumerate(roles.numbers):
        numbers[:, place] = values_of(columns[name] if may_lack else columns[name].fill_null(0.0))
    if not (np.abs(numbers[~np.isnan(numbers)] if may_lack else numbers) <= LARGEST).all():
        return None
    categories, lists = {}, []
    for name in roles.categories:
        column = columns[name]
        if not is_list(column.type):
            categories[name] = coded(column, absent=True)
            continue
        if nulls and pc.list_flatten(column).null_count:
            return None
        lists.append(listed_features(column, name))
    labels = None
    if roles.label is not None:
        column = columns[roles.label]
        if is_list(column.type) and pc.list_flatten(column).null_count:
            return None
        labels = coded_lists(column, absent=True) if is_list(column.type) else coded(column, absent=True)
        texts_only = [text.strip() for text in labels.distinct if isinstance(text, str)]
        absent = labels.codes.min() < 0 and not schema.several
        if schema.need_labels and (
            absent or not all(is_label(text) or (schema.several and not text) for text in texts_only)
        ):
            return None
    texts = [strings(columns[name]) for name in roles.texts]
    return Cells(n_lines, lines, Contents(numbers, categories, lists, texts), labels, Faults(), [])


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
