"""Distances, margins, mistake bounds and convergence against plain formulas; runs that must stay in their bounds."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.svm import LinearSVC

from perceptrons.theory import (
    check_bound,
    convergence,
    margins,
    max_margin,
    mistake_bound,
    project,
    radius,
    signed_distance,
    vector_projection,
)
from tests.conftest import as_csr, gaussian, whole_numbers
from tests.linear.test_bad_input import BAD_DATA
from tests.reference import binary, multiclass
from tests.reference import theory as reference
from tests.support.certificates import SINGLE_LABELS, STEADY, THREE_BLOBS, XOR, as_lists, data_sets, truth
from tests.support.lecture import rosenblatt

# ---- geometry


def iris(n_classes):
    X, y = load_iris(return_X_y=True)
    return (X, y) if n_classes == 3 else (X, np.where(y == 1, "versicolor", "other"))


MODELS = {
    "average": lambda: rosenblatt(max_iter=20),
    "last": lambda: rosenblatt(combine="last", max_iter=20),
    "pocket": lambda: rosenblatt(combine="pocket", max_iter=20),
    "one-vs-rest": lambda: rosenblatt(multiclass="ovr", max_iter=20),
    "no intercept": lambda: rosenblatt(fit_intercept=False, max_iter=20),
    "LinearSVC": lambda: LinearSVC(max_iter=100_000),
    "LogisticRegression": lambda: LogisticRegression(max_iter=10_000),
    "RidgeClassifier": RidgeClassifier,
    "SGDClassifier": lambda: SGDClassifier(random_state=0),
    "scikit-learn's Perceptron": lambda: SklearnPerceptron(random_state=0),
}


def of_weights(coef, intercept):
    """A fitted linear classifier with these weights and the classes 0, 1, ..."""
    model = LinearSVC()
    model.coef_, model.intercept_ = np.array(coef, dtype=float), np.array(intercept, dtype=float)
    model.classes_, model.n_features_in_ = np.arange(max(2, len(coef))), len(coef[0])
    return model


def codes_of(model, y):
    return np.searchsorted(model.classes_, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_distances_projections_and_margins_of_fitted_models(name, n_classes, form):
    X, y = iris(n_classes)
    model = MODELS[name]().fit(X, y)
    rows, codes = form(X), codes_of(model, y)
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    np.testing.assert_allclose(
        signed_distance(model, rows), reference.signed_distances(coef, intercept, X), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        signed_distance(model, rows, y), reference.signed_distances(coef, intercept, X, codes), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(project(model, rows), reference.projections(coef, intercept, X), rtol=1e-9, atol=1e-9)
    functional = reference.functional_margins(coef, intercept, X, codes)
    found = margins(model, rows, y)
    np.testing.assert_allclose(found.functional, functional, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.geometric, functional / reference.norm(coef), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_distances_agree_with_what_the_model_predicts(n_classes):
    X, y = iris(n_classes)
    model = LogisticRegression(max_iter=10_000).fit(X, y)
    distances = signed_distance(model, X)
    if n_classes == 2:
        np.testing.assert_allclose(distances, model.decision_function(X) / np.linalg.norm(model.coef_))
        assert np.array_equal(distances > 0, model.predict(X) == model.classes_[1])
    else:
        assert (distances >= 0).all()
    assert np.array_equal(signed_distance(model, X, y) > 0, model.predict(X) == y)
    assert np.array_equal(margins(model, X, y).functional > 0, model.predict(X) == y)
    np.testing.assert_allclose(signed_distance(model, X, model.predict(X)), np.abs(distances))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_projections_lie_on_a_boundary_as_far_away_as_the_distance_says(n_classes):
    X, y = iris(n_classes)
    model = rosenblatt(max_iter=20).fit(X, y)
    points = project(model, X)
    assert points.shape == X.shape
    np.testing.assert_allclose(np.linalg.norm(points - X, axis=1), np.abs(signed_distance(model, X)))
    np.testing.assert_allclose(signed_distance(model, points), 0, atol=1e-10)
    np.testing.assert_allclose(project(model, points), points, atol=1e-9)


def test_a_plane_of_the_lecture():
    model = of_weights([[3.0, 4.0]], [-5.0])
    X = [[3.0, 4.0], [0.0, 0.0], [1.0, 0.5]]
    np.testing.assert_allclose(signed_distance(model, X), [4.0, -1.0, 0.0])
    np.testing.assert_allclose(signed_distance(model, X, [0, 0, 1]), [-4.0, 1.0, 0.0])
    np.testing.assert_allclose(project(model, X), [[0.6, 0.8], [0.6, 0.8], [1.0, 0.5]], atol=1e-15)
    np.testing.assert_allclose(margins(model, X, [1, 0, 0]).functional, [20.0, 5.0, 0.0])
    np.testing.assert_allclose(margins(model, X, [1, 0, 0]).geometric, [4.0, 1.0, 0.0])


def test_a_vector_projection_lies_on_the_other_vector_and_leaves_an_orthogonal_rest():
    np.testing.assert_allclose(vector_projection([2, 1], [3, 4]), [1.2, 1.6])
    a, b = np.array([[2.0, 1.0], [-4.0, 3.0], [0.0, 0.0]]), np.array([3e200, 4e200])
    found = vector_projection(a, b)
    np.testing.assert_allclose((a - found) @ (b / 1e200), 0, atol=1e-12)
    np.testing.assert_allclose(found[:, 0] * 4, found[:, 1] * 3)
    model = of_weights([[3.0, 4.0]], [0.0])
    np.testing.assert_allclose(project(model, a), a - vector_projection(a, [3, 4]), atol=1e-15)
    for wrong, match in (
        (([1, 2], [0, 0]), "zero vector"),
        (([1, 2], [1, 2, 3]), "one length"),
        (([1, np.nan], [1, 2]), "NaN"),
    ):
        with pytest.raises(ValueError, match=match):
            vector_projection(*wrong)


def test_three_classes_in_the_plane():
    model = of_weights([[1.0, 0.0], [-1.0, 0.0], [0.0, 3.0]], [0.0, 0.0, -6.0])
    X = [[2.0, 0.0], [-1.0, 1.0], [0.0, 4.0]]
    np.testing.assert_allclose(signed_distance(model, X), [2.0, 1.0, 6 / math.sqrt(10)])
    np.testing.assert_allclose(signed_distance(model, X, [1, 1, 0]), [-2.0, 1.0, -6 / math.sqrt(10)])
    np.testing.assert_allclose(project(model, X)[:2], [[0.0, 0.0], [0.0, 1.0]], atol=1e-15)
    found = margins(model, X, [1, 1, 0])
    np.testing.assert_allclose(found.functional, [-4.0, 2.0, -6.0])
    norm = math.sqrt(2 * (1 + 1 + 0 + 1 + 1 + 4))  # around the mean row (0, 1)
    np.testing.assert_allclose(found.geometric, np.array([-4.0, 2.0, -6.0]) / norm)


def test_margins_of_two_classes_are_the_same_with_a_row_each(rng):
    X, y = gaussian(rng, 20, 3, 2)
    model = rosenblatt(max_iter=5).fit(X, y)
    third = of_weights(
        [*(-model.coef_), *model.coef_, [0.0, 0.0, 0.0]], [*(-model.intercept_), *model.intercept_, -1e9]
    )
    found, wanted = margins(third, X, y), margins(model, X, y)
    np.testing.assert_allclose(found.functional, 2 * wanted.functional)
    np.testing.assert_allclose(found.geometric, wanted.geometric)


def test_classes_with_equal_weights_are_infinitely_far_apart_or_tie():
    model = of_weights([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]], [0.0, -1.0, 100.0])
    X = [[1.0, 1.0], [1.0, 1.0]]
    assert signed_distance(model, X, [1, 1]).tolist() == [-math.inf, -math.inf]
    np.testing.assert_allclose(signed_distance(model, X, [0, 2]), [-97 / math.sqrt(5), 97 / math.sqrt(5)])
    tie = of_weights([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]], [3.0, 3.0, 0.0])
    np.testing.assert_allclose(signed_distance(tie, X, [0, 2]), [0.0, -6 / math.sqrt(5)])
    assert signed_distance(tie, X).tolist() == [0.0, 0.0]
    for shared in (model, tie):
        with pytest.raises(ValueError):
            project(shared, X)


def test_distances_of_float32_data():
    X, y = iris(3)
    model = rosenblatt(max_iter=20).fit(X.astype(np.float32), y)
    wanted = reference.signed_distances(model.coef_.astype(float), model.intercept_.astype(float), X)
    np.testing.assert_allclose(signed_distance(model, X.astype(np.float32)), wanted, rtol=1e-3, atol=1e-4)


def test_the_radius_is_the_largest_norm(rng):
    X, _ = whole_numbers(rng, 30, 4, 2)
    for rows in (X, as_csr(X), X.astype(np.float32), X.tolist()):
        assert radius(rows) == pytest.approx(reference.radius(X), rel=1e-6)
        assert radius(rows, fit_intercept=True) == pytest.approx(reference.radius(reference.with_ones(X)), rel=1e-6)
    assert radius([[3.0, 4.0], [0.0, 1.0]]) == 5.0
    assert radius(np.zeros((3, 2))) == 0.0
    assert radius(np.zeros((3, 2)), fit_intercept=True) == 1.0
    assert radius([[3e100, 4e100]]) == pytest.approx(5e100)
    with pytest.raises(ValueError, match="NaN at row 0, column 1"):
        radius([[0.0, np.nan]])


NO_HYPERPLANE = {
    "votes": lambda: rosenblatt(combine="vote", max_iter=3).fit(*iris(2)),
    "one-vs-one": lambda: rosenblatt(multiclass="ovo", max_iter=3).fit(*iris(3)),
    "several labels": lambda: rosenblatt(max_iter=3).fit(iris(3)[0], np.eye(3, dtype=int)[iris(3)[1]]),
    "no weights": lambda: of_weights([[0.0] * 4], [1.0]),
    "no weights, three classes": lambda: of_weights(np.zeros((3, 4)), [1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("name", NO_HYPERPLANE)
def test_models_without_a_hyperplane_are_refused(name):
    model = NO_HYPERPLANE[name]()
    X, y = iris(3)
    labels = np.asarray(model.classes_)[y % len(model.classes_)]
    for ask in (lambda: signed_distance(model, X), lambda: project(model, X), lambda: margins(model, X, labels)):
        with pytest.raises(ValueError):
            ask()


def test_labels_rows_and_columns_that_the_model_does_not_know_are_refused():
    X, y = iris(3)
    model = rosenblatt(max_iter=3).fit(X, y)
    for ask in (signed_distance, margins):
        with pytest.raises(ValueError, match=r"7"):
            ask(model, X, np.where(np.arange(150) == 7, 9, y))
        with pytest.raises(ValueError):
            ask(model, X, y[:-1])
        with pytest.raises(ValueError, match="features"):
            ask(model, X[:, :3], y)
    with pytest.raises(ValueError, match="features"):
        project(model, X[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        signed_distance(model, [[0.0, 1.0, np.nan, 3.0]])


# ---- bounds


def bound_rows(bound):
    """coef as rows and intercept as their biases."""
    return np.atleast_2d(bound.coef), np.atleast_1d(bound.intercept)


def unit_margins(bound, X, y):
    """The margins of all examples by the bound's own u, bias counted."""
    coef = np.column_stack(bound_rows(bound))
    codes = np.searchsorted(np.unique(y), y)
    return reference.functional_margins(coef, np.zeros(len(coef)), reference.with_ones(X), codes) / reference.norm(coef)


def assert_bound_holds_by_formula(bound, X, y, fit_intercept, epochs):
    """radius, deviation and updates follow from the bound's own u and margin; nothing is rounded to the wrong side."""
    R = reference.radius(reference.with_ones(X) if fit_intercept else X)
    reached = unit_margins(bound, X, y)
    D = reference.deviation(reached, bound.margin)
    k = reference.mistake_bound(R, bound.margin, D, epochs)
    assert bound.radius == pytest.approx(R, rel=1e-9)
    assert bound.deviation == pytest.approx(D, rel=1e-6, abs=1e-9 * R)
    assert math.floor(k * (1 - 1e-6) - 1e-9) <= bound.updates <= math.floor(k * (1 + 1e-6) + 1e-9)
    if not fit_intercept:
        assert not np.any(bound.intercept)
    w, b = bound_rows(bound)
    assert np.sum(w**2) + np.sum(b**2) == pytest.approx(1, rel=1e-9)


def assert_never_too_small(bound, X, y, fit_intercept):
    """margin <= that of the bound's own u, updates >= floor(R^2/gamma^2), both in fractions."""
    rows = reference.with_ones(X).tolist()
    coef = np.column_stack(bound_rows(bound)).tolist()
    weights = (coef[0], 0) if len(coef) == 1 else (coef, [0] * len(coef))
    square = reference.squared_margin(*weights, rows, np.searchsorted(np.unique(y), y).tolist())
    largest = max(sum(Fraction(value) ** 2 for value in row) for row in rows) - (not fit_intercept)
    assert Fraction(bound.margin) ** 2 <= square
    assert bound.updates >= math.floor(largest / square)


def test_two_points_on_a_line_are_learned_in_so_many_updates():
    bound = mistake_bound([[-1.0], [1.0]], ["a", "b"], fit_intercept=False)
    assert (bound.updates, bound.separable, bound.epochs, bound.deviation) == (1, True, None, 0)
    assert (bound.radius, bound.margin) == (pytest.approx(1), pytest.approx(1))
    # with the bias (-1, 1), (1, 1): R^2 = 2 and u = (1, 0) has the margin 1
    bound = mistake_bound([[-1.0], [1.0]], ["a", "b"])
    assert bound.updates == 2
    np.testing.assert_allclose(np.abs(bound.coef), [1.0], rtol=1e-3)
    assert "2" in bound.explain()


def test_the_bound_of_given_weights_is_the_formula():
    X, y = np.array([[3.0, 4.0], [-1.0, 1.0], [1.0, -2.0]]), np.array([1, 0, 0])
    # u = (1, 0): margins 3, 1 and -1 (no bias); R = 5
    for gamma, epochs in [(1.0, 1), (0.5, 1), (3.0, 4), (0.01, 9)]:
        bound = mistake_bound(X, y, coef=[2.0, 0.0], margin=gamma, epochs=epochs, fit_intercept=False)
        D = math.sqrt(max(0, gamma - 3) ** 2 + max(0, gamma - 1) ** 2 + (gamma + 1) ** 2)
        assert bound.updates == math.floor(((5 + math.sqrt(epochs) * D) / gamma) ** 2)
        assert bound.deviation == pytest.approx(D)
        assert bound.margin == pytest.approx(gamma)
        assert bound.radius == pytest.approx(5)
        assert bound.epochs == epochs
        np.testing.assert_allclose(bound.coef, [1.0, 0.0])


def test_the_bound_of_given_weights_counts_the_bias():
    X, y = np.array([[4.0], [6.0], [1.0]]), np.array([1, 1, 0])
    bound = mistake_bound(X, y, coef=[2.0], intercept=-6.0)
    norm = math.sqrt(40)
    assert bound.margin == pytest.approx(2 / norm)
    assert bound.updates == math.floor(37 / (4 / 40))
    np.testing.assert_allclose([*np.ravel(bound.coef), *np.ravel(bound.intercept)], [2 / norm, -6 / norm])
    assert bound.epochs is None
    assert mistake_bound(X, y, coef=[2.0], intercept=-6.0, epochs=50).updates == bound.updates


@given(data_sets(classes=(2, 4), n=(3, 10), d=(1, 3)), st.booleans(), st.integers(0, 2**32 - 1), st.integers(1, 5))
@settings(STEADY, max_examples=120)
def test_the_best_margin_for_given_weights_is_found(data, fit_intercept, seed, epochs):
    X, y = data
    k, rng = int(y.max()) + 1, np.random.default_rng(seed)
    assume(np.any(X) or fit_intercept)
    coef = rng.standard_normal(X.shape[1] if k == 2 else (k, X.shape[1]))
    intercept = fit_intercept * (rng.standard_normal() if k == 2 else rng.standard_normal(k))
    bound = mistake_bound(X, y, coef=coef, intercept=intercept, epochs=epochs, fit_intercept=fit_intercept)
    assert_bound_holds_by_formula(bound, X, y, fit_intercept, 1 if bound.deviation == 0 else epochs)
    reached, R = unit_margins(bound, X, y), bound.radius
    if min(reached) > 1e-9:
        assert bound.margin == pytest.approx(min(reached), rel=1e-9)
        assert bound.epochs is None
    else:
        grid = np.geomspace(1e-3, 1e3, 400) * R
        best = min(reference.mistake_bound(R, g, reference.deviation(reached, g), epochs) for g in grid)
        assert bound.updates <= best * (1 + 1e-9)


def hinge_objective(v, Z, R, epochs):
    """R|v| + sqrt(epochs) |max(0, 1 - Z v)|_2."""
    return R * np.linalg.norm(v) + math.sqrt(epochs) * np.linalg.norm(np.maximum(0, 1 - Z @ v))


@given(data_sets(n=(4, 12), d=(1, 3)), st.booleans(), st.integers(1, 6))
@settings(STEADY, max_examples=120)
def test_the_bound_of_two_classes_is_the_best_there_is(data, fit_intercept, epochs):
    X, y = data
    rows = reference.with_ones(X) if fit_intercept else X
    Z, R = np.where(y == 1, 1, -1)[:, None] * rows, reference.radius(rows)
    assume(R > 0)
    separable = truth(X, y, fit_intercept)
    bound = mistake_bound(X, y, epochs=epochs, fit_intercept=fit_intercept)
    assert bound.separable is separable
    assert_bound_holds_by_formula(bound, X, y, fit_intercept, 1 if separable else epochs)
    if separable:
        assert_never_too_small(bound, X, y, fit_intercept)
        assert bound.deviation == 0
        assert bound.epochs is None
        best = max_margin(rows, y, fit_intercept=False).margin.at_most
        assert bound.margin >= 0.99 * best
    else:
        assert bound.epochs == epochs
        starts = [np.zeros(rows.shape[1]), np.linalg.lstsq(Z, np.ones(len(Z)))[0], Z.mean(axis=0) / R**2]
        best = min(
            minimize(hinge_objective, start, (Z, R, epochs), method="Nelder-Mead", options={"maxfev": 2000}).fun
            for start in starts
        )
        assert bound.updates <= best**2 * (1 + 1e-3)


@given(data_sets(classes=(3, 4), n=(4, 10), d=(1, 3)), st.booleans(), st.integers(1, 6))
@settings(STEADY, max_examples=80)
def test_the_bound_of_several_classes_follows_from_its_weights(data, fit_intercept, epochs):
    X, y = data
    assume(np.any(X) or fit_intercept)
    separable = truth(X, y, fit_intercept)
    bound = mistake_bound(X, y, epochs=epochs, fit_intercept=fit_intercept)
    assert bound.separable is separable
    assert_bound_holds_by_formula(bound, X, y, fit_intercept, 1 if separable else epochs)
    if separable:
        assert_never_too_small(bound, X, y, fit_intercept)
        rows = reference.with_ones(X) if fit_intercept else X
        assert bound.margin >= 0.99 * max_margin(rows, y, fit_intercept=False, gap=1e-3).margin.reached
    else:
        assert bound.deviation > 0
        # every u is worse than the best: so are those of trained perceptrons
        for model in (rosenblatt(max_iter=5), rosenblatt(combine="pocket", max_iter=20)):
            model.set_params(fit_intercept=fit_intercept).fit(X, y)
            if np.any(model.coef_ - model.coef_.mean(axis=0)) or np.ptp(model.intercept_):
                given_u = mistake_bound(
                    X, y, coef=model.coef_, intercept=model.intercept_, epochs=epochs, fit_intercept=fit_intercept
                )
                assert bound.updates <= given_u.updates * (1 + 1e-3)


def test_the_bound_of_xor_grows_with_the_epochs():
    once, often = mistake_bound(*XOR), mistake_bound(*XOR, epochs=100)
    assert (once.separable, once.epochs, often.epochs) == (False, 1, 100)
    assert once.deviation > 0
    assert once.updates < often.updates
    model = rosenblatt(combine="last", max_iter=100, tol=None).fit(*XOR)
    assert 100 < model.n_updates_ <= often.updates


def test_arguments_of_the_bound_that_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="coef"):
        mistake_bound(*XOR, margin=0.5)
    for options in (
        {"coef": [0.0, 0.0]},
        {"coef": [1.0]},
        {"coef": [1.0, np.nan]},
        {"coef": [1.0, 1.0], "margin": 0.0},
        {"coef": [1.0, 1.0], "margin": -1.0},
        {"epochs": 0},
    ):
        with pytest.raises(ValueError):
            mistake_bound(*XOR, **options)


@pytest.mark.parametrize("case", SINGLE_LABELS)
@pytest.mark.parametrize("ask", [mistake_bound, convergence])
def test_bounds_refuse_bad_data_as_fit_does(ask, case):
    bad, labels, message = BAD_DATA[case]
    with pytest.raises((ValueError, TypeError), match=message):
        ask(bad, labels)


def test_bounds_change_no_input(form):
    X, y = whole_numbers(np.random.default_rng(1), 20, 3, 3)
    rows = form(X)
    before = copy.deepcopy(rows)
    model = rosenblatt(max_iter=5).fit(rows, y)
    weights = model.coef_.copy()
    mistake_bound(rows, y)
    check_bound(model, rows, y)
    convergence(rows, y, trace=True)
    assert (abs(rows - before)).sum() == 0
    assert np.array_equal(model.coef_, weights)


@pytest.mark.parametrize("name", ["breast cancer", "wine", "irises"])
def test_bounds_of_real_sets_hold(name):
    X, y = {"breast cancer": load_breast_cancer, "wine": load_wine, "irises": load_iris}[name](return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = rosenblatt(combine="last", max_iter=200).fit(X, y)
    comparison = check_bound(model, X, y)
    assert comparison.holds is True
    assert comparison.bound.separable is (name != "irises")
    assert comparison.updates == model.n_updates_ <= comparison.at_most
    assert comparison.ratio == pytest.approx(comparison.updates / comparison.at_most)
    assert str(comparison.updates) in comparison.explain().replace(",", "")


# ---- runs stay within their bounds


@st.composite
def runs(draw):
    """Data, separable or not, and a perceptron to be run on them."""
    X, y = draw(data_sets(classes=(2, 4), n=(3, 10), d=(1, 3)))
    k = int(y.max()) + 1
    if draw(st.booleans()):  # labels of a linear rule: mostly separable
        theta = np.random.default_rng(draw(st.integers(0, 999))).standard_normal((k, X.shape[1]))
        labels = np.argmax(X @ theta.T, axis=1)
        y = labels if len(np.unique(labels)) == k else y
    model = rosenblatt(
        combine=draw(st.sampled_from(["last", "average", "pocket"])),
        init=draw(st.sampled_from(["zeros", "zeros", "ones"])),
        eta0=draw(st.sampled_from([1.0, 1.0, 0.125, 4.0, 0.1])),
        margin=draw(st.sampled_from([None, None, 0.5, 3.0])),
        max_iter=draw(st.sampled_from([1, 2, 7, 40])),
        fit_intercept=draw(st.booleans()),
        shuffle=draw(st.booleans()),
        random_state=draw(st.integers(0, 99)),
        tol=None,
    )
    return X, y, model


@pytest.mark.slow
@given(runs())
@settings(STEADY, max_examples=1000)
def test_no_run_makes_more_updates_than_its_bound(run):
    X, y, model = run
    assume(np.any(X) or model.fit_intercept)
    model.fit(X, y)
    comparison = check_bound(model, X, y)
    bound = comparison.bound
    assert comparison.updates == model.n_updates_
    assert comparison.holds is True
    assert comparison.updates <= comparison.at_most
    assert bound.separable is not None
    plain = model.init == "zeros" and model.margin is None
    if plain:
        assert bound.updates <= comparison.at_most <= bound.updates + 1
        assert comparison.updates <= bound.updates
    elif bound.separable:
        k, one = len(model.classes_), int(model.fit_intercept)
        w, b = bound_rows(bound)
        start = 1.0 if model.init == "ones" else 0.0
        size = (X.shape[1] + one) * (1 if k == 2 else k)
        in_theta = 1 if k == 2 else math.sqrt(2)
        limit = reference.bound_from(
            in_theta * bound.radius,
            in_theta * bound.margin,
            norm=start * math.sqrt(size),
            along=start * float(w.sum() + b.sum()),
            eta=model.eta0,
            demanded=model.margin or 0.0,
        )
        assert comparison.at_most <= limit * (1 + 1e-6) + 1
        if k == 2:
            assert comparison.at_most >= math.floor(limit * (1 - 1e-6))


@given(data_sets(classes=(2, 4), n=(3, 14), d=(1, 4)), st.booleans(), st.integers(0, 2**32 - 1))
@settings(STEADY, max_examples=150)
def test_the_reference_s_runs_stay_within_the_library_s_bound(data, fit_intercept, seed):
    """Neither the compiled loops nor their counts are asked."""
    X, y = data
    assume(np.any(X) or fit_intercept)
    rng, k = np.random.default_rng(seed), int(y.max()) + 1
    orders = [rng.permutation(len(y)) for _ in range(int(rng.integers(1, 12)))]
    if k == 2:
        run = binary.train(X, 2 * y - 1, orders, fit_intercept=fit_intercept)
    else:
        run = multiclass.train(X, y, orders, k, fit_intercept=fit_intercept)
    bound = mistake_bound(X, y, epochs=len(orders), fit_intercept=fit_intercept)
    assert run.updates <= bound.updates


REFUSED = {
    "step": ({"step": "pa1"}, iris(2)),
    "penalty": ({"penalty": "l2", "alpha": 0.1}, iris(2)),
    "cost": ({"cost": {0: {1: 2.0}}}, iris(3)),
    "batch_size": ({"batch_size": 10}, iris(2)),
    "class_weight": ({"class_weight": {0: 2.0}}, iris(3)),
    "multiclass ovr": ({"multiclass": "ovr"}, iris(3)),
    "multiclass ovo": ({"multiclass": "ovo"}, iris(3)),
    "label": ({}, (iris(3)[0], np.eye(3, dtype=int)[iris(3)[1]])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_the_bound_is_not_about_are_refused(name):
    parameters, (X, y) = REFUSED[name]
    model = rosenblatt(max_iter=3, **parameters).fit(X, y)
    with pytest.raises(ValueError, match=name.partition(" ")[0]):
        check_bound(model, X, y)


def test_a_random_start_is_refused_or_counted_in():
    X, y = iris(2)
    try:
        comparison = check_bound(rosenblatt(init="random", max_iter=3).fit(X, y), X, y)
    except ValueError as error:
        assert "init" in str(error)  # noqa: PT017 (one of two ways it may go)
    else:
        assert comparison.updates <= comparison.at_most


# ---- convergence


def epoch_orders(n):
    return [range(n)] * 100_000


def starts_of(init, k, d, fit_intercept):
    """The start that the word means, in the shapes of the references."""
    value = {"zeros": 0.0, "ones": 1.0}[init]
    b = value if fit_intercept else 0.0
    return (np.full(d, value), b) if k == 2 else (np.full((k, d), value), np.full(k, b))


def run_of(X, y, w, b, eta, fit_intercept):
    """The reference's run, in the given order, until an epoch without a mistake."""
    if y.max() == 1:
        signs = 2 * y - 1
        return binary.train(X, signs, epoch_orders(len(y)), eta=eta, w=w, b=b, fit_intercept=fit_intercept, stop=True)
    k = int(y.max()) + 1
    return multiclass.train(
        X, y, epoch_orders(len(y)), k, eta=eta, theta=w, b=b, fit_intercept=fit_intercept, stop=True
    )


@given(
    data_sets(classes=(2, 3), n=(3, 9), d=(1, 3)),
    st.booleans(),
    st.sampled_from(["zeros", "ones"]),
    st.sampled_from([1.0, 0.25, 8.0]),
)
@settings(STEADY, max_examples=300)
def test_convergence_foretells_the_run_and_its_trace_falls(data, fit_intercept, init, eta):
    X, y = data
    k, d = int(y.max()) + 1, X.shape[1]
    answer = convergence(X, y, init=init, eta0=eta, fit_intercept=fit_intercept, trace=True)
    assert answer.converges is answer.certificate.separable is truth(X, y, fit_intercept)
    assert answer.certificate.verify(X, y) is True
    if not answer.converges:
        assert answer.at_most is None
        return
    run = run_of(X, y, *starts_of(init, k, d, fit_intercept), eta, fit_intercept)
    assert answer.updates == run.updates <= answer.at_most
    assert answer.epochs == len(run.mistakes)
    assert_trace_falls(answer, run, X, y, eta, fit_intercept)


def assert_trace_falls(answer, run, X, y, eta, fit_intercept):
    """The trace is |w_k - rho w*|^2 of the run, and every update makes it smaller by eta^2 R^2 at least."""
    k = int(np.max(y)) + 1
    rows = reference.with_ones(X) if fit_intercept else X
    square = (1 if k == 2 else 2) * reference.radius(rows) ** 2
    w, b = (np.asarray(part, dtype=float) for part in answer.solution)
    assert np.sum(w**2) + np.sum(b**2) == pytest.approx(1, rel=1e-9)
    coef = np.column_stack([np.atleast_2d(w), np.atleast_1d(b)])
    leads = reference.functional_margins(coef, np.zeros(len(coef)), reference.with_ones(X), y)
    gamma = min(leads) / np.linalg.norm(coef)
    assert gamma > 0
    assert answer.rho == pytest.approx(eta * square / gamma, rel=1e-6)
    wanted = reference.squared_distances(run.versions, answer.rho, (w, b))
    trace = np.asarray(answer.trace, dtype=float)
    np.testing.assert_allclose(trace, wanted, rtol=1e-9)
    assert len(trace) == answer.updates + 1
    assert (np.diff(trace) <= -(eta**2) * square + 1e-9 * trace[0]).all()


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_convergence_of_real_numbers(n_classes, shuffle):
    X, y = THREE_BLOBS if n_classes == 3 else (THREE_BLOBS[0], (THREE_BLOBS[1] == 1).astype(int))
    answer = convergence(X, y, shuffle=shuffle, random_state=4, trace=True)
    assert answer.converges is True
    assert 0 < answer.updates <= answer.at_most
    assert len(answer.trace) == answer.updates + 1
    assert (np.diff(answer.trace) < 0).all()
    same = convergence(X, y, shuffle=shuffle, random_state=4)
    assert (same.updates, same.epochs, same.at_most) == (answer.updates, answer.epochs, answer.at_most)
    assert same.trace is None
    model = rosenblatt(combine="last", shuffle=shuffle, random_state=4, max_iter=10_000).fit(X, y)
    assert (answer.updates, answer.epochs) == (model.n_updates_, model.n_iter_)
    assert str(answer.updates) in answer.explain().replace(",", "")
    if not shuffle:
        assert_trace_falls(answer, run_of(X, y, None, 0.0 if n_classes == 2 else None, 1.0, True), X, y, 1.0, True)


@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_a_given_start_counts(eta):
    X, y = THREE_BLOBS[0], (THREE_BLOBS[1] == 1).astype(int)
    zero = convergence(X, y, eta0=eta)
    solution = zero.solution
    there = convergence(X, y, eta0=eta, init=tuple(1000 * np.asarray(part) for part in solution), trace=True)
    assert (there.updates, there.epochs, len(there.trace)) == (0, 1, 1)
    away = convergence(X, y, eta0=eta, init=([-3.0, 1.0], 2.0), trace=True)
    run = run_of(X, y, [-3.0, 1.0], 2.0, eta, True)
    assert away.updates == run.updates > 0
    assert_trace_falls(away, run, X, y, eta, True)
    norm, along = math.sqrt(14), float(np.dot([-3.0, 1.0, 2.0], [*np.ravel(solution[0]), *np.ravel(solution[1])]))
    R = reference.radius(reference.with_ones(X))
    limit = reference.bound_from(R, eta * R**2 / away.rho, norm=norm, along=along, eta=eta)
    assert away.at_most == pytest.approx(limit, rel=1e-2, abs=1)


def test_a_random_start_is_the_same_every_time_and_within_its_bound():
    X, y = THREE_BLOBS[0], (THREE_BLOBS[1] == 1).astype(int)
    answers = [convergence(X, y, init="random", random_state=seed, trace=True) for seed in (1, 1, 2)]
    assert np.array_equal(answers[0].trace, answers[1].trace)
    assert answers[0].trace[0] != answers[2].trace[0]
    for answer in answers:
        assert answer.updates <= answer.at_most
        assert (np.diff(answer.trace) < 0).all()


def test_what_is_not_separable_never_converges():
    answer = convergence(*XOR)
    assert answer.converges is False
    assert answer.certificate.witness is not None
    assert (answer.at_most, answer.epochs) == (None, None)
    assert "not linearly separable" in answer.explain().lower()


def test_convergence_refuses_starts_and_steps_that_mean_nothing():
    for options in ({"init": "twos"}, {"init": ([1.0], 0.0)}, {"eta0": 0.0}, {"eta0": -1.0}, {"eta0": np.nan}):
        with pytest.raises(ValueError):
            convergence(*XOR, **options)


def test_the_general_bound_of_the_reference_is_the_plain_one_from_zero_and_a_root():
    assert reference.bound_from(5.0, 0.5, eta=0.3) == pytest.approx(100)
    k = reference.bound_from(2.0, 0.25, norm=3.0, along=-1.0, eta=0.5, demanded=0.75)
    assert (k * 0.5 * 0.25 - 1) ** 2 == pytest.approx(9 + k * (0.25 * 4 + 2 * 0.5 * 0.75))
    assert k > 1 / (0.5 * 0.25)


def test_the_reference_s_geometry_is_one_with_its_exact_margins(rng):
    for k in (2, 3):
        X, y = gaussian(rng, 25, 3, k)
        coef, intercept = rng.standard_normal((1 if k == 2 else k, 3)), rng.standard_normal(1 if k == 2 else k)
        plain = min(reference.functional_margins(coef, intercept, X, y)) / reference.norm(coef)
        weights = (coef[0].tolist(), float(intercept[0])) if k == 2 else (coef.tolist(), intercept.tolist())
        square = float(reference.squared_margin(*weights, *as_lists(X, y)))
        assert math.copysign(math.sqrt(abs(square)), square) == pytest.approx(plain)


def test_a_bound_that_says_nothing_shows_no_margin():
    vain = mistake_bound([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], epochs=5)
    assert vain.is_vain
    assert vain.updates == 20
    assert "margin=None, deviation=None" in repr(vain)
    assert "gamma" not in vain.explain()
    assert "20 updates in 5 epochs, one for every visit" in vain.explain()
    assert "margin</" not in vain._repr_html_()
    good = mistake_bound([[0.0, 2.0], [0.0, -2.0]], ["up", "down"])
    assert not good.is_vain
    assert "gamma = 2" in good.explain()
    assert "margin</" in good._repr_html_()


def test_the_constant_feature_of_the_bias_counts_in_the_bound():
    X, y = [[1.0, 2.0], [1.0, -2.0], [3.0, 2.0]], ["up", "down", "up"]
    wide = [[*x, 4.0] for x in X]
    bound, other = mistake_bound(X, y, intercept_scaling=4.0), mistake_bound(wide, y, fit_intercept=False)
    assert (bound.updates, bound.radius) == (other.updates, other.radius)
    np.testing.assert_allclose(bound.intercept, 4.0 * other.coef[-1])
    with pytest.raises(ValueError, match="intercept_scaling=0: give a positive number"):
        mistake_bound(X, y, intercept_scaling=0)
