"""What a person sees while shards are learned and mixed: a line for every epoch, and a live line on a terminal."""

import statistics
import time
from typing import TYPE_CHECKING, Any

from perceptrons.cli.screen import bar, count, heading
from perceptrons.cli.stream.progress import Watching
from perceptrons.cli.wording import apart

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = (("epoch", 5), ("mistakes", 12), ("seconds", 11))
FEW = 8  # shards, each of which is shown


class MixingWatch(Watching):
    """Is called by `perceptrons.distributed.fit` as it goes."""

    workers = 0
    wanted = 0  # shards, so that every thread of the workers has one
    skipped = 0  # records that were no examples
    complaints: tuple[str, ...] = ()

    def __call__(self, what: dict[str, Any]) -> None:
        self.skipped, self.complaints = what.get("skipped", self.skipped), what.get("complaints", self.complaints)
        if not self._begun and self._console is not None and what["shards"] < self.wanted:
            self.notices.append(
                f"{count(what['shards'], 'shard')} for {self.wanted:,} threads of workers: some have nothing to do. "
                "More files make more shards."
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
            self._print(heading(f"Mistakes while learning{apart(self._model)}"))
            self._print(_row(title for title, _ in COLUMNS) + "   by shard", "dim")
        wrong = what["mistakes"]
        cells = (f"{what['epoch']}", f"{sum(wrong):,}", f"{what['seconds']:.2f}")
        self._print(f"{_row(cells)}   {by_shard(wrong)}")

    def _in_words(self, what: dict[str, Any], console: "Console") -> str:
        done, shards = what["done"], what["shards"]
        words = [f"epoch {what['epoch']} of {self._epochs}", f"{bar(done / shards, 16, console):16}"]
        return "  ".join([*words, f"{done:,} of {count(shards, 'shard')} done", f"{what['seconds']:.0f} s"])


def by_shard(numbers: list[int]) -> str:
    """Every shard's number; of many the least, the median and the most."""
    if len(numbers) <= FEW:
        return "  ".join(f"{number:,}" for number in numbers)
    return f"least {min(numbers):,}, median {statistics.median_low(numbers):,}, most {max(numbers):,}"


def _row(cells: Any) -> str:
    return "".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True))
