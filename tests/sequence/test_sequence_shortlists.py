"""Weights in short lists of labels, as taggers with many labels keep them: the same bits as full rows, in less memory.

A tagger that knows 80 labels, of which only 20 are allowed, has lists; one that knows only the 20 has full rows. Both
have to learn the same.
"""

import numpy as np
import pytest
import scipy.sparse as sp

import perceptrons
from perceptrons import SequencePerceptron
from perceptrons.engine.passes.weight_pool import MAX_ROW_LABELS, MAX_ROW_TO_LIST, MIN_LIST

USED = [f"l{k:02}" for k in range(20)]
EXTRA = [f"l{k:02}" for k in range(20, 80)]
ALLOWED = {None: USED, **dict.fromkeys(USED + EXTRA, USED)}
SETTINGS = {
    "plain": {},
    "last": {"combine": "last"},
    "eta": {"eta0": 0.3},
    "margin": {"margin": 1.0},
    "hamming": {"cost": "hamming"},
    "pa1": {"step": "pa1"},
    "pa1, small C": {"step": "pa1", "C": 0.01, "cost": "hamming"},
    "no transitions": {"transitions": False, "start_stop": False},
}
WEIGHTS = [f"{name}_{which}_" for name in ("transitions", "start", "stop") for which in ("last", "average")]


def case(form, seed=0, n=60, d=40):
    """Sequences with real values, whose common features fire for more labels than a list may hold."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 7, n)
    X = rng.normal(size=(lengths.sum(), d)) * (rng.random((lengths.sum(), d)) < 0.15)
    X[:, 0] = rng.normal(size=len(X))
    X[:, d // 2 :] *= rng.random((len(X), d - d // 2)) < 0.05
    y = np.array(USED)[rng.integers(0, 20, len(X))]
    ends = np.cumsum(lengths)[:-1]
    if form == "matrix":
        return sp.csr_matrix(X), y, {"lengths": lengths.tolist()}
    labels = [part.tolist() for part in np.split(y, ends)]
    if form == "dicts":
        return [[{f"x{j}": x[j] for j in np.flatnonzero(x)} for x in part] for part in np.split(X, ends)], labels, {}
    return [[[f"x{j}" for j in np.flatnonzero(x)] for x in part] for part in np.split(X, ends)], labels, {}


def trained(labels, X, y, more, epochs=3, **given):
    model = SequencePerceptron(allowed=ALLOWED, **given)
    for _ in range(epochs):
        model.partial_fit(X, y, classes=labels, **more)
    return model


def assert_same(lists, full):
    assert len(lists.classes_) > MAX_ROW_LABELS >= len(full.classes_)
    for which in ("last", "average"):
        wide, narrow = getattr(lists, f"coef_{which}_"), getattr(full, f"coef_{which}_")
        np.testing.assert_array_equal(wide[:20], narrow)
        assert not wide[20:].any()
    for name in WEIGHTS:
        wide, narrow = getattr(lists, name), getattr(full, name)
        np.testing.assert_array_equal(wide[(slice(20),) * wide.ndim], narrow)
    assert (lists.n_updates_, lists.n_mistakes_) == (full.n_updates_, full.n_mistakes_)


@pytest.mark.parametrize("form", ["matrix", "dicts", "lists"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_lists_learn_the_same_bits_as_full_rows(setting, form):
    X, y, more = case(form)
    lists, full = (trained(labels, X, y, more, **SETTINGS[setting]) for labels in (USED + EXTRA, USED))
    assert_same(lists, full)
    assert lists.n_updates_ > 50
    size = lists._learner.weights.table.size
    assert {0, len(lists.classes_)} < set(size.tolist()) if form == "matrix" else len(set(size.tolist())) > 2
    for ours, theirs in zip(lists.predict(X, **more), full.predict(X, **more), strict=True):
        assert list(ours) == list(theirs)
    scores = zip(lists.decision_function(X, **more), full.decision_function(X, **more), strict=True)
    for ours, theirs in scores:
        np.testing.assert_array_equal(ours[..., :20], theirs)


@pytest.mark.parametrize("given", [{"min_count": 3}, {"hash_bits": 4}])
def test_lists_learn_the_same_bits_with_rare_features_left_out_or_hashed(given):
    X, y, more = case("lists")
    assert_same(*(trained(labels, X, y, more, **given) for labels in (USED + EXTRA, USED)))


def test_labels_that_come_later_turn_full_rows_into_lists():
    X, y, _ = case("lists")
    late = SequencePerceptron(allowed=ALLOWED).partial_fit(X[:20], y[:20], classes=USED)
    late.partial_fit(X[20:], y[20:], classes=USED + EXTRA)
    assert_same(late, trained(USED, X, y, {}, epochs=1))


def test_a_saved_tagger_with_lists_keeps_learning_where_it_stopped(tmp_path):
    X, y, _ = case("lists")
    model = trained(USED + EXTRA, X, y, {}, epochs=1)
    perceptrons.save(model, tmp_path / "once")
    again = perceptrons.load(tmp_path / "once").partial_fit(X, y)
    model.partial_fit(X, y)
    perceptrons.save(model, tmp_path / "a")
    perceptrons.save(again, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("given", [{"early_stopping": True, "n_iter_no_change": 2}, {"tol": 0.3}])
def test_epochs_end_at_the_same_one_with_lists(given):
    X, y, _ = case("lists", n=100)
    models = []
    for labels in (USED + EXTRA, USED):
        known = dict.fromkeys((None, *labels), USED)
        model = SequencePerceptron(allowed=known, warm_start=True, max_iter=30)
        model.partial_fit([[]], [[]], classes=labels)
        models.append(model.set_params(**given).fit(X, y))
    assert_same(*models)
    rows = [[{name: row[name] for name in ("mistakes", "updates", "norm")} for row in m.history_] for m in models]
    assert rows[0] == rows[1]
    assert 1 < len(rows[0]) < 30


def test_explanations_and_names_read_lists_as_they_read_rows():
    X, y, _ = case("lists")
    lists, full = (trained(labels, X, y, {}) for labels in (USED + EXTRA, USED))
    x = max(X, key=len)
    assert lists.explain(x).to_dict() == full.explain(x).to_dict()
    np.testing.assert_array_equal(lists.never_updated_, full.never_updated_)


def test_weights_take_memory_only_for_the_labels_that_fired():
    n, K = 3000, 200
    X = [[[f"own{i}", "all"]] for i in range(n)]
    y = [[f"l{i % K:03}"] for i in range(n)]
    weights = SequencePerceptron(max_iter=2).fit(X, y)._learner.weights
    sizes = weights.table.size[: weights.n_features]
    assert sizes[1] == K  # the common feature has a full row
    assert np.median(sizes[sizes > 0]) <= 2 * MIN_LIST
    assert len(weights.w) < n * K / 10
    assert MAX_ROW_TO_LIST * max(sizes[sizes < K]) <= 2 * K
