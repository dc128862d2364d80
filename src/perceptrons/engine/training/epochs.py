"""The loop over epochs: shuffle, learn, count, write history, decide whether to stop; and who watches it.

`hold_out` splits off the validation set. `Progress` is the live bar. A `Recorder` looks at every visit.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from perceptrons.engine.passes.order import shuffled
from perceptrons.engine.training.interrupts import Uninterrupted

if TYPE_CHECKING:
    from perceptrons.engine.training.protocols import Learner

FINAL_STOP_REASONS = ("converged", "stuck")  # reasons to stop after which more epochs change nothing


class Counts(NamedTuple):
    """The result of training on some examples."""

    examples: int = 0
    mistakes: int = 0
    updates: int = 0
    loss: float = 0.0
    overflowed: bool = False  # did the pass end at an example whose step would overflow?

    def plus(self, more: "Counts") -> "Counts":
        examples, mistakes, updates, loss, _ = more
        return Counts(self.examples + examples, self.mistakes + mistakes, self.updates + updates, self.loss + loss)


L = TypeVar("L", bound="Learner")


class Trainee(ABC, Generic[L]):
    """A model and its training set as the loop sees them: `learner.py` has the linear ones."""

    learner: L

    def begin_epoch(self, epoch: int) -> None:
        """Prepare for this epoch, counted from 1 since the start of the model."""

    @abstractmethod
    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        """Learn from the examples in this order; between two pieces of it everything is in order."""

    def end_epoch(self) -> None:
        """Finish an epoch after all its visits."""

    @abstractmethod
    def accuracy(self) -> float:
        """Return the share of the held-out examples that the model predicts correctly as it is now."""

    def judge(self, row: dict[str, Any]) -> float:
        """Write into the row what the held-out examples say of the model, and return what the best epoch is chosen
        by."""
        row["validation_accuracy"] = self.accuracy()
        return row["validation_accuracy"]

    @abstractmethod
    def norm(self) -> float:
        """Return the norm of the last weights."""

    @abstractmethod
    def change(self) -> float:
        """Return by how much the average changed since the last call, relative to its norm."""

    def settled(self, row: dict[str, Any]) -> str:
        """Why no example will ever trigger an update again, after a full epoch that went as this row says: "converged",
        or "stuck" if some are answered wrongly all the same; "" if one may."""
        return "" if row["updates"] else "converged"

    def snapshot(self) -> Any:
        """Return a copy of everything that learning changes."""
        return self.learner.snapshot()

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot."""
        self.learner.restore(snapshot)


Visiting = Callable[[Trainee, np.ndarray], Iterator[Counts]]


class Plan(NamedTuple):
    """How to train: the estimator's parameters that matter to the loop."""

    max_iter: int
    tol: float | None
    shuffle: bool
    n_iter_no_change: int
    max_seconds: float | None
    verbose: bool


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


@dataclass
class Outcome:
    """What training did: a row of history per epoch, and why it stopped."""

    history: list[dict[str, Any]] = field(default_factory=list)
    stop_reason: str = ""
    returned_to: float = float("inf")  # the epoch whose weights were kept, if early stopping went back to one

    def count(self, column: str) -> int:
        """Return the number of mistakes or updates up to the epoch that was returned to."""
        return sum(row[column] for row in self.history if row["epoch"] <= self.returned_to)


def new_row(epoch: int) -> dict[str, Any]:
    """Return a row of history before its epoch."""
    return {
        "epoch": epoch,
        "examples": 0,
        "mistakes": 0,
        "updates": 0,
        "loss": 0.0,
        "validation_accuracy": None,
        "norm": None,
        "seconds": 0.0,
    }


def run_epochs(
    trainee: Trainee,
    plan: Plan,
    *,
    rng: np.random.Generator | None,
    epochs_before: int,
    n: int | None,
    train: np.ndarray | None,
    held_out: bool,
    outcome: Outcome,
    watch: Callable[[dict[str, Any]], None] | None = None,
    row: dict[str, Any] | None = None,
    visiting: Visiting | None = None,
) -> None:
    """Train until a rule says stop. n: examples, if known; train: which of them to learn from (None: all).

    The generator of orders is part of the model, so that resumed training continues with the next order; None: the
    trainee has orders of its own. If examples were held out, the model ends as the best epoch left it, otherwise
    as the last one did. outcome is filled during training, so that it is right even after an interruption. watch gets
    every row at the end of its epoch, and may then predict with the model as it is. row: of the epoch in which an
    earlier run stopped, to be resumed. visiting: replaces `trainee.visit` for a caller that watches every visit.
    """
    n = n if train is None else len(train)
    began = time.perf_counter()
    best = _Best()
    if plan.tol is not None:
        trainee.change()
    quiet = np.errstate(over="ignore")  # of squares in norms
    with Progress(plan.verbose, plan.max_iter, n) as progress, Uninterrupted() as hold, quiet:
        for epoch in range(epochs_before + 1, epochs_before + plan.max_iter + 1):
            row = row or new_row(epoch)
            epoch_began = time.perf_counter() - row["seconds"]
            order = visiting_order(n, train, plan.shuffle, rng)
            if not outcome.history or outcome.history[-1] is not row:
                outcome.history.append(row)
            trainee.begin_epoch(epoch)
            visits = trainee.visit(order) if visiting is None else visiting(trainee, order)
            out_of_time = not _visit(visits, row, (began, epoch_began), plan.max_seconds, hold, progress)
            trainee.end_epoch()
            score = trainee.judge(row) if held_out else -1.0
            row["norm"] = trainee.norm()
            row["seconds"] = time.perf_counter() - epoch_began
            progress.finish(row)
            if watch is not None:
                watch(row)
            if held_out:
                best.consider(score, row, trainee)
            is_complete = row["examples"] == n or (n is None and not out_of_time)
            stale = held_out and epoch - best.epoch >= plan.n_iter_no_change
            outcome.stop_reason = _why_stop(trainee, plan.tol, row, is_complete, out_of_time, stale)
            if outcome.stop_reason:
                break
            row = None
        outcome.stop_reason = outcome.stop_reason or "max_iter"
        progress.say(outcome.stop_reason)
        if held_out:
            best.restore(trainee)
            outcome.returned_to = best.epoch


def _visit(
    visits: Iterator[Counts], row: dict[str, Any], began: tuple[float, float], max_seconds: float | None,
    hold: Uninterrupted, progress: Progress,
) -> bool:  # fmt: skip
    """Make these visits, and count them in the row. False: time was over, and the rest was left out.

    began: when training and when the epoch began.
    """
    for counts in visits:
        row["examples"] += counts.examples
        row["mistakes"] += counts.mistakes
        row["updates"] += counts.updates
        row["loss"] += counts.loss
        hold.let()
        progress.advance(row)
        now = time.perf_counter()
        row["seconds"] = now - began[1]
        if max_seconds is not None and now - began[0] >= max_seconds:
            return False
    return True


def _why_stop(
    trainee: Trainee, tol: float | None, row: dict[str, Any], is_complete: bool, out_of_time: bool, is_stale: bool
) -> str:
    """Return the reason to stop after this epoch, or "".

    is_complete: were all examples visited? is_stale: has accuracy on held-out examples not improved for long enough?
    """
    reason = trainee.settled(row) if is_complete else ""
    if reason or out_of_time:
        return reason or "max_seconds"
    if is_stale:
        return "early_stopping"
    return "tol" if tol is not None and trainee.change() < tol else ""


def why_unfinished(plan: Plan) -> str:
    """Return why training had not converged after max_iter epochs, and what to do about it."""
    if plan.tol is not None:
        reason = (
            f"the averaged weights still changed by more than tol={plan.tol:g} of their norm. Increase max_iter or tol"
        )
    else:
        reason = "it still made updates. Increase max_iter, or use combine='average', which converges on any data"
    return f"{reason}; tol=None trains max_iter epochs without this warning."


def visiting_order(
    n: int | None, train: np.ndarray | None, shuffle: bool, rng: np.random.Generator | None
) -> np.ndarray:
    """Return the order of an epoch over n examples, or over those of `train`; empty without a generator."""
    if rng is None or n is None:
        return np.empty(0, np.intp)
    order = shuffled(n, rng) if shuffle else np.arange(n)
    return order if train is None else train[order]


def pieces(order: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield the order in consecutive pieces."""
    for start in range(0, len(order), size):
        yield order[start : start + size]


def validation_split(
    codes: np.ndarray, weight: np.ndarray | None, fraction: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Split off the validation set of an estimator. Raise ValueError if too few examples are left for training."""
    used = codes if weight is None else codes[np.flatnonzero(weight)]
    classes, n_train = len(np.unique(used)), len(used) - round(fraction * len(used))
    parts = hold_out(codes, weight, fraction, seed)
    if n_train < classes:
        fewer = f", fewer than the number of classes ({classes})" if classes > 1 else ""
        raise ValueError(
            f"validation_fraction={fraction:g} of {len(used)} examples leaves {n_train} for training{fewer}: give more "
            "examples, or a smaller validation_fraction."
        )
    return parts


def hold_out(
    codes: np.ndarray,
    weight: np.ndarray | None,
    fraction: float,
    seed: int,
    *where: int,
    keys: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Two sorted sets of examples, to train on and to score on: of every class about the same share, never all of it.

    The only example of a class is trained on. Examples of weight 0 are in neither. where: which part of the data this
    is, if it is one of several. keys: equal for copies of an example, which are then in the same set unless that would
    distort the share.
    """
    order = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    counts = np.bincount(codes[order])
    spare = np.maximum(counts - 1, 0)
    if not spare.any():
        raise ValueError(
            "No examples can be held out: every class has only one. Give more examples, or use early_stopping=False "
            "and probability=None."
        )
    total = min(max(np.count_nonzero(spare), round(fraction * len(order))), spare.sum())
    expected = total * counts / len(order)
    quota = np.clip(expected.astype(int), np.minimum(spare, 1), spare)
    while quota.sum() > total:  # rare classes have one each: it comes from those with most
        quota[np.argmax(quota)] -= 1
    for code in np.argsort(quota - expected, kind="stable"):  # what rounding left over goes where most is missing
        quota[code] += min(spare[code] - quota[code], 1, total - quota.sum())
    order = np.random.default_rng([seed, len(order), *(where if any(where) else ())]).permutation(order)
    held_out = np.zeros(len(codes), bool)
    for code, size in enumerate(quota):
        rows = order[codes[order] == code]
        held_out[rows[:size] if keys is None else _take_copies_together(rows, keys[rows], int(size))] = True
    order.sort()
    return order[~held_out[order]], order[held_out[order]]


def _take_copies_together(rows: np.ndarray, keys: np.ndarray, size: int) -> np.ndarray:
    """Take `size` of these shuffled rows. Rows with equal keys are taken together, or not at all.

    There are two exceptions: copies that would fill more than a tenth of the places are taken one by one, and the last
    place may go to one of two copies.
    """
    copies_of, n_copies = np.unique(keys, return_inverse=True, return_counts=True)[1:]
    if len(n_copies) == len(rows):
        return rows[:size]
    first_row = np.full(len(n_copies), np.iinfo(rows.dtype).max, rows.dtype)
    np.minimum.at(first_row, copies_of, rows)
    # Copies have the place of the first in the data. The place of the first after shuffling favours frequent examples.
    leader = np.where(n_copies[copies_of] > max(2, size // 10), rows, first_row[copies_of])
    place = np.empty(rows.max() + 1, np.intp)
    place[rows] = np.arange(len(rows))
    in_order = rows[np.lexsort((np.arange(len(rows)), place[leader]))]
    leaders = leader[place[in_order]]
    starts = np.flatnonzero(np.r_[True, leaders[1:] != leaders[:-1]])
    is_taken = np.zeros(len(rows), bool)
    n_free = size
    for start, end in pairwise([*starts.tolist(), len(rows)]):
        if end - start <= n_free:
            is_taken[start:end] = True
            n_free -= end - start
        if not n_free:
            break
    is_taken[np.flatnonzero(~is_taken)[:n_free]] = True
    return in_order[is_taken]


class _Best:
    """The best epoch so far on held-out examples, and everything needed to return to it."""

    def __init__(self) -> None:
        self.score, self.epoch = -1.0, 0
        self.kept: Any = None

    def consider(self, score: float, row: dict[str, Any], trainee: Trainee) -> None:
        if score > self.score:
            self.score, self.epoch, self.kept = score, row["epoch"], trainee.snapshot()

    def restore(self, trainee: Trainee) -> None:
        if self.kept is not None:
            trainee.restore(self.kept)
