"""A `SequencePerceptron` on shards: sequences of this machine, of a dask bag, or of files that the workers read."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perceptrons.distributed.clients import Workers, gathered, scattered
from perceptrons.distributed.linear_shards import Begun
from perceptrons.distributed.mixing import AnyWeights, Turn
from perceptrons.distributed.shards import (
    Shards,
    are_files,
    check_room,
    computed,
    dealt,
    found_files,
    how_many,
    is_collection,
    refuse_options,
)
from perceptrons.distributed.worker_data import aligned
from perceptrons.engine.passes.chain import ChainRule, Limits
from perceptrons.engine.rows import Sparse
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.epochs import Counts, hold_out, visiting_order
from perceptrons.engine.training.labels import Target, check_named, merge, read_classes
from perceptrons.sequence import SequencePerceptron
from perceptrons.sequence.allowed import check_allowed
from perceptrons.sequence.chain_weights import ChainWeights
from perceptrons.sequence.choices import check_choices
from perceptrons.sequence.learner import ChainFit, ChainLearner, Validation, check_metric, limits, rule_of
from perceptrons.sequence.token_features import features_for, read_tokens
from perceptrons.sequence.tokens import Tokens, ones, read_labels, tokens_of

check = check_choices


class ChainCommon(NamedTuple):
    """What all parts have to know of each other, and how to learn. learner: without weights and features."""

    learner: ChainLearner
    bounds: Limits
    rule: ChainRule
    fraction: float
    shuffle: bool
    metric: str  # what held-out sequences are scored by


class Sentences(NamedTuple):
    """Sequences as the features read them, not yet numbered, and their labels. where: numbers of shard and block."""

    read: Any
    target: Target
    where: tuple[int, int]
    about: Any = None

    def facts(self) -> "ChainFacts":
        return ChainFacts(len(self.read.starts) - 1, self.target.classes, self.read.dtype, self.about)

    def ready(self, common: ChainCommon, features: Any) -> "ChainPart":
        tokens = features.tokens(self.read, common.learner.dtype, learn=False)
        return ChainPart(tokens, self.target.among(common.learner.classes).codes, self.where, common)


class Numbered(NamedTuple):
    """Sequences of this machine, numbered here. values: of the features; None: all are 1."""

    values: np.ndarray | None
    columns: np.ndarray
    ends: np.ndarray  # the features of token t are ends[t]:ends[t + 1]
    starts: np.ndarray
    codes: np.ndarray
    where: tuple[int, int]

    def ready(self, common: ChainCommon, _: Any) -> "ChainPart":
        values = ones(len(self.columns), common.learner.dtype) if self.values is None else aligned(self.values)
        rows = Sparse(values, aligned(self.columns), aligned(self.ends))
        return ChainPart(Tokens(rows, aligned(self.starts)), aligned(self.codes), self.where, common)


def numbered(tokens: Tokens, codes: np.ndarray, which: np.ndarray | None, where: tuple[int, int]) -> Numbered:
    """Some of the sequences; None: all of them."""
    plain = tokens.rows.values.strides == (0,)
    if which is not None:
        tokens, codes = tokens.sequences(which), codes[tokens_of(tokens.starts, which)[0]]
    (values, columns, ends), starts = tokens
    return Numbered(None if plain else values, columns, ends, starts, codes, where)


class ChainFacts(NamedTuple):
    n: int
    classes: np.ndarray
    dtype: Any
    about: Any


class ChainPart:
    """Sequences in memory, ready to be passed over."""

    def __init__(self, tokens: Tokens, codes: np.ndarray, where: tuple[int, int], common: ChainCommon):
        self.tokens, self.codes, self.common = tokens, codes, common
        self.n = len(tokens.starts) - 1
        self.train: np.ndarray | None = None
        self.held_out: np.ndarray | None = None
        if common.fraction:
            self.held_out = np.empty(0, np.intp)
            if self.n > 1:  # of a lone one nothing can be held out; others will do
                zeros = np.zeros(self.n, np.intp)
                self.train, self.held_out = hold_out(zeros, None, common.fraction, common.learner.seed, *where)

    def __sizeof__(self) -> int:
        """For Dask, which moves what is small, and spills what is large."""
        rows = self.tokens.rows
        return rows.columns.nbytes + rows.starts.nbytes + self.codes.nbytes

    @property
    def n_train(self) -> int:
        return self.n if self.train is None else len(self.train)

    def visits(self, weights: AnyWeights, rng: np.random.Generator, turn: Turn) -> Iterator[Counts]:
        """Learn from the sequences once, in a fresh order.  Changes weights."""
        order = visiting_order(self.n_train, self.train, self.common.shuffle, rng)
        yield from self._fit(weights).visit(order)

    def accuracy(self, weights: AnyWeights) -> tuple[float, ...]:
        """The share of the held-out tokens that these weights label right, and how many there are; if phrases count,
        also how many are there, were found, and are right."""
        assert self.held_out is not None
        if not len(self.held_out):
            return 0.0, 0.0
        share, phrases = self._fit(weights).judged()
        n = float(np.diff(self.tokens.starts)[self.held_out].sum())
        return (share, n) if phrases is None else (share, n, phrases.n_true, phrases.n_found, phrases.n_right)

    def _fit(self, weights: AnyWeights) -> ChainFit:
        learner = copy.copy(self.common.learner)
        learner.weights = weights  # type: ignore[assignment]
        held_out = None
        if self.held_out is not None:
            metric = self.common.metric
            held_out = Validation.of(self.tokens, self.codes, self.held_out, learner.classes, metric)
        return ChainFit(learner, self.tokens, self.codes, self.common.bounds, self.common.rule, "last", held_out)


def begun(
    client: Any, estimator: SequencePerceptron, X: Any, y: Any, shards: int | None, *, warm: bool, sample_weight: Any,
    classes: Any, lengths: Any, reading: dict[str, Any],
) -> tuple[Shards, Begun]:  # fmt: skip
    """Return the shards of the data, and the model that is ready to be trained on them."""
    if sample_weight is not None:
        raise ValueError("sample_weight: sequences do not have weights: leave it out.")
    named = None if classes is None else read_classes(classes)
    if are_files(X) or is_collection(X):
        if y is not None or lengths is not None:
            raise ValueError(
                "X already contains the labels, as pairs (tokens, labels) or as a column: leave y and lengths out."
            )
        return _of_workers(client, estimator, X, shards, warm, named, reading)
    refuse_options(reading)
    return _of_here(client, estimator, X, y, lengths, shards, warm, named)


def _of_here(
    client: Any, estimator: Any, X: Any, y: Any, lengths: Any, shards: int | None, warm: bool, named: Any
) -> tuple[Shards, Begun]:
    """Sequences of this machine get the numbers of their features here, and are dealt to the shards at random."""
    features = learner_of(estimator).features if warm else features_for(estimator, X)
    read = read_tokens(estimator, features, X, lengths, reset=not warm)
    target = read_labels(y, read.starts, by_sequence=features.kind != "matrix")
    common = _begin(estimator, features, target.classes, named, read.dtype, warm)
    target = target.among(learner_of(estimator).classes)
    check_allowed(common.bounds.barrier, target.codes, read.starts, target.classes, estimator.allowed)
    tokens = learner_of(estimator).meet(read, learner_of(estimator).classes, anew=True)
    estimator.n_features_in_ = learner_of(estimator).n_features
    n, parts = len(tokens.starts) - 1, []
    which = dealt(n, how_many(client, shards, n, "one per sequence"), learner_of(estimator).seed)
    for number, chosen in enumerate(which):
        parts.append(numbered(tokens, target.codes, chosen if len(which) > 1 else None, (number, 0)))
    check_room(client, max(part.columns.nbytes + part.ends.nbytes for part in parts))
    about = [n, len(target.codes), target.classes.tolist()]
    workers = Workers(client)
    data = Shards(client, [[scattered(workers, part)] for part in parts], parts)
    return data, _with_model(estimator, common, about)


def _of_workers(
    client: Any, estimator: Any, X: Any, shards: int | None, warm: bool, named: Any, reading: dict[str, Any]
) -> tuple[Shards, Begun]:
    """Sequences that workers have: they number the features one shard after another, unless these are hashed."""
    features = learner_of(estimator).features if warm else features_for(estimator, [])
    plain = SequencePerceptron(**estimator.get_params(deep=False))
    if are_files(X):
        names = gathered(Workers(client), client.submit(found_files, X, pure=False))
        number = how_many(client, shards, len(names), "one per file")
        groups = [names[i::number] for i in range(number)]
        parts = [
            [client.submit(_from_files, group, reading, plain, features, (i, 0), pure=False)]
            for i, group in enumerate(groups)
        ]
    else:
        from dask import delayed

        refuse_options(reading)

        blocks = X.to_delayed(optimize_graph=False)
        number = how_many(client, shards, len(blocks), "one per partition")
        make = delayed(_from_pairs, pure=False)
        asked = [
            [make(blocks[b], plain, features, (i, place)) for place, b in enumerate(group.tolist())]
            for i, group in enumerate(np.array_split(np.arange(len(blocks)), number))
        ]
        parts = computed(client, asked)
    data = Shards(client, parts)
    facts = data.facts()
    every = [part for shard in facts for part in shard]
    found = every[0].classes[:0]
    for part in every:
        found = merge(found, part.classes) if len(found) else part.classes
    common = _begin(estimator, features, found, named, np.result_type(*(part.dtype for part in every)), warm)
    learner = learner_of(estimator)
    features.forget_waiting()
    known: Any = features
    if estimator.hash_bits is None:
        for future in [future for shard in data.raw for future in shard]:
            known = client.submit(_numbering, known, future, learner.dtype, pure=False)
        learner.features = gathered(data.workers, known)
    learner.meet_features()
    estimator.n_features_in_ = learner.n_features
    about = [[[part.n, part.classes.tolist(), part.about] for part in shard] for shard in facts]
    model = _with_model(estimator, common, about)
    return data, model._replace(mappings=[known] * len(data))


def _from_files(files: list[str], reading: dict[str, Any], estimator: Any, features: Any, where: Any) -> Sentences:
    """The sentences of files of tokens in columns."""
    from perceptrons.data.conll import read_conll
    from perceptrons.data.source import identity

    options = dict(reading)
    label = options.pop("label", -1)
    names = estimator.templates.parsed()[1] if estimator.templates is not None else None
    if names is None:
        raise ValueError("Files of tokens need templates that name their columns: FeatureTemplates(columns=...).")
    sentences: list[Any] = []
    labels: list[Any] = []
    about: list[Any] = []
    for name in files:
        file = read_conll(name, **options)
        place = file.column_number(label)
        seen = list(range(len(names)))
        if len(names) >= file.n_columns or place in seen:
            raise ValueError(f"{name}: has {file.n_columns} columns, too few for {', '.join(names)} and a label.")
        sentences += file.sentences(seen[0] if len(seen) == 1 else seen)
        labels += file.sentences(place)
        about.append([name, *(identity(Path(name)) or ())])
    return _read(sentences, labels, estimator, features, where, about)


def _from_pairs(pairs: list[Any], estimator: Any, features: Any, where: tuple[int, int]) -> Sentences:
    """A partition of a bag of (tokens, labels)."""
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"The bag contains {str(pair)[:80]}: give pairs (tokens, labels).")
    return _read([tokens for tokens, _ in pairs], [labels for _, labels in pairs], estimator, features, where, None)


def _read(X: list[Any], y: list[Any], estimator: Any, features: Any, where: tuple[int, int], about: Any) -> Sentences:
    read = read_tokens(estimator, features, X, None, reset=True)
    target = read_labels(y, read.starts, by_sequence=True)
    bounds = limits(estimator, target.classes, np.float64, stream=True)
    check_allowed(bounds.barrier, target.codes, read.starts, target.classes, estimator.allowed)
    return Sentences(read, target, where, about)


def _numbering(features: Any, part: Sentences, dtype: Any) -> Any:
    """The features after those of one more part have got their numbers."""
    features = copy.deepcopy(features)
    features.tokens(part.read, dtype, learn=True)
    return features


def _begin(estimator: Any, features: Any, classes: np.ndarray, named: Any, dtype: Any, warm: bool) -> ChainCommon:
    if named is not None:
        check_named(classes, named)
        classes = merge(classes, named)
    if warm:
        estimator._check_can_go_on()
        classes = merge(learner_of(estimator).classes, classes)
    if len(classes) < 2:
        only = f"only one label, {classes.tolist()[0]!r}" if len(classes) else "no labels"
        raise ValueError(f"y has {only}: a tagger needs at least two.")
    if not warm:
        estimator._begin(features, classes, dtype)
    learner = learner_of(estimator)
    learner.meet_classes(classes)
    bounds = learner.limits(estimator, stream=False)
    bare = copy.copy(learner)
    bare.features, bare.weights = None, ChainWeights(0, len(classes), learner.dtype)
    fraction = float(estimator.validation_fraction) if estimator.early_stopping else 0.0
    if estimator.early_stopping:
        check_metric(estimator.validation_metric, classes)
    metric = estimator.validation_metric
    return ChainCommon(bare, bounds, rule_of(estimator), fraction, bool(estimator.shuffle), metric)


def _with_model(estimator: Any, common: ChainCommon, about: Any) -> Begun:
    none = Sparse(np.empty(0, common.learner.dtype), np.empty(0, np.int32), np.zeros(1, np.int64))
    empty = Tokens(none, np.zeros(1, np.int64))
    fit = ChainFit(
        learner_of(estimator), empty, np.empty(0, np.int32), common.bounds, common.rule, estimator.combine, None
    )
    return Begun(common, (), fit, bool(estimator.early_stopping), about, {}, False)
