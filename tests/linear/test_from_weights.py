"""Models from given weights, starts of any kind, and classes in an order that the user gives."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from perceptrons import KernelPerceptron, Perceptron, load, save
from perceptrons.online import progressive
from tests.support.lecture import rosenblatt

CORNERS = [[0, 0], [0, 1], [1, 0], [1, 1]]
X = np.array([[1.0, 1.0], [2.0, 1.0], [1.5, 0.0], [0.5, 3.0]])
LABELS = np.array(["POS", "NEG", "NEU", "POS"])


def test_three_neurons_wired_by_hand_compute_xor():
    both = Perceptron.from_weights([1, 1], -1.5)
    either = Perceptron.from_weights([1, 1], -0.5)
    one = Perceptron.from_weights([1, -2], -0.5)
    hidden = np.column_stack([either.predict(CORNERS), both.predict(CORNERS)])
    assert one.predict(hidden).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("combine", ["average", "recent", "last", "vote", "pocket"])
def test_a_model_of_given_weights_predicts_by_them(combine):
    model = Perceptron.from_weights([3.0, 4.0], -5.0, classes=["no", "yes"], combine=combine)
    assert model.predict([[2, 2], [0, 0]]).tolist() == ["yes", "no"]
    assert model.predict_one([2, 2]) == "yes"
    assert (model.n_updates_, model.t_, model.n_iter_, model.stop_reason_) == (0, 0, 0, None)
    if combine != "vote":
        assert model.decision_function([[2, 2]]).tolist() == [9.0]


def test_a_model_of_given_weights_is_explained_and_converted():
    model = Perceptron.from_weights([3.0, 4.0], -5.0, classes=["no", "yes"], feature_names=["a", "b"])
    point = pd.DataFrame([[2.0, 2.0]], columns=["a", "b"])
    assert "a" in str(model.explain({"a": 2.0, "b": 2.0}))
    assert model.to_sklearn().predict(point).tolist() == ["yes"]


@pytest.mark.parametrize("again", [
    copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), "file",
])  # fmt: skip
def test_copies_and_files_keep_the_weights_and_the_order_of_the_classes(again, tmp_path):
    model = Perceptron.from_weights(np.eye(3, 2), [0, 1, 2], classes=["POS", "NEG", "NEU"], margin=None)
    if again == "file":
        save(model, tmp_path / "a.model")
        other = load(tmp_path / "a.model")
    else:
        other = again(model)
    assert other.classes_.tolist() == ["POS", "NEG", "NEU"]
    for one in (model, other):
        one.partial_fit(X, LABELS).learn_one(X[0], "NEU")
    assert np.array_equal(model.coef_last_, other.coef_last_)
    assert model.predict(X).tolist() == other.predict(X).tolist()
    assert clone(model).classes == ["POS", "NEG", "NEU"]


def test_given_weights_keep_training_as_a_start_does():
    y = [-1, 1, 1, -1]
    start = {"coef_init": [0.2, 0.0], "intercept_init": -0.1}
    fitted = rosenblatt(eta0=0.1, shuffle=False, max_iter=1, tol=None, combine="last").fit(X, y, **start)
    given = Perceptron.from_weights(
        [0.2, 0.0], -0.1, [-1, 1], eta0=0.1, shuffle=False, max_iter=1, tol=None, combine="last", margin=None,
        warm_start=True,
    )  # fmt: skip
    streams = [copy.deepcopy(given).fit(X, y), copy.deepcopy(given).partial_fit(X, y)]
    streams.append(copy.deepcopy(given))
    for x, label in zip(X, y, strict=True):
        streams[-1].learn_one(x, label)
    streams.append(rosenblatt(eta0=0.1, combine="last").partial_fit(X, y, **start))
    for model in streams:
        assert np.array_equal(model.coef_, fitted.coef_)
        assert np.array_equal(model.intercept_, fitted.intercept_)
        assert model.n_updates_ == fitted.n_updates_


def test_the_margin_of_given_weights_is_measured_by_the_first_examples():
    model = Perceptron.from_weights([0.0, 0.0])
    assert model.margin_ == 0
    model.partial_fit(X, [0, 1, 1, 0])
    assert model.margin_ == Perceptron(intercept_scaling=1).partial_fit(X, [0, 1, 1, 0]).margin_ > 0


def test_weights_of_float32_stay_so():
    assert Perceptron.from_weights(np.ones(3, np.float32)).coef_.dtype == np.float32


@pytest.mark.parametrize(("arguments", "match"), [
    (([[[1.0]]],), "coef has shape"),
    (([],), "coef has shape"),
    (([1.0, np.nan],), "coef contains NaN"),
    ((["a"],), "coef must be an array of numbers"),
    ((np.ones((3, 2)), [1.0, 2.0]), "intercept has shape"),
    ((np.ones((3, 2)), 0.0, ["a", "b"]), "coef has shape"),
    (([1.0], 0.0, ["a"]), "two or more different labels"),
    (([1.0], 0.0, ["a", "a"]), "two or more different labels"),
    (([1.0], 0.0, ["a", 1]), "classes="),
])  # fmt: skip
def test_weights_that_make_no_model_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        Perceptron.from_weights(*arguments)


def test_pairs_of_classes_and_names_are_checked():
    with pytest.raises(ValueError, match="name them"):
        Perceptron.from_weights(np.ones((3, 2)), multiclass="ovo")
    assert Perceptron.from_weights(np.ones((3, 2)), classes=list("abc"), multiclass="ovo").predict([[1, 1]]) == ["c"]
    with pytest.raises(ValueError, match="2 different names"):
        Perceptron.from_weights([1.0, 2.0], feature_names=["a", "a"])
    with pytest.raises(ValueError, match="fit_intercept=False"):
        Perceptron.from_weights([1.0, 2.0], 1.0, fit_intercept=False)


# ---- starts


def test_no_epochs_leave_the_start_as_it_is():
    model = rosenblatt(max_iter=0).fit(X, LABELS, np.eye(3, 2), [1.0, 2.0, 3.0])
    assert model.coef_.tolist() == np.eye(3, 2).tolist()
    assert model.intercept_.tolist() == [1.0, 2.0, 3.0]
    assert (model.n_iter_, model.t_, model.stop_reason_, model.history_) == (0, 0.0, "max_iter", [])
    assert KernelPerceptron(max_iter=0).fit(X, LABELS).predict(X).tolist() == ["NEG"] * 4
    assert rosenblatt(init="ones", max_iter=0).fit(X, [0, 1, 1, 0]).coef_.tolist() == [[1.0, 1.0]]


def test_a_model_without_epochs_is_saved_and_keeps_training(tmp_path):
    model = rosenblatt(max_iter=0).fit(X, LABELS)
    save(model, tmp_path / "none.model")
    other = load(tmp_path / "none.model")
    assert np.array_equal(other.partial_fit(X, LABELS).coef_, model.partial_fit(X, LABELS).coef_)


def test_a_start_is_for_the_first_block_only():
    model = rosenblatt().partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="for the first block"):
        model.partial_fit(X, LABELS, coef_init=np.eye(3, 2))


# ---- before the first example


@pytest.mark.parametrize(("zero_score", "answer"), [("mistake", "ham"), ("positive", "spam"), ("negative", "ham")])
def test_before_the_first_example_the_tie_of_the_lecture_is_answered(zero_score, answer):
    model = Perceptron(classes=["ham", "spam"], zero_score=zero_score)
    assert model.predict_one({"free": 1}) == model.predict_one([1.0, 2.0]) == answer
    assert not hasattr(model, "classes_")
    assert Perceptron(classes=["POS", "NEG", "NEU"]).predict_one({"free": 1}) == "POS"
    assert KernelPerceptron(classes=["POS", "NEG", "NEU"]).predict_one({"free": 1}) == "POS"
    assert Perceptron(classes=["-", "+"], init="ones").predict_one([1.0]) == "+"


def test_progressive_validation_counts_the_first_answer_if_there_is_one():
    stream = [({"a": 1}, "ham"), ({"b": 1}, "spam")]
    assert progressive(Perceptron(classes=["ham", "spam"]), stream).table[0] == (1, 0.0)
    assert progressive(Perceptron(), stream).table[0] == (1, 1.0)


def test_no_epochs_of_a_stream_are_refused():
    with pytest.raises(ValueError, match="max_iter=0: give a whole number of at least 1"):
        Perceptron(max_iter=0).fit_stream([(X, LABELS)], epochs=None)


def test_a_stream_keeps_training_given_weights():
    given = {"eta0": 0.1, "margin": None, "shuffle": False, "combine": "last"}
    model = Perceptron.from_weights([0.2, 0.0], -0.1, [-1, 1], warm_start=True, **given)
    model.fit_stream([(X[:3], [-1, 1, 1]), (X[3:], [-1])])
    expected = rosenblatt(**given, max_iter=1, tol=None).fit(X, [-1, 1, 1, -1], [0.2, 0.0], -0.1)
    assert np.array_equal(model.coef_, expected.coef_)


def test_without_classes_there_is_no_answer_before_the_first_example():
    with pytest.raises(NotFittedError):
        Perceptron().predict_one({"free": 1})


# ---- the order of classes


def learned(kind, **parameters):
    model = Perceptron(combine="last", shuffle=False, max_iter=3, tol=None, **parameters)
    if kind == "fit":
        return model.fit(X, LABELS)
    if kind == "stream":
        return model.fit_stream([(X[:2], LABELS[:2]), (X[2:], LABELS[2:])], epochs=3)
    for _ in range(3):
        if kind == "partial_fit":
            model.partial_fit(X, LABELS)
        else:
            for x, label in zip(X, LABELS, strict=True):
                model.learn_one(x, str(label))
    return model


@pytest.mark.parametrize("kind", ["fit", "partial_fit", "learn_one", "stream"])
def test_the_order_of_classes_is_that_of_the_rows(kind):
    order = ["POS", "NEG", "NEU"]
    model = learned(kind, margin=None, intercept_scaling=1, classes=order)
    assert model.classes_.tolist() == order
    assert np.array_equal(model.coef_, learned("fit", margin=None, intercept_scaling=1, classes=order).coef_)
    # relabelled so that the sorted order is that one, it is the same training
    alike = Perceptron(combine="last", shuffle=False, max_iter=3, tol=None, margin=None, intercept_scaling=1)
    alike.fit(X, [order.index(label) for label in LABELS])
    assert np.array_equal(model.coef_, alike.coef_)
    assert [order.index(label) for label in model.predict(X)] == alike.predict(X).tolist()


def test_of_two_classes_the_first_is_the_negative_one():
    y = ["yes", "no", "no", "yes"]
    one = rosenblatt(shuffle=False).fit(X, y)
    other = rosenblatt(shuffle=False, classes=["yes", "no"]).fit(X, y)
    assert np.array_equal(one.coef_, -other.coef_)
    assert one.predict(X).tolist() == other.predict(X).tolist()
    assert other.score(X, y) == one.score(X, y)


def test_a_class_that_is_named_but_never_comes_has_no_weight_in_the_balance():
    order = ["NEU", "POS", "NEG", "ODD"]
    model = rosenblatt(class_weight="balanced", classes=order).fit(X, LABELS)
    told = rosenblatt(class_weight={"POS": 0.5}, classes=order).fit(X, LABELS)
    assert np.array_equal(model.coef_, told.coef_)


def test_ties_go_to_the_first_class_of_the_order():
    assert rosenblatt(classes=["POS", "NEG", "NEU"], max_iter=0).fit(X, LABELS).predict(X).tolist() == ["POS"] * 4


@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
def test_labels_outside_the_order_are_refused_at_every_door(kind):
    model = kind(classes=["POS", "NEG"])
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"\['NEU'\], which are not in classes"):
            learn(X, LABELS)
    with pytest.raises(ValueError, match=r"\['NEU'\], which are not in classes"):
        model.learn_one(X[0], "NEU")
    model.partial_fit(X[:2], LABELS[:2])
    with pytest.raises(ValueError, match=r"\['NEU'\], which are not in classes"):
        model.learn_one(X[0], "NEU")
    with pytest.raises(ValueError, match="classes was changed"):
        model.set_params(classes=["NEG", "POS"]).partial_fit(X[:2], LABELS[:2])


def test_one_class_is_enough_where_the_others_are_named():
    model = rosenblatt(classes=["-", "+"], shuffle=False).fit(X, ["+"] * 4)
    assert model.predict(X).tolist() == ["+"] * 4
    with pytest.raises(ValueError, match="only one class"):
        rosenblatt().fit(X, ["+"] * 4)


def test_several_labels_have_no_order():
    with pytest.raises(ValueError, match="one label per example"):
        Perceptron(classes=["a", "b"]).fit(X, [["a"], ["b"], ["a", "b"], []])


def test_the_order_of_classes_of_a_kernel_survives_a_file(tmp_path):
    model = KernelPerceptron(classes=["POS", "NEG", "NEU"], shuffle=False).fit(X, LABELS)
    save(model, tmp_path / "kernel.model")
    other = load(tmp_path / "kernel.model")
    assert other.classes_.tolist() == ["POS", "NEG", "NEU"]
    assert other.predict(X).tolist() == model.predict(X).tolist() == LABELS.tolist()
