"""Schemes: how several classes or labels become rows of weights, and scores of rows the scores of classes."""

import itertools
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.passes.steps import Problems

TWO_CLASSES = Problems(np.array([[0], [1], [-1]], np.int8), False)  # indexed by the label, +1 or -1


def n_rows(scheme: str, n_classes: int) -> int:
    """One row for up to two classes, else one per class, per pair (one-vs-one) or per label (several labels)."""
    if scheme == "labels":
        return n_classes
    if n_classes <= 2:
        return 1
    return n_classes * (n_classes - 1) // 2 if scheme == "ovo" else n_classes


def table_size(scheme: str, n_classes: int) -> int:
    """Return the bytes of the table of `class_problems`: what each class is in each problem."""
    return n_classes * n_rows(scheme, n_classes) if scheme in ("ovr", "ovo") and n_classes > 2 else 0


def has_problems(scheme: str, n_classes: int) -> bool:
    """Are the rows binary problems?"""
    return scheme == "labels" or (scheme != "joint" and n_classes > 2)


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """Return the problems one-vs-one, in their order: the second class is the positive one."""
    return list(itertools.combinations(range(n_classes), 2))


def row_places(scheme: str, places: np.ndarray, n_classes: int) -> np.ndarray:
    """Return where rows go when class c becomes class places[c] among n_classes."""
    if scheme != "ovo":
        return places
    number = {pair: row for row, pair in enumerate(pairs(n_classes))}
    return np.array([number[int(places[a]), int(places[b])] for a, b in pairs(len(places))])


@lru_cache(maxsize=8)
def class_problems(scheme: str, n_classes: int) -> Problems:
    """Return the problems of single labels."""
    if scheme == "ovr":
        return Problems(2 * np.eye(n_classes, dtype=np.int8) - 1, False)
    sign = np.zeros((n_classes, n_rows("ovo", n_classes)), np.int8)
    for row, (a, b) in enumerate(pairs(n_classes)):
        sign[a, row], sign[b, row] = -1, 1
    return Problems(sign, True)


def label_problems(indicator: np.ndarray) -> tuple[np.ndarray, Problems]:
    """Several labels: the number of its label set for every example, and the problems of each label set."""
    packed = np.packbits(indicator, axis=1)
    _, first, codes = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    sign = 2 * indicator[first].astype(np.int8) - 1
    return codes.reshape(-1).astype(np.int32), Problems(sign, False)


def class_scores(scores: np.ndarray, n_classes: int, positive_at_zero: bool) -> np.ndarray:
    """One-vs-one: duels won, and as a tie-break the sum of the scores, squashed into (-1/3, 1/3)."""
    sides = _sides(n_classes)
    for_second = scores >= 0 if positive_at_zero else scores > 0
    won = (n_classes - 1 + np.where(for_second, 1.0, -1.0) @ sides) / 2
    sums = scores.astype(np.float64, copy=False) @ sides
    return won + sums / (3 * (np.abs(sums) + 1))


@lru_cache(maxsize=8)
def _sides(n_classes: int) -> Any:
    """(pairs, classes): +1 for the second class of a pair, -1 for the first."""
    first, second = np.triu_indices(n_classes, 1)
    rows = np.arange(len(first))
    parts = np.concatenate([np.ones(len(rows)), -np.ones(len(rows))]), (np.tile(rows, 2), np.append(second, first))
    return sp.csr_matrix(parts, shape=(len(rows), n_classes))
