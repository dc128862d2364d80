"""The cells of JSON Lines, value by value: slow, but it finds faults, and tells a null from a key that is not there."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from perceptrons.data.arrowcells import strings
from perceptrons.data.cells import Cells, Faults
from perceptrons.data.jsonrecords import Record, kind_of, leaves, written
from perceptrons.data.roles import Roles, did_you_mean
from perceptrons.data.table import LARGEST, is_label, shown
from perceptrons.data.text import what_is_wrong
from perceptrons.features.tablerows import Coded, Further

NOT_A_NUMBER = "is not a number: mend it, or name the key under categories (--categories)"
ELSE = "turn it into numbers or strings, or leave it out (ignore)"
NUMBER, CATEGORY, TEXT, LABEL, IGNORED = range(5)


class Known(NamedTuple):
    """What is known of keys."""

    roles: Roles
    ignore: frozenset[str]
    closed: bool  # are keys without a role nothing to the model?
    need_labels: bool
    sparse: bool  # do records lack most of the features that others have?


class MisfitError(Exception):
    """A value that does not fit its key."""


class Distinct:
    """Strings as codes, in order of coming."""

    def __init__(self, n: int):
        self.codes, self.number_of = np.full(n, -1, np.int32), dict[str, int]()

    def add(self, row: int, text: str) -> None:
        self.codes[row] = self.number_of.setdefault(text, len(self.number_of))

    def coded(self) -> Coded:
        return Coded(self.codes, list(self.number_of))


class Entries:
    """Features of which a row has any number, in order of coming."""

    def __init__(self) -> None:
        self.rows, self.codes, self.amounts = list[int](), list[int](), list[float]()
        self.number_of: dict[str, int] = {}

    def add(self, row: int, name: str, amount: float) -> None:
        self.rows.append(row)
        self.codes.append(self.number_of.setdefault(name, len(self.number_of)))
        self.amounts.append(amount)

    def further(self) -> Further:
        return Further(
            np.array(self.rows), np.array(self.codes, np.int32), np.array(self.amounts), list(self.number_of)
        )


class Collector:
    """Cells row by row."""

    def __init__(self, n: int, known: Known):
        roles = known.roles
        self.known, self.faults = known, Faults()
        self.number_names = [] if known.sparse else roles.number_names
        self.numbers = np.zeros((n, len(self.number_names)))
        self.categories = {} if known.sparse else {name: Distinct(n) for name in roles.categories}
        self.texts = [[""] * n for _ in roles.texts]
        self.labels = Distinct(n)
        self.lists = {name: Entries() for name in roles.categories}
        self.others = Entries()
        named = ((NUMBER, roles.numbers), (CATEGORY, roles.categories), (TEXT, roles.texts))
        self.role_of = {name: (role, place) for role, names in named for place, name in enumerate(names)}
        self.required = roles.required()
        self.role_of |= dict.fromkeys(known.ignore, (IGNORED, 0))
        if roles.label is not None:
            self.role_of[roles.label] = LABEL, 0

    def take(self, row: int, record: Record) -> None:
        """Put the values of a record where they belong; the first that does not fit is a fault."""
        seen: set[str] = set()
        path: tuple[str, ...] = ()
        try:
            for path, value, twice in leaves(record.value):
                name = ".".join(path)
                role, place = self.role_of.get(name, (None, 0))
                if role == IGNORED or (role is None and self.known.closed):
                    continue
                if twice or name in seen:
                    raise MisfitError("it stands twice: remove one")
                seen.add(name)
                self._put(row, name, role, place, value)
            for name in self.required:
                if name not in seen:  # missing, as null is
                    path = (name,)
                    self._put(row, name, *self.role_of[name], None)
        except MisfitError as error:
            column = record.text.find(json.dumps(path[-1], ensure_ascii=False)) + 1
            name = ".".join(path)
            hint = did_you_mean(name, record.value.keys() - self.role_of.keys()) if name not in seen else ""
            self.faults.add(row, column or 1, f"key {shown(name)}{hint}: {error}")
        label = self.known.roles.label
        if self.known.need_labels and label not in seen and row not in self.faults.rows:
            self.faults.add(row, 1, f"there is no label, key {shown(str(label))}: give one, or remove the record")

    def _put(self, row: int, name: str, role: int | None, place: int, value: Any) -> None:
        if role == NUMBER and not self.known.sparse:
            self.numbers[row, place] = _number(value)
        elif role == CATEGORY and isinstance(value, list):
            _put_list(self.lists[name], row, name, value)
        elif role == CATEGORY and self.known.sparse:
            self.others.add(row, f"{name}={_text(value)}", 1.0)
        elif role == CATEGORY:
            self.categories[name].add(row, _text(value))
        elif role == TEXT:
            self.texts[place][row] = _text(value)
        elif role == LABEL:
            text = _text(value).strip()
            if self.known.need_labels and not is_label(text):
                raise MisfitError(f"{shown(text)} is no label: give one, or remove the record")
            self.labels.add(row, text)
        elif role == NUMBER or (isinstance(value, int | float) and not isinstance(value, bool)):
            self.others.add(row, self.known.roles.as_feature(name), _number(value))
        elif value is not None:
            _put_list(self.others, row, name, value if isinstance(value, list) else [value])

    def cells(self, n_lines: int, lines: Iterable[int], bad: list[Any]) -> Cells:
        return Cells(
            n_lines,
            np.fromiter(lines, np.int64),
            self.numbers,
            self.number_names,
            {name: column.coded() for name, column in self.categories.items()},
            [entries.further() for entries in (*self.lists.values(), self.others) if entries.rows],
            [strings(pa.array(texts, pa.string())) for texts in self.texts],
            None if self.known.roles.label is None else self.labels.coded(),
            self.faults,
            bad,
        )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise MisfitError(f"{shown(str(value))} {NOT_A_NUMBER}")
    text = "" if value is None else repr(value)
    if value is None or not abs(value) <= LARGEST:
        raise MisfitError(what_is_wrong(text))
    return float(value)


def _text(value: Any) -> str:
    text = written(value)
    if text is None:
        raise MisfitError(f"{shown(str(value))} is no text: {ELSE}")
    return text


def _put_list(entries: Entries, row: int, name: str, values: list[Any]) -> None:
    if any(kind_of(value) not in ("string", "bool", "null") for value in values):
        raise MisfitError(f"a list of other things than strings: {ELSE}")
    for text in dict.fromkeys(_text(value) for value in values):
        entries.add(row, f"{name}={text}", 1.0)
