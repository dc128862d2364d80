"""Traces of training: every visit of an example, recorded while the library's own passes learn.

`trace` trains a model and returns a `Trace`, a sequence of `Visit` that is also a table: as text, in a notebook, as a
frame, LaTeX, CSV or plain values.
"""

import copy
import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.html import Html, block, escaped, note, table
from perceptrons.engine.training.base import learner_of, recorded
from perceptrons.engine.training.epochs import Counts, Trainee, pieces
from perceptrons.engine.training.labels import Target, read_target
from perceptrons.engine.wording import count
from perceptrons.kernel import KernelPerceptron
from perceptrons.kernel.arrays import to_host
from perceptrons.linear import Perceptron
from perceptrons.theory.examples import check_rows, codes_among
from perceptrons.theory.geometry import true_lead

MAX_RECORDED_NUMBERS = 2**25  # in all recorded weights: a quarter of a gigabyte
LECTURE_RULE: dict[str, Any] = {
    "margin": None, "intercept_scaling": 1, "tol": None, "shuffle": False, "combine": "last",
}  # fmt: skip
CLASS_PAIRS = ((-1, 1), (0, 1))  # numbers that stand for two classes, if y has only one of them
MAX_VECTOR_FEATURES = 6  # features that a table shows as a vector; of more, some nonzero ones are shown by name
MAX_NAMED_FEATURES = 4
MAX_SHOWN_VISITS = 200  # in text and notebooks
LEFT_ALIGNED_COLUMNS = ("", "x", "scores", "w", "alpha")
RELATIVE_ROUNDING = 1e-12  # a number this small beside the largest around it is the rounding of a sum
LATEX_ESCAPES = {
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "·": r"$\cdot$", "\n": "; ",
}  # fmt: skip


class _LimitReached(Exception):  # noqa: N818 (no error: how a recording ends)
    """As many visits or updates were recorded as the caller wants."""


class TracedWeights(NamedTuple):
    """The last and the average weights at one moment: one row for two classes, else one row per class.

    A kernel model has only the coefficients alpha of its examples.
    """

    coef: Any = None  # (n_rows, n_features)
    intercept: Any = None  # (n_rows,)
    coef_average: Any = None
    intercept_average: Any = None
    alpha: Any = None  # (n_examples, n_rows)
    alpha_average: Any = None

    def share_unchanged(self, previous: "TracedWeights") -> "TracedWeights":
        """Return the same weights, with the arrays of `previous` where nothing changed, which saves memory."""
        pairs = zip(previous, self, strict=True)
        return TracedWeights(*(old if old is not None and np.array_equal(old, new) else new for old, new in pairs))

    def parts(self) -> list[tuple[str, str, np.ndarray, np.ndarray | None]]:
        """Return the last and the average weights, one row per class, each with a prefix, a name and the biases."""
        if self.alpha is not None:
            return [("", "alpha", self.alpha.T, None), ("average_", "alpha", self.alpha_average.T, None)]
        return [("", "w", self.coef, self.intercept), ("average_", "w", self.coef_average, self.intercept_average)]

    def changed_rows(self, previous: "TracedWeights") -> list[int]:
        """Return the rows of weights that differ from those previous."""
        if self.alpha is not None:
            return np.flatnonzero((self.alpha != previous.alpha).any(axis=0)).tolist()
        changed = (self.coef != previous.coef).any(axis=1) | (self.intercept != previous.intercept)
        return np.flatnonzero(changed).tolist()

    def in_public_shape(self) -> dict[str, Any]:
        """Return the parts by name, in the shapes of `coef_` and `intercept_`: for two classes, a vector and a number.

        A part that the model does not have is None.
        """
        parts: dict[str, Any] = {}
        for name, part in self._asdict().items():
            if part is None or (part.shape[1] if name.startswith("alpha") else len(part)) > 1:
                parts[name] = part
            elif name.startswith("alpha"):
                parts[name] = part[:, 0]
            else:
                parts[name] = part[0] if part.ndim == 2 else float(part[0])
        return parts


class Visit(NamedTuple):
    """One visit of an example, and the weights after it.

    Attributes
    ----------
    k : int
        Updates so far, that of this visit included.
    epoch : int
        Counted from 1.
    example : int
        The row of X, counted from 0.
    x : array of shape (n_features,)
    y, predicted : labels
        The true class, and the prediction before the visit.
    score : float, or array of shape (n_classes,) for three or more classes
        Before the visit.
    margin : float
        y * score; for three or more classes the score of y less the largest of the other classes.
    mistake, update : bool
        Whether the prediction was wrong, and whether the weights learned from the example. With a margin they also
        learn from correct predictions.
    weights : TracedWeights
        After the visit.
    moved : tuple of labels
        For three or more classes, those whose weights the visit changed; with one-vs-one, the numbers of the pairs.
    """

    k: int
    epoch: int
    example: int
    x: np.ndarray
    y: Any
    predicted: Any
    score: Any
    margin: float
    mistake: bool
    update: bool
    weights: TracedWeights
    moved: tuple[Any, ...]

    @property
    def coef(self) -> np.ndarray | None:
        """Weights after the visit: (n_features,), or one row per class. None for kernels."""
        return self.weights.in_public_shape()["coef"]

    @property
    def intercept(self) -> Any:
        """The bias after the visit, or one per class. None for kernels."""
        return self.weights.in_public_shape()["intercept"]

    @property
    def coef_average(self) -> np.ndarray | None:
        """The mean of the weights after every visit so far."""
        return self.weights.in_public_shape()["coef_average"]

    @property
    def intercept_average(self) -> Any:
        """The mean of the bias after every visit so far."""
        return self.weights.in_public_shape()["intercept_average"]

    @property
    def alpha(self) -> np.ndarray | None:
        """The coefficients of a kernel's examples, one column per class for three or more. None for linear models."""
        return self.weights.in_public_shape()["alpha"]

    @property
    def verdict(self) -> str:
        """Return "mistake", "too close" or "right"."""
        return "mistake" if self.mistake else "too close" if self.update else "right"


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
) -> "Trace":
    """Train step by step, and record every visit: the example, its score, whether it was a mistake, the weights after.

    The training is that of `fit`, by the same passes, one example at a time (with `batch_size`, one batch at a time).
    A given model is copied first and does not change.

    Use it to follow the algorithm by hand, in a lecture, or to find out why a model learned what it did. Do not use it
    to train: a visit takes about 100 microseconds, and every version of the weights is kept.

    Parameters
    ----------
    X, y : as in `Perceptron.fit`, one label per example
        y may have only one class if it is -1, 0, 1, False or True, or if the model or `classes` names the other one.
    model : Perceptron or KernelPerceptron, optional
        How to learn. A fitted model (or one made by `Perceptron.from_weights`) keeps training from its weights.
        Default: the rule of the lectures, `Perceptron(margin=0, intercept_scaling=1, shuffle=False, tol=None)`.
    coef_init, intercept_init : arrays, optional
        Weights to start from, as in `Perceptron.fit`.
    visits, updates : int, optional
        Stop after this many visits, or updates. By default, training stops by itself.
    sample_weight : array of shape (n_examples,), optional
        As in `Perceptron.fit`.
    **parameters
        Parameters of the `Perceptron`, in place of `model`; those of the lectures by default.

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
    for name, limit in (("visits", visits), ("updates", updates)):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 0):
            raise ValueError(f"{name}={limit!r}: give a whole number of at least 0, or None.")
    if model is not None and parameters:
        raise ValueError(f"{next(iter(parameters))!r} is a parameter of a model, and a model is given: set it there.")
    if not isinstance(model, Perceptron | KernelPerceptron | None):
        raise TypeError(f"A Perceptron or a KernelPerceptron can be traced, not a {type(model).__name__}.")
    start = {"coef_init": coef_init, "intercept_init": intercept_init}
    start = {name: value for name, value in start.items() if value is not None}
    if model is None:
        trained: Any = Perceptron(**{**LECTURE_RULE, **parameters})
    elif isinstance(model, KernelPerceptron) and start:
        raise ValueError(f"{next(iter(start))} is for linear models: a kernel starts without support examples.")
    elif start or not _is_fitted(model):
        trained = clone(model)
    else:
        trained = copy.deepcopy(model).set_params(warm_start=True)
    rows = check_rows(X)
    target = read_target(y, rows.shape[0])
    if target.several:
        raise ValueError("y has several labels per example, and a trace is of one: trace the labels one by one.")
    if not _is_fitted(trained) and trained.classes is None and len(target.classes) == 1:
        trained.classes = list(_class_pair(target))
    limits = (math.inf if visits is None else visits), (math.inf if updates is None else updates)
    recorder = _Recorder(trained, rows, target, *limits, _batch_size(trained, sample_weight is not None))
    try:
        with recorded(trained, recorder):
            trained.fit(X, y, sample_weight=sample_weight, **start)
    except _LimitReached:
        trained.stop_reason_, trained.converged_ = None, False
    trained.set_params(warm_start=getattr(model, "warm_start", False))
    names = getattr(trained, "feature_names_in_", None)
    return Trace(
        recorder.visits,
        start=recorder.start if recorder.start is not None else recorder.weights(learner_of(trained)),
        classes=trained.classes_,
        names=[f"x{i}" for i in range(rows.shape[1])] if names is None else [str(name) for name in names],
        model=trained,
        n_examples=rows.shape[0],
    )


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _batch_size(model: Any, has_weights: bool) -> int:
    """Return the number of examples per update, 0 for a whole epoch."""
    size = getattr(model, "batch_size", 1)  # a kernel has none
    # repetitions count in a batch, so only the pass knows where one ends
    if isinstance(size, str) or (size != 1 and (has_weights or model.class_weight is not None)):
        return 0
    return int(size)


def _class_pair(target: Target) -> tuple[Any, Any]:
    """Return two classes in order, the only one of y among them."""
    only = target.classes.tolist()[0]
    if isinstance(only, bool):
        return False, True
    for pair in CLASS_PAIRS:
        if only in pair:
            return pair
    raise ValueError(
        f"y has only one class, {only!r}, and a score below or above 0 can stand for it: name both, "
        f"classes=[..., {only!r}] with the negative one first."
    )


def _row_names(model: Any, classes: np.ndarray, weights: TracedWeights) -> list[Any]:
    """Return the names of the rows of weights: the classes, or numbers if the rows are pairs of classes."""
    return list(range(len(weights.parts()[0][2]))) if model.multiclass == "ovo" else classes.tolist()


class _Recorder:
    """Makes the visits of a model that is fitted (`recorded` in `base.py`), one batch at a time, and records them."""

    def __init__(self, model: Any, X: Any, target: Target, max_visits: float, max_updates: float, batch_size: int):
        """batch_size: examples that are learned from at once; 0: all of an epoch."""
        self.model, self.X, self.target, self.batch_size = model, X, target, batch_size
        self.max_visits, self.max_updates = max_visits, max_updates
        self.visits: list[Visit] = []
        self.start: TracedWeights | None = None
        self.epoch = 0
        self.n_updates, self.n_numbers = 0, 0
        self.codes: np.ndarray | None = None

    def __call__(self, trainee: Trainee, order: np.ndarray) -> Iterator[Counts]:
        """Make the visits of an epoch."""
        learner = trainee.learner
        self.epoch = self.epoch + 1 if self.epoch else learner.epochs + 1
        for batch in pieces(order, self.batch_size or max(1, len(order))):
            if len(self.visits) >= self.max_visits or self.n_updates >= self.max_updates:
                raise _LimitReached
            if self.start is None:
                self.start = self.weights(learner)
            scores = [np.asarray(self.score(learner, i), np.float64).ravel() for i in batch]
            each = [_count_alone(trainee, batch[[k]]) for k in range(len(batch))] if len(batch) > 1 else []
            total = _count(trainee, batch)
            self._record(learner, batch, scores, each or [total])
            yield total

    def _record(self, learner: Any, batch: np.ndarray, scores: list[np.ndarray], counts: list[Counts]) -> None:
        """Add the visits of a batch, whose weights change at its last example."""
        assert self.start is not None
        previous = self.visits[-1].weights if self.visits else self.start
        weights = self.weights(learner).share_unchanged(previous)
        classes, codes = learner.classes.tolist(), self.class_codes(learner)
        names = _row_names(self.model, learner.classes, weights)
        moved = tuple(names[row] for row in weights.changed_rows(previous)) if len(classes) > 2 else ()
        for place, (i, s, visit_counts) in enumerate(zip(batch.tolist(), scores, counts, strict=True)):
            ends_batch = place == len(batch) - 1
            self.n_updates += visit_counts.updates
            by_row = s if len(s) == 1 else s[None]
            self.visits.append(
                Visit(
                    k=self.n_updates,
                    epoch=self.epoch,
                    example=i,
                    x=(self.X[[i]].toarray()[0] if sp.issparse(self.X) else np.array(self.X[i])).astype(np.float64),
                    y=classes[codes[i]],
                    predicted=classes[int(learner.winners(by_row, getattr(self.model, "zero_score", "mistake"))[0])],
                    score=float(s[0]) if len(s) == 1 else s,
                    margin=float(true_lead(by_row, codes[[i]])[0]) + 0.0,  # 0 for -0
                    mistake=visit_counts.mistakes > 0,
                    update=visit_counts.updates > 0,
                    weights=weights if ends_batch else previous,
                    moved=moved if ends_batch else (),
                )
            )
        self.n_numbers += sum(part.size for part in weights if part is not None)
        if self.n_numbers > MAX_RECORDED_NUMBERS:
            raise ValueError(
                f"A trace of more than {len(self.visits):,} visits of {self.X.shape[1]:,} features takes too much "
                "memory: give visits= or updates=, or fewer features."
            )

    def weights(self, learner: Any) -> TracedWeights:
        """Copy the current weights."""
        if not isinstance(self.model, KernelPerceptron):
            parts = (*learner.weights.last(), *learner.weights.average())
            return TracedWeights(*(np.array(part, np.float64) for part in parts))
        places = learner.train_rows.values
        present = np.flatnonzero((places >= 0) & (places < self.X.shape[0]))
        signs = np.where(self.class_codes(learner) == 1, 1.0, -1.0)[:, None] if learner.n_rows == 1 else 1.0
        alphas = []
        for coef in (learner.coef, learner.average):
            alpha = np.zeros((self.X.shape[0], learner.n_rows))
            alpha[places[present]] = coef[present]
            alphas.append(alpha * signs)
        return TracedWeights(alpha=alphas[0], alpha_average=alphas[1])

    def score(self, learner: Any, i: int) -> Any:
        """Return the scores of an example by the current weights."""
        x = self.X[[i]].astype(learner.dtype, copy=False)
        if isinstance(self.model, KernelPerceptron):
            return to_host(learner.decision(learner.kernel.points(x), "last"))
        return learner.scores(x, "last", self.model.zero_score)

    def class_codes(self, learner: Any) -> np.ndarray:
        """Return the number of every example's class among the classes of the model."""
        if self.codes is None:
            self.codes = codes_among(self.target, self.X.shape[0], learner.classes)
        return self.codes


def _count(trainee: Trainee, order: np.ndarray) -> Counts:
    """Learn from these examples, and count."""
    counts = Counts()
    for more in trainee.visit(order):
        counts = counts.plus(more)
    return counts


def _count_alone(trainee: Trainee, order: np.ndarray) -> Counts:
    """Count for an example of a batch, by the weights before the batch, and change nothing."""
    probe = copy.copy(trainee)
    changing = {name: value for name, value in vars(trainee).items() if name in ("learner", "support_of_row")}
    vars(probe).update(copy.deepcopy(changing))
    return _count(probe, order)


class Trace(Sequence[Visit]):
    """The visits of a training, one by one, and the weights after each. Made by `perceptrons.theory.trace`.

    It is a sequence of `Visit`. Printed, or shown in a notebook, it is a table.

    Attributes
    ----------
    start : TracedWeights
        The weights before the first visit.
    classes : array of shape (n_classes,)
    names : list of str
        The names of the features.
    model : Perceptron or KernelPerceptron
        The model after the last visit. `model.stop_reason_` says why training stopped. It is None if the limit of
        visits or updates was reached.
    places : list of str or None
        What the table calls the examples: X[0], X[1], ... by default.
    """

    def __init__(
        self, visits: list[Visit], *, start: TracedWeights, classes: np.ndarray, names: list[str], model: Any,
        n_examples: int,
    ):  # fmt: skip
        self.visits, self.start, self.classes, self.names = visits, start, classes, names
        self.model, self.n_examples = model, n_examples
        self.places: list[str] | None = None

    def __len__(self) -> int:
        return len(self.visits)

    @overload
    def __getitem__(self, place: int) -> Visit: ...
    @overload
    def __getitem__(self, place: slice) -> list[Visit]: ...
    def __getitem__(self, place: Any) -> Any:
        return self.visits[place]

    def __repr__(self) -> str:
        return f"<Trace of {self.summary()}>"

    @property
    def updates(self) -> int:
        """The number of updates."""
        return self.visits[-1].k if self.visits else 0

    @property
    def mistakes(self) -> int:
        """The number of mistakes."""
        return sum(visit.mistake for visit in self.visits)

    def summary(self) -> str:
        """Return the numbers of visits, mistakes and updates, and why training stopped."""
        parts = [count(len(self), "visit"), count(self.mistakes, "mistake"), count(self.updates, "update")]
        reason = self.model.stop_reason_
        return ", ".join(parts) + (f"; stopped: {reason}" if reason else "")

    # ---- the table to read

    def __str__(self) -> str:
        header, lines = self._table()
        rows: list[Sequence[str]] = [header]
        for line in lines:
            rows += zip_longest(*(cell.split("\n") for cell in line), fillvalue="")
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        aligned = [
            f"{'<' if _is_left_aligned(name) else '>'}{width}" for name, width in zip(header, widths, strict=True)
        ]
        text = ["  ".join(map(format, row, aligned)).rstrip() for row in rows]
        return "\n".join([*text, *self._notes()])

    def _repr_html_(self) -> str:
        header, lines = self._table()
        rows = [[Html("<br>".join(map(escaped, cell.split("\n")))) for cell in line] for line in lines]
        return block(table(rows, header), *map(note, self._notes()))

    def to_latex(self) -> str:
        """Return a `tabular` environment, which needs no packages."""
        header, lines = self._table(limit=None)
        columns = "".join("l" if _is_left_aligned(name) else "r" for name in header)
        first, *rows = (" & ".join(map(_latex_cell, line)) for line in [header, *lines])
        body = [first + r" \\ \hline", *(row + r" \\" for row in rows)]
        return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}"]) + "\n"

    def _notes(self) -> list[str]:
        """Return the lines below the table."""
        notes = []
        if len(self) > MAX_SHOWN_VISITS:
            notes.append(f"{MAX_SHOWN_VISITS} of {len(self):,} visits shown.")
        low, high = (self.classes.tolist() * 2)[:2]
        if len(self.classes) == 2 and (low, high) != (-1, 1):
            notes.append(f"y is -1 for {low!r} and +1 for {high!r}.")
        return notes

    def _table(self, limit: int | None = MAX_SHOWN_VISITS) -> tuple[list[str], list[list[str]]]:
        """Return the header and the lines of the table as text; the first line is the start."""
        several, kernel = len(self.classes) > 2, self.start.alpha is not None
        header = ["k", "epoch", "example", "x", "y", *(["scores", "margin"] if several else ["s", "y·s"]), ""]
        header += ["alpha", "average alpha"] if kernel else ["w", "b", "average w", "average b"]
        first = ["0", *[""] * 7, *self._weight_cells(self.start, None)]
        lines = [first if kernel else [*first[:-2], "", ""]]
        for visit in self.visits[:limit]:
            size = _score_size(visit)
            label_scores = zip(self.classes.tolist() if several else [""], np.ravel(visit.score).tolist(), strict=False)
            scores = ", ".join(
                f"{label}: {rounded(s, size)}" if several else rounded(s, size) for label, s in label_scores
            )
            x, margin = self._vector(visit.x, self.names.__getitem__), rounded(visit.margin, size)
            place = [str(visit.k), str(visit.epoch), self._place(visit.example)]
            weights = self._weight_cells(visit.weights, visit)
            lines.append([*place, x, str(visit.y), scores, margin, visit.verdict, *weights])
        return header, lines

    def _weight_cells(self, weights: TracedWeights, visit: Visit | None) -> list[str]:
        """Return the cells of the weights: for several classes the rows that changed, at the start all of them."""
        is_kernel = weights.alpha is not None
        several, features = len(self.classes) > 2, None if visit is None else np.flatnonzero(visit.x)
        if several and not is_kernel and visit is None and not weights.coef.any() and not weights.intercept.any():
            return ["all 0", "", "", ""]
        cells, names = [], _row_names(self.model, self.classes, weights)
        for prefix, _, rows, biases in weights.parts():
            shown = [k for k in range(len(rows)) if not several or is_kernel or not visit or names[k] in visit.moved]
            labels = [f"{names[k]}: " if len(rows) > 1 and (is_kernel or not prefix) else "" for k in shown]
            if biases is None:
                vectors = [self._vector(rows[k], self._place) for k in shown]
            else:
                vectors = [self._vector(rows[k], self.names.__getitem__, features) for k in shown]
            cells.append("\n".join(label + vector for label, vector in zip(labels, vectors, strict=True)))
            if biases is not None:
                cells.append("\n".join(rounded(biases[k]) for k in shown))
        return cells

    def _place(self, example: int) -> str:
        return f"X[{example}]" if self.places is None else self.places[example]

    def _vector(self, values: np.ndarray, name: Callable[[int], str], places: np.ndarray | None = None) -> str:
        """Return (1, 0.5); of many values, name those at the given places, by default those that are not 0."""
        largest = float(np.abs(values).max(initial=0.0))
        if len(values) <= MAX_VECTOR_FEATURES:
            return f"({', '.join(rounded(value, largest) for value in values.tolist())})"
        named_places = (np.flatnonzero(values) if places is None else places).tolist()
        items = [f"{name(place)}={rounded(values[place], largest)}" for place in named_places[:MAX_NAMED_FEATURES]]
        return (", ".join(items) or "0") + ", ..." * (len(named_places) > MAX_NAMED_FEATURES)

    # ---- the table as data

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: classes, features, the start and the visits."""
        visits = []
        for visit in self.visits:
            values = {name: _plain(getattr(visit, name)) for name in visit._fields if name != "weights"}
            place = {} if self.places is None else {"place": self.places[visit.example]}
            visits.append(values | place | _plain_weights(visit.weights))
        return {
            "classes": self.classes.tolist(),
            "features": list(self.names),
            "start": _plain_weights(self.start),
            "visits": visits,
            "mistakes": self.mistakes,
            "updates": self.updates,
            "stop_reason": self.model.stop_reason_,
        }

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat dict per visit, whose keys are the columns of `to_frame`."""
        records = []
        for visit in self.visits:
            record: dict[str, Any] = {"k": visit.k, "epoch": visit.epoch, "example": visit.example}
            record |= {f"x_{name}": float(value) for name, value in zip(self.names, visit.x, strict=True)}
            record |= {"y": visit.y, "predicted": visit.predicted}
            if len(self.classes) > 2:
                label_scores = zip(self.classes.tolist(), np.ravel(visit.score).tolist(), strict=True)
                record |= {f"score_{label}": score for label, score in label_scores}
            else:
                record["score"] = visit.score
            record |= {"margin": visit.margin, "mistake": visit.mistake, "update": visit.update}
            records.append(record | self._flat_weights(visit.weights))
        return records

    def _flat_weights(self, weights: TracedWeights) -> dict[str, float]:
        """Return every weight under a name of its own."""
        flat: dict[str, float] = {}
        names = _row_names(self.model, self.classes, weights)
        for prefix, name, rows, biases in weights.parts():
            columns = range(self.n_examples) if biases is None else self.names
            for row, values in enumerate(rows):
                label = f"_{names[row]}" if len(rows) > 1 else ""
                column_values = zip(columns, values.tolist(), strict=True)
                flat |= {f"{prefix}{name}{label}_{column}": value for column, value in column_values}
                if biases is not None:
                    flat[f"{prefix}b{label}"] = float(biases[row])
        return flat

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, one row per visit."""
        import pandas as pd

        return pd.DataFrame(self.to_records())

    def to_csv(self, path: Any = None) -> str | None:
        """Write comma-separated values, one line per visit, to a file; without a path, return them."""
        records, text = self.to_records(), io.StringIO()
        if records:
            writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
        if path is None:
            return text.getvalue()
        Path(path).write_text(text.getvalue(), encoding="utf-8", newline="")
        return None


def rounded(value: Any, largest: float = 0.0, digits: int = 4) -> str:
    """Return a number in few digits; 0 for the rounding error of a sum whose terms are as large as `largest`."""
    number = float(value)
    return "0" if abs(number) < RELATIVE_ROUNDING * largest or number == 0 else f"{number:.{digits}g}"


def _is_left_aligned(column: str) -> bool:
    return column.removeprefix("average ") in LEFT_ALIGNED_COLUMNS


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _plain_weights(weights: TracedWeights) -> dict[str, Any]:
    return {name: _plain(part) for name, part in weights.in_public_shape().items() if part is not None}


def _score_size(visit: Visit) -> float:
    """Return about how large the terms of a score are."""
    if visit.weights.coef is None:
        return float(np.abs(visit.score).max())
    weights = max(np.abs(visit.weights.coef).max(initial=0.0), np.abs(visit.weights.intercept).max(initial=0.0))
    return float(weights * max(1.0, np.abs(visit.x).max(initial=0.0)))


def _latex_cell(cell: str) -> str:
    """Return a cell with special characters escaped; numbers and vectors in math mode, for the minus sign."""
    if cell and not cell.strip("0123456789.,-+e() \n"):
        return "$" + cell.replace("\n", "; ") + "$"
    return "".join(LATEX_ESCAPES.get(letter, letter) for letter in cell)
