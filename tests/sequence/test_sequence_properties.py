"""Properties of `SequencePerceptron` that hold on any sequences, and peers' mistakes that it does not make."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perceptrons import SequencePerceptron
from tests.conftest import as_csr, gaussian, whole_numbers
from tests.reference import sequence as reference
from tests.support.lecture import rosenblatt
from tests.support.sequences import (
    LABELS,
    MATRICES,
    as_dicts,
    assert_same_bits,
    assert_same_weights,
    everything,
    flat,
    names_of,
    odd_csr,
    options,
    parts_of,
    random_case,
    random_words,
    run_of,
    weights_of,
)

steady = settings(deadline=None, derandomize=True, max_examples=25)


@st.composite
def data_sets(draw, kinds=tuple(LABELS), n=8, longest=4, d=3):
    """Eight sequences of small whole numbers with permitted labels, at least two: sums are exact, ties are many."""
    classes, allowed = LABELS[draw(st.sampled_from(kinds))]
    lengths = [draw(st.integers(2, longest)), *(draw(st.integers(0, longest)) for _ in range(n - 1))]
    X = [draw(arrays(np.float64, (m, d), elements=st.integers(-2, 2).map(float))) for m in lengths]
    X[0][0, 0] = 1  # dicts without any number make single precision
    every = {m: reference.labellings(m, classes, allowed) for m in set(lengths)}
    Y = [[classes[k] for k in every[m][draw(st.integers(0, len(every[m]) - 1))]] for m in lengths]
    known = {name for y in Y for name in y}
    assume(len(known) > 1)
    if isinstance(allowed, dict):  # names of labels that are nowhere are refused
        allowed = {a: [b for b in follow if b in known] for a, follow in allowed.items() if a is None or a in known}
        assume(all(allowed.values()))
    return X, Y, sorted(known), allowed


def cut(draw, n):
    """Blocks (start, end) of n sequences."""
    cuts = sorted(draw.draw(st.sets(st.integers(1, n - 1), max_size=3)))
    return list(zip([0, *cuts], [*cuts, n], strict=True))


# ---- decoding


@steady
@given(data_sets(), st.sampled_from(["last", "average"]), st.booleans(), st.booleans(), st.integers(0, 99))
def test_the_best_of_all_labellings_is_predicted_and_of_equal_ones_the_first(data, combine, pairs, ends, seed):
    X, Y, classes, allowed = data
    used = {"transitions": pairs, "start_stop": ends}
    model = SequencePerceptron(combine=combine, allowed=allowed, **used, **options(max_iter=1)).fit(as_dicts(X), Y)
    new = [np.random.default_rng([seed, m]).integers(-2, 3, (m, 3)).astype(float) for m in (0, 1, 2, 3, 4)]
    names, w = names_of(3), weights_of(model, names_of(3))  # after 8 examples the average is in eighths: exact
    answers, scores = model.predict(as_dicts(new)), model.decision_function(as_dicts(new))
    for x, answer, score in zip(new, answers, scores, strict=True):
        best, highest = reference.best_path(x, w, classes, allowed, **used)
        assert answer == best == model.predict_one(as_dicts([x])[0])
        assert reference.permitted(answer, allowed)
        np.testing.assert_array_equal(score, reference.max_marginals(x, w, classes, allowed, **used))
        for t, name in enumerate(answer):
            assert score[t, classes.index(name)] == score[t].max() == highest
    assert len(names) == 3


@pytest.mark.parametrize("kind", ["bio", "bioes", "dict"])
def test_long_sequences_obey_what_is_allowed(kind):
    X, Y, classes, allowed = random_case(1, kind)
    model = SequencePerceptron(allowed=allowed, transitions=False, **options()).fit(as_dicts(X), Y)
    free = SequencePerceptron(transitions=False, **options()).fit(as_dicts(X), Y)
    rng = np.random.default_rng(0)
    long = as_dicts([rng.standard_normal((300, 4)), rng.standard_normal((1, 4))])
    assert all(reference.permitted(answer, allowed) for answer in model.predict(long))
    assert not all(reference.permitted(answer, allowed) for answer in free.predict(long))
    scores = model.decision_function(long)[0]
    highest = scores.max(axis=1)
    np.testing.assert_allclose(highest, highest[0])  # the best labelling goes through every token
    for k, name in enumerate(classes):
        assert np.isneginf(scores[0, k]) == (not any(y[0] == k for y in reference.labellings(2, classes, allowed))), (
            name
        )


def test_plain_python_labels_come_back_as_they_were_given():
    S = [[["x"], ["y"]], [], [["y"]]]
    for names in (["a", "b"], [0, 1], [True, False], [np.int64(3), np.int64(7)], [np.str_("p"), np.str_("q")]):
        first, second = names
        model = SequencePerceptron(max_iter=20, combine="last").fit(S, [[first, second], [], [second]])
        answers = model.predict(S)
        assert answers == [[first, second], [], [second]]
        plain = {type(getattr(name, "item", lambda name=name: name)()) for name in names}
        assert {type(name) for answer in answers for name in answer} == plain
        assert isinstance(model.predict_one(S[0]), list)


# ---- chains of one token


@pytest.mark.parametrize(
    "more", [{}, {"eta0": 0.5}, {"margin": 1.5}, {"cost": "hamming"}, {"cost": "hamming", "margin": 0.5}]
)
@pytest.mark.parametrize("seed", range(3))
def test_a_chain_of_one_token_is_the_perceptron_for_several_classes(more, seed):
    rows, y = whole_numbers(np.random.default_rng(seed), 60, 5, 4)
    X, keywords = as_csr(rows), {"max_iter": 4, "tol": None, "random_state": seed, **more}
    chain = SequencePerceptron(start_stop=False, **keywords).fit(X, y, lengths=np.ones(60, int))
    if "cost" in keywords:
        keywords["cost"] = 1.0 - np.eye(4)
    linear = rosenblatt(fit_intercept=False, **keywords).fit(X, y)
    assert np.array_equal(chain.coef_last_, linear.coef_last_)
    np.testing.assert_allclose(chain.coef_average_, linear.coef_average_, rtol=1e-13, atol=1e-13)
    assert chain.n_updates_ == linear.n_updates_
    for column in ("mistakes", "updates", "examples"):
        assert [row[column] for row in chain.history_] == [row[column] for row in linear.history_]
    assert np.array_equal(chain.predict(X, lengths=np.ones(60, int)), linear.predict(X))
    np.testing.assert_allclose(chain.decision_function(X, lengths=[1] * 60), linear.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("more", [{}, {"C": 0.02}, {"margin": 2.0}, {"cost": "hamming", "margin": 0.5}])
@pytest.mark.parametrize("seed", range(3))
def test_a_passive_aggressive_chain_of_one_token_is_the_perceptron(more, seed):
    rows, y = gaussian(np.random.default_rng(seed), 60, 5, 3)
    X, keywords = as_csr(rows), {"max_iter": 4, "tol": None, "random_state": seed, "step": "pa1", **more}
    chain = SequencePerceptron(start_stop=False, **keywords).fit(X, y, lengths=np.ones(60, int))
    if "cost" in keywords:
        keywords["cost"] = 1.0 - np.eye(3)
    linear = rosenblatt(fit_intercept=False, **keywords).fit(X, y)
    np.testing.assert_allclose(chain.coef_last_, linear.coef_last_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(chain.coef_average_, linear.coef_average_, rtol=1e-9, atol=1e-12)
    assert (chain.n_updates_, chain.n_mistakes_) == (linear.n_updates_, linear.n_mistakes_)


@pytest.mark.parametrize("seed", range(3))
def test_of_two_labels_the_rows_differ_by_twice_the_binary_weights(seed):
    rows, y = whole_numbers(np.random.default_rng(seed), 60, 5, 2)
    X, keywords = as_csr(rows), {"max_iter": 4, "tol": None, "random_state": seed}
    chain = SequencePerceptron(start_stop=False, **keywords).fit(X, y, lengths=[1] * 60)
    binary = rosenblatt(fit_intercept=False, zero_score="negative", **keywords).fit(X, y)
    assert chain.coef_last_.shape == (2, 5)
    assert np.array_equal(chain.coef_last_[1] - chain.coef_last_[0], 2 * binary.coef_last_[0])
    np.testing.assert_allclose(chain.coef_average_[1] - chain.coef_average_[0], 2 * binary.coef_average_[0], atol=1e-12)
    assert chain.mistakes_.tolist() == binary.mistakes_.tolist()


def test_without_transitions_tokens_are_labelled_one_by_one():
    X, Y, classes, _ = random_case(2)
    model = SequencePerceptron(transitions=False, start_stop=False, combine="last", **options()).fit(as_dicts(X), Y)
    scores = [x @ parts_of(model, "", names_of(4))[0].T for x in X]
    assert model.predict(as_dicts(X)) == [[classes[k] for k in s.argmax(axis=1)] for s in scores]


# ---- the same examples in other calls, other forms, other names


@steady
@given(data_sets(), st.data())
def test_fit_is_partial_fit_in_any_blocks_is_learn_one(data, draw):
    X, Y, classes, allowed = data
    model = SequencePerceptron(allowed=allowed, margin=0.5, cost="hamming", **options(max_iter=1))
    M, lengths, y = flat(X, Y)
    ends = np.cumsum([0, *lengths])
    whole, blocks, single, named = (copy.deepcopy(model) for _ in range(4))
    whole.fit(as_csr(M), y, lengths=lengths)
    for start, end in cut(draw, len(X)):
        rows = slice(ends[start], ends[end])
        blocks.partial_fit(as_csr(M[rows]), y[rows], classes=classes, lengths=lengths[start:end])
        named.partial_fit(as_dicts(X[start:end]), Y[start:end], classes=classes)
    single.partial_fit(as_csr(M[: ends[1]]), y[: ends[1]], classes=classes, lengths=lengths[:1])
    for i in range(1, len(X)):
        single.learn_one(X[i] if i % 2 else as_csr(X[i]), Y[i])
    assert_same_bits(whole, blocks)
    assert_same_bits(whole, single)
    run = run_of(X, Y, 1, classes=classes, allowed=allowed, margin=0.5, cost="hamming")
    assert_same_weights(whole, run)
    assert_same_weights(named, run, names=names_of(3))


@steady
@given(st.integers(0, 1000), st.sampled_from(list(LABELS)))
def test_strings_and_dicts_and_rows_of_the_same_features_are_the_same(seed, kind):
    S, Y, X, names, allowed = random_words(seed, kind)
    model = SequencePerceptron(allowed=allowed, random_state=seed, max_iter=3, tol=None)
    strings, dicts, rows = (copy.deepcopy(model) for _ in range(3))
    counted = [[dict(zip(names, map(float, row), strict=True)) for row in x] for x in X]
    counted = [[{name: count for name, count in token.items() if count} for token in s] for s in counted]
    M, lengths, y = flat(X, Y)
    strings.fit(S, Y)
    dicts.fit(counted, Y)
    rows.fit(as_csr(M.astype(np.float32)), y, lengths=lengths)
    for which in ("last", "average"):
        for a, b, c in zip(
            parts_of(strings, which, names), parts_of(dicts, which, names), parts_of(rows, which), strict=True
        ):
            assert np.array_equal(a, c)
            assert a.dtype == c.dtype == np.float32
            np.testing.assert_allclose(b, a, rtol=1e-6)
            assert b.dtype == np.float64
    answers = strings.predict(S)
    assert rows.predict(as_csr(M), lengths=lengths).tolist() == [name for answer in answers for name in answer]


@steady
@given(data_sets(kinds=("none",)))
def test_names_of_labels_in_the_same_order_change_nothing(data):
    X, Y, classes, _ = data
    model = SequencePerceptron(**options()).fit(as_dicts(X), Y)
    for new in (["N", "O", "P"], [1, 2, 10], [-3.0, 0.0, 7.0], ["1", "10", "2"]):
        other = SequencePerceptron(**options()).fit(as_dicts(X), [[new[classes.index(name)] for name in y] for y in Y])
        assert other.classes_.tolist() == new[: len(classes)]
        assert all(np.array_equal(a, b) for a, b in zip(everything(model), everything(other), strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_labels_that_change_names_change_places_of_weights(seed):
    """Two labels and a demand per token: without ties it does not matter which of them is first."""
    X, Y, _, _ = random_case(seed, "two", values="real")
    assert run_of(X, Y, cost="hamming").closest > 1e-9
    one = SequencePerceptron(cost="hamming", **options()).fit(as_dicts(X), Y)
    swapped = [[{"a": "z", "b": "b"}[name] for name in y] for y in Y]
    other = SequencePerceptron(cost="hamming", **options()).fit(as_dicts(X), swapped)
    for which in ("last", "average"):
        coef, transitions, start, stop = parts_of(other, which, names_of(4))
        turned = coef[::-1], transitions[::-1, ::-1], start[::-1], stop[::-1]
        for a, b in zip(parts_of(one, which, names_of(4)), turned, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", [odd_csr, sp.csc_matrix, sp.csr_array, sp.coo_array, *MATRICES.values()])
def test_inputs_are_never_modified(form):
    X, Y, classes, _ = random_case(3)
    M, lengths, y = flat(X, Y)
    M, lengths = form(M), np.array(lengths)
    held = [getattr(M, part, None) for part in ("data", "indices", "indptr")] if sp.issparse(M) else [M]
    inputs = [a for a in [*held, lengths, y] if a is not None]
    before = [a.copy() for a in inputs]
    model = SequencePerceptron(max_iter=3).fit(M, y, lengths=lengths)
    model.partial_fit(M, y, lengths=lengths, classes=classes)
    model.predict(M, lengths=lengths), model.decision_function(M, lengths=lengths), model.score(M, y, lengths=lengths)
    assert all(np.array_equal(a, b) for a, b in zip(inputs, before, strict=True))
    S, labels = as_dicts(X), copy.deepcopy(Y)
    model = SequencePerceptron(max_iter=3, allowed={"a": ["a", "b", "c"]}).fit(S, labels)
    model.partial_fit(S, labels).learn_one(S[2], labels[2]).predict(S)
    assert (S, labels, model.allowed) == (as_dicts(X), Y, {"a": ["a", "b", "c"]})
    held = model.coef_last_.copy()
    for w in (model.coef_, model.coef_last_, model.coef_average_):
        with pytest.raises(ValueError, match="read-only"):  # what was learned cannot be written by its readers
            w[:] = 7
    np.testing.assert_array_equal(model.coef_last_, held)


# ---- seeds, going on


def test_the_same_seed_gives_the_same_bits_and_another_another_order():
    X, Y, _, _ = random_case(4, n=30)
    one, again, other = (SequencePerceptron(random_state=s, max_iter=3).fit(as_dicts(X), Y) for s in (1, 1, 2))
    assert_same_bits(one, again)
    assert not np.array_equal(one.coef_average_, other.coef_average_)


@pytest.mark.parametrize("more", [{}, {"step": "pa1"}, {"combine": "last"}])
def test_a_warm_start_goes_on_where_training_stopped(more):
    X, Y, _, _ = random_case(5, n=30, values="real")
    keywords = {"tol": None, "random_state": 3, **more}
    once = SequencePerceptron(max_iter=4, **keywords).fit(as_dicts(X), Y)
    twice = SequencePerceptron(max_iter=2, warm_start=True, **keywords).fit(as_dicts(X), Y)
    assert twice.stop_reason_ == "max_iter"
    pickled = pickle.loads(pickle.dumps(twice))
    assert_same_bits(once, twice.fit(as_dicts(X), Y))
    assert_same_bits(once, pickled.fit(as_dicts(X), Y))
    assert [row["epoch"] for row in twice.history_] == [3, 4]
    assert [row["mistakes"] for row in twice.history_] == [row["mistakes"] for row in once.history_][2:]


def test_reading_the_average_leaves_training_as_it_was():
    X, Y, classes, _ = random_case(6, n=30)
    read, unread = SequencePerceptron(), SequencePerceptron()
    for i in range(0, 30, 5):
        for model in (read, unread):
            model.partial_fit(as_dicts(X[i : i + 5]), Y[i : i + 5], classes=classes)
        read.predict(as_dicts(X))
        assert np.isfinite(read.set_params(combine=["last", "average"][i // 5 % 2]).transitions_).all()
    assert_same_bits(read, unread)


def test_empty_sequences_count_and_change_no_weights():
    X, Y, classes, _ = random_case(7)
    model = SequencePerceptron(combine="last").partial_fit(as_dicts(X), Y)
    before, average, t = [part.copy() for part in parts_of(model, "last")], model.coef_average_, model.t_
    model.partial_fit([[], [], []], [[], [], []]).learn_one([], [])
    assert model.t_ == t + 4
    assert all(np.array_equal(a, b) for a, b in zip(before, parts_of(model, "last"), strict=True))
    np.testing.assert_allclose(model.coef_average_, (average * t + 4 * model.coef_last_) / (t + 4), atol=1e-12)
    assert model.predict([[], []]) == [[], []]
    assert model.predict([]) == []
    assert model.predict_one([]) == []
    assert [s.shape for s in model.decision_function([[]])] == [(0, len(classes))]
    M = as_csr(np.zeros((0, 4)))
    flat_model = SequencePerceptron().fit(as_csr(np.vstack(X)), flat(X, Y)[2], lengths=[len(x) for x in X])
    assert flat_model.predict(M, lengths=[0, 0]).shape == (0,)
    assert flat_model.decision_function(M, lengths=[0]).shape == (0, len(classes))


# ---- the bound


@steady
@given(st.integers(0, 10_000), st.sampled_from(["none", "two", "bio"]))
def test_separable_sequences_ask_for_no_more_updates_than_the_bound(seed, kind):
    classes, allowed = LABELS[kind]
    rng = np.random.default_rng(seed)
    u = rng.integers(-3, 4, reference.size(len(classes), 3)).astype(float)
    X, Y, gamma, R = [], [], np.inf, 0.0
    for _ in range(12):
        x = rng.integers(-2, 3, (rng.integers(0, 4), 3)).astype(float)
        candidates = reference.Candidates(x, classes, allowed)
        best = candidates.best(u)
        differences = candidates.F[best] - np.delete(candidates.F, best, axis=0)
        if len(differences) and (differences @ u).min() < 2:
            continue
        X.append(x)
        Y.append([classes[k] for k in candidates.y[best]])
        gamma = min([gamma, *(differences @ u / np.linalg.norm(u))])
        R = max([R, *np.linalg.norm(differences, axis=1)])
    assume(len({name for y in Y for name in y}) > 1)
    bound = (R / gamma) ** 2
    model = SequencePerceptron(allowed=allowed, tol=None, max_iter=int(bound) + 2, random_state=seed, combine="last")
    model.fit(as_dicts(X), Y)
    assert model.stop_reason_ == "converged"
    assert model.n_updates_ == model.n_mistakes_ <= bound
    assert model.predict(as_dicts(X)) == Y
