"""The reference of the kernel perceptron itself: worked by hand, beside the linear references, and identities."""

import numpy as np
import pytest
from sklearn.metrics import pairwise

from tests.conftest import whole_numbers
from tests.reference import binary, kernel, multiclass, wrappers
from tests.reference.kernel import joint, ovr, two_classes
from tests.support.kernels import NAMED, NUMBERS, RULES, clear_case, coded, run_of, sparse_gaussian


@pytest.mark.parametrize("name", NAMED)
def test_the_formulas_are_those_of_scikit_learn(name, rng):
    A, B = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    A[0] = 0
    wanted = pairwise.pairwise_kernels(A, B, metric=name, filter_params=True, **NUMBERS)
    np.testing.assert_allclose(kernel.gram(name, A, B, **NUMBERS), wanted, atol=1e-14)
    by_function = kernel.gram(lambda x, z: x @ z, A, B)  # one product may add in another order than a matrix of them
    np.testing.assert_allclose(by_function, kernel.gram("linear", A, B), rtol=1e-12, atol=1e-14)


def test_two_classes_by_hand():
    run = kernel.train([[1, 2], [2, 4]], [1, -1], [[0, 1]] * 2, two_classes, 1)
    # the scores are 0, 2, 1 - 2 = -1, 2*2 - 4 = 0: every visit is a mistake
    assert [alpha[0].tolist() for alpha, _ in run.path] == [[1, 0], [1, -1], [2, -1], [2, -2]]
    assert run.average.tolist() == [[1.5, -1]]
    assert run.mistakes == [2, 2]
    assert (run.held, run.survival_counts().tolist(), run.update_support().tolist()) == ([0, 1], [1] * 4, [0, 1, 0, 1])
    assert run.scores("last", np.array([[1, 2]])).tolist() == [[-2]]
    assert run.scores("average", np.array([[1, 2]])).tolist() == [[-0.5]]
    # the versions score 1, -1, 0, -2
    assert run.scores("vote", np.array([[1, 2]])).tolist() == [[(1 - 1 - 1 - 1) / 4]]


def test_several_classes_by_hand():
    one_vs_rest = kernel.train([[1]], [1], [[0, 0]], ovr, 3)
    assert one_vs_rest.alpha.tolist() == [[-1], [1], [-1]]
    assert one_vs_rest.mistakes == [3]
    assert one_vs_rest.survival_counts().tolist() == [2, 2, 2]
    together = kernel.train([[1]], [1], [[0, 0]], joint, 3)
    assert together.alpha.tolist() == [[-1], [1], [0]]
    assert together.mistakes == [1]
    assert kernel.train([[1]], [0], [[0]], joint, 3).mistakes == [0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rule", RULES)
def test_with_the_linear_kernel_it_is_the_linear_reference(rule, seed, weighted):
    rng = np.random.default_rng(seed)
    X, y = whole_numbers(rng, 30, 4, RULES[rule][1])
    orders = [rng.permutation(30) for _ in range(3)]
    keywords = {"eta": 0.5, "weights": rng.integers(0, 10, 30) / 4 if weighted else None}
    run = kernel.train(
        X @ X.T, coded(rule, y), orders, *((two_classes, 1) if rule == "two" else (RULES[rule])), **keywords
    )
    keywords["fit_intercept"] = False
    if rule == "two":
        linear = binary.train(X, coded(rule, y), orders, **keywords)
        votes = binary.predict_vote(linear.versions, X, "mistake")[0][:, None]
    elif rule == "joint":
        linear = multiclass.train(X, y, orders, 4, **keywords)
        linear.w, linear.average_w = linear.theta, linear.average_theta
        votes = multiclass.predict_vote(linear.versions, X)[0]
    else:
        linear = wrappers.one_vs_rest(X, y, orders, 4, **keywords)
        votes = np.array([binary.predict_vote(one.versions, X, "mistake")[0] for one in linear.runs]).T
    assert run.mistakes == linear.mistakes
    np.testing.assert_array_equal(run.alpha @ X, np.atleast_2d(linear.w))
    np.testing.assert_allclose(run.average @ X, np.atleast_2d(linear.average_w), atol=1e-12)
    np.testing.assert_allclose(run.scores("vote", X @ X.T) * run.t, votes, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_votes_and_averages_are_means_over_the_visits(rule):
    _, _, K, run = clear_case(rule, "rbf", 40, weights=np.arange(40) % 7 / 2)
    functions = [(K @ alpha.T, share) for alpha, share in run.path]
    np.testing.assert_allclose(run.scores("average", K), sum(share * f for f, share in functions) / run.t, atol=1e-12)
    votes = sum(share * run.ballot(f) for f, share in functions) / run.t
    np.testing.assert_allclose(run.scores("vote", K), votes, atol=1e-12)
    for versions in run.versions:
        assert sum(count for _, count in versions) == run.t == 3 * (np.arange(40) % 7 / 2).sum()


# ---- budgets


def test_the_forgetron_by_hand():
    # orthogonal examples of length 1: the second update finds the first alone, M = 2: -phi^2 + 2 phi = 15/16, phi = 3/4
    run = kernel.train(np.eye(2), [1, 1], [[0, 1]], two_classes, 1, budget=1, on_full="forget_oldest")
    np.testing.assert_allclose(run.alpha, [[0, 0.75]], rtol=1e-15)
    np.testing.assert_allclose(run.Q, 15 / 16, rtol=1e-15)
    np.testing.assert_allclose(run.average, [[0, 0.375]], rtol=1e-15)
    # in units of eta and of the largest K(x, x) nothing changes
    keywords = {"eta": 0.5, "budget": 1, "on_full": "forget_oldest"}
    run = kernel.train(7 * np.eye(2), [1, 1], [[0, 1]], two_classes, 1, **keywords)
    np.testing.assert_allclose(run.alpha, [[0, 0.375]], rtol=1e-15)


def test_the_forgetron_of_examples_of_other_lengths_and_weights_by_hand():
    keywords = {"budget": 1, "on_full": "forget_oldest"}
    # the longest is of length 2, the first of 1: phi^2 / 4 - phi^2 / 2 + 2 phi = 15/16, phi = 1/2
    run = kernel.train(np.diag([1, 4]), [1, 1], [[0, 1]], two_classes, 1, **keywords)
    np.testing.assert_allclose(run.alpha, [[0, 0.5]], rtol=1e-15)
    run = kernel.train(np.diag([4, 1]), [1, 1], [[0, 1]], two_classes, 1, **keywords)
    np.testing.assert_allclose(run.alpha, [[0, 0.75]], rtol=1e-15)
    # half examples count by half: M = 1, phi^2 / 4 - phi^2 / 2 + phi = 15/32, phi = 2 - sqrt(17 / 8)
    run = kernel.train(np.eye(2), [1, 1], [[0, 1]], two_classes, 1, weights=[0.5, 0.5], **keywords)
    np.testing.assert_allclose(run.alpha, [[0, 1 - np.sqrt(17 / 32)]], rtol=1e-15)
    # x = 1 and 2 of two classes: the first scores 1 - 2 after the update, -1/4 in units: 3/4 phi^2 + 2 phi = 15/16
    run = kernel.train([[1, 2], [2, 4]], [1, -1], [[0, 1]], two_classes, 1, **keywords)
    np.testing.assert_allclose(run.alpha, [[0, -(np.sqrt(4 + 45 / 16) - 2) / 1.5]], rtol=1e-15)


@pytest.mark.parametrize("abc", [(-1, 2, -15 / 16), (-3, 1, -0.1), (3, 1, -0.1), (0, 2, -1), (1, 1, -2), (1, 1, -3)])
def test_the_largest_phi_is_where_the_quadratic_is_zero_or_one(abc):
    a, b, c = abc
    roots = [z.real for z in np.roots(abc) if abs(z.imag) < 1e-12 and 0 < z.real <= 1 and a + b + c > 0]
    np.testing.assert_allclose(kernel.largest_phi(*abc), max(roots) if a + b + c > 0 else 1, rtol=1e-14)


@pytest.mark.parametrize("budget", [1, 3, 10])
@pytest.mark.parametrize("rule", RULES)
def test_the_forgetron_pays_no_more_than_it_may_and_holds_the_latest(rule, budget):
    _, y, K, run = clear_case(rule, "rbf", 60, epochs=1, budget=budget, on_full="forget_oldest")
    assert 0 < run.Q <= 15 / 32 * run.M + 1e-12
    assert run.held == list(dict.fromkeys(i for _, _, i in run.log))[-budget:]
    free = run_of(rule, K, y, 1)
    assert not np.array_equal(free.alpha, run.alpha)
    kept = run_of(rule, K, y, 1, budget=60, on_full="forget_oldest")
    np.testing.assert_array_equal(kept.alpha, free.alpha)
    np.testing.assert_array_equal(kept.average, free.average)


@pytest.mark.parametrize("rule", RULES)
def test_a_projection_leaves_nothing_that_those_held_could_say(rule):
    _, y, K, run = clear_case(rule, "rbf", 60, epochs=1, budget=5, on_full="project")
    assert len(run.held) == 5
    changes = 0
    for (before, _), (after, _), i in zip(run.path[:-1], run.path[1:], range(1, 60), strict=True):
        delta = run.rule(before @ K[:, i], coded(rule, y)[i])
        wanted = before.copy()
        wanted[:, i] += delta
        held = [j for j in run.held if run.entered[j] <= i]
        np.testing.assert_allclose((after - wanted) @ K[:, held], 0, atol=1e-12)
        changes += len(held) == 5 and delta.any()
    assert changes > 3


@pytest.mark.parametrize("rule", RULES)
def test_projection_onto_as_many_examples_as_dimensions_changes_no_linear_function(rule):
    X, y, K, run = clear_case(rule, "linear", 60, budget=30, on_full="project")
    free = run_of(rule, K, y, 3)
    assert len(run.held) == 5
    assert run.mistakes == free.mistakes
    np.testing.assert_allclose(run.alpha @ X, free.alpha @ X, atol=1e-9)
    np.testing.assert_allclose(run.average @ X, free.average @ X, atol=1e-9)


def test_what_was_removed_comes_back_with_nothing_in_its_average():
    # 0 enters, 1 replaces it, 0 replaces 1: held since the third visit only
    run = kernel.train(
        np.eye(2),
        [1, 1],
        [[0, 1], [0]],
        two_classes,
        1,
        budget=1,
        on_full="remove_random",
        choose=lambda held, i: held[0],
    )
    assert run.held == [0]
    assert run.alpha.tolist() == [[1, 0]]
    np.testing.assert_allclose(run.average, [[1 / 3, 0]])


# ---- streams


@pytest.mark.parametrize("several", [ovr, joint])
def test_a_stream_of_two_classes_needs_no_names(several, rng):
    X, y = sparse_gaussian(rng, 40, 3, 2)
    for flip in (0, 1):
        labels = np.array([["a", "b"][c ^ flip] for c in y])
        run, classes = kernel.stream(X @ X.T, labels, [[i] for i in range(40)], several)
        assert classes == ["a", "b"]
        whole = run_of("two", X @ X.T, y ^ flip)
        np.testing.assert_array_equal(run.alpha, whole.alpha)
        np.testing.assert_allclose(run.average, whole.average, atol=1e-15)
        np.testing.assert_allclose(run.scores("vote", X @ X.T), whole.scores("vote", X @ X.T), atol=1e-12)


@pytest.mark.parametrize(("several", "rule"), [(ovr, "ovr"), (joint, "joint")])
def test_a_third_class_finds_minus_f_and_f(several, rule, rng):
    X, y = sparse_gaussian(rng, 40, 3, 4)
    run, _ = kernel.stream(X @ X.T, y, [range(40)], several)
    np.testing.assert_array_equal(run.alpha, run_of(rule, X @ X.T, y).alpha)
    early = [i for i in range(40) if y[i] % 2 == 0]
    before, _ = kernel.stream(X @ X.T, y, [early], several)
    after, classes = kernel.stream(X @ X.T, y, [early, [1]], several)
    assert classes == [0, 1, 2]
    f, g = (np.delete(run.alpha, 1, axis=1) for run in (before, after))  # without what the last example added
    np.testing.assert_array_equal(g, np.vstack([-f, 0 * f, f]))
    later, classes = kernel.stream(X @ X.T, y, [early, [1], [3, *early]], several)
    assert classes == [0, 1, 2, 3]
    for versions in later.versions:
        assert sum(count for _, count in versions) == later.t == 2 * len(early) + 2
