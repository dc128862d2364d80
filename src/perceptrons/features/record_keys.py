"""A hash of every record of a table, by what is written in it: it does not change with how its features are scaled."""

import numpy as np

from perceptrons.engine.hashing import hash_names
from perceptrons.engine.streaming.blocks import mixed, row_hashes
from perceptrons.features.table_rows import Contents, Strings

SEEDS = 1, 2


def record_keys(contents: Contents) -> np.ndarray:
    """uint64 (rows,): a sum over all cells, so that their order in the file does not matter for categories."""
    keys = row_hashes(np.where(np.isnan(contents.numbers), -(0.5**1000), contents.numbers))
    with np.errstate(over="ignore"):
        for name, (codes, distinct) in contents.categories.items():
            of_texts = _of_names([f"{name}={text}".encode("utf-8", "surrogatepass") for text in distinct])
            keys += np.append(of_texts, np.uint64(0))[codes]
        for part in contents.further:
            of_texts = _of_names([text.encode("utf-8", "surrogatepass") for text in part.names])
            bits = part.amounts.astype(np.float64).view(np.uint64)
            np.add.at(keys, part.rows, mixed(of_texts[part.codes] + bits))
        for place, column in enumerate(contents.texts, 1):
            keys += mixed(_of_texts(column) + np.uint64(place))
    return keys


def _of_names(names: list[bytes]) -> np.ndarray:
    ends = np.cumsum([0, *map(len, names)])
    return _of_arena(np.frombuffer(b"".join(names) or b"\0", np.uint8), ends)


def _of_texts(column: Strings) -> np.ndarray:
    content = column.content.tobytes()
    return _of_names([content[a:b] for a, b in zip(column.begin.tolist(), column.end.tolist(), strict=True)])


def _of_arena(arena: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """64 bits of every name."""
    parts = [np.empty(len(ends) - 1, np.uint32) for _ in SEEDS]
    with np.errstate(over="ignore"):
        for seed, hashes in zip(SEEDS, parts, strict=True):
            hash_names(arena, ends, seed, hashes)
    return mixed(parts[0].astype(np.uint64) << np.uint64(32) | parts[1])
