"""Blocks of examples from any reader, in the form in which the learner takes them, and which rows are held out."""

import hashlib
from collections.abc import Generator, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.hashing import mixed
from perceptrons.engine.training.labels import Target, read_target

FILES = "list"  # the form of labels of a model that learned several labels from files
MAX_INDICATOR_BYTES = 2**28  # the largest indicator matrix that is created at once
GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)  # times 2**64, odd: the increment of splitmix64


class TrainingBlock(NamedTuple):
    """Examples with their labels and weights, as the learner takes them."""

    X: Any
    target: Target
    weight: np.ndarray | None
    is_checked: bool = False  # is X known to be valid?

    def part(self, rows: np.ndarray) -> "TrainingBlock":
        """Return only these rows."""
        weight = None if self.weight is None else self.weight[rows]
        return TrainingBlock(self.X[rows], self.target.part(rows), weight, self.is_checked)


def blocks_of(source: Iterable[Any], form: str) -> Generator[TrainingBlock, None, None]:
    """Yield the blocks of a reader of `perceptrons.data`, or of any iterable of (X, y) or (X, y, weight).

    form: that of the labels that the model knows, "" if it knows none.
    """
    labels = set[Any]()
    for item in source:
        if hasattr(item, "codes"):
            if item.codes is None:
                raise ValueError(f"{item.path}: there are no labels to learn from.")
            if getattr(item, "sets", None) is None:
                yield TrainingBlock(item.X, _single_labels(item.codes, item.classes), item.weight)
            else:
                labels.update(item.classes.tolist())
                yield from _blocks_of_label_sets(item, len(labels))
        elif isinstance(item, tuple) and len(item) in (2, 3):
            X = item[0] if hasattr(item[0], "shape") else np.asarray(item[0])
            if len(X.shape) != 2:
                raise ValueError(f"X of a block has the shape {tuple(X.shape)}: it needs rows and columns.")
            if not X.shape[0]:
                continue
            target = read_target(item[1], X.shape[0], form)
            form = form or target.form
            yield TrainingBlock(X, target, item[2] if len(item) == 3 else None)
        else:
            raise TypeError(f"A stream must consist of (X, y) or (X, y, weight), not of {type(item).__name__}.")


def _blocks_of_label_sets(item: Any, n_labels: int) -> Generator[TrainingBlock, None, None]:
    """Yield a block in parts whose indicator matrix of all labels so far takes at most MAX_INDICATOR_BYTES."""
    n = len(item.codes)
    size = max(1, min(n, MAX_INDICATOR_BYTES // max(1, n_labels)))
    for begin in range(0, n, size):
        rows = slice(begin, begin + size)
        y = item.sets[item.codes[rows]].astype(bool).toarray()
        target = Target(FILES, item.classes, np.zeros(len(y), np.int32), y)
        weight = None if item.weight is None else item.weight[rows]
        yield TrainingBlock(item.X if size == n else item.X[rows], target, weight)


def _single_labels(codes: np.ndarray, classes: np.ndarray) -> Target:
    """Return a target for labels in order of appearance, some of which may be equal or never used."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(classes)))
    sorted_classes, ranks = np.unique(classes[used], return_inverse=True)
    code_of = np.zeros(len(classes), np.int32)
    code_of[used] = ranks
    return Target("single", sorted_classes, code_of[codes])


def row_hashes(X: Any) -> np.ndarray:
    """Return a hash of every row: a sum over its values that are not 0, so dense and sparse rows have the same."""
    with np.errstate(over="ignore"):
        if sp.issparse(X):
            X = X.tocsr()
            sums = np.zeros(len(X.data) + 1, np.uint64)
            np.cumsum(_value_hashes(np.asarray(X.data), X.indices), out=sums[1:])
            return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
        X = np.asarray(X)
        hashes = np.zeros(X.shape[0], np.uint64)
        for column in range(X.shape[1]):
            hashes += _value_hashes(X[:, column], np.full(X.shape[0], column))
        return hashes


def _value_hashes(values: np.ndarray, columns: np.ndarray) -> np.ndarray:
    bits = values.astype(np.float64).view(np.uint64)
    hashes = mixed(bits + mixed((columns.astype(np.uint64) + np.uint64(1)) * GOLDEN_RATIO))
    hashes[values == 0] = 0
    return hashes


def held_out_rows(X: Any, target: Target, fraction: float, seed: int, keys: np.ndarray | None = None) -> np.ndarray:
    """Return whether each example belongs to the held-out fraction. Equal examples are on the same side.

    keys: hashes of the examples, for an X that does not contain all of their values.
    """
    label_hashes = np.array([_text_hash(str(label)) for label in target.classes.tolist()], np.uint64)
    labels = np.zeros(len(target.codes), np.uint64)
    if target.indicator is not None:
        rows, columns = np.nonzero(target.indicator)
        np.add.at(labels, rows, mixed(label_hashes)[columns])
    elif len(target.classes):
        labels = label_hashes[target.codes]
    with np.errstate(over="ignore"):
        hashes = mixed((row_hashes(X) if keys is None else keys) + mixed(labels + np.uint64(seed) * GOLDEN_RATIO))
    return hashes < np.uint64(min(int(fraction * 2**64), 2**64 - 1))


def _text_hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
