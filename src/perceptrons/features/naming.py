"""What transformers of named features share: names become columns, piece by piece, whatever the pieces are of."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from perceptrons.features.assembling import Found
from perceptrons.features.columns import Columns
from perceptrons.features.local import Workspace
from perceptrons.features.stored import OPTIONS
from perceptrons.streaming.threads import in_order
from perceptrons.training.parameters import Domain, Number, check_parameters

HASHING: dict[str, tuple[Domain, ...]] = {
    "bits": OPTIONS["bits"],
    "signed": OPTIONS["signed"],
    "seed": OPTIONS["seed"],
    "min_count": (Number(1, 2**62, whole=True),),
}


class Naming(TransformerMixin, BaseEstimator, ABC):
    """Rows of named features to a sparse matrix: hashed, which needs no fit, or by a vocabulary that `fit` learns."""

    bits: int | None
    signed: bool
    seed: int
    min_count: int
    columns_: Columns
    _threaded = False  # is a piece cut without holding Python's lock?

    @abstractmethod
    def _read(self, X: Any) -> Any:
        """The rows, checked, as an object whose `cuts` say where its pieces begin and end."""

    @abstractmethod
    def _cutter(self) -> Callable[[Any, int, Workspace], Any]:
        """A function that gives piece k of what was read as rows of local numbers, and their `names`."""

    @abstractmethod
    def _assemble(self, local: Any, found: Found, n_columns: int) -> sp.csr_matrix:
        """These rows as a matrix."""

    def _check(self) -> None:
        check_parameters(self, HASHING)
        if self.bits is not None and self.min_count > 1:
            name = type(self).__name__
            raise ValueError(
                f"{name}(bits={self.bits}, min_count={self.min_count}) does not work: a hashed feature has its column "
                "however often it comes. Use one of the two."
            )

    def new_columns(self) -> Columns:
        """Columns for names to come, by bits, signed and seed."""
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
        return rows

    def transform(self, X: Any) -> sp.csr_matrix:
        """The rows as a sparse matrix.

        Parameters
        ----------
        X : rows

        Returns
        -------
        scipy.sparse.csr_matrix of float32, of shape (rows, columns)
            Columns stand in a row in order of first occurrence, each once.
        """
        columns = self.new_columns()
        columns.frozen = True
        if self.bits is None:
            check_is_fitted(self)
            columns = self.columns_
        return self.rows(X, columns)

    def rows(self, X: Any, columns: Columns) -> sp.csr_matrix:
        """The rows as a matrix of the given columns, which get to know the names in them unless they are frozen."""

        def assembled(local: Any) -> sp.csr_matrix:
            return self._assemble(local, columns.find(local.names), columns.n_columns)

        source = self._read(X)
        parts = self._pieces(source, assembled) if columns.frozen else map(assembled, self._pieces(source))
        return _stacked(list(parts), columns.n_columns)

    def _end(self, columns: Columns) -> "Naming":
        columns.frozen = True
        self.columns_ = columns.frequent(self.min_count) if self.min_count > 1 else columns
        return self

    def _pieces(self, source: Any, then: Callable[[Any], Any] | None = None) -> Iterator[Any]:
        """The pieces, cut by several threads; what `then` makes of each, if there is one."""
        cutter, own = self._cutter(), threading.local()

        def work(k: int) -> Any:
            if not hasattr(own, "workspace"):
                own.workspace = Workspace()
            local = cutter(source, k, own.workspace)
            return local if then is None else then(local)

        pieces = range(len(source.cuts) - 1)
        if len(pieces) > 1 and self._threaded:
            return (done for _, done in in_order(pieces, work))
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
        """What each column is called: its name; where they are hashed all names that `fit` met, or #number for none."""
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


def _stacked(parts: list[sp.csr_matrix], n_columns: int) -> sp.csr_matrix:
    """Rows of one matrix under those of the other. (scipy's vstack would ask for one width.)"""
    if len(parts) == 1 and parts[0].shape[1] == n_columns:
        return parts[0]
    total = sum(part.nnz for part in parts)
    kind = np.int32 if total < 2**31 else np.int64
    starts = [np.zeros(1, kind)]
    for part in parts:
        starts.append(part.indptr[1:].astype(kind) + starts[-1][-1])
    columns = [np.zeros(0, kind), *(part.indices.astype(kind, copy=False) for part in parts)]
    values = [np.zeros(0, np.float32), *(part.data for part in parts)]
    indptr = np.concatenate(starts)
    return sp.csr_matrix(
        (np.concatenate(values), np.concatenate(columns), indptr), shape=(len(indptr) - 1, n_columns), copy=False
    )
