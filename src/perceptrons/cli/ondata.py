"""What data say about a model, for `perceptrons inspect --data`: scales of features, shares of votes, one example."""

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perceptrons.cli.columns import names_of
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import columns_matched, is_kernel
from perceptrons.cli.inputs import blocks_of, opened
from perceptrons.cli.screen import bar, count, grid, heading, percent, plain, signed
from perceptrons.cli.support import support_names
from perceptrons.cli.weights import Row, name_of, rows_of, top

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from perceptrons.cli.files import AnyModel
    from perceptrons.data.reader import Reader
    from perceptrons.inspection.explanation import Explanation

SAMPLE = 2**16  # examples that are looked at
BINS = 10  # of the histogram of shares


class Found(NamedTuple):
    """What data say: parts are None where they do not belong to the model, or were not asked for."""

    path: Path
    examples: int
    more: bool  # are there more than were looked at?
    scales: "Scales"
    shares: "np.ndarray | None"  # of every example the share of the votes that its winner has
    example: "Explanation | None"
    number: int | None  # of the example, from 1, and its line
    line: int | None

    def as_json(self, n: int) -> dict[str, Any]:
        example = None if self.example is None else {"number": self.number, "line": self.line, **self.example.to_dict()}
        votes = None
        if self.shares is not None:
            mean = float(self.shares.mean())
            votes = {"mean_of_winner": mean, "histogram_of_winner": histogram(self.shares).tolist()}
        return {
            "data": str(self.path), "examples": self.examples, "more_examples": self.more,
            "scales": self.scales.as_json(n), "votes": votes, "example": example,
        }  # fmt: skip


class Scales(NamedTuple):
    """The scales of the features, and of a linear model the weights, row by row, times the deviations."""

    scaler: str | None  # to advise, if the features differ widely in scale
    largest: "np.ndarray"  # by size, of each feature
    deviations: "np.ndarray"
    rows: list[Row]  # of weights; none of a kernel model
    names: Any

    def extremes(self) -> list[tuple[str, float]]:
        """The features of the largest and the smallest values, and how large these get."""
        import numpy as np

        there = np.flatnonzero(self.largest)
        if not len(there):
            return []
        ends = there[[self.largest[there].argmax(), self.largest[there].argmin()]].tolist()
        return [(self.called(column), float(self.largest[column])) for column in ends]

    def called(self, column: int) -> str:
        if hasattr(self.names, "called"):
            return self.names.called([column])[0].names[0]
        return name_of(self.names, column)

    def heaviest(self, n: int) -> list[dict[str, Any]]:
        """The features of the largest weight × deviation in any row, the largest first, with the row it is in."""
        import numpy as np

        if not self.rows:
            return []
        weights = np.array([row.weights for row in self.rows], dtype=np.float64)
        which = np.abs(weights).argmax(axis=0)
        usual = weights[which, np.arange(weights.shape[1])] * self.deviations
        found = []
        for one in top(Row(("",), None, usual, 0.0), self.names, n):
            row, deviation = self.rows[which[one.column]], float(self.deviations[one.column])
            found.append(
                {
                    "feature": one.feature, "column": one.column,
                    row.thing: row.classes[0] if row.thing == "class" else list(row.classes),
                    "weight": one.weight / deviation, "deviation": deviation, "weight_times_deviation": one.weight,
                }
            )  # fmt: skip
        return found

    def as_json(self, n: int) -> dict[str, Any]:
        ends = [{"feature": name, "largest_value": value} for name, value in self.extremes()]
        return {"uneven": self.scaler is not None, "extremes": ends, "weights": self.heaviest(n)}


def look_at(model: "AnyModel", data: list[Path], asked: Any) -> Found:
    """Read data and ask what they say."""
    from perceptrons.theory.scales import largest_values, scaler_for, scales

    number = asked.example
    X, line, one, more = _sample(model, opened(data, asked, like=model, need_labels=False), number)
    with refusing(ValueError):
        scaler, deviations = scaler_for(X, model), scales(X).deviations
    shares = None
    if model.combine == "vote":
        with columns_matched():
            shares = model.vote_shares(X).max(axis=1)
    explanation = None
    if one is not None:
        with refusing(ValueError):
            explanation = named(model, model.explain(one))
    rows = [] if is_kernel(model) else rows_of(model, mirrored=False)
    found = Scales(scaler, largest_values(X), deviations, rows, names_of(model))
    return Found(data[0], X.shape[0], more, found, shares, explanation, number, line)


def _sample(model: "AnyModel", reader: "Reader", number: int | None) -> tuple[Any, int | None, Any, bool]:
    """The first examples, then the line of the one asked for, and it; are there more?"""
    import numpy as np
    import scipy.sparse as sp

    from perceptrons.training.matrices import widened

    parts: list[Any] = []
    one, line, seen = None, None, 0
    for block in blocks_of(reader):
        X = widened(block.X, model.n_features_in_)
        if seen < SAMPLE:
            parts.append(X[: SAMPLE - seen])
        n = X.shape[0]
        if number is not None and seen < number <= seen + n:
            place = number - seen - 1
            one, line = X[[place]], None if block.lines is None else int(block.lines[place])
        seen += n
        if seen > SAMPLE and (number is None or one is not None):
            break
    if not seen:
        raise BadInputError(f"{reader.files[0]}: there is no example in it: give a line for each.")
    if number is not None and one is None:
        raise BadInputError(f"--example {number}: {reader.files[0]} has only {count(seen, 'example')}.")
    joined = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
    return joined, line, one, seen > SAMPLE


def named(model: "AnyModel", explanation: "Explanation") -> "Explanation":
    """Features, or support examples, called as commands do: by numbers from 1 where they have no names."""
    names = support_names(model) if is_kernel(model) else names_of(model)
    if hasattr(names, "called"):
        return explanation
    return replace(explanation, features=tuple(name_of(names, column) for column in explanation.columns.tolist()))


def histogram(shares: "np.ndarray") -> "np.ndarray":
    """How many shares there are in each tenth of 0 to 1."""
    import numpy as np

    return np.bincount(np.minimum((shares * BINS + 1e-9).astype(np.intp), BINS - 1), minlength=BINS)


def show_found(found: Found, model: "AnyModel", n: int, console: "Console") -> None:
    """All of it for people."""
    first = "the first " if found.more else ""
    console.print(heading(f"On {first}{count(found.examples, 'example')} of {found.path}"))
    show_scales(found.scales, model, n, console)
    if found.shares is not None:
        show_votes(found.shares, console)
    if found.example is not None:
        where = "" if found.line is None else f" (line {found.line:,})"
        console.print(heading(f"Example {found.number:,}{where}"))
        console.print(str(found.example), markup=False, soft_wrap=True)


def show_scales(scales: Scales, model: "AnyModel", n: int, console: "Console") -> None:
    """Whether weights can be compared, and those that can."""
    ends = scales.extremes()
    if scales.scaler is not None and getattr(model, "kernel", "") != "cosine":
        (large, most), (small, least) = ends
        so = "the kernel hears the largest only" if is_kernel(model) else "their weights cannot be compared"
        console.print(
            f"The features differ widely in scale, so {so}: {plain(large)} reaches {most:.4g}, {plain(small)} "
            f"{least:.4g}. Scale them before training, for instance with scikit-learn's {scales.scaler}.",
            style="yellow", markup=False,
        )  # fmt: skip
    elif ends:
        console.print("The features have scales of one size.", style="dim")
    heavy = scales.heaviest(n)
    if not heavy:
        return
    several = len(scales.rows) > 1
    thing = [(scales.rows[0].thing, "left")] if several else []
    numbers = [(title, "right") for title in ("weight", "deviation", "product")]
    table = grid(("feature", "left"), *thing, *numbers)
    for one in heavy:
        of_row = one.get("class", one.get("pair"))
        title = " vs ".join(map(plain, of_row)) if isinstance(of_row, list) else plain(of_row)
        cells: list[Any] = [plain(title, 16)] if several else []
        cells += [signed(one["weight"]), f"{one['deviation']:.3g}", signed(one["weight_times_deviation"])]
        table.row(plain(one["feature"], 32), *cells)
    console.print(table)
    console.print("The product says what a usual change of the feature does: it can be compared.", style="dim")


def show_votes(shares: "np.ndarray", console: "Console") -> None:
    """How undivided the votes are."""
    console.print(heading(f"Share of the votes that the winner has: {percent(float(shares.mean()))} in the mean"))
    counts = histogram(shares).tolist()
    table = grid(("share", "right"), ("examples", "right"), ("", "left"))
    first = next(place for place, number in enumerate(counts) if number)
    for place, number in islice(enumerate(counts), first, None):
        of_most = bar(number / max(counts), 32, console)
        table.row(f"{100 * place // BINS}-{100 * (place + 1) // BINS}%", f"{number:,}", of_most)
    console.print(table)
