"""`perceptrons train` on a cluster: its workers read and learn, the weights are mixed here; save, test, report."""

import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perceptrons.cli.cluster.connecting import connected, in_words
from perceptrons.cli.cluster.options import check
from perceptrons.cli.cluster.progress import MixingWatch
from perceptrons.cli.cluster.reading import ByWorkers, by_workers
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, save_model
from perceptrons.cli.screen import as_json, say, screen
from perceptrons.cli.stream import training as of_streams
from perceptrons.cli.stream.reading import check_files
from perceptrons.cli.stream.training import Order, name_of

if TYPE_CHECKING:
    from perceptrons.cli.cluster.keeping import MixedCheckpoint

EPOCHS = 5


def train_on_cluster(order: Order) -> None:
    """Learn on the workers, save, test, and say how it went."""
    from perceptrons.cli.cluster.keeping import MixedCheckpoint
    from perceptrons.cli.cluster.report import ClusterRun, show, summary

    data = _checked(order)
    read: Any = SimpleNamespace(files=data.files, skipped=0, complaints=[])
    epochs = order.asked.epochs or EPOCHS
    said = not (order.quiet or order.json)
    watching = MixingWatch(
        order.model,
        epochs,
        [name_of(read)] + [f"{order.test} to test on"] * (order.test is not None),
        lines=said,
        live=order.verbose or (sys.stderr.isatty() and said),
        needed=order.output is not None or order.asked.checkpoint is not None,
    )
    checkpoint: Any = None if order.asked.checkpoint is None else MixedCheckpoint.asked(order, watching)
    with connected(order.asked, order.verbose) as client:
        scheduler = client.scheduler.address
        if said:
            say(in_words(client))
        began = time.perf_counter()
        _learn(order, data, epochs, client, watching, checkpoint)
        seconds = time.perf_counter() - began
        if order.output is not None:
            save_model(order.model, order.output)
    if watching.unread is not None:
        raise watching.unread
    read.skipped, read.complaints = watching.skipped, list(watching.complaints)
    run = ClusterRun(
        model=order.model,
        reader=read,
        test=None if order.test is None or (order.quiet and not order.json) else of_streams.test(order, order.test),
        output=order.output,
        checkpoint=checkpoint,
        example=None,
        epochs=epochs,
        again=order.again,
        seconds=seconds,
        scheduler=scheduler,
        workers=watching.workers,
    )
    if order.json:
        print(as_json(summary(run)), end="")
    elif said:
        show(run, screen())


def _checked(order: Order) -> ByWorkers:
    """What the workers are to read; whatever can be seen to be wrong is refused before a cluster is asked for."""
    from perceptrons.distributed.linear_shards import check as check_model

    check(order.data, order.asked)
    of_streams.check(order)
    with refusing(ValueError):
        check_model(order.model)
    if order.test is not None:
        check_files([order.test])
    data = by_workers(order)
    for path in (order.output, order.asked.checkpoint):
        check_output(path, *data.files, order.test)
    return data


def _learn(
    order: Order, data: ByWorkers, epochs: int, client: Any, watching: MixingWatch, checkpoint: "MixedCheckpoint | None"
) -> None:
    from perceptrons.distributed import fit

    asked = order.asked
    mixing = {} if asked.mixing is None else {"mixing": asked.mixing.value}
    classes = of_streams.named_classes(order)
    with of_streams.watched(watching, checkpoint, asked.checkpoint), _refusing_lost(order, checkpoint):
        client.wait_for_workers(1)
        watching.meet(client.nthreads(), asked.shards)
        fit(
            order.model, data.files, client=client, shards=asked.shards, epochs=epochs, classes=classes,
            checkpoint=checkpoint, watch=watching, **mixing, **data.how,
        )  # fmt: skip


@contextmanager
def _refusing_lost(order: Order, checkpoint: "MixedCheckpoint | None") -> Iterator[None]:
    """Turn the loss of the scheduler, of data or of too many workers into refusals that say what is left."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    from perceptrons.distributed import ClusterError

    try:
        yield
    except (ClusterError, CancelledError, CommClosedError, KilledWorker) as error:
        raise BadInputError(f"{error} {_saved(order, checkpoint)}") from error


def _saved(order: Order, checkpoint: "MixedCheckpoint | None") -> str:
    """What is left of a run whose cluster is lost."""
    if checkpoint is None:
        return "Nothing is saved: with --checkpoint FILE a run can go on."
    if not checkpoint.path.exists():
        return "Nothing was mixed yet, so that nothing is saved."
    return (
        f"The last mixed weights are in {order.asked.checkpoint}: the same command with --resume, on another cluster "
        "if need be, goes on from there."
    )
