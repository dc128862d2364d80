"""The kernel perceptron on a budget: a limited number of support examples, whose places are reused.

The examples of a block are visited in order. Every score is computed from the kernel values with the support examples
held at that time, so that removing, shrinking and projecting need no corrections.
"""

import numpy as np

from perceptrons.engine.compiling import compiled
from perceptrons.engine.passes.budget_policies import RADIUS, SEEN, TAKEN, UPDATES, admit, change

FINE, INDEFINITE = 0, 1


@compiled
def budget_walk(K, G, y, sign, weight, held, budget, places):
    """Walk a block in order:  f(x_a) from all that is held; on a mistake, add to what is held, or `admit`.

    K (block, places): kernel values with what is held;  G (block, block);  sign: as in `dual.rest_walk`, or (0, 0)
    where classes compete.  Changes K, held, places. Returns updates, loss, and whether the kernel is fine.
    """
    numbers, n_rows, eta = held.numbers, held.coef.shape[1], budget.eta
    s, delta, d = np.empty(n_rows), np.empty(n_rows), np.empty(len(held.coef))
    updates, loss = 0, 0.0
    for a in range(len(y)):
        left = 1.0 if weight is None else weight[a]
        while left > 0:
            share = min(left, 1.0)
            for k in range(n_rows):
                s[k] = delta[k] = 0.0
            for j in range(np.int64(numbers[TAKEN])):
                for k in range(n_rows):
                    s[k] += K[a, j] * held.coef[j, k]
            asks, length = 0, 0.0
            if len(sign):
                for k in range(n_rows):
                    side = sign[y[a], k]
                    if side * s[k] <= 0.0:
                        delta[k] = share * eta * side
                        loss -= share * side * s[k]
                        asks += 1
                length = asks * share
            else:
                y_hat = np.argmax(s)
                if y_hat != y[a]:
                    delta[y[a]], delta[y_hat] = share * eta, -share * eta
                    loss += share * (s[y_hat] - s[y[a]])
                    asks, length = 1, 2.0 * share
            if asks > 0:
                numbers[UPDATES] += length
                numbers[RADIUS] = max(numbers[RADIUS], G[a, a])
                place = places.slot_of[places.which[a]]
                if place >= 0:
                    change(held, place, delta, numbers[SEEN])
                else:
                    place = admit(held, budget, places, a, K[a], G[a, a], delta, d)
                    if place == -2:
                        return updates, loss, INDEFINITE
                    if place >= 0:
                        for c in range(a, len(y)):
                            K[c, place] = G[a, c]
                updates += asks
            else:
                share = left
            numbers[SEEN] += share
            left -= share
    return updates, loss, FINE
