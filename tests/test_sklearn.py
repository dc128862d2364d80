"""scikit-learn's contract: its own checks, and the tools people use around estimators."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from perceptrons import KernelPerceptron, Perceptron
from perceptrons.features import TableFeatures

ORDER = (
    "An online learner depends on the order of the examples: the check compares weights with repetitions in another "
    "order. That whole-number weights equal repeating the example on the spot is tested in test_properties.py."
)
SCORES = (
    "The check wants the most probable class to be the answer. `predict` answers by scores, with probabilities as "
    "without; a curve of two parameters or more may cross one half elsewhere. With a temperature they agree."
)
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}


@parametrize_with_checks([TableFeatures(), TableFeatures(scale="max-abs", powers=2)])
def test_scikit_learns_own_checks_of_table_features(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [Perceptron(max_iter=30), KernelPerceptron(max_iter=30), Perceptron(probability="temperature", max_iter=30)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learns_estimator_checks_pass(estimator, check):
    check(estimator)


NO_BIAS = "A linear kernel has no bias: no hyperplane through the origin has one class on both sides."
NO_BLOCKS = "partial_fit is refused with early_stopping=True, as by scikit-learn's SGDClassifier."


def expected_with_other_parameters(estimator):
    expected = dict(EXPECTED_FAILURES)
    if getattr(estimator, "kernel", "") == "linear":
        expected["check_class_weight_classifiers"] = NO_BIAS
    if estimator.early_stopping:
        checks = ("fit_score_takes_y", "n_features_in_after_fitting", "estimators_partial_fit_n_features")
        expected |= {f"check_{name}": NO_BLOCKS for name in checks}
    if estimator.probability not in (None, "temperature"):
        checks = ("classifiers_train", "classifiers_multilabel_output_format_predict_proba")
        expected |= {f"check_{name}": SCORES for name in checks}
    return expected


@pytest.mark.slow
@parametrize_with_checks(
    [Perceptron(combine=combine, max_iter=30) for combine in ("last", "vote", "pocket")]
    + [Perceptron(early_stopping=True, max_iter=30), Perceptron(init="random", zero_score="positive", max_iter=30)]
    + [Perceptron(step=step, max_iter=30) for step in ("pa1", "arow")]
    + [Perceptron(multiclass=scheme, margin=0.5, max_iter=30) for scheme in ("ovr", "ovo")]
    + [Perceptron(penalty="l2", alpha=1e-3, margin=1.0, max_iter=30), Perceptron(batch_size=8, max_iter=100)]
    + [KernelPerceptron(kernel="poly", multiclass="ovr", combine="vote", max_iter=30)]
    + [Perceptron(probability=method, max_iter=30) for method in ("sigmoid", "isotonic")]
    + [KernelPerceptron(probability="sigmoid", max_iter=30)]
    + [KernelPerceptron(early_stopping=True), KernelPerceptron(budget=50, on_full="project")]
    + [KernelPerceptron(kernel="linear")],
    expected_failed_checks=expected_with_other_parameters,
)
def test_scikit_learns_estimator_checks_pass_with_other_parameters(estimator, check):
    check(estimator)


def test_a_heavy_class_gets_its_way_on_overlapping_data():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (200, 2)), rng.normal(1, 1, (200, 2))])
    y = np.repeat([0, 1], 200)
    recalls = []
    for weight in (0.05, 1.0, 20.0):
        model = Perceptron(class_weight={0: weight, 1: 1.0}).fit(X, y)
        recalls.append(np.mean(model.predict(X[y == 0]) == 0))
    assert recalls[0] < 0.3 < 0.6 < recalls[1] < recalls[2]


def test_works_in_pipelines_searches_and_ensembles():
    X, y = load_iris(return_X_y=True)
    grid = {"perceptron__combine": ["average", "last"], "perceptron__max_iter": [5, 20]}
    search = GridSearchCV(make_pipeline(StandardScaler(), Perceptron()), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert BaggingClassifier(Perceptron(max_iter=5), n_estimators=5, random_state=0).fit(X, y).score(X, y) > 0.8
    assert cross_val_score(OneVsRestClassifier(Perceptron(max_iter=50)), X, y, cv=3).mean() > 0.6
    assert SelectFromModel(Perceptron(max_iter=20)).fit(X, y).transform(X).shape[1] < 4


def test_scores_can_be_calibrated_into_probabilities():
    X, y = load_iris(return_X_y=True)
    assert not hasattr(Perceptron(), "predict_proba")
    model = CalibratedClassifierCV(Perceptron(max_iter=20), cv=3).fit(X, y)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_learns_text_through_a_vectorizer():
    texts = ["free prize now", "win cash now", "see you at lunch", "lunch at noon", "cash prize", "are you there"]
    labels = ["spam", "spam", "ham", "ham", "spam", "ham"]
    model = make_pipeline(TfidfVectorizer(), Perceptron()).fit(texts, labels)
    assert model.predict(["free cash", "you at noon"]).tolist() == ["spam", "ham"]


def test_clones_and_pickles_are_the_same_model():
    X, y = load_digits(return_X_y=True)
    model = Perceptron(combine="vote", max_iter=3).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(model.decision_function(X), again.decision_function(X))
    assert np.array_equal(clone(model).fit(X, y).decision_function(X), model.decision_function(X))


def test_metadata_routing_and_sample_weight_reach_fit():
    X, y = load_iris(return_X_y=True)
    weights = np.where(y == 2, 0.0, 1.0)
    pipe = make_pipeline(StandardScaler(), Perceptron()).fit(X, y, perceptron__sample_weight=weights)
    alone = Perceptron().fit(pipe[0].transform(X), y, sample_weight=weights)
    assert np.array_equal(pipe[-1].coef_, alone.coef_)
    assert not np.array_equal(pipe[-1].coef_, Perceptron().fit(pipe[0].transform(X), y).coef_)


@pytest.mark.parametrize("combine", ["average", "last"])
def test_one_fit_gives_both_the_last_and_the_averaged_weights(combine):
    X, y = load_iris(return_X_y=True)
    model = Perceptron(combine=combine, max_iter=5, tol=None).fit(X, y)
    other = Perceptron(combine="last" if combine == "average" else "average", max_iter=5, tol=None).fit(X, y)
    assert np.array_equal(model.coef_last_, other.coef_last_)
    assert np.array_equal(model.coef_average_, other.coef_average_)
    assert np.array_equal(model.set_params(combine="last").coef_, model.coef_last_)
    assert np.array_equal(model.set_params(combine="average").coef_, model.coef_average_)
