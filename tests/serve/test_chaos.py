"""A leader and a follower that are killed at random moments (kill -9) under load lose nothing and repeat nothing.

`tools/chaos.py` draws models of all kinds, kills servers, and compares what they serve to the bit.
"""

import os
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from perceptrons import client, save
from perceptrons.client import Client, ServerError
from tests.conftest import ROOT
from tests.support.processes import wait_until
from tests.support.served import KINDS, Examples, WarmServer, as_text, model_file, read_log, trained_offline

KILLS = {name: 50 if name in ("text", "features") else 10 for name in KINDS if name != "sparse"}
THREADS = 4
LONGEST = 0.6  # seconds between two kills
SNAPSHOT_EVERY = 60

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes of POSIX")]


class Load:
    """Threads that send examples again and again until they are acknowledged, and remember which were."""

    def __init__(self, name, url, seed):
        self.sent, self.acknowledged, self.errors, self.repeated = [], [], [], 0
        self._examples, self._lock, self._end = Examples(name, seed), threading.Lock(), threading.Event()
        self._client = Client(url, timeout=20, retries=1000)
        self._threads = [threading.Thread(target=self._run, args=(seed + number,)) for number in range(THREADS)]
        for thread in self._threads:
            thread.start()

    def _run(self, seed):
        rng = random.Random(seed)
        try:
            while not self._end.is_set():
                self._once(rng)
        except BaseException as error:
            self.errors.append(error)
            raise

    def _once(self, rng):
        with self._lock:
            examples, labels = self._examples.some(rng.choice((1, 1, 2, 5, 20)))
            self.sent += map(as_text, examples)
        by_id = rng.random() < 0.2
        answers = self._by_feedback(examples, labels) if by_id else [self._client.learn(examples, labels)]
        if rng.random() < 0.03:
            self._client.snapshot()
        assert sum(answer["learned"] for answer in answers) == len(examples)
        with self._lock:
            self.acknowledged += map(as_text, examples)
            self.repeated += any(answer["repeated"] for answer in answers)

    def _by_feedback(self, examples, labels):
        """Predict, then send the labels by the ids of the predictions; those that a restart has forgotten to /learn."""
        shown = self._client.details(examples)["predictions"]
        answers = []
        for one, example, label in zip(shown, examples, labels, strict=True):
            try:
                answers.append(self._client.feedback({one["id"]: label}))
            except ServerError as error:
                if error.status != 404:
                    raise
                answers.append(self._client.learn([example], [label]))
        return answers

    def stop(self):
        self._end.set()
        for thread in self._threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in self._threads)
        self._client.close()


@pytest.fixture
def servers(request, tmp_path, monkeypatch):
    monkeypatch.setattr(client, "MAX_PAUSE_SECONDS", 0.05)  # requests come again at once
    name = request.param
    model = model_file(name, tmp_path)
    often = ["--snapshot-every", SNAPSHOT_EVERY]
    leader = WarmServer(tmp_path / "leader", *([] if model is None else [model]), *often)
    follower = WarmServer(tmp_path / "follower", "--follow", leader.url, *often)
    yield name, model, leader, follower
    leader.close()
    follower.close()


@pytest.mark.parametrize("servers", KILLS, indirect=True)
def test_after_kills_at_random_moments_the_model_is_the_one_trained_offline_on_the_log(servers, tmp_path):
    name, model, leader, follower = servers
    leader.begin()
    leader.ready()
    follower.begin()
    follower.ready()
    load, moments = Load(name, leader.url, 1), random.Random(7)
    for _ in range(KILLS[name]):
        time.sleep(moments.uniform(0, LONGEST))
        killed = leader if moments.random() < 0.6 else follower
        assert killed.kill() == -9
        killed.begin()
        if moments.random() < 0.7:  # else it may be killed while it starts
            killed.ready()
    load.stop()
    assert load.errors == []

    ends = leader.ready(), follower.ready()
    version = ends[0].stats()["version"]
    wait_until(lambda: ends[1].stats()["version"] == version, 60)
    for number, one in enumerate(ends):
        assert one.download(tmp_path / f"of-{number}") == version
    log = read_log(leader.folder)
    learned = log.examples()
    print(f"{name}: {version:,} examples, {load.repeated} repeated, {len(log.requests):,} requests, "
          f"{log.segments} segments")  # fmt: skip
    assert len(learned) == len(set(learned)) == version
    assert set(load.acknowledged) <= set(learned) <= set(load.sent)
    assert log.versions == np.cumsum([0, *(len(one["x"]) for one in log.requests)])[:-1].tolist()
    assert log.segments > 1
    assert len(ends[0].snapshots()) > 2
    save(trained_offline(name, model, log.requests), tmp_path / "offline")
    assert (tmp_path / "of-0").read_bytes() == (tmp_path / "offline").read_bytes()
    assert (tmp_path / "of-1").read_bytes() == (tmp_path / "offline").read_bytes()


def test_what_was_served_before_a_kill_is_served_after_it_and_is_what_the_log_gives_singly():
    command = [sys.executable, "-m", "tools.chaos", "--kills", "30", "--seed", "0"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "30 kills" in run.stdout
