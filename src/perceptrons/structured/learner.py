"""The structured perceptron: its rule, its weights, the user's model of the outputs, and a training set.

Whatever the model returns is checked: outputs, losses and sparse features. Errors name the example.
"""

import math
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.epochs import Counts, Outcome, Trainee
from perceptrons.engine.training.matrices import sound_csr
from perceptrons.engine.wording import short

LARGEST = 1e150  # the largest weight, because squares of weights must stay finite


class OutputModel(Protocol):
    """The user's model of the outputs; `StructuredPerceptron` describes its members."""

    size: int

    def decode(self, x: Any, w: np.ndarray, cost_with: Any = None) -> Any: ...

    def features(self, x: Any, y: Any) -> Any: ...

    def loss(self, y: Any, y_hat: Any) -> float: ...


class Rule(NamedTuple):
    """How to learn from an example: the true output must lead every other one by margin times its loss."""

    step: str
    eta: float
    C: float
    margin: float


class SparseVector(NamedTuple):
    indices: np.ndarray  # an index that occurs twice counts twice
    values: np.ndarray


class CheckedModel:
    """The user's model, whose results are checked. `example` names the current example in errors.

    The estimator does not change during a call, so Ctrl-C works at once: a decoder may take long, or never end.
    """

    def __init__(self, model: OutputModel):
        self.model, self.example = model, "x"
        is_main_thread = threading.current_thread() is threading.main_thread()
        self._user_handler = signal.getsignal(signal.SIGINT) if is_main_thread else None

    def size(self) -> int:
        size = self.model.size
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 0:
            raise ValueError(f"model.size must be the number of weights, a whole number, not {size!r}.")
        return int(size)

    def decode(self, x: Any, w: np.ndarray, **cost: Any) -> Any:
        """Return the best output. The model cannot write to w."""
        w.flags.writeable = False
        with self._call("decode"):
            y_hat = self.model.decode(x, w, **cost)
        if y_hat is None:
            raise ValueError(f"{self.example}: model.decode returned None instead of an output.")
        return y_hat

    def loss(self, y: Any, y_hat: Any) -> float:
        with self._call("loss"):
            loss = self.model.loss(y, y_hat)
        value = float(loss) if isinstance(loss, Real | np.bool_) else np.nan
        if not 0 <= value < np.inf:
            raise ValueError(
                f"{self.example}: model.loss returned {loss!r}, but a loss must be a finite number of at least 0."
            )
        return value

    def features(self, x: Any, y: Any) -> SparseVector:
        with self._call("features"):
            features = self.model.features(x, y)
        try:
            return read_features(features, self.size())
        except ValueError as error:
            raise ValueError(f"{self.example}: model.features: {error}") from error

    @contextmanager
    def _call(self, method: str) -> Iterator[None]:
        """Let Ctrl-C interrupt the block, and add the method and the example to its errors."""
        handler = signal.signal(signal.SIGINT, self._user_handler) if callable(self._user_handler) else None
        try:
            yield
        except Exception as error:
            error.add_note(f"This happened in model.{method}, for {self.example}.")
            raise
        finally:
            if handler is not None:
                signal.signal(signal.SIGINT, handler)


def read_features(features: Any, size: int) -> SparseVector:
    """Return indices below size and finite values, from a dict, a pair of sequences or a sparse row."""
    if isinstance(features, Mapping):
        indices, values = np.array(list(features)), np.array(list(features.values()))
    elif sp.issparse(features):
        features = sound_csr(features, "the sparse row", row=True).tocoo()
        if features.ndim == 2 and features.shape[0] != 1:
            raise ValueError(f"give one sparse row, not a matrix of {features.shape[0]} rows.")
        indices, values = features.coords[-1], features.data
    elif isinstance(features, tuple | list) and len(features) == 2:
        indices, values = (np.asarray(part) for part in features)
    else:
        raise ValueError(
            f"give a dict {{index: value}}, a pair (indices, values) or a sparse row, not {short(repr(features), 60)}."
        )
    if indices.ndim != 1 or indices.shape != values.shape:
        raise ValueError(
            f"give as many indices as values, in one dimension each, not {indices.shape} and {values.shape}."
        )
    if not len(indices):
        return SparseVector(np.zeros(0, np.intp), np.zeros(0))
    if indices.dtype.kind not in "iu":
        raise ValueError(f"an index must be a whole number, not {indices.dtype}: {short(repr(indices.tolist()), 60)}.")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"a value must be a number, not {values.dtype}: {short(repr(values.tolist()), 60)}.")
    is_outside = (indices < 0) | (indices >= size)
    if is_outside.any():
        raise ValueError(f"the index {indices[is_outside][0]} is outside 0 to size - 1 = {size - 1}.")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        i = np.flatnonzero(~np.isfinite(values))[0]
        raise ValueError(f"the value of index {indices[i]} is {values[i]}, not a finite number.")
    return SparseVector(indices.astype(np.intp), values)


def difference(f: SparseVector, g: SparseVector) -> SparseVector:
    """Return f - g, every index once, without zeros."""
    indices, position = np.unique(np.concatenate([f.indices, g.indices]), return_inverse=True)
    n, n_f = len(indices), len(f.indices)
    values = np.bincount(position[:n_f], f.values, n) - np.bincount(position[n_f:], g.values, n)
    nonzero = np.flatnonzero(values)
    return SparseVector(indices[nonzero], values[nonzero])


class OutputLearner:
    """Everything that training changes, and all that is needed to keep training: the content of a model file.

    The mean of w over the t examples seen is w - lazy_sum / t; lazy_sum is the sum of (examples seen before) * (change
    of w).
    """

    def __init__(self, size: int, seed: int):
        self.seed = seed
        self.rng = np.random.default_rng(seed)  # for the orders of the examples
        self.epochs = self.mistakes = self.updates = 0
        self.t = 0  # examples seen
        self.size = size
        self._w, self._lazy_sum = np.zeros(size), np.zeros(size)  # with spare weights at the end
        self._w_by_margin: tuple[float, np.ndarray] | None = None  # a margin, and w divided by it
        self._average: np.ndarray | None = None

    # ---- weights

    @property
    def w(self) -> np.ndarray:
        return self._w[: self.size]

    @property
    def lazy_sum(self) -> np.ndarray:
        return self._lazy_sum[: self.size]

    @property
    def average(self) -> np.ndarray:
        if self._average is None:
            self._average = self.w - self.lazy_sum / self.t if self.t else self.w.copy()
        return self._average

    def predicting(self, combine: str, size: int) -> np.ndarray:
        """Return the `size` weights that predict, as a view or a copy. New weights of the model are 0."""
        self.check_size(size)
        w = self.w if combine == "last" else self.average[:]
        return w if size == self.size else np.concatenate([w, np.zeros(size - self.size)])

    def check_size(self, size: int) -> None:
        if size < self.size:
            raise ValueError(
                f"model.size is {size}, but {self.size} weights were learned: this is not the model that was used "
                "for training, or it was changed since. Give that model, or fit again."
            )

    def grow(self, size: int) -> None:
        """Make room for new weights, which are 0 now and in the average."""
        self.check_size(size)
        if size > len(self._w):
            zeros = np.zeros(max(size, 2 * len(self._w)) - len(self._w))
            self._w, self._lazy_sum = np.concatenate([self._w, zeros]), np.concatenate([self._lazy_sum, zeros])
            self._w_by_margin = None
        if size > self.size:
            self.size, self._average = size, None

    # ---- learning

    def learn(self, x: Any, y: Any, model: CheckedModel, rule: Rule) -> Counts:
        """Learn from one example (Collins 2002; with a margin Tsochantaridis et al. 2005, margin rescaling).

        y_hat = argmax_y' w·f(x, y') + m loss(y, y');   if loss(y, y_hat) > 0:  w += step (f(x, y) - f(x, y_hat))
        """
        m = rule.margin
        self.grow(model.size())
        y_hat = model.decode(x, self.w) if m == 0 else model.decode(x, self._divided_by(m), cost_with=y)
        loss = model.loss(y, y_hat)
        if loss == 0:
            return self._count(0, 0, 0.0)
        is_mistake = m == 0 or model.loss(y, model.decode(x, self.w)) > 0
        f, f_hat = model.features(x, y), model.features(x, y_hat)
        self.grow(model.size())
        with np.errstate(over="ignore", invalid="ignore"):
            delta = difference(f, f_hat)
            violation = m * loss - float(np.dot(self.w[delta.indices], delta.values))
            step = rule.eta if rule.step == "constant" else _passive_step(violation, delta.values, rule.C)
            change = step * delta.values
            w = self.w[delta.indices] + change
            lazy_sum = self.lazy_sum[delta.indices] + self.t * change
        if not (math.isfinite(violation) and (np.abs(w) <= LARGEST).all() and np.isfinite(lazy_sum).all()):
            raise ValueError(
                f"{model.example}: its features would make weights too large for float64: scale their values."
            )
        self.w[delta.indices], self.lazy_sum[delta.indices] = w, lazy_sum
        if self._w_by_margin is not None:
            self._w_by_margin[1][delta.indices] = w / self._w_by_margin[0]
        return self._count(int(is_mistake), int(step > 0), max(0.0, violation))

    def _count(self, mistakes: int, updates: int, loss: float) -> Counts:
        self.t += 1
        self.mistakes += mistakes
        self.updates += updates
        self._average = None
        return Counts(1, mistakes, updates, loss)

    def _divided_by(self, margin: float) -> np.ndarray:
        """Return w / margin, at the cost of what changed. Decoding by it demands a lead of margin times the loss."""
        if margin == 1:
            return self.w
        if self._w_by_margin is None or self._w_by_margin[0] != margin:
            self._w_by_margin = margin, self._w / margin
        return self._w_by_margin[1][: self.size]

    def trained(self, outcome: Outcome) -> None:
        """Add the epochs of a finished loop; `learn` counts everything else."""
        self.epochs += len(outcome.history)

    # ---- going back

    def snapshot(self) -> tuple[Any, ...]:
        return self.w.copy(), self.lazy_sum.copy(), self.t, self.mistakes, self.updates

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        w, lazy_sum, self.t, self.mistakes, self.updates = snapshot
        self.size, self._w, self._lazy_sum = len(w), w.copy(), lazy_sum.copy()
        self._w_by_margin = self._average = None


def _passive_step(violation: float, delta: np.ndarray, C: float) -> float:
    """Return the PA-I step: violation / |delta|², at most C; 0 if nothing is violated or would change."""
    square = float(np.dot(delta, delta))
    if violation <= 0 or not len(delta):
        return 0.0
    if math.isinf(square):
        return math.nan  # which `learn` refuses
    return C if violation >= C * square else violation / square


class OutputFit(Trainee[OutputLearner]):
    """A learner and its examples, as the loop in `training/epochs.py` trains them. held_out: the examples to score."""

    def __init__(
        self, learner: OutputLearner, examples: tuple[Sequence[Any], Sequence[Any]], model: CheckedModel, rule: Rule,
        combine: str, held_out: np.ndarray | None = None,
    ):  # fmt: skip
        self.learner, self.examples, self.model, self.rule = learner, examples, model, rule
        self.combine, self.held_out = combine, held_out
        self._previous = np.zeros(0)  # the average one epoch ago

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        for x, y in self._select(order):
            yield self.learner.learn(x, y, self.model, self.rule)

    def accuracy(self) -> float:
        assert self.held_out is not None
        return self.accuracy_on(self.held_out)

    def accuracy_on(self, selected: np.ndarray) -> float:
        """Return the share of these examples that the weights that predict now get right."""
        w = self.learner.predicting(self.combine, self.model.size())
        return float(np.mean([self.model.loss(y, self.model.decode(x, w)) == 0 for x, y in self._select(selected)]))

    def _select(self, selected: np.ndarray) -> Iterator[tuple[Any, Any]]:
        """Yield these examples, and name each in errors."""
        X, Y = self.examples
        for i in selected.tolist():
            self.model.example = f"X[{i}]"
            yield X[i], Y[i]

    def norm(self) -> float:
        return float(np.linalg.norm(self.learner.w))

    def change(self) -> float:
        average = self.learner.average
        moved = average.copy()
        moved[: len(self._previous)] -= self._previous
        self._previous, norm = average, np.linalg.norm(average)
        return float(np.linalg.norm(moved) / norm) if norm else np.inf
