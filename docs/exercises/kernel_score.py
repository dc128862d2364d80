"""Step 8, kernels: write `kernel_score`. Run this file with `python kernel_score.py`."""

from perceptrons.teaching import check


def kernel_score(alpha, X, y, kernel, x):
    """Return the score of x: the sum over the training examples j of alpha[j] y[j] kernel(X[j], x)."""
    raise NotImplementedError


print(check(kernel_score))
