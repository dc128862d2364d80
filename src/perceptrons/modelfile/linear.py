"""A `Perceptron` as a header and arrays: its weights, all that it needs to resume training, and the votes."""

from typing import Any, Literal

import numpy as np

from perceptrons.engine.passes.average import (
    ANCHOR,
    CLOCK,
    DEMANDED,
    GAIN,
    LARGEST_GAIN,
    MASS,
    OFFSET,
    SCALE,
    SEEN,
    TOTAL,
    smallest_scale,
)
from perceptrons.engine.training.inputs import Growth, largest
from perceptrons.engine.training.labels import FORMS
from perceptrons.engine.training.learner import Learner
from perceptrons.engine.training.memory import check_claim
from perceptrons.engine.training.parameters import check_choices, check_several
from perceptrons.engine.training.rule import FAST, cost_matrix
from perceptrons.engine.training.schemes import n_rows
from perceptrons.engine.training.votes import Votes
from perceptrons.engine.training.weights import MATRICES, VECTORS, Weights
from perceptrons.linear import Perceptron
from perceptrons.modelfile.contents import (
    array_in,
    ascending_in,
    classes_in,
    columns_of,
    demand,
    header_of,
    log_in,
    parameters_in,
    read_columns,
    refuse_infinite,
    resume,
    size_of,
    support_arrays,
    support_in,
    timeless,
)
from perceptrons.modelfile.probabilities import calibration_parts, read_calibration

ESTIMATOR = Perceptron
LARGEST_WIDTH = 2**31  # columns


def check_goes_on(model: Perceptron) -> None:
    """Raise ValueError if the parameters no longer fit the model: such a file could not be read."""
    learner = model._fitted()
    check_choices(model)
    cost_matrix(model.cost, learner.classes, stream=True)
    if learner.form != "single":
        check_several(model)
    elif learner.scheme != model.multiclass:
        raise ValueError(
            f"The model was trained with multiclass={learner.scheme!r}, but it is now {model.multiclass!r}."
        )
    if learner.weights.has_sigma != (model.step == "arow"):
        raise ValueError(f"The model was not trained with step={model.step!r}: set it back before saving.")


def contents(model: Perceptron) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays."""
    learner, weights = model._learner, model._learner.weights
    arrays, shape = {}, None
    live = _live(weights)
    for name, array in weights.arrays.items():
        arrays[name] = np.ascontiguousarray(array[:, live] if name in MATRICES else array)
    arrays["clock"], recent = np.ascontiguousarray(arrays["clock"][:, :TOTAL]), arrays["clock"][:, TOTAL:]
    if weights.recent:
        arrays["recent"] = np.ascontiguousarray(recent)
    if not isinstance(live, slice):
        arrays["live"] = live
    if learner.votes is not None:
        support = learner.votes.matrix(weights.n_features)
        arrays |= {"log": learner.votes.log, **support_arrays(support)}
        shape = list(support.shape)
    header = {
        **timeless(header_of(model)),
        "scheme": learner.scheme,
        "form": learner.form,
        "intercept": weights.one,  # the square of its constant feature; was true or false
        "spread": learner.spread,
        "init": learner.init,
        "updates": learner.updates,
        "support": shape,
        "memory": "C" if weights.arrays["w"].flags.c_contiguous else "F",  # sums round by the order of memory
    }
    _refuse_infinite(weights, arrays, live)
    of_columns, named = columns_of(model)
    calibrated, curves = calibration_parts(model)
    return header | of_columns | calibrated, arrays | named | curves


def _refuse_infinite(weights: Weights, arrays: dict[str, np.ndarray], live: Any) -> None:
    """Raise ValueError where `read` would refuse the file for its numbers. live: the columns that are in the file."""
    numbers = {name: array for name, array in arrays.items() if name != "tally"}  # infinite before the first judgement
    with np.errstate(over="ignore", invalid="ignore"):
        mean_w, mean_b = weights.average(live)
        last_w, last_b = weights.last(live)
        norm = np.array(weights.norm())
    means = {"the average of w": mean_w, "the average of b": mean_b}
    refuse_infinite(numbers | means | {"w": last_w, "b": last_b, "the norm of w": norm})


def read(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Perceptron:
    """The model again, or an error of those that `load` expects of an unsound file."""
    model = Perceptron(**parameters_in(header))
    check_choices(model)
    classes = classes_in(header)
    cost_matrix(model.cost, classes, stream=True)
    scheme, form = header["scheme"], header["form"]
    demand(form in FORMS, "labels of a known form")
    if form != "single":
        check_several(model)
    demand(scheme == model.multiclass if form == "single" else scheme == "labels", "a scheme that fits the parameters")
    demand(header["init"] in ("zeros", "ones", "random"), "a known start")
    learner = Learner(
        _weights(header, arrays, len(classes)),
        _votes(header, arrays, len(classes)),
        classes,
        str(scheme),
        str(form),
        str(header["init"]),
        int(header["seed"]),
    )
    learner.updates = int(header["updates"])
    learner.spread = float(header.get("spread", 1.0))
    demand(0 <= learner.spread < np.inf, "a spread that is not negative")
    resume(model, learner, header)
    read_columns(model, header, arrays)
    read_calibration(model, header, arrays)
    return model


def _live(weights: Weights) -> Any:
    """The columns that hold anything: all, or if most do not, as with hashed features, their numbers.

    A zero with a sign is something, too: the model that is read has the bits of the one that was written.
    """
    live = np.zeros(weights.n_features, bool)
    for name in MATRICES:
        if name in weights.arrays:
            columns = weights.arrays[name][:, : weights.n_features]
            live |= ((columns != _idle(name)) | np.signbit(columns)).any(axis=0)
    return np.flatnonzero(live) if live.sum() < weights.n_features / 2 else slice(0, weights.n_features)


def _idle(name: str) -> int:
    """What a column holds of which no example has had a value, with a start of zeros."""
    return 1 if name == "sigma_w" else 0


def _live_in(arrays: dict[str, np.ndarray], rows: int, n_features: int) -> np.ndarray:
    """The columns that are in the file, if there is memory for all others."""
    demand(0 <= n_features <= LARGEST_WIDTH, "columns that 32 bits can number")
    each = sum(arrays[name].itemsize for name in MATRICES if name in arrays) + arrays["w"].itemsize  # and the average
    check_claim(rows * n_features * each, size_of(arrays), f"A model of {n_features:,} features in {rows:,} rows")
    return ascending_in(arrays, "live", n_features)


def _spread_out(weights: Weights, live: np.ndarray, n_features: int, order: Literal["C", "F"]) -> None:
    """Put columns in their places among idle ones."""
    for name in MATRICES:
        if name in weights.arrays:
            dense = weights.arrays[name]
            wide = np.zeros((len(dense), n_features), dense.dtype, order=order)
            if _idle(name):
                wide += _idle(name)
            wide[:, live] = dense
            weights.arrays[name] = wide
    weights.n_features = n_features


def _weights(header: dict[str, Any], arrays: dict[str, np.ndarray], n_classes: int) -> Weights:
    rows, n_features = n_rows(header["scheme"], n_classes), int(header["n_features"])
    live = _live_in(arrays, rows, n_features) if "live" in arrays else None
    if live is not None:
        n_features = len(live)
    w, b = arrays["w"], arrays["b"]
    demand(w.dtype in (np.float32, np.float64), "weights of float32 or float64")
    parts = {"pocket": "tally" in arrays, "start": "start_w" in arrays, "sigma": "sigma_w" in arrays}
    demand(parts["sigma"] == (header["parameters"]["step"] == "arow"), "variances for step='arow', and only then")
    one = float(header["intercept"])
    demand(0 <= one <= largest(w.dtype, Growth()) ** 2, "the square of a constant feature")
    weights = Weights(w, b, one=one, **parts)
    if "paid_w" in arrays:
        weights.keep_payments()
    duels = header["scheme"] == "ovo" and n_classes > 2
    clocks = len(arrays["clock"]) if header["scheme"] == "labels" else rows if duels else 1
    demand(clocks in (1, rows), "one clock, or one for every row")
    arrays = {**arrays, "clock": _clock_in(arrays, clocks)}
    sizes = {"t": (1,), "tally": (4,), "clock": (clocks, CLOCK)}
    for name in weights.arrays:
        expected = sizes.get(name, (rows, n_features) if name in MATRICES else (rows,))
        kind = w.dtype if name in MATRICES + VECTORS and not name.startswith(("late", "paid")) else np.dtype(np.float64)
        weights.arrays[name] = array_in(arrays, name, expected, kind, finite=name != "tally")
    demand(float(arrays["t"][0]) >= 0, "a number of examples that is not negative")
    clock = weights.arrays["clock"]
    part = (clock[:, SCALE] >= smallest_scale(w.dtype)) & (clock[:, SCALE] <= 1) & (clock[:, DEMANDED] >= 0)
    part &= (clock[:, SEEN] >= 0) & (clock[:, ANCHOR] >= 0) & (clock[:, ANCHOR] <= 1 / FAST)
    bound = clock[:, TOTAL] * (1 + 1e-6) + 2 / FAST
    part &= (np.abs(clock[:, MASS]) <= bound) & (np.abs(clock[:, OFFSET]) <= bound)
    most = 1.5 * clock[:, GAIN] * clock[:, SEEN]  # a visit for a fraction counts a little more than its fraction
    part &= (clock[:, GAIN] >= 1) & (clock[:, GAIN] <= LARGEST_GAIN)
    part &= (clock[:, TOTAL] <= most) & ((clock[:, TOTAL] > 0) == (clock[:, SEEN] > 0))
    demand(bool(part.all()), "clocks that run forwards")
    if weights.has_sigma:
        sigma = np.append(weights.arrays["sigma_w"], weights.arrays["sigma_b"])
        demand(bool(((sigma >= 0) & (sigma <= 1)).all()), "variances between 0 and 1")
    with np.errstate(over="ignore", invalid="ignore"):
        read = (*weights.average(), *weights.last(), np.array(weights.norm()))
    demand(all(bool(np.isfinite(array).all()) for array in read), "finite weights and averages")
    if live is not None:
        _spread_out(weights, live, int(header["n_features"]), "C" if header.get("memory") == "C" else "F")
    elif header.get("memory") == "F":
        weights.arrays |= {name: np.asfortranarray(weights.arrays[name]) for name in MATRICES if name in weights.arrays}
    return weights


def _clock_in(arrays: dict[str, np.ndarray], clocks: int) -> np.ndarray:
    """The clocks; what only a recent average needs is in an array of its own, and not there for other models."""
    clock = array_in(arrays, "clock", (clocks, TOTAL), np.dtype(np.float64))
    if "recent" in arrays:
        return np.hstack([clock, array_in(arrays, "recent", (clocks, CLOCK - TOTAL), np.dtype(np.float64))])
    return np.hstack([clock, clock[:, [SEEN]], np.ones((clocks, 1))])


def _votes(header: dict[str, Any], arrays: dict[str, np.ndarray], n_classes: int) -> Votes | None:
    demand(("start_w" in arrays) == (header["support"] is not None), "the first weights beside votes, and only there")
    if header["support"] is None:
        return None
    n_support, n_features = (int(size) for size in header["support"])
    demand(n_features == int(header["n_features"]), "support vectors as wide as the weights")
    log = log_in(arrays, n_support, n_classes)
    support = support_in(arrays, (n_support, n_features), arrays["w"].dtype)
    votes = Votes()
    votes.restore((log, [support] if n_support else [], n_support))
    return votes
