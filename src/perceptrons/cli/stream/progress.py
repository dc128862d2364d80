"""What a person sees while a stream is learned: a line at 1, 2, 4, 8, ... examples, and a live line on a terminal."""

import sys
import time
from typing import TYPE_CHECKING, Any

from perceptrons.cli.screen import bar, heading, percent, say, screen, visible
from perceptrons.cli.wording import apart

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons import Perceptron

COLUMNS = (("examples", 13), ("mistakes", 12), ("error so far", 14), ("since last line", 17), ("examples/s", 13))
OFTEN = 0.1  # seconds between two states of the live line
ENOUGH = 100  # examples: a speed measured on fewer says nothing
ERASED = "\r\x1b[2K"


class UnreadError(Exception):
    """Nobody reads what is printed, and nothing else was asked for."""


class Watching:
    """Is called by `fit_stream` as it goes; the first epoch predicts every example before it learns from it.

    lines: print the table, below the title? live: show the live line? needed: is something to be written at the end, so
    that learning goes on though nobody reads?
    """

    def __init__(self, model: "Perceptron", epochs: int, title: list[str], lines: bool, live: bool, needed: bool):
        self._model, self._epochs, self._title, self._needed = model, epochs, title, needed
        self._console: Console | None = screen() if lines else None
        self._live: Console | None = screen(stderr=True) if live else None
        self._begun = self._headed = self._drawn = False
        self._next_draw = 0.0
        self._line: dict[str, Any] = {"examples": 0, "mistakes": 0, "seconds": 0.0}  # the last one printed
        self._last: dict[str, Any] = {}
        self._total = 0  # examples of an epoch, once known
        self.notices: list[str] = []  # for stderr, as soon as it is clear that there is something to learn from
        self.unread: OSError | None = None

    def __call__(self, what: dict[str, Any]) -> None:
        if self._last and what["epoch"] != self._last["epoch"]:
            self._total = self._last["examples"]
            self.end()
        self._last = what
        self._begin()
        if what["mark"] and what["epoch"] == 1:
            self._print_line(what)
        elif self._live is not None and time.monotonic() >= self._next_draw:
            self._show_live(self._in_words(what, self._live))

    def start(self) -> None:
        """Before the first block is there: a first run has to wait for compilation."""
        self._show_live("Reading ...")

    def go_on(self) -> None:
        """A run goes on from a checkpoint: what was printed before is not printed again."""
        if getattr(self._model, "progress_", None):  # which checkpoints need not hold
            examples, mistakes = self._model.progress_[-1]
            self._line = {"examples": examples, "mistakes": mistakes, "seconds": None}

    def end(self) -> None:
        """The last line of the table, for all examples of the first epoch."""
        self._begin()
        if self._last and self._last["epoch"] == 1 and self._last["examples"] > self._line["examples"]:
            self._print_line(self._last)

    def erase(self) -> None:
        """Take the live line away."""
        if self._drawn:
            sys.stderr.write(ERASED)
            sys.stderr.flush()
            self._drawn = False

    def speak(self, message: str) -> None:
        """A line on stderr, in place of the live line."""
        self.erase()
        say(message)

    def _begin(self) -> None:
        """The title, when it is clear that there is something to learn from."""
        if not self._begun:
            self._begun = True
            self.erase()
            for line in self.notices:
                say(line)
            for line in self._title:
                self._print(line)

    def _print_line(self, what: dict[str, Any]) -> None:
        before, self._line = self._line, what
        n, mistakes = what["examples"] - before["examples"], what["mistakes"] - before["mistakes"]
        took = None if before["seconds"] is None else what["seconds"] - before["seconds"]
        if not self._headed:
            self._headed = True
            self._print(heading(f"Every example predicted, then learned from{apart(self._model)}"))
            self._print(_row(title for title, _ in COLUMNS), "dim")
        self._print(_row((
            f"{what['examples']:,}", f"{what['mistakes']:,}", percent(what["mistakes"] / what["examples"], 2),
            percent(mistakes / n, 2), speed(n, took) if n >= ENOUGH and took else "",
        )))  # fmt: skip

    def _print(self, line: Any, style: str = "") -> None:
        if self._console is None:
            return
        self.erase()
        try:
            self._console.print(line, style=style, markup=False, soft_wrap=True)
        except OSError as error:
            self.unread, self._console = error, None
            if not self._needed:
                raise UnreadError from error

    def _in_words(self, what: dict[str, Any], console: "Console") -> str:
        error = percent(what["mistakes"] / what["examples"], 2)
        words = [f"epoch {what['epoch']} of {self._epochs}"]
        if self._total:
            words.append(f"{bar(min(1.0, what['examples'] / self._total), 16, console):16}")
        words += [f"{what['examples']:,} examples", f"{speed(what['examples'], what['seconds'])}/s", f"error {error}"]
        return "  ".join(words)

    def _show_live(self, text: str) -> None:
        if self._live is not None:
            sys.stderr.write(ERASED + visible(text)[: max(1, self._live.width - 1)])
            sys.stderr.flush()
            self._drawn, self._next_draw = True, time.monotonic() + OFTEN


def _row(cells: Any) -> str:
    return "".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True))


def speed(n: int, seconds: float) -> str:
    """Examples a second, to three digits: 1,230,000."""
    return f"{float(f'{n / max(seconds, 1e-9):.3g}'):,.0f}"
