"""Names of features and their columns: `Columns`, rows of named features as matrices, and the weights of words.

Names are words and n-grams of texts, or names as they are. The compiled loops are in `scan/name_table.py` and
`scan/gather.py`.
"""

import base64
import binascii
import math
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.hashing import SECRET, hash_names
from perceptrons.engine.scan.bytes import ROOM
from perceptrons.engine.scan.gather import Amounts, Gathered, Homes, first_in_column, gather
from perceptrons.engine.scan.name_table import MOST as MAX_NAMES
from perceptrons.engine.scan.name_table import (
    Table,
    extended,
    grown,
    key_names,
    new_table,
    number_names,
    power_of_two,
    remember_names,
)
from perceptrons.engine.scan.words import MARK
from perceptrons.engine.training.parameters import NONE, Domain, Flag, Number
from perceptrons.features.cells import TextColumn
from perceptrons.features.values import Recipe, require

MIN_SLOTS, USUAL_SLOTS = 2**10, 2**16  # of a new table: for a short text, for a piece of about 1 MB
OPTIONS: dict[str, tuple[Domain, ...]] = {
    "bits": (Number(1, 31, whole=True), NONE),  # bit 32 is the sign
    "signed": (Flag(),),
    "seed": (Number(0, 2**32 - 1, whole=True),),
    "remember": (Number(0, MAX_NAMES, whole=True),),
    "frozen": (Flag(),),
}
STATE_TYPES = {"arena": np.uint8, "ends": np.int64, "counts": np.int64, "columns": np.int32}


class Names(NamedTuple):
    """Distinct names, numbered in order of first occurrence, as UTF-8."""

    arena: np.ndarray  # uint8: name k is arena[ends[k]:ends[k + 1]]
    ends: np.ndarray  # int64 (n + 1,)
    counts: np.ndarray  # int64 (n,): how often each occurred
    keys: np.ndarray  # uint64 (n,): their keys in hash tables

    @classmethod
    def of(cls, arena: np.ndarray, ends: np.ndarray, counts: np.ndarray) -> "Names":
        """Return names, which must all be different, with their keys."""
        keys, padded = np.empty(len(ends) - 1, np.uint64), np.concatenate([arena, np.zeros(ROOM, np.uint8)])
        with np.errstate(over="ignore"):  # hashes overflow on purpose; NumPy would warn where nothing is compiled
            key_names(padded, ends, SECRET, keys)
        return cls(padded[: len(arena)], ends, counts, keys)

    @classmethod
    def in_table(cls, table: Table, counts: np.ndarray) -> "Names":
        """Return the names of a hash table that nobody changes any more."""
        n = int(table.used[0])
        return cls(table.arena[: table.ends[n]], table.ends[: n + 1], counts, table.keys[:n])

    def as_bytes(self) -> list[bytes]:
        arena = self.arena.tobytes()
        return [arena[begin:end] for begin, end in pairwise(self.ends.tolist())]

    def take(self, order: np.ndarray) -> "Names":
        """Return the names in another order, or some of them."""
        lengths = np.diff(self.ends)[order]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.ends[order] - ends[:-1], lengths) + np.arange(ends[-1])
        return Names(self.arena[places], ends, self.counts[order], self.keys[order])

    def followed_by(self, more: "Names") -> "Names":
        """Return these names and, after them, more names, which must all be different from these."""
        ends = np.concatenate([self.ends, more.ends[1:] + self.ends[-1]])
        arena, counts, keys = (np.concatenate([getattr(self, part), getattr(more, part)])
                               for part in ("arena", "counts", "keys"))  # fmt: skip
        return Names(arena, ends, counts, keys)


class NamedRows(NamedTuple):
    """Rows of features by their numbers among the names of the piece, each with a value."""

    starts: np.ndarray  # int64 (rows + 1,)
    numbers: np.ndarray  # int32
    amounts: np.ndarray  # float64
    names: Names

    def row_of_entries(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def first_rows(self) -> np.ndarray:
        """Return the row in which each name comes first."""
        first = np.zeros(len(self.names.counts), np.int64)
        first[self.numbers[::-1]] = self.row_of_entries()[::-1]  # of several assignments the last one stays
        return first

    def without_zeros(self) -> "NamedRows":
        keep = self.amounts != 0
        return self if keep.all() else self.part(keep)

    def part(self, keep: np.ndarray) -> "NamedRows":
        """Return the rows with only these entries. keep: a flag for every entry."""
        starts = np.concatenate([[0], np.cumsum(keep)])[self.starts]
        return self._replace(starts=starts, numbers=self.numbers[keep], amounts=self.amounts[keep])

    def with_names(self, order: np.ndarray) -> "NamedRows":
        """Return the same rows, with only these names and in this order. All names that occur must be among them."""
        number_of = np.empty(len(self.names.counts), np.int32)
        number_of[order] = np.arange(len(order))
        return self._replace(numbers=number_of[self.numbers], names=self.names.take(order))


class ColumnPlaces(NamedTuple):
    """The columns of names."""

    columns: np.ndarray  # int64: -1 where a name has none
    signs: np.ndarray  # float32: what its values are multiplied by


def local_names(content: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, Names]:
    """Return the number of each name content[begin[i]:end[i]], taken as it is, and the distinct names."""
    content, begin, end = TextColumn(content, begin, end).checked()
    if int(end.max(initial=0)) + ROOM > len(content):  # eight bytes are loaded at a time
        content = np.concatenate([content, np.zeros(ROOM, np.uint8)])
        content.flags.writeable = False
    lengths = end - begin
    table = new_table(slots_for(int(lengths.sum())))
    numbers, item = np.empty(len(begin), np.int32), 0
    with np.errstate(over="ignore"):
        while item < len(begin):
            item = number_names(content, begin, end, item, table, numbers)
            if item < len(begin):
                table = grown(table, 1, int(lengths.max()))
    return numbers, Names.in_table(table, np.bincount(numbers, minlength=int(table.used[0])).astype(np.int64))


def slots_for(n_bytes: int) -> int:
    """Return the slots of a new table for names in this many bytes of text."""
    return min(max(power_of_two(n_bytes // 8), MIN_SLOTS), USUAL_SLOTS)


def order_of_occurrence(numbers: np.ndarray, n: int) -> np.ndarray:
    """Return the numbers below n that stand in an array, in the order in which they first do."""
    first = np.full(n, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of several assignments the last one stays
    order = np.argsort(first, kind="stable")
    return order[: np.count_nonzero(first < len(numbers))]


def assemble(rows: NamedRows, places: ColumnPlaces, n_columns: int, norm: str | None = None) -> sp.csr_matrix:
    """Return the rows as a float32 matrix; names without a column are dropped. With norm "l2", each row has length 1.

    Where several entries of a row have one column, their sum stands where the first of them stood.
    """
    n_names, n = len(places.columns), len(rows.numbers)
    firsts = np.empty(n_names, np.int32)
    with np.errstate(over="ignore"):
        first_in_column(places.columns, np.zeros(power_of_two(2 * n_names + 1), np.int32), firsts)
    result = Gathered(np.zeros(len(rows.starts), np.int32), np.empty(n, np.int32), np.empty(n, np.float32))
    last_entries, sums = np.zeros(n_names, np.int64), np.empty(int(np.diff(rows.starts).max(initial=0)))
    entries, homes = Amounts(*rows[:3]), Homes(places.columns, places.signs, firsts)
    n = gather(entries, homes, norm == "l2", last_entries, sums, result)
    shape = len(rows.starts) - 1, n_columns
    return sp.csr_matrix((result.values[:n], result.columns[:n], result.starts), shape=shape, copy=False)


class Columns:
    """The mapping from feature names to matrix columns: numbered in order of appearance, or hashed.

    Use it to see the features of a model by name, and to see which names share a column. To turn texts or dicts into
    matrices, use `HashedText` and `HashedFeatures` instead.

    Parameters
    ----------
    bits : int or None, default=None
        None: a new name gets the next column. Otherwise, its column is given by this many lower bits, 1 to 31, of its
        hash (MurmurHash3 of its UTF-8).
    signed : bool, default=True
        With bits: whether names whose hash has its highest bit set count negatively. Names that share a column then
        disturb each other less.
    seed : int, default=0
        The seed of the hash.
    remember : int, default=2**20
        With bits: the maximum number of names to store for display. It does not affect training.
    frozen : bool, default=False
        Whether nothing new is stored or counted; without bits, unknown names then have no column.

    Attributes
    ----------
    n_columns, n_names : int
        The number of columns and of stored names.
    counts, columns, signs : arrays of shape (n_names,)
        For each stored name: how often it occurred, its column, and the sign of its values there.
    forgot : bool
        Whether there were names that could not be stored.

    Examples
    --------
    >>> from perceptrons.features import HashedText
    >>> columns = HashedText(bits=2).fit(["to be or not to be, that is the question"]).columns_
    >>> columns.n_names, columns.n_columns
    (8, 4)
    >>> columns.name_of(1)
    ['that', 'is']
    """

    def __init__(
        self, bits: int | None = None, signed: bool = True, seed: int = 0, remember: int = 2**20, frozen: bool = False
    ):
        options = {"bits": bits, "signed": signed, "seed": seed, "remember": remember, "frozen": frozen}
        check_options(options)
        self.bits = None if bits is None else int(bits)
        self.signed, self.seed, self.remember = bool(signed), int(seed), int(remember)
        self.frozen, self.forgot = bool(frozen), False
        self._table = new_table(MIN_SLOTS)
        self._counts, self._columns = (np.zeros(len(self._table.keys), kind) for kind in (np.int64, np.int32))

    @property
    def n_names(self) -> int:
        return int(self._table.used[0])

    @property
    def n_columns(self) -> int:
        return self.n_names if self.bits is None else 2**self.bits

    @property
    def counts(self) -> np.ndarray:
        return self._counts[: self.n_names]

    @property
    def columns(self) -> np.ndarray:
        return np.arange(self.n_names) if self.bits is None else self._columns[: self.n_names].astype(np.int64)

    @property
    def signs(self) -> np.ndarray:
        """float32 (n_names,): +1, or -1 for a name that counts negatively in its column."""
        if self.bits is None:
            return np.ones(self.n_names, np.float32)
        return self._signs(self._hashes(self._table.arena, self._table.ends[: self.n_names + 1]))

    def _hashes(self, arena: np.ndarray, ends: np.ndarray) -> np.ndarray:
        hashes = np.empty(len(ends) - 1, np.uint32)
        with np.errstate(over="ignore"):  # hashes do, on purpose; NumPy would warn where nothing is compiled
            hash_names(arena, ends, self.seed, hashes)
        return hashes

    def _signs(self, hashes: np.ndarray) -> np.ndarray:
        return np.where(self.signed & (hashes >= 2**31), np.float32(-1), np.float32(1))

    def as_frozen(self) -> "Columns":
        """Return the same columns, to which nothing is added; they share their memory."""
        frozen = Columns.__new__(Columns)
        frozen.__dict__.update(self.__dict__)
        frozen.frozen = True
        return frozen

    def find(self, names: Names, hashes: np.ndarray | None = None) -> ColumnPlaces:
        """Return where the names of a piece have their columns.

        hashes: to be used instead of MurmurHash3 of the names, with bits. If not frozen, one thread at a time.
        """
        if self.bits is None:
            if hashes is not None:
                raise ValueError("Columns(bits=None) does not hash: leave hashes out.")
            return ColumnPlaces(self._numbers(names), np.ones(len(names.counts), np.float32))
        if hashes is None:
            hashes = self._hashes(names.arena, names.ends)
        columns = (hashes & np.uint32(2**self.bits - 1)).astype(np.int64)
        if self.remember and not self.frozen:
            n_before = self.n_names
            numbers = self._numbers(names)
            new = np.flatnonzero(numbers >= n_before)
            self._columns[numbers[new]] = columns[new]
            self.forgot = self.forgot or bool((numbers < 0).any())
        return ColumnPlaces(columns, self._signs(hashes))

    def knows(self, names: Names) -> np.ndarray:
        """Return whether each of these names is stored."""
        return self.as_frozen()._numbers(names) >= 0

    def add(self, more: "Columns") -> np.ndarray:
        """Add the names of another that was made with the same options; return the number of each here."""
        n_before, numbers = self.n_names, self._numbers(more._stored())
        new = np.flatnonzero(numbers >= n_before)
        self._columns[numbers[new]] = more._columns[new]
        self.forgot = self.forgot or more.forgot or bool((numbers < 0).any())
        return numbers

    def _stored(self) -> Names:
        return Names.in_table(self._table, self.counts)

    def _numbers(self, names: Names) -> np.ndarray:
        """Return the number of every name, -1 where it has none; learns new ones unless frozen."""
        n, n_bytes = len(names.counts), int(names.ends[-1])
        limit = MAX_NAMES if self.bits is None else self.remember
        if not self.frozen:
            self._make_room(min(n, limit - self.n_names), n_bytes)
        numbers = np.empty(n, np.int64)
        with np.errstate(over="ignore"):  # hashes do, on purpose; NumPy would warn where nothing is compiled
            arrays = names.arena, names.ends, names.keys, names.counts
            remember_names(*arrays, self._table, self._counts, -1 if self.frozen else limit, numbers)
        return numbers

    def _make_room(self, names: int, n_bytes: int) -> None:
        table, n = self._table, self.n_names
        if n + names > len(table.keys) or int(table.ends[n]) + n_bytes > len(table.arena):
            self._table = grown(table, names, n_bytes)
            for part in ("_counts", "_columns"):
                longer = extended(getattr(self, part), len(self._table.keys))
                longer[n:] = 0
                setattr(self, part, longer)

    def rows(self, X: Any, source: Recipe) -> Any:
        """Return examples in memory as rows of these columns. source: how files of such examples were read."""
        from perceptrons.features.rows import rows_of_examples

        return rows_of_examples(X, source, self)

    def name_of(self, column: int) -> list[str]:
        """Return the stored names of a column, the most frequent first."""
        if not 0 <= column < self.n_columns:
            raise ValueError(f"There is no column {column}: there are {self.n_columns} columns.")
        numbers = np.flatnonzero(self.columns == column)
        return self._shown(numbers[np.argsort(-self.counts[numbers], kind="stable")])

    def names(self, numbers: Any = None) -> list[str]:
        """Return all stored names in order of appearance (without bits, the order of the columns), or some of them."""
        return self._shown(np.arange(self.n_names) if numbers is None else np.asarray(numbers))

    def labels(self) -> list[str]:
        """Return a label for each column: its names, the most frequent first, or its number if it has none."""
        labels, order = [f"#{column}" for column in range(self.n_columns)], np.lexsort((-self.counts, self.columns))
        columns, firsts = np.unique(self.columns[order], return_index=True)
        for column, numbers in zip(columns.tolist(), np.split(order, firsts[1:]), strict=False):  # no columns, one part
            labels[column] = " | ".join(self._shown(numbers))
        return labels

    def audit(self, weights: Any = None, top: int = 20) -> dict[str, Any]:
        """Return how names share columns; with weights (one or more per column), also the largest shared ones.

        Returns
        -------
        dict
            features : the number of stored names; forgot : whether there were more; columns : the number of columns;
            columns_used : those with a name; shared_columns : those with several names; features_sharing : the names in
            these; heaviest : the `top` shared columns with the largest weights, each as a dict of column, weight and
            names.
        """
        columns, n_names = np.unique(self.columns, return_counts=True)
        shared = columns[n_names > 1]
        heaviest = list[dict[str, Any]]()
        if weights is not None:
            table = np.atleast_2d(np.asarray(weights))
            if table.ndim != 2 or table.shape[1] != self.n_columns:
                raise ValueError(
                    f"weights have the shape {np.shape(weights)}: there must be one weight for each of the "
                    f"{self.n_columns} columns."
                )
            largest = np.abs(table[:, shared]).max(axis=0, initial=0)
            for column in shared[np.argsort(-largest, kind="stable")[:top]].tolist():
                weight = float(table[np.abs(table[:, column]).argmax(), column])
                if weight:
                    heaviest.append({"column": column, "weight": weight, "names": self.name_of(column)})
        return {
            "features": self.n_names,
            "forgot": self.forgot,
            "columns": self.n_columns,
            "columns_used": len(columns),
            "shared_columns": len(shared),
            "features_sharing": int(n_names[n_names > 1].sum()),
            "heaviest": heaviest,
        }

    def frequent(self, min_count: int) -> "Columns":
        """Return only the names that occurred this often, renumbered. Without bits."""
        names = self._stored().take(np.flatnonzero(self.counts >= min_count))
        arrays = {"arena": names.arena, "ends": names.ends, "counts": names.counts}
        return Columns.from_state(self.state()[0], arrays)

    def state(self, limit: int | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a file needs to keep: a dict of plain values and one of arrays.

        limit: keep only this many names, the first that were found. Nothing about them changes except the counts, so
        the result is right even while another thread finds more names.
        """
        n = self.n_names if limit is None else min(limit, self.n_names)
        table = self._table
        options = {"bits": self.bits, "signed": self.signed, "seed": self.seed, "remember": self.remember}
        arrays = {"arena": table.arena[: table.ends[n]], "ends": table.ends[: n + 1], "counts": self._counts[:n]}
        if self.bits is not None:
            arrays["columns"] = self._columns[:n]
        return options | {"frozen": self.frozen, "forgot": self.forgot}, {k: v.copy() for k, v in arrays.items()}

    @classmethod
    def from_state(cls, options: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "Columns":
        """Return the columns that had this state. Raises ValueError for what no columns can have had."""
        check_options(options)
        arena, ends, counts, homes = check_arrays(arrays, options["bits"], options["remember"])
        columns = cls(*(options[name] for name in ("bits", "signed", "seed", "remember")))
        if len(np.unique(columns._numbers(Names.of(arena, ends, counts)))) != len(counts):
            raise ValueError("Two of the names are the same.")
        columns._columns[: len(homes)] = homes
        columns.frozen, columns.forgot = bool(options["frozen"]), bool(options.get("forgot", False))
        return columns

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return self.state()

    def __setstate__(self, state: tuple[dict[str, Any], dict[str, np.ndarray]]) -> None:
        self.__dict__.update(Columns.from_state(*state).__dict__)

    def _shown(self, numbers: np.ndarray) -> list[str]:
        ends, arena = self._table.ends, self._table.arena
        return [shown(arena[ends[k] : ends[k + 1]].tobytes()) for k in numbers]


def shown(name: bytes) -> str:
    """Return a name for people: n-grams of characters stand in ‹ ›, as they may begin or end with a space."""
    prefix, mark, gram = name.decode("utf-8", "replace").partition(chr(MARK))
    return f"{prefix}‹{gram}›" if mark else prefix


def check_options(options: Mapping[str, Any]) -> None:
    """Raise ValueError for an option of `Columns` that is missing or outside its domain."""
    for name, choices in OPTIONS.items():
        if name not in options or not any(domain.fits(options[name]) for domain in choices):
            allowed = " or ".join(str(domain) for domain in choices)
            raise ValueError(f"Columns({name}={options.get(name)!r}): {name} must be {allowed}.")


def check_arrays(arrays: Mapping[str, Any], bits: int | None, remember: int) -> tuple[np.ndarray, ...]:
    """Return arena, ends, counts and columns of names. Raise ValueError unless they fit together."""
    parts = {}
    for name, kind in STATE_TYPES.items():
        part = arrays.get(name, np.zeros(0, kind)) if name == "columns" and bits is None else arrays.get(name)
        if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype.kind not in "iu":
            raise ValueError(f"The names have no {name}: a list of whole numbers was expected.")
        if part.dtype != kind and len(part) and not np.array_equal(part, part.astype(kind)):
            raise ValueError(f"The {name} of the names are out of range.")
        parts[name] = np.array(part, kind)
    arena, ends, counts, columns = parts.values()
    n = len(counts)
    for is_valid, message in (
        (len(ends) == n + 1 and (bits is None or len(columns) == n), "there are not as many ends, counts and columns"),
        (bits is None or n <= remember, "there are more than may be remembered"),
        (ends[:1].tolist() == [0] and ends[-1:].tolist() == [len(arena)], "they are cut short"),
        (bool((np.diff(ends) >= 0).all()), "their ends are not in order"),
        (bool(((counts > 0) & (counts < 2**62)).all()), "some never came, or more often than can be counted"),
        (bits is None or not n or (columns.min() >= 0 and columns.max() < 2**bits), "some columns are out of range"),
    ):
        if not is_valid:
            raise ValueError(f"The names are not sound: {message}.")
    try:
        arena.tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"The names are not UTF-8: {error.reason} at byte {error.start}.") from error
    inner = ends[ends < len(arena)]
    if bool((arena[inner] >> 6 == 2).any()):
        raise ValueError("The names are not UTF-8: one ends within a character.")
    return arena, ends, counts, columns


# ---- weights of words

STEPS = 16  # per unit of a weight, so that it takes one byte, and a recipe can keep those of all words
MAX_WEIGHTS = 2**22  # of more columns, those that are this far apart share a weight
WEIGHT_TYPES = {"columns": int, "levels": str, "unseen": int, "beside": float}


class TermWeights(NamedTuple):
    """A weight for the words of every column, 1 + ln((1 + texts) / (1 + texts with the word)), in steps of 1 / STEPS.

    That is idf as in scikit-learn's `TfidfTransformer`.
    """

    levels: np.ndarray  # uint8: steps above 1
    unseen: int  # of words that were in no text
    beside: float = 1.0  # for all other features, so that together they are about as long as one text

    @classmethod
    def measure(
        cls, parts: Iterable[tuple[NamedRows, ColumnPlaces, np.ndarray]], n_columns: int, n_others: int = 0
    ) -> "TermWeights":
        """Return the weights by how many texts have the words of each column.

        parts: texts, the columns of their words, and which texts count. n_others: features of a row beside the words.
        """
        n_with_word, n_texts = np.zeros(min(n_columns, MAX_WEIGHTS), np.int64), 0
        for rows, places, is_counted in parts:
            columns = places.columns[rows.numbers]
            columns = columns[np.repeat(is_counted, np.diff(rows.starts)) & (columns >= 0)]
            n_texts += int(np.count_nonzero(is_counted))
            n_with_word += np.bincount(columns & (MAX_WEIGHTS - 1), minlength=len(n_with_word))
        ratio = np.maximum((1 + n_texts) / (1 + np.append(n_with_word, 0)), 1.0)  # words that share a column are more
        levels = np.minimum(np.rint(STEPS * np.log(ratio)), 255).astype(np.uint8)
        return cls(levels[:-1], int(levels[-1]), 1 / math.sqrt(max(n_others, 1)))

    def of(self, columns: np.ndarray) -> np.ndarray:
        """Return the weights of words in these columns."""
        places = columns & (MAX_WEIGHTS - 1) if len(self.levels) == MAX_WEIGHTS else columns
        is_known = (places >= 0) & (places < len(self.levels))
        levels = np.full(len(columns), self.unseen, np.uint8)
        levels[is_known] = self.levels[places[is_known]]
        return 1.0 + levels / STEPS

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        packed = base64.b64encode(zlib.compress(self.levels.tobytes())).decode()
        return {"columns": len(self.levels), "levels": packed, "unseen": self.unseen, "beside": self.beside}

    @classmethod
    def from_dict(cls, facts: Any) -> "TermWeights":
        """Return the weights that `as_dict` wrote. Raises ValueError for what it cannot have written."""
        is_complete = isinstance(facts, dict) and facts.keys() == WEIGHT_TYPES.keys()
        require(is_complete, "all that weights of words have")
        require(all(type(facts[name]) is kind for name, kind in WEIGHT_TYPES.items()), "all that weights of words have")
        is_valid = 0 <= facts["columns"] <= MAX_WEIGHTS and 0 <= facts["unseen"] <= 255 and 0 < facts["beside"] <= 1
        require(is_valid, "the weights of words")
        return cls(_unpacked(facts["levels"], facts["columns"]), facts["unseen"], facts["beside"])


@lru_cache(maxsize=8)  # a model that predicts one record at a time asks for the same again
def _unpacked(packed: str, n: int) -> np.ndarray:
    try:
        levels = zlib.decompressobj().decompress(base64.b64decode(packed, validate=True), MAX_WEIGHTS + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"expected packed weights of words ({error})") from error
    require(len(levels) == n, "a weight of words for every column")
    return np.frombuffer(levels, np.uint8)
