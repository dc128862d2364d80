"""`train --trace N`: the first visits of the training, by `perceptrons.theory.trace`, with the names of the data."""

import copy
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.parameters import named_classes
from perceptrons.cli.screen import count, heading

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons.cli.files import AnyModel
    from perceptrons.data import Table
    from perceptrons.theory import Trace


def first_visits(model: "AnyModel", table: "Table", asked: Any) -> "Trace | None":
    """What the first visits of `model.fit` on a table are going to be; None if they were not asked for."""
    if asked.trace is None:
        return None
    from perceptrons.inspection.names import names_of_table
    from perceptrons.theory import trace

    if table.several:
        raise BadInputError("--trace is for one label per example, and the data have several: leave it out.")
    classes, like = named_classes(model, asked), copy.deepcopy(model)
    if classes is not None:
        like.set_params(classes=classes.tolist())
    with refusing(ValueError, TypeError, about="--trace"):
        found = trace(table.X, table.y, like, visits=asked.trace, sample_weight=table.weight)
    names = names_of_table(table)
    if names is not None:
        known = enumerate(names) if isinstance(names, list) else names.items()
        for column, name in known:
            found.names[column] = name
    if table.lines is not None:
        found.places = [f"line {line}" for line in table.lines.tolist()]
    return found


def show_visits(trace: "Trace", console: "Console") -> None:
    """The table for people."""
    console.print(heading(f"The first {count(len(trace), 'visit')}" if len(trace) > 1 else "The first visit"))
    console.print(str(trace), markup=False, highlight=False, no_wrap=True, crop=False, overflow="ignore")
