"""Transformers that turn texts, named features and raw tables into rows of numbers.

`HashedText`, `HashedFeatures` and `TableFeatures` are for pipelines; `Columns` knows the names of columns; and
`RunningScaler` scales the features of a stream.
"""

from importlib import import_module
from typing import Any

from perceptrons.features.columns import Columns
from perceptrons.features.hashed import HashedFeatures, HashedText
from perceptrons.features.scaler import RunningScaler

__all__ = ["Columns", "HashedFeatures", "HashedText", "RunningScaler", "TableFeatures"]


def __getattr__(name: str) -> Any:
    """`TableFeatures` stands with the readers, a layer above: a table in memory is read as one in a file."""
    if name != "TableFeatures":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("perceptrons.data.table_features").TableFeatures
