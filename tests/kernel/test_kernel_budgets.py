"""`KernelPerceptron` with a budget (spec 7): two policies beside the reference, random removal by replaying it."""

import pickle

import array_api_strict
import numpy as np
import pytest

from perceptrons import KernelPerceptron
from tests.conftest import as_csr, gaussian, whole_numbers
from tests.reference import kernel as reference
from tests.support.kernels import (
    NUMBERS,
    RULES,
    assert_same_coefficients,
    assert_same_scores,
    clear_case,
    coded,
    held_rows,
    numpy_of,
    options,
    run_of,
    sparse_gaussian,
)
from tests.support.lecture import rosenblatt

rules = pytest.mark.parametrize("rule", RULES)
policies = pytest.mark.parametrize("policy", ["forget_oldest", "project"])
every_policy = pytest.mark.parametrize("policy", ["remove_random", "forget_oldest", "project"])


def budget_case(rule, policy, budget, kernel="rbf", n=70, **keywords):
    """A clear case with a budget: solving for projections rounds more than sums do."""
    return clear_case(rule, kernel, n, bound=1e-7, budget=budget, on_full=policy, **keywords)


def assert_same_by_row(model, run, X, K, dtype=np.float64):
    assert_same_coefficients(model, run, X, 1e-8 if dtype == np.float64 else 1e-3)
    assert model.n_updates_ == len(run.log)
    assert_same_scores(model, run, X, K, dtype)


@rules
@policies
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("budget", [1, 4, 15])
def test_fit_with_a_budget_gives_the_coefficients_of_the_reference(rule, policy, kernel, budget):
    X, y, K, run = budget_case(rule, policy, budget, kernel)
    model = KernelPerceptron(kernel=kernel, max_iter=3, budget=budget, on_full=policy, **options(rule)).fit(X, y)
    assert sorted(model.support_.tolist()) == sorted(run.held) == sorted(held_rows(model, X))
    assert model.mistakes_.tolist() == run.mistakes
    assert_same_by_row(model, run, X, K)


@rules
@policies
@pytest.mark.parametrize("size", [1, 9, 200])
def test_a_stream_with_a_budget_in_any_blocks_gives_the_coefficients_of_the_reference(rule, policy, size, form):
    X, y, K, run = budget_case(rule, policy, 8, n=200, epochs=1)
    model = KernelPerceptron(budget=8, on_full=policy, **options(rule))
    for i in range(0, 200, size):
        model.partial_fit(form(X[i : i + size]), y[i : i + size], classes=np.unique(y))
        assert model.n_support_ <= 8
    assert_same_by_row(model, run, X, K)
    assert len(run.log) > 40


@rules
@policies
def test_one_example_after_the_other_with_a_budget_is_the_same(rule, policy):
    X, y, K, run = budget_case(rule, policy, 5, n=120, epochs=1)
    model = KernelPerceptron(budget=5, on_full=policy, **options(rule))
    model.partial_fit(X[:1], y[:1], classes=np.unique(y))
    for x, label in zip(X[1:], y[1:], strict=True):
        model.learn_one(x, label)
    assert_same_by_row(model, run, X, K)


@rules
@policies
@pytest.mark.parametrize("fractions", [False, True])
def test_weights_and_a_budget_make_room_once_for_all_visits_of_an_example(rule, policy, fractions, rng):
    v = rng.integers(0, 12, 70) / 4 if fractions else rng.integers(0, 4, 70).astype(float)
    X, y, K, run = budget_case(rule, policy, 6, weights=v)
    model = KernelPerceptron(max_iter=3, budget=6, on_full=policy, **options(rule)).fit(X, y, sample_weight=v)
    assert model.mistakes_.tolist() == run.mistakes
    assert_same_by_row(model, run, X, K)


@rules
@policies
def test_the_learning_rate_scales_a_budgeted_model_too(rule, policy):
    X, y, K, run = budget_case(rule, policy, 6, eta=0.3)
    model = KernelPerceptron(max_iter=3, budget=6, on_full=policy, **options(rule, eta0=0.3)).fit(X, y)
    assert_same_by_row(model, run, X, K)


@rules
@policies
def test_thousands_of_rows_with_a_budget(rule, policy):
    X, y, K, run = budget_case(rule, policy, 40, n=2000, epochs=2, make=gaussian)
    model = KernelPerceptron(max_iter=2, budget=40, on_full=policy, **options(rule)).fit(X, y)
    assert model.mistakes_.tolist() == run.mistakes
    assert_same_by_row(model, run, X, K)


@rules
@policies
def test_float32_with_a_budget(rule, policy):
    X, y, K, run = budget_case(rule, policy, 6, dtype=np.float32, tol=1e-5)
    model = KernelPerceptron(max_iter=3, budget=6, on_full=policy, **options(rule)).fit(X, y)
    assert model.mistakes_.tolist() == run.mistakes
    assert_same_by_row(model, run, X, K, np.float32)


@rules
@policies
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_other_array_libraries_with_a_budget(rule, policy, library):
    xp = array_api_strict if library == "array_api_strict" else pytest.importorskip(library)
    X, y, K, run = budget_case(rule, policy, 6)
    model = KernelPerceptron(max_iter=3, budget=6, on_full=policy, **options(rule)).fit(xp.asarray(X), y)
    assert_same_coefficients(model, run, X, 1e-8)
    np.testing.assert_allclose(
        np.squeeze(run.scores("last", K)), numpy_of(model.decision_function(xp.asarray(X))), atol=1e-8
    )


@rules
@policies
def test_precomputed_kernels_may_have_a_budget(rule, policy):
    _, y, K, run = budget_case(rule, policy, 6)
    model = KernelPerceptron(kernel="precomputed", max_iter=3, budget=6, on_full=policy, **options(rule)).fit(K, y)
    assert sorted(model.support_.tolist()) == sorted(run.held)
    np.testing.assert_allclose(model.dual_coef_last_, run.alpha[:, model.support_], atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_average_, run.average[:, model.support_], atol=1e-8)
    assert_same_scores(model, run, K, K)


@rules
@policies
def test_rows_of_zeros_are_mistakes_that_add_nothing_to_a_linear_function(rule, policy):
    X, y = sparse_gaussian(np.random.default_rng(3), 40, 5, RULES[rule][1])
    X[::4] = 0
    X[:2] = 0
    K = X @ X.T
    run = run_of(rule, K, y, 2, budget=6, on_full=policy)
    assert run.closest > 1e-9
    model = KernelPerceptron(kernel="linear", max_iter=2, budget=6, on_full=policy, **options(rule)).fit(X, y)
    assert model.mistakes_.tolist() == run.mistakes
    assert sorted(model.support_.tolist()) == sorted(run.held)
    for name, wanted in [("dual_coef_last_", run.alpha), ("dual_coef_average_", run.average)]:
        np.testing.assert_allclose(getattr(model, name), wanted[:, model.support_], atol=1e-8, err_msg=name)


@rules
@every_policy
def test_a_budget_that_is_never_reached_changes_nothing(rule, policy):
    X, y, _, run = clear_case(rule, "laplacian", 60)
    keywords = options(rule, kernel="laplacian", max_iter=3, on_full=policy)
    model = KernelPerceptron(budget=len(run.held), **keywords).fit(X, y)
    assert model.support_.tolist() == run.held
    np.testing.assert_array_equal(model.dual_coef_last_, run.alpha[:, run.held])
    np.testing.assert_allclose(model.dual_coef_average_, run.average[:, run.held], atol=1e-12)


@rules
def test_projection_of_a_linear_kernel_needs_no_more_examples_than_features(rule):
    X, y, _, _ = clear_case(rule, "linear", 80, 6, make=gaussian, bound=1e-6)
    keywords = {} if rule == "two" else {"multiclass": rule}
    linear = rosenblatt(fit_intercept=False, max_iter=3, tol=None, **keywords).fit(X, y)
    model = KernelPerceptron(kernel="linear", budget=50, on_full="project", max_iter=3, tol=None, **keywords).fit(X, y)
    assert model.n_support_ == 6
    assert model.mistakes_.tolist() == linear.mistakes_.tolist()
    np.testing.assert_allclose(model.dual_coef_last_ @ model.support_vectors_, linear.coef_last_, atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_average_ @ model.support_vectors_, linear.coef_average_, atol=1e-8)


@rules
@every_policy
@pytest.mark.parametrize("shuffle", [False, True])
def test_two_epochs_twice_with_a_budget_are_four(rule, policy, shuffle):
    X, y = sparse_gaussian(np.random.default_rng(2), 80, 5, RULES[rule][1])
    keywords = options(rule, budget=9, on_full=policy) | {"shuffle": shuffle}
    twice = KernelPerceptron(max_iter=2, warm_start=True, **keywords).fit(X, y).fit(X, y)
    once = KernelPerceptron(max_iter=4, **keywords).fit(X, y)
    assert twice.support_.tolist() == once.support_.tolist()
    for name in ("dual_coef_last_", "dual_coef_average_", "n_updates_", "t_"):
        np.testing.assert_allclose(getattr(twice, name), getattr(once, name), rtol=1e-9, err_msg=name)


# ---- random removal


def follow(model, X, y, rule, budget):
    """Learn one by one and replay in the reference which one went each time: the run, and how many were older than it.

    Fails where what is held changes but by an update, or loses but one, or loses one before it is full.
    """
    K = reference.gram("rbf", X, X, **NUMBERS)
    now, ranks = [], []

    def choose(held, i):
        gone = set(held) - set(now)
        assert len(gone) == 1
        ranks.append(held.index(next(iter(gone))))
        return held[ranks[-1]]

    function, n_classes = RULES[rule]
    run = reference.Machine(
        K, function, 1 if rule == "two" else n_classes, budget=budget, on_full="remove_random", choose=choose
    )
    run.mistakes.append(0)
    for i in range(len(X)):
        model.partial_fit(X[:1], y[:1], classes=np.arange(n_classes)) if i == 0 else model.learn_one(X[i], y[i])
        now[:] = held_rows(model, X)
        run.visit(i, coded(rule, y)[i])
        assert set(now) == set(run.held)
    return run, ranks


@rules
def test_random_removal_replayed_gives_the_coefficients_of_the_reference(rule):
    X, y = sparse_gaussian(np.random.default_rng(5), 150, 5, RULES[rule][1])
    model = KernelPerceptron(on_full="remove_random", budget=6, **options(rule))
    run, ranks = follow(model, X, y, rule, 6)
    assert run.closest > 1e-11
    assert len(ranks) > 20
    assert_same_coefficients(model, run, X)
    assert_same_scores(model, run, X, run.K)
    for size in (1, 11, 150):
        blocks = KernelPerceptron(on_full="remove_random", budget=6, **options(rule))
        for i in range(0, 150, size):
            blocks.partial_fit(X[i : i + size], y[i : i + size], classes=np.unique(y))
        assert_same_coefficients(blocks, run, X)
        sparse = KernelPerceptron(on_full="remove_random", budget=6, **options(rule)).partial_fit(as_csr(X), y)
        assert_same_coefficients(sparse, run, X)
    whole = KernelPerceptron(on_full="remove_random", budget=6, max_iter=1, **options(rule)).fit(X, y)
    assert_same_coefficients(whole, run, X)


@pytest.mark.slow
def test_random_removal_takes_old_and_new_alike_and_goes_by_the_seed():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((1200, 3)), rng.integers(0, 2, 1200)
    all_ranks = []
    for seed in (0, 1):
        _, ranks = follow(
            KernelPerceptron(on_full="remove_random", budget=5, **options("two", random_state=seed)), X, y, "two", 5
        )
        assert len(ranks) > 400
        counts = np.bincount(ranks, minlength=5) / len(ranks)
        assert np.abs(counts - 0.2).max() < 0.08  # four standard deviations
        all_ranks.append(ranks[:100])
    assert all_ranks[0] != all_ranks[1]


@rules
def test_random_removal_over_epochs_holds_only_mistakes_and_sums_of_steps(rule):
    X, y = sparse_gaussian(np.random.default_rng(7), 300, 5, RULES[rule][1])
    keywords = {"budget": 10, "on_full": "remove_random", "max_iter": 5, **options(rule, eta0=0.5, shuffle=True)}
    model, again = (KernelPerceptron(**keywords).fit(X, y) for _ in range(2))
    other = KernelPerceptron(**keywords | {"random_state": 3}).fit(X, y)
    assert model.n_support_ == 10 == len(set(model.support_.tolist()))
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    steps = model.dual_coef_last_ / 0.5
    assert np.array_equal(steps, np.round(steps))
    assert np.any(steps != 0, axis=0).all()
    if rule == "joint":
        assert np.all(steps.sum(axis=0) == 0)
    for name in ("support_", "dual_coef_last_", "dual_coef_average_", "mistakes_"):
        assert np.array_equal(getattr(model, name), getattr(again, name)), name
    assert sorted(other.support_.tolist()) != sorted(model.support_.tolist())


# ---- streams without end, averages that stay


@every_policy
@rules
def test_a_long_stream_stays_within_the_budget_and_its_state_does_not_grow(rule, policy, rng):
    k = RULES[rule][1]
    model = KernelPerceptron(budget=30, on_full=policy, **options(rule, combine="average"))
    sizes, publics = [], []
    for _ in range(20):
        X, y = gaussian(rng, 1000, 4, k)
        model.partial_fit(X, y, classes=np.arange(k))
        assert model.n_support_ <= 30
        names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
        values = [getattr(model, name, None) for name in names]
        publics.append(sum(np.size(value) for value in values))
        sizes.append(len(pickle.dumps(model)))
    assert model.t_ == 20_000
    assert publics[-1] == publics[1]
    assert sizes[-1] <= 1.02 * sizes[1]
    assert sizes[-1] < 100_000


@every_policy
@rules
def test_the_average_under_a_budget_is_not_zeroed_and_predicts(rule, policy):
    rng = np.random.default_rng(11)
    k = RULES[rule][1]
    centres = 3 * rng.standard_normal((k, 4))
    y = rng.integers(0, k, 3000)
    X = centres[y] + rng.standard_normal((3000, 4))
    model = KernelPerceptron(budget=40, on_full=policy, **options(rule, gamma=0.05, combine="average"))
    model.partial_fit(X[:2000], y[:2000], classes=np.arange(k))
    assert np.abs(model.dual_coef_average_).max() > 0
    assert not np.array_equal(model.dual_coef_average_, model.dual_coef_last_)
    assert model.score(X[2000:], y[2000:]) > 0.8


@every_policy
def test_a_budget_keeps_no_votes(policy):
    X, y = whole_numbers(np.random.default_rng(0), 40, 4, 2)
    with pytest.raises(ValueError, match="budget"):
        KernelPerceptron(combine="vote", budget=5, on_full=policy).fit(X, y)
    model = KernelPerceptron(budget=5, on_full=policy).fit(X, y)
    assert not hasattr(model, "survival_counts_")
