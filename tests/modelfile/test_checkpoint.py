"""Checkpoints: a run that was stopped at any block, by anything, ends bit for bit as one that was not."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import perceptrons
from perceptrons import Checkpoint, KernelPerceptron, ModelFileError, Perceptron
from perceptrons.data import source, stream
from tests.conftest import gaussian, whole_numbers
from tests.support.blocks import BoomError, as_svmlight, blocks_of, failing, in_order, same, threads_end
from tests.support.tiers import slow

resource = pytest.importorskip("resource")


@pytest.fixture
def path(tmp_path):
    (tmp_path / "run").mkdir()
    return tmp_path / "run" / "run.checkpoint"


@pytest.fixture
def parts(rng):
    X, y = gaussian(rng, 60, 5, 3)
    return blocks_of(X, y, [12, 20, 33, 50])


@pytest.fixture
def svm(tmp_path, monkeypatch, rng):
    """A file of some blocks."""
    monkeypatch.setattr(source, "PIECE", 700)
    X, y = gaussian(rng, 60, 4, 3)
    path = tmp_path / "a.svm"
    path.write_text(as_svmlight(X * (rng.random(X.shape) < 0.7), y))
    assert len(list(stream(path))) > 4
    return path


def stopping(at):
    """A function to watch a run that stops it at the block of this number, counted over all epochs."""
    count = []

    def watch(row):
        if not row["mark"]:
            count.append(1)
            if len(count) == at:
                raise BoomError("boom")

    return watch


def stopped(model, reader, path, at, resume=False, **options):
    with pytest.raises(BoomError):
        model.fit_stream(reader, checkpoint=Checkpoint(path, every=0, resume=resume), watch=stopping(at), **options)


def resumed(model, reader, path, **options):
    checkpoint = Checkpoint(path, every=0, resume=True)
    model.fit_stream(reader, checkpoint=checkpoint, **options)
    return model, checkpoint


def same_file(model, other, tmp_path):
    """Saved, both are the same bytes."""
    for one, name in ((model, "one"), (other, "other")):
        perceptrons.save(one, tmp_path / name)
    return (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def exactly_the_same(model, other, X, tmp_path):
    same(model, other, X)
    assert model.progress_ == other.progress_
    for ours, theirs in zip(model.history_, other.history_, strict=True):
        assert {**ours, "seconds": 0} == {**theirs, "seconds": 0}, "here the losses are the same to the last bit, too"
    assert same_file(model, other, tmp_path)


RUNS = {
    "average": {},
    "last": {"combine": "last"},
    "vote": {"combine": "vote"},
    "pocket": {"combine": "pocket"},
    "in order": {"shuffle": False},
    "in order, vote": {"shuffle": False, "combine": "vote"},
    "arow": {"step": "arow"},
    "l2": {"penalty": "l2", "alpha": 0.05, "margin": 0.1},
    "ovo": {"multiclass": "ovo"},
    "batches": {"batch_size": 4},
    "seed": {"random_state": 9, "init": "random"},
    "class weight": {"class_weight": {0: 2.5, 1: 0.5}},
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("form", [np.asarray, *slow(sp.csr_matrix)])
def test_stopped_at_any_block_and_resumed_is_never_stopped(run, form, path, rng, tmp_path):
    X, y = gaussian(rng, 60, 5, 3)
    parts = blocks_of(form(X), y, [12, 20, 33, 50])
    whole = Perceptron(**RUNS[run]).fit_stream(parts, epochs=3)
    for at in range(1, 16) if run in ("average", "vote", "in order") else (1, 2, 5, 6, 8, 11, 14):
        stopped(Perceptron(**RUNS[run]), parts, path, at, epochs=3)
        model, checkpoint = resumed(Perceptron(**RUNS[run]), parts, path, epochs=3)
        exactly_the_same(model, whole, X, tmp_path)
        assert checkpoint.complaints == []
        assert checkpoint.resumed == (at > 1), "the first block is learned before anything is saved"
        for file in path.parent.iterdir():
            file.unlink()


@pytest.mark.parametrize(
    ("run", "cache"),
    [
        *(("average", "temporary"), ("vote", "temporary"), ("in order", "temporary")),
        *(("average", "kept"), ("vote", "kept"), ("in order", "kept"), ("in order", "none")),
    ],
)
def test_a_file_can_be_resumed_at_any_block(run, cache, path, svm, tmp_path):
    cache = {"temporary": None, "none": False, "kept": tmp_path / "kept"}[cache]
    X, _ = rows_of(svm)
    whole = Perceptron(**RUNS[run]).fit_stream(stream(svm), epochs=3, cache=cache)
    n = len(list(stream(svm)))
    for at in range(1, 3 * n + 1, 2):
        stopped(Perceptron(**RUNS[run]), stream(svm), path, at, epochs=3, cache=cache)
        model, _ = resumed(Perceptron(**RUNS[run]), stream(svm), path, epochs=3, cache=cache)
        exactly_the_same(model, whole, X, tmp_path)
        for file in path.parent.iterdir():
            file.unlink()


def rows_of(svm):
    blocks = list(stream(svm, n_features=4))
    return sp.vstack([block.X for block in blocks], format="csr"), np.concatenate([block.y for block in blocks])


@pytest.mark.parametrize("run", ["average", "vote", "pocket", "in order"])
def test_a_checkpoint_of_long_ago_is_as_good(run, path, parts, tmp_path):
    X = np.concatenate([part for part, _ in parts])
    kept = []

    def keep(row):
        if not row["mark"] and path.exists():
            kept.append(tmp_path / f"kept{len(kept)}")
            shutil.copy(path, kept[-1])

    whole = Perceptron(**RUNS[run]).fit_stream(parts, epochs=3, checkpoint=Checkpoint(path, every=0), watch=keep)
    assert len(kept) == 14
    for copy in kept:
        model, checkpoint = resumed(Perceptron(**RUNS[run]), parts, copy, epochs=3)
        exactly_the_same(model, whole, X, tmp_path)
        assert checkpoint.resumed


@pytest.mark.parametrize("run", ["average", "vote", "in order", "arow"])
@pytest.mark.parametrize("blocks", [2, 3, 7])
def test_stopped_many_times_is_never_stopped(run, blocks, path, parts, tmp_path):
    X = np.concatenate([part for part, _ in parts])
    whole = Perceptron(**RUNS[run]).fit_stream(parts, epochs=4)
    times = 0
    while True:
        model = Perceptron(**RUNS[run])
        try:
            model.fit_stream(
                parts, epochs=4, checkpoint=Checkpoint(path, every=0, resume=times > 0), watch=stopping(blocks)
            )
        except BoomError:
            times += 1
            assert times < 30, "it never ends"
        else:
            break
    assert times > 1
    exactly_the_same(model, whole, X, tmp_path)


@pytest.mark.parametrize("at", [1, 2, 4])
def test_stopped_by_its_source_and_resumed_is_never_stopped(at, path, parts, tmp_path):
    X = np.concatenate([part for part, _ in parts])
    whole = Perceptron().fit_stream(parts, epochs=2)
    with pytest.raises(BoomError):
        Perceptron().fit_stream(failing(parts, at), epochs=2, checkpoint=Checkpoint(path, every=0))
    model, checkpoint = resumed(Perceptron(), parts, path, epochs=2)
    assert checkpoint.resumed
    exactly_the_same(model, whole, X, tmp_path)


@pytest.mark.parametrize("at", [1, 3, 8])
def test_stopped_by_ctrl_c_and_resumed_is_never_stopped(at, path, parts, tmp_path):
    X = np.concatenate([part for part, _ in parts])
    whole = Perceptron(combine="vote").fit_stream(parts, epochs=3)
    count, before = [], threading.active_count()

    def watch(row):
        count.append(not row["mark"])
        if sum(count) == at and count[-1]:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        Perceptron(combine="vote").fit_stream(parts, epochs=3, checkpoint=Checkpoint(path, every=0), watch=watch)
    model, _ = resumed(Perceptron(combine="vote"), parts, path, epochs=3)
    exactly_the_same(model, whole, X, tmp_path)
    assert threads_end(before)


def test_classes_and_columns_that_come_late_are_resumed(path, tmp_path, rng):
    X, y = whole_numbers(rng, 60, 8, 4)
    y[:20] %= 2
    y[20:40] %= 3
    X[:20, 3:] = 0
    labels = np.array(["m", "c", "x", "a"])[y]
    parts = [
        (sp.csr_matrix(X[:20, :3]), labels[:20]),
        (sp.csr_matrix(X[20:40]), labels[20:40]),
        (sp.csr_matrix(X[40:]), labels[40:]),
    ]
    whole = Perceptron().fit_stream(parts, epochs=2)
    for at in range(2, 7):
        stopped(Perceptron(), parts, path, at, epochs=2)
        model, _ = resumed(Perceptron(), parts, path, epochs=2)
        exactly_the_same(model, whole, X, tmp_path)
        for file in path.parent.iterdir():
            file.unlink()


def test_several_labels_and_weights_are_resumed(path, tmp_path, rng):
    X, _ = gaussian(rng, 60, 5, 2)
    Y = (X @ rng.standard_normal((5, 3)) > 0).astype(int)
    y, weight = rng.integers(0, 2, 60), rng.choice([0.0, 0.5, 2.5], 60)
    for parts in (blocks_of(X, Y, [12, 33]), blocks_of(X, y, [12, 33], weight)):
        whole = Perceptron().fit_stream(parts, epochs=3)
        for at in (2, 3, 4, 8):
            stopped(Perceptron(), parts, path, at, epochs=3)
            model, _ = resumed(Perceptron(), parts, path, epochs=3)
            exactly_the_same(model, whole, X, tmp_path)
            for file in path.parent.iterdir():
                file.unlink()


KILLED = """
import os, signal, sys
from perceptrons import Checkpoint, Perceptron
from perceptrons.data import source, stream
source.PIECE = 700
count = []
def watch(row):
    count.append(1)
    if len(count) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
checkpoint = Checkpoint(sys.argv[2], every=0, resume=True)
Perceptron(combine="vote").fit_stream(stream(sys.argv[1]), epochs=4, checkpoint=checkpoint, watch=watch)
"""


@pytest.mark.slow
def test_killed_and_resumed_is_never_stopped(path, svm, tmp_path):
    X, _ = rows_of(svm)
    whole = Perceptron(combine="vote").fit_stream(stream(svm), epochs=4)
    for at in ("13", "9"):
        done = subprocess.run([sys.executable, "-c", KILLED, svm, path, at], timeout=300, check=False)
        assert done.returncode == -signal.SIGKILL
    model, checkpoint = resumed(Perceptron(combine="vote"), stream(svm), path, epochs=4)
    assert checkpoint.resumed
    exactly_the_same(model, whole, X, tmp_path)


# ---- when a checkpoint is written, and read again


def test_the_end_of_training_writes_a_checkpoint(path, parts):
    model = Perceptron().fit_stream(parts, epochs=2, checkpoint=Checkpoint(path, every=1e9))
    X = np.concatenate([part for part, _ in parts])
    loaded = perceptrons.load(path)
    same(loaded, model, X)
    assert [file.name for file in path.parent.iterdir()] == [path.name], "one was enough"


def test_a_checkpoint_is_a_model_at_any_block(path, parts):
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    stopped(in_order(), parts, path, 3, epochs=2, classes=[0, 1, 2])
    model = perceptrons.load(path)
    expected = in_order().partial_fit(X[: int(model.t_)], y[: int(model.t_)], classes=[0, 1, 2])
    assert model.t_ in (20, 33)
    assert np.array_equal(model.coef_average_, expected.coef_average_)
    assert np.array_equal(model.predict(X), expected.predict(X))
    model.partial_fit(X[int(model.t_) :], y[int(model.t_) :])
    assert np.array_equal(model.coef_last_, in_order().partial_fit(X, y, classes=[0, 1, 2]).coef_last_)


def test_a_run_that_is_over_stays_as_it_is(path, parts, tmp_path):
    X = np.concatenate([part for part, _ in parts])
    whole = Perceptron().fit_stream(parts, epochs=2, checkpoint=Checkpoint(path))
    for _ in range(2):
        model, checkpoint = resumed(Perceptron(), parts, path, epochs=2)
        assert checkpoint.resumed
        exactly_the_same(model, whole, X, tmp_path)


@pytest.mark.parametrize("run", ["average", "vote", "pocket", "in order"])
def test_more_epochs_go_on_as_if_they_had_been_asked_for_at_once(run, path, parts, tmp_path):
    X = np.concatenate([part for part, _ in parts])
    Perceptron(**RUNS[run]).fit_stream(parts, epochs=1, checkpoint=Checkpoint(path))
    for epochs in (2, 5):
        model, _ = resumed(Perceptron(**RUNS[run]), parts, path, epochs=epochs)
        exactly_the_same(model, Perceptron(**RUNS[run]).fit_stream(parts, epochs=epochs), X, tmp_path)
        assert model.n_iter_ == epochs


def test_a_run_that_converged_does_not_go_on(path, tmp_path):
    X, y = np.eye(4), [0, 1, 0, 1]
    whole = Perceptron().fit_stream([(X, y)], epochs=50, checkpoint=Checkpoint(path))
    assert whole.stop_reason_ == "converged"
    model, _ = resumed(Perceptron(), [(X, y)], path, epochs=99)
    exactly_the_same(model, whole, X, tmp_path)


def test_a_run_whose_time_was_over_goes_on(path, parts, tmp_path):
    X = np.concatenate([part for part, _ in parts])
    whole = Perceptron(max_seconds=1e6).fit_stream(parts, epochs=3)
    short = Perceptron(max_seconds=1e-9).fit_stream(parts, epochs=3, checkpoint=Checkpoint(path))
    assert short.stop_reason_ == "max_seconds"
    assert short.t_ < whole.t_
    model, _ = resumed(Perceptron(max_seconds=1e6), parts, path, epochs=3)
    exactly_the_same(model, whole, X, tmp_path)


def test_without_a_checkpoint_a_run_that_may_resume_begins(path, parts, tmp_path):
    X = np.concatenate([part for part, _ in parts])
    model, checkpoint = resumed(Perceptron(), parts, path, epochs=2)
    assert (checkpoint.resumed, checkpoint.complaints) == (False, [])
    exactly_the_same(model, Perceptron().fit_stream(parts, epochs=2), X, tmp_path)


def test_a_checkpoint_that_is_there_is_never_lost_by_mistake(path, parts):
    stopped(Perceptron(), parts, path, 4, epochs=2)
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    model = Perceptron()
    with pytest.raises((OSError, ValueError), match=r"resume") as caught:
        model.fit_stream(parts, epochs=2, checkpoint=Checkpoint(path))
    assert path.name in str(caught.value)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
    path.write_bytes(b"something else")
    with pytest.raises((OSError, ValueError)):
        model.fit_stream(parts, epochs=2, checkpoint=Checkpoint(path))
    assert path.read_bytes() == b"something else"


# ---- damage


@pytest.fixture
def stopped_run(path, parts, tmp_path):
    """A run that was stopped, with two checkpoints; and the model that it should end with."""
    X = np.concatenate([part for part, _ in parts])
    stopped(Perceptron(), parts, path, 8, epochs=2)
    before = path.with_name(path.name + ".before")
    assert before.exists()
    whole = Perceptron().fit_stream(parts, epochs=2)

    def resume():
        model, checkpoint = resumed(Perceptron(), parts, path, epochs=2)
        exactly_the_same(model, whole, X, tmp_path)
        return checkpoint

    return path, before, resume


@pytest.mark.parametrize("left", [0, 1, 7, 8, 9, 200, 0.5, -9, -1])
def test_the_one_before_is_used_if_the_last_was_cut_short(stopped_run, left):
    path, _, resume = stopped_run
    content = path.read_bytes()
    path.write_bytes(content[: int(left * len(content)) if isinstance(left, float) else left])
    checkpoint = resume()
    assert checkpoint.resumed
    assert len(checkpoint.complaints) == 1
    assert path.name in checkpoint.complaints[0]
    assert len(checkpoint.complaints[0].splitlines()) == 1


def test_the_one_before_is_used_if_the_last_is_gone(stopped_run):
    path, _, resume = stopped_run
    path.unlink()
    assert resume().resumed


def test_the_last_is_enough(stopped_run):
    _, before, resume = stopped_run
    before.write_bytes(b"nothing")
    assert resume().resumed


def test_a_changed_bit_anywhere_is_seen(stopped_run, rng):
    path, before, resume = stopped_run
    content, earlier = path.read_bytes(), before.read_bytes()
    places = rng.permutation(len(content))[:400]
    for count, place in enumerate(places.tolist()):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(changed))
        with pytest.raises(ModelFileError):
            perceptrons.load(path)
        if count % 20 == 0:
            assert len(resume().complaints) == 1
            before.write_bytes(earlier)


def test_two_damaged_checkpoints_are_an_error_and_are_left_as_they_are(stopped_run, parts, rng):
    path, before, _ = stopped_run
    for file, left in ((path, -3), (before, 40)):
        file.write_bytes(file.read_bytes()[:left])
    contents = path.read_bytes(), before.read_bytes()
    checkpoint = Checkpoint(path, resume=True)
    with pytest.raises(ModelFileError, match=path.name) as caught:
        Perceptron().fit_stream(parts, epochs=2, checkpoint=checkpoint)
    assert len(str(caught.value).splitlines()) == 1
    assert contents == (path.read_bytes(), before.read_bytes())
    before.unlink()
    with pytest.raises(ModelFileError, match=path.name):
        Perceptron().fit_stream(parts, epochs=2, checkpoint=Checkpoint(path, resume=True))


def test_a_model_that_is_no_checkpoint_is_refused_and_kept(path, parts, rng):
    X, y = gaussian(rng, 20, 5, 3)
    for model in (Perceptron().fit(X, y), KernelPerceptron().fit(X, y)):
        perceptrons.save(model, path)
        content = path.read_bytes()
        with pytest.raises((ModelFileError, ValueError), match=path.name):
            Perceptron().fit_stream(parts, epochs=2, checkpoint=Checkpoint(path, resume=True))
        assert path.read_bytes() == content


# ---- other parameters, other files


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("eta0", 2.0), ("margin", 0.5), ("penalty", "l2"), ("step", "pa1"), ("C", 0.5), ("batch_size", 4)),
        *(("shuffle", False), ("random_state", 1), ("fit_intercept", False), ("zero_score", "negative")),
        *(("init", "ones"), ("class_weight", {0: 2.0}), ("multiclass", "ovr"), ("combine", "vote")),
    ],
)
def test_other_parameters_are_refused_by_name(stopped_run, parts, name, value):
    path, before, resume = stopped_run
    contents = path.read_bytes(), before.read_bytes()
    with pytest.raises(ValueError, match=rf"\b{name}\b") as caught:
        Perceptron(**{name: value}).fit_stream(parts, epochs=2, checkpoint=Checkpoint(path, resume=True))
    assert len(str(caught.value).splitlines()) == 1
    assert contents == (path.read_bytes(), before.read_bytes())
    assert resume().resumed


@pytest.mark.parametrize(("name", "value"), [("verbose", False), ("n_jobs", 2)])
def test_parameters_that_do_not_count_may_change(path, parts, name, value):
    X = np.concatenate([part for part, _ in parts])
    whole = Perceptron().fit_stream(parts, epochs=2)
    stopped(Perceptron(), parts, path, 4, epochs=2)
    model, _ = resumed(Perceptron(**{name: value}), parts, path, epochs=2)
    same(model, whole, X)


def test_other_files_are_refused(path, svm, tmp_path, parts):
    stopped(Perceptron(), stream(svm), path, 4, epochs=2)
    content, times = path.read_bytes(), os.stat(svm)
    text = svm.read_text()
    other = tmp_path / "b.svm"
    other.write_text(text)

    def changed():
        svm.write_text(text.replace("1:0", "1:9", 1))
        return stream(svm)

    def longer():
        svm.write_text(text + "1 1:1\n")
        return stream(svm)

    def back():
        svm.write_text(text)
        os.utime(svm, ns=(times.st_atime_ns, times.st_mtime_ns))
        return stream(svm)

    readers = [stream(other), stream(svm, svm), stream(svm, zero_based=True), stream(svm, text_labels=True), parts]
    readers += [stream(svm, hash_bits=5)]
    for reader in (*readers, changed, longer):
        with pytest.raises(ValueError, match="file") as caught:
            Perceptron().fit_stream(
                reader() if callable(reader) else reader, epochs=2, checkpoint=Checkpoint(path, resume=True)
            )
        assert path.name in str(caught.value), "the message says which checkpoint it is"
        assert path.read_bytes() == content
    model, _ = resumed(Perceptron(), back(), path, epochs=2)
    same(model, Perceptron().fit_stream(stream(svm), epochs=2), rows_of(svm)[0])


def test_a_stream_that_is_shorter_than_what_was_learned_is_refused(path, parts):
    stopped(Perceptron(), parts, path, 4, epochs=2)
    for fewer in (parts[:2], []):
        with pytest.raises(ValueError):
            Perceptron().fit_stream(fewer, epochs=2, checkpoint=Checkpoint(path, resume=True))


# ---- a full disk


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("at", [1, 2, 3, 6])
def test_a_disk_that_fails_leaves_the_last_checkpoint_and_one_clear_line(call, at, path, parts, tmp_path, monkeypatch):
    X = np.concatenate([part for part, _ in parts])
    whole = Perceptron().fit_stream(parts, epochs=2)
    original, count = getattr(os, call), []

    def full(*arguments, **keywords):
        count.append(1)
        if len(count) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(*arguments, **keywords)

    before = threading.active_count()
    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space left") as caught:
        Perceptron().fit_stream(parts, epochs=2, checkpoint=Checkpoint(path, every=0))
    monkeypatch.undo()
    assert len(str(caught.value).splitlines()) == 1
    assert {file.name for file in path.parent.iterdir()} <= {path.name, path.name + ".before"}, "nothing lies about"
    model, checkpoint = resumed(Perceptron(), parts, path, epochs=2)
    assert checkpoint.complaints == []
    if at in (1, 6):  # in between it depends on how often a checkpoint needs this call
        assert checkpoint.resumed == (at == 6)
    exactly_the_same(model, whole, X, tmp_path)
    assert threads_end(before)


def test_a_disk_that_fills_up_leaves_the_last_checkpoint(path, parts, tmp_path):
    X = np.concatenate([part for part, _ in parts])
    whole = Perceptron().fit_stream(parts, cache=False)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept = {}

    def fill(row):
        if row["blocks"] == 3 and not row["mark"]:
            kept.update((file.name, file.read_bytes()) for file in path.parent.glob("*[!k]"))  # no lock
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))

    try:
        with pytest.raises(OSError, match=r"File too large") as caught:
            Perceptron().fit_stream(parts, cache=False, checkpoint=Checkpoint(path, every=0), watch=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.name in str(caught.value)
    assert path.name in kept
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == kept
    model, checkpoint = resumed(Perceptron(), parts, path)
    assert checkpoint.resumed
    exactly_the_same(model, whole, X, tmp_path)


def test_a_folder_that_is_not_there_is_an_error_before_anything_is_learned(tmp_path, parts):
    model, seen = Perceptron(), []
    with pytest.raises(OSError, match="nowhere"):
        model.fit_stream(parts, checkpoint=Checkpoint(tmp_path / "nowhere" / "run"), watch=seen.append)
    assert seen == []


@pytest.mark.parametrize("every", [-1, float("nan"), "60s", None])
def test_the_time_between_two_checkpoints_is_a_number(path, every):
    with pytest.raises((ValueError, TypeError), match="every"):
        Checkpoint(path, every=every)
