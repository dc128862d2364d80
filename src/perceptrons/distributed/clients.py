"""The cluster: the caller's client, or a local cluster for as long as it is needed; and what to say where it fails."""

import asyncio
import math
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from perceptrons.engine.streaming.threads import cores
from perceptrons.engine.wording import count

PACKAGE = "perceptrons"
TRIES = 20  # of what failed because a worker died
NO_WORKER = 600  # seconds to wait for the first, or for another when all are gone
LOOK = 1  # seconds between two questions whether there are workers
AGAIN = 10  # seconds between two warnings that there are none
TICK = 0.1  # seconds between two looks at Ctrl-C, the clock and the cluster
PATIENCE = 10.0  # seconds without a scheduler before it is given up
SMALL = 2**22  # bytes that travel with tasks, through the scheduler; more go straight to the workers, once for all
MISSING = "perceptrons.distributed needs Dask, which is not installed: pip install 'perceptrons[dask]'."


class ClusterError(RuntimeError):
    """The cluster failed in a way that Dask cannot repair. The estimator has the last mixed weights."""


class ClusterWarning(UserWarning):
    """The cluster has no workers, so that training waits for one; or it has some again."""


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
            raise TypeError(
                "client is asynchronous: give a synchronous one, distributed.Client(..., asynchronous=False)."
            )
        if client.status != "running":
            raise ClusterError(f"client is {client.status}: give a client that is connected to a cluster.")
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
        raise ClusterError(f"{error} Its memory may be too small for a shard: use more shards.") from error
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
            f"A local cluster cannot be started ({error}). Its workers import the program that starts them, so put "
            "your code under `if __name__ == '__main__':`."
        ) from error


def check_installed(client: Any) -> None:
    """Raise ClusterError for a cluster without this package, which would end its workers; waits for the first."""
    Workers(client).wait()
    places = {"the scheduler": client.run_on_scheduler(find_spec, PACKAGE)}
    places |= {f"the worker {address}": found for address, found in client.run(find_spec, PACKAGE).items()}
    for place, found in places.items():
        if found is None:
            raise ClusterError(
                f"{client.scheduler.address}: {place} does not have the package {PACKAGE}: install it there and "
                "restart the cluster."
            )


def threads_of(client: Any) -> int:
    """How many threads the cluster has by now."""
    return sum(client.nthreads().values())


def sent(workers: "Workers", value: Any, size: int, copies: int) -> Any:
    """What to pass to the tasks: the value itself, or if its copies are large, a future of a value sent in advance."""
    return value if size * copies <= SMALL else scattered(workers, value, broadcast=True)


def is_near(client: Any) -> bool | None:
    """Can workers be reached without the scheduler between, for certain? None: Dask decides."""
    from distributed import LocalCluster

    return True if isinstance(client.cluster, LocalCluster) else None


def scattered(workers: "Workers", value: Any, broadcast: bool = False) -> Any:
    """The value, sent to a worker or to all. A worker that dies meanwhile is no reason to fail."""
    client = workers.client
    for left in reversed(range(TRIES)):
        workers.wait()
        try:
            return client.scatter([value], broadcast=broadcast, hash=False, direct=is_near(client))[0]
        except (OSError, KeyError, ValueError) as error:  # of Dask's own, where a worker goes that was just there
            check_scheduler(client, error)
            if not left:
                raise ClusterError(f"Data cannot be sent to the workers: {error!r}") from error
            time.sleep(TICK)
    raise AssertionError


def gathered(workers: "Workers", futures: Any, **how: Any) -> Any:
    """What `client.gather` returns, but never waiting in silence for a cluster without workers."""
    waiting = gathering(workers, futures, **how)
    while True:
        try:
            next(waiting)
        except StopIteration as end:
            return end.value


def gathering(workers: "Workers", futures: Any, **how: Any) -> Generator[None, None, Any]:
    """As `gathered`; yields again and again while it waits, so that its caller can do something else."""
    client = workers.client
    asked = asyncio.run_coroutine_threadsafe(client.gather(futures, asynchronous=True, **how), client.loop.asyncio_loop)
    try:
        while True:
            try:
                result = asked.result(timeout=TICK)
                break
            except TimeoutError:
                if asked.done():
                    raise  # a task's own
            workers.look()
            yield
    finally:
        asked.cancel()
    workers.found()
    return result


class Workers:
    """Are there any left? If they may come back, they are waited for, but not in silence and not for ever."""

    def __init__(self, client: Any, clock: Callable[[], float] = time.monotonic):
        self.client, self._clock = client, clock
        self._next = self._say = -math.inf  # when to ask the scheduler again, and when to warn again
        self._gone: float | None = None  # since when there has been none

    def look(self, patience: float | None = None) -> None:
        """Warn if there is no worker, and raise ClusterError if there has been none for long (default: NO_WORKER).

        Asks the scheduler now and then only.
        """
        check_scheduler(self.client)
        now, patience = self._clock(), NO_WORKER if patience is None else patience
        if now < self._next:
            return
        self._next = now + min(LOOK, patience)
        if self.client.nthreads():
            self.found()
            return
        if self._gone is None:
            self._gone, self._say = now, now
        if now - self._gone > patience:
            raise ClusterError(f"The cluster has had no workers for {patience} seconds: start some.")
        if now >= self._say:
            self._say = now + AGAIN
            self._warn(f"no workers: {self._waiting(now - self._gone, patience)}")

    def found(self) -> None:
        """There are workers; if there were none before, say so."""
        if self._gone is not None:
            missing, self._gone = round(self._clock() - self._gone), None
            here = count(len(self.client.nthreads()), "worker")
            self._warn(f"{here} now, after {count(missing, 'second')} without workers: training resumes.")

    def wait(self, patience: float | None = None) -> None:
        """Wait for a worker."""
        while not self.client.nthreads():
            self.look(patience)
            time.sleep(TICK)
        self.found()

    def _waiting(self, missing: float, patience: float) -> str:
        limit = "" if math.isinf(patience) else f"up to {patience:g} seconds "
        so_far = f" ({missing:.0f} seconds so far)" if missing else ""
        return f"waiting {limit}for one{so_far}. Start workers (dask worker, cluster.scale), or stop with Ctrl-C."

    def _warn(self, what: str) -> None:
        """The time makes every warning a new one: Python shows the same text only once."""
        text = f"{time.strftime('%H:%M:%S')}: The cluster at {self.client.scheduler.address} has {what}"
        warnings.warn(text, ClusterWarning, stacklevel=3)


def check_scheduler(client: Any, error: BaseException | None = None) -> None:
    """Raise ClusterError if the scheduler has gone away and does not come back. error: what made one ask."""
    until = time.monotonic() + PATIENCE
    while client.status != "running":
        if client.status in ("closed", "closing") or time.monotonic() > until:
            where = getattr(client.scheduler, "address", None) or "an unknown address"
            raise ClusterError(f"The connection to the scheduler at {where} is lost.") from error
        time.sleep(0.1)
