"""When training stops, and what it says about it (spec 5)."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import perceptrons
from perceptrons.engine.training import epochs, learner
from perceptrons.engine.wording import why_it_stopped
from tests.conftest import gaussian
from tests.support.lecture import rosenblatt


def separable(seed, n=300, d=10):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X @ rng.standard_normal(d) + 0.3 > 0, "yes", "no")


@pytest.mark.parametrize("seed", range(30))
def test_separable_data_always_end_converged_without_a_mistake(seed):
    X, y = separable(seed)
    model = rosenblatt(combine="last", max_iter=10_000).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert model.converged_
    assert model.mistakes_[-1] == 0
    assert model.score(X, y) == 1.0


XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
TWO_OF_FOUR = [{"a"}, {"b"}, {"a", "b"}, set()]


@pytest.mark.parametrize(
    ("options", "y"),
    [
        ({}, XOR[1]),
        ({"combine": "last"}, XOR[1]),
        ({"combine": "vote"}, XOR[1]),
        ({"combine": "pocket"}, XOR[1]),
        ({"batch_size": "all"}, XOR[1]),
        ({"multiclass": "ovr"}, [0, 1, 2, 1]),
        ({"multiclass": "ovo"}, [0, 1, 2, 1]),
        ({}, TWO_OF_FOUR),
        ({"early_stopping": True, "validation_fraction": 0.5}, XOR[1]),
    ],
)
def test_zeros_that_pass_for_right_are_stuck_and_not_converged(options, y):
    model = rosenblatt(zero_score="correct", **options).fit(XOR[0], y)
    assert model.n_updates_ == 0
    assert model.score(XOR[0], y) < 1
    assert (model.stop_reason_, model.converged_) == ("stuck", False)
    assert model.n_iter_ == 1
    assert "scores of exactly 0" in why_it_stopped(model)


def test_a_model_that_is_stuck_says_so_when_it_is_loaded_and_in_a_notebook(tmp_path):
    perceptrons.save(rosenblatt(zero_score="correct").fit(*XOR), tmp_path / "model")
    model = perceptrons.load(tmp_path / "model")
    assert (model.stop_reason_, model.converged_) == ("stuck", False)
    assert "scores of exactly 0 counted as right," in model._repr_html_()


def test_one_example_left_at_a_score_of_0_is_stuck_from_any_start():
    X, y = np.array([[1.0], [-1.0], [0.0]]), [1, 0, 1]
    options = {"zero_score": "correct", "combine": "last", "fit_intercept": False, "init": "ones"}
    model = rosenblatt(**options).fit(X, y)
    assert model.predict(X).tolist() == [1, 0, 0]
    assert (model.stop_reason_, model.converged_) == ("stuck", False)
    model.fit(X, [1, 0, 0])
    assert model.score(X, [1, 0, 0]) == 1
    assert (model.stop_reason_, model.converged_) == ("converged", True)
    model.fit(X, y, sample_weight=[1, 1, 0])  # it does not count
    assert model.stop_reason_ == "converged"


@pytest.mark.parametrize("zero_score", ["mistake", "correct", "positive", "negative"])
@pytest.mark.parametrize("multiclass", ["joint", "ovr", "ovo"])
@pytest.mark.parametrize("k", [2, 3])
def test_whatever_converged_predicts_all_its_examples_right(zero_score, multiclass, k, rng):
    X = rng.integers(-2, 3, (12, 2)).astype(float)
    y = np.arange(12) % k
    for seed in range(20):
        labels = rng.permutation(y)
        options = {"combine": "last", "max_iter": 50, "init": "random" if seed % 2 else "zeros", "random_state": seed}
        model = rosenblatt(zero_score=zero_score, multiclass=multiclass, **options).fit(X[: 4 + k], labels[: 4 + k])
        assert model.converged_ <= (model.score(X[: 4 + k], labels[: 4 + k]) == 1)
        assert model.stop_reason_ != "stuck" or (zero_score == "correct" and (k == 2 or multiclass != "joint"))


def test_a_stream_that_lets_zeros_pass_is_stuck_and_not_converged():
    X, y = XOR
    model = rosenblatt(zero_score="correct").fit_stream([(X[:2], y[:2]), (X[2:], y[2:])], epochs=5, classes=[0, 1])
    assert (model.stop_reason_, model.converged_, model.n_iter_) == ("stuck", False, 1)
    right = [0, 0, 0, 0, 1]
    model.fit_stream([(X, right[:4]), ([[0.0, -1.0]], [0])], epochs=5, classes=[0, 1])
    assert (model.stop_reason_, model.converged_) == ("converged", True)


def test_a_stream_whose_penalised_weights_will_lose_their_margin_is_not_converged():
    X, y = np.array([[1.0], [-1.0]] * 3), [1, 0] * 3
    options = {"margin": 0.5, "penalty": "l2", "alpha": 0.01, "shuffle": False, "tol": None}
    streamed, fitted = rosenblatt(**options).fit_stream([(X, y)], epochs=5), rosenblatt(max_iter=5, **options).fit(X, y)
    assert np.array_equal(streamed.coef_last_, fitted.coef_last_)
    assert streamed.stop_reason_ == fitted.stop_reason_ == "max_iter"


@pytest.mark.parametrize("combine", ["last", "pocket"])
def test_the_tolerance_of_the_average_does_not_stop_weights_that_are_not_averaged(combine):
    X, y = separable(22)  # its average settles long before the last weights separate it
    assert rosenblatt(max_iter=10_000, tol=0.01).fit(X, y).stop_reason_ == "tol"
    model = rosenblatt(combine=combine, max_iter=10_000, tol=0.01).fit(X, y)
    assert model.stop_reason_ == "converged"
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_tolerance_does_not_depend_on_the_scale_of_the_data(scale, rng):
    X, y = gaussian(rng, 300, 5, 2)
    model = rosenblatt(fit_intercept=False, tol=0.01).fit(X, y)
    scaled = rosenblatt(fit_intercept=False, tol=0.01).fit(X * scale, y)
    assert model.stop_reason_ == scaled.stop_reason_ == "tol"
    assert model.n_iter_ == scaled.n_iter_


def test_tol_stops_when_the_average_changed_by_less_than_tol_of_its_norm(rng):
    X, y = gaussian(rng, 200, 5, 3)
    stopped = rosenblatt(tol=0.02).fit(X, y)
    runs = [rosenblatt(tol=None, max_iter=e).fit(X, y) for e in range(1, stopped.n_iter_ + 1)]
    averages = [np.column_stack([m.coef_average_, m.intercept_average_]) for m in runs]
    change = [np.linalg.norm(b - a) / np.linalg.norm(b) for a, b in itertools.pairwise(averages)]
    assert change[-1] < 0.02
    assert min(change[:-1]) >= 0.02
    assert np.array_equal(stopped.coef_average_, runs[-1].coef_average_)


def test_max_iter_and_tol_none_run_all_epochs(rng):
    X, y = gaussian(rng, 100, 3, 2)
    model = rosenblatt(max_iter=17, tol=None).fit(X, y)
    assert (model.stop_reason_, model.n_iter_, model.converged_) == ("max_iter", 17, False)
    assert len(model.history_) == len(model.mistakes_) == 17


def test_history_counts_what_happened(rng):
    X, y = gaussian(rng, 150, 4, 3)
    model = rosenblatt(max_iter=6, tol=None).fit(X, y)
    assert [row["epoch"] for row in model.history_] == [1, 2, 3, 4, 5, 6]
    assert [row["mistakes"] for row in model.history_] == model.mistakes_.tolist()
    assert sum(row["updates"] for row in model.history_) == model.n_updates_
    assert all(row["examples"] == 150 and row["loss"] > 0 and row["seconds"] > 0 for row in model.history_)
    assert model.history_[-1]["norm"] == pytest.approx(np.linalg.norm(model.coef_last_))
    assert model.t_ == 900


def test_max_seconds_stops_within_an_epoch(monkeypatch, rng):
    X, y = gaussian(rng, 5000, 4, 2)
    monkeypatch.setattr(learner, "PIECE_OPERATIONS", 1)
    model = rosenblatt(max_seconds=1e-9).fit(X, y)
    assert model.stop_reason_ == "max_seconds"
    assert model.history_[0]["examples"] == 1024
    assert model.t_ == 1024


@pytest.mark.parametrize("piece", [1, 2**27])
@pytest.mark.parametrize("k", [2, 3])
def test_the_size_of_the_pieces_does_not_matter(monkeypatch, piece, k, rng):
    X, y = gaussian(rng, 3000, 4, k)
    expected = rosenblatt(max_iter=3, tol=None).fit(X, y)
    monkeypatch.setattr(learner, "PIECE_OPERATIONS", piece)
    model = rosenblatt(max_iter=3, tol=None).fit(X, y)
    assert np.array_equal(model.coef_, expected.coef_)
    assert [row["loss"] for row in model.history_] == pytest.approx([row["loss"] for row in expected.history_])


@pytest.mark.parametrize("combine", ["average", "last", "vote", "pocket"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_early_stopping_returns_exactly_the_weights_it_scored_best(combine, k, sparse, rng):
    X, y = gaussian(rng, 400, 6, k)
    X = sp.csr_matrix(X) if sparse else X
    model = rosenblatt(combine=combine, early_stopping=True, n_iter_no_change=3, tol=None, max_iter=60).fit(X, y)
    accuracies = [row["validation_accuracy"] for row in model.history_]
    best = int(np.argmax(accuracies))
    assert model.stop_reason_ in ("early_stopping", "converged")
    _, held_out = epochs.hold_out(np.searchsorted(model.classes_, y), None, 0.1, 0)
    assert model.score(X[held_out], y[held_out]) == pytest.approx(max(accuracies), abs=1e-12)
    short = rosenblatt(combine=combine, early_stopping=True, tol=None, max_iter=best + 1, n_iter_no_change=99).fit(X, y)
    assert np.array_equal(model.coef_last_, short.coef_last_)
    assert np.array_equal(model.coef_average_, short.coef_average_)
    assert np.array_equal(model.decision_function(X), short.decision_function(X))
    if model.stop_reason_ == "early_stopping":
        assert len(accuracies) - 1 - best == 3
    assert model.t_ == (best + 1) * (400 - len(held_out))
    assert model.n_updates_ == model.mistakes_[: best + 1].sum()


def test_early_stopping_weighs_held_out_examples(rng):
    X, y = gaussian(rng, 300, 4, 2)
    weights = rng.choice([0.5, 1, 2], 300)
    model = rosenblatt(early_stopping=True, tol=None).fit(X, y, sample_weight=weights)
    _, held_out = epochs.hold_out(y, None, 0.1, 0)
    best = max(row["validation_accuracy"] for row in model.history_)
    assert model.score(X[held_out], y[held_out], weights[held_out]) == pytest.approx(best)


def test_held_out_examples_come_from_every_class_in_the_same_share():
    codes = np.repeat([0, 1, 2], [100, 50, 10])
    train, held_out = epochs.hold_out(codes, None, 0.2, 5)
    assert np.bincount(codes[held_out]).tolist() == [20, 10, 2]
    assert sorted([*train, *held_out]) == list(range(160))
    assert not np.array_equal(held_out, epochs.hold_out(codes, None, 0.2, 6)[1])
    assert [len(part) for part in epochs.hold_out(codes[:3], None, 0.01, 0)] == [2, 1]
    with pytest.raises(ValueError, match="leaves 0 for training"):
        epochs.validation_split(codes[:3], None, 0.99, 0)
    with pytest.raises(ValueError, match=r"of 4 examples leaves 1 .*fewer than the number of classes \(2\)"):
        epochs.validation_split(np.array([0, 0, 0, 1, 1, 1]), np.array([1.0, 1, 0, 0, 1, 1]), 0.75, 0)


def test_held_out_examples_are_never_learned_from(rng):
    X, y = gaussian(rng, 200, 4, 2)
    _, held_out = epochs.hold_out(y, None, 0.1, 0)
    changed = y.copy()
    model = rosenblatt(early_stopping=True, max_iter=4, n_iter_no_change=4, tol=None).fit(X, y)
    X[held_out] = rng.standard_normal((len(held_out), 4))
    other = rosenblatt(early_stopping=True, max_iter=4, n_iter_no_change=4, tol=None).fit(X, changed)
    assert model.mistakes_.tolist() == other.mistakes_.tolist()


def test_a_keyboard_interrupt_leaves_a_usable_model(monkeypatch, rng):
    X, y = gaussian(rng, 300, 4, 2)
    calls = []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return learn(*args, **kwargs)

    learn = learner.learn
    monkeypatch.setattr(learner, "learn", interrupted)
    model = rosenblatt(max_iter=50, tol=None)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    expected = rosenblatt(max_iter=2, tol=None).fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert np.array_equal(model.coef_, expected.coef_)
    assert model.score(X, y) > 0.8


def test_verbose_shows_every_epoch_and_why_it_stopped(capsys, rng):
    X, y = gaussian(rng, 100, 3, 2)
    rosenblatt(max_iter=3, tol=None, verbose=True, early_stopping=True).fit(X, y)
    said = capsys.readouterr()
    assert said.out == ""
    for words in (
        "epoch    1",
        "epoch    3",
        "mistakes in 90 examples",
        "% on held-out examples",
        "stopped: max_iter",
    ):
        assert words in said.err
    rosenblatt(max_iter=3, tol=None).fit(X, y)
    silent = capsys.readouterr()
    assert silent.out == silent.err == ""
