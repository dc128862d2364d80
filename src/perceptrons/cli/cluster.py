"""Runs `perceptrons train` and `tag train` on a Dask cluster, an existing one or processes of this machine."""

import logging
import math
import os
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from perceptrons.cli.files import open_data, refusing, refusing_data
from perceptrons.cli.messages import BadInputError, plain, say
from perceptrons.cli.options import ClusterOptions, ReadingOptions, refuse_both
from perceptrons.cli.progress import MixingProgress, ReportedCheckpoint, watching
from perceptrons.cli.screen import shows_text
from perceptrons.data.sniffing import stream_format
from perceptrons.data.source import find_files
from perceptrons.data.table import DataPath
from perceptrons.engine.wording import count

SCHEDULER_TIMEOUT = 10  # seconds
WORKER_LOG_LEVEL = "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED"
WORKER_PRELOAD = "distributed.worker.preload"
IGNORE_CTRL_C = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"  # this process answers Ctrl-C
NULL_FILE = Path(os.devnull)


def cluster_option(options: ClusterOptions) -> str | None:
    """Return the option that wants a cluster, or None."""
    return "--dask" if options.dask is not None else "--workers" if options.workers is not None else None


def check_cluster_options(options: ClusterOptions) -> None:
    """Refuse options of clusters that do not go together."""
    refuse_both(options, "dask", ("workers",), "give the address of a cluster, or start one here")
    for name in ("shards", "mixing"):
        if getattr(options, name) is not None and cluster_option(options) is None:
            raise BadInputError(f"--{name} is for clusters: also give --dask ADDRESS or --workers N.")


@contextmanager
def connected(options: ClusterOptions) -> Iterator[Any]:
    """Yield a client of the cluster."""
    from perceptrons.distributed.clients import local_cluster, need_dask

    with refusing(ImportError):
        need_dask()
    import dask
    import distributed

    with ExitStack() as stack:
        stack.enter_context(dask.config.set({WORKER_PRELOAD: [*dask.config.get(WORKER_PRELOAD), IGNORE_CTRL_C]}))
        if not options.verbose:
            stack.enter_context(dask.config.set({WORKER_LOG_LEVEL: "critical"}))
            stack.callback(logging.disable, logging.root.manager.disable)
            logging.disable(logging.CRITICAL)
        if options.dask is None:
            with refusing(OSError, RuntimeError, about="--workers: the worker processes cannot be started"):
                cluster = stack.enter_context(local_cluster(options.workers))
                client = stack.enter_context(distributed.Client(cluster))
        else:
            try:
                client = stack.enter_context(distributed.Client(options.dask, timeout=SCHEDULER_TIMEOUT))
            except (OSError, ValueError, TypeError) as error:
                raise BadInputError(
                    f"--dask {plain(options.dask, 60)}: no scheduler answers there ({error}): start one with `dask "
                    "scheduler`, and give the address that it prints."
                ) from error
        yield client


def files_for_workers(data: list[Path], reading: ReadingOptions, dask: str | None) -> tuple[list[Path], dict[str, Any]]:
    """Return the files by their absolute names, and how to read them.

    The files of a cluster of other machines need not exist on this one.
    """
    local_data = data
    if dask is not None:
        local_data = [NULL_FILE]
        if reading.format is None:
            with refusing_data():
                format: Any = stream_format(tuple(data))
                reading = replace(reading, format=format)
    reader = open_data(local_data, reading)
    if reader.format == "npz":
        raise BadInputError(
            "--format npz: workers cannot read npz files, which are loaded as a whole: use another format."
        )
    files: list[DataPath] = reader.files
    if dask is not None:  # a pattern that matches nothing here may match on the workers
        files = []
        for path in data:
            try:
                files += find_files((path,))
            except ValueError:
                files.append(path)
    parameters = {name: value for name, value in reader.request.items() if value is not None}
    if reading.many_classes:
        parameters["many_classes"] = True
    return [Path(os.path.abspath(str(path))) for path in files], parameters


def fit_on_workers(
    model: Any, data: Any, reading: dict[str, Any], options: ClusterOptions, progress: MixingProgress, *,
    epochs: int | None = None, classes: Any = None, checkpoint: ReportedCheckpoint | None = None,
    can_resume: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Fit a model on the workers; return facts about these. data: files and how to read them, or sequences and y."""
    from perceptrons.distributed import fit
    from perceptrons.distributed.clients import Workers

    mixing = {} if options.mixing is None else {"mixing": options.mixing}
    with connected(options) as client:
        if shows_text(options):
            workers = client.nthreads()
            n_workers = count(len(workers), "worker") if workers else "no workers yet"
            say(f"Cluster {client.scheduler.address}: {n_workers}. Dashboard: {client.dashboard_link}")
        with watching(progress, checkpoint), _refusing_lost_cluster(checkpoint, can_resume):
            Workers(client).wait(math.inf)
            progress.set_workers(client.nthreads(), options.shards)
            fit(
                model, data, client=client, shards=options.shards, epochs=epochs, classes=classes,
                checkpoint=checkpoint, watch=progress, **mixing, **reading,
            )  # fmt: skip
        bound = model.mixing_bound_
        return {
            "scheduler": client.scheduler.address,
            "workers": progress.workers,
            "shards": model.n_shards_,
            "mixing": model.mixing_,
            "bound": None if bound is None else {**vars(bound), "holds": bound.holds, "why": bound.explain()},
        }


@contextmanager
def _refusing_lost_cluster(checkpoint: ReportedCheckpoint | None, can_resume: bool) -> Iterator[None]:
    """Turn the loss of the scheduler, of data or of too many workers into refusals that say what is saved."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    from perceptrons.distributed import ClusterError

    try:
        yield
    except (ClusterError, CancelledError, CommClosedError, KilledWorker) as error:
        state = f"Nothing is saved{': with --checkpoint FILE a run can be resumed' if can_resume else ''}."
        if checkpoint is not None:
            state = "No epoch is complete yet, so nothing is saved."
            if checkpoint.path.exists():
                state = (
                    f"The last mixed weights are in {checkpoint.path_as_typed}: the same command with --resume "
                    "continues from there, also on another cluster."
                )
        raise BadInputError(f"{error} {state}") from error
