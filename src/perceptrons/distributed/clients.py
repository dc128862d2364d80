"""The cluster: the client of the user or a temporary local cluster, and the errors and warnings when it fails."""

import asyncio
import math
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from perceptrons.engine.streaming.threads import cores
from perceptrons.engine.wording import count

PACKAGE = "perceptrons"
MAX_ATTEMPTS = 20  # after failures because a worker died
WORKER_TIMEOUT = 600  # seconds to wait for the first worker, or for another one when all are gone
SECONDS_BETWEEN_CHECKS = 1  # of whether there are workers
SECONDS_BETWEEN_WARNINGS = 10  # that there are none
TICK_SECONDS = 0.1  # between two checks of Ctrl-C, time limits and the cluster
SCHEDULER_TIMEOUT = 10.0  # seconds without a connection to the scheduler
MAX_BYTES_IN_TASKS = 2**22  # sent through the scheduler; larger values go to the workers directly, once for all tasks
DASK_IS_MISSING = "perceptrons.distributed needs Dask, which is not installed: pip install 'perceptrons[dask]'."


class ClusterError(RuntimeError):
    """The cluster failed in a way that Dask cannot repair. The estimator has the last mixed weights."""


class ClusterWarning(UserWarning):
    """The cluster has no workers, and training waits for one; or it has workers again."""


def need_dask() -> None:
    """Raise ImportError if Dask is not installed."""
    try:
        import dask  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise ImportError(DASK_IS_MISSING) from error


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """Give the client that was passed, or else the current one, or else that of a temporary local cluster."""
    need_dask()
    from distributed import Client, get_client, get_worker, worker_client

    if client is None:
        try:
            get_worker()
        except ValueError:
            pass
        else:  # within a task: worker_client lets other tasks run meanwhile
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
    """Turn the errors of Dask for a cluster that fails into ClusterError."""
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
    """Start a scheduler and worker processes with one thread each on this machine; default: one per core."""
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
    """Wait for a worker, and raise ClusterError if a machine of the cluster does not have this package."""
    Workers(client).wait()
    specs = {"the scheduler": client.run_on_scheduler(find_spec, PACKAGE)}
    specs |= {f"the worker {address}": spec for address, spec in client.run(find_spec, PACKAGE).items()}
    for name, spec in specs.items():
        if spec is None:
            raise ClusterError(
                f"{client.scheduler.address}: {name} does not have the package {PACKAGE}: install it there and "
                "restart the cluster."
            )


def is_near(client: Any) -> bool | None:
    """Return True if workers can certainly be reached without the scheduler, or None to let Dask decide."""
    from distributed import LocalCluster

    return True if isinstance(client.cluster, LocalCluster) else None


class Workers:
    """Exchanges data with the workers. Waits with warnings while there are none, but not forever."""

    def __init__(self, client: Any, clock: Callable[[], float] = time.monotonic):
        self.client, self._clock = client, clock
        self._next_check = self._next_warning = -math.inf
        self._gone_since: float | None = None

    def check(self, timeout: float | None = None) -> None:
        """Warn if there is no worker, and raise ClusterError if there has been none for longer than the timeout.

        The scheduler is asked at most once a second. The default timeout is WORKER_TIMEOUT.
        """
        check_scheduler(self.client)
        now, timeout = self._clock(), WORKER_TIMEOUT if timeout is None else timeout
        if now < self._next_check:
            return
        self._next_check = now + min(SECONDS_BETWEEN_CHECKS, timeout)
        if self.client.nthreads():
            self.note_presence()
            return
        if self._gone_since is None:
            self._gone_since = self._next_warning = now
        missing = now - self._gone_since
        if missing > timeout:
            raise ClusterError(f"The cluster has had no workers for {timeout} seconds: start some.")
        if now >= self._next_warning:
            self._next_warning = now + SECONDS_BETWEEN_WARNINGS
            limit = "" if math.isinf(timeout) else f"up to {timeout:g} seconds "
            so_far = f" ({missing:.0f} seconds so far)" if missing else ""
            self._warn(
                f"no workers: waiting {limit}for one{so_far}. Start workers (dask worker, cluster.scale), or stop with "
                "Ctrl-C."
            )

    def note_presence(self) -> None:
        """Note that there are workers, and warn if there were none before."""
        if self._gone_since is not None:
            missing, self._gone_since = round(self._clock() - self._gone_since), None
            workers = count(len(self.client.nthreads()), "worker")
            self._warn(f"{workers} now, after {count(missing, 'second')} without workers: training resumes.")

    def wait(self, timeout: float | None = None) -> None:
        """Wait for a worker."""
        while not self.client.nthreads():
            self.check(timeout)
            time.sleep(TICK_SECONDS)
        self.note_presence()

    def send(self, value: Any, size: int, copies: int) -> Any:
        """Return what to pass to tasks: the value itself, or a future of it if its copies would be large."""
        return value if size * copies <= MAX_BYTES_IN_TASKS else self.scatter(value, broadcast=True)

    def scatter(self, value: Any, broadcast: bool = False) -> Any:
        """Send a value to a worker, or to all, and return its future. Try again if a worker dies meanwhile."""
        for attempts_left in reversed(range(MAX_ATTEMPTS)):
            self.wait()
            try:
                return self.client.scatter([value], broadcast=broadcast, hash=False, direct=is_near(self.client))[0]
            except (OSError, KeyError, ValueError) as error:  # what Dask raises when a worker disappears
                check_scheduler(self.client, error)
                if not attempts_left:
                    raise ClusterError(f"Data cannot be sent to the workers: {error!r}") from error
                time.sleep(TICK_SECONDS)
        raise AssertionError

    def gather(self, futures: Any, **options: Any) -> Any:
        """Return what `client.gather` returns, but warn while the cluster has no workers."""
        return deque(self.gathering(futures, **options), maxlen=1).pop()

    def gathering(self, futures: Any, **options: Any) -> Iterator[Any]:
        """Yield None several times a second, so that the caller can do other things; at last what `gather` returns."""
        gather = self.client.gather(futures, asynchronous=True, **options)
        result = asyncio.run_coroutine_threadsafe(gather, self.client.loop.asyncio_loop)
        try:
            while True:
                try:
                    values = result.result(timeout=TICK_SECONDS)
                    break
                except TimeoutError:
                    if result.done():
                        raise  # a task raised it
                self.check()
                yield None
        finally:
            result.cancel()
        self.note_presence()
        yield values

    def _warn(self, text: str) -> None:
        """Warn with the time of day in the text, because Python shows the same text only once."""
        text = f"{time.strftime('%H:%M:%S')}: The cluster at {self.client.scheduler.address} has {text}"
        warnings.warn(text, ClusterWarning, stacklevel=3)


def check_scheduler(client: Any, error: BaseException | None = None) -> None:
    """Raise ClusterError if the connection to the scheduler is lost and does not return. error: its cause."""
    deadline = time.monotonic() + SCHEDULER_TIMEOUT
    while client.status != "running":
        if client.status in ("closed", "closing") or time.monotonic() > deadline:
            address = getattr(client.scheduler, "address", None) or "an unknown address"
            raise ClusterError(f"The connection to the scheduler at {address} is lost.") from error
        time.sleep(TICK_SECONDS)
