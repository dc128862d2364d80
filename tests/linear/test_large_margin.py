"""Margins, costs, penalties, batches and step rules (spec 2, 6) equal the slow references, by weights."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

import perceptrons
from perceptrons.engine.passes.order import shuffled
from tests.conftest import LAYOUTS, gaussian
from tests.reference import binary, large, multiclass
from tests.support.lecture import rosenblatt
from tests.support.tiers import slow

N, EPOCHS = 60, 3


def orders(n=N, epochs=EPOCHS, seed=0):
    rng = np.random.default_rng(seed)
    return [shuffled(n, rng) for _ in range(epochs)]


def costs(k):
    matrix = np.random.default_rng(3).integers(0, 9, (k, k)) / 4
    np.fill_diagonal(matrix, 0)
    return matrix


PENALTIES = (
    {}, {"penalty": "l2", "alpha": 1e-5}, {"penalty": "l2", "alpha": 0.6}, {"penalty": "l1", "alpha": 0.01},
    {"penalty": "elasticnet", "alpha": 0.05, "l1_ratio": 0.5},
)  # fmt: skip


def combinations():
    """Every combination of margin, cost, penalty, batch_size, step and weights that makes sense."""
    for margin, cost, penalty, batch, step, weighted in itertools.product(
        (None, 0.7), (False, True), PENALTIES, (1, 7, "all"), large.STEPS, (False, True)
    ):
        if step != "constant" and (batch != 1 or (step == "arow" and penalty)):
            continue
        yield {"margin": margin, "cost": cost, **penalty, "batch_size": batch, "step": step}, weighted


def name_of(case):
    options, weighted = case
    given = [f"{name}={value}" for name, value in options.items() if value not in (None, False, 0.0, 1, "constant")]
    return "-".join([*given, *["weights"] * weighted]) or "plain"


def weights_for(step, rng):
    """A step of "pa" ends exactly on the margin: whether another visit asks for more is a matter of rounding."""
    return rng.choice([0, 0.5, 0.25, 1] if step.startswith("pa") else [0, 0.5, 1, 2, 3.25], N)


def reference(X, y, k, options, weights, visits, C=1.0, **more):
    margin = options["margin"]
    chosen = options | {
        "margin": (0.0 if options["step"] == "constant" else 1.0) if margin is None else margin,
        "cost": costs(k) if options["cost"] else None,
    }
    if k == 2:
        return large.train_binary(X, 2 * y - 1, visits, weights=weights, C=C, **chosen, **more)
    return large.train_joint(X, y, visits, k, weights=weights, C=C, **chosen, **more)


def estimator(k, options, **more):
    return rosenblatt(**(options | {"cost": costs(k) if options["cost"] else None} | more))


def assert_same(model, run, exact=1e-12):
    """Equal to so many digits of the largest weight."""
    largest = max(np.abs(run.w).max(), np.abs(run.b).max(), np.abs(run.average_w).max())
    for learned, expected in (
        (model.coef_last_, run.w),
        (model.intercept_last_, run.b),
        (model.coef_average_, run.average_w),
        (model.intercept_average_, run.average_b),
    ):
        expected = np.asarray(expected).reshape(learned.shape)
        assert_allclose(learned, expected, rtol=exact, atol=exact * largest)


@pytest.mark.parametrize("case", list(combinations()), ids=name_of)
@pytest.mark.parametrize(("arranged", "k"), [("dense", 4), ("csr32", 2), *slow(("dense", 2), ("csr32", 4))])
def test_every_combination_equals_the_reference(arranged, k, case):
    options, weighted = case
    rng = np.random.default_rng(11)
    X, y = gaussian(rng, N, 6, k)
    X[rng.random(X.shape) < 0.3] = 0
    weights = weights_for(options["step"], rng) if weighted else None
    model = estimator(k, options, max_iter=EPOCHS, tol=None).fit(LAYOUTS[arranged](X), y, sample_weight=weights)
    run = reference(X, y, k, options, weights, orders(epochs=model.n_iter_))
    assert_same(model, run)
    assert model.mistakes_.tolist() == run.mistakes
    assert [row["updates"] for row in model.history_] == run.updates
    assert model.n_updates_ == sum(run.updates) > 0
    assert_allclose([row["loss"] for row in model.history_], run.losses, rtol=1e-9)
    if options["step"] == "arow":
        sigma = model._learner.weights.arrays
        assert_allclose(sigma["sigma_w"], np.asarray(run.sigma_w).reshape(sigma["sigma_w"].shape), rtol=1e-12)
        assert_allclose(sigma["sigma_b"], np.asarray(run.sigma_b).reshape(-1), rtol=1e-12)


SOME = [
    {"margin": 0.5, "penalty": "l2", "alpha": 0.02},
    {"cost": True, "penalty": "l2", "alpha": 1e-4},
    {"step": "pa1"},
    {"step": "pa2", "penalty": "l2", "alpha": 0.1},
    {"step": "arow", "cost": True},
    {"penalty": "l2", "alpha": 0.7, "margin": 2.0},
    {"penalty": "l1", "alpha": 0.02, "margin": 0.5},
]


def completed(options):
    return {"margin": None, "cost": False, "penalty": None, "batch_size": 1, "step": "constant"} | options


@pytest.mark.parametrize("options", SOME, ids=str)
@pytest.mark.parametrize("how", ["blocks", "one by one", "saved in between"])
@pytest.mark.parametrize("k", [2, 4])
def test_streams_equal_the_reference(layout, k, how, options, tmp_path, rng):
    X, y = gaussian(rng, N, 5, k)
    options = completed(options)
    model = estimator(k, options, C=0.3)
    rows = layout(X)
    for start, end in itertools.pairwise(range(N + 1) if how == "one by one" else (0, 1, 8, 20, 21, N)):
        if how == "one by one" and start:
            model.learn_one(rows[start], y[start])
        else:
            model.partial_fit(rows[start:end], y[start:end], classes=range(k))
        if how == "saved in between":
            perceptrons.save(model, tmp_path / "model")
            model = perceptrons.load(tmp_path / "model")
    assert_same(model, reference(X, y, k, options, None, [range(N)], C=0.3))
    assert model.predict_one(X[0]) == model.predict(X[:1])[0]
    assert model.set_params(combine="last").predict_one(X[3]) == model.predict(X[3:4])[0]


@pytest.mark.parametrize("options", [{}, {"step": "pa1"}, {"batch_size": 5}], ids=str)
@pytest.mark.parametrize("k", [2, 4])
def test_votes_equal_the_reference(form, k, options, rng):
    X, y = gaussian(rng, N, 5, k)
    options = completed(options)
    model = estimator(k, options, combine="vote", max_iter=EPOCHS, tol=None).fit(form(X), y)
    run = reference(X, y, k, options, None, orders(epochs=model.n_iter_))
    total = sum(count for *_, count in run.versions)
    votes = binary.predict_vote(run.versions, X, "mistake") if k == 2 else multiclass.predict_vote(run.versions, X)
    assert_allclose(model.decision_function(X), votes[0] / total, atol=1e-12)


@pytest.mark.parametrize("zero_score", ["mistake", "correct", "positive", "negative"])
@pytest.mark.parametrize("init", ["zeros", "ones"])
@pytest.mark.parametrize(
    "options",
    [{}, {"penalty": "l2", "alpha": 0.5}, {"batch_size": 3}, {"margin": 1.0, "penalty": "l1", "alpha": 0.25}],
    ids=str,
)
def test_conventions_at_zero_equal_the_reference(form, zero_score, init, options, rng):
    X = rng.integers(-2, 3, (N, 3)).astype(float)
    y = (X.sum(axis=1) + rng.integers(-1, 2, N) > 0).astype(int)
    options, one = completed(options), float(init == "ones")
    model = estimator(2, options, zero_score=zero_score, init=init, max_iter=EPOCHS, tol=None).fit(form(X), y)
    start = {"w": np.full(3, one), "b": one, "zero_score": zero_score}
    run = reference(X, y, 2, options, None, orders(epochs=model.n_iter_), **start)
    assert_same(model, run)
    assert model.mistakes_.tolist() == run.mistakes


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1e-9, 1e-6, 1e-4, 9e-4, 1.1e-3, 0.01, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("k", [2, 3])
def test_weight_decay_stays_exact_over_many_examples(form, alpha, k, rng):
    X, y = gaussian(rng, 500, 4, k)
    options = completed({"penalty": "l2", "alpha": alpha, "margin": 0.5})
    model = estimator(k, options, max_iter=30, tol=None, init="ones").fit(form(X), y)
    ones = {"w": np.ones(4), "b": 1.0} if k == 2 else {"theta": np.ones((3, 4)), "b": np.ones(3)}
    assert_same(model, reference(X, y, k, options, None, orders(500, model.n_iter_), **ones))


@pytest.mark.parametrize("changes", [(0.1, 0.0, 1e-4), (0.0, 0.3, 0.0), (1e-4, 0.02, 0.5)])
def test_the_penalty_may_change_between_blocks(form, changes, rng):
    X, y = gaussian(rng, 300, 4, 2)
    model, w, b, path = rosenblatt(margin=0.4), np.zeros(4), 0.0, []
    for part, alpha in zip(np.split(np.arange(300), 3), changes, strict=True):
        penalty = {"penalty": "l2", "alpha": alpha}
        model.set_params(**penalty).partial_fit(form(X[part]), y[part])
        run = large.train_binary(X[part], 2 * y[part] - 1, [range(100)], margin=0.4, **penalty, w=w, b=b)
        w, b, path = run.w, run.b, path + run.path
    run.average_w, run.average_b = binary.mean_over(path)
    assert_same(model, run)


@pytest.mark.parametrize(
    "options", [{"penalty": "l2", "alpha": 0.01}, {"margin": 0.5}, {"step": "pa1"}, {"step": "arow"}], ids=str
)
@pytest.mark.parametrize("k", [2, 4])
def test_float32_stays_float32_and_near_the_reference(form, k, options, rng):
    X, y = gaussian(rng, N, 5, k)
    model = estimator(k, completed(options), max_iter=1, tol=None).fit(form(X.astype(np.float32)), y)
    assert model.coef_.dtype == model.coef_last_.dtype == np.float32
    assert_same(
        model, reference(X.astype(np.float32).astype(float), y, k, completed(options), None, orders(epochs=1)), 2e-5
    )


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("combine", ["average", "last", "vote", "pocket"])
def test_neutral_values_give_the_same_bits(form, k, combine, rng):
    X, y = gaussian(rng, 200, 6, k)
    plain = rosenblatt(combine=combine, max_iter=5, tol=None).fit(form(X), y)
    neutral = {"margin": 0, "cost": np.zeros((k, k)), "penalty": None, "batch_size": 1, "step": "constant", "C": 7}
    for options in (neutral, {"margin": 0.0}, {"cost": {}}, {"penalty": None}):
        model = rosenblatt(combine=combine, max_iter=5, tol=None, **options).fit(form(X), y)
        for name, array in plain._learner.weights.arrays.items():
            assert np.array_equal(model._learner.weights.arrays[name], array), name
        assert np.array_equal(model.predict(X), plain.predict(X))


def test_many_classes_by_blocks_take_margin_and_cost_too(rng):
    X, y = gaussian(rng, 400, 8, 160)
    options = completed({"margin": 0.5, "cost": True})
    model = estimator(160, options, max_iter=2, tol=None).fit(X, y)
    assert_same(model, reference(X, y, 160, options, None, orders(400, model.n_iter_)))


def test_columns_that_stand_twice_count_once_in_the_norm(rng):
    X, y = gaussian(rng, 30, 4, 2)
    once = LAYOUTS["csr32"](X)
    twice = once.copy()
    twice.data = np.repeat(once.data / 2, 2)
    twice.indices, twice.indptr = np.repeat(once.indices, 2), once.indptr * 2
    for step in ("pa", "arow"):
        models = [rosenblatt(step=step, max_iter=2, tol=None).fit(rows, y) for rows in (once, twice)]
        assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-12)
    named = rosenblatt(step="pa").learn_one({"c": 1.0, "a=b": 1.0}, "x").learn_one({"a": "b", "a=b": 1.0}, "y")
    plain = rosenblatt(step="pa").learn_one([1.0, 1.0], "x").learn_one([0.0, 2.0], "y")
    assert_allclose(named.coef_last_, plain.coef_last_, rtol=1e-12)


def test_rows_without_anything_to_learn_from_are_passed_by():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [-1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    for step in ("pa", "pa1", "arow"):
        model = rosenblatt(step=step, fit_intercept=False, max_iter=3, tol=None, shuffle=False).fit(X, y)
        run = large.train_binary(X, 2 * y - 1, [range(4)] * 3, margin=1.0, step=step, fit_intercept=False)
        assert_same(model, run)
        assert model.mistakes_.tolist() == run.mistakes
        assert not model.converged_


@pytest.mark.parametrize("rule", ["pa1", "pa2"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_without_a_bias_passive_aggressive_steps_are_scikit_learns(form, rule, C, rng):
    """The migration page says so; `SGDClassifier` has the rules of the classes that scikit-learn removes."""
    X, y = gaussian(rng, 200, 6, 2)
    theirs = SGDClassifier(
        loss="hinge", penalty=None, learning_rate=rule, eta0=C, fit_intercept=False, shuffle=False, max_iter=3, tol=None
    ).fit(X, y)
    ours = rosenblatt(step=rule, C=C, combine="last", fit_intercept=False, shuffle=False, max_iter=3, tol=None).fit(
        form(X), y
    )
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)


def test_after_a_passive_aggressive_step_the_example_is_on_its_margin(form, rng):
    """The bias counts in the norm: with it left out, as in scikit-learn, the example would overshoot."""
    X, y = gaussian(rng, 60, 5, 2)
    model, moved = rosenblatt(step="pa", combine="last"), 0
    for i in range(60):
        before = model.n_updates_ if i else 0
        model.partial_fit(form(X[i : i + 1]), y[i : i + 1], classes=[0, 1])
        if model.n_updates_ > before:
            moved += 1
            assert (2 * y[i] - 1) * model.decision_function(X[i : i + 1])[0] == pytest.approx(1.0, abs=1e-12)
    assert moved > 10


def test_arow_is_better_than_the_perceptron_in_one_pass():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1200], order[1200:]
    scores = {
        step: rosenblatt(step=step, max_iter=1, tol=None, combine=combine)
        .fit(X[train], y[train])
        .score(X[test], y[test])
        for step, combine in (("constant", "last"), ("arow", "average"))
    }
    assert scores["arow"] > scores["constant"] + 0.02


@pytest.mark.parametrize(("label", "scores"), [(0, [1, -1, 0]), (1, [-1, 1, 0]), (2, [-1, -1, 2])])
def test_a_lead_of_exactly_the_margin_is_a_tie_that_goes_to_the_first_class(label, scores):
    """The first visit gives a lead of exactly 1 over one class. It triggers an update only if it comes first."""
    X, y = [[1.0]] + [[0.0]] * 3, [label, 0, 1, 2]  # rows of zeros change no weight
    options = {"margin": 1.0, "combine": "last", "shuffle": False, "max_iter": 2, "tol": None}
    model = perceptrons.Perceptron(fit_intercept=False, **options).fit(X, y)
    np.testing.assert_array_equal(model.decision_function([[1.0]])[0], scores)
