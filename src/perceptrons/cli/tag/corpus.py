"""Sentences of a file as a tagger takes them, with their labels; what is wrong with these is said with its line."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import refusing_to_open
from perceptrons.cli.screen import count, plain
from perceptrons.cli.tag.columns import label_place, learned_place, names_of, places_for, seen_places
from perceptrons.cli.tag.options import ColumnFormat, separator_named

if TYPE_CHECKING:
    from perceptrons import SequencePerceptron
    from perceptrons.data.conll import ColumnFile
    from perceptrons.sequence.allowed import Healed

MANY = 5000  # labels, with which a chain is hopeless
NEVER_EMPTY = ("upos", "head", "deprel")  # _ says there that nothing is known; elsewhere it is a value


class Reading(NamedTuple):
    """How to read files, as the options say it."""

    separator: str | None
    format: ColumnFormat | None
    comments: bool
    encoding: str

    def file(self, path: Path) -> "ColumnFile":
        from perceptrons.data.conll import read_conll

        format = None if self.format is None else self.format.value
        separator = None if self.separator is None else separator_named(self.separator)
        with refusing(ValueError), refusing_to_open(path):
            return read_conll(
                path, separator, format=format, comments=self.comments or None, encoding=self.encoding
            )  # fmt: skip


@dataclass(frozen=True)
class Corpus:
    """names: of the columns that are seen. A token is a string, or a tuple of one a column. label: its place."""

    file: "ColumnFile"
    names: list[str]
    sentences: list[list[Any]]
    labels: list[list[str]]
    label: int | None

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
        from perceptrons.data.columnfile import CONLLU

        place = self.label or 0
        return CONLLU[place] if self.file.format == "conllu" else f"column {place + 1}"

    def part(self, which: Iterable[int]) -> "Corpus":
        """Only these sentences."""
        chosen = list(which)
        return replace(
            self,
            sentences=[self.sentences[i] for i in chosen],
            labels=[self.labels[i] for i in chosen],
        )

    def place(self, token: int) -> str:
        """Where the label of a token stands. Only of a whole file."""
        return f"{self.file.path}:{self.file.line(token)}:{(self.label or 0) + 1}"


def corpus_to_begin(path: Path, reading: Reading, columns: str | None, label: str | None) -> Corpus:
    """What a new tagger is to learn from."""
    file = reading.file(path)
    where = label_place(file, label)
    places = seen_places(file, columns, where)
    return _corpus(file, places, names_of(file, places), where)


def corpus_for(
    tagger: "SequencePerceptron", path: Path, reading: Reading, columns: str | None, label: str | None
) -> Corpus:
    """Labelled sentences for a tagger that there is."""
    file = reading.file(path)
    if label is None and file.format == "conllu":
        where = learned_place(file, [str(name) for name in tagger.classes_.tolist()], "--label")
    else:
        where = label_place(file, label)
    names = tagger.templates.parsed()[1]
    return _corpus(file, places_for(file, names, columns, where), names, where)


def corpus_like(corpus: Corpus, path: Path, reading: Reading, columns: str | None, label: str | None) -> Corpus:
    """Labelled sentences from another file, to test on."""
    file = reading.file(path)
    same = label is None and file.format == corpus.file.format == "conllu"
    where = corpus.label if same and corpus.label is not None else label_place(file, label)
    return _corpus(file, places_for(file, corpus.names, columns, where), corpus.names, where)


def corpus_to_tag(tagger: "SequencePerceptron", path: Path, reading: Reading, columns: str | None) -> Corpus:
    """Sentences for a tagger, without labels."""
    file, names = reading.file(path), tagger.templates.parsed()[1]
    return _corpus(file, places_for(file, names, columns), names, None)


def _corpus(file: "ColumnFile", places: list[int], names: list[str], label: int | None) -> Corpus:
    sentences: list[Any] = file.sentences(places[0] if len(places) == 1 else places)
    corpus = Corpus(file, names, sentences, [] if label is None else file.sentences(label), label)
    if label is not None:
        _refuse_missing(corpus)
    return corpus


def _refuse_missing(corpus: Corpus) -> None:
    """Refuse tokens without a label."""
    missing = {"", "_"} if corpus.label_name in NEVER_EMPTY else {""}
    for token, label in enumerate(chain.from_iterable(corpus.labels)):
        if label in missing:
            raise BadInputError(
                f"{corpus.place(token)}: the label is missing: fill it in, or name the right column with --label."
            )


def check_labels(corpus: Corpus) -> None:
    """Refuse to learn what are no labels: all the same, or nearly all different."""
    labels = set(chain.from_iterable(corpus.labels))
    about, n = f"{corpus.file.path}: {corpus.label_name}", corpus.n_tokens
    if len(labels) == 1:
        raise BadInputError(
            f"{about} has only one label, {plain(min(labels))}, and a tagger needs two: "
            "name the right column with --label."
        )
    if len(labels) > MANY or (len(labels) > 20 and len(labels) > n / 5):
        raise BadInputError(
            f"{about} has {len(labels):,} different values on {count(n, 'token')}, so these are no labels: "
            "name the right column with --label."
        )


def heal_labels(corpus: Corpus, allowed: Any, on_bad_label: str) -> tuple[Corpus, "Healed | None"]:
    """The corpus with labels in an order that --allowed allows only, by the way that --on-bad-label names."""
    from perceptrons.sequence.allowed import check_way, heal_lists

    with refusing(ValueError):
        check_way(on_bad_label, allowed)
    if allowed is None:
        return corpus, None
    if on_bad_label == "raise":
        _refuse_broken(corpus, allowed)
        return corpus, None
    labels, healed = heal_lists(corpus.labels, allowed, on_bad_label)
    kept = corpus if healed.kept is None else corpus.part(healed.kept.tolist())
    if not kept.sentences:
        raise BadInputError(
            f"{corpus.file.path}: every sentence has a label that --allowed forbids, so --on-bad-label skip leaves "
            "nothing to learn from: check --label and --allowed."
        )
    return replace(kept, labels=labels), healed


def _refuse_broken(corpus: Corpus, allowed: Any) -> None:
    """Refuse labels that break what --allowed says, naming the line."""
    broken = first_broken(corpus, allowed)
    if broken is not None:
        token, what = broken
        rule = f"--allowed {allowed}" if isinstance(allowed, str) else "the tagger"
        ways = "skip or repair" if isinstance(allowed, str) else "skip"
        raise BadInputError(
            f"{corpus.place(token)}: {what}, which {rule} forbids: correct the label, add --on-bad-label {ways}, or "
            "leave --allowed out."
        )


def first_broken(corpus: Corpus, scheme: Any) -> tuple[int, str] | None:
    """The first token whose label a scheme forbids there, and what is wrong with it."""
    import numpy as np

    from perceptrons.sequence.allowed import barriers

    classes = np.unique(list(set(chain.from_iterable(corpus.labels))))
    ends = [*classes.tolist(), None]
    forbidden = {(ends[i], ends[j]) for i, j in zip(*np.nonzero(barriers(scheme, classes, stream=True)), strict=True)}
    first = 0
    for labels in corpus.labels if forbidden else ():
        for at, (before, label) in enumerate(pairwise([None, *labels, None])):
            if (before, label) in forbidden:
                if label is None:
                    return first + at - 1, f"{plain(before)} at the end of a sentence"
                where = "at the start of a sentence" if before is None else f"after {plain(before)}"
                return first + at, f"{plain(label)} {where}"
        first += len(labels)
    return None
