"""Mixing every epoch converges on separable data within McDonald, Hall and Mann's bound; mixing once need not."""

import math

import dask.array as da
import numpy as np
import pytest

from perceptrons import distributed
from perceptrons.theory import mistake_bound
from tests.reference import binary, mixing, theory
from tests.support.lecture import rosenblatt
from tests.support.tiers import slow

MIXINGS = ("mistakes", "uniform")
WIDEST = 16


class Case:
    """A random separable set, a direction u that separates it, and how to learn it.

    Attributes
    ----------
    options : eta0, margin, fit_intercept and random_state of the estimator.
    radius, margin : of the set, by u; of several classes the margin is the smallest lead over sqrt(2) |u|.
    """

    def __init__(self, seed):
        rng = np.random.default_rng([seed, 2010])
        self.k = 3 if seed % 4 == 3 else 2
        self.shards = 1 + seed % WIDEST
        intercept = seed % 5 != 4
        self.options = {
            "eta0": float(rng.choice([0.5, 1.0, 2.0])),
            "margin": [None, None, 0.5][seed % 3],
            "fit_intercept": intercept,
            "random_state": seed,
        }
        n, d = rng.integers(20, 61), rng.integers(2, 5)
        while True:
            u = rng.standard_normal((self.k, d + intercept)) * ([1.0] * d + [0.3] * intercept)
            u -= u.mean(axis=0)
            u /= np.linalg.norm(u)
            pool = rng.uniform(-1, 1, (4000, d))
            scores = np.sort(self.longer(pool) @ u.T, axis=1)
            clear = pool[scores[:, -1] - scores[:, -2] >= 0.5][:n]
            self.y = np.argmax(self.longer(clear) @ u.T, axis=1)
            if len(clear) == n and min(np.bincount(self.y, minlength=self.k)) >= 3:
                break
        self.X = clear
        self.radius = theory.radius(self.longer(clear))
        leads = theory.functional_margins(u, np.zeros(self.k), self.longer(clear), self.y)
        self.margin = min(leads) / math.sqrt(2)  # of two classes, (v, -v): |v| = 1/sqrt(2), and leads are twice v·x
        self.demanded = self.options["margin"] or 0.0

    def longer(self, X):
        return theory.with_ones(X) if self.options["fit_intercept"] else X

    def at_most(self, radius, margin):
        """The bound on the sum of mu k; of several classes two rows move, which halves the part of the margin."""
        rows = 1 if self.k == 2 else 2
        return (radius**2 + 2 * self.demanded / (rows * self.options["eta0"])) / margin**2

    def epochs(self, mixing):
        """The most epochs with updates."""
        return self.at_most(self.radius, self.margin) * (1 if mixing == "mistakes" else self.shards)

    def estimator(self, **more):
        return rosenblatt(combine="last", tol=None, max_iter=100_000, **self.options, **more)

    def dealt(self):
        """The rows of every shard."""
        order = np.random.default_rng([self.options["random_state"], len(self.X)]).permutation(len(self.X))
        return [np.sort(own) for own in np.array_split(order, self.shards)]


def assert_within(case, mixing, epochs, total, relative=1e-9):
    assert epochs <= case.epochs(mixing) * (1 + relative)
    assert total <= case.at_most(case.radius, case.margin) * (1 + relative)


@pytest.mark.parametrize("group", [0, 1, *slow(*range(2, 10))])
def test_separable_data_are_learned_within_the_bound_on_any_number_of_shards(group, client):
    for seed in range(10 * group, 10 * group + 10):
        case, mixing = Case(seed), MIXINGS[seed // WIDEST % 2]
        model = distributed.fit(case.estimator(), case.X, case.y, client, mixing, shards=case.shards)
        assert (model.stop_reason_, model.converged_, model.n_shards_) == ("converged", True, case.shards)
        assert model.history_[-1]["mistakes"] == model.history_[-1]["updates"] == 0
        assert model.score(case.X, case.y) == 1
        updates = [row["shards"]["updates"] for row in model.history_]
        made = sum(any(row) for row in updates)
        assert made == model.n_iter_ - 1
        weights = [mixing_of(row, mixing) for row in updates]
        total = sum(np.dot(mu, k) for mu, k in zip(weights, updates, strict=True))
        assert_within(case, mixing, made, total)
        np.testing.assert_allclose([row["shards"]["weights"] for row in model.history_], weights, rtol=1e-12)

        bound = model.mixing_bound_
        assert bound.holds
        assert bound.made == made
        assert bound.sum == pytest.approx(total, rel=1e-9)
        assert bound.radius == pytest.approx(case.radius, rel=1e-9)
        assert bound.at_most == pytest.approx(case.at_most(bound.radius, bound.margin), rel=1e-6)
        most = bound.at_most * (1 if mixing == "mistakes" else case.shards)
        assert math.floor(most * (1 - 1e-6)) <= bound.epochs <= math.floor(most * (1 + 1e-6))


def mixing_of(updates, name):
    if name == "uniform" or not any(updates):
        return [1 / len(updates)] * len(updates)
    return [k / sum(updates) for k in updates]


@pytest.mark.parametrize("name", MIXINGS)
def test_the_reference_keeps_the_bound_too(name):
    for seed in range(3, 100, 6):
        case = Case(seed)
        shards = [(case.X[own], case.y[own], None) for own in case.dealt()]
        orders = [[np.arange(len(X)) for X, _, _ in shards]] * 500
        given = {"eta": case.options["eta0"], "margin": case.demanded, "fit_intercept": case.options["fit_intercept"]}
        run = mixing.linear(shards, orders, case.k, mixing=name, **given)
        assert not any(run.updates[-1])
        assert_within(case, name, run.epochs_with_updates, run.weighted_updates)


def test_the_margin_of_the_bound_is_one_that_the_data_have(client):
    for seed in range(0, 100, 19):
        case = Case(seed)
        model = distributed.fit(case.estimator(), case.X, case.y, client, shards=case.shards)
        known = mistake_bound(case.X, case.y, fit_intercept=case.options["fit_intercept"])
        assert 0 < model.mixing_bound_.margin <= known.margin * (1 + 1e-3)


@pytest.mark.parametrize("name", MIXINGS)
def test_the_bound_can_be_asked_for_later_and_says_what_it_is(name, client):
    case = Case(5)
    rows = da.from_array(case.X, chunks=(7, -1)), da.from_array(case.y, chunks=7)
    model = distributed.fit(case.estimator(), *rows, client, name)
    for X, y in (rows, (case.X, case.y)):
        bound, known = distributed.mixing_bound(model, X, y, client), model.mixing_bound_
        assert (bound.epochs, bound.made, bound.holds) == (known.epochs, known.made, True)
        for field in ("radius", "margin", "sum", "at_most"):
            assert getattr(bound, field) == pytest.approx(getattr(known, field), rel=1e-9)
        assert str(bound.epochs) in bound.explain().replace(",", "")
        assert str(bound.made) in bound.explain().replace(",", "")


NOT_COVERED = {
    "l2": {"penalty": "l2", "alpha": 0.01, "margin": 0.1},
    "cost": {"cost": [[0, 1], [2, 0]]},
    "batches": {"batch_size": 2},
    "pa1": {"step": "pa1", "eta0": 1.0},
    "ones": {"init": "ones"},
    "class weight": {"class_weight": {0: 2.0}},
    "not converged": {"max_iter": 1},
}


@pytest.mark.parametrize("options", NOT_COVERED.values(), ids=NOT_COVERED)
def test_no_bound_is_told_where_the_theorem_says_nothing(options, client):
    case = Case(8)
    model = case.estimator().set_params(**({"max_iter": 20} | options))
    distributed.fit(model, case.X, case.y, client, shards=3)
    assert model.mixing_bound_ is None
    assert model.converged_ or not options.keys().isdisjoint({"max_iter", "penalty", "step"})


def test_no_bound_is_told_for_weighted_examples(client):
    case = Case(8)
    weights = np.linspace(0.5, 2, len(case.X))
    model = distributed.fit(case.estimator(), case.X, case.y, client, shards=3, sample_weight=weights)
    assert model.converged_
    assert model.mixing_bound_ is None


# ---- mixing once, at the end

# u = (-1, 3, -1) separates all of it. Shard 0 ends at (1, 1, 0), shard 1 at (0, 1, 1), with one update each. Mixed by
# any mu, (mu, 1, 1 - mu): the second example of shard 0 has y s = 1.5 mu - 1, that of shard 1 has 0.5 - 1.5 mu.
APART = [
    (np.array([[1, 1, 0], [-0.5, 0, 1]]), np.array([1, 0])),
    (np.array([[0, 1, 1], [1, 0, -0.5]]), np.array([1, 0])),
]


def mistakes_of(w):
    return sum(int(np.sum((2 * y - 1) * (X @ w) <= 0)) for X, y in APART)


def test_mixing_once_at_the_end_need_not_separate_what_every_shard_has_learned():
    assert mistakes_of(np.array([-1, 3, -1])) == 0
    runs = [binary.train(X, 2 * y - 1, [range(2)] * 9, fit_intercept=False, stop=True) for X, y in APART]
    assert [run.mistakes for run in runs] == [[1, 0], [1, 0]]
    assert [run.w.tolist() for run in runs] == [[1, 1, 0], [0, 1, 1]]
    for mu in np.linspace(0, 1, 101):
        assert mistakes_of(mu * runs[0].w + (1 - mu) * runs[1].w) > 0


@pytest.mark.parametrize("name", MIXINGS)
def test_mixing_every_epoch_separates_it(name, client):
    shards = [(X, y, None) for X, y in APART]
    run = mixing.linear(shards, [[range(2)] * 2] * 100, 2, mixing=name, fit_intercept=False)
    assert run.updates[0] == [1, 1]
    assert sum(run.updates[1]) > 0
    assert not any(run.updates[-1])
    assert mistakes_of(run.last[0, :-1]) == 0

    X = da.from_array(np.vstack([X for X, _ in APART]), chunks=(2, -1))
    y = da.from_array(np.concatenate([y for _, y in APART]), chunks=2)
    model = rosenblatt(combine="last", shuffle=False, fit_intercept=False, tol=None, max_iter=100)
    distributed.fit(model, X, y, client, name, shards=2)
    assert model.stop_reason_ == "converged"
    np.testing.assert_allclose(model.coef_last_, run.last[:, :-1], rtol=1e-12)
    assert [row["shards"]["updates"] for row in model.history_] == run.updates
