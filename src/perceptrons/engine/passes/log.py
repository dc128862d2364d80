"""The log of updates, which votes and histories are made of."""

import numpy as np

from perceptrons.engine.compiling import inlined

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
    """Write update k into the log; returns the log, which may be a longer one."""
    log = with_room(log, k)
    log[k, 0], log[k, 1], log[k, 2], log[k, 3], log[k, 4] = t, i, y, y_hat, step
    return log
