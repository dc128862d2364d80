"""Learning from blocks: the same weights as in memory, honest counts, and a sound model whatever goes wrong."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from perceptrons.data import DataFileError, source, stream
from tests.conftest import as_csr, gaussian, whole_numbers
from tests.reference import binary, multiclass
from tests.reference import stream as reference
from tests.support.blocks import (
    BoomError,
    as_svmlight,
    blocks_of,
    failing,
    fitted,
    in_order,
    same,
    same_weights,
    threads_end,
)
from tests.support.lecture import rosenblatt
from tests.support.tiers import slow

COST = [[0, 1, 3], [0.5, 0, 1], [2, 1, 0]]
SETTINGS = {
    "plain": {},
    "last": {"combine": "last"},
    "vote": {"combine": "vote"},
    "eta": {"eta0": 0.3},
    "margin": {"margin": 0.7},
    "l2": {"penalty": "l2", "alpha": 0.03},
    "l2, margin, last": {"penalty": "l2", "alpha": 0.1, "margin": 0.2, "combine": "last"},
    "pa": {"step": "pa"},
    "pa1": {"step": "pa1", "C": 0.1},
    "pa2": {"step": "pa2", "C": 0.1, "combine": "last"},
    "arow": {"step": "arow"},
    "arow, no intercept": {"step": "arow", "fit_intercept": False},
    "no intercept": {"fit_intercept": False},
    "ones": {"init": "ones"},
    "random": {"init": "random", "random_state": 3},
    "negative": {"zero_score": "negative"},
    "correct": {"zero_score": "correct", "init": "ones"},
    "class weight": {"class_weight": {0: 0.5, 1: 2.5}},
    "ovr": {"multiclass": "ovr"},
    "ovo": {"multiclass": "ovo"},
    "ovr, last": {"multiclass": "ovr", "combine": "last"},
    "ovo, pa1": {"multiclass": "ovo", "step": "pa1"},
}


@pytest.mark.parametrize("k", [*slow(2), 3])
@pytest.mark.parametrize("setting", SETTINGS)
def test_in_order_the_weights_are_those_of_a_fit_in_memory(setting, k, form, rng):
    X, y = gaussian(rng, 90, 6, k)
    y = np.array(["b", "a", "c"])[y] if "class" not in setting else y
    X = form(X * (rng.random(X.shape) < 0.6))
    model = in_order(**SETTINGS[setting]).fit_stream(blocks_of(X, y, [20, 21, 50, 77]), epochs=4)
    same(model, fitted(X, y, 4, **SETTINGS[setting]), X)
    assert model.n_iter_ == 4


@pytest.mark.parametrize("setting", ["plain", "pa1", *slow("vote", "ovr")])
def test_in_order_the_weights_are_those_of_a_fit_in_memory_of_any_type(setting, form, dtype, rng):
    X, y = gaussian(rng, 60, 6, 3)
    X = form((X * (rng.random(X.shape) < 0.6)).astype(dtype))
    model = in_order(**SETTINGS[setting]).fit_stream(blocks_of(X, y, [11, 30]), epochs=3)
    same(model, fitted(X, y, 3, **SETTINGS[setting]), X)
    assert model.coef_last_.dtype == dtype


def test_indices_of_64_bits_are_learned_alike(rng):
    X, y = gaussian(rng, 60, 6, 3)
    X = as_csr(X * (rng.random(X.shape) < 0.6), np.int64)
    for cache in (None, False):
        model = in_order().fit_stream(blocks_of(X, y, [11, 30]), epochs=3, cache=cache)
        same(model, fitted(X, y, 3), X)


@pytest.mark.parametrize(
    "parameters", [{"cost": COST}, {"cost": COST, "margin": 0.5, "penalty": "l2", "alpha": 0.02, "combine": "last"}]
)
def test_costs_are_those_of_a_fit_in_memory(parameters, form, rng):
    X, y = gaussian(rng, 90, 6, 3)
    X = form(X)
    model = in_order(**parameters).fit_stream(blocks_of(X, y, [20, 50]), epochs=3)
    same(model, fitted(X, y, 3, **parameters), X)


@pytest.mark.parametrize("setting", ["plain", "last", "vote", "pa", "l2", "class weight"])
def test_weights_of_examples_are_those_of_a_fit_in_memory(setting, form, rng):
    X, y = gaussian(rng, 90, 6, 2)
    X, weight = form(X), rng.choice([0.0, 0.3, 1.0, 2.5], 90)
    model = in_order(**SETTINGS[setting]).fit_stream(blocks_of(X, y, [20, 50], weight), epochs=3)
    same(model, fitted(X, y, 3, weight, **SETTINGS[setting]), X)


@pytest.mark.parametrize("combine", ["average", "last"])
def test_several_labels_an_example_come_as_an_indicator(combine, form, rng):
    X, _ = gaussian(rng, 80, 5, 2)
    Y = (X @ rng.standard_normal((5, 3)) + 0.5 * rng.standard_normal((80, 3)) > 0).astype(int)
    X = form(X)
    model = in_order(combine=combine).fit_stream(blocks_of(X, Y, [13, 40]), epochs=3)
    expected = fitted(X, Y, 3, combine=combine)
    same(model, expected, X)
    assert model.predict(X).shape == (80, 3)


def test_the_weights_are_those_of_the_lecture(rng):
    X, y = whole_numbers(rng, 50, 5, 2)
    model = in_order(combine="last").fit_stream(blocks_of(X, y, [7, 8, 30]), epochs=3)
    run = binary.train(X, 2 * y - 1, [range(50)] * 3, stop=True)
    assert np.array_equal(model.coef_last_[0], run.w)
    assert model.intercept_last_[0] == run.b
    np.testing.assert_allclose(model.coef_average_[0], run.average_w, atol=1e-12)
    assert model.mistakes_.tolist() == run.mistakes
    X, y = whole_numbers(rng, 50, 5, 3)
    model = in_order(combine="last").fit_stream(blocks_of(X, y, [7, 8, 30]), epochs=3)
    run = multiclass.train(X, y, [range(50)] * 3, 3, stop=True)
    assert np.array_equal(model.coef_last_, run.theta)
    np.testing.assert_allclose(model.coef_average_, run.average_theta, atol=1e-12)
    assert model.mistakes_.tolist() == run.mistakes


CUT_X, CUT_Y = gaussian(np.random.default_rng(3), 40, 5, 3)


@given(
    st.sets(st.integers(1, 39), max_size=8).map(sorted),
    st.sampled_from(["average", "vote"]),
    st.booleans(),
    st.integers(1, 3),
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@example(list(range(1, 40)), "average", False, 2)
def test_the_cut_into_blocks_does_not_matter(cuts, combine, sparse, epochs):
    X = sp.csr_matrix(CUT_X) if sparse else CUT_X
    model = in_order(combine=combine).fit_stream(blocks_of(X, CUT_Y, cuts), epochs=epochs, classes=[0, 1, 2])
    same(model, fitted(X, CUT_Y, epochs, combine=combine), X)
    assert [n for n, _ in model.progress_] == [1, 2, 4, 8, 16, 32, 40]


@pytest.mark.parametrize("combine", ["average", "last", "vote"])
@pytest.mark.parametrize("cache", [None, False])
def test_columns_may_grow(combine, form, cache, rng):
    X, y = whole_numbers(rng, 60, 8, 3)
    X[:20, 3:] = 0
    X[20:40, 5:] = 0
    parts = [(form(X[:20, :3]), y[:20]), (form(X[20:40, :5]), y[20:40]), (form(X[40:]), y[40:])]
    model = in_order(combine=combine).fit_stream(parts, epochs=3, cache=cache)
    same(model, fitted(form(X), y, 3, combine=combine), form(X))
    assert model.n_features_in_ == 8


def test_classes_may_be_named_that_come_late_or_never(rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    y = np.sort(y)
    model = in_order().fit_stream(blocks_of(X, y, [5, 20, 40]), epochs=3, classes=[0, 1, 2])
    same(model, fitted(X, y, 3), X)
    model = in_order().fit_stream(blocks_of(X, y, [30]), classes=[0, 1, 2, 7])
    with pytest.warns(UserWarning, match="sorted by label"):
        expected = in_order().partial_fit(X, y, classes=[0, 1, 2, 7])
    same_weights(model, expected, X)
    with pytest.raises(ValueError, match="2"):
        in_order().fit_stream(blocks_of(X, y, [30]), classes=[0, 1])


@pytest.mark.parametrize("combine", ["average", "last", "vote", "pocket"])
@pytest.mark.parametrize("first", [1, 2])
def test_a_class_that_comes_late_is_learned_from_there_on(combine, first, rng):
    X, y = whole_numbers(rng, 80, 5, 4)
    y[:20] %= first
    y[20:40] %= 2
    y[40:60] %= 3
    parts = blocks_of(X, np.array(["m", "c", "x", "a"])[y], [20, 40, 60])
    model = in_order(combine=combine).fit_stream(parts)
    expected = in_order(combine=combine)
    for part in parts:
        expected.partial_fit(*part)
    same_weights(model, expected, X)
    for name in ("t_", "n_updates_", "n_mistakes_"):
        assert getattr(model, name) == getattr(expected, name)
    assert model.classes_.tolist() == ["a", "c", "m", "x"]


@pytest.mark.parametrize("size", [3, 5, 10, "all"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_batch_never_crosses_a_block(size, k, form, rng):
    X, y = gaussian(rng, 70, 5, k)
    X = form(X)
    parts = blocks_of(X, y, [12, 30, 51])
    model = in_order(batch_size=size).fit_stream(parts)
    expected = in_order(batch_size=size)
    for part in parts:
        expected.partial_fit(*part)
    same_weights(model, expected, X)
    assert model.n_updates_ == expected.n_updates_
    assert model.n_mistakes_ == expected.n_mistakes_


def test_blocks_of_whole_batches_learn_as_a_fit_in_memory(form, rng):
    X, y = gaussian(rng, 70, 5, 2)
    X = form(X)
    model = in_order(batch_size=10).fit_stream(blocks_of(X, y, [10, 40]), epochs=4)
    same(model, fitted(X, y, 4, batch_size=10), X)


def test_a_second_fit_begins_anew_and_a_fit_after_it_too(rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    parts = blocks_of(X, y, [20])
    once, model = in_order().fit_stream(parts, epochs=2), in_order().fit(X[:9, :2], np.arange(9) % 4)
    for _ in range(2):
        assert model.fit_stream(parts, epochs=2) is model
        same(model, once, X)
        assert model.progress_ == once.progress_
    model.fit(X, y)
    same(model, in_order().fit(X, y), X)


def test_learning_goes_on_after_a_stream(rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    model = in_order().fit_stream(blocks_of(X[:40], y[:40], [20])).partial_fit(X[40:], y[40:])
    same_weights(model, in_order().partial_fit(X, y), X)


# ---- where blocks come from


class Again:
    """An iterable that is no list, and counts how often it is begun."""

    def __init__(self, parts):
        self.parts, self.begun = parts, 0

    def __iter__(self):
        self.begun += 1
        return iter(self.parts)


def test_blocks_come_from_anything_that_can_be_iterated(rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    parts = blocks_of(X, y, [20, 50])
    expected = fitted(X, y, 3)
    for reader in (parts, tuple(parts), iter(parts), (part for part in parts), Again(parts), map(tuple, parts)):
        same(in_order().fit_stream(reader, epochs=3), expected, X)
    again = Again(parts)
    same(in_order().fit_stream(again, epochs=3, cache=False), expected, X)
    assert again.begun == 3
    again = Again(parts)
    in_order().fit_stream(again, epochs=3)
    assert again.begun == 1, "later epochs read the cache"
    as_lists = [(part.tolist(), labels.tolist()) for part, labels in parts]
    same(in_order().fit_stream(as_lists, epochs=3), expected, X)


def test_what_can_be_read_only_once_needs_the_cache_for_more_epochs(rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    same(in_order().fit_stream(iter(blocks_of(X, y, [20])), cache=False), fitted(X, y, 1), X)
    with pytest.raises(ValueError, match=r"(?i)once|cache|again"):
        in_order().fit_stream(iter(blocks_of(X, y, [20])), epochs=3, cache=False)


def test_a_source_that_fills_the_same_array_again_and_again_is_learned_right(rng):
    X, y = whole_numbers(rng, 60, 5, 3)

    def refilled():
        room, labels = np.empty((10, 5)), np.empty(10, int)
        for begin in range(0, 60, 10):
            room[:], labels[:] = X[begin : begin + 10], y[begin : begin + 10]
            yield room, labels

    for epochs in (1, 3):
        same(in_order().fit_stream(refilled(), epochs=epochs), fitted(X, y, epochs), X)


def test_inputs_are_never_modified(form, rng):
    X, y = gaussian(rng, 60, 5, 3)
    weight = rng.random(60)
    parts = blocks_of(form(X), y, [20, 50], weight)
    copies = [(part.copy(), labels.copy(), shares.copy()) for part, labels, shares in parts]
    for part, labels, shares in parts:
        for array in (*((part.data, part.indices, part.indptr) if sp.issparse(part) else (part,)), labels, shares):
            array.flags.writeable = False
    for shuffle in (True, False):
        rosenblatt(shuffle=shuffle, step="arow").fit_stream(parts, epochs=3)
    for part, copy in zip(parts, copies, strict=True):
        for array, before in zip(part, copy, strict=True):
            assert (array != before).sum() == 0


@pytest.fixture
def svm(tmp_path, monkeypatch):
    """A file of many small blocks, its rows and labels."""
    monkeypatch.setattr(source, "PIECE", 900)
    rng = np.random.default_rng(5)
    X, y = gaussian(rng, 120, 7, 3)
    X *= rng.random(X.shape) < 0.6
    path = tmp_path / "a.svm"
    path.write_text(as_svmlight(X, y).removesuffix("\n"))
    return path, sp.csr_matrix(X), y


@pytest.mark.parametrize("combine", ["average", "vote"])
def test_a_file_is_learned_as_its_rows_in_memory(svm, combine):
    path, X, y = svm
    assert len(list(stream(path))) > 5
    for cache in (None, False):
        model = in_order(combine=combine).fit_stream(stream(path), epochs=3, cache=cache)
        same(model, fitted(X, y, 3, combine=combine), X)
    assert stream(path, **model.source_).format == "svmlight"
    assert model.source_["zero_based"] is False


@pytest.mark.parametrize("cache", [None, False])
def test_a_file_whose_features_come_late_is_learned_as_its_rows_in_memory(tmp_path, monkeypatch, cache):
    monkeypatch.setattr(source, "PIECE", 20)
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{k % 2} {k + 1}:1 {k // 2 + 1}:2\n" for k in range(20)))
    X = sp.vstack([sp.csr_matrix(([1.0, 2.0], ([0, 0], [k, k // 2])), (1, 20)) for k in range(20)], format="csr")
    reader = stream(path)
    model = in_order().fit_stream(reader, epochs=3, cache=cache, classes=[0, 1])
    same(model, fitted(X, np.arange(20) % 2, 3), X)
    assert reader.n_features in (None, 20)
    assert model.n_features_in_ == 20


def test_a_reader_that_skips_bad_records_is_learned_without_them(svm):
    path, X, y = svm
    lines = path.read_text().split("\n")
    for k in (100, 50, 0):
        lines.insert(k, "1 1:x")
    path.write_text("\n".join(lines))
    reader = stream(path, on_error="skip")
    same(in_order().fit_stream(reader, epochs=3), fitted(X, y, 3), X)
    assert reader.skipped == 3
    with pytest.raises(DataFileError, match=r"a\.svm:1:3"):
        in_order().fit_stream(stream(path))


def test_a_pipe_is_learned_in_several_epochs(svm, monkeypatch):
    import io
    import sys

    path, X, y = svm
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    same(in_order().fit_stream(stream("-", format="svmlight"), epochs=3), fitted(X, y, 3), X)


# ---- progress, history, watch


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("cuts", [[], [1, 2, 3], [7, 32, 64]])
def test_progress_counts_what_was_predicted_wrong_before_it_was_learned(k, cuts, rng):
    X, y = whole_numbers(rng, 100, 5, k)
    model = in_order(combine="last", zero_score="negative").fit_stream(
        blocks_of(X, y, cuts), epochs=2, classes=range(k)
    )
    literal = in_order(combine="last", zero_score="negative")
    wrong = []
    for x, label in zip(X, y.tolist(), strict=True):
        wrong.append(int(label != (literal.predict_one(x) if wrong else 0)))  # all scores 0: the first class
        literal.partial_fit(x[None], [label], classes=range(k))
    assert model.progress_ == reference.marks(wrong)
    assert 0 < sum(wrong) < 100


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s not in ("class weight", "ones", "random", "correct")])
def test_progress_counts_the_mistakes_of_learning_one_by_one(setting, rng):
    parameters = SETTINGS[setting]
    X, y = gaussian(rng, 70, 5, 2)
    model = in_order(**parameters).fit_stream(blocks_of(X, y, [10, 35]), classes=[0, 1])
    literal, mistakes = in_order(**parameters), [0]
    for x, label in zip(X, y, strict=True):
        literal.partial_fit(x[None], [label], classes=[0, 1])
        mistakes.append(literal.n_mistakes_)
    assert model.progress_ == reference.marks(np.diff(mistakes).tolist())
    assert model.progress_[-1] == (70, model.n_mistakes_)


@pytest.mark.parametrize("parameters", [{"multiclass": "ovr"}, {"multiclass": "ovo"}, {"several": True}])
def test_progress_counts_the_mistakes_of_all_binary_problems(parameters, rng):
    several = parameters.pop("several", False)
    X, y = gaussian(rng, 70, 5, 4)
    y = (X @ rng.standard_normal((5, 4)) > 0).astype(int) if several else y
    options = {} if several else {"classes": range(4)}
    model = in_order(**parameters).fit_stream(blocks_of(X, y, [10, 35]), **options)
    literal, mistakes = in_order(**parameters), [0]
    for row in range(70):
        literal.partial_fit(X[row : row + 1], y[row : row + 1], **options)
        mistakes.append(literal.n_mistakes_)
    assert model.progress_ == reference.marks(np.diff(mistakes).tolist())


@pytest.mark.parametrize("size", [3, 8, "all"])
def test_progress_of_batches_is_marked_at_their_ends(size, rng):
    X, y = whole_numbers(rng, 50, 5, 2)
    model = in_order(batch_size=size).fit_stream(blocks_of(X, y, [20]))
    literal, found = in_order(batch_size=size), {}
    begin = 0
    for end in (20, 50):
        while begin < end:
            stop = end if size == "all" else min(end, begin + size)
            literal.partial_fit(X[begin:stop], y[begin:stop], classes=[0, 1])
            found[stop] = literal.n_mistakes_
            begin = stop
    marks = {min(n for n in found if n >= power) for power in (1, 2, 4, 8, 16, 32)} | {50}
    assert model.progress_ == [(n, found[n]) for n in sorted(marks)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
def test_progress_ends_with_the_last_example_once(n):
    X = np.eye(8)[:n]
    model = in_order().fit_stream([(X, np.arange(n) % 2)], epochs=3, classes=[0, 1])
    marks = [mark for mark, _ in model.progress_]
    assert marks == [1, 2, 4, 8][: n.bit_length()] + ([n] if n & (n - 1) else [])


def test_progress_counts_rows_and_not_their_weights(rng):
    X, y = whole_numbers(rng, 40, 5, 2)
    model = in_order().fit_stream(blocks_of(X, y, [9], np.full(40, 2.0)))
    assert [n for n, _ in model.progress_] == [1, 2, 4, 8, 16, 32, 40]
    assert all(mistakes <= n for n, mistakes in model.progress_)


def test_progress_is_the_same_whatever_the_later_epochs_do(rng):
    X, y = gaussian(rng, 100, 5, 3)
    parts = blocks_of(X, y, [30, 64])
    first = rosenblatt().fit_stream(parts).progress_
    assert rosenblatt().fit_stream(parts, epochs=4).progress_ == first
    assert [n for n, _ in first] == [1, 2, 4, 8, 16, 32, 64, 100]


def test_history_has_a_row_an_epoch_and_watch_sees_every_block(rng):
    X, y = gaussian(rng, 100, 5, 3)
    seen = []
    model = in_order(max_iter=1, tol=0.5).fit_stream(blocks_of(X, y, [30, 64, 65]), epochs=3, watch=seen.append)
    assert model.n_iter_ == 3, "max_iter and tol do not count"
    assert [row["epoch"] for row in model.history_] == [1, 2, 3]
    assert [row["examples"] for row in model.history_] == [100, 100, 100]
    assert sum(row["updates"] for row in model.history_) == model.n_updates_
    assert [row["mistakes"] for row in model.history_] == model.mistakes_.tolist()
    assert model.history_[0]["mistakes"] == model.progress_[-1][1]
    assert model.t_ == 300
    after = [row for row in seen if not row["mark"]]
    assert [(row["epoch"], row["blocks"], row["examples"]) for row in after] == [
        (epoch, blocks, examples) for epoch in (1, 2, 3) for blocks, examples in ((1, 30), (2, 64), (3, 65), (4, 100))
    ]
    for epoch, row in enumerate(model.history_, 1):
        last = [saw for saw in after if saw["epoch"] == epoch][-1]
        assert (last["mistakes"], last["updates"]) == (row["mistakes"], row["updates"])
        assert 0 <= last["seconds"] <= row["seconds"] + 1
    marks = [(row["examples"], row["mistakes"]) for row in seen if row["mark"] and row["epoch"] == 1]
    assert marks == [mark for mark in model.progress_ if mark[0] != 100]
    assert all(set(row) >= {"epoch", "blocks", "examples", "mistakes", "updates", "seconds", "mark"} for row in seen)
    assert [row["examples"] for row in seen if row["epoch"] == 1] == sorted(
        row["examples"] for row in seen if row["epoch"] == 1
    )


# ---- when to stop


def test_an_epoch_without_an_update_is_the_last(form, rng):
    X, y = whole_numbers(rng, 40, 5, 2)
    y = (X @ [3, -2, 1, 2, -1] > 0.5).astype(int)
    y[:2] = (X[:2] @ [3, -2, 1, 2, -1] > 0.5).astype(int)
    X = form(X)
    model = in_order().fit_stream(blocks_of(X, y, [9, 10, 30]), epochs=500, classes=[0, 1])
    same(model, fitted(X, y, 500), X)
    assert (model.stop_reason_, model.converged_) == ("converged", True)
    assert model.n_iter_ < 500
    assert model.mistakes_[-1] == 0
    assert set(model.mistakes_[:-1]) != {0}
    shuffled = rosenblatt().fit_stream(blocks_of(X, y, [9, 10, 30]), epochs=500)
    assert shuffled.stop_reason_ == "converged"
    assert (shuffled.set_params(combine="last").predict(X) == y).all()


def test_right_answers_within_the_margin_do_not_converge(rng):
    model = in_order(margin=9.0).fit_stream([([[1.0], [-1.0]], [1, 0])], epochs=2)
    assert (model.stop_reason_, model.n_iter_) == ("max_iter", 2)


def test_a_time_budget_ends_a_stream_that_has_no_end():
    began = time.perf_counter()

    def endless():
        while time.perf_counter() - began < 30:
            time.sleep(0.001)
            yield np.eye(3), [0, 1, 0]

    before = threading.active_count()
    model = in_order(max_seconds=0.2).fit_stream(endless())
    assert model.stop_reason_ == "max_seconds"
    assert time.perf_counter() - began < 15
    assert model.t_ == sum(row["examples"] for row in model.history_) > 0
    assert model.progress_[-1][0] == model.t_
    assert threads_end(before)


def test_a_time_budget_leaves_a_sound_model(rng):
    X, y = gaussian(rng, 3000, 5, 2)
    model = in_order(max_seconds=1e-9).fit_stream(blocks_of(X, y, range(10, 3000, 10)), epochs=50)
    assert model.stop_reason_ == "max_seconds"
    seen = int(model.t_)
    assert seen < 50 * 3000
    whole, rest = divmod(seen, 3000)
    order = np.r_[np.tile(np.arange(3000), whole), np.arange(rest)]
    if seen:
        same_weights(model, in_order().partial_fit(X[order], y[order]), X)


# ---- shuffled


def test_every_row_is_visited_once_an_epoch():
    X, y = np.eye(60), np.arange(60) % 2
    for parts in (blocks_of(X, y, [7, 30, 31]), blocks_of(sp.csr_matrix(X), y, [7, 30, 31])):
        for cache in (None, False):
            model = rosenblatt(margin=1e6, fit_intercept=False, combine="last").fit_stream(parts, epochs=5, cache=cache)
            assert model.coef_[0].tolist() == [5.0 if label else -5.0 for label in y], "every visit is a step of 1"


def test_blocks_come_in_a_fresh_random_order_after_the_first_epoch(rng):
    X, y = gaussian(rng, 120, 5, 2)
    sizes = [3, 5, 7, 11, 13, 17, 19, 45]
    seen = []
    rosenblatt().fit_stream(blocks_of(X, y, np.cumsum(sizes)[:-1]), epochs=6, watch=seen.append)
    orders = []
    for epoch in range(1, 7):
        counts = [row["examples"] for row in seen if row["epoch"] == epoch and not row["mark"]]
        orders.append(np.diff([0, *counts]).tolist())
    assert orders[0] == sizes
    assert all(sorted(order) == sizes for order in orders)
    assert len({tuple(order) for order in orders}) == 6


def test_rows_of_a_block_are_shuffled(rng):
    X, y = gaussian(rng, 100, 5, 2)
    parts = blocks_of(X, y, [50])
    shuffled, plain = rosenblatt().fit_stream(parts), in_order().fit_stream(parts)
    assert not np.array_equal(shuffled.coef_last_, plain.coef_last_)
    assert shuffled.t_ == plain.t_ == 100


@pytest.mark.parametrize("combine", ["average", *slow("last", "vote", "pocket")])
def test_the_same_seed_gives_the_same_bits(combine, form, svm, tmp_path):
    path, X, y = svm
    parts = blocks_of(form(X.toarray()), y, [20, 50, 51])
    for reader in (parts, stream(path)):
        model = rosenblatt(combine=combine).fit_stream(reader, epochs=4)
        again = rosenblatt(combine=combine).fit_stream(reader, epochs=4)
        same(model, again, X)
        assert model.progress_ == again.progress_
        other = rosenblatt(combine=combine, random_state=1).fit_stream(reader, epochs=4)
        assert not np.array_equal(model.coef_last_, other.coef_last_)


# ---- errors


@pytest.mark.parametrize("empty", [[], iter([]), [(np.empty((0, 3)), np.empty(0, int))]])
def test_a_stream_without_an_example_is_refused(empty):
    model = in_order()
    with pytest.raises(ValueError, match=r"no example|0 sample"):
        model.fit_stream(empty, epochs=2)
    with pytest.raises(NotFittedError):
        model.predict([[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("content", ["", "# nothing\n", "\n\n"])
def test_a_file_without_an_example_is_refused(tmp_path, content):
    path = tmp_path / "a.svm"
    path.write_text(content)
    with pytest.raises(ValueError, match="no example"):
        in_order().fit_stream(stream(path))


@pytest.mark.parametrize(
    "reader",
    [
        *(None, 3, "a.svm", b"a.svm", np.eye(3), object(), {"X": np.eye(3), "y": [0, 1, 0]}),
        *([np.eye(3)], [(np.eye(3),)], [(np.eye(3), [0, 1, 0], None, None)], [{"X": 1}], ["ab"], [3]),
    ],
)
def test_what_is_no_stream_is_refused(reader):
    with pytest.raises(TypeError) as caught:
        in_order().fit_stream(reader)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("epochs", [0, -1, 1.5, 2.0, True, "2", float("nan")])
def test_epochs_are_a_whole_number_of_at_least_1(epochs):
    with pytest.raises((ValueError, TypeError), match="epochs"):
        in_order().fit_stream([(np.eye(3), [0, 1, 0])], epochs=epochs)
    assert in_order().fit_stream([(np.eye(3), [0, 1, 0])], epochs=np.int64(2)).n_iter_ <= 2


@pytest.mark.parametrize(
    ("part", "about"),
    [
        ((np.eye(3), None), "y"),
        ((np.eye(3), [0, 1]), "3 rows.*2"),
        ((np.eye(3), [0, 1, 0], [1.0, 2.0]), "weight"),
        ((np.eye(3), [0, 1, 0], [1.0, 2.0, -1.0]), "weight"),
        ((np.eye(3), [0, 1, 0], [1.0, 2.0, np.nan]), "weight"),
        ((np.full((3, 3), np.nan), [0, 1, 0]), "(?i)nan"),
        ((np.full((3, 3), np.inf), [0, 1, 0]), "(?i)inf"),
        ((np.ones(3), [0, 1, 0]), r"(?i)2D|2-D|two dim|shape"),
        ((np.eye(3), [0.5, np.nan, 1]), "(?i)nan|missing"),
        ((np.array([["a"]]), [0]), "."),
        ((np.eye(3)[:, :2], [0, 1, 0]), "2 features.*3"),
        ((np.eye(3), [[0, 1], [1, 0], [1, 1]]), "indicator"),
    ],
)
def test_a_bad_block_is_refused_and_the_model_is_that_of_the_blocks_before(part, about, rng):
    X, y = whole_numbers(rng, 40, 3, 2)
    before = threading.active_count()
    for epochs in (1, 3):
        model = in_order()
        with pytest.raises((ValueError, TypeError), match=about):
            model.fit_stream([*blocks_of(X, y, [10]), part, (X, y)], epochs=epochs)
        sound_after(model, X, y, "failed")
        if about in ("2 features.*3", "indicator"):  # alone it is a good block
            continue
        fresh = in_order()
        with pytest.raises((ValueError, TypeError), match=about):
            fresh.fit_stream([part], epochs=epochs)
        with pytest.raises(NotFittedError):
            fresh.predict(X)
    assert threads_end(before)


def sound_after(model, X, y, reason, rows=None):
    """The model is that of the examples it says it has seen, in order."""
    seen = int(model.t_)
    assert rows is None or seen == rows
    assert seen == sum(row["examples"] for row in model.history_) > 0
    assert model.n_updates_ == sum(row["updates"] for row in model.history_)
    assert model.stop_reason_ == reason
    order = np.arange(seen) % X.shape[0]
    expected = in_order(combine=model.combine).partial_fit(X[order], y[order], classes=np.unique(y))
    same_weights(model, expected, X)
    assert model.n_updates_ == expected.n_updates_
    assert model.n_mistakes_ == expected.n_mistakes_


@pytest.mark.parametrize(
    ("parameters", "about"),
    [
        ({"early_stopping": True}, "early_stopping"),
        ({"class_weight": "balanced"}, "balanced"),
        ({"step": "newton"}, "step"),
        ({"eta0": -1.0}, "eta0"),
    ],
)
def test_parameters_that_a_stream_cannot_serve_are_refused(parameters, about):
    with pytest.raises(ValueError, match=about):
        in_order(**parameters).fit_stream([(np.eye(3), [0, 1, 0])])


def test_classes_of_another_kind_are_refused(rng):
    X, y = whole_numbers(rng, 20, 3, 2)
    with pytest.raises((ValueError, TypeError)):
        in_order().fit_stream([(X, y)], classes=["a", "b"])
    with pytest.raises((ValueError, TypeError)):
        in_order().fit_stream([(X, y), (X, np.array(["a", "b"])[y])])


@pytest.mark.parametrize("combine", ["average", "last", "vote"])
@pytest.mark.parametrize("at", [1, 3])
def test_an_error_of_the_source_comes_through_and_leaves_a_sound_model(combine, at, rng):
    X, y = gaussian(rng, 60, 4, 2)
    parts = blocks_of(X, y, [12, 20, 33, 50])
    before = threading.active_count()
    model = in_order(combine=combine)
    with pytest.raises(BoomError, match="boom"):
        model.fit_stream(failing(parts, at), epochs=2)
    sound_after(model, X, y, "failed", rows=[0, 12, 20, 33][at])
    model.partial_fit(X[int(model.t_) :], y[int(model.t_) :])
    same_weights(model, in_order(combine=combine).partial_fit(X, y), X)
    assert threads_end(before)


def test_an_error_before_the_first_block_comes_through(rng):
    before = threading.active_count()
    with pytest.raises(BoomError):
        in_order().fit_stream(failing([1], 0), epochs=2)
    assert threads_end(before)


@pytest.mark.parametrize("cache", [None, False])
@pytest.mark.parametrize("combine", ["average", "vote"])
@pytest.mark.parametrize("at", [1, 4, 7, 10])
def test_an_error_of_watch_comes_through_and_leaves_a_sound_model(cache, combine, at, rng):
    X, y = gaussian(rng, 60, 4, 2)
    calls = []

    def watch(row):
        if not row["mark"]:
            calls.append(row)
        if len(calls) == at:
            raise BoomError("boom")

    before = threading.active_count()
    model = in_order(combine=combine)
    with pytest.raises(BoomError):
        model.fit_stream(blocks_of(X, y, [12, 20, 33, 50]), epochs=3, cache=cache, watch=watch)
    sound_after(model, X, y, "failed", rows=60 * (calls[-1]["epoch"] - 1) + calls[-1]["examples"])
    assert threads_end(before)


@pytest.mark.parametrize("where", ["watch", "source"])
@pytest.mark.parametrize("combine", ["average", "vote"])
@pytest.mark.parametrize("at", [0, 2, 4])
def test_ctrl_c_leaves_a_sound_model(where, combine, at, rng):
    X, y = gaussian(rng, 60, 4, 2)
    before, count = threading.active_count(), []

    def interrupt():
        if len(count) == at:
            os.kill(os.getpid(), signal.SIGINT)
        count.append(1)

    def parts():
        for part in blocks_of(X, y, [12, 20, 33, 50]):
            yield part
            if where == "source":
                interrupt()
                time.sleep(0.01)

    def watch(row):
        if where == "watch" and not row["mark"]:
            interrupt()

    model = in_order(combine=combine)
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(parts(), epochs=500, watch=watch)
    assert threads_end(before)
    if hasattr(model, "history_"):
        sound_after(model, X, y, "interrupted")
    else:
        assert where == "source"


def test_ctrl_c_at_any_moment_leaves_a_sound_model(rng):
    X, y = gaussian(rng, 60, 4, 2)
    timer = threading.Timer(0.15, lambda: os.kill(os.getpid(), signal.SIGINT))
    model = in_order(combine="vote").fit_stream([(X, y)])  # what has to be compiled is

    def long():
        timer.start()
        for _ in range(200_000):  # minutes
            yield X, y

    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(long())
    timer.join()
    sound_after(model, X, y, "interrupted")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_model_that_was_there_is_not_lost_by_a_stream_that_is_refused(rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    model = in_order().fit(X, y)
    weights, history = model.coef_.copy(), model.history_
    for reader, epochs in (([], 1), (None, 1), ([(X, y)], 0), ([X], 1)):
        with pytest.raises((ValueError, TypeError)):
            model.fit_stream(reader, epochs=epochs)
        assert np.array_equal(model.coef_, weights)
        assert model.history_ == history
        assert model.score(X, y) > 0.3


def test_a_file_that_changes_between_two_epochs_is_an_error(svm):
    path, X, y = svm
    before = threading.active_count()

    def change(row):
        if row["epoch"] == 1 and row["examples"] == 120:
            path.write_text(path.read_text() + "\n1 1:5\n")

    model = in_order()
    with pytest.raises((DataFileError, OSError, ValueError), match=r"a\.svm"):
        model.fit_stream(stream(path), epochs=3, cache=False, watch=change)
    sound_after(model, X, y, "failed")
    assert threads_end(before)


def test_a_file_that_vanishes_between_two_epochs_is_an_error_without_a_cache_and_none_with_it(svm):
    path, X, y = svm

    def remove(row):
        if row["epoch"] == 1 and row["examples"] == 120:
            path.unlink()

    content = path.read_bytes()
    model = in_order()
    with pytest.raises((DataFileError, OSError), match=r"a\.svm"):
        model.fit_stream(stream(path), epochs=3, cache=False, watch=remove)
    sound_after(model, X, y, "failed", rows=120)
    path.write_bytes(content)
    same(in_order().fit_stream(stream(path), epochs=3, watch=remove), fitted(X, y, 3), X)


def test_a_bad_record_in_the_middle_of_a_file_leaves_the_rows_before_it_learned(svm):
    path, X, y = svm
    lines = path.read_text().split("\n")
    path.write_text("\n".join([*lines[:70], "1 1:x", *lines[70:]]))
    model = in_order()
    with pytest.raises(DataFileError, match=r"a\.svm:71:3: "):
        model.fit_stream(stream(path), epochs=2)
    assert 40 < model.t_ <= 70
    sound_after(model, X, y, "failed")


def test_several_streams_can_be_learned_at_once(rng):
    X, y = gaussian(rng, 300, 5, 3)
    parts = blocks_of(X, y, range(20, 300, 20))
    expected = fitted(X, y, 4)
    models = [in_order() for _ in range(4)]
    workers = [threading.Thread(target=model.fit_stream, args=(parts, 4)) for model in models]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for model in models:
        same(model, expected, X)
