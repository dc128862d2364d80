"""Files of `SequencePerceptron`: the features that have weights, in the order of their names.

The file has neither the order in which features came, nor features without weights, nor the seconds of training.
Therefore the same seed gives the same bytes, and resumed training gives the same file as training without a break.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.engine.passes.attributes import PARTS, VALUE_BITS
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.memory import check_claim
from perceptrons.modelfile.contents import (
    Content,
    array_in,
    ascending_in,
    classes_in,
    header_of,
    index_in,
    names_in,
    parameters_in,
    refuse_infinite,
    require,
    resume,
    size_of,
    strings_array,
    strings_in,
    timeless,
)
from perceptrons.sequence import FeatureTemplates, SequencePerceptron
from perceptrons.sequence.chain_weights import Entries
from perceptrons.sequence.choices import check_choices, check_unchanged
from perceptrons.sequence.learner import ChainLearner
from perceptrons.sequence.template_features import TemplateFeatures
from perceptrons.sequence.templates import template_features
from perceptrons.sequence.token_features import MatrixFeatures, NamedFeatures

ESTIMATOR = SequencePerceptron
MAX_FEATURES = 2**40
FEATURE_BYTES = 9  # without weights
ARC_BYTES = 24  # of a pair of labels, with its average
WEIGHTS = {"per_feature", "labels", "w", "late_w", "arcs", "late_arcs"}  # arrays


def check_can_resume(model: SequencePerceptron) -> None:
    """Raise ValueError if the parameters no longer fit the model, whose file could not be read."""
    learner = learner_of(model)
    check_choices(model)
    check_unchanged(model)
    learner.meet_features()
    if not len(learner.classes):
        raise ValueError("The model knows no labels yet: train it before you save it.")


def contents(model: SequencePerceptron) -> Content:
    """Return the header and the arrays of a fitted model."""
    learner = learner_of(model)
    features, weights = learner.features, learner.weights
    entries = weights.entries()
    fired = weights.fired(entries)
    is_numbered = features.kind == "matrix" or features.hash_bits is not None
    if is_numbered:
        order = np.flatnonzero(fired)
        arrays = {"numbers": order.astype(np.int64)}
    else:
        order, arrays = (_names if features.kind == "names" else _keys)(features, fired)
    shared = timeless(header_of(model, templates=_templates_of(model), allowed=_sorted(model.allowed)))
    if model.validation_metric == "accuracy":
        del shared["parameters"]["validation_metric"]  # older files do not have it
    header = {
        **shared,
        **({} if getattr(model, "label_column_", None) is None else {"label_column": str(model.label_column_)}),
        "kind": features.kind,
        "n_features": features.n_features if is_numbered else len(order),
        "columns": features.columns if features.kind == "matrix" else None,
        "dtype": str(learner.dtype),
        "t": int(learner.t),
        "updates": learner.updates,
    }
    numbers = _weights(entries, order, weights.n_labels) | {"arcs": weights.arcs, "late_arcs": weights.late_arcs}
    refuse_infinite(numbers | {f"the average of {name}": _average(numbers, name, learner.t) for name in ("w", "arcs")})
    return Content(header, arrays | numbers)


def _weights(entries: Entries, order: np.ndarray, n_labels: int) -> dict[str, np.ndarray]:
    """Return the weights of features in this order, by label."""
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
    """Return the numbers of features with names, in the order of the file, and the arrays of the names."""
    known = sorted((name, number) for name, number in features.numbers.items() if fired[number])
    waiting = dict(features.waiting)
    if features.min_count > 1:
        waiting |= {name: features.min_count for name, number in features.numbers.items() if not fired[number]}
    arrays = strings_array("names", [name for name, _ in known]) | strings_array("waiting", sorted(waiting))
    arrays["waiting_counts"] = np.array([waiting[name] for name in sorted(waiting)], np.int64)
    return np.array([number for _, number in known], np.intp), arrays


def _keys(features: TemplateFeatures, fired: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the numbers of features with templates, in the order of the file, and the arrays of their values."""
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
        is_used = np.zeros(len(strings), bool)
        is_used[values[looks == v]] = True
        if v == 0:
            is_used[:] = True  # all words of training stay known, also without weights
        old = np.flatnonzero(is_used)
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
    """Return the model, or raise one of the errors that `load` expects for an invalid file."""
    parameters = parameters_in(header)
    if parameters["templates"] is not None:
        parameters["templates"] = FeatureTemplates(**parameters["templates"])
    model = SequencePerceptron(**parameters)
    check_choices(model)
    t, updates, n_features = (header[name] for name in ("t", "updates", "n_features"))
    require(
        all(type(count) is int and count >= 0 for count in (t, updates, n_features)), "counts that are not negative"
    )
    require(updates <= t and n_features <= MAX_FEATURES, "no more updates than sequences, and not too many features")
    require(header["dtype"] in ("float32", "float64"), "weights of float32 or float64")
    classes = classes_in(header)
    n_bytes = FEATURE_BYTES * n_features + ARC_BYTES * (len(classes) + 1) ** 2
    check_claim(n_bytes, size_of(arrays), f"A model of {n_features:,} features and {len(classes):,} labels")
    features, used = _features(model, header, arrays)
    for name in arrays.keys() - WEIGHTS:
        del arrays[name]  # it has been copied, and the weights need the memory
    _check_averages(arrays, t)
    try:
        arcs = (bool(model.transitions), bool(model.start_stop))
        learner = ChainLearner(features, classes, np.dtype(header["dtype"]), int(header["seed"]), arcs)
        n_weights = _read_weights(learner, used, arrays)
    except MemoryError as error:
        raise ValueError(f"there is no memory for {n_features} features") from error
    learner.weights.t[0], learner.updates = t, updates
    require(t > 0 or not n_weights, "sequences, because there are weights")
    resume(model, learner, header)
    model.n_features_in_ = learner.n_features
    if "label_column" in header:
        require(
            isinstance(header["label_column"], str) and bool(header["label_column"]), "a name of the label's column"
        )
        model.label_column_ = header["label_column"]
    check_unchanged(model)
    return model


def _check_averages(arrays: dict[str, np.ndarray], t: int) -> None:
    for name in ("w", "arcs"):
        require(arrays[name].shape == arrays[f"late_{name}"].shape, f"as many of late_{name} as of {name}")
        require(bool(np.isfinite(_average(arrays, name, t)).all()), "finite averages")


def _average(arrays: dict[str, np.ndarray], name: str, t: float) -> np.ndarray:
    last, late = arrays[name], arrays[f"late_{name}"]
    with np.errstate(over="ignore", invalid="ignore"):
        return (last - late / max(t, 1)).astype(last.dtype)


def _features(
    model: SequencePerceptron, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[Any, np.ndarray]:
    """Return the features, and the numbers of those that have weights, in the order of the file."""
    kind, n = header["kind"], header["n_features"]
    require(kind in ("matrix", "names", "templates"), "features of a known kind")
    require((kind == "templates") == (model.templates is not None), "templates in the parameters and in the features")
    if kind == "matrix":
        require(model.hash_bits is None and model.min_count == 1, "no names in a matrix")
        columns = header["columns"]
        if columns is not None:
            model.feature_names_in_ = np.array(names_in(columns, n), dtype=object)
        return MatrixFeatures(n, columns), ascending_in(arrays, "numbers", n)
    features: Any = NamedFeatures(int(model.min_count), model.hash_bits)
    if model.templates is not None:
        features = template_features(model.templates, int(model.min_count), model.hash_bits)
    if model.hash_bits is not None:
        require(n == 2**model.hash_bits, "as many numbers as hashes")
        return features, ascending_in(arrays, "numbers", n)
    if kind == "names":
        _read_names(features, arrays)
    else:
        _read_keys(features, n, arrays)
    require(features.n_features == n, "as many features as names")
    return features, np.arange(n)


def _read_names(features: NamedFeatures, arrays: dict[str, np.ndarray]) -> None:
    names = strings_in(arrays, "names")
    features.numbers = {name: number for number, name in enumerate(names)}
    require(len(features.numbers) == len(names), "names that differ")
    waiting = strings_in(arrays, "waiting")
    features.waiting = dict(zip(waiting, _counts(arrays, len(waiting), features.min_count).tolist(), strict=True))
    require(len(features.waiting) == len(waiting), "waiting names that differ")
    require(not features.waiting.keys() & features.numbers.keys(), "names that are known or wait")


def _read_keys(features: TemplateFeatures, n: int, arrays: dict[str, np.ndarray]) -> None:
    views = len(features.views)
    sizes = array_in(arrays, "values_per_view", (views,), np.int64)
    strings = strings_in(arrays, "values")
    require(bool((sizes >= 0).all()) and int(sizes.sum()) == len(strings), "values for every view")
    require(bool((sizes < 2**VALUE_BITS).all()), "values that have room in a key")
    ends = np.cumsum(sizes).tolist()
    for v, end in enumerate(ends):
        part = strings[end - sizes[v] : end]
        features.values[v] = {string: number for number, string in enumerate(part)}
        require(len(features.values[v]) == len(part), "values that differ")
    template = index_in(arrays, "key_templates", len(features.list), np.int16).astype(np.int64)
    require(len(template) >= n, "templates of all features")
    looks = features.templates.looks[template]
    flat = array_in(arrays, "key_values", (int((looks >= 0).sum()),), np.int32)
    values = np.zeros((len(template), PARTS), np.int32)
    values[looks >= 0] = flat
    require(bool(((flat >= 0) & (flat < sizes[looks[looks >= 0]])).all()), "values that exist")
    counts = _counts(arrays, len(template) - n, features.min_count)
    features.fill(template, values, np.concatenate([np.arange(n), -counts]))
    used = int((features.keys[:, 0] != 0).sum())
    require(used == len(template), "features that differ")


def _counts(arrays: dict[str, np.ndarray], n: int, min_count: int) -> np.ndarray:
    counts = array_in(arrays, "waiting_counts", (n,), np.int64)
    require(bool(((counts > 0) & (counts <= min_count)).all()), "counts of features that wait")
    require(min_count > 1 or not n, "no feature that waits")
    return counts


def _read_weights(learner: ChainLearner, used: np.ndarray, arrays: dict[str, np.ndarray]) -> int:
    """Give the learner the weights of these features. Return how many there are."""
    weights, dtype = learner.weights, learner.dtype
    K = weights.n_labels
    per_feature = array_in(arrays, "per_feature", used.shape, np.int32)
    require(bool(((per_feature > 0) & (per_feature <= K)).all()), "weights for every feature, no more than labels")
    n = int(per_feature.sum())
    labels = index_in(arrays, "labels", K, np.uint8 if K <= 256 else np.int32, (n,))
    ascending = labels[1:] > labels[:-1]
    ascending[np.cumsum(per_feature)[:-1] - 1] = True  # between two features
    require(bool(ascending.all()), "weights in order")
    w, late_w = array_in(arrays, "w", (n,), dtype), array_in(arrays, "late_w", (n,), np.float64)
    del arrays["labels"], arrays["w"], arrays["late_w"]
    weights.fill(used, per_feature.astype(np.int64), labels.astype(np.int32), w, late_w)
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
    """Return sets as sorted lists, because JSON has no sets."""
    if not isinstance(allowed, Mapping):
        return allowed
    return {key: sorted(value) if isinstance(value, set | frozenset) else value for key, value in allowed.items()}
