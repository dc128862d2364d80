"""Numbers of many strings, and attributes that are not strings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptrons import SequencePerceptron
from perceptrons.sequence.tokens import number_strings, renumber

SHORT = ["", "a", "b", "a\0", "\0", "ä", "äö", "\ud800", "漢字", "seven77"]
WORDS = [*SHORT, "eight888", "eight889", "x" * 100, "x" * 99 + "y"]


def by_dict(strings):
    numbers = {}
    codes = [numbers.setdefault(string, len(numbers)) for string in strings]
    return list(numbers), codes


@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=10), max_size=30))
def test_strings_are_numbered_in_the_order_of_coming(strings):
    distinct, codes = number_strings(strings)
    assert (distinct, codes.tolist()) == by_dict(strings)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=20), st.data())
def test_what_is_left_of_strings_is_numbered_as_if_there_were_no_others(strings, data):
    left = data.draw(st.lists(st.integers(0, len(strings) - 1), unique=True).map(sorted))
    distinct, codes = number_strings(strings)
    names, numbers = renumber(distinct, codes[np.array(left, int)])
    assert (names, numbers.tolist()) == by_dict([strings[place] for place in left])


@pytest.mark.parametrize("n", [3, 12_000])
@pytest.mark.parametrize("wrong", [7, None, b"p", ["p"]])
def test_something_that_is_no_string_is_refused_by_place_among_few_and_many(n, wrong):
    X = [[["p"], ["q", "r"]]] * n + [[["p"], ["q", wrong]]]
    with pytest.raises(TypeError, match=f"token 1 of sequence {n} is .*attributes must be strings."):
        SequencePerceptron().fit(X, [["a", "b"]] * (n + 1))


@pytest.mark.parametrize("value", [b"1", bytearray(b"1"), [b"p"], {"q": b"1"}])
def test_bytes_are_no_values_of_features_even_if_they_look_like_numbers(value):
    tagger = SequencePerceptron().fit([[{"w": "p"}, {"w": 2}]], [["a", "b"]])
    with pytest.raises(TypeError, match=r"Feature 'w.*\(bytes\)"):
        tagger.predict([[{"w": value}]])


def test_many_attributes_learn_the_same_as_block_by_block():
    rng = np.random.default_rng(1)
    X = [[[f"f{k}" for k in rng.integers(0, 3000, 5)] for _ in range(4)] for _ in range(600)]
    y = [rng.choice(["a", "b", "c"], 4).tolist() for _ in X]
    whole, blocks = SequencePerceptron(shuffle=False, max_iter=1).fit(X, y), SequencePerceptron()
    for start in range(0, 600, 50):
        blocks.partial_fit(X[start : start + 50], y[start : start + 50])
    assert whole.attributes_.tolist() == blocks.attributes_.tolist()
    np.testing.assert_array_equal(whole.coef_, blocks.coef_)
