"""Files of pipelines with a right checksum that were made to mislead, to fill memory, or to index outside of arrays."""

import copy

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import perceptrons
from perceptrons import HashedText, ModelFileError, Perceptron, modelfile
from tests.modelfile import pipelines
from tests.modelfile.pipelines import HOLES, NUMBERS, OBJECTS, TWO, WORDS, X, quietly
from tests.modelfile.test_modelfile import forge
from tests.support.tiers import slow
from tools import fuzz_models
from tools.forging_pipelines import PIPELINES


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pipeline.perceptron"


def first(header):
    """The first step of a pipeline."""
    return header["pipeline"]["params"]["steps"][0]["tuple"][1]


def scaled(change):
    return make_pipeline(StandardScaler(), Perceptron(max_iter=2)).fit(X, TWO), change


def coded(change):
    return make_pipeline(OneHotEncoder(max_categories=2)).fit(OBJECTS), change


def chosen(change):
    steps = [("one", StandardScaler(), [0, 1]), ("two", StandardScaler(), ["c"])]
    return make_pipeline(ColumnTransformer(steps[:1])).fit(X), change


def named(change):
    return make_pipeline(ColumnTransformer([("one", StandardScaler(), ["a", "c"])])).fit(NUMBERS), change


def filled(change):
    return make_pipeline(SimpleImputer(add_indicator=True)).fit(HOLES), change


def worded(change):
    return make_pipeline(HashedText(bits=None)).fit(WORDS), change


def calibrated(change):
    return pipelines.MODELS["isotonic"](), change


def array(place, **to):
    """Change the array that a place of the header names."""

    def change(header, arrays):
        told = place(header)
        name = told["array"]
        for way, value in to.items():
            if way == "first":
                arrays[name].reshape(-1)[0] = value
            else:
                arrays[name] = value

    return change


def pair(header, k=0):
    return header["pipeline"]["fitted"]["calibrated_classifiers_"][k]["fitted"]


def bomb(header, arrays):
    """Pipelines within pipelines."""
    inner = copy.deepcopy(first(header))
    for _ in range(100):
        inner = {"class": "Pipeline", "params": {"steps": [{"tuple": ["a", inner]}]}, "fitted": {}}
    header["pipeline"] = inner


def fitted(header):
    return first(header)["fitted"]


def params(header):
    return first(header)["params"]


def columns(new):
    return lambda h, a: params(h)["transformers"][0]["tuple"].__setitem__(2, new)


CASES = {
    "an unknown class": scaled(lambda h, a: first(h).update({"class": "RobustScaler"})),
    "a class to import": scaled(lambda h, a: first(h).update({"class": "os.system"})),
    "a class that is a list": scaled(lambda h, a: first(h).update({"class": ["Pipeline"]})),
    "a class at the top": scaled(lambda h, a: h.update(pipeline=first(h))),
    "a part at the top": scaled(lambda h, a: h.update({"class": "Columns"})),
    "an unknown parameter": scaled(lambda h, a: params(h).update(evil=1)),
    "a parameter out of its domain": scaled(lambda h, a: params(h).update(with_mean="yes")),
    "an estimator as a parameter": scaled(lambda h, a: params(h).update(copy=copy.deepcopy(first(h)))),
    "an unknown attribute": scaled(lambda h, a: fitted(h).update(transform=1)),
    "a method that is replaced": scaled(lambda h, a: fitted(h).update(_validate_params=None)),
    "a scale of NaN": scaled(array(lambda h: fitted(h)["scale_"], first=np.nan)),
    "a scale of 0": scaled(array(lambda h: fitted(h)["scale_"], first=0.0)),
    "a scale that is too short": scaled(array(lambda h: fitted(h)["scale_"], whole=np.ones(2))),
    "a scale of a table": scaled(array(lambda h: fitted(h)["scale_"], whole=np.ones((3, 1)))),
    "a scale of whole numbers": scaled(array(lambda h: fitted(h)["scale_"], whole=np.ones(3, np.int64))),
    "a scale that is missing": scaled(lambda h, a: fitted(h).pop("scale_")),
    "columns without number": scaled(lambda h, a: fitted(h).update(n_features_in_=2**62)),
    "less than no columns": scaled(lambda h, a: fitted(h).update(n_features_in_=-1)),
    "names for other columns": scaled(
        lambda h, a: fitted(h).update(feature_names_in_={"objects": ["a"], "shape": [1]})),
    "a step that is not fitted": scaled(lambda h, a: first(h).update(fitted=None)),
    "a pipeline that is not fitted": scaled(lambda h, a: h["pipeline"].update(fitted=None)),
    "steps of one name": scaled(lambda h, a: h["pipeline"]["params"]["steps"][1]["tuple"].__setitem__(
        0, "standardscaler")),
    "no steps": scaled(lambda h, a: h["pipeline"]["params"].update(steps=[])),
    "a model in the middle": scaled(lambda h, a: h["pipeline"]["params"]["steps"].reverse()),
    "pipelines without end": scaled(bomb),
    "a cache of pickles": scaled(lambda h, a: h["pipeline"]["params"].update(memory="cache")),
    "an unknown output": scaled(lambda h, a: first(h).update(output={"pairs": [["transform", "os"]]})),
    "no version": scaled(lambda h, a: h.update(sklearn="; rm")),
    "a model of another class": scaled(
        lambda h, a: h["pipeline"]["params"]["steps"][1]["tuple"][1].update({"class": "KernelPerceptron"})),
    "no arrays of the model": scaled(
        lambda h, a: h["pipeline"]["params"]["steps"][1]["tuple"][1]["fitted"].update(arrays="none.")),
    "infrequent categories that are not there": coded(
        array(lambda h: fitted(h)["_infrequent_indices"][0], whole=np.array([10**6]))),
    "infrequent categories before the first": coded(
        array(lambda h: fitted(h)["_infrequent_indices"][0], whole=np.array([-1]))),
    "the same infrequent category twice": coded(
        array(lambda h: fitted(h)["_infrequent_indices"][0], whole=np.array([1, 1]))),
    "infrequent categories that nobody asked for": coded(lambda h, a: params(h).clear()),
    "groups of categories": coded(lambda h, a: fitted(h).update(_default_to_infrequent_mappings=[[7], None, None])),
    "categories twice": coded(lambda h, a: fitted(h)["categories_"][0].update(objects=["a", "a"], shape=[2])),
    "no categories": coded(lambda h, a: fitted(h)["categories_"][0].update(objects=[], shape=[0])),
    "lists as categories": coded(lambda h, a: fitted(h)["categories_"][0].update(objects=[["a"], ["b"]], shape=[2])),
    "categories of a shape without end": coded(lambda h, a: fitted(h)["categories_"][0].update(shape=[2**62, 2**62])),
    "categories of one column": coded(lambda h, a: fitted(h)["categories_"].pop()),
    "strings of a width without end": coded(
        lambda h, a: fitted(h)["categories_"].__setitem__(0, {"strings": ["a"], "shape": [1], "width": 2**40})),
    "a category to drop that is not there": coded(lambda h, a: params(h).update(drop=["x", "y", "z"])),
    "a type that is code": coded(lambda h, a: params(h).update(dtype={"type": "builtins.eval"})),
    "a type of objects": coded(lambda h, a: params(h).update(dtype={"dtype": "O"})),
    "negative columns": chosen(columns([-4])),
    "columns that are not there": chosen(columns([0, 3])),
    "columns of another number": chosen(columns([0])),
    "columns that are a number of steps": chosen(columns({"slice": [0, 2, 0]})),
    "columns that are lists": chosen(columns([[0], [1]])),
    "columns that are numbers and names": chosen(columns([0, "a"])),
    "a mask of other columns": chosen(columns([True, True])),
    "columns by name where there are none": chosen(columns(["a", "b"])),
    "names that are not there": named(columns(["a", "d"])),
    "a width that is not": chosen(lambda h, a: fitted(h).update(widths=[10**6])),
    "no fitted transformers": chosen(lambda h, a: fitted(h).update(members=[], widths=[])),
    "a transformer that does not transform": chosen(
        lambda h, a: params(h)["transformers"][0]["tuple"].__setitem__(1, "remove")),
    "names of any width": chosen(
        lambda h, a: params(h).update(verbose_feature_names_out="{feature_name:>10000000000}")),
    "very many processes": chosen(lambda h, a: params(h).update(n_jobs=10**6)),
    "a weight that is a word": chosen(lambda h, a: params(h).update(transformer_weights={"pairs": [["one", "x"]]})),
    "words for numbers": filled(lambda h, a: fitted(h).update(statistics_={"objects": ["a"] * 3, "shape": [3]})),
    "an indicator of other columns": filled(
        array(lambda h: fitted(h)["indicator_"]["fitted"]["features_"], whole=np.array([0, 7]))),
    "an indicator of columns before the first": filled(
        array(lambda h: fitted(h)["indicator_"]["fitted"]["features_"], whole=np.array([-1, 0]))),
    "no indicator": filled(lambda h, a: fitted(h).update(indicator_=None)),
    "a scaler for an indicator": filled(lambda h, a: fitted(h)["indicator_"].update({"class": "StandardScaler"})),
    "names that end before they begin": worded(
        array(lambda h: dict(fitted(h)["columns_"]["fitted"]["arrays"]["pairs"])["ends"], first=9)),
    "names that are hashed": worded(lambda h, a: params(h).update(bits=5)),
    "text that is not fitted": worded(lambda h, a: fitted(h).clear()),
    "a parameter of texts out of its domain": worded(lambda h, a: params(h).update(words={"tuple": [1, 10**9]})),
    "thresholds backwards": calibrated(lambda h, a: a.update({
        (name := pair(h)["calibrators"][0]["fitted"]["X_thresholds_"]["array"]): a[name][::-1].copy()})),
    "probabilities above 1": calibrated(
        array(lambda h: pair(h)["calibrators"][0]["fitted"]["y_thresholds_"], first=1.5)),
    "a threshold of NaN": calibrated(
        array(lambda h: pair(h)["calibrators"][0]["fitted"]["X_thresholds_"], first=np.nan)),
    "too few calibrators": calibrated(lambda h, a: pair(h)["calibrators"].pop()),
    "no pairs": calibrated(lambda h, a: h["pipeline"]["fitted"].update(calibrated_classifiers_=[])),
    "other classes": calibrated(lambda h, a: pair(h)["classes"].update(strings=["a", "b", "c"])),
    "classes that are fewer": calibrated(
        lambda h, a: h["pipeline"]["fitted"]["classes_"].update(strings=["low", "top"], shape=[2])),
    "a model that is not there": calibrated(lambda h, a: pair(h).update(estimator=None)),
    "another method": calibrated(lambda h, a: h["pipeline"]["params"].update(method="sigmoid")),
    "a scaler that is calibrated": calibrated(lambda h, a: pair(h).update(estimator={
        "class": "Normalizer", "params": {}, "fitted": {"n_features_in_": 3}})),
    "a calibrated one that is calibrated": calibrated(
        lambda h, a: pair(h).update(estimator=copy.deepcopy(h["pipeline"]))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_pipeline_is_refused(name, path):
    model, change = CASES[name]
    forge(model, path, change)
    with pytest.raises(ModelFileError, match=str(path)) as refused:
        perceptrons.load(path)
    assert "\n" not in str(refused.value)


def test_sound_files_of_these_models_load(path):
    for made in (scaled, coded, chosen, named, filled, worded, calibrated):
        forge(made(None)[0], path, lambda header, arrays: None)
        perceptrons.load(path)


@pytest.mark.parametrize("name", ["columns by name", *slow(*(name for name in PIPELINES if name != "columns by name"))])
def test_forged_files_are_refused_or_used(name, path, monkeypatch):
    """As `python -m tools.fuzz_models`, which tries many more."""
    monkeypatch.setattr(fuzz_models, "ALL", {name: PIPELINES[name]})
    cases = fuzz_models.begin(path.parent)
    for seed in range(12):
        quietly(cases(np.random.default_rng(seed)).use)


def test_a_tiny_file_of_very_many_terms_is_refused(path):
    model = make_pipeline(PolynomialFeatures(2)).fit(X)
    forge(model, path, lambda h, a: params(h).update(degree=1000, interaction_only=False))
    assert perceptrons.load(path)[0].n_output_features_ > 1e8
    forge(model, path, lambda h, a: (params(h).update(degree=900), fitted(h).update(n_features_in_=900)))
    with pytest.raises(ModelFileError, match="fewer terms than 64 bits can count"):
        perceptrons.load(path)
    forge(model, path, lambda h, a: (params(h).update(degree=3), fitted(h).update(n_features_in_=10_000)))
    with pytest.raises(ModelFileError, match=r"166,766,685,001 columns.*PERCEPTRONS_MODEL_BYTES"):
        perceptrons.load(path)


def test_a_header_of_lists_without_end_is_refused(path):
    depth = 100_000
    path.write_bytes(modelfile.sealed('{"class": "Pipeline", "pipeline": ' + "[" * depth + "]" * depth + "}", {}))
    with pytest.raises(ModelFileError, match="recursion"):
        perceptrons.load(path)
