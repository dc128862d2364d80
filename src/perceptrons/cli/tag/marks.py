"""How good a tagger is: tokens, words that training did not have, sentences, and phrases where labels are of such."""

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from perceptrons.cli.errors import refusing
from perceptrons.cli.evaluate import MANY, show_classes, show_confusion, show_confusions
from perceptrons.cli.screen import count, grid, heading, listed, percent, plain
from perceptrons.inspection.evaluation import Quality, beside, measure

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons import SequencePerceptron
    from perceptrons.cli.tag.corpus import Corpus
    from perceptrons.sequence.phrases import PhraseCounts, PhraseScores


class Share(NamedTuple):
    """So many of so many."""

    right: int
    total: int

    @property
    def share(self) -> float | None:
        return self.right / self.total if self.total else None

    def in_words(self, things: str) -> str:
        return f"{percent(self.share or 0, 2)} ({self.right:,} of {self.total:,} {things})"

    def as_json(self) -> dict[str, Any]:
        return {"total": self.total, "right": self.right, "accuracy": self.share}


@dataclass
class Marks:
    """new_words: None where the tagger does not remember words. phrases: None where labels are not of phrases."""

    quality: Quality
    sentences: Share
    new_words: Share | None
    phrases: "PhraseScores | None"

    @property
    def tokens(self) -> Share:
        return Share(self.quality.right, self.quality.total)

    @property
    def unknown_labels(self) -> list[str]:
        return self.quality.labels[self.quality.known :]

    @property
    def n_unknown_labels(self) -> int:
        """Tokens with labels that the tagger does not know: they count as mistakes."""
        return int(self.quality.confusion[self.quality.known :].sum())

    def as_json(self) -> dict[str, Any]:
        quality, phrases = self.quality, self.phrases
        return {
            "tokens": quality.total,
            "right": quality.right,
            "accuracy": quality.accuracy,
            "commonest_label_share": quality.commonest[1],
            "sentences": self.sentences.as_json(),
            "unknown_words": None if self.new_words is None else self.new_words.as_json(),
            "phrases": None if phrases is None else {
                **_phrase_json(phrases), "by_type": {kind: _phrase_json(of) for kind, of in phrases.by_type.items()},
            },
            "by_label": [{"label": row.pop("class"), **row} for row in quality.by_class()],
            "unknown_labels": self.unknown_labels,
            "labels": quality.labels,
            "confusion": quality.confusion.tolist(),
        }  # fmt: skip


def mark(tagger: "SequencePerceptron", corpus: "Corpus") -> Marks:
    """Tag the sentences and compare with their labels."""
    import numpy as np

    from perceptrons.sequence.phrases import are_phrase_labels, phrase_scores

    answers = predicted(tagger, corpus)
    numbers = {str(label): number for number, label in enumerate(tagger.classes_.tolist())}
    flat, true = list(chain.from_iterable(answers)), list(chain.from_iterable(corpus.labels))
    quality = measure(tagger.classes_, np.array(true), np.fromiter(map(numbers.__getitem__, flat), np.intp, len(flat)))
    known = tagger.known_words()
    new = None
    if known is not None:
        hits = [a == b for a, b, word in zip(flat, true, corpus.words, strict=True) if word not in known]
        new = Share(sum(hits), len(hits))
    whole = sum(a == b for a, b in zip(answers, corpus.labels, strict=True))
    of_phrases = are_phrase_labels({*numbers, *true})
    return Marks(
        quality,
        Share(whole, len(answers)),
        new,
        phrase_scores(corpus.labels, answers) if of_phrases else None,
    )


def predicted(tagger: "SequencePerceptron", corpus: "Corpus") -> list[list[str]]:
    """The labels, as a file can hold them."""
    with refusing(ValueError, about=corpus.file.path):
        answers = tagger.predict(corpus.sentences)
    if all(isinstance(label, str) for label in tagger.classes_.tolist()):
        return answers
    return [[str(label) for label in labels] for labels in answers]


def show_marks(marks: Marks, console: "Console", title: str = "Accuracy", full: bool = False) -> None:
    """The report for people: with phrases, or else the most frequent confusions; full: with both, or all labels."""
    accuracy = f"{title} {percent(marks.quality.accuracy, 2)} ({beside(marks.quality)})"
    console.print(accuracy, markup=False, style="bold")
    if marks.new_words is not None and marks.new_words.total:
        console.print(f"Words not seen in training {marks.new_words.in_words('tokens')}", markup=False)
    console.print(f"Sentences without a mistake {marks.sentences.in_words('sentences')}", markup=False)
    if marks.n_unknown_labels:
        console.print(
            f"{count(marks.n_unknown_labels, 'token')} with labels that the tagger does not know, counted as mistakes: "
            f"{listed(marks.unknown_labels, 5)}",
            markup=False,
        )
    if marks.phrases is not None:
        _show_phrases(marks.phrases, console)
    elif full:
        show_classes(marks.quality, console, "label")
        show_confusion(marks.quality, console, "label")
    if full == (marks.phrases is not None) and marks.quality.right < marks.quality.total:
        show_confusions(marks.quality, console)


def _show_phrases(phrases: "PhraseScores", console: "Console") -> None:
    by_type = sorted(phrases.by_type.items(), key=lambda pair: -pair[1].n_true)
    title = "Phrases, right if start, end and type are"
    if len(by_type) > MANY:
        title = f"{title}; the {MANY} most frequent of {len(by_type)} types (--json has all)"
    columns = [(name, "right") for name in ("precision", "recall", "F1", "count", "found")]
    table = grid(("type", "left"), *columns)
    for kind, of in by_type[:MANY]:
        table.row(plain(kind) or "(none)", *_phrase_cells(of))
    table.row("all", *_phrase_cells(phrases), style="bold")
    console.print(heading(title), table)


def _phrase_cells(of: "PhraseCounts") -> list[str]:
    return [*(percent(share, 2) for share in (of.precision, of.recall, of.f1)), f"{of.n_true:,}", f"{of.n_found:,}"]


def _phrase_json(of: "PhraseCounts") -> dict[str, Any]:
    return {
        "count": of.n_true, "found": of.n_found, "right": of.n_right,
        "precision": of.precision, "recall": of.recall, "f1": of.f1,
    }  # fmt: skip
