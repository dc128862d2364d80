"""Whatever in a file becomes an index: checked here against what it indexes. Compiled loops check none."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.modelfile.parts import array_in, demand
from perceptrons.passes.state import LOG_COLUMNS


def index_in(
    arrays: dict[str, np.ndarray], name: str, size: int, kind: Any = np.int64, shape: tuple[int, ...] | None = None
) -> np.ndarray:
    """A copy of an array of places among `size` things. shape: one dimension of any length if it is not given."""
    index = array_in(arrays, name, arrays[name].shape[:1] if shape is None else shape, kind)
    demand(not index.size or (int(index.min()) >= 0 and int(index.max()) < size), f"{name} from 0 to {size - 1}")
    return index


def ascending_in(arrays: dict[str, np.ndarray], name: str, size: int) -> np.ndarray:
    """Places among `size` things, each once and in order."""
    index = index_in(arrays, name, size)
    demand(bool((index[1:] > index[:-1]).all()), f"{name} in order, each once")
    return index


def names_in(names: Any, n: int) -> list[str]:
    """The names of n features: all differ, since a name is looked up for its place."""
    demand(isinstance(names, list) and len(names) == n, "as many feature names as features")
    strings = [str(name) for name in names]
    demand(len(set(strings)) == n, "feature names that differ")
    return strings


def name_columns(model: Any, header: dict[str, Any]) -> None:
    """Tell a model of rows what the header says of their columns."""
    model.n_features_in_ = model._learner.n_features
    if header["features"] is not None:
        model.feature_names_in_ = names_in(header["features"], model.n_features_in_)


def log_in(arrays: dict[str, np.ndarray], n_support: int, n_classes: int) -> np.ndarray:
    """A log of updates that names support examples and classes that are there."""
    demand(arrays["log"].ndim == 2, "a log of six columns")
    log = array_in(arrays, "log", (len(arrays["log"]), LOG_COLUMNS), np.float64)
    who, classes = log[:, 1], log[:, 2:4]
    demand(bool((log[:, 4:] >= 0).all()), "a log of steps that are not negative")
    demand(bool(((who >= 0) & (who < n_support)).all()), "a log that names support examples that are there")
    demand(bool(((classes >= 0) & (classes < max(2, n_classes))).all()), "a log that names classes that are there")
    return log


def support_in(arrays: dict[str, np.ndarray], shape: tuple[int, int], kind: Any) -> Any:
    """The support examples, an array or a CSR matrix of just this shape and type."""
    if "support" in arrays:
        support = arrays["support"].copy()
    else:
        parts = (arrays["support_data"], arrays["support_indices"], arrays["support_indptr"])
        demand(all(part.dtype in (np.int32, np.int64) for part in parts[1:]), "whole numbers as indices")
        starts = parts[2]  # SciPy does not look at them where the last is negative
        in_order = starts.ndim == 1 and len(starts) == shape[0] + 1 and starts[0] == 0 and (np.diff(starts) >= 0).all()
        demand(bool(in_order) and starts[-1] == len(parts[0]), "rows in order")
        support = sp.csr_matrix(parts, shape=shape, copy=True)
        support.check_format(full_check=True)
    demand(support.shape == shape, "support examples of the stated shape")
    numbers = support.data if sp.issparse(support) else support
    demand(support.dtype == kind and bool(np.isfinite(numbers).all()), "support examples of finite numbers")
    return support
