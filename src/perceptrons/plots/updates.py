"""The weights after every update, replayed from the log that `Perceptron(combine="vote")` keeps; frames of a film."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.training.base import learner_of
from perceptrons.linear import Perceptron
from perceptrons.plots.model_facts import to_dense
from perceptrons.theory import Trace
from perceptrons.theory.trace import rounded

SHOWN_WEIGHTS = 5  # of a row
MAX_REPLAYED_VALUES = 2**26  # in all versions of the weights: half a gigabyte


class Version(NamedTuple):
    """The weights after k updates (read-only, changed by the next version), and the update that made them."""

    k: int
    w: np.ndarray  # (rows, features)
    b: np.ndarray  # (rows,)
    example: int  # the support vector of the update; -1 at the start
    true: int  # its class
    predicted: int  # the class from which it was subtracted
    n_survived: float  # examples that these weights survived


class Updates:
    """All versions of the weights of a fitted model, starting with the initial ones.

    They are computed as the model learned, w += step x in the type of the weights, so that the last version is
    `coef_last_`: exactly where sums are exact (whole numbers), else to rounding.
    """

    def __init__(self, model: Any):
        if not isinstance(model, Perceptron):
            raise TypeError(f"Only a perceptrons.Perceptron keeps its updates, not a {type(model).__name__}.")
        learner = learner_of(model)
        if learner.votes is None:
            raise ValueError(
                "This model did not keep its updates: fit it with combine='vote', which keeps all of them, or use "
                "from_data."
            )
        self.classes = learner.classes
        self.start = tuple(part.copy() for part in learner.weights.start())
        self.intercept_scaling = learner.weights.one
        self.log = learner.votes.log
        n_values = (len(self.log) + 1) * (learner.n_features + 1) * len(self.start[1])
        if n_values > MAX_REPLAYED_VALUES:
            raise ValueError(
                f"{len(self.log):,} updates of {learner.n_features:,} features are too many to replay: use fewer "
                "examples or features, or fewer epochs (max_iter)."
            )
        self.support = to_dense(learner.votes.matrix(learner.n_features))
        self.counts = learner.votes.counts(learner.t)

    def __len__(self) -> int:
        return len(self.log)

    def __iter__(self) -> Iterator[Version]:
        w, b = (part.copy() for part in self.start)
        dtype = w.dtype.type
        yield Version(0, w, b, -1, -1, -1, float(self.counts[0]))
        for k, (_, i, true, predicted, step) in enumerate(self.log, 1):
            i, true, predicted = int(i), int(true), int(predicted)
            signs = {true: 1, predicted: -1} if len(b) > 1 else {0: 1 if true else -1}  # of the rows that change
            for row, sign in signs.items():
                change = dtype(sign * step)
                w[row] += change * self.support[i]
                b[row] += change * dtype(self.intercept_scaling)
            yield Version(k, w, b, i, true, predicted, float(self.counts[k]))


def fit_with_updates(X: Any, y: Any, parameters: dict[str, Any]) -> Perceptron:
    """Return a model that keeps every update, by default trained by the lecture's rule until it converges.

    Among the parameters may be initial weights, coef_init and intercept_init.
    """
    if parameters.get("combine", "vote") != "vote":
        raise ValueError(f"combine={parameters['combine']!r}: only combine='vote' keeps every update; leave it out.")
    initial = {name: parameters[name] for name in ("coef_init", "intercept_init") if name in parameters}
    others = {name: value for name, value in parameters.items() if name not in initial}
    model = Perceptron(**{"margin": None, "intercept_scaling": 1, "tol": None, **others, "combine": "vote"})
    return model.fit(X, y, **initial)


class Frame(NamedTuple):
    """The model after a visit, and the example that was visited."""

    update: int
    mistakes: int  # made until then
    w: np.ndarray  # (rows, features)
    b: np.ndarray  # (rows,)
    example: np.ndarray | None  # (2,); None at the start
    true: int  # its class; -1 at the start
    predicted: int  # the prediction before the visit
    score: np.ndarray | None = None  # by the weights before the visit, one per row
    previous: tuple[np.ndarray, np.ndarray] | None = None  # those weights
    is_update: bool = True

    def text(self, n_updates: int, names: list[str]) -> str:
        """Describe the visit on one line."""
        if self.example is None:
            return f"start, before any of the {n_updates:,} updates"
        true, predicted = names[self.true], names[self.predicted]
        if not self.is_update:
            return f"after {self.update:,} of {n_updates:,} updates: {true} is right"
        if self.true == self.predicted:
            return f"update {self.update:,} of {n_updates:,}: {true} was right, but within the margin"
        return f"update {self.update:,} of {n_updates:,}: {true} was predicted as {predicted}"

    def numbers(self, names: list[str]) -> str:
        """Return y·s, and the weights before and after the update; for several classes the rows that changed."""
        is_binary = len(self.w) == 1
        now = f"w, b: {_format_weights(self.w[0], self.b[0])}" if is_binary else ""
        if self.score is None or self.previous is None:
            return now
        largest = max(float(np.abs(part).max(initial=0.0)) for part in (*self.previous, self.score))
        if is_binary:
            margin = f"y·s = {rounded(float(self.score[0] if self.true else -self.score[0]) + 0.0, largest)}"
        else:
            lead = self.score[self.true] - np.delete(self.score, self.true).max()
            margin = f"margin = {rounded(float(lead), largest)}"
        if not self.is_update:
            return f"{margin}; {now}" if is_binary else margin
        parts = [margin]
        for row, (old_w, old_b, w, b) in enumerate(zip(*self.previous, self.w, self.b, strict=True)):
            old, new = _format_weights(old_w, old_b), _format_weights(w, b)
            if old != new:
                parts.append(f"{'w, b' if is_binary else f'w of {names[row]}'}: {old} → {new}")
        return "; ".join(parts)


def _format_weights(w: np.ndarray, b: float) -> str:
    largest = max(float(np.abs(w).max(initial=0.0)), abs(float(b)))
    values = ", ".join(rounded(value, largest, 3) for value in w[:SHOWN_WEIGHTS].tolist())
    return f"({values}{', …' * (len(w) > SHOWN_WEIGHTS)}), {rounded(b, largest, 3)}"


def frames_of_updates(
    updates: Updates, model: Perceptron, max_frames: int, points: np.ndarray | None = None
) -> list[Frame]:
    """Return evenly chosen versions of the weights; mistakes are counted over all of them.

    points: the support vectors as points of the plane, if features are computed from others.
    """
    points = updates.support if points is None else points
    positive_at_zero = model.zero_score == "positive"
    learns_from_mistakes_only = model.margin_ == 0 and model.cost is None
    shown = set(np.linspace(0, len(updates), min(max_frames, len(updates) + 1)).round().astype(int).tolist())
    frames, n_mistakes = [], 0
    previous: tuple[np.ndarray, np.ndarray] | None = None
    for version in updates:
        example, s, predicted = None, None, -1
        if previous is not None:
            example = points[version.example].astype(np.float64)
            s = previous[0] @ updates.support[version.example] + previous[1]
            if len(s) > 1:
                predicted = version.predicted if learns_from_mistakes_only else int(s.argmax())
            else:
                predicted = int(s[0] >= 0) if positive_at_zero else int(s[0] > 0)
                if learns_from_mistakes_only or s[0] == 0:  # training counts an update at 0 as a mistake
                    predicted = 1 - version.true
            n_mistakes += predicted != version.true
        current = version.w.copy(), version.b.copy()
        if version.k in shown:
            frames.append(Frame(version.k, int(n_mistakes), *current, example, version.true, predicted, s, previous))
        previous = current
    return frames


def frames_of_trace(trace: Trace, max_frames: int) -> list[Frame]:
    """Return the first visits of a trace, also those without an update."""
    codes = {label: k for k, label in enumerate(trace.classes.tolist())}
    previous = (trace.start.coef, trace.start.intercept)
    frames, n_mistakes = [Frame(0, 0, *previous, None, -1, -1)], 0
    for visit in trace.visits[: max_frames - 1]:
        current, n_mistakes = (visit.weights.coef, visit.weights.intercept), n_mistakes + visit.mistake
        true, predicted = codes[visit.y], codes[visit.predicted]
        if len(codes) == 2 and visit.mistake:
            predicted = 1 - true  # at a score of 0 both are wrong
        score = np.atleast_1d(np.asarray(visit.score, np.float64))
        frames.append(Frame(visit.k, n_mistakes, *current, visit.x, true, predicted, score, previous, visit.update))
        previous = current
    return frames
