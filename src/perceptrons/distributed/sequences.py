"""A `SequencePerceptron` on shards: sequences of this machine, of a dask bag, or of files that the workers read."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

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
    read_partitions,
    refuse_options,
)
from perceptrons.engine.passes.chain import ChainRule
from perceptrons.engine.rows import Sparse
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.epochs import Counts, hold_out, visiting_order
from perceptrons.engine.training.labels import Target, check_named, merge, read_classes
from perceptrons.sequence import SequencePerceptron
from perceptrons.sequence.allowed import check_allowed
from perceptrons.sequence.estimator import check_unchanged
from perceptrons.sequence.learner import (
    ChainFit,
    ChainLearner,
    ChainWeights,
    Limits,
    Validation,
    check_metric,
    features_for,
    limits,
    read_tokens,
    rule_of,
)
from perceptrons.sequence.tokens import MatrixFeatures, Tokens, ones, read_labels, tokens_of


class ChainSetup(NamedTuple):
    """The settings of training that all parts share. learner: without weights and features."""

    learner: ChainLearner
    limits: Limits
    rule: ChainRule
    fraction: float  # of the sequences that is held out; 0: none
    shuffle: bool
    metric: str  # that held-out sequences are scored by


class SequenceFacts(NamedTuple):
    """The facts about a part that must be known before training."""

    n: int
    classes: np.ndarray
    dtype: np.dtype
    fingerprint: Any


class RawSequences(NamedTuple):
    """Sequences whose features are read, but not numbered, and their labels. place: numbers of shard and block."""

    read: Any
    target: Target
    place: tuple[int, int]
    fingerprint: Any = None

    def facts(self) -> SequenceFacts:
        return SequenceFacts(len(self.read.starts) - 1, self.target.classes, self.read.dtype, self.fingerprint)

    def ready(self, setup: ChainSetup, features: Any) -> "SequencesPart":
        tokens = features.tokens(self.read, setup.learner.dtype, learn=False)
        return SequencesPart(tokens, self.target.among(setup.learner.classes).codes, self.place, setup)


class NumberedSequences(NamedTuple):
    """Sequences of this machine, whose features are numbered. Values that are all 1 are sent as one number."""

    tokens: Tokens
    codes: np.ndarray
    place: tuple[int, int]

    @classmethod
    def of(cls, tokens: Tokens, codes: np.ndarray, selected: np.ndarray | None, shard: int) -> "NumberedSequences":
        """Return some of the sequences; None: all of them."""
        values = tokens.rows.values[:1] if tokens.rows.values.strides == (0,) else None
        if selected is not None:
            tokens, codes = tokens.sequences(selected), codes[tokens_of(tokens.starts, selected)[0]]
        rows = tokens.rows if values is None else tokens.rows._replace(values=values)
        return cls(tokens._replace(rows=rows), codes, (shard, 0))

    def ready(self, setup: ChainSetup, _: Any) -> "SequencesPart":
        (values, columns, ends), starts = self.tokens
        values = aligned(values) if len(values) == len(columns) else ones(len(columns), setup.learner.dtype)
        rows = Sparse(values, aligned(columns), aligned(ends))
        return SequencesPart(Tokens(rows, aligned(starts)), aligned(self.codes), self.place, setup)


class SequencesPart:
    """Sequences in memory, ready to learn from."""

    def __init__(self, tokens: Tokens, codes: np.ndarray, place: tuple[int, int], setup: ChainSetup):
        self.tokens, self.codes, self.setup = tokens, codes, setup
        self.n = len(tokens.starts) - 1
        self.train: np.ndarray | None = None
        self.held_out: np.ndarray | None = None
        if setup.fraction:
            self.held_out = np.empty(0, np.intp)
            if self.n > 1:  # with a lone sequence, other parts hold sequences out
                one_class = np.zeros(self.n, np.intp)
                self.train, self.held_out = hold_out(one_class, None, setup.fraction, setup.learner.seed, *place)

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays, by which Dask decides what to move and what to spill."""
        rows = self.tokens.rows
        return rows.columns.nbytes + rows.starts.nbytes + self.codes.nbytes

    @property
    def n_train(self) -> int:
        """Return the number of sequences to learn from; the others are held out."""
        return self.n if self.train is None else len(self.train)

    def visits(self, weights: AnyWeights, rng: np.random.Generator, _: PassNumber) -> Iterator[Counts]:
        """Learn from the sequences once, in a new order. This changes the weights and `rng`."""
        yield from self._fit(weights).visit(visiting_order(self.n_train, self.train, self.setup.shuffle, rng))

    def accuracy(self, common: CommonWeights) -> tuple[float, ...]:
        """Return the accuracy on the held-out tokens, and their number.

        If phrases are scored, also return how many there are, were found, and are right.
        """
        assert self.held_out is not None
        if not len(self.held_out):
            return 0.0, 0.0
        accuracy, phrases = self._fit(common.to_weights()).validation_scores()
        n = float(np.diff(self.tokens.starts)[self.held_out].sum())
        return (accuracy, n) if phrases is None else (accuracy, n, phrases.n_true, phrases.n_found, phrases.n_right)

    def _fit(self, weights: AnyWeights) -> ChainFit:
        learner, setup, validation = copy.copy(self.setup.learner), self.setup, None
        learner.weights = weights  # type: ignore[assignment]
        if self.held_out is not None:
            validation = Validation.of(self.tokens, self.codes, self.held_out, learner.classes, setup.metric)
        return ChainFit(learner, self.tokens, self.codes, setup.limits, setup.rule, "last", validation)


def prepare(
    client: Any, estimator: SequencePerceptron, X: Any, y: Any, shards: int | None, *, is_warm: bool,
    sample_weight: Any, classes: Any, lengths: Any, reading: dict[str, Any],
) -> tuple[Shards, PreparedModel]:  # fmt: skip
    """Return the shards of the data, and the model that is ready to be trained on them."""
    if sample_weight is not None:
        raise ValueError("sample_weight: sequences do not have weights: leave it out.")
    given_classes = None if classes is None else read_classes(classes)
    if are_files(X) or is_collection(X):
        if y is not None or lengths is not None:
            raise ValueError(
                "X already contains the labels, as pairs (tokens, labels) or as a column: leave y and lengths out."
            )
        return _prepare_on_workers(client, estimator, X, shards, is_warm, given_classes, reading)
    refuse_options(reading)
    return _prepare_here(client, estimator, X, y, lengths, shards, is_warm, given_classes)


def _prepare_here(
    client: Any, estimator: SequencePerceptron, X: Any, y: Any, lengths: Any, shards: int | None, is_warm: bool,
    given_classes: np.ndarray | None,
) -> tuple[Shards, PreparedModel]:  # fmt: skip
    """Number the features of local sequences, and assign the sequences to the shards at random."""
    features = learner_of(estimator).features if is_warm else features_for(estimator, X)
    read = read_tokens(estimator, features, X, lengths, reset=not is_warm)
    target = read_labels(y, read.starts, by_sequence=features.kind != "matrix")
    setup = _prepare_model(estimator, features, target.classes, given_classes, read.dtype, is_warm)
    learner = learner_of(estimator)
    target = target.among(learner.classes)
    check_allowed(setup.limits.barrier, target.codes, read.starts, target.classes, estimator.allowed)
    tokens = learner.meet(read, learner.classes, restart_counts=True)
    estimator.n_features_in_ = learner.n_features
    n = len(tokens.starts) - 1
    assigned = assign_examples(n, number_of_shards(client, shards, n, "one per sequence"), learner.seed)
    parts = [
        NumberedSequences.of(tokens, target.codes, selected if len(assigned) > 1 else None, shard)
        for shard, selected in enumerate(assigned)
    ]
    data = Shards.of_local(client, parts, max(sum(array.nbytes for array in part.tokens.rows[1:]) for part in parts))
    return data, _prepared(estimator, setup, [n, len(target.codes), target.classes.tolist()])


def _prepare_on_workers(
    client: Any, estimator: SequencePerceptron, X: Any, shards: int | None, is_warm: bool,
    given_classes: np.ndarray | None, reading: dict[str, Any],
) -> tuple[Shards, PreparedModel]:  # fmt: skip
    """Let the workers read sequences, and number the features one shard after another, unless they are hashed."""
    features = learner_of(estimator).features if is_warm else features_for(estimator, [])
    untrained = SequencePerceptron(**estimator.get_params(deep=False))
    if are_files(X):
        names = Workers(client).gather(client.submit(find_files_of_worker, X, pure=False))
        n_shards = number_of_shards(client, shards, len(names), "one per file")
        parts = [
            [client.submit(_read_files, names[i::n_shards], reading, untrained, features, (i, 0), pure=False)]
            for i in range(n_shards)
        ]
    else:
        refuse_options(reading)
        blocks = X.to_delayed(optimize_graph=False)
        parts = read_partitions(client, shards, _read_pairs, [blocks], untrained, features)
    data = Shards(client, parts)
    by_shard: list[list[SequenceFacts]] = data.facts()
    facts = [part for shard in by_shard for part in shard]
    classes = facts[0].classes[:0]
    for part in facts:
        classes = merge(classes, part.classes) if len(classes) else part.classes
    dtype = np.result_type(*(part.dtype for part in facts))
    setup = _prepare_model(estimator, features, classes, given_classes, dtype, is_warm)
    learner = learner_of(estimator)
    features.forget_waiting()
    common_features: Any = features
    if estimator.hash_bits is None:
        for future in [future for shard in data.raw for future in shard]:
            common_features = client.submit(_add_features, common_features, future, learner.dtype, pure=False)
        learner.features = data.workers.gather(common_features)
    learner.meet_features()
    estimator.n_features_in_ = learner.n_features
    fingerprint = [[[part.n, part.classes.tolist(), part.fingerprint] for part in shard] for shard in by_shard]
    return data, _prepared(estimator, setup, fingerprint)._replace(mappings=[common_features] * len(data))


def _read_files(
    files: list[str], reading: dict[str, Any], estimator: SequencePerceptron, features: Any, place: tuple[int, int]
) -> RawSequences:
    """Read the sentences of files of tokens in columns."""
    from perceptrons.data.conll import read_conll
    from perceptrons.data.source import identity

    options = dict(reading)
    label = options.pop("label", -1)
    if estimator.templates is None:
        raise ValueError("Files of tokens need templates that name their columns: FeatureTemplates(columns=...).")
    names = estimator.templates.parsed()[1]
    columns = list(range(len(names)))
    sentences, labels, fingerprint = list[Any](), list[Any](), list[Any]()
    for name in files:
        file = read_conll(name, **options)
        label_column = file.column_number(label)
        if len(names) >= file.n_columns or label_column in columns:
            raise ValueError(f"{name}: has {file.n_columns} columns, too few for {', '.join(names)} and a label.")
        sentences += file.sentences(columns[0] if len(columns) == 1 else columns)
        labels += file.sentences(label_column)
        fingerprint.append([name, *(identity(Path(name)) or ())])
    return _read(sentences, labels, estimator, features, place)._replace(fingerprint=fingerprint)


def _read_pairs(pairs: list[Any], estimator: SequencePerceptron, features: Any, place: tuple[int, int]) -> RawSequences:
    """Read a partition of a bag of (tokens, labels)."""
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"The bag contains {str(pair)[:80]}: give pairs (tokens, labels).")
    return _read([tokens for tokens, _ in pairs], [labels for _, labels in pairs], estimator, features, place)


def _read(
    X: list[Any], y: list[Any], estimator: SequencePerceptron, features: Any, place: tuple[int, int]
) -> RawSequences:
    read = read_tokens(estimator, features, X, None, reset=True)
    target = read_labels(y, read.starts, by_sequence=True)
    barrier = limits(estimator, target.classes, np.float64, stream=True).barrier
    check_allowed(barrier, target.codes, read.starts, target.classes, estimator.allowed)
    return RawSequences(read, target, place)


def _add_features(features: Any, part: RawSequences, dtype: Any) -> Any:
    """Return features in which those of one more part are numbered, too."""
    features = copy.deepcopy(features)
    features.tokens(part.read, dtype, learn=True)
    return features


def _prepare_model(
    estimator: SequencePerceptron, features: Any, classes: np.ndarray, given_classes: np.ndarray | None, dtype: Any,
    is_warm: bool,
) -> ChainSetup:  # fmt: skip
    """Create the model, or make room in it for new labels."""
    if given_classes is not None:
        check_named(classes, given_classes)
        classes = merge(classes, given_classes)
    if is_warm:
        check_unchanged(estimator)
        classes = merge(learner_of(estimator).classes, classes)
    if len(classes) < 2:
        only = f"only one label, {classes.tolist()[0]!r}" if len(classes) else "no labels"
        raise ValueError(f"y has {only}: a tagger needs at least two.")
    if not is_warm:
        estimator._begin(features, classes, dtype)
    learner = learner_of(estimator)
    learner.meet_classes(classes)
    bounds = learner.limits(estimator, stream=False)
    bare = copy.copy(learner)
    bare.features, bare.weights = MatrixFeatures(0), ChainWeights(0, len(classes), learner.dtype)
    fraction = float(estimator.validation_fraction) if estimator.early_stopping else 0.0
    if estimator.early_stopping:
        check_metric(estimator.validation_metric, classes)
    return ChainSetup(bare, bounds, rule_of(estimator), fraction, bool(estimator.shuffle), estimator.validation_metric)


def _prepared(estimator: SequencePerceptron, setup: ChainSetup, fingerprint: Any) -> PreparedModel:
    no_rows = Sparse(np.empty(0, setup.learner.dtype), np.empty(0, np.int32), np.zeros(1, np.int64))
    no_tokens, no_codes = Tokens(no_rows, np.zeros(1, np.int64)), np.empty(0, np.int32)
    fit = ChainFit(learner_of(estimator), no_tokens, no_codes, setup.limits, setup.rule, estimator.combine, None)
    return PreparedModel(setup, (), fit, fingerprint, messages={}, has_weights=False)
