"""Names of the features of Vowpal Wabbit's text, and the hashes that VW gives them (its --hash strings).

The name tells the hash: "namespace^feature" or, in the default namespace, "feature", with "^" before it if it has one.
A "^" of a namespace is written "|", which no name has. Behind the feature stands, if its value is a word, ":" and the
value; a feature without a name is ":" and its number among those of its namespace.
"""

import numpy as np

from perceptrons.rows import compiled, inlined
from perceptrons.scan.murmur import murmur3_32
from perceptrons.scan.numbers import SPACE, ZERO, is_digit

U0, U1, U10 = np.uint64(0), np.uint64(1), np.uint64(10)
COLON, CARET, BAR = 58, 94, 124


@compiled
def write_number(names, at, k):
    """The name of a feature that has none: a colon and its number."""
    names[at] = COLON
    at += U1
    size = U1
    rest = k // U10
    while rest > U0:
        size += U1
        rest //= U10
    for i in range(size):
        names[at + size - U1 - i] = np.uint8(ZERO + k % U10)
        k //= U10
    return at + size


@compiled
def vw_hash(content, a, b, seed):
    """Digits are a number, added to the seed; all else is hashed. Spaces and control characters at the ends go."""
    while a < b and content[a] <= SPACE:
        a += U1
    while a < b and content[b - U1] <= SPACE:
        b -= U1
    value = U0
    for p in range(a, b):
        if not is_digit(content[p]):
            return murmur3_32(content, a, b, seed)
        value = value * U10 + np.uint64(content[p] - ZERO)
    return np.uint32(value + np.uint64(seed))


@inlined
def place_of(content, p, end, byte):
    while p < end and content[p] != byte:
        p += U1
    return p


@compiled
def hash_features(arena, ends, namespace, hashes):
    """hashes[k] = the hash of the feature whose name is arena[ends[k]:ends[k + 1]]. namespace: room to write in."""
    for k in range(len(hashes)):
        begin, end = np.uint64(ends[k]), np.uint64(ends[k + 1])
        caret = place_of(arena, begin, end, CARET)
        seed = np.uint32(0)
        if caret < end:
            for i in range(caret - begin):
                byte = arena[begin + i]
                namespace[i] = CARET if byte == BAR else byte
            seed = vw_hash(namespace, U0, caret - begin, seed)
            begin = caret + U1
        colon = place_of(arena, begin, end, COLON)
        hashes[k] = vw_hash(arena, begin, colon, seed)  # of no bytes it is the seed
        if colon < end:
            hashes[k] = vw_hash(arena, colon + U1, end, hashes[k])
