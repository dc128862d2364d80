"""Models that take much memory say so before they take it, and name what takes less."""

import warnings

import numpy as np
import pytest

from perceptrons import Perceptron
from perceptrons.engine.training import memory
from perceptrons.engine.training.inputs import as_rows
from perceptrons.engine.training.memory import Size, check_room

PAIRS = r"A model of 4,498,500 pairs of 3,000 classes × 2 features "
INSTEAD = r'use multiclass="joint" or "ovr" \(--multiclass\)'


@pytest.fixture
def classes():
    """3,000 classes, of which all pairs would take 13.6 GB."""
    return np.random.default_rng(0).normal(size=(3000, 2)), np.arange(3000)


def test_all_pairs_of_many_classes_warn_before_their_memory_is_taken(classes, monkeypatch):
    monkeypatch.setattr(memory, "memory", lambda: 64 * 10**9)
    model = Perceptron(multiclass="ovo")
    with pytest.raises(UserWarning, match=PAIRS + r"needs about 13\.6 GB of memory\. If that is too much, " + INSTEAD):
        model.fit(*classes)  # a warning is an error in tests, so that no memory is taken here
    assert not hasattr(model, "classes_")


def test_what_does_not_fit_is_refused_with_the_same_advice(classes, monkeypatch):
    monkeypatch.setattr(memory, "memory", lambda: 4 * 10**9)
    X, y = classes
    refusal = r"would need about 13\.6 GB of memory, but this machine has 4\.0 GB\. If the labels are right, " + INSTEAD
    with pytest.raises(ValueError, match=PAIRS + refusal):
        Perceptron(multiclass="ovo").fit(X, y)
    with pytest.raises(ValueError, match=PAIRS + refusal):
        Perceptron(multiclass="ovo").partial_fit(X[:5], y[:5]).partial_fit(X, y)


def test_what_a_model_takes_is_what_is_measured(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(60, 7)), np.arange(60)
    for scheme in ("joint", "ovr", "ovo"):
        learner = Perceptron(multiclass=scheme, max_iter=1).fit(X, y)._learner
        arrays = sum(learner.weights.arrays[name].nbytes for name in ("w", "lazy_sum_w"))
        problems = learner.examples(as_rows(X), _Codes(y), None, None).problems
        assert learner._size.bytes == arrays + (0 if problems is None else problems.sign.nbytes)


class _Codes:
    indicator = None

    def __init__(self, codes):
        self.codes = codes


def test_other_large_models_name_their_classes_and_features(monkeypatch):
    monkeypatch.setattr(memory, "memory", lambda: 64 * 10**9)
    with pytest.warns(UserWarning, match=r"^A model of 3,000 classes × 100,000 features needs about 4\.8 GB .* fewer"):
        check_room(Size("joint", 3000, 100_000, 16))
    with pytest.warns(UserWarning, match=r"^A model of 3,000 labels × 100,000 features needs about 4\.8 GB"):
        check_room(Size("labels", 3000, 100_000, 16))
    check_room(Size("joint", 2, 2**26, 16))  # 1 GiB is not more than 1 GiB


def test_a_model_that_grows_warns_once(monkeypatch):
    monkeypatch.setattr(memory, "LARGE_MODEL_BYTES", 1000)
    X, y = np.random.default_rng(0).normal(size=(60, 7)), np.arange(60)
    model = Perceptron()
    model.partial_fit(X[:5], y[:5])
    with pytest.warns(UserWarning, match=r"^A model of 20 classes × 7 features needs") as said:
        model.partial_fit(X[:20], y[:20])
    model.partial_fit(X, y)  # a warning would be an error
    assert len(said) == 1
    assert said[0].filename == __file__
    assert len(model.classes_) == 60


@pytest.mark.filterwarnings("default")
def test_the_command_says_it_on_one_line_of_stderr(run, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "LARGE_MODEL_BYTES", 100)
    rows = [f"{a:.3f},{b:.3f},{'xyz'[k % 3]}" for k, (a, b) in enumerate(np.random.default_rng(0).normal(size=(40, 2)))]
    (tmp_path / "data.csv").write_text("a,b,kind\n" + "\n".join(rows) + "\n")
    for options in (["--multiclass", "ovo"], ["--multiclass", "ovo", "--epochs", 2]):
        code, _, err = run("train", tmp_path / "data.csv", *options)
        assert code == 0
        assert err.startswith("A model of 3 pairs of 3 classes × 2 features needs about 0.1 kB of memory. If that is")
        assert err.count("\n") == 1
        assert run("train", tmp_path / "data.csv", *options, "--quiet") == (0, "", "")


def test_the_warning_names_the_line_that_called_fit(monkeypatch):
    monkeypatch.setattr(memory, "LARGE_MODEL_BYTES", 1000)
    X, y = np.random.default_rng(0).normal(size=(60, 7)), np.arange(60)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        Perceptron().fit(X, y)
    assert [one.filename for one in said] == [__file__]
