"""Rows of local numbers become rows of columns. Sums are in float64 and in order: the same bits on every machine."""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, exact
from perceptrons.engine.scan.name_table import U0, U1, U32


class Amounts(NamedTuple):
    """Rows of numbers, each with an amount."""

    starts: np.ndarray  # (rows + 1,)
    numbers: np.ndarray
    amounts: np.ndarray  # float64


class Homes(NamedTuple):
    """Where numbers belong."""

    columns: np.ndarray  # -1 where a number is dropped
    signs: np.ndarray
    firsts: np.ndarray  # see first_in_column


class Gathered(NamedTuple):
    """Rows of columns."""

    starts: np.ndarray  # int32 (rows + 1,)
    columns: np.ndarray  # int32
    values: np.ndarray  # float32


@compiled
def first_in_column(columns, slots, firsts):
    """firsts[k]: the first number that has the column of number k.  slots: zeros, a power of 2, twice the numbers."""
    mask = np.uint64(len(slots) - 1)
    for k in range(np.uint64(len(columns))):
        c = np.uint64(columns[k])
        x = c * np.uint64(0x9E3779B97F4A7C15)
        slot = (x ^ (x >> U32)) & mask
        while slots[slot] != 0 and columns[np.uint64(slots[slot]) - U1] != columns[k]:
            slot = (slot + U1) & mask
        if slots[slot] == 0:
            slots[slot] = np.int32(k + U1)
        firsts[k] = slots[slot] - np.int32(1)


@exact
def gather(entries, homes, unit, places, sums, gathered):
    """Each entry becomes its amount, times its sign, in its column; a column stands once in a row, where it came first.

    unit: divide a row by its Euclidean norm. places: zeros, for every number one behind where its column came last.
    sums: float64, as long as the longest row. Changes these and gathered; returns the number of entries.
    """
    starts, numbers, amounts = entries
    columns, signs, firsts = homes
    out_starts, out_columns, out_values = gathered
    n = U0
    for i in range(np.uint64(len(starts) - 1)):
        first = n
        for e in range(np.uint64(starts[i]), np.uint64(starts[i + U1])):
            k = np.uint64(numbers[e])
            if columns[k] >= 0:
                amount, home = amounts[e] * np.float64(signs[k]), np.uint64(firsts[k])
                if np.uint64(places[home]) > first:
                    sums[np.uint64(places[home]) - U1 - first] += amount
                else:
                    sums[n - first] = amount
                    out_columns[n] = np.int32(columns[k])
                    n += U1
                    places[home] = np.int64(n)
        norm = 1.0
        if unit:
            square = 0.0
            for j in range(n - first):
                square += sums[j] * sums[j]
            norm = np.sqrt(square) if square > 0.0 else 1.0
        for j in range(n - first):
            out_values[first + j] = np.float32(sums[j] / norm)
        out_starts[i + U1] = np.int32(n)
    return np.int64(n)
