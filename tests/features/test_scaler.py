"""RunningScaler: against the definition, the same by every door, and before a model in a stream."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from perceptrons import Perceptron
from perceptrons.features import RunningScaler
from perceptrons.online import progressive
from tests.reference.scaling import moments, scaled

WINDOWS = [None, 2, 7.5, 1000]


@pytest.fixture(name="X")
def mixed(rng):
    """Features on different scales, one far from 0, one that drifts, one constant."""
    X = rng.standard_normal((80, 5)) * [1, 1e-6, 1e5, 1, 0] + [0, 0, 1e8, 0, 3.3]
    X[:, 3] += np.linspace(0, 50, 80)
    return X


def one_by_one(scaler, rows):
    return [scaler.learn_one(x).transform_one(x) for x in rows]


def dicts(X):
    return [{f"f{j}": value for j, value in enumerate(x)} for x in X.tolist()]


@parametrize_with_checks([RunningScaler(), RunningScaler(window=None)])
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


@pytest.mark.parametrize("window", WINDOWS)
def test_mean_and_variance_are_those_of_the_definition(X, window):
    scaler = RunningScaler(window).fit(X)
    mean, variance = zip(*(moments(column, window) for column in X.T), strict=True)
    assert_allclose(scaler.mean_, mean, rtol=1e-12, atol=1e-18)
    assert_allclose(scaler.var_, variance, rtol=1e-6, atol=1e-15)
    if window is None:
        other = StandardScaler().fit(X)
        assert_allclose(scaler.transform(X), other.transform(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("window", WINDOWS)
def test_each_example_is_scaled_by_those_up_to_it(X, window):
    expected = scaled(X, window)
    assert_allclose(one_by_one(RunningScaler(window), X), expected, rtol=1e-6, atol=1e-7)
    assert_allclose(one_by_one(RunningScaler(window), X.tolist()), expected, rtol=1e-6, atol=1e-7)
    found = [list(x.values()) for x in one_by_one(RunningScaler(window), dicts(X))]
    assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    if window is not None:
        assert np.abs(found).max() <= np.sqrt(window)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("window", WINDOWS)
def test_blocks_of_any_size_rows_and_dicts_give_the_same_bits(X, window, dtype):
    X = X.astype(dtype)
    whole, blocks, rows, named = (RunningScaler(window) for _ in range(4))
    whole.fit(X)
    for part in np.array_split(X, [1, 2, 30, 31]):
        blocks.partial_fit(part)
    for x in X:
        rows.learn_one(x)
        named.learn_one(dict(enumerate_names(x.tolist())))
    for other in (blocks, rows):
        assert np.array_equal(other.mean_, whole.mean_)
        assert np.array_equal(other.var_, whole.var_)
        assert other.n_samples_seen_ == 80
    assert list(named.mean_.values()) == whole.mean_.tolist()
    assert list(named.var_.values()) == whole.var_.tolist()
    Z = whole.transform(X)
    assert Z.dtype == dtype
    for x, z in zip(X, Z, strict=True):
        assert np.array_equal(rows.transform_one(x), z)
        assert rows.transform_one(x).dtype == dtype
        if dtype == np.float64:
            assert list(named.transform_one(dict(enumerate_names(x.tolist()))).values()) == z.tolist()


def enumerate_names(x):
    return ((f"f{j}", value) for j, value in enumerate(x))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows_are_divided_by_the_deviation_of_the_full_rows(rng, window, index):
    X = rng.standard_normal((60, 9)) * (rng.random((60, 9)) < 0.15)
    X[:, 7] = 0
    X[:50, 8] = 0  # comes late
    S = sp.csr_matrix(X)
    S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
    dense, sparse = RunningScaler(window).fit(X), RunningScaler(window)
    for start in range(0, 60, 7):
        sparse.partial_fit(S[start : start + 7])
    assert_allclose(sparse.mean_, dense.mean_, rtol=1e-10, atol=1e-15)
    assert_allclose(sparse.var_, dense.var_, rtol=1e-10, atol=1e-15)
    Z, deviation = sparse.transform(S), np.sqrt(dense.var_)
    assert sp.issparse(Z)
    assert Z.nnz == S.nnz
    assert_allclose(Z.toarray(), X / np.where(deviation > 0, deviation, 1), rtol=1e-10)
    doubled = sp.csr_matrix((np.ones(2), np.array([3, 3]), np.array([0, 2])), shape=(1, 9))
    assert_allclose(sparse.transform(doubled).toarray()[0, 3], 2 / deviation[3], rtol=1e-10)
    sparse.partial_fit(X)  # dense rows after sparse ones
    assert_allclose(sparse.var_, RunningScaler(window).fit(np.vstack([X, X])).var_, rtol=1e-10, atol=1e-15)


def test_features_of_dicts_come_and_go():
    scaler = RunningScaler(window=None)
    assert scaler.transform_one({"a": 5.0}) == {"a": 0.0}
    for x in ({"a": 1.0, "city": "Bonn"}, {"b": 10}, {"a": 3.0, "b": 20, "c": True}):
        scaler.learn_one(x)
    assert scaler.mean_ == {"a": 2.0, "b": 15.0, "c": 1.0}  # a dict without a feature says nothing about it
    assert scaler.var_ == {"a": 1.0, "b": 25.0, "c": 0.0}
    assert scaler.n_samples_seen_ == 3
    found = scaler.transform_one({"city": "Rome", "new": 7.0, "b": 10, "c": 3})
    assert found == {"city": "Rome", "new": 0.0, "b": -1.0, "c": 2.0}
    assert list(found) == ["city", "new", "b", "c"]
    for j in range(100):
        scaler.learn_one({f"x{j}": float(j)})
    assert scaler.mean_["x99"] == 99.0


def test_inputs_are_never_changed(X, rng):
    before, x = X.copy(), {"a": 1.0, "b": 2.0}
    RunningScaler().fit(X).transform(X)
    one_by_one(RunningScaler(), [x, x])
    assert np.array_equal(X, before)
    assert x == {"a": 1.0, "b": 2.0}


def test_names_of_a_frame_are_kept(X):
    frame = pd.DataFrame(X, columns=list("abcde"))
    scaler = RunningScaler().fit(frame)
    assert scaler.get_feature_names_out().tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names should match"):
        scaler.transform(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda s, X: s.fit(X).learn_one({"a": 1.0}), "was fitted on rows of numbers,"),
        (lambda s, X: s.learn_one({"a": 1.0}).partial_fit(X), "was fitted on dicts"),
        (lambda s, X: s.learn_one({"a": 1.0}).learn_one({"a": np.nan}), "'a' is nan"),
        (lambda s, X: s.learn_one({"a": np.inf}), "'a' is inf"),
        (lambda s, X: s.fit(X).learn_one([1.0, 2.0]), "2 features"),
        (lambda s, X: s.fit(X).learn_one([np.nan] * 5), "NaN"),
        (lambda s, X: s.fit(X).transform_one([np.nan] * 5), "NaN"),
        (lambda s, X: s.set_params(window=1).fit(X), "window must be a number"),
        (lambda s, X: s.set_params(window="auto").learn_one({"a": 1.0}), "window must be a number"),
    ],
)
def test_errors_say_what_is_wrong(X, work, message):
    with pytest.raises(ValueError, match=message):
        work(RunningScaler(), X)


def test_a_refused_example_changes_nothing():
    scaler = RunningScaler().learn_one({"a": 1.0, "b": 2.0})
    with pytest.raises(ValueError, match="'b' is nan"):
        scaler.learn_one({"a": 5.0, "b": np.nan})
    assert (scaler.mean_, scaler.n_samples_seen_) == ({"a": 1.0, "b": 2.0}, 1)


def test_over_very_many_examples_nothing_drifts():
    X = np.tile([[1e6], [1e6 + 1]], (200_000, 1))
    for window in (None, 1e5):
        scaler = RunningScaler(window).fit(X)
        assert_allclose(scaler.mean_, [1e6 + 0.5], rtol=1e-10)
        assert_allclose(scaler.var_, [0.25], rtol=1e-3)


def test_progressive_scales_before_the_model_predicts(rng):
    """As by hand: the scaler counts x, then the model predicts and learns what it makes of x."""
    X = rng.standard_normal((300, 4)) * [1, 1e4, 1e-3, 1] + 7
    y = (X[:, 0] - 7 > 1e3 * (X[:, 2] - 7e0)).astype(int)
    stream = list(zip(dicts(X), y.tolist(), strict=True))
    told = progressive(model := Perceptron(), stream, scaler=RunningScaler())
    scaler, by_hand, mistakes = RunningScaler(), Perceptron(), 0
    for i, (x, label) in enumerate(stream):
        z = scaler.learn_one(x).transform_one(x)
        mistakes += i == 0 or by_hand.predict_one(z) != label
        by_hand.learn_one(z, label)
    assert told.mistakes == mistakes
    assert np.array_equal(model.coef_, by_hand.coef_)
    assert told.mistakes < progressive(Perceptron(), stream).mistakes


def test_the_comparator_is_given_the_examples_as_they_come(rng):
    X = rng.standard_normal((100, 3)) * [1, 100, 1] + [0, 50, 0]
    y = (X[:, 0] > 0).astype(int)
    best = make_pipeline(StandardScaler(), Perceptron()).fit(X, y)

    class Fixed:
        predict_one = staticmethod(lambda x: best.predict([x])[0])

    told = progressive(Perceptron(), zip(X.tolist(), y.tolist(), strict=True), Fixed(), RunningScaler())
    assert told.comparator_mistakes == (best.predict(X) != y).sum()


def test_a_pipeline_learns_from_scaled_examples(X, rng):
    y = (X[:, 0] > 0).astype(int)
    model = clone(make_pipeline(RunningScaler(window=None), Perceptron())).fit(X, y)
    assert_allclose(
        model.decision_function(X),
        make_pipeline(StandardScaler(), Perceptron()).fit(X, y).decision_function(X),
        rtol=1e-3,
    )
