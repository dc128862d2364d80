"""The loops of `scan/name_table.py`: all names of a call are searched at once, a step of each in every round."""

from typing import Any

import numpy as np

from perceptrons.vectorised.hashes import LONG, U1, U32, are_same, keys_of, stirred

SLOTS = 2  # for each name at least
Spans = tuple[np.ndarray, np.ndarray, np.ndarray]  # a text, and where in it each name begins and ends


def refill(slots: np.ndarray, keys: np.ndarray, used: np.ndarray) -> None:
    """See `scan/name_table.py`."""
    _place(slots, keys[: used[0]], np.arange(used[0], dtype=np.uint64), int(used[1]))


def remember_names(
    text: np.ndarray, text_ends: np.ndarray, new_keys: np.ndarray, counts: np.ndarray, table: Any, totals: np.ndarray,
    limit: int, numbers: np.ndarray,
) -> None:  # fmt: skip
    """See `scan/name_table.py`."""
    names = text, text_ends[:-1], text_ends[1:]
    numbers[:] = _found(table, new_keys, names)
    if limit < 0:
        return
    new = np.flatnonzero(numbers < 0)
    if len(new):
        same, first = _alike(new_keys[new], (text, names[1][new], names[2][new]))
        given = _inserted(table, new_keys[new][first], (text, names[1][new][first], names[2][new][first]), limit)
        numbers[new] = given[same]
    known = numbers >= 0
    np.add.at(totals, numbers[known], counts[known])


def number_names(
    content: np.ndarray, begin: np.ndarray, end: np.ndarray, item: int, table: Any, numbers: np.ndarray
) -> int:
    """See `scan/name_table.py`."""
    a, b = begin[item:], end[item:]
    keys = keys_of(content, a, b, int(table.used[1]))
    same, first = _alike(keys, (content, a, b))
    distinct = keys[first], (content, a[first], b[first])
    found = _found(table, *distinct)
    new = np.flatnonzero(found < 0)
    text, starts, stops = distinct[1]
    found[new] = _inserted(table, distinct[0][new], (text, starts[new], stops[new]), len(table.slots) // SLOTS)
    got = found[same]
    ready = len(got) if not len(got) or got.min() >= 0 else int(np.argmax(got < 0))
    numbers[item : item + ready] = got[:ready]
    return item + ready


def _found(table: Any, keys: np.ndarray, names: Spans) -> np.ndarray:
    """The number of every name, -1 where the table does not have it."""
    slots, mask = table.slots, np.uint64(len(table.slots) - 1)
    numbers, slot = np.full(len(keys), -1, np.int64), stirred(keys, int(table.used[1])) & mask
    left = np.arange(len(keys))
    while len(left):
        there = slots[slot[left], 0]
        hit = there == keys[left]
        at = (slots[slot[left], 1] >> U32).astype(np.int64)
        long = np.flatnonzero(hit & (there >= LONG))
        if len(long):
            which, text = at[long], names[0]
            spans = (part[left[long]].astype(np.int64) for part in names[1:])
            hit[long] = are_same(table.arena, table.ends[which], table.ends[which + 1], text, *spans)
        numbers[left[hit]] = at[hit]
        left = left[~hit & (there != 0)]
        slot[left] = (slot[left] + U1) & mask
    return numbers


def _alike(keys: np.ndarray, names: Spans) -> tuple[np.ndarray, np.ndarray]:
    """Which of the distinct names each is, and where each of those came first; in order of coming."""
    _, first, same = np.unique(keys, return_index=True, return_inverse=True)
    long = np.flatnonzero(keys >= LONG)
    text, begin, end = names[0], names[1].astype(np.int64), names[2].astype(np.int64)
    like = first[same[long]]
    if len(long) and not are_same(text, begin[long], end[long], text, begin[like], end[like]).all():
        whole = text.tobytes()  # two names of one key: never, but for chance
        seen: dict[bytes, int] = {}
        spans = zip(begin.tolist(), end.tolist(), strict=True)
        same = np.array([seen.setdefault(whole[a:b], len(seen)) for a, b in spans])
        return same, np.unique(same, return_index=True)[1]
    order = np.argsort(first)
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first))
    return rank[same], first[order]


def _inserted(table: Any, keys: np.ndarray, names: Spans, limit: int) -> np.ndarray:
    """Put distinct names that the table does not have into it while there is room; the number of each, or -1."""
    text, begin, end = names
    used, sizes = int(table.used[0]), (end - begin).astype(np.int64)
    stops = int(table.ends[used]) + np.cumsum(sizes)
    n = min(limit - used, len(table.slots) // SLOTS - used, int(np.searchsorted(stops, len(table.arena), "right")))
    n = max(0, min(n, len(keys)))
    numbers = np.full(len(keys), -1, np.int64)
    numbers[:n] = np.arange(used, used + n)
    total = int(sizes[:n].sum())
    shift = np.repeat(begin[:n].astype(np.int64) - (np.cumsum(sizes[:n]) - sizes[:n]), sizes[:n])
    at = int(table.ends[used])
    table.arena[at : at + total] = text[shift + np.arange(total)]
    table.keys[used : used + n] = keys[:n]
    table.ends[used + 1 : used + n + 1] = stops[:n]
    table.used[0] += n
    _place(table.slots, keys[:n], numbers[:n].astype(np.uint64), int(table.used[1]))
    return numbers


def _place(slots: np.ndarray, keys: np.ndarray, numbers: np.ndarray, secret: int) -> None:
    """Put new names into slots. If several want the same slot, the last gets it and the others try the next."""
    mask = np.uint64(len(slots) - 1)
    slot, left = stirred(keys, secret) & mask, np.arange(len(keys))
    while len(left):
        free = left[slots[slot[left], 0] == 0]
        slots[slot[free]] = np.stack([keys[free], numbers[free] << U32], axis=1)
        left = left[(slots[slot[left], 1] >> U32) != numbers[left]]
        slot[left] = (slot[left] + U1) & mask
