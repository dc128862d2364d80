"""`StructuredPerceptron` in use: streams, stopping, growing models, scikit-learn's tools, Ctrl-C."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted

from perceptrons import Perceptron, StructuredPerceptron
from perceptrons.structured import learner as learning
from tests.conftest import gaussian
from tests.support.structures import Chain, Classes, Growing, tagged


def assert_same(one, other):
    """Everything that was learned, to the last bit."""
    for name in ("coef_last_", "coef_average_"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for name in ("t_", "n_updates_", "n_mistakes_"):
        assert getattr(one, name) == getattr(other, name), name


# ---- streams


@pytest.mark.parametrize("options", [{}, {"margin": 0.7}, {"step": "pa1"}])
def test_blocks_and_single_examples_give_the_weights_of_fit(options, rng):
    X, y = tagged(rng, 40, 3, 2, whole=False)
    whole = StructuredPerceptron(Chain(3, 2), max_iter=1, shuffle=False, **options).fit(X, y)
    blocks = StructuredPerceptron(Chain(3, 2), **options)
    for begin, end in ((0, 1), (1, 12), (12, 40)):
        assert blocks.partial_fit(X[begin:end], y[begin:end]) is blocks
    single = StructuredPerceptron(Chain(3, 2), **options)
    for one, label in zip(X, y, strict=True):
        assert single.learn_one(one, label) is single
    assert_same(whole, blocks)
    assert_same(whole, single)
    assert single.history_ == []
    assert single.stop_reason_ is None
    assert [single.predict_one(x) for x in X] == single.predict(X) == whole.predict(X)


def test_both_averages_and_last_weights_predict_from_one_run(rng):
    X, y = tagged(rng, 40, 3, 2, whole=False)
    average = StructuredPerceptron(Chain(3, 2), max_iter=2).fit(X, y)
    last = StructuredPerceptron(Chain(3, 2), max_iter=2, combine="last").fit(X, y)
    assert_same(average, last)
    assert np.array_equal(average.coef_, average.coef_average_)
    assert np.array_equal(last.coef_, average.coef_last_)
    assert average.set_params(combine="last").predict(X) == last.predict(X)
    assert last.predict(X) == [Chain(3, 2).decode(x, last.coef_last_) for x in X]


def test_the_average_is_that_of_the_moment_when_learning_and_predicting_take_turns(rng):
    X, y = gaussian(rng, 60, 3, 3)
    model = StructuredPerceptron(Classes(3, 3)).learn_one(X[0], y[0])
    for n in range(1, 60):
        fresh = StructuredPerceptron(Classes(3, 3)).partial_fit(X[:n], y[:n])
        assert model.predict_one(X[n]) == fresh.predict_one(X[n])
        model.learn_one(X[n], y[n])


def test_two_warm_fits_of_five_epochs_are_one_of_ten(rng):
    X, y = tagged(rng, 30, 3, 2, whole=False)
    ten = StructuredPerceptron(Chain(3, 2), max_iter=10).fit(X, y)
    five = StructuredPerceptron(Chain(3, 2), max_iter=5, warm_start=True).fit(X, y).fit(X, y)
    assert_same(ten, five)
    assert [row["epoch"] for row in five.history_] == [6, 7, 8, 9, 10]
    again = five.set_params(warm_start=False, max_iter=10).fit(X, y)
    assert_same(ten, again)


@pytest.mark.parametrize(
    "kind", [list, tuple, np.asarray, sp.csr_matrix, "series"], ids=["list", "tuple", "array", "sparse", "series"]
)
def test_examples_are_any_sequences(kind, rng):
    X, y = gaussian(rng, 30, 3, 3)
    expected = StructuredPerceptron(Classes(3, 3), max_iter=2).fit(X, y)

    class Dense(Classes):
        def decode(self, x, w, cost_with=None):
            return super().decode(x.toarray()[0] if sp.issparse(x) else np.asarray(x), w, cost_with)

        def features(self, x, y):
            return super().features(x.toarray()[0] if sp.issparse(x) else np.asarray(x), y)

    labels = y.tolist()
    if kind == "series":
        pd = pytest.importorskip("pandas")
        given, labels = pd.Series(list(X), index=range(100, 130)), pd.Series(labels, index=range(30, 0, -1))
    else:
        given = kind(X)
    model = StructuredPerceptron(Dense(3, 3), max_iter=2).fit(given, labels)
    assert_same(model, expected)
    assert model.predict(given) == expected.predict(X)
    assert model.score(given, labels) == expected.score(X, y)
    assert isinstance(model.predict(given), list)


# ---- stopping


def test_an_epoch_without_updates_is_convergence(rng):
    X, y = gaussian(rng, 30, 60, 3)
    model = StructuredPerceptron(Classes(3, 60), max_iter=100, combine="last").fit(X, y)
    assert model.stop_reason_ == "converged"
    assert model.converged_
    assert model.mistakes_[-1] == 0
    assert model.score(X, y) == 1.0
    assert model.n_iter_ == len(model.history_) < 100


def test_training_stops_for_tol_and_for_time_and_for_max_iter(rng):
    X, y = tagged(rng, 30, 3, 2, whole=False)
    assert StructuredPerceptron(Chain(3, 2), max_iter=50, tol=0.5).fit(X, y).stop_reason_ == "tol"
    assert StructuredPerceptron(Chain(3, 2), max_iter=3, tol=0.5, combine="last").fit(X, y).stop_reason_ == "max_iter"
    in_no_time = StructuredPerceptron(Chain(3, 2), max_seconds=1e-9).fit(X, y)
    assert in_no_time.stop_reason_ == "max_seconds"
    assert in_no_time.t_ == 1


def test_tol_is_the_change_of_the_average_relative_to_its_norm(rng):
    X, y = tagged(rng, 30, 3, 2, whole=False)
    means = [StructuredPerceptron(Chain(3, 2), max_iter=n).fit(X, y).coef_average_ for n in (4, 5)]
    change = np.linalg.norm(means[1] - means[0]) / np.linalg.norm(means[1])
    just_above = StructuredPerceptron(Chain(3, 2), max_iter=5, tol=change * (1 + 1e-9)).fit(X, y)
    just_below = StructuredPerceptron(Chain(3, 2), max_iter=5, tol=change * (1 - 1e-9)).fit(X, y)
    assert (just_above.n_iter_, just_above.stop_reason_) == (5, "tol")
    assert just_below.stop_reason_ == "max_iter"


@pytest.mark.parametrize("combine", ["average", "last"])
def test_early_stopping_returns_to_the_best_epoch(combine, rng):
    X, y = tagged(rng, 60, 3, 2, whole=False)
    options = {"combine": combine, "early_stopping": True, "validation_fraction": 0.3, "random_state": 2}
    model = StructuredPerceptron(Chain(3, 2), max_iter=30, n_iter_no_change=3, **options).fit(X, y)
    accuracies = [row["validation_accuracy"] for row in model.history_]
    best = int(np.argmax(accuracies))
    assert model.stop_reason_ == "early_stopping"
    assert model.n_iter_ == best + 1 + 3
    until_then = StructuredPerceptron(Chain(3, 2), max_iter=best + 1, n_iter_no_change=50, **options).fit(X, y)
    assert_same(model, until_then)
    assert model.t_ == 42 * (best + 1)
    assert model.n_updates_ == sum(row["updates"] for row in model.history_[: best + 1])


def test_progress_is_shown_if_asked_for(rng, capsys):
    X, y = gaussian(rng, 20, 2, 3)
    StructuredPerceptron(Classes(3, 2), max_iter=2, verbose=1).fit(X, y)
    assert "mistakes in 20 examples" in capsys.readouterr().err


def test_an_inexact_decoder_makes_mistakes_that_violate_nothing():
    class Careless(Classes):
        def decode(self, x, w, cost_with=None):
            return 0

    passive = StructuredPerceptron(Careless(2, 1), step="pa1", max_iter=5, shuffle=False).fit([[1.0], [2.0]], [1, 1])
    assert passive.coef_last_.tolist() == [-0.5, 0.5]
    assert [(row["mistakes"], row["updates"], row["loss"]) for row in passive.history_] == [(2, 1, 1.0), (2, 0, 0.0)]
    assert passive.stop_reason_ == "converged"
    constant = StructuredPerceptron(Careless(2, 1), max_iter=3).fit([[1.0]], [1])
    assert constant.coef_last_.tolist() == [-3, 3]
    assert [(row["mistakes"], row["updates"], row["loss"]) for row in constant.history_] == 3 * [(1, 1, 0.0)]


# ---- growing


def texts(rng, n):
    words = np.array([f"word{i}" for i in range(40)])
    X = [rng.choice(words, rng.integers(1, 6)).tolist() for _ in range(n)]
    return X, ["early" if np.mean([int(word[4:]) for word in x]) < 18 else "late" for x in X]


@pytest.mark.parametrize("options", [{}, {"margin": 1.0}, {"margin": 0.5}, {"step": "pa1"}])
def test_a_model_that_grows_learns_what_it_would_have_with_all_weights_from_the_start(options, rng):
    X, y = texts(rng, 80)
    growing = StructuredPerceptron(Growing(["early", "late"]), max_iter=3, shuffle=False, **options)
    for block in (slice(0, 5), slice(5, 40), slice(40, 80)):
        growing.partial_fit(X[block], y[block])
    grown = growing.model
    assert len(growing.coef_) == grown.size > 40
    ready = StructuredPerceptron(pickle.loads(pickle.dumps(grown)), **options).partial_fit(X, y)
    assert_same(ready, growing)
    assert growing.score(X, y) > 0.8


def test_weights_that_came_after_learning_predict_as_zeros(rng):
    X, y = texts(rng, 30)
    model = StructuredPerceptron(Growing(["early", "late"])).fit(X, y)
    answers, size = model.predict(X), len(model.coef_)
    model.model.features(["never", "seen"], "late")
    assert model.model.size == size + 2
    assert model.predict(X) == answers
    assert len(model.coef_) == size
    model.partial_fit(X[:1], y[:1])
    assert len(model.coef_) == size + 2
    assert model.coef_last_[size:].tolist() == [0, 0]


def test_early_stopping_can_return_to_fewer_weights(rng):
    class Restless(Classes):
        def decode(self, x, w, cost_with=None):
            assert len(w) == self.size
            return super().decode(x, w[:6], cost_with)

        def features(self, x, y):
            self.size += 1
            return super().features(x, y)

    X, y = gaussian(rng, 40, 2, 3)
    options = {"combine": "last", "early_stopping": True, "n_iter_no_change": 2, "random_state": 1}
    model = StructuredPerceptron(Restless(3, 2), **options).fit(X, y)
    best = model.n_iter_ - 2
    until_then = 6 + 2 * sum(row["updates"] for row in model.history_[:best])
    assert model.stop_reason_ == "early_stopping"
    assert len(model.coef_) == until_then < model.model.size
    assert len(model.predict(X)) == 40
    model.partial_fit(X, y)
    assert len(model.coef_) == model.model.size


# ---- scikit-learn's tools


def test_works_with_clones_pickles_searches_and_cross_validation(rng):
    X, y = gaussian(rng, 90, 4, 3)
    model = StructuredPerceptron(Classes(3, 4), max_iter=3, margin=1.0)
    copy = clone(model)
    assert copy.get_params()["margin"] == 1.0
    assert not hasattr(copy, "coef_")
    assert_same(pickle.loads(pickle.dumps(model.fit(X, y))), copy.fit(X, y))
    assert len(cross_val_score(model, X, y, cv=3)) == 3
    search = GridSearchCV(model, {"margin": [0.0, 1.0], "combine": ["last", "average"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7
    assert set(search.best_params_) == {"margin", "combine"}


def test_what_is_read_cannot_be_written(rng):
    X, y = gaussian(rng, 30, 2, 3)
    model = StructuredPerceptron(Classes(3, 2), max_iter=2).fit(X, y)
    for name in ("coef_", "coef_last_", "coef_average_"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model, name)[:] = 1e9


def test_a_model_that_has_learned_nothing_says_so():
    model = StructuredPerceptron(Chain(2, 2))
    for ask in (lambda: model.predict([]), lambda: model.predict_one([]), lambda: model.score([], [])):
        with pytest.raises(NotFittedError, match="call fit, partial_fit or learn_one first"):
            ask()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "t_")
    check_is_fitted(model.learn_one([[1.0, 2.0]], (1,)))


def test_one_example_costs_only_its_features_whatever_the_margin(rng):
    """Weights divided by the margin are kept, not made anew, and stay exact over updates and changes of the margin."""
    X, y = gaussian(rng, 60, 4, 3)
    model = StructuredPerceptron(Classes(3, 4), margin=0.3).partial_fit(X[:20], y[:20])
    kept = model._learner._w_by_margin[1]
    assert np.array_equal(kept, model.coef_last_ / 0.3)
    for x, label in zip(X[20:40], y[20:40], strict=True):
        model.learn_one(x, label)
    assert model._learner._w_by_margin[1] is kept
    assert np.array_equal(kept, model.coef_last_ / 0.3)
    model.set_params(margin=0.7).partial_fit(X[40:], y[40:])
    plain = Perceptron(margin=0.3, fit_intercept=False).partial_fit(X[:40], y[:40], classes=[0, 1, 2])
    plain.set_params(margin=0.7).partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(model.coef_last_, plain.coef_last_.ravel(), atol=1e-12)


# ---- Ctrl-C


class Interrupting(Classes):
    """Ctrl-C comes while the model decodes for the nth time."""

    def __init__(self, k, d, at):
        super().__init__(k, d)
        self.at, self.calls = at, 0

    def decode(self, x, w, cost_with=None):
        self.calls += 1
        if self.calls == self.at:
            os.kill(os.getpid(), signal.SIGINT)
        return super().decode(x, w, cost_with)


def updating(monkeypatch, at):
    """Let Ctrl-C come within update number `at`, when the model has answered."""
    made, difference = [], learning.difference

    def interrupted(f, g):
        made.append(1)
        if len(made) == at:
            os.kill(os.getpid(), signal.SIGINT)
        return difference(f, g)

    monkeypatch.setattr(learning, "difference", interrupted)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("at", [2, 37])
def test_ctrl_c_in_the_model_comes_through_at_once_and_keeps_what_was_learned(learn, at, rng):
    X, y = gaussian(rng, 50, 3, 3)
    model = StructuredPerceptron(Interrupting(3, 3, at), shuffle=False)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, learn)(X, y)
    assert model.model.calls == at
    assert model.t_ == at - 1
    assert_same(model, StructuredPerceptron(Classes(3, 3)).partial_fit(X[: at - 1], y[: at - 1]))
    if learn == "fit":
        assert model.stop_reason_ == "interrupted"
        assert model.history_[0]["examples"] == at - 1
    model.partial_fit(X[at - 1 :], y[at - 1 :])
    assert_same(model, StructuredPerceptron(Classes(3, 3)).partial_fit(X, y))


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_ctrl_c_within_an_update_waits_for_its_end(learn, rng, monkeypatch):
    X, y = gaussian(rng, 50, 3, 3)
    expected = StructuredPerceptron(Classes(3, 3))
    seen = 0
    while not hasattr(expected, "t_") or expected.n_updates_ < 5:
        expected.learn_one(X[seen], y[seen])
        seen += 1
    updating(monkeypatch, 5)
    model = StructuredPerceptron(Classes(3, 3), shuffle=False)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, learn)(X, y)
    assert model.t_ == seen
    assert model.n_updates_ == 5
    assert_same(model, expected)
    if learn == "fit":
        assert sum(row["updates"] for row in model.history_) == 5
        assert sum(row["examples"] for row in model.history_) == seen


def test_ctrl_c_within_the_update_of_a_single_example_waits_for_its_end(rng, monkeypatch):
    updating(monkeypatch, 1)
    model = StructuredPerceptron(Classes(2, 3))
    with pytest.raises(KeyboardInterrupt):
        model.learn_one(rng.standard_normal(3), 1)
    assert (model.t_, model.n_updates_) == (1, 1)


def test_ctrl_c_before_anything_was_learned_leaves_things_as_they_were(rng):
    X, y = gaussian(rng, 20, 3, 3)
    model = StructuredPerceptron(Interrupting(3, 3, 1))
    for learn in (model.fit, model.partial_fit):
        model.model.calls = 0
        with pytest.raises(KeyboardInterrupt):
            learn(X, y)
        assert not hasattr(model, "coef_")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_held_out_examples_are_scored_keeps_what_was_learned(rng):
    X, y = gaussian(rng, 50, 3, 3)
    model = StructuredPerceptron(Interrupting(3, 3, 43), early_stopping=True, validation_fraction=0.2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.t_ == model.history_[0]["examples"] == 40
    assert model.stop_reason_ == "interrupted"


def test_other_threads_learn_without_touching_signals(rng):
    X, y = gaussian(rng, 100, 3, 3)
    expected = StructuredPerceptron(Classes(3, 3), max_iter=2).fit(X, y)
    models = [StructuredPerceptron(Classes(3, 3), max_iter=2) for _ in range(3)]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models:
        assert_same(model, expected)
