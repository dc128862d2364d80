"""Models as safe files: safetensors with a JSON header, checksummed, written whole or not at all. No pickle."""

import errno
import hashlib
import itertools
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from perceptrons.linear import Perceptron
from perceptrons.passes.state import ANCHOR, CLOCK, FADED, LOG_COLUMNS, MASS, OFFSET, SCALE, SEEN
from perceptrons.training.choices import check_choices, check_several
from perceptrons.training.epochs import new_row
from perceptrons.training.learner import Learner
from perceptrons.training.method import FAST, cost_matrix
from perceptrons.training.problems import n_rows
from perceptrons.training.targets import FORMS
from perceptrons.training.votes import Votes
from perceptrons.training.weights import MATRICES, VECTORS, Weights

FORMAT = 2
KEY = "perceptrons"  # of the one metadata entry: safetensors writes several in random order
UNSOUND = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
REASONS = (None, "converged", "tol", "early_stopping", "max_iter", "max_seconds", "interrupted", "failed")
REPORT = ("history_", "n_iter_", "stop_reason_", "converged_")  # how the last fit went


class ModelFileError(ValueError):
    """The file is not a whole and sound model of a version this library reads."""


def save(model: Perceptron, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file. A loaded model goes on learning as if it had never stopped.

    The file appears whole or not at all; a file of that name is replaced.

    Examples
    --------
    >>> import perceptrons, pathlib, tempfile
    >>> model = perceptrons.Perceptron().fit([[0.0], [1.0]], ["no", "yes"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.perceptron"
    >>> perceptrons.save(model, path)
    >>> perceptrons.load(path).predict([[1.0]]).tolist()
    ['yes']
    """
    if type(model) is not Perceptron:
        raise TypeError(f"Only a Perceptron can be saved, not {type(model).__name__}.")
    path = Path(os.path.realpath(os.fsdecode(path)))  # a link is followed, not replaced
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write a model to", str(path.parent))
    if path.exists() and not path.is_file():
        raise ModelFileError(f"{path}: this is a folder or a device, not a file that a model could replace.")
    _check_goes_on(model)
    arrays = _arrays(model._fitted())
    header = json.dumps(_header(model), sort_keys=True, allow_nan=False)
    write_whole(path, to_bytes(arrays, metadata=_seal(header, arrays)))


def load(path: str | os.PathLike[str]) -> Perceptron:
    """Read a model written by `save`. Raises ModelFileError, with the reason, for anything else; runs no code of it."""
    path = Path(os.fsdecode(path))
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise ModelFileError(f"{path}: this is a safetensors file, but not a model of perceptrons.")
            seal = json.loads(metadata[KEY])
            if seal["format"] != FORMAT:
                raise ModelFileError(
                    f"{path}: format version {seal['format']!r}, but this library reads version {FORMAT}: "
                    "use the version of perceptrons that wrote it."
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (safe_open is no dict)
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, *UNSOUND) as error:
        if isinstance(error, ModelFileError):
            raise
        if path.is_dir():
            raise ModelFileError(f"{path}: this is a folder, not a model file.") from error
        raise ModelFileError(f"{path}: not a model file, or a truncated one ({error}).") from error
    try:
        header = str(seal["header"])
        if seal["sha256"] != _checksum(header, arrays):
            raise ModelFileError(f"{path}: the checksum does not match: the file was altered or damaged.")
        return _model(json.loads(header), arrays)
    except ModelFileError:
        raise
    except UNSOUND as error:
        raise ModelFileError(f"{path}: the contents do not fit together ({error}).") from error


def _check_goes_on(model: Perceptron) -> None:
    """Raise ValueError if the parameters no longer fit the model: such a file could not be read."""
    learner = model._fitted()
    check_choices(model)
    cost_matrix(model.cost, learner.classes, stream=True)
    if learner.form != "single":
        check_several(model)
    elif learner.scheme != model.multiclass:
        raise ValueError(f"The model was trained with multiclass={learner.scheme!r}, now it is {model.multiclass!r}.")
    if learner.weights.has_sigma != (model.step == "arow"):
        raise ValueError(f"The model was not trained with step={model.step!r}: set it back before saving.")


# ---- a model as a header and arrays


def _header(model: Perceptron) -> dict[str, Any]:
    learner, weights = model._learner, model._learner.weights
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | np.integer | None):
        parameters["random_state"] = learner.seed
    for name in ("class_weight", "cost"):
        parameters[name] = _pairs(parameters[name])
    return {
        "class": "Perceptron",
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "classes": [_plain(label) for label in learner.classes.tolist()],
        "classes_dtype": "object" if learner.classes.dtype == object else learner.classes.dtype.str,
        "features": list(model._columns) if "_columns" in model.__dict__ else None,
        "scheme": learner.scheme,
        "form": learner.form,
        "n_features": weights.n_features,
        "intercept": weights.one > 0,
        "init": learner.init,
        "seed": learner.seed,
        "orders": learner.rng.bit_generator.state,
        "epochs": learner.epochs,
        "mistakes": learner.mistakes,
        "updates": learner.updates,
        "support": _support_shape(learner.votes, weights.n_features),
        "report": {name: _plain(getattr(model, name)) for name in REPORT},
    }


def _arrays(learner: Learner) -> dict[str, np.ndarray]:
    weights = learner.weights
    arrays = {}
    for name, array in weights.arrays.items():
        arrays[name] = np.ascontiguousarray(array[:, : weights.n_features] if name in MATRICES else array)
    if learner.votes is not None:
        arrays["log"] = learner.votes.log
        support = learner.votes.matrix(weights.n_features)
        if sp.issparse(support):
            parts = {"data": support.data, "indices": support.indices, "indptr": support.indptr}
            arrays |= {f"support_{name}": part for name, part in parts.items()}
        else:
            arrays["support"] = np.ascontiguousarray(support)
    return arrays


def _support_shape(votes: Votes | None, n_features: int) -> list[int] | None:
    return None if votes is None else list(votes.matrix(n_features).shape)


def _model(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Perceptron:
    if header["class"] != "Perceptron":
        raise ValueError(f"unknown class {header['class']!r}")
    parameters = dict(header["parameters"])
    for name in ("class_weight", "cost"):
        parameters[name] = _unpaired(parameters[name])
    model = Perceptron(**parameters)
    check_choices(model)
    classes = _classes(header["classes"], header["classes_dtype"])
    cost_matrix(model.cost, classes, stream=True)
    scheme, form = header["scheme"], header["form"]
    _demand(form in FORMS, "labels of a known form")
    if form != "single":
        check_several(model)
    _demand(scheme == model.multiclass if form == "single" else scheme == "labels", "a scheme that fits the parameters")
    _demand(header["init"] in ("zeros", "ones", "random"), "a known start")
    learner = Learner(
        _weights(header, arrays, len(classes)),
        _votes(header, arrays, len(classes)),
        classes,
        str(scheme),
        str(form),
        str(header["init"]),
        int(header["seed"]),
    )
    learner.epochs, learner.mistakes = int(header["epochs"]), int(header["mistakes"])
    learner.updates = int(header["updates"])
    _demand(min(learner.epochs, learner.mistakes, learner.updates) >= 0, "counts that are not negative")
    learner.rng.bit_generator.state = header["orders"]
    model._learner = learner
    model.n_features_in_ = learner.weights.n_features
    if header["features"] is not None:
        model.feature_names_in_ = [str(name) for name in header["features"]]
        _demand(len(model._columns) == learner.weights.n_features, "as many feature names as features")
    for name, value in _report(header["report"]).items():
        setattr(model, name, value)
    return model


def _weights(header: dict[str, Any], arrays: dict[str, np.ndarray], n_classes: int) -> Weights:
    rows, n_features = n_rows(header["scheme"], n_classes), int(header["n_features"])
    w, b = arrays["w"], arrays["b"]
    _demand(w.dtype in (np.float32, np.float64), "weights of float32 or float64")
    parts = {"pocket": "tally" in arrays, "start": "start_w" in arrays, "sigma": "sigma_w" in arrays}
    _demand(parts["sigma"] == (header["parameters"]["step"] == "arow"), "variances for step='arow', and only then")
    weights = Weights(w, b, intercept=bool(header["intercept"]), **parts)
    duels = header["scheme"] == "ovo" and n_classes > 2
    clocks = len(arrays["clock"]) if header["scheme"] == "labels" else rows if duels else 1
    _demand(clocks in (1, rows), "one clock, or one for every row")
    sizes = {"t": (1,), "tally": (4,), "clock": (clocks, CLOCK)}
    for name in weights.arrays:
        expected = sizes.get(name, (rows, n_features) if name in MATRICES else (rows,))
        kind = w.dtype if name in MATRICES + VECTORS and not name.startswith("late") else np.dtype(np.float64)
        array = arrays[name]
        _demand(array.shape == expected and array.dtype == kind, f"{name} of shape {expected} and type {kind}")
        _demand(name == "tally" or bool(np.isfinite(array).all()), f"finite numbers in {name}")
        _demand(name != "t" or float(array[0]) >= 0, "a number of examples that is not negative")
        weights.arrays[name] = array.copy()
    clock = weights.arrays["clock"]
    part = (clock[:, SCALE] > 0) & (clock[:, SCALE] <= 1) & (clock[:, FADED] >= 0) & (clock[:, FADED] <= 1)
    part &= (clock[:, SEEN] >= 0) & (clock[:, ANCHOR] >= 0) & (clock[:, ANCHOR] <= 1 / FAST)
    bound = clock[:, SEEN] * (1 + 1e-6) + 2 / FAST
    part &= (np.abs(clock[:, MASS]) <= bound) & (np.abs(clock[:, OFFSET]) <= bound)
    _demand(bool(part.all()), "clocks that run forwards")
    if weights.has_sigma:
        sigma = np.append(weights.arrays["sigma_w"], weights.arrays["sigma_b"])
        _demand(bool(((sigma >= 0) & (sigma <= 1)).all()), "variances between 0 and 1")
    with np.errstate(over="ignore", invalid="ignore"):
        read = (*weights.average(), *weights.last())
    _demand(all(bool(np.isfinite(array).all()) for array in read), "finite weights and averages")
    return weights


def _votes(header: dict[str, Any], arrays: dict[str, np.ndarray], n_classes: int) -> Votes | None:
    if header["support"] is None:
        return None
    votes, log = Votes(), arrays["log"]
    n_support, n_features = (int(size) for size in header["support"])
    _demand(n_features == int(header["n_features"]), "support examples as wide as the weights")
    _demand(log.ndim == 2 and log.shape[1] == LOG_COLUMNS and log.dtype == np.float64, "a log of six columns")
    _demand(bool(np.isfinite(log).all()), "finite numbers in the log")
    who, classes = log[:, 1], log[:, 2:4]
    _demand(bool((log[:, 4:] >= 0).all()), "a log of steps that are not negative")
    _demand(bool(((who >= 0) & (who < n_support)).all()), "a log that names support examples that are there")
    _demand(bool(((classes >= 0) & (classes < max(2, n_classes))).all()), "a log that names classes that are there")
    if "support" in arrays:
        support = arrays["support"]
    else:
        parts = (arrays["support_data"], arrays["support_indices"], arrays["support_indptr"])
        support = sp.csr_matrix(parts, shape=(n_support, n_features))
        support.check_format(full_check=True)
    _demand(support.shape == (n_support, n_features), "support examples of the stated shape")
    numbers = support.data if sp.issparse(support) else support
    _demand(
        support.dtype == arrays["w"].dtype and bool(np.isfinite(numbers).all()), "support examples of finite numbers"
    )
    votes.restore((log.copy(), [support] if n_support else [], n_support))
    return votes


def _classes(labels: Any, dtype: str) -> np.ndarray:
    """The classes: sorted, different, of one kind. Strings get the room they need, whatever the file says."""
    _demand(isinstance(labels, list) and len(labels) > 0, "a list of classes")
    strings = all(isinstance(label, str) for label in labels)
    numbers = all(isinstance(label, bool | int | float) for label in labels)
    _demand(strings or numbers, "classes that are strings or numbers")
    kind = np.dtype(object) if dtype == "object" else np.dtype(dtype)
    _demand(kind == np.dtype(object) or (kind.kind == "U") == strings, "classes of the stated kind")
    _demand(kind.kind in "biufUO" and kind.names is None, "classes of a plain kind")
    classes = np.array(labels) if kind.kind == "U" else np.array(labels, dtype=kind)
    different = all(low < high for low, high in itertools.pairwise(labels))
    _demand(different and classes.tolist() == labels, "sorted classes that differ")
    return classes


def _report(report: dict[str, Any]) -> dict[str, Any]:
    """How the last fit went, as far as it can be believed."""
    history, n_iter, reason, converged = (report[name] for name in REPORT)
    _demand(isinstance(history, list) and n_iter == len(history) and type(n_iter) is int, "a row of history per epoch")
    for row in history:
        _demand(isinstance(row, dict) and row.keys() == new_row(0).keys(), "rows of history with all their columns")
        plain = [value for name, value in row.items() if value is not None or name in ("epoch", "examples", "mistakes")]
        _demand(all(isinstance(value, int | float) for value in plain), "numbers in the history")
    _demand(reason in REASONS and converged == (reason == "converged"), "a known reason for stopping")
    scored = [row["validation_accuracy"] is not None for row in history]
    _demand(reason != "early_stopping" or (bool(scored) and all(scored)), "held-out accuracies behind early stopping")
    return {"history_": history, "n_iter_": n_iter, "stop_reason_": reason, "converged_": bool(converged)}


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


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"expected {what}")


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


# ---- bytes


def _seal(header: str, arrays: dict[str, np.ndarray]) -> dict[str, str]:
    """The metadata of a file: format version, header and a checksum over header and arrays."""
    seal = {"format": FORMAT, "header": header, "sha256": _checksum(header, arrays)}
    return {KEY: json.dumps(seal, sort_keys=True)}


def _checksum(header: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the file, then rename: a reader sees the old file or the new one, never a part."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".perceptrons-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
