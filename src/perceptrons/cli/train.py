"""`perceptrons train`: learn from a file, or from scikit-learn's digits, test, save and say how it went."""

import shlex
import sys
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perceptrons.cli import options
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, read_table, save_model
from perceptrons.cli.screen import as_json, plain, screen

if TYPE_CHECKING:
    from perceptrons import Perceptron
    from perceptrons.data import Table


class Combine(StrEnum):
    """Which weights predict."""

    average = "average"
    last = "last"
    vote = "vote"
    pocket = "pocket"


class ClassWeight(StrEnum):
    """How classes of different size count."""

    balanced = "balanced"


def train(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            readable=False,
            show_default=False,
            help="CSV, svmlight or .npz file; none: scikit-learn's digits.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="MODEL", readable=False, help="Save the model here.")
    ] = None,
    format: options.Format = None,
    label_column: options.LabelColumn = None,
    test: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", readable=False, help="Test on this file.")
    ] = None,
    test_share: Annotated[
        float | None,
        typer.Option(
            "--test-share", metavar="SHARE", min=0, max=0.9, help="Hold this share out as a test; otherwise 0.2."
        ),
    ] = None,
    combine: Annotated[
        Combine | None,
        typer.Option(
            "--combine", metavar="WHICH", help="Weights that predict: average (default), last, vote or pocket."
        ),
    ] = None,
    max_iter: Annotated[int | None, typer.Option("--max-iter", metavar="N", min=1, help="Epochs at most.")] = None,
    tol: Annotated[
        float | None,
        typer.Option("--tol", metavar="T", min=0, help="Stop when the average changes by less; 0: never."),
    ] = None,
    eta0: Annotated[float | None, typer.Option("--eta0", metavar="ETA", max=1e9, help="Learning rate.")] = None,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="Stop when held-out training examples get no better.")
    ] = False,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", metavar="S", help="Stop after this time.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the split and of the orders.")] = 0,
    class_weight: Annotated[
        ClassWeight | None,
        typer.Option("--class-weight", metavar="balanced", help="Let small classes count as much as large ones."),
    ] = None,
    no_shuffle: Annotated[bool, typer.Option("--no-shuffle", help="Visit examples in the order of DATA.")] = False,
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Learn no bias.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show a live bar while learning.")] = False,
    json: options.Json = False,
) -> None:
    """Train a perceptron, test it on examples it has not seen, and say how it went.

    Without DATA it learns scikit-learn's handwritten digits.
    """
    if test is not None and test_share is not None:
        raise BadInputError("--test and --test-share exclude each other: give a test file, or a share to hold out.")
    if test is not None and data is None:
        raise BadInputError("--test needs DATA: the digits are tested on examples held out.")
    check_output(output, data, test)
    from perceptrons import Perceptron
    from perceptrons.cli.report import Run, show, summary

    table, held_out, split = tables(data, test, 0.2 if test_share is None else test_share, seed, format, label_column)
    chosen = {"combine": combine, "max_iter": max_iter, "tol": tol, "eta0": eta0, "max_seconds": max_seconds,
              "class_weight": class_weight}  # fmt: skip
    given = {name: getattr(value, "value", value) for name, value in chosen.items() if value is not None}
    if tol == 0:
        given["tol"] = None
    model = Perceptron(
        **given, early_stopping=early_stopping, random_state=seed, shuffle=not no_shuffle,
        fit_intercept=not no_intercept, verbose=verbose and not quiet,
    )  # fmt: skip
    learn(model, table, waiting=not (quiet or json or verbose))
    if output is not None:
        save_model(model, output)
    asked = {"--format": format, "--label-column": label_column, "--test": test, "--test-share": test_share}
    words = [
        word for option, value in asked.items() if value is not None for word in (option, f"{value}".removesuffix(".0"))
    ]
    again = shlex.join(["perceptrons", "train", *([] if data is None else [str(data)]), *words])
    run = Run(model, table, held_out, split, data, output, again)
    if json:
        print(as_json(summary(run)), end="")
    elif not quiet:
        show(run, screen())


def learn(model: "Perceptron", table: "Table", waiting: bool) -> None:
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
) -> tuple["Table", "Table | None", str]:
    """What to learn from, what to test on, and a sentence about it."""
    from dataclasses import replace

    import numpy as np

    from perceptrons.cli.digits import digits
    from perceptrons.training.epochs import hold_out

    table = digits() if data is None else read_table(data, format, label_column)
    check_classes(table)
    n = table.X.shape[0]
    if test is not None:
        held_out = read_table(
            test, format if data is not None and test.suffix == data.suffix else None, table.label_name or label_column,
            feature_names=table.feature_names, n_features=table.X.shape[1], part="test",
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
    return (
        replace(table, X=table.X[train], y=table.y[train]),  # type: ignore[index]
        replace(table, X=table.X[rest], y=table.y[rest]),  # type: ignore[index]
        said,
    )


def check_classes(table: "Table") -> None:
    """Refuse labels that are no classes, such as prices or ids: nearly every row has its own."""
    import numpy as np

    assert table.y is not None
    n_labels, n = len(np.unique(table.y)), table.X.shape[0]
    if n_labels > 20 and n_labels > n / 2:
        column = "" if table.label_name is None else f" in column {plain(table.label_name)}"
        raise BadInputError(
            f"{table.path}: {n_labels:,} different labels{column} for {n:,} examples, so these are no classes: "
            "name the right column with --label-column."
        )
