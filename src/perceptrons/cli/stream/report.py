"""What `perceptrons train` says of a stream when it is done, for people and for machines."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.columns import audit, hashing_in_words, names_of
from perceptrons.cli.quality import Quality, beside
from perceptrons.cli.report import mistakes
from perceptrons.cli.screen import count, heading, listed, percent
from perceptrons.cli.stream.reading import skipped_in_words
from perceptrons.cli.weights import rows_of, show_rows, top_by_row
from perceptrons.cli.wording import apart, settings, why_it_stopped

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons import Perceptron
    from perceptrons.cli.stream.keeping import SpokenCheckpoint
    from perceptrons.data.reader import Reader

ROWS = 12  # lines at most of telling weights
COMPLAINTS = 3  # shown to people
CROWDED = 0.1  # of the features; if more share a column, more columns may help


@dataclass
class StreamRun:
    """A finished training on a stream. test: how it answered the test, and its reader. again: the command to repeat."""

    model: "Perceptron"
    reader: "Reader"
    test: "tuple[Quality, Reader] | None"
    output: Path | None
    checkpoint: "SpokenCheckpoint | None"
    example: str | None
    epochs: int
    again: Callable[..., str]
    seconds: float

    @property
    def progress(self) -> list[dict[str, Any]]:
        """The table of the first epoch."""
        return [
            {"examples": examples, "mistakes": wrong, "error": wrong / examples}
            for examples, wrong in self.model.progress_
        ]


def summary(run: StreamRun) -> dict[str, Any]:
    """Everything as JSON knows it."""
    model, rows, progress = run.model, rows_of(run.model), run.progress
    quality, test_reader = run.test or (None, None)
    return {
        "data": run.example or [str(path) for path in run.reader.files],
        "model": None if run.output is None else str(run.output),
        "checkpoint": None if run.checkpoint is None else str(run.checkpoint.path),
        "resumed": run.checkpoint is not None and run.checkpoint.resumed,
        "source": model.source_,
        "parameters": model.get_params(),
        "classes": model.classes_.tolist(),
        "n_features": model.n_features_in_,
        "hashing": audit(model, rows, 10),
        "examples": model.history_[0]["examples"],
        "test_examples": 0 if quality is None else quality.total,
        "epochs": model.n_iter_,
        "updates": model.n_updates_,
        "mistakes": model.mistakes_.tolist(),
        "history": model.history_,
        "stop_reason": model.stop_reason_,
        "why": why_it_stopped(model),
        "progressive": progress,
        "progressive_error": progress[-1]["error"],
        "skipped": run.reader.skipped,
        "complaints": run.reader.complaints,
        "test_skipped": 0 if test_reader is None else test_reader.skipped,
        "test_accuracy": None if quality is None else quality.accuracy,
        "weights": top_by_row(model, rows, 10),
        "seconds": run.seconds,
    }


def show(run: StreamRun, console: "Console") -> None:
    """The report for people, below the table that was printed on the way."""
    model = run.model
    rows = rows_of(model, mirrored=False)
    hashing = audit(model, rows, 10)
    if changed := settings(model):
        console.print(f"\nSettings: {changed}", markup=False)
    if model.n_iter_ > 1:
        console.print(heading(f"Mistakes while learning{apart(model)}"), mistakes(model, console))
    console.print(
        f"\nStopped after {count(model.n_iter_, 'epoch')} in {run.seconds:.2f} s. {why_it_stopped(model)}", markup=False
    )
    features = count(model.n_features_in_, "feature") if hashing is None else hashing_in_words(hashing)
    classes = model.classes_.tolist()
    console.print(f"{features[0].upper()}{features[1:]}; {len(classes)} classes: {listed(classes, 6)}", markup=False)
    last = run.progress[-1]
    wrong = f"{last['mistakes']:,} of {last['examples']:,} wrong before they were learned from"
    console.print(f"Progressive error {percent(last['error'], 2)} ({wrong})", markup=False)
    show_result(run, rows, suggestions(run, hashing), console)


def show_result(run: Any, rows: list[Any], tries: list[tuple[str, str]], console: "Console") -> None:
    """What was skipped, how good the model is, its weights, where it is, and what to try next."""
    show_skipped(run.reader, console)
    if run.test is not None:
        quality, reader = run.test
        console.print(f"Test accuracy {percent(quality.accuracy)} ({beside(quality)})", markup=False, style="bold")
        show_skipped(reader, console)
    title = {"class": " of each class", "pair": " of each pair: those above 0 speak for its second"}[rows[0].thing]
    console.print(heading("Most telling weights" + title * (len(rows) > 1)))
    show_rows(rows, names_of(run.model), 10 if len(rows) == 1 else 3, ROWS, console)
    if run.output is not None:
        console.print(f"\nSaved as {run.output}", markup=False, soft_wrap=True)
    console.print(heading("What to try next"))
    for line, why in tries:
        console.print(f"  {line}", markup=False, soft_wrap=True, style="cyan")
        console.print(f"      {why}", markup=False, style="dim")


def show_skipped(reader: "Reader", console: "Console") -> None:
    if reader.skipped:
        console.print(f"{skipped_in_words(reader)}", style="yellow", markup=False, soft_wrap=True)
        for complaint in reader.complaints[1:COMPLAINTS]:
            console.print(f"    {complaint}", style="yellow", markup=False, soft_wrap=True)


def suggestions(run: StreamRun, hashing: dict[str, Any] | None) -> list[tuple[str, str]]:
    """At most three commands that make sense after this run, each with its reason."""
    model, found = run.model, []
    if run.output is None:
        found.append(
            (f"{run.again()} -o {_file_name(run)}", "save the model, to predict, evaluate and inspect with it")
        )
    else:
        saved = shlex.quote(str(run.output))
        new = 'echo "win a free prize" | perceptrons predict {} -' if run.example else "perceptrons predict {} NEW-DATA"
        found.append((new.format(saved), "predict, a label a line; - reads what you type or pipe into it"))
        one = f" --class {shlex.quote(str(model.classes_.tolist()[-1]))}"
        found.append((f"perceptrons inspect {saved} --top 20{one}", "look at more weights"))
    if hashing and hashing["features_sharing"] > CROWDED * hashing["features"]:
        more = min(31, hashing["bits"] + 2)
        found.append((f"{run.again('hash_bits')} --hash-bits {more}", "many features share a column: give them more"))
    if run.epochs == 1 and model.stop_reason_ == "max_iter":
        found.append((f"{run.again('epochs')} --epochs 5", "it has seen every example once: go on"))
    if not run.example and run.test is None:
        found.append((f"{run.again()} --test FILE", "test it on examples it has not seen"))
    if model.step == "constant":
        found.append((f"{run.again('step')} --step arow", "steps by confidence: often better in few passes"))
    return found[:3]


def _file_name(run: StreamRun) -> str:
    first = run.reader.files[0].name.split(".")[0]
    return shlex.quote(f"{run.example or first.strip('<>') or 'new'}.model")
