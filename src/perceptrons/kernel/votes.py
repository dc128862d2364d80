"""Voting: every version of the functions votes as often as the examples that it survived."""

from typing import TYPE_CHECKING, Any

import numpy as np

from perceptrons.engine.passes.voting import binary_votes, multiclass_votes
from perceptrons.kernel.arrays import Place
from perceptrons.kernel.kernels import Points, chunks

if TYPE_CHECKING:
    from perceptrons.kernel.learner import KernelLearner

MAX_BYTES, MAX_DEVICE_BYTES = 2**26, 2**28  # of kernel values, and of running sums, at once


def vote_shares(learner: "KernelLearner", X: Points, support: Points) -> Any:
    """Return votes / t on the device of X, (n, rows): in [-1, 1] for binary problems, shares for competing classes."""
    place, n_rows, is_competition = X.place, learner.n_rows, not len(learner.sign)
    votes = place.zeros((len(X), n_rows), "float64")
    if not learner.n_support:  # only the initial functions vote: for the negative side, or for the first class
        columns, vote = (slice(0, 1), 1.0) if is_competition else (slice(0, n_rows), -1.0)
        votes[:, columns] += vote * (learner.t > 0)
        return votes
    counters: list[_BinaryVotes] | list[_MulticlassVotes]
    if is_competition:
        counters = [_MulticlassVotes(learner, place)]
    else:
        counters = [_BinaryVotes(learner, k, place) for k in range(n_rows)]
    width = max(learner.n_support, *(counter.width for counter in counters))
    for start, part in chunks(X, width, MAX_BYTES if place.is_host else MAX_DEVICE_BYTES):
        K = learner.kernel(part, support)
        K = np.ascontiguousarray(K) if place.is_host else K
        for counter in counters:
            votes[start : start + len(part), counter.columns] = counter.count(K)
    return votes / learner.t


class _BinaryVotes:
    """The versions of the function of one binary problem."""

    def __init__(self, learner: "KernelLearner", k: int, place: Place):
        log = learner.log if learner.n_rows == 1 else learner.log[learner.log[:, 3] == k]
        steps = log[:, 4] * learner.sign[log[:, 2].astype(np.intp), k]
        counts = np.diff(np.concatenate([[0.0], log[:, 0], [learner.t]]))
        self.place, self.columns, self.width = place, slice(k, k + 1), len(log)
        self.slots, self.steps, self.counts = (place.put(a) for a in (log[:, 1].astype(np.intp), steps, counts))

    def count(self, K: Any) -> Any:
        """Return the sum over the versions v of c_v sign(f_v(x)) for every row of kernel values K(x, support)."""
        if self.place.is_host:
            votes = np.zeros((len(K), 1))
            binary_votes(K, self.slots, self.steps, self.counts, False, np.zeros(len(K)), votes[:, 0])
            return votes
        xp = self.place.xp
        s = xp.asarray(xp.take(K, self.slots, axis=1), dtype=xp.float64)
        s *= self.steps[None, :]
        positive = xp.asarray(xp.cumulative_sum(s, axis=1) > 0, dtype=xp.float64)
        return (2.0 * (positive @ self.counts[1:]) - xp.sum(self.counts))[:, None]


class _MulticlassVotes:
    """The versions of the functions of all classes, which compete."""

    def __init__(self, learner: "KernelLearner", place: Place):
        log = learner.log
        y, y_hat = log[:, 2].astype(np.intp), log[:, 3].astype(np.intp)
        counts = np.diff(np.concatenate([[0.0], log[:, 0], [learner.t]]))
        self.place, self.n_rows = place, learner.n_rows
        self.columns, self.width = slice(0, self.n_rows), (len(log) + 1) * (1 if place.is_host else self.n_rows)
        if place.is_host:
            self.slots, self.updates, self.counts = log[:, 1].astype(np.intp), (y, y_hat, log[:, 4]), counts
        else:
            deltas = np.zeros((len(log) + 1, self.n_rows))  # of the initial functions, 0, and of every update
            deltas[np.arange(len(log)) + 1, y] += log[:, 4]
            deltas[np.arange(len(log)) + 1, y_hat] -= log[:, 4]
            self.slots = place.put(np.append(0, log[:, 1].astype(np.intp)))
            self.deltas, self.counts = place.put(deltas), place.put(counts)

    def count(self, K: Any) -> Any:
        """Return the survival counts of the versions that predict each class, for every row of K."""
        if self.place.is_host:
            y, y_hat, step = self.updates
            votes, s = np.zeros((len(K), self.n_rows)), np.zeros((len(K), self.n_rows))
            multiclass_votes(K, self.slots, y, y_hat, step, self.counts, s, votes)
            return votes
        xp = self.place.xp
        terms = xp.asarray(xp.take(K, self.slots, axis=1), dtype=xp.float64)
        s = xp.cumulative_sum(terms[:, :, None] * self.deltas[None, :, :], axis=1)
        winner = xp.argmax(s, axis=2)  # (rows of K, versions)
        columns = [xp.asarray(winner == k, dtype=xp.float64) @ self.counts for k in range(self.n_rows)]
        return xp.stack(columns, axis=1)
