"""The structured perceptron: outputs that have parts. Read `estimator.py`."""

from perceptrons.structured.estimator import StructuredPerceptron

__all__ = ["StructuredPerceptron"]
