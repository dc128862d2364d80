"""MurmurHash3, the version of 32 bits (Austin Appleby, 2011, in the public domain): the same numbers everywhere."""

import numpy as np

from perceptrons.rows import compiled, inlined

LOW = np.uint64(0xFFFFFFFF)  # numba widens 32 bits to 64; products of two of them fit
C1, C2, C3 = np.uint64(0xCC9E2D51), np.uint64(0x1B873593), np.uint64(0xE6546B64)
M1, M2 = np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)
U0, U1, U3, U4, U5, U8 = (np.uint64(n) for n in (0, 1, 3, 4, 5, 8))


@inlined
def turned(x, bits):
    return ((x << bits) | (x >> (np.uint64(32) - bits))) & LOW


@inlined
def mixed_in(h, k):
    return h ^ ((turned((k * C1) & LOW, np.uint64(15)) * C2) & LOW)


@inlined
def murmur3_32(content, begin, end, seed):
    """The hash of content[begin:end], where both are unsigned; four bytes at a time, then the rest."""
    h, p = np.uint64(seed), begin
    while p + U4 <= end:
        k = U0
        for i in range(4):
            k |= np.uint64(content[p + np.uint64(i)]) << np.uint64(8 * i)
        h = (turned(mixed_in(h, k), np.uint64(13)) * U5 + C3) & LOW
        p += U4
    if p < end:
        k = U0
        for i in range(end - p):
            k |= np.uint64(content[p + np.uint64(i)]) << (U8 * np.uint64(i))
        h = mixed_in(h, k)
    h ^= (end - begin) & LOW
    h = ((h ^ (h >> np.uint64(16))) * M1) & LOW
    h = ((h ^ (h >> np.uint64(13))) * M2) & LOW
    return np.uint32(h ^ (h >> np.uint64(16)))


@compiled
def hash_names(arena, ends, seed, hashes):
    """hashes[k] = the hash of name k, which is arena[ends[k]:ends[k + 1]]."""
    for k in range(len(hashes)):
        hashes[k] = murmur3_32(arena, np.uint64(ends[k]), np.uint64(ends[k + 1]), seed)
