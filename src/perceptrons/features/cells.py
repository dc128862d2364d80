"""The cells of a table by column: numbers, coded strings, lists and texts; read from records, and hashed row by row.

JSON Lines and records in memory are read here value by value: slow, but it finds what does not fit, and where.
`rows.py` makes rows of cells.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.hashing import hash_names, mixed
from perceptrons.engine.streaming.blocks import row_hashes
from perceptrons.features.values import (
    LARGEST,
    Missing,
    did_you_mean,
    is_label,
    kind_of,
    leaves,
    no_label,
    plain_value,
    shown,
    text_of_value,
    what_is_wrong,
)
from perceptrons.features.values import NUMBER as WRITTEN_NUMBER


class CodedColumn(NamedTuple):
    """A column of strings: which of the distinct ones each row has, -1 for none."""

    codes: np.ndarray  # int32 (rows,)
    distinct: list[Any]  # strings; labels may be tuples of them


class ListColumn(NamedTuple):
    """Features of which a row has any number."""

    rows: np.ndarray  # int64
    codes: np.ndarray  # int32: which of the names
    amounts: np.ndarray  # float64
    names: list[str]


class TextColumn(NamedTuple):
    """Texts in one array of bytes: that of row i is content[begin[i]:end[i]]."""

    content: np.ndarray  # uint8
    begin: np.ndarray
    end: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[str | bytes]) -> "TextColumn":
        """Return texts as one array. Half a surrogate pair has no UTF-8, so its bytes are those of no character."""
        encoded = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts]
        ends = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends[:-1], ends[1:])

    def texts(self) -> list[bytes]:
        content = self.content.tobytes()
        return [content[begin:end] for begin, end in zip(self.begin.tolist(), self.end.tolist(), strict=True)]

    def checked(self) -> "TextColumn":
        """Return the arrays in the types that compiled loops take. Raise ValueError if a text leaves the content."""
        content, begin, end = self.content, np.array(self.begin, np.int64), np.array(self.end, np.int64)
        is_valid = begin.ndim == 1 and begin.shape == end.shape and content.ndim == 1 and content.dtype == np.uint8
        if not is_valid or bool((begin < 0).any() or (begin > end).any() or (end > len(content)).any()):
            raise ValueError(f"Texts must lie within the content, which has {content.size} bytes.")
        content = np.ascontiguousarray(content).view(np.ndarray)
        content.flags.writeable = False
        return TextColumn(content, begin, end)


class SingleColumn(NamedTuple):
    """Features of which a row has one, or none: which of the names, -1 for none, and its value (None: 1)."""

    codes: np.ndarray  # int32 (rows,)
    names: list[str]
    amounts: np.ndarray | None = None  # float64 (rows,)


class Contents(NamedTuple):
    """The cells of a piece of a table that are features. A number is NaN where it is missing."""

    numbers: np.ndarray  # (rows, numbers)
    categories: dict[str, CodedColumn]
    lists: list[ListColumn]
    texts: list[TextColumn]  # of each column of texts

    @property
    def n(self) -> int:
        return len(self.numbers)

    @property
    def nbytes(self) -> int:
        """Return about how many bytes of memory it takes."""
        parts = [column.codes.nbytes for column in self.categories.values()]
        parts += [part.amounts.nbytes + part.rows.nbytes + part.codes.nbytes for part in self.lists]
        parts += [int((column.end - column.begin).sum()) for column in self.texts]
        return self.numbers.nbytes + sum(parts)

    def part(self, keep: np.ndarray) -> "Contents":
        """Return only these rows. keep: a flag for every row."""
        if keep.all():
            return self
        row_of = np.cumsum(keep) - 1
        return Contents(
            self.numbers[keep],
            {name: CodedColumn(codes[keep], distinct) for name, (codes, distinct) in self.categories.items()},
            [
                ListColumn(row_of[part.rows[there]], part.codes[there], part.amounts[there], part.names)
                for part in self.lists
                for there in (keep[part.rows],)
            ],
            [TextColumn(content, begin[keep], end[keep]) for content, begin, end in self.texts],
        )


NOT_A_NUMBER = "is not a number: correct it, or list the key in categories (--categories)"
ELSE = "convert it to numbers or strings, or leave it out with ignore (--ignore)"
NEVER = Missing.of((), fill=False)


class Roles(NamedTuple):
    """What the columns of a table are, by name."""

    label: str | None
    numbers: list[str]
    categories: list[str]
    texts: list[str]
    optional: list[str]  # numbers and categories that a record may lack
    labels: Sequence[str] = ()  # several label columns, whose cells are 1 or 0; `label` is then None

    def with_label_columns(self, names: Sequence[str]) -> "Roles":
        """Return the roles by which files are read: label columns of these names are read like categories."""
        return self._replace(categories=[*self.categories, *names], labels=()) if names else self

    def as_feature(self, number: str) -> str:
        """Return what a number is called as a feature: beside words "height=", as "height" is a word."""
        return f"{number}=" if self.texts else number

    @property
    def features(self) -> list[str]:
        """Return the names of the numbers, categories and texts."""
        return [*self.numbers, *self.categories, *self.texts]

    @property
    def only_numbers(self) -> bool:
        complete = not set(self.numbers).intersection(self.optional)
        return complete and bool(self.numbers) and not self.categories and not self.texts

    def required(self) -> list[str]:
        """Return numbers and categories that every record must have."""
        optional = set(self.optional)
        return [name for name in (*self.numbers, *self.categories) if name not in optional]


class RecordSchema(NamedTuple):
    """What is known of keys."""

    roles: Roles
    ignore: frozenset[str]
    closed: bool  # are keys without a role nothing to the model?
    need_labels: bool
    sparse: bool  # do records lack most of the features that others have?
    strip: bool = False  # do spaces around a category not count?
    missing: Missing = NEVER  # what stands for a missing value; where there is any, strings may be numbers, too
    several: bool = False  # may an example have several labels, or none?


class Misfit(NamedTuple):
    """A value that does not fit its key, and the keys that lead to it."""

    path: tuple[str, ...]
    message: str


class MisfitError(Exception):
    """A value that does not fit its key."""


class Entries:
    """Texts by row, in order of coming: a row may have any number of them."""

    def __init__(self) -> None:
        self.rows, self.codes, self.amounts = list[int](), list[int](), list[float]()
        self._code_of: dict[Any, int] = {}  # of each distinct text, or tuple of texts

    def add(self, row: int, text: str | tuple[str, ...], amount: float = 1.0) -> None:
        self.rows.append(row)
        self.codes.append(self._code_of.setdefault(text, len(self._code_of)))
        self.amounts.append(amount)

    def as_list_column(self) -> ListColumn:
        codes = np.array(self.codes, np.int32)
        return ListColumn(np.array(self.rows), codes, np.array(self.amounts), list(self._code_of))

    def as_coded_column(self, n: int) -> CodedColumn:
        """Return the text of each of n rows, which has one at most."""
        codes = np.full(n, -1, np.int32)
        codes[self.rows] = self.codes
        return CodedColumn(codes, list(self._code_of))


class Collector:
    """Cells of n records, row by row, or column by column."""

    def __init__(self, n: int, schema: RecordSchema):
        roles = schema.roles
        self.schema, self._n, self._required, self._label_name = schema, n, roles.required(), roles.label
        absent = np.nan if schema.missing.texts else 0.0
        self.numbers = np.full((n, 0 if schema.sparse else len(roles.numbers)), absent)
        self._place_of = {name: place for place, name in enumerate(roles.numbers)}
        self._categories, self._lists = ({name: Entries() for name in roles.categories} for _ in range(2))
        self._texts = {name: [""] * n for name in roles.texts}
        self._labels, self._others = Entries(), Entries()
        self.names = {*roles.features, *schema.ignore} | ({roles.label} if roles.label is not None else set())

    def take(self, row: int, record: Mapping[str, object]) -> Misfit | None:
        """Put the values of a record where they belong; returns the first that does not fit."""
        names_seen: set[str] = set()
        path: tuple[str, ...] = ()
        label = self._label_name
        try:
            for path, value, twice in leaves(record):
                name = ".".join(path)
                if name != label and (name in self.schema.ignore or (self.schema.closed and name not in self.names)):
                    continue
                if twice or name in names_seen:
                    raise MisfitError("the key appears twice: remove one")
                names_seen.add(name)
                self._store(row, name, value)
            for name in self._required:
                if name not in names_seen and name not in self.schema.ignore:  # missing, as null is
                    path = (name,)
                    self._store(row, name, None)
        except MisfitError as error:
            name = ".".join(path)
            hint = did_you_mean(name, record.keys() - self.names) if name not in names_seen else ""
            return Misfit(path, f"key {shown(name)}{hint}: {error}")
        if self.schema.need_labels and label not in names_seen and not self.schema.several:
            return Misfit((), f"there is no label (key {shown(str(label))}): add one, or remove the record")
        return None

    def _store(self, row: int, name: str, value: object) -> None:
        """Put a value where it belongs. Raises MisfitError."""
        is_sparse = self.schema.sparse
        if name == self._label_name:
            self._labels.add(row, self._label(value))
        elif name in self._place_of and not is_sparse:
            self.numbers[row, self._place_of[name]] = self._number(value)
        elif name in self._categories and isinstance(value, list):
            _put_list(self._lists[name], row, name, value)
        elif name in self._categories and is_sparse:
            self._others.add(row, f"{name}={_text(value)}")
        elif name in self._categories:
            text = _text(value)
            self._categories[name].add(row, text.strip() if self.schema.strip else text)
        elif name in self._texts:
            self._texts[name][row] = _text(value)
        elif name in self._place_of or (isinstance(value, int | float) and not isinstance(value, bool)):
            self._others.add(row, self.schema.roles.as_feature(name), _number(value))
        elif value is not None:
            _put_list(self._others, row, name, value if isinstance(value, list) else [value])

    def _label(self, value: object) -> str | tuple[str, ...]:
        if isinstance(value, list):
            return tuple(_one_label(item) for item in value)
        text = _text(value).strip()
        if self.schema.need_labels and not is_label(text) and not (self.schema.several and not text):
            raise MisfitError(f"{no_label(text)}: add one, or remove the record")
        return text

    def _number(self, value: object) -> float:
        """Return a number, also one in a string where values may be missing, or NaN for a missing one."""
        missing = self.schema.missing.texts
        if missing and isinstance(value, str):
            if value.strip().lower() in missing:
                return np.nan
            value = float(value) if WRITTEN_NUMBER.fullmatch(value) else value
        return np.nan if missing and value is None else _number(value)

    def put_column(self, name: str, values: np.ndarray) -> Iterator[tuple[int, str]]:
        """Put the values of a column where they belong; yield the row of each that does not fit, and why."""
        if name != self._label_name and name in self._place_of and values.dtype.kind in "iuf":
            with np.errstate(invalid="ignore"):
                numbers = values.astype(np.float64)
                present = numbers[~np.isnan(numbers)] if self.schema.missing.texts else numbers
                are_allowed = bool((np.abs(present) <= LARGEST).all())
            if are_allowed:
                self.numbers[:, self._place_of[name]] = numbers
                return
        for row, value in enumerate(values.tolist()):
            try:
                self._store(row, name, plain_value(value))
            except MisfitError as error:
                yield row, str(error)

    def contents(self, narrow: bool = False) -> Contents:
        """Return all cells that are features. narrow: numbers as float32, which they were."""
        coded = {} if self.schema.sparse else self._categories
        categories = {name: entries.as_coded_column(self._n) for name, entries in coded.items()}
        lists = [entries.as_list_column() for entries in (*self._lists.values(), self._others) if entries.rows]
        texts = [TextColumn.of(texts) for texts in self._texts.values()]
        return Contents(self.numbers.astype(np.float32) if narrow else self.numbers, categories, lists, texts)

    def labels(self) -> CodedColumn | None:
        return None if self._label_name is None else self._labels.as_coded_column(self._n)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise MisfitError(f"{shown(str(value))} {NOT_A_NUMBER}")
    text = "" if value is None else repr(value)
    if value is None or not abs(value) <= LARGEST:
        raise MisfitError(what_is_wrong(text))
    return float(value)


def _text(value: object) -> str:
    text = text_of_value(value)
    if text is None:
        raise MisfitError(f"{shown(str(value))} is not text: {ELSE}")
    return text


def _one_label(value: object) -> str:
    """Return one of several labels."""
    text = "" if value is None or isinstance(value, list | dict) else _text(value).strip()
    if not is_label(text):
        message = "a list of labels contains null or something that is not a label" if not text else no_label(text)
        raise MisfitError(f"{message}: write strings or whole numbers, not lists within lists, or remove the record")
    return text


def _put_list(entries: Entries, row: int, name: str, values: list[object]) -> None:
    if any(kind_of(value) not in ("string", "bool", "null") for value in values):
        raise MisfitError(f"the list does not contain only strings: {ELSE}")
    for text in dict.fromkeys(_text(value) for value in values):
        entries.add(row, f"{name}={text}")


def record_keys(contents: Contents) -> np.ndarray:
    """Return uint64 (rows,): a sum over all cells, so that the order of categories in the file does not matter."""
    keys = row_hashes(np.where(np.isnan(contents.numbers), -(0.5**1000), contents.numbers))
    with np.errstate(over="ignore"):
        for name, (codes, distinct) in contents.categories.items():
            hashes = _hashes([f"{name}={text}".encode("utf-8", "surrogatepass") for text in distinct])
            keys += np.append(hashes, np.uint64(0))[codes]
        for part in contents.lists:
            hashes = _hashes([text.encode("utf-8", "surrogatepass") for text in part.names])
            bits = part.amounts.astype(np.float64).view(np.uint64)
            np.add.at(keys, part.rows, mixed(hashes[part.codes] + bits))
        for place, column in enumerate(contents.texts, 1):
            keys += mixed(_hashes(column.texts()) + np.uint64(place))
    return keys


def _hashes(texts: list[bytes]) -> np.ndarray:
    """Return a hash of 64 bits for every text."""
    arena, ends = np.frombuffer(b"".join(texts) or b"\0", np.uint8), np.cumsum([0, *map(len, texts)])
    high, low = np.empty(len(texts), np.uint32), np.empty(len(texts), np.uint32)
    with np.errstate(over="ignore"):
        hash_names(arena, ends, 1, high)
        hash_names(arena, ends, 2, low)
    return mixed(high.astype(np.uint64) << np.uint64(32) | low)
