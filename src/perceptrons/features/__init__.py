"""Texts and named features as sparse rows: `HashedText`, `HashedFeatures`, and `Columns`, which knows the names.

And `RunningScaler`, which brings the features of a stream to one scale.
"""

from perceptrons.features.columns import Columns
from perceptrons.features.hashed import HashedFeatures
from perceptrons.features.scaler import RunningScaler
from perceptrons.features.text import HashedText

__all__ = ["Columns", "HashedFeatures", "HashedText", "RunningScaler"]
