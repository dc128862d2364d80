"""Iterative parameter mixing: a pass over each shard from common weights, the sum of the changes, and the mix.

In every epoch, each shard makes one pass from the common weights v. Shard i ends at v_i after k_i updates. The common
weights become v + sum_i mu_i (v_i - v), with mu_i = k_i / sum k or 1 / n_shards (McDonald, Hall and Mann 2010). The
average stays what it is on one machine: the mean of the weights after every visit, on whichever shard.

Linear and chain weights share one form here: a tall matrix, and the rest (biases, or the arcs of a chain). A row of the
matrix is a feature of a linear model. Of a chain, row number feature * n_labels + label is one weight, and only rows
that have a weight are stored.

The tasks of workers are here, too. They depend on their arguments alone, so Dask may run any of them again.
"""

import copy
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from perceptrons.engine.passes.average import find_moved
from perceptrons.engine.training.epochs import Counts
from perceptrons.engine.training.weights import NEW_STATE, Weights
from perceptrons.sequence.learner import ChainWeights, runs

AnyWeights = Weights | ChainWeights
RandomState = dict[str, Any]  # of a NumPy bit generator


class WeightView(NamedTuple):
    """The weights scale * w, and `rest`, which no penalty scales (see passes/average.py).

    Their sums over the visits so far are mass * w - late and seen * rest - late_rest.
    """

    rows: np.ndarray | None  # numbers of the stored rows, ascending; None: all
    w: np.ndarray  # (n_rows, n_outputs)
    late: np.ndarray
    rest: np.ndarray  # its last axis is n_outputs, too
    late_rest: np.ndarray
    seen: np.ndarray  # (1,), or (n_outputs,)
    mass: np.ndarray
    scale: np.ndarray

    def with_rows(self, more: Any) -> "WeightView":
        """Return chain weights with more rows, in which the weights are 0."""
        assert self.rows is not None
        rows = np.union1d(self.rows, more)
        places = np.searchsorted(rows, self.rows)
        w, late = np.zeros((len(rows), 1), self.w.dtype), np.zeros((len(rows), 1), self.late.dtype)
        w[places], late[places] = self.w, self.late
        return self._replace(rows=rows, w=w, late=late)


def view(weights: AnyWeights) -> WeightView:
    """Return the arrays of the weights themselves; for the features of a chain, copies."""
    if isinstance(weights, ChainWeights):
        t, (features, labels, w, late) = weights.t, weights.entries()
        rows = features * weights.n_labels + labels
        return WeightView(rows, w[:, None], late[:, None], weights.arcs, weights.lazy_sum_arcs, t, t, np.ones(1))
    d, arrays = weights.n_features, weights.arrays
    w, late, state = arrays["w"][:, :d].T, arrays["lazy_sum_w"][:, :d].T, arrays["state"]
    return WeightView(
        None, w, late, arrays["b"], arrays["lazy_sum_b"], state["n_seen"], state["mass"], state["scale"]
    )  # fmt: skip


def set_chain_weights(weights: ChainWeights, rows: np.ndarray, w: np.ndarray, late: np.ndarray) -> None:
    """Replace the feature weights of a chain."""
    features, labels = np.divmod(rows, weights.n_labels)
    dtype = weights.dtype
    weights.fill(*runs(features), labels.astype(np.int32), w[:, 0].astype(dtype, copy=False), late[:, 0].copy())


class CommonWeights(NamedTuple):
    """Weights on their way to a shard: without their average, and without rows that are all 0."""

    kind: type
    shape: tuple[int, int]  # (n_features, n_outputs)
    rows: np.ndarray | None  # numbers of the rows in w; None: all
    w: np.ndarray
    rest: np.ndarray
    has_own_states: bool  # of every output
    one: float  # square of the constant feature of a linear model
    order: str  # of the matrix in memory, "C" or "F"

    @property
    def nbytes(self) -> int:
        return self.w.nbytes + self.rest.nbytes

    def to_weights(self) -> AnyWeights:
        """Return new weights to train from here."""
        dtype = self.w.dtype
        if self.kind is ChainWeights:
            assert self.rows is not None
            chain = ChainWeights(*self.shape, dtype)
            set_chain_weights(chain, self.rows, self.w, np.zeros(self.w.shape))
            chain.arcs[:] = self.rest
            return chain
        tall = np.empty(self.shape, dtype, order="C" if self.order == "F" else "F")
        if self.rows is None:
            tall[:] = self.w
        else:
            tall[:] = 0
            tall[self.rows] = self.w
        weights = Weights(tall.T, self.rest.copy(), one=self.one)
        if self.has_own_states:
            weights.separate_states()
        return weights

    def matrix(self, rows: np.ndarray | None) -> np.ndarray:
        """Return the weights in these rows, which must include all that have weights. Do not change the result."""
        if self.rows is None:
            return self.w
        tall = np.zeros(self.shape if rows is None else (len(rows), 1), self.w.dtype)
        tall[self.rows if rows is None else np.searchsorted(rows, self.rows)] = self.w
        return tall


def common_weights(weights: AnyWeights) -> CommonWeights:
    """Return the weights in the form in which they are sent to the shards."""
    rows, w, _, rest, _, seen, *_ = view(weights)
    used = np.flatnonzero(w.any(axis=1))
    is_linear = isinstance(weights, Weights)
    sends_all = rows is None and 2 * len(used) > len(w)
    return CommonWeights(
        kind=type(weights),
        shape=w.shape if rows is None else (weights.n_features, len(rest) - 1),
        rows=None if sends_all else used if rows is None else rows[used],
        w=w.copy() if sends_all else w[used],
        rest=rest.copy(),
        has_own_states=is_linear and len(seen) > 1,
        one=weights.one if isinstance(weights, Weights) else 0.0,
        order="F" if is_linear and w.flags.c_contiguous else "C",
    )


class PassReport(NamedTuple):
    """The result of a pass over a shard, except for the weights."""

    counts: Counts
    seconds: float
    random_state: RandomState  # of the shard, after the pass


class Change(NamedTuple):
    """The result of passes over some shards. Sums are over shards; v are the common weights, v_i those of a shard."""

    weight: float  # sum of k_i
    n_idle: int  # shards without an update, which count only if no shard has one
    rows: np.ndarray | None  # numbers of the rows that changed, sorted; None: all
    step: np.ndarray  # sum of k_i (v_i - v); if all shards are idle, sum of v_i - v
    drift: np.ndarray  # sum over visits of the weights after each, minus v
    rest_step: np.ndarray
    rest_drift: np.ndarray
    seen: np.ndarray  # visits by weight, one number per clock
    t: float
    reports: tuple[PassReport, ...]


def change_of_pass(start: CommonWeights, weights: AnyWeights, report: PassReport, is_uniform: bool) -> Change:
    """Return the change that the pass over one shard made, from `start` to `weights`."""
    end = view(weights)
    if end.rows is not None:  # a weight that returned to 0 is only in `start`
        end = end.with_rows(start.rows)
    v = start.matrix(end.rows)
    k = 1.0 if is_uniform else float(report.counts.updates)
    changed = None
    if (end.scale == 1).all():
        is_changed = np.empty(len(v), np.bool_)
        find_moved(end.w, end.late, v, is_changed)
        changed = np.flatnonzero(is_changed)
        changed = None if end.rows is None and 2 * len(changed) > len(v) else changed
    selected: Any = slice(None) if changed is None else changed
    step, drift = _step_and_drift(v[selected], end.w[selected], end.late[selected], end)
    unscaled = end._replace(mass=end.seen, scale=np.ones_like(end.scale))
    rest_step, rest_drift = _step_and_drift(start.rest, end.rest, end.late_rest, unscaled)
    dtype = start.w.dtype  # float32 stays float32
    return Change(
        weight=k,
        n_idle=int(k == 0),
        rows=changed if end.rows is None else end.rows[selected],
        step=(step * (k or 1.0)).astype(dtype, copy=False),
        drift=drift.astype(dtype, copy=False),
        rest_step=rest_step * (k or 1.0),
        rest_drift=rest_drift,
        seen=end.seen.astype(np.float64),
        t=float(weights.arrays["t"][0]) if isinstance(weights, Weights) else float(weights.t[0]),
        reports=(report,),
    )


def _step_and_drift(v: np.ndarray, w: np.ndarray, late: np.ndarray, end: WeightView) -> tuple[np.ndarray, np.ndarray]:
    v = v.astype(np.float64)
    return end.scale * w - v, end.mass * w - late - end.seen * v


def add_changes(changes: Sequence[Change]) -> Change:
    """Add the changes of several groups of shards. The order of the groups decides how sums are rounded."""
    if len(changes) == 1:
        return changes[0]
    busy = [change for change in changes if change.weight > 0]
    moving = busy or list(changes)
    rows = None
    if all(change.rows is not None for change in changes):
        rows = np.unique(np.concatenate([change.rows for change in changes]))
    height = len(rows) if rows is not None else max(len(one.step) for one in changes if one.rows is None)
    width = changes[0].step.shape[1]
    step, drift = np.zeros((height, width)), np.zeros((height, width))
    for change in changes:
        selected: Any = slice(None) if change.rows is None else change.rows
        if rows is not None:
            selected = np.searchsorted(rows, selected)
        drift[selected] += change.drift
        if change.weight > 0 or not busy:
            step[selected] += change.step
    return Change(
        weight=sum(change.weight for change in changes),
        n_idle=sum(change.n_idle for change in changes),
        rows=rows,
        step=step,
        drift=drift,
        rest_step=sum((change.rest_step for change in moving[1:]), moving[0].rest_step),
        rest_drift=sum((change.rest_drift for change in changes[1:]), changes[0].rest_drift),
        seen=sum((change.seen for change in changes[1:]), changes[0].seen),
        t=sum(change.t for change in changes),
        reports=tuple(report for change in changes for report in change.reports),
    )


def mix(weights: AnyWeights, change: Change) -> None:
    """Change the common weights and their average in place."""
    apply_scale(weights)
    common = view(weights)
    total = change.weight or float(change.n_idle)
    seen = common.seen + change.seen
    selected: Any = slice(None) if change.rows is None else change.rows
    if common.rows is not None:
        common = common.with_rows(selected)
        selected = np.searchsorted(np.asarray(common.rows), selected)
    for w, late, rows, step, drift in (
        (common.w, common.late, selected, change.step, change.drift),
        (common.rest, common.late_rest, slice(None), change.rest_step, change.rest_drift),
    ):
        before = w[rows].astype(np.float64)
        w[rows] = before + step / total
        late[rows] += seen * (w[rows] - before) - drift
    if isinstance(weights, ChainWeights):
        assert common.rows is not None
        set_chain_weights(weights, common.rows, common.w, common.late)
        weights.t += change.t
    else:
        set_examples_seen(weights, seen)
        weights.arrays["t"] += change.t


def apply_scale(weights: AnyWeights) -> None:
    """Multiply the weights by their scale, which becomes 1."""
    if isinstance(weights, ChainWeights) or weights.unscaled:
        return
    now = view(weights)
    summed = now.mass * now.w - now.late
    now.w[:] = now.w * now.scale.astype(now.w.dtype)
    now.late[:] = now.seen * now.w - summed
    weights.arrays["state"] = np.tile(NEW_STATE, len(now.seen))
    set_examples_seen(weights, now.seen)


def set_examples_seen(weights: Weights, n_seen: np.ndarray) -> None:
    """Let the average count this many examples, whose weights had the scale 1."""
    for field in ("n_seen", "mass", "total"):
        weights.arrays["state"][field] = n_seen


def mixing_weights(reports: Sequence[PassReport], is_uniform: bool) -> list[float]:
    """Return mu, the weight of every shard in the mix."""
    k = np.array([1.0 if is_uniform else report.counts.updates for report in reports], np.float64)
    return (k / k.sum() if k.any() else np.full(len(k), 1 / len(k))).tolist()


# ---- tasks of workers


class PassNumber(NamedTuple):
    """The place of a pass in the training."""

    epoch: int  # of the model, from 1
    is_first: bool  # of this run


class Part(Protocol):
    """A block of the examples of a shard, on a worker: `RowsPart`, `FilesPart` or `SequencesPart`."""

    n: int  # examples

    @property
    def n_train(self) -> int:
        """Return the number of examples to learn from; the others are held out."""

    def visits(self, weights: AnyWeights, rng: np.random.Generator, number: PassNumber) -> Iterator[Counts]:
        """Learn from the examples once, in a new order. This changes the weights and `rng`."""

    def accuracy(self, common: CommonWeights) -> tuple[float, ...]:
        """Return the accuracy of weights on the held-out examples, and their number; then counts of phrases, if any."""


class RunningPass(NamedTuple):
    """A pass over the blocks of a shard, under way or complete. weights: those of the shard."""

    weights: AnyWeights
    report: PassReport


def learn_part(
    part: Part, before: RunningPass | RandomState, is_last: bool, number: PassNumber,
    start: CommonWeights | AnyWeights, is_uniform: bool,
) -> RunningPass | Change:  # fmt: skip
    """Make the pass over one block of a shard, and return the change after the last one.

    start: the common weights; a lone shard starts from the weights with their average, and returns all of them.
    before: the pass over the blocks before this one, or the random state for the first block.
    """
    if isinstance(before, RunningPass):
        weights, (total, seconds, state) = copy.deepcopy(before.weights), before.report  # Dask may run the task again
    else:
        weights = start.to_weights() if isinstance(start, CommonWeights) else copy.deepcopy(start)
        total, seconds, state = Counts(), 0.0, before
    began = time.perf_counter()
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    for counts in part.visits(weights, rng, number):
        total = total.plus(counts)
    report = PassReport(total, seconds + time.perf_counter() - began, rng.bit_generator.state)
    if is_last and isinstance(start, CommonWeights):
        return change_of_pass(start, weights, report, is_uniform)
    return RunningPass(weights, report)
