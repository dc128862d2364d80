"""Workers and schedulers that die, shards larger than memory, runs that are stopped and go on elsewhere."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import perceptrons
from perceptrons import Checkpoint, Perceptron
from perceptrons.distributed import ClusterError, ClusterWarning, fit

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

SHARDS, EPOCHS = 4, 40
SETTINGS = {"random_state": 3, "tol": None, "max_iter": EPOCHS}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 20))
    return X, (X @ rng.normal(size=(20, 3)) + rng.normal(size=(4000, 3))).argmax(axis=1)


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    X, y = data
    for number, rows in enumerate(np.array_split(np.arange(len(y)), SHARDS)):
        lines = (f"{y[i]} " + " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(X[i].tolist())) for i in rows)
        (folder / f"part-{number}.svm").write_text("\n".join(lines))
    return str(folder / "part-*.svm")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address="127.0.0.1:0",
        silence_logs=60,
    ) as cluster:  # fmt: skip
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def as_arrays(data, files):
    return data


def as_collections(data, files):
    X, y = data
    return da.from_array(X, chunks=(500, 20)), da.from_array(y, chunks=500)


def as_files(data, files):
    return files, None


INPUTS = {"arrays": as_arrays, "collections": as_collections, "files": as_files}


@pytest.fixture(scope="module")
def calm(cluster, data, files, tmp_path_factory):
    """What becomes of each kind of input if nobody dies."""
    path = tmp_path_factory.mktemp("calm") / "model"
    found = {}
    with distributed.Client(cluster) as client:
        for name, given in INPUTS.items():
            fit(Perceptron(**SETTINGS), *given(data, files), client, shards=SHARDS)  # workers load what they need
            began = time.perf_counter()
            model = fit(Perceptron(**SETTINGS), *given(data, files), client, shards=SHARDS)
            seconds = time.perf_counter() - began
            perceptrons.save(model, path)
            found[name] = path.read_bytes(), seconds
    return found


def pids(client, workers):
    """The processes of so many workers. One that was killed just now may still be listed: another one replaces it."""
    while len(found := client.run(os.getpid, on_error="ignore")) < workers:
        time.sleep(0.05)
    return sorted(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("run", range(10))
def test_a_worker_killed_at_any_moment_changes_no_bit(run, client, calm, data, files, tmp_path):
    rng = np.random.default_rng(run)
    name = list(INPUTS)[run % len(INPUTS)]
    expected, seconds = calm[name]
    victim = pids(client, 2)[rng.integers(2)]
    killer = threading.Timer(rng.uniform(0.05, 0.9) * seconds, os.kill, (victim, signal.SIGKILL))
    killer.start()
    model = fit(Perceptron(**SETTINGS), *INPUTS[name](data, files), client, shards=SHARDS)
    killer.join()
    perceptrons.save(model, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == expected


@pytest.mark.slow
def test_the_number_of_workers_changes_no_bit(cluster, client, calm, data, files, tmp_path):
    cluster.scale(1)
    while len(client.nthreads()) > 1:
        time.sleep(0.05)
    try:
        for name, given in INPUTS.items():
            model = fit(Perceptron(**SETTINGS), *given(data, files), client, shards=SHARDS)
            perceptrons.save(model, tmp_path / name)
            assert (tmp_path / name).read_bytes() == calm[name][0], name
    finally:
        cluster.scale(2)


@pytest.mark.slow
def test_a_scheduler_that_goes_away_leaves_the_last_mix_to_go_on_from_elsewhere(data, calm, client, tmp_path):
    path, epochs = tmp_path / "run.checkpoint", []
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=60
    ) as doomed, distributed.Client(doomed.scheduler_address, timeout=5) as lost:  # fmt: skip

        def watch(told):
            if "mistakes" in told and told["epoch"] == 5 and not epochs:
                epochs.append(told["epoch"])
                threading.Thread(target=doomed.close).start()
                while lost.status == "running":
                    time.sleep(0.01)

        model = Perceptron(**SETTINGS)
        with pytest.raises(ClusterError, match="scheduler"):
            fit(model, *data, lost, shards=SHARDS, checkpoint=Checkpoint(path, every=1000), watch=watch)
    assert model.n_iter_ >= 5
    assert model.stop_reason_ == "failed"
    saved = perceptrons.load(path)
    assert np.array_equal(saved.coef_last_, model.coef_last_)
    assert saved.n_iter_ == model.n_iter_
    resumed = fit(Perceptron(**SETTINGS), *data, client, shards=SHARDS, checkpoint=Checkpoint(path, resume=True))
    perceptrons.save(resumed, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == calm["arrays"][0]


def test_stopped_after_any_epoch_it_goes_on_as_if_it_had_not(data, tmp_path):
    X, y = data
    with distributed.Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0") as client:
        whole = fit(Perceptron(random_state=3), X, y, client, shards=3)
        for epochs in (1, 4, whole.n_iter_ - 1):
            path = tmp_path / f"{epochs}.checkpoint"
            fit(Perceptron(random_state=3, max_iter=epochs), X, y, client, shards=3, checkpoint=Checkpoint(path))
            model = fit(Perceptron(random_state=3), X, y, client, shards=3, checkpoint=Checkpoint(path, resume=True))
            assert np.array_equal(model.coef_, whole.coef_)
            assert np.array_equal(model.coef_last_, whole.coef_last_)
            assert (model.n_iter_, model.stop_reason_) == (whole.n_iter_, whole.stop_reason_)
            assert model.n_mistakes_ == whole.n_mistakes_
            assert model.mistakes_.tolist() == whole.mistakes_.tolist()
            with pytest.raises(ValueError, match="other data"):
                fit(
                    Perceptron(random_state=3), X[1:], y[1:], client, shards=3, checkpoint=Checkpoint(path, resume=True)
                )
            for more in ({"shards": 2}, {"shards": 3, "mixing": "uniform"}):
                with pytest.raises(ValueError, match="this run was started with"):
                    fit(Perceptron(random_state=3), X, y, client, checkpoint=Checkpoint(path, resume=True), **more)


@pytest.mark.slow
def test_shards_larger_than_a_workers_memory_are_streamed():
    def block(number, n=30_000):
        rng = np.random.default_rng(number)
        X = rng.random((n, 200), dtype=np.float32) - 0.5
        return X, (X[:, 0] > 0).astype(np.int64)

    delayed = pytest.importorskip("dask").delayed
    blocks = [delayed(block)(number) for number in range(46)]  # 24 MB each, 1.1 GB in all
    X = da.concatenate([da.from_delayed(one[0], (30_000, 200), np.float32) for one in blocks])
    y = da.concatenate([da.from_delayed(one[1], (30_000,), np.int64) for one in blocks])
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, memory_limit="1GB", dashboard_address="127.0.0.1:0",
        silence_logs=60,
    ) as cluster, distributed.Client(cluster) as client:  # fmt: skip
        before = pids(client, 1)
        model = fit(Perceptron(), X, y, client, shards=1, epochs=2)
        assert pids(client, 1) == before  # the nanny kills workers that take more than their limit
        assert model.t_ == 2 * 46 * 30_000


@pytest.mark.slow
def test_an_array_too_large_for_every_worker_is_refused_with_what_to_do():
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, memory_limit="150MB", dashboard_address="127.0.0.1:0"
    )
    X = np.zeros((60_000, 200))
    with cluster, distributed.Client(cluster) as client, pytest.raises(ValueError, match="use more shards"):
        fit(Perceptron(), X, np.arange(60_000) % 2, client, shards=1)


def test_a_cluster_that_loses_all_its_workers_is_not_waited_for_forever(data, monkeypatch):
    monkeypatch.setattr("perceptrons.distributed.clients.WORKER_TIMEOUT", 0.5)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=60
    ) as cluster, distributed.Client(cluster) as client:  # fmt: skip

        def watch(told):
            if told["epoch"] == 3:
                cluster.scale(0)

        model = Perceptron(**SETTINGS)
        with (
            pytest.raises(ClusterError, match="has had no workers"),
            pytest.warns(ClusterWarning, match="has no workers"),
        ):
            fit(model, *data, client, shards=2, watch=watch)
        assert model.n_iter_ >= 2
        assert model.stop_reason_ == "failed"


def test_ctrl_c_leaves_the_last_mixed_weights(data):
    X, y = data
    with distributed.Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0") as client:

        def watch(told):
            if told["epoch"] == 4:
                signal.raise_signal(signal.SIGINT)

        model = Perceptron(**SETTINGS)
        with pytest.raises(KeyboardInterrupt):
            fit(model, sp.csr_matrix(X), y, client, shards=2, watch=watch)
        assert model.stop_reason_ == "interrupted"
        assert 3 <= model.n_iter_ <= 5
        whole = fit(Perceptron(**SETTINGS | {"max_iter": model.n_iter_}), sp.csr_matrix(X), y, client, shards=2)
        assert np.array_equal(model.coef_last_, whole.coef_last_)
        assert model.n_mistakes_ == whole.n_mistakes_
