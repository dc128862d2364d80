"""Learning from a training set without a budget: exactly the online rule, by matrix products.

The scores of all examples are kept. A block of examples is visited in order with corrections from its own Gram matrix
(`passes/dual.py`), and its updates are then added to the scores of all by one matrix product: each update costs one
column of kernel values, once, so that epochs after the first cost only their own mistakes. No Gram matrix of the
training set is needed; columns of examples that are mistaken again are kept as far as `cache_size` allows.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from perceptrons.engine.passes.dual import Gram, Walked, doubts, joint_walk, rest_walk
from perceptrons.engine.passes.voting import LOG_COLUMNS
from perceptrons.engine.training.epochs import Counts, Trainee
from perceptrons.engine.training.labels import winners
from perceptrons.engine.training.one_pass import one_blas_thread
from perceptrons.kernel.arrays import check_symmetric, to_host
from perceptrons.kernel.kernels import Points, chunks, ignore_overflow
from perceptrons.kernel.learner import KernelLearner
from perceptrons.kernel.support_vectors import GrowableArray

MIN_BLOCK, MAX_BLOCK = 256, 2**14  # examples
UPDATES_PER_BLOCK = 256  # enough for a fast matrix product, few enough to look ahead; measured
VALUES_PER_BLOCK = 2**19  # kernel values for the visits of a block: more are slow to bring from a device; measured
MAX_BLOCK_BYTES = 2**26  # of the examples of a block, gathered
MAX_SINGLE_THREAD_VALUES = 2**22  # in the training set, up to which one thread does the matrix products
SPARE_COLUMNS = 32  # for examples that are right, but least clearly, computed with those of the mistakes


class KernelFit(Trainee[KernelLearner]):
    """A kernel model and its training set, as the loop in `training/epochs.py` trains them.

    combine: what the held-out examples are scored with. support_index: the support vector that each row of a training
    set is, or -1 (`KernelLearner.match_rows`); None for a block of a stream.
    """

    def __init__(
        self, learner: KernelLearner, points: Points, y: np.ndarray, weight: np.ndarray | None, eta: float, *,
        combine: str = "last", held_out: np.ndarray | None = None, support_index: np.ndarray | None = None,
    ):  # fmt: skip
        self.learner, self.points, self.y, self.weight, self.eta = learner, points, y, weight, eta
        self.combine, self.held_out = combine, held_out
        self.is_training_set = support_index is not None
        self.support_index = np.full(len(points), -1) if support_index is None else support_index

    def accuracy(self) -> float:
        assert self.held_out is not None
        y, scores = self.y[self.held_out], self.scores(self.held_out)
        predicted = winners(scores if scores.shape[1] > 1 else scores[:, 0], len(self.learner.classes))
        weight = np.ones(len(y)) if self.weight is None else self.weight[self.held_out]
        return float(weight[predicted == y].sum() / weight.sum())

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Return the scores of some examples by exactly the function that would predict now."""
        return to_host(self.learner.scores(self.points.take(rows), self.combine))

    def train_rows_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows that the model is to remember of new support vectors: -1 outside a training set."""
        return rows if self.is_training_set else np.full(len(rows), -1)


class ColumnCache:
    """Kernel values of the first examples that need them with all others, as many as there is room for."""

    def __init__(self, points: Points, itemsize: int, n_bytes: float):
        n = len(points)
        self._points, self._capacity = points, min(n, int(n_bytes // (itemsize * max(1, n))))
        self._slot = np.full(n, -1)
        self._n_used = 0
        self._values: Any = None

    def contains(self, rows: np.ndarray) -> np.ndarray:
        return self._slot[rows] >= 0

    def columns(self, rows: np.ndarray, start: int, stop: int) -> Any:
        """Return kernel values (len(rows), stop - start) of cached examples with neighbours."""
        return self._points.place.take(self._values[:, start:stop], self._slot[rows])

    def values(self, rows: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """Return kernel values of cached examples with any others, on the host."""
        place = self._points.place
        if place.is_host:
            return self._values[self._slot[rows][:, None], neighbours]
        return to_host(place.take(place.take(self._values, self._slot[rows]), neighbours, axis=1))

    def reserve(self, rows: np.ndarray, dtype: str) -> slice:
        """Return the slots of the first of these examples, as many as there is room for; to be filled by `write`."""
        start = self._n_used
        self._n_used = min(self._capacity, start + len(rows))
        if self._values is None and self._n_used:
            xp, shape = self._points.place.xp, (self._capacity, len(self._points))
            device = {} if self._points.place.is_host else {"device": self._points.place.device}
            self._values = xp.empty(shape, dtype=getattr(xp, dtype), **device)
        self._slot[rows[: self._n_used - start]] = np.arange(start, self._n_used)
        return slice(start, self._n_used)

    def write(self, slots: slice, start: int, K: Any) -> None:
        if slots.stop > slots.start:
            self._values[slots, start : start + K.shape[1]] = K[: slots.stop - slots.start, :]


class Sweep(KernelFit):
    """A training set with the scores of all its examples, learned from in any order.

    is_single_pass: every example is visited once and in order, so that scores of visited examples are not needed.
    Memory beside the model and the cache: 8 bytes per example and row of scores (32 with averages), the examples of a
    block (at most 64 MB, at least 64 examples) with their kernel values, and a chunk of kernel values.
    """

    def __init__(
        self, *examples: Any, cache_bytes: float = 0, averages: bool = False, is_single_pass: bool = False,
        **options: Any,
    ):  # fmt: skip
        super().__init__(*examples, **options)
        learner, points = self.learner, self.points
        self.is_single_pass, self.averages, self.sign = is_single_pass, averages, learner.sign
        self.block_size = MIN_BLOCK
        row_bytes = int(points.rows.shape[1]) * 8 if points.index is None else 8
        self.max_block = max(64, min(MAX_BLOCK, MAX_BLOCK_BYTES // max(1, row_bytes)))
        # a second thread is no gain for small products, and on a busy machine a loss
        n_values = len(points) * int(points.rows.shape[1])
        self.uses_one_thread = n_values < MAX_SINGLE_THREAD_VALUES and points.place.is_host and len(points) > 1
        # a device computes kernel values faster than it finds them again, but not those of a function
        is_cached = not is_single_pass and (points.place.is_host or not isinstance(learner.kernel.name, str))
        self.cache = ColumnCache(points, np.dtype(learner.dtype).itemsize, cache_bytes) if is_cached else None
        self._scale: np.ndarray | None = None  # of scores, so that those of different examples can be compared
        self.parts = [(0, points)]  # the examples whose scores are kept, and the first row of each part in `s`
        self.score_rows = np.zeros(0, np.intp)  # the row of `s` of each support vector
        self.previous: tuple[np.ndarray, Any] | None = None  # averages and all averaged scores one epoch ago
        if not is_single_pass:
            self._add_support_scores()
        self.s = points.place.zeros((sum(len(part) for _, part in self.parts), self._n_columns), "float64")
        self._compute_scores()

    @property
    def _n_columns(self) -> int:
        return self.learner.n_rows * (2 if self.averages else 1)

    def _add_support_scores(self) -> None:
        """Keep scores of support vectors outside the training set, too: norms need those of all support vectors."""
        known = np.flatnonzero(self.support_index >= 0)
        self.score_rows = np.full(self.learner.n_support, -1)
        self.score_rows[self.support_index[known]] = known
        outside = np.flatnonzero(self.score_rows < 0)
        if len(outside):
            self.score_rows[outside] = len(self.points) + np.arange(len(outside))
            self.parts.append((len(self.points), self.learner.support.at(self.points.place).take(outside)))

    def _compute_scores(self) -> None:
        """Compute the scores by the model as it is before training."""
        learner, place = self.learner, self.points.place
        if not learner.n_support:
            return
        support = learner.support.at(place)
        coef = place.put(np.hstack([learner.coef, learner.lazy_sum])[:, : self._n_columns], learner.dtype)
        with ignore_overflow():
            for first, points in self.parts:
                for start, part in chunks(points, learner.n_support):
                    self.s[first + start : first + start + len(part), :] = learner.kernel(part, support) @ coef

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        """Learn from the examples in this order."""
        start = 0
        while start < len(order):
            rows = order[start : start + self.block_size]
            start += len(rows)
            with one_blas_thread if self.uses_one_thread else nullcontext(), ignore_overflow():
                counts = self._learn(rows, start)
            yield counts

    def _learn(self, rows: np.ndarray, n_visited: int) -> Counts:
        """Learn from one block. n_visited: the examples that are visited after it."""
        learner, n_rows = self.learner, self.learner.n_rows
        y, weight = self.y[rows], None if self.weight is None else self.weight[rows]
        s = np.ascontiguousarray(to_host(self.points.place.take(self.s[:, :n_rows], rows)).T)
        gram_row, base, position, loss, block, sign = np.full(len(rows), -1), 0, 0, 0.0, None, self.sign
        gram = GrowableArray(np.empty((0, 0), learner.dtype))
        walked = Walked(learner.t, 0, np.empty((0, LOG_COLUMNS)))
        while True:  # until the pass stops for a mistake whose kernel values are not known yet
            known = Gram(gram.values, gram_row, base)
            if len(sign):
                position, more_loss, walked = rest_walk(s, y, sign, weight, known, position, self.eta, walked)
            else:
                position, more_loss, walked = joint_walk(s, y, weight, known, position, self.eta, walked)
            loss += more_loss
            if position == len(rows):
                break
            likely = self._likely_mistakes(s, y, gram_row, position, rows)
            if block is None:
                block, base = self.points.take(rows[position:]), position
            gram_row[likely] = gram.n_used + np.arange(len(likely))
            values = self._kernel_values(block.slice(position - base, len(block)), rows[position:], likely - position)
            if gram.n_used:
                n = gram.n_used + len(likely)
                gram.reserve(n)[gram.n_used : n, position - base :] = values
                gram.n_used = n
            else:
                gram = GrowableArray(values)
        if not np.isfinite(s).all():
            raise learner.kernel.overflow_error(learner.dtype)
        n_updates = walked.kept
        if n_updates:
            self._add_updates(rows, walked.log[:n_updates], n_visited)
        learner.t = walked.seen
        self.block_size = min(self.max_block, next_block_size(max(1, n_updates) / len(rows)))
        return Counts(len(rows), n_updates, n_updates, loss)

    def _likely_mistakes(
        self, s: np.ndarray, y: np.ndarray, gram_row: np.ndarray, position: int, rows: np.ndarray
    ) -> np.ndarray:
        """Return the examples from `position` on that are mistakes by now, or least clearly right."""
        if self._scale is None:
            self._scale = 1.0 / np.sqrt(np.maximum(self.learner.kernel.self_values(self.points), np.finfo(float).tiny))
        margin = doubts(s, y, self.sign, self._scale[rows], gram_row, position)
        margin[0] = -np.inf
        n_affordable = max(SPARE_COLUMNS, VALUES_PER_BLOCK // len(margin))
        n = min(len(margin), 2 * int((margin <= 0).sum()) + SPARE_COLUMNS, n_affordable)
        likely = position + np.sort(np.argpartition(margin, n - 1)[:n])
        return likely[margin[likely - position] < np.inf]

    def _kernel_values(self, block: Points, rows: np.ndarray, some: np.ndarray) -> np.ndarray:
        """Return kernel values of some examples of the block with all of it, on the host."""
        learner = self.learner
        is_cached = np.zeros(len(some), bool) if self.cache is None else self.cache.contains(rows[some])
        if not is_cached.any():
            G = np.asarray(to_host(learner.kernel(block.take(some), block)))
        else:
            assert self.cache is not None
            G = np.empty((len(some), len(rows)), learner.dtype)
            G[is_cached] = self.cache.values(rows[some[is_cached]], rows)
            if not is_cached.all():
                G[~is_cached] = to_host(learner.kernel(block.take(some[~is_cached]), block))
        if not isinstance(learner.kernel.name, str):
            check_symmetric(G[:, some], "The kernel")
        return np.ascontiguousarray(G)

    def _add_updates(self, rows: np.ndarray, log: np.ndarray, n_visited: int) -> None:
        """Add the updates of a block to the scores of all examples and to the model."""
        learner, points = self.learner, self.points
        examples, update = number_in_order(rows[log[:, 1].astype(np.intp)])
        coef = np.hstack(learner.coefficient_changes(log, update, len(examples)))[:, : self._n_columns]
        is_cached = np.zeros(len(examples), bool) if self.cache is None else self.cache.contains(examples)
        new, cached = points.take(examples[~is_cached]), examples[is_cached]
        slots = slice(0, 0) if self.cache is None else self.cache.reserve(examples[~is_cached], learner.dtype)
        new_coef, cached_coef = (points.place.put(part, learner.dtype) for part in (coef[~is_cached], coef[is_cached]))
        total = 0.0
        for first, part in self.parts:
            skipped = n_visited if self.is_single_pass and first == 0 else 0
            for offset, chunk in chunks(part.slice(skipped, len(part)), len(examples)):
                start, stop = skipped + offset, skipped + offset + len(chunk)
                change = 0.0
                if len(new):
                    K = learner.kernel(new, chunk)
                    if first == 0 and self.cache is not None:
                        self.cache.write(slots, start, K)
                    change = K.T @ new_coef
                if len(cached):
                    assert self.cache is not None
                    if first == 0:
                        K = self.cache.columns(cached, start, stop)
                    else:
                        K = learner.kernel(points.take(cached), chunk)
                    change = change + K.T @ cached_coef
                self.s[first + start : first + stop, :] += change
                total = total + points.place.xp.sum(change)
        if not np.isfinite(float(total)):
            raise learner.kernel.overflow_error(learner.dtype)
        new_rows = examples[self.support_index[examples] < 0]
        self.support_index[new_rows] = learner.n_support + np.arange(len(new_rows))
        self.score_rows = np.concatenate([self.score_rows, new_rows])
        learner.add_updates(
            log, update, self.support_index[examples], points.take(new_rows), self.train_rows_of(new_rows)
        )  # fmt: skip

    # ---- norms and changes: the scores of all examples are known, and <f, g> = sum_j a_j g(x_j)

    def scores(self, rows: np.ndarray) -> np.ndarray:
        if self.combine == "vote":
            return super().scores(rows)
        s, n_rows = self._scores_of(rows), self.learner.n_rows
        return s[:, :n_rows] if self.combine == "last" else s[:, :n_rows] - s[:, n_rows:] / max(self.learner.t, 1e-300)

    def norm(self) -> float:
        s = self._scores_of(self.score_rows)
        return float(np.sqrt(max(0.0, (self.learner.coef * s[:, : self.learner.n_rows]).sum())))

    def change(self) -> float:
        learner, place, n_rows = self.learner, self.points.place, self.learner.n_rows
        average, scores = learner.average, self.s[:, :n_rows] - self.s[:, n_rows:] / max(learner.t, 1e-300)
        previous, self.previous = self.previous, (average, scores)
        if previous is None:
            return np.inf
        moved = average.copy()
        moved[: len(previous[0])] -= previous[0]
        new, old = to_host(place.take(scores, self.score_rows)), to_host(place.take(previous[1], self.score_rows))
        norm = (average * new).sum()
        return float(np.sqrt(max(0.0, (moved * (new - old)).sum()) / norm)) if norm > 0 else np.inf

    def _scores_of(self, rows: np.ndarray) -> np.ndarray:
        return to_host(self.points.place.take(self.s, rows))


def next_block_size(rate: float) -> int:
    """Return the size of the next block if this fraction of examples triggers updates.

    A block of b examples needs b (2 rate b + SPARE_COLUMNS) kernel values.
    """
    by_values = (np.sqrt(SPARE_COLUMNS**2 + 8 * rate * VALUES_PER_BLOCK) - SPARE_COLUMNS) / (4 * rate)
    return int(max(MIN_BLOCK, min(UPDATES_PER_BLOCK / rate, by_values)))


def number_in_order(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values in the order of their first occurrence, and for each entry the index of its value."""
    values, first, index = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(values), np.intp)
    rank[order] = np.arange(len(values))
    return values[order], rank[index]
