"""The records of comma-separated text: which line each begins on, and how many cells it has.

A quote opens a cell only at its beginning, or behind blanks there; within quotes a newline is text, and two quotes are
one. A carriage return ends a record, with or without a newline behind it.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.rows import compiled

NEWLINE, RETURN, QUOTE, SPACE, TAB = 10, 13, 34, 32, 9


class Found(NamedTuple):
    """Room for every record that a piece of text can hold."""

    begins: np.ndarray  # int64: the byte a record begins at
    lines: np.ndarray  # int64: the line it begins on, from 0
    cells: np.ndarray  # int64: how many it has; 0 for a line of nothing but spaces


@compiled
def scan_records(content, n_bytes, delimiter, found):
    """Find all records of content[:n_bytes], which ends with a newline; lines that are empty are none.

    Changes found; returns the number of records and lines, and the byte and the line where a last record begins whose
    quotes stay open, if there is one, else where the text ends. That record does not count, but its lines do.
    """
    one, p, end = np.uint64(1), np.uint64(0), np.uint64(n_bytes)
    begins, lines, cells = found  # once: each access by name would count references
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
