"""The loops of `passes/viterbi.py` that label sequences: many of them at once, token after token.

Sequences are taken in order of length, so that at every step those that are long enough come first.
"""

from typing import Any

import numpy as np

from perceptrons.vectorised.weight_pool import begins, expanded, width_of

AT_ONCE = 2**21  # scores of tokens, and of pairs of labels, held at a time
HIGH = 1024.0


def tag(
    rows: Any, starts: np.ndarray, table: Any, w: np.ndarray, bridge: np.ndarray, desk: Any, y_hat: np.ndarray
) -> int:
    """See `passes/viterbi.py`."""
    K, none = bridge.shape[0] - 1, []
    for first, last in _parts(starts, K):
        part = starts[first : last + 1]
        e = emissions(rows, part[0], part[-1], table, w, K)
        lengths, tokens = np.diff(part), part[:-1] - part[0]
        order = np.argsort(-lengths, kind="stable")
        v = _reach(e, bridge, lengths[order], tokens[order])
        y, lost = _follow(v, bridge, lengths[order], tokens[order])
        y_hat[part[0] : part[-1]] = y
        none += (first + order[lost]).tolist()
    return min(none, default=-1)


def best_through(rows: Any, starts: np.ndarray, table: Any, w: np.ndarray, bridge: np.ndarray, s: np.ndarray) -> None:
    """See `passes/viterbi.py`."""
    K = s.shape[1]
    for first, last in _parts(starts, K):
        part = starts[first : last + 1]
        e = emissions(rows, part[0], part[-1], table, w, K).astype(np.float64)
        lengths, tokens = np.diff(part), part[:-1] - part[0]
        order = np.argsort(-lengths, kind="stable")
        lengths, tokens, ahead = lengths[order], tokens[order], e.copy()
        for back, _, at in _steps(lengths, tokens, backwards=True):
            best = bridge[K, :K].astype(np.float64) if back == 0 else _best(bridge[:K, :K], ahead[at + 1])
            ahead[at] += best
        before = np.empty((len(lengths), K))
        before[:] = bridge[:K, K]
        for _, now, at in _steps(lengths, tokens, backwards=False):
            ahead[at] += before[:now]
            before[:now] = _best(bridge[:K, :K].T, before[:now] + e[at])
        s[part[0] : part[-1]] = ahead


def emissions(rows: Any, begin: int, end: int, table: Any, w: np.ndarray, K: int) -> np.ndarray:
    """(tokens, K): the scores of the labels by the features of each token; sums in the order of the features."""
    entries = slice(int(rows.starts[begin]), int(rows.starts[end]))
    ends = rows.starts[begin : end + 1] - rows.starts[begin]
    values, columns = np.ascontiguousarray(rows.values[entries]), rows.columns[entries]
    if len(table.labels) == 0:
        full = w.reshape(-1, width_of(K))
        return _product(values, table.begin[columns], ends, full)[:, :K]
    sizes = table.size[columns].astype(np.int64)
    at = expanded(begins(table, columns, K), sizes)
    token = np.repeat(np.arange(end - begin), np.diff(ends))
    starts = np.repeat(begins(table, columns, K), sizes)
    label = np.where(np.repeat(sizes == K, sizes), at - starts, table.labels[at])
    e = np.zeros((end - begin) * K, w.dtype)
    np.add.at(e, np.repeat(token, sizes) * K + label, np.repeat(values, sizes) * w[at])
    return e.reshape(-1, K)


def _product(values: np.ndarray, columns: np.ndarray, starts: np.ndarray, full: np.ndarray) -> np.ndarray:
    import scipy.sparse as sp  # here, as compiled loops go without it

    matrix = sp.csr_matrix((values, columns, starts), shape=(len(starts) - 1, len(full)), copy=False)
    return np.asarray(matrix @ full)


def _parts(starts: np.ndarray, K: int) -> list[tuple[int, int]]:
    """Sequences to take together, so that their scores are not too many."""
    parts, first, last = [], 0, len(starts) - 1
    while first < last:
        room = starts[first] + max(1, AT_ONCE // max(1, K))
        stop = min(last, max(first + 1, int(np.searchsorted(starts, room, "right")) - 1))
        parts.append((first, stop))
        first = stop
    return parts


def _steps(lengths: np.ndarray, tokens: np.ndarray, backwards: bool) -> Any:
    """Step by step from an end: its number, how many sequences are long enough, and their tokens."""
    for step in range(int(lengths.max(initial=0))):
        now = int(np.searchsorted(-lengths, -step, "left"))  # longer than step; lengths fall
        yield step, now, tokens[:now] + (lengths[:now] - 1 - step if backwards else step)


def _best(bridge: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """max_j bridge[j, k] + ahead[i, j] for every i and k."""
    size = max(1, AT_ONCE // max(1, bridge.size))
    best = np.empty((len(ahead), bridge.shape[1]), np.result_type(bridge, ahead))
    for i in range(0, len(ahead), size):
        best[i : i + size] = (bridge + ahead[i : i + size, :, None]).max(axis=1)
    return best


def _reach(e: np.ndarray, bridge: np.ndarray, lengths: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """`reach` for all sequences."""
    K, v = e.shape[1], np.empty_like(e)
    for back, _, at in _steps(lengths, tokens, backwards=True):
        score = e[at] + (bridge[K, :K] if back == 0 else _best(bridge[:K, :K], v[at + 1]))
        top = score.max(axis=1, keepdims=True)
        low = (np.abs(score[:, :1]) < HIGH) | (top == -np.inf)
        v[at] = np.where(low, score, score - np.where(low, 0, top))
    return v


def _follow(
    v: np.ndarray, bridge: np.ndarray, lengths: np.ndarray, tokens: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The best labelling of all sequences, and which of them have none."""
    K = v.shape[1]
    y_hat, lost = np.zeros(len(v), np.int32), np.zeros(len(lengths), bool)
    previous = np.full(len(lengths), K)
    for _, now, at in _steps(lengths, tokens, backwards=False):
        score = bridge[:K, previous[:now]].T + v[at]
        previous[:now] = score.argmax(axis=1)
        lost[:now] |= score[np.arange(now), previous[:now]] == -np.inf
        y_hat[at] = previous[:now]
    return y_hat, np.flatnonzero(lost)
