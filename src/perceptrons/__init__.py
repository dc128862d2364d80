"""Perceptrons: linear, kernel and structured models with scikit-learn's interface. Start with `Perceptron`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perceptrons.features import HashedFeatures, HashedText
    from perceptrons.kernel import KernelPerceptron
    from perceptrons.linear import Perceptron
    from perceptrons.modelfile import ModelFileError, load, save
    from perceptrons.modelfile.checkpoint import Checkpoint
    from perceptrons.sequence import FeatureTemplates, SequencePerceptron
    from perceptrons.structured import StructuredPerceptron

__all__ = [
    "Checkpoint",
    "FeatureTemplates",
    "HashedFeatures",
    "HashedText",
    "KernelPerceptron",
    "ModelFileError",
    "Perceptron",
    "SequencePerceptron",
    "StructuredPerceptron",
    "load",
    "save",
]
__version__ = "0.1.0"

# Loaded when first asked for, so that `perceptrons --help` need not wait for scikit-learn and numba.
_HOMES = {
    "Perceptron": "linear",
    "KernelPerceptron": "kernel",
    "SequencePerceptron": "sequence",
    "FeatureTemplates": "sequence",
    "StructuredPerceptron": "structured",
    "ModelFileError": "modelfile",
    "Checkpoint": "modelfile.checkpoint",
    "HashedText": "features",
    "HashedFeatures": "features",
    "load": "modelfile",
    "save": "modelfile",
}
_MODULES = ("data", "export", "lab", "losses", "online", "onnx", "plots", "report", "selection", "teaching", "theory")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"perceptrons.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'perceptrons' has no attribute {name!r}")
    return getattr(import_module(f"perceptrons.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
