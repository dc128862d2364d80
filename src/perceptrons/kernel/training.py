"""Training sets of kernel models: exactly the online rule, by matrix products.

`UnlimitedFit` keeps the scores of all examples. A block of examples is visited in order with corrections from its own
Gram matrix (`passes/dual.py`). Then its updates are added to the scores of all by one matrix product: each update costs
one column of kernel values, once, so that later epochs cost only their own mistakes. No Gram matrix of the training set
is needed; columns of examples with several mistakes are cached as far as `cache_size` allows.

`BudgetedFit` limits the number of support vectors (`passes/budget.py`).
"""

from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np

from perceptrons.engine.passes.budget import (
    FORGET_OLDEST,
    PROJECT,
    REMOVE_RANDOM,
    BudgetRule,
    Slots,
    budget_pass,
)
from perceptrons.engine.passes.dual import Gram, Progress, binary_pass, joint_pass, margins
from perceptrons.engine.passes.voting import LOG_COLUMNS
from perceptrons.engine.training.epochs import Counts, Trainee
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import Target, winners
from perceptrons.engine.training.one_pass import one_blas_thread
from perceptrons.kernel.arrays import Array, check_symmetric, place_of, to_host
from perceptrons.kernel.kernels import Points, chunks, ignore_overflow
from perceptrons.kernel.learner import GrowableArray, KernelLearner

MIN_BLOCK, MAX_BLOCK = 256, 2**14  # examples
BUDGET_BLOCK = 256  # examples
UPDATES_PER_BLOCK = 256  # enough for a fast matrix product, few enough to look ahead; measured
VALUES_PER_BLOCK = 2**19  # kernel values for the visits of a block: more are slow to bring from a device; measured
MAX_BLOCK_BYTES = 2**26  # a copy of the examples of a block
MAX_SINGLE_THREAD_VALUES = 2**22  # in the training set, up to which one thread does the matrix products
EXTRA_COLUMNS = 32  # for examples that are right, but least clearly, computed with those of the mistakes
POLICIES = {"remove_random": REMOVE_RANDOM, "forget_oldest": FORGET_OLDEST, "project": PROJECT}


class KernelFit(Trainee[KernelLearner]):
    """A kernel model and its training set, as the loop in `training/epochs.py` trains them.

    support_index: the support vector of each row of a training set, or -1 (`KernelLearner.match_rows`); None for a
    block of a stream, whose examples are visited once and in order.
    """

    combine = "last"  # the function that the held-out examples are scored with
    held_out: np.ndarray | None = None

    def __init__(
        self, learner: KernelLearner, points: Points, y: np.ndarray, weight: np.ndarray | None, eta: float,
        support_index: np.ndarray | None,
    ):  # fmt: skip
        self.learner, self.points, self.y, self.weight, self.eta = learner, points, y, weight, eta
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
    """Kernel values of examples with all others: of those that need them first, as many as n_bytes have room for."""

    def __init__(self, points: Points, dtype: str, n_bytes: float):
        n = len(points)
        self._points, self._dtype = points, dtype
        self._capacity = min(n, int(n_bytes // (np.dtype(dtype).itemsize * max(1, n))))
        self._slot = np.full(n, -1)
        self._n_used = 0
        self._values: Array = None

    def contains(self, rows: np.ndarray) -> np.ndarray:
        return self._slot[rows] >= 0

    def columns(self, rows: np.ndarray, start: int, stop: int) -> Array:
        """Return kernel values (len(rows), stop - start) of cached examples with neighbours."""
        return self._points.place.take(self._values[:, start:stop], self._slot[rows])

    def values(self, rows: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """Return kernel values of cached examples with any others, on the host."""
        place = self._points.place
        if place.is_host:
            return self._values[self._slot[rows][:, None], neighbours]
        return to_host(place.take(place.take(self._values, self._slot[rows]), neighbours, axis=1))

    def reserve(self, rows: np.ndarray) -> slice:
        """Return the slots of the first of these examples, as many as there is room for; to be filled by `write`."""
        start = self._n_used
        self._n_used = min(self._capacity, start + len(rows))
        if self._values is None and self._n_used:
            self._values = self._points.place.zeros((self._capacity, len(self._points)), self._dtype)
        self._slot[rows[: self._n_used - start]] = np.arange(start, self._n_used)
        return slice(start, self._n_used)

    def write(self, slots: slice, start: int, K: Array) -> None:
        if slots.stop > slots.start:
            self._values[slots, start : start + K.shape[1]] = K[: slots.stop - slots.start, :]


class UnlimitedFit(KernelFit):
    """A training set with the scores of all its examples, or a block of a stream.

    Memory beside the model and the cache: 8 bytes per example and row of scores (32 with averages), the examples of a
    block (at most 64 MB, at least 64 examples) with their kernel values, and a chunk of kernel values.
    """

    def __init__(
        self, learner: KernelLearner, points: Points, y: np.ndarray, weight: np.ndarray | None, eta: float,
        support_index: np.ndarray | None, cache_bytes: float, keeps_averages: bool,
    ):  # fmt: skip
        super().__init__(learner, points, y, weight, eta, support_index)
        self.keeps_averages, self.sign = keeps_averages, learner.sign
        self.block_size = MIN_BLOCK
        row_bytes = int(points.rows.shape[1]) * 8 if points.index is None else 8
        self.max_block = max(64, min(MAX_BLOCK, MAX_BLOCK_BYTES // max(1, row_bytes)))
        # a second thread is no gain for small products, and on a busy machine a loss
        n_values = len(points) * int(points.rows.shape[1])
        self.uses_one_thread = n_values < MAX_SINGLE_THREAD_VALUES and points.place.is_host and len(points) > 1
        # a device computes kernel values faster than it finds them again, but not those of a function
        is_cached = self.is_training_set and (points.place.is_host or not isinstance(learner.kernel.name, str))
        self.cache = ColumnCache(points, learner.dtype, cache_bytes if is_cached else 0)
        self._scale: np.ndarray | None = None  # makes scores of different examples comparable
        self.parts = [(0, points)]  # the examples whose scores are kept, and the first row of each part in `s`
        self.score_rows = np.zeros(0, np.intp)  # the row of `s` of each support vector
        self.previous: tuple[np.ndarray, Array] | None = None  # averages and all averaged scores one epoch ago
        if self.is_training_set:
            self._add_support_scores()
        self.s = points.place.zeros((sum(len(part) for _, part in self.parts), self._n_columns), "float64")
        self._compute_scores()

    @property
    def _n_columns(self) -> int:
        return self.learner.n_rows * (2 if self.keeps_averages else 1)

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
        progress = Progress(learner.t, 0, np.empty((0, LOG_COLUMNS)))
        while True:  # until the pass stops for a mistake whose kernel values are not known yet
            known = Gram(gram.values, gram_row, base)
            if len(sign):
                position, more_loss, progress = binary_pass(s, y, sign, weight, known, position, self.eta, progress)
            else:
                position, more_loss, progress = joint_pass(s, y, weight, known, position, self.eta, progress)
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
        n_updates = progress.n_updates
        if n_updates:
            self._add_updates(rows, progress.log[:n_updates], n_visited)
        learner.t = progress.seen
        self.block_size = min(self.max_block, next_block_size(max(1, n_updates) / len(rows)))
        return Counts(len(rows), n_updates, n_updates, loss)

    def _likely_mistakes(
        self, s: np.ndarray, y: np.ndarray, gram_row: np.ndarray, position: int, rows: np.ndarray
    ) -> np.ndarray:
        """Return the examples from `position` on that are mistakes by now, or least clearly right."""
        if self._scale is None:
            self._scale = 1.0 / np.sqrt(np.maximum(self.learner.kernel.self_values(self.points), np.finfo(float).tiny))
        margin = margins(s, y, self.sign, self._scale[rows], gram_row, position)
        margin[0] = -np.inf
        n_affordable = max(EXTRA_COLUMNS, VALUES_PER_BLOCK // len(margin))
        n = min(len(margin), 2 * int((margin <= 0).sum()) + EXTRA_COLUMNS, n_affordable)
        likely = position + np.sort(np.argpartition(margin, n - 1)[:n])
        return likely[margin[likely - position] < np.inf]

    def _kernel_values(self, block: Points, rows: np.ndarray, selected: np.ndarray) -> np.ndarray:
        """Return kernel values of some examples of the block with all of it, on the host. rows: those of the block."""
        learner = self.learner
        is_cached = self.cache.contains(rows[selected])
        if not is_cached.any():
            G = np.asarray(to_host(learner.kernel(block.take(selected), block)))
        else:
            G = np.empty((len(selected), len(rows)), learner.dtype)
            G[is_cached] = self.cache.values(rows[selected[is_cached]], rows)
            if not is_cached.all():
                G[~is_cached] = to_host(learner.kernel(block.take(selected[~is_cached]), block))
        if not isinstance(learner.kernel.name, str):
            check_symmetric(G[:, selected], "The kernel")
        return np.ascontiguousarray(G)

    def _add_updates(self, rows: np.ndarray, log: np.ndarray, n_visited: int) -> None:
        """Add the updates of a block to the scores of all examples and to the model."""
        learner, points = self.learner, self.points
        examples, update = number_in_order(rows[log[:, 1].astype(np.intp)])
        coef = np.hstack(learner.coefficient_changes(log, update, len(examples)))[:, : self._n_columns]
        is_cached = self.cache.contains(examples)
        new, cached = points.take(examples[~is_cached]), examples[is_cached]
        slots = self.cache.reserve(examples[~is_cached])
        new_coef, cached_coef = (points.place.put(part, learner.dtype) for part in (coef[~is_cached], coef[is_cached]))
        total = 0.0
        for first, part in self.parts:
            skipped = n_visited if not self.is_training_set and first == 0 else 0  # their scores are not needed
            for offset, chunk in chunks(part.slice(skipped, len(part)), len(examples)):
                start, stop = skipped + offset, skipped + offset + len(chunk)
                change = 0.0
                if len(new):
                    K = learner.kernel(new, chunk)
                    if first == 0:
                        self.cache.write(slots, start, K)
                    change = K.T @ new_coef
                if len(cached):
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


class BudgetedFit(KernelFit):
    """A training set, or a block of a stream, learned from on a budget.

    Memory beside the model: a block of 256 examples, their kernel values with each other and with the support vectors.
    The model itself: the support vectors, 16 bytes per coefficient, and budget^2 * 8 bytes to forget the oldest or to
    project.
    """

    def __init__(
        self, learner: KernelLearner, points: Points, y: np.ndarray, weight: np.ndarray | None, eta: float,
        support_index: np.ndarray | None,
    ):  # fmt: skip
        super().__init__(learner, points, y, weight, eta, support_index)
        rows = learner.train_rows.values.copy() if self.is_training_set else np.full(learner.n_support, -1)
        self.slot_rows = GrowableArray(rows)  # the row of this training set in each slot, or -1
        self.tolerance = 1e-3 if learner.dtype == "float32" else 1e-8  # of K(x, x), lost by projecting
        # support vectors, averages and their squared norm one epoch ago
        self.previous: tuple[Points, np.ndarray, float] | None = None

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        """Learn from the examples in this order."""
        for start in range(0, len(order), BUDGET_BLOCK):
            with one_blas_thread if len(order) > 1 else nullcontext():
                counts = self._learn(order[start : start + BUDGET_BLOCK])
            yield counts

    def _learn(self, rows: np.ndarray) -> Counts:
        """Learn from one block."""
        learner, kernel = self.learner, self.learner.kernel
        assert learner.budget is not None
        block = self.points.take(rows)
        support = learner.support.at(block.place)
        state = learner.reserve_budget(len(rows), self.slot_rows)
        K = np.zeros((len(rows), len(state.coef)), learner.dtype)
        if learner.n_support:
            K[:, : learner.n_support] = to_host(kernel(block, support))
        G = np.ascontiguousarray(to_host(kernel(block, block)))
        if not isinstance(kernel.name, str):
            check_symmetric(G, "The kernel")
        if not (np.isfinite(G).all() and np.isfinite(K).all()):
            raise kernel.overflow_error(learner.dtype)
        slots = Slots(rows, self.support_index, np.full(len(state.coef), -1))
        weight = None if self.weight is None else self.weight[rows]
        seed = np.uint64(learner.seed % 2**64)
        rule = BudgetRule(learner.budget, POLICIES[learner.on_full], seed, self.tolerance, self.eta)
        with np.errstate(over="ignore"):  # the random numbers are a hash
            n_updates, loss, is_indefinite = budget_pass(K, G, self.y[rows], learner.sign, weight, state, rule, slots)
        new_slots = np.flatnonzero(slots.new_example >= 0)
        new = slots.new_example[new_slots]
        learner.finish_budget(new_slots, block.take(new), self.train_rows_of(rows[new]), int(n_updates))
        self.slot_rows.n_used = learner.n_support
        if is_indefinite:
            raise ValueError(
                "on_full='project' needs a positive definite kernel, but an example has a negative squared distance "
                "to the support vectors: use another kernel, or on_full='remove_random'. The model keeps what it "
                "learned before this example."
            )
        return Counts(len(rows), int(n_updates), int(n_updates), float(loss))

    # ---- norms and changes follow from kernel values, since the support vectors are few

    def norm(self) -> float:
        points, coef = self.learner.support.points(), self.learner.coef
        return float(np.sqrt(max(0.0, self._inner_product(points, coef, points, coef))))

    def change(self) -> float:
        points, average = self.learner.support.points(), self.learner.average
        points = points.take(np.arange(len(points)))
        norm = self._inner_product(points, average, points, average)
        previous, self.previous = self.previous, (points, average, norm)
        if previous is None:
            return np.inf
        moved = norm + previous[2] - 2 * self._inner_product(points, average, previous[0], previous[1])
        return float(np.sqrt(max(0.0, moved) / norm)) if norm > 0 else np.inf

    def _inner_product(self, A: Points, a: np.ndarray, B: Points, b: np.ndarray) -> float:
        """Return <f, g> of f = sum_i a_i K(A_i, ·) and g = sum_j b_j K(B_j, ·)."""
        if not len(a) or not len(b):
            return 0.0
        if A.index is not None:
            A = Points(self.points.rows, A.place, index=A.index)
        return float((a * (to_host(self.learner.kernel(A, B)) @ b)).sum())


def prepare_fit(
    learner: KernelLearner, X: Array, target: Target, weight: np.ndarray | None, eta: float, *,
    is_single_pass: bool = False, cache_bytes: float = 0, keeps_averages: bool = False,
) -> KernelFit:  # fmt: skip
    """Return a model that knows the classes of the examples, with the examples, to be trained.

    is_single_pass: for a block of a stream. keeps_averages: for a training set, also keep the averaged scores of all.
    """
    with Uninterrupted():
        learner.meet_classes(target.classes)
        learner.support.move_to(place_of(X))
    points = learner.kernel.points(X)
    support_index = None if is_single_pass else learner.match_rows(points)
    examples = (learner, points, target.codes, weight, eta, support_index)
    return BudgetedFit(*examples) if learner.budget else UnlimitedFit(*examples, cache_bytes, keeps_averages)


def next_block_size(rate: float) -> int:
    """Return the size of the next block if this fraction of examples triggers updates.

    A block of b examples needs b (2 rate b + EXTRA_COLUMNS) kernel values.
    """
    by_values = (np.sqrt(EXTRA_COLUMNS**2 + 8 * rate * VALUES_PER_BLOCK) - EXTRA_COLUMNS) / (4 * rate)
    return int(max(MIN_BLOCK, min(UPDATES_PER_BLOCK / rate, by_values)))


def number_in_order(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values in the order of their first occurrence, and for each entry the index of its value."""
    values, first, index = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(values), np.intp)
    rank[order] = np.arange(len(values))
    return values[order], rank[index]
