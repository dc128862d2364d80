"""Bad kernels, matrices, parameters and arrays: errors that say what, where and what to do."""

import os
import signal
import tracemalloc
from contextlib import suppress

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context

from perceptrons import KernelPerceptron

X = np.random.default_rng(0).standard_normal((60, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
K = X @ X.T


def changed(matrix, row, column, value):
    matrix = matrix.copy()
    matrix[row, column] = value
    return matrix


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"kernel": "gauss"}, "kernel must be one of 'linear', 'poly', 'rbf'"),
        ({"kernel": None}, "or a function of two blocks"),
        ({"gamma": 0}, "gamma must be a number above 0 or one of 'scale', 'auto'"),
        ({"gamma": np.nan}, "gamma must be a number above 0"),
        ({"gamma": "big"}, "gamma must be"),
        ({"degree": 0}, "degree must be a whole number between 1 and 1000"),
        ({"degree": 2.5}, "degree must be a whole number"),
        ({"coef0": np.inf}, "coef0 must be a number"),
        ({"combine": "pocket"}, "combine must be one of 'average', 'last', 'vote'"),
        ({"multiclass": "ovo"}, "multiclass must be one of 'joint', 'ovr'"),
        ({"budget": 0}, "budget must be a whole number between 1 and"),
        ({"on_full": "stop"}, "on_full must be one of 'remove_random'"),
        ({"cache_size": -1}, "cache_size must be a number of at least 0"),
        ({"budget": 5, "combine": "vote"}, "a budget removes their support vectors."),
        ({"budget": 5, "on_full": "project", "kernel": "sigmoid"}, "not positive definite"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, said):
    with pytest.raises(ValueError, match=said):
        KernelPerceptron(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (K[:, :50], r"a square matrix, but X has shape \(60, 50\)"),
        (changed(K, 3, 5, 99.0), r"not symmetric: K\[3, 5\] = 99, but K\[5, 3\]"),
        (changed(K, 2, 2, np.nan), "NaN at row 2, column 2"),
    ],
)
def test_a_precomputed_matrix_that_is_no_kernel_is_refused(matrix, said):
    with pytest.raises(ValueError, match=said):
        KernelPerceptron(kernel="precomputed").fit(matrix, Y)


def test_a_large_precomputed_matrix_is_checked_to_its_end(rng):
    large = rng.standard_normal((1100, 3))
    matrix = changed(large @ large.T, 1090, 1095, 50.0)
    with pytest.raises(ValueError, match=r"K\[1090, 1095\] = 50"):
        KernelPerceptron(kernel="precomputed").fit(matrix, np.arange(1100) % 2)


def test_precomputed_kernels_know_the_training_examples_only():
    model = KernelPerceptron(kernel="precomputed").fit(K, Y)
    with pytest.raises(ValueError, match="needs one column per training example"):
        model.predict(K[:, :50])
    with pytest.raises(TypeError, match="toarray"):
        KernelPerceptron(kernel="precomputed").fit(sp.csr_matrix(K), Y)
    for learn in (lambda m: m.partial_fit(K, Y), lambda m: m.learn_one(K[0], 1)):
        with pytest.raises(AttributeError, match="has no attribute") as found:
            learn(KernelPerceptron(kernel="precomputed"))
        assert "kernel values between new and old examples," in str(found.value.__cause__)
    with pytest.raises(AttributeError, match="indices: use support_"):
        model.support_vectors_  # noqa: B018 (reading is what fails)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda A, B: np.ones(3), r"returned shape \(3,\)"),
        (lambda A, B: 1.0, r"returned shape \(\)"),
        (lambda A, B: B[:5] @ A.T, r"one value per pair."),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "returned nan for example 0"),
        (lambda A, B: np.full((len(A), len(B)), "a"), "real numbers"),
        (lambda A, B: A @ B.T + 0j, "real numbers"),
        (lambda A, B: A @ np.triu(np.ones((4, 4))) @ B.T, "not symmetric"),
    ],
    ids=["vector", "number", "transposed", "nan", "text", "complex", "one way"],
)
@pytest.mark.parametrize("budget", [None, 20])
def test_a_function_that_is_no_kernel_is_refused(function, said, budget):
    with pytest.raises(ValueError, match=said):
        KernelPerceptron(kernel=function, budget=budget).fit(X, Y)
    with pytest.raises(ValueError, match=said):
        KernelPerceptron(kernel=function, budget=budget).partial_fit(X, Y)


def test_an_error_in_the_users_function_comes_through():
    with pytest.raises(ZeroDivisionError):
        KernelPerceptron(kernel=lambda A, B: 1 / 0).fit(X, Y)


@pytest.mark.parametrize("budget", [None, 20])
def test_kernel_values_that_overflow_are_refused_and_not_learned_from(budget):
    small, large = (X.astype(np.float32), (1e8 * X).astype(np.float32))
    model = KernelPerceptron(kernel="poly", degree=9, gamma=1.0, budget=budget).partial_fit(small, Y)
    before = model.dual_coef_last_, model.t_
    with pytest.raises(ValueError, match=r"too large for float32.*give X as float64"):
        model.partial_fit(large, 1 - Y)
    assert np.array_equal(model.dual_coef_last_, before[0])
    assert model.t_ == before[1]
    with pytest.raises(ValueError, match="too large for float32"):
        model.predict(large)
    with pytest.raises(ValueError, match="too large for float32"):
        KernelPerceptron(kernel="poly", degree=9, gamma=1.0, budget=budget).fit(large, Y)


def test_a_kernel_that_is_not_positive_definite_cannot_be_projected_on():
    def odd(A, B):
        return -(A @ B.T)

    with pytest.raises(ValueError, match="needs a positive definite kernel, but"):
        KernelPerceptron(kernel=odd, budget=20, on_full="project").fit(X, Y)


def test_labels_are_checked_as_everywhere():
    for y, said in ((np.ones(60), "only one class"), (None, "y is None"), (np.eye(2)[Y], "OneVsRestClassifier")):
        with pytest.raises(ValueError, match=said):
            KernelPerceptron().fit(X, y)
    with pytest.raises(ValueError, match="balanced"):
        KernelPerceptron(class_weight="balanced").partial_fit(X, Y)


def test_a_model_cannot_change_its_kernel_halfway():
    model = KernelPerceptron(kernel="poly", gamma=0.5).partial_fit(X, Y)
    for name, value in (("kernel", "rbf"), ("gamma", 0.7), ("degree", 4), ("coef0", 2.0), ("budget", 9)):
        before = getattr(model, name)
        with pytest.raises(ValueError, match=f"created with {name}="):
            model.set_params(**{name: value}).partial_fit(X, Y)
        model.set_params(**{name: before})
    model.partial_fit(X, Y)


def test_distances_far_from_the_origin_keep_their_digits_in_float32():
    near, far = X.astype(np.float32), (X + 1e4).astype(np.float32)
    assert KernelPerceptron(gamma=0.3).fit(far, Y).score(far, Y) == KernelPerceptron(gamma=0.3).fit(near, Y).score(
        near, Y
    )


def test_tensors_are_checked_as_arrays_are():
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(X)
    with pytest.raises(ValueError, match="NaN at row 2, column 1"):
        KernelPerceptron().fit(torch.from_numpy(changed(X, 2, 1, np.nan)), Y)
    with pytest.raises(ValueError, match="Expected 2D array"):
        KernelPerceptron().fit(tensor[0], Y)
    with pytest.raises(ValueError, match="Complex data"):
        KernelPerceptron().fit(tensor + 0j, Y)
    with pytest.raises(TypeError, match="to_dense"):
        KernelPerceptron().fit(tensor.to_sparse(), Y)
    with pytest.raises(ValueError, match="expecting 4 features"):
        KernelPerceptron().fit(tensor, Y).predict(tensor[:, :2])


def test_arrays_of_any_library_are_checked_as_arrays_of_numpy_are():
    array = array_api_strict.asarray
    with pytest.raises(ValueError, match="NaN at row 2, column 1"):
        KernelPerceptron().fit(array(changed(X, 2, 1, np.nan)), Y)
    with pytest.raises(ValueError, match="Expected 2D array"):
        KernelPerceptron().fit(array(X[0]), Y)
    with pytest.raises(ValueError, match="Complex data"):
        KernelPerceptron().fit(array(X + 0j), Y)
    with pytest.raises(ValueError, match="0 sample"):
        KernelPerceptron().fit(array(X[:0]), Y[:0])
    model = KernelPerceptron().fit(array(X), Y)
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(array(X[:, :2]))


def test_a_model_follows_x_from_one_library_to_another():
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(X)
    here, there = KernelPerceptron().fit(X, Y), KernelPerceptron().fit(tensor, torch.from_numpy(Y))
    for model in (here, there):
        assert isinstance(model.predict(tensor), torch.Tensor)
        assert isinstance(model.predict(X), np.ndarray)
        np.testing.assert_allclose(model.decision_function(tensor).numpy(), model.decision_function(sp.csr_matrix(X)))
    named = KernelPerceptron().fit(tensor, np.where(Y, "yes", "no")).predict(tensor)
    assert set(named.tolist()) <= {"yes", "no"}
    assert KernelPerceptron().fit(tensor.requires_grad_(), Y).decision_function(tensor).requires_grad is False
    assert there.partial_fit(X, Y).t_ > here.t_


def test_where_scikit_learn_dispatches_its_convention_holds():
    model = KernelPerceptron().fit(array_api_strict.asarray(X), Y)
    with config_context(array_api_dispatch=True), pytest.raises(ValueError, match="must use the same namespace"):
        model.predict(X)
    assert model.predict(X).shape == (60,)


@pytest.mark.parametrize("on_full", ["remove_random", "forget_oldest", "project"])
def test_a_shorter_training_set_of_the_same_rows_leaves_no_row_behind(on_full):
    model = KernelPerceptron(budget=20, on_full=on_full, max_iter=3, tol=None, warm_start=True).fit(X, Y)
    assert (model.fit(X[:25], Y[:25]).support_ < 25).all()
    rows = model.support_ >= 0
    assert np.array_equal(model.support_vectors_[rows], X[model.support_[rows]])
    assert model.fit(X, Y).n_support_ <= 20


def test_a_block_far_from_those_before_it_keeps_its_digits_in_float32():
    near, far = X[:30].astype(np.float32), (X[30:] + 1000).astype(np.float32)
    single, double = KernelPerceptron(gamma=1.0), KernelPerceptron(gamma=1.0)
    for block, y in ((near, Y[:30]), (far, Y[30:])):
        single.partial_fit(block, y)
        double.partial_fit(block.astype(np.float64), y)
    np.testing.assert_allclose(single.decision_function(far), double.decision_function(far.astype(float)), atol=1e-5)


def test_a_change_in_sorted_data_does_not_ask_for_all_kernel_values_at_once(rng):
    wide = rng.standard_normal((21_660, 4))
    wide[6660:, 0] += 12
    tracemalloc.start()
    with pytest.warns(UserWarning, match="sorted by label"):
        model = KernelPerceptron(gamma=0.01).partial_fit(wide, np.repeat([0, 1], [6660, 15_000]))
    assert tracemalloc.get_traced_memory()[1] < 300e6
    tracemalloc.stop()
    assert model.n_updates_ < 10


@pytest.mark.parametrize("cache_size", [0, 20])
def test_a_fit_takes_what_is_stated_and_no_square_matrix(cache_size, rng):
    wide = rng.standard_normal((6000, 20)).astype(np.float32)  # all values: 144 MB
    y = (np.sin(wide[:, 0]) * wide[:, 1] > 0).astype(int)
    model = KernelPerceptron(max_iter=2, cache_size=cache_size)
    model.fit(wide[:100], y[:100])  # compiled
    tracemalloc.start()
    model.fit(wide, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = 2 * model.n_support_ * (20 * 4 + 8 + 16) + 2 * 48 * model.n_updates_
    assert peak < cache_size * 2**20 + held + 32 * 6000 + 64e6 + 16 * 2**20
    assert model.n_support_ > 1000


@pytest.mark.parametrize("options", [{}, {"budget": 8, "on_full": "remove_random"}])
def test_a_feature_that_comes_without_a_mistake_widens_the_support_too(options):
    import pandas as pd

    model = KernelPerceptron(gamma=0.5, combine="last", **options).fit(pd.DataFrame(X, columns=list("abcd")), Y)
    known = dict(zip("abcd", X[0], strict=True))
    model.learn_one({**known, "z": 1e-9}, int(model.predict_one(known)))
    assert model.n_features_in_ == 5
    wrong = 1 - int(model.predict_one(np.full(5, 9.0)))
    assert model.learn_one(np.full(5, 9.0), wrong).predict_one(np.full(5, 9.0)) == wrong
    assert model.support_vectors_.shape == (model.n_support_, 5)


def test_a_call_that_fails_leaves_what_was_there():
    fresh = KernelPerceptron(kernel="poly", degree=100, gamma=1.0)
    with pytest.raises(ValueError, match="too large"):
        fresh.partial_fit((X * 100).astype(np.float32), Y)
    assert not hasattr(fresh, "classes_")
    assert fresh.partial_fit(X[:, :2], Y).n_features_in_ == 2
    model = KernelPerceptron().fit(X, Y)
    score, support = model.score(X, Y), model.n_support_
    with pytest.raises(ValueError, match="too large"):
        model.set_params(kernel="poly", degree=100, gamma=1.0).fit(X * 100, Y)
    assert (model.set_params(kernel="rbf").score(X, Y), model.n_support_) == (score, support)


def test_any_error_of_a_kernel_is_told_as_a_failure():
    calls = []

    def failing(A, B):
        calls.append(0)
        if len(calls) > 3:
            raise RuntimeError("no more")
        return (A @ B.T + 1) ** 2

    model = KernelPerceptron(kernel=failing)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(np.tile(X, (10, 1)), np.tile(Y, 10))
    assert model.stop_reason_ == "failed"
    assert model.dual_coef_last_.shape[1] == len(model.support_vectors_) == model.n_support_


def test_a_users_function_can_change_neither_data_nor_model():
    def greedy(A, B):
        B *= 2
        return A @ B.T

    with pytest.raises(ValueError, match="read-only"):
        KernelPerceptron(kernel=greedy).fit(X.copy(), Y)
    model = KernelPerceptron().fit(X, Y)
    model.classes_[0] = 99
    assert set(model.predict(X).tolist()) == {0, 1}


def test_constant_data_have_no_spread_and_gamma_is_one():
    assert KernelPerceptron().fit(np.full((10, 3), 0.1), [0, 1] * 5).gamma_ == 1.0
    assert KernelPerceptron().learn_one([0.1, 0.1, 0.1], 0).gamma_ == 1.0
    sparse = sp.csr_matrix(X)
    assert KernelPerceptron().fit(sparse, Y).gamma_ == pytest.approx(1 / (4 * X.var()))


def test_a_start_that_nobody_contradicts_has_all_votes():
    model = KernelPerceptron(combine="vote").partial_fit(X[:5], [0] * 5, classes=[0, 1, 2])
    assert model.decision_function(X[:1]).tolist() == [[1.0, 0.0, 0.0]]


def test_gradients_end_at_the_kernel():
    torch = pytest.importorskip("torch")
    width = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))
    tensor = torch.from_numpy(X)
    model = KernelPerceptron(kernel=lambda A, B: torch.exp(-width * torch.cdist(A, B) ** 2)).fit(tensor, Y)
    assert not model.decision_function(tensor).requires_grad
    assert model.learn_one(tensor[0], torch.tensor(1)).t_ > 60


@pytest.mark.parametrize("budget", [None, 8])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_interrupt_while_learning_one_example_waits_until_all_is_in_order(budget, at):
    left = []

    def interrupting(A, B):
        if left and left.pop() == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return (A @ B.T + 1) ** 2

    model = KernelPerceptron(kernel=interrupting, budget=budget).partial_fit(X[:30], Y[:30], classes=[0, 1])
    wrong = 1 - int(model.predict(X[30:31])[0])
    left[:] = [1] + [0] * (at - 1)
    with suppress(KeyboardInterrupt):  # a later call of the kernel may not come
        model.learn_one(X[30], wrong)
    left.clear()
    assert model.t_ == 31
    assert model.dual_coef_last_.shape[1] == len(model.support_vectors_) == model.n_support_ == len(model.support_)
    assert np.isfinite(model.decision_function(X)).all()
