"""`perceptrons tune`: the recipe from a file to a tested model, settings chosen on development data."""

from pathlib import Path
from typing import Annotated

import typer

from perceptrons.cli import options
from perceptrons.cli.files import check_folder, check_output, save_model
from perceptrons.cli.kernels import KernelName
from perceptrons.cli.screen import as_json, screen
from perceptrons.cli.splits import (
    DevShare,
    Force,
    GroupColumn,
    LedgerFile,
    MetricName,
    Metrics,
    Seed,
    TestShare,
    TimeOrder,
    check_split,
)
from perceptrons.cli.stream import options as of_streams
from perceptrons.cli.train import Combine
from perceptrons.cli.waiting import Waiting


def tune(
    data: options.Files,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="MODEL", readable=False, help="Save the model here.")
    ] = None,
    format: options.Format = None,
    label_column: options.LabelColumn = None,
    text_column: options.TextColumn = None,
    words: of_streams.WordGrams = None,
    chars: of_streams.CharGrams = None,
    hash_bits: of_streams.HashBits = None,
    categories: of_streams.Categories = None,
    ignore: of_streams.Ignore = None,
    on_error: options.OnError = None,
    many_classes: options.ManyClasses = False,
    dev_share: DevShare = None,
    test_share: TestShare = None,
    dev: Annotated[
        Path | None, typer.Option("--dev", metavar="FILE", readable=False, help="Choose settings by this file.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", readable=False, help="Test on this file.")
    ] = None,
    group_column: GroupColumn = None,
    time_order: TimeOrder = False,
    seed: Seed = 0,
    grid: Annotated[
        str | None,
        typer.Option(
            "--grid", metavar="JSON", help='Values to try, {"C": [0.1, 1]}, or a file with that; otherwise the usual.'
        ),
    ] = None,
    metric: MetricName = Metrics.accuracy,
    combine: Annotated[
        Combine | None, typer.Option("--combine", metavar="WHICH", help="average (default), last, vote or pocket.")
    ] = None,
    kernel: Annotated[
        KernelName | None, typer.Option("--kernel", metavar="NAME", help="Tune a KernelPerceptron with this kernel.")
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option("--max-iter", metavar="N", min=1, help="Epochs at most; the best number is found.")
    ] = None,
    no_retrain: Annotated[
        bool, typer.Option("--no-retrain", help="Do not learn again from train and development data together.")
    ] = False,
    force: Force = False,
    ledger: LedgerFile = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Settings to try at a time.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    json: options.Json = False,
) -> None:
    """Find good settings on development data, learn with them, and test the model once.

    The data are split in three: to learn from, to choose settings by, and a test part that stays sealed until the
    end. The number of epochs is found from one run of each setting. A second look at the same test examples is
    refused, unless forced; then the report and the model say so. Running the same command again is allowed.
    """
    from perceptrons.cli.tuning import grid_of, new_model, show, summary
    from perceptrons.cli.wholedata import ledger_file, part_of, read_whole, refusing_what_is_wrong
    from perceptrons.selection import recipe
    from perceptrons.selection.search import named

    check_split(time_order, group_column, dev=(dev, dev_share), test=(test, test_share))
    check_output(output, *data, dev, test)
    check_folder(output)
    where = ledger_file(ledger, quiet)
    asked = of_streams.Asked(
        text_column=text_column, words=words, chars=chars, hash_bits=hash_bits, categories=categories, ignore=ignore,
        on_error=on_error, many_classes=many_classes,
    )  # fmt: skip
    model = new_model(combine, kernel, max_iter, seed)
    settings = grid_of(grid, model)
    waiting = Waiting("Trying settings ...", shown=not (quiet or json))
    read = read_whole(data, format, label_column, asked, group_column)
    parts = {
        name: part_of(path, share, read, data[0], format, label_column)
        for name, path, share in (("dev", dev, dev_share), ("test", test, test_share))
    }
    with waiting, refusing_what_is_wrong(read):
        found = recipe(
            model, read.X, read.y, settings, **parts, retrain=not no_retrain, random_state=seed,
            split="time" if time_order else None, groups=read.groups, metric=metric.value, force=force, ledger=where,
            n_jobs=jobs, tell=lambda setting: waiting.say(f"Tried {named(setting)}: {setting.score:.4f} ..."),
        )  # fmt: skip
    read.teach(found.model)
    if output is not None:
        save_model(found.model, output)
    if json:
        print(as_json({"data": [str(path) for path in data], "model": _text(output), **summary(found)}), end="")
    elif not quiet:
        show(found, read, output, screen())


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
