"""What the tests of `KernelPerceptron` share: cases, runs of the reference, comparison by coefficients."""

import numpy as np
import scipy.sparse as sp

from tests.conftest import gaussian
from tests.reference import kernel as reference

RULES = {"two": (reference.two_classes, 2), "ovr": (reference.ovr, 4), "joint": (reference.joint, 4)}
NUMBERS = {"gamma": 0.25, "degree": 3, "coef0": 0.5}  # exact in float32
NAMED = ["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine"]


def inverse_distance(x, z):
    """A kernel of two vectors that the library does not have."""
    return 1 / (1 + ((x - z) ** 2).sum())


def inverse_distances(A, B):
    """The same of blocks of rows."""
    return 1 / (1 + ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def numpy_of(a):
    """Any array as a dense NumPy array."""
    if sp.issparse(a):
        return a.toarray()
    try:
        return np.asarray(a)
    except (TypeError, ValueError, RuntimeError):
        return np.from_dlpack(a)


def options(rule, **more):
    """Parameters of a `KernelPerceptron` that goes through the examples in the given order, with no tolerance."""
    multiclass = {} if rule == "two" else {"multiclass": rule}
    return {**NUMBERS, **multiclass, "shuffle": False, "tol": None, "combine": "last", **more}


def sparse_gaussian(rng, n, d, k):
    """As `gaussian`, with zeros among the numbers, one row of zeros, and no two rows alike."""
    X, y = gaussian(rng, n, d, k)
    X[:, 1:] *= rng.random((n, d - 1)) < 0.6
    X[3:4] = 0
    return X, y


def coded(rule, y):
    """Labels 0..K-1 as the reference of this rule wants them."""
    return 2 * y - 1 if rule == "two" else y


def run_of(rule, K, y, epochs=1, **keywords):
    """The reference run through epochs of the given order; as the library it ends after one without an update."""
    function, n_classes = RULES[rule]
    n_rows = 1 if rule == "two" else max(n_classes, y.max() + 1)
    return reference.train(K, coded(rule, y), [range(len(K))] * epochs, function, n_rows, stop=True, **keywords)


def clear_case(rule, kernel, n, d=5, *, epochs=3, dtype=np.float64, make=sparse_gaussian, bound=1e-12, **keywords):
    """X, y, the kernel matrix and the reference run of the first seed where no decision hangs on rounding."""
    bound = bound if np.dtype(dtype) == np.float64 else 3e-5
    for seed in range(500):
        X, y = make(np.random.default_rng(seed), n, d, RULES[rule][1])
        X = X.astype(dtype)
        K = reference.gram(kernel, X, X, **NUMBERS)
        run = run_of(rule, K, y, epochs, **keywords)
        if run.closest > bound:
            return X, y, K, run
    raise AssertionError("no clear case")


def assert_same_support(model, run):
    """The same examples are held with the same last and averaged coefficients, in the order of their first updates."""
    assert numpy_of(model.support_).tolist() == run.held
    assert model.n_support_ == len(run.held)
    np.testing.assert_array_equal(numpy_of(model.dual_coef_last_), run.alpha[:, run.held])
    np.testing.assert_allclose(numpy_of(model.dual_coef_average_), run.average[:, run.held], rtol=1e-12, atol=1e-12)


def assert_same_counts(model, run):
    assert model.n_updates_ == model.n_mistakes_ == len(run.log)
    assert model.t_ == run.t
    np.testing.assert_array_equal(numpy_of(model.survival_counts_), run.survival_counts())
    np.testing.assert_array_equal(numpy_of(model.update_support_), run.update_support())


def assert_same_run(model, run):
    """Everything that one `fit` without a budget leaves behind."""
    assert_same_support(model, run)
    assert_same_counts(model, run)
    assert np.asarray(model.mistakes_).tolist() == run.mistakes
    assert model.n_iter_ == len(run.mistakes)


def assert_same_scores(model, run, X, K, dtype=np.float64):
    """decision_function on X, K being (len(X), n) of the reference; and predict goes by it.

    In float32 the votes of versions near 0 hang on rounding, so they are left out; with a budget there are none.
    """
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    for combine in ("last", "average", "vote")[: 3 if dtype == np.float64 and run.budget is None else 2]:
        wanted = run.scores(combine, K)
        got = numpy_of(model.set_params(combine=combine).decision_function(X))
        scale = max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose(got, wanted[:, 0] if wanted.shape[1] == 1 else wanted, atol=tolerance * scale)
        best = (got > 0).astype(int) if got.ndim == 1 else np.argmax(got, axis=1)
        assert numpy_of(model.predict(X)).tolist() == numpy_of(model.classes_)[best].tolist()


def held_rows(model, X):
    """Which rows of X, all different, the support vectors are."""
    rows = {tuple(x): i for i, x in enumerate(np.asarray(X, float))}
    places = [rows[tuple(vector)] for vector in numpy_of(model.support_vectors_).astype(float)]
    assert len(set(places)) == len(places)
    return places


def coefficients_by_row(model, X, name):
    """(R, n): the coefficients of every row of X, found by the support vectors; 0 where a row is not held."""
    places = held_rows(model, X)
    values = numpy_of(getattr(model, name))
    full = np.zeros((len(values), len(X)))
    full[:, places] = values
    return full


def assert_same_coefficients(model, run, X, tolerance=0.0):
    """The same rows of X are held, in whatever order, with the same last and averaged coefficients."""
    for name, wanted in [("dual_coef_last_", run.alpha), ("dual_coef_average_", run.average)]:
        got = coefficients_by_row(model, X, name)
        atol = tolerance if name == "dual_coef_last_" else max(tolerance, 1e-12)
        np.testing.assert_allclose(got, wanted, rtol=atol, atol=atol, err_msg=name)
    assert model.n_support_ == len(run.held)
