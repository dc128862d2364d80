"""Estimators that hold others: `Pipeline`, `FeatureUnion`, `ColumnTransformer`, `CalibratedClassifierCV`.

`KNOWN` is the whole table of what a pipeline's file may hold beside the models of this library.
"""

import itertools
from collections.abc import Iterator
from string import Formatter
from types import SimpleNamespace
from typing import Any

import numpy as np

from perceptrons.modelfile.contents import demand
from perceptrons.modelfile.known_steps import (
    SEEN,
    STEPS,
    Step,
    is_flag,
    n_columns,
    number,
    optional,
    unchecked,
    validate,
)

OURS = ("Perceptron", "KernelPerceptron", "SequencePerceptron")
MOST_FOLDS = 10_000  # of a cross-validation


def children(held: Any) -> Iterator[tuple[str, Any]]:
    """The label and the estimator of whatever a parameter holds: one estimator, or a list with names."""
    for item in held if isinstance(held, list) else [held]:
        label, child = (f"step {item[0]!r}", item[1]) if isinstance(item, list | tuple) else ("", item)
        if child is not None and not isinstance(child, str):
            yield label, child


def width_of(step: Any) -> int | None:
    """How many columns a fitted transformer gives, if it is known."""
    known = KNOWN.get(type(step).__name__)
    return known.width(step) if known is not None else None


def _takes(step: Any) -> int | None:
    return getattr(step, "n_features_in_", None)


def _check_members(members: Any, size: int, words: tuple[Any, ...], last: bool = False) -> None:
    """Raise ValueError unless they have different names and are transformers, or words. last: it may be a model."""
    demand(isinstance(members, list), "a list of steps")
    demand(all(isinstance(item, list | tuple) and len(item) == size for item in members), "steps with names")
    names = [item[0] for item in members]
    demand(all(isinstance(name, str) and "__" not in name for name in names), "names of steps")
    demand(len(set(names)) == len(names), "names of steps that differ")
    for k, (name, step, *_) in enumerate(members):
        known = step in words if step is None or isinstance(step, str) else hasattr(step, "transform")
        model = last and k == len(members) - 1 and hasattr(step, "predict")
        demand(known or model, f"a transformer as step {name!r}")


def _check_pipeline(pipeline: Any) -> None:
    validate(pipeline)
    demand(len(pipeline.steps) > 0, "steps")
    _check_members(pipeline.steps, 2, (None, "passthrough"), last=True)


def _derive_pipeline(pipeline: Any) -> None:
    """Every step takes as many columns as the one before it gives."""
    width = None
    for label, step in children(pipeline.steps):
        takes = _takes(step)
        demand(None in (width, takes) or width == takes, f"{label} to take the {width} columns that come before it")
        width = width_of(step)


def _check_union(union: Any) -> None:
    _check_members(union.transformer_list, 2, ("drop", "passthrough"))


def _union_width(union: Any) -> int | None:
    return _total(width_of(step) for _, step in children(union.transformer_list))


def _total(widths: Any) -> int | None:
    known = list(widths)
    return None if None in known else sum(known)


def weights(value: Any, step: Any) -> bool:
    """Numbers by name."""
    return value is None or (
        isinstance(value, dict) and all(isinstance(key, str) and number()(item, step) for key, item in value.items())
    )


def naming(value: Any, step: Any) -> bool:
    """True, False, or a text in which the two names are put as they are: widths would fill memory."""
    if not isinstance(value, str):
        return isinstance(value, bool)
    known = (None, "transformer_name", "feature_name")
    return all(name in known and not how and not form for _, name, form, how in Formatter().parse(value))


def _check_columns(transformer: Any) -> None:
    validate(transformer)
    _check_members(transformer.transformers, 3, ("drop", "passthrough"))


def positions(columns: Any, n: int, names: list[str] | None) -> list[int]:
    """The numbers, from 0 to n - 1, of columns by name or number, as a slice or a mask."""
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):  # its end is among them
            first = 0 if columns.start is None else _named(columns.start, names)
            return list(range(n)[first : None if columns.stop is None else _named(columns.stop, names) + 1])
        return list(range(n)[columns])
    if hasattr(columns, "tolist"):
        columns = columns.tolist()
    items = list(columns) if isinstance(columns, list | tuple) else [columns]
    kinds = {type(item.item() if isinstance(item, np.generic) else item) for item in items}
    demand(not kinds or kinds in ({str}, {bool}, {int}), "columns by name or number, or a mask")
    if kinds == {str}:
        return [_named(name, names) for name in items]
    if kinds == {bool}:
        demand(len(items) == n, "a mask of as many columns as there are")
        return [k for k, chosen in enumerate(items) if chosen]
    demand(all(-n <= item < n for item in items), f"columns from 0 to {n - 1}")
    return [int(item) % n for item in items]


def _named(name: Any, names: list[str] | None) -> int:
    demand(names is not None and name in names, f"a column called {name!r}")
    assert names is not None
    return names.index(name)


def _take_columns(transformer: Any) -> dict[str, Any]:
    """What was fitted, by name, and how many columns each gives."""
    taken = {"n_features_in_": transformer.n_features_in_} if hasattr(transformer, "transformers_") else {}
    if taken:
        fitted = list(transformer._iter(fitted=True, column_as_labels=False, skip_drop=True, skip_empty_columns=True))
        taken["members"] = [(name, step) for name, step, *_ in fitted]
        slices = getattr(transformer, "output_indices_", {})
        taken["widths"] = [slices[name].stop - slices[name].start for name, _ in taken["members"]]
    if hasattr(transformer, "sparse_output_"):
        taken["sparse_output_"] = transformer.sparse_output_
    return taken


def _derive_columns(transformer: Any) -> None:
    """Which columns go where, from the parameters; scikit-learn's own methods fill in what it remembers of that."""
    members, widths = transformer.__dict__.pop("members"), transformer.__dict__.pop("widths")
    names, n = getattr(transformer, "feature_names_in_", None), transformer.n_features_in_
    names = None if names is None else names.tolist()
    transformer._columns = [columns for *_, columns in transformer.transformers]
    where = {name: positions(columns, n, names) for name, _, columns in transformer.transformers}
    transformer._transformer_to_input_indices = where
    transformer._validate_remainder(None)
    chosen = {
        name: columns
        for name, _, columns, _ in transformer._iter(
            fitted=False, column_as_labels=False, skip_drop=True, skip_empty_columns=True
        )
    }
    demand([name for name, _ in members] == list(chosen), "a fitted transformer for every choice of columns")
    for (name, step), width in zip(members, widths, strict=True):
        one = isinstance(chosen[name], str | int | np.integer)  # a column by itself, not a table of one
        demand(hasattr(step, "transform"), f"a transformer as step {name!r}")
        demand(one or _takes(step) in (None, len(where[name])), f"as many columns as step {name!r} takes")
        demand(width_of(step) in (None, width), f"as many columns as step {name!r} gives")
    transformer._update_fitted_transformers([step for _, step in members])
    demand(hasattr(transformer, "sparse_output_") == bool(members), "a kind of output where there is some")
    if members:
        transformer._record_output_indices([SimpleNamespace(shape=(0, width)) for width in widths])


def _is_widths(value: Any, step: Any) -> bool:
    return isinstance(value, list) and all(type(width) is int and 0 <= width <= 2**31 for width in value)


def _is_members(value: Any, step: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, tuple) and len(item) == 2 for item in value)


def innermost(model: Any) -> Any:
    """The model at the end of pipelines and frozen estimators."""
    while hasattr(model, "steps") or type(model).__name__ == "FrozenEstimator":
        model = model.steps[-1][1] if hasattr(model, "steps") else model.estimator
    return model


def _check_frozen(frozen: Any) -> None:
    demand(type(innermost(frozen)).__name__ in OURS, f"a {' or a '.join(OURS)} inside a FrozenEstimator")


def _take_calibrated(model: Any) -> dict[str, Any]:
    """What was fitted. A pair that shares the estimator that was given, as one that was frozen, does not repeat it."""
    names = ("classes_", "calibrated_classifiers_", "n_features_in_")
    taken = {name: getattr(model, name) for name in names if hasattr(model, name)}
    taken["calibrated_classifiers_"] = [
        type(pair)(
            None if pair.estimator is model.estimator else pair.estimator,
            pair.calibrators,
            classes=pair.classes,
            method=pair.method,
        )
        for pair in taken.get("calibrated_classifiers_", ())
    ]
    return taken


def _derive_calibrated(model: Any) -> None:
    """Every pair has a model of ours, whose classes are among those of all, and as many calibrators as it needs."""
    labels = model.classes_.tolist()
    for pair in model.calibrated_classifiers_:
        if pair.estimator is None:
            pair.estimator = model.estimator
        demand(type(innermost(pair.estimator)).__name__ in OURS, f"a {' or a '.join(OURS)} that is calibrated")
        demand(hasattr(pair.estimator, "classes_"), "a fitted model that is calibrated")
        own = pair.estimator.classes_.tolist()
        if model.method == "temperature":  # strings have become numbers
            demand(len(own) == len(labels), "as many classes as are calibrated")
        else:
            demand(set(own) <= set(labels) and (len(own) == 2 or len(labels) > 2), "classes that are calibrated")
        demand(pair.classes.tolist() == labels and pair.method == model.method, "calibrators of the same classes")
        needed = 1 if len(own) == 2 or model.method == "temperature" else len(own)
        kinds = {type(calibrator).__name__ for calibrator in pair.calibrators}
        demand(len(pair.calibrators) == needed and kinds == {CALIBRATORS[model.method]}, "a calibrator for every class")


def classes(value: Any, step: Any) -> bool:
    """Labels in order that differ."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "biufUO":
        return False
    labels = value.tolist()
    plain = all(isinstance(label, str) for label in labels) or all(isinstance(label, int | float) for label in labels)
    return plain and len(labels) > 1 and all(low < high for low, high in itertools.pairwise(labels))


def _is_pairs(value: Any, step: Any) -> bool:
    pairs = isinstance(value, list) and 0 < len(value) <= MOST_FOLDS
    return pairs and all(type(pair).__name__ == "_CalibratedClassifier" for pair in value)


def _shares(model: Any) -> tuple[str, ...]:
    """Is the estimator that was given the one that is calibrated? Then it is fitted."""
    pairs = getattr(model, "calibrated_classifiers_", ())
    return ("estimator",) if any(pair.estimator is model.estimator for pair in pairs) else ()


def _make_pair(estimator: Any, calibrators: Any, classes: Any, method: Any) -> Any:
    from sklearn.calibration import _CalibratedClassifier

    demand(
        isinstance(calibrators, list) and isinstance(classes, np.ndarray) and isinstance(method, str), "a calibrator"
    )
    return _CalibratedClassifier(estimator, calibrators, classes=classes, method=method)


def _is_cv(value: Any, step: Any) -> bool:
    return value in (None, "prefit") or (type(value) is int and 2 <= value <= MOST_FOLDS)


def _thresholds(low: float, high: float) -> Any:
    def check(value: Any, step: Any) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.ndim != 1 or not value.size:
            return False
        return bool(np.isfinite(value).all() and (value >= low).all() and (value <= high).all())

    return check


def _derive_isotonic(step: Any) -> None:
    X, y = step.X_thresholds_, step.y_thresholds_
    demand(X.shape == y.shape and X.dtype == y.dtype and bool((X[1:] > X[:-1]).all()), "thresholds in order")
    step.X_min_, step.X_max_, step.increasing_ = X[0], X[-1], True
    step._build_f(X, y)


def only(wanted: Any) -> Any:
    return lambda value, step: type(value) is type(wanted) and value == wanted


CALIBRATORS = {"sigmoid": "_SigmoidCalibration", "isotonic": "IsotonicRegression", "temperature": "_TemperatureScaling"}
CALIBRATION = "sklearn.calibration"
KNOWN: dict[str, Step] = STEPS | {
    "Pipeline": Step(
        "sklearn.pipeline", limits={"memory": only(None)}, derive=_derive_pipeline, check=_check_pipeline,
        holds=("steps",), learned=lambda step: ("steps",),
        width=lambda step: width_of(step.steps[-1][1]) if len(list(children(step.steps[-1:]))) else None,
    ),
    "FeatureUnion": Step(
        "sklearn.pipeline", limits={"transformer_weights": weights}, check=_check_union, holds=("transformer_list",),
        derived=("_transformers_feature_names_out",),
        learned=lambda step: ("transformer_list",), width=_union_width,
    ),
    "ColumnTransformer": Step(
        "sklearn.compose",
        SEEN | {"members": _is_members, "widths": _is_widths, "sparse_output_": optional(is_flag)},
        {"transformer_weights": weights, "verbose_feature_names_out": naming},
        derived=("_columns", "_transformer_to_input_indices", "_remainder", "transformers_", "output_indices_",
                 "_transformers_feature_names_out"),
        derive=_derive_columns, take=_take_columns, check=_check_columns, holds=("transformers", "remainder"),
        width=lambda step: max((part.stop for part in getattr(step, "output_indices_", {}).values()), default=0),
    ),
    "FrozenEstimator": Step(
        "sklearn.frozen", check=_check_frozen, holds=("estimator",), learned=lambda step: ("estimator",),
    ),
    "CalibratedClassifierCV": Step(
        CALIBRATION,
        {"classes_": classes, "calibrated_classifiers_": _is_pairs, "n_features_in_": optional(n_columns)},
        {"cv": _is_cv}, derive=_derive_calibrated, take=_take_calibrated, holds=("estimator",), learned=_shares,
    ),
    "_CalibratedClassifier": Step(
        CALIBRATION, take=lambda pair: dict(vars(pair)), build=_make_pair, check=unchecked, part=True,
    ),
    "_SigmoidCalibration": Step(CALIBRATION, {"a_": number(), "b_": number()}, check=unchecked, part=True),
    "_TemperatureScaling": Step(CALIBRATION, {"beta_": number(above=0)}, check=unchecked, part=True),
    "IsotonicRegression": Step(
        "sklearn.isotonic", {"X_thresholds_": _thresholds(-np.inf, np.inf), "y_thresholds_": _thresholds(0, 1)},
        {"y_min": only(None), "y_max": only(None), "increasing": only(True), "out_of_bounds": only("clip")},
        derived=("X_min_", "X_max_", "increasing_", "f_"), derive=_derive_isotonic, part=True,
    ),
}  # fmt: skip
