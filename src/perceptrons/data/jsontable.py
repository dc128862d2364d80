"""JSON Lines: an object a line. pyarrow reads pieces that are as the first block was, Python's parser the others."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from perceptrons.data.arrowcells import coded, is_list, listed_features, one_chunk, strings, values_of
from perceptrons.data.cells import Cells, Faults, no_cells
from perceptrons.data.jsonrecords import Record, records_of
from perceptrons.data.roles import USUAL_LABELS, Asked, Layout, Origin, settle, text_columns
from perceptrons.data.source import Piece, pieces
from perceptrons.data.tableformat import TableFormat
from perceptrons.features.records import Collector, Known, Roles
from perceptrons.features.values import LARGEST, did_you_mean, is_label, kind_of, leaves, listed, shown

NULL_BEHIND = re.compile(rb"\}\s*null")  # an example that is null, at which pyarrow 26 crashes
TYPES = {
    "string": pa.string(), "bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "list": pa.list_(pa.string()),
}  # fmt: skip
NEWLINE, RETURN, BRACE, CLOSING_BRACE = b"\n\r{}"
DEPTH = 16  # of objects within objects that pyarrow is given
FULL = 0.25  # of the cells of a table of all keys: with fewer, columns would be mostly empty


class Key(NamedTuple):
    """What the first block says of a key."""

    paths: set[tuple[str, ...]]
    kinds: Counter[str]


class Shape(NamedTuple):
    """What pyarrow is told of the records."""

    schema: Any
    paths: dict[str, tuple[str, ...]]
    dotted: list[bytes]  # keys within keys, as they would look if they were keys themselves


class Form(NamedTuple):
    known: Known
    shape: Shape | None  # None: records are too different for pyarrow


class JsonTable(TableFormat):
    """JSON Lines."""

    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        return pieces(path, prompt)

    def look(self, piece: Piece, asked: Asked, roles: Roles | None) -> tuple[Roles | None, Layout | None]:
        records = [record for record in records_of(piece) if record.bad is None]
        if not records:
            return roles, None
        keys = _keys(records)
        if roles is None:
            roles = _settle(Origin(piece.path, records[0].line + 1), keys, len(records), asked)
        sparse = _is_sparse(keys, len(records), roles) and not roles.only_numbers
        self._report_unknown(keys, roles, asked, sparse)
        known = Known(roles, frozenset(asked.ignore), asked.closed, asked.need_labels, sparse)
        label = None if roles.label is None else 0
        return roles, Layout([], label, [], [], [], Form(known, _shape(keys, len(records), known)))

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
        if layout is not None and layout.form.shape is not None:
            cells = _read_fast(piece, *layout.form)
            if cells is not None:
                return cells
        records = list(records_of(piece))
        bad = [record.bad for record in records if record.bad is not None]
        sound = [record for record in records if record.bad is None]
        if layout is None:
            return no_cells(_count_lines(piece), bad)
        collector, faults = Collector(len(sound), layout.form.known), Faults()
        for row, record in enumerate(sound):
            misfit = collector.take(row, record.value)
            if misfit is not None:
                key = json.dumps(misfit.path[-1], ensure_ascii=False) if misfit.path else record.text
                faults.add(row, record.text.find(key) + 1 or 1, misfit.what)
        return Cells(
            _count_lines(piece),
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


def _count_lines(piece: Piece) -> int:
    return int(np.count_nonzero(piece.content[: piece.size] == NEWLINE))


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
    names = list(dict.fromkeys([*seen, *named]))

    def is_number(places: list[int]) -> list[bool]:
        kinds = [keys[names[place]].kinds for place in places]
        return [2 * (each["int"] + each["float"]) > each.total() - each["null"] for each in kinds]

    labels = [name for name in reversed(USUAL_LABELS) if name in seen]
    if asked.label is None and asked.need_labels and not labels:
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


def _shape(keys: dict[str, Key], n: int, known: Known) -> Shape | None:
    """What pyarrow can be told, if it can read such records."""
    roles, numbers = known.roles, set(known.roles.numbers)
    used = dict.fromkeys(
        [*roles.numbers, *roles.categories, *roles.texts, *([] if roles.label is None else [roles.label])]
    )
    others = {} if known.closed else {name: None for name in keys if name not in used}
    if known.sparse or sum(key.kinds.total() for key in keys.values()) < FULL * n * len(used | others):
        return None
    tree: dict[str, Any] = {}
    paths = {}
    for name in (*used, *others):
        key = keys.get(name, Key({(name,)}, Counter()))
        as_numbers = name in numbers or (name in others and {*key.kinds} <= {"int", "float", "null"})
        kind = pa.float64() if as_numbers else _type(key.kinds)
        if name in others and name not in known.ignore:  # always null, up to now
            kind = pa.null()
        if key.kinds["list"] and name in (roles.label, *roles.texts):
            return None
        if kind is None or len(key.paths) > 1 or (name not in keys and "." in name):
            return None
        (paths[name],) = key.paths
        if len(paths[name]) > DEPTH:
            return None
        branch = tree
        for part in paths[name][:-1]:
            branch = branch.setdefault(part, {})
            if not isinstance(branch, dict):
                return None
        if paths[name][-1] in branch:
            return None
        branch[paths[name][-1]] = kind
    dotted = [json.dumps(name, ensure_ascii=False).encode() for name, path in paths.items() if len(path) > 1]
    return Shape(pa.schema(list(_struct(tree))), paths, dotted)


def _type(kinds: Counter[str]) -> Any:
    """The type of Arrow that holds all values, if there is one."""
    seen = {kind for kind in kinds if kinds[kind] and kind != "null"} or {"string"}
    if seen == {"int", "float"}:
        return None  # 1 and 1.0 would be the same category
    return TYPES.get(seen.pop()) if len(seen) == 1 else None


def _struct(tree: dict[str, Any]) -> Any:
    return pa.struct([(name, _struct(kind) if isinstance(kind, dict) else kind) for name, kind in tree.items()])


def _read_fast(piece: Piece, known: Known, shape: Shape) -> Cells | None:
    """What pyarrow reads; None if only Python's parser can tell what is there, or what is wrong with it."""
    text = piece.content[: piece.size]
    lines = _lines(text)
    if lines is None:
        return None
    content = text.tobytes()
    nulls = b"null" in content
    if (nulls and NULL_BEHIND.search(content)) or any(name in content for name in shape.dotted):
        return None
    try:
        content.decode()
        columns = _columns(content, shape, "ignore" if known.closed else "error")
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if any(len(column) != len(lines) for column in columns.values()):
        return None
    return _cells(columns, known, lines, _count_lines(piece), nulls)


def _lines(text: np.ndarray) -> np.ndarray | None:
    """The numbers of the lines that are not empty; None if not all are of the form {...}, or there is none.

    Between } and { on the next line there can be no comma, so that such lines are whole values: if pyarrow finds as
    many values as there are lines, each line is one.
    """
    ends = np.flatnonzero(text == NEWLINE)
    begins = np.concatenate([[0], ends[:-1] + 1])
    ends -= (text[ends - 1] == RETURN) & (ends > begins)
    lines = np.flatnonzero(ends > begins)
    sound = (text[begins[lines]] == BRACE).all() and (text[ends[lines] - 1] == CLOSING_BRACE).all()
    return lines if sound and len(lines) else None


def _columns(content: bytes, shape: Shape, unexpected: str) -> dict[str, Any]:
    table = pyarrow.json.read_json(
        pa.BufferReader(content),
        pyarrow.json.ReadOptions(use_threads=False, block_size=len(content) + 1),
        pyarrow.json.ParseOptions(explicit_schema=shape.schema, unexpected_field_behavior=unexpected),
    )
    columns = {}
    for name, (first, *rest) in shape.paths.items():
        column = one_chunk(table.column(first))
        columns[name] = pc.struct_field(column, rest) if rest else column
    return columns


def _cells(columns: dict[str, Any], known: Known, lines: np.ndarray, n_lines: int, nulls: bool) -> Cells | None:
    """The columns by their roles. nulls: may what is not there be a null?"""
    roles = known.roles
    features = [*roles.numbers, *roles.categories]
    required = set(roles.required())
    if any(columns[name].null_count for name in features if nulls or name in required):
        return None
    numbers = np.zeros((len(lines), len(roles.numbers)))
    for place, name in enumerate(roles.numbers):
        numbers[:, place] = values_of(columns[name].fill_null(0.0))
    if not (np.abs(numbers) <= LARGEST).all():
        return None
    categories, further = {}, []
    for name in roles.categories:
        column = columns[name]
        if not is_list(column.type):
            categories[name] = coded(column, absent=True)
            continue
        if nulls and pc.list_flatten(column).null_count:
            return None
        further.append(listed_features(column, name))
    labels = None
    if roles.label is not None:
        labels = coded(columns[roles.label], absent=True)
        if known.need_labels and (
            labels.codes.min() < 0 or not all(is_label(text.strip()) for text in labels.distinct)
        ):
            return None
    texts = [strings(columns[name]) for name in roles.texts]
    return Cells(n_lines, lines, numbers, roles.number_names, categories, further, texts, labels, Faults(), [])
