"""Cells of a table become rows: numbers by the names of their columns, categories one-hot, texts as words.

Whoever reads a table, from a file or from memory, makes its rows here.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.scan.words import Rule
from perceptrons.features.cells import CodedColumn, ListColumn, TextColumn, strings_of
from perceptrons.features.columns import Columns
from perceptrons.features.named_rows import (
    ColumnPlaces,
    LocalRows,
    Names,
    Workspace,
    assemble,
    assemble_values,
    cut_text,
    joined,
    keyed,
    local_names,
    order_of_coming,
    renumbered,
    worth,
)
from perceptrons.features.term_weights import TermWeights
from perceptrons.features.text import HashedText


class SingleColumn(NamedTuple):
    """Features of which a row has one, or none: which of the names, -1 for none, and its value (None: 1)."""

    codes: np.ndarray  # int32 (rows,)
    names: list[str]
    amounts: np.ndarray | None = None  # float64 (rows,)


class NamedRows(NamedTuple):
    """Rows of features by their numbers among the names of the piece."""

    starts: np.ndarray  # int64 (rows + 1,)
    numbers: np.ndarray  # int32
    amounts: np.ndarray  # float64
    names: Names
    first_rows: np.ndarray  # int64 (names,): the row in which each name came first


def name_features(
    values: np.ndarray, value_names: list[str], singles: list[SingleColumn], lists: list[ListColumn],
    workspace: Workspace,
) -> NamedRows:  # fmt: skip
    """Return numbers by the names of their columns, then features of which a row has one, then the others.

    Numbers of 0 are left out, but counted: so the counts of a block are the sums of the counts of its rows. Names are
    numbered as they come, row by row and in a row from left to right, numbers first.
    """
    n, n_numbers = values.shape
    columns = [(np.arange(n), single.codes, single.names) for single in singles]
    columns += [(part.rows, part.codes, part.names) for part in lists]
    lookups, names, first_rows = _numbered(value_names, columns, workspace)
    width = n_numbers + len(singles)
    numbers, amounts = np.empty((n, width), np.int32), np.ones((n, width))
    numbers[:, :n_numbers] = np.arange(n_numbers)
    amounts[:, :n_numbers] = values
    there = np.ones((n, width), bool)
    for place, single in enumerate(singles, n_numbers):
        numbers[:, place] = lookups[place - n_numbers][single.codes]
        there[:, place] = single.codes >= 0
        if single.amounts is not None:
            amounts[:, place] = single.amounts
    counts = np.bincount(numbers[there], minlength=len(names.counts))
    there &= amounts != 0
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    numbers, amounts = numbers[there], amounts[there]
    if lists:
        rows = np.concatenate([np.repeat(np.arange(n), np.diff(starts)), *(part.rows for part in lists)])
        order = np.argsort(rows, kind="stable")
        more = [lookup[part.codes] for lookup, part in zip(lookups[len(singles) :], lists, strict=True)]
        counts += np.bincount(np.concatenate(more), minlength=len(counts))
        numbers = np.concatenate([numbers, *more])[order]
        amounts = np.concatenate([amounts, *(part.amounts for part in lists)])[order]
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return NamedRows(starts, numbers, amounts, names._replace(counts=counts), first_rows)


def one_hot(categories: dict[str, CodedColumn]) -> list[SingleColumn]:
    """Return categories as features "column=value" of value 1."""
    return [
        SingleColumn(codes, [f"{column}={value}" for value in distinct])
        for column, (codes, distinct) in categories.items()
    ]


def _numbered(
    first: list[str], columns: list[tuple[np.ndarray, np.ndarray, list[str]]], workspace: Workspace
) -> tuple[list[np.ndarray], Names, np.ndarray]:
    """Return the number of every name of every column, the names, and the row in which each comes first.

    A column is the rows and codes of its entries, and the names of the codes; names that do not occur have number -1.
    """
    first_rows_of_codes, codes = [], []
    for rows, of_rows, all_names in columns:
        row_of = np.full(len(all_names) + 1, -1)
        row_of[of_rows[::-1]] = rows[::-1]  # of several the last one stays
        codes.append(np.flatnonzero(row_of[:-1] >= 0))
        first_rows_of_codes.append(row_of[codes[-1]])
    column = np.repeat(np.arange(len(columns)), [len(part) for part in codes])
    rows_of_entries = np.concatenate([np.empty(0, np.int64), *first_rows_of_codes])
    order = np.lexsort((column, rows_of_entries))
    texts = [columns[c][2][code] for c, part in enumerate(codes) for code in part.tolist()]
    encoded = strings_of(
        name.encode("utf-8", "surrogatepass") for name in (*first, *(texts[place] for place in order.tolist()))
    )
    numbers, names = local_names(*encoded, workspace)
    of_entry = np.empty(len(texts), np.int32)
    of_entry[order] = numbers[len(first) :]
    first_rows = np.full(len(names.counts), np.iinfo(np.int64).max)
    np.minimum.at(first_rows, of_entry, rows_of_entries)
    first_rows[numbers[: len(first)]] = 0
    lookups, begin = [], 0
    for (_, _, all_names), part in zip(columns, codes, strict=True):
        lookup = np.full(len(all_names) + 1, -1, np.int32)  # code -1 is the last place
        lookup[part] = of_entry[begin : begin + len(part)]
        begin += len(part)
        lookups.append(lookup)
    return lookups, names, first_rows


class PreparedCells(NamedTuple):
    """Contents that are prepared: numbers, features of which a row has one, others, and texts."""

    numbers: np.ndarray
    number_names: list[str]
    singles: list[SingleColumn]
    lists: list[ListColumn]
    texts: list[TextColumn]


class Rows(NamedTuple):
    """The rows of a piece; `named` is None where all are arrays of numbers, `words` where there is no text."""

    values: np.ndarray
    named: NamedRows | None
    words: LocalRows | None


def to_rows(prepared: PreparedCells, dense: bool, rule: Rule | None, prefixes: list[str], workspace: Workspace) -> Rows:
    """Return what several threads can make of the rows at once, without the columns. rule: how words are cut."""
    name_rows = None if dense else name_features(*prepared[:4], workspace)
    word_rows = cut_columns(prepared.texts, prefixes, rule, workspace) if rule is not None and prepared.texts else None
    return Rows(prepared.numbers, name_rows, word_rows)


def cut_columns(texts: list[TextColumn], prefixes: list[str], rule: Rule, workspace: Workspace) -> LocalRows:
    """Return the words of the texts of every row, column after column, each behind the prefix of its column.

    No prefixes: the texts of a row are one text, with newlines between them.
    """
    if not prefixes and len(texts) > 1:
        texts = [strings_of(map(b"\n".join, zip(*(column.texts() for column in texts), strict=True)))]
    columns = [cut_text(*column, rule, workspace) for column in texts]
    if not prefixes:
        return columns[0]
    lengths = np.array([np.diff(column.starts) for column in columns])  # (columns, rows)
    starts = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))])
    begins = starts[:-1] + np.cumsum(lengths, axis=0) - lengths  # where the words of each column begin in a row
    numbers, counts = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
    n_before = 0
    for column, begin, length in zip(columns, begins, lengths, strict=True):
        places = np.arange(len(column.numbers)) + np.repeat(begin - column.starts[:-1], length)
        numbers[places], counts[places] = column.numbers + n_before, column.counts
        n_before += len(column.names.counts)
    order = order_of_coming(numbers, n_before)  # row by row, however the rows were cut
    number_of = np.empty(n_before, np.int32)
    number_of[order] = np.arange(n_before)
    names = []
    for column, prefix in zip(columns, prefixes, strict=True):
        arena = column.names.arena.tobytes()
        names += [prefix.encode() + arena[begin:end] for begin, end in pairwise(column.names.ends.tolist())]
    totals = np.concatenate([column.names.counts for column in columns])[order]
    parts = np.repeat(np.arange(len(columns)), [len(column.names.counts) for column in columns])[order]
    return LocalRows(starts, number_of[numbers], counts, keyed([names[old] for old in order.tolist()], totals), parts)


def text_prefixes(columns: list[str]) -> list[str]:
    """Return what stands before the words of each column of texts: nothing if there is only one."""
    return [f"{name}=" for name in columns] if len(columns) > 1 else []


def number_names(names: list[str]) -> Names:
    """Return names as `Columns` takes them."""
    encoded = strings_of(name.encode("utf-8", "surrogatepass") for name in names)
    return local_names(*encoded, Workspace())[1]


def unnamed_keys(columns: Columns, names: list[str], words: bool) -> frozenset[str]:
    """Return keys that have columns in a model, though they are not named. words: may a name be a word of a text?"""
    keys, names_used = (name.partition("=") for name in columns.names()), {*names}
    return frozenset(key for key, equals, _ in keys if key not in names_used and (equals or not words))


def dense_rows(values: np.ndarray, names: Names, columns: Columns) -> np.ndarray:
    """Return the matrix of numbers that are all there is, in the order of the columns. names: of the numbers."""
    places = columns.find(names._replace(counts=np.full(values.shape[1], len(values)))).columns
    return values if (np.diff(places) == 1).all() else values[:, np.argsort(places)]


def are_dense(names: list[str], columns: Columns, only_numbers: bool) -> bool:
    """Return whether rows are arrays, with a column for each of these numbers and no other."""
    if not only_numbers or columns.bits is not None:
        return False
    return not columns.frozen or (columns.n_columns == len(names) and set(columns.names()) == set(names))


class LocatedRows(NamedTuple):
    """Named features and words, and the columns that each of them has."""

    named: NamedRows
    words: LocalRows | None
    name_columns: ColumnPlaces
    word_columns: ColumnPlaces | None


def find_columns(rows_of_names: NamedRows, word_rows: LocalRows | None, columns: Columns) -> LocatedRows:
    """Give the names of a piece their columns: once, as names are counted."""
    if word_rows is not None and not columns.frozen and len(word_rows.starts) > 2:
        _number_row_by_row(rows_of_names, word_rows, columns)
    name_columns = columns.find(rows_of_names.names)
    return LocatedRows(
        rows_of_names, word_rows, name_columns, None if word_rows is None else columns.find(word_rows.names)
    )


def _number_row_by_row(rows_of_names: NamedRows, word_rows: LocalRows, columns: Columns) -> None:
    """Give new names their numbers in the order of the rows, however many rows there are at a time.

    In a row, named features come before words. Nothing is counted yet.
    """
    first_rows_of_words = np.empty(len(word_rows.names.counts), np.int64)
    rows = np.repeat(np.arange(len(word_rows.starts) - 1), np.diff(word_rows.starts))
    first_rows_of_words[word_rows.numbers[::-1]] = rows[::-1]  # of several the last one stays
    new, new_words = (np.flatnonzero(~columns.knows(names)) for names in (rows_of_names.names, word_rows.names))
    if not (len(new) and len(new_words)):
        return
    names = joined(renumbered(rows_of_names.names, new), renumbered(word_rows.names, new_words))
    first_rows = np.concatenate([rows_of_names.first_rows[new], first_rows_of_words[new_words]])
    in_order = renumbered(names, np.argsort(first_rows, kind="stable"))
    columns.find(in_order._replace(counts=np.zeros_like(in_order.counts)))


def sparse_rows(
    rows: LocatedRows, columns: Columns, text: HashedText | None, weights: TermWeights | None = None
) -> sp.csr_matrix:
    """Return the matrix of named features and, where there are texts, of their words, cut as `text` says.

    weights: of the words and of what stands beside them; every column of texts is then scaled to length 1 by itself,
    so that a title beside a long text counts.
    """
    rows_of_names, word_rows, name_columns, word_columns = rows
    if word_rows is None or word_columns is None or text is None:
        if columns.bits is not None:
            return assemble_values(*rows_of_names[:3], name_columns, columns.n_columns)
        return float64_rows(rows_of_names, name_columns, columns.n_columns)
    if weights is None:
        X = assemble(word_rows, word_columns, columns.n_columns, text.values, text.norm)
    else:
        amounts = worth(word_rows.counts, text.values) * weights.of(word_columns.columns)[word_rows.numbers]
        if text.norm is not None:
            amounts /= _norms(word_rows, amounts * (word_columns.columns >= 0)[word_rows.numbers])
        X = assemble_values(word_rows.starts, word_rows.numbers, amounts, word_columns, columns.n_columns)
        rows_of_names = rows_of_names._replace(amounts=rows_of_names.amounts * weights.beside)
    if len(rows_of_names.numbers):
        X = X + assemble_values(*rows_of_names[:3], name_columns, columns.n_columns)
        X.sort_indices()  # SciPy leaves them in an order that depends on the other rows of the block
    return X


def _norms(word_rows: LocalRows, amounts: np.ndarray) -> np.ndarray:
    """Return for every word the Euclidean length of its text."""
    texts = np.repeat(np.arange(len(word_rows.starts) - 1), np.diff(word_rows.starts))
    if word_rows.parts is not None:
        texts = texts * (int(word_rows.parts.max(initial=0)) + 1) + word_rows.parts[word_rows.numbers]
    lengths = np.sqrt(np.bincount(texts, amounts * amounts))
    return np.where(lengths > 0, lengths, 1.0)[texts]


def float64_rows(rows_of_names: NamedRows, name_columns: ColumnPlaces, n_columns: int) -> sp.csr_matrix:
    """Return rows of features whose columns are their own; those without a column are dropped."""
    places, amounts, starts = name_columns.columns[rows_of_names.numbers], rows_of_names.amounts, rows_of_names.starts
    has_column = places >= 0
    if not has_column.all():
        starts = np.concatenate([[0], np.cumsum(has_column)])[starts]
        places, amounts = places[has_column], amounts[has_column]
    shape = (len(starts) - 1, n_columns)
    return sp.csr_matrix((amounts, places.astype(np.int32), starts.astype(np.int32)), shape=shape, copy=False)
