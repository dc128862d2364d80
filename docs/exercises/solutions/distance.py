"""Step 2, the decision boundary: a solution of `distance`."""

import math

from perceptrons.teaching import check


def distance(w, b, x):
    """Return the signed distance of x from the hyperplane w·x + b = 0."""
    score = sum(weight * value for weight, value in zip(w, x, strict=True)) + b
    return score / math.sqrt(sum(weight**2 for weight in w))


print(check(distance))
