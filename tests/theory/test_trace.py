"""The trace of a training: every visit as the references make it, in every form."""

import csv
import io
import json
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from perceptrons import KernelPerceptron, Perceptron
from perceptrons.theory import trace
from tests.reference import binary, multiclass
from tests.support.lecture import rosenblatt
from tests.test_spec_examples import WORDS, bag

LECTURE = {"eta0": 0.1, "coef_init": [0.2, 0.0], "intercept_init": -0.1}


def blobs(n=40, d=3, classes=2, seed=0):
    """Examples of whole numbers, so that all sums are exact."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return rng.integers(-4, 5, (n, d)) + 2.0 * rng.integers(-1, 2, (classes, d))[y], y


def test_the_binary_worked_example_is_traced_line_by_line():
    found = trace([[1, 1], [2, 1], [1.5, -40]], [-1, 1, 1], visits=3, **LECTURE)
    assert [visit.verdict for visit in found] == ["mistake", "mistake", "right"]
    np.testing.assert_allclose([visit.margin for visit in found], [-0.1, -0.1, 0.35], atol=1e-15)
    np.testing.assert_allclose([visit.coef for visit in found], [[0.1, -0.1], [0.3, 0], [0.3, 0]], atol=1e-15)
    np.testing.assert_allclose([visit.intercept for visit in found], [-0.2, -0.1, -0.1], atol=1e-15)
    assert [(visit.k, visit.epoch, visit.example) for visit in found] == [(1, 1, 0), (2, 1, 1), (2, 1, 2)]


def test_the_multiclass_worked_example_shows_both_rows_that_moved():
    start = Perceptron.from_weights(
        np.zeros((3, 8)), [1, 0, 0], classes=["POS", "NEG", "NEU"], feature_names=WORDS, margin=None, shuffle=False
    )
    X = pd.DataFrame([bag("not funny at all"), bag("painful, not funny")], columns=WORDS)
    first, second = trace(X, ["NEG", "NEG"], start, visits=2)
    assert (first.predicted, first.moved, first.margin) == ("POS", ("POS", "NEG"), -1.0)
    assert first.coef[:, :3].tolist() == [[-1, -1, 0], [1, 1, 0], [0, 0, 0]]
    assert first.intercept.tolist() == [0, 1, 0]
    assert (second.score.tolist(), second.moved, second.mistake) == ([-2, 3, 0], (), False)
    assert start.n_updates_ == 0
    assert start.intercept_.tolist() == [1, 0, 0]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("zero_score", ["mistake", "correct", "positive", "negative"])
def test_every_visit_of_two_classes_is_that_of_the_reference(zero_score, sparse):
    X, y = blobs()
    signs = np.where(y == 1, 1, -1)
    start = np.array([1.0, -1.0, 2.0])
    expected = binary.train(X, signs, [range(len(X))] * 3, zero_score=zero_score, w=start, b=1.0)
    found = trace(
        sp.csr_matrix(X) if sparse else X, y, rosenblatt(zero_score=zero_score, shuffle=False, tol=None, max_iter=3),
        coef_init=start, intercept_init=1.0,
    )  # fmt: skip
    assert len(found) == len(expected.path) == 3 * len(X)
    for place, visit in enumerate(found):
        w, b, _ = expected.path[place]
        assert np.array_equal(visit.coef, w)
        assert visit.intercept == b
        assert np.array_equal(visit.x, X[visit.example])
        mean_w, mean_b = binary.mean_over(expected.path[: place + 1])
        np.testing.assert_allclose(visit.coef_average, mean_w, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(visit.intercept_average, mean_b, rtol=1e-12, atol=1e-14)
    assert found.updates == expected.updates
    by_epoch = [sum(visit.mistake for visit in found if visit.epoch == epoch) for epoch in (1, 2, 3)]
    assert by_epoch == expected.mistakes


def test_every_visit_of_three_classes_is_that_of_the_reference():
    X, y = blobs(classes=3, seed=1)
    expected = multiclass.train(X, y, [range(len(X))] * 2, n_classes=3)
    found = trace(X, y, rosenblatt(shuffle=False, tol=None, max_iter=2))
    assert [np.array_equal(visit.coef, path[0]) for visit, path in zip(found, expected.path, strict=True)] == [
        True
    ] * len(expected.path)
    assert all(visit.y in visit.moved and len(visit.moved) == 2 for visit in found if visit.update)
    assert not any(visit.moved for visit in found if not visit.update)
    assert found.mistakes == sum(expected.mistakes)


@pytest.mark.parametrize("parameters", [
    {}, {"combine": "last", "margin": 0.0}, {"step": "pa1"}, {"step": "arow"}, {"penalty": "l2", "alpha": 0.01},
    {"penalty": "l1", "alpha": 0.01}, {"batch_size": 7}, {"batch_size": "all"}, {"multiclass": "ovr"},
    {"multiclass": "ovo"}, {"combine": "vote"}, {"combine": "pocket"},
    {"early_stopping": True}, {"combine": "recent", "window": 20},
])  # fmt: skip
def test_the_weights_after_the_last_visit_are_those_of_fit(parameters):
    X, y = blobs(60, classes=3, seed=2)
    model = Perceptron(max_iter=4, tol=None, **parameters)
    found = trace(X, y, model)
    fitted = Perceptron(max_iter=4, tol=None, **parameters).fit(X, y)
    np.testing.assert_allclose(found.model.coef_last_, fitted.coef_last_, rtol=1e-12)
    assert found.model.n_updates_ == fitted.n_updates_
    if not parameters.get("early_stopping"):  # which returns to the best epoch
        np.testing.assert_allclose(found[-1].coef, fitted.coef_last_, rtol=1e-12)
        assert found[-1].k == found.updates == fitted.n_updates_
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("batch_size", [1, 7, "all"])
def test_weighted_examples_are_traced_as_they_are_learned(batch_size):
    X, y = blobs(60, classes=3, seed=2)
    weight = np.arange(60) % 3 / 2
    model = rosenblatt(max_iter=3, tol=None, batch_size=batch_size)
    found = trace(X, y, model, sample_weight=weight)
    np.testing.assert_allclose(found[-1].coef, model.fit(X, y, sample_weight=weight).coef_last_, rtol=1e-12)
    if batch_size == 1:
        assert found.updates == model.n_updates_


def test_a_kernel_is_traced_by_its_alphas():
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]]), np.array([0, 1, 1, 0])
    found = trace(X, y, KernelPerceptron(kernel="poly", gamma=1, degree=2, shuffle=False, tol=None))
    alpha, signs, K = np.zeros(4), np.where(y == 1, 1, -1), (X @ X.T + 1) ** 2
    for visit in found:
        i = visit.example
        score = (alpha * signs) @ K[:, i]
        assert visit.score == score
        assert visit.mistake == (signs[i] * score <= 0)
        alpha[i] += visit.mistake
        assert visit.alpha.tolist() == alpha.tolist()
    assert found.model.stop_reason_ == "converged"
    assert "alpha" in str(found)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_the_rows_of_one_vs_one_are_numbered_and_those_that_changed_are_shown(n_classes):
    X, y = blobs(24, classes=n_classes, seed=3)
    found = trace(X, np.array(list("abcd"))[y], rosenblatt(multiclass="ovo", max_iter=2, tol=None, shuffle=False))
    pairs = range(n_classes * (n_classes - 1) // 2)
    assert {row for visit in found for row in visit.moved} == set(pairs)
    columns = [name.split("_") for name in found.to_records()[0]]
    assert {parts[1] for parts in columns if parts[0] == "w"} == set(map(str, pairs))
    assert all(f"{pair}: " in str(found) for pair in pairs)


def test_a_trace_stops_after_as_many_visits_or_updates_as_are_asked_for():
    X, y = blobs()
    whole = trace(X, y, max_iter=3)
    for n in (0, 1, 17, 55):
        part = trace(X, y, max_iter=3, visits=n)
        assert [visit.k for visit in part] == [visit.k for visit in whole[:n]]
        assert part.model.t_ == n
    part = trace(X, y, max_iter=3, updates=5)
    assert part.updates == part[-1].k == 5
    assert part[-1].update
    assert part.model.n_updates_ == 5


def test_a_fitted_model_keeps_training_from_its_weights_and_is_not_changed():
    X, y = blobs()
    model = rosenblatt(shuffle=False, tol=None, max_iter=2, combine="last").fit(X, y)
    before = model.coef_
    found = trace(X, y, model)
    assert np.array_equal(found.start.coef, before)
    assert np.array_equal(model.coef_, before)
    assert [visit.epoch for visit in found[:: len(X)]] == [3, 4]
    assert np.array_equal(
        found[-1].coef, rosenblatt(shuffle=False, tol=None, max_iter=4, combine="last").fit(X, y).coef_[0]
    )


@pytest.mark.parametrize(("label", "pair"), [(-1, [-1, 1]), (1, [-1, 1]), (0, [0, 1]), (False, [False, True])])
def test_one_class_alone_is_enough_if_its_label_says_which_it_is(label, pair):
    found = trace([[1.0, 1.0]], [label], visits=1, **LECTURE)
    assert found.classes.tolist() == pair
    assert found[0].margin == pytest.approx(0.1 if label == 1 else -0.1)


def test_one_class_alone_with_a_name_needs_the_other():
    with pytest.raises(ValueError, match=r"'spam'.*classes="):
        trace([[1.0]], ["spam"])
    assert trace([[1.0]], ["spam"], classes=["ham", "spam"], visits=1)[0].mistake


def test_all_forms_tell_the_same():
    found = trace([[1, 1], [2, 1], [1.5, 0]], [-1, 1, 1], visits=3, **LECTURE)
    frame, plain = found.to_frame(), found.to_dict()
    assert frame["k"].tolist() == [1, 2, 2]
    np.testing.assert_allclose(frame[["w_x0", "w_x1", "b"]].to_numpy()[-1], [0.3, 0, -0.1])
    lines = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [float(line["margin"]) for line in lines] == frame["margin"].tolist()
    assert json.loads(json.dumps(plain))["visits"][1]["coef"] == found[1].coef.tolist()
    assert plain["start"]["coef"] == [0.2, 0.0]
    text, page, tex = str(found), found._repr_html_(), found.to_latex()
    for told in (text, page, tex):
        assert told.count("mistake") == 2
        assert "(0.1, -0.1)" in told
    assert tex.count(r"\\") == 5
    assert page.count("<tr>") == 5


def test_csv_is_written_to_a_file(tmp_path):
    found = trace([[1, 1], [2, 1]], [-1, 1], visits=2, **LECTURE)
    assert found.to_csv(tmp_path / "trace.csv") is None
    assert (tmp_path / "trace.csv").read_text() == found.to_csv()


def test_names_of_features_and_labels_are_escaped():
    X = pd.DataFrame(np.eye(7), columns=[f"<b>{i}_" for i in range(7)])
    found = trace(X, ["a&b", "<i>"] * 3 + ["a&b"], visits=2)
    assert "<b>" not in found._repr_html_()
    assert r"a\&b" in found.to_latex()


@pytest.mark.parametrize(("arguments", "match"), [
    ({"visits": -1}, "visits=-1"),
    ({"updates": 1.5}, "updates=1.5"),
    ({"model": Perceptron(), "eta0": 2.0}, "'eta0' is a parameter of a model"),
    ({"model": KernelPerceptron(), "coef_init": [1.0, 1.0]}, "coef_init is for linear models"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        trace([[1.0, 2.0], [2.0, 1.0]], [0, 1], **arguments)


def test_other_models_and_several_labels_are_refused():
    with pytest.raises(TypeError, match="not a dict"):
        trace([[1.0]], [1], {})
    with pytest.raises(ValueError, match="several labels"):
        trace([[1.0], [2.0]], [["a", "b"], ["a"]])


def test_a_trace_too_large_for_memory_says_so(monkeypatch):
    monkeypatch.setattr(import_module("perceptrons.theory.trace"), "MAX_RECORDED_NUMBERS", 10_000)
    with pytest.raises(ValueError, match="give visits="):
        trace(sp.random(50, 300, 0.1, format="csr", random_state=0), np.arange(50) % 2, max_iter=10)
    assert len(trace(sp.random(5, 300, 0.1, format="csr", random_state=0), np.arange(5) % 2, max_iter=1)) == 5
