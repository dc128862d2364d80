"""The parts that the files of all models share: parameters, classes, counters, history, columns and calibration.

Every number of a file that becomes an index is checked here against the array that it indexes, because compiled loops
do not check indices.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from perceptrons.engine.passes.voting import LOG_COLUMNS
from perceptrons.engine.streaming.resuming import MAX_COUNT
from perceptrons.engine.training.base import TUNED, Classifier, learner_of, set_learner
from perceptrons.engine.training.calibration import METHODS, Calibration
from perceptrons.engine.training.epochs import new_row
from perceptrons.engine.training.memory import check_claim
from perceptrons.features import Columns
from perceptrons.features.rows import check_recipe
from perceptrons.kernel import KernelPerceptron

REASONS = (None, "converged", "stuck", "tol", "early_stopping", "max_iter", "max_seconds", "interrupted", "failed")
REPORT = ("history_", "n_iter_", "stop_reason_", "converged_")  # attributes of the last fit
SHARDS = {"examples", "mistakes", "updates", "weights"}  # columns of the history of a run on a cluster, by shard
CALIBRATION_PREFIX, COLUMNS_PREFIX = "calibration_", "columns_"  # of the names of arrays
BY_CLASS = ("class_weight", "cost", "allowed")  # parameters that may have classes as keys


def require(condition: bool | np.bool_, expected: str) -> None:
    """Raise ValueError if a condition of a valid file does not hold."""
    if not condition:
        raise ValueError(f"expected {expected}")


def finite_number(text: str) -> float:
    """Parse a number of a header. Files that `save` wrote have no NaN and no infinity."""
    require(math.isfinite(float(text)), f"finite numbers, not {text[:20]}")
    return float(text)


Header = dict[str, Any]  # JSON


class Content(NamedTuple):
    """The content of a model file. The methods read a part of it, and raise ValueError or KeyError if it is invalid."""

    header: Header
    arrays: dict[str, np.ndarray]

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def array(
        self, name: str, shape: tuple[int, ...] | None = None, kind: DTypeLike = np.float64, *, finite: bool = True
    ) -> np.ndarray:
        """Return a copy of an array of this shape and type. Without a shape, it has one axis of any length."""
        array = self.arrays[name]
        shape = array.shape[:1] if shape is None else shape
        require(array.shape == shape and array.dtype == kind, f"{name} of shape {shape} and type {np.dtype(kind)}")
        require(not finite or np.isfinite(array).all(), f"finite numbers in {name}")
        return array.copy()

    def indices(
        self, name: str, size: int, kind: DTypeLike = np.int64, shape: tuple[int, ...] | None = None
    ) -> np.ndarray:
        """Return a copy of an array of indices below `size`."""
        index = self.array(name, shape, kind)
        require(not index.size or (int(index.min()) >= 0 and int(index.max()) < size), f"{name} from 0 to {size - 1}")
        return index

    def ascending(self, name: str, size: int) -> np.ndarray:
        """Return ascending indices below `size`."""
        index = self.indices(name, size)
        require((index[1:] > index[:-1]).all(), f"{name} in order, each once")
        return index

    def log(self, n_support: int, n_classes: int) -> np.ndarray:
        """Return the log of updates, whose support vectors and classes must exist."""
        require(self.arrays["log"].ndim == 2, "a log of five columns")
        log = self.array("log", (len(self.arrays["log"]), LOG_COLUMNS))
        support, classes = log[:, 1], log[:, 2:4]
        require((log[:, 4:] >= 0).all(), "a log of steps that are not negative")
        require(((support >= 0) & (support < n_support)).all(), "a log of support vectors that exist")
        require(((classes >= 0) & (classes < max(2, n_classes))).all(), "a log of classes that exist")
        return log

    def support(self, shape: tuple[int, int], kind: DTypeLike) -> Any:
        """Return the support vectors, an array or a CSR matrix, which must have this shape and type."""
        if "support" in self.arrays:
            support = self.arrays["support"].copy()
        else:
            data, indices, starts = (self.arrays[f"support_{name}"] for name in ("data", "indices", "indptr"))
            require(all(part.dtype in (np.int32, np.int64) for part in (indices, starts)), "whole numbers as indices")
            # SciPy does not check the starts if the last is negative
            is_ordered = starts.ndim == 1 and len(starts) == shape[0] + 1 and starts[0] == 0
            require(is_ordered and (np.diff(starts) >= 0).all() and starts[-1] == len(data), "rows in order")
            support = sp.csr_matrix((data, indices, starts), shape=shape, copy=True)
            support.check_format(full_check=True)
        require(support.shape == shape, "support vectors of the stated shape")
        numbers = support.data if sp.issparse(support) else support
        require(support.dtype == kind and np.isfinite(numbers).all(), "support vectors of finite numbers")
        return support

    def strings(self, name: str) -> list[str]:
        """Return the strings of `strings_array`."""
        lengths = self.array(f"{name}_bytes", None, np.int32)
        content = self.array(name, None, np.uint8).tobytes()
        require((lengths >= 0).all() and int(lengths.sum(dtype=np.int64)) == len(content), "strings of these lengths")
        ends = np.cumsum(lengths, dtype=np.int64).tolist()
        spans = zip([0, *ends], ends, strict=False)
        if content.isascii():
            text = content.decode("ascii")
            return [text[begin:end] for begin, end in spans]
        return [content[begin:end].decode("utf-8", "surrogatepass") for begin, end in spans]

    def classes(self) -> np.ndarray:
        """Return the classes. They differ, have one type, and are sorted unless the parameters give another order.

        The length of strings is computed, because the file could claim a huge one.
        """
        labels, dtype = self.header["classes"], self.header["classes_dtype"]
        require(isinstance(labels, list) and len(labels) > 0, "a list of classes")
        strings = all(isinstance(label, str) for label in labels)
        numbers = all(isinstance(label, bool | int | float) for label in labels)
        require(strings or numbers, "classes that are strings or numbers")
        kind = np.dtype(object) if dtype == "object" else np.dtype(dtype)
        require(kind == np.dtype(object) or (kind.kind == "U") == strings, "classes of the stated kind")
        require(kind.kind in "biufUO" and kind.names is None, "classes of a plain kind")
        check_claim(
            4 * len(labels) * max(map(len, labels), default=0) if strings else 0,
            sum(map(len, map(str, labels))),
            f"{len(labels):,} classes as long as the longest",
        )
        classes = np.array(labels) if kind.kind == "U" else np.array(labels, dtype=kind)
        has_own_order = self.header["parameters"].get("classes") == labels
        differ = all(low < high for low, high in itertools.pairwise(sorted(labels) if has_own_order else labels))
        require(differ and classes.tolist() == labels, "sorted classes that differ")
        return classes

    def parameters(self) -> Header:
        """Return the parameters of a model."""
        parameters = dict(self.header["parameters"])
        return {name: _unpaired(value) if name in BY_CLASS else value for name, value in parameters.items()}

    def part(self, prefix: str) -> "Content":
        """Return the arrays whose names begin with a prefix, without it."""
        names = [name for name in self.arrays if name.startswith(prefix)]
        return Content(self.header, {name.removeprefix(prefix): self.arrays[name] for name in names})


class Codec(Protocol):
    """A module that writes and reads the models of one class."""

    def contents(self, model: Any) -> Content:
        """Return the content of the file of a fitted model; raise an error if the file could not be read again."""

    def read(self, content: Content) -> Any:
        """Return the model, or raise one of the errors that `load` expects for an invalid file."""


# ---- writing


def content_of(
    model: Any, header: Header, arrays: dict[str, np.ndarray], /, *, keeps_seconds: bool = False, **replacements: Any
) -> Content:
    """Return the content of a file: what all models share, and what this kind of model adds.

    keeps_seconds: of training; without them, the same seed gives the same file. replacements: of parameters that JSON
    does not know.
    """
    shared = _shared_header(model, replacements)
    shared = shared if keeps_seconds else _without_seconds(shared)
    more = _classifier_content(model) if isinstance(model, Classifier) else Content({}, {})
    return Content(shared | header | more.header, arrays | more.arrays)


def _shared_header(model: Any, replacements: Header) -> Header:
    learner, parameters = learner_of(model), model.get_params(deep=False) | replacements
    if not isinstance(parameters["random_state"], int | np.integer | None):
        parameters["random_state"] = learner.seed
    if parameters.get("classes", "") is None:
        del parameters["classes"]  # older files have no order of classes
    for name in parameters.keys() & set(BY_CLASS):
        parameters[name] = _pairs(parameters[name])
    optional: Header = {} if not hasattr(model, TUNED) else {"recipe": _plain(model.recipe_)}
    if getattr(learner, "threshold", None) is not None:
        optional["threshold"] = learner.threshold
    if hasattr(learner, "classes"):
        optional["classes"] = [_plain(label) for label in learner.classes.tolist()]
        optional["classes_dtype"] = "object" if learner.classes.dtype == object else learner.classes.dtype.str
    return {
        **optional,
        "class": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "seed": learner.seed,
        "orders": learner.rng.bit_generator.state,
        "epochs": learner.epochs,
        "mistakes": learner.mistakes,
        "report": {name: _plain(getattr(model, name)) for name in REPORT},
    }


def _without_seconds(header: Header) -> Header:
    report = header["report"]
    history = [row | {"seconds": None} for row in report["history_"]]
    for row in history:
        if "shards" in row:
            row["shards"] = {name: values for name, values in row["shards"].items() if name != "seconds"}
    return header | {"report": report | {"history_": history}}


def refuse_infinite(arrays: dict[str, np.ndarray]) -> None:
    """Raise ValueError for weights that are NaN or infinite, which `load` would refuse."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(
                f"The model cannot be saved: {name} is not finite, as the weights have become too large. "
                "Train it again, and scale the features, for instance with scikit-learn's StandardScaler."
            )


def support_arrays(support: Any) -> dict[str, np.ndarray]:
    """Return the arrays of support vectors. Sparse ones stay sparse."""
    if not sp.issparse(support):
        return {"support": np.ascontiguousarray(support)}
    parts = {"data": support.data, "indices": support.indices, "indptr": support.indptr}
    return {f"support_{name}": part for name, part in parts.items()}


def strings_array(name: str, strings: list[str]) -> dict[str, np.ndarray]:
    """Return strings as arrays: the bytes of all of them, and the number of bytes of each."""
    content = "".join(strings).encode("utf-8", "surrogatepass")
    lengths = np.fromiter(map(len, strings), np.int32, len(strings))  # of characters, which are the bytes of ASCII
    if len(content) != lengths.sum():
        lengths = np.array([len(string.encode("utf-8", "surrogatepass")) for string in strings], np.int32)
    return {name: np.frombuffer(content, np.uint8), f"{name}_bytes": lengths}


def _classifier_content(model: Any) -> Content:
    """Return what the file of a classifier of single examples also has: columns, how files were read, calibration."""
    learner = learner_of(model)
    header: Header = {
        "features": list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None,
        "n_features": learner.n_features,
    }
    arrays: dict[str, np.ndarray] = {}
    if not isinstance(model, KernelPerceptron) or hasattr(model, "source_"):
        source, progress = getattr(model, "source_", None), getattr(model, "progress_", None)
        header |= {"source": source, "progress": progress, "columns": None}
        if getattr(model, "columns_", None) is not None:
            # The reader reads ahead while a checkpoint is written: leave out names without weights.
            header["columns"], state = model.columns_.state(None if model.columns_.bits else learner.n_features)
            arrays |= {COLUMNS_PREFIX + name: array for name, array in state.items()}
    calibration: Calibration | None = learner.calibration
    if calibration is not None:
        header["calibration"] = {
            "method": calibration.method, "examples": calibration.n, "seen": calibration.t,
            "combine": calibration.combine,
        }  # fmt: skip
        arrays |= {CALIBRATION_PREFIX + name: array for name, array in calibration.arrays.items()}
    return Content(header, arrays)


def _pairs(parameter: Any) -> Any:
    """Return a dict as a list of pairs, because the keys of JSON are strings, and a matrix as lists."""
    if hasattr(parameter, "to_dict"):
        parameter = parameter.to_dict("index")
    if isinstance(parameter, Mapping):
        return {"pairs": [[_plain(key), _pairs(value)] for key, value in parameter.items()]}
    return _plain(parameter.tolist() if isinstance(parameter, np.ndarray) else parameter)


def _plain(value: object) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{value!r} cannot be written to a model file: use numbers, strings, booleans or None.")


# ---- reading


def read_names(names: Any, n: int) -> list[str]:
    """Return the names of n features, which must differ."""
    require(isinstance(names, list) and len(names) == n, "as many feature names as features")
    names = [str(name) for name in names]
    require(len(set(names)) == n, "feature names that differ")
    return names


def restore(model: Any, learner: Any, content: Content) -> None:
    """Give a model its learner, and both what `content_of` wrote: counters, random numbers, history and more."""
    header = content.header
    learner.epochs, learner.mistakes = int(header["epochs"]), int(header["mistakes"])
    counts = (learner.epochs, learner.mistakes, learner.updates)
    require(min(counts) >= 0 and max(counts) < MAX_COUNT, "counts that are not negative, and not too large")
    learner.rng.bit_generator.state = header["orders"]
    set_learner(model, learner)
    if header.get("threshold") is not None:
        model.threshold_ = header["threshold"]
    for name, value in _report(header["report"]).items():
        setattr(model, name, value)
    if "recipe" in header:
        model.recipe_ = _recipe(header["recipe"])
    if isinstance(model, Classifier):
        _restore_classifier(model, learner, content)


def _restore_classifier(model: Any, learner: Any, content: Content) -> None:
    header = content.header
    model.n_features_in_ = learner.n_features
    if header["features"] is not None:
        model.feature_names_in_ = read_names(header["features"], model.n_features_in_)
    source, columns = header.get("source"), header.get("columns")
    if source is not None:
        check_recipe(source)
        model.source_ = source
        is_numbered = source["format"] in ("svmlight", "libsvm", "npz", "arrays")
        require(is_numbered or columns is not None, "names of columns, because files were read")
    if header.get("progress") is not None:
        model.progress_ = [(int(examples), int(mistakes)) for examples, mistakes in header["progress"]]
        require(all(0 <= n < MAX_COUNT for row in model.progress_ for n in row), "counts in the progress")
    if columns is not None:
        require(source is not None, "how files were read, because there are names of columns")
        model.columns_ = Columns.from_state(columns, content.part(COLUMNS_PREFIX).arrays)
        require(model.columns_.n_columns == model.n_features_in_, "as many columns as features")
    if header.get("calibration") is not None:
        learner.calibration = _calibration(learner, header["calibration"], content.part(CALIBRATION_PREFIX))


def _calibration(learner: Any, fields: Header, curves: Content) -> Calibration:
    is_multilabel = learner.form != "single"
    columns = 1 if len(learner.classes) == 2 and not is_multilabel else len(learner.classes)
    require(is_multilabel or len(learner.classes) > 1, "a calibration of at least two classes")
    method, n, seen, combine = (fields[name] for name in ("method", "examples", "seen", "combine"))
    require(method in METHODS, "a known method of calibration")
    require(type(n) is int and 0 < n < MAX_COUNT, "a number of examples to calibrate by")
    require(type(seen) is float and 0 <= seen < MAX_COUNT, "a number of examples seen before the calibration")
    require(combine in ("average", "recent", "last", "vote", "pocket"), "weights that were calibrated")
    if method == "isotonic":
        arrays = _corners(curves, columns)
    elif method == "sigmoid":
        arrays = {name: curves.array(name, (columns,)) for name in ("slope", "offset")}
    else:
        arrays = {"slope": curves.array("slope", (columns if is_multilabel else 1,))}
    return Calibration(method, is_multilabel, columns, n, seen, combine, arrays)


def _corners(curves: Content, columns: int) -> dict[str, np.ndarray]:
    """Return the corners of curves, which must rise from left to right between 0 and 1."""
    sizes, xs = curves.array("corners", (columns,), np.int64), curves.array("scores")
    ps = curves.array("shares", xs.shape)
    require((sizes >= 1).all() and int(sizes.sum()) == len(xs), "corners of every curve")
    require(((ps >= 0) & (ps <= 1)).all(), "shares between 0 and 1")
    begins_curve = np.zeros(len(xs), bool)
    begins_curve[np.cumsum(sizes)[:-1]] = True
    within = ~begins_curve[1:]
    require((np.diff(xs)[within] > 0).all() and (np.diff(ps)[within] >= 0).all(), "curves that rise")
    return {"scores": xs, "shares": ps, "corners": sizes}


def _report(report: Header) -> Header:
    """Return the attributes of the last fit. Raise ValueError if they contradict each other."""
    history, n_iter, reason, converged = (report[name] for name in REPORT)
    require(isinstance(history, list) and n_iter == len(history) and type(n_iter) is int, "a row of history per epoch")
    for row in history:
        require(isinstance(row, dict), "rows of history")
        shards = row.get("shards", {})
        if "shards" in row:
            require(isinstance(shards, dict) and shards.keys() - {"seconds"} == SHARDS, "counts and shares of shards")
            require(all(isinstance(part, list) and part for part in shards.values()), "lists of shards")
            require(len(set(map(len, shards.values()))) == 1, "a number of every kind for all shards")
        columns = row.keys() - {"shards", "validation_phrase_f1"}
        require(columns == new_row(0).keys(), "rows of history with all their columns")
        numbers = [value for name, value in row.items() if name != "shards" and value is not None]
        numbers += [row[name] for name in ("epoch", "examples", "mistakes", "updates")]
        numbers += [value for part in shards.values() for value in part]
        require(all(isinstance(value, int | float) for value in numbers), "numbers in the history")
        require(all(abs(value) < MAX_COUNT for value in numbers if isinstance(value, int)), "counts in the history")
        for name in ("mistakes", "examples"):
            require(0 <= row[name] < MAX_COUNT, f"{name} that are not negative in the history")
    require(reason in REASONS and converged == (reason == "converged"), "a known reason for stopping")
    if reason == "early_stopping":
        is_scored = all(row["validation_accuracy"] is not None for row in history)
        require(is_scored and len(history) > 0, "validation accuracies, because of early stopping")
    return {"history_": history, "n_iter_": n_iter, "stop_reason_": reason, "converged_": bool(converged)}


def _recipe(recipe: Any) -> Header:
    """Return how the model was tuned and tested. Raise ValueError if it is not valid."""
    require(isinstance(recipe, dict), "a recipe of tuning")
    sizes, interval = recipe["sizes"], recipe["test_interval"]
    counts = [recipe["looks"], recipe["settings_tried"], *(sizes[part] for part in ("train", "dev", "test"))]
    require(all(type(value) is int and value >= 0 for value in counts), "counts in the recipe")
    require(isinstance(recipe["metric"], str) and isinstance(recipe["split"], str), "words in the recipe")
    scores = [recipe["dev_score"], recipe["examples_seen"]]
    require((recipe["test_score"] is None) == (interval is None), "an interval of the test score")
    if interval is not None:
        scores += [recipe["test_score"], interval["low"], interval["high"], interval["level"]]
    require(all(isinstance(value, int | float) for value in scores), "scores in the recipe")
    return recipe


def _unpaired(parameter: Any) -> Any:
    if isinstance(parameter, dict):
        return {key: _unpaired(value) for key, value in parameter["pairs"]}
    return parameter
