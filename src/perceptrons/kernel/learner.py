"""The state of a kernel model: support vectors, coefficients, the log of updates, classes and counters.

`KernelLearner` holds all of it. `Support` stores the support vectors, each once, on the device that they came from.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.passes.budget import NUMBERS, SEEN, TAKEN, BudgetState
from perceptrons.engine.passes.voting import LOG_COLUMNS, binary_votes, multiclass_votes
from perceptrons.engine.training.calibration import Calibration
from perceptrons.engine.training.epochs import Outcome
from perceptrons.engine.training.labels import merge, winners
from perceptrons.explanation import Explanation, rows_of, verdict
from perceptrons.kernel.arrays import HOST, Array, Place, dtype_name, to_host
from perceptrons.kernel.kernels import Kernel, Points, chunks, ignore_overflow

MAX_VOTE_BYTES = 2**26  # kernel values held at once while voting

GROWABLE = ("coef_array", "lazy_sum_array", "train_rows", "entry_order")


class GrowableArray:
    """A NumPy array with spare rows at its end, so that appending row by row does not copy it each time."""

    def __init__(self, values: np.ndarray):
        self._buffer, self.n_used = values, len(values)

    @property
    def values(self) -> np.ndarray:
        return self._buffer[: self.n_used]

    def reserve(self, n: int) -> np.ndarray:
        """Return the buffer with its spare rows, at least n rows in all."""
        if n > len(self._buffer):
            buffer = np.zeros((max(n, 2 * self.n_used), *self._buffer.shape[1:]), self._buffer.dtype)
            buffer[: self.n_used] = self.values
            self._buffer = buffer
        return self._buffer

    def append(self, rows: np.ndarray) -> None:
        n = self.n_used + len(rows)
        self.reserve(n)[self.n_used : n] = rows
        self.n_used = n


class Support:
    """Rows that are appended, replaced, and read as `Points` of the kernel on any device."""

    def __init__(self, kernel: Kernel, n_features: int):
        self.kernel, self.n_features, self.place = kernel, n_features, HOST
        self._points: Points | None = None
        self._buffers: tuple[GrowableArray, GrowableArray | None] | None = None  # dense rows on the host, and norms
        self._copy: Points | None = None  # on the device of the last X to predict

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_buffers": None, "_copy": None}  # unpickled, they would not share memory with rows

    def __len__(self) -> int:
        return 0 if self._points is None else len(self._points)

    def append(self, points: Points) -> None:
        """Add support vectors at the end."""
        if not len(points):
            return
        if points.index is not None:  # the matrix of a precomputed kernel belongs to the user
            points = Points(None, points.place, index=points.index)
        if self._points is None:
            self.place = points.place
        points = self._move(points, self.place)
        joined = points if self._points is None else None
        present = self.points()  # with as many columns as the new ones
        is_dense = self.place.is_host and not sp.issparse(points.rows) and points.index is None
        if not is_dense or (joined is None and sp.issparse(present.rows)):
            self._set(joined or _concatenate([present, points]))
            return
        if self._buffers is None:
            joined = joined or _concatenate([present, points])
            self._buffers = GrowableArray(joined.rows), None if joined.norms is None else GrowableArray(joined.norms)
        else:
            for array, values in zip(self._buffers, (points.rows, points.norms), strict=True):
                if array is not None:
                    array.append(values)
        rows, norms = self._buffers
        needs_float64 = points.needs_float64 or present.needs_float64
        self._points = Points(rows.values, HOST, None if norms is None else norms.values, needs_float64)
        self._copy = None

    def replace(self, slots: np.ndarray, points: Points) -> None:
        """Overwrite the support vectors in these slots; slots from len(self) on are appended."""
        is_new = slots >= len(self)
        old = np.flatnonzero(~is_new)
        if len(old):
            present = self.points()
            if self._buffers is not None and not sp.issparse(points.rows) and points.place.is_host:
                rows, norms = self._buffers
                rows.values[slots[old]] = points.rows[old]
                if norms is not None:
                    norms.values[slots[old]] = points.norms[old]
                present.needs_float64 |= points.needs_float64
                self._copy = None
            else:
                order = np.arange(len(self))
                order[slots[old]] = len(self) + np.arange(len(old))
                self._set(_concatenate([present, self._move(points.take(old), self.place)]).take(order))
        self.append(points.take(np.flatnonzero(is_new)))

    def points(self) -> Points:
        """Return all support vectors, on the device where they are stored."""
        if self._points is None:
            rows = sp.csr_matrix((0, self.n_features))
            return Points(rows, norms=np.zeros(0), index=np.zeros(0, np.intp))
        wide = _widen(self._points, self.n_features)
        if wide is not self._points:
            self._set(wide)
        return wide

    def at(self, place: Place) -> Points:
        """Return all support vectors on another device; a copy there is kept until they change."""
        points = self.points()
        if place == self.place or self._points is None:
            return points
        if self._copy is None or self._copy.place != place:
            self._copy = self._move(points, place)
        return self._copy

    def move_to(self, place: Place) -> None:
        """Store the support vectors on this device from now on."""
        if self._points is not None and place != self.place:
            self._set(self.at(place))
        self.place = place

    def reset(self, points: Points) -> None:
        """Replace all support vectors by these."""
        self._set(points if len(points) else None)

    def _set(self, points: Points | None) -> None:
        self._points, self._buffers, self._copy = points, None, None

    def _move(self, points: Points, place: Place) -> Points:
        if points.place == place:
            return points
        if points.index is not None:
            return Points(None, place, index=points.index)
        rows = to_host(points.rows)
        if not place.is_host:
            rows = place.put(rows.toarray() if sp.issparse(rows) else rows)
        return self.kernel.points(rows)


def _concatenate(parts: list[Points]) -> Points:
    """Join parts; the result is sparse if any part is."""
    place = parts[0].place
    if parts[0].index is not None:
        return Points(None, place, index=np.concatenate([part.index for part in parts]))
    concatenate = np.concatenate if place.is_host else place.xp.concat
    if any(sp.issparse(part.rows) for part in parts):
        rows = sp.vstack([sp.csr_matrix(part.rows) for part in parts], format="csr")
    else:
        rows = concatenate([part.rows for part in parts])
    norms = None if parts[0].norms is None else concatenate([part.norms for part in parts])
    return Points(rows, place, norms, any(part.needs_float64 for part in parts))


def _widen(points: Points, n_features: int) -> Points:
    """Add columns of zeros for features that came later, which only sparse examples meet."""
    rows, place = points.rows, points.place
    if points.index is not None or rows.shape[1] == n_features:
        return points
    if not place.is_host:
        zeros = place.zeros((len(points), n_features - int(rows.shape[1])), dtype_name(rows))
        return Points(place.xp.concat([rows, zeros], axis=1), place, points.norms, points.needs_float64)
    rows = sp.csr_matrix(rows)
    wide = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_features), copy=False)
    return Points(wide, place, points.norms, points.needs_float64)


class KernelLearner:
    """Everything that training changes, and all that is needed to keep training: the content of a model file.

    f_r(x) = sum over support vectors j of coef[j, r] K(x_j, x), for every row r: one, or one per class.
    The mean of coef over the t examples seen is coef - lazy_sum / t; lazy_sum is the sum of (examples seen before) *
    (change of coef).
    """

    form: str = "single"
    threshold: float | None = None  # the lowest score for which the second of two classes is predicted; None: above 0
    calibration: Calibration | None = None

    def __init__(
        self, kernel: Kernel, classes: np.ndarray, scheme: str, n_features: int, dtype: str, seed: int,
        budget: int | None, on_full: str,
    ):  # fmt: skip
        self.kernel, self.classes, self.scheme = kernel, classes, scheme
        self.dtype, self.seed, self.budget, self.on_full = dtype, seed, budget, on_full
        self.rng = np.random.default_rng(seed)  # for the orders of the examples
        self.epochs = self.mistakes = 0
        self.t = 0.0  # examples seen, by weight
        self.support = Support(kernel, n_features)
        self.train_rows = GrowableArray(np.zeros(0, np.int64))  # row of each support vector in the X of fit, or -1
        self.coef_array, self.lazy_sum_array = (GrowableArray(np.zeros((0, self.n_rows))) for _ in range(2))
        self._logs: list[np.ndarray] | None = [] if budget is None else None
        # the state of a budget, see passes/budget.py
        self.entry_order = GrowableArray(np.zeros(0, np.int64))
        self.budget_matrix = np.zeros((0, 0))
        self.budget_counters = np.zeros(NUMBERS)
        self._codes: dict[Any, int] | None = None
        self.home: Place | None = None  # the device of the first X; None for a model from a file

    # ---- state

    @property
    def updates(self) -> int:
        return self.mistakes  # every update is a mistake, and every mistake an update

    @property
    def n_features(self) -> int:
        return self.support.n_features

    @property
    def n_support(self) -> int:
        return self.coef_array.n_used

    @property
    def n_rows(self) -> int:
        return 1 if len(self.classes) < 3 else len(self.classes)

    @property
    def coef(self) -> np.ndarray:
        return self.coef_array.values

    @property
    def lazy_sum(self) -> np.ndarray:
        return self.lazy_sum_array.values

    @property
    def average(self) -> np.ndarray:
        return self.coef - self.lazy_sum / self.t if self.t else self.coef.copy()

    @property
    def log(self) -> np.ndarray:
        """All updates: examples seen before, support vector, true class, row or (joint) predicted class, step, 1."""
        if self._logs is None:
            raise AttributeError("With a budget, updates are forgotten, and so are survival counts and votes.")
        if len(self._logs) != 1:
            self._logs = [np.concatenate([np.empty((0, LOG_COLUMNS)), *self._logs])]
        return self._logs[0]

    @property
    def sign(self) -> np.ndarray:
        """The target, +1 or -1, of each class in the problem of each row; of shape (0, 0) where classes compete."""
        if self.n_rows == 1:
            return np.array([[-1], [1]], np.int8)[2 - len(self.classes) :]
        if self.scheme == "joint":
            return np.zeros((0, 0), np.int8)
        return (2 * np.eye(self.n_rows) - 1).astype(np.int8)

    def code(self, label: Any) -> int | None:
        """Return the number of a class, or None if it is not known."""
        if self._codes is None:
            self._codes = {known: number for number, known in enumerate(self.classes.tolist())}
        return self._codes.get(label)

    def survival_counts(self) -> np.ndarray:
        """Return how many examples the version that each update made survived, in its problem."""
        log = self.log
        counts = np.empty(len(log))
        problem = log[:, 3] if self.n_rows > 1 and self.scheme == "ovr" else np.zeros(len(log))
        for k in np.unique(problem):
            updates = np.flatnonzero(problem == k)
            counts[updates] = np.diff(np.append(log[updates, 0], self.t))
        return counts

    # ---- learning

    def match_rows(self, points: Points) -> np.ndarray:
        """Return for every row of a training set which support vector it is, or -1.

        Support vectors are known by their rows in the X of the last fit. If these rows of X are still the same,
        training resumes; otherwise none is matched.
        """
        matches, train_rows = np.full(len(points), -1), self.train_rows.values
        known = np.flatnonzero((train_rows >= 0) & (train_rows < len(points)))
        if len(known) and self._are_equal(points.take(train_rows[known]), self.support.points().take(known)):
            matches[train_rows[known]] = known
            train_rows[train_rows >= len(points)] = -1
        else:
            train_rows[:] = -1
        return matches

    def _are_equal(self, a: Points, b: Points) -> bool:
        if a.index is not None:
            return True
        if sp.issparse(a.rows) or sp.issparse(b.rows):
            return (sp.csr_matrix(a.rows) != sp.csr_matrix(b.rows)).nnz == 0
        return bool(a.place.xp.all(a.rows == b.rows))

    def trained(self, outcome: Outcome) -> None:
        """Count the epochs of a finished training."""
        self.epochs += len(outcome.history)

    def meet_features(self, n_features: int) -> None:
        self.support.n_features = max(self.n_features, n_features)

    def coefficient_changes(self, log: np.ndarray, examples: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what logged updates add to coef and lazy_sum of n examples. examples: that of each update."""
        y, other, step, sign = log[:, 2].astype(np.intp), log[:, 3].astype(np.intp), log[:, 4], self.sign
        coef, lazy_sum = np.zeros((n, self.n_rows)), np.zeros((n, self.n_rows))
        for total, size in ((coef, step), (lazy_sum, step * log[:, 0])):
            if len(sign):
                np.add.at(total, (examples, other), size * sign[y, other])
            else:
                np.add.at(total, (examples, y), size)
                np.add.at(total, (examples, other), -size)
        return coef, lazy_sum

    def add_updates(
        self, log: np.ndarray, examples: np.ndarray, slots: np.ndarray, new: Points, train_rows: np.ndarray
    ) -> None:
        """Add logged updates to the model.

        examples: the example of each update. slots: the support vector that each example is or becomes; those from
        n_support on are `new`, and stand in these rows of the training set.
        """
        coef, lazy_sum = self.coefficient_changes(log, examples, len(slots))
        if len(new):
            self.support.append(new)
            self.train_rows.append(train_rows)
            for array in (self.coef_array, self.lazy_sum_array):
                array.append(np.zeros((len(new), self.n_rows)))
        self.coef[slots] += coef
        self.lazy_sum[slots] += lazy_sum
        log[:, 1] = slots[examples]
        self.append_log(log)
        self.mistakes += len(log)

    def append_log(self, log: np.ndarray) -> None:
        """Keep updates for the votes, unless there is a budget."""
        if self._logs is not None:
            self._logs.append(log.copy())  # the log of a pass has spare rows

    def reserve_budget(self, n: int, slot_rows: GrowableArray) -> BudgetState:
        """Return the arrays that learning on a budget changes, with room for n more support vectors."""
        assert self.budget is not None
        size = min(self.budget, self.n_support + n)
        arrays = (self.coef_array, self.lazy_sum_array, self.entry_order, slot_rows, self.train_rows)
        coef, lazy_sum, entry_order, rows, _ = (array.reserve(size) for array in arrays)
        if self.on_full != "remove_random" and len(self.budget_matrix) < size:
            matrix = np.zeros((min(self.budget, 2 * size), min(self.budget, 2 * size)))
            matrix[: len(self.budget_matrix), : len(self.budget_matrix)] = self.budget_matrix
            self.budget_matrix = matrix
        self.budget_counters[SEEN], self.budget_counters[TAKEN] = self.t, self.n_support
        return BudgetState(coef, lazy_sum, entry_order, rows, self.budget_matrix, self.budget_counters)

    def finish_budget(self, slots: np.ndarray, points: Points, train_rows: np.ndarray, mistakes: int) -> None:
        """Store the examples that a pass on a budget has put into these slots, and its counters."""
        self.support.replace(slots, points)
        self.train_rows.reserve(0)[slots] = train_rows
        for name in GROWABLE:
            getattr(self, name).n_used = int(self.budget_counters[TAKEN])
        self.t = float(self.budget_counters[SEEN])
        self.mistakes += mistakes

    def meet_classes(self, classes: np.ndarray) -> None:
        """Make room for new classes. classes: all of them, sorted, the known ones too.

        A model of one class is a binary one in which that class is the positive one, until a second appears.
        A binary model becomes rows (-f, f) when a third does, which is the same model.
        """
        if len(classes) == len(self.classes):
            return
        log = None if self._logs is None else self.log.copy()
        if len(self.classes) == 1:
            second = next(label for label in classes if label != self.classes[0])
            pair = merge(self.classes, np.array([second], dtype=classes.dtype))
            if pair[1] == second:  # the only class so far turns out to be the negative one
                self.coef[:] *= -1
                self.lazy_sum[:] *= -1
            elif log is not None:
                log[:, 2] = 1
            self.classes = pair
        if len(classes) > len(self.classes):
            self.threshold = self.calibration = None
            codes, was_binary = np.searchsorted(classes, self.classes), len(self.classes) == 2
            for name in ("coef_array", "lazy_sum_array"):
                values = getattr(self, name).values
                wide = np.zeros((len(values), len(classes)))
                wide[:, codes] = np.hstack([-values, values]) if was_binary else values
                setattr(self, name, GrowableArray(wide))
            if log is not None:
                if was_binary:
                    log[:, 3] = 1 - log[:, 2]
                    if self.scheme == "ovr":  # an update of f is one of -f and one of f
                        log = np.repeat(log, 2, axis=0)
                        log[:, 3] = np.tile([0, 1], len(log) // 2)
                log[:, 2:4] = codes[log[:, 2:4].astype(np.intp)]
            self.classes = classes
        self._logs, self._codes = None if log is None else [log], None

    # ---- predicting

    def scores(self, X: Points, combine: str) -> Array:
        """Return scores on the device of X, (n, rows); shares of votes if they vote."""
        if combine == "vote":
            return X.place.put(self._vote_shares(X))
        support = self.support.at(X.place)
        scores = X.place.zeros((len(X), self.n_rows), self.dtype)
        if self.n_support:
            coef = X.place.put(self.coef if combine == "last" else self.average, self.dtype)
            with ignore_overflow():
                for start, part in chunks(X, self.n_support):
                    scores[start : start + len(part), :] = self.kernel(part, support) @ coef
            if not X.place.xp.all(X.place.xp.isfinite(scores)):
                raise self.kernel.overflow_error(self.dtype)
        return scores

    def _vote_shares(self, X: Points) -> np.ndarray:
        """Return votes / t, (n, rows): in [-1, 1] for binary problems, shares for competing classes.

        Every version of a function votes as often as the examples that it survived.
        """
        votes, is_joint = np.zeros((len(X), self.n_rows)), not len(self.sign)
        if not self.n_support:  # only the initial functions vote: for the negative side, or for the first class
            votes[:, : 1 if is_joint else self.n_rows] = (1.0 if is_joint else -1.0) * (self.t > 0)
            return votes
        logs = [self.log]
        if not is_joint and self.n_rows > 1:
            logs = [self.log[self.log[:, 3] == k] for k in range(self.n_rows)]
        counts = [np.diff(np.concatenate([[0.0], log[:, 0], [self.t]])) for log in logs]
        support, width = self.support.at(X.place), max(self.n_support, *(len(log) + is_joint for log in logs), 0)
        for start, part in chunks(X, width, MAX_VOTE_BYTES):
            K = np.ascontiguousarray(to_host(self.kernel(part, support)))
            chunk_votes = votes[start : start + len(part)]
            for k, log in enumerate(logs):
                slots, y, y_hat = (np.ascontiguousarray(log[:, j], np.intp) for j in (1, 2, 3))
                if is_joint:
                    multiclass_votes(K, slots, y, y_hat, log[:, 4], counts[k], np.zeros(chunk_votes.shape), chunk_votes)
                else:
                    steps, column = log[:, 4] * self.sign[y, k], np.zeros(len(part))
                    binary_votes(K, slots, steps, counts[k], False, np.zeros(len(part)), column)
                    chunk_votes[:, k] = column
        return votes / self.t

    def decision(self, X: Points, combine: str) -> Array:
        """Return the scores on the device of X as users see them: a vector if there is one row."""
        scores = self.scores(X, combine)
        return scores[:, 0] if self.n_rows == 1 else scores

    def winners(self, decision: np.ndarray, zero_score: str = "mistake") -> np.ndarray:
        """Return the number of the predicted class for each row of scores; a score of 0 is the first class."""
        return winners(decision, len(self.classes), threshold=self.threshold)

    def explanation(self, X: Points, combine: str, unknown: list[str]) -> Explanation:
        """Return what each support vector adds to the scores of one example. unknown: its unknown feature names."""
        decision, values = to_host(self.decision(X, combine)), np.zeros(0)
        if self.n_support:
            values = np.ravel(to_host(self.kernel(X, self.support.at(X.place)))).astype(np.float64)
        nonzero = np.flatnonzero(values)
        rows = self.train_rows.values[nonzero].copy()
        return Explanation(
            **verdict(self.classes, decision, self.winners(decision), False, self.calibration),
            rows=rows_of(self.classes, self.scheme),
            columns=nonzero,
            features=tuple(
                f"X[{row}]" if row >= 0 else f"support {slot}"
                for row, slot in zip(rows.tolist(), nonzero.tolist(), strict=True)
            ),
            values=values[nonzero],
            weights=(self.coef if combine == "last" else self.average)[nonzero].T.copy(),
            bias=np.zeros(self.n_rows),
            combine=combine,
            unknown=tuple(unknown),
            support=rows,
            threshold=self.threshold,
        )

    # ---- going back

    def snapshot(self) -> dict[str, Any]:
        points = self.support.points()
        return {
            "arrays": {name: getattr(self, name).values.copy() for name in GROWABLE},
            "counters": (self.t, self.mistakes, self.budget_matrix.copy(), self.budget_counters.copy()),
            "points": points if self.budget is None else points.take(np.arange(len(points))),
            "logs": None if self._logs is None else [self.log],
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        for name, values in snapshot["arrays"].items():
            setattr(self, name, GrowableArray(values))
        self.t, self.mistakes, self.budget_matrix, self.budget_counters = snapshot["counters"]
        self.support.reset(snapshot["points"])
        self._logs = snapshot["logs"]
