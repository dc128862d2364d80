"""The cluster: the caller's client, or a local cluster for as long as it is needed; and what to say where it fails."""

import time
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from perceptrons.training.threads import cores

PACKAGE = "perceptrons"
TRIES = 20  # of what failed because a worker died
NO_WORKER = 600  # seconds to wait for the first, or for another when all are gone
LOOK = 1.0  # seconds between two questions whether there are workers
SAY = 10.0  # seconds between two warnings that there are none
PATIENCE = 10.0  # seconds without a scheduler before it is given up
SMALL = 2**22  # bytes that travel with tasks, through the scheduler; more go straight to the workers, once for all
MISSING = "perceptrons.distributed needs Dask, which is not installed: pip install 'perceptrons[dask]'."


class ClusterError(RuntimeError):
    """The cluster failed in a way that Dask cannot mend. The estimator has the last mixed weights."""


def need_dask() -> None:
    """Raise ImportError that says what to install, if Dask is not there."""
    try:
        import dask  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise ImportError(MISSING) from error


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """The given client, or that of the place where this is called, or one of a local cluster that ends with it."""
    need_dask()
    from distributed import Client, get_client, get_worker, worker_client

    if client is None:
        try:
            get_worker()
        except ValueError:
            pass
        else:  # within a task, which must not keep the others waiting
            with worker_client() as client:
                yield client
            return
        try:
            client = get_client()
        except ValueError:
            client = None
    if client is not None:
        if not isinstance(client, Client):
            raise TypeError(f"client={client!r}: give a distributed.Client, or None for a local cluster.")
        if client.asynchronous:
            raise TypeError("client is asynchronous: give one that waits, distributed.Client(..., asynchronous=False).")
        if client.status != "running":
            raise ClusterError(f"client is {client.status}: give one that is connected to a cluster.")
        yield client
        return
    with local_cluster(None) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def cluster_errors() -> Iterator[None]:
    """What Dask says where a cluster fails, as a ClusterError."""
    from distributed import KilledWorker
    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError
    from distributed.core import RPCClosed

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(f"{error} Perhaps its memory is too small for a shard: ask for more shards.") from error
    except (CancelledError, ClosedClientError, CommClosedError, RPCClosed) as error:
        raise ClusterError(f"The cluster is lost: {error}") from error


def local_cluster(workers: int | None) -> Any:
    """A scheduler and worker processes on this machine, by default as many as it has cores, with one thread each."""
    need_dask()
    from distributed import LocalCluster

    try:
        return LocalCluster(n_workers=workers or cores(), threads_per_worker=1, dashboard_address="127.0.0.1:0")
    except RuntimeError as error:
        raise ClusterError(
            f"A local cluster cannot be started ({error}). Its workers import the program that starts them: what it "
            "does must stand under `if __name__ == '__main__':`."
        ) from error


def check_installed(client: Any) -> None:
    """Raise ClusterError for a cluster without this package, which would end its workers; waits for the first."""
    try:
        client.wait_for_workers(1, timeout=NO_WORKER)
    except TimeoutError as error:
        raise ClusterError(f"No worker has come to the cluster in {NO_WORKER} seconds: start some.") from error
    places = {"the scheduler": client.run_on_scheduler(find_spec, PACKAGE)}
    places |= {f"the worker {address}": found for address, found in client.run(find_spec, PACKAGE).items()}
    for place, found in places.items():
        if found is None:
            raise ClusterError(
                f"{client.scheduler.address}: {place} has no package {PACKAGE}: install it there, as it is here, and "
                "start the cluster anew."
            )


def threads_of(client: Any) -> int:
    """How many threads the cluster has by now."""
    return sum(client.nthreads().values())


def sent(client: Any, value: Any, size: int, copies: int) -> Any:
    """What to give to so many tasks for a value of so many bytes: itself, or if it is large, what was sent ahead."""
    return value if size * copies <= SMALL else scattered(client, value, broadcast=True)


def is_near(client: Any) -> bool | None:
    """Can workers be reached without the scheduler between, for certain? None: Dask decides."""
    from distributed import LocalCluster

    return True if isinstance(client.cluster, LocalCluster) else None


def scattered(client: Any, value: Any, broadcast: bool = False) -> Any:
    """The value, sent to a worker or to all. A worker that dies meanwhile is no reason to fail."""
    workers = Workers(client)
    for left in reversed(range(TRIES)):
        while not client.nthreads():
            workers.look()
            time.sleep(0.1)
        try:
            return client.scatter([value], broadcast=broadcast, hash=False, direct=is_near(client))[0]
        except (OSError, KeyError, ValueError) as error:  # of Dask's own, where a worker goes that was just there
            check_scheduler(client, error)
            if not left:
                raise ClusterError(f"Nothing can be sent to the workers: {error!r}") from error
            time.sleep(0.1)
    raise AssertionError


class Workers:
    """Are there any left? If they may come back, they are waited for, but not for ever."""

    def __init__(self, client: Any):
        self._client, self._seen, self._next, self._say = client, time.monotonic(), 0.0, 0.0

    def look(self) -> None:
        """Warn if there is no worker, ClusterError if there has been none for long. Asks the scheduler now and then."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + min(LOOK, NO_WORKER)
        check_scheduler(self._client)
        if self._client.nthreads():
            self._seen, self._say = now, 0.0
        elif now - self._seen > NO_WORKER:
            raise ClusterError(f"No worker has been left in the cluster for {NO_WORKER} seconds: start some.")
        elif now >= self._say:
            self._say = now + SAY
            left = NO_WORKER - (now - self._seen)
            what = f"The cluster has no worker left: waiting for another, for {left:.0f} more seconds. Start some."
            warnings.warn(what, RuntimeWarning, stacklevel=2)


def check_scheduler(client: Any, error: BaseException | None = None) -> None:
    """Raise ClusterError if the scheduler has gone away and does not come back. error: what made one ask."""
    until = time.monotonic() + PATIENCE
    while client.status != "running":
        if client.status in ("closed", "closing") or time.monotonic() > until:
            where = getattr(client.scheduler, "address", None) or "an address not known any more"
            raise ClusterError(f"The connection to the scheduler at {where} is lost.") from error
        time.sleep(0.1)
