"""The kernel perceptron. Interface: `estimator.py`; rule: `passes/dual.py`; training: `training.py`."""

from perceptrons.kernel.estimator import KernelPerceptron

__all__ = ["KernelPerceptron"]
