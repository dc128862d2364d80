"""Margins and biases in the units of the data: what they are, that scale does not matter, and that 0 and 1 are the
lecture's rule."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier

import perceptrons
from perceptrons import Perceptron
from perceptrons.engine.training.inputs import as_rows
from perceptrons.engine.training.units import ALIKE, BITS, FIRST_MARGIN, MARGIN, SAMPLE, Moments, moments
from tests.conftest import gaussian
from tests.support.lecture import rosenblatt
from tests.support.tiers import slow

RULES = {
    "default": {},
    "last": {"combine": "last", "max_iter": 20},
    "vote": {"combine": "vote", "max_iter": 5},
    "pocket": {"combine": "pocket", "max_iter": 5},
    "pa": {"step": "pa", "max_iter": 20},
    "l2": {"penalty": "l2", "alpha": 0.01, "max_iter": 20},
    "batches": {"batch_size": 7, "max_iter": 20},
    "ovr": {"multiclass": "ovr", "max_iter": 20},
    "ovo": {"multiclass": "ovo", "max_iter": 20},
    "no bias": {"fit_intercept": False},
    "margin 0": {"margin": 0.0},
    "eta": {"eta0": 0.3},
    "early": {"early_stopping": True},
    "cost": {"cost": {0: {1: 2.0}, 1: {0: 1.0}}, "max_iter": 20},
}
KINDS = {"dense": np.asarray, "csr": sp.csr_matrix}


def two_blocks(X):
    return slice(0, X.shape[0] // 2), slice(X.shape[0] // 2, None)


def fit(model, X, y):
    return model.fit(X, y)


def stream(model, X, y):
    return model.fit_stream([(X[part], y[part]) for part in two_blocks(X)], epochs=3)


def partial(model, X, y):
    for part in two_blocks(X):
        model.partial_fit(X[part], y[part], classes=np.unique(y))
    return model


def one_by_one(model, X, y):
    rows = X.toarray() if sp.issparse(X) else X
    for x, label in zip(rows[:60], y[:60].tolist(), strict=True):
        model.learn_one(x, label)
    return model


def counts(model):
    return model.n_mistakes_, model.n_updates_, [row["mistakes"] for row in model.history_], model.stop_reason_


def same_whatever_the_scale(X, y, k, how, parameters):
    scaled = X * np.float32(2.0**k) if X.dtype == np.float32 else X * 2.0**k
    before, after = how(Perceptron(**parameters), X, y), how(Perceptron(**parameters), scaled, y)
    assert counts(after) == counts(before)
    np.testing.assert_array_equal(after.predict(scaled), before.predict(X))
    if parameters.get("combine") not in ("vote", "pocket") and parameters.get("step", "constant") == "constant":
        np.testing.assert_array_equal(after.coef_, before.coef_ * 2.0**k)
        np.testing.assert_array_equal(after.intercept_, before.intercept_ * 4.0**k)


@pytest.mark.parametrize("k", [-20, *slow(-3, 1), 20])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RULES)
def test_multiplying_all_features_by_a_power_of_two_changes_nothing(rng, name, kind, k):
    parameters = RULES[name]
    for classes in (2,) if "cost" in parameters else (2, 4):
        X, y = gaussian(rng, 120, 6, classes)
        same_whatever_the_scale(KINDS[kind](X + 1.5), y, k, fit, parameters)


@pytest.mark.parametrize("how", [stream, partial, one_by_one])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [-20, 20])
def test_the_scale_does_not_matter_to_streams_blocks_and_single_examples(rng, how, kind, k):
    X, y = gaussian(rng, 120, 6, 3)
    same_whatever_the_scale(KINDS[kind](X.astype(np.float32)), y, k, how, {})


@settings(max_examples=25, deadline=None)
@given(st.integers(-20, 20), st.integers(0, 10**6), st.sampled_from([2, 3]), st.booleans(), st.booleans())
def test_no_power_of_two_changes_a_prediction(k, seed, classes, sparse, single):
    rng = np.random.default_rng(seed)
    X, y = gaussian(rng, 60, 5, classes)
    X = (X * rng.lognormal(0, 2, 5)).astype(np.float32 if single else np.float64)
    same_whatever_the_scale(sp.csr_matrix(X) if sparse else X, y, k, fit, {"max_iter": 10})


def test_the_plain_rule_depends_on_the_scale_and_the_default_does_not():
    X, y = load_iris(return_X_y=True)
    petals, setosa = X[:, 2:], y == 0
    plain = [rosenblatt(combine="last", shuffle=False).fit(petals * by, setosa).n_updates_ for by in (1, 16)]
    assert plain[1] > 20 * plain[0]
    found = [Perceptron(combine="last", shuffle=False).fit(petals * by, setosa).n_updates_ for by in (1, 16)]
    assert found[0] == found[1]


# ---- what the units are


@pytest.mark.parametrize("kind", KINDS)
def test_the_margin_is_so_many_spreads_and_the_bias_a_power_of_two_of_typical_values(rng, kind):
    X, y = gaussian(rng, 300, 8, 2)
    X[X < -0.5] = 0
    model = Perceptron(max_iter=12, tol=None).fit(KINDS[kind](X), y)
    spread = np.mean(((X - X.mean(axis=0)) ** 2).sum(axis=1))
    assert model.margin_ == pytest.approx(MARGIN * spread, rel=2.0**-BITS)
    typical = np.sqrt(np.mean(X[X != 0] ** 2))
    constant = np.sqrt(model._learner.weights.one)
    assert np.log2(constant) % 1 == 0
    assert 0.5 < constant / typical < 2
    assert Perceptron(eta0=0.25, max_iter=12, tol=None).fit(KINDS[kind](X), y).margin_ == model.margin_ / 4
    assert Perceptron(step="pa").fit(KINDS[kind](X), y).margin_ == 1
    assert Perceptron(margin=2.5).fit(KINDS[kind](X), y).margin_ == 2.5


def test_the_learning_rate_only_scales_the_weights(rng):
    X, y = gaussian(rng, 150, 5, 3)
    one, other = (Perceptron(eta0=eta).fit(X, y) for eta in (1.0, 0.125))
    assert counts(one) == counts(other)
    np.testing.assert_array_equal(other.coef_, one.coef_ * 0.125)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_dense_sparse_odd_and_weighted_rows_have_the_same_units(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 7)) * (rng.random((30, 7)) < 0.6) + (rng.random() < 0.3) * 10
    weight = rng.integers(0, 4, 30)
    weight[0] = 1
    found = moments(as_rows(X), weight).units()
    assert moments(as_rows(sp.csr_matrix(X)), weight).units() == found
    assert moments(as_rows(X[weight > 0]), weight[weight > 0]).units() == found
    assert moments(as_rows(X), weight / 1024).units() == (found.spread / 1024, found.constant)
    unweighted, mean = moments(as_rows(X[weight > 0])).units(), weight[weight > 0].mean()
    assert found.spread == pytest.approx(mean * unweighted.spread, rel=2.0**-BITS)
    halves = sp.hstack([sp.csr_matrix(X / 2), sp.csr_matrix((30, 1))], format="csr")
    odd = sp.csr_matrix((np.tile(halves.data, 2), np.tile(halves.indices, 2), np.r_[0, 2 * halves.nnz]), shape=(1, 8))
    assert moments(as_rows(odd)).square == pytest.approx(moments(as_rows(_summed(odd))).square)


def _summed(X):
    X = X.copy()
    X.sum_duplicates()
    return X


def test_weights_of_classes_and_of_examples_are_the_same_but_for_the_automatic_margin(rng):
    X, y = gaussian(rng, 120, 4, 2)
    X[y == 1] *= 3
    weight = np.where(y == 0, 0.2, 1.0)
    for margin in (0.0, 2.0):
        by_class = Perceptron(margin=margin, class_weight={0: 0.2, 1: 1.0}).fit(X, y)
        by_example = Perceptron(margin=margin).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(by_class.coef_, by_example.coef_)
    alone = Perceptron(max_iter=3, tol=None).fit(X, y).margin_
    assert Perceptron(max_iter=3, tol=None, class_weight={0: 0.2, 1: 1.0}).fit(X, y).margin_ == alone
    by_example = Perceptron(max_iter=3, tol=None).fit(X, y, sample_weight=weight)
    assert by_example.margin_ == pytest.approx(alone * weight.mean(), rel=2.0**-BITS)


@pytest.mark.parametrize("learn", [fit, stream, partial], ids=lambda learn: learn.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_the_scale_of_the_sample_weights_does_not_matter(rng, kind, learn):
    X, y = gaussian(rng, 120, 4, 3)
    weight = rng.integers(1, 5, 120) / 4
    models = []
    for scale in (1.0, 2.0**-10):
        model = Perceptron()
        if learn is fit:
            model.fit(KINDS[kind](X), y, sample_weight=scale * weight)
        elif learn is stream:
            blocks = [(KINDS[kind](X[part]), y[part], scale * weight[part]) for part in two_blocks(X)]
            model.fit_stream(blocks, epochs=3)
        else:
            for part in two_blocks(X):
                model.partial_fit(KINDS[kind](X[part]), y[part], [0, 1, 2], scale * weight[part])
        models.append(model)
    assert models[1].margin_ == models[0].margin_ / 1024
    np.testing.assert_array_equal(models[1].coef_, models[0].coef_ / 1024)
    np.testing.assert_array_equal(models[1].intercept_, models[0].intercept_ / 1024)


def test_weights_that_sum_to_1_train_as_well_as_weights_of_1(rng):
    X, y = load_iris(return_X_y=True)
    model = Perceptron().fit(X, y, sample_weight=np.full(150, 1 / 150))
    assert model.score(X, y) > 0.96


def test_adaboost_gets_past_examples_that_weigh_next_to_nothing():
    X, y = load_iris(return_X_y=True)
    boosted = AdaBoostClassifier(Perceptron(), n_estimators=20, random_state=0).fit(X, y)
    assert boosted.score(X, y) > 0.96
    weight = np.ones(150)
    weight[::3] = np.finfo(float).eps / 150  # the least that AdaBoostClassifier makes
    assert Perceptron().fit(X, y, sample_weight=weight).score(X, y) > 0.96


def test_parts_of_the_data_together_have_nearly_the_units_of_all_of_it(rng):
    X, _ = gaussian(rng, 4000, 5, 2)
    whole = moments(as_rows(X)).units()
    parts = moments(as_rows(X[:1000])).plus(moments(as_rows(X[1000:]))).units()
    assert parts.spread == pytest.approx(whole.spread, rel=0.01)
    assert parts.constant == whole.constant
    assert moments(as_rows(X)).plus(Moments()).units() == whole


def test_of_many_values_an_even_sample_is_looked_at(rng):
    X = rng.standard_normal((SAMPLE // 10, 40))
    X[::2] *= 3  # every other row: a sample by a fixed stride would see one kind alone
    for rows in (as_rows(X), as_rows(sp.csr_matrix(X))):
        found = moments(rows)
        assert found.n * 40 <= SAMPLE
        assert found.units().spread == pytest.approx(5 * 40, rel=0.03)


def test_columns_with_large_numbers_need_no_room():
    small, large = [[0, 3, 1, 4, 0, 2], [5, 2**30, 7, 2**30 + 1, 5, 9]]
    rows = [
        sp.csr_matrix((np.ones(6), columns, [0, 2, 4, 6]), shape=(3, max(columns) + 1)) for columns in (small, large)
    ]
    assert moments(as_rows(rows[0])) == moments(as_rows(rows[1]))


@pytest.mark.parametrize("X", [np.zeros((4, 3)), np.ones((4, 3)), np.full((4, 3), 1e-30), np.full((4, 3), 1e12)])
def test_data_that_are_all_alike_have_units_too(X):
    y = [0, 1, 0, 1]
    model = Perceptron(max_iter=3).fit(X, y)
    assert np.isfinite(model.margin_)
    assert (model.margin_ > 0) == X.any()  # the spread of zeros is 0
    assert np.isfinite(model.decision_function(X)).all()
    assert moments(as_rows(X)).spread <= ALIKE * max(1.0, float((X**2).sum()))


def test_zeros_that_come_first_leave_the_spread_to_what_follows(rng):
    """The first example of a running scaler is all zeros."""
    X, y = gaussian(rng, 60, 4, 2)
    X[:3] = 0
    models = {name: Perceptron() for name in ("single", "blocks")}
    for i in range(60):
        assert (models["single"].margin_ > 0) == (i > 3) if i else True
        models["single"].learn_one(X[i], y[i])
        models["blocks"].partial_fit(X[i : i + 1], y[i : i + 1])
    assert models["single"].margin_ == models["blocks"].margin_ == pytest.approx(FIRST_MARGIN * X[3] @ X[3], rel=1e-2)
    for name in ("coef_", "intercept_", "coef_last_"):
        assert np.array_equal(getattr(models["single"], name), getattr(models["blocks"], name))
    warm = Perceptron(warm_start=True, max_iter=1).fit(np.zeros((2, 4)), [0, 1])
    assert warm.margin_ == 0
    assert warm.fit(X, y).margin_ > 0


def test_the_units_are_those_of_what_came_first(rng):
    X, y = gaussian(rng, 100, 4, 2)
    first = Perceptron().partial_fit(X[:50], y[:50], classes=[0, 1])
    margin = first.margin_
    first.partial_fit(1000 * X[50:], y[50:])
    assert first.margin_ == margin == Perceptron(max_iter=1).fit(X[:50], y[:50]).margin_
    assert Perceptron().fit_stream([(X[:50], y[:50]), (X[50:], y[50:])]).margin_ == margin
    one = Perceptron().learn_one({"a": 3.0, "b": 4.0}, "yes").learn_one({"a": 500.0}, "no")
    assert one.margin_ == FIRST_MARGIN * 25
    warm = Perceptron(warm_start=True, max_iter=2).fit(X[:50], y[:50])
    assert warm.fit(1000 * X, y).margin_ == pytest.approx(8 * margin)


def test_learning_one_by_one_is_learning_in_blocks_that_begin_with_one(rng):
    X, y = gaussian(rng, 80, 4, 2)
    one = Perceptron()
    for x, label in zip(X, y.tolist(), strict=True):
        one.learn_one(x, label)
    blocks = Perceptron().partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
    np.testing.assert_array_equal(one.coef_, blocks.coef_)
    np.testing.assert_array_equal(one.intercept_, blocks.intercept_)


# ---- 0 and 1 are the lecture's


def test_without_margin_and_with_a_feature_1_the_rule_is_the_lectures(rng):
    X, y = gaussian(rng, 100, 4, 2)
    sign = np.where(y == 1, 1.0, -1.0)
    model = Perceptron(combine="last", margin=0, intercept_scaling=1, shuffle=False, max_iter=3, tol=None).fit(X, y)
    w, b = np.zeros(4), 0.0
    for _ in range(3):
        for x, label in zip(X, sign, strict=True):
            if label * (w @ x + b) <= 0:
                w, b = w + label * x, b + label
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, [b], rtol=1e-12)


@pytest.mark.parametrize("scaling", [0.25, 3.0])
@pytest.mark.parametrize("parameters", [{}, {"step": "pa1"}, {"step": "arow"}, {"multiclass": "ovr"}])
def test_intercept_scaling_is_the_value_of_a_feature_that_all_examples_have(rng, scaling, parameters):
    X, y = gaussian(rng, 150, 4, 3)
    how = {"margin": 1.0, "max_iter": 4, "tol": None, **parameters}
    model = Perceptron(intercept_scaling=scaling, **how).fit(X, y)
    wide = Perceptron(fit_intercept=False, **how).fit(np.column_stack([X, np.full(len(X), scaling)]), y)
    np.testing.assert_allclose(model.coef_, wide.coef_[:, :-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, scaling * wide.coef_[:, -1], rtol=1e-9, atol=1e-9)


def test_costs_are_multiples_of_the_margin_and_take_its_place(rng):
    X, y = gaussian(rng, 150, 4, 3)
    even = Perceptron(cost=1.0 - np.eye(3), max_iter=5).fit(X, y)
    plain = Perceptron(max_iter=5).fit(X, y)
    np.testing.assert_array_equal(even.coef_, plain.coef_)
    plain = Perceptron(max_iter=1).fit(X, y)
    twice = Perceptron(cost=2 * (1.0 - np.eye(3)), max_iter=1).fit(X, y)
    given = Perceptron(margin=2 * plain.margin_, max_iter=1).fit(X, y)
    np.testing.assert_array_equal(twice.coef_, given.coef_)


def reference(X, y, epochs, spread, constant):
    """The binary rule with the margins of "auto", example by example: the average of the weights after each."""
    w, total, seen = np.zeros(X.shape[1] + 1), np.zeros(X.shape[1] + 1), 0
    Z, sign = np.column_stack([X, np.full(len(X), constant)]), np.where(y == 1, 1.0, -1.0)
    for epoch in range(epochs):
        margin = min(FIRST_MARGIN * 2**epoch, MARGIN) * spread
        for z, label in zip(Z, sign, strict=True):
            w = w + label * z if label * (w @ z) <= margin else w
            total, seen = total + w, seen + 1
    return total / seen


@pytest.mark.parametrize("epochs", [1, 2, 4, 7])
@pytest.mark.parametrize("how", ["fit", "stream", "warm"])
def test_the_margin_grows_with_every_epoch_until_it_is_all(rng, epochs, how):
    X, y = gaussian(rng, 90, 4, 2)
    model = Perceptron(shuffle=False, max_iter=epochs, tol=None, warm_start=how == "warm")
    if how == "fit":
        model.fit(X, y)
    elif how == "stream":
        model.fit_stream([(X, y)], epochs=epochs)
    else:
        model.set_params(max_iter=1)
        for _ in range(epochs):
            model.fit(X, y)
    mean = reference(X, y, epochs, *moments(as_rows(X)).units())
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_ / np.sqrt(model._learner.weights.one)), mean)
    assert model.margin_ == pytest.approx(
        min(FIRST_MARGIN * 2 ** (epochs - 1), MARGIN) * moments(as_rows(X)).units().spread
    )


def test_blocks_and_single_examples_have_the_margin_of_the_last_epoch(rng):
    X, y = gaussian(rng, 90, 4, 2)
    one = Perceptron(max_iter=3).fit(X, y)
    block, plain = (Perceptron(max_iter=3).fit(X, y) for _ in range(2))
    one.learn_one(X[0], int(y[0])).learn_one(X[1], int(y[1]))
    block.partial_fit(X[:2], y[:2])
    plain.set_params(margin=plain.margin_).partial_fit(X[:2], y[:2])
    for model in (block, plain):
        np.testing.assert_array_equal(model.coef_, one.coef_)


def test_a_first_epoch_without_updates_is_no_convergence_while_the_next_demands_more():
    X, y = np.array([[1.0], [-1.0]]), [1, 0]
    model = Perceptron(combine="last", max_iter=1).fit(X, y, coef_init=[[1.0]], intercept_init=[0.0])
    assert (model.n_updates_, model.stop_reason_) == (0, "max_iter")
    model = Perceptron(combine="last").fit(X, y, coef_init=[[1.0]], intercept_init=[0.0])
    assert model.stop_reason_ == "converged"
    assert model.n_updates_ > 0


def test_intercept_scaling_cannot_change_under_way(rng):
    X, y = gaussian(rng, 40, 3, 2)
    model = Perceptron(intercept_scaling=2).partial_fit(X, y)
    with pytest.raises(ValueError, match="intercept_scaling was changed"):
        model.set_params(intercept_scaling=1).partial_fit(X, y)


@pytest.mark.parametrize(("name", "value"), [("margin", "big"), ("intercept_scaling", 0), ("intercept_scaling", "1")])
def test_other_words_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"{name} must be a number .* 'auto'"):
        Perceptron(**{name: value}).fit([[0.0], [1.0]], [0, 1])


# ---- through other doors


def test_a_saved_model_goes_on_in_its_own_units(rng, tmp_path):
    X, y = gaussian(rng, 100, 4, 3)
    model = Perceptron().partial_fit(X[:50], y[:50], classes=[0, 1, 2])
    perceptrons.save(model, tmp_path / "m")
    loaded = perceptrons.load(tmp_path / "m")
    assert (loaded.margin_, loaded._learner.weights.one) == (model.margin_, model._learner.weights.one)
    for one in (model, loaded):
        one.partial_fit(X[50:], y[50:])
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    np.testing.assert_array_equal(loaded.intercept_, model.intercept_)


def test_pairs_that_a_dict_of_costs_does_not_name_keep_the_margin(rng):
    X, y = gaussian(rng, 150, 4, 3)
    some = Perceptron(cost={0: {1: 5.0}}, max_iter=5).fit(X, y)
    every = Perceptron(cost=np.array([[0, 5, 1], [1, 0, 1], [1, 1, 0]]), max_iter=5).fit(X, y)
    np.testing.assert_array_equal(some.coef_, every.coef_)
    some = Perceptron(cost={0: {1: 5.0}}, margin=2.0, max_iter=5).fit(X, y)
    every = Perceptron(cost=np.array([[0, 5, 0], [0, 0, 0], [0, 0, 0]]), margin=2.0, max_iter=5).fit(X, y)
    np.testing.assert_array_equal(some.coef_, every.coef_)
