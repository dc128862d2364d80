"""One-vs-rest, one-vs-one and several labels (spec 3) equal a binary perceptron for every problem, by weights."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

import perceptrons
from tests.conftest import gaussian, whole_numbers
from tests.linear.test_large_margin import N, assert_same, completed, orders, weights_for
from tests.reference import wrappers
from tests.support.lecture import rosenblatt

OPTIONS = [
    {},
    {"margin": 0.7},
    {"penalty": "l2", "alpha": 0.05},
    {"penalty": "l2", "alpha": 0.6, "margin": 1.0},
    {"penalty": "l2", "alpha": 1e-5},
    {"batch_size": 7},
    {"batch_size": "all", "penalty": "l2", "alpha": 0.01},
    {"batch_size": 4, "margin": 0.5},
    {"step": "pa"},
    {"step": "pa1", "penalty": "l2", "alpha": 0.02},
    {"step": "pa2"},
    {"step": "arow"},
]
SCHEMES = {"ovr": wrappers.one_vs_rest, "ovo": wrappers.one_vs_one}


def as_reference(options):
    options = completed(options)
    del options["cost"]
    if options["margin"] is None:
        options["margin"] = 0.0 if options["step"] == "constant" else 1.0
    return options


def check(model, run):
    assert_same(model, run)
    assert model.mistakes_.tolist() == run.mistakes
    if model.step not in ("pa", "pa1"):  # they end on the margin, where asking for more is a matter of rounding
        assert [row["updates"] for row in model.history_] == run.updates
    assert_allclose([row["loss"] for row in model.history_], run.losses, rtol=1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_wrappers_equal_a_binary_perceptron_for_every_problem(form, scheme, k, weighted, options, rng):
    X, y = gaussian(rng, N, 6, k)
    X[rng.random(X.shape) < 0.3] = 0
    weights = weights_for(options.get("step", ""), rng) if weighted else None
    model = rosenblatt(multiclass=scheme, max_iter=3, tol=None, **options).fit(form(X), y, sample_weight=weights)
    run = SCHEMES[scheme](X, y, orders(epochs=model.n_iter_), k, weights=weights, **as_reference(options))
    check(model, run)
    assert model.coef_.shape == (1 if k == 2 else k if scheme == "ovr" else k * (k - 1) // 2, 6)
    assert model.t_ == pytest.approx(model.n_iter_ * (N if weights is None else weights.sum()))
    model.set_params(combine="last")
    if k == 2 or scheme == "ovr":
        assert np.array_equal(model.predict(X), wrappers.predict_one_vs_rest(run.w, run.b, X))
    else:
        decision, labels = wrappers.predict_one_vs_one(run.w, run.b, X, k)
        assert_allclose(model.decision_function(X), decision, rtol=1e-9, atol=1e-12)
        assert np.array_equal(model.predict(X), labels)
    assert model.predict_one(X[0]) == model.predict(X[:1])[0]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_wrappers_equal_scikit_learns_around_our_binary_perceptron(layout, scheme, rng):
    X, y = gaussian(rng, 150, 5, 4)
    outer = {"ovr": OneVsRestClassifier, "ovo": OneVsOneClassifier}[scheme]
    rows = layout(X)
    theirs = outer(rosenblatt(shuffle=False, max_iter=4, tol=None)).fit(rows, y)
    ours = rosenblatt(multiclass=scheme, shuffle=False, max_iter=4, tol=None).fit(rows, y)
    assert_allclose(ours.coef_, np.concatenate([inner.coef_ for inner in theirs.estimators_]), rtol=1e-12, atol=1e-12)
    assert_allclose(ours.decision_function(rows), theirs.decision_function(rows), rtol=1e-9)
    assert np.array_equal(ours.predict(rows), theirs.predict(rows))


@pytest.mark.parametrize(
    "options",
    [{}, {"penalty": "l2", "alpha": 0.02}, {"step": "arow"}, {"init": "ones", "penalty": "l2", "alpha": 0.3}],
    ids=str,
)
@pytest.mark.parametrize("scheme", ["ovr", "ovo", "labels"])
@pytest.mark.parametrize("how", ["blocks", "one by one", "saved in between"])
def test_fit_and_streams_learn_the_same(form, scheme, how, options, rng, tmp_path):
    X, y = gaussian(rng, 50, 5, 4)
    rows = form(X)
    if scheme == "labels":
        y = [{"abcd"[c], "xyz"[int(x > 0)]} for c, x in zip(y, X[:, 0], strict=True)]
        y[:2] = [{"a", "b", "c", "d", "x", "y"}, set()]
        options = options | {"multiclass": "joint"}
    else:
        options = options | {"multiclass": scheme}
    whole = rosenblatt(shuffle=False, max_iter=1, tol=None, **options).fit(rows, y)
    model = rosenblatt(**options)
    for start, end in itertools.pairwise(range(51) if how == "one by one" else (0, 1, 3, 30, 50)):
        if how == "one by one" and start:
            model.learn_one(rows[start], y[start])
        else:
            model.partial_fit(rows[start:end], y[start:end], classes=whole.classes_)
        if how == "saved in between":
            perceptrons.save(model, tmp_path / "model")
            model = perceptrons.load(tmp_path / "model")
    assert_allclose(model.coef_average_, whole.coef_average_, rtol=1e-12, atol=1e-13)
    assert_allclose(model.coef_last_, whole.coef_last_, rtol=1e-12, atol=1e-13)
    assert list(model.predict(rows)) == list(whole.predict(rows))
    assert model.t_ == whole.t_ == 50


@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo"])
@pytest.mark.parametrize("options", [{}, {"penalty": "l2", "alpha": 0.01}, {"step": "arow"}, {"init": "ones"}], ids=str)
def test_classes_may_come_later(form, scheme, options, rng):
    X, y = whole_numbers(rng, 400, 6, 4)
    names = np.array(["m", "c", "x", "a"])[y]  # the later ones sort before, between and behind
    X, names = X[np.argsort(y, kind="stable")], names[np.argsort(y, kind="stable")]
    model = rosenblatt(multiclass=scheme, **options)
    if options.get("init") == "ones":
        model.partial_fit(form(X[:1]), names[:1], classes=["c", "m"])
    for part in np.array_split(np.arange(400), 23):
        model.partial_fit(form(X[part]), names[part])
    assert model.classes_.tolist() == ["a", "c", "m", "x"]
    assert model.coef_.shape[0] == (6 if scheme == "ovo" else 4)
    for _ in range(3):
        for part in np.array_split(rng.permutation(400), 9):
            model.partial_fit(form(X[part]), names[part])
    assert model.score(X, names) > 0.5
    assert np.isfinite(model.coef_).all()
    for row in X[:5]:
        assert model.predict_one(row) == model.predict(row[None])[0]


# with class weights batches are refused, and further visits after "pa" and "pa1" a matter of rounding: see weights_for
WEIGHTED = [rule for rule in OPTIONS if "batch_size" not in rule and rule.get("step") not in ("pa", "pa1")]


@pytest.mark.parametrize(
    ("class_weight", "options"),
    [(None, rule) for rule in OPTIONS]
    + [(weight, rule) for weight in ({0: 2, 2: 0.5}, "balanced") for rule in WEIGHTED],
    ids=str,
)
def test_several_labels_equal_a_binary_perceptron_for_every_label(form, class_weight, options, rng):
    X = rng.standard_normal((64, 5))
    Y = (X @ rng.standard_normal((5, 4)) + rng.standard_normal((64, 4)) > 0).astype(int)
    Y[:16, 1], Y[16:, 1] = 1, 0  # a quarter: balanced weights are exact
    Y[:32, 2], Y[32:, 2] = 0, 1
    Y[:, 0], Y[:, 3] = Y[:, 1], Y[:, 2]
    model = rosenblatt(max_iter=3, tol=None, class_weight=class_weight, **options).fit(form(X), Y)
    run = wrappers.several_labels(X, Y, orders(64, model.n_iter_), class_weight=class_weight, **as_reference(options))
    check(model, run)
    predicted = model.set_params(combine="last").predict(X)
    assert np.array_equal(predicted, wrappers.predict_several_labels(run.w, run.b, X))


def label_data(rng):
    X = rng.standard_normal((120, 6))
    return X, (X @ rng.standard_normal((6, 3)) > 0.3).astype(int)


FORMS = {
    "array": lambda Y: Y,
    "booleans": lambda Y: Y.astype(bool),
    "floats": lambda Y: Y.astype(float),
    "lists of 0 and 1": lambda Y: Y.tolist(),
    "sparse": lambda Y: sp.csr_matrix(Y),
    "sparse array": lambda Y: sp.coo_array(Y),
    "sets": lambda Y: [{"abc"[k] for k in np.flatnonzero(row)} for row in Y],
    "frozensets": lambda Y: [frozenset("abc"[k] for k in np.flatnonzero(row)) for row in Y],
    "tuples": lambda Y: [tuple("abc"[k] for k in np.flatnonzero(row)) for row in Y],
    "lists": lambda Y: [["abc"[k] for k in np.flatnonzero(row)] for row in Y],
    "sets of numbers": lambda Y: [set(np.flatnonzero(row).tolist()) for row in Y],
}


@pytest.mark.parametrize("form", FORMS)
def test_several_labels_come_back_in_the_form_they_were_given(form, rng, tmp_path):
    X, Y = label_data(rng)
    expected = rosenblatt().fit(X, Y)
    y = FORMS[form](Y)
    model = rosenblatt().fit(X, y)
    perceptrons.save(model, tmp_path / "model")
    for trained in (model, perceptrons.load(tmp_path / "model")):
        assert np.array_equal(trained.coef_, expected.coef_)
        predicted = trained.predict(X)
        if form.startswith("sparse"):
            assert sp.issparse(predicted)
            assert np.array_equal(predicted.toarray(), expected.predict(X))
        elif form in ("array", "booleans", "floats", "lists of 0 and 1"):
            assert np.array_equal(predicted, expected.predict(X))
        else:
            assert type(predicted) is list
            assert {type(labels) for labels in predicted} == {type(y[0])}
            names = [0, 1, 2] if "numbers" in form else list("abc")
            again = [[names[k] in labels for k in range(3)] for labels in predicted]
            assert np.array_equal(again, expected.predict(X))
        assert trained.score(X, y) == expected.score(X, Y) > 0.8
        one = trained.predict_one(X[0])
        assert np.array_equal(one.toarray() if sp.issparse(one) else one, _first(predicted))


def _first(predicted):
    return predicted[:1].toarray() if sp.issparse(predicted) else predicted[0]


def test_labels_never_seen_before_are_learned(rng):
    X, Y = label_data(rng)
    sets = FORMS["sets"](Y)
    model = rosenblatt(penalty="l2", alpha=0.001)
    for x, labels in zip(X[:60], sets[:60], strict=True):
        model.learn_one(x, labels if labels else {"b"})
    model.partial_fit(X[60:], [labels | {"0 new"} for labels in sets[60:]])
    assert model.classes_.tolist() == ["0 new", "a", "b", "c"]
    assert sum("0 new" in labels for labels in model.predict(X)) > 60
    with pytest.raises(ValueError, match="created with label sets, but y is now single labels"):
        model.partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="created with label sets, but y is now an indicator matrix"):
        model.partial_fit(X, Y)


def test_a_label_that_all_or_none_have_is_learned_as_such(rng):
    X, Y = label_data(rng)
    Y[:, 0], Y[:, 1] = 0, 1
    predicted = rosenblatt().fit(X, Y).predict(X)
    assert not predicted[:, 0].any()
    assert predicted[:, 1].all()


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "labels"])
def test_early_stopping_scores_the_weights_it_returns(scheme, rng):
    X, y = gaussian(rng, 400, 8, 4)
    if scheme == "labels":
        y = np.column_stack([y == 1, y > 1, X[:, 0] > 0]).astype(int)
    kind = {} if scheme == "labels" else {"multiclass": scheme}
    model = rosenblatt(early_stopping=True, max_iter=30, **kind).fit(X, y)
    best = max(row["validation_accuracy"] for row in model.history_)
    codes = np.zeros(400, int) if scheme == "labels" else y
    from perceptrons.engine.training.epochs import hold_out

    _, held_out = hold_out(codes, None, 0.1, 0)
    assert model.score(X[held_out], y[held_out]) == pytest.approx(best)


@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo"])
@pytest.mark.parametrize(
    "options", [{}, {"margin": 1.0, "penalty": "l2", "alpha": 0.01}, {"batch_size": 4}, {"step": "arow"}], ids=str
)
def test_whole_number_weights_equal_repeating_on_the_spot(form, scheme, options, rng):
    X, y = gaussian(rng, 40, 5, 3)
    weights = rng.integers(0, 4, 40)
    weights[:3] = 1
    by_class = {0: 1, 1: 2, 2: 3}
    model = rosenblatt(multiclass=scheme, shuffle=False, max_iter=3, tol=None, class_weight=by_class, **options)
    model.fit(form(X), y, sample_weight=weights)
    times = weights * (y + 1)
    repeated = rosenblatt(multiclass=scheme, shuffle=False, max_iter=3, tol=None, **options)
    repeated.fit(form(np.repeat(X, times, axis=0)), np.repeat(y, times))
    assert_allclose(model.coef_last_, repeated.coef_last_, rtol=1e-12, atol=1e-13)
    assert_allclose(model.coef_average_, repeated.coef_average_, rtol=1e-12, atol=1e-13)
    assert model.t_ == repeated.t_
