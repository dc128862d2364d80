"""Rows of named features become a sparse matrix, once it is known which columns the names have."""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.features.local import Local
from perceptrons.scan.gather import Entries, Gathered, Homes, first_in_column, gather
from perceptrons.scan.name_table import power_of_two

VALUES = ("log", "count", "binary")
NORMS = ("l2",)
LOGS = np.array([0.0, *(1.0 + math.log(count) for count in range(1, 256))])


class Found(NamedTuple):
    """Where names have their columns."""

    columns: np.ndarray  # int64: -1 where a name has none
    signs: np.ndarray  # float32: what its values are multiplied by


def assemble(local: Local, found: Found, n_columns: int, values: str, norm: str | None) -> sp.csr_matrix:
    """The rows with what `values` says a feature is worth that comes so often, each of length 1 with norm "l2"."""
    return assemble_values(local.starts, local.numbers, worth(local.counts, values), found, n_columns, norm)


def worth(counts: np.ndarray, values: str) -> np.ndarray:
    """The value of a feature that comes so often: 1 + ln count, count or 1."""
    if values == "binary":
        return np.ones(len(counts))
    if values == "count":
        return counts.astype(np.float64)
    amounts = LOGS.take(counts, mode="clip")
    if counts.max(initial=0) >= len(LOGS):
        large = np.flatnonzero(counts >= len(LOGS))
        amounts[large] = [1.0 + math.log(count) for count in counts[large].tolist()]  # NumPy's rounds otherwise
    return amounts


def assemble_values(
    starts: np.ndarray, numbers: np.ndarray, amounts: np.ndarray, found: Found, n_columns: int, norm: str | None = None
) -> sp.csr_matrix:
    """The rows in which the name numbers[e] has the value amounts[e], times its sign; -1 as a column drops it.

    Where several entries of a row have one column, their sum stands where the first of them stood.
    """
    n_names = len(found.columns)
    firsts = np.empty(n_names, np.int32)
    with np.errstate(over="ignore"):
        first_in_column(found.columns, np.zeros(power_of_two(2 * n_names + 1), np.int32), firsts)
    rows = Gathered(
        np.zeros(len(starts), np.int32), np.empty(len(numbers), np.int32), np.empty(len(numbers), np.float32)
    )
    places, sums = np.zeros(n_names, np.int64), np.empty(int(np.diff(starts).max(initial=0)))
    entries, homes = Entries(starts, numbers, amounts), Homes(found.columns, found.signs, firsts)
    n = gather(entries, homes, norm == "l2", places, sums, rows)
    shape = len(starts) - 1, n_columns
    return sp.csr_matrix((rows.values[:n], rows.columns[:n], rows.starts), shape=shape, copy=False)
