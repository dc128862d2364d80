"""A fitted model that keeps learning follows new examples, by every door, and loses nothing where nothing changes."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import perceptrons
from perceptrons import Perceptron
from tests.conftest import as_csr, as_numbers
from tests.reference.following import follow
from tests.support.tiers import slow


def concept(seed, n, d=20, noise=0.05):
    """Points on the two sides of a random hyperplane through 0, of which some have the wrong label."""
    rng = np.random.default_rng(seed)
    X, u = rng.standard_normal((n, d)), np.random.default_rng(100 + seed).standard_normal(d)
    return X, ((X @ u > 0) ^ (rng.random(n) < noise)).astype(int)


def whole_numbers(k, n=400, d=6, changed=False, seed=0):
    """Small whole numbers with k classes; `changed`: by another rule."""
    rng = np.random.default_rng(seed + changed)
    X = rng.integers(-3, 4, (n, d)).astype(float)
    U = np.random.default_rng(7).integers(-3, 4, (d, k))
    return X, ((X @ U).argmax(axis=1) + changed) % k


def state(model):
    return {name: np.array(array) for name, array in model._learner.weights.arrays.items()}


def assert_same(one, other):
    one, other = state(one), state(other)
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert np.array_equal(array, other[name]), name


def totals(model):
    return model._learner.weights.arrays["state"]["total"].copy()


# ---- it follows


def test_a_second_concept_is_learned_after_a_fit():
    first, (X, y) = concept(0, 5000), concept(1, 25_000)
    test = X[20_000:], y[20_000:]
    model = Perceptron().fit(*first)
    assert model.partial_fit(X[:5000], y[:5000]).score(*test) >= 0.9
    assert model.partial_fit(X[5000:20_000], y[5000:20_000]).score(*test) >= 0.925
    before = Perceptron(keep_learning="average").fit(*first).partial_fit(X[:20_000], y[:20_000])
    assert before.score(*test) < 0.7


def test_a_repeated_text_is_learned_within_fifty_repetitions(run, tmp_path):
    assert run("train", "--example", "sms", "-o", tmp_path / "m", "--quiet")[0] == 0
    model = perceptrons.load(tmp_path / "m")
    assert model.predict_one("spam offer today") == "ham"
    repetitions = 0
    while model.predict_one("spam offer today") == "ham":
        model.learn_one("spam offer today", "spam")
        repetitions += 1
        assert repetitions <= 50
    assert model.combine_ == "last"


def test_nothing_is_forgotten_where_nothing_changed():
    X, y = concept(0, 12_000, noise=0.2)
    one, other = (Perceptron(keep_learning=how).fit(X[:4000], y[:4000]) for how in ("follow", "average"))
    for model in (one, other):
        model.partial_fit(X[4000:], y[4000:])
    assert one.combine_ == "average"
    for name in ("coef_", "intercept_"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert np.array_equal(totals(one), totals(other))


def test_forgetting_leaves_the_average_as_it_is():
    X, y = whole_numbers(2)
    model = Perceptron().fit(X, y)
    before = model.coef_average_, model.intercept_average_
    model._learner.weights.start_record()[0] = (40.0, 40.0)  # the next example finds that the average is outdated
    model.partial_fit(np.zeros((1, X.shape[1])), y[:1], sample_weight=[1e-20])  # which teaches it nothing
    assert 250 <= totals(model) < 500 < model.t_
    assert np.array_equal(model.coef_average_, before[0])
    assert np.array_equal(model.intercept_average_, before[1])


# ---- the rule, by the reference

KINDS = {
    "two classes": (2, {}),
    "four classes": (4, {}),
    "one-vs-rest": (3, {"multiclass": "ovr"}),
    "one-vs-one": (3, {"multiclass": "ovo"}),
    "several labels": (3, {}),
    "Rosenblatt": (2, {"margin": 0, "intercept_scaling": 1}),
    "no bias": (2, {"fit_intercept": False}),
    "L2": (2, {"penalty": "l2", "alpha": 0.01}),
    "weak L2": (3, {"penalty": "l2", "alpha": 1e-4}),
    "L1": (2, {"penalty": "l1", "alpha": 0.01}),
    "pa1": (2, {"step": "pa1"}),
    "AROW": (3, {"step": "arow"}),
    "cost": (3, {"cost": [[0, 1, 2], [1, 0, 1], [1, 1, 0]]}),
    "batches": (3, {"batch_size": 5}),
}
SLOW = {"no bias", "weak L2", "cost", "Rosenblatt", "batches"}


def labels_of(kind, y):
    return np.eye(3, dtype=int)[y] | np.eye(3, dtype=int)[(y + (y > 1)) % 3] if kind == "several labels" else y


def signs(kind, model, y):
    """The binary problems of each example, or for the joint rule its class."""
    k = len(model.classes_)
    if kind == "several labels":
        return 2 * labels_of(kind, y) - 1, False
    if kind == "one-vs-rest":
        return 2 * np.eye(k, dtype=int)[y] - 1, False
    if kind == "one-vs-one":
        pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
        return np.array([[(label == b) - int(label == a) for a, b in pairs] for label in y]), False
    return (2 * y[:, None] - 1, False) if k == 2 else (y, True)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("kind", [*sorted(KINDS.keys() - SLOW), *slow(*sorted(SLOW))])
def test_a_followed_average_is_that_of_the_reference(kind, form):
    k, options = KINDS[kind]
    X, y = whole_numbers(k)
    rows = as_csr if form == "csr" else np.asarray
    model = Perceptron(max_iter=6, tol=None, **options).fit(rows(X), labels_of(kind, y))
    mean, before = (model.coef_average_, model.intercept_average_), totals(model)
    X, y = whole_numbers(k, changed=True)
    # which weights come one after the other does not depend on what is averaged
    last = copy.deepcopy(model).set_params(combine="last")
    size = options.get("batch_size", 1)
    path = [(last.coef_last_, last.intercept_last_)]
    for i in range(0, len(X), size):
        last.partial_fit(rows(X[i : i + size]), labels_of(kind, y[i : i + size]))
        path += [path[-1]] * (size - 1) + [(last.coef_last_, last.intercept_last_)]
    model.partial_fit(rows(X), labels_of(kind, y))
    truth, winners = signs(kind, model, y)
    if size > 1:
        check_batches(model, mean, before, path, X, truth, winners, size)
        return
    rows_before = before if len(before) > 1 else np.repeat(before, len(mean[1]))
    (w, b), counted, (lead, different) = follow(mean, rows_before, path, X, truth, winners)
    assert (counted < rows_before).any()  # it did forget
    assert_allclose(model.coef_average_, w, rtol=1e-7, atol=1e-9)
    assert_allclose(model.intercept_average_, b, rtol=1e-7, atol=1e-9)
    assert_allclose(totals(model), counted if len(before) > 1 else counted[0], rtol=1e-12)
    assert_allclose(model._learner.weights.record.item(), (lead, different), rtol=1e-9, atol=1e-9)
    assert model.combine_ == ("last" if lead > np.sqrt(different) else "average")
    if model.combine_ == "last":
        assert np.array_equal(model.coef_, model.coef_last_)


def check_batches(model, mean, before, path, X, truth, winners, size):
    """All of a batch is judged by the weights before it; each visit but the last counts with these."""
    lead = different = 0.0
    (w, b), total = mean, before[0]
    for start in range(0, len(X), size):
        last_w, last_b = path[start]
        for i in range(start, start + size):
            wrong = [np.argmax(v @ X[i] + c) != truth[i] for v, c in ((w, b), (last_w, last_b))]
            lead = 0.998 * lead + int(wrong[0]) - int(wrong[1])
            different = 0.998 * different + (wrong[0] != wrong[1])
            while lead > 3 * np.sqrt(different) and total >= 500:
                total /= 2
        for i in range(start, start + size):
            after = path[i + 1]
            w, b = w + (after[0] - w) / (total + 1), b + (after[1] - b) / (total + 1)
            total += 1
    assert winners
    assert_allclose(model.coef_average_, w, rtol=1e-9)
    assert_allclose(totals(model), total)
    assert_allclose(model._learner.weights.record.item(), (lead, different))


def test_examples_of_no_weight_are_not_compared_and_others_once(rng):
    X, y = whole_numbers(2)
    weight = rng.integers(0, 3, len(y)) / 2.0
    model = Perceptron(max_iter=6, tol=None).fit(X, y)
    mean, before = (model.coef_average_, model.intercept_average_), totals(model)
    last = copy.deepcopy(model).set_params(combine="last")
    X, y = whole_numbers(2, changed=True)
    path = [(last.coef_last_, last.intercept_last_)]
    for i in range(len(X)):
        if weight[i]:
            last.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=weight[i : i + 1])
        path.append((last.coef_last_, last.intercept_last_))
    model.partial_fit(X, y, sample_weight=weight)
    (w, _), counted, record = follow(mean, before, path, X, 2 * y[:, None] - 1, False, weight)
    assert_allclose(model.coef_average_, w, rtol=1e-9)
    assert_allclose(totals(model), counted)
    assert_allclose(model._learner.weights.record.item(), record)


# ---- every door


@pytest.mark.parametrize("options", [{}, {"multiclass": "ovr"}, {"multiclass": "ovo"}], ids=["joint", "ovr", "ovo"])
@pytest.mark.parametrize("k", [2, 3])
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_every_door_follows_alike(tmp_path_factory, k, options, data):
    fitted = Perceptron(max_iter=8, tol=None, shuffle=False, **options).fit(*whole_numbers(k))
    X, y = whole_numbers(k, n=200, changed=True)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(y) - 1), max_size=4)))
    blocks = list(zip([0, *cuts], [*cuts, len(y)], strict=True))
    whole = copy.deepcopy(fitted).partial_fit(X, y)
    parts, single, streamed, resumed = (copy.deepcopy(fitted) for _ in range(4))
    streamed.set_params(warm_start=True).fit_stream([(X[a:b], y[a:b]) for a, b in blocks])
    path = tmp_path_factory.mktemp("model") / "m"
    for start, end in blocks:
        parts.partial_fit(X[start:end], y[start:end])
        perceptrons.save(resumed, path)
        resumed = perceptrons.load(path).partial_fit(as_csr(X[start:end]), y[start:end])
    for x, label in zip(X, y.tolist(), strict=True):
        expected = single.predict([x])[0]
        assert single.predict_one(x) == expected
        single.learn_one(x, label)
    for model in (parts, single, streamed, resumed):
        assert_same(whole, model)
        assert model.combine_ == whole.combine_
        assert np.array_equal(model.decision_function(X), whole.decision_function(X))
    assert whole.combine_ == "last"


def test_train_from_follows_as_partial_fit_does_and_says_so(run, tmp_path):
    for name, changed in (("old", False), ("new", True)):
        X, y = whole_numbers(2, changed=changed)
        np.savetxt(
            tmp_path / f"{name}.csv", np.column_stack([X, y]), "%d", ",", header="a,b,c,d,e,f,label", comments=""
        )
    scale = ("--scale", "none", "--test-share", 0)
    assert run("train", tmp_path / "old.csv", *scale, "-o", tmp_path / "m", "--quiet")[0] == 0
    model = perceptrons.load(tmp_path / "m")
    more = ("train", tmp_path / "new.csv", "--from", tmp_path / "m", "--test-share", 0, "--no-shuffle")
    for number, way in enumerate([[], ["--in-memory", "0"]]):
        code, out, _ = run(*more, "-o", tmp_path / f"m{number}", *way)
        assert code == 0
        assert "Keeps learning: predicts with the last weights, which made fewer mistakes" in out
    model.partial_fit(X, y.astype(str) if model.classes_.dtype.kind == "U" else y)
    for number in range(2):
        assert_same(model, perceptrons.load(tmp_path / f"m{number}"))
    _, out, _ = run("inspect", tmp_path / "m0")
    assert "keeps learning" in out
    assert "(last weights" in out
    code, out, _ = run(*more, "-o", tmp_path / "a", "--keep-learning", "average")
    averaged = perceptrons.load(tmp_path / "a")
    assert (averaged.keep_learning, averaged.combine_) == ("average", "average")
    assert averaged._learner.weights.record is None
    assert run(*more, "-o", tmp_path / "l", "--combine", "last", "--quiet")[0] == 0
    assert perceptrons.load(tmp_path / "l").combine == "last"
    code, _, err = run(*more, "--combine", "recent")
    assert code == 2
    assert "holds no recent average" in err


# ---- what does not follow


def test_a_fit_and_a_model_that_only_learns_online_keep_no_record():
    X, y = whole_numbers(3)
    fitted = Perceptron(max_iter=3, tol=None, warm_start=True).fit(X, y)
    online = Perceptron().partial_fit(X, y).learn_one(X[0], y[0])
    assert fitted._learner.weights.record is None
    assert online._learner.weights.record is None
    assert totals(online) == online.t_
    fitted.partial_fit(*whole_numbers(3, changed=True))
    assert fitted._learner.weights.record is not None
    assert fitted.fit(X, y)._learner.weights.record is None


@pytest.mark.parametrize("combine", ["last", "recent", "vote", "pocket"])
def test_only_the_plain_average_follows(combine):
    model = Perceptron(combine=combine, max_iter=3, tol=None).fit(*whole_numbers(2))
    model.partial_fit(*whole_numbers(2, changed=True))
    assert model._learner.weights.record is None
    assert model.combine_ == combine


def test_keep_learning_average_counts_all_alike_and_ends_the_comparison():
    X, y = whole_numbers(2)
    model = Perceptron(max_iter=3, tol=None, keep_learning="average", shuffle=False).fit(X, y)
    warm = Perceptron(max_iter=3, tol=None, shuffle=False).fit(X, y)
    for one in (model, warm):
        one.partial_fit(X, y)
    assert totals(model) == model.t_ == 4 * len(y)
    warm.set_params(keep_learning="average").learn_one(X[0], y[0])
    assert warm.combine_ == "average"
    assert warm._learner.weights.record is None
    with pytest.raises(ValueError, match="keep_learning"):
        Perceptron(keep_learning="always").fit(X, y)


def test_a_cluster_counts_all_examples_alike_again():
    model = Perceptron().fit(*whole_numbers(3)).partial_fit(*whole_numbers(3, changed=True))
    weights, before = model._learner.weights, (model.coef_average_, model.intercept_average_)
    assert totals(model) < model.t_
    weights.count_all_alike()
    assert totals(model) == model.t_
    model._learner.changed()
    assert_allclose(model.coef_average_, before[0])
    assert_allclose(model.intercept_average_, before[1])


def test_a_file_with_an_impossible_record_is_refused(tmp_path):
    model = Perceptron().fit(*whole_numbers(2)).partial_fit(*whole_numbers(2, changed=True))
    for record in ([3.0, 2.0], [0.0, -1.0], [0.0, 1e9], [np.nan, 1.0]):
        as_numbers(model._learner.weights.record)[:] = record
        if not np.isnan(record).any():
            perceptrons.save(model, tmp_path / "m")
            with pytest.raises(perceptrons.ModelFileError):
                perceptrons.load(tmp_path / "m")


def test_wrong_labels_alone_seldom_make_the_last_weights_predict():
    """Nothing changes but the labels, of which 30% are wrong. Any lead of the last weights cost 7 points on average."""
    losses = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        u, X = rng.standard_normal(8), rng.standard_normal((5500, 8))
        truth = (X @ u > 0).astype(int)
        y = truth ^ (rng.random(len(X)) < 0.3)
        model = Perceptron(random_state=seed, max_iter=20).fit(X[:2000], y[:2000])
        scores = [model.score(X[3500:], truth[3500:])]
        for begin in range(2000, 3500, 50):
            model.partial_fit(X[begin : begin + 50], y[begin : begin + 50])
            scores.append(model.score(X[3500:], truth[3500:]))
        losses.append(scores[0] - min(scores))
    assert np.mean(losses) < 0.03
