"""Features of a model that no update ever reached: nothing was learned about them."""

from typing import TYPE_CHECKING, Any

from perceptrons.cli.columns import ColumnNames, names_of
from perceptrons.cli.files import is_kernel
from perceptrons.cli.screen import percent, plain
from perceptrons.cli.weights import name_of

if TYPE_CHECKING:
    from perceptrons.cli.files import AnyModel

SHOWN = 20


def never_updated(model: "AnyModel") -> dict[str, Any] | None:
    """How many, of how many, and some by name; of hashed columns those that a name is known for. None: of a kernel."""
    import numpy as np

    if is_kernel(model):
        return None
    untouched, names = model.never_updated_, names_of(model)
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


def never_in_words(found: dict[str, Any]) -> str:
    """3 of 64 features (4.7%): column 1; column 33; column 40."""
    share = percent(found["count"] / max(1, found["of"]))
    names = "; ".join(plain(name) for name in found["features"][:5]) + "; ..." * (found["count"] > 5)
    return f"{found['count']:,} of {found['of']:,} features ({share}): {names}"
