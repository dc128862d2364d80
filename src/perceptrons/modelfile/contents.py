"""What files of all models have in common: parameters, classes, counters, the training history, reading of files.

Whatever in a file becomes an index is checked here against what it indexes: compiled loops check none.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.passes.log import LOG_COLUMNS
from perceptrons.engine.streaming.resuming import COUNTED
from perceptrons.engine.training.base import TUNED
from perceptrons.engine.training.epochs import new_row
from perceptrons.engine.training.memory import check_claim
from perceptrons.features import Columns
from perceptrons.features.from_memory import check_recipe
from perceptrons.kernel import KernelPerceptron

REASONS = (None, "converged", "stuck", "tol", "early_stopping", "max_iter", "max_seconds", "interrupted", "failed")
REPORT = ("history_", "n_iter_", "stop_reason_", "converged_")  # how the last fit went
SHARDS = {"examples", "mistakes", "updates", "weights"}  # what the history of a run on a cluster says of each
BY_CLASS = ("class_weight", "cost", "allowed")  # parameters that may have classes as keys


def demand(holds: bool, what: str) -> None:
    """Raise ValueError if a file does not hold what it should."""
    if not holds:
        raise ValueError(f"expected {what}")


def finite_number(text: str) -> float:
    """Parse a number of a header. Files that `save` wrote have no NaN and no infinity."""
    demand(math.isfinite(float(text)), f"finite numbers, not {text[:20]}")
    return float(text)


def header_of(model: Any, /, **instead: Any) -> dict[str, Any]:
    """What the header of every model says. instead: what to write for parameters that JSON does not know."""
    learner, parameters = model._learner, model.get_params(deep=False) | instead
    if not isinstance(parameters["random_state"], int | np.integer | None):
        parameters["random_state"] = learner.seed
    if parameters.get("classes", "") is None:
        del parameters["classes"]  # as in files from before there was an order
    for name in parameters.keys() & set(BY_CLASS):
        parameters[name] = _pairs(parameters[name])
    more: dict[str, Any] = {} if not hasattr(model, TUNED) else {"recipe": _plain(model.recipe_)}
    if getattr(learner, "threshold", None) is not None:
        more["threshold"] = learner.threshold
    if hasattr(learner, "classes"):
        more["classes"] = [_plain(label) for label in learner.classes.tolist()]
        more["classes_dtype"] = "object" if learner.classes.dtype == object else learner.classes.dtype.str
    return {
        **more,
        "class": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "seed": learner.seed,
        "orders": learner.rng.bit_generator.state,
        "epochs": learner.epochs,
        "mistakes": learner.mistakes,
        "report": {name: _plain(getattr(model, name)) for name in REPORT},
    }


def timeless(header: dict[str, Any]) -> dict[str, Any]:
    """A header without the seconds that training took: the same seed gives the same one."""
    report = header["report"]
    history = [row | {"seconds": None} for row in report["history_"]]
    for row in history:
        if "shards" in row:
            row["shards"] = {name: values for name, values in row["shards"].items() if name != "seconds"}
    return header | {"report": report | {"history_": history}}


def names_in(names: Any, n: int) -> list[str]:
    """The names of n features: all differ, since a name is looked up for its place."""
    demand(isinstance(names, list) and len(names) == n, "as many feature names as features")
    strings = [str(name) for name in names]
    demand(len(set(strings)) == n, "feature names that differ")
    return strings


def parameters_in(header: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(header["parameters"])
    for name in parameters.keys() & set(BY_CLASS):
        parameters[name] = _unpaired(parameters[name])
    return parameters


def resume(model: Any, learner: Any, header: dict[str, Any]) -> None:
    """Give a model the learner behind it, and both what the header says of counters, orders and training."""
    learner.epochs, learner.mistakes = int(header["epochs"]), int(header["mistakes"])
    counts = (learner.epochs, learner.mistakes, learner.updates)
    demand(min(counts) >= 0 and max(counts) < COUNTED, "counts that are not negative, nor without end")
    learner.rng.bit_generator.state = header["orders"]
    model._learner = learner
    if header.get("threshold") is not None:
        model.threshold_ = header["threshold"]
    for name, value in _report(header["report"]).items():
        setattr(model, name, value)
    if "recipe" in header:
        model.recipe_ = _recipe(header["recipe"])


def refuse_infinite(arrays: dict[str, np.ndarray]) -> None:
    """Raise ValueError if the file of a model would have NaN or infinity among its weights: `load` would refuse it."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(
                f"The model cannot be saved: {name} is not finite, as the weights have become too large. "
                "Train it again, and scale the features, for instance with scikit-learn's StandardScaler."
            )


def size_of(arrays: dict[str, np.ndarray]) -> int:
    """The bytes of a file, as far as they are arrays."""
    return sum(array.nbytes for array in arrays.values())


def array_in(
    arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...], kind: Any, *, finite: bool = True
) -> np.ndarray:
    """A copy of an array of just this shape and type."""
    array = arrays[name]
    demand(array.shape == shape and array.dtype == kind, f"{name} of shape {shape} and type {np.dtype(kind)}")
    demand(not finite or bool(np.isfinite(array).all()), f"finite numbers in {name}")
    return array.copy()


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


def log_in(arrays: dict[str, np.ndarray], n_support: int, n_classes: int) -> np.ndarray:
    """A log of updates that names support vectors and classes that are there."""
    demand(arrays["log"].ndim == 2, "a log of five columns")
    log = array_in(arrays, "log", (len(arrays["log"]), LOG_COLUMNS), np.float64)
    who, classes = log[:, 1], log[:, 2:4]
    demand(bool((log[:, 4:] >= 0).all()), "a log of steps that are not negative")
    demand(bool(((who >= 0) & (who < n_support)).all()), "a log that names support vectors that are there")
    demand(bool(((classes >= 0) & (classes < max(2, n_classes))).all()), "a log that names classes that are there")
    return log


def support_arrays(support: Any) -> dict[str, np.ndarray]:
    """Support examples by the names of their arrays; sparse ones stay sparse."""
    if not sp.issparse(support):
        return {"support": np.ascontiguousarray(support)}
    parts = {"data": support.data, "indices": support.indices, "indptr": support.indptr}
    return {f"support_{name}": part for name, part in parts.items()}


def support_in(arrays: dict[str, np.ndarray], shape: tuple[int, int], kind: Any) -> Any:
    """The support vectors, an array or a CSR matrix of just this shape and type."""
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
    demand(support.shape == shape, "support vectors of the stated shape")
    numbers = support.data if sp.issparse(support) else support
    demand(support.dtype == kind and bool(np.isfinite(numbers).all()), "support vectors of finite numbers")
    return support


def strings_array(name: str, strings: list[str]) -> dict[str, np.ndarray]:
    """Strings as the bytes of all of them, and the number of bytes of each."""
    content = "".join(strings).encode("utf-8", "surrogatepass")
    lengths = np.fromiter(map(len, strings), np.int32, len(strings))  # of characters: ASCII has as many bytes
    if len(content) != lengths.sum():
        lengths = np.array([len(string.encode("utf-8", "surrogatepass")) for string in strings], np.int32)
    return {name: np.frombuffer(content, np.uint8), f"{name}_bytes": lengths}


def strings_in(arrays: dict[str, np.ndarray], name: str) -> list[str]:
    """The strings again."""
    lengths = array_in(arrays, f"{name}_bytes", arrays[f"{name}_bytes"].shape[:1], np.int32)
    content = array_in(arrays, name, arrays[name].shape[:1], np.uint8).tobytes()
    demand(bool((lengths >= 0).all()) and int(lengths.sum(dtype=np.int64)) == len(content), "strings of these lengths")
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    if content.isascii():
        text = content.decode("ascii")
        return [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    return [content[begin:end].decode("utf-8", "surrogatepass") for begin, end in zip([0, *ends], ends, strict=False)]


def classes_in(header: dict[str, Any]) -> np.ndarray:
    """The classes: different, of one kind, and sorted unless the parameters give another order.

    Strings get the room they need, whatever the file says.
    """
    labels, dtype = header["classes"], header["classes_dtype"]
    demand(isinstance(labels, list) and len(labels) > 0, "a list of classes")
    strings = all(isinstance(label, str) for label in labels)
    numbers = all(isinstance(label, bool | int | float) for label in labels)
    demand(strings or numbers, "classes that are strings or numbers")
    kind = np.dtype(object) if dtype == "object" else np.dtype(dtype)
    demand(kind == np.dtype(object) or (kind.kind == "U") == strings, "classes of the stated kind")
    demand(kind.kind in "biufUO" and kind.names is None, "classes of a plain kind")
    check_claim(
        4 * len(labels) * max(map(len, labels), default=0) if strings else 0,
        sum(map(len, map(str, labels))),
        f"{len(labels):,} classes as long as the longest",
    )
    classes = np.array(labels) if kind.kind == "U" else np.array(labels, dtype=kind)
    told = header["parameters"].get("classes") == labels  # the user's order
    different = all(low < high for low, high in itertools.pairwise(sorted(labels) if told else labels))
    demand(different and classes.tolist() == labels, "sorted classes that differ")
    return classes


def columns_of(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What header and arrays say of the columns of rows, and of the files that they were read from."""
    header: dict[str, Any] = {
        "features": list(model._columns) if hasattr(model, "_columns") else None,
        "n_features": model._learner.n_features,
    }
    if isinstance(model, KernelPerceptron) and not hasattr(model, "source_"):
        return header, {}  # as files of kernel models were before they could learn from files
    header |= {
        "source": getattr(model, "source_", None),
        "progress": getattr(model, "progress_", None),
        "columns": None,
    }
    if getattr(model, "columns_", None) is None:
        return header, {}
    # the reader keeps reading while a checkpoint is written: leave out names for which the model has no weights yet
    known = None if model.columns_.bits else model._learner.n_features
    header["columns"], named = model.columns_.state(known)
    return header, {f"columns_{name}": array for name, array in named.items()}


def read_columns(model: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Tell a model of rows what their columns are, how files were read, and how the first epoch over them went."""
    model.n_features_in_ = model._learner.n_features
    if header["features"] is not None:
        model.feature_names_in_ = names_in(header["features"], model.n_features_in_)
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


def _report(report: dict[str, Any]) -> dict[str, Any]:
    """How the last fit went, as far as it can be believed."""
    history, n_iter, reason, converged = (report[name] for name in REPORT)
    demand(isinstance(history, list) and n_iter == len(history) and type(n_iter) is int, "a row of history per epoch")
    for row in history:
        demand(isinstance(row, dict), "rows of history")
        shards = row.get("shards", {})
        demand(isinstance(shards, dict) and all(isinstance(part, list) for part in shards.values()), "lists of shards")
        demand("shards" not in row or shards.keys() - {"seconds"} == SHARDS, "counts and shares of shards")
        demand("shards" not in row or 0 not in map(len, shards.values()), "shards")
        demand(len(set(map(len, shards.values()))) <= 1, "a number of every kind for all shards")
        demand(
            row.keys() - {"shards", "validation_phrase_f1"} == new_row(0).keys(),
            "rows of history with all their columns",
        )
        plain = [
            value
            for name, value in row.items()
            if name != "shards" and (value is not None or name in ("epoch", "examples", "mistakes", "updates"))
        ]
        plain += [value for part in shards.values() for value in part]
        demand(all(isinstance(value, int | float) for value in plain), "numbers in the history")
        demand(all(abs(value) < COUNTED for value in plain if isinstance(value, int)), "counts in the history")
        demand(0 <= row["mistakes"] < COUNTED, "mistakes that are not negative in the history")
        demand(0 <= row["examples"] < COUNTED, "examples that are not negative in the history")
    demand(reason in REASONS and converged == (reason == "converged"), "a known reason for stopping")
    scored = [row["validation_accuracy"] is not None for row in history]
    demand(reason != "early_stopping" or (bool(scored) and all(scored)), "held-out accuracies behind early stopping")
    return {"history_": history, "n_iter_": n_iter, "stop_reason_": reason, "converged_": bool(converged)}


def _recipe(told: Any) -> dict[str, Any]:
    """How the model was found and tested, as far as it can be believed."""
    demand(isinstance(told, dict), "a recipe of tuning")
    sizes, interval = told["sizes"], told["test_interval"]
    counts = [told["looks"], told["settings_tried"], *(sizes[part] for part in ("train", "dev", "test"))]
    demand(all(type(value) is int and value >= 0 for value in counts), "counts in the recipe")
    demand(isinstance(told["metric"], str) and isinstance(told["split"], str), "words in the recipe")
    figures = [told["dev_score"], told["examples_seen"]]
    demand((told["test_score"] is None) == (interval is None), "an interval of the test score")
    if interval is not None:
        figures += [told["test_score"], interval["low"], interval["high"], interval["level"]]
    demand(all(isinstance(value, int | float) for value in figures), "scores in the recipe")
    return told


def _pairs(parameter: Any) -> Any:
    """A dict as a list of pairs, since the keys of JSON are strings; a matrix as lists."""
    if hasattr(parameter, "to_dict"):
        parameter = parameter.to_dict("index")
    if isinstance(parameter, Mapping):
        return {"pairs": [[_plain(key), _pairs(value)] for key, value in parameter.items()]}
    return _plain(parameter.tolist() if isinstance(parameter, np.ndarray) else parameter)


def _unpaired(parameter: Any) -> Any:
    if isinstance(parameter, dict):
        return {key: _unpaired(value) for key, value in parameter["pairs"]}
    return parameter


def _plain(value: Any) -> Any:
    """A value as JSON knows it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{value!r} cannot be written to a model file: use numbers, strings, booleans or None.")
