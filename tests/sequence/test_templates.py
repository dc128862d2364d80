"""`FeatureTemplates`: compiled = slow reference; in a tagger; in pipelines."""

import copy
import itertools
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from perceptrons import FeatureTemplates, SequencePerceptron
from tests.reference import templates as reference
from tests.support.sequences import options, parts_of

COLUMNS = ("word", "pos", "x_1")
TEXT = [["The", "dog", "runs"], [], ["A", "cat", "sat", "in", "1999"], ["Dogs"], ["The", "cat"]]
TAGS = [["D", "N", "V"], [], ["D", "N", "V", "P", "N"], ["N"], ["D", "N"]]
MIXED = ["bias", "word[-1..1]", "lower(word)|word[-1]", "suffix(word, 1..2)", "shape(word)"]
MIXED_PARTS = [
    "bias",
    *([("word", offset)] for offset in (-1, 0, 1)),
    [(("lower", "word"), 0), ("word", -1)],
    *([(("suffix", "word", k), 0)] for k in (1, 2)),
    [(("shape", "word"), 0)],
]


def single(sentences):
    """Sentences of words as the reference takes them."""
    return [[(word,) for word in sentence] for sentence in sentences]


def told(transformer, sentences):
    """For every sentence for every token the names of its features, in the order of the row; each must count 1."""
    features = transformer.transform(sentences)
    names, matrix = transformer.get_feature_names_out(), features.matrix
    assert matrix.shape == (sum(map(len, sentences)), len(names)) == (sum(features.lengths), transformer.n_features_)
    assert list(features.lengths) == [len(sentence) for sentence in sentences]
    assert (matrix.data == 1).all()
    rows = [[str(names[j]) for j in matrix.indices[a:b]] for a, b in itertools.pairwise(matrix.indptr)]
    ends = np.cumsum([0, *features.lengths])
    return [rows[a:b] for a, b in itertools.pairwise(ends)]


def wanted(templates, sentences, columns=("word",)):
    return [reference.attributes(templates, sentence, columns) for sentence in sentences]


# ---- compiled = reference

# few letters, so that values meet again; cases, digits and letters of other scripts, half a pair of surrogates
CHARACTERS = "aAbB1٣²ßẞİΣσǅ漢ªⅧ𝐀𝟗-.=[ \n\0\ud800\u0301"
words = st.one_of(
    st.text(st.sampled_from(CHARACTERS), max_size=5),
    st.text(max_size=8).map(
        lambda text: text.replace("|", "/")
    ),  # with a bar, names may be the same of different values
    st.sampled_from(["", "a", "A1"]),
)


def views(columns):
    simple = st.sampled_from(columns)
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["lower", "shape", "digits"]), inner),
            st.tuples(st.sampled_from(["prefix", "suffix"]), inner, st.integers(1, 4)),
        ),
        max_leaves=3,
    )


@st.composite
def cases(draw):
    """Columns, templates as the reference takes them, sentences to fit, sentences to transform."""
    columns = COLUMNS[: draw(st.integers(1, 3))]
    part = st.tuples(views(columns), st.integers(-3, 3))
    template = st.one_of(st.just("bias"), st.lists(part, min_size=1, max_size=4))
    templates = draw(st.lists(template, min_size=1, max_size=8))
    sentences = st.lists(st.lists(st.tuples(*[words] * len(columns)), max_size=5), max_size=4)
    return columns, templates, draw(sentences), draw(sentences)


@settings(max_examples=200, deadline=None)
@given(cases())
@example((("word",), [[(("shape", "word"), 0)]], [[("Ⅷⅷ",)]], []))  # lower case, but neither letters nor digits
@example((("word",), [[(("suffix", "word", 1), 1)], "bias"], [[("",)], [("",), ("b",)], []], [[("a",), ("",)]]))
def test_the_compiled_features_are_those_of_the_reference(case):
    columns, templates, sentences, new = case
    transformer = FeatureTemplates([reference.name(template) for template in templates], columns=columns)
    assert told(transformer.fit(sentences), sentences) == wanted(templates, sentences, columns)
    names = transformer.get_feature_names_out().tolist()
    assert len(names) == len(set(names))
    known = set(names)
    assert known == {name for s in wanted(templates, sentences, columns) for token in s for name in token}
    seen = [[[name for name in token if name in known] for token in s] for s in wanted(templates, new, columns)]
    assert told(transformer, new) == seen


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("word", ["word[0]"]),
        (" lower( word )[ -1 ]|word ", ["lower(word)[-1]|word[0]"]),
        ("word[-2..2]", [f"word[{offset}]" for offset in range(-2, 3)]),
        ("word[1..1]", ["word[1]"]),
        ("suffix(word,1..3)[-1]", [f"suffix(word, {k})[-1]" for k in (1, 2, 3)]),
        ("prefix(word, 1..2)[0..1]", [f"prefix(word, {k})[{o}]" for o in (0, 1) for k in (1, 2)]),
        ("word[-1..0]|word[0..1]", [f"word[{a}]|word[{b}]" for a in (-1, 0) for b in (0, 1)]),
        ("prefix(suffix(word, 2..3), 1..2)", [f"prefix(suffix(word, {a}), {b})[0]" for a in (2, 3) for b in (1, 2)]),
    ],
)
def test_a_range_is_short_for_many_templates(short, long):
    text = [["The", "dogs", "slept", "a", "lot"], ["Yes"]]
    assert told(FeatureTemplates([short]).fit(text), text) == told(FeatureTemplates(long).fit(text), text)


def test_values_with_a_bar_are_not_taken_for_others():
    transformer = FeatureTemplates(["word[-1]|word"]).fit([["a|b", "c"]])
    assert transformer.transform([["a|b", "c"], ["a", "b|c"]]).matrix.toarray().ravel().tolist() == [0, 1, 0, 0]


def test_a_template_given_twice_counts_once():
    assert told(FeatureTemplates(["word", "word[0]", "word[-1..1]"]).fit([["a", "b"]]), [["a", "b"]]) == [
        [["word[0]=a", "word[1]=b"], ["word[0]=b", "word[-1]=a"]]
    ]


def test_the_examples_of_the_documentation():
    text = [["in", "the", "McDonald", "12-year"]]
    templates = ["bias", "word[-1]|word[0]", "shape(word)", "digits(word)", "suffix(lower(word), 3)[0]"]
    assert told(FeatureTemplates(templates).fit(text), text)[0] == [
        ["bias", "shape(word)[0]=x", "digits(word)[0]=in"],
        ["bias", "word[-1]|word[0]=in|the", "shape(word)[0]=x", "digits(word)[0]=the", "suffix(lower(word), 3)[0]=the"],
        ["bias", "word[-1]|word[0]=the|McDonald", "shape(word)[0]=XxXx", "digits(word)[0]=McDonald",
         "suffix(lower(word), 3)[0]=ald"],
        ["bias", "word[-1]|word[0]=McDonald|12-year", "shape(word)[0]=9-x", "digits(word)[0]=00-year",
         "suffix(lower(word), 3)[0]=ear"],
    ]  # fmt: skip


def test_tens_of_thousands_of_features_and_a_second_fit_forgets_the_first(rng):
    text = [[f"w{k}" for k in rng.integers(0, 9000, 30)] for _ in range(700)]
    templates = [[("word", 0)], [("word", -1), ("word", 0)], [(("suffix", "word", 2), 1)]]
    transformer = FeatureTemplates([reference.name(template) for template in templates]).fit(text)
    assert transformer.n_features_ > 25_000
    assert told(transformer, text) == wanted(templates, single(text))
    assert transformer.fit([["a"]]).get_feature_names_out().tolist() == ["word[0]=a"]
    assert told(transformer, [["b", "a"]]) == [[[], ["word[0]=a"]]]


def test_a_sentence_of_a_hundred_thousand_tokens(rng):
    text = [[f"w{k}" for k in rng.integers(0, 50, 100_000)], ["w1"]]
    templates = [[("word", 1000)], [("word", -2), ("word", 3)], "bias"]
    transformer = FeatureTemplates([reference.name(template) for template in templates]).fit(text)
    assert told(transformer, text) == wanted(templates, single(text))


@pytest.mark.parametrize("name", ["words", "chunking", None])
def test_the_ready_sets_can_be_written_out(name):
    columns = ("word",) if name == "words" else ("word", "pos")
    pairs = [
        [(w,) if name == "words" else (w, t) for w, t in zip(s, y, strict=True)]
        for s, y in zip(TEXT, TAGS, strict=True)
    ]
    transformer = FeatureTemplates(name, columns=columns).fit(pairs)
    patterns = {feature.split("=")[0]: None for feature in transformer.get_feature_names_out()}
    again = FeatureTemplates(list(patterns), columns=columns).fit(pairs)
    for one, other in zip(told(transformer, pairs), told(again, pairs), strict=True):
        assert [set(token) for token in one] == [set(token) for token in other]
        assert all(len(token) == len(set(token)) > 0 for token in one)


# ---- in a tagger


def by_hand(sentences):
    return wanted(MIXED_PARTS, single(sentences))


@pytest.mark.parametrize("parameters", [{}, {"margin": 1.0, "cost": "hamming"}, {"step": "pa1"}, {"min_count": 2}])
def test_templates_in_a_tagger_are_the_attributes_written_by_hand(parameters):
    inside = SequencePerceptron(templates=FeatureTemplates(MIXED), **options(**parameters)).fit(TEXT, TAGS)
    given = SequencePerceptron(**options(**parameters)).fit(by_hand(TEXT), TAGS)
    assert sorted(inside.attributes_) == sorted(given.attributes_)
    names = sorted(given.attributes_)
    for which in ("last", "average"):
        for a, b in zip(parts_of(inside, which, names), parts_of(given, which, names), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    new = [["The", "bird", "sat"], [], ["Cats", "of", "1998"]]
    assert inside.predict(new) == given.predict(by_hand(new))


def test_rare_features_of_templates_are_counted_over_all_calls():
    inside, given = SequencePerceptron(templates=FeatureTemplates(MIXED), min_count=2), SequencePerceptron(min_count=2)
    for i in (0, 2, 3, 4, 0):
        inside.partial_fit([TEXT[i]], [TAGS[i]])
        given.partial_fit(by_hand([TEXT[i]]), [TAGS[i]])
        assert sorted(inside.attributes_) == sorted(given.attributes_)
    assert "word[0]=The" in inside.attributes_
    names = sorted(given.attributes_)
    for which in ("last", "average"):
        for a, b in zip(parts_of(inside, which, names), parts_of(given, which, names), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_hashed_templates_predict_as_named_ones_where_the_table_is_large():
    named, hashed = (
        SequencePerceptron(templates=FeatureTemplates(MIXED), hash_bits=b, **options()) for b in (None, 18)
    )
    named.fit(TEXT, TAGS)
    hashed.fit(TEXT, TAGS)
    assert hashed.coef_.shape == (4, 2**18)
    assert hashed.mistakes_.tolist() == named.mistakes_.tolist()
    assert (
        np.sort(hashed.coef_last_[hashed.coef_last_ != 0]).tolist()
        == np.sort(named.coef_last_[named.coef_last_ != 0]).tolist()
    )
    assert hashed.predict(TEXT) == named.predict(TEXT)
    for a, b in zip(hashed.decision_function(TEXT), named.decision_function(TEXT), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    tiny = SequencePerceptron(templates=FeatureTemplates(MIXED), hash_bits=1, **options()).fit(TEXT, TAGS)
    assert tiny.coef_.shape == (4, 2)


def test_a_tagger_learns_new_features_and_a_transformer_does_not():
    inside = SequencePerceptron(templates=FeatureTemplates(["word"]), margin=1.0)
    assert inside.partial_fit(TEXT[:1], TAGS[:1]).attributes_.tolist() == ["word[0]=The", "word[0]=dog", "word[0]=runs"]
    assert "word[0]=cat" in inside.partial_fit(TEXT[4:], TAGS[4:]).attributes_
    assert "word[0]=new" in inside.learn_one(["new"], ["D"]).attributes_
    n = len(inside.attributes_)
    inside.predict([["unheard"]])
    assert len(inside.attributes_) == n


def test_words_are_hashed_and_numbered_the_same_in_every_process():
    code = (
        "from perceptrons import *; S = [['b', 'ä', '', 'a|b'], ['c']]; Y = [['x', 'y', 'x', 'x'], ['y']];"
        "F = FeatureTemplates(['word', 'word[-1]|shape(word)']);"
        "print(ascii(F.fit(S).get_feature_names_out().tolist()));"
        "print(SequencePerceptron(templates=F, hash_bits=6).fit(S, Y).coef_.tolist())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=300,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


def test_half_a_pair_of_surrogates_is_a_character_for_hashes_too():
    hashed = SequencePerceptron(templates=FeatureTemplates(["word"]), hash_bits=8, start_stop=False)
    assert hashed.fit([["a\ud800", "a\udfff"]], [["x", "y"]]).predict([["a\ud800"], ["a\udfff"]]) == [["x"], ["y"]]
    given = SequencePerceptron(hash_bits=8).fit([[["a\ud800"], ["a"]]], [["x", "y"]])
    assert given.predict([[["a\ud800"], ["a"]]]) == [["x", "y"]]


# ---- as scikit-learn has it


def test_clone_parameters_pickle_and_pipeline():
    templates = list(MIXED)
    transformer = FeatureTemplates(templates, columns=["word"])
    assert transformer.get_params() == {"templates": MIXED, "columns": ["word"]}
    assert told(transformer.fit(TEXT), TEXT) == by_hand(TEXT) == told(pickle.loads(pickle.dumps(transformer)), TEXT)
    assert told(copy.deepcopy(transformer), TEXT) == by_hand(TEXT)
    assert transformer.templates is templates
    copied = clone(transformer)
    assert copied.get_params() == transformer.get_params()
    with pytest.raises(NotFittedError):
        copied.transform(TEXT)
    assert copied.set_params(templates=["bias"]).fit(TEXT).get_feature_names_out().tolist() == ["bias"]
    pipeline = make_pipeline(FeatureTemplates(MIXED), SequencePerceptron(**options()))
    inside = SequencePerceptron(templates=FeatureTemplates(MIXED), **options()).fit(TEXT, TAGS)
    assert pipeline.fit(TEXT, TAGS).predict(TEXT) == inside.predict(TEXT)
    assert FeatureTemplates(["bias"]).fit_transform(TEXT).matrix.sum() == 11


def test_sentences_labels_and_parameters_are_left_as_they_were():
    text, tags, templates, columns = [[["a", "b"], ["c", "d"]], []], [["x", "y"], []], ["w|p[1]", "bias"], ["w", "p"]
    before = copy.deepcopy((text, tags, templates, columns))
    FeatureTemplates(templates, columns).fit(text).transform(text)
    shared = FeatureTemplates(templates, columns)
    SequencePerceptron(templates=shared).fit(text, tags).predict(text)
    assert (text, tags, templates, columns) == before
    assert list(vars(shared)) == ["templates", "columns"]  # a model fits no part of its parameters
