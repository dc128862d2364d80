"""Shows the progress of training: lines at 1, 2, 4, 8, ... examples of a stream, or by epoch."""

import errno
import os
import select
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perceptrons.cli.files import refusing_data
from perceptrons.cli.messages import say, saying_warnings, visible
from perceptrons.cli.options import TrainOptions
from perceptrons.cli.screen import Screen, heading, shows_text
from perceptrons.engine.streaming.resuming import check_mixed_place, check_place
from perceptrons.engine.wording import apart, count, in_percent, n_predictions
from perceptrons.modelfile.checkpoint import Checkpoint

COLUMNS = (("examples", 13), ("mistakes", 12), ("error so far", 14), ("since last line", 17), ("examples/s", 13))
SECONDS_BETWEEN_DRAWS = 0.1  # seconds between two states of the live line
MIN_EXAMPLES_FOR_SPEED = 100  # examples: a speed measured on fewer says nothing
ERASE_LINE = "\r\x1b[2K"
MIXED_COLUMNS = (("epoch", 5), ("mistakes", 12), ("seconds", 11))
MAX_SHARDS_SHOWN = 8  # shards, each of which is shown


class UnreadError(Exception):
    """The output is not read any more, and training has no other result."""


class StreamProgress:
    """Shows the progress of `fit_stream`, which calls it. title: above the table; None prints neither."""

    def __init__(
        self, model: Any, options: Any, epochs: int | None, title: list[str] | None = None, has_live_line: bool = True
    ):
        self._model, self._epochs, self._title = model, epochs, title or []
        # something is written at the end, so training must continue even if nobody reads the output
        self._needed = options.output is not None or getattr(options, "checkpoint", None) is not None
        self._console = Screen() if title is not None and shows_text(options) else None
        is_live = (options.verbose and not options.quiet) or (sys.stderr.isatty() and shows_text(options))
        self._live = Screen(stderr=True) if is_live and has_live_line else None
        self._has_title = self._has_heading = self._is_drawn = False
        self._next_draw = self._next_check = 0.0
        self._line: dict[str, Any] = {"examples": 0, "mistakes": 0, "seconds": 0.0}  # the last one printed
        self._last: dict[str, Any] = {}
        self._total = 0  # examples of an epoch, once known
        self.notices: list[str] = []  # for stderr, as soon as it is clear that there is something to learn from
        self.unread: OSError | None = None

    def __call__(self, event: dict[str, Any]) -> None:
        if self._last and event["epoch"] != self._last["epoch"]:
            self._total = self._last["examples"]
            self.end()
        self._last = event
        self._print_title()
        self._check_reader()
        if event["mark"] and event["epoch"] == 1:
            self._print_line(event)
        else:
            self._show_event(event)

    def start(self) -> None:
        """Show that reading begins; the first block may have to wait for compilation."""
        self._show_live("Reading ...")

    def skip_shown(self) -> None:
        """Skip what was printed before the checkpoint that the run resumes from."""
        if getattr(self._model, "progress_", None):  # which checkpoints need not hold
            examples, mistakes = self._model.progress_[-1]
            self._line = {"examples": examples, "mistakes": mistakes, "seconds": None}

    def end(self) -> None:
        """Print the last line of the table, for all examples of the first epoch."""
        self._print_title()
        if self._last and self._last["epoch"] == 1 and self._last["examples"] > self._line["examples"]:
            self._print_line(self._last)

    def check_read(self) -> None:
        """Raise the error that was kept back until the model was saved: the output was not read to its end."""
        if self.unread is not None:
            raise self.unread

    def speak(self, message: str) -> None:
        """Print a line on stderr in place of the live line."""
        self.erase()
        say(message)

    def erase(self) -> None:
        """Erase the live line."""
        if self._is_drawn:
            sys.stderr.write(ERASE_LINE)
            sys.stderr.flush()
            self._is_drawn = False

    def _print_title(self) -> None:
        """Print the title, once there is something to learn from."""
        if not self._has_title:
            self._has_title = True
            self.erase()
            for line in self.notices:
                say(line)
            for line in self._title:
                self._print(line)

    def _check_reader(self) -> None:
        """Stop if the pipe is closed, even if nothing is printed for a long time."""
        if self._console is None or self._needed or time.monotonic() < self._next_check:
            return
        self._next_check = time.monotonic() + SECONDS_BETWEEN_DRAWS
        if _is_unread(sys.stdout):
            self._stop_printing(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))

    def _print_line(self, event: dict[str, Any]) -> None:
        before, self._line = self._line, event
        n, mistakes = event["examples"] - before["examples"], event["mistakes"] - before["mistakes"]
        k = n_predictions(self._model)
        took = None if before["seconds"] is None else event["seconds"] - before["seconds"]
        if not self._has_heading:
            self._has_heading = True
            self._print(heading(f"Progressive error: predict each example, then learn from it{apart(self._model)}"))
            self._print(_row(title for title, _ in COLUMNS), "dim")
        total, total_mistakes = event["examples"], event["mistakes"]
        errors = in_percent(total_mistakes / (k * total), 2), in_percent(mistakes / (k * n), 2)
        examples_per_second = speed(n, took) if n >= MIN_EXAMPLES_FOR_SPEED and took else ""
        self._print(_row((f"{total:,}", f"{total_mistakes:,}", *errors, examples_per_second)))

    def _print(self, line: Any, style: str = "") -> None:
        if self._console is None:
            return
        self.erase()
        try:
            self._console.print(line, style=style, soft_wrap=True)
        except OSError as error:
            self._stop_printing(error)

    def _stop_printing(self, error: OSError) -> None:
        """Print nothing more, and end training if it has no other result."""
        self.unread, self._console = error, None
        if not self._needed:
            raise UnreadError from error

    def _show_event(self, event: dict[str, Any]) -> None:
        """Show on the live line how far training is, unless it was drawn a moment ago."""
        if self._live is not None and time.monotonic() >= self._next_draw:
            of_all = "" if self._epochs is None else f" of {self._epochs}"
            self._show_live("  ".join([f"epoch {event['epoch']}{of_all}", *self._live_parts(event, self._live)]))

    def _live_parts(self, event: dict[str, Any], console: Screen) -> list[str]:
        error = in_percent(event["mistakes"] / (n_predictions(self._model) * event["examples"]), 2)
        rate = f"{speed(event['examples'], event['seconds'])}/s"
        bar = [f"{console.bar(min(1.0, event['examples'] / self._total), 16):16}"] if self._total else []
        return [*bar, f"{event['examples']:,} examples", rate, f"error {error}"]

    def _show_live(self, text: str) -> None:
        if self._live is not None:
            sys.stderr.write(ERASE_LINE + visible(text)[: max(1, self._live.width - 1)])
            sys.stderr.flush()
            self._is_drawn, self._next_draw = True, time.monotonic() + SECONDS_BETWEEN_DRAWS


def _is_unread(stream: Any) -> bool:
    """Is the pipe closed? If the system cannot tell, printing the next line will."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
    except (AttributeError, OSError, ValueError):
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _row(cells: Any, columns: Any = COLUMNS) -> str:
    return "".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, columns, strict=True))


def speed(n: int, seconds: float) -> str:
    """Return the examples per second, to three digits: 1,230,000."""
    return f"{float(f'{n / max(seconds, 1e-9):.3g}'):,.0f}"


class MixingProgress(StreamProgress):
    """Shows the progress of `perceptrons.distributed.fit`, which calls it."""

    workers = 0
    n_shards_wanted = 0  # shards, so that every thread of the workers has one
    skipped = 0  # malformed records
    file_notices: list[str] | tuple[str, ...] = ()  # about the files
    complaints: tuple[str, ...] = ()

    def __call__(self, event: dict[str, Any]) -> None:
        self.skipped, self.complaints = event.get("skipped", self.skipped), event.get("complaints", self.complaints)
        self.file_notices = event.get("notices", self.file_notices)
        if not self._has_title and self._console is not None and event["shards"] < self.n_shards_wanted:
            self.notices.append(
                f"{count(event['shards'], 'shard')} for {self.n_shards_wanted:,} worker threads, so some have nothing "
                "to do. Split the data into more files."
            )
        self._print_title()
        if "mistakes" in event:
            self._print_epoch(event)
        else:
            self._show_event(event)

    def set_workers(self, threads: dict[str, int], shards: int | None) -> None:
        """Set the number of threads of each worker. shards: the option."""
        self.workers, self.n_shards_wanted = len(threads), sum(threads.values()) if shards is None else 0

    def skip_shown(self) -> None:
        """Do nothing: epochs before the checkpoint are not shown again."""

    def end(self) -> None:
        """Print the title at least, if there was nothing left to learn."""
        self._print_title()

    def _print_epoch(self, event: dict[str, Any]) -> None:
        if not self._has_heading:
            self._has_heading = True
            self._print(heading(f"Mistakes during training{apart(self._model)}"))
            self._print(_row((title for title, _ in MIXED_COLUMNS), MIXED_COLUMNS) + "   by shard", "dim")
        mistakes = event["mistakes"]
        cells = (f"{event['epoch']}", f"{sum(mistakes):,}", f"{event['seconds']:.2f}")
        self._print(f"{_row(cells, MIXED_COLUMNS)}   {by_shard(mistakes)}")

    def _live_parts(self, event: dict[str, Any], console: Screen) -> list[str]:
        n_done, shards = event["done"], event["shards"]
        done = f"{n_done:,} of {count(shards, 'shard')} done"
        return [f"{console.bar(n_done / shards, 16):16}", done, f"{event['seconds']:.0f} s"]


def by_shard(numbers: list[int]) -> str:
    """Return the number of every shard; of many shards the least, the median and the most."""
    if len(numbers) <= MAX_SHARDS_SHOWN:
        return "  ".join(f"{number:,}" for number in numbers)
    return f"least {min(numbers):,}, median {statistics.median_low(numbers):,}, most {max(numbers):,}"


class ReportedCheckpoint(Checkpoint):
    """A checkpoint that says where it resumes."""

    def __init__(self, path: Path, options: TrainOptions, progress: StreamProgress, is_mixed: bool):
        super().__init__(path, 60.0 if options.every is None else options.every, options.resume)
        self.path_as_typed = path
        self._progress, self._quiet, self._is_mixed = progress, options.quiet, is_mixed

    def begin(self, model: Any) -> dict[str, Any] | None:
        place = super().begin(model)
        if place is not None and ("orders" if self._is_mixed else "blocks") not in place:
            return place  # refused later: it is of another kind of run
        if place is not None:
            check_mixed_place(place) if self._is_mixed else check_place(place, model.history_)
            self._progress.skip_shown()
        if self.resume and not self._quiet:
            self._progress.notices = self._describe_place(model, place)
        return place

    def _describe_place(self, model: Any, place: dict[str, Any] | None) -> list[str]:
        if place is None:
            return [f"{self.path}: there is no checkpoint yet, so training starts from the beginning."]
        lines = [f"{complaint} The previous checkpoint, {self.before.name}, is used." for complaint in self.complaints]
        if not self.complaints and not self.path.exists():
            lines = [f"{self.path}: the file is missing. The previous checkpoint, {self.before.name}, is used."]
        n = len(model.history_) if self._is_mixed else place["epoch"]
        if place["done"]:
            return [*lines, f"The checkpoint was saved after {count(n, 'epoch')}."]
        if self._is_mixed:
            return [*lines, f"Resuming with epoch {n + 1}."]
        n_done = model.history_[-1]["examples"] if model.history_ and place["blocks"] else 0
        return [*lines, f"Resuming in epoch {n}, after {count(n_done, 'example')}."]


def reported_checkpoint(
    options: TrainOptions, progress: StreamProgress, is_mixed: bool = False
) -> ReportedCheckpoint | None:
    """Return the checkpoint of --checkpoint, if it was given. is_mixed: it holds the mixed weights of a cluster."""
    return None if options.checkpoint is None else ReportedCheckpoint(options.checkpoint, options, progress, is_mixed)


@contextmanager
def watching(progress: StreamProgress, checkpoint: ReportedCheckpoint | None) -> Iterator[None]:
    """Show the progress of training, which may be interrupted."""
    try:
        progress.start()
        with refusing_data(), saying_warnings(progress.speak):
            yield
        progress.end()
    except UnreadError:
        assert progress.unread is not None
        raise progress.unread from None
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.path.exists():
            raise
        place = checkpoint.path_as_typed
        raise KeyboardInterrupt(
            f"Interrupted. The state is saved in {place}: the same command with --resume continues from there."
        ) from None
    finally:
        progress.erase()
