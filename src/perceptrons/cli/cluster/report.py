"""What `perceptrons train` says of a run on a cluster when it is done, for people and for machines."""

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perceptrons.cli.columns import audit, hashing_in_words
from perceptrons.cli.screen import count, listed
from perceptrons.cli.stream import report as of_streams
from perceptrons.cli.stream.report import StreamRun
from perceptrons.cli.weights import rows_of
from perceptrons.cli.wording import settings, why_it_stopped

if TYPE_CHECKING:
    from rich.console import Console

COUNTED = {"mistakes": "by their mistakes", "uniform": "all the same"}


@dataclass
class ClusterRun(StreamRun):
    """A finished training on a cluster. scheduler: its address. workers: how many it had when it began."""

    scheduler: str
    workers: int


def summary(run: ClusterRun) -> dict[str, Any]:
    """Everything as JSON knows it."""
    model: Any = run.model
    mixed = {"shards": model.n_shards_, "mixing": model.mixing_, "bound": bound_of(model)}
    return of_streams.summary(run) | {"scheduler": run.scheduler, "workers": run.workers} | mixed


def bound_of(model: Any) -> dict[str, Any] | None:
    """The theorem's bound, its numbers and in words; None where the theorem says nothing."""
    bound = getattr(model, "mixing_bound_", None)
    return None if bound is None else {**vars(bound), "holds": bound.holds, "why": bound.explain()}


def show(run: ClusterRun, console: "Console") -> None:
    """The report for people, below the lines of the epochs."""
    model: Any = run.model
    rows = rows_of(model, mirrored=False)
    hashing = audit(model, rows, 10)
    if changed := settings(model):
        console.print(f"\nSettings: {changed}", markup=False)
    took = f"Stopped after {count(model.n_iter_, 'epoch')} in {run.seconds:.2f} s."
    console.print(f"\n{took} {why_it_stopped(model)}", markup=False)
    mixed = f"{count(model.n_shards_, 'shard')}, counted {COUNTED[model.mixing_]}" if model.n_shards_ > 1 else "1 shard"
    console.print(f"{count(run.workers, 'worker')}, {mixed}", markup=False)
    bound = bound_of(model)
    if bound is not None:
        console.print(bound["why"], markup=False)
    features = count(model.n_features_in_, "feature") if hashing is None else hashing_in_words(hashing)
    classes = model.classes_.tolist()
    console.print(f"{features[0].upper()}{features[1:]}; {len(classes)} classes: {listed(classes, 6)}", markup=False)
    of_streams.show_result(run, rows, suggestions(run), console)


def suggestions(run: ClusterRun) -> list[tuple[str, str]]:
    """At most three commands that make sense after this run, each with its reason."""
    found = []
    if run.output is None:
        found.append((f"{run.again()} -o new.model", "save the model, to predict, evaluate and inspect with it"))
    else:
        saved = shlex.quote(str(run.output))
        found.append((f"perceptrons predict {saved} NEW-DATA", "predict, a label a line"))
        found.append((f"perceptrons inspect {saved} --top 20", "look at more weights"))
    if run.test is None:
        found.append((f"{run.again()} --test FILE", "test it on examples it has not seen"))
    if run.model.stop_reason_ == "max_iter":
        found.append((f"{run.again('epochs')} --epochs {2 * run.epochs}", "it had not settled: give it more epochs"))
    return found[:3]
