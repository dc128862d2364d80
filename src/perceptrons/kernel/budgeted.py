"""Learning on a budget, block by block: the number of support examples is limited (`passes/budget.py`).

`training_set` chooses between this and a sweep, which has no budget.
"""

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
from perceptrons.kernel.support_vectors import Growing
from perceptrons.kernel.sweep import KernelFit, Sweep

BLOCK = 256
POLICIES = {"remove_random": REMOVE_RANDOM, "forget_oldest": FORGET_OLDEST, "project": PROJECT}


class Budgeted(KernelFit):
    """A training set, or a block of a stream, learned from on a budget.

    Memory beside the model: a block of 256 examples, their kernel values with each other and with what is held. The
    model itself: the support examples, 16 bytes per coefficient, and budget^2 * 8 bytes to forget the oldest or to
    project.
    """

    def __init__(self, *examples: Any, **more: Any):
        super().__init__(*examples, **more)
        learner = self.learner
        self.row_of = Growing(learner.where.now.copy() if self.known else np.full(learner.n_support, -1))
        self.tiny = 1e-3 if learner.dtype == "float32" else 1e-8  # of K(x, x), that projecting may lose
        self.before: tuple[Points, np.ndarray, float] | None = None  # support, averages, squared norm an epoch ago

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        """Learn from these examples in this order."""
        for begin in range(0, len(order), BLOCK):
            with one_blas_thread if len(order) > 1 else nullcontext():
                counts = self._learn(order[begin : begin + BLOCK])
            yield counts

    def _learn(self, which: np.ndarray) -> Counts:
        learner = self.learner
        assert learner.budget is not None
        block = self.points.take(which)
        support = learner.support.at(block.place)
        held = learner.hold(len(which), self.row_of)
        K = np.zeros((len(which), len(held.coef)), learner.dtype)
        if learner.n_support:
            K[:, : learner.n_support] = to_host(learner.kernel(block, support))
        G = np.ascontiguousarray(to_host(learner.kernel(block, block)))
        if not isinstance(learner.kernel.name, str):
            check_symmetric(G, "The kernel")
        if not (np.isfinite(G).all() and np.isfinite(K).all()):
            raise learner.kernel.too_large(learner.dtype)
        entered = np.full(len(held.coef), -1)
        weight = None if self.weight is None else self.weight[which]
        seed = np.uint64(learner.seed % 2**64)
        budget = Budget(learner.budget, POLICIES[learner.on_full], seed, self.tiny, self.eta)
        places = Places(which, self.taken, entered)
        with np.errstate(over="ignore"):  # the random numbers are a hash
            updates, loss, verdict = budget_walk(K, G, self.y[which], learner.sign, weight, held, budget, places)
        slots = np.flatnonzero(entered >= 0)
        where = which[entered[slots]] if self.known else np.full(len(slots), -1)
        learner.held(slots, block.take(entered[slots]), where, int(updates))
        self.row_of.used = learner.n_support
        if verdict != FINE:
            raise ValueError(
                "on_full='project' needs a positive definite kernel, but an example has a negative squared distance "
                "to the support vectors: use another kernel, or on_full='remove_random'. The model keeps what it "
                "learned before this example."
            )
        return Counts(len(which), int(updates), int(updates), float(loss))

    # ---- what the loop over epochs asks: support examples are few, and norms follow from their kernel values

    def norm(self) -> float:
        points = self.learner.support.points()
        return float(np.sqrt(max(0.0, self._inner(points, self.learner.coef, points, self.learner.coef))))

    def change(self) -> float:
        points = self.learner.support.points()
        now, points = self.learner.average, points.take(np.arange(len(points)))
        norm = self._inner(points, now, points, now)
        before, self.before = self.before, (points, now, norm)
        if before is None:
            return np.inf
        moved = norm + before[2] - 2 * self._inner(points, now, before[0], before[1])
        return float(np.sqrt(max(0.0, moved) / norm)) if norm > 0 else np.inf

    def _inner(self, A: Points, a: np.ndarray, B: Points, b: np.ndarray) -> float:
        """<f, g> of two expansions."""
        if not len(a) or not len(b):
            return 0.0
        if A.index is not None:
            A = Points(self.points.rows, A.place, index=A.index)
        return float((a * (to_host(self.learner.kernel(A, B)) @ b)).sum())


def training_set(
    learner: KernelLearner, X: Any, target: Target, weight: Any, eta: float, *, once: bool = False,
    cache_bytes: float = 0, averages: bool = False, **asked: Any,
) -> KernelFit:  # fmt: skip
    """A model that has met the classes of examples, and them, to be trained on a budget or without. once: in one pass
    in their order."""
    with Uninterrupted():
        learner.meet_classes(target.classes)
        learner.support.settle(place_of(X))
    points = learner.kernel.points(X)
    if not once:
        asked["taken"] = learner.taken_in(points)
    examples = (learner, points, target.codes, weight, eta)
    if learner.budget is not None:
        return Budgeted(*examples, **asked)
    return Sweep(*examples, cache_bytes=cache_bytes, averages=averages, ahead=once, **asked)
