"""Options of `tune` and `compare`: how the data are split, by what figure it is judged, and the seal of the test."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from perceptrons.cli.errors import BadInputError

Option = partial(typer.Option, rich_help_panel="Splitting and testing")
Metrics = StrEnum("Metrics", ["accuracy", "balanced_accuracy", "f1_macro", "f1_micro", "f1_weighted", "matthews"])

DevShare = Annotated[
    float | None,
    Option("--dev-share", metavar="SHARE", help="Share of all examples to choose settings by; otherwise 0.2."),
]
TestShare = Annotated[
    float | None,
    Option("--test-share", metavar="SHARE", help="Share of all examples to test on, once; 0: no test. Otherwise 0.2."),
]
GroupColumn = Annotated[
    str | None,
    Option("--group-column", metavar="NAME", help="Tables: examples equal here, as of one patient, stay together."),
]
TimeOrder = Annotated[bool, Option("--time-order", help="Test on the last examples, choose by those before them.")]
Seed = Annotated[int, Option("--seed", metavar="N", min=0, help="Seed of the split and of the orders.")]
MetricName = Annotated[
    Metrics,
    Option(
        "--metric",
        metavar="NAME",
        help="accuracy, balanced_accuracy, f1_macro, f1_micro, f1_weighted or matthews.",
    ),
]
Force = Annotated[bool, Option("--force", help="Look at test examples that were looked at before, and say so.")]
LedgerFile = Annotated[
    Path | None,
    Option(
        "--ledger",
        metavar="FILE",
        readable=False,
        help="Remember looks at test data here; otherwise in the user's folder for states of programs.",
    ),
]


def check_split(time_order: bool, group_column: str | None, **parts: tuple[Path | None, float | None]) -> None:
    """Refuse what does not go together. parts: by name, the file and the share that were given for each."""
    for name, (path, share) in parts.items():
        if path is not None and share is not None:
            raise BadInputError(f"--{name} and --{name}-share exclude each other: give a file, or a share to hold out.")
        if share is not None and not 0 <= share < 1:
            raise BadInputError(f"--{name}-share {share:g}: give a share from 0 to below 1.")
    if time_order and group_column is not None:
        raise BadInputError("--time-order and --group-column exclude each other: split by time, or by groups.")
