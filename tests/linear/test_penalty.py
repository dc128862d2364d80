"""penalty="l2", "l1", "elasticnet": scikit-learn's weights, on dense rows, sparse rows and in every door.

The rule itself is compared with the slow reference in `test_large_margin.py`, `test_recent.py`, `test_onebyone.py`.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier

import perceptrons
from perceptrons import Perceptron, export
from perceptrons.inspection.summary import ModelSummary
from tests.support.lecture import rosenblatt

PENALTIES = ("l2", "l1", "elasticnet")


@st.composite
def cases(draw):
    """Data of two or three classes, and parameters that both libraries have."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, k = draw(st.integers(6, 40)), draw(st.integers(1, 8)), draw(st.integers(2, 3))
    X, y = rng.standard_normal((n, d)), rng.permutation(np.arange(n) % k)
    parameters = {
        "penalty": draw(st.sampled_from(PENALTIES)),
        "alpha": 10 ** draw(st.floats(-5, -1)),
        "eta0": 10 ** draw(st.floats(-1, 0.9)),
        "max_iter": draw(st.integers(1, 4)),
        "fit_intercept": draw(st.booleans()),
        "shuffle": False,
        "tol": None,
    }
    if parameters["penalty"] == "elasticnet":
        parameters["l1_ratio"] = draw(st.floats(0, 1))
    return X, y, parameters


def assert_same(ours, theirs, exact=1e-9):
    size = max(1.0, np.abs(theirs.coef_).max())
    assert_allclose(ours.coef_, theirs.coef_, rtol=exact, atol=exact * size)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=exact, atol=exact * size)


@settings(max_examples=200, deadline=None)
@given(cases())
def test_the_last_weights_are_those_of_scikit_learn(case):
    X, y, parameters = case
    ours = rosenblatt(combine="last", multiclass="ovr", **parameters).fit(X, y)
    assert_same(ours, SklearnPerceptron(**parameters).fit(X, y))


@settings(max_examples=200, deadline=None)
@given(cases())
def test_the_average_is_the_mean_of_the_weights_of_scikit_learn_after_every_example(case):
    X, y, parameters = case
    ours = rosenblatt(combine="average", multiclass="ovr", **parameters)
    if parameters["penalty"] == "l2":
        theirs = SGDClassifier(loss="perceptron", learning_rate="constant", average=True, **parameters)
        assert_same(ours.fit(X, y), theirs.fit(X, y), 1e-5)  # theirs loses digits while the scale of the weights falls
    # With L1, the average of SGDClassifier is no mean: it counts a truncation as if it had been there all the time.
    # So the last weights after 1, 2, 3, ... visits are taken, each from a training of its own.
    visits, classes = np.tile(np.arange(len(y)), parameters["max_iter"])[:30], np.unique(y)
    ours = rosenblatt(combine="average", multiclass="ovr", **parameters)
    ours.partial_fit(X[visits], y[visits], classes=classes)
    parts = [visits[: t + 1] for t in range(len(visits))]
    runs = [SklearnPerceptron(**parameters).partial_fit(X[part], y[part], classes=classes) for part in parts]
    mean = np.mean([run.coef_ for run in runs], axis=0)
    assert_allclose(ours.coef_, mean, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(mean).max()))


# ---- sparse rows: what was pending is done when a feature is seen again


def sparse_data(rng, n=300, d=200, k=3):
    X = sp.random(n, d, 0.05, "csr", rng=rng, data_rvs=rng.standard_normal)
    return X, rng.permutation(np.arange(n) % k)


RULES = (
    {}, {"combine": "recent", "window": 40}, {"multiclass": "ovr"}, {"multiclass": "ovo"}, {"batch_size": 7},
    {"multiclass": "ovo", "batch_size": 7}, {"step": "pa1"}, {"combine": "pocket"},
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize(
    "penalty", [{"penalty": "l1", "alpha": 0.02}, {"penalty": "elasticnet", "alpha": 0.05}], ids=str
)
def test_sparse_rows_give_the_weights_of_dense_rows(rule, penalty, rng):
    X, y = sparse_data(rng)
    parameters = {"max_iter": 3, "tol": None, "margin": 1.0, "intercept_scaling": 1} | rule | penalty
    weight = rng.uniform(0, 2.5, len(y))
    sparse = Perceptron(**parameters).fit(X, y, sample_weight=weight)
    dense = Perceptron(**parameters).fit(X.toarray(), y, sample_weight=weight)
    assert (sparse.coef_last_ == 0).mean() > 0.3
    assert np.array_equal(sparse.coef_last_ == 0, dense.coef_last_ == 0)
    for name in ("coef_", "intercept_", "coef_last_", "intercept_last_"):
        assert_allclose(getattr(sparse, name), getattr(dense, name), rtol=1e-9, atol=1e-12)


def test_a_log_that_is_full_is_worked_off(rng, monkeypatch):
    """A feature that is seen first and last of all has thousands of truncations behind it."""
    n = 5000
    X = sp.csr_matrix((rng.standard_normal(n), (np.arange(n), np.arange(n) % 997)), (n, 1000))
    y = rng.integers(0, 2, n)
    parameters = {"penalty": "elasticnet", "alpha": 1e-3, "l1_ratio": 0.5, "max_iter": 2, "tol": None}
    sparse, dense = (rosenblatt(**parameters).fit(rows, y) for rows in (X, X.toarray()))
    assert_allclose(sparse.coef_last_, dense.coef_last_, rtol=1e-9, atol=1e-12)
    assert_allclose(sparse.coef_average_, dense.coef_average_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_blocks_of_any_size_streams_and_saved_models_give_the_weights_of_fit(penalty, rng, tmp_path):
    X, y = sparse_data(rng, 120, 60)
    parameters = {"penalty": penalty, "alpha": 0.01, "shuffle": False, "max_iter": 1, "tol": None}
    fitted = rosenblatt(**parameters).fit(X, y)
    streamed = rosenblatt(**parameters).fit_stream([(X[:50], y[:50]), (X[50:], y[50:])], classes=[0, 1, 2])
    blocks = rosenblatt(**parameters).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    for i in range(1, 30):
        blocks.learn_one(X[i], y[i])
    perceptrons.save(blocks.partial_fit(X[30:70], y[30:70]), tmp_path / "model")
    blocks = perceptrons.load(tmp_path / "model").partial_fit(X[70:], y[70:])
    for model in (streamed, blocks):
        assert_allclose(model.coef_, fitted.coef_, rtol=1e-9, atol=1e-12)
        assert_allclose(model.coef_last_, fitted.coef_last_, rtol=1e-9, atol=1e-12)
        assert_allclose(model.intercept_, fitted.intercept_, rtol=1e-9)


def test_features_that_come_late_and_rows_that_are_split_owe_what_they_would_owe_from_the_start(rng):
    X, y = rng.standard_normal((60, 5)), np.arange(60) % 3
    X[:30, 4], y[:30] = 0, y[:30] % 2
    parameters = {"penalty": "l1", "alpha": 0.03, "shuffle": False, "max_iter": 1, "tol": None, "multiclass": "ovr"}
    known = rosenblatt(**parameters).partial_fit(X, y, classes=[0, 1, 2])
    names = [f"x{j}" for j in range(5)]
    late = rosenblatt(**parameters)
    for x, label in zip(X, y, strict=True):
        late.learn_one({name: value for name, value in zip(names, x, strict=True) if value}, int(label))
    assert late.feature_names_in_.tolist() == names
    for name in ("coef_last_", "intercept_last_", "coef_average_"):  # class 2 has learned from the second half alone
        assert_allclose(getattr(late, name)[:2], getattr(known, name)[:2], rtol=1e-9, atol=1e-12)


def test_an_l1_penalty_makes_small_models_whose_weights_are_counted(rng):
    X, y = sparse_data(rng, 300, 2000, 2)
    sizes, counts = [], []
    for penalty in ({}, {"penalty": "l1", "alpha": 0.02}):
        model = Perceptron(combine="last", max_iter=5, tol=None, **penalty).fit(X, y)
        assert model.n_nonzero_ == np.count_nonzero(model.coef_)
        assert ModelSummary(model).to_dict()["n_nonzero"] == model.n_nonzero_
        counts.append(model.n_nonzero_)
        sizes.append(len(export.as_bytes(model, ".json")))
    assert counts[1] < 0.2 * counts[0]
    assert sizes[1] < 0.3 * sizes[0]
    row = ("weights", f"{counts[1]:,} of 2,000 are not 0")
    assert row in ModelSummary(model).lines()
    assert ModelSummary(Perceptron(combine="vote", max_iter=2, tol=None).fit(X, y)).facts["n_nonzero"] is None


def test_several_labels_are_penalised_one_by_one(rng):
    X, Y = rng.standard_normal((60, 5)), rng.integers(0, 2, (60, 3))
    parameters = {"penalty": "l1", "alpha": 0.03, "shuffle": False, "max_iter": 3, "tol": None}
    together = rosenblatt(**parameters).fit(X, Y)
    alone = [rosenblatt(**parameters).fit(X, Y[:, k]) for k in range(3)]
    assert_allclose(together.coef_, np.vstack([model.coef_ for model in alone]), rtol=1e-9)


def test_a_penalised_model_never_counts_as_converged():
    X, y = np.array([[1.0], [-1.0]] * 3), [1, 0] * 3
    assert rosenblatt(max_iter=5, tol=None).fit(X, y).stop_reason_ == "converged"
    for penalty in PENALTIES:
        assert rosenblatt(max_iter=5, tol=None, penalty=penalty).fit(X, y).stop_reason_ == "max_iter"


def test_a_model_that_keeps_votes_takes_no_penalty_later(rng):
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    model = Perceptron(combine="vote").fit(X, y).set_params(combine="average", penalty="l2")
    with pytest.raises(ValueError, match="created with combine='vote', which does not work with a penalty"):
        model.partial_fit(X, y)
