"""Options of `perceptrons train` that are for clusters, and what does not go with them."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from perceptrons.cli.errors import BadInputError
from perceptrons.cli.stream.options import STDIN, Asked

Option = partial(typer.Option, rich_help_panel="Clusters: many workers, by Dask")
MixingName = StrEnum("MixingName", ["mistakes", "uniform"])

Dask = Annotated[
    str | None,
    Option(
        "--dask",
        metavar="ADDRESS",
        help="Learn on the cluster whose scheduler is there, as in tcp://host:8786; its workers read DATA.",
    ),
]
Workers = Annotated[
    int | None,
    Option("--workers", metavar="N", min=1, max=1024, help="Learn on N processes of this machine, started for it."),
]
Shards = Annotated[
    int | None,
    Option(
        "--shards",
        metavar="S",
        min=1,
        help="So many parts of DATA, learned from at the same time; otherwise one for each thread of the workers.",
    ),
]
Mixing = Annotated[
    MixingName | None,
    Option("--mixing", metavar="HOW", help="Shards count by their mistakes (default), or all the same: uniform."),
]


def check(data: list[Path], asked: Asked) -> None:
    """Refuse what does not go with a cluster."""
    chosen = "--dask" if asked.dask is not None else "--workers"
    if asked.dask is not None and asked.workers is not None:
        raise BadInputError("--dask and --workers exclude each other: give a cluster's address, or start one here.")
    if asked.example is not None:
        raise BadInputError(f"--example does not go with {chosen}: it is learned on one machine in no time.")
    if not data:
        raise BadInputError(f"{chosen} needs DATA: name the files that the workers are to read.")
    if STDIN in data:
        raise BadInputError(f"- does not go with {chosen}: workers cannot read standard input, so give files.")
    if asked.cache is not None:
        raise BadInputError(f"--cache does not go with {chosen}: every worker keeps what it reads on its own disk.")
