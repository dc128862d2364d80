"""Weights by feature and label that take memory only for features that fired, and verbs like those of `rows.py`.

The weights of a feature lie together in a pool, where the table says. With few labels a feature that fires gets a full
row, one weight per label. With many labels it gets a short list of the labels it fired for. The list doubles when it is
full, and becomes a full row once that takes at most `SPARSE` times the memory. Room is only ever added, so that a pass
can stop where the pool is full and resume in a larger one.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import inlined, inner
from perceptrons.engine.rows import touch

FEW = 64  # labels: up to this number, full rows are faster than lists, and small enough
FIRST = 2  # labels in a new list: the true one and the wrong one
SPARSE = 4
LANES = 8  # weights in a full row are a multiple: loops over a row then have no rest


class Table(NamedTuple):
    """Where the weights are. The pool begins with a row that belongs to no feature; it is 0, like all not taken yet."""

    begin: np.ndarray  # (features,): place in the pool of the first weight, in units (see unit_of); 0: no weights
    size: np.ndarray  # (features,): labels in its list; as many as there are: a full row, in the order of the labels
    labels: np.ndarray  # (pool,): the label of each weight in a list, ascending in it; empty if all rows are full
    used: np.ndarray  # (1,): entries of the pool that are taken


@inlined
def width_of(K):
    """Entries of the pool in a full row."""
    return (max(K, 1) + LANES - 1) // LANES * LANES


@inlined
def unit_of(K):
    """Entries of the pool by which `begin` counts: a full row if all are full."""
    return width_of(K) if K <= FEW else FIRST


@inlined
def room_for(n, K):
    """Entries of the pool for the weights of a feature that has n labels out of K."""
    if K <= FEW:
        return width_of(K)
    room = FIRST
    while room < n:
        room *= 2
    return room if SPARSE * room <= K else width_of(K)


@inlined
def begin_of(table, f, K):
    """Where in the pool the weights of feature f begin."""
    return np.int64(table.begin[f]) * unit_of(K)


@inlined
def place_of(table, f, k, K):
    """Where in the pool the weight of feature f for label k is; 0 if there is none."""
    begin, size = begin_of(table, f, K), table.size[f]
    if size == K:
        return begin + k
    for at in range(begin, begin + size):
        if table.labels[at] == k:
            return at
    return np.int64(0)


@inner
def emit(rows, a, n, table, w, row, e):
    """e[t] = theta x_t for n tokens from a on: sums in the order of the features, whatever their layout.

    row: room for a full row. The weights of the next token are fetched while those of this one are added up.
    """
    last = len(rows.starts) - 2
    if len(table.labels) == 0:
        full = w.reshape(-1, len(row))
        for t in range(n):
            fetch(rows, min(a + t + 1, last), table.begin, full)
            add_full(rows, a + t, table.begin, full, row)
            for k in range(e.shape[1]):
                e[t, k] = row[k]
    else:
        for t in range(n):
            add_listed(rows, a + t, table, w, e[t])


@inlined
def fetch(rows, i, begin, full):
    """Start loading the rows of the features of x_i."""
    for p in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])):
        touch(full, begin[np.uint64(rows.columns[p])])


@inlined
def add_full(rows, i, begin, full, s):
    """s = theta x_i where all rows are full. Features without weights have the zeros at the beginning of the pool."""
    columns, values, four = rows.columns, rows.values, np.uint64(4)
    p, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])
    s[:] = 0
    while p + four <= end:  # four features at a time: s is loaded and stored a quarter as often
        q, r, o = p + np.uint64(1), p + np.uint64(2), p + np.uint64(3)
        a, b = full[np.uint64(begin[np.uint64(columns[p])])], full[np.uint64(begin[np.uint64(columns[q])])]
        c, d = full[np.uint64(begin[np.uint64(columns[r])])], full[np.uint64(begin[np.uint64(columns[o])])]
        for k in range(s.shape[0]):
            s[k] = s[k] + values[p] * a[k] + values[q] * b[k] + values[r] * c[k] + values[o] * d[k]
        p += four
    while p < end:
        a = full[np.uint64(begin[np.uint64(columns[p])])]
        for k in range(s.shape[0]):
            s[k] += values[p] * a[k]
        p += np.uint64(1)


@inlined
def add_listed(rows, i, table, w, s):
    """s = theta x_i where features have lists, or full rows."""
    K = s.shape[0]
    s[:] = 0
    for p in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])):
        f, v = np.uint64(rows.columns[p]), rows.values[p]
        n, begin = np.int64(table.size[f]), begin_of(table, f, K)
        if n == K:
            row = w[begin : begin + K]
            for k in range(K):
                s[k] += v * row[k]
        else:
            for at in range(np.uint64(begin), np.uint64(begin + n)):
                s[np.uint64(table.labels[at])] += v * w[at]


@inner
def shift(rows, i, step, table, w, y, y_hat, K):
    """theta_y += step x_i,  theta_y_hat -= step x_i.  There must be room for both."""
    for p in range(rows.starts[i], rows.starts[i + 1]):
        f, change = np.uint64(rows.columns[p]), step * rows.values[p]
        begin = np.uint64(begin_of(table, f, K))
        if table.size[f] == K:  # both labels of a feature lie together
            w[begin + np.uint64(y)] += change
            w[begin + np.uint64(y_hat)] -= change
        else:
            w[np.uint64(place_of(table, f, y, K))] += change
            w[np.uint64(place_of(table, f, y_hat, K))] -= change


@inner
def make_room(rows, i, table, w, late_w, k, K):
    """Give every feature of x_i a weight for label k, 0 if it is new. Returns False where the pool is too small."""
    for p in range(rows.starts[i], rows.starts[i + 1]):
        f = np.uint64(rows.columns[p])
        if place_of(table, f, k, K) == 0 and not add_label(table, w, late_w, f, k, K):
            return False
    return True


@inner
def add_label(table, w, late_w, f, k, K):
    """Give feature f a weight of 0 for a label that it has not. Returns False, and changes nothing, without room."""
    n, begin = np.int64(table.size[f]), begin_of(table, f, K)
    room, full = room_for(n + 1, K), width_of(K)
    if n == 0 or room != room_for(n, K):
        new = table.used[0]
        if new + room > len(w):
            return False
        for at in range(begin, begin + n):
            to = new + (table.labels[at] if room == full else at - begin)
            w[to], late_w[to] = w[at], late_w[at]
            if room < full:
                table.labels[to] = table.labels[at]
        table.used[0] += room
        begin = new
        table.begin[f] = new // unit_of(K)
    table.size[f] = K if room == full else n + 1
    if room < full:
        at = begin + n
        while at > begin and table.labels[at - 1] > k:
            table.labels[at], w[at], late_w[at] = table.labels[at - 1], w[at - 1], late_w[at - 1]
            at -= 1
        table.labels[at], w[at], late_w[at] = k, 0, 0
    return True
