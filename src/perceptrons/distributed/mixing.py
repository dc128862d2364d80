"""Iterative parameter mixing: what passes over shards made of common weights, added up, and the weights they mix to.

Every epoch each shard makes one pass from the common weights v and ends at v_i, after k_i updates. The common weights
become v + sum_i mu_i (v_i - v) with mu_i = k_i / sum k, or 1 / shards (McDonald, Hall and Mann 2010). The average stays
what it is on one machine: the mean of the weights after every visit, on whichever shard.

Weights of all kinds are seen here as a tall matrix, and the rest: biases, or the arcs of a chain. A row of the matrix
is a feature of a linear model. Of a chain it is a feature and a label, number feature * labels + label, and there are
only those that have a weight.

What workers are asked to do is here too: small functions of their arguments alone, so that Dask may run any of them
again.
"""

import copy
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.passes.average import MASS, SCALE, SEEN, TOTAL, find_moved
from perceptrons.engine.training.weights import NEW_CLOCK, Weights
from perceptrons.sequence.chain_weights import ChainWeights, runs

AnyWeights = Weights | ChainWeights


class View(NamedTuple):
    """Weights scale * w, and rest, which no penalty scales (see passes/average.py).

    Their sums over the visits seen are mass * w - late and seen * rest - late_rest.
    """

    rows: np.ndarray | None  # which rows there are, ascending; None: all
    w: np.ndarray  # (rows, outputs)
    late: np.ndarray
    rest: np.ndarray  # its last axis is the outputs too
    late_rest: np.ndarray
    seen: np.ndarray  # (1,), or one an output
    mass: np.ndarray
    scale: np.ndarray


def view(weights: AnyWeights) -> View:
    """The arrays of the weights themselves; of the features of a chain, copies."""
    if isinstance(weights, ChainWeights):
        t, (features, labels, w, late) = weights.t, weights.entries()
        rows = features * weights.n_labels + labels
        return View(rows, w[:, None], late[:, None], weights.arcs, weights.late_arcs, t, t, np.ones(1))
    d, a = weights.n_features, weights.arrays
    tall, late, clock = a["w"][:, :d].T, a["late_w"][:, :d].T, a["clock"]
    return View(None, tall, late, a["b"], a["late_b"], clock[:, SEEN], clock[:, MASS], clock[:, SCALE])


def put(weights: ChainWeights, rows: np.ndarray, w: np.ndarray, late: np.ndarray) -> None:
    """Make these the weights of the features of a chain."""
    features, labels = np.divmod(rows, weights.n_labels)
    kind = weights.dtype
    weights.fill(*runs(features), labels.astype(np.int32), w[:, 0].astype(kind, copy=False), late[:, 0].copy())


def among(chain: View, more: Any) -> View:
    """The weights of a chain with more rows, in which they are 0."""
    assert chain.rows is not None
    rows = np.union1d(chain.rows, more)
    places, wider = np.searchsorted(rows, chain.rows), []
    for array in (chain.w, chain.late):
        wider.append(np.zeros((len(rows), 1), array.dtype))
        wider[-1][places] = array
    return chain._replace(rows=rows, w=wider[0], late=wider[1])


class Start(NamedTuple):
    """Common weights on their way to a shard: without their average, and without rows that are all 0."""

    kind: type
    shape: tuple[int, int]  # features and outputs
    columns: np.ndarray | None  # the rows that have weights; None: all
    w: np.ndarray
    rest: np.ndarray
    own_clocks: bool  # has every output its own?
    one: float  # the square of the constant feature of a linear model
    order: str  # of the matrix in memory

    @property
    def nbytes(self) -> int:
        return self.w.nbytes + self.rest.nbytes

    def begin(self) -> AnyWeights:
        """Weights to learn from here on."""
        dtype = self.w.dtype
        if self.kind is ChainWeights:
            assert self.columns is not None
            chain = ChainWeights(*self.shape, dtype)
            put(chain, self.columns, self.w, np.zeros(self.w.shape))
            chain.arcs[:] = self.rest
            return chain
        tall = np.empty(self.shape, dtype, order="C" if self.order == "F" else "F")
        if self.columns is not None:
            tall[:] = 0
        self._write(tall)
        weights = Weights(tall.T, self.rest.copy(), one=self.one)
        if self.own_clocks:
            weights.own_clocks()
        return weights

    def tall(self, rows: np.ndarray | None) -> np.ndarray:
        """The weights in these rows, which are all that have any; None: in all rows. Not to be changed."""
        if self.columns is None:
            return self.w
        tall = np.zeros(self.shape if rows is None else (len(rows), 1), self.w.dtype)
        self._write(tall, rows)
        return tall

    def _write(self, tall: np.ndarray, rows: np.ndarray | None = None) -> None:
        if rows is None:
            tall[slice(None) if self.columns is None else self.columns] = self.w
        else:
            tall[np.searchsorted(rows, np.asarray(self.columns))] = self.w


def start_of(weights: AnyWeights) -> Start:
    """The common weights, to be sent."""
    rows, w, _, rest, _, seen, *_ = view(weights)
    used = np.flatnonzero(w.any(axis=1))
    columns = None if rows is None and 2 * len(used) > len(w) else used
    linear = isinstance(weights, Weights)
    return Start(
        type(weights),
        w.shape if rows is None else (weights.n_features, len(rest) - 1),
        columns if rows is None else rows[used],
        w.copy() if columns is None else w[columns],
        rest.copy(),
        linear and len(seen) > 1,
        weights.one if isinstance(weights, Weights) else 0.0,
        "F" if linear and w.flags.c_contiguous else "C",
    )


class Report(NamedTuple):
    """How the pass over a shard went."""

    examples: int
    mistakes: int
    updates: int
    loss: float
    seconds: float
    orders: dict[str, Any]  # the state of the shard's generator


class Move(NamedTuple):
    """The result of the passes over some shards. Sums are over shards; v are the common weights, v_i a shard's."""

    weight: float  # sum of k_i
    idle: int  # shards without an update: they move the weights only where all are
    columns: np.ndarray | None  # the rows that moved, sorted; None: all
    step: np.ndarray  # sum of k_i (v_i - v); where all are idle, of v_i - v
    drift: np.ndarray  # sum over visits of the weights after each, minus v
    rest_step: np.ndarray
    rest_drift: np.ndarray
    seen: np.ndarray  # visits by weight, by clock
    t: float
    reports: tuple[Report, ...]


def move_of(start: Start, weights: AnyWeights, report: Report, uniform: bool) -> Move:
    """What the pass over one shard, from start to these weights, came to."""
    now = view(weights)
    if now.rows is not None:  # a weight that went back to 0 is among those of the start only
        now = among(now, start.columns)
    v = start.tall(now.rows)
    k = 1.0 if uniform else float(report.updates)
    columns = None
    if (now.scale == 1).all():
        found = np.empty(len(v), np.bool_)
        find_moved(now.w, now.late, v, found)
        columns = np.flatnonzero(found)
        columns = None if now.rows is None and 2 * len(columns) > len(v) else columns
    which = slice(None) if columns is None else columns
    columns = columns if now.rows is None else now.rows[columns]
    step, drift = _moved(v[which], now.w[which], now.late[which], now)
    unscaled = now._replace(mass=now.seen, scale=np.ones_like(now.scale))
    rest_step, rest_drift = _moved(start.rest, now.rest, now.late_rest, unscaled)
    step, rest_step = step * (k or 1.0), rest_step * (k or 1.0)
    step, drift = step.astype(start.w.dtype, copy=False), drift.astype(start.w.dtype, copy=False)  # float32 stays so
    t = float(weights.arrays["t"][0]) if isinstance(weights, Weights) else float(weights.t[0])
    return Move(k, int(k == 0), columns, step, drift, rest_step, rest_drift, now.seen.astype(np.float64), t, (report,))


def _moved(v: np.ndarray, w: np.ndarray, late: np.ndarray, now: View) -> tuple[np.ndarray, np.ndarray]:
    v = v.astype(np.float64)
    return now.scale * w - v, now.mass * w - late - now.seen * v


def total(moves: Sequence[Move]) -> Move:
    """The moves of several groups of shards as one; the order of the groups decides how sums are rounded."""
    if len(moves) == 1:
        return moves[0]
    busy = [move for move in moves if move.weight > 0]
    pulling = busy or list(moves)
    columns = None
    if all(move.columns is not None for move in moves):
        columns = np.unique(np.concatenate([move.columns for move in moves]))
    height = len(columns) if columns is not None else max(len(m.step) for m in moves if m.columns is None)
    width = moves[0].step.shape[1]
    step, drift = np.zeros((height, width)), np.zeros((height, width))
    for move in moves:
        which: Any = slice(None) if move.columns is None else move.columns
        if columns is not None:
            which = np.searchsorted(columns, which)
        drift[which] += move.drift
        if move.weight > 0 or not busy:
            step[which] += move.step
    return Move(
        sum(move.weight for move in moves),
        sum(move.idle for move in moves),
        columns,
        step,
        drift,
        sum((move.rest_step for move in pulling[1:]), pulling[0].rest_step),
        sum((move.rest_drift for move in moves[1:]), moves[0].rest_drift),
        sum((move.seen for move in moves[1:]), moves[0].seen),
        sum(move.t for move in moves),
        tuple(report for move in moves for report in move.reports),
    )


def mix(weights: AnyWeights, move: Move) -> None:
    """Move the common weights and their average, in place."""
    write_out(weights)
    now = view(weights)
    shards = move.weight or float(move.idle)
    seen = now.seen + move.seen
    which: Any = slice(None) if move.columns is None else move.columns
    if now.rows is not None:
        now = among(now, which)
        which = np.searchsorted(np.asarray(now.rows), which)
    for w, late, columns, step, drift in (
        (now.w, now.late, which, move.step, move.drift),
        (now.rest, now.late_rest, slice(None), move.rest_step, move.rest_drift),
    ):
        before = w[columns].astype(np.float64)
        w[columns] = before + step / shards
        late[columns] += seen * (w[columns] - before) - drift
    if isinstance(weights, ChainWeights):
        assert now.rows is not None
        put(weights, now.rows, now.w, now.late)
        weights.t += move.t
    else:
        weights.arrays["clock"][:, (SEEN, MASS, TOTAL)] = seen[:, None]
        weights.arrays["t"] += move.t


def write_out(weights: AnyWeights) -> None:
    """Multiply out the scale of the weights.  Changes weights."""
    if isinstance(weights, ChainWeights) or weights.unscaled:
        return
    now = view(weights)
    visited = now.mass * now.w - now.late
    now.w[:] = now.w * now.scale.astype(now.w.dtype)
    now.late[:] = now.seen * now.w - visited
    clock = weights.arrays["clock"] = np.tile(NEW_CLOCK, (len(now.seen), 1))
    clock[:, (SEEN, MASS, TOTAL)] = now.seen[:, None]


def shares(reports: Sequence[Report], uniform: bool) -> list[float]:
    """mu of every shard."""
    k = np.array([1.0 if uniform else report.updates for report in reports], np.float64)
    return (k / k.sum() if k.any() else np.full(len(k), 1 / len(k))).tolist()


# ---- what workers are asked to do


class Running(NamedTuple):
    """A pass over a shard that is on its way from block to block, or over. weights: the shard's own."""

    weights: AnyWeights
    report: Report


def begin(start: Start | AnyWeights, orders: dict[str, Any]) -> Running:
    """A pass that has visited nothing yet. start: the weights of a lone shard keep their average."""
    weights = start.begin() if isinstance(start, Start) else copy.deepcopy(start)
    return Running(weights, Report(0, 0, 0, 0.0, 0.0, orders))


class Turn(NamedTuple):
    """Which pass over the data it is."""

    epoch: int  # of the model, from 1
    first: bool  # of this run?


def visit(running: Running, part: Any, turn: Turn) -> Running:
    """Continue the pass over one more block.  Changes running, which must be one's own."""
    began = time.perf_counter()
    weights, report = running
    rng = np.random.default_rng()
    rng.bit_generator.state = report.orders
    examples, mistakes, updates, loss, seconds, _ = report
    for counts in part.visits(weights, rng, turn):
        examples += counts.examples
        mistakes += counts.mistakes
        updates += counts.updates
        loss += counts.loss
    seconds += time.perf_counter() - began
    return Running(weights, Report(examples, mistakes, updates, loss, seconds, rng.bit_generator.state))


def first_block(start: Start | AnyWeights, orders: dict[str, Any], part: Any, turn: Turn) -> Running:
    return visit(begin(start, orders), part, turn)


def next_block(running: Running, part: Any, turn: Turn) -> Running:
    return visit(copy.deepcopy(running), part, turn)


def finish(running: Running, start: Start, uniform: bool) -> Move:
    """The result of the pass, for mixing."""
    return move_of(start, running.weights, running.report, uniform)


def whole_pass(start: Start | AnyWeights, orders: dict[str, Any], part: Any, turn: Turn, uniform: bool) -> Any:
    """The pass over a shard of one block: a Move; of a lone shard, a Running with all that the weights are."""
    running = first_block(start, orders, part, turn)
    return finish(running, start, uniform) if isinstance(start, Start) else running


def accuracy(part: Any, start: Start) -> tuple[float, ...]:
    return part.accuracy(start.begin())


def contradicted(part: Any, start: Start) -> bool:
    return part.contradicted(start.begin())
