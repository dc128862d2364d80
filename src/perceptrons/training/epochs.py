"""The loop over epochs: shuffle, learn, count, write history, decide whether to stop (spec 5)."""

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from perceptrons.passes.orders import shuffled
from perceptrons.training.interrupts import Uninterrupted
from perceptrons.training.learner import Learner
from perceptrons.training.learning import (
    MANY_EXAMPLES,
    PIECE,
    Examples,
    check_overflow,
    judge_last,
    learn,
    mistakes_of,
    piece_size,
    pieces,
)
from perceptrons.training.method import ZERO_WHEN_PREDICTING, Method
from perceptrons.training.progress import Progress
from perceptrons.training.votes import take
from perceptrons.training.weights import SettlingAverage


class Plan(NamedTuple):
    """How to train: the estimator's parameters that matter to the loop."""

    combine: str
    method: Method
    max_iter: int
    tol: float | None
    shuffle: bool
    n_iter_no_change: int
    max_seconds: float | None
    verbose: bool


@dataclass
class Outcome:
    """What training did: a row of history per epoch, and why it stopped."""

    history: list[dict[str, Any]] = field(default_factory=list)
    stop_reason: str = ""
    returned_to: float = float("inf")  # the epoch whose weights were kept, if early stopping went back to one


def new_row(epoch: int) -> dict[str, Any]:
    """A row of history before its epoch."""
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
    learner: Learner,
    examples: Examples,
    plan: Plan,
    *,
    train: np.ndarray | None,
    held_out: np.ndarray | None,
    outcome: Outcome,
) -> None:
    """Train until a rule says stop. train, held_out: which examples to learn from (None: all) and to score on.

    The generator of orders is part of the model, so that a resumed training goes on with the next. The weights end as
    the best epoch left them if examples were held out, else as the last one did. outcome is filled as training goes,
    so that it is right also after an interruption.
    """
    weights, votes, method, epochs_before = learner.weights, learner.votes, plan.method, learner.epochs
    n = len(examples.y) if train is None else len(train)
    judged_on = np.arange(n) if train is None else train
    piece = piece_size(examples, weights, PIECE, method.batch)
    began = time.perf_counter()
    taken = np.full(len(examples.y) if votes else 0, -1)  # for voting: which support example each row is
    best = _Best()
    weights.arrange(
        examples.rows, by_row=examples.problems is not None and examples.problems.duels and n >= MANY_EXAMPLES
    )
    average = None if plan.tol is None else SettlingAverage(weights)
    with Progress(plan.verbose, plan.max_iter, n) as progress, Uninterrupted() as hold:
        for epoch in range(epochs_before + 1, epochs_before + plan.max_iter + 1):
            order = shuffled(n, learner.rng) if plan.shuffle else np.arange(n)
            if train is not None:
                order = train[order]
            epoch_began = time.perf_counter()
            row = new_row(epoch)
            outcome.history.append(row)
            out_of_time = False
            for part in pieces(order, piece):
                counts = learn(weights, examples, part, method, judged_on=judged_on, votes=votes, taken=taken)
                row["examples"] += len(part)
                row["mistakes"] += counts.mistakes
                row["updates"] += counts.updates
                row["loss"] += counts.loss
                hold.let()
                check_overflow(counts, method, weights.dtype)
                progress.advance(row)
                out_of_time = plan.max_seconds is not None and time.perf_counter() - began >= plan.max_seconds
                if out_of_time:
                    break
            judge_last(weights, examples, judged_on, method.zero_score)
            if held_out is not None:
                row["validation_accuracy"] = held_out_accuracy(learner, examples, held_out, plan)
            row["norm"] = weights.norm()
            row["seconds"] = time.perf_counter() - epoch_began
            progress.finish(row)
            if held_out is not None:
                best.consider(row, learner)
            if row["examples"] == n and settled(row, method):
                outcome.stop_reason = "converged"
            elif out_of_time:
                outcome.stop_reason = "max_seconds"
            elif held_out is not None and epoch - best.epoch >= plan.n_iter_no_change:
                outcome.stop_reason = "early_stopping"
            elif average is not None and plan.tol is not None and average.change() < plan.tol:
                outcome.stop_reason = "tol"
            if outcome.stop_reason:
                break
        outcome.stop_reason = outcome.stop_reason or "max_iter"
        progress.say(outcome.stop_reason)
    if held_out is not None:
        best.restore(learner)
        outcome.returned_to = best.epoch


def hold_out(codes: np.ndarray, weight: np.ndarray | None, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two sorted sets of examples, to train on and to score on: of every class about the same share, never all of it.

    Examples of weight 0 are in neither.
    """
    order = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    counts = np.bincount(codes[order])
    spare = np.maximum(counts - 1, 0)
    total = min(max(1, round(fraction * len(order))), spare.sum())
    if total < 1:
        raise ValueError(
            "No example can be held out: every class has a single one. Give more, or early_stopping=False."
        )
    share = total * counts / len(order)
    quota = np.minimum(share.astype(int), spare)
    for code in np.argsort(quota - share, kind="stable"):  # what rounding left over goes where most is missing
        quota[code] += min(spare[code] - quota[code], 1, total - quota.sum())
    order = np.random.default_rng([seed, len(order)]).permutation(order)
    held_out = np.zeros(len(codes), bool)
    for code, size in enumerate(quota):
        held_out[order[codes[order] == code][:size]] = True
    order.sort()
    return order[~held_out[order]], order[held_out[order]]


def settled(row: dict[str, Any], method: Method) -> bool:
    """Will no example ever ask for an update again? Shrunk weights lose what margin they have."""
    return row["mistakes"] == row["updates"] == 0 and not (method.shrink > 0 and method.demanding)


def held_out_accuracy(learner: Learner, examples: Examples, held_out: np.ndarray, plan: Plan) -> float:
    """Accuracy, on the held-out examples, of exactly the weights that would be returned now."""
    zero_score, weight = plan.method.zero_score, examples.weight
    total = float(len(held_out) if weight is None else weight[held_out].sum())
    if learner.has_problems or plan.combine == "vote":
        learner.changed()
        X = take(examples.rows, held_out, learner.weights.n_features)
        winners = learner.winners(learner.scores(X, plan.combine, zero_score), zero_score)
        y = examples.y[held_out]
        if learner.scheme == "labels" and examples.problems is not None:
            right = (winners == (examples.problems.sign[y] > 0)).all(axis=1)
        else:
            right = winners == (y > 0 if learner.weights.n_rows == 1 else y)
        return float(right.sum() if weight is None else weight[held_out][right].sum()) / total
    learner.changed()
    model = learner.predicting(plan.combine)
    return 1.0 - mistakes_of(model, examples, held_out, ZERO_WHEN_PREDICTING[zero_score]) / total


class _Best:
    """The best epoch so far on held-out examples, and everything needed to return to it."""

    def __init__(self) -> None:
        self.accuracy, self.epoch = -1.0, 0
        self.kept: tuple[Any, Any] | None = None

    def consider(self, row: dict[str, Any], learner: Learner) -> None:
        if row["validation_accuracy"] > self.accuracy:
            self.accuracy, self.epoch = row["validation_accuracy"], row["epoch"]
            self.kept = learner.weights.snapshot(), None if learner.votes is None else learner.votes.snapshot()

    def restore(self, learner: Learner) -> None:
        if self.kept is not None:
            learner.weights.restore(self.kept[0])
            if learner.votes is not None:
                learner.votes.restore(self.kept[1])
