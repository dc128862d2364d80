"""Learning from streams: new classes, new features, one example at a time (spec 10)."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from perceptrons import Perceptron
from perceptrons.engine.training.epochs import hold_out
from perceptrons.online import progressive
from tests.conftest import whole_numbers
from tests.reference import binary, multiclass
from tests.support.lecture import rosenblatt


def words(text):
    return dict.fromkeys(text.split(), 1.0)


def test_dict_features_learn_the_same_weights_as_columns(rng):
    X, y = whole_numbers(rng, 60, 5, 2)
    by_name, by_column = rosenblatt(), rosenblatt()
    for x, label in zip(X, y, strict=True):
        by_name.learn_one({f"f{j}": value for j, value in enumerate(x)}, label)
        by_column.learn_one(x, label)
    places = [by_name.feature_names_in_.tolist().index(f"f{j}") for j in range(5)]
    assert np.array_equal(by_name.coef_[:, places], by_column.coef_)
    assert np.array_equal(by_name.intercept_, by_column.intercept_)
    assert by_name.n_features_in_ == 5


def test_features_that_appear_later_are_averaged_as_zero_before():
    model = rosenblatt(fit_intercept=False)
    model.learn_one({"a": 1}, "x").learn_one({"a": 1}, "y").learn_one({"b": 2}, "y")
    late = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    run = binary.train(late, [-1, 1, 1], [range(3)], fit_intercept=False)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert np.array_equal(model.coef_last_[0], run.w)
    np.testing.assert_allclose(model.coef_average_[0], run.average_w, atol=1e-15)


def test_thousands_of_new_features_cost_little_memory_and_stay_right(rng):
    model = rosenblatt()
    for i in range(3000):
        model.learn_one({f"w{i}": 1.0, "common": 1.0}, "even" if i % 2 == 0 else "odd")
    assert model.coef_.shape == (1, 3001)
    assert model._learner.weights.arrays["w"].shape[1] <= 2 * 3001
    assert model.predict_one({"w7": 1.0}) == model.predict_one({"w7": 1.0, "never seen": 5.0})


def test_a_string_value_is_a_feature_of_its_own():
    model = rosenblatt().learn_one({"colour": "red"}, 1).learn_one({"colour": "blue"}, 0)
    assert model.feature_names_in_.tolist() == ["colour=red", "colour=blue"]
    assert model.predict_one({"colour": "red"}) == 1


@pytest.mark.parametrize("combine", ["average", "last", "vote", "pocket"])
def test_a_third_class_is_learned_when_it_comes(combine, rng):
    X, y = whole_numbers(rng, 60, 5, 2)
    model = rosenblatt(combine=combine).partial_fit(X, np.where(y, "b", "d"))
    binary_scores = model.decision_function(X)
    centre = np.full((20, 5), 9.0) + rng.integers(0, 2, (20, 5))
    for x in centre:
        model.learn_one(x, "c")
    assert model.classes_.tolist() == ["b", "c", "d"]
    assert model.decision_function(X).shape == (60, 3)
    assert model.set_params(combine="last").predict(centre[-1:])[0] == "c"
    assert len(binary_scores) == 60


def test_a_binary_model_that_gets_a_third_class_goes_on_as_two_rows(rng):
    X, y = whole_numbers(rng, 60, 5, 2)
    model = rosenblatt(zero_score="negative").partial_fit(X, y, classes=[0, 1])
    w, b = model.coef_last_, model.intercept_last_
    model.partial_fit(X, y, classes=[0, 1, 2])
    run = multiclass.train(X, y, [range(60)], 3, theta=np.vstack([-w, w, 0 * w]), b=np.array([-b[0], b[0], 0]))
    assert np.array_equal(model.coef_last_, run.theta)
    assert np.array_equal(model.intercept_last_, run.b)


def test_averages_and_votes_survive_a_new_class(rng):
    X, y = whole_numbers(rng, 50, 4, 2)
    model = rosenblatt(combine="vote").partial_fit(X, y)
    before = model.set_params(combine="average").coef_average_
    shares = model.set_params(combine="vote").decision_function(X)
    model._learner.meet_classes(np.array([0, 1, 2]))
    after = model.coef_average_
    assert np.array_equal(after, np.vstack([-before, before, 0 * before]))
    votes = model.decision_function(X)  # the new class got no vote but at scores of exactly 0
    np.testing.assert_allclose(votes.sum(axis=1), 1)
    assert (np.abs(votes[:, 1] - votes[:, 0] - shares) <= votes[:, 2] + 1e-12).all()


def test_a_stream_may_begin_with_one_class_and_answers_with_it():
    model = rosenblatt().learn_one({"a": 1}, "only")
    assert model.predict_one({"b": 3}) == "only"
    assert model.classes_.tolist() == ["only"]
    model.learn_one({"b": 1}, "another")
    assert model.predict_one({"b": 1}) == "another"


def test_one_class_jumping_to_three_is_learned():
    model = rosenblatt(combine="last").partial_fit([[1.0, 0.0]] * 3, ["m"] * 3)
    model.partial_fit([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]] * 20, ["a", "z", "m"] * 20)
    assert model.classes_.tolist() == ["a", "m", "z"]
    assert model.predict([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]).tolist() == ["a", "z", "m"]


def test_a_convention_that_depends_on_the_side_wants_the_classes_named():
    with pytest.raises(ValueError, match="classes="):
        rosenblatt(zero_score="positive").learn_one([1.0], "a")
    with pytest.raises(ValueError, match="classes="):
        rosenblatt(init="ones").partial_fit([[1.0]], ["a"])
    rosenblatt(zero_score="positive").partial_fit([[1.0]], ["a"], classes=["a", "b"])


@pytest.mark.parametrize("init", ["ones", "random"])
def test_new_classes_and_features_start_as_init_says(init):
    frame = pd.DataFrame({"f": [0.0]})
    model = rosenblatt(init=init, combine="last").partial_fit(frame, ["a"], classes=["a", "b", "c"])
    model.learn_one({"f": 0.0, "g": 1e-9}, "d")
    assert model.coef_.shape == (4, 2)
    assert (np.abs(model.coef_) > 1e-3).all()
    if init == "ones":
        assert np.allclose(model.coef_, 1, atol=1e-6)
        assert np.allclose(model.coef_average_, 1, atol=1e-6)


def test_labels_may_be_numbers_strings_or_booleans():
    for labels in ([3, 8], ["ham", "spam"], [False, True], [-1.0, 1.0], [np.int8(1), np.int8(2)]):
        model = rosenblatt().learn_one({"a": 1}, labels[1]).learn_one({"b": 1}, labels[0])
        assert model.predict_one({"b": 1}) == labels[0]
        assert type(model.predict_one({"b": 1})) is type(np.array(labels).tolist()[0])


def test_class_weights_count_in_learn_one(rng):
    X, y = whole_numbers(rng, 40, 4, 2)
    single = rosenblatt(class_weight={0: 2, 1: 0.5}).partial_fit(X[:1], y[:1], classes=[0, 1])
    for x, label in zip(X[1:], y[1:], strict=True):
        single.learn_one(x, label)
    run = binary.train(X, 2 * y - 1, [range(40)], weights=np.where(y, 0.5, 2.0))
    assert np.array_equal(single.coef_last_[0], run.w)


def test_sparse_rows_and_lists_are_rows_too():
    dense, sparse, plain = (rosenblatt() for _ in range(3))
    for x, label in (([1.0, 0.0, 2.0], 0), ([0.0, 1.0, 0.0], 1), ([1.0, 1.0, 0.0], 1)):
        dense.learn_one(np.array(x), label)
        sparse.learn_one(sp.csr_matrix([x]), label)
        plain.learn_one(x, label)
    assert np.array_equal(dense.coef_, sparse.coef_)
    assert np.array_equal(dense.coef_, plain.coef_)
    assert plain.predict_one([0.0, 1.0, 0.0]) == sparse.predict_one(sp.csr_matrix([[0.0, 1.0, 0.0]])) == 1


def test_learning_goes_on_by_name_after_a_fit_on_a_frame(rng):
    X, y = whole_numbers(rng, 40, 3, 2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = rosenblatt(max_iter=2, tol=None).fit(frame, y)
    other = rosenblatt(max_iter=2, tol=None).fit(X, y)
    model.learn_one({"c": 3.0, "a": 1.0}, 1)
    other.learn_one([1.0, 0.0, 3.0], 1)
    assert np.array_equal(model.coef_, other.coef_)
    model.learn_one({"new": 1.0}, 0)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "new"]
    assert model.n_features_in_ == 4
    assert model.predict(frame.assign(new=0.0)).shape == (40,)


def test_progressive_validation_predicts_every_example_before_it_is_learned(rng):
    X, y = whole_numbers(rng, 70, 4, 2)
    # with this convention the rule and predict agree at score 0, so that every mistake is an update
    model = rosenblatt(combine="last", zero_score="negative").partial_fit(X[:1], y[:1], classes=[0, 1])
    before = model.n_updates_
    progress = progressive(model, zip(X[1:], y[1:].tolist(), strict=True))
    run = binary.train(X, 2 * y - 1, [range(70)], zero_score="negative")
    assert progress.examples == 69
    assert progress.mistakes == run.updates - before == model.n_updates_ - before > 0
    assert [n for n, _ in progress.table] == [1, 2, 4, 8, 16, 32, 64, 69]
    assert progress.table[-1] == (69, progress.error)
    assert progress.error == progress.mistakes / 69


def test_regret_is_counted_against_a_fixed_model(rng):
    X, y = whole_numbers(rng, 70, 4, 3)
    hindsight = rosenblatt().fit(X, y)
    fixed = (hindsight.predict(X) != y).sum()
    progress = progressive(rosenblatt(), zip(X, y.tolist(), strict=True), comparator=hindsight)
    assert progress.comparator_mistakes == fixed
    assert progress.regret == progress.mistakes - fixed
    with pytest.raises(ValueError, match="comparator"):
        _ = progressive(rosenblatt(), []).regret


@pytest.mark.parametrize("first", [{}, {"x": 0}])
def test_a_stream_may_begin_with_an_empty_example(first):
    model = rosenblatt().learn_one(first, "a").learn_one({"x": 1}, "b").learn_one({"y": 1}, "a")
    assert model.feature_names_in_.tolist() == ["x", "y"]
    assert model.coef_last_.tolist() == [[1.0, -1.0]]
    assert model.intercept_last_.tolist() == [-1.0]
    assert model.predict_one({}) == "a"


def test_class_weights_may_name_classes_that_come_later():
    model = rosenblatt(class_weight={"spam": 2, "ham": 1}).learn_one({"x": 1}, "spam").learn_one({"y": 1}, "ham")
    assert model.t_ == 3
    quiet = rosenblatt(class_weight={0: 0.0}).partial_fit([[1.0], [2.0]], [0, 1]).partial_fit([[1.0]], [0])
    assert quiet.t_ == 1


def test_float32_rows_make_a_float32_model():
    assert rosenblatt().learn_one(np.ones(3, np.float32), 1).coef_.dtype == np.float32


def test_whole_number_labels_stay_exact_or_are_refused():
    model = rosenblatt().learn_one([1.0], 2**62 + 1).learn_one([-1.0], 5)
    assert model.predict_one([1.0]) == 2**62 + 1
    model = rosenblatt().fit([[1.0], [-1.0]], np.array([2**63 + 1, 2**63 + 3], np.uint64))
    assert model.predict_one([-1.0]) == 2**63 + 3
    with pytest.raises(ValueError, match="cannot be distinguished"):
        rosenblatt().learn_one([1.0], 2**63 + 1).learn_one([-1.0], -5)
    with pytest.raises(ValueError, match="cannot be distinguished"):
        rosenblatt().partial_fit([[1.0], [-1.0]], [2**60 + 1, 2**60 + 3]).partial_fit([[5.0]], [1.0])
    for learn in (lambda model, y: model.learn_one([5.0], y), lambda model, y: model.partial_fit([[5.0]], [y])):
        for known, new in (([1, 2], 2**63), ([2**63, 2**63 + 2], 5)):  # NumPy joins int64 and uint64 as float64
            model = rosenblatt().fit([[1.0], [-1.0]], known)
            with pytest.raises(ValueError, match="cannot be distinguished"):
                learn(model, new)
            assert model.classes_.tolist() == known
            assert model.classes_.dtype.kind in "iu"
    for y in ([1, 2**63], (-1, 2**63), np.array([1, 2**63], object), [{1}, {2**63}]):
        with pytest.raises(ValueError, match="label 9223372036854775808 is too large"):
            rosenblatt().fit([[1.0], [-1.0]], y)
    with pytest.raises(ValueError, match="64 bits"):
        rosenblatt().fit([[1.0], [-1.0]], [2**70, 2**71])
    assert rosenblatt().fit([[1.0], [-1.0]], [1e300, 2e300]).classes_.tolist() == [1e300, 2e300]
    assert rosenblatt().fit([[1.0], [-1.0]], [1e19, -(2.0**63)]).classes_.tolist() == [-(2.0**63), 1e19]


def test_labels_of_pandas_nullable_types_stay_what_they_are():
    y = pd.Series([2**60 + 1, 2**60 + 3, 5], dtype="Int64")
    model = rosenblatt().fit([[1.0], [-1.0], [2.0]], y)
    assert model.classes_.tolist() == [5, 2**60 + 1, 2**60 + 3]
    with pytest.raises(ValueError, match=r"missing label.*row 1"):
        rosenblatt().fit([[1.0], [-1.0], [2.0]], pd.Series(["a", pd.NA, "b"], dtype="string"))


def test_early_stopping_scores_the_weights_that_predict_even_if_votes_are_there(rng):
    X, y = whole_numbers(rng, 120, 4, 2)
    model = rosenblatt(combine="vote", warm_start=True, max_iter=2, tol=None).fit(X, y)
    model.set_params(combine="last", early_stopping=True, max_iter=6).fit(X, y)
    _, held_out = hold_out(y, None, 0.1, 0)
    best = max(row["validation_accuracy"] for row in model.history_)
    assert model.score(X[held_out], y[held_out]) == pytest.approx(best)


@pytest.mark.parametrize("step", ["pa", "pa1", "pa2", "arow"])
def test_a_block_learns_what_its_rows_learn_alone_whatever_the_order_of_their_columns(step, rng):
    """Rows in order, rows out of order, and rows in which a column stands twice, beside each other."""
    rows = [rng.permutation(12)[: rng.integers(1, 9)] for _ in range(40)]
    rows = [np.sort(row) if k % 3 else np.append(row, row[:1]) if k % 2 else row for k, row in enumerate(rows)]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    values = rng.standard_normal(starts[-1])
    y = rng.integers(0, 2, 40)
    whole = Perceptron(step=step, margin=1.0, intercept_scaling=1.0)
    whole.partial_fit(sp.csr_matrix((values, np.concatenate(rows), starts), (40, 12)), y)
    alone = Perceptron(step=step, margin=1.0, intercept_scaling=1.0)
    for k, row in enumerate(rows):
        x = sp.csr_matrix((values[starts[k] : starts[k + 1]], row, [0, len(row)]), (1, 12))
        alone.partial_fit(x, y[k : k + 1], classes=[0, 1])
    for name, array in whole._learner.weights.arrays.items():
        assert np.array_equal(array, alone._learner.weights.arrays[name]), name
