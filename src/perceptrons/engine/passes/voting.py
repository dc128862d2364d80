"""Voting: the log of updates, and the votes of the weights between them (Freund and Schapire 1999).

Every weight vector of the training votes, once for each example that it survived: sign(sum over k of c_k sign(w_k·x)).
No weight vector is stored. w_k·x = w_0·x + the sum over the first k updates of (± step x_i·x), so the log of updates
and the examples that made them are enough (the dual form).
"""

import numpy as np

from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.passes.steps import best_class

LOG_COLUMNS = 5  # examples seen before, row, true class, the class it was taken for, step (> 0)


@inlined
def with_room(log, used):
    """The log, with room for one more row behind the first `used`."""
    if used < len(log):
        return log
    grown = np.empty((2 * used + 64, LOG_COLUMNS))
    for k in range(used):  # a slice would compile for seconds
        for j in range(LOG_COLUMNS):
            grown[k, j] = log[k, j]
    return grown


@inlined
def append_update(log, k, t, i, y, y_hat, step):
    """Write update k into the log; returns the log, which may be a longer one. None stays None."""
    if log is None:
        return log
    log = with_room(log, k)
    log[k, 0], log[k, 1], log[k, 2], log[k, 3], log[k, 4] = t, i, y, y_hat, step
    return log


@compiled
def binary_votes(G, support, signed, counts, positive_at_zero, s, votes):
    """votes[a] += sum over k of c_k sign(w_k·x_a)    (Freund and Schapire 1999)

    G[a, m]: x_a·(support example m) + 1;  support, signed: the example and the step y eta of every update;
    counts[0] is the start's survival count, counts[k] that of the weights after update k;  s: scores of the start.
    """
    for a in range(len(s)):
        score = s[a]
        for k in range(len(counts)):
            if k > 0:
                score += signed[k - 1] * G[a, support[k - 1]]
            votes[a] += counts[k] if score > 0 or (score == 0 and positive_at_zero) else -counts[k]


@compiled
def multiclass_votes(G, support, y, y_hat, step, counts, s, votes):
    """votes[a, k] += c for every weight version, with survival count c, whose highest score for x_a is of class k."""
    for a in range(len(s)):
        score = s[a]
        best = best_class(score)
        votes[a, best] += counts[0]
        for k in range(len(support)):
            add = step[k] * G[a, support[k]]
            score[y[k]] += add
            score[y_hat[k]] -= add
            if best == y[k] or best == y_hat[k]:
                best = best_class(score)
            else:
                for other in (np.int64(y[k]), np.int64(y_hat[k])):
                    if score[other] > score[best] or (score[other] == score[best] and other < best):
                        best = other
            votes[a, best] += counts[k + 1]
