"""Files for the benchmark of reading: made up, or repeated until they are large enough; the same text for everybody."""

import json
import shutil
from collections.abc import Iterator
from operator import add
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks import datasets

COLUMNS, NONZEROS = 50_000, 60
TESTED = 20_000  # rows, at most a tenth of those to learn from
AT_ONCE = 10_000  # rows that are text at the same time
SCALE = 10_000  # values have four decimals


class Pair(NamedTuple):
    """What to learn from and what to test on."""

    train: Path
    test: Path


# Numbered features


def svmlight(folder: Path, n: int) -> Pair:
    """Rows like TF-IDF of text; a noisy linear rule gives the labels."""
    rows = min(n // 10, TESTED)
    X, y = datasets.sparse(n + rows, COLUMNS, NONZEROS)
    pair = Pair(folder / "train.svm", folder / "test.svm")
    for path, part in zip(pair, (slice(None, n), slice(n, None)), strict=True):
        with path.open("w") as file:
            file.writelines(_lines(X[part], y[part]))
    return pair


def _lines(X: sp.csr_matrix, y: np.ndarray) -> Iterator[str]:
    columns = [f"{column}:" for column in range(1, X.shape[1] + 1)]
    values = [f"{value / SCALE:.4f}" for value in range(SCALE + 1)]
    whole = np.maximum(1, np.rint(X.data * SCALE)).astype(int)
    for begin in range(0, X.shape[0], AT_ONCE):
        ends = X.indptr[begin : begin + AT_ONCE + 1].tolist()
        taken = slice(ends[0], ends[-1])
        cells = list(map(add, map(columns.__getitem__, X.indices[taken]), map(values.__getitem__, whole[taken])))
        for label, a, b in zip(y[begin : begin + AT_ONCE].tolist(), ends, ends[1:], strict=False):
            yield f"{'+1' if label else '-1'} {' '.join(cells[a - ends[0] : b - ends[0]])}\n"


def as_vw(pair: Pair) -> Pair:
    """The same rows in VW's form, which takes a whole number as its own hash."""
    written = Pair(*(path.with_suffix(".vw") for path in pair))
    for path, target in zip(pair, written, strict=True):
        with path.open("rb") as source, target.open("wb") as file:
            file.writelines(line.replace(b" ", b" | ", 1) for line in source)
    return written


def repeated(path: Path, target: Path, size: int) -> None:
    """The file as often as needed for so many bytes."""
    with target.open("wb") as file:
        while file.tell() < size:
            with path.open("rb") as source:
                shutil.copyfileobj(source, file, 2**24)


def head(path: Path, target: Path, size: int) -> Path:
    """The first lines, so many bytes of them."""
    with path.open("rb") as source:
        content = source.read(size)
    target.write_bytes(content[: content.rfind(b"\n") + 1])
    return target


# Texts


def newsgroups(folder: Path, size: int) -> Pair:
    """20 newsgroups, a line a message: group, tab, text. Those to learn from again and again, each time shuffled."""
    lines = {
        part: [f"{group}\t{' '.join(text.split())}\n".encode() for text, group in messages]
        for part, messages in datasets.newsgroup_messages().items()
    }
    pair = Pair(folder / "train.txt", folder / "test.txt")
    rng = np.random.default_rng(datasets.SEED)
    with pair.train.open("wb") as file:
        while file.tell() < size:
            for number in rng.permutation(len(lines["train"])).tolist():
                file.write(lines["train"][number])
                if file.tell() >= size:
                    break
    pair.test.write_bytes(b"".join(lines["test"]))
    return pair


def as_fasttext(pair: Pair) -> Pair:
    """The same texts, the label as fastText wants it."""
    written = Pair(*(path.with_suffix(".ft") for path in pair))
    for path, target in zip(pair, written, strict=True):
        with path.open("rb") as source, target.open("wb") as file:
            file.writelines(b"__label__" + line.replace(b"\t", b" ", 1) for line in source)
    return written


# Tables


def tables(folder: Path, n: int) -> dict[str, Path]:
    """Thirty columns of numbers with three decimals and a label, in all the forms there are."""
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    X, y = datasets.dense(n, 30, dtype=np.float64)
    table = pa.table({f"x{j}": np.round(X[:, j], 3) for j in range(X.shape[1])} | {"label": y})
    paths = {ending: folder / f"table.{ending}" for ending in ("csv", "jsonl", "parquet", "arrow")}
    csv.write_csv(table, paths["csv"])
    with paths["jsonl"].open("w") as file:
        for batch in table.to_batches(max_chunksize=AT_ONCE):
            file.writelines(f"{json.dumps(row)}\n" for row in batch.to_pylist())
    parquet.write_table(table, paths["parquet"], row_group_size=2**16)
    feather.write_feather(table, str(paths["arrow"]), chunksize=2**16)
    return paths


def with_missing(path: Path, target: Path) -> Path:
    """The same table with every hundredth cell empty."""
    with path.open() as file, target.open("w") as out:
        out.write(next(file))
        for row, line in enumerate(file):
            cells = line.rstrip("\n").split(",")
            for place in range(row % 100, len(cells) - 1, 100):
                cells[place] = ""
            out.write(",".join(cells) + "\n")
    return target
