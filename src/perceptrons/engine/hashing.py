"""Two hashes: one by a secret of the process, which places keys in tables, and one that is the same everywhere.

Who knew the slots of a table could choose names that all begin in one, and every search would walk through all of them.
The numbers of columns, however, are part of a model: MurmurHash3, the version of 32 bits (Austin Appleby, 2011, in the
public domain).
"""

import secrets

import numpy as np

from perceptrons.engine.compiling import compiled, inlined

SECRET = secrets.randbits(62) | 2**40 | 1  # odd. It goes with a table to other processes, but never into a file
U0, U4, U5, U8, U32 = (np.uint64(n) for n in (0, 4, 5, 8, 32))
LOW = np.uint64(0xFFFFFFFF)  # numba widens 32 bits to 64; products of two of them fit
C1, C2, C3 = np.uint64(0xCC9E2D51), np.uint64(0x1B873593), np.uint64(0xE6546B64)
M1, M2 = np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)


@inlined
def stirred(x, secret):
    """Twice multiplied: after once, a difference in the highest bit would still be known to who chose it."""
    x = x * secret
    x = (x ^ (x >> U32)) * secret
    return x ^ (x >> U32)


@inlined
def mixed(x):
    """A bijection of 64 bits that spreads them well (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inlined
def turned(x, bits):
    return ((x << bits) | (x >> (U32 - bits))) & LOW


@inlined
def mixed_in(h, k):
    return h ^ ((turned((k * C1) & LOW, np.uint64(15)) * C2) & LOW)


@inlined
def murmur3_32(content, begin, end, seed):
    """MurmurHash3 of content[begin:end], where both are unsigned; four bytes at a time, then the rest."""
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
