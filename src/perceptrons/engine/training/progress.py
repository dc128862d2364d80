"""Shows the progress of training: a live bar per epoch, or nothing."""

from types import TracebackType
from typing import Any


class Progress:
    """A rich bar with mistakes and held-out accuracy; silent unless `shown`. rich is imported only when it is."""

    def __init__(self, shown: bool, max_iter: int, n: int | None):
        self._bar: Any = None
        if shown:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            console = Console(stderr=True)
            text = "{task.fields[text]}"
            self._bar = Bar(
                TextColumn("epoch {task.fields[epoch]:>4}"),
                BarColumn(),
                TextColumn(text),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task("", total=n, epoch=1, text="")

    def __enter__(self) -> "Progress":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, row: dict[str, Any]) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=row["examples"], epoch=row["epoch"], text=describe(row))

    def finish(self, row: dict[str, Any]) -> None:
        """Leave a line for the epoch behind and restart the bar."""
        if self._bar is not None:
            line = f"epoch {row['epoch']:>4}  {describe(row)}  {row['seconds']:.2f} s"
            self._bar.console.print(line, highlight=False)
            self._bar.update(self._task, completed=0)

    def say(self, stop_reason: str) -> None:
        if self._bar is not None:
            self._bar.console.print(f"stopped: {stop_reason}", highlight=False)


def describe(row: dict[str, Any]) -> str:
    """Return one epoch in words, the same in the bar and on the command line."""
    text = f"{row['mistakes']:,} mistakes in {row['examples']:,} examples"
    if row["updates"] != row["mistakes"]:
        text = f"{row['mistakes']:,} mistakes and {row['updates']:,} updates in {row['examples']:,} examples"
    if row["validation_accuracy"] is not None:
        text += f", accuracy {100 * row['validation_accuracy']:.2f}% on held-out examples"
    if "validation_phrase_f1" in row:
        text += f", phrase F1 {100 * row['validation_phrase_f1']:.2f}%"
    return text
