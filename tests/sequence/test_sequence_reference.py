"""`SequencePerceptron` beside the slow, obvious reference: the same weights, counts, labellings and scores (spec 8)."""

from itertools import pairwise

import numpy as np
import pytest

from perceptrons import SequencePerceptron
from perceptrons.engine.passes.order import shuffled
from perceptrons.engine.training.epochs import hold_out
from tests.reference import sequence as reference
from tests.support.sequences import (
    LABELS,
    MATRICES,
    PARTS,
    as_dicts,
    assert_same_counts,
    assert_same_run,
    assert_same_weights,
    clear_case,
    flat,
    names_of,
    odd_csr,
    options,
    parts_of,
    random_case,
    random_words,
    run_of,
    told,
    weights_of,
)

kinds = pytest.mark.parametrize("kind", LABELS)
STEPS = {
    "plain": {},
    "eta": {"eta0": 0.25},
    "margin": {"margin": 1.5},
    "hamming": {"cost": "hamming"},
    "both": {"cost": "hamming", "margin": 0.5, "eta0": 2.0},
}
PARTIAL = {
    "all": {},
    "no transitions": {"transitions": False},
    "no start and stop": {"start_stop": False},
    "neither": {"transitions": False, "start_stop": False},
}


def given_parts(given):
    return {name: given[name] for name in ("transitions", "start_stop") if name in given}


def assert_same_answers(model, given, X, asked, names=None, tolerance=1e-9):
    """predict and decision_function on lists: what trying all labellings with the model's own weights says."""
    classes, w = list(model.classes_), weights_of(model, names)
    answers, scores = model.predict(asked), model.decision_function(asked)
    assert len(answers) == len(scores) == len(X)
    for x, answer, score in zip(X, answers, scores, strict=True):
        wanted = reference.max_marginals(x, w, classes, given.get("allowed"), **given_parts(given))
        assert score.shape == wanted.shape
        np.testing.assert_allclose(score, wanted, rtol=tolerance, atol=tolerance)
        assert answer == reference.best_path(x, w, classes, given.get("allowed"), **given_parts(given))[0]


# ---- rows of every kind


@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("step", STEPS)
def test_matrices_of_every_kind_give_the_weights_of_the_reference(form, dtype, step):
    X, Y, _, _ = random_case(1)
    given = STEPS[step]
    M, lengths, y = flat(X, Y)
    model = SequencePerceptron(**options(**given)).fit(MATRICES[form](M.astype(dtype)), y, lengths=lengths)
    assert_same_run(model, run_of(X, Y, **given), dtype=np.dtype(dtype))
    for combine in ("last", "average"):
        model.set_params(combine=combine)
        assert all(np.array_equal(*pair) for pair in zip(parts_of(model, ""), parts_of(model, combine), strict=True))


@pytest.mark.parametrize("form", MATRICES)
@kinds
def test_matrices_are_answered_flat(form, kind):
    X, Y, classes, allowed = random_case(2, kind)
    M, lengths, y = flat(X, Y)
    M = MATRICES[form](M)
    model = SequencePerceptron(combine="last", allowed=allowed, **options()).fit(M, y, lengths=lengths)
    w = weights_of(model)
    answer, scores = model.predict(M, lengths=lengths), model.decision_function(M, lengths=lengths)
    assert isinstance(answer, np.ndarray)
    assert answer.tolist() == [name for x in X for name in reference.best_path(x, w, classes, allowed)[0]]
    np.testing.assert_allclose(scores, np.vstack([reference.max_marginals(x, w, classes, allowed) for x in X]))
    assert model.score(M, y, lengths=lengths) == pytest.approx(np.mean(answer == y))
    assert model.n_features_in_ == 4


@kinds
@pytest.mark.parametrize("step", STEPS)
def test_dicts_of_numbers_give_the_weights_of_the_reference(kind, step):
    X, Y, _, allowed = random_case(3, kind)
    given = {**STEPS[step], "allowed": allowed}
    model = SequencePerceptron(**options(combine="last", **given)).fit(as_dicts(X), Y)
    assert_same_run(model, run_of(X, Y, **given), names=names_of(4))
    new = random_case(4, kind)[0]
    assert_same_answers(model, given, [*X, *new], as_dicts([*X, *new]), names_of(4))
    right = [a == b for answer, y in zip(model.predict(as_dicts(X)), Y, strict=True) for a, b in zip(answer, y)]  # noqa: B905
    assert model.score(as_dicts(X), Y) == pytest.approx(np.mean(right))


@kinds
@pytest.mark.parametrize("partial", PARTIAL)
def test_attribute_strings_give_the_weights_of_the_reference(kind, partial):
    S, Y, X, names, allowed = random_words(5, kind)
    given = {"margin": 0.5, "allowed": allowed, **PARTIAL[partial]}
    model = SequencePerceptron(**options(combine="last", **given)).fit(S, Y)
    assert_same_run(model, run_of(X, Y, **given), names=names, dtype=np.float32)
    assert model.n_features_in_ == len(names)
    assert_same_answers(model, given, X, S, names)


def test_a_token_may_be_a_tuple_or_a_set_and_dicts_may_hold_all_that_is_no_number():
    S, Y, _, _, _ = random_words(6)
    sets = [[frozenset(token) for token in s] for s in S]
    X, names = reference.matrices(sets)
    run = run_of(X, Y)
    forms = {
        "set": [[set(token) for token in s] for s in sets],
        "tuple": [[tuple(sorted(token)) for token in s] for s in sets],
        "flags": [[dict.fromkeys(token, True) | {"no": False} for token in s] for s in sets],
        "sequences": [tuple(sorted(token) for token in s) for s in sets],
    }
    for form in forms.values():
        assert_same_run(SequencePerceptron(**options()).fit(form, Y), run, names=names, dtype=np.float32)


def test_dicts_of_every_kind_of_value():
    rng = np.random.default_rng(1)
    S = [
        [
            {
                "word": str(rng.choice(["in", "out"])),
                "title": bool(rng.random() < 0.5),
                "length": int(rng.integers(1, 4)),
                "half": float(rng.integers(0, 3)) / 2 + 0.25,
                "parts": [str(k) for k in rng.integers(0, 3, 2)],
                "set": {str(rng.integers(0, 3))},
                "next": {"word": str(rng.choice(["x", "y"])), "n": 3, "deep": {"up": True}},
            }
            for _ in range(m)
        ]
        for m in (2, 0, 3, 1, 3, 2, 2, 3)
    ]
    Y = [[str(rng.choice(["a", "b", "c"])) for _ in s] for s in S]
    X, names = reference.matrices(S)
    assert {"next=deep=up", "next=word=x", "next=n", "parts=2", "set=1", "title", "length", "word=in"} <= set(names)
    model = SequencePerceptron(**options()).fit(S, Y)
    assert sorted(model.attributes_) == names
    assert_same_run(model, run_of(X, Y), names=names)
    assert_same_answers(model.set_params(combine="last"), {}, X, S, names)


@pytest.mark.parametrize("form", [odd_csr, *MATRICES.values()], ids=["odd", *MATRICES])
def test_labels_may_come_as_lists_with_a_matrix_too(form):
    X, Y, _, _ = random_case(7)
    M, lengths, _ = flat(X, Y)
    assert_same_run(SequencePerceptron(**options()).fit(form(M), Y, lengths=lengths), run_of(X, Y))


# ---- every rule, every part of the score


@kinds
@pytest.mark.parametrize("partial", PARTIAL)
@pytest.mark.parametrize("step", STEPS)
def test_every_step_with_every_part_of_the_score(kind, partial, step):
    X, Y, _, allowed = random_case(8, kind)
    given = {**STEPS[step], **PARTIAL[partial], "allowed": allowed}
    M, lengths, y = flat(X, Y)
    model = SequencePerceptron(**options(max_iter=4, **given)).fit(MATRICES["csr32"](M), y, lengths=lengths)
    run = run_of(X, Y, 4, **given)
    assert_same_run(model, run)
    for part, used in (("transitions", "transitions"), ("start", "start_stop"), ("stop", "start_stop")):
        assert given.get(used, True) or not np.any(getattr(model, f"{part}_last_"))


@kinds
@pytest.mark.parametrize("C", [1.0, 0.0625])
@pytest.mark.parametrize(
    "more", [{}, {"margin": 2.0}, {"cost": "hamming"}, {"start_stop": False, "transitions": False}]
)
def test_passive_aggressive_steps_give_the_weights_of_the_reference(kind, C, more):
    given = {"step": "pa1", "C": C, **more}
    X, Y, allowed, run = clear_case(kind, **given)
    model = SequencePerceptron(**options(allowed=allowed, **given)).fit(as_dicts(X), Y)
    assert_same_run(model, run, names=names_of(4), tolerance=1e-9)
    assert sum(run.updates) >= sum(run.mistakes) > 0


@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize("more", [{"step": "pa1"}, {"step": "pa1", "cost": "hamming", "C": 0.25}, {"margin": 0.3}])
def test_real_numbers_in_single_precision_come_close_to_the_reference(form, more):
    X, Y, _, run = clear_case("none", 1e-3, np.float32, **more)
    M, lengths, y = flat(X, Y)
    model = SequencePerceptron(**options(**more)).fit(MATRICES[form](M.astype(np.float32)), y, lengths=lengths)
    assert_same_run(model, run, tolerance=2e-5, dtype=np.float32)


def test_passive_aggressive_steps_stop_where_the_loss_is_0():
    X, Y = [np.ones((1, 1)), np.zeros((0, 1))], [["b"], []]
    given = {"step": "pa1", "transitions": False, "start_stop": False}
    run = run_of(X, Y, 5, classes=["a", "b"], **given)
    model = SequencePerceptron(**given).partial_fit(as_dicts(X), Y, classes=["a", "b"])
    assert model.coef_last_.tolist() == [[-0.5], [0.5]]  # then a ties with b under the margin, of loss 0
    assert model.partial_fit(as_dicts(X), Y).n_updates_ == sum(run.updates) == 1


@pytest.mark.parametrize("more", [{}, {"margin": 1.5, "cost": "hamming"}, {"margin": 2.0, "eta0": 0.5}])
@pytest.mark.parametrize("n_labels", [7, 8, 17, 40])
def test_many_labels_and_long_sequences(n_labels, more, dtype, rng):
    classes = [f"{k:02}" for k in range(n_labels)]
    lengths = [30, 1, 0, 17, 40]
    X = [rng.integers(-1, 2, (length, 3)).astype(float) for length in lengths]
    Y = [[classes[k] for k in rng.integers(0, n_labels, length)] for length in lengths]
    follow = {classes[0]: sorted({b for y in Y for a, b in pairwise(y) if a == classes[0]}), classes[1]: classes}
    model = SequencePerceptron(combine="last", allowed=follow, **more).partial_fit(
        np.vstack(X).astype(dtype), [name for y in Y for name in y], classes=classes, lengths=lengths
    )
    w, asked = np.zeros(reference.size(n_labels, 3)), 0
    demands = {"margin": more.get("margin", 0.0), "hamming": "cost" in more}
    for x, y in zip(X, Y, strict=True):
        guess, _ = reference.long_path(x, w, classes, follow, truth=y, **demands)
        f = [reference.features(x, [classes.index(name) for name in names], n_labels) for names in (y, guess)]
        w += more.get("eta0", 1.0) * (f[0] - f[1])
        asked += guess != y
    np.testing.assert_array_equal(weights_of(model), w)
    assert model.n_updates_ == asked == 4
    scores, answers = model.decision_function(np.vstack(X), lengths=lengths), []
    for x, score in zip(X, np.split(scores, np.cumsum(lengths)[:-1]), strict=True):
        answer, highest = reference.long_path(x, w, classes, follow)
        np.testing.assert_array_equal(score.max(axis=1), np.full(len(x), highest))
        answers += answer
    assert model.predict(np.vstack(X), lengths=lengths).tolist() == answers


# ---- orders, calls, held-out sequences


@pytest.mark.parametrize("seed", [0, 5])
def test_the_orders_are_those_of_the_seed(seed):
    X, Y, _, _ = random_case(9, n=20)
    rng = np.random.default_rng(seed)
    orders = [shuffled(20, rng) for _ in range(5)]
    run = run_of(X, Y, orders=orders)
    assert_same_run(
        SequencePerceptron(max_iter=5, tol=None, random_state=seed).fit(as_dicts(X), Y), run, names=names_of(4)
    )


def test_fit_starts_anew_and_partial_fit_goes_on_in_the_given_order():
    X, Y, classes, _ = random_case(10, n=20)
    given = {"margin": 0.5, "cost": "hamming"}
    model = SequencePerceptron(max_iter=2, tol=None, **given).fit(as_dicts(X[10:]), Y[10:])
    model.set_params(shuffle=False).fit(as_dicts(X[:15]), Y[:15])
    run = reference.train(X, Y, [range(15)] * 2, reference.beginning(classes, 4), **told(given))
    assert_same_run(model, run, names=names_of(4))
    model.set_params(shuffle=True).partial_fit(as_dicts(X[15:]), Y[15:])
    assert_same_weights(model, reference.train(X, Y, [range(15, 20)], run, **told(given)), names=names_of(4))
    assert model.t_ == len(run.path) == 35
    assert (model.n_mistakes_, model.n_updates_) == (sum(run.mistakes), sum(run.updates))


def test_new_labels_and_new_features_start_at_0():
    X, Y, _, _ = random_case(11, n=20, d=6)
    given = {"margin": 0.5}
    X[:10] = [x * [1, 1, 1, 0, 0, 0] for x in X[:10]]
    Y[:10] = [[{"a": "c", "b": "b", "c": "c"}[name] for name in y] for y in Y[:10]]
    model = SequencePerceptron(**given).partial_fit(as_dicts(X[:10]), Y[:10])
    first = reference.train(
        [x[:, :3] for x in X[:10]], Y[:10], [range(10)], reference.beginning(["b", "c"], 3), **told(given)
    )
    assert_same_weights(model, first, names=names_of(3))
    wide = first.widened(["a", "b", "c"], 6, [0, 1, 2])
    run = reference.train(X, Y, [range(10, 20)], wide, **told(given))
    model.partial_fit(as_dicts(X[10:]), Y[10:])
    assert_same_weights(model, run, names=names_of(6))
    assert model.n_features_in_ == 6


def test_held_out_sequences_are_those_of_hold_out_and_the_best_epoch_is_kept():
    X, Y, _, _ = random_case(12, n=30)
    model = SequencePerceptron(
        early_stopping=True, n_iter_no_change=2, validation_fraction=0.3, max_iter=30, tol=None, random_state=4
    ).fit(as_dicts(X), Y)
    train, held_out = hold_out(np.zeros(30, int), None, 0.3, 4)
    accuracies = [row["validation_accuracy"] for row in model.history_]
    best = int(np.argmax(accuracies))
    rng = np.random.default_rng(4)
    orders = [train[shuffled(len(train), rng)] for _ in range(best + 1)]
    run = run_of(X, Y, orders=orders)
    assert_same_weights(model, run, names=names_of(4))
    assert model.t_ == len(run.path)
    held = [as_dicts(X)[i] for i in held_out], [Y[i] for i in held_out]
    assert model.score(*held) == pytest.approx(accuracies[best])
    assert model.stop_reason_ in ("early_stopping", "converged", "max_iter")
    tokens = sum(len(Y[i]) for i in held_out)
    np.testing.assert_allclose(np.array(accuracies) * tokens, np.round(np.array(accuracies) * tokens), atol=1e-9)


def test_an_average_that_settles_stops_training():
    X, Y, _, _ = random_case(13, n=20)
    model = SequencePerceptron(**options(max_iter=200, tol=0.05)).fit(as_dicts(X), Y)
    assert model.stop_reason_ == "tol"
    epochs = model.n_iter_
    assert 2 <= epochs < 200
    run = run_of(X, Y, epochs)
    assert_same_counts(model, run)
    averages = [np.mean(run.path[: 20 * k], axis=0) for k in range(1, epochs + 1)]
    changes = [np.linalg.norm(b - a) / np.linalg.norm(b) for a, b in pairwise(averages)]
    assert changes[-1] < 0.05 <= min(changes[:-1], default=1.0)
    assert SequencePerceptron(**options(max_iter=epochs + 5, tol=0.05, combine="last")).fit(
        as_dicts(X), Y
    ).stop_reason_ != "tol"  # fmt: skip


def test_a_run_without_updates_ends_training():
    X, Y, classes, _ = random_case(14, n=6)
    w = reference.flat(*(np.arange(k).reshape(shape) % 7 for k, shape in [(12, (3, 4)), (9, (3, 3)), (3, 3), (3, 3)]))
    Y = [reference.best_path(x, w, classes)[0] for x in X]
    X[0], Y[0] = np.eye(4)[:3], ["a", "b", "c"]
    model = SequencePerceptron(**options(max_iter=500)).fit(as_dicts(X), Y)
    assert model.stop_reason_ == "converged"
    assert_same_run(model, run_of(X, Y, 500), names=names_of(4))
    assert model.set_params(combine="last").predict(as_dicts(X)) == Y


def test_all_parts_of_the_weights_have_names(rng):
    X, Y, classes, _ = random_case(15)
    model = SequencePerceptron(**options()).fit(as_dicts(X), Y)
    shapes = {"coef": (3, 4), "transitions": (3, 3), "start": (3,), "stop": (3,)}
    for part in PARTS:
        for suffix in ("", "last_", "average_"):
            assert getattr(model, f"{part}_{suffix}").shape == shapes[part]
    assert list(model.classes_) == classes
