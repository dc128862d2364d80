"""Bytes of text, eight at a time: how many are digits, which number is written, and whether a text is UTF-8.

Numbers are read exactly: the float nearest to what is written, as `float` reads it, at a nanosecond a digit. Most are a
product of two exact floats (Clinger 1990). The others take one or two multiplications of 64 by 128 bits (Lemire 2021,
"Number parsing at a gigabyte per second"); the few that even these leave open are `float`'s.
"""

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


# ---- numbers in text

READ, BAD, OPEN = range(3)  # a number; none; a number whose last bits are left to `float`
TINY, INFINITE = np.uint64(1), np.uint64(0x7FF << 52)  # bits of the smallest float above 0, and of infinity
DIGITS = 19  # decimal digits that always fit in 64 bits
LEAST, MOST = -342, 308  # powers of ten that any number of 19 digits needs
SPACE, TAB, PLUS, MINUS, POINT, ZERO, LETTER_E, CASE = 32, 9, 43, 45, 46, 48, 101, 32
NO_POINT = 256  # no byte


def _powers_of_five() -> tuple[np.ndarray, np.ndarray]:
    """The leading 64 bits of 5^q from q = LEAST on, and the 64 bits behind them."""
    high, low = [], []
    for q in range(LEAST, MOST + 1):
        if q < 0:
            power = 5**-q
            length = (power - 1).bit_length()
            c = (1 << (length + 127 if q >= -27 else 2 * length + 128)) // power + 1  # rounded up, as the proof wants
        else:
            c = 5**q
        c = c << (128 - c.bit_length()) if c.bit_length() < 128 else c >> (c.bit_length() - 128)
        high.append(c >> 64)
        low.append(c & (2**64 - 1))
    return np.array(high, np.uint64), np.array(low, np.uint64)


# Constants of the compiled code: as arguments they would be counted references to, number by number.
HIGH, LOW = _powers_of_five()
EXACT = np.array([10.0**q for q in range(23)])  # powers of ten that are exact
SCALES = np.array([10**q for q in range(9)], np.uint64)


@inlined
def is_digit(byte):
    return np.uint8(byte - ZERO) <= 9


@inlined
def product(a, b):
    """The high and low 64 bits of a times b."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & mask, b >> half, b & mask
    low, middle = a0 * b0, a1 * b0
    middle += low >> half
    other = a0 * b1 + (middle & mask)
    return a1 * b1 + (middle >> half) + (other >> half), (other << half) | (low & mask)


@inner
def nearest(digits, q):
    """Return the bits of the float nearest to digits * 10^q, and whether they are certain. digits is not 0.

    Bits that are not certain are those of a neighbour, of the smallest float above 0, or of infinity.
    """
    one = np.uint64(1)
    if q < LEAST:
        return TINY, False
    if q > MOST:
        return INFINITE, False
    shift = 0
    while digits >> np.uint64(63) == 0:
        digits <<= one
        shift += 1
    place = np.uint64(q - LEAST)
    high, low = product(digits, HIGH[place])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = product(digits, LOW[place])
        low += more
        if low < more:
            high += one
    certain = not (low == np.uint64(0xFFFFFFFFFFFFFFFF) and (q < -27 or q > 55))
    upper = high >> np.uint64(63)
    m = high >> (upper + np.uint64(9))
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - shift + 1023
    if exponent <= 0:
        return TINY, False  # so small that digits are lost
    if low <= one and -4 <= q <= 23 and m & np.uint64(3) == one and m << (upper + np.uint64(9)) == high:
        m &= ~one  # just between two floats: to the even one
    m = (m + (m & one)) >> one
    if m >= np.uint64(1 << 53):
        m = np.uint64(1 << 52)
        exponent += 1
    if exponent >= 0x7FF:
        return INFINITE, False
    return (m & np.uint64((1 << 52) - 1)) | (np.uint64(exponent) << np.uint64(52)), certain


@inner
def long_number(content, p, decimal_point):
    """`number` behind its sign, with an exponent, or with more digits than a float holds exactly."""
    digits, count = np.uint64(0), 0  # leading zeros do not count
    decimals, dropped, point, cut = 0, 0, False, False
    while True:
        byte = content[p]
        if is_digit(byte):
            if count < DIGITS:
                digits = digits * np.uint64(10) + np.uint64(byte - ZERO)
                count += 1 if digits > 0 else 0
                decimals += 1 if point else 0
            else:
                dropped += 0 if point else 1
                cut = cut or byte != ZERO
        elif byte == decimal_point and not point:
            point = True
        else:
            break
        p += np.uint64(1)
    exponent = dropped - decimals
    if content[p] | CASE == LETTER_E:
        p += np.uint64(1)
        negative = content[p] == MINUS
        if content[p] == MINUS or content[p] == PLUS:
            p += np.uint64(1)
        power, begun = np.int64(0), p
        while is_digit(content[p]):
            power = min(power * 10 + np.int64(content[p] - ZERO), np.int64(1_000_000))
            p += np.uint64(1)
        if p == begun:
            return 0.0, p, BAD
        exponent += -int(power) if negative else int(power)
    if digits == 0:
        return 0.0, p, READ
    if not cut and digits <= np.uint64(1 << 53) and -22 <= exponent <= 22:
        value = np.float64(digits)
        return (value * EXACT[exponent] if exponent >= 0 else value / EXACT[-exponent]), p, READ
    bits, certain = nearest(digits, exponent)
    if certain and cut:  # what was cut off lies between: does it matter?
        above, certain = nearest(digits + np.uint64(1), exponent)
        certain = certain and above == bits
    return np.uint64(bits).view(np.float64), p, READ if certain else OPEN


@inlined
def number(content, p, decimal_point=POINT):
    """Read [+-]digits[.digits][e[+-]digits] from place p on. Returns the value, the place behind it, and a status.

    decimal_point: the byte before the decimals; NO_POINT if there are none. The value of an OPEN number may be off by
    its last bit. What follows the number is for the caller to check. Something that is no digit, and eight bytes
    more, must follow.
    """
    one, zero, three = np.uint64(1), np.uint64(0), np.uint64(3)
    negative = content[p] == MINUS
    if negative or content[p] == PLUS:
        p += one
    begun = p
    word = load(content, p)
    marks = others(word)
    behind = marks & (marks - one)
    if behind != zero:  # most numbers end within eight bytes: one load, one conversion
        whole = trailing_zeros(marks) >> three
        decimals, count = zero, whole
        if np.uint8(word >> (whole << three)) == decimal_point:
            below = (one << (whole << three)) - one
            word = (word & below) | ((word >> np.uint64(8)) & ~below)  # without the point
            count = (trailing_zeros(behind) >> three) - one
            decimals = count - whole
            p += one
        digits = value_of_digits(word, count) if count > zero else zero
        p += count
    else:
        count = leading_digits(word)
        digits, decimals = value_of_digits(word, count) if count > zero else zero, zero
        p += count
        if content[p] == decimal_point:
            p += one
            word = load(content, p)
            decimals = leading_digits(word)
            if decimals > zero:
                digits = digits * SCALES[decimals] + value_of_digits(word, decimals)
            p += decimals
            count += decimals
    if count == zero:
        return 0.0, p, BAD
    if is_digit(content[p]) or content[p] | CASE == LETTER_E or digits > np.uint64(1 << 53):
        value, p, how = long_number(content, begun, decimal_point)
        return -value if negative else value, p, how
    value = np.float64(digits) / EXACT[decimals]
    return -value if negative else value, p, READ
