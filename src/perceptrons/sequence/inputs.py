"""Sequences as they come: which kind of features they have, and their tokens read by that kind."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.sequence.matrix import MatrixFeatures
from perceptrons.sequence.names import NamedFeatures
from perceptrons.sequence.tokens import TokenFeatures
from perceptrons.training.inputs import Growth


def is_matrix(X: Any) -> bool:
    """Does X have a row a token, and no sequences?"""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "biufc"
    return isinstance(X, TokenFeatures) or sp.issparse(X) or hasattr(X, "columns")


def features_for(estimator: Any, X: Any) -> Any:
    """What gives features their numbers, for a model that begins with these sequences."""
    if is_matrix(X):
        for name, plain in (("templates", None), ("min_count", 1), ("hash_bits", None)):
            if getattr(estimator, name) != plain:
                raise ValueError(f"{name}={getattr(estimator, name)!r} is for tokens, but X is a matrix of features.")
        return MatrixFeatures(0)
    if estimator.templates is not None:
        return estimator.templates._features(int(estimator.min_count), estimator.hash_bits)
    return NamedFeatures(int(estimator.min_count), estimator.hash_bits)


def read_tokens(estimator: Any, features: Any, X: Any, lengths: Any, reset: bool) -> Any:
    """The tokens of sequences as these features read them, checked. reset: of a model that begins."""
    dtype = None if reset else estimator._learner.dtype
    growth = Growth(eta=float(estimator.eta0))
    if features.kind == "matrix":
        if not is_matrix(X):
            raise ValueError("The model was begun with a matrix, and X is a list of sequences now: fit it anew.")
        return features.read(X, lengths, dtype, growth, estimator, reset)
    if is_matrix(X):
        raise ValueError("The model was begun with lists of tokens, and X is a matrix now: fit it anew.")
    if lengths is not None:
        raise ValueError("lengths is for a matrix; X is a list of sequences, whose lengths are seen.")
    return features.read(X, dtype, growth)
