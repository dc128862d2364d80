"""Files with a right checksum that were made to corrupt memory, to fill it, or to hang whoever loads them."""

import json
import os
import resource
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import perceptrons
from perceptrons import FeatureTemplates, KernelPerceptron, ModelFileError, Perceptron, SequencePerceptron, modelfile
from tests.conftest import ROOT

WORDS = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
TAGS = [["DET", "NOUN", "VERB"]] * 2


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.perceptron"


def forge(model, path, change):
    """A file whose checksum is right but whose contents were changed on purpose."""
    header, arrays = modelfile.KINDS[type(model).__name__].contents(model)
    change(header, arrays)
    path.write_bytes(modelfile.sealed(json.dumps(header), arrays))


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
    with pytest.raises(ModelFileError, match=r"may take 1\.0 MB"):
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
