"""Prepares a `Perceptron` for training on shards: cuts the data, and creates the common model."""

import copy
import uuid
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.data import stream
from perceptrons.data.source import Share, can_be_shared
from perceptrons.distributed.clients import Workers, gathered, scattered
from perceptrons.distributed.shards import (
    Shards,
    are_files,
    check_room,
    computed,
    dealt,
    found_files,
    how_many,
    is_collection,
    partitions,
    refuse_options,
)
from perceptrons.distributed.worker_data import Common, Facts, FilesPart, Raw, raw_part, together
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.example_weights import balanced_weights, check_weights
from perceptrons.engine.training.inputs import as_rows, check_matrix
from perceptrons.engine.training.labels import Target, check_named, in_order, merge, read_classes, read_target
from perceptrons.engine.training.learner import LinearLearner
from perceptrons.engine.training.linear_fit import LinearFit
from perceptrons.engine.training.one_pass import Examples
from perceptrons.engine.training.parameters import check_choices, method_of, penalty_of
from perceptrons.engine.training.weights import Weights
from perceptrons.linear import Perceptron

BY_LINE = ("svmlight", "libsvm", "vw", "text", "jsonl")  # formats with one example per line, wherever one begins
MOST = 10**6  # shards
COMPLAINTS = 10  # messages about skipped records that are passed on


class Begun(NamedTuple):
    """All that training from shards needs: what their parts are told, and the model on this side."""

    common: Any
    mappings: Sequence[Any]  # one a shard, or none
    fit: Any  # the model without examples, for norms and the like
    held_out: bool  # are examples held out to score on?
    about: Any  # what tells whether the data are others now
    told: dict[str, Any]  # of files: how many bad records were skipped, some complaints, and notices; empty if none
    weighted: bool  # do examples have weights?


def check(estimator: Perceptron) -> None:
    """Raise ValueError for parameters that do not go with mixing."""
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


def data_of(
    client: Any, estimator: Perceptron, X: Any, y: Any, weight: Any, shards: int | None, reading: dict[str, Any]
) -> Shards:
    """The data as shards, whatever they are."""
    if are_files(X):
        if y is not None or weight is not None:
            raise ValueError("X names files, which contain labels and weights: leave y and sample_weight out.")
        return of_files(client, X, shards, reading)
    refuse_options(reading)
    if is_collection(X):
        return of_collection(client, estimator, X, y, weight, shards)
    return of_arrays(client, estimator, X, y, weight, shards)


def of_arrays(client: Any, estimator: Perceptron, X: Any, y: Any, weight: Any, shards: int | None) -> Shards:
    """Arrays of this machine: rows are dealt to the shards at random, each keeps them in their order."""
    model = Perceptron(**estimator.get_params())
    X = check_matrix(model, X, reset=True, growth=model._growth())
    target = read_target(y, X.shape[0])
    if weight is not None:
        target.weights(weight, None, stream=False)  # refuses what are no weights
        weight = np.broadcast_to(np.asarray(weight, np.float64), X.shape[:1])
    names = None if not hasattr(model, "_columns") else list(model._columns)
    number = how_many(client, shards, X.shape[0], "one per example")
    which = dealt(X.shape[0], number, estimator._seed() if number > 1 else 0)
    raws = []
    for number, rows in enumerate(which):
        part = slice(None) if len(which) == 1 else rows
        one = target._replace(
            codes=target.codes[part], indicator=None if target.indicator is None else target.indicator[part]
        )
        raws.append(Raw(X[part], one, None if weight is None else weight[part], names, (number, 0)))
    check_room(client, max(_bytes(raw.X) for raw in raws))
    workers = Workers(client)
    return Shards(client, [[scattered(workers, raw)] for raw in raws], raws)


def of_collection(client: Any, estimator: Any, X: Any, y: Any, weight: Any, shards: int | None) -> Shards:
    """A dask array or dataframe: its partitions stay where they are, consecutive ones in a shard."""
    from dask import delayed

    blocks = [partitions(X, "X")]
    for name, given in (("y", y), ("sample_weight", weight)):
        if given is None and name == "y":
            raise ValueError("y=None: labels are required, as a dask array or series with the partitions of X.")
        blocks.append([None] * len(blocks[0]) if given is None else partitions(given, name, X))
    n = len(blocks[0])
    groups = np.array_split(np.arange(n), how_many(client, shards, n, "one per partition"))
    plain = Perceptron(**estimator.get_params())
    make = delayed(raw_part, pure=False)
    asked = [
        [make(*(column[b] for column in blocks), plain, (number, place)) for place, b in enumerate(group.tolist())]
        for number, group in enumerate(groups)
    ]
    return Shards(client, computed(client, asked))


def of_files(client: Any, files: Any, shards: int | None, reading: dict[str, Any]) -> Shards:
    """Files that the workers read themselves: each shard some of them, or its share of each if they are fewer."""
    found, recipe, divisible, notices = gathered(Workers(client), client.submit(look, files, reading, pure=False))
    most = (
        (MOST, "on any cluster") if divisible else (len(found), "one per file, because these files cannot be divided")
    )
    number = how_many(client, shards, *most)
    token = uuid.uuid4().hex
    parts = []
    for i in range(number):
        whole = number <= len(found)
        group, share = (found[i::number], None) if whole else (found, Share(i, number))
        parts.append([client.submit(FilesPart, group, recipe, i, token, share, pure=False)])
    data = Shards(client, parts, on_disk=True)
    data.notices = notices
    return data


def look(files: Any, reading: dict[str, Any]) -> tuple[list[str], dict[str, Any], bool, list[str]]:
    """The files, how all of them are read (their first block decides what is not said), and can parts of them be?

    Also what somebody should be told of them.
    """
    names = found_files(files)
    reader = stream(*names, **reading)
    for block in reader:
        kind = {} if block.classes is None else {"text_labels": block.classes.dtype.kind in "UO"}
        recipe = {**reading, **reader.recipe(), **kind, "many_classes": True}  # which was checked here
        divisible = (
            reader.format in BY_LINE and reader.encoding is None and all(can_be_shared(path) for path in reader.files)
        )
        return names, {name: value for name, value in recipe.items() if value is not None}, divisible, reader.notices
    raise ValueError(f"{', '.join(names)}: there are no examples in it.")


def shards_again(client: Any, model: Perceptron, X: Any, y: Any, reading: dict[str, Any]) -> Shards:
    """The data that a model was fitted on, ready to be looked at once more."""
    learner = learner_of(model)
    data = data_of(client, model, X, y, None, len(model.history_[0]["shards"]["updates"]), reading)
    try:
        facts = data.facts()
        found = reduce(together, [part for shard in facts for part in shard])
        columns, mappings = _columns([shard[0] for shard in facts], getattr(model, "columns_", None))
        width = found.n_features if columns is None else columns.n_columns
        same = np.isin(found.classes, learner.classes).all() and width <= learner.n_features
        if not same or (found.about is None and width != learner.n_features):
            raise ValueError("These are not the data that the model was fitted on: the classes or features differ.")
        method = method_of(model, learner, learner.classes, stream=False)
        data.prepare(Common(_bare(learner), learner.n_features, learner.dtype, method, None, 0.0, False), mappings)
    except BaseException:
        data.forget()
        raise
    return data


def begun(
    client: Any, estimator: Perceptron, X: Any, y: Any, shards: int | None, *, warm: bool, sample_weight: Any,
    classes: Any, lengths: Any, reading: dict[str, Any],
) -> tuple[Shards, Begun]:  # fmt: skip
    """Return the shards of the data, and the model that is ready to be trained on them."""
    if lengths is not None:
        raise ValueError("lengths is for sequences, and a Perceptron does not have any: leave it out.")
    data = data_of(client, estimator, X, y, sample_weight, shards, reading)
    try:
        model = begin_model(estimator, data.facts(), classes, warm)
        return data, model._replace(told=model.told | ({"notices": data.notices} if data.notices else {}))
    except BaseException:
        data.forget()
        raise


def begin_model(estimator: Perceptron, facts: list[list[Facts]], classes: Any, warm: bool) -> Begun:
    """Begin the model, or make room in it, for what the parts have together."""
    every = [part for shard in facts for part in shard]
    found, of_files = reduce(together, every), every[0].about is not None
    if not of_files and len({part.n_features for part in every}) > 1:
        widths = sorted({part.n_features for part in every})
        raise ValueError(f"Partitions have different numbers of features, {widths[0]} and {widths[-1]}.")
    known, several = _classes(found, classes), found.form != "single"
    columns, mappings = _columns([shard[0] for shard in facts])
    if warm:
        _check_names(estimator, found, columns)
    d = found.n_features if columns is None else columns.n_columns
    indicator = np.zeros((0, len(known)), bool) if several else None
    target = in_order(Target(found.form, known, np.empty(0, np.int32), indicator), estimator.classes)
    if warm:
        estimator._check_can_go_on(target)
        target = target.among(merge(learner_of(estimator).classes, known))
    dtype = learner_of(estimator).dtype if warm else found.dtype
    weights = _class_weights(estimator, found, several)
    rows = as_rows(sp.csr_matrix((0, d), dtype=dtype) if found.sparse else np.empty((0, d), dtype))
    if not warm:
        estimator._begin(target, rows, d, found.moments.units())
    learner = learner_of(estimator)
    method = method_of(estimator, learner, target.classes, stream=False)
    if warm and d < learner.n_features and of_files:
        d = learner.n_features
    if warm and d != learner.n_features and not of_files:
        raise ValueError(f"X has {d} features, but the model has {learner.n_features}.")
    learner.meet_classes(target.classes)
    learner.meet_features(d)
    estimator.n_features_in_ = d
    if found.names is not None:
        estimator.feature_names_in_ = found.names
    examples = learner.examples(
        rows, target, None, None if not several or weights is None else np.ones((len(known), 2))
    )
    if of_files:
        estimator.source_, estimator.columns_ = every[0].recipe, columns
    fraction = float(estimator.validation_fraction) if estimator.early_stopping else 0.0
    common = Common(_bare(learner), d, np.dtype(dtype), method, weights, fraction, bool(estimator.shuffle))
    empty = Examples(examples.rows, examples.y, None, examples.problems)
    about = [[[part.n, part.n_features, _labels(part), part.about] for part in shard] for shard in facts]
    fit = LinearFit(learner, empty, method, estimator.combine, None, None)
    skipped = {"skipped": found.skipped, "complaints": found.complaints[:COMPLAINTS]} if found.skipped else {}
    return Begun(common, mappings, fit, estimator.early_stopping, about, skipped, found.weighted)


def _classes(found: Facts, named: Any) -> np.ndarray:
    """All classes; raises ValueError if there are too few to learn from. named: those the user gave, or None."""
    known = found.classes
    if not found.n:
        raise ValueError("There are no examples in the data.")
    if named is not None:
        every = read_classes(named)
        check_named(known, every)
        known = merge(known, every)
    if found.form != "single":
        return known
    if not found.by_class.any():
        raise ValueError("All sample weights are zero: there is nothing to learn from.")
    if len(known) < 2:
        raise ValueError(f"y has only one class, {known.tolist()[0]!r}: a classifier needs at least two.")
    return known


def _labels(part: Facts) -> list[Any]:
    return [part.classes.tolist(), part.by_class.tolist()]


def _bare(learner: LinearLearner) -> LinearLearner:
    """The learner without its weights: classes, scheme and rows are all that examples depend on."""
    n = learner.weights.n_rows
    none = Weights(np.zeros((n, 0), learner.dtype), np.zeros(n, learner.dtype), one=learner.weights.one)
    return LinearLearner(none, None, learner.classes, learner.scheme, learner.form, learner.init, learner.seed)


def _class_weights(estimator: Perceptron, found: Facts, several: bool) -> Any:
    """class_weight, with "balanced" worked out over all shards."""
    if estimator.class_weight != "balanced":
        if estimator.class_weight is not None and not several:  # refuses unknown classes, and weights of nothing
            check_weights(None, estimator.class_weight, found.classes, np.arange(len(found.classes)), stream=False)
        return estimator.class_weight
    if several:
        raise ValueError(
            "class_weight='balanced' cannot be combined with several labels per example here: give the "
            "weights as a dict."
        )
    return dict(zip(found.classes.tolist(), balanced_weights(found.by_class).tolist(), strict=True))


def _columns(shards: list[Facts], known: Any = None) -> tuple[Any, Sequence[Any]]:
    """The columns of all shards behind those known, and for each shard where its own are; nothing without names."""
    if shards[0].columns is None:
        return None, ()
    columns, mappings = copy.deepcopy(shards[0].columns if known is None else known), []
    columns.frozen = False
    for place, shard in enumerate(shards):
        numbers = np.arange(columns.n_names) if known is None and not place else columns.add(shard.columns)
        in_place = columns.bits is not None or np.array_equal(numbers, np.arange(len(numbers)))
        mappings.append(None if in_place else numbers)
    return columns, mappings


def _check_names(estimator: Perceptron, found: Facts, columns: Any) -> None:
    """Raise ValueError if a model that resumes training would confuse its features with other ones."""
    known = list(estimator._columns) if hasattr(estimator, "_columns") else None
    if found.names != known and found.about is None:
        raise ValueError(
            f"The feature names should match those that were passed during fit, {known}, but they are now "
            f"{found.names}."
        )
    learned = getattr(estimator, "columns_", None)
    if learned is not None and columns is not None and learned.bits is None:
        names = learned.names()
        if columns.names()[: len(names)] != names:
            raise ValueError(
                "The features of the files differ from those of the model: read the files with like=model."
            )


def _bytes(X: Any) -> int:
    return int(X.nbytes) if isinstance(X, np.ndarray) else sum(a.nbytes for a in (X.data, X.indices, X.indptr))
