"""The threshold of a model of two classes: the best one by brute force, kept by files, copies and learning."""

import copy
import pickle

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import perceptrons
from perceptrons import KernelPerceptron, Perceptron
from perceptrons.inspection.metrics import BY_ANSWERS
from perceptrons.plots.model_facts import scores_of
from perceptrons.selection import choose_threshold, recipe
from perceptrons.selection.thresholds import best_threshold
from perceptrons.theory import margins

CLASSES = np.array(["no", "yes"])
BY_SKLEARN = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "f1": lambda y, p: sk.f1_score(y, p, zero_division=0),
    "f1_macro": lambda y, p: sk.f1_score(y, p, average="macro", zero_division=0),
    "f1_micro": lambda y, p: sk.f1_score(y, p, average="micro", zero_division=0),
    "f1_weighted": lambda y, p: sk.f1_score(y, p, average="weighted", zero_division=0),
    "matthews": sk.matthews_corrcoef,
    "youden": lambda y, p: 2 * sk.balanced_accuracy_score(y, p) - 1,
}


def rare(n=1500, seed=0):
    """One class is rare; labels are strings."""
    X, y = make_classification(n, 8, weights=[0.9], flip_y=0.1, class_sep=0.7, random_state=seed)
    return X, CLASSES[y]


@pytest.fixture(scope="module")
def fitted():
    X, y = rare()
    return Perceptron(max_iter=5, tol=None).fit(X[:900], y[:900]), X[900:], y[900:]


@pytest.mark.parametrize("metric", BY_ANSWERS)
@pytest.mark.parametrize("seed", range(4))
def test_no_threshold_is_better_than_the_chosen_one(metric, seed):
    rng = np.random.default_rng(seed)
    codes = (rng.random(60) < 0.3).astype(int)
    codes[:2] = 0, 1
    scores = (rng.normal(size=60) + codes).round(1)  # with ties
    found = best_threshold(codes, scores, (scores > 0).astype(int), CLASSES, metric)
    function = BY_SKLEARN[metric]
    tried = [function(codes, (scores >= t).astype(int)) for t in np.arange(-6, 6, 0.025)]
    assert found.score == pytest.approx(max(tried), abs=1e-12)
    assert function(codes, (scores >= found.threshold).astype(int)) == pytest.approx(found.score, abs=1e-12)
    assert found.before == pytest.approx(function(codes, (scores > 0).astype(int)), abs=1e-12)
    assert found.n == 60
    assert found.metric == metric


def test_of_equally_good_thresholds_the_one_closest_to_the_learned_boundary_is_taken():
    scores, codes = np.array([-3.0, -1, 2, 4]), np.array([0, 0, 1, 1])
    assert best_threshold(codes, scores, codes, CLASSES, "f1").threshold == 0.0
    assert best_threshold(codes, scores + 5, np.ones(4, int), CLASSES, "f1").threshold == 6.0  # between 4 and 7
    worst = best_threshold(1 - codes, scores, codes, CLASSES, "accuracy").threshold
    assert worst > 4 or worst <= -3


def test_a_threshold_has_no_more_digits_than_it_needs_and_stays_between_neighbours():
    for low, high in ((331.1, 331.4), (-1e-9, -5e-10), (1.0, np.nextafter(1.0, 2)), (-7e300, -1e300), (5.0, 6e20)):
        scores = np.array([low, high])
        found = best_threshold(np.array([0, 1]), scores, np.array([0, 0]), CLASSES, "f1")
        assert low < found.threshold <= high
        assert found.score == 1
    assert best_threshold(np.array([0, 1]), np.array([331.1, 331.4]), np.zeros(2), CLASSES, "f1").threshold == 331.2


def test_a_cost_is_made_as_small_as_possible():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, 80)
    scores = rng.normal(size=80) + codes
    cost = {"yes": {"no": 10}, "no": {"yes": 1}}
    found = best_threshold(codes, scores, (scores > 0).astype(int), CLASSES, cost)

    def mean(t):
        said = scores >= t
        return np.mean(np.where((codes == 1) & ~said, 10, 0) + np.where((codes == 0) & said, 1, 0))

    assert found.score == pytest.approx(min(mean(t) for t in np.append(scores, [-9, 9])))
    assert found.score == pytest.approx(mean(found.threshold))
    assert found.before == pytest.approx(mean(1e-300))
    assert found.threshold < 0
    assert found.metric == "cost"
    with pytest.raises(ValueError, match="names the class 'maybe'"):
        best_threshold(codes, scores, codes, CLASSES, {"maybe": {"no": 1}})


def test_a_model_answers_by_its_threshold_everywhere_and_scores_stay(fitted, tmp_path):
    model, X, y = copy.deepcopy(fitted[0]), *fitted[1:]
    scores = model.decision_function(X)
    found = choose_threshold(model, X, y, "f1")
    expected = np.where(scores >= found.threshold, "yes", "no")
    assert model.threshold_ == found.threshold
    assert found.score > found.before
    assert (expected != fitted[0].predict(X)).any()
    perceptrons.save(model, tmp_path / "m")
    doors = [model, perceptrons.load(tmp_path / "m"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for door in doors:
        np.testing.assert_array_equal(door.decision_function(X), scores)
        np.testing.assert_array_equal(door.predict(X), expected)
        assert [door.predict_one(x) for x in X] == expected.tolist()  # the general way, then the short one
        assert [door.explain(x).prediction for x in X[:30]] == expected[:30].tolist()
        assert door.score(X, y) == np.mean(expected == y)
    assert f"The model predicts 'yes' for scores of {found.threshold:.4g} or more" in str(model.explain(X[0]))
    assert model.explain(X[0]).to_dict()["threshold"] == found.threshold
    assert "The model predicts" not in str(fitted[0].explain(X[0]))


def test_kernel_models_have_thresholds_too(tmp_path):
    X, y = rare(400)
    model = KernelPerceptron(max_iter=3, tol=None).fit(X[:250], y[:250])
    scores = model.decision_function(X[250:])
    found = choose_threshold(model, X[250:], y[250:], "balanced_accuracy")
    expected = np.where(scores >= found.threshold, "yes", "no")
    perceptrons.save(model, tmp_path / "m")
    for door in (model, perceptrons.load(tmp_path / "m")):
        np.testing.assert_array_equal(door.predict(X[250:]), expected)
        assert [door.predict_one(x) for x in X[250:280]] == expected[:30].tolist()
        assert door.explain(X[250]).prediction == expected[0]
        assert door.score(X[250:], y[250:]) == np.mean(expected == y[250:])
    assert model.partial_fit(X[:1], y[:1]).threshold_ == found.threshold


def test_learning_on_keeps_the_threshold_a_new_fit_and_a_third_class_drop_it(fitted):
    X, y = rare()
    model = copy.deepcopy(fitted[0])
    model.threshold_ = 2
    assert model.partial_fit(X[:10], y[:10]).threshold_ == 2.0
    assert model.learn_one(X[0], y[0]).threshold_ == 2.0
    expected = np.where(model.decision_function(X) >= 2, "yes", "no")
    np.testing.assert_array_equal(model.predict(X), expected)
    assert clone(model).fit(X, y).threshold_ is None
    assert model.learn_one(X[0], "zebra").threshold_ is None
    warm = Perceptron(warm_start=True, max_iter=2, tol=None).fit(X, y)
    warm.threshold_ = 1.5
    assert warm.fit(X, y).threshold_ == 1.5
    assert warm.set_params(warm_start=False).fit(X, y).threshold_ is None


def test_a_threshold_does_not_change_what_is_learned():
    X, y = rare(300)
    for rule in ({"combine": "vote"}, {"early_stopping": True}, {}):
        plain, moved = (Perceptron(warm_start=True, max_iter=3, tol=None, **rule).fit(X, y) for _ in range(2))
        moved.threshold_ = 1e6
        np.testing.assert_array_equal(plain.fit(X, y).coef_last_, moved.fit(X, y).coef_last_)
        held = [[row["validation_accuracy"] for row in model.history_] for model in (plain, moved)]
        assert held[0] == held[1]


def test_without_a_threshold_a_score_of_zero_is_answered_as_zero_score_says():
    X, y = [[0.0], [1.0]], ["no", "yes"]
    for rule, answer in (("mistake", "no"), ("positive", "yes")):
        model = Perceptron(zero_score=rule, fit_intercept=False, margin=0).fit(X, y)
        assert model.decision_function([[0.0]])[0] == 0
        assert model.predict([[0.0]])[0] == answer
        model.threshold_ = 0
        assert model.predict([[0.0]])[0] == model.predict_one([0.0]) == "yes"  # at or above
        model.threshold_ = None
        assert model.predict([[0.0]])[0] == model.predict_one([0.0]) == answer


def test_float32_scores_are_compared_with_the_threshold_as_it_is():
    model = Perceptron(fit_intercept=False, margin=0).fit(np.float32([[-0.1], [0.1]]), [0, 1])
    score = float(model.decision_function(np.float32([[0.1]]))[0])
    model.threshold_ = np.nextafter(score, np.inf)  # in float32 it would be the score
    assert model.predict(np.float32([[0.1]]))[0] == 0
    model.threshold_ = score
    assert model.predict(np.float32([[0.1]]))[0] == 1


def test_margins_and_pictures_count_from_the_threshold(fitted):
    model, X, y = copy.deepcopy(fitted[0]), *fitted[1:]
    model.threshold_ = -3.0
    right = model.predict(X) == y
    assert ((margins(model, X, y).functional > 0) == right).all()
    np.testing.assert_array_equal(scores_of(model, X) >= 0, model.predict(X) == "yes")


def test_pipelines_get_the_threshold_in_their_last_step():
    X, y = rare(500)
    pipe = make_pipeline(StandardScaler(), Perceptron()).fit(X[:300], y[:300])
    found = choose_threshold(pipe, X[300:], y[300:], "f1")
    assert pipe[-1].threshold_ == found.threshold
    assert sk.f1_score(y[300:], pipe.predict(X[300:]), pos_label="yes") == pytest.approx(found.score)


def test_scikit_learns_own_tuner_works_with_these_estimators():
    X, y = rare(400)
    tuned = TunedThresholdClassifierCV(Perceptron(), scoring="balanced_accuracy").fit(X, y)
    assert set(tuned.predict(X)) == {"no", "yes"}


@pytest.mark.parametrize("bad", ["high", float("nan"), float("inf"), True, [1.0]])
def test_a_threshold_is_a_finite_number(fitted, bad):
    model = copy.deepcopy(fitted[0])
    with pytest.raises(ValueError, match="give a finite number"):
        model.threshold_ = bad
    assert model.threshold_ is None


def test_what_has_no_threshold_is_refused(fitted):
    X, y = rare(100)
    three = Perceptron().fit(X, np.arange(100) % 3)
    with pytest.raises(ValueError, match="two classes, but this one has 3"):
        choose_threshold(three, X, np.arange(100) % 3)
    with pytest.raises(ValueError, match="two classes, but this one has 3 classes"):
        three.threshold_ = 1.0
    several = Perceptron().fit(X, np.random.default_rng(0).integers(0, 2, (100, 3)))
    with pytest.raises(ValueError, match="several labels per example"):
        several.threshold_ = 1.0
    with pytest.raises(TypeError, match="StandardScaler has no threshold_"):
        choose_threshold(StandardScaler(), X, y)
    with pytest.raises(ValueError, match="not fitted"):
        choose_threshold(Perceptron(), X, y)
    with pytest.raises(ValueError, match="with belong to one class:"):
        choose_threshold(copy.deepcopy(fitted[0]), X, ["no"] * 100)
    with pytest.raises(ValueError, match="labels that the model does not know, such as \\['maybe'\\]"):
        choose_threshold(copy.deepcopy(fitted[0]), X, ["no", "yes"] * 49 + ["no", "maybe"])
    with pytest.raises(ValueError, match="metric='roc_auc': give one of 'accuracy'"):
        choose_threshold(copy.deepcopy(fitted[0]), X, y, "roc_auc")


def test_the_recipe_chooses_the_threshold_on_development_examples_of_exactly_the_weights_that_it_returns():
    X, y = rare()
    found = recipe(Perceptron(), X, y, {"step": ["constant", "pa1"]}, metric="f1", threshold="f1", random_state=3)
    (X_dev, y_dev), (X_test, y_test) = found.parts.dev.taken(), found.parts.test.taken()
    assert not found.retrained
    assert found.model.threshold_ == found.threshold.threshold
    assert found.threshold.score == pytest.approx(sk.f1_score(y_dev, found.model.predict(X_dev), pos_label="yes"))
    assert found.test_score == pytest.approx(sk.f1_score(y_test, found.model.predict(X_test), pos_label="yes"))
    assert "Threshold " in found.explain()
    assert found.to_dict()["threshold_by"]["metric"] == "f1"
    fixed = recipe(Perceptron(), X, y, threshold=1.25, random_state=4)
    assert fixed.model.threshold_ == 1.25
    assert fixed.retrained
    assert fixed.threshold is None


def test_a_model_file_with_a_threshold_that_makes_no_sense_is_refused(tmp_path, fitted):
    from perceptrons.modelfile import KINDS, as_bytes

    model = copy.deepcopy(fitted[0])
    model.threshold_ = 0.5
    content = KINDS["Perceptron"].contents(model)
    assert content.header["threshold"] == 0.5
    assert as_bytes(model)
    with pytest.raises(ValueError, match="threshold_"):
        KINDS["Perceptron"].read(content._replace(header={**content.header, "threshold": "much"}))
    del content.header["threshold"]  # as in files from before there were thresholds
    assert KINDS["Perceptron"].read(content).threshold_ is None
