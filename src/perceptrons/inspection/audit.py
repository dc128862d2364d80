"""Finds features that share a hashed column, and features that were never updated."""

from typing import Any

import numpy as np

from perceptrons.engine.training.feature_names import ColumnNames
from perceptrons.engine.wording import count, in_percent, short
from perceptrons.inspection.names import name_of, names_in_files
from perceptrons.inspection.weights import Row, heaviest

HEAVY = 20  # weights of a class among which shared columns are pointed out
SHOWN = 20  # features that were never updated, by name


def hashing_audit(model: Any, rows: list[Row], top: int) -> dict[str, Any] | None:
    """How features share columns, and the heaviest columns that are shared; None if no weights are of hashed ones."""
    columns = getattr(model, "columns_", None)
    if columns is None or columns.bits is None or hasattr(model, "kernel"):
        return None
    weights = np.array([row.weights for row in rows])
    found = {"bits": columns.bits, "signed": columns.signed, **columns.audit(weights, top)}
    called = ColumnNames(columns).called([entry["column"] for entry in found["heaviest"]])
    for entry, one in zip(found["heaviest"], called, strict=True):
        entry |= {"names": one.names, "signs": one.signs}
    return found


def hashing_in_words(found: dict[str, Any]) -> str:
    """7,291 features in 2^20 columns; 44 (0.6%) share a column with another."""
    if not found["features"]:
        return f"2^{found['bits']} columns"
    most = "more than " if found["forgot"] else ""
    said = f"{most}{count(found['features'], 'feature')} in 2^{found['bits']} columns"
    sharing = found["features_sharing"]
    if not sharing:
        return said
    return f"{said}; {sharing:,} ({in_percent(sharing / found['features'])}) share a column with another"


def shared_in_words(found: dict[str, Any], rows: list[Row]) -> str:
    """Whether the heaviest weights are of one feature each."""
    heavy = {place for row in rows for place in heaviest(row.weights, HEAVY)}
    shared = [entry for entry in found["heaviest"] if entry["column"] in heavy]
    if not shared:
        return f"none of the {len(heavy)} largest weights belongs to a shared column"
    first = " and ".join(short(name, 20) for name in shared[0]["names"][:2])
    return f"{len(shared)} of the {len(heavy)} largest weights belong to shared columns, such as that of {first}"


def never_updated(model: Any) -> dict[str, Any] | None:
    """How many, of how many, and some by name; of hashed columns those that a name is known for. None: of a kernel."""
    if hasattr(model, "kernel"):
        return None
    untouched, names = model.never_updated_, names_in_files(model)
    if isinstance(names, ColumnNames) and names.columns.bits is not None:
        used = np.unique(names.columns.columns)
        total, places = len(used), used[untouched[used]]
    else:
        total, places = len(untouched), np.flatnonzero(untouched)
    some = places[:SHOWN].tolist()
    if isinstance(names, ColumnNames):
        called = [one.names[0] for one in names.called(some)]
    else:
        called = [name_of(names, column) for column in some]
    return {"count": len(places), "of": total, "features": called}


def never_in_words(found: dict[str, Any], thing: str = "feature") -> str:
    """3 of 64 features (4.7%): column 1; column 33; column 40. thing: what is counted; hashed columns may be shared."""
    share = in_percent(found["count"] / max(1, found["of"]))
    names = "; ".join(short(name, 28) for name in found["features"][:5]) + "; ..." * (found["count"] > 5)
    return f"{found['count']:,} of {count(found['of'], thing)} ({share}): {names}"
