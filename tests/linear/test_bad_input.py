"""Bad input gives an error that says what, where and what to do, and changes nothing."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from perceptrons import KernelPerceptron, Perceptron
from perceptrons.engine.training.epochs import hold_out

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
Y = np.array([0, 1, 1, 0])


def with_cell(value, dtype=float):
    bad = X.astype(dtype)
    bad[2, 1] = value
    return bad


BAD_DATA = {
    "nan": (with_cell(np.nan), Y, r"NaN at row 2, column 1.*SimpleImputer"),
    "infinity": (with_cell(-np.inf), Y, r"infinity at row 2, column 1"),
    "nan in float32": (with_cell(np.nan, np.float32), Y, r"NaN at row 2, column 1"),
    "nan in sparse": (sp.csr_matrix(with_cell(np.nan)), Y, r"NaN at row 2, column 1"),
    "infinity in csc": (sp.csc_matrix(with_cell(np.inf)), Y, r"infinity at row 2, column 1"),
    "too large": (with_cell(1e200), Y, r"1e\+200 at row 2, column 1: too large.*StandardScaler"),
    "too large for float32": (with_cell(1e30, np.float32), Y, r"too large for float32"),
    "a word": (np.array([["1", "2"], ["3", "red"]], dtype=object), [0, 1], r"'red' at row 1, column 1.*OneHotEncoder"),
    "a word in a frame": (pd.DataFrame({"a": [1, 2], "b": ["1", "red"]}), [0, 1], r"'red' at row 1, column b"),
    "an object": (np.array([[1, {}], [2, 3]], dtype=object), [0, 1], r"row 0, column 1"),
    "one dimension": (X[:, 0], Y, r"[Ee]xpected 2D array"),
    "three dimensions": (X[None], Y, r"dim 3"),
    "no rows": (X[:0], Y[:0], r"0 sample"),
    "no columns": (X[:, :0], Y, r"0 feature"),
    "too few labels": (X, Y[:3], r"X has 4 rows, but y has labels for 3"),
    "two classes at once": (X, [[0, 1], [1, 0], [2, 0], [0, 0]] * np.ones((1, 1), int), r"y\[2, 0\] = .*2"),
    "no labels": (X, None, r"y.*None"),
    "one class": (X, [1, 1, 1, 1], r"only one class, 1"),
    "missing label": (X, [0, 1, np.nan, 1], r"row 2"),
    "missing string": (X, np.array(["a", "b", None, "a"], dtype=object), r"row 2"),
    "real numbers as labels": (X, [0.5, 1.0, 2.0, 0.1], r"Unknown label type: continuous. y\[0\] = 0.5"),
    "mixed labels": (X, np.array(["a", 1, "b", 2], dtype=object), r"all strings or all numbers"),
    "label sets without labels": (X, [set(), set(), set(), set()], r"no label at all"),
    "label sets of two kinds": (X, [{1}, {"a"}, {1}, set()], r"all strings or all numbers"),
    "dates as labels": (X, np.array(["2020-01-01"] * 4, "M8[D]"), r"Unknown label type"),
    "complex": (X + 1j, Y, r"[Cc]omplex"),
    "ragged lists": ([[1.0, 2.0], [3.0]], [0, 1], r"inhomogeneous|sequence"),
}


# one class is fine in a stream, and the model that the block meets is of float64 and has no names
ALLOWED_LATER = ("one class", "too large for float32", "a word in a frame", "label sets without labels")


@pytest.mark.parametrize("case", BAD_DATA)
def test_fit_says_what_is_wrong_with_the_data(case):
    bad, labels, message = BAD_DATA[case]
    model = Perceptron().fit(X, Y)
    before = copy.deepcopy(model)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(bad, labels)
    assert_unchanged(model, before)


@pytest.mark.parametrize("case", [name for name in BAD_DATA if name not in ALLOWED_LATER])
@pytest.mark.parametrize("combine", ["average", "vote", "pocket"])
def test_a_failing_partial_fit_keeps_the_last_good_state(case, combine):
    bad, labels, message = BAD_DATA[case]
    model = Perceptron(combine=combine).partial_fit(X, Y)
    before = copy.deepcopy(model)
    with pytest.raises((ValueError, TypeError), match=message):
        model.partial_fit(bad, labels)
    assert_unchanged(model, before)
    fresh = Perceptron(combine=combine)
    with pytest.raises((ValueError, TypeError)):
        fresh.partial_fit(bad, labels)
    assert fresh.partial_fit(X, Y).predict(X).shape == (4,)


def assert_unchanged(model, before):
    assert model.n_features_in_ == before.n_features_in_
    assert np.array_equal(model.classes_, before.classes_)
    for name, array in before._learner.weights.arrays.items():
        assert np.array_equal(model._learner.weights.arrays[name], array), name
    assert np.array_equal(model.decision_function(X), before.decision_function(X))
    assert model.history_ == before.history_
    assert model.t_ == before.t_


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, -1, 1], r"sample_weight\[2\] = -1.0.*not negative"),
        ([1, np.nan, 1, 1], r"sample_weight\[1\]"),
        ([1, np.inf, 1, 1], r"sample_weight\[1\]"),
        ([0, 0, 0, 0], r"All sample weights are zero"),
        ([1, 1], r"\(2,\).*4 rows"),
        ([[1, 1], [1, 1]], r"shape"),
        ([1, 1, 1e7, 1], r"at most 1e\+06.*Divide"),
    ],
)
def test_bad_sample_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        Perceptron().fit(X, Y, sample_weight=weights)
    model = Perceptron().partial_fit(X, Y)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, Y, sample_weight=weights)
    assert_unchanged(model, before)


@pytest.mark.parametrize("class_weight", [{0: -1}, {0: "a"}, {0: np.nan}, {7: 1.0}, "heavy", [1, 2], {0: 0.0, 1: 0.0}])
def test_bad_class_weights_are_refused(class_weight):
    with pytest.raises(ValueError, match="weight"):
        Perceptron(class_weight=class_weight).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("combine", "best"),
        ("combine", None),
        ("eta0", 0),
        ("eta0", -1.0),
        ("eta0", np.inf),
        ("eta0", "fast"),
        ("max_iter", -1),
        ("max_iter", 2.5),
        ("max_iter", True),
        ("tol", -1e-3),
        ("tol", np.nan),
        ("shuffle", "no"),
        ("fit_intercept", 2),
        ("init", "one"),
        ("init", 0),
        ("zero_score", "zero"),
        ("early_stopping", "yes"),
        ("validation_fraction", 0),
        ("validation_fraction", 1.0),
        ("n_iter_no_change", 0),
        ("max_seconds", 0),
        ("max_seconds", -1),
        ("warm_start", None),
        ("verbose", -1),
        ("verbose", "loud"),
        ("step", "passive"),
        ("step", 1),
        ("C", 0),
        ("C", -1.0),
        ("C", np.inf),
        ("margin", -0.1),
        ("margin", np.nan),
        ("margin", "wide"),
        ("penalty", "l3"),
        ("penalty", True),
        ("alpha", -1e-9),
        ("alpha", None),
        ("alpha", "auto"),
        ("l1_ratio", 1.5),
        ("batch_size", 0),
        ("batch_size", -3),
        ("batch_size", 2.5),
        ("batch_size", "whole"),
        ("batch_size", True),
        ("multiclass", "one-vs-rest"),
    ],
)
def test_unknown_parameter_values_are_refused_with_what_is_allowed(name, value):
    with pytest.raises(ValueError, match=f"{name} must be "):
        Perceptron(**{name: value}).fit(X, Y)
    with pytest.raises(ValueError, match=f"{name} must be "):
        Perceptron(**{name: value}).partial_fit(X, Y)
    with pytest.raises(ValueError, match=f"{name} must be "):
        Perceptron(**{name: value}).learn_one({"a": 1}, 0)


REFUSED = {
    "the step has its own length": ({"step": "pa", "eta0": 0.5}, "without eta0:"),
    "no loss at the zero start": ({"step": "pa1", "margin": 0}, "nothing is learned"),
    "a step for one example": ({"step": "pa2", "batch_size": 2}, "overshoots"),
    "a step for one example, all": ({"step": "arow", "batch_size": "all"}, "overshoots"),
    "confidence and a penalty": ({"step": "arow", "penalty": "l2"}, "could not restore weights that a penalty reduces"),
    "votes and a penalty": ({"combine": "vote", "penalty": "l1"}, "a penalty changes the weights at every example"),
    "a strength without a penalty": ({"alpha": 0.01}, "without a penalty, alpha has no effect"),
    "a share without an elastic net": ({"penalty": "l1", "l1_ratio": 0.5}, "only penalty='elasticnet' has an l1_ratio"),
    "an elastic net without a share": ({"penalty": "elasticnet", "l1_ratio": None}, "needs an l1_ratio"),
    "a penalty that takes all": ({"penalty": "l2", "alpha": 1.0}, "set all weights to 0"),
    "votes of other directions": ({"step": "arow", "combine": "vote"}, "AROW's updates are not multiples:"),
    "costs one-vs-rest": ({"multiclass": "ovr", "cost": {0: {1: 2}}}, "multiclass='joint'"),
    "costs one-vs-one": ({"multiclass": "ovo", "cost": {0: {1: 2}}}, "multiclass='joint'"),
    "votes one-vs-one": ({"multiclass": "ovo", "combine": "vote"}, "OneVsRestClassifier"),
    "pocket one-vs-rest": ({"multiclass": "ovr", "combine": "pocket"}, "OneVsRestClassifier"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_parameters_that_do_not_go_together_are_refused_with_a_reason(case):
    parameters, reason = REFUSED[case]
    for learn in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=f"does not work: .*{reason}"):
            getattr(Perceptron(**parameters), learn)(X, Y)
    with pytest.raises(ValueError, match=f"does not work: .*{reason}"):
        Perceptron(**parameters).learn_one({"a": 1}, 0)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"cost": {0: {1: 2}}}, "cost does not work with several labels"),
        ({"combine": "vote"}, "combine='vote' does not work with several labels per example:"),
        ({"combine": "pocket"}, "combine='pocket' does not work with several labels per example:"),
        ({"class_weight": "balanced", "batch_size": 2}, "cannot be combined for several labels per example:"),
    ],
)
def test_parameters_that_do_not_go_with_several_labels_are_refused(parameters, reason):
    Z = np.column_stack([Y, 1 - Y])
    with pytest.raises(ValueError, match=reason):
        Perceptron(**parameters).fit(X, Z)
    assert not hasattr(Perceptron(**parameters), "classes_")


def test_learn_one_refuses_batches():
    with pytest.raises(ValueError, match="learn_one learns from one example, not from batch_size=4: use partial_fit"):
        Perceptron(batch_size=4).learn_one([1.0], 0)


BAD_COSTS = {
    "negative": ([[0, -1], [1, 0]], r"cost\[0, 1\] = -1.0: .*not negative"),
    "not a number": ([[0, np.nan], [1, 0]], r"cost\[0, 1\]"),
    "infinite": ([[0, np.inf], [1, 0]], r"cost\[0, 1\]"),
    "on the diagonal": ([[0, 1], [1, 0.5]], r"cost\[1, 1\] = 0.5: the right prediction must cost 0"),
    "too small": ([[0]], r"shape \(1, 1\), but there are 2 classes"),
    "too large": (np.zeros((3, 3)), r"shape \(3, 3\), but there are 2 classes"),
    "one row": ([0, 1], r"shape \(2,\)"),
    "words": ([["a", "b"], ["c", "d"]], r"cost must be an array of numbers"),
    "a word": ("cheap", r"cost must be an array of numbers"),
    "unknown true class": ({5: {0: 1}}, r"cost names the class 5, which is not among \[0, 1\]"),
    "unknown answer": ({0: {"1": 1}}, r"cost names the class '1'"),
    "flat dict": ({0: 3}, r"cost\[0\] = 3: a dict of costs needs a dict of predicted classes"),
    "negative in a dict": ({0: {1: -2}}, r"cost\[0\]\[1\] = -2"),
    "text in a dict": ({0: {1: "2"}}, r"cost\[0\]\[1\] = '2'"),
    "diagonal in a dict": ({0: {0: 1}}, r"cost\[0\]\[0\] = 1: the right prediction must cost 0"),
    "unknown label in a frame": (pd.DataFrame([[0, 1], [1, 0]], index=["a", 1], columns=["a", 1]), r"class 'a'"),
}


@pytest.mark.parametrize("case", BAD_COSTS)
def test_bad_costs_are_refused(case):
    cost, message = BAD_COSTS[case]
    with pytest.raises(ValueError, match=message):
        Perceptron(cost=cost).fit(X, Y)
    if "unknown" not in case:  # in a stream, a dict may name what comes later
        model = Perceptron().partial_fit(X, Y)
        before = copy.deepcopy(model)
        with pytest.raises(ValueError, match=message):
            model.set_params(cost=cost).partial_fit(X, Y)
        assert_unchanged(model.set_params(cost=None), before)


def test_steps_that_would_overflow_are_refused_and_the_weights_stay_finite():
    far = np.array([[1e8, 1.0], [-1e8, 1.0], [1e-25, 0.0], [1e8, 2.0]] * 20, np.float32)
    labels = np.array([0, 1, 0, 1] * 20)
    model = Perceptron(step="pa", max_iter=50, tol=None, fit_intercept=False)
    with pytest.raises(ValueError, match=r"would overflow float32.*StandardScaler"):
        model.fit(far, labels)
    assert np.isfinite(model.coef_last_).all()
    assert np.isfinite(model.coef_average_).all()
    assert np.isfinite(Perceptron(step="pa1", max_iter=50, tol=None, C=0.1).fit(far, labels).coef_).all()


def test_what_a_model_was_begun_with_cannot_be_changed():
    many = np.array([0, 1, 2, 1])
    for before, after, message in (
        ({"multiclass": "ovr"}, {"multiclass": "joint"}, "created with multiclass='ovr',"),
        ({}, {"step": "arow"}, "to or from 'arow'"),
        ({"step": "arow"}, {"step": "pa"}, "to or from 'arow'"),
    ):
        model = Perceptron(**before).partial_fit(X, many)
        with pytest.raises(ValueError, match=message):
            model.set_params(**after).partial_fit(X, many)


def test_a_changed_number_of_features_is_refused():
    model = Perceptron().fit(X, Y)
    for call in (model.predict, model.decision_function, lambda Z: model.partial_fit(Z, Y)):
        with pytest.raises(ValueError, match=r"3 features.*2 features"):
            call(np.ones((4, 3)))
    with pytest.raises(ValueError, match="3 features, but the model has 2"):
        model.learn_one([1.0, 2.0, 3.0], 1)


def test_frames_with_other_names_are_refused():
    model = Perceptron().fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=["b", "a"]))


@pytest.mark.parametrize(
    ("x", "y", "error", "message"),
    [
        ({"a": np.nan}, 1, ValueError, "'a'.*finite"),
        ({"a": np.inf}, 1, ValueError, "'a'.*finite"),
        ({"a": None}, 1, TypeError, "'a'.*neither a number nor a string"),
        ({"a": b"1.5"}, 1, TypeError, "'a'.*neither a number nor a string"),
        ({0.5: 1.0}, 1, TypeError, "0.5 is float: feature names must be strings or whole numbers"),
        ({None: 1.0}, 1, TypeError, "names must be strings"),
        ({"new": 1.0}, np.nan, ValueError, "y contains NaN"),
        ({"new": 1.0}, None, ValueError, "missing label"),
        ({"new": 1.0}, "text", TypeError, "strings or numbers, not both"),
        ({"new": 1.0}, 0.5, ValueError, "not a class"),
        ([1.0, 2.0], 1, ValueError, "2 features, but the model has 1"),
        ([[1.0], [2.0]], 1, ValueError, "One example"),
        (["red"], 1, ValueError, "not a row of numbers"),
    ],
)
def test_a_failing_learn_one_changes_nothing(x, y, error, message):
    model = Perceptron().learn_one({"a": 1}, 0).learn_one({"a": -1}, 1)
    before = copy.deepcopy(model)
    with pytest.raises(error, match=message):
        model.learn_one(x, y)
    assert model.feature_names_in_.tolist() == before.feature_names_in_.tolist() == ["a"]
    assert np.array_equal(model.coef_, before.coef_)
    assert model.classes_.tolist() == [0, 1]
    assert model.t_ == 2


def test_dicts_mean_nothing_to_a_model_without_names():
    model = Perceptron().fit(X, Y)
    with pytest.raises(ValueError, match="columns without names"):
        model.learn_one({"a": 1}, 1)
    with pytest.raises(ValueError, match="columns without names"):
        model.predict_one({"a": 1})


@pytest.mark.parametrize(
    ("coef", "intercept", "message"),
    [
        (np.zeros(3), None, r"coef_init has shape \(3,\), but the model needs \(1, 2\)"),
        (np.zeros((2, 2)), None, r"coef_init"),
        (None, [0.0, 0.0], r"intercept_init"),
        ([np.nan, 0.0], None, r"coef_init contains NaN"),
    ],
)
def test_bad_start_weights_are_refused(coef, intercept, message):
    with pytest.raises(ValueError, match=message):
        Perceptron().fit(X, Y, coef_init=coef, intercept_init=intercept)


def test_balanced_weights_need_all_the_data():
    with pytest.raises(ValueError, match="n_rarest / n_other"):
        Perceptron(class_weight="balanced").partial_fit(X, Y)


def test_labels_outside_the_classes_named_are_refused():
    with pytest.raises(ValueError, match=r"\[1\], which are not in classes"):
        Perceptron().partial_fit(X, Y, classes=[0, 2])


def test_reading_an_unfitted_model_says_to_fit_it():
    model = Perceptron()
    for read in ("coef_", "intercept_", "classes_", "n_updates_", "coef_last_"):
        assert not hasattr(model, read)
        with pytest.raises(AttributeError, match="not fitted"):
            getattr(model, read)


def test_voting_has_no_single_weights_and_says_so():
    model = Perceptron(combine="vote").fit(X, Y)
    with pytest.raises(AttributeError, match="coef_average_"):
        _ = model.coef_
    other = Perceptron().fit(X, Y)
    with pytest.raises(ValueError, match="holds no votes"):
        other.set_params(combine="vote").predict(X)
    with pytest.raises(ValueError, match="holds no pocket"):
        other.set_params(combine="pocket").predict(X)
    assert not hasattr(other, "coef_")


def test_the_only_example_of_a_class_is_never_held_out():
    with pytest.raises(ValueError, match="every class has only one"):
        hold_out(np.array([0, 1, 2]), None, 0.5, 0)
    assert hold_out(np.array([0, 0, 1]), None, 0.9, 0)[1].tolist() in ([0], [1])


def test_a_large_learning_rate_leaves_less_room_for_large_values():
    assert Perceptron(eta0=1.0).fit(1e147 * X, Y).predict(X).shape == (4,)
    with pytest.raises(ValueError, match="too large for float64 scores"):
        Perceptron(eta0=1e8).fit(1e147 * X, Y)
    assert np.isfinite(Perceptron(eta0=1e8, max_iter=5).fit(1e139 * X, Y).coef_).all()


def test_an_intercept_to_start_from_needs_an_intercept():
    with pytest.raises(ValueError, match="fit_intercept=False"):
        Perceptron(fit_intercept=False).fit(X, Y, intercept_init=[1.0])
    assert Perceptron(fit_intercept=False).fit(X, Y, intercept_init=[0.0]).intercept_ == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda S: S.indices.__setitem__(1, 2_000_000_000), lambda S: S.indices.__setitem__(1, -5),
        lambda S: S.indices.__setitem__(1, 2), lambda S: S.indptr.__setitem__(2, 10**6),
        lambda S: S.indptr.__setitem__(slice(1, 3), [4, 1]),
    ],
)  # fmt: skip
def test_a_corrupt_sparse_matrix_is_refused_not_followed_out_of_memory(spoil):
    S = sp.csr_matrix(X + 1)
    spoil(S)
    for call in (Perceptron().fit, Perceptron().partial_fit):
        with pytest.raises(ValueError, match="corrupt sparse matrix"):
            call(S, Y)


def test_parameters_changed_after_the_start_are_checked_again():
    model = Perceptron(warm_start=True).fit(X, Y)
    before = copy.deepcopy(model)
    for change, message in (
        ({"combine": "vote"}, "holds no votes"),
        ({"combine": "pocket"}, "holds no pocket"),
        ({"fit_intercept": False}, "fit_intercept was changed"),
        ({"eta0": -5.0}, "eta0 must be"),
        ({"zero_score": "bogus"}, "zero_score must be"),
    ):
        model.set_params(**change)
        for call in (model.fit, model.partial_fit, lambda A, b: model.learn_one(A[0], b[0])):
            with pytest.raises(ValueError, match=message):
                call(X, Y)
        model.set_params(**{name: getattr(before, name) for name in change})
    assert_unchanged(model, before)
    with pytest.raises(ValueError, match="zero_score must be"):
        model.set_params(zero_score="bogus").predict(X)


def test_a_lazy_frame_is_refused_with_what_to_do(recwarn):
    frame = pl.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 1.0, 2.0, 2.0]})
    model, names = Perceptron().fit(frame, Y), Perceptron().fit(frame.to_numpy(), Y)
    for call in (
        lambda: Perceptron().fit(frame.lazy(), Y),
        lambda: model.predict(frame.lazy()),
        lambda: model.partial_fit(frame.lazy(), Y),
        lambda: names.predict(frame.lazy()),
    ):
        with pytest.raises(TypeError, match=r"lazy frame: call its collect\(\)"):
            call()
    assert not recwarn.list, "polars warns where the names of its columns are asked for"


def test_weights_so_small_that_they_vanish_are_refused():
    with pytest.raises(ValueError, match="at least 1e-20"):
        Perceptron().fit(X, Y, sample_weight=[1, 1, 1e-60, 1])


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ([{"a": 1}, {"b": 2}], TypeError, "DictVectorizer"),
        (np.array([["2020-01-01"], ["2021-01-01"]], "M8[D]"), TypeError, "dates"),
        (np.ma.masked_array([[1.0], [2.0]], [[True], [False]]), ValueError, "masked"),
        ([[10**400], [1]], ValueError, "row 0, column 0"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]}), ValueError, "NaN at row 1, column b"),
    ],
)
def test_things_that_numpy_would_take_for_numbers_are_refused(bad, error, message):
    with pytest.raises(error, match=message):
        Perceptron().fit(bad, [0, 1])


DAY = np.datetime64("2020-01-01")
UNREAL = {
    "complex numbers": np.array([1 + 5j, 2.0]),
    "a complex number in a list": [np.complex128(1 + 5j), 2.0],
    "a complex number in a list of one row": [[np.complex64(1 + 5j), 2.0]],
    "complex numbers among objects": np.array([np.complex128(1 + 5j), 2.0], object),
    "dates": np.array([DAY, DAY]),
    "a date in a list": [DAY, 2.0],
    "a time in a tuple": (np.timedelta64(3, "s"), 2.0),
    "a date among objects": np.array([DAY, 2.0], object),
    "masked values": np.ma.masked_array([1.0, 2.0], [True, False]),
}


@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
@pytest.mark.parametrize("case", UNREAL)
def test_complex_numbers_dates_and_masked_values_are_refused_through_every_door(case, kind):
    x = UNREAL[case]
    model = kind().fit(X, Y)
    model.learn_one(X[0], 0).learn_one(X[1], 1)  # the next ones take the short way
    state = model.t_, model.predict(X).tolist()
    rows = x if np.ndim(x) == 2 else [x] if not isinstance(x, np.ndarray) else x[None]
    for call in (
        lambda: kind().fit([*rows, *rows] if isinstance(rows, list) else np.ma.vstack([rows, rows]), [0, 1]),
        lambda: model.partial_fit(rows, [0]),
        lambda: model.predict(rows),
        lambda: kind().learn_one(x, 0),
        lambda: model.learn_one(x, 0),
        lambda: model.predict_one(x),
    ):
        with pytest.raises((TypeError, ValueError), match=r"Complex data not supported|dates or times|masked values"):
            call()
    assert (model.t_, model.predict(X).tolist()) == state


def test_a_frame_of_dates_alone_is_refused():
    with pytest.raises(TypeError, match="dates or times"):
        Perceptron().fit(pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2021-01-01"])}), [0, 1])


@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
def test_a_complex_value_of_a_dict_is_refused_from_the_first_and_later(kind):
    model = kind().learn_one({"a": 1.0}, 0).learn_one({"a": -1.0}, 1).learn_one({"a": 2.0}, 0)
    for call in (
        lambda x: kind().learn_one(x, 0),
        lambda x: model.learn_one(x, 0),
        lambda x: model.predict_one(x),
    ):
        with pytest.raises(TypeError, match=r"'a' is .* which is neither a number nor a string"):
            call({"a": np.complex128(1 + 5j)})
    assert model.t_ == 3


@pytest.mark.parametrize(
    ("x", "message"), [(3.0, "not an example"), (None, "not an example"), ([10**400], "not a row")]
)
def test_what_is_no_example_is_refused_from_the_first(x, message):
    with pytest.raises(ValueError, match=message):
        Perceptron().learn_one(x, 0)
    with pytest.raises(ValueError, match="finite"):
        Perceptron().learn_one({"a": 10**400}, 0)


def test_numbers_too_large_for_the_model_say_so():
    model = Perceptron().fit(X.astype(np.float32), Y)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="a number that is too large"):
        model.partial_fit(X * 1e300, Y)
    with pytest.raises(ValueError, match="coef_init contains"):
        Perceptron().fit(X.astype(np.float32), Y, coef_init=[[1e39, 0]])


def test_classes_that_are_no_list_of_labels_are_refused_by_name():
    with pytest.raises(ValueError, match="classes=2 is not a list of labels"):
        Perceptron().partial_fit(X, Y, classes=2)
    assert Perceptron().partial_fit(X, Y, classes={0, 1, 2}).classes_.tolist() == [0, 1, 2]


def test_a_negative_seed_is_refused_by_name():
    with pytest.raises(ValueError, match="random_state must be"):
        Perceptron(random_state=-1).fit(X, Y)
    assert Perceptron(max_iter=10**400).fit(X, Y).converged_


@pytest.mark.parametrize("name", ["sample_weight", "coef_init", "intercept_init"])
@pytest.mark.parametrize("words", [["a", "b", "c", "d"], [[1], [2, 3]], [10**400, 1, 1, 1]])
def test_arguments_that_are_no_numbers_are_named(name, words):
    with pytest.raises(ValueError, match=f"{name} must be an array of numbers"):
        Perceptron().fit(X, Y, **{name: words})


@pytest.mark.parametrize("labels", [["a", "b", "a"], [0, 1, 0]])
@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
def test_masked_labels_are_refused(kind, labels):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    kind().fit(X, np.ma.masked_array(labels, [False, False, False]))
    with pytest.raises(ValueError, match="masked labels"):
        kind().fit(X, np.ma.masked_array(labels, [False, False, True]))
