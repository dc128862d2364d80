"""Examples in memory, frames, records and texts, become the rows that a model learned from when it read files.

How it read files is its recipe, which model files and caches hold: anybody may have written those, so it is checked.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.features.cells import Collector, Contents, RecordSchema, Roles
from perceptrons.features.column_options import ColumnOptions
from perceptrons.features.columns import Columns
from perceptrons.features.hashed import HashedText
from perceptrons.features.preparation import Preparation, preparation_without_data
from perceptrons.features.rows import RowBuilder, unnamed_keys
from perceptrons.features.values import Recipe, as_iso, did_you_mean, listed, plain_value, require, shown

NAMED = ("numbers", "categories", "ignore", "optional", "names")  # lists of columns of tables
KINDS: dict[str, tuple[type, ...]] = {
    "format": (str,), "form": (str,), "dtype": (str,), "label_column": (str, int, list), "text_column": (str, list),
    "text": (dict,), "preparation": (dict,), "encoding": (str,), "zero_based": (bool,), "prefix": (bool,),
    "decimal": (str,), "text_labels": (bool,), "multilabel": (bool,), "label_separator": (str,),
    "hash_bits": (int,), "quadratic": (list,), "cubic": (list,),
    **dict.fromkeys(NAMED, (list,)),
}  # fmt: skip


def given_rows(X: Any, source: Recipe, columns: Columns) -> Any:
    """Return examples as the matrix that the reader of the files would make of them.

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
    other_keys = unnamed_keys(columns, roles.features, words=bool(roles.texts))
    contents = read_cells(X, source, roles, preparation, other_keys, closed=columns.frozen and not other_keys)
    text = _text_of(source, columns) if roles.texts else None
    builder = RowBuilder(preparation, roles, columns, text, bool(source.get("prefix")))
    return builder.matrix(builder.locate(builder.features(contents)))


def read_cells(
    X: Any, source: Recipe, roles: Roles, preparation: Preparation, other_keys: frozenset[str] = frozenset(),
    closed: bool = True,
) -> Contents:  # fmt: skip
    """Return the cells of a frame or of records, dates and flags as what they mean. ValueError names a cell that fails.

    other_keys: keys of records, beside the columns, that the model knows. closed: do only the columns have features?
    """
    schema = RecordSchema(
        roles, frozenset([*(source.get("ignore") or []), *roles.labels]), closed, need_labels=False, sparse=False,
        strip=source.get("format") in ("csv", "tsv", "whitespace", "arff"), missing=preparation.missing_values,
    )  # fmt: skip
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        contents = _frame_cells(X, schema)
    else:
        contents = _record_cells(X, schema, other_keys)
    contents, misfits = preparation.derive(contents)
    for row, name, message in misfits:
        raise ValueError(f"X, row {row}, column {shown(name)}: {message}.")
    return contents


def roles_of(source: Recipe) -> Roles:
    """Return what the columns of a table are that a model learned from."""
    label = source.get("label_column")
    label, labels = (None, label) if isinstance(label, list) else (label, [])
    return Roles(
        label, list(source["numbers"]), list(source.get("categories") or []), _names(source.get("text_column")),
        list(source.get("optional") or []), labels,
    )  # fmt: skip


def preparation_of(source: Recipe, roles: Roles) -> Preparation:
    """Return how the cells of tables become features: as it was measured, or as they are."""
    if source.get("preparation") is not None:
        return Preparation.from_dict(source["preparation"])
    preparation = preparation_without_data(roles, Preparation(), ColumnOptions())
    assert preparation is not None
    return preparation


def _frame_cells(X: Any, schema: RecordSchema) -> Contents:
    """Return the cells of a frame of pandas, polars or pyarrow. Columns that the model does not know do not count."""
    roles, collector = schema.roles, Collector(X.shape[0], schema)
    names = {str(name): name for name in getattr(X, "column_names", X.columns)}
    required = [*roles.required(), *roles.texts]
    lacking = [name for name in required if name not in names]
    if lacking:
        hint = did_you_mean(lacking[0], [name for name in names if name not in required])
        raise ValueError(f"X has no column {listed(lacking)}{hint}, which the model was trained on: add it.")
    columns = {name: as_iso(np.asarray(X[names[name]])) for name in roles.features if name in names}
    for name, values in columns.items():
        for row, message in collector.put_column(name, values):
            raise ValueError(f"X, row {row}, column {shown(name)}: {message}.")
    return collector.contents(narrow=bool(columns) and all(values.dtype == np.float32 for values in columns.values()))


def _record_cells(X: Any, schema: RecordSchema, other_keys: frozenset[str]) -> Contents:
    """Return the cells of a list of dicts, or of texts for a model of one column of texts."""
    roles = schema.roles
    if isinstance(X, Mapping):
        raise TypeError("X is one record: put it in a list, [record], or call predict_one(record).")
    records = list(X)
    if len(roles.texts) == 1 and not roles.required() and all(isinstance(record, str) for record in records):
        records = [{roles.texts[0]: text} for text in records]
    collector = Collector(len(records), schema)
    for row, record in enumerate(records):
        if not isinstance(record, Mapping):
            kind = "a text" if isinstance(record, str) else f"{shown(str(record))}"
            raise TypeError(
                f"X, row {row}: {kind} is not a record: this model was trained on a table, so give a dict or a "
                f"frame with {listed(roles.features)}."
            )
    for row, record in enumerate(records):
        misfit = collector.take(row, {str(name): plain_value(value) for name, value in record.items()})
        if misfit is not None:
            raise ValueError(f"X, row {row}: {misfit.message}.")
    keys = {*collector.names, *other_keys}
    unknown = dict.fromkeys(str(name) for record in records for name in record if str(name) not in keys)
    if unknown and (schema.closed or other_keys):
        lacking = [name for name in roles.features if not all(name in record for record in records)]
        names = [f"{shown(name)}{did_you_mean(name, lacking)}" for name in list(unknown)[:10]]
        warnings.warn(f"Left out, because the model does not know them: {', '.join(names)}.", stacklevel=7)
    return collector.contents()


def _text_of(source: Recipe, columns: Columns) -> HashedText:
    """Return how texts become features."""
    text = dict(source.get("text") or {}) | {"bits": columns.bits, "signed": columns.signed, "seed": columns.seed}
    return HashedText(**text)


def _names(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names or [])


def check_recipe(recipe: Any) -> None:
    """Raise ValueError for a recipe of reading that no reader wrote."""
    require(isinstance(recipe, dict) and isinstance(recipe.get("format"), str), "a recipe of reading")
    for name, value in recipe.items():
        require(value is None or isinstance(value, KINDS.get(name, (object,))), f"a recipe with a sound {name}")
        if isinstance(value, list):
            require(all(isinstance(column, str) for column in value), f"columns in {name}")
    if recipe.get("text") is not None:
        HashedText(**recipe["text"])._check()
    if recipe.get("preparation") is not None:
        preparation = Preparation.from_dict(recipe["preparation"])
        there = [*(recipe.get("numbers") or []), *preparation.derived_numbers()]
        require(list(preparation.names) == there, "the numbers of the table in its preparation")
        used = {*(recipe.get("categories") or [])}
        require({*preparation.dates, *preparation.flags} <= used, "columns of the table in its preparation")
        column_names = {*there, *used, *preparation.derived_categories()}
        require({name for pair in preparation.pairs for name in pair} <= column_names, "products of its columns")
