"""The transformers that a pipeline's file may hold: a table of what each has learned, and what must be true of it.

To add a class, add a line to `STEPS`: its module, its fitted attributes with a check each. Its parameters are found by
scikit-learn's `get_params`. A check is given the value (or `ABSENT`) and the estimator; it is made when a file is
written and again when it is read. Classes that hold other estimators are in `nested_steps.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perceptrons.features import Columns
from perceptrons.features.from_memory import check_recipe
from perceptrons.modelfile.contents import demand
from perceptrons.modelfile.encoders import (
    categories,
    derive_one_hot,
    derive_ordinal,
    infrequent,
    plain_dtype,
)
from perceptrons.modelfile.plain_values import ABSENT
from perceptrons.training.memory import check_claim

Check = Callable[[Any, Any], bool]  # of a value, and the estimator that has it
PREPROCESSING, FEATURES = "sklearn.preprocessing", "perceptrons.features"
WIDEST = 2**31  # columns
HIGHEST_DEGREE = 1000
VALUE = 8  # bytes of a value in a row


def validate(estimator: Any) -> None:
    """Raise an error for parameters outside the domains that scikit-learn states."""
    estimator._validate_params()


@dataclass(frozen=True)
class Step:
    """How a class is written to a file and read again."""

    module: str  # where it is imported from, by its name
    fitted: dict[str, Check] = field(default_factory=dict)  # attributes, and what must be true of each
    limits: dict[str, Check] = field(default_factory=dict)  # the same of parameters, beside what `check` asks for
    derived: tuple[str, ...] = ()  # attributes that are not written, since `derive` finds them in the others
    derive: Callable[[Any], None] | None = None  # sets them; raises ValueError for what cannot have been learned
    take: Callable[[Any], dict[str, Any]] | None = None  # what is written instead of the attributes themselves
    build: Callable[..., Any] | None = None  # makes the object of what `take` gave, if its class does not
    check: Callable[[Any], None] = validate  # of all parameters
    holds: tuple[str, ...] = ()  # parameters with other estimators in them
    learned: Callable[[Any], tuple[str, ...]] = lambda step: ()  # those of them whose estimators are fitted with it
    width: Callable[[Any], int | None] = lambda step: None  # number of columns that it gives, if it is known
    part: bool = False  # is it never a step by itself?


def optional(check: Check) -> Check:
    return lambda value, step: value is ABSENT or check(value, step)


def if_parameter(name: str, check: Check) -> Check:
    """Where a parameter is true, the check must hold; otherwise the attribute may be None, or absent."""
    return lambda value, step: check(value, step) or (not getattr(step, name) and (value is None or value is ABSENT))


def n_columns(value: Any, step: Any) -> bool:
    """How many columns an estimator takes: no more than 32 bits can number, nor names than memory may have."""
    if type(value) is not int or not 0 < value <= WIDEST:
        return False
    check_claim(VALUE * value, 0, f"A {type(step).__name__} of {value:,} columns")
    return True


def column_names(value: Any, step: Any) -> bool:
    """One string for every column."""
    if not isinstance(value, np.ndarray) or value.dtype != object:
        return False
    return value.shape == (getattr(step, "n_features_in_", None),) and all(isinstance(name, str) for name in value)


def is_output(value: Any) -> bool:
    """May set_output have been told this?"""
    known = (None, "default", "pandas", "polars")
    return isinstance(value, dict) and set(value) <= {"transform"} and all(kind in known for kind in value.values())


def floats(low: float = -np.inf, above: float = -np.inf) -> Check:
    """One finite number for every column, at least `low` and above `above`."""

    def check(value: Any, step: Any) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            return False
        sound = value.shape == (getattr(step, "n_features_in_", None),) and np.isfinite(value).all()
        return bool(sound and (value >= low).all() and (value > above).all())

    return check


def number(low: float = -np.inf, above: float = -np.inf) -> Check:
    """One finite number."""

    def check(value: Any, step: Any) -> bool:
        plain = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        return plain and bool(np.isfinite(float(value)) and value >= low and value > above)

    return check


def examples_seen(value: Any, step: Any) -> bool:
    """A count, or one for every column where values were missing."""
    if not isinstance(value, np.ndarray):
        return number(low=0)(value, step)
    sound = value.dtype.kind in "if" and value.shape == (step.n_features_in_,)
    return bool(sound and np.isfinite(value).all() and (value >= 0).all())


def is_flag(value: Any, step: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def nothing(value: Any, step: Any) -> bool:
    return value is None


def is_range(value: Any, step: Any) -> bool:
    """Two numbers, the smaller first."""
    return isinstance(value, tuple) and len(value) == 2 and all(number()(end, step) for end in value) and (
        value[0] < value[1]
    )  # fmt: skip


def statistics(value: Any, step: Any) -> bool:
    """What to put for missing values, one for every column; NaN for a column that is left out."""
    if not isinstance(value, np.ndarray) or value.shape != (getattr(step, "n_features_in_", None),):
        return False
    return value.dtype.kind in "iufO" and all(
        item is None or isinstance(item, str | int | float) for item in _items(value)
    )


def _items(array: np.ndarray) -> list[Any]:
    """The items of an array as Python's own."""
    return [item.item() if isinstance(item, np.generic) else item for item in array.tolist()]


def _kept(step: Any) -> list[Any]:
    """The statistics of the columns that an imputer gives: all, or those that are not NaN."""
    return [item for item in _items(step.statistics_) if step.keep_empty_features or item == item]


def _derive_imputer(step: Any) -> None:
    step._fill_dtype = step._fit_dtype
    kept = np.array(_kept(step), object)
    if step._fit_dtype.kind != "O":
        demand(all(isinstance(item, int | float) for item in kept), "numbers to fill columns of numbers with")
        demand(bool((np.abs(kept.astype(float)) <= _largest(step._fit_dtype)).all()), "numbers that fit the columns")
    indicator = step.indicator_
    demand((indicator is not None) == bool(step.add_indicator), "an indicator where it was asked for, and only there")
    if indicator is not None:
        demand(type(indicator).__name__ == "MissingIndicator" and indicator._precomputed, "an indicator of an imputer")
        demand(indicator.n_features_in_ == step.n_features_in_, "an indicator of the same columns")


def _largest(kind: np.dtype) -> float:
    return float(np.iinfo(kind).max if kind.kind in "iu" else np.finfo(kind).max)


def _imputed(step: Any) -> int:
    return len(_kept(step)) + (0 if step.indicator_ is None else step.indicator_.features_.size)


def places(value: Any, step: Any) -> bool:
    """Columns by number, each once and in order."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "i" or value.ndim != 1:
        return False
    ascending = bool((value[1:] > value[:-1]).all())
    return ascending and (not value.size or (value[0] >= 0 and bool(value[-1] < step.n_features_in_)))


def _derive_indicator(step: Any) -> None:
    step._n_features = step.n_features_in_
    all_of_them = np.arange(step.n_features_in_).tolist() == step.features_.tolist()
    demand(step.features == "missing-only" or all_of_them, "all columns where all are asked for")


def is_degree(value: Any, step: Any) -> bool:
    least, most = value if isinstance(value, list | tuple) and len(value) == 2 else (0, value)
    whole = all(isinstance(end, int | np.integer) for end in (least, most))
    return whole and 0 <= least <= most <= HIGHEST_DEGREE and (most > 0 or bool(step.include_bias))


def _derive_polynomial(step: Any) -> None:
    least, most = step.degree if isinstance(step.degree, list | tuple) else (0, step.degree)
    step._min_degree, step._max_degree = least, most

    def terms(degree: int) -> int:
        return step._num_combinations(step.n_features_in_, degree, most, step.interaction_only, step.include_bias)

    step.n_output_features_, step._n_out_full = terms(least), terms(0)
    demand(step._n_out_full < 2**63, "fewer terms than 64 bits can count")
    check_claim(VALUE * step._n_out_full, 0, f"A PolynomialFeatures of {step._n_out_full:,} columns")


def is_kind(*names: str) -> Check:
    """Is the value an object of one of these classes, or None?"""
    return lambda value, step: value is None or type(value).__name__ in names


def _derive_hashed(step: Any) -> None:
    columns = getattr(step, "columns_", None)
    demand(columns is not None or step.bits is not None, "the names of columns")
    if columns is not None:
        alike = (columns.bits, columns.signed, columns.seed) == (step.bits, bool(step.signed), step.seed)
        demand(alike and columns.frozen, "names of columns that fit the parameters")


def _take_columns(columns: Columns) -> dict[str, Any]:
    options, arrays = columns.state()
    return {"options": options, "arrays": arrays}


def _is_recipe(value: Any, step: Any) -> bool:
    """Is it how a table is read?"""
    check_recipe(value)
    return isinstance(value.get("numbers"), list) and value["format"] in ("frame", "records")


def _are_texts(value: Any, step: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _derive_table(step: Any) -> None:
    demand(step.columns_ is not None and (step.columns_.bits or 0) == step.source_["hash_bits"], "the columns")
    step.columns_ = step.columns_.as_frozen()


def _check_own(step: Any) -> None:
    """Raise ValueError for parameters of ours that are out of their domains."""
    step._check()


def unchecked(step: Any) -> None:
    """There are no parameters."""


def same_width(step: Any) -> int | None:
    return getattr(step, "n_features_in_", None)


SEEN: dict[str, Check] = {"n_features_in_": n_columns}
COMMON: dict[str, Check] = {"feature_names_in_": optional(column_names)}
LIMITS: dict[str, Check] = {
    "n_jobs": lambda value, step: value is None or (type(value) is int and 0 < abs(value) <= 128)
}  # processes
_NAMING = Step(
    FEATURES, {"columns_": optional(is_kind("Columns"))}, derive=_derive_hashed, check=_check_own,
    width=lambda step: step.columns_.n_columns if step.bits is None else 2**step.bits,
)  # fmt: skip
STEPS: dict[str, Step] = {
    "StandardScaler": Step(
        PREPROCESSING,
        SEEN
        | {"mean_": if_parameter("with_mean", floats()), "var_": if_parameter("with_std", floats(low=0))}
        | {"scale_": if_parameter("with_std", floats(above=0)), "n_samples_seen_": examples_seen},
        width=same_width,
    ),
    "MaxAbsScaler": Step(
        PREPROCESSING,
        SEEN | {"max_abs_": floats(low=0), "scale_": floats(above=0), "n_samples_seen_": examples_seen},
        width=same_width,
    ),
    "MinMaxScaler": Step(
        PREPROCESSING,
        SEEN
        | dict.fromkeys(("scale_", "min_", "data_min_", "data_max_", "data_range_"), floats())
        | {"n_samples_seen_": examples_seen},
        {"feature_range": is_range},
        width=same_width,
    ),
    "Normalizer": Step(PREPROCESSING, SEEN, width=same_width),
    "PolynomialFeatures": Step(
        PREPROCESSING, SEEN, {"degree": is_degree},
        derived=("_min_degree", "_max_degree", "n_output_features_", "_n_out_full"),
        derive=_derive_polynomial, width=lambda step: step.n_output_features_,
    ),
    "FunctionTransformer": Step(
        PREPROCESSING, SEEN, dict.fromkeys(("func", "inverse_func", "kw_args", "inv_kw_args"), nothing),
        width=same_width,
    ),
    "OneHotEncoder": Step(
        PREPROCESSING, SEEN | {"categories_": categories, "_infrequent_indices": infrequent}, {"dtype": plain_dtype},
        derived=("_infrequent_enabled", "_default_to_infrequent_mappings", "_drop_idx_after_grouping", "drop_idx_",
                 "_n_features_outs"),
        derive=derive_one_hot, width=lambda step: sum(step._n_features_outs),
    ),
    "OrdinalEncoder": Step(
        PREPROCESSING, SEEN | {"categories_": categories, "_infrequent_indices": infrequent}, {"dtype": plain_dtype},
        derived=("_infrequent_enabled", "_default_to_infrequent_mappings", "_missing_indices"),
        derive=derive_ordinal, width=same_width,
    ),
    "SimpleImputer": Step(
        "sklearn.impute",
        SEEN | {"statistics_": statistics, "_fit_dtype": lambda value, step: isinstance(value, np.dtype)
                and value.kind in "iufO", "indicator_": is_kind("MissingIndicator")},
        derived=("_fill_dtype",), derive=_derive_imputer, width=_imputed,
    ),
    "MissingIndicator": Step(
        "sklearn.impute", SEEN | {"features_": places, "_precomputed": is_flag}, derived=("_n_features",),
        derive=_derive_indicator, width=lambda step: step.features_.size,
    ),
    "TfidfTransformer": Step(
        "sklearn.feature_extraction.text", SEEN | {"idf_": if_parameter("use_idf", floats(low=0))}, width=same_width,
    ),
    "HashedText": _NAMING,
    "HashedFeatures": _NAMING,
    "TableFeatures": Step(
        FEATURES,
        SEEN | {"columns_": is_kind("Columns"), "source_": _is_recipe, "left_out_": _are_texts},
        derive=_derive_table, check=_check_own, holds=("text",), width=lambda step: step.columns_.n_columns,
    ),
    "Columns": Step(
        FEATURES, take=_take_columns, build=Columns.from_state, check=unchecked, part=True,
    ),
}  # fmt: skip
