"""A kernel model in the making: support vectors, coefficients, the log of updates, classes and counters together."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.passes.budget_policies import NUMBERS, SEEN, TAKEN, Held
from perceptrons.engine.passes.log import LOG_COLUMNS
from perceptrons.engine.passes.voting import binary_votes, multiclass_votes
from perceptrons.engine.training.calibration import Calibration
from perceptrons.engine.training.epochs import Outcome
from perceptrons.engine.training.labels import merge, winners
from perceptrons.explanation import Explanation, rows_of, verdict
from perceptrons.kernel.arrays import Place, to_host
from perceptrons.kernel.kernels import Kernel, Points, chunks, not_finite_yet
from perceptrons.kernel.support_vectors import Growing, Support

GROWING = ("coefs", "lates", "where", "born")
VOTES, VOTES_ON_DEVICE = 2**26, 2**28  # bytes of kernel values or running sums held at once, of each kind


class KernelLearner:
    """Everything that training changes, and all that is needed to keep training: this is what a model file holds.

    f_r(x) = sum over support vectors j of coef[j, r] K(x_j, x), for every row r: one, or one a class.
    The mean of coef over the t examples seen is coef - late / t: late is the sum of (seen before) * (change of coef).
    """

    form: str = "single"
    threshold: float | None = None  # of two classes: the score from which on the second is answered, see winners
    calibration: Calibration | None = None

    def __init__(
        self,
        kernel: Kernel,
        classes: np.ndarray,
        scheme: str,
        n_features: int,
        dtype: str,
        seed: int,
        budget: int | None,
        on_full: str,
    ):
        self.kernel, self.classes, self.scheme = kernel, classes, scheme
        self.dtype, self.seed, self.budget, self.on_full = dtype, seed, budget, on_full
        self.rng = np.random.default_rng(seed)  # of the orders
        self.epochs = self.mistakes = 0
        self.t = 0.0  # examples seen, by weight
        self.support = Support(kernel, n_features)
        self.where = Growing(np.zeros(0, np.int64))  # the row of each support vector in the X of fit, or -1
        self.coefs, self.lates = (Growing(np.zeros((0, self.n_rows))) for _ in range(2))
        self._logs: list[np.ndarray] | None = [] if budget is None else None
        self.born = Growing(np.zeros(0, np.int64))  # with a budget: which in the order of entering
        self.inner = np.zeros((0, 0))  # with a budget: see passes/budget.py, and so for numbers
        self.numbers = np.zeros(NUMBERS)
        self._codes: dict[Any, int] | None = None
        self.home: Place | None = None  # where it was created; a model from a file has no home and follows X

    # ---- what is there

    @property
    def updates(self) -> int:
        return self.mistakes  # every update is a mistake here, and the other way round

    @property
    def n_features(self) -> int:
        return self.support.n_features

    @property
    def n_support(self) -> int:
        return self.coefs.used

    @property
    def n_rows(self) -> int:
        return 1 if len(self.classes) < 3 else len(self.classes)

    @property
    def coef(self) -> np.ndarray:
        return self.coefs.now

    @property
    def late(self) -> np.ndarray:
        return self.lates.now

    @property
    def average(self) -> np.ndarray:
        return self.coef - self.late / self.t if self.t else self.coef.copy()

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
        """What an example of each class is in the problem of each row: +1 or -1; (0, 0) where classes compete."""
        if self.n_rows == 1:
            return np.array([[-1], [1]], np.int8)[2 - len(self.classes) :]
        if self.scheme == "joint":
            return np.zeros((0, 0), np.int8)
        return (2 * np.eye(self.n_rows) - 1).astype(np.int8)

    def code(self, label: Any) -> int | None:
        """The number of a class, None if it is not known."""
        if self._codes is None:
            self._codes = {known: number for number, known in enumerate(self.classes.tolist())}
        return self._codes.get(label)

    def survivals(self) -> np.ndarray:
        """How many examples the version that each update made survived, in its problem."""
        log = self.log
        counts = np.empty(len(log))
        problem = log[:, 3] if self.n_rows > 1 and self.scheme == "ovr" else np.zeros(len(log))
        for k in np.unique(problem):
            mine = np.flatnonzero(problem == k)
            counts[mine] = np.diff(np.append(log[mine, 0], self.t))
        return counts

    # ---- learning

    def taken_in(self, points: Points) -> np.ndarray:
        """For every example of a training set which support vector it is, or -1: those of the X that was learned last.

        Training on the same rows resumes where it stopped; nothing is known about any others.
        """
        taken, where = np.full(len(points), -1), self.where.now
        known = np.flatnonzero((where >= 0) & (where < len(points)))
        if len(known) and self._same(points.take(where[known]), self.support.points().take(known)):
            taken[where[known]] = known
            where[where >= len(points)] = -1
        else:
            where[:] = -1
        return taken

    def _same(self, some: Points, others: Points) -> bool:
        if some.index is not None:
            return True
        if sp.issparse(some.rows) or sp.issparse(others.rows):
            return (sp.csr_matrix(some.rows) != sp.csr_matrix(others.rows)).nnz == 0
        return bool(some.place.xp.all(some.rows == others.rows))

    def trained(self, outcome: Outcome) -> None:
        """The loop over epochs is over."""
        self.epochs += len(outcome.history)

    def meet_features(self, n_features: int) -> None:
        self.support.n_features = max(self.n_features, n_features)

    def changes(self, log: np.ndarray, who: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """What updates, as a walk logs them, add to coef and late of n examples; who: the example of each update."""
        y, other, step, sign = log[:, 2].astype(np.intp), log[:, 3].astype(np.intp), log[:, 4], self.sign
        both = np.zeros((n, self.n_rows)), np.zeros((n, self.n_rows))
        for into, size in zip(both, (step, step * log[:, 0]), strict=True):
            if len(sign):
                np.add.at(into, (who, other), size * sign[y, other])
            else:
                np.add.at(into, (who, y), size)
                np.add.at(into, (who, other), -size)
        return both

    def record(self, log: np.ndarray, who: np.ndarray, slots: np.ndarray, new: Points, where: np.ndarray) -> None:
        """Take in updates, `who` the example of each. slots: the support vector that each example is, or is to be:
        those from n_support on are new, and their rows are in `where`."""
        coef, late = self.changes(log, who, len(slots))
        if len(new):
            self.support.append(new)
            self.where.append(where)
            for growing in (self.coefs, self.lates):
                growing.append(np.zeros((len(new), self.n_rows)))
        self.coef[slots] += coef
        self.late[slots] += late
        log[:, 1] = slots[who]
        self.take_log(log)
        self.mistakes += len(log)

    def take_log(self, log: np.ndarray) -> None:
        """Keep updates for the votes, unless there is a budget."""
        if self._logs is not None:
            self._logs.append(log.copy())  # a walk leaves room behind

    def hold(self, more: int, row_of: Growing) -> Held:
        """The arrays that learning on a budget changes, with room for `more` support vectors."""
        assert self.budget is not None
        room = min(self.budget, self.n_support + more)
        coef, late, born, rows, _ = (g.room(room) for g in (self.coefs, self.lates, self.born, row_of, self.where))
        if self.on_full != "remove_random" and len(self.inner) < room:
            wider = np.zeros((min(self.budget, 2 * room), min(self.budget, 2 * room)))
            wider[: len(self.inner), : len(self.inner)] = self.inner
            self.inner = wider
        self.numbers[SEEN], self.numbers[TAKEN] = self.t, self.n_support
        return Held(coef, late, born, rows, self.inner, self.numbers)

    def held(self, slots: np.ndarray, points: Points, where: np.ndarray, mistakes: int) -> None:
        """Take in what that walk did: these points, which are in these rows, took these places."""
        self.support.replace(slots, points)
        self.where.room(0)[slots] = where
        for growing in (self.coefs, self.lates, self.born, self.where):
            growing.used = int(self.numbers[TAKEN])
        self.t = float(self.numbers[SEEN])
        self.mistakes += mistakes

    def meet_classes(self, classes: np.ndarray) -> None:
        """Make room for classes not known yet; `classes` holds the known ones too, sorted.

        A model of one class is a binary one in which that class is the positive one, until a second appears.
        A binary model becomes rows (-f, f) when a third does, which is the same model.
        """
        if len(classes) == len(self.classes):
            return
        log = None if self._logs is None else self.log.copy()
        if len(self.classes) == 1:
            other = next(label for label in classes if label != self.classes[0])
            pair = merge(self.classes, np.array([other], dtype=classes.dtype))
            if pair[1] == other:  # the class so far turns out to be the negative one
                self.coef[:] *= -1
                self.late[:] *= -1
            elif log is not None:
                log[:, 2] = 1
            self.classes = pair
        if len(classes) > len(self.classes):
            self.threshold = self.calibration = None
            places, split = np.searchsorted(classes, self.classes), len(self.classes) == 2
            for name in ("coefs", "lates"):
                now = getattr(self, name).now
                wider = np.zeros((len(now), len(classes)))
                wider[:, places] = np.hstack([-now, now]) if split else now
                setattr(self, name, Growing(wider))
            if log is not None:
                if split:
                    log[:, 3] = 1 - log[:, 2]
                    if self.scheme == "ovr":  # an update of f is one of -f and one of f
                        log = np.repeat(log, 2, axis=0)
                        log[:, 3] = np.tile([0, 1], len(log) // 2)
                log[:, 2:4] = places[log[:, 2:4].astype(np.intp)]
            self.classes = classes
        self._logs, self._codes = None if log is None else [log], None

    # ---- predicting

    def scores(self, X: Points, combine: str) -> Any:
        """Scores where X is, (n, rows); by votes: shares of them, (n, rows)."""
        support = self.support.at(X.place)
        if combine == "vote":
            return vote_shares(self, X, support)
        scores = X.place.zeros((len(X), self.n_rows), self.dtype)
        if self.n_support:
            coef = X.place.put(self.coef if combine == "last" else self.average, self.dtype)
            with not_finite_yet():
                for begin, part in chunks(X, self.n_support):
                    scores[begin : begin + len(part), :] = self.kernel(part, support) @ coef
            if not X.place.xp.all(X.place.xp.isfinite(scores)):
                raise self.kernel.too_large(self.dtype)
        return scores

    def decision(self, X: Points, combine: str) -> Any:
        """Scores where X is, as users see them: of one row as a vector."""
        scores = self.scores(X, combine)
        return scores[:, 0] if self.n_rows == 1 else scores

    def winners(self, decision: np.ndarray, zero_score: str = "mistake") -> np.ndarray:
        """Return the number of the predicted class for each row of scores; a score of 0 is the first class."""
        return winners(decision, len(self.classes), threshold=self.threshold)

    def explanation(self, X: Points, combine: str, unknown: list[str]) -> Explanation:
        """What each support vector adds to the scores of one example. unknown: names in it that are not known."""
        decision, values = to_host(self.decision(X, combine)), np.zeros(0)
        if self.n_support:
            values = np.ravel(to_host(self.kernel(X, self.support.at(X.place)))).astype(np.float64)
        near = np.flatnonzero(values)
        where = self.where.now[near].copy()
        return Explanation(
            **verdict(self.classes, decision, self.winners(decision), False, self.calibration),
            rows=rows_of(self.classes, self.scheme),
            columns=near,
            features=tuple(
                f"X[{row}]" if row >= 0 else f"support {number}"
                for row, number in zip(where.tolist(), near.tolist(), strict=True)
            ),
            values=values[near],
            weights=(self.coef if combine == "last" else self.average)[near].T.copy(),
            bias=np.zeros(self.n_rows),
            combine=combine,
            unknown=tuple(unknown),
            support=where,
            threshold=self.threshold,
        )

    # ---- going back

    def snapshot(self) -> dict[str, Any]:
        points = self.support.points()
        return {
            "arrays": {name: getattr(self, name).now.copy() for name in GROWING},
            "plain": (self.t, self.mistakes, self.inner.copy(), self.numbers.copy()),
            "points": points if self.budget is None else points.take(np.arange(len(points))),
            "logs": None if self._logs is None else [self.log],
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        for name, array in snapshot["arrays"].items():
            setattr(self, name, Growing(array))
        self.t, self.mistakes, self.inner, self.numbers = snapshot["plain"]
        self.support.reset(snapshot["points"])
        self._logs = snapshot["logs"]


def vote_shares(learner: KernelLearner, X: Points, support: Points) -> Any:
    """Votes over t, (n, rows), where X is: in [-1, 1] for every binary problem; shares where classes compete."""
    place, n_rows = X.place, learner.n_rows
    votes = place.zeros((len(X), n_rows), "float64")
    if not learner.n_support:  # the start alone votes, for the negative side and for the first class
        votes[:, slice(0, n_rows if len(learner.sign) else 1)] += (-1.0 if len(learner.sign) else 1.0) * (learner.t > 0)
        return votes
    counters: list[_Problem] | list[_Competition]
    if len(learner.sign):
        counters = [_Problem(learner, k, place) for k in range(n_rows)]
    else:
        counters = [_Competition(learner, place)]
    wide = max(learner.n_support, *(counter.width for counter in counters))
    for begin, part in chunks(X, wide, VOTES if place.is_host else VOTES_ON_DEVICE):
        K = learner.kernel(part, support)
        K = np.ascontiguousarray(K) if place.is_host else K
        for counter in counters:
            votes[begin : begin + len(part), counter.columns] = counter.count(K)
    return votes / learner.t


class _Problem:
    """The versions of the function of one binary problem."""

    def __init__(self, learner: KernelLearner, k: int, place: Place):
        log = learner.log if learner.n_rows == 1 else learner.log[learner.log[:, 3] == k]
        signed = log[:, 4] * learner.sign[log[:, 2].astype(np.intp), k]
        counts = np.diff(np.concatenate([[0.0], log[:, 0], [learner.t]]))
        self.place, self.columns, self.width = place, slice(k, k + 1), len(log)
        self.slots, self.signed, self.counts = (place.put(a) for a in (log[:, 1].astype(np.intp), signed, counts))

    def count(self, K: Any) -> Any:
        """sum over the versions v of c_v sign(f_v(x)), for every row of K: kernel values with the support vectors."""
        if self.place.is_host:
            votes = np.zeros((len(K), 1))
            binary_votes(K, self.slots, self.signed, self.counts, False, np.zeros(len(K)), votes[:, 0])
            return votes
        xp = self.place.xp
        s = xp.asarray(xp.take(K, self.slots, axis=1), dtype=xp.float64)
        s *= self.signed[None, :]
        positive = xp.asarray(xp.cumulative_sum(s, axis=1) > 0, dtype=xp.float64)
        return (2.0 * (positive @ self.counts[1:]) - xp.sum(self.counts))[:, None]


class _Competition:
    """The versions of the functions of all classes, which compete."""

    def __init__(self, learner: KernelLearner, place: Place):
        log = learner.log
        y, y_hat = log[:, 2].astype(np.intp), log[:, 3].astype(np.intp)
        counts = np.diff(np.concatenate([[0.0], log[:, 0], [learner.t]]))
        self.place, self.n_rows = place, learner.n_rows
        self.columns, self.width = slice(0, self.n_rows), (len(log) + 1) * (1 if place.is_host else self.n_rows)
        if place.is_host:
            self.slots, self.updates, self.counts = log[:, 1].astype(np.intp), (y, y_hat, log[:, 4]), counts
        else:
            delta = np.zeros((len(log) + 1, self.n_rows))  # of the start, which is 0, and of every update
            delta[np.arange(len(log)) + 1, y] += log[:, 4]
            delta[np.arange(len(log)) + 1, y_hat] -= log[:, 4]
            self.slots = place.put(np.append(0, log[:, 1].astype(np.intp)))
            self.delta, self.counts = place.put(delta), place.put(counts)

    def count(self, K: Any) -> Any:
        """For every row of K and class, the survival counts of the versions that answer with the class."""
        if self.place.is_host:
            y, y_hat, step = self.updates
            votes, s = np.zeros((len(K), self.n_rows)), np.zeros((len(K), self.n_rows))
            multiclass_votes(K, self.slots, y, y_hat, step, self.counts, s, votes)
            return votes
        xp = self.place.xp
        added = xp.asarray(xp.take(K, self.slots, axis=1), dtype=xp.float64)
        s = xp.cumulative_sum(added[:, :, None] * self.delta[None, :, :], axis=1)
        winner = xp.argmax(s, axis=2)  # (rows of K, versions)
        columns = [xp.asarray(winner == k, dtype=xp.float64) @ self.counts for k in range(self.n_rows)]
        return xp.stack(columns, axis=1)
