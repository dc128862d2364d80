"""`perceptrons compare`: perceptrons and other linear models on the user's data, or two demonstrations."""

import sys
from collections.abc import Sequence

from perceptrons import selection
from perceptrons.cli import hold_out
from perceptrons.cli.files import check_seconds, name_of
from perceptrons.cli.messages import BadInputError, plain, say
from perceptrons.cli.options import CompareOptions
from perceptrons.cli.screen import Screen, grid, heading, print_result, shows_text
from perceptrons.data import Table
from perceptrons.inspection.metrics import format_metric
from perceptrons.selection import LEARNERS, Compared, Demonstration
from perceptrons.selection.demonstrations import HEAD

BAR_WIDTH = 10  # characters


def compare(options: CompareOptions) -> None:
    """Run `perceptrons compare`."""
    if options.demo is not None:
        if options.data:
            raise BadInputError(f"--demo {options.demo} generates its own data: leave DATA out.")
        demonstration: Demonstration = getattr(selection, options.demo.replace("-", "_"))()
        print_result(options, demonstration.to_dict, lambda console: show_demonstration(demonstration, console))
        return
    if not options.data:
        raise BadInputError("Nothing to compare on: give DATA, or --demo too-correct or copied-features.")
    hold_out.check_split(options)
    check_seconds(options.max_seconds)
    names = _learner_names(options.learner)
    ledger = hold_out.find_ledger(options)
    table, groups, _ = hold_out.read_examples(options.data, options, options, needs_test_set=True)
    parts = hold_out.make_parts(options, lambda path: hold_out.examples_like(table, path, options))
    is_watched = sys.stderr.isatty() and shows_text(options)
    preparation = table.source.get("preparation") or {}
    with hold_out.refusing_selection(name_of(table)):
        result = selection.compare(
            table.X, hold_out.labels_of(table), **parts, random_state=options.seed,
            split="time" if options.time_order else None, groups=groups, keys=table.keys, learners=names,
            metric=options.metric, force=options.force, ledger=ledger, max_seconds=options.max_seconds,
            tell=say if is_watched else None, scale=False if preparation else "auto",
        )  # fmt: skip
    warnings = hold_out.warnings_about_test_set(result.parts.test, table, options)
    if not table.several and result.metric == "accuracy" and result.parts.test is not None:
        best = max(row.score for row in result.rows)
        warnings += hold_out.majority_warnings(result.parts.test.taken()[1], best)
    data = [str(path) for path in options.data]
    is_scaled = result.scaled or preparation.get("scale") == "standard"  # by the comparison, or as the table was read
    print_result(
        options,
        lambda: {"data": data, **result.to_dict(), "scaled": is_scaled, "warnings": warnings},
        lambda console: show(result, table, is_scaled, warnings, console),
    )


def _learner_names(learners: list[str] | None) -> list[str] | None:
    """Return the names of learners, which may be written with hyphens."""
    if not learners:
        return None
    names = [name.replace("-", "_") for name in learners]
    for name, text in zip(names, learners, strict=True):
        if name not in LEARNERS:
            available = ", ".join(learner.replace("_", "-") for learner in LEARNERS)
            raise BadInputError(f"--learner {plain(text)}: there are {available}.")
    return list(dict.fromkeys(names))


def show(result: Compared, table: Table, is_scaled: bool, warnings: Sequence[str], console: Screen) -> None:
    """Print the comparison. warnings: about the test set."""
    sizes, metric = result.sizes, result.metric
    console.print(hold_out.describe_table(table))
    scaled = "; standardised for all learners" if is_scaled else ""
    console.print(
        f"{sizes['train']:,} training, {sizes['dev']:,} validation and {sizes['test']:,} test examples "
        f"(split {result.parts.how}){scaled}"
    )
    console.warn(*warnings)
    console.print(heading(f"Test set, by {metric}"))
    lines = grid("", f">{metric[:8]}", "", "95% interval", "p", "prob.")
    for row in result.rows:
        interval = " to ".join(format_metric(metric, end) for end in (row.interval.low, row.interval.high))
        lines.row(
            plain(row.what, 24), format_metric(metric, row.score, 2), console.bar(row.score, BAR_WIDTH), interval,
            result.p_in_words(row), "yes" if row.probabilistic else "no",
            style=None if row.family == "perceptron" else "dim",
        )  # fmt: skip
    console.print(lines)
    console.print(heading("Cost: seconds to train, seconds for 1,000 predictions, size of the stored numbers"))
    lines = grid("", "setting", ">train", ">predict", ">kB")
    for row in result.rows:
        size = "-" if row.size is None else f"{row.size / 1000:,.1f}"
        times = f"{row.training_seconds:.2g}", f"{row.prediction_seconds:.1g}"
        lines.row(plain(row.what, 24), plain(row.setting.describe(), 30), *times, size)
    console.print(lines)
    console.print(heading("Summary"))
    for line in [*result.notes(), *result.explain().splitlines()[1:]]:
        console.print(line, style="yellow" if line.startswith("FORCED") else None)


def show_demonstration(result: Demonstration, console: Screen) -> None:
    """Print the table of a demonstration, and what it means."""
    columns = [HEAD[0], *(f">{title}" for title in HEAD[1:])]
    console.print(heading(result.title), grid(*columns, rows=result.table()))
    for paragraph in result.explain().splitlines():
        console.print(f"\n{paragraph}")
