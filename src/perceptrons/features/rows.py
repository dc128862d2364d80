"""Batches of a table become rows: arrays if all features are numbers, else CSR matrices of named features and words.

Whoever reads a table, from a file or from memory, makes its rows here.
"""

from itertools import chain
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.features.cells import Contents, ListColumn, Roles, SingleColumn, TextColumn
from perceptrons.features.columns import Columns
from perceptrons.features.hashed import HashedText
from perceptrons.features.named_rows import (
    ColumnPlaces,
    NamedRows,
    Names,
    assemble,
    local_names,
    order_of_occurrence,
)
from perceptrons.features.preparation import Preparation


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


class RowBuilder:
    """Makes rows of the batches of a table: `features`, in any thread, then `locate` in their order, then `matrix`."""

    def __init__(
        self, preparation: Preparation, roles: Roles, columns: Columns, text: HashedText | None, prefix: bool = True
    ) -> None:
        names = preparation.number_names
        self.preparation, self._columns, self._text = preparation, columns, text
        self._rule = None if text is None else text.rule()
        self._prefixes = text_prefixes(roles.texts) if prefix else []
        self._number_names = local_names(*TextColumn.of(names))[1]
        has_same_names = columns.n_columns == len(names) and {*columns.names()} == {*names}
        self.is_dense = (
            preparation.only_numbers(roles) and columns.bits is None and (not columns.frozen or has_same_names)
        )

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
        words = [self._text.cut(column, self._rule) for column in texts]
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


def text_prefixes(columns: list[str]) -> list[str]:
    """Return what stands before the words of each column of texts: nothing if there is only one."""
    return [f"{name}=" for name in columns] if len(columns) > 1 else []


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
