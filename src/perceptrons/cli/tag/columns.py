"""Which columns of a file a tagger sees, what it calls them, and which column holds the label.

A tagger knows its columns by name only. In CoNLL-U they have names. In other files the names say where the columns
were: word is the first, pos the second behind it, column3 the third.
"""

import re
from typing import TYPE_CHECKING

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.screen import count, listed, plain

if TYPE_CHECKING:
    from perceptrons.data.conll import ColumnFile

UNIVERSAL = frozenset((
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM",
    "VERB", "X",
))  # fmt: skip


def place_of(file: "ColumnFile", option: str, asked: str) -> int:
    """The place, counted from 0, of the column that an option names."""
    from perceptrons.data import DataFileError

    with refusing(DataFileError, about=f"{option} {plain(asked)}"):
        return file.column_number(asked)


def label_place(file: "ColumnFile", asked: str | None) -> int:
    """Where the label is: in the last column, or where CoNLL-U has universal parts of speech."""
    if asked is None:
        asked = "upos" if file.format == "conllu" else "-1"
    return place_of(file, "--label", asked)


def seen_places(file: "ColumnFile", asked: str | None, label: int) -> list[int]:
    """Where the columns are that a new tagger is to see."""
    if asked is not None:
        places = _asked_places(file, asked)
    else:
        places = [file.column_number("form")] if file.format == "conllu" else list(range(label))
    if not places:
        if file.n_columns == 1:
            raise BadInputError(
                f"{file.path}: there is only one column, and a tagger learns from words and labels: give a file with "
                "both, or say with --separator what stands between them."
            )
        raise BadInputError(
            f"{file.path}: the label is column {label + 1}, and nothing is left of it: say with --columns what to see."
        )
    _refuse_seen_label(file, places, label)
    return places


def names_of(file: "ColumnFile", places: list[int]) -> list[str]:
    """What templates call these columns."""
    from perceptrons.data.columnfile import CONLLU

    if file.format == "conllu":
        return [CONLLU[place] for place in places]
    return [
        "word" if place == 0 else "pos" if (place, at) == (1, 1) else f"column{place + 1}"
        for at, place in enumerate(places)
    ]


def places_for(file: "ColumnFile", names: list[str], asked: str | None, label: int | None = None) -> list[int]:
    """Where the columns are that a tagger knows by these names; label: where the label is, which it must not see."""
    places = _found(file, names) if asked is None else _asked_places(file, asked)
    if len(places) != len(names):
        thing = count(len(places), "column")
        raise BadInputError(f"--columns {plain(asked)}: {thing}, but the tagger sees {len(names)}: {listed(names)}.")
    if label is not None:
        _refuse_seen_label(file, places, label)
    return places


def place_to_write(file: "ColumnFile", labels: list[str], asked: str | None) -> int | None:
    """Where predictions go; None: into a new column behind the last."""
    if asked is not None:
        new = file.format == "columns" and asked.strip() == str(file.n_columns + 1)
        return None if new else place_of(file, "--into", asked)
    if file.format == "columns":
        return None
    return learned_place(file, labels, "--into")


def learned_place(file: "ColumnFile", labels: list[str], option: str) -> int:
    """The column of a CoNLL-U file that a tagger has learned, as its labels tell."""
    if UNIVERSAL.issuperset(labels):
        return file.column_number("upos")
    raise BadInputError(
        f"{file.path}: which column are the tagger's labels ({listed(labels, 3)}) for? Say it with {option}, "
        f"for instance {option} xpos."
    )


def _asked_places(file: "ColumnFile", asked: str) -> list[int]:
    if not all(name.strip() for name in asked.split(",")):
        raise BadInputError(f"--columns {plain(asked)}: a column is missing, give them as 1,2 or form,xpos.")
    places = [place_of(file, "--columns", name) for name in asked.split(",")]
    twice = next((place for place in places if places.count(place) > 1), None)
    if twice is not None:
        raise BadInputError(f"--columns {plain(asked)}: column {twice + 1} stands there twice.")
    return places


def _found(file: "ColumnFile", names: list[str]) -> list[int]:
    """By name in CoNLL-U, else by the number that a name stands for; all columns if there are no others."""
    from perceptrons.data.columnfile import CONLLU

    if file.format == "conllu":
        known = ["form"] if names == ["word"] else names
        if set(known) <= set(CONLLU):
            return [CONLLU.index(name) for name in known]
        raise BadInputError(
            f"{file.path}: the tagger sees the columns {listed(names)}, which CoNLL-U does not have: say with "
            "--columns which to take, for instance --columns form,xpos."
        )
    if file.n_columns == len(names):
        return list(range(len(names)))
    numbered = {name: found for name in names if (found := _number(name)) is not None}
    places = [numbered[name] - 1 for name in names] if len(numbered) == len(names) else list(range(len(names)))
    if max(places) >= file.n_columns:
        raise BadInputError(
            f"{file.path}: {count(file.n_columns, 'column')} there, but the tagger sees {len(names)} ({listed(names)}):"
            " give the file that has them, or say with --columns where they are."
        )
    return places


def _number(name: str) -> int | None:
    found = re.fullmatch(r"column([1-9]\d{0,8})", name, re.ASCII)
    return int(found[1]) if found else {"word": 1, "pos": 2}.get(name)


def _refuse_seen_label(file: "ColumnFile", places: list[int], label: int) -> None:
    if label in places:
        raise BadInputError(
            f"{file.path}: column {label + 1} is both the label and a column that the tagger sees, which would give "
            "the answer away: say which is which with --label and --columns."
        )
