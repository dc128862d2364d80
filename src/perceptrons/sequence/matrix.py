"""Features in the columns of a matrix, one row a token, and the lengths of the sequences."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.rows import Sparse
from perceptrons.sequence.tokens import TokenFeatures, Tokens, from_lengths, tokens_of
from perceptrons.training.inputs import Growth, check_matrix


class Matrix(NamedTuple):
    """A checked CSR matrix, and where in it each sequence begins."""

    X: Any
    starts: np.ndarray

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    def sequences(self, which: np.ndarray) -> "Matrix":
        """Some of the sequences."""
        tokens, starts = tokens_of(self.starts, which)
        return Matrix(self.X[tokens], starts)


class MatrixFeatures:
    """So many columns, and no more can come."""

    kind = "matrix"

    def __init__(self, n_features: int, columns: list[str] | None = None):
        self.n_features, self.columns = n_features, columns

    def names(self) -> list[str]:
        return self.columns or [f"x{column}" for column in range(self.n_features)]

    def read(self, X: Any, lengths: Any, dtype: Any, growth: Growth, estimator: Any, reset: bool) -> Matrix:
        if isinstance(X, TokenFeatures):
            if lengths is not None:
                raise ValueError("X says itself how long its sequences are: leave lengths out.")
            X, lengths = X.matrix, X.lengths
        if np.shape(X)[0] == 0:  # scikit-learn refuses it, but a block of empty sequences is none to stumble over
            row = np.zeros((1, np.shape(X)[1]), getattr(X, "dtype", np.float64))
            X = check_matrix(estimator, row, reset=reset, dtype=dtype, growth=growth)[:0]
        else:
            X = check_matrix(estimator, X, reset=reset, dtype=dtype, growth=growth)
        return Matrix(X if sp.issparse(X) else sp.csr_matrix(X), from_lengths(lengths, X.shape[0]))

    def forget_waiting(self) -> None:
        """Nothing waits."""

    def tokens(self, read: Matrix, dtype: Any, learn: bool) -> Tokens:
        X = read.X
        starts = X.indptr.astype(np.int64, copy=False)  # one type to compile for
        return Tokens(Sparse(X.data.astype(dtype, copy=False), X.indices, starts), read.starts)
