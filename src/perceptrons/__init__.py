"""The perceptron family: fast, exact, restartable, and at home in scikit-learn. Start with `Perceptron`."""

from perceptrons.linear import Perceptron
from perceptrons.modelfile import ModelFileError, load, save

__all__ = ["ModelFileError", "Perceptron", "load", "save"]
__version__ = "0.1.0"
