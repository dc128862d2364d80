"""Attributes of `SequencePerceptron`: rare ones, hashed ones, unknown ones, what they are in memory; and templates."""

import numpy as np
import pandas as pd
import pytest

import perceptrons
from perceptrons import FeatureTemplates, SequencePerceptron
from tests.support.sequences import LABELS, assert_same_bits, options, parts_of, random_words


def without(S, names):
    return [[[name for name in token if name not in names] for token in s] for s in S]


def test_rare_attributes_are_as_if_they_were_not_there():
    S, Y, _, names, _ = random_words(8)
    counts = {name: sum(token.count(name) for s in S for token in s) for name in names}
    limit = sorted(counts.values())[len(names) // 2]
    rare = {name for name, count in counts.items() if count < limit}
    assert 0 < len(rare) < len(names)
    model = SequencePerceptron(min_count=limit, **options()).fit(S, Y)
    assert set(model.attributes_) == set(names) - rare
    few = SequencePerceptron(**options()).fit(without(S, rare), Y)
    kept = sorted(set(names) - rare)
    for which in ("last", "average"):
        for a, b in zip(parts_of(model, which, kept), parts_of(few, which, kept), strict=True):
            assert np.array_equal(a, b)


def test_an_attribute_is_used_from_the_call_on_in_which_it_is_frequent_enough():
    S, Y = [[["p"], ["q"]], [["p"], ["r", "q"]], [["r"], ["p"]]], [["b", "a"], ["a", "b"], ["b", "a"]]
    model, by_hand = (SequencePerceptron(min_count=n, margin=1.0) for n in (2, 1))
    model.partial_fit(S[:1], Y[:1])
    by_hand.partial_fit([[[], []]], Y[:1])
    assert len(model.attributes_) == 0
    model.partial_fit(S[1:2], Y[1:2])
    by_hand.partial_fit(without(S[1:2], {"r"}), Y[1:2])
    assert set(model.attributes_) == {"p", "q"}
    model.learn_one(S[2], Y[2])
    by_hand.learn_one(S[2], Y[2])
    assert set(model.attributes_) == {"p", "q", "r"}
    for which in ("last", "average"):
        for a, b in zip(
            parts_of(model, which, ["p", "q", "r"]), parts_of(by_hand, which, ["p", "q", "r"]), strict=True
        ):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("kind", LABELS)
def test_hashed_into_many_rows_predictions_are_those_of_names(kind):
    S, Y, _, _, allowed = random_words(9, kind, n=20)
    keywords = {"allowed": allowed, "max_iter": 3, "tol": None}
    names, hashed = SequencePerceptron(**keywords).fit(S, Y), SequencePerceptron(hash_bits=16, **keywords).fit(S, Y)
    assert hashed.coef_.shape == (len(names.classes_), 2**16)
    assert hashed.mistakes_.tolist() == names.mistakes_.tolist()
    new = random_words(10, kind, n=20)[0]
    assert hashed.predict(S + new) == names.predict(S + new)
    for a, b in zip(hashed.decision_function(new), names.decision_function(new), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(hashed.transitions_last_, names.transitions_last_)
    few = SequencePerceptron(hash_bits=1, **keywords).fit(S, Y)
    assert few.coef_.shape == (len(names.classes_), 2)


def test_attributes_never_seen_are_passed_over():
    S, Y, _, names, _ = random_words(11)
    model = SequencePerceptron(max_iter=2).fit(S, Y)
    strange = [[[*token, "never", "seen"] for token in s] for s in S]
    assert model.predict(strange) == model.predict(S)
    assert sorted(model.attributes_) == names


@pytest.mark.parametrize(
    ("token", "dtype"),
    [
        (["p"], np.float32),
        (("p", "q"), np.float32),
        ({"p": "x", "q": True}, np.float32),
        ({"p": ["x", "y"], "q": {"r": "s"}}, np.float32),
        ({"p": 1}, np.float64),
        ({"p": "x", "q": {"r": 0.5}}, np.float64),
    ],
)
def test_features_without_values_take_half_the_memory(token, dtype):
    model = SequencePerceptron().fit([[["z"], token], [token]], [["a", "b"], ["a"]])
    for which in ("last", "average"):
        assert [part.dtype for part in parts_of(model, which)] == [dtype] * 4
    model.partial_fit([[{"p": 0.3}], [["p"]]], [["a"], ["b"]])  # the first call has decided
    assert model.coef_.dtype == dtype


def test_a_long_run_of_attributes_is_averaged_in_double_precision():
    S, Y = [[["p"]], [["q"]]] * 3000, [["b"], ["a"]] * 3000
    model = SequencePerceptron(margin=1e4, eta0=0.1, max_iter=2, tol=None, shuffle=False).fit(S, Y)
    steps = np.arange(1, 6001)  # every example asks: its weight grows by 0.1 each time, others wait
    wanted = 0.1 * np.mean(steps)
    assert model.n_updates_ == 12_000
    np.testing.assert_allclose(parts_of(model, "average", ["p", "q"])[0][1, 0], wanted, rtol=2e-3)


# ---- templates

TEXT = [["The", "dog", "runs"], [], ["A", "cat", "sat", "in", "1999"], ["Dogs"], ["The", "cat"]]
TAGS = [["D", "N", "V"], [], ["D", "N", "V", "P", "N"], ["N"], ["D", "N"]]


def test_templates_in_the_model_are_templates_in_front_of_it():
    def templates():
        return FeatureTemplates(["word", "lower(word)[-1]", "suffix(word, 1..2)", "shape(word)|word[1]", "bias"])

    inside = SequencePerceptron(templates=templates(), **options()).fit(TEXT, TAGS)
    before = templates().fit(TEXT)
    in_front = SequencePerceptron(**options()).fit(before.transform(TEXT), TAGS)
    assert_same_bits(inside, in_front)
    assert inside.coef_.dtype == np.float32
    new = [["The", "bird", "sat"], [], ["Cats"]]
    assert inside.predict(new) == in_front.predict(before.transform(new))
    assert inside.predict_one(new[0]) == inside.predict(new)[0]


def test_templates_of_columns():
    pairs = [[(word, tag) for word, tag in zip(text, tags, strict=True)] for text, tags in zip(TEXT, TAGS, strict=True)]
    model = SequencePerceptron(templates=FeatureTemplates(["word", "pos[-1..1]"], columns=("word", "pos")), max_iter=20)
    assert model.fit(pairs, TAGS).predict(pairs) == TAGS
    assert {"word=The", "pos=D"} <= {name.replace("[0]", "") for name in model.attributes_}


def test_the_columns_of_a_frame_are_the_names_of_the_features(tmp_path):
    frame = pd.DataFrame({"length": [1.0, 2.0, 3.0, 1.0], "capital": [1.0, 0.0, 0.0, 1.0]})
    model = SequencePerceptron().fit(frame, ["a", "b", "b", "a"], lengths=[2, 2])
    assert model.attributes_.tolist() == ["length", "capital"]
    perceptrons.save(model, tmp_path / "model")
    loaded = perceptrons.load(tmp_path / "model")
    assert loaded.attributes_.tolist() == ["length", "capital"]
    assert loaded.predict(frame, lengths=[4]).tolist() == model.predict(frame, lengths=[4]).tolist()
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["capital", "length"]], lengths=[4])


@pytest.mark.parametrize("name", ["transitions", "start_stop"])
def test_weights_that_were_learned_cannot_be_switched_off_later(name):
    model = SequencePerceptron().fit([[["a"], ["b"]]], [["x", "y"]])
    with pytest.raises(ValueError, match=f"created with {name}=True"):
        model.set_params(**{name: False}).predict([[["a"]]])


@pytest.mark.parametrize("templates", [None, FeatureTemplates(["word[-1..1]", "word[-1]|word[0]"])])
def test_two_fits_of_the_same_sequences_do_not_count_rare_features_twice(templates):
    rng = np.random.default_rng(0)
    S = [[f"w{k}" for k in rng.integers(0, 40, 7)] for _ in range(30)]
    Y = [["x" if (word < "w2") != (rng.random() < 0.2) else "y" for word in s] for s in S]
    X = S if templates else [[[word, word[:2]] for word in s] for s in S]
    given = {"templates": templates, "min_count": 3, "shuffle": True}
    twice = SequencePerceptron(max_iter=2, warm_start=True, **given).fit(X, Y).fit(X, Y)
    once = SequencePerceptron(max_iter=4, **given).fit(X, Y)
    assert once.n_updates_ > 20
    assert once.attributes_.tolist() == twice.attributes_.tolist()
    assert_same_bits(twice, once)
    assert len(once.partial_fit(X, Y).attributes_) > len(twice.attributes_)  # there they count on
