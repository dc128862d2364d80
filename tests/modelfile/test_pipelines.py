"""A pipeline that was saved and loaded answers with the same bits, and goes on as if it had never been saved."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import perceptrons
from perceptrons import Perceptron, SequencePerceptron
from perceptrons.features import TableFeatures
from tests.modelfile import pipelines
from tests.modelfile.pipelines import INDEX, MODELS, NUMBERS, STEPS, TABLE, TWO, WORDS, X, again, alike, quietly


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pipeline.perceptron"


def given_to(name):
    return (
        TABLE
        if name == "a table"
        else WORDS
        if "text" in name
        else NUMBERS
        if "names" in name or name == "frozen pipeline"
        else X
    )


def _fitted_rows(pipeline, data):
    """What `fit_transform` gives; of tables what `transform` gives, as whole ones have their columns in order."""
    rows = quietly(pipeline.fit_transform, data)
    in_order = sp.issparse(rows) and isinstance(pipeline[0], TableFeatures)
    return quietly(pipeline.transform, data) if in_order else rows


@pytest.mark.parametrize("name", STEPS)
def test_every_transformer_is_the_same_again(name, path):
    step, data = STEPS[name]
    before = make_pipeline(clone(step))
    expected = _fitted_rows(before, data)
    after = again(before, path)
    if name == "columns by index":
        assert str(after[0].transformers) == str([("one", StandardScaler(), INDEX.tolist())])
    else:
        alike(before, after)
    alike(quietly(before.transform, data), quietly(after.transform, data))
    alike(expected, quietly(after.transform, data))
    if hasattr(before, "get_feature_names_out") and name != "indicator":
        alike(quietly(before.get_feature_names_out), quietly(after.get_feature_names_out))
    assert str(clone(after)) == str(clone(before)) or name == "columns by index"
    alike(expected, _fitted_rows(clone(after), data))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_answers_the_same_again(name, path):
    before = MODELS[name]()
    after = again(before, path)
    alike(before, after)
    data = given_to(name)
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(before, method):
            alike(getattr(before, method)(data), getattr(after, method)(data), method)
    for attribute in ("classes_", "n_features_in_", "feature_names_in_"):
        assert hasattr(before, attribute) == hasattr(after, attribute)
        if hasattr(before, attribute):
            alike(getattr(before, attribute), getattr(after, attribute), attribute)
    assert str(clone(after)) == str(clone(before))


def test_what_is_saved_again_has_the_same_bytes(path):
    model = MODELS["a table"]()
    perceptrons.save(again(model, path), path.with_name("again"))
    assert path.read_bytes() == path.with_name("again").read_bytes()


def test_the_last_step_goes_on_learning_as_if_it_had_never_been_saved(path):
    before = MODELS["perceptron"]()
    after = again(before, path)
    more, labels = X[::-1], pipelines.Y[::-1]
    for model in (before, after):
        model[-1].partial_fit(model[:-1].transform(more), labels)
    alike(before[-1].coef_, after[-1].coef_)
    alike(before.decision_function(X), after.decision_function(X))


def test_a_calibrated_model_that_was_frozen_is_in_the_file_once(path):
    big = np.random.default_rng(0).normal(size=(40, 20_000))
    inner = Perceptron(max_iter=2).fit(big, TWO[:40])
    perceptrons.save(inner, path)
    alone = path.stat().st_size
    loaded = again(pipelines.CalibratedClassifierCV(pipelines.frozen(inner)).fit(big, TWO[:40]), path)
    assert path.stat().st_size < 1.5 * alone
    assert loaded.calibrated_classifiers_[0].estimator is loaded.estimator


def test_a_loaded_pipeline_takes_columns_in_another_order(path):
    model = quietly(MODELS["a table"])
    after = again(model, path)
    turned = TABLE[TABLE.columns[::-1]].assign(more=1)
    alike(model.predict_proba(turned), after.predict_proba(turned))
    with pytest.raises(ValueError, match="columns are missing"):
        after.predict(TABLE.drop(columns="kind"))


def test_unknown_categories_are_treated_as_before(path):
    before = make_pipeline(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-3)).fit([["a"], ["b"]])
    assert again(before, path).transform([["b"], ["never"]]).tolist() == [[1], [-3]]
    rare = make_pipeline(OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist"))
    rare.fit([["a"]] * 3 + [["b"]] * 3 + [["c"], ["d"]])
    after = again(rare, path)
    assert after.transform([["a"], ["c"], ["never"]]).toarray().tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert [part.tolist() for part in after[0].infrequent_categories_] == [["c", "d"]]
    with pytest.raises(ValueError, match="unknown categories"):
        again(make_pipeline(OneHotEncoder()).fit([["a"]]), path).transform([["never"]])


def test_a_tagger_may_be_the_last_step(path):
    sentences = [[["word=the", "end=e"], ["word=dog"]], [["word=a"], ["word=cat"]]]
    model = make_pipeline("passthrough", SequencePerceptron(max_iter=3)).fit(sentences, [["D", "N"], ["D", "N"]])
    assert again(model, path).predict(sentences) == model.predict(sentences) == [["D", "N"], ["D", "N"]]


def test_a_scaler_goes_on_learning(path):
    before = make_pipeline(StandardScaler()).fit(X[:30])
    after = again(before, path)
    for model in (before, after):
        model[0].partial_fit(X[30:])
    alike(before, after)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_random_categories_are_the_same_again(tmp_path, data):
    kinds = [st.text(max_size=5) | st.none(), st.floats(allow_infinity=False), st.integers(-100, 100), st.booleans()]
    kind = data.draw(st.sampled_from(kinds))
    column = data.draw(st.lists(kind, min_size=1, max_size=12))
    values = np.array(column, dtype=object if any(isinstance(item, str | None) for item in column) else None)[:, None]
    rare = data.draw(st.sampled_from([{}, {"min_frequency": 2}, {"max_categories": 2}]))
    for encoder in (
        OneHotEncoder(handle_unknown="ignore", drop=data.draw(st.sampled_from([None, "first", "if_binary"])), **rare),
        OrdinalEncoder(**rare),
    ):
        before = make_pipeline(encoder).fit(values)
        after = again(before, tmp_path / "pipeline")
        alike(before, after)
        alike(before.transform(values), after.transform(values))
        alike(before.get_feature_names_out(), after.get_feature_names_out())


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_random_choices_of_columns_are_the_same_again(tmp_path, data):
    n = data.draw(st.integers(1, 5))
    names = [f"column {k}" for k in range(n)]
    numbers = st.lists(st.integers(-n, n - 1), max_size=4, unique_by=lambda k: k % n)
    masks = st.lists(st.booleans(), min_size=n, max_size=n)
    by_name = st.lists(st.sampled_from(names), max_size=3, unique=True)
    chosen = data.draw(st.lists(numbers | masks | masks.map(np.array) | by_name | by_name.map(pd.Index), max_size=3))
    rows = np.random.default_rng(n).normal(size=(7, n))
    transformer = ColumnTransformer(
        [
            (f"t{k}", data.draw(st.sampled_from([StandardScaler(), MinMaxScaler(), "drop", "passthrough"])), columns)
            for k, columns in enumerate(chosen)
        ],
        remainder=data.draw(st.sampled_from(["drop", "passthrough", StandardScaler()])),
    )
    frame = pd.DataFrame(rows, columns=names)
    before = make_pipeline(transformer).fit(frame)
    after = again(before, tmp_path / "pipeline")
    alike(before.transform(frame), after.transform(frame))
    alike(before.get_feature_names_out(), after.get_feature_names_out())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", [name for name in STEPS if "without NaN" not in name])  # there may be none to drop
def test_every_transformer_is_the_same_again_on_random_rows(name, seed, path):
    step, data = STEPS[name]
    rows = np.random.default_rng(seed).integers(0, pipelines.N, 20 + seed)
    part = (
        data.iloc[rows] if hasattr(data, "iloc") else [data[k] for k in rows] if isinstance(data, list) else data[rows]
    )
    before = make_pipeline(clone(step))
    expected = _fitted_rows(before, part)
    alike(expected, quietly(again(before, path).transform, part))
