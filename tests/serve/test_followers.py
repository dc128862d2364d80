"""A follower keeps what its leader has lost, a promotion is remembered, and the leader of an older term is refused."""

import shutil
import time

import pytest

from perceptrons.client import ServerError
from perceptrons.modelfile import ModelFileError
from perceptrons.serve import follower as following
from perceptrons.serve.store import Store
from tests.support.processes import wait_until
from tests.support.served import Examples, as_text, full_disk, read_log
from tests.support.served_here import LEADER, follow_through, served


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(following, "WAIT_SECONDS", 0)
    monkeypatch.setattr(following, "PAUSE_SECONDS", 0.02)


class Numbered(Examples):
    """Examples of features; `taught` holds those that a server acknowledged."""

    def __init__(self, seed=0):
        super().__init__("features", seed)
        self.taught = []

    def teach(self, http, n, key=None):
        for _ in range(n):
            examples, labels = self.some(1)
            answer = http.client.learn(examples, labels, key=key)
            self.taught += map(as_text, examples)
        return answer


def ready(http):
    return http.get("/readyz").json()


def version(http):
    return ready(http)["version"]


def content(http):
    return http.get("/model/file").content


def learned(folder):
    return read_log(folder).examples()


# ---- a leader that has less


def leader_that_lost(how, folder, examples):
    """Let a leader learn 12 examples, and lose some or all of them."""
    backup = folder.with_name("backup")
    with served(folder) as http:
        examples.teach(http, 5)
    shutil.copytree(folder, backup)
    yield
    shutil.rmtree(folder)
    if how == "is from a backup":
        shutil.copytree(backup, folder)


@pytest.mark.parametrize("how", ["is empty", "is from a backup"])
def test_a_follower_deletes_nothing_that_its_leader_has_not(tmp_path, how, caplog):
    leader, copy, examples = tmp_path / "leader", tmp_path / "copy", Numbered()
    losing = leader_that_lost(how, leader, examples)
    next(losing)
    with served(leader) as first, served(copy, follow=(first,)) as follower:
        examples.teach(first, 7)
        wait_until(lambda: version(follower) == 12)
        expected = content(follower)
        follow_through(follower.service, None)
    next(losing, None)
    with served(leader) as second:
        assert version(second) < 12
        with served(copy, follow=(second,)) as follower:
            wait_until(lambda: "warning" in ready(follower))
            warning = ready(follower)["warning"]
            assert f"It has version {version(second)} " in warning
            assert "this server has version 12 (12 entries)" in warning
            assert "--accept-older" in warning
            assert follower.get("/stats").json()["warning"] == warning
            Numbered(seed=1).teach(second, 5 if how == "is empty" else 2)  # still fewer
            time.sleep(0.2)
            Numbered(seed=1).teach(second, 20)  # more, but others
            wait_until(lambda: "its log is not the one" in ready(follower).get("warning", ""))
            assert content(follower) == expected
        assert learned(copy)[-7:] == examples.taught[-7:]
        assert sum("Not following" in record.message for record in caplog.records) >= 2
        with served(copy, follow=(second,), accept_older=True) as follower:
            wait_until(lambda: content(follower) == content(second))
            Numbered(seed=2).teach(second, 1)
            wait_until(lambda: content(follower) == content(second))
            assert "warning" not in ready(follower)
    assert learned(copy / "older-1")[-7:] == examples.taught[-7:]
    with served(copy / "older-1") as old:
        assert content(old) == expected


def test_a_leader_that_comes_back_as_it_was_is_followed_again(tmp_path):
    leader, copy, examples = tmp_path / "leader", tmp_path / "copy", Numbered()
    with served(leader) as first, served(copy, follow=(first,)) as follower:
        examples.teach(first, 3)
        wait_until(lambda: version(follower) == 3)
    shutil.copytree(leader, tmp_path / "whole")
    shutil.rmtree(leader)
    with (
        served(leader) as empty,
        served(tmp_path / "whole") as whole,
        served(copy, follow=(empty,)) as follower,
    ):
        wait_until(lambda: "warning" in ready(follower))
        examples.teach(whole, 2)
        follow_through(follower.service, whole)
        wait_until(lambda: version(follower) == 5)
        wait_until(lambda: "warning" not in ready(follower))


def test_a_follower_is_not_taken_to_a_leader_with_another_model(tmp_path):
    with served(tmp_path / "other") as http:
        Numbered().teach(http, 2)
        http.get("/model/file")
        (tmp_path / "model").write_bytes(content(http))
    with served(tmp_path / "a") as first, served(tmp_path / "copy", follow=(first,)) as follower:
        wait_until(lambda: version(follower) == 0)
    with (
        served(tmp_path / "b", tmp_path / "model") as second,
        served(tmp_path / "copy", follow=(second,)) as follower,
    ):
        wait_until(lambda: "began with another model" in ready(follower).get("warning", ""))


# ---- promotion


@pytest.fixture
def promoted(tmp_path):
    """The folders of a leader that has learned 10 examples, and of its follower, promoted, that has learned 10 more."""
    leader, copy, examples = tmp_path / "leader", tmp_path / "copy", Numbered()
    with served(leader) as first, served(copy, follow=(first,)) as follower:
        examples.teach(first, 10)
        wait_until(lambda: version(follower) == 10)
        with pytest.raises(ServerError, match="follower, which does not learn"):
            examples.teach(follower, 1)
        assert follower.client.promote() == {"role": "leader", "term": 1, "version": 10}
        assert follower.client.promote()["term"] == 1
        examples.teach(follower, 10)
    return leader, copy, examples


def test_a_promoted_follower_stays_a_leader_when_it_is_started_again_with_the_same_command(promoted):
    leader, copy, examples = promoted
    with served(copy, follow=(None,)) as http:  # the old leader is off
        assert http.get("/stats").json()["role"] == "leader"
        examples.teach(http, 1)
    with served(leader) as old, served(copy, follow=(old,)) as http:  # the old leader is back
        assert http.get("/stats").json()["role"] == "leader"
        examples.teach(http, 1)
        with pytest.raises(ServerError, match=r"Another server was promoted \(term 1\)"):
            Numbered(1).teach(old, 1)
        assert "Another server was promoted" in ready(old)["warning"]
    assert learned(copy) == examples.taught


def test_an_old_leader_that_has_heard_of_a_promotion_remembers_it_when_it_is_started_again(promoted):
    leader, copy, _ = promoted
    with served(leader) as old, served(copy, follow=(old,)):
        wait_until(lambda: "Another server was promoted (term 1)" in ready(old).get("warning", ""))
    with served(leader) as old:  # the new leader is off
        with pytest.raises(ServerError, match=r"Another server was promoted \(term 1\)"):
            Numbered(1).teach(old, 1)
        assert old.client.promote()["term"] == 2  # a person has decided so
        Numbered(1).teach(old, 1)
        assert "warning" not in ready(old)
    with served(leader) as old:
        Numbered(2).teach(old, 1)


def test_the_old_leader_can_follow_the_new_one_if_it_has_nothing_more(promoted, tmp_path):
    leader, copy, _ = promoted
    shutil.copytree(leader, tmp_path / "more")
    with served(tmp_path / "more") as http:
        Numbered(1).teach(http, 1)
    with served(copy, follow=(None,)) as new:
        with served(leader, follow=(new,)) as old:
            wait_until(lambda: version(old) == 20)
            wait_until(lambda: old.get("/stats").json()["term"] == 1)
            assert content(old) == content(new)
        with served(tmp_path / "more", follow=(new,)) as more:
            wait_until(lambda: "its log is not the one" in ready(more).get("warning", ""))
            assert version(more) == 11
    with served(leader, follow=(None,)) as old:
        assert old.get("/stats").json()["role"] == "follower"


def test_who_knows_the_new_term_does_not_follow_the_old_leader(promoted, tmp_path):
    leader, copy, _ = promoted
    with served(copy, follow=(None,)) as new, served(tmp_path / "third", follow=(new,)) as third:
        wait_until(lambda: version(third) == 20)
    with served(leader) as old:
        Numbered(1).teach(old, 30)
        with served(tmp_path / "third", follow=(old,)) as third:
            wait_until(lambda: "leader of term 0, but this server knows term 1" in ready(third).get("warning", ""))
            assert version(third) == 20


def test_a_promotion_that_cannot_be_written_is_refused_and_the_follower_follows(tmp_path):
    examples = Numbered()
    with served(tmp_path / "leader") as leader, served(tmp_path / "copy", follow=(leader,)) as follower:
        with full_disk():
            assert follower.post("/promote").status_code == 507
        examples.teach(leader, 3)
        wait_until(lambda: version(follower) == 3)


def test_the_folder_of_a_follower_that_is_started_without_follow_is_of_a_new_term(tmp_path):
    with served(tmp_path / "leader") as leader, served(tmp_path / "copy", follow=(leader,)) as follower:
        Numbered().teach(leader, 2)
        wait_until(lambda: version(follower) == 2)
    with served(tmp_path / "copy") as http:
        assert http.post("/promote").json() == {"role": "leader", "term": 1, "version": 2}


def test_a_follower_without_snapshots_is_not_begun_over_its_log(tmp_path):
    with served(tmp_path / "leader") as leader:
        with served(tmp_path / "copy", follow=(leader,)) as follower:
            Numbered().teach(leader, 2)
            wait_until(lambda: version(follower) == 2)
        shutil.rmtree(tmp_path / "copy" / "snapshots")
        with (
            pytest.raises(AssertionError, match="the snapshots are gone"),
            served(tmp_path / "copy", follow=(leader,)),
        ):
            pass
    assert len(learned(tmp_path / "copy")) == 2


# ---- keys


def test_keys_of_a_leader_are_known_to_a_follower_that_began_later(tmp_path):
    examples = Numbered()
    with served(tmp_path / "leader") as leader:
        first = examples.teach(leader, 1, key="early")
        (logged,) = read_log(tmp_path / "leader").requests
        body = {"examples": logged["x"], "labels": logged["y"]}
        with served(tmp_path / "copy", follow=(leader,)) as follower:
            follower.post("/promote")
            told = follower.post("/learn", json=body, headers={"Idempotency-Key": "early"}).json()
            assert told == {**first, "repeated": True}
    with served(tmp_path / "copy", follow=(None,)) as follower:
        told = follower.post("/learn", json=body, headers={"Idempotency-Key": "early"}).json()
        assert told == {**first, "repeated": True}
        assert follower.get("/stats").json()["role"] == "leader"


def test_a_copy_that_was_cut_short_or_altered_is_refused(tmp_path):
    with served(tmp_path / "leader") as leader:
        Numbered().teach(leader, 1, key="k")
        whole = leader.client.copy()
    store = Store(tmp_path / "copy")
    assert store.receive(whole, LEADER).place.version == 1
    for place in range(0, len(whole), 11):
        flipped = bytearray(whole)
        flipped[place] ^= 4
        for damaged in (bytes(flipped), whole[:place]):
            with pytest.raises(ModelFileError):
                store.receive(damaged, LEADER)
