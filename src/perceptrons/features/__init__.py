"""Texts and named features as sparse rows: `HashedText`, `HashedFeatures`, and `Columns`, which knows the names."""

from perceptrons.features.columns import Columns
from perceptrons.features.hashed import HashedFeatures
from perceptrons.features.text import HashedText

__all__ = ["Columns", "HashedFeatures", "HashedText"]
