"""`KernelPerceptron` beside the slow, obvious reference: the same coefficient for every support example (spec 7)."""

import numpy as np
import pytest

from perceptrons import KernelPerceptron
from tests.conftest import LAYOUTS, as_csr, gaussian, whole_numbers
from tests.reference import kernel as reference
from tests.support.kernels import (
    NAMED,
    NUMBERS,
    RULES,
    assert_same_coefficients,
    assert_same_counts,
    assert_same_run,
    assert_same_scores,
    assert_same_support,
    clear_case,
    inverse_distance,
    inverse_distances,
    numpy_of,
    options,
    run_of,
    sparse_gaussian,
)
from tests.support.lecture import rosenblatt

rules = pytest.mark.parametrize("rule", RULES)


def new_rows(kernel, X, rng):
    """New rows like those of X, and their kernel with X; none of zeros, where a sigmoid's scores cancel to rounding."""
    T = sparse_gaussian(rng, 25, X.shape[1], 2)[0].astype(X.dtype)[4:]
    return T, reference.gram(kernel, T, X, **NUMBERS)


# ---- every kernel, every rule


@rules
@pytest.mark.parametrize("name", NAMED)
def test_every_kernel_gives_the_coefficients_of_the_reference(name, rule, form, dtype, rng):
    X, y, _, run = clear_case(rule, name, 60, dtype=dtype)
    model = KernelPerceptron(kernel=name, max_iter=3, **options(rule)).fit(form(X), y)
    assert_same_run(model, run)
    np.testing.assert_array_equal(numpy_of(model.support_vectors_), X[run.held])
    T, K = new_rows(name, X, rng)
    assert_same_scores(model, run, form(T), K, dtype)


@rules
def test_a_precomputed_kernel_gives_the_coefficients_of_the_reference(rule, dtype, rng):
    X, y, K, run = clear_case(rule, "laplacian", 60, dtype=dtype)
    model = KernelPerceptron(kernel="precomputed", max_iter=3, **options(rule)).fit(K.astype(dtype), y)
    assert_same_run(model, run)
    _, K = new_rows("laplacian", X, rng)
    assert_same_scores(model, run, K.astype(dtype), K, dtype)


@rules
def test_any_function_may_be_the_kernel(rule, dtype, rng):
    X, y, _, run = clear_case(rule, inverse_distance, 60, dtype=dtype)
    model = KernelPerceptron(kernel=inverse_distances, max_iter=3, **options(rule)).fit(X, y)
    assert_same_run(model, run)
    T, K = new_rows(inverse_distance, X, rng)
    assert_same_scores(model, run, T, K, dtype)


@pytest.mark.parametrize("numbers", [(1, 0.0, 2.0), (2, 1.0, 0.5), (5, -0.25, 0.125)])
def test_polynomials_of_every_degree_and_constant(numbers):
    degree, coef0, gamma = numbers
    X, y = sparse_gaussian(np.random.default_rng(1), 60, 5, 2)
    given = {"gamma": gamma, "degree": degree, "coef0": coef0}
    run = run_of("two", reference.gram("poly", X, X, **given), y, 3)
    assert run.closest > 1e-11
    assert_same_run(KernelPerceptron(kernel="poly", max_iter=3, **options("two", **given)).fit(X, y), run)


@pytest.mark.parametrize("form", ["dense", "csr32", "csr64"])
@pytest.mark.parametrize(
    ("gamma", "wanted"), [("scale", lambda X: 1 / (X.shape[1] * X.var())), ("auto", lambda X: 1 / 5)]
)
def test_gamma_is_fixed_by_the_first_data(gamma, wanted, form):
    X, y = sparse_gaussian(np.random.default_rng(2), 60, 5, 2)
    model = KernelPerceptron(max_iter=3, **options("two", gamma=gamma)).fit(LAYOUTS[form](X), y)
    np.testing.assert_allclose(model.gamma_, wanted(X), rtol=1e-12)
    run = run_of("two", reference.gram("rbf", X, X, gamma=wanted(X)), y, 3)
    assert run.closest > 1e-11
    assert_same_run(model, run)
    model.partial_fit(LAYOUTS[form](3 * X), y)
    np.testing.assert_allclose(model.gamma_, wanted(X), rtol=1e-12)


def test_gamma_of_constant_data_is_one():
    model = KernelPerceptron().partial_fit(np.ones((4, 3)), [0, 1, 0, 1])
    assert model.gamma_ == 1.0


# ---- sizes, epochs, steps, weights


@rules
@pytest.mark.parametrize("n", [4, 5, 17, 300])
def test_sizes_from_tiny_to_hundreds(n, rule):
    X, y, _, run = clear_case(rule, "rbf", n, epochs=12)
    assert_same_run(KernelPerceptron(max_iter=12, **options(rule)).fit(X, y), run)


def test_three_rows(rng):
    X, y = np.array([[0.0, 1.0], [1.0, 0.5], [0.5, 2.0]]), np.array([0, 1, 0])
    run = run_of("two", reference.gram("rbf", X, X, **NUMBERS), y, 50)
    model = KernelPerceptron(max_iter=50, **options("two")).fit(X, y)
    assert_same_run(model, run)
    assert (model.stop_reason_, model.converged_) == ("converged", True)
    T, K = new_rows("rbf", X, rng)
    assert_same_scores(model, run, T, K)


@pytest.mark.slow
@rules
@pytest.mark.parametrize("cache_size", [1e-3, 1000])
def test_thousands_of_rows(rule, cache_size, rng):
    X, y, _, run = clear_case(rule, "rbf", 3000, epochs=2, make=gaussian)
    model = KernelPerceptron(max_iter=2, cache_size=cache_size, **options(rule)).fit(X, y)
    assert_same_run(model, run)
    T, K = new_rows("rbf", X, rng)
    assert_same_scores(model, run, T, K)


@pytest.mark.slow
@rules
@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_thousands_of_sparse_rows(rule, kernel):
    X, y, _, run = clear_case(rule, kernel, 2100, 8, epochs=2)
    assert_same_run(KernelPerceptron(kernel=kernel, max_iter=2, **options(rule)).fit(as_csr(X), y), run)


@rules
@pytest.mark.parametrize("eta", [0.5, 4.0, 0.3])
def test_the_learning_rate_scales_every_coefficient(rule, eta):
    X, y, K, run = clear_case(rule, "rbf", 60, eta=eta)
    model = KernelPerceptron(max_iter=3, **options(rule, eta0=eta)).fit(X, y)
    assert model.support_.tolist() == run.held
    np.testing.assert_allclose(model.dual_coef_last_, run.alpha[:, run.held], rtol=1e-15 if eta != 0.3 else 1e-12)
    np.testing.assert_allclose(model.dual_coef_average_, run.average[:, run.held], rtol=1e-12, atol=1e-14)
    assert_same_counts(model, run)
    assert_same_scores(model, run, X, K)


WEIGHTS = {
    "whole": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "quarters": lambda rng, n: rng.integers(0, 12, n) / 4,
    "any": lambda rng, n: rng.uniform(0, 3, n) * (rng.random(n) < 0.8),
}


@rules
@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_are_visits_on_the_spot(rule, weights, form, rng):
    v = WEIGHTS[weights](rng, 80)
    X, y, K, run = clear_case(rule, "rbf", 80, weights=v)
    model = KernelPerceptron(max_iter=3, **options(rule)).fit(form(X), y, sample_weight=v)
    assert numpy_of(model.support_).tolist() == run.held
    np.testing.assert_allclose(model.dual_coef_last_, run.alpha[:, run.held], atol=0 if weights != "any" else 1e-13)
    np.testing.assert_allclose(model.dual_coef_average_, run.average[:, run.held], atol=1e-12)
    np.testing.assert_allclose(model.survival_counts_, run.survival_counts(), atol=1e-9)
    assert model.mistakes_.tolist() == run.mistakes
    np.testing.assert_allclose(model.t_, run.t)
    assert_same_scores(model, run, form(X), K)


@rules
def test_class_weights_multiply_sample_weights(rule, rng):
    v = rng.integers(0, 4, 80) / 2
    of_class = {0: 0.5, 1: 1.5, 2: 1, 3: 0}
    X, y, K, _ = clear_case(rule, "rbf", 80)
    run = run_of(rule, K, y, 3, weights=v * [of_class[c] for c in y])
    if rule == "two":
        of_class = {0: 0.5, 1: 1.5}
    model = KernelPerceptron(max_iter=3, **options(rule, class_weight=of_class)).fit(X, y, sample_weight=v)
    assert_same_run(model, run)


@rules
def test_last_average_and_vote_can_be_read_whatever_combine_was(rule):
    X, y, K, run = clear_case(rule, "rbf", 60)
    for combine in ("last", "average", "vote"):
        model = KernelPerceptron(max_iter=3, **options(rule, combine=combine)).fit(X, y)
        assert_same_run(model, run)
        assert_same_scores(model, run, X, K)
        model.combine = "last"
        np.testing.assert_array_equal(model.dual_coef_, model.dual_coef_last_)
        model.combine = "average"
        np.testing.assert_array_equal(model.dual_coef_, model.dual_coef_average_)
        model.combine = "vote"
        assert not hasattr(model, "dual_coef_")


@rules
@pytest.mark.parametrize("tol", [0.3, 0.05])
def test_tol_stops_when_the_averaged_function_moves_little(rule, tol):
    X, y, K, _ = clear_case(rule, "rbf", 60)
    machine = reference.Machine(K, RULES[rule][0], 1 if rule == "two" else 4)
    before, wanted = None, None
    for epoch in range(1, 200):
        machine.epoch(range(60), 2 * y - 1 if rule == "two" else y)
        now = machine.average
        norm = lambda a: np.sqrt(np.trace(a @ K @ a.T))  # noqa: E731
        if machine.mistakes[-1] == 0:
            wanted = ("converged", epoch)
        elif before is not None and norm(now - before) < tol * norm(now):
            wanted = ("tol", epoch)
        if wanted:
            break
        before = now
    for combine in ("average", "vote"):
        model = KernelPerceptron(**options(rule, tol=tol, combine=combine)).fit(X, y)
        assert (model.stop_reason_, model.n_iter_) == wanted
    last = KernelPerceptron(max_iter=200, **options(rule, tol=tol)).fit(X, y)
    assert last.stop_reason_ != "tol"


# ---- streams


@rules
@pytest.mark.parametrize("size", [1, 7, 64, 150])
def test_a_stream_in_any_blocks_is_one_epoch_in_order(rule, size, form):
    X, y, K, run = clear_case(rule, "rbf", 150, epochs=1)
    model = KernelPerceptron(**options(rule))
    for i in range(0, 150, size):
        model.partial_fit(form(X[i : i + size]), y[i : i + size], classes=np.unique(y))
    assert numpy_of(model.support_).tolist() == [-1] * len(run.held)
    np.testing.assert_array_equal(numpy_of(model.support_vectors_), X[run.held])
    assert_same_coefficients(model, run, X)
    assert_same_counts(model, run)
    assert_same_scores(model, run, form(X), K)


@rules
def test_one_example_after_the_other_is_one_epoch_in_order(rule):
    X, y, K, run = clear_case(rule, "rbf", 150, epochs=1)
    whole = KernelPerceptron(max_iter=1, **options(rule)).fit(X, y)
    assert_same_run(whole, run)
    model = KernelPerceptron(**options(rule)).partial_fit(X[:1], y[:1], classes=np.unique(y))
    for i in range(1, 150):
        model.learn_one(X[i] if i % 2 else X[i].tolist(), y[i])
    assert_same_coefficients(model, run, X)
    assert_same_counts(model, run)
    assert_same_scores(model, run, X, K)
    assert [model.predict_one(x) for x in X[:20]] == model.predict(X[:20]).tolist()


@pytest.mark.parametrize("name", NAMED)
def test_named_features_are_columns_and_new_ones_were_zero_before(name):
    X, y, _, run = clear_case("two", name, 60, epochs=1)
    X[:5, 3] = X[:12, 4] = 0
    run = run_of("two", reference.gram(name, X, X, **NUMBERS), y)
    assert run.closest > 1e-11
    model = KernelPerceptron(kernel=name, **options("two"))
    for x, label in zip(X, y, strict=True):
        model.learn_one({f"f{j}": value for j, value in enumerate(x) if value}, label)
    np.testing.assert_array_equal(numpy_of(model.dual_coef_last_), run.alpha[:, run.held])
    np.testing.assert_allclose(numpy_of(model.dual_coef_average_), run.average[:, run.held], atol=1e-12)
    places = [list(model.feature_names_in_).index(f"f{j}") for j in range(5)]
    np.testing.assert_array_equal(numpy_of(model.support_vectors_)[:, places], X[run.held])


@pytest.mark.parametrize("multiclass", ["ovr", "joint"])
@pytest.mark.parametrize("size", [1, 4, 30])
def test_new_classes_may_appear_in_a_stream(multiclass, size):
    rng = np.random.default_rng(4)
    X, y = sparse_gaussian(rng, 120, 5, 5)
    y = np.array(["m", "c", "x", "a", "p"])[np.minimum(y, rng.permuted(np.repeat(np.arange(5), 24)))]
    coming = {"m": 0, "x": 10, "c": 30, "p": 60, "a": 90}  # one class, two, then three and more
    y = np.array([label if i >= coming[label] else "m" for i, label in enumerate(y)])
    y[10] = "x"
    blocks = [range(i, min(i + size, 120)) for i in range(0, 120, size)]
    K = reference.gram("rbf", X, X, **NUMBERS)
    run, classes = reference.stream(K, y, blocks, getattr(reference, multiclass))
    assert run.closest > 1e-11
    assert len(classes) == 5
    model = KernelPerceptron(**options(multiclass))
    for block in blocks:
        model.learn_one(X[block[0]], y[block[0]]) if size == 1 else model.partial_fit(X[block], y[block])
    assert model.classes_.tolist() == classes
    assert_same_coefficients(model, run, X)
    assert model.n_updates_ == len(run.log)
    for combine in ("last", "average", "vote"):
        got = model.set_params(combine=combine).decision_function(X)
        np.testing.assert_allclose(got, run.scores(combine, K), atol=1e-9)


@pytest.mark.parametrize("shuffle", [False, True])
@rules
def test_three_epochs_twice_are_six(rule, shuffle, form):
    X, y, _, run = clear_case(rule, "rbf", 60, epochs=6)
    twice = KernelPerceptron(max_iter=3, warm_start=True, **options(rule) | {"shuffle": shuffle})
    twice.fit(form(X), y).fit(form(X), y)
    once = KernelPerceptron(max_iter=6, **options(rule) | {"shuffle": shuffle}).fit(form(X), y)
    if not shuffle:
        assert_same_support(twice, run)
        assert_same_counts(twice, run)
    assert numpy_of(twice.support_).tolist() == numpy_of(once.support_).tolist()
    for name in ("dual_coef_last_", "dual_coef_average_", "survival_counts_", "update_support_", "n_updates_", "t_"):
        np.testing.assert_allclose(numpy_of(getattr(twice, name)), numpy_of(getattr(once, name)), rtol=1e-13, atol=0)


# ---- the linear kernel is the perceptron


LINEAR_OPTIONS = {
    "plain": {"max_iter": 4, "tol": None},
    "defaults": {"max_iter": 50},
    "given order": {"max_iter": 4, "tol": None, "shuffle": False},
    "another seed": {"max_iter": 4, "tol": None, "random_state": 5},
    "eta": {"max_iter": 4, "tol": None, "eta0": 0.25},
    "class weights": {"max_iter": 4, "tol": None, "class_weight": {0: 0.5, 1: 2}},
    "early stopping": {"max_iter": 30, "early_stopping": True, "n_iter_no_change": 2, "validation_fraction": 0.2},
    "early stopping, last": {"max_iter": 30, "early_stopping": True, "n_iter_no_change": 2, "combine": "last"},
    "vote": {"max_iter": 4, "combine": "vote"},
}


COMPARED = [(rule, name) for rule in RULES for name in LINEAR_OPTIONS if (rule, name) != ("ovr", "vote")]  # not there


@pytest.mark.parametrize(("rule", "name"), COMPARED)
def test_the_linear_kernel_is_the_perceptron_without_intercept_update_for_update(rule, name, form):
    X, y = whole_numbers(np.random.default_rng(8), 130, 6, RULES[rule][1])
    keywords = LINEAR_OPTIONS[name] | ({} if rule == "two" else {"multiclass": rule})
    linear = rosenblatt(fit_intercept=False, **keywords).fit(form(X), y)
    model = KernelPerceptron(kernel="linear", **keywords).fit(form(X), y)
    assert (model.stop_reason_, model.n_iter_, model.t_) == (linear.stop_reason_, linear.n_iter_, linear.t_)
    assert model.mistakes_.tolist() == linear.mistakes_.tolist()
    assert (model.n_updates_, model.n_mistakes_) == (linear.n_updates_, linear.n_mistakes_)
    vectors = numpy_of(model.support_vectors_)
    np.testing.assert_array_equal(vectors, X[model.support_])
    np.testing.assert_array_equal(model.dual_coef_last_ @ vectors, linear.coef_last_)
    np.testing.assert_allclose(model.dual_coef_average_ @ vectors, linear.coef_average_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(form(X)), linear.decision_function(form(X)), atol=1e-9)
    assert model.predict(form(X)).tolist() == linear.predict(form(X)).tolist()
    for mine, other in zip(model.history_, linear.history_, strict=True):
        assert mine.keys() == other.keys()
        np.testing.assert_allclose(mine["loss"], other["loss"], rtol=1e-9)
        assert mine["validation_accuracy"] == pytest.approx(other["validation_accuracy"])


# ---- array libraries


def converted(library, a):
    if library == "torch":
        return pytest.importorskip("torch").asarray(a)
    return pytest.importorskip("array_api_strict").asarray(a)


@rules
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("name", [*NAMED, "precomputed"])
def test_other_array_libraries_give_the_same_coefficients_and_answer_in_kind(name, library, rule, dtype):
    kernel = "rbf" if name == "precomputed" else name
    X, y, K, run = clear_case(rule, kernel, 60, dtype=dtype)
    A = converted(library, K.astype(dtype) if name == "precomputed" else X)
    model = KernelPerceptron(kernel=name, max_iter=3, **options(rule)).fit(A, converted(library, y))
    assert_same_run(model, run)
    for combine in ("last", "average", "vote"):
        model.combine = combine
        assert isinstance(model.decision_function(A), type(A))
        assert isinstance(model.predict(A), type(A))
    assert_same_scores(model, run, A[4:, :], K[4:], dtype)  # row 3 is of zeros: see `new_rows`


@rules
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_streams_of_other_array_libraries_give_the_same_coefficients(library, rule):
    X, y, _, run = clear_case(rule, "rbf", 60, epochs=1)
    model = KernelPerceptron(**options(rule))
    for i in range(0, 60, 13):
        A = converted(library, X[i : i + 13])
        model.partial_fit(A, converted(library, y[i : i + 13]), classes=np.unique(y))
    assert_same_coefficients(model, run, X)
    assert_same_counts(model, run)
