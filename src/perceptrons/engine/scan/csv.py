"""Rows of comma-separated text whose cells are plain: numbers at once, of other cells where they lie.

A row that is not plain ends the scan, for example if a cell that should be a number is not one. `data/csv.py` reads
that row and continues after it.

A quote opens a cell only at its beginning, or behind blanks there; within quotes a newline is text, and two quotes are
one. A carriage return ends a record, with or without a newline behind it.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.scan.numbers import BAD, CASE, MINUS, NO_POINT, OPEN, PLUS, SPACE, TAB, number

NEWLINE, RETURN, QUOTE = 10, 13, 34
NAN, INFINITY = np.frombuffer(b"nan", np.uint8), np.frombuffer(b"infinity", np.uint8)
UNUSED = -1
LARGEST = 1e100  # as features/values.py has it


class CellBuffers(NamedTuple):
    """Arrays for the cells of a piece."""

    values: np.ndarray  # float64 (rows, numbers)
    begins: np.ndarray  # int64 (other columns, rows): where cells begin and end, without their quotes
    ends: np.ndarray
    lines: np.ndarray  # int64 (rows,): where each row begins
    opened: np.ndarray  # int64 (numbers, 4): numbers left to `float`: row, column, and where they are written


@inlined
def is_blank(byte):
    return byte in (SPACE, TAB)


@inlined
def is_space(byte):
    return byte in (SPACE, TAB, 11, 12)


class Words(NamedTuple):
    """Words that stand for a missing value, in lower case: word k is arena[ends[k]:ends[k + 1]]."""

    arena: np.ndarray  # uint8
    ends: np.ndarray  # int64 (words + 1,)


class CellTargets(NamedTuple):
    """Where cells go. A number that is one of the words is missing, NaN."""

    targets: np.ndarray  # for each column of the file that of `values`, UNUSED, or UNUSED - 1 - k for other column k
    words: Words
    decimal_point: int  # the byte


@inlined
def is_word(content, first, last, words):
    """Is content[first:last] one of the words, in whatever case?"""
    arena, ends = words
    for k in range(len(ends) - 1):
        begin, size = np.uint64(ends[k]), np.uint64(ends[k + 1] - ends[k])
        if last - first != size:
            continue
        same = True
        for j in range(size):
            byte = content[first + j]
            byte = byte | CASE if 65 <= byte <= 90 else byte
            same = same and byte == arena[begin + j]
        if same:
            return True
    return False


@inlined
def missing_until(content, first, quoted, delimiter, words):
    """Where the cell ends whose text begins at first, if that is a word for a missing value; 0 if it is not."""
    one = np.uint64(1)
    p, last = first, first
    while content[p] != NEWLINE and content[p] != RETURN and content[p] != (QUOTE if quoted else delimiter):
        p += one
        last = last if is_blank(content[p - one]) else p
    return last if is_word(content, first, last, words) else np.uint64(0)


@inner
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
def scan_rows(content, begin, n_bytes, line, delimiter, wanted, buffers, row):
    """Read the rows of content[begin:n_bytes], which ends with a newline and has ROOM bytes behind it.

    line: that of the beginning. row: where the first one is put. Changes the buffers, and content where quotes are
    doubled. Returns the number of rows, of numbers left open, and the byte and the line of the first row that is not
    plain, or the end.
    """
    one, p, end = np.uint64(1), np.uint64(begin), np.uint64(n_bytes)
    values, begins, ends, lines, opened = buffers  # once: each access by name would count references
    targets, words, decimal_point = wanted
    width, row, n_open = np.uint64(len(targets)), np.uint64(row), 0
    while p < end:
        start, start_line = p, line
        while is_blank(content[p]) and content[p] != delimiter:
            p += one
        if content[p] == NEWLINE or content[p] == RETURN:  # an empty line
            if width == one and p > start:
                return np.int64(row), n_open, np.int64(start), start_line
            p += one + np.uint64(content[p] == RETURN and content[p + one] == NEWLINE and p + one < end)
            line += 1
            continue
        if row == np.uint64(len(lines)):
            return np.int64(row), n_open, np.int64(start), start_line
        p, lines[row], was_open, plain = start, line, n_open, True
        for place in range(width):
            target = targets[place]
            first = p
            while is_blank(content[p]) and content[p] != delimiter:
                p += one
            quoted = content[p] == QUOTE
            if target >= 0:
                p += np.uint64(quoted)
                while quoted and is_blank(content[p]):
                    p += one
                first = p
                point = decimal_point if quoted or decimal_point != delimiter else NO_POINT
                value, p, status = number(content, p, point)
                if status == BAD:
                    p = missing_until(content, first, quoted, delimiter, words)
                    if p == 0:
                        plain = False
                        break
                    value = np.nan
                elif not abs(value) <= LARGEST or (status == OPEN and n_open == len(opened)):
                    plain = False
                    break
                if status == OPEN:
                    opened[n_open, 0], opened[n_open, 1], opened[n_open, 2], opened[n_open, 3] = row, target, first, p
                    n_open += 1
                values[row, target] = value
                while quoted and is_blank(content[p]):
                    p += one
                if quoted and content[p] != QUOTE:
                    plain = False
                    break
                p += np.uint64(quoted)
            elif quoted:
                first = p + one
                last, p, newlines = unquote(content, p, end)
                if p == 0:
                    plain = False
                    break
                line += newlines
                if target < UNUSED:
                    begins[UNUSED - 1 - target, row], ends[UNUSED - 1 - target, row] = first, last
            else:
                while content[p] != delimiter and content[p] != NEWLINE and content[p] != RETURN:
                    p += one
                if target < UNUSED:
                    begins[UNUSED - 1 - target, row], ends[UNUSED - 1 - target, row] = first, p
            while is_blank(content[p]) and content[p] != delimiter:
                p += one
            if place + one < width:
                if content[p] != delimiter:
                    plain = False
                    break
                p += one
        if not plain or not (content[p] == NEWLINE or content[p] == RETURN):
            return np.int64(row), was_open, np.int64(start), start_line
        p += one + np.uint64(content[p] == RETURN and content[p + one] == NEWLINE and p + one < end)
        line += 1
        row += one
    return np.int64(row), n_open, np.int64(p), line


@inlined
def is_missing_number(content, first, last):
    """Is this nan, inf or infinity, with or without a sign?"""
    one = np.uint64(1)
    first += np.uint64(first < last and (content[first] == PLUS or content[first] == MINUS))
    size = last - first
    if size != 3 and size != 8:
        return False
    is_nan = size == 3
    is_inf = True
    for k in range(size):
        byte = content[first] | CASE
        is_nan = is_nan and byte == NAN[k % 3]
        is_inf = is_inf and byte == INFINITY[k]
        first += one
    return is_nan or is_inf


@compiled
def count_numbers(content, begins, ends, decimal_point, words):
    """Return how many of the cells content[begins[k]:ends[k]] are numbers, and how many are not missing.

    Missing are blank cells and the words. Other words for what is no finite number count as numbers.
    """
    one, n_numbers, n_filled = np.uint64(1), 0, 0
    for k in range(len(begins)):
        first, last = np.uint64(begins[k]), np.uint64(ends[k])
        while first < last and is_space(content[first]):
            first += one
        while first < last and (is_space(content[last - one]) or content[last - one] in (NEWLINE, RETURN)):
            last -= one
        if first < last and not is_word(content, first, last, words):
            _, p, status = number(content, first, decimal_point)
            n_filled += 1
            n_numbers += (status != BAD and p == last) or is_missing_number(content, first, last)
    return n_numbers, n_filled


class RecordPlaces(NamedTuple):
    """Room for every record that a piece of text can hold."""

    begins: np.ndarray  # int64: the byte a record begins at
    lines: np.ndarray  # int64: the line it begins on, from 0
    cells: np.ndarray  # int64: how many it has; 0 for a line of nothing but spaces


@compiled
def scan_records(content, n_bytes, delimiter, places):
    """Find all records of content[:n_bytes], which ends with a newline; lines that are empty are none.

    Changes places. Returns the number of records and lines, and the byte and the line where a last record begins whose
    quotes stay open, if there is one, else where the text ends. That record does not count, but its lines do.
    """
    one, p, end = np.uint64(1), np.uint64(0), np.uint64(n_bytes)
    begins, lines, cells = places  # once: each access by name would count references
    n, line = np.uint64(0), 0
    while p < end:
        begin, begin_line, count, blank = p, line, 0, True
        more = True
        while more:
            count += 1
            while content[p] != delimiter and (content[p] == SPACE or content[p] == TAB):
                p += one
            if content[p] == QUOTE:
                blank, closed = False, False
                p += one
                while p < end and not closed:
                    byte = content[p]
                    p += one
                    line += byte == NEWLINE
                    if byte == QUOTE:
                        closed = p == end or content[p] != QUOTE
                        p += np.uint64(not closed)
                if not closed:
                    return np.int64(n), line, np.int64(begin), begin_line
            byte = content[p]
            while byte != delimiter and byte != NEWLINE and byte != RETURN:
                blank = blank and byte in (SPACE, TAB)
                p += one
                byte = content[p]
            more = byte == delimiter
            blank = blank and not more
            p += np.uint64(more)
        if p > begin:
            begins[n], lines[n], cells[n] = begin, begin_line, 0 if blank else count
            n += one
        p += np.uint64(content[p] == RETURN)
        if p < end and content[p] == NEWLINE:
            p += one
        line += 1
    return np.int64(n), line, np.int64(end), line
