"""Finds identical rows with different labels, which no classifier can separate."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.matrices import row_bytes, sound_csr
from perceptrons.theory.examples import canonical

BLOCK_NUMBERS = 1 << 14  # hashed at a time: few enough to stay in the cache


def contradictions(X: Any, codes: np.ndarray) -> list[np.ndarray]:
    """Return groups of identical rows with different labels, the most common reason why data are not separable.

    Rows are identical if all their values, which must be finite, are equal; -0.0 equals 0.0, and what a sparse row
    leaves out is 0. A group has the indices of its rows, ascending; groups are in the order of their first rows.

    >>> X = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0], [-0.0, 1.0], [1.0, 2.0]])
    >>> [group.tolist() for group in contradictions(X, np.array([0, 1, 1, 1, 0]))]
    [[0, 2, 4]]
    """
    X = canonical(sound_csr(X)) if sp.issparse(X) else np.asarray(X)
    codes = np.asarray(codes)
    if codes.shape != X.shape[:1]:
        raise ValueError(
            f"X has {X.shape[0]:,} rows, but there are classes for {codes.size:,}: give one class per row."
        )
    _, first_rows, group = np.unique(row_hashes(X), return_index=True, return_inverse=True)
    first = first_rows[group]  # of every row, the first one with the same hash
    # only rows with equal hashes and different labels can be contradictions
    is_mixed = np.zeros(len(first_rows), bool)
    is_mixed[group[codes != codes[first]]] = True
    candidates = np.flatnonzero(is_mixed[group])
    if not len(candidates):
        return []
    firsts = first[candidates]
    is_different = X[candidates] != X[firsts]
    contents: Iterable[int | bytes] = firsts.tolist()
    if is_different.nnz if sp.issparse(X) else is_different.any():  # different rows with the same hash
        contents = row_bytes(X[candidates])
    groups: dict[int | bytes, list[int]] = {}
    for row, content in zip(candidates.tolist(), contents, strict=True):
        groups.setdefault(content, []).append(row)
    return [np.array(rows) for rows in groups.values() if (codes[rows] != codes[rows[0]]).any()]


def row_hashes(X: Any) -> np.ndarray:
    """Return a sum over every row of its values' bits times the odd number of the column, modulo 2^64.

    Unlike a sum of floats, it does not depend on the order.
    """
    multipliers = np.random.default_rng(0).integers(2**64, size=X.shape[1], dtype=np.uint64) | np.uint64(1)
    if sp.issparse(X):
        return sp.csr_matrix((_mixed_bits(X.data), X.indices, X.indptr), shape=X.shape) @ multipliers
    step = max(1, BLOCK_NUMBERS // max(1, X.shape[1]))
    blocks = [_mixed_bits(X[begin : begin + step]) @ multipliers for begin in range(0, X.shape[0], step)]
    return np.concatenate([np.empty(0, np.uint64), *blocks])


def _mixed_bits(values: np.ndarray) -> np.ndarray:
    """Return the bits of every value as a whole number, 0 for 0. The low half of round numbers gets bits, too."""
    values = np.ascontiguousarray(values) + 0  # 0 for -0.0
    bits = values.view(f"u{values.itemsize}").astype(np.uint64)
    return bits ^ (bits >> np.uint64(32))
