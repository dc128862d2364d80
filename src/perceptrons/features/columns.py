"""`Columns`, the mapping between feature names and matrix columns, which also knows the names that share a column."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.engine.hashing import hash_names
from perceptrons.engine.scan.name_table import MOST, extended, grown, new_table, remember_names
from perceptrons.engine.scan.words import MARK
from perceptrons.engine.training.parameters import NONE, Domain, Flag, Number
from perceptrons.features.named_rows import ColumnPlaces, Names
from perceptrons.features.values import Recipe

FIRST_SLOTS = 2**10
OPTIONS: dict[str, tuple[Domain, ...]] = {
    "bits": (Number(1, 31, whole=True), NONE),  # bit 32 is the sign
    "signed": (Flag(),),
    "seed": (Number(0, 2**32 - 1, whole=True),),
    "remember": (Number(0, MOST, whole=True),),
    "frozen": (Flag(),),
}
KINDS = {"arena": np.uint8, "ends": np.int64, "counts": np.int64, "columns": np.int32}


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
        self._table = new_table(FIRST_SLOTS)
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
        limit = MOST if self.bits is None else self.remember
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
        from perceptrons.features.from_memory import given_rows

        return given_rows(X, source, self)

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
            table = table[:, shared]
            largest = np.abs(table).max(axis=0, initial=0)
            for k in np.argsort(-largest, kind="stable")[:top]:
                if largest[k] > 0:
                    column, weight = int(shared[k]), float(table[np.abs(table[:, k]).argmax(), k])
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
    for name, kind in KINDS.items():
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
