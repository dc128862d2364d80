"""Blocks of examples on their way to the learner: from any reader, and from the cache that later epochs read."""

from collections import deque
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.training.arrayfile import ArrayFile, ArrayFileError, sound
from perceptrons.training.inputs import Growth, check_sound
from perceptrons.training.labels import check_labels
from perceptrons.training.structure import sound_csr
from perceptrons.training.targets import FORMS, Target, read_target
from perceptrons.training.threads import DEPTH, ahead


class Block(NamedTuple):
    """Examples with their labels and weights, as the learner takes them."""

    X: Any
    target: Target
    weight: np.ndarray | None
    checked: bool = False  # is X known to be sound?

    def part(self, rows: np.ndarray) -> "Block":
        """Only these rows."""
        return Block(
            self.X[rows], self.target.part(rows), None if self.weight is None else self.weight[rows], self.checked
        )


def blocks_of(source: Iterable[Any], form: str) -> Generator[Block, None, None]:
    """Blocks of a reader of `perceptrons.data`, or of any iterable of (X, y) or (X, y, weight).

    form: that of the labels that the model knows, "" if it knows none.
    """
    for item in source:
        if hasattr(item, "codes"):
            if item.codes is None:
                raise ValueError(f"{item.path}: there are no labels to learn from.")
            yield Block(item.X, _numbered(item.codes, item.classes), item.weight)
        elif isinstance(item, tuple) and len(item) in (2, 3):
            X = item[0] if hasattr(item[0], "shape") else np.asarray(item[0])
            if len(X.shape) != 2:
                raise ValueError(f"X of a block has the shape {tuple(X.shape)}: it needs rows and columns.")
            if not X.shape[0]:
                continue
            target = read_target(item[1], X.shape[0], form)
            form = form or target.form
            yield Block(X, target, item[2] if len(item) == 3 else None)
        else:
            raise TypeError(f"A stream is made of (X, y) or (X, y, weight), not of {type(item).__name__}.")


def widened(X: Any, n_features: int) -> Any:
    """A block that came before others had more columns, as wide as they are."""
    missing = n_features - X.shape[1]
    if missing <= 0:
        return X
    if sp.issparse(X):
        return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features), copy=False)
    return np.pad(np.asarray(X), ((0, 0), (0, missing)))


def _numbered(codes: np.ndarray, classes: np.ndarray) -> Target:
    """Numbers of labels in the order of their coming, some of which may be equal or never used, as a target."""
    if len(classes) == 2 and classes[0] != classes[1] and 0 < np.count_nonzero(codes) < len(codes):
        high = int(classes[1] < classes[0])
        return Target("single", classes[::-1] if high else classes, codes ^ high if high else codes)
    used = np.flatnonzero(np.bincount(codes, minlength=len(classes)))
    known, places = np.unique(classes[used], return_inverse=True)
    new = np.zeros(len(classes), np.int32)
    new[used] = places
    return Target("single", known, new[codes])


class Cache:
    """Blocks in an ArrayFile: read once as text, then as often as there are epochs."""

    def __init__(self, file: ArrayFile, n_blocks: int = 0):
        self.file, self.n_blocks = file, n_blocks
        self.widths = range(2**63)  # that blocks may have
        self._textual: bool | None = None  # are labels strings?
        self._sound: set[int] = set()

    @classmethod
    def reopen(cls, path: Path, about: Any) -> tuple["Cache", dict[str, Any], dict[str, np.ndarray]] | None:
        """A kept cache of just these files read in just this way, with what its reader had learned; None if it is not.

        A file that is no cache at all is an error: it is not ours to replace. One without blocks is of no use.
        """
        if not path.exists():
            return None
        file, notes = ArrayFile.open(path)
        if notes.get("about") != about or len(file) < 2:
            file.close()
            return None
        try:
            with sound(file.name):
                return cls(file, len(file) - 1), dict(notes["learned"]), file.read(len(file) - 1)
        except ArrayFileError:
            file.close()
            raise

    def writing(self, blocks: Iterable[Block]) -> Generator[Block, None, None]:
        """The same blocks, each written down before it is passed on."""
        for block in blocks:
            self.append(block)
            yield block

    def append(self, block: Block) -> None:
        """Write a block down."""
        self.file.append(*_record(block))
        self.n_blocks += 1

    def reading(self, order: np.ndarray) -> Generator[Block, None, None]:
        """The blocks in this order, each mapped and checked while the last one is learned."""
        return ahead(self._mapped(order))

    def _mapped(self, order: np.ndarray) -> Generator[Block, None, None]:
        used: deque[Block] = deque(maxlen=DEPTH + 3)  # so that memory is given back by this thread, not by the learner
        for number in order.tolist():
            used.append(self._read(number))
            yield used[-1]

    def _read(self, number: int) -> Block:
        """A block. A kept file may be anybody's: the first time, what it says is checked."""
        with sound(self.file.name):
            block = _block(self.file.read(number), self.file.facts(number))
            if number not in self._sound:
                _check(block)
                self._check_alike(block)
                self._sound.add(number)
            return block

    def _check_alike(self, block: Block) -> None:
        """Raise ValueError for a block that is not of one stream with the others."""
        textual = block.target.classes.dtype.kind == "U"
        if block.X.shape[1] not in self.widths or textual is not (textual if self._textual is None else self._textual):
            raise ValueError("expected rows as wide as the reader knows, with labels that are all strings or numbers")
        self._textual = textual

    def keep(self, about: Any, learned: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """All blocks are written. about: what they were read from, and how."""
        self.file.append(arrays)
        self.file.keep({"about": about, "learned": learned})


def _record(block: Block) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A block as small arrays: numbers that are all 1 are left out, float64 that are float32 take half the room."""
    X, target = block.X, block.target
    classes = target.classes if target.classes.dtype.kind != "O" else np.array(target.classes.tolist(), dtype=str)
    arrays = {"classes": classes, "codes": target.codes}
    facts: dict[str, Any] = {"form": target.form, "shape": list(X.shape), "dtype": X.dtype.str}
    if target.indicator is not None:
        arrays["indicator"] = target.indicator
    if block.weight is not None:
        arrays["weight"] = np.asarray(block.weight, np.float64)
    if sp.issparse(X):
        X = sound_csr(X)
        arrays |= {"columns": X.indices, "starts": X.indptr}
        values = X.data
        if values.size and values.dtype.kind == "f" and (values == 1).all():
            return arrays, facts
    else:
        values = np.asarray(X)
    if values.dtype == np.float64:
        with np.errstate(over="ignore"):
            small = values.astype(np.float32)
        if np.array_equal(small, values):
            values = small
    return arrays | {"values": values}, facts


def _block(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> Block:
    target = Target(facts["form"], arrays["classes"], arrays["codes"], arrays.get("indicator"))
    dtype, weight = np.dtype(facts["dtype"]), arrays.get("weight")
    if "columns" not in arrays:
        return Block(arrays["values"].astype(dtype, copy=False), target, weight, checked=True)
    columns = arrays["columns"]
    values = arrays["values"].astype(dtype, copy=False) if "values" in arrays else np.ones(len(columns), dtype)
    X = sp.csr_matrix((values, columns, arrays["starts"]), shape=tuple(facts["shape"]), copy=False)
    return Block(X, target, weight, checked=True)


def _check(block: Block) -> None:
    """Raise ValueError for a block that would lead the learner astray."""
    X, target, weight = block.X, block.target, block.weight
    n, k = X.shape[0], len(target.classes)
    fit = X.ndim == 2 and X.dtype in (np.float32, np.float64) and target.codes.shape == (n,) and k > 0
    fit = fit and target.codes.dtype == np.int32 and target.codes.min(initial=0) >= 0
    fit = fit and target.codes.max(initial=0) < k and target.form in FORMS
    fit = fit and (target.indicator is None or (target.indicator.shape, target.indicator.dtype) == ((n, k), bool))
    fit = fit and (weight is None or (weight.shape == (n,) and weight.dtype == np.float64))
    if not fit:
        raise ValueError("expected labels that go with its rows")
    check_labels(target.classes)
    check_sound(X, Growth())
