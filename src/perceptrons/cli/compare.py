"""`perceptrons compare`: the perceptron's variants beside its relatives on the user's data, or two demonstrations."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perceptrons.cli import options
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.screen import as_json, bar, grid, heading, percent, plain, say, screen
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

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons.cli.wholedata import WholeData
    from perceptrons.selection import Compared, Demonstration

Demo = StrEnum("Demo", {"too_correct": "too-correct", "copied_features": "copied-features"})
WIDEST = 10  # characters of a bar


def compare(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DATA", readable=False, show_default=False,
            help="A file; or several, patterns such as 'part-*.svm', - for stdin.",
        ),
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
    test: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", readable=False, help="Test on this file.")
    ] = None,
    group_column: GroupColumn = None,
    time_order: TimeOrder = False,
    seed: Seed = 0,
    metric: MetricName = Metrics.accuracy,
    learner: Annotated[
        list[str] | None,
        typer.Option("--learner", metavar="NAME", help="Only this one, such as average, arow, kernel, logistic, svm. "
                     "May be repeated."),
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", metavar="S", help="Time to tune each learner; more is left out.")
    ] = None,
    force: Force = False,
    ledger: LedgerFile = None,
    demo: Annotated[
        Demo | None,
        typer.Option("--demo", metavar="NAME", help="too-correct or copied-features: what misleads a relative."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Compare the perceptron's variants with naive Bayes, logistic regression, SVM, least squares and ridge.

    All on the same parts of DATA, tuned alike on development data, tested once together: accuracy with its interval,
    significance, time, size. A second look at the same test examples is refused, unless forced; then the report says
    so. Running the same command again is allowed.
    """
    if demo is not None:
        if data:
            raise BadInputError(f"--demo {demo.value} makes its own data: leave DATA out.")
        _demonstrate(demo, json, quiet)
        return
    if not data:
        raise BadInputError("Nothing to compare on: give DATA, or --demo too-correct or copied-features.")
    check_split(time_order, group_column, dev=(None, dev_share), test=(test, test_share))
    if max_seconds is not None and not max_seconds > 0:
        raise BadInputError(f"--max-seconds {max_seconds:g}: give a number above 0.")
    from perceptrons.cli.wholedata import ledger_file, part_of, read_whole, refusing_what_is_wrong
    from perceptrons.selection import compare as compared

    names = _names(learner)
    where = ledger_file(ledger, quiet)
    asked = of_streams.Asked(
        text_column=text_column, words=words, chars=chars, hash_bits=hash_bits, categories=categories, ignore=ignore,
        on_error=on_error, many_classes=many_classes,
    )  # fmt: skip
    read = read_whole(data, format, label_column, asked, group_column)
    held, tested = (
        part_of(path, share, read, data[0], format, label_column)
        for path, share in ((None, dev_share), (test, test_share))
    )
    watched = sys.stderr.isatty() and not (quiet or json)
    with refusing_what_is_wrong(read):
        found = compared(
            read.X, read.y, dev=held, test=tested, random_state=seed,
            split="time" if time_order else None, groups=read.groups, learners=names, metric=metric.value, force=force,
            ledger=where, max_seconds=max_seconds, tell=_say if watched else None,
        )  # fmt: skip
    if json:
        print(as_json({"data": [str(path) for path in data], **found.to_dict()}), end="")
    elif not quiet:
        show(found, read, screen())


def _names(given: list[str] | None) -> list[str] | None:
    """Learners by their names, which may be written with hyphens."""
    from perceptrons.selection import LEARNERS

    if not given:
        return None
    names = [name.replace("-", "_") for name in given]
    for name, written in zip(names, given, strict=True):
        if name not in LEARNERS:
            known = ", ".join(one.replace("_", "-") for one in LEARNERS)
            raise BadInputError(f"--learner {plain(written)}: there are {known}.")
    return list(dict.fromkeys(names))


def _say(line: str) -> None:
    say(line)


def show(found: "Compared", read: "WholeData", console: "Console") -> None:
    """The report for people."""
    from perceptrons.selection.search import named

    sizes = found.sizes
    console.print(read.in_words(), markup=False)
    scaled = "; standardised for all alike" if found.scaled else ""
    console.print(
        f"{sizes['train']:,} to learn from, {sizes['dev']:,} to choose settings by, {sizes['test']:,} to test on, once "
        f"(split {found.parts.how}){scaled}", markup=False,
    )  # fmt: skip
    console.print(heading(f"On the test examples, by {found.metric}"))
    table = grid(
        ("", "left"), (found.metric[:8], "right"), ("", "left"), ("95% interval", "left"), ("p", "left"),
        ("prob.", "left"),
    )  # fmt: skip
    low, high = found.rows[-1].score, found.best.score
    for row in found.rows:
        share = 1.0 if high == low else 0.1 + 0.9 * (row.score - low) / (high - low)
        interval = f"{percent(row.interval.low)} to {percent(row.interval.high)}"
        table.row(
            plain(row.what, 24), percent(row.score, 2), bar(share, WIDEST, console), interval, found.p_in_words(row),
            "yes" if row.probabilistic else "no", style=None if row.family == "perceptron" else "dim",
        )  # fmt: skip
    console.print(table)
    console.print(heading("What it took: seconds to learn, seconds for 1,000 answers, numbers to keep"))
    table = grid(("", "left"), ("setting", "left"), ("learn", "right"), ("answer", "right"), ("kB", "right"))
    for row in found.rows:
        size = "-" if row.size is None else f"{row.size / 1000:,.1f}"
        times = f"{row.training_seconds:.2g}", f"{row.prediction_seconds:.1g}"
        table.row(plain(row.what, 24), plain(named(row.setting), 30), *times, size)
    console.print(table)
    console.print(heading("In words"))
    for line in [*found.notes(), *found.explain().splitlines()[1:]]:
        console.print(line, markup=False, style="yellow" if line.startswith("FORCED") else None)


def _demonstrate(demo: Demo, json: bool, quiet: bool) -> None:
    from perceptrons import selection
    from perceptrons.selection.demonstrations import HEAD

    found: Demonstration = getattr(selection, demo.name)()
    if json:
        print(as_json(found.to_dict()), end="")
        return
    if quiet:
        return
    console = screen()
    console.print(heading(found.title))
    table = grid(*((title, "left" if k == 0 else "right") for k, title in enumerate(HEAD)))
    for line in found.table():
        table.row(*line)
    console.print(table)
    for words in found.explain().splitlines():
        console.print(f"\n{words}", markup=False)
