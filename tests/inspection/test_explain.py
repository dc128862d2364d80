"""Reading a model: contributions add up to scores, votes to 1, and nothing pretends to be a probability."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.data import stream
from perceptrons.engine.training.schemes import class_scores
from tests.conftest import whole_numbers
from tests.support.lecture import rosenblatt

LINEAR = {
    "two": (2, {}),
    "joint": (4, {}),
    "last": (4, {"combine": "last"}),
    "pocket": (3, {"combine": "pocket"}),
    "ovr": (4, {"multiclass": "ovr"}),
    "l2": (3, {"penalty": "l2", "alpha": 0.01}),
    "l1": (3, {"penalty": "l1", "alpha": 0.1}),
    "arow": (3, {"step": "arow"}),
    "no bias": (2, {"fit_intercept": False}),
    "positive": (2, {"zero_score": "positive"}),
}


@pytest.mark.parametrize("case", LINEAR)
@pytest.mark.parametrize("number_type", ["float32", "float64"])
def test_contributions_and_bias_add_up_to_the_scores(case, number_type, form, rng):
    k, options = LINEAR[case]
    X, y = whole_numbers(rng, 60, 7, k)
    model = rosenblatt(max_iter=7, **options).fit(form(X.astype(number_type)), y)
    for x in X[:10].astype(number_type):
        why = model.explain(form(x[None]) if form(X) is not X else x)
        tolerance = 1e-6 * (1 + np.abs(why.contributions).sum())
        np.testing.assert_allclose(why.scores, model.decision_function(x[None]).ravel(), rtol=0, atol=tolerance)
        np.testing.assert_allclose(why.contributions.sum(axis=1) + why.bias, why.scores)
        assert why.prediction == model.predict(x[None])[0]
        assert why.columns.tolist() == np.flatnonzero(x).tolist()
        assert why.features == tuple(f"x{column}" for column in why.columns)
        np.testing.assert_allclose(why.weights, model.coef_[:, why.columns], rtol=1e-6)


def test_one_vs_one_rows_are_pairs_whose_scores_make_the_answers(rng):
    X, y = whole_numbers(rng, 80, 6, 4)
    names = np.array(["a", "b", "c", "d"])[y]
    model = rosenblatt(multiclass="ovo", max_iter=5).fit(X, names)
    for x in X[:10]:
        why = model.explain(x)
        assert why.rows[:2] == (("a", "b"), ("a", "c"))
        np.testing.assert_allclose(class_scores(why.scores[None], 4, False)[0], model.decision_function(x[None])[0])
        assert why.prediction == model.predict(x[None])[0]
        weights, bias = why.between(why.prediction, why.runner_up)
        pair = tuple(sorted((why.prediction, why.runner_up)))
        own = why.scores[why.rows.index(pair)]
        assert weights @ why.values + bias == pytest.approx(own if pair[1] == why.prediction else -own)
        all_pairs, all_bias = why.of("a")
        sum_of_pairs = -sum(score for score, row in zip(why.scores, why.rows, strict=True) if "a" in row)
        assert all_pairs @ why.values + all_bias == pytest.approx(sum_of_pairs)


def test_several_labels_are_explained_one_by_one(rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    model = rosenblatt(max_iter=5).fit(X, [{"even"} if label == 0 else {"odd", "<big>"} for label in y])
    for x in X[:5]:
        why = model.explain(x)
        assert why.runner_up is None
        assert set(why.prediction) == model.predict(x[None])[0]
        np.testing.assert_allclose(why.scores, model.decision_function(x[None])[0])
        assert {part.column for part in why.top(label="odd")} <= set(why.columns.tolist())
        assert "Predicted" in str(why)


def test_what_decided_is_the_difference_of_two_classes(rng):
    X, y = whole_numbers(rng, 60, 6, 3)
    model = rosenblatt(max_iter=5).fit(X, y)
    why = model.explain(X[0])
    scores = model.decision_function(X[:1])[0]
    order = np.argsort(-scores)
    assert [why.prediction, why.runner_up] == order[:2].tolist()
    weights, bias = why.between(why.prediction, why.runner_up)
    assert weights @ why.values + bias == pytest.approx(scores[order[0]] - scores[order[1]])
    zeros, none = why.between(why.prediction, why.prediction)
    assert not zeros.any()
    assert none == 0
    parts = why.top(3)
    assert [abs(part.contribution) for part in parts] == sorted((abs(p.contribution) for p in parts), reverse=True)
    assert all(part.contribution == pytest.approx(part.weight * part.value) for part in parts)
    assert why.top(0) == []
    of_one = why.top(99, label=why.runner_up)
    total = sum(part.contribution for part in of_one) + why.of(why.runner_up)[1]
    assert total == pytest.approx(scores[order[1]])


def test_of_two_classes_what_speaks_for_one_speaks_against_the_other(rng):
    X, y = whole_numbers(rng, 40, 5, 2)
    why = rosenblatt(max_iter=5).fit(X, np.array(["no", "yes"])[y]).explain(X[3])
    ours = {part.feature: part.contribution for part in why.top(label="yes")}
    assert ours == {part.feature: -part.contribution for part in why.top(label="no")}
    assert {why.prediction, why.runner_up} == {"no", "yes"}


def test_one_example_may_come_in_any_form(rng):
    X, y = whole_numbers(rng, 30, 4, 2)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = rosenblatt(max_iter=5).fit(frame, y)
    x = X[7]
    forms = [
        x,
        x.tolist(),
        x[None],
        sp.csr_matrix(x[None]),
        sp.coo_array(x),
        frame.iloc[[7]],
        frame.iloc[7],
        dict(frame.iloc[7]),
    ]
    told = [model.explain(one) for one in forms]
    assert all(why.features == told[0].features for why in told)
    assert all(np.array_equal(why.contributions, told[0].contributions) for why in told)
    assert told[0].features == tuple(np.array(list("abcd"))[np.flatnonzero(x)])
    with pytest.raises(ValueError, match="feature names"):
        model.explain(frame[["b", "a", "c", "d"]].iloc[[7]])


def test_unknown_features_of_a_dict_are_listed_and_count_nothing():
    model = rosenblatt()
    for text, label in [("free cash now", "spam"), ("see you now", "ham"), ("free prize", "spam")]:
        model.learn_one(dict.fromkeys(text.split(), 1), label)
    why = model.explain({"free": 2, "<script>": 3, "colour": "red"})
    assert why.unknown == ("<script>", "colour=red")
    assert why.features == ("free",)
    assert why.scores[0] == pytest.approx(2 * model.coef_[0, 0] + model.intercept_[0])
    assert "'<script>', 'colour=red'" in str(why)
    assert "<script>" not in why._repr_html_()
    nothing = model.explain({})
    assert nothing.scores.tolist() == pytest.approx(nothing.bias.tolist())
    assert nothing.top() == []
    assert "together" in str(nothing)
    assert model.n_features_in_ == 6


def test_a_feature_that_a_dict_names_twice_counts_once_with_both_values():
    model = rosenblatt().learn_one({"a": "b", "c": 1}, 1).learn_one({"c": 1}, 0)
    why = model.explain({"a": "b", "a=b": 2})
    assert why.features == ("a=b",)
    assert why.values.tolist() == [3.0]


def test_hashed_columns_get_their_names_back(tmp_path):
    path = tmp_path / "mail.tsv"
    path.write_text("spam\tfree cash now\nham\tsee you now\nspam\tfree prize now\nham\tlunch at home\n" * 5)
    model = rosenblatt(max_iter=3).fit_stream(stream(path, format="text"))
    block = next(iter(stream(path, format="text", like=model)))
    why = model.explain(block.X[[0]])
    assert set(why.features) == {"free", "cash", "now"}
    assert (why.values > 0).all()  # as the names count, whatever the signs of their columns
    np.testing.assert_allclose(why.scores, model.decision_function(block.X[[0]]), rtol=1e-5)
    assert why.top(1, label="spam")[0].feature == "free"


def test_voting_is_explained_by_the_average_and_says_so(rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    model = rosenblatt(combine="vote", max_iter=5).fit(X, y)
    why = model.explain(X[0])
    np.testing.assert_allclose(why.weights, model.coef_average_[:, why.columns])
    np.testing.assert_allclose(why.decision, model.decision_function(X[:1])[0])
    assert why.prediction == model.predict(X[:1])[0]
    assert "averaged weights are shown here instead." in str(why)
    told = [str(model.explain(x)) for x in X]
    averaged = rosenblatt(max_iter=5).fit(X, y)
    other = averaged.predict(X) != model.predict(X)
    assert other.any()
    pairs = [averaged.decision_function(x[None])[0] for x in X]
    for text, scores, x in zip(told, pairs, X, strict=True):
        why = model.explain(x)
        assert ("predict another class than the votes." in text) == (scores[why.prediction] < scores[why.runner_up])


KERNELS = {
    "joint": (3, {}), "ovr": (3, {"multiclass": "ovr"}), "two": (2, {"combine": "last"}), "budget": (3, {"budget": 9}),
    "linear": (3, {"kernel": "linear"}), "callable": (2, {"kernel": lambda A, B: A @ B.T + 1.0}),
}  # fmt: skip


@pytest.mark.parametrize("case", KERNELS)
def test_support_examples_add_up_to_the_scores_of_a_kernel_model(case, form, rng):
    k, options = KERNELS[case]
    X, y = whole_numbers(rng, 50, 4, k)
    model = KernelPerceptron(max_iter=3, **options).fit(X if case == "callable" else form(X), y)
    coef = model.dual_coef_
    for x in X[:5]:
        why = model.explain(x)
        np.testing.assert_allclose(why.scores, model.decision_function(x[None]).ravel(), atol=1e-9)
        assert why.prediction == model.predict(x[None])[0]
        assert why.support.tolist() == model.support_[why.columns].tolist()
        assert why.features[0] == f"X[{why.support[0]}]"
        np.testing.assert_allclose(why.weights, coef[:, why.columns])
    assert "coefficient" in str(why)
    assert "(bias)" not in str(why)


def test_a_precomputed_kernel_is_explained_by_a_row_of_kernel_values(rng):
    X, y = whole_numbers(rng, 40, 4, 3)
    K = (X @ X.T + 1) ** 2
    model = KernelPerceptron(kernel="precomputed", max_iter=3).fit(K, y)
    why = model.explain(K[4])
    np.testing.assert_allclose(why.scores, model.decision_function(K[4:5])[0])
    with pytest.raises(ValueError):
        model.explain(K[4, :7])
    with pytest.raises(ValueError, match="One example"):
        model.explain(K[:3])


@pytest.mark.parametrize("combine", ["average", "last"])
def test_the_parts_of_a_labelling_add_up_to_its_score(combine, rng):
    words, labels = np.array(["a", "cat", "dogs", "run", "the"]), np.array(["DET", "NOUN", "VERB"])
    X = [[{"word": str(w), "n": float(rng.integers(1, 4))} for w in rng.choice(words, 4)] for _ in range(20)]
    y = [[str(labels[(len(token["word"]) + t) % 3]) for t, token in enumerate(tokens)] for tokens in X]
    tagger = SequencePerceptron(combine=combine, max_iter=3).fit(X, y)
    for tokens in X[:6]:
        why = tagger.explain(tokens)
        scores = tagger.decision_function([tokens])[0]
        assert why.labels == tagger.predict_one(tokens)
        assert why.score == pytest.approx(scores.max(), rel=1e-5)
        for token, row in zip(why.tokens, scores, strict=True):
            order = np.sort(row)[::-1]
            assert token.lead == pytest.approx(order[0] - order[1], abs=1e-4)
            of_label = tagger.coef_[tagger.classes_.tolist().index(token.label)]
            np.testing.assert_allclose(token.weights, of_label[token.columns], rtol=1e-6)
            assert set(token.features) <= set(tagger.attributes_)
    assert json.loads(json.dumps(why.to_dict()))["labels"] == why.labels
    assert len(str(why).splitlines()) == 7
    empty = tagger.explain([])
    assert (empty.labels, empty.score) == ([], 0.0)


def test_forbidden_labels_are_no_runner_up_of_a_token():
    tagger = SequencePerceptron(allowed={"A": ["B"], "B": ["A"]}, max_iter=2)
    tagger.fit([[["x"], ["y"]], [["y"], ["x"]]], [["A", "B"], ["B", "A"]])
    why = tagger.explain([["x"], ["y"]])
    assert why.score == pytest.approx(tagger.decision_function([[["x"], ["y"]]])[0].max())
    assert {token.runner_up for token in why.tokens} == {"A", "B"}
    assert all(np.isfinite(token.lead) for token in why.tokens)


def test_an_explanation_is_plain_json(rng):
    X, y = whole_numbers(rng, 30, 4, 3)
    for model in (rosenblatt(max_iter=3), rosenblatt(max_iter=3, multiclass="ovo"), KernelPerceptron(max_iter=3)):
        content = json.loads(json.dumps(model.fit(X, y).explain(X[0]).to_dict(), allow_nan=False))
        sums = np.array(content["contributions"]).sum(axis=1) + content["bias"]
        np.testing.assert_allclose(sums, content["scores"])


@pytest.mark.parametrize("Model", [Perceptron, KernelPerceptron])
def test_bad_examples_are_refused_in_words(Model, rng):
    X, y = whole_numbers(rng, 30, 4, 2)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        Model().explain(X[0])
    model = Model(max_iter=3).fit(X, y)
    corrupt = sp.csr_matrix(X[:1])
    corrupt.indices = corrupt.indices + 9
    for bad, words in (
        ([1, 2, 3], "3 features, but the model has 4"),
        ([1, np.nan, 3, 4], "NaN"),
        ([1, 1e300, 3, 4], "above"),
        (X[:2], "One example"),
        ("free cash", "not an example"),
        ({"a": 1}, "columns without names"),
        (corrupt, "corrupt"),
        (None, "not an example"),
    ):
        with pytest.raises(ValueError, match=words):
            model.explain(bad)
    with pytest.raises(ValueError, match="There is no class 'maybe': the classes are 0, 1"):
        model.explain(X[0]).top(label="maybe")


def test_a_lone_class_is_explained_too():
    model = rosenblatt().learn_one({"a": 1}, "only")
    why = model.explain({"a": 1})
    assert (why.prediction, why.runner_up) == ("only", None)
    assert "the only class that the model knows." in str(why)


def test_a_hundred_thousand_features_are_explained_by_the_largest_of_them(rng):
    x = rng.standard_normal(100_000)
    model = rosenblatt(max_iter=2).fit(np.stack([x, -x]), [0, 1])
    why = model.explain(x)
    assert len(why.columns) == 100_000
    assert "99,990 others" in str(why)
    assert len(why._repr_html_()) < 10_000


# ---- votes and probabilities


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("Model", [Perceptron, KernelPerceptron])
def test_shares_of_votes_add_up_to_one_and_agree_with_predictions(Model, k, form, rng):
    X, y = whole_numbers(rng, 60, 5, k)
    for options in [{}] if Model is Perceptron else [{}, {"multiclass": "ovr"}]:
        model = Model(combine="vote", max_iter=4, **options).fit(form(X), y)
        shares = model.vote_shares(form(X))
        assert shares.shape == (60, k)
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert model.classes_[shares.argmax(axis=1)].tolist() == model.predict(X).tolist()
        each = np.concatenate([model.vote_shares(form(X[i : i + 1])) for i in range(10)])
        np.testing.assert_allclose(each, shares[:10])  # not dependent on what else is in X


def test_shares_of_votes_are_what_the_weight_vectors_that_ever_were_say(rng):
    X, y = whole_numbers(rng, 25, 3, 2)
    model = rosenblatt(combine="vote", max_iter=1, shuffle=False).fit(X, y)
    w, b, votes = np.zeros(3), 0.0, np.zeros(25)
    for x, sign in zip(X, np.where(y == 1, 1, -1), strict=True):
        if sign * (w @ x + b) <= 0:
            w, b = w + sign * x, b + sign
        votes += X @ w + b > 0
    np.testing.assert_allclose(model.vote_shares(X)[:, 1], votes / 25)


@pytest.mark.parametrize("Model", [Perceptron, KernelPerceptron])
def test_without_votes_there_are_no_shares(Model, rng):
    X, y = whole_numbers(rng, 30, 4, 2)
    with pytest.raises(NotFittedError):
        Model(combine="vote").vote_shares(X)
    with pytest.raises(ValueError, match="fit the model with combine='vote', not 'average'"):
        Model(max_iter=3).fit(X, y).vote_shares(X)


@pytest.mark.parametrize("Model", [Perceptron, KernelPerceptron])
@pytest.mark.parametrize("fitted", [False, True])
def test_there_are_no_probabilities_without_calibration_and_the_error_says_how(Model, fitted, rng):
    model = Model(max_iter=3)
    if fitted:
        X, y = whole_numbers(rng, 30, 4, 2)
        model.fit(X, y)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=rf"not probabilities.*CalibratedClassifierCV\({Model.__name__}\(\)\)"):
            getattr(model, name)
        assert not hasattr(make_pipeline(StandardScaler(), model), name)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("Model", [Perceptron, KernelPerceptron])
def test_calibration_of_scikit_learn_gives_probabilities(Model, ensemble, method, rng):
    X, y = whole_numbers(rng, 150, 5, 3)
    for estimator in (Model(max_iter=5), make_pipeline(StandardScaler(), Model(max_iter=5))):
        calibrated = CalibratedClassifierCV(estimator, method=method, ensemble=ensemble, cv=3).fit(X, y)
        shares = calibrated.predict_proba(X)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert calibrated.score(X, y) > 0.5


@pytest.mark.parametrize("options", [{}, {"combine": "vote"}, {"combine": "last"}])
@pytest.mark.parametrize("Model", [Perceptron, KernelPerceptron])
def test_a_model_that_is_fitted_already_is_calibrated_as_it_is(Model, options, rng):
    X, y = whole_numbers(rng, 200, 5, 2)
    model = Model(max_iter=5, **options).fit(X[:100], y[:100])
    before = model.decision_function(X)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X[100:], y[100:])
    assert np.array_equal(model.decision_function(X), before)
    order = np.argsort(before, kind="stable")
    assert (np.diff(calibrated.predict_proba(X)[order, 1]) >= -1e-12).all()  # the sigmoid keeps their order


# ---- features never updated, and scales


NEVER = [{}, {"combine": "vote"}, {"combine": "pocket"}, {"init": "ones"}, {"init": "random", "random_state": 3},
         {"multiclass": "ovr"}, {"multiclass": "ovo"}, {"step": "arow"}, {"step": "pa1"}, {"batch_size": 8},
         {"penalty": "l2", "alpha": 0.01}]  # fmt: skip


@pytest.mark.parametrize("options", NEVER, ids=str)
def test_features_that_no_update_reached_are_known(options, form, rng):
    X, y = whole_numbers(rng, 60, 6, 3)
    X[:, 2] = 0
    X[1:, 5] = 0
    X[0, 5], y[0], y[2] = 1.0, 2, 0  # a feature of the first example alone, which is a mistake from a zero start
    model = rosenblatt(max_iter=4, shuffle=False, **options).fit(form(X), y)
    never = model.never_updated_
    assert never.dtype == bool
    assert never[2]
    assert not never[[0, 1, 3, 4]].any()
    if model.init == "zeros":
        assert not never[5]
    elif model.init == "ones":
        assert never[5] == (model.coef_last_[:, 5] == 1).all()


def test_the_features_of_the_examples_that_made_updates_are_the_updated_ones(rng):
    X, y = whole_numbers(rng, 40, 300, 3)
    X *= rng.random(X.shape) < 0.01
    model = rosenblatt(combine="vote", max_iter=1).fit(X, y)
    reached = np.asarray(model._learner.votes.matrix(300) != 0).any(axis=0)
    assert 0 < reached.sum() < 300
    assert (~model.never_updated_).tolist() == reached.tolist()


def test_a_weight_that_came_back_to_zero_was_updated():
    model = rosenblatt(shuffle=False, max_iter=1, fit_intercept=False, combine="last")
    model.fit([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [1, 0])
    assert model.coef_.tolist() == [[0.0, -1.0, 0.0]]
    assert model.never_updated_.tolist() == [False, False, True]


def test_features_that_came_while_learning_are_never_updated_until_they_are():
    model = rosenblatt().learn_one({"a": 1}, 1).learn_one({"b": 1}, 0).learn_one({"a": 1, "c": 1}, 1)
    assert model.feature_names_in_[model.never_updated_].tolist() == ["c"]
    assert SequencePerceptron(max_iter=1).fit([[["x"], ["y"]]], [["A", "B"]]).never_updated_.shape == (2,)
    with pytest.raises(NotFittedError):
        assert rosenblatt().never_updated_ is None


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("Model", [Perceptron, KernelPerceptron])
def test_a_calibrated_model_explains_itself_with_probabilities(Model, k, rng):
    X, y = whole_numbers(rng, 90, 4, k)
    names = np.array(["a", "b", "c"])[y]
    model = Model(probability="sigmoid", max_iter=3, tol=None, random_state=0).fit(X, names)
    why = model.explain(X[0])
    np.testing.assert_allclose(why.probabilities, model.predict_proba(X[:1])[0])
    assert why.to_dict()["probabilities"] == why.probabilities.tolist()
    best = int(why.probabilities.argmax())
    assert f"Probabilities: {str(model.classes_[best])!r}: {why.probabilities[best]:.1%}, " in str(why)
    assert "not probabilities" not in str(why)
    plain = Model(max_iter=3, tol=None).fit(X, names).explain(X[0])
    assert plain.probabilities is plain.to_dict()["probabilities"] is None
    assert "not probabilities" in str(plain)
