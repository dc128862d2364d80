"""Shows the progress of training: lines at 1, 2, 4, 8, ... examples of a stream, or by epoch."""

import errno
import os
import select
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import refusing_data
from perceptrons.cli.screen import bar, count, heading, percent, say, saying_warnings, screen, visible
from perceptrons.engine.streaming.resuming import check_mixed_place, check_place
from perceptrons.engine.wording import apart, n_predictions
from perceptrons.modelfile.checkpoint import Checkpoint

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons import Perceptron

COLUMNS = (("examples", 13), ("mistakes", 12), ("error so far", 14), ("since last line", 17), ("examples/s", 13))
OFTEN = 0.1  # seconds between two states of the live line
ENOUGH = 100  # examples: a speed measured on fewer says nothing
ERASED = "\r\x1b[2K"


MIXED_COLUMNS = (("epoch", 5), ("mistakes", 12), ("seconds", 11))
FEW = 8  # shards, each of which is shown


class UnreadError(Exception):
    """Nobody reads what is printed, and nothing else was asked for."""


class Watching:
    """Is called by `fit_stream` as it goes; the first epoch predicts every example before it learns from it.

    lines: print the table, below the title? live: show the live line? needed: is something
    written at the end, so that training must continue even if nobody reads the output?
    """

    def __init__(
        self, model: "Perceptron", epochs: int | None, title: list[str], lines: bool, live: bool, needed: bool
    ):
        self._model, self._epochs, self._title, self._needed = model, epochs, title, needed
        self._console: Console | None = screen() if lines else None
        self._live: Console | None = screen(stderr=True) if live else None
        self._begun = self._headed = self._drawn = False
        self._next_draw = self._next_look = 0.0
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
        self._look()
        if what["mark"] and what["epoch"] == 1:
            self._print_line(what)
        elif self._live is not None and time.monotonic() >= self._next_draw:
            self._show_live(self._in_words(what, self._live))

    def start(self) -> None:
        """Before the first block is there: a first run has to wait for compilation."""
        self._show_live("Reading ...")

    def go_on(self) -> None:
        """A run resumes from a checkpoint: what was printed before is not printed again."""
        if getattr(self._model, "progress_", None):  # which checkpoints need not hold
            examples, mistakes = self._model.progress_[-1]
            self._line = {"examples": examples, "mistakes": mistakes, "seconds": None}

    def end(self) -> None:
        """The last line of the table, for all examples of the first epoch."""
        self._begin()
        if self._last and self._last["epoch"] == 1 and self._last["examples"] > self._line["examples"]:
            self._print_line(self._last)

    def speak(self, message: str) -> None:
        """A line on stderr, in place of the live line."""
        self.erase()
        say(message)

    def erase(self) -> None:
        """Take the live line away."""
        if self._drawn:
            sys.stderr.write(ERASED)
            sys.stderr.flush()
            self._drawn = False

    def _begin(self) -> None:
        """The title, when it is clear that there is something to learn from."""
        if not self._begun:
            self._begun = True
            self.erase()
            for line in self.notices:
                say(line)
            for line in self._title:
                self._print(line)

    def _look(self) -> None:
        """Stop if nobody reads any more, even when there is nothing to print for long."""
        if self._console is None or self._needed or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + OFTEN
        if _left(sys.stdout):
            self.unread, self._console = BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)), None
            raise UnreadError from self.unread

    def _print_line(self, what: dict[str, Any]) -> None:
        before, self._line = self._line, what
        n, mistakes = what["examples"] - before["examples"], what["mistakes"] - before["mistakes"]
        k = n_predictions(self._model)
        took = None if before["seconds"] is None else what["seconds"] - before["seconds"]
        if not self._headed:
            self._headed = True
            self._print(heading(f"Progressive error: predict each example, then learn from it{apart(self._model)}"))
            self._print(_row(title for title, _ in COLUMNS), "dim")
        self._print(_row((
            f"{what['examples']:,}", f"{what['mistakes']:,}", percent(what["mistakes"] / (k * what["examples"]), 2),
            percent(mistakes / (k * n), 2), speed(n, took) if n >= ENOUGH and took else "",
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
        error = percent(what["mistakes"] / (n_predictions(self._model) * what["examples"]), 2)
        words = [f"epoch {what['epoch']}{self._of_all()}"]
        if self._total:
            words.append(f"{bar(min(1.0, what['examples'] / self._total), 16, console):16}")
        words += [f"{what['examples']:,} examples", f"{speed(what['examples'], what['seconds'])}/s", f"error {error}"]
        return "  ".join(words)

    def _of_all(self) -> str:
        return "" if self._epochs is None else f" of {self._epochs}"

    def _show_live(self, text: str) -> None:
        if self._live is not None:
            sys.stderr.write(ERASED + visible(text)[: max(1, self._live.width - 1)])
            sys.stderr.flush()
            self._drawn, self._next_draw = True, time.monotonic() + OFTEN


def _left(stream: Any) -> bool:
    """Has the program that reads the pipe ended? Where a system cannot tell, the next line printed will."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
    except (AttributeError, OSError, ValueError):
        return False
    return any(what & select.POLLERR for _, what in poll.poll(0))


def _row(cells: Any, columns: Any = COLUMNS) -> str:
    return "".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, columns, strict=True))


def speed(n: int, seconds: float) -> str:
    """Examples a second, to three digits: 1,230,000."""
    return f"{float(f'{n / max(seconds, 1e-9):.3g}'):,.0f}"


class MixingWatch(Watching):
    """Is called by `perceptrons.distributed.fit` as it goes."""

    workers = 0
    wanted = 0  # shards, so that every thread of the workers has one
    skipped = 0  # malformed records
    of_files: list[str] | tuple[str, ...] = ()  # what somebody should be told of them
    complaints: tuple[str, ...] = ()

    def __call__(self, what: dict[str, Any]) -> None:
        self.skipped, self.complaints = what.get("skipped", self.skipped), what.get("complaints", self.complaints)
        self.of_files = what.get("notices", self.of_files)
        if not self._begun and self._console is not None and what["shards"] < self.wanted:
            self.notices.append(
                f"{count(what['shards'], 'shard')} for {self.wanted:,} worker threads, so some have nothing to do. "
                "Split the data into more files."
            )
        self._begin()
        if "mistakes" in what:
            self._print_epoch(what)
        elif self._live is not None and time.monotonic() >= self._next_draw:
            self._show_live(self._in_words(what, self._live))

    def meet(self, threads: dict[str, int], shards: int | None) -> None:
        """Know the workers, and how many threads each has. shards: as asked for."""
        self.workers, self.wanted = len(threads), sum(threads.values()) if shards is None else 0

    def go_on(self) -> None:
        """Epochs before the checkpoint are not shown again."""

    def end(self) -> None:
        """If there was nothing left to learn, the title at least."""
        self._begin()

    def _print_epoch(self, what: dict[str, Any]) -> None:
        if not self._headed:
            self._headed = True
            self._print(heading(f"Mistakes during training{apart(self._model)}"))
            self._print(_row((title for title, _ in MIXED_COLUMNS), MIXED_COLUMNS) + "   by shard", "dim")
        wrong = what["mistakes"]
        cells = (f"{what['epoch']}", f"{sum(wrong):,}", f"{what['seconds']:.2f}")
        self._print(f"{_row(cells, MIXED_COLUMNS)}   {by_shard(wrong)}")

    def _in_words(self, what: dict[str, Any], console: "Console") -> str:
        done, shards = what["done"], what["shards"]
        words = [f"epoch {what['epoch']}{self._of_all()}", f"{bar(done / shards, 16, console):16}"]
        return "  ".join([*words, f"{done:,} of {count(shards, 'shard')} done", f"{what['seconds']:.0f} s"])


def by_shard(numbers: list[int]) -> str:
    """Every shard's number; of many the least, the median and the most."""
    if len(numbers) <= FEW:
        return "  ".join(f"{number:,}" for number in numbers)
    return f"least {min(numbers):,}, median {statistics.median_low(numbers):,}, most {max(numbers):,}"


class SpokenCheckpoint(Checkpoint):
    """A checkpoint that says what it continues from; mixed: of the weights of a cluster, between two epochs."""

    def __init__(self, asked: Any, watching: Watching, mixed: bool = False):
        super().__init__(asked.checkpoint, 60.0 if asked.every is None else asked.every, asked.resume)
        self._watching, self._quiet, self._mixed = watching, asked.quiet, mixed

    def begin(self, model: Any) -> dict[str, Any] | None:
        place = super().begin(model)
        if place is not None and ("orders" if self._mixed else "blocks") not in place:
            return place  # of another kind of run, which is refused
        if place is not None:
            check_mixed_place(place) if self._mixed else check_place(place, model.history_)
            self._watching.go_on()
        if self.resume and not self._quiet:
            self._watching.notices = self._found(model, place)
        return place

    def _found(self, model: Any, place: dict[str, Any] | None) -> list[str]:
        if place is None:
            return [f"{self.path}: there is no checkpoint yet, so training starts from the beginning."]
        lines = [f"{complaint} The previous checkpoint, {self.before.name}, is used." for complaint in self.complaints]
        if not self.complaints and not self.path.exists():
            lines = [f"{self.path}: the file is missing. The previous checkpoint, {self.before.name}, is used."]
        n = len(model.history_) if self._mixed else place["epoch"]
        if place["done"]:
            return [*lines, f"The checkpoint was saved after {count(n, 'epoch')}."]
        if self._mixed:
            return [*lines, f"Resuming with epoch {n + 1}."]
        done = model.history_[-1]["examples"] if model.history_ and place["blocks"] else 0
        return [*lines, f"Resuming in epoch {n}, after {count(done, 'example')}."]


@contextmanager
def watched(watching: Watching, checkpoint: SpokenCheckpoint | None, path: Any) -> Iterator[None]:
    """Somebody looks on while it learns, who may leave or interrupt it. path: of the checkpoint, as it was given."""
    try:
        watching.start()
        with refusing_data(), saying_warnings(watching.speak):
            yield
        watching.end()
    except UnreadError:
        assert watching.unread is not None
        raise watching.unread from None
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.path.exists():
            raise
        raise KeyboardInterrupt(
            f"Interrupted. The state is saved in {path}: the same command with --resume continues from there."
        ) from None
    finally:
        watching.erase()
