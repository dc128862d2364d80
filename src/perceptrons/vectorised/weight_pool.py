"""The loops of `passes/weight_pool.py` that loading and inspecting a tagger need."""

from typing import Any

import numpy as np

FEW, FIRST, SPARSE, LANES = 64, 2, 4, 8  # as in passes/shortlists.py


def width_of(K: int) -> int:
    return (max(K, 1) + LANES - 1) // LANES * LANES


def begins(table: Any, features: Any, K: int) -> np.ndarray:
    """Where in the pool the weights of these features begin."""
    return table.begin[features].astype(np.int64) * (width_of(K) if K <= FEW else FIRST)


def expanded(first: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """first[j], first[j] + 1, ..., sizes[j] numbers for every j, one run after another."""
    ends = np.cumsum(sizes)
    return np.repeat(first - (ends - sizes), sizes) + np.arange(int(sizes.sum()))


def entries(table: Any, features: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of all weights of these features: which of the features each is of, its label, and its place in the pool."""
    sizes, first = table.size[features].astype(np.int64), begins(table, features, K)
    at, feature = expanded(first, sizes), np.repeat(np.arange(len(features)), sizes)
    label = at - first[feature]
    if len(table.labels):
        label = np.where(sizes[feature] == K, label, table.labels[at])
    return feature, label, at


def count_weights(table: Any, arrays: Any, n_features: int, K: int) -> int:
    """See `passes/weight_pool.py`."""
    _, _, at = entries(table, np.arange(n_features), K)
    return int(np.count_nonzero((arrays[0][at] != 0) | (arrays[1][at] != 0)))


def list_weights(
    table: Any, arrays: Any, n_features: int, K: int, features: np.ndarray, labels: np.ndarray, found: np.ndarray,
    found_late: np.ndarray,
) -> None:  # fmt: skip
    """See `passes/weight_pool.py`."""
    feature, label, at = entries(table, np.arange(n_features), K)
    there = (arrays[0][at] != 0) | (arrays[1][at] != 0)
    features[:], labels[:] = feature[there], label[there]
    found[:], found_late[:] = arrays[0][at[there]], arrays[1][at[there]]


def put_weights(
    table: Any, arrays: Any, K: int, features: np.ndarray, sizes: np.ndarray, labels: np.ndarray, given: np.ndarray,
    given_late: np.ndarray,
) -> None:  # fmt: skip
    """See `passes/weight_pool.py`."""
    full = width_of(K)
    room = _rooms(sizes, K)
    begin = int(table.used[0]) + np.cumsum(room) - room
    wide = room == full
    at = expanded(begin, sizes)
    in_full = np.repeat(wide, sizes)
    at[in_full] = np.repeat(begin, sizes)[in_full] + labels[in_full]
    arrays[0][at], arrays[1][at] = given, given_late
    if len(table.labels):
        table.labels[at[~in_full]] = labels[~in_full]
    table.begin[features] = begin // (full if K <= FEW else FIRST)
    table.size[features] = np.where(wide, K, sizes)
    table.used[0] += int(room.sum())


def spread_out(table: Any, w: np.ndarray, which: np.ndarray, tall: np.ndarray) -> None:
    """See `passes/weight_pool.py`."""
    feature, label, at = entries(table, which, tall.shape[1])
    tall[:] = 0
    tall[feature, label] = w[at]


def _rooms(sizes: np.ndarray, K: int) -> np.ndarray:
    """`room_for` of every size."""
    if K <= FEW:
        return np.full(len(sizes), width_of(K), np.int64)
    room = np.full(len(sizes), FIRST, np.int64)
    while bool((room < sizes).any()):
        room[room < sizes] *= 2
    return np.where(SPARSE * room <= K, room, width_of(K))
