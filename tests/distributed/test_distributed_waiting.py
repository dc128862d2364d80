"""Clusters whose workers are all gone: `fit` says so at once and again, and resumes when they come back."""

import re
import signal
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from perceptrons import Perceptron
from perceptrons.distributed import ClusterError, ClusterWarning, clients, fit, rows

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

SETTINGS = {"random_state": 3, "tol": None, "max_iter": 6}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    return X, (X @ rng.normal(size=(10, 3))).argmax(axis=1)


def as_collections(X, y):
    return da.from_array(X, chunks=(100, 10)), da.from_array(y, chunks=100)


def as_arrays(X, y):
    return X, y


class Place:
    """A cluster in this process, whose workers can be taken away and given back."""

    def __init__(self, client):
        self.client, self.said, self.then = client, [], self.give_back

    def take_away(self):
        self.client.cluster.scale(0)
        while self.client.nthreads():
            pass

    def give_back(self):
        self.client.cluster.scale(1)

    def hear(self, message, category, *where, **more):
        """What Python calls with a warning that is to be shown."""
        assert category is ClusterWarning
        self.said.append(str(message))
        if "no workers" in self.said[-1]:
            self.then()


@pytest.fixture
def place():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=60
    ) as local, distributed.Client(local) as client, warnings.catch_warnings():  # fmt: skip
        warnings.simplefilter("always", ClusterWarning)
        found = Place(client)
        warnings.showwarning = found.hear
        yield found


def watch_that_takes_them_away_once(place):
    calls = []

    def watch(told):
        if told["epoch"] == 3 and not calls:
            calls.append(told)
            place.take_away()

    return watch


@pytest.mark.parametrize("given", [as_collections, as_arrays])
def test_fit_says_that_there_are_no_workers_and_resumes_when_they_come_back(given, place, data):
    calm = fit(Perceptron(**SETTINGS), *given(*data), place.client, shards=2)
    assert place.said == []
    model = fit(
        Perceptron(**SETTINGS), *given(*data), place.client, shards=2, watch=watch_that_takes_them_away_once(place)
    )
    assert np.array_equal(model.coef_, calm.coef_)
    assert model.mistakes_.tolist() == calm.mistakes_.tolist()
    gone, *_, back = place.said
    cluster = r"\d\d:\d\d:\d\d: The cluster at inproc://\S+ has "
    assert re.match(cluster + r"no workers: waiting up to 600 seconds for one\. ", gone)
    assert re.fullmatch(cluster + r"1 worker now, after \d+ seconds? without workers: training resumes\.", back)


def test_workers_that_go_while_data_are_read_are_missed_too(place, data, monkeypatch):
    calm = fit(Perceptron(**SETTINGS), *as_collections(*data), place.client, shards=2)

    def read_without_workers(*arguments):
        place.take_away()
        return read_partitions(*arguments)

    read_partitions = rows.read_partitions
    monkeypatch.setattr(rows, "read_partitions", read_without_workers)
    model = fit(Perceptron(**SETTINGS), *as_collections(*data), place.client, shards=2)
    assert np.array_equal(model.coef_, calm.coef_)
    assert "no workers" in place.said[0]
    assert "training resumes" in place.said[-1]


def test_a_cluster_without_a_first_worker_is_waited_for_aloud(place, data):
    place.take_away()
    fit(Perceptron(**SETTINGS), *as_collections(*data), place.client, shards=2)
    assert "no workers" in place.said[0]
    assert "training resumes" in place.said[-1]


def test_workers_that_go_twice_are_missed_twice(place, data):
    for _ in range(2):
        place.take_away()
        fit(Perceptron(**SETTINGS), *as_collections(*data), place.client, shards=2)
    assert sum("training resumes" in line for line in place.said) == 2


def test_ctrl_c_stops_a_fit_that_has_no_workers(place, data):
    place.then = lambda: signal.raise_signal(signal.SIGINT)
    model = Perceptron(**SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        fit(model, *as_collections(*data), place.client, shards=2, watch=watch_that_takes_them_away_once(place))
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ >= 2
    with pytest.raises(KeyboardInterrupt):  # before there is anything to train
        fit(Perceptron(**SETTINGS), *as_collections(*data), place.client, shards=2)


class Scheduler:
    """As much of a client as is asked whether there are workers."""

    status, scheduler = "running", SimpleNamespace(address="tcp://host:8786")

    def __init__(self):
        self.workers, self.asked = 0, 0

    def nthreads(self):
        self.asked += 1
        return dict.fromkeys(range(self.workers), 1)


def test_it_says_so_every_ten_seconds_and_gives_up_after_ten_minutes():
    client, now, said = Scheduler(), [100.0], []

    def at(seconds):
        now[0] = 100.0 + seconds
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            workers.check()
        said.extend((seconds, str(one.message)) for one in caught)

    workers = clients.Workers(client, clock=lambda: now[0])
    client.workers = 2
    at(0)
    assert said == []
    client.workers = 0
    for tenth in range(10, 351):
        at(tenth / 10)
    times, lines = zip(*said, strict=True)
    assert times == (1, 11, 21, 31)
    assert all("no workers" in line for line in lines)
    assert [re.findall(r"(\d+) seconds so far", line) for line in lines] == [[], ["10"], ["20"], ["30"]]
    assert client.asked == 36  # once a second, however often it looks
    client.workers = 2
    at(36)
    assert said[-1][0] == 36
    assert said[-1][1].endswith(" has 2 workers now, after 35 seconds without workers: training resumes.")
    client.workers = 0
    at(40)
    assert said[-1][0] == 40  # at once, though it said something a moment ago
    at(640)
    with pytest.raises(ClusterError, match="for 600 seconds"):
        at(641)
