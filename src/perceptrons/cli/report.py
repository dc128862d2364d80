"""What `perceptrons train` says when it is done, for people and for machines."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.columns import names_of
from perceptrons.cli.digits import pictures
from perceptrons.cli.files import is_kernel, scored, winners
from perceptrons.cli.quality import Quality, beside, measure
from perceptrons.cli.screen import bar, count, grid, heading, percent
from perceptrons.cli.support import kernel_facts, kernel_in_words, support_in_words, support_names, top_support
from perceptrons.cli.weights import rows_of, show_rows, top_by_row
from perceptrons.cli.wording import apart, settings, why_it_stopped
from perceptrons.training.wording import shown_epochs

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons import SequencePerceptron
    from perceptrons.cli.files import AnyModel
    from perceptrons.data import Table

ROWS = 12  # lines at most of telling weights


@dataclass
class Run:
    """A finished training: the model, what it learned from, what it is tested on (None: nothing), where it is saved."""

    model: "AnyModel"
    table: "Table"
    held_out: "Table | None"
    split: str
    data: Path | None
    output: Path | None
    again: str  # the command that learns from the same data by the same rule

    def qualities(self) -> tuple[Quality | None, Quality | None]:
        """In training and in the test. Voting is slow to predict: then in training only if there is no test."""
        slow = self.model.combine == "vote" and self.held_out is not None
        train, test = (
            None
            if table is None
            else measure(self.model.classes_, table.y, winners(self.model, scored(self.model, table.X)))
            for table in (None if slow else self.table, self.held_out)
        )
        return train, test


def summary(run: Run) -> dict[str, Any]:
    """Everything as JSON knows it."""
    model, (train, test) = run.model, run.qualities()
    if is_kernel(model):
        inside = {**kernel_facts(model), "support": top_support(model, rows_of(model), 10, run.table.lines)}
    else:
        inside = {"weights": top_by_row(model, rows_of(model), 10)}
    return {
        "data": "digits" if run.data is None else str(run.data),
        "model": None if run.output is None else str(run.output),
        "parameters": model.get_params(),
        "classes": model.classes_.tolist(),
        "n_features": model.n_features_in_,
        "examples": run.table.X.shape[0],
        "test_examples": 0 if run.held_out is None else run.held_out.X.shape[0],
        "epochs": model.n_iter_,
        "updates": model.n_updates_,
        "mistakes": model.mistakes_.tolist(),
        "history": model.history_,
        "stop_reason": model.stop_reason_,
        "why": why_it_stopped(model),
        "train_accuracy": None if train is None else train.accuracy,
        "test_accuracy": None if test is None else test.accuracy,
        **inside,
    }


def show(run: Run, console: "Console") -> None:
    """The report for people."""
    model, (train, test) = run.model, run.qualities()
    name = "Handwritten digits of 8 by 8 pixels (from scikit-learn)" if run.data is None else str(run.data)
    size = f"{count(model.n_features_in_, 'feature')}, {count(len(model.classes_), 'class', 'classes')}"
    console.print(f"{name}: {size}\n{run.split}", markup=False)
    if changed := settings(model):
        console.print(f"Settings: {changed}", markup=False)
    if is_kernel(model):
        console.print(f"Kernel: {kernel_in_words(model)}", markup=False)
    console.print(heading(f"Mistakes while learning{apart(model)}"), mistakes(model, console))
    seconds = sum(row["seconds"] for row in model.history_)
    console.print(
        f"\nStopped after {count(model.n_iter_, 'epoch')} in {seconds:.2f} s. {why_it_stopped(model)}", markup=False
    )
    if is_kernel(model):
        console.print(f"It keeps {support_in_words(model, run.table.X.shape[0])}.")
    if test is not None:
        console.print(f"Test accuracy {percent(test.accuracy)} ({beside(test)})", markup=False, style="bold")
    if train is not None:
        compared = beside(train) if test is None else f"{train.right:,} of {train.total:,}"
        console.print(f"Training accuracy {percent(train.accuracy)} ({compared})", markup=False)
    (show_support if is_kernel(model) else show_weights)(run, console)
    if run.output is not None:
        console.print(f"\nSaved as {run.output}", markup=False, soft_wrap=True)
    console.print(heading("What to try next"))
    for command, why in suggestions(run, train, test):
        console.print(f"  {command}", markup=False, soft_wrap=True, style="cyan")
        console.print(f"      {why}", markup=False, style="dim")


def mistakes(model: "AnyModel | SequencePerceptron", console: "Console") -> Any:
    """A bar per epoch, and its updates if they are others; of very many epochs the first, some, and the last."""
    rows = model.history_
    validated = rows[0]["validation_accuracy"] is not None
    updates = any(row["updates"] != row["mistakes"] for row in rows)
    more = [("updates", "right")] * updates + [("right on held-out examples", "right")] * validated
    table = grid(("epoch", "right"), ("mistakes", "right"), ("", "left"), *more)
    longest = max(8, min(32, console.width - 18 - 28 * validated - 9 * updates))
    most = max(1, *(row["mistakes"] for row in rows))
    for place in shown_epochs(len(rows)):
        row = rows[place]
        cells = [f"{row['epoch']}", f"{row['mistakes']:,}", bar(row["mistakes"] / most, longest, console)]
        if updates:
            cells.append(f"{row['updates']:,}")
        if validated:
            cells.append(percent(row["validation_accuracy"]))
        table.row(*cells)
    return table


def show_weights(run: Run, console: "Console") -> None:
    from perceptrons.theory.scales import scaler_for

    model = run.model
    rows = rows_of(model, mirrored=False)
    title = {"class": " of each class", "pair": " of each pair: those above 0 speak for its second"}[rows[0].thing]
    console.print(heading("Most telling weights" + title * (len(rows) > 1)))
    show_rows(rows, names_of(model), 6 if len(rows) == 1 else 3, ROWS, console)
    picture = pictures(model, console) if run.data is None else None
    if picture is not None:
        console.print(heading("Weights as pictures: shades speak for the digit, dots against it"))
        console.print(picture)
    if scaler_for(run.table.X, model) is not None:
        console.print(
            "The features differ widely in scale, so their weights cannot be compared; scaling them may also help.",
            style="yellow",
        )


def show_support(run: Run, console: "Console") -> None:
    from perceptrons.theory.scales import scaler_for

    model = run.model
    assert is_kernel(model)
    rows, names = rows_of(model, mirrored=False), support_names(model, run.table.lines)
    console.print(heading("Support examples with the largest coefficients" + " of each class" * (len(rows) > 1)))
    show_rows(rows, names, 6 if len(rows) == 1 else 3, ROWS, console, ("example", "coefficient"))
    if model.kernel != "cosine" and scaler_for(run.table.X, model) is not None:
        console.print(
            "The features differ widely in scale, and the kernel hears the largest only: scale them first.",
            style="yellow",
        )


def suggestions(run: Run, train: Quality | None, test: Quality | None) -> list[tuple[str, str]]:
    """At most three commands that make sense after this run, each with its reason."""
    model, again, found = run.model, run.again, []
    if run.output is None:
        name = shlex.quote("digits.model" if run.data is None else f"{run.data.name.split('.')[0]}.model")
        found.append((f"{again} -o {name}", "save the model, to predict, evaluate and inspect with it"))
    elif run.data is not None:
        saved = shlex.quote(str(run.output))
        found.append((f"perceptrons predict {saved} NEW-DATA", "predict, a label a line"))
        more = "support examples" if is_kernel(model) else "weights"
        found.append((f"perceptrons inspect {saved}", f"look at more {more}"))
    else:
        found.append(
            (f"perceptrons inspect {shlex.quote(str(run.output))} --class 3", "all that tells a 3 from other digits")
        )
    if model.stop_reason_ == "max_iter":
        found.append((f"{again} --max-iter {2 * model.max_iter}", "it had not settled: give it more epochs"))
    elif train and test and train.accuracy - test.accuracy > 0.03 and not model.early_stopping:
        found.append((f"{again} --early-stopping", "it knows the training examples better than others: stop earlier"))
    elif model.combine == "average":
        final = "coefficients" if is_kernel(model) else "weights"
        found.append((f"{again} --combine last", f"see what averaging is good for: the final {final} alone"))
    if run.data is None:
        found.append(("perceptrons train YOUR.csv", "learn from your own table, the label in its last column"))
    return found[:3]
