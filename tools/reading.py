"""Bytes given to the readers of `perceptrons.data`, and what must hold for whatever they make of them."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.data import DataFileError, reader, source, stream

TABLES = (
    "csv", "tsv", "whitespace", "arff", *(("jsonl", "parquet", "arrow") if find_spec("pyarrow") else ()),
    *(("xlsx",) if find_spec("python_calamine") else ()),
)  # fmt: skip
FORMATS = ("svmlight", "vw", "text", *TABLES)
BITS = (None, 0, 3, 18)
ENCODINGS = ("latin-1", "cp1252", "utf-16", "utf-16-le")


def in_one_thread() -> None:
    """What a fuzzer sees of a run must not depend on which of several threads comes first."""
    reader.prefetched = lambda blocks: blocks
    reader.in_order = lambda items, work: ((item, work(item)) for item in items)


def read(file: Path, format: str, piece: int, ways: int) -> tuple[list[Any], list[str]]:
    """All blocks, or those before the error and its text."""
    source.PIECE = piece
    options: dict[str, Any] = {
        "on_error": "skip" if ways & 1 else "raise",
        "need_labels": not ways & 2,
        "text_labels": bool(ways & 4),
        "hash_bits": BITS[ways >> 3 & 3],
    }
    if ways & 128 and format not in ("parquet", "arrow", "xlsx"):
        options["encoding"] = ENCODINGS[ways >> 5 & 3]
    if format == "text" and ways & 32:
        options["form"] = "fasttext" if ways & 64 else "tab"
    blocks: list[Any] = []
    try:
        reading = stream(file, format=format, **options)
        blocks.extend(reading)
    except DataFileError as error:
        stopped = error
    else:
        assert len(reading.complaints) == min(reading.skipped, reader.COMPLAINTS)
        return blocks, reading.complaints
    skippable = options["on_error"] == "skip" and format not in TABLES  # their names and types cannot be skipped
    assert "\n" not in str(stopped), stopped
    assert not skippable or stopped.line is None, stopped
    return blocks, [str(stopped)]


def examined(blocks: list[Any]) -> list[Any]:
    """What is in them, after a look at whether it can be."""
    contents: list[Any] = []
    line = width = 0
    for block in blocks:
        X = block.X
        rows, columns = X.shape
        assert rows > 0
        assert columns >= width
        width = columns
        values = X.data if sp.issparse(X) else X
        assert np.isfinite(values).all()
        if sp.issparse(X):
            X.check_format(full_check=True)
        if block.codes is not None:
            assert len(block.codes) == rows
            known = len(block.classes)
            if block.sets is not None:  # codes say which of the label sets an example has
                block.sets.check_format(full_check=True)
                assert block.sets.shape[1] == known
                assert set(block.sets.data.tolist()) <= {1}
                known = block.sets.shape[0]
            assert 0 <= block.codes.min() <= block.codes.max() < known
        if block.weight is not None:
            assert block.weight.shape == (rows,)
            assert (np.isfinite(block.weight) & (block.weight >= 0)).all()
        if block.lines is not None:
            assert len(block.lines) == rows
            assert block.lines[0] > line
            assert (np.diff(block.lines) > 0).all()
            line = int(block.lines[-1])
        contents.append([X.shape, _listed(X), None if block.y is None else _listed(block.y)])
    return contents


def _listed(values: Any) -> list[Any]:
    """All that an array or a sparse matrix holds."""
    parts = (values.data, values.indices, values.indptr) if sp.issparse(values) else (values,)
    return [part.tolist() for part in parts]


def try_bytes(file: Path, data: bytes) -> bool:
    """Have a file read that the first three bytes say how to read; False if there is nothing to. AssertionError."""
    if len(data) < 3:
        return False
    format, piece, ways = FORMATS[data[0] % len(FORMATS)], 1 << data[1] % 12, data[2]
    file.write_bytes(data[3:])
    first, complaints = read(file, format, piece, ways)
    again, the_same = read(file, format, piece, ways)
    assert complaints == the_same
    assert examined(first) == examined(again)
    return len(first) > 0
