"""Taggers: a summary of one (training, weights, transitions), and the quality of its predictions."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.wording import count, in_percent, listed, settings, tested, why_it_stopped
from perceptrons.inspection.evaluation import Quality, measure
from perceptrons.inspection.weights import Row, top
from perceptrons.sequence.phrases import PhraseCounts, PhraseScores, are_phrase_labels, phrase_scores

if TYPE_CHECKING:
    from perceptrons.sequence import SequencePerceptron

START, STOP = "(start)", "(end)"


class LabelRow(Row):
    """The weights of a label."""

    @property
    def thing(self) -> str:
        return "label"


def label_rows(tagger: "SequencePerceptron", label: str | None = None) -> list[Row]:
    """Return the weights of every label, or of one."""
    names, coef = [str(name) for name in tagger.classes_.tolist()], tagger.coef_
    return [LabelRow((name,), None, coef[k], 0.0) for k, name in enumerate(names) if label in (None, name)]


def feature_names(tagger: "SequencePerceptron") -> list[str] | None:
    """Return the names of the features; None if they are known by column only."""
    return None if learner_of(tagger).features.kind == "matrix" else [str(name) for name in tagger.attributes_]


def heaviest_features(tagger: "SequencePerceptron", n: int, label: str | None = None) -> list[dict[str, Any]]:
    """Return the features of every label with the largest weights by absolute value."""
    names = feature_names(tagger)
    return [
        {"label": row.classes[0], "features": [
            {"feature": weight.feature, "weight": weight.weight} for weight in top(row, names, n)]}
        for row in label_rows(tagger, label)
    ]  # fmt: skip


def transitions(tagger: "SequencePerceptron", n: int, label: str | None) -> list[tuple[str, str, float]]:
    """Return (from, to, weight) of the n largest transitions, including the ends of sentences."""
    k = len(tagger.classes_)
    arcs = np.zeros((k + 1, k + 1))
    arcs[:-1, :-1], arcs[-1, :-1], arcs[:-1, -1] = tagger.transitions_, tagger.start_, tagger.stop_
    names = [str(name) for name in tagger.classes_.tolist()]
    order = np.argsort(-np.abs(arcs), axis=None, kind="stable")
    largest = []
    for place in order[: np.count_nonzero(arcs)].tolist():
        i, j = divmod(place, k + 1)
        before, after = [*names, START][i], [*names, STOP][j]
        if label is None or label in (before, after):
            largest.append((before, after, float(arcs[i, j])))
        if len(largest) == n:
            break
    return largest


def facts(tagger: "SequencePerceptron") -> dict[str, Any]:
    """Return a summary of a tagger for JSON."""
    parameters = tagger.get_params(deep=False)
    if tagger.templates is not None:
        parameters["templates"] = tagger.templates.get_params()
    return {
        "kind": type(tagger).__name__,
        "parameters": parameters,
        "columns": None if tagger.templates is None else tagger.templates.parsed()[1],
        "labels": tagger.classes_.tolist(),
        "label_column": getattr(tagger, "label_column_", None),
        "n_features": tagger.n_features_in_,
        "sentences_seen": tagger.t_,
        "updates": tagger.n_updates_,
        "n_mistakes": tagger.n_mistakes_,
        "epochs": tagger.n_iter_,
        "mistakes": tagger.mistakes_.tolist(),
        "stop_reason": tagger.stop_reason_ or None,
        "why": why_it_stopped(tagger),
        "recipe": getattr(tagger, "recipe_", None),
    }


def facts_in_words(tagger: "SequencePerceptron") -> list[tuple[str, str]]:
    """Return the same as titles and texts, the most important first."""
    labels, words = tagger.classes_.tolist(), tagger.known_words()
    inputs = "features computed in Python"
    if tagger.templates is not None:
        templates, columns = tagger.templates.parsed()
        inputs = f"{listed(columns)}, through {count(len(templates), 'template')}"
    return [
        ("kind", f"{type(tagger).__name__}, combine={tagger.combine!r}"),
        ("sees", inputs),
        ("settings", settings(tagger) or "all defaults"),
        ("labels", f"{len(labels)}: {listed(labels, 12)}"),
        ("features", f"{tagger.n_features_in_:,}" + ("" if words is None else f", from {count(len(words), 'word')}")),
        ("learned", f"{count(tagger.n_iter_, 'epoch')}, {count(tagger.n_mistakes_, 'mistake')}, "
                    f"{count(tagger.n_updates_, 'update')}, {count(round(tagger.t_), 'sentence')} seen"),
        ("stopped", why_it_stopped(tagger)),
        *([("tested", tested(tagger))] if hasattr(tagger, "recipe_") else []),
    ]  # fmt: skip


# ---- quality


class Share(NamedTuple):
    """The number of correct predictions among all."""

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
    """The quality of a tagger.

    new_words: of words that training did not have; None if the tagger does not store words. phrases: None if the labels
    do not mark phrases.
    """

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
    """Tag the sentences and compare with their labels.

    words: the words of all tokens, to find those that training did not have. scheme: of phrases, as in
    `phrase_scores`.
    """
    predicted = tagged(tagger, sentences)
    numbers = {str(label): number for number, label in enumerate(tagger.classes_.tolist())}
    flat, true = list(chain.from_iterable(predicted)), list(chain.from_iterable(labels))
    quality = measure(tagger.classes_, np.array(true), np.fromiter(map(numbers.__getitem__, flat), np.intp, len(flat)))
    known = tagger.known_words()
    new = None
    if known is not None:
        hits = [a == b for a, b, word in zip(flat, true, words, strict=True) if word not in known]
        new = Share(sum(hits), len(hits))
    n_right = sum(a == b for a, b in zip(predicted, labels, strict=True))
    has_phrases = scheme is not None or are_phrase_labels({*numbers, *true})
    return TaggerQuality(
        quality, Share(n_right, len(predicted)), new,
        phrase_scores(labels, predicted, scheme=scheme) if has_phrases else None,
    )  # fmt: skip


def tagged(tagger: "SequencePerceptron", sentences: list[list[Any]]) -> list[list[str]]:
    """Return the predicted labels as strings, for a file."""
    predicted = tagger.predict(sentences)
    if all(isinstance(label, str) for label in tagger.classes_.tolist()):
        return predicted
    return [[str(label) for label in labels] for labels in predicted]


def _phrase_json(of: PhraseCounts) -> dict[str, Any]:
    return {
        "count": of.n_true, "found": of.n_found, "right": of.n_right,
        "precision": of.precision, "recall": of.recall, "f1": of.f1,
    }  # fmt: skip
