"""Which labels may follow each other: from what the user allows to barriers between labels, and what breaks them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perceptrons.sequence.tokens import place

SCHEMES = ("bio", "bioes")
INSIDE = {"bio": ("I",), "bioes": ("I", "E")}  # kinds of tags that go on with a phrase
UNFINISHED = {"bio": (), "bioes": ("B", "I")}  # kinds after which a phrase has to go on


def barriers(allowed: Any, classes: np.ndarray, stream: bool) -> np.ndarray:
    """(labels + 1, labels + 1), from and to, the last for both ends: 0, or minus infinity for what is forbidden.

    stream: labels that are not known may still come.
    """
    labels = classes.tolist()
    barrier = np.zeros((len(labels) + 1, len(labels) + 1))
    if isinstance(allowed, Mapping):
        known = {None, *labels}
        named = {*allowed, *(follower for followers in allowed.values() for follower in _several(followers))} - {None}
        unknown = sorted(map(str, named - known))
        if unknown and not stream:
            raise ValueError(f"allowed names the labels {', '.join(unknown[:5])}, which are not among {labels[:10]}.")
        for before, followers in allowed.items():
            if before in known:
                row = len(labels) if before is None else labels.index(before)
                barrier[row, :-1] = [0.0 if label in _several(followers) else -np.inf for label in labels]
    elif allowed is not None:
        if not all(isinstance(label, str) for label in labels):
            raise ValueError(f"allowed={allowed!r} needs labels such as 'B-NP', not {labels[:3]}.")
        tags = [tuple(label.partition("-")[::2]) for label in labels] + [("", "")]
        for i, (kind, phrase) in enumerate(tags):
            for j, (next_kind, next_phrase) in enumerate(tags):
                goes_on = next_kind in INSIDE[allowed]
                begun = kind in ("B", "I") and phrase == next_phrase
                if (goes_on and not begun) or (kind in UNFINISHED[allowed] and not goes_on):
                    barrier[i, j] = -np.inf
        barrier[-1, -1] = 0.0
    return barrier


def broken_steps(barrier: np.ndarray, y: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tokens whose labels may not follow what is before them, and those whose labels may not be the last."""
    if not barrier.any() or not len(y):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    full, before = np.flatnonzero(np.diff(starts)), before_each(y, starts, len(barrier) - 1)
    ends = starts[full + 1] - 1
    return np.flatnonzero(barrier[before, y] < 0), ends[barrier[y[ends], len(barrier) - 1] < 0]


def before_each(y: np.ndarray, starts: np.ndarray, outside: int) -> np.ndarray:
    """The label before each token's; outside: before the first of a sequence."""
    before = np.empty(len(y), np.intp)
    before[1:] = y[:-1]
    before[starts[np.flatnonzero(np.diff(starts))]] = outside
    return before


def check_allowed(barrier: np.ndarray, y: np.ndarray, starts: np.ndarray, classes: np.ndarray, allowed: Any) -> None:
    """Raise ValueError for labels that break what is allowed, saying where."""
    bad, stops = broken_steps(barrier, y, starts)
    if not len(bad) and not len(stops):
        return
    if len(bad):
        at = int(bad[0])
        before = before_each(y, starts, len(classes))[at]
        what = f"{classes[y[at]]} " + ("at the beginning" if before == len(classes) else f"after {classes[before]}")
    else:
        at = int(stops[0])
        what = f"{classes[y[at]]} at the end"
    rule = repr(allowed) if isinstance(allowed, str) else "the given bigrams"
    ways = '"skip" or "repair"' if isinstance(allowed, str) else '"skip"'
    raise ValueError(
        f"y has {what}, at {place(starts, at)}, which allowed={rule} forbids: correct the labels, pass on_bad_label="
        f"{ways} to fit, or train without it."
    )


def _several(followers: Any) -> Any:
    return (followers,) if isinstance(followers, str) else followers
