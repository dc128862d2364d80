"""`perceptrons look`: shows what is in data before training: columns, missing values, classes, and likely problems."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import refusing_data
from perceptrons.cli.inputs import describe_skipped, json_paths, name_of, no_examples_error, opened
from perceptrons.cli.options import (
    READING,
    DataArgument,
    JsonOption,
    MaxExamplesOption,
    ReadingOptions,
    command,
    command_text,
)
from perceptrons.cli.screen import (
    Waiting,
    as_json,
    bar,
    count,
    grid,
    heading,
    percent,
    plain,
    screen,
    show_suggestions,
    spark,
)
from perceptrons.engine.wording import percent as nearly

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons.data.look import Column, Looked
    from perceptrons.data.reader import Reader

COLUMNS, CLASSES, FEW = 40, 20, 3  # shown at most; few of labels that are not classes
LOOKS = {"yes/no": "yes or no", "identifier": "an identifier", "empty": "an empty column", "text": "text"}


@dataclass(frozen=True, kw_only=True)
class LookOptions(DataArgument, ReadingOptions, MaxExamplesOption, JsonOption):
    """The options of `perceptrons look`."""


@command
def look(options: LookOptions) -> None:
    """Show what is in DATA before you train: columns, missing values, classes and likely problems.

    It reads tables as train does. It says which columns train leaves out, which columns give the label away, which rows
    are duplicates, and which command to try next.
    """
    from perceptrons.data.look import look as looked_at

    with Waiting("Reading ...", shown=not options.json):
        # every malformed record is counted, and labels of any kind can be looked at
        reader = opened(options.data, options, on_error="skip", many_classes=True, text_labels=True)
        with refusing_data():
            found = looked_at(reader, options.max_examples, options.text_labels)
    if found is None:
        skipped = f" ({describe_skipped(reader)})" if reader.skipped else ""
        raise no_examples_error(f"{name_of(reader)}{skipped}")
    if options.json:
        print(as_json({"data": json_paths(reader.files), **to_dict(found, reader, options)}), end="")
    else:
        show(found, reader, options, screen())


def to_dict(found: "Looked", reader: "Reader", options: LookOptions) -> dict[str, Any]:
    """Everything, for JSON."""
    columns = None if found.columns is None else [column.to_dict() for column in found.columns]
    return {
        "format": reader.format,
        "examples": found.n,
        "more_examples": found.more,
        "columns": columns,
        "features": None if found.X is None else features(found.X),
        "classes": [{"class": label, "examples": n, "share": n / found.n} for label, n in found.class_counts()],
        "duplicates": found.duplicates(),
        "contradictions": len(found.contradicting()),
        "leaks": [{**leak._asdict(), "what": leak.in_words()} for leak in found.leaks],
        "skipped": reader.skipped,
        "complaints": reader.complaints,
        "notices": reader.notices,
        "warnings": warnings(found, reader, options),
        "next": [{"command": command, "why": why} for command, why in suggestions(found, reader, options)],
    }


def features(X: Any) -> dict[str, Any]:
    """What can be said of examples that are not a table."""
    import numpy as np
    import scipy.sparse as sp

    each = np.diff(X.indptr) if sp.issparse(X) else np.count_nonzero(X, axis=1)
    used = np.count_nonzero(np.bincount(X.indices, minlength=X.shape[1]) if sp.issparse(X) else X.any(axis=0))
    return {
        "features": X.shape[1], "occurring": int(used), "nonzeros_mean": float(each.mean()),
        "nonzeros_least": int(each.min()), "nonzeros_most": int(each.max()), "empty": int((each == 0).sum()),
    }  # fmt: skip


# ---- what to mind


def warnings(found: "Looked", reader: "Reader", options: LookOptions) -> list[str]:
    """What may be wrong with the data, each with what to do."""
    from perceptrons.data.labels import not_classes

    said = [f"{leak.in_words()}. If it is not known before the label, leave it out: --ignore {leak.column}"
            for leak in found.leaks]  # fmt: skip
    said += _misfits(found)
    label = next((column.facts.name for column in found.columns or () if column.kind == "label"), None)
    counts = found.class_counts()
    if (what := None if _many(found, options) else not_classes(found.classes, found.n, label)) is not None:
        said.append(what)
    if len(counts) == 1 and found.by_label is None:
        said.append(f"there is only one class, {plain(counts[0][0])}: a classifier needs at least two")
    if reader.skipped:
        stops = "" if options.on_error else ": train stops at the first, unless you give --on-error skip"
        said.append(f"{describe_skipped(reader)}{stops}")
    contradicting = found.contradicting()
    if len(contradicting):
        best = _most_right(found)
        said.append(
            f"{count(len(contradicting), 'row equals', 'rows equal')} another row with a different label: no model "
            f"can be right on all of them, so the best possible accuracy is {nearly(best)}"
        )
    return [f"{one[0].upper()}{one[1:]}." for one in said] + _scales(found, options)


def _many(found: "Looked", options: LookOptions) -> bool:
    """May there be any number of labels?"""
    return options.many_classes or found.by_label is not None


def _misfits(found: "Looked") -> list[str]:
    """Columns that look otherwise in all rows than in those by which train decides."""
    from perceptrons.data.table_reader import KIND_ROWS

    strange = Counter(one.column for one in found.invalid)
    first = {one.column: one for one in reversed(found.invalid)}
    said = [f"column {name!r}: {count(n, 'value does', 'values do')} not fit the type that train infers from the "
    f"first rows. The first: {first[name].message}" for name, n in strange.items()]  # fmt: skip
    for column in found.columns or ():
        if column.changes and column.facts.name not in strange:
            first_rows, all_rows = (LOOKS.get(kind, f"a {kind}") for kind in (column.kind, column.facts.kind))
            looks = f"looks like {first_rows} in the first {KIND_ROWS:,} rows, from which train infers its type"
            said.append(f"column {column.facts.name!r} {looks}, but like {all_rows} in all rows")
    return said


def _most_right(found: "Looked") -> float:
    """The share of rows that a function of the features can get right."""
    import numpy as np

    pairs, times = np.unique(np.stack([found.equal, found.labels]), axis=1, return_counts=True)
    best = np.zeros(found.equal.max() + 1, np.int64)
    np.maximum.at(best, pairs[0], times)
    return float(best.sum() / found.n)


def _scales(found: "Looked", options: LookOptions) -> list[str]:
    """Numbers of very different sizes, and who scales them."""
    from perceptrons.theory.scales import UNEVEN, scaler_for

    if found.columns is None:
        scaler = scaler_for(found.X)
        advice = f"scale them before training, for instance with scikit-learn's {scaler}"
        return [f"The features differ widely in scale: {advice}."] if scaler else []
    sizes = [(max(abs(column.facts.low or 0), abs(column.facts.high or 0)), column.facts.name)
             for column in found.columns if column.used and column.facts.low is not None]  # fmt: skip
    sizes = [one for one in sizes if one[0] > 0]
    if not sizes or max(sizes)[0] <= UNEVEN * min(sizes)[0]:
        return []
    (most, large), (least, small) = max(sizes), min(sizes)
    chosen = options.scale or "auto"
    then = "with --scale none, their weights cannot be compared" if chosen == "none" else (
        f"train scales them (--scale {chosen})")  # fmt: skip
    return [
        f"Numbers have very different scales: {large!r} reaches {number(most)}, {small!r} only {number(least)}; {then}."
    ]


def suggestions(found: "Looked", reader: "Reader", options: LookOptions) -> list[tuple[str, str]]:
    """Commands that make sense now, each with its reason."""
    from perceptrons.data.labels import not_classes

    def command_for(name: str, **changes: Any) -> str:
        return command_text(["perceptrons", name, *options.data], replace(options, **changes), READING)

    if not _many(found, options) and not_classes(found.classes, found.n) is not None:
        if found.columns is not None:
            return [(f"{command_for('look', label_column=None)} --label-column NAME", "name the column of the labels")]
        return [(command_for("train", many_classes=True), "accept this many classes")]
    texts = [column.facts.name for column in found.columns or () if column.kind == "text" and not column.used]
    told: dict[str, Any] = {"text_column": [*(options.text_column or ()), *texts]}
    if reader.skipped and options.on_error is None:
        told["on_error"] = "skip"
    why = "also learn from the words of the text" if texts else "train, and test on held-out examples"
    said = [(command_for("train", **told), why)]
    suspicious = [leak.column for leak in found.leaks]
    if suspicious:
        told["ignore"] = [*(options.ignore or ()), *suspicious]
        said.append((command_for("train", **told), "leave out columns that give the label away"))
    if found.by_label is not None:
        return said
    return [*said, (command_for("diagnose"), "prove whether a hyperplane can separate the classes")]


# ---- for people


def show(found: "Looked", reader: "Reader", options: LookOptions, console: "Console") -> None:
    """The report for people."""
    from rich.padding import Padding
    from rich.text import Text

    from perceptrons.data.labels import not_classes

    of = f"{count(len(found.columns), 'column')}" if found.columns is not None else f"{found.X.shape[1]:,} features"
    first = "the first " if found.more else ""
    classes = count(len(found.classes), "class", "classes")
    if found.by_label is not None:
        classes = f"{count(len(found.classes), 'label')}, {sum(found.by_label) / found.n:.2f} per example"
    console.print(f"{name_of(reader)}: {first}{count(found.n, 'example')}, {of}, {classes}", markup=False)
    if found.columns is not None:
        show_columns(found.columns, console)
    else:
        show_features(found, console)
    show_classes(
        found, console, CLASSES if _many(found, options) or not_classes(found.classes, found.n) is None else FEW
    )
    if reader.notices:
        console.print(heading("Left out by train"))
        for notice in reader.notices:
            console.print(Padding(Text(f"{notice[0].upper()}{notice[1:]}."), (0, 0, 0, 2), expand=False))
    said = warnings(found, reader, options)
    if repeated := found.duplicates():
        said.append(f"{count(repeated, 'row repeats', 'rows repeat')} an earlier row with the same label "
                    f"({percent(repeated / found.n)}).")  # fmt: skip
    console.print(heading("Warnings" if said else "No warnings"))
    for one in said:
        console.print(Padding(Text(one, style="yellow"), (0, 0, 0, 2), expand=False))
    show_suggestions(suggestions(found, reader, options), console)


def show_columns(columns: list["Column"], console: "Console") -> None:
    """Two lines per column: what it is, how much is missing, and what its values are."""
    console.print(heading("Columns"))
    table = grid(("column", "left"), ("kind", "left"), ("values", "left"), ("", "left"))
    table.columns[3].no_wrap = False
    for column in columns[:COLUMNS]:
        facts = column.facts
        lacking = f"{facts.missing:,} missing ({percent(facts.missing / facts.n)})" if facts.missing else ""
        distinct = f"{facts.distinct:,} distinct" if facts.distinct else ""
        out = "" if column.used or column.kind == "label" else "left out"
        about = ", ".join(part for part in (out, distinct, lacking) if part)
        lines = "\n".join(line for line in (about, in_words(column)) if line)
        table.row(plain(facts.name, 18), column.kind, spark(column.counts, console), lines)
    console.print(table)
    if len(columns) > COLUMNS:
        console.print(f"and {count(len(columns) - COLUMNS, 'column')} more (use --json for all)", style="dim")


def in_words(column: "Column") -> str:
    """The values of a column: 18 to 90, mean 41.2, deviation 12.3."""
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
    shown = [f"{plain(value, 16)} {percent(n / known, 0)}" for value, n in column.frequent[:3]]
    return ", ".join(shown) + ", ..." * (facts.distinct > len(shown))


def number(value: float) -> str:
    """A number of the data, short enough to be read."""
    if value == round(value) and abs(value) < 10_000:
        return f"{value:.0f}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def show_features(found: "Looked", console: "Console") -> None:
    """What can be said of examples that are not a table."""
    said = features(found.X)
    console.print(
        f"{said['occurring']:,} of the features occur; an example has {said['nonzeros_least']:,} to "
        f"{said['nonzeros_most']:,} that are not 0, {number(said['nonzeros_mean'])} on average"
    )
    if said["empty"]:
        console.print(f"{count(said['empty'], 'example has', 'examples have')} no feature at all", style="yellow")


def show_classes(found: "Looked", console: "Console", at_most: int) -> None:
    """How many examples each class has."""
    counts = found.class_counts()
    thing = "class" if found.by_label is None else "label"
    console.print(heading(f"Examples by {thing}"))
    table = grid((thing, "left"), ("examples", "right"), ("share", "right"), ("", "left"))
    for label, n in counts[:at_most]:
        table.row(plain(label), f"{n:,}", percent(n / found.n), bar(n / counts[0][1], 24, console))
    console.print(table)
    if len(counts) > at_most:
        console.print(f"and {count(len(counts) - at_most, 'class', 'classes')} more (use --json for all)", style="dim")
    if len(counts) > 1 and found.by_label is None:
        right = f"right in {percent(counts[0][1] / found.n)} of the rows"
        console.print(f"Always predicting {plain(counts[0][0])} would be {right}.", markup=False)
