"""Runs `perceptrons train` and `tag train` on a Dask cluster, an existing one or processes of this machine."""

import logging
import math
import os
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing, refusing_data
from perceptrons.cli.inputs import STDIN, opened
from perceptrons.cli.screen import count, plain, say

if TYPE_CHECKING:
    from perceptrons.cli.progress import MixingWatch, SpokenCheckpoint
    from perceptrons.data.table import DataPath

SECONDS = 10  # to wait for a scheduler
QUIET = "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED"
PRELOAD = "distributed.worker.preload"
DEAF = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"  # a Ctrl-C is this process's to answer
NOTHING = Path(os.devnull)


def check_options(asked: Any) -> str | None:
    """Refuse options of clusters that do not go together; returns the one that asks for a cluster, if any."""
    if asked.dask is not None and asked.workers is not None:
        raise BadInputError(
            "--dask and --workers cannot be combined: give the address of a cluster, or start one here."
        )
    chosen = "--dask" if asked.dask is not None else "--workers" if asked.workers is not None else None
    for name in ("shards", "mixing"):
        if getattr(asked, name) is not None and chosen is None:
            raise BadInputError(f"--{name} is for clusters: also give --dask ADDRESS or --workers N.")
    return chosen


def check(files: list[Path], asked: Any) -> None:
    """Refuse what does not go with a cluster."""
    chosen = check_options(asked)
    if asked.example is not None:
        raise BadInputError(f"--example cannot be combined with {chosen}: one machine trains on it in no time.")
    if not files:
        raise BadInputError(f"{chosen} needs DATA: name the files that the workers should read.")
    if STDIN in files:
        raise BadInputError(f"- cannot be combined with {chosen}: workers cannot read standard input, so give files.")
    if getattr(asked, "trace", None) is not None:
        raise BadInputError(f"--trace cannot be combined with {chosen}: it follows one run, not one per shard.")
    if asked.cache is not None:
        raise BadInputError(
            f"--cache cannot be combined with {chosen}: every worker keeps what it reads on its own disk."
        )
    if asked.time_order:
        raise BadInputError(f"--time-order cannot be combined with {chosen}: use a separate test file, --test FILE.")
    if asked.test_share:
        raise BadInputError(f"--test-share cannot be combined with {chosen}: use a separate test file, --test FILE.")
    if asked.probabilities is not None:
        raise BadInputError(
            f"--probabilities cannot be combined with {chosen}: calibrate the model afterwards in Python, with "
            "perceptrons.selection.calibrate."
        )
    if isinstance(asked.threshold, str):
        raise BadInputError(f"--threshold {plain(asked.threshold)} cannot be combined with {chosen}: give a number.")


@contextmanager
def connected(asked: Any) -> Iterator[Any]:
    """A client of the cluster that was asked for."""
    from perceptrons.distributed.clients import local_cluster, need_dask

    with refusing(ImportError):
        need_dask()
    import dask
    import distributed

    with ExitStack() as stack:
        stack.enter_context(dask.config.set({PRELOAD: [*dask.config.get(PRELOAD), DEAF]}))
        if not asked.verbose:
            stack.enter_context(dask.config.set({QUIET: "critical"}))
            stack.enter_context(_silence())
        if asked.dask is None:
            with refusing(OSError, RuntimeError, about="--workers: the worker processes cannot be started"):
                cluster = stack.enter_context(local_cluster(asked.workers))
                client = stack.enter_context(distributed.Client(cluster))
        else:
            try:
                client = stack.enter_context(distributed.Client(asked.dask, timeout=SECONDS))
            except (OSError, ValueError, TypeError) as error:
                raise BadInputError(
                    f"--dask {plain(asked.dask, 60)}: no scheduler answers there ({error}): start one with `dask "
                    "scheduler`, and give the address that it prints."
                ) from error
        yield client


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing is logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def by_workers(files: list[Path], asked: Any) -> tuple[list[Path], dict[str, Any]]:
    """Files by their whole names, and how to read them. Those of another machine's cluster need not be on this one."""
    from perceptrons.data import stream_format

    data = files
    if asked.dask is not None:
        data = [NOTHING]
        if asked.format is None:
            with refusing_data():
                asked = SimpleNamespace(**{**vars(asked), "format": stream_format(tuple(files))})
    reader = opened(data, asked)
    if reader.format == "npz":
        raise BadInputError(
            "--format npz: workers cannot read npz files, which are loaded as a whole: use another format."
        )
    found: list[DataPath] = _found(files) if asked.dask is not None else reader.files
    how = {name: value for name, value in reader.asked.items() if value is not None}
    if asked.many_classes:
        how["many_classes"] = True
    return [Path(os.path.abspath(str(path))) for path in found], how


def _found(data: list[Path]) -> "list[DataPath]":
    """The files that names and patterns stand for; a pattern without any here may have some there."""
    from perceptrons.data.source import find_files

    files: list[DataPath] = []
    for path in data:
        found: list[DataPath] = [path]
        with suppress(ValueError):
            found = find_files((path,))
        files += found
    return files


def learn_on_cluster(
    model: Any, data: Any, how: dict[str, Any], asked: Any, classes: Any, watching: "MixingWatch",
    checkpoint: "SpokenCheckpoint | None",
) -> dict[str, Any]:  # fmt: skip
    """Learn on the workers; what there is to say of them. data: files and how to read them, or sequences and y."""
    from perceptrons.cli.progress import watched
    from perceptrons.distributed import fit
    from perceptrons.distributed.clients import Workers

    mixing = {} if asked.mixing is None else {"mixing": asked.mixing.value}
    with connected(asked) as client:
        if not (asked.quiet or asked.json):
            workers = client.nthreads()
            there = count(len(workers), "worker") if workers else "no workers yet"
            say(f"Cluster {client.scheduler.address}: {there}. Dashboard: {client.dashboard_link}")
        path = None if checkpoint is None else asked.checkpoint
        with watched(watching, checkpoint, path), _refusing_lost(asked, checkpoint):
            Workers(client).wait(math.inf)
            watching.meet(client.nthreads(), asked.shards)
            fit(
                model, data, client=client, shards=asked.shards, epochs=getattr(asked, "epochs", None),
                classes=classes, checkpoint=checkpoint, watch=watching, **mixing, **how,
            )  # fmt: skip
        bound = model.mixing_bound_
        return {
            "scheduler": client.scheduler.address,
            "workers": watching.workers,
            "shards": model.n_shards_,
            "mixing": model.mixing_,
            "bound": None if bound is None else {**vars(bound), "holds": bound.holds, "why": bound.explain()},
        }


@contextmanager
def _refusing_lost(asked: Any, checkpoint: "SpokenCheckpoint | None") -> Iterator[None]:
    """Turn the loss of the scheduler, of data or of too many workers into refusals that say what is left."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    from perceptrons.distributed import ClusterError

    try:
        yield
    except (ClusterError, CancelledError, CommClosedError, KilledWorker) as error:
        left = "Nothing is saved"
        left += ": with --checkpoint FILE a run can be resumed." if hasattr(asked, "checkpoint") else "."
        if checkpoint is not None:
            left = "No epoch is complete yet, so nothing is saved."
        if checkpoint is not None and checkpoint.path.exists():
            left = (
                f"The last mixed weights are in {asked.checkpoint}: the same command with --resume continues from "
                "there, also on another cluster."
            )
        raise BadInputError(f"{error} {left}") from error
