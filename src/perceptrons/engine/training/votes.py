"""Voting: all weight vectors of the training history, stored as the updates between them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.passes.voting import LOG_COLUMNS, binary_votes, multiclass_votes
from perceptrons.engine.rows import Rows, Sparse
from perceptrons.engine.training.matrices import widened

MAX_BLOCK_NUMBERS = 2**24  # numbers of each kind held at once while predicting
MAX_SINGLE_ROWS = 256  # blocks of one row, which weigh more than what they hold, become one


class Votes:
    """The log of all updates, and once each the examples that made them (the support vectors).

    Memory: 40 bytes per update, and the support vectors themselves; sparse ones stay sparse. Predicting costs one dot
    product per support vector and one addition per update.
    """

    def __init__(self) -> None:
        self._logs: list[np.ndarray] = []
        self.support: list[Any] = []  # blocks of support vectors, each an array or a CSR matrix
        self.n_support = 0

    @property
    def log(self) -> np.ndarray:
        """All updates: examples seen before, support vector, true class, the class predicted, step."""
        if len(self._logs) != 1:
            self._logs = [np.concatenate([np.empty((0, LOG_COLUMNS)), *self._logs])]
        return self._logs[0]

    def record(self, rows: Rows, n_features: int, log: np.ndarray, support_of_row: np.ndarray) -> None:
        """Add updates as a pass logs them. support_of_row: the support vector of each training row, or -1."""
        log = log.copy()  # the pass made room for more
        examples = log[:, 1].astype(np.intp)
        new = np.unique(examples[support_of_row[examples] < 0])
        if len(new):
            self.support.append(take(rows, new, n_features))
            support_of_row[new] = np.arange(self.n_support, self.n_support + len(new))
            self.n_support += len(new)
            _gather(self.support, lambda blocks: _joined(blocks, n_features))
        log[:, 1] = support_of_row[examples]
        self._logs.append(log)
        _gather(self._logs, np.concatenate)

    def rename_classes(self, places: np.ndarray) -> None:
        """Class c of the log is now class places[c]."""
        log = self.log.copy()
        log[:, 2:4] = places[log[:, 2:4].astype(np.intp)]
        self._logs = [log]

    def matrix(self, n_features: int) -> Any:
        """Return the support vectors as one matrix of n_features columns."""
        if len(self.support) > 1:
            self.support = [_joined(self.support, n_features)]
        return widened(self.support[0], n_features) if self.support else sp.csr_matrix((0, n_features))

    def counts(self, t: float) -> np.ndarray:
        """How many examples, of t, each weight vector survived: the start first, then the one after each update."""
        return np.diff(np.concatenate([[0.0], self.log[:, 0], [t]]))

    def shares(self, X: Any, start: tuple[np.ndarray, np.ndarray], one: float, t: float, positive_at_zero: bool) -> Any:
        """Votes over t: in [-1, 1] for two classes, a share per class for more."""
        w, b = start
        counts, support, step = self.counts(t), self.log[:, 1].astype(np.intp), self.log[:, 4]
        y, y_hat = self.log[:, 2].astype(np.intp), self.log[:, 3].astype(np.intp)
        examples = self.matrix(w.shape[1])
        binary = len(b) == 1
        signed = np.where(y == 1, step, -step)
        votes = np.zeros(X.shape[0] if binary else (X.shape[0], len(b)))
        block = max(1, MAX_BLOCK_NUMBERS // max(1, *examples.shape))
        for begin in range(0, X.shape[0], block):
            part, into = X[begin : begin + block], votes[begin : begin + block]
            s = np.ascontiguousarray(_dense(part @ w.T), dtype=np.float64) + b
            G = np.ascontiguousarray((examples @ _dense(part).T).T, dtype=np.float64) + one
            if binary:
                binary_votes(G, support, signed, counts, positive_at_zero, s[:, 0].copy(), into)
            else:
                multiclass_votes(G, support, y, y_hat, step, counts, s, into)
        return votes / max(t, np.finfo(float).tiny)

    def snapshot(self) -> tuple[np.ndarray, list[Any], int]:
        return self.log, list(self.support), self.n_support

    def restore(self, snapshot: tuple[np.ndarray, list[Any], int]) -> None:
        log, support, self.n_support = snapshot
        self._logs, self.support = [log], list(support)


def class_shares(votes: np.ndarray, n_classes: int, is_one_vs_rest: bool = False) -> np.ndarray:
    """Votes as `decision_function` gives them, as shares of all classes: (n, n_classes), every row sums up to 1.

    For two classes votes are in [-1, 1]; so they are where every class has votes of its own (one-vs-rest), and
    shares are in proportion to those for it. Where nobody voted, all are equal.
    """
    shares = votes.astype(np.float64, copy=False)
    if votes.ndim == 1:
        shares = np.column_stack([1 - shares, 1 + shares])[:, 2 - n_classes :]
    elif is_one_vs_rest:
        shares = 1 + shares
    shares = np.maximum(shares, 0.0)  # of rounding
    totals = shares.sum(axis=1, keepdims=True)
    return np.where(totals > 0, shares / np.where(totals > 0, totals, 1.0), 1.0 / n_classes)


def take(rows: Rows, selected: np.ndarray, n_features: int) -> Any:
    """Return a copy of some rows as an array or a CSR matrix."""
    if isinstance(rows, Sparse):
        shape = (len(rows.starts) - 1, n_features)
        return sp.csr_matrix((rows.values, rows.columns, rows.starts), shape=shape, copy=False)[selected]
    return rows.values[selected]


def _gather(blocks: list[Any], join: Callable[[list[Any]], Any]) -> None:
    """Join the last blocks if they are many, of one row each, as examples that come one by one make them."""
    if len(blocks) >= MAX_SINGLE_ROWS and all(block.shape[0] == 1 for block in blocks[-MAX_SINGLE_ROWS:]):
        blocks[-MAX_SINGLE_ROWS:] = [join(blocks[-MAX_SINGLE_ROWS:])]


def _joined(blocks: list[Any], n_features: int) -> Any:
    sparse = any(sp.issparse(block) for block in blocks)
    blocks = [widened(sp.csr_matrix(block) if sparse else block, n_features) for block in blocks]
    return sp.vstack(blocks, format="csr") if sparse else np.concatenate(blocks)


def _dense(product: Any) -> np.ndarray:
    return product.toarray() if sp.issparse(product) else np.asarray(product)
