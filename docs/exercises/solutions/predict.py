"""Step 1, one neuron: a solution of `predict`."""

from perceptrons.teaching import check


def predict(w, b, x):
    """Return the label of x, -1 or +1: the sign of the score w·x + b. At a score of exactly 0, return -1."""
    score = b
    for weight, value in zip(w, x, strict=True):
        score += weight * value
    return 1 if score > 0 else -1


print(check(predict))
