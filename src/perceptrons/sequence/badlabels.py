"""Labels that `allowed` forbids where they stand: the sequences are left out, or the labels repaired, and counted."""

from typing import Any, NamedTuple

import numpy as np

from perceptrons.sequence.bigrams import INSIDE, SCHEMES, UNFINISHED, barriers, broken_steps
from perceptrons.sequence.tokens import cut, flat, read_labels, target_of, tokens_of
from perceptrons.training.targets import Target

WAYS = ("raise", "skip", "repair")
CLOSED = {"B": "S", "I": "E"}  # how a tag reads where its phrase ends
OPENED = {"I": "B", "E": "S"}  # how a tag reads where its phrase begins


class Healed(NamedTuple):
    """Labels that keep to what is allowed. kept: the sequences that are left; None: all."""

    target: Target
    kept: np.ndarray | None
    skipped: int  # sequences left out
    repaired: int  # labels changed


def check_way(on_bad_label: Any, allowed: Any) -> None:
    """Raise ValueError for a way that does not exist, or does not go with what is allowed."""
    if on_bad_label not in WAYS:
        raise ValueError(f"on_bad_label must be one of {', '.join(map(repr, WAYS))}, not {on_bad_label!r}.")
    if on_bad_label != "raise" and allowed is None:
        raise ValueError(
            f"on_bad_label={on_bad_label!r} is about labels that `allowed` forbids, but allowed=None forbids none: "
            'set allowed="bio" or the like.'
        )
    if on_bad_label == "repair" and allowed not in SCHEMES:
        raise ValueError('on_bad_label="repair" needs allowed="bio" or "bioes": other rules do not say how.')


def heal(target: Target, starts: np.ndarray, allowed: Any, on_bad_label: str) -> Healed:
    """Skip or repair the sequences that have a label which is not allowed where it stands."""
    bad = np.concatenate(broken_steps(barriers(allowed, target.classes, stream=True), target.codes, starts))
    which = np.unique(np.searchsorted(starts, bad, side="right") - 1)
    if on_bad_label == "raise" or not len(which):
        return Healed(target, None, 0, 0)
    labels = target.classes.astype(object)[target.codes]
    if on_bad_label == "skip":
        kept = np.setdiff1d(np.arange(len(starts) - 1), which)
        tokens, ends = tokens_of(starts, kept)
        return Healed(target_of(labels[tokens].tolist(), ends), kept, len(which), 0)
    changed = 0
    for i in which.tolist():
        part = slice(starts[i], starts[i + 1])
        mended = repaired(labels[part].tolist(), allowed)
        changed += sum(a != b for a, b in zip(labels[part], mended, strict=True))
        labels[part] = mended
    return Healed(target_of(labels.tolist(), starts), None, 0, changed)


def repaired(labels: list[str], scheme: str) -> list[str]:
    """The labels of one sequence as conlleval reads them: the same phrases, written as the scheme wants them.

    A stray I-X becomes B-X. In "bioes" a stray E-X becomes S-X, and where a phrase breaks off B-X becomes S-X and I-X
    becomes E-X.
    """
    tags = [label.partition("-") for label in labels]
    before = ("", "", "")
    for t, (kind, hyphen, phrase) in enumerate(tags):
        if kind in INSIDE[scheme] and not (before[0] in ("B", "I") and before[2] == phrase):
            tags[t] = (OPENED[kind], hyphen, phrase)
        before = tags[t]
    for t, (kind, hyphen, phrase) in enumerate(tags):
        after = tags[t + 1] if t + 1 < len(tags) else ("", "", "")
        if kind in UNFINISHED[scheme] and not (after[0] in INSIDE[scheme] and after[2] == phrase):
            tags[t] = (CLOSED[kind], hyphen, phrase)
    return ["".join(tag) for tag in tags]


def heal_lists(y: list[list[str]], allowed: Any, on_bad_label: str) -> tuple[list[list[str]], Healed]:
    """The same for lists of labels, a list per sequence; of those that are kept."""
    starts = flat(y, "y")[1]
    healed = heal(read_labels(y, starts, by_sequence=True), starts, allowed, on_bad_label)
    ends = starts if healed.kept is None else tokens_of(starts, healed.kept)[1]
    return cut(healed.target.classes.astype(object)[healed.target.codes].tolist(), ends), healed
