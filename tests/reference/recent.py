"""The recent average: every weight vector is kept, and the mean is taken literally, by weights that forget."""

import numpy as np


def recent_mean(path, window):
    """The mean of the weights after every visit, in which an example counts 1 - 1/window times as much as the next.

    Visit i of a path of t whole examples has the weight (1 - 1/window)^(t - i), and the start is not on the path. A
    visit for a fraction of an example counts as that fraction of an example seen in many small parts: an example cut
    into parts counts as much as a whole one.

    Parameters
    ----------
    path : list of (w, b, share), as the other references leave it; at least one.
    window : float above 1.

    Returns
    -------
    w, b : float64.
    """
    keep = 1.0 - 1.0 / window
    age, weights = 0.0, []
    for _, _, share in reversed(path):
        weights.append(keep**age * (1.0 - keep**share) / (1.0 - keep))
        age += share
    weights = np.array(weights[::-1]) / sum(weights)
    w = sum(weight * np.asarray(w, np.float64) for weight, (w, _, _) in zip(weights, path, strict=True))
    b = sum(weight * np.asarray(b, np.float64) for weight, (_, b, _) in zip(weights, path, strict=True))
    return w, b
