"""Feeds the readers of `perceptrons.data` with bytes that nobody would write, as long as you like.

    pip install atheris
    python tools/fuzz_readers.py -runs=100000 [FOLDER_OF_FINDINGS]

The first byte chooses the format, the second where pieces are cut, the third how bad records, labels and columns are
treated; the rest is the file. A reader may raise DataFileError, and nothing else; what it reads is finite, and the same
when it is read again. NUMBA_DISABLE_JIT=1 shows the fuzzer the branches within compiled loops: slow, but it finds its
way into them; then run it without, on the same folder.
"""

import os
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

import atheris
import numpy as np
import scipy.sparse as sp

TABLES = ("csv", "tsv", *(("jsonl", "parquet", "arrow") if find_spec("pyarrow") else ()))
FORMATS = ("svmlight", "vw", "text", *TABLES)

if os.environ.get("NUMBA_DISABLE_JIT") != "1":  # numba cannot compile what atheris has instrumented
    for module in iter_modules(import_module("perceptrons.scan").__path__, "perceptrons.scan."):
        import_module(module.name)

with atheris.instrument_imports(include=["perceptrons"]):
    from perceptrons.data import DataFileError, reader, source, stream

    for name in ("svmlight", "vw", "labelled", "table_reader"):
        import_module(f"perceptrons.data.{name}")

FILE = Path(tempfile.mkdtemp()) / "input"
BITS = (None, 0, 3, 18)

# one thread: what the fuzzer sees of a run must not depend on which of several comes first
reader.ahead = lambda blocks: blocks
reader.in_order = lambda items, work: ((item, work(item)) for item in items)


def read(format, piece, ways):
    """All blocks, or those before the error and its text."""
    source.PIECE = piece
    options = {
        "on_error": "skip" if ways & 1 else "raise",
        "need_labels": not ways & 2,
        "text_labels": bool(ways & 4),
        "hash_bits": BITS[ways >> 3 & 3],
    }
    if format == "text" and ways & 32:
        options["form"] = "fasttext" if ways & 64 else "tab"
    blocks = []
    try:
        reading = stream(FILE, format=format, **options)
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


def examined(blocks):
    """What is in them, after a look at whether it can be."""
    contents, line, width = [], 0, 0
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
            assert 0 <= block.codes.min() <= block.codes.max() < len(block.classes)
        if block.weight is not None:
            assert block.weight.shape == (rows,)
            assert (np.isfinite(block.weight) & (block.weight >= 0)).all()
        if block.lines is not None:
            assert len(block.lines) == rows
            assert block.lines[0] > line
            assert (np.diff(block.lines) > 0).all()
            line = int(block.lines[-1])
        parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        contents.append([X.shape, *(part.tolist() for part in parts), None if block.y is None else block.y.tolist()])
    return contents


def try_bytes(data):
    if len(data) < 3:
        return
    format, piece, ways = FORMATS[data[0] % len(FORMATS)], 1 << data[1] % 12, data[2]
    FILE.write_bytes(data[3:])
    first, complaints = read(format, piece, ways)
    again, the_same = read(format, piece, ways)
    assert complaints == the_same
    assert examined(first) == examined(again)


if __name__ == "__main__":
    atheris.Setup(sys.argv, try_bytes)
    atheris.Fuzz()
