"""How large a model is: the bytes of the numbers that predicting needs, as the model keeps them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import FunctionTransformer

# Of scikit-learn's: what predict reads. The first entry that fits counts.
NEEDED = (
    ("theta_", "var_", "class_prior_"),  # Gaussian naive Bayes
    ("feature_log_prob_", "class_log_prior_"),  # other naive Bayes
    ("coef_", "intercept_"),
    ("mean_", "scale_"),  # scalers
    ("scale_",),
)


def size_of(model: Any) -> int | None:
    """Bytes of the numbers that predicting needs; None where it is not known what a model needs.

    Counted: weights and biases, zeros too; of a kernel the support examples and their coefficients; of votes the
    support examples and the log of updates (and the start); of a pipeline all its steps. Not counted: the names of
    classes and features, and what only learning on needs, such as the sums of an average or the variances of AROW.

    When to use it: to compare models that have learned the same. When not: for the size of a file, which also holds
    what learning on needs.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.selection import size_of
    >>> size_of(Perceptron().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]))  # two weights and a bias
    24
    """
    if hasattr(model, "steps"):
        sizes = [size_of(step) for _, step in model.steps if step not in (None, "passthrough")]
        return None if None in sizes else sum(size for size in sizes if size is not None)
    if isinstance(model, FunctionTransformer):
        return 0
    voting = getattr(model, "combine", None) == "vote"
    if hasattr(model, "support_vectors_"):
        rest = model._learner.log if voting else model.dual_coef_
        return _bytes(model.support_vectors_) + _bytes(rest) + _bytes(getattr(model, "intercept_", ()))
    if voting:
        votes, start = model._learner.votes, model._learner.weights.start()
        return _bytes(votes.log) + sum(map(_bytes, votes.support)) + sum(map(_bytes, start))
    for names in NEEDED:
        if all(hasattr(model, name) for name in names):
            return sum(_bytes(getattr(model, name)) for name in names)
    return None


def _bytes(array: Any) -> int:
    if sp.issparse(array):
        return int(array.data.nbytes + array.indices.nbytes + array.indptr.nbytes)
    return int(np.asarray(array).nbytes)
