"""Formats what commands print with rich: consoles, spinners, bars, tables, headings, weights, suggestions."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

from rich.console import Console
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from perceptrons.cli.messages import plain, print_json, visible
from perceptrons.engine.training.feature_names import Units
from perceptrons.engine.wording import count
from perceptrons.inspection.weights import DisplayNames, Row, Weight, top

EIGHTHS = " ▏▎▍▌▋▊▉█"
HEIGHTS, ASCII_HEIGHTS = " ▁▂▃▄▅▆▇█", " .:-=+*%#"


class Grid(Table):
    """A table without lines, whose cells are shown as they are: brackets in a label are not markup."""

    def row(self, *cells: str | Text, style: str | None = None) -> None:
        self.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells), style=style)


class Screen(Console):
    """A console in our style. It raises an error when the pipe is closed, where rich would exit with code 1."""

    def __init__(self, stderr: bool = False):
        super().__init__(stderr=stderr, highlight=False, soft_wrap=False, markup=False)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    @property
    def is_ascii(self) -> bool:
        return self.options.ascii_only

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Render without the control characters of names, tokens and labels."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable() or segment.text == "\n":
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)

    def print_lines(self, *lines: str, style: str | None = None) -> None:
        for line in lines:
            self.print(line, style=style)

    def warn(self, *lines: str) -> None:
        """Print warnings."""
        self.print_lines(*lines, style="yellow")

    def indent(self, paragraphs: Iterable[str], style: str = "") -> None:
        """Print paragraphs, each two columns to the right."""
        for paragraph in paragraphs:
            self.print(Padding(Text(paragraph, style=style), (0, 0, 0, 2), expand=False))

    def bar(self, fraction: float, width: int) -> str:
        """Return a bar of at most `width` characters for a fraction of 1; any fraction above 0 is visible."""
        fraction = max(0.0, fraction)  # scores below 0, which are worse than chance, have no bar
        if self.is_ascii:
            return "#" * max(round(fraction * width), int(fraction > 0))
        eighths = max(round(fraction * width * 8), int(fraction > 0))
        return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()

    def histogram(self, counts: list[int]) -> str:
        """Return a histogram of one line, with one character per count; any count above 0 is visible."""
        heights, maximum = ASCII_HEIGHTS if self.is_ascii else HEIGHTS, max(counts, default=0)
        return "".join(heights[max(round(8 * n / maximum), int(n > 0))] for n in counts)

    def show_more(self, number: int, thing: str = "", where: str = " (use --json for all)") -> None:
        """Print how many lines of a table are left out, if any."""
        if number > 0:
            more = count(number, thing, {"class": "classes"}.get(thing)) if thing else f"{number:,}"
            self.print(f"and {more} more{where}", style="dim")

    def show_saved(self, path: Path | None) -> None:
        """Print where the model of -o is, if it was saved."""
        if path is not None:
            self.print(f"\nSaved as {path}", soft_wrap=True)

    def show_suggestions(self, commands: Iterable[tuple[str, str]]) -> None:
        """Print commands to try next, each with its reason."""
        self.print(heading("What to try next"))
        for command, reason in commands:
            self.print(f"  {command}", soft_wrap=True, style="cyan")
            self.print(fill(reason, self.width, initial_indent=" " * 6, subsequent_indent=" " * 6), style="dim")


class Waiting:
    """A spinner on stderr with a line that changes; only on a terminal, and if the command prints text."""

    def __init__(self, text: str, options: Any, is_hidden: bool = False):
        is_shown = shows_text(options) and not is_hidden and sys.stderr.isatty()
        self._status: Any = Screen(stderr=True).status(visible(text)) if is_shown else None

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


def shows_text(options: Any) -> bool:
    """Return whether a command prints text, neither JSON nor nothing."""
    return not (getattr(options, "quiet", False) or getattr(options, "json", False))


def print_result(options: Any, content: Callable[[], dict[str, Any]], show: Callable[[Screen], None]) -> None:
    """Print the result of a command: as JSON, as text, or not at all. content: of the JSON."""
    if options.json:
        print_json(content())
    elif shows_text(options):
        show(Screen())


def heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def signed(weight: float) -> Text:
    """Return a weight as text, green if it is evidence for the class, red if against."""
    text = f"{weight:+.3g}"
    if "e+0" in text and abs(weight) < 1e6:  # in full it is shorter, and easier to read
        text = f"{float(text):+,.0f}"
    return Text(text, style="green" if weight > 0 else "red" if weight < 0 else "")


def capitalized(text: str) -> str:
    """Return a text with its first letter as a capital, the others as they are."""
    return text[:1].upper() + text[1:]


def grid(*columns: str, rows: Iterable[Iterable[str | Text]] = ()) -> Grid:
    """Return a table with these titles; > before a title aligns right. Without titles there is no heading row."""
    titles = [column.removeprefix(">") for column in columns]
    table = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(titles))
    for column, title in zip(columns, titles, strict=True):
        justify: Literal["left", "right"] = "right" if column.startswith(">") else "left"
        table.add_column(Text(title), justify=justify, header_style="dim", no_wrap=True)
    for cells in rows:
        table.row(*cells)
    return table


def facts_grid(facts: Iterable[tuple[str, str]]) -> Grid:
    """Return a table of names and values, one line per fact."""
    table = grid("", "", rows=facts)
    table.columns[0].style = "dim"
    table.columns[1].no_wrap = False
    return table


def show_rows(
    rows: list[Row], names: DisplayNames, n: int, max_rows: int, console: Screen,
    titles: tuple[str, str] = ("feature", "weight"), where_more: str = "", units: Units | None = None,
) -> None:  # fmt: skip
    """Print the top weights: of one row with bars, of several a line for each. names: of the features or examples.

    units: of numbers that were scaled; of one row, their weights are shown in these units, too.
    """
    tops = [top(row, names, n, units) for row in rows[:max_rows]]
    console.print(_bars(rows[0], tops[0], titles, console) if len(rows) == 1 else _lines(rows, tops, console))
    console.show_more(len(rows) - max_rows, rows[0].thing, where_more)


def _bars(row: Row, weights: list[Weight], titles: tuple[str, str], console: Screen) -> Table:
    """Return a line per weight, with a bar and the class that it speaks for."""
    positive = plain(row.classes[-1])
    negative = f"against {positive}" if row.other is None else f"for {plain(row.other)}"
    raw = any(weight.raw_weight is not None for weight in weights)
    per_unit = [">per unit"] * raw
    table = grid(titles[0], f">{titles[1]}", "", *per_unit, "speaks")
    for weight in weights:
        speaks = f"for {positive}" if weight.weight > 0 else negative
        length = console.bar(abs(weight.weight / weights[0].weight), 16)
        in_units = ["" if weight.raw_weight is None else signed(weight.raw_weight)] * raw
        table.row(weight.shown(32 - 8 * raw), signed(weight.weight), length, *in_units, speaks)
    return table


def _lines(rows: list[Row], tops: list[list[Weight]], console: Screen) -> Table:
    """Return a line per row: its top weights, as many as fit."""
    lines = [(row.title(16), weights) for row, weights in zip(rows, tops, strict=False)]  # rows beyond are left out
    room = console.width - max(len(title) for title, _ in lines)
    n_fitting = 0
    for rank in range(max(len(weights) for weights in tops)):
        # a column pair needs its longest name, its longest weight and the gaps before them
        column = [weights[rank] for weights in tops if rank < len(weights)]
        room -= 4 + max(len(weight.shown(24)) for weight in column)
        room -= max(len(signed(weight.weight)) for weight in column)
        if room < 0 and n_fitting:
            break
        n_fitting += 1
    table = grid(rows[0].thing, *["", ">"] * n_fitting)
    for title, weights in lines:
        cells = [cell for weight in weights[:n_fitting] for cell in (weight.shown(24), signed(weight.weight))]
        table.row(title, *cells)
    return table
