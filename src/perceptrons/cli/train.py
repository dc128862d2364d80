"""`perceptrons train`: reads data, fits a model, and reports the result.

Training is whole (`fit_table`), while the data are read (`fit_stream`), or on a cluster (`fit_on_cluster`).
"""

import copy
import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perceptrons.cli import cluster, files, models
from perceptrons.cli.cluster import check_cluster_options, cluster_option
from perceptrons.cli.files import STDIN, AnyModel, refusing, refusing_data
from perceptrons.cli.hold_out import FOLDS
from perceptrons.cli.messages import BadInputError, plain
from perceptrons.cli.options import NOT_WITH_FROM, ReadingOptions, TrainOptions, given, refuse_both, typed
from perceptrons.cli.progress import (
    MixingProgress,
    ReportedCheckpoint,
    StreamProgress,
    reported_checkpoint,
    watching,
)
from perceptrons.cli.screen import Waiting, print_result
from perceptrons.cli.training_result import TrainingResult
from perceptrons.data import Table
from perceptrons.data.bundled import DIGITS, SMS, SMS_NAME, digits, split_messages
from perceptrons.data.reader import Reader
from perceptrons.data.splitting import (
    HELD_OUT_SHARE,
    HoldOut,
    Split,
    TableStream,
    has_enough_for_folds,
    test_set_warnings,
    without_test,
)
from perceptrons.data.table import HasPlaces, check_classes
from perceptrons.engine.wording import in_percent
from perceptrons.inspection.evaluation import (
    LabelQuality,
    Quality,
    measure,
    measure_sets,
    predicted_with_scores,
    probabilities,
)
from perceptrons.inspection.metrics import format_metric
from perceptrons.inspection.weights import names_of_table
from perceptrons.kernel import KernelPerceptron
from perceptrons.theory import Trace, trace
from perceptrons.theory.scales import scaler_for

if TYPE_CHECKING:
    from perceptrons.selection import Threshold

NOT_ON_A_CLUSTER = {  # options, and what to do instead
    "trace": "it follows one run, not one per shard",
    "cache": "every worker keeps what it reads on its own disk",
    "time_order": "use a separate test file, --test FILE",
    "test_share": "use a separate test file, --test FILE",
    "probabilities": "calibrate the model afterwards in Python, with perceptrons.selection.calibrate",
}


def train(options: TrainOptions) -> None:
    """Run `perceptrons train`."""
    check(options)
    run = Run(models.new_model(options), options) if options.from_model is None else resume(options)
    if cluster_option(options) is not None:
        result = fit_on_cluster(run)
    else:
        table, reader = read(run)
        result = fit_stream(run, reader) if table is None else fit_table(run, table, reader)
    print_result(options, result.to_dict, result.show)


@dataclass(frozen=True)
class Run:
    """A model to train, and the options. parameters: those that the model has again after this training."""

    model: AnyModel
    options: TrainOptions
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def hold_out(self) -> HoldOut:
        """Return how to hold out a test set of data that are read whole."""
        options = self.options
        has_other_test = options.test is not None or options.folds is not None
        return HoldOut(0.0 if has_other_test else options.test_share, options.seed, options.time_order)

    @property
    def test_share(self) -> float:
        """Return the share to hold out of a stream."""
        share = self.hold_out.share
        return HELD_OUT_SHARE if share is None else share

    def finish(self, held_out: Any) -> "Threshold | None":
        """Calibrate and save the model; return how the threshold was chosen. held_out: see `calibrate_model`."""
        self.model.set_params(**self.parameters)
        threshold = models.calibrate_model(self.model, held_out, self.options)
        files.save_model(self.model, self.options.output)
        return threshold

    def fit_blocks(self, source: Any, progress: StreamProgress, cache: Any) -> ReportedCheckpoint | None:
        """Fit the model on blocks of examples, with checkpoints if they are wanted."""
        model, options, checkpoint = self.model, self.options, reported_checkpoint(self.options, progress)
        assert not isinstance(model, KernelPerceptron)
        classes = models.parse_classes(model, options)
        with watching(progress, checkpoint):
            model.fit_stream(
                source, options.epochs, classes=classes, cache=cache, checkpoint=checkpoint, watch=progress
            )
        return checkpoint

    def test_on_file(self) -> dict[str, Any]:
        """Test the model on the file of --test, block by block."""
        assert self.options.test is not None
        reader = files.open_data([self.options.test], ReadingOptions(on_error=self.options.on_error), like=self.model)
        return {"test": files.measured_blocks(self.model, reader), "test_reader": reader}

    def title(self, reader: Any, *lines: str) -> list[str]:
        """Return lines to print before training starts."""
        test = [] if self.options.test is None else [f"{self.options.test} for testing"]
        return [files.name_of(reader), *lines, *test]


def check(options: TrainOptions) -> None:
    """Refuse options that do not go together, and files that cannot be written, before any work is done."""
    data = options.data or []
    refuse_both(options, "test", ("test_share",), "give a test file, or a share to hold out")
    if options.test_share is not None and not 0 <= options.test_share <= 0.9:
        raise BadInputError(f"--test-share {options.test_share:g}: give a share from 0 to 0.9.")
    refuse_both(options, "epochs", ("max_iter", "tol"), "give one of them")
    refuse_both(options, "time_order", ("test", "folds", "example"), "it says which examples to hold out")
    for name in ("every", "resume"):
        if getattr(options, name) and options.checkpoint is None:
            raise BadInputError(f"--{name} needs --checkpoint FILE: without it, nothing is saved during training.")
    check_cluster_options(options)
    for name in given(options, ("data", "format", "label_column", "test")) if options.example is not None else ():
        replaced = "DATA" if name == "data" else typed(name)
        raise BadInputError(f"{replaced} cannot be combined with --example, which brings its own data.")
    if options.test is not None and not data:
        raise BadInputError("--test needs DATA: the digits are tested on held-out examples.")
    outputs = [path for path in (options.output, options.cache, options.checkpoint) if path is not None]
    if len({path.absolute() for path in outputs}) < len(outputs):
        raise BadInputError("-o, --checkpoint and --cache name the same file: give each its own.")
    texts = (options.cost, options.class_weight, models.threshold_cost(options))
    for path in outputs:
        files.check_output(path, *data, options.test, *map(models.json_file, texts))
    if options.test is not None and not options.test.is_dir():
        files.check_files([options.test])
    models.check_kernel(options)
    if options.folds is None:
        if options.metric != "accuracy":
            raise BadInputError(f"--metric {options.metric} is for folds: also give --folds K.")
    elif (name_of_cluster := cluster_option(options)) is not None:
        raise BadInputError(
            f"--folds cannot be combined with {name_of_cluster}: it needs all data in the memory of one process."
        )
    elif options.in_memory == 0:
        raise BadInputError("--folds needs all data in memory, which --in-memory 0 forbids: leave one of them out.")
    elif options.test_share:
        raise BadInputError("--folds and --test-share cannot be combined: every fold is a test set.")
    models.check_calibration(options, options.folds)


def resume(options: TrainOptions) -> Run:
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
        return Run(model.set_params(**parameters), options, before)


def read(run: Run) -> tuple[Table | None, Reader | None]:
    """Return the data if they fit in memory, and their reader; there is none for data that come with the package."""
    options = run.options
    if options.example is not None:
        reader = files.open_data([SMS], replace(options, format="text"))
        return files.read_all(reader), reader
    if not options.data:
        return digits(), None
    if options.from_model is None:
        reader = files.open_data(options.data, options)
    else:  # a kernel compares examples with those it keeps, so it learns no new columns
        like: dict[str, Any] = {"like": run.model, "grow": not isinstance(run.model, KernelPerceptron)}
        reader = files.open_data(options.data, options, **like, text_labels=False, need_labels=True)
    if run.test_share:
        run.hold_out.apply_to(reader)
    if not options.in_memory:
        return None, reader
    with Waiting("Reading ...", options):
        return files.read_within(reader, options.in_memory), reader


# ---- in memory


def fit_table(run: Run, table: Table, reader: Reader | None) -> TrainingResult:
    """Train on data in memory."""
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
        split, n_folds = _split(run, table)
    models.name_labels(model, split.train, options)
    folds = cross_validate_folds(model, split.train, options, n_folds)
    train_set, held_out = models.split_for_calibration(split.train, options, options.seed, options.time_order)
    checkpoint, first_visits = None, trace_first_visits(model, train_set, options)
    is_kernel = isinstance(model, KernelPerceptron)
    start = time.perf_counter()
    # columns and classes may be new to a model that keeps training
    if options.checkpoint is not None or options.classes is not None or (model.warm_start and not is_kernel):
        checkpoint = _fit_resumably(run, train_set, reader)
    else:
        _fit(run, train_set)
    seconds = time.perf_counter() - start
    if not (is_kernel and model.warm_start):  # which keeps its columns
        table.teach(model)
    threshold = run.finish(held_out)
    size = f"{table.n_bytes / 1e6:,.1f} MB" if table.n_bytes >= 50_000 else "less than 0.1 MB"
    is_slow = model.combine == "vote" and split.test is not None
    return TrainingResult(
        model, options, reader=table, how="whole", reason=f"{size} of parsed data", split=split.description,
        warnings=split.warnings, seconds=seconds,
        name=files.name_of(table) if options.data else DIGITS if options.example is None else SMS_NAME,
        train=None if is_slow else _measure(model, train_set, with_scores=False),
        test=None if split.test is None else _measure(model, split.test), test_reader=test_reader,
        lines=None if isinstance(table.path, HasPlaces) else train_set.lines, scaler=scaler_for(train_set.X, model),
        checkpoint=checkpoint, folds=folds, threshold=threshold, trace=first_visits,
    )  # fmt: skip


def _split(run: Run, table: Table) -> tuple[Split, int | None]:
    """Hold out a test set, or return a number of folds: too few examples are tested by cross-validation."""
    options = run.options
    split = run.hold_out.split(table, f"--folds {FOLDS} tests on all examples")
    is_possible = not (table.several or models.needs_held_out_examples(options) or options.from_model)
    if split.test is None and run.hold_out.share is None and is_possible and has_enough_for_folds(table.y, FOLDS):
        description = f"{split.description},\nso {FOLDS}-fold cross-validation tests the model"
        return split._replace(description=description), FOLDS
    return split, options.folds


def cross_validate_folds(model: AnyModel, table: Table, options: TrainOptions, n_folds: int | None) -> list[Quality]:
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
            waiting.say(
                f"Fold {len(qualities)} of {n_folds}: accuracy {format_metric('accuracy', quality.accuracy)} ..."
            )
    return qualities


def trace_first_visits(model: AnyModel, table: Table, options: TrainOptions) -> Trace | None:
    """Return the first visits of `model.fit` on a table, with the names of the data, if --trace wants them."""
    if options.trace is None:
        return None
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


def _fit(run: Run, table: Table) -> None:
    """Fit the model, with a spinner."""
    model, options = run.model, run.options
    about = None if str(table.path) == "digits" else table.path
    model.set_params(verbose=int(options.verbose and not options.quiet))
    with Waiting("Training ...", options, options.verbose), refusing(ValueError, TypeError, about=about):
        model.fit(table.X, table.target, sample_weight=table.weight)
    model.set_params(verbose=0)  # a saved model should not draw bars wherever it is loaded


def _fit_resumably(run: Run, table: Table, reader: Reader | None) -> ReportedCheckpoint | None:
    """Fit the model with checkpoints, named classes, or from where it is."""
    model, options = run.model, run.options
    if isinstance(model, KernelPerceptron) or reader is None:
        raise BadInputError("--checkpoint and --classes are for training on files without a kernel: leave them out.")
    settings = [options.threshold] if models.is_threshold_chosen(options) else []
    settings += [] if options.probabilities is None else [f"--probabilities {options.probabilities}"]
    source = TableStream(table, reader, str(options.test), run.test_share, options.seed, options.time_order, *settings)
    checkpoint = run.fit_blocks(source, StreamProgress(model, options, None, has_live_line=False), cache=False)
    del model.progress_  # as after fit: they were not read while it learned
    return checkpoint


def _measure(model: AnyModel, table: Table, with_scores: bool = True) -> Quality | LabelQuality:
    with refusing(ValueError):
        if table.classes is not None:
            return measure_sets(model, table.X, table.y, table.classes)
        labels, scores = predicted_with_scores(model, table.X)
        more = (scores, probabilities(model, scores)) if with_scores else ()
        return measure(model.classes_, table.y, labels, *more)


# ---- while reading


def fit_stream(run: Run, reader: Reader | None) -> TrainingResult:
    """Train while the data are read."""
    assert reader is not None
    model, options = run.model, run.options
    limit = f"{options.in_memory / 2**30:.3g} GiB (--in-memory)"
    reason = f"more than {limit} of parsed data" if options.in_memory else "requested by --in-memory 0"
    _check_stream(run, f"and there are {reason}" if options.in_memory else "which --in-memory 0 forbids")
    share = run.test_share if options.test is None else 0.0
    title = [f"Trained while {'they are' if len(reader.files) > 1 else 'it is'} read ({reason})"]
    title += [f"about {share:.0%} held out for testing (seed {options.seed})"] * bool(share)
    progress = StreamProgress(model, options, options.epochs, run.title(reader, *title))
    tested: dict[str, Any] = {}
    to_calibrate = HELD_OUT_SHARE if models.needs_held_out_examples(options) else 0.0
    with (
        without_test(reader, share, options.seed) as source,
        # the seed of the test set would find no others
        without_test(source, to_calibrate, options.seed + 1, measured=True) as train_stream,
    ):
        start = time.perf_counter()
        checkpoint = run.fit_blocks(train_stream, progress, options.cache)
        seconds = time.perf_counter() - start
        threshold = run.finish(train_stream)
        progress.check_read()
        if options.json or not options.quiet:  # otherwise nobody sees the test
            if options.test is not None:
                tested = run.test_on_file()
            elif share:
                quality = files.measured_blocks(model, source.test(model.n_features_in_))
                tested = {"test": quality, **_describe_test_set(quality, source, share, options.seed)}
    return TrainingResult(
        model, options, reader=reader, how="stream", reason=reason, name=files.name_of(reader),
        seconds=seconds, checkpoint=checkpoint, threshold=threshold, **tested,
    )  # fmt: skip


def _check_stream(run: Run, obstacle: str) -> None:
    """Refuse what needs all data in memory."""
    options, needs = run.options, f"needs all data in memory, {obstacle}"
    kernel = ["--kernel"] * isinstance(run.model, KernelPerceptron)
    for option in [*kernel, *map(typed, given(options, ("folds", "trace", "time_order")))]:
        raise BadInputError(f"{option} {needs}: raise --in-memory.")
    if options.class_weight == "balanced":
        raise BadInputError(f'--class-weight balanced {needs}: give the weights, {{"class": weight}}.')
    models.require_classes(run.model, options.classes)


def _describe_test_set(quality: Any, source: Any, share: float, seed: int) -> dict[str, Any]:
    """Describe the size of a test set held out of a stream, with warnings."""
    size, n, n_tested_of = source.n_held_out, source.n_examples, {}
    if quality is None:
        return {"split": f"{n:,} examples are too few to hold out {in_percent(share, 0)} for testing"}
    if isinstance(quality, Quality):
        n_tested_of = dict(zip(quality.labels, quality.confusion.sum(axis=1).tolist(), strict=True))
    instead = f"--folds {FOLDS} tests on all examples, if they fit in memory (--in-memory)"
    description = f"{n - size:,} for training; {size:,} held out for testing"
    return {
        "split": f"{description} ({in_percent(size / n)}, by hash, seed {seed})",
        "warnings": test_set_warnings(share, size, n, n_tested_of, instead),
    }


# ---- on a cluster


def fit_on_cluster(run: Run) -> TrainingResult:
    """Train on shards of the files, in several processes or on several machines."""
    from perceptrons.distributed.rows import check_parameters as check_model

    model, options = run.model, run.options
    _check_cluster(options)
    models.require_classes(model, options.classes)
    with refusing(ValueError):
        check_model(model)
    names, reading = cluster.files_for_workers(options.data or [], options, options.dask)
    for path in (options.output, options.checkpoint):
        files.check_output(path, *names, options.test)
    reader: Any = SimpleNamespace(files=names)
    progress = MixingProgress(model, options, options.epochs, run.title(reader))
    checkpoint = reported_checkpoint(options, progress, is_mixed=True)
    classes = models.parse_classes(model, options)
    start = time.perf_counter()
    facts = cluster.fit_on_workers(
        model, names, reading, options, progress, epochs=options.epochs, classes=classes, checkpoint=checkpoint,
        can_resume=True,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    run.finish(None)
    progress.check_read()
    reader.skipped, reader.complaints = progress.skipped, list(progress.complaints)
    reader.notices = list(progress.file_notices)
    return TrainingResult(
        model, options, reader=reader, how="cluster", reason="requested by --dask or --workers",
        name=files.name_of(reader), seconds=seconds, checkpoint=checkpoint, cluster=facts,
        **({} if options.test is None else run.test_on_file()),
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
    for option, advice in NOT_ON_A_CLUSTER.items():
        if getattr(options, option):
            raise BadInputError(f"{typed(option)} cannot be combined with {name}: {advice}.")
    if models.is_threshold_chosen(options):
        raise BadInputError(f"--threshold {plain(options.threshold)} cannot be combined with {name}: give a number.")
