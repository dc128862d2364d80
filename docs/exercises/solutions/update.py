"""Step 3, online learning: a solution of `update`."""

from perceptrons.teaching import check


def update(w, b, x, y, eta):
    """Visit the example (x, y) once. Return w and b after it: changed if y s <= 0, as they were otherwise."""
    s = sum(weight * value for weight, value in zip(w, x, strict=True)) + b
    if y * s <= 0:
        w = [weight + eta * y * value for weight, value in zip(w, x, strict=True)]
        b = b + eta * y
    return w, b


print(check(update))
