"""`perceptrons train`: learn from data, test, save, and say how it went."""

import shlex
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perceptrons.cli import options
from perceptrons.cli.byclass import file_of, name_classes, read_by_class
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, is_kernel, save_model, scored, winners
from perceptrons.cli.inputs import (
    SHARE,
    Parts,
    blocks_of,
    check_files,
    for_machines,
    like_table,
    name_of,
    opened,
    read_within,
    split_whole,
    without_test,
)
from perceptrons.cli.options import CLUSTERS, LONG_RUNS, OF_KERNELS, READING, RULE, STOPPING, takes
from perceptrons.cli.screen import Waiting, as_json, plain, screen

if TYPE_CHECKING:
    import numpy as np

    from perceptrons.cli.files import AnyModel
    from perceptrons.cli.run import Run
    from perceptrons.data import Table
    from perceptrons.data.reader import Reader
    from perceptrons.inspection.evaluation import Quality

LINEAR_ONLY = ("step", "C", "margin", "shrink", "batch_size", "cost")
SMS_NAME = "SMS Spam Collection (T. A. Almeida, J. M. Gómez Hidalgo; CC BY 4.0)"
SMS_SHARE = 0.7  # of the messages, in the order of the file, to learn from
AGAIN = ("example", "format", "test", "test_share", *READING, *RULE, *OF_KERNELS, *STOPPING, "classes", *CLUSTERS,
         "in_memory", "no_shuffle", "no_intercept", "seed")  # fmt: skip


@takes(
    "data", "output", "example", *READING, "in_memory", "test", "test_share", "seed", *RULE, "classes", "no_shuffle",
    "no_intercept", *OF_KERNELS, *STOPPING, *LONG_RUNS, *CLUSTERS, "quiet", "verbose", "json",
)  # fmt: skip
def train(asked: Any) -> None:
    """Train a perceptron, test it on examples it has not seen, and say how it went.

    Without DATA it learns scikit-learn's handwritten digits. Data that fit in memory are read whole; larger ones are
    learned from while they are read, with the same options.

    With --workers or --dask it learns from files in shards, on many processes or machines, and mixes the weights.
    """
    files = asked.data or []
    _check(asked, files)
    model = _new_model(asked)
    if asked.dask is not None or asked.workers is not None:
        run = _on_cluster(model, files, asked)
    elif not files and asked.example is None:
        run = _on_table(model, _digits(), asked)
    else:
        run = _on_files(model, files, asked)
    if asked.json:
        from perceptrons.cli.run import summary

        print(as_json(summary(run)), end="")
    elif not asked.quiet:
        from perceptrons.cli.run import show

        show(run, screen())


# ---- what was asked


def _check(asked: Any, files: list[Path]) -> None:
    """Refuse options that do not go together, and files that cannot be written, before any work is done."""
    if asked.test is not None and asked.test_share is not None:
        raise BadInputError("--test and --test-share exclude each other: give a test file, or a share to hold out.")
    if asked.test_share is not None and not 0 <= asked.test_share <= 0.9:
        raise BadInputError(f"--test-share {asked.test_share:g}: give a share from 0 to 0.9.")
    if asked.epochs is not None:
        for name in ("max_iter", "tol"):
            if getattr(asked, name) is not None:
                raise BadInputError(f"--epochs and {options.typed(name)} exclude each other: give one of them.")
    for name in ("every", "resume"):
        if getattr(asked, name) and asked.checkpoint is None:
            raise BadInputError(f"--{name} needs --checkpoint FILE: without one, nothing is saved on the way.")
    for name in ("shards", "mixing"):
        if getattr(asked, name) is not None and asked.dask is None and asked.workers is None:
            raise BadInputError(f"--{name} is for clusters: give --dask ADDRESS or --workers N too.")
    if asked.example is not None:
        brought = {"DATA": files, "--format": asked.format, "--label-column": asked.label_column, "--test": asked.test}
        for name, value in brought.items():
            if value:
                raise BadInputError(f"{name} does not go with --example, which brings its own data: leave one out.")
    if asked.test is not None and not files:
        raise BadInputError("--test needs DATA: the digits are tested on examples held out.")
    written = [path.absolute() for path in (asked.output, asked.cache, asked.checkpoint) if path is not None]
    if len(set(written)) < len(written):
        raise BadInputError("-o, --checkpoint and --cache name the same file: give each its own.")
    for path in (asked.output, asked.cache, asked.checkpoint):
        check_output(path, *files, asked.test, file_of(asked.cost), file_of(asked.class_weight))
    if asked.test is not None:
        check_files([asked.test])
    _check_kernel(asked)


def _check_kernel(asked: Any) -> None:
    """Refuse options for kernels without a kernel, and with one those that only the linear perceptron has."""
    if asked.kernel is None:
        for name in options.given(asked, OF_KERNELS):
            raise BadInputError(f"{options.typed(name)} is for kernels: name one too, for instance --kernel rbf.")
        return
    strange = [options.typed(name) for name in options.given(asked, LINEAR_ONLY)]
    strange += ["--no-intercept"] * asked.no_intercept
    strange += [f"--{name} {word}" for name, word in (("multiclass", "ovo"), ("combine", "pocket"))
                if getattr(asked, name) == word]  # fmt: skip
    if strange:
        raise BadInputError(f"{strange[0]} is for the linear perceptron: leave it out, or leave out --kernel.")
    if asked.on_full is not None and asked.budget is None:
        raise BadInputError("--on-full needs --budget: without one, the model is never full.")
    for name in options.given(asked, (*LONG_RUNS, *CLUSTERS)):
        raise BadInputError(f"{options.typed(name)} does not go with --kernel: kernels need all data in memory.")


def _new_model(asked: Any) -> "AnyModel":
    """The model that the options ask for; parameters that it cannot have are refused."""
    told = options.given(asked, (*RULE, *OF_KERNELS, "max_iter", "tol", "max_seconds"))
    if asked.tol == 0:
        told["tol"] = None
    if asked.epochs is not None:
        told |= {"max_iter": asked.epochs, "tol": None}
    if asked.cost is not None:
        told["cost"] = read_by_class("--cost", asked.cost)
    if asked.class_weight not in (None, "balanced"):
        told["class_weight"] = read_by_class("--class-weight", asked.class_weight)
    told |= {"early_stopping": asked.early_stopping, "random_state": asked.seed, "shuffle": not asked.no_shuffle}
    model: AnyModel
    if asked.kernel is not None:
        from perceptrons import KernelPerceptron
        from perceptrons.kernel.choices import check_choices

        model = KernelPerceptron(**told)
    else:
        from perceptrons import Perceptron
        from perceptrons.training.choices import check_choices

        model = Perceptron(**told, fit_intercept=not asked.no_intercept)
    with refusing(ValueError):
        check_choices(model)
    return model


def command(asked: Any, name: str = "train") -> Any:
    """The command that was given, as text, without the options of a run and some others."""

    def again(*without: str) -> str:
        words = ["perceptrons", name, *map(str, asked.data or [])]
        for option, value in options.given(asked, dict.fromkeys(AGAIN)).items():
            usual = {"seed": 0, "in_memory": options.size("2GiB")}.get(option)
            if option in without or value == usual:
                continue
            for one in value if isinstance(value, list) else [value]:
                words += [options.typed(option)] if one is True else [options.typed(option), str(one)]
        return shlex.join(words)

    return again


# ---- data in memory


def _digits() -> "Table":
    from perceptrons.cli.digits import digits

    return digits()


def _on_files(model: "AnyModel", files: list[Path], asked: Any) -> "Run":
    """Learn from files: whole if they fit, else while they are read."""
    if asked.example is not None:
        return _on_messages(model, asked)
    reader = opened(files, asked)
    table = None
    if asked.in_memory:
        with Waiting("Reading ...", shown=not (asked.quiet or asked.json)):
            table = read_within(reader, asked.in_memory, said=False)
    if table is not None:
        return _on_table(model, table, asked, reader)
    return _on_stream(model, reader, asked)


def _on_messages(model: "AnyModel", asked: Any) -> "Run":
    """Learn from the text messages that come with the package: the first are for training, the last for the test."""
    import numpy as np

    from perceptrons import data

    path = Path(data.__file__).parent / "examples" / "sms-spam.tsv.gz"
    told = SimpleNamespace(**{**vars(asked), "format": options.Format("text"), "data": [path]})
    reader = opened([path], told)
    table = read_within(reader, None)
    assert table is not None
    n = round(SMS_SHARE * table.X.shape[0])
    rest = table.X.shape[0] - n
    said = f"The first {n:,} messages to learn from, the last {rest:,} to test on"
    parts = Parts(table.part(np.arange(n)), table.part(np.arange(n, n + rest)), said)
    return _on_table(model, table, asked, reader, parts)


def _on_table(
    model: "AnyModel", table: "Table", asked: Any, reader: "Reader | None" = None, parts: Parts | None = None
) -> "Run":
    """Learn from data in memory."""
    from perceptrons.cli.run import Run
    from perceptrons.theory.scales import scaler_for

    check_classes(table, asked.many_classes)
    test_reader = None
    if parts is None and asked.test is not None:
        held_out = like_table(table, asked.test, asked)
        n = table.X.shape[0]
        said = f"{n:,} to learn from; {held_out.X.shape[0]:,} in {asked.test} to test on"
        parts, test_reader = Parts(table, held_out, said), held_out
    if parts is None:
        parts = split_whole(table, SHARE if asked.test_share is None else asked.test_share, asked.seed)
    name_classes(model, parts.train.y)
    checkpoint = None
    began = time.perf_counter()
    if asked.checkpoint is not None or asked.classes is not None:
        checkpoint = _fit_resumably(model, parts.train, asked, reader)
    else:
        _fit(model, parts.train, asked)
    seconds = time.perf_counter() - began
    table.teach(model)
    if asked.output is not None:
        save_model(model, asked.output)
    slow = model.combine == "vote" and parts.test is not None
    digits = not asked.data and asked.example is None
    name = "Handwritten digits of 8 by 8 pixels (from scikit-learn)"
    if not digits:
        name = SMS_NAME if asked.example is not None else name_of(table)
    return Run(
        model, name, _data(asked), "whole", f"{_size(table)} of parsed data", parts.said, seconds, table,
        train=None if slow else measured(model, parts.train), test=measured(model, parts.test),
        test_reader=test_reader, lines=parts.train.lines, scaler=scaler_for(parts.train.X, model),
        output=asked.output, checkpoint=checkpoint,
        example=None if asked.example is None else asked.example.value, again=command(asked),
    )  # fmt: skip


def _data(asked: Any) -> Any:
    """The data as JSON names them."""
    if not asked.data:
        return "digits" if asked.example is None else asked.example.value
    return for_machines(asked.data)


def _fit(model: "AnyModel", table: "Table", asked: Any) -> None:
    """Fit the model; a spinner turns meanwhile if somebody is watching."""
    about = None if str(table.path) == "digits" else table.path
    model.set_params(verbose=int(asked.verbose and not asked.quiet))
    waiting = Waiting("Learning ...", shown=not (asked.quiet or asked.json or asked.verbose))
    with waiting, refusing(ValueError, TypeError, about=about):
        model.fit(table.X, table.y, sample_weight=table.weight)
    model.set_params(verbose=0)  # a saved model should not draw bars wherever it is loaded


class InMemory:
    """A table as a stream of one block, which a checkpoint can be resumed with: the weights are those of `fit`."""

    def __init__(self, table: "Table", reader: "Reader", *about: Any):
        self._table, self._reader, self._about = table, reader, about

    def __iter__(self) -> Any:
        yield self._table.X, self._table.y, self._table.weight

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def fingerprint(self) -> list[Any]:
        *files, asked = self._reader.fingerprint()
        return [*files, ["whole", *self._about], asked]


def _fit_resumably(model: "AnyModel", table: "Table", asked: Any, reader: "Reader | None") -> Any:
    if is_kernel(model) or reader is None:
        raise BadInputError("--checkpoint and --classes are for files and the linear perceptron: leave them out.")
    from perceptrons.cli.progress import SpokenCheckpoint, Watching, watched

    watching = Watching(model, None, [], lines=False, live=False, needed=True)
    checkpoint = None if asked.checkpoint is None else SpokenCheckpoint(asked, watching)
    share = SHARE if asked.test_share is None else asked.test_share
    source: Any = InMemory(table, reader, str(asked.test), share, asked.seed)
    with watched(watching, checkpoint, asked.checkpoint):
        model.fit_stream(
            source, asked.epochs, classes=_named_classes(model, asked), cache=False, checkpoint=checkpoint,
            watch=watching,
        )  # fmt: skip
    del model.progress_  # as after fit: they were not read while it learned
    return checkpoint


def measured(model: "AnyModel", table: "Table | None") -> "Quality | None":
    from perceptrons.inspection.evaluation import measure

    if table is None:
        return None
    return measure(model.classes_, table.y, winners(model, scored(model, table.X)))


def check_classes(table: "Table", many_classes: bool) -> None:
    """Refuse labels that are not classes, such as prices or ids: nearly every row has its own."""
    import numpy as np

    from perceptrons.data.table import not_classes

    assert table.y is not None
    labels = np.unique(table.y).tolist()
    what = None if many_classes else not_classes(labels, table.X.shape[0], table.label_name)
    if what is not None:
        raise BadInputError(f"{table.path}: {what}")
    if len(labels) < 2:
        one = plain(repr(labels[0]))
        raise BadInputError(f"{table.path}: has only one class, {one}: a classifier needs at least two.")


def _size(table: "Table") -> str:
    X = table.X
    parts = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
    return f"{sum(part.nbytes for part in parts) / 1e6:,.1f} MB"


# ---- data that do not fit


def _on_stream(model: "AnyModel", reader: "Reader", asked: Any) -> "Run":
    """Learn while the data are read."""
    from perceptrons.cli.progress import SpokenCheckpoint, Watching, watched
    from perceptrons.cli.run import Run

    limit = f"{asked.in_memory / 2**30:.3g} GiB (--in-memory)"
    why = f"more than {limit} of parsed data" if asked.in_memory else "asked by --in-memory 0"
    if is_kernel(model):
        raise BadInputError(f"--kernel needs all data in memory, and there are {why}: raise --in-memory.")
    if asked.class_weight == "balanced":
        what = f"--class-weight balanced needs all data in memory, and there are {why}"
        raise BadInputError(f'{what}: name the weights, {{"class": weight}}.')
    _need_classes(model, asked)
    share = (SHARE if asked.test_share is None else asked.test_share) if asked.test is None else 0.0
    said = not (asked.quiet or asked.json)
    read = "they are read" if len(reader.files) > 1 else "it is read"
    title = [name_of(reader), f"Learned while {read} ({why})"]
    title += [f"{asked.test} to test on"] * (asked.test is not None)
    title += [f"{share:.0%} held out as a test (seed {asked.seed})"] * bool(share)
    watching = Watching(
        model, asked.epochs, title, lines=said,
        live=(asked.verbose and not asked.quiet) or (sys.stderr.isatty() and said),
        needed=asked.output is not None or asked.checkpoint is not None,
    )  # fmt: skip
    checkpoint = None if asked.checkpoint is None else SpokenCheckpoint(asked, watching)
    classes = _named_classes(model, asked)
    with without_test(reader, share, asked.seed) as source:
        began = time.perf_counter()
        with watched(watching, checkpoint, asked.checkpoint):
            model.fit_stream(
                source, asked.epochs, classes=classes, cache=asked.cache, checkpoint=checkpoint, watch=watching
            )
        seconds = time.perf_counter() - began
        if asked.output is not None:
            save_model(model, asked.output)
        if watching.unread is not None:
            raise watching.unread
        test, test_reader = None, None
        if asked.test is not None and not (asked.quiet and not asked.json):
            test_reader = opened([asked.test], SimpleNamespace(on_error=asked.on_error), like=model)
            test = measured_blocks(model, blocks_of(test_reader))
        elif share and not (asked.quiet and not asked.json):
            test = measured_blocks(model, source.test(model.n_features_in_))
    return Run(
        model, name_of(reader), _data(asked), "stream", why, "", seconds, reader, test=test, test_reader=test_reader,
        output=asked.output, checkpoint=checkpoint, again=command(asked),
    )  # fmt: skip


def measured_blocks(model: "AnyModel", blocks: Any) -> "Quality | None":
    """Compare a model's answers with the labels of blocks."""
    from perceptrons.inspection.evaluation import Tally

    tally = Tally(model.classes_)
    for block in blocks:
        won = winners(model, scored(model, block.X))
        with refusing(ValueError):
            tally.add(block.classes, block.codes, won)
    quality = tally.quality()
    return quality if quality.total else None


def _need_classes(model: Any, asked: Any) -> None:
    """Refuse what is said of classes that are not known yet."""
    for name, value in (("--cost", model.cost), ("--class-weight", model.class_weight)):
        if value is not None and asked.classes is None:
            raise BadInputError(f"{name} needs --classes here, since classes are known only as they are read.")


def _named_classes(model: "AnyModel", asked: Any) -> "np.ndarray | None":
    """The classes that were named, as the reader will give them; costs and weights then speak of these."""
    from perceptrons.data.table import as_labels

    if asked.classes is None:
        return None
    texts = [text.strip() for text in asked.classes.split(",")]
    if len(texts) < 2 or len(set(texts)) < len(texts) or not all(texts):
        raise BadInputError(f"--classes {plain(asked.classes, 60)}: give two or more, each once, as in ham,spam.")
    classes = as_labels(texts, asked.text_labels)
    name_classes(model, classes)
    return classes


# ---- clusters


def _on_cluster(model: "AnyModel", files: list[Path], asked: Any) -> "Run":
    from perceptrons.cli import cluster
    from perceptrons.cli.progress import MixingWatch, SpokenCheckpoint
    from perceptrons.cli.run import Run
    from perceptrons.distributed.linear_shards import check as check_model

    cluster.check(files, asked)
    _need_classes(model, asked)
    with refusing(ValueError):
        check_model(model)
    names, how = cluster.by_workers(files, asked)
    for path in (asked.output, asked.checkpoint):
        check_output(path, *names, asked.test)
    read: Any = SimpleNamespace(files=names, skipped=0, complaints=[], notices=[])
    said = not (asked.quiet or asked.json)
    title = [name_of(read)] + [f"{asked.test} to test on"] * (asked.test is not None)
    watching = MixingWatch(
        model, asked.epochs, title, lines=said,
        live=(asked.verbose and not asked.quiet) or (sys.stderr.isatty() and said),
        needed=asked.output is not None or asked.checkpoint is not None,
    )  # fmt: skip
    checkpoint = None if asked.checkpoint is None else SpokenCheckpoint(asked, watching, mixed=True)
    classes = _named_classes(model, asked)
    began = time.perf_counter()
    told = cluster.learn_on_cluster(model, names, how, asked, classes, watching, checkpoint)
    seconds = time.perf_counter() - began
    if asked.output is not None:
        save_model(model, asked.output)
    if watching.unread is not None:
        raise watching.unread
    read.skipped, read.complaints = watching.skipped, list(watching.complaints)
    test, test_reader = None, None
    if asked.test is not None:
        test_reader = opened([asked.test], SimpleNamespace(on_error=asked.on_error), like=model)
        test = measured_blocks(model, blocks_of(test_reader))
    return Run(
        model, name_of(read), _data(asked), "cluster", "asked by --dask or --workers", "", seconds, read, test=test,
        test_reader=test_reader, output=asked.output, checkpoint=checkpoint, again=command(asked), cluster=told,
    )  # fmt: skip
