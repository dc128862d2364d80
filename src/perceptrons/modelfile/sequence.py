"""A `SequencePerceptron` as a header and arrays: the features that fired, in the order of their names, with weights.

Neither the order in which features came, nor those without weights, nor the seconds that training took are in it: so
the same seed gives the same bytes, and training that was resumed the same file as training that was not.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.engine.passes.attributes import PARTS, VALUE_BITS
from perceptrons.engine.training.memory import check_claim
from perceptrons.modelfile.contents import (
    array_in,
    ascending_in,
    classes_in,
    demand,
    header_of,
    index_in,
    names_in,
    parameters_in,
    refuse_infinite,
    resume,
    size_of,
    strings_array,
    strings_in,
    timeless,
)
from perceptrons.sequence import FeatureTemplates, SequencePerceptron
from perceptrons.sequence.chain_weights import Entries
from perceptrons.sequence.choices import check_choices
from perceptrons.sequence.learner import ChainLearner
from perceptrons.sequence.template_features import TemplateFeatures
from perceptrons.sequence.token_features import MatrixFeatures, NamedFeatures

ESTIMATOR = SequencePerceptron
MOST = 2**40  # features that a file may speak of
FEATURE, ARC = 9, 24  # bytes of a feature without weights, and of a pair of labels, with its average
WEIGHTS = {"per_feature", "labels", "w", "late_w", "arcs", "late_arcs"}  # arrays


def check_goes_on(model: SequencePerceptron) -> None:
    """Raise ValueError if the parameters no longer fit the model: such a file could not be read."""
    learner = model._fitted()
    check_choices(model)
    model._check_can_go_on()
    learner.meet_features()
    if not len(learner.classes):
        raise ValueError("The model knows no labels yet: train it before you save it.")


def contents(model: SequencePerceptron) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays."""
    learner = model._learner
    features, weights = learner.features, learner.weights
    entries = weights.entries()
    fired = weights.fired(entries)
    by_number = features.kind == "matrix" or features.hash_bits is not None
    if by_number:
        order = np.flatnonzero(fired)
        arrays = {"numbers": order.astype(np.int64)}
    else:
        order, arrays = (_names if features.kind == "names" else _keys)(features, fired)
    of_all = timeless(header_of(model, templates=_templates_of(model), allowed=_sorted(model.allowed)))
    if model.validation_metric == "accuracy":
        del of_all["parameters"]["validation_metric"]  # files from before there was a choice have none
    header = {
        **of_all,
        **({} if getattr(model, "label_column_", None) is None else {"label_column": str(model.label_column_)}),
        "kind": features.kind,
        "n_features": features.n_features if by_number else len(order),
        "columns": features.columns if features.kind == "matrix" else None,
        "dtype": str(learner.dtype),
        "t": int(learner.t),
        "updates": learner.updates,
    }
    numbers = _weights(entries, order, weights.n_labels) | {"arcs": weights.arcs, "late_arcs": weights.late_arcs}
    refuse_infinite(numbers | {f"the average of {name}": _average(numbers, name, learner.t) for name in ("w", "arcs")})
    return header, arrays | numbers


def _weights(entries: Entries, order: np.ndarray, n_labels: int) -> dict[str, np.ndarray]:
    """The weights of the features in this order, by label."""
    features, firsts, sizes = np.unique(entries.features, return_index=True, return_counts=True)
    rank = np.searchsorted(features, order)
    firsts, sizes = firsts[rank], sizes[rank]
    at = np.repeat(firsts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    return {
        "per_feature": sizes.astype(np.int32),
        "labels": entries.labels[at].astype(np.uint8 if n_labels <= 256 else np.int32),
        "w": entries.w[at],
        "late_w": entries.late_w[at],
    }


def _names(features: NamedFeatures, fired: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The order in which to write features that have names, and the arrays of the names."""
    known = sorted((name, number) for name, number in features.numbers.items() if fired[number])
    waiting = dict(features.waiting)
    if features.min_count > 1:
        waiting |= {name: features.min_count for name, number in features.numbers.items() if not fired[number]}
    arrays = strings_array("names", [name for name, _ in known]) | strings_array("waiting", sorted(waiting))
    arrays["waiting_counts"] = np.array([waiting[name] for name in sorted(waiting)], np.int64)
    return np.array([number for _, number in known], np.intp), arrays


def _keys(features: TemplateFeatures, fired: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The same for features that have templates and values."""
    template, values, numbers = features.entries()
    waits = numbers < 0
    idle = np.zeros(len(numbers), bool)
    idle[~waits] = ~fired[numbers[~waits]]
    kept = ~idle if features.min_count == 1 else np.ones(len(numbers), bool)
    template, values, numbers, idle = template[kept], values[kept], numbers[kept], idle[kept]
    numbers = np.where(idle, -features.min_count, numbers)
    looks = features.templates.looks[template]
    used = []
    for v, strings in enumerate(features.values):
        there = np.zeros(len(strings), bool)
        there[values[looks == v]] = True
        if v == 0:
            there[:] = True  # all words of training: they are known, whatever came of them
        old = np.flatnonzero(there)
        words = list(strings)
        in_order = sorted(old.tolist(), key=words.__getitem__)
        places = np.zeros(len(strings), np.int64)
        places[in_order] = np.arange(len(in_order))
        values[looks == v] = places[values[looks == v]]
        used.append([words[number] for number in in_order])
    arrays = strings_array("values", [word for words in used for word in words])
    arrays["values_per_view"] = np.array([len(words) for words in used], np.int64)
    order = np.lexsort((*values.T[::-1], template, numbers < 0))
    template, values, numbers, looks = template[order], values[order], numbers[order], looks[order]
    n = int((numbers >= 0).sum())
    arrays["key_templates"] = template.astype(np.int16)
    arrays["key_values"] = values[looks >= 0].astype(np.int32)
    arrays["waiting_counts"] = -numbers[n:].astype(np.int64)
    return numbers[:n], arrays


def read(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> SequencePerceptron:
    """The model again, or an error of those that `load` expects of an unsound file."""
    parameters = parameters_in(header)
    if parameters["templates"] is not None:
        parameters["templates"] = FeatureTemplates(**parameters["templates"])
    model = SequencePerceptron(**parameters)
    check_choices(model)
    t, updates, n_features = (header[name] for name in ("t", "updates", "n_features"))
    demand(all(type(count) is int and count >= 0 for count in (t, updates, n_features)), "counts that are not negative")
    demand(updates <= t and n_features <= MOST, "no more updates than sequences, and features that a memory holds")
    demand(header["dtype"] in ("float32", "float64"), "weights of float32 or float64")
    classes = classes_in(header)
    wanted = FEATURE * n_features + ARC * (len(classes) + 1) ** 2
    check_claim(wanted, size_of(arrays), f"A model of {n_features:,} features and {len(classes):,} labels")
    features, where = _features(model, header, arrays)
    for name in arrays.keys() - WEIGHTS:
        del arrays[name]  # it is copied, and the weights need memory
    _check_averages(arrays, t)
    try:
        arcs = (bool(model.transitions), bool(model.start_stop))
        learner = ChainLearner(features, classes, np.dtype(header["dtype"]), int(header["seed"]), arcs)
        n_weights = _read_weights(learner, where, arrays)
    except MemoryError as error:
        raise ValueError(f"there is no memory for {n_features} features") from error
    learner.weights.t[0], learner.updates = t, updates
    demand(t > 0 or not n_weights, "sequences behind the weights")
    resume(model, learner, header)
    model.n_features_in_ = learner.n_features
    if "label_column" in header:
        demand(isinstance(header["label_column"], str) and bool(header["label_column"]), "a name of the label's column")
        model.label_column_ = header["label_column"]
    model._check_can_go_on()
    return model


def _check_averages(arrays: dict[str, np.ndarray], t: int) -> None:
    for name in ("w", "arcs"):
        demand(arrays[name].shape == arrays[f"late_{name}"].shape, f"as many of late_{name} as of {name}")
        demand(bool(np.isfinite(_average(arrays, name, t)).all()), "finite averages")


def _average(arrays: dict[str, np.ndarray], name: str, t: float) -> np.ndarray:
    last, late = arrays[name], arrays[f"late_{name}"]
    with np.errstate(over="ignore", invalid="ignore"):
        return (last - late / max(t, 1)).astype(last.dtype)


def _features(
    model: SequencePerceptron, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[Any, np.ndarray]:
    """The features, and the numbers of those that have weights, in the order of the file."""
    kind, n = header["kind"], header["n_features"]
    demand(kind in ("matrix", "names", "templates"), "features of a known kind")
    demand((kind == "templates") == (model.templates is not None), "templates where there are some")
    if kind == "matrix":
        demand(model.hash_bits is None and model.min_count == 1, "no names in a matrix")
        columns = header["columns"]
        if columns is not None:
            model.feature_names_in_ = np.array(names_in(columns, n), dtype=object)
        return MatrixFeatures(n, columns), ascending_in(arrays, "numbers", n)
    features: Any = NamedFeatures(int(model.min_count), model.hash_bits)
    if model.templates is not None:
        features = model.templates._features(int(model.min_count), model.hash_bits)
    if model.hash_bits is not None:
        demand(n == 2**model.hash_bits, "as many numbers as hashes")
        return features, ascending_in(arrays, "numbers", n)
    if kind == "names":
        _read_names(features, arrays)
    else:
        _read_keys(features, n, arrays)
    demand(features.n_features == n, "as many features as names")
    return features, np.arange(n)


def _read_names(features: NamedFeatures, arrays: dict[str, np.ndarray]) -> None:
    names = strings_in(arrays, "names")
    features.numbers = {name: number for number, name in enumerate(names)}
    demand(len(features.numbers) == len(names), "names that differ")
    waiting = strings_in(arrays, "waiting")
    features.waiting = dict(zip(waiting, _counts(arrays, len(waiting), features.min_count).tolist(), strict=True))
    demand(len(features.waiting) == len(waiting), "waiting names that differ")
    demand(not features.waiting.keys() & features.numbers.keys(), "names that are known or wait")


def _read_keys(features: TemplateFeatures, n: int, arrays: dict[str, np.ndarray]) -> None:
    views = len(features.views)
    sizes = array_in(arrays, "values_per_view", (views,), np.int64)
    strings = strings_in(arrays, "values")
    demand(bool((sizes >= 0).all()) and int(sizes.sum()) == len(strings), "values for every view")
    demand(bool((sizes < 2**VALUE_BITS).all()), "values that have room in a key")
    ends = np.cumsum(sizes).tolist()
    for v, end in enumerate(ends):
        part = strings[end - sizes[v] : end]
        features.values[v] = {string: number for number, string in enumerate(part)}
        demand(len(features.values[v]) == len(part), "values that differ")
    template = index_in(arrays, "key_templates", len(features.list), np.int16).astype(np.int64)
    demand(len(template) >= n, "templates of all features")
    looks = features.templates.looks[template]
    flat = array_in(arrays, "key_values", (int((looks >= 0).sum()),), np.int32)
    values = np.zeros((len(template), PARTS), np.int32)
    values[looks >= 0] = flat
    demand(bool(((flat >= 0) & (flat < sizes[looks[looks >= 0]])).all()), "values that are there")
    counts = _counts(arrays, len(template) - n, features.min_count)
    features.fill(template, values, np.concatenate([np.arange(n), -counts]))
    used = int((features.keys[:, 0] != 0).sum())
    demand(used == len(template), "features that differ")


def _counts(arrays: dict[str, np.ndarray], n: int, min_count: int) -> np.ndarray:
    counts = array_in(arrays, "waiting_counts", (n,), np.int64)
    demand(bool(((counts > 0) & (counts <= min_count)).all()), "counts of features that wait")
    demand(min_count > 1 or not n, "no feature that waits")
    return counts


def _read_weights(learner: ChainLearner, where: np.ndarray, arrays: dict[str, np.ndarray]) -> int:
    """Give the learner the weights of these features; returns how many there are."""
    weights, dtype = learner.weights, learner.dtype
    K = weights.n_labels
    per_feature = array_in(arrays, "per_feature", where.shape, np.int32)
    demand(bool(((per_feature > 0) & (per_feature <= K)).all()), "weights for every feature, no more than labels")
    n = int(per_feature.sum())
    labels = index_in(arrays, "labels", K, np.uint8 if K <= 256 else np.int32, (n,))
    ascending = labels[1:] > labels[:-1]
    ascending[np.cumsum(per_feature)[:-1] - 1] = True  # another feature begins there
    demand(bool(ascending.all()), "weights in order")
    w, late_w = array_in(arrays, "w", (n,), dtype), array_in(arrays, "late_w", (n,), np.float64)
    del arrays["labels"], arrays["w"], arrays["late_w"]
    weights.fill(where, per_feature.astype(np.int64), labels.astype(np.int32), w, late_w)
    weights.arcs = array_in(arrays, "arcs", (K + 1, K + 1), dtype)
    weights.late_arcs = array_in(arrays, "late_arcs", (K + 1, K + 1), np.float64)
    return n


def _templates_of(model: SequencePerceptron) -> dict[str, Any] | None:
    if model.templates is None:
        return None
    texts, columns = model.templates.templates, model.templates.columns
    return {
        "templates": texts if texts is None or isinstance(texts, str) else list(texts),
        "columns": columns if isinstance(columns, str) else list(columns),
    }


def _sorted(allowed: Any) -> Any:
    """Sets are no JSON, and have no order."""
    if not isinstance(allowed, Mapping):
        return allowed
    return {key: sorted(value) if isinstance(value, set | frozenset) else value for key, value in allowed.items()}
