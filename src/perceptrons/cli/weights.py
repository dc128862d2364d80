"""The weights of a model, class by class and by feature name: the largest ones tell most."""

from typing import TYPE_CHECKING, Any, NamedTuple

from perceptrons.cli.files import feature_names
from perceptrons.cli.screen import bar, grid, plain, signed

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from perceptrons import Perceptron


class Weight(NamedTuple):
    """One weight: of which feature, and its column counted from 0."""

    feature: str
    column: int
    weight: float


def class_weights(model: "Perceptron") -> "np.ndarray":
    """A row of weights for every class; of two classes the one is the other's opposite.

    Voting has no single weights: the averaged ones stand for it.
    """
    import numpy as np

    coef = model.coef_average_ if model.combine == "vote" else model.coef_
    if len(coef) == len(model.classes_):
        return coef
    return np.concatenate([-coef, coef])[-len(model.classes_) :]


def intercepts(model: "Perceptron") -> list[float]:
    b = (model.intercept_average_ if model.combine == "vote" else model.intercept_).tolist()
    return b if len(b) == len(model.classes_) else [-b[0], b[0]][-len(model.classes_) :]


def top(model: "Perceptron", row: "np.ndarray", n: int) -> list[Weight]:
    """The n weights farthest from 0, the farthest first; none that are 0."""
    import numpy as np

    names = feature_names(model)
    places = np.argsort(-np.abs(row), kind="stable")[:n]
    return [Weight(name_of(names, place), place, float(row[place])) for place in places.tolist() if row[place] != 0]


def name_of(names: list[str] | None, column: int) -> str:
    """How a feature is called: by its name, or by its column as files count them, from 1."""
    if names is None:
        return f"column {column + 1}"
    return f"column {names[column]}" if names[column].isdecimal() else names[column]


def top_by_class(model: "Perceptron", n: int, only: int | None = None) -> list[dict[str, Any]]:
    """The top weights of every class, or of one."""
    rows, b = class_weights(model), intercepts(model)
    return [
        {"class": label, "intercept": b[k], "weights": [weight._asdict() for weight in top(model, rows[k], n)]}
        for k, label in enumerate(model.classes_.tolist())
        if only in (None, k)
    ]


def one_class(model: "Perceptron", k: int, n: int, console: "Console") -> "Table":
    """A line per weight with a bar; for two classes a word on which class it speaks for."""
    labels = [plain(label) for label in model.classes_.tolist()]
    weights = top(model, class_weights(model)[k], n)
    table = grid(("feature", "left"), ("weight", "right"), ("", "left"), ("speaks", "left"))
    for weight in weights:
        speaks = f"for {labels[k]}" if weight.weight > 0 else f"against {labels[k]}"
        if len(labels) == 2:
            speaks = f"for {labels[k] if weight.weight > 0 else labels[1 - k]}"
        length = bar(abs(weight.weight / weights[0].weight), 16, console)
        table.row(plain(weight.feature, 32), signed(weight.weight), length, speaks)
    return table


def every_class(model: "Perceptron", n: int, at_most: int, console: "Console") -> "Table":
    """A line per class: its top weights, as many as fit."""
    rows = class_weights(model)
    lines = [(plain(label, 16), top(model, rows[k], n)) for k, label in enumerate(model.classes_.tolist()[:at_most])]
    room = console.width - max(len(label) for label, _ in lines)
    fitting = 0
    for place in range(n):  # a column pair needs its longest name, its longest weight and the gaps before them
        here = [weights[place] for _, weights in lines if place < len(weights)]
        room -= 4 + max((len(plain(weight.feature, 24)) for weight in here), default=0)
        room -= max((len(signed(weight.weight)) for weight in here), default=0)
        if not here or (room < 0 and fitting):
            break
        fitting += 1
    table = grid(("class", "left"), *[("", "left"), ("", "right")] * fitting)
    for label, weights in lines:
        cells: list[Any] = []
        for weight in weights[:fitting]:
            cells += [plain(weight.feature, 24), signed(weight.weight)]
        table.row(label, *cells)
    return table
