"""Voting without storing a model per update: scores are carried from version to version by what each update added."""

from typing import TYPE_CHECKING, Any

import numpy as np

from perceptrons.kernel.kernels import Points, chunks
from perceptrons.passes.voting import binary_votes, multiclass_votes

if TYPE_CHECKING:
    from perceptrons.kernel.learner import KernelLearner

CHUNK = 2**26  # bytes of kernel values, and on a device of running sums, held at once


def vote_shares(learner: "KernelLearner", X: Points, support: Points) -> Any:
    """Votes over t, (n, rows), where X is: in [-1, 1] for every binary problem; shares where classes compete."""
    log, place = learner.log, X.place
    votes = place.zeros((len(X), learner.n_rows), "float64")
    wide = max(learner.n_support, 1 if place.is_host else 3 * len(log) * (1 if len(learner.sign) else learner.n_rows))
    for begin, part in chunks(X, wide, CHUNK):
        K = learner.kernel(part, support) if learner.n_support else place.zeros((len(part), 1), learner.dtype)
        here = slice(begin, begin + len(part))
        if len(learner.sign):
            for k in range(learner.n_rows):
                votes[here, k] = _of_problem(learner, k, K, place)
        else:
            votes[here, :] = _of_classes(learner, K, place)
    return votes / max(learner.t, np.finfo(float).tiny)


def _of_problem(learner: "KernelLearner", k: int, K: Any, place: Any) -> Any:
    """sum over the versions v of problem k of c_v sign(f_v(x)), for every row of K: kernel values with the support."""
    log = learner.log
    mine = log if learner.n_rows == 1 else log[log[:, 3] == k]
    slots = mine[:, 1].astype(np.intp)
    signed = mine[:, 4] * learner.sign[mine[:, 2].astype(np.intp), k]
    counts = np.diff(np.concatenate([[0.0], mine[:, 0], [learner.t]]))
    if place.is_host:
        votes = np.zeros(len(K))
        K = np.ascontiguousarray(K)
        binary_votes(K, slots, signed, np.ones(len(slots)), counts, False, np.zeros(len(K)), votes)
        return votes
    xp = place.xp
    added = xp.asarray(place.take(K, slots, axis=1), dtype=xp.float64) * place.put(signed)[None, :]
    right = xp.asarray(xp.cumulative_sum(added, axis=1) > 0, dtype=xp.float64)
    return (2.0 * right - 1.0) @ place.put(counts[1:]) - float(counts[0])


def _of_classes(learner: "KernelLearner", K: Any, place: Any) -> Any:
    """For every row of K and class, the survival counts of the versions that answer with the class."""
    log, n_rows = learner.log, learner.n_rows
    slots, step = log[:, 1].astype(np.intp), log[:, 4]
    y, y_hat = log[:, 2].astype(np.intp), log[:, 3].astype(np.intp)
    counts = np.diff(np.concatenate([[0.0], log[:, 0], [learner.t]]))
    if place.is_host:
        votes = np.zeros((len(K), n_rows))
        s = np.zeros((len(K), n_rows))
        multiclass_votes(np.ascontiguousarray(K), slots, y, y_hat, step, np.ones(len(slots)), counts, s, votes)
        return votes
    xp = place.xp
    delta = np.zeros((len(log) + 1, n_rows))
    delta[np.arange(len(log)) + 1, y] += step
    delta[np.arange(len(log)) + 1, y_hat] -= step
    added = xp.asarray(place.take(K, np.append(0, slots), axis=1), dtype=xp.float64)
    s = xp.cumulative_sum(added[:, :, None] * place.put(delta)[None, :, :], axis=1)
    winner = xp.argmax(s, axis=2)  # (rows of K, versions)
    columns = [xp.asarray(winner == k, dtype=xp.float64) @ place.put(counts) for k in range(n_rows)]
    return xp.stack(columns, axis=1)
