"""Rows of named features: the distinct names of a piece of input, and its rows as a sparse matrix.

Names are words and n-grams of texts, or names as they are. Which columns they have is up to `Columns`. The compiled
loops are in `scan/name_table.py` and `scan/gather.py`.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.hashing import SECRET
from perceptrons.engine.scan.bytes import ROOM
from perceptrons.engine.scan.gather import Amounts, Gathered, Homes, first_in_column, gather
from perceptrons.engine.scan.name_table import Table, grown, key_names, new_table, number_names, power_of_two
from perceptrons.features.cells import TextColumn

MIN_SLOTS, USUAL_SLOTS = 2**10, 2**16  # of a new table: for a short text, for a piece of about 1 MB


class Names(NamedTuple):
    """Distinct names, numbered in order of first occurrence, as UTF-8."""

    arena: np.ndarray  # uint8: name k is arena[ends[k]:ends[k + 1]]
    ends: np.ndarray  # int64 (n + 1,)
    counts: np.ndarray  # int64 (n,): how often each occurred
    keys: np.ndarray  # uint64 (n,): their keys in hash tables

    @classmethod
    def of(cls, arena: np.ndarray, ends: np.ndarray, counts: np.ndarray) -> "Names":
        """Return names, which must all be different, with their keys."""
        keys, padded = np.empty(len(ends) - 1, np.uint64), np.concatenate([arena, np.zeros(ROOM, np.uint8)])
        with np.errstate(over="ignore"):  # hashes overflow on purpose; NumPy would warn where nothing is compiled
            key_names(padded, ends, SECRET, keys)
        return cls(padded[: len(arena)], ends, counts, keys)

    @classmethod
    def in_table(cls, table: Table, counts: np.ndarray) -> "Names":
        """Return the names of a hash table that nobody changes any more."""
        n = int(table.used[0])
        return cls(table.arena[: table.ends[n]], table.ends[: n + 1], counts, table.keys[:n])

    def as_bytes(self) -> list[bytes]:
        arena = self.arena.tobytes()
        return [arena[begin:end] for begin, end in pairwise(self.ends.tolist())]

    def take(self, order: np.ndarray) -> "Names":
        """Return the names in another order, or some of them."""
        lengths = np.diff(self.ends)[order]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.ends[order] - ends[:-1], lengths) + np.arange(ends[-1])
        return Names(self.arena[places], ends, self.counts[order], self.keys[order])

    def followed_by(self, more: "Names") -> "Names":
        """Return these names and, after them, more names, which must all be different from these."""
        ends = np.concatenate([self.ends, more.ends[1:] + self.ends[-1]])
        arena, counts, keys = (np.concatenate([getattr(self, part), getattr(more, part)])
                               for part in ("arena", "counts", "keys"))  # fmt: skip
        return Names(arena, ends, counts, keys)


class NamedRows(NamedTuple):
    """Rows of features by their numbers among the names of the piece, each with a value."""

    starts: np.ndarray  # int64 (rows + 1,)
    numbers: np.ndarray  # int32
    amounts: np.ndarray  # float64
    names: Names

    def row_of_entries(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def first_rows(self) -> np.ndarray:
        """Return the row in which each name comes first."""
        first = np.zeros(len(self.names.counts), np.int64)
        first[self.numbers[::-1]] = self.row_of_entries()[::-1]  # of several assignments the last one stays
        return first

    def without_zeros(self) -> "NamedRows":
        keep = self.amounts != 0
        return self if keep.all() else self.part(keep)

    def part(self, keep: np.ndarray) -> "NamedRows":
        """Return the rows with only these entries. keep: a flag for every entry."""
        starts = np.concatenate([[0], np.cumsum(keep)])[self.starts]
        return self._replace(starts=starts, numbers=self.numbers[keep], amounts=self.amounts[keep])

    def with_names(self, order: np.ndarray) -> "NamedRows":
        """Return the same rows, with only these names and in this order. All names that occur must be among them."""
        number_of = np.empty(len(self.names.counts), np.int32)
        number_of[order] = np.arange(len(order))
        return self._replace(numbers=number_of[self.numbers], names=self.names.take(order))


class ColumnPlaces(NamedTuple):
    """The columns of names."""

    columns: np.ndarray  # int64: -1 where a name has none
    signs: np.ndarray  # float32: what its values are multiplied by


def local_names(content: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, Names]:
    """Return the number of each name content[begin[i]:end[i]], taken as it is, and the distinct names."""
    content, begin, end = TextColumn(content, begin, end).checked()
    if int(end.max(initial=0)) + ROOM > len(content):  # eight bytes are loaded at a time
        content = np.concatenate([content, np.zeros(ROOM, np.uint8)])
        content.flags.writeable = False
    lengths = end - begin
    table = new_table(slots_for(int(lengths.sum())))
    numbers, item = np.empty(len(begin), np.int32), 0
    with np.errstate(over="ignore"):
        while item < len(begin):
            item = number_names(content, begin, end, item, table, numbers)
            if item < len(begin):
                table = grown(table, 1, int(lengths.max()))
    return numbers, Names.in_table(table, np.bincount(numbers, minlength=int(table.used[0])).astype(np.int64))


def slots_for(n_bytes: int) -> int:
    """Return the slots of a new table for names in this many bytes of text."""
    return min(max(power_of_two(n_bytes // 8), MIN_SLOTS), USUAL_SLOTS)


def order_of_occurrence(numbers: np.ndarray, n: int) -> np.ndarray:
    """Return the numbers below n that stand in an array, in the order in which they first do."""
    first = np.full(n, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of several assignments the last one stays
    order = np.argsort(first, kind="stable")
    return order[: np.count_nonzero(first < len(numbers))]


def assemble(rows: NamedRows, places: ColumnPlaces, n_columns: int, norm: str | None = None) -> sp.csr_matrix:
    """Return the rows as a float32 matrix; names without a column are dropped. With norm "l2", each row has length 1.

    Where several entries of a row have one column, their sum stands where the first of them stood.
    """
    n_names, n = len(places.columns), len(rows.numbers)
    firsts = np.empty(n_names, np.int32)
    with np.errstate(over="ignore"):
        first_in_column(places.columns, np.zeros(power_of_two(2 * n_names + 1), np.int32), firsts)
    result = Gathered(np.zeros(len(rows.starts), np.int32), np.empty(n, np.int32), np.empty(n, np.float32))
    last_entries, sums = np.zeros(n_names, np.int64), np.empty(int(np.diff(rows.starts).max(initial=0)))
    entries, homes = Amounts(*rows[:3]), Homes(places.columns, places.signs, firsts)
    n = gather(entries, homes, norm == "l2", last_entries, sums, result)
    shape = len(rows.starts) - 1, n_columns
    return sp.csr_matrix((result.values[:n], result.columns[:n], result.starts), shape=shape, copy=False)
