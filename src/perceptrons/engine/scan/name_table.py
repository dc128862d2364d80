"""Names as bytes, each distinct one with a number, in an open hash table.

A slot holds a key, 0 where it is empty, and a note: the number of the name in the upper 32 bits, what its user writes
in the lower. The key of a name of up to 7 bytes is these bytes, so equal keys are equal names; that of a longer one is
a hash, and its bytes are compared. Hashes depend on a secret that is in every table (`hashing.py`).

The loops here have one way out: where an inlined function has two, numba counts references to its arrays at every
call, which costs five times as much as the search.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.hashing import SECRET, stirred
from perceptrons.engine.rows import PREFETCH_AHEAD, touch
from perceptrons.engine.scan.bytes import load

U0, U1, U7, U8, U32 = (np.uint64(n) for n in (0, 1, 7, 8, 32))
TAG = np.uint64(56)  # the upper 8 bits of a key: length + 1 of a short name, 255 for a long one
LONG = np.uint64(0xFF << 56)
LOWER = np.uint64(0xFFFFFFFF)
SLOTS = 2  # for each name at least
MOST = 2**31 - 2  # names that 32 bits can number
USUAL_BYTES = 8  # of a name


class Table(NamedTuple):
    slots: np.ndarray  # uint64 (a power of 2, 2): key and note
    keys: np.ndarray  # uint64: the key of each name
    ends: np.ndarray  # int64: name k is arena[ends[k]:ends[k + 1]]
    arena: np.ndarray  # uint8
    used: np.ndarray  # int64 (2,): how many names there are, and the secret


@inlined
def short_key(bytes_, length):
    """The key of a name of at most 7 bytes, which are the lowest of the given ones."""
    return (bytes_ & ((U1 << (length * U8)) - U1)) | ((length + U1) << TAG)


@inlined
def key_of(text, a, b, secret):
    """The key of the name text[a:b]; there are ROOM bytes behind it."""
    key = U0
    if b - a < U8:
        key = short_key(load(text, a), b - a)
    else:
        key = (b - a) * np.uint64(0x9E3779B97F4A7C15)
        while a + U8 < b:
            key = stirred(key ^ load(text, a), secret)
            a += U8
        key = stirred(key ^ load(text, b - U8), secret) | LONG  # the last eight, some of them for the second time
    return key


@inlined
def home_of(slots, key, secret):
    """The slot where the search for a key begins."""
    return stirred(key, secret) & np.uint64(len(slots) - 1)


@inlined
def slot_of(slots, key, ends, arena, text, a, b, secret):
    """The slot of the name text[a:b], or the empty one where it belongs."""
    mask, slot = np.uint64(len(slots) - 1), home_of(slots, key, secret)
    while slots[slot, U0] != U0 and not (
        slots[slot, U0] == key and (key < LONG or is_name(slots[slot, U1] >> U32, ends, arena, text, a, b))
    ):
        slot = (slot + U1) & mask
    return slot


@inlined
def is_name(number, ends, arena, text, a, b):
    """Is name `number` text[a:b], which has 8 bytes at least?"""
    at, end = np.uint64(ends[number]), np.uint64(ends[number + U1])
    same = end - at == b - a
    while same and at + U8 < end:
        same = load(arena, at) == load(text, a)
        at, a = at + U8, a + U8
    return same and load(arena, end - U8) == load(text, b - U8)


@inlined
def insert(slots, slot, key, keys, ends, arena, used, text, a, b):
    """Put the name text[a:b] into its empty slot; returns whether there is room for it."""
    number = np.uint64(used[0])
    at = np.uint64(ends[number])
    room = np.uint64(SLOTS) * (number + U1) <= np.uint64(len(slots)) and at + (b - a) <= np.uint64(len(arena))
    if room:
        for i in range(a, b):
            arena[at] = text[i]
            at += U1
        keys[number] = key
        ends[number + U1] = np.int64(at)
        used[0] += 1
        slots[slot, U0] = key
        slots[slot, U1] = number << U32
    return room


@compiled
def refill(slots, keys, used):
    """Put all names, which are all different, into empty slots."""
    mask, secret = np.uint64(len(slots) - 1), np.uint64(used[1])
    for number in range(np.uint64(used[0])):
        slot = home_of(slots, keys[number], secret)
        while slots[slot, U0] != U0:
            slot = (slot + U1) & mask
        slots[slot, U0] = keys[number]
        slots[slot, U1] = number << U32


@compiled
def number_names(content, begin, end, item, table, numbers):
    """The number of every name content[begin[i]:end[i]] from `item` on; new names get the next one.

    Changes the table and numbers. Returns the item before which the table has to grow, or that behind the last.
    """
    slots, keys, ends, arena, used = table
    secret = np.uint64(used[1])
    room, i, n = True, np.uint64(item), np.uint64(len(begin))
    while room and i < n:
        a, b = np.uint64(begin[i]), np.uint64(end[i])
        key = key_of(content, a, b, secret)
        slot = slot_of(slots, key, ends, arena, content, a, b, secret)
        if slots[slot, U0] == U0:
            room = insert(slots, slot, key, keys, ends, arena, used, content, a, b)
        if room:
            numbers[i] = np.int32(slots[slot, U1] >> U32)
            i += U1
    return np.int64(i)


@compiled
def remember_names(text, text_ends, new_keys, counts, table, totals, limit, numbers):
    """Look up the names text[text_ends[k]:text_ends[k + 1]] in a table; its number or -1 for each.

    New ones are put into the table, which has room for them, until it has `limit` names, and what all count is added to
    totals; with a limit below 0, neither. Changes these and numbers.
    """
    slots, keys, ends, arena, used = table
    n, secret, learning = np.uint64(len(numbers)), np.uint64(used[1]), limit >= 0
    for k in range(n):
        touch(slots, home_of(slots, new_keys[min(k + np.uint64(PREFETCH_AHEAD), n - U1)], secret))
        a, b = np.uint64(text_ends[k]), np.uint64(text_ends[k + U1])
        slot = slot_of(slots, new_keys[k], ends, arena, text, a, b, secret)
        if slots[slot, U0] == U0 and learning and used[0] < limit:
            insert(slots, slot, new_keys[k], keys, ends, arena, used, text, a, b)
        number = np.int64(-1)
        if slots[slot, U0] != U0:
            number = np.int64(slots[slot, U1] >> U32)
            if learning:
                totals[np.uint64(number)] += counts[k]
        numbers[k] = number


@compiled
def key_names(text, ends, secret, keys):
    """keys[k] = the key of the name text[ends[k]:ends[k + 1]]; there are ROOM bytes behind the last."""
    for k in range(len(keys)):
        keys[k] = key_of(text, np.uint64(ends[k]), np.uint64(ends[k + 1]), np.uint64(secret))


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
    """The table with room for more names, of `n_bytes` bytes together. What users wrote in its notes is gone."""
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
