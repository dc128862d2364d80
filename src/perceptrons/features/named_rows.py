"""Named features of one piece of input: names numbered in order of coming, and rows of them as a sparse matrix.

Names are words and n-grams of texts, or names as they are. Pieces may be cut by several threads, each with its own
`Workspace`; which columns the names have is up to `Columns`. The compiled part is `scan/words.py` and `scan/gather.py`.
"""

import math
import threading
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.hashing import SECRET
from perceptrons.engine.scan.bytes import ROOM
from perceptrons.engine.scan.gather import Amounts, Gathered, Homes, first_in_column, gather
from perceptrons.engine.scan.name_table import extended, grown, key_names, new_table, number_names, power_of_two
from perceptrons.engine.scan.words import Clean, Entries, Rule, add_up, cut, room_for

FEWEST, USUAL = 2**10, 2**16  # slots of a new table: for a short text, for a piece of about 1 MB
LARGE = 2**20  # slots, entries and words above which a workspace gives memory back
MOST = 2**31 - 2  # entries that 32 bits can number
VALUES = ("log", "count", "binary")
NORMS = ("l2",)
LOGS = np.array([0.0, *(1.0 + math.log(count) for count in range(1, 256))])


class Names(NamedTuple):
    """Distinct names, numbered in order of coming, as UTF-8."""

    arena: np.ndarray  # uint8: name k is arena[ends[k]:ends[k + 1]]
    ends: np.ndarray  # int64 (n + 1,)
    counts: np.ndarray  # int64 (n,): how often each came
    keys: np.ndarray  # uint64 (n,): theirs in hash tables


class LocalRows(NamedTuple):
    """Rows of features by their numbers among the names of the piece; a number stands once in a row."""

    starts: np.ndarray  # int64 (rows + 1,)
    numbers: np.ndarray  # int32
    counts: np.ndarray  # int32
    names: Names
    parts: np.ndarray | None = None  # int64: which column of texts each name is from; None if there is one


class Workspace:
    """Tables and buffers that one thread uses for piece after piece."""

    def __init__(self) -> None:
        self.table = new_table(FEWEST)
        self.clean = Clean(np.empty(0, np.uint8), np.empty(0, np.int64))
        self.numbers, self.counts = np.empty(0, np.int32), np.empty(0, np.int32)

    def begin(self, size: int) -> None:
        """Forget all names. size: bytes of the piece that comes."""
        slots = min(max(power_of_two(size // 8), FEWEST), USUAL)
        if slots <= len(self.table.slots) <= LARGE:
            self.table.slots.fill(0)
            self.table.used[0] = 0
        else:
            self.table = new_table(slots)

    def make_room(self, size: int, longest: int) -> None:
        """Make buffers for texts whose sizes in bytes are given: of all together, and of the longest."""
        if not max(size // 8, FEWEST) <= len(self.numbers) <= max(size, LARGE):
            self.numbers, self.counts = (np.empty(max(size // 8, FEWEST), np.int32) for _ in range(2))
        n_bytes, n_words = room_for(longest)
        if not n_words <= len(self.clean.ends) <= max(n_words, LARGE):
            self.clean = Clean(np.empty(n_bytes, np.uint8), np.empty(n_words, np.int64))

    def grow_entries(self) -> None:
        if len(self.numbers) == MOST:
            raise ValueError("A text has more than two billion features: split it into smaller texts.")
        size = min(2 * len(self.numbers), MOST)
        self.numbers, self.counts = extended(self.numbers, size), extended(self.counts, size)

    def names(self, counts: np.ndarray) -> Names:
        table, n = self.table, int(self.table.used[0])
        ends = table.ends[: n + 1].copy()
        return Names(table.arena[: ends[-1]].copy(), ends, counts, table.keys[:n].copy())


class Workspaces(threading.local):
    """Each thread has its own."""

    def __init__(self) -> None:
        self.words, self.labels = Workspace(), Workspace()


def cut_text(content: np.ndarray, begin: Any, end: Any, rule: Rule, workspace: Workspace) -> LocalRows:
    """Return the features of the texts content[begin[i]:end[i]] (uint8, UTF-8), a row each."""
    content, begin, end = _checked(content, begin, end)
    lengths = end - begin
    workspace.begin(int(lengths.sum()))
    workspace.make_room(int(lengths.sum()), int(lengths.max(initial=0)))
    starts, row, n = np.zeros(len(begin) + 1, np.int64), 0, 0
    with np.errstate(over="ignore"):  # hashes do, on purpose; NumPy would warn where nothing is compiled
        while row < len(begin):
            entries = Entries(starts, workspace.numbers, workspace.counts)
            row, n = cut(content, begin, end, row, rule, workspace.table, workspace.clean, entries)
            if row < len(begin):
                if n == len(workspace.numbers):
                    workspace.grow_entries()
                workspace.table = grown(workspace.table, 1, len(workspace.clean.text))
    numbers, counts = workspace.numbers[:n].copy(), workspace.counts[:n].copy()
    totals = np.zeros(int(workspace.table.used[0]), np.int64)
    add_up(numbers, counts, totals)
    return LocalRows(starts, numbers, counts, workspace.names(totals))


def local_names(content: np.ndarray, begin: Any, end: Any, workspace: Workspace) -> tuple[np.ndarray, Names]:
    """Return the number of each name content[begin[i]:end[i]], taken as it is, and the distinct names."""
    content, begin, end = _checked(content, begin, end)
    lengths = end - begin
    if int(end.max(initial=0)) + ROOM > len(content):  # eight bytes are loaded at a time
        content = np.concatenate([content, np.zeros(ROOM, np.uint8)])
        content.flags.writeable = False
    workspace.begin(int(lengths.sum()))
    numbers, item = np.empty(len(begin), np.int32), 0
    with np.errstate(over="ignore"):
        while item < len(begin):
            item = number_names(content, begin, end, item, workspace.table, numbers)
            if item < len(begin):
                workspace.table = grown(workspace.table, 1, int(lengths.max()))
    return numbers, workspace.names(np.bincount(numbers, minlength=int(workspace.table.used[0])).astype(np.int64))


def keyed(names: list[bytes], counts: np.ndarray) -> Names:
    """Return names that are all different, as `Columns` takes them."""
    ends = np.cumsum([0, *map(len, names)])
    keys, padded = np.empty(len(names), np.uint64), np.frombuffer(b"".join([*names, bytes(ROOM)]), np.uint8)
    with np.errstate(over="ignore"):
        key_names(padded, ends, SECRET, keys)
    return Names(padded[: ends[-1]], ends, counts, keys)


def order_of_coming(numbers: np.ndarray, n: int) -> np.ndarray:
    """Return the numbers 0 to n - 1 in the order in which they first stand in an array, which has them all."""
    first = np.empty(n, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of several places the first one stays
    return np.argsort(first)


def joined(names: Names, more: Names) -> Names:
    """Return the names, and behind them more, which all are others."""
    return Names(
        np.concatenate([names.arena, more.arena]), np.concatenate([names.ends, more.ends[1:] + names.ends[-1]]),
        np.concatenate([names.counts, more.counts]), np.concatenate([names.keys, more.keys]),
    )  # fmt: skip


def renumbered(names: Names, order: np.ndarray) -> Names:
    """Return the names in another order, or some of them."""
    lengths = np.diff(names.ends)[order]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    at = np.repeat(names.ends[order] - ends[:-1], lengths) + np.arange(ends[-1])
    return Names(names.arena[at], ends, names.counts[order], names.keys[order])


def _checked(content: np.ndarray, begin: Any, end: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays in the types that the compiled loops take. Raise ValueError if a text leaves the content."""
    begin, end = np.array(begin, np.int64), np.array(end, np.int64)
    is_valid = begin.ndim == 1 and begin.shape == end.shape and content.ndim == 1 and content.dtype == np.uint8
    if not is_valid or bool((begin < 0).any() or (begin > end).any() or (end > len(content)).any()):
        raise ValueError(f"Texts must lie within the content, which has {content.size} bytes.")
    content = np.ascontiguousarray(content).view(np.ndarray)
    content.flags.writeable = False
    return content, begin, end


class ColumnPlaces(NamedTuple):
    """Where names have their columns."""

    columns: np.ndarray  # int64: -1 where a name has none
    signs: np.ndarray  # float32: what its values are multiplied by


def assemble(
    local: LocalRows, name_columns: ColumnPlaces, n_columns: int, values: str, norm: str | None
) -> sp.csr_matrix:
    """Return the rows, a feature valued by its count as `values` says; with norm "l2", each row has length 1."""
    return assemble_values(local.starts, local.numbers, worth(local.counts, values), name_columns, n_columns, norm)


def worth(counts: np.ndarray, values: str) -> np.ndarray:
    """Return the value of a feature that comes so often: 1 + ln count, count or 1."""
    if values == "binary":
        return np.ones(len(counts))
    if values == "count":
        return counts.astype(np.float64)
    amounts = LOGS.take(counts, mode="clip")
    if counts.max(initial=0) >= len(LOGS):
        are_large = np.flatnonzero(counts >= len(LOGS))
        amounts[are_large] = [1.0 + math.log(count) for count in counts[are_large].tolist()]  # NumPy's rounds otherwise
    return amounts


def assemble_values(
    starts: np.ndarray, numbers: np.ndarray, amounts: np.ndarray, name_columns: ColumnPlaces, n_columns: int,
    norm: str | None = None,
) -> sp.csr_matrix:  # fmt: skip
    """Return the rows in which the name numbers[e] has the value amounts[e], times its sign; -1 as a column drops it.

    Where several entries of a row have one column, their sum stands where the first of them stood.
    """
    n_names = len(name_columns.columns)
    firsts = np.empty(n_names, np.int32)
    with np.errstate(over="ignore"):
        first_in_column(name_columns.columns, np.zeros(power_of_two(2 * n_names + 1), np.int32), firsts)
    n = len(numbers)
    rows = Gathered(np.zeros(len(starts), np.int32), np.empty(n, np.int32), np.empty(n, np.float32))
    places, sums = np.zeros(n_names, np.int64), np.empty(int(np.diff(starts).max(initial=0)))
    entries, homes = Amounts(starts, numbers, amounts), Homes(name_columns.columns, name_columns.signs, firsts)
    n = gather(entries, homes, norm == "l2", places, sums, rows)
    shape = len(starts) - 1, n_columns
    return sp.csr_matrix((rows.values[:n], rows.columns[:n], rows.starts), shape=shape, copy=False)
