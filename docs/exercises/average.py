"""Step 5, averaging: write `average`. Run this file with `python average.py`."""

from perceptrons.teaching import check


def average(X, y):
    """Make one pass from zeros with eta = 1. Return the mean of w and of b after every example, mistakes or not."""
    raise NotImplementedError


print(check(average))
