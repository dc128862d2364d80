"""`perceptrons look`: shows what is in data before training: columns, missing values, classes, and likely problems."""

from dataclasses import replace
from typing import Any

from perceptrons.cli.files import describe_skipped, json_paths, name_of, no_examples_error, open_data, refusing_data
from perceptrons.cli.messages import plain
from perceptrons.cli.options import READING, LookOptions, command_text
from perceptrons.cli.screen import Screen, Waiting, capitalized, grid, heading, print_result
from perceptrons.data import look as data_look
from perceptrons.data.labels import not_classes
from perceptrons.data.look import Column, DataSummary
from perceptrons.data.reader import Reader
from perceptrons.engine.wording import count, in_percent
from perceptrons.engine.wording import percent as nearly
from perceptrons.theory.scales import UNEVEN, scaler_for

COLUMNS, CLASSES, FEW = 40, 20, 3  # shown at most; few of labels that are not classes


def look(options: LookOptions) -> None:
    """Run `perceptrons look`."""
    with Waiting("Reading ...", options):
        # every malformed record is counted, and labels of any kind can be looked at
        reader = open_data(options.data, options, on_error="skip", many_classes=True, text_labels=True)
        with refusing_data():
            overview = data_look.look(reader, options.max_examples, options.text_labels)
    if overview is None:
        skipped = f" ({describe_skipped(reader)})" if reader.skipped else ""
        raise no_examples_error(f"{name_of(reader)}{skipped}")
    print_result(
        options,
        lambda: {"data": json_paths(reader.files), **to_dict(overview, reader, options)},
        lambda console: show(overview, reader, options, console),
    )


def to_dict(overview: DataSummary, reader: Reader, options: LookOptions) -> dict[str, Any]:
    """Return everything, for JSON."""
    return {
        "format": reader.format,
        **overview.to_dict(),
        "skipped": reader.skipped,
        "complaints": reader.complaints,
        "notices": reader.notices,
        "warnings": warnings(overview, reader, options),
        "next": [{"command": command, "why": why} for command, why in suggestions(overview, reader, options)],
    }


# ---- warnings and suggestions


def warnings(overview: DataSummary, reader: Reader, options: LookOptions) -> list[str]:
    """Return what may be wrong with the data, with what to do."""
    advice = "If it is not known before the label, leave it out: --ignore"
    messages = [f"{leak.in_words()}. {advice} {leak.column}" for leak in overview.leaks]
    messages += overview.misfits()
    label = next((column.facts.name for column in overview.columns or () if column.kind == "label"), None)
    counts = overview.class_counts()
    problem = not_classes(overview.classes, overview.n, label)
    if problem is not None and not _accepts_many_classes(overview, options):
        messages.append(problem)
    if len(counts) == 1 and overview.by_label is None:
        messages.append(f"there is only one class, {plain(counts[0][0])}: a classifier needs at least two")
    if reader.skipped:
        stops = "" if options.on_error else ": train stops at the first, unless you give --on-error skip"
        messages.append(f"{describe_skipped(reader)}{stops}")
    contradicting = overview.contradicting()
    if len(contradicting):
        messages.append(
            f"{count(len(contradicting), 'row equals', 'rows equal')} another row with a different label: no model "
            f"can be right on all of them, so the best possible accuracy is {nearly(overview.best_accuracy())}"
        )
    return [f"{capitalized(message)}." for message in messages] + _scales(overview, options)


def _accepts_many_classes(overview: DataSummary, options: LookOptions) -> bool:
    """Return whether any number of labels is accepted."""
    return options.many_classes or overview.by_label is not None


def _scales(overview: DataSummary, options: LookOptions) -> list[str]:
    """Return a warning about numbers of very different sizes."""
    if overview.columns is None:
        scaler = scaler_for(overview.X)
        advice = f"scale them before training, for instance with scikit-learn's {scaler}"
        return [f"The features differ widely in scale: {advice}."] if scaler else []
    sizes = overview.largest_values()
    if not sizes or max(sizes)[0] <= UNEVEN * min(sizes)[0]:
        return []
    (maximum, largest), (minimum, smallest) = max(sizes), min(sizes)
    scale = options.scale or "auto"
    consequence = f"train scales them (--scale {scale})"
    if scale == "none":
        consequence = "with --scale none, their weights cannot be compared"
    return [
        f"Numbers have very different scales: {largest!r} reaches {number(maximum)}, {smallest!r} only "
        f"{number(minimum)}; {consequence}."
    ]


def suggestions(overview: DataSummary, reader: Reader, options: LookOptions) -> list[tuple[str, str]]:
    """Return commands to try next, each with its reason."""

    def command_for(name: str, **changes: Any) -> str:
        return command_text(["perceptrons", name, *options.data], replace(options, **changes), READING)

    if not _accepts_many_classes(overview, options) and not_classes(overview.classes, overview.n) is not None:
        if overview.columns is not None:
            return [(f"{command_for('look', label_column=None)} --label-column NAME", "name the column of the labels")]
        return [(command_for("train", many_classes=True), "accept this many classes")]
    texts = [column.facts.name for column in overview.columns or () if column.kind == "text" and not column.used]
    changes: dict[str, Any] = {"text_column": [*(options.text_column or ()), *texts]}
    if reader.skipped and options.on_error is None:
        changes["on_error"] = "skip"
    reason = "also learn from the words of the text" if texts else "train, and test on held-out examples"
    commands = [(command_for("train", **changes), reason)]
    leaking = [leak.column for leak in overview.leaks]
    if leaking:
        changes["ignore"] = [*(options.ignore or ()), *leaking]
        commands.append((command_for("train", **changes), "leave out columns that give the label away"))
    proof = (command_for("diagnose"), "prove whether a hyperplane can separate the classes")
    return [*commands, proof] if overview.by_label is None else commands


# ---- for people


def show(overview: DataSummary, reader: Reader, options: LookOptions, console: Screen) -> None:
    """Print the overview."""
    features = (
        f"{overview.X.shape[1]:,} features" if overview.columns is None else count(len(overview.columns), "column")
    )
    classes = count(len(overview.classes), "class", "classes")
    if overview.by_label is not None:
        classes = f"{count(len(overview.classes), 'label')}, {sum(overview.by_label) / overview.n:.2f} per example"
    first = "the first " if overview.more else ""
    console.print(f"{name_of(reader)}: {first}{count(overview.n, 'example')}, {features}, {classes}")
    if overview.columns is not None:
        show_columns(overview.columns, console)
    else:
        show_features(overview, console)
    are_classes = _accepts_many_classes(overview, options) or not_classes(overview.classes, overview.n) is None
    show_classes(overview, console, CLASSES if are_classes else FEW)
    if reader.notices:
        console.print(heading("Left out by train"))
        console.indent(f"{capitalized(notice)}." for notice in reader.notices)
    messages = warnings(overview, reader, options)
    if n := overview.duplicates():
        repeated = f"{count(n, 'row repeats', 'rows repeat')} an earlier row with the same label"
        messages.append(f"{repeated} ({in_percent(n / overview.n)}).")
    console.print(heading("Warnings" if messages else "No warnings"))
    console.indent(messages, "yellow")
    console.show_suggestions(suggestions(overview, reader, options))


def show_columns(columns: list[Column], console: Screen) -> None:
    """Print two lines per column: its kind, missing values, and a summary of its values."""
    console.print(heading("Columns"))
    table = grid("column", "kind", "values", "")
    table.columns[3].no_wrap = False
    for column in columns[:COLUMNS]:
        facts = column.facts
        lacking = f"{facts.missing:,} missing ({in_percent(facts.missing / facts.n)})" if facts.missing else ""
        distinct = f"{facts.distinct:,} distinct" if facts.distinct else ""
        out = "" if column.used or column.kind == "label" else "left out"
        about = ", ".join(part for part in (out, distinct, lacking) if part)
        lines = "\n".join(line for line in (about, describe_values(column)) if line)
        table.row(plain(facts.name, 18), column.kind, console.histogram(column.counts), lines)
    console.print(table)
    console.show_more(len(columns) - COLUMNS, "column")


def describe_values(column: Column) -> str:
    """Describe the values of a column: 18 to 90, mean 41.2, deviation 12.3."""
    facts = column.facts
    if column.span is not None:
        return f"{column.span[0]} to {column.span[1]}"
    if facts.low is not None and facts.high is not None:
        if facts.low == facts.high:
            return f"always {number(facts.low)}"
        mean, deviation = number(facts.mean or 0.0), number(facts.deviation or 0.0)
        return f"{number(facts.low)} to {number(facts.high)}, mean {mean}, deviation {deviation}"
    known = facts.n - facts.missing
    if not column.counts or not known:
        return ""
    shown = [f"{plain(value, 16)} {in_percent(n / known, 0)}" for value, n in column.frequent[:3]]
    return ", ".join(shown) + ", ..." * (facts.distinct > len(shown))


def number(value: float) -> str:
    """Return a number of the data, short enough to be read."""
    if value == round(value) and abs(value) < 10_000:
        return f"{value:.0f}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def show_features(overview: DataSummary, console: Screen) -> None:
    """Print the numbers of features of examples that are not a table."""
    facts = overview.feature_counts()
    assert facts is not None
    console.print(
        f"{facts['occurring']:,} of the features occur; an example has {facts['nonzeros_least']:,} to "
        f"{facts['nonzeros_most']:,} that are not 0, {number(facts['nonzeros_mean'])} on average"
    )
    if facts["empty"]:
        console.warn(f"{count(facts['empty'], 'example has', 'examples have')} no feature at all")


def show_classes(overview: DataSummary, console: Screen, at_most: int) -> None:
    """Print how many examples each class has."""
    counts = overview.class_counts()
    thing = "class" if overview.by_label is None else "label"
    console.print(heading(f"Examples by {thing}"))
    rows = (
        (plain(label), f"{n:,}", in_percent(n / overview.n), console.bar(n / counts[0][1], 24))
        for label, n in counts[:at_most]
    )
    console.print(grid(thing, ">examples", ">share", "", rows=rows))
    console.show_more(len(counts) - at_most, "class")
    if len(counts) > 1 and overview.by_label is None:
        right = f"right in {in_percent(counts[0][1] / overview.n)} of the rows"
        console.print(f"Always predicting {plain(counts[0][0])} would be {right}.")
