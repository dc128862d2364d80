"""What a model knows of the files that it learned from, in its own file: how they were read, what columns stand for."""

from typing import Any

import numpy as np

from perceptrons.features import Columns
from perceptrons.features.recipe import check_recipe
from perceptrons.modelfile.parts import COUNTED, demand


def stream_of(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What header and arrays say of it."""
    header: dict[str, Any] = {
        "source": getattr(model, "source_", None),
        "progress": getattr(model, "progress_", None),
        "columns": None,
    }
    if getattr(model, "columns_", None) is None:
        return header, {}
    # a checkpoint is written while the reader goes on: names that the model has no weights for are left out
    known = None if model.columns_.bits else model._learner.n_features
    header["columns"], named = model.columns_.state(known)
    return header, {f"columns_{name}": array for name, array in named.items()}


def read_stream(model: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """What `fit_stream` left: how files were read, what the columns stand for, how the first epoch went."""
    if header.get("source") is not None:
        check_recipe(header["source"])
        model.source_ = header["source"]
        numbered = model.source_["format"] in ("svmlight", "libsvm", "npz", "arrays")
        demand(numbered or header.get("columns") is not None, "the names of columns beside how files were read")
    if header.get("progress") is not None:
        model.progress_ = [(int(examples), int(mistakes)) for examples, mistakes in header["progress"]]
        demand(all(0 <= n < COUNTED for row in model.progress_ for n in row), "counts in the progress")
    if header.get("columns") is not None:
        demand(header.get("source") is not None, "how files were read beside the names of columns")
        named = {name.removeprefix("columns_"): array for name, array in arrays.items() if name.startswith("columns_")}
        model.columns_ = Columns.from_state(header["columns"], named)
        demand(model.columns_.n_columns == model.n_features_in_, "as many columns as features")
