"""Step 4, convergence: write `bound`. Run this file with `python bound.py`."""

from perceptrons.teaching import check


def bound(X, y, u):
    """Return the mistake bound (R / γ)². R is the length of the longest example, γ the smallest y u·x. |u| is 1."""
    raise NotImplementedError


print(check(bound))
