"""Interactions of features, as Vowpal Wabbit's --quadratic and --cubic make them; `data/interactions.py` calls this.

An interaction is the product of one feature each of two or three namespaces. VW knows a namespace by its first byte.
Its column follows from the hashes of its features, a, b and c: (a P) xor b, and (((a P) xor b) P) xor c.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, exact, inlined
from perceptrons.engine.hashing import stirred
from perceptrons.engine.scan.bytes import SPACE, TAB

U0, U1 = np.uint64(0), np.uint64(1)
NEWLINE, COLON, CARET, BAR = 10, 58, 94, 124
LARGEST = 1e13  # of float32
PRIME = np.uint64(16777619)  # FNV's
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
STAR, WILDCARD, LAST_PRINTED = 42, 58, 126
NONE = -1  # the third namespace of an interaction of two


@inlined
def is_gap(byte):
    return byte in (SPACE, TAB)


@inlined
def place_of(content, p, end, byte):
    while p < end and content[p] != byte:
        p += U1
    return p


class Terms(NamedTuple):
    """Interactions in the order of their first namespaces."""

    spaces: np.ndarray  # int64 (terms, 3): first bytes of namespaces, the third NONE for a product of two
    starts: np.ndarray  # int64 (257,): those that begin with namespace s are spaces[starts[s]:starts[s + 1]]


class Plain(NamedTuple):
    """Rows of features as they are in the file, and what is known of each distinct feature."""

    starts: np.ndarray  # int64 (rows + 1,)
    numbers: np.ndarray  # int32
    values: np.ndarray  # float64
    spaces: np.ndarray  # uint8: by number, the first byte of the namespace
    hashes: np.ndarray  # uint32: by number


class Groups(NamedTuple):
    """The features of one row by namespace."""

    counts: np.ndarray  # int64 (256,): zeros between rows
    begins: np.ndarray  # int64 (256,)
    met: np.ndarray  # uint8 (256,): namespaces in order of coming
    numbers: np.ndarray  # int32, as long as the longest row: of the features, those of one namespace side by side
    values: np.ndarray  # float32


class Products(NamedTuple):
    """Rows that have interactions behind the plain features, and each distinct interaction."""

    starts: np.ndarray  # int64 (rows + 1,)
    numbers: np.ndarray  # int32: those of interactions follow on those of plain features
    values: np.ndarray  # float64
    parts: np.ndarray  # int32 (distinct, 3): numbers of the features, the third -1 for a product of two
    hashes: np.ndarray  # uint32 (distinct,)
    slots: np.ndarray  # uint64 (a power of 2, 2): parts, and number + 1; zeros
    large: np.ndarray  # int64 (rows,): one behind the entry of the row that is too large, 0 if none is


@compiled
def spaces_of(arena, ends, spaces):
    """spaces[k] = the first byte of the namespace of name k. Names are as `scan/vw.py` writes them."""
    for k in range(len(spaces)):
        begin, end = np.uint64(ends[k]), np.uint64(ends[k + 1])
        caret = place_of(arena, begin, end, CARET)
        spaces[k] = SPACE
        if begin < caret < end:
            spaces[k] = CARET if arena[begin] == BAR else arena[begin]


@inlined
def product_size(spaces, counts, n_printed):
    """The most features that an interaction can make, given the number of features in each namespace."""
    size = 1.0
    for place in range(3):
        space = spaces[place]
        if space == WILDCARD:
            size *= n_printed
        elif space != NONE:
            size *= counts[space]
    return size


@compiled
def cut_lines(content, n_bytes, spaces, most, cuts):
    """Cut lines into parts with at most `most` interactions, or with a single line; lines may be blank.

    spaces: the interactions, with wildcards. cuts: at least as long as there are lines. Changes it: where each part
    ends. Returns the number of parts.
    """
    counts = np.zeros(256, np.int64)
    limit, p, n_cuts, total = np.uint64(n_bytes), U0, 0, 0.0
    while p < limit:
        line = p
        counts[:] = 0
        while content[p] != BAR and content[p] != NEWLINE:
            p += U1
        while content[p] == BAR:
            p += U1
            named = not (is_gap(content[p]) or content[p] == BAR or content[p] == NEWLINE)
            space = content[p] if named else np.uint8(SPACE)
            words = np.int64(-1 if named else 0)
            gap = True
            while content[p] != BAR and content[p] != NEWLINE:
                blank = is_gap(content[p])
                words += gap and not blank
                gap = blank
                p += U1
            counts[space] += words
        p += U1
        n_printed, made = counts[SPACE : LAST_PRINTED + 1].sum(), 0.0
        for term in range(len(spaces)):
            made += product_size(spaces[term], counts, n_printed)
        if total + made > most and line > U0:
            cuts[n_cuts] = line
            n_cuts += 1
            total = 0.0
        total += made
    cuts[n_cuts] = limit
    return n_cuts + 1


@inlined
def group_row(plain, begin, end, groups):
    """Sort the features of a row by namespace, in order of coming. Changes groups; returns how many there are."""
    _, numbers, values, spaces, _ = plain
    counts, begins, met, sorted_numbers, sorted_values = groups
    n_met, at = U0, np.int64(0)
    for e in range(begin, end):
        space = spaces[numbers[e]]
        if counts[space] == 0:
            met[n_met] = space
            n_met += U1
        counts[space] += 1
    for k in range(n_met):
        begins[met[k]] = at
        at += counts[met[k]]
        counts[met[k]] = 0
    for e in range(begin, end):
        space = spaces[numbers[e]]
        at = begins[space] + counts[space]
        sorted_numbers[at], sorted_values[at] = numbers[e], np.float32(values[e])
        counts[space] += 1
    return n_met


@inlined
def forget_row(counts, met, n_met):
    for k in range(n_met):
        counts[met[k]] = 0


@inlined
def choices(counts, spaces):
    """How many features one interaction makes: of one namespace with itself, every choice once, whatever its order."""
    a, b, c = spaces[0], spaces[1], spaces[2]
    x, y = np.float64(counts[a]), np.float64(counts[b])
    size = x * (x + 1.0) / 2.0 if a == b else x * y
    if c != NONE:
        z = np.float64(counts[c])
        if a == b and b == c:
            size = x * (x + 1.0) * (x + 2.0) / 6.0
        elif b == c:
            size = x * y * (y + 1.0) / 2.0
        else:
            size *= z
    return size


@compiled
def count_products(plain, terms, groups, counts):
    """counts[i] = the number of interactions of row i (float64: it may be enormous)."""
    for i in range(len(counts)):
        n_met, made = group_row(plain, np.uint64(plain.starts[i]), np.uint64(plain.starts[i + 1]), groups), 0.0
        for k in range(n_met):
            space = np.int64(groups.met[k])
            for term in range(terms.starts[space], terms.starts[space + 1]):
                made += choices(groups.counts, terms.spaces[term])
        counts[i] = made
        forget_row(groups.counts, groups.met, n_met)


@inlined
def span(counts, begins, space, same, at):
    """The features of a namespace to multiply with: those from `at` on if the one before is of the same namespace."""
    n = counts[space]
    begin = begins[space] if n > 0 else 0  # that of another row if this one has none
    return (at if same else begin), begin + n


@inlined
def slot_of(slots, key, more, secret):
    """The slot of an interaction, or the empty one where it belongs."""
    mask, slot = np.uint64(len(slots) - 1), stirred(key ^ (more * PRIME), secret)
    slot &= mask
    while slots[slot, U1] != U0 and not (slots[slot, U0] == key and slots[slot, U1] >> HALF == more):
        slot = (slot + U1) & mask
    return slot


@inlined
def hash_of(hashes, first, second, third):
    """The hash of an interaction by those of its parts."""
    h = (np.uint64(hashes[first]) * PRIME) ^ np.uint64(hashes[second])
    if third >= 0:
        h = (h * PRIME) ^ np.uint64(hashes[third])
    return np.uint32(h & LOW)


@exact
def multiply(plain, terms, groups, skip, products, secret):
    """The features of all rows, and behind them their interactions; rows in skip (bool) get none.

    Changes products. Returns the numbers of entries and of distinct interactions. Products are float32, as in VW, and
    those that are 0 are left out.
    """
    starts, numbers, values, _, hashes = plain
    counts, begins, met, row, x = groups
    out_starts, out_numbers, out_values, parts, out_hashes, slots, large = products
    n, used, n_plain, secret = 0, 0, len(hashes), np.uint64(secret)
    out_starts[0] = 0
    for i in range(len(skip)):
        begin, end = np.uint64(starts[i]), np.uint64(starts[i + 1])
        for e in range(begin, end):
            out_numbers[n], out_values[n] = numbers[e], values[e]
            n += 1
        n_met = U0 if skip[i] else group_row(plain, begin, end, groups)
        for m in range(n_met):
            space = np.int64(met[m])
            for term in range(terms.starts[space], terms.starts[space + 1]):
                a, b, c = terms.spaces[term, 0], terms.spaces[term, 1], terms.spaces[term, 2]
                for j in range(begins[a], begins[a] + counts[a]):
                    second = span(counts, begins, b, a == b, j)
                    for k in range(second[0], second[1]):
                        key, both = (np.uint64(row[j]) << HALF) | np.uint64(row[k]), x[j] * x[k]
                        third = span(counts, begins, c, b == c, k) if c != NONE else (0, 1)
                        for o in range(third[0], third[1]):
                            last = np.int64(row[o]) if c != NONE else np.int64(-1)
                            value = both * x[o] if c != NONE else both
                            if value == 0:
                                continue
                            slot = slot_of(slots, key, np.uint64(last + 1), secret)
                            if slots[slot, U1] == U0:
                                parts[used, 0], parts[used, 1], parts[used, 2] = row[j], row[k], last
                                out_hashes[used] = hash_of(hashes, row[j], row[k], last)
                                used += 1
                                slots[slot, U0], slots[slot, U1] = key, (np.uint64(last + 1) << HALF) | np.uint64(used)
                            out_numbers[n] = n_plain - 1 + np.int64(slots[slot, U1] & LOW)
                            out_values[n] = value
                            n += 1
                            if not abs(value) <= LARGEST:
                                large[i] = n
        out_starts[i + 1] = n
        forget_row(counts, met, n_met)
    return n, used


@compiled
def join_names(arena, ends, parts, joined, joined_ends):
    """Write the names of interactions, "a*b" or "a*b*c", into joined, and where each ends into joined_ends[1:]."""
    at = U0
    joined_ends[0] = 0
    for k in range(len(parts)):
        for place in range(3):
            part = parts[k, place]
            if part >= 0:
                if place > 0:
                    joined[at] = STAR
                    at += U1
                for i in range(np.uint64(ends[part]), np.uint64(ends[part + 1])):
                    joined[at] = arena[i]
                    at += U1
        joined_ends[k + 1] = np.int64(at)
