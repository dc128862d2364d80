"""Batches of a table become rows: arrays if all features are numbers, else CSR matrices of named features and words.

Whoever reads a table, from a file or from memory, makes its rows here. How a model read files is its recipe, which
model files hold: anybody may have written those, so it is checked.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.features.cells import Collector, Contents, ListColumn, RecordSchema, Roles, SingleColumn, TextColumn
from perceptrons.features.columns import (
    ColumnPlaces,
    Columns,
    NamedRows,
    Names,
    assemble,
    local_names,
    order_of_occurrence,
)
from perceptrons.features.hashed import HashedText, cut_texts
from perceptrons.features.preparation import Preparation
from perceptrons.features.values import Recipe, as_iso, did_you_mean, listed, plain_value, require, shown


class TableRows(NamedTuple):
    """Rows of a batch that have no matrix yet. `named` is None where rows are arrays, `words` where there is no text.

    Numbers of 0 are among the named features, so that the counts of a batch are the sums of the counts of its rows.
    """

    numbers: np.ndarray
    named: NamedRows | None = None
    words: NamedRows | None = None
    text_of_word: np.ndarray | None = None  # which column of texts each word is from; None if there is one
    columns: ColumnPlaces | None = None  # of the named features, once they are located
    word_columns: ColumnPlaces | None = None


@dataclass(frozen=True, eq=False)
class TablePlan:
    """What the columns of a table are, and how they become features: as a recipe says, which model files hold."""

    roles: Roles
    preparation: Preparation
    text: HashedText | None = None  # how texts become words
    has_prefixes: bool = True  # are the words of several columns of texts told apart by the names of the columns?
    ignore: frozenset[str] = frozenset()  # keys of records
    strips_cells: bool = False  # do spaces around a category not count?

    @classmethod
    def from_recipe(cls, recipe: Recipe, columns: Columns) -> "TablePlan":
        """Return the plan of a model that was trained on tables. columns: those of the model."""
        label, texts = recipe.get("label_column"), recipe.get("text_column")
        roles = Roles(
            None if isinstance(label, list) else label, list(recipe["numbers"]), list(recipe.get("categories") or []),
            [texts] if isinstance(texts, str) else list(texts or []), list(recipe.get("optional") or []),
            label if isinstance(label, list) else [],
        )  # fmt: skip
        if recipe.get("preparation") is not None:
            preparation = Preparation.from_dict(recipe["preparation"])
        else:
            preparation = Preparation.without_scaling(roles.numbers, bool(roles.texts))
        return cls(
            roles, preparation, hashed_text(recipe, columns) if roles.texts else None, bool(recipe.get("prefix")),
            frozenset([*(recipe.get("ignore") or []), *roles.labels]),
            recipe.get("format") in ("csv", "tsv", "whitespace", "arff"),
        )  # fmt: skip

    @property
    def prefixes(self) -> list[str]:
        """What stands before the words of each column of texts: nothing if there is only one."""
        texts = self.roles.texts
        return [f"{name}=" for name in texts] if self.has_prefixes and len(texts) > 1 else []


class RowBuilder:
    """Makes rows of the batches of a table: `features`, in any thread, then `locate` in their order, then `matrix`."""

    def __init__(self, plan: TablePlan, columns: Columns) -> None:
        self.preparation, self._columns, self._text = plan.preparation, columns, plan.text
        self._rule = None if plan.text is None else plan.text.rule()
        self._prefixes, names = plan.prefixes, plan.preparation.number_names
        self.is_dense = plan.preparation.only_numbers(plan.roles) and columns.bits is None
        if self.is_dense and columns.frozen:  # are these the features of the model, and no others?
            self.is_dense = columns.n_columns == len(names) and {*columns.names()} == {*names}

    @cached_property
    def _number_names(self) -> Names:
        return local_names(*TextColumn.of(self.preparation.number_names))[1]

    def features(self, contents: Contents, into: np.ndarray | None = None) -> TableRows:
        """Return the features of a batch whose cells are derived, without their columns. into: room for the numbers."""
        numbers, singles = self.preparation.apply(contents, into)
        if self.is_dense and not contents.lists:
            return TableRows(numbers)
        # records that have few of the numbers have them in lists
        number_names = self.preparation.number_names if numbers.shape[1] else []
        named = name_features(numbers, number_names, singles, contents.lists)
        if self._text is None or self._rule is None or not contents.texts:
            return TableRows(numbers, named)
        texts = contents.texts
        if not self._prefixes and len(texts) > 1:  # those of a row are read as one
            texts = [TextColumn.of(map(b"\n".join, zip(*(column.texts() for column in texts), strict=True)))]
        words = [cut_texts(self._text, column, self._rule) for column in texts]
        return TableRows(numbers, named, *(join_words(words, self._prefixes) if self._prefixes else words))

    def locate(self, rows: TableRows) -> TableRows:
        """Give the names of a batch their columns: once, as names are counted, and in the order of the batches."""
        if rows.named is None:
            return rows
        columns, words = self._columns, rows.words
        if words is not None and not columns.frozen and len(words.starts) > 2:
            self._number_row_by_row(rows.named, words)
        word_columns = None if words is None else columns.find(words.names)
        return rows._replace(columns=columns.find(rows.named.names), word_columns=word_columns)

    def _number_row_by_row(self, named: NamedRows, words: NamedRows) -> None:
        """Give new names their columns in the order of the rows, in a row named features first; counts nothing yet."""
        new, new_words = (np.flatnonzero(~self._columns.knows(rows.names)) for rows in (named, words))
        if len(new) and len(new_words):
            names = named.names.take(new).followed_by(words.names.take(new_words))
            first_rows = np.concatenate([named.first_rows()[new], words.first_rows()[new_words]])
            names = names.take(np.argsort(first_rows, kind="stable"))
            self._columns.find(names._replace(counts=np.zeros_like(names.counts)))

    def matrix(self, rows: TableRows) -> np.ndarray | sp.csr_matrix:
        """Return the matrix of a batch that is located.

        Words have float32, and where they are weighted, every column of texts has length 1 by itself, so that a title
        beside a long text counts.
        """
        n_columns = self._columns.n_columns
        if rows.named is None or rows.columns is None:
            counts = np.full(rows.numbers.shape[1], len(rows.numbers))
            places = self._columns.find(self._number_names._replace(counts=counts)).columns
            return rows.numbers if (np.diff(places) == 1).all() else rows.numbers[:, np.argsort(places)]
        named = rows.named.without_zeros()
        if rows.words is None or rows.word_columns is None or self._text is None:
            if self._columns.bits is None:
                return _float64_matrix(named, rows.columns, n_columns)
            return assemble(named, rows.columns, n_columns)
        words, weights, norm = rows.words, self.preparation.term_weights, self._text.norm
        if weights is not None:
            amounts = words.amounts * weights.of(rows.word_columns.columns)[words.numbers]
            if norm is not None:
                amounts /= _text_lengths(rows, amounts * (rows.word_columns.columns >= 0)[words.numbers])
            words, norm = words._replace(amounts=amounts), None
            named = named._replace(amounts=named.amounts * weights.beside)
        X = assemble(words, rows.word_columns, n_columns, norm)
        if len(named.numbers):
            X = X + assemble(named, rows.columns, n_columns)
            X.sort_indices()  # SciPy leaves them in an order that depends on the other rows of the block
        return X


def name_features(
    values: np.ndarray, value_names: list[str], singles: list[SingleColumn], lists: list[ListColumn]
) -> NamedRows:
    """Return numbers by the names of their columns, then features of which a row has one, then those of lists.

    Names are numbered as they come, row by row and in a row from left to right.
    """
    n, n_numbers = values.shape
    column_names = [*(single.names for single in singles), *(part.names for part in lists)]
    all_names = [*value_names, *chain.from_iterable(column_names)]
    codes, names = local_names(*TextColumn.of(all_names))
    ends = np.cumsum([n_numbers, *map(len, column_names)])
    lookups = [np.append(part, np.int32(-1)) for part in np.split(codes, ends)[1:]]  # code -1 is the last place
    numbers, amounts = np.empty((n, n_numbers + len(singles)), np.int32), np.ones((n, n_numbers + len(singles)))
    numbers[:, :n_numbers], amounts[:, :n_numbers] = codes[:n_numbers], values
    for place, (single, lookup) in enumerate(zip(singles, lookups, strict=False), n_numbers):
        numbers[:, place] = lookup[single.codes]
        if single.amounts is not None:
            amounts[:, place] = single.amounts
    present = numbers >= 0
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    numbers, amounts = numbers[present], amounts[present]
    if lists:
        rows = np.concatenate([np.repeat(np.arange(n), np.diff(starts)), *(part.rows for part in lists)])
        order = np.argsort(rows, kind="stable")
        more = [lookup[part.codes] for part, lookup in zip(lists, lookups[len(singles) :], strict=False)]
        numbers = np.concatenate([numbers, *more])[order]
        amounts = np.concatenate([amounts, *(part.amounts for part in lists)])[order]
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    names = names._replace(counts=np.bincount(numbers, minlength=len(names.counts)))
    return NamedRows(starts, numbers, amounts, names).with_names(order_of_occurrence(numbers, len(names.counts)))


def join_words(columns: list[NamedRows], prefixes: list[str]) -> tuple[NamedRows, np.ndarray]:
    """Return the words of several columns of texts as rows, and the column of each name. prefixes: of the names."""
    order = np.argsort(np.concatenate([rows.row_of_entries() for rows in columns]), kind="stable")
    sizes = [len(rows.names.counts) for rows in columns]
    begins = np.cumsum([0, *sizes[:-1]], dtype=np.int32)
    numbers = np.concatenate([rows.numbers + begin for rows, begin in zip(columns, begins, strict=True)])[order]
    encoded = [
        prefix.encode() + name for rows, prefix in zip(columns, prefixes, strict=True) for name in rows.names.as_bytes()
    ]
    names = Names.of(
        np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)]),
        np.concatenate([rows.names.counts for rows in columns]),
    )  # fmt: skip
    starts = np.sum([rows.starts for rows in columns], axis=0)
    joined = NamedRows(starts, numbers, np.concatenate([rows.amounts for rows in columns])[order], names)
    names_in_order = order_of_occurrence(numbers, len(encoded))
    return joined.with_names(names_in_order), np.repeat(np.arange(len(columns)), sizes)[names_in_order]


def unnamed_keys(columns: Columns, names: list[str], words: bool) -> frozenset[str]:
    """Return keys that have columns in a model, though they are not named. words: may a name be a word of a text?"""
    keys, names_used = (name.partition("=") for name in columns.names()), {*names}
    return frozenset(key for key, equals, _ in keys if key not in names_used and (equals or not words))


def _text_lengths(rows: TableRows, amounts: np.ndarray) -> np.ndarray:
    """Return for every word the Euclidean length of its text."""
    assert rows.words is not None
    texts = rows.words.row_of_entries()
    if rows.text_of_word is not None:
        texts = texts * (int(rows.text_of_word.max(initial=0)) + 1) + rows.text_of_word[rows.words.numbers]
    lengths = np.sqrt(np.bincount(texts, amounts * amounts))
    return np.where(lengths > 0, lengths, 1.0)[texts]


def _float64_matrix(rows: NamedRows, places: ColumnPlaces, n_columns: int) -> sp.csr_matrix:
    """Return rows of features that have columns to themselves; those without a column are dropped."""
    if (places.columns < 0).any():
        rows = rows.part(places.columns[rows.numbers] >= 0)
    arrays = rows.amounts, places.columns[rows.numbers].astype(np.int32), rows.starts.astype(np.int32)
    return sp.csr_matrix(arrays, shape=(len(rows.starts) - 1, n_columns), copy=False)


# ---- examples in memory

RECIPE_TYPES: dict[str, tuple[type, ...]] = {
    "format": (str,), "form": (str,), "dtype": (str,), "label_column": (str, int, list), "text_column": (str, list),
    "text": (dict,), "preparation": (dict,), "encoding": (str,), "zero_based": (bool,), "prefix": (bool,),
    "decimal": (str,), "text_labels": (bool,), "multilabel": (bool,), "label_separator": (str,),
    "hash_bits": (int,), "quadratic": (list,), "cubic": (list,), "numbers": (list,), "categories": (list,),
    "ignore": (list,), "optional": (list,), "names": (list,),
}  # fmt: skip


def rows_of_examples(X: Any, source: Recipe, columns: Columns) -> Any:
    """Return examples as the matrix that the reader of the files would make of them.

    X: a frame (pandas, polars, pyarrow) or a list of records for tables, a list of texts for texts. columns: those of
    the model; frozen, so that what it has no column for is left out, or growing.
    """
    if source.get("format") == "text":
        return hashed_text(source, columns).rows(X, columns)
    if "numbers" not in source:
        raise TypeError(
            f"This model was trained on {source.get('format')} files: give rows of numbers, or read lines in this "
            "format with perceptrons.data.stream(io.StringIO(lines), like=model)."
        )
    plan = TablePlan.from_recipe(source, columns)
    other_keys = unnamed_keys(columns, plan.roles.features, words=bool(plan.roles.texts))
    contents = read_cells(X, plan, other_keys, closed=columns.frozen and not other_keys)
    builder = RowBuilder(plan, columns)
    return builder.matrix(builder.locate(builder.features(contents)))


def read_cells(X: Any, plan: TablePlan, other_keys: frozenset[str] = frozenset(), closed: bool = True) -> Contents:
    """Return the cells of a frame or of records, dates and flags as what they mean. ValueError names a cell that fails.

    other_keys: keys of records, beside the columns, that the model knows. closed: do only the columns have features?
    """
    schema = RecordSchema(
        plan.roles, plan.ignore, closed, need_labels=False, sparse=False, strip=plan.strips_cells,
        missing=plan.preparation.missing_values,
    )  # fmt: skip
    is_frame = hasattr(X, "columns") or hasattr(X, "column_names")
    contents = _frame_cells(X, schema) if is_frame else _record_cells(X, schema, other_keys)
    contents, invalid = plan.preparation.derive(contents)
    for row, name, message in invalid:
        raise ValueError(f"X, row {row}, column {shown(name)}: {message}.")
    return contents


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


def hashed_text(recipe: Recipe, columns: Columns) -> HashedText:
    """Return how the texts of a recipe become features of these columns."""
    hashing = {"bits": columns.bits, "signed": columns.signed, "seed": columns.seed}
    return HashedText(**dict(recipe.get("text") or {}) | hashing)


def check_recipe(recipe: Any) -> None:
    """Raise ValueError for a recipe of reading that no reader wrote."""
    require(isinstance(recipe, dict) and isinstance(recipe.get("format"), str), "a recipe of reading")
    for name, value in recipe.items():
        require(value is None or isinstance(value, RECIPE_TYPES.get(name, (object,))), f"a recipe with a sound {name}")
        if isinstance(value, list):
            require(all(isinstance(column, str) for column in value), f"columns in {name}")
    if recipe.get("text") is not None:
        HashedText(**recipe["text"])._check()
    if recipe.get("preparation") is not None:
        preparation = Preparation.from_dict(recipe["preparation"])
        numbers = [*(recipe.get("numbers") or []), *preparation.derived_numbers()]
        require(list(preparation.names) == numbers, "the numbers of the table in its preparation")
        categories = {*(recipe.get("categories") or [])}
        require({*preparation.dates, *preparation.flags} <= categories, "columns of the table in its preparation")
        column_names = {*numbers, *categories, *preparation.derived_categories()}
        require({name for pair in preparation.pairs for name in pair} <= column_names, "products of its columns")
