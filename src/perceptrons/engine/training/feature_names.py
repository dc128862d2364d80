"""The names of a model's features, and the units of their values."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

ROUNDING = 1e-6  # relative to the centre that was subtracted: about the precision of float32
MAX_NAMES_PER_COLUMN = 3  # further names that share a hashed column are only counted


class ColumnFeatures(NamedTuple):
    """The features that share one column, the most frequent first, and the sign by which each counts."""

    names: list[str]
    signs: list[int]


class ColumnNames:
    """Look up the names of columns on demand, because there may be millions of columns."""

    def __init__(self, columns: Any):
        self.columns = columns
        self._signs: np.ndarray | None = None

    def numbers(self, places: Iterable[int]) -> dict[int, list[int]]:
        """Return the feature numbers of each of these columns that has features, the most frequent first."""
        homes, counts = self.columns.columns, self.columns.counts
        numbers = np.flatnonzero(np.isin(homes, np.asarray(places)))
        numbers = numbers[np.argsort(-counts[numbers], kind="stable")]
        by_column: dict[int, list[int]] = {}
        for number, home in zip(numbers.tolist(), homes[numbers].tolist(), strict=True):
            by_column.setdefault(home, []).append(number)
        return by_column

    def called(self, places: list[int]) -> list[ColumnFeatures]:
        """Return the features of these columns; a column without a stored name is called by its number from 1."""
        numbers = self.numbers(places)
        return [
            ColumnFeatures(self.columns.names(numbers[place]), self.signs[numbers[place]].astype(int).tolist())
            if place in numbers
            else ColumnFeatures([f"column {place + 1}"], [1])
            for place in places
        ]

    @property
    def signs(self) -> np.ndarray:
        if self._signs is None:
            self._signs = self.columns.signs
        return self._signs


def names_of(model: Any, columns: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the model's names of these columns, and the sign by which the first name of each counts in it."""
    signs = np.ones(len(columns))
    if hasattr(model, "feature_names_in_"):
        names = model.feature_names_in_
        return tuple(str(names[column]) for column in columns.tolist()), signs
    if not hasattr(model, "columns_"):
        return tuple(f"x{column}" for column in columns.tolist()), signs
    lookup, labels = ColumnNames(model.columns_), []
    by_column = lookup.numbers(columns)
    for k, column in enumerate(columns.tolist()):
        numbers = by_column.get(column, [])
        n_more = len(numbers) - MAX_NAMES_PER_COLUMN
        names = lookup.columns.names(numbers[:MAX_NAMES_PER_COLUMN]) + [f"{n_more} more"] * (n_more > 0)
        labels.append(" | ".join(names) if numbers else f"x{column}")
        signs[k] = lookup.signs[numbers[0]] if numbers else 1.0
    return tuple(labels), signs


class Unit(NamedTuple):
    """The centre that was subtracted from a number, and the scale that it was divided by."""

    centre: float
    scale: float

    def value(self, scaled: float) -> float:
        """Return a scaled value in the units of the data."""
        return scaled * self.scale + self.centre

    def shown(self, scaled: float) -> str:
        """Format a scaled value in the units of the data; a mere rounding error is shown as 0."""
        value = self.value(scaled)
        return f"{value if abs(value) > ROUNDING * abs(self.centre) else 0.0:.6g}"


Units = Mapping[str, Unit]
UNSCALED = Unit(0.0, 1.0)


def units_of_preparation(preparation: Mapping[str, Any] | None) -> dict[str, Unit]:
    """Return the units of the features that a preparation (as recipes store it) scaled or centred, by name."""
    if preparation is None:
        return {}
    has_words = preparation["beside_words"]
    names = [name if "=" in name or not has_words else f"{name}=" for name in preparation["names"]]
    scales = [scale / factor_beside_words(preparation) for scale in preparation["scales"]]
    units = zip(names, map(Unit, preparation["centres"], scales), strict=True)
    return {name: unit for name, unit in units if unit != UNSCALED}


def factor_beside_words(preparation: Mapping[str, Any]) -> float:
    """Return the factor that scaled numbers are multiplied by when they stand beside texts."""
    return float((preparation.get("term_weights") or {}).get("beside", 1.0))


def units_of(model: Any) -> dict[str, Unit]:
    """Return the units of a model's scaled or centred features; a model that learned from arrays has none."""
    return units_of_preparation((getattr(model, "source_", None) or {}).get("preparation"))


def raw_values(units: Units, features: Iterable[str], values: np.ndarray) -> np.ndarray:
    """Return the values in the units of the data; NaN for a feature that was not scaled."""
    pairs = zip(features, values.tolist(), strict=True)
    return np.array([units[name].value(value) if name in units else np.nan for name, value in pairs])
