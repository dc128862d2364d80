"""Finds identical rows with different labels, which no classifier can separate."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.matrices import sound_csr
from perceptrons.theory.examples import canonical

BLOCK = 1 << 14  # numbers hashed at a time: few enough to stay in the cache
HALF = np.uint64(32)
AT_ONCE = 4096  # rows written as bytes at a time


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
    hashes = hashes[order]
    begins = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]][: len(hashes)])
    lengths = np.diff(np.r_[begins, len(hashes)])
    if len(begins) == len(hashes):
        return []
    by_run = codes[order]
    differ = np.logical_or.reduceat(by_run != np.repeat(by_run[begins], lengths), begins)
    left, runs = order[np.repeat(differ, lengths)], np.repeat(np.flatnonzero(differ), lengths[differ])
    same = np.full(X.shape[0], -1)  # the first row that a row is equal to, for all that could be contradicted
    while len(left):  # once, unless different rows have the same hash
        first = np.r_[True, runs[1:] != runs[:-1]]
        leaders = np.repeat(left[first], np.diff(np.r_[np.flatnonzero(first), len(left)]))
        equal = _equal(X, left, leaders)
        same[left[equal]] = leaders[equal]
        left, runs = left[~equal], runs[~equal]
    grouped = np.flatnonzero(same >= 0)
    contradicted = np.unique(same[grouped[codes[grouped] != codes[same[grouped]]]])
    rows = grouped[np.isin(same[grouped], contradicted)]
    rows = rows[np.argsort(same[rows], kind="stable")]
    return np.split(rows, np.flatnonzero(np.diff(same[rows])) + 1) if len(rows) else []


def row_bytes(X: Any) -> Iterator[bytes]:
    """Every row of a matrix as bytes that are equal where rows are: columns and values, zeros left out."""
    for begin in range(0, X.shape[0], AT_ONCE):
        part = sp.csr_matrix(X[begin : begin + AT_ONCE], dtype=np.float64, copy=True)
        part.sum_duplicates()
        part.eliminate_zeros()
        columns, starts = part.indices.astype(np.int64), part.indptr
        for i, end in enumerate(starts[1:]):
            yield columns[starts[i] : end].tobytes() + part.data[starts[i] : end].tobytes()


# A hash is a sum of whole numbers that wraps around: the same in whatever order it is added up, unlike one of floats.


def _hashes_of_dense(X: np.ndarray) -> np.ndarray:
    multipliers = _multipliers(X.shape[1])
    step = max(1, BLOCK // max(1, X.shape[1]))
    hashes = np.empty(X.shape[0], np.uint64)
    for begin in range(0, X.shape[0], step):
        _mixed(X[begin : begin + step], multipliers).sum(axis=1, out=hashes[begin : begin + step])
    return hashes


def _hashes_of_sparse(X: Any) -> np.ndarray:
    multipliers = _multipliers(X.shape[1])
    sums = np.zeros(X.nnz + 1, np.uint64)
    for begin in range(0, X.nnz, BLOCK):
        part = slice(begin, min(begin + BLOCK, X.nnz))
        sums[begin + 1 : part.stop + 1] = _mixed(X.data[part], multipliers[X.indices[part]])
    np.cumsum(sums, out=sums)
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


def _multipliers(n: int) -> np.ndarray:
    """An odd number for every column, always the same ones."""
    return np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64) | np.uint64(1)


def _mixed(values: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """The bits of every value, stirred by its column's multiplier; 0 for 0."""
    values = np.ascontiguousarray(values) + 0  # 0 for -0.0
    bits = values.view(f"u{values.itemsize}").astype(np.uint64, copy=False)
    bits ^= bits >> HALF  # the low half of round numbers is all zeros, and a product only moves bits up
    bits *= multipliers
    bits ^= bits >> HALF
    return bits


def _equal(X: Any, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of these rows equal the others, value for value."""
    if sp.issparse(X):
        return np.diff((X[rows] != X[others]).tocsr().indptr) == 0
    return (X[rows] == X[others]).all(axis=1)
