"""Forge sparse matrices of every format and hand them to everything that takes one: nothing may crash.

    PERCEPTRONS_BOUNDSCHECK=1 python -m tools.fuzz_matrices --seconds 300 --seed 1

A finding is a crash, a case that takes more than 20 seconds, or an error that is neither ValueError nor TypeError.
Each is printed with its seed; `--seed THAT --cases 1` does it again. The exit status is 1 if there is one.
"""

import contextlib
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tools.fuzzing import SLOW, Case, Cases, FoundError, run, told

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
PARTS = {
    "csr": ("indptr", "indices", "data"), "csc": ("indptr", "indices", "data"), "bsr": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"), "dia": ("offsets", "data"), "lil": ("rows", "data"), "dok": (),
}  # fmt: skip
FAR = (-1, -2, -129, 3, 4, 7, 255, 2**15, 2**31 - 1, -(2**31), 2**32, 10**9, 2**63 - 1, -(2**63))
TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64", ">i4", ">i8", "bool", "O")
N, D = 6, 4
Y = np.array([0, 1, 0, 1, 2, 0])


def sound(rng: Any, kind: str, n: int = N) -> Any:
    """A matrix in order, of some number type."""
    X = sp.random(n, D, density=0.6, random_state=int(rng.integers(2**31)), format="csr")
    X.data = np.ceil(X.data * 5)
    X = X.astype(rng.choice(["float64", "float32", "int32", "int8", "bool"]))
    X = X.tobsr((1, 2)) if kind == "bsr" else X.asformat(kind)
    return getattr(sp, f"{kind}_array")(X) if rng.random() < 0.5 else X


def forged(rng: Any, n: int = N) -> Any:
    """A matrix of some format with one to three parts altered."""
    X = sound(rng, str(rng.choice(FORMATS)), n)
    for _ in range(rng.integers(1, 4)):
        alter(rng, X)
    return X


def alter(rng: Any, X: Any) -> None:
    if X.format == "dok":
        X._dict[(int(rng.choice(FAR[:6])), int(rng.choice(FAR)))] = 1.0
        return
    if rng.random() < 0.15:
        X._shape = tuple(int(size) for size in rng.choice([0, 1, 3, 5, 6, 7, 10**6, 2**40], 2))
        return
    name = str(rng.choice(PARTS[X.format]))
    if X.format == "lil":
        _alter_lists(rng, getattr(X, name))
        return
    part = np.array(getattr(X, name))
    change = rng.integers(6)
    if change <= 1 and part.size and part.ndim == 1:
        with np.errstate(all="ignore"):
            part = part.astype(np.int64) if part.dtype.kind in "iu" and rng.random() < 0.5 else part
            part[rng.integers(part.size)] = np.array(FAR).astype(part.dtype)[rng.integers(len(FAR))]
    elif change == 2:
        part = part[: rng.integers(len(part) + 1)]
    elif change == 3:
        part = np.concatenate([part, part[: rng.integers(len(part) + 1)]])
    elif change == 4:
        part = _of_type(part, str(rng.choice(TYPES)))
    else:
        part = part[:, None] if rng.random() < 0.5 else np.repeat(part, 2, axis=0)[::2]
    if X.format == "coo" and name != "data":
        X.coords = tuple(part if own == name else coords for own, coords in zip(("row", "col"), X.coords, strict=True))
    else:
        setattr(X, name, part)


def _of_type(part: Any, kind: str) -> Any:
    """The part in another number type; as it is where Python's integers, of type O, do not fit into that."""
    with np.errstate(all="ignore"), contextlib.suppress(OverflowError):
        return part.astype(kind)
    return part


def _alter_lists(rng: Any, lists: Any) -> None:
    row = rng.integers(len(lists))
    if lists[row] is None:
        return
    choice = rng.integers(4)
    if choice == 0:
        lists[row] = [*lists[row], int(rng.choice(FAR))]
    elif choice == 1:
        lists[row] = [int(rng.choice(FAR)) for _ in lists[row]]
    elif choice == 2:
        lists[row] = [str(rng.integers(9)), 0.5]
    else:
        lists[row] = None


class Doors:
    """Everything that takes a sparse matrix, by name: n rows, or one. folder: for files that are read."""

    def __init__(self, folder: Path) -> None:
        from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron
        from perceptrons.data import read
        from perceptrons.data.splitting import as_given
        from perceptrons.distributed.rows import raw_rows
        from perceptrons.structured.learner import read_features
        from perceptrons.theory import margins, separability
        from perceptrons.theory.duplicates import contradictions

        X, flags = sound(np.random.default_rng(0), "csr").astype(np.float64), np.eye(3, dtype=int)[Y]
        tags = [["a", "b", "a"], ["b", "a", "a"]]
        linear, kernel = Perceptron(max_iter=2).fit(X, Y), KernelPerceptron(max_iter=2).fit(X, Y)
        tagger = SequencePerceptron(max_iter=2).fit(X, tags, lengths=[3, 3])
        self.whole = {
            "fit": lambda S: Perceptron(max_iter=2).fit(S, Y).coef_,
            "fit arow": lambda S: Perceptron(max_iter=2, step="arow").fit(S, Y).coef_,
            "fit vote": lambda S: Perceptron(max_iter=2, combine="vote").fit(S, Y).predict(X),
            "fit labels": lambda S: Perceptron(max_iter=2).fit(S, flags).coef_,
            "sparse labels": lambda S: Perceptron(max_iter=2).fit(X, S).coef_,
            "partial_fit": lambda S: Perceptron().partial_fit(S, Y).partial_fit(S, Y).coef_,
            "predict": lambda S: linear.predict(S),
            "decision_function": lambda S: linear.decision_function(S),
            "fit_stream": lambda S: Perceptron().fit_stream([(S, Y), (S, Y)], epochs=1).coef_,
            "fit_stream with a cache": lambda S: Perceptron().fit_stream([(S, Y), (S, Y)], epochs=2).coef_,
            "kernel fit": lambda S: KernelPerceptron(max_iter=2).fit(S, Y).predict(X),
            "kernel partial_fit": lambda S: KernelPerceptron().partial_fit(S, Y).predict(X),
            "kernel predict": lambda S: kernel.predict(S),
            "tagger fit": lambda S: SequencePerceptron(max_iter=2).fit(S, tags, lengths=[3, 3]).predict(S, lengths=[6]),
            "tagger predict": lambda S: tagger.predict(S, lengths=[2, 4]),
            "separability": lambda S: separability(S, Y, max_seconds=SLOW / 4),
            "margins": lambda S: margins(linear, S, Y),
            "contradictions": lambda S: contradictions(S, Y),
            "recipe": lambda S: as_given(S, S),
            "partition": lambda S: raw_rows(S, Y, None, Perceptron(), (0, 0)),
            "npz": lambda S: read(_npz(S, folder), need_labels=False),
        }
        self.single = {
            "learn_one": lambda S: Perceptron().fit(X, Y).learn_one(S, 1),
            "first learn_one": lambda S: Perceptron().learn_one(S, 1).learn_one(S, 0).coef_,
            "predict_one": lambda S: linear.predict_one(S),
            "explain": lambda S: linear.explain(S),
            "kernel learn_one": lambda S: KernelPerceptron().fit(X, Y).learn_one(S, 1),
            "kernel predict_one": lambda S: kernel.predict_one(S),
            "kernel explain": lambda S: kernel.explain(S),
            "structured": lambda S: read_features(S, D),
        }


def _npz(S: Any, folder: Path) -> Path:
    file = io.BytesIO()
    if S.format not in ("lil", "dok"):  # SciPy does not save those
        sp.save_npz(file, S)
    path = folder / "a.npz"
    path.write_bytes(file.getvalue())
    return path


def attempt(call: Any, X: Any) -> bool:
    """Hand a matrix to a door: was it let in? Raises FoundError for an error that is no refusal."""
    try:
        call(X)
    except (ValueError, TypeError, MemoryError) as error:
        if "numba" in type(error).__module__:
            raise FoundError(told(error)) from error
        return False
    return True


def begin(folder: Path) -> Cases:
    doors = Doors(folder)
    names = [*doors.whole, *doors.single]

    def case(draw: np.random.Generator) -> Case:
        name = names[int(draw.integers(len(names)))]
        X = forged(draw, 1 if name in doors.single else N)
        call = doors.whole.get(name) or doors.single[name]
        return Case(f"{name}: {type(X).__name__} {X.shape}", lambda: attempt(call, X))

    return case


if __name__ == "__main__":
    sys.exit(run("tools.fuzz_matrices", __doc__, "matrices", begin))
