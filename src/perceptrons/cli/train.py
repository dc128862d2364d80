"""`perceptrons train`: trains a model on data, tests it, saves it and shows the results."""

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perceptrons.cli import options
from perceptrons.cli.cluster import check_options
from perceptrons.cli.errors import BadInputError, refusing, refusing_data
from perceptrons.cli.files import check_output, is_kernel, load_model, save_model
from perceptrons.cli.first_visits import first_visits
from perceptrons.cli.folds import check_folds, over_folds
from perceptrons.cli.inputs import (
    SHARE,
    check_files,
    check_test,
    for_machines,
    like_table,
    measured_blocks,
    name_of,
    opened,
    read_within,
)
from perceptrons.cli.options import CLUSTERS, LONG_RUNS, OF_KERNELS, READING, RULE, STOPPING, takes
from perceptrons.cli.parameters import (
    check_kernel,
    file_of,
    name_labels,
    named_classes,
    need_classes,
    new_model,
)
from perceptrons.cli.screen import Waiting, as_json, screen
from perceptrons.cli.threshold import (
    check_threshold,
    cost_file,
    held_for_threshold,
    is_chosen,
    set_probabilities,
    set_probabilities_on_stream,
    set_threshold,
    set_threshold_on_stream,
    stream_for_threshold,
    wants_held,
)
from perceptrons.engine.wording import in_percent

if TYPE_CHECKING:
    from perceptrons.cli.files import AnyModel
    from perceptrons.cli.hold_out import HoldOut
    from perceptrons.cli.run import Run
    from perceptrons.data import Table
    from perceptrons.data.held_out import Split
    from perceptrons.data.reader import Reader
    from perceptrons.inspection.evaluation import Quality

AGAIN = ("from_model", "example", "format", "test", "test_share", "time_order:train", "folds:train", "metric:folds",
         *READING, *RULE, "threshold", "probabilities", *OF_KERNELS, *STOPPING, "classes", *CLUSTERS, "in_memory",
         "no_shuffle", "no_intercept", "seed")  # fmt: skip


@takes(
    "data", "output", "from_model", "example", *READING, "in_memory", "test", "test_share", "time_order:train",
    "folds:train", "metric:folds", "seed", *RULE, "threshold", "probabilities", "classes", "no_shuffle",
    "no_intercept", *OF_KERNELS, *STOPPING, *LONG_RUNS, *CLUSTERS, "trace", "quiet", "verbose", "json",
)  # fmt: skip
def train(asked: Any) -> None:
    """Train a perceptron, test it on examples it has not seen, and show the results.

    Without DATA, it trains on scikit-learn's handwritten digits. Data that fit in memory are loaded; larger data are
    used for training while they are read, with the same options.

    With --workers or --dask, it trains on shards of the files in several processes or machines, and averages.
    """
    files = asked.data or []
    _check(asked, files)
    model = new_model(asked) if asked.from_model is None else _loaded(asked)
    if asked.dask is not None or asked.workers is not None:
        run = _on_cluster(model, files, asked)
    elif files or asked.example is not None:
        run = _on_files(model, files, asked)
    else:
        from perceptrons.data.bundled import digits

        run = _on_table(model, digits(), asked)
    from perceptrons.cli.run import show, summary

    if asked.json:
        print(as_json(summary(run)), end="")
    elif not asked.quiet:
        show(run, screen())


def _check(asked: Any, files: list[Path]) -> None:
    """Refuse options that do not go together, and files that cannot be written, before any work is done."""
    check_test(asked)
    if asked.test_share is not None and not 0 <= asked.test_share <= 0.9:
        raise BadInputError(f"--test-share {asked.test_share:g}: give a share from 0 to 0.9.")
    if asked.epochs is not None:
        for name in ("max_iter", "tol"):
            if getattr(asked, name) is not None:
                raise BadInputError(f"--epochs and {options.typed(name)} cannot be combined: give one of them.")
    for name in options.given(asked, ("test", "folds", "example") if asked.time_order else ()):
        raise BadInputError(
            f"--time-order and {options.typed(name)} cannot be combined: it says which examples to hold out."
        )
    for name in ("every", "resume"):
        if getattr(asked, name) and asked.checkpoint is None:
            raise BadInputError(f"--{name} needs --checkpoint FILE: without it, nothing is saved during training.")
    check_options(asked)
    if asked.example is not None:
        brought = {"DATA": files, "--format": asked.format, "--label-column": asked.label_column, "--test": asked.test}
        for name, value in brought.items():
            if value:
                raise BadInputError(f"{name} cannot be combined with --example, which brings its own data.")
    if asked.test is not None and not files:
        raise BadInputError("--test needs DATA: the digits are tested on held-out examples.")
    written = [path.absolute() for path in (asked.output, asked.cache, asked.checkpoint) if path is not None]
    if len(set(written)) < len(written):
        raise BadInputError("-o, --checkpoint and --cache name the same file: give each its own.")
    for path in (asked.output, asked.cache, asked.checkpoint):
        check_output(path, *files, asked.test, file_of(asked.cost), file_of(asked.class_weight), cost_file(asked))
    if asked.test is not None and not asked.test.is_dir():
        check_files([asked.test])
    check_kernel(asked)
    check_folds(asked)
    check_threshold(asked)


def _loaded(asked: Any) -> "AnyModel":
    """The model to keep training."""
    for name in options.given(asked, (*RULE, *OF_KERNELS, *LONG_RUNS, *CLUSTERS, "classes", "example", "no_intercept")):
        raise BadInputError(f"{options.typed(name)} cannot be combined with --from, which keeps its options: drop it.")
    if not asked.data:
        raise BadInputError("--from needs DATA: name the files with new examples.")
    model = load_model(asked.from_model, "train --resume")
    told = options.given(asked, ("max_iter", "tol", "max_seconds"))
    if "max_iter" not in told and "tol" not in told:
        told |= {"max_iter": asked.epochs or 1, "tol": None}
    told |= {"early_stopping": asked.early_stopping, "shuffle": not asked.no_shuffle, "warm_start": True}
    if model.probability is not None:  # settings stay: it is calibrated again, on new examples
        asked.probabilities = asked.probabilities or model.probability
        told["probability"] = None
    asked.before = {name: getattr(model, name) for name in told}
    with refusing(ValueError):
        return model.set_params(**told)


# ---- what all ways to train share


def _finished(model: "AnyModel", asked: Any, reader: Any, **more: Any) -> "Run":
    from perceptrons.cli.run import Run

    example = None if asked.example is None else asked.example.value
    begin = ["perceptrons", "train", *(asked.data or [])]
    return Run(
        model, reader=reader, data=for_machines(asked.data) if asked.data else example or "digits",
        output=asked.output, example=example,
        again=lambda *without: options.command_text(begin, asked, AGAIN, without), **more,
    )  # fmt: skip


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB of parsed data" if n_bytes >= 50_000 else "less than 0.1 MB of parsed data"


def _hold_out(asked: Any) -> "HoldOut":
    """How to hold out a test set of data that are read whole."""
    from perceptrons.cli.hold_out import HoldOut

    none = asked.test is not None or asked.folds is not None
    return HoldOut(0.0 if none else asked.test_share, asked.seed, asked.time_order)


def _share(asked: Any) -> float:
    """The share to hold out of a stream."""
    share = _hold_out(asked).share
    return SHARE if share is None else share


def _watching(kind: Any, model: "AnyModel", asked: Any, title: list[str]) -> Any:
    """Somebody to look on while it learns."""
    said = not (asked.quiet or asked.json)
    return kind(
        model, asked.epochs, title + [f"{asked.test} for testing"] * (asked.test is not None), lines=said,
        live=(asked.verbose and not asked.quiet) or (sys.stderr.isatty() and said),
        needed=asked.output is not None or asked.checkpoint is not None,
    )  # fmt: skip


def _tested_on_file(model: "AnyModel", asked: Any) -> dict[str, Any]:
    """The test on another file, read block by block."""
    reader = opened([asked.test], SimpleNamespace(on_error=asked.on_error), like=model)
    return {"test": measured_blocks(model, reader), "test_reader": reader}


# ---- data in memory


def _on_files(model: "AnyModel", files: list[Path], asked: Any) -> "Run":
    """Learn from files: whole if they fit, else while they are read."""
    if asked.example is not None:
        return _on_messages(model, asked)
    reader = opened(files, asked) if asked.from_model is None else _opened_like(model, files, asked)
    if _share(asked):
        _hold_out(asked).apply_to(reader)
    table = None
    if asked.in_memory:
        with Waiting("Reading ...", shown=not (asked.quiet or asked.json)):
            table = read_within(reader, asked.in_memory, said=False)
    if table is not None:
        return _on_table(model, table, asked, reader)
    return _on_stream(model, reader, asked)


def _opened_like(model: "AnyModel", files: list[Path], asked: Any) -> "Reader":
    """Files that a model is to learn from, into its columns. A kernel compares examples with those it keeps."""
    return opened(files, asked, like=model, grow=not is_kernel(model), text_labels=False, need_labels=True)


def _on_messages(model: "AnyModel", asked: Any) -> "Run":
    """Learn from the text messages that come with the package."""
    from perceptrons.data.bundled import SMS, split_messages

    reader = opened([SMS], SimpleNamespace(**{**vars(asked), "format": options.Format("text")}))
    table = read_within(reader, None)
    assert table is not None
    return _on_table(model, table, asked, reader, None if asked.folds else split_messages(table))


def _on_table(
    model: "AnyModel", table: "Table", asked: Any, reader: "Reader | None" = None, parts: "Split | None" = None
) -> "Run":
    """Learn from data in memory."""
    from perceptrons.data.bundled import DIGITS, SMS_NAME
    from perceptrons.data.held_out import Split
    from perceptrons.data.table import HasPlaces, check_classes
    from perceptrons.theory.scales import scaler_for

    with refusing_data():
        check_classes(table, asked.many_classes)
    test_reader, n_folds = None, asked.folds
    if parts is None and asked.test is not None:
        test_reader = like_table(table, asked.test, asked, said=False)
        sizes = f"{table.X.shape[0]:,} for training; {test_reader.X.shape[0]:,} in {asked.test} for testing"
        parts = Split(table, test_reader, sizes)
    elif parts is None:
        parts, n_folds = _held_out(table, asked)
    name_labels(model, parts.train, asked)
    folds = over_folds(model, parts.train, asked, n_folds)
    learned, held = held_for_threshold(parts.train, asked)
    checkpoint, trace = None, first_visits(model, learned, asked)
    began = time.perf_counter()
    if asked.checkpoint is not None or asked.classes is not None or _goes_on(model):
        checkpoint = _fit_resumably(model, learned, asked, reader)
    else:
        _fit(model, learned, asked)
    seconds = time.perf_counter() - began
    if not (is_kernel(model) and model.warm_start):  # which keeps its columns
        table.teach(model)
    model.set_params(**getattr(asked, "before", {}))  # what was said of this run is not the model's
    chosen = set_threshold(model, held, asked)
    set_probabilities(model, held, asked)
    if asked.output is not None:
        save_model(model, asked.output)
    slow = model.combine == "vote" and parts.test is not None
    return _finished(
        model, asked, table, how="whole", why=_size(table.n_bytes), split=parts.description, warnings=parts.warnings,
        seconds=seconds, name=name_of(table) if asked.data else DIGITS if asked.example is None else SMS_NAME,
        train=None if slow else _measured(model, learned, ranked=False), test=_measured(model, parts.test),
        test_reader=test_reader, lines=None if isinstance(table.path, HasPlaces) else learned.lines,
        scaler=scaler_for(learned.X, model), checkpoint=checkpoint, folds=folds, metric=asked.metric.value,
        threshold=chosen, trace=trace,
    )  # fmt: skip


def _held_out(table: "Table", asked: Any) -> "tuple[Split, int | None]":
    """The parts of a table, and the number of folds: too few examples for a test set are tested by cross-validation."""
    from perceptrons.cli.hold_out import FOLDS, has_enough_for_folds

    parts, is_possible = _hold_out(asked).split(table), not (table.several or wants_held(asked) or asked.from_model)
    if parts.test is None and _hold_out(asked).share is None and is_possible and has_enough_for_folds(table.y):
        description = f"{parts.description},\nso {FOLDS}-fold cross-validation tests the model"
        return parts._replace(description=description), FOLDS
    return parts, asked.folds


def _goes_on(model: "AnyModel") -> bool:
    """Does a linear model keep training? Columns and classes may then be new."""
    return bool(model.warm_start) and not is_kernel(model)


def _fit(model: "AnyModel", table: "Table", asked: Any) -> None:
    """Fit the model; a spinner turns meanwhile if somebody is watching."""
    about = None if str(table.path) == "digits" else table.path
    model.set_params(verbose=int(asked.verbose and not asked.quiet))
    waiting = Waiting("Training ...", shown=not (asked.quiet or asked.json or asked.verbose))
    with waiting, refusing(ValueError, TypeError, about=about):
        model.fit(table.X, table.target, sample_weight=table.weight)
    model.set_params(verbose=0)  # a saved model should not draw bars wherever it is loaded


def _fit_resumably(model: "AnyModel", table: "Table", asked: Any, reader: "Reader | None") -> Any:
    if is_kernel(model) or reader is None:
        raise BadInputError("--checkpoint and --classes are for training on files without a kernel: leave them out.")
    from perceptrons.cli.progress import SpokenCheckpoint, Watching, watched
    from perceptrons.data.held_out import TableStream

    watching = Watching(model, None, [], lines=False, live=False, needed=True)
    checkpoint = None if asked.checkpoint is None else SpokenCheckpoint(asked, watching)
    more = [asked.threshold] if is_chosen(asked) else []
    more += [] if asked.probabilities is None else [f"--probabilities {asked.probabilities}"]
    source: Any = TableStream(table, reader, str(asked.test), _share(asked), asked.seed, asked.time_order, *more)
    with watched(watching, checkpoint, asked.checkpoint):
        model.fit_stream(
            source, asked.epochs, classes=named_classes(model, asked), cache=False, checkpoint=checkpoint,
            watch=watching,
        )  # fmt: skip
    del model.progress_  # as after fit: they were not read while it learned
    return checkpoint


def _measured(model: "AnyModel", table: "Table | None", ranked: bool = True) -> "Quality | None":
    if table is None:
        return None
    from perceptrons.inspection.evaluation import answered, measure, probabilities
    from perceptrons.inspection.label_quality import measure_sets

    with refusing(ValueError):
        if table.classes is not None:
            return measure_sets(model, table.X, table.y, table.classes)
        answers, scores = answered(model, table.X)
        more = (scores, probabilities(model, scores)) if ranked else ()
        return measure(model.classes_, table.y, answers, *more)


# ---- data that do not fit


def _on_stream(model: "AnyModel", reader: "Reader", asked: Any) -> "Run":
    """Learn while the data are read."""
    from perceptrons.cli.progress import SpokenCheckpoint, Watching, watched
    from perceptrons.data.held_out import without_test

    limit = f"{asked.in_memory / 2**30:.3g} GiB (--in-memory)"
    why = f"more than {limit} of parsed data" if asked.in_memory else "requested by --in-memory 0"
    unmet = f"and there are {why}" if asked.in_memory else "which --in-memory 0 forbids"
    needed = f"needs all data in memory, {unmet}"
    if is_kernel(model):
        raise BadInputError(f"--kernel {needed}: raise --in-memory.")
    for name in options.given(asked, ("folds", "trace", "time_order")):
        raise BadInputError(f"{options.typed(name)} {needed}: raise --in-memory.")
    if asked.class_weight == "balanced":
        raise BadInputError(f'--class-weight balanced {needed}: give the weights, {{"class": weight}}.')
    need_classes(model, asked)
    share = _share(asked) if asked.test is None else 0.0
    read = "they are read" if len(reader.files) > 1 else "it is read"
    title = [name_of(reader), f"Trained while {read} ({why})"]
    title += [f"about {share:.0%} held out for testing (seed {asked.seed})"] * bool(share)
    watching = _watching(Watching, model, asked, title)
    checkpoint = None if asked.checkpoint is None else SpokenCheckpoint(asked, watching)
    classes = named_classes(model, asked)
    with without_test(reader, share, asked.seed) as source, stream_for_threshold(source, asked) as learned:
        began = time.perf_counter()
        with watched(watching, checkpoint, asked.checkpoint):
            model.fit_stream(
                learned, asked.epochs, classes=classes, cache=asked.cache, checkpoint=checkpoint, watch=watching
            )
        seconds = time.perf_counter() - began
        model.set_params(**getattr(asked, "before", {}))
        chosen = set_threshold_on_stream(model, learned, asked)
        set_probabilities_on_stream(model, learned, asked)
        if asked.output is not None:
            save_model(model, asked.output)
        if watching.unread is not None:
            raise watching.unread
        tested: dict[str, Any] = {}
        if asked.json or not asked.quiet:
            if asked.test is not None:
                tested = _tested_on_file(model, asked)
            elif share:
                quality = measured_blocks(model, source.test(model.n_features_in_))
                tested = {"test": quality, **_about_test_set(quality, source, share, asked)}
    return _finished(
        model, asked, reader, how="stream", why=why, name=name_of(reader), seconds=seconds, checkpoint=checkpoint,
        threshold=chosen, **tested,
    )  # fmt: skip


def _about_test_set(quality: Any, source: Any, share: float, asked: Any) -> dict[str, Any]:
    """The size of a test set held out of a stream, in words, and warnings about it."""
    from perceptrons.cli.hold_out import FOLDS, test_set_warnings

    if quality is None:
        return {"split": f"{source.n_examples:,} examples are too few to hold out {in_percent(share, 0)} for testing"}
    size, n = source.n_held_out, source.n_examples
    n_tested_of = {}
    if hasattr(quality, "confusion"):
        n_tested_of = dict(zip(quality.labels, quality.confusion.sum(axis=1).tolist(), strict=True))
    instead = f"--folds {FOLDS} tests on all examples, if they fit in memory (--in-memory)"
    description = f"{n - size:,} for training; {size:,} held out for testing"
    return {
        "split": f"{description} ({in_percent(size / n)}, by hash, seed {asked.seed})",
        "warnings": test_set_warnings(share, size, n, n_tested_of, instead),
    }


# ---- clusters


def _on_cluster(model: "AnyModel", files: list[Path], asked: Any) -> "Run":
    from perceptrons.cli import cluster
    from perceptrons.cli.progress import MixingWatch, SpokenCheckpoint
    from perceptrons.distributed.rows import check_parameters as check_model

    cluster.check(files, asked)
    need_classes(model, asked)
    with refusing(ValueError):
        check_model(model)
    names, how = cluster.by_workers(files, asked)
    for path in (asked.output, asked.checkpoint):
        check_output(path, *names, asked.test)
    read: Any = SimpleNamespace(files=names, skipped=0, complaints=[], notices=[])
    watching = _watching(MixingWatch, model, asked, [name_of(read)])
    checkpoint = None if asked.checkpoint is None else SpokenCheckpoint(asked, watching, mixed=True)
    classes = named_classes(model, asked)
    began = time.perf_counter()
    told = cluster.learn_on_cluster(model, names, how, asked, classes, watching, checkpoint)
    seconds = time.perf_counter() - began
    set_threshold(model, None, asked)
    if asked.output is not None:
        save_model(model, asked.output)
    if watching.unread is not None:
        raise watching.unread
    read.skipped, read.complaints = watching.skipped, list(watching.complaints)
    read.notices = list(watching.of_files)
    tested = {} if asked.test is None else _tested_on_file(model, asked)
    return _finished(
        model, asked, read, how="cluster", why="requested by --dask or --workers", name=name_of(read), seconds=seconds,
        checkpoint=checkpoint, cluster=told, **tested,
    )  # fmt: skip
