"""What the files of all models have in common: parameters, classes, counters, support examples, how training went."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.training.epochs import new_row
from perceptrons.training.estimating import TUNED
from perceptrons.training.places import COUNTED
from perceptrons.training.room import check_claim

REASONS = (None, "converged", "stuck", "tol", "early_stopping", "max_iter", "max_seconds", "interrupted", "failed")
REPORT = ("history_", "n_iter_", "stop_reason_", "converged_")  # how the last fit went
SHARDS = {"examples", "mistakes", "updates", "weights"}  # what the history of a run on a cluster says of each
BY_CLASS = ("class_weight", "cost", "allowed")  # parameters that may have classes as keys


def demand(holds: bool, what: str) -> None:
    """Raise ValueError if a file does not hold what it should."""
    if not holds:
        raise ValueError(f"expected {what}")


def header_of(model: Any, /, **instead: Any) -> dict[str, Any]:
    """What the header of every model says. instead: what to write for parameters that JSON does not know."""
    learner, parameters = model._learner, model.get_params(deep=False) | instead
    if not isinstance(parameters["random_state"], int | np.integer | None):
        parameters["random_state"] = learner.seed
    for name in parameters.keys() & set(BY_CLASS):
        parameters[name] = _pairs(parameters[name])
    tuned = {} if TUNED not in model.__dict__ else {"recipe": _plain(model.recipe_)}
    return {
        **tuned,
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


def classes_of(model: Any) -> dict[str, Any]:
    """What the header of a model with classes says of them."""
    classes = model._learner.classes
    return {
        "classes": [_plain(label) for label in classes.tolist()],
        "classes_dtype": "object" if classes.dtype == object else classes.dtype.str,
    }


def columns_of(model: Any) -> dict[str, Any]:
    """What the header of a model of rows says of their columns."""
    return {
        "features": list(model._columns) if "_columns" in model.__dict__ else None,
        "n_features": model._learner.n_features,
    }


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
    for name, value in _report(header["report"]).items():
        setattr(model, name, value)
    if "recipe" in header:
        model.recipe_ = _recipe(header["recipe"])


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


def support_arrays(support: Any) -> dict[str, np.ndarray]:
    """Support examples by the names of their arrays; sparse ones stay sparse."""
    if not sp.issparse(support):
        return {"support": np.ascontiguousarray(support)}
    parts = {"data": support.data, "indices": support.indices, "indptr": support.indptr}
    return {f"support_{name}": part for name, part in parts.items()}


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
    """The classes: sorted, different, of one kind. Strings get the room they need, whatever the file says."""
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
    different = all(low < high for low, high in itertools.pairwise(labels))
    demand(different and classes.tolist() == labels, "sorted classes that differ")
    return classes


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
        demand(row.keys() - {"shards"} == new_row(0).keys(), "rows of history with all their columns")
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
    demand((told["test_score"] is None) == (interval is None), "an interval of the test figure")
    if interval is not None:
        figures += [told["test_score"], interval["low"], interval["high"], interval["level"]]
    demand(all(isinstance(value, int | float) for value in figures), "figures in the recipe")
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
