"""The recent average, combine="recent": against its definition, by every door, over long streams."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

from perceptrons import Checkpoint, Perceptron, load, save
from perceptrons.engine.passes.average import MAX_GAIN
from perceptrons.engine.training.epochs import hold_out
from tests.conftest import as_numbers, gaussian
from tests.reference import wrappers
from tests.reference.large import train_binary, train_joint
from tests.reference.recent import recent_mean
from tests.support.blocks import BoomError

PLAIN = {"combine": "recent", "margin": 0, "intercept_scaling": 1, "shuffle": False, "tol": None}
RULES = {
    "perceptron": {},
    "margin": {"margin": 0.7},
    "slow decay": {"penalty": "l2", "alpha": 1e-4},
    "fast decay": {"penalty": "l2", "alpha": 0.05},
    "elastic net": {"penalty": "elasticnet", "alpha": 0.05},
    "batches": {"batch_size": 7},
    "batches, decay": {"batch_size": 4, "penalty": "l2", "alpha": 0.02},
    "pa1": {"step": "pa1", "C": 0.3, "margin": 1},
    "pa2": {"step": "pa2", "C": 0.3, "margin": 1, "penalty": "l2", "alpha": 0.01},
    "arow": {"step": "arow", "margin": 1},
}
WINDOWS = (2, 3.5, 20, 1e6)
STRENGTH = {np.float32: 2e-4, np.float64: 1e-10}


def drifting(rng, n=150, d=4, k=2, dtype=float):
    """Classes whose hyperplane turns."""
    X, y = gaussian(rng, n, d, k)
    y[n // 2 :] = (y[n // 2 :] + 1) % k
    y[:k] = np.arange(k)
    return X.astype(dtype), y


def learned(X, y, rule, window, **more):
    model = Perceptron(**{**PLAIN, "window": window, **rule, **more})
    return model.partial_fit(X, y)


def orders(n):
    return [range(n)]


def check(model, expected, dtype):
    w, b = expected
    assert np.abs(model.coef_recent_ - model.coef_last_).max() > 1e-3 * np.abs(w).max()
    assert_allclose(model.coef_recent_, np.atleast_2d(w), rtol=0, atol=STRENGTH[dtype] * np.abs(w).max())
    assert_allclose(model.intercept_recent_, np.ravel(b), rtol=0, atol=STRENGTH[dtype] * max(1, np.abs(b).max()))
    assert model.coef_recent_.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rule", RULES)
def test_two_classes_are_averaged_as_the_definition_says(rng, rule, dtype):
    X, y = drifting(rng, dtype=dtype)
    run = train_binary(X, 2 * y - 1, orders(len(y)), **RULES[rule])
    for window in WINDOWS:
        check(learned(X, y, RULES[rule], window), recent_mean(run.path, window), dtype)


@pytest.mark.parametrize("rule", RULES)
def test_several_classes_are_averaged_as_the_definition_says(rng, rule):
    X, y = drifting(rng, k=3)
    run = train_joint(X, y, orders(len(y)), 3, **RULES[rule])
    for window in WINDOWS:
        check(learned(X, y, RULES[rule], window), recent_mean(run.path, window), np.float64)


@pytest.mark.parametrize("rule", ["perceptron", "fast decay", "batches", "pa1", "arow"])
@pytest.mark.parametrize("scheme", ["ovr", "ovo", "labels"])
def test_binary_problems_are_averaged_one_by_one(rng, scheme, rule):
    X, y = drifting(rng, k=4)
    if scheme == "labels":
        target = np.eye(4, dtype=int)[y] | (rng.random((len(y), 4)) < 0.3)
        found = wrappers.several_labels(X, target, orders(len(y)), **RULES[rule])
        model = learned(X, target, RULES[rule], 20)
    else:
        wrap = wrappers.one_vs_rest if scheme == "ovr" else wrappers.one_vs_one
        found = wrap(X, y, orders(len(y)), 4, **RULES[rule])
        model = learned(X, y, RULES[rule], 20, multiclass=scheme)
    w, b = (np.array(part) for part in zip(*(recent_mean(run.path, 20) for run in found.runs), strict=True))
    check(model, (w, b), np.float64)


@pytest.mark.parametrize("rule", ["perceptron", "fast decay", "pa1"])
def test_fractions_and_repetitions_count_by_their_weight(rng, rule):
    X, y = drifting(rng)
    weight = rng.choice([0, 0.25, 1, 2, 3.7], len(y))
    run = train_binary(X, 2 * y - 1, orders(len(y)), weights=weight, **RULES[rule])
    for window in WINDOWS:
        model = Perceptron(**{**PLAIN, "window": window, **RULES[rule]}).partial_fit(X, y, sample_weight=weight)
        check(model, recent_mean(run.path, window), np.float64)


def test_the_start_and_new_features_count_as_in_the_plain_average(rng):
    X, y = drifting(rng)
    start = {"coef_init": rng.standard_normal((1, 4)), "intercept_init": np.array([0.5])}
    run = train_binary(X, 2 * y - 1, orders(len(y)), w=start["coef_init"][0], b=0.5)
    check(Perceptron(**PLAIN, window=30, max_iter=1).fit(X, y, **start), recent_mean(run.path, 30), np.float64)
    narrow, wide = Perceptron(**PLAIN, window=30), Perceptron(**PLAIN, window=30)
    late = np.where(np.arange(len(y))[:, None] < 50, X * [1, 1, 0, 0], X)  # two features come after 50 examples
    for model, first in ((narrow, 2), (wide, 4)):
        model.fit_stream([(late[:50, :first], y[:50]), (late[50:], y[50:])])
    assert np.array_equal(narrow.coef_recent_, wide.coef_recent_)


# ---- long streams


def test_after_very_many_examples_it_is_still_the_weighted_mean(rng):
    """The sums are written in a larger unit many times over; the reference keeps what is in reach of the window."""
    X, y = drifting(rng, n=6000)
    run = train_binary(X, 2 * y - 1, orders(len(y)))
    model = learned(X, y, {}, 5)
    assert 6000 * np.log2(1 / 0.8) > 10 * np.log2(MAX_GAIN)
    w, b = recent_mean(run.path[-300:], 5)
    check(model, (w, b), np.float64)


@pytest.mark.parametrize("rule", ["perceptron", "fast decay", "slow decay", "batches", "arow"])
def test_the_mean_stays_exact_when_the_unit_changes(rng, rule):
    """Compared with the literal mean after every block, before and after the sums are divided."""
    X, y = drifting(rng, n=700)
    run = train_binary(X, 2 * y - 1, orders(len(y)), **RULES[rule])
    model = Perceptron(**{**PLAIN, "window": 2, **RULES[rule]})
    gains = []
    for end in range(7, 701, 7):
        model.partial_fit(X[end - 7 : end], y[end - 7 : end], classes=[0, 1])
        gains.append(model._learner.weights.arrays["state"]["gain"][0])
        w, _ = recent_mean(run.path[:end][-120:], 2)
        assert_allclose(model.coef_recent_[0], w, rtol=0, atol=1e-10 * np.abs(w).max())
    assert max(gains) <= MAX_GAIN
    assert (np.diff(gains) < 0).sum() >= 4


def test_a_huge_weight_forgets_all_before_it(rng):
    X, y = drifting(rng)
    weight = np.ones(len(y))
    weight[100] = 1e6
    model = Perceptron(**PLAIN, window=10).partial_fit(X[:101], y[:101], sample_weight=weight[:101])
    assert_allclose(model.coef_recent_, model.coef_last_, rtol=1e-12)
    state = model._learner.weights.arrays["state"]
    assert np.isfinite(state.view(np.float64)).all()
    assert state["total"][0] > 0


def test_an_endless_window_is_the_plain_average(rng):
    X, y = drifting(rng)
    recent, plain = learned(X, y, {}, 1e12), learned(X, y, {}, 500, combine="average")
    assert_allclose(recent.coef_recent_, plain.coef_average_, rtol=1e-9)


# ---- every door, the same bits


def state(model):
    arrays = {
        name: np.ascontiguousarray(as_numbers(array) + 0.0) for name, array in model._learner.weights.arrays.items()
    }
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("rule", ["perceptron", "slow decay", "fast decay", "pa1", "arow"])
def test_blocks_sparse_rows_streams_and_single_examples_give_the_same_bits(rng, rule, k):
    X, y = drifting(rng, n=400, k=k)
    options = {**PLAIN, "window": 2.5, **RULES[rule]}
    whole = Perceptron(**options).partial_fit(X, y)
    fitted = Perceptron(**options, max_iter=1).fit(X, y)
    blocks, single, sparse, streamed = (Perceptron(**options) for _ in range(4))
    for part in np.array_split(np.arange(len(y)), [1, 3, 100, 101, 333]):
        blocks.partial_fit(X[part], y[part], classes=range(k))
    for i in range(len(y)):
        single.partial_fit(X[:1], y[:1], classes=range(k)) if i == 0 else single.learn_one(X[i], y[i])
    sparse.partial_fit(sp.csr_matrix(X), y)
    streamed.fit_stream([(X[a : a + 64], y[a : a + 64]) for a in range(0, 400, 64)], classes=range(k))
    for model in (fitted, blocks, single, streamed):
        assert state(model) == state(whole)
        assert np.array_equal(model.predict(X), whole.predict(X))
    assert_allclose(sparse.coef_recent_, whole.coef_recent_, rtol=1e-9, atol=1e-12)
    assert [whole.predict_one(x) for x in X[:50]] == whole.predict(X[:50]).tolist()


@pytest.mark.parametrize("options", [{}, {"multiclass": "ovo"}, {"penalty": "l2", "alpha": 0.01}, {"step": "arow"}])
def test_a_saved_model_resumes_to_the_bit(rng, tmp_path, options):
    X, y = drifting(rng, n=600, k=3)
    straight = Perceptron(combine="recent", window=3, **options).partial_fit(X[:300], y[:300], classes=range(3))
    save(straight, tmp_path / "model")
    resumed = load(tmp_path / "model")
    assert resumed.window == 3
    assert state(resumed) == state(straight)
    copied = copy.deepcopy(straight)
    for model in (straight, resumed, copied):
        model.partial_fit(X[300:], y[300:])
    assert state(resumed) == state(straight) == state(copied)
    assert np.array_equal(resumed.decision_function(X), straight.decision_function(X))


def test_a_checkpoint_resumes_to_the_bit(rng, tmp_path):
    X, y = drifting(rng, n=500)
    blocks = [(X[a : a + 40], y[a : a + 40]) for a in range(0, 500, 40)]
    make = Perceptron(combine="recent", window=5)
    straight = clone(make).fit_stream(blocks, epochs=2)
    seen = []

    def stop(row):
        seen.append(row)
        if len(seen) == 15:
            raise BoomError("boom")

    point = tmp_path / "run.checkpoint"
    with pytest.raises(BoomError):
        clone(make).fit_stream(blocks, epochs=2, watch=stop, checkpoint=Checkpoint(point, every=0))
    resumed = clone(make).fit_stream(blocks, epochs=2, checkpoint=Checkpoint(point, resume=True))
    assert state(resumed) == state(straight)


# ---- what it is for, and what goes with it


def test_it_follows_a_drift_that_the_plain_average_does_not(rng):
    X = rng.standard_normal((4000, 5))
    y = (X @ rng.standard_normal(5) > 0).astype(int)
    y[2000:] = 1 - y[2000:]
    right = {}
    for combine in ("average", "recent"):
        model = Perceptron(combine=combine, **({"window": 100} if combine == "recent" else {}))
        model.partial_fit(X[:3000], y[:3000])
        right[combine] = model.score(X[3000:], y[3000:])
    assert right["recent"] > 0.9 > 0.6 > right["average"]


def test_early_stopping_scores_the_weights_that_are_returned(rng):
    X, y = gaussian(rng, 300, 5, 2)
    flip = rng.random(300) < 0.2
    y[flip] = 1 - y[flip]
    model = Perceptron(combine="recent", window=50, early_stopping=True, max_iter=30).fit(X, y)
    best = max(model.history_, key=lambda row: row["validation_accuracy"])
    _, held_out = hold_out(y, None, 0.1, 0)
    assert model.score(X[held_out], y[held_out]) == pytest.approx(best["validation_accuracy"])


def test_last_and_recent_come_from_one_run(rng):
    X, y = drifting(rng)
    model, last = learned(X, y, {}, 20), learned(X, y, {}, 500, combine="last")
    assert np.array_equal(model.coef_last_, last.coef_last_)
    assert np.array_equal(model.coef_, model.coef_recent_)
    shown = clone(model)
    shown.__dict__.update({k: v for k, v in model.__dict__.items() if k not in ("combine", "window")})
    shown.set_params(combine="last", window=500)
    assert np.array_equal(shown.predict(X), last.predict(X))
    assert [shown.predict_one(x) for x in X[:5]] == last.predict(X[:5]).tolist()


def test_a_model_keeps_one_of_the_two_averages_and_says_so(rng):
    X, y = drifting(rng)
    recent, plain = learned(X, y, {}, 20), learned(X, y, {}, 500, combine="average")
    for model, lacking in ((recent, "average"), (plain, "recent")):
        with pytest.raises(AttributeError, match=f"not created with combine='{lacking}'"):
            getattr(model, f"coef_{lacking}_")
        model.set_params(combine=lacking, window=500)
        for ask in (model.predict, model.decision_function, lambda X, model=model: model.predict_one(X[0])):
            with pytest.raises(ValueError, match=f"not created with combine='{lacking}'"):
                ask(X)
        for learn in (lambda m: m.partial_fit(X, y), lambda m: m.learn_one(X[0], y[0])):
            with pytest.raises(ValueError, match=f"combine='{lacking}'|changed to or from 'recent'"):
                learn(model)
    plain.set_params(combine="recent", warm_start=True)
    with pytest.raises(ValueError, match="combine='recent'"):
        plain.fit(X, y)
    assert plain.set_params(warm_start=False).fit(X, y).coef_recent_.shape == (1, 4)


@pytest.mark.parametrize("window", [1, 0, -5, 1e13, np.inf, np.nan, "auto", None, True])
def test_a_window_that_is_none_is_refused(window):
    with pytest.raises(ValueError, match="window must be a number"):
        Perceptron(combine="recent", window=window).fit([[0.0], [1.0]], [0, 1])


def test_a_window_without_a_recent_average_is_refused():
    with pytest.raises(ValueError, match="use combine='recent'"):
        Perceptron(window=50).fit([[0.0], [1.0]], [0, 1])


def test_the_window_may_change_while_learning(rng):
    """Each example fades the ones before it by the window of its day."""
    X, y = drifting(rng)
    run = train_binary(X, 2 * y - 1, orders(len(y)))
    model = Perceptron(**PLAIN, window=10).partial_fit(X[:100], y[:100])
    model.set_params(window=40).partial_fit(X[100:], y[100:])
    weights = np.concatenate([0.9 ** np.arange(99, -1, -1) * 0.975**50 * 1.0, 0.975 ** np.arange(49, -1, -1)])
    expected = sum(c * w for c, (w, _, _) in zip(weights, run.path, strict=True)) / weights.sum()
    assert_allclose(model.coef_recent_[0], expected, rtol=1e-10)
