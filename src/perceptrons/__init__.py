"""The perceptron family: fast, exact, restartable, and at home in scikit-learn. Start with `Perceptron`."""

from perceptrons.linear import Perceptron

__all__ = ["Perceptron"]
__version__ = "0.1.0"
