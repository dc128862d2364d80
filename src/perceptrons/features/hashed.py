"""`HashedFeatures`: dicts, pairs or lists of names to sparse rows."""

import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.features.assembling import Found, assemble_values
from perceptrons.features.local import Names, Workspace, local_names
from perceptrons.features.naming import Naming

ROWS = 4096  # of a piece
LARGEST = float(np.finfo(np.float32).max)


class Valued(NamedTuple):
    """Rows of names by number, each with a value."""

    starts: np.ndarray
    numbers: np.ndarray
    amounts: np.ndarray
    names: Names


class Rowed:
    """Rows of features, and where they are cut into pieces."""

    def __init__(self, rows: list[Any]):
        self.rows = rows
        self.cuts = [*range(0, len(rows), ROWS), len(rows)]


class HashedFeatures(Naming):
    """Rows of named features to a sparse matrix, hashed to columns or with a vocabulary.

    A row is a dict of names and values (a number, or a string: then "name=value" has the value 1), a list of pairs of
    names and values, or a list of names, which have the value 1. As scikit-learn's `FeatureHasher`, but
    it remembers the names it met in `fit` and which of them share a column; its columns and signs are others.

    When to use it: features made by a program, with names that are not known beforehand. When not: texts, for which
    there is `HashedText`, or tables with fixed columns (scikit-learn's `OneHotEncoder`).

    Parameters
    ----------
    bits : int or None, default=20
        Hash to 2**bits columns, 1 to 31. None: columns for the names that `fit` meets, others are dropped.
    signed : bool, default=True
        Where columns are hashed, half of the features count negatively, so that those which share a column do
        not add up.
    seed : int, default=0
        Of the hash, MurmurHash3 of the name as UTF-8.
    min_count : int, default=1
        With bits=None: leave out names that come less often in the rows of `fit`.

    Attributes
    ----------
    columns_ : Columns
        After `fit`: names and columns; `columns_.audit(weights)` shows what shares a column.
    vocabulary_ : dict of str to int
        The column of each name met in `fit`.
    counts_ : array
        How often each came, in the order of `vocabulary_`.

    Examples
    --------
    >>> from perceptrons.features import HashedFeatures
    >>> rows = [{"city": "Rome", "rooms": 3}, {"city": "Oslo", "rooms": 2}]
    >>> features = HashedFeatures(bits=None)
    >>> features.fit_transform(rows).toarray().tolist()
    [[1.0, 3.0, 0.0], [0.0, 2.0, 1.0]]
    >>> features.get_feature_names_out().tolist()
    ['city=Rome', 'rooms', 'city=Oslo']
    """

    def __init__(self, *, bits=20, signed=True, seed=0, min_count=1):
        self.bits = bits
        self.signed = signed
        self.seed = seed
        self.min_count = min_count

    def _read(self, X: Any) -> Rowed:
        if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
            raise TypeError(f"X is a {type(X).__name__}: a list of rows was expected, each a dict, or a list of names.")
        if hasattr(X, "columns"):
            raise TypeError(f"X is a {type(X).__name__}: give rows as dicts, for instance X.to_dict('records').")
        return Rowed(list(X))

    def _cutter(self) -> Callable[[Rowed, int, Workspace], Valued]:
        self._check()
        return _cut

    def _assemble(self, local: Valued, found: Found, n_columns: int) -> sp.csr_matrix:
        return assemble_values(local.starts, local.numbers, local.amounts, found, n_columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.dict = True
        return tags


def _cut(source: Rowed, k: int, workspace: Workspace) -> Valued:
    first, last = source.cuts[k], source.cuts[k + 1]
    names: list[bytes] = []
    amounts: list[float] = []
    starts = np.zeros(last - first + 1, np.int64)
    for at in range(first, last):
        for name, value in _features(source.rows[at], at):
            name, amount = _feature(name, value, at)
            if amount:
                names.append(name)
                amounts.append(amount)
        starts[at - first + 1] = len(names)
    ends = np.cumsum(np.fromiter(map(len, names), np.int64, len(names)))
    content = np.frombuffer(b"".join(names), np.uint8)
    numbers, distinct = local_names(content, np.concatenate([[0], ends])[: len(ends)], ends, workspace)
    return Valued(starts, numbers, np.array(amounts, np.float64), distinct)


def _features(row: Any, at: int) -> Iterable[tuple[Any, Any]]:
    """The names and values of a row, as they come."""
    if isinstance(row, Mapping):
        return row.items()
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        raise TypeError(f"Row {at} is {row!r} ({type(row).__name__}): a row is a dict, or a list of names or of pairs.")
    return (_pair(item, at) for item in row)


def _pair(item: Any, at: int) -> tuple[Any, Any]:
    if isinstance(item, str):
        return item, 1
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    raise TypeError(
        f"Row {at} has {item!r} ({type(item).__name__}): a name, or a pair of a name and a value, was expected."
    )


def _feature(name: Any, value: Any, at: int) -> tuple[bytes, float]:
    """A name as it is hashed, and its value."""
    if not isinstance(name, str):
        raise TypeError(f"Row {at} has a feature {name!r} ({type(name).__name__}): names must be strings.")
    if isinstance(value, str):
        name, value = f"{name}={value}", 1.0
    if not isinstance(value, Real | np.bool_):
        raise TypeError(f"Row {at}: feature {name!r} is {value!r}, which is neither a number nor a string.")
    try:
        amount = float(value)
    except OverflowError:  # a whole number beyond all floats
        amount = math.inf
    if not abs(amount) <= LARGEST:
        raise ValueError(f"Row {at}: feature {name!r} is {amount!r}: values must be finite and at most {LARGEST:.0e}.")
    try:
        return name.encode(), amount
    except UnicodeEncodeError as error:
        raise ValueError(f"Row {at}: the name {name!r} has half a surrogate pair, which is no character.") from error
