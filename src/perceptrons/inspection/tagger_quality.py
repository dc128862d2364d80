"""How good a tagger is: tokens, words that training did not have, sentences, and phrases where labels are of such."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perceptrons.engine.wording import in_percent
from perceptrons.inspection.evaluation import Quality, measure
from perceptrons.sequence.phrases import PhraseCounts, PhraseScores, are_phrase_labels, phrase_scores

if TYPE_CHECKING:
    from perceptrons.sequence import SequencePerceptron


class Share(NamedTuple):
    """How many of a number of things are right."""

    right: int
    total: int

    @property
    def share(self) -> float | None:
        return self.right / self.total if self.total else None

    def in_words(self, things: str) -> str:
        return f"{in_percent(self.share or 0, 2)} ({self.right:,} of {self.total:,} {things})"

    def as_json(self) -> dict[str, Any]:
        return {"total": self.total, "right": self.right, "accuracy": self.share}


@dataclass
class TaggerQuality:
    """new_words: None where the tagger does not remember words. phrases: None where labels are not of phrases."""

    quality: Quality
    sentences: Share
    new_words: Share | None
    phrases: PhraseScores | None

    @property
    def phrase_f1(self) -> float | None:
        return None if self.phrases is None else self.phrases.f1

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
                **_phrase_json(phrases),
                **{name: of._asdict() for name, of in phrases.averages().items() if name != "micro"},
                "by_type": {kind: _phrase_json(of) for kind, of in phrases.by_type.items()},
            },
            "by_label": [{"label": row.pop("class"), **row} for row in quality.by_class()],
            "unknown_labels": quality.unknown,
            "labels": quality.labels,
            "confusion": quality.confusion.tolist(),
        }  # fmt: skip


def measure_tagger(
    tagger: "SequencePerceptron",
    sentences: list[list[Any]],
    labels: list[list[str]],
    words: Iterable[str],
    scheme: str | None = None,
) -> TaggerQuality:
    """Tag the sentences and compare with their labels. words: of all tokens, as training may have had them.

    scheme: count phrases by its letter, see `phrase_scores`.
    """
    answers = tagged(tagger, sentences)
    numbers = {str(label): number for number, label in enumerate(tagger.classes_.tolist())}
    flat, true = list(chain.from_iterable(answers)), list(chain.from_iterable(labels))
    quality = measure(tagger.classes_, np.array(true), np.fromiter(map(numbers.__getitem__, flat), np.intp, len(flat)))
    known = tagger.known_words()
    new = None
    if known is not None:
        hits = [a == b for a, b, word in zip(flat, true, words, strict=True) if word not in known]
        new = Share(sum(hits), len(hits))
    whole = sum(a == b for a, b in zip(answers, labels, strict=True))
    of_phrases = scheme is not None or are_phrase_labels({*numbers, *true})
    return TaggerQuality(
        quality, Share(whole, len(answers)), new, phrase_scores(labels, answers, scheme=scheme) if of_phrases else None
    )


def tagged(tagger: "SequencePerceptron", sentences: list[list[Any]]) -> list[list[str]]:
    """The predicted labels, as a file can hold them."""
    answers = tagger.predict(sentences)
    if all(isinstance(label, str) for label in tagger.classes_.tolist()):
        return answers
    return [[str(label) for label in labels] for labels in answers]


def _phrase_json(of: PhraseCounts) -> dict[str, Any]:
    return {
        "count": of.n_true, "found": of.n_found, "right": of.n_right,
        "precision": of.precision, "recall": of.recall, "f1": of.f1,
    }  # fmt: skip
