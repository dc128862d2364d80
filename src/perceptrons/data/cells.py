"""The columns of a piece of a table become rows: arrays of numbers, or named features with one-hot categories."""

from typing import NamedTuple

import numpy as np

from perceptrons.data.reader import Bad, Parsed, Texts
from perceptrons.data.roles import Layout
from perceptrons.data.table import is_label, shown
from perceptrons.features.local import Local, Names, Workspace, cut_text, local_names
from perceptrons.scan.words import Rule

LARGEST_NARROW = 1e30


class Coded(NamedTuple):
    """A column of strings: which of the distinct ones each row has, -1 for none."""

    codes: np.ndarray  # int32 (rows,)
    distinct: list[str]


class Further(NamedTuple):
    """Features of which a row has any number."""

    rows: np.ndarray  # int64
    codes: np.ndarray  # int32: which of the names
    amounts: np.ndarray  # float64
    names: list[str]


class Strings(NamedTuple):
    """Texts in one array of bytes: that of row i is content[begin[i]:end[i]]."""

    content: np.ndarray
    begin: np.ndarray
    end: np.ndarray


class Faults:
    """What is wrong with the rows of a piece: of each row the first cell that is."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[int, str]] = {}

    def add(self, row: int, column: int, what: str) -> None:
        if row not in self.rows or column < self.rows[row][0]:
            self.rows[row] = column, what


class Cells(NamedTuple):
    """The cells of a piece that count, by their roles."""

    n_lines: int
    lines: np.ndarray  # int64 (rows,): where each begins, from 0
    numbers: np.ndarray  # (rows, numbers)
    number_names: list[str]
    categories: dict[str, Coded]
    further: list[Further]
    texts: Strings | None
    labels: Coded | None
    faults: Faults
    bad: list[Bad]  # records that are not even rows


def no_cells(n_lines: int, bad: list[Bad]) -> Cells:
    """Those of a piece without a row."""
    return Cells(n_lines, np.empty(0, np.int64), np.empty((0, 0)), [], {}, [], None, None, Faults(), bad)


class Named(NamedTuple):
    """Rows of features by their numbers among the names of the piece."""

    starts: np.ndarray  # int64 (rows + 1,)
    numbers: np.ndarray  # int32
    amounts: np.ndarray  # float64
    names: Names


class Rows(NamedTuple):
    """The rows of a piece; `named` is None where all are arrays of numbers, `words` where there is no text."""

    values: np.ndarray
    named: Named | None
    words: Local | None


class Shape(NamedTuple):
    """What rows are wanted."""

    dense: bool  # arrays
    narrow: bool  # of float32, in which features may share columns
    need_labels: bool


def to_rows(cells: Cells, layout: Layout, shape: Shape, rule: Rule | None, workspace: Workspace) -> Parsed:
    """What a reader makes of the cells; rows with a fault are left out."""
    column = (layout.label or 0) + 1
    if cells.labels is not None:
        cells = cells._replace(labels=_checked(cells.labels, column, cells.faults, shape.need_labels))
    for part in cells.further if shape.dense else ():
        for row, code in zip(part.rows.tolist(), part.codes.tolist(), strict=True):
            what = "comes here for the first time: name it under numbers or categories, or leave it out (ignore)"
            cells.faults.add(row, 1, f"key {shown(part.names[code])} {what}")
    if shape.narrow:
        _find_large(cells, layout)
    bad = list(cells.bad)
    if cells.faults.rows:
        bad += [Bad(int(cells.lines[row]), what, column) for row, (column, what) in cells.faults.rows.items()]
        cells = _without(cells, cells.faults)
    named = None if shape.dense else name_features(cells, workspace)
    words = None if cells.texts is None or rule is None else cut_text(*cells.texts, rule, workspace)
    labels = None if cells.labels is None else _occurring(cells.labels, column)
    return Parsed(cells.n_lines, cells.lines, labels, Rows(cells.numbers, named, words), None, bad)


def _find_large(cells: Cells, layout: Layout) -> None:
    """Numbers that float32 cannot hold, or not together with others."""
    what = f"is too large (at most {LARGEST_NARROW:.0e} where features are hashed or words): scale the values"
    for row, place in np.argwhere(np.abs(cells.numbers) > LARGEST_NARROW).tolist():
        column = layout.numbers[place] + 1 if layout.numbers else 1
        cells.faults.add(row, column, f"{shown(str(cells.numbers[row, place]))} {what}")
    for part in cells.further:
        for at in np.flatnonzero(np.abs(part.amounts) > LARGEST_NARROW).tolist():
            cells.faults.add(int(part.rows[at]), 1, f"{shown(str(part.amounts[at]))} {what}")


def _occurring(labels: Coded, column: int) -> Texts:
    """The labels, of the distinct ones only those that are left."""
    there = np.flatnonzero(np.bincount(labels.codes, minlength=len(labels.distinct)))
    number_of = np.zeros(len(labels.distinct), np.int32)
    number_of[there] = np.arange(len(there))
    return Texts(number_of[labels.codes], [labels.distinct[code] for code in there.tolist()], column)


def _checked(labels: Coded, column: int, faults: Faults, need_labels: bool) -> Coded | None:
    """The labels without spaces around them, each distinct one once.

    Those that are none are faults, or, if labels are not needed, leave all rows without labels.
    """
    number_of = {"": 0}
    codes = np.array([*(number_of.setdefault(text.strip(), len(number_of)) for text in labels.distinct), 0], np.int32)
    codes = codes[labels.codes]  # code -1, for none, is the last
    texts = list(number_of)
    missing = [number for number, text in enumerate(texts) if not is_label(text)]
    for row in np.flatnonzero(np.isin(codes, missing)).tolist():
        if not need_labels:
            return None
        if row in faults.rows:
            continue
        text = texts[codes[row]]
        what = f"{shown(text)} is no label" if text else "there is no label here"
        faults.add(row, column, f"{what}: give one, or remove the record")
    return Coded(codes, texts)


def _without(cells: Cells, faults: Faults) -> Cells:
    """The rows that have no fault."""
    keep = np.ones(len(cells.lines), bool)
    keep[list(faults.rows)] = False
    row_of = np.cumsum(keep) - 1
    further = [
        Further(row_of[part.rows[there]], part.codes[there], part.amounts[there], part.names)
        for part in cells.further
        for there in (keep[part.rows],)
    ]
    texts, labels = cells.texts, cells.labels
    return cells._replace(
        lines=cells.lines[keep],
        numbers=cells.numbers[keep],
        categories={name: Coded(codes[keep], distinct) for name, (codes, distinct) in cells.categories.items()},
        further=further,
        texts=None if texts is None else Strings(texts.content, texts.begin[keep], texts.end[keep]),
        labels=None if labels is None else Coded(labels.codes[keep], labels.distinct),
    )


def name_features(cells: Cells, workspace: Workspace) -> Named:
    """Numbers by the name of their column, categories as "column=value" of value 1; numbers of 0 are left out.

    Names are numbered as they come, row by row and in a row from left to right, numbers first.
    """
    n, n_numbers = cells.numbers.shape
    columns = [
        (np.arange(n), codes, [f"{column}={value}" for value in distinct])
        for column, (codes, distinct) in cells.categories.items()
    ]
    columns += [(part.rows, part.codes, part.names) for part in cells.further]
    lookups, names = _numbered(cells.number_names, columns, workspace)
    width = n_numbers + len(cells.categories)
    numbers, amounts = np.empty((n, width), np.int32), np.ones((n, width))
    numbers[:, :n_numbers] = np.arange(n_numbers)
    amounts[:, :n_numbers] = cells.numbers
    there = amounts != 0
    for place, (codes, _) in enumerate(cells.categories.values(), n_numbers):
        numbers[:, place] = lookups[place - n_numbers][codes]
        there[:, place] = codes >= 0
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    numbers, amounts = numbers[there], amounts[there]
    if cells.further:
        rows = np.concatenate([np.repeat(np.arange(n), np.diff(starts)), *(part.rows for part in cells.further)])
        order = np.argsort(rows, kind="stable")
        more = [
            lookup[part.codes] for lookup, part in zip(lookups[len(cells.categories) :], cells.further, strict=True)
        ]
        numbers = np.concatenate([numbers, *more])[order]
        amounts = np.concatenate([amounts, *(part.amounts for part in cells.further)])[order]
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    counts = np.bincount(numbers, minlength=len(names.counts))
    return Named(starts, numbers, amounts, names._replace(counts=counts))


def _numbered(
    first: list[str], columns: list[tuple[np.ndarray, np.ndarray, list[str]]], workspace: Workspace
) -> tuple[list[np.ndarray], Names]:
    """The number of every name of every column, those that stand first before the others; and the names.

    A column is the rows and codes of its entries, and the names of the codes; names that do not occur have number -1.
    """
    begun, codes = [], []
    for rows, of_rows, all_names in columns:
        row_of = np.full(len(all_names) + 1, -1)
        row_of[of_rows[::-1]] = rows[::-1]  # of several the last one stays
        codes.append(np.flatnonzero(row_of[:-1] >= 0))
        begun.append(row_of[codes[-1]])
    column = np.repeat(np.arange(len(columns)), [len(part) for part in codes])
    order = np.lexsort((column, np.concatenate([np.empty(0, np.int64), *begun])))
    texts = [columns[c][2][code] for c, part in enumerate(codes) for code in part.tolist()]
    encoded = [name.encode("utf-8", "surrogatepass") for name in (*first, *(texts[place] for place in order.tolist()))]
    ends = np.cumsum([0, *(len(name) for name in encoded)])
    numbers, names = local_names(np.frombuffer(b"".join(encoded), np.uint8), ends[:-1], ends[1:], workspace)
    of_entry = np.empty(len(texts), np.int32)
    of_entry[order] = numbers[len(first) :]
    lookups, begin = [], 0
    for (_, _, all_names), part in zip(columns, codes, strict=True):
        lookup = np.full(len(all_names) + 1, -1, np.int32)  # code -1 is the last place
        lookup[part] = of_entry[begin : begin + len(part)]
        begin += len(part)
        lookups.append(lookup)
    return lookups, names
