"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class DataFormat(StrEnum):
    """The formats of `perceptrons.data`: the first five are read whole, all but npz as streams."""

    csv = "csv"
    tsv = "tsv"
    svmlight = "svmlight"
    libsvm = "libsvm"
    npz = "npz"
    vw = "vw"
    text = "text"
    jsonl = "jsonl"
    parquet = "parquet"
    arrow = "arrow"


OnErrorName = StrEnum("OnErrorName", ["raise", "skip"])

# readable=False: typer's own check would come before, and be worded differently from, that of the readers
Model = Annotated[Path, typer.Argument(metavar="MODEL", readable=False, help="A model written by train -o.")]
Data = Annotated[Path, typer.Argument(metavar="DATA", readable=False, help="CSV, svmlight or .npz file.")]
Files = Annotated[
    list[Path],
    typer.Argument(metavar="DATA", readable=False, help="Files, patterns such as 'part-*.svm', or - for stdin."),
]
Format = Annotated[
    DataFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="csv, tsv, svmlight, libsvm, npz, vw, text, jsonl, parquet or arrow, if the name of DATA does not say it.",
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        metavar="NAME",
        help="Tables: the label column by name, in CSV also by number from 1; otherwise the last.",
    ),
]
TextColumn = Annotated[
    list[str] | None,
    typer.Option("--text-column", metavar="NAME", help="Tables: a column of text, split into words. May be repeated."),
]
OnError = Annotated[
    OnErrorName | None,
    typer.Option(
        "--on-error", metavar="HOW", help="Records that are no examples: raise (default) stops at the first; or skip."
    ),
]
ManyClasses = Annotated[
    bool,
    typer.Option("--many-classes", help="Accept data in which most examples have a label of their own."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
