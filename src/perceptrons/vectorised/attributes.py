"""The loops of `passes/attributes.py`: the features of many tokens by templates, searched for at once."""

from typing import Any

import numpy as np

from perceptrons.vectorised.hashes import U1, mixed, stirred

AT_ONCE = 2**20  # features looked for at a time: more would only take memory
VALUE_BITS = np.uint64(26)
LOAD = 2  # slots for each entry at least
COUNT, NUMBER, HASH = 1, 2, 3


def attributes(
    views: Any, templates: Any, starts: np.ndarray, begin: int, table: Any, lookup: Any, columns: np.ndarray,
    ends: np.ndarray,
) -> int:  # fmt: skip
    """See `passes/attributes.py`."""
    n_templates, last = len(templates.code), len(starts) - 1
    while begin < last:
        room = starts[begin] + max(1, AT_ONCE // max(1, n_templates))
        stop = min(last, max(begin + 1, int(np.searchsorted(starts, room, "right")) - 1))
        there, high, low = _wanted(views, templates, starts[begin : stop + 1], lookup.mode == HASH)
        numbers = np.full(there.shape, -1, np.int64)
        if lookup.mode == HASH:
            numbers[there] = (low[there] & np.uint64(lookup.mask)).astype(np.int64)
        else:
            found = _numbers(high[there], low[there], table, lookup)
            if found is None:
                return begin
            numbers[there] = found
        known = numbers >= 0
        first, n = int(starts[begin]), len(known)
        total = np.cumsum(known.sum(axis=1))
        place = int(ends[first])
        columns[place : place + int(known.sum())] = numbers[known]
        ends[first + 1 : first + n + 1] = place + total
        begin = stop
    return last


def _wanted(views: Any, templates: Any, starts: np.ndarray, hashing: bool) -> tuple[np.ndarray, ...]:
    """For every token and template: does it have a value, and both halves of its key, or its hash as the second."""
    first, n, n_templates = int(starts[0]), int(starts[-1] - starts[0]), len(templates.code)
    bounds = starts - first
    lengths = np.diff(bounds)
    begin, end = np.repeat(bounds[:-1], lengths), np.repeat(bounds[1:], lengths)
    there = np.ones((n, n_templates), bool)
    high, low = np.zeros((n, n_templates), np.uint64), np.zeros((n, n_templates), np.uint64)
    seen = [
        views.values[offset + views.codes[column, first : first + n]]
        for column, offset in zip(views.column.tolist(), views.first.tolist(), strict=True)
    ]
    for k in range(n_templates):
        code = np.full(n, templates.code[k], np.int64).astype(np.uint64)
        keys = [code << (VALUE_BITS + VALUE_BITS), np.zeros(n, np.uint64)]
        for part, view in enumerate(templates.looks[k].tolist()):
            if view < 0:
                break
            at = np.arange(n) + templates.offset[k, part]
            inside = (at >= begin) & (at < end)
            x = np.where(inside, seen[view].take(at, mode="clip"), -1) if n else np.zeros(0, np.int64)
            there[:, k] &= x >= 0
            value = np.maximum(x, 0).astype(np.uint64)
            code = mixed(code ^ value) if hashing else code
            keys[part // 2] |= value << (VALUE_BITS * np.uint64(1 - part % 2))
        high[:, k], low[:, k] = (keys[0], keys[1]) if not hashing else (U1, mixed(code))
    return there, high, low


def _numbers(high: np.ndarray, low: np.ndarray, table: Any, lookup: Any) -> np.ndarray | None:
    """The number of every feature, negative where it has none; None where the table has to grow first."""
    if lookup.mode not in (COUNT, NUMBER):
        slot = _slots(table.keys, high, low, table.secret)
        return np.where(table.keys[slot, 0] != 0, table.numbers[slot], -1)
    _, first, same = np.unique(np.stack([high, low], axis=1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    slot = _slots(table.keys, high[first], low[first], table.secret)[order]
    new = table.keys[slot, 0] == 0
    if LOAD * (table.counts[1] + new.sum()) > len(table.keys):
        return None
    distinct = first[order]
    keys = np.stack([high[distinct[new]], low[distinct[new]]], axis=1)
    insert(table.keys, table.numbers, keys, np.full(len(keys), -1), table.secret)
    table.counts[1] += len(keys)
    slot = _slots(table.keys, high[distinct], low[distinct], table.secret)
    if lookup.mode == COUNT:
        times = np.bincount(same.ravel(), minlength=len(first))[order]
        waits = table.numbers[slot] < 0
        table.numbers[slot[waits]] -= (times - new)[waits].astype(table.numbers.dtype)
        return np.full(len(high), -1)
    ready = slot[(table.numbers[slot] < 0) & (-table.numbers[slot] >= lookup.min_count)]
    table.numbers[ready] = np.arange(table.counts[0], table.counts[0] + len(ready))
    table.counts[0] += len(ready)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return table.numbers[slot[rank[same.ravel()]]].astype(np.int64)


def _homes(keys: np.ndarray, high: np.ndarray, low: np.ndarray, secret: int) -> np.ndarray:
    return stirred(high ^ (low * np.uint64(secret)), secret) & np.uint64(len(keys) - 1)


def _slots(keys: np.ndarray, high: np.ndarray, low: np.ndarray, secret: int) -> np.ndarray:
    """The slot of every key, or the empty one where the search for it ends."""
    slot, mask, left = _homes(keys, high, low, secret), np.uint64(len(keys) - 1), np.arange(len(high))
    while len(left):
        there = keys[slot[left]]
        left = left[(there[:, 0] != 0) & ((there[:, 0] != high[left]) | (there[:, 1] != low[left]))]
        slot[left] = (slot[left] + U1) & mask
    return slot


def insert(keys: np.ndarray, numbers: np.ndarray, new_keys: np.ndarray, new_numbers: np.ndarray, secret: int) -> None:
    """See `passes/attributes.py`; if several entries want one slot, the last gets it and the others try the next."""
    used = new_keys[:, 0] != 0
    entries, given = new_keys[used], new_numbers[used]
    slot, mask = _homes(keys, entries[:, 0], entries[:, 1], secret), np.uint64(len(keys) - 1)
    left = np.arange(len(entries))
    while len(left):
        free = left[keys[slot[left], 0] == 0]
        keys[slot[free]] = entries[free]
        mine = (keys[slot[left]] == entries[left]).all(axis=1)
        numbers[slot[left[mine]]] = given[left[mine]]
        left = left[~mine]
        slot[left] = (slot[left] + U1) & mask
