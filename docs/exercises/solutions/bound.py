"""Step 4, convergence: a solution of `bound`."""

import math

from perceptrons.teaching import check


def bound(X, y, u):
    """Return the mistake bound (R / γ)². R is the length of the longest example, γ the smallest y u·x. |u| is 1."""
    longest = max(math.sqrt(sum(value**2 for value in x)) for x in X)
    smallest = min(label * sum(a * b for a, b in zip(u, x, strict=True)) for x, label in zip(X, y, strict=True))
    return (longest / smallest) ** 2


print(check(bound))
