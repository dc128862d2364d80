"""The perceptron of the lecture: no margin, and a bias that is the weight of a feature 1."""

from typing import Any

from perceptrons import Perceptron


def rosenblatt(**parameters: Any) -> Perceptron:
    """A `Perceptron` by Rosenblatt's rule, unless parameters say otherwise; steps by the loss keep their margin 1."""
    return Perceptron(**{"margin": None, "intercept_scaling": 1, **parameters})
