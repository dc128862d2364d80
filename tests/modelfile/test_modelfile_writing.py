"""Writing a file whole: whose rights it has, what Ctrl-C and a kill leave behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import perceptrons
from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.modelfile import whole_files
from perceptrons.modelfile.whole_files import PREFIX, write_whole
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights and signals are others on Windows")


@pytest.mark.parametrize("rights", [0o600, 0o640, 0o664])
def test_a_replaced_file_keeps_who_may_read_it(rights, tmp_path):
    path = tmp_path / "model"
    path.write_text("old")
    path.chmod(rights)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == rights


def test_a_new_file_has_the_rights_of_any_new_file(tmp_path):
    (tmp_path / "other").write_text("")
    write_whole(tmp_path / "model", b"new")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_umask_of_other_threads_is_left_alone(tmp_path, monkeypatch):
    def changed(mask):
        raise AssertionError("the umask belongs to the whole process")

    monkeypatch.setattr(os, "umask", changed)
    write_whole(tmp_path / "model", b"new")


@pytest.mark.parametrize("function", ["replace", "fsync"])
def test_ctrl_c_around_the_renaming_is_ctrl_c_and_the_file_is_whole(function, tmp_path, monkeypatch):
    path, called = tmp_path / "model", getattr(os, function)
    path.write_bytes(b"old")

    def interrupted(*arguments):
        called(*arguments)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, function, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_bytes() == (b"new" if function == "replace" else b"old")
    assert os.listdir(tmp_path) == ["model"]


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes(tmp_path):
    script = """
import os, sys
from pathlib import Path
from perceptrons.modelfile import whole_files
os.fsync = lambda handle: os.kill(os.getpid(), 9)
whole_files.write_whole(Path(sys.argv[1]), b"part")
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", script, str(tmp_path / "model")]
    assert subprocess.run(command, env=environment, timeout=300).returncode == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    assert left.startswith(PREFIX)
    write_whole(tmp_path / "model", b"new")
    assert left in os.listdir(tmp_path)  # it might still be written to
    os.utime(tmp_path / left, (time.time() - 3600,) * 2)
    write_whole(tmp_path / "model", b"newer")
    assert os.listdir(tmp_path) == ["model"]


def test_files_that_are_being_written_or_are_not_ours_are_left_alone(tmp_path, monkeypatch):
    old = (time.time() - 3600,) * 2
    for name in ("perceptrons-1", ".perceptrons", "model"):
        (tmp_path / name).write_text("theirs")
        os.utime(tmp_path / name, old)
    (tmp_path / f"{PREFIX}folder").mkdir()
    os.utime(tmp_path / f"{PREFIX}folder", old)
    written, go_on, fsync = threading.Event(), threading.Event(), os.fsync

    def slow(handle):
        os.utime(handle, old)
        written.set()
        go_on.wait(60)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", slow)
    writer = threading.Thread(target=write_whole, args=(tmp_path / "slow", b"slow"))
    writer.start()
    assert written.wait(60)
    before = set(os.listdir(tmp_path))
    whole_files.remove_stale(tmp_path)
    assert set(os.listdir(tmp_path)) == before
    go_on.set()
    writer.join()
    assert (tmp_path / "slow").read_bytes() == b"slow"


X, Y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 2.0]]), [0, 1, 1, 0]


def spoilt(model, array, value):
    """A linear model, or a pipeline that ends with one, with this number in one of the arrays of its weights."""
    (model[-1] if hasattr(model, "steps") else model)._learner.weights.arrays[array].flat[0] = value
    return model


def late_kernel():
    """It learned so late that the sum of its weights, times the examples before, is infinite."""
    model = KernelPerceptron(eta0=100, max_iter=2).fit(X, Y)
    model._learner.t = 1.7e308
    with np.errstate(over="ignore"):
        return model.partial_fit(X, [1, 0, 0, 1])


def infinite_tagger():
    model = SequencePerceptron(max_iter=2).fit([[{"a": 1}, {"b": 1}]], [["x", "y"]])
    model._learner.weights.arcs[0, 0] = np.inf
    return model


@pytest.mark.parametrize(
    "make",
    [
        lambda: spoilt(Perceptron().fit(X, Y), "w", np.inf),
        lambda: spoilt(Perceptron().fit(X, Y), "lazy_sum_w", np.nan),
        lambda: spoilt(
            spoilt(Perceptron().fit(X, Y), "w", 1.79e308), "lazy_sum_w", -1.79e308
        ),  # their average is infinite
        lambda: spoilt(make_pipeline(StandardScaler(), Perceptron()).fit(X, Y), "b", -np.inf),
        late_kernel,
        infinite_tagger,
    ],
    ids=["weights", "sums of weights", "average", "pipeline", "kernel", "tagger"],
)
def test_a_model_that_learned_to_infinity_is_refused_when_it_would_be_written(make, tmp_path):
    path = tmp_path / "model"
    perceptrons.save(Perceptron().fit(X, Y), path)
    before, model = path.read_bytes(), make()
    with pytest.raises(ValueError, match=r"cannot be saved: .* not finite, .* scale the features"):
        perceptrons.save(model, path)
    assert path.read_bytes() == before
