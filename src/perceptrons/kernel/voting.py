"""Voting without storing a model per update: scores are carried from version to version by what each update added."""

from typing import TYPE_CHECKING, Any

import numpy as np

from perceptrons.kernel.arrays import Place
from perceptrons.kernel.kernels import Points, chunks
from perceptrons.passes.voting import binary_votes, multiclass_votes

if TYPE_CHECKING:
    from perceptrons.kernel.learner import KernelLearner

CHUNK, CHUNK_ON_DEVICE = 2**26, 2**28  # bytes of kernel values or running sums held at once, of each kind


def vote_shares(learner: "KernelLearner", X: Points, support: Points) -> Any:
    """Votes over t, (n, rows), where X is: in [-1, 1] for every binary problem; shares where classes compete."""
    place, n_rows = X.place, learner.n_rows
    votes = place.zeros((len(X), n_rows), "float64")
    if not learner.n_support:  # the start alone votes, for the negative side and for the first class
        votes[:, slice(0, n_rows if len(learner.sign) else 1)] += (-1.0 if len(learner.sign) else 1.0) * (learner.t > 0)
        return votes
    counters: list[_Problem] | list[_Competition]
    if len(learner.sign):
        counters = [_Problem(learner, k, place) for k in range(n_rows)]
    else:
        counters = [_Competition(learner, place)]
    wide = max(learner.n_support, *(counter.width for counter in counters))
    for begin, part in chunks(X, wide, CHUNK if place.is_host else CHUNK_ON_DEVICE):
        K = learner.kernel(part, support)
        K = np.ascontiguousarray(K) if place.is_host else K
        for counter in counters:
            votes[begin : begin + len(part), counter.columns] = counter.count(K)
    return votes / learner.t


class _Problem:
    """The versions of the function of one binary problem."""

    def __init__(self, learner: "KernelLearner", k: int, place: Place):
        log = learner.log if learner.n_rows == 1 else learner.log[learner.log[:, 3] == k]
        signed = log[:, 4] * learner.sign[log[:, 2].astype(np.intp), k]
        counts = np.diff(np.concatenate([[0.0], log[:, 0], [learner.t]]))
        self.place, self.columns, self.width = place, slice(k, k + 1), len(log)
        self.slots, self.signed, self.counts = (place.put(a) for a in (log[:, 1].astype(np.intp), signed, counts))

    def count(self, K: Any) -> Any:
        """sum over the versions v of c_v sign(f_v(x)), for every row of K: kernel values with the support examples."""
        if self.place.is_host:
            votes = np.zeros((len(K), 1))
            once = np.ones(len(self.slots))
            binary_votes(K, self.slots, self.signed, once, self.counts, False, np.zeros(len(K)), votes[:, 0])
            return votes
        xp = self.place.xp
        s = xp.asarray(xp.take(K, self.slots, axis=1), dtype=xp.float64)
        s *= self.signed[None, :]
        positive = xp.asarray(xp.cumulative_sum(s, axis=1) > 0, dtype=xp.float64)
        return (2.0 * (positive @ self.counts[1:]) - xp.sum(self.counts))[:, None]


class _Competition:
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
            delta = np.zeros((len(log) + 1, self.n_rows))  # of the start, which is 0, and of every update
            delta[np.arange(len(log)) + 1, y] += log[:, 4]
            delta[np.arange(len(log)) + 1, y_hat] -= log[:, 4]
            self.slots = place.put(np.append(0, log[:, 1].astype(np.intp)))
            self.delta, self.counts = place.put(delta), place.put(counts)

    def count(self, K: Any) -> Any:
        """For every row of K and class, the survival counts of the versions that answer with the class."""
        if self.place.is_host:
            y, y_hat, step = self.updates
            votes, s = np.zeros((len(K), self.n_rows)), np.zeros((len(K), self.n_rows))
            multiclass_votes(K, self.slots, y, y_hat, step, np.ones(len(self.slots)), self.counts, s, votes)
            return votes
        xp = self.place.xp
        added = xp.asarray(xp.take(K, self.slots, axis=1), dtype=xp.float64)
        s = xp.cumulative_sum(added[:, :, None] * self.delta[None, :, :], axis=1)
        winner = xp.argmax(s, axis=2)  # (rows of K, versions)
        columns = [xp.asarray(winner == k, dtype=xp.float64) @ self.counts for k in range(self.n_rows)]
        return xp.stack(columns, axis=1)
