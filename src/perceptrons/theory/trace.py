"""`trace`: every visit of a training, recorded while the library's own passes learn. The table: `trace_table.py`."""

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.training.epochs import Counts
from perceptrons.engine.training.labels import Target, read_target
from perceptrons.engine.training.recording import Enough, Recorder
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host
from perceptrons.linear import Perceptron
from perceptrons.theory.examples import check_rows, codes_among
from perceptrons.theory.trace_table import Trace
from perceptrons.theory.visits import Visit, Weights

MOST = 2**25  # numbers in all recorded weights: a quarter of a gigabyte
LECTURE: dict[str, Any] = {"margin": None, "intercept_scaling": 1, "tol": None, "shuffle": False, "combine": "last"}
PAIRS = ((-1, 1), (0, 1))  # of numbers that stand for two classes, where only one of them is there


def trace(
    X: Any,
    y: Any,
    model: Any = None,
    *,
    coef_init: Any = None,
    intercept_init: Any = None,
    visits: int | None = None,
    updates: int | None = None,
    sample_weight: Any = None,
    **parameters: Any,
) -> Trace:
    """Train step by step, and record every visit: the example, its score, whether it was a mistake, the weights after.

    The training is that of `fit`, by the same passes, one example at a time (with `batch_size`, one batch at a time).
    Nothing is changed: a model that is given is copied first.

    When to use it: to follow the algorithm by hand, in a lecture, or to find out why a model learned what it did.
    When not: to train. A visit takes some 100 microseconds here, and every version of the weights is kept.

    Parameters
    ----------
    X, y : as in `Perceptron.fit`, one label per example
        One class may be alone in y if it is -1, 0, 1, False or True, or if the model or `classes` names the other.
    model : Perceptron or KernelPerceptron, optional
        How to learn. A fitted model (or one made by `Perceptron.from_weights`) keeps training from its weights.
        Default: the rule of the lectures, `Perceptron(margin=0, intercept_scaling=1, shuffle=False, tol=None)`.
    coef_init, intercept_init : arrays, optional
        Weights to start from, as in `Perceptron.fit`.
    visits, updates : int, optional
        Stop after this many visits, or updates. Default: when the training stops by itself.
    sample_weight : array of shape (n_examples,), optional
        As in `Perceptron.fit`.
    **parameters
        Parameters of the `Perceptron`, in place of `model`; those of the lectures unless given.

    Returns
    -------
    Trace
        A table: print it, show it in a notebook, or call `to_frame`, `to_latex`, `to_csv`, `to_dict`.

    Examples
    --------
    >>> from perceptrons.theory import trace
    >>> X, y = [[1.0, 1.0], [2.0, 1.0], [1.5, 0.0]], [-1, 1, 1]
    >>> print(trace(X, y, eta0=0.1, coef_init=[0.2, 0.0], intercept_init=-0.1, visits=3))
    k  epoch  example  x          y     s   y·s           w               b  average w           average b
    0                                                     (0.2, 0)     -0.1
    1      1     X[0]  (1, 1)    -1   0.1  -0.1  mistake  (0.1, -0.1)  -0.2  (0.1, -0.1)              -0.2
    2      1     X[1]  (2, 1)     1  -0.1  -0.1  mistake  (0.3, 0)     -0.1  (0.2, -0.05)            -0.15
    2      1     X[2]  (1.5, 0)   1  0.35  0.35  right    (0.3, 0)     -0.1  (0.2333, -0.03333)    -0.1333
    """
    for name, most in (("visits", visits), ("updates", updates)):
        if most is not None and (isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 0):
            raise ValueError(f"{name}={most!r}: give a whole number of at least 0, or None.")
    if model is not None and parameters:
        raise ValueError(f"{next(iter(parameters))!r} is a parameter of a model, and a model is given: set it there.")
    if not isinstance(model, Perceptron | KernelPerceptron | None):
        raise TypeError(f"A Perceptron or a KernelPerceptron can be traced, not a {type(model).__name__}.")
    start = {"coef_init": coef_init, "intercept_init": intercept_init}
    start = {name: value for name, value in start.items() if value is not None}
    learner = _prepared(model, start, parameters)
    rows = check_rows(X)
    target = read_target(y, rows.shape[0])
    if target.several:
        raise ValueError("y has several labels per example, and a trace is of one: trace the labels one by one.")
    if not _is_fitted(learner) and learner.classes is None and len(target.classes) == 1:
        learner.classes = list(_pair(target))
    weighted = sample_weight is not None or learner.class_weight is not None
    record = _record(learner, rows, target, visits, updates, weighted)
    learner._visiting = record
    try:
        learner.fit(X, y, sample_weight=sample_weight, **start)
    except Enough:
        learner.stop_reason_, learner.converged_ = None, False
    finally:
        learner._drop("_visiting")
    learner.set_params(warm_start=getattr(model, "warm_start", False))
    names = getattr(learner, "feature_names_in_", None)
    return Trace(
        record.recorded,
        start=record.start if record.start is not None else record.weights(learner._learner),
        classes=learner.classes_,
        names=[f"x{i}" for i in range(rows.shape[1])] if names is None else [str(name) for name in names],
        model=learner,
        n_examples=rows.shape[0],
    )


def _prepared(model: Any, start: dict[str, Any], parameters: dict[str, Any]) -> Any:
    """The model that is going to be trained: a copy of the one that is given, with its weights if it has any."""
    if model is None:
        return Perceptron(**{**LECTURE, **parameters})
    if isinstance(model, KernelPerceptron) and start:
        raise ValueError(f"{next(iter(start))} is for linear models: a kernel starts without support examples.")
    if not _is_fitted(model) or start:
        return clone(model)
    return copy.deepcopy(model).set_params(warm_start=True)


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _pair(target: Target) -> tuple[Any, Any]:
    """Two classes, of which one is there, in their order."""
    only = target.classes.tolist()[0]
    if isinstance(only, bool):
        return False, True
    for pair in PAIRS:
        if only in pair:
            return pair
    raise ValueError(
        f"y has only one class, {only!r}, and a score below or above 0 can stand for it: name both, "
        f"classes=[..., {only!r}] with the negative one first."
    )


class _Record(Recorder):
    """What happens at the visits of a linear model."""

    def __init__(self, model: Any, X: Any, target: Target, visits: int | None, updates: int | None):
        super().__init__()
        self.model, self.X, self.target = model, X, target
        self.most = (np.inf if visits is None else visits, np.inf if updates is None else updates)
        self.recorded: list[Visit] = []
        self.start: Weights | None = None
        self.now: Weights | None = None
        self.k = 0
        self.codes: np.ndarray | None = None
        self.scores: list[Any] = []
        self.numbers = 0

    def enough(self) -> bool:
        return len(self.recorded) >= self.most[0] or self.k >= self.most[1]

    def before(self, learner: Any, part: np.ndarray) -> None:
        if self.start is None:
            self.start = self.now = self.weights(learner)
        self.scores = [np.asarray(self.score(learner, i), np.float64).ravel() for i in part]

    def after(self, learner: Any, part: np.ndarray, counts: list[Counts]) -> None:
        before, after = self.now, self.weights(learner)
        assert before is not None
        after = after.sharing(before)
        classes, codes = learner.classes.tolist(), self._codes(learner)
        for place, (i, s, made) in enumerate(zip(part.tolist(), self.scores, counts, strict=True)):
            last = place == len(part) - 1
            self.k += made.updates
            now = after if last else before
            moved = now.moved(before) if last and len(s) > 1 else ()
            self.recorded.append(
                Visit(
                    k=self.k,
                    epoch=int(self.epoch or 1),
                    example=i,
                    x=self._row(i),
                    y=classes[codes[i]],
                    predicted=classes[int(self._winners(learner, s)[0])],
                    score=float(s[0]) if len(s) == 1 else s,
                    margin=self._margin(s, codes[i]),
                    mistake=made.mistakes > 0,
                    update=made.updates > 0,
                    weights=now,
                    moved=tuple(classes[row] if row < len(classes) else row for row in moved),
                )
            )
        self.now = after
        self.numbers += after.size
        if self.numbers > MOST:
            raise ValueError(
                f"A trace of more than {len(self.recorded):,} visits of {self.X.shape[1]:,} features takes too much "
                "memory: give visits= or updates=, or fewer features."
            )

    def weights(self, learner: Any) -> Weights:
        """As they are now; of two classes one row."""
        w, b = (np.array(part, np.float64) for part in learner.weights.last())
        mean = tuple(np.array(part, np.float64) for part in learner.weights.average())
        return Weights.of(w, b, *mean)

    def score(self, learner: Any, i: int) -> Any:
        return learner.scores(self.X[[i]].astype(learner.dtype, copy=False), "last", self.model.zero_score)

    def _winners(self, learner: Any, s: np.ndarray) -> Any:
        return learner.winners(s if len(s) == 1 else s[None], self.model.zero_score)

    def _codes(self, learner: Any) -> np.ndarray:
        """The number of every example's class among those of the model."""
        if self.codes is None:
            self.codes = codes_among(self.target, self.X.shape[0], learner.classes)
        return self.codes

    def _margin(self, s: np.ndarray, code: int) -> float:
        """y s, or by how much the true class leads the best other one."""
        if len(s) == 1:
            return float(s[0] if code else -s[0]) + 0.0
        return float(s[code] - np.delete(s, code).max())

    def _row(self, i: int) -> np.ndarray:
        row = self.X[[i]].toarray()[0] if sp.issparse(self.X) else np.array(self.X[i])
        return row.astype(np.float64)


class _KernelRecord(_Record):
    """What happens at the visits of a kernel model."""

    def weights(self, learner: Any) -> Weights:
        where = learner.where.now
        known = np.flatnonzero((where >= 0) & (where < self.X.shape[0]))
        sign = self._signs(learner)
        parts = []
        for coef in (learner.coef, learner.average):
            alpha = np.zeros((self.X.shape[0], learner.n_rows))
            alpha[where[known]] = coef[known]
            parts.append(alpha * sign[:, None] if learner.n_rows == 1 else alpha)
        return Weights.of_alpha(*parts)

    def _signs(self, learner: Any) -> np.ndarray:
        """The sign of every example of two classes."""
        return np.where(self._codes(learner) == 1, 1.0, -1.0)

    def score(self, learner: Any, i: int) -> Any:
        X = self.X[[i]].astype(learner.dtype, copy=False)
        return to_host(learner.decision(learner.kernel.points(X), "last"))

    def _winners(self, learner: Any, s: np.ndarray) -> Any:
        return learner.winners(s if len(s) == 1 else s[None])


def _record(model: Any, X: Any, target: Target, visits: int | None, updates: int | None, weighted: bool) -> _Record:
    if isinstance(model, KernelPerceptron):
        return _KernelRecord(model, X, target, visits, updates)
    record = _Record(model, X, target, visits, updates)
    record.size = 0 if isinstance(model.batch_size, str) else int(model.batch_size)
    if record.size != 1 and weighted:  # repetitions count in a batch: where one ends only the pass knows
        record.size = 0
    return record
