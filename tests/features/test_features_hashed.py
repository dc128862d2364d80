"""`HashedFeatures`: dicts, pairs and names become rows; what is none is refused with its row."""

import math
import pickle
from collections import Counter, OrderedDict
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from perceptrons import FeatureTemplates, Perceptron, SequencePerceptron
from perceptrons.features import HashedFeatures, HashedText, hashed
from tests.features.test_features_text import assert_rows, rows_of
from tests.reference import text as reference


def pairs_of(row):
    """The features of a row, slowly."""
    items = row.items() if isinstance(row, dict) else [(item, 1) if isinstance(item, str) else item for item in row]
    return [(f"{name}={value}", 1.0) if isinstance(value, str) else (name, float(value)) for name, value in items]


def expected(rows, place):
    result = []
    for row in rows:
        sums = {}
        for name, value in pairs_of(row):
            where = place(name)
            if value and where is not None:
                sums[where[0]] = sums.get(where[0], 0.0) + value * where[1]
        result.append({column: reference.float32(value) for column, value in sums.items()})
    return result


names = st.text(st.characters(codec="utf-8"), max_size=9)
values = st.one_of(st.floats(-1e6, 1e6), st.integers(-(2**40), 2**40), st.booleans(), names)
rows_strategy = st.lists(
    st.one_of(
        st.dictionaries(names, values, max_size=5), st.lists(st.one_of(names, st.tuples(names, values)), max_size=6)
    ),
    max_size=5,
)


@settings(max_examples=200, deadline=None)
@given(rows_strategy, st.sampled_from([1, 3, 20, 31]), st.booleans(), st.integers(0, 2**32 - 1))
def test_hashed_rows_are_those_of_the_reference(rows, bits, signed, seed):
    features = HashedFeatures(bits=bits, signed=signed, seed=seed)
    wanted = expected(rows, lambda name: reference.hashed(name, bits, signed, seed))
    assert_rows(features.transform(rows), wanted)
    assert_rows(features.fit_transform(rows), wanted)


@settings(max_examples=200, deadline=None)
@given(rows_strategy, st.integers(1, 3))
def test_rows_by_vocabulary_are_those_of_the_reference(rows, min_count):
    counts = Counter(name for row in rows for name, value in pairs_of(row) if value)
    kept = [name for name, count in counts.items() if count >= min_count]
    columns = {name: (column, 1.0) for column, name in enumerate(kept)}
    features = HashedFeatures(bits=None, min_count=min_count)
    X = features.fit_transform(rows)
    assert X.shape == (len(rows), len(kept))
    assert_rows(X, expected(rows, columns.get))
    assert features.counts_.tolist() == [counts[name] for name in kept]


def test_a_vocabulary_is_that_of_scikit_learns_dict_vectorizer_in_order_of_coming():
    rows = [{"city": "Rome", "rooms": 3, "new": True}, {"rooms": 2.5, "city": "Oslo"}, {}, {"new": False}]
    theirs, ours = DictVectorizer(sparse=False), HashedFeatures(bits=None)
    X, names = theirs.fit_transform(rows), theirs.get_feature_names_out().tolist()
    Y = ours.fit_transform(rows).toarray()
    assert sorted(ours.get_feature_names_out()) == names
    assert ours.get_feature_names_out().tolist() == ["city=Rome", "rooms", "new", "city=Oslo"]
    assert np.array_equal(X, Y[:, [ours.vocabulary_[name] for name in names]])


def test_all_kinds_of_rows_mean_the_same():
    row = {"a": 1, "b": 2.0, "c": "x"}
    X = rows_of(HashedFeatures(bits=None).fit_transform([row]))
    for other in (
        OrderedDict(row), list(row.items()), tuple(row.items()), iter(row.items()), [["a", 1], ["b", 2], "c=x"],
        ["b", "a", "c=x", ("b", 1)], {"a": np.int8(1), "b": np.float32(2), "c": np.str_("x")},
        {"a": np.bool_(True), "b": Fraction(2), "c": "x"},
    ):  # fmt: skip
        features = HashedFeatures(bits=None).fit([row])
        assert sorted(rows_of(features.transform([other]))[0].items()) == sorted(X[0].items())


def test_pieces_change_nothing(monkeypatch):
    rows = [{f"f{i % 7}": i, "kind": str(i % 3)} for i in range(50)]
    whole = HashedFeatures(bits=None)
    X = whole.fit_transform(rows)
    monkeypatch.setattr(hashed, "PIECE_ROWS", 4)
    parts = HashedFeatures(bits=None)
    assert_rows(parts.fit_transform(rows), rows_of(X))
    assert_rows(parts.transform(rows), rows_of(X))
    assert parts.vocabulary_ == whole.vocabulary_


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("abc", TypeError, "X is a str: give a list of rows,"),
        ({"a": 1}, TypeError, "X is a dict: give a list of rows,"),
        (None, TypeError, "X is a NoneType"),
        (
            pd.DataFrame({"a": [1]}),
            TypeError,
            r"X is a DataFrame: give rows as dicts, for instance X.to_dict\('records'\)",
        ),
        ([{"a": 1}, "abc"], TypeError, r"Row 1 is 'abc' \(str\): a row must be a dict, or a list"),
        ([{}, None], TypeError, r"Row 1 is None \(NoneType\)"),
        ([[3]], TypeError, r"Row 0 has 3 \(int\): give a name, or a pair"),
        ([[("a", 1, 2)]], TypeError, "a name, or a pair of a name and a value"),
        ([{}, {7: 1}], TypeError, r"Row 1 has a feature 7 \(int\): names must be strings"),
        ([{"a": None}], TypeError, "Row 0: feature 'a' is None, which is neither a number nor a string"),
        ([{"a": [1]}], TypeError, "neither a number nor a string"),
        ([{"a": 1j}], TypeError, "neither a number nor a string"),
        ([{}, {"a": math.nan}], ValueError, "Row 1: feature 'a' is nan: values must be finite"),
        ([{"a": math.inf}], ValueError, "values must be finite"),
        ([{"a": 10**400}], ValueError, "values must be finite and at most 3e"),
        ([{"a": 1e39}], ValueError, "values must be finite and at most 3e"),
        ([{"\ud800": 1}], ValueError, "Row 0: the name '.ud800' contains half a surrogate pair,"),
    ],
)
def test_what_is_no_row_is_refused_and_named(X, error, message):
    for features in (HashedFeatures(), HashedFeatures(bits=None).fit([{"a": 1}])):
        for method in (features.transform, clone(features).fit, clone(features).fit_transform):
            with pytest.raises(error, match=message):
                method(X)


def test_parameters_outside_their_domain_are_refused():
    for options in ({"bits": 40}, {"signed": 2}, {"seed": "x"}, {"min_count": 0}, {"min_count": 2}):
        with pytest.raises(ValueError, match="HashedFeatures"):
            HashedFeatures(**options).fit([{"a": 1}])


def test_hashing_needs_no_fit_and_a_vocabulary_does():
    tags = get_tags(HashedFeatures())
    assert (tags.requires_fit, tags.input_tags.dict, tags.input_tags.two_d_array) == (False, True, False)
    assert get_tags(HashedFeatures(bits=None)).requires_fit
    with pytest.raises(NotFittedError):
        HashedFeatures(bits=None).transform([{"a": 1}])


def test_it_works_in_a_pipeline_and_survives_pickling():
    rows = [{"color": "red", "size": 1}, {"color": "blue", "size": 1}] * 4
    model = make_pipeline(HashedFeatures(), Perceptron()).fit(rows, ["warm", "cold"] * 4)
    back = pickle.loads(pickle.dumps(model))
    assert back.predict(rows).tolist() == ["warm", "cold"] * 4
    assert back[0].columns_.names() == ["color=red", "size", "color=blue"]


TEXTS, RECORDS, SENTENCES = ["free prize", "see you"], [{"a": 1}, {"b": 2}], [["a", "b"], ["b"]]


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (make_pipeline(HashedText(bits=8), Perceptron()), TEXTS, [0, 1]),
        (make_pipeline(HashedText(bits=None), Perceptron()), TEXTS, [0, 1]),
        (make_pipeline(HashedFeatures(), Perceptron()), RECORDS, [0, 1]),
        (make_pipeline(FeatureTemplates(["word"]), SequencePerceptron()), SENTENCES, [["x", "y"], ["y"]]),
    ],
    ids=["hashed texts", "remembered texts", "features", "templates"],
)
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_rows_stay_sparse_where_scikit_learn_is_told_to_make_frames(model, X, y, output):
    expected = clone(model).fit(X, y).predict(X)
    with config_context(transform_output=output):
        fitted = clone(model).fit(X, y)
        np.testing.assert_equal(fitted.predict(X), expected)
        assert type(fitted[0].transform(X)) is type(fitted[0].fit_transform(X))
    with pytest.raises(ValueError, match="`set_output` is not available"):
        clone(model).set_output(transform=output)
