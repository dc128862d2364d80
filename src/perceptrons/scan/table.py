"""Hash tables of names that grow. The compiled part is `scan/names.py`."""

import numpy as np

from perceptrons.scan.names import SLOTS, Table, refill
from perceptrons.stirring import SECRET

MOST = 2**31 - 2  # names that 32 bits can number
USUAL_BYTES = 8  # of a name


def power_of_two(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


def new_table(slots: int) -> Table:
    """An empty table; slots: a power of two."""
    names = slots // SLOTS
    return Table(
        np.zeros((slots, 2), np.uint64),
        np.empty(names, np.uint64),
        np.zeros(names + 1, np.int64),
        np.empty(USUAL_BYTES * names, np.uint8),
        np.array([0, SECRET], np.int64),
    )


def grown(table: Table, names: int, n_bytes: int) -> Table:
    """The table with room for so many more names of so many bytes together. What users wrote in its notes is gone."""
    n = int(table.used[0])
    if n + names > MOST:
        raise ValueError("There are more than two thousand million different names: hash them to columns.")
    slots = max(len(table.slots), power_of_two(SLOTS * (n + names)))
    arena = table.arena
    if int(table.ends[n]) + n_bytes > len(arena):
        arena = extended(arena, 2 * (int(table.ends[n]) + n_bytes))
    keys, ends = extended(table.keys, slots // SLOTS), extended(table.ends, slots // SLOTS + 1)
    new = Table(np.zeros((slots, 2), np.uint64), keys, ends, arena, table.used)
    with np.errstate(over="ignore"):  # hashes do, on purpose; NumPy would warn where nothing is compiled
        refill(new.slots, new.keys, new.used)
    return new


def extended(array: np.ndarray, size: int) -> np.ndarray:
    """The array, or a longer one that begins like it."""
    if len(array) >= size:
        return array
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer
