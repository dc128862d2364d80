"""What the features of a model are called: by a frame or dicts, by a stream that kept names, or by their columns."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

FEW = 1000  # up to this number, all names are listed


class Features(NamedTuple):
    """A column by its features, the most frequent first, and the sign by which each of them counts."""

    names: list[str]
    signs: list[int]


class ColumnNames:
    """Names of columns, looked up as they are needed: there may be millions of columns."""

    def __init__(self, columns: Any):
        self.columns = columns
        self._signs: np.ndarray | None = None

    def numbers(self, places: Iterable[int]) -> dict[int, list[int]]:
        """For those of the columns that have features, their numbers, the most frequent first."""
        homes, counts = self.columns.columns, self.columns.counts
        numbers = np.flatnonzero(np.isin(homes, np.asarray(places)))
        numbers = numbers[np.argsort(-counts[numbers], kind="stable")]
        found: dict[int, list[int]] = {}
        for number, home in zip(numbers.tolist(), homes[numbers].tolist(), strict=True):
            found.setdefault(home, []).append(number)
        return found

    def called(self, places: list[int]) -> list[Features]:
        """How these columns are called; one that nobody is remembered for, by its number from 1."""
        found = self.numbers(places)
        return [
            Features(self.columns.names(found[place]), self.signs[found[place]].astype(int).tolist())
            if place in found
            else Features([f"column {place + 1}"], [1])
            for place in places
        ]

    @property
    def signs(self) -> np.ndarray:
        if self._signs is None:
            self._signs = self.columns.signs
        return self._signs


class FromZero:
    """Names of columns in files that count from 0."""

    def __getitem__(self, column: int) -> str:
        return str(column)


Names = list[str] | ColumnNames | FromZero | None


def names_of(model: Any, columns: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """What a model calls these columns, and the sign by which the first name of each counts in it."""
    signs = np.ones(len(columns))
    if hasattr(model, "feature_names_in_"):
        names = model.feature_names_in_
        return tuple(str(names[column]) for column in columns.tolist()), signs
    if not hasattr(model, "columns_"):
        return tuple(f"x{column}" for column in columns.tolist()), signs
    known, called = ColumnNames(model.columns_), []
    numbers = known.numbers(columns)
    for k, column in enumerate(columns.tolist()):
        mine = numbers.get(column, [])
        more = [f"{len(mine) - 3} more"] if len(mine) > 3 else []
        called.append(" | ".join([*known.columns.names(mine[:3]), *more]) if mine else f"x{column}")
        signs[k] = known.signs[mine[0]] if mine else 1.0
    return tuple(called), signs


def names_in_files(model: Any) -> Names:
    """How files call the features of a model; None: by their numbers from 1."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return list(names)
    columns = getattr(model, "columns_", None)
    if columns is not None:
        return ColumnNames(columns)
    return FromZero() if (getattr(model, "source_", None) or {}).get("zero_based") else None


def name_of(names: Names, column: int) -> str:
    """How a feature is called: by its name, or by its column as files count them, from 1."""
    if isinstance(names, ColumnNames):
        return names.called([column])[0].names[0]
    if names is None:
        return f"column {column + 1}"
    name = names[column]
    return f"column {name}" if name.isdecimal() else name


class NameLookup:
    """What files call the features of a model, looked up as they are needed."""

    def __init__(self, names: Names):
        self._names = names

    def __getitem__(self, column: int) -> str:
        return name_of(self._names, column)


def names_as_files(model: Any) -> NameLookup | None:
    """Names as files have them; None where the model knows them by itself."""
    names = names_in_files(model)
    return None if isinstance(names, ColumnNames) else NameLookup(names)


def names_of_table(table: Any) -> list[str] | dict[int, str] | None:
    """How the features of a table are called; of hashed ones by column, with - before those that count negatively."""
    names, columns = table.feature_names, table.columns
    if columns is None or columns.bits is None:
        return None if names is None else [name_of(names, k) for k in range(len(names))]
    places = sorted(set(columns.columns.tolist()))
    called = ColumnNames(columns).called(places)
    return {
        place: "-" * (one.signs[0] < 0) + one.names[0] + f" and {len(one.names) - 1} more" * (len(one.names) > 1)
        for place, one in zip(places, called, strict=True)
    }


def listed_names(model: Any) -> list[str] | None:
    """All names in the order of the columns, if every column has one and they are not too many."""
    names = names_in_files(model)
    if isinstance(names, ColumnNames):
        columns = names.columns
        return columns.names() if columns.bits is None and columns.n_names <= FEW else None
    return names if isinstance(names, list) else None
