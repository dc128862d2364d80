"""Properties that hold on any data (hypothesis)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

import perceptrons
from tests.conftest import as_csr
from tests.support.lecture import rosenblatt

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("steady")


SOME = st.integers(2, 4)


@st.composite
def data_sets(draw, classes=SOME):
    """Small whole numbers with labels; every class is there."""
    n, d, k = draw(st.integers(4, 25)), draw(st.integers(1, 5)), draw(classes)
    X = draw(arrays(np.float64, (n, d), elements=st.integers(-4, 4).map(float)))
    y = draw(arrays(np.int64, n, elements=st.integers(0, k - 1)))
    y[:k] = np.arange(k)
    return X, y


def weights_of(model):
    arrays = model._learner.weights.arrays
    return {name: np.array(arrays[name]) for name in ("w", "b", "lazy_sum_w", "lazy_sum_b", "t")}


def assert_same_weights(one, other):
    for name, array in weights_of(one).items():
        assert np.array_equal(array, weights_of(other)[name]), name


@given(data_sets(), st.booleans())
def test_dense_equals_sparse_bit_for_bit_on_whole_numbers(data, wide):
    X, y = data
    dense = rosenblatt(max_iter=5).fit(X, y)
    sparse = rosenblatt(max_iter=5).fit(as_csr(X, np.int64 if wide else np.int32), y)
    assert_same_weights(dense, sparse)
    assert dense.history_[-1]["mistakes"] == sparse.history_[-1]["mistakes"]
    assert np.array_equal(dense.predict(X), sparse.predict(as_csr(X)))


@given(data_sets(), st.data())
def test_fit_equals_partial_fit_in_any_blocks_equals_learn_one(data, draw):
    X, y = data
    whole = rosenblatt(shuffle=False, max_iter=1, tol=None).fit(X, y)
    cuts = sorted(draw.draw(st.sets(st.integers(1, len(y) - 1), max_size=4)))
    blocks, single = rosenblatt(), rosenblatt()
    for start, end in zip([0, *cuts], [*cuts, len(y)], strict=True):
        blocks.partial_fit(X[start:end], y[start:end], classes=np.unique(y))
    single.partial_fit(X[:1], y[:1], classes=np.unique(y))
    for x, label in zip(X[1:], y[1:], strict=True):
        single.learn_one(x, label)
    assert_same_weights(whole, blocks)
    assert_same_weights(whole, single)


@given(data_sets(classes=st.just(2)))
def test_two_classes_need_not_be_named_beforehand(data):
    X, y = data
    whole = rosenblatt(shuffle=False, max_iter=1, tol=None).fit(X, y)
    single = rosenblatt()
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label)
    assert_same_weights(whole, single)


@given(data_sets(classes=st.just(2)))
def test_flipped_labels_give_flipped_weights(data):
    X, y = data
    one, other = rosenblatt(max_iter=4).fit(X, y), rosenblatt(max_iter=4).fit(X, 1 - y)
    assert np.array_equal(one.coef_, -other.coef_)
    assert np.array_equal(one.intercept_, -other.intercept_)


@given(data_sets(classes=st.just(2)))
def test_two_rows_of_the_joint_rule_differ_by_twice_the_binary_weights(data):
    X, y = data
    one = rosenblatt(zero_score="negative", shuffle=False, max_iter=3, tol=None).fit(X, y)
    joint = rosenblatt(shuffle=False, max_iter=3, tol=None)
    padded, labels = np.vstack([X, X[:1]]), [*y, 2]  # a third class whose only example has no weight
    joint.fit(padded, labels, intercept_init=[0, 0, -1e6], sample_weight=[*np.ones(len(y)), 0])
    assert np.array_equal(joint.coef_last_[1] - joint.coef_last_[0], 2 * one.coef_last_[0])
    assert joint.mistakes_.tolist() == one.mistakes_.tolist()


@given(data_sets(), st.integers(-6, 6))
def test_the_learning_rate_only_scales_the_weights_from_a_zero_start(data, power):
    X, y = data
    one, other = rosenblatt(max_iter=4).fit(X, y), rosenblatt(max_iter=4, eta0=2.0**power).fit(X, y)
    assert np.array_equal(one.coef_ * 2.0**power, other.coef_)
    assert np.array_equal(one.predict(X), other.predict(X))


@given(data_sets(), st.data())
def test_whole_number_weights_equal_repeating_the_example_on_the_spot(data, draw):
    X, y = data
    repeats = np.array(draw.draw(st.lists(st.integers(0, 4), min_size=len(y), max_size=len(y))))
    repeats[: y.max() + 1] = 1
    weighted = rosenblatt(shuffle=False, max_iter=3, tol=None).fit(X, y, sample_weight=repeats)
    repeated = rosenblatt(shuffle=False, max_iter=3, tol=None).fit(X.repeat(repeats, axis=0), y.repeat(repeats))
    assert_same_weights(weighted, repeated)
    assert weighted.mistakes_.tolist() == repeated.mistakes_.tolist()


@given(st.integers(0, 2**32 - 1))
def test_mistakes_stay_within_the_bound_on_data_of_known_margin(seed):
    rng = np.random.default_rng(seed)
    d, margin = int(rng.integers(2, 9)), float(rng.uniform(0.05, 0.5))
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    X = rng.standard_normal((60, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)  # radius 1
    y = np.where(X @ u > 0, 1, -1)
    y[:2] = 1, -1
    side = X @ u
    X += np.outer(y * (np.abs(side) + margin) - side, u)  # every example to its side, margin further away
    radius, reached = np.linalg.norm(X, axis=1).max(), (y * (X @ u)).min()
    assert reached > 0
    model = rosenblatt(combine="last", fit_intercept=False, max_iter=10_000, random_state=seed).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert model.n_updates_ <= (radius / reached) ** 2


@given(data_sets(), st.sampled_from(["average", "last", "vote", "pocket"]))
def test_inputs_are_never_modified(data, combine):
    X, y = data
    weights = np.ones(len(y))
    S = as_csr(X)
    copies = [a.copy() for a in (X, y, weights, S.data, S.indices, S.indptr)]
    model = rosenblatt(combine=combine, max_iter=3, early_stopping=False)
    model.fit(X, y, sample_weight=weights).predict(X)
    model.fit(S, y, sample_weight=weights).predict(S)
    model.partial_fit(S, y)
    for before, now in zip(copies, (X, y, weights, S.data, S.indices, S.indptr), strict=True):
        assert np.array_equal(before, now)


@given(data_sets(), st.sampled_from(["average", "last", "vote", "pocket"]), st.booleans())
@settings(max_examples=30)
def test_save_load_go_on_equals_never_stopped(tmp_path_factory, data, combine, sparse):
    X, y = data
    X = as_csr(X) if sparse else X
    path = tmp_path_factory.mktemp("model") / "m"
    never = rosenblatt(combine=combine, max_iter=2, tol=None, warm_start=True).fit(X, y)
    perceptrons.save(never, path)
    resumed = perceptrons.load(path)
    for model in (never, resumed):
        model.partial_fit(X, y)
        model.fit(X, y)
        model.learn_one(X[0], y[0])
    assert_same_weights(never, resumed)
    assert np.array_equal(never.decision_function(X), resumed.decision_function(X))
    assert never.n_updates_ == resumed.n_updates_


@given(data_sets())
def test_two_warm_fits_are_one_long_fit(data):
    X, y = data
    long = rosenblatt(max_iter=4, tol=None).fit(X, y)
    twice = rosenblatt(max_iter=2, tol=None, warm_start=True).fit(X, y)
    if not twice.converged_:
        twice.fit(X, y)
    assert_same_weights(long, twice)


@given(data_sets(), st.sampled_from(["average", "last", "pocket"]))
def test_scores_are_the_product_with_the_weights_that_can_be_read(data, combine):
    X, y = data
    model = rosenblatt(combine=combine, max_iter=3).fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), scores.ravel() if scores.shape[1] == 1 else scores)


@pytest.mark.parametrize("combine", ["average", "last", "pocket", "vote"])
def test_predict_one_scores_as_predict_does(combine, rng):
    X, y = rng.standard_normal((80, 6)), rng.integers(0, 3, 80)
    model = rosenblatt(combine=combine, max_iter=3).fit(X, y)
    assert [model.predict_one(x) for x in X] == model.predict(X).tolist()


RULES = st.sampled_from([
    {"margin": 1.0},
    {"cost": True},
    {"penalty": "l2", "alpha": 0.25},
    {"penalty": "l2", "alpha": 0.5, "margin": 2.0},
    {"penalty": "l1", "alpha": 0.25},
    {"penalty": "l1", "alpha": 0.5, "margin": 2.0},
    {"batch_size": 3},
    {"batch_size": "all", "margin": 1.0},
    {"multiclass": "ovr"},
    {"multiclass": "ovo", "penalty": "l2", "alpha": 0.5},
    {"multiclass": "ovo", "penalty": "l1", "alpha": 0.25},
    {"multiclass": "ovr", "penalty": "l1", "alpha": 0.25, "batch_size": 3},
    {"step": "pa1"},
    {"step": "arow"},
])  # fmt: skip


@given(data_sets(), RULES)
def test_dense_equals_sparse_under_every_rule(data, rule):
    X, y = data
    k = len(np.unique(y))
    rule = rule | ({"cost": 1.0 - np.eye(k)} if "cost" in rule else {})
    dense = rosenblatt(max_iter=3, tol=None, **rule).fit(X, y)
    sparse = rosenblatt(max_iter=3, tol=None, **rule).fit(as_csr(X), y)
    assert_allclose(dense.coef_average_, sparse.coef_average_, rtol=1e-9, atol=1e-9)
    assert_allclose(dense.coef_last_, sparse.coef_last_, rtol=1e-9, atol=1e-9)


@given(data_sets(), RULES, st.integers(1, 3))
def test_whole_number_weights_equal_repetitions_under_every_rule(data, rule, times):
    X, y = data
    rule = {name: value for name, value in rule.items() if name != "cost"}
    if rule.get("step") == "pa1":
        rule["C"] = 1e-3  # a step that reaches the margin ends on it, and asking for more is a matter of rounding
    weights = np.where(np.arange(len(y)) % 2, times, 1)
    weighted = rosenblatt(shuffle=False, max_iter=2, tol=None, **rule).fit(X, y, sample_weight=weights)
    repeated = rosenblatt(shuffle=False, max_iter=2, tol=None, **rule)
    repeated.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_allclose(weighted.coef_average_, repeated.coef_average_, rtol=1e-9, atol=1e-9)
    assert_allclose(weighted.coef_last_, repeated.coef_last_, rtol=1e-9, atol=1e-9)


@given(data_sets(st.just(2)), RULES)
def test_swapped_labels_swap_the_weights_under_every_rule(data, rule):
    X, y = data
    rule = rule | ({"cost": 1.0 - np.eye(2)} if "cost" in rule else {})
    one = rosenblatt(max_iter=3, tol=None, **rule).fit(X, y)
    other = rosenblatt(max_iter=3, tol=None, **rule).fit(X, 1 - y)
    assert_allclose(one.coef_average_, -other.coef_average_, rtol=1e-12, atol=1e-12)
