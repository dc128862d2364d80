"""`perceptrons train`: learn from a file, or from scikit-learn's digits, test, save and say how it went."""

import sys
from contextlib import nullcontext
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perceptrons.cli import kernels, options
from perceptrons.cli.again import command
from perceptrons.cli.byclass import file_of, name_classes, read_by_class
from perceptrons.cli.cluster import options as of_clusters
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, like, read_table, save_model
from perceptrons.cli.screen import as_json, plain, screen
from perceptrons.cli.stream import options as of_streams

if TYPE_CHECKING:
    from perceptrons.cli.files import AnyModel
    from perceptrons.data import Table

Combine = StrEnum("Combine", ["average", "last", "vote", "pocket"])
Step = StrEnum("Step", ["constant", "pa", "pa1", "pa2", "arow"])
Multiclass = StrEnum("Multiclass", ["joint", "ovr", "ovo"])
Rule = partial(typer.Option, rich_help_panel="How to learn")
Stop = partial(typer.Option, rich_help_panel="When to stop")


def whole_or_all(text: str) -> int | str:
    """A batch size as the user writes it."""
    try:
        return text if text == "all" else int(text)
    except ValueError:
        raise typer.BadParameter(f"{plain(text)} is neither a whole number nor all.") from None


def train(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DATA",
            readable=False,
            show_default=False,
            help="A file; or several, patterns such as 'part-*.svm', - for stdin; none: scikit-learn's digits.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="MODEL", readable=False, help="Save the model here.")
    ] = None,
    format: options.Format = None,
    label_column: options.LabelColumn = None,
    text_column: options.TextColumn = None,
    on_error: options.OnError = None,
    many_classes: options.ManyClasses = False,
    test: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", readable=False, help="Test on this file.")
    ] = None,
    test_share: Annotated[
        float | None,
        typer.Option(
            "--test-share", metavar="SHARE", min=0, max=0.9, help="Hold this share out as a test; otherwise 0.2."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the split and of the orders.")] = 0,
    combine: Annotated[
        Combine | None,
        Rule("--combine", metavar="WHICH", help="Weights that predict: average (default), last, vote or pocket."),
    ] = None,
    step: Annotated[
        Step | None,
        Rule(
            "--step", metavar="RULE", help="Length of a step: constant (default), or by the loss: pa, pa1, pa2, arow."
        ),
    ] = None,
    eta0: Annotated[float | None, Rule("--eta0", metavar="ETA", help="Learning rate (step constant).")] = None,
    C: Annotated[
        float | None, Rule("--C", metavar="C", help="Aggressiveness (step pa1, pa2, arow); otherwise 1.")
    ] = None,
    margin: Annotated[
        float | None,
        Rule(
            "--margin",
            metavar="M",
            help="By how much a score must be right; otherwise 0, or 1 if --step is by the loss.",
        ),
    ] = None,
    shrink: Annotated[
        float | None, Rule("--shrink", metavar="SHARE", help="Shrink the weights by this share at every example.")
    ] = None,
    batch_size: Annotated[
        str | None,
        Rule("--batch-size", metavar="N", parser=whole_or_all, help="Examples to an update: a number, or all."),
    ] = None,
    multiclass: Annotated[
        Multiclass | None,
        Rule(
            "--multiclass",
            metavar="HOW",
            help="Several classes: joint (default), one vs rest (ovr) or one vs one (ovo).",
        ),
    ] = None,
    cost: Annotated[
        str | None,
        Rule("--cost", metavar="JSON", help='What mistakes cost: {"true": {"answer": cost}}, or a file with that.'),
    ] = None,
    class_weight: Annotated[
        str | None,
        Rule("--class-weight", metavar="JSON", help='How classes count: {"class": weight}, a file, or balanced.'),
    ] = None,
    no_shuffle: Annotated[bool, Rule("--no-shuffle", help="Visit examples in the order of DATA.")] = False,
    no_intercept: Annotated[bool, Rule("--no-intercept", help="Learn no bias.")] = False,
    kernel: kernels.Kernel = None,
    gamma: kernels.Gamma = None,
    degree: kernels.Degree = None,
    coef0: kernels.Coef0 = None,
    budget: kernels.Budget = None,
    on_full: kernels.OnFull = None,
    cache_size: kernels.CacheSize = None,
    max_iter: Annotated[int | None, Stop("--max-iter", metavar="N", min=1, help="Epochs at most.")] = None,
    tol: Annotated[
        float | None, Stop("--tol", metavar="T", min=0, help="Stop when the average changes by less; 0: never.")
    ] = None,
    early_stopping: Annotated[
        bool, Stop("--early-stopping", help="Stop when held-out training examples get no better.")
    ] = False,
    max_seconds: Annotated[float | None, Stop("--max-seconds", metavar="S", help="Stop after this time.")] = None,
    epochs: of_streams.Epochs = None,
    classes: of_streams.Classes = None,
    hash_bits: of_streams.HashBits = None,
    words: of_streams.WordGrams = None,
    chars: of_streams.CharGrams = None,
    categories: of_streams.Categories = None,
    ignore: of_streams.Ignore = None,
    text_labels: of_streams.TextLabels = False,
    zero_based: of_streams.ZeroBased = False,
    checkpoint: of_streams.CheckpointFile = None,
    every: of_streams.Every = None,
    resume: of_streams.Resume = False,
    cache: of_streams.KeptCache = None,
    example: of_streams.Example = None,
    dask: of_clusters.Dask = None,
    workers: of_clusters.Workers = None,
    shards: of_clusters.Shards = None,
    mixing: of_clusters.Mixing = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show a live bar while learning.")] = False,
    json: options.Json = False,
) -> None:
    """Train a perceptron, test it on examples it has not seen, and say how it went.

    Without DATA it learns scikit-learn's handwritten digits. One csv, tsv, svmlight or npz file is read whole.

    Several files, patterns, - (stdin), other formats and any option for streams make it learn while it reads.

    With --workers or --dask it learns from files in shards, on many processes or machines, and mixes the weights.
    """
    asked = of_streams.Asked(
        example, epochs, classes, hash_bits, text_column, words, chars, categories, ignore, text_labels,
        many_classes, zero_based,
        on_error, cache, checkpoint, every, resume, dask, workers, shards, mixing,
    )  # fmt: skip
    files = data or []
    rule = {
        "combine": combine, "step": step, "eta0": eta0, "C": C, "margin": margin, "shrink": shrink,
        "batch_size": batch_size, "multiclass": multiclass, "cost": cost, "class_weight": class_weight,
    }  # fmt: skip
    of_kernel = {
        "kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0, "budget": budget, "on_full": on_full,
        "cache_size": cache_size,
    }  # fmt: skip
    why_stream = of_streams.why_stream(files, format, asked)
    if why_stream is None:
        if test is not None and test_share is not None:
            raise BadInputError("--test and --test-share exclude each other: give a test file, or a share to hold out.")
        if test is not None and not files:
            raise BadInputError("--test needs DATA: the digits are tested on examples held out.")
    else:
        of_streams.refuse_others(
            why_stream, {"test_share": test_share, "max_iter": max_iter, "tol": tol, "early_stopping": early_stopping},
            of_kernel, class_weight,
        )  # fmt: skip
    check_output(output, *files, test, file_of(cost), file_of(class_weight))
    kernels.check_sides(rule, of_kernel, no_intercept)
    chosen = {**rule, **of_kernel, "max_iter": max_iter, "tol": tol, "max_seconds": max_seconds}
    given = {name: getattr(value, "value", value) for name, value in chosen.items() if value is not None}
    if tol == 0:
        given["tol"] = None
    if cost is not None:
        given["cost"] = read_by_class("--cost", cost)
    if class_weight not in (None, "balanced"):
        given["class_weight"] = read_by_class("--class-weight", class_weight)
    given |= {
        "early_stopping": early_stopping, "random_state": seed, "shuffle": not no_shuffle,
        "verbose": verbose and not quiet and why_stream is None,
    }  # fmt: skip
    model = kernels.new_model(given, fit_intercept=not no_intercept)
    said = {
        "format": format,
        "label_column": label_column,
        "many_classes": many_classes,
        "test": test,
        "test_share": test_share,
        **rule,
        **of_kernel,
    }
    if why_stream is not None:
        from perceptrons.cli.stream.training import Order, train_stream

        said |= {"max_seconds": max_seconds, "no_shuffle": no_shuffle, "no_intercept": no_intercept}
        order = Order(model, files, format, label_column, test, asked, output, said, quiet, verbose and not quiet, json)
        if asked.on_cluster:
            from perceptrons.cli.cluster.training import train_on_cluster

            train_on_cluster(order)
        else:
            train_stream(order)
        return
    from perceptrons.cli.report import Run, show, summary

    path = files[0] if files else None
    share = 0.2 if test_share is None else test_share
    table, held_out, split = tables(path, test, share, seed, format, label_column, many_classes)
    name_classes(model, table.y)
    learn(model, table, waiting=not (quiet or json or verbose))
    if output is not None:
        save_model(model, output)
    run = Run(model, table, held_out, split, path, output, command(files, said))
    if json:
        print(as_json(summary(run)), end="")
    elif not quiet:
        show(run, screen())


def learn(model: "AnyModel", table: "Table", waiting: bool) -> None:
    """Fit the model; a spinner turns meanwhile if somebody is watching."""
    about = None if str(table.path) == "digits" else table.path
    spinner: Any = nullcontext()
    if waiting and sys.stderr.isatty():
        spinner = screen(stderr=True).status("Learning ...")
    with spinner, refusing(ValueError, TypeError, about=about):
        model.fit(table.X, table.y)
    if table.feature_names is not None:
        model.feature_names_in_ = table.feature_names
    model.set_params(verbose=0)  # a saved model should not draw bars wherever it is loaded


def tables(
    data: Path | None,
    test: Path | None,
    share: float,
    seed: int,
    format: options.DataFormat | None,
    label_column: str | None,
    many_classes: bool = False,
) -> tuple["Table", "Table | None", str]:
    """What to learn from, what to test on, and a sentence about it."""
    import numpy as np

    from perceptrons.cli.digits import digits
    from perceptrons.training.epochs import hold_out

    table = digits() if data is None else read_table(data, format, label_column)
    check_classes(table, many_classes)
    n = table.X.shape[0]
    if test is not None:
        held_out = read_table(
            test, format if data is not None and test.suffix == data.suffix else None, table.label_name or label_column,
            like=like(table.feature_names, table.X.shape[1]), part="test",
            text_labels=table.y is not None and table.y.dtype.kind == "U",
        )  # fmt: skip
        return table, held_out, f"{n:,} to learn from; {held_out.X.shape[0]:,} in {test} to test on"
    if share == 0:
        return table, None, f"All {n:,} to learn from, none held out"
    codes = np.unique(np.asarray(table.y), return_inverse=True)[1]
    if n * share < 1 or np.bincount(codes).max() == 1:
        return table, None, f"All {n:,} to learn from: too few to hold {share:.0%} out as a test"
    train, rest = hold_out(codes, None, share, seed)
    said = f"{len(train):,} to learn from; {len(rest):,} held out as a test ({share:.0%} of every class, seed {seed})"
    return table.part(train), table.part(rest), said


def check_classes(table: "Table", many_classes: bool) -> None:
    """Refuse labels that are not classes, such as prices or ids: nearly every row has its own."""
    import numpy as np

    from perceptrons.data.table import not_classes

    assert table.y is not None
    what = None if many_classes else not_classes(np.unique(table.y).tolist(), table.X.shape[0], table.label_name)
    if what is not None:
        raise BadInputError(f"{table.path}: {what}")
