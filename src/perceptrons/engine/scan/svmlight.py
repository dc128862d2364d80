"""svmlight text as rows: "label index:value index:value ... # comment" on every line. `data/svmlight.py` calls it.

A line may begin with its first pair: its label is then empty. Several labels, with commas between them, are one word.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.scan.bytes import leading_digits, load, value_of_digits
from perceptrons.engine.scan.numbers import BAD, OPEN, is_digit, number

NEWLINE, COLON, HASH, ZERO = 10, 58, 35, 48
INDEX_DIGITS = 19
LARGEST_NUMBER = 2**63 - 1
LARGEST = 1e100  # as data/table.py has it


class Found(NamedTuple):
    """Room for what a piece of text can hold at most; untouched memory costs nothing."""

    values: np.ndarray  # float64
    columns: np.ndarray  # int32 or int64: as written
    starts: np.ndarray  # int32 (rows + 1)
    labels: np.ndarray  # int64 (rows, 2): where each label begins and ends
    lines: np.ndarray  # int64 (rows,): from 0
    bad: np.ndarray  # int64 (lines, 3): number, begin and end of malformed lines
    opened: np.ndarray  # int64 (values, 3): values left to `float`: their place, and where they are written


WORD, SPACE, END = range(3)
KINDS = np.zeros(256, np.uint8)  # of a byte within a line: of a word, between words, or behind the last
KINDS[[9, 11, 12, 13, 32]] = SPACE
KINDS[[NEWLINE, HASH]] = END


@inlined
def is_query(content, p):
    """Is this a query id, which ranking wants and classification does not?"""
    return (
        content[p] == 113
        and content[p + np.uint64(1)] == 105
        and content[p + np.uint64(2)] == 100
        and content[p + np.uint64(3)] == COLON
    )


@compiled
def scan_svmlight(content, n_bytes, found):
    """Read all lines. The text is content[:n_bytes], ends with a newline, and has ROOM bytes behind it.

    Changes found; returns the numbers of lines, rows, values, bad lines and values left open. The first is -1 if an
    index needs more bits than columns have.
    """
    one, end, p = np.uint64(1), np.uint64(n_bytes), np.uint64(0)
    n_lines, rows, n, n_bad, n_open = 0, np.uint64(0), np.uint64(0), 0, 0
    narrow = found.columns.itemsize == 4
    values, columns, starts, labels, lines, bad, opened = found  # once: each access by name would count references
    starts[0] = 0
    while p < end:
        begin, sound, was, was_open = p, True, n, n_open
        while KINDS[content[p]] == SPACE:
            p += one
        label, labelled = p, True
        while KINDS[content[p]] == WORD:
            labelled = labelled and content[p] != COLON
            p += one
        if not labelled:
            p = label
        label_end = p
        while sound:
            while KINDS[content[p]] == SPACE:
                p += one
            if not is_digit(content[p]):  # one question for most words
                if KINDS[content[p]] == END:
                    break
                if not is_query(content, p):
                    sound = False
                while KINDS[content[p]] == WORD:
                    p += one
                continue
            word = load(content, p)
            width = leading_digits(word)
            index = value_of_digits(word, width) if width > 0 else np.uint64(0)
            p += width
            while is_digit(content[p]):
                index = index * np.uint64(10) + np.uint64(content[p] - ZERO)
                width += one
                p += one
            if width == 0 or width > INDEX_DIGITS or index > np.uint64(LARGEST_NUMBER) or content[p] != COLON:
                sound = False
                break
            if narrow and index >> np.uint64(31) != 0:
                return -1, 0, 0, 0, 0
            p += one
            value_begin = p
            value, p, how = number(content, p)
            if how == BAD or KINDS[content[p]] == WORD or not abs(value) <= LARGEST:
                sound = False
                break
            if how == OPEN:
                opened[n_open, 0], opened[n_open, 1], opened[n_open, 2] = n, value_begin, p
                n_open += 1
            values[n], columns[n] = value, np.int64(index)
            n += one
        while content[p] != NEWLINE:
            p += one
        if not sound:
            n, n_open = was, was_open
            bad[n_bad, 0], bad[n_bad, 1], bad[n_bad, 2] = n_lines, begin, p
            n_bad += 1
        elif label_end > label or not labelled:
            labels[rows, 0], labels[rows, 1], lines[rows] = label, label_end, n_lines
            rows += one
            starts[rows] = n
        p += one
        n_lines += 1
    return n_lines, np.int64(rows), np.int64(n), n_bad, n_open
