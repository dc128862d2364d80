"""Many strings as the distinct ones, in order of coming, and numbers: each string is looked at once."""

from typing import Any

import numpy as np

from perceptrons.scan.eight import ROOM
from perceptrons.scan.names import number_names
from perceptrons.scan.table import grown, new_table

FEW = 2**12  # strings: fewer are numbered sooner by a dict than bytes are prepared for compiled code
AT_ONCE = 2**18  # strings that are joined: the bytes of all would be as much memory again
SLOTS = 2**16  # of a new table


class Numbering(dict[str, int]):
    """Numbers whatever it is asked for in the order of coming."""

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        return number


def numbered(strings: list[str]) -> tuple[list[str], np.ndarray]:
    """The distinct strings, and which of them each is. TypeError if something is no string."""
    if len(strings) < FEW:
        numbers = Numbering()
        codes = np.fromiter(map(numbers.__getitem__, strings), np.int32, len(strings))
        if not all(isinstance(string, str) for string in numbers):
            raise TypeError("not a string")
        return list(numbers), codes
    table, codes = new_table(SLOTS), np.empty(len(strings), np.int32)
    for start in range(0, len(strings), AT_ONCE):
        some = strings[start : start + AT_ONCE]
        content, ends = _joined(some)
        part, at, longest = codes[start : start + len(some)], 0, int(np.diff(ends).max())
        with np.errstate(over="ignore"):  # hashes do, on purpose; NumPy would warn where nothing is compiled
            while at < len(some):
                at = number_names(content, ends[:-1], ends[1:], at, table, part)
                if at < len(some):
                    table = grown(table, 1, longest)
    highest = np.maximum.accumulate(codes)
    first = np.flatnonzero(codes > np.concatenate([[-1], highest[:-1]]))
    return [strings[place] for place in first.tolist()], codes


def only(strings: list[str], codes: np.ndarray) -> tuple[list[str], np.ndarray]:
    """What `numbered` gives for strings of which only some are left, by their numbers."""
    left, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [strings[code] for code in left[order].tolist()], np.argsort(order)[inverse].astype(np.int32)


def _joined(strings: list[str]) -> tuple[Any, np.ndarray]:
    """The bytes of all strings and where each ends: string k is content[ends[k]:ends[k + 1]]."""
    joined = "".join(strings)
    ends = np.zeros(len(strings) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=ends[1:])
    content = np.frombuffer(joined.encode("utf-8", "surrogatepass") + bytes(ROOM), np.uint8)
    if not joined.isascii():  # so far ends count characters: each begins with a byte that continues none
        begins = np.flatnonzero((content[:-ROOM] & 0xC0) != 0x80)
        ends = np.append(begins, len(content) - ROOM)[ends]
    return content, ends
