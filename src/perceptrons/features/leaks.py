"""Columns that give the label away: what they hold decides the label in every row, more often than chance would.

Such a column may be a very good feature, or was written after the label was known. Who looks at the data decides.
"""

from collections.abc import Mapping
from itertools import pairwise
from math import lgamma, log
from typing import NamedTuple

import numpy as np

from perceptrons.features.table_rows import Coded, Contents
from perceptrons.features.values import shown

PLAIN = ("equals", "separates", "missing", "determines")  # what is said of a column, the plainest first
UNLIKELY = log(1e-6)  # that a column which has nothing to do with the label decides it in all rows


class Leak(NamedTuple):
    """A column that decides the label. how: equals, separates, determines or missing."""

    column: str
    how: str

    def in_words(self) -> str:
        """What is suspicious, as a sentence."""
        name = shown(self.column)
        return {
            "equals": f"column {name} equals the label in every row",
            "separates": f"column {name} separates the classes without a mistake: each class has its own range",
            "determines": f"column {name} determines the label: each of its values occurs in one class only",
            "missing": f"column {name} gives the label away by whether it is missing",
        }[self.how]


def leaks(contents: Contents, numbers: list[str], labels: Coded, column_of: Mapping[str, str]) -> list[Leak]:
    """The columns that decide the label.

    contents: cells as they are learned from; numbers: the names of numbers; column_of: columns of the table that others
    are derived from, where they have another name.
    """
    if len(np.unique(labels.codes)) < 2:
        return []
    found = [(name, _of_number(contents.numbers[:, place], labels)) for place, name in enumerate(numbers)]
    found += [(name, _of(column, labels)) for name, column in contents.categories.items()]
    suspicious: dict[str, list[str]] = {}
    for name, how in found:
        if how is not None:
            suspicious.setdefault(column_of.get(name, name), []).append(how)
    return [Leak(name, min(hows, key=PLAIN.index)) for name, hows in suspicious.items()]


def _of_number(values: np.ndarray, labels: Coded) -> str | None:
    known = ~np.isnan(values)
    distinct, codes = np.unique(values, return_inverse=True)
    written = [f"{value:.0f}" if value.is_integer() else repr(value) for value in distinct.tolist()]
    column = Coded(codes.astype(np.int32), written)
    if (how := _of(column, labels)) == "equals":
        return how
    if _separates(values[known], labels.codes[known], len(labels.distinct)):
        return "separates"
    return "missing" if _determines(known.astype(np.int32), labels.codes) else how


def _of(column: Coded, labels: Coded) -> str | None:
    """Does a column equal the label, or determine it?"""
    if not _determines(column.codes + 1, labels.codes):
        return None
    pairs = {*zip(column.codes.tolist(), labels.codes.tolist(), strict=True)}
    same = all(code >= 0 and column.distinct[code].strip() == labels.distinct[label] for code, label in pairs)
    return "equals" if same else "determines"


def _determines(values: np.ndarray, labels: np.ndarray) -> bool:
    """Has each value rows of one label only, and would chance hardly bring that about?"""
    label_of = np.zeros(values.max() + 1, np.int64)
    label_of[values] = labels
    if (label_of[values] != labels).any():
        return False
    shares = np.log(np.bincount(labels)[np.unique(labels)] / len(labels))
    # rows of a value all have label c with probability share(c)^rows
    sizes, times = np.unique(np.unique(values, return_counts=True)[1], return_counts=True)
    chances = [np.logaddexp.reduce(size * shares) for size in sizes.tolist()]
    return float(np.dot(chances, times)) < UNLIKELY


def _separates(values: np.ndarray, labels: np.ndarray, n_labels: int) -> bool:
    """Has each label a range of values of its own, and would chance hardly bring that about?"""
    counts = np.bincount(labels, minlength=n_labels)
    if not counts.all():
        return False
    ranges = sorted((values[labels == k].min(), values[labels == k].max()) for k in range(n_labels))
    if any(one[1] >= following[0] for one, following in pairwise(ranges)):
        return False
    orders = lgamma(len(labels) + 1) - sum(lgamma(n + 1) for n in counts.tolist())
    return lgamma(n_labels + 1) - orders < UNLIKELY
