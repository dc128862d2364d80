"""What the peers got wrong (averaging, stopping, counting, intercept, sparse, labels, randomness) goes right here."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Perceptron as SklearnPerceptron

from perceptrons import Perceptron
from perceptrons.engine.passes.order import GROUP, RUN, shuffled
from tests.conftest import as_csr, gaussian, whole_numbers
from tests.support.lecture import rosenblatt


def test_the_average_is_used_for_predicting(rng):
    X, y = gaussian(rng, 300, 5, 2)
    model = Perceptron(max_iter=5, tol=None).fit(X, y)
    assert np.array_equal(model.coef_, model.coef_average_)
    assert not np.allclose(model.coef_average_, model.coef_last_)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_average_[0] + model.intercept_average_)


def test_reading_the_average_does_not_disturb_learning(rng):
    X, y = gaussian(rng, 200, 5, 3)
    looked, plain = Perceptron(), Perceptron()
    for start in range(0, 200, 10):
        for model in (looked, plain):
            model.partial_fit(X[start : start + 10], y[start : start + 10], classes=[0, 1, 2])
        looked.predict(X)
        _ = looked.coef_average_, looked.coef_
        for shown in (looked.coef_, looked.coef_last_):
            with pytest.raises(ValueError, match="read-only"):
                shown[:] = 7
    assert np.array_equal(looked.coef_average_, plain.coef_average_)
    assert np.array_equal(looked.coef_last_, plain.coef_last_)


def test_the_average_is_over_examples_not_over_updates_or_epochs():
    X, y = np.array([[1.0], [1.0], [1.0], [-1.0]]), np.array([1, 1, 1, 0])
    model = rosenblatt(fit_intercept=False, shuffle=False, max_iter=1, tol=None).fit(X, y)
    assert model.n_updates_ == 1
    assert model.coef_average_[0, 0] == 1.0
    y = np.array([1, 1, 0, 0])
    model = rosenblatt(fit_intercept=False, shuffle=False, max_iter=1, tol=None).fit(X, y)
    assert model.coef_average_[0, 0] == np.mean(
        [1, 1, 0, 1]
    )  # after each example: 1, 1, 1 - 1, and 0 is a mistake again


def test_dense_and_sparse_learn_the_same_intercept(rng):
    X, y = whole_numbers(rng, 200, 4, 2)
    dense, sparse = Perceptron(max_iter=5).fit(X, y), Perceptron(max_iter=5).fit(sp.csr_matrix(X), y)
    assert np.array_equal(dense.intercept_, sparse.intercept_)
    assert dense.intercept_[0] != 0


@pytest.mark.parametrize("k", [2, 3])
def test_odd_csr_matrices_are_understood(k, rng):
    X, y = whole_numbers(rng, 40, 6, k)
    X[5] = 0
    plain = sp.csr_matrix(X)
    data, indices, indptr = [], [], [0]
    for row in X:  # every entry twice, halved; explicit zeros; columns in descending order
        for column in reversed(range(6)):
            parts = [row[column] / 2] * 2 if row[column] else [0.0] * (column % 2)
            data += parts
            indices += [column] * len(parts)
        indptr.append(len(data))
    odd = sp.csr_matrix((np.array(data), np.array(indices), np.array(indptr)), shape=X.shape)
    assert not odd.has_canonical_format
    assert odd.indptr[6] > odd.indptr[5]  # row 5 is empty but for explicit zeros
    model, other = Perceptron(max_iter=4).fit(plain, y), Perceptron(max_iter=4).fit(odd, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-13)
    assert np.array_equal(model.predict(X), other.predict(odd))


def test_other_sparse_formats_are_converted_once(rng):
    X, y = whole_numbers(rng, 40, 6, 3)
    expected = Perceptron(max_iter=3).fit(X, y)
    for kind in (sp.csc_matrix, sp.coo_matrix, sp.lil_matrix, sp.bsr_matrix, sp.csr_array, sp.coo_array):
        model = Perceptron(max_iter=3).fit(kind(X), y)
        assert np.array_equal(model.coef_, expected.coef_)
        assert np.array_equal(model.predict(kind(X)), expected.predict(X))


def test_empty_rows_and_empty_columns_do_not_hurt(rng):
    X, y = whole_numbers(rng, 30, 5, 2)
    X[:, 3], X[4] = 0, 0
    model = Perceptron(max_iter=4).fit(as_csr(X), y)
    assert model.coef_[0, 3] == 0
    nothing = sp.csr_matrix((10, 5))
    labels = [0, 1] * 5
    assert Perceptron(max_iter=3, tol=None).fit(nothing, labels).mistakes_.sum() > 0


def test_any_layout_of_dense_memory_learns_the_same(rng):
    X, y = whole_numbers(rng, 60, 6, 3)
    expected = Perceptron(max_iter=3).fit(X, y).coef_
    wide = np.zeros((60, 12))
    wide[:, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    swapped = X.astype(">f8")
    for same in (
        np.asfortranarray(X),
        wide[:, ::2],
        read_only,
        swapped,
        X.tolist(),
        X.astype(int),
        np.flip(np.flip(X)),
    ):
        assert np.array_equal(Perceptron(max_iter=3).fit(same, y).coef_, expected)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.bool_, np.float16, np.int16])
def test_small_numbers_become_float32_not_float64(kind, rng):
    X, y = rng.integers(0, 2, (50, 4)).astype(kind), rng.integers(0, 2, 50)
    model = Perceptron(max_iter=3).fit(X, y)
    assert model.coef_.dtype == np.float32
    assert np.array_equal(model.coef_, Perceptron(max_iter=3).fit(X.astype(np.float32), y).coef_)


def test_frames_of_pandas_and_polars_learn_as_arrays_and_keep_their_names(rng):
    X, y = whole_numbers(rng, 50, 3, 2)
    labels = np.where(y, "spam", "ham")
    expected = Perceptron(max_iter=3).fit(X, labels)
    for frame, series in (
        (pd.DataFrame(X, columns=["a", "b", "c"]), pd.Series(labels)),
        (pl.DataFrame(X, schema=["a", "b", "c"]), pl.Series(labels)),
        (pd.DataFrame(X, columns=["a", "b", "c"]).astype(int), pd.Series(labels, dtype="category")),
    ):
        model = Perceptron(max_iter=3).fit(frame, series)
        assert np.array_equal(model.coef_, expected.coef_)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        assert model.predict(frame).tolist() == expected.predict(X).tolist()
    assert Perceptron(max_iter=3).fit(pd.DataFrame(X.astype(np.float32)), labels).coef_.dtype == np.float32


@pytest.mark.parametrize(
    "names",
    [[0, 1], [-1, 1], [1.0, 2.0], [False, True], ["a", "b"], [10**15, 2 * 10**15], [np.uint8(3), np.uint8(200)]],
)
def test_any_two_labels_will_do_and_come_back_as_they_were(names, rng):
    X, y = whole_numbers(rng, 40, 4, 2)
    labels = np.array(names)[y]
    model = Perceptron(max_iter=3).fit(X, labels)
    assert model.classes_.tolist() == sorted(names)
    assert model.classes_.dtype == labels.dtype
    assert np.array_equal(model.coef_, Perceptron(max_iter=3).fit(X, y).coef_)
    assert set(model.predict(X).tolist()) <= set(names)


def test_a_single_class_is_a_clear_error():
    with pytest.raises(ValueError, match="only one class, 'ham'"):
        Perceptron().fit([[1.0], [2.0]], ["ham", "ham"])


def test_classes_are_sorted_in_whatever_order_they_come(rng):
    X, y = whole_numbers(rng, 40, 4, 3)
    names = np.array(["b", "c", "a"])[y]
    model = Perceptron().partial_fit(X[names == "c"], names[names == "c"])
    model.partial_fit(X, names)
    assert model.classes_.tolist() == ["a", "b", "c"]


def test_every_epoch_has_a_fresh_order():
    rng = np.random.default_rng(0)
    orders = [shuffled(100, rng) for _ in range(5)]
    assert len({tuple(order) for order in orders}) == 5
    second_by_repeating_the_first = orders[0][orders[0]]
    assert not np.array_equal(second_by_repeating_the_first, orders[1])


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 1023, 1024, 1025, 5000, 100_000])
def test_an_order_visits_every_example_once(n):
    order = shuffled(n, np.random.default_rng(n))
    assert np.array_equal(np.sort(order), np.arange(n))


def test_up_to_a_group_the_order_is_uniform():
    rng = np.random.default_rng(0)
    firsts = np.bincount([shuffled(4, rng)[0] for _ in range(4000)], minlength=4)
    assert np.abs(firsts - 1000).max() < 120
    pairs = {tuple(shuffled(3, rng)) for _ in range(200)}
    assert len(pairs) == 6


def test_sorted_data_are_mixed_within_every_group():
    n = 64 * GROUP
    order = shuffled(n, np.random.default_rng(1))
    sorted_labels = (np.arange(n) >= n // 2)[order]
    shares = sorted_labels.reshape(-1, GROUP).mean(axis=1)
    assert shares.min() > 0.2
    assert shares.max() < 0.8
    assert RUN * 64 == GROUP


def test_the_same_seed_gives_the_same_bits_and_another_does_not(rng):
    X, y = gaussian(rng, 300, 6, 3)
    for combine in ("average", "last", "vote", "pocket"):
        one, same, other = (
            Perceptron(combine=combine, max_iter=3, tol=None, random_state=s).fit(X, y) for s in (5, 5, 6)
        )
        assert np.array_equal(one.decision_function(X), same.decision_function(X))
        assert not np.array_equal(one.coef_last_, other.coef_last_)


def test_numpy_random_is_neither_read_nor_changed(rng):
    X, y = gaussian(rng, 100, 3, 2)
    np.random.seed(0)  # noqa: NPY002 (the global state is what is tested)
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    Perceptron(max_iter=3, init="random").fit(X, y)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_random_state_none_differs_from_run_to_run(rng):
    X, y = gaussian(rng, 300, 3, 2)
    runs = {Perceptron(max_iter=2, tol=None, random_state=None).fit(X, y).coef_.tobytes() for _ in range(4)}
    assert len(runs) > 1


def test_updates_are_counted_not_epochs_times_examples(rng):
    X, y = gaussian(rng, 100, 3, 2)
    model = rosenblatt(max_iter=4, tol=None).fit(X, y)
    assert model.n_updates_ == model.mistakes_.sum() < 400
    assert model.t_ == 400


def test_the_update_counts_the_feature_value_not_its_presence():
    model = rosenblatt(combine="last", max_iter=1, shuffle=False, tol=None).fit([[2.5], [-1.0]], [1, 0])
    assert model.coef_[0, 0] == 2.5


def test_learning_is_online_not_batch():
    X, y = np.ones((5, 1)), [1, 1, 1, 1, 0]
    model = Perceptron(combine="last", fit_intercept=False, shuffle=False, max_iter=1, tol=None).fit(X, y)
    assert model.mistakes_.tolist() == [2]


def test_code_for_scikit_learns_perceptron_runs_with_the_import_changed(rng):
    X, y = gaussian(rng, 200, 4, 3)
    shared = {
        "fit_intercept": True,
        "max_iter": 50,
        "tol": 1e-3,
        "shuffle": True,
        "verbose": 0,
        "eta0": 1.0,
        "n_jobs": -1,
        "random_state": 3,
        "early_stopping": True,
        "validation_fraction": 0.2,
        "n_iter_no_change": 4,
        "class_weight": "balanced",
        "warm_start": False,
    }
    for estimator in (SklearnPerceptron, Perceptron):
        model = estimator(**shared).fit(X, y, coef_init=np.zeros((3, 4)), intercept_init=np.zeros(3))
        model.set_params(class_weight=None).partial_fit(X, y, classes=[0, 1, 2], sample_weight=np.ones(200))
        assert model.coef_.shape == (3, 4)
        assert model.intercept_.shape == (3,)
        assert model.decision_function(X).shape == (200, 3)
        assert model.score(X, y) > 0.5
        assert model.n_iter_ >= 1


@pytest.mark.slow
def test_without_the_compiler_the_same_weights_are_learned(rng):
    code = """
import numpy as np, scipy.sparse as sp
from perceptrons import Perceptron
rng = np.random.default_rng(3)
X = rng.integers(-3, 4, (30, 4)).astype(float)
for k in (2, 3):
    y = rng.integers(0, k, 30)
    for combine in ("average", "vote", "pocket"):
        for data in (X, sp.csr_matrix(X)):
            model = Perceptron(combine=combine, max_iter=3, tol=None).fit(data, y, sample_weight=1 + np.arange(30) % 2)
            print(model.coef_last_.tolist(), model.coef_average_.round(9).tolist(), model.predict(X).tolist())
    model = Perceptron(max_iter=3, tol=None).fit(rng.integers(-3, 4, (200, 4)).astype(float), np.arange(200) % 160)
    print(model.coef_last_.tolist())
"""
    import os

    outputs = []
    for off in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert run.returncode == 0, run.stderr
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 500
