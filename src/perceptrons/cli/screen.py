"""Formats output: consoles, spinners, bars, tables, labels, weights, JSON; and the lines on stderr."""

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from textwrap import fill
from typing import TYPE_CHECKING, Any

from perceptrons.engine.wording import count as count
from perceptrons.engine.wording import in_percent as percent
from perceptrons.engine.wording import listed as listed
from perceptrons.engine.wording import short

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table
    from rich.text import Text

    from perceptrons.cli.consoles import Grid, Screen
    from perceptrons.engine.training.feature_names import Units
    from perceptrons.inspection.weights import DisplayNames, Row, Weight

__all__ = ["count", "listed", "percent"]

EIGHTHS = " ▏▎▍▌▋▊▉█"
RANKING_METRICS = ("roc_auc", "average_precision")
PROBABILITY_METRICS = ("log_loss", "brier_score", "calibration_error")
HEIGHTS, ASCII_HEIGHTS = " ▁▂▃▄▅▆▇█", " .:-=+*%#"


class BadInputError(Exception):
    """Ends a command with a message on stderr and exit code 2."""


def screen(stderr: bool = False) -> "Screen":
    from perceptrons.cli.consoles import Screen

    return Screen(stderr=stderr, highlight=False, soft_wrap=False, markup=False)


def shows_text(options: Any) -> bool:
    """Does a command print text, neither JSON nor nothing?"""
    return not (getattr(options, "quiet", False) or getattr(options, "json", False))


class Waiting:
    """A spinner on stderr with a line that changes; only on a terminal, and if the command prints text."""

    def __init__(self, text: str, options: Any, is_hidden: bool = False):
        is_shown = shows_text(options) and not is_hidden and sys.stderr.isatty()
        self._status: Any = screen(stderr=True).status(visible(text)) if is_shown else None

    def __enter__(self) -> "Waiting":
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def say(self, text: str) -> None:
        if self._status is not None:
            self._status.update(visible(text))


def as_json(content: dict[str, Any]) -> str:
    """Return one JSON object on one line."""
    return json.dumps(content, allow_nan=False) + "\n"


def print_result(options: Any, content: Callable[[], dict[str, Any]], show: Callable[["Screen"], None]) -> None:
    """Print the result of a command: as JSON, as text, or not at all. content: of the JSON."""
    if options.json:
        print(as_json(content()), end="")
    elif shows_text(options):
        show(screen())


def bar(share: float, width: int, console: "Screen") -> str:
    """Return a bar of at most `width` characters for a share of 1; any share above 0 is visible."""
    share = max(0.0, share)  # scores below 0, which are worse than chance, have no bar
    if console.options.ascii_only:
        return "#" * max(round(share * width), int(share > 0))
    eighths = max(round(share * width * 8), int(share > 0))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def spark(counts: list[int], console: "Screen") -> str:
    """Return a histogram of one line, with one character per count; any count above 0 is visible."""
    heights, maximum = ASCII_HEIGHTS if console.options.ascii_only else HEIGHTS, max(counts, default=0)
    return "".join(heights[max(round(8 * n / maximum), int(n > 0))] for n in counts)


def visible(text: str) -> str:
    """Escape the control characters of a text as Python does; line breaks stay."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)


def say(message: str) -> None:
    """Print one line on stderr."""
    print(visible(" ".join(message.splitlines())), file=sys.stderr, flush=True)


@contextmanager
def saying_warnings(speak: Callable[[str], None] = say, quiet: bool = False) -> Iterator[None]:
    """Print warnings of the library as one line on stderr; those of Python and NumPy, which would be bugs, stay."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\w+ stopped at max_iter=")  # commands say themselves why training stopped
        if quiet:
            warnings.simplefilter("ignore", UserWarning)
        show_before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, UserWarning):
                speak(str(message))
            else:
                show_before(message, category, *where, **more)

        warnings.showwarning = show
        yield


def plain(label: Any, at_most: int = 28) -> str:
    """Return a label or name for one line: control characters are escaped, and long ones are cut."""
    return short(str(label), at_most)


def label_word(label: Any) -> str:
    """Return a label, or several with commas, uncut, for programs."""
    return ",".join(plain(item, at_most=sys.maxsize) for item in (label if isinstance(label, list) else [label]))


def signed(weight: float) -> "Text":
    """Return a weight as text, green if it is evidence for the class, red if against."""
    from rich.text import Text

    text = f"{weight:+.3g}"
    if "e+0" in text and abs(weight) < 1e6:  # in full it is shorter, and easier to read
        text = f"{float(text):+,.0f}"
    return Text(text, style="green" if weight > 0 else "red" if weight < 0 else "")


def metric_text(name: str, value: float, digits: int = 1) -> str:
    """Return a value of a metric: shares in percent, others as numbers."""
    from perceptrons.inspection.metrics import format_metric  # with NumPy, which help does without

    return format_metric(name, value, digits)


def heading(text: str) -> "Text":
    from rich.text import Text

    return Text(f"\n{text}", style="bold")


def facts_grid(facts: Iterable[tuple[str, str]]) -> "Grid":
    """Return a table of names and values, one line per fact."""
    table = grid("", "", rows=facts)
    table.columns[0].style = "dim"
    table.columns[1].no_wrap = False
    return table


def show_suggestions(commands: Iterable[tuple[str, str]], console: "Screen") -> None:
    """Print commands to try next, each with its reason."""
    console.print(heading("What to try next"))
    for command, reason in commands:
        console.print(f"  {command}", soft_wrap=True, style="cyan")
        console.print(fill(reason, console.width, initial_indent=" " * 6, subsequent_indent=" " * 6), style="dim")


def show_saved(path: "Path | None", console: "Screen") -> None:
    """Print where the model of -o is, if it was saved."""
    if path is not None:
        console.print(f"\nSaved as {path}", soft_wrap=True)


def show_more(number: int, thing: str, console: "Screen", where: str = " (use --json for all)") -> None:
    """Print how many lines of a table are left out, if any."""
    if number > 0:
        more = count(number, thing, {"class": "classes"}.get(thing)) if thing else f"{number:,}"
        console.print(f"and {more} more{where}", style="dim")


def capitalized(text: str) -> str:
    """Return a text with its first letter as a capital, the others as they are."""
    return text[:1].upper() + text[1:]


def grid(*columns: str, rows: "Iterable[Iterable[str | Text]]" = ()) -> "Grid":
    """Return a table with these titles; > before a title aligns right. Without titles there is no heading row."""
    from rich.text import Text

    from perceptrons.cli.consoles import Grid

    titles = [column.removeprefix(">") for column in columns]
    table = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(titles))
    for column, title in zip(columns, titles, strict=True):
        justify: Any = "right" if column.startswith(">") else "left"
        table.add_column(Text(title), justify=justify, header_style="dim", no_wrap=True)
    for cells in rows:
        table.row(*cells)
    return table


def show_rows(
    rows: list["Row"], names: "DisplayNames", n: int, at_most: int, console: "Screen",
    titles: tuple[str, str] = ("feature", "weight"), where_more: str = "", units: "Units | None" = None,
) -> None:  # fmt: skip
    """Print the top weights: of one row with bars, of several a line for each. names: of the features or examples.

    units: of numbers that were scaled; of one row, their weights are shown in these units, too.
    """
    from perceptrons.inspection.weights import top

    tops = [top(row, names, n, units) for row in rows[:at_most]]
    console.print(_bars(rows[0], tops[0], titles, console) if len(rows) == 1 else _lines(rows, tops, console))
    show_more(len(rows) - at_most, rows[0].thing, console, where_more)


def _bars(row: "Row", weights: list["Weight"], titles: tuple[str, str], console: "Screen") -> "Table":
    """Return a line per weight, with a bar and the class that it speaks for."""
    positive = plain(row.classes[-1])
    negative = f"against {positive}" if row.other is None else f"for {plain(row.other)}"
    raw = any(weight.raw_weight is not None for weight in weights)
    per_unit = [">per unit"] * raw
    table = grid(titles[0], f">{titles[1]}", "", *per_unit, "speaks")
    for weight in weights:
        speaks = f"for {positive}" if weight.weight > 0 else negative
        length = bar(abs(weight.weight / weights[0].weight), 16, console)
        in_units = ["" if weight.raw_weight is None else signed(weight.raw_weight)] * raw
        table.row(weight.shown(32 - 8 * raw), signed(weight.weight), length, *in_units, speaks)
    return table


def _lines(rows: list["Row"], tops: list[list["Weight"]], console: "Screen") -> "Table":
    """Return a line per row: its top weights, as many as fit."""
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
    table = grid(rows[0].thing, *["", ">"] * fitting)
    for title, weights in lines:
        cells: list[Any] = []
        for weight in weights[:fitting]:
            cells += [weight.shown(24), signed(weight.weight)]
        table.row(title, *cells)
    return table
