"""Interactions of features, as Vowpal Wabbit's --quadratic and --cubic make them; `data/vw.py` calls this.

An interaction is the product of one feature each of two or three namespaces. VW knows a namespace by its first byte.
Its column follows from the hashes of its features, a, b and c: (a P) xor b, and (((a P) xor b) P) xor c.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.scan.bytes import SPACE, TAB

U0, U1 = np.uint64(0), np.uint64(1)
NEWLINE, COLON, CARET, BAR = 10, 58, 94, 124
PRIME = np.uint64(16777619)  # FNV's
STAR, WILDCARD, LAST_PRINTED = 42, 58, 126
NONE = -1  # the third namespace of an interaction of two


class InteractingRows(NamedTuple):
    """Rows of features and, behind them, their interactions."""

    starts: np.ndarray  # int64 (rows + 1,)
    parts: np.ndarray  # int32 (entries, 3): numbers of the features that are multiplied; NONE where there are fewer
    values: np.ndarray  # float64
    counts: np.ndarray  # float64 (rows,): how many interactions each row makes; those with too many have none


@inlined
def is_gap(byte):
    return byte in (SPACE, TAB)


@inlined
def place_of(content, p, end, byte):
    while p < end and content[p] != byte:
        p += U1
    return p


@compiled
def spaces_of(arena, ends, spaces):
    """spaces[k] = the first byte of the namespace of name k. Names are as `data/vw.py` writes them."""
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


def interact(
    starts: np.ndarray, numbers: np.ndarray, values: np.ndarray, spaces: np.ndarray, terms: np.ndarray, max_per_row: int
) -> InteractingRows:
    """Return rows with their interactions.

    Interactions come in the order in which the first of their namespaces come in the row, then in that of the terms.
    They are float32, as in VW, and those that are 0 are left out. Of one namespace with itself, every choice is made
    once, whatever its order.

    spaces: by number of a feature, the first byte of its namespace. terms: int64 (terms, 3), the namespaces to
    multiply, sorted by the first, the third NONE for a product of two.
    """
    n_rows = len(starts) - 1
    rows = np.repeat(np.arange(n_rows), np.diff(starts))
    keys = rows * 256 + spaces[numbers]
    order = np.argsort(keys, kind="stable")  # features of one namespace of a row side by side
    keys, features, x = keys[order], numbers[order], values[order].astype(np.float32)
    groups, firsts = np.unique(keys, return_index=True)
    groups = groups[np.argsort(order[firsts])]  # the namespaces of each row, in order of occurrence
    term_begins = np.searchsorted(terms[:, 0], np.arange(257))
    group, term = _spread(term_begins[groups % 256], term_begins[groups % 256 + 1])
    row, spaces_of_term = groups[group] // 256, terms[term]
    begins, ends = (np.searchsorted(keys, row[:, None] * 256 + spaces_of_term, side) for side in ("left", "right"))
    is_pair = spaces_of_term[:, 2] == NONE
    begins[is_pair, 2], ends[is_pair, 2] = 0, 1  # one choice of a third feature, which does not count
    counts = np.bincount(row, _count_choices(spaces_of_term, ends - begins), n_rows)
    item = np.flatnonzero(counts[row] <= max_per_row)
    owner, j = _spread(begins[item, 0], ends[item, 0])
    item = item[owner]
    is_same = spaces_of_term[:, 1:] == spaces_of_term[:, :-1]  # then choices begin with the feature before
    owner, k = _spread(np.where(is_same[item, 0], j, begins[item, 1]), ends[item, 1])
    item, j = item[owner], j[owner]
    owner, m = _spread(np.where(is_same[item, 1], k, begins[item, 2]), ends[item, 2])
    item, j, k = item[owner], j[owner], k[owner]
    with np.errstate(over="ignore"):
        products = x[j] * x[k]
        products = np.where(is_pair[item], products, products * x[m])
    made = np.flatnonzero(products)
    item, j, k, m, products = (part[made] for part in (item, j, k, m, products))
    third = np.where(is_pair[item], NONE, features[m])
    unused = np.full(len(numbers), NONE)
    parts = np.concatenate([np.stack([numbers, unused, unused], 1), np.stack([features[j], features[k], third], 1)])
    rows = np.concatenate([rows, row[item]])
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
    return InteractingRows(starts, parts[order].astype(np.int32), np.concatenate([values, products])[order], counts)


def _count_choices(spaces: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return how many features each interaction makes, as float64: there may be very many. sizes: of its namespaces."""
    (a, b, c), (x, y, z) = spaces.T, sizes.T.astype(np.float64)
    pairs = np.where(a == b, x * (x + 1) / 2, x * y)
    return np.where(b != c, pairs * z, np.where(a == b, x * (x + 1) * (x + 2) / 6, x * y * (y + 1) / 2))


def _spread(begins: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return every number of the ranges from begins[i] up to ends[i], with the i that it is of."""
    sizes = ends - begins
    owners = np.repeat(np.arange(len(sizes)), sizes)
    return owners, np.arange(len(owners)) - (np.cumsum(sizes) - sizes - begins)[owners]


def hash_parts(hashes: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return uint32 (entries,): the hashes of features and interactions. hashes: of the features that are parts."""
    hashes = hashes.astype(np.uint64)
    result = hashes[parts[:, 0]]
    for part in parts.T[1:]:
        result = np.where(part == NONE, result, result * PRIME ^ hashes[part])
    return result.astype(np.uint32)


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
