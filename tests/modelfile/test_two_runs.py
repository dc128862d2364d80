"""Two trainings that write the same cache or checkpoint: neither harms the other."""

import os
import subprocess
import sys

import numpy as np
import pytest

from perceptrons import Checkpoint, Perceptron, load
from perceptrons.data import stream
from perceptrons.engine.streaming.cache import ArrayFile
from tests.support.processes import SECONDS


def write(path, seed, n=300):
    rng = np.random.default_rng(seed)
    rows = "".join(f"{int(x.sum() > 0)} " + " ".join(f"{k + 1}:{v:.3f}" for k, v in enumerate(x)) + "\n" for x in rng.normal(size=(n, 3)))  # fmt: skip # noqa: E501
    path.write_text(rows)
    return path


def fitted(path, cache, watch=None):
    return Perceptron(random_state=0).fit_stream(stream(path), epochs=3, cache=cache, watch=watch)


def once(action):
    """A watch that acts at its first call only."""
    done = []

    def watch(_):
        if not done:
            done.append(True)
            action()

    return watch


def test_two_runs_with_one_cache_both_learn_what_they_would_alone(tmp_path):
    mine, others, cache = write(tmp_path / "a.svm", 1), write(tmp_path / "b.svm", 2), tmp_path / "both.cache"
    expected = fitted(mine, None).coef_
    within = once(lambda: fitted(others, cache))
    np.testing.assert_array_equal(fitted(mine, cache, within).coef_, expected)
    np.testing.assert_array_equal(fitted(mine, cache).coef_, expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svm", "b.svm", "both.cache"]


def test_two_writers_of_one_file_do_not_write_into_each_other(tmp_path):
    path = tmp_path / "a.cache"
    files = [ArrayFile.create(path) for _ in range(2)]
    for number, file in enumerate(files):
        file.append({"x": np.full(1000, number)})
    files[0].keep({"number": 0})
    mapped = files[0].read(0)["x"]
    files[1].append({"x": np.arange(5)})
    files[1].keep({"number": 1})
    assert (mapped == 0).all()
    for file in files:
        file.close()
    reopened, notes = ArrayFile.open(path)
    assert notes == {"number": 1}
    assert (reopened.read(0)["x"] == 1).all()
    reopened.close()
    assert os.listdir(tmp_path) == ["a.cache"]


def test_a_second_run_with_the_same_checkpoint_is_refused_in_words(tmp_path):
    data, path = write(tmp_path / "a.svm", 1), tmp_path / "run.checkpoint"
    refused = []

    def another():
        with pytest.raises(OSError, match="another run is writing this file") as caught:
            Perceptron().fit_stream(stream(data), epochs=2, checkpoint=Checkpoint(path, resume=True))
        refused.append(caught.value.filename)

    model = Perceptron(random_state=0)
    model.fit_stream(stream(data), epochs=2, checkpoint=Checkpoint(path, every=0), watch=once(another))
    assert refused == [str(path)]
    np.testing.assert_array_equal(load(path).coef_, model.coef_)
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".lock", ".part")]
    model.fit_stream(stream(data), epochs=4, checkpoint=Checkpoint(path, resume=True))  # the lock is free again


def test_a_killed_run_leaves_no_lock_and_its_part_is_removed_later(tmp_path):
    path = tmp_path / "a.cache"
    program = (
        "import os, sys; from pathlib import Path; from perceptrons.engine.streaming import locks\n"
        "with locks.alone(Path(sys.argv[1])):\n"
        "    locks.create(Path(sys.argv[1]))\n"
        "    os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], timeout=SECONDS, check=False)
    left = [part for part in tmp_path.iterdir() if part.suffix == ".part"]
    assert len(left) == 1
    from perceptrons.engine.streaming import locks

    with locks.alone(path):
        file, name = locks.create(path)
        assert left[0].exists()  # it may be that of a run that has only begun
        os.utime(left[0], (0, 0))
        os.utime(name, (0, 0))
        locks.create(path)[0].close()
        assert not left[0].exists()
        assert os.path.exists(name)  # old, but held
        file.close()
