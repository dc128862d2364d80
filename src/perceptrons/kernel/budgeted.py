"""Learning on a budget, block by block: the number of support vectors is limited (`passes/budget.py`)."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from perceptrons.engine.passes.budget import FINE, budget_walk
from perceptrons.engine.passes.budget_policies import FORGET_OLDEST, PROJECT, REMOVE_RANDOM, Budget, Places
from perceptrons.engine.training.epochs import Counts
from perceptrons.engine.training.interrupts import Uninterrupted
from perceptrons.engine.training.labels import Target
from perceptrons.engine.training.one_pass import one_blas_thread
from perceptrons.kernel.arrays import check_symmetric, place_of, to_host
from perceptrons.kernel.kernels import Points
from perceptrons.kernel.learner import KernelLearner
from perceptrons.kernel.support_vectors import GrowableArray
from perceptrons.kernel.sweep import KernelFit, Sweep

BLOCK_SIZE = 256  # examples
POLICIES = {"remove_random": REMOVE_RANDOM, "forget_oldest": FORGET_OLDEST, "project": PROJECT}


class BudgetedFit(KernelFit):
    """A training set, or a block of a stream, learned from on a budget.

    Memory beside the model: a block of 256 examples, their kernel values with each other and with the support vectors.
    The model itself: the support vectors, 16 bytes per coefficient, and budget^2 * 8 bytes to forget the oldest or to
    project.
    """

    def __init__(self, *examples: Any, **options: Any):
        super().__init__(*examples, **options)
        learner = self.learner
        rows = learner.train_rows.values.copy() if self.is_training_set else np.full(learner.n_support, -1)
        self.slot_rows = GrowableArray(rows)  # the row of this training set in each slot, or -1
        self.tolerance = 1e-3 if learner.dtype == "float32" else 1e-8  # of K(x, x), that projecting may lose
        # support vectors, averages and their squared norm one epoch ago
        self.previous: tuple[Points, np.ndarray, float] | None = None

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        """Learn from the examples in this order."""
        for start in range(0, len(order), BLOCK_SIZE):
            with one_blas_thread if len(order) > 1 else nullcontext():
                counts = self._learn(order[start : start + BLOCK_SIZE])
            yield counts

    def _learn(self, rows: np.ndarray) -> Counts:
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
        entered = np.full(len(state.coef), -1)  # the example of the block that took each slot, or -1
        weight = None if self.weight is None else self.weight[rows]
        seed = np.uint64(learner.seed % 2**64)
        budget = Budget(learner.budget, POLICIES[learner.on_full], seed, self.tolerance, self.eta)
        places = Places(rows, self.support_index, entered)
        with np.errstate(over="ignore"):  # the random numbers are a hash
            n_updates, loss, verdict = budget_walk(K, G, self.y[rows], learner.sign, weight, state, budget, places)
        slots = np.flatnonzero(entered >= 0)
        train_rows = self.train_rows_of(rows[entered[slots]])
        learner.finish_budget(slots, block.take(entered[slots]), train_rows, int(n_updates))
        self.slot_rows.n_used = learner.n_support
        if verdict != FINE:
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
    learner: KernelLearner, X: Any, target: Target, weight: Any, eta: float, *, is_single_pass: bool = False,
    cache_bytes: float = 0, averages: bool = False, **options: Any,
) -> KernelFit:  # fmt: skip
    """Return a model that knows the classes of the examples, with the examples, to be trained.

    is_single_pass: whether they are visited once and in their order.
    """
    with Uninterrupted():
        learner.meet_classes(target.classes)
        learner.support.move_to(place_of(X))
    points = learner.kernel.points(X)
    if not is_single_pass:
        options["support_index"] = learner.match_rows(points)
    examples = (learner, points, target.codes, weight, eta)
    if learner.budget is not None:
        return BudgetedFit(*examples, **options)
    return Sweep(*examples, cache_bytes=cache_bytes, averages=averages, is_single_pass=is_single_pass, **options)
