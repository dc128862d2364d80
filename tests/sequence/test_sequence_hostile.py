"""What went wrong once when users were unkind to `SequencePerceptron`: each is a test."""

import pickle
import tracemalloc
from types import MappingProxyType

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest

import perceptrons
from perceptrons import FeatureTemplates, Perceptron, SequencePerceptron
from perceptrons.engine.passes.chain import ChainRule
from perceptrons.engine.passes.steps import CONSTANT
from perceptrons.sequence import learner as weights

WORDS = [["the", "dog", "runs"], ["a", "cat", "sleeps"], ["the", "cat", "runs"]]
TAGS = [["D", "N", "V"]] * 3


def tagger(**options):
    return SequencePerceptron(templates=FeatureTemplates(["word[-1..1]", "suffix(word, 1)"]), **options)


@pytest.mark.parametrize("options", [{}, {"hash_bits": 6}, {"combine": "last"}])
def test_a_model_that_lies_in_a_file_that_can_only_be_read_predicts_and_learns(options, tmp_path):
    model = tagger(**options).fit(WORDS, TAGS)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert mapped.predict(WORDS) == model.predict(WORDS)
    assert np.array_equal(mapped.partial_fit(WORDS, TAGS).coef_last_, model.partial_fit(WORDS, TAGS).coef_last_)


def test_a_perceptron_that_lies_in_a_file_that_can_only_be_read_learns(tmp_path, rng):
    X, y = rng.standard_normal((40, 3)), rng.integers(0, 3, 40)
    model = Perceptron().fit(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert np.array_equal(mapped.partial_fit(X, y).coef_last_, model.partial_fit(X, y).coef_last_)


def test_a_pickled_model_goes_on(tmp_path):
    model = tagger().fit(WORDS, TAGS)
    copied = pickle.loads(pickle.dumps(model))
    for either in (model, copied):
        either.partial_fit([["her", "dogs", "ran"]], [["D", "N", "V"]])
        perceptrons.save(either, tmp_path / f"{id(either)}")
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def fails(*_, **__):
    raise MemoryError("no memory")


def test_a_model_that_found_no_memory_to_grow_answers_as_before_and_grows_later(monkeypatch, tmp_path):
    model = tagger().fit(WORDS, TAGS)
    before = model.predict(WORDS)
    with monkeypatch.context() as patched:
        patched.setattr(weights, "_longer", fails)
        with pytest.raises(MemoryError):
            model.partial_fit([["quite", "new", "words"]], [["A", "A", "N"]])
        with pytest.raises(MemoryError):
            model.predict([["quite", "new", "words"]])
    assert model.predict(WORDS) == before
    perceptrons.save(model, tmp_path / "model")
    model.partial_fit([["quite", "new", "words"]] * 9, [["A", "A", "N"]] * 9)
    assert model.predict([["quite", "new", "words"]]) == [["A", "A", "N"]]


def test_labels_come_all_or_not_at_all(monkeypatch):
    model = tagger().fit(WORDS, TAGS)
    zeros, calls = np.zeros, []

    def sometimes(*arguments, **keywords):
        calls.append(arguments)
        return fails() if len(calls) == 4 else zeros(*arguments, **keywords)

    with monkeypatch.context() as patched:
        patched.setattr(weights.np, "zeros", sometimes)
        with pytest.raises(MemoryError):
            model._learner.meet_classes(np.array(["A", "D", "N", "V"]))
    assert model.predict(WORDS) == TAGS
    assert model.coef_.shape[0] == 3


def test_common_features_without_weights_are_known_after_loading_too(tmp_path):
    S, Y = [[["a"], ["a"]], [["b"], ["c"]]], [["x", "x"], ["x", "y"]]
    straight = SequencePerceptron(min_count=2, warm_start=True, shuffle=False, max_iter=2)
    straight.partial_fit(S[:1], Y[:1], classes=["x", "y"])
    perceptrons.save(straight, tmp_path / "begun")
    resumed = perceptrons.load(tmp_path / "begun")
    for model, name in ((straight, "one"), (resumed, "two")):
        model.fit([S[1]] * 3, [Y[1]] * 3).partial_fit([[["a"]]], [["y"]])
        perceptrons.save(model, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert "a" in straight.attributes_


def test_a_model_without_labels_says_so_instead_of_writing_a_file_that_nobody_reads(tmp_path):
    model = SequencePerceptron().partial_fit([[], []], [[], []])
    with pytest.raises(ValueError, match="no labels yet:"):
        perceptrons.save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="no labels yet:"):
        model.predict([[["a"]]])
    assert model.partial_fit([[["a"], ["b"]]], [["x", "y"]]).predict([[["a"], ["b"]]]) == [["x", "y"]]


@pytest.mark.parametrize(
    "labels", [["a", "a\0"], [2**60 + 1, 2.0**60], [("a",), ("b",)], [["a"], ["b"]], ["a", 1], [{}, "a"], [None, "a"]]
)
def test_labels_that_cannot_be_told_apart_or_are_none_are_refused(labels):
    with pytest.raises(ValueError, match=r"[Ll]abel"):
        SequencePerceptron().fit([[["f"], ["g"]]], [labels])


def test_what_is_allowed_may_be_changed_later():
    model = SequencePerceptron(allowed={"x": ["y"]}).fit([[["a"], ["b"]]], [["x", "y"]])
    assert model.predict([[["a"], ["b"]]]) == [["x", "y"]]
    model.allowed["x"] = ["x"]
    assert model.predict([[["a"], ["b"]]]) != [["x", "y"]]


def test_allowed_of_any_kind_of_mapping_and_set_is_saved(tmp_path):
    allowed = MappingProxyType({"x": frozenset({"y", "x"}), None: {"x"}})
    model = SequencePerceptron(allowed=allowed).fit([[["a"], ["b"]]], [["x", "y"]])
    perceptrons.save(model, tmp_path / "model")
    assert perceptrons.load(tmp_path / "model").allowed == {"x": ["x", "y"], None: ["x"]}


@pytest.mark.parametrize("allowed", [{"x": [["y"]]}, {"x": 3}, {"x": None}, {"x": [None]}])
def test_followers_that_are_no_labels_are_refused(allowed):
    with pytest.raises(ValueError, match="allowed"):
        SequencePerceptron(allowed=allowed).fit([[["a"], ["b"]]], [["x", "y"]])


def test_one_sequence_cannot_be_held_out():
    with pytest.raises(ValueError, match=r"early_stopping.*only one"):
        SequencePerceptron(early_stopping=True).fit([[["a"], ["b"]]], [["x", "y"]])


def test_lengths_beyond_all_numbers_are_refused():
    with pytest.raises(ValueError, match="sum to"):
        SequencePerceptron().fit(np.eye(2), ["x", "y"], lengths=np.array([2**63 - 1, 2**63 - 1, 4]))


def test_a_set_of_features_that_are_no_strings_is_named_by_its_place():
    with pytest.raises(TypeError, match="token 1 of sequence 0"):
        SequencePerceptron().fit([[{"a"}, {"b", 3}]], [["x", "y"]])


def test_a_table_of_words_is_a_list_of_sentences_not_a_matrix():
    words = np.array([["the", "dog"], ["a", "cat"]])
    model = SequencePerceptron(templates=FeatureTemplates(["word"])).fit(words, [["D", "N"]] * 2)
    assert model.predict(words) == [["D", "N"]] * 2


def test_the_search_takes_memory_for_one_sequence_however_many_there_are():
    S, Y = [["the", "dog", "runs"] * 10] * 2000, [["D", "N", "V"] * 10] * 2000
    model = tagger(max_iter=1).fit(S, Y)
    tokens, _ = model._tokens(S, None)
    bounds, rule = model._learner.limits(model, stream=True), ChainRule(CONSTANT, 1.0, 1.0, 1.0, 1.0)
    y, order = np.tile(np.array([0, 1, 2], np.int32), 20_000), np.arange(2000)
    for work in (
        lambda: model._learner.label(tokens, "average", bounds.barrier),
        lambda: model._learner.learn(tokens, y, order, bounds, rule),
    ):
        work()  # compiles
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * 60_000 + 100_000  # a label for each token, and no scores but those of one sequence


@pytest.mark.parametrize("series", [pd.Series, pl.Series, lambda lists: np.array([*lists, None], object)[:-1]])
def test_columns_of_lists_are_sequences(series):
    model = tagger().fit(series(WORDS), series(TAGS))
    assert model.predict(series(WORDS)) == TAGS
    assert model.score(series(WORDS), series(TAGS)) == 1.0
