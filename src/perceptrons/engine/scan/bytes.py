"""Bytes of text, eight at a time: how many are digits, which number these are, and whether a text is UTF-8."""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from perceptrons.engine.compiling import inlined, inner, overload_inlined


class Words(NamedTuple):
    """Words as bytes: word k is arena[ends[k]:ends[k + 1]]."""

    arena: np.ndarray  # uint8
    ends: np.ndarray  # int64 (words + 1,)


ROOM = 8  # bytes behind a text that must be there to be loaded with it
U1, U2, U3, U4, U8 = (np.uint64(n) for n in (1, 2, 3, 4, 8))
HIGH_BITS = np.uint64(0x8080808080808080)


def load(content: np.ndarray, p: Any) -> np.uint64:
    """Bytes p to p + 8 of content as one number, the first one lowest."""
    return np.uint64(int.from_bytes(content[int(p) : int(p) + 8].tobytes(), "little"))


def trailing_zeros(x: np.uint64) -> np.uint64:
    """The number of 0 bits below the lowest 1; x is not 0."""
    return np.uint64((int(x) & -int(x)).bit_length() - 1)


def as_float(bits: np.uint64) -> np.float64:
    """The float64 of these bits."""
    return np.uint64(bits).view(np.float64)


@intrinsic
def _load(typingctx, content, p):
    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        start = builder.gep(array.data, [args[1]])
        word = builder.load(builder.bitcast(start, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(content, types.intp), codegen


@intrinsic
def _trailing_zeros(typingctx, x):
    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@intrinsic
def _as_float(typingctx, bits):
    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.uint64), codegen


@overload_inlined(as_float)
def _bits_as_float(bits):
    return lambda bits: _as_float(bits)  # type: ignore[call-arg]


@overload_inlined(load)
def _load_eight(content, p):
    return lambda content, p: _load(content, np.intp(p))  # type: ignore[call-arg]


@overload_inlined(trailing_zeros)
def _count_zeros(x):
    return lambda x: _trailing_zeros(x)  # type: ignore[call-arg]


@inlined
def others(word):
    """A bit for every byte that is no digit, the lowest of the first; those above the first may be wrong."""
    x = word ^ np.uint64(0x3030303030303030)
    return ((x + np.uint64(0x7676767676767676)) | x) & np.uint64(0x8080808080808080)


@inlined
def leading_digits(word):
    """How many of the eight bytes, from the first on, are digits."""
    marks = others(word)
    return trailing_zeros(marks) >> np.uint64(3) if marks != 0 else np.uint64(8)


@inlined
def value_of_digits(word, count):
    """The number that the first `count` bytes write, 1 to 8 of them: neighbours are joined thrice."""
    x = (word ^ np.uint64(0x3030303030303030)) << (np.uint64(64) - (count << np.uint64(3)))
    x = x * np.uint64(10) + (x >> np.uint64(8))
    pairs = np.uint64(0x000000FF000000FF)
    low = (x & pairs) * np.uint64(100 + (1_000_000 << 32))
    high = ((x >> np.uint64(16)) & pairs) * np.uint64(1 + (10_000 << 32))
    return (low + high) >> np.uint64(32)


@inlined
def follows(byte):
    return byte & 0xC0 == 0x80


@inner
def not_utf8(content, p, end):
    """The place of the first byte of content[p:end] that is not UTF-8, as Python decides; the end if all are.

    Not UTF-8 are lone surrogates, what is longer than it need be, and what is above U+10FFFF. A newline is at the end,
    and eight bytes more follow.
    """
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
