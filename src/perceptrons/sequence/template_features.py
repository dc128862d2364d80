"""Features by template: which combinations of values have a number. The compiled part is `passes/attributes.py`."""

from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.hashing import SECRET
from perceptrons.engine.passes.attributes import (
    COUNT,
    FIND,
    HASH,
    LOAD,
    NEITHER,
    NUMBER,
    PARTS,
    VALUE_BITS,
    FeatureTable,
    Lookup,
    Templates,
    Views,
    attributes,
    insert,
)
from perceptrons.engine.rows import Sparse
from perceptrons.engine.training.weights import Owning
from perceptrons.sequence.template_grammar import Template, View, name_of, seen
from perceptrons.sequence.tokens import Tokens, flat, hashed, numbered, ones, only, place, tokens_of

FIRST_SLOTS = 1024


class Columns(NamedTuple):
    """Tokens as columns: the distinct strings of each, and which of them every token has."""

    strings: list[list[str]]
    codes: np.ndarray  # int32 (columns, tokens)
    starts: np.ndarray

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float32)

    def sequences(self, selected: np.ndarray) -> "Columns":
        """Return some of the sequences, as if there were no others."""
        tokens, starts = tokens_of(self.starts, selected)
        parts = [only(strings, codes[tokens]) for strings, codes in zip(self.strings, self.codes, strict=True)]
        codes = np.array([codes for _, codes in parts], np.int32).reshape(len(parts), len(tokens))
        return Columns([strings for strings, _ in parts], codes, starts)


def _numbered(columns: list[list[str]], starts: np.ndarray) -> Columns:
    """Return columns of plain strings with the distinct ones numbered. Raise TypeError for anything else."""
    codes, strings = np.empty((len(columns), len(columns[0])), np.int32), []
    for c, column in enumerate(columns):
        distinct, codes[c] = numbered(column)
        if not set(map(type, distinct)) <= {str}:
            raise TypeError("not a plain string")
        strings.append(distinct)
    return Columns(strings, codes, starts)


class TemplateFeatures(Owning):
    """The numbers of features by template and values, and of the values of every view by string.

    The first view is always the first column as it is, so that known words can be told from unknown ones. With
    hash_bits nothing is remembered.
    """

    kind = "templates"

    def __init__(self, templates: list[Template], columns: list[str], min_count: int, hash_bits: int | None):
        self.source: tuple[Any, ...] = ()  # what the templates and columns were given as
        self.list, self.columns, self.min_count, self.hash_bits = templates, columns, min_count, hash_bits
        self.views = list(
            dict.fromkeys([View(columns[0]), *(part.view for template in templates for part in template)])
        )
        self.values: list[dict[str, int]] = [{} for _ in self.views]
        self.of_words = [v for v, view in enumerate(self.views) if view.column == columns[0]]
        self._cache: np.ndarray | None = None
        self.keys, self.numbers = np.zeros((FIRST_SLOTS, 2), np.uint64), np.zeros(FIRST_SLOTS, np.int32)
        self.secret = SECRET  # of the process that began the table, where it is used in another
        self.counts = np.zeros(2, np.int64)  # features that have a number, entries of the table
        view, offset = np.full((len(templates), PARTS), -1, np.int32), np.zeros((len(templates), PARTS), np.int32)
        for k, template in enumerate(templates):
            for p, part in enumerate(template):
                view[k, p], offset[k, p] = self.views.index(part.view), part.offset
        codes = range(1, len(templates) + 1) if hash_bits is None else [hashed(name_of(t)) for t in templates]
        self.templates = Templates(view, offset, np.array(codes, np.int64))

    @property
    def n_features(self) -> int:
        return int(self.counts[0]) if self.hash_bits is None else 2**self.hash_bits

    def read(self, X: Any, dtype: Any = None, growth: Any = None) -> Columns:
        """Read sentences as columns. Raise an error that names a token which is not as the others."""
        tokens, starts = flat(X)
        width, kinds = len(self.columns), set(map(type, tokens))
        if not (kinds <= {str} and width == 1):
            if not kinds <= {list, tuple} or not set(map(len, tokens)) <= {width}:
                tokens = [self._plain(token, at, starts) for at, token in enumerate(tokens)]
            columns = [list(map(itemgetter(c), tokens)) for c in range(width)]
        else:
            columns = [tokens]
        try:
            return _numbered(columns, starts)
        except TypeError:  # something that is no plain string
            tokens = [self._plain(token, at, starts) for at, token in enumerate(tokens)]
            return _numbered([list(map(itemgetter(c), tokens)) for c in range(width)], starts)

    def _plain(self, token: Any, at: int, starts: np.ndarray) -> tuple[str, ...]:
        """Return a token as a tuple of plain strings."""
        width = len(self.columns)
        strings = (token,) if isinstance(token, str) else token
        if isinstance(strings, list | tuple) and len(strings) == width and all(isinstance(x, str) for x in strings):
            return tuple(map(str, strings))
        expected = "a string" if width == 1 else f"{width} strings ({', '.join(self.columns)})"
        raise ValueError(f"{place(starts, at).capitalize()} is {token!r}: a token must be {expected}.")

    def tokens(self, read: Columns, dtype: Any, learn: bool) -> Tokens:
        """Return the rows of known features. learn: first number what is new."""
        views, starts, n = self._views(read, learn), read.starts, read.codes.shape[1]
        columns, ends = np.empty(n * len(self.list), np.int32), np.zeros(n + 1, np.int64)
        mode = HASH if self.hash_bits is not None else NUMBER if learn else FIND
        if mode == NUMBER and self.min_count > 1:
            self._walk(views, starts, COUNT, columns, ends)
        self._walk(views, starts, mode, columns, ends)
        columns = columns[: ends[-1]]
        return Tokens(Sparse(ones(len(columns), dtype), columns, ends), starts)

    def _walk(self, views: Views, starts: np.ndarray, mode: int, columns: np.ndarray, ends: np.ndarray) -> None:
        lookup = Lookup(mode, self.min_count, 2 ** (self.hash_bits or 0) - 1)
        at, last = 0, len(starts) - 1
        while at < last:
            table = FeatureTable(self.keys, self.numbers, self.counts, self.secret)
            with np.errstate(over="ignore"):  # hashes do, on purpose; NumPy would warn where nothing is compiled
                at = attributes(views, self.templates, starts, at, table, lookup, columns, ends)
            if at < last:
                self._make_room((starts[at + 1] - starts[at]) * len(self.list))

    def _make_room(self, more: int) -> None:
        """Make the table larger: with room for `more` entries, and at least twice as large."""
        slots = max(2 * len(self.keys), 1 << int(LOAD * (self.counts[1] + more) - 1).bit_length())
        self.keys, self.numbers = _table(slots, self.keys, self.numbers, self.secret)

    def _views(self, read: Columns, learn: bool) -> Views:
        """Return the values of every view for the distinct strings of its column."""
        column = np.array([self.columns.index(view.column) for view in self.views])
        sizes = [len(read.strings[c]) for c in column]
        ends = np.cumsum(sizes, dtype=np.int64)
        values = np.empty(ends[-1], np.int64)
        if learn and self.hash_bits is None:
            self._learn_values(read, column)
        cached = self._cached(read.strings[0]) if self.hash_bits is None else None
        for v in range(len(self.views)):
            part = slice(ends[v] - sizes[v], ends[v])
            if cached is not None and column[v] == 0:
                values[part] = cached[:, self.of_words.index(v)]
            else:
                values[part] = self._look(v, read.strings[column[v]])
        return Views(read.codes, column, ends - sizes, values)

    def _learn_values(self, read: Columns, column: np.ndarray) -> None:
        """Number what views see for the first time."""
        for v, view in enumerate(self.views):
            known = self.values[v]
            for string in seen(read.strings[column[v]], view):
                if string and string not in known:
                    known[string] = len(known)
                    self._cache = None
            if len(known) >> VALUE_BITS:
                raise ValueError(f"{view} has over {2**VALUE_BITS:,} different values: use hash_bits.")

    def _look(self, v: int, strings: list[str]) -> np.ndarray:
        """Return the values of view v for strings."""
        views = seen(strings, self.views[v])
        hashes = (hashed(string) if string else NEITHER for string in views)
        numbers = map(self.values[v].get, views, repeat(NEITHER)) if self.hash_bits is None else hashes
        return np.fromiter(numbers, np.int64, len(strings))

    def _cached(self, words: list[str]) -> np.ndarray:
        """Return the values of all views of the first column, (words, views); looked up once for words of training.

        The cache holds values + 2, and 0 for what was not asked yet: so it takes memory only where it is used.
        """
        at, cache = self._look(0, words), self._cache
        if cache is None:
            cache = self._cache = np.zeros((len(self.values[0]) + 1, len(self.of_words)), np.int32)
        values = cache[at]
        uncached = np.flatnonzero((at < 0) | (values[:, 0] == 0))
        if len(uncached):
            strings = [words[i] for i in uncached.tolist()]
            values[uncached] = np.stack([self._look(v, strings) for v in self.of_words], axis=1) + 2
            known = uncached[at[uncached] >= 0]
            cache[at[known], 1:] = values[known, 1:]
            cache[at[known], 0] = values[known, 0]  # last: another thread may be reading
        return values - 2

    def forget_waiting(self) -> None:
        """Reset the counts of features that did not occur often enough."""
        template, values, numbers = self.entries()
        is_kept = (numbers >= 0) | (numbers <= -self.min_count)
        if not is_kept.all():
            self.fill(template[is_kept], values[is_kept], numbers[is_kept])

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return of every entry its template, its (entries, PARTS) values, and its number (negative: its count)."""
        used = self.keys[:, 0] != 0
        high, low = self.keys[used].T
        mask, bits = np.uint64(2**VALUE_BITS - 1), np.uint64(VALUE_BITS)
        values = np.stack([(high >> bits) & mask, high & mask, (low >> bits) & mask, low & mask], axis=1)
        template = (high >> np.uint64(2 * VALUE_BITS)).astype(np.int64) - 1
        return template, values.astype(np.int64), self.numbers[used]

    def fill(self, template: np.ndarray, values: np.ndarray, numbers: np.ndarray) -> None:
        """Make these the entries of the table."""
        bits, v, counts = np.uint64(VALUE_BITS), values.T, [(numbers >= 0).sum(), len(numbers)]
        new_keys = np.empty((len(numbers), 2), np.uint64)
        new_keys[:, 0] = ((template + 1).astype(np.uint64) << bits | v[0].astype(np.uint64)) << bits
        new_keys[:, 0] |= v[1].astype(np.uint64)
        new_keys[:, 1] = v[2].astype(np.uint64) << bits | v[3].astype(np.uint64)
        slots = max(FIRST_SLOTS, 1 << int(LOAD * len(numbers)).bit_length())
        self.keys, self.numbers = _table(slots, new_keys, numbers.astype(np.int32), self.secret)
        self.counts = np.array(counts, np.int64)

    def names(self) -> list[str]:
        """Return the names of all features in the order of their numbers."""
        if self.hash_bits is not None:
            return [f"#{number}" for number in range(self.n_features)]
        template, values, numbers = self.entries()
        known = np.flatnonzero(numbers >= 0)
        known = known[np.argsort(numbers[known])]
        strings, heads = [list(view) for view in self.values], [name_of(template) for template in self.list]
        views = self.templates.looks.tolist()
        return [
            heads[k]
            + "=" * (len(self.list[k]) > 0)
            + "|".join(strings[v][x] for v, x in zip(views[k], row, strict=True) if v >= 0)
            for k, row in zip(template[known].tolist(), values[known].tolist(), strict=True)
        ]


def _table(slots: int, entries: np.ndarray, entry_numbers: np.ndarray, secret: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table with this number of slots that holds these entries."""
    keys, numbers = np.zeros((slots, 2), np.uint64), np.zeros(slots, np.int32)
    with np.errstate(over="ignore"):
        insert(keys, numbers, entries, entry_numbers, secret)
    return keys, numbers
