"""From columns of tokens to features, by templates: each combination of values has a number, found in a hash table.

Values are numbers here: what a token's word, suffix or shape is, `sequence/template_grammar.py` has found out once for
every distinct word. A table has keys (slots, 2) of 64 bits and numbers (slots,): the number of the feature from 0 on,
or how often it was seen so far, as -1, -2, ..., while that is too seldom to count. A slot with a first key of 0 is
empty. The secret that places them (`hashing.py`) goes with the table.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.hashing import mixed, stirred
from perceptrons.engine.rows import touch

PARTS = 4  # values that a template may combine
VALUE_BITS = 26  # of a value in a key: 67 million words
LOAD = 2  # slots for each entry at least
NEITHER = -1  # the value of a token that has none, as a suffix longer than the word
FIND, COUNT, NUMBER, HASH = range(4)  # known features only; count all; number those seen often enough; hash


class Templates(NamedTuple):
    looks: np.ndarray  # (templates, PARTS): which view of a token each part is of, -1 for no part
    offset: np.ndarray  # (templates, PARTS): of which token, relative to the one that is labelled
    code: np.ndarray  # (templates,): from 1 on; for hashing a hash of the template


class FeatureTable(NamedTuple):
    """See above. counts: (numbered features, entries of the table), both kept up to date."""

    keys: np.ndarray
    numbers: np.ndarray
    counts: np.ndarray
    secret: int


class Lookup(NamedTuple):
    mode: int  # FIND, COUNT, NUMBER or HASH
    min_count: int  # NUMBER: how often a feature must have been counted
    mask: int  # HASH: the columns less 1


class Views(NamedTuple):
    """Values of views: that of view v for token t is values[first[v] + codes[column[v], t]]."""

    codes: np.ndarray  # (columns, tokens): which distinct string of the column a token has
    column: np.ndarray  # (views,)
    first: np.ndarray  # (views,)
    values: np.ndarray


@inlined
def home_of(keys, high, low, secret):
    """The slot where the search for a key begins."""
    return stirred(high ^ (low * secret), secret) & np.uint64(len(keys) - 1)


@inlined
def slot_of(keys, slot, high, low):
    """The slot of a key, or the empty one where it belongs; slot: where to begin."""
    while keys[slot, 0] != 0 and (keys[slot, 0] != high or keys[slot, 1] != low):
        slot = (slot + np.uint64(1)) & np.uint64(len(keys) - 1)
    return slot


@compiled
def attributes(views, templates, starts, begin, table, lookup, columns, ends):
    """The features of every token, sequence by sequence from `begin` on.

    Changes the table unless mode is FIND or HASH, columns (the features of all tokens) and ends (where those of each
    token end in it; ends[0] is 0). Returns the sequence before which the table has to grow, or that behind the last.
    """
    n_templates, mode = len(templates.code), lookup.mode
    value = np.empty((1, len(views.first)), np.int64)
    wanted = np.empty((2, n_templates, 3), np.uint64)  # keys of this token and the one before, and where to begin
    for i in range(begin, len(starts) - 1):
        first, n = starts[i], starts[i + 1] - starts[i]
        if mode in (COUNT, NUMBER) and LOAD * (table.counts[1] + n * n_templates) > len(table.keys):
            return i
        if n > len(value):
            value = np.empty((n, len(views.first)), np.int64)
        look_up(views, first, n, value)
        for t in range(n + 1):  # a token's slots come nearer while those of the one before are searched
            if t < n:
                want(value, t, n, templates, mode, table, wanted[t % 2])
            if t > 0:
                ends[first + t] = take(wanted[(t - 1) % 2], table, lookup, columns, ends[first + t - 1])
    return len(starts) - 1


@inner
def look_up(views, first, n, value):
    """value[t, v]: what view v sees in token t of the sequence."""
    for v in range(len(views.first)):
        codes, offset = views.codes[views.column[v]], views.first[v]
        for t in range(n):
            value[t, v] = views.values[offset + codes[first + t]]


@inner
def want(value, t, n, templates, mode, table, wanted):
    """The key of every template at token t, 0 where it has no value; for HASH the hash itself."""
    bits, keys, numbers, secret = np.uint64(VALUE_BITS), table.keys, table.numbers, table.secret
    for k in range(len(templates.code)):
        code, there = np.uint64(templates.code[k]), True
        high, low, part = code << (bits + bits), np.uint64(0), 0
        while part < PARTS and templates.looks[k, part] >= 0:
            at = t + templates.offset[k, part]
            x = value[at, templates.looks[k, part]] if 0 <= at < n else np.int64(NEITHER)
            if x < 0:
                there = False
                break
            if mode == HASH:
                code = mixed(code ^ np.uint64(x))
            elif part < 2:
                high |= np.uint64(x) << (np.uint64(1 - part) * bits)
            else:
                low |= np.uint64(x) << (np.uint64(3 - part) * bits)
            part += 1
        wanted[k, 0], wanted[k, 1] = high if there else np.uint64(0), low
        if mode == HASH:
            wanted[k, 0], wanted[k, 1] = np.uint64(there), mixed(code)
        elif there:
            wanted[k, 2] = home_of(keys, high, low, np.uint64(secret))
            touch(keys, wanted[k, 2])
            touch(numbers, wanted[k, 2])


@inner
def take(wanted, table, lookup, columns, place):
    """Write the features that one token wants, from place on; returns where they end."""
    (keys, numbers, counts, _), (mode, min_count, mask) = table, lookup
    for k in range(len(wanted)):
        high, low = wanted[k, 0], wanted[k, 1]
        if high == 0:
            continue
        if mode == HASH:
            columns[place] = np.int32(low & np.uint64(mask))
            place += 1
            continue
        slot = slot_of(keys, wanted[k, 2], high, low)
        if keys[slot, 0] == 0:
            if mode == FIND:
                continue
            keys[slot, 0], keys[slot, 1] = high, low
            numbers[slot] = -1
            counts[1] += 1
        elif mode == COUNT and numbers[slot] < 0:
            numbers[slot] -= 1
        if mode == NUMBER and numbers[slot] < 0 and -numbers[slot] >= min_count:
            numbers[slot] = counts[0]
            counts[0] += 1
        if mode != COUNT and numbers[slot] >= 0:
            columns[place] = numbers[slot]
            place += 1
    return place


@compiled
def insert(keys, numbers, new_keys, new_numbers, secret):
    """Put entries into a table that has room for them."""
    for e in range(len(new_keys)):
        high, low = new_keys[e, 0], new_keys[e, 1]
        if high != 0:
            slot = slot_of(keys, home_of(keys, high, low, np.uint64(secret)), high, low)
            keys[slot, 0], keys[slot, 1] = high, low
            numbers[slot] = new_numbers[e]
