"""`perceptrons diagnose`: whether a hyperplane separates the classes, with proof, and what makes learning it hard.

What is found out is in `perceptrons.theory.diagnose`; here it is said: verdict, contradictions, pairs of classes,
effort, scales.
"""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.columns import names_in
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, save_text
from perceptrons.cli.inputs import for_machines, name_of, opened, whole
from perceptrons.cli.options import READING, takes
from perceptrons.cli.screen import Waiting, as_json, count, grid, heading, percent, plain, screen
from perceptrons.cli.train import check_classes

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons.data import Table
    from perceptrons.theory.diagnose import Diagnosis, Effort

FEATURES = 5  # lines at most of features that make the radius
ROWS = 8  # lines at most of a witness
GROUPS = 5  # lines at most of contradictions
PAIRS = 10  # lines at most of pairs of classes
LARGE = 0.3  # of R^2: below, no feature is worth naming
UNEVEN = 10.0  # times the median: from here on a standard deviation, or a norm, is worth a sentence


@takes("files", *READING, "max_seconds:proof", "certificate", "no_intercept:origin", "json")
def diagnose(asked: Any) -> None:
    """Say whether a hyperplane separates the classes of DATA, with proof, and what makes learning it hard.

    Margin, radius and mistake bound; scales of features; equal rows with different labels, named by line.
    """
    from perceptrons import theory

    certificate, max_seconds = asked.certificate, asked.max_seconds
    if not max_seconds > 0:
        raise BadInputError(f"--max-seconds {max_seconds:g}: give a number above 0.")
    check_output(certificate, *asked.files)
    with Waiting("Reading ...", shown=not asked.json) as waiting:
        table = whole(opened(asked.files, asked))
        check_classes(table, asked.many_classes)
        with refusing(ValueError, TypeError, about=table.path):
            found = theory.diagnose(
                table.X, table.y, fit_intercept=not asked.no_intercept, max_seconds=max_seconds,
                feature_names=names_in(table), lines=lines_of(table), tell=waiting.say,
            )  # fmt: skip
    if certificate is not None:
        save_text(found.certificate.to_json() + "\n", certificate)
    if asked.json:
        saved = None if certificate is None else str(certificate)
        print(as_json({"data": for_machines(table.files), **found.to_dict(), "certificate": saved}), end="")
    else:
        show(found, table, certificate, screen())


def lines_of(table: "Table") -> Any:
    """The line of every example; of several files with the name of the file."""
    if table.lines is None or table.of_file is None:
        return table.lines
    return [f"{table.files[k]}:{line}" for k, line in zip(table.of_file.tolist(), table.lines.tolist(), strict=True)]


def show(found: "Diagnosis", table: "Table", saved: Path | None, console: "Console") -> None:
    """The report for people."""
    classes = ", ".join(
        f"{plain(label)} ({number:,})" for label, number in list(zip(found.classes, found.counts, strict=True))[:10]
    )
    features = count(found.examples.X.shape[1], "feature")
    if table.columns is not None and table.columns.bits is not None:
        features = f"{count(table.columns.n_names, 'feature')} in 2^{table.columns.bits} columns"
    console.print(
        f"{name_of(table)}: {count(len(found.codes), 'example')}, {features}, "
        f"{len(found.classes):,} classes: {classes}{', ...' * (len(found.classes) > 10)}"
        + "; rows are counted from 0"
        * (found.lines is None),
        markup=False,
    )
    show_verdict(found, saved, console)
    show_contradictions(found, console)
    show_pairs(found, console)
    show_effort(found, console)
    show_scales(found, console)


def show_verdict(found: "Diagnosis", saved: Path | None, console: "Console") -> None:
    """Separable or not, and why."""
    from perceptrons.theory.in_words import fraction

    title = {True: "Linearly separable", False: "Not linearly separable", None: "Undecided"}[found.separable]
    console.print(heading(title + " by hyperplanes through the origin" * (not found.fit_intercept)))
    console.print(why(found), markup=False)
    witness = found.certificate.witness
    if witness is not None and len(set(witness.rows)) > 2:
        several = len(found.classes) > 2
        thing = "row" if found.lines is None else "line"
        table = grid((thing, "right"), ("class", "left"), *[("against", "left")] * several, ("weight", "right"))
        for row, label, rival, weight in sorted(zip(*witness, strict=True))[:ROWS]:
            cells = [plain(label)] + [plain(rival)] * several
            table.row(f"{found.place(row)}", *cells, fraction(weight))
        console.print(table)
        if len(witness.rows) > ROWS:
            console.print(f"and {len(witness.rows) - ROWS:,} more (--json has all)", style="dim")
    if saved is not None:
        what = "The proof" if found.certificate.separable is not None else "A certificate that proves nothing"
        console.print(f"{what} is in {saved}", markup=False)


def why(found: "Diagnosis") -> str:
    """The certificate in words, with examples named by line."""
    from perceptrons.theory.in_words import why_separable

    def examples(rows: list[int]) -> str:
        return f"The example{'s' * (len(rows) > 1)} in {places(found, rows, with_labels=len(rows) == 2)}"

    certificate = found.certificate
    if certificate.separable is not None:
        return why_separable(certificate, lambda rows: places(found, rows), examples)
    if found.separable is None:
        return f"No proof was found, neither for nor against it: {certificate.reason} --max-seconds gives it longer."
    return "Already two of the classes overlap; see below."


def places(found: "Diagnosis", rows: Any, at_most: int = 10, with_labels: bool = False) -> str:
    """lines 3, 4 and 7"""
    shown = [str(found.place(row)) for row in rows[:at_most]]
    if with_labels:
        labels = (found.classes[found.codes[row]] for row in rows)
        shown = [f"{place} ({plain(label)})" for place, label in zip(shown, labels, strict=False)]
    if len(rows) > at_most:
        shown.append(f"{len(rows) - at_most:,} more")
    thing = ("row" if found.lines is None else "line") + "s" * (len(rows) > 1)
    return f"{thing} {shown[0]}" if len(shown) == 1 else f"{thing} {', '.join(shown[:-1])} and {shown[-1]}"


def show_contradictions(found: "Diagnosis", console: "Console") -> None:
    """Equal rows with different labels, some of them by line."""
    if not found.groups:
        return
    total = sum(map(len, found.groups))
    console.print(heading(f"Equal examples with different labels: {total:,} in {count(len(found.groups), 'group')}"))
    for group in found.groups[:GROUPS]:
        console.print(f"  {places(found, group, ROWS, with_labels=True)}", markup=False)
    if len(found.groups) > GROUPS:
        more = count(len(found.groups) - GROUPS, "group")
        console.print(f"and {more} more (--json has all)", style="dim")
    best = 1 - found.unlearnable / len(found.codes)
    console.print(
        f"No classifier can get all of these right: {percent(best)} of the examples at most. "
        "Correct the labels, leave such examples out, or add a feature that tells them apart."
    )


def show_pairs(found: "Diagnosis", console: "Console") -> None:
    """Which pairs of classes cannot be separated from each other."""
    if not found.pairs:
        return
    apart = [pair for pair in found.pairs if pair.separable is False]
    undecided = sum(pair.separable is None for pair in found.pairs)
    title = f"{len(apart):,} of {count(len(found.pairs), 'pair')} of classes cannot be separated from each other"
    console.print(heading(title))
    for pair in apart[:PAIRS]:
        names = " and ".join(plain(label) for label in pair.classes)
        console.print(f"  {names}, as {places(found, pair.rows, 4)} prove", markup=False)
    if len(apart) > PAIRS:
        console.print(f"and {len(apart) - PAIRS:,} more (--json has all)", style="dim")
    if not apart and not undecided and len(found.pairs) == found.n_pairs:
        console.print("Every two classes can be separated, only not all at once by one weight vector a class.")
    if undecided:
        console.print(f"For {undecided:,} the time did not suffice.")
    if len(found.pairs) < found.n_pairs:
        console.print(f"The other {found.n_pairs - len(found.pairs):,} were not looked at: the time was over.")


def show_effort(found: "Diagnosis", console: "Console") -> None:
    """The mistake bound in plain words, and what happened in practice."""
    effort = found.effort
    if effort is None:
        return
    console.print(heading("What the perceptron will do"))
    most, n = found.most(effort), len(found.codes)
    if most is None:
        console.print("It converges; after how many updates, the time did not suffice to find out.")
    elif found.certificate.separable:
        console.print(f"It converges after at most {above(most)} updates, in whatever order it learns.")
    else:
        never = "It never converges. " if found.separable is False else ""
        vain = ", one for every example: the bound by margin and deviation says no more" * (most == n)
        console.print(f"{never}In one epoch it makes at most {most:,} updates{vain}.")
    made = count(effort.updates, "update")
    if not found.certificate.separable:
        console.print(f"Tried out, it made {made} in its first epoch.")
    elif effort.converged:
        console.print(f"Tried out, it converged after {made} in {count(effort.epochs, 'epoch')}.")
    else:
        console.print(
            f"Tried out, it was stopped after {made} in {count(effort.epochs, 'epoch')}, before it converged."
        )


def show_scales(found: "Diagnosis", console: "Console") -> None:
    """Which features make the radius, and what features of one scale would change."""
    scales = found.scales
    console.print(heading("Scales"))
    console.print(
        f"Radius R = {scales.radius:.4g}, the norm of the farthest example, {places(found, [scales.farthest])}; "
        f"the median is {scales.typical:.4g}."
    )
    dominant = found.dominant(FEATURES)
    table = grid(("feature", "left"), ("share of R^2", "right"), ("mean", "right"), ("standard deviation", "right"))
    for column in dominant:
        numbers = (f"{part[column]:.4g}" for part in (scales.means, scales.deviations))
        table.row(plain(found.feature(column), 32), percent(scales.shares[column]), *numbers)
    largest = float(scales.shares[dominant[0]])
    console.print(table if largest >= LARGE else f"No feature has more than {percent(largest)} of R^2.")
    if scales.radius > UNEVEN * scales.typical:
        console.print(
            f"One example makes the radius {times(scales.radius / scales.typical)} the median: is "
            f"{places(found, [scales.farthest])} right?"
        )
    if found.unevenness() > UNEVEN and not found.words:
        console.print(f"The largest standard deviation of a feature is {times(found.unevenness())} the median one.")
    constant = found.constant()
    if constant:
        names = ", ".join(plain(found.feature(column)) for column in constant[:FEATURES])
        what = count(len(constant), "feature is constant and says", "features are constant and say")
        console.print(f"{what} nothing: {names}{', ...' * (len(constant) > FEATURES)}", markup=False)
    if found.words:
        console.print("All rows have the same length, as those of texts do: the features need no scaling.")
    elif found.effort is not None and found.even is not None:
        show_even(found.effort, found.even, found, console)
    else:
        console.print("Features of one scale were not tried: the time was over.")


def show_even(effort: "Effort", even: "Effort", found: "Diagnosis", console: "Console") -> None:
    """Radius, margin and updates as they are and on an even scale."""
    bias = ", with the 1 of the bias" * found.fit_intercept
    titles = [f"radius R{bias}", f"margin{bias}", "updates at most", "updates when tried out"]
    if not found.certificate.separable:
        titles[2:3] = ["deviation D from that margin", "updates at most in one epoch"]
    console.print()
    table = grid(
        ("", "left"), ("as it is", "right"), ("standardised" if found.centred else "scaled by largest", "right")
    )
    for cells in zip(titles, figures(effort, found), figures(even, found), strict=True):
        table.row(*cells)
    console.print(table)
    most, least = found.most(effort), found.most(even)
    if most is None or least is None:
        return
    if 2 * most > 3 * least:
        tool = "StandardScaler" if found.centred else "MaxAbsScaler"
        console.print(
            f"Scaling the features, for instance with scikit-learn's {tool}, makes the bound "
            f"{times(Fraction(most, max(1, least)))} smaller."
        )
    else:
        console.print("Scaling the features would not make the bound much smaller.")


def figures(effort: "Effort", found: "Diagnosis") -> list[str]:
    """A column of that table; a bound of one update an example has no margin to speak of."""
    bound, most, made = effort.bound, found.most(effort), f"{effort.updates:,}"
    if not found.certificate.separable:
        pair = [f"{bound.margin:.4g}", f"{bound.deviation:.4g}"] if most != len(found.codes) else ["-", "-"]
        return [f"{bound.radius:.4g}", *pair, f"{most:,}", made]
    made = made if effort.converged else f"over {made}"
    return [f"{bound.radius:.4g}", f"{bound.margin:.4g}", "not known" if most is None else above(most), made]


def times(ratio: float | Fraction) -> str:
    return f"{float(ratio):.2g} times" if ratio < 10 else f"{above(round(ratio))} times"


def above(number: int) -> str:
    """A bound for people: in full if short, else rounded up to three digits."""
    if number < 10**9:
        return f"{number:,}"
    zeros = len(str(number)) - 3
    digits = -(-number // 10**zeros)
    return f"{digits / 100:.2f}e{zeros + 2}" if digits < 1000 else f"1.00e{zeros + 3}"
