"""A `Perceptron` on shards: labelled rows of arrays, of Dask collections, or of files that the workers read."""

import copy
import uuid
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.data import stream
from perceptrons.data.source import FilePart, can_be_shared
from perceptrons.distributed.clients import Workers
from perceptrons.distributed.mixing import AnyWeights, CommonWeights, PassNumber
from perceptrons.distributed.shards import (
    PreparedModel,
    Shards,
    aligned,
    are_files,
    assign_examples,
    find_files_of_worker,
    is_collection,
    number_of_shards,
    partitions,
    read_partitions,
    refuse_options,
)
from perceptrons.engine.passes.steps import Examples
from perceptrons.engine.streaming.blocks import blocks_of
from perceptrons.engine.streaming.cache import ArrayFile, Cache
from perceptrons.engine.training.base import learner_of, seed_of
from perceptrons.engine.training.epochs import Counts, hold_out, visiting_order
from perceptrons.engine.training.inputs import as_rows, check_matrix, once_each
from perceptrons.engine.training.labels import (
    Target,
    balanced_weights,
    check_named,
    check_weights,
    in_order,
    merge,
    read_classes,
    read_target,
)
from perceptrons.engine.training.learner import LinearFit, LinearLearner
from perceptrons.engine.training.matrices import widened
from perceptrons.engine.training.parameters import Method, check_choices, check_unchanged, method_of, penalty_of
from perceptrons.engine.training.units import Moments, moments
from perceptrons.engine.training.weights import Weights
from perceptrons.features import Columns
from perceptrons.linear import Perceptron

ONE_EXAMPLE_PER_LINE = ("svmlight", "libsvm", "vw", "text", "jsonl")  # formats whose files can be divided anywhere
MAX_SHARDS = 10**6
MAX_COMPLAINTS = 10  # messages about skipped records that are passed on
FILES_PART_BYTES = 2**26  # the size that Dask is told, large enough for it not to move the part without need
NO_TARGET = Target("single", np.empty(0, np.int64), np.empty(0, np.int32))


# ---- on the workers


class RowFacts(NamedTuple):
    """The facts about a part that must be known before training."""

    n: int
    n_features: int
    classes: np.ndarray
    by_class: np.ndarray  # number of examples per class, by weight
    form: str  # of the labels
    dtype: np.dtype
    is_sparse: bool
    names: list[str] | None = None
    fingerprint: Any = None  # of files: tells whether they have changed
    recipe: dict[str, Any] | None = None  # of files: how they were read
    columns: Columns | None = None  # of files: the names of their features
    n_skipped: int = 0
    complaints: tuple[str, ...] = ()
    has_weights: bool = False
    moments: Moments = Moments()  # of all examples, or of the first block of files

    @classmethod
    def of(cls, X: Any, target: Target, weight: np.ndarray | None, names: list[str] | None = None) -> "RowFacts":
        weight = None if weight is None else np.asarray(weight, np.float64)
        by_class = np.bincount(target.codes, weights=weight, minlength=len(target.classes)).astype(np.float64)
        return cls(
            X.shape[0], X.shape[1], target.classes, by_class, target.form, X.dtype, sp.issparse(X), names,
            has_weights=weight is not None, moments=moments(as_rows(X), weight),
        )  # fmt: skip

    def plus(self, other: "RowFacts") -> "RowFacts":
        """Return the facts about both parts together."""
        if not self.n or not other.n:
            return self if self.n else other
        if (self.form == "single") != (other.form == "single") or self.names != other.names:
            what = "have other column names" if self.names != other.names else "have labels in another form"
            raise ValueError(f"Some partitions {what} than others: give all partitions the same form.")
        classes = merge(self.classes, other.classes)
        by_class = np.zeros(len(classes))
        for facts in (self, other):
            np.add.at(by_class, np.searchsorted(classes, facts.classes), facts.by_class)
        return self._replace(
            n=self.n + other.n,
            n_features=max(self.n_features, other.n_features),
            classes=classes,
            by_class=by_class,
            dtype=np.result_type(self.dtype, other.dtype),
            is_sparse=self.is_sparse or other.is_sparse,
            n_skipped=self.n_skipped + other.n_skipped,
            complaints=self.complaints + other.complaints,
            has_weights=self.has_weights or other.has_weights,
            moments=self.moments.plus(other.moments),
        )


class LinearSetup(NamedTuple):
    """The settings of training that all parts share. learner: without weights."""

    learner: LinearLearner
    n_features: int
    dtype: np.dtype
    method: Method
    class_weight: Any
    fraction: float  # of the examples that is held out; 0: none
    shuffle: bool

    def fit(self, weights: AnyWeights, split: "SplitBlock") -> LinearFit:
        learner = copy.copy(self.learner)
        learner.weights = weights  # type: ignore[assignment]
        return LinearFit(learner, split.examples, self.method, "last", split.train, split.held_out)

    def split(self, X: Any, target: Target, weight: Any, place: tuple[int, ...]) -> "SplitBlock":
        """Return a block ready to learn from. place: the numbers of its shard, and of the block in it."""
        target = target.among(self.learner.classes)
        weights, by_label = target.weights(weight, self.class_weight, stream=True)
        rows = as_rows(widened(X, self.n_features).astype(self.dtype, copy=False))
        rows = type(rows)(*map(aligned, rows))
        rows = rows if self.method.step == "constant" else once_each(rows)
        examples = self.learner.examples(rows, target, weights, by_label)
        if not self.fraction:
            return SplitBlock(examples, None, None)
        try:
            return SplitBlock(
                examples, *hold_out(target.codes, examples.weight, self.fraction, self.learner.seed, *place)
            )
        except ValueError:  # the block is too small; other blocks hold examples out
            return SplitBlock(examples, None, np.empty(0, np.intp))


class SplitBlock(NamedTuple):
    """A block of examples, and which of them are for training and which are held out; None: all, and none."""

    examples: Examples
    train: np.ndarray | None
    held_out: np.ndarray | None

    @property
    def n_train(self) -> int:
        return len(self.examples.y) if self.train is None else len(self.train)

    @property
    def weight_held_out(self) -> float:
        """Return the number of held-out examples, by weight."""
        assert self.held_out is not None
        weight = self.examples.weight
        return float(len(self.held_out) if weight is None else weight[self.held_out].sum())


class LinearPart:
    """Labelled rows of a shard on a worker, in one or several blocks, ready to learn from."""

    setup: LinearSetup
    n: int  # examples
    n_blocks: int
    has_weight = True  # False: all examples have the weight 0

    def blocks(self, order: np.ndarray | None = None) -> Iterator[SplitBlock]:
        """Return the blocks with these numbers, in this order; by default all of them."""
        raise NotImplementedError

    @property
    def n_train(self) -> int:
        """Return the number of examples to learn from; the others are held out."""
        if not self.setup.fraction or not self.has_weight:
            return self.n
        return sum(block.n_train for block in self.blocks())

    def visits(self, weights: AnyWeights, rng: np.random.Generator, number: PassNumber) -> Iterator[Counts]:
        """Learn from all examples once, as `fit_stream` does. This changes the weights and `rng`.

        The first pass of a run takes the blocks in their order; later passes take them in a random one.
        """
        if not self.has_weight:
            yield Counts(self.n)
            return
        n, shuffle = self.n_blocks, self.setup.shuffle
        order = np.arange(n) if number.is_first or not shuffle or n == 1 else rng.permutation(n)
        for block in self.blocks(order):
            fit = self.setup.fit(weights, block)
            fit.begin_epoch(number.epoch)
            yield from fit.visit(visiting_order(block.n_train, block.train, shuffle, rng))

    def accuracy(self, common: CommonWeights) -> tuple[float, float]:
        """Return the accuracy of weights on the held-out examples, and how many there are, by weight."""
        weights = common.to_weights()
        scores = [
            (self.setup.fit(weights, block).accuracy(), block.weight_held_out)
            for block in self.blocks()
            if block.held_out is not None and len(block.held_out)
        ]
        total = sum(n for _, n in scores)
        if len(scores) == 1:
            return scores[0]
        return (sum(accuracy * n for accuracy, n in scores) / total if total else 0.0), total

    def has_mistakes(self, common: CommonWeights) -> bool:
        """Return whether weights predict one of the training examples wrongly."""
        weights = common.to_weights()
        return any(self.setup.fit(weights, block).has_mistakes() for block in self.blocks())


class RawRows(NamedTuple):
    """A block of labelled rows, checked. place: the numbers of its shard, and of the block in it."""

    X: Any
    target: Target
    weight: np.ndarray | None
    names: list[str] | None
    place: tuple[int, int]

    def facts(self) -> RowFacts:
        return RowFacts.of(self.X, self.target, self.weight, self.names)

    def ready(self, setup: LinearSetup, _: Any) -> "RowsPart":
        return RowsPart(self, setup)


def raw_rows(X: Any, y: Any, weight: Any, estimator: Perceptron, place: tuple[int, int]) -> RawRows:
    """Return a partition of a collection, checked. Errors name the partition."""
    estimator = Perceptron(**estimator.get_params())
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    n = X.shape[0]
    try:
        if not n:
            names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
            return RawRows(sp.csr_matrix((0, X.shape[1])), NO_TARGET, None, names, place)
        X = check_matrix(estimator, X, reset=True, growth=estimator._growth())
        target = read_target(y, n)
        if weight is not None and np.any(weight):
            target.weights(weight, None, stream=True)  # raises an error for invalid weights
    except (ValueError, TypeError) as error:
        raise type(error)(f"{error} (Rows are counted within partition {place[1]} of shard {place[0]}.)") from error
    return RawRows(X, target, weight, _feature_names(estimator), place)


def _feature_names(estimator: Perceptron) -> list[str] | None:
    return list(estimator.feature_names_in_) if hasattr(estimator, "feature_names_in_") else None


class RowsPart(LinearPart):
    """A block of rows in memory."""

    n_blocks = 1

    def __init__(self, raw: RawRows, setup: LinearSetup):
        self.setup, self.n = setup, raw.X.shape[0]
        self.has_weight = self.n > 0 and (raw.weight is None or bool(np.any(raw.weight)))
        self._block = setup.split(raw.X, raw.target, raw.weight, raw.place) if self.has_weight else None

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays, by which Dask decides what to move and what to spill."""
        if self._block is None:
            return 0
        examples = self._block.examples
        return sum(a.nbytes for a in (*examples.rows, examples.y, examples.weight) if a is not None)

    def blocks(self, order: np.ndarray | None = None) -> Iterator[SplitBlock]:
        return iter(() if self._block is None else (self._block,))


class FilesPart(LinearPart):
    """Files that the worker reads itself into a cache on its own disk, block by block.

    Sent to another worker, it is only the names and how to read them: a worker without the cache reads the files again.
    """

    def __init__(self, files: list[str], reading: dict[str, Any], shard: int, token: str, share: FilePart | None):
        self.files, self.reading, self.shard, self.token, self.share = files, reading, shard, token, share
        self.mapping: np.ndarray | None = None  # from the numbers of the named features here to the common ones
        self._cache: Cache | None = None
        self._facts, self.n_blocks = self._read()
        self.n = self._facts.n

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cache": None}

    def __sizeof__(self) -> int:
        return FILES_PART_BYTES

    def facts(self) -> RowFacts:
        return self._facts

    def ready(self, setup: LinearSetup, mapping: np.ndarray | None) -> "FilesPart":
        part = copy.copy(self)
        part.setup, part.mapping = setup, mapping
        part._facts = self._facts._replace(columns=None)
        return part

    def blocks(self, order: np.ndarray | None = None) -> Iterator[SplitBlock]:
        order = np.arange(self.n_blocks) if order is None else order
        for block, number in zip(self._open().reading(order), order.tolist(), strict=True):
            X = block.X if self.mapping is None else move_columns(block.X, self.mapping, self.setup.n_features)
            yield self.setup.split(X, block.target, block.weight, (self.shard, number))

    def _read(self) -> tuple[RowFacts, int]:
        """Read the files into the cache. Return the facts about them, and the number of blocks."""
        from distributed import get_worker

        reader = stream(*self.files, **self.reading)
        reader.file_part = self.share
        self.path = Path(get_worker().local_directory) / f"perceptrons-{self.token}-{self.shard}.cache"
        cache = Cache(ArrayFile.create(self.path))
        facts = RowFacts.of(sp.csr_matrix((0, 0)), NO_TARGET, None)
        try:
            for block in cache.writing(blocks_of(reader, "")):
                more = RowFacts.of(block.X, block.target, block.weight)
                facts = facts.plus(more)._replace(moments=facts.moments if facts.n else more.moments)
            cache.keep(self.token, *reader.learned_state())
        finally:
            cache.file.close()
        facts = facts._replace(
            fingerprint=reader.fingerprint()[0], recipe=reader.recipe(), columns=reader.columns,
            n_skipped=reader.skipped, complaints=tuple(reader.complaints),
        )  # fmt: skip
        return facts, cache.n_blocks

    def _open(self) -> Cache:
        if self._cache is None:
            reopened = Cache.reopen(self.path, self.token)
            if reopened is None:
                facts, _ = self._read()
                if (facts.fingerprint, facts.n) != (self._facts.fingerprint, self._facts.n):
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


def move_columns(X: Any, places: np.ndarray, n_features: int) -> Any:
    """Return X with its columns moved to other places, in a matrix with `n_features` columns."""
    if sp.issparse(X):
        return sp.csr_matrix((X.data, places[X.indices], X.indptr), shape=(X.shape[0], n_features))
    wider = np.zeros((X.shape[0], n_features), X.dtype)
    wider[:, places[: X.shape[1]]] = X
    return wider


# ---- shards


def make_shards(
    client: Any, estimator: Perceptron, X: Any, y: Any, weight: Any, shards: int | None, reading: dict[str, Any]
) -> Shards:
    """Return the data as shards. X: as in `fit`."""
    if are_files(X):
        if y is not None or weight is not None:
            raise ValueError("X names files, which contain labels and weights: leave y and sample_weight out.")
        return _shards_of_files(client, X, shards, reading)
    refuse_options(reading)
    if is_collection(X):
        return _shards_of_collection(client, estimator, X, y, weight, shards)
    return _shards_of_arrays(client, estimator, X, y, weight, shards)


def _shards_of_arrays(client: Any, estimator: Perceptron, X: Any, y: Any, weight: Any, shards: int | None) -> Shards:
    """Assign the rows of local arrays to shards at random; each shard keeps them in their order."""
    model = Perceptron(**estimator.get_params())
    X = check_matrix(model, X, reset=True, growth=model._growth())
    target = read_target(y, X.shape[0])
    if weight is not None:
        target.weights(weight, None, stream=False)  # raises an error for invalid weights
        weight = np.broadcast_to(np.asarray(weight, np.float64), X.shape[:1])
    n_shards = number_of_shards(client, shards, X.shape[0], "one per example")
    assigned: Sequence[Any] = [slice(None)]
    if n_shards > 1:
        assigned = assign_examples(X.shape[0], n_shards, seed_of(estimator))
    names = _feature_names(model)
    raw = [
        RawRows(X[rows], target.part(rows), None if weight is None else weight[rows], names, (shard, 0))
        for shard, rows in enumerate(assigned)
    ]
    return Shards.of_local(client, raw, max(_n_bytes(rows.X) for rows in raw))


def _shards_of_collection(client: Any, estimator: Any, X: Any, y: Any, weight: Any, shards: int | None) -> Shards:
    """Make shards of consecutive partitions of a dask array or dataframe, which stay where they are."""
    if y is None:
        raise ValueError("y=None: labels are required, as a dask array or series with the partitions of X.")
    columns = [partitions(X, "X"), partitions(y, "y", X)]
    columns.append([None] * len(columns[0]) if weight is None else partitions(weight, "sample_weight", X))
    untrained = Perceptron(**estimator.get_params())
    return Shards(client, read_partitions(client, shards, raw_rows, columns, untrained))


def _shards_of_files(client: Any, files: Any, shards: int | None, reading: dict[str, Any]) -> Shards:
    """Let the workers read files: each shard some of them, or a part of each file if there are fewer files."""
    inspected = Workers(client).gather(client.submit(_inspect_files, files, reading, pure=False))
    names, recipe, is_divisible, notices = inspected
    limit, reason = MAX_SHARDS, "on any cluster"
    if not is_divisible:
        limit, reason = len(names), "one per file, because these files cannot be divided"
    n_shards, token = number_of_shards(client, shards, limit, reason), uuid.uuid4().hex
    parts = []
    for shard in range(n_shards):
        group, share = names[shard::n_shards], None
        if n_shards > len(names):
            group, share = names, FilePart(shard, n_shards)
        parts.append([client.submit(FilesPart, group, recipe, shard, token, share, pure=False)])
    return Shards(client, parts, on_disk=True, notices=notices)


def _inspect_files(files: Any, reading: dict[str, Any]) -> tuple[list[str], dict[str, Any], bool, list[str]]:
    """Return the file names, how to read all of them, whether they can be divided, and notices for the user.

    The first block decides what the options leave open.
    """
    names = find_files_of_worker(files)
    reader = stream(*names, **reading)
    for block in reader:
        labels = {} if block.classes is None else {"text_labels": block.classes.dtype.kind in "UO"}
        recipe = {**reading, **reader.recipe(), **labels, "many_classes": True}  # their number was checked here
        has_one_per_line = reader.format in ONE_EXAMPLE_PER_LINE and reader.encoding is None
        is_divisible = has_one_per_line and all(can_be_shared(path) for path in reader.files)
        return names, {name: value for name, value in recipe.items() if value is not None}, is_divisible, reader.notices
    raise ValueError(f"{', '.join(names)}: there are no examples in it.")


def reopen_shards(client: Any, model: Perceptron, X: Any, y: Any, reading: dict[str, Any]) -> Shards:
    """Return the data that a model was fitted on, ready to be read again."""
    learner = learner_of(model)
    data = make_shards(client, model, X, y, None, len(model.history_[0]["shards"]["updates"]), reading)
    with data.forgotten_on_error():
        by_shard = data.facts()
        facts = reduce(RowFacts.plus, [part for shard in by_shard for part in shard])
        columns, mappings = _merge_columns([shard[0] for shard in by_shard], getattr(model, "columns_", None))
        width = facts.n_features if columns is None else columns.n_columns
        is_known = np.isin(facts.classes, learner.classes).all() and width <= learner.n_features
        if not is_known or (facts.fingerprint is None and width != learner.n_features):
            raise ValueError("These are not the data that the model was fitted on: the classes or features differ.")
        method = method_of(model, learner.spread, learner.classes, stream=False)
        setup = LinearSetup(_without_weights(learner), learner.n_features, learner.dtype, method, None, 0.0, False)
        data.prepare(setup, mappings)
    return data


# ---- the model


def check_parameters(estimator: Perceptron) -> None:
    """Raise ValueError for parameters that cannot be combined with mixing."""
    check_choices(estimator)
    if estimator.combine in ("vote", "pocket"):
        raise ValueError(
            f"combine={estimator.combine!r} cannot be trained on a cluster: its weight vectors belong to one "
            "sequence of examples. "
            "Use combine='average' or 'last'."
        )
    if estimator.combine == "recent":
        raise ValueError(
            "combine='recent' cannot be trained on a cluster: shards are trained at the same time, so there are no "
            "most recent examples. Use combine='average' or 'last'."
        )
    if penalty_of(estimator)[1] > 0:
        raise ValueError(
            f"penalty={estimator.penalty!r} cannot be trained on a cluster: the mean of the sparse weights of several "
            "shards is not sparse. Use penalty='l2'."
        )
    if estimator.probability is not None:
        raise ValueError(
            f"probability={estimator.probability!r} cannot be combined with a cluster, where every shard holds out "
            "its own examples: use probability=None, then perceptrons.selection.calibrate(model, X, y) with examples "
            "that no shard was trained on."
        )
    if estimator.step == "arow":
        raise ValueError(
            "step='arow' cannot be trained on a cluster: its variances belong to one sequence of examples. Use 'pa1'."
        )


def prepare(
    client: Any, estimator: Perceptron, X: Any, y: Any, shards: int | None, *, is_warm: bool, sample_weight: Any,
    classes: Any, lengths: Any, reading: dict[str, Any],
) -> tuple[Shards, PreparedModel]:  # fmt: skip
    """Return the shards of the data, and the model that is ready to be trained on them."""
    if lengths is not None:
        raise ValueError("lengths is for sequences, and a Perceptron does not have any: leave it out.")
    data = make_shards(client, estimator, X, y, sample_weight, shards, reading)
    with data.forgotten_on_error():
        return data, _prepare_model(estimator, data.facts(), classes, is_warm, data.notices)


def _prepare_model(
    estimator: Perceptron, by_shard: list[list[RowFacts]], classes: Any, is_warm: bool, notices: Sequence[str]
) -> PreparedModel:
    """Create the model, or make room in it, for everything that the parts contain."""
    parts = [part for shard in by_shard for part in shard]
    facts, are_from_files = reduce(RowFacts.plus, parts), parts[0].fingerprint is not None
    widths = sorted({part.n_features for part in parts})
    if not are_from_files and len(widths) > 1:
        raise ValueError(f"Partitions have different numbers of features, {widths[0]} and {widths[-1]}.")
    known, is_multilabel = _classes(facts, classes), facts.form != "single"
    columns, mappings = _merge_columns([shard[0] for shard in by_shard])
    if is_warm:
        _check_names(estimator, facts, columns)
    d = facts.n_features if columns is None else columns.n_columns
    indicator = np.zeros((0, len(known)), bool) if is_multilabel else None
    target = in_order(Target(facts.form, known, np.empty(0, np.int32), indicator), estimator.classes)
    if is_warm:
        check_unchanged(estimator, target)
        target = target.among(merge(learner_of(estimator).classes, known))
    dtype = learner_of(estimator).dtype if is_warm else facts.dtype
    class_weight = _class_weights(estimator, facts, is_multilabel)
    rows = as_rows(sp.csr_matrix((0, d), dtype=dtype) if facts.is_sparse else np.empty((0, d), dtype))
    if not is_warm:
        estimator._begin(target, rows, d, facts.moments.units())
    learner = learner_of(estimator)
    learner.weights.drop_record()
    learner.weights.count_all_alike()  # models are averaged by the examples that they have seen
    method = method_of(estimator, learner.spread, target.classes, stream=False)
    if is_warm and are_from_files:
        d = max(d, learner.n_features)
    elif is_warm and d != learner.n_features:
        raise ValueError(f"X has {d} features, but the model has {learner.n_features}.")
    learner.meet_classes(target.classes)
    learner.meet_features(d)
    estimator.n_features_in_ = d
    if facts.names is not None:
        estimator.feature_names_in_ = facts.names
    by_label = np.ones((len(known), 2)) if is_multilabel and class_weight is not None else None
    examples = learner.examples(rows, target, None, by_label)
    if are_from_files:
        estimator.source_, estimator.columns_ = parts[0].recipe, columns
    fraction = float(estimator.validation_fraction) if estimator.early_stopping else 0.0
    setup = LinearSetup(
        _without_weights(learner), d, np.dtype(dtype), method, class_weight, fraction, bool(estimator.shuffle)
    )
    fingerprint = [
        [[part.n, part.n_features, [part.classes.tolist(), part.by_class.tolist()], part.fingerprint] for part in shard]
        for shard in by_shard
    ]
    messages: dict[str, Any] = {"notices": list(notices)} if notices else {}
    if facts.n_skipped:
        messages = {"skipped": facts.n_skipped, "complaints": facts.complaints[:MAX_COMPLAINTS]} | messages
    return PreparedModel(
        setup=setup,
        mappings=mappings,
        fit=LinearFit(learner, examples._replace(by_label=None), method, estimator.combine, None, None),
        fingerprint=fingerprint,
        messages=messages,
        has_weights=facts.has_weights,
    )


def _classes(facts: RowFacts, given: Any) -> np.ndarray:
    """Return all classes. Raise ValueError if there are too few. given: the classes that the user gave, or None."""
    known = facts.classes
    if not facts.n:
        raise ValueError("There are no examples in the data.")
    if given is not None:
        classes = read_classes(given)
        check_named(known, classes)
        known = merge(known, classes)
    if facts.form != "single":
        return known
    if not facts.by_class.any():
        raise ValueError("All sample weights are zero: there is nothing to learn from.")
    if len(known) < 2:
        raise ValueError(f"y has only one class, {known.tolist()[0]!r}: a classifier needs at least two.")
    return known


def _without_weights(learner: LinearLearner) -> LinearLearner:
    """Return a learner with the same classes, scheme and rows, on which examples depend, but without features."""
    n = learner.weights.n_rows
    none = Weights(np.zeros((n, 0), learner.dtype), np.zeros(n, learner.dtype), one=learner.weights.one)
    return LinearLearner(none, None, learner.classes, learner.scheme, learner.form, learner.init, learner.seed)


def _class_weights(estimator: Perceptron, facts: RowFacts, is_multilabel: bool) -> Any:
    """Return class_weight; "balanced" is computed over all shards."""
    if estimator.class_weight != "balanced":
        if estimator.class_weight is not None and not is_multilabel:  # raises an error for unknown classes
            check_weights(None, estimator.class_weight, facts.classes, np.arange(len(facts.classes)), stream=False)
        return estimator.class_weight
    if is_multilabel:
        raise ValueError(
            "class_weight='balanced' cannot be combined with several labels per example here: give the "
            "weights as a dict."
        )
    return dict(zip(facts.classes.tolist(), balanced_weights(facts.by_class).tolist(), strict=True))


def _merge_columns(shards: list[RowFacts], known: Columns | None = None) -> tuple[Columns | None, Sequence[Any]]:
    """Return the known columns with those of all shards added, and for each shard where its columns are.

    A shard whose columns keep their numbers has None. Without names, there are no columns and no places.
    """
    if shards[0].columns is None:
        return None, ()
    columns, mappings = copy.deepcopy(shards[0].columns if known is None else known), []
    columns.frozen = False
    for k, shard in enumerate(shards):
        numbers = np.arange(columns.n_names)
        if known is not None or k > 0:
            assert shard.columns is not None
            numbers = columns.add(shard.columns)
        keeps_numbers = columns.bits is not None or np.array_equal(numbers, np.arange(len(numbers)))
        mappings.append(None if keeps_numbers else numbers)
    return columns, mappings


def _check_names(estimator: Perceptron, facts: RowFacts, columns: Columns | None) -> None:
    """Raise ValueError if a model that resumes training would confuse its features with others."""
    known = _feature_names(estimator)
    if facts.names != known and facts.fingerprint is None:
        raise ValueError(
            f"The feature names should match those that were passed during fit, {known}, but they are now "
            f"{facts.names}."
        )
    learned = getattr(estimator, "columns_", None)
    if learned is not None and columns is not None and learned.bits is None:
        names = learned.names()
        if columns.names()[: len(names)] != names:
            raise ValueError(
                "The features of the files differ from those of the model: read the files with like=model."
            )


def _n_bytes(X: Any) -> int:
    return int(X.nbytes) if isinstance(X, np.ndarray) else sum(a.nbytes for a in (X.data, X.indices, X.indptr))
