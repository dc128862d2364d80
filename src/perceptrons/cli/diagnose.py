"""`perceptrons diagnose`: are the classes linearly separable, with a proof, and what makes training hard?"""

import re
from pathlib import Path

from perceptrons import theory
from perceptrons.cli import files
from perceptrons.cli.files import refusing, refusing_data
from perceptrons.cli.messages import plain
from perceptrons.cli.options import DiagnoseOptions
from perceptrons.cli.screen import Screen, Waiting, grid, heading, print_result
from perceptrons.data import Table
from perceptrons.data.source import decoded_from, opened
from perceptrons.data.table import DataPath, check_classes, named_lines
from perceptrons.engine.wording import count, in_percent
from perceptrons.inspection.weights import names_of_table
from perceptrons.theory.certificate import format_fraction
from perceptrons.theory.diagnose import Diagnosis

FEATURES = 5  # lines at most of features that make the radius
ROWS = 8  # lines at most of a witness
GROUPS = 5  # lines at most of contradictions
PAIRS = 10  # lines at most of pairs of classes
LONG_NUMBER = re.compile(rb"[0-9.]{17}")  # 16 digits and a point; whole numbers of 16 digits are too large anyway
LARGE = 0.3  # of R^2: below, no feature is worth naming


def diagnose(options: DiagnoseOptions) -> None:
    """Run `perceptrons diagnose`."""
    certificate, max_seconds = options.certificate, options.max_seconds
    files.check_seconds(max_seconds)
    files.check_output(certificate, *options.data)
    with Waiting("Reading ...", options) as waiting:
        # proofs are to speak of the numbers in DATA
        table = files.read_all(files.open_data(options.data, options, scale="none"))
        with refusing_data():
            check_classes(table, options.many_classes)
        with refusing(ValueError, TypeError, about=table.path):
            diagnosis = theory.diagnose(
                table.X, table.y, fit_intercept=not options.no_intercept, max_seconds=max_seconds,
                feature_names=names_of_table(table), lines=named_lines(table.files, table.of_file, table.lines),
                tell=waiting.say, decimals=are_short_decimals(table.files, table.source.get("encoding")),
            )  # fmt: skip
    if certificate is not None:
        files.save_bytes(f"{diagnosis.certificate.to_json()}\n".encode(), certificate)
    saved = None if certificate is None else str(certificate)
    print_result(
        options,
        lambda: {"data": files.json_paths(table.files), **diagnosis.to_dict(), "certificate": saved},
        lambda console: show(diagnosis, table, certificate, console),
    )


def are_short_decimals(files: list[DataPath], encoding: str | None) -> bool:
    """Return whether the files have no number of more than 15 digits, so that float64 distinguishes any two."""
    for path in files:
        if not isinstance(path, Path) or not path.is_file():
            return False  # standard input cannot be read twice
        with opened(path, encoding=decoded_from(encoding)) as file:
            end = b""
            while part := file.read(1 << 20):
                if LONG_NUMBER.search(end + part) or b"\0" in part:
                    return False
                end = (end + part)[-16:]
    return True


def show(diagnosis: Diagnosis, table: Table, saved: Path | None, console: Screen) -> None:
    """Print the diagnosis."""
    numbered = list(zip(diagnosis.classes, diagnosis.counts, strict=True))[:10]
    classes = ", ".join(f"{plain(label)} ({n:,})" for label, n in numbered)
    features = count(diagnosis.examples.X.shape[1], "feature")
    if table.columns is not None and table.columns.bits is not None:
        features = f"{count(table.columns.n_names, 'feature')} in 2^{table.columns.bits} columns"
    by_row = "; rows are numbered from 0" * (diagnosis.lines is None)
    about = f"{files.name_of(table)}: {count(len(diagnosis.codes), 'example')}, {features}"
    more = ", ..." * (len(diagnosis.classes) > 10)
    console.print(f"{about}, {len(diagnosis.classes):,} classes: {classes}{more}{by_row}")
    console.print(heading(diagnosis.verdict), diagnosis.explain_verdict(), sep="\n")
    show_witness(diagnosis, console)
    if saved is not None:
        name = "The proof" if diagnosis.certificate.separable is not None else "The certificate, which proves nothing,"
        console.print(f"{name} is in {saved}")
    show_contradictions(diagnosis, console)
    show_pairs(diagnosis, console)
    if diagnosis.effort is not None:
        console.print(heading("What the perceptron will do on this data"))
        console.print_lines(*diagnosis.explain_effort(diagnosis.effort))
    show_scales(diagnosis, console)


def show_witness(diagnosis: Diagnosis, console: Screen) -> None:
    """Print the examples that prove that the classes overlap, and their weights."""
    witness, several = diagnosis.certificate.witness, len(diagnosis.classes) > 2
    if witness is None or len(set(witness.rows)) <= 2:
        return
    against = ["against"] * several
    table = grid(f">{diagnosis.row_noun}", "class", *against, ">weight")
    for row, label, rival, weight in sorted(zip(*witness, strict=True))[:ROWS]:
        table.row(f"{diagnosis.place(row)}", plain(label), *[plain(rival)] * several, format_fraction(weight))
    console.print(table)
    console.show_more(len(witness.rows) - ROWS)


def show_contradictions(diagnosis: Diagnosis, console: Screen) -> None:
    """Print equal rows with different labels, some of them by line."""
    if not diagnosis.groups:
        return
    examples = f"{sum(map(len, diagnosis.groups)):,} in {count(len(diagnosis.groups), 'group')}"
    console.print(heading(f"Identical examples with different labels: {examples}"))
    for group in diagnosis.groups[:GROUPS]:
        console.print(f"  {diagnosis.name_rows(group, ROWS, with_labels=True)}")
    console.show_more(len(diagnosis.groups) - GROUPS, "group")
    console.print(diagnosis.explain_contradictions())


def show_pairs(diagnosis: Diagnosis, console: Screen) -> None:
    """Print the pairs of classes that cannot be separated from each other."""
    if not diagnosis.pairs:
        return
    apart = [pair for pair in diagnosis.pairs if pair.separable is False]
    title = f"{len(apart):,} of {count(len(diagnosis.pairs), 'pair')} of classes cannot be separated from each other"
    console.print(heading(title))
    for pair in apart[:PAIRS]:
        names = " and ".join(plain(label) for label in pair.classes)
        console.print(f"  {names}, as {diagnosis.name_rows(pair.rows, 4)} prove")
    console.show_more(len(apart) - PAIRS)
    console.print_lines(*diagnosis.explain_other_pairs())


def show_scales(diagnosis: Diagnosis, console: Screen) -> None:
    """Print the features that make the radius, and what features of one scale would change."""
    scales = diagnosis.scales
    console.print(heading("Scales"))
    console.print(diagnosis.explain_radius())
    dominant = diagnosis.dominant_columns(FEATURES)
    table = grid("feature", ">share of R^2", ">mean", ">standard deviation")
    for column in dominant:
        numbers = (f"{part[column]:.4g}" for part in (scales.means, scales.deviations))
        table.row(plain(diagnosis.feature(column), 32), in_percent(scales.shares[column]), *numbers)
    largest = float(scales.shares[dominant[0]])
    console.print(table if largest >= LARGE else f"No feature has more than {in_percent(largest)} of R^2.")
    console.print_lines(*diagnosis.explain_scales())
    if diagnosis.looks_like_text or diagnosis.effort is None or diagnosis.even is None:
        return
    console.print()
    even = "standardised" if diagnosis.is_centred else "scaled by maximum"
    rows = diagnosis.effort_rows(diagnosis.effort, diagnosis.even)
    console.print(grid("", ">unscaled", f">{even}", rows=rows))
    console.print_lines(*diagnosis.advise_scaling(diagnosis.effort, diagnosis.even))
