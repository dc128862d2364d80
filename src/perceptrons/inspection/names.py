"""The names of features: of frames, of dicts, of files, or of columns."""

from typing import Any

from perceptrons.engine.training.feature_names import ColumnNames

MAX_LISTED_NAMES = 1000


class FromZero:
    """Names of columns in files that count from 0."""

    def __getitem__(self, column: int) -> str:
        return str(column)


Names = list[str] | ColumnNames | FromZero | None


def names_in_files(model: Any) -> Names:
    """Return the names that files have for the features of a model; None: numbers from 1."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return list(names)
    columns = getattr(model, "columns_", None)
    if columns is not None:
        return ColumnNames(columns)
    return FromZero() if (getattr(model, "source_", None) or {}).get("zero_based") else None


def name_of(names: Names, column: int) -> str:
    """Return the name of a feature, or its column as files count them, from 1."""
    if isinstance(names, ColumnNames):
        return names.called([column])[0].names[0]
    if names is None:
        return f"column {column + 1}"
    name = names[column]
    return f"column {name}" if name.isdecimal() else name


class NameLookup:
    """Looks up the names that files have for features when they are needed."""

    def __init__(self, names: Names):
        self._names = names

    def __getitem__(self, column: int) -> str:
        return name_of(self._names, column)


def names_as_files(model: Any) -> NameLookup | None:
    """Return names as files have them; None if the model stores names itself."""
    names = names_in_files(model)
    return None if isinstance(names, ColumnNames) else NameLookup(names)


def names_of_table(table: Any) -> list[str] | dict[int, str] | None:
    """Return the names of the features of a table; of hashed ones by column, with - for a negative sign."""
    names, columns = table.feature_names, table.columns
    if columns is None or columns.bits is None:
        return None if names is None else [name_of(names, k) for k in range(len(names))]
    places = sorted(set(columns.columns.tolist()))
    features = ColumnNames(columns).called(places)
    return {
        place: "-" * (one.signs[0] < 0) + one.names[0] + f" and {len(one.names) - 1} more" * (len(one.names) > 1)
        for place, one in zip(places, features, strict=True)
    }


def listed_names(model: Any) -> list[str] | None:
    """Return all names in the order of the columns, if every column has one and there are not too many."""
    names = names_in_files(model)
    if isinstance(names, ColumnNames):
        columns = names.columns
        return columns.names() if columns.bits is None and columns.n_names <= MAX_LISTED_NAMES else None
    return names if isinstance(names, list) else None
