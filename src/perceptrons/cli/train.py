"""`perceptrons train`: reads data, fits a model, and reports the result.

Training is whole (`fit_table`), while the data are read (`fit_stream`), or on a cluster (`fit_on_cluster`).
"""

import copy
import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perceptrons.cli import files, models
from perceptrons.cli.cluster import check_cluster_options, cluster_option
from perceptrons.cli.files import SHARE, STDIN, is_kernel, refusing, refusing_data
from perceptrons.cli.options import NOT_WITH_FROM, ReadingOptions, TrainOptions, command, given, typed
from perceptrons.cli.screen import BadInputError, Waiting, metric_text, plain, print_result

if TYPE_CHECKING:
    from perceptrons.cli.files import AnyModel
    from perceptrons.cli.hold_out import HoldOut
    from perceptrons.cli.progress import ReportedCheckpoint
    from perceptrons.cli.training_result import TrainingResult
    from perceptrons.data import Table
    from perceptrons.data.reader import Reader
    from perceptrons.data.splitting import Split
    from perceptrons.inspection.evaluation import LabelQuality, Quality
    from perceptrons.theory import Trace


@command
def train(options: TrainOptions) -> None:
    """Train a perceptron, test it on examples it has not seen, and show the results.

    Without DATA, it trains on scikit-learn's handwritten digits. Data that fit in memory are loaded; larger data are
    used for training while they are read, with the same options.

    With --workers or --dask, it trains on shards of the files in several processes or machines, and averages.
    """
    check(options)
    run = TrainingRun(models.new_model(options), options) if options.from_model is None else resume(options)
    if cluster_option(options) is not None:
        result = fit_on_cluster(run)
    else:
        table, reader = read(run)
        result = fit_stream(run, reader) if table is None else fit_table(run, table, reader)
    print_result(options, result.to_dict, result.show)


@dataclass(frozen=True)
class TrainingRun:
    """A model to train, and the options; parameters: those that it has again after this training."""

    model: "AnyModel"
    options: TrainOptions
    parameters: dict[str, Any] = field(default_factory=dict)


def check(options: TrainOptions) -> None:
    """Refuse options that do not go together, and files that cannot be written, before any work is done."""
    data = options.data or []
    files.check_test(options.test, options.test_share)
    if options.test_share is not None and not 0 <= options.test_share <= 0.9:
        raise BadInputError(f"--test-share {options.test_share:g}: give a share from 0 to 0.9.")
    if options.epochs is not None:
        for name in ("max_iter", "tol"):
            if getattr(options, name) is not None:
                raise BadInputError(f"--epochs and {typed(name)} cannot be combined: give one of them.")
    for name in given(options, ("test", "folds", "example") if options.time_order else ()):
        raise BadInputError(f"--time-order and {typed(name)} cannot be combined: it says which examples to hold out.")
    for name in ("every", "resume"):
        if getattr(options, name) and options.checkpoint is None:
            raise BadInputError(f"--{name} needs --checkpoint FILE: without it, nothing is saved during training.")
    check_cluster_options(options)
    if options.example is not None:
        for name in given(options, ("data", "format", "label_column", "test")):
            replaced = "DATA" if name == "data" else typed(name)
            raise BadInputError(f"{replaced} cannot be combined with --example, which brings its own data.")
    if options.test is not None and not data:
        raise BadInputError("--test needs DATA: the digits are tested on held-out examples.")
    outputs = [path for path in (options.output, options.cache, options.checkpoint) if path is not None]
    if len({path.absolute() for path in outputs}) < len(outputs):
        raise BadInputError("-o, --checkpoint and --cache name the same file: give each its own.")
    threshold_cost = models.threshold_cost(options)
    inputs = [models.json_file(text) for text in (options.cost, options.class_weight, threshold_cost)]
    for path in outputs:
        files.check_output(path, *data, options.test, *inputs)
    if options.test is not None and not options.test.is_dir():
        files.check_files([options.test])
    models.check_kernel(options)
    if options.folds is None:
        if options.metric != "accuracy":
            raise BadInputError(f"--metric {options.metric} is for folds: also give --folds K.")
    elif (cluster := cluster_option(options)) is not None:
        raise BadInputError(
            f"--folds cannot be combined with {cluster}: it needs all data in the memory of one process."
        )
    elif options.in_memory == 0:
        raise BadInputError("--folds needs all data in memory, which --in-memory 0 forbids: leave one of them out.")
    elif options.test_share:
        raise BadInputError("--folds and --test-share cannot be combined: every fold is a test set.")
    models.check_calibration(options, options.folds)


def resume(options: TrainOptions) -> TrainingRun:
    """Load the model to keep training, with the parameters of this training."""
    for name in given(options, NOT_WITH_FROM):
        raise BadInputError(f"{typed(name)} cannot be combined with --from, which keeps its options: drop it.")
    if not options.data:
        raise BadInputError("--from needs DATA: name the files with new examples.")
    assert options.from_model is not None
    model = files.load_model(options.from_model, "train --resume")
    models.change_learning(model, options, options.from_model)
    parameters = given(options, ("max_iter", "tol", "max_seconds"))
    if "max_iter" not in parameters and "tol" not in parameters:
        parameters |= {"max_iter": options.epochs or 1, "tol": None}
    parameters |= {"early_stopping": options.early_stopping, "shuffle": not options.no_shuffle, "warm_start": True}
    if model.probability is not None:  # it is calibrated again, on new examples
        options = replace(options, probabilities=options.probabilities or model.probability)
        parameters["probability"] = None
    before = {name: getattr(model, name) for name in parameters}
    with refusing(ValueError):
        return TrainingRun(model.set_params(**parameters), options, before)


# ---- read


def read(run: TrainingRun) -> "tuple[Table | None, Reader | None]":
    """Return the data if they fit in memory, and their reader; there is none for data that come with the package."""
    from perceptrons.data.bundled import SMS, digits

    options = run.options
    if options.example is not None:
        reader = files.opened([SMS], replace(options, format="text"))
        return files.read_all(reader), reader
    if not options.data:
        return digits(), None
    if options.from_model is None:
        reader = files.opened(options.data, options)
    else:  # a kernel compares examples with those it keeps, so it learns no new columns
        grows = not is_kernel(run.model)
        reader = files.opened(options.data, options, like=run.model, grow=grows, text_labels=False, need_labels=True)
    if _test_share(options):
        _hold_out(options).apply_to(reader)
    table = None
    if options.in_memory:
        with Waiting("Reading ...", options):
            table = files.read_within(reader, options.in_memory)
    return table, reader


def _hold_out(options: TrainOptions) -> "HoldOut":
    """Return how to hold out a test set of data that are read whole."""
    from perceptrons.cli.hold_out import HoldOut

    has_other_test = options.test is not None or options.folds is not None
    return HoldOut(0.0 if has_other_test else options.test_share, options.seed, options.time_order)


def _test_share(options: TrainOptions) -> float:
    """Return the share to hold out of a stream."""
    share = _hold_out(options).share
    return SHARE if share is None else share


# ---- fit


def fit_table(run: TrainingRun, table: "Table", reader: "Reader | None") -> "TrainingResult":
    """Train on data in memory."""
    from perceptrons.cli.training_result import TrainingResult
    from perceptrons.data.bundled import DIGITS, SMS_NAME, split_messages
    from perceptrons.data.splitting import Split
    from perceptrons.data.table import HasPlaces, check_classes
    from perceptrons.theory.scales import scaler_for

    model, options = run.model, run.options
    with refusing_data():
        check_classes(table, options.many_classes)
    test_reader, n_folds = None, options.folds
    if options.example is not None and not options.folds:
        split = split_messages(table)
    elif options.test is not None:
        test_reader = files.like_table(table, options.test, options, reports=False)
        sizes = f"{table.X.shape[0]:,} for training; {test_reader.X.shape[0]:,} in {options.test} for testing"
        split = Split(table, test_reader, sizes)
    else:
        split, n_folds = _split(table, options)
    models.name_labels(model, split.train, options)
    folds = cross_validate_folds(model, split.train, options, n_folds)
    train_set, held_out = models.split_for_calibration(split.train, options, options.seed, options.time_order)
    checkpoint, trace = None, trace_first_visits(model, train_set, options)
    start = time.perf_counter()
    keeps_training = bool(model.warm_start) and not is_kernel(model)  # columns and classes may then be new
    if options.checkpoint is not None or options.classes is not None or keeps_training:
        checkpoint = _fit_resumably(model, train_set, reader, options)
    else:
        _fit(model, train_set, options)
    seconds = time.perf_counter() - start
    if not (is_kernel(model) and model.warm_start):  # which keeps its columns
        table.teach(model)
    model.set_params(**run.parameters)
    threshold = models.calibrate_model(model, held_out, options)
    files.save_model(model, options.output)
    size = f"{table.n_bytes / 1e6:,.1f} MB" if table.n_bytes >= 50_000 else "less than 0.1 MB"
    is_slow = model.combine == "vote" and split.test is not None
    return TrainingResult(
        model, options, reader=table, how="whole", reason=f"{size} of parsed data", split=split.description,
        warnings=split.warnings, seconds=seconds,
        name=files.name_of(table) if options.data else DIGITS if options.example is None else SMS_NAME,
        train=None if is_slow else _measure(model, train_set, with_scores=False),
        test=None if split.test is None else _measure(model, split.test), test_reader=test_reader,
        lines=None if isinstance(table.path, HasPlaces) else train_set.lines, scaler=scaler_for(train_set.X, model),
        checkpoint=checkpoint, folds=folds, threshold=threshold, trace=trace,
    )  # fmt: skip


def _split(table: "Table", options: TrainOptions) -> "tuple[Split, int | None]":
    """Hold out a test set, or return a number of folds: too few examples are tested by cross-validation."""
    from perceptrons.cli.hold_out import FOLDS, has_enough_for_folds

    hold_out = _hold_out(options)
    split = hold_out.split(table)
    is_possible = not (table.several or models.needs_held_out_examples(options) or options.from_model)
    if split.test is None and hold_out.share is None and is_possible and has_enough_for_folds(table.y):
        description = f"{split.description},\nso {FOLDS}-fold cross-validation tests the model"
        return split._replace(description=description), FOLDS
    return split, options.folds


def cross_validate_folds(
    model: "AnyModel", table: "Table", options: TrainOptions, n_folds: int | None
) -> "list[Quality]":
    """Measure untrained copies of the model on each fold; return [] if there are no folds."""
    if n_folds is None:
        return []
    from perceptrons.selection.search import cross_validate

    assert table.y is not None
    qualities = []
    threshold = options.threshold if isinstance(options.threshold, float) else None
    waiting = Waiting("Training ...", options)
    with waiting, refusing(ValueError, TypeError, about="--folds"):
        for quality in cross_validate(
            model, table.X, table.y, n_folds, seed=options.seed, weight=table.weight, threshold=threshold
        ):
            qualities.append(quality)
            accuracy = metric_text("accuracy", quality.accuracy)
            waiting.say(f"Fold {len(qualities)} of {n_folds}: accuracy {accuracy} ...")
    return qualities


def trace_first_visits(model: "AnyModel", table: "Table", options: TrainOptions) -> "Trace | None":
    """Return the first visits of `model.fit` on a table, with the names of the data, if --trace wants them."""
    if options.trace is None:
        return None
    from perceptrons.inspection.weights import names_of_table
    from perceptrons.theory import trace

    if table.several:
        raise BadInputError("--trace is for one label per example, and the data have several: leave it out.")
    classes, like = models.parse_classes(model, options), copy.deepcopy(model)
    if classes is not None:
        like.set_params(classes=classes.tolist())
    with refusing(ValueError, TypeError, about="--trace"):
        first_visits = trace(table.X, table.y, like, visits=options.trace, sample_weight=table.weight)
    names = names_of_table(table)
    if names is not None:
        for column, name in enumerate(names) if isinstance(names, list) else names.items():
            first_visits.names[column] = name
    if table.lines is not None:
        first_visits.places = [f"line {line}" for line in table.lines.tolist()]
    return first_visits


def _fit(model: "AnyModel", table: "Table", options: TrainOptions) -> None:
    """Fit the model, with a spinner."""
    about = None if str(table.path) == "digits" else table.path
    model.set_params(verbose=int(options.verbose and not options.quiet))
    with Waiting("Training ...", options, options.verbose), refusing(ValueError, TypeError, about=about):
        model.fit(table.X, table.target, sample_weight=table.weight)
    model.set_params(verbose=0)  # a saved model should not draw bars wherever it is loaded


def _fit_resumably(
    model: "AnyModel", table: "Table", reader: "Reader | None", options: TrainOptions
) -> "ReportedCheckpoint | None":
    """Fit the model with checkpoints, named classes, or from where it is."""
    if is_kernel(model) or reader is None:
        raise BadInputError("--checkpoint and --classes are for training on files without a kernel: leave them out.")
    from perceptrons.cli.progress import StreamProgress, reported_checkpoint, watching
    from perceptrons.data.splitting import TableStream

    progress = StreamProgress(model, options, None, has_live_line=False)
    checkpoint = reported_checkpoint(options, progress)
    settings = [options.threshold] if models.is_threshold_chosen(options) else []
    settings += [] if options.probabilities is None else [f"--probabilities {options.probabilities}"]
    source: Any = TableStream(
        table, reader, str(options.test), _test_share(options), options.seed, options.time_order, *settings
    )
    classes = models.parse_classes(model, options)
    with watching(progress, checkpoint):
        model.fit_stream(source, options.epochs, classes=classes, cache=False, checkpoint=checkpoint, watch=progress)
    del model.progress_  # as after fit: they were not read while it learned
    return checkpoint


def fit_stream(run: TrainingRun, reader: "Reader | None") -> "TrainingResult":
    """Train while the data are read."""
    from perceptrons.cli.progress import StreamProgress, reported_checkpoint, watching
    from perceptrons.cli.training_result import TrainingResult
    from perceptrons.data.splitting import without_test

    assert reader is not None
    model, options = run.model, run.options
    limit = f"{options.in_memory / 2**30:.3g} GiB (--in-memory)"
    reason = f"more than {limit} of parsed data" if options.in_memory else "requested by --in-memory 0"
    _check_stream(model, options, reason)
    share = _test_share(options) if options.test is None else 0.0
    pronoun = "they are" if len(reader.files) > 1 else "it is"
    title = [files.name_of(reader), f"Trained while {pronoun} read ({reason})"]
    title += [f"about {share:.0%} held out for testing (seed {options.seed})"] * bool(share)
    progress = StreamProgress(model, options, options.epochs, [*title, *_other_test(options)])
    checkpoint = reported_checkpoint(options, progress)
    classes = models.parse_classes(model, options)
    tested: dict[str, Any] = {}
    to_calibrate = SHARE if models.needs_held_out_examples(options) else 0.0
    with (
        without_test(reader, share, options.seed) as source,
        # the seed of the test set would find no others
        without_test(source, to_calibrate, options.seed + 1, measured=True) as train_stream,
    ):
        start = time.perf_counter()
        with watching(progress, checkpoint):
            model.fit_stream(
                train_stream, options.epochs, classes=classes, cache=options.cache, checkpoint=checkpoint,
                watch=progress,
            )  # fmt: skip
        seconds = time.perf_counter() - start
        model.set_params(**run.parameters)
        threshold = models.calibrate_model(model, train_stream, options)
        files.save_model(model, options.output)
        if progress.unread is not None:
            raise progress.unread
        if options.json or not options.quiet:  # otherwise nobody sees the test
            if options.test is not None:
                tested = _test_on_file(model, options)
            elif share:
                quality = files.measured_blocks(model, source.test(model.n_features_in_))
                tested = {"test": quality, **_describe_test_set(quality, source, share, options.seed)}
    return TrainingResult(
        model, options, reader=reader, how="stream", reason=reason, name=files.name_of(reader),
        seconds=seconds, checkpoint=checkpoint, threshold=threshold, **tested,
    )  # fmt: skip


def _other_test(options: TrainOptions) -> list[str]:
    return [] if options.test is None else [f"{options.test} for testing"]


def _check_stream(model: "AnyModel", options: TrainOptions, reason: str) -> None:
    """Refuse what needs all data in memory."""
    obstacle = f"and there are {reason}" if options.in_memory else "which --in-memory 0 forbids"
    needs = f"needs all data in memory, {obstacle}"
    if is_kernel(model):
        raise BadInputError(f"--kernel {needs}: raise --in-memory.")
    for name in given(options, ("folds", "trace", "time_order")):
        raise BadInputError(f"{typed(name)} {needs}: raise --in-memory.")
    if options.class_weight == "balanced":
        raise BadInputError(f'--class-weight balanced {needs}: give the weights, {{"class": weight}}.')
    models.require_classes(model, options.classes)


def _describe_test_set(quality: Any, source: Any, share: float, seed: int) -> dict[str, Any]:
    """Describe the size of a test set held out of a stream, with warnings."""
    from perceptrons.cli.hold_out import FOLDS, test_set_warnings
    from perceptrons.engine.wording import in_percent

    if quality is None:
        return {"split": f"{source.n_examples:,} examples are too few to hold out {in_percent(share, 0)} for testing"}
    size, n = source.n_held_out, source.n_examples
    n_tested_of = {}
    if hasattr(quality, "confusion"):
        n_tested_of = dict(zip(quality.labels, quality.confusion.sum(axis=1).tolist(), strict=True))
    instead = f"--folds {FOLDS} tests on all examples, if they fit in memory (--in-memory)"
    description = f"{n - size:,} for training; {size:,} held out for testing"
    return {
        "split": f"{description} ({in_percent(size / n)}, by hash, seed {seed})",
        "warnings": test_set_warnings(share, size, n, n_tested_of, instead),
    }


def fit_on_cluster(run: TrainingRun) -> "TrainingResult":
    """Train on shards of the files, in several processes or on several machines."""
    from perceptrons.cli import cluster
    from perceptrons.cli.progress import MixingProgress, reported_checkpoint
    from perceptrons.cli.training_result import TrainingResult
    from perceptrons.distributed.rows import check_parameters as check_model

    model, options = run.model, run.options
    _check_cluster(options)
    models.require_classes(model, options.classes)
    with refusing(ValueError):
        check_model(model)
    names, reading = cluster.files_for_workers(options.data or [], options, options.dask)
    for path in (options.output, options.checkpoint):
        files.check_output(path, *names, options.test)
    read: Any = SimpleNamespace(files=names, skipped=0, complaints=[], notices=[])
    progress = MixingProgress(model, options, options.epochs, [files.name_of(read), *_other_test(options)])
    checkpoint = reported_checkpoint(options, progress, is_mixed=True)
    classes = models.parse_classes(model, options)
    start = time.perf_counter()
    facts = cluster.fit_on_workers(
        model, names, reading, options, progress, epochs=options.epochs, classes=classes, checkpoint=checkpoint,
        can_resume=True,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    models.calibrate_model(model, None, options)
    files.save_model(model, options.output)
    if progress.unread is not None:
        raise progress.unread
    read.skipped, read.complaints = progress.skipped, list(progress.complaints)
    read.notices = list(progress.file_notices)
    tested = {} if options.test is None else _test_on_file(model, options)
    return TrainingResult(
        model, options, reader=read, how="cluster", reason="requested by --dask or --workers", name=files.name_of(read),
        seconds=seconds, checkpoint=checkpoint, cluster=facts, **tested,
    )  # fmt: skip


def _check_cluster(options: TrainOptions) -> None:
    """Refuse what does not go with a cluster."""
    name = cluster_option(options)
    if options.example is not None:
        raise BadInputError(f"--example cannot be combined with {name}: one machine trains on it in no time.")
    if not options.data:
        raise BadInputError(f"{name} needs DATA: name the files that the workers should read.")
    if STDIN in options.data:
        raise BadInputError(f"- cannot be combined with {name}: workers cannot read standard input, so give files.")
    advice = {
        "trace": "it follows one run, not one per shard",
        "cache": "every worker keeps what it reads on its own disk",
        "time_order": "use a separate test file, --test FILE",
        "test_share": "use a separate test file, --test FILE",
        "probabilities": "calibrate the model afterwards in Python, with perceptrons.selection.calibrate",
    }
    for option, what_to_do in advice.items():
        if getattr(options, option):
            raise BadInputError(f"{typed(option)} cannot be combined with {name}: {what_to_do}.")
    if models.is_threshold_chosen(options):
        raise BadInputError(f"--threshold {plain(options.threshold)} cannot be combined with {name}: give a number.")


def _measure(model: "AnyModel", table: "Table", with_scores: bool = True) -> "Quality | LabelQuality":
    from perceptrons.inspection.evaluation import measure, measure_sets, predicted_with_scores, probabilities

    with refusing(ValueError):
        if table.classes is not None:
            return measure_sets(model, table.X, table.y, table.classes)
        labels, scores = predicted_with_scores(model, table.X)
        more = (scores, probabilities(model, scores)) if with_scores else ()
        return measure(model.classes_, table.y, labels, *more)


def _test_on_file(model: "AnyModel", options: TrainOptions) -> dict[str, Any]:
    """Test the model on another file, block by block."""
    assert options.test is not None
    reader = files.opened([options.test], ReadingOptions(on_error=options.on_error), like=model)
    return {"test": files.measured_blocks(model, reader), "test_reader": reader}
