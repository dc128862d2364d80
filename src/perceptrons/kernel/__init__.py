"""The kernel perceptron. Read `estimator.py` for what it offers, `passes/dual.py` for the rule, `sweep.py` for how."""

from perceptrons.kernel.estimator import KernelPerceptron

__all__ = ["KernelPerceptron"]
