"""A Dask cluster for as long as a command needs it: one that is there already, or processes of this machine."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.screen import count, plain
from perceptrons.cli.stream.options import Asked

SECONDS = 10  # to wait for a scheduler
QUIET = "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED"
PRELOAD = "distributed.worker.preload"
DEAF = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"  # a Ctrl-C is this process's to answer


@contextmanager
def connected(asked: Asked, verbose: bool) -> Iterator[Any]:
    """A client of the cluster that was asked for. verbose: does Dask say what it does?"""
    from perceptrons.distributed.cluster import local_cluster, need_dask

    with refusing(ImportError):
        need_dask()
    import dask
    import distributed

    with ExitStack() as stack:
        stack.enter_context(dask.config.set({PRELOAD: [*dask.config.get(PRELOAD), DEAF]}))
        if not verbose:
            stack.enter_context(dask.config.set({QUIET: "critical"}))
            stack.enter_context(silence())
        if asked.dask is None:
            with refusing(OSError, RuntimeError, about="--workers: they cannot be started"):
                cluster = stack.enter_context(local_cluster(asked.workers))
                client = stack.enter_context(distributed.Client(cluster))
        else:
            try:
                client = stack.enter_context(distributed.Client(asked.dask, timeout=SECONDS))
            except (OSError, ValueError, TypeError) as error:
                raise BadInputError(
                    f"--dask {plain(asked.dask, 60)}: no scheduler answers there ({error}): "
                    "start one by dask scheduler, and give the address that it prints."
                ) from error
        yield client


@contextmanager
def silence() -> Iterator[None]:
    """Nothing is logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def in_words(client: Any) -> str:
    """The cluster and where to watch it."""
    workers = client.nthreads()
    there = count(len(workers), "worker") if workers else "no worker yet"
    return f"Cluster {client.scheduler.address}: {there}. Dashboard: {client.dashboard_link}"
