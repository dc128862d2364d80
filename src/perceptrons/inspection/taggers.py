"""The quality of a tagger's predictions: of tokens, sentences, words that are new, and phrases."""

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perceptrons.engine.wording import in_percent
from perceptrons.inspection.evaluation import measure
from perceptrons.inspection.metrics import Facts
from perceptrons.sequence.phrases import PhraseCounts, are_phrase_labels, phrase_scores

if TYPE_CHECKING:
    from perceptrons.sequence import SequencePerceptron


class Share(NamedTuple):
    """The number of correct predictions among all."""

    right: int
    total: int

    @property
    def share(self) -> float | None:
        return self.right / self.total if self.total else None

    def describe(self, things: str) -> str:
        return f"{in_percent(self.share or 0, 2)} ({self.right:,} of {self.total:,} {things})"

    def as_json(self) -> Facts:
        return {"total": self.total, "right": self.right, "accuracy": self.share}


class TaggerQuality:
    """The quality of a tagger on labelled sentences: `quality` of the tokens, and shares of the `sentences`.

    words: the words of all tokens, to find `new_words`, which training did not have; None if the tagger does not store
    words. scheme: of `phrases`, as in `phrase_scores`; these are None if the labels do not mark phrases.
    """

    def __init__(
        self, tagger: "SequencePerceptron", sentences: list[list[object]], labels: list[list[str]],
        words: Iterable[str], scheme: str | None = None,
    ):  # fmt: skip
        predicted = tagged(tagger, sentences)
        numbers = {str(label): number for number, label in enumerate(tagger.classes_.tolist())}
        flat, true = list(chain.from_iterable(predicted)), list(chain.from_iterable(labels))
        codes = np.fromiter(map(numbers.__getitem__, flat), np.intp, len(flat))
        self.quality = measure(tagger.classes_, np.array(true), codes)
        n_right = sum(a == b for a, b in zip(predicted, labels, strict=True))
        self.sentences = Share(n_right, len(predicted))
        known_words, self.new_words = tagger.known_words(), None
        if known_words is not None:
            hits = [a == b for a, b, word in zip(flat, true, words, strict=True) if word not in known_words]
            self.new_words = Share(sum(hits), len(hits))
        has_phrases = scheme is not None or are_phrase_labels({*numbers, *true})
        self.phrases = phrase_scores(labels, predicted, scheme=scheme) if has_phrases else None

    @property
    def phrase_f1(self) -> float | None:
        return None if self.phrases is None else self.phrases.f1

    def as_json(self) -> Facts:
        quality, phrases = self.quality, self.phrases
        return {
            "tokens": quality.total,
            "right": quality.right,
            "accuracy": quality.accuracy,
            "commonest_label_share": quality.commonest[1],
            "sentences": self.sentences.as_json(),
            "unknown_words": None if self.new_words is None else self.new_words.as_json(),
            "phrases": None if phrases is None else {
                **_phrase_json(phrases),
                **{name: of._asdict() for name, of in phrases.averages().items() if name != "micro"},
                "by_type": {kind: _phrase_json(of) for kind, of in phrases.by_type.items()},
            },
            "by_label": [{"label": row.pop("class"), **row} for row in quality.by_class()],
            "unknown_labels": quality.unknown,
            "labels": quality.labels,
            "confusion": quality.confusion.tolist(),
        }  # fmt: skip


def tagged(tagger: "SequencePerceptron", sentences: list[list[object]]) -> list[list[str]]:
    """Return the predicted labels as strings, for a file."""
    predicted = tagger.predict(sentences)
    if all(isinstance(label, str) for label in tagger.classes_.tolist()):
        return predicted
    return [[str(label) for label in labels] for labels in predicted]


def _phrase_json(of: PhraseCounts) -> Facts:
    return {
        "count": of.n_true, "found": of.n_found, "right": of.n_right,
        "precision": of.precision, "recall": of.recall, "f1": of.f1,
    }  # fmt: skip
