"""One call of a pass: the same for `fit`, `partial_fit` and `learn_one`. The loop over epochs is in `epochs.py`."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import OpenBLASController, ThreadpoolController

from perceptrons.engine.passes.average import ANCHOR, SCALE
from perceptrons.engine.passes.batches import batch_pass, following_batches
from perceptrons.engine.passes.binary import binary_mistakes, binary_pass
from perceptrons.engine.passes.log import LOG_COLUMNS
from perceptrons.engine.passes.multiclass import block_pass, multiclass_mistakes, multiclass_pass
from perceptrons.engine.passes.one_vs import (
    Problems,
    duels_pass,
    following_duels,
    following_labels,
    labels_pass,
    together_pass,
)
from perceptrons.engine.passes.penalty import pending_for
from perceptrons.engine.passes.perceptron import joint_perceptron, perceptron
from perceptrons.engine.passes.pocket import BEST_MISTAKES, JUDGED, UNJUDGED, judge
from perceptrons.engine.rows import Dense, Rows
from perceptrons.engine.training.epochs import Counts
from perceptrons.engine.training.rule import ZERO_WHEN_LEARNING, Method
from perceptrons.engine.training.schemes import TWO_CLASSES
from perceptrons.engine.training.votes import Votes
from perceptrons.engine.training.weights import Weights

PIECE = 2**27  # multiplications a call of a pass: some 50 ms, so that time limits, Ctrl-C and the bar are prompt
A_VISIT = 20  # multiplications that a visit takes as much time as, beside those with the example
MANY_EXAMPLES = 1024  # from here on it pays to bring one-vs-one weights into the order of their pairs
MANY_CLASSES = 150  # from here on matrix products are faster than row by row; measured, see docs/decisions.md


class Examples(NamedTuple):
    """A training set, checked: what every pass takes first."""

    rows: Rows
    y: np.ndarray  # int8 -1 or +1 for a binary model, else int32 class numbers
    weight: np.ndarray | None
    problems: Problems | None = None  # where classes or labels are binary problems
    by_label: np.ndarray | None = None  # (labels, 2): weights of the examples without and with each label


def learn(
    weights: Weights,
    examples: Examples,
    order: np.ndarray,
    method: Method,
    *,
    judged_on: np.ndarray,
    votes: Votes | None = None,
    support_of_row: np.ndarray | None = None,
    record: np.ndarray | None = None,
) -> Counts:
    """Visit the examples in the given order once and learn from them. Changes weights (votes, record) in place.

    record: of predictions of new examples after a fit, see passes/following.py.
    """
    rows, y, weight, problems, by_label = examples
    weights.arrange(rows, by_row=problems is not None and problems.duels and len(order) >= MANY_EXAMPLES)
    if method.l1:
        weights.keep_payments()
    model, pocket, rule = weights.linear(), weights.pocket(judged_on), method.rule(weights.dtype)
    cost = method.cost
    general = None if method.is_plain else True
    pending = pending_for(weights.n_features) if method.l1 else None
    log = np.empty((0, LOG_COLUMNS)) if votes is not None else None
    plain = all(extra is None for extra in (general, pending, record, weight, log, pocket)) and not len(cost)
    plain = plain and model.clock[0, SCALE] == 1.0 and model.clock[0, ANCHOR] == 0.0  # no L2 penalty yet
    if pocket is not None and not pocket.tally[BEST_MISTAKES] < np.inf:
        pocket.tally[BEST_MISTAKES] = mistakes_of((pocket.w, pocket.b), examples, judged_on, rule.zero)
    if method.batch != 1:
        if problems is None and weights.n_rows == 1:
            problems = TWO_CLASSES
        size = method.batch or np.iinfo(np.int64).max
        rule = rule._replace(anchor=0.0)  # a batch is not penalised at every visit
        if record is None:
            mistakes, updates, loss, log = batch_pass(
                rows, y, problems, weight, order, model, rule, cost, size, log, pocket
            )
        else:
            size = len(order) if weight is not None else min(size, len(order))  # repetitions count in a batch
            mistakes, updates, loss = following_batches(
                rows, y, problems, weight, order, model, rule, cost, size, record
            )
    elif problems is not None:
        if not problems.duels and by_label is None and len(model.clock) == 1:
            mistakes, updates, loss = together_pass(
                rows, y, problems, weight, order, model, rule, general, pending, record
            )
        elif problems.duels and record is None:
            mistakes, updates, loss = duels_pass(
                rows, y, len(problems.sign), weight, order, model, rule, general, pending
            )
        elif problems.duels:
            mistakes, updates, loss = following_duels(
                rows, y, problems, weight, order, model, rule, general, pending, record
            )
        else:
            by_label = np.ones((weights.n_rows, 2)) if by_label is None else by_label
            if record is None:
                mistakes, updates, loss = labels_pass(
                    rows, y, problems, weight, by_label, order, model, rule, general, pending
                )
            else:
                mistakes, updates, loss = following_labels(
                    rows, y, problems, weight, by_label, order, model, rule, general, pending, record
                )
    elif weights.n_rows == 1 and plain:
        mistakes, updates, loss = perceptron(rows, y, order, model, rule)
    elif weights.n_rows == 1:
        mistakes, updates, loss, log = binary_pass(
            rows, y, weight, order, model, rule, general, cost, log, pocket, pending, record
        )
    elif record is None and _by_blocks(weights, rows, method):
        with one_blas_thread:
            mistakes, updates, loss, log = block_pass(rows, y, weight, order, model, rule, cost, log)
    elif plain:
        mistakes, updates, loss = joint_perceptron(rows, y, order, model, rule, cost)
    else:
        mistakes, updates, loss, log = multiclass_pass(
            rows, y, weight, order, model, rule, general, cost, log, pocket, pending, record
        )
    if votes is not None and log is not None and updates:
        votes.record(
            rows, weights.n_features, log[:updates], np.full(len(y), -1) if support_of_row is None else support_of_row
        )
    overflowed = not loss < np.inf
    return Counts(len(order), int(mistakes), int(updates), 0.0 if overflowed else float(loss), overflowed)


def at_rest(row: dict[str, Any], method: Method, contradicted: Callable[[], bool]) -> str:
    """Why no example will ever trigger an update again, after a full epoch that went as this row says; "" if one may.

    zero_score="correct" lets scores of 0 pass for both classes, and `predict` answers one of them: what it answers
    wrongly then, the rule never mends. contradicted: is there such an example?
    """
    asks_more = method.in_epoch(row["epoch"]) is not method  # the next epoch does
    if row["mistakes"] or row["updates"] or method.penalised or asks_more:
        return ""
    return "stuck" if method.zero_score == "correct" and contradicted() else "converged"


def check_overflow(counts: Counts, method: Method, dtype: np.dtype) -> None:
    """Raise ValueError if the pass ended early."""
    if counts.overflowed:
        raise ValueError(
            f"An update with step={method.step!r} would overflow {dtype}: an example is too small for the margin. "
            "Scale the "
            "features, for instance with scikit-learn's StandardScaler, or use step='pa1', with steps of at most C. "
            "The model keeps what it learned before this example."
        )


def _by_blocks(weights: Weights, rows: Rows, method: Method) -> bool:
    """Return whether matrix products are faster and give the same."""
    if not isinstance(rows, Dense) or weights.n_rows < MANY_CLASSES or weights.has_pocket:
        return False
    return method.is_plain and not method.l1 and not method.window and weights.unscaled


def piece_size(examples: Examples, weights: Weights, work: int, batch: int) -> int:
    """Return how many examples make about that much work: whole blocks, whole batches."""
    stored = examples.rows.values.size / max(1, len(examples.y))
    visits = 1.0 if examples.weight is None else max(1.0, float(examples.weight.mean()))
    least = max(1, int(1024 / visits))
    size = max(least, int(work / ((stored + A_VISIT) * weights.n_rows * visits)) // least * least)
    if batch == 1:
        return size
    if batch == 0 or examples.weight is not None:  # repetitions count in a batch: where one ends is not known here
        return max(1, len(examples.y))
    return -(-size // batch) * batch


def pieces(order: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield the order in consecutive pieces."""
    for start in range(0, len(order), size):
        yield order[start : start + size]


def judge_last(weights: Weights, examples: Examples, judged_on: np.ndarray, zero_score: str) -> None:
    """Pocket the last weights at the end of an epoch if they are the best, whatever their run."""
    pocket = weights.pocket(judged_on)
    if pocket is not None and pocket.tally[JUDGED] == UNJUDGED:
        n_mistakes = mistakes_of(weights.last(), examples, judged_on, ZERO_WHEN_LEARNING[zero_score])
        judge(pocket, weights.linear(), n_mistakes)


def mistakes_of(model: tuple[np.ndarray, np.ndarray], examples: Examples, order: np.ndarray, zero: int) -> float:
    """Return the total weight of those examples in the order that fixed weights predict wrongly."""
    (rows, y, weight, *_), (w, b) = examples, model
    if len(b) == 1:
        return float(binary_mistakes(rows, y, weight, order, w, b, 1.0, zero))
    return float(multiclass_mistakes(rows, y, weight, order, w, b, 1.0))


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
                _anyone_may_set_blas_threads()
                self._limit.restore_original_limits()
                _anyone_may_set_blas_threads()


def _anyone_may_set_blas_threads() -> None:
    """threadpoolctl, from 3.8 on, ignores all threads but the first to set a limit, and the last out may be another."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


one_blas_thread = OneBlasThread()
