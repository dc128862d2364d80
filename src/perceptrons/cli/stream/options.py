"""Options of `perceptrons train` that are for streams, and which options go with a stream and which do not."""

import glob
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from perceptrons.cli import options
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.screen import plain

Option = partial(typer.Option, rich_help_panel="Streams: files of any size, pipes, text")
ExampleName = StrEnum("ExampleName", ["sms"])
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
ONLY_STREAMS = {"vw", "text", "jsonl", "parquet", "arrow"}
INSTEAD = {
    "test_share": "test on a file of its own, --test FILE",
    "max_iter": "give the number of passes by --epochs",
    "tol": "it ends after as many passes as --epochs says",
    "early_stopping": "it ends after as many passes as --epochs says",
}
OF_THE_RUN = ("checkpoint", "every", "resume", "cache")  # not of what is learned
STDIN = Path("-")


class Range(NamedTuple):
    """N-grams from so many to so many words or characters; none at all if `least` is 0."""

    least: int
    most: int

    def __str__(self) -> str:
        return "none" if not self.least else f"{self.least}-{self.most}" if self.most > self.least else f"{self.least}"

    def sizes(self) -> tuple[int, int] | None:
        return (self.least, self.most) if self.least else None


def n_grams(text: str) -> Range:
    """1-2, or 2, or none."""
    match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?|none", text, re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{plain(text)} is no range such as 1-2, no number and not none.")
    return Range(int(match[1] or 0), int(match[2] or match[1] or 0))


def seconds(text: str) -> float:
    """60s, 5m, 1h, 90."""
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([smh]?)", text.strip(), re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{plain(text)} is no time such as 60s, 5m or 90 (seconds).")
    return float(match[1]) * SECONDS[match[2]]


Epochs = Annotated[
    int | None,
    Option("--epochs", metavar="N", min=1, help="Passes over the data; otherwise 1; for --example and clusters 5."),
]
Classes = Annotated[
    str | None, Option("--classes", metavar="A,B,...", help="All classes that may come; otherwise as they come.")
]
HashBits = Annotated[
    int | None,
    Option(
        "--hash-bits",
        metavar="B",
        min=0,
        max=31,
        help="Hash features to 2^B columns; 0: remember names instead. Otherwise text 20, vw 18, others none.",
    ),
]
WordGrams = Annotated[
    str | None,
    Option("--words", metavar="RANGE", parser=n_grams, help="Texts: runs of so many words, such as 1-2; otherwise 1."),
]
CharGrams = Annotated[
    str | None,
    Option("--chars", metavar="RANGE", parser=n_grams, help="Texts: runs of so many characters, such as 3-5, too."),
]
Categories = Annotated[
    list[str] | None,
    Option("--categories", metavar="NAME", help="Tables: this column of numbers is categories. May be repeated."),
]
Ignore = Annotated[
    list[str] | None, Option("--ignore", metavar="NAME", help="Tables: leave this column out. May be repeated.")
]
TextLabels = Annotated[bool, Option("--text-labels", help="Labels are words, even if the first are whole numbers.")]
ZeroBased = Annotated[bool, Option("--zero-based", help="svmlight: indices count from 0.")]
KeptCache = Annotated[
    Path | None,
    Option("--cache", metavar="FILE", readable=False, help="Keep what was read in this file, for later runs too."),
]
CheckpointFile = Annotated[
    Path | None,
    Option("--checkpoint", metavar="FILE", readable=False, help="Save now and then, so that --resume can go on."),
]
Every = Annotated[
    str | None, Option("--every", metavar="TIME", parser=seconds, help="How often: 90s, 5m; otherwise 60s.")
]
Resume = Annotated[bool, Option("--resume", help="Go on from --checkpoint, if it is there, as if never stopped.")]
Example = Annotated[
    ExampleName | None, Option("--example", metavar="NAME", help="sms: learn to tell spam, from texts shipped with it.")
]


@dataclass
class Asked:
    """What the user asked of a stream. None, False and no names: nothing."""

    example: ExampleName | None = None
    epochs: int | None = None
    classes: str | None = None
    hash_bits: int | None = None
    text_column: list[str] | None = None
    words: Any = None
    chars: Any = None
    categories: list[str] | None = field(default=None)
    ignore: list[str] | None = field(default=None)
    text_labels: bool = False
    many_classes: bool = False
    zero_based: bool = False
    on_error: options.OnErrorName | None = None
    cache: Path | None = None
    checkpoint: Path | None = None
    every: Any = None
    resume: bool = False
    dask: str | None = None
    workers: int | None = None
    shards: int | None = None
    mixing: StrEnum | None = None

    @property
    def on_cluster(self) -> bool:
        return self.dask is not None or self.workers is not None

    def given(self) -> dict[str, Any]:
        """Only what was asked, by its name."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: value for name, value in values.items() if value is not None and value is not False and value != []
        }

    def check(self) -> None:
        for name in ("every", "resume"):
            if name in self.given() and self.checkpoint is None:
                raise BadInputError(f"--{name} needs --checkpoint FILE: without one, nothing is saved on the way.")
        for name in ("shards", "mixing"):
            if name in self.given() and not self.on_cluster:
                raise BadInputError(f"--{name} is for clusters: give --dask ADDRESS or --workers N too.")


def option(name: str) -> str:
    """How the command line calls a parameter."""
    return "--" + name.replace("_", "-")


def why_stream(data: list[Path], format: options.DataFormat | None, asked: Asked) -> str | None:
    """Why the data are read as a stream, as the end of a sentence; None: they are read whole."""
    if len(data) > 1:
        return "several files are read as one"
    if data == [STDIN]:
        return "standard input is one"
    if data and is_pattern(data[0]):
        return f"the files of a pattern, {plain(data[0])}, are read as one"
    for name in asked.given():
        if name != "many_classes":
            return f"{option(name)} asks for one"
    known = format.value if format is not None else format_by_name(data[0]) if data else None
    return f"files of format {known} are read as one" if known in ONLY_STREAMS else None


def refuse_others(why: str, whole: dict[str, Any], of_kernel: dict[str, Any], class_weight: str | None) -> None:
    """Refuse options that go only with data in memory. why: the data are a stream. whole, of_kernel: values by name."""
    refusals = {name: INSTEAD[name] for name, value in whole.items() if value is not None and value is not False}
    refusals |= {name: "kernels need all data in memory" for name, value in of_kernel.items() if value is not None}
    if class_weight == "balanced":
        refusals["class_weight balanced"] = 'name the weights, {"class": weight}'
    for name, instead in refusals.items():
        raise BadInputError(f"{option(name)} does not go with a stream, and {why}: {instead}.")


def is_pattern(path: Path) -> bool:
    """Does the name stand for others, as part-*.svm does?"""
    return glob.has_magic(str(path)) and not os.path.lexists(path)


def format_by_name(path: Path) -> str | None:
    """The format that the ending of a name stands for, if any."""
    from perceptrons.data import DataFileError, stream_format

    with suppress(DataFileError):
        return stream_format((path,))
    return None
