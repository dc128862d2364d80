"""Logs and snapshots that are cut, flipped, zeroed, swapped or missing: noticed or harmless, never another model."""

import itertools
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import json

from perceptrons import Perceptron, load, save
from perceptrons.cli import main
from perceptrons.modelfile import ModelFileError
from perceptrons.serve.journal import DamagedLogError, Log, Start, next_frame
from perceptrons.serve.recent import RecentReplies
from perceptrons.serve.schemas import LearnReply
from perceptrons.serve.service import Service, prepare
from perceptrons.serve.store import Store, StoreError
from perceptrons.serve.writer import Writer
from tests.support.served import Examples, free_port, full_disk
from tests.support.streams import PROGRAM

REFUSED = (ModelFileError, StoreError, ValueError, LookupError)  # DamagedLogError is a ValueError
FRAME_HEAD = 24


class Server:
    """A store and its writer, without a thread: requests are learned at once."""

    def __init__(self, folder, segment_bytes=400, every=10**9, keep_bytes=2**30, sync=False, **options):
        self.store = Store(folder, sync=sync, segment_bytes=segment_bytes, keep_bytes=keep_bytes)
        if self.store.is_new:
            prepare(self.store, Perceptron(), None)
        self.writer = Writer(self.store, snapshot_every=every, **options)
        self.writer.recover()

    def learn(self, examples, labels, key=None, digest=""):
        done = self.writer.submit(examples, labels, key, digest)
        self.writer._learn_group([self.writer._jobs.get()])
        return done.result()

    @property
    def content(self):
        """The whole of what was learned, in bytes."""
        return self.store.content(self.writer.buffer.back, self.writer.place())

    def close(self):
        self.store.close()


def made(folder, requests=8, snapshots=(), segment_bytes=400, **options):
    """A folder in which a server has learned; the content of its model after each request."""
    server, examples, found = Server(folder, segment_bytes, **options), Examples("features"), []
    found.append(server.content)
    for number in range(requests):
        server.learn(*examples.some(2), key=f"k{number}", digest=f"{number}")
        found.append(server.content)
        if number in snapshots:
            server.writer.snapshot()
    server.close()
    return found


def started(folder, **options):
    """The content of the model after a start."""
    server = Server(folder, **options)
    content = server.content
    server.close()
    return content


def segments(folder):
    return sorted((folder / "log").glob("*.log"))


def copied(folder, name):
    target = folder.with_name(name)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target)
    return target


def said_by(capsys, *arguments):
    code = main([str(word) for word in arguments])
    return code, capsys.readouterr().err


def refusal_of(capsys, folder, *arguments):
    """The line with which the command refuses to serve this folder."""
    code, message = said_by(capsys, "serve", *arguments, "--data", folder, "--port", free_port(), "--quiet")
    assert (code, message.count("\n")) == (2, 1)
    return message


# ---- the end of the log


@pytest.fixture(scope="module")
def one_segment(tmp_path_factory):
    """A folder with one segment, and the model after each request."""
    folder = tmp_path_factory.mktemp("one") / "data"
    return folder, made(folder, segment_bytes=10**6)


@pytest.fixture(scope="module")
def many_segments(tmp_path_factory):
    """A folder with several segments and snapshots."""
    folder = tmp_path_factory.mktemp("many") / "data"
    contents = made(folder, 12, snapshots=(3, 7))
    assert len(segments(folder)) > 3
    return folder, contents


def test_a_log_cut_at_any_byte_of_its_last_frame_has_all_requests_but_the_last(one_segment):
    folder, contents = one_segment
    (path,) = segments(folder)
    whole = path.read_bytes()
    last = whole.rindex(b"PCPT")
    for size in range(last, len(whole)):
        target = copied(folder, "cut")
        segments(target)[0].write_bytes(whole[:size])
        assert started(target) == contents[-2]
        assert segments(target)[0].stat().st_size == last  # the torn frame is gone, so the next one follows a whole one


def test_a_server_learns_on_after_a_torn_frame(one_segment):
    folder, _ = one_segment
    target = copied(folder, "cut")
    path = segments(target)[0]
    path.write_bytes(path.read_bytes()[:-5])
    server = Server(target)
    server.learn(*Examples("features", 9).some(3))
    expected = server.content
    server.close()
    assert started(target) == expected


@given(data=st.data())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_log_cut_anywhere_is_the_log_of_some_of_its_first_requests(one_segment, data):
    folder, contents = one_segment
    target = copied(folder, "anywhere")
    path = segments(target)[0]
    size = data.draw(st.integers(0, path.stat().st_size))
    os.truncate(path, size)
    assert started(target) in contents


def test_every_flipped_bit_of_a_log_is_noticed(one_segment):
    folder, _ = one_segment
    target = copied(folder, "flipped")
    (path,) = segments(target)
    whole = path.read_bytes()
    for place, bit in itertools.product(range(0, len(whole), 3), (0, 3, 7)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << bit
        path.write_bytes(flipped)
        with pytest.raises(ValueError, match="the log is damaged at byte"):
            started(target)
        assert path.read_bytes() == flipped


@pytest.mark.parametrize("newest", [True, False])
def test_a_flipped_bit_of_a_snapshot_changes_nothing(many_segments, newest):
    folder, contents = many_segments
    target = copied(folder, "flipped")
    path = sorted((target / "snapshots").iterdir())[-1 if newest else -2]
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (place % 8)
        path.write_bytes(flipped)
        assert started(target) == contents[-1]


def test_zeroed_sectors_at_the_end_are_torn_and_elsewhere_damage(tmp_path):
    folder = tmp_path / "data"
    contents = made(folder, 60, segment_bytes=10**6)
    (path,) = segments(folder)
    whole = path.read_bytes()
    last = whole.rindex(b"PCPT")
    path.write_bytes(whole[:last] + bytes(len(whole) - last))
    assert started(copied(folder, "end")) == contents[-2]
    for begin in range(512, last - 1024, 512):
        path.write_bytes(whole[:begin] + bytes(512) + whole[begin + 512 :])
        with pytest.raises(ValueError, match="damaged"):
            started(folder)


ENDS = {
    "the newest segment deleted": lambda folder: segments(folder)[-1].unlink(),
    "two segments deleted": lambda folder: [path.unlink() for path in segments(folder)[-2:]],
    "cut at a frame": lambda folder: os.truncate(
        segments(folder)[-1], segments(folder)[-1].read_bytes().rindex(b"PCPT")
    ),
    "the last frame torn": lambda folder: os.truncate(segments(folder)[-1], segments(folder)[-1].stat().st_size - 1),
    "the folder deleted": lambda folder: shutil.rmtree(folder / "log"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_missing_end_of_the_log_is_refused_with_both_versions_and_nothing_changes(many_segments, end, capsys):
    folder, contents = many_segments
    target = copied(folder, "ended")
    ENDS[end](target)
    before = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    with pytest.raises(StoreError, match=r"acknowledged up to version 24 \(12 entries\), but .* ends at version \d+ "):
        started(target, sync=True)
    assert {path: path.read_bytes() for path in target.rglob("*") if path.is_file()} == before
    server = Server(target)  # without sync a power failure does this, so it warns
    assert any("acknowledged up to version 24 (12 entries)" in warning for warning in server.store.warnings)
    server.close()
    target = copied(folder, "ended")
    ENDS[end](target)
    code, said = said_by(capsys, "serve", "--data", target, "--repair")
    assert (code, "acknowledged up to version 24 (12 entries)" in said) == (0, True)
    server = Server(target, sync=True)
    assert server.content in contents[:-1]
    assert server.store.warnings == []
    server.close()


def test_a_log_that_ends_as_it_was_acknowledged_but_holds_something_else_is_refused(tmp_path):
    made(tmp_path / "data", 3, segment_bytes=10**6)
    server, examples = Server(tmp_path / "other", segment_bytes=10**6), Examples("features", 5)
    for _ in range(3):
        server.learn(*examples.some(2))
    server.close()
    shutil.rmtree(tmp_path / "data" / "log")
    shutil.copytree(tmp_path / "other" / "log", tmp_path / "data" / "log")
    with pytest.raises(StoreError, match="entry 3 of the log is not the one that was acknowledged"):
        started(tmp_path / "data")


def test_a_log_that_is_ahead_of_the_note_of_its_end_is_used(one_segment):
    """A kill between the two, or a power failure, which may lose the note but not the log."""
    folder, contents = one_segment
    for content, n_complaints in ((None, 1), (b"", 1), (b"PCPTMARK" + bytes(24), 1)):
        target = copied(folder, "ahead")
        (target / "acknowledged").unlink()
        if content is not None:
            (target / "acknowledged").write_bytes(content)
        server = Server(target, sync=True)
        assert server.content == contents[-1]
        assert len([one for one in server.store.warnings if "nobody can tell" in one]) == n_complaints
        server.close()
    short, target = folder.with_name("short"), copied(folder, "ahead")
    made(short, 3, segment_bytes=10**6)
    shutil.copy(short / "acknowledged", target / "acknowledged")
    server = Server(target, sync=True)
    assert (server.content, server.store.warnings) == (contents[-1], [])
    server.close()


def test_a_note_of_the_end_that_cannot_be_written_does_not_keep_the_server_from_learning(tmp_path, monkeypatch, caplog):
    server, examples = Server(tmp_path / "data", sync=True), Examples("features")
    server.learn(*examples.some(2))

    def fails(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("perceptrons.serve.journal.os.pwrite", fails)
    for _ in range(3):
        server.learn(*examples.some(2))
    assert caplog.text.count("may go unnoticed") == 1
    expected = server.content
    server.close()
    monkeypatch.undo()
    assert started(tmp_path / "data", sync=True) == expected


# ---- segments


def swap(folder, first, second):
    a, b = segments(folder)[first], segments(folder)[second]
    a.rename(folder / "x")
    b.rename(a)
    (folder / "x").rename(b)


def take_log_of_another_server(folder):
    other = copied(folder, "other")
    shutil.rmtree(other)
    server, examples = Server(other), Examples("features", 5)
    for _ in range(30):
        server.learn(*examples.some(1))
    server.close()
    shutil.rmtree(folder / "log")
    shutil.copytree(other / "log", folder / "log")


def every_segment_in_the_middle(folder):
    return [lambda target, k=k: segments(target)[k].unlink() for k in range(1, len(segments(folder)) - 1)]


def every_pair(folder):
    pairs = itertools.combinations(range(len(segments(folder))), 2)
    return [lambda target, pair=pair: swap(target, *pair) for pair in pairs]


DAMAGES = {  # the error, its message, and what does the damage
    "a segment in the middle is missing": (DamagedLogError, "should come first", every_segment_in_the_middle),
    "two segments are swapped": (DamagedLogError, "the name of the file should be", every_pair),
    "segments that a snapshot needs are missing": (
        StoreError, "the log begins after the newest sound snapshot",
        lambda folder: [lambda target: [path.unlink() for path in segments(target)[:-1]]],
    ),
    "the log is that of another server": (
        StoreError, "does not belong to this log", lambda folder: [take_log_of_another_server],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_folder_of_segments_is_noticed_and_can_be_repaired(many_segments, name, capsys):
    folder, contents = many_segments
    error, message, damages = DAMAGES[name]
    for damage in damages(folder):
        target = copied(folder, "damaged-log")
        damage(target)
        with pytest.raises(error, match=message):
            started(target)
        assert_repaired(target, contents, capsys)


def test_a_folder_named_like_a_segment_is_refused_in_one_line_and_can_be_set_aside(many_segments, capsys):
    folder, contents = many_segments
    target = copied(folder, "folder")
    (target / "log" / f"{50:020d}.log").mkdir()
    assert f"{50:020d}.log: the log is damaged at byte 0 (this is a folder" in refusal_of(capsys, target)
    assert said_by(capsys, "serve", "--data", target, "--repair")[0] == 0
    assert started(target) == contents[-1]


def test_a_missing_first_segment_that_no_snapshot_needs_changes_nothing(many_segments):
    folder, contents = many_segments
    target = copied(folder, "first")
    segments(target)[0].unlink()
    assert started(target) == contents[-1]


def assert_repaired(folder, contents, capsys):
    """--repair says what it set aside, nothing is deleted, and the server starts with some of what it had learned."""
    before = sum(path.stat().st_size for path in segments(folder))
    code, said = said_by(capsys, "serve", "--data", folder, "--repair")
    assert code == 0
    aside = sorted((folder / "damaged").iterdir())
    assert all(path.name in said for path in aside)
    assert aside
    assert before == sum(path.stat().st_size for path in (*aside, *segments(folder)))
    content = started(folder)
    assert content in contents
    server = Server(folder)
    server.learn(*Examples("features", 3).some(2))
    expected = server.content
    server.close()
    assert started(folder) == expected


def test_a_damaged_log_keeps_what_is_before_the_damage(one_segment, capsys):
    folder, contents = one_segment
    target = copied(folder, "middle")
    path = segments(target)[0]
    content = bytearray(path.read_bytes())
    begins = [k for k in range(len(content)) if content[k : k + 4] == b"PCPT"][1:]
    content[begins[3] + FRAME_HEAD + 5] ^= 1
    path.write_bytes(content)
    message = refusal_of(capsys, target)
    assert f"damaged at byte {begins[3]:,}" in message
    assert "--repair" in message
    assert_repaired(target, contents, capsys)
    assert contents[3] != contents[4]


def test_an_empty_log_file_and_one_of_zeros_are_segments_that_were_never_written(one_segment):
    folder, contents = one_segment
    for content in (b"", b"PCPT", bytes(24)):
        target = copied(folder, "empty")
        path = target / "log" / f"{8:020d}.log"
        path.write_bytes(content)
        assert started(target) == contents[-1]
        assert not path.exists() or path.read_bytes() != content


def test_an_empty_log_folder_begins_at_the_newest_snapshot(many_segments):
    folder, contents = many_segments
    target = copied(folder, "none")
    shutil.rmtree(target / "log")
    assert started(target) == contents[8]


def test_a_log_that_is_lost_together_with_the_note_of_its_end_is_noticed(tmp_path):
    for n_requests, snapshots in ((0, ()), (3, ()), (3, (1,))):
        folder = tmp_path / f"data-{n_requests}-{len(snapshots)}"
        made(folder, n_requests, snapshots)
        server = Server(folder, sync=True)
        assert server.store.warnings == []
        server.close()
        shutil.rmtree(folder / "log")
        (folder / "acknowledged").unlink()
        server = Server(folder, sync=True)
        assert len([one for one in server.store.warnings if "nobody can tell" in one]) == 1
        server.close()


def test_a_folder_that_has_lost_all_but_its_identity_begins_with_its_own_model_and_says_so(tmp_path):
    folder = tmp_path / "data"
    made(folder, 3)
    for name in ("log", "snapshots"):
        shutil.rmtree(folder / name)
    (folder / "acknowledged").unlink()
    other = Store(folder, sync=False)
    with pytest.raises(StoreError, match="another model was served"):
        prepare(other, Perceptron().fit([[0.0], [1.0]], [0, 1]), None)
    server = Server(folder)
    assert [warning for warning in server.store.warnings if "starts again at version 0" in warning]
    server.close()


# ---- snapshots


def test_without_its_newest_snapshot_a_server_starts_the_same(many_segments):
    folder, contents = many_segments
    for gone in (1, 2):
        target = copied(folder, "gone")
        for path in sorted((target / "snapshots").iterdir())[-gone:]:
            path.unlink()
        assert started(target) == contents[-1]


def test_if_no_snapshot_is_sound_it_says_so(many_segments):
    folder, _ = many_segments
    target = copied(folder, "unsound")
    for path in (target / "snapshots").iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(StoreError, match="no snapshot is sound"):
        started(target)


def test_a_folder_that_has_lost_its_snapshots_begins_with_its_own_model_again_and_with_no_other(tmp_path, capsys):
    model, other, folder = tmp_path / "model", tmp_path / "other", tmp_path / "data"
    save(Perceptron().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y"), model)
    save(Perceptron().learn_one({"a": 3.0}, "y").learn_one({"b": 2.0}, "x"), other)
    for begins_with in (model, None):
        shutil.rmtree(folder, ignore_errors=True)
        store = Store(folder)
        prepare(store, Perceptron() if begins_with is None else load(begins_with), begins_with)
        server, examples = Server(folder), Examples("features")
        for _ in range(5):
            server.learn(*examples.some(2))
        expected = server.content
        server.close()
        shutil.rmtree(folder / "snapshots")
        for argument in {model, other, None} - {begins_with}:
            message = refusal_of(capsys, folder, *([] if argument is None else [argument]))
            assert "the snapshots are gone" in message or "serves what another model" in message
        with pytest.raises(StoreError, match="the snapshots are gone"):
            started(folder)
        prepare(Store(folder), Perceptron() if begins_with is None else load(begins_with), begins_with)
        assert started(folder) == expected


def test_keys_are_remembered_after_their_part_of_the_log_was_dropped(tmp_path):
    folder = tmp_path / "data"
    made(folder, 12, snapshots=(5, 9), segment_bytes=200, keep_bytes=0)
    assert segments(folder)[0].stem != "0" * 20
    server = Server(folder)
    for number in range(12):
        assert server.learn([{"a": 1}], ["b"], key=f"k{number}", digest=f"{number}").repeated
    server.close()


def test_a_rollback_survives_the_loss_of_the_snapshot_after_it(tmp_path):
    folder = tmp_path / "data"
    server, examples = Server(folder), Examples("features")
    for _ in range(6):
        server.learn(*examples.some(2))
        server.writer.snapshot()
    server.writer.rollback(4)
    server.learn(*examples.some(2))
    expected = server.content
    server.close()
    sorted((folder / "snapshots").iterdir())[-1].write_bytes(b"damaged")
    assert started(folder) == expected


def test_old_snapshots_are_removed_once_no_rollback_needs_them(tmp_path):
    server, examples = Server(tmp_path / "data"), Examples("features")
    for number in range(30):
        server.learn(*examples.some(1))
        server.writer.snapshot()
        if number % 7 == 6:
            server.writer.rollback(server.store.snapshots()[1].version)
    server.close()
    assert len(server.store.snapshots()) <= 8


def test_a_damaged_identity_is_told_in_one_line(tmp_path, capsys):
    save(Perceptron().fit([[0.0], [1.0]], [0, 1]), tmp_path / "model")
    store = Store(tmp_path / "data")
    store.begin(Perceptron().fit([[0.0], [1.0]], [0, 1]), (tmp_path / "model").read_bytes())
    whole = (tmp_path / "data" / "server.json").read_bytes()
    for content in (b"", b"\xff\xfe", b"0" * 64, b"[]", whole.replace(b"leader", b"LEADER"), whole.replace(b"0", b"1")):
        (tmp_path / "data" / "server.json").write_bytes(content)
        assert "server.json: the file is damaged" in refusal_of(capsys, tmp_path / "data", tmp_path / "model")


# ---- starting again


def test_examples_that_were_replayed_count_for_the_next_snapshot(tmp_path):
    folder = tmp_path / "data"
    examples = Examples("features")
    for _ in range(6):  # killed again and again before a snapshot is due
        server = Server(folder, every=10)
        server.learn(*examples.some(4))
        server.close()
    assert len(server.store.snapshots()) > 1


def test_keys_are_remembered_across_starts(tmp_path):
    folder = tmp_path / "data"
    contents = made(folder, 4)
    server = Server(folder)
    again = server.learn([{"a": 1}], ["b"], key="k2", digest="2")
    assert again.repeated
    with pytest.raises(ValueError, match="was used for another request"):
        server.learn([{"a": 1}], ["b"], key="k2", digest="other")
    assert server.content == contents[-1]
    server.close()


def test_a_key_that_comes_again_after_it_was_forgotten_is_counted_once():
    replies, reply = RecentReplies(), LearnReply(1, 1, 0, ["a"], repeated=False)
    for _ in range(5):
        replies.add("k", "", reply)
    assert replies._n_bytes == len("k") + len(json.encode(reply))


def test_jumps_of_the_clock_change_nothing(tmp_path, monkeypatch):
    contents = made(tmp_path / "steady", 10, snapshots=(4,))
    jumps = itertools.cycle((0.0, 1e9, -1e9, 5.0, 2e18, -3.0))
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    monkeypatch.setattr(time, "monotonic", lambda: next(jumps))
    assert made(tmp_path / "jumping", 10, snapshots=(4,), clock=lambda: next(jumps)) == contents
    server = Server(tmp_path / "jumping", clock=lambda: next(jumps))
    assert server.content == contents[-1]
    assert len(server.writer.progress.stats().throughput.series) == 60
    server.close()


# ---- what others do at the same time


def test_numbers_are_told_while_segments_and_snapshots_come_and_go(tmp_path, monkeypatch):
    server = Server(tmp_path / "data", every=3, keep_bytes=0)
    service, examples = Service(server.store, server.writer), Examples("features")
    service.ready = True
    stat = Path.stat

    def learns(path, **options):
        """A look at a file takes so long that more was learned meanwhile."""
        with monkeypatch.context() as patch:
            patch.setattr(Path, "stat", stat)
            server.learn(*examples.some(7))
        return stat(path, **options)

    for _ in range(20):
        monkeypatch.setattr(Path, "stat", learns)
        service.render_metrics()
        assert server.store.log.n_bytes > 0
        [one.entry() for one in server.store.snapshots()]
        monkeypatch.setattr(Path, "stat", stat)
    size = sum(path.stat().st_size for path in segments(tmp_path / "data"))
    assert server.store.log.n_bytes == size
    server.close()


def test_a_follower_may_ask_while_the_first_frame_of_a_segment_is_being_written(tmp_path):
    folder = tmp_path / "log"
    log = Log(folder, Start(5, 0), sync=False)
    log.close()
    log = Log(folder, Start(5, 0), sync=False)
    os.write(log._handle, next_frame(log.last, 0, b"x" * 50).encoded()[:30])
    assert list(log.frames(5)) == []
    log.close()


def test_a_frame_that_a_follower_cannot_learn_leaves_both_of_its_copies_as_they_were(tmp_path):
    server = Server(tmp_path / "data")
    server.learn([{"a": 1.0}], ["x"])
    before = server.content
    payload = b'[{"x":[{"a":2.0},["not a record"]],"y":["y","x"],"p":["x","x"]}]'
    with pytest.raises(Exception):  # noqa: B017 (whatever the model says)
        server.writer.apply(next_frame(server.store.log.last, 1, payload))
    assert server.content == before
    server.learn([{"b": 1.0}], ["y"])
    with server.writer.buffer.reading() as front:
        place = server.writer.place()
        assert server.store.content(front, place) == server.store.content(server.writer.buffer.back, place)
    server.close()


def test_a_follower_that_cannot_write_its_new_model_keeps_the_old_one(tmp_path):
    leader, follower = Server(tmp_path / "leader"), Server(tmp_path / "follower")
    leader.learn(*Examples("features").some(3))
    follower.learn(*Examples("features", 1).some(2))
    before = follower.content
    content = leader.store.content(leader.writer.buffer.back, leader.writer.place(), identity=leader.store.identity)
    with full_disk(), pytest.raises(OSError, match="No space"):
        follower.writer.become(follower.store.receive(content, "leader"), keep=False)
    assert follower.content == before
    follower.learn([{"a": 1.0}], ["x"])
    follower.writer.become(follower.store.receive(content, "leader"), keep=False)
    assert follower.content == leader.content
    follower.close()
    assert started(tmp_path / "follower") == leader.content
    leader.close()


def test_a_follower_killed_while_it_clears_its_folder_can_start_again(tmp_path, monkeypatch):
    unlink = Path.unlink
    for steps in range(1, 6):
        folder = tmp_path / f"f{steps}"
        contents = made(folder, 12, snapshots=(3,), segment_bytes=300)
        left = iter(range(steps))

        def killed(path, missing_ok=False, left=left):
            if next(left, None) is None:
                raise KeyboardInterrupt
            unlink(path, missing_ok=missing_ok)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", killed)
            with pytest.raises(KeyboardInterrupt):
                Store(folder).clear()
        store = Store(folder)
        if not store.is_new:
            assert started(folder) in contents


def test_a_log_is_written_by_one_server_whatever_happens_to_the_lock_file(tmp_path):
    folder = tmp_path / "data"
    first, examples = Server(folder), Examples("features")
    for _ in range(20):
        first.learn(*examples.some(1))
        with pytest.raises(OSError, match="another server writes this log"):
            Server(folder)
        with pytest.raises(OSError, match="another server writes this log"):
            Store(folder).repair()
    assert len(segments(folder)) > 3
    expected = first.content
    first.close()
    assert started(folder) == expected


def test_a_second_server_on_the_same_folder_is_refused(tmp_path):
    folder = tmp_path / "data"
    command = [*PROGRAM, "serve", "--data", str(folder), "--port", str(free_port())]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as first:
        try:
            assert "Serving" in first.stderr.readline()
            second = subprocess.run([*command[:-1], str(free_port())], capture_output=True, text=True, timeout=60)
            assert second.returncode == 2
            assert "another run" in second.stderr
            assert second.stderr.count("\n") == 1
            (folder / "server.lock").unlink()  # by hand: the log itself is locked, too
            for option in ("--quiet", "--repair"):
                more = subprocess.run(
                    [*command[:-1], str(free_port()), option], capture_output=True, text=True, timeout=60
                )
                assert (more.returncode, more.stderr.count("\n")) == (2, 1)
                assert "another server writes this log" in more.stderr
        finally:
            first.terminate()
        assert first.wait(30) == 0


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="needs to mount")
def test_a_folder_that_cannot_be_written_is_refused_in_one_line(tmp_path, capsys):
    folder = tmp_path / "data"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("mounting is not allowed")
    try:
        assert "read-only file system" in refusal_of(capsys, folder)
    finally:
        subprocess.run(["umount", folder], check=True)


def test_work_that_waits_is_refused_when_the_writer_fails(tmp_path):
    server = Server(tmp_path / "data")
    job: Future = server.writer.submit([{"a": 1}], ["x"])
    failed = []
    server.writer.failed = failed.append
    server.writer._commit = lambda *_: 1 / 0
    server.writer.start()
    with pytest.raises(RuntimeError, match="send the request again"):
        job.result(10)
    server.writer.join(10)
    assert not server.writer.is_alive()
    assert isinstance(failed[0], ZeroDivisionError)
