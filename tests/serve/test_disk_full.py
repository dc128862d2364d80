"""A full disk: learning is refused with 507 and changes nothing, predicting still works, learning resumes later."""

import errno
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from perceptrons import Perceptron
from perceptrons.serve import journal
from perceptrons.serve.requests import Limits
from perceptrons.serve.service import prepare
from perceptrons.serve.state import GrowthLimits
from perceptrons.serve.store import Store
from tests.support.served import Examples, as_text, full_disk, read_log
from tools.fuzz_requests import Asgi

SIZE = 600  # kilobytes of the small disk


@contextmanager
def served(folder, segment_bytes=2000):
    store = Store(folder, segment_bytes=segment_bytes)
    if store.is_new:
        prepare(store, Perceptron(), None)
    server = Asgi(store, GrowthLimits(), Limits())
    try:
        yield server
    finally:
        server.close()


class Learner:
    """Sends examples and remembers which were acknowledged."""

    def __init__(self, server):
        self.server, self.examples, self.acknowledged = server, Examples("features"), []

    def learn(self, n=2):
        """The status of a request to learn."""
        examples, labels = self.examples.some(n)
        status, told = self.server.json("/learn", {"examples": examples, "labels": labels})
        if status == 200:
            self.acknowledged += map(as_text, examples)
            assert told["version"] == len(self.acknowledged)
        return status, told

    def predicts(self):
        return self.server.json("/predict", {"examples": self.examples.some(1)[0]})[0] == 200


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of its own."""
    if sys.platform != "linux" or os.getuid() != 0:
        pytest.skip("needs to mount")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_on_a_full_disk_predictions_go_on_and_exactly_what_was_acknowledged_is_there_after_a_restart(small_disk):
    ballast = small_disk / "ballast"
    with served(small_disk / "data") as server:
        learner = Learner(server)
        for _ in range(3):
            assert learner.learn()[0] == 200
        ballast.write_bytes(b"x" * 200_000)
        statuses = [learner.learn(50)[0] for _ in range(400)]
        assert {200, 507} == {*statuses}
        full, told = learner.learn(50)
        assert full == 507
        assert told["error"].startswith("The disk is full, so nothing was learned")
        assert learner.predicts()
        assert server.service.version == len(learner.acknowledged)
        assert server.ask("POST", "/snapshot")[0] in (200, 507)
        ballast.unlink()
        assert learner.learn()[0] == 200
        before = server.ask("GET", "/model/file")[2]
    assert read_log(small_disk / "data").examples() == learner.acknowledged
    with served(small_disk / "data") as learner.server:
        assert learner.server.service.version == len(learner.acknowledged)
        assert learner.server.ask("GET", "/model/file")[2] == before
        assert learner.learn()[0] == 200


def test_learning_is_synced_where_the_system_has_no_fdatasync(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "fdatasync", raising=False)
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), fsync(handle)))
    with served(tmp_path / "data") as server:
        learner, before = Learner(server), len(synced)
        assert [learner.learn()[0] for _ in range(3)] == [200] * 3
        assert len(synced) >= before + 3
    assert read_log(tmp_path / "data").examples() == learner.acknowledged


def test_segments_are_opened_as_binary_files_where_text_files_are_translated(tmp_path, monkeypatch):
    flag = os.O_NOCTTY  # stands for Windows' O_BINARY, and changes nothing for files
    monkeypatch.setattr(journal, "O_BINARY", flag)
    opened, real = [], os.open

    def recording(path, flags, *rest, **options):
        opened.append((os.fspath(path), flags))
        return real(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", recording)
    learner = Learner(None)
    for _ in range(2):  # a new folder, and one that is there
        with served(tmp_path / "data", segment_bytes=300) as learner.server:
            assert [learner.learn()[0] for _ in range(5)] == [200] * 5
    segments = [(path, flags) for path, flags in opened if path.endswith(journal.SEGMENT_SUFFIX)]
    assert len({path for path, _ in segments}) > 2
    assert all(flags & flag for _, flags in segments)


class Faults:
    """Calls of os that fail from a chosen one on, once."""

    def __init__(self, monkeypatch, name, at, code=errno.ENOSPC, partly=False):
        self._real, self._left, self._code, self._partly = getattr(os, name), at, code, partly
        self.failed = False
        monkeypatch.setattr(journal.os, name, self)

    def __call__(self, handle, *given):
        self._left -= 1
        if self._left != -1:
            return self._real(handle, *given)
        self.failed = True
        if self._partly and given:
            self._real(handle, bytes(given[0])[: len(given[0]) // 2])  # a part is written before the disk is full
        raise OSError(self._code, os.strerror(self._code))


@pytest.mark.parametrize("name", ["write", "fdatasync", "fsync", "open"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_whichever_call_fails_nothing_is_learned_twice_or_lost(tmp_path, name, code):
    """With segments so small that each request begins another one: the head, the frame and the folder are written."""
    for at in range(4):
        folder = tmp_path / f"{name}-{at}"
        with served(folder, segment_bytes=100) as server:
            learner = Learner(server)
            learner.learn()
            with pytest.MonkeyPatch.context() as patch:
                faults = Faults(patch, name, at, code, partly=name == "write")
                statuses = [learner.learn()[0] for _ in range(6)]
            assert {*statuses} <= {200, 507}
            assert statuses.count(507) <= 1 or code == errno.EIO
            assert (507 in statuses) == faults.failed or name == "open"
            assert learner.predicts()
            assert learner.learn()[0] == 200
            before = server.ask("GET", "/model/file")[2]
        assert read_log(folder).examples() == learner.acknowledged
        with served(folder) as again:
            assert again.ask("GET", "/model/file")[2] == before


def test_a_disk_that_does_not_take_back_what_was_half_written_ends_learning_until_a_restart(tmp_path):
    with served(tmp_path / "data") as server:
        learner = Learner(server)
        learner.learn()
        with pytest.MonkeyPatch.context() as patch:
            Faults(patch, "write", 0, partly=True)
            Faults(patch, "ftruncate", 0, errno.EIO)
            assert learner.learn()[0] == 507
        status, told = learner.learn()
        assert status == 507
        assert "start the server again" in told["error"]
        assert learner.predicts()
    with served(tmp_path / "data") as learner.server:
        assert learner.server.service.version == len(learner.acknowledged)
        assert learner.learn()[0] == 200
    assert read_log(tmp_path / "data").examples() == learner.acknowledged


def test_a_snapshot_that_finds_no_room_is_refused_and_learning_goes_on(tmp_path):
    with served(tmp_path / "data") as server:
        learner = Learner(server)
        learner.learn()
        with full_disk():
            status, _, content = server.ask("POST", "/snapshot")
            assert (status, b"No space left" in content) == (507, True)
            server.service.writer._snapshot_every = 1  # one after each request
            assert [learner.learn()[0] for _ in range(3)] == [200] * 3
            assert server.ask("GET", "/model/file")[0] == 200  # given by the writer, once it has tried all three
        assert learner.learn()[0] == 200
        assert server.ask("GET", "/model/file")[0] == 200  # given by the writer, once it has made the snapshot
        assert len(server.service.store.snapshots()) == 2
        assert server.ask("POST", "/snapshot")[0] == 200
    with served(tmp_path / "data") as again:
        assert again.service.version == len(learner.acknowledged)
