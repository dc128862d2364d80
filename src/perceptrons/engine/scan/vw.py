"""Vowpal Wabbit's text as rows: "[label [importance [base]]] ['tag]|namespace[:scale] feature[:value] ..." a line.

A line that VW would read only in part, or of which it would take a word for 0, is bad. `data/vw.py` calls it.

The name of a feature tells the hash that VW gives it (its --hash strings): "namespace^feature" or, in the default
namespace, "feature", with "^" before it if it has one. A "^" of a namespace is written "|", which no name has. Behind
the feature stands, if its value is a word, ":" and the value; a feature without a name is ":" and its number among
those of its namespace.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.hashing import murmur3_32
from perceptrons.engine.scan.numbers import (
    BAD,
    CASE,
    DIGITS,
    LETTER_E,
    MINUS,
    OPEN,
    POINT,
    READ,
    SPACE,
    ZERO,
    is_digit,
    number,
)

U0, U1, U10 = np.uint64(0), np.uint64(1), np.uint64(10)
COLON, CARET, BAR = 58, 94, 124
NEWLINE, RETURN, TAB, APOSTROPHE, UNDERSCORE, DELETE = 10, 13, 9, 39, 95, 127
LETTER_A, LETTER_F, LETTER_I, LETTER_N, LETTER_Z = (ord(letter) for letter in "afinz")
LARGEST = 1e13  # of float32, as data/npz.py has it
LONGEST_NAMESPACE = 255  # bytes: names of features have it before them, so that long ones would fill the memory
DIGITS_AND_MARKS = np.uint64(24)  # bytes at most of what a name has beside its text
FULL = 3  # there is no room; how else it may go is in `scan/numbers.py`
ORDINARY, OF_NAMESPACES, ENDS = 0, 1, 2  # bytes: "^" sets off a namespace in names; some end a name
KINDS = np.zeros(256, np.uint8)
KINDS[CARET] = OF_NAMESPACES
for _byte in (NEWLINE, RETURN, SPACE, TAB, BAR, COLON):
    KINDS[_byte] = ENDS


class Found(NamedTuple):
    """Room for what a piece of text can hold at most; untouched memory costs nothing."""

    values: np.ndarray  # float64
    ends: np.ndarray  # int64 (values + 1): name e is names[ends[e]:ends[e + 1]]
    names: np.ndarray  # uint8: of the features
    prefix: np.ndarray  # uint8: "namespace^"
    starts: np.ndarray  # int64 (rows + 1)
    labels: np.ndarray  # int64 (rows, 2): where each label begins and ends
    weights: np.ndarray  # float64 (rows,)
    lines: np.ndarray  # int64 (rows,): from 0
    bad: np.ndarray  # int64 (lines, 3): number, begin and end of malformed lines


@inlined
def is_gap(byte):
    return byte in (SPACE, TAB)


@inlined
def ends_word(byte):
    """Does a word behind a colon end here?"""
    return KINDS[byte] == ENDS and byte != COLON


@inner
def behind_returns(content, p):
    while content[p] == RETURN:
        p += U1
    return p


@inner
def rough(content, p, end):
    """The number written in content[p:end], which `number` leaves open; its last bits do not matter to float32."""
    negative, digits, count, power, point = content[p] == MINUS, 0.0, np.int64(0), np.int64(0), False
    while p < end and content[p] | CASE != LETTER_E:
        if content[p] == POINT:
            point = True
        elif is_digit(content[p]):
            if count < DIGITS:
                digits = digits * 10.0 + np.float64(content[p] - ZERO)
                count += np.int64(digits > 0)
                power -= np.int64(point)
            else:
                power += np.int64(not point)
        p += U1
    written, minus = np.int64(0), False
    while p < end:
        minus = minus or content[p] == MINUS
        if is_digit(content[p]):
            written = min(written * 10 + np.int64(content[p] - ZERO), np.int64(1_000_000))
        p += U1
    power += -written if minus else written
    if digits == 0:
        return 0.0
    if power + count < -300:
        value = 1e-300  # no float32, but not 0
    else:
        value = np.inf if power + count > 300 else digits * 10.0 ** (power / 2) * 10.0 ** (power - power / 2)
    return -value if negative else value


@inner
def plain_number(content, p, end):
    """The number that content[p:end] is; NaN if it is none."""
    value, behind, how = number(content, p)
    if how == BAD or behind != end:
        return np.nan
    return rough(content, p, end) if how == OPEN else value


@inner
def word_end(content, p):
    """The place behind a value that is a word, p itself if it is none, or not for VW: it reads "nano" as NaN and
    something behind it, "e5" as 0, and takes a "|" for a part of the word."""
    begin, letter = p, content[p] | CASE
    if not (LETTER_A <= letter <= LETTER_Z or content[p] == UNDERSCORE or content[p] >= 128):
        return p
    while not ends_word(content[p]):
        p += U1
    if content[p] == BAR:
        return begin
    second, third = content[begin + U1] | CASE, content[begin + U1 + U1] | CASE
    if letter == LETTER_N and second == LETTER_A and third == LETTER_N:
        return begin
    if letter == LETTER_I and second == LETTER_N and third == LETTER_F:
        return begin
    if letter == LETTER_E:
        q = begin + U1
        if content[q] == MINUS:
            q += U1
        while is_digit(content[q]):
            q += U1
        if q == p:
            return begin
    return p


@inner
def scan_head(content, p, row, labels, weights, least_weight, most_weight):
    """Read what stands before the first "|". Returns its place, whether it is sound, and the number of words that are
    no tag: label, importance, base."""
    words, sound = 0, True
    labels[row, 0] = labels[row, 1] = p
    weights[row] = 1.0
    while True:
        while content[p] == SPACE:
            p += U1
        if ends_word(content[p]):
            break
        begin, plain = p, True
        while not ends_word(content[p]):
            plain = plain and content[p] > SPACE and content[p] != COLON and content[p] != DELETE
            p += U1
        end = p
        if content[end] == BAR:
            break  # a word that touches it is a tag
        while content[p] == SPACE:
            p += U1
        if content[begin] == APOSTROPHE and content[p] == BAR:
            break
        if words == 0:
            labels[row, 0], labels[row, 1] = begin, end
            sound = plain
        else:
            value = plain_number(content, begin, end)
            if words == 1:
                weights[row] = abs(value)
                sound = sound and (value == 0 or least_weight <= value <= most_weight)
            else:
                sound = sound and words == 2 and value == 0.0
        words += 1
    return p, sound and content[p] == BAR, words


@inner
def scan_namespace(content, p, prefix):
    """Read a namespace and its scale from p, behind the "|", on. Changes prefix; returns the place behind them, the
    bytes of the prefix, the scale, and whether they are sound."""
    begin, scale = p, 1.0
    while KINDS[content[p]] != ENDS:
        p += U1
    width = p - begin
    sound = width <= LONGEST_NAMESPACE and (width > U0 or content[p] != COLON)
    if sound and width > U0:
        for i in range(width):
            byte = content[begin + i]
            prefix[i] = BAR if byte == CARET else byte
        prefix[width] = CARET
        width += U1
    if content[p] == COLON:
        begin = p + U1
        while not ends_word(content[p]):
            p += U1
        scale = plain_number(content, begin, p)
        sound = sound and abs(scale) <= LARGEST
    return p, width, scale, sound


@inner
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


@inner
def scan_features(content, p, width, scale, n, found):
    """Read features from p on, up to the next "|" or the end of the line; the n-th and so on that are found.

    Changes found, of which prefix[:width] stands before names. Returns the place behind them, the number of features
    found by then, and a status.
    """
    values, ends, names, prefix = found.values, found.ends, found.names, found.prefix
    at, unnamed = np.uint64(ends[n]), U0
    while True:
        while is_gap(content[p]):
            p += U1
        if ends_word(content[p]):
            return p, n, READ
        begin, value, caret = p, scale, ORDINARY
        while KINDS[content[p]] != ENDS:
            caret |= KINDS[content[p]]
            p += U1
        end = p
        if content[p] == COLON:
            p += U1
            written, behind, how = number(content, p)
            if how != BAD and ends_word(content[behind]):
                value *= rough(content, p, behind) if how == OPEN else written
                p = behind
                unnamed += np.uint64(end == begin)
            else:
                behind, value = word_end(content, p), 1.0
                if behind == p:
                    return p, n, BAD
                while p < behind:
                    caret |= KINDS[content[p]] & OF_NAMESPACES
                    p += U1
                end = p
        if not abs(value) <= LARGEST:
            return p, n, BAD
        if np.float32(value) == 0:
            continue
        if at + width + (end - begin) + DIGITS_AND_MARKS > np.uint64(len(names)):
            return p, n, FULL
        for i in range(width):
            names[at] = prefix[i]
            at += U1
        if width == U0 and caret != ORDINARY:
            names[at] = CARET
            at += U1
        for i in range(begin, end):
            names[at] = content[i]
            at += U1
        if end == begin:
            at = write_number(names, at, unnamed - U1)
        values[n] = value
        n += U1
        ends[n] = at


@compiled
def scan_vw(content, n_bytes, least_weight, most_weight, found):
    """Read all lines. The text is content[:n_bytes], ends with a newline, and has ROOM bytes behind it.

    Changes found, where a label that is missing is empty; returns the numbers of lines, rows, values, bad lines and
    rows with an importance. The number of values is -1 if there is no room for the names.
    """
    limit, p = np.uint64(n_bytes), U0
    n_lines, rows, n, n_bad, n_weighted = 0, U0, U0, 0, 0
    starts, labels, weights, lines, bad = found.starts, found.labels, found.weights, found.lines, found.bad
    starts[0] = found.ends[0] = 0
    while p < limit:
        line, was = p, n
        while is_gap(content[p]):
            p += U1
        p = behind_returns(content, p)
        if content[p] == NEWLINE:
            p += U1
            n_lines += 1
            continue
        p, sound, words = scan_head(content, line, rows, labels, weights, least_weight, most_weight)
        while sound and content[p] == BAR:
            p, width, scale, sound = scan_namespace(content, p + U1, found.prefix)
            if sound:
                p, n, how = scan_features(content, p, width, scale, n, found)
                if how == FULL:
                    return n_lines, 0, -1, 0, 0
                sound = how == READ
        p = behind_returns(content, p)
        sound = sound and content[p] == NEWLINE
        while content[p] != NEWLINE:
            p += U1
        if sound:
            n_weighted += words > 1
            lines[rows] = n_lines
            rows += U1
            starts[rows] = n
        else:
            n = was
            bad[n_bad, 0], bad[n_bad, 1], bad[n_bad, 2] = n_lines, line, p
            n_bad += 1
        p += U1
        n_lines += 1
    return n_lines, np.int64(rows), np.int64(n), n_bad, n_weighted


@inner
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
