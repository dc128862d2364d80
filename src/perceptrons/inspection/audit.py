"""Finds features that share a hashed column, and features that were never updated."""

from typing import Any

import numpy as np

from perceptrons.engine.training.feature_names import ColumnNames
from perceptrons.engine.wording import count, in_percent, short
from perceptrons.inspection.names import name_of, names_in_files
from perceptrons.inspection.weights import Row, heaviest

MAX_HEAVY_WEIGHTS = 20  # per class, whose shared columns are pointed out
MAX_NAMES = 20  # of features that were never updated


def hashing_audit(model: Any, rows: list[Row], top: int) -> dict[str, Any] | None:
    """Return how features share columns, and the shared columns with the largest weights; None without hashing."""
    columns = getattr(model, "columns_", None)
    if columns is None or columns.bits is None or hasattr(model, "kernel"):
        return None
    weights = np.array([row.weights for row in rows])
    audit = {"bits": columns.bits, "signed": columns.signed, **columns.audit(weights, top)}
    features = ColumnNames(columns).called([entry["column"] for entry in audit["heaviest"]])
    for entry, shared in zip(audit["heaviest"], features, strict=True):
        entry |= {"names": shared.names, "signs": shared.signs}
    return audit


def hashing_in_words(audit: dict[str, Any]) -> str:
    """Return an audit as text, such as "7,291 features in 2^20 columns; 44 (0.6%) share a column with another"."""
    if not audit["features"]:
        return f"2^{audit['bits']} columns"
    more = "more than " if audit["forgot"] else ""
    text = f"{more}{count(audit['features'], 'feature')} in 2^{audit['bits']} columns"
    n_sharing = audit["features_sharing"]
    if not n_sharing:
        return text
    return f"{text}; {n_sharing:,} ({in_percent(n_sharing / audit['features'])}) share a column with another"


def shared_in_words(audit: dict[str, Any], rows: list[Row]) -> str:
    """Return whether the largest weights belong to one feature each, as text."""
    heavy = {place for row in rows for place in heaviest(row.weights, MAX_HEAVY_WEIGHTS)}
    shared = [entry for entry in audit["heaviest"] if entry["column"] in heavy]
    if not shared:
        return f"none of the {len(heavy)} largest weights belongs to a shared column"
    first = " and ".join(short(name, 20) for name in shared[0]["names"][:2])
    return f"{len(shared)} of the {len(heavy)} largest weights belong to shared columns, such as that of {first}"


def never_updated(model: Any) -> dict[str, Any] | None:
    """Return how many features were never updated, of how many, and some names; None for kernel models.

    With hashing, only columns with a known name count.
    """
    if hasattr(model, "kernel"):
        return None
    untouched, names = model.never_updated_, names_in_files(model)
    if isinstance(names, ColumnNames) and names.columns.bits is not None:
        used = np.unique(names.columns.columns)
        total, places = len(used), used[untouched[used]]
    else:
        total, places = len(untouched), np.flatnonzero(untouched)
    some = places[:MAX_NAMES].tolist()
    if isinstance(names, ColumnNames):
        labels = [features.names[0] for features in names.called(some)]
    else:
        labels = [name_of(names, column) for column in some]
    return {"count": len(places), "of": total, "features": labels}


def never_in_words(audit: dict[str, Any], thing: str = "feature") -> str:
    """Return the features that were never updated as text, such as "3 of 64 features (4.7%): column 1; column 33"."""
    share = in_percent(audit["count"] / max(1, audit["of"]))
    names = "; ".join(short(name, 28) for name in audit["features"][:5]) + "; ..." * (audit["count"] > 5)
    return f"{audit['count']:,} of {count(audit['of'], thing)} ({share}): {names}"
