"""Step 7, margins: a solution of `update_margin`."""

from perceptrons.teaching import check


def update_margin(w, b, x, y, eta, margin):
    """Visit the example (x, y) once. Return w and b after it: changed if y s <= margin."""
    s = sum(weight * value for weight, value in zip(w, x, strict=True)) + b
    if y * s <= margin:
        w = [weight + eta * y * value for weight, value in zip(w, x, strict=True)]
        b = b + eta * y
    return w, b


print(check(update_margin))
