"""Columns of Arrow as the cells of a table: numbers to arrays, strings to codes, lists of strings to features."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from perceptrons.data.cells import Faults
from perceptrons.features.tablerows import Coded, Further, Strings
from perceptrons.features.values import LARGEST, shown, what_is_wrong


def one_chunk(column: Any) -> Any:
    """The column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def is_number(kind: Any) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_text(kind: Any) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_category(kind: Any) -> bool:
    """Strings, truth values, categories of pandas and lists of strings."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type) or is_number(kind.value_type) or pa.types.is_boolean(kind.value_type)
    return is_text(kind) or pa.types.is_boolean(kind) or is_list(kind)


def is_list(kind: Any) -> bool:
    """A list of strings."""
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and is_text(kind.value_type)


def values_of(array: Any) -> np.ndarray:
    """The numbers of a column, float32 if they are, else float64; where there is none, NaN."""
    if pa.types.is_decimal(array.type) or pa.types.is_float16(array.type):
        array = array.cast(pa.float64())
    values = array.to_numpy(zero_copy_only=False)
    return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)


def find_faults(values: np.ndarray, array: Any, name: str, column: int, faults: Faults) -> None:
    """Values that no feature can have. array: where they come from."""
    wrong = ~(np.abs(values) <= min(LARGEST, float(np.finfo(values.dtype).max)))
    if not wrong.any():
        return
    missing = array.is_null().to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(wrong).tolist():
        faults.add(row, column, f"column {shown(name)}: {what_is_wrong('' if missing[row] else str(values[row]))}")


def as_text(array: Any) -> Any:
    """Strings of what a column holds; nothing is an empty string."""
    if pa.types.is_float64(array.type):
        array = pa.array([None if value is None else repr(value) for value in array.to_pylist()], pa.string())
    elif not is_text(array.type):
        array = array.cast(pa.string())
    return array.fill_null("") if array.null_count else array


def coded(array: Any, strip: bool = False, absent: bool = False) -> Coded:
    """A column of strings, or of what can be written as such, by its distinct values. absent: nothing is no value."""
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes, distinct = array.indices, as_text(array.dictionary).to_pylist()
    if codes.null_count:
        codes = codes.cast(pa.int32()).fill_null(-1 if absent else len(distinct))
        distinct += [] if absent else [""]
    return Coded(
        codes.to_numpy(zero_copy_only=False).astype(np.int32, copy=False),
        [text.strip() for text in distinct] if strip else distinct,
    )


def listed_features(array: Any, name: str) -> Further:
    """Every string in the lists of a column, once for each row."""
    rows = pc.list_parent_indices(array).to_numpy(zero_copy_only=False).astype(np.int64)
    codes, distinct = coded(pc.list_flatten(array))
    pairs = np.unique(np.stack([rows, codes]), axis=1)
    return Further(
        pairs[0], pairs[1].astype(np.int32), np.ones(pairs.shape[1]), [f"{name}={text}" for text in distinct]
    )


def strings(column: Any) -> Strings:
    """The texts of a column."""
    text = as_text(column).cast(pa.large_string())
    _, ends, content = text.buffers()
    ends = np.frombuffer(ends, np.int64)[text.offset : text.offset + len(text) + 1]
    content = np.empty(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
    return Strings(content, ends[:-1], ends[1:])
