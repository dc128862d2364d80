"""The reference itself against examples worked by hand, and against identities that hold for it."""

import numpy as np
import pytest
from sklearn.linear_model import Perceptron, SGDClassifier

from tests.reference import binary, multiclass, pocket

CONVENTIONS = ["mistake", "correct", "positive", "negative"]


def whole_number_data(seed, n=12, d=3, n_classes=2):
    """Small whole numbers, so that every sum is exact and scores of 0 and ties happen; with three shuffled epochs."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(float)
    y = rng.integers(0, n_classes, n)
    orders = [rng.permutation(n) for _ in range(3)]
    return X, y, orders


def repeated_on_the_spot(X, y, orders, counts):
    """The data with row i standing counts[i] times, and orders that visit all copies of a row one after the other."""
    first = np.cumsum(counts) - counts
    visits = [[first[i] + r for i in order for r in range(counts[i])] for order in orders]
    return np.repeat(X, counts, axis=0), np.repeat(y, counts), visits


def assert_same_weights(left, right):
    """Both are sequences of arrays and numbers."""
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(one, other)


def assert_same_versions(left, right):
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        assert_same_weights(one, other)


# ---- binary


def test_binary_worked_example_of_the_spec():
    X = [[1, 1], [2, 1], [1.5, 7.0]]
    run = binary.train(X, [-1, 1, 1], [[0, 1, 2]], eta=0.1, w=[0.2, 0.0], b=-0.1)
    (w1, b1, _), (w2, b2, _), (w3, b3, _) = run.path
    np.testing.assert_allclose(w1, [0.1, -0.1])
    np.testing.assert_allclose(b1, -0.2)
    np.testing.assert_allclose(w2, [0.3, 0.0], atol=1e-15)
    np.testing.assert_allclose(b2, -0.1)
    np.testing.assert_allclose(w2 @ [1.5, 7.0] + b2, 0.35)
    assert_same_weights((w3, b3), (w2, b2))
    assert_same_weights((run.w, run.b), (w2, b2))
    assert run.mistakes == [2]
    assert run.updates == 2
    np.testing.assert_allclose(run.losses, [0.1 + 0.1])
    assert [c for _, _, c in run.versions] == [0, 1, 2]
    np.testing.assert_allclose(run.average_w, [(0.1 + 0.3 + 0.3) / 3, -0.1 / 3], atol=1e-15)
    np.testing.assert_allclose(run.average_b, (-0.2 - 0.1 - 0.1) / 3)


@pytest.mark.parametrize(
    ("zero_score", "mistake_of_positive", "mistake_of_negative", "label"),
    [("mistake", 1, 1, -1), ("correct", 0, 0, -1), ("positive", 0, 1, 1), ("negative", 1, 0, -1)],
)
def test_score_zero_follows_the_convention(zero_score, mistake_of_positive, mistake_of_negative, label):
    assert binary.train([[3.0]], [1], [[0]], zero_score=zero_score).mistakes == [mistake_of_positive]
    assert binary.train([[3.0]], [-1], [[0]], zero_score=zero_score).mistakes == [mistake_of_negative]
    assert binary.predict(np.zeros(1), 0.0, [[3.0]], zero_score).tolist() == [label]


def test_unknown_convention_is_an_error():
    with pytest.raises(ValueError, match="zero_score"):
        binary.train([[1.0]], [1], [[0]], zero_score="right")


def test_only_nonzero_scores_decide_away_from_zero():
    for zero_score in CONVENTIONS:
        assert binary.predict(np.array([1.0]), -1.0, [[2.0], [0.5]], zero_score).tolist() == [1, -1]


def test_orders_are_followed_and_may_be_a_generator():
    X, y = [[1.0, 0.0], [0.0, 1.0]], [1, -1]
    run = binary.train(X, y, (order for order in [[1], [0, 1]]), fit_intercept=False)
    # epoch 1: w = (0, -1); epoch 2: example 0 scores 0, so w = (1, -1); example 1 is right.
    assert [w.tolist() for w, _, _ in run.path] == [[0, -1], [1, -1], [1, -1]]
    assert run.mistakes == [1, 1]


def test_stop_ends_after_the_first_epoch_without_a_mistake_and_only_if_asked():
    X, y, orders = [[1.0], [-1.0]], [1, -1], [[0, 1]] * 5
    # epoch 1: w = 1, b = 1, then x = -1 scores 0, so w = 2, b = 0; epoch 2 has no mistake.
    assert binary.train(X, y, orders).mistakes == [2, 0, 0, 0, 0]
    stopped = binary.train(X, y, orders, stop=True)
    assert stopped.mistakes == [2, 0]
    assert len(stopped.path) == 4
    assert multiclass.train(X, [1, 0], orders, 2, stop=True).mistakes[-1] == 0
    assert len(multiclass.train(X, [1, 0], orders, 2, stop=True).mistakes) < 5
    assert len(multiclass.train(X, [1, 0], orders, 2).mistakes) == 5


@pytest.mark.parametrize("seed", range(5))
def test_binary_equals_scikit_learn_on_dense_rows_in_order(seed):
    X, y, _ = whole_number_data(seed)
    orders = [range(len(X))] * 4
    run = binary.train(X, 2 * y - 1, orders, eta=0.5)
    theirs = {"shuffle": False, "tol": None, "max_iter": 4, "eta0": 0.5}
    last = Perceptron(**theirs).fit(X, y)
    assert_same_weights((run.w, run.b), (last.coef_[0], last.intercept_[0]))
    mean = SGDClassifier(loss="perceptron", penalty=None, learning_rate="constant", average=True, **theirs).fit(X, y)
    np.testing.assert_allclose(run.average_w, mean.coef_[0], atol=1e-12)
    np.testing.assert_allclose(run.average_b, mean.intercept_[0], atol=1e-12)


def test_without_intercept_the_bias_keeps_its_start():
    X, y, orders = whole_number_data(0)
    run = binary.train(X, 2 * y - 1, orders, fit_intercept=False)
    assert run.updates > 0
    assert run.b == 0
    assert binary.train(X, 2 * y - 1, orders, fit_intercept=False, b=2.0).b == 2
    many = multiclass.train(X, y, orders, 2, fit_intercept=False)
    assert many.updates > 0
    assert many.b.tolist() == [0, 0]


def test_start_and_data_are_not_modified():
    X, y, orders = whole_number_data(1)
    signs, w, theta, b = 2 * y - 1, np.ones(3), np.ones((2, 3)), np.ones(2)
    copies = [a.copy() for a in (X, y, signs, w, theta, b)]
    binary.train(X, signs, orders, w=w)
    multiclass.train(X, y, orders, 2, theta=theta, b=b)
    pocket.binary(X, signs, orders, w=w)
    pocket.multiclass(X, y, orders, 2, theta=theta, b=b)
    assert_same_weights((X, y, signs, w, theta, b), copies)


def test_float32_stays_float32_and_its_average_is_float64():
    X, y, orders = whole_number_data(2)
    run = binary.train(X.astype(np.float32), 2 * y - 1, orders, eta=0.1)
    many = multiclass.train(X.astype(np.float32), y, orders, 2, eta=0.1)
    assert (run.w.dtype, run.b.dtype, many.theta.dtype, many.b.dtype) == (np.float32,) * 4
    assert (run.average_w.dtype, run.average_b.dtype, many.average_theta.dtype) == (np.float64,) * 3
    assert binary.train(X.astype(int), 2 * y - 1, orders).w.dtype == np.float64


# ---- multiclass


def test_multiclass_worked_example_of_the_spec():
    # not funny painful ok overall story good jokes; POS NEG NEU
    X = [[1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0]]
    run = multiclass.train(X, [1, 1], [[0, 1]], 3, b=[1, 0, 0])
    assert run.theta.tolist() == [[-1, -1, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0], [0] * 8]
    assert run.b.tolist() == [0, 1, 0]
    assert multiclass.scores(run.theta, run.b, np.array(X[1])).tolist() == [-2, 3, 0]
    assert run.mistakes == [1]
    assert run.updates == 1
    assert run.losses == [1.0]
    assert [c for _, _, c in run.versions] == [0, 2]


def test_ties_go_to_the_lowest_class():
    run = multiclass.train([[1.0]], [2], [[0]], 3)
    # all three score 0, so class 0 is predicted and pays; class 1 is untouched.
    assert run.theta.tolist() == [[-1], [0], [1]]
    assert multiclass.train([[1.0]], [0], [[0]], 3).mistakes == [0]
    assert multiclass.predict(np.array([[0.0], [1.0], [1.0]]), np.zeros(3), [[1.0]]).tolist() == [1]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_equal_binary_with_zero_score_negative_update_for_update(seed, weighted):
    X, y, orders = whole_number_data(seed)
    start = np.array([1.0, -1.0, 0.0])
    weights = np.random.default_rng(seed).integers(0, 7, len(X)) / 2 if weighted else None
    two = multiclass.train(X, y, orders, 2, theta=[-start, start], b=[-1, 1], eta=0.5, weights=weights)
    one = binary.train(X, 2 * y - 1, orders, zero_score="negative", w=start, b=1, eta=0.5, weights=weights)
    assert one.updates > 0
    assert two.mistakes == one.mistakes
    assert two.losses == [2 * loss for loss in one.losses]
    assert len(two.path) == len(one.path)
    for (theta, biases, c_two), (w, b, c_one) in zip(two.versions, one.versions, strict=True):
        assert_same_weights((theta[1] - theta[0], biases[1] - biases[0], c_two), (2 * w, 2 * b, c_one))
    np.testing.assert_allclose(two.average_theta[1] - two.average_theta[0], 2 * one.average_w, atol=1e-12)
    assert (multiclass.predict(two.theta, two.b, X) * 2 - 1).tolist() == binary.predict(
        one.w, one.b, X, "negative"
    ).tolist()
    votes, labels = multiclass.predict_vote(two.versions, X)
    vote_sum, signs = binary.predict_vote(one.versions, X, "negative")
    assert (votes[:, 1] - votes[:, 0]).tolist() == vote_sum.tolist()
    assert (2 * labels - 1).tolist() == signs.tolist()
    *two_pocket, two_left = pocket.multiclass(X, y, orders, 2, eta=0.5, weights=weights)
    *one_pocket, one_left = pocket.binary(X, 2 * y - 1, orders, zero_score="negative", eta=0.5, weights=weights)
    assert_same_weights([a[1] - a[0] for a in two_pocket], [2 * a for a in one_pocket])
    assert two_left == one_left


# ---- averages, votes, example weights


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weights", [None, np.arange(12) / 4])
def test_average_equals_the_versions_weighted_by_survival(seed, weights):
    X, y, orders = whole_number_data(seed, n_classes=3)
    one = binary.train(X, np.where(y > 0, 1, -1), orders, w=[5, 0, 0], weights=weights)
    many = multiclass.train(X, y, orders, 3, b=[1, 0, 2], weights=weights)
    examples = 3 * (len(X) if weights is None else weights.sum())
    for run, w, b in [(one, one.average_w, one.average_b), (many, many.average_theta, many.average_b)]:
        total = sum(c for _, _, c in run.versions)
        assert total == examples
        assert len(run.versions) == run.updates + 1
        np.testing.assert_allclose(w, sum(c * w_k for w_k, _, c in run.versions) / total, atol=1e-12)
        np.testing.assert_allclose(b, sum(c * b_k for _, b_k, c in run.versions) / total, atol=1e-12)


def test_start_counts_in_the_average_only_as_long_as_it_survives():
    # w = 1 is right on the first two examples, then y = -1 makes it 0.
    run = binary.train([[1.0], [2.0], [1.0]], [1, 1, -1], [[0, 1, 2]], w=[1.0], fit_intercept=False)
    assert [(w.tolist(), c) for w, _, c in run.versions] == [([1], 2), ([0], 1)]
    np.testing.assert_allclose(run.average_w, [2 / 3])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("zero_score", CONVENTIONS)
def test_whole_number_weights_equal_repeating_on_the_spot_binary(seed, zero_score):
    X, y, orders = whole_number_data(seed)
    y = 2 * y - 1
    counts = np.random.default_rng(seed).integers(0, 4, len(X))
    keywords = {"eta": 0.5, "w": [1, 0, 0], "zero_score": zero_score}
    weighted = binary.train(X, y, orders, weights=counts, **keywords)
    repeated = binary.train(*repeated_on_the_spot(X, y, orders, counts), **keywords)
    assert weighted.updates > 0
    assert_same_weights((weighted.w, weighted.b), (repeated.w, repeated.b))
    assert_same_weights((weighted.average_w, weighted.average_b), (repeated.average_w, repeated.average_b))
    assert_same_versions(weighted.versions, repeated.versions)
    assert (weighted.mistakes, weighted.losses) == (repeated.mistakes, repeated.losses)
    assert_same_weights(
        pocket.binary(X, y, orders, weights=counts, **keywords),
        pocket.binary(*repeated_on_the_spot(X, y, orders, counts), **keywords),
    )


@pytest.mark.parametrize("seed", range(10))
def test_whole_number_weights_equal_repeating_on_the_spot_multiclass(seed):
    X, y, orders = whole_number_data(seed, n_classes=3)
    counts = np.random.default_rng(seed).integers(0, 4, len(X))
    weighted = multiclass.train(X, y, orders, 3, weights=counts)
    repeated = multiclass.train(*repeated_on_the_spot(X, y, orders, counts), 3)
    assert weighted.updates > 0
    assert_same_weights((weighted.theta, weighted.b), (repeated.theta, repeated.b))
    assert_same_weights((weighted.average_theta, weighted.average_b), (repeated.average_theta, repeated.average_b))
    assert_same_versions(weighted.versions, repeated.versions)
    assert (weighted.mistakes, weighted.losses) == (repeated.mistakes, repeated.losses)
    assert_same_weights(
        pocket.multiclass(X, y, orders, 3, weights=counts),
        pocket.multiclass(*repeated_on_the_spot(X, y, orders, counts), 3),
    )


def test_a_fraction_is_a_last_visit_with_a_smaller_step_and_count():
    # Weight 2.5, w = -2.25, y = +1, x = 1: two full steps reach -0.25, half a step then 0.25.
    run = binary.train([[1.0]], [1], [[0]], w=[-2.25], fit_intercept=False, weights=[2.5])
    assert [(w.tolist(), share) for w, _, share in run.path] == [([-1.25], 1), ([-0.25], 1), ([0.25], 0.5)]
    assert [c for _, _, c in run.versions] == [0, 1, 1, 0.5]
    assert run.mistakes == [3]
    assert run.updates == 3
    assert run.losses == [2.25 + 1.25 + 0.5 * 0.25]
    np.testing.assert_allclose(run.average_w, [(-1.25 - 0.25 + 0.5 * 0.25) / 2.5])
    # The same for two classes: the predicted row is class 0, the true one class 1.
    many = multiclass.train([[1.0]], [1], [[0]], 2, theta=[[2.25], [-2.25]], fit_intercept=False, weights=[2.5])
    assert many.theta.tolist() == [[-0.25], [0.25]]
    assert [c for _, _, c in many.versions] == [0, 1, 1, 0.5]
    assert many.losses == [4.5 + 2.5 + 0.5 * 0.5]


def test_an_example_of_weight_zero_is_never_visited():
    run = binary.train([[1.0], [5.0]], [1, -1], [[1, 0, 1]], weights=[1, 0])
    assert (run.w.tolist(), run.b, run.mistakes, len(run.path)) == ([1], 1, [1], 1)


def test_without_any_example_the_average_is_the_start():
    run = binary.train([[1.0]], [1], [], w=[3.0])
    assert (run.average_w.tolist(), run.mistakes, run.versions[0][2]) == ([3], [], 0)


def test_binary_vote_by_hand():
    versions = [(np.array([1.0]), 0.0, 2), (np.array([-1.0]), 0.0, 3), (np.array([0.0]), 1.0, 1)]
    # x = 2: +2 -3 +1 = 0; x = -1: -2 +3 +1 = 2; x = 0: two votes at score 0, and +1.
    vote_sum, labels = binary.predict_vote(versions, [[2.0], [-1.0], [0.0]], "negative")
    assert (vote_sum.tolist(), labels.tolist()) == ([0, 2, -2 - 3 + 1], [-1, 1, -1])
    vote_sum, labels = binary.predict_vote(versions, [[2.0], [-1.0], [0.0]], "positive")
    assert (vote_sum.tolist(), labels.tolist()) == ([0, 2, 2 + 3 + 1], [1, 1, 1])
    for zero_score in ("mistake", "correct"):
        assert binary.predict_vote(versions, [[2.0]], zero_score)[1].tolist() == [-1]


def test_multiclass_vote_by_hand():
    one_hot = np.eye(3)
    versions = [(one_hot[[k]].T, np.zeros(3), c) for k, c in [(0, 1), (1, 2), (2, 1.5), (0, 1)]]
    # x = 1: version k votes for its own class, so 1 + 1, 2 and 1.5: a tie between 0 and 1.
    # x = -1: its own class is the worst, and the first of the others wins.
    votes, labels = multiclass.predict_vote(versions, [[1.0], [-1.0]])
    assert votes.tolist() == [[2, 2, 1.5], [3.5, 2, 0]]
    assert labels.tolist() == [0, 0]


# ---- pocket


def test_pocket_keeps_the_weights_that_an_outlier_spoils():
    X, y = [[1.0], [2.0], [3.0]], [1, 1, -1]
    # Start 0: 3 mistakes. Example 0 makes w = 1; example 1 is right, so w = 1 is judged: 1 mistake. Example 2 makes -2.
    w, b, mistakes = pocket.binary(X, y, [[0, 1, 2]], fit_intercept=False)
    assert (w.tolist(), b, mistakes) == ([1], 0, 1)
    assert binary.train(X, y, [[0, 1, 2]], fit_intercept=False).w.tolist() == [-2]


def test_pocket_judges_once_more_at_the_end_of_every_epoch():
    X, y = [[1.0], [2.0], [3.0]], [1, 1, -1]
    # w = 1 is made by the last example of epoch 1, has no run of right answers, and example 2 spoils it in epoch 2.
    w, _, mistakes = pocket.binary(X, y, [[0], [2]], fit_intercept=False)
    assert (w.tolist(), mistakes) == ([1], 1)
    # In one epoch it is gone before it is judged, and w = -2 with 2 mistakes is the one judged.
    w, _, mistakes = pocket.binary(X, y, [[0, 2]], fit_intercept=False)
    assert (w.tolist(), mistakes) == ([-2], 2)


ONE_AGAINST_TWO = {"X": [[1.0], [1.0], [1.0]], "y": [1, -1, -1], "w": [1.0], "eta": 2.0, "fit_intercept": False}


@pytest.mark.parametrize(
    ("orders", "w", "mistakes"),
    [
        # w = 1 has 2 mistakes, w = -1 has 1. Example 1 makes w = -1, example 2 is right for it, example 0 makes w = 1.
        ([[1, 2, 0]], -1, 1),
        # The start, right first and as often or more, has no shorter run: w = -1 is never judged.
        ([[0, 1, 2, 0]], 1, 2),
        ([[0, 0, 0, 1, 2, 0]], 1, 2),
        ([[0, 0, 0, 1, 2, 2, 2, 0]], 1, 2),
        ([[0, 0, 0, 1, 2, 2, 2, 2, 0]], -1, 1),
        # The run goes on over the end of an epoch.
        ([[0, 0], [0, 1, 2, 2, 2, 0]], 1, 2),
        ([[0, 0], [0, 1, 2, 2, 2, 2, 0]], -1, 1),
    ],
)
def test_pocket_judges_only_after_a_run_longer_than_that_of_the_pocket(orders, w, mistakes):
    found, _, left = pocket.binary(orders=orders, **ONE_AGAINST_TWO)
    assert (found.tolist(), left) == ([w], mistakes)


def test_pocket_run_is_that_of_the_pocket_not_of_weights_judged_and_left():
    # Example 1 makes w = 1 of w = 3: as many mistakes, not taken, though right three times. w = -1, right once, is.
    w, _, mistakes = pocket.binary(orders=[[1, 0, 0, 0, 1, 2, 0]], **{**ONE_AGAINST_TWO, "w": [3.0]})
    assert (w.tolist(), mistakes) == ([-1], 1)


def test_pocket_run_is_set_when_the_pocket_changes():
    # Start 0: 3 mistakes. w = 1 is taken with a run of 1 and at once left; w = -1 has a run of 1 too: not judged.
    w, _, mistakes = pocket.binary(orders=[[0, 0, 1, 1, 2, 0, 0]], **{**ONE_AGAINST_TWO, "w": [0.0], "eta": 1.0})
    assert (w.tolist(), mistakes) == ([1], 2)


def test_pocket_run_may_fall_at_the_end_of_an_epoch():
    X, y = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]], [1, -1, -1, 1, -1, -1]
    # (1, 1) has 4 mistakes and a run of 3. (-1, 1) has 3, and is judged at the end of the epoch with a run of 1.
    # (-1, -1) has 2, and is judged in epoch 2 at a run of 2, before example 3 spoils it.
    w, _, mistakes = pocket.binary(X, y, [[0, 0, 0, 1, 2], [4, 5, 5, 3]], w=[1, 1], eta=2.0, fit_intercept=False)
    assert (w.tolist(), mistakes) == ([-1, -1], 2)


def test_pocket_stops_after_an_epoch_without_a_mistake_if_asked():
    assert pocket.binary(orders=[[0], [1]], **ONE_AGAINST_TWO)[0].tolist() == [-1]
    assert pocket.binary(orders=[[0], [1]], stop=True, **ONE_AGAINST_TWO)[0].tolist() == [1]


def test_pocket_steps_by_the_fraction_of_a_weight():
    w, _, mistakes = pocket.binary([[1.0]], [1], [[0]], w=[-0.25], weights=[0.5], fit_intercept=False)
    assert (w.tolist(), mistakes) == ([0.25], 0)
    theta, b, mistakes = pocket.multiclass([[1.0]], [1], [[0]], 2, weights=[0.5])
    assert (theta.tolist(), b.tolist(), mistakes) == ([[-0.5], [0.5]], [-0.5, 0.5], 0)


def test_pocket_sums_the_weights_of_mistaken_examples():
    # Weight 3 on example 0 makes w = 1, with 1 + 1, better than w = -1, with 3; nothing replaces the start.
    w, _, mistakes = pocket.binary(orders=[[1, 2]], weights=[3, 1, 1], **ONE_AGAINST_TWO)
    assert (w.tolist(), mistakes) == ([1], 2)
    w, _, mistakes = pocket.binary(orders=[[1, 2]], weights=[1.5, 1, 1], **ONE_AGAINST_TWO)
    assert (w.tolist(), mistakes) == ([-1], 1.5)


def test_pocket_run_grows_by_the_fraction_of_a_weight():
    # Example 0 twice gives the start a run of 1; example 2, of weight 1.5, gives w = -1 one of 1.5 and it is judged.
    w, _, _ = pocket.binary(orders=[[0, 0, 1, 2, 0, 0]], weights=[0.5, 1, 1.5], **ONE_AGAINST_TWO)
    assert w.tolist() == [-1]
    # With five visits the start has a run of 2.5, and w = -1 is gone again before the epoch ends.
    w, _, _ = pocket.binary(orders=[[0, 0, 0, 0, 0, 1, 2, 0, 0, 0]], weights=[0.5, 1, 1.5], **ONE_AGAINST_TWO)
    assert w.tolist() == [1]


def test_pocket_does_not_take_weights_that_are_only_as_good():
    # The start, w = 1, has 1 mistake; w = -1, judged at the second visit, has 1 too: the one found first stays.
    w, _, mistakes = pocket.binary([[1.0], [1.0]], [1, -1], [[1, 1]], w=[1.0], fit_intercept=False, eta=2.0)
    assert (w.tolist(), mistakes) == ([1], 1)


def test_pocket_for_three_classes_by_hand():
    X, y, start = [[1.0], [1.0], [1.0], [-1.0]], [0, 1, 1, 2], [[0], [0], [-2]]
    # The start says 0 for x = 1 and 2 for x = -1: 2 mistakes. Example 1 makes the rows -1, 1, -2; example 3 is right,
    # so they are judged: they say 1 for x = 1, 1 mistake. Example 0 then brings the start back.
    theta, b, mistakes = pocket.multiclass(X, y, [[1, 3, 0]], 3, theta=start, fit_intercept=False)
    assert (theta.tolist(), b.tolist(), mistakes) == ([[-1], [1], [-2]], [0, 0, 0], 1)
    assert multiclass.train(X, y, [[1, 3, 0]], 3, theta=start, fit_intercept=False).theta.tolist() == start


def test_pocket_of_zero_epochs_is_the_start():
    w, b, mistakes = pocket.binary([[1.0], [-1.0]], [1, 1], [], w=[2.0], b=0.5)
    assert (w.tolist(), b, mistakes) == ([2], 0.5, 1)


@pytest.mark.parametrize("seed", range(10))
def test_pocket_is_never_worse_than_the_weights_at_the_end(seed):
    X, y, orders = whole_number_data(seed, n_classes=3)
    theta, b, mistakes = pocket.multiclass(X, y, orders, 3)
    last = multiclass.train(X, y, orders, 3)
    assert mistakes == np.sum(multiclass.predict(theta, b, X) != y)
    assert mistakes <= np.sum(multiclass.predict(last.theta, last.b, X) != y)
