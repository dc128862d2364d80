"""Properties of `KernelPerceptron` that hold on any data, and peers' mistakes that it does not make."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perceptrons import KernelPerceptron
from tests.conftest import as_csr, whole_numbers
from tests.reference import kernel as reference
from tests.support.kernels import (
    NAMED,
    NUMBERS,
    RULES,
    assert_same_coefficients,
    assert_same_run,
    clear_case,
    coded,
    numpy_of,
    options,
    sparse_gaussian,
)
from tests.support.lecture import rosenblatt

rules = pytest.mark.parametrize("rule", RULES)
steady = settings(deadline=None, derandomize=True, max_examples=40)
COEFFICIENTS = ("support_", "dual_coef_last_", "dual_coef_average_", "survival_counts_", "update_support_")
EXACT = {"linear": {}, "poly": {"gamma": 1.0, "degree": 2, "coef0": 1.0}}  # whole numbers stay whole numbers


@st.composite
def data_sets(draw, classes=None):
    """Small whole numbers with labels, every class there, a rule and a kernel: every sum is exact, ties are many."""
    rule = "two" if classes == 2 else draw(st.sampled_from(["two", "ovr", "joint"]))
    n, d, k = draw(st.integers(5, 20)), draw(st.integers(1, 4)), 2 if rule == "two" else draw(st.integers(3, 4))
    X = draw(arrays(np.float64, (n, d), elements=st.integers(-3, 3).map(float)))
    y = draw(arrays(np.int64, n, elements=st.integers(0, k - 1)))
    y[:k] = np.arange(k)
    return rule, draw(st.sampled_from(list(EXACT))), X, y


def model_of(rule, kernel, **more):
    """Three epochs in the order given."""
    return KernelPerceptron(kernel=kernel, **options(rule, max_iter=3, **more) | EXACT.get(kernel, {}))


def assert_same_bits(one, other, names=COEFFICIENTS):
    for name in names:
        assert np.array_equal(numpy_of(getattr(one, name)), numpy_of(getattr(other, name))), name


# ---- on any data


@steady
@given(data_sets())
def test_coefficients_are_those_of_the_reference_also_where_scores_tie(data):
    rule, kernel, X, y = data
    K = reference.gram(kernel, X, X, **EXACT[kernel])
    n_rows = 1 if rule == "two" else y.max() + 1
    run = reference.train(K, coded(rule, y), [range(len(y))] * 3, RULES[rule][0], n_rows, stop=True)
    for rows in (X, X.astype(np.float32), as_csr(X), as_csr(X, np.int64)):
        model = model_of(rule, kernel).fit(rows, y)
        assert_same_run(model, run)
        for combine in ("last", "average", "vote"):
            scores = numpy_of(model.set_params(combine=combine).decision_function(rows))
            np.testing.assert_allclose(
                scores.reshape(len(y), -1), run.scores(combine, K), rtol=1e-6, atol=1e-9 if X is rows else 1e-4
            )


@steady
@given(data_sets(), st.data())
def test_fit_is_partial_fit_in_any_blocks_is_learn_one(data, draw):
    rule, kernel, X, y = data
    whole = model_of(rule, kernel).set_params(max_iter=1).fit(X, y)
    cuts = sorted(draw.draw(st.sets(st.integers(1, len(y) - 1), max_size=4)))
    blocks, single = model_of(rule, kernel), model_of(rule, kernel)
    for start, end in zip([0, *cuts], [*cuts, len(y)], strict=True):
        blocks.partial_fit(X[start:end], y[start:end], classes=np.unique(y))
    single.partial_fit(X[:1], y[:1], classes=np.unique(y))
    for x, label in zip(X[1:], y[1:], strict=True):
        single.learn_one(x, label)
    assert_same_bits(whole, blocks, COEFFICIENTS[1:])
    assert_same_bits(whole, single, COEFFICIENTS[1:])
    assert np.array_equal(X[whole.support_], blocks.support_vectors_)
    assert whole.t_ == blocks.t_ == single.t_


@steady
@given(data_sets(classes=2))
def test_flipped_labels_give_the_negated_function(data):
    _, kernel, X, y = data
    one, other = (model_of("two", kernel, shuffle=True, random_state=3).fit(X, labels) for labels in (y, 1 - y))
    assert np.array_equal(one.support_, other.support_)
    for combine in ("last", "average"):
        one.combine = other.combine = combine
        assert np.array_equal(one.dual_coef_, -other.dual_coef_)
        assert np.array_equal(one.decision_function(X), -other.decision_function(X))


@steady
@given(data_sets(), st.integers(-5, 5))
def test_the_learning_rate_only_scales_the_function(data, power):
    rule, kernel, X, y = data
    one, other = model_of(rule, kernel).fit(X, y), model_of(rule, kernel, eta0=2.0**power).fit(X, y)
    assert_same_bits(one, other, ("support_", "survival_counts_", "update_support_"))
    assert np.array_equal(one.dual_coef_last_ * 2.0**power, other.dual_coef_last_)
    for combine in ("last", "average", "vote"):
        one.combine = other.combine = combine
        assert np.array_equal(one.predict(X), other.predict(X))
        scale = 1.0 if combine == "vote" else 2.0**power
        assert np.array_equal(one.decision_function(X) * scale, other.decision_function(X))


@steady
@given(data_sets(), st.integers(0, 2**31 - 1))
def test_the_linear_kernel_is_the_perceptron_without_intercept(data, seed):
    rule, _, X, y = data
    keywords = {"max_iter": 5, "tol": None, "random_state": seed} | ({} if rule == "two" else {"multiclass": rule})
    linear = rosenblatt(fit_intercept=False, **keywords).fit(X, y)
    model = KernelPerceptron(kernel="linear", **keywords).fit(X, y)
    assert model.mistakes_.tolist() == linear.mistakes_.tolist()
    assert np.array_equal(model.dual_coef_last_ @ model.support_vectors_, linear.coef_last_)
    np.testing.assert_allclose(model.dual_coef_average_ @ model.support_vectors_, linear.coef_average_, atol=1e-12)


@steady
@given(data_sets(), st.data())
def test_whole_number_weights_are_repetitions_on_the_spot(data, draw):
    rule, kernel, X, y = data
    repeats = np.array(draw.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))))
    repeats[: y.max() + 1] = 1
    weighted = model_of(rule, kernel).fit(X, y, sample_weight=repeats)
    repeated = model_of(rule, kernel).fit(X.repeat(repeats, axis=0), y.repeat(repeats))
    assert weighted.mistakes_.tolist() == repeated.mistakes_.tolist()
    assert not np.isin(weighted.support_, np.flatnonzero(repeats == 0)).any()
    for combine in ("last", "average", "vote"):
        weighted.combine = repeated.combine = combine
        np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-12, atol=1e-9)


@steady
@given(data_sets())
def test_predictions_go_by_the_scores_and_ties_to_the_first_class(data):
    rule, kernel, X, y = data
    names = np.array(["b", "d", "f", "h"])
    model = model_of(rule, kernel).fit(X, names[y])
    assert model.classes_.tolist() == names[: y.max() + 1].tolist()
    grid = np.vstack([X, -X, 0 * X[:1]])
    for combine in ("last", "average", "vote"):
        scores = model.set_params(combine=combine).decision_function(grid)
        assert scores.shape == ((len(grid),) if rule == "two" else (len(grid), len(model.classes_)))
        best = (scores > 0).astype(int) if rule == "two" else np.argmax(scores, axis=1)
        assert model.predict(grid).tolist() == names[best].tolist()
        assert model.score(X, names[y]) == np.mean(model.predict(X) == names[y])
        assert [model.predict_one(x) for x in grid[:5]] == names[best[:5]].tolist()


@steady
@given(data_sets(classes=2))
def test_votes_can_be_counted_by_hand_from_the_log(data):
    _, kernel, X, y = data
    model = model_of("two", kernel, combine="vote", shuffle=True).fit(X, y)
    makers, counts = model.support_[model.update_support_], model.survival_counts_
    K = reference.gram(kernel, X, X, **EXACT[kernel])
    f, votes = np.zeros(len(y)), -np.ones(len(y)) * (model.t_ - counts.sum())
    for i, count in zip(makers, counts, strict=True):
        f += (2 * y[i] - 1) * K[i]
        votes += count * np.where(f > 0, 1, -1)
    np.testing.assert_allclose(model.decision_function(X), votes / model.t_, atol=1e-12)


# ---- rows of every kind


def odd_csr(X):
    """The same numbers with entries twice in a row, columns not in order, explicit zeros."""
    X = sp.coo_array(X)
    rows, columns = np.concatenate([X.row, X.row, X.row]), np.concatenate([X.col, X.col, X.col])
    values = np.concatenate([X.data / 2, X.data / 2, np.zeros(X.nnz)])
    order = np.lexsort((-columns, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    return sp.csr_matrix((values[order], columns[order], indptr), shape=X.shape)


@rules
@pytest.mark.parametrize("name", NAMED)
def test_sparse_rows_of_any_kind_are_dense_rows(name, rule):
    X, y, _, _ = clear_case(rule, name, 50, 6)
    if name in EXACT:
        X, y = whole_numbers(np.random.default_rng(1), 50, 6, RULES[rule][1])
    dense = model_of(rule, name).fit(X, y)
    for rows in (as_csr(X), as_csr(X, np.int64), odd_csr(X), sp.csr_array(X), sp.csc_matrix(X)):
        sparse = model_of(rule, name).fit(rows, y)
        assert_same_bits(dense, sparse, ("support_", "dual_coef_last_"))
        assert np.array_equal(numpy_of(sparse.support_vectors_), X[sparse.support_])
        np.testing.assert_allclose(sparse.decision_function(rows), dense.decision_function(X), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(dense.decision_function(rows), dense.decision_function(X), rtol=1e-9, atol=1e-9)


@rules
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_are_arrays_with_names(make, rule):
    X, y, _, run = clear_case(rule, "rbf", 50)
    frame = make({f"column {j}": X[:, j] for j in range(5)})
    model = KernelPerceptron(max_iter=3, **options(rule)).fit(frame, y)
    assert_same_run(model, run)
    assert list(model.feature_names_in_) == [f"column {j}" for j in range(5)]
    np.testing.assert_array_equal(
        model.decision_function(frame), KernelPerceptron(max_iter=3, **options(rule)).fit(X, y).decision_function(X)
    )


@rules
@pytest.mark.parametrize("name", [*NAMED, "precomputed"])
def test_inputs_are_never_modified(name, rule):
    X, y = sparse_gaussian(np.random.default_rng(2), 40, 5, RULES[rule][1])
    X = reference.gram("rbf", X, X) if name == "precomputed" else X
    v = np.arange(40) % 4 / 2
    odd = odd_csr(X)
    inputs = [X, y, v, odd.data, odd.indices, odd.indptr]
    copies = [a.copy() for a in inputs]
    for policy in ({}, {"budget": 4, "on_full": "forget_oldest"}, {"budget": 4, "on_full": "remove_random"}):
        model = KernelPerceptron(kernel=name, max_iter=3, **options(rule, **policy, shuffle=True)).fit(
            X, y, sample_weight=v
        )
        model.predict(X)
        if name != "precomputed":
            model.partial_fit(X, y, sample_weight=v).learn_one(X[0], y[0])
            KernelPerceptron(kernel=name, max_iter=3, **options(rule, **policy)).fit(odd, y).predict(odd)
    for a, copy in zip(inputs, copies, strict=True):
        assert np.array_equal(a, copy)


def test_the_model_keeps_its_own_copy_of_what_it_needs():
    X, y, _, _ = clear_case("two", "rbf", 50)
    model = KernelPerceptron(max_iter=3, **options("two")).fit(X, y)
    streamed = KernelPerceptron(**options("two")).partial_fit(X, y)
    T = X + 0.5
    before = model.decision_function(T), streamed.decision_function(T)
    X[:] = 7
    assert np.array_equal(model.decision_function(T), before[0])
    assert np.array_equal(streamed.decision_function(T), before[1])


# ---- seeds, caches, reading, going on


@rules
def test_the_same_seed_gives_the_same_bits_and_another_another_order(rule):
    X, y = sparse_gaussian(np.random.default_rng(3), 200, 5, RULES[rule][1])
    keywords = options(rule, shuffle=True, max_iter=4)
    one, again = (KernelPerceptron(**keywords).fit(X, y) for _ in range(2))
    assert_same_bits(one, again)
    assert not np.array_equal(one.support_, KernelPerceptron(**keywords, random_state=1).fit(X, y).support_)


@rules
def test_the_size_of_the_cache_changes_no_coefficient(rule):
    X, y = sparse_gaussian(np.random.default_rng(4), 1500, 5, RULES[rule][1])
    models = [
        KernelPerceptron(**options(rule, shuffle=True, max_iter=3, cache_size=size)).fit(X, y)
        for size in (1e-3, 1, 1000)
    ]
    for model in models[1:]:
        assert_same_bits(models[0], model)


@pytest.mark.parametrize("name", NAMED)
def test_a_precomputed_kernel_is_the_kernel_it_was_computed_from(name):
    X, y, K, _ = clear_case("joint", name, 80)
    named = KernelPerceptron(kernel=name, **options("joint", shuffle=True, max_iter=4)).fit(X, y)
    precomputed = KernelPerceptron(kernel="precomputed", **options("joint", shuffle=True, max_iter=4)).fit(K, y)
    assert_same_bits(named, precomputed)
    np.testing.assert_allclose(named.decision_function(X), precomputed.decision_function(K), atol=1e-9)


@rules
def test_reading_the_average_or_the_votes_leaves_training_as_it_was(rule):
    X, y = sparse_gaussian(np.random.default_rng(5), 120, 5, RULES[rule][1])
    read, unread = KernelPerceptron(**options(rule)), KernelPerceptron(**options(rule))
    for i in range(0, 120, 20):
        for model in (read, unread):
            model.partial_fit(X[i : i + 20], y[i : i + 20], classes=np.unique(y))
        for combine in ("average", "vote", "last"):
            read.set_params(combine=combine).predict(X)
        assert np.abs(read.dual_coef_average_).max() > 0
    assert_same_bits(read, unread, COEFFICIENTS[1:])


@rules
@pytest.mark.parametrize(
    "budget", [{}, *({"budget": 6, "on_full": policy} for policy in ("remove_random", "forget_oldest", "project"))]
)
def test_a_pickled_model_goes_on_as_if_it_had_never_stopped(rule, budget):
    X, y = sparse_gaussian(np.random.default_rng(6), 120, 5, RULES[rule][1])
    model = KernelPerceptron(**options(rule, max_iter=2, shuffle=True, **budget)).fit(X[:60], y[:60])
    copy = pickle.loads(pickle.dumps(model))
    names = COEFFICIENTS[: 3 if budget else 5]
    assert_same_bits(model, copy, names)
    for one in (model, copy):
        one.partial_fit(X[60:], y[60:])
    assert_same_bits(model, copy, names)
    for one in (model, copy):
        one.set_params(warm_start=True).fit(X, y)
    assert_same_bits(model, copy, names)


@rules
def test_a_stream_goes_on_from_a_fit(rule):
    X, y = sparse_gaussian(np.random.default_rng(7), 100, 5, RULES[rule][1])
    K = reference.gram("rbf", X, X, **NUMBERS)
    orders = [range(60), range(60), range(60, 100)]
    run = reference.train(K, coded(rule, y), orders, RULES[rule][0], 1 if rule == "two" else 4)
    assert run.closest > 1e-11
    model = KernelPerceptron(**options(rule, max_iter=2)).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    assert_same_coefficients(model, run, X)
    assert model.support_.tolist() == [i if i < 60 else -1 for i in run.held]
    assert np.array_equal(model.survival_counts_, run.survival_counts())


@rules
def test_a_warm_start_on_other_data_keeps_what_was_learned(rule):
    X, y = sparse_gaussian(np.random.default_rng(9), 100, 5, RULES[rule][1])
    y[60:64] = y[:4]
    K = reference.gram("rbf", X, X, **NUMBERS)
    orders = [range(60), range(60), range(60, 100), range(60, 100)]
    run = reference.train(K, coded(rule, y), orders, RULES[rule][0], 1 if rule == "two" else 4)
    assert run.closest > 1e-11
    assert min(run.mistakes) > 0
    model = KernelPerceptron(warm_start=True, **options(rule, max_iter=2)).fit(X[:60], y[:60]).fit(X[60:], y[60:])
    assert_same_coefficients(model, run, X)
    assert model.support_.tolist() == [i - 60 if i >= 60 else -1 for i in run.held]
    assert np.array_equal(model.survival_counts_, run.survival_counts())


# ---- what it is for


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_xor_is_learned_by_curved_kernels_and_not_by_a_straight_one(kernel):
    X, y = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), ["no", "no", "yes", "yes"]
    model = KernelPerceptron(kernel=kernel, combine="last", tol=None).fit(X, y)
    assert (model.stop_reason_, model.converged_, model.score(X, y)) == ("converged", True, 1.0)
    straight = KernelPerceptron(kernel="linear", combine="last", tol=None, max_iter=50).fit(X, y)
    assert (straight.stop_reason_, straight.converged_) == ("max_iter", False)


def test_a_score_of_zero_is_a_mistake_for_both_classes():
    model = KernelPerceptron(kernel="linear", **options("two", max_iter=1)).fit([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    assert model.dual_coef_last_.tolist() == [[1, -1]]
    assert model.predict([[1.0, 1.0]]).tolist() == [0]
