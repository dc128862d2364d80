"""The weights of a model, row by row and by feature name, or its coefficients by example: the largest tell most."""

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from perceptrons.cli.columns import ColumnNames, FromZero, names_of
from perceptrons.cli.files import is_kernel, several_labels
from perceptrons.cli.screen import bar, count, grid, plain, signed

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from perceptrons import Perceptron
    from perceptrons.cli.files import AnyModel


Names = list[str] | ColumnNames | FromZero | None


class Weight(NamedTuple):
    """One weight: of which feature, and its column counted from 0; others: features that share the column."""

    feature: str
    column: int
    weight: float
    others: tuple[str, ...] = ()

    def shown(self, at_most: int) -> str:
        more = f" +{len(self.others)} more" if self.others else ""
        return plain(self.feature, at_most - len(more)) + more

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if name != "others" or value}


class Row(NamedTuple):
    """A row of weights of a class, or of a pair of them; positive ones speak for the (last) one that it names."""

    classes: tuple[Any, ...]
    other: Any  # the class that negative weights speak for; None where they speak for all others
    weights: "np.ndarray"
    bias: float

    @property
    def thing(self) -> str:
        return "class" if len(self.classes) == 1 else "pair"

    def title(self, at_most: int = 28) -> str:
        return " vs ".join(plain(label, at_most) for label in self.classes)

    def is_about(self, label: str) -> bool:
        """Is this the row, or one of the rows, that a user means?"""
        names = [str(known) for known in self.classes]
        return label in names or label == " vs ".join(names)


def rows_of(model: "AnyModel", mirrored: bool = True) -> list[Row]:
    """The rows of weights: one a class, or a pair if classes were learned one against one.

    Two classes have one row, the second one's; the first one's is its opposite, and there if `mirrored`.
    Voting has no single weights: the averaged ones stand for it. Of a kernel model, coefficients are the weights.
    """
    voting = model.combine == "vote"
    if is_kernel(model):
        coef = model.dual_coef_average_ if voting else model.dual_coef_
        b = [0.0] * len(coef)
    else:
        coef = model.coef_average_ if voting else model.coef_
        b = (model.intercept_average_ if voting else model.intercept_).tolist()
    classes = model.classes_.tolist()
    if len(classes) == 2 and not several_labels(model):
        first, second = classes
        rows = [Row((first,), second, -coef[0], -b[0]), Row((second,), first, coef[0], b[0])]
        return rows if mirrored else rows[1:]
    if len(classes) > 2 and model.multiclass == "ovo" and not several_labels(model):
        duels = combinations(classes, 2)
        return [Row(duel, duel[0], *row) for duel, *row in zip(duels, coef, b, strict=True)]
    return [Row((label,), None, *row) for label, *row in zip(classes, coef, b, strict=True)]


def top(row: Row, names: Names, n: int) -> list[Weight]:
    """The n weights farthest from 0, the farthest first; none that are 0."""
    places = heaviest(row.weights, n)
    if isinstance(names, ColumnNames):  # a feature may count negatively in its column: its weight is the opposite then
        return [
            Weight(called.names[0], place, called.signs[0] * float(row.weights[place]), tuple(called.names[1:]))
            for place, called in zip(places, names.called(places), strict=True)
        ]
    return [Weight(name_of(names, place), place, float(row.weights[place])) for place in places]


def heaviest(weights: "np.ndarray", n: int) -> list[int]:
    """The places of the n numbers farthest from 0, the farthest first; none that are 0."""
    import numpy as np

    sizes = np.abs(weights)
    places = np.flatnonzero(sizes)
    if len(places) > n:
        least = np.partition(sizes[places], -n)[-n]
        places = places[sizes[places] >= least]
    return places[np.argsort(-sizes[places], kind="stable")][:n].tolist()


def name_of(names: list[str] | FromZero | None, column: int) -> str:
    """How a feature is called: by its name, or by its column as files count them, from 1."""
    if names is None:
        return f"column {column + 1}"
    name = names[column]
    return f"column {name}" if name.isdecimal() else name


def top_by_row(model: "Perceptron", rows: list[Row], n: int) -> list[dict[str, Any]]:
    """The top weights of every row, for machines."""
    names = names_of(model)
    return [
        {
            row.thing: row.classes[0] if row.thing == "class" else list(row.classes),
            "intercept": row.bias,
            "weights": [weight.as_json() for weight in top(row, names, n)],
        }
        for row in rows
    ]


def show_rows(
    rows: list[Row],
    names: Names,
    n: int,
    at_most: int,
    console: "Console",
    titles: tuple[str, str] = ("feature", "weight"),
    where_more: str = "",
) -> None:
    """The top weights for people: of one row with bars, of several a line for each. names: what they are of."""
    tops = [top(row, names, n) for row in rows[:at_most]]
    console.print(_bars(rows[0], tops[0], titles, console) if len(rows) == 1 else _lines(rows, tops, console))
    if len(rows) > at_most:
        thing = rows[0].thing
        more = count(len(rows) - at_most, thing, {"class": "classes"}.get(thing))
        console.print(f"and {more} more{where_more}", style="dim")


def _bars(row: Row, weights: list[Weight], titles: tuple[str, str], console: "Console") -> "Table":
    """A line per weight with a bar and a word on which class it speaks for."""
    positive = plain(row.classes[-1])
    negative = f"against {positive}" if row.other is None else f"for {plain(row.other)}"
    table = grid((titles[0], "left"), (titles[1], "right"), ("", "left"), ("speaks", "left"))
    for weight in weights:
        speaks = f"for {positive}" if weight.weight > 0 else negative
        length = bar(abs(weight.weight / weights[0].weight), 16, console)
        table.row(weight.shown(32), signed(weight.weight), length, speaks)
    return table


def _lines(rows: list[Row], tops: list[list[Weight]], console: "Console") -> "Table":
    """A line per row: its top weights, as many as fit."""
    lines = [(row.title(16), weights) for row, weights in zip(rows, tops, strict=False)]  # rows beyond are left out
    room = console.width - max(len(title) for title, _ in lines)
    fitting = 0
    for place in range(max(len(weights) for weights in tops)):
        # a column pair needs its longest name, its longest weight and the gaps before them
        here = [weights[place] for weights in tops if place < len(weights)]
        room -= 4 + max(len(weight.shown(24)) for weight in here)
        room -= max(len(signed(weight.weight)) for weight in here)
        if room < 0 and fitting:
            break
        fitting += 1
    table = grid((rows[0].thing, "left"), *[("", "left"), ("", "right")] * fitting)
    for title, weights in lines:
        cells: list[Any] = []
        for weight in weights[:fitting]:
            cells += [weight.shown(24), signed(weight.weight)]
        table.row(title, *cells)
    return table
