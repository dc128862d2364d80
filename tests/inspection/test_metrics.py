"""The table of metrics: every value is scikit-learn's, on random data with ties, whole and in blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.preprocessing import label_binarize

from perceptrons.inspection import metrics
from perceptrons.inspection.evaluation import Quality, describe_metrics, measure, unranked
from perceptrons.inspection.metrics import BY_ANSWERS, METRICS, ScoreBuffer, cuts_of, ranking_of

ANSWERED = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "f1_macro": lambda y, p: sk.f1_score(y, p, average="macro", zero_division=0),
    "f1_micro": lambda y, p: sk.f1_score(y, p, average="micro", zero_division=0),
    "f1_weighted": lambda y, p: sk.f1_score(y, p, average="weighted", zero_division=0),
    "matthews": sk.matthews_corrcoef,
}
OF_TWO = {
    "f1": lambda y, p: sk.f1_score(y, p, zero_division=0),
    "youden": lambda y, p: 2 * sk.balanced_accuracy_score(y, p) - 1,
}


def random_answers(rng, n, k):
    y = rng.choice(k, n, p=rng.dirichlet(np.ones(k)))
    return y, np.where(rng.random(n) < 0.4, rng.integers(0, k, n), y)


def test_the_names_here_are_those_of_the_table():
    assert set(ANSWERED) | set(OF_TWO) == set(BY_ANSWERS)
    of_probabilities = {"log_loss", "brier_score", "calibration_error"}
    assert set(BY_ANSWERS) | {"roc_auc", "average_precision"} | of_probabilities == set(METRICS)


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("seed", range(5))
def test_metrics_of_answers_are_those_of_scikit_learn(k, seed):
    rng = np.random.default_rng(seed)
    y, predicted = random_answers(rng, 200, k)
    if k == 2:
        y[:2] = 0, 1  # scikit-learn's balanced accuracy and ours are of the classes that occur
    told = measure(np.arange(k), y, predicted).metrics()
    for name, function in (ANSWERED | (OF_TWO if k == 2 else {})).items():
        assert told[name] == pytest.approx(function(y, predicted), abs=1e-12), name
    if k > 2:
        assert told["f1"] is told["youden"] is None
    assert told["roc_auc"] is told["average_precision"] is told["log_loss"] is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_areas_of_two_classes_are_those_of_scikit_learn_with_any_ties(data):
    n = data.draw(st.integers(2, 60))
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    y[:2] = 0, 1
    scores = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), float)
    found = ranking_of(y, scores)
    assert found.roc_auc == pytest.approx(sk.roc_auc_score(y, scores), abs=1e-12)
    assert found.average_precision == pytest.approx(sk.average_precision_score(y, scores), abs=1e-12)


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("k", [3, 6])
def test_areas_of_several_classes_are_the_mean_of_one_vs_rest(k, ties):
    rng = np.random.default_rng(k)
    y, _ = random_answers(rng, 300, k)
    y[:k] = np.arange(k)
    scores = rng.normal(size=(300, k)) + 2 * np.eye(k)[y]
    scores = scores.round() if ties else scores
    found, flags = ranking_of(y, scores), label_binarize(y, classes=np.arange(k))
    assert found.roc_auc == pytest.approx(sk.roc_auc_score(flags, scores, average="macro"), abs=1e-12)
    assert found.average_precision == pytest.approx(sk.average_precision_score(flags, scores), abs=1e-12)


def test_cuts_are_the_points_of_scikit_learns_roc_curve():
    rng = np.random.default_rng(3)
    y, scores = rng.integers(0, 2, 100), rng.integers(0, 12, 100).astype(float)
    cuts = cuts_of(y == 1, scores)
    fpr, tpr, at = sk.roc_curve(y, scores, drop_intermediate=False)
    np.testing.assert_allclose(cuts.hits / cuts.n_positive, tpr[1:])
    np.testing.assert_allclose(cuts.alarms / cuts.n_negative, fpr[1:])
    np.testing.assert_array_equal(cuts.scores, at[1:])


def test_classes_that_do_not_occur_are_left_out_of_the_mean_and_one_class_alone_has_no_area():
    y, scores = np.array([0, 0, 1, 1]), np.array([[2, 1, 9.0], [3, 1, 9], [1, 2, 9], [4, 5, 9]])
    by_hand = np.mean([sk.roc_auc_score(y == k, scores[:, k]) for k in (0, 1)])
    assert ranking_of(y, scores).roc_auc == pytest.approx(by_hand)
    assert ranking_of(np.ones(3, int), np.arange(3.0)) == (None, 1.0)
    assert ranking_of(np.zeros(3, int), np.arange(3.0)) == (None, None)
    assert ranking_of(np.zeros(0, int), np.zeros(0)) == (None, None)


def test_blocks_are_measured_as_the_whole_and_labels_that_are_not_known_are_not_ranked(monkeypatch):
    rng = np.random.default_rng(0)
    classes, names = np.array(["ham", "spam"]), np.array(["ham", "odd", "spam"])
    codes, scores = rng.integers(0, 3, 90), rng.integers(-5, 5, 90).astype(np.float32)
    answers = (scores > 0).astype(int)
    whole, parts = Quality(classes), Quality(classes)
    whole.add(names, codes, answers, scores)
    for start in range(0, 90, 7):
        piece = slice(start, start + 7)
        parts.add(names[::-1], 2 - codes[piece], answers[piece], scores[piece])
    first, second = whole.metrics(), parts.metrics()
    known = codes != 1
    assert first == second
    assert first["roc_auc"] == pytest.approx(sk.roc_auc_score(codes[known] == 2, scores[known]))
    assert first["accuracy"] == np.mean(names[codes] == classes[answers])
    assert describe_metrics(whole, "f1", "roc_auc").startswith("F1 of spam ")
    assert ", ROC AUC 0." in describe_metrics(whole, "f1", "roc_auc")
    assert not unranked(whole)
    monkeypatch.setattr(metrics, "MOST_SCORES", 50)
    limited = Quality(classes)
    for start in range(0, 90, 7):
        piece = slice(start, start + 7)
        limited.add(names, codes[piece], answers[piece], scores[piece])
    told = limited
    assert told.metrics()["roc_auc"] is None
    assert told.metrics()["matthews"] == first["matthews"]
    assert unranked(told).startswith("ROC AUC and average precision are not computed:")
    assert limited._scores._blocks == []  # what was kept is given back


def test_kept_scores_are_bounded(monkeypatch):
    monkeypatch.setattr(metrics, "MOST_SCORES", 10)
    kept = ScoreBuffer()
    kept.add(np.zeros(5, int), np.zeros((5, 2)))
    assert not kept.too_many
    kept.add(np.zeros(1, int), np.zeros((1, 2)))
    kept.add(np.zeros(1, int), np.zeros((1, 2)))
    assert kept.too_many
    assert not kept._blocks
