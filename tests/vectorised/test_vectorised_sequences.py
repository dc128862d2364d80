"""What takes the place of compiled loops over sequences, votes and single rows gives what they give."""

import numpy as np
import pytest

from perceptrons.hashing import SECRET
from perceptrons.passes import attributes as loops
from perceptrons.passes import viterbi, weight_pool
from perceptrons.passes.attributes import COUNT, FIND, HASH, NUMBER, FeatureTable, Lookup, Templates, Views
from perceptrons.passes.one_example import score_row, score_row_by_numpy
from perceptrons.passes.voting import (
    binary_votes,
    binary_votes_by_numpy,
    multiclass_votes,
    multiclass_votes_by_numpy,
)
from perceptrons.rows import Sparse
from perceptrons.sequence.chain_weights import ChainWeights
from perceptrons.vectorised import attributes as attributes_by_numpy
from perceptrons.vectorised import chains
from perceptrons.vectorised import weight_pool as pool_by_numpy


def weights_of(rng, K, n_features, kind=np.float32):
    """Weights of some labels of some features, as a tagger has them, and what they were made of."""
    features = np.flatnonzero(rng.random(n_features) < 0.7)
    sizes = rng.integers(1, K + 1, len(features))
    sizes[rng.random(len(sizes)) < 0.5] = 1
    labels = np.concatenate([np.sort(rng.permutation(K)[:size]) for size in sizes]).astype(np.int32)
    w = rng.integers(-9, 10, len(labels)).astype(kind)  # whole numbers: sums are exact in any order
    weights = ChainWeights(n_features, K, kind)
    weights.fill(features, sizes, labels, w, rng.standard_normal(len(labels)))
    return weights, (features, sizes, labels, w)


def rows_of(rng, n_tokens, n_features):
    ends = np.concatenate([[0], np.cumsum(rng.integers(0, 9, n_tokens))])
    return Sparse(np.ones(ends[-1], np.float32), rng.integers(0, n_features, ends[-1]).astype(np.int32), ends)


@pytest.mark.parametrize("K", [2, 9, 64, 70, 130])
def test_weights_are_put_listed_and_spread_alike(rng, K, monkeypatch):
    n = 50
    seed = int(rng.integers(2**32))
    weights, given = weights_of(np.random.default_rng(seed), K, n)
    from perceptrons.sequence import chain_weights

    monkeypatch.setattr(chain_weights, "put_weights", pool_by_numpy.put_weights)
    other, _ = weights_of(np.random.default_rng(seed), K, n)
    assert all(np.array_equal(a, b) for a, b in zip(weights.table, other.table, strict=True))
    assert np.array_equal(weights.w, other.w)
    assert np.array_equal(weights.late_w, other.late_w)
    state = (weights.table, (weights.w, weights.late_w), n, K)
    assert pool_by_numpy.count_weights(*state) == weight_pool.count_weights(*state) > 0
    size = weight_pool.count_weights(*state)
    lists = []
    for version in (weight_pool, pool_by_numpy):
        lists.append((np.empty(size, int), np.empty(size, np.int32), np.empty(size, np.float32), np.empty(size)))
        version.list_weights(*state, *lists[-1])
    assert all(np.array_equal(a, b) for a, b in zip(*lists, strict=True))
    which, tall = rng.permutation(n)[:30], [np.full((30, K), np.nan, np.float32) for _ in range(2)]
    weight_pool.spread_out(weights.table, weights.w, which, tall[0])
    pool_by_numpy.spread_out(weights.table, weights.w, which, tall[1])
    assert np.array_equal(*tall)
    assert len(given[0]) > 5


@pytest.mark.parametrize("K", [2, 9, 70])
@pytest.mark.parametrize("forbidden", [0.0, 0.4, 0.97])
def test_sequences_get_the_same_labels_and_scores(rng, K, forbidden, monkeypatch):
    monkeypatch.setattr(chains, "AT_ONCE", 40 * K)  # several parts, and several pieces of a step
    lengths = np.r_[0, 1, rng.integers(0, 12, 40), 300, 0]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    weights, _ = weights_of(rng, K, 60)
    rows = rows_of(rng, starts[-1], 60)
    arcs = rng.integers(-20, 20, (K + 1, K + 1)).astype(np.float32)
    barrier = np.where(rng.random(arcs.shape) < forbidden, -np.inf, 0).astype(np.float32)
    bridge = viterbi.bridges(arcs, barrier)
    desk, labels = viterbi.new_desk(300, K, np.float32), [np.zeros(starts[-1], np.int32) for _ in range(2)]
    given = rows, starts, weights.table, weights.w, bridge
    first = viterbi.tag(*given, desk, labels[0])
    assert chains.tag(*given, desk, labels[1]) == first
    good = starts[-1] if first < 0 else starts[first]
    assert np.array_equal(labels[0][:good], labels[1][:good])
    scores = [np.zeros((starts[-1], K)) for _ in range(2)]
    viterbi.best_through(*given, scores[0])
    chains.best_through(*given, scores[1])
    assert np.array_equal(*scores)


@pytest.mark.parametrize("mode", [FIND, COUNT, NUMBER, HASH])
def test_templates_find_and_number_the_same_features(rng, mode, monkeypatch):
    monkeypatch.setattr(attributes_by_numpy, "AT_ONCE", 200)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 9, 60))])
    n = int(starts[-1])
    codes = rng.integers(0, 8, (2, n)).astype(np.int32)
    views = Views(codes, np.array([0, 1, 1]), np.array([0, 8, 16]), rng.integers(-1, 5, 24))
    looks = np.array([[0, -1, -1, -1], [0, 1, -1, -1], [2, 0, 1, 2], [-1, -1, -1, -1], [1, 1, 2, -1]], np.int32)
    offset = rng.integers(-2, 3, looks.shape).astype(np.int32)
    templates = Templates(looks, offset, np.arange(1, 6) if mode != HASH else rng.integers(1, 2**32, 5))
    found = []
    for version in (loops, attributes_by_numpy):
        table = FeatureTable(np.zeros((2**14, 2), np.uint64), np.zeros(2**14, np.int32), np.zeros(2, np.int64), SECRET)
        columns, ends = np.zeros(5 * n, np.int32), np.zeros(n + 1, np.int64)
        for how in (mode,) if mode == HASH else (COUNT, NUMBER, mode):
            columns[:], ends[:] = 0, 0
            half = starts[: len(starts) // 2] if how != mode else starts  # later ones are new, or not known
            with np.errstate(over="ignore"):
                at = version.attributes(views, templates, half, 0, table, Lookup(how, 2, 2**9 - 1), columns, ends)
            assert at == len(half) - 1
        used = table.keys[:, 0] != 0
        entries = sorted(zip(table.keys[used].tolist(), table.numbers[used].tolist(), strict=True))
        found.append((columns.tolist(), ends.tolist(), table.counts.tolist(), entries))
    assert found[0] == found[1]
    assert found[0][1][-1] > 0 or mode == COUNT


def test_a_table_of_features_that_is_too_small_has_to_grow(rng):
    starts, codes = np.array([0, 50]), np.arange(50, dtype=np.int32)[None]
    views = Views(codes, np.array([0]), np.array([0]), np.arange(50))
    templates = Templates(np.array([[0, -1, -1, -1]], np.int32), np.zeros((1, 4), np.int32), np.array([1]))
    table = FeatureTable(np.zeros((16, 2), np.uint64), np.zeros(16, np.int32), np.zeros(2, np.int64), SECRET)
    columns, ends = np.zeros(50, np.int32), np.zeros(51, np.int64)
    for version in (loops, attributes_by_numpy):
        assert version.attributes(views, templates, starts, 0, table, Lookup(NUMBER, 1, 0), columns, ends) == 0
        assert not table.keys.any()


@pytest.mark.parametrize("average", [True, False])
def test_a_row_has_the_same_scores_to_the_bit(rng, average, dtype):
    w, late = rng.standard_normal((3, 40)).astype(dtype), rng.standard_normal((3, 40))
    b, late_b = rng.standard_normal(3).astype(dtype), rng.standard_normal(3)
    clock = np.abs(rng.standard_normal((1, 8)))
    for n, limit in ((0, 1e9), (30, 1e9), (30, 0.1)):
        values, columns = rng.standard_normal(n).astype(dtype), rng.integers(0, 40, n).astype(np.int32)
        s = np.zeros(3, dtype), np.zeros(3, dtype)
        for version, out in zip((score_row, score_row_by_numpy), s, strict=True):
            version(values, columns, limit, average, w, b, late, late_b, clock, out)
        assert np.array_equal(*s, equal_nan=True)
        assert np.isnan(s[0][0]) == (limit == 0.1)


def test_votes_are_counted_alike(rng):
    n, m, updates, K = 30, 10, 50, 4
    G, support = rng.integers(-5, 6, (n, m)) * 1.0, rng.integers(0, m, updates)
    counts, faded = rng.integers(1, 9, updates + 1) * 1.0, rng.choice([1.0, 0.5], updates)
    for at_zero in (True, False):
        votes = np.zeros(n), np.zeros(n)
        for version, out in zip((binary_votes, binary_votes_by_numpy), votes, strict=True):
            version(G, support, np.where(support % 2, 1.0, -1.0), faded, counts, at_zero, np.zeros(n), out)
        assert np.array_equal(*votes)
    y = rng.integers(0, K, updates)
    y_hat, several = (y + rng.integers(1, K, updates)) % K, (np.zeros((n, K)), np.zeros((n, K)))
    for version, out in zip((multiclass_votes, multiclass_votes_by_numpy), several, strict=True):
        version(G, support, y, y_hat, np.ones(updates), faded, counts, np.zeros((n, K)), out)
    assert np.array_equal(*several)
    assert several[0].sum() == n * counts.sum()
