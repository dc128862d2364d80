"""Which examples are held out: decided by a hash of each, so that the answer is the same however they are read."""

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.training.targets import Target

ODD = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mixed(numbers: np.ndarray) -> np.ndarray:
    """The finalizer of splitmix64: every bit of a result depends on every bit of its number."""
    with np.errstate(over="ignore"):
        numbers = (numbers ^ (numbers >> np.uint64(30))) * FIRST
        numbers = (numbers ^ (numbers >> np.uint64(27))) * SECOND
        return numbers ^ (numbers >> np.uint64(31))


def row_hashes(X: Any) -> np.ndarray:
    """A hash of every row: a sum over its values that are not 0, so that dense and sparse rows have the same."""
    if sp.issparse(X):
        X = X.tocsr()
        values, columns, starts = np.asarray(X.data), X.indices, X.indptr
        sums = np.zeros(len(values) + 1, np.uint64)
        np.cumsum(_of_values(values, columns), out=sums[1:])
        with np.errstate(over="ignore"):
            return sums[starts[1:]] - sums[starts[:-1]]
    X = np.asarray(X)
    found = np.zeros(X.shape[0], np.uint64)
    for column in range(X.shape[1]):
        with np.errstate(over="ignore"):
            found += _of_values(X[:, column], np.full(X.shape[0], column))
    return found


def _of_values(values: np.ndarray, columns: np.ndarray) -> np.ndarray:
    bits = values.astype(np.float64).view(np.uint64)
    with np.errstate(over="ignore"):
        hashes = mixed(bits + mixed((columns.astype(np.uint64) + np.uint64(1)) * ODD))
    hashes[values == 0] = 0
    return hashes


def held_out_rows(X: Any, target: Target, share: float, seed: int) -> np.ndarray:
    """A flag for every example: is it among the share that is held out? Equal examples are on the same side."""
    labels = np.zeros(len(target.codes), np.uint64)
    if target.indicator is not None:
        labels = row_hashes(target.indicator.astype(np.float64))
    elif len(target.classes):
        labels = np.array([_of_text(str(label)) for label in target.classes.tolist()], np.uint64)[target.codes]
    with np.errstate(over="ignore"):
        hashes = mixed(row_hashes(X) + mixed(labels + np.uint64(seed) * ODD))
    return hashes < np.uint64(min(int(share * 2**64), 2**64 - 1))


def _of_text(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
