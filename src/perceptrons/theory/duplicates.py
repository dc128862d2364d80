"""Finds identical rows with different labels, which no classifier can separate."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.matrices import row_bytes, sound_csr
from perceptrons.theory.examples import canonical

BLOCK_NUMBERS = 1 << 14  # hashed at a time: few enough to stay in the cache
HALF_WORD = np.uint64(32)


def contradictions(X: Any, codes: np.ndarray) -> list[np.ndarray]:
    """Return groups of identical rows with different labels, the most common reason why data are not separable.

    Rows are identical if all their values are equal; -0.0 equals 0.0, and what a sparse row leaves out is 0.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Finite numbers.
    codes : array of shape (n_samples,)
        The label of every row.

    Returns
    -------
    list of arrays
        The row indices of each group, ascending; groups in the order of their first rows.

    Examples
    --------
    >>> import numpy as np
    >>> from perceptrons.theory.duplicates import contradictions
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
    hashes = _hashes_of_sparse(X) if sp.issparse(X) else _hashes_of_dense(X)
    order = np.argsort(hashes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(hashes[order]) != 0][: len(order)])
    if len(starts) == len(order):
        return []
    # only rows with equal hashes and different labels can be contradictions
    sorted_codes, lengths = codes[order], np.diff(np.r_[starts, len(order)])
    differs = np.logical_or.reduceat(sorted_codes != np.repeat(sorted_codes[starts], lengths), starts)
    candidates = np.sort(order[np.repeat(differs, lengths)])
    first_of = np.empty(len(order), np.intp)  # the first row with the same hash
    first_of[order] = order[np.repeat(starts, lengths)]
    firsts = first_of[candidates]
    is_different = X[candidates] != X[firsts]
    contents: Iterable[int | bytes] = firsts.tolist()
    if is_different.nnz if sp.issparse(X) else is_different.any():  # different rows with the same hash
        contents = row_bytes(X[candidates])
    groups: dict[int | bytes, list[int]] = {}
    for row, content in zip(candidates.tolist(), contents, strict=True):
        groups.setdefault(content, []).append(row)
    return [np.array(rows) for rows in groups.values() if (codes[rows] != codes[rows[0]]).any()]


# A hash is a sum of whole numbers that wraps around. Unlike a sum of floats, it does not depend on the order.


def _hashes_of_dense(X: np.ndarray) -> np.ndarray:
    multipliers = _multipliers(X.shape[1])
    step = max(1, BLOCK_NUMBERS // max(1, X.shape[1]))
    hashes = np.empty(X.shape[0], np.uint64)
    for begin in range(0, X.shape[0], step):
        _mixed(X[begin : begin + step], multipliers).sum(axis=1, out=hashes[begin : begin + step])
    return hashes


def _hashes_of_sparse(X: Any) -> np.ndarray:
    multipliers = _multipliers(X.shape[1])
    sums = np.zeros(X.nnz + 1, np.uint64)
    for begin in range(0, X.nnz, BLOCK_NUMBERS):
        part = slice(begin, min(begin + BLOCK_NUMBERS, X.nnz))
        sums[begin + 1 : part.stop + 1] = _mixed(X.data[part], multipliers[X.indices[part]])
    np.cumsum(sums, out=sums)
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


def _multipliers(n: int) -> np.ndarray:
    """Return an odd number for every column, always the same ones."""
    return np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64) | np.uint64(1)


def _mixed(values: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """Return the bits of every value, mixed by its column's multiplier; 0 for 0."""
    values = np.ascontiguousarray(values) + 0  # 0 for -0.0
    bits = values.view(f"u{values.itemsize}").astype(np.uint64, copy=False)
    bits ^= bits >> HALF_WORD  # the low half of round numbers is all zeros, and a product only moves bits up
    bits *= multipliers
    bits ^= bits >> HALF_WORD
    return bits
