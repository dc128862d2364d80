"""The weights of a chain, by feature and label: they take memory only for features that fired.

The weights of a feature lie together in a pool; the table says where. With few labels, a feature that fires gets a full
row: one weight per label. With many labels, it gets a list of the labels that it fired for. The list doubles when it is
full, and becomes a full row once that takes at most `MAX_ROW_TO_LIST` times the memory. Room is only ever added. A pass
can stop where the pool is full, and resume in a larger one.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.rows import touch

MAX_ROW_LABELS = 64  # up to this number of labels, full rows are faster than lists, and small enough
MIN_LIST = 2  # labels in a new list: the true one and the wrong one
MAX_ROW_TO_LIST = 4
LANES = 8  # the width of a row is a multiple, so that loops over a row have no remainder


class Table(NamedTuple):
    """Where the weights are. The pool begins with a row of zeros that belongs to no feature."""

    begin: np.ndarray  # (features,): the first weight, in units (see unit_of); 0: the feature has no weights
    size: np.ndarray  # (features,): the length of its list; the number of labels: it has a full row
    labels: np.ndarray  # (pool,): the labels of lists, ascending in each; empty if all rows are full
    used: np.ndarray  # (1,): entries of the pool that are taken


@inlined
def width_of(K):
    """Entries of the pool in a full row."""
    return (max(K, 1) + LANES - 1) // LANES * LANES


@inlined
def unit_of(K):
    """Entries of the pool in a unit of `begin`: a full row if all rows are full."""
    return width_of(K) if K <= MAX_ROW_LABELS else MIN_LIST


@inlined
def room_for(n, K):
    """Entries of the pool for a feature that has weights for n of K labels."""
    if K <= MAX_ROW_LABELS:
        return width_of(K)
    room = MIN_LIST
    while room < n:
        room *= 2
    return room if MAX_ROW_TO_LIST * room <= K else width_of(K)


@inlined
def begin_of(table, f, K):
    """The place in the pool of the first weight of feature f."""
    return np.int64(table.begin[f]) * unit_of(K)


@inlined
def find(table, f, k, K):
    """The place in the pool of the weight of feature f for label k; 0 if there is none."""
    begin, size = begin_of(table, f, K), table.size[f]
    if size == K:
        return begin + k
    for p in range(begin, begin + size):
        if table.labels[p] == k:
            return p
    return np.int64(0)


# ---- scores of labels


@inner
def score_tokens(rows, a, n, table, w, row, e):
    """e[t] = theta x_t for the n tokens from a on, summed in the order of the features for either layout.

    row: a buffer of the width of a full row. The weights of the next token are prefetched meanwhile.
    """
    last = len(rows.starts) - 2
    if len(table.labels) == 0:
        full = w.reshape(-1, len(row))
        for t in range(n):
            prefetch_rows(rows, min(a + t + 1, last), table.begin, full)
            sum_rows(rows, a + t, table.begin, full, row)
            for k in range(e.shape[1]):
                e[t, k] = row[k]
    else:
        for t in range(n):
            sum_lists(rows, a + t, table, w, e[t])


@inlined
def prefetch_rows(rows, i, begin, full):
    for p in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + 1])):
        touch(full, begin[np.uint64(rows.columns[p])])


@inlined
def sum_rows(rows, i, begin, full, s):
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
def sum_lists(rows, i, table, w, s):
    """s = theta x_i where features have lists or full rows."""
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
            for q in range(np.uint64(begin), np.uint64(begin + n)):
                s[np.uint64(table.labels[q])] += v * w[q]


# ---- updates


@inner
def add(rows, i, step, table, w, y, y_hat, K):
    """theta_y += step x_i,  theta_y_hat -= step x_i.  There must be room for both."""
    for p in range(rows.starts[i], rows.starts[i + 1]):
        f, change = np.uint64(rows.columns[p]), step * rows.values[p]
        begin = np.uint64(begin_of(table, f, K))
        if table.size[f] == K:  # both labels of a feature lie together
            w[begin + np.uint64(y)] += change
            w[begin + np.uint64(y_hat)] -= change
        else:
            w[np.uint64(find(table, f, y, K))] += change
            w[np.uint64(find(table, f, y_hat, K))] -= change


@inner
def add_weights(rows, i, table, w, lazy_sum_w, k, K):
    """Give every feature of x_i a weight for label k, 0 if it is new. Returns False where the pool is too small."""
    for p in range(rows.starts[i], rows.starts[i + 1]):
        f = np.uint64(rows.columns[p])
        if find(table, f, k, K) == 0 and not add_label(table, w, lazy_sum_w, f, k, K):
            return False
    return True


@inner
def add_label(table, w, lazy_sum_w, f, k, K):
    """Give feature f a weight of 0 for a new label. Returns False, and changes nothing, if there is no room."""
    n, begin = np.int64(table.size[f]), begin_of(table, f, K)
    room, full = room_for(n + 1, K), width_of(K)
    if n == 0 or room != room_for(n, K):
        new = table.used[0]
        if new + room > len(w):
            return False
        for p in range(begin, begin + n):
            q = new + (table.labels[p] if room == full else p - begin)
            w[q], lazy_sum_w[q] = w[p], lazy_sum_w[p]
            if room < full:
                table.labels[q] = table.labels[p]
        table.used[0] += room
        begin = new
        table.begin[f] = new // unit_of(K)
    table.size[f] = K if room == full else n + 1
    if room < full:
        p = begin + n
        while p > begin and table.labels[p - 1] > k:
            table.labels[p], w[p], lazy_sum_w[p] = table.labels[p - 1], w[p - 1], lazy_sum_w[p - 1]
            p -= 1
        table.labels[p], w[p], lazy_sum_w[p] = k, 0, 0
    return True


# ---- all weights at once


@compiled
def list_weights(table, w, lazy_sum_w, n_features, K):
    """The weights that are not 0 now, or were not 0 at some time, by feature and then by label.

    Returns their features, labels, values and lazy sums.
    """
    e = 0
    for f in range(n_features):
        begin = begin_of(table, f, K)
        for p in range(begin, begin + table.size[f]):
            e += w[p] != 0 or lazy_sum_w[p] != 0
    features, labels = np.empty(e, np.int64), np.empty(e, np.int32)
    values, lazy_sums = np.empty(e, w.dtype), np.empty(e)
    e = 0
    for f in range(n_features):
        n, begin = np.int64(table.size[f]), begin_of(table, f, K)
        for p in range(begin, begin + n):
            if w[p] != 0 or lazy_sum_w[p] != 0:
                features[e], labels[e] = f, p - begin if n == K else table.labels[p]
                values[e], lazy_sums[e] = w[p], lazy_sum_w[p]
                e += 1
    return features, labels, values, lazy_sums


@compiled
def put_weights(table, w, lazy_sum_w, K, features, sizes, labels, values, lazy_sums):
    """Write weights, sizes[j] of them for features[j], into a pool that is empty and large enough."""
    end = np.int64(0)
    for j in range(len(features)):
        first, f, begin = end, features[j], table.used[0]
        end += sizes[j]
        room, full = room_for(end - first, K), width_of(K)
        for e in range(first, end):
            p = begin + (labels[e] if room == full else e - first)
            w[p], lazy_sum_w[p] = values[e], lazy_sums[e]
            if room < full:
                table.labels[p] = labels[e]
        table.begin[f], table.size[f] = begin // unit_of(K), K if room == full else end - first
        table.used[0] += room


@compiled
def weight_matrix(table, w, features, K):
    """The weights as a matrix: [j, k] is that of features[j] for label k."""
    matrix = np.zeros((len(features), K), w.dtype)
    for j in range(len(features)):
        n, begin = np.int64(table.size[features[j]]), begin_of(table, features[j], K)
        for p in range(begin, begin + n):
            matrix[j, p - begin if n == K else table.labels[p]] = w[p]
    return matrix


@compiled
def squared_norm(table, w, K):
    """|w|², in float64."""
    total = 0.0
    for f in range(len(table.begin)):
        begin = begin_of(table, f, K)
        for p in range(begin, begin + table.size[f]):
            total += np.float64(w[p]) * w[p]
    return total


@compiled
def squared_change(table, w, table_before, w_before, K):
    """|w - w_before|² and |w|². Features that came since then had the weights 0."""
    change = norm = 0.0
    for f in range(len(table.begin)):
        n, begin = np.int64(table.size[f]), begin_of(table, f, K)
        for p in range(begin, begin + n):
            new, old = np.float64(w[p]), 0.0
            if f < len(table_before.begin) and table_before.size[f] > 0:
                q = find(table_before, f, p - begin if n == K else table.labels[p], K)
                old = np.float64(w_before[q]) if q > 0 else 0.0
            norm += new * new
            change += (new - old) ** 2
    return change, norm
