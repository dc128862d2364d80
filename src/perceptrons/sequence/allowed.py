"""The parameter `allowed`: the rule that says which labels may follow each other, and the repair of other labels.

A barrier has the shape (labels + 1, labels + 1), from and to; the last row and column are both ends of a sequence. It
is minus infinity where a step is forbidden, else 0, so that it can be added to the weights of the steps.
"""

from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from perceptrons.engine.training.labels import Target
from perceptrons.engine.wording import count
from perceptrons.sequence.tokens import flatten, position, read_labels, split, target_of, tokens_of

SCHEMES = ("bio", "bioes")
INSIDE = {"bio": ("I",), "bioes": ("I", "E")}  # tags that continue a phrase
UNFINISHED = {"bio": (), "bioes": ("B", "I")}  # tags after which a phrase must continue
CLOSED = {"B": "S", "I": "E"}  # the tag instead where the phrase ends
OPENED = {"I": "B", "E": "S"}  # the tag instead where a phrase begins
OnBadLabel = Literal["raise", "skip", "repair"]


def followers_of(followers: Any) -> Collection[Any]:
    """Return the labels that may follow another one, as a collection."""
    return (followers,) if isinstance(followers, str) else followers


def barriers(allowed: Any, classes: np.ndarray, stream: bool) -> np.ndarray:
    """Return the barrier of a rule. stream: the rule may name labels that are not known yet."""
    labels = classes.tolist()
    barrier = np.zeros((len(labels) + 1, len(labels) + 1))
    if isinstance(allowed, Mapping):
        known = {None, *labels}
        listed = {*allowed, *(label for followers in allowed.values() for label in followers_of(followers))}
        unknown = sorted(map(str, listed - known))
        if unknown and not stream:
            raise ValueError(f"allowed names the labels {', '.join(unknown[:5])}, which are not among {labels[:10]}.")
        for label_before, followers in allowed.items():
            if label_before in known:
                row = len(labels) if label_before is None else labels.index(label_before)
                barrier[row, :-1] = [0.0 if label in followers_of(followers) else -np.inf for label in labels]
    elif allowed is not None:
        if not all(isinstance(label, str) for label in labels):
            raise ValueError(f"allowed={allowed!r} needs labels such as 'B-NP', not {labels[:3]}.")
        parts = [label.partition("-")[::2] for label in labels] + [("", "")]
        for i, (tag, phrase) in enumerate(parts):
            for j, (next_tag, next_phrase) in enumerate(parts):
                continues = next_tag in INSIDE[allowed]
                is_inside_phrase = tag in ("B", "I") and phrase == next_phrase
                if (continues and not is_inside_phrase) or (tag in UNFINISHED[allowed] and not continues):
                    barrier[i, j] = -np.inf
        barrier[-1, -1] = 0.0
    return barrier


def _broken_steps(barrier: np.ndarray, y: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the tokens whose label may not follow the previous one, those whose label may not be the last, and the
    previous label of every token."""
    outside, is_full = len(barrier) - 1, np.diff(starts) > 0
    first, last = starts[:-1][is_full], starts[1:][is_full] - 1
    previous = np.roll(y, 1).astype(np.intp)
    previous[first] = outside
    return np.flatnonzero(barrier[previous, y] < 0), last[barrier[y[last], outside] < 0], previous


def check_allowed(barrier: np.ndarray, y: np.ndarray, starts: np.ndarray, classes: np.ndarray, allowed: Any) -> None:
    """Raise ValueError for labels that break the rule, saying where."""
    if allowed is None:
        return
    steps, ends, previous = _broken_steps(barrier, y, starts)
    if len(steps):
        at = int(steps[0])
        context = "at the beginning" if previous[at] == len(classes) else f"after {classes[previous[at]]}"
    elif len(ends):
        at, context = int(ends[0]), "at the end"
    else:
        return
    rule = repr(allowed) if isinstance(allowed, str) else "the given bigrams"
    ways = '"skip" or "repair"' if isinstance(allowed, str) else '"skip"'
    raise ValueError(
        f"y has {classes[y[at]]} {context}, at {position(starts, at)}, which allowed={rule} forbids: correct the "
        f"labels, pass on_bad_label={ways} to fit, or train without `allowed`."
    )


class Healed(NamedTuple):
    """Labels that keep to the rule."""

    target: Target
    kept: np.ndarray | None  # the sequences that are left; None: all
    skipped: int  # sequences left out
    repaired: int  # labels changed

    def in_words(self) -> str:
        """Return what was done about labels that break the rule."""
        if self.skipped:
            return f"Skipped {count(self.skipped, 'sentence')}, whose labels are not allowed in that order"
        if self.repaired:
            return f"Repaired {count(self.repaired, 'label')} not allowed in that order"
        return "All labels are allowed in their order: nothing to skip or repair"


def check_way(on_bad_label: Any, allowed: Any) -> None:
    """Raise ValueError if on_bad_label is unknown or cannot be combined with the rule."""
    if on_bad_label not in get_args(OnBadLabel):
        ways = ", ".join(map(repr, get_args(OnBadLabel)))
        raise ValueError(f"on_bad_label must be one of {ways}, not {on_bad_label!r}.")
    if on_bad_label != "raise" and allowed is None:
        raise ValueError(
            f"on_bad_label={on_bad_label!r} handles labels that `allowed` forbids, but allowed=None forbids none: "
            'set allowed="bio", for instance.'
        )
    if on_bad_label == "repair" and allowed not in SCHEMES:
        raise ValueError('on_bad_label="repair" needs allowed="bio" or "bioes": other rules define no repair.')


def heal(target: Target, starts: np.ndarray, allowed: Any, on_bad_label: str) -> Healed:
    """Skip or repair the sequences whose labels break the rule; for "raise" leave them as they are."""
    if on_bad_label == "raise":
        return Healed(target, None, 0, 0)
    steps, ends, _ = _broken_steps(barriers(allowed, target.classes, stream=True), target.codes, starts)
    broken = np.unique(np.searchsorted(starts, np.concatenate([steps, ends]), side="right") - 1)
    if not len(broken):
        return Healed(target, None, 0, 0)
    labels = target.classes.astype(object)[target.codes]
    if on_bad_label == "skip":
        retained = np.setdiff1d(np.arange(len(starts) - 1), broken)
        tokens, retained_starts = tokens_of(starts, retained)
        return Healed(target_of(labels[tokens].tolist(), retained_starts), retained, len(broken), 0)
    before = labels.copy()
    for i in broken.tolist():
        sequence = slice(starts[i], starts[i + 1])
        labels[sequence] = repaired(labels[sequence].tolist(), allowed)
    return Healed(target_of(labels.tolist(), starts), None, 0, int((labels != before).sum()))


def heal_lists(y: list[list[str]], allowed: Any, on_bad_label: str) -> tuple[list[list[str]], Healed]:
    """Skip or repair sequences of labels that are given as lists."""
    starts = flatten(y, "y")[1]
    healed = heal(read_labels(y, starts, by_sequence=True), starts, allowed, on_bad_label)
    starts = starts if healed.kept is None else tokens_of(starts, healed.kept)[1]
    return split(healed.target.classes.astype(object)[healed.target.codes].tolist(), starts), healed


def repaired(labels: list[str], scheme: str) -> list[str]:
    """Return the labels of one sequence as conlleval reads them: the same phrases, written as the scheme demands.

    A stray I-X becomes B-X. In "bioes" a stray E-X becomes S-X, and where a phrase breaks off B-X becomes S-X and I-X
    becomes E-X.
    """
    parts = [label.partition("-") for label in labels]
    previous = ("", "", "")
    for t, (tag, hyphen, phrase) in enumerate(parts):
        if tag in INSIDE[scheme] and not (previous[0] in ("B", "I") and previous[2] == phrase):
            parts[t] = (OPENED[tag], hyphen, phrase)
        previous = parts[t]
    for t, (tag, hyphen, phrase) in enumerate(parts):
        next_part = parts[t + 1] if t + 1 < len(parts) else ("", "", "")
        if tag in UNFINISHED[scheme] and not (next_part[0] in INSIDE[scheme] and next_part[2] == phrase):
            parts[t] = (CLOSED[tag], hyphen, phrase)
    return ["".join(part) for part in parts]
