"""Texts to features: words in lower case, their n-grams and those of their characters, each with a number.

A row is first made clean: its words in lower case, one space before, between and behind them. Every n-gram of words,
and every n-gram of the characters of a padded word, is then a part of the clean text, and looked up as it lies there.
"""

import re
from functools import cache
from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.scan.bytes import ROOM, load
from perceptrons.engine.scan.name_table import LOWER, U0, U1, U7, U8, U32, insert, key_of, short_key, slot_of

LIMIT = 0x40000  # no code point from here on is of a word
SPACE, MARK = np.uint8(32), np.uint8(1)  # MARK: the first byte of the name of an n-gram of characters
BEFORE = np.uint64(2)  # where the first word begins in a clean text: a byte for MARK and a space are before it


@cache
def folded(lowercase: bool) -> np.ndarray:
    """For every code point below LIMIT what it becomes in a word, as Python has it; SPACE where it is of no word.

    Lower case is that of the character by itself, and its first code point if it has several (as that of U+0130).
    """
    points = np.arange(LIMIT, dtype=np.uint32)
    points[0xD800:0xE000] = SPACE  # surrogates
    text = points.tobytes().decode("utf-32-le")
    table = np.full(LIMIT, SPACE, np.uint32)
    lower = text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower() if lowercase else text
    lower_points = np.frombuffer(lower.encode("utf-32-le"), np.uint32)
    for run in re.finditer(r"\w+", text):
        table[run.start() : run.end()] = lower_points[run.start() : run.end()]
    table.flags.writeable = False
    return table


class Rule(NamedTuple):
    """How texts are cut: n-grams of `low` to `high` words or characters; none if `high` is 0."""

    word_low: int
    word_high: int
    char_low: int
    char_high: int
    folded: np.ndarray  # uint32: what a code point becomes in a word, SPACE where it is of none


class Clean(NamedTuple):
    """A clean text. A word begins one behind the end of that before, the first at BEFORE."""

    text: np.ndarray  # uint8; room_for(bytes of the raw text)
    ends: np.ndarray  # int64: where words end


class Entries(NamedTuple):
    """Rows of numbers; each stands once in a row, with how often it came."""

    starts: np.ndarray  # int64 (rows + 1,)
    numbers: np.ndarray  # int32
    counts: np.ndarray  # int32


def room_for(n: int) -> tuple[int, int]:
    """Bytes and words of the clean text of n bytes at most. Two bytes may become three (U+023A)."""
    return n + n // 2 + 3 + ROOM, n // 2 + 2


@compiled
def cut(content, begin, end, row, rule, table, clean, entries):
    """Features of the texts content[begin[i]:end[i]], row by row from `row` on.

    Changes the table, the clean text and the entries. Returns the row for which there was no room in the table or the
    entries, or that behind the last, and how many entries there were then.
    """
    starts, room = entries.starts, True
    e, i = np.uint64(starts[row]), np.uint64(row)
    while room and i < np.uint64(len(begin)):
        n = clean_row(content, np.uint64(begin[i]), np.uint64(end[i]), rule.folded, clean.text, clean.ends)
        e, room = word_grams(n, rule, table, clean, entries, e)
        if room and rule.char_high > 0:
            e, room = char_grams(n, rule, table, clean, entries, np.uint64(starts[i]), e)
        if room:
            i += U1
            starts[i] = np.int64(e)
    return np.int64(i), np.int64(e)


@inlined
def clean_row(content, p, end, folded, text, ends):
    """Make content[p:end] clean. Returns how many words there are."""
    text[U1] = SPACE
    at, word, inside = BEFORE, U0, U0
    while p < end:
        point, width, ends[word] = np.uint32(content[p]), U1, np.int64(at)  # the end stays if the word ends here
        if point < np.uint32(128):
            low = folded[np.uint64(point)]
            of_word = np.uint64(low != np.uint32(SPACE))
            text[at] = np.uint8(low)
            at += inside | of_word  # a space behind a space is written over
        else:
            point, width = decoded(content, p, end)
            low = folded[np.uint64(point)] if point < np.uint32(len(folded)) else np.uint32(SPACE)
            of_word = np.uint64(low != np.uint32(SPACE))
            text[at] = SPACE
            at = encode(low, text, at) if of_word else at + inside
        word += inside & ~of_word
        inside = of_word
        p += width
    text[at] = SPACE
    ends[word] = np.int64(at)
    return word + inside


@inlined
def decoded(content, p, end):
    """The code point that begins at p, from 128 on, and its bytes; what is no UTF-8 is a space, byte by byte."""
    a, point, width = np.uint32(content[p]), np.uint32(SPACE), U1
    n = U1 + np.uint64(a >= 0xC2) + np.uint64(a >= 0xE0) + np.uint64(a >= 0xF0)
    if n > U1 and p + n <= end and a < 0xF5:
        b = np.uint32(content[p + U1])
        sound = b >> np.uint32(6) == 2
        x = ((a & (np.uint32(0x7F) >> np.uint32(n))) << np.uint32(6)) | (b & np.uint32(63))
        for i in range(np.uint64(2), n):
            b = np.uint32(content[p + i])
            sound = sound and b >> np.uint32(6) == 2
            x = (x << np.uint32(6)) | (b & np.uint32(63))
        shortest = np.uint32(0x80) if n == 2 else np.uint32(0x800) if n == 3 else np.uint32(0x10000)
        if sound and x >= shortest and x < 0x110000 and x >> np.uint32(11) != 0x1B:  # 0xD800 to 0xDFFF: surrogates
            point, width = x, n
    return point, width


@inlined
def encode(point, text, at):
    """Write a code point; returns where it ends."""
    n = U1 + np.uint64(point >= 0x80) + np.uint64(point >= 0x800) + np.uint64(point >= 0x10000)
    for i in range(n - U1):
        text[at + n - U1 - np.uint64(i)] = np.uint8(0x80 | (point & np.uint32(63)))
        point >>= np.uint32(6)
    text[at] = np.uint8(point) if n == U1 else np.uint8((0xF00 >> n) & 0xFF) | np.uint8(point)
    return at + n


@inlined
def enter(slots, slot, numbers, counts, first, e):
    """Count the name in this slot for the row whose entries begin at `first`. Returns how many entries there are."""
    note = slots[slot, U1]
    place = note & LOWER  # one behind its last entry
    old = U0 - np.uint64(place > first)  # all bits or none: a branch would be guessed wrongly every fourth time
    at = (e & ~old) | ((place - U1) & old)
    numbers[at] = np.int32(note >> U32)
    counts[at] = np.int32(1) + (counts[at] & np.int32(old))
    slots[slot, U1] = (note ^ place) | (at + U1)
    return e + U1 + old


@inlined
def word_grams(n, rule, table, clean, entries, e):
    """Enter all n-grams of the n words of a clean text. Returns how many entries there are, and if there was room."""
    slots, keys, ends, arena, used = table
    text, word_ends = clean
    secret = np.uint64(used[1])
    numbers, counts, first = entries.numbers, entries.counts, e
    room = True
    for size in range(np.uint64(rule.word_low), np.uint64(rule.word_high) + U1):
        a = BEFORE
        for last in range(size - U1, n):
            b = np.uint64(word_ends[last])
            key = key_of(text, a, b, secret)
            slot = slot_of(slots, key, ends, arena, text, a, b, secret)
            room = room and e < np.uint64(len(numbers))
            if slots[slot, U0] == U0 and room:
                room = insert(slots, slot, key, keys, ends, arena, used, text, a, b)
            if room:
                e = enter(slots, slot, numbers, counts, first, e)
            a = np.uint64(word_ends[last + U1 - size]) + U1
    return e, room


@inlined
def char_grams(n, rule, table, clean, entries, first, e):
    """Enter all n-grams of characters of the n words, each with a space before and behind it."""
    slots, keys, ends, arena, used = table
    text, word_ends = clean
    secret = np.uint64(used[1])
    numbers, counts = entries.numbers, entries.counts
    room, begin = True, BEFORE - U1
    for word in range(n):
        end = np.uint64(word_ends[word]) + U1
        size, whole = np.uint64(rule.char_low), False
        while size <= np.uint64(rule.char_high) and not whole:
            a, b, chars = begin, begin, U0
            while b < end and chars < size:
                b, chars = b + width_of(text[b]), chars + U1
            whole, more = b == end, b <= end  # a short word gives itself, once
            while more:
                key, before = short_key((load(text, a) << U8) | U1, b - a + U1), text[a - U1]
                if b - a >= U7:
                    text[a - U1] = MARK
                    key = key_of(text, a - U1, b, secret)
                slot = slot_of(slots, key, ends, arena, text, a - U1, b, secret)
                room = room and e < np.uint64(len(numbers))
                if slots[slot, U0] == U0 and room:
                    text[a - U1] = MARK
                    room = insert(slots, slot, key, keys, ends, arena, used, text, a - U1, b)
                if room:
                    e = enter(slots, slot, numbers, counts, first, e)
                if text[a - U1] != before:
                    text[a - U1] = before
                more = b < end
                if more:
                    a, b = a + width_of(text[a]), b + width_of(text[b])
            size += U1
        begin = end - U1
    return e, room


@inlined
def width_of(byte):
    """The bytes of the character that begins with this one."""
    return U1 + np.uint64(byte >= 0xC0) + np.uint64(byte >= 0xE0) + np.uint64(byte >= 0xF0)


@compiled
def add_up(numbers, counts, totals):
    """totals[k] += how often number k came."""
    for e in range(np.uint64(len(numbers))):
        totals[np.uint64(numbers[e])] += counts[e]
