"""`FeatureTemplates`: templates, columns and tokens that cannot be are refused by name and place."""

import copy
from collections import namedtuple

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from perceptrons import FeatureTemplates, SequencePerceptron
from tests.sequence.test_templates import TAGS, TEXT
from tests.support.sequences import assert_same_bits

Token = namedtuple("Token", "word")

# fmt: off
MALFORMED = [
    "word[", "word]", "word[]", "word[a]", "word[1.5]", "word[0..]", "word[..1]", "word[2..1]", "word[1][2]",
    "word[0...1]", "word[--1]", "word[+1]", "word||word", "|word", "word|", "|", "Word", "tag", "lower", "lower()",
    "lower(word", "lower(word))", "lower(word,2)", "lower(word[1])", "prefix(word)", "prefix(word,)",
    "prefix(word,0)", "prefix(word,-1)", "prefix(word,1.5)", "prefix(word,2..1)", "prefix(word,a)",
    "prefix(word,1,2)", "prefix(1,word)", "prefix(,1)", "shape(word,1)", "upper(word)", "word[0]x", "bias[0]",
    "bias[1]", "bias|word", "word|bias", "lower(bias)", "BIAS", "word=1", "word,word", "word[99999999999999999999]",
    "word[1001]", "word[-1001]", "word|word|word|word|word", "prefix(word,99999999999)", "word[0..100000]",
    "prefix(word,1..100000)", "wórd", "word[٣]", "prefix(word,²)", "(word)", "((", "[0]", "0", "0word", "word[0]..1",
    "word[0]word", "(word)[0]", "lower(word)(word)", "lower[0](word)", "%x[0,0]", "word[0;1]", "word[0:1]",
    "word[0,1]", "word{0}", "word[0x1]", "word[1e2]", "", " ", "x word", "word word", "lower word", "suffix(word 2)",
    "prefix(word, 1 2)", "word[1 2]", "word[- 1]", "word\0",
]
# fmt: on


@pytest.mark.parametrize("template", MALFORMED, ids=ascii)
def test_a_malformed_template_is_refused_by_name(template):
    for call in (
        lambda: FeatureTemplates(["word", template]).fit(TEXT),
        lambda: SequencePerceptron(templates=FeatureTemplates([template, "word"])).fit(TEXT, TAGS),
    ):
        with pytest.raises(ValueError, match="template") as caught:
            call()
        assert repr(template) in str(caught.value)


@pytest.mark.parametrize("template", [None, 3, ("word",), b"word", ["word"]])
def test_a_template_is_a_string(template):
    with pytest.raises((ValueError, TypeError)) as caught:
        FeatureTemplates(["word", template]).fit(TEXT)
    assert repr(template) in str(caught.value)


@pytest.mark.parametrize("templates", ["word", "nonsense", "chunking", [], (), 3, {"word", "word[1]"}, b"words"])
def test_templates_are_a_list_or_a_known_name(templates):
    with pytest.raises((ValueError, TypeError), match="templates"):
        FeatureTemplates(templates).fit(TEXT)


@pytest.mark.parametrize(
    "columns", [[], (), None, 3, ["a", "a"], ["a b"], ["a|b"], ["a=b"], ["a[0]"], [""], ["0"], [1], [None], {"a", "b"}]
)
def test_columns_are_different_names(columns):
    with pytest.raises((ValueError, TypeError), match="columns"):
        FeatureTemplates(["bias"], columns=columns).fit([[("a",)]])


@pytest.mark.parametrize("bad", [3, None, b"a", 1.5, True, (), ("a", "b"), {"word": "a"}, ("a", 3), (3,), {"a"}])
def test_a_token_of_the_wrong_type_is_named_by_its_place(bad):
    model = SequencePerceptron(templates=FeatureTemplates(["word"])).fit(TEXT, TAGS)
    before = copy.deepcopy(model)
    sentences, labels = [["a"], [], ["b", bad, "c"]], [["D"], [], ["D", "D", "D"]]
    for call in (
        lambda: FeatureTemplates(["word"]).fit(sentences),
        lambda: FeatureTemplates(["word"]).fit(TEXT).transform(sentences),
        lambda: model.predict(sentences),
        lambda: model.partial_fit(sentences, labels),
        lambda: model.fit(sentences, labels),
    ):
        with pytest.raises((ValueError, TypeError), match=r"[Tt]oken 1 of sequence 2"):
            call()
    assert_same_bits(model, before)


@pytest.mark.parametrize("bad", ["ab", "a", ("a",), ("a", "b", "c"), ("a", 1), [], {"w": "a", "p": "b"}])
def test_a_token_has_a_string_for_every_column(bad):
    with pytest.raises((ValueError, TypeError), match=r"[Tt]oken 0 of sequence 1.*w, p"):
        FeatureTemplates(["w"], columns=["w", "p"]).fit([[("a", "b")], [bad]])


@pytest.mark.parametrize(
    ("sentences", "said"), [("abc", "str"), (["abc"], r"X\[0\]"), (None, "None"), ([["a"], 3], r"X\[1\]")]
)
def test_sentences_are_lists_of_tokens(sentences, said):
    with pytest.raises((ValueError, TypeError), match=said):
        FeatureTemplates(["word"]).fit(sentences)


@pytest.mark.parametrize(
    "sentences", [[["a", "b"]], [("a", "b")], [[("a",), ["b"]]], np.array([["a", "b"]]), [np.array(["a", "b"])],
                  [[np.str_("a"), np.str_("b")]], iter([["a", "b"]]), [np.array(["a", "b"], object)],
                  [["a", ("b",)]], [[Token("a"), Token("b")]], [[("a",), Token("b")]],
                  [[(np.str_("a"),), [np.str_("b")]]]]
)  # fmt: skip
def test_words_come_in_many_ways(sentences):
    assert FeatureTemplates(["word"]).fit(sentences).get_feature_names_out().tolist() == ["word[0]=a", "word[0]=b"]


def test_before_fit_there_is_nothing():
    for call in (lambda f: f.transform(TEXT), lambda f: f.get_feature_names_out()):
        with pytest.raises(NotFittedError):
            call(FeatureTemplates(["word"]))


def test_a_template_of_very_many_functions_is_refused():
    with pytest.raises(ValueError, match="more than 50 functions"):
        FeatureTemplates(["suffix(" * 3000 + "word"]).fit([["a"]])
