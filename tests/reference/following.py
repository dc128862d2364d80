"""How the averaged weights of a fitted model follow new examples, computed as it is said, one example at a time.

Before the model learns from a new example, the averaged and the last weights both predict it. The record of these
predictions is (lead, different): how many more mistakes the average has made than the last weights, and how often
exactly one of the two was wrong. Each example makes older ones count 1 - 1 / 500 times as much.

- lead > sqrt(different): the last weights predict.
- lead > 3 sqrt(different): the average is outdated. If it counts as 500 examples or more, it is halved, that is, it
  counts as half as many examples, until it counts as fewer than 500. The average itself does not change.
"""

import numpy as np

FADING, SURE, MEMORY = 1 - 1 / 500, 3, 250


def follow(mean, totals, path, X, truth, winners, weights=None):
    """Return the average (w, b), the totals and the record after all examples.

    mean: the averaged weights (rows, features) and biases (rows,) before. totals: how many examples each row of them
    counts as. path: the last weights (w, b) before the first example, and after each. truth: for every example the
    number of its class, with winners=True, else (rows,) the sign of the example in each binary problem, 0: not in it.
    weights: of the examples.
    """
    w, b = (part.astype(float).copy() for part in mean)
    totals = np.asarray(totals, float).copy()
    lead = different = 0.0
    for i in range(len(X)):
        weight = 1.0 if weights is None else weights[i]
        here = np.ones(len(b), bool) if winners else truth[i] != 0
        if weight > 0:
            lead, different = FADING * lead, FADING * different
            averaged, last = w @ X[i] + b, path[i][0] @ X[i] + path[i][1]
            if winners:
                pairs = [(np.argmax(averaged) != truth[i], np.argmax(last) != truth[i])]
            else:
                pairs = [(truth[i][k] * averaged[k] <= 0, truth[i][k] * last[k] <= 0) for k in np.flatnonzero(here)]
            for averaged_is_wrong, last_is_wrong in pairs:
                lead += int(averaged_is_wrong) - int(last_is_wrong)
                different += averaged_is_wrong != last_is_wrong
            if lead > SURE * np.sqrt(different):
                for k in range(len(totals)):
                    while totals[k] >= 2 * MEMORY:
                        totals[k] /= 2
        after_w, after_b = path[i + 1]
        for k in np.flatnonzero(here):
            share = weight / (totals[k] + weight) if weight else 0.0
            w[k] += share * (after_w[k] - w[k])
            b[k] += share * (after_b[k] - b[k])
            totals[k] += weight
    return (w, b), totals, (lead, different)
