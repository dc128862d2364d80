"""The structured perceptron: outputs that have parts. Read `general.py`."""

from perceptrons.structured.general import StructuredPerceptron

__all__ = ["StructuredPerceptron"]
