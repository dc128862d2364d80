"""Bad sequences, labels and parameters of `SequencePerceptron`: errors say what and where, and change nothing."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from perceptrons import FeatureTemplates, SequencePerceptron
from tests.support.sequences import assert_same_bits, everything

S = [[["p"], ["q"]], [], [["q"], ["r"], ["p"]], [["r"]]]
Y = [["a", "b"], [], ["b", "c", "a"], ["c"]]
M = sp.csr_matrix(np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]]))
FLAT, LENGTHS = ["a", "b", "b", "c", "a", "c"], [2, 0, 3, 1]


def fitted(**more):
    return SequencePerceptron(**more).fit(S, Y)


def put(nested, i, t, value):
    """A copy in which token t of sequence i is another."""
    nested = [list(inner) for inner in nested]
    nested[i][t] = value
    return nested


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"combine": "vote"}, "combine must be one of 'average', 'last'"),
        ({"step": "pa2"}, "step must be one of 'constant', 'pa1'"),
        ({"eta0": 0}, "eta0"),
        ({"eta0": np.nan}, "eta0"),
        ({"C": -1}, "C must be"),
        ({"margin": -0.5}, "margin"),
        ({"margin": "wide"}, "margin"),
        ({"cost": "zero_one"}, "cost.*hamming"),
        ({"order": 2}, "order.*1"),
        ({"order": 0}, "order"),
        ({"min_count": 0}, "min_count"),
        ({"min_count": 1.5}, "min_count"),
        ({"hash_bits": 0}, "hash_bits"),
        ({"hash_bits": 99}, "hash_bits"),
        ({"hash_bits": 10, "min_count": 2}, "hash_bits=10.*min_count=2|min_count=2.*hash_bits=10"),
        ({"transitions": "yes"}, "transitions"),
        ({"start_stop": None}, "start_stop"),
        ({"allowed": "iob"}, "allowed.*'bio', 'bioes'"),
        ({"allowed": 3}, "allowed"),
        ({"allowed": {"a": 3}}, "allowed"),
        ({"templates": "word"}, "templates"),
        ({"max_iter": -1}, "max_iter"),
        ({"tol": -1}, "tol"),
        ({"shuffle": "no"}, "shuffle"),
        ({"random_state": -1}, "random_state"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"step": "pa1", "margin": 0}, "margin"),
        ({"step": "pa1", "eta0": 0.5}, "eta0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, said):
    model = SequencePerceptron(**parameters)
    for call in (model.fit, model.partial_fit, lambda X, Y: model.learn_one(X[0], Y[0])):
        with pytest.raises(ValueError, match=said):
            call(S, Y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("parameters", [{"hash_bits": 10}, {"min_count": 2}, {"templates": FeatureTemplates(["word"])}])
def test_a_matrix_has_no_names_to_count_or_hash(parameters):
    with pytest.raises((ValueError, TypeError), match=next(iter(parameters))):
        SequencePerceptron(**parameters).fit(M, FLAT, lengths=LENGTHS)
    with pytest.raises((ValueError, TypeError), match=next(iter(parameters))):
        SequencePerceptron(**parameters).fit(M.toarray(), FLAT, lengths=LENGTHS)


# ---- lengths, labels


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ([2, 0, 3], "lengths.*5.*6"),
        ([2, 0, 3, 2], "lengths.*7.*6"),
        ([2, 5, -1], "lengths.*(-1|negative|at least 0)"),
        ([2.5, 3.5], "lengths.*whole"),
        ("222", "lengths"),
        ([[2, 4]], "lengths"),
        (None, "lengths"),
    ],
)
def test_lengths_that_do_not_fit_the_rows_are_refused(lengths, said):
    model = SequencePerceptron().fit(M, FLAT, lengths=LENGTHS)
    for call in (
        lambda: SequencePerceptron().fit(M, FLAT, lengths=lengths),
        lambda: SequencePerceptron().partial_fit(M, FLAT, lengths=lengths),
        lambda: model.predict(M, lengths=lengths),
        lambda: model.decision_function(M, lengths=lengths),
        lambda: model.score(M, FLAT, lengths=lengths),
    ):
        with pytest.raises((ValueError, TypeError), match=rf"{said}"):
            call()


def test_lengths_are_for_matrices():
    with pytest.raises((ValueError, TypeError), match="lengths"):
        SequencePerceptron().fit(S, Y, lengths=[2, 0, 3, 1])


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (Y[:3], r"(4|3).*sequence"),
        ([*Y, ["a"]], r"(4|5).*sequence"),
        ([Y[0], Y[1], Y[2][:2], Y[3]], r"Sequence 2 .*3 .*2 "),
        ([Y[0], ["a"], Y[2], Y[3]], r"Sequence 1 "),
        (put(Y, 2, 1, None), r"(sequence 2|missing|None)"),
        (put(Y, 2, 1, 7), r"([Ll]abel|type)"),
        (put(Y, 2, 1, ["c"]), r"([Ll]abel|sequence 2)"),
        (None, r"y"),
    ],
)
def test_labels_that_do_not_fit_the_sequences_are_refused(labels, said):
    for call in (SequencePerceptron().fit, SequencePerceptron().partial_fit, fitted().score):
        with pytest.raises((ValueError, TypeError), match=said):
            call(S, labels)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (FLAT[:5], r"5.*6|6.*5"),
        ([*FLAT, "a"], r"7.*6|6.*7"),
        ([["a", "b"], ["b", "c", "a"], ["c"], []], r"Sequence 1 "),
        ([0.5, 1, 2, 3, 4, 5], r"label type|continuous|whole"),
        ([1, 2, np.nan, 1, 2, 2], r"NaN|missing"),
    ],
)
def test_flat_labels_that_do_not_fit_the_rows_are_refused(labels, said):
    with pytest.raises((ValueError, TypeError), match=said):
        SequencePerceptron().fit(M, labels, lengths=LENGTHS)


def test_one_label_alone_is_refused_by_fit():
    with pytest.raises(ValueError, match=r"(one|1|single|only).*(label|class)"):
        SequencePerceptron().fit(S[:1], [["a", "a"]])
    with pytest.raises(ValueError, match=r"(one|1|single|only).*(label|class)"):
        SequencePerceptron().fit(M, ["a"] * 6, lengths=LENGTHS)
    model = SequencePerceptron(combine="last").partial_fit(S[:1], [["a", "a"]])
    assert model.predict(S) == [["a"] * len(s) for s in S]
    assert model.partial_fit(S, Y).classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("X", [[], [[], []]])
def test_nothing_to_learn_from_is_refused_by_fit(X):
    with pytest.raises(ValueError, match=r"(0 |[Nn]o |empty|one label|single)"):
        SequencePerceptron().fit(X, [[] for _ in X])
    with pytest.raises(ValueError, match=r"(0 |[Nn]o |empty|one label|single)"):
        SequencePerceptron().fit(np.zeros((0, 3)), [], lengths=[0] * len(X))


def test_labels_outside_of_classes_are_refused():
    with pytest.raises(ValueError, match=r"'c'.*not in classes"):
        SequencePerceptron().partial_fit(S, Y, classes=["a", "b"])
    model = SequencePerceptron().partial_fit(S[:1], Y[:1], classes=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"'b'.*not in classes"):
        model.partial_fit(S, Y, classes=["a", "c"])
    with pytest.raises((ValueError, TypeError), match=r"[Ll]abel"):
        model.partial_fit(S, [[1 for _ in y] for y in Y])
    assert model.classes_.tolist() == ["a", "b", "c"]


# ---- tokens


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (3, "int"),
        (None, "None"),
        ("p", "str"),
        ([3], "int"),
        ([None], "None"),
        (["p", ["q"]], "list"),
        ({"p": np.nan}, r"'p'.*(nan|NaN)|(nan|NaN).*'p'"),
        ({"p": np.inf}, r"'p'.*inf|inf.*'p'"),
        ({"p": None}, "'p'"),
        ({"p": object()}, "'p'"),
        ({3: 1.0}, r"3|int"),
        ({"p": {"q": np.nan}}, "nan|NaN"),
        ({"p": 1e300}, "'p'"),
    ],
)
def test_tokens_that_are_none_are_refused_by_place(token, said):
    bad, model = put(S, 2, 1, token), fitted()
    before = everything(model)
    for call in (
        lambda: SequencePerceptron().fit(bad, Y),
        lambda: SequencePerceptron().partial_fit(bad, Y),
        lambda: SequencePerceptron().learn_one(bad[2], Y[2]),
        lambda: model.partial_fit(bad, Y),
        lambda: model.learn_one(bad[2], Y[2]),
        lambda: model.predict(bad),
        lambda: model.predict_one(bad[2]),
        lambda: model.decision_function(bad),
    ):
        with pytest.raises((ValueError, TypeError), match=said) as caught:
            call()
        assert re.search(r"(?i)token 1 of sequence (2|0)", str(caught.value)), str(caught.value)
    with pytest.raises((ValueError, TypeError), match=r"(?i)token 1 of sequence 2"):
        SequencePerceptron().fit(bad, Y)
    assert all(np.array_equal(a, b) for a, b in zip(before, everything(model), strict=True))


@pytest.mark.parametrize("sequence", [3, None, "text", {"p": 1}])
def test_sequences_that_are_none_are_refused_by_place(sequence):
    for call in (lambda X: SequencePerceptron().fit(X, Y), fitted().predict):
        with pytest.raises((ValueError, TypeError), match=r"X\[1\]"):
            call([S[0], sequence, *S[2:]])


@pytest.mark.parametrize("X", [3, None, "text", {"p": 1}])
def test_what_is_no_list_of_sequences_is_refused(X):
    with pytest.raises((ValueError, TypeError), match=r"X|sequence"):
        SequencePerceptron().fit(X, Y)
    with pytest.raises((ValueError, TypeError), match=r"X|sequence"):
        fitted().predict(X)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("form", [sp.csr_matrix, np.asarray], ids=["csr", "dense"])
def test_matrices_of_wrong_numbers_are_refused_by_place(form, value):
    wrong = M.toarray()
    wrong[3, 1] = value
    model = SequencePerceptron().fit(M, FLAT, lengths=LENGTHS)
    for call in (
        lambda: SequencePerceptron().fit(form(wrong), FLAT, lengths=LENGTHS),
        lambda: model.partial_fit(form(wrong), FLAT, lengths=LENGTHS),
        lambda: model.predict(form(wrong), lengths=LENGTHS),
    ):
        with pytest.raises(ValueError, match=r"row 3.*column 1"):
            call()


def test_names_and_matrices_do_not_go_together():
    rows = SequencePerceptron().fit(M, FLAT, lengths=LENGTHS)
    for call in (lambda: rows.predict(S), lambda: rows.partial_fit(S, Y), lambda: rows.predict_one(S[0])):
        with pytest.raises((ValueError, TypeError), match=r"name|matrix|column"):
            call()
    for call in (lambda: fitted().predict(M, lengths=LENGTHS), lambda: fitted().partial_fit(M, FLAT, lengths=LENGTHS)):
        with pytest.raises((ValueError, TypeError), match=r"name|matrix|column"):
            call()
    with pytest.raises(ValueError, match=r"features|columns"):
        rows.predict(M[:, :2], lengths=LENGTHS)


def test_raw_words_ask_for_templates():
    with pytest.raises((ValueError, TypeError), match=r"token.*templates|templates.*token"):
        SequencePerceptron().fit([["The", "dog"]], [["D", "N"]])


# ---- allowed


@pytest.mark.parametrize(
    ("allowed", "labels", "said"),
    [
        ("bio", [["O", "I-x"], [], ["B-x", "I-x", "O"], ["O"]], r"token 1 of sequence 0"),
        ("bio", [["O", "O"], [], ["I-x", "B-x", "O"], ["O"]], r"token 0 of sequence 2"),
        ("bioes", [["O", "O"], [], ["B-x", "E-x", "O"], ["B-x"]], r"token 0 of sequence 3"),
        ("bioes", [["B-x", "O"], [], ["B-x", "E-x", "O"], ["O"]], r"token (0|1) of sequence 0"),
        ({"a": ["b"]}, [["a", "b"], [], ["b", "a", "a"], ["b"]], r"token 2 of sequence 2"),
        ({None: ["a"]}, [["a", "b"], [], ["b", "a", "a"], ["b"]], r"token 0 of sequence 2"),
    ],
)
def test_training_labels_that_are_not_allowed_are_refused_by_place(allowed, labels, said):
    model = SequencePerceptron(allowed=allowed)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=said):
            call(S, labels)
        assert not hasattr(model, "classes_")
    with pytest.raises(ValueError, match=said.split(" of ")[0]):
        model.learn_one(
            *next((s, y) for i, (s, y) in enumerate(zip(S, labels, strict=True)) if f"sequence {i}" in said)
        )
    flat = [name for y in labels for name in y]
    with pytest.raises(ValueError, match=said):
        model.fit(M, flat, lengths=LENGTHS)


def test_sequences_without_any_allowed_labelling_are_named():
    model = SequencePerceptron(allowed={"a": ["b"], "b": []}).fit([[["p"], ["q"]], [["q"]]], [["a", "b"], ["b"]])
    assert model.predict([[["p"]], [["q"], ["q"]]])[1] == ["a", "b"]
    with pytest.raises(ValueError, match=r"[Ss]equence 1.*allowed|allowed.*sequence 1"):
        model.predict([[["p"]], [["p"], ["q"], ["p"]], []])
    with pytest.raises(ValueError, match="allowed"):
        model.predict_one([["p"], ["q"], ["p"]])


def test_names_in_allowed_that_are_no_labels():
    for allowed in ({"z": ["a"]}, {"a": ["b", "z"]}, {None: ["a", "b", "z"]}):
        with pytest.raises(ValueError, match=r"allowed .*labels '?z'?"):
            SequencePerceptron(allowed=allowed).fit(S[:1], Y[:1])
    model = SequencePerceptron(allowed={"a": ["b", "z"], "z": ["z"]}, combine="last").partial_fit(S[:1], Y[:1])
    with pytest.raises(ValueError, match="token 1"):
        model.partial_fit([[["q"], ["q"]]], [["z", "a"]])
    assert model.partial_fit([[["q"], ["q"]]], [["z", "z"]]).classes_.tolist() == ["a", "b", "z"]


# ---- state


def test_a_model_that_was_not_fitted_says_so():
    model = SequencePerceptron()
    for call in (
        lambda: model.predict(S),
        lambda: model.predict_one(S[0]),
        lambda: model.decision_function(S),
        lambda: model.score(S, Y),
        lambda: model.predict(M, lengths=LENGTHS),
    ):
        with pytest.raises(NotFittedError, match=r"fit"):
            call()
    for name in ("coef_", "transitions_", "start_average_", "stop_last_", "classes_", "attributes_", "t_"):
        assert not hasattr(model, name)


def test_a_call_that_fails_leaves_the_model_as_it_was():
    model, same = fitted(max_iter=3), fitted(max_iter=3)
    wrong = [
        lambda: model.fit(put(S, 2, 1, 3), Y),
        lambda: model.fit(S, Y[:3]),
        lambda: model.fit(S[:1], [["a", "a"]]),
        lambda: model.partial_fit([[["new"], ["newer"]], [3]], [["d", "e"], ["d"]]),
        lambda: model.partial_fit([[["new"]]], [[None]]),
        lambda: model.learn_one([["new"], 3], ["a", "d"]),
        lambda: model.learn_one([["new"]], ["a", "d"]),
        lambda: model.fit(M, FLAT, lengths=[1]),
        lambda: model.set_params(margin=-1).fit(S, Y),
    ]
    for call in wrong:
        with pytest.raises((ValueError, TypeError)):
            call()
        model.set_params(margin=None)
        assert_same_bits(model, same)
        assert list(model.attributes_) == list(same.attributes_)
        assert model.history_ == same.history_ or len(model.history_) == len(same.history_)
    assert_same_bits(model.partial_fit(S, Y), same.partial_fit(S, Y))


def test_with_no_epoch_a_tagger_predicts_with_its_initial_weights():
    model = SequencePerceptron(max_iter=0).fit([[["a"], ["b"]]], [["V", "N"]])
    assert (model.predict([[["a"], ["b"]]]), model.n_iter_) == ([["N", "N"]], 0)
