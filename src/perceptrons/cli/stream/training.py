"""`perceptrons train` on a stream: read while learning, print how it goes, save on the way, test, report."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.again import command
from perceptrons.cli.byclass import name_classes
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import check_output, save_model
from perceptrons.cli.options import DataFormat
from perceptrons.cli.screen import as_json, count, plain, saying_warnings, screen
from perceptrons.cli.stream import sms
from perceptrons.cli.stream.options import OF_THE_RUN, Asked
from perceptrons.cli.stream.progress import UnreadError, Watching
from perceptrons.cli.stream.reading import Reading, check_files, reader_for, reader_of, refusing_stream

if TYPE_CHECKING:
    import numpy as np

    from perceptrons import Perceptron
    from perceptrons.cli.quality import Quality
    from perceptrons.cli.stream.keeping import SpokenCheckpoint
    from perceptrons.data.reader import Reader


@dataclass
class Order:
    """What `train` is to do with a stream. said: the other options that were given, by name."""

    model: "Perceptron"
    data: list[Path]
    format: DataFormat | None
    label_column: str | None
    test: Path | None
    asked: Asked
    output: Path | None
    said: dict[str, Any]
    quiet: bool
    verbose: bool
    json: bool

    @property
    def epochs(self) -> int:
        return self.asked.epochs or (sms.EPOCHS if self.asked.example else 1)

    def again(self, *without: str) -> str:
        """The command that learns so once more, but for some options."""
        kept = {name: value for name, value in self.asked.given().items() if name not in OF_THE_RUN}
        return command(self.data, {**self.said, **kept}, without)


def train_stream(order: Order) -> None:
    """Learn from files, or from the example that was named."""
    check(order)
    example: AbstractContextManager[sms.Parts | None] = sms.sms() if order.asked.example else nullcontext()
    with example as parts:
        if parts is None:
            _run(order, order.again)
            return
        of_files = replace(order, data=[parts.train], format=DataFormat.text, test=parts.test)
        split = f"The first {parts.n_train:,} messages to learn from, the last {parts.n_test:,} to test on"
        _run(of_files, order.again, [sms.NAME, split])


def _run(order: Order, again: Callable[..., str], title: list[str] | None = None) -> None:
    """Learn, save, test, and say how it went. title: what the data are, if the files do not say it."""
    from perceptrons.cli.stream.keeping import SpokenCheckpoint
    from perceptrons.cli.stream.report import StreamRun, show, summary

    if order.test is not None:
        check_files([order.test])
    reader = reader_of(order.data, order.format, order.label_column, order.asked)
    for path in (order.output, order.asked.cache, order.asked.checkpoint):
        check_output(path, *reader.files, order.test)
    if title is None:
        title = [name_of(reader)] + [f"{order.test} to test on"] * (order.test is not None)
    watching = Watching(
        order.model,
        order.epochs,
        title,
        lines=not (order.quiet or order.json),
        live=order.verbose or (sys.stderr.isatty() and not (order.quiet or order.json)),
        needed=order.output is not None or order.asked.checkpoint is not None,
    )
    checkpoint = None if order.asked.checkpoint is None else SpokenCheckpoint.asked(order, watching)
    began = time.perf_counter()
    _learn(order, reader, watching, checkpoint)
    seconds = time.perf_counter() - began
    if order.output is not None:
        save_model(order.model, order.output)
    if watching.unread is not None:
        raise watching.unread
    run = StreamRun(
        model=order.model,
        reader=reader,
        test=None if order.test is None or (order.quiet and not order.json) else test(order, order.test),
        output=order.output,
        checkpoint=checkpoint,
        example=None if order.asked.example is None else order.asked.example.value,
        epochs=order.epochs,
        again=again,
        seconds=seconds,
    )
    if order.json:
        print(as_json(summary(run)), end="")
    elif not order.quiet:
        show(run, screen())


def check(order: Order) -> None:
    asked = order.asked
    asked.check()
    if asked.example is not None:
        given = {
            "DATA": order.data,
            "--format": order.format,
            "--label-column": order.label_column,
            "--test": order.test,
        }
        for name, value in given.items():
            if value:
                raise BadInputError(
                    f"{name} does not go with --example, which brings its own data: leave out one of them."
                )
    written = [path.absolute() for path in (order.output, asked.cache, asked.checkpoint) if path is not None]
    if len(set(written)) < len(written):
        raise BadInputError("-o, --checkpoint and --cache name the same file: give each its own.")
    for name, value in (("--cost", order.model.cost), ("--class-weight", order.model.class_weight)):
        if value is not None and asked.classes is None:
            raise BadInputError(f"{name} needs --classes here, since a stream tells its classes only as they come.")


def named_classes(order: Order) -> "np.ndarray | None":
    """The classes that were named, as the reader will give them; costs and weights then speak of these."""
    from perceptrons.data.table import as_labels

    if order.asked.classes is None:
        return None
    texts = [text.strip() for text in order.asked.classes.split(",")]
    if len(texts) < 2 or len(set(texts)) < len(texts) or not all(texts):
        raise BadInputError(f"--classes {plain(order.asked.classes, 60)}: give two or more, each once, as in ham,spam.")
    classes = as_labels(texts, order.asked.text_labels)
    name_classes(order.model, classes)
    return classes


def _learn(order: Order, reader: "Reader", watching: Watching, checkpoint: "SpokenCheckpoint | None") -> None:
    classes = named_classes(order)
    with watched(watching, checkpoint, order.asked.checkpoint):
        order.model.fit_stream(
            reader, order.epochs, classes=classes, cache=order.asked.cache, checkpoint=checkpoint, watch=watching
        )


@contextmanager
def watched(watching: Watching, checkpoint: "SpokenCheckpoint | None", path: Path | None) -> Iterator[None]:
    """Somebody looks on while it learns, who may leave or interrupt it. path: of the checkpoint, as it was given."""
    try:
        watching.start()
        with refusing_stream(), saying_warnings(watching.speak):
            yield
        watching.end()
    except UnreadError:
        assert watching.unread is not None
        raise watching.unread from None
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.path.exists():
            raise
        raise KeyboardInterrupt(
            f"Interrupted. It is saved in {path}: the same command with --resume goes on from there."
        ) from None
    finally:
        watching.erase()


def test(order: Order, test: Path) -> tuple["Quality", "Reader"]:
    from perceptrons.cli.stream.answering import measure_stream

    reader = reader_for(order.model, [test], Reading(None, need_labels=True, skip=order.asked.on_error == "skip"))
    return measure_stream(order.model, reader), reader


def name_of(reader: "Reader") -> str:
    """A file by its name, several by their number, the first and the last."""
    files = reader.files
    return str(files[0]) if len(files) == 1 else f"{count(len(files), 'file')}: {files[0]} ... {files[-1]}"
