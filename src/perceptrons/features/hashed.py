"""`HashedFeatures`, the transformer that turns dicts, pairs or lists of names into sparse rows."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.streaming.threads import in_order
from perceptrons.engine.training.inputs import as_configured
from perceptrons.engine.training.matrices import stack_csr
from perceptrons.engine.training.parameters import Domain, Number, check_parameters
from perceptrons.features.cells import strings_of
from perceptrons.features.columns import OPTIONS, Columns
from perceptrons.features.named_rows import ColumnPlaces, Names, Workspace, Workspaces, assemble_values, local_names

HASHING: dict[str, tuple[Domain, ...]] = {
    "bits": OPTIONS["bits"],
    "signed": OPTIONS["signed"],
    "seed": OPTIONS["seed"],
    "min_count": (Number(1, 2**62, whole=True),),
}
ROWS = 4096  # of a piece
LARGEST = float(np.finfo(np.float32).max)


# auto_wrap_output_keys=None: rows stay sparse where scikit-learn makes frames, as those of its HashingVectorizer
class Naming(TransformerMixin, BaseEstimator, ABC, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Rows of named features to a sparse matrix: hashed, which needs no fit, or by a vocabulary that `fit` learns."""

    bits: int | None
    signed: bool
    seed: int
    min_count: int
    columns_: Columns
    _threaded = False  # is a piece cut without holding Python's lock?

    @abstractmethod
    def _read(self, X: Any) -> Any:
        """Return the rows, checked, as an object whose `cuts` say where its pieces begin and end."""

    @abstractmethod
    def _cutter(self) -> Callable[[Any, int, Workspace], Any]:
        """Return a function that gives piece k of what was read as rows of local numbers, and their `names`."""

    @abstractmethod
    def _assemble(self, local: Any, name_columns: ColumnPlaces, n_columns: int) -> sp.csr_matrix:
        """These rows as a matrix."""

    def _check(self) -> None:
        check_parameters(self, HASHING)
        if self.bits is not None and self.min_count > 1:
            name = type(self).__name__
            raise ValueError(
                f"{name}(bits={self.bits}, min_count={self.min_count}) does not work: hashed features are not "
                "counted. Use one of the two."
            )

    def new_columns(self) -> Columns:
        """Return columns for names to come, by bits, signed and seed."""
        self._check()
        return Columns(self.bits, self.signed, self.seed)

    def fit(self, X: Any, y: Any = None) -> "Naming":
        """Learn the vocabulary; where columns are hashed, only remember names for `columns_` to show.

        Parameters
        ----------
        X : rows
        y : ignored

        Returns
        -------
        self
        """
        columns = self.new_columns()
        for local in self._pieces(self._read(X)):
            columns.find(local.names)
        return self._end(columns)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sp.csr_matrix:
        """Learn from rows and give them as a matrix: as `fit`, then `transform`, but read once."""
        columns = self.new_columns()
        if self.min_count > 1:
            return self.fit(X).transform(X)
        rows = self.rows(X, columns)
        self._end(columns)
        return as_configured(rows)

    def transform(self, X: Any) -> sp.csr_matrix:
        """Return the rows as a sparse matrix.

        Parameters
        ----------
        X : rows

        Returns
        -------
        scipy.sparse.csr_matrix of float32, of shape (rows, columns)
            It stays sparse where scikit-learn is configured with transform_output="pandas".
            Columns stand in a row in order of first occurrence, each once. A csr_array where scikit-learn is
            configured with sparse_interface="sparray".
        """
        columns = self.new_columns()
        columns.frozen = True
        if self.bits is None:
            check_is_fitted(self)
            columns = self.columns_
        return as_configured(self.rows(X, columns))

    def rows(self, X: Any, columns: Columns) -> sp.csr_matrix:
        """Return the rows as a matrix of these columns, which learn the names in them unless they are frozen."""

        def assembled(local: Any) -> sp.csr_matrix:
            return self._assemble(local, columns.find(local.names), columns.n_columns)

        source = self._read(X)
        parts = self._pieces(source, assembled) if columns.frozen else map(assembled, self._pieces(source))
        matrices = list(parts)
        if len(matrices) == 1 and matrices[0].shape[1] == columns.n_columns:
            return matrices[0]
        return stack_csr(matrices, columns.n_columns)

    def _end(self, columns: Columns) -> "Naming":
        columns.frozen = True
        self.columns_ = columns.frequent(self.min_count) if self.min_count > 1 else columns
        return self

    def _pieces(self, source: Any, then: Callable[[Any], Any] | None = None) -> Iterator[Any]:
        """Yield the pieces, cut by several threads; what `then` makes of each, if there is one."""
        cutter, workspaces = self._cutter(), Workspaces()

        def work(k: int) -> Any:
            local = cutter(source, k, workspaces.words)
            return local if then is None else then(local)

        pieces = range(len(source.cuts) - 1)
        if len(pieces) > 1 and self._threaded:
            return (result for _, result in in_order(pieces, work))
        return map(work, pieces)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of every name; with bits, of the names remembered by `fit`."""
        check_is_fitted(self, "columns_")
        return dict(zip(self.columns_.names(), self.columns_.columns.tolist(), strict=True))

    @property
    def counts_(self) -> np.ndarray:
        """How often each name of `vocabulary_` came."""
        check_is_fitted(self, "columns_")
        return self.columns_.counts.copy()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of each column; of a hashed one all names that `fit` found, or #number if there is none."""
        check_is_fitted(self)
        columns = self.columns_ if hasattr(self, "columns_") else self.new_columns()
        return np.array(columns.labels() if columns.bits is not None else columns.names(), dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return self.bits is not None or hasattr(self, "columns_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = self.bits is None
        return tags


class Valued(NamedTuple):
    """Rows of names by number, each with a value."""

    starts: np.ndarray
    numbers: np.ndarray
    amounts: np.ndarray
    names: Names


class Rowed:
    """Rows of features, and where they are cut into pieces."""

    def __init__(self, rows: list[object]) -> None:
        self.rows = rows
        self.cuts = [*range(0, len(rows), ROWS), len(rows)]


class HashedFeatures(Naming, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn rows of named features into a sparse matrix, hashed to columns or with a vocabulary.

    A row is a dict of names and values (a number, or a string: then "name=value" has the value 1), a list of pairs of
    names and values, or a list of names, which have the value 1. As scikit-learn's `FeatureHasher`, but
    it remembers the names it met in `fit` and which of them share a column; its columns and signs are others.

    Use it for computed features whose names are not known in advance. For texts use `HashedText`, for tables with fixed
    columns `TableFeatures`.

    Parameters
    ----------
    bits : int or None, default=20
        Hash to 2**bits columns, 1 to 31. None: one column per name found by `fit`; other names are dropped.
    signed : bool, default=True
        Whether half of the hashed features count negatively, so that features that share a column do not add up.
    seed : int, default=0
        The seed of the hash, MurmurHash3 of the name as UTF-8.
    min_count : int, default=1
        With bits=None: leave out names that occur less often in the rows of `fit`.

    Attributes
    ----------
    columns_ : Columns
        After `fit`: names and columns; `columns_.audit(weights)` shows what shares a column.
    vocabulary_ : dict of str to int
        The column of each name found in `fit`.
    counts_ : array
        How often each name occurred, in the order of `vocabulary_`.

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

    def __init__(self, *, bits: int | None = 20, signed: bool = True, seed: int = 0, min_count: int = 1) -> None:
        self.bits = bits
        self.signed = signed
        self.seed = seed
        self.min_count = min_count

    def _read(self, X: Any) -> Rowed:
        if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
            raise TypeError(f"X is a {type(X).__name__}: give a list of rows, each a dict or a list of names.")
        if hasattr(X, "columns"):
            raise TypeError(f"X is a {type(X).__name__}: give rows as dicts, for instance X.to_dict('records').")
        return Rowed(list(X))

    def _cutter(self) -> Callable[[Rowed, int, Workspace], Valued]:
        self._check()
        return _cut

    def _assemble(self, local: Valued, name_columns: ColumnPlaces, n_columns: int) -> sp.csr_matrix:
        return assemble_values(local.starts, local.numbers, local.amounts, name_columns, n_columns)

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
    numbers, distinct = local_names(*strings_of(names), workspace)
    return Valued(starts, numbers, np.array(amounts, np.float64), distinct)


def _features(row: object, at: int) -> Iterable[tuple[object, object]]:
    """Return the names and values of a row, as they come."""
    if isinstance(row, Mapping):
        return row.items()
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        raise TypeError(
            f"Row {at} is {row!r} ({type(row).__name__}): a row must be a dict, or a list of names or of pairs."
        )
    return (_pair(item, at) for item in row)


def _pair(item: object, at: int) -> tuple[object, object]:
    if isinstance(item, str):
        return item, 1
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    raise TypeError(f"Row {at} has {item!r} ({type(item).__name__}): give a name, or a pair of a name and a value.")


def _feature(name: object, value: object, at: int) -> tuple[bytes, float]:
    """Return a name as it is hashed, and its value."""
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
        raise ValueError(
            f"Row {at}: the name {name!r} contains half a surrogate pair, which is not a character."
        ) from error
