"""Files with a right checksum that were made to corrupt memory, to fill it, or to hang whoever loads them."""

import io
import os
import resource
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import perceptrons
import perceptrons.data
from perceptrons import FeatureTemplates, KernelPerceptron, ModelFileError, Perceptron, SequencePerceptron
from tests.conftest import ROOT
from tests.modelfile.test_modelfile import forge

WORDS = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
TAGS = [["DET", "NOUN", "VERB"]] * 2


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.perceptron"


def named(kind):
    model = kind()
    for k in range(6):
        model.learn_one({f"f{k}": 1.0, "one": 1.0}, "ab"[k % 2])
    return model


def repeated(header, arrays):
    """As many different names as features, but the last one again and again: its last place is beyond all weights."""
    header["features"] += header["features"][-1:] * 1000


def one_for_all(header, arrays):
    header["features"] = ["x"] * len(header["features"])


@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
@pytest.mark.parametrize("change", [repeated, one_for_all])
def test_feature_names_are_as_many_as_features_and_differ(kind, change, path):
    forge(named(kind), path, change)
    with pytest.raises(ModelFileError, match="feature names"):
        perceptrons.load(path)


@pytest.mark.parametrize("value", [5e-324, 1e-40, 1e200])
def test_a_budget_that_is_projected_onto_next_to_nothing_is_refused(value, path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = KernelPerceptron(budget=4, on_full="project").fit(X, np.arange(30) % 3)
    forge(model, path, lambda h, a: a["inner"].__setitem__((1, 1), value))
    with pytest.raises(ModelFileError, match="Cholesky factor"):
        perceptrons.load(path)


def test_a_model_of_texts_without_the_names_of_its_columns_is_refused(path):
    texts = io.StringIO("spam\tbuy now\nham\tsee you\n")
    model = Perceptron().fit_stream(perceptrons.data.stream(texts, format="text"))
    forge(model, path, lambda h, a: (h.update(columns=None), [a.pop(name) for name in list(a) if "columns_" in name]))
    with pytest.raises(ModelFileError, match="names of columns"):
        perceptrons.load(path)


@pytest.mark.parametrize("part", ["coef", "inner"])
def test_a_budget_whose_coefficients_or_kernel_values_overflow_when_forgotten_is_refused(part, path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = KernelPerceptron(budget=4, on_full="forget_oldest").fit(X, np.arange(30) % 3)
    forge(model, path, lambda h, a: a[part].__setitem__((0, 0), 1e300))
    with pytest.raises(ModelFileError, match="forgetting"):
        perceptrons.load(path)


@pytest.mark.slow
def test_repeated_names_never_become_places_outside_the_weights(path):
    """100,000 of them corrupted the heap, a million ended the process."""
    forge(named(Perceptron), path, repeated)
    script = f"""
import perceptrons
try:
    model = perceptrons.load({str(path)!r})
except perceptrons.ModelFileError:
    raise SystemExit(0)
for k in range(100):
    model.learn_one({{"f5": 1.0}}, "ab"[k % 2])
"""
    environment = os.environ | {"PERCEPTRONS_BOUNDSCHECK": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def tagger(**more):
    return SequencePerceptron(templates=FeatureTemplates(["word[0]", "word[-1]"]), **more).fit(WORDS, TAGS)


HOSTILE_TEMPLATES = {
    "a range four times": ["|".join(["word[-1000..1000]"] * 4)],
    "ranges in ranges": ["prefix(suffix(prefix(word, 1..1000), 1..1000), 1..1000)"],
    "very many texts": ["word[-1000..1000]"] * 100_000,
    "a text without end": ["|".join(["word"] * 100_000)],
}


@pytest.mark.parametrize("case", HOSTILE_TEMPLATES)
def test_templates_are_counted_before_they_are_made(case, path):
    forge(tagger(), path, lambda h, a: h["parameters"]["templates"].update(templates=HOSTILE_TEMPLATES[case]))
    with pytest.raises(ModelFileError, match="template"):
        perceptrons.load(path)


def idle(step, bits):
    """A change that makes a model one of 2**bits features, of which two have weights."""

    def change(header, arrays):
        header["n_features"] = 2**bits
        arrays["live"] = np.array([3, 2**bits - 1])
        for name in ("w", "late_w", "sigma_w"):
            if name in arrays:
                arrays[name] = np.ascontiguousarray(arrays[name][:, :2])

    return change


@pytest.mark.parametrize("step", ["constant", "arow"])
def test_a_tiny_file_of_very_many_features_is_refused_with_the_memory_it_asks_for(step, path):
    model = Perceptron(step=step).fit(sp.csr_matrix(np.eye(4, 10)), ["a", "b", "a", "b"])
    forge(model, path, idle(step, 28))
    assert path.stat().st_size < 10_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError, match=r"268,435,456 features.*GB of memory.*PERCEPTRONS_MODEL_BYTES"):
        perceptrons.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_whoever_trusts_a_file_can_allow_it_more_memory_or_less(path, monkeypatch):
    model = Perceptron().fit(sp.csr_matrix(np.eye(4, 10)), ["a", "b", "a", "b"])
    forge(model, path, idle("constant", 20))
    assert perceptrons.load(path).n_features_in_ == 2**20
    monkeypatch.setenv("PERCEPTRONS_MODEL_BYTES", "1000000")
    with pytest.raises(ModelFileError, match=r"may take only 1\.0 MB"):
        perceptrons.load(path)


def test_a_tagger_of_very_many_hashed_features_is_refused_with_the_memory_it_asks_for(path):
    def many(header, arrays):
        header["parameters"]["hash_bits"], header["n_features"] = 30, 2**30

    forge(tagger(hash_bits=10), path, many)
    with pytest.raises(ModelFileError, match=r"1,073,741,824 features.*GB of memory"):
        perceptrons.load(path)


def test_one_long_class_does_not_make_all_classes_long(path):
    model = Perceptron().fit(np.eye(3), ["a", "b", "c"])
    classes = [f"{k:05d}" for k in range(20_000)]
    classes[-1] += "x" * 100_000
    forge(model, path, lambda h, a: h.update(classes=classes))
    with pytest.raises(ModelFileError, match=r"classes as long as the longest.*GB of memory"):
        perceptrons.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_or_a_device_is_refused_at_once(tmp_path, refused):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/null"):
        with pytest.raises(ModelFileError, match="pipe or a device"):
            perceptrons.load(path)
    assert "pipe or a device" in refused("inspect", pipe)


LINEAR = {
    "mistakes without end": lambda h, a: h["report"]["history_"][0].update(mistakes=1e300),
    "more mistakes than 64 bits count": lambda h, a: h["report"]["history_"][0].update(mistakes=10**30),
    "more epochs than 64 bits count": lambda h, a: h.update(epochs=2**63 - 1),
    "not a number in the history": lambda h, a: h["report"]["history_"][0].update(loss=float("nan")),
    "infinity in the history": lambda h, a: h["report"]["history_"][0].update(examples=-float("inf")),
    "a scale that all weights vanish in": lambda h, a: a["clock"].__setitem__((0, 2), 5e-324),
    "votes without first weights": lambda h, a: (a.pop("start_w"), a.pop("start_b")),
    "a recipe of reading without format": lambda h, a: h.update(source={}),
    "columns of a recipe that are none": lambda h, a: h.update(source={"format": "csv", "categories": 3}),
    "a number among columns": lambda h, a: h.update(source={"format": "csv", "numbers": [3]}),
    "text that is none": lambda h, a: h.update(source={"format": "text", "text": 3.5}),
    "text of unknown parameters": lambda h, a: h.update(source={"format": "text", "text": {"evil": 1}}),
    "n-grams of words without end": lambda h, a: h.update(source={"format": "text", "text": {"words": [1, 10**9]}}),
    "progress that goes backwards": lambda h, a: h.update(progress=[[-1, 0]]),
}


@pytest.mark.parametrize("case", LINEAR)
def test_what_the_fuzzer_found_is_refused_in_one_line(case, path, refused):
    """These loaded, and then `predict`, `save`, `repr` or `perceptrons inspect` ended with a traceback."""
    forge(Perceptron(combine="vote", max_iter=3).fit(np.eye(3), ["a", "b", "c"]), path, LINEAR[case])
    with pytest.raises(ModelFileError, match="do not fit together"):
        perceptrons.load(path)
    assert str(path) in refused("inspect", path)


@pytest.mark.parametrize("array", ["late_w", "late_arcs"])
def test_a_tagger_whose_averages_are_not_finite_is_refused(array, path):
    forge(tagger(), path, lambda h, a: a.update({array: np.full_like(a[array], 1e300)}))
    with pytest.raises(ModelFileError, match="finite averages"):
        perceptrons.load(path)


def test_names_that_came_more_often_than_can_be_counted_are_refused(path):
    text = io.StringIO("spam\tbuy now\nham\tsee you\n")
    model = Perceptron().fit_stream(perceptrons.data.stream(text, format="text", hash_bits=0))
    forge(model, path, lambda h, a: a.update(columns_counts=np.full_like(a["columns_counts"], 2**63 - 1)))
    with pytest.raises(ModelFileError, match="more often than can be counted"):
        perceptrons.load(path)
    forge(model, path, lambda h, a: h.update(source=None))
    with pytest.raises(ModelFileError, match="how files were read"):
        perceptrons.load(path)
