"""Sentences of a file as a tagger takes them, with their labels, and where a label stands that is not allowed there."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from perceptrons.data.conll import CONLLU, ColumnFile
from perceptrons.engine.training.epochs import hold_out
from perceptrons.engine.wording import count, short
from perceptrons.sequence.allowed import barriers

NEVER_EMPTY = ("upos", "head", "deprel")  # _ says there that nothing is known; elsewhere it is a value


@dataclass(frozen=True)
class Corpus:
    """names: of the columns that are seen. A token is a string, or a tuple of one a column. label: its place."""

    file: ColumnFile
    names: list[str]
    sentences: list[list[Any]]
    labels: list[list[str]]
    label: int | None

    @classmethod
    def of(cls, file: ColumnFile, places: list[int], names: list[str], label: int | None) -> "Corpus":
        """Return the sentences of a file: the columns at these places, and the labels at another, if there are any."""
        sentences: list[Any] = file.sentences(places[0] if len(places) == 1 else places)
        return cls(file, names, sentences, [] if label is None else file.sentences(label), label)

    @property
    def n_tokens(self) -> int:
        return sum(map(len, self.sentences))

    @property
    def words(self) -> Iterable[str]:
        """What all tokens have in the first column."""
        tokens = chain.from_iterable(self.sentences)
        return tokens if len(self.names) == 1 else (token[0] for token in tokens)

    @property
    def label_name(self) -> str:
        """What people call the column of the label."""
        place = self.label or 0
        return CONLLU[place] if self.file.format == "conllu" else f"column {place + 1}"

    @property
    def label_column(self) -> str:
        """How to ask for the column of the label in other files: by name in CoNLL-U, else by number, -1: the last."""
        place = self.label or 0
        if self.file.format == "conllu":
            return CONLLU[place]
        return "-1" if place == self.file.n_columns - 1 else str(place + 1)

    def part(self, rows: Iterable[int]) -> "Corpus":
        """Return only these sentences."""
        numbers = list(rows)
        sentences, labels = ([of[i] for i in numbers] for of in (self.sentences, self.labels))
        return replace(self, sentences=sentences, labels=labels)

    def place(self, token: int) -> str:
        """Return where the label of a token stands. Only of a whole file."""
        return f"{self.file.path}:{self.file.line(token)}:{(self.label or 0) + 1}"

    def first_missing(self) -> int | None:
        """Return the first token without a label."""
        missing = {"", "_"} if self.label_name in NEVER_EMPTY else {""}
        return next((k for k, label in enumerate(chain.from_iterable(self.labels)) if label in missing), None)

    def first_broken(self, scheme: Any) -> tuple[int, str] | None:
        """Return the first token whose label a scheme forbids there, and what is wrong with it."""
        classes = np.unique(list(set(chain.from_iterable(self.labels))))
        ends = [*classes.tolist(), None]
        steps = zip(*np.nonzero(barriers(scheme, classes, stream=True)), strict=True)
        forbidden = {(ends[i], ends[j]) for i, j in steps}
        first = 0
        for labels in self.labels if forbidden else ():
            for at, (previous, label) in enumerate(pairwise([None, *labels, None])):
                if (previous, label) in forbidden:
                    if label is None:
                        return first + at - 1, f"{short(str(previous), 28)} at the end of a sentence"
                    place = "at the start of a sentence" if previous is None else f"after {short(previous, 28)}"
                    return first + at, f"{short(label, 28)} {place}"
            first += len(labels)
        return None


def split_corpus(corpus: Corpus, test: Corpus | None, share: float, seed: int) -> tuple[Corpus, Corpus | None, str]:
    """Return what to learn from, what to test on, and a sentence about it."""
    n = len(corpus.sentences)
    all_of_it = f"{count(n, 'sentence')} ({count(corpus.n_tokens, 'token')}) for training"
    if test is not None:
        there = f"{count(len(test.sentences), 'sentence')} ({count(test.n_tokens, 'token')})"
        return corpus, test, f"{all_of_it}; {there} in {test.file.path} for testing"
    if share == 0:
        return corpus, None, f"{all_of_it}, none held out"
    if n * share < 1 or n == 1:
        return corpus, None, f"{all_of_it}: too few to hold out {share:.0%} for testing"
    train, held_out = (corpus.part(rows) for rows in hold_out(np.zeros(n, np.intp), None, share, seed))
    description = (
        f"{count(len(train.sentences), 'sentence')} ({count(train.n_tokens, 'token')}) for training; "
        f"{len(held_out.sentences):,} ({count(held_out.n_tokens, 'token')}) held out for testing "
        f"({share:.0%}, seed {seed})"
    )
    return train, held_out, description


def column_names(file: ColumnFile, places: list[int]) -> list[str]:
    """Return what templates call these columns: by the names of CoNLL-U, elsewhere by where they are.

    word is the first, pos the second behind it, column3 the third.
    """
    if file.format == "conllu":
        return [CONLLU[place] for place in places]
    return [
        "word" if place == 0 else "pos" if (place, at) == (1, 1) else f"column{place + 1}"
        for at, place in enumerate(places)
    ]


def column_places(file: ColumnFile, names: list[str]) -> list[int] | None:
    """Return the places of the columns of these names, or of all columns; None if the file lacks one."""
    if file.format == "conllu":
        known_names = ["form"] if names == ["word"] else names
        return [CONLLU.index(name) for name in known_names] if set(known_names) <= set(CONLLU) else None
    if file.n_columns == len(names):
        return list(range(len(names)))
    numbers = [{"word": "column1", "pos": "column2"}.get(name, name) for name in names]
    matches = [re.fullmatch(r"column([1-9]\d{0,8})", name, re.ASCII) for name in numbers]
    places = [int(match[1]) - 1 for match in matches if match is not None]
    if len(places) < len(names):
        places = list(range(len(names)))
    return places if max(places) < file.n_columns else None
