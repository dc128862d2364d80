"""The structured perceptron for sequences of tokens: taggers. Read `estimator.py`; the rule is `passes/chain.py`."""

from perceptrons.sequence.estimator import SequencePerceptron
from perceptrons.sequence.templates import FeatureTemplates

__all__ = ["FeatureTemplates", "SequencePerceptron"]
