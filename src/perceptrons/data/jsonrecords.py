"""Records, JSON objects or dicts in memory, one by one: what their keys are, and what is wrong with them.

Slower than `jsontable.py`, which asks here where something is not as it was in the first block.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.block import Bad
from perceptrons.data.cells import Cells, Faults, TableFormat, no_cells
from perceptrons.data.roles import USUAL_LABELS, Asked, Layout, Origin, settle, text_columns
from perceptrons.data.source import Piece, pieces
from perceptrons.features.records import Collector, Known, Roles
from perceptrons.features.values import Twice, did_you_mean, kind_of, leaves, listed, shown

NEWLINE = 10
FULL = 0.25  # of the cells of a table of all keys: with fewer, columns would be mostly empty


class Record(NamedTuple):
    """A line, and what is wrong with it, or its object."""

    line: int
    text: str
    value: Any
    bad: Bad | None = None


def records_of(piece: Piece) -> Iterator[Record]:
    """The lines of a piece that are not blank."""
    for number, line in enumerate(piece.content[: piece.size].tobytes().split(b"\n")):
        if line.strip():
            yield _record(number, line)


def _record(number: int, line: bytes) -> Record:
    try:
        text = line.decode()
        value = DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        what = f"byte 0x{line[error.start]:02x} is not UTF-8 text: save the file as UTF-8"
        return Record(number, "", None, Bad(number, what, error.start + 1))
    except UnicodeEncodeError:
        what = "half of a surrogate pair, as \\ud800, is no text: mend it, or remove the record"
        return Record(number, text, None, Bad(number, what, max(text.lower().find("\\ud"), 0) + 1))
    except json.JSONDecodeError as error:
        what = f"this is no JSON ({error.msg}): mend or remove the line"
        return Record(number, text, None, Bad(number, what, error.colno))
    except (RecursionError, ValueError):  # ValueError: a whole number of more than 4,300 digits
        return Record(number, text, None, Bad(number, "too deep, or with too long a number: mend or remove the line"))
    if not isinstance(value, dict):
        what = f'{shown(text.strip())} is no object: give one for each example, as {{"label": 1, "height": 1.5}}'
        return Record(number, text, None, Bad(number, what))
    return Record(number, text, value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice = Twice(found)
    twice.keys_twice = frozenset(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
    return twice


DECODER = json.JSONDecoder(object_pairs_hook=_object)


class Key(NamedTuple):
    """What the first block says of a key."""

    paths: set[tuple[str, ...]]
    kinds: Counter[str]


class Form(NamedTuple):
    """What is known of the records of a file."""

    known: Known
    shape: Any = None  # the format's own


class RecordFormat(TableFormat):
    """Records whose keys are columns. What is known of keys is the form of the layout."""

    def records(self, piece: Piece) -> list[Record]:
        """The records of a piece."""
        return list(records_of(piece))

    def n_lines(self, piece: Piece) -> int:
        return int(np.count_nonzero(piece.content[: piece.size] == NEWLINE))

    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        return pieces(path, prompt)

    def look(self, piece: Piece, asked: Asked, roles: Roles | None) -> tuple[Roles | None, Layout | None]:
        records = [record for record in self.records(piece) if record.bad is None]
        if not records:
            return roles, None
        keys = _keys(records)
        if roles is None:
            roles = _settle(Origin(piece.path, records[0].line + 1), keys, len(records), asked)
        sparse = _is_sparse(keys, len(records), roles) and not roles.only_numbers
        self._report_unknown(keys, roles, asked, sparse)
        known = Known(roles, frozenset(asked.ignore), asked.closed, asked.need_labels, sparse)
        label = None if roles.label is None else 0
        return roles, Layout([], label, [], [], [], self.form(keys, len(records), known))

    def form(self, keys: dict[str, Key], n: int, known: Known) -> Any:
        """What is known of n records, for `cells`."""
        return Form(known)

    def _report_unknown(self, keys: dict[str, Key], roles: Roles, asked: Asked, sparse: bool) -> None:
        """Keys that a model does not know are left out, but not in silence: one may be misspelt."""
        if asked.further is None or sparse:
            return
        known = {*roles.numbers, *roles.categories, *roles.texts, *asked.ignore, roles.label}
        lacking = [name for name in known if name and name not in keys]
        unknown = [name for name in keys if name not in known and name not in asked.further]
        for name in unknown:
            hint = did_you_mean(name, lacking)
            self.notices.setdefault(name, f"key {shown(name)} is unknown to the model and left out{hint}")

    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        records = self.records(piece)
        bad = [record.bad for record in records if record.bad is not None]
        sound = [record for record in records if record.bad is None]
        if layout is None:
            return no_cells(self.n_lines(piece), bad)
        collector, faults = Collector(len(sound), layout.form.known), Faults()
        for row, record in enumerate(sound):
            misfit = collector.take(row, record.value)
            if misfit is not None:
                key = json.dumps(misfit.path[-1], ensure_ascii=False) if misfit.path else record.text
                faults.add(row, record.text.find(key) + 1 or 1, misfit.what)
        return Cells(
            self.n_lines(piece),
            np.fromiter((record.line for record in sound), np.int64),
            collector.numbers,
            collector.number_names,
            collector.categories(),
            collector.further(),
            collector.texts(),
            collector.labels(),
            faults,
            bad,
        )


def _keys(records: list[Record]) -> dict[str, Key]:
    keys: dict[str, Key] = {}
    for record in records:
        for path, value, _ in leaves(record.value):
            key = keys.setdefault(".".join(path), Key(set(), Counter()))
            key.paths.add(path)
            key.kinds[kind_of(value)] += 1
    return keys


def _settle(origin: Origin, keys: dict[str, Key], n: int, asked: Asked) -> Roles:
    seen = [name for name, key in keys.items() if key.kinds.total() > key.kinds["null"]]
    named = [*asked.categories, *asked.ignore]
    if asked.numbers is not None:
        named += [*asked.numbers, *text_columns(seen, asked), *([] if asked.label is None else [asked.label])]
    if asked.model is not None:
        named += asked.model.names or []
    names = list(dict.fromkeys([*seen, *named]))

    def is_number(places: list[int]) -> list[bool]:
        kinds = [keys[names[place]].kinds for place in places]
        return [2 * (each["int"] + each["float"]) > each.total() - each["null"] for each in kinds]

    if asked.model is not None and asked.model.names is None:
        raise origin.error("the model knows its features by position, and keys of records have none: give a table")
    labels = [name for name in reversed(USUAL_LABELS) if name in seen]
    if asked.label is None and asked.need_labels and not labels and asked.model is None:
        usual = f"{', '.join(USUAL_LABELS[:-1])} or {USUAL_LABELS[-1]}"
        what = f"no key is called {usual}: name the key of the label with label_column (--label-column)"
        raise origin.error(f"{what}; there are {listed(seen, 10)}")
    roles = settle(origin, names, asked, is_number, labels)
    if asked.optional is None or asked.numbers is None:
        always = {name for name in seen if keys[name].kinds.total() == n}
        every = _is_sparse(keys, n, roles)
        features = [*roles.numbers, *roles.categories]
        roles = roles._replace(optional=[name for name in features if every or name not in always])
    return roles


def _is_sparse(keys: dict[str, Key], n: int, roles: Roles) -> bool:
    """Do records lack most of the features that others have?"""
    features = [*roles.numbers, *roles.categories]
    return sum(keys[name].kinds.total() for name in features if name in keys) < FULL * n * len(features)
