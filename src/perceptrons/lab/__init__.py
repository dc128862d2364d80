"""The lab: a page on which a neuron learns step by step, in one HTML file. Start with `show`; the rule: `engine.js`."""

from perceptrons.lab.lab_page import Lab, show

__all__ = ["Lab", "show"]
