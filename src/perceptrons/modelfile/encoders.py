"""What `OneHotEncoder` and `OrdinalEncoder` have learned: the categories of each column, and which are infrequent.

Everything that becomes an index when they transform is computed from the categories again, never read from a file.
"""

from typing import Any

import numpy as np

from perceptrons.modelfile.contents import demand
from perceptrons.modelfile.plain_values import ABSENT


def categories(value: Any, step: Any) -> bool:
    """Of every column a list of categories that differ: numbers in order, NaN last."""
    n = getattr(step, "n_features_in_", None)
    return isinstance(value, list) and len(value) == n and all(map(_differ, value))


def _differ(column: Any) -> bool:
    if not isinstance(column, np.ndarray) or column.ndim != 1 or not column.size:
        return False
    missing = _is_nan(column[-1])
    known = column[:-1] if missing else column
    if column.dtype.kind in "biuf":  # they are looked up by bisection
        return not np.isnan(known).any() and bool((known[1:] > known[:-1]).all())
    values = known.tolist()
    return column.dtype.kind in "OU" and not any(map(_is_nan, values)) and len(set(values)) == len(values)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(value != value)


def infrequent(value: Any, step: Any) -> bool:
    """Where infrequent categories were asked for: of every column their numbers, in order, or None."""
    asked = step.max_categories is not None or step.min_frequency is not None
    if value is ABSENT:
        return not asked
    return asked and isinstance(value, list) and len(value) == getattr(step, "n_features_in_", None) and all(
        part is None or (isinstance(part, np.ndarray) and part.dtype == np.int64 and part.ndim == 1 and part.size > 0)
        for part in value
    )  # fmt: skip


def plain_dtype(value: Any, step: Any) -> bool:
    """A type of numbers."""
    return np.dtype(value).kind in "biuf"


def _derive_groups(step: Any, missing: dict[int, int]) -> None:
    """Which group each category has: a frequent one its own, the others the last. missing: NaN, which has none."""
    step._check_infrequent_enabled()
    if not step._infrequent_enabled:
        return
    step._default_to_infrequent_mappings = []
    for column, rare in enumerate(step._infrequent_indices):
        n = len(step.categories_[column]) - (column in missing)
        groups = None
        if rare is not None:
            sound = rare[0] >= 0 and rare[-1] < n and bool((rare[1:] > rare[:-1]).all())
            demand(bool(sound), "infrequent categories that are there")
            frequent = np.setdiff1d(np.arange(n), rare)
            groups = np.full(n, len(frequent), np.int64)
            groups[frequent] = np.arange(len(frequent))
        step._default_to_infrequent_mappings.append(groups)


def derive_one_hot(step: Any) -> None:
    _derive_groups(step, {})
    step._set_drop_idx()
    step._n_features_outs = step._compute_n_features_outs()


def derive_ordinal(step: Any) -> None:
    last = [column[-1] for column in step.categories_]
    step._missing_indices = {k: len(step.categories_[k]) - 1 for k, value in enumerate(last) if _is_nan(value)}
    _derive_groups(step, step._missing_indices)
    unknown = step.unknown_value
    demand(
        (unknown is not None) == (step.handle_unknown == "use_encoded_value"), "a number for unknown values, if used"
    )
    kind = np.dtype(step.dtype)
    for value in (unknown, step.encoded_missing_value if step._missing_indices else None):
        if value is None or (kind.kind == "f" and _is_nan(value)):
            continue
        low, high = (-(2**63), 2**63) if kind.kind == "f" else (0, 1) if kind.kind == "b" else _range(kind)
        demand(low <= value <= high, f"numbers of type {kind} for unknown and missing values")


def _range(kind: np.dtype) -> tuple[int, int]:
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)
