"""What the library learns equals what the slow references learn, by weights."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from perceptrons.engine.passes.order import shuffled
from perceptrons.engine.training import one_pass
from tests.conftest import gaussian, whole_numbers
from tests.reference import binary, multiclass, pocket
from tests.support.lecture import rosenblatt

ZERO_SCORES = ["mistake", "correct", "positive", "negative"]


def orders(n, epochs, shuffle, seed=0):
    """The order of every epoch of a fit."""
    if not shuffle:
        return [range(n)] * epochs
    rng = np.random.default_rng(seed)
    return [shuffled(n, rng) for _ in range(epochs)]


def train(model, how, X, y, epochs, weights=None):
    """The same examples in the same order by fit, by partial_fit in uneven blocks, or one by one."""
    if how == "fit":
        return model.set_params(shuffle=False, max_iter=epochs, tol=None).fit(X, y, sample_weight=weights)
    classes = np.unique(y)
    for _ in range(epochs):
        cuts = [0, 1, 2, 7, len(y) // 2, len(y)] if how == "partial_fit" else range(len(y) + 1)
        for start, end in itertools.pairwise(cuts):
            if how == "learn_one" and hasattr(model, "_learner"):
                model.learn_one(X[start], y[start])
            else:
                part = None if weights is None else weights[start:end]
                model.partial_fit(X[start:end], y[start:end], classes=classes, sample_weight=part)
    return model


@pytest.mark.parametrize("how", ["fit", "partial_fit", "learn_one"])
@pytest.mark.parametrize("k", [2, 4])
def test_last_and_averaged_weights_equal_the_reference_in_every_layout(layout, dtype, how, k, rng):
    X, y = whole_numbers(rng, 60, 6, k)
    model = train(rosenblatt(), how, layout(X.astype(dtype)), y, 3)
    assert model.coef_.dtype == dtype
    if k == 2:
        run = binary.train(X, 2 * y - 1, orders(60, 3, False))
        last, average = (run.w[None], run.b), (run.average_w[None], run.average_b)
    else:
        run = multiclass.train(X, y, orders(60, 3, False), k)
        last, average = (run.theta, run.b), (run.average_theta, run.average_b)
    assert np.array_equal(model.coef_last_, last[0])
    assert np.array_equal(model.intercept_last_, np.atleast_1d(last[1]))
    exact = 1e-12 if dtype == np.float64 else 1e-6
    assert_allclose(model.coef_average_, average[0], rtol=exact, atol=exact)
    assert_allclose(model.intercept_average_, np.atleast_1d(average[1]), rtol=exact, atol=exact)
    assert model.n_updates_ == run.updates > 0
    assert model.t_ == 180


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("zero_score", ZERO_SCORES)
@pytest.mark.parametrize("init", ["zeros", "ones"])
def test_binary_conventions_equal_the_reference(layout, shuffle, fit_intercept, zero_score, init, rng):
    X, y = whole_numbers(rng, 50, 5, 2)
    X[:4] = 0  # scores of exactly 0
    model = rosenblatt(
        max_iter=4, tol=None, shuffle=shuffle, fit_intercept=fit_intercept, zero_score=zero_score, init=init
    ).fit(layout(X), y)
    ones = float(init == "ones")
    run = binary.train(
        X,
        2 * y - 1,
        orders(50, len(model.history_), shuffle),
        w=np.full(5, ones),
        b=ones * fit_intercept,
        zero_score=zero_score,
        fit_intercept=fit_intercept,
    )
    assert np.array_equal(model.coef_last_[0], run.w)
    assert_allclose(model.coef_average_[0], run.average_w, rtol=1e-12, atol=1e-12)
    assert model.mistakes_.tolist() == run.mistakes
    assert_allclose([row["loss"] for row in model.history_], run.losses)
    probe = np.concatenate([X, np.zeros((1, 5))])
    predicted = binary.predict(run.w, run.b, probe, zero_score)
    assert np.array_equal(2 * model.set_params(combine="last").predict(probe) - 1, predicted)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_real_numbers_and_learning_rate_equal_the_reference_to_1e_12(layout, k, rng):
    X, y = gaussian(rng, 400, 12, k)
    model = rosenblatt(eta0=0.37, max_iter=5, tol=None).fit(layout(X), y)
    visits = orders(400, len(model.history_), True)
    if k == 2:
        run = binary.train(X, 2 * y - 1, visits, eta=0.37)
        expected = run.average_w[None], run.w[None]
    else:
        run = multiclass.train(X, y, visits, k, eta=0.37)
        expected = run.average_theta, run.theta
    scale = np.abs(expected[1]).max()
    assert_allclose(model.coef_average_, expected[0], rtol=0, atol=1e-12 * scale)
    assert_allclose(model.coef_last_, expected[1], rtol=0, atol=1e-12 * scale)
    assert model.mistakes_.tolist() == run.mistakes
    assert_allclose([row["loss"] for row in model.history_], run.losses, rtol=1e-9)


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("combine", ["average", "vote"])
def test_sample_weights_equal_the_reference(layout, how, k, combine, rng):
    X, y = whole_numbers(rng, 40, 5, k)
    weights = rng.choice([0, 0.5, 1, 2, 3.25], 40)
    weights[:k] = 1
    model = train(rosenblatt(combine=combine), how, layout(X), y, 3, weights)
    if k == 2:
        run = binary.train(X, 2 * y - 1, orders(40, 3, False), weights=weights)
        assert_allclose(model.coef_last_[0], run.w, atol=1e-12)
        assert_allclose(model.coef_average_[0], run.average_w, rtol=1e-12, atol=1e-12)
    else:
        run = multiclass.train(X, y, orders(40, 3, False), k, weights=weights)
        assert_allclose(model.coef_last_, run.theta, atol=1e-12)
        assert_allclose(model.coef_average_, run.average_theta, rtol=1e-12, atol=1e-12)
    assert model.n_updates_ == run.updates
    assert model.t_ == pytest.approx(3 * weights.sum())
    if combine == "vote":
        check_votes(model, run, X, k)


@pytest.mark.parametrize("how", ["fit", "partial_fit", "learn_one"])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_votes_equal_the_reference(layout, how, k, rng):
    X, y = whole_numbers(rng, 50, 5, k)
    model = train(rosenblatt(combine="vote"), how, layout(X), y, 2)
    if k == 2:
        run = binary.train(X, 2 * y - 1, orders(50, 2, False))
    else:
        run = multiclass.train(X, y, orders(50, 2, False), k)
    check_votes(model, run, X, k)


def check_votes(model, run, X, k):
    total = sum(c for *_, c in run.versions)
    if k == 2:
        votes, labels = binary.predict_vote(run.versions, X, "mistake")
        predicted = 2 * model.predict(X) - 1
    else:
        votes, labels = multiclass.predict_vote(run.versions, X)
        predicted = model.predict(X)
    assert_allclose(model.decision_function(X), votes / total, atol=1e-12)
    assert np.array_equal(predicted, labels)
    counts = model._learner.votes.counts(model.t_)
    assert_allclose(counts, [c for *_, c in run.versions], atol=1e-9)
    assert model.predict_one(X[0]) == model.predict(X[:1])[0]


@pytest.mark.parametrize("zero_score", ZERO_SCORES)
def test_votes_at_score_zero_follow_the_convention(zero_score, rng):
    X, y = whole_numbers(rng, 30, 3, 2)
    X[::3] = 0
    model = rosenblatt(combine="vote", zero_score=zero_score, shuffle=False, max_iter=2, tol=None, fit_intercept=False)
    model.fit(X, y)
    run = binary.train(X, 2 * y - 1, [range(30)] * 2, zero_score=zero_score, fit_intercept=False)
    votes, labels = binary.predict_vote(run.versions, X, zero_score)
    assert_allclose(model.decision_function(X), votes / 60, atol=1e-12)
    assert np.array_equal(2 * model.predict(X) - 1, labels)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_pocket_equals_the_reference(layout, weighted, k, seed):
    rng = np.random.default_rng(seed)
    X, y = whole_numbers(rng, 40, 4, k)
    weights = rng.choice([0.5, 1, 2], 40) if weighted else None
    model = rosenblatt(combine="pocket", max_iter=4, tol=None, random_state=seed)
    model.fit(layout(X), y, sample_weight=weights)
    visits = orders(40, len(model.history_), True, seed)
    if k == 2:
        w, b, mistakes = pocket.binary(X, 2 * y - 1, visits, weights=weights)
        w = w[None]
    else:
        w, b, mistakes = pocket.multiclass(X, y, visits, k, weights=weights)
    assert np.array_equal(model.coef_, w)
    assert np.array_equal(model.intercept_, np.atleast_1d(b))
    assert model._learner.weights.arrays["tally"]["best_mistakes"][0] == mistakes


@pytest.mark.parametrize("seed", range(10))
def test_pocket_never_makes_more_training_mistakes_than_the_last_weights(seed):
    X, y = gaussian(np.random.default_rng(seed), 200, 5, 2)
    model = rosenblatt(combine="pocket", max_iter=7, tol=None, random_state=seed).fit(X, y)
    accuracy = model.score(X, y)
    assert accuracy >= model.set_params(combine="last").score(X, y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("combine", ["average", "vote"])
def test_blocks_by_matrix_products_make_the_same_updates_as_one_by_one(monkeypatch, weighted, combine, dtype, rng):
    X, y = whole_numbers(rng, 700, 9, 12)
    X, weights = X.astype(dtype), rng.choice([0, 1, 2.5], 700) if weighted else None
    one_by_one = rosenblatt(combine=combine, max_iter=3, tol=None).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(one_pass, "MIN_CLASSES_FOR_BLOCKS", 3)
    blocks = rosenblatt(combine=combine, max_iter=3, tol=None).fit(X, y, sample_weight=weights)
    assert blocks.mistakes_.tolist() == one_by_one.mistakes_.tolist()
    for name, array in one_by_one._learner.weights.arrays.items():
        assert np.array_equal(array, blocks._learner.weights.arrays[name]), name
    assert np.array_equal(one_by_one.decision_function(X), blocks.decision_function(X))
    assert_allclose([r["loss"] for r in blocks.history_], [r["loss"] for r in one_by_one.history_], rtol=1e-5)


def test_many_classes_equal_the_reference(layout, rng):
    X, y = gaussian(rng, 600, 20, 160)
    model = rosenblatt(max_iter=2, tol=None).fit(layout(X), y)
    run = multiclass.train(X, y, orders(600, 2, True), 160)
    assert model.mistakes_.tolist() == run.mistakes
    assert_allclose(model.coef_last_, run.theta, atol=1e-11)
    assert_allclose(model.coef_average_, run.average_theta, atol=1e-11)


def test_float32_averages_do_not_lose_the_bias_over_many_steps():
    X = np.tile(np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), (150_000, 1))
    y = np.tile([0, 1], 150_000)
    model = rosenblatt(max_iter=2, tol=None, shuffle=False, zero_score="positive", fit_intercept=True)
    flipped = y.copy()
    flipped[::6] = 1 - flipped[::6]
    model.fit(X, flipped)
    double = rosenblatt(max_iter=2, tol=None, shuffle=False, zero_score="positive").fit(X.astype(float), flipped)
    assert_allclose(model.coef_average_, double.coef_average_, rtol=1e-6)
    assert_allclose(model.intercept_average_, double.intercept_average_, rtol=1e-6)
