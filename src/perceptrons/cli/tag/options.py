"""Arguments and options that the commands for taggers share: the file, how to read it, and its columns."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " "}


class ColumnFormat(StrEnum):
    """The formats of `perceptrons.data.conll.read_conll`."""

    columns = "columns"
    conllu = "conllu"


def separator_named(text: str) -> str:
    """A separator as people can type it."""
    return SEPARATORS.get(text, text)


Columnwise = partial(typer.Option, rich_help_panel="What is in FILE")

# readable=False: typer's own check would come before, and be worded differently from, that of the readers
Model = Annotated[Path, typer.Argument(metavar="MODEL", readable=False, help="A tagger written by tag train -o.")]
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        readable=False,
        help="A token a line, its columns side by side, blank lines between sentences; also .gz, .xz, .bz2; -: stdin.",
    ),
]
Label = Annotated[
    str | None,
    Columnwise(
        "--label",
        metavar="COLUMN",
        help="The column with the label: a number from 1, -1 for the last, or a name in CoNLL-U. "
        "Otherwise the last; upos in CoNLL-U.",
    ),
]
Columns = Annotated[
    str | None,
    Columnwise(
        "--columns",
        metavar="COLUMNS",
        help="The columns that the tagger sees, as 1,2 or form,xpos. Otherwise those left of the label; "
        "form in CoNLL-U.",
    ),
]
ColumnsThere = Annotated[
    str | None,
    Columnwise("--columns", metavar="COLUMNS", help="Where the columns are that the tagger sees, as 1,2 or form,xpos."),
]
Format = Annotated[
    ColumnFormat | None, Columnwise("--format", metavar="FORMAT", help="columns or conllu; otherwise it is detected.")
]
Separator = Annotated[
    str | None,
    Columnwise(
        "--separator",
        metavar="TEXT",
        help="What stands between columns: tab, space, whitespace (any run of them), or any text; "
        "otherwise it is detected.",
    ),
]
Encoding = Annotated[str, Columnwise("--encoding", metavar="NAME", help="The encoding, such as latin-1.")]
Comments = Annotated[bool, Columnwise("--comments", help="Lines that start with # are comments, as in CoNLL-U.")]
