"""Model files: exact, atomic, and safe against broken and hostile ones."""

import json
import os
import struct
from types import MappingProxyType

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors.numpy import save as to_bytes

import perceptrons
from perceptrons import ModelFileError, Perceptron, modelfile
from tests.conftest import as_csr, as_numbers, whole_numbers


@pytest.fixture
def model(rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    return Perceptron(max_iter=3, class_weight={"a": 2.0}).fit(X, np.array(["a", "b", "c"])[y])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.perceptron"


def parts(path):
    """The header length, the header and the bytes of a safetensors file."""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def rebuilt(header, content):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


@pytest.mark.parametrize("combine", ["average", "last", "vote", "pocket"])
@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("sparse", [False, True])
def test_everything_comes_back(combine, k, sparse, path, rng, dtype):
    X, y = whole_numbers(rng, 60, 5, max(k, 2))
    X = X.astype(dtype)
    X = as_csr(X) if sparse else X
    model = Perceptron(combine=combine, max_iter=3, random_state=4)
    model = model.partial_fit(X, 0 * y) if k == 1 else model.fit(X, y)
    perceptrons.save(model, path)
    loaded = perceptrons.load(path)
    assert loaded.get_params() == model.get_params()
    for name, array in model._learner.weights.arrays.items():
        assert np.array_equal(array, loaded._learner.weights.arrays[name]), name
        assert array.dtype == loaded._learner.weights.arrays[name].dtype
    assert [row | {"seconds": None} for row in model.history_] == loaded.history_  # the same seed, the same bytes
    for name in ("n_iter_", "stop_reason_", "converged_", "t_", "n_updates_", "n_features_in_"):
        assert getattr(model, name) == getattr(loaded, name), name
    assert np.array_equal(model.mistakes_, loaded.mistakes_)
    assert np.array_equal(model.classes_, loaded.classes_)
    assert np.array_equal(model.decision_function(X), loaded.decision_function(X))


def test_the_same_seed_gives_the_same_bytes(path, rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    perceptrons.save(Perceptron(max_iter=3).fit(X, y), path)
    first = path.read_bytes()
    perceptrons.save(Perceptron(max_iter=3).fit(X, y), path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("step", ["constant", "arow"])
def test_idle_columns_are_left_out_and_come_back(step, path, rng):
    X = sp.random(200, 100_000, 0.0001, format="csr", random_state=1)
    y = rng.integers(0, 3, 200)
    model = Perceptron(max_iter=3, step=step).fit(X, y)
    perceptrons.save(model, path)
    assert path.stat().st_size < 400_000
    loaded = perceptrons.load(path)
    for name, array in model._learner.weights.arrays.items():
        assert np.array_equal(array, loaded._learner.weights.arrays[name]), name
    model.partial_fit(X, y)
    assert np.array_equal(loaded.partial_fit(X, y).coef_last_, model.coef_last_)


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix])
def test_zeros_keep_their_sign_and_matrices_their_order_in_memory(rows, path, rng):
    """Even where most columns are idle. A model whose only class turns out to be the negative one is negated."""
    X = np.zeros((40, 100))
    X[:, :9] = rng.standard_normal((40, 9)).round()
    model = Perceptron(combine="last").partial_fit(rows(X[:10]), ["b"] * 10).partial_fit(rows(X[10:]), ["a", "b"] * 15)
    arrays = [as_numbers(array) for array in model._learner.weights.arrays.values()]
    assert not any(np.signbit(array[array == 0]).any() for array in arrays)
    model._learner.weights.arrays["w"][0, 50] = -0.0  # as a product of small numbers would be
    perceptrons.save(model, path)
    loaded = perceptrons.load(path)._learner.weights.arrays
    for name, array in model._learner.weights.arrays.items():
        assert loaded[name].tobytes("A") == array.tobytes("A"), name
        assert loaded[name].flags.c_contiguous == array.flags.c_contiguous, name


@pytest.mark.parametrize("labels", [[3, 8], [-1.0, 1.0], [False, True], ["ham", "späm"], np.array(["x", "y"], object)])
def test_labels_of_every_kind_come_back(labels, path):
    model = Perceptron().fit([[0.0], [1.0]], labels)
    perceptrons.save(model, path)
    loaded = perceptrons.load(path)
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.classes_.dtype == model.classes_.dtype
    assert type(loaded.predict_one([1.0])) is type(model.predict_one([1.0]))


def test_feature_names_come_back_and_grow_on(path):
    model = Perceptron().learn_one({"a": 1, "é": 2}, "x").learn_one({"b": 1}, "y")
    perceptrons.save(model, path)
    loaded = perceptrons.load(path)
    assert loaded.feature_names_in_.tolist() == ["a", "é", "b"]
    for either in (model, loaded):
        either.learn_one({"new": 3, "b": 1}, "z")
    assert np.array_equal(model.coef_, loaded.coef_)
    assert np.array_equal(model.coef_average_, loaded.coef_average_)


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    perceptrons.save(model, tmp_path / "one")
    perceptrons.save(model, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_random_state_object_is_saved_as_its_seed(path):
    model = Perceptron(random_state=np.random.RandomState(3), warm_start=True, max_iter=2, tol=None)
    X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.5]], [0, 1, 0, 1]
    model.fit(X, y)
    perceptrons.save(model, path)
    loaded = perceptrons.load(path).fit(X, y)
    assert np.array_equal(loaded.coef_last_, model.fit(X, y).coef_last_)


def test_no_file_is_left_behind_when_writing_fails(model, path, monkeypatch):
    path.write_text("precious")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        perceptrons.save(model, path)
    assert path.read_text() == "precious"
    assert os.listdir(path.parent) == [path.name]


def test_saving_replaces_the_old_file_and_honours_the_umask(model, path):
    path.write_text("old")
    perceptrons.save(model, path)
    assert perceptrons.load(path).predict_one([0.0] * 5) in model.classes_
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_an_unfitted_model_or_something_else_is_not_saved(path):
    with pytest.raises(ValueError, match="not fitted"):
        perceptrons.save(Perceptron(), path)
    with pytest.raises(TypeError, match="not str"):
        perceptrons.save("model", path)
    assert not path.exists()


def test_every_truncation_is_found(model, path):
    perceptrons.save(model, path)
    content = path.read_bytes()
    for length in [*range(0, 200, 7), len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            perceptrons.load(path)


def test_every_flipped_bit_is_found(model, path):
    perceptrons.save(model, path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in [0, 8, 9, len(content) - 1, *rng.integers(0, len(content), 300)]:
        altered = bytearray(content)
        altered[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(altered))
        with pytest.raises(ModelFileError):
            perceptrons.load(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04K\x01.", b"\xff" * 100, b"PK\x03\x04" + b"0" * 60])
def test_files_of_another_kind_are_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="not a model file"):
        perceptrons.load(path)


def test_other_safetensors_files_folders_and_missing_files(path, tmp_path):
    path.write_bytes(to_bytes({"w": np.zeros(3)}))
    with pytest.raises(ModelFileError, match="not a model of perceptrons"):
        perceptrons.load(path)
    with pytest.raises(ModelFileError, match="folder"):
        perceptrons.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        perceptrons.load(tmp_path / "missing")


def test_a_later_format_is_refused_by_name(model, path):
    perceptrons.save(model, path)
    header, content = parts(path)
    seal = json.loads(header["__metadata__"]["perceptrons"])
    header["__metadata__"]["perceptrons"] = json.dumps({**seal, "format": 3})
    path.write_bytes(rebuilt(header, content))
    with pytest.raises(ModelFileError, match=r"version 3, but.*reads version 2"):
        perceptrons.load(path)


def forge(model, path, change):
    """A file whose checksum is right but whose contents were changed on purpose."""
    header, arrays = modelfile.kind_of(model).contents(model)
    change(header, arrays)
    path.write_bytes(modelfile.sealed(json.dumps(header), arrays))


HOSTILE = {
    "another class": lambda h, a: h.update({"class": "os.system"}),
    "a class to import": lambda h, a: h.update({"class": "subprocess.Popen"}),
    "unknown parameter": lambda h, a: h["parameters"].update(evil=1),
    "parameter out of range": lambda h, a: h["parameters"].update(eta0=-1),
    "parameter missing": lambda h, a: h.pop("parameters"),
    "weights of the wrong shape": lambda h, a: a.update(w=np.zeros((3, 4))),
    "weights of the wrong type": lambda h, a: a.update(w=np.zeros((3, 5), np.int64)),
    "columns beyond the model": lambda h, a: a.update(live=np.array([0, 1, 2, 3, 9])),
    "columns out of order": lambda h, a: a.update(live=np.array([0, 2, 1, 3, 4])),
    "columns of the wrong type": lambda h, a: a.update(live=np.arange(5.0)),
    "more columns than memory": lambda h, a: (h.update(n_features=2**60), a.update(live=np.arange(5))),
    "a recipe that is none": lambda h, a: h.update(source=["rm", "-rf"]),
    "names of other columns": lambda h, a: h.update(columns={"bits": 3}),
    "progress that is none": lambda h, a: h.update(progress=[["a", "b"]]),
    "weights with nan": lambda h, a: a.update(w=np.full((3, 5), np.nan)),
    "weights missing": lambda h, a: a.pop("w"),
    "bias of the wrong shape": lambda h, a: a.update(b=np.zeros(9)),
    "average missing": lambda h, a: a.pop("late_w"),
    "no classes": lambda h, a: h.update(classes=[]),
    "classes as objects": lambda h, a: h.update(classes_dtype="O,O"),
    "huge feature count": lambda h, a: h.update(n_features=2**62),
    "names that do not fit": lambda h, a: h.update(features=["a"]),
    "a random state of another kind": lambda h, a: h["orders"].update(bit_generator="MT19937"),
    "a random state that is none": lambda h, a: h.update(orders="0"),
    "epochs without end": lambda h, a: h.update(epochs=float("inf")),
    "a random state out of range": lambda h, a: h["orders"]["state"].update(state=2**300),
    "classes too large for their type": lambda h, a: h.update(classes=[0, 1, 2**70]),
    "classes that are not sorted": lambda h, a: h.update(classes=[2, 1, 0]),
    "a class twice": lambda h, a: h.update(classes=[0, 1, 1]),
    "classes that are lists": lambda h, a: h.update(classes=[[0], [1], [2]]),
    "classes of a type that eats memory": lambda h, a: h.update(classes_dtype="<U100000000"),
    "a negative number of examples": lambda h, a: a.update(t=np.array([-5.0])),
    "support with nan": lambda h, a: a["support"].__setitem__((0, 0), np.nan),
    "support of another type": lambda h, a: a.update(support=a["support"].astype(np.int8)),
    "history of another kind": lambda h, a: h["report"].update(history_="abc"),
    "history without its columns": lambda h, a: h["report"].update(history_=[{}] * 3),
    "a number of epochs that is none": lambda h, a: h["report"].update(n_iter_="abc"),
    "an unknown reason": lambda h, a: h["report"].update(stop_reason_={"evil": 1}),
    "early stopping without accuracies": lambda h, a: h["report"].update(stop_reason_="early_stopping"),
    "an unknown start": lambda h, a: h.update(init="evil"),
    "a seed that is none": lambda h, a: h["parameters"].update(random_state="zzz"),
    "report missing": lambda h, a: h.update(report={}),
    "header is a list": lambda h, a: h.clear(),
    "log with a foreign support example": lambda h, a: a["log"].__setitem__((0, 1), 1e9),
    "log with a negative support example": lambda h, a: a["log"].__setitem__((0, 1), -1),
    "log with a foreign class": lambda h, a: a["log"].__setitem__((0, 2), 77),
    "support of another shape": lambda h, a: a.update(support=np.zeros((1, 1))),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_contents_with_a_right_checksum_are_refused(case, path, rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    model = Perceptron(combine="vote", max_iter=3).fit(X, y)
    forge(model, path, HOSTILE[case])
    with pytest.raises(ModelFileError, match="do not fit together"):
        perceptrons.load(path)


@pytest.mark.parametrize("array", ["support_indices", "support_indptr"])
def test_hostile_sparse_support_is_refused(array, path, rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    model = Perceptron(combine="vote", max_iter=3).fit(as_csr(X), y)
    forge(model, path, lambda h, a: a.update({array: a[array] + 1000}))
    with pytest.raises(ModelFileError, match="do not fit together"):
        perceptrons.load(path)


def test_a_folder_or_device_is_never_replaced(model, tmp_path):
    with pytest.raises(ModelFileError, match="folder or a device"):
        perceptrons.save(model, tmp_path)
    with pytest.raises(ModelFileError, match="folder or a device"):
        perceptrons.save(model, os.devnull)


def test_seals_that_cannot_be_read_are_refused(model, path):
    perceptrons.save(model, path)
    header, content = parts(path)
    for seal in ("[]", "null", '{"format": 1}', '{"format": 1, "header": "\\ud800", "sha256": ""}', "[" * 5000):
        header["__metadata__"]["perceptrons"] = seal
        path.write_bytes(rebuilt(header, content))
        with pytest.raises(ModelFileError):
            perceptrons.load(path)


def test_a_link_is_followed_a_long_name_is_fine_and_a_missing_folder_is_named(model, tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    perceptrons.save(model, link)
    assert link.is_symlink()
    assert perceptrons.load(os.fsencode(target)).n_updates_ == model.n_updates_
    perceptrons.save(model, tmp_path / ("m" * 250))
    with pytest.raises(FileNotFoundError, match="missing"):
        perceptrons.save(model, tmp_path / "missing" / "m")


@pytest.mark.parametrize("labels", [np.array(["a", "b"], np.dtypes.StringDType()), ["a", "bb"]])
def test_every_kind_of_label_that_is_learned_can_be_saved(labels, path):
    model = Perceptron(class_weight=MappingProxyType({"a": 2.0})).fit([[0.0], [1.0]], labels)
    perceptrons.save(model, path)
    assert perceptrons.load(path).predict([[1.0]]).tolist() == [labels[1]]
    with pytest.raises(ValueError, match="Unknown label type"):
        Perceptron().fit([[0.0], [1.0]], np.array([b"a", b"b"]))
