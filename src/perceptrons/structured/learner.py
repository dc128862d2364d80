"""The structured perceptron's rule: weights in the making, what the model of the outputs answers, a training set.

Whatever the model answers is checked: outputs, losses and sparse features. An error names the example.
"""

import math
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.epochs import Counts, Outcome, Trainee
from perceptrons.engine.training.matrices import sound_csr
from perceptrons.engine.wording import short

LARGEST = 1e150  # of a weight: squares of weights must stay finite


class Rule(NamedTuple):
    """How to learn from an example. margin m: the truth must lead every other output by m times its loss."""

    step: str
    eta: float
    C: float
    margin: float


class Features(NamedTuple):
    """Values by indices; an index that stands twice counts twice."""

    indices: np.ndarray
    values: np.ndarray


class Questions:
    """Asks a model about one example after another; `at` names the current one.

    Nothing of the estimator changes meanwhile, so Ctrl-C comes through at once: a decoder may take long, or never end.
    """

    def __init__(self, model: Any):
        self.model, self.at = model, "x"
        self._outside: Any = None
        if threading.current_thread() is threading.main_thread():
            self._outside = signal.getsignal(signal.SIGINT)

    def size(self) -> int:
        size = self.model.size
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 0:
            raise ValueError(f"model.size must be the number of weights, a whole number, not {size!r}.")
        return int(size)

    def decode(self, x: Any, w: np.ndarray, **cost: Any) -> Any:
        """Return the best output; w may only be read."""
        w.flags.writeable = False
        with self._one_call("decode"):
            y_hat = self.model.decode(x, w, **cost)
        if y_hat is None:
            raise ValueError(f"{self.at}: model.decode returned None instead of an output.")
        return y_hat

    def loss(self, y: Any, y_hat: Any) -> float:
        with self._one_call("loss"):
            loss = self.model.loss(y, y_hat)
        value = float(loss) if isinstance(loss, Real | np.bool_) else np.nan
        if not 0 <= value < np.inf:
            raise ValueError(
                f"{self.at}: model.loss returned {loss!r}, but a loss must be a finite number of at least 0."
            )
        return value

    def features(self, x: Any, y: Any) -> Features:
        with self._one_call("features"):
            features = self.model.features(x, y)
        try:
            return read_features(features, self.size())
        except ValueError as error:
            raise ValueError(f"{self.at}: model.features: {error}") from error

    @contextmanager
    def _one_call(self, method: str) -> Iterator[None]:
        handler = signal.signal(signal.SIGINT, self._outside) if callable(self._outside) else None
        try:
            yield
        except Exception as error:
            error.add_note(f"This happened in model.{method}, for {self.at}.")
            raise
        finally:
            if handler is not None:
                signal.signal(signal.SIGINT, handler)


def read_features(features: Any, size: int) -> Features:
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
        return Features(np.zeros(0, np.intp), np.zeros(0))
    if indices.dtype.kind not in "iu":
        raise ValueError(f"an index must be a whole number, not {indices.dtype}: {short(repr(indices.tolist()), 60)}.")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"a value must be a number, not {values.dtype}: {short(repr(values.tolist()), 60)}.")
    outside = (indices < 0) | (indices >= size)
    if outside.any():
        raise ValueError(f"the index {indices[outside][0]} is outside 0 to size - 1 = {size - 1}.")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        place = np.flatnonzero(~np.isfinite(values))[0]
        raise ValueError(f"the value of index {indices[place]} is {values[place]}, not a finite number.")
    return Features(indices.astype(np.intp), values)


def difference(f: Features, g: Features) -> Features:
    """Return f - g, every index once, without zeros."""
    indices, place = np.unique(np.concatenate([f.indices, g.indices]), return_inverse=True)
    n, split = len(indices), len(f.indices)
    values = np.bincount(place[:split], f.values, n) - np.bincount(place[split:], g.values, n)
    nonzero = np.flatnonzero(values)
    return Features(indices[nonzero], values[nonzero])


class OutputLearner:
    """Everything that training changes, and all that is needed to keep training: this is what a model file holds.

    The mean of w over the t examples seen is w - late / t: late is the sum of (seen before) * (change of w).
    """

    def __init__(self, size: int, seed: int):
        self.seed = seed
        self.rng = np.random.default_rng(seed)  # of the orders
        self.epochs = self.mistakes = self.updates = 0
        self.t = 0  # examples seen
        self.size = size
        self._w, self._late = np.zeros(size), np.zeros(size)  # with room to grow
        self._by_margin: tuple[float, np.ndarray] | None = None  # a margin, and w divided by it
        self._average: np.ndarray | None = None

    # ---- what is there

    @property
    def w(self) -> np.ndarray:
        return self._w[: self.size]

    @property
    def late(self) -> np.ndarray:
        return self._late[: self.size]

    @property
    def average(self) -> np.ndarray:
        if self._average is None:
            self._average = self.w - self.late / self.t if self.t else self.w.copy()
        return self._average

    def predicting(self, combine: str, size: int) -> np.ndarray:
        """The `size` weights that predict, a view or a copy: the model may have grown since they were learned."""
        self.check_size(size)
        w = self.w if combine == "last" else self.average[:]
        return w if size == self.size else np.concatenate([w, np.zeros(size - self.size)])

    def check_size(self, size: int) -> None:
        if size < self.size:
            raise ValueError(
                f"model.size is {size}, but {self.size} weights were learned: this is not the model that was used "
                "for training, or it was changed since. Give that model, or fit again."
            )

    # ---- learning

    def learn(self, x: Any, y: Any, ask: Questions, rule: Rule) -> Counts:
        """Learn from one example (Collins 2002; with a margin Tsochantaridis et al. 2005, margin rescaling).

        y_hat = argmax_y' w·f(x, y') + m loss(y, y');   if loss(y, y_hat) > 0:  w += step (f(x, y) - f(x, y_hat))
        """
        m = rule.margin
        self.meet(ask.size())
        y_hat = ask.decode(x, self.w) if m == 0 else ask.decode(x, self._divided(m), cost_with=y)
        loss = ask.loss(y, y_hat)
        if loss == 0:
            self._count(0, 0)
            return Counts(1, 0, 0, 0.0)
        mistake = int(m == 0 or ask.loss(y, ask.decode(x, self.w)) > 0)
        f, f_hat = ask.features(x, y), ask.features(x, y_hat)
        self.meet(ask.size())
        with np.errstate(over="ignore", invalid="ignore"):
            delta = difference(f, f_hat)
            violation = m * loss - float(np.dot(self.w[delta.indices], delta.values))
            step = rule.eta if rule.step == "constant" else _passive(violation, delta.values, rule.C)
            change = step * delta.values
            w = self.w[delta.indices] + change
            lazy_sum = self.late[delta.indices] + self.t * change
        if not (math.isfinite(violation) and (np.abs(w) <= LARGEST).all() and np.isfinite(lazy_sum).all()):
            raise ValueError(f"{ask.at}: its features would make weights too large for float64: scale their values.")
        self.w[delta.indices], self.late[delta.indices] = w, lazy_sum
        if self._by_margin is not None:
            self._by_margin[1][delta.indices] = w / self._by_margin[0]
        update = int(step > 0)
        self._count(mistake, update)
        return Counts(1, mistake, update, max(0.0, violation))

    def _count(self, mistake: int, update: int) -> None:
        self.t += 1
        self.mistakes += mistake
        self.updates += update
        self._average = None

    def meet(self, size: int) -> None:
        """Make room for weights that are new; they are 0, and have been so all along."""
        self.check_size(size)
        if size > len(self._w):
            more = np.zeros(max(size, 2 * len(self._w)) - len(self._w))
            self._w, self._late = np.concatenate([self._w, more]), np.concatenate([self._late, more])
            self._by_margin = None
        if size > self.size:
            self.size, self._average = size, None

    def _divided(self, margin: float) -> np.ndarray:
        """Return w / margin, at the cost of what changed. Decoding by it requires the truth to lead by the margin."""
        if margin == 1:
            return self.w
        if self._by_margin is None or self._by_margin[0] != margin:
            self._by_margin = margin, self._w / margin
        return self._by_margin[1][: self.size]

    def trained(self, outcome: Outcome) -> None:
        """Add the epochs of a finished loop."""
        self.epochs += len(outcome.history)

    # ---- going back

    def snapshot(self) -> tuple[Any, ...]:
        return self.w.copy(), self.late.copy(), self.t, self.mistakes, self.updates

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        w, late, self.t, self.mistakes, self.updates = snapshot
        self.size, self._w, self._late = len(w), w.copy(), late.copy()
        self._by_margin = self._average = None


def _passive(violation: float, delta: np.ndarray, C: float) -> float:
    """Return the PA-I step: as far as the violation needs, at most C; 0 if nothing is violated or would change."""
    square = float(np.dot(delta, delta))
    if violation <= 0 or not len(delta):
        return 0.0
    if math.isinf(square):
        return math.nan  # is refused
    return C if violation >= C * square else violation / square


class OutputFit(Trainee[OutputLearner]):
    """A learner and its examples, as the loop in `training/epochs.py` trains them. held_out: which to score on."""

    def __init__(
        self,
        learner: OutputLearner,
        examples: tuple[Sequence[Any], Sequence[Any]],
        ask: Questions,
        rule: Rule,
        combine: str,
        held_out: np.ndarray | None = None,
    ):
        self.learner, self.examples, self.ask, self.rule = learner, examples, ask, rule
        self.combine, self.held_out = combine, held_out
        self._before = np.zeros(0)  # the average an epoch ago

    def visit(self, order: np.ndarray) -> Iterator[Counts]:
        for x, y in self._each(order):
            yield self.learner.learn(x, y, self.ask, self.rule)

    def accuracy(self) -> float:
        assert self.held_out is not None
        return self.right(self.held_out)

    def right(self, selected: np.ndarray) -> float:
        """Return the share of these examples that the weights that predict now get right."""
        w = self.learner.predicting(self.combine, self.ask.size())
        return float(np.mean([self.ask.loss(y, self.ask.decode(x, w)) == 0 for x, y in self._each(selected)]))

    def _each(self, selected: np.ndarray) -> Iterator[tuple[Any, Any]]:
        X, Y = self.examples
        for i in selected.tolist():
            self.ask.at = f"X[{i}]"
            yield X[i], Y[i]

    def norm(self) -> float:
        return float(np.linalg.norm(self.learner.w))

    def change(self) -> float:
        previous, self._before = self._before, self.learner.average
        now = self._before
        moved = now.copy()
        moved[: len(previous)] -= previous
        norm = np.linalg.norm(now)
        return float(np.linalg.norm(moved) / norm) if norm else np.inf
