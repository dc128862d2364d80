"""ROC and precision-recall curves: the points of scikit-learn's, the areas, and the answers that are marked."""

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from perceptrons import Perceptron
from perceptrons.plots import CurvesDisplay
from perceptrons.plots.curves import CELLS_PER_AXIS, MAX_CURVES, curve_points
from tests.conftest import gaussian


def two(rng, n=300):
    X, y = gaussian(rng, n, 3, 2)
    return X, np.array(["no", "yes"])[y]


def test_curves_of_two_classes_are_those_of_scikit_learn(rng):
    X, y = two(rng)
    model = Perceptron(max_iter=2).fit(X, y)
    scores = model.decision_function(X)
    display = CurvesDisplay.from_estimator(model, X, y)
    assert display.roc_auc == [pytest.approx(sk.roc_auc_score(y == "yes", scores))]
    assert display.average_precision == [pytest.approx(sk.average_precision_score(y == "yes", scores))]
    fpr, tpr, _ = sk.roc_curve(y == "yes", scores, drop_intermediate=False)
    line = display.plot().ax_.lines[0]
    shown = set(zip(*line.get_data(), strict=True))
    assert shown <= set(zip(fpr, tpr, strict=True))
    for x, height in zip(fpr, tpr, strict=True):  # no point is farther from one that is drawn than can be seen
        assert min(max(abs(x - a), abs(height - b)) for a, b in shown) <= 1.5 / CELLS_PER_AXIS
    precision, recall, _ = sk.precision_recall_curve(y == "yes", scores)
    line = display.plot(kind="precision_recall").ax_.lines[0]
    shown = {(round(a, 9), round(b, 9)) for a, b in zip(*line.get_data(), strict=True)}
    known = {(round(a, 9), round(b, 9)) for a, b in zip(recall, precision, strict=True)}
    assert len(shown - known) <= 1  # scikit-learn begins at a precision of 1, here it is that of the first cut


def test_the_answers_of_the_model_are_marked_and_a_threshold_moves_them(rng):
    X, y = two(rng)
    model = Perceptron(max_iter=2).fit(X, y)
    for threshold in (None, 2.0, 1e9):
        model.threshold_ = threshold
        said = model.predict(X) == "yes"
        found, false = said[y == "yes"].mean(), said[y == "no"].mean()
        display = CurvesDisplay.from_estimator(model, X, y).plot()
        assert display.ax_.lines[1].get_data() == (pytest.approx([false]), pytest.approx([found]))
        assert display.roc_auc == [pytest.approx(sk.roc_auc_score(y == "yes", model.decision_function(X)))]
    labels = [text.get_text() for text in display.plot(kind="precision_recall").ax_.get_legend().get_texts()]
    assert "predictions" not in labels  # nobody is answered yes: there is no precision


def test_of_many_classes_the_most_frequent_are_drawn(rng):
    X, y = gaussian(rng, 400, 3, 14)
    display = CurvesDisplay.from_estimator(Perceptron(max_iter=2).fit(X, y), X, y).plot()
    assert len(display.curves) == MAX_CURVES
    counts = np.bincount(y)
    assert min(counts[curve.number] for curve in display.curves) >= np.sort(counts)[-MAX_CURVES]
    assert all(area is not None for area in display.roc_auc)


def test_pipelines_and_classifiers_with_probabilities_only_will_do(rng):
    X, y = two(rng)
    pipe = make_pipeline(StandardScaler(), Perceptron(max_iter=2)).fit(X, y)
    assert CurvesDisplay.from_estimator(pipe, X, y).roc_auc == [
        pytest.approx(sk.roc_auc_score(y == "yes", pipe.decision_function(X)))
    ]
    bayes = GaussianNB().fit(X, y)
    expected = sk.roc_auc_score(y == "yes", bayes.predict_proba(X)[:, 1])
    assert CurvesDisplay.from_estimator(bayes, X, y).roc_auc == [pytest.approx(expected)]


def test_a_curve_of_very_many_points_has_as_many_as_can_be_seen(rng):
    codes = rng.integers(0, 2, 200_000)
    display = CurvesDisplay.from_scores(codes, rng.normal(size=200_000) + codes, ["a", "b"])
    for kind in ("roc", "precision_recall"):
        assert len(curve_points(display.curves[0].cuts, kind)[0]) < 4 * CELLS_PER_AXIS


def test_what_makes_no_curve_is_refused(rng):
    with pytest.raises(ValueError, match="belong to one class"):
        CurvesDisplay.from_scores(np.zeros(5, int), np.arange(5.0), ["a", "b"])
    X, y = two(rng, 50)
    with pytest.raises(ValueError, match="kind='pr': give 'roc' or 'precision_recall'"):
        CurvesDisplay.from_estimator(Perceptron().fit(X, y), X, y).plot(kind="pr")
