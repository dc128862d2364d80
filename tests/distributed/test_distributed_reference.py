"""`distributed.fit` beside the slow, obvious reference, and on one shard beside local training, bit for bit."""

from itertools import pairwise

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask.distributed import Client
from numpy.testing import assert_allclose

from perceptrons import FeatureTemplates, SequencePerceptron, distributed
from perceptrons.data import stream
from perceptrons.engine.passes.order import shuffled
from tests.conftest import LAYOUTS, gaussian
from tests.reference import mixing as reference
from tests.reference import multiclass, theory
from tests.support.blocks import COUNTERS, as_svmlight, blocks_of, same_weights, without_seconds
from tests.support.lecture import rosenblatt
from tests.support.sequences import (
    as_dicts,
    assert_same_bits,
    assert_same_run,
    flat,
    names_of,
    random_case,
    random_words,
    told,
)
from tests.support.tiers import slow

MIXINGS = ("mistakes", "uniform")
SIZES = (23, 8, 29)
N = sum(SIZES)
EPOCHS = 3
COST = [[0, 1, 3], [0.5, 0, 1], [2, 1, 0]]
SETTINGS = {
    "plain": {},
    "eta": {"eta0": 0.3},
    "margin": {"margin": 0.7},
    "cost": {"cost": True},
    "cost and margin": {"cost": True, "margin": 0.4, "eta0": 0.5},
    "l2": {"penalty": "l2", "alpha": 0.03, "margin": 0.2},
    "pa1": {"step": "pa1", "C": 0.1},
    "pa2 and l2": {"step": "pa2", "C": 0.3, "penalty": "l2", "alpha": 0.02},
    "batches": {"batch_size": 4},
    "one batch": {"batch_size": "all", "margin": 0.5},
    "no intercept": {"fit_intercept": False},
    "class weight": {"class_weight": {0: 0.5, 1: 2.5}},
}
settings = pytest.mark.parametrize("setting", SETTINGS)
mixings = pytest.mark.parametrize("mixing", MIXINGS)


# ---- what the tests share


def with_cost(options, k):
    """The cost matrix of k classes where the options ask for one."""
    return options | {"cost": np.array(COST)[:k, :k]} if options.get("cost") is True else options


def estimator(k=2, **options):
    return rosenblatt(**({"tol": None, "max_iter": EPOCHS} | with_cost(options, k)))


def chunked(sizes, X, *others, layout="dense"):
    """Dask arrays, a chunk a shard."""
    rows = da.from_array(X, chunks=(tuple(sizes), -1))
    rows = rows if layout == "dense" else rows.map_blocks(LAYOUTS[layout])
    chunks = [(tuple(sizes), -1) if np.ndim(other) == 2 else (tuple(sizes),) for other in others]
    return rows, *(da.from_array(other, chunks=cut) for other, cut in zip(others, chunks, strict=True))


def cut(sizes, *arrays):
    """The same for the reference: a tuple of pieces a shard."""
    ends = np.cumsum(sizes)[:-1]
    return list(zip(*(np.split(array, ends) for array in arrays), strict=True))


def orders_of(sizes, epochs, seed=0, shuffle=True):
    """The orders of shards of one block each."""
    rngs = [np.random.default_rng([seed, i]) for i in range(len(sizes))]
    return [
        [shuffled(n, rng) if shuffle else np.arange(n) for n, rng in zip(sizes, rngs, strict=True)]
        for _ in range(epochs)
    ]


def orders_of_blocks(shards, epochs, seed=0):
    """The orders of shards of several blocks each; shards: for each the sizes of its blocks."""
    rngs = [np.random.default_rng([seed, i]) for i in range(len(shards))]
    orders = []
    for epoch in range(epochs):
        orders.append([])
        for sizes, rng in zip(shards, rngs, strict=True):
            starts = np.cumsum([0, *sizes])
            blocks = rng.permutation(len(sizes)) if epoch and len(sizes) > 1 else range(len(sizes))
            orders[-1].append(np.concatenate([starts[block] + shuffled(sizes[block], rng) for block in blocks]))
    return orders


def dealt(n, shards, seed=0):
    """The rows of every shard of a local array."""
    return [np.sort(own) for own in np.array_split(np.random.default_rng([seed, n]).permutation(n), shards)]


def mixed_reference(shards, orders, k, mixing="mistakes", scheme="joint", **options):
    """The reference told of an estimator's parameters; shards: tuples (X, y) or (X, y, weights)."""
    options = with_cost(options, k)
    class_weight = options.pop("class_weight", None)
    options["eta"] = options.pop("eta0", 1.0)
    options.setdefault("margin", 1.0 if options.get("step", "constant") != "constant" else 0.0)
    full = []
    for X, y, *weights in shards:
        weight = weights[0] if weights else None
        if class_weight is not None and scheme != "labels":
            weight = (1.0 if weight is None else weight) * np.array([class_weight.get(c, 1.0) for c in y])
        full.append((X, y, weight))
    if class_weight is not None and scheme == "labels":
        options["class_weight"] = class_weight
    return reference.linear(full, orders, k, mixing=mixing, scheme=scheme, **options)


def assert_same_mix(model, run, sizes, mixing="mistakes", exact=1e-9, dtype=np.float64):
    """The same weights, and all that is told of the epochs."""
    largest = max(np.abs(run.last).max(), np.abs(run.average).max())
    for coef, intercept, expected in (
        (model.coef_last_, model.intercept_last_, run.last),
        (model.coef_average_, model.intercept_average_, run.average),
    ):
        assert coef.dtype == dtype
        assert_allclose(coef, expected[:, :-1], rtol=exact, atol=exact * largest)
        assert_allclose(intercept, expected[:, -1], rtol=exact, atol=exact * largest)
    assert (model.n_shards_, model.mixing_) == (len(sizes), mixing)
    assert model.n_iter_ == len(model.history_) == len(run.mixes)
    for n, row in enumerate(model.history_):
        assert row["epoch"] == n + 1
        assert row["examples"] == sum(sizes)
        shards = row["shards"]
        assert list(shards["examples"]) == list(sizes)
        for name, counts in (("mistakes", run.mistakes[n]), ("updates", run.updates[n])):
            assert list(shards[name]) == counts, (name, n)
            assert row[name] == sum(counts)
        assert_allclose(shards["weights"], run.mu[n], rtol=1e-12)
        assert len(shards["seconds"]) == len(sizes)
        assert min(shards["seconds"]) >= 0
        assert_allclose(row["loss"], sum(run.losses[n]), rtol=max(1e-9, exact), atol=max(1e-9, exact))
        norm = np.linalg.norm(np.concatenate(run.mixes[n])[:, :-1])
        assert_allclose(row["norm"], norm, rtol=max(1e-9, exact))
    assert model.mistakes_.tolist() == [sum(epoch) for epoch in run.mistakes]
    assert model.n_mistakes_ == sum(model.mistakes_)
    assert model.n_updates_ == sum(map(sum, run.updates))
    settled = not any(run.updates[-1]) and not any(run.mistakes[-1])
    at_rest = "stuck" if model.zero_score == "correct" else "converged"  # from zeros "correct" learns nothing
    assert model.stop_reason_ == (at_rest if settled else "max_iter")
    assert model.converged_ == (model.stop_reason_ == "converged")


def same_as_local(model, local, X, loss=1e-9):
    """Bit for bit the model of local training, with one shard to tell of."""
    same_weights(model, local, X)
    for name in COUNTERS:
        assert getattr(model, name) == getattr(local, name), name
    assert np.array_equal(model.mistakes_, local.mistakes_)
    assert model.n_features_in_ == local.n_features_in_
    assert len(model.history_) == len(local.history_)
    for ours, theirs in zip(without_seconds(model.history_), without_seconds(local.history_), strict=True):
        shards = ours.pop("shards")
        assert list(shards["examples"]) == [ours["examples"]]
        assert (list(shards["mistakes"]), list(shards["updates"])) == ([ours["mistakes"]], [ours["updates"]])
        assert list(shards["weights"]) == [1.0]
        assert ours.pop("loss") == pytest.approx(theirs.pop("loss"), rel=loss)
        assert ours.pop("norm") == pytest.approx(theirs.pop("norm"), rel=1e-6)
        assert ours == theirs
    assert model.n_shards_ == 1


def several_labels(rng, n, d=5, labels=3):
    X = rng.standard_normal((n, d))
    return X, (X @ rng.standard_normal((d, labels)) + 0.5 * rng.standard_normal((n, labels)) > 0).astype(int)


# ---- the reference itself


def test_the_reference_by_hand():
    # No bias. Epoch 1 from (0, 0). Shard 0: (1, 0), +: s = 0, w = (1, 0). (1, 1), -: s = 1, w = (0, -1). k = 2.
    # Shard 1: (0, 2), +: s = 0, w = (0, 2). k = 1.  mu = 2/3, 1/3:  W = (0, -2/3) + (0, 2/3) = (0, 0).
    # Epoch 2 is the same but shard 0 goes the other way: (1, 1), -: w = (-1, -1). (1, 0), +: s = -1, w = (0, -1).
    shards = [(np.array([[1.0, 0], [1, 1]]), [1, 0], None), (np.array([[0.0, 2]]), [1], None)]
    orders = [[[0, 1], [0]], [[1, 0], [0]]]
    run = reference.linear(shards, orders, 2, fit_intercept=False)
    assert (run.mistakes, run.updates) == ([[2, 1]] * 2, [[2, 1]] * 2)
    assert_allclose(run.mu, [[2 / 3, 1 / 3]] * 2)
    assert_allclose(run.last, [[0, 0, 0]], atol=1e-15)
    assert [w[0, :2].tolist() for w, _ in run.paths[0]] == [[1, 0], [0, -1], [0, 2], [-1, -1], [0, -1], [0, 2]]
    assert_allclose(run.averages[0], [[[1 / 3, 1 / 3, 0]]])
    assert_allclose(run.average, [[0, 1 / 6, 0]])
    assert run.weighted_updates == pytest.approx(2 * (4 / 3 + 1 / 3))
    # Uniform: W = (0, -1)/2 + (0, 2)/2 = (0, 1/2), and again from there: (1, 1), -: s = 1/2, w = (-1, -1/2).
    # (1, 0), +: s = -1, w = (0, -1/2). Shard 1: (0, 2): s = 1, right. W = (0, -1/2)/2 + (0, 1/2)/2 = 0.
    run = reference.linear(shards, orders, 2, mixing="uniform", fit_intercept=False)
    assert_allclose(run.mixes, [[[[0, 0.5, 0]]], [[[0, 0, 0]]]])
    assert run.updates == [[2, 1], [2, 0]]
    assert run.weighted_updates == 1.5 + 1
    # A weight of 2 is two visits: (0, 2), +: w = (0, 2), and then right. It counts twice in the average.
    shards[1] = (shards[1][0], [1], [2.0])
    run = reference.linear(shards, orders[:1], 2, fit_intercept=False)
    assert_allclose(run.average, [[1 / 4, 3 / 4, 0]])


def test_the_reference_on_one_shard_is_plain_training(rng):
    X, y = gaussian(rng, 20, 3, 3)
    orders = [rng.permutation(20) for _ in range(3)]
    plain = multiclass.train(X, y, orders, 3)
    run = reference.linear([(X, y, None)], [[order] for order in orders], 3)
    assert np.array_equal(run.last, reference.rows(plain.theta, plain.b))
    assert_allclose(run.average, reference.rows(plain.average_theta, plain.average_b), rtol=1e-12)
    assert [k for (k,) in run.mistakes] == plain.mistakes
    assert run.mu == [[1.0]] * 3


def test_the_generator_of_the_first_shard_is_that_of_local_training():
    for seed in (0, 5, 2**32 - 1):
        one, other = np.random.default_rng([seed, 0]), np.random.default_rng(seed)
        assert np.array_equal(one.permutation(50), other.permutation(50))


# ---- several shards, a chunk each


@mixings
@settings
@pytest.mark.parametrize("k", [*slow(2), 3])
def test_chunks_are_mixed_as_in_the_reference(k, setting, mixing, client):
    rng = np.random.default_rng([k, 3])
    options = SETTINGS[setting]
    X, y = gaussian(rng, N, 4, k)
    for shuffle in (False, True) if setting in ("plain", "batches") else ((k == 2) == (mixing == "uniform"),):
        model = estimator(k, shuffle=shuffle, random_state=6, **options)
        assert distributed.fit(model, *chunked(SIZES, X, y), client, mixing, shards=3) is model
        run = mixed_reference(cut(SIZES, X, y), orders_of(SIZES, EPOCHS, 6, shuffle), k, mixing, **options)
        assert_same_mix(model, run, SIZES, mixing)
        if "class_weight" not in options:
            assert model.t_ == N * len(run.mixes)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("k", "mixing"), [(2, "uniform"), (3, "mistakes")])
def test_sparse_chunks_and_either_precision(k, dtype, mixing, client, rng):
    X, y = gaussian(rng, N, 5, k)
    X[:, 1:] *= rng.random((N, 4)) < 0.6  # a row of zeros would leave the decision to ties of biases, by rounding
    X = X.astype(dtype)
    for layout in ("dense", "csr32"):
        model = estimator(margin=0.3)
        distributed.fit(model, *chunked(SIZES, X, y, layout=layout), client, mixing, shards=3)
        run = mixed_reference(cut(SIZES, X.astype(float), y), orders_of(SIZES, EPOCHS), k, mixing, margin=0.3)
        exact = 1e-9 if dtype == "float64" else 2e-5
        assert_same_mix(model, run, SIZES, mixing, exact, np.dtype(dtype))


@pytest.mark.parametrize(
    "options", [{}, {"margin": 0.5, "penalty": "l2", "alpha": 0.02}, {"class_weight": {0: 3.0, 1: 0.5}}], ids=str
)
@pytest.mark.parametrize(("k", "mixing"), [(2, "mistakes"), (3, "uniform"), (3, "mistakes")])
def test_weights_of_examples_count_as_visits(k, options, mixing, client, rng):
    X, y = gaussian(rng, N, 4, k)
    weights = rng.choice([0, 0.5, 1, 2, 3.25], N)
    rows, labels, shares = chunked(SIZES, X, y, weights)
    model = distributed.fit(estimator(**options), rows, labels, client, mixing, shards=3, sample_weight=shares)
    run = mixed_reference(cut(SIZES, X, y, weights), orders_of(SIZES, EPOCHS), k, mixing, **options)
    assert_same_mix(model, run, SIZES, mixing)
    total = weights * np.array([options.get("class_weight", {}).get(c, 1.0) for c in y])
    assert model.t_ == pytest.approx(EPOCHS * total.sum())


@pytest.mark.parametrize(
    ("mixing", "options"),
    [
        ("mistakes", {}),
        ("uniform", {"margin": 0.7}),
        *slow(("mistakes", {"step": "pa1", "C": 0.2}), ("mistakes", {"batch_size": 5})),
    ],
    ids=str,
)
@pytest.mark.parametrize("scheme", ["ovr", "ovo", "labels"])
def test_wrappers_are_mixed_by_the_updates_of_all_their_problems(scheme, options, mixing, client, rng):
    X, y = several_labels(rng, N) if scheme == "labels" else gaussian(rng, N, 4, 3)
    model = estimator(multiclass="joint" if scheme == "labels" else scheme, **options)
    distributed.fit(model, *chunked(SIZES, X, y), client, mixing, shards=3)
    run = mixed_reference(cut(SIZES, X, y), orders_of(SIZES, EPOCHS), 3, mixing, scheme, **options)
    assert model.coef_.shape[0] == 3
    assert_same_mix(model, run, SIZES, mixing)


@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo"])
def test_a_shard_need_not_have_all_classes(scheme, client, rng):
    X, y = gaussian(rng, N, 4, 3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    names = np.array(["m", "a", "x"])  # sorted otherwise: a, m, x
    sizes = [int(np.sum(y == 0)), int(np.sum(y == 1)) + 3, int(np.sum(y == 2)) - 3]
    codes = np.searchsorted(np.sort(names), names[y])
    model = estimator(multiclass=scheme)
    distributed.fit(model, *chunked(sizes, X, names[y]), client, shards=3)
    run = mixed_reference(cut(sizes, X, codes), orders_of(sizes, EPOCHS), 3, scheme=scheme)
    assert model.classes_.tolist() == ["a", "m", "x"]
    assert_same_mix(model, run, sizes)


def test_classes_that_are_named_have_rows_though_nobody_has_them(client, rng):
    X, y = gaussian(rng, N, 4, 3)
    for given in (chunked(SIZES, X, y), (X, y)):
        model = distributed.fit(estimator(), *given, client, shards=3, classes=[0, 1, 2, 3])
        assert model.classes_.tolist() == [0, 1, 2, 3]
        assert model.coef_.shape == (4, 4)


@pytest.mark.parametrize("init", ["ones", "random"])
@pytest.mark.parametrize("k", [2, 3])
def test_all_shards_begin_at_the_start(init, k, client, rng):
    X, y = gaussian(rng, N, 4, k)
    model = distributed.fit(estimator(init=init), *chunked(SIZES, X, y), client, shards=3)
    near = rosenblatt(init=init, eta0=1e-12).partial_fit(X[:1], y[:1], classes=range(k))
    start = [reference.rows(near.coef_last_, near.intercept_last_)]
    assert init == "random" or np.allclose(start[0], 1)
    run = mixed_reference(cut(SIZES, X, y), orders_of(SIZES, EPOCHS), k, start=start)
    assert_same_mix(model, run, SIZES, exact=1e-9)


@pytest.mark.parametrize("zero_score", ["mistake", "correct", "positive", "negative"])
def test_conventions_at_zero_hold_on_every_shard(zero_score, client, rng):
    X = rng.integers(-2, 3, (N, 2)).astype(float)
    y = (X.sum(axis=1) + rng.integers(-1, 2, N) > 0).astype(int)
    sizes = (30, 30)  # halves of whole numbers are exact
    model = estimator(zero_score=zero_score, shuffle=False)
    distributed.fit(model, *chunked(sizes, X, y), client, "uniform", shards=2)
    orders = orders_of(sizes, EPOCHS, shuffle=False)
    assert_same_mix(model, mixed_reference(cut(sizes, X, y), orders, 2, "uniform", zero_score=zero_score), sizes,
                    "uniform")  # fmt: skip


def test_shards_that_let_zeros_pass_are_stuck_and_not_converged(client, rng):
    X, y = gaussian(rng, N, 4, 2)
    for shards in (1, 3):
        model = distributed.fit(estimator(zero_score="correct"), *chunked(SIZES, X, y), client, shards=shards)
        assert (model.stop_reason_, model.converged_, model.n_iter_) == ("stuck", False, 1)
    separable = np.sign(X[:, 0] + 0.1)
    options = {"zero_score": "correct", "init": "ones", "combine": "last", "max_iter": 500, "tol": None}
    model = distributed.fit(rosenblatt(**options), *chunked(SIZES, X, separable), client, shards=3)
    assert (model.stop_reason_, model.score(X, separable)) == ("converged", 1.0)


def test_epochs_named_count_alone(client, rng):
    X, y = gaussian(rng, N, 4, 2)
    model = distributed.fit(rosenblatt(max_iter=2, tol=0.5), *chunked(SIZES, X, y), client, shards=3, epochs=9)
    run = mixed_reference(cut(SIZES, X, y), orders_of(SIZES, 9), 2)
    assert model.n_iter_ == len(run.mixes) == 9
    assert_allclose(model.coef_average_, run.average[:, :-1], rtol=1e-9)


def test_an_average_that_settles_ends_it(client, rng):
    X, y = gaussian(rng, N, 4, 2)
    tol = 0.03
    model = distributed.fit(rosenblatt(max_iter=200, tol=tol), *chunked(SIZES, X, y), client, shards=3)
    run = mixed_reference(cut(SIZES, X, y), orders_of(SIZES, model.n_iter_), 2)
    assert model.stop_reason_ == "tol"
    averages = [average[0] for average in run.averages]
    changes = [np.linalg.norm(b - a) / np.linalg.norm(b) for a, b in pairwise(averages)]
    assert changes[-1] < tol <= min(changes[:-1])
    assert_allclose(model.coef_average_, run.average[:, :-1], rtol=1e-9)


def test_the_weights_that_predict_are_those_asked_for(client, rng):
    X, y = gaussian(rng, N, 4, 3)
    for combine in ("last", "average"):
        model = distributed.fit(estimator(combine=combine), *chunked(SIZES, X, y), client, shards=3)
        assert np.array_equal(model.coef_, getattr(model, f"coef_{combine}_"))
        scores = X @ model.coef_.T + model.intercept_
        assert np.array_equal(model.predict(X), np.argmax(scores, axis=1))


def test_chunks_of_any_cut_are_learned(client, rng):
    X, y = gaussian(rng, N, 4, 3)
    run = mixed_reference(cut(SIZES, X, y), orders_of(SIZES, EPOCHS), 3)
    rows, labels = chunked(SIZES, X, y)
    unknown = rows.copy(), labels.copy()
    unknown[0]._chunks, unknown[1]._chunks = ((np.nan,) * 3, (4,)), ((np.nan,) * 3,)
    for given in (
        (da.from_array(X, chunks=(SIZES, 2)), labels),
        (rows, da.from_array(y, chunks=13)),
        unknown,
    ):
        assert_same_mix(distributed.fit(estimator(), *given, client, shards=3), run, SIZES)


def test_many_rows_are_shuffled_as_locally(client, rng):
    X, y = gaussian(rng, 2500, 2, 2)
    sizes = (1100, 1400)
    model = distributed.fit(estimator(max_iter=2), *chunked(sizes, X, y), client, shards=2)
    assert_same_mix(model, mixed_reference(cut(sizes, X, y), orders_of(sizes, 2), 2), sizes)


def test_learning_goes_on_from_the_mix(client, rng):
    X, y = gaussian(rng, N, 4, 3)
    model = distributed.fit(estimator(), *chunked(SIZES, X, y), client, shards=3).partial_fit(X, y)
    run = mixed_reference(cut(SIZES, X, y), orders_of(SIZES, EPOCHS), 3)
    more = reference.linear([(X, y, None)], [[range(N)]], 3, start=run.mixes[-1])
    assert_allclose(model.coef_last_, more.last[:, :-1], rtol=1e-9)
    assert_allclose(model.coef_average_, ((EPOCHS * run.average + more.average) / (EPOCHS + 1))[:, :-1], rtol=1e-9)
    assert model.t_ == N * (EPOCHS + 1)


# ---- several blocks in a shard


@pytest.mark.parametrize(
    ("mixing", "options"), [("mistakes", {}), ("uniform", {}), ("uniform", {"shuffle": False, "margin": 0.5})], ids=str
)
def test_partitions_of_a_shard_are_its_blocks(options, mixing, client, rng):
    X, y = gaussian(rng, N, 4, 3)
    blocks = [np.full(len(group), 12) for group in np.array_split(range(5), 2)]
    sizes = [36, 24]
    model = estimator(**options)
    distributed.fit(model, *chunked([12] * 5, X, y), client, mixing, shards=2, epochs=EPOCHS)
    orders = orders_of_blocks(blocks, EPOCHS) if not options else orders_of(sizes, EPOCHS, shuffle=False)
    run = mixed_reference(cut(sizes, X, y), orders, 3, mixing, margin=options.get("margin", 0.0))
    assert_same_mix(model, run, sizes, mixing)


@pytest.mark.parametrize("layout", ["dense", "csr32"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shuffle": False},
        *slow(
            {"margin": 0.4, "penalty": "l2", "alpha": 0.02}, {"multiclass": "ovo"}, {"step": "pa1", "random_state": 9}
        ),
    ],
    ids=str,
)
def test_one_shard_of_several_partitions_is_a_stream_of_them(options, layout, client, rng):
    X, y = gaussian(rng, N, 4, 3)
    local = rosenblatt(**options).fit_stream(
        blocks_of(LAYOUTS[layout](X), y, np.cumsum(SIZES)[:-1].tolist()), epochs=EPOCHS, classes=[0, 1, 2]
    )
    model = rosenblatt(**options)
    distributed.fit(model, *chunked(SIZES, X, y, layout=layout), client, shards=1, epochs=EPOCHS, classes=[0, 1, 2])
    same_as_local(model, local, X)


def test_a_stream_of_weighted_examples_too(client, rng):
    X, y = gaussian(rng, N, 4, 2)
    weights = rng.choice([0, 0.5, 1, 2, 3.25], N)
    blocks = blocks_of(X, y, np.cumsum(SIZES)[:-1].tolist(), weights)
    local = rosenblatt().fit_stream(blocks, epochs=EPOCHS, classes=[0, 1])
    rows, labels, shares = chunked(SIZES, X, y, weights)
    model = rosenblatt()
    distributed.fit(model, rows, labels, client, shards=1, epochs=EPOCHS, classes=[0, 1], sample_weight=shares)
    same_as_local(model, local, X)


@pytest.mark.parametrize("sizes", [(23, 0, 37), (0, 60), (60, 0)])
def test_an_empty_partition_is_no_block(sizes, client, rng):
    X, y = gaussian(rng, N, 4, 3)
    for shuffle in (False, True):
        blocks = blocks_of(X, y, np.cumsum(sizes)[:-1].tolist())
        local = rosenblatt(shuffle=shuffle).fit_stream(blocks, epochs=EPOCHS, classes=[0, 1, 2])
        model = rosenblatt(shuffle=shuffle)
        distributed.fit(model, *chunked(sizes, X, y), client, shards=1, epochs=EPOCHS, classes=[0, 1, 2])
        same_weights(model, local, X)


@pytest.fixture
def files(tmp_path, rng):
    """Four files of 15 rows, and what they say."""
    X, y = gaussian(rng, N, 4, 3)
    for k, (rows, labels) in enumerate(cut([15] * 4, X, y)):
        (tmp_path / f"part-{k}.svm").write_text(as_svmlight(rows, labels))
    return [str(tmp_path / f"part-{k}.svm") for k in range(4)], X, y


def test_one_shard_of_files_is_a_stream_of_them(files, client):
    paths, X, _ = files
    for options in ({}, {"shuffle": False, "margin": 0.5}):
        local = rosenblatt(**options).fit_stream(stream(*paths), epochs=EPOCHS, classes=[0, 1, 2])
        for given in (paths, paths[0].replace("part-0", "part-*")):
            model = rosenblatt(**options)
            distributed.fit(model, given, client=client, shards=1, epochs=EPOCHS, classes=[0, 1, 2])
            same_as_local(model, local, X)
    local = rosenblatt().fit_stream(stream(paths[0]), epochs=EPOCHS, classes=[0, 1, 2])
    model = distributed.fit(rosenblatt(), paths[0], client=client, shards=1, epochs=EPOCHS, classes=[0, 1, 2])
    same_as_local(model, local, X)


@mixings
def test_files_on_several_shards_are_mixed_as_in_the_reference(files, mixing, client):
    paths, X, y = files
    model = rosenblatt()
    distributed.fit(model, paths, None, client, mixing, shards=4, epochs=EPOCHS, format="svmlight")
    run = mixed_reference(cut([15] * 4, X, y), orders_of([15] * 4, EPOCHS), 3, mixing)
    assert_same_mix(model, run, [15] * 4, mixing)


# ---- one shard of one block


ONE = SETTINGS | {
    "last": {"combine": "last"},
    "ones": {"init": "ones"},
    "random": {"init": "random", "random_state": 3},
    "in order": {"shuffle": False},
    "balanced": {"class_weight": "balanced"},
    "pa": {"step": "pa"},
    "tol": {"tol": 0.05, "max_iter": 300},
    "tol, last": {"tol": 0.05, "max_iter": 30, "combine": "last"},
    "early stopping": {"early_stopping": True, "n_iter_no_change": 2, "max_iter": 30, "random_state": 4},
    "early stopping, last": {
        "early_stopping": True, "n_iter_no_change": 3, "max_iter": 30, "combine": "last", "validation_fraction": 0.3,
    },
    "ovr": {"multiclass": "ovr"},
    "ovo": {"multiclass": "ovo"},
    "ovo, batches": {"multiclass": "ovo", "batch_size": 4},
    "ovr, early stopping": {"multiclass": "ovr", "early_stopping": True, "n_iter_no_change": 2, "max_iter": 30},
}  # fmt: skip


@pytest.mark.parametrize("setting", ONE)
@pytest.mark.parametrize("k", [2, 3])
def test_one_shard_is_local_training(k, setting, client):
    rng = np.random.default_rng([k, 4])
    X, y = gaussian(rng, N, 4, k)
    local = estimator(k, **ONE[setting]).fit(X, y)
    given = (X, y) if k == 2 else chunked([N], X, y)
    model = distributed.fit(estimator(k, **ONE[setting]), *given, client, shards=1)
    same_as_local(model, local, X)


@pytest.mark.parametrize("options", [{}, {"margin": 0.5}, {"class_weight": {0: 2, 2: 0.5}}], ids=str)
def test_one_shard_of_several_labels_is_local_training(options, client, rng):
    X, Y = several_labels(rng, N)
    local = estimator(**options).fit(X, Y)
    for given in ((X, Y), chunked([N], X, Y)):
        same_as_local(distributed.fit(estimator(**options), *given, client, shards=1), local, X)


def test_sets_of_labels_are_learned_as_locally(client, rng):
    X, Y = several_labels(rng, N)
    y = [{"abc"[k] for k in np.flatnonzero(row)} for row in Y]
    local = estimator().fit(X, y)
    model = distributed.fit(estimator(), X, y, client, shards=1)
    assert np.array_equal(model.coef_, local.coef_)
    assert list(model.predict(X)) == list(local.predict(X))
    several = distributed.fit(estimator(), X, y, client, shards=3)
    rows = dealt(N, 3)
    orders = orders_of([20] * 3, EPOCHS)
    assert_same_mix(several, mixed_reference([(X[own], Y[own]) for own in rows], orders, 3, scheme="labels"), [20] * 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_shard_of_rows_of_every_kind_is_local_training(layout, dtype, client, rng):
    X, y = gaussian(rng, N, 5, 3)
    X = (X * (rng.random(X.shape) < 0.6)).astype(dtype)
    local = estimator().fit(LAYOUTS[layout](X), y)
    for given in ((LAYOUTS[layout](X), y), chunked([N], X, y, layout=layout)):
        same_as_local(distributed.fit(estimator(), *given, client, shards=1), local, X)


@pytest.mark.parametrize("options", [{}, {"margin": 0.3, "class_weight": {0: 3}}], ids=str)
def test_one_shard_of_weighted_examples_is_local_training(options, client, rng):
    X, y = gaussian(rng, N, 5, 2)
    weights = rng.choice([0, 0.5, 1, 2, 3.25], N)
    local = estimator(**options).fit(X, y, sample_weight=weights)
    same_as_local(distributed.fit(estimator(**options), X, y, client, shards=1, sample_weight=weights), local, X)
    rows, labels, shares = chunked([N], X, y, weights)
    model = distributed.fit(estimator(**options), rows, labels, client, shards=1, sample_weight=shares)
    same_as_local(model, local, X)


def test_one_shard_that_converges_is_local_training(client, rng):
    X = rng.standard_normal((N, 3))
    y = np.where(X @ [1, -2, 1] > 0, "right", "left")
    local = rosenblatt(combine="last", tol=None).fit(X, y)
    assert local.converged_
    model = distributed.fit(rosenblatt(combine="last", tol=None), X, y, client, shards=1)
    same_as_local(model, local, X)
    assert model.mixing_bound_.holds
    R = theory.radius(theory.with_ones(X))
    assert model.mixing_bound_.radius == pytest.approx(R)
    assert model.mixing_bound_.sum == local.n_updates_


def test_one_shard_takes_the_seed_that_local_training_takes(client, rng):
    X, y = gaussian(rng, N, 4, 2)
    local = estimator(random_state=np.random.RandomState(3)).fit(X, y)
    model = estimator(random_state=np.random.RandomState(3))
    same_weights(distributed.fit(model, X, y, client, shards=1), local, X)


def test_two_calls_learn_anew(client, rng):
    X, y = gaussian(rng, N, 4, 2)
    model = estimator()
    for _ in range(2):
        distributed.fit(model, X, y, client, shards=1)
    same_as_local(model, estimator().fit(X, y), X)
    model.fit(X, y)
    same_weights(model, estimator().fit(X, y), X)


# ---- local data dealt to shards


@pytest.mark.parametrize(("layout", "mixing"), [("dense", "mistakes"), ("csr32", "uniform")])
@pytest.mark.parametrize("shards", [2, 3, 7])
def test_local_rows_are_dealt_at_random(shards, layout, mixing, client, rng):
    X, y = gaussian(rng, N, 4, 3)
    X = X * (rng.random(X.shape) < 0.7)
    weights = rng.choice([0.5, 1, 2], N)
    rows = dealt(N, shards, 8)
    sizes = [len(own) for own in rows]
    model = estimator(random_state=8)
    distributed.fit(model, LAYOUTS[layout](X), y, client, mixing, shards=shards, sample_weight=weights)
    pieces = [(X[own], y[own], weights[own]) for own in rows]
    assert_same_mix(model, mixed_reference(pieces, orders_of(sizes, EPOCHS, 8), 3, mixing), sizes, mixing)


def test_a_shard_may_have_a_single_row_or_none_that_counts(client, rng):
    X, y = gaussian(rng, 12, 4, 3)
    rows = dealt(12, 12)
    model = distributed.fit(estimator(), X, y, client, shards=12)
    run = mixed_reference([(X[own], y[own]) for own in rows], [[[0]] * 12] * EPOCHS, 3)
    assert_same_mix(model, run, [1] * 12)
    rows = dealt(12, 3)
    weights = np.ones(12)
    weights[rows[1]] = 0
    model = distributed.fit(estimator(), X, y, client, shards=3, sample_weight=weights)
    run = mixed_reference([(X[own], y[own], weights[own]) for own in rows], orders_of([4] * 3, EPOCHS), 3)
    assert_same_mix(model, run, [4] * 3)


def test_balanced_classes_are_balanced_over_all_shards(client, rng):
    X, y = gaussian(rng, N, 4, 2)
    y[:] = np.arange(N) % 4 == 0  # 45 and 15: weights 1/3 and 1
    counts = np.bincount(y)
    balanced = {c: int(counts.min()) / int(counts[c]) for c in (0, 1)}
    orders = orders_of(SIZES, EPOCHS)
    run = mixed_reference(cut(SIZES, X, y), orders, 2, class_weight=balanced)
    model = distributed.fit(estimator(class_weight="balanced"), *chunked(SIZES, X, y), client, shards=3)
    assert_same_mix(model, run, SIZES)


def test_frames_are_learned_like_arrays(client, rng):
    X, y = gaussian(rng, N, 4, 3)
    frame = pd.DataFrame(X, columns=["one", "two", "three", "four"])
    labels = pd.Series(np.array(["m", "a", "x"])[y])
    codes = np.searchsorted(["a", "m", "x"], labels)
    local = estimator().fit(frame, labels)
    for rows, names in ((frame, labels), (dd.from_pandas(frame, npartitions=1), dd.from_pandas(labels, npartitions=1))):
        model = distributed.fit(estimator(), rows, names, client, shards=1)
        same_as_local(model, local, frame)
        assert model.feature_names_in_.tolist() == list(frame.columns)
    rows, names = dd.from_pandas(frame, npartitions=4), dd.from_pandas(labels, npartitions=4)
    sizes = [len(part) for part in rows.partitions]
    model = distributed.fit(estimator(), rows, names, client, shards=4)
    assert_same_mix(model, mixed_reference(cut(sizes, X, codes), orders_of(sizes, EPOCHS), 3), sizes)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.classes_.tolist() == ["a", "m", "x"]


def test_early_stopping_on_several_shards_returns_to_the_best_epoch(client):
    rng = np.random.default_rng(21)
    X, y = gaussian(rng, 200, 4, 2)
    sizes = (50, 80, 70)
    model = rosenblatt(early_stopping=True, validation_fraction=0.2, n_iter_no_change=2, max_iter=30, tol=None)
    distributed.fit(model, *chunked(sizes, X, y), client, shards=3)
    accuracies = [row["validation_accuracy"] for row in model.history_]
    best = int(np.argmax(accuracies))
    learned = model.history_[0]["shards"]["examples"]
    assert [round(0.8 * n) for n in sizes] == list(learned)
    assert_allclose(np.array(accuracies) * 40, np.round(np.array(accuracies) * 40), atol=1e-9)
    assert model.t_ == 160 * (best + 1)
    assert model.n_updates_ == sum(row["updates"] for row in model.history_[: best + 1])
    again = rosenblatt(early_stopping=True, validation_fraction=0.2, max_iter=best + 1, n_iter_no_change=50, tol=None)
    distributed.fit(again, *chunked(sizes, X, y), client, shards=3)
    same_weights(again, model, X)


# ---- shards, workers, clients


def test_shards_unless_named_are_as_many_as_threads_and_partitions_allow(client, rng):
    X, y = gaussian(rng, N, 4, 2)
    assert distributed.fit(estimator(), X, y, client).n_shards_ == 2
    assert distributed.fit(estimator(), *chunked(SIZES, X, y), client).n_shards_ == 2
    assert distributed.fit(estimator(), *chunked([N], X, y), client).n_shards_ == 1


def test_the_current_client_is_taken_unless_one_is_given(client, rng):
    X, y = gaussian(rng, N, 4, 2)
    model = distributed.fit(estimator(), X, y)
    assert model.n_shards_ == 2
    same_weights(model, distributed.fit(estimator(), X, y, client), X)


def test_the_number_of_workers_does_not_matter(client, rng):
    X, y = gaussian(rng, N, 4, 3)
    X = X * (rng.random(X.shape) < 0.7)
    more = Client(processes=False, n_workers=3, threads_per_worker=1, dashboard_address=":0", set_as_default=False)
    with more:
        assert len(more.scheduler_info()["workers"]) == 3
        for mixing in MIXINGS:
            for given in ((X, y), chunked(SIZES, X, y, layout="csr32")):
                models = [distributed.fit(estimator(), *given, each, mixing, shards=3) for each in (client, more)]
                same_weights(*models, X)
                told = [
                    [{**row, "shards": {**row["shards"], "seconds": None}} for row in without_seconds(model.history_)]
                    for model in models
                ]
                assert told[0] == told[1]


# ---- errors


def state(model):
    return {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in vars(model).items()}


def assert_unchanged(model, before):
    assert vars(model).keys() == before.keys()
    for name, value in before.items():
        assert np.array_equal(getattr(model, name), value) if isinstance(value, np.ndarray) else (
            getattr(model, name) is value or getattr(model, name) == value
        ), name  # fmt: skip


REFUSED = {
    "vote": ({"combine": "vote"}, {}),
    "pocket": ({"combine": "pocket"}, {}),
    "arow": ({"step": "arow"}, {}),
    "mixing": ({}, {"mixing": "median"}),
    "mixing None": ({}, {"mixing": None}),
    "no shards": ({}, {"shards": 0}),
    "negative shards": ({}, {"shards": -2}),
    "shards and a half": ({}, {"shards": 1.5}),
    "more shards than chunks": ({}, {"shards": 5}),
    "no epochs": ({}, {"epochs": 0}),
    "epochs and a half": ({}, {"epochs": 1.5}),
    "a bad parameter": ({"eta0": -1.0}, {}),
    "a bad step": ({"step": "huge"}, {}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_possible_is_refused_and_nothing_is_changed(case, client, rng):
    options, keywords = REFUSED[case]
    X, y = gaussian(rng, N, 4, 2)
    fresh, fitted = rosenblatt(**options), rosenblatt().fit(X, y).set_params(**options)
    for model in (fresh, fitted):
        before = state(model)
        with pytest.raises(ValueError):
            distributed.fit(model, *chunked(SIZES, X, y), **{"client": client, **keywords})
        assert_unchanged(model, before)


def bad_data(rng):
    X, y = gaussian(rng, N, 4, 2)
    nan, infinite = X.copy(), X.copy()
    nan[40, 2], infinite[59, 0] = np.nan, np.inf
    short = chunked((23, 8), X[:31], y[:31])[1]
    return {
        "nan": (chunked(SIZES, nan, y), {}),
        "inf": (chunked(SIZES, infinite, y), {}),
        "local nan": ((nan, y), {}),
        "fewer labels": ((chunked(SIZES, X)[0], short), {}),
        "local, fewer labels": ((X, y[:-1]), {}),
        "one class": (chunked(SIZES, X, np.zeros(N, int)), {}),
        "labels that are numbers": (chunked(SIZES, X, X[:, 0]), {}),
        "class not named": (chunked(SIZES, X, y), {"classes": [0, 5]}),
        "weights below 0": (chunked(SIZES, X, y), {"sample_weight": chunked(SIZES, X, -np.ones(N))[1]}),
        "fewer weights": ((X, y), {"sample_weight": np.ones(N - 1)}),
        "no rows": ((X[:0], y[:0]), {}),
        "more shards than rows": ((X[:10], y[:10]), {"shards": 11}),
    }


@pytest.mark.parametrize("case", bad_data(np.random.default_rng(0)))
def test_bad_data_are_refused_and_nothing_is_changed(case, client, rng):
    given, keywords = bad_data(rng)[case]
    X, y = gaussian(rng, N, 4, 2)
    for model in (rosenblatt(), rosenblatt().fit(X, y)):
        before = state(model)
        with pytest.raises(ValueError):
            distributed.fit(model, *given, **{"client": client, "shards": 3, **keywords})
        assert_unchanged(model, before)


def test_the_cluster_goes_on_after_an_error(client, rng):
    X, y = gaussian(rng, N, 4, 2)
    X[3, 1] = np.nan
    with pytest.raises(ValueError):
        distributed.fit(estimator(), *chunked(SIZES, X, y), client, shards=3)
    X[3, 1] = 0
    same_as_local(distributed.fit(estimator(), X, y, client, shards=1), estimator().fit(X, y), X)


# ---- answers where the chunks are


@pytest.mark.parametrize("layout", ["dense", "csr32"])
@pytest.mark.parametrize("k", [2, 3])
def test_answers_are_lazy_and_those_of_the_model(k, layout, client, rng):
    X, y = gaussian(rng, N, 4, k)
    weights = rng.choice([0.5, 1, 2], N)
    model = rosenblatt(tol=None, max_iter=3).fit(X, y)
    rows, labels, shares = chunked(SIZES, X, y, weights, layout=layout)
    predicted, scores = distributed.predict(model, rows), distributed.decision_function(model, rows)
    assert isinstance(predicted, da.Array)
    assert isinstance(scores, da.Array)
    assert np.array_equal(predicted.compute(), model.predict(LAYOUTS[layout](X)))
    assert np.array_equal(scores.compute(), model.decision_function(LAYOUTS[layout](X)))
    assert predicted.chunks[0] == scores.chunks[0] == SIZES
    right = distributed.score(model, rows, labels)
    assert isinstance(right, da.Array)
    assert right.shape == ()
    assert float(right) == pytest.approx(model.score(X, y), rel=1e-12)
    assert float(distributed.score(model, rows, labels, sample_weight=shares)) == pytest.approx(
        model.score(X, y, sample_weight=weights), rel=1e-12
    )


# ---- sequences


def chain_options(**more):
    return {"tol": None, "max_iter": 3, **more}


def shards_of(X, Y, rows):
    return [([X[i] for i in own], [Y[i] for i in own]) for own in rows]


CHAINS = {
    "plain": {},
    "in order": {"shuffle": False},
    "last": {"combine": "last"},
    "eta": {"eta0": 0.25},
    "margin": {"margin": 1.5},
    "hamming": {"cost": "hamming", "margin": 0.5},
    "pa1": {"step": "pa1"},
    "no transitions": {"transitions": False},
    "no start and stop": {"start_stop": False, "margin": 0.5},
}


def assert_same_told(model, mixed, sizes, mixing):
    assert (model.n_shards_, model.mixing_) == (len(sizes), mixing)
    for n, row in enumerate(model.history_):
        shards = row["shards"]
        assert list(shards["examples"]) == list(sizes)
        assert list(shards["mistakes"]) == mixed.mistakes[n]
        assert list(shards["updates"]) == mixed.updates[n]
        assert_allclose(shards["weights"], mixed.mu[n], rtol=1e-12)
        assert len(shards["seconds"]) == len(sizes)


def same_chains_as_local(model, local):
    assert_same_bits(model, local)
    for name in (*COUNTERS, "n_features_in_"):
        assert getattr(model, name) == getattr(local, name), name
    for ours, theirs in zip(without_seconds(model.history_), without_seconds(local.history_), strict=True):
        assert list(ours.pop("shards")["updates"]) == [ours["updates"]]
        assert ours.pop("loss") == pytest.approx(theirs.pop("loss"), rel=1e-9)
        assert ours.pop("norm") == pytest.approx(theirs.pop("norm"), rel=1e-6)
        assert ours == theirs


def clear_chains(make, n, mixing, given, bound=1e-9):
    """The first case of `make(seed)` where no decision is by rounding, which mixing by thirds would turn either way."""
    rows = dealt(n, 3, 2)
    orders = orders_of([len(own) for own in rows], 3, 2, given.get("shuffle", True))
    for seed in range(300):
        case = make(seed)
        X, Y, classes = case[:3]
        run, mixed = reference.chains(
            shards_of(X, Y, rows), orders, classes, X[0].shape[1], mixing=mixing, **told(given)
        )  # fmt: skip
        if run.closest > bound:
            return case, run, mixed
    raise AssertionError("no clear case")


@mixings
@pytest.mark.parametrize("setting", CHAINS)
def test_sequences_on_three_shards_are_mixed_as_in_the_reference(setting, mixing, client):
    given = CHAINS[setting]
    case, run, mixed = clear_chains(lambda seed: random_case(seed, n=14, values="real"), 14, mixing, given)
    X, Y = case[:2]
    M, lengths, y = flat(X, Y)
    options = chain_options(random_state=2, **given)
    lists = distributed.fit(SequencePerceptron(**options), as_dicts(X), Y, client, mixing, shards=3)
    assert_same_run(lists, run, names=names_of(4), tolerance=1e-9)
    assert_same_told(lists, mixed, [5, 5, 4], mixing)
    M = M if mixing == "mistakes" else sp.csr_matrix(M)
    model = distributed.fit(SequencePerceptron(**options), M, y, client, mixing, shards=3, lengths=lengths)
    assert_same_run(model, run, tolerance=1e-9)
    assert_same_told(model, mixed, [5, 5, 4], mixing)


@pytest.mark.parametrize("kind", ["two", *slow("bio", "dict")])
def test_words_and_rules_about_labels_on_several_shards(kind, client):
    S, Y, X, names, allowed = random_words(32, kind)
    classes = sorted({name for y in Y for name in y})
    rows = dealt(12, 4)  # quarters are exact
    given = {"allowed": allowed, "margin": 0.5}
    orders = orders_of([3] * 4, 3)
    run, mixed = reference.chains(shards_of(X, Y, rows), orders, classes, len(names), mixing="uniform", **told(given))
    model = distributed.fit(SequencePerceptron(**chain_options(**given)), S, Y, client, "uniform", shards=4)
    assert_same_run(model, run, names=names, dtype=np.float32)
    assert_same_told(model, mixed, [3] * 4, "uniform")


ONE_CHAIN = CHAINS | {
    "tol": {"tol": 0.05, "max_iter": 100},
    "early stopping": {"early_stopping": True, "n_iter_no_change": 2, "max_iter": 30, "validation_fraction": 0.3},
}


@pytest.mark.parametrize("setting", ONE_CHAIN)
def test_one_shard_of_sequences_is_local_training(setting, client):
    X, Y, _, _ = random_case(33, n=20)
    options = chain_options(**ONE_CHAIN[setting])
    local = SequencePerceptron(**options).fit(as_dicts(X), Y)
    model = distributed.fit(SequencePerceptron(**options), as_dicts(X), Y, client, shards=1)
    same_chains_as_local(model, local)
    assert model.attributes_.tolist() == local.attributes_.tolist()
    assert model.predict(as_dicts(X)) == local.predict(as_dicts(X))
    M, lengths, y = flat(X, Y)
    for form in (lambda X: X, sp.csr_matrix) if setting == "plain" else (lambda X: X.astype(np.float32),):
        local = SequencePerceptron(**options).fit(form(M), y, lengths=lengths)
        model = distributed.fit(SequencePerceptron(**options), form(M), y, client, shards=1, lengths=lengths)
        same_chains_as_local(model, local)


def test_one_shard_of_sequences_that_converges_is_local_training(client):
    X, Y, _, _ = random_case(38, n=8, values="real")
    shown = [[[float(name == label) for label in "abc"] for name in y] for y in Y]
    X = [np.hstack([x, marks]) for x, marks in zip(X, shown, strict=True) if marks]
    Y = [y for y in Y if y]
    local = SequencePerceptron(max_iter=50).fit(as_dicts(X), Y)
    assert local.converged_
    same_chains_as_local(distributed.fit(SequencePerceptron(max_iter=50), as_dicts(X), Y, client, shards=1), local)
    model = distributed.fit(SequencePerceptron(max_iter=50, combine="last"), as_dicts(X), Y, client, shards=3)
    assert model.stop_reason_ == "converged"
    assert model.predict(as_dicts(X)) == Y


def test_one_shard_of_words_is_local_training(client):
    S, Y, _, _, _ = random_words(34)
    local = SequencePerceptron().fit(S, Y)
    model = distributed.fit(SequencePerceptron(), S, Y, client, shards=1)
    same_chains_as_local(model, local)
    assert model.predict(S) == local.predict(S)


def test_a_bag_of_sequences_has_a_shard_a_partition(client):
    X, Y, classes, _ = random_case(37, n=12)
    pairs = list(zip(as_dicts(X), Y, strict=True))
    local = SequencePerceptron().fit(as_dicts(X), Y)
    bag = db.from_sequence(pairs, npartitions=1)
    model = distributed.fit(SequencePerceptron(), bag, client=client, shards=1)
    same_chains_as_local(model, local)
    rows = np.array_split(np.arange(12), 4)
    orders = orders_of([3] * 4, 3)
    run, mixed = reference.chains(shards_of(X, Y, rows), orders, classes, 4, mixing="uniform")
    bag = db.from_sequence(pairs, partition_size=3)
    model = distributed.fit(SequencePerceptron(**chain_options()), bag, None, client, "uniform", shards=4)
    assert_same_run(model, run, names=names_of(4))
    assert_same_told(model, mixed, [3] * 4, "uniform")
    asked = db.from_sequence(as_dicts(X), partition_size=5)
    assert list(distributed.predict(model, asked).compute()) == model.predict(as_dicts(X))


def test_a_shard_need_not_have_all_labels_and_features_of_sequences(client):
    X, Y, _, _ = random_case(43, n=12, values="real")
    hidden = [[1, 1, 0, 0]] * 4 + [[0, 0, 1, 1]] * 4 + [[1, 1, 1, 1]] * 4
    X = [x * shown for x, shown in zip(X, hidden, strict=True)]
    Y[:4], Y[4:8] = [["a"] * len(y) for y in Y[:4]], [["b"] * len(y) for y in Y[4:8]]
    bag = db.from_sequence(list(zip(as_dicts(X), Y, strict=True)), partition_size=4)
    model = distributed.fit(SequencePerceptron(**chain_options()), bag, None, client, shards=3)
    rows = np.array_split(np.arange(12), 3)
    run, mixed = reference.chains(shards_of(X, Y, rows), orders_of([4] * 3, 3), ["a", "b", "c"], 4)
    assert run.closest > 1e-9
    assert_same_run(model, run, names=names_of(4), tolerance=1e-9)
    assert_same_told(model, mixed, [4] * 3, "mistakes")


def test_partitions_of_a_bag_are_the_blocks_of_a_shard(client):
    X, Y, classes, _ = random_case(41, n=12, values="real")
    bag = db.from_sequence(list(zip(as_dicts(X), Y, strict=True)), partition_size=4)
    model = distributed.fit(SequencePerceptron(**chain_options()), bag, None, client, shards=1)
    run, _ = reference.chains([(X, Y)], orders_of_blocks([[4, 4, 4]], 3), classes, 4)
    assert_same_run(model, run, names=names_of(4), tolerance=1e-9)


def test_one_shard_of_column_files_is_local_training(client, tmp_path, rng):
    X = [[f"w{k}" for k in rng.integers(0, 5, 1 + n % 4)] for n in range(12)]
    Y = [["ab"[k] for k in rng.integers(0, 2, len(x))] for x in X]
    path = tmp_path / "words.conll"
    path.write_text("\n".join("".join(f"{word} {label}\n" for word, label in zip(*both)) for both in zip(X, Y)))  # noqa: B905
    options = {"templates": FeatureTemplates(["word", "word[-1]"]), "max_iter": 4}
    local = SequencePerceptron(**options).fit(X, Y)
    model = distributed.fit(SequencePerceptron(**options), [str(path)], client=client, shards=1)
    same_chains_as_local(model, local)


def test_sequences_do_not_depend_on_the_number_of_workers(client):
    X, Y, _, _ = random_case(35, n=20)
    more = Client(processes=False, n_workers=3, threads_per_worker=1, dashboard_address=":0", set_as_default=False)
    with more:
        one, other = (
            distributed.fit(SequencePerceptron(), as_dicts(X), Y, each, shards=4, epochs=3) for each in (client, more)
        )
    assert_same_bits(one, other)


@pytest.mark.parametrize(
    "keywords", [{"mixing": "median"}, {"shards": 0}, {"shards": 21}, {"epochs": 0}], ids=lambda given: str(given)
)
def test_sequences_are_refused_alike(keywords, client):
    X, Y, _, _ = random_case(36, n=20)
    for model in (SequencePerceptron(), SequencePerceptron().fit(as_dicts(X), Y)):
        before = state(model)
        with pytest.raises(ValueError):
            distributed.fit(model, as_dicts(X), Y, **{"client": client, **keywords})
        assert_unchanged(model, before)
