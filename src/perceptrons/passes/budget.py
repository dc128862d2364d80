"""The kernel perceptron on a budget: at most so many support examples, held in places that are taken again (spec 7).

One block of examples is walked in order. Every score is computed anew from the kernel values with what is held, so
that removing, shrinking and projecting need no corrections.
"""

from typing import NamedTuple

import numpy as np

from perceptrons.rows import compiled, inlined

REMOVE_RANDOM, FORGET_OLDEST, PROJECT = range(3)
SEEN, TAKEN, ENTERED, REMOVED, FORGOTTEN, UPDATES, RADIUS = range(7)  # of numbers, below
NUMBERS = 7
BUDGET_OF_FORGETTING = 15.0 / 32.0  # what forgetting may cost, of the updates (Dekel, Shalev-Shwartz, Singer 2008)
FINE, INDEFINITE = 0, 1


class Held(NamedTuple):
    """What is held: f = sum over the places j taken of coef[j] K(x_j, ·), and the sums that its average is made of.

    The mean of coef over the examples seen is coef - late / seen, where late is the sum of (seen before) * (change).
    """

    coef: np.ndarray  # float64 (places, rows)
    late: np.ndarray  # float64 (places, rows)
    born: np.ndarray  # int64 (places,): which in the order of entering
    example: np.ndarray  # int64 (places,): the row of the training set it is, or -1
    inner: np.ndarray  # float64 (places, places): kernel values among them (to forget), or the Cholesky factor (to
    # project); (0, 0) where neither is needed
    numbers: np.ndarray  # float64 (7,): examples seen by weight; places taken; entered so far; removed so far; what
    # forgetting cost so far (Q); updates so far by their shares, of competing classes twice (M); the largest K(x, x) of
    # an update


@inlined
def draw(seed, number, below):
    """Random whole number `number` below a limit: a hash (SplitMix64), so that blocks do not matter."""
    z = np.uint64(seed) + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32))


@inlined
def shrinking(a, b, c):
    """The largest phi in (0, 1] with a phi^2 + b phi + c <= 0, where b > 0 > c."""
    if a + b + c <= 0.0:
        return 1.0
    return -2.0 * c / (b + np.sqrt(b * b - 4.0 * a * c))


@inlined
def change(held, j, delta, t):
    """coef[j] += delta, and the average knows from when on."""
    for k in range(len(delta)):
        held.coef[j, k] += delta[k]
        held.late[j, k] += t * delta[k]


@inlined
def enter(held, j, example, slot_of, delta, t):
    """Take place j; who had it is gone, from the average too."""
    for k in range(len(delta)):
        held.coef[j, k] = held.late[j, k] = 0.0
    held.example[j] = example
    slot_of[example] = j
    held.born[j] = np.int64(held.numbers[ENTERED])
    held.numbers[ENTERED] += 1.0
    change(held, j, delta, t)


@compiled
def forget(held, n, near, delta, eta, t):
    """Shrink everything, so that forgetting the oldest does not cost too much. Changes held, delta (shrunk too).

    near[j]: K(x, x_j) of the new example, which adds delta.  Returns the place of the oldest.   (Forgetron, self-tuned)
    """
    numbers, n_rows = held.numbers, len(delta)
    oldest = np.argmin(held.born[:n])
    size, dot = 0.0, 0.0
    for k in range(n_rows):
        score = delta[k] * near[oldest]
        for j in range(n):
            score += held.coef[j, k] * held.inner[oldest, j]
        size += held.coef[oldest, k] ** 2
        dot += held.coef[oldest, k] * score
    if size * held.inner[oldest, oldest] > 0.0:  # else nothing is lost
        unit = eta * eta * numbers[RADIUS]
        a, b = (size * held.inner[oldest, oldest] - 2.0 * dot) / unit, 2.0 * np.sqrt(size) / eta
        phi = shrinking(a, b, numbers[FORGOTTEN] - BUDGET_OF_FORGETTING * numbers[UPDATES])
        numbers[FORGOTTEN] += a * phi * phi + b * phi
        for j in range(n):
            for k in range(n_rows):
                held.late[j, k] += t * (phi - 1.0) * held.coef[j, k]
                held.coef[j, k] *= phi
        for k in range(n_rows):
            delta[k] *= phi
    return oldest


@compiled
def onto(factor, n, near, d):
    """d = K_SS^-1 k  by the Cholesky factor of K_SS;  near: k. Returns k·d, what of K(x, x) lies in their span.

    Leaves what may be the new row of the factor in its row n, if there is room.
    """
    inside = 0.0
    for i in range(n):
        s = near[i]
        for j in range(i):
            s -= factor[i, j] * d[j]
        d[i] = s / factor[i, i]
        inside += d[i] * d[i]
    if n < len(factor):
        for j in range(n):
            factor[n, j] = d[j]
    for i in range(n - 1, -1, -1):
        d[i] /= factor[i, i]
        for j in range(i):
            d[j] -= d[i] * factor[i, j]
    return inside


@compiled
def admit(held, budget, policy, seed, tiny, a, example, slot_of, near, own, delta, eta, entered, d):
    """Let the example in, whoever has to go; or project it onto what is held. Changes held, slot_of, entered, delta.

    Returns the place it has, or -1 if it was projected, -2 if the kernel turns out not to be positive definite.
    """
    numbers = held.numbers
    n, t = np.int64(numbers[TAKEN]), numbers[SEEN]
    place = n
    if policy == PROJECT:
        left = own - onto(held.inner, n, near, d)
        if left < -np.sqrt(10.0 * tiny) * abs(own):  # rounding alone may come to much where examples are alike
            return -2
        if n == budget or left <= tiny * own:
            for j in range(n):
                for k in range(len(delta)):
                    held.coef[j, k] += d[j] * delta[k]
                    held.late[j, k] += t * d[j] * delta[k]
            return -1
        held.inner[n, n] = np.sqrt(left)
    elif n == budget:
        if policy == REMOVE_RANDOM:
            place = draw(seed, np.int64(numbers[REMOVED]), budget)
        else:
            place = forget(held, n, near, delta, eta, t)
        numbers[REMOVED] += 1.0
    if place == n:
        numbers[TAKEN] += 1.0
    elif held.example[place] >= 0:
        slot_of[held.example[place]] = -1
    enter(held, place, example, slot_of, delta, t)
    if policy == FORGET_OLDEST:
        for j in range(np.int64(numbers[TAKEN])):
            held.inner[place, j] = near[j]
            held.inner[j, place] = near[j]
        held.inner[place, place] = own
    entered[place] = a
    return place


@compiled
def budget_walk(K, G, y, sign, weight, which, slot_of, held, budget, policy, seed, tiny, eta, entered):
    """Walk a block in order:  f(x_a) from all that is held; on a mistake, add to what is held, or `admit`.

    K (block, places): kernel values with what is held;  G (block, block);  sign: as in `dual.rest_walk`, or (0, 0)
    where classes compete;  which: the rows of the training set that the block is;  slot_of: the place that each row
    of the training set has, or -1.  Changes K, held, slot_of, entered (which example of the block took each place).
    Returns updates, loss, and whether the kernel is fine.
    """
    numbers, n_rows = held.numbers, held.coef.shape[1]
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
                place = slot_of[which[a]]
                if place >= 0:
                    change(held, place, delta, numbers[SEEN])
                else:
                    place = admit(
                        held, budget, policy, seed, tiny, a, which[a], slot_of, K[a], G[a, a], delta, eta, entered, d
                    )
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
