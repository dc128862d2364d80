"""The weights of a linear model while it learns: they grow by classes and features, are averaged, kept, restored."""

import math
from typing import Any, Literal

import numpy as np

from perceptrons.engine.passes.average import ANCHOR, GAIN, MASS, OFFSET, SCALE, SEEN, TOTAL, Linear, move_average
from perceptrons.engine.passes.following import DIFFERENT, LEAD, RECORD
from perceptrons.engine.passes.one_example import score_row
from perceptrons.engine.passes.pocket import BEST_MISTAKES, JUDGED, KEPT, UNJUDGED, Pocket
from perceptrons.engine.rows import Rows, Sparse


class Owning:
    """Unpickled, the object has arrays of its own."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: own(value) for name, value in state.items()})


def own(value: Any) -> Any:
    """Arrays that can be written, whether alone, in a dict or in a tuple; all else as it is."""
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return np.array(value, order="K")
    if isinstance(value, dict):
        return {key: own(item) for key, item in value.items()} if type(value) is dict else value
    if isinstance(value, tuple):
        items = [own(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


MATRICES = ("w", "late_w", "pocket_w", "start_w", "sigma_w", "paid_w")
VECTORS = ("b", "late_b", "pocket_b", "start_b", "sigma_b")
LATE = 8  # bytes of a float64, in which averages are kept
NEW_CLOCK = np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]])  # nothing seen, no mass, scale 1, nothing demanded
FIRST_CLOCK = np.array([[1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]])  # one example seen


NO_PAYMENTS = np.empty((0, 0))


class Weights(Owning):
    """Arrays by name; how many rows there are is the scheme's to say, see schemes.py.

    Always there: `w`, `b` (the last weights up to their scale, and biases), `late_w`, `late_b`, `clock`, `t` (their
    average, see passes/average.py). With a pocket also `pocket_w`, `pocket_b`, `tally`; for voting `start_w`,
    `start_b`; for AROW `sigma_w`, `sigma_b`; with an L1 penalty `paid_w` (passes/penalty.py); after learning from new
    examples since a fit `record` (passes/following.py). Matrices are (rows, columns) with as many spare columns as
    growing by new features wants; `n_features` are in use. There is one clock, or where rows are problems apart, one a
    row.
    """

    def __init__(
        self,
        w: np.ndarray,
        b: np.ndarray,
        *,
        one: float,
        pocket: bool = False,
        start: bool = False,
        sigma: bool = False,
    ):
        self.n_features = w.shape[1]
        self.one = one  # the square of the constant feature whose weight gives the bias; 0: there is none
        self.order = ""  # of the matrices in memory, "C" or "F", once they were arranged
        self.arrays: dict[str, np.ndarray] = {
            "w": w,
            "b": b,
            "late_w": np.zeros(w.shape, order="C" if w.flags.c_contiguous else "F"),
            "late_b": np.zeros(len(b)),
            "clock": NEW_CLOCK.copy(),
            "t": np.zeros(1),
        }
        if pocket:
            self.arrays |= {"pocket_w": w.copy(order="K"), "pocket_b": b.copy(), "tally": np.array([0, 0, np.inf, 0.0])}
        if start:
            self.arrays |= {"start_w": w.copy(order="K"), "start_b": b.copy()}
        if sigma:
            self.arrays |= {"sigma_w": np.ones_like(w), "sigma_b": np.ones_like(b)}

    @property
    def dtype(self) -> np.dtype:
        return self.arrays["w"].dtype

    @property
    def n_rows(self) -> int:
        return len(self.arrays["b"])

    @property
    def has_pocket(self) -> bool:
        return "tally" in self.arrays

    @property
    def t(self) -> float:
        """Examples seen, by weight."""
        return float(self.arrays["t"][0])

    @property
    def has_sigma(self) -> bool:
        return "sigma_w" in self.arrays

    @property
    def unscaled(self) -> bool:
        """Did no L2 penalty ever scale the weights?"""
        clock = self.arrays["clock"]
        return bool((clock[:, SCALE] == 1).all() and (clock[:, MASS] == clock[:, SEEN]).all())

    @property
    def recent(self) -> bool | None:
        """Is the average that is kept the recent one? None: nothing was seen, and it may become either."""
        clock = self.arrays["clock"]
        return bool((clock[:, GAIN] > 1).any()) if clock[:, SEEN].any() else None

    def linear(self) -> Linear:
        """Return the arrays that a pass changes."""
        a, d = self.arrays, self.n_features
        sigma = (a["sigma_w"][:, :d], a["sigma_b"]) if self.has_sigma else (a["w"][:, :0], a["b"][:0])
        paid = a["paid_w"][:, :d] if "paid_w" in a else NO_PAYMENTS
        return Linear(
            a["w"][:, :d], a["b"], a["late_w"][:, :d], a["late_b"], a["clock"], a["t"], *sigma, self.one, paid
        )

    def keep_payments(self) -> None:
        """Make room for what an L1 penalty takes from each weight."""
        if "paid_w" not in self.arrays:
            self.arrays["paid_w"] = np.zeros_like(self.arrays["late_w"])

    @property
    def record(self) -> np.ndarray | None:
        """How the averaged and the last weights compare on examples since a fit; None: nothing was compared."""
        return self.arrays.get("record")

    @property
    def last_leads(self) -> bool:
        """True if the last weights made clearly fewer mistakes than the averaged ones on the latest new examples."""
        record = self.record
        return record is not None and bool(record[LEAD] > np.sqrt(record[DIFFERENT]))

    def start_record(self) -> np.ndarray:
        """Compare the averaged with the last weights from now on, or continue to."""
        if "record" not in self.arrays:
            self.arrays["record"] = np.zeros(RECORD)
        return self.arrays["record"]

    def drop_record(self) -> None:
        """Stop comparing: the averaged weights predict."""
        self.arrays.pop("record", None)

    def count_all_alike(self) -> None:
        """Let the average count as all examples seen again, if it had come to count as fewer; it stays what it is."""
        clock = self.arrays["clock"]
        with np.errstate(invalid="ignore"):
            part = np.where(clock[:, TOTAL] > 0, clock[:, SEEN] / clock[:, TOTAL], 1.0)
        if (part != 1).any():
            self.arrays["late_w"] *= part[:, None]
            self.arrays["late_b"] *= part
            clock[:, MASS] *= part
            clock[:, TOTAL] = clock[:, SEEN]
            clock[:, OFFSET] = np.where(clock[:, ANCHOR] > 0, clock[:, MASS] + clock[:, ANCHOR] * clock[:, SCALE], 0)

    def pocket(self, examples: np.ndarray) -> Pocket | None:
        """The pocket, judged on the given examples; None for a model that keeps none."""
        a = self.arrays
        if not self.has_pocket:
            return None
        return Pocket(a["pocket_w"][:, : self.n_features], a["pocket_b"], a["tally"], examples)

    def last(self, columns: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Return the last weights, of the given columns."""
        w, b = self.arrays["w"][:, : self.n_features][:, columns], self.arrays["b"]
        scale = self.arrays["clock"][:, SCALE].astype(self.dtype)
        return (w, b) if (scale == 1).all() else (w * scale[:, None], b)

    def set_last(self, w: np.ndarray | None, b: np.ndarray | None) -> None:
        """Set the last weights, biases or both; the average of the examples seen stays what it is."""
        clock = self.arrays["clock"]
        if w is not None:
            now, lazy_sum = self.arrays["w"][:, : self.n_features], self.arrays["late_w"][:, : self.n_features]
            stored = (w / clock[:, SCALE, None]).astype(self.dtype)
            lazy_sum += clock[:, MASS, None] * (stored - now.astype(np.float64))
            now[:] = stored
        if b is not None:
            stored = b.astype(self.dtype)
            self.arrays["late_b"] += clock[:, TOTAL] * (stored - self.arrays["b"].astype(np.float64))
            self.arrays["b"][:] = stored

    def pocketed(self) -> tuple[np.ndarray, np.ndarray]:
        return self.arrays["pocket_w"][:, : self.n_features], self.arrays["pocket_b"]

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        return self.arrays["start_w"][:, : self.n_features], self.arrays["start_b"]

    def norm(self) -> float:
        """Return the norm of the last weights, without the bias. Callers ignore overflow, since errstate costs time."""
        w, scale = self.arrays["w"][:, : self.n_features], self.arrays["clock"][:, SCALE]
        w = w if (scale == 1).all() else w * scale[:, None]
        norm = float(np.linalg.norm(w))
        if not math.isinf(norm) or math.isinf(top := float(np.abs(w).max())):
            return norm
        return top * float(np.linalg.norm(w / w.dtype.type(top)))  # the squares overflow, but not the norm

    def average(self, columns: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of the weights after every example seen, of the given columns, in the dtype of the weights.

        All examples count alike, or the recent ones more: whichever mean the model keeps.
        """
        w, b, late_w, late_b, clock, *_ = self.linear()
        if not clock[:, TOTAL].all():
            clock = np.where(clock[:, TOTAL, None] > 0, clock, FIRST_CLOCK)  # nothing seen: the mean is the start
        mass, total = clock[:, MASS] / clock[:, TOTAL], clock[:, TOTAL]
        if len(clock) == 1:
            mass, total = mass[0], total[0]  # numbers are faster to compute with
            mean_w = mass * w[:, columns] - late_w[:, columns] / total
        else:
            mean_w = mass[:, None] * w[:, columns] - late_w[:, columns] / total[:, None]
        return mean_w.astype(self.dtype, copy=False), (b - late_b / total).astype(self.dtype, copy=False)

    def scores(self, values: np.ndarray, columns: np.ndarray, average: bool, limit: float = math.inf) -> np.ndarray:
        """The scores of a row by the averaged or the last weights; the first is NaN if a value is beyond the limit."""
        a = self.arrays
        b, clock = a["b"], a["clock"]
        if len(clock) > 1:
            w, b = self.average(columns) if average else self.last(columns)
            return w @ values + b
        s = np.empty(b.shape, b.dtype)
        score_row(values, columns, limit, average, a["w"], b, a["late_w"], a["late_b"], clock, s)
        return s

    def own_clocks(self) -> None:
        """Change from one clock to one for every row."""
        if len(self.arrays["clock"]) == 1:
            self.arrays["clock"] = np.tile(self.arrays["clock"], (self.n_rows, 1))

    def arrange(self, rows: Rows, by_row: bool) -> None:
        """Bring the matrices into the memory order that the verbs want for these rows.  by_row: row after row."""
        order = "F" if isinstance(rows, Sparse) and not by_row else "C"
        if order == self.order:
            return
        self.order = order
        for name in self._present(MATRICES):
            matrix = self.arrays[name]
            if order == "C":
                matrix = matrix[:, : self.n_features]
            self.arrays[name] = np.asarray(matrix, order=order)  # type: ignore[call-overload]

    def widen(self, n_features: int, new_columns: np.ndarray) -> None:
        """Add features; new_columns are their first weights. The average takes them as having been so all along."""
        self.order = ""
        old = self.n_features
        room = self.arrays["w"].shape[1]
        if n_features > room:
            room = max(n_features, 2 * room, 16)
        for name in self._present(MATRICES):
            matrix = self.arrays[name]
            if matrix.shape[1] < room or not matrix.flags.f_contiguous:
                grown = np.zeros((self.n_rows, room), matrix.dtype, order="F")
                grown[:, :old] = matrix[:, :old]
                self.arrays[name] = matrix = grown
            matrix[:, old:n_features] = self._fresh(name, new_columns, self.arrays["clock"])
        self.n_features = n_features

    def _fresh(self, name: str, new: np.ndarray, clock: np.ndarray) -> Any:
        """Return what is new in an array for first weights `new`, as if the mean had them all along."""
        if name.startswith("sigma"):
            return 1
        if name in ("late_b", "paid_w"):
            return 0
        if name == "late_w":
            return clock[:, MASS, None] * (new / clock[:, SCALE, None]) - clock[:, TOTAL, None] * new + 0.0  # never -0
        return new / clock[:, SCALE, None] if name == "w" else new

    def negate(self) -> None:
        """Swap the two classes of a binary model. A difference from 0, unlike a negative, is never -0."""
        for name in self._present(MATRICES + VECTORS):
            if not name.startswith("sigma"):
                np.subtract(0.0, self.arrays[name], out=self.arrays[name])

    def split(self) -> None:
        """Change from the binary form to one row per class, (-w, w), which learn exactly as w does."""
        self.order = ""
        for name in self._present(MATRICES + VECTORS):
            array = self.arrays[name]
            self.arrays[name] = np.concatenate([array if name.startswith("sigma") else 0.0 - array, array])

    def insert_rows(
        self, places: np.ndarray, n_rows: int, new_w: np.ndarray, new_b: np.ndarray, new_clock: np.ndarray
    ) -> None:
        """Move row i to places[i] among n_rows rows; the others are new, starting from new_w and new_b."""
        self.order = ""
        fresh = np.setdiff1d(np.arange(n_rows), places)
        for name in self._present(MATRICES + VECTORS):
            array = self.arrays[name]
            grown = np.zeros((n_rows, *array.shape[1:]), array.dtype, order="F" if array.ndim == 2 else None)
            grown[places] = array
            if name in MATRICES:
                grown[fresh, : self.n_features] = self._fresh(name, new_w, new_clock)
            else:
                grown[fresh] = self._fresh(name, new_b, new_clock)
            self.arrays[name] = grown

    def grow_features(self, n_features: int, init: str, seed: int) -> None:
        """Make room for features behind those known."""
        shape = (self.n_rows, n_features - self.n_features)
        columns, _ = first_weights(shape, self.dtype, init, seed, self.one > 0, behind=(0, self.n_features))
        self.widen(n_features, columns)

    def grow_rows(self, places: np.ndarray, n_rows: int, init: str, seed: int, *, anew: bool) -> None:
        """Move row i to places[i] among n_rows rows. With `anew`, the others start to count now, each by its clock."""
        if anew:
            self.own_clocks()
        clock = self.arrays["clock"]
        new_clock = NEW_CLOCK if anew else clock[clock[:, SEEN].argmax()][None]
        fresh = n_rows - len(places)
        w, b = first_weights((fresh, self.n_features), self.dtype, init, seed, self.one > 0, behind=(len(places), 0))
        self.insert_rows(places, n_rows, w, b, new_clock)
        if anew or len(clock) > 1:
            self.arrays["clock"] = np.tile(new_clock, (n_rows, 1))
            self.arrays["clock"][places] = clock

    def forget_judgement(self) -> None:
        """Forget what the pocket scored on other examples."""
        if self.has_pocket:
            tally = self.arrays["tally"]
            tally[BEST_MISTAKES] = np.inf
            tally[JUDGED] = KEPT if tally[JUDGED] == KEPT else UNJUDGED

    def snapshot(self) -> dict[str, Any]:
        return {name: array.copy(order="K") for name, array in self.arrays.items()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.arrays = {name: array.copy(order="K") for name, array in snapshot.items()}

    @property
    def weight_size(self) -> int:
        """The bytes that one weight takes, with its average and whatever else is kept of it."""
        return sum(self.arrays[name].itemsize for name in self._present(MATRICES))

    def _present(self, names: tuple[str, ...]) -> list[str]:
        return [name for name in names if name in self.arrays]


class SettlingAverage:
    """Follows the averaged weights from epoch to epoch, while they stay where they are in memory."""

    def __init__(self, weights: Weights):
        w, b, late_w, late_b, clock, *_ = weights.linear()
        if len(clock) == 1:
            parts = [(clock[0], w.ravel("K"), late_w.ravel("K")), (clock[0], b, late_b)]
        else:
            parts = [(clock[k], w[k], late_w[k]) for k in range(len(b))]
            parts += [(clock[k], b[k : k + 1], late_b[k : k + 1]) for k in range(len(b))]
        self._parts = [(*part, np.zeros(part[1].size)) for part in parts]
        self._weights = len(parts) // 2  # parts; the others are biases, each its weight times the constant feature
        self._one = weights.one or 1.0
        self.change()

    @property
    def means(self) -> np.ndarray:
        """The average as it was at the last call, as one array; another run can be told of it."""
        return np.concatenate([mean for *_, mean in self._parts])

    @means.setter
    def means(self, means: np.ndarray) -> None:
        ends = np.cumsum([len(mean) for *_, mean in self._parts])
        if means.shape != (ends[-1],) or not np.isfinite(means).all():
            raise ValueError("The averaged weights of the last epoch do not match the model.")
        for (*_, mean), part in zip(self._parts, np.split(means, ends[:-1]), strict=True):
            mean[:] = part

    def change(self) -> float:
        """Return by how much the average changed since the last call, relative to its norm."""
        change = norm = 0.0
        for number, (clock, now, lazy_sum, mean) in enumerate(self._parts):
            if clock[TOTAL] > 0:
                mass = clock[MASS] if number < self._weights else clock[TOTAL]
                moved, length = move_average(now, lazy_sum, mass, clock[TOTAL], mean)
                unit = 1.0 if number < self._weights else self._one
                change, norm = change + moved / unit, norm + length / unit
        return math.sqrt(change / norm) if norm else math.inf


def first_weights(
    shape: tuple[int, int],
    dtype: Any,
    init: str,
    seed: int,
    intercept: bool,
    behind: tuple[int, int] = (0, 0),
    order: Literal["C", "F"] = "C",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the start: zeros, ones, or random numbers (standard normal) by seed, shape and place behind others."""
    w, b = np.zeros(shape, dtype, order), np.zeros(shape[0], dtype)
    if init == "ones":
        w[:] = 1
        b[:] = 1
    elif init == "random":
        rng = np.random.default_rng([seed, *shape, *behind])
        w[:] = rng.standard_normal(shape)
        b[:] = rng.standard_normal(shape[0])
    if not intercept:
        b[:] = 0
    return w, b


def untouched(learner: Any) -> np.ndarray:
    """For every feature of a linear model: are all its weights what they were at the start?

    The average remembers updates that the last weights took back, so both are asked; updates that cancel in both, which
    takes an accident of times and values, cannot be told from none. A weight that the user gave to
    start from (`coef_init`) is not known here, and its feature counts as reached; so does one whose random start was
    drawn after the model had started to train, or that an L2 penalty has moved.
    """
    weights = learner.weights
    w, _, lazy_sum, *_ = weights.linear()
    if learner.votes is not None:
        start = weights.start()[0]
    elif learner.init == "zeros":
        start = np.zeros(1, w.dtype)
    else:
        start, _ = first_weights(w.shape, w.dtype, learner.init, learner.seed, weights.one > 0)
    reached = ((w != start) | (lazy_sum != 0)).any(axis=0)
    if weights.has_sigma:  # AROW: certainty of a weight never comes back
        reached |= (weights.arrays["sigma_w"][:, : weights.n_features] != 1).any(axis=0)
    return ~reached
