"""The weights of a linear model while it learns: they grow by classes and features, are averaged, kept, restored."""

import math
from typing import Any, Literal

import numpy as np

from perceptrons.engine.passes.average import STATE, LinearModel, move_average
from perceptrons.engine.passes.following import RECORD
from perceptrons.engine.passes.one_example import score_row
from perceptrons.engine.passes.pocket import KEPT, TALLY, UNJUDGED, Pocket
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


MATRICES = ("w", "lazy_sum_w", "pocket_w", "start_w", "sigma_w", "paid_w")
VECTORS = ("b", "lazy_sum_b", "pocket_b", "start_b", "sigma_b")
LATE = 8  # bytes of a float64, in which averages are kept
NEW_STATE = np.array([(0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)], STATE)  # nothing seen, no mass, scale 1


NO_PAYMENTS = np.empty((0, 0))
NO_SIGMA = {name: (np.empty((0, 0), name), np.empty(0, name)) for name in ("f4", "f8")}


class Weights(Owning):
    """Arrays by name; how many rows there are is the scheme's to say, see schemes.py.

    Always there: `w`, `b` (the last weights up to their scale, and biases), `lazy_sum_w`, `lazy_sum_b`, `state`, `t`
    (their average, see passes/average.py). With a pocket also `pocket_w`, `pocket_b`, `tally`; for voting `start_w`,
    `start_b`; for AROW `sigma_w`, `sigma_b`; with an L1 penalty `paid_w` (passes/l1_penalty.py); after learning from
    new examples since a fit `record` (passes/following.py). Matrices are (rows, columns) with as many spare columns as
    growing by new features wants; `n_features` are in use. There is one state, or one per row, where rows are problems
    with different examples.
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
            "lazy_sum_w": np.zeros(w.shape, order="C" if w.flags.c_contiguous else "F"),
            "lazy_sum_b": np.zeros(len(b)),
            "state": NEW_STATE.copy(),
            "t": np.zeros(1),
        }
        if pocket:
            tally = np.array([(0.0, 0.0, np.inf, UNJUDGED)], TALLY)
            self.arrays |= {"pocket_w": w.copy(order="K"), "pocket_b": b.copy(), "tally": tally}
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
        state = self.arrays["state"]
        return bool((state["scale"] == 1).all() and (state["mass"] == state["n_seen"]).all())

    @property
    def recent(self) -> bool | None:
        """Is the average that is kept the recent one? None: nothing was seen, and it may become either."""
        state = self.arrays["state"]
        return bool((state["gain"] > 1).any()) if state["n_seen"].any() else None

    def linear(self) -> LinearModel:
        """Return the arrays that a pass changes."""
        a, d = self.arrays, self.n_features
        sigma = (a["sigma_w"][:, :d], a["sigma_b"]) if self.has_sigma else NO_SIGMA[a["w"].dtype.str[1:]]
        paid = a["paid_w"][:, :d] if "paid_w" in a else NO_PAYMENTS
        return LinearModel(
            a["w"][:, :d], a["b"], a["lazy_sum_w"][:, :d], a["lazy_sum_b"], a["state"], a["t"], *sigma, self.one, paid
        )

    def keep_payments(self) -> None:
        """Make room for what an L1 penalty takes from each weight."""
        if "paid_w" not in self.arrays:
            self.arrays["paid_w"] = np.zeros_like(self.arrays["lazy_sum_w"])

    @property
    def record(self) -> np.ndarray | None:
        """How the averaged and the last weights compare on examples since a fit; None: nothing was compared."""
        return self.arrays.get("record")

    @property
    def last_leads(self) -> bool:
        """True if the last weights made clearly fewer mistakes than the averaged ones on the latest new examples."""
        if self.record is None:
            return False
        lead, n_different = self.record.item()
        return bool(lead > math.sqrt(n_different))

    def start_record(self) -> np.ndarray:
        """Compare the averaged with the last weights from now on, or continue to."""
        if "record" not in self.arrays:
            self.arrays["record"] = np.zeros(1, RECORD)
        return self.arrays["record"]

    def drop_record(self) -> None:
        """Stop comparing: the averaged weights predict."""
        self.arrays.pop("record", None)

    def count_all_alike(self) -> None:
        """Let the average count as all examples seen again, if it had come to count as fewer; it stays what it is."""
        state = self.arrays["state"]
        with np.errstate(invalid="ignore"):
            part = np.where(state["total"] > 0, state["n_seen"] / state["total"], 1.0)
        if (part != 1).any():
            self.arrays["lazy_sum_w"] *= part[:, None]
            self.arrays["lazy_sum_b"] *= part
            state["mass"] *= part
            state["total"] = state["n_seen"]
            state["offset"] = np.where(state["anchor"] > 0, state["mass"] + state["anchor"] * state["scale"], 0)

    def pocket(self, examples: np.ndarray) -> Pocket | None:
        """The pocket, judged on the given examples; None for a model that keeps none."""
        a = self.arrays
        if not self.has_pocket:
            return None
        return Pocket(a["pocket_w"][:, : self.n_features], a["pocket_b"], a["tally"], examples)

    def last(self, columns: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Return the last weights, of the given columns."""
        w, b = self.arrays["w"][:, : self.n_features][:, columns], self.arrays["b"]
        scale = self.arrays["state"]["scale"].astype(self.dtype)
        return (w, b) if (scale == 1).all() else (w * scale[:, None], b)

    def set_last(self, w: np.ndarray | None, b: np.ndarray | None) -> None:
        """Set the last weights, biases or both; the average of the examples seen stays what it is."""
        state = self.arrays["state"]
        if w is not None:
            now, lazy_sum = self.arrays["w"][:, : self.n_features], self.arrays["lazy_sum_w"][:, : self.n_features]
            stored = (w / state["scale"][:, None]).astype(self.dtype)
            lazy_sum += state["mass"][:, None] * (stored - now.astype(np.float64))
            now[:] = stored
        if b is not None:
            stored = b.astype(self.dtype)
            self.arrays["lazy_sum_b"] += state["total"] * (stored - self.arrays["b"].astype(np.float64))
            self.arrays["b"][:] = stored

    def pocketed(self) -> tuple[np.ndarray, np.ndarray]:
        return self.arrays["pocket_w"][:, : self.n_features], self.arrays["pocket_b"]

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        return self.arrays["start_w"][:, : self.n_features], self.arrays["start_b"]

    def norm(self) -> float:
        """Return the norm of the last weights, without the bias. Callers ignore overflow, since errstate costs time."""
        w, scale = self.arrays["w"][:, : self.n_features], self.arrays["state"]["scale"]
        w = w if (scale == 1).all() else w * scale[:, None]
        norm = float(np.linalg.norm(w))
        if not math.isinf(norm) or math.isinf(top := float(np.abs(w).max())):
            return norm
        return top * float(np.linalg.norm(w / w.dtype.type(top)))  # the squares overflow, but not the norm

    def average(self, columns: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of the weights after every example seen, of the given columns, in the dtype of the weights.

        All examples count alike, or the recent ones more: whichever mean the model keeps.
        """
        w, b, lazy_sum_w, lazy_sum_b, state, *_ = self.linear()
        mass, total = state["mass"], state["total"]
        if not total.all():  # nothing seen: the mean is the start
            mass, total = np.where(total > 0, mass, 1.0), np.where(total > 0, total, 1.0)
        mass = mass / total
        if len(state) == 1:
            mass, total = mass[0], total[0]  # numbers are faster to compute with
            mean_w = mass * w[:, columns] - lazy_sum_w[:, columns] / total
        else:
            mean_w = mass[:, None] * w[:, columns] - lazy_sum_w[:, columns] / total[:, None]
        return mean_w.astype(self.dtype, copy=False), (b - lazy_sum_b / total).astype(self.dtype, copy=False)

    def scores(self, values: np.ndarray, columns: np.ndarray, average: bool, limit: float = math.inf) -> np.ndarray:
        """The scores of a row by the averaged or the last weights; the first is NaN if a value is beyond the limit."""
        a = self.arrays
        b, state = a["b"], a["state"]
        if len(state) > 1:
            w, b = self.average(columns) if average else self.last(columns)
            return w @ values + b
        s = np.empty(b.shape, b.dtype)
        score_row(values, columns, limit, average, a["w"], b, a["lazy_sum_w"], a["lazy_sum_b"], state, s)
        return s

    def separate_states(self) -> None:
        """Change from one state of the average to one for every row."""
        if len(self.arrays["state"]) == 1:
            self.arrays["state"] = np.tile(self.arrays["state"], self.n_rows)

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
            matrix[:, old:n_features] = self._fresh(name, new_columns, self.arrays["state"])
        self.n_features = n_features

    def _fresh(self, name: str, new: np.ndarray, state: np.ndarray) -> Any:
        """Return what is new in an array for first weights `new`, as if the mean had them all along."""
        if name.startswith("sigma"):
            return 1
        if name in ("lazy_sum_b", "paid_w"):
            return 0
        if name == "lazy_sum_w":
            mass, scale, total = (state[field][:, None] for field in ("mass", "scale", "total"))
            return mass * (new / scale) - total * new + 0.0  # never -0
        return new / state["scale"][:, None] if name == "w" else new

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
        self, places: np.ndarray, n_rows: int, new_w: np.ndarray, new_b: np.ndarray, new_state: np.ndarray
    ) -> None:
        """Move row i to places[i] among n_rows rows; the others are new, starting from new_w and new_b."""
        self.order = ""
        fresh = np.setdiff1d(np.arange(n_rows), places)
        for name in self._present(MATRICES + VECTORS):
            array = self.arrays[name]
            grown = np.zeros((n_rows, *array.shape[1:]), array.dtype, order="F" if array.ndim == 2 else None)
            grown[places] = array
            if name in MATRICES:
                grown[fresh, : self.n_features] = self._fresh(name, new_w, new_state)
            else:
                grown[fresh] = self._fresh(name, new_b, new_state)
            self.arrays[name] = grown

    def grow_features(self, n_features: int, init: str, seed: int) -> None:
        """Make room for features behind those known."""
        shape = (self.n_rows, n_features - self.n_features)
        columns, _ = first_weights(shape, self.dtype, init, seed, self.one > 0, behind=(0, self.n_features))
        self.widen(n_features, columns)

    def grow_rows(self, places: np.ndarray, n_rows: int, init: str, seed: int, *, anew: bool) -> None:
        """Move row i to places[i] among n_rows rows. With `anew`, the others start to count now, each by its state."""
        if anew:
            self.separate_states()
        state = self.arrays["state"]
        oldest = int(state["n_seen"].argmax())
        new_state = NEW_STATE if anew else state[oldest : oldest + 1]
        fresh = n_rows - len(places)
        w, b = first_weights((fresh, self.n_features), self.dtype, init, seed, self.one > 0, behind=(len(places), 0))
        self.insert_rows(places, n_rows, w, b, new_state)
        if anew or len(state) > 1:
            self.arrays["state"] = np.tile(new_state, n_rows)
            self.arrays["state"][places] = state

    def forget_judgement(self) -> None:
        """Forget what the pocket scored on other examples."""
        if self.has_pocket:
            tally = self.arrays["tally"]
            tally["best_mistakes"] = np.inf
            tally["verdict"] = KEPT if tally["verdict"] == KEPT else UNJUDGED

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
        w, b, lazy_sum_w, lazy_sum_b, state, *_ = weights.linear()
        if len(state) == 1:
            parts = [(0, w.ravel("K"), lazy_sum_w.ravel("K")), (0, b, lazy_sum_b)]
        else:
            parts = [(k, w[k], lazy_sum_w[k]) for k in range(len(b))]
            parts += [(k, b[k : k + 1], lazy_sum_b[k : k + 1]) for k in range(len(b))]
        self._state = state
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
        masses, totals = self._state["mass"], self._state["total"]
        for number, (k, now, lazy_sum, mean) in enumerate(self._parts):
            total = totals[k]
            if total > 0:
                mass = masses[k] if number < self._weights else total
                moved, length = move_average(now, lazy_sum, mass, total, mean)
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
