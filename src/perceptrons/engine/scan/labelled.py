"""Lines of text with their labels: fastText's "__label__x __label__y some text", or a label, a tab and a text.

`data/labelled.py` calls it, and says there what is wrong with a line.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.scan.bytes import load, not_utf8, trailing_zeros

U0, U1, U3, U8 = (np.uint64(n) for n in (0, 1, 3, 8))
ONES, HIGH_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
NEWLINE, TAB, SPACE, UNDERSCORE = 10, 9, 32, 95
PREFIX = np.frombuffer(b"__label__", np.uint8)
WIDTH = np.uint64(len(PREFIX))


class Found(NamedTuple):
    """Room for the lines of a piece of text."""

    labels: np.ndarray  # int64 (rows, 2): where each label begins and ends
    texts: np.ndarray  # int64 (rows, 2)
    lines: np.ndarray  # int64 (rows,): from 0
    bad: np.ndarray  # int64 (lines, 3): number, begin and end of malformed lines
    inside: np.ndarray  # int64 (rows, 4): begin and end of labels among words, their row, and is there a word between?


@inlined
def is_space(byte):
    """What separates words in fastText, the end of a line among it."""
    return byte == SPACE or 9 <= byte <= 13 or byte == 0


@inlined
def next_of(content, p, end, byte):
    """The first place from p on that has the byte; the end if there is none before it."""
    pattern = np.uint64(byte) * ONES
    while p < end:
        x = load(content, p) ^ pattern
        equal = (x - ONES) & ~x & HIGH_BITS
        if equal != U0:
            p += trailing_zeros(equal) >> U3
            break
        p += U8
    return min(p, end)


@inlined
def is_label(content, p, begin):
    """Does a word begin here, and as a label does?"""
    same = p == begin or is_space(content[p - U1])
    for i in range(len(PREFIX)):
        same = same and content[p + np.uint64(i)] == PREFIX[i]  # ends at a newline, behind which nothing is looked at
    return same


@inner
def find_labels(content, begin, end):
    """Words that begin as a label does: how many, where the first has its name, where the last ends.

    Also whether each has a name, and whether nothing but spaces is between them.
    """
    count, first, last, named, together = 0, begin, begin, True, True
    p = next_of(content, begin, end, UNDERSCORE)
    while p < end:
        if is_label(content, p, begin):
            p += WIDTH
            name = p
            while not is_space(content[p]):
                p += U1
            named = named and p > name
            if count == 0:
                first = name
            elif together:
                while is_space(content[last]) and last < name - WIDTH:
                    last += U1
                together = last == name - WIDTH
            last = p
            count += 1
        p = next_of(content, p + U1, end, UNDERSCORE)
    return count, first, last, named, together


@inner
def trimmed(content, begin, end):
    while begin < end and is_space(content[begin]):
        begin += U1
    while begin < end and is_space(content[end - U1]):
        end -= U1
    return begin, end


@compiled
def scan_labelled(content, n_bytes, in_words, need_tab, found):
    """Find labels and text of all lines. The text is content[:n_bytes], ends with a newline, and has ROOM bytes behind.

    in_words: labels are words that begin with __label__, else what stands before the first tab, which need_tab
    demands. Changes found, where labels are all that is from the first to the last, and empty if there is none; returns
    the numbers of lines, rows, bad lines, and labels inside.
    """
    limit, p = np.uint64(n_bytes), U0
    n_lines, rows, n_bad, n_inside = 0, U0, 0, 0
    labels, texts, lines, bad, inside = found
    while p < limit:
        line, newline = p, next_of(content, p, limit, NEWLINE)
        begin, end = trimmed(content, line, newline)
        p = newline + U1
        n_lines += 1
        if begin == end:
            continue
        sound = not_utf8(content, begin, end) == end
        label, label_end = begin, begin
        if in_words:
            count, label, label_end, named, together = find_labels(content, begin, end)
            sound = sound and named
            if count > 0:
                if together and label - WIDTH == begin:
                    begin = label_end
                elif together and label_end == end:
                    end = label - WIDTH
                elif sound:
                    inside[n_inside, 0], inside[n_inside, 1] = label - WIDTH, label_end
                    inside[n_inside, 2], inside[n_inside, 3] = rows, not together
                    n_inside += 1
        else:
            tab = next_of(content, line, newline, TAB)
            if tab < newline:
                label, label_end = trimmed(content, line, tab)
                begin, end = tab + U1, max(end, tab + U1)
            sound = sound and (tab < newline or not need_tab)
        if sound:
            labels[rows, 0], labels[rows, 1] = label, label_end
            texts[rows, 0], texts[rows, 1] = begin, end
            lines[rows] = n_lines - 1
            rows += U1
        else:
            bad[n_bad, 0], bad[n_bad, 1], bad[n_bad, 2] = n_lines - 1, line, newline
            n_bad += 1
    return n_lines, np.int64(rows), n_bad, n_inside
