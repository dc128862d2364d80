"""Model files of `StructuredPerceptron`: exact, going on, and safe. What all have in common: test_modelfile.py."""

import pickle

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.exceptions import NotFittedError

import perceptrons
from perceptrons import ModelFileError, StructuredPerceptron
from perceptrons.modelfile import structured
from tests.conftest import gaussian
from tests.modelfile.test_modelfile import forge
from tests.structured.test_structured import assert_same, texts
from tests.support.structures import Chain, Classes, Growing, tagged


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.perceptron"


def reloaded(estimator, path):
    perceptrons.save(estimator, path)
    loaded = perceptrons.load(path)
    assert loaded.model is None
    return loaded.set_params(model=estimator.model)


@pytest.mark.parametrize("options", [{}, {"combine": "last", "margin": 0.5}, {"step": "pa1", "C": 0.1}])
def test_everything_comes_back_and_goes_on(options, path, rng):
    X, y = tagged(rng, 30, 3, 2, whole=False)
    model = StructuredPerceptron(Chain(3, 2), max_iter=2, random_state=4, warm_start=True, **options).fit(X, y)
    loaded = reloaded(model, path)
    assert loaded.get_params() == model.get_params()
    for name in ("n_iter_", "stop_reason_", "converged_"):
        assert getattr(model, name) == getattr(loaded, name), name
    assert [row | {"seconds": None} for row in model.history_] == loaded.history_
    assert_same(model, loaded)
    assert model.predict(X) == loaded.predict(X)
    for either in (model, loaded):
        either.partial_fit(X[:10], y[:10]).learn_one(X[20], y[20]).fit(X, y)
    assert_same(model, loaded)
    assert model.mistakes_.tolist() == loaded.mistakes_.tolist()


def test_a_stream_saved_after_every_block_is_a_stream_never_stopped(path, rng):
    X, y = texts(rng, 60)
    whole = StructuredPerceptron(Growing(["early", "late"])).partial_fit(X[:10], y[:10])
    parts = StructuredPerceptron(Growing(["early", "late"])).partial_fit(X[:10], y[:10])
    for begin in range(10, 60, 10):
        parts = reloaded(parts, path)
        for either in (whole, parts):
            either.partial_fit(X[begin : begin + 10], y[begin : begin + 10])
    assert_same(whole, parts)


def test_five_epochs_a_file_and_five_more_are_ten(path, rng):
    X, y = tagged(rng, 40, 3, 2, whole=False)
    ten = StructuredPerceptron(Chain(3, 2), max_iter=10).fit(X, y)
    five = StructuredPerceptron(Chain(3, 2), max_iter=5, warm_start=True).fit(X, y)
    assert_same(ten, reloaded(five, path).fit(X, y))


def test_the_same_seed_gives_the_same_bytes(tmp_path, rng):
    X, y = tagged(rng, 40, 3, 2, whole=False)
    for name in ("one", "two"):
        model = StructuredPerceptron(Chain(3, 2), max_iter=3, random_state=9).fit(X, y)
        perceptrons.save(model.partial_fit(X[:5], y[:5]), tmp_path / name)
    perceptrons.save(reloaded(model, tmp_path / "three"), tmp_path / "four")
    contents = {(tmp_path / name).read_bytes() for name in ("one", "two", "three", "four")}
    assert len(contents) == 1


def test_weights_of_0_take_no_room(path, rng):
    model = StructuredPerceptron(Classes(3, 10_000)).partial_fit([np.eye(1, 10_000, 7)[0]], [2])
    loaded = reloaded(model, path)
    assert path.stat().st_size < 3000
    assert load_file(path)["where"].tolist() == [7, 20_007]
    assert len(loaded.coef_) == 30_000
    assert_same(model, loaded)


def test_a_weight_whose_average_alone_is_not_0_comes_back(path):
    model = StructuredPerceptron(Classes(2, 1)).partial_fit([[1.0], [-1.0]], [1, 1])
    assert model.coef_last_.tolist() == [0, 0]
    assert model.coef_average_.any()
    assert_same(model, reloaded(model, path))


def test_a_loaded_estimator_says_that_it_needs_its_model(path, rng):
    X, y = gaussian(rng, 20, 2, 3)
    model = StructuredPerceptron(Classes(3, 2)).fit(X, y)
    perceptrons.save(model, path)
    loaded = perceptrons.load(path)
    assert np.array_equal(loaded.coef_, model.coef_)
    for call in (
        lambda: loaded.predict(X),
        lambda: loaded.predict_one(X[0]),
        lambda: loaded.score(X, y),
        lambda: loaded.fit(X, y),
        lambda: loaded.partial_fit(X, y),
        lambda: loaded.learn_one(X[0], y[0]),
    ):
        with pytest.raises(ValueError, match=r"There is no model: .*set_params\(model=...\)"):
            call()
    perceptrons.save(loaded, path)
    loaded = perceptrons.load(path)
    loaded.model = Classes(2, 2)
    with pytest.raises(ValueError, match=r"model.size is 4, but 6 weights were learned"):
        loaded.predict(X)
    loaded.model = model.model
    assert loaded.predict(X) == model.predict(X)


def test_no_code_and_no_object_of_the_model_is_in_the_file(path, rng):
    X, y = gaussian(rng, 20, 2, 3)
    perceptrons.save(StructuredPerceptron(Classes(3, 2)).fit(X, y), path)
    assert b"Classes" not in path.read_bytes()
    assert b"pickle" not in path.read_bytes()


def test_an_unfitted_estimator_and_parameters_that_make_no_sense_cannot_be_saved(path, rng):
    X, y = gaussian(rng, 20, 2, 3)
    model = StructuredPerceptron(Classes(3, 2))
    with pytest.raises(NotFittedError):
        perceptrons.save(model, path)
    with pytest.raises(ValueError, match="margin must be"):
        perceptrons.save(model.fit(X, y).set_params(margin=-1), path)
    assert not path.exists()


def test_a_random_state_object_is_saved_as_its_seed(path, rng):
    X, y = gaussian(rng, 30, 2, 3)
    options = {"warm_start": True, "max_iter": 2}
    model = StructuredPerceptron(Classes(3, 2), random_state=np.random.RandomState(3), **options).fit(X, y)
    loaded = reloaded(model, path)
    assert_same(model.fit(X, y), loaded.fit(X, y))


UNSOUND = {
    "a model": lambda h, a: h["parameters"].update(model="os.system"),
    "no model at all": lambda h, a: h["parameters"].pop("model"),
    "an unknown parameter": lambda h, a: h["parameters"].update(other=1),
    "a parameter outside its domain": lambda h, a: h["parameters"].update(margin=-1),
    "a negative size": lambda h, a: h.update(size=-1),
    "a size below the weights": lambda h, a: h.update(size=3),
    "a size beyond all memory": lambda h, a: h.update(size=2**50),
    "a size beyond all numbers": lambda h, a: h.update(size=10**30),
    "a size that is no number": lambda h, a: h.update(size="6"),
    "a flag as size": lambda h, a: h.update(size=True),
    "a negative number of examples": lambda h, a: h.update(t=-1),
    "half an example": lambda h, a: h.update(t=1.5),
    "more mistakes than examples": lambda h, a: h.update(mistakes=61),
    "more updates than examples": lambda h, a: h.update(updates=61),
    "weights without updates": lambda h, a: h.update(updates=0),
    "negative mistakes": lambda h, a: h.update(mistakes=-1),
    "an index twice": lambda h, a: a.update(where=a["where"] * 0),
    "indices in no order": lambda h, a: a.update(where=a["where"][::-1].copy()),
    "a negative index": lambda h, a: a.update(where=a["where"] - 1),
    "indices of another type": lambda h, a: a.update(where=a["where"].astype(np.int32)),
    "indices in two dimensions": lambda h, a: a.update(where=a["where"][None]),
    "weights of another type": lambda h, a: a.update(w=a["w"].astype(np.float32)),
    "too few weights": lambda h, a: a.update(w=a["w"][:-1]),
    "a NaN": lambda h, a: a.update(w=a["w"] * np.nan),
    "an infinite sum": lambda h, a: a.update(late=a["late"] + np.inf),
    "a weight too large": lambda h, a: a.update(w=a["w"] + 1e200),
    "no sums": lambda h, a: a.pop("late"),
    "a wrong order of the generator": lambda h, a: h.update(orders={"bit_generator": "PCG64"}),
}


@pytest.fixture
def model(rng):
    X, y = gaussian(rng, 30, 2, 3)
    return StructuredPerceptron(Classes(3, 2), max_iter=2).fit(X, y)


@pytest.mark.parametrize("fault", UNSOUND)
def test_an_unsound_file_is_refused(fault, model, path):
    forge(model, path, UNSOUND[fault])
    with pytest.raises(ModelFileError, match="the contents do not fit together"):
        perceptrons.load(path)


def test_a_file_of_more_weights_than_there_is_memory_is_refused(model, path, monkeypatch):
    def no_memory(size, seed):
        raise MemoryError

    perceptrons.save(model, path)
    monkeypatch.setattr(structured, "OutputLearner", no_memory)
    with pytest.raises(ModelFileError, match="there is no memory for 6 weights"):
        perceptrons.load(path)


def test_a_forged_file_of_sound_contents_is_read(model, path):
    forge(model, path, lambda header, arrays: None)
    assert perceptrons.load(path).t_ == 60


def test_pickles_keep_the_model(rng):
    X, y = gaussian(rng, 20, 2, 3)
    model = StructuredPerceptron(Classes(3, 2)).fit(X, y)
    assert pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)
