"""The hashes of `hashing.py`, and the keys and comparison of names of `scan/name_table.py`, of many names at once."""

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
LONG = np.uint64(0xFF << 56)
U1, U8, U32, TAG = (np.uint64(n) for n in (1, 8, 32, 56))
EIGHT = 8  # bytes loaded at a time


def stirred(x: np.ndarray, secret: int) -> np.ndarray:
    """Twice multiplied, as in `hashing.py`; arrays overflow without a warning."""
    odd = np.uint64(secret)
    x = x * odd
    x = (x ^ (x >> U32)) * odd
    return x ^ (x >> U32)


def mixed(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def loads(text: np.ndarray, kind: str = "<u8") -> np.ndarray:
    """What lies in a text from each of its bytes on, read as numbers: not copied, and not aligned."""
    text, width = np.ascontiguousarray(text), np.dtype(kind).itemsize
    return np.ndarray((max(0, len(text) - width + 1),), kind, text, strides=(1,))


def keys_of(text: np.ndarray, begin: np.ndarray, end: np.ndarray, secret: int) -> np.ndarray:
    """The key of every name text[begin[k]:end[k]]; there are 8 bytes behind the last."""
    size, words = (end - begin).astype(np.uint64), loads(text)
    few = size < U8
    keys = np.empty(len(size), np.uint64)
    keys[few] = (words[begin[few]] & ((U1 << (size[few] * U8)) - U1)) | ((size[few] + U1) << TAG)
    many = np.flatnonzero(~few)
    at, last, key = begin[many].astype(np.int64), end[many].astype(np.int64) - EIGHT, size[many] * GOLDEN
    more = np.flatnonzero(at < last)
    while len(more):
        key[more] = stirred(key[more] ^ words[at[more]], secret)
        at[more] += EIGHT
        more = more[at[more] < last[more]]
    keys[many] = stirred(key ^ words[last], secret) | LONG
    return keys


def are_same(
    one: np.ndarray, at: np.ndarray, end: np.ndarray, other: np.ndarray, begin: np.ndarray, stop: np.ndarray
) -> np.ndarray:
    """Is one[at[k]:end[k]] what other[begin[k]:stop[k]] is? All have 8 bytes at least."""
    here, there = loads(one), loads(other)
    same = end - at == stop - begin
    offset, last = np.zeros(len(at), np.int64), (end - at).astype(np.int64) - EIGHT
    more = np.flatnonzero(same)
    while len(more):
        step = np.minimum(offset[more], last[more])  # the last eight bytes, some of them for the second time
        same[more] = here[at[more] + step] == there[begin[more] + step]
        offset[more] += EIGHT
        more = more[same[more] & (offset[more] < last[more] + EIGHT)]
    return same


def key_names(text: np.ndarray, ends: np.ndarray, secret: int, keys: np.ndarray) -> None:
    """See `scan/name_table.py`."""
    keys[:] = keys_of(text, ends[:-1], ends[1:], secret)


def hash_names(arena: np.ndarray, ends: np.ndarray, seed: int, hashes: np.ndarray) -> None:
    """See `hashing.py`."""
    begin, size = ends[:-1].astype(np.int64), np.diff(ends).astype(np.int64)
    words = loads(np.concatenate([arena[: ends[-1]], np.zeros(4, np.uint8)]), "<u4")
    h, at = np.full(len(size), seed, np.uint32), np.zeros(len(size), np.int64)
    more = np.flatnonzero(size >= 4)
    while len(more):
        k = _scrambled(words[begin[more] + at[more]])
        h[more] = _turned(h[more] ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        at[more] += 4
        more = more[at[more] + 4 <= size[more]]
    rest = np.flatnonzero(at < size)
    mask = (np.uint32(1) << (8 * (size[rest] - at[rest])).astype(np.uint32)) - np.uint32(1)
    h[rest] ^= _scrambled(words[begin[rest] + at[rest]] & mask)
    h ^= size.astype(np.uint32)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    hashes[:] = h ^ (h >> np.uint32(16))


def _turned(x: np.ndarray, bits: int) -> np.ndarray:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def _scrambled(k: np.ndarray) -> np.ndarray:
    return _turned(k * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
