"""What workers are asked to do: small functions of their arguments alone, so that Dask may run any of them again."""

import copy
import time
from typing import Any, NamedTuple

import numpy as np

from perceptrons.distributed.mixing import AnyWeights, Move, Report, Start, move_of
from perceptrons.distributed.parts import Facts


class Running(NamedTuple):
    """A pass over a shard that is on its way from block to block, or over. weights: the shard's own."""

    weights: AnyWeights
    report: Report


def facts_of(part: Any) -> Facts:
    return part.facts()


def ready(part: Any, common: Any, mapping: Any) -> Any:
    """The part, prepared for learning."""
    return part.ready(common, mapping)


def n_train(part: Any) -> int:
    """How many examples the part has to learn from; and it is ready then."""
    return part.n_train


def n_all(part: Any) -> int:
    return part.n


def begin(start: Start | AnyWeights, orders: dict[str, Any]) -> Running:
    """A pass that has visited nothing yet. start: weights of a lone shard go on with their average."""
    weights = start.begin() if isinstance(start, Start) else copy.deepcopy(start)
    return Running(weights, Report(0, 0, 0, 0.0, 0.0, orders))


def visit(running: Running, part: Any, first: bool) -> Running:
    """The pass goes on over one more block. first: is it the first epoch?  Changes running, which must be one's own."""
    began = time.perf_counter()
    weights, report = running
    rng = np.random.default_rng()
    rng.bit_generator.state = report.orders
    examples, mistakes, updates, loss, seconds, _ = report
    for counts in part.visits(weights, rng, first):
        examples += counts.examples
        mistakes += counts.mistakes
        updates += counts.updates
        loss += counts.loss
    seconds += time.perf_counter() - began
    return Running(weights, Report(examples, mistakes, updates, loss, seconds, rng.bit_generator.state))


def first_block(start: Start | AnyWeights, orders: dict[str, Any], part: Any, first: bool) -> Running:
    return visit(begin(start, orders), part, first)


def next_block(running: Running, part: Any, first: bool) -> Running:
    return visit(copy.deepcopy(running), part, first)


def finish(running: Running, start: Start, uniform: bool) -> Move:
    """What the pass came to, for mixing."""
    return move_of(start, running.weights, running.report, uniform)


def whole_pass(start: Start | AnyWeights, orders: dict[str, Any], part: Any, first: bool, uniform: bool) -> Any:
    """The pass over a shard of one block: a Move; of a lone shard, a Running with all that the weights are."""
    running = first_block(start, orders, part, first)
    return finish(running, start, uniform) if isinstance(start, Start) else running


def accuracy(part: Any, start: Start) -> tuple[float, float]:
    return part.accuracy(start.begin())


def contradicted(part: Any, start: Start) -> bool:
    return part.contradicted(start.begin())


def forget(part: Any) -> None:
    part.forget()
