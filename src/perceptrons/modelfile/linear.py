"""Files of `Perceptron`: its weights, the state that resumes training, and the votes."""

from typing import Any, Literal

import numpy as np

from perceptrons.engine.passes.average import MAX_GAIN, STATE, smallest_scale
from perceptrons.engine.passes.following import FADING, RECORD
from perceptrons.engine.passes.pocket import TALLY
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.inputs import Growth, largest
from perceptrons.engine.training.labels import FORMS
from perceptrons.engine.training.learner import LinearLearner
from perceptrons.engine.training.memory import check_claim
from perceptrons.engine.training.parameters import FAST, check_choices, check_several, cost_matrix
from perceptrons.engine.training.schemes import n_rows
from perceptrons.engine.training.votes import Votes
from perceptrons.engine.training.weights import MATRICES, VECTORS, Weights
from perceptrons.linear import Perceptron
from perceptrons.modelfile.contents import (
    Content,
    content_of,
    refuse_infinite,
    require,
    restore,
    support_arrays,
)

NAMES_IN_FILES = {"lazy_sum_w": "late_w", "lazy_sum_b": "late_b", "state": "clock"}  # where they differ
RECORDS = {"state": STATE, "tally": TALLY, "record": RECORD}  # arrays with named fields; in files, arrays of numbers
N_FIELDS = {name: len(dtype.names or ()) for name, dtype in RECORDS.items()}
N_PLAIN_FIELDS = (STATE.names or ()).index("total")  # those behind are only in files of other averages
MAX_COLUMNS = 2**31


def _check_can_resume(model: Perceptron) -> None:
    """Raise ValueError if the parameters no longer fit the model, whose file could not be read."""
    learner = learner_of(model)
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


def contents(model: Perceptron) -> Content:
    """Return the header and the arrays of a fitted model."""
    _check_can_resume(model)
    learner, weights = learner_of(model), learner_of(model).weights
    arrays, support_shape = {}, None
    used = _used_columns(weights)
    for name, array in weights.arrays.items():
        array = array[:, used] if name in MATRICES else array.view(np.float64) if name in RECORDS else array
        arrays[NAMES_IN_FILES.get(name, name)] = np.ascontiguousarray(array)
    state = arrays["clock"].reshape(-1, N_FIELDS["state"])
    arrays["clock"] = np.ascontiguousarray(state[:, :N_PLAIN_FIELDS])
    if weights.recent or (weights.arrays["state"]["total"] != weights.arrays["state"]["n_seen"]).any():
        arrays["recent"] = np.ascontiguousarray(state[:, N_PLAIN_FIELDS:])
    if not isinstance(used, slice):
        arrays["live"] = used
    if learner.votes is not None:
        support = learner.votes.matrix(weights.n_features)
        arrays |= {"log": learner.votes.log, **support_arrays(support)}
        support_shape = list(support.shape)
    header = {
        "scheme": learner.scheme,
        "form": learner.form,
        "intercept": weights.one,  # the square of the constant feature
        "spread": learner.spread,
        "init": learner.init,
        "updates": learner.updates,
        "support": support_shape,
        "memory": "C" if weights.arrays["w"].flags.c_contiguous else "F",  # sums are rounded in this order
    }
    _refuse_infinite(weights, arrays, used)
    return content_of(model, header, arrays)


def _refuse_infinite(weights: Weights, arrays: dict[str, np.ndarray], used: Any) -> None:
    """Raise ValueError for numbers that `read` would refuse. used: the columns that are in the file."""
    numbers = {name: array for name, array in arrays.items() if name != "tally"}  # infinite in the first epoch
    with np.errstate(over="ignore", invalid="ignore"):
        mean_w, mean_b = weights.average(used)
        last_w, last_b = weights.last(used)
        norm = np.array(weights.norm())
    means = {"the average of w": mean_w, "the average of b": mean_b}
    refuse_infinite(numbers | means | {"w": last_w, "b": last_b, "the norm of w": norm})


def read(content: Content) -> Perceptron:
    """Return the model, or raise one of the errors that `load` expects for an invalid file."""
    header = content.header
    model = Perceptron(**content.parameters())
    check_choices(model)
    classes = content.classes()
    cost_matrix(model.cost, classes, stream=True)
    scheme, form = header["scheme"], header["form"]
    require(form in FORMS, "labels of a known form")
    if form != "single":
        check_several(model)
    require(scheme == model.multiclass if form == "single" else scheme == "labels", "a scheme that fits the parameters")
    require(header["init"] in ("zeros", "ones", "random"), "a known start")
    learner = LinearLearner(
        _weights(content, len(classes)),
        _votes(content, len(classes)),
        classes,
        str(scheme),
        str(form),
        str(header["init"]),
        int(header["seed"]),
    )
    learner.updates = int(header["updates"])
    learner.spread = float(header.get("spread", 1.0))
    require(0 <= learner.spread < np.inf, "a spread that is not negative")
    restore(model, learner, content)
    return model


def _used_columns(weights: Weights) -> Any:
    """Return the columns that have weights: all, or their numbers if most have none, as with hashed features.

    A negative zero counts as a weight, so that the model that is read has the bits of the one that was written.
    """
    used = np.zeros(weights.n_features, bool)
    for name in MATRICES:
        if name in weights.arrays:
            columns = weights.arrays[name][:, : weights.n_features]
            used |= ((columns != _unused_value(name)) | np.signbit(columns)).any(axis=0)
    return np.flatnonzero(used) if used.sum() < weights.n_features / 2 else slice(0, weights.n_features)


def _unused_value(name: str) -> int:
    """Return the value of a column that no example has used, if training began with zeros."""
    return 1 if name == "sigma_w" else 0


def _spread_out(weights: Weights, used: np.ndarray, n_features: int, order: Literal["C", "F"]) -> None:
    """Put columns in their places among unused ones."""
    for name in MATRICES:
        if name in weights.arrays:
            dense = weights.arrays[name]
            wide = np.zeros((len(dense), n_features), dense.dtype, order)  # pages of zeros take no memory
            if _unused_value(name):
                wide += _unused_value(name)
            wide[:, used] = dense
            weights.arrays[name] = wide
    weights.n_features = n_features


def _weights(content: Content, n_classes: int) -> Weights:
    header, arrays = content
    rows, n_features = n_rows(header["scheme"], n_classes), int(header["n_features"])
    used = None
    if "live" in arrays:  # only these columns are in the file: check that there is memory for all
        require(0 <= n_features <= MAX_COLUMNS, "columns that 32 bits can number")
        weight_bytes = arrays["w"].itemsize  # of the average
        weight_bytes += sum(arrays[name].itemsize for name in MATRICES if name in arrays)
        subject = f"A model of {n_features:,} features in {rows:,} rows"
        check_claim(rows * n_features * weight_bytes, content.n_bytes, subject)
        used = content.ascending("live", n_features)
        n_features = len(used)
    w, b = arrays["w"], arrays["b"]
    require(w.dtype in (np.float32, np.float64), "weights of float32 or float64")
    parts = {"pocket": "tally" in arrays, "start": "start_w" in arrays, "sigma": "sigma_w" in arrays}
    require(parts["sigma"] == (header["parameters"]["step"] == "arow"), "variances for step='arow', and only then")
    one = float(header["intercept"])
    require(0 <= one <= largest(w.dtype, Growth()) ** 2, "the square of a constant feature")
    weights = Weights(w, b, one=one, **parts)
    if "paid_w" in arrays:
        weights.keep_payments()
    if "record" in arrays:
        weights.start_record()
    is_one_vs_one = header["scheme"] == "ovo" and n_classes > 2
    clocks = len(arrays["clock"]) if header["scheme"] == "labels" else rows if is_one_vs_one else 1
    require(clocks in (1, rows), "one clock, or one for every row")
    content = Content(header, arrays | {"clock": _state(content, clocks)})
    sizes = {
        "t": (1,),
        "tally": (N_FIELDS["tally"],),
        "state": (clocks, N_FIELDS["state"]),
        "record": (N_FIELDS["record"],),
    }
    for name in weights.arrays:
        expected = sizes.get(name, (rows, n_features) if name in MATRICES else (rows,))
        kind = w.dtype if name in MATRICES + VECTORS and not name.startswith(("lazy", "paid")) else np.dtype(np.float64)
        array = content.array(NAMES_IN_FILES.get(name, name), expected, kind, finite=name != "tally")
        weights.arrays[name] = array.view(RECORDS[name]).reshape(-1) if name in RECORDS else array
    if weights.record is not None:
        lead, different = weights.record.item()
        require(0 <= different <= rows / (1 - FADING) + 1 and abs(lead) <= different, "a valid record of predictions")
    require(float(arrays["t"][0]) >= 0, "a number of examples that is not negative")
    state = weights.arrays["state"]
    is_valid = (state["scale"] >= smallest_scale(w.dtype)) & (state["scale"] <= 1) & (state["l1_due"] >= 0)
    is_valid &= (state["n_seen"] >= 0) & (state["anchor"] >= 0) & (state["anchor"] <= 1 / FAST)
    bound = state["total"] * (1 + 1e-6) + 2 / FAST
    is_valid &= (np.abs(state["mass"]) <= bound) & (np.abs(state["offset"]) <= bound)
    max_total = 1.5 * state["gain"] * state["n_seen"]  # a visit for a fraction counts a little more than its fraction
    is_valid &= (state["gain"] >= 1) & (state["gain"] <= MAX_GAIN)
    is_valid &= (state["total"] <= max_total) & ((state["total"] > 0) == (state["n_seen"] > 0))
    require(is_valid.all(), "valid averaging state: the example counter must not decrease")
    if weights.has_sigma:
        sigma = np.append(weights.arrays["sigma_w"], weights.arrays["sigma_b"])
        require(((sigma >= 0) & (sigma <= 1)).all(), "variances between 0 and 1")
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = (*weights.average(), *weights.last(), np.array(weights.norm()))
    require(all(np.isfinite(array).all() for array in numbers), "finite weights and averages")
    if used is not None:
        _spread_out(weights, used, int(header["n_features"]), "C" if header.get("memory") == "C" else "F")
    elif header.get("memory") == "F":
        weights.arrays |= {name: np.asfortranarray(weights.arrays[name]) for name in MATRICES if name in weights.arrays}
    return weights


def _state(content: Content, clocks: int) -> np.ndarray:
    """Return the averaging state. Only averages that do not count all examples alike have the array "recent"."""
    state = content.array("clock", (clocks, N_PLAIN_FIELDS))
    if "recent" in content.arrays:
        return np.hstack([state, content.array("recent", (clocks, N_FIELDS["state"] - N_PLAIN_FIELDS))])
    return np.hstack([state, state[:, :1], np.ones((clocks, 1))])  # all examples seen, each with the weight 1


def _votes(content: Content, n_classes: int) -> Votes | None:
    header, arrays = content
    require(("start_w" in arrays) == (header["support"] is not None), "first weights exactly if there are votes")
    if header["support"] is None:
        return None
    n_support, n_features = (int(size) for size in header["support"])
    require(n_features == int(header["n_features"]), "support vectors as wide as the weights")
    log = content.log(n_support, n_classes)
    support = content.support((n_support, n_features), arrays["w"].dtype)
    votes = Votes()
    votes.restore((log, [support] if n_support else [], n_support))
    return votes
