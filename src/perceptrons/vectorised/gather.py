"""The loops of `scan/gather.py`. `bincount` adds in order and in float64, so that the sums have the same bits."""

from typing import Any

import numpy as np


def first_in_column(columns: np.ndarray, slots: np.ndarray, firsts: np.ndarray) -> None:
    """See `scan/gather.py`; slots are not needed here."""
    _, first, same = np.unique(columns, return_index=True, return_inverse=True)
    firsts[:] = first[same]


def gather(entries: Any, homes: Any, unit: bool, places: np.ndarray, sums: np.ndarray, gathered: Any) -> int:
    """See `scan/gather.py`; places and sums are not needed here."""
    rows = np.repeat(np.arange(len(entries.starts) - 1), np.diff(entries.starts))
    known = homes.columns[entries.numbers] >= 0
    numbers, rows = entries.numbers[known], rows[known]
    amounts = entries.amounts[known] * homes.signs[numbers].astype(np.float64)
    n_rows, column = len(entries.starts) - 1, homes.firsts[numbers].astype(np.int64)
    _, first, same = np.unique(rows * len(homes.firsts) + column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    totals = np.bincount(same, weights=amounts, minlength=len(first))[order]
    rows, columns = rows[first[order]], homes.columns[numbers[first[order]]]
    if unit:
        norms = np.sqrt(np.bincount(rows, weights=totals * totals, minlength=n_rows))
        totals = totals / np.where(norms > 0, norms, 1.0)[rows]
    n = len(totals)
    gathered.columns[:n], gathered.values[:n] = columns, totals
    gathered.starts[:] = np.searchsorted(rows, np.arange(n_rows + 1))
    return n
