"""The order in which an epoch visits the examples: freshly shuffled, but kind to the cache."""

import numpy as np

from perceptrons.engine.compiling import compiled

RUN = 16  # neighbouring rows that stay in one group: a page or so of memory
GROUP = 1024  # rows shuffled among each other: they fit in the second-level cache


def shuffled(n: int, rng: np.random.Generator) -> np.ndarray:
    """A random order of n examples: runs of neighbours in random order, then the rows of every 64 runs shuffled.

    Up to 1,024 examples that is a plain random permutation. Above, a group mixes runs from all over the data, so that
    data sorted by class are mixed too, and a pass is a quarter faster than over a plain permutation.
    """
    if n <= GROUP:
        return rng.permutation(n)
    order = np.empty(n, np.intp)
    fill(order, rng.permutation(-(-n // RUN)), rng.bit_generator.random_raw(n))
    return order


@compiled
def fill(order, runs, draws):
    """Write the runs of rows into order, then shuffle each group (Fisher and Yates) by random draws of 64 bits."""
    place = 0
    for r in runs:
        for i in range(r * RUN, min((r + 1) * RUN, len(order))):
            order[place] = i
            place += 1
    for start in range(0, len(order), GROUP):
        end = min(start + GROUP, len(order))
        for k in range(end - 1, start, -1):
            other = start + ((np.int64(draws[k] >> np.uint64(32)) * (k - start + 1)) >> 32)
            order[k], order[other] = order[other], order[k]
