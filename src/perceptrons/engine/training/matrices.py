"""Sparse matrices of any format as CSR whose parts fit together: compiled loops, SciPy's too, follow every index.

And matrices made as wide as those that came later.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK_ROWS = 4096  # written as bytes at a time
STANDARD = (np.dtype(np.int32), np.dtype(np.int64))  # index types that loops are compiled for


def sound_csr(X: Any, name: str = "X", *, row: bool = False) -> Any:
    """Return a sparse matrix as CSR. Raise ValueError if a part of it points outside. A sound CSR is not copied.

    row: a sparse array of one axis is one row.
    """
    axes = len(X.shape)
    if axes != 2 and not (row and axes == 1):
        raise ValueError(f"Expected 2D array, got {axes}D array instead: {name} must have one row per example.")
    if X.format == "csr":
        return _checked(X, name)
    try:
        return _checked(CONVERTED[X.format](X, name).tocsr(), name)
    except (TypeError, IndexError, OverflowError, AttributeError) as error:
        raise _corrupt(name, f"it cannot be converted to CSR ({error})") from error


def check_csr(X: Any, name: str = "X") -> None:
    """Raise ValueError for a CSR matrix whose parts do not fit together, or are of types that loops do not take."""
    if _checked(X, name) is not X:
        raise _corrupt(name, "its index arrays must be of one type, int32 or int64, and as long as its values")


def widened(X: Any, n_features: int) -> Any:
    """Return a block with as many columns as later ones had."""
    missing = n_features - X.shape[1]
    if missing <= 0:
        return X
    if sp.issparse(X):
        return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features), copy=False)
    return np.pad(np.asarray(X), ((0, 0), (0, missing)))


def row_bytes(X: Any) -> Iterator[bytes]:
    """Yield every row of a matrix as bytes: columns and values, without zeros. Equal rows have equal bytes."""
    for begin in range(0, X.shape[0], BLOCK_ROWS):
        part = sp.csr_matrix(X[begin : begin + BLOCK_ROWS], dtype=np.float64, copy=True)
        part.sum_duplicates()
        part.eliminate_zeros()
        columns, starts = part.indices.astype(np.int64), part.indptr
        for i, end in enumerate(starts[1:]):
            yield columns[starts[i] : end].tobytes() + part.data[starts[i] : end].tobytes()


def stack_csr(parts: list[Any], width: int) -> Any:
    """Join CSR matrices to one of this width. Empties the list, so that their memory is free early."""
    n_rows, n_values = sum(part.shape[0] for part in parts), sum(len(part.data) for part in parts)
    index = np.int32 if max(n_values, width) <= np.iinfo(np.int32).max else np.int64
    dtype = np.result_type(*(part.dtype for part in parts)) if parts else np.float32
    values, columns = np.empty(n_values, dtype), np.empty(n_values, index)
    starts, row, begin = np.zeros(n_rows + 1, index), 0, 0
    while parts:
        part = parts.pop(0)
        n, end = part.shape[0], begin + len(part.data)
        values[begin:end], columns[begin:end] = part.data, part.indices
        starts[row + 1 : row + 1 + n] = part.indptr[1:].astype(index) + begin
        row, begin = row + n, end
    return sp.csr_matrix((values, columns, starts), shape=(n_rows, width), copy=False)


def _checked(X: Any, name: str) -> Any:
    """Return the same CSR matrix; with standard index types and nothing behind the last row."""
    n, d = _shape(X, name)
    data, columns, starts = _parts(X, name, d, n, width=1)
    same_types = X.indices.dtype == X.indptr.dtype and X.indptr.dtype in STANDARD
    if same_types and len(X.shape) == 2 and len(X.indices) == len(X.data) == len(data):
        return X
    return sp.csr_matrix((data, columns, starts), shape=(n, d), copy=False)


def _shape(X: Any, name: str) -> tuple[int, int]:
    shape = (1, *X.shape) if len(X.shape) == 1 else X.shape
    if not all(isinstance(size, int | np.integer) and size >= 0 for size in shape):
        raise _corrupt(name, f"its shape is {X.shape}")
    return int(shape[0]), int(shape[1])


def _parts(X: Any, name: str, d: int, n: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices and indptr of a compressed format, checked: n rows (or columns) of indices below d."""
    starts, indices, data = _index(X.indptr, name, "indptr"), _index(X.indices, name, "indices"), X.data
    if not isinstance(data, np.ndarray) or data.ndim != (1 if width == 1 else 3):
        raise _corrupt(name, "its values must be an array of one axis")
    if len(starts) != n + 1:
        raise _corrupt(name, f"indptr has {len(starts):,} entries, but its shape needs {n + 1:,}")
    end = int(starts[-1])
    if starts[0] != 0 or not 0 <= end <= min(len(indices), len(data)) or not bool((starts[1:] >= starts[:-1]).all()):
        raise _corrupt(name, "indptr must begin at 0, never decrease, and end at the number of values")
    _below(indices[:end], d, name)
    return data[:end], indices[:end], starts


def _index(part: Any, name: str, part_name: str) -> np.ndarray:
    """Return an array of indices, as int32 or int64."""
    if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype.kind not in "iu":
        kind = f"{part.dtype}, {part.ndim}-D" if isinstance(part, np.ndarray) else type(part).__name__
        raise _corrupt(name, f"{part_name} must be an array of whole numbers with one axis, but it is {kind}")
    if part.dtype in STANDARD:
        return part
    if part.dtype.kind == "u" and part.max(initial=0) > np.iinfo(np.int64).max:
        raise _corrupt(name, f"{part_name} contains {part.max():,}")
    return part.astype(np.int32 if part.dtype.itemsize < 4 or part.dtype == np.dtype(">i4") else np.int64)


def _below(indices: np.ndarray, size: int, name: str) -> None:
    unsigned = indices.view(np.uint32 if indices.dtype.itemsize == 4 else np.uint64)  # a negative index is a huge one
    if len(indices) and int(unsigned.max()) >= size:  # so that one read finds both
        place = int(np.argmax((indices < 0) | (indices >= size)))
        raise _corrupt(name, f"entry {place:,} has the index {indices[place]:,}, but it must be from 0 to {size - 1:,}")


def _of_csc(X: Any, name: str) -> Any:
    n, d = _shape(X, name)
    return sp.csc_matrix(_parts(X, name, n, d, width=1), shape=(n, d), copy=False)


def _of_bsr(X: Any, name: str) -> Any:
    n, d = _shape(X, name)
    high, wide = X.data.shape[1:] if np.ndim(X.data) == 3 else (0, 0)
    if high < 1 or wide < 1 or n % high or d % wide:
        raise _corrupt(name, f"blocks of shape {np.shape(X.data)[1:]} do not fill a matrix of shape ({n:,}, {d:,})")
    return sp.bsr_matrix(_parts(X, name, d // wide, n // high, width=wide * high + 1), shape=(n, d), copy=False)


def _of_coo(X: Any, name: str) -> Any:
    n, d = _shape(X, name)
    coords = [_index(part, name, "coordinates") for part in X.coords]
    if len(coords) == 1:
        coords.insert(0, np.zeros(len(coords[0]), coords[0].dtype))
    rows, columns = coords
    if not isinstance(X.data, np.ndarray) or not rows.shape == columns.shape == X.data.shape:
        raise _corrupt(name, "it must have a row and a column for every value")
    _below(rows, n, name)
    _below(columns, d, name)
    return sp.coo_matrix((X.data, (rows, columns)), shape=(n, d), copy=False)


def _of_dok(X: Any, name: str) -> Any:
    try:
        return _of_coo(X.tocoo(), name)  # SciPy makes it from Python's numbers, with checks
    except ValueError as error:
        raise _corrupt(name, str(error)) from error


def _of_lil(X: Any, name: str) -> Any:
    n, d = _shape(X, name)
    if len(X.rows) != n or len(X.data) != n:
        raise _corrupt(name, f"it has {len(X.rows):,} lists of columns and {len(X.data):,} of values for {n:,} rows")
    lengths = [len(row) for row in X.rows]
    if lengths != [len(row) for row in X.data]:
        raise _corrupt(name, "a row has different numbers of columns and values")
    columns = np.fromiter(chain.from_iterable(X.rows), np.int64, sum(lengths))
    data = np.fromiter(chain.from_iterable(X.data), X.dtype, sum(lengths))
    _below(columns, d, name)
    return sp.csr_matrix((data, columns, np.cumsum([0, *lengths])), shape=(n, d), copy=False)


def _of_dia(X: Any, name: str) -> Any:
    n, d = _shape(X, name)
    offsets = _index(X.offsets, name, "offsets").astype(np.int64)
    if not isinstance(X.data, np.ndarray) or X.data.ndim != 2 or len(X.data) != len(offsets):
        raise _corrupt(name, "it must have one row of values for every diagonal")
    values = X.data[:, :d]
    rows = np.arange(values.shape[1]) - offsets[:, None]
    diagonal, columns = np.nonzero((rows >= 0) & (rows < n) & (values != 0))
    return sp.coo_matrix((values[diagonal, columns], (rows[diagonal, columns], columns)), shape=(n, d), copy=False)


CONVERTED = {"csc": _of_csc, "bsr": _of_bsr, "coo": _of_coo, "dok": _of_dok, "lil": _of_lil, "dia": _of_dia}


def _corrupt(name: str, problem: str) -> ValueError:
    return ValueError(f"{name} is a corrupt sparse matrix: {problem}.")
