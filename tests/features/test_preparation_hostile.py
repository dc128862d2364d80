"""Preparations that nobody measured: what a model file may hold is checked, and only `as_dict` is accepted."""

import copy
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perceptrons
from perceptrons import ModelFileError, Perceptron, modelfile
from perceptrons.data import read
from perceptrons.features import TableFeatures
from perceptrons.features.preparation import Preparation
from tests.support.doors import raw_records

ROWS = raw_records(30)
LABELS = [row.pop("label") for row in ROWS]


@pytest.fixture(scope="module")
def model():
    table = read([row | {"label": label} for row, label in zip(ROWS, LABELS, strict=True)], prepare=True, powers=2,
                 interactions=["age*shop", "size*age"])  # fmt: skip
    fitted = Perceptron().fit(table.X, table.y)
    table.teach(fitted)
    return fitted


@pytest.fixture(scope="module")
def kept(model):
    return model.source_["preparation"]


def test_what_is_kept_of_a_preparation_is_plain_json_and_makes_the_same_one(kept):
    again = json.loads(json.dumps(kept))
    assert again == kept
    assert Preparation.from_dict(again).as_dict() == kept


def first(value):
    def changed(values):
        values[0] = value
        return values

    return changed


FORGED = {
    "a name too few": ("names", lambda values: values[:-1]),
    "a name twice": ("names", lambda values: [*values[:-1], values[0]]),
    "derived numbers in another order": ("names", lambda values: values[::-1]),
    "a scale too few": ("scales", lambda values: values[:-1]),
    "a scale too many": ("scales", lambda values: [*values, 1.0]),
    "a scale of 0": ("scales", first(0.0)),
    "a scale below 0": ("scales", first(-1.0)),
    "a scale that is not a number": ("scales", first(math.nan)),
    "an infinite scale": ("scales", first(math.inf)),
    "a scale in words": ("scales", first("1")),
    "a scale that is a flag": ("scales", first(True)),
    "an infinite mean": ("centres", first(-math.inf)),
    "a mean that is not a number": ("fills", first(math.nan)),
    "a mean that is too large": ("fills", first(1e200)),
    "an unknown way to scale": ("scale", lambda _: "auto"),
    "an unknown indicator": ("indicators", lambda values: [*values, "unheard"]),
    "an indicator twice": ("indicators", lambda values: values * 2),
    "times of no date": ("timed", lambda values: [*values, "shop"]),
    "a date twice": ("dates", lambda values: values * 2),
    "a flag that is a date": ("flags", lambda _: ["day"]),
    "a scale of 0 for a product": ("product_scales", lambda scales: [0.0, *scales[1:]]),
    "scales for too few products": ("product_scales", lambda scales: scales[1:]),
    "a centre of a product that is no number": ("product_centres", lambda centres: ["1", *centres[1:]]),
    "powers of 0": ("powers", lambda _: 0),
    "powers of 10**9": ("powers", lambda _: 10**9),
    "powers that are a flag": ("powers", lambda _: True),
    "a pair of one": ("pairs", lambda _: [["age"]]),
    "a pair of numbers": ("pairs", lambda _: [[1, 2]]),
    "pairs in words": ("pairs", lambda _: "age*shop"),
    "missing words that are numbers": ("missing", lambda _: [1]),
    "a fill in words": ("fill", lambda _: "yes"),
    "names that are no list": ("names", lambda _: {"age": 1}),
    "a huge list of scales": ("scales", lambda _: [1.0] * 10**6),
    "a huge list of pairs": ("pairs", lambda values: values * 10**5),
    "a pair of no column": ("pairs", lambda values: [*values, ["unheard", "age"]]),
    "a pair of one column": ("pairs", lambda values: [*values, ["age", "age"]]),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_preparation_is_refused_with_the_model_file(tmp_path, model, what):
    key, change = FORGED[what]
    header, arrays = copy.deepcopy(modelfile.KINDS["Perceptron"].contents(model))
    kept = header["source"]["preparation"]
    kept[key] = change(copy.deepcopy(kept[key]))
    (tmp_path / "m").write_bytes(modelfile.sealed(json.dumps(header), arrays))
    with pytest.raises(ModelFileError) as refusal:
        perceptrons.load(tmp_path / "m")
    assert len(str(refusal.value).splitlines()) == 1
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize("key", list(Preparation().as_dict()))
def test_a_preparation_that_lacks_something_is_refused(kept, key):
    with pytest.raises(ValueError, match="expected all that a preparation has"):
        Preparation.from_dict({name: value for name, value in kept.items() if name != key})
    with pytest.raises(ValueError, match="expected"):
        Preparation.from_dict({**kept, key: None})


names = st.lists(st.sampled_from(["a", "b", "c", "a.year", "a.days", "", "=", "*"]), max_size=4)
leaves = st.none() | st.booleans() | st.integers(-3, 12) | st.floats() | st.text(max_size=3)
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)
numbers = st.lists(st.floats() | st.floats(0.1, 2) | st.integers(1, 3), max_size=5)
FIELDS = {
    "scale": st.sampled_from(["none", "standard", "max-abs"]), "fill": st.booleans(), "missing": names, "dates": names,
    "timed": names, "flags": names, "names": names, "fills": numbers, "centres": numbers, "scales": numbers,
    "indicators": names, "powers": st.integers(-1, 10),
    "pairs": st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=2),
    "beside_words": st.booleans(),
}  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(
    st.fixed_dictionaries(
        {name: field | anything for name, field in FIELDS.items()},
        optional=dict.fromkeys(["product_centres", "product_scales"], numbers | anything),
    )
    | anything
)
def test_any_preparation_is_refused_or_written_as_it_was(kept):
    try:
        found = Preparation.from_dict(kept)
    except ValueError:
        with pytest.raises(ValueError, match=r"^expected "):
            Preparation.from_dict(kept)
        return
    assert found.as_dict() == kept
    assert (found.scales > 0).all()
    assert np.isfinite([found.fills, found.centres, found.scales]).all()
    assert len(found.number_names) >= len(found.names)


def test_small_preparations_are_accepted():
    """So that the test above does not pass because all are refused."""
    empty = Preparation().as_dict()
    assert Preparation.from_dict(empty).as_dict() == empty
    one = {**empty, "names": ["a"], "fills": [1], "centres": [0.5], "scales": [2], "indicators": ["a"], "fill": True}
    found = Preparation.from_dict(one)
    assert found.as_dict() == one
    assert found.number_names == ["a", "a=missing"]


@pytest.mark.parametrize("value", [1e30, -1e38])
def test_numbers_that_no_longer_fit_once_they_are_scaled_are_refused(value):
    frame = pd.DataFrame({"a": np.linspace(0, 1e-6, 30), "b": np.linspace(0, 1, 30)}, dtype=np.float32)
    features = TableFeatures().fit(frame)
    later = pd.DataFrame({"a": [value], "b": [0.0]}, dtype=np.float32)
    model = Perceptron().fit(features.transform(frame), [0, 1] * 15)
    X = features.transform(later)
    with pytest.raises(ValueError, match=r"too large|infinity|inf"):
        model.predict(X)
    assert np.isfinite(model.decision_function(features.transform(frame))).all()
