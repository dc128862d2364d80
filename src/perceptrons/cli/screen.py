"""How things look on a screen: consoles, spinners, bars, counts, labels; and JSON for machines."""

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from perceptrons.inspection.wording import count as count

EIGHTHS = " ▏▎▍▌▋▊▉█"


class Screen(Console):
    """A console that leaves a closed pipe to the program: rich would end with code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """What is shown, without control characters that came with names, tokens and labels."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable() or segment.text == "\n":
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


def screen(stderr: bool = False) -> Screen:
    return Screen(stderr=stderr, highlight=False, soft_wrap=False)


class Waiting:
    """A spinner on stderr with a line that changes; nothing where nobody watches."""

    def __init__(self, text: str, shown: bool):
        self._status: Any = screen(stderr=True).status(visible(text)) if shown and sys.stderr.isatty() else None

    def __enter__(self) -> "Waiting":
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def say(self, text: str) -> None:
        if self._status is not None:
            self._status.update(visible(text))


def as_json(content: dict[str, Any]) -> str:
    """One JSON object on one line."""
    return json.dumps(content, allow_nan=False) + "\n"


def bar(share: float, width: int, console: Console) -> str:
    """A bar of at most `width` characters for a share of 1; anything above 0 leaves a trace."""
    if console.options.ascii_only:
        return "#" * max(round(share * width), int(share > 0))
    eighths = max(round(share * width * 8), int(share > 0))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def visible(text: str) -> str:
    """Text whose control characters, those that would steer a terminal, are written as in Python; lines stay."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)


def say(message: str) -> None:
    """One line on stderr."""
    print(visible(" ".join(message.splitlines())), file=sys.stderr, flush=True)


@contextmanager
def saying_warnings(speak: Callable[[str], None] = say, quiet: bool = False) -> Iterator[None]:
    """Warnings of the library become one line on stderr; those of Python and NumPy, which would be bugs, stay."""
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", UserWarning)
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, UserWarning):
                speak(str(message))
            else:
                before(message, category, *where, **more)

        warnings.showwarning = show
        yield


def plain(label: Any, at_most: int = 28) -> str:
    """A label or name as a piece of one line: control characters escaped, cut if long."""
    text = visible(str(label).replace("\n", "\\n"))
    return text if len(text) <= at_most else text[: at_most - 3] + "..."


def label_word(label: Any) -> str:
    """A label, or several with commas, whole, as a line for programs."""
    return ",".join(plain(one, at_most=sys.maxsize) for one in (label if isinstance(label, list) else [label]))


def listed(labels: list[Any], at_most: int = 10) -> str:
    """a, b, c, ..."""
    return ", ".join([plain(label) for label in labels[:at_most]] + ["..."] * (len(labels) > at_most))


def signed(weight: float) -> Text:
    """A weight, green if it speaks for the class, red if against."""
    return Text(f"{weight:+.3g}", style="green" if weight > 0 else "red" if weight < 0 else "")


def heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


class Grid(Table):
    """A table without lines, whose cells are shown as they are: brackets in a label are not markup."""

    def row(self, *cells: str | Text, style: str | None = None) -> None:
        self.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells), style=style)


def grid(*columns: tuple[str, str]) -> Grid:
    """An empty table; columns are (title, "left" or "right"). Without titles there is no heading row."""
    table = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(title for title, _ in columns))
    for title, side in columns:
        table.add_column(Text(title), justify=side, header_style="dim", no_wrap=True)  # type: ignore[arg-type]
    return table
