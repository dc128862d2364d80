"""What workers hold: the examples of a shard, or a block of them, ready to be passed over."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.data import stream
from perceptrons.data.source import Share
from perceptrons.distributed.mixing import AnyWeights, Turn
from perceptrons.engine.streaming.blocks import blocks_of
from perceptrons.engine.streaming.cache import ArrayFile, Cache
from perceptrons.engine.training.epochs import Counts, hold_out, visiting_order
from perceptrons.engine.training.inputs import as_rows, check_matrix, once_each
from perceptrons.engine.training.labels import Target, merge, read_target
from perceptrons.engine.training.learner import LinearLearner
from perceptrons.engine.training.linear_fit import LinearFit
from perceptrons.engine.training.matrices import widened
from perceptrons.engine.training.one_pass import Examples
from perceptrons.engine.training.rule import Method
from perceptrons.engine.training.units import Moments, moments
from perceptrons.linear import Perceptron

EMPTY = Target("single", np.empty(0, np.int64), np.empty(0, np.int32))


class Facts(NamedTuple):
    """What is to be known of a part before learning can begin."""

    n: int
    n_features: int
    classes: np.ndarray
    by_class: np.ndarray  # how many of each, by weight
    form: str
    dtype: Any
    sparse: bool
    names: list[str] | None = None
    about: Any = None  # of files: what tells whether they are others now
    recipe: dict[str, Any] | None = None  # of files: how they were read
    columns: Any = None  # of files: the names of their features
    skipped: int = 0
    complaints: tuple[str, ...] = ()
    weighted: bool = False  # do examples have weights?
    moments: Moments = Moments()  # of all examples, or of the first block of files


class Common(NamedTuple):
    """What all parts have to know of each other, and how to learn. learner: without weights."""

    learner: LinearLearner
    n_features: int
    dtype: Any
    method: Method
    class_weight: Any
    fraction: float  # held out; 0: none
    shuffle: bool

    def fit(self, weights: AnyWeights, examples: Examples, train: Any, held_out: Any) -> LinearFit:
        learner = copy.copy(self.learner)
        learner.weights = weights  # type: ignore[assignment]
        return LinearFit(learner, examples, self.method, "last", train, held_out)

    def examples(self, X: Any, target: Target, weight: Any) -> Examples:
        target = target.among(self.learner.classes)
        weights, by_label = target.weights(weight, self.class_weight, stream=True)
        rows = as_rows(widened(X, self.n_features).astype(self.dtype, copy=False))
        rows = type(rows)(*map(aligned, rows))
        rows = rows if self.method.step == "constant" else once_each(rows)
        return self.learner.examples(rows, target, weights, by_label)

    def split(self, examples: Examples, target: Target, where: tuple[int, ...]) -> tuple[Any, Any]:
        """Which examples to learn from, and which to score on; None: all, and none."""
        if not self.fraction:
            return None, None
        try:
            return hold_out(target.codes, examples.weight, self.fraction, self.learner.seed, *where)
        except ValueError:  # too small a block; others will do
            return None, np.empty(0, np.intp)


def aligned(array: np.ndarray) -> np.ndarray:
    """The array where compiled loops read it at full speed: what came over a wire may begin at any byte."""
    return array if array.flags.aligned else array.copy()


class Raw(NamedTuple):
    """A block of labelled rows, checked. where: number of its shard, and of the block in it."""

    X: Any
    target: Target
    weight: Any
    names: list[str] | None
    where: tuple[int, int]

    def facts(self) -> Facts:
        n, target = self.X.shape[0], self.target
        weight = None if self.weight is None else np.asarray(self.weight, np.float64)
        by_class = np.bincount(target.codes, weights=weight, minlength=len(target.classes)).astype(np.float64)
        sparse = sp.issparse(self.X)
        found = Facts(n, self.X.shape[1], target.classes, by_class, target.form, self.X.dtype, sparse, self.names)
        return found._replace(weighted=weight is not None, moments=moments(as_rows(self.X), weight))

    def ready(self, common: Common, _: Any) -> "RowsPart":
        return RowsPart(self, common)


def raw_part(X: Any, y: Any, weight: Any, estimator: Perceptron, where: tuple[int, int]) -> Raw:
    """A partition of a collection, checked; errors say which one it is."""
    estimator = Perceptron(**estimator.get_params())
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    n = X.shape[0]
    try:
        if not n:
            names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
            return Raw(sp.csr_matrix((0, X.shape[1])), EMPTY, None, names, where)
        X = check_matrix(estimator, X, reset=True, growth=estimator._growth())
        target = read_target(y, n)
        if weight is not None and np.any(weight):
            target.weights(weight, None, stream=True)  # refuses what are no weights
    except (ValueError, TypeError) as error:
        raise type(error)(f"{error} (Rows are counted within partition {where[1]} of shard {where[0]}.)") from error
    names = None if not hasattr(estimator, "_columns") else list(estimator._columns)
    return Raw(X, target, weight, names, where)


class RowsPart:
    """A block of rows in memory."""

    def __init__(self, raw: Raw, common: Common):
        self.common, self.n = common, raw.X.shape[0]
        self.counts = self.n > 0 and (raw.weight is None or bool(np.any(raw.weight)))  # does anything of it?
        if self.counts:
            target = raw.target.among(common.learner.classes)
            self.examples = common.examples(raw.X, raw.target, raw.weight)
            self.train, self.held_out = common.split(self.examples, target, raw.where)

    def __sizeof__(self) -> int:
        """For Dask, which moves what is small, and spills what is large."""
        if not self.counts:
            return 0
        return sum(a.nbytes for a in (*self.examples.rows, self.examples.y, self.examples.weight) if a is not None)

    @property
    def n_train(self) -> int:
        return self.n if not self.counts or self.train is None else len(self.train)

    def visits(self, weights: AnyWeights, rng: np.random.Generator, turn: Turn) -> Iterator[Counts]:
        """Learn from the block once, in a fresh order.  Changes weights."""
        if not self.counts:
            yield Counts(self.n, 0, 0, 0.0)
            return
        fit = self.common.fit(weights, self.examples, self.train, self.held_out)
        fit.begin_epoch(turn.epoch)
        yield from fit.visit(visiting_order(self.n_train, self.train, self.common.shuffle, rng))

    def accuracy(self, weights: AnyWeights) -> tuple[float, float]:
        """The share of the held-out examples that these weights get right, and how many there are, by weight."""
        if not self.counts:
            return 0.0, 0.0
        return measured(self.common.fit(weights, self.examples, self.train, self.held_out), self.examples)

    def contradicted(self, weights: AnyWeights) -> bool:
        """Do these weights answer an example to learn from wrongly?"""
        return self.counts and self.common.fit(weights, self.examples, self.train, self.held_out).contradicted()

    def blocks(self) -> Iterator[Examples]:
        if self.counts:
            yield self.examples


def measured(fit: LinearFit, examples: Examples) -> tuple[float, float]:
    held_out = fit.held_out
    assert held_out is not None
    if not len(held_out):
        return 0.0, 0.0
    total = float(len(held_out) if examples.weight is None else examples.weight[held_out].sum())
    return fit.accuracy(), total


class FilesPart:
    """Files that the worker reads itself; what it read lies in a cache on its own disk, block by block.

    Sent elsewhere it is only names and how to read them: whoever has no cache of them reads the files again.
    """

    def __init__(self, files: list[Any], reading: dict[str, Any], shard: int, token: str, share: Share | None):
        self.files, self.reading, self.shard, self.token, self.share = files, reading, shard, token, share
        self.common: Common | None = None
        self.mapping: np.ndarray | None = None  # of the features by name: from their number here to that everywhere
        self._cache: Cache | None = None
        self._facts = self._read()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cache": None}

    def __sizeof__(self) -> int:
        """For Dask: large enough not to be moved without need, though in memory it is not."""
        return 2**26

    def facts(self) -> Facts:
        return self._facts

    def ready(self, common: Common, mapping: np.ndarray | None) -> "FilesPart":
        part = copy.copy(self)
        part.common, part.mapping = common, mapping
        part._facts = self._facts._replace(columns=None)
        return part

    @property
    def n(self) -> int:
        return self._facts.n

    @property
    def n_train(self) -> int:
        assert self.common is not None
        if not self.common.fraction:
            return self._facts.n
        blocks = enumerate(self._examples(np.arange(self._open().n_blocks)))
        splits = [(self.common.split(*block, (self.shard, number)), len(block[0].y)) for number, block in blocks]
        return sum(n if train is None else len(train) for (train, _), n in splits)

    def visits(self, weights: AnyWeights, rng: np.random.Generator, turn: Turn) -> Iterator[Counts]:
        """Learn from all blocks once, as `fit_stream` does: in their order at first, then in a random one."""
        assert self.common is not None
        n, shuffle = self._open().n_blocks, self.common.shuffle
        order = np.arange(n) if turn.first or not shuffle else rng.permutation(n)
        for fit, _ in self._fits(weights, order):
            n = len(fit.judged_on)
            train = fit.judged_on if fit.held_out is not None and len(fit.held_out) else None
            fit.begin_epoch(turn.epoch)
            yield from fit.visit(visiting_order(n, train, shuffle, rng))

    def accuracy(self, weights: AnyWeights) -> tuple[float, float]:
        found = [measured(fit, examples) for fit, examples in self._fits(weights, np.arange(self._open().n_blocks))]
        total = sum(n for _, n in found)
        return (sum(share * n for share, n in found) / total if total else 0.0), total

    def contradicted(self, weights: AnyWeights) -> bool:
        return any(fit.contradicted() for fit, _ in self._fits(weights, np.arange(self._open().n_blocks)))

    def blocks(self) -> Iterator[Examples]:
        for examples, _ in self._examples(np.arange(self._open().n_blocks)):
            yield examples

    def _fits(self, weights: AnyWeights, order: np.ndarray) -> Iterator[tuple[LinearFit, Examples]]:
        assert self.common is not None
        for (examples, target), number in zip(self._examples(order), order.tolist(), strict=True):
            train, held_out = self.common.split(examples, target, (self.shard, number))
            yield self.common.fit(weights, examples, train, held_out), examples

    def _examples(self, order: np.ndarray) -> Iterator[tuple[Examples, Target]]:
        assert self.common is not None
        for block in self._open().reading(order):
            X = block.X if self.mapping is None else moved(block.X, self.mapping, self.common.n_features)
            target = block.target.among(self.common.learner.classes)
            yield self.common.examples(X, block.target, block.weight), target

    def _read(self) -> Facts:
        """Read the files into the cache."""
        from distributed import get_worker

        reader = stream(*self.files, **self.reading)
        reader.share = self.share
        self.path = Path(get_worker().local_directory) / f"perceptrons-{self.token}-{self.shard}.cache"
        cache = Cache(ArrayFile.create(self.path))
        found = Raw(sp.csr_matrix((0, 0)), EMPTY, None, None, (self.shard, 0)).facts()
        try:
            for block in cache.writing(blocks_of(reader, "")):
                facts = Raw(block.X, block.target, block.weight, None, (self.shard, 0)).facts()
                found = together(found, facts)._replace(moments=found.moments if found.n else facts.moments)
            cache.keep(self.token, *reader.known())
        finally:
            cache.file.close()
        return found._replace(
            about=reader.fingerprint()[0], recipe=reader.recipe(), columns=reader.columns, skipped=reader.skipped,
            complaints=tuple(reader.complaints),
        )  # fmt: skip

    def _open(self) -> Cache:
        if self._cache is None:
            reopened = Cache.reopen(self.path, self.token)
            if reopened is None:
                again = self._read()
                if (again.about, again.n) != (self._facts.about, self._facts.n):
                    raise ValueError(
                        f"{', '.join(map(str, self.files))}: the file has changed since training began: start again."
                    )
                reopened = Cache.reopen(self.path, self.token)
                assert reopened is not None
            self._cache = reopened[0]
        return self._cache

    def forget(self) -> None:
        """Remove the cache, if this worker can."""
        if self._cache is not None:
            self._cache.file.close()
        self.path.unlink(missing_ok=True)


def moved(X: Any, places: np.ndarray, n_features: int) -> Any:
    """X with its columns moved to other places, in a matrix with `n_features` columns."""
    if sp.issparse(X):
        return sp.csr_matrix((X.data, places[X.indices], X.indptr), shape=(X.shape[0], n_features))
    wider = np.zeros((X.shape[0], n_features), X.dtype)
    wider[:, places[: X.shape[1]]] = X
    return wider


def together(one: Facts, other: Facts) -> Facts:
    """The facts of two blocks as of one."""
    if not one.n or not other.n:
        return one if one.n else other
    if (one.form == "single") != (other.form == "single") or one.names != other.names:
        what = "have other column names" if one.names != other.names else "have labels in another form"
        raise ValueError(f"Some partitions {what} than others: give all partitions the same form.")
    classes = merge(one.classes, other.classes)
    by_class = np.zeros(len(classes))
    for facts in (one, other):
        np.add.at(by_class, np.searchsorted(classes, facts.classes), facts.by_class)
    return one._replace(
        n=one.n + other.n,
        n_features=max(one.n_features, other.n_features),
        classes=classes,
        by_class=by_class,
        dtype=np.result_type(one.dtype, other.dtype),
        sparse=one.sparse or other.sparse,
        skipped=one.skipped + other.skipped,
        complaints=one.complaints + other.complaints,
        weighted=one.weighted or other.weighted,
        moments=one.moments.plus(other.moments),
    )
