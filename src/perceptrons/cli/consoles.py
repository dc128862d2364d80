"""Consoles and tables of rich, in our style. Imported when something is shown."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from perceptrons.cli.screen import visible


class Screen(Console):
    """A console that raises an error when the pipe is closed, where rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def warn(self, text: str) -> None:
        """Print a warning."""
        self.print(text, style="yellow")

    def print_lines(self, lines: Iterable[str], style: str = "") -> None:
        for line in lines:
            self.print(line, style=style)

    def indent(self, paragraphs: Iterable[str], style: str = "") -> None:
        """Print paragraphs, each two columns to the right."""
        for paragraph in paragraphs:
            self.print(Padding(Text(paragraph, style=style), (0, 0, 0, 2), expand=False))

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Render without the control characters of names, tokens and labels."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable() or segment.text == "\n":
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


class Grid(Table):
    """A table without lines, whose cells are shown as they are: brackets in a label are not markup."""

    def row(self, *cells: str | Text, style: str | None = None) -> None:
        self.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells), style=style)
