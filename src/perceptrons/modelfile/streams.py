"""What a model knows of the files that it learned from, in its own file: how they were read, what columns stand for."""

from typing import Any

import numpy as np

from perceptrons.features import Columns, HashedText
from perceptrons.modelfile.parts import COUNTED, demand

NAMED = ("numbers", "categories", "ignore", "optional", "names")  # lists of columns of tables
KINDS: dict[str, tuple[type, ...]] = {
    "format": (str,), "form": (str,), "dtype": (str,), "label_column": (str, int), "text_column": (str, list),
    "text": (dict,), "zero_based": (bool,), "prefix": (bool,), "text_labels": (bool,), "hash_bits": (int,),
    **dict.fromkeys(NAMED, (list,)),
}  # fmt: skip


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
        _check_source(header["source"])
        model.source_ = header["source"]
    if header.get("progress") is not None:
        model.progress_ = [(int(examples), int(mistakes)) for examples, mistakes in header["progress"]]
        demand(all(0 <= n < COUNTED for row in model.progress_ for n in row), "counts in the progress")
    if header.get("columns") is not None:
        demand(header.get("source") is not None, "how files were read beside the names of columns")
        named = {name.removeprefix("columns_"): array for name, array in arrays.items() if name.startswith("columns_")}
        model.columns_ = Columns.from_state(header["columns"], named)
        demand(model.columns_.n_columns == model.n_features_in_, "as many columns as features")


def _check_source(source: Any) -> None:
    """Raise ValueError for a recipe of reading that no reader wrote."""
    demand(isinstance(source, dict) and isinstance(source.get("format"), str), "a recipe of reading")
    for name, value in source.items():
        demand(value is None or isinstance(value, KINDS.get(name, (object,))), f"a recipe with a sound {name}")
        if isinstance(value, list):
            demand(all(isinstance(column, str) for column in value), f"columns in {name}")
    if source.get("text") is not None:
        HashedText(**source["text"])._check()
