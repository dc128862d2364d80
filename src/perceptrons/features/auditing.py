"""Names as people read them, and which of them share a column."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from perceptrons.scan.words import MARK


def shown(name: bytes) -> str:
    """A name for people: n-grams of characters stand in ‹ ›, as they may begin or end with a space."""
    before, mark, gram = name.decode("utf-8", "replace").partition(chr(MARK))
    return f"{before}‹{gram}›" if mark else before


def by_column(columns: np.ndarray, counts: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Every column that has names, with their numbers, the most frequent first."""
    order = np.lexsort((-counts, columns))
    used, first = np.unique(columns[order], return_index=True)
    return zip(used.tolist(), np.split(order, first[1:]), strict=True) if len(used) else iter(())


def audit(columns: np.ndarray, n_columns: int, weights: Any, top: int) -> dict[str, Any]:
    """How many columns are shared, and the heaviest of them. columns: of every name."""
    used, names = np.unique(columns, return_counts=True)
    shared = used[names > 1]
    heaviest = []
    if weights is not None:
        table = np.atleast_2d(np.asarray(weights))
        if table.ndim != 2 or table.shape[1] != n_columns:
            raise ValueError(
                f"weights have the shape {np.shape(weights)}: there must be one for each of {n_columns} columns."
            )
        table = table[:, shared]
        largest = np.abs(table).max(axis=0, initial=0)
        for at in np.argsort(-largest, kind="stable")[:top]:
            if largest[at] > 0:
                row = int(np.abs(table[:, at]).argmax())
                heaviest.append({"column": int(shared[at]), "weight": float(table[row, at])})
    return {
        "columns": n_columns,
        "columns_used": len(used),
        "shared_columns": len(shared),
        "features_sharing": int(names[names > 1].sum()),
        "heaviest": heaviest,
    }
