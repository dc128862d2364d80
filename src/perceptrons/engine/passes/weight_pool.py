"""All weights of a pool of short lists (`shortlists.py`) at once: copied, listed, put back, their norms."""

import numpy as np

from perceptrons.engine.compiling import compiled
from perceptrons.engine.passes.shortlists import begin_of, place_of, room_for, unit_of, width_of


@compiled
def repack(old, old_arrays, new, new_arrays, K):
    """Copy all weights into another pool, without gaps. The arrays are w and its late sums."""
    (w, late_w), (new_w, new_late) = old_arrays, new_arrays
    for f in range(len(old.begin)):
        n, at, to = np.int64(old.size[f]), begin_of(old, f, K), new.used[0]
        if n > 0:
            new.begin[f], new.size[f] = to // unit_of(K), n
            for j in range(n):
                new_w[to + j], new_late[to + j] = w[at + j], late_w[at + j]
                if n < K:
                    new.labels[to + j] = old.labels[at + j]
            new.used[0] += room_for(n, K)


@compiled
def count_weights(table, arrays, n_features, K):
    """How many weights are not 0, or were not always."""
    (w, late_w), count = arrays, 0
    for f in range(n_features):
        begin = begin_of(table, f, K)
        for at in range(begin, begin + table.size[f]):
            count += w[at] != 0 or late_w[at] != 0
    return count


@compiled
def list_weights(table, arrays, n_features, K, features, labels, found, found_late):
    """Write those weights one by one, by feature and then by label, into the last four."""
    (w, late_w), e = arrays, 0
    for f in range(n_features):
        n, begin = np.int64(table.size[f]), begin_of(table, f, K)
        for at in range(begin, begin + n):
            if w[at] != 0 or late_w[at] != 0:
                features[e], labels[e] = f, at - begin if n == K else table.labels[at]
                found[e], found_late[e] = w[at], late_w[at]
                e += 1


@compiled
def put_weights(table, arrays, K, features, sizes, labels, given, given_late):
    """Put weights, as many for each of these features as sizes says, into a pool that is empty and large enough."""
    (w, late_w), end = arrays, np.int64(0)
    for j in range(len(features)):
        first, f, begin = end, features[j], table.used[0]
        end += sizes[j]
        room, full = room_for(end - first, K), width_of(K)
        for e in range(first, end):
            at = begin + (labels[e] if room == full else e - first)
            w[at], late_w[at] = given[e], given_late[e]
            if room < full:
                table.labels[at] = labels[e]
        table.begin[f], table.size[f] = begin // unit_of(K), K if room == full else end - first
        table.used[0] += room


@compiled
def spread_out(table, w, which, tall):
    """tall[j, k]: the weight of feature which[j] for label k."""
    K = tall.shape[1]
    for j in range(len(which)):
        n, begin = np.int64(table.size[which[j]]), begin_of(table, which[j], K)
        for k in range(K):
            tall[j, k] = 0
        for at in range(begin, begin + n):
            tall[j, at - begin if n == K else table.labels[at]] = w[at]


@compiled
def sqnorm_of_pool(table, w, K):
    """The sum of the squares of all weights, in float64."""
    total, row = 0.0, np.zeros(K, w.dtype)
    for f in range(len(table.begin)):
        n, begin = np.int64(table.size[f]), begin_of(table, f, K)
        if n == K:
            for at in range(begin, begin + n):
                total += np.float64(w[at]) * w[at]
        elif n > 0:
            for at in range(begin, begin + n):
                row[table.labels[at]] = w[at]
            for k in range(K):
                total += np.float64(row[k]) * row[k]
                row[k] = 0
    return total


@compiled
def sqdistance_of(table, w, before, w_before, K):
    """|w - w_before|² and |w|². Features met since then had the weights 0."""
    moved = norm = 0.0
    for f in range(len(table.begin)):
        n, begin = np.int64(table.size[f]), begin_of(table, f, K)
        for at in range(begin, begin + n):
            now, then = np.float64(w[at]), 0.0
            if f < len(before.begin) and before.size[f] > 0:
                old = place_of(before, f, at - begin if n == K else table.labels[at], K)
                then = np.float64(w_before[old]) if old > 0 else 0.0
            norm += now * now
            moved += (now - then) ** 2
    return moved, norm
