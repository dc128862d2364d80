"""What an attacker of margins, costs, steps, wrappers and several labels found goes right now."""

import contextlib

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import perceptrons
from perceptrons import ModelFileError, Perceptron
from tests.conftest import gaussian


def test_variances_stay_above_zero_in_float32(form, rng):
    one = Perceptron(step="arow", fit_intercept=False).partial_fit(form(np.float32([[7300]])), [1], classes=[0, 1])
    assert one._learner.weights.arrays["sigma_w"][0, 0] == pytest.approx(1 / (7300.0**2 + 1), rel=1e-5)
    X, y = gaussian(rng, 300, 3, 2)
    X[:, 0] *= 1e5
    for C in (1.0, 1e8):
        model = Perceptron(step="arow", C=C, max_iter=5, tol=None).fit(form(X.astype(np.float32)), y)
        assert (model._learner.weights.arrays["sigma_w"] > 0).all()
        double = Perceptron(step="arow", C=C, max_iter=5, tol=None).fit(form(X), y)
        assert model.score(X, y) == pytest.approx(double.score(X, y), abs=0.05)


def test_a_cost_matrix_for_one_class_so_far_reads_nothing_else():
    around = np.full(4, 1e9)
    around[0] = 0
    model = Perceptron(cost=around[:1].reshape(1, 1)).partial_fit([[1.0]] * 3, ["a"] * 3)
    assert model.n_updates_ == 1


def test_the_class_weight_of_a_single_label_counts(rng):
    X, _ = gaussian(rng, 40, 3, 2)
    Y = [{"a"} if x > 0 else set() for x in X[:, 0]]
    t = [
        Perceptron(class_weight=c, max_iter=1).fit(X, Y)._learner.weights.arrays["state"]["n_seen"][0]
        for c in (None, {"a": 5})
    ]
    assert t[1] == t[0] + 4 * sum(map(len, Y))


def test_shrunk_weights_do_not_overflow_silently(rng):
    X, y = gaussian(rng, 100, 3, 2)
    for scale in (1e-10, 1e-13, 1e-16, 1e-20, 1e-30):
        model = Perceptron(step="pa", penalty="l2", alpha=0.5, max_iter=3, fit_intercept=False)
        with contextlib.suppress(ValueError):  # a step that would overflow is refused
            model.fit((X * scale).astype(np.float32), y)
        assert np.isfinite(model.coef_average_).all(), scale
        assert np.isfinite(model.coef_last_).all(), scale
    assert model.stop_reason_ == "failed"


def test_a_failed_fit_leaves_a_model_that_can_be_saved_and_loaded(rng, tmp_path):
    X, y = gaussian(rng, 30, 3, 2)
    model = Perceptron(step="pa", margin=1e90)
    with pytest.raises(ValueError, match="would overflow"):
        model.fit((X * 1e-9).astype(np.float32), y)
    assert model.stop_reason_ == "failed"
    perceptrons.save(model, tmp_path / "model")
    assert np.array_equal(perceptrons.load(tmp_path / "model").coef_, model.coef_)


def test_after_an_overflow_weights_and_counters_agree():
    model = Perceptron(step="pa", margin=1e80, fit_intercept=False).partial_fit([[1e60], [-1e60]], [0, 1])
    same = Perceptron(step="pa", margin=1e80, fit_intercept=False).partial_fit([[1e60], [-1e60]], [0, 1])
    with pytest.raises(ValueError, match="would overflow"):
        model.partial_fit([[3e60], [1e-80], [5e60]], [0, 1, 1])
    same.partial_fit([[3e60]], [0])
    assert np.array_equal(model.coef_last_, same.coef_last_)
    assert (model.t_, model.n_updates_, model.n_mistakes_) == (same.t_, same.n_updates_, same.n_mistakes_)


def test_the_history_of_shrunk_float32_weights_is_finite(rng, tmp_path):
    X, y = gaussian(rng, 200, 20, 2)
    model = Perceptron(penalty="l2", alpha=0.1, max_iter=30, tol=None).fit((X * 1e5).astype(np.float32), y)
    assert np.isfinite([row["norm"] for row in model.history_]).all()
    perceptrons.save(model, tmp_path / "model")


@pytest.mark.parametrize(
    "changed", [{"step": "arow"}, {"multiclass": "ovo"}, {"margin": -1}, {"cost": np.zeros((5, 5))}], ids=str
)
def test_save_refuses_what_load_would_refuse(rng, tmp_path, changed):
    model = Perceptron().fit(*gaussian(rng, 30, 3, 3)).set_params(**changed)
    with pytest.raises(ValueError, match=next(iter(changed))):
        perceptrons.save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_sample_weight_times_class_weight_is_limited_for_several_labels():
    with pytest.raises(ValueError, match="largest weight"):
        Perceptron(class_weight={0: 100.0}).fit([[1.0], [2.0]], [[1, 0], [0, 1]], sample_weight=[1e5, 1e5])


def test_time_limits_hold_with_large_weights(rng):
    X, y = gaussian(rng, 200, 5, 2)
    model = Perceptron(penalty="l2", alpha=0.01, max_seconds=0.1, max_iter=50).fit(
        X, y, sample_weight=np.full(200, 1e5)
    )
    assert model.stop_reason_ == "max_seconds"
    assert model.history_[-1]["examples"] < 200


def test_label_sets_may_come_in_a_series(rng):
    X, _ = gaussian(rng, 3, 2, 2)
    lists = [["a"], ["b", "c"], []]
    for y in (pd.Series(lists, index=[5, 6, 7]), pl.Series(lists), pd.Series([set(labels) for labels in lists])):
        assert Perceptron().fit(X, y).classes_.tolist() == ["a", "b", "c"]


def test_a_model_reads_labels_in_the_form_it_knows(rng):
    X, _ = gaussian(rng, 3, 2, 2)
    model = Perceptron().partial_fit(X, [(0, 1), (1, 2), (0,)])
    assert model.learn_one(X[0], (0, 1)).predict(X)[0] is not None
    assert isinstance(model.predict(X)[0], tuple)
    model = Perceptron().fit(X, [[0, 1], [1, 0], [1, 1]])
    assert model.learn_one(X[0], [0, 1]).predict(X).shape == (3, 2)


def test_a_column_of_labels_is_the_same_as_list_and_array(rng):
    X, y = gaussian(rng, 30, 3, 3)
    with pytest.warns(UserWarning, match="column"):
        models = [Perceptron().fit(X, column) for column in (y[:, None], y[:, None].tolist())]
    assert np.array_equal(models[0].coef_, models[1].coef_)


def test_an_indicator_of_another_width_is_refused(rng):
    X, _ = gaussian(rng, 4, 2, 2)
    Y = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
    model = Perceptron().partial_fit(X, Y)
    for width in (2, 5):
        other = np.ones((4, width), int)
        with pytest.raises(ValueError, match=f"y has {width} columns, but the model was created with 3"):
            model.partial_fit(X, other)
        with pytest.raises(ValueError, match=f"y has {width} columns"):
            model.score(X, sp.csr_matrix(other))


def test_classes_must_name_every_column_of_an_indicator(rng):
    X, y = gaussian(rng, 12, 3, 3)
    with pytest.raises(ValueError, match="y has 3 columns, but classes names 5 labels"):
        Perceptron().partial_fit(X, np.eye(3, dtype=int)[y], classes=range(5))
    assert Perceptron().partial_fit(X, np.eye(3, dtype=int)[y], classes=range(3)).coef_.shape == (3, 3)


def test_dicts_are_no_label_sets(rng):
    X, _ = gaussian(rng, 4, 3, 2)
    with pytest.raises(ValueError, match="Unknown label type: dict"):
        Perceptron().fit(X, [{"spam": 0}, {"spam": 1}, {"spam": 0}, {"spam": 1}])


def test_costs_for_labels_of_another_kind_are_refused_in_streams(rng):
    X, y = gaussian(rng, 20, 3, 2)
    with pytest.raises(ValueError, match="cost names the class '0', which is not among"):
        Perceptron(cost={"0": {"1": 100}}).partial_fit(X, y)
    assert Perceptron(cost={7: {8: 100}}).partial_fit(X, y).t_ == 20  # these may still come


@pytest.mark.parametrize(
    "cost",
    [
        [["0", "9"], ["9", "0"]],
        np.array([[False, True], [True, False]]),
        np.array([[0, 1j], [1, 0]]),
        np.ma.masked_array([[0.0, 1.0], [1.0, 0.0]], mask=[[0, 1], [0, 0]]),
        pd.DataFrame([[0, 1], [1, 0]], index=[0, 1], columns=[0, 0]),
        pl.DataFrame({"0": [0, 1], "1": [1, 0]}),
        {0: {1: np.complex64(1)}},
        {0: {1: 10**400}},
        {0: {1: True}},
    ],
    ids=str,
)
def test_costs_that_are_no_numbers_are_refused(cost, rng):
    with pytest.raises(ValueError, match="cost"):
        Perceptron(cost=cost).fit(*gaussian(rng, 20, 3, 2))


def test_balanced_weights_are_refused_one_by_one_too():
    with pytest.raises(ValueError, match="balanced"):
        Perceptron(class_weight="balanced").learn_one([1.0], "a")


@pytest.mark.parametrize(("name", "value"), [("margin", 1e308), ("margin", 10**400), ("C", 10**400), ("eta0", 10**400)])
def test_numbers_beyond_reason_are_refused_by_name(name, value, rng):
    with pytest.raises(ValueError, match=f"{name} must be"):
        Perceptron(**{name: value}).fit(*gaussian(rng, 20, 3, 2))


def test_huge_batches_are_the_whole_epoch(rng):
    X, y = gaussian(rng, 30, 3, 2)
    huge, every = (Perceptron(batch_size=size, max_iter=3, tol=None).fit(X, y) for size in (10**30, "all"))
    assert np.array_equal(huge.coef_, every.coef_)


def test_score_says_when_labels_have_another_form(rng):
    X, y = gaussian(rng, 20, 3, 2)
    model = Perceptron().fit(X, [{"a"} if label else {"b", "a"} for label in y])
    with pytest.raises(ValueError, match="created with label sets, but y is now single labels"):
        model.score(X, y)


FORGED = {
    "negative variances": ("sigma_w", lambda a: -a),
    "variances above 1": ("sigma_b", lambda a: a + 1),
    "a scale above 1": ("clock", lambda a: a * [1, 1, 1e300, 1, 1, 1]),
    "no scale": ("clock", lambda a: a * [1, 1, 0, 1, 1, 1]),
    "a mass that overflows": ("clock", lambda a: a + np.array([0, 1e308, 0, 0, 0, 0])),
    "an anchor below 0": ("clock", lambda a: a - np.array([0, 0, 0, 0, 1, 0])),
    "two clocks": ("clock", lambda a: np.concatenate([a, a])),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_files_are_refused(case, rng, tmp_path):
    from tests.modelfile.test_modelfile import forge

    X, y = gaussian(rng, 30, 3, 2)
    model = Perceptron(step="arow").fit(X * 1e3, y)
    name, change = FORGED[case]
    forge(model, tmp_path / "model", lambda header, arrays: arrays.update({name: change(arrays[name])}))
    with pytest.raises(ModelFileError, match="do not fit together"):
        perceptrons.load(tmp_path / "model")
