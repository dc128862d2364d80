"""The lab: one page on which a neuron learns step by step, in one HTML file. Start with `show`; the rule: `engine.js`."""

from perceptrons.lab.page import Lab, show

__all__ = ["Lab", "show"]
