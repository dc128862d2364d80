"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class DataFormat(StrEnum):
    """The formats of `perceptrons.data.read`."""

    csv = "csv"
    tsv = "tsv"
    svmlight = "svmlight"
    libsvm = "libsvm"
    npz = "npz"


# readable=False: typer's own check would come before, and be worded differently from, that of the readers
Model = Annotated[Path, typer.Argument(metavar="MODEL", readable=False, help="A model written by train -o.")]
Data = Annotated[Path, typer.Argument(metavar="DATA", readable=False, help="CSV, svmlight or .npz file.")]
Format = Annotated[
    DataFormat | None,
    typer.Option(
        "--format", metavar="FORMAT", help="csv, tsv, svmlight, libsvm or npz, if the name of DATA does not say it."
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label-column", metavar="NAME", help="CSV: the label column by name, or by number from 1; otherwise the last."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
