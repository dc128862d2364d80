"""Summarises a tagger as JSON: its training, the weights of its labels, and its largest transition weights."""

from typing import TYPE_CHECKING, Any

import numpy as np

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.wording import count, listed, settings, tested, why_it_stopped
from perceptrons.inspection.weights import Row, top

if TYPE_CHECKING:
    from perceptrons.sequence import SequencePerceptron

START, STOP = "(start)", "(end)"


class LabelRow(Row):
    """The weights of a label."""

    @property
    def thing(self) -> str:
        return "label"


def label_rows(tagger: "SequencePerceptron", label: str | None = None) -> list[Row]:
    """The weights of every label, or of this one."""
    names, coef = [str(name) for name in tagger.classes_.tolist()], tagger.coef_
    return [LabelRow((name,), None, coef[k], 0.0) for k, name in enumerate(names) if label in (None, name)]


def feature_names(tagger: "SequencePerceptron") -> list[str] | None:
    """Its features by name; None if they are known by column only."""
    return None if learner_of(tagger).features.kind == "matrix" else [str(name) for name in tagger.attributes_]


def heaviest_features(tagger: "SequencePerceptron", n: int, label: str | None = None) -> list[dict[str, Any]]:
    """The features farthest from 0 of every label."""
    names = feature_names(tagger)
    return [
        {"label": row.classes[0], "features": [
            {"feature": weight.feature, "weight": weight.weight} for weight in top(row, names, n)]}
        for row in label_rows(tagger, label)
    ]  # fmt: skip


def transitions(tagger: "SequencePerceptron", n: int, label: str | None) -> list[tuple[str, str, float]]:
    """From, to and weight of the n transitions farthest from 0, the ends of sentences included."""
    k = len(tagger.classes_)
    arcs = np.zeros((k + 1, k + 1))
    arcs[:-1, :-1], arcs[-1, :-1], arcs[:-1, -1] = tagger.transitions_, tagger.start_, tagger.stop_
    names = [str(name) for name in tagger.classes_.tolist()]
    order = np.argsort(-np.abs(arcs), axis=None, kind="stable")
    found = []
    for place in order[: np.count_nonzero(arcs)].tolist():
        i, j = divmod(place, k + 1)
        before, after = [*names, START][i], [*names, STOP][j]
        if label is None or label in (before, after):
            found.append((before, after, float(arcs[i, j])))
        if len(found) == n:
            break
    return found


def facts(tagger: "SequencePerceptron") -> dict[str, Any]:
    """What a tagger is and has seen, for machines."""
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
    """The same by name, in the order in which people want to know it."""
    labels, words = tagger.classes_.tolist(), tagger.known_words()
    sees = "features computed in Python"
    if tagger.templates is not None:
        templates, columns = tagger.templates.parsed()
        sees = f"{listed(columns)}, through {count(len(templates), 'template')}"
    return [
        ("kind", f"{type(tagger).__name__}, combine={tagger.combine!r}"),
        ("sees", sees),
        ("settings", settings(tagger) or "all defaults"),
        ("labels", f"{len(labels)}: {listed(labels, 12)}"),
        ("features", f"{tagger.n_features_in_:,}" + ("" if words is None else f", from {count(len(words), 'word')}")),
        ("learned", f"{count(tagger.n_iter_, 'epoch')}, {count(tagger.n_mistakes_, 'mistake')}, "
                    f"{count(tagger.n_updates_, 'update')}, {count(round(tagger.t_), 'sentence')} seen"),
        ("stopped", why_it_stopped(tagger)),
        *([("tested", tested(tagger))] if hasattr(tagger, "recipe_") else []),
    ]  # fmt: skip
