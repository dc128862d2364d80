"""Learning from a training set without a budget: exactly the online rule, by matrix products.

The scores of all examples are kept. A block of examples is walked in order with corrections from its own Gram matrix
(`passes/dual.py`), and what it learned is then added to the scores of all by one matrix product: each update costs one
column of kernel values, ever, so that epochs after the first cost only their own mistakes. No Gram matrix of the
training set is needed; columns of examples that err again are kept as far as `cache_size` allows.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from perceptrons.engine.passes.dual import Gram, Walked, doubts, joint_walk, rest_walk
from perceptrons.engine.passes.log import LOG_COLUMNS
from perceptrons.engine.training.epochs import Counts, Trainee
from perceptrons.engine.training.labels import winners
from perceptrons.engine.training.one_pass import one_blas_thread
from perceptrons.kernel.arrays import check_symmetric, to_host
from perceptrons.kernel.kernels import Points, chunks, not_finite_yet
from perceptrons.kernel.learner import KernelLearner
from perceptrons.kernel.support_vectors import Growing

FIRST_BLOCK, LARGEST_BLOCK = 256, 2**14
UPDATES = 256  # that a block should come to: enough for a fast matrix product, few enough to look ahead; measured
VALUES = 2**19  # kernel values that the walk of a block should need: more are slow to bring from a device; measured
BLOCK_BYTES = 2**26  # of the examples of a block, gathered
SMALL = 2**22  # numbers in the training set, up to which one thread does the matrix products
SPARE = 32  # examples that are right, but least clearly, whose kernel values are computed with those of the mistakes


class KernelFit(Trainee):
    """A kernel model and its training set, as the loop in `training/epochs.py` trains them.

    held_out: which examples to score `combine` on, if any. taken: `KernelLearner.taken_in`, of a training set.
    """

    def __init__(
        self,
        learner: KernelLearner,
        points: Points,
        y: np.ndarray,
        weight: np.ndarray | None,
        eta: float,
        *,
        combine: str = "last",
        held_out: np.ndarray | None = None,
        taken: np.ndarray | None = None,
    ):
        self.learner, self.points, self.y, self.weight, self.eta = learner, points, y, weight, eta
        self.combine, self.held_out = combine, held_out
        self.known = taken is not None  # is this a training set that may come again?
        self.taken = np.full(len(points), -1) if taken is None else taken  # which support example each row is, or -1

    def accuracy(self) -> float:
        assert self.held_out is not None
        y, scores = self.y[self.held_out], self.scores(self.held_out)
        won = winners(scores if scores.shape[1] > 1 else scores[:, 0], len(self.learner.classes))
        share = np.ones(len(y)) if self.weight is None else self.weight[self.held_out]
        return float(share[won == y].sum() / share.sum())

    def scores(self, which: np.ndarray) -> np.ndarray:
        """Of some examples, by exactly the function that would predict now."""
        return to_host(self.learner.scores(self.points.take(which), self.combine))


class ColumnCache:
    """Kernel values of some examples with all others, kept as long as there is room: first come, first kept."""

    def __init__(self, points: Points, itemsize: int, n_bytes: float):
        n = len(points)
        self._points, self._room = points, min(n, int(n_bytes // (itemsize * max(1, n))))
        self._slot = np.full(n, -1)
        self._used = 0
        self._values: Any = None

    def known(self, which: np.ndarray) -> np.ndarray:
        """Are they kept?"""
        return self._slot[which] >= 0

    def cut(self, which: np.ndarray, begin: int, end: int) -> Any:
        """Kernel values (len(which), end - begin) of kept examples with neighbours."""
        return self._points.place.take(self._values[:, begin:end], self._slot[which])

    def at(self, which: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Kernel values of kept examples with any others, in NumPy's memory."""
        place = self._points.place
        if place.is_host:
            return self._values[self._slot[which][:, None], others]
        return to_host(place.take(place.take(self._values, self._slot[which]), others, axis=1))

    def make_room(self, which: np.ndarray, dtype: str) -> slice:
        """Where the values of the first of these are to be written by `write`."""
        begin = self._used
        self._used = min(self._room, begin + len(which))
        if self._values is None and self._used:
            xp, shape = self._points.place.xp, (self._room, len(self._points))
            here = {} if self._points.place.is_host else {"device": self._points.place.device}
            self._values = xp.empty(shape, dtype=getattr(xp, dtype), **here)
        self._slot[which[: self._used - begin]] = np.arange(begin, self._used)
        return slice(begin, self._used)

    def write(self, room: slice, begin: int, K: Any) -> None:
        if room.stop > room.start:
            self._values[room, begin : begin + K.shape[1]] = K[: room.stop - room.start, :]


class Sweep(KernelFit):
    """A training set with the scores of all its examples, learned from in any order.

    ahead: every example is visited once and in order, so that scores behind are of no use any more.
    Memory beside the model and the kept columns: 8 bytes per example and row of scores (32 with averages), the
    examples of a block (at most 64 MB, at least 64 examples) with their kernel values, and a chunk of kernel values.
    """

    def __init__(
        self, *examples: Any, cache_bytes: float = 0, averages: bool = False, ahead: bool = False, **more: Any
    ):
        super().__init__(*examples, **more)
        learner, points = self.learner, self.points
        self.ahead, self.averages, self.sign = ahead, averages, learner.sign
        self.block = FIRST_BLOCK
        width = int(points.rows.shape[1]) * 8 if points.index is None else 8
        self.largest = max(64, min(LARGEST_BLOCK, BLOCK_BYTES // max(1, width)))
        # a device computes kernel values faster than it finds them again, and so they are kept of functions only
        keep = not ahead and (points.place.is_host or not isinstance(learner.kernel.name, str))
        # a second thread is no gain for small products, and on a busy machine a loss
        self.small = len(points) * int(points.rows.shape[1]) < SMALL and points.place.is_host and len(points) > 1
        self.kept = ColumnCache(points, np.dtype(learner.dtype).itemsize, cache_bytes) if keep else None
        self._scale: np.ndarray | None = None  # of scores, so that those of different examples can be compared
        self.parts = [(0, points)]  # whose scores are kept, and where they begin
        self.at = np.zeros(0, np.intp)  # the row of scores of each support example
        self.before: tuple[np.ndarray, Any] | None = None  # averaged coefficients, and scores of all, an epoch ago
        if not ahead:
            self._follow_support()
        self.s = points.place.zeros((sum(len(part) for _, part in self.parts), self._columns), "float64")
        self._begin()

    @property
    def _columns(self) -> int:
        return self.learner.n_rows * (2 if self.averages else 1)

    def _follow_support(self) -> None:
        """Norms need the scores of all support examples: also of those from elsewhere."""
        n_support = self.learner.n_support
        known = np.flatnonzero(self.taken >= 0)
        self.at = np.full(n_support, -1)
        self.at[self.taken[known]] = known
        strangers = np.flatnonzero(self.at < 0)
        if len(strangers):
            self.at[strangers] = len(self.points) + np.arange(len(strangers))
            self.parts.append((len(self.points), self.learner.support.at(self.points.place).take(strangers)))

    def _begin(self) -> None:
        """The scores of what was learned before."""
        learner, place = self.learner, self.points.place
        if not learner.n_support:
            return
        support = learner.support.at(place)
        coef = place.put(np.hstack([learner.coef, learner.late])[:, : self._columns], learner.dtype)
        with not_finite_yet():
            for base, points in self.parts:
                for begin, part in chunks(points, learner.n_support):
                    self.s[base + begin : base + begin + len(part), :] = learner.kernel(part, support) @ coef

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        """Learn from these examples in this order."""
        begin = 0
        while begin < len(order):
            which = order[begin : begin + self.block]
            begin += len(which)
            with one_blas_thread if self.small else nullcontext(), not_finite_yet():
                counts = self._learn(which, begin)
            yield counts

    def _learn(self, which: np.ndarray, behind: int) -> Counts:
        learner, n_rows = self.learner, self.learner.n_rows
        y, weight = self.y[which], None if self.weight is None else self.weight[which]
        s = np.ascontiguousarray(to_host(self.points.place.take(self.s[:, :n_rows], which)).T)
        row, base, at, loss, block, sign = np.full(len(which), -1), 0, 0, 0.0, None, self.sign
        gram = Growing(np.empty((0, 0), learner.dtype))
        walked = Walked(learner.t, 0, np.empty((0, LOG_COLUMNS)))
        while True:
            known = Gram(gram.now, row, base)
            if len(sign):
                at, lost, walked = rest_walk(s, y, sign, weight, known, at, self.eta, walked)
            else:
                at, lost, walked = joint_walk(s, y, weight, known, at, self.eta, walked)
            loss += lost
            if at == len(which):
                break
            asked = self._in_doubt(s, y, row, at, which)
            if block is None:
                block, base = self.points.take(which[at:]), at
            row[asked] = gram.used + np.arange(len(asked))
            values = self._kernel_values(block.part(at - base, len(block)), which[at:], asked - at)
            if gram.used:
                gram.room(gram.used + len(asked))[gram.used : gram.used + len(asked), at - base :] = values
                gram.used += len(asked)
            else:
                gram = Growing(values)
        if not np.isfinite(s).all():
            raise learner.kernel.too_large(learner.dtype)
        kept = walked.kept
        if kept:
            self._add(which, walked.log[:kept], behind)
        learner.t = walked.seen
        self.block = min(self.largest, next_block(max(1, kept) / len(which)))
        return Counts(len(which), kept, kept, loss)

    def _in_doubt(self, s: np.ndarray, y: np.ndarray, row: np.ndarray, at: int, which: np.ndarray) -> np.ndarray:
        """The examples from `at` on that are wrong by now or least clearly right: who is going to be a mistake?"""
        if self._scale is None:
            self._scale = 1.0 / np.sqrt(np.maximum(self.learner.kernel.own(self.points), np.finfo(float).tiny))
        margin = doubts(s, y, self.sign, self._scale[which], row, at)
        margin[0] = -np.inf
        size = min(len(margin), 2 * int((margin <= 0).sum()) + SPARE, max(SPARE, VALUES // len(margin)))
        asked = at + np.sort(np.argpartition(margin, size - 1)[:size])
        return asked[margin[asked - at] < np.inf]

    def _kernel_values(self, block: Points, which: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Kernel values of some examples of the block with all of it, in NumPy's memory."""
        learner = self.learner
        known = np.zeros(len(asked), bool) if self.kept is None else self.kept.known(which[asked])
        if not known.any():
            G = np.asarray(to_host(learner.kernel(block.take(asked), block)))
        else:
            assert self.kept is not None
            G = np.empty((len(asked), len(which)), learner.dtype)
            G[known] = self.kept.at(which[asked[known]], which)
            if not known.all():
                G[~known] = to_host(learner.kernel(block.take(asked[~known]), block))
        if not isinstance(learner.kernel.name, str):
            check_symmetric(G[:, asked], "The kernel")
        return np.ascontiguousarray(G)

    def _add(self, which: np.ndarray, log: np.ndarray, behind: int) -> None:
        """What the block learned, to the scores of all and to the model."""
        learner, points = self.learner, self.points
        who, update = np.unique(which[log[:, 1].astype(np.intp)], return_inverse=True)
        who, update = in_order(who, update)
        coef = np.hstack(learner.changes(log, update, len(who)))[:, : self._columns]
        known = np.zeros(len(who), bool) if self.kept is None else self.kept.known(who)
        new = points.take(who[~known])
        room = slice(0, 0) if self.kept is None else self.kept.make_room(who[~known], learner.dtype)
        fresh, stale = points.place.put(coef[~known], learner.dtype), points.place.put(coef[known], learner.dtype)
        total = 0.0
        for base, some in self.parts:
            start = behind if self.ahead and base == 0 else 0
            for begin, part in chunks(some.part(start, len(some)), len(who)):
                here, end = start + begin, start + begin + len(part)
                more = 0.0
                if len(new):
                    K = learner.kernel(new, part)
                    if base == 0 and self.kept is not None:
                        self.kept.write(room, here, K)
                    more = K.T @ fresh
                if known.any():
                    assert self.kept is not None
                    old = self.kept.cut(who[known], here, end) if base == 0 else learner.kernel(
                        points.take(who[known]), part)  # fmt: skip
                    more = more + old.T @ stale
                self.s[base + here : base + end, :] += more
                total = total + points.place.xp.sum(more)
        if not np.isfinite(float(total)):
            raise learner.kernel.too_large(learner.dtype)
        first = self.taken[who] < 0
        self.taken[who[first]] = learner.n_support + np.arange(int(first.sum()))
        self.at = np.concatenate([self.at, who[first]])
        where = who[first] if self.known else np.full(int(first.sum()), -1)
        learner.record(log, update, self.taken[who], points.take(who[first]), where)

    # ---- what the loop over epochs asks: scores of all examples are at hand, and <f, g> = sum_j a_j g(x_j)

    def scores(self, which: np.ndarray) -> np.ndarray:
        if self.combine == "vote":
            return super().scores(which)
        s, n_rows = self._scores_of(which), self.learner.n_rows
        return s[:, :n_rows] if self.combine == "last" else s[:, :n_rows] - s[:, n_rows:] / max(self.learner.t, 1e-300)

    def norm(self) -> float:
        s = self._scores_of(self.at)
        return float(np.sqrt(max(0.0, (self.learner.coef * s[:, : self.learner.n_rows]).sum())))

    def change(self) -> float:
        learner, place, n_rows = self.learner, self.points.place, self.learner.n_rows
        now, scores = learner.average, self.s[:, :n_rows] - self.s[:, n_rows:] / max(learner.t, 1e-300)
        before, self.before = self.before, (now, scores)
        if before is None:
            return np.inf
        moved = now.copy()
        moved[: len(before[0])] -= before[0]
        at, was = to_host(place.take(scores, self.at)), to_host(place.take(before[1], self.at))
        norm = (now * at).sum()
        return float(np.sqrt(max(0.0, (moved * (at - was)).sum()) / norm)) if norm > 0 else np.inf

    def _scores_of(self, which: np.ndarray) -> np.ndarray:
        return to_host(self.points.place.take(self.s, which))


def next_block(rate: float) -> int:
    """Next block's size if this share of examples triggers updates; b examples need b (2 rate b + SPARE) values."""
    by_values = (np.sqrt(SPARE**2 + 8 * rate * VALUES) - SPARE) / (4 * rate)
    return int(max(FIRST_BLOCK, min(UPDATES / rate, by_values)))


def in_order(who: np.ndarray, update: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct examples in the order of their first update, and for each update the number of its example."""
    first = np.full(len(who), len(update))
    np.minimum.at(first, update, np.arange(len(update)))
    order = np.argsort(first)
    place = np.empty(len(who), np.intp)
    place[order] = np.arange(len(who))
    return who[order], place[update]
