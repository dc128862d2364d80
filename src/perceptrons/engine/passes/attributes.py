"""From columns of tokens to features, by templates: every combination of values gets a number.

Given: what each view sees in each token, as a number. `sequence/templates.py` computes it once per distinct word.
Changed: a hash table with open addressing. keys (slots, 2) hold 128 bits: the template and up to four values; a first
half of 0 marks an empty slot. numbers (slots,) hold the number of the feature, counted from 0; or, while a feature is
too rare to count, how often it was seen, as -1, -2, ... The secret of `hashing.py` places the keys.
Returned: the features of every token, as columns and ends of a CSR matrix.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.hashing import mixed, stirred
from perceptrons.engine.rows import touch

PARTS = 4  # values that a template may combine
VALUE_BITS = 26  # for a value in a key: 67 million words
SLOTS_PER_ENTRY = 2  # at least
NO_VALUE = -1  # where a view sees nothing, such as a suffix longer than the word
FIND, COUNT, NUMBER, HASH = range(4)  # find known features; count all; number those seen often enough; hash


class Templates(NamedTuple):
    views: np.ndarray  # (templates, PARTS): the view of each part, -1 for no part
    offsets: np.ndarray  # (templates, PARTS): the token of each part, relative to the one that is labelled
    codes: np.ndarray  # (templates,): 1, 2, ...; for hashing a hash of the template


class FeatureTable(NamedTuple):
    keys: np.ndarray
    numbers: np.ndarray
    counts: np.ndarray  # (numbered features, entries of the table)
    secret: int


class Lookup(NamedTuple):
    mode: int  # FIND, COUNT, NUMBER or HASH
    min_count: int  # NUMBER: how often a feature must have been counted
    mask: int  # HASH: the number of columns minus 1


class Views(NamedTuple):
    """View v sees values[first[v] + codes[column[v], t]] in token t."""

    codes: np.ndarray  # (columns, tokens): which distinct string of the column a token has
    column: np.ndarray  # (views,)
    first: np.ndarray  # (views,)
    values: np.ndarray


@inlined
def first_slot(keys, high, low, secret):
    """The slot where the search for a key begins."""
    return stirred(high ^ (low * secret), secret) & np.uint64(len(keys) - 1)


@inlined
def find_slot(keys, slot, high, low):
    """The slot of a key, or the empty slot where it belongs. The search begins at `slot`."""
    while keys[slot, 0] != 0 and (keys[slot, 0] != high or keys[slot, 1] != low):
        slot = (slot + np.uint64(1)) & np.uint64(len(keys) - 1)
    return slot


@compiled
def number_features(views, templates, starts, begin, table, lookup, columns, ends):
    """Write the features of every token, sequence by sequence from `begin` on.

    Changes columns (the features of all tokens), ends (where those of each token end; ends[0] is 0), and the table
    unless the mode is FIND or HASH. Returns the sequence before which the table must grow, or the number of sequences.
    """
    n_templates, mode = len(templates.codes), lookup.mode
    values = np.empty((1, len(views.first)), np.int64)
    keys = np.empty((2, n_templates, 3), np.uint64)  # for this token and the previous one: keys and first slots
    for i in range(begin, len(starts) - 1):
        first, n = starts[i], starts[i + 1] - starts[i]
        if mode in (COUNT, NUMBER) and SLOTS_PER_ENTRY * (table.counts[1] + n * n_templates) > len(table.keys):
            return i
        if n > len(values):
            values = np.empty((n, len(views.first)), np.int64)
        read_views(views, first, n, values)
        for t in range(n + 1):  # the slots of a token are prefetched while those of the previous one are searched
            if t < n:
                make_keys(values, t, n, templates, mode, table, keys[t % 2])
            if t > 0:
                ends[first + t] = add_features(keys[(t - 1) % 2], table, lookup, columns, ends[first + t - 1])
    return len(starts) - 1


@inner
def read_views(views, first, n, values):
    """values[t, v] = what view v sees in token t of the sequence."""
    for v in range(len(views.first)):
        codes, offset = views.codes[views.column[v]], views.first[v]
        for t in range(n):
            values[t, v] = views.values[offset + codes[first + t]]


@inner
def make_keys(values, t, n, templates, mode, table, keys):
    """Write the key of every template at token t, 0 where it has no value; for HASH 1 and the hash."""
    bits, secret = np.uint64(VALUE_BITS), np.uint64(table.secret)
    for k in range(len(templates.codes)):
        code, has_values = np.uint64(templates.codes[k]), True
        high, low, part = code << (bits + bits), np.uint64(0), 0
        while part < PARTS and templates.views[k, part] >= 0:
            token = t + templates.offsets[k, part]
            x = values[token, templates.views[k, part]] if 0 <= token < n else np.int64(NO_VALUE)
            if x < 0:
                has_values = False
                break
            if mode == HASH:
                code = mixed(code ^ np.uint64(x))
            elif part < 2:
                high |= np.uint64(x) << (np.uint64(1 - part) * bits)
            else:
                low |= np.uint64(x) << (np.uint64(3 - part) * bits)
            part += 1
        keys[k, 0], keys[k, 1] = high if has_values else np.uint64(0), low
        if mode == HASH:
            keys[k, 0], keys[k, 1] = np.uint64(has_values), mixed(code)
        elif has_values:
            keys[k, 2] = first_slot(table.keys, high, low, secret)
            touch(table.keys, keys[k, 2])
            touch(table.numbers, keys[k, 2])


@inner
def add_features(token_keys, table, lookup, columns, end):
    """Write the features of one token behind `end`. Returns where they end."""
    (keys, numbers, counts, _), (mode, min_count, mask) = table, lookup
    for k in range(len(token_keys)):
        high, low = token_keys[k, 0], token_keys[k, 1]
        if high == 0:
            continue
        if mode == HASH:
            columns[end] = np.int32(low & np.uint64(mask))
            end += 1
            continue
        slot = find_slot(keys, token_keys[k, 2], high, low)
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
            columns[end] = numbers[slot]
            end += 1
    return end


@compiled
def insert(keys, numbers, new_keys, new_numbers, secret):
    """Put entries into a table that has room for them. Changes keys and numbers."""
    for e in range(len(new_keys)):
        high, low = new_keys[e, 0], new_keys[e, 1]
        if high != 0:
            slot = find_slot(keys, first_slot(keys, high, low, np.uint64(secret)), high, low)
            keys[slot, 0], keys[slot, 1] = high, low
            numbers[slot] = new_numbers[e]
