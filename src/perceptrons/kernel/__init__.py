"""The kernel perceptron. Interface: `estimator.py`; rule: `passes/dual.py`; training: `sweep.py`."""

from perceptrons.kernel.estimator import KernelPerceptron

__all__ = ["KernelPerceptron"]
