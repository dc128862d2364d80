"""What `perceptrons inspect` shows of a tagger: labels, features and transitions, and the heaviest of them."""

from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError
from perceptrons.cli.screen import as_json, count, grid, heading, listed, plain, screen, signed
from perceptrons.cli.weights import Row, show_rows, top
from perceptrons.inspection.wording import NOT_PROBABILITIES, settings, why_it_stopped

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from perceptrons import SequencePerceptron


class LabelRow(Row):
    """The weights of a label."""

    @property
    def thing(self) -> str:
        return "label"


SHOWN = 20  # labels
START, STOP = "(start)", "(end)"


def inspect_tagger(tagger: "SequencePerceptron", path: "Path", n: int, label: str | None, json: bool) -> None:
    """Print what is in a tagger. n: how many features and transitions of each; label: only of this one."""
    labels = [str(name) for name in tagger.classes_.tolist()]
    if label is not None and label not in labels:
        raise BadInputError(f"--class {label}: the tagger has no such label, only {listed(labels)}.")
    coef = tagger.coef_
    rows: list[Row] = [
        LabelRow((name,), None, coef[k], 0.0) for k, name in enumerate(labels) if label in (None, name)
    ]  # fmt: skip
    names = [str(name) for name in tagger.attributes_] if _has_names(tagger) else None
    steps = transitions(tagger, n, label)
    if json:
        weights = [
            {"label": row.classes[0], "features": [
                {"feature": weight.feature, "weight": weight.weight} for weight in top(row, names, n)]}
            for row in rows
        ]  # fmt: skip
        arcs = [{"from": before, "to": after, "weight": weight} for before, after, weight in steps]
        print(as_json({"model": str(path), **facts(tagger), "weights": weights, "transitions": arcs}), end="")
        return
    console = screen()
    _show_facts(tagger, console)
    kind = f"{tagger.combine} weights"
    of_one = (
        f" for {plain(label)} ({kind})" if label is not None else f" of each label ({kind}); all of one: --class LABEL"
    )
    console.print(heading(f"Most telling features{of_one}"))
    show_rows(rows, names, n, SHOWN, console, where_more=" (--class, --json)")
    if steps:
        console.print(heading(f"Heaviest transitions{'' if label is None else f' from and to {plain(label)}'}"))
        table = grid(("from", "left"), ("to", "left"), ("weight", "right"))
        for before, after, weight in steps:
            table.row(plain(before), plain(after), signed(weight))
        console.print(table)
    console.print(f"\n{NOT_PROBABILITIES.replace('class', 'label')}")


def transitions(tagger: "SequencePerceptron", n: int, label: str | None) -> list[tuple[str, str, float]]:
    """From, to and weight of the n transitions farthest from 0, the ends of sentences included."""
    import numpy as np

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
        "n_features": tagger.n_features_in_,
        "sentences_seen": tagger.t_,
        "updates": tagger.n_updates_,
        "n_mistakes": tagger.n_mistakes_,
        "epochs": tagger.n_iter_,
        "mistakes": tagger.mistakes_.tolist(),
        "stop_reason": tagger.stop_reason_ or None,
        "why": why_it_stopped(tagger),
    }


def _show_facts(tagger: "SequencePerceptron", console: "Console") -> None:
    labels = tagger.classes_.tolist()
    words = tagger.known_words()
    table = grid(("", "left"), ("", "left"))
    table.columns[0].style = "dim"
    table.columns[1].no_wrap = False
    sees = "features made in Python"
    if tagger.templates is not None:
        templates, columns = tagger.templates.parsed()
        sees = f"{listed(columns)}, through {count(len(templates), 'template')}"
    for name, value in (
        ("kind", f"{type(tagger).__name__}, combine={tagger.combine!r}"),
        ("sees", sees),
        ("settings", settings(tagger) or "all as by default"),
        ("labels", f"{len(labels)}: {listed(labels, 12)}"),
        ("features", f"{tagger.n_features_in_:,}" + ("" if words is None else f", from {count(len(words), 'word')}")),
        ("learned", f"{count(tagger.n_iter_, 'epoch')}, {count(tagger.n_mistakes_, 'mistake')}, "
                    f"{count(tagger.n_updates_, 'update')}, {count(round(tagger.t_), 'sentence')} seen"),
        ("stopped", why_it_stopped(tagger)),
    ):  # fmt: skip
        table.row(name, value)
    console.print(table)


def _has_names(tagger: "SequencePerceptron") -> bool:
    """Are features known by name, not by column only?"""
    return tagger._learner.features.kind != "matrix"
