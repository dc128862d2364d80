"""Examples in memory, frames, records and texts, become the rows that a model learned from when it read files.

How it read files is its recipe, which model files and caches hold: anybody may have written those, so it is checked.
"""

import warnings
from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np

from perceptrons.features.cells import NUMBER, Collector, Known, MisfitError, Roles
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.columns import Columns
from perceptrons.features.named_rows import Workspace
from perceptrons.features.preparation import Derived, Preparation, planned
from perceptrons.features.table_rows import (
    are_dense,
    dense_rows,
    find_columns,
    further_keys,
    number_names,
    sparse_rows,
    text_prefixes,
    to_rows,
)
from perceptrons.features.text import HashedText
from perceptrons.features.values import LARGEST, as_iso, did_you_mean, is_missing, listed, shown

NAMED = ("numbers", "categories", "ignore", "optional", "names")  # lists of columns of tables
KINDS: dict[str, tuple[type, ...]] = {
    "format": (str,), "form": (str,), "dtype": (str,), "label_column": (str, int, list), "text_column": (str, list),
    "text": (dict,), "preparation": (dict,), "encoding": (str,), "zero_based": (bool,), "prefix": (bool,),
    "decimal": (str,), "text_labels": (bool,), "multilabel": (bool,), "label_separator": (str,),
    "hash_bits": (int,), "quadratic": (list,), "cubic": (list,),
    **dict.fromkeys(NAMED, (list,)),
}  # fmt: skip
Source = Mapping[str, Any]  # how files were read: the arguments of `perceptrons.data.stream`


def given_rows(X: Any, source: Source, columns: Columns) -> Any:
    """Examples as the matrix that the reader of the files would make of them.

    X: a frame (pandas, polars, pyarrow) or a list of records for tables, a list of texts for texts. columns: those of
    the model; frozen, so that what it has no column for is left out, or growing.
    """
    if source.get("format") == "text":
        return _text_of(source, columns).rows(X, columns)
    if "numbers" not in source:
        raise TypeError(
            f"This model was trained on {source.get('format')} files: give rows of numbers, or read lines in this "
            "format with perceptrons.data.stream(io.StringIO(lines), like=model)."
        )
    roles = roles_of(source)
    preparation = preparation_of(source, roles)
    table = Frame(X) if hasattr(X, "columns") or hasattr(X, "column_names") else Records(X, roles)
    further = further_keys(columns, [*roles.numbers, *roles.categories, *roles.texts], words=bool(roles.texts))
    known = Known(
        roles, frozenset([*(source.get("ignore") or []), *roles.labels]), closed=columns.frozen and not further,
        need_labels=False, sparse=False, strip=source.get("format") in ("csv", "tsv", "whitespace", "arff"),
        missing=preparation.words,
    )  # fmt: skip
    collector = Collector(len(table), known)
    table.put_into(collector, further)
    return _matrix(collector, preparation, table.narrow, source, columns)


def roles_of(source: Source) -> Roles:
    """Return what the columns of a table are that a model learned from."""
    label = source.get("label_column")
    label, labels = (None, label) if isinstance(label, list) else (label, [])
    return Roles(
        label, list(source["numbers"]), list(source.get("categories") or []), _names(source.get("text_column")),
        list(source.get("optional") or []), labels,
    )  # fmt: skip


def preparation_of(source: Source, roles: Roles) -> Preparation:
    """How the cells of tables become features: as it was measured, or as they are."""
    if source.get("preparation") is not None:
        return Preparation.from_dict(source["preparation"])
    found = planned(roles, Derived(), ColumnOptions())
    assert found is not None
    return found


def _matrix(collector: Collector, preparation: Preparation, narrow: bool, source: Source, columns: Columns) -> Any:
    roles, contents = collector.known.roles, collector.contents()
    if narrow:
        contents = contents._replace(numbers=contents.numbers.astype(np.float32))
    contents, strange = preparation.derive(contents)
    for row, name, what in strange:
        raise ValueError(f"X, row {row}, column {shown(name)}: {what}.")
    ready = preparation.apply(contents)
    names, text = ready.number_names, _text_of(source, columns) if roles.texts else None
    dense = are_dense(names, columns, preparation.only_numbers(roles)) and not contents.further
    prefixes = text_prefixes(roles.texts) if source.get("prefix") else []
    rows = to_rows(ready, dense, None if text is None else text.rule(), prefixes, Workspace())
    if rows.named is None:
        return dense_rows(rows.values, number_names(names), columns)
    return sparse_rows(find_columns(rows.named, rows.words, columns), columns, text, preparation.term_weights)


class Frame:
    """A table whose columns have names: pandas, polars, pyarrow. Columns that the model does not know do not count."""

    def __init__(self, X: Any):
        names = list(getattr(X, "column_names", X.columns))
        self._names = [str(name) for name in names]
        self._columns = {str(name): X[name] for name in names}
        self._n = X.shape[0]
        self.narrow = False

    def __len__(self) -> int:
        return self._n

    def put_into(self, collector: Collector, further: frozenset[str]) -> None:
        roles = collector.known.roles
        wanted = [*roles.required(), *roles.texts]
        missing = [name for name in wanted if name not in self._columns]
        if missing:
            hint = did_you_mean(missing[0], [name for name in self._names if name not in wanted])
            raise ValueError(f"X has no column {listed(missing)}{hint}, which the model was trained on: add it.")
        types = []
        for name in (*roles.numbers, *roles.categories, *roles.texts):
            if name in self._columns:
                types.append(self._put_column(collector, name, self._columns[name]))
        self.narrow = bool(types) and all(kind == np.float32 for kind in types)

    def _put_column(self, collector: Collector, name: str, column: Any) -> Any:
        role, place = collector.role_of[name]
        kind = np.dtype(object)
        if role == NUMBER:
            values = np.asarray(column)
            kind = values.dtype
            if kind.kind in "iuf":
                values = values.astype(np.float64)
                known = values[~np.isnan(values)] if collector.known.missing.texts else values
                if bool((np.abs(known) <= LARGEST).all()):
                    collector.numbers[:, place] = values
                    return kind
        for row, value in enumerate(_listed(column)):
            try:
                collector.put(row, name, role, place, value)
            except MisfitError as error:
                raise ValueError(f"X, row {row}, column {shown(name)}: {error}.") from error
        return kind


class Records:
    """A list of dicts, or of texts for a model of one column of texts."""

    narrow = False

    def __init__(self, X: Any, roles: Roles):
        if isinstance(X, Mapping):
            raise TypeError("X is one record: put it in a list, [record], or call predict_one(record).")
        self._records = list(X)
        alone = len(roles.texts) == 1 and not roles.required()
        if alone and all(isinstance(record, str) for record in self._records):
            self._records = [{roles.texts[0]: text} for text in self._records]
        for row, record in enumerate(self._records):
            if not isinstance(record, Mapping):
                what = "a text" if isinstance(record, str) else f"{shown(str(record))}"
                raise TypeError(
                    f"X, row {row}: {what} is not a record: this model was trained on a table, so give a dict or a "
                    f"frame with {listed([*roles.numbers, *roles.categories, *roles.texts])}."
                )

    def __len__(self) -> int:
        return len(self._records)

    def put_into(self, collector: Collector, further: frozenset[str]) -> None:
        for row, record in enumerate(self._records):
            plain = {str(name): _plain(value) for name, value in record.items()}
            misfit = collector.take(row, plain)
            if misfit is not None:
                raise ValueError(f"X, row {row}: {misfit.what}.")
        roles, known = collector.known.roles, {*collector.role_of, *further}
        unknown = dict.fromkeys(str(name) for record in self._records for name in record if str(name) not in known)
        named = [*roles.numbers, *roles.categories, *roles.texts]
        lacking = [name for name in named if not all(name in record for record in self._records)] if unknown else []
        if unknown and (collector.known.closed or further):
            which = [f"{shown(name)}{did_you_mean(name, lacking)}" for name in list(unknown)[:10]]
            warnings.warn(f"Left out, because the model does not know them: {', '.join(which)}.", stacklevel=6)


def _text_of(source: Source, columns: Columns) -> HashedText:
    """How texts become features."""
    text = dict(source.get("text") or {}) | {"bits": columns.bits, "signed": columns.signed, "seed": columns.seed}
    return HashedText(**text)


def _names(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names or [])


def _listed(column: Any) -> list[Any]:
    if "datetime64" in str(getattr(column, "dtype", "")):
        column = as_iso(np.asarray(column))
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            return [_plain(value) for value in getattr(column, name)()]
    return [_plain(value) for value in column]


def _plain(value: Any) -> Any:
    """A value as JSON would have it."""
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value):
        return None
    return value.isoformat() if isinstance(value, date) else value


def check_recipe(recipe: Any) -> None:
    """Raise ValueError for a recipe of reading that no reader wrote."""
    _demand(isinstance(recipe, dict) and isinstance(recipe.get("format"), str), "a recipe of reading")
    for name, value in recipe.items():
        _demand(value is None or isinstance(value, KINDS.get(name, (object,))), f"a recipe with a sound {name}")
        if isinstance(value, list):
            _demand(all(isinstance(column, str) for column in value), f"columns in {name}")
    if recipe.get("text") is not None:
        HashedText(**recipe["text"])._check()
    if recipe.get("preparation") is not None:
        kept = Preparation.from_dict(recipe["preparation"])
        there = [*(recipe.get("numbers") or []), *kept.derived.numbers()]
        _demand(list(kept.names) == there, "the numbers of the table in its preparation")
        used = {*(recipe.get("categories") or [])}
        _demand({*kept.derived.dates, *kept.derived.flags} <= used, "columns of the table in its preparation")
        known = {*there, *used, *kept.derived.categories()}
        _demand({name for pair in kept.products.pairs for name in pair} <= known, "products of its columns")


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"expected {what}")
