"""Which labels may follow each other, as `allowed` says: barriers between labels, and labels that break them.

Sequences with such labels are refused, left out, or their labels repaired, and counted.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from perceptrons.engine.training.labels import Target
from perceptrons.engine.wording import count
from perceptrons.sequence.tokens import cut, flat, place, read_labels, target_of, tokens_of

SCHEMES = ("bio", "bioes")
INSIDE = {"bio": ("I",), "bioes": ("I", "E")}  # kinds of tags that continue a phrase
UNFINISHED = {"bio": (), "bioes": ("B", "I")}  # kinds after which a phrase must continue
OnBadLabel = Literal["raise", "skip", "repair"]
WAYS = get_args(OnBadLabel)
CLOSED = {"B": "S", "I": "E"}  # how a tag reads where its phrase ends
OPENED = {"I": "B", "E": "S"}  # how a tag reads where its phrase begins


def barriers(allowed: Any, classes: np.ndarray, stream: bool) -> np.ndarray:
    """Return 0, or minus infinity for what is forbidden: (labels + 1, labels + 1), from and to, the last for both ends.

    stream: labels that are not known may still come.
    """
    labels = classes.tolist()
    barrier = np.zeros((len(labels) + 1, len(labels) + 1))
    if isinstance(allowed, Mapping):
        known = {None, *labels}
        listed = {*allowed, *(follower for followers in allowed.values() for follower in _several(followers))} - {None}
        unknown = sorted(map(str, listed - known))
        if unknown and not stream:
            raise ValueError(f"allowed names the labels {', '.join(unknown[:5])}, which are not among {labels[:10]}.")
        for label_before, followers in allowed.items():
            if label_before in known:
                row = len(labels) if label_before is None else labels.index(label_before)
                barrier[row, :-1] = [0.0 if label in _several(followers) else -np.inf for label in labels]
    elif allowed is not None:
        if not all(isinstance(label, str) for label in labels):
            raise ValueError(f"allowed={allowed!r} needs labels such as 'B-NP', not {labels[:3]}.")
        tags = [tuple(label.partition("-")[::2]) for label in labels] + [("", "")]
        for i, (kind, phrase) in enumerate(tags):
            for j, (next_kind, next_phrase) in enumerate(tags):
                goes_on = next_kind in INSIDE[allowed]
                is_inside_phrase = kind in ("B", "I") and phrase == next_phrase
                if (goes_on and not is_inside_phrase) or (kind in UNFINISHED[allowed] and not goes_on):
                    barrier[i, j] = -np.inf
        barrier[-1, -1] = 0.0
    return barrier


def broken_steps(barrier: np.ndarray, y: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens with a label that may not follow the one before, and those that may not be the last."""
    if not barrier.any() or not len(y):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    full, previous = np.flatnonzero(np.diff(starts)), before_each(y, starts, len(barrier) - 1)
    ends = starts[full + 1] - 1
    return np.flatnonzero(barrier[previous, y] < 0), ends[barrier[y[ends], len(barrier) - 1] < 0]


def before_each(y: np.ndarray, starts: np.ndarray, outside: int) -> np.ndarray:
    """Return the label before that of each token. outside: before the first of a sequence."""
    previous = np.empty(len(y), np.intp)
    previous[1:] = y[:-1]
    previous[starts[np.flatnonzero(np.diff(starts))]] = outside
    return previous


def check_allowed(barrier: np.ndarray, y: np.ndarray, starts: np.ndarray, classes: np.ndarray, allowed: Any) -> None:
    """Raise ValueError for labels that break what is allowed, saying where."""
    bad, stops = broken_steps(barrier, y, starts)
    if not len(bad) and not len(stops):
        return
    if len(bad):
        at = int(bad[0])
        previous = before_each(y, starts, len(classes))[at]
        context = "at the beginning" if previous == len(classes) else f"after {classes[previous]}"
        problem = f"{classes[y[at]]} {context}"
    else:
        at = int(stops[0])
        problem = f"{classes[y[at]]} at the end"
    rule = repr(allowed) if isinstance(allowed, str) else "the given bigrams"
    ways = '"skip" or "repair"' if isinstance(allowed, str) else '"skip"'
    raise ValueError(
        f"y has {problem}, at {place(starts, at)}, which allowed={rule} forbids: correct the labels, pass on_bad_label="
        f"{ways} to fit, or train without `allowed`."
    )


class Healed(NamedTuple):
    """Labels that keep to what is allowed. kept: the sequences that are left; None: all."""

    target: Target
    kept: np.ndarray | None
    skipped: int  # sequences left out
    repaired: int  # labels changed

    def in_words(self) -> str:
        """Return what was done about labels that are not allowed where they stand."""
        if self.skipped:
            return f"Skipped {count(self.skipped, 'sentence')}, whose labels are not allowed in that order"
        if self.repaired:
            return f"Repaired {count(self.repaired, 'label')} not allowed in that order"
        return "All labels are allowed in their order: nothing to skip or repair"


def check_way(on_bad_label: Any, allowed: Any) -> None:
    """Raise ValueError for a way that does not exist, or does not go with what is allowed."""
    if on_bad_label not in WAYS:
        raise ValueError(f"on_bad_label must be one of {', '.join(map(repr, WAYS))}, not {on_bad_label!r}.")
    if on_bad_label != "raise" and allowed is None:
        raise ValueError(
            f"on_bad_label={on_bad_label!r} handles labels that `allowed` forbids, but allowed=None forbids none: "
            'set allowed="bio", for instance.'
        )
    if on_bad_label == "repair" and allowed not in SCHEMES:
        raise ValueError('on_bad_label="repair" needs allowed="bio" or "bioes": other rules define no repair.')


def heal(target: Target, starts: np.ndarray, allowed: Any, on_bad_label: str) -> Healed:
    """Skip or repair the sequences that have a label which is not allowed where it stands."""
    bad = np.concatenate(broken_steps(barriers(allowed, target.classes, stream=True), target.codes, starts))
    broken = np.unique(np.searchsorted(starts, bad, side="right") - 1)
    if on_bad_label == "raise" or not len(broken):
        return Healed(target, None, 0, 0)
    labels = target.classes.astype(object)[target.codes]
    if on_bad_label == "skip":
        retained = np.setdiff1d(np.arange(len(starts) - 1), broken)
        tokens, ends = tokens_of(starts, retained)
        return Healed(target_of(labels[tokens].tolist(), ends), retained, len(broken), 0)
    changed = 0
    for i in broken.tolist():
        part = slice(starts[i], starts[i + 1])
        mended = repaired(labels[part].tolist(), allowed)
        changed += sum(a != b for a, b in zip(labels[part], mended, strict=True))
        labels[part] = mended
    return Healed(target_of(labels.tolist(), starts), None, 0, changed)


def healed(read: Any, y: Any, by_sequence: bool, allowed: Any, on_bad_label: str) -> tuple[Any, Healed]:
    """Return the sequences to learn from, and their labels. by_sequence: see `read_labels`."""
    check_way(on_bad_label, allowed)
    target = read_labels(y, read.starts, by_sequence)
    if on_bad_label == "raise":
        return read, Healed(target, None, 0, 0)
    found = heal(target, read.starts, allowed, on_bad_label)
    return (read if found.kept is None else read.sequences(found.kept)), found


def repaired(labels: list[str], scheme: str) -> list[str]:
    """Return the labels of one sequence as conlleval reads them: the same phrases, written as the scheme wants them.

    A stray I-X becomes B-X. In "bioes" a stray E-X becomes S-X, and where a phrase breaks off B-X becomes S-X and I-X
    becomes E-X.
    """
    tags = [label.partition("-") for label in labels]
    previous = ("", "", "")
    for t, (kind, hyphen, phrase) in enumerate(tags):
        if kind in INSIDE[scheme] and not (previous[0] in ("B", "I") and previous[2] == phrase):
            tags[t] = (OPENED[kind], hyphen, phrase)
        previous = tags[t]
    for t, (kind, hyphen, phrase) in enumerate(tags):
        next_tag = tags[t + 1] if t + 1 < len(tags) else ("", "", "")
        if kind in UNFINISHED[scheme] and not (next_tag[0] in INSIDE[scheme] and next_tag[2] == phrase):
            tags[t] = (CLOSED[kind], hyphen, phrase)
    return ["".join(tag) for tag in tags]


def heal_lists(y: list[list[str]], allowed: Any, on_bad_label: str) -> tuple[list[list[str]], Healed]:
    """Skip or repair sequences of labels that are given as lists."""
    starts = flat(y, "y")[1]
    healed = heal(read_labels(y, starts, by_sequence=True), starts, allowed, on_bad_label)
    ends = starts if healed.kept is None else tokens_of(starts, healed.kept)[1]
    return cut(healed.target.classes.astype(object)[healed.target.codes].tolist(), ends), healed


def _several(followers: Any) -> Any:
    return (followers,) if isinstance(followers, str) else followers
