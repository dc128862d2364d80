"""The references for margin, cost, penalties, batches, steps and wrappers: by hand, and against identities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Perceptron
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from tests.conftest import gaussian
from tests.linear.test_reference import (
    CONVENTIONS,
    assert_same_versions,
    assert_same_weights,
    repeated_on_the_spot,
    whole_number_data,
)
from tests.reference import binary, multiclass, wrappers
from tests.reference.large import cut, train_binary, train_joint

AGGRESSIVE = ["pa", "pa1", "pa2", "arow"]
COST = np.array([[0, 1, 2.5], [0.5, 0, 0], [3, 1, 0]])


def numbers(versions):
    """The versions of a run in one dimension without intercept, as (w, c)."""
    return [(float(w[0]), c) for w, _, c in versions]


def path_of(run):
    """The path of a run in one dimension, as (w, share)."""
    return [(float(w[0]), share) for w, _, share in run.path]


def assert_same_run(one, other):
    """Everything that two runs leave behind is equal."""
    assert_same_weights(
        (one.w, one.b, one.average_w, one.average_b), (other.w, other.b, other.average_w, other.average_b)
    )
    assert_same_versions(one.path, other.path)
    assert_same_versions(one.versions, other.versions)
    assert (one.mistakes, one.updates, one.losses) == (other.mistakes, other.updates, other.losses)
    if one.sigma_w is not None:
        assert_same_weights((one.sigma_w, one.sigma_b), (other.sigma_w, other.sigma_b))


def shuffled_gaussian(seed, n=15, d=4, k=2, epochs=3):
    rng = np.random.default_rng(seed)
    X, y = gaussian(rng, n, d, k)
    return X, y, [rng.permutation(n) for _ in range(epochs)]


# ---- neutral values: the references of before


@pytest.mark.parametrize("make", [whole_number_data, shuffled_gaussian])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("zero_score", CONVENTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_at_the_neutral_values_the_binary_rule_is_the_perceptron(make, fit_intercept, zero_score, dtype):
    for seed in range(3):
        X, y, orders = make(seed)
        weights = np.random.default_rng(seed).choice([0, 0.25, 1, 2, 1.7], len(X))
        common = {"eta": 0.3, "zero_score": zero_score, "w": np.ones(X.shape[1]), "b": -0.5}
        common |= {"fit_intercept": fit_intercept, "weights": weights}
        run = train_binary(X.astype(dtype), 2 * y - 1, orders, **common)
        known = binary.train(X.astype(dtype), 2 * y - 1, orders, **common)
        assert known.updates > 0
        assert run.w.dtype == run.b.dtype == dtype
        assert_same_weights(
            (run.w, run.b, run.average_w, run.average_b), (known.w, known.b, known.average_w, known.average_b)
        )
        assert_same_versions(run.path, known.path)
        assert_same_versions(run.versions, known.versions)
        assert (run.mistakes, sum(run.updates), run.losses) == (known.mistakes, known.updates, known.losses)
        assert run.updates == run.mistakes


@pytest.mark.parametrize("make", [whole_number_data, shuffled_gaussian])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_at_the_neutral_values_the_joint_rule_is_the_multiclass_perceptron(make, fit_intercept, dtype):
    for seed in range(3):
        X, y, orders = make(seed, 15, 3, 4)
        weights = np.random.default_rng(seed).choice([0, 0.25, 1, 2, 1.7], len(X))
        common = {"eta": 0.3, "theta": np.eye(4, 3), "b": [0, 0, -0.5, 0]}
        common |= {"fit_intercept": fit_intercept, "weights": weights}
        run = train_joint(X.astype(dtype), y, orders, 4, **common)
        known = multiclass.train(X.astype(dtype), y, orders, 4, **common)
        assert known.updates > 0
        assert run.theta.dtype == run.b.dtype == dtype
        assert run.average_theta.dtype == np.float64
        assert_same_weights((run.theta, run.b), (known.theta, known.b))
        assert_same_weights((run.average_theta, run.average_b), (known.average_theta, known.average_b))
        assert_same_versions(run.path, known.path)
        assert_same_versions(run.versions, known.versions)
        assert (run.mistakes, sum(run.updates)) == (known.mistakes, known.updates)
        assert run.updates == run.mistakes
        assert_allclose(run.losses, known.losses, rtol=1e-15 if dtype == np.float64 else 1e-6)


# ---- margin and cost by hand


def test_binary_margin_by_hand():
    # m = 2, no intercept. Epoch 1: x = 1, y = +1, w = 0: y s = 0 <= 2, a mistake, loss 2, w = 1.
    # x = 2, y = +1: y s = 2 <= 2, no mistake, loss 0, w = 3.  x = 1, y = -1: y s = -3, a mistake, loss 5, w = 2.
    # Epoch 2: x = 1: y s = 2 <= 2, no mistake, loss 0, w = 3.  x = 2: y s = 6 > 2, nothing.
    run = train_binary([[1], [2], [1]], [1, 1, -1], [[0, 1, 2], [0, 1]], margin=2.0, fit_intercept=False)
    assert path_of(run) == [(1, 1), (3, 1), (2, 1), (3, 1), (3, 1)]
    assert numbers(run.versions) == [(0, 0), (1, 1), (3, 1), (2, 1), (3, 2)]
    assert (run.mistakes, run.updates, run.losses) == ([2, 0], [3, 1], [7, 0])
    assert_allclose(run.average_w, [12 / 5])
    assert run.b == 0


def test_binary_cost_is_a_margin_of_its_own_for_each_class():
    # margin 1/2; a negative taken for a positive costs 3, so m = 3.5; the other way 1, so m = 1.5. No intercept.
    costs = {"margin": 0.5, "cost": [[0, 3], [1, 0]], "fit_intercept": False}
    # w = 2: y s = 2 > 1.5, nothing, loss 0.
    assert train_binary([[1]], [1], [[0]], w=[2], **costs).updates == [0]
    # w = -3, y = -1: y s = 3 <= 3.5, no mistake, loss 0.5, w = -4. Then y = +1: y s = -4, loss 5.5, w = -3.
    run = train_binary([[1], [1]], [-1, 1], [[0, 1]], w=[-3], **costs)
    assert path_of(run) == [(-4, 1), (-3, 1)]
    assert (run.mistakes, run.updates, run.losses) == ([1], [2], [0.5 + 5.5])


def test_where_margin_and_cost_are_zero_the_convention_at_zero_decides():
    # m = 2 for the negative class, 0 for the positive one. w = 0, b = 0, so s = 0, which "correct" calls right.
    options = {"cost": [[0, 2], [0, 0]], "zero_score": "correct"}
    positive, negative = (train_binary([[1]], [y], [[0]], **options) for y in (1, -1))
    assert (positive.mistakes, positive.updates, positive.losses) == ([0], [0], [0])
    assert (negative.mistakes, negative.updates, negative.losses) == ([0], [1], [2])
    assert train_binary([[1]], [1], [[0]], cost=[[0, 2], [0, 0]], zero_score="negative").updates == [1]
    assert train_binary([[1]], [1], [[0]], margin=2, zero_score="positive").mistakes == [0]
    assert train_binary([[1]], [1], [[0]], margin=2, zero_score="positive").updates == [1]


def test_joint_margin_and_cost_by_hand():
    # x = 1 always, no intercept, theta = (2, 0, 1), margin 1/2.
    # y = 0: 2, 0 + 0.5 + 3, 1 + 0.5 + 0.5 = 2, 3.5, 2: y_hat = 1, no mistake, loss 1.5, theta = (3, -1, 1).
    # y = 0: 3, 2.5, 2: nothing.
    # y = 2: 3.5, -1 + 0.5 + 4, 1 = 3.5, 3.5, 1: a tie, y_hat = 0, a mistake, loss 2.5, theta = (2, -1, 2).
    # y = 2: 2.5, 3.5, 2: y_hat = 1; without cost 2, -1, 2, so 0 is predicted: a mistake; loss 1.5, theta = (2, -2, 3).
    cost = [[0, 3, 0.5], [9, 0, 9], [0, 4, 0]]
    run = train_joint(
        [[1], [1]], [0, 2], [[0, 0], [1, 1]], 3, theta=[[2], [0], [1]], margin=0.5, cost=cost, fit_intercept=False
    )
    assert [theta[:, 0].tolist() for theta, _, _ in run.path] == [[3, -1, 1], [3, -1, 1], [2, -1, 2], [2, -2, 3]]
    assert (run.mistakes, run.updates, run.losses) == ([0, 2], [1, 2], [1.5, 4])
    assert [c for _, _, c in run.versions] == [0, 2, 1, 1]
    assert_allclose(run.average_theta[:, 0], [10 / 4, -5 / 4, 7 / 4])
    assert run.b.tolist() == [0, 0, 0]


def test_joint_with_intercept_by_hand():
    # Zeros, margin 1, x = (2, 1), y = 1: 1, 0, 1: y_hat = 0, loss 1. Then y = 2: scores -6, 6, 0 and y_hat = 1.
    run = train_joint([[2, 1], [2, 1]], [1, 2], [[0, 1]], 3, margin=1.0)
    assert run.path[0][0].tolist() == [[-2, -1], [2, 1], [0, 0]]
    assert run.path[0][1].tolist() == [-1, 1, 0]
    assert run.theta.tolist() == [[-2, -1], [0, 0], [2, 1]]
    assert run.b.tolist() == [-1, 0, 1]
    assert (run.mistakes, run.updates, run.losses) == ([2], [2], [1 + 7])


def test_joint_ties_go_to_the_first_class_and_steps_by_the_loss_leave_them():
    # margin 1, x = 1. theta = (0, 1), y = 1: 1, 1: y_hat = 0 with loss 0. theta = (1, 0), y = 0: 1, 1: y_hat = 0 = y.
    options = {"margin": 1.0, "fit_intercept": False}
    tied = train_joint([[1]], [1], [[0]], 2, theta=[[0], [1]], **options)
    assert (tied.theta.tolist(), tied.mistakes, tied.updates, tied.losses) == ([[-1], [2]], [0], [1], [0])
    assert train_joint([[1]], [0], [[0]], 2, theta=[[1], [0]], **options).updates == [0]
    for step in AGGRESSIVE:
        left = train_joint([[1]], [1], [[0]], 2, theta=[[0], [1]], step=step, **options)
        assert (left.theta.tolist(), left.updates, len(left.versions)) == ([[0], [1]], [0], 1)


def test_binary_equality_with_the_margin_is_a_violation_for_the_constant_step_only():
    # w = 1, x = 1, y = +1, m = 1: y s = 1.
    options = {"w": [1], "margin": 1.0, "fit_intercept": False}
    run = train_binary([[1]], [1], [[0]], **options)
    assert (run.w.tolist(), run.mistakes, run.updates, run.losses) == ([2], [0], [1], [0])
    for step in AGGRESSIVE:
        run = train_binary([[1]], [1], [[0]], step=step, **options)
        assert (run.w.tolist(), run.updates, run.losses, len(run.versions)) == ([1], [0], [0], 1)


# ---- penalties


def test_binary_weight_decay_by_hand():
    # Half of w is left, and all of b. x = 1. Start w = 4, b = -2. y = +1: s = 2, right, w = 2.
    # y = -1: s = 0, a mistake, loss 0, w = 1 - 1 = 0, b = -3.  y = +1: s = -3, loss 3, w = 0 + 1, b = -2.
    # y = +1: s = -1, loss 1, w = 0.5 + 1, b = -1.
    run = train_binary([[1], [1]], [1, -1], [[0, 1, 0, 0]], penalty="l2", alpha=0.5, w=[4], b=-2.0)
    assert path_of(run) == [(2, 1), (0, 1), (1, 1), (1.5, 1)]
    assert [b for _, b, _ in run.path] == [-2, -3, -2, -1]
    assert numbers(run.versions) == [(4, 1), (0, 1), (1, 1), (1.5, 1)]
    assert (run.mistakes, run.updates, run.losses) == ([3], [3], [4])
    assert run.average_w.tolist() == [4.5 / 4]
    assert run.average_b == -8 / 4


def test_binary_truncation_by_hand():
    # Every visit demands 1/4 of every weight, and nothing of the bias. Two features, p and r: (1, 0), (0, 1), both
    # y = +1, then (1, 1) with y = -1. Visit 1: a mistake, w = (1, 0), p pays 1/4: (3/4, 0).  Visit 2: s = 1, right; p
    # pays again.  Visit 3: s = 1/2 + 1, loss 3/2: w = (-1/2, -1), b = 0. u = 3/4. p has paid +1/2 and now
    # owes u - q = 3/4 + 1/2, more than there is: 0, and q = -1/2 + 1/2.  r has paid nothing: -1 + 3/4.
    # Visit 4, of the second example: s = -1/4, loss 1/4: w = (0, 3/4), b = 1. u = 1, r has paid 3/4 in the other
    # direction, so u + q = 7/4 is more than there is: 0.
    run = train_binary([[1, 0], [0, 1], [1, 1]], [1, 1, -1], [[0, 1, 2, 1]], penalty="l1", alpha=0.25)
    assert [w.tolist() for w, _, _ in run.path] == [[0.75, 0], [0.5, 0], [0, -0.25], [0, 0]]
    assert [b for _, b, _ in run.path] == [1, 1, 0, 1]
    assert run.losses == [1.75]


def test_the_elastic_net_scales_before_an_update_and_truncates_after_it():
    # eta alpha = 1/2, l1_ratio = 1/4: 5/8 is left, and 1/8 demanded. w = 8, x = 1, y = -1: 5 - 1 - 1/8.
    run = train_binary([[1]], [-1], [[0]], penalty="elasticnet", alpha=0.5, l1_ratio=0.25, w=[8], fit_intercept=False)
    assert path_of(run) == [(3.875, 1)]


def test_a_fraction_of_a_visit_leaves_a_root_and_is_scored_again():
    # A visit leaves 1/4, half a visit 1/2. w = 8, y = +1, weight 1.5: w = 2, then 1.
    # y = -1, weight 0.5: s = 1, loss 0.5 * 1, w = 1/2 - 1/2 = 0.
    run = train_binary(
        [[1], [1]], [1, -1], [[0, 1]], penalty="l2", alpha=0.75, w=[8], weights=[1.5, 0.5], fit_intercept=False
    )
    assert path_of(run) == [(2, 1), (1, 0.5), (0, 0.5)]
    assert numbers(run.versions) == [(8, 1.5), (0, 0.5)]
    assert run.losses == [0.5]
    assert_allclose(run.average_w, [2.5 / 2])
    # w = -8, y = +1, weight 2: 1/4 of it and 1 is -1, 1/4 of that and 1 is 0.75: the second visit sees the first.
    run = train_binary([[1]], [1], [[0]], penalty="l2", alpha=0.75, w=[-8], weights=[2], fit_intercept=False)
    assert path_of(run) == [(-1, 1), (0.75, 1)]
    assert run.losses == [8 + 1]


def test_joint_weight_decay_by_hand():
    # Half is left, x = 1, no intercept, start (4, 2), b = (0, 2). y = 0: 4, 4, a tie, so 0: right; halved.
    # y = 0 again: 2, 3: 1 is predicted, loss 1; theta = (1 + 1, 0.5 - 1), and b stays.
    run = train_joint(
        [[1], [1]], [0, 0], [[0, 1]], 2, penalty="l2", alpha=0.5, theta=[[4], [2]], b=[0, 2], fit_intercept=False
    )
    assert [theta[:, 0].tolist() for theta, _, _ in run.path] == [[2, 1], [2, -0.5]]
    assert [b.tolist() for _, b, _ in run.path] == [[0, 2], [0, 2]]
    assert [c for _, _, c in run.versions] == [1, 1]
    assert run.versions[0][0].tolist() == [[4], [2]]
    assert (run.mistakes, run.losses) == ([1], [1])


def test_a_penalty_leaves_the_bias_alone():
    run = train_binary([[1]], [1], [[0]], penalty="l2", alpha=0.5, w=[4], b=2.0, fit_intercept=False)
    assert (run.w.tolist(), run.b) == ([2], 2)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("zero_score", CONVENTIONS)
def test_every_visit_decays_and_adds_where_the_weights_before_it_violate(seed, zero_score):
    X, y, orders = whole_number_data(seed)
    signs, weights = 2 * y - 1, np.random.default_rng(seed).choice([1, 0.5], len(X))
    cost = np.array([[0, 1], [0, 0]])  # the positive class has m = 0
    run = train_binary(
        X, signs, orders, eta=0.5, cost=cost, penalty="l2", alpha=1.0, zero_score=zero_score, weights=weights
    )
    w, b = np.zeros(3), 0.0
    updates = 0
    for i, (next_w, next_b, share) in zip(np.concatenate(orders), run.path, strict=True):
        s = w @ X[i] + b
        wrong = {"mistake": s <= 0, "correct": s < 0, "positive": s < 0, "negative": s <= 0}[zero_score]
        violated = s >= -1 if signs[i] == -1 else wrong
        u = 0.5 * share * signs[i] * violated
        assert share == weights[i]
        assert_allclose(next_w, 0.5**share * w + u * X[i], atol=1e-14)
        assert_allclose(next_b, b + u, atol=1e-14)
        updates += violated
        w, b = next_w, next_b
    assert sum(run.updates) == updates > sum(run.mistakes) > 0


# ---- batches


def test_visits_are_cut_into_batches_wherever_they_come_from():
    visits = [(0, 1), (0, 1), (0, 0.5), (2, 1)]
    assert cut([0, 1, 2], [2.5, 0, 1], 1) == [[visit] for visit in visits]
    assert cut([0, 1, 2], [2.5, 0, 1], 3) == [visits[:3], visits[3:]]
    assert cut([0, 1, 2], [2.5, 0, 1], 2) == [visits[:2], visits[2:]]
    assert cut([0, 1, 2], [2.5, 0, 1], "all") == cut([0, 1, 2], [2.5, 0, 1], 9) == [visits]
    assert cut([1], [2.5, 0, 1], "all") == cut([], [1], 2) == []


def test_binary_batches_by_hand():
    # x = 1, 2, 1; y = +1, +1, -1; no intercept; batches of 2, cut anew in every epoch.
    # w = 0: the first two score 0, both mistakes, w = 3. The third: s = 3, loss 3, w = 2.
    # Epoch 2: the first two are right. The third: s = 2, loss 2, w = 1.
    run = train_binary([[1], [2], [1]], [1, 1, -1], [[0, 1, 2]] * 2, batch_size=2, fit_intercept=False)
    assert path_of(run) == [(0, 1), (3, 1), (2, 1), (2, 1), (2, 1), (1, 1)]
    assert numbers(run.versions) == [(0, 1), (3, 1), (2, 3), (1, 1)]
    assert (run.mistakes, run.updates, run.losses) == ([3, 1], [3, 1], [3, 2])
    assert_allclose(run.average_w, [10 / 6])


def test_a_batch_decays_once_by_the_sum_of_its_shares():
    # Half is left at a visit. Shares 1, 1/2, 1/2: a quarter is left. w = 8: x = 1, y = -1: loss 8, u = 1; x = 2,
    # y = -1: half of loss 16, u = half of 2; x = 3, y = +1: right. w = 8/4 - 1 - 1 = 0.
    options = {"penalty": "l2", "alpha": 0.5, "w": [8], "fit_intercept": False}
    weights = [1, 0.5, 0.5]
    run = train_binary([[1], [2], [3]], [-1, -1, 1], [[0, 1, 2]], batch_size="all", weights=weights, **options)
    assert path_of(run) == [(8, 1), (8, 0.5), (0, 0.5)]
    assert numbers(run.versions) == [(8, 1.5), (0, 0.5)]
    assert (run.updates, run.losses) == ([2], [16])
    assert run.average_w.tolist() == [12 / 2]
    # A batch of right answers decays too, at its last visit, and begins no version.
    run = train_binary([[1]], [1], [[0, 0]], batch_size=2, **options)
    assert path_of(run) == [(8, 1), (2, 1)]
    assert numbers(run.versions) == [(8, 2)]


def test_joint_batch_by_hand():
    # All zeros, x = 1, 2, 3 of class 0, 1, 2, with intercept, margin 0: 0 is predicted, two mistakes.
    run = train_joint([[1], [2], [3]], [0, 1, 2], [[0, 1, 2]], 3, batch_size="all")
    assert run.theta.tolist() == [[-5], [2], [3]]
    assert run.b.tolist() == [-2, 1, 1]
    assert (run.mistakes, run.updates, run.losses) == ([2], [2], [0])
    assert_allclose(run.average_theta[:, 0], [-5 / 3, 2 / 3, 3 / 3])
    assert [c for _, _, c in run.versions] == [2, 1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step", ["constant", *AGGRESSIVE])
def test_batches_of_one_are_online_and_a_batch_of_the_whole_pass_is_all(seed, step):
    X, y, orders = shuffled_gaussian(seed, k=3)
    signs, weights = np.where(y == 0, 1, -1), np.random.default_rng(seed).choice([1, 2, 1.5], len(X))
    options = {"margin": 1.0, "penalty": "l2", "alpha": 0.1, "step": step}
    single = [[[(i, share)] for i in order for share in binary.repetitions(weights[i])] for order in orders]
    for train, labels, more in ((train_binary, signs, ()), (train_joint, y, (3,))):
        online = train(X, labels, orders, *more, weights=weights, **options)
        assert sum(online.updates) > 0
        assert_same_run(online, train(X, labels, None, *more, batches=single, **options))
        if step == "constant":
            whole = train(X, labels, orders, *more, weights=weights, batch_size="all", **options)
            assert_same_run(whole, train(X, labels, orders, *more, weights=weights, batch_size=100, **options))
            assert not np.allclose(whole.w, online.w)


def binary_loss(w, b, X, signs, m):
    return np.maximum(0, m - signs * (X @ w + b))


def joint_loss(theta, b, X, y, added):
    augmented = X @ theta.T + b + added[y]
    return augmented.max(axis=1) - augmented[np.arange(len(y)), y]


def numerical_gradient(f, at, h=1e-6):
    gradient = np.zeros_like(at)
    for index in np.ndindex(*at.shape):
        step = np.zeros_like(at)
        step[index] = h
        gradient[index] = (f(at + step) - f(at - step)) / (2 * h)
    return gradient


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("margin", [0.0, 1.5])
def test_a_batch_goes_down_the_gradient_of_its_summed_loss_binary(seed, margin):
    X, y, _ = shuffled_gaussian(seed)
    rng = np.random.default_rng(seed)
    signs, shares, start = 2 * y - 1, rng.choice([1, 0.5], len(X)), rng.standard_normal(X.shape[1] + 1)
    cost = np.array([[0, 0.7], [0.2, 0]])
    m = margin + np.where(signs == 1, 0.2, 0.7)
    gradient = numerical_gradient(lambda v: sum(shares * binary_loss(v[:-1], v[-1], X, signs, m)), start)
    options = {"eta": 0.3, "margin": margin, "cost": cost, "batch_size": "all", "weights": shares}
    run = train_binary(X, signs, [range(len(X))], w=start[:-1], b=start[-1], **options)
    assert np.abs(gradient).max() > 0.1
    assert_allclose(np.append(run.w, run.b) - start, -0.3 * gradient, atol=1e-7)
    assert_allclose(run.losses, [sum(shares * binary_loss(start[:-1], start[-1], X, signs, m))])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("margin", [0.0, 1.5])
def test_a_batch_goes_down_the_gradient_of_its_summed_loss_joint(seed, margin):
    X, y, _ = shuffled_gaussian(seed, k=3)
    rng = np.random.default_rng(seed)
    shares, start = rng.choice([1, 0.5], len(X)), rng.standard_normal((3, X.shape[1] + 1))
    added = COST + margin * (1 - np.eye(3))
    gradient = numerical_gradient(lambda v: sum(shares * joint_loss(v[:, :-1], v[:, -1], X, y, added)), start)
    options = {"eta": 0.3, "margin": margin, "cost": COST, "batch_size": "all", "weights": shares}
    run = train_joint(X, y, [range(len(X))], 3, theta=start[:, :-1], b=start[:, -1], **options)
    assert np.abs(gradient).max() > 0.1
    assert_allclose(np.column_stack([run.theta, run.b]) - start, -0.3 * gradient, atol=1e-7)
    assert_allclose(run.losses, [sum(shares * joint_loss(start[:, :-1], start[:, -1], X, y, added))])


# ---- whole-number weights


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [
        {"margin": 1.0, "penalty": "l2", "alpha": 0.25, "batch_size": 1},
        {"margin": 0.5, "penalty": "l2", "alpha": 0.25, "batch_size": 3},
        {"batch_size": "all"},
        {"margin": 1.0, "step": "pa"},
        {"margin": 1.0, "step": "pa1", "C": 0.05, "penalty": "l2", "alpha": 0.1},
        {"margin": 1.0, "step": "pa2", "C": 0.5},
        {"margin": 1.0, "step": "arow", "C": 0.5},
    ],
)
def test_whole_number_weights_equal_repeating_on_the_spot(seed, options):
    X, y, orders = whole_number_data(seed, n_classes=3)
    counts = np.random.default_rng(seed).integers(0, 4, len(X))
    labels = np.column_stack([y == 0, y != 1]).astype(int)
    cases = [
        (train_binary, np.where(y == 0, 1, -1), (), {"cost": [[0, 1], [2, 0]]}),
        (train_joint, y, (3,), {"cost": COST}),
        (wrappers.one_vs_rest, y, (3,), {}),
        (wrappers.one_vs_one, y, (3,), {}),
        (wrappers.several_labels, labels, (), {"class_weight": {1: 2}}),
    ]
    for train, labels, more, costs in cases:
        rows, _, visits = repeated_on_the_spot(X, y, orders, counts)
        weighted = train(X, labels, orders, *more, weights=counts, **costs, **options)
        repeated = train(rows, np.repeat(labels, counts, axis=0), visits, *more, **costs, **options)
        assert sum(weighted.updates) > 0
        for one, other in zip(
            getattr(weighted, "runs", [weighted]), getattr(repeated, "runs", [repeated]), strict=True
        ):
            assert_same_run(one, other)


# ---- two classes jointly


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("options", "binary_options"),
    [
        ({"eta": 0.3}, {"eta": 0.3}),
        (
            {"eta": 0.3, "penalty": "l2", "alpha": 0.2, "batch_size": 4},
            {"eta": 0.3, "penalty": "l2", "alpha": 0.2, "batch_size": 4},
        ),
        ({"step": "pa"}, {"step": "pa"}),
        (
            {"step": "pa1", "C": 0.1, "penalty": "l2", "alpha": 0.1},
            {"step": "pa1", "C": 0.1, "penalty": "l2", "alpha": 0.1},
        ),
        ({"step": "pa2", "C": 0.5}, {"step": "pa2", "C": 1.0}),  # 2 l / (2 N + 1/(2C)) = l / (N + 1/(4C))
    ],
)
def test_two_classes_jointly_are_the_binary_rule_with_half_the_margin_and_cost(seed, options, binary_options):
    # The difference of the rows is 2 w, so that s_1 - s_0 <= m is 2 s <= m; no score of this data is just at a margin.
    X, y, orders = shuffled_gaussian(seed)
    cost = np.array([[0, 0.7], [0.2, 0]])
    # One visit each: at a second one on the spot "pa" is at its margin, and rounding would decide.
    weights = np.random.default_rng(seed).choice([1, 0.5], len(X))
    joint = train_joint(X, y, orders, 2, margin=1.5, cost=cost, weights=weights, **options)
    alone = train_binary(X, 2 * y - 1, orders, margin=0.75, cost=cost / 2, weights=weights, **binary_options)
    assert sum(joint.updates) > sum(joint.mistakes) > 0
    assert joint.updates == alone.updates
    assert_allclose(joint.theta, [-alone.w, alone.w], atol=1e-12)
    assert_allclose(joint.b, [-alone.b, alone.b], atol=1e-12)
    assert_allclose(joint.average_theta[1], alone.average_w, atol=1e-12)
    assert_allclose(joint.losses, 2 * np.array(alone.losses))
    assert [c for _, _, c in joint.versions] == [c for _, _, c in alone.versions]


# ---- steps by the loss


@pytest.mark.parametrize(
    ("step", "C", "weight", "tau"),
    [
        ("pa", 0.01, 1, 1 / 3),
        ("pa1", 0.25, 1, 0.25),
        ("pa1", 0.5, 1, 1 / 3),
        ("pa2", 0.25, 1, 1 / 5),
        ("pa", 1, 0.5, 1 / 6),
        ("pa1", 0.25, 0.5, 0.125),
    ],
)
def test_binary_passive_aggressive_steps_by_hand(step, C, weight, tau):
    # From zeros, x = (1, -1), y = -1, margin 1: loss 1, N = 1 + 1 + 1; pa2: 1 / (3 + 1 / (2/4)) = 1/5.
    run = train_binary([[1, -1]], [-1], [[0]], margin=1.0, step=step, C=C, weights=[weight])
    assert_allclose(run.w, [-tau, tau])
    assert_allclose(run.b, -tau)
    assert (run.mistakes, run.updates, run.losses) == ([1], [1], [weight])
    assert run.sigma_w is None


@pytest.mark.parametrize(
    ("step", "C", "fit_intercept", "tau"),
    [("pa", 0.01, True, 1 / 10), ("pa", 1, False, 1 / 8), ("pa1", 0.05, True, 0.05), ("pa2", 0.25, False, 1 / 10)],
)
def test_joint_passive_aggressive_steps_by_hand(step, C, fit_intercept, tau):
    # From zeros, x = 2, y = 1, margin 1: 1, 0, 1: y_hat = 0, loss 1. N = 2 (4 + 1), or 2 * 4 without intercept.
    run = train_joint([[2]], [1], [[0]], 3, margin=1.0, step=step, C=C, fit_intercept=fit_intercept)
    assert_allclose(run.theta[:, 0], [-2 * tau, 2 * tau, 0])
    assert_allclose(run.b, np.array([-tau, tau, 0]) * fit_intercept)
    assert (run.updates, run.losses) == ([1], [1])


@pytest.mark.parametrize("step", ["constant", *AGGRESSIVE])
def test_without_a_norm_there_is_no_step_by_the_loss_but_still_a_decay(step):
    options = {"margin": 1.0, "step": step, "fit_intercept": False, "penalty": "l2", "alpha": 0.5}
    run = train_binary([[0]], [1], [[0]], w=[4], **options)
    joint = train_joint([[0]], [1], [[0]], 2, theta=[[4], [2]], **options)
    assert run.w.tolist() == [2]
    assert joint.theta.tolist() == [[2], [1]]
    updates = 1 if step == "constant" else 0
    for found in (run, joint):
        assert (found.mistakes, found.updates, found.losses) == ([1], [updates], [1])
        assert len(found.versions) == 1 + updates
    # With an intercept the norm is 1.
    assert train_binary([[0]], [1], [[0]], margin=1.0, step=step).updates == [1]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_pa_takes_the_smallest_change_that_leaves_no_loss(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    x, w, b, y = rng.standard_normal(4), rng.standard_normal(4), rng.standard_normal(), rng.choice([-1, 1])
    m = 0.1 + max(0, y * (w @ x + b))  # a loss of 0.1 or more
    loss = m - y * (w @ x + b)
    run = train_binary([x], [y], [[0]], margin=m, step="pa", w=w, b=b, fit_intercept=fit_intercept)
    assert_allclose(y * (run.w @ x + run.b), m)
    change, direction = np.append(run.w - w, run.b - b), np.append(x, float(fit_intercept))
    # No change that leaves no loss is shorter than the distance to that half-space, and this one has its direction.
    assert_allclose(np.linalg.norm(change), loss / np.linalg.norm(direction))
    assert_allclose(change / np.linalg.norm(change), y * direction / np.linalg.norm(direction))


@pytest.mark.parametrize("seed", range(10))
def test_joint_pa_takes_the_smallest_change_that_leaves_no_loss_against_the_class_found(seed):
    rng = np.random.default_rng(seed)
    x, theta, b = rng.standard_normal(4), rng.standard_normal((3, 4)), rng.standard_normal(3)
    y = int(np.argmin(theta @ x + b))
    augmented = theta @ x + b + (1.0 + COST[y]) * (np.arange(3) != y)
    y_hat = int(np.argmax(augmented))
    run = train_joint([x], [y], [[0]], 3, margin=1.0, cost=COST, step="pa", theta=theta, b=b)
    s = run.theta @ x + run.b
    assert_allclose(s[y] - s[y_hat], 1.0 + COST[y, y_hat])
    change = np.column_stack([run.theta - theta, run.b - b])
    direction = np.zeros((3, 5))
    direction[y], direction[y_hat] = np.append(x, 1), -np.append(x, 1)
    loss = augmented[y_hat] - augmented[y]
    assert_allclose(change, loss / np.sum(direction**2) * direction, atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("step", "slack"), [("pa1", lambda xi: xi), ("pa2", lambda xi: xi**2)])
@pytest.mark.parametrize("C", [0.02, 0.3, 5.0])
def test_pa1_and_pa2_minimise_the_change_and_the_loss_that_is_left(seed, step, slack, C):
    # Crammer and others (2006): 1/2 |change|^2 + C xi, or C xi^2, where xi is the loss after the change.
    rng = np.random.default_rng(seed)
    x, w = rng.standard_normal(3), rng.standard_normal(3)
    m = 1.0 + max(0.0, w @ x)
    run = train_binary([x], [1], [[0]], margin=m, step=step, C=C, w=w, b=0.0)

    def objective(v):
        return 0.5 * np.sum((v - np.append(w, 0)) ** 2) + C * slack(max(0.0, m - v @ np.append(x, 1)))

    found = np.append(run.w, run.b)
    for _ in range(200):
        assert objective(found) <= objective(found + 10 ** rng.uniform(-4, 0) * rng.standard_normal(4)) + 1e-12
    assert objective(found) < objective(np.append(w, 0))


def test_steps_by_the_loss_go_visit_by_visit_and_unknown_ones_are_an_error():
    for step in AGGRESSIVE:
        with pytest.raises(ValueError, match="visit by visit"):
            train_binary([[1], [2]], [1, 1], [[0, 1]], margin=1.0, step=step, batch_size=2)
        with pytest.raises(ValueError, match="visit by visit"):
            train_joint([[1], [2]], [1, 1], [[0, 1]], 2, margin=1.0, step=step, batch_size="all")
    with pytest.raises(ValueError, match="pa3"):
        train_binary([[1]], [1], [[0]], step="pa3")


# ---- arow


def test_binary_arow_by_hand():
    # margin 1, r = 2. x = (1, 2), y = +1: loss 1, v = 1 + 4 + 1, beta = alpha = 1/8: w = (1/8, 2/8), b = 1/8,
    # Sigma = (1 - 1/8, 1 - 4/8), 1 - 1/8.
    options = {"margin": 1.0, "step": "arow", "C": 0.5}
    run = train_binary([[1, 2]], [1], [[0]], **options)
    assert (run.w.tolist(), run.b) == ([0.125, 0.25], 0.125)
    assert (run.sigma_w.tolist(), run.sigma_b) == ([0.875, 0.5], 0.875)
    # Then x = (0, 2), y = -1: s = 0.5 + 0.125, loss 1.625, v = 4 * 0.5 + 0.875, v + r = 4.875, alpha = 1/3.
    # Sigma x = 0.5 * 2 = 1 for the second feature.
    run = train_binary([[1, 2], [0, 2]], [1, -1], [[0, 1]], **options)
    assert_allclose(run.w, [0.125, 0.25 - 1 / 3])
    assert_allclose(run.b, 0.125 - 0.875 / 3)
    assert_allclose(run.sigma_w, [0.875, 0.5 - 1 / 4.875])
    assert_allclose(run.sigma_b, 0.875 - 0.875**2 / 4.875)
    assert (run.mistakes, run.updates, run.losses) == ([2], [2], [2.625])


def test_a_fraction_of_an_arow_visit_takes_a_fraction_of_both_steps():
    run = train_binary([[1, 2]], [1], [[0]], margin=1.0, step="arow", C=0.5, weights=[0.5])
    assert (run.w.tolist(), run.b, run.losses) == ([1 / 16, 2 / 16], 1 / 16, [0.5])
    assert (run.sigma_w.tolist(), run.sigma_b) == ([15 / 16, 12 / 16], 15 / 16)
    joint = train_joint([[2]], [1], [[0]], 2, margin=1.0, step="arow", C=1 / 8, weights=[0.5], fit_intercept=False)
    assert (joint.theta.tolist(), joint.sigma_w.tolist()) == ([[-1 / 16], [1 / 16]], [[0.875], [0.875]])


def test_joint_arow_by_hand():
    # x = 2, margin 1, r = 8, no intercept. y = 1: 1, 0, 1: y_hat = 0, loss 1, v = 4 + 4, alpha = beta = 1/16:
    # theta = (-2/16, 2/16, 0), Sigma = (1 - 4/16, 1 - 4/16, 1).
    options = {"margin": 1.0, "step": "arow", "C": 1 / 8, "fit_intercept": False}
    run = train_joint([[2]], [1], [[0]], 3, **options)
    assert run.theta[:, 0].tolist() == [-0.125, 0.125, 0]
    assert run.sigma_w[:, 0].tolist() == [0.75, 0.75, 1]
    assert (run.b.tolist(), run.sigma_b.tolist()) == ([0, 0, 0], [1, 1, 1])
    # y = 2: -0.25 + 1, 0.25 + 1, 0: y_hat = 1, loss 1.25, v = 4 + 0.75 * 4 = 7, beta = 1/15, alpha = 1/12:
    # theta_2 = 2/12, theta_1 = 0.125 - 1.5/12 = 0; Sigma_2 = 1 - 4/15, Sigma_1 = 0.75 - 1.5^2/15 = 0.6.
    run = train_joint([[2], [2]], [1, 2], [[0, 1]], 3, **options)
    assert_allclose(run.theta[:, 0], [-0.125, 0, 1 / 6], atol=1e-15)
    assert_allclose(run.sigma_w[:, 0], [0.75, 0.6, 11 / 15])


def test_arow_moves_the_biases_like_a_feature_of_one():
    X, y, orders = shuffled_gaussian(0, k=3)
    with_one = np.column_stack([X, np.ones(len(X))])
    options = {"margin": 1.0, "step": "arow", "C": 0.3, "weights": np.linspace(0, 2, len(X))}
    for train, labels, more in ((train_binary, np.where(y == 0, 1, -1), ()), (train_joint, y, (3,))):
        run = train(X, labels, orders, *more, **options)
        other = train(with_one, labels, orders, *more, fit_intercept=False, **options)
        assert sum(run.updates) > 0
        assert_allclose(run.w, other.w[..., :-1], atol=1e-12)
        assert_allclose(run.b, other.w[..., -1], atol=1e-12)
        assert_allclose(run.sigma_w, other.sigma_w[..., :-1])
        assert_allclose(run.sigma_b, other.sigma_w[..., -1])


@pytest.mark.parametrize("train", [train_binary, train_joint])
def test_arow_variances_fall_with_every_update_and_stay_positive(train):
    X, y, _ = shuffled_gaussian(1, n=40, k=2)
    X[:, 0] = 0  # a feature that never occurs
    labels, more = (2 * y - 1, ()) if train is train_binary else (y, (2,))
    options = {"margin": 1.0, "step": "arow", "C": 10.0}
    before, updates = None, 0
    for n in range(1, len(X) + 1):
        run = train(X, labels, [range(n)], *more, **options)
        after = np.concatenate([np.ravel(run.sigma_w[..., 1:]), np.ravel(run.sigma_b)])
        assert np.all(after > 0)
        assert np.all(run.sigma_w[..., 0] == 1)
        if before is not None and run.updates[0] > updates:
            assert np.all(after < before)
        elif before is not None:
            assert np.all(after == before)
        before, updates = after, run.updates[0]
    assert 2 < updates < len(X)


def test_arow_in_one_dimension_adds_up_the_squares():
    # There the diagonal is the whole matrix, and 1/Sigma grows by x^2/r = C x^2 (Crammer and others 2009).
    X, _, orders = shuffled_gaussian(2, d=1)
    run = train_binary(X, np.where(X[:, 0] > 0, 1, -1), orders, margin=1.0, step="arow", C=0.7, fit_intercept=False)
    before = [0, *(float(w[0]) for w, _, _ in run.path)]
    squares = [
        X[i, 0] ** 2 for i, w, next_w in zip(np.concatenate(orders), before, before[1:], strict=False) if next_w != w
    ]
    assert 1 < len(squares) == sum(run.updates) < len(run.path)
    assert_allclose(1 / run.sigma_w, [1 + 0.7 * sum(squares)])


def test_the_first_arow_update_is_that_of_pa2_with_half_of_c():
    X, y, _ = shuffled_gaussian(3, k=3)
    for train, labels, more in ((train_binary, np.where(y == 0, 1, -1), ()), (train_joint, y, (3,))):
        arow = train(X, labels, [[0]], *more, margin=1.0, step="arow", C=0.8)
        pa2 = train(X, labels, [[0]], *more, margin=1.0, step="pa2", C=0.4)
        assert arow.updates == [1]
        assert_allclose(arow.w, pa2.w)
        assert_allclose(arow.b, pa2.b)


# ---- types, starts, inputs


@pytest.mark.parametrize("step", ["constant", *AGGRESSIVE])
def test_float32_stays_float32_whatever_the_step(step):
    X, y, orders = shuffled_gaussian(4, k=3)
    options = {
        "margin": np.float64(1),
        "penalty": "l2",
        "alpha": 0.1,
        "step": step,
        "C": 0.3,
        "weights": np.full(len(X), 1.5),
    }
    cases = ((train_binary, np.where(y == 0, 1, -1), (), np.ones((2, 2))), (train_joint, y, (3,), COST))
    for train, labels, more, cost in cases:
        run = train(X.astype(np.float32), labels, orders, *more, cost=cost, **options)
        exact = train(X, labels, orders, *more, cost=cost, **options)
        assert {w.dtype for w, _, _ in run.path} == {b.dtype for _, b, _ in run.path} == {np.dtype(np.float32)}
        assert run.average_w.dtype == run.average_b.dtype == np.float64
        assert_allclose(run.w, exact.w, rtol=1e-4, atol=1e-4)
        assert not np.array_equal(run.w, exact.w)
        if step == "arow":
            assert run.sigma_w.dtype == run.sigma_b.dtype == np.float32


@pytest.mark.parametrize("step", ["constant", *AGGRESSIVE])
def test_data_and_starts_are_not_modified(step):
    X, y, orders = shuffled_gaussian(5, k=3)
    given = [X, y, COST, np.ones(4), np.ones((3, 4)), np.ones(3)]
    copies = [a.copy() for a in given]
    run = train_binary(X, np.where(y == 0, 1, -1), orders, margin=1.0, step=step, w=given[3])
    joint = train_joint(X, y, orders, 3, margin=1.0, cost=COST, step=step, theta=given[4], b=given[5])
    assert not np.array_equal(run.w, given[3])
    assert not np.array_equal(joint.theta, given[4])
    assert_same_weights(given, copies)
    assert_same_weights(run.versions[0][:2], (given[3], 0))
    assert_same_weights(joint.versions[0][:2], given[4:])


def test_without_any_visit_the_average_is_the_start():
    run = train_binary([[1.0]], [1], [[0]], w=[3.0], weights=[0], penalty="l2", alpha=0.5)
    assert (run.w.tolist(), run.average_w.tolist(), run.mistakes, run.updates) == ([3], [3], [0], [0])


# ---- wrappers


def rows_of(estimators):
    """The weights of scikit-learn's binary estimators."""
    return np.vstack([e.coef_ for e in estimators]), np.concatenate([e.intercept_ for e in estimators])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [2, 4])
def test_wrappers_equal_those_of_scikit_learn_around_its_perceptron(seed, n_classes):
    X, y, _ = whole_number_data(seed, n=20, n_classes=n_classes)
    y[:n_classes] = range(n_classes)
    orders = [range(20)] * 3
    theirs = Perceptron(shuffle=False, tol=None, max_iter=3)
    new = np.random.default_rng(seed).integers(-3, 4, (50, 3))

    rest = wrappers.one_vs_rest(X, y, orders, n_classes)
    model = OneVsRestClassifier(theirs).fit(X, y)
    assert_same_weights((rest.w, rest.b), rows_of(model.estimators_))
    assert np.array_equal(wrappers.predict_one_vs_rest(rest.w, rest.b, new), model.predict(new))

    one = wrappers.one_vs_one(X, y, orders, n_classes)
    model = OneVsOneClassifier(theirs).fit(X, y)
    assert_same_weights((one.w, one.b), rows_of(model.estimators_))
    decision, labels = wrappers.predict_one_vs_one(one.w, one.b, new, n_classes)
    assert np.array_equal(labels, model.predict(new))
    if n_classes > 2:  # for two classes theirs is the score alone
        assert_allclose(decision, model.decision_function(new))

    Y = np.column_stack([y == 0, X[:, 0] + y > 1, y != 1]).astype(int)
    several = wrappers.several_labels(X, Y, orders)
    model = OneVsRestClassifier(theirs).fit(X, Y)
    assert_same_weights((several.w, several.b), rows_of(model.estimators_))
    assert np.array_equal(wrappers.predict_several_labels(several.w, several.b, new), model.predict(new))


@pytest.mark.parametrize("wrapper", [wrappers.one_vs_rest, wrappers.one_vs_one])
def test_two_classes_are_the_plain_binary_model(wrapper):
    X, y, orders = shuffled_gaussian(0)
    options = {"margin": 0.5, "penalty": "l2", "alpha": 0.1, "batch_size": 4, "weights": np.linspace(0, 3, len(X))}
    wrapped = wrapper(X, y, orders, 2, w=[[1, 0, 0, 0]], b=[0.5], **options)
    plain = train_binary(X, 2 * y - 1, orders, w=[1, 0, 0, 0], b=0.5, **options)
    assert len(wrapped.runs) == 1
    assert_same_run(wrapped.runs[0], plain)
    assert (wrapped.mistakes, wrapped.updates, wrapped.losses) == (plain.mistakes, plain.updates, plain.losses)


def test_one_vs_rest_by_hand():
    # x = 1, 2 of class 0, 1, margin 1, no intercept. Class 0: +1, -1: w = 1, then s = 2, loss 3, w = -1.
    # Class 1: -1, +1: w = -1, then s = -2, loss 3, w = 1. Class 2: -1, -1: w = -1, then y s = 2 > 1.
    # Losses: 1 + 3, 1 + 3, 1 + 0. Epoch 2, x = 1 only: y s = -1, -1, 1: losses 2, 2, 0; the last is at the margin.
    run = wrappers.one_vs_rest([[1], [2]], [0, 1], [[0, 1], [0]], 3, margin=1.0, fit_intercept=False)
    assert run.w.tolist() == [[0], [0], [-2]]
    assert (run.mistakes, run.updates, run.losses) == ([5, 2], [5, 3], [9, 4])
    assert_allclose(run.average_w, [[0], [0], [-4 / 3]])
    assert run.b.tolist() == run.average_b.tolist() == [0, 0, 0]


def test_one_vs_one_by_hand_with_batches_cut_over_all_visits():
    # x = 1, 1, 2, 1 of class 0, 2, 1, 2; no intercept; batches {0, 1}, {2, 3}.
    # (0, 1): example 0, -1: w = -1. Example 2, +1: s = -2, loss 2, w = 1.
    # (0, 2): examples 0, -1, and 1, +1, at w = 0: -1 + 1 = 0. Example 3, +1: s = 0, w = 1.
    # (1, 2): example 1, +1: w = 1. Examples 2, -1: s = 2, loss 2; and 3, +1: s = 1, right: w = 1 - 2 = -1.
    run = wrappers.one_vs_one([[1], [1], [2], [1]], [0, 2, 1, 2], [[0, 1, 2, 3]], 3, batch_size=2, fit_intercept=False)
    assert [path_of(each) for each in run.runs] == [
        [(-1, 1), (1, 1)],
        [(0, 1), (0, 1), (1, 1)],
        [(1, 1), (1, 1), (-1, 1)],
    ]
    assert numbers(run.runs[2].versions) == [(0, 0), (1, 2), (-1, 1)]
    assert (run.mistakes, run.updates, run.losses) == ([7], [7], [4])
    assert_allclose(run.average_w, [[0], [1 / 3], [1 / 3]])
    # Weight 2 for example 0 moves the cuts: {0, 0}, {1, 2}, {3}. (1, 2): examples 1, +1, and 2, -1, at w = 0:
    # 1 - 2 = -1; then 3, +1: s = -1, w = 0. (0, 1): -1 - 1 = -2, then +1: s = -4, w = 0.
    run = wrappers.one_vs_one(
        [[1], [1], [2], [1]], [0, 2, 1, 2], [[0, 1, 2, 3]], 3, batch_size=2, fit_intercept=False, weights=[2, 1, 1, 1]
    )
    assert path_of(run.runs[0]) == [(0, 1), (-2, 1), (0, 1)]
    assert path_of(run.runs[2]) == [(0, 1), (-1, 1), (0, 1)]


def test_a_problem_of_one_vs_one_decays_only_at_its_own_visits():
    # Half is left at a visit; starts 8 and right answers: (0, 1) and (0, 2) have one visit, (1, 2) has none.
    run = wrappers.one_vs_one(
        [[1]],
        [0],
        [[0]],
        3,
        penalty="l2",
        alpha=0.5,
        batch_size="all",
        w=[[-8], [-8], [-8]],
        b=[0, 0, 2],
        fit_intercept=False,
    )
    assert run.w.tolist() == [[-4], [-4], [-8]]
    assert run.average_w.tolist() == [[-4], [-4], [-8]]
    assert run.b.tolist() == [0, 0, 2]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step", ["constant", *AGGRESSIVE])
def test_a_problem_of_one_vs_one_is_the_binary_rule_on_the_rows_of_its_classes(seed, step):
    X, y, orders = shuffled_gaussian(seed, k=3)
    options = {"margin": 1.0, "step": step, "weights": np.random.default_rng(seed).choice([0.5, 1, 2], len(X))}
    wrapped = wrappers.one_vs_one(X, y, orders, 3, **options)
    for run, (a, b) in zip(wrapped.runs, [(0, 1), (0, 2), (1, 2)], strict=True):
        rows = np.flatnonzero((y == a) | (y == b))
        own = [[list(rows).index(i) for i in order if i in rows] for order in orders]
        options_of_rows = {**options, "weights": options["weights"][rows]}
        alone = train_binary(X[rows], np.where(y[rows] == b, 1, -1), own, **options_of_rows)
        assert sum(run.updates) > 0
        assert_same_run(run, alone)


def test_one_vs_one_breaks_ties_of_votes_by_confidence():
    # Scores of (0, 1), (0, 2), (1, 2). 1, -3, 2: one vote each; confidences -1 + 3, 1 - 2, -3 + 2 = 2, -1, -1.
    # 0.5, -1, 9: one vote each; 0.5, -8.5, 8: class 2. 1, 100, -1: votes 0, 2, 1, though 2 has confidence 99.
    # 0, 0, 0: votes for the first of each pair: 2, 1, 0.
    scores = np.array([[1, -3, 2], [0.5, -1, 9], [1, 100, -1], [0, 0, 0]])
    found = [wrappers.predict_one_vs_one(np.zeros((3, 1)), s, [[7.0]], 3) for s in scores]
    assert [label.tolist() for _, label in found] == [[0], [2], [1], [0]]
    assert_allclose(found[0][0], [[1 + 2 / 9, 1 - 1 / 6, 1 - 1 / 6]])
    assert_allclose(found[1][0], [[1 + 0.5 / 4.5, 1 - 8.5 / 28.5, 1 + 8 / 27]])
    assert_allclose(found[2][0], [[0 - 101 / 306, 2 + 2 / 9, 1 + 99 / 300]])
    assert found[3][0].tolist() == [[2, 1, 0]]


def test_one_vs_rest_and_labels_follow_the_convention_at_zero():
    w, b = np.array([[1.0], [0.0]]), np.array([0.0, 1.0])
    # Scores 0, 1 and 1, 1: the argmax is 1, then 0 by the tie.
    assert wrappers.predict_one_vs_rest(w, b, [[0.0], [1.0]]).tolist() == [1, 0]
    for zero_score, at_zero in [("mistake", 0), ("correct", 0), ("negative", 0), ("positive", 1)]:
        assert wrappers.predict_one_vs_rest(w[:1], b[:1], [[0.0], [2.0], [-1.0]], zero_score).tolist() == [
            at_zero,
            1,
            0,
        ]
        assert wrappers.predict_several_labels(w, b, [[0.0], [-1.0]], zero_score).tolist() == [[at_zero, 1], [0, 1]]


def test_weights_of_labels_by_hand():
    Y = np.array([[1, 0], [1, 1], [0, 0], [1, 0]])
    assert wrappers.label_weights(Y, np.array([1, 1, 1, 2]), None).tolist() == [[1, 1], [1, 1], [1, 1], [2, 2]]
    # {1: 2.5}: only the example that has label 1, in its problem.
    assert wrappers.label_weights(Y, np.array([1, 2, 1, 2]), {1: 2.5}).tolist() == [[1, 1], [2, 5], [1, 1], [2, 2]]
    # Balanced, weights 1: label 0 has 3 and 1, so 1/3 and 1; label 1 has 1 and 3.
    found = wrappers.label_weights(Y, np.ones(4), "balanced")
    assert_allclose(found, [[1 / 3, 1 / 3], [1 / 3, 1], [1, 1 / 3], [1 / 3, 1 / 3]])
    # Weights 0, 3, 1, 1: label 0 has 4 and 1, so 1/4 and 1; label 1 has 3 and 2, so 2/3 and 1.
    found = wrappers.label_weights(Y, np.array([0, 3, 1, 1]), "balanced")
    assert_allclose(found, [[0, 0], [3 / 4, 2], [1, 1], [1 / 4, 1]])
    # Weights 1, 0, 1, 1: nothing has label 1, so its positive part weighs 0, and its negative one 1.
    found = wrappers.label_weights(Y, np.array([1, 0, 1, 1]), "balanced")
    assert_allclose(found, [[1 / 2, 1], [0, 0], [1, 1], [1 / 2, 1]])


def test_several_labels_by_hand():
    # x = 1, 2; labels {0}, {0, 1}; no intercept. Label 0: +1, +1: w = 1, then right.
    # Label 1, positives twice: -1: w = -1; +1: s = -2, loss 2, w = 1; again: s = 2, right.
    run = wrappers.several_labels([[1], [2]], [[1, 0], [1, 1]], [[0, 1]], class_weight={1: 2}, fit_intercept=False)
    assert [path_of(each) for each in run.runs] == [[(1, 1), (1, 1)], [(-1, 1), (1, 1), (1, 1)]]
    assert (run.mistakes, run.updates, run.losses) == ([3], [3], [2])
    assert_allclose(run.average_w, [[1], [1 / 3]])


def test_batches_of_labels_are_cut_over_the_visits_of_each_problem():
    # As above in batches of 2: label 0: both at w = 0, w = 3. Label 1: -1 + 2 = 1 at w = 0; then s = 2, right.
    run = wrappers.several_labels(
        [[1], [2]], [[1, 0], [1, 1]], [[0, 1]], class_weight={1: 2}, batch_size=2, fit_intercept=False
    )
    assert [path_of(each) for each in run.runs] == [[(0, 1), (3, 1)], [(0, 1), (1, 1), (1, 1)]]


@pytest.mark.parametrize("seed", range(3))
def test_labels_that_are_classes_are_one_vs_rest(seed):
    X, y, orders = shuffled_gaussian(seed, k=3)
    options = {
        "margin": 1.0,
        "penalty": "l2",
        "alpha": 0.1,
        "batch_size": 3,
        "weights": np.linspace(0, 2, len(X)),
        "eta": 0.5,
    }
    rest = wrappers.one_vs_rest(X, y, orders, 3, **options)
    several = wrappers.several_labels(X, np.eye(3, dtype=int)[y], orders, **options)
    assert sum(rest.updates) > sum(rest.mistakes) > 0
    for one, other in zip(rest.runs, several.runs, strict=True):
        assert_same_run(one, other)
