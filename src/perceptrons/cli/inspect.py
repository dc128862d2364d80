"""`perceptrons inspect`: how a model was trained, its most important weights or support vectors, and explanations."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perceptrons.cli.files import AnyModel, load_any, no_examples_error, open_data, refusing, refusing_data
from perceptrons.cli.messages import BadInputError, plain, print_json
from perceptrons.cli.options import READING, InspectOptions, given, typed
from perceptrons.cli.screen import Screen, facts_grid, grid, heading, print_result, show_rows, signed
from perceptrons.data.look import Sample, first_examples
from perceptrons.engine.training.feature_names import units_of
from perceptrons.engine.wording import NOT_PROBABILITIES, count, in_percent, listed
from perceptrons.explanation import Explanation
from perceptrons.inspection.evaluation import HISTOGRAM_BINS, columns_matched, histogram, is_calibrated, several_labels
from perceptrons.inspection.summary import ModelSummary
from perceptrons.inspection.weights import (
    Row,
    ScaledWeights,
    names_as_files,
    names_in_files,
    rows_of,
    step_of,
    support_names,
    transitions,
    unit_with_article,
)
from perceptrons.kernel import KernelPerceptron
from perceptrons.sequence import SequencePerceptron
from perceptrons.theory.scales import largest_values, scaler_for, scales

MAX_ROWS = 20
MAX_SHARING_SHOWN = 5  # features of a shared column
SAMPLE = 2**16  # examples of --data that are looked at
MORE_OPTIONS = " (--class, --json)"
CALIBRATION_HINT = """For probabilities, train with --probabilities sigmoid, or calibrate the model
in Python with examples X and y that it was not trained on:
    perceptrons.selection.calibrate(perceptrons.load(MODEL), X, y)"""


def inspect(options: InspectOptions) -> None:
    """Run `perceptrons inspect`."""
    model, top, label = load_any(options.model), options.top, options.label
    for name in given(options, ("example", *READING)) if not options.data else ():
        raise BadInputError(f"{typed(name)} needs examples: also give --data DATA.")
    if isinstance(model, SequencePerceptron):
        inspect_tagger(model, options)
        return
    summary = ModelSummary(model, top, label, mirrored=options.json or label is not None)
    if not summary.rows:
        classes = listed(model.classes_.tolist())
        raise BadInputError(f"--class {label}: the model does not have this class. Its classes are {classes}.")
    if options.collisions and summary.hashing is None:
        raise BadInputError(
            f"{options.model}: its features are not hashed, so no features share a column: leave --collisions out."
        )
    findings = examine_data(model, options.data, options) if options.data else None
    if options.json:
        data = {} if findings is None else {"on_data": findings.to_dict(top)}
        print_json({"model": str(options.model), **summary.to_dict(), **data})
        return
    console = Screen()
    console.print(facts_grid(summary.lines()))
    if options.collisions:
        assert summary.hashing is not None
        _show_collisions(summary.hashing, console)
        return
    (_show_support if isinstance(model, KernelPerceptron) else _show_weights)(model, summary.rows, top, console)
    if findings is not None:
        _show_findings(findings, model, top, console)
    console.print(f"\n{NOT_PROBABILITIES}")
    if not several_labels(model) and not is_calibrated(model):
        console.print(CALIBRATION_HINT, style="dim", soft_wrap=True)


# ---- what is in the model


def _show_weights(model: AnyModel, rows: list[Row], top: int, console: Screen) -> None:
    weights = getattr(model, "combine_", model.combine)
    kind = "averaged weights, shown instead of the votes" if model.combine == "vote" else f"{weights} weights"
    if len(rows) == 1:
        about = f"for {rows[0].title()} ({kind}; bias {rows[0].bias:+.3g})"
    elif rows[0].thing == "class":
        about = f"of each class ({kind}); for one class: --class LABEL"
    else:
        about = f"of A vs B ({kind}; + for B); for one pair: --class 'A vs B'"
    console.print(heading(f"Most important features {about}"))
    show_rows(rows, names_in_files(model), top, MAX_ROWS, console, where_more=MORE_OPTIONS, units=units_of(model))
    if (step := step_of(model)) is not None:
        per_unit = "; 'per unit' is the weight of one unit of the data" if len(rows) == 1 else ""
        console.print(f"Weights of numbers are per {step}, so that they can be compared{per_unit}.", style="dim")


def _show_support(model: AnyModel, rows: list[Row], top: int, console: Screen) -> None:
    assert isinstance(model, KernelPerceptron)
    kind = "averaged, shown instead of the votes" if model.combine == "vote" else model.combine
    of_one = f" for {rows[0].title()}" if len(rows) == 1 else ""
    console.print(heading(f"Support vectors with the largest coefficients{of_one} ({kind})"))
    if len(rows) > 1:
        console.print("Per class, + for it, - against it; for one class: --class LABEL", style="dim")
    if (model.support_ >= 0).any():
        console.print("Examples are numbered from 1, in the order of training", style="dim")
    show_rows(rows, support_names(model), top, MAX_ROWS, console, ("example", "coefficient"), MORE_OPTIONS)


def _show_collisions(hashing: dict[str, Any], console: Screen) -> None:
    """Print the shared columns with a weight, their features and the signs of these."""
    entries = hashing["heaviest"]
    if not entries:
        console.print(heading("No shared column has a weight"))
        return
    console.print(heading(f"Shared columns with the largest weights ({len(entries)})"))
    table = grid(">column", ">weight", "features, the most frequent first")
    table.columns[2].no_wrap = False
    for entry in entries:
        signs = ["" if sign > 0 else "-" for sign in entry["signs"]]
        names = [f"{sign}{plain(name, 24)}" for sign, name in zip(signs, entry["names"], strict=True)]
        more = f" and {len(names) - MAX_SHARING_SHOWN} more" * (len(names) > MAX_SHARING_SHOWN)
        table.row(f"{entry['column'] + 1:,}", signed(entry["weight"]), ", ".join(names[:MAX_SHARING_SHOWN]) + more)
    console.print(table)
    if hashing["signed"]:
        note = "A feature with - before it is counted negatively: its own weight has the opposite sign."
        console.print(note, style="dim")


# ---- what data say about it


class DataFindings(NamedTuple):
    """The findings about a model on the examples of --data; parts that do not apply are None."""

    data: Path
    number: int | None  # of the example to explain
    sample: Sample
    scales: ScaledWeights
    vote_shares: np.ndarray | None  # of the predicted class, for every example
    explanation: Explanation | None

    def to_dict(self, n: int) -> dict[str, Any]:
        """For JSON."""
        from perceptrons.inspection.evaluation import histogram

        example, votes = None, None
        if self.explanation is not None:
            example = {"number": self.number, "line": self.sample.one[1], **self.explanation.to_dict()}
        if self.vote_shares is not None:
            mean = float(self.vote_shares.mean())
            votes = {"mean_of_winner": mean, "histogram_of_winner": histogram(self.vote_shares).tolist()}
        return {
            "data": str(self.data), "examples": self.sample.X.shape[0], "more_examples": self.sample.more,
            "scales": self.scales.to_dict(n), "votes": votes, "example": example,
        }  # fmt: skip


def examine_data(model: AnyModel, data: list[Path], options: InspectOptions) -> DataFindings:
    """Read examples, and compare them with the model."""
    reader = open_data(data, options, like=model, need_labels=False)
    with refusing_data():
        sample = first_examples(reader, model.n_features_in_, SAMPLE, options.example)
    if sample is None:
        raise no_examples_error(reader.files[0])
    if options.example is not None and sample.one is None:
        raise BadInputError(f"--example {options.example}: {reader.files[0]} has only {count(sample.seen, 'example')}.")
    X, shares, explanation = sample.X, None, None
    with refusing(ValueError), columns_matched():
        scaler, deviations = scaler_for(X, model), scales(X).deviations
        if model.combine == "vote":
            shares = model.vote_shares(X).max(axis=1)
        if sample.one is not None:
            explanation = _name_features(model, model.explain(sample.one[0]))
    rows = [] if isinstance(model, KernelPerceptron) else rows_of(model, mirrored=False)
    weights = ScaledWeights(scaler, largest_values(X), deviations, rows, names_in_files(model))
    return DataFindings(data[0], options.example, sample, weights, shares, explanation)


def _name_features(model: AnyModel, explanation: Explanation) -> Explanation:
    """Name features or support examples as commands do: by numbers from 1 if they have no names."""
    names = support_names(model) if isinstance(model, KernelPerceptron) else names_as_files(model)
    if names is None:
        return explanation
    return replace(explanation, features=tuple(names[column] for column in explanation.columns.tolist()))


def _show_findings(findings: DataFindings, model: AnyModel, n: int, console: Screen) -> None:
    sample = findings.sample
    first = "the first " if sample.more else ""
    console.print(heading(f"On {first}{count(sample.X.shape[0], 'example')} of {findings.data}"))
    _show_scales(findings.scales, model, n, console)
    if findings.vote_shares is not None:
        _show_votes(findings.vote_shares, console)
    if findings.explanation is not None:
        place = sample.one[1]
        where = "" if place is None else f" (line {place:,})" if isinstance(place, int) else f" ({plain(place, 1000)})"
        console.print(heading(f"Example {findings.number:,}{where}"))
        console.print(str(findings.explanation), soft_wrap=True)


def _show_scales(scales: ScaledWeights, model: AnyModel, n: int, console: Screen) -> None:
    """Print whether weights can be compared, and those that can."""
    ends = scales.extremes()
    if scales.scaler is not None and getattr(model, "kernel", "") != "cosine":
        (largest, maximum), (smallest, minimum) = ends
        consequence = (
            "the largest ones dominate the kernel"
            if isinstance(model, KernelPerceptron)
            else "their weights cannot be compared"
        )
        console.warn(
            f"The features differ widely in scale, so {consequence}: {plain(largest)} reaches {maximum:.4g}, "
            f"{plain(smallest)} only {minimum:.4g}. Scale them before training, for instance with "
            f"scikit-learn's {scales.scaler}."
        )
    elif (step := step_of(model)) is not None:
        console.print(f"Numbers are scaled as in training: one unit is {unit_with_article(step)}.", style="dim")
    elif ends:
        console.print("The features have similar scales.", style="dim")
    heavy = scales.heaviest(n)
    if not heavy:
        return
    several = len(scales.rows) > 1
    row_column = [scales.rows[0].thing] if several else []
    table = grid("feature", *row_column, ">weight", ">deviation", ">product")
    for item in heavy:
        of_row = item.get("class", item.get("pair"))
        title = " vs ".join(map(plain, of_row)) if isinstance(of_row, list) else plain(of_row)
        cells: list[Any] = [plain(title, 16)] if several else []
        cells += [signed(item["weight"]), f"{item['deviation']:.3g}", signed(item["weight_times_deviation"])]
        table.row(plain(item["feature"], 32), *cells)
    console.print(table)
    console.print("The product is the effect of a typical change of the feature, so it can be compared.", style="dim")


def _show_votes(shares: np.ndarray, console: Screen) -> None:
    """Print a histogram of the votes for the predicted class."""
    console.print(heading(f"Share of votes for the predicted class: {in_percent(float(shares.mean()))} on average"))
    counts = histogram(shares).tolist()
    first = next(place for place, number in enumerate(counts) if number)
    rows = (
        (f"{100 * k // HISTOGRAM_BINS}-{100 * (k + 1) // HISTOGRAM_BINS}%", f"{n:,}", console.bar(n / max(counts), 32))
        for k, n in list(enumerate(counts))[first:]
    )
    console.print(grid(">share", ">examples", "", rows=rows))


# ---- taggers


def inspect_tagger(tagger: SequencePerceptron, options: InspectOptions) -> None:
    """Print what is in a tagger: --top features and transitions of each label, or of --class."""
    if options.data:
        raise BadInputError(
            f"{options.model}: this is a tagger: explain a sentence in Python, with model.explain(tokens)."
        )
    label, n = options.label, options.top
    summary = ModelSummary(tagger, n, label)
    if not summary.rows:
        raise BadInputError(
            f"--class {label}: the tagger does not have this label. Its labels are {listed(tagger.classes_.tolist())}."
        )

    def show(console: Screen) -> None:
        kind = f"{tagger.combine} weights"
        of_one = f"of each label ({kind}); for one label: --class LABEL"
        if label is not None:
            of_one = f"for {plain(label)} ({kind})"
        console.print(facts_grid(summary.lines()), heading(f"Most important features {of_one}"))
        show_rows(summary.rows, names_in_files(tagger), n, MAX_ROWS, console, where_more=MORE_OPTIONS)
        if steps := transitions(tagger, n, label):
            about = "" if label is None else f" from and to {plain(label)}"
            cells = ((plain(source), plain(target), signed(weight)) for source, target, weight in steps)
            table = grid("from", "to", ">weight", rows=cells)
            console.print(heading(f"Largest transition weights{about}"), table)
        console.print(f"\n{NOT_PROBABILITIES.replace('class', 'label')}")

    print_result(options, lambda: {"model": str(options.model), **summary.to_dict()}, show)
