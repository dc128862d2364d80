"""Files of pipelines with a right checksum that were made to run code, to fill memory, or to index out of range."""

import io
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import SparseRandomProjection

import perceptrons
from perceptrons import HashedText, ModelFileError, Perceptron, modelfile
from perceptrons.modelfile import pipeline
from tests.modelfile.pipelines import TWO, WORDS, X, quietly
from tests.support.tiers import slow
from tools import fuzz_models
from tools.forging_pipelines import PIPELINES, SkopsFile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pipeline.perceptron"


def forge(model, path, change):
    """Save a pipeline whose skops file was changed on purpose; the checksum is right."""
    header, arrays = pipeline.contents(model)
    file = SkopsFile.of(arrays["skops"])
    change(header, file)
    path.write_bytes(modelfile.sealed(json.dumps(header), {"skops": file.content()}))


def scaled():
    return make_pipeline(StandardScaler(), Perceptron(max_iter=2)).fit(X, TWO)


def steps(file):
    return [step["content"][1] for step in file.schema["content"]["content"]["steps"]["content"]]


def attributes(node):
    return node["content"]["content"]


def plain(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


def node(loader, module, name, **others):
    return {"__loader__": loader, "__module__": module, "__class__": name, **others}


def scaler_with(**nodes):
    return lambda header, file: attributes(steps(file)[0]).update(nodes)


EMPTY = node("DictNode", "builtins", "dict", content={}, key_types=node("ListNode", "builtins", "list", content=[]))
NOTHING = node("TupleNode", "builtins", "tuple", content=[])
OTHERS = {
    "a class that is not trusted": scaler_with(copy=node("ObjectNode", "sklearn.svm._classes", "SVC", content=EMPTY)),
    "a class of the system": scaler_with(copy=node("ObjectNode", "subprocess", "Popen", content=EMPTY)),
    "a helper that is imported": scaler_with(copy=node("ObjectNode", "sklearn.pipeline", "_raise_for_params")),
    "a function of the system": scaler_with(copy=node("FunctionNode", "os", "system")),
    "a function behind a trusted module": scaler_with(copy=node("FunctionNode", "sklearn.pipeline", "clone")),
    "a function of builtins as a type": scaler_with(copy=node("TypeNode", "builtins", "eval")),
    "a method": scaler_with(copy=node("MethodNode", "sklearn.pipeline", "Pipeline", content={"func": "fit"})),
    "a partial": scaler_with(copy=node("PartialNode", "functools", "partial", content={})),
    "a call": scaler_with(copy=node("ConstructorFromReduceNode", "pathlib", "PosixPath", content=NOTHING)),
    "an operator": scaler_with(copy=node("OperatorFuncNode", "operator", "methodcaller", attrs=NOTHING)),
    "an unknown node": scaler_with(copy=node("EvilNode", "os", "system")),
    "a cache of pickles": lambda header, file: attributes(file.schema).update(memory=plain("cache")),
    "another class at the top": lambda header, file: header.update({"class": "GridSearchCV"}),
    "a scaler at the top": lambda header, file: setattr(file, "schema", file.schema | steps(file)[0]),
    "a list at the top": lambda header, file: setattr(file, "schema", file.schema | plain([1])),
    "no version": lambda header, file: header.update(sklearn="; rm"),
    "no steps": lambda header, file: attributes(file.schema).pop("steps"),
    "an array that is not there": lambda header, file: file.entries.pop(next(iter(file.entries))),
    "an array of objects": lambda header, file: file.entries.update(dict.fromkeys(file.entries, pickled())),
    "a compressed entry": lambda header, file: setattr(file, "compression", zipfile.ZIP_DEFLATED),
    "no schema": lambda header, file: setattr(file, "schema", None),
    "a stored model of another class": lambda header, file: stored(file).update(name=plain("KernelPerceptron")),
    "a stored model that is none": lambda header, file: stored(file).update(name=plain("StandardScaler")),
    "a stored model without a header": lambda header, file: stored(file).update(header=plain("{}")),
    "a stored model with infinite parameters": lambda header, file: stored(file).update(
        header=plain(json.loads(stored(file)["header"]["content"]).replace('"eta0": 1.0', '"eta0": Infinity'))
    ),
    "arrays of a stored model that are none": lambda header, file: stored(file).update(arrays=plain([1])),
    "a model with a learner of its own": lambda header, file: steps(file)[1].update(
        node("ObjectNode", "perceptrons.linear", "Perceptron", content=EMPTY | {"content": {"_learner": EMPTY}})
    ),
}  # fmt: skip


def pickled():
    buffer = io.BytesIO()
    np.save(buffer, np.array([print], object), allow_pickle=True)
    return buffer.getvalue()


def stored(file):
    return attributes(steps(file)[1])


@pytest.mark.parametrize("name", OTHERS)
def test_a_hostile_pipeline_is_refused(name, path):
    forge(scaled(), path, OTHERS[name])
    with pytest.raises(ModelFileError, match=str(path)) as refused:
        perceptrons.load(path)
    assert "\n" not in str(refused.value)


def test_a_sound_file_loads(path):
    forge(scaled(), path, lambda header, file: None)
    assert np.array_equal(perceptrons.load(path).predict(X), scaled().predict(X))


def test_sparse_arrays_with_columns_that_are_not_there_are_refused(path):
    model = make_pipeline(SparseRandomProjection(2, random_state=0)).fit(X)
    forge(model, path, lambda header, file: None)
    perceptrons.load(path)

    def change(header, file):
        name = next(name for name in file.entries if name.endswith(".npz"))
        buffer = io.BytesIO()
        forged = sp.csr_matrix(([1.0, 1.0], [0, 10**6], [0, 1, 2]), shape=(2, 10**7))
        sp.save_npz(buffer, forged, compressed=False)
        content = dict(np.load(io.BytesIO(buffer.getvalue())))
        np.savez(packed := io.BytesIO(), **content | {"shape": np.array([2, 3])})
        file.entries[name] = packed.getvalue()

    forge(model, path, change)
    with pytest.raises(ModelFileError):
        perceptrons.load(path)


@pytest.mark.parametrize("number", [-1, 10**9, 0])
def test_a_vocabulary_with_columns_that_are_not_there_is_refused(number, path):
    model = make_pipeline(TfidfVectorizer()).fit(WORDS)

    def change(header, file):
        words = attributes(steps(file)[0])["vocabulary_"]["content"]
        words[max(words, key=lambda word: json.loads(words[word]["content"]) if word != number else -1)] = plain(number)

    forge(model, path, change)
    with pytest.raises(ModelFileError, match="vocabulary"):
        perceptrons.load(path)


def test_names_of_columns_that_do_not_fit_are_refused(path):
    model = make_pipeline(HashedText(bits=None)).fit(WORDS)
    for forged in ({"bits": plain(5)}, {"columns_": plain(None)}, {"columns_": EMPTY}, {"words": plain([1, 10**9])}):
        forge(model, path, lambda header, file, forged=forged: attributes(steps(file)[0]).update(forged))
        with pytest.raises(ModelFileError):
            perceptrons.load(path)


def test_very_many_processes_are_refused(path):
    model = make_pipeline(FeatureUnion([("a", StandardScaler())], n_jobs=1)).fit(X)
    forge(model, path, lambda header, file: attributes(steps(file)[0]).update(n_jobs=plain(10**6)))
    with pytest.raises(ModelFileError, match="n_jobs"):
        perceptrons.load(path)


def test_objects_that_are_nested_very_deep_are_refused(path):
    nested = plain(1)
    for _ in range(300):
        nested = node("ListNode", "builtins", "list", content=[nested])
    forge(scaled(), path, lambda header, file: attributes(steps(file)[0]).update(copy=nested))
    with pytest.raises(ModelFileError, match="nested"):
        perceptrons.load(path)
    deep = []
    for _ in range(300):
        deep = [deep]
    model = scaled()
    model[0].copy = deep
    with pytest.raises(ValueError, match="nested"):
        perceptrons.save(model, path)


@pytest.mark.parametrize("name", ["columns by name", *slow(*(name for name in PIPELINES if name != "columns by name"))])
def test_forged_files_are_refused_or_used(name, path, monkeypatch):
    """As `python -m tools.fuzz_models`, which tries many more."""
    monkeypatch.setattr(fuzz_models, "ALL", {name: PIPELINES[name]})
    cases = fuzz_models.begin(path.parent)
    for seed in range(12):
        quietly(cases(np.random.default_rng(seed)).use)


def test_a_header_of_lists_without_end_is_refused(path):
    depth = 100_000
    path.write_bytes(modelfile.sealed('{"class": "Pipeline", "pipeline": ' + "[" * depth + "]" * depth + "}", {}))
    with pytest.raises(ModelFileError, match="recursion"):
        perceptrons.load(path)
