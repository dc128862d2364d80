"""One call of a pass: the same for `fit`, `partial_fit` and `learn_one`. The loop over epochs is in `epochs.py`."""

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from perceptrons.passes.binary import binary_mistakes, binary_pass
from perceptrons.passes.multiclass import block_pass, multiclass_mistakes, multiclass_pass
from perceptrons.passes.state import BEST_MISTAKES, JUDGED, UNJUDGED, judge
from perceptrons.rows import Dense, Rows
from perceptrons.training.votes import Votes
from perceptrons.training.weights import Weights

PIECE = 2**27  # multiplications a call of a pass: some 50 ms, so that time limits, Ctrl-C and the bar are prompt
MANY_CLASSES = 150  # from here on matrix products are faster than row by row; measured, see docs/decisions.md

# the label that is wrong at score 0 (2: both, 0: none): while learning, and for the answer that `predict` gives
ZERO_WHEN_LEARNING = {"mistake": 2, "correct": 0, "positive": -1, "negative": 1}
ZERO_WHEN_PREDICTING = {"mistake": 1, "correct": 1, "positive": -1, "negative": 1}


class Examples(NamedTuple):
    """A training set, checked: what every pass takes first."""

    rows: Rows
    y: np.ndarray  # int8 -1 or +1 for a model of one row, else int32 class numbers
    weight: np.ndarray | None


class Counts(NamedTuple):
    mistakes: int
    loss: float


def learn(
    weights: Weights,
    examples: Examples,
    order: np.ndarray,
    *,
    eta: float,
    zero_score: str,
    judged_on: np.ndarray,
    votes: Votes | None = None,
    taken: np.ndarray | None = None,
) -> Counts:
    """Visit the examples in the given order once and learn from them. Changes weights (and votes) in place."""
    rows, y, weight = examples
    weights.arrange(rows)
    model, pocket = weights.linear(), weights.pocket(judged_on)
    zero = ZERO_WHEN_LEARNING[zero_score]
    log = np.empty((0, 5)) if votes is not None else None
    if pocket is not None and not pocket.tally[BEST_MISTAKES] < np.inf:
        pocket.tally[BEST_MISTAKES] = mistakes_of((pocket.w, pocket.b), examples, judged_on, zero)
    if weights.n_rows == 1:
        mistakes, loss, log = binary_pass(rows, y, weight, order, model, eta, zero, log, pocket)
    elif isinstance(rows, Dense) and weights.n_rows >= MANY_CLASSES and pocket is None:
        with one_blas_thread:
            mistakes, loss, log = block_pass(rows, y, weight, order, model, eta, log)
    else:
        mistakes, loss, log = multiclass_pass(rows, y, weight, order, model, eta, log, pocket)
    if votes is not None and mistakes:
        votes.record(rows, weights.n_features, log[:mistakes], np.full(len(y), -1) if taken is None else taken)
    return Counts(int(mistakes), float(loss))


def piece_size(examples: Examples, weights: Weights, work: int) -> int:
    """How many examples make about that much work, in whole blocks."""
    stored = examples.rows.values.size / max(1, len(examples.y))
    return max(1024, int(work / ((stored + 1) * weights.n_rows)) // 1024 * 1024)


def pieces(order: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """The order, cut into consecutive pieces."""
    for start in range(0, len(order), size):
        yield order[start : start + size]


def judge_last(weights: Weights, examples: Examples, judged_on: np.ndarray, zero_score: str) -> None:
    """At the end of an epoch the last weights are pocketed too if they are the best, whatever their run."""
    pocket = weights.pocket(judged_on)
    if pocket is not None and pocket.tally[JUDGED] == UNJUDGED:
        made = mistakes_of(weights.last(), examples, judged_on, ZERO_WHEN_LEARNING[zero_score])
        judge(pocket, weights.linear(), made)


def mistakes_of(model: tuple[np.ndarray, np.ndarray], examples: Examples, which: np.ndarray, zero: int) -> float:
    """How many of the examples named by `which` fixed weights get wrong, by weight."""
    (rows, y, weight), (w, b) = examples, model
    if len(b) == 1:
        return float(binary_mistakes(rows, y, weight, which, w, b, zero))
    return float(multiclass_mistakes(rows, y, weight, which, w, b))


class OneBlasThread:
    """Blocks are small: one thread is as fast, never stalls on a busy machine, and always gives the same bits.

    Fits in several threads share the limit: the first in sets it, the last out lifts it.
    """

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._controller: Any = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._controller = self._controller or ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


one_blas_thread = OneBlasThread()
