"""Is it UTF-8? As Python decides: no lone surrogates, nothing longer than it need be, nothing above U+10FFFF."""

import numpy as np

from perceptrons.rows import compiled, inlined
from perceptrons.scan.eight import load

U1, U2, U3, U4, U8 = (np.uint64(n) for n in (1, 2, 3, 4, 8))
HIGH_BITS = np.uint64(0x8080808080808080)


@inlined
def follows(byte):
    return byte & 0xC0 == 0x80


@compiled
def not_utf8(content, p, end):
    """The place of the first byte of content[p:end] that is not UTF-8; the end if all are. A newline is at the end,
    and eight bytes more follow."""
    while p < end:
        if p + U8 <= end and load(content, p) & HIGH_BITS == 0:
            p += U8
            continue
        first, second = content[p], content[p + U1]
        if first < 0x80:
            p += U1
        elif first < 0xC2 or not follows(second):  # a newline does not follow, so nothing behind the end is looked at
            return p
        elif first < 0xE0:
            p += U2
        elif not follows(content[p + U2]):
            return p
        elif first < 0xF0:
            if (first == 0xE0 and second < 0xA0) or (first == 0xED and second >= 0xA0):
                return p
            p += U3
        else:
            above = first > 0xF4 or (first == 0xF4 and second >= 0x90)
            if above or (first == 0xF0 and second < 0x90) or not follows(content[p + U3]):
                return p
            p += U4
    return end
