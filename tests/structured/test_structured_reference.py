"""`StructuredPerceptron` by weights: against the literal reference, and `Perceptron` where they are the same."""

import numpy as np
import pytest

from perceptrons import StructuredPerceptron
from perceptrons.engine.passes.order import shuffled
from tests.conftest import gaussian, whole_numbers
from tests.reference import structured as reference
from tests.support.lecture import rosenblatt
from tests.support.structures import Chain, Classes, tagged

RULES = [
    {},
    {"margin": 1.0},
    {"margin": 0.5, "eta0": 0.25},
    {"margin": 3.0},
    {"step": "pa1"},
    {"step": "pa1", "margin": 2.0, "C": 0.05},
]


def reference_of(model, X, y, orders):
    step = model.step
    margin = (1.0 if step == "pa1" else 0.0) if model.margin is None else model.margin
    rule = {"eta": model.eta0, "margin": margin, "step": step, "C": model.C}
    return reference.train(X, y, orders, model.model.problem(), model.model.size, **rule)


def assert_equals_reference(model, run):
    np.testing.assert_allclose(model.coef_last_, run.w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.coef_average_, run.average, rtol=1e-10, atol=1e-12)
    assert model.t_ == len(run.path)
    assert model.mistakes_.tolist() == run.mistakes
    assert [row["updates"] for row in model.history_] == run.updates
    np.testing.assert_allclose([row["loss"] for row in model.history_], run.losses, rtol=1e-10)
    assert (model.n_mistakes_, model.n_updates_) == (sum(run.mistakes), sum(run.updates))
    np.testing.assert_allclose(model.history_[-1]["norm"], np.linalg.norm(run.w))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_chain_of_real_numbers_equals_the_reference(rule, shuffle, rng):
    X, y = tagged(rng, 40, 3, 2, whole=False)
    model = StructuredPerceptron(Chain(3, 2), max_iter=3, shuffle=shuffle, random_state=5, **rule).fit(X, y)
    orders = np.random.default_rng(5)
    orders = [shuffled(40, orders) if shuffle else range(40) for _ in range(3)]
    assert_equals_reference(model, reference_of(model, X, y, orders))
    assert model.n_mistakes_ < model.n_updates_ or model.margin is None


@pytest.mark.parametrize("margin", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("form", ["pair", "dict", "row", "flat"])
def test_whole_numbers_equal_the_reference_to_the_last_bit_ties_included(margin, form, rng):
    X, y = tagged(rng, 30, 3, 2, whole=True)
    model = StructuredPerceptron(Chain(3, 2, form), max_iter=3, margin=margin, shuffle=False).fit(X, y)
    run = reference_of(model, X, y, [range(30)] * 3)
    assert_equals_reference(model, run)
    assert np.array_equal(model.coef_last_, run.w)


@pytest.mark.parametrize("rule", [{}, {"margin": 1.0}, {"margin": 0.3}, {"step": "pa1"}, {"step": "pa1", "C": 0.01}])
def test_classes_as_outputs_equal_the_multiclass_perceptron(rule, rng):
    X, y = gaussian(rng, 200, 4, 5)
    options = {"max_iter": 4, "tol": None, "random_state": 3, **rule}
    plain = rosenblatt(multiclass="joint", fit_intercept=False, **options).fit(X, y)
    model = StructuredPerceptron(Classes(5, 4), **options).fit(X, y)
    np.testing.assert_allclose(model.coef_last_.reshape(5, 4), plain.coef_last_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.coef_average_.reshape(5, 4), plain.coef_average_, rtol=1e-10, atol=1e-12)
    assert model.mistakes_.tolist() == plain.mistakes_.tolist()
    assert (model.n_updates_, model.n_mistakes_, model.t_) == (plain.n_updates_, plain.n_mistakes_, plain.t_)
    losses = ([row["loss"] for row in either.history_] for either in (model, plain))
    np.testing.assert_allclose(*losses, rtol=1e-10)
    assert model.predict(X) == plain.predict(X).tolist()
    assert model.score(X, y) == plain.score(X, y)


def test_classes_of_whole_numbers_equal_the_multiclass_perceptron_to_the_last_bit(rng):
    X, y = whole_numbers(rng, 200, 6, 4)
    plain = rosenblatt(fit_intercept=False, max_iter=5, tol=None).fit(X, y)
    model = StructuredPerceptron(Classes(4, 6), max_iter=5).fit(X, y)
    assert np.array_equal(model.coef_last_.reshape(4, 6), plain.coef_last_)
    assert model.mistakes_.tolist() == plain.mistakes_.tolist()


def test_the_truth_leads_every_other_output_by_margin_times_loss_once_training_converged(rng):
    X, y = gaussian(rng, 40, 60, 3)
    model = StructuredPerceptron(Classes(3, 60), margin=2.5, max_iter=500, combine="last").fit(X, y)
    assert model.converged_
    scores = X @ model.coef_.reshape(3, 60).T
    rivals = np.where(np.arange(3) == y[:, None], -np.inf, scores).max(axis=1)
    assert (scores[np.arange(40), y] - rivals >= 2.5 - 1e-9).all()


def test_mistakes_on_separable_data_stay_within_the_bound_of_radius_and_margin(rng):
    """Collins (2002): at most (R / gamma) ** 2, whatever the number of outputs."""
    chain, u = Chain(3, 2), rng.standard_normal(15)
    outputs, f, _ = chain.problem()
    X, y, gammas, radii = [], [], [], []
    for x in tagged(rng, 120, 3, 2, whole=False)[0]:
        truth = chain.decode(x, u)
        deltas = [f(x, truth) - f(x, other) for other in outputs(x) if other != truth]
        gamma = min(u @ delta for delta in deltas) / np.linalg.norm(u)
        if gamma > 0.15:
            X, y, gammas = [*X, x], [*y, truth], [*gammas, gamma]
            radii.append(max(np.linalg.norm(delta) for delta in deltas))
    model = StructuredPerceptron(chain, max_iter=200).fit(X, y)
    bound = (max(radii) / min(gammas)) ** 2
    assert model.converged_
    assert len(X) > 30
    assert 10 < model.n_updates_ == model.n_mistakes_ <= bound < 10_000
