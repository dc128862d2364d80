"""What the features of a model are called: by a frame or dicts, by a stream that kept names, or by their columns."""

from collections.abc import Iterable
from typing import Any

import numpy as np


def names_of(model: Any, columns: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """What a model calls these columns, and the sign by which the first name of each counts in it."""
    signs = np.ones(len(columns))
    if hasattr(model, "feature_names_in_"):
        names = model.feature_names_in_
        return tuple(str(names[column]) for column in columns.tolist()), signs
    if hasattr(model, "columns_"):
        return _of_columns(model.columns_, columns, signs)
    return tuple(f"x{column}" for column in columns.tolist()), signs


def _of_columns(known: Any, columns: np.ndarray, signs: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """The names that came from a stream, the most frequent of a column first."""
    numbers = np.flatnonzero(np.isin(known.columns, columns))
    numbers = numbers[np.argsort(-known.counts[numbers], kind="stable")]
    by_column: dict[int, list[int]] = {}
    for number, column in zip(numbers.tolist(), known.columns[numbers].tolist(), strict=True):
        by_column.setdefault(column, []).append(number)
    all_signs = known.signs
    names = []
    for k, column in enumerate(columns.tolist()):
        mine = by_column.get(column, [])
        names.append(_joined(known.names(mine[:3]), len(mine)) if mine else f"x{column}")
        signs[k] = all_signs[mine[0]] if mine else 1.0
    return tuple(names), signs


def _joined(names: Iterable[str], total: int) -> str:
    names = list(names)
    return " | ".join(names) + (f" | {total - len(names)} more" if total > len(names) else "")
