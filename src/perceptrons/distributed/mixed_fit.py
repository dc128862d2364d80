"""`MixedFit`: an epoch over all shards and the mix at its end, as the loop over epochs takes them."""

import copy
import json
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from perceptrons.distributed.clients import TRIES, gathering, is_near, sent
from perceptrons.distributed.linear_shards import Begun
from perceptrons.distributed.mixing import (
    Move,
    Turn,
    accuracy,
    contradicted,
    finish,
    first_block,
    mix,
    next_block,
    shares,
    start_of,
    total,
    view,
    whole_pass,
    write_out,
)
from perceptrons.distributed.shards import Shards
from perceptrons.engine.passes.average import SCALE
from perceptrons.engine.training.base import learner_of, set_learner
from perceptrons.engine.training.epochs import Counts, Outcome, Trainee, new_row
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.weights import Weights
from perceptrons.modelfile.checkpoint import Checkpoint
from perceptrons.sequence.phrases import PhraseCounts

FAN = 8  # moves that are added up at a time; more shards make a tree

Watch = Callable[[dict[str, Any]], None]


class MixedFit(Trainee):
    """The model on this side and its shards on the workers, as the loop in `training/epochs.py` trains them."""

    def __init__(
        self, estimator: Any, data: Shards, begun: Begun, mixing: str, outcome: Outcome, before: dict[str, Any],
        checkpoint: Checkpoint | None, watch: Watch | None,
    ):  # fmt: skip
        self.estimator, self.data, self.begun, self.mixing, self.outcome = estimator, data, begun, mixing, outcome
        self.client, self.learner, self.watch = data.client, learner_of(estimator), watch
        self.checkpoint, self.earlier = checkpoint, before["history"]  # history of the run that this one resumes
        seed, epochs = self.learner.seed, self.learner.epochs
        self.orders: list[dict[str, Any]] = before["orders"] or [
            self.learner.rng.bit_generator.state
            if not i
            else np.random.default_rng([seed, i, epochs]).bit_generator.state
            for i in range(len(data))
        ]
        self.alone = len(data) == 1
        if not self.alone:
            write_out(self.learner.weights)
        self._futures: list[Any] = []

    # ---- the epoch

    def begin_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        """One pass over every shard, then the mix. While workers are busy, empty counts let Ctrl-C and clocks work."""
        self._save_if_due()
        began = time.perf_counter()
        for left in reversed(range(TRIES)):
            try:
                self._submit()
                results = yield from self._results()
                break
            except CancelledError as error:
                self.data.mend(error, left)
        self._futures = []
        reports = self._take(results)
        self.orders = [report.orders for report in reports]
        self.learner.rng.bit_generator.state = self.orders[0]
        row = self.outcome.history[-1]
        row["shards"] = {
            name: [getattr(report, name) for report in reports]
            for name in ("examples", "mistakes", "updates", "seconds")
        } | {"weights": shares(reports, self.mixing == "uniform")}
        seconds = time.perf_counter() - began
        yield Counts(
            *(sum(getattr(report, name) for report in reports) for name in ("examples", "mistakes", "updates", "loss"))
        )
        self._tell(len(self.data), seconds)

    def _submit(self) -> None:
        """Ask for the passes over all shards, and for their sums where there are many."""
        weights = self.learner.weights
        start: Any = weights if self.alone else start_of(weights)
        size = sum(part.nbytes for part in view(weights)[1:5]) if self.alone else start.nbytes
        start = sent(self.data.workers, start, size, len(self.data))
        turn, uniform = Turn(self._epoch, not self._epochs_before), self.mixing == "uniform"
        if all(len(parts) == 1 for parts in self.data.parts):
            n, parts = len(self.data), [parts[0] for parts in self.data.parts]
            several = [start] * n, self.orders, parts, [turn] * n, [uniform] * n
            passes = self.client.map(whole_pass, *several, pure=False)  # one message for all
        else:
            passes = [self._pass(start, number, turn, uniform) for number in range(len(self.data))]
        self.passes = passes
        while len(passes) > FAN:
            groups = [passes[i : i + FAN] for i in range(0, len(passes), FAN)]
            passes = self.client.map(total, groups, pure=False)
        self._futures = passes

    def _pass(self, start: Any, number: int, turn: Turn, uniform: bool) -> Any:
        """The pass over a shard: one task per block, and each starts from where the one before it ended."""
        parts, orders, submit = self.data.parts[number], self.orders[number], self.client.submit
        places = np.arange(len(parts))
        if self.begun.common.shuffle and not turn.first and len(parts) > 1:
            rng = np.random.default_rng()
            rng.bit_generator.state = orders
            places, orders = rng.permutation(len(parts)), rng.bit_generator.state
        running = submit(first_block, start, orders, parts[places[0]], turn, pure=False)
        for place in places[1:].tolist():
            running = submit(next_block, running, parts[place], turn, pure=False)
        return running if self.alone else submit(finish, running, start, uniform, pure=False)

    def _take(self, results: list[Any]) -> tuple[Any, ...]:
        """Make the results the common weights; returns the reports of all shards."""
        weights = self.learner.weights
        with Uninterrupted():
            if self.alone:
                running = results[0]
                _copy(weights, running.weights)
                reports: tuple[Any, ...] = (running.report,)
            else:
                move: Move = total(results)
                mix(weights, move)
                reports = move.reports
            self.learner.changed()
        return reports

    # ---- waiting for a cluster that may fail

    def _results(self) -> Generator[Counts, None, list[Any]]:
        began = time.perf_counter()
        waiting = gathering(self.data.workers, self._futures, direct=is_near(self.client))
        while True:
            try:
                next(waiting)
            except StopIteration as end:
                return end.value
            self._tell(sum(future.status == "finished" for future in self.passes), time.perf_counter() - began)
            yield Counts(0, 0, 0, 0.0)

    def give_up(self) -> None:
        """Whatever is still asked of the workers is not wanted any more."""
        for future in self._futures:
            future.release()
        self._futures, self.passes = [], []

    # ---- what the loop asks

    def accuracy(self) -> float:
        return self.judge(new_row(0))

    def judge(self, row: dict[str, Any]) -> float:
        """On what the shards hold out, computed where it is."""
        weights = copy.deepcopy(self.learner.weights)
        w, rest = self.learner.predicting(self.estimator.combine)
        if isinstance(weights, Weights):
            now = view(weights)
            now.w[:], now.rest[:] = w.T, rest
            weights.arrays["clock"][:, SCALE] = 1.0
        else:
            weights.w, weights.arcs = w, rest
        found = [each for each in self.data.ask(accuracy, start_of(weights)) if each[1]]
        right = sum(share * n for share, n, *_ in found) / sum(n for _, n, *_ in found)
        row["validation_accuracy"] = found[0][0] if len(found) == 1 else right
        if len(found[0]) == 2:
            return row["validation_accuracy"]
        row["validation_phrase_f1"] = PhraseCounts(*[int(sum(column)) for column in zip(*found, strict=True)][2:]).f1
        return row["validation_phrase_f1"]

    def change(self) -> float:
        return self.begun.fit.change()

    def settled(self, row: dict[str, Any]) -> str:
        reason = self.begun.fit.settled(row)
        if reason == "converged" and getattr(self.estimator, "zero_score", None) == "correct":
            return "stuck" if any(self.data.ask(contradicted, start_of(self.learner.weights))) else reason
        return reason

    # ---- telling and saving

    @property
    def _epochs_before(self) -> int:
        """Epochs before the present one, counted from the start of this run or of the run that it resumes."""
        return len(self.earlier) + len(self.outcome.history) - 1

    def _tell(self, done: int, seconds: float) -> None:
        if self.watch is not None:
            row = self.outcome.history[-1]
            counts = (
                {name: row["shards"][name] for name in ("examples", "mistakes", "updates")} if "shards" in row else {}
            )
            told = {"epoch": row["epoch"], "shards": len(self.data), "done": done, "seconds": seconds}
            self.watch(told | counts | self.begun.told)

    def _save_if_due(self) -> None:
        if self.checkpoint is not None and len(self.outcome.history) > 1 and self.checkpoint.due():
            self.save(Outcome(self.outcome.history[:-1]), done=False)

    def save(self, outcome: Outcome, done: bool, ended: bool = False) -> None:
        """Write a checkpoint of the model as it is after these epochs. ended: they are counted already."""
        assert self.checkpoint is not None
        model = copy.copy(self.estimator)
        set_learner(model, copy.copy(self.learner))
        if not ended:
            learner_of(model).trained(outcome)
        model._tell(Outcome(self.earlier + outcome.history, outcome.stop_reason, outcome.returned_to))
        self.checkpoint.write(model, self.place(done))

    def place(self, done: bool) -> dict[str, Any]:
        return {
            "shards": len(self.data), "mixing": self.mixing, "orders": self.orders, "done": done,
            "about": json.loads(json.dumps(self.begun.about)),
        }  # fmt: skip


def _copy(mine: Any, theirs: Any) -> None:
    """Make weights what others are, where they are in memory."""
    if isinstance(mine, Weights):
        for name, array in theirs.arrays.items():
            np.copyto(mine.arrays[name], array)
        return
    mine.restore(theirs.snapshot())
