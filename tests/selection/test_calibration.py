"""Calibrated probabilities: the curves, what is held out for them, when they are there, and that files keep them."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import perceptrons
from perceptrons import KernelPerceptron, Perceptron
from perceptrons.engine.training.calibration import METHODS, calibration_of
from perceptrons.engine.training.epochs import hold_out
from perceptrons.inspection.metrics import Reliability
from perceptrons.inspection.summary import calibration_facts, describe_calibration
from perceptrons.selection import calibrate, recipe
from tests.reference import probabilities as slow

MODEL = SimpleNamespace(t_=1.0, combine="average")
RNG = np.random.default_rng(0)
SCORES = 40 * RNG.normal(size=300)
TWO = (SCORES / 40 + RNG.normal(size=300) > 0.4).astype(int)
MANY = 5 * RNG.normal(size=(300, 4))
FOUR = np.array([RNG.choice(4, p=slow.softmax(row[None] / 8)[0]) for row in MANY])
WEIGHT = RNG.random(300) + 0.1
X2, Y2 = make_classification(600, n_features=8, flip_y=0.15, random_state=1)
X3, Y3 = make_classification(900, n_features=8, n_informative=6, n_classes=3, flip_y=0.1, random_state=2)


def expit(z):
    return 1 / (1 + np.exp(-z))


# ---- the curves


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_the_sigmoid_is_that_of_the_reference(weight):
    found = calibration_of("sigmoid", SCORES, TWO, weight, MODEL)
    slope, offset = slow.sigmoid(SCORES, TWO == 1, np.ones(300) if weight is None else weight)
    np.testing.assert_allclose(found.of(SCORES)[:, 1], expit(slope * SCORES + offset), atol=2e-6)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_the_temperature_is_that_of_the_reference(weight):
    w = np.ones(300) if weight is None else weight
    found = calibration_of("temperature", MANY, FOUR, weight, MODEL)
    np.testing.assert_allclose(found.of(MANY), slow.softmax(slow.inverse_temperature(MANY, FOUR, w) * MANY), atol=1e-7)
    found = calibration_of("temperature", SCORES, TWO, weight, MODEL)
    both = np.column_stack([-SCORES, SCORES])
    np.testing.assert_allclose(found.of(SCORES), slow.softmax(slow.inverse_temperature(both, TWO, w) * both), atol=1e-7)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_the_isotonic_curve_is_that_of_the_reference(weight):
    scores = SCORES.round(-1)  # with ties
    found = calibration_of("isotonic", scores, TWO, weight, MODEL)
    corners = slow.isotonic(scores, TWO == 1, np.ones(300) if weight is None else weight)
    asked = np.linspace(-200, 200, 500)
    np.testing.assert_allclose(found.of(asked)[:, 1], np.interp(asked, *corners), atol=1e-12)


def test_several_classes_are_each_against_the_rest_and_sum_up_to_one():
    found = calibration_of("sigmoid", MANY, FOUR, None, MODEL)
    curves = [slow.sigmoid(MANY[:, k], k == FOUR, np.ones(300)) for k in range(4)]
    shares = np.column_stack([expit(a * MANY[:, k] + b) for k, (a, b) in enumerate(curves)])
    np.testing.assert_allclose(found.of(MANY), shares / shares.sum(axis=1, keepdims=True), atol=2e-6)


def test_where_every_curve_is_at_zero_all_classes_are_equally_probable():
    scores = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    found = calibration_of("isotonic", scores, np.array([0, 1, 2, 0, 1, 2]), None, MODEL)
    assert found.of(np.full((1, 3), -5.0)).tolist() == [[1 / 3] * 3]


@pytest.mark.parametrize("n", [3, 30, 3000])
def test_a_temperature_of_examples_that_are_all_right_claims_no_more_than_they_are_evidence_of(n):
    scores = np.random.default_rng(n).normal(size=(n, 3))
    shares = calibration_of("temperature", scores, scores.argmax(axis=1), None, MODEL).of(scores)
    assert shares.max(axis=1).mean() == pytest.approx((n + 1) / (n + 2))


@pytest.mark.parametrize("method", METHODS)
def test_scores_that_say_nothing_and_huge_ones_give_sound_probabilities(method):
    for scores in (np.zeros(50), SCORES[:50] * 1e150, SCORES[:50] * 1e-150, -SCORES[:50]):
        shares = calibration_of(method, scores, TWO[:50], None, MODEL).of(scores)
        assert np.isfinite(shares).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_class_that_was_not_held_out_is_improbable_but_not_an_error(method):
    shares = calibration_of(method, MANY[FOUR != 3], FOUR[FOUR != 3], None, MODEL).of(MANY)
    assert np.isfinite(shares).all()
    if method != "temperature":
        assert shares[:, 3].mean() < 0.02


def test_examples_of_weight_zero_say_nothing():
    some = np.arange(300) % 3 > 0
    for method in METHODS:
        found = calibration_of(method, SCORES, TWO, some.astype(float), MODEL)
        assert found.n == some.sum()
        expected = calibration_of(method, SCORES[some], TWO[some], None, MODEL)
        assert np.array_equal(found.of(SCORES), expected.of(SCORES))


# ---- beside scikit-learn


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator does not appear to accept sample_weight")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("X", "y"), [(X2, Y2), (X3, Y3)], ids=["two", "three"])
def test_probabilities_are_those_of_scikit_learn_on_the_same_held_out_examples(X, y, method):
    half = len(X) // 2
    model = Perceptron(max_iter=5).fit(X[:half], y[:half])
    weight = np.random.default_rng(1).random(half) + 0.5
    try:
        expected = CalibratedClassifierCV(FrozenEstimator(model), method=method)
        expected = expected.fit(X[half:], y[half:], sample_weight=weight).predict_proba(X)
    except ValueError as error:
        if method == "temperature" and "method" in str(error):
            pytest.skip("this scikit-learn has no temperature")
        raise
    found = calibrate(model, X[half:], y[half:], method, weight)
    assert found is model
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


# ---- what is held out


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scheme", ["joint", "ovr", "ovo"])
def test_fit_calibrates_on_what_it_holds_out_and_learns_from_the_rest(scheme, method):
    plain = Perceptron(multiclass=scheme, max_iter=5, margin=1.0, intercept_scaling=1.0)  # "auto" measures all examples
    model = clone(plain).set_params(probability=method, validation_fraction=0.2).fit(X3, Y3)
    train, held = hold_out(Y3, None, 0.2, 0)
    assert np.array_equal(model.coef_, plain.fit(X3[train], Y3[train]).coef_)
    expected = calibration_of(method, model.decision_function(X3[held]), Y3[held], None, model)
    assert np.array_equal(model.predict_proba(X3), expected.of(model.decision_function(X3)))
    assert model._learner.calibration.n == len(held) == 180


def test_early_stopping_and_calibration_share_what_is_held_out():
    stopped = Perceptron(early_stopping=True, max_iter=20).fit(X3, Y3)
    model = Perceptron(early_stopping=True, probability="sigmoid", max_iter=20).fit(X3, Y3)
    assert np.array_equal(model.coef_, stopped.coef_)
    assert model._learner.calibration.n == 90
    _, held = hold_out(Y3, None, 0.1, 0)
    expected = calibration_of("sigmoid", stopped.decision_function(X3[held]), Y3[held], None, stopped)
    assert np.array_equal(model.predict_proba(X3), expected.of(stopped.decision_function(X3)))


def test_class_weights_move_the_boundary_but_not_the_calibration():
    """Probabilities are those of the examples as they come."""
    model = Perceptron(probability="sigmoid", class_weight={0: 0.1, 1: 1}, validation_fraction=0.5).fit(X2, Y2)
    _, held = hold_out(Y2, None, 0.5, 0)
    assert np.mean(model.predict(X2[held])) > Y2.mean() + 0.1
    assert model.predict_proba(X2[held])[:, 1].mean() == pytest.approx(Y2[held].mean(), abs=0.01)


def test_sparse_rows_and_float32_give_the_same_probabilities():
    dense = Perceptron(probability="isotonic", max_iter=5).fit(X2, Y2)
    for X in (sp.csr_matrix(X2), sp.csc_matrix(X2)):
        np.testing.assert_allclose(
            Perceptron(probability="isotonic", max_iter=5).fit(X, Y2).predict_proba(X),
            dense.predict_proba(X2),
            atol=1e-9,
        )
    small = Perceptron(probability="isotonic", max_iter=5).fit(X2.astype(np.float32), Y2)
    assert small.predict_proba(X2.astype(np.float32)).dtype == np.float64


def test_several_labels_have_a_probability_each_that_is_not_divided_by_their_sum():
    Y = np.column_stack([Y3 == 0, Y3 != 1, X3[:, 0] > 0]).astype(int)
    for method in METHODS:
        model = Perceptron(probability=method, max_iter=5, validation_fraction=0.3).fit(X3, Y)
        _, held = hold_out(np.zeros(len(Y), int), None, 0.3, 0)
        shares, scores = model.predict_proba(X3), model.decision_function(X3)
        assert shares.shape == (900, 3)
        assert shares.sum(axis=1).std() > 0.1
        for k in range(3):
            alone = calibration_of(method, scores[held, k], Y[held, k], None, model).of(scores[:, k])[:, 1]
            assert np.array_equal(shares[:, k], alone)
        again = calibrate(Perceptron(max_iter=5).fit(X3, Y), X3, Y, method)
        assert again.predict_proba(X3).shape == (900, 3)


def test_a_stream_calibrates_on_the_rows_that_it_holds_out_by_their_hash():
    blocks = [(X3[k : k + 100], Y3[k : k + 100]) for k in range(0, 900, 100)]
    for early in (False, True):
        settings = {"max_iter": 3, "early_stopping": early, "validation_fraction": 0.2}
        model = Perceptron(probability="temperature", **settings).fit_stream(blocks, epochs=3)
        assert 130 < model._learner.calibration.n < 230
        assert model.t_ <= 3 * (900 - model._learner.calibration.n)
        shares = model.predict_proba(X3)
        assert log_loss(Y3, shares) < log_loss(Y3, slow.softmax(model.decision_function(X3)))
        if early:
            stopped = Perceptron(**settings).fit_stream(blocks, epochs=3)
            assert np.array_equal(model.coef_, stopped.coef_)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
@pytest.mark.parametrize("combine", ["average", "vote"])
def test_kernels_are_calibrated_too(kernel, combine):
    K = np.exp(-0.1 * ((X3[:300, None] - X3[None, :300]) ** 2).sum(axis=2)) if kernel == "precomputed" else X3[:300]
    model = KernelPerceptron(kernel=kernel, combine=combine, probability="sigmoid", max_iter=3).fit(K, Y3[:300])
    _, held = hold_out(Y3[:300], None, 0.1, 0)
    assert not set(held) & set(model.support_)
    expected = calibration_of("sigmoid", model.decision_function(K[held]), Y3[held], None, model)
    assert np.array_equal(model.predict_proba(K), expected.of(model.decision_function(K)))
    np.testing.assert_allclose(model.predict_log_proba(K), np.log(model.predict_proba(K)))


# ---- when they are there


def test_predict_proba_is_only_there_after_a_calibration():
    for Model in (Perceptron, KernelPerceptron):
        for model in (Model(), Model(probability="sigmoid"), Model(max_iter=2).fit(X2, Y2)):
            for name in ("predict_proba", "predict_log_proba"):
                assert not hasattr(model, name)
                with pytest.raises(AttributeError, match=f"has no {name}.*perceptrons.selection.calibrate"):
                    getattr(model, name)
        model = Model(probability="sigmoid", max_iter=2).fit(X2, Y2)
        assert hasattr(model, "predict_proba")
        assert not hasattr(clone(model), "predict_proba")
        assert hasattr(pickle.loads(pickle.dumps(model)), "predict_proba")
        pipe = make_pipeline(StandardScaler(), Model(probability="sigmoid", max_iter=2))
        assert not hasattr(pipe, "predict_proba")
        assert pipe.fit(X2, Y2).predict_proba(X2).shape == (600, 2)
    with pytest.raises(AttributeError, match="partial_fit and learn_one do not hold out"):
        Perceptron(probability="sigmoid").partial_fit(X2, Y2).predict_proba  # noqa: B018


def test_predict_answers_by_scores_as_without_probabilities():
    for method in METHODS:
        model = Perceptron(probability=method, max_iter=5).fit(X3, Y3)
        assert np.array_equal(model.predict(X3), model.classes_[model.decision_function(X3).argmax(axis=1)])
    model = Perceptron(probability="temperature", max_iter=5).fit(X3, Y3)
    assert np.array_equal(model.predict(X3), model.classes_[model.predict_proba(X3).argmax(axis=1)])


def test_learning_more_keeps_the_calibration_and_tells_how_old_it_is():
    model = Perceptron(probability="sigmoid", max_iter=3).fit(X2, Y2)
    before = model._learner.calibration
    model.partial_fit(X2[:50], Y2[:50]).learn_one(X2[0], Y2[0])
    assert model._learner.calibration is before
    told = calibration_facts(model)
    assert told == {"method": "sigmoid", "examples": 60, "learned_since": 51.0}
    assert "51 examples learned since: calibrate again" in describe_calibration(model)
    calibrate(model, X2, Y2, "temperature")
    assert describe_calibration(model).startswith("by temperature")
    assert "since" not in describe_calibration(model)


def test_another_class_drops_the_calibration():
    for model in (Perceptron(probability="sigmoid", max_iter=2), KernelPerceptron(probability="sigmoid", max_iter=2)):
        model.fit(X2, Y2)
        model.partial_fit(X2[:3], [0, 1, 2])
        assert not hasattr(model, "predict_proba")


def test_other_weights_than_those_that_were_calibrated_are_refused():
    model = Perceptron(probability="sigmoid", max_iter=2).fit(X2, Y2).set_params(combine="last")
    with pytest.raises(AttributeError, match="combine='average' were calibrated, but combine is now 'last':"):
        model.predict_proba(X2)


def test_a_warm_start_calibrates_again():
    model = Perceptron(probability="sigmoid", max_iter=2, tol=None, warm_start=True).fit(X2, Y2)
    first = model.predict_proba(X2)
    model.fit(X2, Y2)
    assert model._learner.calibration.t == model.t_
    assert not np.array_equal(first, model.predict_proba(X2))


def test_what_does_not_go_together_is_refused(tmp_path):
    with pytest.raises(ValueError, match="probability must be one of 'sigmoid', 'temperature', 'isotonic' or None"):
        Perceptron(probability=True).fit(X2, Y2)
    with pytest.raises(ValueError, match="early_stopping=False and probability=None"):
        Perceptron(probability="sigmoid").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="probability cannot be combined with a checkpoint"):
        Perceptron(probability="sigmoid").fit_stream([(X2, Y2)], checkpoint=perceptrons.Checkpoint(tmp_path / "c"))
    model = Perceptron(max_iter=2).fit(X2, Y2)
    with pytest.raises(ValueError, match="method='platt'"):
        calibrate(model, X2, Y2, "platt")
    with pytest.raises(ValueError, match=r"does not know, such as \[7\]"):
        calibrate(model, X2[:2], [0, 7])
    with pytest.raises(ValueError, match="All sample weights are zero"):
        calibrate(model, X2[:1], [1], sample_weight=[0.0])
    with pytest.raises(TypeError, match="cannot be calibrated here:"):
        calibrate(StandardScaler(), X2, Y2)


# ---- files, recipes


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["two", "three", "labels", "kernel"])
def test_files_keep_probabilities_to_the_bit(tmp_path, kind, method):
    X, y = (X2, Y2) if kind == "two" else (X3, Y3)
    y = np.column_stack([Y3 == 0, Y3 == 1]).astype(int) if kind == "labels" else y
    Model = KernelPerceptron if kind == "kernel" else Perceptron
    model = Model(probability=method, max_iter=2).fit(X, y)
    perceptrons.save(model, tmp_path / "m")
    again = perceptrons.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    perceptrons.save(again, tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    pipe = make_pipeline(StandardScaler(), Model(probability=method, max_iter=2)).fit(X, y)
    perceptrons.save(pipe, tmp_path / "p")
    assert np.array_equal(perceptrons.load(tmp_path / "p").predict_proba(X), pipe.predict_proba(X))


def test_a_recipe_calibrates_on_its_development_examples():
    pipe = make_pipeline(StandardScaler(), Perceptron(probability="temperature", max_iter=8))
    found = recipe(pipe, X3, Y3, test=0)
    plain = recipe(clone(pipe).set_params(perceptron__probability=None), X3, Y3, test=0, retrain=False)
    assert found.calibrated == found.model[-1].probability == "temperature"
    assert not found.retrained
    assert "calibrated on the validation set" in found.explain()
    assert np.array_equal(found.model[-1].coef_, plain.model[-1].coef_)
    calibrate(plain.model, *plain.parts.dev.taken(), "temperature")
    assert np.array_equal(found.model.predict_proba(X3), plain.model.predict_proba(X3))
    with pytest.raises(
        ValueError, match="folds cannot be combined with a threshold to be chosen, or with probability: these"
    ):
        recipe(pipe, X3, Y3, test=0, folds=3)


# ---- how good they are


@pytest.mark.parametrize("K", [2, 4])
def test_log_loss_brier_score_and_calibration_error_are_those_of_the_definitions(K):
    rng = np.random.default_rng(K)
    shares = rng.dirichlet(np.full(K, 0.5), 1000)
    shares[:5] = np.eye(K)[0]
    codes = np.array([rng.choice(K, p=row) for row in shares])
    found = Reliability()
    for part in np.array_split(np.arange(1000), 7):
        found.add(codes[part], shares[part])
    assert found.log_loss == pytest.approx(log_loss(codes, shares, labels=np.arange(K)))
    squares = ((shares - np.eye(K)[codes]) ** 2).sum(axis=1).mean()
    assert found.brier_score == pytest.approx(squares / 2 if K == 2 else squares)
    assert found.calibration_error == pytest.approx(slow.calibration_error(codes, shares))
    assert sum(n for _, _, n in found.curve()) == 1000


def test_calibration_makes_probabilities_of_digits_better_than_scores_taken_for_logits():
    X, y = load_digits(return_X_y=True)
    model = Perceptron(probability="temperature", max_iter=20).fit(X[:1200], y[:1200])
    before, after = (Reliability() for _ in range(2))
    before.add(y[1200:], slow.softmax(model.decision_function(X[1200:])))
    after.add(y[1200:], model.predict_proba(X[1200:]))
    assert after.log_loss < 0.5 * before.log_loss
    assert after.calibration_error < before.calibration_error


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("sigmoid", {"slope": np.array([np.nan] * 3)}),
        ("sigmoid", {"offset": np.zeros(2)}),
        ("temperature", {"slope": np.zeros(3)}),
        ("isotonic", {"corners": np.array([10**9, 1, 1])}),
        ("isotonic", {"corners": np.array([-1, 1, 1])}),
        ("isotonic", {"shares": np.array([2.0])}),
    ],
)
def test_a_file_with_an_unsound_calibration_is_refused(tmp_path, method, change):
    model = Perceptron(probability=method, max_iter=2).fit(X3, Y3)
    arrays = model._learner.calibration.arrays
    for name, array in change.items():
        arrays[name] = np.resize(array, arrays[name].shape) if name == "shares" else array
    perceptrons.save(model, tmp_path / "m")
    with pytest.raises(perceptrons.ModelFileError):
        perceptrons.load(tmp_path / "m")
