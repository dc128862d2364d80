"""What a full budget of support examples does with one more: remove a random one, forget the oldest, project."""

from typing import NamedTuple

import numpy as np

from perceptrons.engine.compiling import inlined, inner
from perceptrons.engine.hashing import mixed

REMOVE_RANDOM, FORGET_OLDEST, PROJECT = range(3)
SEEN, TAKEN, ENTERED, REMOVED, FORGOTTEN, UPDATES, RADIUS = range(7)  # of numbers, below
NUMBERS = 7
BUDGET_OF_FORGETTING = 15.0 / 32.0  # what forgetting may cost, of the updates (Dekel, Shalev-Shwartz, Singer 2008)


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


class Budget(NamedTuple):
    size: int  # support examples at most
    policy: int  # REMOVE_RANDOM, FORGET_OLDEST or PROJECT
    seed: np.uint64
    tiny: float  # of K(x, x), that projecting may lose
    eta: float


class Places(NamedTuple):
    """Which places the examples have."""

    which: np.ndarray  # (block,): the rows of the training set that the block is
    slot_of: np.ndarray  # (training set,): the place that each row has, or -1
    entered: np.ndarray  # (places,): which example of the block took each, or -1


@inlined
def draw(seed, number, below):
    """Random whole number `number` below a limit: a hash (SplitMix64), so that blocks do not matter."""
    z = mixed(np.uint64(seed) + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15))
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


@inner
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


@inner
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


@inner
def admit(held, budget, places, a, near, own, delta, d):
    """Let example a of the block in, whoever has to go; or project it onto what is held. Changes held, places, delta.

    Returns the place it has, or -1 if it was projected, -2 if the kernel turns out not to be positive definite.
    """
    numbers, example, slot_of = held.numbers, places.which[a], places.slot_of
    n, t = np.int64(numbers[TAKEN]), numbers[SEEN]
    place = n
    if budget.policy == PROJECT:
        left = own - onto(held.inner, n, near, d)
        if left < -np.sqrt(10.0 * budget.tiny) * abs(own):  # rounding alone may come to much where examples are alike
            return -2
        if n == budget.size or left <= budget.tiny * own:
            for j in range(n):
                for k in range(len(delta)):
                    held.coef[j, k] += d[j] * delta[k]
                    held.late[j, k] += t * d[j] * delta[k]
            return -1
        held.inner[n, n] = np.sqrt(left)
    elif n == budget.size:
        if budget.policy == REMOVE_RANDOM:
            place = draw(budget.seed, np.int64(numbers[REMOVED]), budget.size)
        else:
            place = forget(held, n, near, delta, budget.eta, t)
        numbers[REMOVED] += 1.0
    if place == n:
        numbers[TAKEN] += 1.0
    elif held.example[place] >= 0:
        slot_of[held.example[place]] = -1
    enter(held, place, example, slot_of, delta, t)
    if budget.policy == FORGET_OLDEST:
        for j in range(np.int64(numbers[TAKEN])):
            held.inner[place, j] = near[j]
            held.inner[j, place] = near[j]
        held.inner[place, place] = own
    places.entered[place] = a
    return place
