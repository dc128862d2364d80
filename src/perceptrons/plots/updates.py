"""The weights after every update, replayed from the log that `Perceptron(combine="vote")` keeps; frames of a film."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from perceptrons.linear import Perceptron
from perceptrons.plots.model_facts import as_dense
from perceptrons.theory import Trace
from perceptrons.theory.trace import rounded

FEW = 5  # weights of a row that are written
MOST = 2**26  # numbers in all versions of the weights: half a gigabyte


class Version(NamedTuple):
    """The weights after k updates (not to be changed, and changed by the next step), and what made the last."""

    k: int
    w: np.ndarray  # (rows, features)
    b: np.ndarray  # (rows,)
    example: int  # the support vector that made the update; -1 at the start
    true: int  # its class
    taken_for: int  # the class predicted, for which it was subtracted
    survived: float  # how many examples these weights survived


class Updates:
    """All versions of the weights of a fitted model, the start first.

    Replayed as the model learned: w += step x in the type of the weights, so that the last version is `coef_last_`,
    exactly where sums are exact (whole numbers), else to rounding.
    """

    def __init__(self, model: Any):
        if not isinstance(model, Perceptron):
            raise TypeError(f"Only a perceptrons.Perceptron keeps its updates, not a {type(model).__name__}.")
        learner = model._fitted()
        if learner.votes is None:
            raise ValueError(
                "This model did not keep its updates: fit it with combine='vote', which keeps all of them, or use "
                "from_data."
            )
        self.classes = learner.classes
        self.start = tuple(part.copy() for part in learner.weights.start())
        self.one, self.t = learner.weights.one, learner.t
        self.log = learner.votes.log
        versions = (len(self.log) + 1) * (learner.n_features + 1) * len(self.start[1])
        if versions > MOST:
            raise ValueError(
                f"{len(self.log):,} updates of {learner.n_features:,} features are too many to replay: use fewer "
                "examples or features, or fewer epochs (max_iter)."
            )
        self.support = as_dense(learner.votes.matrix(learner.n_features))
        self.counts = learner.votes.counts(self.t)

    def __len__(self) -> int:
        """How many updates there were."""
        return len(self.log)

    def __iter__(self) -> Iterator[Version]:
        w, b = (part.copy() for part in self.start)
        several, kind = len(b) > 1, w.dtype.type
        yield Version(0, w, b, -1, -1, -1, float(self.counts[0]))
        for k, (_, i, y, y_hat, step) in enumerate(self.log, 1):
            x, y, y_hat = self.support[int(i)], int(y), int(y_hat)
            moves = ((y, kind(step)), (y_hat, -kind(step))) if several else ((0, kind(step if y else -step)),)
            for row, by in moves:
                w[row] += by * x
                b[row] += by * kind(self.one)
            yield Version(k, w, b, int(i), y, y_hat, float(self.counts[k]))


def fitted_to(X: Any, y: Any, parameters: dict[str, Any]) -> Perceptron:
    """A model with its whole history, trained by the lecture's rule until it converges or for 1000 epochs, unless told
    otherwise. Among the parameters may be a start, coef_init and intercept_init."""
    if parameters.get("combine", "vote") != "vote":
        raise ValueError(f"combine={parameters['combine']!r}: only combine='vote' keeps every update; leave it out.")
    start = {name: parameters[name] for name in ("coef_init", "intercept_init") if name in parameters}
    told = {name: value for name, value in parameters.items() if name not in start}
    return Perceptron(**{"margin": None, "intercept_scaling": 1, "tol": None, **told, "combine": "vote"}).fit(
        X, y, **start
    )


class Frame(NamedTuple):
    """The model after some updates."""

    update: int
    mistakes: int  # made until then
    w: np.ndarray  # (rows, features)
    b: np.ndarray  # (rows,)
    example: np.ndarray | None  # the example that was visited last, (2,)
    true: int  # its class; -1 at the start
    predicted: int  # and the answer before the visit
    score: np.ndarray | None = None  # by the weights before the visit, one per row
    before: tuple[np.ndarray, np.ndarray] | None = None  # those weights
    learned: bool = True  # was it an update?

    def text(self, updates: int, names: list[str]) -> str:
        """What happened, on one line."""
        if self.example is None:
            return f"start, before any of the {updates:,} updates"
        if not self.learned:
            return f"after {self.update:,} of {updates:,} updates: {names[self.true]} is right"
        what = (
            f"{names[self.true]} was predicted as {names[self.predicted]}"
            if self.true != self.predicted
            else f"{names[self.true]} was right, but within the margin"
        )
        return f"update {self.update:,} of {updates:,}: {what}"

    @property
    def margin(self) -> float | None:
        """y·s; for several classes the score of the true class less the best other one. None at the start."""
        if self.score is None:
            return None
        if len(self.score) == 1:
            return float(self.score[0] if self.true else -self.score[0]) + 0.0
        return float(self.score[self.true] - np.delete(self.score, self.true).max())

    def numbers(self, names: list[str]) -> str:
        """y·s, and the weights before and after the update; of several classes those of the rows that moved."""
        if self.score is None or self.before is None:
            rows = [0] if len(self.w) == 1 else []
            return "".join(_weights("w", self.w[r], self.b[r]) for r in rows)
        several = len(self.w) > 1
        largest = max(float(np.abs(part).max(initial=0.0)) for part in (*self.before, self.score))
        said = f"{'margin' if several else 'y·s'} = {rounded(self.margin, largest)}"
        if not self.learned:
            return said if several else f"{said}; {_weights('w', self.w[0], self.b[0])}"
        parts = []
        for r in range(len(self.w)):
            then, now = (_vector(*part) for part in ((self.before[0][r], self.before[1][r]), (self.w[r], self.b[r])))
            if then != now:
                parts.append(f"{f'w of {names[r]}' if several else 'w, b'}: {then} → {now}")
        return "; ".join([said, *parts])


def frames_of(updates: Updates, model: Perceptron, most: int, origins: np.ndarray | None = None) -> list[Frame]:
    """The versions to show; mistakes are counted over all of them, by what each example was answered before it.

    origins: where support examples are in the plane, if features are made of others.
    """
    positive_at_zero = model.zero_score == "positive"
    wrong_always = model.margin_ == 0 and model.cost is None  # then only mistakes are learned from
    n = len(updates)
    shown = set(np.unique(np.linspace(0, n, most).round().astype(int)).tolist()) if n >= most else set(range(n + 1))
    frames, mistakes, predicted = [], 0, -1
    before: tuple[np.ndarray, np.ndarray] | None = None
    for version in updates:
        example, s = None, None
        if before is not None:
            place = (updates.support if origins is None else origins)[version.example]
            example = place.astype(np.float64)
            s = before[0] @ updates.support[version.example] + before[1]
            if len(s) == 1:
                predicted = int(s[0] >= 0) if positive_at_zero else int(s[0] > 0)
                wrong = predicted != version.true or s[0] == 0  # an update at 0: it was counted as a mistake
                predicted = 1 - version.true if wrong or wrong_always else predicted
            else:
                predicted = version.taken_for if wrong_always else int(s.argmax())
            mistakes += predicted != version.true
        then, before = before, (version.w.copy(), version.b.copy())
        if version.k in shown:
            frames.append(Frame(version.k, int(mistakes), *before, example, version.true, predicted, s, then))
    return frames


def frames_of_trace(trace: Trace, most: int) -> list[Frame]:
    """Every visit of a trace, those that were right too; of very many the first ones."""
    places = {label: place for place, label in enumerate(trace.classes.tolist())}
    before = (trace.start.coef, trace.start.intercept)
    frames, mistakes = [Frame(0, 0, *before, None, -1, -1)], 0
    for visit in trace.visits[: most - 1]:
        now, mistakes = (visit.weights.coef, visit.weights.intercept), mistakes + visit.mistake
        true, taken = places[visit.y], places[visit.predicted]
        if len(places) == 2 and visit.mistake:
            taken = 1 - true  # at a score of 0 both are wrong
        score = np.atleast_1d(np.asarray(visit.score, np.float64))
        frames.append(Frame(visit.k, mistakes, *now, visit.x, true, taken, score, before, visit.update))
        before = now
    return frames


def _weights(name: str, w: np.ndarray, b: float) -> str:
    return f"{name}, b: {_vector(w, b)}"


def _vector(w: np.ndarray, b: float) -> str:
    largest = max(float(np.abs(w).max(initial=0.0)), abs(float(b)))
    some = ", ".join(rounded(value, largest, 3) for value in w[:FEW].tolist()) + ", …" * (len(w) > FEW)
    return f"({some}), {rounded(b, largest, 3)}"
