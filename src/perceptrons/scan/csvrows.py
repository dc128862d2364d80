"""Rows of comma-separated text whose cells are plain: numbers at once, of other cells where they lie.

What is not plain, as a cell that should be a number and is none, ends the scan; `data/csvtable.py` then goes on.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.rows import compiled, inlined
from perceptrons.scan.numbers import BAD, OPEN, number

NEWLINE, RETURN, QUOTE, SPACE, TAB = 10, 13, 34, 32, 9
UNUSED = -1
LARGEST = 1e100  # as data/table.py has it


class Found(NamedTuple):
    """Room for the rows of a piece."""

    values: np.ndarray  # float64 (rows, numbers)
    begins: np.ndarray  # int64 (other columns, rows): where cells begin and end, without their quotes
    ends: np.ndarray
    lines: np.ndarray  # int64 (rows,): where each row begins
    opened: np.ndarray  # int64 (numbers, 4): numbers left to `float`: row, column, and where they are written


@inlined
def is_blank(byte):
    return byte in (SPACE, TAB)


@compiled
def unquote(content, p, end):
    """Read the cell whose first quote is at p, and make one quote of every two in it.

    Changes content; returns where the text ends, the place behind the last quote, 0 if there is none, and the newlines.
    """
    one = np.uint64(1)
    p += one
    last, newlines = p, 0
    while p < end:
        byte = content[p]
        p += one
        if byte == QUOTE:
            if content[p] != QUOTE:
                return last, p, newlines
            p += one
        newlines += byte == NEWLINE
        content[last] = byte
        last += one
    return last, np.uint64(0), newlines


@compiled
def scan_rows(content, begin, n_bytes, line, delimiter, targets, found):
    """Read all rows of content[begin:n_bytes], which ends with a newline and has ROOM bytes behind it.

    targets: for each column of the file that of `values` it belongs to, UNUSED, or UNUSED - 1 - k for other column k.
    line: that of the beginning. Changes found, and content where quotes are doubled; returns the numbers of rows, of
    lines up to the end, and of numbers left open; rows are -1 if a row is not plain.
    """
    one, p, end = np.uint64(1), np.uint64(begin), np.uint64(n_bytes)
    values, begins, ends, lines, opened = found  # once: each access by name would count references
    width, row, n_open = np.uint64(len(targets)), np.uint64(0), 0
    while p < end:
        start = p
        while is_blank(content[p]) and content[p] != delimiter:
            p += one
        if content[p] == NEWLINE or content[p] == RETURN:  # an empty line
            if width == one and p > start:
                return -1, line, n_open
            p += one + np.uint64(content[p] == RETURN and content[p + one] == NEWLINE and p + one < end)
            line += 1
            continue
        if row == np.uint64(len(lines)):
            return -1, line, n_open
        p, lines[row] = start, line
        for place in range(width):
            target = targets[place]
            if target >= 0:
                while is_blank(content[p]) and content[p] != delimiter:
                    p += one
                first = p
                value, p, how = number(content, p)
                if how == BAD or not abs(value) <= LARGEST:
                    return -1, line, n_open
                if how == OPEN:
                    if n_open == len(opened):
                        return -1, line, n_open
                    opened[n_open, 0], opened[n_open, 1], opened[n_open, 2], opened[n_open, 3] = row, target, first, p
                    n_open += 1
                values[row, target] = value
                while is_blank(content[p]) and content[p] != delimiter:
                    p += one
            else:
                first = p
                if content[p] == QUOTE:
                    last, p, newlines = unquote(content, first, end)
                    if p == 0:
                        return -1, line, n_open
                    first += one
                    line += newlines
                else:
                    while content[p] != delimiter and content[p] != NEWLINE and content[p] != RETURN:
                        p += one
                    last = p
                if target < UNUSED:
                    begins[UNUSED - 1 - target, row], ends[UNUSED - 1 - target, row] = first, last
            if place + one < width:
                if content[p] != delimiter:
                    return -1, line, n_open
                p += one
        if content[p] == RETURN:
            p += one + np.uint64(content[p + one] == NEWLINE and p + one < end)
        elif content[p] == NEWLINE:
            p += one
        else:
            return -1, line, n_open
        line += 1
        row += one
    return np.int64(row), line, n_open
