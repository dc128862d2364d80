"""A consumer of a reader that fails leaves no thread and no open file behind, even while its error is kept."""

import os
import threading
from pathlib import Path

import pytest

import perceptrons
from perceptrons.cli import files, main, predict
from perceptrons.data import look, source, stream
from perceptrons.data.splitting import ByHash, without_test
from perceptrons.engine.streaming.cache import Cache
from perceptrons.inspection import evaluation
from perceptrons.selection import calibrating, thresholds
from tests.support.blocks import BoomError, as_svmlight
from tests.support.processes import wait_until

if not Path("/proc/self/fd").exists():
    pytest.skip("open files are counted in /proc", allow_module_level=True)


@pytest.fixture
def svm(tmp_path, monkeypatch, rng):
    """A file of many blocks, more than are read ahead."""
    path = tmp_path / "a.svm"
    path.write_text(as_svmlight(rng.normal(size=(600, 5)), rng.integers(0, 2, 600)))
    monkeypatch.setattr(source, "PIECE", 700)
    return path


@pytest.fixture
def model(svm):
    return perceptrons.Perceptron().fit_stream(stream(svm), epochs=1)


def is_open(path):
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return str(path) in [os.readlink(link) for link in links if os.path.islink(link)]


def fail(*arguments, **named):
    raise BoomError


CONSUMERS = {
    "writing a cache": (Cache, "append", lambda model, svm: model.fit_stream(stream(svm), epochs=2)),
    "learning": (perceptrons.Perceptron, "_meet_block", lambda model, svm: model.fit_stream(stream(svm), epochs=1)),
    "measuring": (evaluation, "predicted_with_scores", lambda model, svm: files.measured_blocks(model, stream(svm))),
    "testing": (evaluation, "predicted_with_scores", lambda model, svm: measure_held_out(model, svm)),
    "holding out": (ByHash, "held_out", lambda model, svm: hold_out(model, svm)),
    "a threshold": (thresholds, "codes_and_scores", lambda model, svm: choose_threshold(model, svm)),
    "calibrating": (thresholds, "codes_and_scores", lambda model, svm: calibrate(model, svm)),
    "a sample": (look, "widened", lambda model, svm: look.first_examples(stream(svm), 6, 10**6)),
    "predicting": (predict, "write_predictions", lambda model, svm: answer(model, svm)),
    "reading too much": (perceptrons.data.reader, "memory", lambda model, svm: read_with_little_memory(svm)),
}  # fmt: skip


def choose_threshold(model, svm):
    thresholds.choose_on_blocks(model, stream(svm), "f1")


def measure_held_out(model, svm):
    with without_test(stream(svm), 0.5, 0) as rest:
        assert sum(block.X.shape[0] for block in rest) < 400
        files.measured_blocks(model, rest.test(6))


def calibrate(model, svm):
    calibrating.calibrate_on_blocks(model, stream(svm), "sigmoid")


def hold_out(model, svm):
    with without_test(stream(svm), 0.2, 0) as rest:
        model.fit_stream(rest, epochs=1)


def answer(model, svm):
    perceptrons.save(model, svm.with_suffix(".model"))
    main(["predict", str(svm.with_suffix(".model")), str(svm)])


def read_with_little_memory(svm):
    stream(svm).read()


@pytest.mark.parametrize("what", CONSUMERS)
def test_a_consumer_that_fails_leaves_no_thread_and_no_open_file(what, model, svm, monkeypatch):
    where, name, consume = CONSUMERS[what]
    threads = threading.active_count()
    if what == "reading too much":
        monkeypatch.setattr(where, name, lambda: 20_000)
    elif what == "predicting":
        monkeypatch.setattr(where, name, lambda model, records, *others: [fail() for _ in records])
    else:
        monkeypatch.setattr(where, name, fail)
    with pytest.raises((BoomError, perceptrons.data.DataFileError)) as caught:
        consume(model, svm)
    wait_until(lambda: not is_open(svm))  # a busy machine may not have ended the reader's thread yet
    wait_until(lambda: threading.active_count() <= threads)
    assert caught.value.__traceback__ is not None, "the error and its frames are still held"
