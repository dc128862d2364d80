"""One call of a pass: the same for `fit`, `partial_fit` and `learn_one`. The loop over epochs is in `epochs.py`."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import OpenBLASController, ThreadpoolController

from perceptrons.engine.passes.batches import batch_pass, following_batch_pass
from perceptrons.engine.passes.binary import binary_mistakes, binary_pass
from perceptrons.engine.passes.l1_penalty import no_truncations
from perceptrons.engine.passes.multiclass import block_pass, multiclass_mistakes, multiclass_pass
from perceptrons.engine.passes.one_vs import (
    following_labels_pass,
    following_one_vs_one_pass,
    labels_pass,
    one_vs_one_pass,
    shared_clock_pass,
)
from perceptrons.engine.passes.perceptron import joint_perceptron, perceptron
from perceptrons.engine.passes.pocket import UNJUDGED, judge
from perceptrons.engine.passes.steps import Examples, Training
from perceptrons.engine.passes.voting import LOG_COLUMNS
from perceptrons.engine.rows import Dense, Rows
from perceptrons.engine.training.epochs import Counts
from perceptrons.engine.training.parameters import ZERO_WHEN_LEARNING, Method
from perceptrons.engine.training.schemes import TWO_CLASSES
from perceptrons.engine.training.votes import Votes
from perceptrons.engine.training.weights import Weights

PIECE_OPERATIONS = (
    2**27
)  # multiplications a call of a pass: some 50 ms, so that time limits, Ctrl-C and the bar are prompt
VISIT_OPERATIONS = 20  # multiplications that a visit takes as much time as, beside those with the example
MIN_EXAMPLES_TO_REORDER = 1024  # from here on it pays to bring one-vs-one weights into the order of their pairs
MIN_CLASSES_FOR_BLOCKS = (
    150  # from here on matrix products are faster than row by row; measured, see docs/decisions/engine.md
)


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
    problems, rule = examples.problems, method.rule(weights.dtype)
    is_one_vs_one = problems is not None and problems.is_one_vs_one
    weights.arrange(examples.rows, by_row=is_one_vs_one and len(order) >= MIN_EXAMPLES_TO_REORDER)
    if method.l1:
        weights.keep_payments()
    l1 = no_truncations(weights.n_features) if method.l1 else None
    pocket = weights.pocket(judged_on)
    log = np.empty((0, LOG_COLUMNS)) if votes is not None else None
    training = Training(weights.linear(), l1, pocket, log, record, None if method.is_plain else True)
    if pocket is not None and not pocket.tally[0].best_mistakes < np.inf:
        pocket.tally[0].best_mistakes = mistakes_of((pocket.w, pocket.b), examples, judged_on, rule.zero)
    if method.batch != 1:
        size = method.batch or np.iinfo(np.int64).max
        if record is not None:  # repetitions count in a batch
            size = len(order) if examples.weight is not None else min(size, len(order))
        rule = rule._replace(anchor=0.0, batch=size)  # a batch is not penalised at every visit
        if problems is None and weights.n_rows == 1:
            examples = examples._replace(problems=TWO_CLASSES)
    run_pass = choose_pass(weights, examples, training, method)
    if run_pass is block_pass:
        with one_blas_thread:
            mistakes, updates, loss, log = block_pass(examples, order, training, rule, method.cost)
    else:
        if problems is not None and run_pass in (labels_pass, following_labels_pass) and examples.by_label is None:
            examples = examples._replace(by_label=np.ones((weights.n_rows, 2)))
        mistakes, updates, loss, log = run_pass(examples, order, training, rule, method.cost)
    if votes is not None and log is not None and updates:
        votes.record(
            examples.rows, weights.n_features, log[:updates],
            np.full(len(examples.y), -1) if support_of_row is None else support_of_row,
        )  # fmt: skip
    overflowed = not loss < np.inf
    return Counts(len(order), int(mistakes), int(updates), 0.0 if overflowed else float(loss), overflowed)


def is_unscaled(state: np.ndarray) -> bool:
    """Return whether no L2 penalty has scaled the weights, and the average counts from 0."""
    return bool(state["scale"][0] == 1.0 and state["anchor"][0] == 0.0)


def choose_pass(weights: Weights, examples: Examples, training: Training, method: Method) -> Any:
    """Return the pass for these examples and this way of learning. All passes have the same arguments and results."""
    problems, follows = examples.problems, training.record is not None
    if method.batch != 1:
        return following_batch_pass if follows else batch_pass
    if problems is not None and problems.is_one_vs_one:
        return following_one_vs_one_pass if follows else one_vs_one_pass
    if problems is not None and (examples.by_label is not None or len(training.model.state) > 1):
        return following_labels_pass if follows else labels_pass
    if problems is not None:
        return shared_clock_pass
    has_extras = not method.is_plain or bool(method.window) or examples.weight is not None or len(method.cost) > 0
    has_parts = follows or training.log is not None or training.pocket is not None or training.l1 is not None
    is_plain = not has_extras and not has_parts and is_unscaled(training.model.state)
    if weights.n_rows == 1:
        return perceptron if is_plain else binary_pass
    if not follows and _by_blocks(weights, examples.rows, method):
        return block_pass
    return joint_perceptron if is_plain else multiclass_pass


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
    if not isinstance(rows, Dense) or weights.n_rows < MIN_CLASSES_FOR_BLOCKS or weights.has_pocket:
        return False
    return method.is_plain and not method.l1 and not method.window and weights.unscaled


def piece_size(examples: Examples, weights: Weights, work: int, batch: int) -> int:
    """Return how many examples make about that much work: whole blocks, whole batches."""
    stored = examples.rows.values.size / max(1, len(examples.y))
    visits = 1.0 if examples.weight is None else max(1.0, float(examples.weight.mean()))
    least = max(1, int(1024 / visits))
    size = max(least, int(work / ((stored + VISIT_OPERATIONS) * weights.n_rows * visits)) // least * least)
    if batch == 1:
        return size
    if batch == 0 or examples.weight is not None:  # repetitions count in a batch: where one ends is not known here
        return max(1, len(examples.y))
    return -(-size // batch) * batch


def judge_last(weights: Weights, examples: Examples, judged_on: np.ndarray, zero_score: str) -> None:
    """Pocket the last weights at the end of an epoch if they are the best, whatever their run."""
    pocket = weights.pocket(judged_on)
    if pocket is not None and pocket.tally[0].verdict == UNJUDGED:
        n_mistakes = mistakes_of(weights.last(), examples, judged_on, ZERO_WHEN_LEARNING[zero_score])
        judge(pocket, weights.linear(), n_mistakes)


def mistakes_of(model: tuple[np.ndarray, np.ndarray], examples: Examples, order: np.ndarray, zero: int) -> float:
    """Return the total weight of those examples in the order that fixed weights predict wrongly."""
    w, b = model
    if len(b) == 1:
        return float(binary_mistakes(examples, order, w, b, 1.0, zero))
    return float(multiclass_mistakes(examples, order, w, b, 1.0))


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
