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
    content_of,
    read_names,
    refuse_infinite,
    require,
    restore,
    strings_array,
)
from perceptrons.sequence import FeatureTemplates, SequencePerceptron
from perceptrons.sequence.estimator import check_choices, check_unchanged
from perceptrons.sequence.learner import ChainLearner, Entries
from perceptrons.sequence.templates import TemplateFeatures
from perceptrons.sequence.tokens import MatrixFeatures, NamedFeatures

MAX_FEATURES = 2**40
FEATURE_BYTES = 9  # without weights
ARC_BYTES = 24  # of a pair of labels, with its average
WEIGHTS = {"per_feature", "labels", "w", "late_w", "arcs", "late_arcs"}  # arrays


def _check_can_resume(model: SequencePerceptron) -> None:
    """Raise ValueError if the parameters no longer fit the model, whose file could not be read."""
    learner = learner_of(model)
    check_choices(model)
    check_unchanged(model)
    learner.meet_features()
    if not len(learner.classes):
        raise ValueError("The model knows no labels yet: train it before you save it.")


def contents(model: SequencePerceptron) -> Content:
    """Return the header and the arrays of a fitted model."""
    _check_can_resume(model)
    learner = learner_of(model)
    features, weights = learner.features, learner.weights
    entries = weights.entries()
    fired = weights.updated_features(entries)
    is_numbered = isinstance(features, MatrixFeatures) or model.hash_bits is not None
    if isinstance(features, NamedFeatures) and not is_numbered:
        order, arrays = _names(features, fired)
    elif isinstance(features, TemplateFeatures) and not is_numbered:
        order, arrays = _keys(features, fired)
    else:
        order = np.flatnonzero(fired)
        arrays = {"numbers": order.astype(np.int64)}
    header = {
        **({} if getattr(model, "label_column_", None) is None else {"label_column": str(model.label_column_)}),
        "kind": features.kind,
        "n_features": features.n_features if is_numbered else len(order),
        "columns": features.columns if isinstance(features, MatrixFeatures) else None,
        "dtype": str(learner.dtype),
        "t": int(learner.t),
        "updates": learner.updates,
    }
    numbers = _weights(entries, order, weights.n_labels) | {"arcs": weights.arcs, "late_arcs": weights.lazy_sum_arcs}
    refuse_infinite(numbers | {f"the average of {name}": _average(numbers, name, learner.t) for name in ("w", "arcs")})
    templates, allowed = _templates_of(model), _sorted(model.allowed)
    content = content_of(model, header, arrays | numbers, templates=templates, allowed=allowed)
    if model.validation_metric == "accuracy":
        del content.header["parameters"]["validation_metric"]  # older files do not have it
    return content


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
        "late_w": entries.lazy_sum_w[at],
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
    is_idle = np.zeros(len(numbers), bool)
    is_idle[numbers >= 0] = ~fired[numbers[numbers >= 0]]
    if features.min_count == 1:
        template, values, numbers = template[~is_idle], values[~is_idle], numbers[~is_idle]
    else:
        numbers = np.where(is_idle, -features.min_count, numbers)
    views = features.templates.views[template]
    words: list[str] = []
    counts = []
    for v, strings in enumerate(features.values):
        is_used = np.full(len(strings), v == 0)  # all words of training stay known, also without weights
        is_used[values[views == v]] = True
        names = list(strings)
        in_order = sorted(np.flatnonzero(is_used).tolist(), key=names.__getitem__)
        places = np.zeros(len(strings), np.int64)
        places[in_order] = np.arange(len(in_order))
        values[views == v] = places[values[views == v]]
        words += [names[number] for number in in_order]
        counts.append(len(in_order))
    order = np.lexsort((*values.T[::-1], template, numbers < 0))
    template, values, numbers, views = template[order], values[order], numbers[order], views[order]
    n = int((numbers >= 0).sum())
    arrays = strings_array("values", words) | {
        "values_per_view": np.array(counts, np.int64),
        "key_templates": template.astype(np.int16),
        "key_values": values[views >= 0].astype(np.int32),
        "waiting_counts": -numbers[n:].astype(np.int64),
    }
    return numbers[:n], arrays


def read(content: Content) -> SequencePerceptron:
    """Return the model, or raise one of the errors that `load` expects for an invalid file."""
    header, parameters = content.header, content.parameters()
    if parameters["templates"] is not None:
        parameters["templates"] = FeatureTemplates(**parameters["templates"])
    model = SequencePerceptron(**parameters)
    check_choices(model)
    t, updates, n_features = counts = [header[name] for name in ("t", "updates", "n_features")]
    require(all(type(count) is int and count >= 0 for count in counts), "counts that are not negative")
    require(updates <= t and n_features <= MAX_FEATURES, "no more updates than sequences, and not too many features")
    require(header["dtype"] in ("float32", "float64"), "weights of float32 or float64")
    classes = content.classes()
    n_bytes = FEATURE_BYTES * n_features + ARC_BYTES * (len(classes) + 1) ** 2
    check_claim(n_bytes, content.n_bytes, f"A model of {n_features:,} features and {len(classes):,} labels")
    features, used = _features(model, content)
    for name in content.arrays.keys() - WEIGHTS:
        del content.arrays[name]  # it has been copied, and the weights need the memory
    _check_averages(content.arrays, t)
    try:
        arcs = (bool(model.transitions), bool(model.start_stop))
        learner = ChainLearner(features, classes, np.dtype(header["dtype"]), int(header["seed"]), arcs)
        n_weights = _read_weights(learner, used, content)
    except MemoryError as error:
        raise ValueError(f"there is no memory for {n_features} features") from error
    learner.weights.t[0], learner.updates = t, updates
    require(t > 0 or not n_weights, "sequences, because there are weights")
    restore(model, learner, content)
    model.n_features_in_ = learner.n_features
    if "label_column" in header:
        model.label_column_ = header["label_column"]
        require(isinstance(model.label_column_, str) and model.label_column_ != "", "a name of the label's column")
    check_unchanged(model)
    return model


def _check_averages(arrays: dict[str, np.ndarray], t: int) -> None:
    for name in ("w", "arcs"):
        require(arrays[name].shape == arrays[f"late_{name}"].shape, f"as many of late_{name} as of {name}")
        require(np.isfinite(_average(arrays, name, t)).all(), "finite averages")


def _average(arrays: dict[str, np.ndarray], name: str, t: float) -> np.ndarray:
    last, late = arrays[name], arrays[f"late_{name}"]
    with np.errstate(over="ignore", invalid="ignore"):
        return (last - late / max(t, 1)).astype(last.dtype)


def _features(model: SequencePerceptron, content: Content) -> tuple[Any, np.ndarray]:
    """Return the features, and the numbers of those that have weights, in the order of the file."""
    kind, n = content.header["kind"], content.header["n_features"]
    require(kind in ("matrix", "names", "templates"), "features of a known kind")
    require((kind == "templates") == (model.templates is not None), "templates in the parameters and in the features")
    if kind == "matrix":
        require(model.hash_bits is None and model.min_count == 1, "no names in a matrix")
        columns = content.header["columns"]
        if columns is not None:
            model.feature_names_in_ = np.array(read_names(columns, n), dtype=object)
        return MatrixFeatures(n, columns), content.ascending("numbers", n)
    features: Any = NamedFeatures(int(model.min_count), model.hash_bits)
    if model.templates is not None:
        features = TemplateFeatures(model.templates, int(model.min_count), model.hash_bits)
    if model.hash_bits is not None:
        require(n == 2**model.hash_bits, "as many numbers as hashes")
        return features, content.ascending("numbers", n)
    if kind == "names":
        _read_names(features, content)
    else:
        _read_keys(features, n, content)
    require(features.n_features == n, "as many features as names")
    return features, np.arange(n)


def _read_names(features: NamedFeatures, content: Content) -> None:
    names = content.strings("names")
    features.numbers = {name: number for number, name in enumerate(names)}
    require(len(features.numbers) == len(names), "names that differ")
    waiting = content.strings("waiting")
    features.waiting = dict(zip(waiting, _counts(content, len(waiting), features.min_count).tolist(), strict=True))
    require(len(features.waiting) == len(waiting), "waiting names that differ")
    require(not features.waiting.keys() & features.numbers.keys(), "names that are known or wait")


def _read_keys(features: TemplateFeatures, n: int, content: Content) -> None:
    sizes = content.array("values_per_view", (len(features.views),), np.int64)
    strings = content.strings("values")
    require((sizes >= 0).all() and int(sizes.sum()) == len(strings), "values for every view")
    require((sizes < 2**VALUE_BITS).all(), "values that have room in a key")
    for v, end in enumerate(np.cumsum(sizes).tolist()):
        part = strings[end - sizes[v] : end]
        features.values[v] = {string: number for number, string in enumerate(part)}
        require(len(features.values[v]) == len(part), "values that differ")
    template = content.indices("key_templates", len(features.parsed), np.int16).astype(np.int64)
    require(len(template) >= n, "templates of all features")
    views = features.templates.views[template]
    flat = content.array("key_values", (int((views >= 0).sum()),), np.int32)
    values = np.zeros((len(template), PARTS), np.int32)
    values[views >= 0] = flat
    require(((flat >= 0) & (flat < sizes[views[views >= 0]])).all(), "values that exist")
    counts = _counts(content, len(template) - n, features.min_count)
    features.fill(template, values, np.concatenate([np.arange(n), -counts]))
    require(int((features.keys[:, 0] != 0).sum()) == len(template), "features that differ")


def _counts(content: Content, n: int, min_count: int) -> np.ndarray:
    counts = content.array("waiting_counts", (n,), np.int64)
    require(((counts > 0) & (counts <= min_count)).all(), "counts of features that wait")
    require(min_count > 1 or not n, "no feature that waits")
    return counts


def _read_weights(learner: ChainLearner, used: np.ndarray, content: Content) -> int:
    """Give the learner the weights of these features. Return how many there are."""
    weights, dtype = learner.weights, learner.dtype
    K = weights.n_labels
    per_feature = content.array("per_feature", used.shape, np.int32)
    require(((per_feature > 0) & (per_feature <= K)).all(), "weights for every feature, no more than labels")
    n = int(per_feature.sum())
    labels = content.indices("labels", K, np.uint8 if K <= 256 else np.int32, (n,))
    ascending = labels[1:] > labels[:-1]
    ascending[np.cumsum(per_feature)[:-1] - 1] = True  # between two features
    require(ascending.all(), "weights in order")
    w, late_w = content.array("w", (n,), dtype), content.array("late_w", (n,))
    for name in ("labels", "w", "late_w"):
        del content.arrays[name]  # they have been copied, as above
    weights.fill(used, per_feature.astype(np.int64), labels.astype(np.int32), w, late_w)
    weights.arcs = content.array("arcs", (K + 1, K + 1), dtype)
    weights.lazy_sum_arcs = content.array("late_arcs", (K + 1, K + 1))
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
